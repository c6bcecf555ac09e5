"""The JSON document is as documented."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from condgof.cli import main
from json_document import SCHEMA, problems
from made_checks import hard_checks

ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]
ROOT = Path(__file__).parent.parent.parent


def document(capsys, *words):
    assert main(["check", *words, "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "NaN" not in printed.out
    found = json.loads(printed.out)
    assert problems(found, SCHEMA) == []
    return found


def test_a_real_check(table, columns, capsys):
    table(food=np.where(columns["income"] > 2, 4.0, 1.0) * columns["food"])
    found = document(capsys, "t.csv", *ROLES, "--x", "town", "--alpha", "0.01", "--seed", "3")
    assert found["schema"] == 1
    assert found["rejected"] is True
    assert found["check"]["rejected"] is True
    assert found["check"]["result"]["seed"] == found["seed"] == 3
    assert found["alpha"] == found["check"]["detectable"]["alpha"] == 0.01
    assert found["columns"]["x"] == ["income", "town"]
    assert found["groups"] is None
    assert found["report"] is None
    assert found["verdict"] == found["check"]["words"]
    assert found["command"].endswith("--x town --alpha 0.01 --seed 3 --json")
    assert found["check"]["locations"]
    assert "null_distribution" not in found["check"]["result"]


def test_scores_and_several_columns(table, capsys):
    scores = np.random.default_rng(0).standard_normal((2, 90))
    table(s1=scores[0], s2=scores[1])
    document(capsys, "t.csv", "--x", "income", "--y", "food,drink", "--score", "s1,s2")


@pytest.mark.parametrize("case", hard_checks())
def test_made_checks(case, table, quick, capsys, monkeypatch):
    monkeypatch.setattr("condgof.cli.check._run.check", lambda *_, **__: hard_checks()[case])
    found = document(capsys, table(), *ROLES, "--report", "r.html")
    assert found["report"] == "r.html"


def test_a_wrong_document_is_noticed():
    assert problems({"schema": 2}, SCHEMA)
    assert problems({"kind": "x"}, SCHEMA["$defs"]["finding"])
    assert problems(True, {"type": "number"})
    assert problems(1.0, {"type": "integer"})


def names(schema):
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from names(inner)
    for inner in schema.get("$defs", {}).values():
        yield from names(inner)


def test_every_field_is_on_the_page():
    page = (ROOT / "docs" / "json.md").read_text()
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", page))))
    assert set(names(SCHEMA)) <= words
