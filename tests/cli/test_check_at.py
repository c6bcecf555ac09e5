"""condgof check --at: the model near a point of x."""

import json

import pytest

from condgof.cli import main
from json_document import SCHEMA, problems

ROLES = ["--x", "income,town", "--y", "food", "--mean", "mu", "--std", "sd"]


def run(table, *words):
    return main(["check", table(), *ROLES, *words])


def test_a_point_is_described(table, capsys):
    assert run(table, "--at", "income=2,town=Oslo", "--at", "town=Bergen,income=1e3") == 0
    out = capsys.readouterr().out
    assert "Near income = 2, town = Oslo (" in out
    assert "inside the central 90% interval" in out
    assert "Too few rows near income = 1,000, town = Bergen" in out


def test_points_are_in_the_document(table, capsys):
    assert run(table, "--at", "income=2,town=Oslo", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert problems(document, SCHEMA) == []
    (point,) = document["at"]
    assert point["x"] == {"income": 2.0, "town": "Oslo"}
    assert len(point["pit"]["levels"]) == 101
    assert point["predicted"]["labels"] == ["5%", "25%", "50%", "75%", "95%"]


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("income=2", "x0 lacks town"),
        ("income=2,city=Oslo", "'city=Oslo' is not COLUMN=VALUE"),
        ("income,town=Oslo", "'income' is not COLUMN=VALUE"),
        ("income=much,town=Oslo", "holds numbers, got 'much'"),
        ("income=2,town=Rome", "'Rome' is not a level"),
    ],
)
def test_refusals(table, capsys, point, words):
    assert run(table, "--at", point) == 2
    assert words in capsys.readouterr().err
