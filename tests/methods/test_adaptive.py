"""The adaptive test against loops over dense matrices; what it says; what does not change it."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import condgof as cg
import oracle
from condgof.errors import CondgofError, InputError, InputTypeError, UnsupportedModelError
from condgof.methods import _adaptive_design
from condgof.null import bootstrap_weights
from condgof.sample import Seed
from own_laws import OfX, model_of

SCALES_X, SCALES_Y = (1.0, 0.5, 0.25), (4.0, 2.0, 1.0, 0.5)
SHORT = {"rng": 3, "n_boot": 60, "engine": 1}


def draw(n=24, d_y=1, d_x=2, seed=0):
    """A sample with a model that is a little wrong: means and standard deviations (n, d_y)."""
    rng = np.random.default_rng([seed, n, d_y])
    x = rng.normal(size=(n, d_x)) * np.arange(1, d_x + 1)
    mean, std = x[:, :1] + np.arange(d_y), np.exp(0.2 * x[:, :1]) * np.ones(d_y)
    return x, mean + 1.2 * std * rng.normal(size=(n, d_y)), mean, std


@pytest.fixture
def full_rank(monkeypatch):
    """Locations without the error of their low-rank factors."""
    monkeypatch.setattr(_adaptive_design, "LOCAL_TOLERANCE", 1e-13)


def expected(x, u, s, unit, signs, *, scales_x=SCALES_X, scales_y=SCALES_Y):
    """The scales, those of each bandwidth on x together, and the locations: every row is one."""
    sigma_x = oracle.median_distance(x)
    scales = oracle.scale_matrices(x, u, s, sigma_x, scales_x, [unit * v for v in scales_y])
    local = oracle.local_matrices(x, u, s, 0.5 * sigma_x, (unit, 4.0 * unit), x)
    count = len(scales_x)
    groups = [oracle.family(scales[a::count], signs)[2] for a in range(count)]
    return oracle.family(scales, signs), groups, oracle.family(local, signs)


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
@pytest.mark.parametrize(
    ("d_y", "standardize"), [(1, "auto"), (2, "mean_std"), (1, "none"), (3, "none")]
)
def test_against_loops(d_y, standardize, solver, full_rank):
    x, y, mean, std = draw(d_y=d_y)
    n, m = len(x), 60
    u, s, unit = (y - mean) / std, -(y - mean) / std, 1.0
    if standardize == "none":
        u, s = y, (mean - y) / std**2
        unit = oracle.median_distance(y)
    signs = bootstrap_weights("wild", n, m, Seed.of(3)).block(0, n)
    scales, groups, local = expected(x / x.std(axis=0, ddof=1), u, s, unit, signs)
    value, draws = oracle.harmonic([*groups, local[2]], [0.7 / 3] * 3 + [0.3])
    together = oracle.evidence(*oracle.harmonic(groups, [1 / 3] * 3))
    options = {"tolerance": 1e-12} if solver == "lowrank" else {}
    got = cg.adaptive((mean, std), x, y, standardize=standardize, solver=solver, **SHORT, **options)
    assert got.solver == solver
    rel = 1e-9 if solver == "exact" else 1e-6
    table = got.details["scales"]
    size = np.abs(scales[0]).max()
    np.testing.assert_allclose([row["statistic"] for row in table], scales[0], rtol=rel, atol=rel * size)
    np.testing.assert_allclose([row["pvalue"] for row in table], scales[1])
    assert got.details["scales_pvalue"] == pytest.approx(together[2])
    assert got.details["locations_pvalue"] == pytest.approx(local[2][2])
    # Only where the statistic is beyond all draws does it depend on their size, in single precision.
    beyond = max(part[0] for part in (*groups, local[2])) > 4.1
    assert got.statistic == pytest.approx(value, rel=1e-4 if beyond else 1e-9)
    np.testing.assert_allclose(got.null_distribution, draws, rtol=1e-5)  # the largest: single precision
    assert got.pvalue == (1 + (draws >= value - 1e-9).sum()) / (m + 1)


def test_scales_alone_and_other_scales():
    x, y, mean, std = draw(d_y=2)
    scales_x, scales_y = (0.3, 3.0, 1.0), (0.7,)
    signs = bootstrap_weights("wild", len(x), 60, Seed.of(3)).block(0, len(x))
    u = (y - mean) / std
    scaled = x / x.std(axis=0, ddof=1)
    scales, groups, _ = expected(scaled, u, -u, 1.0, signs, scales_x=scales_x, scales_y=scales_y)
    together = oracle.evidence(*oracle.harmonic(groups, [1 / 3] * 3))
    got = cg.adaptive((mean, std), x, y, scales_x=scales_x, scales_y=scales_y, n_locations=0, **SHORT)
    table = got.details["scales"]
    np.testing.assert_allclose([row["statistic"] for row in table], scales[0], rtol=1e-9)
    sigma = oracle.median_distance(scaled)
    np.testing.assert_allclose([row["bandwidth_x"] for row in table], sigma * np.array([3.0, 1.0, 0.3]))
    assert [row["bandwidth_y"] for row in table] == [0.7] * 3
    assert got.pvalue == got.details["scales_pvalue"] == pytest.approx(together[2])
    assert "locations_pvalue" not in got.details
    assert "strongest_location" not in got.details


def test_the_scales_are_those_of_kcsd():
    """Statistic and p-value at each scale: those of `kcsd` in the same coordinates, signs and all."""
    x, y, mean, std = draw(80)
    got = cg.adaptive((mean, std), x, y, **SHORT)
    for row in got.details["scales"]:
        alone = cg.kcsd(
            (mean, std), x, y, scale_x="std", standardize="cdf",
            kernel_x=cg.Gaussian(row["bandwidth_x"]), kernel_y=cg.Gaussian(row["bandwidth_y"]), **SHORT,
        )  # fmt: skip
        assert row["statistic"] == pytest.approx(alone.statistic, rel=1e-9)
        assert row["pvalue"] == alone.pvalue


@pytest.fixture(scope="module")
def result():
    """Too noisy where x > 1."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 400)
    y = x + (1 + 1.5 * (x > 1)) * rng.normal(size=400)
    return cg.adaptive(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=1, n_boot=500)


class TestDetails:
    def test_what_is_strongest(self, result):
        table = result.details["scales"]
        assert len(table) == 12
        strongest = result.details["strongest_scale"]
        assert strongest in table
        assert result.kernel_x.bandwidth == pytest.approx(strongest["bandwidth_x"])
        assert result.kernel_y.bandwidth == strongest["bandwidth_y"]
        assert strongest["pvalue"] == min(row["pvalue"] for row in table)
        where = result.details["strongest_location"]
        assert where["x"].shape == (1,)
        assert where["x"][0] > 0.8
        assert where["pvalue"] <= 0.01

    def test_fields(self, result):
        assert (result.method, result.n, result.solver) == ("adaptive", 400, "exact")
        assert result.null == "wild bootstrap"
        assert result.locations is None
        assert result.reject(0.01)
        assert result.details["standardized_by"] == "normal scores of the model's CDF"
        assert "notes" not in result.details

    def test_json_and_pickle(self, result):
        plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert plain["details"]["scales"][0].keys() == {
            "bandwidth_x", "bandwidth_y", "statistic", "pvalue",
        }  # fmt: skip
        assert isinstance(plain["details"]["strongest_location"]["x"], list)
        again = pickle.loads(pickle.dumps(result))
        assert again.to_dict() == result.to_dict()
        for one in (result, again):
            with pytest.raises(ValueError, match="read-only"):
                one.details["strongest_location"]["x"][0] = 1.0

    def test_a_person_reads_it(self, result):
        text = str(result)
        assert "adaptive test of goodness of fit, n = 400" in text
        assert "evidence against the model" in text
        assert "np.float64" not in text
        assert max(map(len, text.splitlines())) < 130

    def test_the_seed_gives_the_result_again(self):
        x, y, mean, std = draw(40)
        first = cg.adaptive((mean, std), x, y, n_boot=50)
        again = cg.adaptive((mean, std), x, y, n_boot=50, rng=first.seed)
        assert (first.statistic, first.pvalue) == (again.statistic, again.pvalue)

    @pytest.mark.parametrize(
        ("standardize", "by", "blind"),
        [
            ("auto", "normal scores of the model's CDF", False),
            ("marginals", "normal scores of the model's marginal CDFs", False),
            ("mean_std", "location and scale of the model", True),
            ("none", "it is", True),
        ],
    )
    def test_what_y_was_standardised_by(self, standardize, by, blind):
        x, y, mean, std = draw()
        result = cg.adaptive((mean, std), x, y, standardize=standardize, **SHORT)
        assert result.details["standardized_by"] == by
        notes = " ".join(result.details.get("notes", ()))
        assert ("not by weight" in notes) == blind == ("not by weight" in str(result))

    def test_a_score_alone_says_what_it_cannot_see(self):
        x, y, mean, std = draw()
        for model in (cg.from_scores((mean - y) / std**2), cg.from_score(lambda y, x: -y)):
            result = cg.adaptive(model, x, y, **SHORT)
            assert result.details["standardized_by"] == "it is"
            assert "not by weight" in result.details["notes"][-1]

    def test_scores_that_were_differentiated(self):
        x, y, _, _ = draw()
        result = cg.adaptive(cg.from_log_prob(lambda y, x: -0.5 * y[:, 0] ** 2), x, y, **SHORT)
        assert 0 < result.details["score_error"] < 1e-6

    def test_a_capped_rank_is_noted(self):
        x, y, mean, std = draw(200)
        result = cg.adaptive((mean, std), x, y, rank=10, **SHORT)
        assert result.solver == "lowrank"
        assert result.details["rank"] <= 10
        assert "rank stopped at" in result.details["notes"][0]


class TestColumnsOfX:
    def frame(self, n=40):
        rng = np.random.default_rng(0)
        x = pd.DataFrame({"a": rng.normal(size=n), "g": rng.choice(["u", "v", "w"], n), "c": 2.0})
        return x, x["a"].to_numpy() + rng.normal(size=n)

    def test_levels_and_a_constant_column(self):
        x, y = self.frame()
        mean, std = x["a"].to_numpy(), np.ones(40)
        result = cg.adaptive((mean, std), x, y, **SHORT)
        assert len(result.details["scales"]) == 12
        label = result.details["strongest_location"]["label"]
        assert label.keys() == {"a", "g", "c"}
        assert label["g"] in {"u", "v", "w"}
        assert "because constant: 'c'" in result.details["notes"][0]
        assert "Categorical(0.5).on('g')" in str(result)
        # The kernel of each scale, by hand: a Gaussian on 'a' and 1 or 0.5 on 'g'.
        scaled = (x["a"] / x["a"].std()).to_numpy()[:, None]
        level = np.where(x["g"].to_numpy()[:, None] == x["g"].to_numpy(), 1.0, 0.5)
        u = (y - mean)[:, None]
        sigma = oracle.median_distance(scaled)
        for row, matrix in zip(
            result.details["scales"],
            oracle.scale_matrices(scaled, u, -u, sigma, SCALES_X, SCALES_Y),
            strict=True,
        ):
            assert row["statistic"] == pytest.approx(40 * oracle.u_statistic(level * matrix), rel=1e-8)
        json.dumps(result.to_dict(), allow_nan=False)

    @pytest.mark.parametrize("solver", ["exact", "lowrank"])
    def test_no_numbers_at_all(self, solver):
        x, y = self.frame()
        result = cg.adaptive((x["a"].to_numpy(), np.ones(40)), x[["g"]], y, solver=solver, **SHORT)
        table = result.details["scales"]
        assert [row["bandwidth_x"] for row in table] == [None] * 4
        assert [row["bandwidth_y"] for row in table] == list(SCALES_Y)
        json.dumps(result.to_dict(), allow_nan=False)

    def test_a_constant_column_changes_nothing(self):
        x, y, mean, std = draw()
        plain = cg.adaptive((mean, std), x, y, **SHORT)
        wide = cg.adaptive((mean, std), np.column_stack([x, np.full(len(x), 7.0)]), y, **SHORT)
        assert (wide.statistic, wide.pvalue) == (plain.statistic, plain.pvalue)
        assert wide.details["strongest_location"]["x"][2] == 7.0

    def test_ties_in_x(self):
        """Few different rows: locations may be equal."""
        rng = np.random.default_rng(0)
        x = rng.integers(0, 2, 100).astype(float)
        result = cg.adaptive((x, np.ones(100)), x, x + rng.normal(size=100), **SHORT)
        assert 0.01 < result.pvalue <= 1


class TestOutliers:
    """A row that is far from all others must not decide what the rest of the sample says."""

    @pytest.mark.parametrize("far", [6.0, 10.0, 1e4])
    def test_in_x(self, far):
        rng = np.random.default_rng(1)
        x = rng.normal(size=70)
        y = x + 2.5 * rng.normal(size=70)
        x[0], y[0] = far, far
        result = cg.adaptive(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, scale_x="none", rng=0)
        assert result.details["locations_pvalue"] < 0.05

    @pytest.mark.parametrize("far", [1e3, 1e5, 1e7])
    @pytest.mark.parametrize("solver", ["exact", "lowrank"])
    def test_in_y(self, solver, far):
        rng = np.random.default_rng(1)
        x = rng.normal(size=150)
        y = x + rng.normal(size=150)
        results = []
        for value in (40.0, far):
            y[5] = value
            results.append(cg.adaptive((x, np.ones(150)), x, y, solver=solver, rng=0, n_boot=199))
        # Beyond 40 standard deviations it is compared with nobody, however far it is.
        near, other = results
        assert other.pvalue == pytest.approx(near.pvalue, abs=0.021)
        for a, b in zip(near.details["scales"], other.details["scales"], strict=True):
            assert b["statistic"] == pytest.approx(a["statistic"], abs=0.02)


class TestInvariance:
    @settings(max_examples=12)
    @given(st.integers(0, 2**32), st.integers(1, 2), st.sampled_from(["auto", "none"]))
    def test_the_order_of_the_rows(self, seed, d_y, standardize):
        """Statistics at each scale and location; draws belong to rows."""
        x, y, mean, std = draw(20, d_y, seed=seed)
        order = np.random.default_rng(seed).permutation(20)
        options = {"standardize": standardize, "n_boot": 5, "rng": 0, "engine": 1}
        plain = cg.adaptive((mean, std), x, y, **options)
        mixed = cg.adaptive((mean[order], std[order]), x[order], y[order], **options)
        a, b = ([row["statistic"] for row in r.details["scales"]] for r in (plain, mixed))
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-11 * np.abs(a).max() + 1e-12)

    @settings(max_examples=12)
    @given(
        st.floats(-1e3, 1e3),
        st.floats(1e-3, 1e3),
        st.sampled_from(["cdf", "marginals", "mean_std", "none"]),
    )
    def test_units_of_y(self, shift, scale, standardize):
        x, y, mean, std = draw(30, 2)
        options = {"standardize": standardize, **SHORT}
        plain = cg.adaptive((mean, std), x, y, **options)
        other = cg.adaptive((scale * mean + shift, scale * std), x, scale * y + shift, **options)
        assert other.pvalue == plain.pvalue
        assert other.statistic == pytest.approx(plain.statistic, rel=1e-6)

    @settings(max_examples=12)
    @given(st.floats(-1e4, 1e4), st.floats(1e-6, 1e6))
    def test_units_of_x(self, shift, unit):
        x, y, mean, std = draw(30)
        plain = cg.adaptive((mean, std), x, y, **SHORT)
        moved = np.column_stack([x[:, 0] + shift, unit * x[:, 1]])
        other = cg.adaptive((mean, std), moved, y, **SHORT)
        assert other.pvalue == plain.pvalue
        assert other.statistic == pytest.approx(plain.statistic, rel=1e-6)
        location = plain.details["strongest_location"]["x"] * [1.0, unit] + [shift, 0.0]
        np.testing.assert_allclose(other.details["strongest_location"]["x"], location, rtol=1e-6)

    def test_units_of_x_matter_without_scaling(self):
        x, y, mean, std = draw(30)
        plain, other = (
            cg.adaptive((mean, std), x * [1.0, unit], y, scale_x="none", **SHORT) for unit in (1, 50)
        )
        assert other.statistic != plain.statistic

    @pytest.mark.parametrize("solver", ["exact", "lowrank"])
    def test_threads_and_memory(self, solver):
        x, y, mean, std = draw(300)
        options = {"rng": 3, "n_boot": 60, "solver": solver}
        one = cg.adaptive((mean, std), x, y, engine=1, **options)
        for engine, memory in ((3, 2**29), (2, 10**5)):
            many = cg.adaptive((mean, std), x, y, engine=engine, memory=memory, **options)
            assert many.to_dict() == one.to_dict()

    def test_the_callers_arrays_are_left_alone(self):
        x, y, mean, std = draw()
        copies = [a.copy() for a in (x, y, mean, std)]
        cg.adaptive((mean, std), x, y, **SHORT)
        for a, b in zip((x, y, mean, std), copies, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [3, 4, 5, 7])
@pytest.mark.parametrize("standardize", ["auto", "none"])
def test_a_handful_of_rows(n, standardize):
    """Both solvers give the same p-value: draws whose signs are all equal are ties in both."""
    x, y, mean, std = draw(n)
    exact, low = (
        cg.adaptive((mean, std), x, y, standardize=standardize, solver=solver, rng=0, n_boot=300)
        for solver in ("exact", "lowrank")
    )
    assert exact.pvalue == low.pvalue
    # All signs equal is one of 2^(n−1) patterns, and never below the statistic.
    assert exact.pvalue > 0.5 / 2 ** (n - 1)


def test_one_draw():
    x, y, mean, std = draw()
    assert cg.adaptive((mean, std), x, y, rng=0, n_boot=1).pvalue in (0.5, 1.0)


def test_multinomial_draws():
    x, y, mean, std = draw()
    result = cg.adaptive((mean, std), x, y, null="multinomial", n_locations=0, **SHORT)
    assert result.null == "multinomial bootstrap"
    n = len(x)
    weights = bootstrap_weights("multinomial", n, 60, Seed.of(3)).block(0, n)
    u = (y - mean) / std
    scaled = x / x.std(axis=0, ddof=1)
    matrices = oracle.scale_matrices(scaled, u, -u, oracle.median_distance(scaled), SCALES_X, SCALES_Y)
    for row, matrix in zip(result.details["scales"], matrices, strict=True):
        draws = np.array([oracle.multinomial_draw(matrix, w + 1) for w in weights.T])
        assert row["pvalue"] == (1 + (draws >= row["statistic"]).sum()) / 61


class OnlyCdf(OfX):
    def cdf(self, y):
        from scipy.special import ndtr

        return ndtr(np.ravel(y))


def test_a_model_with_nothing_but_a_cdf():
    x, y, _, _ = draw(60)
    model = model_of(OnlyCdf)
    result = cg.adaptive(model, x, y, **SHORT)
    same = cg.adaptive((np.zeros(60), np.ones(60)), x, y, **SHORT)
    assert result.pvalue == same.pvalue
    # Without a score, kcsd compares what there is, and says so.
    plain, auto = (cg.kcsd(model, x, y, standardize=s, **SHORT) for s in ("none", "auto"))
    assert plain.pvalue == auto.pvalue
    assert plain.details["standardized_by"] == "normal scores of the model's CDF"


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"standardize": "std"}, InputError, "standardize must be one of 'auto'"),
            ({"standardize": None}, InputError, "standardize must be one of 'auto'"),
            ({"standardize": "cdf"}, UnsupportedModelError, "It can take: 'none'"),
            ({"standardize": "marginals"}, UnsupportedModelError, "It can take: 'none'"),
            ({"standardize": "mean_std"}, UnsupportedModelError, "It can take: 'none'"),
            ({"scales_x": ()}, InputError, "scales_x must be a list of positive numbers"),
            ({"scales_x": (1.0, -0.5)}, InputError, "scales_x must be .* got .1.0, -0.5"),
            ({"scales_x": (1.0, 0.0)}, InputError, "scales_x must be"),
            ({"scales_x": 1.0}, InputError, "scales_x must be"),
            ({"scales_x": "12"}, InputError, "scales_x must be"),
            ({"scales_y": ("1", "2")}, InputError, "scales_y must be"),
            ({"scales_y": (np.nan,)}, InputError, "scales_y must be"),
            ({"scales_y": (np.inf,)}, InputError, "scales_y must be"),
            ({"scales_y": (True,)}, InputError, "scales_y must be"),
            ({"scales_y": None}, InputError, "scales_y must be"),
            ({"n_locations": -1}, InputError, "n_locations must be at least 1, got -1"),
            ({"n_locations": 2.5}, InputError, "n_locations must be an integer"),
            ({"n_locations": "80"}, InputError, "n_locations must be an integer"),
            ({"null": "spectral"}, InputError, "no spectral null"),
            ({"null": "magic"}, InputError, "null"),
            ({"solver": "magic"}, InputError, "solver must be one of"),
            ({"n_boot": 0}, InputError, "n_boot must be at least 1"),
            ({"scale_x": "max"}, InputError, "scale_x must be"),
            ({"memory": 10}, InputError, "memory must be at least"),
            ({"rank": 0}, InputError, "rank must be at least 1"),
        ],
    )
    def test_options(self, options, error, message):
        x, y, mean, std = draw()
        with pytest.raises(error, match=message):
            cg.adaptive(cg.from_scores((mean - y) / std**2), x, y, **options)

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            (lambda x, y, s: (x, np.ones_like(y), s), InputError, "y is constant"),
            (lambda x, y, s: (np.ones_like(x), y, s), InputError, "Every column of x is constant"),
            (lambda x, y, s: (x[:2], y[:2], s[:2]), CondgofError, "at least 3 rows"),
            (lambda x, y, s: (x, y * np.nan, s), CondgofError, "NaN"),
            (lambda x, y, s: (x, y, s[:-1]), CondgofError, "bound to 23 rows and the sample has 24"),
            (lambda x, y, s: (x, y, s * 1e200), CondgofError, "overflows"),
            (lambda x, y, s: (x, None, s), InputTypeError, "y is missing"),
        ],
    )
    @pytest.mark.parametrize("solver", ["exact", "lowrank"])
    def test_samples(self, change, error, message, solver):
        x, y, mean, std = draw()
        x, y, s = change(x, y, (mean - y) / std**2)
        with pytest.raises(error, match=message):
            cg.adaptive(cg.from_scores(s), x, y, rng=0, solver=solver)

    def test_a_model_that_can_do_nothing(self):
        class Nothing(OfX):
            pass

        x, y, _, _ = draw()
        with pytest.raises(UnsupportedModelError, match=r"no score. No test can take it"):
            cg.adaptive(model_of(Nothing), x, y)
