"""Large tables stream: the same result as read whole, with nulls counted and left out."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from condgof.cli import main
from condgof.sample import Source

ROLES = ["--x", "income,age", "--y", "food", "--mean", "mu", "--std", "sd"]


@pytest.fixture
def small(stream):
    """Stream every table."""
    stream()


def result(capsys, *words):
    assert main(["check", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_streamed_is_as_read_whole(name, table, capsys, stream):
    table(name)
    whole = result(capsys, name, *ROLES)
    stream()
    streamed = result(capsys, name, *ROLES)
    assert (whole["data"]["streamed"], streamed["data"]["streamed"]) == (False, True)
    assert streamed["result"]["pvalue"] == whole["result"]["pvalue"]
    np.testing.assert_allclose(
        streamed["result"]["statistic"], whole["result"]["statistic"], rtol=1e-8
    )
    assert streamed["words"] == whole["words"]
    assert streamed["overall"] == whole["overall"]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_nulls_in_a_stream(name, table, columns, small, quick, replace_check, capsys):
    income = columns["income"].tolist()
    sd = columns["sd"].tolist()
    income[3] = sd[60] = None
    table(name, income=income, sd=sd)
    assert main(["check", name, *ROLES]) == 2
    assert (
        f"{name} has missing values in 2 rows (income 1, sd 1) of 90"
        in capsys.readouterr().err
    )
    blocks = []

    def check(model, x, y=None, **options):
        blocks.append(x.with_extra(model.names).block_range(0, x.n))
        return quick(model, x, y, **options)

    replace_check(check)
    assert main(["check", name, *ROLES, "--drop-nulls"]) == 0
    (call,) = quick.calls
    source = call["x"]
    (block,) = blocks
    keep = np.setdiff1d(np.arange(90), [3, 60])
    assert isinstance(source, Source)
    np.testing.assert_allclose(block.y[:, 0], columns["food"][keep])
    np.testing.assert_allclose(block.extra["mu"], columns["mu"][keep])
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "data: 2 rows (income 1, sd 1) with missing values left out, not counted" in shown
    )
    assert "in row numbers; streamed" in shown
    temporary = [path for path in source.paths if "condgof-" in path]
    assert temporary
    assert not any(Path(path).exists() for path in temporary)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"sd": np.r_[np.ones(89), 0.0]},
            "and is not in 1 of 90 rows, the first in row 89",
        ),
        (
            {"mu": np.r_[np.ones(89), np.inf]},
            "mean has NaN or infinite values in 1 of 90 rows, the first in",
        ),
    ],
)
def test_what_cannot_be(changes, message, table, small, capsys):
    table("t.parquet", **changes)
    assert main(["check", "t.parquet", *ROLES]) == 2
    assert message in capsys.readouterr().err


def test_text_in_a_number_column_of_a_stream(table, columns, small, capsys):
    food = [str(value) for value in columns["food"]]
    food[70] = "many"
    table(food=food)
    assert main(["check", "t.csv", *ROLES]) == 2
    error = capsys.readouterr().err
    assert "'food'" in error
    assert error.count("\n") == 1


def test_scores_and_models_stream(table, columns, small, quick, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "mine_streamed.py").write_text(
        "import condgof as cg\nimport numpy as np\n"
        "line = cg.models.Normal(mean=lambda x: 2.0 * x['income'], std=1.0)\n"
        "bound = cg.from_scores(np.zeros(90))\n"
    )
    table("t.parquet")
    words = ["check", "t.parquet", "--x", "income", "--y", "food"]
    assert main([*words, "--score", "score"]) == 0
    assert quick.calls[0]["model"].names == ("score",)
    assert main([*words, "--model", "mine_streamed:line"]) == 0
    call = quick.calls[1]
    rows = call["x"].sample(call["x"].block_range(0, 90))
    np.testing.assert_allclose(
        np.ravel(call["model"](rows.x_given).score(rows.y)), columns["mu"] - columns["food"]
    )
    assert main([*words, "--model", "mine_streamed:bound"]) == 0
    income = columns["income"].tolist()
    income[2] = None
    table("t.parquet", income=income)
    assert main([*words, "--model", "mine_streamed:bound", "--drop-nulls"]) == 0
    assert quick.calls[3]["model"].rows == 89


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_text_and_dates_of_x(name, table, columns, capsys, stream):
    """Streamed as they are read whole, in words and numbers, and with rows left out."""
    day = np.datetime64("2024-02-20") + np.arange(90) % 40
    town = columns["town"].tolist()
    town[7] = None
    food = columns["food"] + 2.0 * (columns["town"] == "Oslo")
    words = [
        table(name, town=town, day=day, food=food),
        *ROLES,
        "--x",
        "town,day",
        "--drop-nulls",
    ]
    whole = result(capsys, *words, "--by", "town")
    stream()
    streamed = result(capsys, *words, "--by", "town")
    assert (whole["data"]["streamed"], streamed["data"]["streamed"]) == (False, True)
    assert "town = Oslo" in whole["words"]
    for key in ("words", "overall", "slices", "groups"):
        assert streamed[key] == whole[key]
    assert streamed["data"]["dropped_by_column"] == {"town": 1}
    assert main(["check", *words, "--slice", "day < '2024-03-01'"]) == 0
    assert "day < '2024-03-01'" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_dates_in_a_zone_are_said_to_be_in_utc(name, table, columns, capsys, stream):
    moments = np.datetime64("2024-02-20T00:30", "us") + np.arange(90) % 40 * np.timedelta64(
        1, "D"
    )
    day = pa.array(moments, pa.timestamp("us", "Europe/Oslo"))
    food = (columns["food"] + 2.0 * (np.arange(90) % 40 > 20)).tolist()
    for lost in (None, 7):  # with rows left out, the others are copied
        food = [None if i == lost else value for i, value in enumerate(food)]
        words = [table(name, day=day, food=food), *ROLES, "--x", "day", "--drop-nulls"]
        for limit in (2**40, 0):
            stream(limit)
            assert "day" in result(capsys, *words)["words"]


def test_codes_and_text_among_numbers(table, columns, small, capsys):
    code = [str(i % 7) for i in range(90)]
    words = [table(code=code), *ROLES, "--x", "code", "--categorical", "code"]
    assert result(capsys, *words)["data"]["streamed"]
    code[80] = "lots"
    table(code=code)
    assert main(["check", "t.csv", *ROLES, "--x", "code"]) == 2
    assert (
        "Column 'code' of t.csv is text, and holds 'lots' (text among numbers) in row 80"
        in capsys.readouterr().err
    )


def test_groups_stream(table, capsys, stream):
    words = [table(), *ROLES, "--groups", "town"]
    whole = result(capsys, *words)
    stream()
    streamed = result(capsys, *words)
    assert streamed["data"]["streamed"]
    assert streamed["result"]["pvalue"] == whole["result"]["pvalue"]


def test_what_cannot_be_streamed_is_read_into_memory_and_said(table, small, quick, capsys):
    words = ["check", table(died=np.ones(90)), *ROLES, "--event", "died"]
    assert main(words) == 0
    assert "because --event cannot be streamed" in capsys.readouterr().err
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
