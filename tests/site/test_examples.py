"""Every example runs, on small data, and is short enough to read."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
#: An example longer than this many lines is two examples.
MAX_LINES = 80


# Warnings of other libraries are not errors here: a user would see them and go on.
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path, tmp_path, monkeypatch, capsys):
    """Run in this process, which has imported the large libraries already."""
    assert len(path.read_text().splitlines()) <= MAX_LINES
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.setenv("CONDGOF_EXAMPLE_ROWS", "400")
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip(), "an example prints what it computes"


def test_there_are_examples():
    assert len(EXAMPLES) >= 2
