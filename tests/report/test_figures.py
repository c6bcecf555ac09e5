"""Figures show what the results hold."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure

from condgof.errors import InputError, InputTypeError
from condgof.report import STYLES, draw_criterion, draw_power, plot_power
from condgof.study import (
    ILLUSTRATIONS,
    METHODS,
    PAPER_METHODS,
    Outcome,
    Study,
    Topic,
    Trial,
    illustrate,
)


def make(names, sizes, methods, trials=20, h0=("a",)):
    rng = np.random.default_rng(0)
    outcomes = {}
    for coordinates in itertools.product(names, sizes, methods, range(trials)):
        at = Trial(*coordinates)
        outcomes[at] = Outcome(at, float(rng.random()) * 0.1, 1.0, 0.1)
    topics = tuple(Topic(name, f"Problem {name}", name in h0) for name in names)
    return Study(
        topics, dict.fromkeys(names, sizes), tuple(methods), trials, 0.05, 0, outcomes
    )


def lines_of(ax):
    return {
        line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")
    }


def test_one_panel_a_problem_one_line_a_method():
    study = make("abc", (10, 20, 40), PAPER_METHODS)
    figure = draw_power(study)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["Problem a (H0)", "Problem b (H1)", "Problem c (H1)"]
    rates = {(row.problem, row.n, row.method): row.rate for row in study.table()}
    for ax, name in zip(figure.axes, "abc", strict=True):
        lines = lines_of(ax)
        assert len(lines) == len(PAPER_METHODS) + 1
        assert list(lines["KCSD"].get_ydata()) == [
            rates[name, n, "kcsd"] for n in (10, 20, 40)
        ]
        assert set(lines["α = 0.05"].get_ydata()) == {0.05}
        assert [tick.get_text() for tick in ax.get_xticklabels()] == ["10", "20", "40"]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(legend) == 9
    figure.canvas.draw()


def test_on_axes_that_are_given():
    study = make("ab", (10, 20), ("kcsd",))
    axes = Figure().subplots(1, 2)
    assert list(plot_power(study, axes)) == list(axes)
    assert [len(lines_of(ax)) for ax in axes] == [2, 2]
    assert axes[0].get_legend() is not None
    assert plot_power(study).shape == (2,)
    with pytest.raises(InputError, match="There are 2 problems and 1 Axes"):
        plot_power(study, axes[0])
    with pytest.raises(InputTypeError, match="must be a Study"):
        plot_power(study.to_dict())


def test_intervals_are_drawn():
    study = make("b", (10, 20), ("kcsd",))
    (bars,) = (
        c for c in draw_power(study).axes[0].collections if hasattr(c, "get_segments")
    )
    drawn = [(segment[0][1], segment[1][1]) for segment in bars.get_segments()]
    assert drawn == [pytest.approx((row.low, row.high)) for row in study.table()]


def test_methods_can_be_told_apart_without_colour():
    assert set(STYLES) == set(METHODS)
    study = make("b", (10, 20), [*METHODS, "_mine", "yours$", "third"])
    lines = lines_of(draw_power(study).axes[0])
    looks = {(line.get_marker(), line.get_linestyle()) for line in lines.values()}
    assert len(lines) == len(looks) == len(METHODS) + 4


@pytest.mark.parametrize(
    ("names", "sizes"), [("a", (10,)), ("abcde", (10, 20)), ("abcdefgh", (5,))]
)
def test_any_number_of_problems_and_sizes(names, sizes):
    figure = draw_power(make(names, sizes, ("kcsd", "mine")))
    shown = [ax for ax in figure.axes if ax.axison]
    assert len(shown) == len(names)
    figure.canvas.draw()


def test_a_cell_without_rates_is_left_out():
    study = make("b", (10,), ("kcsd", "mine"))
    failed = {
        at: Outcome(at, None, None, 0.1, "no")
        for at in study.outcomes
        if at.method == "mine"
    }
    figure = draw_power(
        Study(
            study.topics,
            study.sizes,
            study.methods,
            20,
            0.05,
            0,
            {**study.outcomes, **failed},
        )
    )
    assert len(lines_of(figure.axes[0])["mine"].get_xdata()) == 0
    figure.canvas.draw()


def test_criterion_has_four_panels_with_data_model_and_truth():
    illustrations = [illustrate(name, n=200) for name in ILLUSTRATIONS]
    figure = draw_criterion(illustrations)
    uppers = figure.axes[:4]
    lowers = figure.axes[4:]
    assert len(lowers) == 4
    for one, upper, lower in zip(illustrations, uppers, lowers, strict=True):
        assert upper.get_title() == one.title
        labels = lines_of(upper)
        assert set(labels) == {
            "data from r",
            "model p (mean, 95% band)",
            "truth r (mean, 95% band)",
        }
        np.testing.assert_array_equal(
            labels["model p (mean, 95% band)"].get_ydata(), one.p[0]
        )
        np.testing.assert_array_equal(
            lines_of(lower)["power criterion"].get_ydata(), one.criterion
        )
    figure.canvas.draw()


def test_the_criterion_peaks_where_the_paper_says():
    assert illustrate("hgm-1d").top == pytest.approx(1.0, abs=0.5)
    slope = illustrate("slope-1d")
    middle = np.abs(slope.grid) < 0.3
    assert slope.criterion[middle].max() < 0.5 * slope.criterion.max()
    for name in ("qgm-1d", "qgm-1d-uniform"):
        assert illustrate(name).criterion.max() > 0.1
