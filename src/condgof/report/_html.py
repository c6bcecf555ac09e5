"""Pieces of HTML: tables, figures, what can be folded away. Text is escaped unless it is `Safe`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from condgof.report._escape import html


class Safe(str):
    """HTML that was made here, and is not escaped again."""

    __slots__ = ()


def cell(value: object) -> str:
    """Escape what is not `Safe`."""
    return value if isinstance(value, Safe) else html(value)


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numeric: Sequence[int] = (),
    kind: str = "",
    kinds: Sequence[str] = (),
) -> str:
    """Return a table in a box that scrolls sideways where it must; the first cell of a row heads it.

    Parameters
    ----------
    caption : str
        What it shows.
    header : sequence of str
        Names of the columns.
    rows : iterable of sequences
        The cells.
    numeric : sequence of int
        Columns that are set to the right.
    kind : str
        Class of the table.
    kinds : sequence of str
        Class of each row, if any has one.
    """
    head = "".join(
        f'<th scope="col"{_n(i in numeric)}>{cell(name)}</th>' for i, name in enumerate(header)
    )
    body = []
    for number, row in enumerate(rows):
        first, *rest = row
        cells = "".join(f"<td{_n(i in numeric)}>{cell(value)}</td>" for i, value in enumerate(rest, 1))
        row_kind = f' class="{kinds[number]}"' if number < len(kinds) and kinds[number] else ""
        body.append(f'<tr{row_kind}><th scope="row"{_n(0 in numeric)}>{cell(first)}</th>{cells}</tr>')
    name = f' class="{kind}"' if kind else ""
    return (
        f'<div class="wide"><table{name}><caption>{cell(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _n(numeric: bool) -> str:
    return ' class="n"' if numeric else ""


def folded(summary: str, body: str) -> str:
    """Return something that opens when its summary is clicked."""
    return f"<details><summary>{cell(summary)}</summary>{body}</details>"


def paragraph(text: object, kind: str = "") -> str:
    """Return a paragraph."""
    return f"<p{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{cell(text)}</p>"


def bullets(items: Iterable[object]) -> str:
    """Return a list, or nothing for no items."""
    inside = "".join(f"<li>{cell(item)}</li>" for item in items)
    return f"<ul>{inside}</ul>" if inside else ""
