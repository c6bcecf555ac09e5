"""Bounded support: the tests go to the whole line by themselves, and say so."""

import pickle

import numpy as np
import pytest
from scipy import stats

import condgof as cg
from condgof.errors import (
    DerivativeError,
    InputError,
    InputTypeError,
    SupportError,
    SupportWarning,
    UnsupportedModelError,
)
from condgof.laws import Line, law_of
from condgof.models import Beta, Exponential, Gamma, LogNormal, Normal, Uniform
from condgof.residuals import residuals_of
from condgof.sample import Sample
from condgof.study import problem
from laws.conformance import check_law
from levels import assert_uniform

RNG = np.random.default_rng(11)
X = RNG.normal(size=60)
LOG = "log(y - low)"
LOGIT = "logit((y - low)/(high - low))"


def coordinates(model, y, by="none", x=X):
    sample = Sample.from_data(x, y)
    return residuals_of(law_of(model, sample), sample, by)


class TestLine:
    LINE = Line.from_support(
        (np.array([-np.inf, 2.0, -np.inf, -1.0]), np.array([np.inf, np.inf, 3.0, 1.0])),
        5,
        4,
    )
    Y = np.column_stack(
        [RNG.normal(size=5), 2 + RNG.gamma(1, size=5), 3 - RNG.gamma(1, size=5)]
    )
    Y = np.column_stack([Y, RNG.uniform(-1, 1, size=5)])

    def test_there_and_back(self):
        u = self.LINE.forward(self.Y)
        np.testing.assert_allclose(self.LINE.backward(u), self.Y, rtol=1e-13)
        np.testing.assert_array_equal(u[:, 0], self.Y[:, 0])
        np.testing.assert_allclose(u[:, 1], np.log(self.Y[:, 1] - 2))
        np.testing.assert_allclose(u[:, 2], -np.log(3 - self.Y[:, 2]))
        np.testing.assert_allclose(u[:, 3], np.log((1 + self.Y[:, 3]) / (1 - self.Y[:, 3])))

    def test_the_chain_rule(self):
        """Scores of u against differences of its log-density, log p(y(u)) + log dy/du."""
        u = self.LINE.forward(self.Y)
        h = 1e-5
        slope = (self.LINE.backward(u + h) - self.LINE.backward(u - h)) / (2 * h)
        np.testing.assert_allclose(self.LINE.slope(self.Y), slope, rtol=1e-8)
        assert (slope > 0).all()

        def log_density(u):
            y = self.LINE.backward(u)
            return -0.5 * y**2 + np.log(self.LINE.slope(y))

        got = self.LINE.scores(self.Y, -self.Y)
        truth = (log_density(u + h) - log_density(u - h)) / (2 * h)
        np.testing.assert_allclose(got, truth, rtol=1e-6, atol=1e-8)

    def test_far_out_and_next_to_an_end(self):
        line = Line.from_support((np.array([0.0, 0.0]), np.array([np.inf, 1.0])), 2, 2)
        y = np.array([[1e-300, 1e-300], [1e300, 1 - 2.0**-53]])
        u = line.forward(y)
        assert np.isfinite(u).all()
        np.testing.assert_allclose(line.backward(u), y, rtol=1e-12)
        scores = np.array([[-0.3 / 1e-300, -0.5 / 1e-300], [-1.0 / 1e300, 0.5 * 2.0**53]])
        np.testing.assert_allclose(
            line.scores(y, scores), [[0.7, 0.5], [0.0, -0.5]], atol=1e-12
        )
        assert (
            line.words()
            == "column 0: log(y - low), column 1: logit((y - low)/(high - low))"
        )

    def test_the_whole_line_is_left_alone(self):
        assert Line.from_support((np.array(-np.inf), np.array(np.inf)), 3, 1) is None
        y = RNG.normal(size=60)
        got = coordinates(Normal(0.0, 1.0), y)
        np.testing.assert_array_equal(got.u[:, 0], y)
        assert got.reparametrized is None

    def test_an_empty_support(self):
        with pytest.raises(
            InputError, match=r"support of the model is empty in 60 of 60 rows"
        ):
            coordinates(cg.models.with_support(cg.from_scores(-X), 1.0, 1.0), X)


class TestClosedForms:
    """On the line the scores have simple formulas of their own."""

    def test_gamma(self):
        y = RNG.gamma(0.7, np.exp(X))
        got = coordinates(Gamma(0.7, scale=np.exp), y)
        np.testing.assert_allclose(got.u[:, 0], np.log(y))
        np.testing.assert_allclose(
            got.scores[:, 0], 0.7 - y / np.exp(X), rtol=1e-12, atol=1e-14
        )
        assert got.reparametrized == LOG

    def test_lognormal_is_a_normal(self):
        y = np.exp(X + 0.5 * RNG.normal(size=60))
        model = LogNormal(lambda x: x, 0.5)
        plain = Normal(lambda x: x, 0.5)
        for by in ("none", "mean_std", "cdf"):
            got = coordinates(model, y, by)
            truth = coordinates(plain, np.log(y), by)
            np.testing.assert_allclose(got.u, truth.u, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(got.scores, truth.scores, rtol=1e-9, atol=1e-9)
        same = [
            cg.kcsd(m, X, v, n_boot=50, rng=0).pvalue
            for m, v in ((model, y), (plain, np.log(y)))
        ]
        assert same[0] == same[1]

    def test_beta_and_uniform(self):
        v = RNG.beta(0.5, 2.0, size=60)
        low = X - 1
        high = X + 2
        y = low + 3 * v
        got = coordinates(Beta(0.5, 2.0, low=lambda x: x - 1, high=lambda x: x + 2), y)
        np.testing.assert_allclose(got.scores[:, 0], 0.5 * (1 - v) - 2.0 * v, atol=1e-9)
        assert got.reparametrized == LOGIT
        got = coordinates(Uniform(lambda x: x - 1, lambda x: x + 2), y)
        np.testing.assert_allclose(got.scores[:, 0], (high + low - 2 * y) / 3, atol=1e-12)

    def test_upper_bound_only(self):
        y = 3 - RNG.gamma(2.0, size=60)
        model = cg.from_score(lambda y, x: 1 - 1 / (3 - y), support=(None, 3))
        got = coordinates(model, y)
        np.testing.assert_allclose(got.u[:, 0], -np.log(3 - y))
        np.testing.assert_allclose(got.scores[:, 0], 3 - y - 2, atol=1e-12)
        assert got.reparametrized == "-log(high - y)"

    def test_only_some_coordinates(self):
        y = np.column_stack([RNG.normal(size=60), RNG.exponential(size=60)])
        model = cg.from_score(
            lambda y, x: np.column_stack([-y[:, 0], -np.ones(60)]),
            support=([[-np.inf, 0.0]], None),
        )
        got = coordinates(model, y)
        np.testing.assert_array_equal(got.u[:, 0], y[:, 0])
        np.testing.assert_allclose(got.scores, np.column_stack([-y[:, 0], 1 - y[:, 1]]))
        assert got.reparametrized == "column 0: y, column 1: log(y - low)"

    @pytest.mark.parametrize("by", ["none", "mean_std"])
    def test_standardised_scores_are_those_of_the_new_coordinate(self, by):
        """E[s] = 0 and E[s u] = −1 hold on the whole line, in any coordinates."""
        n = 40_000
        x = np.random.default_rng(0).normal(size=n)
        for model in (
            Gamma(0.7, scale=np.exp),
            Beta(0.5, 0.5),
            Uniform(lambda x: x, lambda x: x + 2),
        ):
            y = model(x).sample(np.random.default_rng(1))
            got = coordinates(model, y, by, x)
            np.testing.assert_allclose(got.scores.mean(), 0.0, atol=0.05)
            np.testing.assert_allclose((got.scores * got.u).mean(), -1.0, atol=0.1)
            if by == "mean_std":
                assert 0.5 < got.u.std() < 3


class TestOutside:
    Y = RNG.exponential(size=60)
    np.put(Y, [7, 30], [-0.1, 0.0])

    @pytest.mark.parametrize("standardize", ["none", "mean_std", "cdf"])
    def test_rows_are_counted_and_named(self, standardize):
        with pytest.raises(
            SupportError, match=r"in 2 of 60 rows, the first in row 7"
        ) as caught:
            cg.adaptive(Exponential(1.0), X, self.Y, standardize=standardize)
        assert (caught.value.count, caught.value.first_row) == (2, 7)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.count, again.first_row) == (str(caught.value), 2, 7)

    def test_everywhere(self):
        for call in (cg.kcsd, cg.fscd, cg.scores):
            with pytest.raises(SupportError, match="the model is refuted"):
                call(Exponential(1.0), X, self.Y)
        for call in (cg.witness, cg.power_criterion):
            with pytest.raises(SupportError):
                call(Exponential(1.0), X, self.Y, at=[0.0])
        with pytest.raises(SupportError):
            cg.ksd(Exponential(1.0), self.Y)

    def test_in_a_source_by_global_row(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        rng = np.random.default_rng(0)
        x = rng.normal(size=9000)
        y = rng.exponential(size=9000)
        y[8000] = -1.0
        pq.write_table(
            pa.table({"x": x, "y": y, "s": -np.ones(9000)}), tmp_path / "t.parquet"
        )
        source = cg.scan(tmp_path / "t.parquet", x="x", y="y")
        for model in (Exponential(1.0), cg.columns(score="s", support=(0, None))):
            with pytest.raises(SupportError, match="row 8000") as caught:
                cg.kcsd(model, source, rng=0, n_boot=5)
            assert caught.value.first_row == 8000


def test_results_say_so():
    y = RNG.gamma(2.0, size=60)
    result = cg.kcsd(Gamma(2.0, 1.0), X, y, n_boot=20, rng=0)
    assert result.details["reparametrized"] == LOG
    assert any(LOG in note for note in result.details["notes"])
    assert LOG in str(result)
    by_scale = cg.adaptive(Gamma(2.0, 1.0), X, y, n_boot=20, rng=0, standardize="mean_std")
    assert by_scale.details["reparametrized"] == LOG
    assert (
        "reparametrized" not in cg.adaptive(Gamma(2.0, 1.0), X, y, n_boot=20, rng=0).details
    )
    assert "reparametrized" not in cg.kcsd(Normal(0.0, 1.0), X, y, n_boot=20, rng=0).details


def test_maps_are_those_of_the_logarithm():
    y = np.exp(X + RNG.normal(size=60))
    at = np.array([-1.0, 0.0, 1.0])
    for value in (cg.witness, cg.power_criterion):
        got = value(LogNormal(0.0, 1.0), X, y, at=at)
        np.testing.assert_allclose(
            got, value(Normal(0.0, 1.0), X, np.log(y), at=at), rtol=1e-8
        )


def moving(x):
    """The upper end of an interval that begins at x."""
    return x[:, 0] + 1 + x[:, 0] ** 2


def test_streams(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 1))
    y = rng.uniform(x[:, 0], moving(x))
    model = Uniform(lambda x: x[:, 0], moving)
    pq.write_table(pa.table({"x": x[:, 0], "y": y, "s": 0 * y}), tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="x", y="y")
    options = {"solver": "lowrank", "rng": 0, "n_boot": 20, "kernel_y": cg.Gaussian(2.0)}
    streamed = cg.kcsd(model, source, **options)
    assert streamed.details["reparametrized"] == LOGIT
    scores = cg.columns(score="s", support=(lambda x: x[:, 0], moving))
    assert cg.kcsd(scores, source, **options).statistic == streamed.statistic
    # Every row is moved by itself, so that chunks agree with the whole.
    whole, part = (
        coordinates(model, v, "mean_std", w) for v, w in ((y, x), (y[700:800], x[700:800]))
    )
    np.testing.assert_array_equal(whole.u[700:800], part.u)
    np.testing.assert_array_equal(whole.scores[700:800], part.scores)


class TestDeclared:
    Y = np.random.default_rng(2).gamma(0.7, np.exp(X))
    TRUTH = Gamma(0.7, scale=np.exp)

    def test_every_way_is_the_same(self):
        def score(y, x):
            return -0.3 / y - np.exp(-x)

        def log_prob(y, x):
            return -0.3 * np.log(y) - y / np.exp(x)

        shapes = {
            "score": cg.from_score(score, support=(0, np.inf)),
            "array": cg.models.with_support(cg.from_scores(score(self.Y, X)), low=0),
            "rows": cg.models.with_support(
                cg.from_scores(score(self.Y, X)), low=np.zeros(60)
            ),
            "of x": cg.models.with_support(cg.from_score(score), lambda x: 0 * x),
            "log_prob": cg.from_log_prob(log_prob, support=(0, None)),
            "with log_prob": cg.models.with_support(cg.from_log_prob(log_prob), 0),
        }
        truth = cg.kcsd(self.TRUTH, X, self.Y, n_boot=20, rng=0)
        for name, model in shapes.items():
            result = cg.kcsd(model, X, self.Y, n_boot=20, rng=0)
            assert result.statistic == pytest.approx(truth.statistic, rel=1e-6), name
            assert result.details["reparametrized"] == LOG
            assert ("score_error" in result.details) == name.endswith("log_prob")
        assert shapes["rows"].take(np.arange(5)).rows == 5
        assert shapes["of x"].rows is None

    def test_log_densities_are_never_called_outside(self):
        def log_prob(y, x):
            assert (y > 0).all()
            return -0.3 * np.log(y) - y / np.exp(x)

        y = self.Y.copy()
        y[:3] = [1e-12, 1e-6, 30.0]
        model = cg.from_log_prob(log_prob, support=(0, np.inf))
        (scores, errors) = model(X).score_and_error(y)
        truth = self.TRUTH(X).score(y)
        np.testing.assert_allclose(scores, truth, rtol=1e-8)
        assert (np.abs(scores - truth) <= 10 * errors + 1e-12 * np.abs(truth)).all()
        # The errors in the result are those of the scores that were used.
        assert cg.kcsd(model, X, y, n_boot=5, rng=0).details["score_error"] < 1e-8

    def test_the_suite(self):
        def log_prob(y, x):
            return stats.beta(2.0, 0.5).logpdf(np.ravel(y))

        model = cg.from_log_prob(log_prob, support=(0, 1))
        check_law(model, X, np.random.default_rng(0).beta(2.0, 0.5, size=60), rtol=1e-4)
        scores = cg.from_scores(self.TRUTH(X).score(self.Y))
        check_law(cg.models.with_support(scores, 0.0), X, self.Y, needs=("score",))
        check_law(
            cg.models.with_support(scores, X - 20.0, 1e6), X, self.Y, needs=("score",)
        )

    def test_flat_densities(self):
        y = np.random.default_rng(0).uniform(size=60)
        uniform = cg.from_log_prob(lambda y, x: np.zeros(len(y)), support=(0, 1))
        np.testing.assert_allclose(
            coordinates(uniform, y).scores[:, 0], 1 - 2 * y, atol=1e-12
        )
        steps = cg.from_log_prob(lambda y, x: np.where(y < 0.5, 0.0, 1.0), support=(0, 1))
        with pytest.raises(DerivativeError, match="flat at every row"):
            cg.scores(steps, X, y)
        with pytest.raises(DerivativeError, match="flat at every row"):
            cg.scores(
                cg.from_log_prob(lambda y, x: np.zeros(len(y)), support=(0, None)), X, y
            )

    def test_bad_ones(self):
        with pytest.raises(InputTypeError, match=r"support must be a pair \(low, high\)"):
            cg.from_score(lambda y, x: y, support=0.0)
        with pytest.raises(UnsupportedModelError, match="has a support of its own"):
            cg.models.with_support(Normal(X, 1.0), low=0)
        with pytest.raises(InputError, match="goes with score="):
            cg.columns(mean="m", std="s", support=(0, 1))


TRUE = ("gamma-low", "gamma", "exponential", "beta", "lognormal", "uniform", "laplace")
LEVELS = [*(("kcsd", name) for name in TRUE), ("adaptive", "uniform")]
LEVELS += [("adaptive-mean_std", "beta")]


@pytest.mark.parametrize(("form", "name"), LEVELS)
def test_level(form, name):
    """A small version of the level tables; on the raw scale some always reject."""
    case = problem(f"true-{name}")
    test = cg.kcsd if form == "kcsd" else cg.adaptive
    options = {"standardize": "mean_std"} if form == "adaptive-mean_std" else {}
    pvalues = []
    for trial in range(15):
        x, y = case.draw(100, np.random.default_rng([trial, 100]))
        result = test(case.p, x, y, n_boot=99, rng=trial, engine=1, **options)
        pvalues.append(result.pvalue)
    assert_uniform(pvalues, n_boot=99)


def test_on_the_raw_scale_a_true_model_is_rejected():
    """Why all of this is needed: hide the support, and the test is wrong nearly always."""
    case = problem("true-exponential")
    rejections = 0
    for trial in range(10):
        x, y = case.draw(300, np.random.default_rng(trial))
        scores = cg.from_scores(case.p(x).score(y))
        with pytest.warns(SupportWarning, match="All y are positive"):
            result = cg.kcsd(scores, x, y, n_boot=99, rng=trial, engine=1)
        rejections += result.reject()
    assert rejections >= 9


def test_a_wrong_shape_is_found():
    case = problem("gamma-shape")
    rejections = 0
    for trial in range(5):
        x, y = case.draw(500, np.random.default_rng(trial))
        rejections += cg.adaptive(case.p, x, y, n_boot=99, rng=trial, engine=1).reject()
    assert rejections >= 4
