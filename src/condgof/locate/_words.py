"""Numbers and places in words that need no kernel theory."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from condgof._typing import FloatArray
from condgof.locate._record import Interval
from condgof.sample import Column, Sample

#: A range that holds this share of the rows says nothing about where.
NEARLY_ALL = 0.9
EVERYWHERE = "over most of the data"
#: Dates farther apart than this are told by the day.
DAYS = 5.0


def number(value: float, step: float = 0.0) -> str:
    """Write a number as a person would.

    Examples
    --------
    >>> number(2103.4, 10), number(0.12345), number(-0.0), number(1234567.0), number(3.2e-7)
    ('2,100', '0.123', '0', '1,230,000', '3.2e-07')
    """
    if not math.isfinite(value):
        return str(value)
    if step <= 0:
        step = abs(value) / 100 or 1.0
    digits = -math.floor(math.log10(step))
    rounded = round(value, digits) + 0.0  # no negative zero
    if rounded and (abs(rounded) < 1e-4 or abs(rounded) >= 1e9):
        return f"{rounded:.3g}"
    return f"{rounded:,.{max(0, digits)}f}"


def between(low: float, high: float) -> tuple[str, str]:
    """Write the two ends of a range, with as many digits as its width asks for.

    Examples
    --------
    >>> between(2103.4, 2896.1), between(-0.0213, 0.0178)
    (('2,100', '2,900'), ('-0.021', '0.018'))
    """
    width = high - low
    step = 10.0 ** math.floor(math.log10(width / 20)) if width > 0 else 0.0
    ends = number(low, step), number(high, step)
    return _trimmed(ends[0]), _trimmed(ends[1])


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def sized(estimate: float, low: float, high: float, about: float = 0.0) -> tuple[str, str]:
    """Write an estimate and its interval with digits that its distance from `about` asks for.

    Examples
    --------
    >>> sized(0.21, 0.1712, 0.25), sized(0.0147, 0.0058, 0.0236), sized(1.0036, 1.001, 1.006, 1.0)
    (('0.21', '0.17 to 0.25'), ('0.015', '0.006 to 0.024'), ('1.0036', '1.0010 to 1.0060'))
    """
    digits = decimals(estimate - about)
    return f"{estimate:.{digits}f}", f"{low + 0.0:.{digits}f} to {high + 0.0:.{digits}f}"


def measured(found: Interval, unit: str, after: str = "") -> str:
    """Write an interval with its unit: "0.21 model standard deviations above it (0.17 to 0.25)".

    What the unit says in brackets goes with the interval.

    Examples
    --------
    >>> measured(Interval(0.21, 0.17, 0.25), "sd (as scores suggest)", " above it")
    '0.21 sd above it (0.17 to 0.25; as scores suggest)'
    """
    size, ends = sized(found.estimate, found.low, found.high)
    base, _, note = unit.partition(" (")
    return f"{size} {base}{after} ({ends}{'; ' + note.rstrip(')') if note else ''})"


def decimals(value: float) -> int:
    """Return how many decimals show two figures of a number: 2, or more for a small one."""
    if value == 0 or not math.isfinite(value):
        return 2
    # 0.1 less a rounding error is 0.1.
    return min(max(2, 1 - math.floor(math.log10(abs(value)) + 1e-9)), 6)


def short(value: float) -> str:
    """Write two figures of a number, and at least two decimals."""
    return f"{value:.{decimals(value)}f}"


def class_words(size: float) -> str:
    """Say how far predicted probabilities are off."""
    off = f"Predicted probabilities off by {short(size)} everywhere"
    return f"{off}, the most probable class too sure by that much,"


def misfit_words(shift: float, width: float | None, d_y: int, ranked: bool = False) -> str:
    """Say a constant shift, or a ratio of spreads, as far as they are finite."""
    of, by = (" of one column", "by") if d_y > 1 else ("", "of")
    parts = []
    if math.isfinite(shift):
        parts.append(f"a constant shift{of} {by} {short(shift)} model standard deviations")
    if width is not None and math.isfinite(width):
        parts.append(f"a spread{of} wrong by a factor of {width:.{decimals(width - 1.0)}f}")
    said = "on the model's normal-score scale " * ranked + ", or ".join(parts) + "," * (len(parts) > 1)
    return said[0].upper() + said[1:] if parts else ""


def listed(parts: list[str]) -> str:
    """Join parts by commas and "and".

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def reaches(sample: Sample, ends: Mapping[int, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return the range of each numeric column in which rows count at least half, within the data."""
    found = {}
    for column, (low, high) in ends.items():
        values = sample.x[:, column]
        inside = np.count_nonzero((values >= low) & (values <= high)) / len(values)
        if inside < NEARLY_ALL:
            within = max(low, float(values.min())), min(high, float(values.max()))
            found[sample.x_columns[column].name] = (float(within[0]), float(within[1]))
    return found


def place(
    sample: Sample,
    point: FloatArray,
    reach: Mapping[str, tuple[float, float]],
    levels: Mapping[int, str],
) -> str:
    """Say where: "income between 2,100 and 2,900 and city = Oslo"."""
    parts = []
    for i, column in enumerate(sample.x_columns):
        if i in levels:
            parts.append(f"{column.name} = {levels[i]}")
        elif column.name in reach:
            parts.append(_range(sample, i, column.name, reach[column.name]))
    return listed(parts) if parts else EVERYWHERE


def _days(column: Column, low: float, high: float) -> tuple[str, str]:
    """Write two dates; those that are some days apart without the time of day."""
    ends = (round(low), round(high)) if high - low > DAYS else (low, high)
    return column.text(ends[0]), column.text(ends[1])


def _range(sample: Sample, column: int, name: str, ends: tuple[float, float]) -> str:
    """A range, open where the data end."""
    values = sample.x[:, column]
    low, high = (
        _days(sample.x_columns[column], *ends) if sample.x_columns[column].dates else between(*ends)
    )
    if ends[1] >= values.max():
        return f"{name} above {low}"
    if ends[0] <= values.min():
        return f"{name} below {high}"
    return f"{name} between {low} and {high}"
