"""`condgof check --by`: within groups, corrected."""

import json
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
        food = columns["food"] + 4.0 * (columns["town"] == "Oslo")
        return table(name, food=food, **changes)

    return write


def test_a_line_for_each_group(wrong_in_oslo, capsys):
    assert main(["check", wrong_in_oslo(), *ROLES, "--report", "r.html", "--fail-on-reject"]) == 1
    text = capsys.readouterr().out
    assert "Evidence against the model in 1 of 2 groups: Oslo." in text
    assert "by town" in text
    assert "corrected" in text
    bergen = next(line for line in text.splitlines() if line.strip().startswith("Bergen"))
    oslo = next(line for line in text.splitlines() if line.strip().startswith("Oslo"))
    assert "*" in oslo
    assert "*" not in bergen
    assert "town = Oslo" in text
    assert max(map(len, text.splitlines())) <= 80
    page = Path("r.html").read_text(encoding="utf-8")
    assert "town = Oslo" in page
    assert "--by town" in page


def test_json(wrong_in_oslo, capsys):
    assert main(["check", wrong_in_oslo("t.parquet"), *ROLES, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert problems(found, SCHEMA) == []
    assert found["check"] is None
    assert found["rejected"] is True
    assert found["columns"]["by"] == "town"
    groups = found["groups"]
    assert groups["rejected"] == ["Oslo"]
    assert [check["group"] for check in groups["checks"]] == ["Bergen", "Oslo"]
    assert all(c["pvalue"] >= c["result"]["pvalue"] for c in groups["checks"])


def test_quiet_and_groups_that_are_too_small(wrong_in_oslo, columns, capsys):
    town = columns["town"].copy().astype(object)
    town[:5] = "Ås [/] \x1b[31m"
    wrong_in_oslo(town=town)
    assert main(["check", "t.csv", *ROLES, "--quiet"]) == 0
    assert capsys.readouterr().out == "Evidence against the model in 1 of 2 groups: Oslo. 1 left out.\n"
    assert main(["check", "t.csv", *ROLES]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "left out Ås [/] \\x1b[31m: 5 rows, and min_rows is 30" in text


def test_numbers_as_groups_and_nulls_in_them(wrong_in_oslo, capsys):
    code = [None if i == 7 else i % 2 for i in range(90)]
    wrong_in_oslo("t.parquet", town=code)
    assert main(["check", "t.parquet", *ROLES]) == 2
    assert "missing values in 1 row (town 1) of 90" in capsys.readouterr().err
    assert main(["check", "t.parquet", *ROLES, "--drop-nulls", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [check["group"] for check in found["groups"]["checks"]] == ["0", "1"]
    assert sum(check["result"]["n"] for check in found["groups"]["checks"]) == 89


def test_no_group_is_large_enough(table, capsys):
    table(town=[f"place {i}" for i in range(90)])
    assert main(["check", "t.csv", *ROLES]) == 2
    error = capsys.readouterr().err
    assert "No group of 'town' can be checked. The first: 'place 0', 1 rows" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_streamed_groups_are_as_read_whole(name, wrong_in_oslo, columns, capsys, monkeypatch):
    town = columns["town"].tolist()
    income = columns["income"].tolist()
    town[11] = income[12] = None
    wrong_in_oslo(name, town=town, income=income)
    words = ["check", name, *ROLES, "--drop-nulls", "--json"]
    assert main(words) == 0
    whole = json.loads(capsys.readouterr().out)
    monkeypatch.setattr("condgof.cli.check._load.STREAM_BYTES", 0)
    assert main(words) == 0
    streamed = json.loads(capsys.readouterr().out)
    assert (whole["data"]["streamed"], streamed["data"]["streamed"]) == (False, True)
    assert streamed["data"]["dropped_by_column"] == {"income": 1, "town": 1}
    assert streamed["data"]["dropped_by_column"] == whole["data"]["dropped_by_column"]
    ours, theirs = (found["groups"]["checks"] for found in (streamed, whole))
    assert [c["group"] for c in ours] == [c["group"] for c in theirs] == ["Bergen", "Oslo"]
    np.testing.assert_allclose([c["pvalue"] for c in ours], [c["pvalue"] for c in theirs])


def test_a_model_by_groups(table, columns, tmp_path, capsys, monkeypatch):
    import sys

    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "mine_by_group.py").write_text(
        "import condgof as cg\nline = cg.models.Normal(mean=lambda x: 2.0 * x['income'], std=1.0)\n"
    )
    words = [table(), "--x", "income", "--y", "food", "--by", "town", "--model", "mine_by_group:line"]
    assert main(["check", *words, "-q"]) == 0
    assert "No evidence against the model in any of 2 groups" in capsys.readouterr().out
