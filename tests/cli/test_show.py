"""What `condgof check` prints: readable at 80 columns, safe whatever columns are called."""

import re
import shlex
import sys

import numpy as np
import pytest

from condgof.check import WIDTH, Role, Span
from condgof.cli import main
from condgof.cli._output import styled
from condgof.report import terminal
from report.samples import checks

ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]
MADE = checks()
HOSTILE = [
    "[/]",
    "[bold]x[/bold]",
    "\x1b[31mred\x1b[0m",
    "a\nb\tc",
    *shlex.split("‮gnp.exe <b>& $x$ -x :smile:"),
]


@pytest.fixture
def show(table, replace_check, monkeypatch, capsys):
    """Return what `condgof check` prints of a check, on a terminal of some width."""

    def run(check, width=80):
        monkeypatch.setenv("COLUMNS", str(width))
        replace_check(lambda *_, **__: check)
        assert main(["check", table(), *ROLES]) == 0
        return capsys.readouterr().out

    return run


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("case", MADE)
@pytest.mark.parametrize("width", [60, 80])
def test_no_line_is_too_long_and_nothing_steers_the_terminal(case, width, show):
    text = show(MADE[case], width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", text)
    assert not re.search(r" $", text, re.MULTILINE), "nothing to trim in a pipe"


@pytest.mark.parametrize("case", ["continuous", "good", "classes", "few groups"])
def test_it_is_what_str_gives_with_the_name_of_the_table(case, show):
    check = MADE[case]
    text = flat(show(check, width=WIDTH))
    assert " · t.csv · " in text
    assert text.replace(" · t.csv · ", " · ") == flat(str(check))


@pytest.mark.parametrize("case", MADE)
def test_colour_is_for_terminals_and_changes_no_text(case, show, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    plain = show(MADE[case])
    assert "\x1b" not in plain, "what is piped is plain"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    coloured = show(MADE[case])
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    colour = "31" if MADE[case].pvalue <= 0.01 else "33" if MADE[case].rejected else "32"
    assert re.search(rf"\x1b\[(1;)?{colour}m[✗⚠✓]", coloured)
    monkeypatch.setenv("NO_COLOR", "1")
    assert show(MADE[case]) == plain
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert show(MADE[case]) == plain


def test_names_cannot_steer_a_terminal_in_colour():
    line = (Span("a\x1b[2Jb", Role.BAD), Span("  "), Span("[1, 2]", Role.DIM))
    assert styled(line, colour=True) == (
        "\x1b[1;31ma\\x1b[2Jb\x1b[0m  \x1b[2m[1, 2]\x1b[0m"
    )
    assert styled(line, colour=False) == "a\\x1b[2Jb  [1, 2]"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name, table, columns, capsys):
    """Markup and codes in names are shown as they are, or escaped; line ends are spaces."""
    levels = np.where(columns["income"] > 2, name, "other")
    wrong = {"food": 3.0 * columns["food"] + 5.0}
    table("t.parquet", **{name: columns["income"], "levels": levels}, **wrong)
    words = ["check", "t.parquet", "--x", name, "--x", "levels", *ROLES[2:]]
    words = [f"--x={name}" if i == 3 else word for i, word in enumerate(words) if i != 2]
    assert main([*words, "--report", "r.html"]) == 0
    text = capsys.readouterr().out
    assert terminal(" ".join(name.split())) in " ".join(text.split())
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a b", "a b"), ("a\nb", "a\\nb"), ("\x9b31m", "\\x9b31m"), ("Größe 中", "Größe 中")],
)
def test_the_filter(text, expected):
    assert terminal(text) == expected
