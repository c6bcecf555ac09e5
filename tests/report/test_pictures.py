"""Pictures show what plain computations give, and both backends draw them."""

import inspect
import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import condgof as cg
from condgof.check import Axis, Condition, Finding
from condgof.check.curves import (
    bins_of,
    column_profile,
    map_values,
    overall_curves,
    part_rows,
    quantile_intervals,
    row_residuals,
    subgroup_curves,
)
from condgof.check.kinds import CheckedRows, ContinuousRows
from condgof.errors import InputError
from condgof.report import (
    FAR,
    available_pictures,
    charts,
    column_panel,
    first_pictures,
    fit,
    forest,
    kinds,
    map_of,
    null_picture,
    panels,
    plot_check,
    profile_drawing,
    slice_facts,
    slice_picture,
    slice_quantiles,
)
from condgof.result import binomial_quantile, share_interval
from report.samples import EVIL, checks, continuous

CHECKS = checks()
plt = pytest.importorskip("matplotlib.pyplot")
GENERICS = (
    first_pictures,
    available_pictures,
    slice_picture,
    slice_quantiles,
    profile_drawing,
    slice_facts,
    overall_curves,
    subgroup_curves,
    column_profile,
    map_values,
    row_residuals,
)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def all_subclasses(cls):
    for one in cls.__subclasses__():
        yield one
        yield from all_subclasses(one)


@pytest.mark.parametrize("generic", GENERICS)
def test_everything_is_registered_for_each_kind_of_y(generic):
    unregistered = generic.dispatch(object)
    for cls in all_subclasses(CheckedRows):
        assert generic.dispatch(cls) is not unregistered, cls


@pytest.mark.parametrize("generic", GENERICS)
def test_a_kind_that_is_not_registered_raises(generic):
    parameters = inspect.signature(generic).parameters
    others = [None] * (len(parameters) - 1)
    with pytest.raises(NotImplementedError, match="is not registered for object"):
        generic(object(), *others)


def column_charts(check):
    """Pictures along each column, by name, with the slice that names it."""
    checked = check.checked
    for i, axis in enumerate(checked.axes):
        naming = [
            part
            for part in check.slices
            if axis.name in [one.column for one in part.conditions]
        ]
        part = naming[0] if naming else None
        yield f"column {i}", column_panel(check, axis, part, wide=True)
        yield f"fit along {i}", fit(check, axis.name, part)
        yield f"map {i}", map_of(check, axis, checked.axes[0], part=part)


def all_charts(check):
    """Every picture of a check, by name."""
    checked = check.checked
    drawn = {
        "slices": forest(check.slices, leading_only=True),
        "groups": forest(check.groups),
        "null": null_picture(check.result),
    }
    for name, picture in available_pictures(checked).items():
        drawn[name] = picture(check)
    for y in range(len(checked.y_columns)):
        drawn[f"fit {y}"] = fit(check, y=y)
    drawn |= dict(column_charts(check))
    for i, part in enumerate(check.slices):
        curves = subgroup_curves(checked, part)
        drawn[f"slice {i}"] = slice_picture(checked, part, curves)
        drawn[f"qq {i}"] = slice_quantiles(checked, part, curves)
    drawn |= {f"panel {i}": chart for i, chart in enumerate(panels(check))}
    return {name: chart for name, chart in drawn.items() if chart is not None}


def marks(chart, kind):
    return [mark for mark in chart.marks if isinstance(mark, kind)]


def drawn_kinds(page):
    classes = re.findall(r'class="([^"]+)"', page)
    return set(re.findall(r"k-([\w-]+)", " ".join(classes)))


@pytest.mark.parametrize("name", list(CHECKS))
def test_both_backends_draw_every_picture(name):
    known = set(charts.colours())
    _, ax = plt.subplots()
    drawn = Counter()
    for what, chart in all_charts(CHECKS[name]).items():
        page = charts.svg(chart, "k1")
        assert EVIL not in page, what
        picture = ET.fromstring(f"<div>{page}</div>").find("svg")
        assert picture.attrib["aria-label"] == chart.title, what
        assert picture.find("desc").text, what
        assert "nan" not in page.lower().replace("finan", ""), what
        assert drawn_kinds(page) <= known
        header, rows = chart.table
        assert rows, what
        assert all(len(row) == len(header) for row in rows), what
        kind = what.rstrip(" 0123456789")
        drawn[kind] += 1
        if drawn[kind] > 1:  # of each kind of picture, the second backend draws one
            continue
        ax.clear()
        assert charts.draw(chart, ax).get_xlim() == pytest.approx(chart.x.ends), what
        assert ax.get_title(loc="left"), what


@pytest.mark.parametrize(
    ("name", "pictures"),
    [
        ("continuous", {"fit 0", "pit", "slices", "slice 0", "qq 0", "map 0", "panel 0"}),
        ("several", {"fit 1", "pit", "panel 0", "slice 0"}),
        ("classes", {"reliability", "classes", "panel 0", "slice 0", "map 1"}),
        ("counts", {"fit 0", "rootogram", "panel 0"}),
        ("quantiles", {"coverage", "panel 0", "slice 0", "map 1"}),
        ("intervals", {"coverage", "panel 0", "slice 0"}),
        ("censored", {"survival", "panel 0", "slice 0"}),
        ("scores", {"null"}),
    ],
)
def test_there_is_a_picture_of_each_kind(name, pictures):
    assert pictures <= set(all_charts(CHECKS[name]))


def test_nothing_but_the_null_is_drawn_of_scores():
    assert set(all_charts(CHECKS["scores"])) == {"null"}
    assert panels(CHECKS["scores"]) == []


def test_every_kind_has_a_light_and_a_dark_colour():
    light, dark = (
        set(re.findall(r"--k-([\w-]+): #", part))
        for part in charts.chart_style().split("@media")[:2]
    )
    assert set(charts.KINDS) <= light
    assert dark == light


def test_points_are_all_rows_or_one_random_sample():
    check = CHECKS["one column"]
    few = fit(check)
    points = marks(few, charts.Points)
    rows = np.concatenate([mark.rows for mark in points if mark.rows is not None])
    beyond = sum(len(mark.x) for mark in points if mark.rows is None)
    assert len(np.unique(rows)) + beyond == check.checked.n
    assert any(key.words == "all rows" for key in few.legend)
    check = continuous(n=2000, seed=3)
    chart = fit(check)
    points = [mark for mark in marks(chart, charts.Points) if mark.rows is not None]
    rows = np.concatenate([mark.rows for mark in points])
    assert set(rows) <= set(check.pictures.rows.points)
    assert len(check.pictures.rows.points) == 800
    assert any(key.words == "800 rows at random" for key in chart.legend)
    z = check.checked.z[:, 0]
    far = sum(len(mark.rows) for mark in points if mark.kind != "data")
    share = (np.abs(z) > FAR).mean()
    assert abs(far / 800 - share) < 4 * np.sqrt(share / 800)


def test_title_of_the_fit_is_a_plain_share():
    check = CHECKS["continuous"]
    outside = (np.abs(check.checked.z[:, 0]) > stats.norm.ppf(0.95)).mean()
    assert f": {100 * outside:.2g}% of rows lie outside" in fit(check).title
    assert fit(check).title.endswith("(10% predicted)")


def test_no_band_is_claimed_where_only_moments_are_known():
    check = CHECKS["moments"]
    chart = fit(check)
    share = (np.abs(check.checked.z[:, 0]) > 2).mean()
    assert chart.title.endswith(
        f"{100 * share:.2g}% of rows lie outside two standard deviations around the"
        " prediction"
    )
    assert not any("%" in key.words for key in chart.legend)


def test_bands_of_one_column_are_exact():
    check = CHECKS["one column"]
    chart = fit(check)
    checked = check.checked
    assert chart.x.name == "x"
    row_of = {float(value): i for i, value in enumerate(checked.axes[0].values)}
    band = marks(chart, charts.Band)[0]
    for x, low, high in zip(band.x, band.low, band.high, strict=True):
        assert (low, high) == tuple(checked.bands[row_of[float(x)]][[0, 4]])


def test_bands_at_levels_are_means_of_their_rows():
    check = CHECKS["continuous"]
    band = marks(fit(check, "education"), charts.Band)[0]
    codes = check.checked.axes[1].values
    for level in range(5):
        mean = np.nanmean(check.checked.bands[codes == level], axis=0)
        assert band.x[3 * level] == level - 0.4
        ends = (band.low[3 * level], band.high[3 * level])
        assert ends == pytest.approx((mean[0], mean[4]))


def test_panels_show_quantiles_of_the_rows_of_each_bin():
    check = CHECKS["continuous"]
    for axis in check.checked.axes:
        chart = column_panel(check, axis)
        bins = bins_of(axis, check)
        drawn = marks(chart, charts.Intervals)
        median = drawn[1]
        for b, rows in enumerate(bins.rows):
            z = check.checked.z[rows, 0]
            expected = np.quantile(z, [0.1, 0.5, 0.9])
            assert [mark.estimate[b] for mark in drawn] == pytest.approx(expected)
            interval = quantile_intervals([z], [0.5], 0.05)
            assert (median.low[b], median.high[b]) == (interval.low, interval.high)
            assert chart.table[1][b][:2] == (bins.names[b], f"{len(rows):,}")
    drawn = panels(check)
    assert len({chart.y.ends for chart in drawn}) == 1


def test_a_level_that_a_slice_names_is_among_those_drawn():
    check = CHECKS["continuous"]
    region = next(axis for axis in check.checked.axes if axis.name == "region")
    sizes = np.bincount(region.values.astype(int))
    rare = next(k for k in np.argsort(sizes) if sizes[k] >= 5)
    name = region.levels[rare]
    rows = np.flatnonzero(region.values == rare)
    assert name not in bins_of(region, check).names
    condition = Condition("region", f"region = {name}", "")
    named = replace(check.slices[0], conditions=(condition,), rows=rows, share=0.01)
    with_slice = replace(check, slices=(*check.slices, named))
    assert name in bins_of(region, with_slice).names
    assert name in bins_of(region, check, named, 7).names
    assert len(bins_of(region, with_slice).names) == 12
    drawn = (
        column_panel(with_slice, region),
        fit(with_slice, "region"),
        column_panel(check, region, named),
    )
    for chart in drawn:
        assert (name, str(len(rows))) in [row[:2] for row in chart.table[1]]


def test_order_statistics_cover_the_quantile():
    rng = np.random.default_rng(0)
    for p in (0.1, 0.5):
        low, high = quantile_intervals(rng.standard_normal((2000, 60)), [p], 0.05)
        true = stats.norm.ppf(p)
        assert ((low <= true) & (true <= high)).mean() >= 0.94


@pytest.mark.parametrize("n", [0, 1, 7, 100, 12_346, 10**7])
def test_quantiles_of_binomial_counts_are_those_of_scipy(n):
    rng = np.random.default_rng(n)
    odd = [
        0.0,
        5e-324,
        1e-300,
        1e-12,
        0.5,
        1.0 - 1e-12,
        np.nextafter(1.0, 0.0),
        1.0,
        np.nan,
    ]
    p = np.concatenate([odd, rng.uniform(size=200), 10 ** rng.uniform(-8, 0, 100)])
    level = np.array([1e-9, 0.0005, 0.025, 0.5, 0.975, 0.9999])[:, None]
    np.testing.assert_array_equal(
        binomial_quantile(level, n, p), stats.binom.ppf(level, n, p)
    )


def test_shares_have_clopper_and_pearsons_interval():
    for k, n in ((0, 10), (3, 10), (10, 10)):
        low, high = share_interval(np.array(k), np.array(n), 0.05)
        exact = stats.binomtest(k, n).proportion_ci(0.95)
        assert (float(low), float(high)) == pytest.approx((exact.low, exact.high))


def pit(check):
    return available_pictures(check.checked)["pit"](check)


def test_pit_histogram_counts_all_rows_and_its_band_holds():
    check = CHECKS["good"]
    chart = pit(check)
    bars, band = marks(chart, charts.Boxes)
    k = len(bars.high)
    counts = np.histogram(check.checked.pit[:, 0], k, (0, 1))[0]
    np.testing.assert_allclose(bars.high * 900 / k, counts)
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        heights = np.histogram(rng.random(900), k, (0, 1))[0] * k / 900
        held += bool(((heights >= band.low) & (heights <= band.high)).all())
    assert held / 300 > 0.92
    assert chart.title == f"wage: all {k} bars are inside the band"


def test_the_title_of_a_pit_histogram_counts_bars():
    chart = pit(CHECKS["continuous"])
    bars, band = marks(chart, charts.Boxes)
    above = (bars.high > band.high).sum()
    below = (bars.high < band.low).sum()
    assert above + below > 0
    count = len(bars.high)
    assert chart.title == f"wage: of {count} bars, {above} above the band and {below} below"


def with_residuals(z, values):
    """A check with residuals z along one column of whole numbers."""
    check = CHECKS["good"]
    axis = Axis("a", "integers", np.asarray(values, dtype=float), None, False, "a")
    n = len(z)
    table = replace(
        check.checked.table, rows=np.arange(n), y=np.zeros((n, 1)), axes=(axis,), whole=n
    )
    checked = ContinuousRows(
        table=table, comparison={}, moments=None, z=np.asarray(z)[:, None], draws=0
    )
    return replace(check, checked=checked)


def panel_title(z, values):
    check = with_residuals(z, values)
    return column_panel(check, check.checked.axes[0]).title


def test_a_panel_names_what_is_farthest_off_in_standard_errors():
    rng = np.random.default_rng(0)
    at = np.repeat([1, 2, 3, 4], 400)
    n = len(at)
    shifted = rng.standard_normal(n) * 0.85 + np.array([-1.0, 0.0, 0.0, 0.6])[at - 1]
    low = np.median(shifted[at == 1])
    assert panel_title(shifted, at) == f"a: median {-low:.2f} sd below the model's at 1"
    check = with_residuals(shifted, at)
    chart = column_panel(check, check.checked.axes[0])
    assert "s2" not in marks(chart, charts.Boxes)[0].kinds  # shifted, not too narrow
    spread = rng.standard_normal(n) * np.array([0.5, 1.0, 1.0, 1.8])[at - 1] + 0.1
    wide = np.ptp(np.quantile(spread[at == 4], [0.1, 0.9])) / 2.5632
    words = f"a: the middle 80% of the data is {wide:.2f} times as wide as the model's at 4"
    assert panel_title(spread, at) == words
    words = "a: no single bin differs significantly (5% for all bins together)"
    assert panel_title(rng.standard_normal(n), at) == words


def test_numbers_of_the_fit_are_called_what_they_are():
    check = CHECKS["continuous"]
    header, rows = fit(check, "education").table
    assert header[2:] == (
        "median of the data",
        "mean of the model's medians in 600 rows",
        "means of the ends of its 90% bands in 600 rows",
        "outside the model's 90% band",
    )
    inside = check.checked.axes[1].values == 0
    median = np.median(check.checked.y[inside, 0])
    assert float(rows[0][2]) == pytest.approx(median, rel=1e-2)
    model = np.nanmean(check.checked.bands[inside, 2])
    assert float(rows[0][3]) == pytest.approx(model, rel=1e-2)


def test_a_map_of_a_slice_shows_what_the_slice_is_about():
    check = CHECKS["continuous"]
    a, b = check.checked.axes[:2]
    for part in check.slices:
        words = map_of(check, a, b, part=part).legend[0].words
        assert (" sd" in words) == (part.kind == "shift")
        assert (" times" in words) == (part.kind != "shift")


def test_a_map_of_several_columns_is_of_the_column_of_the_slice():
    check = CHECKS["several"]
    part = check.slices[0]
    education = check.checked.axes[1]
    job = check.checked.axes[4]
    for column, name in enumerate(check.y_columns):
        lead = replace(part.findings[0], kind="shift", column=name)
        chart = map_of(check, education, job, replace(part, findings=(lead,)))
        inside = (education.values == 0) & (job.values == 0)
        z = check.checked.z[inside, column]
        assert chart.table[1][0][2] == f"{z.mean():.2f} sd".replace("-", "−")


def test_a_map_of_a_class_is_not_about_confidence():
    check = CHECKS["classes"]
    lead = next(f for f in check.slices[0].findings if f.kind == "class")
    about = replace(check.slices[0], findings=(lead,))
    chart = map_of(check, *check.checked.axes[:2], part=about)
    assert "overconfident" not in chart.legend[0].words


def test_reliability_and_classes_are_plain_shares():
    check = CHECKS["classes"]
    checked = check.checked
    right = checked.probabilities.argmax(axis=1) == checked.codes
    sure = checked.probabilities.max(axis=1)
    (dots,) = marks(kinds.reliability(checked), charts.Intervals)
    edges = np.quantile(sure, np.arange(1, 10) / 10)
    bins = np.searchsorted(edges, sure, side="right")
    for b in range(10):
        rows = bins == b
        shares = (sure[rows].mean(), right[rows].mean())
        assert (dots.at[b], dots.estimate[b]) == pytest.approx(shares)
    part = next(one for one in check.slices if one.kind == "confidence")
    inside = part_rows(checked, part)
    (dots,) = marks(kinds.classes(checked, part), charts.Intervals)
    shares = [(checked.codes[inside] == k).mean() for k in range(3)]
    assert dots.estimate.tolist()[::-1] == pytest.approx(shares)
    title = slice_picture(checked, part, subgroup_curves(checked, part)).title
    assert f"{sure[inside].mean():.2f}" in title


def test_rootogram_hangs_what_was_observed_from_what_is_expected():
    checked = CHECKS["counts"].checked
    y = checked.y[:, 0]
    p = checked.count_probabilities
    last = len(p) - 1
    assert last <= 25  # a bar for each count
    bars = marks(kinds.rootogram(checked), charts.Boxes)[0]
    observed = [(y == k).sum() for k in range(last)] + [(y >= last).sum()]
    np.testing.assert_allclose(bars.high**2, p * len(y))
    np.testing.assert_allclose((bars.high - bars.low) ** 2, observed, atol=1e-9)


@pytest.mark.parametrize("name", ["quantiles", "intervals"])
def test_coverage_is_what_the_findings_say(name):
    check = CHECKS[name]
    (dots,) = marks(kinds.coverage(check.checked), charts.Intervals)
    estimates = {finding.label: finding.estimate for finding in check.overall}
    for level, share in zip(dots.at, dots.estimate, strict=True):
        label = f"{level:g}" if name == "quantiles" else f"{level:.0%}"
        assert share == pytest.approx(estimates[label])


def test_a_slice_is_its_rows():
    check = CHECKS["continuous"]
    checked = check.checked
    for part in check.slices:
        z = checked.z[part_rows(checked, part), 0]
        curves = subgroup_curves(checked, part)
        chart = slice_picture(checked, part, curves)
        assert f"mean {z.mean():.2f}".replace("-", "−") in chart.title
        assert f"SD {z.std(ddof=1):.2f}" in chart.title
        beyond = sum(len(mark.x) for mark in marks(chart, charts.Points))
        inside = sum(int(row[1].replace(",", "")) for row in chart.table[1])
        assert inside + beyond == part.n
        ordered = slice_quantiles(checked, part, curves)
        drawn = sum(len(mark.x) for mark in marks(ordered, charts.Points))
        assert drawn >= min(part.n, 490)


def shift_of(check):
    """A slice whose leading finding is a shift."""
    finding = Finding(
        kind="shift",
        column="wage",
        estimate=0.3,
        interval=(0.2, 0.4),
        expected=0.0,
        quantity="mean",
    )
    return replace(check.slices[0], findings=(finding,))


def test_maps_show_means_of_cells():
    check = CHECKS["continuous"]
    a = check.checked.axes[1]
    b = check.checked.axes[4]
    chart = map_of(check, a, b, shift_of(check))
    (boxes,) = marks(chart, charts.Boxes)
    z = check.checked.z[:, 0]
    x = (boxes.left + boxes.right) / 2
    y = (boxes.low + boxes.high) / 2
    for at_x, at_y, row in zip(x, y, chart.table[1], strict=True):
        inside = (a.values == at_x) & (b.values == at_y)
        mean = f"{z[inside].mean():.2f} sd".replace("-", "−")
        assert row[2:] == (mean, str(inside.sum()))


def test_a_map_outlines_its_slice():
    check = CHECKS["no bands"]
    words = "education = Advanced degree and job class = Information"
    (part,) = (one for one in check.slices if one.words == words)
    chart = map_of(check, check.checked.axes[1], check.checked.axes[4], part)
    assert "times" in chart.legend[0].words
    assert marks(chart, charts.Line)[0].x.tolist() == [3.5, 4.5, 4.5, 3.5, 3.5]


def test_cells_of_few_rows_are_small():
    check = continuous(n=150, seed=2)
    part = shift_of(CHECKS["continuous"])
    chart = map_of(check, check.checked.axes[1], check.checked.axes[2], part)
    (boxes,) = marks(chart, charts.Boxes)
    rows = np.array([int(row[-1]) for row in chart.table[1]])
    np.testing.assert_array_equal(boxes.right - boxes.left < 0.5, rows < 10)
    assert chart.entries[-1].words == "fewer than 10 rows"


def test_a_forest_has_one_axis():
    check = CHECKS["no bands"]
    chart = forest(check.slices)
    (dots,) = marks(chart, charts.Intervals)
    assert chart.x.name == "spread, times the predicted spread"
    wanted = []
    for part in check.slices:
        spreads = [f for f in part.findings if f.kind == "spread"]
        wanted += [f.estimate for f in spreads if f.label == "middle half"]
    assert len(wanted) == 2
    assert dots.estimate.tolist()[::-1] == wanted
    assert forest(()) is None


def test_many_groups_are_a_caterpillar():
    groups = CHECKS["groups"].groups
    chart = forest(groups)
    (dots,) = marks(chart, charts.Intervals)
    assert len(dots.at) == len(groups) == 200
    assert (np.diff(dots.estimate) >= 0).all()
    # All are drawn, also those that are led by something else.
    assert len({part.findings[0].kind for part in groups}) > 1
    # The spread leads more groups that are off than the one shift does.
    assert chart.x.name == "spread, times the predicted spread"
    spread = {
        part.words: next(f for f in part.findings if f.kind == "spread") for part in groups
    }
    off = {words: f.estimate for words, f in spread.items() if not f.interval[0] <= 1.0}
    assert len(off) == 2
    assert chart.title == (
        f"2 of 200 differ from what is predicted, most of all {max(off, key=off.get)}"
    )


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("99%", "outside 99%"),
        ("largest", "counts of probability below 0.01"),
    ],
)
def test_tails_are_called_by_their_label(label, words):
    part = CHECKS["continuous"].slices[0]
    finding = replace(part.findings[0], kind="tails", label=label)
    chart = forest([replace(part, findings=(finding,))])
    assert chart.x.name == f"{words}, share of rows"


def test_the_same_way_off_has_the_same_colour():
    narrow = CHECKS["intervals"].slices[0]
    assert narrow.direction == "too narrow"
    (dots,) = marks(forest([narrow]), charts.Intervals)
    assert dots.kinds == ("high",)
    wide = next(part for part in CHECKS["continuous"].slices if part.kind == "spread")
    assert wide.direction == "too wide"
    (dots,) = marks(forest([wide]), charts.Intervals)
    assert dots.kinds == ("low",)


def test_axes_are_written_as_people_write_them():
    check = CHECKS["continuous"]
    scales = {axis.name: fit(check, axis.name).x for axis in check.checked.axes}
    assert "2004" in scales["year"].texts
    assert [text[:4] for text in scales["hired"].texts] == ["2019", "2020", "2022"]
    assert scales["age"].texts == ("20", "30", "40", "50", "60", "70", "80")
    years = next(chart.x for chart in panels(check) if chart.x.name == "year")
    assert years.texts[0] == "2003"
    assert all(len(text) <= charts.LONGEST for text in scales["region"].texts)
    assert len(set(scales["region"].texts)) == len(scales["region"].texts)


def test_no_axis_is_padded_by_the_size_of_its_numbers():
    assert charts.ends_of(np.array([2003.0, 2009.0]), 0.0) == (2003.0, 2009.0)
    assert charts.ends_of(np.full(3, 2006.0)) == (2005.5, 2006.5)
    low, high = charts.robust_ends(np.linspace(2003, 2009, 100))
    assert 2002 < low < 2003
    assert 2009 < high < 2010
    assert charts.robust_ends(np.append(np.linspace(-2, 2, 500), [1e6]))[1] < 4
    assert charts.robust_ends(np.full(50, 7.0)) == (6.5, 7.5)


def test_a_column_of_one_value_and_one_of_wild_values_can_be_drawn():
    check = continuous(n=200, seed=1)
    values = np.append(np.zeros(190), 10.0 ** np.arange(10))
    wild = Axis("wild", "numbers", values, None, False, "wild")
    axes = (wild, *check.checked.axes[1:])
    table = replace(check.checked.table, axes=axes)
    odd = replace(check, checked=replace(check.checked, table=table))
    drawn = (
        fit(odd, "wild"),
        column_panel(odd, axes[0]),
        map_of(odd, axes[0], axes[1]),
    )
    for chart in drawn:
        ET.fromstring(f"<div>{charts.svg(chart, 'k')}</div>")
    assert any(key.mark == "right" for key in fit(odd, "wild").legend)


def test_only_what_occurs_is_in_the_legend():
    check = CHECKS["good"]
    assert {key.kind for key in pit(check).entries} == {"bar", "band90"}
    assert charts.legend(()) == ""
    assert charts.legend(panels(check)[0].legend).count("<li>") == 6


def test_plot_check_draws_on_the_axes_that_it_is_given():
    check = CHECKS["continuous"]
    _, ax = plt.subplots()
    assert plot_check(check, "fit", ax, column="age") is ax
    assert ax.get_xlabel() == "age"


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("pit", {}),
        ("slices", {}),
        ("column", {"column": "year"}),
        ("slice", {"number": 1}),
        ("qq", {"number": 2}),
        ("map", {"columns": ("age", "education")}),
        ("null", {}),
    ],
)
def test_plot_check_draws_each_picture_by_name(what, options):
    assert plot_check(CHECKS["continuous"], what, **options).get_title(loc="left")


def test_plot_check_draws_groups():
    assert plot_check(CHECKS["groups"], "groups").get_ylabel() == "200 groups, by estimate"


@pytest.mark.parametrize(
    ("what", "options", "words"),
    [
        ("nothing", {}, "'fit', 'pit', 'slices'"),
        ("fit", {"column": "height"}, "There are: 'age', 'education'"),
        ("slice", {"number": 9}, "There are 3 slices, counted from 1"),
        ("rootogram", {}, "continuous has no picture"),
        ("column", {}, "cannot be drawn so"),
        ("pit", {"y": 1}, "cannot be drawn so"),
    ],
)
def test_plot_check_says_what_there_is(what, options, words):
    with pytest.raises(InputError, match=re.escape(words)):
        plot_check(CHECKS["continuous"], what, **options)


def test_an_interval_of_999_in_1000_is_not_called_all():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 400))
    ends = np.full((400, 1), 3.3)
    law = cg.from_intervals(-ends, ends, coverage=[0.999])
    text = cg.check(law, x, y, rng=0, n_boot=99).to_html()
    assert "99.9%" in text
    assert "inside 100%" not in text
