"""What `condgof check` prints: readable at 80 columns, safe whatever columns are called."""

import re
import shlex

import numpy as np
import pytest

from condgof.cli import main
from condgof.report import check_page, terminal
from read_page import Page
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
def test_it_has_the_words_of_the_check(case, show):
    """All of them are there, in the order of `str`, after what is known of the data."""
    check = MADE[case]
    expected = flat(str(check))
    text = flat(show(check)).partition(" to try ")[0]
    data, verdict, rest = text.partition(" verdict ")
    assert data.endswith("data t.csv: 90 rows")
    assert (
        data.removesuffix("data t.csv: 90 rows") + verdict.strip() + " " + rest == expected
    )
    assert check.words in expected
    assert all(part.message in expected for part in check.slices)


@pytest.mark.parametrize("case", MADE)
def test_what_to_try_is_what_the_page_advises(case, show):
    """There is advice only where the model is rejected."""
    check = MADE[case]
    _, _, advice = show(check, width=100).partition("\n  to try ")
    page = flat(Page(check_page(check)).text)
    assert all(flat(line) in page for line in advice.splitlines())
    assert check.rejected or not advice
    assert case != "continuous" or advice


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
