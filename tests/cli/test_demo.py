"""`condgof demo`, as a user runs it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import condgof as cg
from condgof.check import message_parts
from condgof.cli import main
from read_page import Page


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    run = subprocess.run(
        [sys.executable, "-m", "condgof", "demo", "--out", str(out)],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100"},  # pytest, by readline, passes on 80
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return out, run.stdout


@pytest.fixture(scope="module")
def tables(ran):
    """Return the tables that the demonstration wrote, by the names of the models."""
    out, _ = ran
    names = ("constant spread", "growing spread")
    return {name: pd.read_csv(out / f"{name.replace(' ', '-')}.csv") for name in names}


@pytest.fixture(scope="module")
def checks(tables):
    """Check both models again, from their tables."""
    return {
        name: cg.check((rows["mean"], rows["std"]), rows["income"], rows["food"], rng=0)
        for name, rows in tables.items()
    }


#: What the text says between the checks.
BETWEEN = "So the spread is not the same at every income"


def flat(text):
    return " ".join(text.split())


def test_text_and_pages_say_what_the_checks_say(ran, checks):
    out, text = ran
    parts = text.split(BETWEEN)
    for (name, one), part in zip(checks.items(), parts, strict=True):
        assert f"{name.capitalize()}: food lies on a line" in part
        assert flat(str(one)) in flat(part)
        report = out / f"{name.replace(' ', '-')}.html"
        assert str(report) in text
        raw = report.read_text(encoding="utf-8")
        page = flat(Page(raw).text)
        said = message_parts(one)  # headline and worst place are sentences of their own
        assert f"{said.headline}." in page
        assert said.place in page
        assert f"{one.effect.interval.estimate:.2f}" in (page if one.rejected else text)
        assert f"condgof check {report.with_suffix('.csv')}" in raw
    assert max(map(len, text.split("Reports, to open")[0].splitlines())) <= 100


def test_the_loop(checks):
    """What the text says between the checks is true: the spread is wrong, then right."""
    first, second = checks.values()
    assert first.rejected
    assert (first.slices[0].kind, first.slices[0].direction) == ("spread", "too wide")
    assert re.match(r"income < [\d,]+$", first.slices[0].words)
    assert not second.rejected
    assert second.effect.interval.estimate < 0.7 * first.effect.interval.estimate


def test_the_readme_shows_the_same_numbers(ran):
    """README, tutorial and demonstration print the same check of Engel's data."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(.*?)```", readme, re.DOTALL)[1]
    # README and tutorial keep the index of the 235 households, the table counts its rows.
    printed = ran[1].replace("(none expected): 68", "(none expected): 137")
    assert flat(shown) in flat(printed)


def test_the_figure(ran):
    image = matplotlib.image.imread(ran[0] / "engel.png")
    assert image.shape[0] > 600
    assert image.shape[1] > 900
    assert np.ptp(image[..., :3]) > 0.5


def test_the_command_that_it_shows_gives_the_same(ran, capsys):
    shown = ran[1]
    command = shlex.split(shown.splitlines()[-1].partition(":")[2])
    assert command[:2] == ["condgof", "check"]
    assert main(command[1:]) == 0
    again = capsys.readouterr().out
    for sign in ("✗", "Effect size: "):
        line = next(line for line in again.splitlines() if line.startswith(sign))
        assert line.strip() in shown.partition(BETWEEN)[0]


def test_the_heteroscedastic_model_does_clearly_better(tables):
    """A comparison of fits that no bootstrap enters: held-out log-likelihood."""
    constant, growing = (
        norm.logpdf(rows["food"], rows["mean"], rows["std"]).sum()
        for rows in tables.values()
    )
    assert growing > constant + 10


def test_a_folder_that_cannot_be_made_exits_2_without_a_traceback(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file" / "x")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("condgof: ")
    assert "Traceback" not in error


def test_without_matplotlib_the_reports_are_there(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "--out", str(tmp_path)]) == 0
    assert "figure" not in capsys.readouterr().out
    assert (tmp_path / "growing-spread.html").exists()


def test_an_internal_error_exits_3(tmp_path, capsys, monkeypatch):
    def broken(out):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("condgof.cli._demo.run_demo", broken)
    assert main(["demo"]) == 3
    assert "ZeroDivisionError: oops" in capsys.readouterr().err
