"""A law whose normal scores are mapped: what a repair makes of a law of one y.

With z = Φ⁻¹(F(y|x)) of the law as it is, the repaired law says that

    w = sinh(δ·asinh((z − m)/s) − ε)/δ

is standard normal: m shifts, s spreads, ε skews and δ makes tails lighter or heavier (the
sinh-arcsinh map of Jones and Pewsey), numbers of each row. After that a mixture of normal
densities of w, the same in all rows, may take up what else is wrong with its shape. All is
monotone, and smooth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri, ndtri_exp

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws._counts import Counts
from condgof.laws._discrete import flat
from condgof.laws._families import Normal
from condgof.laws._law import (
    TINY,
    Law,
    as_rows,
    check_levels,
    inverted,
    same_as,
    tail_scores,
)

#: Numbers of a map: m, log s, ε, log δ.
PARAMETERS = 4
#: Means and standard deviations of the densities that a shape mixes, the standard normal
#: one last.
CENTRES, WIDTHS = (
    np.append(np.linspace(-2.4, 2.4, 13), 0.0),
    np.append(np.full(13, 0.35), 1.0),
)
#: Normal scores beyond this have no probability in double precision.
FARTHEST = 37.0
#: An upper tail below this comes from the probabilities of so many next counts: 1 − CDF has
#: no digits.
FAR_TAIL, TERMS = 1e-9, 6
#: What a mean and a standard deviation leave out of the tail of counts, and how many counts
#: they sum.
LEFT_OUT, SUMMED = 1e-9, 2**26


class Bent(NamedTuple):
    """The map at some z, and the log of the repaired density over that of the law, (n,) each."""

    w: FloatArray
    log_ratio: FloatArray
    #: Of log_ratio by z, (n,); of w and of log_ratio by (m, log s, ε, log δ), (4, n) each.
    slope: FloatArray
    w_by_eta: FloatArray
    by_eta: FloatArray


def bend(eta: FloatArray, z: FloatArray) -> Bent:
    """Apply the map of each row, eta (n, 4), to z (n,)."""
    m, s, skew, tail = eta[:, 0], np.exp(eta[:, 1]), eta[:, 2], np.exp(eta[:, 3])
    a = (z - m) / s
    root = np.sqrt(1.0 + a * a)
    arc = np.arcsinh(a)
    v = tail * arc - skew
    cosh, tanh = np.cosh(v), np.tanh(v)
    w = cosh * tanh / tail
    steep = cosh / (s * root)
    curve = (tail * tanh / root - a / root**2) / s
    by_w = np.stack([-steep, -steep * (z - m), -cosh / tail, arc * cosh - w])
    by_log_steep = np.stack([-curve, -curve * (z - m) - 1.0, -tanh, tanh * tail * arc])
    ratio = 0.5 * (z * z - w * w) + np.log(steep)
    return Bent(w, ratio, z - w * steep + curve, by_w, by_log_steep - w * by_w)


def over_normal(w: FloatArray) -> FloatArray:
    """Return the densities that a shape mixes, over the standard normal one, at w (n,): (n, 14)."""
    return np.asarray(
        np.exp(0.5 * (w[:, None] ** 2 - ((w[:, None] - CENTRES) / WIDTHS) ** 2)) / WIDTHS
    )


def shaped_scores(shape: FloatArray, w: FloatArray) -> FloatArray:
    """Return the normal scores of w (n,) under the mixture with these weights, (14,)."""
    u = (w[:, None] - CENTRES) / WIDTHS
    return tail_scores(ndtr(u) @ shape, ndtr(-u) @ shape, TINY)


def reshape(bent: Bent, shape: FloatArray) -> Bent:
    """Go on with the mixture; derivatives by η are those before it."""
    w, each = bent.w, over_normal(bent.w) * shape
    ratio, steep = each.sum(axis=1), -bent.w_by_eta[0]
    slope = (
        (each * (w[:, None] - (w[:, None] - CENTRES) / WIDTHS**2)).sum(axis=1)
        / ratio
        * steep
    )
    told = shaped_scores(shape, w), bent.log_ratio + np.log(ratio), bent.slope + slope
    return Bent(*told, bent.w_by_eta, bent.by_eta)


def unbend(eta: FloatArray, w: FloatArray) -> FloatArray:
    """Return the z that the map of each row, eta (n, 4), leads to w, (n, k) each."""
    m, s, skew, tail = eta.T[:, :, None]
    s, tail = np.exp(s), np.exp(tail)
    return np.asarray(m + s * np.sinh((np.arcsinh(tail * w) + skew) / tail))


@dataclass(frozen=True, eq=False)
class Repaired(Law):
    """A law of one continuous y with its normal scores mapped; it can do what the law can."""

    base: Law
    #: m, log s, ε and log δ of each row, (n, 4); weights of a mixture, (14,), if any.
    eta: FloatArray
    shape: FloatArray | None = None

    #: What comes from the CDF of the law.
    BY_CDF: ClassVar = ("cdf", "sf", "quantile", "sample", "location_scale")

    rows, of_x, index = same_as("base.rows"), same_as("base.of_x"), same_as("base.index")
    normalised, support = same_as("base.normalised"), same_as("base.support")

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
        needs = {
            "log_prob": ("log_prob",),
            "score": ("score", "log_prob"),
            "normal_scores": (),
        }
        known = self.base.can("normal_scores") or self.base.can("cdf")
        return known and ability in needs and all(map(self.base.can, needs[ability]))

    def _bent(self, y: AnyArray) -> tuple[FloatArray, Bent]:
        z = np.asarray(self.base.normal_scores(y))[:, 0]
        bent = bend(self.eta, z)
        return z, bent if self.shape is None else reshape(bent, self.shape)

    def normal_scores(self, y: AnyArray) -> FloatArray:
        return self._bent(y)[1].w[:, None]

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray(ndtr(self.normal_scores(y)[:, 0]))

    def sf(self, y: AnyArray) -> FloatArray:
        return np.asarray(ndtr(-self.normal_scores(y)[:, 0]))

    def log_prob(self, y: AnyArray) -> FloatArray:
        return np.asarray(self.base.log_prob(y) + self._bent(y)[1].log_ratio)

    def score(self, y: AnyArray) -> FloatArray:
        z, bent = self._bent(y)
        steep = np.exp(self.base.log_prob(y) + 0.5 * (z * z + np.log(2.0 * np.pi)))  # dz/dy
        return np.asarray(as_rows(self.base.score(y)) + (bent.slope * steep)[:, None])

    def quantile(self, levels: object) -> FloatArray:
        at = np.asarray(ndtri(check_levels(levels)))
        return self._at(np.broadcast_to(at, (self.n, len(at))))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return self._at(rng.standard_normal((self.n, 1)))

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        return _median_width(self, TINY)

    def _at(self, w: FloatArray) -> FloatArray:
        """Return the y that has these normal scores, (n, k)."""
        if not self.can("cdf"):
            self.lacks("cdf")
        if self.shape is not None:
            normal, shape = Normal(mean=0.0, std=1.0)(n=self.n), self.shape
            w = inverted(normal, lambda law, y: shaped_scores(shape, y), w)
        z = unbend(self.eta, w)
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
    z = np.where(
        lower <= 0.0,
        -np.inf,
        np.where(lower >= 1.0, np.inf, tail_scores(lower, 1.0 - lower)),
    )
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
    eta: FloatArray
    #: The logarithm of the factor of the odds of 0, (n,).
    zero: FloatArray

    rows, of_x, _bounds = (
        same_as("base.rows"),
        same_as("base.of_x"),
        same_as("base._bounds"),
    )

    @property
    def name(self) -> str:
        return f"{self.base.name}, repaired"

    def take(self, rows: IntArray) -> RepairedCounts:
        return RepairedCounts(self.base.take(rows), self.eta[rows], self.zero[rows])  # type: ignore[arg-type]

    def _mapped(self, y: FloatArray) -> FloatArray:
        z = count_scores(self.base, y)
        inside = np.isfinite(z)
        z[inside] = bend(self.eta[np.nonzero(inside)[0]], z[inside]).w
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
        inside = np.where(
            before > 0, ndtr(-before) - ndtr(-after), ndtr(after) - ndtr(before)
        )
        share = (
            np.where(at[:, 0] == 0, np.exp(self.zero) * ndtr(w0[:, 0]), inside) * left[:, 0]
        )
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


def extended(values: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Go on beyond both ends of increasing values (n, K), of the scores `at` (K,), by one score.

    They rise by their mean slope in the row; a single value by 1.
    """
    steep = np.ones((len(values), 1))
    if len(at) > 1:
        least = 1e-9 * (1.0 + np.abs(values).max(axis=1, keepdims=True))
        steep = np.maximum((values[:, -1:] - values[:, :1]) / (at[-1] - at[0]), least)
    ends = values[:, :1] - steep, values, values[:, -1:] + steep
    return np.concatenate(ends, axis=1), np.concatenate([at[:1] - 1.0, at, at[-1:] + 1.0])


def placed(values: FloatArray, at: FloatArray, y: FloatArray) -> FloatArray:
    """Return where y (n,) lies among such values, linear between them and beyond the ends."""
    right = np.clip((values < y[:, None]).sum(axis=1), 1, values.shape[1] - 1)
    each = np.arange(len(y))
    low, high = values[each, right - 1], values[each, right]
    share = np.where(high > low, (y - low) / np.where(high > low, high - low, 1.0), 0.5)
    return np.asarray(at[right - 1] + share * (at[right] - at[right - 1]))


def values_at(values: FloatArray, at: FloatArray, z: FloatArray) -> FloatArray:
    """Return the inverse of `placed`: values (n, m) at the scores z (n, m)."""
    right = np.clip(np.searchsorted(at, z), 1, len(at) - 1)
    low, high = (
        np.take_along_axis(values, right - 1, axis=1),
        np.take_along_axis(values, right, axis=1),
    )
    return np.asarray(
        low + (z - at[right - 1]) / (at[right] - at[right - 1]) * (high - low)
    )
