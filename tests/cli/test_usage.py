"""Help, usage errors, and a command line without its packages."""

import re
import sys

import pytest

from condgof.cli import main

COMMANDS = [
    ["check"],
    ["demo"],
    ["study"],
    ["paper", "power"],
    ["paper", "criterion"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_command_has_help_with_an_example_that_parses(command, flag, capsys):
    assert main([*command, flag]) == 0
    text = " ".join(capsys.readouterr().out.split())
    examples = re.findall(rf"condgof {' '.join(command)} [^│]*--[^│]*", text.partition("Example")[2])
    assert examples
    assert ("--report" if command == ["check"] else "--out") in text


@pytest.mark.parametrize("words", [["--help"], ["paper", "--help"]])
def test_groups_list_their_commands(words, capsys):
    assert main(words) == 0
    text = capsys.readouterr().out
    for name in ("check", "demo", "study", "paper") if len(words) == 1 else ("power", "criterion"):
        assert name in text


@pytest.mark.parametrize("words", [[], ["wrong"], ["[bold]wrong"], ["paper"], ["demo", "--wrong"]])
def test_wrong_usage_exits_2(words, capsys):
    assert main(words) == 2
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert "Usage" in printed.err + printed.out
    if words and words[-1].endswith("wrong"):
        assert words[-1] in printed.err


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_packages_the_extra_is_named(package, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["check", "table.csv"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("condgof: ")
    assert error.count("\n") == 1
    assert "pip install 'condgof[cli]'" in error


def test_the_example_problems_and_methods_exist():
    from condgof.study import PROBLEMS
    from condgof.study._names import METHODS

    assert {"qgm", "hgm"} <= set(PROBLEMS)
    assert {"adaptive", "kcsd"} <= set(METHODS)


def test_the_bar_shows_where_it_is(monkeypatch, capsys):
    from condgof.cli import _study

    with _study.progress_bar() as show:
        monkeypatch.setattr(_study, "EVERY", 0.0)
        for done in (2, 3, 10):
            show(done, 10)
    error = capsys.readouterr().err
    assert "2 of 10 trials are there already" in error
    assert re.search(r"3 of 10 trials, about \d+ s left", error)


def test_on_a_terminal_there_is_a_bar(monkeypatch, capsys):
    from condgof.cli import _study

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    with _study.progress_bar() as show:
        show(0, 10)
        show(10, 10)
    assert "10/10" in capsys.readouterr().err
