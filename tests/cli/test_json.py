"""The JSON document is as documented."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from condgof.cli import main
from json_document import SCHEMA, problems
from report.made import made

ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]
ROOT = Path(__file__).parent.parent.parent
MADE = made()


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
    words = [
        "t.csv",
        *ROLES,
        "--x",
        "town",
        "--alpha",
        "0.01",
        "--seed",
        "3",
        "--tolerance",
        "0.1",
    ]
    found = document(capsys, *words)
    assert found["schema"] == 2
    assert found["rejected"] is True
    assert found["result"]["seed"] == found["seed"] == 3
    assert found["alpha"] == found["power"]["alpha"] == 0.01
    assert found["columns"]["x"] == found["x_columns"] == ["income", "town"]
    assert found["groups"] == []
    assert found["report"] is None
    assert found["verdict"].startswith("Evidence against the model (p")
    assert found["command"].endswith(
        "--x town --alpha 0.01 --seed 3 --tolerance 0.1 --json"
    )
    assert found["tolerance"]["allowed"] == 0.1
    assert found["slices"]
    assert "null_distribution" not in found["result"]


def test_it_is_the_checks_own_dictionary(table, quick, ready, capsys):
    found = document(capsys, table(), *ROLES)
    own = json.loads(json.dumps(ready[True].to_dict()))
    del own["result"]["null_distribution"]
    assert {name: found[name] for name in own} == own
    assert set(found) - set(own) == {
        "condgof", "command", "data", "columns", "model", "seed", "report", "verdict",
    }  # fmt: skip


def test_scores_and_several_columns(table, capsys):
    scores = np.random.default_rng(0).standard_normal((2, 90))
    table(s1=scores[0], s2=scores[1])
    document(capsys, "t.csv", "--x", "income", "--y", "food,drink", "--score", "s1,s2")


@pytest.mark.parametrize("case", MADE)
def test_made_checks(case, table, capsys, monkeypatch):
    monkeypatch.setattr("condgof.cli._check.run_check", lambda *_, **__: MADE[case])
    found = document(capsys, table(), *ROLES, "--report", "r.html")
    assert found["report"] == "r.html"


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
