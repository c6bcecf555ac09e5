"""Lines of a terminal: paragraphs and tables, made of spans that have roles.

A line is a tuple of spans. What a role looks like is up to the terminal.
"""

from __future__ import annotations

import enum
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

#: The first column of a table has this many characters, or as many as its longest name;
#: where the others leave less, they stand on a line of their own.
LEAST_NAME = 24
#: Most characters of the first column.
MOST_NAME = 52
#: Characters that would break a line.
LINE_BREAKS = str.maketrans(dict.fromkeys("\t\n\r\x0b\x0c\x1c\x1d\x1e\x85", " "))


class Role(enum.Enum):
    """What a span is, by which a terminal colours it."""

    PLAIN = "plain"
    HEADING = "heading"
    BAD = "bad"  #: The verdict where the model is rejected.
    WEAK = "weak"  #: The verdict, or a note, that asks for care.
    GOOD = "good"  #: The verdict where no misfit was found.
    STRONG = "strong"  #: The headline.
    DIM = "dim"  #: Intervals, and what is read last.


class Span(NamedTuple):
    """Text of one role."""

    text: str
    role: Role = Role.PLAIN


#: A line of a terminal.
Line: TypeAlias = tuple[Span, ...]


def line_text(line: Line) -> str:
    """Return the text of a line, without spaces at its end."""
    return "".join(span.text for span in line).rstrip()


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    width = 0
    for character in text:
        if unicodedata.combining(character):
            continue
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


def _wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` columns, between words."""
    wrapper = textwrap.TextWrapper(
        max(width, 1), break_long_words=False, break_on_hyphens=False
    )
    return wrapper.wrap(text)


def paragraph(
    text: str, width: int, *, before: str = "", role: Role = Role.PLAIN
) -> list[Line]:
    """Return a text as lines: `before` starts the first, the others are as far in."""
    lines: list[Line] = []
    for part in _wrapped(text, width - display_width(before)):
        start = " " * display_width(before) if lines else before
        lines.append((Span(f"{start}{part}", role),))
    return lines


class Column(NamedTuple):
    """A column of a table after the first."""

    name: str
    align: str = "<"  #: "<" or ">".


def table_lines(
    heading: str, columns: Sequence[Column], rows: Sequence[Sequence[Span]], width: int
) -> list[Line]:
    """Return a table, whose first column is under its heading and takes the space left.

    Names that are longer than that space go on in the next line. Where too little is left
    (see `LEAST_NAME`), the other cells stand on a line of their own under the name.

    Parameters
    ----------
    heading : str
        The head of the first column.
    columns : sequence of Column
        The k columns after the first.
    rows : sequence of k + 1 spans each
        The cells.
    width : int
        Most columns of a line.
    """
    if not rows:
        return []
    cells = [[_cell(span) for span in row] for row in rows]
    widths = [
        max(display_width(text) for text in (column.name, *(row[k].text for row in cells)))
        for k, column in enumerate(columns, 1)
    ]
    taken = sum(widths) + 2 * len(widths)
    longest = max(display_width(row[0].text) for row in cells)
    name_width = min(max(longest, display_width(heading), LEAST_NAME), MOST_NAME)
    name_width = min(name_width, width - 2 - taken)
    heads = [Span(column.name, Role.DIM) for column in columns]
    if name_width < min(LEAST_NAME, max(longest, display_width(heading))):
        return _stacked_lines(heading, columns, cells, widths, width)
    head = Span(padded(heading, name_width + 2, "<"), Role.HEADING)
    lines: list[Line] = [(head, *_aligned(heads, columns, widths))]
    for row in cells:
        first, *more = _wrapped(row[0].text, name_width) or [""]
        name = Span(f"  {padded(first, name_width, '<')}", row[0].role)
        lines.append((name, *_aligned(row[1:], columns, widths)))
        lines += [(Span(f"    {part}", row[0].role),) for part in more]
    return lines


def _cell(span: Span) -> Span:
    """Return a cell in which nothing breaks the line."""
    return Span(span.text.translate(LINE_BREAKS), span.role)


def _stacked_lines(
    heading: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Span]],
    widths: Sequence[int],
    width: int,
) -> list[Line]:
    """Return a table whose numbers are on a line of their own, under each name."""
    lines: list[Line] = [(Span(heading, Role.HEADING),)]
    for name, *cells in rows:
        lines += paragraph(name.text, width, before="  ", role=name.role)
        named = [
            Span(f"{column.name} {cell.text}", cell.role)
            for column, cell in zip(columns, cells, strict=True)
            if cell.text
        ]
        lines += _flowing(named, width)
    return lines


def _flowing(spans: Iterable[Span], width: int) -> list[Line]:
    """Return spans one after the other, on as many lines as they need."""
    lines: list[Line] = []
    line: list[Span] = []
    used = 0
    for span in spans:
        needed = display_width(span.text) + 2
        if line and used + needed > width - 4:
            lines.append(tuple(line))
            line = []
            used = 0
        before = "  " if line else "    "
        line.append(Span(f"{before}{span.text}", span.role))
        used += needed
    return [*lines, tuple(line)] if line else lines


def _aligned(
    spans: Sequence[Span], columns: Sequence[Column], widths: Sequence[int]
) -> Iterator[Span]:
    for span, column, width in zip(spans, columns, widths, strict=True):
        yield Span(f"  {padded(span.text, width, column.align)}", span.role)


def padded(text: str, width: int, align: str) -> str:
    """Return a text with spaces after it ("<") or before it (">") up to `width`."""
    spaces = " " * max(width - display_width(text), 0)
    return f"{text}{spaces}" if align == "<" else f"{spaces}{text}"
