"""From a density of one y to its CDF, row by row, and so to normal scores whose null law is known.

For each row the density is brought to the whole line (v = log(y − low), or a logit) and to
t = asinh((v − m) / s), m the main mode and s its width, in which a power falls like an
exponential. In panels of t, halved where need be, the log-density is a polynomial: an error
of 1e-6 there is one of 1e-6 *of every tail*. A mode far narrower than it is far away can be
overlooked: of mixtures of two to four components none in 150 at distances of 5 or 10 mean
widths, 17 at 100.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.polynomial.legendre import leggauss, legval, legvander

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import NumericalError, refuse_rows
from condgof.laws._law import TINY, Around, Law, as_rows, same_as, tail_scores
from condgof.laws._line import Line

#: Nodes of a panel, and rows at a time: of each some hundreds of numbers are kept
#: meanwhile.
NODES, BLOCK = 10, 8192
#: Steps from y, to both sides, at which the density is looked at first: 8^−14 … 8^14 of a
#: unit.
STEPS = 8.0 ** np.arange(-14, 15)
#: How many modes are climbed at a time, how often steps beside them are halved, and to what
#: difference.
MODES, CLIMBS, FLAT = 4, 36, 3e-5
#: How far down from the main mode mass is looked for (a logarithm).
DEPTH = 34.0
#: Errors that are aimed at and accepted, of a tail in units of its square root. An error of
#: z is as large in the middle, and ten times as large at |z| = 3; the estimates are
#: pessimistic, by far.
AIM, ACCEPTED = 3e-6, 3e-4
#: Shares of the mass that do not count; how often panels are halved, how many a row at a
#: time, in all.
NEGLIGIBLE, ROUNDS, AT_ONCE, HALVED = 1e-14, 14, 6, 44
#: How many y of other rows are tried, in case one lies in a mode that was overlooked; how
#: many places of its own each row is tried at afterwards; and how far log g may be from the
#: polynomial there.
HINTS, PROBES, MISSED = 9, 6, 1e-2

X, W = leggauss(NODES)
#: From values at the nodes to Legendre coefficients.
COEFFICIENTS = legvander(X, NODES - 1) * W[:, None] * (np.arange(NODES) + 0.5)
#: A finer rule, which integrates exp of a polynomial.
FINE_X, FINE_W = leggauss(32)
FINE_VALUES = legvander(FINE_X, NODES - 1).T

Function = Callable[[FloatArray], FloatArray]


class Tails(NamedTuple):
    """P(Y ≤ y | x), P(Y > y | x), their error and the logarithm of the density's integral, (n,) each."""

    lower: FloatArray
    upper: FloatArray
    #: As `AIM` is, and infinite where the density could not be integrated.
    error: FloatArray
    log_mass: FloatArray

    @property
    def failed(self) -> AnyArray:
        return ~(self.error <= ACCEPTED)

    def normal_scores(self) -> FloatArray:
        return tail_scores(self.lower, self.upper, TINY)


@dataclass(frozen=True, eq=False)
class Integrated(Around):
    """A law of one y that has a density and no CDF, told which y (n,) or (n, 1) it will be asked about.

    It offers normal scores as well if its density can be integrated in every row, which is
    tried when somebody asks for them: 200 to 500 calls of a smooth `log_prob`, and never
    more than 1,500.
    """

    law: Law
    seen: AnyArray

    score, score_and_error = same_as("law.score"), same_as("law.score_and_error")
    sample, marginals = same_as("law.sample"), same_as("law.marginals")

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        bad = np.flatnonzero(self.tails.failed if "tails" in vars(self) else [])
        if not len(bad):
            return self.law.notes
        rows = (
            f"{len(bad)} of {len(self.seen)} rows (the first is row {bad[0]}, counted"
            " from 0)"
        )
        note = (
            f"the density could not be integrated to a CDF in {rows}, so that only scores"
            " were used"
        )
        return (*self.law.notes, note)

    def noted(self, *notes: str) -> Self:
        return self._with(self.law.noted(*notes), slice(None))

    def take(self, rows: IntArray) -> Law:
        return self._with(self.law.take(rows), rows)

    def _with(self, law: Law, rows: Any) -> Self:
        """Return the same of another law, at some of the rows, with the tails if they are known."""
        made = type(self)(law, self.seen[rows])
        if "tails" in vars(self):
            vars(made)["tails"] = Tails(*(part[rows] for part in self.tails))
        return made

    def can(self, ability: str) -> bool:
        return (
            not self.tails.failed.any()
            if ability == "normal_scores"
            else self.law.can(ability)
        )

    def facing(self, y: AnyArray) -> Law:
        return self if np.array_equal(y, self.seen) else self.law.facing(y)

    @cached_property
    def tails(self) -> Tails:
        n = len(self.seen)
        if n <= BLOCK:  # a function may be bound to its rows
            return _tails(self.law, self.seen)
        blocks = np.split(np.arange(n), range(BLOCK, n, BLOCK))
        parts = [_tails(self.law.take(block), self.seen[block]) for block in blocks]
        return Tails(*map(np.concatenate, zip(*parts, strict=True)))

    def normal_scores(self, y: AnyArray) -> FloatArray:
        y = self._checked(y)
        if not np.array_equal(y, self.seen):
            return self.law.facing(y).normal_scores(y)
        advice = (
            "Is its integral finite, its support declared? Or compare scores:"
            " standardize='none'."
        )
        what = "The density could not be integrated to a CDF"
        refuse_rows(self.tails.failed, what, advice, NumericalError)
        return self.tails.normal_scores()[:, None]

    @property
    def normalised(self) -> bool:  # type: ignore[override]
        return self.law.normalised or self.can("normal_scores")

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log p(y|x), (n,), normalised where the law does not say that it is, and can be."""
        values = np.asarray(self.law.log_prob(y), dtype=np.float64)
        return (
            values
            if self.law.normalised or not self.normalised
            else values - self.tails.log_mass
        )


def _tails(law: Law, y: AnyArray) -> Tails:
    """Return the tails of a law at y; if its function fails somewhere, no row has them."""

    def log_prob(at: FloatArray) -> FloatArray:
        return np.asarray(law.log_prob(at.reshape(y.shape)), dtype=np.float64).reshape(
            len(y)
        )

    try:
        return integrate(log_prob, as_rows(y)[:, 0], law.support)
    except Exception:  # whatever a user's function raises at a y that was not observed
        return Tails(*np.full((4, len(y)), np.nan))


class Places(NamedTuple):
    """Places v from left to right, and log g there, (n, places) each."""

    v: FloatArray
    height: FloatArray


def _along(order: IntArray, *parts: AnyArray) -> list[AnyArray]:
    """Return columns of arrays, (n, m, …), those that `order` tells in each row."""
    return [part[np.arange(len(order))[:, None], order] for part in parts]


@dataclass(frozen=True, eq=False)
class Density:
    """A density brought to the line v, and the part of that where y can be told from its bounds."""

    log_prob: Function
    line: Line | None
    #: Ends of that part, (n,) each, and whether the support ends beyond them.
    low: FloatArray
    high: FloatArray
    bounded: tuple[AnyArray, AnyArray]

    @classmethod
    def of(cls, log_prob: Function, support: tuple[AnyArray, AnyArray], n: int) -> Density:
        line = Line.of(support, n, 1)
        ends = (
            np.broadcast_to([[-np.inf], [np.inf]], (2, n))
            if line is None
            else (line.low, line.high)
        )
        low, high = (np.reshape(end, n) for end in ends)
        has_low, has_high = np.isfinite(low), np.isfinite(high)
        both = has_low & has_high
        width = np.where(both, high - low, 1.0)

        def nearest(end: FloatArray) -> FloatArray:
            # Nearer than 2²⁴ of its last digits y is too coarse; tails are continued there.
            room = (
                np.maximum(np.abs(np.where(np.isfinite(end), end, 0.0)) * 2.0**-28, 1e-300)
                / width
            )
            return np.asarray(np.log(np.where(both, np.minimum(room, 1e-6), room)))

        free = np.where(has_low | has_high, 690.0, 1e150)
        lowest = np.where(has_low, nearest(low), -free)
        highest = np.where(has_high, -nearest(high), free)
        return cls(log_prob, line, lowest, highest, (has_low, has_high))

    def of_y(self, y: FloatArray) -> FloatArray:
        return y if self.line is None else self.line.forward(y[:, None])[:, 0]

    def height(self, v: FloatArray) -> FloatArray:
        v = np.clip(v, self.low, self.high)
        if self.line is None:
            values = self.log_prob(v)
        else:
            y = self.line.backward(v[:, None])
            values = self.log_prob(y[:, 0]) + np.log(self.line.slope(y))[:, 0]
        return np.where(np.isfinite(values), values, -np.inf)

    def look(self, v: FloatArray, seen: Places | None = None) -> Places:
        """Look at places (n, m), one call for each column, beside those that were seen."""
        v = np.clip(v, self.low[:, None], self.high[:, None])
        height = np.stack([self.height(column) for column in v.T], axis=1)
        if seen is not None:
            v, height = np.hstack([seen.v, v]), np.hstack([seen.height, height])
        return Places(*_along(np.argsort(v, axis=1, kind="stable"), v, height))

    def first_look(self, y: FloatArray, v: FloatArray) -> tuple[Places, FloatArray]:
        """Look around v, and at some y of all rows; also return the unit of distance, (n,)."""
        start = np.clip(v, self.low, self.high)[:, None]
        size = np.abs(start[:, 0])
        # A y that is 0 by chance, or but for rounding, is no unit to measure with.
        size = np.maximum(size, 2.0**-10 * np.median(size))
        fixed = self.bounded[0] | self.bounded[1] | ~(size > 0)
        unit = np.where(fixed, 1.0, 2.0 ** np.frexp(size)[1])
        steps = unit[:, None] * STEPS
        # A mode that could be overlooked is most likely where other rows have their y.
        some = np.unique(np.sort(y)[np.linspace(0, len(y) - 1, HINTS).round().astype(int)])
        hints = np.stack([self.of_y(np.full(len(y), value)) for value in some], axis=1)
        hints = np.where(
            np.isnan(hints), start, hints
        )  # NaN is what lies outside a row's support
        return self.look(np.hstack([start - steps, start, start + steps, hints])), unit


def integrate(log_prob: Function, y: FloatArray, support: tuple[Any, Any]) -> Tails:
    """Return both tails of a density at y.

    A kink or a jump away from modes and bounds is closed in by halving, to about 1e-4 of z.
    A mode far narrower than the rest may be overlooked where y is not in it; `PROBES`
    places of each row look out for that, and a law that failed in some rows offers no
    normal scores.
    """
    g = Density.of(log_prob, support, len(y))
    with np.errstate(all="ignore"):
        v = g.of_y(y)
        seen, unit = g.first_look(y, v)
        seen = climbed(g, seen)
        panels = Panels.of(Span.of(g, seen, unit), seen, v).refined()
        tails, failed = panels.tails(v), panels.misses(v / unit)
    return tails._replace(error=np.where(failed, np.inf, tails.error))


def climbed(g: Density, seen: Places) -> Places:
    """Halve steps beside the highest places until log g is flat there, and where g ends."""
    for _ in range(CLIMBS):
        v, height = seen
        rise = np.diff(height, axis=1, prepend=-np.inf, append=-np.inf)
        peak = ~(rise[:, :-1] < 0) & ~(rise[:, 1:] > 0) & (height > -np.inf)
        middle, fall = 0.5 * (v[:, 1:] + v[:, :-1]), np.abs(np.diff(height, axis=1))
        high = np.maximum(height[:, 1:], height[:, :-1])
        ends = (high > height.max(axis=1, keepdims=True) - DEPTH) & (fall > 0.5 * DEPTH)
        wanted = ((peak[:, 1:] | peak[:, :-1]) & (fall > FLAT)) | ends
        wanted &= (v[:, :-1] < middle) & (middle < v[:, 1:])
        count = min(2 * MODES, int(wanted.sum(axis=1).max()))
        if not count:
            break
        order = np.argsort(np.where(wanted, -high, np.inf), axis=1, kind="stable")
        chosen, at = _along(order[:, :count], wanted, middle)
        seen = g.look(np.where(chosen, at, v[:, :1]), seen)
    return seen


def main_mode(
    g: Density, seen: Places, unit: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the highest place, how far from it log g falls by 1, and log g there, (n,) each."""
    best = np.argmax(seen.height, axis=1)[:, None]
    m, top = (part[:, 0] for part in _along(best, *seen))
    sides = []
    for sign in (-1.0, 1.0):
        few, many = np.full(len(m), -50.0), np.full(len(m), 45.0)
        for _ in range(8):
            middle = 0.5 * (few + many)
            at = m + sign * unit * 2.0**middle
            fallen = (at < g.low) | (at > g.high) | (g.height(at) < top - 1.0)
            few, many = np.where(fallen, few, middle), np.where(fallen, middle, many)
        sides.append(unit * 2.0**few)
    short, long = np.minimum(*sides), np.maximum(*sides)
    # Next to nothing on one side: there the density begins with a jump.
    return m, np.where(short < 1e-3 * long, long, np.maximum(short, long / 30.0)), top


@dataclass(frozen=True, eq=False)
class Span:
    """The coordinate t = asinh((v − m) / s) of each row, and the range its mass is in, (n,) each."""

    g: Density
    m: FloatArray
    s: FloatArray
    #: log g at the main mode, from which it is counted.
    top: FloatArray
    left: FloatArray
    right: FloatArray
    #: Where the density ends with a jump, on the left and on the right, so that nothing is
    #: beyond.
    stops: tuple[AnyArray, AnyArray]

    @classmethod
    def of(cls, g: Density, seen: Places, unit: FloatArray) -> Span:
        """Go outwards from the main mode until there is no mass to speak of."""
        m, s, top = main_mode(g, seen, unit)
        least, ends, stops = top + np.log(s) - DEPTH, [], []
        for sign in (-1.0, 1.0):
            away = sign * (seen.v - m[:, None])
            held = (away > 0) & (seen.height + np.log(away) > least[:, None])
            inner = np.where(held, away, 0.0).max(axis=1)
            beyond = np.where(away > inner[:, None], away, np.inf)
            nearest = np.argmin(beyond, axis=1)[:, None]
            outer, height = (part[:, 0] for part in _along(nearest, beyond, seen.height))
            stops.append(np.isfinite(outer) & (height == -np.inf))
            ends.append(sign * np.where(stops[-1] | ~np.isfinite(outer), inner, outer))
        left, right = (np.arcsinh(end / s) for end in ends)
        return cls(g, m, s, top, left, right, (stops[0], stops[1]))

    def t(self, v: FloatArray) -> FloatArray:
        """Return t of v, (n,) or (n, places)."""
        m, s = (self.m, self.s) if v.ndim == 1 else (self.m[:, None], self.s[:, None])
        return np.asarray(np.arcsinh((v - m) / s))

    def height(self, t: FloatArray) -> FloatArray:
        return self.g.height(self.m + self.s * np.sinh(t))

    def values(self, start: FloatArray, stop: FloatArray) -> FloatArray:
        """Return log g at the nodes of panels, (n, panels, nodes); panels without width cost nothing."""
        values = np.zeros((*start.shape, NODES))
        half, middle = 0.5 * (stop - start), 0.5 * (stop + start)
        for k in np.flatnonzero((half > 0).any(axis=0)):
            for i, x in enumerate(X):
                height = self.height(middle[:, k] + half[:, k] * x)
                # A polynomial cannot be −∞, and a bottom as deep as this is as good.
                values[:, k, i] = np.where(height > -np.inf, height, self.top - 200.0)
        return values


@dataclass(frozen=True, eq=False)
class Panels:
    """log g at the nodes (n, panels, nodes) of pieces [start, stop] of t, (n, panels), some empty."""

    span: Span
    start: FloatArray
    stop: FloatArray
    values: FloatArray

    @classmethod
    def of(cls, span: Span, seen: Places, v: FloatArray) -> Panels:
        """Cut the range at v (n,), at growing distances from the mode and where mass begins or ends."""
        left, right = span.left[:, None], span.right[:, None]
        held = seen.height > span.top[:, None] - DEPTH
        beside = ~held
        beside[:, 1:-1] &= held[:, 2:] | held[:, :-2]
        edges = np.sort(np.where(beside, span.t(seen.v), np.inf), axis=1)[
            :, : beside.sum(axis=1).max()
        ]
        grid = np.outer([-1.0, 1.0], 1.5 * 2.0 ** np.arange(7)).ravel() + np.zeros_like(
            left
        )
        cuts = np.hstack(
            [left, right, grid, np.zeros_like(left), edges, span.t(v)[:, None]]
        )
        cuts = np.sort(np.clip(cuts, left, right), axis=1)
        start, stop = cuts[:, :-1], cuts[:, 1:]
        # Panels without width last, and as few of them as can be.
        order = np.argsort(start == stop, axis=1, kind="stable")
        most = max(1, int((start < stop).sum(axis=1).max()))
        start, stop = _along(order[:, :most], start, stop)
        return cls(span, start, stop, span.values(start, stop))

    @cached_property
    def coefficients(self) -> FloatArray:
        return np.asarray(self.values @ COEFFICIENTS)

    @cached_property
    def mass(self) -> FloatArray:
        """The integral of exp of the polynomial over each panel, (n, panels)."""
        half, middle, top = (
            0.5 * (self.stop - self.start),
            0.5 * (self.stop + self.start),
            self.span.top,
        )
        # A polynomial far from what it should be, in a valley between modes, may rise to
        # anything.
        mass, most = np.empty_like(half), self.values.max(axis=2) + 2.0
        for k in range(half.shape[1]):
            logs = (
                np.minimum(self.coefficients[:, k] @ FINE_VALUES, most[:, k, None])
                - top[:, None]
            )
            slope = np.cosh(middle[:, k, None] + half[:, k, None] * FINE_X)
            mass[:, k] = half[:, k] * ((np.exp(logs) * slope) @ FINE_W)
        return mass

    def at(self, t: FloatArray) -> FloatArray:
        """Return log g at t, (n,), from the polynomial of the panel that it is in or next to."""
        away = np.maximum(self.start - t[:, None], t[:, None] - self.stop)
        inside = (
            np.arange(len(t)),
            np.argmin(np.where(self.start < self.stop, away, np.inf), axis=1),
        )
        start, stop = self.start[inside], self.stop[inside]
        x = np.clip((2.0 * t - start - stop) / (stop - start), -1.0, 1.0)
        return np.asarray(legval(x, self.coefficients[inside].T, tensor=False))

    def errors(self) -> FloatArray:
        """Return the error of tails because of that of log g in each panel, (n, panels)."""
        error = np.abs(self.coefficients[:, :, -2:]).sum(axis=2)
        # exp of a polynomial that falls too far is not integrated well.
        error = np.where(np.ptp(self.values, axis=2) > 40.0, np.maximum(error, 1.0), error)
        mass = self.mass * np.exp(np.minimum(error, 30.0))
        lower = np.cumsum(mass, axis=1)
        total = lower[:, -1:]
        tail = np.minimum(lower, total - lower + mass)
        harm = np.minimum(error, 1.0) * mass / np.sqrt(tail * total)
        return np.where((self.start < self.stop) & (tail > NEGLIGIBLE * total), harm, 0.0)

    def refined(self) -> Panels:
        """Halve panels until all tails are accurate, or halving them more is of no use."""
        panels, done = self, 0
        for _ in range(ROUNDS):
            harm = panels.errors()
            count = min(AT_ONCE, int((harm > AIM).sum(axis=1).max()))
            if not count or done + count > HALVED:
                break
            worst = np.argsort(-harm, axis=1, kind="stable")[:, :count]
            wanted = np.take_along_axis(harm, worst, 1) > AIM
            panels, done = panels._halved(worst, wanted), done + count
        return panels

    def _halved(self, which: IntArray, wanted: AnyArray) -> Panels:
        """Halve some panels of each row, (n, k), and bring all in order again."""
        at = np.arange(len(which))[:, None], which
        start, stop = self.start[at], self.stop[at]
        middle = np.where(wanted, 0.5 * (start + stop), stop)
        left = self.span.values(start, np.where(wanted, middle, start))
        stops, values = self.stop.copy(), self.values.copy()
        stops[at], values[at] = middle, np.where(wanted[:, :, None], left, values[at])
        pairs = (
            (self.start, middle),
            (stops, stop),
            (values, self.span.values(middle, stop)),
        )
        parts = [np.hstack(pair) for pair in pairs]
        return Panels(
            self.span, *_along(np.argsort(parts[0], axis=1, kind="stable"), *parts)
        )

    def misses(self, place: FloatArray) -> AnyArray:
        """Whether the density is another than was found, at places that differ from row to row, (n,)."""
        mass, missed = self.mass, np.zeros(len(place), dtype=bool)
        sums = np.cumsum(mass, axis=1)
        for k in range(PROBES):
            goal = (np.abs(place) * 1e5 + k * 0.6180339887) % 1.0 * sums[:, -1]
            panel = np.minimum((sums < goal[:, None]).sum(axis=1), mass.shape[1] - 1)
            at = np.arange(len(place)), panel
            within = np.clip(1.0 - (sums[at] - goal) / mass[at], 0.0, 1.0)
            t = self.start[at] + within * (self.stop[at] - self.start[at])
            missed |= np.abs(self.span.height(t) - self.at(t)) > MISSED
        return missed

    def tails(self, v: FloatArray) -> Tails:
        """Integrate to the left and to the right of v, (n,)."""
        span, t = self.span, self.span.t(v)
        left = (
            self.stop <= np.clip(t, span.left, span.right)[:, None]
        )  # v is an end of panels
        (below, lowest, harm), (above, highest, more) = (
            self._end(sign, v, t) for sign in (-1.0, 1.0)
        )
        lower = self.mass.sum(axis=1, where=left) + below + (highest - above)
        upper = self.mass.sum(axis=1, where=~left) + (lowest - below) + above
        total, error = lower + upper, self.errors().sum(axis=1)
        error = np.where(
            np.isfinite(total) & (total > 0), error + (harm + more) / total, np.inf
        )
        return Tails(lower / total, upper / total, error, np.log(total * span.s) + span.top)

    def _end(self, sign: float, v: FloatArray, t: FloatArray) -> tuple[FloatArray, ...]:
        """Return the mass beyond v, that beyond the range, and how much may be wrong, on one side, (n,).

        There g goes on with the slope that it ends with: like an exponential of v where the
        support is bounded (y itself has a power), else of t (v has a power).
        """
        span = self.span
        side, end = (0, span.left) if sign < 0 else (1, span.right)
        stops, in_v = span.stops[side], span.g.bounded[side]
        t_near = end[:, None] - sign * np.array([0.0, 0.1, 0.2])
        height = np.stack([self.at(near) for near in t_near.T], axis=1) - span.top[:, None]
        places = np.where(
            in_v[:, None], span.m[:, None] + span.s[:, None] * np.sinh(t_near), t_near
        )
        # In the unit of g in which s·dt is the mass.
        height += np.where(in_v[:, None], -np.log(span.s[:, None]), np.log(np.cosh(t_near)))
        falls, before = (-sign * np.diff(height) / np.diff(places)).T
        density, place = np.exp(height[:, 0]), places[:, 0]
        mass = np.where(stops | ~(falls > 0), 0.0, density / falls)
        wrong = np.where(falls > 0, mass * np.abs(1.0 - before / falls), density)
        matters = ~stops & (np.maximum(mass, density) > NEGLIGIBLE)
        away = np.maximum(sign * (np.where(in_v, v, t) - place), 0.0)
        beyond = np.where(mass > 0, mass * np.exp(-falls * away), 0.0)
        return beyond, mass, np.where(matters, wrong, 0.0)
