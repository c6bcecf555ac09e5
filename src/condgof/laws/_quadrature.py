"""From a density of one y to its CDF, row by row, and so to normal scores whose null law is known.

For each row the density is brought to the whole line (v = log(y − low), or a logit) and to
t = asinh((v − m) / s), m the main mode and s its width, in which a power falls like an exponential. In
panels of t, halved where need be, the log-density is a polynomial: an error of 1e-6 there is one of 1e-6
*of every tail*. A mode far narrower than it is far away can be overlooked: of mixtures of two to four
components none in 150 at distances of 5 mean widths, 1 at 10, 26 at 100.
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

#: Nodes of a panel, and rows at a time: of each some hundreds of numbers are kept meanwhile.
NODES, BLOCK = 10, 8192
#: Steps from y at which the density is looked at first, to both sides: 16^−11 … 16^11 of a unit; then
#: from the main mode, where others are looked for: 2 … 2^17 of its width.
STEPS, FARTHER = 16.0 ** np.arange(-11, 12), 2.0 ** np.arange(1, 18)
#: How many modes are looked for, and how far one must stand out in the log-density.
MODES, STANDS_OUT = 4, 0.5
#: How far down from the main mode mass is looked for (a logarithm), and where it surely matters.
DEPTH, MATTERS = 34.0, 20.0
#: Errors that are aimed at and accepted, of a tail in units of its square root. An error of z is as
#: large in the middle, and ten times as large at |z| = 3; the estimates are pessimistic, by far.
AIM, ACCEPTED = 3e-6, 3e-4
#: Shares of the mass that do not count; how often panels are halved, how many a row at a time, in all.
NEGLIGIBLE, ROUNDS, AT_ONCE, HALVED = 1e-14, 14, 6, 48
#: How many y of other rows are tried, in case one lies in a mode that was overlooked; how many places of
#: its own each row is tried at afterwards; and how far log g may be from the polynomial there.
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

    It offers normal scores as well if its density can be integrated in every row, which is tried when
    somebody asks for them: 200 to 500 calls of a smooth `log_prob`, and never more than 1,500.
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
        rows = f"{len(bad)} of {len(self.seen)} rows (the first is row {bad[0]}, counted from 0)"
        note = f"the density could not be integrated to a CDF in {rows}, so that only scores were used"
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
        return not self.tails.failed.any() if ability == "normal_scores" else self.law.can(ability)

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
        advice = "Is its integral finite, its support declared? Or compare scores: standardize='none'."
        what = "The density could not be integrated to a CDF"
        refuse_rows(self.tails.failed, what, advice, NumericalError)
        return self.tails.normal_scores()[:, None]

    @property
    def normalised(self) -> bool:  # type: ignore[override]
        return self.law.normalised or self.can("normal_scores")

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log p(y|x), (n,), normalised where the law does not say that it is, and can be."""
        values = np.asarray(self.law.log_prob(y), dtype=np.float64)
        return values if self.law.normalised or not self.normalised else values - self.tails.log_mass


def _tails(law: Law, y: AnyArray) -> Tails:
    """Return the tails of a law at y; if its function fails somewhere, no row has them."""

    def log_prob(at: FloatArray) -> FloatArray:
        return np.asarray(law.log_prob(at.reshape(y.shape)), dtype=np.float64).reshape(len(y))

    try:
        return integrate(log_prob, as_rows(y)[:, 0], law.support)
    except Exception:  # whatever a user's function raises at a y that was not observed
        nothing = np.full(len(y), np.nan)
        return Tails(nothing, nothing, np.full(len(y), np.inf), nothing)


class Places(NamedTuple):
    """Places v from left to right, and log g there, (n, places) each."""

    v: FloatArray
    height: FloatArray

    def and_places(self, more: Places) -> Places:
        both = Places(*map(np.hstack, zip(self, more, strict=True)))
        return Places(*_along(np.argsort(both.v, axis=1, kind="stable"), *both))


class Modes(NamedTuple):
    """Modes, (n, modes), that with the most mass first, and how far on both sides log g falls by 1."""

    v: FloatArray
    height: FloatArray
    width: FloatArray
    left: FloatArray
    right: FloatArray

    @property
    def log_mass(self) -> FloatArray:
        return self.height + np.log(self.width)


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
        ends = np.broadcast_to([[-np.inf], [np.inf]], (2, n)) if line is None else (line.low, line.high)
        low, high = (np.reshape(end, n) for end in ends)
        has_low, has_high = np.isfinite(low), np.isfinite(high)
        both = has_low & has_high
        width = np.where(both, high - low, 1.0)

        def nearest(end: FloatArray) -> FloatArray:
            # Nearer than 2²⁴ of its last digits y is too coarse; tails are continued there.
            room = np.maximum(np.abs(np.where(np.isfinite(end), end, 0.0)) * 2.0**-28, 1e-300) / width
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

    def look(self, v: FloatArray) -> Places:
        """Look at places (n, m), one call for each column."""
        v = np.clip(v, self.low[:, None], self.high[:, None])
        return Places(v, np.stack([self.height(column) for column in v.T], axis=1))

    def first_look(self, v: FloatArray) -> tuple[Places, FloatArray]:
        """Look at v and at growing distances to both sides; also return the unit of distance, (n,)."""
        start = np.clip(v, self.low, self.high)[:, None]
        size = np.abs(start[:, 0])
        # A y that is 0 by chance, or but for rounding, is no unit to measure with.
        size = np.maximum(size, 2.0**-10 * np.median(size))
        fixed = self.bounded[0] | self.bounded[1] | ~(size > 0)
        unit = np.where(fixed, 1.0, 2.0 ** np.frexp(size)[1])
        steps = unit[:, None] * STEPS
        return self.look(np.hstack([start - steps[:, ::-1], start, start + steps])), unit

    def hints(self, y: FloatArray) -> Places:
        """Look at some of the y of all rows: a mode that was overlooked is most likely there."""
        some = np.sort(y)[np.linspace(0, len(y) - 1, HINTS).round().astype(int)]
        v = np.stack([self.of_y(np.full(len(y), value)) for value in np.unique(some)], axis=1)
        known = ~np.isnan(v)  # NaN is what lies outside a row's support
        places = self.look(np.where(known, v, 0.0))
        return Places(places.v, np.where(known, places.height, -np.inf))


def integrate(log_prob: Function, y: FloatArray, support: tuple[Any, Any]) -> Tails:
    """Return both tails of a density at y.

    A kink or a jump away from modes and bounds is closed in by halving, to about 1e-4 of z. A mode far
    narrower than the rest may be overlooked where y is not in it; `PROBES` places of each row look out
    for that, and a law that failed in some rows offers no normal scores.
    """
    g = Density.of(log_prob, support, len(y))
    with np.errstate(all="ignore"):
        v = g.of_y(y)
        seen, unit = g.first_look(v)
        main = find_modes(g, seen, unit, 1)
        steps = main.width * FARTHER
        seen = seen.and_places(g.look(np.hstack([main.v - steps, main.v + steps])))
        modes = find_modes(g, seen, unit, MODES)
        span = Span.of(g, seen, modes)
        hints = g.hints(y)
        lost = span.lost(hints)
        if lost.any():
            parts = ((hints.v, seen.v), (hints.height, seen.height))
            seen = seen.and_places(Places(*(np.where(lost, new, old[:, :1]) for new, old in parts)))
            modes = find_modes(g, seen, unit, MODES)
            span = Span.of(g, seen, modes)
        panels = Panels.of(span, modes, v).refined()
        tails, hints = panels.tails(v), hints.and_places(g.look(v[:, None]))
        failed = panels.misses(v / unit) | span.lost(hints).any(axis=1)
    return tails._replace(error=np.where(failed, np.inf, tails.error))


def find_modes(g: Density, seen: Places, unit: FloatArray, most: int) -> Modes:
    """Find what stands out among places, climb to the top of it, and measure how wide it is."""
    modes: list[tuple[FloatArray, ...]] = []
    free, last = np.isfinite(seen.height), seen.v.shape[1] - 1
    for _ in range(most):
        rows = free.any(axis=1)
        if modes and not rows.any():
            break
        peak = np.argmax(np.where(free, seen.height, -np.inf), axis=1)
        free &= ~_around(seen.height, peak)
        near = np.stack([np.maximum(peak - 1, 0), peak, np.minimum(peak + 1, last)], axis=1)
        top, value = _climb(g, Places(*_along(near, *seen)), np.logical_not(rows))
        left, right = (_fall(g, unit, top, value, sign) for sign in (-1.0, 1.0))
        short, long = np.minimum(left, right), np.maximum(left, right)
        # Next to nothing on one side: there the density begins with a jump.
        width = np.where(short < 1e-3 * long, long, np.maximum(short, long / 30.0))
        modes.append((top, np.where(rows, value, -np.inf), width, left, right))
    found = Modes(*(np.stack(part, axis=1) for part in zip(*modes, strict=True)))
    return Modes(*_along(np.argsort(-found.log_mass, axis=1, kind="stable"), *found))


def _around(height: FloatArray, peak: IntArray) -> AnyArray:
    """Mark the places around a peak, up to where log g rises again by `STANDS_OUT`, (n, places)."""
    marked = np.zeros(height.shape, dtype=bool)
    for way in (1, -1):  # to the right, and to the left
        side = way * (np.arange(height.shape[1]) - peak[:, None]) >= 0
        lowest = np.minimum.accumulate(np.where(side, height, np.inf)[:, ::way], axis=1)[:, ::way]
        rises = side & (height > lowest + STANDS_OUT)
        marked |= side & ~np.logical_or.accumulate(rises[:, ::way], axis=1)[:, ::way]
    return marked


def _climb(g: Density, bracket: Places, done: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Find the maximum between two places that have a higher one between them, and log g there, (n,)."""
    a, b, c = bracket.v.T
    at_a, at_b, at_c = bracket.height.T
    for _ in range(40):  # the golden section of the longer side
        at = np.where(done, b, b + 0.381966 * np.where(c - b > b - a, c - b, a - b))
        value, done = g.height(at), done | (at == b)
        up, right = value > at_b, at > b
        # The higher of the two is the new middle; the other, where it is on that side, the new end.
        end, at_end = np.where(up, b, at), np.where(up, at_b, value)
        a, at_a = np.where(up == right, end, a), np.where(up == right, at_end, at_a)
        c, at_c = np.where(up != right, end, c), np.where(up != right, at_end, at_c)
        b, at_b = np.where(up, at, b), np.where(up, value, at_b)
        done |= at_b - np.minimum(at_a, at_c) <= 1e-5
        if done.all():
            break
    return b, at_b


def _fall(g: Density, unit: FloatArray, top: FloatArray, value: FloatArray, sign: float) -> FloatArray:
    """Return the distance from a mode at which log g falls by 1, or three quarters of it, (n,)."""
    few, many = np.full(len(top), -50.0), np.full(len(top), 45.0)
    for _ in range(8):
        middle = 0.5 * (few + many)
        at = top + sign * unit * 2.0**middle
        fallen = (at < g.low) | (at > g.high) | (g.height(at) < value - 1.0)
        few, many = np.where(fallen, few, middle), np.where(fallen, middle, many)
    return np.asarray(unit * 2.0**few)


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
    #: Where the density ends with a jump, on the left and on the right, so that nothing is beyond.
    stops: tuple[AnyArray, AnyArray]

    @classmethod
    def of(cls, g: Density, seen: Places, modes: Modes) -> Span:
        """Go outwards from the modes until there is no mass to speak of."""
        m, top, s = (part[:, 0] for part in modes[:3])
        (left, stops_left), (right, stops_right) = (_reach(g, seen, modes, sign) for sign in (-1.0, 1.0))
        ends = -np.arcsinh(left / s), np.arcsinh(right / s)
        return cls(g, m, s, top, *ends, (stops_left, stops_right))

    def t(self, v: FloatArray) -> FloatArray:
        """Return t of v, (n,) or (n, places)."""
        m, s = (self.m, self.s) if v.ndim == 1 else (self.m[:, None], self.s[:, None])
        return np.asarray(np.arcsinh((v - m) / s))

    def height(self, t: FloatArray) -> FloatArray:
        return self.g.height(self.m + self.s * np.sinh(t))

    def lost(self, places: Places) -> AnyArray:
        """Mark places outside the range where there is mass nevertheless, (n, places)."""
        t = self.t(places.v)
        outside = (t < self.left[:, None] - 1e-9) | (t > self.right[:, None] + 1e-9)
        return outside & (places.height + np.log(np.cosh(t)) > self.top[:, None] - MATTERS)

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


def _reach(g: Density, seen: Places, modes: Modes, sign: float) -> tuple[FloatArray, AnyArray]:
    """Return how far from the main mode there is mass on one side, and whether g stops there, (n,)."""
    m, near = modes.v[:, :1], (modes.left if sign < 0 else modes.right)[:, 0]
    least = modes.log_mass[:, :1] - DEPTH
    away, others = sign * (seen.v - m), sign * (modes.v - m)
    held = np.where((away > 0) & (seen.height + np.log(away) > least), away, 0.0).max(axis=1)
    far = np.where((others > 0) & (modes.log_mass > least), others + modes.width, 0.0).max(axis=1)
    inner = np.maximum(np.maximum(near, held), far)
    outer = np.where(away > inner[:, None], away, np.inf).min(axis=1)
    endless, last = ~np.isfinite(outer), away.max(axis=1)
    inner, outer = np.where(endless, last, inner), np.where(endless, last, outer)
    beyond = np.where(endless, 0.0, -np.inf)
    for k in range(55):
        # A few steps towards the end of the mass, and many where the density stops there with a jump.
        goes_on = ~endless & ((k < 6) | ~np.isfinite(beyond))
        if not goes_on.any():
            break
        middle = np.sqrt(inner * outer)
        value = g.height(m[:, 0] + sign * middle)
        there = value + np.log(middle) > least[:, 0]
        inner = np.where(goes_on & there, middle, inner)
        outer = np.where(goes_on & ~there, middle, outer)
        beyond = np.where(goes_on & ~there, value, beyond)
    stops = ~np.isfinite(beyond)
    return np.where(stops, inner, outer), stops


@dataclass(frozen=True, eq=False)
class Panels:
    """log g at the nodes (n, panels, nodes) of pieces [start, stop] of t, (n, panels), perhaps empty."""

    span: Span
    start: FloatArray
    stop: FloatArray
    values: FloatArray
    #: The errors of what a panel is a half and a quarter of, (n, panels, 2).
    past: FloatArray

    @classmethod
    def of(cls, span: Span, modes: Modes, v: FloatArray) -> Panels:
        """Cut the range at v (n,), at the modes, and at growing distances from the main one."""
        small = modes.log_mass < modes.log_mass[:, :1] - DEPTH
        t = np.where(small, 0.0, span.t(modes.v))
        width = np.where(small, 0.0, 4.0 * modes.width / (span.s[:, None] * np.cosh(t)))[:, 1:]
        grid = np.broadcast_to(1.5 * 2.0 ** np.arange(7), (len(t), 7))
        left, right = span.left[:, None], span.right[:, None]
        others = t[:, 1:]
        cuts = np.hstack(
            [left, right, -grid, grid, t, others - width, others + width, span.t(v)[:, None]]
        )
        cuts = np.sort(np.clip(cuts, left, right), axis=1)
        start, stop = cuts[:, :-1], cuts[:, 1:]
        # Panels without width last, and as few of them as can be.
        order = np.argsort(start == stop, axis=1, kind="stable")
        most = max(1, int((start < stop).sum(axis=1).max()))
        start, stop = _along(order[:, :most], start, stop)
        return cls(span, start, stop, span.values(start, stop), np.full((*start.shape, 2), np.inf))

    @cached_property
    def coefficients(self) -> FloatArray:
        return np.asarray(self.values @ COEFFICIENTS)

    @cached_property
    def mass(self) -> FloatArray:
        """The integral of exp of the polynomial over each panel, (n, panels)."""
        half, middle, top = 0.5 * (self.stop - self.start), 0.5 * (self.stop + self.start), self.span.top
        # A polynomial far from what it should be, in a valley between modes, may rise to anything.
        mass, most = np.empty_like(half), self.values.max(axis=2) + 2.0
        for k in range(half.shape[1]):
            logs = np.minimum(self.coefficients[:, k] @ FINE_VALUES, most[:, k, None]) - top[:, None]
            slope = np.cosh(middle[:, k, None] + half[:, k, None] * FINE_X)
            mass[:, k] = half[:, k] * ((np.exp(logs) * slope) @ FINE_W)
        return mass

    def at(self, t: FloatArray) -> FloatArray:
        """Return log g at t, (n,), from the polynomial of the panel that it is in or next to."""
        away = np.maximum(self.start - t[:, None], t[:, None] - self.stop)
        inside = np.arange(len(t)), np.argmin(np.where(self.start < self.stop, away, np.inf), axis=1)
        start, stop = self.start[inside], self.stop[inside]
        x = np.clip((2.0 * t - start - stop) / (stop - start), -1.0, 1.0)
        return np.asarray(legval(x, self.coefficients[inside].T, tensor=False))

    def errors(self) -> tuple[FloatArray, FloatArray]:
        """Return the error of log g in each panel, and of tails because of it, (n, panels) each."""
        error = np.abs(self.coefficients[:, :, -2:]).sum(axis=2)
        # exp of a polynomial that falls too far is not integrated well.
        error = np.where(np.ptp(self.values, axis=2) > 40.0, np.maximum(error, 1.0), error)
        mass = self.mass * np.exp(np.minimum(error, 30.0))
        order = np.argsort(self.start, axis=1, kind="stable")
        sums = np.cumsum(np.take_along_axis(mass, order, 1), axis=1)
        lower, total = np.empty_like(mass), sums[:, -1:]
        np.put_along_axis(lower, order, sums, 1)
        tail = np.minimum(lower, total - lower + mass)
        harm = np.minimum(error, 1.0) * mass / np.sqrt(tail * total)
        return error, np.where((self.start < self.stop) & (tail > NEGLIGIBLE * total), harm, 0.0)

    def refined(self) -> Panels:
        """Halve panels until all tails are accurate, or halving them more is of no use."""
        panels, done = self, 0
        for _ in range(ROUNDS):
            error, harm = panels.errors()
            # Rounding of the log-density, perhaps in single precision, does not get less.
            rounding = (error > 0.6 * panels.past[:, :, 1]) & (error < 1e-3)
            harm = np.where(rounding, 0.0, harm)
            count = min(AT_ONCE, int((harm > AIM).sum(axis=1).max()))
            if not count or done + count > HALVED:
                break
            worst = np.argsort(-harm, axis=1, kind="stable")[:, :count]
            wanted = np.take_along_axis(harm, worst, 1) > AIM
            panels, done = panels._halved(worst, wanted, error), done + count
        return panels

    def _halved(self, which: IntArray, wanted: AnyArray, error: FloatArray) -> Panels:
        """Halve some panels of each row, (n, k): the left half takes the place of the whole."""
        halves, at = wanted[:, :, None], (np.arange(len(which))[:, None], which)
        start, stop, before = self.start[at], self.stop[at], self.past[at]
        middle = np.where(wanted, 0.5 * (start + stop), stop)
        left = self.span.values(start, np.where(wanted, middle, start))
        stops, values, pasts = self.stop.copy(), self.values.copy(), self.past.copy()
        past = np.where(halves, np.stack([error[at], before[:, :, 0]], axis=2), before)
        stops[at], values[at], pasts[at] = middle, np.where(halves, left, values[at]), past
        more = middle, stop, self.span.values(middle, stop), past
        parts = zip((self.start, stops, values, pasts), more, strict=True)
        return Panels(self.span, *map(np.hstack, parts))

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
        left = self.stop <= np.clip(t, span.left, span.right)[:, None]  # v is an end of panels
        (below, lowest, harm), (above, highest, more) = (self._end(sign, v, t) for sign in (-1.0, 1.0))
        lower = self.mass.sum(axis=1, where=left) + below + (highest - above)
        upper = self.mass.sum(axis=1, where=~left) + (lowest - below) + above
        total, error = lower + upper, self.errors()[1].sum(axis=1)
        error = np.where(np.isfinite(total) & (total > 0), error + (harm + more) / total, np.inf)
        return Tails(lower / total, upper / total, error, np.log(total * span.s) + span.top)

    def _end(self, sign: float, v: FloatArray, t: FloatArray) -> tuple[FloatArray, ...]:
        """Return the mass beyond v, that beyond the range, and how much may be wrong, on one side, (n,).

        There g goes on with the slope that it ends with: like an exponential of v where the support is
        bounded (y itself has a power), else of t (v has a power).
        """
        span = self.span
        side, end = (0, span.left) if sign < 0 else (1, span.right)
        stops, in_v = span.stops[side], span.g.bounded[side]
        t_near = end[:, None] - sign * np.array([0.0, 0.1, 0.2])
        height = np.stack([self.at(near) for near in t_near.T], axis=1) - span.top[:, None]
        places = np.where(in_v[:, None], span.m[:, None] + span.s[:, None] * np.sinh(t_near), t_near)
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
