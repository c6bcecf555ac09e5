"""`condgof` in a process of its own, as a shell starts it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def predictions(tmp_path):
    """A CSV file of predictions whose spread is wrong where income is high."""
    rng = np.random.default_rng(0)
    income = rng.uniform(0, 4, 300)
    food = 2 * income + np.where(income > 3, 3.0, 1.0) * rng.standard_normal(300)
    rows = [
        f"{a!r},{b!r},{2 * a!r},1.0"
        for a, b in zip(income.tolist(), food.tolist(), strict=True)
    ]
    path = tmp_path / "predictions.csv"
    path.write_text("income,food,mean,std\n" + "\n".join(rows) + "\n")
    return path


ROLES = ["--x", "income", "--y", "food", "--mean", "mean", "--std", "std"]


def condgof(*words, folder, text=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "condgof", *map(str, words)],
        capture_output=True,
        cwd=folder,
        input=text,
        env={**os.environ, **environment},
    )


def test_from_predictions_to_a_report(predictions):
    folder = predictions.parent
    run = condgof(
        "check", "predictions.csv", *ROLES, "--report", "report.html", folder=folder
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == b""
    text = run.stdout.decode()
    assert "✗ MISFIT   p ≤ 0.001" in text
    assert re.search(r"\bincome [<≥]", text)
    assert "too narrow" in text
    assert text.endswith("→ report.html\n")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert re.search("income (&lt;|≥)", page)
    assert "http://" not in page.replace("http://www.w3.org/", "")


def test_standard_input_json_and_exit_code(predictions):
    run = condgof(
        "check",
        "-",
        *ROLES,
        "--json",
        "--fail-on-reject",
        folder=predictions.parent,
        text=predictions.read_bytes(),
    )
    assert run.returncode == 1
    assert run.stderr == b""
    document = json.loads(run.stdout)
    assert document["rejected"] is True
    assert document["data"]["path"] == "standard input"


def test_a_terminal_that_knows_ascii_only(predictions):
    food = predictions.read_text().replace("food", "nahrungsmittel größe")
    predictions.write_text(food, encoding="utf-8")
    words = ["check", "predictions.csv", *ROLES[:3], "nahrungsmittel größe", *ROLES[4:]]
    run = condgof(
        *words, folder=predictions.parent, PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )
    assert run.returncode == 0, run.stderr
    assert b"gr??e" in run.stdout or b"gr?e" in run.stdout


def test_an_error_is_one_line(predictions):
    run = condgof(
        "check", "predictions.csv", "--x", "incom", *ROLES[2:], folder=predictions.parent
    )
    assert run.returncode == 2
    assert run.stdout == b""
    assert (
        run.stderr.decode()
        == "condgof: --x: predictions.csv has no column 'incom'. Did you mean 'income'?\n"
    )


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_reader_that_has_seen_enough(predictions, form):
    command = [sys.executable, "-m", "condgof", "check", "predictions.csv", *ROLES, *form]
    run = subprocess.Popen(
        command, cwd=predictions.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    run.stdout.close()
    error = run.stderr.read()
    run.stderr.close()
    assert run.wait() == 141
    assert error == b""


def test_without_the_extra(predictions, tmp_path):
    """A bare installation: neither Typer nor Rich can be imported."""
    code = (
        "import sys; sys.modules.update(typer=None, rich=None); sys.argv = ['condgof',"
        " 'check', 'x.csv']; from condgof.cli import main; sys.exit(main())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr.decode().count("\n") == 1
    assert b"pip install 'condgof[cli]'" in run.stderr


def test_the_console_script_is_there():
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name="condgof")
    assert script.value == "condgof_command:main"
    assert Path(sys.executable).with_name("condgof").exists()
