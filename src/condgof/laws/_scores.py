"""Proper scores: which of them a law offers, and their values.

A score is proper if the true law has the best mean score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import UnsupportedModelError, refuse_rows
from condgof.laws._discrete import Probabilities
from condgof.laws._law import Law, check_per_row

#: Distances from the location of a law, in its scales, at which the line is cut into
#: panels. They are doubled up to 2⁵⁹: the tail of a Student-t with 0.8 degrees of freedom
#: matters up to 2⁵⁵.
CUTS = 2.0 ** np.arange(-2, 60)
#: Absolute error of a panel that is accepted, in scales of the law.
ACCURACY = 1e-10
#: How often a panel is halved at most; a jump of the CDF is then closed in to 2⁻⁴⁰ of it.
HALVINGS = 40
#: Rows that are integrated at a time, so that panels of all of them fit in memory.
BLOCK = 2048
#: Nodes and weights of the Gauss-Legendre rule of a panel.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True)
class Measure:
    """A proper score: its key, its name, and its direction.

    `sign` is 1 where higher values are better, else −1.
    """

    key: str
    name: str
    sign: float = -1.0

    @property
    def better(self) -> str:
        """Which values are better, in a word."""
        return "higher" if self.sign > 0 else "lower"


#: The proper scores by key. Where two laws offer several in common, the first one counts.
MEASURES = {
    "log": Measure("log", "log score", sign=1.0),
    "crps": Measure("crps", "CRPS"),
    "energy": Measure("energy", "energy score"),
    "brier": Measure("brier", "Brier score"),
    "pinball": Measure("pinball", "pinball loss"),
    "winkler": Measure("winkler", "Winkler score"),
    "ibs": Measure("ibs", "integrated Brier score"),
}


def available_measures(law: Law, d_y: int = 1) -> tuple[str, ...]:
    """Return the keys of the scores that a law offers, in the order of `MEASURES`.

    Densities and probabilities have a log score if they are normalised (a function of the
    user's: if it could be integrated, `Law.facing`), a CDF the CRPS, of classes if more
    than two are ordered. Censored times have a log score, if there is a density, and the
    integrated Brier score; what the CRPS would be of them is not proper. Any other score is
    a method of the law of that name.
    """
    classes = law if isinstance(law, Probabilities) else None
    is_ranked = classes is None or (classes.ordered and classes.values.shape[1] > 2)
    available = {
        "log": law.can("log_prob") and law.normalised,
        "crps": d_y == 1 and law.can("cdf") and is_ranked and not law.is_censored,
        "brier": classes is not None,
    }
    return tuple(key for key in MEASURES if available.get(key, hasattr(law, key)))


def score(law: Law, y: AnyArray, measure: str) -> FloatArray:
    """Return the score of each row, (n,), by a key of `MEASURES`; NaN is refused."""
    y = np.asarray(y)
    name = MEASURES[measure].name
    d_y = 1 if y.ndim == 1 else y.shape[1]
    if measure not in available_measures(law, d_y):
        raise UnsupportedModelError(f"{law.name} has no {name}.")
    method = "log_prob" if measure == "log" else measure
    values = check_per_row(getattr(law, method)(y), len(y), method)
    advice = f"{law.name} does not say how likely y is there. Check the model."
    refuse_rows(np.isnan(values), f"The {name} is not a number", advice)
    return values


def integrate_crps(law: Law, y: FloatArray) -> FloatArray:
    """Return the CRPS of any law with a CDF at y (n, 1), (n,).

    It is ∫ (F(t) − 1{y ≤ t})² dt, to about 1e-9 of the scale of the law.
    """
    blocks = np.split(np.arange(len(y)), range(BLOCK, len(y), BLOCK))
    return np.concatenate([_integrate_block(law.take(rows), y[rows, 0]) for rows in blocks])


@dataclass(frozen=True, eq=False)
class Panels:
    """Intervals [start, stop] of t, each of one row of a law, (k,) each."""

    rows: IntArray
    start: FloatArray
    stop: FloatArray

    @property
    def middle(self) -> FloatArray:
        return np.asarray(0.5 * (self.start + self.stop))

    def halves(self) -> tuple[Panels, Panels]:
        """Return the left and the right half of each panel."""
        middle = self.middle
        left = Panels(self.rows, self.start, middle)
        right = Panels(self.rows, middle, self.stop)
        return left, right

    def where(self, mask: AnyArray) -> Panels:
        return Panels(self.rows[mask], self.start[mask], self.stop[mask])

    def __add__(self, other: Panels) -> Panels:
        return Panels(
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.start, other.start]),
            np.concatenate([self.stop, other.stop]),
        )


def _integrate_block(law: Law, y: FloatArray) -> FloatArray:
    """Return the CRPS at y, (n,), of few enough rows to be integrated at once."""
    location, scale = _location_scale(law, len(y))
    panels = _first_panels(law, y, location, scale)
    return _integrate_panels(law, y, scale, panels)


def _first_panels(
    law: Law, y: FloatArray, location: FloatArray, scale: FloatArray
) -> Panels:
    """Cut the line at y, and at growing distances from the location, while F matters."""
    n = len(y)
    offsets = np.concatenate([-CUTS[::-1], [0.0], CUTS])
    edges = location[:, None] + scale[:, None] * offsets
    F = _cdf_at(law, np.arange(n), edges)
    distance = edges - location[:, None]
    with np.errstate(all="ignore"):
        remainder = np.minimum(F, 1.0 - F) ** 2 * np.abs(distance)
    # F is taken as 0 or 1 beyond twice the farthest edge with a remainder, on either side.
    mattering = np.where(remainder > ACCURACY * scale[:, None], distance, 0.0)
    least = 0.5 * CUTS[0] * scale
    low = np.minimum(location + 2.0 * np.minimum(mattering.min(axis=1), -least), y)
    high = np.maximum(location + 2.0 * np.maximum(mattering.max(axis=1), least), y)
    inside = np.clip(np.column_stack([edges, y]), low[:, None], high[:, None])
    cuts = np.sort(inside, axis=1)
    start = cuts[:, :-1]
    stop = cuts[:, 1:]
    has_width = np.nonzero(start < stop)
    return Panels(has_width[0], start[has_width], stop[has_width])


def _cdf_at(law: Law, rows: IntArray, t: FloatArray) -> FloatArray:
    """Return the CDFs of some rows at t (rows, m), which is clipped to the support."""
    support_low, support_high = law.support
    low = np.broadcast_to(support_low, (law.n, 1))[rows]
    high = np.broadcast_to(support_high, (law.n, 1))[rows]
    each = law.take(np.repeat(rows, t.shape[1]))
    with np.errstate(all="ignore"):
        values = each.cdf(np.clip(t, low, high).ravel())
        return np.clip(np.reshape(values, t.shape), 0.0, 1.0)


def _location_scale(law: Law, n: int) -> tuple[FloatArray, FloatArray]:
    """Return a location and a positive, finite scale of each row, (n,) each."""
    try:
        if law.can("location_scale") or law.can("mean_std"):
            location, scale = (part[:, 0] for part in law.location_scale())
            is_finite = np.isfinite(location).all() and np.isfinite(scale).all()
            if is_finite and (scale > 0).all():
                return location, scale
    except UnsupportedModelError:  # the law has no finite moments
        pass
    low, median, high = law.quantile([0.25, 0.5, 0.75]).T
    # A law with half of its mass at one point has no distance between the quartiles.
    fallback = np.maximum(np.abs(median), 1.0) * 1e-6
    return median, np.where(high > low, high - low, fallback)


def _integrate_panels(
    law: Law, y: FloatArray, scale: FloatArray, panels: Panels
) -> FloatArray:
    """Return the sums of integrals over panels for each row, (n,).

    A panel is halved until its two halves have the integral of the whole.
    """

    def integral(panels: Panels) -> FloatArray:
        half_width = 0.5 * (panels.stop - panels.start)
        middle = 0.5 * (panels.stop + panels.start)
        t = middle[:, None] + half_width[:, None] * NODES
        F = _cdf_at(law, panels.rows, t)
        is_above = t >= y[panels.rows, None]
        return np.asarray(half_width * (np.square(F - is_above) @ WEIGHTS))

    crps = np.zeros(len(y))
    whole = integral(panels)
    for _ in range(HALVINGS):
        left, right = panels.halves()
        left_integral = integral(left)
        right_integral = integral(right)
        both = left_integral + right_integral
        # NaN counts as accurate: halving does not make it better.
        is_accurate = ~(np.abs(both - whole) > ACCURACY * scale[panels.rows])
        np.add.at(crps, panels.rows[is_accurate], both[is_accurate])
        if is_accurate.all():
            return crps
        rest = ~is_accurate
        whole = np.concatenate([left_integral[rest], right_integral[rest]])
        panels = left.where(rest) + right.where(rest)
    np.add.at(crps, panels.rows, whole)
    return crps
