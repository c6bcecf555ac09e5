"""The tests on a discrete y: values against the oracle, level, power, memory, sources."""

import tracemalloc
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import condgof as cg
from condgof.errors import InputError, InputTypeError, UnsupportedModelError
from condgof.laws import FULL, PLAIN
from condgof.null import LARGER_OF_TWO
from condgof.study import problem
from levels import assert_uniform
from oracle import gaussian, gram, u_statistic

RNG = np.random.default_rng(11)
N = 60
X = RNG.normal(size=(N, 2))
P = RNG.dirichlet([1.0, 2.0, 0.5], size=N)
MODEL = cg.probabilities(P)
Y = MODEL.sample(RNG)[:, 0]
K = {"kernel_x": cg.Gaussian(1.2), "rng": 0}
C = np.asarray(MODEL.residuals(Y, PLAIN).values)
COUNTS = cg.models.Poisson(mean=lambda x: np.exp(0.5 * x[:, 0]))
Y_COUNTS = COUNTS(X).sample(RNG)[:, 0]


def near(v):
    return gram(X, np.atleast_2d(v), gaussian, 1.2)


class TestValues:
    def test_kcsd(self):
        wanted = N * u_statistic(gram(X, X, gaussian, 1.2) * (C @ C.T))
        for null in ("wild", "model", "multinomial"):
            assert cg.kcsd(MODEL, X, Y, null=null, **K).statistic == pytest.approx(
                wanted, rel=1e-7
            )
        assert cg.kcsd(MODEL, X, Y, solver="lowrank", **K).statistic == pytest.approx(
            wanted, rel=1e-3
        )

    def test_counts_by_the_definition(self):
        """The kernel on standardised counts, its expectations by sums over the support."""
        mean = np.exp(0.5 * X[:, 0])
        support = np.arange(60.0)

        def seen(y):  # in standard deviations, to the nearest eighth
            return np.clip(
                np.floor(8 * (y - mean[:, None]) / np.sqrt(mean[:, None]) + 0.5) / 8, -8, 8
            )

        p = np.exp(np.stack([COUNTS(X).log_prob(np.full(N, s)) for s in support], axis=1))
        at = seen(support[None, :])
        own = seen(Y_COUNTS[:, None])[:, 0]
        h = np.empty((N, N))
        for i in range(N):
            for j in range(N):
                l = lambda a, b: np.exp(-0.5 * (a - b) ** 2 / 0.9**2)  # noqa: E731, E741
                both = p[i] @ l(at[i][:, None], at[j][None, :]) @ p[j]
                h[i, j] = l(own[i], own[j]) + both
                h[i, j] -= p[i] @ l(at[i], own[j]) + l(own[i], at[j]) @ p[j]
        wanted = N * u_statistic(gram(X, X, gaussian, 1.2) * h)
        found = cg.kcsd(COUNTS, X, Y_COUNTS, kernel_y=cg.Gaussian(0.9), **K)
        assert found.statistic == pytest.approx(wanted, rel=1e-6)

    def test_fscd_given(self):
        V = RNG.normal(size=(3, 2))
        k = near(V) @ near(V).T / 3
        found = cg.fscd(MODEL, X, Y, locations=V, **K)
        assert found.statistic == pytest.approx(N * u_statistic(k * (C @ C.T)), rel=1e-9)

    def test_maps(self):
        V = RNG.normal(size=(4, 2))
        f = near(V)
        wanted = np.square(C.T @ f).sum(axis=0) / N**2
        np.testing.assert_allclose(cg.witness(MODEL, X, Y, at=V, **K), wanted, rtol=1e-9)
        low = cg.witness(MODEL, X, Y, at=V, solver="lowrank", **K)
        np.testing.assert_allclose(low, wanted, rtol=1e-6)
        criteria = []
        for v in range(4):
            matrix = np.outer(f[:, v], f[:, v]) * (C @ C.T)
            np.fill_diagonal(matrix, 0.0)
            means = matrix.sum(axis=1) / (N - 1)
            criteria.append(means.mean() / (2 * means.std(ddof=1)))
        np.testing.assert_allclose(
            cg.power_criterion(MODEL, X, Y, at=V, **K), criteria, rtol=1e-8
        )

    def test_adaptive_scales(self):
        result = cg.adaptive(MODEL, X, Y, scale_x="none", rng=0)
        r = np.asarray(MODEL.residuals(Y, FULL).values)
        parts = {"labels": r[:, :3], "ranks": r[:, 3:5], "surprise": r[:, 5:]}
        assert len(result.details["scales"]) == 9
        for scale in result.details["scales"]:
            c = parts[scale["y"]]
            centre = np.eye(N) - 1.0 / N
            k = centre @ gram(X, X, gaussian, scale["bandwidth_x"]) @ centre
            wanted = N * u_statistic(k * (c @ c.T))
            # As many landmarks as there is need for, not as many as rows.
            assert scale["statistic"] == pytest.approx(
                wanted, abs=0.03 * np.square(c).sum() / N
            )
        assert result.null == "model"
        assert "labels, their ranks" in result.details["standardized_by"]
        assert "1,000 model draws" in str(result)

    def test_ranks_and_surprise(self):
        """y among the t most probable classes, and log p(y|x), less their means."""
        r = np.asarray(MODEL.residuals(Y, FULL).values)
        for i in range(N):
            order = np.argsort(-P[i], kind="stable")
            for t in (1, 2):
                wanted = (Y[i] in order[:t]) - P[i][order[:t]].sum()
                assert r[i, 2 + t] == pytest.approx(wanted)
            logs = np.log(np.maximum(P[i], 1e-3))
            assert r[i, 5] == pytest.approx(logs[int(Y[i])] - P[i] @ logs)


class TestNull:
    def test_by_itself(self):
        assert cg.kcsd(MODEL, X, Y, rng=0).details["null"] == "model"
        assert (
            cg.kcsd(MODEL, X, Y, rng=0, null="multinomial").null == "multinomial bootstrap"
        )
        assert cg.kcsd(MODEL, X, Y, rng=0, null="wild").null == "wild bootstrap"

    @pytest.mark.parametrize("test", [cg.kcsd, cg.fscd])
    def test_too_much_work(self, test):
        """Strata of rows are resampled and recombined: y still comes from the model."""
        x = np.random.default_rng(0).normal(size=(800, 2))
        y = COUNTS(x).sample(np.random.default_rng(1))[:, 0]
        options = {"rng": 0} if test is cg.kcsd else {"rng": 0, "locations": x[:3]}
        exact = test(COUNTS, x, y, **options)
        with mock.patch("condgof.null._choose.RESAMPLED_WORK", 10.0):
            strata = test(COUNTS, x, y, **options)
        assert exact.null == strata.null == "model"
        assert strata.statistic == pytest.approx(exact.statistic, rel=1e-4)
        assert strata.null_distribution.std() == pytest.approx(
            exact.null_distribution.std(), rel=0.15
        )
        assert abs(strata.pvalue - exact.pvalue) < 0.1

    def test_only_where_the_law_is_known(self):
        normal = cg.models.Normal(mean=0.0, std=1.0)
        y = RNG.normal(size=N)
        for test in (cg.kcsd, cg.fscd):
            with pytest.raises(UnsupportedModelError, match="null='model' draws y anew"):
                test(normal, X, y, null="model")
        with pytest.raises(UnsupportedModelError, match="null='model' draws y anew"):
            cg.adaptive(cg.from_scores(-y), X, y, null="model")
        assert (
            cg.adaptive(normal, X, y, null="model", rng=0).null == "model"
        )  # normal scores are drawn

    @pytest.mark.parametrize("test", [cg.kcsd, cg.adaptive, cg.fscd])
    @pytest.mark.parametrize("which", ["classes", "counts"])
    def test_the_same_on_any_number_of_threads(self, test, which):
        model, y = (MODEL, Y) if which == "classes" else (COUNTS, Y_COUNTS)
        one, two = (test(model, X, y, rng=3, engine=e, n_boot=50) for e in (1, 2))
        assert one.pvalue == two.pvalue
        assert one.statistic == pytest.approx(two.statistic, rel=1e-12)


@pytest.mark.parametrize("test", [cg.kcsd, cg.adaptive])
def test_dependent_rows_have_two_nulls_and_the_larger_p_value(test):
    """Signs alone reject a classifier that is sure, and right, in every group."""
    x = np.random.default_rng(0).standard_normal((300, 2))
    logits = 400.0 * x[:, :1] * [1.0, -1.0]
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    model = cg.probabilities(p / p.sum(axis=1, keepdims=True))
    y = (x[:, 0] < 0).astype(int)
    for said in ({"groups": np.arange(300) // 10}, {"dependence": 5}):
        found = test(model, x, y, rng=0, **said)
        alone = test(model, x, y, rng=0)
        assert found.pvalue == alone.pvalue > 0.5
        assert LARGER_OF_TWO in found.details["notes"]
        assert "groups" in found.details or "block_length" in found.details
        wrong = test(model, x, 1 - y, rng=0, **said)
        assert wrong.reject(0.01)


LEVEL = (
    "true-softmax-2",
    "true-softmax-3",
    "true-grades",
    "true-nb-small",
    "true-binomial",
)


@pytest.mark.parametrize(
    ("name", "test"),
    [*((name, cg.kcsd) for name in LEVEL), ("true-softmax-3", cg.adaptive)],
)
def test_level(name, test):
    """`make calibrate ONLY=discrete` in small; rare events would break random signs."""
    case = problem(name)
    pvalues = []
    for trial in range(20):
        x, y = case.draw(40, np.random.default_rng([trial, 50]))
        pvalues.append(test(case.p, x, y, n_boot=39, rng=trial, engine=1).pvalue)
    assert_uniform(pvalues, n_boot=39)


@pytest.mark.parametrize(
    ("name", "n", "test"),
    [
        ("poisson-overdispersed", 300, cg.kcsd),
        ("poisson-overdispersed", 300, cg.adaptive),
        ("softmax-overconfident-3", 1000, cg.adaptive),
        ("softmax-overconfident-3", 1000, cg.calibration),
    ],
)
def test_power(name, n, test):
    case = problem(name)
    found = 0
    for trial in range(5):
        x, y = case.draw(n, np.random.default_rng([trial, n]))
        found += test(case.p, x, y, n_boot=100, rng=trial).reject()
    assert found >= 4


def test_locations_find_where_a_classifier_fails():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 800)
    p = np.full(800, 0.5)
    y = rng.random(800) < np.where(x > 1, 0.9, 0.5)
    result = cg.fscd(cg.probabilities(p), x, y, n_locations=1, rng=1)
    assert result.reject(0.01)
    assert result.locations[0, 0] > 0.8
    assert "bandwidth_y" not in result.details
    assert (
        cg.adaptive(cg.probabilities(p), x, y, rng=1).details["strongest_location"]["x"][0]
        > 0.8
    )


class TestInputs:
    def test_y_may_be_constant(self):
        zeros = np.zeros(N)
        assert 0 < cg.kcsd(cg.models.Poisson(0.01), X, zeros, rng=0).pvalue <= 1
        assert cg.adaptive(cg.models.Poisson(5.0), X, zeros, rng=0).reject()

    def test_text_needs_a_model_of_classes(self):
        text = np.array(["a", "b"] * (N // 2))
        with pytest.raises(InputTypeError, match="y column 'y' holds text"):
            cg.kcsd((np.zeros(N), np.ones(N)), X, text)
        with pytest.raises(InputTypeError, match="holds text"):
            cg.mmd((np.zeros(N), np.ones(N)), X, text)

    def test_the_baselines(self):
        names = cg.probabilities(P, ["c", "a", "b"], ordered=True)
        y = np.array(["c", "a", "b"])[Y.astype(int)]
        numbers = cg.probabilities(P, ordered=True)
        assert cg.zheng(names, X, y).statistic == pytest.approx(
            cg.zheng(numbers, X, Y).statistic
        )
        assert cg.mmd(names, X, y, rng=0).pvalue == cg.mmd(numbers, X, Y, rng=0).pvalue

    def test_unconditional(self):
        y = np.random.default_rng(1).poisson(3.0, 300)
        assert not cg.ksd(cg.models.Poisson(3.0), y, rng=0).reject()
        assert cg.ksd(cg.models.Poisson(3.5), y, rng=0).reject()
        with pytest.raises(UnsupportedModelError, match="discrete"):
            cg.fssd(cg.models.Poisson(3.0), y, rng=0)

    def test_frames(self):
        frame = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "u", "v")})
        result = cg.adaptive(MODEL, frame, Y, rng=0)
        assert result.kernel_x.to_dict()["kernel"] == "Product"


class TestSources:
    @pytest.fixture
    def table(self, tmp_path):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(1500, 2))
        y = rng.poisson(np.exp(0.5 * x[:, 0]))
        pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y}).to_parquet(
            tmp_path / "t.parquet"
        )
        return x, y, cg.scan(tmp_path / "t.parquet", x=["a", "b"], y=["y"])

    @pytest.mark.parametrize("test", [cg.kcsd, cg.adaptive, cg.fscd])
    def test_stream(self, table, test):
        _, _, source = table
        result = test(COUNTS, source, rng=0, n_boot=50, precision=0.05)
        # Of kcsd k is seen through landmarks.
        assert result.solver == ("lowrank" if test is cg.kcsd else "exact")
        assert not result.reject(0.001)
        wrong = cg.models.Poisson(mean=lambda x: 1.4 * np.exp(0.5 * x[:, 0]))
        assert test(wrong, source, rng=0, n_boot=50, precision=0.05).reject(0.05)

    def test_models_that_must_be_called_to_know(self, table):
        from scipy import stats

        _, _, source = table
        model = cg.from_scipy(lambda x: stats.poisson(np.exp(0.5 * np.asarray(x)[:, 0])))
        known = cg.kcsd(COUNTS, source, rng=0, n_boot=20, precision=0.1)
        assert (
            cg.kcsd(model, source, rng=0, n_boot=20, precision=0.1).pvalue == known.pvalue
        )

    def test_dask(self, table):
        import dask.array as da

        x, y, _ = table
        result = cg.kcsd(
            COUNTS,
            da.from_array(x, chunks=(500, 2)),
            da.from_array(y, chunks=500),
            rng=0,
            n_boot=20,
        )
        assert not result.reject(0.01)


def test_many_classes_take_little_memory():
    """K = 200, n = 20,000: the probabilities (32 MB) are never copied as a whole."""
    rng = np.random.default_rng(0)
    n = 20_000
    count = 200
    x = rng.normal(size=(n, 2))
    P = rng.random((n, count), dtype=np.float32).astype(np.float64)
    P /= P.sum(axis=1, keepdims=True)
    model = cg.probabilities(P)
    y = model.sample(rng)[:, 0].astype(int)
    with mock.patch("condgof.laws._discrete.HELD", 2**20):
        tracemalloc.start()
        result = cg.kcsd(model, x, y, rng=0, n_boot=20, precision=0.05)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert not result.reject(0.001)
    assert peak < 3 * P.nbytes  # two threads with pieces of 4,096 rows, weights, landmarks
    same = cg.kcsd(model, x, y, rng=0, n_boot=20, precision=0.05)
    assert same.pvalue == result.pvalue


class TestCalibration:
    def test_a_classifier(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(500, 6))
        p = 1 / (1 + np.exp(-x.sum(axis=1)))
        y = np.where(rng.random(500) < p, "yes", "no")
        right = cg.calibration(cg.probabilities(p, ["no", "yes"]), x, y, rng=0)
        assert not right.reject()
        assert right.method == "calibration"
        assert right.details["conditioned_on"] == ("P(yes)",)
        assert list(right.details["strongest_location"]["label"]) == ["P(yes)"]
        assert "P(yes)=" in str(right)
        sharp = 1 / (1 + np.exp(-2.5 * x.sum(axis=1)))
        assert cg.calibration(cg.probabilities(sharp, ["no", "yes"]), x, y, rng=0).reject()

    def test_it_tests_for_less_than_the_model(self):
        """The shares of the classes, whatever x, are calibrated, and no good model."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=(400, 1))
        y = rng.random(400) < 1 / (1 + np.exp(-3 * x[:, 0]))
        p = np.where(rng.random(400) < 0.5, 0.49, 0.51)
        assert cg.adaptive(cg.probabilities(p), x, y, rng=0).reject()
        assert not cg.calibration(cg.probabilities(p), x, y, rng=0).reject()

    def test_a_continuous_model(self):
        rng = np.random.default_rng(1)
        x = rng.normal(size=(400, 3))
        mean = x.sum(axis=1)
        std = np.exp(0.3 * x[:, 0])
        y = mean + std * rng.normal(size=400)
        assert not cg.calibration((mean, std), x, y, rng=0, n_boot=199).reject()
        narrow = cg.calibration((mean, 0.7 * std), x, y, rng=0, n_boot=199)
        assert narrow.reject()
        assert narrow.details["conditioned_on"] == ("mean", "std")
        functional = cg.models.Normal(
            mean=lambda x: x.sum(axis=1), std=lambda x: 0.7 * np.exp(0.3 * x[:, 0])
        )
        assert cg.calibration(functional, x, y, rng=0, n_boot=199).pvalue == narrow.pvalue
        pair = cg.normal(
            mean=np.column_stack([mean, mean]), std=np.column_stack([std, std])
        )
        both = cg.calibration(
            pair, x, np.column_stack([y, y + std * rng.normal(size=400)]), rng=0, n_boot=199
        )
        assert both.details["conditioned_on"] == ("mean1", "mean2", "std1", "std2")

    def test_counts(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(300, 2))
        y = rng.poisson(np.exp(x[:, 0]))
        assert not cg.calibration(
            cg.models.Poisson(lambda x: np.exp(x[:, 0])), x, y, rng=0
        ).reject()
        assert cg.calibration(
            cg.models.Poisson(lambda x: 1.4 * np.exp(x[:, 0])), x, y, rng=0
        ).reject()

    def test_without_x(self):
        assert (
            cg.calibration(MODEL, None, Y, rng=0).pvalue
            == cg.calibration(MODEL, X, Y, rng=0).pvalue
        )

    def test_errors(self):
        with pytest.raises(UnsupportedModelError, match="mean and standard deviation"):
            cg.calibration(cg.from_score(lambda y, x: -y), X, RNG.normal(size=N))
        with pytest.raises(InputError, match="predicts the same in all rows"):
            cg.calibration((np.zeros(N), np.ones(N)), X, RNG.normal(size=N))


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("test", [cg.adaptive, cg.kcsd, cg.fscd])
def test_a_model_that_is_certain_and_wrong(test, count):
    """Its draws never vary: nothing that it says can happen is what happened."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 60)
    y = rng.integers(0, 2, 60)
    model = cg.probabilities(np.eye(count)[np.zeros(60, int)])
    assert test(model, x, y, n_boot=99, rng=1).pvalue == 0.01
    assert test(model, x, np.zeros(60, int), n_boot=99, rng=1).pvalue == 1.0


def certain(kind, n, chance):
    """A law that expects next to nothing but 0 in every row."""
    if kind == "counts":
        return cg.models.Poisson(mean=np.full(n, chance))
    return cg.probabilities(np.tile([1 - chance, chance], (n, 1)), classes=[0, 1])


@pytest.mark.parametrize("test", [cg.kcsd, cg.adaptive])
@pytest.mark.parametrize("kind", ["classes", "counts"])
@pytest.mark.parametrize(("n", "chance"), [(200, 1e-12), (200, 1e-6), (6000, 1e-9)])
def test_a_law_that_is_certain_is_rejected_when_it_is_wrong_and_only_then(
    test, kind, n, chance
):
    """Where nothing happened in the data or in any draw, rounding must not decide."""
    x = np.random.default_rng(0).normal(size=(n, 2))
    y = np.zeros(n, dtype=int)
    assert test(certain(kind, n, chance), x, y, rng=0, n_boot=99).pvalue == 1.0
    y[:3] = 1
    assert test(certain(kind, n, chance), x, y, rng=0, n_boot=99).pvalue == 0.01
