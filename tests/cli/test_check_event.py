"""condgof check --event, --entry."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from condgof.cli import main


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 300)
    scale = 10 * np.exp(-0.02 * (age - 50))
    times = rng.exponential(scale)
    until = rng.exponential(15, 300)
    frame = pd.DataFrame(
        {"age": age, "scale": scale, "start": 0.0, "week": np.minimum(times, until)}
    )
    frame["died"] = times <= until
    path = tmp_path / "trial.csv"
    frame.to_csv(path, index=False)
    return path


def arguments(table, *more):
    model = ["--family", "exponential", "--param", "scale=scale"]
    return ["check", str(table), "--x", "age", "--y", "week", *model, *more]


def test_events_are_told(table, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert main(arguments(table, "--event", "died", "--report", str(page))) == 0
    said = re.search(r"  events \((\d+) of (\d+\.\d) expected\)", capsys.readouterr().out)
    # The picture of all rows counts the same events over time.
    assert f"{said[1]} events observed, {said[2]} expected" in page.read_text()


def test_entry_and_json(table, capsys):
    assert main(arguments(table, "--event", "died", "--entry", "start", "--json")) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["columns"]["event"] == "died"
    assert document["overall"][0]["kind"] == "events"


def test_what_is_refused(table, capsys):
    assert main(arguments(table, "--event", "age")) == 2
    assert "Column 'age'" in capsys.readouterr().err
    frame = pd.read_csv(table)
    frame["died"] = frame.died * 2
    frame.to_csv(table, index=False)
    assert main(arguments(table, "--event", "died")) == 2
    assert "--event must be 0 or 1 in each row" in capsys.readouterr().err
    assert main(arguments(table, "--entry", "start")) == 2
    assert "--entry goes with --event" in capsys.readouterr().err
