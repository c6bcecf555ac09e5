"""Laws of which predictions tell the CDF at some places: quantiles, intervals, histograms, PITs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import InputError, NonFiniteError, ShapeError, check_finite, refuse_rows
from condgof.kernels import Block, Cells
from condgof.laws._discrete import Discrete, Residuals, check_probabilities, normalised
from condgof.laws._draws import alike, row_uniforms
from condgof.laws._law import ByRow, as_rows, check_levels, indexed, same_as, tail_scores
from condgof.sample import RngLike, Seed, as_numbers


@dataclass(frozen=True)
class Event:
    """That y is not above a "quantile", or inside an interval ("coverage"): in the first cells."""

    kind: str
    level: float
    cells: int

    def happened(self, codes: IntArray) -> AnyArray:
        """Tell in which rows it did, (n,), from the cells that were observed."""
        return codes < self.cells


@dataclass(frozen=True, eq=False)
class CellsOfY(ByRow, Discrete):
    """Cells of y with the same probabilities in every row; no test depends on its `location_scale`."""

    #: What residuals are called, and what results say that y was seen as.
    SEEN: ClassVar[tuple[str, str]]
    #: From y to its cells, (n,).
    codes: ClassVar[Callable[..., IntArray]]

    #: The probabilities of the cells, (K,), their names, and what the law says of y, a
    #: statement each.
    shares: FloatArray
    names: tuple[str, ...]
    events: tuple[Event, ...]

    class_names = same_as("names")

    def numbers(self, y: AnyArray) -> FloatArray:
        return self._columns(as_numbers(y, "y"))[:, 0]

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        p = np.broadcast_to(self.shares, (self.n, len(self.shares)))
        return Residuals.of_cells(p, self.codes(y))

    def cells(self, by: str) -> Cells:
        (name, words), count = self.SEEN, len(self.shares)
        return Cells((Block(name, 0, count, np.arange(float(count))),), words)


@dataclass(frozen=True, eq=False)
class Quantiles(CellsOfY):
    """Quantiles of y, (n, K), sorted in each row, and their levels (K,); see `from_quantiles`."""

    EACH = ("values", "ids")
    SEEN = "quantiles", "the cell between predicted quantiles that it falls into"
    name = "The law of quantiles"

    values: AnyArray
    levels: FloatArray
    #: Of the random numbers that break ties, which belong to the rows' own numbers, `ids`
    #: (n,).
    seed: int
    ids: IntArray

    def codes(self, y: AnyArray) -> IntArray:
        values, y = alike(self.values, self.numbers(y)[:, None])
        below, upto = (values < y).sum(axis=1), (values <= y).sum(axis=1)
        tied = np.flatnonzero(upto - below > 1)
        # Several quantiles equal y (a law with atoms): one of the cells that end there, at
        # random in proportion to their probabilities.
        sums, first, last = np.cumsum([0.0, *self.shares]), below[tied], upto[tied] - 1
        at = sums[first] + (sums[last + 1] - sums[first]) * row_uniforms(
            self.seed, self.ids[tied]
        )
        below[tied] = np.clip(np.searchsorted(sums, at, side="right") - 1, first, last)
        return np.asarray(below, dtype=np.int64)

    def pinball(self, y: AnyArray) -> FloatArray:
        """Return the mean over the levels τ of (1{y < q} − τ)·(q − y), (n,)."""
        away = np.asarray(self.values, dtype=np.float64) - self.numbers(y)[:, None]
        return np.asarray((((away > 0) - self.levels) * away).mean(axis=1))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return the middle quantile and the distance of the outer ones in normal units, (n, 1) each."""
        values = np.asarray(self.values, dtype=np.float64)
        middle = int(np.argmin(np.abs(self.levels - 0.5)))
        width = values[:, -1:] - values[:, :1]
        apart = float(np.ptp(np.asarray(ndtri(self.levels)))) or 1.0
        least = 1e-9 * (1.0 + np.abs(values).max(axis=1, keepdims=True))
        return values[:, [middle]], np.maximum(width / apart, least)


@dataclass(frozen=True, eq=False)
class Intervals(CellsOfY):
    """Ends of nested intervals for y, (n, K), the smallest first, and their increasing coverage (K,)."""

    EACH = ("low", "high")
    SEEN = "intervals", "the smallest predicted interval that covers it"
    name = "The law of intervals"

    low: AnyArray
    high: AnyArray
    coverage: FloatArray

    def codes(self, y: AnyArray) -> IntArray:
        y = self.numbers(y)[:, None]
        (low, y_low), (high, y_high) = alike(self.low, y), alike(self.high, y)
        inside = (low <= y_low) & (y_high <= high)
        return np.asarray(len(self.coverage) - inside.sum(axis=1), dtype=np.int64)

    def winkler(self, y: AnyArray) -> FloatArray:
        """Return the mean over intervals of width + 2/(1 − coverage)·(distance of y), (n,)."""
        y = self.numbers(y)[:, None]
        outside = np.maximum(self.low - y, 0.0) + np.maximum(y - self.high, 0.0)
        return np.asarray(
            (self.high - self.low + 2.0 / (1.0 - self.coverage) * outside).mean(axis=1)
        )

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return middle and half-width of the outermost finite interval, (n, 1) each."""
        low, high = (
            np.asarray(end[:, -1:], dtype=np.float64) for end in (self.low, self.high)
        )
        low, high = (
            np.where(np.isfinite(low), low, high),
            np.where(np.isfinite(high), high, low),
        )
        low, high = (np.where(np.isfinite(end), end, 0.0) for end in (low, high))
        least = 1e-9 * (1.0 + np.maximum(np.abs(low), np.abs(high)))
        return 0.5 * (low + high), np.maximum(0.5 * (high - low), least)


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
        Where several quantiles of a row are equal and y equals them, the cell is drawn; the
        same rng gives the same cells.

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
    at, shares = _levels(levels, "levels")
    array = _table(quantiles, "quantiles", len(at), "levels")
    falls = np.diff(array, axis=1) < 0
    often = falls.mean(axis=0)
    if (often > 0.9).any():  # not crossing, but in the wrong order
        k = int(np.argmax(often))
        what = f"The {at[k]:g} quantile is above the {at[k + 1]:g} quantile"
        refuse_rows(falls[:, k], what, "Are the columns in the order of the levels?")
    names = [f"q{level:g}" for level in at]
    inner = (f"{a} to {b}" for a, b in pairwise(names))
    cells = (f"up to {names[0]}", *inner, f"above {names[-1]}")
    events = (Event("quantile", q, k) for k, q in enumerate(at.tolist(), 1))
    held = np.sort(array, axis=1), at, Seed.of(rng).value, np.arange(len(array))
    law = indexed(Quantiles(shares, cells, tuple(events), *held), quantiles)
    crossed = int(falls.any(axis=1).sum())
    note = (
        f"predicted quantiles cross in {crossed} of {len(array)} rows; they were sorted"
        " there"
    )
    return law.noted(note) if crossed else law


def from_intervals(low: TableLike, high: TableLike, coverage: object = 0.9) -> Intervals:
    """Law from prediction intervals: conformal ones, or any others with a stated coverage.

    What is tested is whether y lies inside with that probability *given x*, not only on
    average.

    Parameters
    ----------
    low, high : array_like of shape (n,), or (n, K) for K nested intervals
        Their ends, which belong to them; infinite where an interval has no end.
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
    (share, shares), given = _levels(coverage, "coverage"), (low, high)
    low = _table(low, "low", len(share), "coverages", finite=False)
    high = _table(high, "high", len(share), "coverages", finite=False)
    if low.shape != high.shape:
        raise ShapeError(
            f"low has shape {low.shape} and high {high.shape}: they must agree."
        )
    refuse_rows(low > high, "low is above high", "Exchange them there.")
    advice = "Nested intervals go from the smallest to the largest."
    crossed = (np.diff(low, axis=1) > 0) | (np.diff(high, axis=1) < 0)
    refuse_rows(
        crossed, "an interval of larger coverage does not hold the smaller one", advice
    )
    names = [f"{100 * c:g}%" for c in share]
    between = (f"between {a} and {b}" for a, b in pairwise(names))
    cells = (f"inside {names[0]}", *between, f"outside {names[-1]}")
    events = tuple(Event("coverage", c, k) for k, c in enumerate(share.tolist(), 1))
    return indexed(Intervals(shares, cells, events, low, high, share), *given)


@dataclass(frozen=True, eq=False)
class Pit(ByRow):
    """Probability integral transforms u = F(y|x) of the observations; see `from_pit`."""

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
    array = as_numbers(u, "u").astype(np.float64)
    if array.ndim not in (1, 2) or not array.size:
        raise ShapeError(f"PITs must have shape (n,) or (n, d_y), got {array.shape}.")
    check_finite(array, "u", "Check the model there.")
    advice = "Normal scores become PITs by scipy.special.ndtr."
    refuse_rows(
        (array < 0) | (array > 1), "A PIT lies between 0 and 1, and u does not", advice
    )
    return indexed(Pit(as_rows(array)), u)


@dataclass(frozen=True, eq=False)
class Histograms(ByRow):
    """A histogram in each row: a density that is constant between edges; see `from_bins`."""

    EACH = ("edges", "probabilities")
    WHY_NOT = (
        "its density is piecewise constant, so that the score would be 0 almost everywhere"
    )
    name = "The law of histograms"

    #: Increasing, (n, K + 1), and the probability of each bin, (n, K).
    edges: FloatArray
    probabilities: FloatArray

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        held, (low, high) = self.probabilities > 0, (self.edges[:, :-1], self.edges[:, 1:])
        least = np.where(held, low, np.inf).min(axis=1, keepdims=True)
        return least, np.where(held, high, -np.inf).max(axis=1, keepdims=True)

    def _shares(self, y: AnyArray) -> FloatArray:
        """Return which share of each bin lies below y, (n, K)."""
        above = self._columns(y) - self.edges[:, :-1]
        return np.asarray(np.clip(above / np.diff(self.edges, axis=1), 0.0, 1.0))

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray((self.probabilities * self._shares(y)).sum(axis=1).clip(max=1.0))

    def sf(self, y: AnyArray) -> FloatArray:
        return np.asarray(
            (self.probabilities * (1.0 - self._shares(y))).sum(axis=1).clip(max=1.0)
        )

    def log_prob(self, y: AnyArray) -> FloatArray:
        y, (low, high) = self._columns(y), (self.edges[:, :-1], self.edges[:, 1:])
        inside = (low <= y) & ((y < high) | ((y == high) & (high == self.edges[:, -1:])))
        with np.errstate(divide="ignore"):
            return np.asarray(
                np.log((self.probabilities / (high - low)).sum(axis=1, where=inside))
            )

    def crps(self, y: AnyArray) -> FloatArray:
        y, edges = self._columns(y), self.edges
        sums = np.hstack([np.zeros((self.n, 1)), np.cumsum(self.probabilities, axis=1)])
        here = self.cdf(y)[:, None]
        # F is linear between edges: the integral of its square is a sum, on either side of
        # y.
        below = np.minimum(edges, y), np.where(edges < y, sums, here)
        above = np.maximum(edges, y), 1.0 - np.where(edges > y, sums, here)
        parts = (
            np.diff(e) * (f[:, 1:] ** 2 + f[:, 1:] * f[:, :-1] + f[:, :-1] ** 2) / 3.0
            for e, f in (below, above)
        )
        outside = np.maximum(edges[:, :1] - y, 0.0) + np.maximum(y - edges[:, -1:], 0.0)
        return np.asarray(sum(part.sum(axis=1) for part in parts) + outside[:, 0])

    def sample(self, rng: np.random.Generator) -> FloatArray:
        sums = np.cumsum(self.probabilities, axis=1)[:, :-1]
        code = (rng.random((self.n, 1)) >= sums).sum(axis=1, keepdims=True)
        low, high = (np.take_along_axis(self.edges, code + k, axis=1) for k in (0, 1))
        return np.asarray(low + (high - low) * rng.random((self.n, 1)))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        middle, width = (
            0.5 * (self.edges[:, 1:] + self.edges[:, :-1]),
            np.diff(self.edges, axis=1),
        )
        mean = (self.probabilities * middle).sum(axis=1, keepdims=True)
        square = np.square(middle - mean) + np.square(width) / 12.0
        return mean, np.sqrt((self.probabilities * square).sum(axis=1, keepdims=True))


def from_bins(edges: Any, probabilities: Any) -> Histograms:
    """Law from histograms: probabilities of bins, with a density that is constant inside each.

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
    n, count = len(p), p.shape[1] + 1
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
    return Histograms(np.broadcast_to(at, (n, count)), p)


def _levels(given: object, what: str) -> tuple[FloatArray, FloatArray]:
    """Check increasing levels, (K,), and return the probabilities of the cells between them as well."""
    levels = check_levels(given, what)
    if (np.diff(levels) <= 0).any():
        raise InputError(
            f"{what} must increase, got {given!r}. Sort, and the columns with it."
        )
    return levels, np.diff(levels, prepend=0.0, append=1.0)


def _table(
    values: object, what: str, count: int, counted: str, *, finite: bool = True
) -> FloatArray:
    """Read predictions with one row an observation and as many columns as there are levels."""
    array = as_rows(as_numbers(values, what).astype(np.float64))
    if array.shape[1:] != (count,) or not len(array):
        wanted = (
            f"(n, {count}), one row an observation and a column for each of the {counted}"
        )
        raise ShapeError(f"{what} must have shape {wanted}, got {array.shape}.")
    bad, held = (
        (~np.isfinite(array), "NaN or infinite") if finite else (np.isnan(array), "NaN")
    )
    refuse_rows(bad, f"{what} has {held} values", "Check the model there.", NonFiniteError)
    return array
