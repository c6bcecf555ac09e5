"""`condgof check`: every option, on small tables."""

import io
import json
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condgof.cli import main

ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]
SEVERAL = ["--x", "income", "--y", "food", "--y", "drink"]


def run(*words):
    return main(["check", *words])


def call_of(quick):
    """What the check was called with."""
    (call,) = quick.calls
    return call


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather", "t.arrow"])
def test_formats(name, table, columns, quick, capsys):
    assert run(table(name), *ROLES) == 0
    call = call_of(quick)
    assert call["x"].columns == ["income"]
    np.testing.assert_allclose(
        np.asarray(call["x"].get_column("income")), columns["income"]
    )
    np.testing.assert_allclose(np.asarray(call["y"]), columns["food"])
    mean, std = call["model"].mean_std()
    np.testing.assert_allclose(mean[:, 0], columns["mu"])
    np.testing.assert_allclose(std[:, 0], 1.0)
    assert f" · {name} · " in capsys.readouterr().out


def test_standard_input(table, columns, quick, capsys, monkeypatch):
    text = Path(table()).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert run("-", *ROLES) == 0
    np.testing.assert_allclose(np.asarray(call_of(quick)["y"]), columns["food"])
    assert " · standard input · " in capsys.readouterr().out


def test_a_folder_and_a_pattern(table, columns, quick, capsys):
    Path("parts").mkdir()
    table("parts/a.csv"), table("parts/b.csv")
    for data in ("parts", "parts/*.csv"):
        assert run(data, *ROLES) == 0
        assert f" · {data} · " in capsys.readouterr().out
    np.testing.assert_allclose(np.asarray(quick.calls[0]["y"]), np.tile(columns["food"], 2))


def test_defaults_and_numbers_are_passed_on(table, quick):
    names = ("alpha", "rng", "engine", "tolerance", "slices", "by")
    assert run(table(), *ROLES) == 0
    assert [quick.calls[0][k] for k in names] == [0.05, 0, None, None, (), None]
    words = ["--alpha", "0.01", "--seed", "7", "--threads", "2", "--tolerance", "0.2 size"]
    assert (
        run(table(), *ROLES, *words, "--slice", "income < 1", "--slice", "income > 3") == 0
    )
    assert [quick.calls[1][k] for k in names] == [
        0.01,
        7,
        2,
        "0.2 size",
        ("income < 1", "income > 3"),
        None,
    ]


def test_several_columns_of_y(table, columns, quick):
    assert run(table(), *SEVERAL, "--mean", "mu,mu2", "--std", "sd", "--std", "sd2") == 0
    call = call_of(quick)
    assert call["y"].columns == ["food", "drink"]
    np.testing.assert_allclose(call["model"].mean_std()[0][:, 1], columns["mu2"])


def test_scores(table, columns, quick):
    assert run(table(), *ROLES[:4], "--score", "score") == 0
    scores = call_of(quick)["model"].score(columns["food"])
    np.testing.assert_array_equal(scores, columns["score"][:, None])


def test_text_columns_and_codes_are_categories(table, columns, quick):
    codes = np.arange(90) % 3
    assert run(table(code=codes), *ROLES, "--x", "town,code", "--categorical", "code") == 0
    x = call_of(quick)["x"]
    assert x.columns == ["income", "town", "code"]
    assert x.get_column("town").dtype == x.get_column("code").dtype == object
    assert list(np.asarray(x.get_column("code"))[:4]) == ["0", "1", "2", "0"]
    assert (
        run(
            table("c.parquet", code=codes),
            *ROLES,
            *shlex.split("--x town,code --categorical code"),
        )
        == 0
    )
    assert list(np.asarray(quick.calls[1]["x"].get_column("code"))[:4]) == [
        "0",
        "1",
        "2",
        "0",
    ]


def test_leading_zeros_of_codes_are_kept(table, quick):
    codes = [f"0{i % 5}" for i in range(90)]
    assert run(table(zip=codes), *ROLES[2:], "--x", "zip", "--categorical", "zip") == 0
    assert np.asarray(call_of(quick)["x"].get_column("zip"))[1] == "01"


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_nulls(name, table, columns, quick, capsys):
    income = columns["income"].tolist()
    food = columns["food"].tolist()
    income[3] = food[3] = food[80] = None
    town = columns["town"].tolist()
    town[5] = None
    table(name, income=income, food=food, town=town)
    words = [name, *ROLES, "--x", "town"]
    assert run(*words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert (
        printed.err
        == f"condgof: {name} has missing values in 3 rows (income 1, town 1, food 2) of 90."
        " --drop-nulls leaves those rows out.\n"
    )
    assert run(*words, "--drop-nulls") == 0
    assert (
        "3 rows (income 1, town 1, food 2) with missing values left out, not counted in row"
        " numbers" in " ".join(capsys.readouterr().out.split())
    )
    call = call_of(quick)
    keep = np.setdiff1d(np.arange(90), [3, 5, 80])
    np.testing.assert_allclose(np.asarray(call["y"]), columns["food"][keep])
    np.testing.assert_allclose(call["model"].mean_std()[0][:, 0], columns["mu"][keep])


def test_nan_counts_as_missing_and_other_columns_do_not_matter(
    table, columns, quick, capsys
):
    food = columns["food"].copy()
    food[2] = np.nan
    table("t.parquet", food=food, drink=[None] * 90)
    assert run("t.parquet", *ROLES, "--drop-nulls", "--json") == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert data["dropped_rows"] == 1
    assert data["dropped_by_column"] == {"food": 1}


def test_everything_dropped(table, capsys):
    table(food=[None] * 89 + [1.0])
    assert run("t.csv", *ROLES, "--drop-nulls") == 2
    assert "has 1 row after 89 with missing values were left out" in capsys.readouterr().err


def test_quiet_is_one_line(table, quick, capsys):
    assert run(table(), *ROLES, "--quiet") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert len(printed.out.splitlines()) == 1
    assert printed.out.startswith("Misfit (p ≤ 0.001). The ")
    assert run(table(), *ROLES, "-q") == 0
    assert capsys.readouterr().out == printed.out


def test_quiet_says_once_that_nothing_was_found(table, quick, capsys):
    quick.bad = False
    assert run(table(), *ROLES, "-q") == 0
    line = capsys.readouterr().out
    assert line.startswith("No misfit found (p = ")
    assert line.count("No misfit found") == 1


def test_fail_on_reject(table, quick, capsys):
    assert run(table(), *ROLES, "--fail-on-reject") == 1
    quick.bad = False
    assert run(table(), *ROLES, "--fail-on-reject") == 0
    quick.bad = True
    assert run(table(), *ROLES) == 0
    assert run("missing.csv", *ROLES, "--fail-on-reject") == 2


def test_tolerance(table, columns, capsys):
    """What counts is whether it is worse than allowed, whether it is rejected or not."""
    food = columns["food"] + 1.0
    words = [table(food=food), *ROLES, "--fail-on-reject", "--tolerance"]
    assert run(*words, "0.3 size", "--quiet") == 1
    assert capsys.readouterr().out.startswith("Misfit (p ≤ 0.001). ")
    assert run(*words, "3 size", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rejected"] is True
    assert document["tolerance"]["allowed"] == 3
    assert document["tolerance"]["verdict"] == "good enough"
    assert run(*words, "1 size") == 0
    with_unit = capsys.readouterr()
    assert "you allow 1.00" in " ".join(with_unit.out.split())
    assert with_unit.err == ""
    assert run(*words, "1") == 0
    bare = capsys.readouterr()
    assert bare.out == with_unit.out
    assert bare.err.startswith("note: --tolerance 1 has no unit and is taken as '1 size'")


def test_verbose_adds_sentences(table, quick, ready, capsys):
    assert run(table(), *ROLES) == 0
    plain = capsys.readouterr().out
    first = ready[True].overall[0].words
    for flag in ("--verbose", "-v"):
        assert run(table(), *ROLES, flag) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert first in text
        assert first not in " ".join(plain.split())


def test_slices_that_are_named_beforehand(table, columns, capsys):
    food = columns["food"] + 3.0 * (columns["income"] > 3)
    words = [table(food=food), *ROLES, "--x", "town", "--slice", "income > 3"]
    assert run(*words, "--slice", "town == 'Oslo'", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    first, second = document["groups"]
    assert first["query"] == "income > 3"
    assert first["n"] == (columns["income"] > 3).sum()
    assert first["pvalue"] < 1e-6
    assert second["n"] == (columns["town"] == "Oslo").sum()
    assert run(*words) == 0
    groups = capsys.readouterr().out.partition("\nGROUPS ")[2]
    assert groups.splitlines()[1].startswith("  income > 3 ")


def test_slices_need_no_pandas(table, capsys, monkeypatch):
    name = table()
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert run(name, *ROLES, "--slice", "income < 2") == 0
    assert "income < 2" in capsys.readouterr().out


def test_a_group_that_is_rejected_is_enough_to_fail(table, quick, ready, capsys):
    some = replace(ready[True].slices[0], pvalue=0.01)
    ready[2] = replace(ready[False], groups=(some,))
    quick.bad = 2
    assert run(table(), *ROLES, "--fail-on-reject") == 1
    ready[2] = replace(ready[False], groups=(replace(some, pvalue=0.2),))
    assert run(table(), *ROLES, "--fail-on-reject") == 0


def test_progress_on_a_terminal(table, monkeypatch, capsys):
    """Stages are on standard error where that is a terminal, unless it is to be quiet."""
    monkeypatch.setattr("condgof.engine._progress.PATIENCE", 0.0)
    monkeypatch.setattr("condgof.engine._progress.EVERY", 0.01)
    assert run(table(), *ROLES) == 0
    plain = capsys.readouterr()
    assert plain.err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert run(table(), *ROLES, "--report", "r.html") == 0
    shown = capsys.readouterr()
    assert "verdict (2 of 6)" in shown.err
    assert shown.err.endswith(" \r")
    assert shown.out == plain.out + "→ r.html\n"
    assert run(table(), *ROLES, "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_the_report(table, quick, capsys):
    Path("new").mkdir()
    Path("new/r.html").write_text("old")
    words = [table(), *ROLES, "--report", "new/r.html"]
    assert run(*words) == 0
    page = Path("new/r.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert (
        "condgof check t.csv --x income --y food --mean mu --std sd --report new/r.html"
        in page
    )
    assert capsys.readouterr().out.endswith("\n→ new/r.html\n")


def test_a_report_that_cannot_be_written_stops_before_the_work(table, quick, capsys):
    assert run(table(), *ROLES, "--report", "no/r.html") == 2
    assert "there is no folder no" in capsys.readouterr().err
    assert quick.calls == []


def test_a_failed_check_leaves_the_old_report(table, monkeypatch, capsys):
    Path("r.html").write_text("old")
    assert run(table(food=["x"] * 90), *ROLES, "--report", "r.html") == 2
    assert Path("r.html").read_text() == "old"


def test_an_internal_error_exits_3(table, replace_check, monkeypatch, capsys):
    def broken(*_, **__):
        raise ZeroDivisionError("oops \x1b[31m")

    replace_check(broken)
    monkeypatch.delenv("CONDGOF_DEBUG", raising=False)
    assert run(table(), *ROLES) == 3
    error = capsys.readouterr().err
    assert error.startswith(
        "condgof: internal error, please report it: ZeroDivisionError: oops \\x1b[31m"
    )
    assert "CONDGOF_DEBUG=1" in error
    assert "Traceback" not in error
    monkeypatch.setenv("CONDGOF_DEBUG", "1")
    assert run(table(), *ROLES) == 3
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_goes_away(table, quick, monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

        def fileno(self):
            return handle

    handle = os.open(os.devnull, os.O_WRONLY)
    monkeypatch.setattr(sys, "stdout", Closed())
    assert run(table(), *ROLES, "--quiet") == 141
    os.close(handle)


def test_without_pyarrow_the_extra_is_named(table, capsys, monkeypatch):
    name = table()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run(name, *ROLES) == 2
    assert "pip install 'condgof[" in capsys.readouterr().err
