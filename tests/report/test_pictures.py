"""Pictures with matplotlib show what the records hold, on the Axes that they are given."""

import re
import sys

import numpy as np
import pytest

import condgof as cg
from condgof.errors import InputError, InputTypeError, MissingPackageError
from condgof.report import label
from condgof.study import Outcome, Study, Trial
from condgof.study._study import Topic
from made_checks import hard_checks, make_check, make_grouped

plt = pytest.importorskip("matplotlib.pyplot")
CHECKS = hard_checks()


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def texts(ax):
    return [t.get_text() for t in ax.texts]


def make_study(names=("a", "b")):
    rng = np.random.default_rng(0)
    cells = [
        Trial(p, n, m, t) for p in names for n in (10, 20) for m in ("kcsd", "mine") for t in range(8)
    ]
    outcomes = {at: Outcome(at, float(rng.random()) * 0.1, 1.0, 0.1) for at in cells}
    topics = tuple(Topic(name, f"Problem {name}", name == "a") for name in names)
    return Study(topics, dict.fromkeys(names, (10, 20)), ("kcsd", "mine"), 8, 0.05, 0, outcomes)


def test_a_result_draws_its_draws_and_its_statistic():
    result = CHECKS["curve"].result
    ax = result.plot()
    assert sum(patch.get_height() for patch in ax.patches) == len(result.null_distribution)
    (line,) = ax.lines
    assert line.get_xdata()[0] == result.statistic
    assert ax.get_title(loc="left") == "adaptive, n = 235: p = 0.004"
    _, given = plt.subplots()
    assert result.plot(given) is given


def test_a_statistic_far_out_stays_on_the_picture():
    draws = np.linspace(0, 1, 200)
    ax = cg.GofResult(500.0, 1 / 201, "kcsd", 10, null_distribution=draws, null="wild").plot()
    assert ax.get_xlim()[1] < 2
    assert ax.lines[0].get_xdata()[0] < 2
    assert "500 →" in ax.get_legend().get_texts()[-1].get_text()


def test_a_limit_is_drawn_as_a_curve_and_nothing_is_an_error():
    ax = cg.GofResult(2.1, 0.02, "zheng", 50, null="normal").plot()
    assert ax.get_ylabel() == "density"
    with pytest.raises(InputError, match="no null distribution"):
        cg.GofResult(2.1, 0.02, "kcsd", 50).plot()


@pytest.mark.parametrize("name", CHECKS)
def test_where_numbers_the_locations_and_names_the_columns(name):
    check = CHECKS[name]
    ax = check.plot_where()
    ax.figure.canvas.draw()
    assert texts(ax) == [str(i + 1) for i in range(len(check.locations))]
    named = {label(column)[:12] for column in check.x_columns}
    labels = {ax.get_xlabel()[:12], ax.get_ylabel()[:12]}
    assert labels & named
    _, given = plt.subplots()
    assert check.plot_where(given) is given


def test_where_draws_the_criterion():
    check = CHECKS["curve"]
    ax = check.plot_where()
    curve = max(ax.lines, key=lambda line: len(line.get_xdata()) == 201)
    np.testing.assert_array_equal(curve.get_ydata(), check.landscape.grid_values)
    cells = CHECKS["map"].plot_where().collections[0].get_array()
    np.testing.assert_allclose(
        np.ma.filled(cells, np.nan).ravel(),
        CHECKS["map"].landscape.grid_values.reshape(41, 41).T.ravel(),
    )


def test_where_takes_other_columns():
    check = CHECKS["five"]
    ax = check.plot_where(columns=["d", "c"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("d", "c")
    assert check.plot_where(columns="e").get_xlabel() == "e"
    with pytest.raises(InputError, match="one or two of the columns of x"):
        check.plot_where(columns=["a", "nothing"])
    with pytest.raises(InputError, match="one or two"):
        check.plot_where(columns=["a", "b", "c"])


@pytest.mark.parametrize("name", [n for n in CHECKS if CHECKS[n].locations])
def test_how_draws_the_rows_near_a_location(name):
    check = CHECKS[name]
    for i, location in enumerate(check.locations[:2]):
        ax = check.plot_how(i)
        ax.figure.canvas.draw()
        assert ax.get_title(loc="left").startswith(f"{i + 1}. ")
        if location.panel.kind == "classes":  # a bar of each, the last for all others
            heights = [bar.get_height() for bar in ax.patches]
            np.testing.assert_allclose(heights, location.panel.observed)
        else:
            (bars,) = (p for p in ax.patches if p.get_fill())
            heights, edges, _ = bars.get_data()
            assert 0.9 < np.sum(heights * np.diff(edges)) <= 1.0 + 1e-9
        assert check.plot_how(location, column=check.y_columns[-1]) is not ax
        plt.close("all")


def test_how_draws_what_the_model_says():
    check = CHECKS["curve"]
    panel = check.locations[0].panel
    line = next(line for line in check.plot_how(0).lines if "density" in line.get_label())
    inside = np.isin(panel.grid[:, 0], line.get_xdata())
    np.testing.assert_array_equal(line.get_ydata(), panel.density[inside, 0])
    assert "draws from the model" in str([p.get_label() for p in CHECKS["city"].plot_how(0).patches])
    assert "0, their mean" in str([p.get_label() for p in CHECKS["scores"].plot_how(0).lines])


def test_how_says_what_is_wrong_with_its_arguments():
    check = CHECKS["curve"]
    with pytest.raises(InputError, match="there are 3"):
        check.plot_how(7)
    with pytest.raises(InputError, match="location must be one of"):
        check.plot_how("Oslo")
    with pytest.raises(InputError, match="no column 'drink'"):
        check.plot_how(0, column="drink")
    assert check.plot_how(-1).get_title(loc="left").startswith("3. ")


def test_power_takes_a_study_its_table_and_its_dictionary():
    study = make_study()
    both = cg.plot_power(study)
    assert [ax.get_title(loc="left") for ax in both] == ["Problem a (H0)", "Problem b (H1)"]
    for thing in (study, study.to_dict(), study.table()):
        ax = cg.plot_power(thing, problem="b")
        lines = {line.get_label(): line for line in ax.lines}
        rates = [row.rate for row in study.table() if (row.problem, row.method) == ("b", "kcsd")]
        np.testing.assert_allclose(lines["KCSD"].get_ydata(), rates, atol=1e-6)
        assert ax.get_ylabel() == "rejection rate"
    _, given = plt.subplots()
    assert cg.plot_power(study, given, problem="a") is given
    _, row = plt.subplots(1, 2)
    assert list(cg.plot_power(study, row)) == list(row)


def test_power_says_what_is_wrong_with_its_arguments():
    study = make_study()
    with pytest.raises(InputError, match="no problem 'c'"):
        cg.plot_power(study, problem="c")
    with pytest.raises(InputError, match="2 problems and 1 Axes"):
        cg.plot_power(study, plt.subplots()[1])
    with pytest.raises(InputTypeError, match="study must be"):
        cg.plot_power(3)
    with pytest.raises(InputTypeError, match="does not read as one"):
        cg.plot_power({"table": [{"x": 1}]})
    with pytest.raises(InputError, match="empty"):
        cg.plot_power([])


def test_without_matplotlib_the_message_has_the_line_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    check = CHECKS["curve"]
    for draw in (check.result.plot, check.plot_where, lambda: check.plot_how(0)):
        with pytest.raises(MissingPackageError, match=r"pip install 'condgof\[plot\]'"):
            draw()
    assert check.to_html()
    assert check._repr_html_()


def test_cards_say_the_verdict_and_leak_no_style():
    for name, check in CHECKS.items():
        card = check._repr_html_()
        assert ("No evidence" in card) != check.rejects, name
        assert len(re.findall("[●○]&nbsp;[0-9]", card)) == len(check.locations)
        assert "<style" not in card
        assert "<script" not in card
        assert " id=" not in card
    card = cg.GofResult(2.0, 0.5, "kcsd", 10, details={"notes": ("<b>",)})._repr_html_()
    assert "no evidence" in card
    assert "&lt;b&gt;" in card
    assert "group 1" in make_grouped(3)._repr_html_()
    assert "and 5 more groups" in make_grouped(25)._repr_html_()


def test_drawing_changes_no_global_state():
    before = dict(plt.rcParams)
    make_check().plot_where()
    assert dict(plt.rcParams) == before
