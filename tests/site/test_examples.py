"""Every example runs, on small data, and is short enough to read."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.filterwarnings(
    "default"
)  # of other libraries: a user would see them and go on
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path, tmp_path, monkeypatch, capsys):
    """In this process, which has imported the large libraries already."""
    assert len(path.read_text().splitlines()) < 60
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONDGOF_EXAMPLE_ROWS", "400")
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip(), "an example says what it found"


def test_there_are_examples():
    assert len(EXAMPLES) >= 2
