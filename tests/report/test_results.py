"""Every public result shows itself in a notebook, and gives its numbers as a frame."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

import condgof as cg
from condgof.errors import InputError, MissingPackageError
from condgof.report import main_pictures
from condgof.study import engel_study
from read_page import Page
from report.samples import checks

CHECKS = checks()
N = 300


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"age": rng.uniform(0, 4, N), "<b>": rng.standard_normal(N)})
    y = x["age"] + np.where(x["age"] > 3, 3.0, 1.0) * rng.standard_normal(N)
    return x, y


@pytest.fixture(scope="module")
def results(data):
    x, y = data
    model = (x["age"], np.ones(N))
    other = (x["age"], np.full(N, 1.5))
    report = cg.check(model, x, y, rng=0)
    watch = cg.monitor(cg.models.Normal(mean=lambda x: x[:, 0], std=0.2), rng=0)
    return {
        "result": cg.kcsd(model, x, y, rng=0),
        "limit": cg.zheng(
            cg.models.Normal(mean=lambda x: x[:, 0], std=1.0), x.to_numpy(), y, rng=0
        ),
        "check": report,
        "slice": report.slices[0],
        "comparison": cg.compare(model, other, x, y, rng=0),
        "ranking": cg.rank({"<i>": model, "wide": other}, x, y, rng=0),
        "repair": report.repair(),
        "monitor": watch.update(x.to_numpy(), y.to_numpy()),
        "study": cg.study.run_study("lgm", ["kcsd", "mmd"], [20, 30], trials=2, engine=1),
    }


NAMES = [
    "result",
    "limit",
    "check",
    "slice",
    "comparison",
    "ranking",
    "repair",
    "monitor",
    "study",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_card_is_small_and_safe(results, name):
    card = results[name]._repr_html_()
    page = Page(card)
    assert len(card) < 20_000
    assert not {"img", "script", "style", "i", "b"} & {tag for tag, _ in page.elements}
    assert page.text.strip()


def test_public_names():
    # 92: the modules `testing` and `sklearn` came, for the places where people work.
    assert len({*cg.__all__, *dir(cg.models), *dir(cg.study)}) <= 92
    assert set(dir(cg.study)) == set(cg.study.__all__)
    assert [name for name in dir(cg) if name.startswith("_")] == ["__version__"]
    assert set(dir(cg)) == {*cg.__all__, "__version__"}
    assert not hasattr(cg, "Laplace")
    assert cg.models.Laplace is not None


@pytest.mark.parametrize("name", ["comparison", "ranking"])
def test_pages_and_cards_of_comparisons_have_one_minus_sign(results, name):
    for text in (results[name].to_html(), results[name]._repr_html_()):
        words = Page(text).text
        assert "−" in words
        assert not re.search(r"[\s(]-\d", words)


def test_cards_say_what_the_results_say(results):
    def text(name):
        return Page(results[name]._repr_html_()).text

    assert results["monitor"].alarm
    assert "ALARM" in text("monitor")
    assert results["repair"].words in text("repair")
    assert results["slice"].findings[0].words in text("slice")
    assert results["study"].words in text("study")
    for row in results["study"].table():
        assert row.method in text("study")
    assert results["result"].verdict in text("result")


@pytest.mark.parametrize("name", NAMES)
def test_frames_have_a_row_a_record(results, name):
    frame = results[name].to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == len(results[name].records()) > 0


def test_frames_hold_the_numbers(results):
    report = results["check"]
    frame = report.to_frame()
    assert len(frame) == len(report.overall) + sum(len(s.findings) for s in report.slices)
    first = frame[frame["where"] == report.slices[0].words]
    assert first["estimate"].tolist() == [f.estimate for f in report.slices[0].findings]
    assert first["low"].tolist() == [f.interval[0] for f in report.slices[0].findings]
    assert set(first["n"]) == {report.slices[0].n}
    row = results["result"].to_frame().iloc[0]
    assert (row["method"], row["pvalue"]) == ("kcsd", results["result"].pvalue)
    assert (
        results["repair"].to_frame()["estimate"][0] == results["repair"].held_out.estimate
    )
    assert results["monitor"].to_frame()["event"][0] == "alarm"
    assert results["monitor"].to_frame()["since"][0] == results["monitor"].since
    rates = results["study"].to_frame().set_index(["method", "n"])["rate"]
    assert rates["kcsd", 20] == pytest.approx(results["study"].table()[0].rate, abs=1e-6)
    assert results["ranking"].to_frame()["model"].tolist() == list(results["ranking"].names)


def test_a_frame_without_pandas_names_the_extra(results, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"condgof\[frames\]"):
        results["result"].to_frame()


#: Checks whose figure is drawn: one of each kind of y, one column of x, and odd names.
FIGURES = (
    "continuous",
    "evil",
    "one column",
    "several",
    "evil classes",
    "counts",
    "quantiles",
    "intervals",
    "censored",
    "scores",
    "moments",
)


@pytest.mark.parametrize("name", CHECKS)
def test_four_pictures_matter(name):
    assert len(main_pictures(CHECKS[name])) == (1 if name == "scores" else 4)


@pytest.mark.parametrize("name", FIGURES)
def test_plot_is_one_figure_with_the_pictures_that_matter(name):
    plt = pytest.importorskip("matplotlib.pyplot")
    charts = main_pictures(CHECKS[name])
    figure = CHECKS[name].plot()
    drawn = [ax for ax in figure.axes if ax.axison]
    assert len(drawn) == len(charts)
    for ax, chart in zip(drawn, charts, strict=True):
        words = ax.get_title(loc="left").replace("\n", " ").replace("\\$", "$").strip()
        assert words[:20] == " ".join(chart.title.split())[:20]
    figure.set_dpi(20)  # text and marks are laid out all the same
    figure.canvas.draw()
    plt.close(figure)


def test_a_notebook_shows_the_figure_once(monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(
        plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline"
    )
    figure = CHECKS["good"].plot()
    assert figure.number not in plt.get_fignums()


def test_axes_are_for_one_picture():
    with pytest.raises(InputError, match="Name one picture to draw: 'fit', 'pit'"):
        CHECKS["good"].plot(column="age")


def test_the_normal_limit_is_drawn(results):
    ax = results["limit"].plot()
    assert ax.get_xlabel() == "test statistic (larger: worse fit)"
    assert ax.get_title(loc="left").startswith("zheng, n = 300: p")
    with pytest.raises(InputError, match="no null distribution to draw"):
        dataclasses.replace(results["limit"], null=None).plot()


def test_the_bundled_study_can_be_checked():
    income, food, models = engel_study()
    report = cg.check(models["constant spread"], income, food, rng=0)
    assert report.to_frame()["kind"].isin(["spread"]).any()
