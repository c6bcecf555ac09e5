"""What `check` gives back, for anything that a test takes."""

import json
import pickle
import re
import sys

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom

import condgof as cg
from condgof.check import SCHEMA, WIDTH, Bench, select_rows
from condgof.check.effects import FEWEST_ROWS
from condgof.errors import CondgofError, InputError, NonFiniteError, ShapeError

RNG = np.random.default_rng(7)
N = 300
INCOME = RNG.gamma(4.0, 700.0, N)
CITY = RNG.choice(["Oslo", "Rome", "Lima"], N)
MEAN = INCOME / 1000
NOISE = RNG.standard_normal(N)
Y = MEAN + NOISE
HIGH = pd.Series(MEAN + 1.2 * (CITY == "Oslo") + NOISE, name="rent")
MODEL = (MEAN, np.ones(N))
FRAME = pd.DataFrame({"income": INCOME, "city": CITY})
FAST = {"rng": 0, "n_boot": 99}


@pytest.fixture(scope="module")
def found():
    return cg.check(MODEL, FRAME, HIGH, **FAST)


def same(one, other):
    """Everything that is said, but for how long it took."""
    plain = [report.to_dict() for report in (one, other)]
    for each in plain:
        each["details"]["searched"].pop("seconds", None)
    assert json.dumps(plain[0]) == json.dumps(plain[1])


# What is said


def test_the_slice_is_found_and_said_in_the_users_names(found):
    first, *_ = found.slices
    assert found.rejected
    assert found.reject()
    assert first.words == "city = Oslo"
    assert first.query == 'city == "Oslo"'
    np.testing.assert_array_equal(first.rows, np.flatnonzero(CITY == "Oslo"))
    assert (first.kind, first.direction) == ("shift", "too low")
    residuals = (HIGH - MEAN)[CITY == "Oslo"]
    lead, beside = first.findings[:2]
    assert (lead.column, lead.quantity, beside.quantity) == ("rent", "median", "mean")
    assert lead.estimate == pytest.approx(residuals.median())
    assert beside.estimate == pytest.approx(residuals.mean())
    assert lead.interval[0] < 1.2 < lead.interval[1]
    assert first.message == (
        "too low: the median residual is +1.1 predicted SDs (+0.7 to +1.5)"
    )
    assert found.words == (
        "The mean is too low, depending on city: 1.1 SD too low where city = Oslo"
        f" ({len(residuals)} rows)."
    )
    assert (found.x_columns, found.y_columns) == (("income", "city"), ("rent",))


def test_the_verdict_is_that_of_adaptive_with_one_more_family(found):
    result = cg.adaptive(MODEL, FRAME, HIGH, **FAST)
    assert found.result.method == result.method
    assert (found.result.n, found.result.seed) == (result.n, result.seed)
    families = set(found.result.details["families"])
    assert families - set(result.details["families"]) == {"staged gains"}
    assert found.pvalue == found.result.pvalue


def test_slices_are_named_only_under_a_rejection():
    """A level at which the same data do not reject names nothing."""
    true = cg.check(MODEL, FRAME, Y, **FAST)
    assert not true.rejected
    assert true.slices == ()
    assert true.words.startswith("No misfit found. Minimum detectable (power 0.8): bias 0.")
    assert "correct" not in str(true)
    assert true.effect.interval.low == 0.0
    assert true.notes == ()
    # A level at which no p-value is small enough: there is nothing that a check could say.
    with pytest.raises(InputError, match="would never reject"):
        cg.check(MODEL, FRAME, HIGH, alpha=1e-9, **FAST)


def test_p_values_of_slices_are_at_most_alpha_and_in_order(found):
    p = [one.pvalue for one in found.slices]
    assert p == sorted(p)
    assert max(p) <= found.alpha
    # Effects are compared with 199 samples of the model, whatever n_boot is.
    assert found.details["searched"]["draws"] == 199
    assert all(one.pvalue >= one.pvalue_floor == 1 / 200 for one in found.slices)
    effect = found.effects[0]
    first = found.slices[0]
    assert (first.pvalue, first.pvalue_floor) == (effect.pvalue, effect.pvalue_floor)


def test_orders_of_slices():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (2000, 2))
    y = rng.standard_normal(2000) + 0.8 * (x[:, 0] < 0.5) + 1.5 * (x[:, 1] > 0.95)
    found = cg.check((np.zeros(2000), np.ones(2000)), x, y, **FAST)
    certain = found.slices_by("certain")
    worst = found.slices_by("severity")
    assert certain == found.slices
    assert set(map(id, certain)) == set(map(id, worst))
    assert [one.severity for one in worst] == sorted(
        (s.severity for s in worst), reverse=True
    )
    # Half of the rows gain more together than the few that are worst.
    assert [effect.columns for effect in found.effects] == [("x1",), ("x2",)]
    assert [one.conditions[0].column for one in certain] == ["x1", "x2"]
    assert [one.conditions[0].column for one in worst] == ["x2", "x1"]
    for one in worst:
        assert one.severity == pytest.approx(
            abs(one.findings[0].estimate - one.findings[0].expected)
        )
    with pytest.raises(InputError, match="order must be one of 'certain', 'severity'"):
        found.slices_by("size")


def test_text_for_a_terminal(found):
    lines = str(found).splitlines()
    assert lines[0].endswith(" · 300 rows · rent | income, city")
    assert lines[2].startswith("✗ MISFIT   p ≤ 0.01")
    assert max(map(len, lines)) <= WIDTH
    heads = [line.split()[0] for line in lines if line[:1].isupper()]
    assert heads == ["WHAT", "SUBGROUPS", "OVERALL", "TRY", "Effect"]
    assert repr(found) == f"Check(n=300, p ≤ 0.01, slices={len(found.slices)})"
    assert (
        repr(found.slices[0])
        == f"Slice('city = Oslo', n={found.slices[0].n}, too low, p ≤ 0.005)"
    )


def test_the_frame_has_what_is_said(found):
    frame = found.frame()
    assert list(frame) == [
        "income",
        "city",
        "rent",
        "predicted",
        "predicted_sd",
        "pit",
        "z",
    ]
    np.testing.assert_array_equal(frame.index, np.arange(N))
    np.testing.assert_allclose(frame["z"], HIGH - MEAN)
    np.testing.assert_allclose(frame["predicted"], MEAN)


# Records


def test_plain_objects_for_json(found):
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["schema"] == SCHEMA == 2
    assert plain["rejected"] is True
    assert plain["result"]["method"] == "adaptive"
    first = plain["slices"][0]
    assert (first["n"], first["kind"]) == (found.slices[0].n, "shift")
    assert first["message"] == found.slices[0].message
    assert first["conditions"][0]["column"] == "city"
    assert plain["tolerance"] is None
    assert plain["groups"] == []

    def keys(value):
        if isinstance(value, dict):
            yield from value
            value = value.values()
        for each in value if isinstance(value, (list, type({}.values()))) else ():
            yield from keys(each)

    # What curves call "rows" are their numbers in bins, and of the loss how many there are.
    assert sum(plain["curves"]["pit"]["rent"]["rows"]) == found.result.n
    assert plain["avoidable_loss"]["rows"] == found.result.n
    assert sum(plain["pictures"]["fit"]["rows"]) == found.result.n
    counted = ("details", "curves", "pictures", "avoidable_loss")
    others = {k: v for k, v in plain.items() if k not in counted}
    assert not {"rows", "looked", "checked"} & set(keys(others))
    assert len(json.dumps(plain)) < 60_000


def test_frozen_read_only_and_picklable(found):
    with pytest.raises(AttributeError):
        found.alpha = 0.1
    with pytest.raises(TypeError):
        found.details["x"] = 1
    with pytest.raises(ValueError, match="read-only"):
        found.slices[0].rows[0] = 0
    again = pickle.loads(pickle.dumps(found))
    same(again, found)
    assert str(again) == str(found)
    assert not again.slices[0].rows.flags.writeable
    np.testing.assert_array_equal(again.slices[0].rows, found.slices[0].rows)
    pd.testing.assert_frame_equal(again.frame(), found.frame())


def test_inputs_are_not_changed():
    model = (MEAN.copy(), np.ones(N))
    frame = FRAME.copy()
    y = HIGH.copy()
    mask = CITY == "Rome"
    labels = CITY.copy()
    before = mask.copy()
    cg.check(
        model,
        frame,
        y,
        by=labels,
        slices=[mask, "income <= 2000"],
        tolerance="0.1 size",
        **FAST,
    )
    pd.testing.assert_frame_equal(frame, FRAME)
    pd.testing.assert_series_equal(y, HIGH)
    assert (model[0] == MEAN).all()
    assert (mask == before).all()
    assert (labels == CITY).all()


# The same again


@pytest.mark.parametrize("options", [{"engine": 2}, {"engine": 1, "memory": 2**20}])
def test_the_same_on_any_engine_and_budget(found, options):
    again = cg.check(MODEL, FRAME, HIGH, **FAST, **options)
    assert again.pvalue == found.pvalue
    assert [one.pvalue for one in again.slices] == [one.pvalue for one in found.slices]
    assert again.words == found.words
    np.testing.assert_allclose(
        again.effect.interval.estimate,
        found.effect.interval.estimate,
        rtol=1e-8,
        atol=1e-12,
    )


def test_a_generator_is_advanced_and_the_seed_gives_it_again():
    rng = np.random.default_rng(1)
    first, second = (cg.check(MODEL, INCOME, Y, rng=rng, n_boot=49) for _ in range(2))
    assert first.result.seed != second.result.seed
    same(cg.check(MODEL, INCOME, Y, rng=first.result.seed, n_boot=49), first)


def test_frames_of_all_kinds_say_the_same(found):
    other = cg.check(
        MODEL,
        pl.DataFrame({"income": INCOME, "city": CITY}),
        pl.Series("rent", HIGH),
        **FAST,
    )
    same(other, found)
    shifted = FRAME.set_index(np.arange(N)[::-1])
    np.testing.assert_array_equal(
        cg.check(MODEL, shifted, HIGH.to_numpy(), **FAST).slices[0].rows,
        found.slices[0].rows,
    )


def test_rows_of_bound_models_go_with_the_sample():
    bound = cg.check(MODEL, INCOME, HIGH, **FAST)
    functional = cg.check(
        cg.models.Normal(mean=lambda x: x / 1000, std=1.0), INCOME, HIGH, **FAST
    )
    assert bound.pvalue == functional.pvalue
    np.testing.assert_allclose(
        [f.estimate for f in bound.overall],
        [f.estimate for f in functional.overall],
        rtol=1e-9,
        atol=1e-12,
    )


# Many rows


def stream(tmp_path, n):
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((2, n))
    y = a + 0.8 * (b > 1) + rng.standard_normal(n)
    pd.DataFrame({"a": a, "b": b, "y": y, "mu": a, "sd": 1.0}).to_parquet(
        tmp_path / "t.parquet"
    )
    source = cg.scan(tmp_path / "t.parquet", x=["a", "b"], y="y")
    return source, cg.columns(mean="mu", std="sd"), a, b, y


def test_a_source_and_dask_arrays(tmp_path):
    source, model, a, b, y = stream(tmp_path, 5000)
    streamed = cg.check(model, source, solver="lowrank", **FAST)
    assert streamed.x_columns == ("a", "b")
    assert "b ≥ 1" in streamed.slices[0].words
    parts = (a, np.ones(5000), np.column_stack([a, b]), y)
    lazy = [da.from_array(part, chunks=2500) for part in parts]
    dask = cg.check((lazy[0], lazy[1]), lazy[2], lazy[3], solver="lowrank", **FAST)
    whole = cg.check((a, np.ones(5000)), parts[2], y, solver="lowrank", **FAST)
    for other in (dask, whole):
        assert other.pvalue == streamed.pvalue
        assert [one.pvalue for one in other.slices] == [
            one.pvalue for one in streamed.slices
        ]
        assert [one.n for one in other.slices] == [one.n for one in streamed.slices]
    first = streamed.slices[0]
    np.testing.assert_array_equal(streamed.frame().query(first.query).index, first.rows)
    assert first.findings[0].estimate == pytest.approx(np.median((y - a)[first.rows]))
    assert first.findings[1].estimate == pytest.approx((y - a)[first.rows].mean())
    json.dumps(streamed.to_dict(), allow_nan=False)


def test_more_rows_of_a_stream_than_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[select_rows.__module__], "STREAMED_ROWS", 1200)
    source, model, a, b, y = stream(tmp_path, 5000)
    named = {"by": (b > 0).astype(str), "slices": ["b > 1", b > 1]}
    found = cg.check(model, source, solver="lowrank", **named, **FAST)
    assert any(
        "is of 1,200 of the 5,000 rows, drawn at random" in note for note in found.notes
    )
    frame = found.frame()
    assert len(frame) == 1200
    np.testing.assert_array_equal(frame["b"], b[frame.index])
    first = found.slices[0]
    assert "b ≥ " in first.words
    assert first.share == pytest.approx(first.n / 1200)
    np.testing.assert_array_equal(frame.query(first.query).index, first.rows)
    assert first.findings[0].estimate == pytest.approx(np.median((y - a)[first.rows]))
    assert first.findings[1].estimate == pytest.approx((y - a)[first.rows].mean())
    groups = {one.words: one for one in found.groups}  # masks and labels are of all rows
    large = frame.index[frame["b"] > 1]
    for words in ("b > 1", f"the {len(large)} rows of a mask"):
        np.testing.assert_array_equal(groups[words].rows, large)
    np.testing.assert_array_equal(groups["group = True"].rows, frame.index[frame["b"] > 0])


def test_many_rows_are_measured_in_part_and_that_is_said(monkeypatch):
    monkeypatch.setattr(sys.modules[Bench.__module__], "MOST_ROWS", 200)
    found = cg.check(MODEL, FRAME, HIGH, **FAST)
    assert any("200 of the 300 rows" in note for note in found.notes)
    assert found.slices[0].n == int((CITY == "Oslo").sum())


# Missing values


def test_rows_are_numbers_of_the_users_data():
    holes = FRAME.copy()
    gone = np.arange(N) % 7 == 0
    holes.loc[gone, "income"] = np.nan
    found = cg.check(
        MODEL, holes, HIGH, missing="drop", by="city", slices=[CITY == "Rome"], **FAST
    )
    assert found.result.n == int((~gone).sum())
    np.testing.assert_array_equal(
        found.slices[0].rows, np.flatnonzero((CITY == "Oslo") & ~gone)
    )
    np.testing.assert_array_equal(found.frame().index, np.flatnonzero(~gone))
    np.testing.assert_array_equal(
        found.frame().query(found.slices[0].query).index, found.slices[0].rows
    )
    for one in found.groups:
        town = one.words.split(" = ")[-1] if "mask" not in one.words else "Rome"
        np.testing.assert_array_equal(one.rows, np.flatnonzero((town == CITY) & ~gone))
    alone = cg.check(
        (MEAN[~gone], np.ones(len(MEAN[~gone]))), FRAME[~gone], HIGH[~gone], **FAST
    )
    assert alone.pvalue == found.pvalue
    assert [one.words for one in alone.slices] == [one.words for one in found.slices]


def test_missing_values_are_a_level():
    holes = FRAME.copy()
    holes.loc[CITY == "Oslo", "city"] = None
    found = cg.check(MODEL, holes, HIGH, missing="level", **FAST)
    assert found.result.n == N
    np.testing.assert_array_equal(found.slices[0].rows, np.flatnonzero(CITY == "Oslo"))
    np.testing.assert_array_equal(
        found.frame().query(found.slices[0].query).index, found.slices[0].rows
    )
    with pytest.raises(NonFiniteError, match="missing"):
        cg.check(MODEL, holes, HIGH, **FAST)


# Few rows, few columns


@pytest.mark.parametrize("n", [3, 5, FEWEST_ROWS - 1])
def test_few_rows_still_give_a_verdict(n):
    found = cg.check(
        (MEAN[:n], np.ones(n)), INCOME[:n], Y[:n], tolerance="0.5 size", **FAST
    )
    assert found.slices == ()
    assert found.notes == (f"{n} rows are too few to search for effects (that takes 30)",)
    assert found.details["searched"] == {}
    assert found.avoidable_loss is None
    json.dumps(found.to_dict(), allow_nan=False)
    if n < 6:
        assert found.power.words.startswith(
            "With so few rows, or groups of them, hardly any misfit"
        )
        assert found.power.size == np.inf


def test_from_thirty_rows_on_effects_are_searched():
    assert FEWEST_ROWS == 30
    model = (MEAN[:30], np.ones(30))
    found = cg.check(model, INCOME[:30], Y[:30] + 3.0, **FAST)
    assert found.rejected
    assert found.notes == ()
    assert found.details["searched"]["rows"] == 30
    assert [(one.kind, one.columns) for one in found.effects[:1]] == [("bias", ())]
    rich = INCOME[:60] > 3000
    found = cg.check((MEAN[:60], np.ones(60)), INCOME[:60], Y[:60] + 3.0 * rich, **FAST)
    first = found.slices[0]
    assert (first.words, first.direction) == ("x ≥ 3000", "too low")
    np.testing.assert_array_equal(first.rows, np.flatnonzero(rich))


def test_nothing_to_search():
    """A column of names tells nothing, and neither does a model that says the same of all
    rows.
    """
    frame = pd.DataFrame({"id": [f"i{i // 2}" for i in range(N)]})
    found = cg.check((np.zeros(N), np.ones(N)), frame, 1.0 + NOISE, **FAST)
    assert found.rejected
    assert found.slices == ()
    shift = found.overall[0]
    assert shift.words.startswith("the median residual is +0.96 predicted SDs")
    assert "too low" in found.words
    few = pd.DataFrame({"id": [f"i{i // 2}" for i in range(N)], "income": INCOME})
    assert all("id" not in one.words for one in cg.check(MODEL, few, HIGH, **FAST).slices)


# Wrong arguments


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: cg.check(MODEL, INCOME, Y, alpha=2),
            InputError,
            "alpha must be between 0 and 1",
        ),
        (lambda: cg.check(MODEL, INCOME, Y, alpha=0.0), InputError, "alpha"),
        (lambda: cg.check(MODEL, INCOME, Y, alpha=True), InputError, "alpha"),
        (lambda: cg.check(MODEL, INCOME, Y, alpha="5%"), InputError, "alpha"),
        (
            lambda: cg.check(MODEL, INCOME, Y, tolerance=0),
            InputError,
            "tolerance must be a positive",
        ),
        (lambda: cg.check(MODEL, INCOME, Y, tolerance=-0.1), InputError, "tolerance"),
        (lambda: cg.check(MODEL, INCOME, Y, tolerance=True), InputError, "tolerance"),
        (lambda: cg.check(MODEL, INCOME, Y, tolerance=np.nan), InputError, "tolerance"),
        (
            lambda: cg.check(MODEL, FRAME, Y, by="town"),
            InputError,
            "by has 'town', which is no column",
        ),
        (
            lambda: cg.check(MODEL, FRAME, Y, by=CITY[:5]),
            ShapeError,
            r"by must have shape \(300,\)",
        ),
        (
            lambda: cg.check(MODEL, FRAME, Y, slices="income > 3"),
            InputError,
            r"put it in brackets",
        ),
        (
            lambda: cg.check(MODEL, FRAME, Y, slices={"income": (0, 1)}),
            InputError,
            "put it in brackets",
        ),
        (
            lambda: cg.check(MODEL, FRAME, Y, slices=["wage > 3"]),
            InputError,
            "there is no column 'wage'",
        ),
        (
            lambda: cg.check(MODEL, FRAME, Y, slices=[INCOME > 1e9]),
            InputError,
            "No row is in the slice",
        ),
        (lambda: cg.check(MODEL, INCOME, Y, solver="fast"), InputError, "solver"),
        (
            lambda: cg.check((MEAN[:2], np.ones(2)), INCOME[:2], Y[:2]),
            ShapeError,
            "at least 3 rows",
        ),
        (
            lambda: cg.check(MODEL, np.where(INCOME > 5000, np.nan, INCOME), Y),
            NonFiniteError,
            "NaN",
        ),
        (lambda: cg.check(MODEL, INCOME), CondgofError, "y is missing"),
        (
            lambda: cg.check((MEAN[:9], np.ones(9)), INCOME, Y),
            ShapeError,
            "bound to 9 rows",
        ),
    ],
)
def test_errors_say_what_is_wrong(call, error, match):
    with pytest.raises(error, match=match):
        call()


# Small versions of `make calibrate`


def test_true_models_name_slices_no_more_often_than_they_may():
    """12 samples, at a tail of 1e-4; `make calibrate` has more."""
    named = explained = 0
    for trial in range(12):
        rng = np.random.default_rng([trial, 9])
        x = rng.standard_normal((100, 3))
        y = x[:, 0] + rng.standard_normal(100)
        found = cg.check((x[:, 0], np.ones(100)), x, y, rng=trial, n_boot=39, engine=1)
        named += bool(found.slices)
        explained += bool(found.effects)
        assert found.rejected or not found.effects
    assert max(named, explained) <= binom.isf(1e-4, 12, 0.05)


def test_the_main_finding_is_found():
    case = cg.study.problem("hgm")
    right = 0
    for trial in range(3):
        x, y = case.draw(1000, np.random.default_rng(trial))
        first = cg.check(case.p, x, y, rng=trial, n_boot=99).slices[0]
        right += (first.kind, first.direction) == ("spread", "too wide")
    assert right == 3
    case = cg.study.problem("qgm")
    x, y = case.draw(2000, np.random.default_rng(0))
    found = cg.check(case.p, x, y, rng=0, n_boot=99)
    assert found.overall[0].words.startswith("the median residual is +0.1")
    assert found.overall[0].telling


def test_both_directions_of_an_effect_are_slices():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"u": rng.random(1000), "v": rng.random(1000)})
    y = np.where((x.u > 0.3) & (x.u < 0.65), 1.0, -0.55) + rng.standard_normal(1000)
    found = cg.check((np.zeros(1000), np.ones(1000)), x, y, **FAST)
    low, high = found.slices
    assert (low.words, low.direction) == ("0.3 ≤ u < 0.65", "too low")
    assert (high.words, high.direction) == ("u ≥ 0.65", "too high")
    for one in (low, high):
        z = found.frame().query(one.query)["z"]
        assert list(z.index) == list(one.rows)
        assert one.findings[0].estimate == pytest.approx(z.median())
    (effect,) = found.effects
    assert (effect.kind, effect.columns) == ("bias", ("u",))
    inside = [cell.finding.estimate > 0 for cell in effect.cells]
    assert inside == [0.3 <= cell.conditions[0].low < 0.65 for cell in effect.cells]
    assert sum(cell.n for cell in effect.cells) == 1000


@pytest.mark.parametrize("query", ["z > 1", "y > 2", "pit < 0.2", "covered_90 == False"])
def test_rows_that_are_chosen_by_what_happened_are_no_slice(query):
    rng = np.random.default_rng(1)
    x = rng.random(200)
    y = x + rng.standard_normal(200)
    end = 1.6449
    law = (
        cg.from_intervals(x - end, x + end, 0.9)
        if "covered" in query
        else (x, np.ones(200))
    )
    with pytest.raises(
        InputError, match="not of y, since rows that are chosen by what happened"
    ):
        cg.check(law, x, y, slices=[query], **FAST)


@pytest.mark.parametrize("count", [10, 14])
def test_a_rare_class_is_found_and_classes_that_are_not_searched_are_said(count):
    """The last class is half as probable as any other, and too rare where u > 0.6."""
    rng = np.random.default_rng(0)
    p = np.r_[np.full(count - 1, 1.0), 0.5]
    p = np.tile(p / p.sum(), (2000, 1))
    u = rng.random(2000)
    true = p + 0.3 * np.outer(u > 0.6, np.arange(count) == count - 1)
    draws = rng.random((2000, 1)) * true.sum(axis=1, keepdims=True)
    y = (draws > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
    found = cg.check(cg.probabilities(p), pd.DataFrame({"u": u}), y, **FAST)
    assert found.rejected
    note = f"of {count} classes the 12 most probable ones were looked at by themselves"
    assert any(one.startswith(note) for one in found.notes) == (count > 12)
    labels = {effect.label for effect in found.effects if effect.kind == "class"}
    if count > 12:
        assert found.effects == ()
        return
    assert labels == {"9"}
    first = found.slices[0]
    assert (first.words, first.direction) == ("u ≥ 0.6", "P(9) too low")
    assert first.findings[0].estimate == pytest.approx((y == 9)[first.rows].mean())


def test_few_rows_are_not_said_to_have_been_searched():
    rng = np.random.default_rng(2)
    x = rng.random(29)
    found = cg.check((x, np.ones(29)), x, x + 3 * rng.standard_normal(29), **FAST)
    assert found.rejected
    assert found.effects == ()
    assert found.words == (
        "The model is wrong; the strongest hint is x (p ≤ 0.01). Overall: too narrow, the"
        " 90% interval holds 34% of rows."
    )
    assert "significant by itself" not in str(found)
    assert found.notes == ("29 rows are too few to search for effects (that takes 30)",)


def test_a_shift_is_told_where_all_rows_are_too_wide():
    rng = np.random.default_rng(0)
    u = rng.random(3000)
    y = 0.7 * (u - 0.5) + 0.5 * rng.standard_normal(3000)
    found = cg.check((np.zeros(3000), np.ones(3000)), pd.DataFrame({"u": u}), y, **FAST)
    assert {one.kind for one in found.slices} == {"shift"}
    assert [(one.words, one.direction) for one in found.slices] == [
        ("u ≥ 0.72", "too low"),
        ("u < 0.25", "too high"),
    ]
    spread, bias = found.effects
    assert (spread.kind, spread.columns) == ("spread", ())
    assert (bias.kind, bias.columns, bias.trend) == ("bias", ("u",), True)
    assert found.words == (
        "The spread is too wide everywhere: the middle half of the residuals is 0.54 times"
        " as wide as predicted. This is 82% of the avoidable loss; then bias by u 18%."
    )


@pytest.mark.parametrize(("alpha", "n_boot", "needed"), [(5e-4, 999, 1999), (0.05, 10, 19)])
def test_a_level_below_the_smallest_p_value_is_refused(alpha, n_boot, needed):
    """A mean that is off by 10 sd was said to be all right, with power."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    y = x + 10 + rng.normal(size=100)
    model = (x, np.ones(100))
    with pytest.raises(InputError, match=f"n_boot={needed} or more"):
        cg.check(model, x, y, alpha=alpha, n_boot=n_boot, rng=0)
    assert cg.check(model, x, y, alpha=alpha, n_boot=needed, rng=0, engine=1).rejected
    result = cg.kcsd(model, x, y, n_boot=n_boot, rng=0)
    with pytest.raises(InputError, match=f"Run the test again with n_boot={needed}"):
        result.reject(alpha)
    right = cg.kcsd(model, x, y - 10, n_boot=n_boot, rng=0)
    assert not right.reject(alpha)  # draws enough to know that


def test_too_few_draws_for_a_verdict_are_said():
    x = np.arange(50.0)
    result = cg.kcsd((x, np.ones(50)), x, x + 5.0, n_boot=9, rng=0)
    assert result.verdict == "too few draws for a verdict at the 5% level"
    assert "too few draws" in str(result)


def test_rank_needs_draws_for_its_level():
    x = np.arange(50.0)
    models = {"a": (x, np.ones(50)), "b": (x + 1, np.ones(50))}
    with pytest.raises(InputError, match="n_boot=9999 or more"):
        cg.rank(models, x, x, alpha=1e-4, n_boot=999, rng=0)


@pytest.mark.parametrize("kind", ["classes", "counts"])
def test_a_law_without_any_exception_is_searched(kind):
    n = 3000
    never = 1e-12
    law, y = (
        (cg.models.Poisson(mean=np.full(n, never)), np.zeros(n, dtype=int))
        if kind == "counts"
        else (
            cg.probabilities(np.tile([1 - never, never], (n, 1)), classes=[0, 1]),
            np.zeros(n, int),
        )
    )
    x = np.random.default_rng(0).normal(size=(n, 3))
    report = cg.check(law, x, y, rng=0, n_boot=99)
    assert not report.rejected
    assert report.result.details["families"]["staged gains"] == 1.0
    assert report.effects == ()


def test_many_columns_are_bounded_work():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 60))
    y = x[:, 0] + rng.normal(size=400) + 2.0 * (x[:, 7] > 0.5)
    report = cg.check((x[:, 0], np.ones(400)), x, y, n_boot=100, rng=0)
    assert report.slices[0].conditions[0].column == "x8"
    assert report.effects[0].columns == ("x8",)
    assert report.details["searched"]["columns"] == 60
    assert report.details["searched"]["pairs"] == 66  # of 12 columns


def test_large_n_searches_and_speaks_of_all_rows():
    """More rows than those of which y is drawn."""
    rng = np.random.default_rng(0)
    n = 40_000
    x = rng.integers(0, 50, n)
    y = rng.normal(size=n) + 0.3 * (x >= 40)
    report = cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, n_boot=100)
    first = report.slices[0]
    assert report.details["searched"]["rows"] == n
    assert re.fullmatch("x ≥ (39|40|41)", first.words)  # cells have one value or two
    np.testing.assert_array_equal(first.rows, report.frame().query(first.query).index)
    own = y[first.rows]
    assert first.findings[0].estimate == pytest.approx(np.median(own), rel=1e-12)
    assert first.findings[1].estimate == pytest.approx(own.mean(), rel=1e-12)
