"""Pictures show what plain computations give, both pens draw all of them, and nothing goes missing."""

import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import condgof as cg
from condgof.check._axes import Axis
from condgof.check._record import Condition, Finding
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report import _panels as binned
from condgof.report import _pictures as pictures
from condgof.report._chart import chart_style, colours, legend, svg
from condgof.report._panels import (
    bins_of,
    column_panel,
    map_of,
    panels,
    part_rows,
    quantile_ends,
)
from condgof.result import share_interval
from report.made import EVIL, continuous, made

CHECKS = made()
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def all_charts(check):
    """Every picture of a check, by name."""
    looked = check.looked
    found = {
        "reliability": pictures.reliability(check),
        "classes": pictures.classes(check),
        "rootogram": pictures.rootogram(check),
        "coverage": pictures.coverage(check),
        "slices": pictures.forest(check.slices),
        "groups": pictures.forest(check.groups),
        "null": pictures.null_picture(check.result),
    }
    for y in range(len(looked.y_columns)):
        found[f"fit {y}"], found[f"pit {y}"] = (
            pictures.fit(check, y=y),
            pictures.pit(check, y=y),
        )
    for i, axis in enumerate(looked.axes):
        part = next(
            (s for s in check.slices if axis.name in [one.column for one in s.conditions]),
            None,
        )
        found[f"column {i}"] = column_panel(check, axis, part, wide=True)
        found[f"fit along {i}"] = (
            pictures.fit(check, axis.name, part) if looked.z is not None else None
        )
        found[f"map {i}"] = map_of(check, axis, looked.axes[0], part=part)
    for i, part in enumerate(check.slices):
        found[f"slice {i}"] = pictures.slice_residuals(check, part)
        found[f"qq {i}"] = pictures.slice_qq(check, part)
    found |= {f"panel {i}": chart for i, chart in enumerate(panels(check))}
    return {name: chart for name, chart in found.items() if chart is not None}


def marks(chart, kind):
    return [mark for mark in chart.marks if isinstance(mark, kind)]


@pytest.mark.parametrize("name", list(CHECKS))
def test_both_pens_draw_every_picture(name):
    known, (_, ax), drawn = set(colours()), plt.subplots(), Counter()
    for what, chart in all_charts(CHECKS[name]).items():
        page = svg(chart, "k1")
        assert EVIL not in page, what
        root = ET.fromstring(f"<div>{page}</div>")
        picture = root.find("svg")
        assert picture.attrib["aria-label"] == chart.title.replace("\x1b", r"\x1b"), what
        assert picture.find("desc").text, what
        assert "nan" not in page.lower().replace("finan", ""), what
        assert {
            k
            for cls in re.findall(r'class="([^"]+)"', page)
            for k in re.findall(r"k-([\w-]+)", cls)
        } <= known
        header, rows = chart.table
        assert rows, what
        assert all(len(row) == len(header) for row in rows), what
        drawn[what.rstrip(" 0123456789")] += 1
        if drawn[what.rstrip(" 0123456789")] > 2:  # of a kind, the second pen draws two
            continue
        ax.clear()
        assert pictures.draw(chart, ax).get_xlim() == pytest.approx(chart.x.ends), what
        assert ax.get_title(loc="left"), what


def test_there_is_a_picture_of_each_kind():
    def there(name, *pattern):
        found = set(all_charts(CHECKS[name]))
        return all(one in found for one in pattern)

    assert there(
        "continuous",
        "fit 0",
        "pit 0",
        "slices",
        "slice 0",
        "qq 0",
        "map 0",
        "panel 0",
        "null",
    )
    assert there("several", "fit 1", "pit 1", "panel 0", "slice 0")
    assert there("classes", "reliability", "classes", "panel 0", "slice 0", "map 1")
    assert there("counts", "fit 0", "rootogram", "panel 0", "slice 0")
    assert there("quantiles", "coverage", "panel 0", "slice 0", "map 1")
    assert there("intervals", "coverage", "panel 0", "slice 0")
    assert set(all_charts(CHECKS["scores"])) == {"null"}
    assert panels(CHECKS["scores"]) == []


def test_every_kind_has_a_light_and_a_dark_colour():
    light, dark = (
        set(re.findall(r"--k-([\w-]+): #", part))
        for part in chart_style().split("@media")[:2]
    )
    assert set(c.KINDS) <= light
    assert dark == light


def test_the_most_extreme_rows_are_in_the_picture():
    check = continuous(n=5000, seed=3)
    z, chart = check.looked.z[:, 0], pictures.fit(check)
    points = marks(chart, c.Points)
    shown = {float(x) for mark in points if mark.kind in ("high", "low") for x in mark.x}
    assert {float(x) for x in check.looked.location[np.abs(z) > pictures.FAR, 0]} <= shown
    drawn = sum(
        len(mark.x) for mark in points if mark.kind == "data" and mark.shape == "dot"
    )
    assert drawn == pictures.MOST_ROWS
    beyond = [key for key in chart.legend if key.mark in ("up", "down")]
    up = int((check.looked.y[:, 0] > chart.y.ends[1]).sum())
    assert up
    assert beyond[0].words.startswith(
        f"{up} beyond the axis, to {check.looked.y.max():,.0f}"
    )
    far = sum(
        len(mark.x)
        for mark in points
        if mark.kind in ("high", "low") and mark.shape == "dot"
    )
    off = sum(len(mark.x) for mark in points if mark.shape in ("up", "down"))
    assert far + off >= (np.abs(z) > pictures.FAR).sum()
    again = pictures.fit(check)
    np.testing.assert_array_equal(marks(again, c.Points)[0].x, points[0].x)


def test_title_of_the_fit_is_a_plain_share():
    check = CHECKS["continuous"]
    out = (np.abs(check.looked.z[:, 0]) > stats.norm.ppf(0.95)).mean()
    assert f"in {100 * out:.2g}% of the rows" in pictures.fit(check).title


def test_no_band_is_claimed_where_only_moments_are_known():
    check = CHECKS["moments"]
    chart = pictures.fit(check)
    share = (np.abs(check.looked.z[:, 0]) > 2).mean()
    assert chart.title.endswith(
        f"two standard deviations around the prediction in {100 * share:.2g}% of the rows"
    )
    assert not any("%" in key.words for key in chart.legend)


def test_bands_of_one_column_are_exact():
    check = CHECKS["one column"]
    chart = pictures.fit(check)
    looked = check.looked
    assert chart.x.name == "x"
    order = {float(v): i for i, v in enumerate(looked.axes[0].values)}
    for x, low, high in zip(
        *(getattr(marks(chart, c.Band)[0], n) for n in ("x", "low", "high")), strict=True
    ):
        assert (low, high) == tuple(looked.bands[order[float(x)]][[0, 4]])


def test_bands_at_levels_are_means_of_their_rows():
    check = CHECKS["continuous"]
    band = marks(pictures.fit(check, "education"), c.Band)[0]
    codes, bands = check.looked.axes[1].values, check.looked.bands
    for level in range(5):
        mean = np.nanmean(bands[codes == level], axis=0)
        assert band.x[3 * level] == level - 0.4
        assert (band.low[3 * level], band.high[3 * level]) == pytest.approx(
            (mean[0], mean[4])
        )


def test_panels_show_quantiles_of_the_rows_of_each_bin():
    check = CHECKS["continuous"]
    for axis in check.looked.axes:
        chart, bins = column_panel(check, axis), bins_of(axis, check)
        ten, median, ninety = marks(chart, c.Intervals)
        for b, rows in enumerate(bins.rows):
            z = check.looked.z[rows, 0]
            expected = np.quantile(z, [0.1, 0.5, 0.9])
            assert [m.estimate[b] for m in (ten, median, ninety)] == pytest.approx(expected)
            assert (median.low[b], median.high[b]) == quantile_ends(z, 0.5, 0.05)
            assert chart.table[1][b][:2] == (bins.names[b], f"{len(rows):,}")
    charts = panels(check)
    assert len({chart.y.ends for chart in charts}) == 1
    assert charts[0].x.name in ("education", "predicted")


def test_a_level_that_a_slice_names_is_among_those_drawn():
    check = CHECKS["continuous"]
    region = next(axis for axis in check.looked.axes if axis.name == "region")
    sizes = np.bincount(region.values.astype(int))
    rare = next(k for k in np.argsort(sizes) if sizes[k] >= 5)
    name, rows = region.levels[rare], np.flatnonzero(region.values == rare)
    assert name not in bins_of(region, check).names
    named = replace(
        check.slices[0],
        conditions=(Condition("region", f"region = {name}", ""),),
        rows=rows,
        share=0.01,
    )
    found = replace(check, slices=(*check.slices, named))
    assert name in bins_of(region, found).names
    assert name in bins_of(region, check, named, 7).names
    assert len(bins_of(region, found).names) == 12
    charts = (
        column_panel(found, region),
        next(panel for panel in panels(found) if panel.x.name.startswith("region, 12 of ")),
        pictures.fit(found, "region"),
        column_panel(check, region, named),
    )
    for chart in charts:
        assert (name, str(len(rows))) in [row[:2] for row in chart.table[1]]


def test_order_statistics_cover_the_quantile():
    rng = np.random.default_rng(0)
    for p in (0.1, 0.5):
        ends = np.array(
            [quantile_ends(rng.standard_normal(60), p, 0.05) for _ in range(2000)]
        )
        true = stats.norm.ppf(p)
        assert ((ends[:, 0] <= true) & (true <= ends[:, 1])).mean() >= 0.94


def test_shares_have_clopper_and_pearsons_interval():
    for k, n in ((0, 10), (3, 10), (10, 10)):
        low, high = share_interval(np.array(k), np.array(n), 0.05)
        exact = stats.binomtest(k, n).proportion_ci(0.95)
        assert (float(low), float(high)) == pytest.approx((exact.low, exact.high))


def test_pit_histogram_counts_all_rows_and_its_band_holds():
    check = CHECKS["good"]
    chart = pictures.pit(check)
    bars, band = marks(chart, c.Boxes)
    k = len(bars.high)
    np.testing.assert_allclose(
        bars.high * 900 / k, np.histogram(check.looked.pit[:, 0], k, (0, 1))[0]
    )
    rng, held = np.random.default_rng(0), 0
    for _ in range(300):
        heights = np.histogram(rng.random(900), k, (0, 1))[0] * k / 900
        held += bool(((heights >= band.low) & (heights <= band.high)).all())
    assert held / 300 > 0.92
    assert chart.title == f"wage: all {k} bars are inside the band"
    check = continuous(seed=4, wild=False)
    chart = pictures.pit(check)
    (bars, band), k = marks(chart, c.Boxes), len(marks(chart, c.Boxes)[0].high)
    above, below = (bars.high > band.high).sum(), (bars.high < band.low).sum()
    assert above + below > 0
    assert chart.title == f"wage: of {k} bars, {above} above the band and {below} below"


def one_axis(z, values):
    """A check with residuals z along one column of whole numbers."""
    check = continuous(n=len(z), seed=1, bad=False, wild=False)
    along = Axis("a", "integers", np.asarray(values, dtype=float), None, False, "a")
    return replace(
        check, looked=replace(check.looked, axes=(along,), z=np.asarray(z)[:, None])
    )


def test_a_panel_names_what_is_farthest_off_in_standard_errors():
    rng = np.random.default_rng(0)
    at, n = np.repeat([1, 2, 3, 4], 400), 1600
    shifted = rng.standard_normal(n) * 0.85 + np.array([-1.0, 0.0, 0.0, 0.6])[at - 1]
    check = one_axis(shifted, at)
    low = np.median(shifted[at == 1])
    chart = column_panel(check, check.looked.axes[0])
    assert chart.title == f"a: median {-low:.2f} sd below the model's at 1"
    assert "s2" not in marks(chart, c.Boxes)[0].kinds  # shifted, not too narrow
    spread = rng.standard_normal(n) * np.array([0.5, 1.0, 1.0, 1.8])[at - 1] + 0.1
    check = one_axis(spread, at)
    wide = np.ptp(np.quantile(spread[at == 4], [0.1, 0.9])) / 2.5632
    words = f"a: the middle 80% of the data is {wide:.2f} times as wide as the model's at 4"
    assert column_panel(check, check.looked.axes[0]).title == words
    check = one_axis(rng.standard_normal(n), at)
    words = "a: no single bin differs significantly (5% for all bins together)"
    assert column_panel(check, check.looked.axes[0]).title == words


def test_numbers_of_the_fit_are_called_what_they_are():
    check = CHECKS["continuous"]
    header, rows = pictures.fit(check, "education").table
    assert header[2:] == (
        "median of the data",
        "mean of the model's medians in 600 rows",
        "means of the ends of its 90% bands in 600 rows",
        "outside the model's 90% band",
    )
    inside = check.looked.axes[1].values == 0
    assert float(rows[0][2]) == pytest.approx(
        np.median(check.looked.y[inside, 0]), rel=1e-2
    )
    assert float(rows[0][3]) == pytest.approx(
        np.nanmean(check.looked.bands[inside, 2]), rel=1e-2
    )


def test_a_map_of_a_slice_shows_what_the_slice_is_about():
    check = CHECKS["continuous"]
    a, b = check.looked.axes[:2]
    for part in check.slices:
        words = map_of(check, a, b, part=part).legend[0].words
        assert (" sd" in words, " times" in words) == (
            part.kind == "shift",
            part.kind != "shift",
        )
    several = CHECKS["several"]
    part, (a, b) = several.slices[0], several.looked.axes[1:5:3]
    for column in (0, 1):
        lead = replace(part.findings[0], kind="shift", column=several.y_columns[column])
        chart = map_of(several, a, b, replace(part, findings=(lead,)))
        z = several.looked.z[(a.values == 0) & (b.values == 0), column]
        assert chart.table[1][0][2] == f"{z.mean():.2f} sd".replace("-", "−")
    classes = CHECKS["classes"]
    lead = next(f for f in classes.slices[0].findings if f.kind == "class")
    about = replace(classes.slices[0], findings=(lead,))
    assert (
        "too sure"
        not in map_of(classes, *classes.looked.axes[:2], part=about).legend[0].words
    )


def test_reliability_and_classes_are_plain_shares():
    check = CHECKS["classes"]
    looked = check.looked
    right = looked.probabilities.argmax(axis=1) == looked.codes
    sure = looked.probabilities.max(axis=1)
    (dots,) = marks(pictures.reliability(check), c.Intervals)
    cut = np.searchsorted(np.quantile(sure, np.arange(1, 10) / 10), sure, side="right")
    for b in range(10):
        rows = cut == b
        assert (dots.at[b], dots.estimate[b]) == pytest.approx(
            (sure[rows].mean(), right[rows].mean())
        )
    part = check.slices[0]
    inside = part_rows(looked, part)
    (dots,) = marks(pictures.classes(check, part), c.Intervals)
    shares = [(looked.codes[inside] == k).mean() for k in range(3)]
    assert dots.estimate.tolist()[::-1] == pytest.approx(shares)
    assert f"{sure[inside].mean():.2f}" in pictures.slice_residuals(check, part).title


def test_rootogram_hangs_what_was_seen_from_what_is_expected():
    check = CHECKS["counts"]
    y, p = check.looked.y[:, 0], check.looked.count_probabilities
    bars = marks(pictures.rootogram(check), c.Boxes)[0]
    seen = [(y == k).sum() for k in range(len(p) - 1)] + [(y >= len(p) - 1).sum()]
    np.testing.assert_allclose(bars.high**2, p * len(y))
    np.testing.assert_allclose((bars.high - bars.low) ** 2, seen)


@pytest.mark.parametrize("name", ["quantiles", "intervals"])
def test_coverage_is_what_the_findings_say(name):
    check = CHECKS[name]
    (dots,) = marks(pictures.coverage(check), c.Intervals)
    found = {f.label: f.estimate for f in check.overall}
    for level, share in zip(dots.at, dots.estimate, strict=True):
        assert share == pytest.approx(
            found[f"{level:g}" if name == "quantiles" else f"{level:.0%}"]
        )


def test_a_slice_is_its_rows():
    check = CHECKS["continuous"]
    for part in check.slices:
        z = check.looked.z[part_rows(check.looked, part), 0]
        chart = pictures.slice_residuals(check, part)
        assert f"mean {z.mean():.2f}".replace("-", "−") in chart.title
        assert f"sd {z.std(ddof=1):.2f}" in chart.title
        beyond = sum(len(mark.x) for mark in marks(chart, c.Points))
        assert (
            sum(int(row[1].replace(",", "")) for row in chart.table[1]) + beyond == part.n
        )
        ordered = pictures.slice_qq(check, part)
        assert sum(len(mark.x) for mark in marks(ordered, c.Points)) >= min(part.n, 490)


def test_maps_show_means_and_spreads_of_cells():
    check = CHECKS["continuous"]
    a, b = check.looked.axes[1], check.looked.axes[4]
    shift = replace(
        check.slices[0], findings=(Finding("shift", "wage", 0.3, (0.2, 0.4), 0.0, ""),)
    )
    chart = map_of(check, a, b, shift)
    (boxes,) = marks(chart, c.Boxes)
    z = check.looked.z[:, 0]
    middles = (boxes.left + boxes.right) / 2, (boxes.low + boxes.high) / 2
    for x, y, row in zip(*middles, chart.table[1], strict=True):
        inside = (a.values == x) & (b.values == y)
        assert row[2:] == (
            f"{z[inside].mean():.2f} sd".replace("-", "−"),
            str(inside.sum()),
        )
    spread = map_of(check, a, b, check.slices[1])
    assert "times" in spread.legend[0].words
    assert marks(spread, c.Line)[0].x.tolist() == [3.5, 4.5, 4.5, 3.5, 3.5]
    few = continuous(n=150, seed=2)
    chart = map_of(few, few.looked.axes[1], few.looked.axes[2], shift)
    (boxes,) = marks(chart, c.Boxes)
    rows = np.array([int(row[-1]) for row in chart.table[1]])
    np.testing.assert_array_equal(boxes.right - boxes.left < 0.5, rows < binned.FEW)
    assert chart.entries[-1].words == "fewer than 10 rows"


def test_a_forest_has_one_axis_and_many_groups_are_a_caterpillar():
    check = CHECKS["continuous"]
    chart = pictures.forest(check.slices)
    (dots,) = marks(chart, c.Intervals)
    assert chart.x.name == "spread, times the model's"
    wanted = [f.estimate for s in check.slices for f in s.findings if f.kind == "spread"]
    assert dots.estimate.tolist()[::-1] == wanted
    many = pictures.forest(CHECKS["groups"].groups)
    (dots,) = marks(many, c.Intervals)
    assert len(dots.at) == len(CHECKS["groups"].groups)
    assert (np.diff(dots.estimate) >= 0).all()
    assert many.title == "2 of 200 differ from what the model says, most of all town = T003"
    assert pictures.forest(()) is None
    tails = {
        "99%": "beyond the 99% interval",
        "largest": "counts of probability below 0.01",
    }
    for label, words in tails.items():
        found = replace(check.slices[0].findings[0], kind="tails", label=label)
        chart = pictures.forest([replace(check.slices[0], findings=(found,))])
        assert chart.x.name == f"{words}, share of rows"


def test_the_same_way_off_has_the_same_colour():
    narrow = CHECKS["intervals"].slices[0]
    assert narrow.direction == "too narrow"
    (dots,) = marks(pictures.forest([narrow]), c.Intervals)
    assert dots.kinds == ("high",)
    wide = CHECKS["continuous"].slices[0]
    assert wide.direction == "too wide"
    (dots,) = marks(pictures.forest([wide]), c.Intervals)
    assert dots.kinds == ("low",)


def test_axes_are_written_as_people_write_them():
    check = CHECKS["continuous"]
    scales = {axis.name: pictures.fit(check, axis.name).x for axis in check.looked.axes}
    assert "2004" in scales["year"].texts
    assert [text[:4] for text in scales["hired"].texts] == ["2019", "2020", "2022"]
    assert scales["age"].texts == ("20", "30", "40", "50", "60", "70", "80")
    years = next(chart.x for chart in panels(check) if chart.x.name == "year")
    assert years.texts[0] == "2003"
    assert all(len(text) <= c.LONGEST for text in scales["region"].texts)
    assert len(set(scales["region"].texts)) == len(scales["region"].texts)


def test_no_axis_is_padded_by_the_size_of_its_numbers():
    assert c.ends_of(np.array([2003.0, 2009.0]), 0.0) == (2003.0, 2009.0)
    assert c.ends_of(np.full(3, 2006.0)) == (2005.5, 2006.5)
    low, high = c.robust_ends(np.linspace(2003, 2009, 100))
    assert 2002 < low < 2003
    assert 2009 < high < 2010
    assert c.robust_ends(np.append(np.linspace(-2, 2, 500), [1e6]))[1] < 4
    assert c.robust_ends(np.full(50, 7.0)) == (6.5, 7.5)


def test_a_column_of_one_value_and_one_of_wild_values_can_be_drawn():
    check = continuous(n=200, seed=1)
    wild = np.append(np.zeros(190), 10.0 ** np.arange(10))
    axes = (Axis("wild", "numbers", wild, None, False, "wild"), *check.looked.axes[1:])
    odd = replace(check, looked=replace(check.looked, axes=axes))
    for what in (
        pictures.fit(odd, "wild"),
        column_panel(odd, axes[0]),
        map_of(odd, axes[0], axes[1]),
    ):
        ET.fromstring(f"<div>{svg(what, 'k')}</div>")
    assert any(key.mark == "right" for key in pictures.fit(odd, "wild").legend)


def test_only_what_occurs_is_in_the_legend():
    check = CHECKS["good"]
    assert {key.kind for key in pictures.pit(check).entries} == {"bar", "band90"}
    assert legend(()) == ""
    assert legend(panels(check)[0].legend).count("<li>") == 6


def test_plot_check_draws_on_the_axes_that_it_is_given():
    check = CHECKS["continuous"]
    _, ax = plt.subplots()
    assert pictures.plot_check(check, "fit", ax, column="age") is ax
    assert ax.get_xlabel() == "age"
    for what, which in {
        "pit": {}, "slices": {}, "column": {"column": "year"}, "slice": {"number": 1},
        "qq": {"number": 2}, "map": {"columns": ("age", "education")}, "null": {},
    }.items():  # fmt: skip
        assert pictures.plot_check(check, what, **which).get_title(loc="left")
    assert (
        pictures.plot_check(CHECKS["groups"], "groups").get_ylabel()
        == "200 groups, by estimate"
    )


@pytest.mark.parametrize(
    ("what", "which", "words"),
    [
        ("nothing", {}, "'fit', 'pit', 'slices'"),
        ("fit", {"column": "height"}, "There are: 'age', 'education'"),
        ("slice", {"number": 9}, "There are 4 slices, counted from 1"),
        ("rootogram", {}, "continuous has no picture"),
        ("column", {}, "cannot be drawn so"),
        ("pit", {"y": 1}, "cannot be drawn so"),
    ],
)
def test_plot_check_says_what_there_is(what, which, words):
    with pytest.raises(InputError, match=re.escape(words)):
        pictures.plot_check(CHECKS["continuous"], what, **which)


def test_an_interval_of_999_in_1000_is_not_called_all():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 400))
    law = cg.from_intervals(
        np.full((400, 1), -3.3), np.full((400, 1), 3.3), coverage=[0.999]
    )
    text = cg.check(law, x, y, rng=0, n_boot=99).to_html()
    assert "99.9%" in text
    assert "inside 100%" not in text
