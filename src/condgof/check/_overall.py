"""How, of all rows: numbers that one wild row does not move, and the wild rows by name."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._findings import (
    NAMED,
    QUARTILE,
    SD,
    WILD,
    Reader,
    _classes,
    _correlations,
    between,
    said,
    shares,
)
from condgof.check._record import Finding

#: Standard errors to either side of the intervals of all rows: six hold together 95% of the time.
REACH = 2.638257273476751
#: All classes have a number up to this many.
MOST_CLASSES = 12
#: What shift and spread of all rows are of.
MEDIAN, MIDDLE = "median", "middle half"
#: What the tail of counts is of.
LARGEST = "largest"


def overall_of(reader: Reader) -> tuple[Finding, ...]:
    """Return what is said of all rows."""
    looked = reader.looked
    every = np.arange(looked.n)
    if looked.kind in ("continuous", "several", "moments"):
        found = list(_continuous(reader, every))
    elif looked.kind == "counts":
        found = [*reader.findings(every), *_count_tail(reader, every)]
    elif looked.kind == "censored":
        assert looked.scored_y is not None
        z = looked.scored_y[:, 0]
        # That a row was censored early says nothing.
        told = np.where(np.asarray(looked.event) | (z > 0), z, 0.0)
        found = [*reader.findings(every), *_wild(reader, told, looked.y_columns[0].name, "")]
    elif looked.kind == "classes":
        found = list(_classes(reader, every, MOST_CLASSES))
    else:
        found = list(reader.findings(every))
    return tuple(found)


def _continuous(reader: Reader, rows: IntArray) -> Iterator[Finding]:
    looked = reader.looked
    assert looked.z is not None
    several = len(looked.y_columns) > 1
    for j, column in enumerate(looked.y_columns):
        z, of = looked.z[:, j], f" of {column.name}" if several else ""
        yield _median(reader, rows, z, column.name, of)
        yield _middle_half(reader, rows, z, column.name, of)
        if looked.pit is not None:
            yield from shares(reader, rows, z, column.name, "99.9%", of)
            if not looked.draws:
                yield from _wild(reader, z, column.name, of)
    if several:
        yield from _correlations(reader, rows)


def _median(reader: Reader, rows: IntArray, z: FloatArray, column: str, of: str) -> Finding:
    median = float(np.median(z))
    ends = _order_interval(reader, rows, z, 0.5)
    sized = ends if median > 0 else (-ends[1], -ends[0])
    where = f"{said(abs(median))} {SD} {'above' if median > 0 else 'below'} the model's"
    words = f"the median of the data{of} lies {where} {between(sized, reader.looked.draws)}"
    return Finding("shift", column, median, ends, 0.0, words, MEDIAN)


def _middle_half(reader: Reader, rows: IntArray, z: FloatArray, column: str, of: str) -> Finding:
    low, high = (float(q) for q in np.quantile(z, [0.25, 0.75]))
    spread = (high - low) / (2.0 * QUARTILE)
    errors = []
    for level in (0.25, 0.75):
        ends = _order_interval(reader, rows, z, level)
        errors.append((ends[1] - ends[0]) / 2.0)
    # Sample quartiles have the correlation 1/3.
    half = math.sqrt(errors[0] ** 2 + errors[1] ** 2 - errors[0] * errors[1] * 2.0 / 3.0) / (
        2.0 * QUARTILE
    )
    ends = (max(spread - half, 0.0), spread + half)
    within = between(ends, reader.looked.draws)
    words = f"the middle half of the data{of} is {said(spread)} times as wide as the model's {within}"
    return Finding("spread", column, spread, ends, 1.0, words, MIDDLE)


def _order_interval(reader: Reader, rows: IntArray, z: FloatArray, level: float) -> tuple[float, float]:
    """Return the order statistics between which a quantile lies, whatever the law of z."""
    n = len(z)
    at = float(np.quantile(z, level))
    stretch = reader.stretch(rows, np.asarray(z <= at, dtype=np.float64))
    half = min(stretch * math.sqrt(n * level * (1.0 - level)), float(n))
    first = max(math.floor(n * level - half) - 1, 0)
    last = min(math.ceil(n * level + half), n - 1)
    ordered = np.partition(z, [first, last])
    return min(float(ordered[first]), at), max(float(ordered[last]), at)


def _wild(reader: Reader, z: FloatArray, column: str, of: str) -> Iterator[Finding]:
    """Name the rows that lie further out than all rows together should."""
    from scipy.special import ndtri

    end = -float(ndtri(0.5 * WILD / len(z)))
    far = np.flatnonzero(np.abs(z) > end)
    if not len(far):
        return
    worst = far[np.argsort(-np.abs(z[far]), kind="stable")[:NAMED]]
    named = ", ".join(f"{reader.looked.rows[i]:,} (z = {said(float(z[i]))})" for i in worst)
    more = f", and {len(far) - len(worst):,} more" if len(far) > len(worst) else ""
    what = "1 row lies" if len(far) == 1 else f"{len(far):,} rows lie"
    further = f"{what} further out{of.replace(' of ', ' in ', 1)} than any of {len(z):,} rows should"
    words = f"{further}: row{'s' if len(far) > 1 else ''} {named}{more}"
    count = float(len(far))
    yield Finding("wild", column, count, (count, count), 0.0, words)


def _count_tail(reader: Reader, rows: IntArray) -> Iterator[Finding]:
    """How often a count is larger than the model allows in 1 of 100."""
    looked = reader.looked
    if looked.upper is None:
        return
    share, ends = reader.share(rows, looked.upper < 0.01)
    words = (
        f"{said(share)} of the rows {between(ends)} have a count so large that the model gives it, or a "
        "larger one, a probability below 0.01"
    )
    expected = min(share, 0.01)  # steps of counts: at most 0.01
    yield Finding("tails", looked.y_columns[0].name, share, ends, expected, words, LARGEST)
