"""From a density of one y to its CDF, row by row, and so to normal scores.

For each row the density is brought to the whole line (v = log(y − low), or a logit), where
it is called g, and to t = asinh((v − m) / s), m the main mode and s its width: a power of v
falls like an exponential of t. The range of t is cut into panels, halved where need be. In
each panel log g is a polynomial: an error of 1e-6 there is one of 1e-6 *of every tail*.

A mode far narrower than it is far away can be overlooked: of mixtures of two to four
components none in 150 at distances of 5 or 10 mean widths, 17 at 100. It is found in the
rows whose y lies in it. A density that is normalised then has the integral 1 in these rows
and less in the others, which then count as not integrated (`Tails.with_mass_checked`).
Where a density has a constant that is unknown, nothing tells that a mode was overlooked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.polynomial.legendre import leggauss, legval, legvander

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import NumericalError, refuse_rows
from condgof.laws._law import TINY, Around, Law, Rows, as_rows, same_as, tail_scores
from condgof.laws._line import Line

#: Rows that are integrated at a time; some hundreds of numbers are kept of each meanwhile.
BLOCK = 8192

# ---- Accuracy. Errors of a tail are in units of its square root: an error of z is as large
# ---- in the middle, and ten times as large at |z| = 3. The estimates are pessimistic.

#: The error at which panels are no longer halved.
AIM = 3e-6
#: The largest error with which a row counts as integrated.
ACCEPTED = 3e-4
#: Share of the mass that does not count.
NEGLIGIBLE = 1e-14

# ---- The search for modes.

#: Distances from y, to both sides and in units, at which the density is evaluated first.
STEPS = 8.0 ** np.arange(-14, 15)
#: Number of y of other rows at which each density is evaluated too: a mode that could be
#: overlooked is most likely where other rows have their y.
HINTS = 9
#: Number of modes that are climbed at a time.
MODES = 4
#: How often the steps beside modes are halved at most.
CLIMBS = 36
#: Difference of log g between neighbouring places at which a mode counts as flat.
FLAT = 3e-5
#: How far log g may lie below the main mode where mass still matters.
DEPTH = 34.0
#: Exponents of 2 between which the width of the main mode lies, in units, and how often
#: that interval is halved: to 0.4, a factor of 1.3 of the width.
LOG2_NARROWEST = -50.0
LOG2_WIDEST = 45.0
WIDTH_HALVINGS = 8

# ---- Panels.

#: Nodes of a panel, and degrees of freedom of its polynomial.
NODES = 10
#: Distances from the main mode, in t, at which the range is cut.
CUTS = 1.5 * 2.0 ** np.arange(7)
#: How many rounds of halving there are.
ROUNDS = 14
#: How many panels of a row are halved at a time.
AT_ONCE = 6
#: How many panels of a row are halved in all.
MAX_HALVED = 44
#: Where g is 0, its polynomial is this far below the main mode, since it cannot be −∞.
BOTTOM = 200.0
#: A polynomial in a valley between modes may rise to anything. Its exponential is capped at
#: this much above the largest value at the nodes.
OVERSHOOT = 2.0
#: The exponential of a polynomial that falls by more than this is not integrated well.
MAX_FALL = 40.0

# ---- Probes, after all is integrated.

#: Number of places of its own at which each row is compared with its polynomials.
PROBES = 6
#: How far log g may be from the polynomial there.
MISSED = 1e-2
#: Multiples of the golden ratio modulo 1 are spread evenly.
GOLDEN = 0.6180339887

# ---- The mass that was found, where the density is normalised.

#: An integral this near to 1, in its logarithm, is 1,
MASS_ONE = 1e-4
#: and one that is smaller by more than this has missed a part of the mass.
MASS_SHORT = 1e-2
#: A density is normalised if its integral is 1 in this share of the rows, and in this many:
#: a constant that the user left out makes it 1 in none.
NORMALISED_SHARE = 0.05
NORMALISED_ROWS = 3

X, W = leggauss(NODES)
#: From values at the nodes to Legendre coefficients.
COEFFICIENTS = legvander(X, NODES - 1) * W[:, None] * (np.arange(NODES) + 0.5)
#: A finer rule, which integrates the exponential of a polynomial.
FINE_X, FINE_W = leggauss(32)
FINE_VALUES = legvander(FINE_X, NODES - 1).T

#: A function of one place for each row, (n,) → (n,).
Function = Callable[[FloatArray], FloatArray]


class Tails(NamedTuple):
    """What the integral of a density says of y, (n,) each."""

    #: P(Y ≤ y | x).
    lower: FloatArray
    #: P(Y > y | x).
    upper: FloatArray
    #: Estimated error of the tails, in units of `AIM`'s; infinite or NaN where the density
    #: could not be integrated.
    error: FloatArray
    #: Logarithm of the density's integral.
    log_mass: FloatArray

    @property
    def failed(self) -> AnyArray:
        """Whether the density could not be integrated, (n,)."""
        return ~(self.error <= ACCEPTED)

    def normal_scores(self) -> FloatArray:
        """Return Φ⁻¹(P(Y ≤ y | x)), (n,)."""
        return tail_scores(self.lower, self.upper, TINY)

    @property
    def misses_mass(self) -> AnyArray:
        """Whether the integral is short of 1 although the density is normalised, (n,)."""
        is_one = np.abs(self.log_mass) < MASS_ONE
        enough = max(NORMALISED_ROWS, NORMALISED_SHARE * len(self.log_mass))
        is_normalised = is_one.sum() >= enough
        return np.asarray(is_normalised & (self.log_mass < -MASS_SHORT))

    def with_mass_checked(self) -> Tails:
        """Return the tails with rows that miss a part of the mass as not integrated."""
        return self._replace(error=np.where(self.misses_mass, np.inf, self.error))

    def take(self, rows: Rows) -> Tails:
        return Tails(
            lower=self.lower[rows],
            upper=self.upper[rows],
            error=self.error[rows],
            log_mass=self.log_mass[rows],
        )

    @staticmethod
    def concatenate(parts: Sequence[Tails]) -> Tails:
        return Tails(
            lower=np.concatenate([part.lower for part in parts]),
            upper=np.concatenate([part.upper for part in parts]),
            error=np.concatenate([part.error for part in parts]),
            log_mass=np.concatenate([part.log_mass for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Integrated(Around):
    """A law of one y that has a density and no CDF, prepared for its observations.

    It offers normal scores as well if its density can be integrated in every row, which is
    tried when somebody asks for them: 200 to 500 calls of a smooth `log_prob`, and never
    more than 1,500.
    """

    law: Law
    #: y at which tails are computed, (n,) or (n, 1).
    observed: AnyArray

    score = same_as("law.score")
    score_and_error = same_as("law.score_and_error")
    sample = same_as("law.sample")
    marginals = same_as("law.marginals")

    @cached_property
    def tails(self) -> Tails:
        n = len(self.observed)
        # A function of the user's may be bound to its rows, and is not split without need.
        if n <= BLOCK:
            return _integrate_law(self.law, self.observed).with_mass_checked()
        blocks = np.split(np.arange(n), range(BLOCK, n, BLOCK))
        parts = [
            _integrate_law(self.law.take(rows), self.observed[rows]) for rows in blocks
        ]
        return Tails.concatenate(parts).with_mass_checked()

    @property
    def _is_integrated(self) -> bool:
        """Whether the tails have been computed, by now."""
        return "tails" in vars(self)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        if not self._is_integrated or not self.tails.failed.any():
            return self.law.notes
        failed = np.flatnonzero(self.tails.failed)
        note = (
            f"the density could not be integrated to a CDF in {len(failed)} of"
            f" {len(self.observed)} rows (the first is row {failed[0]}, counted from 0), so"
            " that only scores were used"
        )
        short = self.tails.misses_mass
        if short.any():
            least = float(np.exp(self.tails.log_mass[short].min()))
            note += (
                f": the integral is 1 in other rows and only {least:.2g} in some of these,"
                " where a narrow peak of the density was not found. Give a CDF, if there is"
                " one"
            )
        return (*self.law.notes, note)

    def noted(self, *notes: str) -> Self:
        return self._replace(self.law.noted(*notes), slice(None))

    def take(self, rows: IntArray) -> Law:
        return self._replace(self.law.take(rows), rows)

    def _replace(self, law: Law, rows: Rows) -> Self:
        """Return the same for a law of some rows, with the tails if they are known."""
        replaced = type(self)(law, self.observed[rows])
        if self._is_integrated:
            vars(replaced)["tails"] = self.tails.take(rows)
        return replaced

    def can(self, ability: str) -> bool:
        if ability == "normal_scores":
            return not self.tails.failed.any()
        return self.law.can(ability)

    def facing(self, y: AnyArray) -> Law:
        return self if np.array_equal(y, self.observed) else self.law.facing(y)

    def normal_scores(self, y: AnyArray) -> FloatArray:
        y = self._checked(y)
        if not np.array_equal(y, self.observed):
            return self.law.facing(y).normal_scores(y)
        refuse_rows(
            self.tails.failed,
            "The density could not be integrated to a CDF",
            "Is its integral finite, its support declared? Or compare scores: in Python,"
            " standardize='none'.",
            NumericalError,
        )
        return self.tails.normal_scores()[:, None]

    @property
    def normalised(self) -> bool:  # type: ignore[override]
        return self.law.normalised or self.can("normal_scores")

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log p(y|x), (n,), normalised by its integral where that is needed."""
        values = np.asarray(self.law.log_prob(y), dtype=np.float64)
        if self.law.normalised or not self.normalised:
            return values
        return values - self.tails.log_mass


def _integrate_law(law: Law, y: AnyArray) -> Tails:
    """Return the tails of a law at y; if its function fails somewhere, no row has them."""
    n = len(y)

    def log_prob(places: FloatArray) -> FloatArray:
        values = law.log_prob(places.reshape(y.shape))
        return np.asarray(values, dtype=np.float64).reshape(n)

    try:
        return integrate(log_prob, as_rows(y)[:, 0], law.support)
    except Exception:  # a user's function may raise anything at a y that was not observed
        nan = np.full(n, np.nan)
        return Tails(lower=nan, upper=nan, error=nan, log_mass=nan)


def integrate(
    log_prob: Function, y: FloatArray, support: tuple[AnyArray, AnyArray]
) -> Tails:
    """Return both tails of a density at y.

    A kink or a jump away from modes and bounds is closed in by halving, to about 1e-4 of z.
    A mode far narrower than the rest may be overlooked where y is not in it; `PROBES`
    places of each row look out for that, and a law that failed in some rows offers no
    normal scores.

    Parameters
    ----------
    log_prob : callable
        y (n,) → log p(y|x), (n,), up to a constant that may differ by row.
    y : ndarray of shape (n,)
        The observations.
    support : pair of ndarray
        The ends of the support, which broadcast to (n, 1).
    """
    g = LineDensity.from_support(log_prob, support, len(y))
    with np.errstate(all="ignore"):
        v = g.forward(y)
        unit = g.unit(v)
        evaluated = g.explore(y, v, unit)
        evaluated = climb_modes(g, evaluated)
        mode = find_main_mode(g, evaluated, unit)
        span = Span.from_mode(g, evaluated, mode)
        panels = Panels.from_cuts(span, evaluated, v).refine()
        tails = panels.tails(v)
        failed = panels.misses(v / unit)
    return tails._replace(error=np.where(failed, np.inf, tails.error))


def _pick(array: AnyArray, columns: IntArray) -> AnyArray:
    """Return columns (n, k) of each row of an array (n, m, …), which may differ by row."""
    return array[np.arange(len(columns))[:, None], columns]


class Evaluations(NamedTuple):
    """Places v from left to right, and log g there, (n, places) each."""

    v: FloatArray
    log_g: FloatArray


@dataclass(frozen=True, eq=False)
class LineDensity:
    """A density on the line v, and the part of the line where y has enough digits."""

    log_prob: Function
    line: Line | None
    #: Ends of that part, (n,) each.
    low: FloatArray
    high: FloatArray
    #: Whether the support ends below it, and above it, (n,) each.
    has_low: AnyArray
    has_high: AnyArray

    @classmethod
    def from_support(
        cls, log_prob: Function, support: tuple[AnyArray, AnyArray], n: int
    ) -> LineDensity:
        line = Line.from_support(support, n, 1)
        if line is None:
            support_low = np.full(n, -np.inf)
            support_high = np.full(n, np.inf)
        else:
            support_low = np.reshape(line.low, n)
            support_high = np.reshape(line.high, n)
        has_low = np.isfinite(support_low)
        has_high = np.isfinite(support_high)
        has_both = has_low & has_high
        width = np.where(has_both, support_high - support_low, 1.0)

        def log_resolution(end: FloatArray) -> FloatArray:
            """Return the log of the distance from an end below which y is too coarse.

            It is 2²⁴ times the last digit of the end, and tails are continued there.
            """
            size = np.abs(np.where(np.isfinite(end), end, 0.0))
            distance = np.maximum(size * 2.0**-28, 1e-300) / width
            return np.asarray(
                np.log(np.where(has_both, np.minimum(distance, 1e-6), distance))
            )

        # On a half-line v is a logarithm, of which exp must be a number; on the whole line
        # the square of v must be one.
        farthest = np.where(has_low | has_high, 690.0, 1e150)
        return cls(
            log_prob=log_prob,
            line=line,
            low=np.where(has_low, log_resolution(support_low), -farthest),
            high=np.where(has_high, -log_resolution(support_high), farthest),
            has_low=has_low,
            has_high=has_high,
        )

    def forward(self, y: FloatArray) -> FloatArray:
        """Return v of y, (n,)."""
        return y if self.line is None else self.line.forward(y[:, None])[:, 0]

    def log_g(self, v: FloatArray) -> FloatArray:
        """Return log g at v, (n,), −∞ where it is not finite."""
        v = np.clip(v, self.low, self.high)
        if self.line is None:
            values = self.log_prob(v)
        else:
            y = self.line.backward(v[:, None])
            values = self.log_prob(y[:, 0]) + np.log(self.line.slope(y))[:, 0]
        return np.where(np.isfinite(values), values, -np.inf)

    def evaluate(self, v: FloatArray, known: Evaluations | None = None) -> Evaluations:
        """Return log g at places v (n, m), together with what is known.

        That takes one call of the density for each column.
        """
        v = np.clip(v, self.low[:, None], self.high[:, None])
        log_g = np.stack([self.log_g(column) for column in v.T], axis=1)
        if known is not None:
            v = np.hstack([known.v, v])
            log_g = np.hstack([known.log_g, log_g])
        order = np.argsort(v, axis=1, kind="stable")
        return Evaluations(_pick(v, order), _pick(log_g, order))

    def unit(self, v: FloatArray) -> FloatArray:
        """Return the unit of distance of each row, (n,): a power of 2 above |v|, or 1.

        It is 1 where v is a logarithm. A v that is 0 by chance, or but for rounding, is no
        unit, and replaced by a share of the median.
        """
        size = np.abs(np.clip(v, self.low, self.high))
        size = np.maximum(size, 2.0**-10 * np.median(size))
        is_one = self.has_low | self.has_high | ~(size > 0)
        return np.where(is_one, 1.0, 2.0 ** np.frexp(size)[1])

    def explore(self, y: FloatArray, v: FloatArray, unit: FloatArray) -> Evaluations:
        """Return log g around v, and at some y of all rows; all arguments are (n,)."""
        n = len(y)
        start = np.clip(v, self.low, self.high)[:, None]
        steps = unit[:, None] * STEPS
        spread_evenly = np.linspace(0, n - 1, HINTS).round().astype(int)
        some_y = np.unique(np.sort(y)[spread_evenly])
        hints = np.stack([self.forward(np.full(n, value)) for value in some_y], axis=1)
        # A y outside the support of a row is NaN on its line.
        hints = np.where(np.isnan(hints), start, hints)
        return self.evaluate(np.hstack([start - steps, start, start + steps, hints]))


def climb_modes(g: LineDensity, evaluated: Evaluations) -> Evaluations:
    """Halve steps beside the highest places until log g is flat there, and where g ends."""
    for _ in range(CLIMBS):
        v, log_g = evaluated
        rise = np.diff(log_g, axis=1, prepend=-np.inf, append=-np.inf)
        is_peak = ~(rise[:, :-1] < 0) & ~(rise[:, 1:] > 0) & (log_g > -np.inf)
        # From here on, one number for each step between neighbouring places.
        middle = 0.5 * (v[:, 1:] + v[:, :-1])
        fall = np.abs(np.diff(log_g, axis=1))
        higher = np.maximum(log_g[:, 1:], log_g[:, :-1])
        has_mass = higher > log_g.max(axis=1, keepdims=True) - DEPTH
        is_end = has_mass & (fall > 0.5 * DEPTH)
        is_beside_peak = (is_peak[:, 1:] | is_peak[:, :-1]) & (fall > FLAT)
        is_divisible = (v[:, :-1] < middle) & (middle < v[:, 1:])
        wanted = (is_beside_peak | is_end) & is_divisible
        count = min(2 * MODES, int(wanted.sum(axis=1).max()))
        if not count:
            break
        order = np.argsort(np.where(wanted, -higher, np.inf), axis=1, kind="stable")
        highest = order[:, :count]
        places = np.where(_pick(wanted, highest), _pick(middle, highest), v[:, :1])
        evaluated = g.evaluate(places, evaluated)
    return evaluated


class Mode(NamedTuple):
    """The main mode of each row, (n,) each."""

    #: The place v of the largest log g.
    place: FloatArray
    #: The distance at which log g has fallen by 1.
    width: FloatArray
    #: log g at the mode.
    log_g: FloatArray


def find_main_mode(g: LineDensity, evaluated: Evaluations, unit: FloatArray) -> Mode:
    """Return the highest of the places, and its width; units of distance are (n,)."""
    best = np.argmax(evaluated.log_g, axis=1)[:, None]
    place = _pick(evaluated.v, best)[:, 0]
    log_g = _pick(evaluated.log_g, best)[:, 0]
    left = _fall_distance(g, place, log_g, unit, sign=-1.0)
    right = _fall_distance(g, place, log_g, unit, sign=1.0)
    short = np.minimum(left, right)
    long = np.maximum(left, right)
    # Next to no distance on one side: there the density begins with a jump.
    has_jump = short < 1e-3 * long
    width = np.where(has_jump, long, np.maximum(short, long / 30.0))
    return Mode(place, width, log_g)


def _fall_distance(
    g: LineDensity, place: FloatArray, log_g: FloatArray, unit: FloatArray, *, sign: float
) -> FloatArray:
    """Return how far from a mode log g falls by 1, on one side, (n,), by bisection."""
    near = np.full(len(place), LOG2_NARROWEST)
    far = np.full(len(place), LOG2_WIDEST)
    for _ in range(WIDTH_HALVINGS):
        middle = 0.5 * (near + far)
        v = place + sign * unit * 2.0**middle
        has_fallen = (v < g.low) | (v > g.high) | (g.log_g(v) < log_g - 1.0)
        near = np.where(has_fallen, near, middle)
        far = np.where(has_fallen, middle, far)
    return unit * 2.0**near


class Side(NamedTuple):
    """One side of the main mode, and where the mass ends there, (n,) each."""

    #: −1 on the left and 1 on the right.
    sign: float
    #: t at the end of the range with mass.
    end: FloatArray
    #: Whether the density ends there with a jump, so that nothing is beyond.
    stops: AnyArray
    #: Whether the support is bounded on this side.
    bounded: AnyArray


@dataclass(frozen=True, eq=False)
class Span:
    """The coordinate t = asinh((v − m) / s) of each row, and the range its mass is in."""

    g: LineDensity
    m: FloatArray
    s: FloatArray
    #: log g at the main mode.
    top: FloatArray
    left: Side
    right: Side

    @classmethod
    def from_mode(cls, g: LineDensity, evaluated: Evaluations, mode: Mode) -> Span:
        """Go outwards from the main mode until there is next to no mass."""
        return cls(
            g=g,
            m=mode.place,
            s=mode.width,
            top=mode.log_g,
            left=_find_side(evaluated, mode, sign=-1.0, bounded=g.has_low),
            right=_find_side(evaluated, mode, sign=1.0, bounded=g.has_high),
        )

    def t(self, v: FloatArray) -> FloatArray:
        """Return t of v, (n,) or (n, places)."""
        m = self.m if v.ndim == 1 else self.m[:, None]
        s = self.s if v.ndim == 1 else self.s[:, None]
        return np.asarray(np.arcsinh((v - m) / s))

    def log_g(self, t: FloatArray) -> FloatArray:
        """Return log g at t, (n,)."""
        return self.g.log_g(self.m + self.s * np.sinh(t))

    def node_values(self, start: FloatArray, stop: FloatArray) -> FloatArray:
        """Return log g at the nodes of panels (n, panels), (n, panels, nodes).

        Panels without width cost nothing, and their values are 0.
        """
        values = np.zeros((*start.shape, NODES))
        half = 0.5 * (stop - start)
        middle = 0.5 * (stop + start)
        for k in np.flatnonzero((half > 0).any(axis=0)):
            for i, x in enumerate(X):
                log_g = self.log_g(middle[:, k] + half[:, k] * x)
                values[:, k, i] = np.where(log_g > -np.inf, log_g, self.top - BOTTOM)
        return values


def _find_side(
    evaluated: Evaluations, mode: Mode, *, sign: float, bounded: AnyArray
) -> Side:
    """Return where the mass ends on one side of the main mode.

    The end is the first place without mass, or the last one with mass where the density
    ends with a jump.
    """
    least = mode.log_g + np.log(mode.width) - DEPTH
    distance = sign * (evaluated.v - mode.place[:, None])
    has_mass = (distance > 0) & (evaluated.log_g + np.log(distance) > least[:, None])
    inner = np.where(has_mass, distance, 0.0).max(axis=1)
    beyond = np.where(distance > inner[:, None], distance, np.inf)
    nearest = np.argmin(beyond, axis=1)[:, None]
    outer = _pick(beyond, nearest)[:, 0]
    outer_log_g = _pick(evaluated.log_g, nearest)[:, 0]
    has_outer = np.isfinite(outer)
    stops = has_outer & (outer_log_g == -np.inf)
    end = sign * np.where(stops | ~has_outer, inner, outer)
    return Side(sign, np.arcsinh(end / mode.width), stops, bounded)


class Continuation(NamedTuple):
    """The mass beyond the panels on one side, (n,) each, in units of g(m)·s."""

    #: The part of the mass that is also beyond v.
    beyond_v: FloatArray
    #: All of the mass.
    mass: FloatArray
    #: How much of it may be wrong.
    error: FloatArray


@dataclass(frozen=True, eq=False)
class Panels:
    """Pieces [start, stop] of t, (n, panels), some empty, and log g at their nodes."""

    span: Span
    start: FloatArray
    stop: FloatArray
    #: log g, (n, panels, nodes).
    values: FloatArray

    @classmethod
    def from_cuts(cls, span: Span, evaluated: Evaluations, v: FloatArray) -> Panels:
        """Cut the range at v (n,), at distances from the mode, and where mass begins."""
        left = span.left.end[:, None]
        right = span.right.end[:, None]
        has_mass = evaluated.log_g > span.top[:, None] - DEPTH
        # Places without mass that have a neighbour with mass.
        is_edge = ~has_mass
        is_edge[:, 1:-1] &= has_mass[:, 2:] | has_mass[:, :-2]
        most_edges = is_edge.sum(axis=1).max()
        edges = np.sort(np.where(is_edge, span.t(evaluated.v), np.inf), axis=1)
        edges = edges[:, :most_edges]
        centre = np.zeros_like(left)
        grid = np.concatenate([-CUTS, CUTS]) + centre
        cuts = np.hstack([left, right, grid, centre, edges, span.t(v)[:, None]])
        cuts = np.sort(np.clip(cuts, left, right), axis=1)
        start = cuts[:, :-1]
        stop = cuts[:, 1:]
        # Panels without width come last, and as few of them as can be.
        order = np.argsort(start == stop, axis=1, kind="stable")
        most_panels = max(1, int((start < stop).sum(axis=1).max()))
        start = _pick(start, order[:, :most_panels])
        stop = _pick(stop, order[:, :most_panels])
        return cls(span, start, stop, span.node_values(start, stop))

    @cached_property
    def coefficients(self) -> FloatArray:
        """Legendre coefficients of the polynomials, (n, panels, nodes)."""
        return np.asarray(self.values @ COEFFICIENTS)

    @cached_property
    def mass(self) -> FloatArray:
        """The integral of exp of the polynomial over each panel, (n, panels)."""
        half = 0.5 * (self.stop - self.start)
        middle = 0.5 * (self.stop + self.start)
        top = self.span.top[:, None]
        largest = self.values.max(axis=2) + OVERSHOOT
        mass = np.empty_like(half)
        for k in range(half.shape[1]):
            polynomial = self.coefficients[:, k] @ FINE_VALUES
            log_g = np.minimum(polynomial, largest[:, k, None]) - top
            dv_dt = np.cosh(middle[:, k, None] + half[:, k, None] * FINE_X)
            mass[:, k] = half[:, k] * ((np.exp(log_g) * dv_dt) @ FINE_W)
        return mass

    def log_g(self, t: FloatArray) -> FloatArray:
        """Return log g at t, (n,), from the polynomial of the nearest panel."""
        distance = np.maximum(self.start - t[:, None], t[:, None] - self.stop)
        distance = np.where(self.start < self.stop, distance, np.inf)
        nearest = np.arange(len(t)), np.argmin(distance, axis=1)
        start = self.start[nearest]
        stop = self.stop[nearest]
        x = np.clip((2.0 * t - start - stop) / (stop - start), -1.0, 1.0)
        return np.asarray(legval(x, self.coefficients[nearest].T, tensor=False))

    def errors(self) -> FloatArray:
        """Return the errors of tails that are due to log g in each panel, (n, panels)."""
        error = np.abs(self.coefficients[:, :, -2:]).sum(axis=2)
        falls_too_far = np.ptp(self.values, axis=2) > MAX_FALL
        error = np.where(falls_too_far, np.maximum(error, 1.0), error)
        mass = self.mass * np.exp(np.minimum(error, 30.0))
        lower = np.cumsum(mass, axis=1)
        total = lower[:, -1:]
        tail = np.minimum(lower, total - lower + mass)
        tail_error = np.minimum(error, 1.0) * mass / np.sqrt(tail * total)
        matters = (self.start < self.stop) & (tail > NEGLIGIBLE * total)
        return np.where(matters, tail_error, 0.0)

    def refine(self) -> Panels:
        """Halve panels until all tails are accurate, or halving them more is of no use."""
        panels = self
        halved = 0
        for _ in range(ROUNDS):
            errors = panels.errors()
            count = min(AT_ONCE, int((errors > AIM).sum(axis=1).max()))
            if not count or halved + count > MAX_HALVED:
                break
            worst = np.argsort(-errors, axis=1, kind="stable")[:, :count]
            wanted = np.take_along_axis(errors, worst, 1) > AIM
            panels = panels._halve(worst, wanted)
            halved += count
        return panels

    def _halve(self, which: IntArray, wanted: AnyArray) -> Panels:
        """Halve some panels of each row, (n, k), where `wanted`, and sort all of them."""
        chosen = np.arange(len(which))[:, None], which
        start = self.start[chosen]
        stop = self.stop[chosen]
        middle = np.where(wanted, 0.5 * (start + stop), stop)
        # A panel that is not wanted has a left half of width 0, which costs nothing.
        left_values = self.span.node_values(start, np.where(wanted, middle, start))
        right_values = self.span.node_values(middle, stop)
        shortened_stop = self.stop.copy()
        shortened_stop[chosen] = middle
        values = self.values.copy()
        values[chosen] = np.where(wanted[:, :, None], left_values, values[chosen])
        all_start = np.hstack([self.start, middle])
        all_stop = np.hstack([shortened_stop, stop])
        all_values = np.hstack([values, right_values])
        order = np.argsort(all_start, axis=1, kind="stable")
        return Panels(
            self.span,
            _pick(all_start, order),
            _pick(all_stop, order),
            _pick(all_values, order),
        )

    def misses(self, place: FloatArray) -> AnyArray:
        """Whether log g differs from the polynomials at probes, (n,).

        Probes are quantiles of the mass. Their levels are late digits of `place`, (n,), so
        that they differ from row to row without random numbers.
        """
        mass = self.mass
        cumulative = np.cumsum(mass, axis=1)
        rows = np.arange(len(place))
        missed = np.zeros(len(place), dtype=bool)
        for k in range(PROBES):
            level = (np.abs(place) * 1e5 + k * GOLDEN) % 1.0
            target = level * cumulative[:, -1]
            panel = (cumulative < target[:, None]).sum(axis=1)
            at = rows, np.minimum(panel, mass.shape[1] - 1)
            share = np.clip(1.0 - (cumulative[at] - target) / mass[at], 0.0, 1.0)
            t = self.start[at] + share * (self.stop[at] - self.start[at])
            missed |= np.abs(self.span.log_g(t) - self.log_g(t)) > MISSED
        return missed

    def tails(self, v: FloatArray) -> Tails:
        """Integrate to the left and to the right of v, (n,), which is an end of panels."""
        span = self.span
        t = span.t(v)
        is_left = self.stop <= np.clip(t, span.left.end, span.right.end)[:, None]
        left = self._continue(span.left, v, t)
        right = self._continue(span.right, v, t)
        lower = (
            self.mass.sum(axis=1, where=is_left)
            + left.beyond_v
            + (right.mass - right.beyond_v)
        )
        upper = (
            self.mass.sum(axis=1, where=~is_left)
            + (left.mass - left.beyond_v)
            + right.beyond_v
        )
        total = lower + upper
        error = self.errors().sum(axis=1) + (left.error + right.error) / total
        is_number = np.isfinite(total) & (total > 0)
        return Tails(
            lower=lower / total,
            upper=upper / total,
            error=np.where(is_number, error, np.inf),
            log_mass=np.log(total * span.s) + span.top,
        )

    def _continue(self, side: Side, v: FloatArray, t: FloatArray) -> Continuation:
        """Return the mass beyond the panels on one side, of all of it and beyond v, (n,).

        There g goes on with the slope that it ends with: like an exponential of v where the
        support is bounded (y itself has a power), else of t (v has a power).
        """
        span = self.span
        in_v = side.bounded
        t_near = side.end[:, None] - side.sign * np.array([0.0, 0.1, 0.2])
        log_g = np.stack([self.log_g(column) for column in t_near.T], axis=1)
        v_near = span.m[:, None] + span.s[:, None] * np.sinh(t_near)
        places = np.where(in_v[:, None], v_near, t_near)
        # The log-density of the mass in v or t, in the unit in which s·dt is the mass.
        log_slope = np.where(
            in_v[:, None], -np.log(span.s[:, None]), np.log(np.cosh(t_near))
        )
        log_density = log_g - span.top[:, None] + log_slope
        falls = -side.sign * np.diff(log_density) / np.diff(places)
        fall, fall_before = falls.T
        density = np.exp(log_density[:, 0])
        mass = np.where(side.stops | ~(fall > 0), 0.0, density / fall)
        # The mass is wrong by as much as the slope still changes.
        error = np.where(fall > 0, mass * np.abs(1.0 - fall_before / fall), density)
        matters = ~side.stops & (np.maximum(mass, density) > NEGLIGIBLE)
        distance = np.maximum(side.sign * (np.where(in_v, v, t) - places[:, 0]), 0.0)
        return Continuation(
            beyond_v=np.where(mass > 0, mass * np.exp(-fall * distance), 0.0),
            mass=mass,
            error=np.where(matters, error, 0.0),
        )
