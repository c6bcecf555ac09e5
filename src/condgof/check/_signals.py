"""What the search looks at: functions of y, row by row, each of mean 0 given x if the law is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._looked import PIECE, Looked, column_pairs
from condgof.laws._counts import cell_of, standardised
from condgof.laws._discrete import normalised
from condgof.laws._draws import RankOutcomes
from condgof.laws._known import Event
from condgof.laws._law import Law
from condgof.laws._ratio import RatioOutcomes
from condgof.methods._lowrank import until_of
from condgof.methods._scored import SUBSAMPLE, Scored
from condgof.sample import Seed

#: Shift, spread, skew and tails, and E[ψ³] of each: what a normal approximation of their sums lacks.
KINDS = ("shift", "spread", "skew", "tails")
THIRD = (0.0, 0.63888, 0.0, 0.48551)
#: At most so many classes are looked at by themselves, and numbers of candidates together.
MOST_CLASSES, CANDIDATES = 12, 2**21
#: Parts of the time that rows were watched, on the scale of Λ; see `Looked.cuts`.
THIRDS = ("", "early third", "middle third", "late third")

#: Draws y anew m times: the signals of some rows, (rows, m, K); and what makes it for these.
Draw = Callable[[np.random.Generator, int], AnyArray]
Redraw = Callable[[IntArray], Draw]


class Signal(NamedTuple):
    """What a function of y is about; see `Finding`."""

    kind: str
    column: str
    label: str = ""

    @classmethod
    def of(cls, event: Event, column: str) -> Signal:
        """Name what quantiles or intervals say."""
        quantile = event.kind == "quantile"
        return cls(event.kind, column, f"{event.level:g}" if quantile else f"{100 * event.level:g}%")


@dataclass(frozen=True, eq=False)
class Signals:
    """Functions of y at some rows."""

    about: tuple[Signal, ...]
    #: (n, K), and their variance under the law, None where it is 1, or not known.
    values: FloatArray
    variance: FloatArray | None
    #: None where y cannot be drawn anew.
    redraw: Redraw | None
    #: How many of the first are looked at in pairs of columns of x; whether all variances are 1.
    first: int = 2
    unit: bool = True
    #: E[ψ³] of each where it is the same in all rows; how large each can be where the law is discrete.
    third: tuple[float, ...] = ()
    bound: FloatArray | float = 1.0

    @property
    def floor(self) -> float:
        """What is added to the variance of a discrete sum: one rare event is no slice."""
        return 0.0 if self.variance is None else 1.0

    @property
    def skewness(self) -> FloatArray:
        """Of signals whose law is not known, as they are, (K,); 0 where the null knows it."""
        if self.unit or self.variance is not None:
            return np.zeros(len(self.about))
        return np.asarray((self.values**3).mean(axis=0) / np.maximum(self.square, 1e-300) ** 1.5)

    @cached_property
    def square(self) -> FloatArray:
        """Mean squares over all rows, (K,)."""
        return np.asarray(np.square(self.values).mean(axis=0))

    def take(self, rows: IntArray) -> Signals:
        """Return those of some rows."""
        redraw = self.redraw
        return replace(
            self,
            values=self.values[rows],
            variance=None if self.variance is None else self.variance[rows],
            redraw=None if redraw is None else lambda some: redraw(rows[some]),
        )


def signals_of(looked: Looked, law: Law, rows: Scored, seed: Seed) -> Signals:
    """Return what there is to look at in rows of some kind."""
    if isinstance(rows.outcomes, RankOutcomes):
        return _of_ranks(looked, rows.outcomes)
    if (u := looked.pit) is not None:
        return _of_pits(looked, u, known=rows.by == "cdf")
    if looked.kind == "censored":
        return _of_censored(looked, until_of(rows, seed) if rows.n <= SUBSAMPLE else None)
    if looked.kind == "classes":
        return _of_classes(looked)
    if looked.kind in ("quantiles", "intervals"):
        return _of_events(looked, rows)
    return _of_counts(looked, law, rows) if looked.kind == "counts" else _of_scores(looked)


def legendre(u: AnyArray) -> AnyArray:
    """Return ψ_1 to ψ_4, orthonormal Legendre polynomials of u in [0, 1], (..., 4): no outlier rules."""
    v = 2.0 * u - 1.0
    square = v * v
    out = np.empty((*u.shape, 4), dtype=u.dtype)
    out[..., 0] = 3**0.5 * v
    out[..., 1] = 5**0.5 * (1.5 * square - 0.5)
    out[..., 2] = 7**0.5 * v * (2.5 * square - 1.5)
    out[..., 3] = 3.0 * (square * (4.375 * square - 3.75) + 0.375)
    return out


def _of_columns(u: AnyArray, pairs: tuple[IntArray, IntArray]) -> AnyArray:
    """Return the signals (..., K) of PITs (..., d_y): of several columns shift and spread, and pairs."""
    each = legendre(u)
    if u.shape[-1] == 1:
        return each[..., 0, :]
    shift, spread = each[..., 0], each[..., 1]
    return np.concatenate([shift, spread, shift[..., pairs[0]] * shift[..., pairs[1]]], axis=-1)


def _about(looked: Looked, pairs: tuple[IntArray, IntArray]) -> tuple[Signal, ...]:
    names = [column.name for column in looked.y_columns]
    about = [Signal(kind, name) for kind in KINDS[: 4 if len(names) == 1 else 2] for name in names]
    both = zip(*pairs, strict=True)
    return (*about, *(Signal("correlation", f"{names[a]} and {names[b]}") for a, b in both))


def _of_pits(looked: Looked, u: FloatArray, known: bool) -> Signals:
    """Of PITs; where columns of y have one each that are not known to be independent, no pairs."""
    d_y = len(looked.y_columns)
    pairs, third = column_pairs(d_y if known else 1), THIRD if d_y == 1 else ()

    def redraw(rows: IntArray) -> Draw:
        return lambda rng, m: _of_columns(rng.random((len(rows), m, d_y), dtype=np.float32), pairs)

    about, values = _about(looked, pairs), _of_columns(u, pairs)
    return Signals(about, values, None, redraw if known else None, 2 * d_y, known, third)


def _of_ranks(looked: Looked, outcomes: RankOutcomes) -> Signals:
    """Of several columns of draws: y could have been any of them, and columns may go together."""
    ranks, pairs = outcomes.ranks[:, :, : outcomes.columns], column_pairs(outcomes.columns)
    n, count, d_y = ranks.shape
    about = _about(looked, pairs)
    values, mean, variance = np.empty((3, n, len(about)))
    step = max(1, CANDIDATES // (count * len(about)))
    for start in range(0, n, step):
        some = slice(start, start + step)
        each = _of_columns(np.asarray(ranks[some], dtype=np.float64), pairs)
        mean[some], variance[some], values[some] = each.mean(axis=1), each.var(axis=1), each[:, 0]

    def redraw(rows: IntArray) -> Draw:
        centre = mean[rows].astype(np.float32)[:, None]
        some, each = ranks[rows], np.arange(len(rows))[:, None]

        def draw(rng: np.random.Generator, m: int) -> AnyArray:
            return _of_columns(some[each, rng.integers(0, count, (len(some), m))], pairs) - centre

        return draw

    bound = np.abs(_of_columns(np.ones(d_y), pairs)) + np.abs(mean).max(axis=0)
    return Signals(about, values - mean, variance, redraw, 2 * d_y, bound=bound)


def cells_drawn(p: FloatArray) -> Callable[[np.random.Generator, int], IntArray]:
    """Return what draws cells with probabilities p (n, C), m times for each row, (n, m)."""
    n, count = p.shape
    sums, offsets = np.cumsum(p, axis=1), np.arange(n)[:, None]
    ends = (sums / sums[:, -1:] + offsets).ravel()

    def draw(rng: np.random.Generator, m: int) -> IntArray:
        places = np.searchsorted(ends, rng.random((n, m)) + offsets, side="right")
        return np.asarray(np.minimum(places - count * offsets, count - 1))

    return draw


def largest_classes(p: AnyArray, most: int = MOST_CLASSES) -> IntArray:
    """Return the most probable classes over all rows of p (n, K); of two, the second."""
    shares = np.asarray(p, dtype=np.float64).mean(axis=0)
    return np.sort(np.argsort(-shares, kind="stable")[:most]) if len(shares) > 2 else np.array([1])


def _of_classes(looked: Looked) -> Signals:
    whole, name = np.asarray(looked.probabilities), looked.y_columns[0].name
    largest = largest_classes(whole)
    classes = (Signal("class", name, looked.class_names[k]) for k in largest)
    about = (Signal("confidence", name), *classes)

    def parts(rows: IntArray | slice) -> tuple[FloatArray, IntArray, FloatArray]:
        p = normalised(whole[rows])
        top = np.argmax(p, axis=1)
        return p, top, np.column_stack([p[np.arange(len(p)), top], p[:, largest]])

    def of(codes: IntArray, top: IntArray, mean: FloatArray) -> AnyArray:
        happened = (codes == top[:, None])[:, :, None], codes[:, :, None] == largest
        return np.concatenate(happened, axis=2, dtype=np.float32) - mean[:, None].astype(np.float32)

    def redraw(rows: IntArray) -> Draw:
        p, top, mean = parts(rows)
        cells = cells_drawn(p)
        return lambda rng, m: of(cells(rng, m), top, mean)

    _, top, mean = parts(slice(None))
    values = of(np.asarray(looked.codes)[:, None], top, mean)[:, 0].astype(np.float64)
    return Signals(about, values, mean * (1.0 - mean), redraw)


def events_of(looked: Looked) -> tuple[AnyArray, FloatArray]:
    """Return the events, and those that the model expects, of all time and of each third, (n, 4) each.

    A row that was watched from Λ₀ to Λ₁ expects as many events as the length of that.
    """
    low, high = _thirds(looked)
    watched = (looked.event, looked.hazard, looked.before)
    event, hazard, before = (np.asarray(part)[:, None] for part in watched)
    # An event at a cut belongs to the third that ends there, one at 0 to the first.
    inside = ((hazard > low) | (low == 0.0)) & (hazard <= high)
    return event & inside, np.asarray(np.clip(hazard, low, high) - np.clip(before, low, high))


def _thirds(looked: Looked) -> tuple[FloatArray, FloatArray]:
    """Return where all time, and each third of it, begin and end, (4,) each."""
    first, second = looked.cuts
    return np.array([0.0, 0.0, first, second]), np.array([np.inf, first, second, np.inf])


def _of_censored(looked: Looked, until: FloatArray | None) -> Signals:
    """Of times with censoring: events less what is expected.

    `until` (n,) is when rows are censored, after they were first watched: the variance is what is
    expected to be expected up to then, P(low < Λ ≤ high). Where it is not known, what was expected.
    """
    happened, expected = events_of(looked)
    about = tuple(Signal("events", looked.y_columns[0].name, label) for label in THIRDS)
    if until is None:
        return Signals(about, happened - expected, expected, None)
    (low, high), before = _thirds(looked), np.asarray(looked.before)[:, None]
    start = np.maximum(low - before, 0.0)
    stop = np.maximum(np.minimum(high - before, until[:, None]), start)

    def redraw(rows: IntArray) -> Draw:
        first, last, end = start[rows][:, None], stop[rows][:, None], until[rows][:, None, None]

        def draw(rng: np.random.Generator, m: int) -> AnyArray:
            times = rng.standard_exponential((len(rows), m, 1))
            came = (times <= end) & (times > first) & (times <= last)
            passed = np.clip(times, first, last) - first
            return np.asarray(came - passed, dtype=np.float32)

        return draw

    return Signals(about, happened - expected, np.exp(-start) - np.exp(-stop), redraw)


def _of_events(looked: Looked, rows: Scored) -> Signals:
    """Of quantiles and intervals: whether each of their statements held."""
    assert rows.outcomes is not None
    events, shares = looked.some_events, np.asarray(rows.outcomes.probabilities[0], dtype=np.float64)
    about = tuple(Signal.of(event, looked.y_columns[0].name) for event in events)
    expected = np.array([event.expected for event in events])
    happened = np.column_stack([event.happened(np.arange(len(shares))) for event in events])
    # An event is that y exceeds a quantile, a finding that it does not.
    table = (happened - expected) * (-1.0 if looked.kind == "quantiles" else 1.0)
    variance = np.broadcast_to(expected * (1.0 - expected), (looked.n, len(events)))

    def redraw(rows: IntArray) -> Draw:
        ends, small = np.cumsum(shares)[:-1], table.astype(np.float32)
        return lambda rng, m: small[np.searchsorted(ends, rng.random((len(rows), m)), side="right")]

    return Signals(about, table[rows.outcomes.observed], variance, redraw, first=len(events))


def _of_counts(looked: Looked, law: Law, rows: Scored) -> Signals:
    """Of counts with known probabilities: shift and spread by the middle of each step, and zeros."""
    assert rows.outcomes is not None
    outcomes, name = rows.outcomes, looked.y_columns[0].name
    if isinstance(outcomes, RatioOutcomes):
        zero = -outcomes.start.astype(np.int64)
    else:
        units = (part[:, 0] for part in law.location_scale())
        zero = cell_of(standardised(np.zeros(looked.n), *units))
    zeros = looked.has_zeros
    about = tuple(Signal(kind, name) for kind in ("shift", "spread", "zeros")[: 2 + zeros])

    def table(some: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return probabilities of cells (n, C), signals of each cell (n, C, K), and variances."""
        p = normalised(outcomes.take(some).probabilities)
        middle = np.cumsum(p, axis=1) - 0.5 * p
        made = legendre(np.clip(middle, 0.0, 1.0))[..., : 2 + zeros]
        if zeros:
            made[..., 2] = np.arange(p.shape[1]) == zero[some][:, None]
        made -= (p[:, :, None] * made).sum(axis=1, keepdims=True)
        return p, made, (p[:, :, None] * np.square(made)).sum(axis=1)

    def redraw(some: IntArray) -> Draw:
        p, made, _ = table(some)
        small, each, cells = made.astype(np.float32), np.arange(len(p))[:, None], cells_drawn(p)
        return lambda rng, m: small[each, cells(rng, m)]

    (values, variance), bound = np.empty((2, looked.n, len(about))), np.zeros(len(about))
    for some in np.split(np.arange(looked.n), np.arange(PIECE, looked.n, PIECE)):
        _, made, variance[some] = table(some)
        values[some] = made[np.arange(len(some)), outcomes.observed[some]]
        bound = np.maximum(bound, np.abs(made).max(axis=(0, 1)))
    return Signals(about, values, variance, redraw, bound=bound)


def _of_scores(looked: Looked) -> Signals:
    """Of residuals of mean 0 and variance 1; of scores, E[s] = 0 and E[s(y − c)] = −1, whatever c is."""
    names = [column.name for column in looked.y_columns]
    about = tuple(Signal(kind, name) for kind in KINDS[:2] for name in names)
    if looked.z is not None:
        parts, first = [looked.z, np.square(looked.z) - 1.0], 2
    else:
        s, y = (np.asarray(part, dtype=np.float64) for part in (looked.scores, looked.scored_y))
        parts, first = [-s, -s * (y - y.mean(axis=0)) - 1.0], 2 * len(names)
    return Signals(about, np.concatenate(parts, axis=1), None, None, first, unit=False)
