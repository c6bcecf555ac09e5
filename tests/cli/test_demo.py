"""`condgof demo`, as a user runs it."""

import subprocess
import sys

import matplotlib.image
import numpy as np

import condgof as cg
from condgof.cli import main
from condgof.study import engel_study


def test_it_prints_verdicts_and_draws_a_figure(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "condgof", "demo", "--out", str(tmp_path / "new" / "folder")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    study = engel_study()
    for name, model in study.models.items():
        result = cg.kcsd(model, study.income, study.food, rng=0)
        part = run.stdout.split(f"Model with {name}")[1].split("\n\n")[0]
        assert f"p-value   {result.pvalue:.4f}" in part
        assert ("does not fit" in part) == result.reject()
        assert "where" in part
    image = matplotlib.image.imread(tmp_path / "new" / "folder" / "engel.png")
    assert image.shape[0] > 600
    assert image.shape[1] > 900
    assert np.ptp(image[..., :3]) > 0.5


def test_the_heteroscedastic_model_does_clearly_better():
    """A comparison of fits that no bootstrap enters: held-out log-likelihood."""
    study = engel_study()
    constant, growing = (
        model.log_prob(study.food, study.income).sum() for model in study.models.values()
    )
    assert growing > constant + 10


def test_a_folder_that_cannot_be_made_exits_2_without_a_traceback(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file" / "x")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("condgof: ")
    assert "Traceback" not in error


def test_without_matplotlib_the_text_comes_and_the_extra_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo", "--out", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert "p-value" in printed.out
    assert "pip install 'condgof[plot]'" in printed.err


def test_an_internal_error_exits_3(tmp_path, capsys, monkeypatch):
    def broken(out):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("condgof.cli._demo.run_demo", broken)
    assert main(["demo"]) == 3
    assert "ZeroDivisionError: oops" in capsys.readouterr().err
