"""What `condgof check --json` may print, and a check of it."""

import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
SCHEMA = json.loads((ROOT / "docs" / "reference" / "check.schema.json").read_text())
#: The Python types of each type of JSON Schema.
TYPES = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}
#: The words of JSON Schema that the file uses, and that `problems` knows.
WORDS = {"$schema", "$defs", "$ref", "title", "type", "const", "enum", "anyOf"} | {
    *("required", "properties", "additionalProperties", "items"),
}


def problems(value, schema, where="document"):
    """Return what is wrong with a value by a schema, a line each."""
    assert set(schema) <= WORDS
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return problems(value, SCHEMA["$defs"][name], where)
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
    if types and not any(has_type(value, each) for each in types):
        return [*wrong, f"{where} is a {type(value).__name__}, not {types}"]
    if isinstance(value, dict):
        wrong += object_problems(value, schema, where)
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            wrong += problems(item, schema["items"], f"{where}[{i}]")
    return wrong


def has_type(value, name):
    """Return whether a value is of a type of JSON, in which True is no number."""
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def object_problems(value, schema, where):
    """Return what is wrong with the keys and the values of a dictionary."""
    lacking = [name for name in schema.get("required", []) if name not in value]
    wrong = [f"{where} lacks {name}" for name in lacking]
    others = schema.get("additionalProperties", {})
    for name, item in value.items():
        item_schema = schema.get("properties", {}).get(name, others)
        if item_schema is False:
            wrong.append(f"{where} has {name}, which is not documented")
        else:
            wrong += problems(item, item_schema, f"{where}.{name}")
    return wrong
