"""Help, usage errors, and a command line without its packages."""

import re
import sys

import pytest

from condgof.cli import main
from condgof.study import PROBLEMS

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
    examples = re.findall(
        rf"condgof {' '.join(command)} [^│]*--[^│]*", text.partition("Example")[2]
    )
    assert examples
    assert ("--report" if command == ["check"] else "--out") in text


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--help"], ["check", "compare", "rank", "watch", "demo", "study", "paper"]),
        (["paper", "--help"], ["power", "criterion"]),
    ],
)
def test_groups_list_their_commands(words, names, capsys):
    assert main(words) == 0
    text = capsys.readouterr().out
    for name in names:
        assert name in text


@pytest.mark.parametrize(
    "words", [[], ["wrong"], ["[bold]wrong"], ["paper"], ["demo", "--wrong"]]
)
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


def test_the_example_problems_exist():
    assert {"qgm", "hgm"} <= set(PROBLEMS)


def test_on_a_terminal_there_is_a_bar_with_the_time_left(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    options = ["--method", "zheng", "--n", "20", "--trials", "3", "--workers", "1"]
    assert main(["study", "--problem", "qgm", *options, "--out", str(tmp_path)]) == 0
    assert re.search(r"trials: .*\d/3 \[\d\d:\d\d<", capsys.readouterr().err)
