"""A law whose normal scores are mapped: what a repair makes of a law of one y.

With z = Φ⁻¹(F(y|x)) of the law as it is, the repaired law says that

    w = sinh(δ·asinh((z − m)/s) − ε)/δ

is standard normal: m shifts, s spreads, ε skews and δ makes tails lighter or heavier (the sinh-arcsinh
map of Jones and Pewsey), numbers of each row. After that a density of Φ(w) that is the same in all rows,
linear between knots, takes up what else is wrong with its shape. All is monotone and in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, ndtri_exp

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws._counts import Counts
from condgof.laws._discrete import flat
from condgof.laws._families import Normal
from condgof.laws._law import TINY, Law, as_rows, check_levels, inverted, same_as, tail_scores

#: Numbers of a map: m, log s, ε, log δ.
PARAMETERS = 4
#: Normal scores beyond this have no probability in double precision.
FARTHEST = 37.0
#: An upper tail below this comes from the probabilities of so many next counts: 1 − CDF has no digits.
FAR_TAIL, TERMS = 1e-9, 6
#: What a mean and a standard deviation leave out of the tail of counts, and how many counts they sum.
LEFT_OUT, SUMMED = 1e-9, 2**26


class Bent(NamedTuple):
    """The map at some z, with its derivatives by the four numbers of a row."""

    w: FloatArray
    #: log dw/dz, and its derivative by z.
    log_slope: FloatArray
    curve: FloatArray
    #: Of w and of log_slope by (m, log s, ε, log δ), (4, n) each.
    by_w: FloatArray
    by_slope: FloatArray


def bend(eta: FloatArray, z: FloatArray) -> Bent:
    """Apply the map of each row, eta (n, 4), to z (n,)."""
    m, s, skew, tail = eta[:, 0], np.exp(eta[:, 1]), eta[:, 2], np.exp(eta[:, 3])
    a = (z - m) / s
    root = np.sqrt(1.0 + a * a)
    arc = np.arcsinh(a)
    v = tail * arc - skew
    cosh, tanh = np.cosh(v), np.tanh(v)
    w = cosh * tanh / tail
    slope = cosh / (s * root)
    curve = (tail * tanh / root - a / root**2) / s
    by_w = np.stack([-slope, -slope * (z - m), -cosh / tail, arc * cosh - w])
    by_slope = np.stack([-curve, -curve * (z - m) - 1.0, -tanh, tanh * tail * arc])
    return Bent(w, np.log(slope), curve, by_w, by_slope)


@dataclass(frozen=True, eq=False)
class Warp:
    """A monotone map of normal scores, a row each, under which they are standard normal."""

    #: m, log s, ε and log δ of each row, (n, 4).
    eta: FloatArray
    #: The density of Φ(w) at equally spaced knots from 0 to 1, (K,), the same in all rows; or None.
    shape: FloatArray | None = None

    def take(self, rows: Any) -> Warp:
        return Warp(self.eta[rows], self.shape)

    def forward(self, z: FloatArray) -> FloatArray:
        """Return the normal scores of the repaired law, (n,)."""
        w = bend(self.eta, z).w
        if self.shape is None:
            return w
        below, above = (linear(shape).antiderivative() for shape in (self.shape, self.shape[::-1]))
        return tail_scores(below(ndtr(w)), above(ndtr(-w)), TINY)

    def inverse(self, w: FloatArray) -> FloatArray:
        """Return the z that has these normal scores in the repaired law, (n,) or (n, k)."""
        if self.shape is not None:
            w = tail_scores(_above(self.shape, ndtr(w)), _above(self.shape[::-1], ndtr(-w)), TINY)
        m, s, skew, tail = (part.reshape(-1, *(1,) * (w.ndim - 1)) for part in self.eta.T)
        s, tail = np.exp(s), np.exp(tail)
        return np.asarray(m + s * np.sinh((np.arcsinh(tail * w) + skew) / tail))

    def log_ratio(self, z: FloatArray) -> FloatArray:
        """Return log of the density of the repaired law over that of the law, (n,)."""
        bent = bend(self.eta, z)
        ratio = 0.5 * (z * z - bent.w**2) + bent.log_slope
        return ratio if self.shape is None else ratio + np.log(linear(self.shape)(ndtr(bent.w)))

    def slope(self, z: FloatArray) -> FloatArray:
        """Return the derivative of `log_ratio` by z, (n,)."""
        bent = bend(self.eta, z)
        steep = np.exp(bent.log_slope)
        slope = z - bent.w * steep + bent.curve
        if self.shape is None:
            return slope
        density, u = linear(self.shape), ndtr(bent.w)
        normal = np.exp(-0.5 * bent.w**2) / np.sqrt(2.0 * np.pi)
        return np.asarray(slope + density.derivative()(u) / density(u) * normal * steep)


def linear(shape: FloatArray) -> Any:
    """Return a density on [0, 1] that is linear between equally spaced knots."""
    from scipy.interpolate import PPoly  # which takes long to import

    steps = len(shape) - 1
    return PPoly(np.stack([np.diff(shape) * steps, shape[:-1]]), np.linspace(0.0, 1.0, steps + 1))


def _above(shape: FloatArray, p: FloatArray) -> FloatArray:
    """Return the u up to which the integral of that density is p."""
    density, steps = linear(shape), len(shape) - 1
    sums = density.antiderivative()(density.x)
    left = np.clip(np.searchsorted(sums, p, side="right") - 1, 0, steps - 1)
    start, rise = shape[left], shape[left + 1] - shape[left]
    rest = np.maximum(p - sums[left], 0.0) * steps
    # The root of start·t + rise·t²/2 = rest in the form that does not cancel.
    root = np.sqrt(np.maximum(start * start + 2.0 * rise * rest, 0.0))
    return np.asarray((left + np.minimum(2.0 * rest / (start + root), 1.0)) / steps)


@dataclass(frozen=True, eq=False)
class Repaired(Law):
    """A law of one continuous y with its normal scores mapped; it can do what the law can."""

    base: Law
    warp: Warp

    #: What comes from the CDF of the law.
    BY_CDF: ClassVar = ("cdf", "sf", "quantile", "sample", "location_scale")

    rows, of_x, index = same_as("base.rows"), same_as("base.of_x"), same_as("base.index")
    normalised, support = same_as("base.normalised"), same_as("base.support")

    @property
    def name(self) -> str:
        return f"{self.base.name}, repaired"

    def take(self, rows: IntArray) -> Repaired:
        return replace(self, base=self.base.take(rows), warp=self.warp.take(rows))

    def facing(self, y: AnyArray) -> Law:
        return replace(self, base=self.base.facing(y))

    def can(self, ability: str) -> bool:
        if ability in self.BY_CDF:
            return self.base.can("cdf")
        needs = {"log_prob": ("log_prob",), "score": ("score", "log_prob"), "normal_scores": ()}
        known = self.base.can("normal_scores") or self.base.can("cdf")
        return known and ability in needs and all(map(self.base.can, needs[ability]))

    def _z(self, y: AnyArray) -> FloatArray:
        return np.asarray(self.base.normal_scores(y))[:, 0]

    def normal_scores(self, y: AnyArray) -> FloatArray:
        return self.warp.forward(self._z(y))[:, None]

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray(ndtr(self.normal_scores(y)[:, 0]))

    def sf(self, y: AnyArray) -> FloatArray:
        return np.asarray(ndtr(-self.normal_scores(y)[:, 0]))

    def log_prob(self, y: AnyArray) -> FloatArray:
        return np.asarray(self.base.log_prob(y) + self.warp.log_ratio(self._z(y)))

    def score(self, y: AnyArray) -> FloatArray:
        z = self._z(y)
        steep = np.exp(self.base.log_prob(y) + 0.5 * (z * z + np.log(2.0 * np.pi)))  # dz/dy
        return np.asarray(as_rows(self.base.score(y)) + (self.warp.slope(z) * steep)[:, None])

    def pit_score(self, y: AnyArray) -> FloatArray:
        """Return the log-density of the PIT of the law as it is, (n,): 0 if nothing is repaired."""
        return self.warp.log_ratio(self._z(y))

    def quantile(self, levels: Any) -> FloatArray:
        at = np.asarray(ndtri(check_levels(levels)))
        return self._at(self.warp.inverse(np.broadcast_to(at, (self.n, len(at)))))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return self._at(self.warp.inverse(rng.standard_normal((self.n, 1))))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        return _median_width(self, TINY)

    def _at(self, z: FloatArray) -> FloatArray:
        """Return the y at which the law as it is has these normal scores, (n, k)."""
        if not self.can("cdf"):
            self.lacks("cdf")
        if isinstance(self.base, Normal):
            mean, std = self.base.mean_std()
            return np.asarray(mean + std * z)
        return inverted(self.base, lambda law, y: np.asarray(law.normal_scores(y))[:, 0], z)


def _median_width(law: Law, least: float) -> tuple[FloatArray, FloatArray]:
    """Return the median, and half the width of the central 68% interval, (n, 1) each."""
    low, middle, high = law.quantile(ndtr([-1.0, 0.0, 1.0])).T[:, :, None]
    return middle, np.maximum(high - low, least) / 2.0


def count_scores(base: Counts, y: FloatArray) -> FloatArray:
    """Return Φ⁻¹(P(Y ≤ y | x)) of counts (n, k); the far upper tail from the probabilities there."""
    lower = base._cdf(y)
    z = np.where(lower <= 0.0, -np.inf, np.where(lower >= 1.0, np.inf, tail_scores(lower, 1.0 - lower)))
    rows, columns = np.nonzero((1.0 - lower < FAR_TAIL) & np.isfinite(y))
    if len(rows) and base.can("log_prob"):
        law, first = base.take(rows), np.floor(y[rows, columns]) + 1.0
        logs = np.stack([law.log_prob(first + k) for k in range(TERMS)])
        with np.errstate(divide="ignore", invalid="ignore"):
            # After these terms, probabilities fall about geometrically.
            ratio = np.exp(np.minimum(logs[-1] - logs[-2], -1e-3))
            logs[-1] -= np.log1p(-np.where(np.isfinite(ratio), ratio, 0.0))
            far = -ndtri_exp(np.minimum(np.logaddexp.reduce(logs), 0.0))
        z[rows, columns] = np.where(np.isfinite(logs[0]), far, np.inf)
    return z


@dataclass(frozen=True, eq=False)
class RepairedCounts(Counts):
    """Counts with the normal scores of their CDF mapped, and the odds of 0 multiplied."""

    base: Counts
    warp: Warp
    #: The logarithm of the factor of the odds of 0, (n,).
    zero: FloatArray

    rows, of_x, _bounds = same_as("base.rows"), same_as("base.of_x"), same_as("base._bounds")

    @property
    def name(self) -> str:
        return f"{self.base.name}, repaired"

    def take(self, rows: IntArray) -> RepairedCounts:
        return RepairedCounts(self.base.take(rows), self.warp.take(rows), self.zero[rows])  # type: ignore[arg-type]

    def _mapped(self, y: FloatArray) -> FloatArray:
        z = count_scores(self.base, y)
        inside = np.isfinite(z)
        z[inside] = self.warp.take(np.nonzero(inside)[0]).forward(z[inside])
        return z

    def _parts(self, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the mapped scores of y (n, k) and of 0, and the share that others keep, (n, 1)."""
        w0 = self._mapped(np.zeros((len(y), 1)))
        return self._mapped(y), w0, 1.0 / (1.0 + ndtr(w0) * np.expm1(self.zero)[:, None])

    def _cdf(self, y: FloatArray) -> FloatArray:
        y = np.asarray(y, dtype=np.float64)
        w, w0, share = self._parts(y)
        lower = share * (ndtr(w) + ndtr(w0) * np.expm1(self.zero)[:, None])
        return np.where(y < 0, 0.0, np.where(w > 0, 1.0 - share * ndtr(-w), lower))

    def log_prob(self, y: AnyArray) -> FloatArray:
        y = as_rows(flat(y))
        low, high = self._bounds()
        possible = (y[:, 0] >= low) & (y[:, 0] <= high) & (y[:, 0] == np.floor(y[:, 0]))
        at = np.where(possible[:, None], y, 0.0)
        w, w0, left = self._parts(np.concatenate([at - 1.0, at], axis=1))
        before, after = w.T
        inside = np.where(before > 0, ndtr(-before) - ndtr(-after), ndtr(after) - ndtr(before))
        share = np.where(at[:, 0] == 0, np.exp(self.zero) * ndtr(w0[:, 0]), inside) * left[:, 0]
        return np.where(possible, np.log(np.maximum(share, TINY)), -np.inf)

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        return _median_width(self, 1.0)

    def _smallest(self, wanted: FloatArray, near: Law | None = None) -> FloatArray:
        return super()._smallest(wanted, self.base)

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        last = self.quantile([1.0 - LEFT_OUT])[:, 0]
        if self.n * (last.max() + 1.0) > SUMMED:
            self.lacks("mean_std")
        k = np.arange(last.max() + 1.0)
        p = np.diff(self._cdf(np.broadcast_to(k, (self.n, len(k)))), axis=1, prepend=0.0)
        mean = (p @ k)[:, None]
        return mean, np.sqrt((p * np.square(k - mean)).sum(axis=1, keepdims=True))


def placed(values: FloatArray, at: FloatArray, y: FloatArray) -> FloatArray:
    """Return where y (n,) lies among increasing values (n, K) that stand for the scores `at` (K,).

    Between neighbours it is linear, and beyond the ends it goes on with the mean slope of the row.
    """
    if values.shape[1] == 1:
        return np.asarray(at[0] + y - values[:, 0])
    right = np.clip((values < y[:, None]).sum(axis=1), 1, values.shape[1] - 1)
    each = np.arange(len(y))
    low, high = values[each, right - 1], values[each, right]
    share = np.where(high > low, (y - low) / np.where(high > low, high - low, 1.0), 0.5)
    inner = at[right - 1] + np.clip(share, 0.0, 1.0) * (at[right] - at[right - 1])
    beyond = np.minimum(y - values[:, 0], 0.0) + np.maximum(y - values[:, -1], 0.0)
    return np.asarray(inner + beyond / _steepness(values, at))


def values_at(values: FloatArray, at: FloatArray, z: FloatArray) -> FloatArray:
    """Return the inverse of `placed`: values (n, m) at the scores z (n, m)."""
    if values.shape[1] == 1:
        return np.asarray(values + z - at[0])
    right = np.clip(np.searchsorted(at, z), 1, len(at) - 1)
    low, high = np.take_along_axis(values, right - 1, axis=1), np.take_along_axis(values, right, axis=1)
    share = np.clip((z - at[right - 1]) / (at[right] - at[right - 1]), 0.0, 1.0)
    beyond = np.minimum(z - at[0], 0.0) + np.maximum(z - at[-1], 0.0)
    return np.asarray(low + share * (high - low) + beyond * _steepness(values, at)[:, None])


def _steepness(values: FloatArray, at: FloatArray) -> FloatArray:
    """Return by how much values rise for one normal score, in the mean over each row, (n,)."""
    least = 1e-9 * (1.0 + np.abs(values).max(axis=1))
    return np.asarray(np.maximum((values[:, -1] - values[:, 0]) / (at[-1] - at[0]), least))
