"""The JSON document is as documented."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from condgof.cli import main
from json_document import SCHEMA, problems
from report.samples import checks

ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]
ROOT = Path(__file__).parent.parent.parent
MADE = checks()


def document(capsys, *words):
    assert main(["check", *words, "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "NaN" not in printed.out
    parsed = json.loads(printed.out)
    assert problems(parsed, SCHEMA) == []
    return parsed


def test_a_real_check(table, columns, capsys):
    table(food=np.where(columns["income"] > 2, 4.0, 1.0) * columns["food"])
    words = [
        "t.csv",
        *ROLES,
        *shlex.split("--x town --alpha 0.01 --seed 3 --tolerance 0.1size"),
    ]
    parsed = document(capsys, *words)
    assert parsed["schema"] == 2
    assert parsed["rejected"] is True
    assert parsed["result"]["seed"] == parsed["seed"] == 3
    assert parsed["alpha"] == parsed["power"]["alpha"] == 0.01
    assert parsed["columns"]["x"] == parsed["x_columns"] == ["income", "town"]
    assert parsed["groups"] == []
    assert parsed["report"] is None
    assert parsed["verdict"].startswith("Misfit (p")
    assert parsed["command"].endswith(
        "--x town --alpha 0.01 --seed 3 --tolerance 0.1size --json"
    )
    assert parsed["tolerance"]["allowed"] == 0.1
    assert parsed["slices"]
    assert "null_distribution" not in parsed["result"]


def test_it_is_the_checks_own_dictionary(table, quick, ready, capsys):
    parsed = document(capsys, table(), *ROLES)
    expected = json.loads(json.dumps(ready[True].to_dict()))
    del expected["result"]["null_distribution"]
    assert {name: parsed[name] for name in expected} == expected
    assert set(parsed) - set(expected) == {
        "condgof",
        "command",
        "data",
        "columns",
        "model",
        "seed",
        "report",
        "verdict",
    }


def test_scores_and_several_columns(table, capsys):
    scores = np.random.default_rng(0).standard_normal((2, 90))
    table(s1=scores[0], s2=scores[1])
    document(capsys, "t.csv", "--x", "income", "--y", "food,drink", "--score", "s1,s2")


@pytest.mark.parametrize("case", MADE)
def test_made_checks(case, table, capsys, replace_check):
    replace_check(lambda *_, **__: MADE[case])
    parsed = document(capsys, table(), *ROLES, "--report", "r.html")
    assert parsed["report"] == "r.html"


def test_a_wrong_document_is_noticed():
    assert problems({"schema": 1}, SCHEMA)
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
    page = (ROOT / "docs" / "reference" / "json.md").read_text()
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", page))))
    assert set(names(SCHEMA)) <= words
