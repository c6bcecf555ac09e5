"""From a density of one y to its CDF, row by row, and so to normal scores whose null law is known.

For each row the density is brought to the whole line (v = log(y − low), or a logit), and from there to

    t = asinh((v − m) / s),   m the main mode, s its width,

in which a tail that falls like a power falls like an exponential. The range of t is cut into panels, and
in each the log-density is a polynomial through its values at Gauss–Legendre nodes: an error of 1e-6
there is an error of 1e-6 *of every tail*, however small the tail. Panels whose last coefficients are
not small are halved. The rest is arithmetic: exp of the polynomials is integrated on both sides of y.

All rows are done at once, one call of the log-density for each node, and each row by itself (but where
the y of other rows lie in a mode that was overlooked): parts of a sample get what the whole gets.

A mode that is much narrower than it is far away can be overlooked, and nothing tells: of mixtures
of two to four components none in 1,350 at distances up to 5 mean widths, 1 in 180 at 10, 24 at 100.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import log_expit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import NumericalError, refuse_rows
from condgof.laws._law import TINY, Law, as_rows, same_as, tail_scores
from condgof.laws._line import Line

#: Nodes of a panel.
NODES = 10
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
#: Shares of the mass that do not count.
NEGLIGIBLE = 1e-14
#: How many times panels are halved, how many of a row at a time, and in all.
ROUNDS, AT_ONCE, HALVED = 14, 6, 48
#: How many y of other rows are tried, in case one lies in a mode that was overlooked; how many places of
#: its own each row is tried at afterwards; and how far log g may be from the polynomial there.
HINTS, PROBES, MISSED = 9, 6, 1e-2
#: Rows at a time: of each some hundreds of numbers are kept meanwhile.
BLOCK = 8192

X, W = np.polynomial.legendre.leggauss(NODES)
DEGREES = np.arange(NODES)
#: From values at the nodes to Legendre coefficients.
COEFFICIENTS = np.polynomial.legendre.legvander(X, NODES - 1) * W[:, None] * (DEGREES + 0.5)
#: A finer rule in [−1, 1], four times twelve nodes, which integrates exp of a polynomial.
_x, _w = np.polynomial.legendre.leggauss(12)
FINE_X = (np.array([-0.75, -0.25, 0.25, 0.75])[:, None] + _x / 4).ravel()
FINE_W = np.tile(_w / 4, 4)
FINE_VALUES = np.polynomial.legendre.legvander(FINE_X, NODES - 1).T

Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Tails:
    """P(Y ≤ y | x) and P(Y > y | x), (n,) each, and estimates of their errors, in units of `AIM`.

    An error is infinite where the density could not be integrated. `log_mass` is the logarithm of the
    integral, 0 for a density that is normalised.
    """

    lower: FloatArray
    upper: FloatArray
    error: FloatArray
    log_mass: FloatArray

    @classmethod
    def joined(cls, parts: list[Tails]) -> Tails:
        """Put those of some rows after those of others."""
        whole = (np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls))
        return cls(*whole)

    def take(self, rows: IntArray) -> Tails:
        """Return those of some rows."""
        return Tails(*(getattr(self, each.name)[rows] for each in fields(self)))

    @property
    def failed(self) -> AnyArray:
        """Rows whose density was not resolved, (n,)."""
        return ~(self.error <= ACCEPTED)

    def normal_scores(self) -> FloatArray:
        """Return Φ⁻¹ of the CDF, (n,)."""
        return tail_scores(self.lower, self.upper, TINY)


@dataclass(frozen=True, eq=False)
class Integrated(Law):
    """A law of one y that has a density and no CDF, told which y it will be asked about.

    It is that law, and offers normal scores as well if its density can be integrated in every row: only
    y can tell, because the search for the mass begins there. Nothing is computed before somebody asks
    whether it ``can("normal_scores")``, or for them. A smooth density takes 200 to 400 calls of
    `log_prob`, each with one y for every row, and none takes more than 1,500.
    """

    #: With `log_prob`, which need not be normalised.
    law: Law
    #: The y, (n,) or (n, 1).
    seen: AnyArray
    #: The tails there, if they have been computed.
    known: Tails | None = None

    rows, name, index = same_as("law.rows"), same_as("law.name"), same_as("law.index")
    support, lacks = same_as("law.support"), same_as("law.lacks")
    score, score_and_error = same_as("law.score"), same_as("law.score_and_error")
    sample, marginals = same_as("law.sample"), same_as("law.marginals")
    mean_std, location_scale = same_as("law.mean_std"), same_as("law.location_scale")

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of the law, and that it was not integrated, if so."""
        found: Tails | None = vars(self).get("tails", self.known)
        bad = np.flatnonzero([] if found is None else found.failed)
        if not len(bad):
            return self.law.notes
        return (
            *self.law.notes,
            f"the density could not be integrated to a CDF in {len(bad)} of {len(self.seen)} rows (the "
            f"first is row {bad[0]}, counted from 0), so that only scores of the model were used",
        )

    def noted(self, *notes: str) -> Self:
        return replace(self, law=self.law.noted(*notes), known=vars(self).get("tails", self.known))

    def take(self, rows: IntArray) -> Law:
        found: Tails | None = vars(self).get("tails", self.known)
        return Integrated(self.law.take(rows), self.seen[rows], found and found.take(rows))

    def can(self, ability: str) -> bool:
        return not self.tails.failed.any() if ability == "normal_scores" else self.law.can(ability)

    def facing(self, y: AnyArray) -> Law:
        return self if np.array_equal(y, self.seen) else self.law.facing(y)

    @cached_property
    def tails(self) -> Tails:
        """Both tails at the y that it was told of."""
        if self.known is not None:
            return self.known
        rows = np.arange(len(self.seen))
        if len(rows) <= BLOCK:  # a function may be bound to its rows
            return _tails(self.law, self.seen)
        blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
        return Tails.joined([_tails(self.law.take(block), self.seen[block]) for block in blocks])

    def normal_scores(self, y: AnyArray) -> FloatArray:
        y = self._checked(y)
        if not np.array_equal(y, self.seen):
            return self.law.facing(y).normal_scores(y)
        refuse_rows(
            self.tails.failed,
            "The density could not be integrated to a CDF",
            "Is its integral finite, and was its support declared (support=)? Give a model with a CDF, "
            "or pass standardize='none' to compare y by scores alone.",
            NumericalError,
        )
        return self.tails.normal_scores()[:, None]

    @property
    def normalised(self) -> bool:  # type: ignore[override]
        """Whether it is, or its integral is known."""
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


@dataclass(frozen=True, eq=False)
class Axis:
    """The line v to which y is brought, and the part of it where y can be told from its bounds."""

    line: Line | None
    #: Ends of that part, (n,) each, and whether the support ends beyond them.
    low: FloatArray
    high: FloatArray
    ends_low: AnyArray
    ends_high: AnyArray

    @classmethod
    def of(cls, support: tuple[AnyArray, AnyArray], n: int) -> Axis:
        """Read the support of a law."""
        line = Line.of(support, n, 1)
        if line is None:
            never, far = np.zeros(n, dtype=bool), np.full(n, 1e150)
            return cls(None, -far, far, never, never)
        low, high = line.low[:, 0], line.high[:, 0]
        has_low, has_high = np.isfinite(low), np.isfinite(high)
        both = has_low & has_high
        width = np.where(both, np.where(both, high, 1.0) - np.where(both, low, 0.0), 1.0)

        def nearest(end: FloatArray) -> FloatArray:
            # Nearer than 2²⁴ of its last digits y is too coarse; tails are continued there.
            room = np.maximum(np.abs(np.where(np.isfinite(end), end, 0.0)) * 2.0**-28, 1e-300) / width
            return np.asarray(np.log(np.where(both, np.minimum(room, 1e-6), room)))

        free = np.where(has_low | has_high, 690.0, 1e150)
        lowest = np.where(has_low, nearest(low), -free)
        return cls(line, lowest, np.where(has_high, -nearest(high), free), has_low, has_high)

    @property
    def bounded(self) -> AnyArray:
        """Rows whose support has an end."""
        return self.ends_low | self.ends_high

    def of_y(self, y: FloatArray) -> FloatArray:
        """Return v, (n,)."""
        return y if self.line is None else self.line.forward(y[:, None])[:, 0]

    def to_y(self, v: FloatArray) -> FloatArray:
        """Return y, (n,)."""
        return v if self.line is None else self.line.backward(v[:, None])[:, 0]

    def log_slope(self, v: FloatArray) -> FloatArray:
        """Return log dy/dv, (n,)."""
        if self.line is None:
            return np.zeros_like(v)
        one = np.where(self.ends_low, v, np.where(self.ends_high, -v, 0.0))
        width = (self.line.high - self.line.low)[:, 0]
        return np.where(np.isfinite(width), np.log(width) + log_expit(v) + log_expit(-v), one)

    def clip(self, v: FloatArray) -> FloatArray:
        """Keep v, (n,) or (n, m), where it can be told from the bounds."""
        low, high = (self.low, self.high) if v.ndim == 1 else (self.low[:, None], self.high[:, None])
        return np.clip(v, low, high)


def integrate(log_prob: Function, y: FloatArray, support: tuple[Any, Any]) -> Tails:
    """Return both tails of a density at y.

    Notes
    -----
    What is not smooth costs calls: a kink or a jump away from modes and bounds is closed in by halving,
    to about 1e-4 of z. A density of which more than `HALVED` panels of a row must be halved is not
    integrated. A mode that is a hundred times narrower than the rest and somewhere else in each row may
    be overlooked where y is not in it; `PROBES` places of each row look out for that, so that it is
    noticed in some of many rows, and a law that failed in some rows offers no normal scores.

    Examples
    --------
    >>> mean = np.array([0.0, 5.0, -1.0])
    >>> tails = integrate(lambda y: -0.5 * (y - mean) ** 2, np.ones(3), (-np.inf, np.inf))
    >>> tails.normal_scores().round(5)
    array([ 1., -4.,  2.])
    """
    axis = Axis.of(support, len(y))

    def height(v: FloatArray) -> FloatArray:
        v = axis.clip(v)
        values = log_prob(axis.to_y(v)) + axis.log_slope(v)
        return np.where(np.isfinite(values), values, -np.inf)

    with np.errstate(all="ignore"):
        v = axis.of_y(y)
        scan = Scan.of(height, axis, v)
        scan = scan.wider(height, axis, find_modes(height, axis, scan, 1))
        modes = find_modes(height, axis, scan, MODES)
        span = Span.of(height, scan, modes)
        hints = _hints(height, axis, y)
        lost = span.lost(hints)
        if lost.any():
            scan = scan.beside(hints, lost)
            modes = find_modes(height, axis, scan, MODES)
            span = Span.of(height, scan, modes)
        hints = hints.with_place(axis.clip(v), height(v))
        panels = Panels.of(height, span, modes).refined(height, span, hints)
        tails = panels.tails(span, axis, hints, v)
        missed = panels.misses(height, span, v / scan.unit)
    return replace(tails, error=np.where(missed | span.lost(hints).any(axis=1), np.inf, tails.error))


@dataclass(frozen=True, eq=False)
class Places:
    """Places v and the log-density g there, (n, places) each."""

    v: FloatArray
    height: FloatArray

    @classmethod
    def of(cls, height: Function, v: FloatArray) -> Self:
        """Look at the density, one call for each column of v."""
        return cls(v, np.stack([height(column) for column in v.T], axis=1))

    def with_place(self, v: FloatArray, height: FloatArray) -> Places:
        """Return them with one place more for each row."""
        return Places(np.column_stack([self.v, v]), np.column_stack([self.height, height]))


def _hints(height: Function, axis: Axis, y: FloatArray) -> Places:
    """Look at some of the y of all rows: a mode that was overlooked is most likely there."""
    some = np.sort(y)[np.linspace(0, len(y) - 1, HINTS).round().astype(int)]
    v = axis.clip(np.stack([axis.of_y(np.full(len(y), value)) for value in np.unique(some)], axis=1))
    known = ~np.isnan(v)  # NaN is what lies outside a row's support
    found = Places.of(height, np.where(known, v, axis.clip(np.zeros(len(y)))[:, None]))
    return replace(found, height=np.where(known, found.height, -np.inf))


@dataclass(frozen=True, eq=False)
class Scan(Places):
    """Places from left to right, at y and at growing distances to both sides."""

    #: The distance in the middle, a power of two, (n,).
    unit: FloatArray

    @classmethod
    def of(cls, height: Function, axis: Axis, v: FloatArray) -> Scan:  # type: ignore[override]
        start = axis.clip(v)[:, None]
        size = np.abs(start[:, 0])
        # A y that is 0 by chance, or but for rounding, is no unit to measure with.
        size = np.maximum(size, 2.0**-10 * np.median(size))
        unit = np.where(axis.bounded | ~(size > 0), 1.0, 2.0 ** np.frexp(size)[1])
        steps = unit[:, None] * STEPS
        places = Places.of(height, axis.clip(np.hstack([start - steps[:, ::-1], start, start + steps])))
        return cls(places.v, places.height, unit)

    def wider(self, height: Function, axis: Axis, main: Modes) -> Scan:
        """Return it with more places, at distances from a mode that double."""
        steps = main.width * FARTHER
        return self.and_places(Places.of(height, axis.clip(np.hstack([main.v - steps, main.v + steps]))))

    def beside(self, hints: Places, which: AnyArray) -> Scan:
        """Return it with those hints, (n, hints), that it knew nothing of."""
        v, height = (np.where(which, new, old[:, :1])
                     for new, old in ((hints.v, self.v), (hints.height, self.height)))  # fmt: skip
        return self.and_places(Places(v, height))

    def and_places(self, more: Places) -> Scan:
        """Return it with more places, in their order."""
        v, height = np.hstack([self.v, more.v]), np.hstack([self.height, more.height])
        order = np.argsort(v, axis=1, kind="stable")
        return Scan(np.take_along_axis(v, order, 1), np.take_along_axis(height, order, 1), self.unit)


@dataclass(frozen=True, eq=False)
class Modes(Places):
    """Modes of each row, the one with the most mass first; g is 0 where a row has fewer of them."""

    #: Their widths, (n, modes); and the distances to both sides at which log g falls by 1.
    width: FloatArray
    left: FloatArray
    right: FloatArray

    @property
    def log_mass(self) -> FloatArray:
        """The logarithm of about the mass that each has, (n, modes)."""
        return self.height + np.log(self.width)


def find_modes(height: Function, axis: Axis, scan: Scan, most: int) -> Modes:
    """Find what stands out in the scan, climb to the top of it, and measure how wide it is."""
    found: list[tuple[FloatArray, ...]] = []
    free, last = np.isfinite(scan.height), scan.v.shape[1] - 1
    for _ in range(most):
        rows = free.any(axis=1)
        if found and not rows.any():
            break
        peak = np.argmax(np.where(free, scan.height, -np.inf), axis=1)
        free &= ~_around(scan.height, peak)
        near = np.stack([np.maximum(peak - 1, 0), peak, np.minimum(peak + 1, last)], axis=1)
        bracket = Places(*(np.take_along_axis(part, near, 1) for part in (scan.v, scan.height)))
        top, value = _climb(height, bracket, np.logical_not(rows))
        left, right = (_fall(height, axis, scan.unit, top, value, sign) for sign in (-1.0, 1.0))
        short, long = np.minimum(left, right), np.maximum(left, right)
        # Next to nothing on one side: there the density begins with a jump.
        width = np.where(short < 1e-3 * long, long, np.maximum(short, long / 30.0))
        found.append((top, np.where(rows, value, -np.inf), width, left, right))
    modes = Modes(*(np.stack(part, axis=1) for part in zip(*found, strict=True)))
    order = np.argsort(-modes.log_mass, axis=1, kind="stable")
    parts = (modes.v, modes.height, modes.width, modes.left, modes.right)
    return Modes(*(np.take_along_axis(part, order, 1) for part in parts))


def _around(height: FloatArray, peak: IntArray) -> AnyArray:
    """Mark the places around a peak, up to where log g rises again by `STANDS_OUT`, (n, places)."""
    n, places = height.shape
    marked = np.zeros((n, places), dtype=bool)
    for columns in (range(places), range(places - 1, -1, -1)):
        lowest, under, over = np.full(n, np.inf), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        for c in columns:
            under |= c == peak
            lowest = np.where(under, np.minimum(lowest, height[:, c]), lowest)
            over |= under & (height[:, c] > lowest + STANDS_OUT)
            marked[:, c] |= under & ~over
    return marked


def _climb(height: Function, bracket: Places, done: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Find the maximum between two places that have a higher one between them, and log g there, (n,)."""
    a, b, c = bracket.v.T
    at_a, at_b, at_c = bracket.height.T
    for k in range(40):
        # The top of a parabola through the three, in turn with a golden section of the longer side.
        rise, fall = (at_b - at_a) / (b - a), (at_c - at_b) / (c - b)
        bend = (fall - rise) / (c - a)
        top = 0.5 * (a + b) - 0.5 * rise / bend
        expected = at_b - bend * np.square(b - top)
        parabola = (k % 2 == 0) & (bend < 0) & (top > a) & (top < c)
        golden = b + 0.381966 * np.where(c - b > b - a, c - b, a - b)
        at = np.where(done, b, np.where(parabola, top, golden))
        value = height(at)
        done = done | (parabola & (np.abs(value - expected) <= 1e-5)) | (at == b)
        up, right = value > at_b, at > b
        # The higher of the two is the new middle; the other, where it is on that side, the new end.
        a, at_a = _end(up == right, up, (a, at_a), (b, at_b), (at, value))
        c, at_c = _end(up != right, up, (c, at_c), (b, at_b), (at, value))
        b, at_b = np.where(up, at, b), np.where(up, value, at_b)
        done |= at_b - np.minimum(at_a, at_c) <= 1e-5
        if done.all():
            break
    return b, at_b


def _end(moves: AnyArray, up: AnyArray, *places: tuple[FloatArray, FloatArray]) -> Iterator[FloatArray]:
    """Move an end of a bracket to what was the middle, where the new place is higher, or to that."""
    return (np.where(moves, np.where(up, middle, new), old)
            for old, middle, new in zip(*places, strict=True))  # fmt: skip


def _fall(
    height: Function, axis: Axis, unit: FloatArray, top: FloatArray, value: FloatArray, sign: float
) -> FloatArray:
    """Return the distance from a mode at which log g falls by 1, or three quarters of it, (n,)."""
    few, many = np.full(len(top), -50.0), np.full(len(top), 45.0)
    for _ in range(8):
        middle = 0.5 * (few + many)
        at = top + sign * unit * 2.0**middle
        fallen = (at < axis.low) | (at > axis.high) | (height(at) < value - 1.0)
        few, many = np.where(fallen, few, middle), np.where(fallen, middle, many)
    return np.asarray(unit * 2.0**few)


@dataclass(frozen=True, eq=False)
class Span:
    """The coordinate t = asinh((v − m) / s) of each row, and the range its mass is in, (n,) each."""

    m: FloatArray
    s: FloatArray
    #: log g at the main mode, from which it is counted.
    top: FloatArray
    left: FloatArray
    right: FloatArray
    #: Where the density ends with a jump, so that nothing is beyond.
    stops_left: AnyArray
    stops_right: AnyArray

    @classmethod
    def of(cls, height: Function, scan: Scan, modes: Modes) -> Span:
        """Go outwards from the modes until there is no mass to speak of."""
        m, s, top = modes.v[:, 0], modes.width[:, 0], modes.height[:, 0]
        left, stops_left = _reach(height, scan, modes, -1.0)
        right, stops_right = _reach(height, scan, modes, 1.0)
        return cls(m, s, top, -np.arcsinh(left / s), np.arcsinh(right / s), stops_left, stops_right)

    def t(self, v: FloatArray) -> FloatArray:
        """Return t of v, (n,) or (n, places)."""
        m, s = (self.m, self.s) if v.ndim == 1 else (self.m[:, None], self.s[:, None])
        return np.asarray(np.arcsinh((v - m) / s))

    def v(self, t: FloatArray) -> FloatArray:
        """Return v, (n,)."""
        return np.asarray(self.m + self.s * np.sinh(t))

    def lost(self, places: Places) -> AnyArray:
        """Mark places outside the range where there is mass nevertheless, (n, places)."""
        t = self.t(places.v)
        outside = (t < self.left[:, None] - 1e-9) | (t > self.right[:, None] + 1e-9)
        return outside & (places.height + np.log(np.cosh(t)) > self.top[:, None] - MATTERS)


def _reach(height: Function, scan: Scan, modes: Modes, sign: float) -> tuple[FloatArray, AnyArray]:
    """Return how far from the main mode there is mass on one side, and whether g stops there, (n,)."""
    m, near = modes.v[:, :1], (modes.left if sign < 0 else modes.right)[:, 0]
    least = modes.log_mass[:, :1] - DEPTH
    away, others = sign * (scan.v - m), sign * (modes.v - m)
    seen = np.where((away > 0) & (scan.height + np.log(away) > least), away, 0.0).max(axis=1)
    far = np.where((others > 0) & (modes.log_mass > least), others + modes.width, 0.0).max(axis=1)
    inner = np.maximum(np.maximum(near, seen), far)
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
        value = height(m[:, 0] + sign * middle)
        there = value + np.log(middle) > least[:, 0]
        inner = np.where(goes_on & there, middle, inner)
        outer = np.where(goes_on & ~there, middle, outer)
        beyond = np.where(goes_on & ~there, value, beyond)
    stops = ~np.isfinite(beyond)
    return np.where(stops, inner, outer), stops


@dataclass(frozen=True, eq=False)
class Panels:
    """log g in pieces: [start, stop] in t, (n, panels), and values at the nodes (n, panels, nodes).

    Where a row has fewer panels, start and stop are the same. `past` has the errors of what a panel is a
    half and a quarter of, (n, panels, 2).
    """

    start: FloatArray
    stop: FloatArray
    values: FloatArray
    past: FloatArray

    @classmethod
    def of(cls, height: Function, span: Span, modes: Modes) -> Panels:
        """Cut the range at the modes and at growing distances from the main one."""
        small = modes.log_mass < modes.log_mass[:, :1] - DEPTH
        t = np.where(small, 0.0, span.t(modes.v))
        width = np.where(small, 0.0, 4.0 * modes.width / (span.s[:, None] * np.cosh(t)))[:, 1:]
        grid = np.broadcast_to(1.5 * 2.0 ** np.arange(7), (len(t), 7))
        left, right = span.left[:, None], span.right[:, None]
        cuts = np.hstack([left, right, -grid, grid, t, t[:, 1:] - width, t[:, 1:] + width])
        cuts = np.sort(np.clip(cuts, left, right), axis=1)
        start, stop = cuts[:, :-1], cuts[:, 1:]
        # Panels without width last, and as few of them as can be.
        order = np.argsort(start == stop, axis=1, kind="stable")
        most = max(1, int((start < stop).sum(axis=1).max()))
        start, stop = (np.take_along_axis(part, order, 1)[:, :most] for part in (start, stop))
        return cls(start, stop, _values(height, span, start, stop), np.full((*start.shape, 2), np.inf))

    @property
    def exists(self) -> AnyArray:
        """Panels that have a width, (n, panels)."""
        return self.start < self.stop

    @cached_property
    def coefficients(self) -> FloatArray:
        """Legendre coefficients, (n, panels, nodes)."""
        return np.asarray(self.values @ COEFFICIENTS)

    def masses(self, span: Span) -> FloatArray:
        """Return about the mass of each, (n, panels)."""
        half, middle = 0.5 * (self.stop - self.start), 0.5 * (self.stop + self.start)
        slope = np.cosh(middle[:, :, None] + half[:, :, None] * X)
        return np.asarray(half * ((np.exp(self.values - span.top[:, None, None]) * slope) @ W))

    def at(self, t: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the panel that t, (n,), is in, or the nearest, and the polynomial there."""
        away = np.maximum(self.start - t[:, None], t[:, None] - self.stop)
        inside = np.argmin(np.where(self.exists, away, np.inf), axis=1)
        rows = np.arange(len(t))
        start, stop = self.start[rows, inside], self.stop[rows, inside]
        x = np.clip((2.0 * t - start - stop) / (stop - start), -1.0, 1.0)
        return inside, _series(self.coefficients[rows, inside], x[:, None])[:, 0]

    def errors(self, span: Span, hints: Places) -> tuple[FloatArray, FloatArray]:
        """Return the error of log g in each panel, and of tails because of it, (n, panels) each."""
        error = np.abs(self.coefficients[:, :, -2:]).sum(axis=2)
        for t, height in zip(span.t(hints.v).T, hints.height.T, strict=True):
            inside, value = self.at(np.clip(t, span.left, span.right))
            apart = np.abs(value - height)
            high = np.maximum(value, height) + np.log(np.cosh(t)) > span.top - MATTERS
            matters = high & (apart > 1e-4) & (t >= span.left) & (t <= span.right)
            rows = np.flatnonzero(matters)
            error[rows, inside[rows]] = np.maximum(error[rows, inside[rows]], apart[rows])
        # exp of a polynomial that falls too far is not integrated well.
        error = np.where(np.ptp(self.values, axis=2) > 40.0, np.maximum(error, 1.0), error)
        mass = self.masses(span) * np.exp(np.minimum(error, 30.0))
        order = np.argsort(self.start, axis=1, kind="stable")
        sums = np.cumsum(np.take_along_axis(mass, order, 1), axis=1)
        lower, total = np.empty_like(mass), sums[:, -1:]
        np.put_along_axis(lower, order, sums, 1)
        tail = np.minimum(lower, total - lower + mass)
        harm = np.minimum(error, 1.0) * mass / np.sqrt(tail * total)
        return error, np.where(self.exists & (tail > NEGLIGIBLE * total), harm, 0.0)

    def refined(self, height: Function, span: Span, hints: Places) -> Panels:
        """Halve panels until all tails are accurate, or halving them more is of no use."""
        panels, done = self, 0
        for _ in range(ROUNDS):
            error, harm = panels.errors(span, hints)
            # Rounding of the log-density, perhaps in single precision, does not get less.
            rounding = (error > 0.6 * panels.past[:, :, 1]) & (error < 1e-3)
            harm = np.where(rounding, 0.0, harm)
            count = min(AT_ONCE, int((harm > AIM).sum(axis=1).max()))
            if not count or done + count > HALVED:
                break
            worst = np.argsort(-harm, axis=1, kind="stable")[:, :count]
            wanted = np.take_along_axis(harm, worst, 1) > AIM
            panels, done = panels._halved(height, span, worst, wanted, error), done + count
        return panels

    def _halved(
        self, height: Function, span: Span, which: IntArray, wanted: AnyArray, error: FloatArray
    ) -> Panels:
        """Halve some panels of each row, (n, k): the left half takes the place of the whole."""
        each = which[:, :, None]
        start, stop = (np.take_along_axis(part, which, 1) for part in (self.start, self.stop))
        middle = np.where(wanted, 0.5 * (start + stop), stop)
        left = _values(height, span, start, np.where(wanted, middle, start))
        left = np.where(wanted[:, :, None], left, np.take_along_axis(self.values, each, 1))
        before = np.take_along_axis(self.past, each, 1)
        past = np.stack([np.take_along_axis(error, which, 1), before[:, :, 0]], axis=2)
        past = np.where(wanted[:, :, None], past, before)
        stops, values, pasts = self.stop.copy(), self.values.copy(), self.past.copy()
        np.put_along_axis(stops, which, middle, 1)
        np.put_along_axis(values, each, left, 1)
        np.put_along_axis(pasts, each, past, 1)
        return Panels(
            np.hstack([self.start, middle]),
            np.hstack([stops, stop]),
            np.hstack([values, _values(height, span, middle, stop)]),
            np.hstack([pasts, past]),
        )

    def misses(self, height: Function, span: Span, own: FloatArray) -> AnyArray:
        """Whether the density is another than was found, at places that differ from row to row, (n,)."""
        mass = self.masses(span)
        sums = np.cumsum(mass, axis=1)
        rows, missed = np.arange(len(own)), np.zeros(len(own), dtype=bool)
        for k in range(PROBES):
            share = (np.abs(own) * 1e5 + k * 0.6180339887) % 1.0
            goal = share * sums[:, -1]
            k_th = np.minimum((sums < goal[:, None]).sum(axis=1), mass.shape[1] - 1)
            within = 1.0 - (sums[rows, k_th] - goal) / mass[rows, k_th]
            start, stop = self.start[rows, k_th], self.stop[rows, k_th]
            t = start + np.clip(within, 0.0, 1.0) * (stop - start)
            missed |= np.abs(height(span.v(t)) - self.at(t)[1]) > MISSED
        return missed

    def tails(self, span: Span, axis: Axis, hints: Places, v: FloatArray) -> Tails:
        """Integrate to the left and to the right of v, (n,)."""
        t, rows = span.t(v), np.arange(len(v))
        # A polynomial far from what it should be, in a valley between modes, may rise to anything.
        most = self.values.max(axis=2) + 2.0
        mass = np.empty_like(most)
        for k in range(mass.shape[1]):
            logs = np.minimum(self.coefficients[:, k] @ FINE_VALUES, most[:, k, None])
            mass[:, k] = _integral(span, logs, self.start[:, k], self.stop[:, k])
        inside = self.at(np.clip(t, span.left, span.right))[0]
        own, top = self.coefficients[rows, inside], most[rows, inside, None]
        start, stop = self.start[rows, inside], self.stop[rows, inside]
        at = np.clip(t, start, stop)
        # The panel that v is in: x is the place in it, from −1 to 1.
        x = ((2.0 * at - start - stop) / (stop - start))[:, None]
        left = np.minimum(_series(own, 0.5 * (x - 1.0) + 0.5 * (x + 1.0) * FINE_X), top)
        right = np.minimum(_series(own, 0.5 * (x + 1.0) + 0.5 * (1.0 - x) * FINE_X), top)
        lower = _integral(span, left, start, at) + mass.sum(axis=1, where=self.stop <= start[:, None])
        upper = _integral(span, right, at, stop) + mass.sum(axis=1, where=self.start >= stop[:, None])
        error, harm = self.errors(span, hints)[1].sum(axis=1), np.zeros(len(v))
        for sign in (-1.0, 1.0):
            end = End.of(self, span, axis, sign)
            out = end.beyond(v, t)
            lower = lower + (out if sign < 0 else end.mass - out)
            upper = upper + (out if sign > 0 else end.mass - out)
            harm = harm + end.harm
        total = lower + upper
        error = np.where(np.isfinite(total) & (total > 0), error + harm / total, np.inf)
        return Tails(lower / total, upper / total, error, np.log(total * span.s) + span.top)


@dataclass(frozen=True, eq=False)
class End:
    """What is beyond the range on one side: g is continued there, with the slope that it ends with.

    It falls like an exponential of v where the support is bounded (there y itself has a power), and of t
    elsewhere (there v has a power).
    """

    sign: float
    #: Whether in v, and from where on, (n,).
    in_v: AnyArray
    place: FloatArray
    #: The rate at which it falls, the mass, and how much of that may be wrong, (n,).
    rate: FloatArray
    mass: FloatArray
    harm: FloatArray

    @classmethod
    def of(cls, panels: Panels, span: Span, axis: Axis, sign: float) -> End:
        """Continue the outermost panels."""
        rows, stops = np.arange(len(span.m)), span.stops_left if sign < 0 else span.stops_right
        in_v, t = (axis.ends_low, span.left) if sign < 0 else (axis.ends_high, span.right)
        last, value = panels.at(t)
        own = panels.coefficients[rows, last]
        start, stop = panels.start[rows, last], panels.stop[rows, last]
        half, middle = 0.5 * (stop - start), 0.5 * (start + stop)

        def rate(x: float) -> FloatArray:
            at, falls = middle + half * x, -sign * (own @ _slopes(x)) / half
            return np.where(in_v, falls / (span.s * np.cosh(at)), falls - sign * np.tanh(at))

        falls, before = rate(sign), rate(0.5 * sign)
        # In the unit of g in which s·dt is the mass.
        density = np.exp(value - span.top) * np.where(in_v, 1.0 / span.s, np.cosh(t))
        mass = np.where(stops | ~(falls > 0), 0.0, density / falls)
        wrong = np.where(falls > 0, mass * np.abs(1.0 - before / falls), density)
        matters = ~stops & (np.maximum(mass, density) > NEGLIGIBLE)
        return cls(sign, in_v, np.where(in_v, span.v(t), t), falls, mass, np.where(matters, wrong, 0.0))

    def beyond(self, v: FloatArray, t: FloatArray) -> FloatArray:
        """Return how much of the mass is beyond v, (n,)."""
        away = np.maximum(self.sign * (np.where(self.in_v, v, t) - self.place), 0.0)
        return np.where(self.mass > 0, self.mass * np.exp(-self.rate * away), 0.0)


def _values(height: Function, span: Span, start: FloatArray, stop: FloatArray) -> FloatArray:
    """Return log g at the nodes of panels, (n, panels, nodes); panels without width cost nothing."""
    values = np.zeros((*start.shape, NODES))
    half, middle = 0.5 * (stop - start), 0.5 * (stop + start)
    for k in np.flatnonzero((half > 0).any(axis=0)):
        for i, x in enumerate(X):
            found = height(span.v(middle[:, k] + half[:, k] * x))
            # A polynomial cannot be −∞, and a bottom as deep as this is as good.
            values[:, k, i] = np.where(found > -np.inf, found, span.top - 200.0)
    return values


def _series(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """Return Legendre series (n, nodes) at x, (n, m)."""
    before, this = np.ones_like(x), x
    total = coefficients[:, :1] + coefficients[:, 1:2] * x
    for k in range(2, NODES):
        before, this = this, ((2 * k - 1) * x * this - (k - 1) * before) / k
        total += coefficients[:, k : k + 1] * this
    return total


def _slopes(x: float) -> FloatArray:
    """Return the slopes of all Legendre polynomials at x, (nodes,)."""
    legendre = np.polynomial.legendre
    return np.array([legendre.legval(x, legendre.legder(one)) for one in np.eye(NODES)])


def _integral(span: Span, logs: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Integrate g from low to high in t, (n,), from log g at the nodes of the finer rule."""
    half, middle = 0.5 * (high - low)[:, None], 0.5 * (high + low)[:, None]
    slope = np.cosh(middle + half * FINE_X)
    return np.asarray(half[:, 0] * ((np.exp(logs - span.top[:, None]) * slope) @ FINE_W))
