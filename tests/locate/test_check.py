"""What `check` gives back, for anything that a test takes."""

import json
import pickle

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom

import condgof as cg
from condgof.errors import CondgofError, InputError, NonFiniteError, ShapeError
from condgof.locate._record import SCHEMA

RNG = np.random.default_rng(7)
N = 300
INCOME = RNG.gamma(4.0, 700.0, N)
CITY = RNG.choice(["Oslo", "Rome", "Lima"], N)
MEAN = INCOME / 1000
NOISE = RNG.standard_normal(N)
Y = MEAN + NOISE
HIGH = MEAN + 1.2 * (CITY == "Oslo") + NOISE
MODEL = (MEAN, np.ones(N))
FRAME = pd.DataFrame({"income": INCOME, "city": CITY})
FAST = {"rng": 0, "n_boot": 200}


@pytest.fixture(scope="module")
def found():
    return cg.check(MODEL, FRAME, pd.Series(HIGH, name="rent"), **FAST)


def test_the_place_is_found_and_said_in_the_users_names(found):
    top = found.locations[0]
    assert found.rejects
    assert top.named
    assert top.where == "city = Oslo"
    assert top.levels == {"city": "Oslo"}
    assert top.half_width == {}
    assert top.label["city"] == "Oslo"
    shift = next(f for f in top.findings if f.kind == "shift")
    assert shift.named
    assert shift.columns == ("rent",)
    assert shift.interval.low < 1.2 < shift.interval.high
    assert shift.words.startswith("the model is too low: y lies ")
    assert "At city = Oslo: the model is too low" in found.words


def test_the_verdict_is_that_of_adaptive(found):
    result = cg.adaptive(MODEL, FRAME, pd.Series(HIGH, name="rent"), **FAST)
    assert (found.result.pvalue, found.result.statistic) == (result.pvalue, result.statistic)


def test_nothing_is_evidence_unless_it_is_named(found):
    for place in found.locations:
        assert place.named == (found.rejects and place.pvalue <= found.alpha)
        assert place.raw_pvalue <= place.pvalue
        if not place.named:
            assert not any(finding.named for finding in place.findings)
            assert "no evidence" in place.words
        for finding in place.findings:
            assert finding.named or "no clear sign" in finding.words


def test_plain_objects_for_json(found):
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["schema"] == SCHEMA
    assert plain["locations"][0]["findings"][0]["interval"]["level"] == 0.95
    assert plain["result"]["method"] == "adaptive"
    assert len(plain["landscape"]["points"]) == N


def test_frozen_read_only_and_picklable(found):
    with pytest.raises(AttributeError):
        found.alpha = 0.1
    with pytest.raises(TypeError):
        found.details["x"] = 1
    for array in (found.landscape.points, found.locations[0].x, found.locations[0].panel.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    assert not again.landscape.points.flags.writeable
    assert str(again) == str(found)
    assert repr(found).startswith("Check(n=300, pvalue=")


def test_text_for_a_terminal(found):
    lines = str(found).splitlines()
    assert lines[0] == "Check of a conditional density model, n = 300"
    assert lines[1].startswith("  verdict  Evidence against the model (p ≤ 0.005)")
    assert max(map(len, lines)) <= 100


def test_a_true_model_is_not_said_to_be_correct():
    found = cg.check(MODEL, FRAME, Y, **FAST)
    assert found.words.startswith("No evidence against the model (p = 0.")
    assert "would have been found with probability 0.8" in found.words
    assert "correct" not in str(found)
    assert found.effect.interval.low == 0.0


@pytest.mark.parametrize("options", [{"engine": 2}, {"memory": 2**20}])
def test_the_same_on_any_engine_and_budget(found, options):
    again = cg.check(MODEL, FRAME, pd.Series(HIGH, name="rent"), **FAST, **options)
    assert again.result.pvalue == found.result.pvalue
    assert [p.pvalue for p in again.locations] == [p.pvalue for p in found.locations]
    np.testing.assert_allclose(again.landscape.values, found.landscape.values, rtol=1e-8, atol=1e-12)
    assert again.words == found.words


def test_a_generator_is_advanced_and_the_seed_gives_it_again():
    rng = np.random.default_rng(1)
    first, second = (cg.check(MODEL, INCOME, Y, rng=rng, n_boot=100) for _ in range(2))
    assert first.result.seed != second.result.seed
    again = cg.check(MODEL, INCOME, Y, rng=first.result.seed, n_boot=100)
    assert again.to_dict() == first.to_dict()


def test_inputs_are_not_changed():
    x, y, frame = INCOME.copy(), HIGH.copy(), FRAME.copy()
    cg.check((MEAN, np.ones(N)), frame, y, **FAST)
    assert (y == HIGH).all()
    assert (x == INCOME).all()
    pd.testing.assert_frame_equal(frame, FRAME)


def test_polars_is_as_good_as_pandas(found):
    other = cg.check(MODEL, pl.DataFrame({"income": INCOME, "city": CITY}), HIGH, **FAST)
    assert [p.where for p in other.locations] == [p.where for p in found.locations]


def test_rows_of_bound_models_go_with_the_sample():
    bound = cg.check(MODEL, INCOME, HIGH, **FAST)
    function = cg.models.Normal(mean=lambda x: x / 1000, std=1.0)
    functional = cg.check(function, INCOME, HIGH, **FAST)
    np.testing.assert_allclose(
        [f.interval.estimate for f in bound.locations[0].findings],
        [f.interval.estimate for f in functional.locations[0].findings],
        rtol=1e-9,
    )


def test_scores_alone_say_shift_and_width_with_honest_units():
    found = cg.check(
        cg.from_scores((MEAN - HIGH)[:, None] / 4.0), INCOME, HIGH, **FAST
    )  # scores of N(mean, 2²)
    top = found.locations[0]
    assert {f.kind for f in top.findings} == {"shift", "width"}
    width = next(f for f in top.findings if f.kind == "width")
    assert width.interval.high < 0.8
    assert "too wide" in top.words
    assert found.effect.unit.endswith("(as its scores suggest)")
    assert found.detectable.width is None
    assert top.panel.kind == "residuals"
    assert found.landscape.residuals is None


def test_a_bounded_model_has_its_density_within_its_support():
    rng = np.random.default_rng(2)
    y = rng.gamma(2.0, 1.0, N) * MEAN
    model = cg.models.Gamma(shape=3.0, scale=lambda x: x / 1000)
    found = cg.check(model, INCOME, y, **FAST)
    panel = found.locations[0].panel
    assert panel.kind == "density"
    assert (panel.density[panel.grid <= 0] == 0).all()
    assert 0.9 < np.trapezoid(panel.density[:, 0], panel.grid[:, 0]) <= 1.01
    assert "on its normal-score scale" in found.locations[0].words


def test_two_columns_of_y_and_their_correlation():
    rng = np.random.default_rng(3)
    means = np.column_stack([MEAN, MEAN])
    y = means + rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], N)
    found = cg.check((means, np.ones((N, 2))), INCOME, y, **FAST)
    (finding,) = (f for f in found.locations[0].findings if f.kind == "correlation")
    assert finding.columns == ("y1", "y2")
    assert finding.interval.low < 0.7 < finding.interval.high
    panel = found.locations[0].panel
    assert panel.grid.shape == panel.density.shape == (161, 2)
    scores = cg.check(cg.from_scores(means - y), INCOME, y, **FAST)
    (finding,) = (f for f in scores.locations[0].findings if f.kind == "correlation")
    assert finding.interval.low < 0.7 < finding.interval.high


def test_a_model_that_can_only_be_sampled_beside_its_score_shows_samples():
    class Sampler(cg.Law):
        rows = None

        def __init__(self, x):
            self.x, self.rows = x, len(x)

        def take(self, rows):
            return Sampler(self.x[rows])

        def score(self, y):
            return self.x / 1000 - np.asarray(y)

        def sample(self, rng):
            return (self.x / 1000 + rng.standard_normal(self.rows))[:, None]

    panel = cg.check(cg.models.Model(Sampler), INCOME, HIGH, **FAST).locations[0].panel
    assert panel.kind == "samples"
    assert panel.samples.shape[1] == 1


def test_a_source_and_dask_arrays(tmp_path):
    rng = np.random.default_rng(4)
    n = 3000
    a, b = rng.standard_normal((2, n))
    y = a + 0.6 * (b > 1) + rng.standard_normal(n)
    table = pd.DataFrame({"a": a, "b": b, "y": y, "mu": a, "sd": 1.0})
    table.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x=["a", "b"], y="y")
    model = cg.columns(mean="mu", std="sd")
    streamed = cg.check(model, source, solver="lowrank", **FAST)
    assert streamed.x_columns == ("a", "b")
    assert streamed.locations[0].named
    assert list(streamed.locations[0].half_width) == ["b"]
    lazy = [da.from_array(part, chunks=2500) for part in (a, np.ones(n), np.column_stack([a, b]), y)]
    dask = cg.check((lazy[0], lazy[1]), lazy[2], lazy[3], solver="lowrank", **FAST)
    assert dask.result.pvalue == streamed.result.pvalue
    assert [p.pvalue for p in dask.locations] == [p.pvalue for p in streamed.locations]
    assert cg.check(model, source, n_boot=50, rng=0).locations[0].where == streamed.locations[0].where


def test_many_rows_are_looked_at_in_part_and_that_is_said(monkeypatch):
    monkeypatch.setattr("condgof.locate._bench.MOST_ROWS", 200)
    found = cg.check(MODEL, INCOME, HIGH, **FAST)
    assert found.result.n == N
    assert found.details["choosing_rows"] + found.details["testing_rows"] == 200
    assert "200 of the 300 rows" in found.details["notes"][-1]
    assert len(found.landscape.points) == 200


def test_a_column_of_names_does_not_tell_where():
    frame = pd.DataFrame({"id": [f"i{i // 2}" for i in range(N)], "income": INCOME})
    found = cg.check(MODEL, frame, HIGH, **FAST)
    assert all("id" not in place.where for place in found.locations)
    assert any("too few rows: id" in note for note in found.details["notes"])


@pytest.mark.parametrize("n", [3, 5, 30, 59])
def test_few_rows_still_give_a_verdict(n):
    found = cg.check((MEAN[:n], np.ones(n)), INCOME[:n], Y[:n], **FAST)
    assert found.locations == ()
    assert any("too few to tell where" in note for note in found.details["notes"])
    assert np.isnan(found.landscape.values).all()
    json.dumps(found.to_dict(), allow_nan=False)
    if n < 6:
        assert (
            found.detectable.words
            == "With so few rows, or groups of them, hardly any misfit would have been found."
        )
        assert found.detectable.shift == np.inf


def test_no_locations_when_none_are_asked_for():
    assert cg.check(MODEL, INCOME, HIGH, n_locations=0, **FAST).locations == ()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: cg.check(MODEL, INCOME, Y, alpha=2), InputError, "alpha must be between 0 and 1"),
        (lambda: cg.check(MODEL, INCOME, Y, alpha=True), InputError, "alpha"),
        (lambda: cg.check(MODEL, INCOME, Y, n_locations=-1), InputError, "n_locations"),
        (lambda: cg.check(MODEL, INCOME, Y, solver="fast"), InputError, "solver"),
        (lambda: cg.check((MEAN[:2], np.ones(2)), INCOME[:2], Y[:2]), ShapeError, "at least 3 rows"),
        (lambda: cg.check(MODEL, np.where(INCOME > 5000, np.nan, INCOME), Y), NonFiniteError, "NaN"),
        (lambda: cg.check(MODEL, INCOME), CondgofError, "y is missing"),
        (lambda: cg.check((MEAN[:9], np.ones(9)), INCOME, Y), ShapeError, "bound to 9 rows"),
    ],
)
def test_errors_say_what_is_wrong(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_maps_have_a_grid_for_one_and_two_numeric_columns():
    one = cg.check(MODEL, INCOME, HIGH, **FAST).landscape
    assert one.grid.shape == (201, 1)
    assert np.isfinite(one.grid_values).sum() > 100
    x = np.column_stack([INCOME, NOISE[::-1], np.ones(N)])
    two = cg.check(MODEL, x, HIGH, **FAST).landscape
    assert two.grid.shape == (41 * 41, 3)
    assert (two.grid[:, 2] == 1).all()
    assert (np.diff(two.grid[:41, 0]) == 0).all()  # the first column varies slowest
    assert np.isnan(two.grid_values).any()
    assert cg.check(MODEL, FRAME, HIGH, **FAST).landscape.grid is None


def test_small_version_of_the_claim_on_true_models():
    """`make calibrate ONLY=check.level` has 1,000 samples a model; here 20, at a tail of 1e-4."""
    case, named = cg.study.problem("true-mixture"), 0
    for trial in range(20):
        x, y = case.draw(100, np.random.default_rng([trial, 9]))
        found = cg.check(case.p, x, y, rng=trial, n_boot=99, engine=1)
        named += any(place.named for place in found.locations)
    assert named <= binom.isf(1e-4, 20, 0.05)


def test_small_version_of_the_claims_on_hgm_and_qgm():
    """`make calibrate ONLY=check.hgm` and `check.qgm` have 200 samples each."""
    case = cg.study.problem("hgm")
    for trial in range(3):
        x, y = case.draw(1000, np.random.default_rng(trial))
        top = cg.check(case.p, x, y, rng=trial, n_boot=99, n_locations=1).locations[0]
        assert np.linalg.norm(top.x - 2 / 3) < 1.0
        assert "too wide" in top.words
    case = cg.study.problem("qgm")
    for trial in range(2):
        x, y = case.draw(2000, np.random.default_rng(trial))
        for place in cg.check(case.p, x, y, rng=trial, n_boot=99).locations:
            for finding in place.findings:
                if finding.named and finding.kind == "shift":
                    assert finding.interval.estimate > 0
                    assert "too low" in finding.words


def test_few_groups_could_not_have_found_anything():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 90)
    y = x + rng.standard_normal(90)
    model = cg.models.Normal(mean=lambda x: x, std=1.0)
    few = cg.check(model, x, y, groups=np.arange(90) // 45, rng=0)
    assert few.detectable.words.startswith("With so few rows, or groups of them, hardly any")
    many = cg.check(model, x, y, groups=np.arange(90) // 3, rng=0)
    assert "would have been found with probability 0.8" in many.detectable.words
