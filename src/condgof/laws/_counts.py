"""Counts with a CDF: Poisson, negative binomial, binomial, with other shares of zeros too.

For kernels on y, u = (y − location(x))/scale(x) is rounded to cells of an eighth, from −8
to 8: a function of y whose form depends on x alone. A cell's probability is a difference of
two values of the CDF.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from scipy.special import betainc, betaincc, betaln, gammaincc, gammaln, ive, xlog1py, xlogy

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import NumericalError, refuse_rows
from condgof.kernels import Block, Cells
from condgof.laws._discrete import CellOutcomes, Discrete, Residuals, ResidualSet, flat
from condgof.laws._law import TINY, Law, check_levels, first_place, refuse_outside
from condgof.laws._parameters import Array, Parametric, Values, family
from condgof.sample import LIMITS, as_numbers

#: From counts (n, m) to P(Y ≤ y | x), (n, m).
Cdf: TypeAlias = Callable[[FloatArray], FloatArray]
#: The smallest standard deviation that counts are measured in, as a model may be certain
#: of one value.
LEAST_SCALE = 1e-6
#: Probability of each tail that is left out of sums over counts.
NO_TAIL = 1e-9
#: Sums over more counts than this are refused.
MOST_COUNTS = 2**20
#: Numbers that are held at a time while sums are computed.
HELD = 2**22
#: Rows whose cells are computed together: what fits into the cache of a processor.
BLOCK_ROWS = 1024
#: Counts are drawn by uniform numbers up to this one.
LARGEST_LEVEL = 1.0 - 1e-15
#: Cells in a standard deviation.
FINENESS = 8
#: Standard deviations to either side of the location that have cells.
REACH = 8
#: The number of cells.
COUNT = 2 * FINENESS * REACH + 1
#: An edge of cells and a count may be equal if they differ by less than this, relative to
#: their size.
EDGE_ROUNDING = 1e-9
#: The middle of each cell, in standard deviations from the location, (COUNT,).
POSITIONS = (np.arange(COUNT) - FINENESS * REACH) / FINENESS
CELLS = Block("counts", 0, COUNT, POSITIONS, distances=True)
COUNTS = Cells((CELLS,), "location and scale of the model, in cells")


def standardised(y: AnyArray, location: FloatArray, scale: FloatArray) -> FloatArray:
    """Return u = (y − location)/scale, kept within the cells."""
    return np.clip((y - location) / scale, -REACH, REACH)


def cell_of(u: FloatArray) -> IntArray:
    """Return the cell of each standardised count; half-way goes up."""
    return np.floor(u * FINENESS + 0.5).astype(np.int64) + FINENESS * REACH


def cell_probabilities(cdf: Cdf, location: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the probability of each cell, (n, COUNT)."""
    last = _last_counts(location, scale)
    probabilities = np.diff(_cdf_at_counts(cdf, last), axis=1, prepend=0.0, append=1.0)
    return np.maximum(probabilities, 0.0, out=probabilities)


def _last_counts(location: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the last count below the lower edge of each cell but the first, (n, COUNT−1).

    Where a count is an edge but for rounding, the cells themselves are asked, so that no
    count is on one side of an edge here and on the other side there.
    """
    edges = (POSITIONS[1:] - 0.5 / FINENESS) * scale[:, None] + location[:, None]
    last = np.ceil(edges) - 1.0
    is_near = np.abs(edges - np.rint(edges)) <= EDGE_ROUNDING * (1.0 + np.abs(edges))
    rows, columns = np.nonzero(is_near)
    cells = columns + 1

    def cells_of(y: FloatArray) -> IntArray:
        return cell_of(standardised(y, location[rows], scale[rows]))

    near = last[rows, columns]
    is_too_low = cells_of(near + 1.0) < cells
    is_too_high = cells_of(near) >= cells
    last[rows, columns] += np.where(is_too_low, 1.0, np.where(is_too_high, -1.0, 0.0))
    return last


def _cdf_at_counts(cdf: Cdf, counts: FloatArray) -> FloatArray:
    """Return the CDF at increasing counts (n, m), each count of a row computed once."""
    first = counts[:, :1]
    span = float((counts[:, -1:] - first).max(initial=0.0))
    if not span < counts.shape[1] - 1:  # as many counts as there are edges, or more
        return cdf(counts)
    values = cdf(first + np.arange(span + 1.0))
    return np.take_along_axis(values, (counts - first).astype(np.int64), axis=1)


class Whole(Discrete):
    """Whole numbers between bounds, seen in cells of the model's own width."""

    def _bounds(self) -> tuple[AnyArray, AnyArray]:
        """Return the smallest and the largest count, which broadcast to (n,)."""
        return np.array(0.0), np.array(np.inf)

    def numbers(self, y: AnyArray) -> FloatArray:
        low, high = self._bounds()
        values = flat(as_numbers(y, "y")).astype(np.float64)
        refuse_rows(
            values != np.floor(values),
            f"{self.name} is a model of counts, and y is not a whole number",
            "A continuous y needs another model.",
        )
        refuse_outside((values < low) | (values > high), self.name)
        return values

    def cells(self, by: str) -> Cells:
        return COUNTS

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        low, high = (end[:, None] if np.ndim(end) else end for end in self._bounds())
        return low - 1.0, high + 1.0


class Counts(Whole):
    """Counts with a CDF: `_cdf`, `_bounds`, and `mean_std` or `location_scale`."""

    #: It takes any real numbers.
    _cdf: Cdf

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        """Return residuals of cells.

        Those of `ResidualSet.FULL` are computed when they are asked for: the adaptive test
        compares counts by the CDF, and leaves cells alone.
        """
        counts = self.numbers(y)
        location, scale = self._cell_units()
        u = standardised(counts, location, scale)
        self._refuse_broken(~np.isfinite(u))
        observed = cell_of(u)
        if by == ResidualSet.FULL:
            lazy = cast(AnyArray, CellProbabilities(self))
            outcomes = CellOutcomes(lazy, observed)
            return Residuals(u[:, None], cast(FloatArray, outcomes), outcomes)
        return Residuals.from_cells(self._cell_probabilities(), observed, u[:, None])

    def _cell_units(self) -> CellUnits:
        location, scale = self.location_scale()
        return CellUnits(location[:, 0], np.maximum(scale[:, 0], LEAST_SCALE))

    def _cell_probabilities(self) -> FloatArray:
        """Return the probability of each cell, (n, COUNT)."""
        location, scale = self._cell_units()
        probabilities = cell_probabilities(self._cdf, location, scale)
        self._refuse_broken(np.asarray(~np.isfinite(probabilities).all(axis=1)))
        return probabilities

    def _refuse_broken(self, is_broken: AnyArray) -> None:
        """Refuse rows (n,) in which the law does not say what cells need."""
        refuse_rows(
            is_broken,
            f"{self.name} has no finite mean, standard deviation or CDF",
            "Check the model there.",
            NumericalError,
        )

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._cdf(self._columns(y))[:, 0]

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        grid = np.ravel(values).astype(np.float64)
        return self._cdf(np.broadcast_to(grid, (self.n, len(grid))))

    def crps(self, y: AnyArray) -> FloatArray:
        ends = self.quantile([NO_TAIL, 1.0 - NO_TAIL])
        return summed(self._cdf, self._columns(y), ends, self.name)

    def quantile(self, levels: Any) -> FloatArray:
        wanted = np.broadcast_to(check_levels(levels), (self.n, np.size(levels)))
        return self._smallest(wanted)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        # 1 has no quantile.
        return self._smallest(np.clip(rng.random((self.n, 1)), TINY, LARGEST_LEVEL))

    def _smallest(self, wanted: FloatArray, near: Law | None = None) -> FloatArray:
        """Return the smallest counts with cdf ≥ wanted, (n, m), searched from `near` on."""
        location, scale = (near or self).location_scale()
        start = np.broadcast_to(np.floor(location[:, :1]), wanted.shape)
        step = np.maximum(np.ceil(scale[:, :1]), 1.0)
        return first_place(lambda y: self._cdf(y) >= wanted, start, step, whole=True)


class CellUnits(NamedTuple):
    """Where the cells of each row are."""

    location: FloatArray  #: (n,).
    scale: FloatArray  #: (n,), at least `LEAST_SCALE`.


@dataclass(frozen=True, eq=False)
class CellProbabilities:
    """The probabilities of cells (n, COUNT) as an array that is computed when needed.

    Taking rows computes nothing.
    """

    law: Counts
    rows: IntArray | None = None  #: Which rows of the law, (n,); all of them if None.

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), COUNT

    def __len__(self) -> int:
        return self.law.n if self.rows is None else len(self.rows)

    def __getitem__(self, rows: Any) -> CellProbabilities:
        every = np.arange(self.law.n) if self.rows is None else self.rows
        return CellProbabilities(self.law, every[rows])

    @cached_property
    def _values(self) -> FloatArray:
        rows = np.arange(self.law.n) if self.rows is None else self.rows
        values = np.empty(self.shape)
        for start in range(0, len(rows), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            law = self.law.take(rows[block])
            assert isinstance(law, Counts)
            values[block] = law._cell_probabilities()
        return values

    def __array__(self, dtype: Any = None, copy: Any = None) -> FloatArray:
        values = self._values
        if dtype is not None:
            values = values.astype(dtype, copy=False)
        return values.copy() if copy else values


def summed(cdf: Cdf, y: FloatArray, ends: FloatArray, name: str) -> FloatArray:
    """Return Σ_k (F(k) − 1{y ≤ k})², (n,), over counts k between `ends` (n, 2) and y."""
    low = np.minimum(ends[:, :1], y)
    high = np.maximum(ends[:, 1:], y)
    count = float((high - low).max(initial=0.0))
    if not count <= MOST_COUNTS:
        raise NumericalError(
            f"The counts of {name} spread over {count:.3g} values, too many to sum."
        )
    out = np.zeros(len(y))
    step = max(1, HELD // max(len(y), 1))
    for start in range(0, int(count), step):
        k = low + np.arange(float(start), min(start + step, int(count)))
        out += np.where(k < high, np.square(cdf(k) - (k >= y)), 0.0).sum(axis=1)
    return out


class CountFamily(Parametric, Counts):
    """A closed form; a subclass writes functions of counts and parameters, (n, 1)."""

    POSITIVE, SHARES = ("mean", "dispersion"), ("p", "inflation", "zero")

    _log_pmf: Callable[..., Array]
    #: P(Y ≤ y).
    _tail: Callable[..., Array]
    #: These get a generator in place of y, and nothing; moments are mean and variance.
    _draw: Callable[..., AnyArray]
    _moments: Callable[..., tuple[Array, Array]]

    def _ends(self, *p: Array) -> tuple[AnyArray, AnyArray]:
        """Return the smallest and the largest count, which broadcast to (n, 1)."""
        return np.array(0.0), np.array(np.inf)

    def _bounds(self) -> tuple[AnyArray, AnyArray]:
        low, high = self._ends(*self._at(self._size(), 1))
        return low[..., 0] if low.ndim else low, high[..., 0] if high.ndim else high

    def _cdf(self, y: FloatArray) -> FloatArray:
        p = self._at(self._size(y), 1)
        y, (low, high) = np.floor(y), self._ends(*p)
        inside = np.where((y >= low) & (y < high), y, 0.0)
        values = np.where(y < low, 0.0, np.where(y >= high, 1.0, self._tail(inside, *p)))
        return np.clip(values, 0.0, 1.0)

    def log_prob(self, y: AnyArray) -> FloatArray:
        y = self._columns(y)
        p = self._at(self._size(y), 1)
        low, high = self._ends(*p)
        possible = (y >= low) & (y <= high) & (y == np.floor(y))
        return np.where(possible, self._log_pmf(np.where(possible, y, 0.0), *p), -np.inf)[
            :, 0
        ]

    def sample(self, rng: np.random.Generator) -> FloatArray:
        p = self._at(self._size(), 1)
        try:
            return np.asarray(self._draw(rng, *p), dtype=np.float64)
        except ValueError as error:  # a mean beyond all integers
            raise NumericalError(
                f"{self.name} cannot be drawn: {error}. Check the model."
            ) from error

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        mean, variance = self._moments(*self._at(self._size(), 1))
        return np.array(mean), np.sqrt(variance)


@family
class Poisson(CountFamily):
    """Poisson model of counts: p(y|x) = μ(x)^y exp(−μ(x)) / y! with the mean μ.

    Examples
    --------
    >>> Poisson(mean=lambda x: x)(np.array([1.0])).cdf(np.array([0.0])).round(3)
    array([0.368])
    """

    mean: Any

    def _log_pmf(self, y: Array, mean: Array) -> Array:
        return np.asarray(xlogy(y, mean) - mean - gammaln(y + 1.0))

    def _tail(self, y: Array, mean: Array) -> Array:
        return np.asarray(gammaincc(y + 1.0, mean))

    def _draw(self, rng: np.random.Generator, mean: Array) -> AnyArray:
        return rng.poisson(mean)

    def _moments(self, mean: Array) -> tuple[Array, Array]:
        return mean, mean

    def _crps(self, y: Array, mean: Array) -> Array:
        known = np.maximum(y, 0.0)
        tail = np.where(y < 0, 0.0, self._tail(known, mean))
        here = np.where(y < 0, 0.0, np.exp(self._log_pmf(known, mean)))
        apart = ive(0, 2.0 * mean) + ive(1, 2.0 * mean)
        return np.asarray((y - mean) * (2.0 * tail - 1.0) + mean * (2.0 * here - apart))


@family
class NegativeBinomial(CountFamily):
    """Negative binomial model of counts: mean μ(x), variance μ + dispersion·μ².

    `dispersion` is what statsmodels calls alpha, and 1/size: near 0 it is a Poisson model.

    Examples
    --------
    >>> mean, std = NegativeBinomial(mean=2.0, dispersion=0.5)(n=1).mean_std()
    >>> mean[0, 0], std[0, 0]
    (np.float64(2.0), np.float64(2.0))
    """

    mean: Any
    dispersion: Any

    def _log_pmf(self, y: Array, mean: Array, dispersion: Array) -> Array:
        size = 1.0 / dispersion
        # −size·log(1 + μ/size): log1p, because a small dispersion makes this the Poisson's
        # −μ.
        tail = -size * np.log1p(mean / size)
        whole = -np.log(size + y) - betaln(
            size, y + 1.0
        )  # differences of gammaln would lose digits
        return np.asarray(whole + xlogy(y, mean / (mean + size)) + tail)

    def _tail(self, y: Array, mean: Array, dispersion: Array) -> Array:
        size = 1.0 / dispersion
        return np.asarray(betainc(size, y + 1.0, size / (mean + size)))

    def _draw(self, rng: np.random.Generator, mean: Array, dispersion: Array) -> AnyArray:
        return rng.poisson(rng.gamma(1.0 / dispersion, mean * dispersion))

    def _moments(self, mean: Array, dispersion: Array) -> tuple[Array, Array]:
        return mean, mean + dispersion * mean**2

    def _crps(self, y: Array, mean: Array, dispersion: Array) -> Array:
        size = 1.0 / dispersion
        share = size / (mean + size)
        tail = betainc(size, np.maximum(y, 0.0) + 1.0, share)
        sign_mean = 2.0 * np.where(y < 0, 0.0, tail) - 1.0
        # F of one more success at y − 1, by whose sum Σ k p(k) is known.
        below = np.where(y < 1, 0.0, betainc(size + 1.0, np.maximum(y, 1.0), share))
        # ½ E|Y − Y'|: for whole numbers E|D| = 1/π ∫_0^∞ (1 − φ)/u² du with the
        # characteristic function φ of D at t = 2 atan(u); a double-exponential rule of 75
        # nodes has 1e-13 of it.
        v, odds = np.arange(-37, 38) / 10.0, mean / size
        u = np.exp(0.5 * np.pi * np.sinh(v)) / np.sqrt(mean + mean**2 / size)
        log_phi = -size * np.log1p(4.0 * odds * (1.0 + odds) * u * u / (1.0 + u * u))
        apart = ((-np.expm1(log_phi) / u) @ (0.1 * 0.25 * np.cosh(v)))[:, None]
        return np.asarray(y * sign_mean - mean * (2.0 * below - 1.0) - apart)


@family
class Binomial(CountFamily):
    """Binomial model of counts: y of trials(x), a whole number, each with probability p(x).

    Examples
    --------
    >>> np.exp(Binomial(trials=2, p=0.5).log_prob(np.array([0.0, 1.0, 2.0]))).round(3)
    array([0.25, 0.5 , 0.25])
    """

    trials: Any
    p: Any

    def _at(self, n: int, d_y: int) -> Values:
        trials, p = super()._at(n, d_y)
        bad = ~((trials >= 0) & (trials == np.floor(trials)))
        refuse_rows(
            bad, "trials must be whole numbers from 0 on, and are not", "Check them there."
        )
        LIMITS.trials.check(int(min(trials.max(initial=0), 1e18)), "Binomial has")
        return trials, p

    def _ends(self, trials: Array, p: Array) -> tuple[AnyArray, AnyArray]:  # type: ignore[override]
        # A probability of 0 or 1 leaves one count that can be.
        return np.where(p == 1, trials, 0.0), np.where(p == 0, 0.0, trials)

    def _log_pmf(self, y: Array, trials: Array, p: Array) -> Array:
        chosen = gammaln(trials + 1.0) - gammaln(y + 1.0) - gammaln(trials - y + 1.0)
        return np.asarray(chosen + xlogy(y, p) + xlog1py(trials - y, -p))

    def _tail(self, y: Array, trials: Array, p: Array) -> Array:
        return np.asarray(betaincc(y + 1.0, np.maximum(trials - y, 1e-300), p))

    def _draw(self, rng: np.random.Generator, trials: Array, p: Array) -> AnyArray:
        return rng.binomial(trials.astype(np.int64), p)

    def _moments(self, trials: Array, p: Array) -> tuple[Array, Array]:
        return trials * p, trials * p * (1.0 - p)


class _OtherZeros(CountFamily):
    """A mixture of 0 and a family that a subclass also inherits.

    The last parameter is that of the zeros.
    """

    #: The probability of 0, and how often a count comes from the family, given that
    #: family's P(0).
    _zeros: Callable[[Array, Array], tuple[Array, Array]]

    def _split(self, *p: Array) -> tuple[Array, Array, Array]:
        own = np.exp(super()._log_pmf(np.zeros_like(p[-1]), *p[:-1]))
        return own, *self._zeros(p[-1], own)

    def _log_pmf(self, y: Array, *p: Array) -> Array:
        _, zero, share = self._split(*p)
        with np.errstate(divide="ignore"):
            return np.where(
                y == 0, np.log(zero), np.log(share) + super()._log_pmf(y, *p[:-1])
            )

    def _tail(self, y: Array, *p: Array) -> Array:
        own, zero, share = self._split(*p)
        return np.asarray(zero + share * (super()._tail(y, *p[:-1]) - own))

    sample, crps = Counts.sample, Counts.crps  # not the family's

    def _moments(self, *p: Array) -> tuple[Array, Array]:
        (*_, share), (family_mean, variance) = self._split(*p), super()._moments(*p[:-1])
        mean = share * family_mean
        return mean, share * (variance + family_mean**2) - mean**2


class _ZeroInflated(_OtherZeros):
    """Zero with probability w, else of the family."""

    def _zeros(self, w: Array, own: Array) -> tuple[Array, Array]:
        return w + (1.0 - w) * own, 1.0 - w


class _Hurdle(_OtherZeros):
    """Zero with probability π, else of the family given that it is not zero."""

    def _zeros(self, zero: Array, own: Array) -> tuple[Array, Array]:
        return zero, (1.0 - zero) / (1.0 - own)

    def _ends(self, *p: Array) -> tuple[AnyArray, AnyArray]:
        return np.where(p[-1] > 0, 0.0, 1.0), np.array(np.inf)


@family
class ZeroInflatedPoisson(_ZeroInflated, Poisson):
    """Counts that are 0 with probability inflation(x), and else Poisson(mean(x)).

    Examples
    --------
    >>> law = ZeroInflatedPoisson(mean=1.0, inflation=0.5)
    >>> np.exp(law.log_prob(np.array([0.0]))).round(3)
    array([0.684])
    """

    inflation: Any


@family
class ZeroInflatedNegativeBinomial(_ZeroInflated, NegativeBinomial):
    """Counts: 0 with probability inflation(x), else NegativeBinomial(mean, dispersion).

    Examples
    --------
    >>> law = ZeroInflatedNegativeBinomial(mean=1.0, dispersion=1.0, inflation=0.5)
    >>> np.exp(law.log_prob(np.array([0.0]))).round(3)
    array([0.75])
    """

    inflation: Any


@family
class HurdlePoisson(_Hurdle, Poisson):
    """Counts: 0 with probability zero(x), else Poisson(mean(x)) given that y > 0.

    Examples
    --------
    >>> np.exp(HurdlePoisson(mean=1.0, zero=0.5).log_prob(np.array([0.0, 1.0]))).round(3)
    array([0.5  , 0.291])
    """

    zero: Any


@family
class HurdleNegativeBinomial(_Hurdle, NegativeBinomial):
    """Counts: 0 with probability zero(x), else a negative binomial given y > 0.

    Examples
    --------
    >>> law = HurdleNegativeBinomial(mean=1.0, dispersion=1.0, zero=0.2)
    >>> np.exp(law.log_prob(np.array([0.0, 1.0]))).round(3)
    array([0.2, 0.4])
    """

    zero: Any
