"""What `condgof check --json` may print, and a check of it."""

import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((ROOT / "docs" / "reference" / "check.schema.json").read_text())
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
    known = {
        "$schema",
        "$defs",
        "title",
        "type",
        "const",
        "enum",
        "required",
        "properties",
        "items",
    }
    assert set(schema) <= known | {"$ref", "anyOf", "additionalProperties"}
    if "$ref" in schema:
        return problems(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], where)
    if "anyOf" in schema:
        null, other = schema["anyOf"]
        return problems(value, null if value is None else other, where)
    wrong = []
    if "const" in schema and value != schema["const"]:
        wrong.append(f"{where} is {value!r}")
    if "enum" in schema and value not in schema["enum"]:
        wrong.append(f"{where} is {value!r}")
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(
        isinstance(value, TYPES[t]) and (t == "boolean" or not isinstance(value, bool))
        for t in types
    ):
        return [*wrong, f"{where} is a {type(value).__name__}, not {types}"]
    if isinstance(value, dict):
        wrong += [
            f"{where} lacks {name}"
            for name in schema.get("required", [])
            if name not in value
        ]
        for name, item in value.items():
            inner = schema.get("properties", {}).get(
                name, schema.get("additionalProperties", {})
            )
            if inner is False:
                wrong.append(f"{where} has {name}, which is not documented")
            else:
                wrong += problems(item, inner, f"{where}.{name}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            wrong += problems(item, schema["items"], f"{where}[{i}]")
    return wrong
