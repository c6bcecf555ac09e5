"""A check on the terminal: its text, in colour or without, as wide as the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.text import Text

from condgof.check import Check
from condgof.check._size import WORSE
from condgof.check._text import Line, lines_of, title_of
from condgof.report import terminal

#: Lines longer than this are hard to read; labels take so many letters, and the text at least so many.
WIDEST, LABEL, LEAST = 100, 11, 20
#: What begins after an empty line.
APART = ("verdict", "all rows", "where", "groups", "note")


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `main`: Rich would exit with 1, which says that the model is rejected."""
        raise BrokenPipeError


def console() -> Console:
    """Return the console for results: standard output, without any markup or highlighting."""
    found = _Screen(file=sys.stdout, markup=False, emoji=False, highlight=False)
    if found.width > WIDEST:
        found.width = WIDEST
    return found


def show_check(
    screen: Console, check: Check, facts: Mapping[str, str] | None = None, order: str = "certain"
) -> None:
    """Print a check, with facts (label to text) on where it comes from."""
    known = [Line(head, "", text) for head, text in (facts or {}).items()]
    before = ""
    for row in _wrapped(screen, Text(terminal(title_of(check)), style="bold"), 0):
        screen.print(row, soft_wrap=True)
    for line in [*known, *lines_of(check, order)]:
        head = line.head if line.head != before else ""
        if head and before and head in APART:
            screen.print()
        text = Text(terminal(line.lead), style=_style(line, check))
        text.append(terminal(line.rest), style="not bold")
        for row in _wrapped(screen, text, LABEL):
            label = f"  {head:{LABEL - 2}}"
            screen.print(Text.assemble((label, "dim"), row), soft_wrap=True)
            head = ""
        before = line.head


def _wrapped(screen: Console, text: Text, indent: int) -> Iterator[Text]:
    """Break a paragraph into lines, with no spaces at their ends."""
    for row in text.wrap(screen, max(screen.width - indent, LEAST), overflow="fold"):
        row.rstrip()
        yield row


def _style(line: Line, check: Check) -> str:
    """Bold is what leads; red is bad. No green: no evidence does not make a model right."""
    bad = check.tolerance is not None and check.tolerance.verdict == WORSE
    red = (line.head == "verdict" and check.rejected) or (line.head == "allowed" and bad)
    return "bold red" if red else "bold"
