"""Laws whose predictions tell the CDF at some places: quantiles, intervals, bins, PITs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import (
    InputError,
    NonFiniteError,
    ShapeError,
    by_asker,
    check_finite,
    option_name,
    refuse_rows,
)
from condgof.kernels import Block, Cells
from condgof.laws._discrete import Discrete, Residuals, check_probabilities, normalised
from condgof.laws._draws import common_precision, least_scale, row_uniforms
from condgof.laws._law import ByRow, as_rows, check_levels, same_as, tail_scores, with_index
from condgof.sample import RngLike, Seed, as_numbers

# Quantiles that cross in a larger share of the rows than this are in the wrong order, and
# are refused. Fewer are the crossing of a fitted model, and are sorted.
MAX_CROSSING_SHARE = 0.9

# The error of stated probabilities that ties may cause, in standard errors of the share of
# rows in which a statement holds; see `CellsOfY.check_atoms`. A shift of 0.4 lets a test of
# that one share reject 0.069 at 0.05, and 0.016 at 0.01.
MOST_TIE_ERROR = 0.4

# Up to this many ties of a statement say nothing about atoms: values are rounded.
FEW_TIES = 2

# The seed of the coins that put a y at an end of its interval inside or outside.
TIE_SEED = 0

# Values of y that a message calls few.
FEW_VALUES = 1000


@dataclass(frozen=True)
class Event:
    """A statement about y of known probability: that y is in one of the first cells.

    The laws of this module make the two kinds of statement below, `NotAboveQuantile` and
    `InsideInterval`.

    Parameters
    ----------
    kind : str
        ``"quantile"`` or ``"coverage"``, the key of this kind of statement in results.
    level : float
        The probability of the statement: the level of the quantile, or the coverage.
    cells : int
        The statement holds where the code of the cell of y is below this number.
    """

    kind: str
    level: float
    cells: int

    def happened(self, codes: IntArray) -> AnyArray:
        """Return whether the statement holds for codes of cells, of any shape."""
        return codes < self.cells

    @property
    def boundary_words(self) -> str:
        """What y ties with, in a message."""
        raise NotImplementedError

    @property
    def atom_words(self) -> str:
        """What is not known of a discrete y, in a message."""
        raise NotImplementedError


@dataclass(frozen=True)
class NotAboveQuantile(Event):
    """That y is not above its predicted quantile of a level.

    A y that equals the quantile counts as above it with probability 1/2: it does so in some
    rows only if y is rounded or discrete.
    """

    kind: str = field(default="quantile", init=False)

    @property
    def boundary_words(self) -> str:
        return f"its predicted {self.level:g} quantile"

    @property
    def atom_words(self) -> str:
        return f"of a quantile q no more is known than P(y < q) ≤ {self.level:g} ≤ P(y ≤ q)"


@dataclass(frozen=True)
class InsideInterval(Event):
    """That y lies inside its predicted interval of a coverage.

    A y that equals an end counts as inside with probability 1/2.
    """

    kind: str = field(default="coverage", init=False)

    @property
    def boundary_words(self) -> str:
        return f"an end of its predicted {100 * self.level:g}% interval"

    @property
    def atom_words(self) -> str:
        return (
            f"an interval between quantiles holds y with a probability other than"
            f" {self.level:g}, by up to P(y = low) + P(y = high)"
        )


class Boundary(NamedTuple):
    """One end of a statement in all rows, and where y ties with it."""

    event: Event
    place: FloatArray  #: Where the end lies, (n,).
    #: Which share of a tie's probability may be on the wrong side, (n,); 0 without a tie.
    ambiguity: FloatArray

    def error(self) -> float:
        """Return how many rows may be on the wrong side, on balance: N/(2√D)."""
        _, counts = np.unique(self.place, return_counts=True)
        shares = counts / len(self.place)
        different = 1.0 / float(np.square(shares).sum())
        return float(self.ambiguity.sum()) / math.sqrt(different)


@dataclass(frozen=True, eq=False)
class CellsOfY(ByRow, Discrete):
    """Predictions that cut the line into K cells, with the same probabilities in every row.

    Where the cells lie differs from row to row. No test depends on its `location_scale`,
    which is for pictures and subgroups.

    Parameters
    ----------
    shares : ndarray of shape (K,)
        The probabilities of the cells.
    names : tuple of K str
        What results call the cells.
    events : tuple of Event
        What the law states about y, in increasing level.
    """

    #: What results call the block of residuals, and this kind of y.
    BLOCK_NAME: ClassVar[str]
    #: What y is compared by; results show it as ``details["standardized_by"]``.
    COMPARED_BY: ClassVar[str]
    #: ``codes(y)`` returns the codes of the cells of y, from 0 to K − 1, (n,).
    codes: ClassVar[Callable[..., IntArray]]

    shares: FloatArray
    names: tuple[str, ...]
    events: tuple[Event, ...]

    class_names = same_as("names")

    def numbers(self, y: AnyArray) -> FloatArray:
        return self._columns(as_numbers(y, "y"))[:, 0]

    def boundaries(self, y: AnyArray) -> list[Boundary]:
        """Return the ends of cells that statements are about, and the ties of y there."""
        raise NotImplementedError

    def check_atoms(self, y: AnyArray) -> None:
        """Refuse a y that ties with what is predicted so often that nothing can be tested.

        Where Y has an atom at a quantile q of level τ, no more is known than P(Y < q) ≤ τ ≤
        P(Y ≤ q). A tie is put on either side with probability 1/2, after which P is wrong
        by at most half of the atom, by (1/2 − U)·P(Y = q) with U = (τ − P(Y < q))/P(Y = q).
        Where q takes D different values U differs between them, and the mean error is about
        1/√D of that. With N ties in n rows it is at most N/(2n√D), and in standard errors
        of the share of rows

            N / (2√D) / √(nτ(1 − τ)) ≤ MOST_TIE_ERROR

        is asked for. D is the inverse of the probability that two rows have the same q.
        """
        values = self.numbers(y)
        errors: dict[Event, float] = {}
        ties: dict[Event, AnyArray] = {}
        for boundary in self.boundaries(y):
            event = boundary.event
            errors[event] = errors.get(event, 0.0) + boundary.error()
            ties[event] = ties.get(event, np.zeros(self.n, dtype=bool)) | (
                boundary.ambiguity > 0
            )
        for event, error in errors.items():
            allowed = MOST_TIE_ERROR * math.sqrt(self.n * event.level * (1.0 - event.level))
            count = int(ties[event].sum())
            if count > FEW_TIES and error > allowed:
                raise InputError(self._atom_words(event, count, values))

    def _atom_words(self, event: Event, count: int, y: FloatArray) -> str:
        """Say that y ties with its predictions, why that matters, and what to do."""
        different = len(np.unique(y))
        kind = "whole numbers" if (y == np.floor(y)).all() else "numbers"
        found = ""
        if different <= FEW_VALUES:
            found = f" (y has {different} different values, {kind})"
        return (
            f"y equals {event.boundary_words} in {count} of {self.n} rows{found}, so y is"
            f" discrete, and {event.atom_words}: the true predictions would be rejected."
            " Pass the distribution instead: a family of counts (condgof.models.Poisson,"
            " NegativeBinomial, …), condgof.probabilities(P, ordered=True), or draws of y"
            " (condgof.from_draws)."
        )

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        probabilities = np.broadcast_to(self.shares, (self.n, len(self.shares)))
        return Residuals.from_cells(probabilities, self.codes(y))

    def cells(self, by: str) -> Cells:
        count = len(self.shares)
        block = Block(
            self.BLOCK_NAME, start=0, stop=count, positions=np.arange(float(count))
        )
        return Cells((block,), self.COMPARED_BY)

    def width(self) -> FloatArray:
        """Return the distance of the outer quantiles, or of an interval's ends, (n, 1)."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Quantiles(CellsOfY):
    """Quantiles of y; see `from_quantiles`.

    With K levels there are K + 1 cells: up to the first quantile, between neighbours, above
    the last one. A y that equals a quantile is put into either cell with probability 1/2.

    Parameters
    ----------
    values : ndarray of shape (n, K)
        The quantiles, increasing in each row.
    levels : ndarray of shape (K,)
        Their levels.
    seed : int
        Of the random numbers that choose a cell where quantiles equal y.
    ids : ndarray of int, shape (n,)
        The rows' numbers in the law as it was made, to which these random numbers belong.
    """

    EACH = ("values", "ids")
    BLOCK_NAME = "quantiles"
    COMPARED_BY = "the cell between predicted quantiles that it falls into"
    name = "The law of quantiles"

    values: AnyArray
    levels: FloatArray
    seed: int
    ids: IntArray

    def codes(self, y: AnyArray) -> IntArray:
        values, y = common_precision(self.values, self.numbers(y)[:, None])
        below = (values < y).sum(axis=1)
        not_above = (values <= y).sum(axis=1)
        # Where a quantile equals y, y belongs to the cell below or above it; where several
        # do, the law has an atom there, and y belongs to any of the cells that end there.
        tied = np.flatnonzero(not_above > below)
        codes = np.asarray(below, dtype=np.int64)
        codes[tied] = self._choose(tied, first=below[tied], count=(not_above - below)[tied])
        return codes

    def _choose(self, rows: IntArray, first: IntArray, count: IntArray) -> IntArray:
        """Choose a cell in some rows where y equals `count` quantiles, from `first` on.

        Of one quantile either side is chosen with probability 1/2, of several one of the
        cells that end there, with their `shares`. All arrays have shape (r,). The choice
        depends on the seed and on the rows' numbers alone.
        """
        cdf = np.cumsum([0.0, *self.shares])
        uniform = row_uniforms(self.seed, self.ids[rows])
        at = cdf[first] + (cdf[first + count] - cdf[first]) * uniform
        cells = np.clip(
            np.searchsorted(cdf, at, side="right") - 1, first, first + count - 1
        )
        either = first + (uniform >= 0.5)
        return np.asarray(np.where(count == 1, either, cells), dtype=np.int64)

    def boundaries(self, y: AnyArray) -> list[Boundary]:
        values, y = common_precision(self.values, self.numbers(y)[:, None])
        ties = values == y
        first = (values < y).sum(axis=1)
        last = (values <= y).sum(axis=1)
        # Of an atom that spans several quantiles only parts of its first and its last cell
        # are in doubt, halves of them on average.
        cdf = np.cumsum([0.0, *self.shares])
        outer = 0.5 * np.maximum(self.shares[first], self.shares[last])
        span = 0.5 * (cdf[last] + cdf[last + 1] - cdf[first] - cdf[first + 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(last - first == 1, 0.5, np.minimum(outer / span, 0.5))
        return [
            Boundary(event, place=values[:, k], ambiguity=np.where(ties[:, k], share, 0.0))
            for k, event in enumerate(self.events)
        ]

    def pinball(self, y: AnyArray) -> FloatArray:
        """Return the mean over the levels τ of (1{y < q} − τ)·(q − y), (n,)."""
        above_y = np.asarray(self.values, dtype=np.float64) - self.numbers(y)[:, None]
        return np.asarray((((above_y > 0) - self.levels) * above_y).mean(axis=1))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return the quantile nearest to the median, and a standard deviation, (n, 1) each.

        The standard deviation is that of the normal law whose outer quantiles are as far
        apart.
        """
        values = np.asarray(self.values, dtype=np.float64)
        middle = int(np.argmin(np.abs(self.levels - 0.5)))
        width = values[:, -1:] - values[:, :1]
        normal_width = float(np.ptp(np.asarray(ndtri(self.levels)))) or 1.0
        scale = np.maximum(width / normal_width, least_scale(values))
        return values[:, [middle]], scale

    def width(self) -> FloatArray:
        return np.asarray(self.values[:, -1:] - self.values[:, :1], dtype=np.float64)


class _Ends(NamedTuple):
    """y compared with the ends of K intervals, (n, K) each."""

    low: FloatArray
    high: FloatArray
    above_low: AnyArray
    at_low: AnyArray
    below_high: AnyArray
    at_high: AnyArray


@dataclass(frozen=True, eq=False)
class Intervals(CellsOfY):
    """Nested prediction intervals for y; see `from_intervals`.

    With K intervals there are K + 1 cells: inside the smallest, inside the next but not
    inside the one before, …, outside the largest.

    Parameters
    ----------
    low, high : ndarray of shape (n, K)
        Their ends, the smallest interval first.
    coverage : ndarray of shape (K,)
        Their probabilities, increasing.
    ids : ndarray of int, shape (n,)
        The rows' numbers in the law as it was made, to which random numbers belong that
        choose a cell where y equals an end.
    """

    EACH = ("low", "high", "ids")
    BLOCK_NAME = "intervals"
    COMPARED_BY = "the smallest predicted interval that covers it"
    name = "The law of intervals"

    low: AnyArray
    high: AnyArray
    coverage: FloatArray
    ids: IntArray

    def codes(self, y: AnyArray) -> IntArray:
        ends = self._compare_with_ends(y)
        inside = ends.above_low & ends.below_high
        tied = np.flatnonzero((ends.at_low | ends.at_high).any(axis=1))
        # A y at an end is inside or outside by a coin that is tossed once a row.
        heads = row_uniforms(TIE_SEED, self.ids[tied])[:, None] < 0.5
        in_closed = (ends.above_low | ends.at_low) & (ends.below_high | ends.at_high)
        inside[tied] = np.where(heads, in_closed[tied], inside[tied])
        return np.asarray(len(self.coverage) - inside.sum(axis=1), dtype=np.int64)

    def _compare_with_ends(self, y: AnyArray) -> _Ends:
        y = self.numbers(y)[:, None]
        low, y_by_low = common_precision(self.low, y)
        high, y_by_high = common_precision(self.high, y)
        return _Ends(
            low=low,
            high=high,
            above_low=low < y_by_low,
            at_low=low == y_by_low,
            below_high=y_by_high < high,
            at_high=y_by_high == high,
        )

    def boundaries(self, y: AnyArray) -> list[Boundary]:
        ends = self._compare_with_ends(y)
        boundaries = []
        for k, event in enumerate(self.events):
            for place, ties in ((ends.low, ends.at_low), (ends.high, ends.at_high)):
                ambiguity = 0.5 * ties[:, k]
                boundaries.append(Boundary(event, place[:, k], ambiguity))
        return boundaries

    def winkler(self, y: AnyArray) -> FloatArray:
        """Return the mean over intervals of the score of Winkler (1972), (n,).

        It is width + 2/(1 − coverage)·(distance of y from the interval).
        """
        y = self.numbers(y)[:, None]
        outside = np.maximum(self.low - y, 0.0) + np.maximum(y - self.high, 0.0)
        penalty = 2.0 / (1.0 - self.coverage) * outside
        return np.asarray((self.high - self.low + penalty).mean(axis=1))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return middle and half-width of the largest interval, (n, 1) each.

        An infinite end counts as the other end; an interval without ends as 0.
        """
        low = np.asarray(self.low[:, -1:], dtype=np.float64)
        high = np.asarray(self.high[:, -1:], dtype=np.float64)
        finite_low = np.where(np.isfinite(low), low, high)
        finite_high = np.where(np.isfinite(high), high, low)
        low = np.where(np.isfinite(finite_low), finite_low, 0.0)
        high = np.where(np.isfinite(finite_high), finite_high, 0.0)
        half_width = np.maximum(0.5 * (high - low), least_scale(np.hstack([low, high])))
        return 0.5 * (low + high), half_width

    def width(self) -> FloatArray:
        with np.errstate(invalid="ignore"):
            width = np.asarray(self.high[:, -1:] - self.low[:, -1:], dtype=np.float64)
        # An interval without an end is wider than any number; subgroups need numbers.
        largest = width[np.isfinite(width)].max(initial=0.0)
        return np.where(np.isfinite(width), width, 2.0 * largest)


def from_quantiles(quantiles: object, levels: object, *, rng: RngLike = 0) -> Quantiles:
    """Law from predicted quantiles.

    The cell of y among its quantiles is an ordered class whose probability the levels tell.
    Nothing is interpolated, and no tail is invented.

    Parameters
    ----------
    quantiles : array_like of shape (n, K), or (n,) for one level
        Predicted quantiles, one row for each observation. Rows in which they cross are
        sorted, and a note says so.
    levels : array_like of shape (K,)
        Their levels, increasing, between 0 and 1.
    rng : int, numpy.random.Generator or None
        Where y equals a quantile, or several that are equal, the cell is drawn; the same
        rng gives the same cells. A discrete y, which does so often, is refused by the
        tests: its quantiles do not tell their probabilities.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(1, 3, 400)
    >>> y = x * rng.normal(size=400)
    >>> constant = np.tile([-2.6, 0.0, 2.6], (400, 1))
    >>> cg.adaptive(cg.from_quantiles(constant, [0.1, 0.5, 0.9]), x, y, rng=1).reject()
    True
    """
    at = _check_partition(levels, "levels")
    array = _read_predictions(quantiles, "quantiles", len(at.levels), "levels")
    crosses = np.diff(array, axis=1) < 0
    _refuse_wrong_order(crosses, at.levels)
    names = [f"q{level:g}" for level in at.levels]
    between = [f"{lower} to {upper}" for lower, upper in pairwise(names)]
    events = [
        NotAboveQuantile(level, cells=k)
        for k, level in enumerate(at.levels.tolist(), start=1)
    ]
    law = Quantiles(
        shares=at.shares,
        names=(f"up to {names[0]}", *between, f"above {names[-1]}"),
        events=tuple(events),
        values=np.sort(array, axis=1),
        levels=at.levels,
        seed=Seed.of(rng).value,
        ids=np.arange(len(array)),
    )
    law = with_index(law, quantiles)
    crossed = int(crosses.any(axis=1).sum())
    if not crossed:
        return law
    return law.noted(
        f"predicted quantiles cross in {crossed} of {len(array)} rows; they were sorted"
        " there"
    )


def _refuse_wrong_order(crosses: AnyArray, levels: FloatArray) -> None:
    """Refuse quantiles of which two neighbours cross, (n, K − 1), in nearly all rows."""
    share = crosses.mean(axis=0)
    if (share > MAX_CROSSING_SHARE).any():
        k = int(np.argmax(share))
        what = f"The {levels[k]:g} quantile is above the {levels[k + 1]:g} quantile"
        refuse_rows(crosses[:, k], what, "Are the columns in the order of the levels?")


def from_intervals(low: TableLike, high: TableLike, coverage: object = 0.9) -> Intervals:
    """Law from prediction intervals: conformal ones, or any others with a stated coverage.

    What is tested is whether y lies inside with that probability *given x*, not only on
    average.

    Parameters
    ----------
    low, high : array_like of shape (n,), or (n, K) for K nested intervals
        Their ends, infinite where an interval has none. A y that equals an end is inside
        with probability 1/2; a discrete y, which does so often, is refused by the tests.
    coverage : float or array_like of shape (K,)
        The probability of each interval, increasing for nested ones.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(1, 3, 400)
    >>> y = x * rng.normal(size=400)
    >>> width = np.full(400, np.quantile(np.abs(y), 0.9))       # right on average
    >>> cg.adaptive(cg.from_intervals(-width, width, 0.9), x, y, rng=1).reject()
    True
    """
    at = _check_partition(coverage, "coverage")
    count = len(at.levels)
    lower = _read_predictions(low, "low", count, "coverages", may_be_infinite=True)
    upper = _read_predictions(high, "high", count, "coverages", may_be_infinite=True)
    if lower.shape != upper.shape:
        raise ShapeError(
            f"low has shape {lower.shape} and high {upper.shape}: they must agree."
        )
    refuse_rows(lower > upper, "low is above high", "Exchange them there.")
    refuse_rows(
        (np.diff(lower, axis=1) > 0) | (np.diff(upper, axis=1) < 0),
        "an interval of larger coverage does not hold the smaller one",
        "Nested intervals go from the smallest to the largest.",
    )
    names = [f"{100 * level:g}%" for level in at.levels]
    between = [f"between {inner} and {outer}" for inner, outer in pairwise(names)]
    events = [
        InsideInterval(level, cells=k)
        for k, level in enumerate(at.levels.tolist(), start=1)
    ]
    law = Intervals(
        shares=at.shares,
        names=(f"inside {names[0]}", *between, f"outside {names[-1]}"),
        events=tuple(events),
        low=lower,
        high=upper,
        coverage=at.levels,
        ids=np.arange(len(lower)),
    )
    return with_index(law, low, high)


@dataclass(frozen=True, eq=False)
class Pit(ByRow):
    """Probability integral transforms u = F(y|x) of the observations; see `from_pit`.

    Parameters
    ----------
    values : ndarray of shape (n, d_y)
        Between 0 and 1.
    """

    WHY_NOT = "only the CDF at the observations is known"
    name = "The law of PITs"

    values: FloatArray

    def normal_scores(self, y: AnyArray) -> FloatArray:
        self._columns(y, self.values.shape[1])
        return tail_scores(self.values, 1.0 - self.values)


def from_pit(u: TableLike) -> Pit:
    """Law from probability integral transforms u = F(y|x), computed elsewhere.

    Parameters
    ----------
    u : array_like of shape (n,), or (n, d_y) for Rosenblatt's sequence
        Uniform on (0, 1) and independent of x if the model is true. For a discrete y take
        the randomised PIT. Each of several columns is that of y given x *and the columns
        before it*.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x, u = rng.normal(size=300), rng.random(300)
    >>> cg.adaptive(cg.from_pit(u), x, u, rng=1).reject()
    False
    """
    array = as_numbers(u, option_name("u")).astype(np.float64)
    if array.ndim not in (1, 2) or not array.size:
        raise ShapeError(f"PITs must have shape (n,) or (n, d_y), got {array.shape}.")
    check_finite(array, option_name("u"), "Check the model there.")
    refuse_rows(
        (array < 0) | (array > 1),
        f"A PIT lies between 0 and 1, and {option_name('u')} does not",
        by_asker(
            python="Normal scores z become PITs by scipy.special.ndtr(z).",
            command_line="Normal scores z become PITs by the normal CDF, Φ(z).",
        ),
    )
    return with_index(Pit(as_rows(array)), u)


@dataclass(frozen=True, eq=False)
class Histograms(ByRow):
    """A histogram in each row: a density that is constant between edges; see `from_bins`.

    Parameters
    ----------
    edges : ndarray of shape (n, K + 1)
        The edges of the bins, increasing in each row.
    probabilities : ndarray of shape (n, K)
        The probability of each bin.
    """

    EACH = ("edges", "probabilities")
    WHY_NOT = (
        "its density is piecewise constant, so that the score would be 0 almost everywhere"
    )
    name = "The law of histograms"

    edges: FloatArray
    probabilities: FloatArray

    @property
    def _low(self) -> FloatArray:
        """The lower edge of each bin, (n, K)."""
        return self.edges[:, :-1]

    @property
    def _high(self) -> FloatArray:
        """The upper edge of each bin, (n, K)."""
        return self.edges[:, 1:]

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        possible = self.probabilities > 0
        least = np.where(possible, self._low, np.inf).min(axis=1, keepdims=True)
        most = np.where(possible, self._high, -np.inf).max(axis=1, keepdims=True)
        return least, most

    def _shares_below(self, y: AnyArray) -> FloatArray:
        """Return which share of each bin lies below y, (n, K)."""
        distance = self._columns(y) - self._low
        return np.asarray(np.clip(distance / np.diff(self.edges, axis=1), 0.0, 1.0))

    def cdf(self, y: AnyArray) -> FloatArray:
        below = self.probabilities * self._shares_below(y)
        return np.asarray(below.sum(axis=1).clip(max=1.0))

    def sf(self, y: AnyArray) -> FloatArray:
        above = self.probabilities * (1.0 - self._shares_below(y))
        return np.asarray(above.sum(axis=1).clip(max=1.0))

    def log_prob(self, y: AnyArray) -> FloatArray:
        y = self._columns(y)
        # An edge belongs to the bin above it, the last one to the bin below.
        at_the_end = (y == self._high) & (self._high == self.edges[:, -1:])
        inside = (self._low <= y) & ((y < self._high) | at_the_end)
        densities = self.probabilities / (self._high - self._low)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(densities.sum(axis=1, where=inside)))

    def crps(self, y: AnyArray) -> FloatArray:
        y = self._columns(y)
        edges = self.edges
        cumulated = np.cumsum(self.probabilities, axis=1)
        cdf = np.hstack([np.zeros((self.n, 1)), cumulated])
        cdf_at_y = self.cdf(y)[:, None]
        # ∫ F² below y and ∫ (1 − F)² above it; edges on the other side of y are moved to y.
        below = _integral_of_square(
            np.minimum(edges, y), np.where(edges < y, cdf, cdf_at_y)
        )
        above = _integral_of_square(
            np.maximum(edges, y), 1.0 - np.where(edges > y, cdf, cdf_at_y)
        )
        outside = np.maximum(edges[:, :1] - y, 0.0) + np.maximum(y - edges[:, -1:], 0.0)
        return np.asarray(below + above + outside[:, 0])

    def sample(self, rng: np.random.Generator) -> FloatArray:
        # Without the last sum, which rounding may leave below 1.
        cdf = np.cumsum(self.probabilities, axis=1)[:, :-1]
        bins = (rng.random((self.n, 1)) >= cdf).sum(axis=1, keepdims=True)
        low = np.take_along_axis(self.edges, bins, axis=1)
        high = np.take_along_axis(self.edges, bins + 1, axis=1)
        return np.asarray(low + (high - low) * rng.random((self.n, 1)))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        middle = 0.5 * (self._high + self._low)
        width = np.diff(self.edges, axis=1)
        mean = (self.probabilities * middle).sum(axis=1, keepdims=True)
        square = np.square(middle - mean) + np.square(width) / 12.0
        variance = (self.probabilities * square).sum(axis=1, keepdims=True)
        return mean, np.sqrt(variance)


def _integral_of_square(t: FloatArray, f: FloatArray) -> FloatArray:
    """Return ∫ f(t)² dt, (n,), of functions that are linear between nodes t with values f.

    Both have shape (n, m), t increasing. Between two nodes the integral is
    (t₁ − t₀)·(f₁² + f₁f₀ + f₀²)/3.
    """
    left = f[:, :-1]
    right = f[:, 1:]
    pieces = np.diff(t) * (right**2 + right * left + left**2) / 3.0
    return np.asarray(pieces.sum(axis=1))


def from_bins(edges: Any, probabilities: Any) -> Histograms:
    """Law from histograms: probabilities of bins, and a constant density inside each bin.

    Its CDF is linear between edges. It has no score: the tests see its normal scores.

    Parameters
    ----------
    edges : array_like of shape (K + 1,) or (n, K + 1)
        The edges of the bins, increasing and finite; the same for all rows, or one row an
        observation.
    probabilities : array_like of shape (n, K)
        The probability of each bin, which sum to 1 in each row.

    Examples
    --------
    >>> law = from_bins([0.0, 1.0, 3.0], [[0.5, 0.5], [1.0, 0.0]])
    >>> law.cdf(np.array([2.0, 0.25]))
    array([0.75, 0.25])
    """
    p = as_numbers(probabilities, "probabilities").astype(np.float64)
    at = np.atleast_2d(as_numbers(edges, "edges").astype(np.float64))
    if p.ndim != 2 or not p.size:
        raise ShapeError(
            f"probabilities must have shape (n, K), one row an observation, got {p.shape}."
        )
    n = len(p)
    count = p.shape[1] + 1
    if at.shape not in ((1, count), (n, count)):
        shapes = f"({count},) or ({n}, {count})"
        raise ShapeError(
            f"edges must have shape {shapes}, one more than bins, got {np.shape(edges)}."
        )
    check_finite(at, "edges", "Check the model there.")
    refuse_rows(np.diff(at, axis=1) <= 0, "edges must increase, and do not", "Sort them.")
    advice = (
        "A density becomes probabilities when it is multiplied by the widths of the bins."
    )
    p = normalised(check_probabilities(p, "The histogram", advice))
    return Histograms(edges=np.broadcast_to(at, (n, count)), probabilities=p)


class Partition(NamedTuple):
    """Increasing levels (K,), and the probabilities of the cells between them, (K + 1,)."""

    levels: FloatArray
    shares: FloatArray


def _check_partition(levels: object, what: str) -> Partition:
    """Check that a user's levels, which messages call `what`, increase between 0 and 1."""
    array = check_levels(levels, what)
    if (np.diff(array) <= 0).any():
        raise InputError(
            f"{what} must increase, got {levels!r}. Sort, and the columns with it."
        )
    return Partition(array, shares=np.diff(array, prepend=0.0, append=1.0))


def _read_predictions(
    values: object, what: str, count: int, counted: str, *, may_be_infinite: bool = False
) -> FloatArray:
    """Read predictions with one row an observation, (n, count).

    Messages call them `what`, and say that there is a column for each of the `counted`.
    """
    array = as_rows(as_numbers(values, what).astype(np.float64))
    if array.shape[1:] != (count,) or not len(array):
        wanted = (
            f"(n, {count}), one row an observation and a column for each of the {counted}"
        )
        raise ShapeError(f"{what} must have shape {wanted}, got {array.shape}.")
    if may_be_infinite:
        bad = np.isnan(array)
        problem = f"{what} has NaN values"
    else:
        bad = ~np.isfinite(array)
        problem = f"{what} has NaN or infinite values"
    refuse_rows(bad, problem, "Check the model there.", NonFiniteError)
    return array
