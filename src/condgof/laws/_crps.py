"""The continuous ranked probability score, ∫ (F(t) − 1{y ≤ t})² dt = E|Y − y| − ½ E|Y − Y'|.

Families have closed forms. Any other law with a CDF is integrated: in each row the line is cut at y and
at growing distances from the law's location, and panels are halved until two Gauss–Legendre rules agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import UnsupportedModelError

if TYPE_CHECKING:
    from condgof.laws._law import Law

#: Distances from the location, in scales, at which the line is cut.
CUTS = 2.0 ** np.arange(-2, 60)
#: A panel is accepted if its error is below this, in scales; how often it is halved at most.
ACCURACY, HALVINGS = 1e-10, 40
#: Rows at a time.
BLOCK = 2048

X, W = np.polynomial.legendre.leggauss(8)


def mean_distance(z: FloatArray) -> FloatArray:
    """Return E|z + Z| for a standard normal Z."""
    return np.asarray(z * (2.0 * ndtr(z) - 1.0) + np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z))


def normal_crps(z: FloatArray, std: AnyArray) -> FloatArray:
    """Return the CRPS of N(mean, std²) at y = mean + std·z.

    Examples
    --------
    >>> normal_crps(np.zeros(1), 1.0).round(4)
    array([0.2337])
    """
    return np.asarray(std * (mean_distance(z) - 1.0 / np.sqrt(np.pi)))


def integrated(law: Law, y: FloatArray) -> FloatArray:
    """Return the CRPS of any law with a CDF at y (n, 1), (n,).

    The error is about 1e-9 of the law's scale where its CDF is smooth or has jumps at few places.
    """
    rows = np.arange(len(y))
    blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
    if len(blocks) == 1:
        return _block(law, y[:, 0])
    return np.concatenate([_block(law.take(block), y[block, 0]) for block in blocks])


def _block(law: Law, y: FloatArray) -> FloatArray:
    place, scale = _placed(law, len(y))
    edges = place[:, None] + scale[:, None] * np.concatenate([-CUTS[::-1], [0.0], CUTS])
    n, count = edges.shape
    each = law.take(np.repeat(np.arange(n), count))
    with np.errstate(all="ignore"):
        tail = np.clip(np.reshape(each.cdf(edges.ravel()), edges.shape), 0.0, 1.0)
        tail = np.minimum(tail, 1.0 - tail)
        # Beyond the first cut at which nothing is left, on either side, F is 0 or 1.
        left = tail**2 * np.abs(edges - place[:, None]) > ACCURACY * scale[:, None]
    middle = count // 2
    first = np.where(left.any(axis=1), np.maximum(left.argmax(axis=1) - 1, 0), middle - 1)
    last = np.where(
        left.any(axis=1), np.minimum(count - left[:, ::-1].argmax(axis=1), count - 1), middle + 1
    )
    rows = np.arange(n)
    low = np.minimum(edges[rows, np.minimum(first, middle - 1)], y)
    high = np.maximum(edges[rows, np.maximum(last, middle + 1)], y)
    cuts = np.sort(np.clip(np.column_stack([edges, y]), low[:, None], high[:, None]), axis=1)
    start, stop = cuts[:, :-1], cuts[:, 1:]
    own, which = np.nonzero(start < stop)
    return _halved(law, y, scale, own, start[own, which], stop[own, which])


def _placed(law: Law, n: int) -> tuple[FloatArray, FloatArray]:
    """Return where the law lies and how wide, (n,) each."""
    try:
        if law.can("location_scale") or law.can("mean_std"):
            place, scale = (part[:, 0] for part in law.location_scale())
            if np.isfinite(place).all() and np.isfinite(scale).all() and (scale > 0).all():
                return place, scale
    except UnsupportedModelError:  # moments that are not finite
        pass
    low, place, high = law.quantile([0.25, 0.5, 0.75]).T
    return place, np.where(high > low, high - low, np.maximum(np.abs(place), 1.0) * 1e-6)


def _halved(
    law: Law, y: FloatArray, scale: FloatArray, own: IntArray, start: FloatArray, stop: FloatArray
) -> FloatArray:
    """Integrate over panels [start, stop] of the rows `own`, halving those that are not accurate."""

    def rule(own: IntArray, start: FloatArray, stop: FloatArray) -> FloatArray:
        half, middle = 0.5 * (stop - start), 0.5 * (stop + start)
        t = middle[:, None] + half[:, None] * X
        with np.errstate(all="ignore"):
            below = np.reshape(law.take(np.repeat(own, len(X))).cdf(t.ravel()), t.shape)
            below = np.clip(below, 0.0, 1.0)
        return np.asarray(half * (np.square(below - (t >= y[own, None])) @ W))

    out, whole = np.zeros(len(y)), rule(own, start, stop)
    for _ in range(HALVINGS):
        middle = 0.5 * (start + stop)
        left, right = rule(own, start, middle), rule(own, middle, stop)
        done = np.abs(left + right - whole) <= ACCURACY * scale[own]
        np.add.at(out, own[done], (left + right)[done])
        if done.all():
            return out
        go = ~done
        own, whole = np.tile(own[go], 2), np.concatenate([left[go], right[go]])
        cuts = start[go], middle[go], stop[go]
        start, stop = np.concatenate(cuts[:2]), np.concatenate(cuts[1:])
    np.add.at(out, own, whole)
    return out
