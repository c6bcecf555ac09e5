"""Numbers and dates that are written as text, which must not become categories."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from condgof.errors import shown

#: What each form of a number as text is called in messages, with the pattern of a value
#: that has the form. The first form that fits counts.
FORMS: dict[str, re.Pattern[str]] = {
    "a number": re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"),
    "a number with separators of thousands": re.compile(
        r"[+-]?[1-9]\d{0,2}(([,'’\u00a0\u202f ])\d{3})(\2\d{3})*(\.\d+)?"
        r"|[+-]?\d{1,3}(\.\d{3})+,\d+|[+-]?\d{1,3}(\.\d{3}){2,}"
    ),
    "a number with a decimal comma": re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?"),
    "a percentage": re.compile(r"[+-]?\d*[.,]?\d+\s?[%‰]"),
    "an amount of money": re.compile(
        r"[+-]?[$€£¥]\s?[+-]?\d[\d.,'’\u00a0\u202f ]*"
        r"|[+-]?\d[\d.,'’\u00a0\u202f ]*\s?[$€£¥]"
    ),
    "a date": re.compile(
        r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
        r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
    ),
}
PLAIN_NUMBER = "a number"
DECIMAL_COMMA = "a number with a decimal comma"
A_DATE = "a date"
#: What a value that is no number is called, in a column whose other values are numbers.
A_WORD = "text among numbers"
#: What makes numbers or dates of a column {} of pandas, by the form of its values.
REMEDIES = {
    PLAIN_NUMBER: "{}.astype(float)",
    "a number with separators of thousands": (
        "{}.str.replace(',', '').astype(float), or read with thousands=','"
    ),
    DECIMAL_COMMA: "{}.str.replace(',', '.').astype(float), or read with decimal=','",
    "a percentage": "{}.str.rstrip('% ').astype(float)",
    "an amount of money": "{}.str.replace('[^0-9.-]', '', regex=True).astype(float)",
    A_DATE: "pandas.to_datetime({})",
    A_WORD: "pandas.to_numeric({}, errors='coerce') (the word becomes a missing value)",
}
#: A number that begins like this is a code, such as a postcode: 02139.
LEADING_ZERO = re.compile(r"0\d")


class NumberText(NamedTuple):
    """A value by which a column of text was found to hold numbers or dates."""

    value: str
    #: What the value is, such as "a number with a decimal comma"; "text among numbers" for
    #: a word in a column whose other values are numbers.
    what: str

    @classmethod
    def from_value(cls, value: str) -> NumberText:
        return cls(value, form_of(value) or A_WORD)

    @property
    def words(self) -> str:
        """The value in quotes, cut where it is long, and what it is."""
        return f"{shown(self.value)} ({self.what})"

    @property
    def has_decimal_comma(self) -> bool:
        return self.what == DECIMAL_COMMA

    @property
    def remedy(self) -> str:
        """What makes numbers or dates of a column, written {} here."""
        return REMEDIES[self.what]


def form_of(value: str) -> str | None:
    """Return the form of a number or date that a value is written in, or None."""
    text = value.strip()
    for what, pattern in FORMS.items():
        if pattern.fullmatch(text):
            return what
    return None


def number_texts(levels: Collection[str]) -> tuple[str, ...]:
    """Return values by which a column of text turns out to hold numbers or dates.

    A column does if most of its different values are written as numbers or dates. Values
    such as "02139", numbers with a leading zero, make a column of codes, which are text.

    Parameters
    ----------
    levels : collection of str
        The different values of the column.

    Returns
    -------
    tuple of str
        Those values that are no plain numbers, where most are plain numbers; otherwise
        those that are numbers or dates. () for a column of text.

    Examples
    --------
    >>> number_texts(["12", "15", "unknown"])
    ('unknown',)
    >>> number_texts(["1,5", "2,5"])
    ('1,5', '2,5')
    >>> number_texts(["Oslo", "Rome"])
    ()
    """
    if any(LEADING_ZERO.match(level.strip()) and not _is_date(level) for level in levels):
        return ()
    forms = {level: form_of(level) for level in levels}
    written = tuple(level for level, form in forms.items() if form is not None)
    if 2 * len(written) <= len(forms):
        return ()
    plain = [level for level in written if forms[level] == PLAIN_NUMBER]
    odd = tuple(level for level in forms if forms[level] != PLAIN_NUMBER)
    if odd and 2 * len(plain) > len(forms):
        return odd
    # "1,250" alone may be a number of thousands; beside "1,5" it is none.
    commas = tuple(level for level in written if forms[level] == DECIMAL_COMMA)
    return commas or written


def _is_date(value: str) -> bool:
    return form_of(value) == A_DATE
