"""Text in CSV files: spreadsheets run what looks like a formula."""

from __future__ import annotations

#: What a spreadsheet takes for the start of a formula, also in its wide form.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_cell(value: object) -> object:
    """Keep a spreadsheet from running text: what looks like a formula gets an apostrophe in front.

    Numbers stay numbers.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell(-1.5)
    ("'=1+1", -1.5)
    """
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.startswith(_FORMULA) or value.lstrip(" ").startswith(_FORMULA) else value
