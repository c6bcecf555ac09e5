"""What `condgof check` shows on a terminal: readable at 80 columns, safe whatever columns are called."""

import io
import re
import sys

import numpy as np
import pytest
from rich.console import Console

from condgof.cli import main
from condgof.cli.check._show import console, headline, show_check
from condgof.report import terminal
from made_checks import hard_checks, make_check

ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]
HOSTILE = [
    "[/]",
    "[bold]x[/bold]",
    "\x1b[31mred\x1b[0m",
    "a\nb\tc",
    "\u202egnp.exe",
    "<b>&",
    "$x$",
    "-x",
    ":smile:",
]


def shown(check, facts=(), width=80):
    screen = Console(file=io.StringIO(), width=width, color_system=None, markup=False, emoji=False)
    screen.print(show_check(check, dict(facts)))
    return screen.file.getvalue()


@pytest.mark.parametrize("case", hard_checks())
@pytest.mark.parametrize("width", [40, 80])
def test_no_line_is_too_long_and_nothing_steers_the_terminal(case, width):
    text = shown(hard_checks()[case], {"data": "t.csv: 3 rows"}, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", text)


def test_what_a_person_reads():
    text = " ".join(shown(make_check()).split())
    assert "Evidence against the model at the 5% level (p = 0.0" in text
    assert "As large as a constant shift of 0.21 model standard deviations" in text
    assert "With 1,000 rows this check finds a constant shift" in text
    assert "1. income between" in text
    assert "the model is too narrow" in text
    assert "3. income" not in text, "only places that are evidence"
    assert "note a constant column was left out: year" in text


def test_no_evidence_names_no_place():
    text = shown(make_check(bad=False))
    assert "No evidence against the model at the 5% level" in text
    assert "Where" not in text


def test_evidence_without_a_place():
    text = shown(make_check(locations=0))
    assert "No single place stands out" in text


def test_the_level_is_that_of_the_check():
    from dataclasses import replace

    assert "at the 0.1% level" in headline(replace(make_check(), alpha=0.001))
    assert headline(replace(make_check(), alpha=0.001)).startswith("No evidence")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name, table, columns, capsys):
    """Markup, escape codes and line ends in names and levels are shown as they are, or as escapes."""
    levels = np.where(columns["income"] > 2, name, "other")
    wrong = {"food": 3.0 * columns["food"] + 5.0}
    table("t.parquet", **{name: columns["income"], "levels": levels}, **wrong)
    words = ["check", "t.parquet", "--x", name, "--x", "levels", *ROLES[2:]]
    words = [f"--x={name}" if i == 3 else word for i, word in enumerate(words) if i != 2]
    assert main([*words, "--report", "r.html"]) == 0
    text = capsys.readouterr().out
    assert terminal(name) in " ".join(text.split()) or len(name) > 40
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert main([*words, "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_hostile_names_in_messages(table, capsys):
    table("t.parquet", **{"\x1b2J[/]": [1.0] * 90})
    assert main(["check", "t.parquet", "--x", "\x1b2J[/", *ROLES[2:]]) == 2
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert "[/]" in error
    assert main(["check", "\x1b[2J[red].csv", *ROLES]) == 2
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert "[red]" in error


def test_pipes_and_no_color_get_no_codes(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    console().print(show_check(make_check(), {}))
    assert "\x1b" not in sys.stdout.getvalue()

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stdout", Terminal())
    console().print(show_check(make_check(), {}))
    assert "\x1b[1;31m" in sys.stdout.getvalue(), "bold red"
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", Terminal())
    console().print(show_check(make_check(), {}))
    text = sys.stdout.getvalue()
    assert "31m" not in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(len(line) for line in plain.splitlines()) <= 100, "lines stay readable"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a b", "a b"), ("a\nb", "a\\nb"), ("\x9b31m", "\\x9b31m"), ("Größe 中", "Größe 中")],
)
def test_the_filter(text, expected):
    assert terminal(text) == expected
