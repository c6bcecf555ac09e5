"""What goes wrong says so in one line on standard error, and exits with 2."""

import errno
import io
import sys
from pathlib import Path

import numpy as np
import pytest

from condgof.cli import main

ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]
HEAD = "income,food,mu,sd\n"
ROWS = "".join(f"{i % 7},{i % 5},1,1\n" for i in range(40))


def refused(capsys, *words):
    """Run, and return the one line."""
    assert main(["check", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("condgof: ")
    assert printed.err.endswith("\n")
    assert printed.err.count("\n") == 1
    assert "Traceback" not in printed.err
    return printed.err


FILES = {
    "missing file": (None, "No file matches 't.csv'"),
    "empty file": ("", "t.csv is empty"),
    "blank file": ("\n\n", "t.csv is empty"),
    "header only": (HEAD, "t.csv has 0 rows, and a check needs at least 3"),
    "one row": (HEAD + "1,2,3,4\n", "t.csv has 1 row, and a check needs at least 3"),
    "text in y": (
        HEAD + ROWS + "1,many,1,1\n",
        "'food' of t.csv holds 'many', which is not a number, in",
    ),
    "text in x": (
        HEAD + ROWS + "lots,1,1,1\n",
        "Column 'income' of t.csv is text, and holds 'lots' (text among numbers) in row 40",
    ),
    "text in std": (HEAD + ROWS + "1,1,1,?\n", "Column 'sd' of t.csv holds '?'"),
    "negative std": (
        HEAD + ROWS + "1,1,1,-2\n1,1,1,-3\n",
        "std must be positive, and is not in 2 of 42 rows, the first in row 40",
    ),
    "zero std": (
        HEAD + ROWS + "1,1,1,0\n",
        "and is not in 1 of 41 rows, the first in row 40",
    ),
    "nulls": (HEAD + ROWS + ",1,,1\n", "missing values in 1 row (income 1, mu 1) of 41"),
    "infinite": (
        HEAD + ROWS + "inf,1,1,1\n-inf,1,1,1\n",
        "x column 'income' has NaN or infinite values in 2 of 42 rows, the first in row 40",
    ),
    "rows of several lengths": (
        HEAD + ROWS + "1,2,3\n",
        "Expected 4 columns, got 3",
    ),
    "wrong column": (
        "incomes,food,mu,sd\n" + ROWS,
        "--x: t.csv has no column 'income'. Did you mean 'incomes'?",
    ),
    "constant x": (
        HEAD + "".join(f"1,{i},1,1\n" for i in range(9)),
        "Every column of x is constant",
    ),
    "constant y": (HEAD + "".join(f"{i},1,1,1\n" for i in range(9)), "y is constant"),
    "another separator": (
        HEAD.replace(",", "~") + "1~2~3~4\n",
        "Its columns are 'income~food~mu~sd'",
    ),
    "not UTF-8": ("größe,food,mu,sd\n".encode("latin-1"), "t.csv is not text in UTF-8"),
}


@pytest.mark.parametrize("case", FILES)
def test_tables(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    content, message = FILES[case]
    if content is not None:
        Path("t.csv").write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )
    assert message in refused(capsys, "t.csv", *ROLES)


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_files_that_are_something_else(ending, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path(f"t.{ending}").write_text("no table at all")
    assert f"t.{ending} cannot be read as {ending.capitalize()}" in refused(
        capsys, f"t.{ending}", *ROLES
    )
    Path("t.xlsx").write_text("")
    assert "ending '.xlsx'" in refused(capsys, "t.xlsx", *ROLES)


USES = {
    "mean without std": (ROLES[:6], "--mean without --std"),
    "std without mean": (ROLES[:4] + ROLES[6:], "--std without --mean"),
    "no model": (ROLES[:4], "There is no model"),
    "two models": ([*ROLES, "--score", "score"], "--mean and --std with --score"),
    "y in x": ([*ROLES, "--x", "food"], "Column 'food' is in --y and in --x"),
    "y twice": ([*ROLES, "--y", "food"], "--y names 'food' twice"),
    "wrong group": ([*ROLES, "--by", "twon"], "Did you mean 'town'"),
    "alpha": ([*ROLES, "--alpha", "5"], "alpha must be between 0 and 1"),
    "alpha below all p-values": (
        [*ROLES, "--alpha", "5e-4"],
        "Take --alpha 0.001 or larger",
    ),
    "alpha nan": ([*ROLES, "--alpha", "nan"], "alpha must be between 0 and 1"),
    "tolerance": ([*ROLES, "--tolerance", "0"], "tolerance must be a positive number"),
    "tolerance with a unit": (
        [*ROLES, "--tolerance", "0 size"],
        "tolerance must be a positive number of at most 10 with its unit",
    ),
    "tolerance nan": (
        [*ROLES, "--tolerance", "nan"],
        "tolerance must be a positive number",
    ),
    "slice": (
        [*ROLES, "--slice", "income <"],
        "a number or a text in quotes is expected at character 9, not the end",
    ),
    "slice's column": (
        [*ROLES, "--slice", "age < 3"],
        "asked of x and what is predicted, income, predicted",
    ),
    "no row": ([*ROLES, "--slice", "income < -9"], "No row is in the slice 'income < -9'"),
    "group of y": ([*ROLES, "--by", "food"], "Column 'food' is in --y and in --by"),
    "folder": ([*ROLES, "--report", "none/r.html"], "there is no folder none"),
    "text y": (
        ["--x", "income", "--y", "town", *ROLES[4:]],
        "Column 'town' of t.csv holds",
    ),
    "other codes": (
        [*ROLES, "--categorical", "age"],
        "--categorical: --x has no column 'age'",
    ),
}


@pytest.mark.parametrize("case", USES)
def test_options(case, table, capsys):
    words, message = USES[case]
    assert message in refused(capsys, table(), *words)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_types_that_are_no_numbers(name, table, columns, capsys):
    days = np.arange(90).astype("datetime64[D]")
    table(name, income=[[1.0]] * 90, food=columns["town"], sd2=days)
    line = refused(capsys, name, *ROLES[2:], "--x", "age")
    assert f"Column 'food' of {name} holds text, not numbers" in line
    line = refused(
        capsys, name, "--x", "income", "--y", "drink", "--mean", "mu", "--std", "sd"
    )
    assert f"Column 'income' of {name} holds values of type list<" in line
    line = refused(capsys, name, "--x", "income", "--categorical", "income", *ROLES[2:])
    assert name in line
    line = refused(
        capsys, name, "--x", "age", "--y", "drink", "--mean", "mu", "--std", "sd2"
    )
    assert (
        f"Column 'sd2' of {name} holds values of type date32[day], not numbers. Name a"
        " column" in line
    )


def test_parts_with_other_columns_or_formats(table, tmp_path, capsys):
    Path("parts").mkdir()
    table("parts/a.parquet")
    table("parts/b.csv")
    assert "several formats" in refused(capsys, "parts", *ROLES)
    Path("parts/b.csv").unlink()
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"income": [1.0]}), "parts/b.parquet")
    assert "b.parquet has no column 'food', unlike" in refused(capsys, "parts", *ROLES)


def test_a_name_that_is_not_utf_8(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        Path(b"caf\xe9.csv".decode(errors="surrogateescape")).write_text(HEAD + ROWS)
    except OSError:
        pytest.skip("names are UTF-8 here")
    for data in (b"caf\xe9.csv".decode(errors="surrogateescape"), "*.csv", "."):
        assert "is not in UTF-8: rename the file first" in refused(capsys, data, *ROLES)


class Full(io.StringIO):
    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_names_what_was_being_written(table, quick, capsys, monkeypatch):
    for words in ([], ["--json"], ["--quiet"]):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", Full())
            assert main(["check", table(), *ROLES, *words]) == 2
        assert "No space left on device: 'standard output'" in capsys.readouterr().err
    monkeypatch.setattr(Path, "write_bytes", lambda *_: Full().write(""))
    assert main(["check", "t.csv", *ROLES, "--report", "r.html"]) == 2
    printed = capsys.readouterr()
    assert "MISFIT" in printed.out  # what was found is not lost
    assert "No space left on device: '" in printed.err
    assert "r.html'" in printed.err


@pytest.mark.parametrize(
    "words",
    [["check"], ["check", "t.csv"], ["check", "t.csv", "--x", "a"], ["check", "--wrong"]],
)
def test_usage(words, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "Usage: condgof check" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("option", [["--seed", "-1"], ["--threads", "0"], ["--seed", "a"]])
def test_numbers_out_of_range(option, table, capsys):
    assert main(["check", table(), *ROLES, *option]) == 2
    assert option[0] in capsys.readouterr().err


def test_rows_that_were_left_out_are_said_not_to_count(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(HEAD + ",1,1,1\n" + ROWS + "1,1,1,-2\n")
    message = refused(capsys, "t.csv", *ROLES, "--drop-nulls")
    assert "the first in row 40 (counted from 0)" in message
    assert message.endswith("Rows that were left out are not counted.\n")
