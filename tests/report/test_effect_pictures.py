"""Pictures of effects: along their own columns, the numbers of their cells."""

from dataclasses import replace

import numpy as np
import pytest

import condgof as cg
import made_effects as made
from condgof.check import EFFECT_KINDS, effect_headline
from condgof.errors import InputError
from condgof.report import charts, effect_chart, plot_effect

MONTHS = made.effect(
    "bias",
    *[
        made.cell("bias", float(np.sin(k / 2)), made.number_range("month", k, k))
        for k in range(1, 13)
    ],
)
EFFECTS = {
    "pair": made.bikes(),
    "numbers": made.incomes(),
    "categories": made.towns(),
    "everywhere": made.everywhere(),
    "single values": MONTHS,
}


@pytest.mark.parametrize("case", EFFECTS)
def test_titles_are_headlines_and_tables_have_all_cells(case):
    effect = EFFECTS[case]
    chart = effect_chart(effect)
    assert chart.title == effect_headline(effect)
    heads, rows = chart.table
    assert heads[:2] == ("where", "rows")
    assert sorted(row[0] for row in rows) == sorted(cell.words for cell in effect.cells)
    ax = plot_effect(effect)
    assert ax.get_title(loc="left").replace("\n", " ") == chart.title
    assert effect.plot(ax) is ax
    assert "<svg" in charts.svg(chart, "one")


def test_a_pair_is_a_map_with_its_numbers():
    chart = effect_chart(made.bikes())
    assert (chart.x.name, chart.y.name) == ("hr", "workingday")
    assert chart.x.texts == ("< 6", "6 to 8", "8 to 12", "12 to 20", "≥ 20")
    (boxes,) = (mark for mark in chart.marks if isinstance(mark, charts.Boxes))
    assert len(boxes.left) == 10
    texts = [mark.words for mark in chart.marks if isinstance(mark, charts.Text)]
    assert "−2.2" in texts
    assert "+1.2" in texts


def test_numbers_are_steps_with_a_band():
    effect = made.incomes()
    chart = effect_chart(effect)
    (band,) = (mark for mark in chart.marks if isinstance(mark, charts.Band))
    np.testing.assert_allclose(band.x[::2], [0, 20, 40, 60, 80])
    low = [cell.interval[0] for cell in effect.cells]
    np.testing.assert_allclose(band.low[::2], low)


def test_categories_have_error_bars_and_their_own_predictions():
    chart = effect_chart(made.towns())
    (bars,) = (mark for mark in chart.marks if isinstance(mark, charts.Intervals))
    np.testing.assert_allclose(bars.estimate, [3.47, 34.0, 10.0])
    (model,) = (mark for mark in chart.marks if isinstance(mark, charts.Line))
    np.testing.assert_allclose(model.y.reshape(3, 3)[:, 0], [2.65, 20.0, 11.0])
    assert bars.kinds == ("high", "high", "even")


def test_of_many_categories_those_that_differ_most_are_drawn_and_it_says_so():
    cells = [
        made.cell("bias", 0.01 * k, made.category("city", f"c{k}"), half_width=0.05)
        for k in range(100)
    ]
    chart = effect_chart(made.effect("bias", *cells))
    assert chart.title.endswith(". 30 of 100 categories are drawn")
    assert len(chart.table[1]) == 30
    assert chart.table[1][-1][0] == "city = c99"


def test_coverage_below_the_level_has_the_colour_of_data_that_spread_more():
    effect = made.everywhere("coverage", 0.78)
    (boxes,) = (
        mark for mark in effect_chart(effect).marks if isinstance(mark, charts.Boxes)
    )
    assert boxes.kinds == ("high",)


@pytest.mark.parametrize("kind", EFFECT_KINDS)
def test_every_kind_can_be_drawn(kind):
    estimate = made.EXPECTED[kind] + 0.02
    label = made.LABELS.get(kind, "")
    places = [(), (made.category("a", "b"),), (made.number_range("a", 0, 1),)]
    for conditions in places:
        cell = made.cell(kind, estimate, *conditions, half_width=0.01)
        chart = effect_chart(made.effect(kind, cell, label=label))
        assert "{}" not in chart.x.name + chart.y.name + chart.title


def test_a_check_draws_its_effects_by_number():
    x, noise = np.random.default_rng(0).standard_normal((2, 60))
    report = cg.check((x, np.ones(60)), x, x + noise, rng=0, n_boot=39)
    with pytest.raises(InputError, match="no picture 'effect'"):
        report.plot("effect")
    report = replace(report, effects=(made.bikes(), made.incomes()))
    assert report.plot("effect").get_xlabel() == "hr"
    assert report.plot("effect", number=1).get_xlabel() == "income"
    with pytest.raises(InputError, match="cannot be drawn so"):
        report.plot("effect", number=2)
