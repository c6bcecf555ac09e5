"""The JSON document is as documented."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from condgof.cli import main
from made_checks import hard_checks

ROOT = Path(__file__).parent.parent.parent
SCHEMA = json.loads((ROOT / "docs" / "check.schema.json").read_text())
ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def problems(value, schema, where="document"):
    """Check a value against the part of JSON Schema that the file uses; list what is wrong."""
    known = {"$schema", "$defs", "title", "type", "const", "enum", "required", "properties", "items"}
    assert set(schema) <= known | {"$ref", "anyOf", "additionalProperties"}
    if "$ref" in schema:
        return problems(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], where)
    if "anyOf" in schema:
        found = [problems(value, each, where) for each in schema["anyOf"]]
        return min(found, key=len)
    wrong = []
    if "const" in schema and value != schema["const"]:
        wrong.append(f"{where} is {value!r}")
    if "enum" in schema and value not in schema["enum"]:
        wrong.append(f"{where} is {value!r}")
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(
        isinstance(value, TYPES[t]) and (t == "boolean" or not isinstance(value, bool)) for t in types
    ):
        return [*wrong, f"{where} is a {type(value).__name__}, not {types}"]
    if isinstance(value, dict):
        wrong += [f"{where} lacks {name}" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            if inner is False:
                wrong.append(f"{where} has {name}, which is not documented")
            else:
                wrong += problems(item, inner, f"{where}.{name}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            wrong += problems(item, schema["items"], f"{where}[{i}]")
    return wrong


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
    table(s1=np.sin(np.arange(90.0)), s2=np.cos(np.arange(90.0)))
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
