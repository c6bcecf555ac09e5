"""`condgof check --by`: every group tested and described, corrected for their number."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from condgof.cli import main
from json_document import SCHEMA, problems

ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd", "--by", "town"]


@pytest.fixture
def wrong_in_oslo(table, columns):
    """A table whose model is wrong in Oslo."""

    def write(name="t.csv", **changes):
        food = columns["food"] + 2.0 * (columns["town"] == "Oslo")
        return table(name, **{"food": food, **changes})

    return write


def as_json(capsys, *words):
    assert main(["check", *words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert problems(document, SCHEMA) == []
    return document


def test_a_paragraph_for_each_group(wrong_in_oslo, columns, capsys):
    words = [wrong_in_oslo(), *ROLES, "--report", "r.html", "--fail-on-reject"]
    assert main(["check", *words]) == 1
    text = capsys.readouterr().out
    groups = text.partition("\nGROUPS ")[2].splitlines()
    oslo = (columns["town"] == "Oslo").sum()
    assert groups[1].split()[:4] == ["town", "=", "Oslo", str(oslo)], (
        "the one with the most evidence first"
    )
    assert groups[2].split()[:4] == ["town", "=", "Bergen", str(90 - oslo)]
    assert max(map(len, text.splitlines())) <= 100
    assert main(["check", *words[:-3], "--quiet"]) == 0
    line = capsys.readouterr().out
    z = columns["food"] - columns["mu"] + 2.0 * (columns["town"] == "Oslo")
    assert line.startswith(
        "Misfit (p ≤ 0.001). The mean is too low everywhere:"
        f" {np.median(z):.1f} SD too low."
    )
    assert line.count("\n") == 1
    page = Path("r.html").read_text(encoding="utf-8")
    assert "town = Oslo" in page
    assert "--by town" in page


def test_json(wrong_in_oslo, columns, capsys):
    document = as_json(capsys, wrong_in_oslo("t.parquet"), *ROLES)
    assert document["columns"]["by"] == "town"
    first, second = document["groups"]
    assert [first["words"], second["words"]] == ["town = Oslo", "town = Bergen"]
    assert first["n"] == (columns["town"] == "Oslo").sum()
    assert first["pvalue"] < 1e-6 < 0.05 < second["pvalue"]
    z = (columns["food"] + 2.0 - columns["mu"])[columns["town"] == "Oslo"]
    findings = {finding["kind"]: finding["estimate"] for finding in first["findings"]}
    assert findings["shift"] == pytest.approx(z.mean(), abs=1e-6)


def test_many_small_groups_can_be_rejected(table, columns, capsys):
    town = np.arange(90) // 3
    food = columns["food"] + 9.0 * (town == 7)
    document = as_json(capsys, table(town=town, food=food), *ROLES)
    assert len(document["groups"]) == 30
    assert document["groups"][0]["words"] == "town = 7"
    assert document["groups"][0]["pvalue"] < 0.05 < document["groups"][1]["pvalue"]
    assert main(["check", "t.csv", *ROLES]) == 0
    assert "and 18 more" in capsys.readouterr().out


def test_names_of_groups_cannot_steer_the_terminal(wrong_in_oslo, columns, capsys):
    town = columns["town"].copy().astype(object)
    town[:5] = "Ås [/] \x1b[31m"
    wrong_in_oslo("t.parquet", town=town)
    assert main(["check", "t.parquet", *ROLES]) == 0
    text = capsys.readouterr().out
    assert "town = Ås [/] \\x1b[31m 5 " in " ".join(text.split())
    assert "\x1b" not in text


def test_numbers_as_groups_and_nulls_in_them(wrong_in_oslo, capsys):
    code = [None if i == 7 else i % 2 for i in range(90)]
    wrong_in_oslo("t.parquet", town=code)
    assert main(["check", "t.parquet", *ROLES]) == 2
    assert "missing values in 1 row (town 1) of 90" in capsys.readouterr().err
    document = as_json(capsys, "t.parquet", *ROLES, "--drop-nulls")
    assert {one["words"] for one in document["groups"]} == {"town = 0", "town = 1"}
    assert sum(one["n"] for one in document["groups"]) == 89


@pytest.mark.parametrize(
    ("town", "message"),
    [
        ([f"place {i}" for i in range(90)], "by is different in each of the 90 rows"),
        (["here"] * 90, "by is the same in all 90 rows"),
    ],
)
def test_what_is_no_group(town, message, table, capsys):
    table(town=town)
    assert main(["check", "t.csv", *ROLES]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_column_of_x(wrong_in_oslo, capsys, stream):
    """It stays what it is in x, text or numbers, and has a query."""
    words = [wrong_in_oslo("t.parquet", code=np.arange(90) % 3), *ROLES[:-1]]
    document = as_json(capsys, *words, "town", "--x", "town")
    assert document["columns"]["x"] == ["income", "town"]
    assert {one["words"] for one in document["groups"]} == {"town = Oslo", "town = Bergen"}
    whole = as_json(capsys, *words, "code", "--x", "code")
    assert [one["n"] for one in whole["groups"]] == [30, 30, 30]
    stream()
    streamed = as_json(capsys, *words, "code", "--x", "code")
    assert streamed["data"]["streamed"] is True
    assert streamed["groups"] == whole["groups"]
    assert main(["check", *words, "income"]) == 2
    assert "too many for a group each" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_streamed_groups_are_as_read_whole(name, wrong_in_oslo, columns, capsys, stream):
    town = columns["town"].tolist()
    income = columns["income"].tolist()
    town[11] = income[12] = None
    wrong_in_oslo(name, town=town, income=income)
    words = [name, *ROLES, "--drop-nulls"]
    whole = as_json(capsys, *words)
    stream()
    streamed = as_json(capsys, *words)
    assert (whole["data"]["streamed"], streamed["data"]["streamed"]) == (False, True)
    assert streamed["data"]["dropped_by_column"] == {"income": 1, "town": 1}
    assert streamed["data"]["dropped_by_column"] == whole["data"]["dropped_by_column"]
    assert [one["words"] for one in streamed["groups"]] == ["town = Oslo", "town = Bergen"]
    assert [one["n"] for one in streamed["groups"]] == [one["n"] for one in whole["groups"]]
    np.testing.assert_allclose(
        *([g["pvalue"] for g in f["groups"]] for f in (streamed, whole))
    )


def test_a_model_by_groups(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "mine_by_group.py").write_text(
        "import condgof as cg\nline = cg.models.Normal(mean=lambda x: 2.0 * x['income'],"
        " std=1.0)\n"
    )
    words = [
        table(),
        *shlex.split("--x income --y food --by town --model mine_by_group:line"),
    ]
    assert {one["words"] for one in as_json(capsys, *words)["groups"]} == {
        "town = Bergen",
        "town = Oslo",
    }
