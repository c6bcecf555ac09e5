"""Every public result shows itself in a notebook, and gives its numbers as a frame."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest

import condgof as cg
from condgof.errors import InputError, MissingPackageError
from condgof.report import evidence_picture, main_pictures
from condgof.report._results import result_message
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


def test_the_page_of_a_test_has_its_numbers_and_its_null_distribution(results):
    for name in ("result", "limit"):
        result = results[name]
        text = result.to_html(command="condgof test t.csv")
        page = Page(text)
        words = re.sub(r"\s+", " ", page.text)
        assert len(text) < 100_000
        assert result.pvalue_words in words
        assert f"{result.verdict[0].upper()}{result.verdict[1:]}." in words
        assert "have as large a statistic as the data" in words
        assert all(fact.name in words for fact in result.facts())
        assert f"rng={result.seed}" in words or result.seed is None
        assert "condgof test t.csv" in words
        numbers = machine_numbers(text)
        assert numbers["statistic"] == result.statistic
        assert not {"null_distribution", "locations"} & set(numbers)


def test_the_page_of_a_test_with_parts_lists_them(data):
    x, y = data
    result = cg.adaptive((x["age"], np.ones(N)), x, y, rng=0)
    words = Page(result.to_html(title="A <title>")).text
    assert "A <title>" in words
    assert "x as a whole, at several scales" in words


@pytest.mark.parametrize(
    ("pvalue", "draws", "verdict", "look"),
    [
        (0.001, 999, "Misfit", "bad"),
        (0.03, 999, "Weak evidence", "weak"),
        (0.3, 999, "No misfit found", "good"),
        (0.1, 9, "Not decided", "weak"),
    ],
)
def test_the_verdict_of_a_test_by_its_p_value(pvalue, draws, verdict, look):
    null = np.linspace(0.0, 1.0, draws)
    result = cg.GofResult(2.0, pvalue, "kcsd", 50, null_distribution=null, null="model")
    message = result_message(result)
    assert (message.verdict, message.look) == (verdict, look)


def machine_numbers(text):
    """The JSON that a page holds for machines."""
    found = re.search(r'<script type="application/json" id="numbers">(.*?)</script>', text)
    return json.loads(found[1])


def watched(later_shift, n=600):
    """A monitor of a model that is right at first, and off from half way on."""
    rng = np.random.default_rng(0)
    m = cg.monitor(cg.models.Normal(mean=lambda x: x, std=1.0), rng=0)
    x, noise = rng.standard_normal((2, n))
    return m.update(x, x + later_shift * (np.arange(n) >= n // 2) + noise)


def test_the_page_of_a_monitor_has_the_evidence_and_the_alarm():
    m = watched(1.0)
    assert m.alarm
    assert m.changed
    text = m.to_html(command="condgof watch new.csv")
    words = re.sub(r"\s+", " ", Page(text).text)
    assert f"The model is wrong since about row {m.since:,}" in words
    assert m.change_words in words
    assert "condgof watch new.csv" in words
    numbers = machine_numbers(text)
    assert numbers["events"] == m.records()
    assert [one["evidence"] for one in numbers["history"]] == [
        one.evidence for one in m.history
    ]
    assert "message bad" in text


def test_a_monitor_without_an_alarm_is_green_and_one_without_rows_has_a_page():
    quiet = watched(0.0)
    text = quiet.to_html()
    assert "message good" in text
    assert "No alarm" in Page(text).text
    empty = cg.monitor(cg.models.Normal(mean=lambda x: x, std=1.0), rng=0)
    assert "Evidence in time" not in Page(empty.to_html()).text
    with pytest.raises(InputError, match="update"):
        empty.plot()


def test_the_picture_of_the_evidence_is_the_history():
    m = watched(1.0)
    chart = evidence_picture(m)
    line = next(mark for mark in chart.marks if getattr(mark, "kind", "") == "data")
    assert line.x.tolist() == [0, *(one.rows for one in m.history)]
    evidence = np.array([1.0, *(one.evidence for one in m.history)])
    drawn = np.clip(np.log10(evidence), -3.0, 6.0)
    np.testing.assert_allclose(line.y, drawn)
    first_reached = next(m for m in chart.marks if getattr(m, "shape", "") == "dot")
    assert first_reached.x.tolist() == [m.records()[0]["rows"]]
    assert "Above 1,000,000 the line is at the edge" in chart.title
    assert m.plot().get_ylabel() == "evidence"


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
