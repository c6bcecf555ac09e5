"""Curves that pictures draw are plain numbers: bounded, and ready for JSON."""

import json
from functools import partial
from operator import getitem

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import condgof as cg
from condgof.check.curves import (
    curves_of,
    kaplan_meier,
    residual_quantiles,
    survival_curve,
)
from condgof.report import (
    charts,
    column_panel,
    first_pictures,
    fit,
    kinds,
    map_of,
    panels,
    slice_picture,
    slice_quantiles,
)
from lazily import Lazily
from report.samples import checks


def angles(n=400):
    """Angles that are turned where x is large, in a category of two."""
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, n)
    x = pd.DataFrame({"x": rng.uniform(-2, 2, n), "side": np.array(["a", "b"])[side]})
    mean = x["x"].to_numpy()
    turned = np.where((mean > 0) & (side == 1), 0.9, 0.0)
    y = pd.Series(mean + turned + rng.vonmises(0.0, 4.0, n), name="wind")
    model = cg.models.VonMises(mean, np.full(n, 4.0), period=2 * np.pi)
    return cg.check(model, x, y, by=x["side"], rng=0, n_boot=199)


MADE = {name: partial(getitem, checks(), name) for name in checks()}
CHECKS = Lazily({**MADE, "angles": angles})
#: What there is of each kind of y.
NAMES = {
    "continuous": {"pit"},
    "several": {"pit"},
    "vector draws": {"pit"},
    "classes": {"reliability", "classes", "class reliability"},
    "counts": {"rootogram"},
    "quantiles": {"coverage"},
    "intervals": {"coverage"},
    "censored": {"events", "survival"},
    "moments": set(),
    "scores": set(),
    "angles": {"angles"},
}


def count_numbers(value):
    if isinstance(value, dict):
        return sum(count_numbers(one) for one in value.values())
    if isinstance(value, list):
        return sum(count_numbers(one) for one in value)
    return 1


@pytest.mark.parametrize(("name", "curves"), NAMES.items())
def test_each_kind_of_y_has_its_curves(name, curves):
    assert set(curves_of(CHECKS[name])) == curves


@pytest.mark.parametrize("name", CHECKS)
def test_curves_are_bounded_and_ready_for_json(name):
    curves = curves_of(CHECKS[name])
    assert json.loads(json.dumps(curves, allow_nan=False)) == curves
    # 200 steps of six numbers; of censored times also 40 steps of five in time.
    assert count_numbers(curves) <= 1400


#: A bin, or a cell of a map, of fewer rows has no numbers in `to_dict`.
FEWEST_ROWS = 5


def plain_numbers(drawn, rows):
    """Write what is drawn, (B, …), as JSON has it: None for few rows and infinite ends."""
    drawn = np.array(drawn, dtype=float)
    drawn[np.array(rows) < FEWEST_ROWS] = np.nan
    return np.where(np.isfinite(drawn), drawn, None).tolist()


def marks(chart, kind):
    return [mark for mark in chart.marks if isinstance(mark, kind)]


def assert_panel(chart, numbers):
    """What a panel draws is what is in `to_dict`."""
    drawn = marks(chart, charts.Intervals)
    assert len(drawn) == len(numbers["names"])
    rows = numbers["rows"]
    for k, mark in enumerate(drawn):
        for name in ("estimate", "low", "high"):
            values = [each[k] for each in numbers[name]]
            assert plain_numbers(getattr(mark, name), rows) == values
    names = [row[0] for row in chart.table[1]]
    assert names == numbers["bins"]
    rules = [line.y[0] for line in marks(chart, charts.Line)]
    assert rules[: len(numbers["expected"])] == numbers["expected"]


def assert_residuals(chart, numbers):
    (bars,) = marks(chart, charts.Boxes)
    assert bars.high.tolist() == numbers["density"]
    assert [*bars.left, bars.right[-1]] == numbers["edges"]


def assert_quantiles(chart, numbers):
    (band,) = marks(chart, charts.Band)
    assert band.x[1:-1].tolist() == numbers["expected"]
    assert band.low[1:-1].tolist() == numbers["low"]
    assert band.high[1:-1].tolist() == numbers["high"]
    header, rows = chart.table
    assert header[1] == "observed"
    written = [float(row[1].replace("−", "-")) for row in rows]
    assert written == pytest.approx(numbers["observed"], rel=1e-2)


def assert_survival(chart, numbers):
    (band,) = marks(chart, charts.Band)
    assert band.x.tolist() == numbers["hazard"]
    assert band.low.tolist() == numbers["low"]
    steps = marks(chart, charts.Line)[1]
    assert steps.y[2::2].tolist() == numbers["survival"]


def assert_events(chart, numbers):
    (band,) = marks(chart, charts.Band)
    assert band.x.tolist() == numbers["times"]
    assert band.low.tolist() == numbers["low"]
    assert band.high.tolist() == numbers["high"]
    expected, observed = marks(chart, charts.Line)
    assert expected.y[1:].tolist() == numbers["expected"]
    assert observed.y[2::2].tolist() == numbers["observed"]


def assert_class_reliability(chart, numbers):
    """The share of rows of one class by its predicted probability; axes may be logs."""
    (dots,) = marks(chart, charts.Intervals)
    drawn = [dots.at, dots.estimate, dots.high]
    listed = [np.array(numbers[name]) for name in ("predicted", "right", "high")]
    if chart.y.ends[0] < -0.5:  # the log of a probability
        some = listed[1] > 0
        drawn = [10.0 ** values[some] for values in drawn]
        listed = [values[some] for values in listed]
    np.testing.assert_allclose(drawn, listed, rtol=1e-12)


def assert_coverage(chart, numbers):
    (dots,) = marks(chart, charts.Intervals)
    assert dots.estimate.tolist() == numbers["observed"]
    assert dots.low.tolist() == numbers["low"]


def assert_reliability(chart, numbers):
    (dots,) = marks(chart, charts.Intervals)
    assert dots.estimate.tolist() == numbers["right"]
    band = marks(chart, charts.Boxes)[1]
    assert band.high.tolist() == numbers["chance_high"]


def assert_classes(chart, numbers):
    (dots,) = marks(chart, charts.Intervals)
    assert dots.estimate[::-1].tolist() == numbers["observed"]
    assert dots.high[::-1].tolist() == numbers["high"]


def assert_angles(chart, numbers):
    assert marks(chart, charts.Boxes)[0].high.tolist() == numbers["rows"]
    assert marks(chart, charts.Line)[0].y.tolist() == numbers["expected"]


#: How a picture is compared with its numbers, by the name of these.
SAME = {
    "residuals": assert_residuals,
    "events": assert_events,
    "survival": assert_survival,
    "coverage": assert_coverage,
    "reliability": assert_reliability,
    "classes": assert_classes,
    "angles": assert_angles,
}


def assert_map(chart, numbers):
    boxes = marks(chart, charts.Boxes)[0]
    cells = numbers["cells"]
    assert ((boxes.left + boxes.right) / 2).round().tolist() == cells["first"]
    assert ((boxes.low + boxes.high) / 2).round().tolist() == cells["second"]
    for row, n, value in zip(chart.table[1], cells["rows"], cells["estimate"], strict=True):
        assert int(row[3].replace(",", "")) == n
        assert (value is None) == (n < FEWEST_ROWS)
        if value is not None:
            shown = np.exp(value) if numbers["quantity"] == "spread" else value
            written = float(row[2].split()[0].replace("−", "-"))
            assert written == pytest.approx(shown, abs=0.006, rel=0.01)


def assert_fit(chart, numbers):
    """The table behind the picture has the numbers by bin."""
    assert [row[0] for row in chart.table[1]] == numbers["bins"]
    assert [int(row[1].replace(",", "")) for row in chart.table[1]] == numbers["rows"]
    for row, median in zip(chart.table[1], numbers["median"], strict=True):
        if median is not None:
            written = float(row[2].replace("−", "-").replace(",", ""))
            assert written == pytest.approx(median, rel=0.01, abs=0.006)


def assert_among_all(check, part, numbers):
    axes = {axis.name: axis for axis in check.checked.axes}
    if "map" in numbers:
        first, second = (axes[name] for name in numbers["map"]["columns"])
        assert_map(map_of(check, first, second, part), numbers["map"])
    if "fit" in numbers:
        y = check.y_columns.index(numbers["fit"]["y"])
        assert_fit(fit(check, numbers["fit"]["column"], part, y=y), numbers["fit"])
    if "panel" in numbers:
        axis = axes[numbers["panel"]["column"]]
        assert_panel(column_panel(check, axis, part), numbers["panel"])


@pytest.mark.parametrize("name", CHECKS)
def test_what_a_page_draws_is_in_the_dictionary(name):
    check = CHECKS[name]
    checked = check.checked
    pictures = check.to_dict()["pictures"]
    assert json.loads(json.dumps(pictures, allow_nan=False)) == pictures
    for chart, numbers in zip(panels(check, 18), pictures["columns"], strict=True):
        assert_panel(chart, numbers)
    if pictures["fit"] is not None:
        assert_fit(fit(check), pictures["fit"])
    subgroups = [
        *zip(check.slices, pictures["slices"], check.pictures.slices, strict=False)
    ]
    subgroups += zip(check.groups, pictures["groups"], check.pictures.groups, strict=False)
    for part, numbers, records in subgroups:
        assert numbers["words"] == part.words
        chart = slice_picture(checked, part, records.curves)
        drawn = set(numbers["curves"]) - {"quantiles"}
        if "events" in drawn:  # in time, and not in cumulative hazard as well
            drawn -= {"survival"}
        for what in drawn:
            SAME[what](chart, numbers["curves"][what])
        if "quantiles" in numbers["curves"]:
            ordered = slice_quantiles(checked, part, records.curves)
            assert_quantiles(ordered, numbers["curves"]["quantiles"])
        assert_among_all(check, part, numbers)


#: Pictures of all rows whose numbers are records that subgroups have as well.
OVERALL = {
    "events": kinds.events,
    "survival": kinds.survival,
    "coverage": kinds.coverage,
    "reliability": kinds.reliability,
    "classes": kinds.classes,
    "angles": kinds.angles,
}


@pytest.mark.parametrize("name", NAMES)
def test_pictures_of_all_rows_draw_the_curves_of_the_dictionary(name):
    check = CHECKS[name]
    for what, numbers in check.to_dict()["curves"].items():
        if what in OVERALL:
            SAME[what](OVERALL[what](check.checked), numbers)
        elif what == "class reliability":
            for label, one in numbers.items():
                chart = kinds.class_reliability(check.checked, label)
                assert_class_reliability(chart, one)
        elif what == "rootogram":
            bars = marks(kinds.rootogram(check.checked), charts.Boxes)[0]
            np.testing.assert_allclose(bars.high**2, numbers["expected"])
            hanging = (bars.high - bars.low) ** 2
            np.testing.assert_allclose(hanging, numbers["observed"], atol=1e-9)
        else:
            assert what == "pit"
            first = next(iter(numbers.values()))
            bars, band = marks(first_pictures(check.checked, check)[1], charts.Boxes)
            assert bars.high.tolist() == first["heights"]
            assert (band.low.tolist(), band.high.tolist()) == (
                [first["low"]],
                [first["high"]],
            )


def test_every_kind_of_picture_was_compared():
    """The walks above are over maps, fits and panels, and over all kinds of curves."""
    among = set()
    curves = set()
    for check in CHECKS.values():
        pictures = check.to_dict()["pictures"]
        for numbers in pictures["slices"] + pictures["groups"]:
            among |= set(numbers)
            curves |= set(numbers["curves"])
    assert {"map", "fit", "panel"} <= among
    assert curves - {"quantiles"} | set(OVERALL) == set(SAME)


def test_pictures_hold_no_single_rows():
    """A bin or a cell of fewer than five rows has no number but that of its rows."""
    few = 0
    for check in CHECKS.values():
        for panel in check.to_dict()["pictures"]["columns"]:
            for n, estimate, low in zip(
                panel["rows"], panel["estimate"], panel["low"], strict=True
            ):
                if n < FEWEST_ROWS:
                    few += 1
                    assert set(estimate) == set(low) == {None}
    assert few > 0
    # Quantiles lie five rows apart or more.
    z = np.random.default_rng(0).standard_normal(43)
    levels = residual_quantiles(z).levels
    assert np.diff(levels).min() * 43 >= FEWEST_ROWS
    assert residual_quantiles(z[:1]) is None


def test_quantiles_of_residuals_are_points_of_the_picture():
    """The residual of rank r is the quantile of level (r − 0.5)/m."""
    z = np.random.default_rng(1).standard_normal(15)
    curve = residual_quantiles(z)
    assert curve.levels.tolist() == pytest.approx([1 / 6, 1 / 2, 5 / 6])
    np.testing.assert_allclose(curve.observed, np.sort(z)[[2, 7, 12]])
    np.testing.assert_allclose(curve.expected, stats.norm.ppf(curve.levels))
    assert (curve.low < curve.expected).all()
    assert (curve.expected < curve.high).all()


def test_twenty_columns_take_less_than_300_kilobytes():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(1500, 20))).add_prefix("x")
    place = np.digitize(x["x0"], [-1.0, 0.0, 1.0])
    spread = np.array([1.0, 2.0, 0.5, 3.0])[place]
    y = spread * rng.standard_normal(1500) + 0.5 * (x["x1"] > 1)
    by = pd.Series(rng.integers(0, 12, 1500), name="town")
    check = cg.check((np.zeros(1500), np.ones(1500)), x, y, by=by, rng=0, n_boot=99)
    pictures = check.to_dict()["pictures"]
    assert len(pictures["columns"]) == 18
    assert len(pictures["groups"]) == 8
    assert pictures["slices"]
    assert len(json.dumps(check.to_dict())) < 300_000


def test_each_column_of_y_has_its_pits():
    curves = curves_of(CHECKS["several"])
    assert list(curves["pit"]) == ["height", "weight"]
    assert sum(curves["pit"]["weight"]["rows"]) == 500


def test_a_picture_draws_the_numbers_of_its_curve():
    checked = CHECKS["intervals"].checked
    curve = curves_of(CHECKS["intervals"])["coverage"]
    dots = kinds.coverage(checked).marks[1]
    assert dots.estimate.tolist() == curve["observed"]
    assert dots.low.tolist() == curve["low"]


def test_a_survival_curve_is_thinned_to_its_first_and_last_steps():
    checked = CHECKS["censored"].checked
    rows = np.arange(checked.n)
    whole = survival_curve(checked, rows)
    assert len(whole.hazard) > 200
    thin = curves_of(CHECKS["censored"])["survival"]
    assert len(thin["hazard"]) == 200
    assert thin["hazard"][0] == whole.hazard[0]
    assert thin["survival"][-1] == whole.survival[-1]


def test_the_estimate_of_kaplan_and_meier_by_hand():
    """Without censoring before it, each step divides by the rows at risk."""
    checked = CHECKS["censored"].checked
    rows = np.arange(40)
    hazard = checked.hazard[rows]
    event = checked.event[rows]
    estimate = 1.0
    by_hand = []
    for time in np.sort(hazard[event]):
        at_risk = (hazard >= time).sum()
        estimate *= 1.0 - 1.0 / at_risk
        by_hand.append(estimate)
    curve = kaplan_meier(checked, rows)
    np.testing.assert_allclose(curve.survival, by_hand)
