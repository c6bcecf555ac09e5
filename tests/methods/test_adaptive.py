"""The adaptive test against loops over dense matrices, its details, its invariances."""

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
from condgof.laws import law_of
from condgof.methods import Options, families_of, make_design, run_adaptive
from condgof.sample import Sample, Seed
from condgof.stein import RowsInMemory, Units
from own_laws import OfX, model_of
from seeds import examples

#: Bandwidths on y, the widest first.
SCALES_Y = (4.0, 2.0, 1.0, 0.5)
SHORT = {"rng": 3, "n_boot": 60, "engine": 1}


def draw(n=24, d_y=1, d_x=2, seed=0):
    """A sample x, y with a model that is a little wrong: its mean and std, (n, d_y)."""
    rng = np.random.default_rng([seed, n, d_y])
    x = rng.normal(size=(n, d_x)) * np.arange(1, d_x + 1)
    mean = x[:, :1] + np.arange(d_y)
    std = np.exp(0.2 * x[:, :1]) * np.ones(d_y)
    return x, mean + 1.2 * std * rng.normal(size=(n, d_y)), mean, std


def prepared(model, x, y, standardize="auto", scale_x="ranks"):
    """The rows of a sample as the adaptive test compares them."""
    sample = Sample.from_data(x, y)
    law = law_of(cg.as_model(model), sample)
    return RowsInMemory.from_law(law, sample, Units(scale_x, standardize, predictions=True))


@pytest.mark.parametrize(
    ("d_y", "standardize"),
    [(1, "auto"), (2, "auto"), (2, "mean_std"), (1, "none"), (3, "none")],
)
def test_against_loops(d_y, standardize):
    """Statistics are off-diagonal sums of dense matrices, combined by the definition."""
    x, y, mean, std = draw(d_y=d_y)
    rows = prepared((mean, std), x, y, standardize)
    options = Options(n_boot=19, engine=1).checked()
    result, design = run_adaptive(rows, options, Seed.of(3))
    plan = design.plan
    (null,) = options.nulls(plan, rows)
    drawn = null.draw(plan, rows, 19, Seed.of(3), options.engine)
    in_order = rows.in_content_order()
    others = null.draw(plan, in_order, 19, rows.content_seed(), options.engine)
    features = plan.features.evaluate(rows.x).astype(float)
    xi = plan.test_functions.evaluate(rows.residuals).astype(float)
    for k, (on_x, on_y) in enumerate(plan.statistics):
        f = features[:, on_x.columns]
        e = xi[:, on_y.columns]
        matrix = (f @ f.T) * (e @ e.T)
        wanted = matrix.sum() - np.trace(matrix)
        assert drawn.statistics[k] == pytest.approx(
            wanted, abs=1e-4 * np.trace(matrix) + 1e-9
        )
    families = [family for family in families_of(plan, drawn) if len(family.which)]
    values = np.column_stack([drawn.draws, drawn.statistics])
    pairs = list(zip(others.draws, values, strict=True))
    scaled = np.array([[oracle.scale_by(r, value) for value in row] for r, row in pairs])
    by_reference = np.array([oracle.standardized(r) for r, _ in pairs])
    alive = others.draws.std(axis=1) > 1e-5 * drawn.sizes
    scaled[~alive] = 0.0
    by_reference[~alive] = 0.0
    parts = []
    for family in families:
        soft = [oracle.log_mean_exp(column) for column in scaled[family.which].T]
        own = [oracle.log_mean_exp(column) for column in by_reference[family.which].T]
        evidence = [oracle.evidence_by(own, value) for value in soft]
        rank = (1 + sum(draw >= soft[-1] for draw in soft[:-1])) / 20
        parts.append(oracle.Evidence(evidence[-1], np.array(evidence[:-1]), rank))
    shares = np.array([family.share for family in families])
    value, draws = oracle.harmonic(parts, shares / shares.sum())
    assert result.statistic == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(result.null_distribution, draws, rtol=1e-6)
    assert result.pvalue == (1 + (draws >= value - 1e-9).sum()) / 20
    assert result.details["families"] == pytest.approx(
        {family.name: part[2] for family, part in zip(families, parts, strict=True)}
    )


def test_the_scales_are_the_kernels_of_kcsd_less_their_constant_part():
    """Up to directions of h below a share of the largest, in units of the null's spread."""
    x, y, mean, std = draw(40)
    got = cg.adaptive((mean, std), x, y, rng=3, n_boot=300)
    scaled = prepared((mean, std), x, y).x[:, :2]
    z = (y - mean) / std
    centre = np.eye(40) - 1 / 40
    for row in got.details["scales"]:
        k = (
            centre
            @ oracle.gram(scaled, scaled, oracle.gaussian, row["bandwidth_x"])
            @ centre
        )
        matrix = k * oracle.stein_h(z, -z, oracle.gaussian, row["bandwidth_y"])
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (40, 300))
        spread = oracle.off_diagonal_forms(matrix, signs).std() / 39
        assert abs(row["statistic"] - 40 * oracle.u_statistic(matrix)) < 0.25 * spread


@pytest.mark.parametrize("kind", ["shift", "spread", "level", "pair", "wild rows"])
def test_simple_misfits_are_seen_by_the_family_that_looks_for_them(kind):
    rng = np.random.default_rng(5)
    n = 500
    x = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "g": rng.choice(list("uvwxyz"), n),
        }
    )
    e = rng.normal(size=n)
    y = {
        "shift": 0.25 + e,
        "spread": 1.25 * e,
        "level": e + (x["g"] == "w"),
        "pair": e + 0.4 * x["a"] * x["b"],
        "wild rows": np.where(np.arange(n) % 100 == 7, 6.0 * e, e),
    }[kind]
    families = {
        "shift": "level",
        "spread": "level",
        "level": "categories",
        "pair": "pairs",
        "wild rows": "surprises",
    }
    result = cg.adaptive((np.zeros(n), np.ones(n)), x, np.asarray(y), rng=0)
    assert result.details["families"][families[kind]] <= 0.002
    assert result.reject(0.01)
    if kind == "level":
        assert result.details["strongest_column"]["column"] == "g"
        assert result.details["strongest_column"]["level"] == "w"


@pytest.mark.parametrize("noise", [3.0, 1e3, 1e5, 1e8])
@pytest.mark.parametrize("how", ["normal", "mean_std", "scores", "draws"])
def test_a_model_that_is_far_too_sure_is_rejected_however_wrong_it_is(noise, how):
    rng = np.random.default_rng(2)
    x = rng.normal(size=120)
    y = 2 * x + noise * rng.normal(size=120)
    model = (2 * x, np.ones(120))
    if how == "scores":
        model = cg.from_scores(2 * x - y)
    if how == "draws":
        model = cg.from_draws(2 * x[:, None] + rng.normal(size=(120, 50)))
    options = {"standardize": "mean_std"} if how == "mean_std" else {}
    assert cg.adaptive(model, x, y, rng=0, n_boot=199, **options).reject(0.05)


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
        assert len(table) == 12  # scales of x times bandwidths on y
        strongest = result.details["strongest_scale"]
        assert strongest in table
        assert result.kernel_x.bandwidth == pytest.approx(strongest["bandwidth_x"])
        assert result.kernel_y.bandwidth == strongest["bandwidth_y"]
        assert strongest["pvalue"] <= 0.01
        where = result.details["strongest_location"]
        assert where["x"].shape == (1,)
        assert where["x"][0] > 0.8
        assert where["pvalue"] <= 0.01

    def test_fields(self, result):
        assert (result.method, result.n, result.solver) == ("adaptive", 400, "exact")
        assert result.null == "model"
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
        model = cg.from_log_prob(lambda y, x: -0.5 * y[:, 0] ** 2)
        assert (
            0
            < cg.adaptive(model, x, y, standardize="none", **SHORT).details["score_error"]
            < 1e-6
        )
        # Integrated to a CDF, it needs no scores.
        same = cg.adaptive((np.zeros(24), np.ones(24)), x, y, **SHORT)
        assert "score_error" not in cg.adaptive(model, x, y, **SHORT).details
        whole = cg.adaptive(model, x, y, **SHORT)
        assert whole.details["families"]["constant"] == same.details["families"]["constant"]


class TestColumnsOfX:
    def frame(self, n=40):
        rng = np.random.default_rng(0)
        x = pd.DataFrame(
            {"a": rng.normal(size=n), "g": rng.choice(["u", "v", "w"], n), "c": 2.0}
        )
        return x, x["a"].to_numpy() + rng.normal(size=n)

    def test_levels_and_a_constant_column(self):
        x, y = self.frame()
        mean = x["a"].to_numpy()
        std = np.ones(40)
        result = cg.adaptive((mean, std), x, y, **SHORT)
        assert len(result.details["scales"]) == 12
        label = result.details["strongest_location"]["label"]
        assert label.keys() == {"a", "g", "c"}
        assert label["g"] in {"u", "v", "w"}
        assert "because constant: 'c'" in result.details["notes"][0]
        assert "Categorical(0.5).on('g')" in str(result)
        json.dumps(result.to_dict(), allow_nan=False)

    @pytest.mark.parametrize("solver", ["exact", "lowrank"])
    def test_no_numbers_at_all(self, solver):
        x, y = self.frame()
        result = cg.adaptive(
            (x["a"].to_numpy(), np.ones(40)), x[["g"]], y, solver=solver, **SHORT
        )
        table = result.details["scales"]
        assert [row["bandwidth_x"] for row in table] == [None] * 4
        assert [row["bandwidth_y"] for row in table] == list(SCALES_Y)
        assert set(result.details["families"]) == {
            "x",
            "columns",
            "categories",
            "spread by category",
            "level",
            "constant",
            "locations",
            "category columns",
            "shapes",
            "surprises",
        }
        json.dumps(result.to_dict(), allow_nan=False)

    def test_a_constant_column_changes_nothing(self):
        x, y, mean, std = draw()
        plain = cg.adaptive((mean, std), x, y, **SHORT)
        wide = cg.adaptive(
            (mean, std), np.column_stack([x, np.full(len(x), 7.0)]), y, **SHORT
        )
        assert (wide.statistic, wide.pvalue) == (plain.statistic, plain.pvalue)
        assert wide.details["strongest_location"]["x"][2] == 7.0

    def test_ties_in_x(self):
        """Few different rows: locations may be equal."""
        rng = np.random.default_rng(0)
        x = rng.integers(0, 2, 100).astype(float)
        result = cg.adaptive((x, np.ones(100)), x, x + rng.normal(size=100), **SHORT)
        assert 0.01 < result.pvalue <= 1


class TestOutliers:
    """A row that is far from all others does not decide what the others say."""

    @pytest.mark.parametrize("far", [6.0, 10.0, 1e4])
    def test_in_x(self, far):
        rng = np.random.default_rng(1)
        x = rng.normal(size=70)
        y = x + 2.5 * rng.normal(size=70)
        x[0] = far
        y[0] = far
        model = cg.models.Normal(mean=lambda x: x, std=1.0)
        for scale_x in ("ranks", "none"):
            result = cg.adaptive(model, x, y, scale_x=scale_x, rng=0)
            assert result.details["families"]["locations"] < 0.05

    @pytest.mark.parametrize("far", [1e3, 1e5, 1e7])
    @pytest.mark.parametrize("solver", ["exact", "lowrank"])
    def test_in_y(self, solver, far):
        rng = np.random.default_rng(1)
        x = rng.normal(size=150)
        y = x + rng.normal(size=150)
        results = []
        for value in (40.0, far):
            y[5] = value
            results.append(
                cg.adaptive((x, np.ones(150)), x, y, solver=solver, rng=0, n_boot=199)
            )
        # Beyond 6.5 standard deviations it is evidence by its surprise alone, and the sums
        # stay.
        near, other = results
        assert other.pvalue <= near.pvalue == 1 / 200
        for a, b in zip(near.details["scales"], other.details["scales"], strict=True):
            assert b["statistic"] == pytest.approx(a["statistic"], abs=1e-3)

    def test_ranks_of_x_see_what_an_outlier_hides(self):
        rng = np.random.default_rng(4)
        x = rng.normal(size=150)
        y = np.sin(2 * x) + rng.normal(size=150)
        x[0] = 1e4
        result = cg.adaptive((np.zeros(150), np.ones(150)), x, y, rng=0)
        assert result.details["families"]["x"] <= 0.002


def mixed_columns(n):
    """Return a table of numbers, few numbers and text, many rows of it equal, with y."""
    rng = np.random.default_rng(0)
    distinct = pd.DataFrame(
        {
            "k": rng.integers(0, 4, n),
            "c": rng.choice(list("uvw"), n),
            "a": rng.normal(size=n).round(1),
        }
    )
    x = distinct.iloc[rng.integers(0, max(n // 2, 50), n)].reset_index(drop=True)
    mean = x["a"].to_numpy()
    return x, mean + rng.normal(size=n), mean


def scale_statistics(result):
    return np.array([row["statistic"] for row in result.details["scales"]])


class TestInvariance:
    @settings(max_examples=examples(6))
    @given(st.integers(0, 2**32), st.integers(1, 2), st.sampled_from(["auto", "none"]))
    def test_the_order_of_the_rows(self, seed, d_y, standardize):
        """Statistics at each scale and location; draws belong to rows."""
        x, y, mean, std = draw(20, d_y, seed=seed)
        order = np.random.default_rng(seed).permutation(20)
        options = {"standardize": standardize, "n_boot": 5, "rng": 0, "engine": 1}
        plain = cg.adaptive((mean, std), x, y, **options)
        mixed = cg.adaptive((mean[order], std[order]), x[order], y[order], **options)
        a, b = scale_statistics(plain), scale_statistics(mixed)
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4 * np.abs(a).max())

    @pytest.mark.parametrize("n", [60, 1500, 5000])
    @pytest.mark.parametrize("standardize", ["auto", "none"])
    def test_seeds_and_the_order_of_the_rows_choose_nothing(self, n, standardize):
        """Bandwidths, landmarks and locations come from x (and y): only draws differ."""
        x, y, mean = mixed_columns(n)
        options = {"standardize": standardize, "n_boot": 5, "engine": 1}
        first = cg.adaptive((mean, np.ones(n)), x, y, rng=0, **options)
        seeded = cg.adaptive((mean, np.ones(n)), x, y, rng=1, **options)
        order = np.random.default_rng(2).permutation(n)
        mixed = cg.adaptive(
            (mean[order], np.ones(n)), x.iloc[order], y[order], rng=0, **options
        )
        a = scale_statistics(first)
        np.testing.assert_array_equal(scale_statistics(seeded), a)
        np.testing.assert_allclose(
            scale_statistics(mixed), a, rtol=1e-3, atol=1e-4 * np.abs(a).max()
        )
        bandwidths = {row["bandwidth_x"] for row in first.details["scales"]}
        assert {row["bandwidth_x"] for row in mixed.details["scales"]} == bandwidths

    def test_equal_rows_are_one_location(self):
        rng = np.random.default_rng(0)
        x = rng.integers(0, 3, (200, 2)).astype(float)
        rows = prepared((x[:, 0], np.ones(200)), x, x[:, 0] + rng.normal(size=200))
        locations = make_design(rows).locations[:, :2]
        assert len(np.unique(locations, axis=0)) == len(locations) <= 9

    @settings(max_examples=examples(6))
    @given(
        st.floats(-1e3, 1e3),
        st.floats(1e-3, 1e3),
        st.sampled_from(["cdf", "marginals", "mean_std", "none"]),
    )
    def test_units_of_y(self, shift, scale, standardize):
        x, y, mean, std = draw(30, 2)
        options = {"standardize": standardize, **SHORT}
        plain = cg.adaptive((mean, std), x, y, **options)
        other = cg.adaptive(
            (scale * mean + shift, scale * std), x, scale * y + shift, **options
        )
        assert other.pvalue == plain.pvalue
        assert other.statistic == pytest.approx(plain.statistic, rel=1e-6)

    @settings(max_examples=examples(6))
    @given(st.floats(-1e4, 1e4), st.floats(1e-6, 1e6))
    def test_units_of_x(self, shift, unit):
        x, y, mean, std = draw(30)
        plain = cg.adaptive((mean, std), x, y, **SHORT)
        moved = np.column_stack([x[:, 0] + shift, unit * x[:, 1]])
        other = cg.adaptive((mean, std), moved, y, **SHORT)
        assert other.pvalue == plain.pvalue
        assert other.statistic == pytest.approx(plain.statistic, rel=1e-6)
        location = plain.details["strongest_location"]["x"] * [1.0, unit] + [shift, 0.0]
        np.testing.assert_allclose(
            other.details["strongest_location"]["x"], location, rtol=1e-6
        )

    def test_units_of_x_matter_without_scaling(self):
        x, y, mean, std = draw(30)
        plain, other = (
            cg.adaptive((mean, std), x * [1.0, unit], y, scale_x="none", **SHORT)
            for unit in (1, 50)
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
def test_a_handful_of_rows(n):
    """With scores only, one of 2^(n−1) patterns of signs gives the statistic itself."""
    x, y, mean, std = draw(n)
    result = cg.adaptive((mean, std), x, y, standardize="none", rng=0, n_boot=300)
    assert result.pvalue > 0.5 / 2 ** (n - 1)
    assert 1 / 301 <= cg.adaptive((mean, std), x, y, rng=0, n_boot=300).pvalue <= 1


def test_one_draw():
    x, y, mean, std = draw()
    assert cg.adaptive((mean, std), x, y, rng=0, n_boot=1).pvalue in (0.5, 1.0)


def test_other_nulls():
    x, y, mean, std = draw()
    for null, name in (
        ("multinomial", "multinomial bootstrap"),
        ("wild", "wild bootstrap"),
        ("model", "model"),
    ):
        result = cg.adaptive((mean, std), x, y, null=null, **SHORT)
        assert result.null == name
        assert 1 / 61 <= result.pvalue <= 1
    with pytest.raises(UnsupportedModelError, match="null='model' draws y anew"):
        cg.adaptive(cg.from_scores((mean - y) / std**2), x, y, null="model", **SHORT)


class OnlyCdf(OfX):
    def cdf(self, y):
        from scipy.special import ndtr

        return ndtr(np.ravel(y))


def test_a_model_with_nothing_but_a_cdf():
    x, y, _, _ = draw(60)
    model = model_of(OnlyCdf)
    result = cg.adaptive(model, x, y, **SHORT)
    same = cg.adaptive((np.zeros(60), np.ones(60)), x, y, **SHORT)
    assert result.details["families"]["constant"] == same.details["families"]["constant"]
    assert (
        abs(result.pvalue - same.pvalue) < 0.05
    )  # it has no predictions, which are functions of x
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
            ({"null": "spectral"}, InputError, "no spectral null"),
            ({"null": "magic"}, InputError, "null"),
            ({"solver": "magic"}, InputError, "solver must be one of"),
            ({"n_boot": 0}, InputError, "n_boot must be at least 1"),
            ({"scale_x": "max"}, InputError, "scale_x must be"),
            ({"memory": 10}, InputError, "memory must be at least"),
            ({"precision": 0}, InputError, "precision must be a number between 0 and 1"),
            ({"n_boot": 10**9}, InputError, "at most 100,000"),
            ({"n_boot": True}, InputError, "must be an integer"),
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
            (
                lambda x, y, s: (np.ones_like(x), y, s),
                InputError,
                "Every column of x is constant",
            ),
            (lambda x, y, s: (x[:2], y[:2], s[:2]), CondgofError, "at least 3 rows"),
            (lambda x, y, s: (x, y * np.nan, s), CondgofError, "NaN"),
            (
                lambda x, y, s: (x, y, s[:-1]),
                CondgofError,
                "bound to 23 rows and the sample has 24",
            ),
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
