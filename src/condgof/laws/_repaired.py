"""A law whose normal scores are mapped: what a repair makes of a law of one y.

With z = Φ⁻¹(F(y|x)) of the law as it was, the repaired law is the one under which

    w = sinh(δ·asinh((z − m)/s) − ε)/δ

is standard normal: m shifts, s spreads, ε skews and δ makes tails lighter or heavier (the
sinh-arcsinh map of Jones and Pewsey, 2009). Each row has its own parameters
η = (m, log s, ε, log δ). After that a mixture of normal densities of w, the same in all
rows, may take up what else is wrong with its shape. All is monotone, and smooth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, ndtri_exp

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws._counts import Counts
from condgof.laws._discrete import flat
from condgof.laws._draws import least_scale
from condgof.laws._families import Normal
from condgof.laws._law import (
    TINY,
    Law,
    as_rows,
    check_levels,
    invert,
    same_as,
    tail_scores,
)

# The number of parameters of a map: m, log s, ε, log δ.
PARAMETERS = 4

# Means and standard deviations of the 14 normal densities that a shape mixes: 13 narrow
# ones, evenly spread, and the standard normal one last.
NARROW_CENTRES = np.linspace(-2.4, 2.4, 13)
NARROW_WIDTH = 0.35
CENTRES = np.append(NARROW_CENTRES, 0.0)
WIDTHS = np.append(np.full(len(NARROW_CENTRES), NARROW_WIDTH), 1.0)

# Normal scores beyond this have a tail that is no number in double precision.
FARTHEST = 37.0

# An upper tail of counts below this is not taken from 1 − CDF, which has no digits left,
# but summed from the probabilities of the next counts, this many of them.
FAR_TAIL = 1e-9
FAR_TAIL_TERMS = 6

# Beyond these terms, probabilities are taken to fall geometrically, by at least this rate.
LEAST_LOG_DECAY = 1e-3

# Moments of repaired counts are sums over counts up to this upper tail, and are not offered
# where that takes more numbers than this, over all rows.
MOMENT_TAIL = 1e-9
MAX_MOMENT_NUMBERS = 2**26


class Bent(NamedTuple):
    """The map w(z) of each row at one z, and its derivatives.

    `log_ratio` is the logarithm of the repaired density over the density of the law.
    """

    w: FloatArray  # (n,)
    log_ratio: FloatArray  # (n,)
    slope: FloatArray  # derivative of log_ratio by z, (n,)
    w_by_eta: FloatArray  # derivatives of w by η, (4, n)
    by_eta: FloatArray  # derivatives of log_ratio by η, (4, n)


def bend(eta: FloatArray, z: FloatArray) -> Bent:
    """Apply the map of each row, η (n, 4), to z (n,).

    With a = (z − m)/s and v = δ·asinh(a) − ε the map is w = sinh(v)/δ, its slope dw/dz =
    cosh(v)/(s·√(1 + a²)), and the log-ratio of densities (z² − w²)/2 + log dw/dz.
    """
    m = eta[:, 0]
    s = np.exp(eta[:, 1])
    epsilon = eta[:, 2]
    delta = np.exp(eta[:, 3])

    a = (z - m) / s
    root = np.sqrt(1.0 + a * a)
    arc = np.arcsinh(a)
    v = delta * arc - epsilon
    cosh = np.cosh(v)
    tanh = np.tanh(v)
    w = cosh * tanh / delta
    w_by_z = cosh / (s * root)
    log_slope_by_z = (delta * tanh / root - a / root**2) / s

    w_by_eta = np.stack([-w_by_z, -w_by_z * (z - m), -cosh / delta, arc * cosh - w])
    log_slope_by_eta = np.stack(
        [
            -log_slope_by_z,
            -log_slope_by_z * (z - m) - 1.0,
            -tanh,
            tanh * delta * arc,
        ]
    )
    return Bent(
        w=w,
        log_ratio=0.5 * (z * z - w * w) + np.log(w_by_z),
        slope=z - w * w_by_z + log_slope_by_z,
        w_by_eta=w_by_eta,
        by_eta=log_slope_by_eta - w * w_by_eta,
    )


def unbend(eta: FloatArray, w: FloatArray) -> FloatArray:
    """Return the z that the map of each row, η (n, 4), takes to w, (n, k) each."""
    m, log_s, epsilon, log_delta = eta.T[:, :, None]
    s = np.exp(log_s)
    delta = np.exp(log_delta)
    return np.asarray(m + s * np.sinh((np.arcsinh(delta * w) + epsilon) / delta))


def over_normal(w: FloatArray) -> FloatArray:
    """Return the densities that a shape mixes, over the standard normal one, (n, 14).

    They are taken at w (n,).
    """
    squares = ((w[:, None] - CENTRES) / WIDTHS) ** 2
    return np.asarray(np.exp(0.5 * (w[:, None] ** 2 - squares)) / WIDTHS)


def shaped_scores(shape: FloatArray, w: FloatArray) -> FloatArray:
    """Return the normal scores of w (n,) under the mixture with weights `shape` (14,)."""
    u = (w[:, None] - CENTRES) / WIDTHS
    return tail_scores(ndtr(u) @ shape, ndtr(-u) @ shape, TINY)


def reshape(bent: Bent, shape: FloatArray) -> Bent:
    """Continue a map by the mixture with weights `shape` (14,).

    Derivatives by η are those of the map before the mixture.
    """
    w = bent.w
    densities = over_normal(w) * shape
    ratio = densities.sum(axis=1)
    w_by_z = -bent.w_by_eta[0]
    by_w = densities * (w[:, None] - (w[:, None] - CENTRES) / WIDTHS**2)
    slope = by_w.sum(axis=1) / ratio * w_by_z
    return Bent(
        w=shaped_scores(shape, w),
        log_ratio=bent.log_ratio + np.log(ratio),
        slope=bent.slope + slope,
        w_by_eta=bent.w_by_eta,
        by_eta=bent.by_eta,
    )


@dataclass(frozen=True, eq=False)
class Repaired(Law):
    """A law of one continuous y with its normal scores mapped.

    It can do what the law can.

    Parameters
    ----------
    base : Law
        The law as it was.
    eta : ndarray of shape (n, 4)
        The parameters (m, log s, ε, log δ) of each row's map.
    shape : ndarray of shape (14,), optional
        Weights of the mixture that follows the map, if any.
    """

    base: Law
    eta: FloatArray
    shape: FloatArray | None = None

    #: What comes from the CDF of the law.
    BY_CDF: ClassVar = ("cdf", "sf", "quantile", "sample", "location_scale")
    #: What else it can do if the law has normal scores, and what that needs of the law.
    NEEDED: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "log_prob": ("log_prob",),
        "score": ("score", "log_prob"),
        "normal_scores": (),
    }

    rows = same_as("base.rows")
    of_x = same_as("base.of_x")
    index = same_as("base.index")
    normalised = same_as("base.normalised")
    support = same_as("base.support")

    @property
    def name(self) -> str:
        return f"{self.base.name}, repaired"

    def take(self, rows: IntArray) -> Repaired:
        return replace(self, base=self.base.take(rows), eta=self.eta[rows])

    def facing(self, y: AnyArray) -> Law:
        return replace(self, base=self.base.facing(y))

    def can(self, ability: str) -> bool:
        if ability in self.BY_CDF:
            return self.base.can("cdf")
        has_scores = self.base.can("normal_scores") or self.base.can("cdf")
        if not has_scores or ability not in self.NEEDED:
            return False
        return all(self.base.can(needed) for needed in self.NEEDED[ability])

    def _base_scores(self, y: AnyArray) -> FloatArray:
        """Return z, the normal scores of y under the law as it was, (n,)."""
        return np.asarray(self.base.normal_scores(y))[:, 0]

    def _map(self, z: FloatArray) -> Bent:
        """Return the whole map at z (n,)."""
        bent = bend(self.eta, z)
        return bent if self.shape is None else reshape(bent, self.shape)

    def normal_scores(self, y: AnyArray) -> FloatArray:
        return self._map(self._base_scores(y)).w[:, None]

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray(ndtr(self.normal_scores(y)[:, 0]))

    def sf(self, y: AnyArray) -> FloatArray:
        return np.asarray(ndtr(-self.normal_scores(y)[:, 0]))

    def log_prob(self, y: AnyArray) -> FloatArray:
        before = self.base.log_prob(y)
        return np.asarray(before + self._map(self._base_scores(y)).log_ratio)

    def score(self, y: AnyArray) -> FloatArray:
        z = self._base_scores(y)
        # dz/dy = p(y|x)/φ(z)
        z_by_y = np.exp(self.base.log_prob(y) + 0.5 * (z * z + np.log(2.0 * np.pi)))
        change = self._map(z).slope * z_by_y
        return np.asarray(as_rows(self.base.score(y)) + change[:, None])

    def quantile(self, levels: object) -> FloatArray:
        w = np.asarray(ndtri(check_levels(levels)))
        return self._y_at(np.broadcast_to(w, (self.n, len(w))))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return self._y_at(rng.standard_normal((self.n, 1)))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        return _median_and_half_width(self, least_width=TINY)

    def _y_at(self, w: FloatArray) -> FloatArray:
        """Return the y that have normal scores w under the repaired law, (n, k) each."""
        if not self.can("cdf"):
            self.lacks("cdf")
        z = unbend(self.eta, self._before_shape(w))
        if isinstance(self.base, Normal):
            mean, std = self.base.mean_std()
            return np.asarray(mean + std * z)
        return invert(self.base, lambda law, y: np.asarray(law.normal_scores(y))[:, 0], z)

    def _before_shape(self, w: FloatArray) -> FloatArray:
        """Return what the mixture takes to w, (n, k) each."""
        if self.shape is None:
            return w
        shape = self.shape
        standard_normal = Normal(mean=0.0, std=1.0)(n=self.n)
        return invert(standard_normal, lambda law, y: shaped_scores(shape, y), w)


def _median_and_half_width(law: Law, least_width: float) -> tuple[FloatArray, FloatArray]:
    """Return the median, and half the width of the central 68% interval, (n, 1) each."""
    low, middle, high = law.quantile(ndtr([-1.0, 0.0, 1.0])).T[:, :, None]
    return middle, np.maximum(high - low, least_width) / 2.0


def count_scores(base: Counts, y: FloatArray) -> FloatArray:
    """Return z = Φ⁻¹(P(Y ≤ y | x)) of counts, (n, k) each; ∓∞ where the CDF is 0 or 1.

    In the far upper tail, where 1 − CDF has no digits, the tail is summed from the
    probabilities of the next counts.
    """
    lower = base._cdf(y)
    inside = tail_scores(lower, 1.0 - lower)
    z = np.where(lower <= 0.0, -np.inf, np.where(lower >= 1.0, np.inf, inside))
    rows, columns = np.nonzero((1.0 - lower < FAR_TAIL) & np.isfinite(y))
    if len(rows) and base.can("log_prob"):
        z[rows, columns] = _far_tail_scores(base.take(rows), y[rows, columns])
    return z


def _far_tail_scores(law: Law, y: FloatArray) -> FloatArray:
    """Return Φ⁻¹(P(Y ≤ y | x)) of counts (m,) from log P(Y > y | x), (m,)."""
    first = np.floor(y) + 1.0
    logs = np.stack([law.log_prob(first + k) for k in range(FAR_TAIL_TERMS)])
    with np.errstate(divide="ignore", invalid="ignore"):
        # The last term stands for a geometric series: t·(1 + q + q² + …) = t/(1 − q).
        ratio = np.exp(np.minimum(logs[-1] - logs[-2], -LEAST_LOG_DECAY))
        logs[-1] -= np.log1p(-np.where(np.isfinite(ratio), ratio, 0.0))
        scores = -ndtri_exp(np.minimum(np.logaddexp.reduce(logs), 0.0))
    return np.where(np.isfinite(logs[0]), scores, np.inf)


class MappedCounts(NamedTuple):
    """Counts after the map, before the odds of 0 are changed, and what that change does."""

    w: FloatArray  # mapped normal scores Φ⁻¹(P(Y ≤ y)), (n, k)
    p_zero: FloatArray  # the mapped probability of 0, (n, 1)
    factor: FloatArray  # what the probability of any other count is multiplied by, (n, 1)


@dataclass(frozen=True, eq=False)
class RepairedCounts(Counts):
    """Counts with the normal scores of their CDF mapped, and the odds of 0 multiplied.

    Parameters
    ----------
    base : Counts
        The law as it was.
    eta : ndarray of shape (n, 4)
        The parameters (m, log s, ε, log δ) of each row's map.
    zero : ndarray of shape (n,)
        The logarithm of the factor of the odds of 0.
    """

    base: Counts
    eta: FloatArray
    zero: FloatArray

    rows = same_as("base.rows")
    of_x = same_as("base.of_x")
    _bounds = same_as("base._bounds")

    @property
    def name(self) -> str:
        return f"{self.base.name}, repaired"

    def take(self, rows: IntArray) -> RepairedCounts:
        base = self.base.take(rows)
        assert isinstance(base, Counts)
        return RepairedCounts(base, self.eta[rows], self.zero[rows])

    def _mapped_scores(self, y: FloatArray) -> FloatArray:
        """Return the mapped normal scores of counts, (n, k) each."""
        z = count_scores(self.base, y)
        inside = np.isfinite(z)
        rows = np.nonzero(inside)[0]
        z[inside] = bend(self.eta[rows], z[inside]).w
        return z

    def _mapped(self, y: FloatArray) -> MappedCounts:
        """Map the CDF at counts (n, k)."""
        p_zero = ndtr(self._mapped_scores(np.zeros((len(y), 1))))
        factor = 1.0 / (1.0 + p_zero * np.expm1(self.zero)[:, None])
        return MappedCounts(self._mapped_scores(y), p_zero, factor)

    def _cdf(self, y: FloatArray) -> FloatArray:
        y = np.asarray(y, dtype=np.float64)
        w, p_zero, factor = self._mapped(y)
        from_below = factor * (ndtr(w) + p_zero * np.expm1(self.zero)[:, None])
        from_above = 1.0 - factor * ndtr(-w)
        return np.where(y < 0, 0.0, np.where(w > 0, from_above, from_below))

    def log_prob(self, y: AnyArray) -> FloatArray:
        counts = as_rows(flat(y))[:, 0]
        low, high = self._bounds()
        possible = (counts >= low) & (counts <= high) & (counts == np.floor(counts))
        at = np.where(possible, counts, 0.0)
        w, p_zero, factor = self._mapped(np.column_stack([at - 1.0, at]))
        w_before, w_at = w.T
        # Of the tails whose difference is P(Y = y), those that are small have more digits.
        mapped = np.where(
            w_before > 0, ndtr(-w_before) - ndtr(-w_at), ndtr(w_at) - ndtr(w_before)
        )
        weighted = np.where(at == 0, np.exp(self.zero) * p_zero[:, 0], mapped)
        p = weighted * factor[:, 0]
        return np.where(possible, np.log(np.maximum(p, TINY)), -np.inf)

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        return _median_and_half_width(self, least_width=1.0)

    def _smallest(self, wanted: FloatArray, near: Law | None = None) -> FloatArray:
        # The location of the repaired law is itself found by this search, which therefore
        # starts at the location of the law as it was.
        return super()._smallest(wanted, self.base)

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        last = self.quantile([1.0 - MOMENT_TAIL])[:, 0].max()
        if self.n * (last + 1.0) > MAX_MOMENT_NUMBERS:
            self.lacks("mean_std")
        k = np.arange(last + 1.0)
        cdf = self._cdf(np.broadcast_to(k, (self.n, len(k))))
        p = np.diff(cdf, axis=1, prepend=0.0)
        mean = (p @ k)[:, None]
        variance = (p * np.square(k - mean)).sum(axis=1, keepdims=True)
        return mean, np.sqrt(variance)


class Knots(NamedTuple):
    """A piecewise linear map of each row from values of y to normal scores."""

    values: FloatArray  # increasing in each row, (n, K)
    scores: FloatArray  # the score at each of them, increasing, (K,)


def extended(values: FloatArray, at: FloatArray) -> Knots:
    """Add a knot one score beyond each end of values (n, K) with the scores `at` (K,).

    Values increase in each row. Beyond the ends they go on with the row's mean slope; a
    single value with the slope 1.
    """
    slope = np.ones((len(values), 1))
    if len(at) > 1:
        mean_slope = (values[:, -1:] - values[:, :1]) / (at[-1] - at[0])
        slope = np.maximum(mean_slope, least_scale(values))
    first = values[:, :1] - slope
    last = values[:, -1:] + slope
    return Knots(
        values=np.concatenate([first, values, last], axis=1),
        scores=np.concatenate([at[:1] - 1.0, at, at[-1:] + 1.0]),
    )


def placed(values: FloatArray, at: FloatArray, y: FloatArray) -> FloatArray:
    """Return the scores of y (n,) by knots as of `extended`, (n,).

    They are linear between knots and beyond the ends. Where two knots have the same value,
    y gets the score half-way.
    """
    right = np.clip((values < y[:, None]).sum(axis=1), 1, values.shape[1] - 1)
    rows = np.arange(len(y))
    low = values[rows, right - 1]
    high = values[rows, right]
    width = np.where(high > low, high - low, 1.0)
    share = np.where(high > low, (y - low) / width, 0.5)
    return np.asarray(at[right - 1] + share * (at[right] - at[right - 1]))


def values_at(values: FloatArray, at: FloatArray, z: FloatArray) -> FloatArray:
    """Return the values at scores z by knots as of `extended`, (n, m) each.

    It is the inverse of `placed`.
    """
    right = np.clip(np.searchsorted(at, z), 1, len(at) - 1)
    low = np.take_along_axis(values, right - 1, axis=1)
    high = np.take_along_axis(values, right, axis=1)
    share = (z - at[right - 1]) / (at[right] - at[right - 1])
    return np.asarray(low + share * (high - low))
