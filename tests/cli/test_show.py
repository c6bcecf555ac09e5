"""What `condgof check` shows on a terminal: readable at 80 columns, safe whatever columns are called."""

import io
import re
from contextlib import redirect_stdout

import numpy as np
import pytest

from condgof.cli import main
from condgof.cli._output import show_check
from condgof.report import terminal
from condgof.report._page import advices
from report.made import made

ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]
MADE = made()
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
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as out:
        patch.setenv("COLUMNS", str(width))
        show_check(check, dict(facts))
    return out.getvalue()


@pytest.mark.parametrize("case", MADE)
@pytest.mark.parametrize("width", [60, 80])
def test_no_line_is_too_long_and_nothing_steers_the_terminal(case, width):
    text = shown(MADE[case], {"data": "t.csv: 3 rows"}, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", text)
    assert not re.search(r" $", text, re.MULTILINE), "nothing to trim in a pipe"


@pytest.mark.parametrize("case", ["continuous", "good", "classes", "few groups"])
def test_it_has_the_words_of_the_check(case):
    """All of them, in the order in which `str` has them."""
    check = MADE[case]
    own = " ".join(str(check).split())
    assert " ".join(shown(check).split()).partition(" to try ")[0] == own
    assert check.words in own
    assert all(one.message in own for one in check.slices)
    with_facts = " ".join(shown(check, {"data": "t.csv: 3 rows"}).split())
    assert "data t.csv: 3 rows verdict" in with_facts


@pytest.mark.parametrize("case", MADE)
def test_what_to_try_as_the_page_has_it(case):
    """At most three lines, and none where the model is not rejected."""
    tried = " ".join(shown(MADE[case]).split()).partition(" to try ")[2]
    assert tried == " ".join(advice for advice, _ in advices(MADE[case])[:3])
    assert MADE[case].rejected or not tried
    assert case != "continuous" or tried


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name, table, columns, capsys):
    """Markup and escape codes in names are shown as they are, or as escapes; line ends are spaces."""
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
