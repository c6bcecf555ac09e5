"""`condgof demo`, as a user runs it."""

import re
import shlex
import subprocess
import sys

import matplotlib.image
import numpy as np

from condgof.cli import main
from condgof.study import engel_study


def test_it_prints_verdicts_and_writes_reports(tmp_path):
    out = tmp_path / "new" / "folder"
    run = subprocess.run(
        [sys.executable, "-m", "condgof", "demo", "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    for name in ("constant spread", "growing spread"):
        part = run.stdout.split(f"{name.capitalize()}: ")[1]
        assert re.match(r".*?vidence against the model at the 5% level", part, re.DOTALL)
        report = out / f"{name.replace(' ', '-')}.html"
        assert str(report) in run.stdout
        page = report.read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>")
        assert f"condgof check {report.with_suffix('.csv')}" in page
    assert "As large as a constant shift of" in run.stdout
    assert re.search("income (below|between)", run.stdout)
    image = matplotlib.image.imread(out / "engel.png")
    assert image.shape[0] > 600
    assert image.shape[1] > 900
    assert np.ptp(image[..., :3]) > 0.5


def test_the_command_that_it_shows_gives_the_same(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    command = shlex.split(shown.splitlines()[-1])
    assert command[:2] == ["condgof", "check"]
    assert main(command[1:]) == 0
    again = capsys.readouterr().out
    verdict = next(line for line in again.splitlines() if "against the model" in line)
    assert verdict in shown.partition("Growing")[0]


def test_the_heteroscedastic_model_does_clearly_better():
    """A comparison of fits that no bootstrap enters: held-out log-likelihood."""
    study = engel_study()
    constant, growing = (
        model(study.income).log_prob(study.food).sum() for model in study.models.values()
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
    assert "Figure" not in capsys.readouterr().out
    assert (tmp_path / "growing-spread.html").exists()


def test_an_internal_error_exits_3(tmp_path, capsys, monkeypatch):
    def broken(out):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("condgof.cli._demo.run_demo", broken)
    assert main(["demo"]) == 3
    assert "ZeroDivisionError: oops" in capsys.readouterr().err
