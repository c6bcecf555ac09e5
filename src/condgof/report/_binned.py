"""Rows in bins of a column, and the few statistics that pictures draw of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis
from condgof.check._looked import Looked
from condgof.check._record import Slice
from condgof.check._signals import events_of, legendre
from condgof.report._chart import Boxes, Ends, Scale, places, title_of, written

#: A column is cut into at most so many bins, and at most so many levels are drawn; rows of a bin, and
#: the fewest of a level that is named: a report must not list the people of an id column.
MOST, ROWS, FEWEST = 12, 60, 5


@dataclass(frozen=True, eq=False)
class Bins:
    """A column in bins of about as many rows each, or in its levels; -1 for levels that are left out."""

    codes: IntArray
    names: tuple[str, ...]
    scale: Scale
    left_out: int = 0

    @property
    def less(self) -> str:
        """How many levels are not drawn, in a sentence."""
        return f" {self.left_out:,} levels with fewer rows are not drawn." if self.left_out else ""

    @property
    def rows(self) -> list[IntArray]:
        """The positions of the rows of each bin."""
        return [np.flatnonzero(self.codes == b) for b in range(len(self.names))]

    def extent(self, axis: Axis, inside: AnyArray) -> list[Ends]:
        """Return the ranges of the scale that some rows fill."""
        ranges: list[Ends] = []
        for b, rows in enumerate(self.rows):
            values = axis.values[rows]
            inside_values, wide = values[inside[rows]] - values.min(), float(np.ptp(values))
            if not len(inside_values):
                continue
            left, right = (
                (float(inside_values.min()) / wide, float(inside_values.max()) / wide)
                if wide
                else (0.0, 1.0)
            )
            joined = ranges and b - 0.5 + left - ranges[-1][1] < 0.02
            ranges.append((ranges.pop()[0] if joined else b - 0.5 + left, b - 0.5 + right))
        return ranges


def bins_of(axis: Axis, most: int = MOST) -> Bins:
    """Cut a column: few values and levels each by itself, others at quantiles."""
    values = axis.values
    distinct, inverse, sizes = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) <= most or axis.levels is not None:
        largest = np.sort(np.argsort(-sizes, kind="stable")[:most])
        largest = largest if axis.levels is None else largest[sizes[largest] >= FEWEST]
        place = np.full(len(distinct), -1)
        place[largest] = np.arange(len(largest))
        names = tuple(written(axis, float(distinct[k])) for k in largest)
        return Bins(place[inverse], names, places(title_of(axis), names), len(distinct) - len(largest))
    codes = axis.cut(int(np.clip(len(values) // ROWS, 4, most))).codes
    count = int(codes.max()) + 1
    low, high = (
        [_end_of(axis, float(end(values[codes == b]))) for b in range(count)] for end in (np.min, np.max)
    )
    shares = (0.0, 0.5, 1.0) if max(map(len, low)) > 7 else (0.0, 0.25, 0.5, 0.75, 1.0)
    edges = sorted({round(share * count) for share in shares})
    texts = tuple(high[-1] if e == count else low[e] for e in edges)
    names = tuple(f"{a} to {b}" if a != b else a for a, b in zip(low, high, strict=True))
    ends = -0.5, count - 0.5
    return Bins(codes, names, Scale(title_of(axis), ends, tuple(e - 0.5 for e in edges), texts))


def _end_of(axis: Axis, value: float) -> str:
    """Write an end of a bin: the value of a row, so that long numbers are rounded."""
    long = axis.kind in ("numbers", "integers") and abs(value) >= 1e5
    return written(axis, float(f"{value:.4g}") if long else value)


def shade(ranges: Sequence[Ends], up: Ends) -> Boxes:
    """Shade ranges of x from foot to top."""
    left, right = np.array(ranges, dtype=float).reshape(-1, 2).T
    low, high = (np.full(len(left), end) for end in up)
    return Boxes(left, right, low, high, ("shade",) * len(left))


def names_column(part: Slice | None, axis: Axis) -> bool:
    """Whether a slice has a condition on a column."""
    return part is not None and axis.name in [c.column for c in part.conditions]


def part_rows(looked: Looked, part: Slice | None) -> AnyArray:
    """Tell which of the rows that were looked at are in a slice, (n,); all without one."""
    return np.ones(looked.n, bool) if part is None else np.isin(looked.rows, part.rows)


def each_error(count: int, level: float = 0.95) -> float:
    """Return the error of each of `count` statements so that all hold with probability `level`."""
    return float(1.0 - level ** (1.0 / max(count, 1)))


def chance_ends(n: AnyArray, p: AnyArray, error: float) -> tuple[FloatArray, FloatArray]:
    """Return between which counts a binomial one lies, except with probability `error`."""
    from scipy.stats import binom

    return np.asarray(binom.ppf(error / 2, n, p)), np.asarray(binom.ppf(1 - error / 2, n, p))


def quantile_ends(values: FloatArray, p: float, error: float) -> Ends:
    """Return the interval of a quantile by order statistics; infinite where there are too few rows."""
    low, high = (int(k) for k in chance_ends(np.array(len(values)), np.array(p), error))
    ordered = np.concatenate([[-np.inf], np.sort(values), [np.inf]])
    return float(ordered[low]), float(ordered[high + 1])


def sides(low: AnyArray, high: AnyArray, expected: AnyArray, turned: bool = False) -> tuple[str, ...]:
    """Return colours of intervals: "even" where they hold what is expected; `turned`: more is "low"."""
    more, less = ("low", "high") if turned else ("high", "low")
    return tuple(np.where(low > expected, more, np.where(high < expected, less, "even")).tolist())


def right_and_sure(looked: Looked) -> tuple[AnyArray, FloatArray]:
    """Return whether the most probable class was right, and its probability, (n,) each."""
    p = np.asarray(looked.probabilities, dtype=float)
    return p.argmax(axis=1) == looked.codes, p.max(axis=1)


def evidence(looked: Looked, y: int | None = None) -> FloatArray:
    """Return functions of y with mean 0 and variance about 1 under the model, (n, K)."""
    columns = slice(None) if y is None else [y]
    if looked.pit is not None:
        return np.asarray(legendre(looked.pit[:, columns]).reshape(looked.n, -1))
    if looked.z is not None:
        z = np.clip(looked.z[:, columns], -5, 5)
        return np.concatenate([z, (np.square(z) - 1.0) / 2.0], axis=1)
    if looked.kind == "censored":
        happened, expected = events_of(looked)
        return np.asarray((happened - expected) / np.sqrt(np.maximum(expected.mean(axis=0), 1e-12)))
    if looked.kind == "classes":
        right, sure = right_and_sure(looked)
        return np.asarray((right - sure) / np.sqrt(np.maximum(sure * (1 - sure), 0.01)))[:, None]
    columns_of_events = [np.empty((looked.n, 0))]
    for event in looked.events:
        spread = (event.expected * (1 - event.expected)) ** 0.5
        columns_of_events.append(
            (event.happened(np.asarray(looked.codes)) - event.expected)[:, None] / spread
        )
    return np.concatenate(columns_of_events, axis=1)


def explained(functions: FloatArray, bins: Bins) -> float:
    """Return how much of the evidence (n, K) a column explains: its strongest bin, less chance."""
    apart = functions - functions.mean(axis=0)
    strength = [
        np.abs(apart[rows].sum(axis=0)).max(initial=0.0) / len(rows) ** 0.5 for rows in bins.rows
    ]
    return float(max(strength) - np.sqrt(2 * np.log(1 + len(strength) * functions.shape[1])))
