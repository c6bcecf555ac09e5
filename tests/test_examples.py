"""Every example runs, on small data, and is short enough to read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path, tmp_path):
    assert len(path.read_text().splitlines()) < 60
    run = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        env={**os.environ, "CONDGOF_EXAMPLE_ROWS": "400", "MPLBACKEND": "agg"},
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip(), "an example says what it found"


def test_there_are_examples():
    assert len(EXAMPLES) >= 2
