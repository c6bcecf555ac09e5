"""Proper scores, of which the true law has the best mean: which a law offers, and their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import UnsupportedModelError, refuse_rows
from condgof.laws._discrete import Probabilities
from condgof.laws._law import Law, check_shape

#: Distances from the location, in scales, at which the line is cut; the error of a panel
#: that is accepted, in scales; how often a panel is halved at most; rows at a time.
CUTS = 2.0 ** np.arange(-2, 60)
ACCURACY, HALVINGS, BLOCK = 1e-10, 40, 2048
X, W = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True)
class Measure:
    """A proper score: its key, what it is called, and 1 where higher values are better, else −1."""

    key: str
    name: str
    sign: float = -1.0

    @property
    def better(self) -> str:
        return "higher" if self.sign > 0 else "lower"


#: The measures, the first that two laws offer before the others.
MEASURES = {
    "log": Measure("log", "log score", 1.0),
    "crps": Measure("crps", "CRPS"),
    "energy": Measure("energy", "energy score"),
    "brier": Measure("brier", "Brier score"),
    "pinball": Measure("pinball", "pinball loss"),
    "winkler": Measure("winkler", "Winkler score"),
}


def offered(law: Law, d_y: int = 1) -> tuple[str, ...]:
    """Return the keys of the measures that a law offers, in the order of `MEASURES`.

    Densities and probabilities have a log score if they are normalised (a function of the
    user's: if it could be integrated, `Law.facing`), a CDF the CRPS, of classes if more
    than two are ordered.
    """
    classes = law if isinstance(law, Probabilities) else None
    ranked = classes is None or (classes.ordered and classes.values.shape[1] > 2)
    has = {
        "log": law.can("log_prob") and law.normalised,
        "crps": d_y == 1 and law.can("cdf") and ranked,
        "brier": classes is not None,
    }
    return tuple(key for key in MEASURES if has.get(key, hasattr(law, key)))


def score(law: Law, y: AnyArray, measure: str) -> FloatArray:
    """Return the score of each row, (n,), by a key of `MEASURES` that the law offers; NaN is refused."""
    y = np.asarray(y)
    if measure not in offered(law, 1 if y.ndim == 1 else y.shape[1]):
        raise UnsupportedModelError(f"{law.name} has no {MEASURES[measure].name}.")
    method = "log_prob" if measure == "log" else measure
    values = check_shape(getattr(law, method)(y), len(y), 1, f"What {method} returns")[:, 0]
    advice = f"{law.name} does not say how likely y is there. Check the model."
    refuse_rows(np.isnan(values), f"The {MEASURES[measure].name} is not a number", advice)
    return values


def integrated(law: Law, y: FloatArray) -> FloatArray:
    """Return the CRPS of any law with a CDF at y (n, 1), (n,), to about 1e-9 of the law's scale."""
    blocks = np.split(np.arange(len(y)), range(BLOCK, len(y), BLOCK))
    return np.concatenate([_block(law.take(block), y[block, 0]) for block in blocks])


def _block(law: Law, y: FloatArray) -> FloatArray:
    place, scale = _placed(law, len(y))
    edges = place[:, None] + scale[:, None] * np.concatenate([-CUTS[::-1], [0.0], CUTS])
    tail = _below(law, np.arange(len(y)), edges)
    with np.errstate(all="ignore"):
        far = np.minimum(tail, 1.0 - tail) ** 2 * np.abs(edges - place[:, None])
    # One cut, twice as far, beyond the last at which something is left, on either side, F
    # is 0 or 1.
    held = np.where(far > ACCURACY * scale[:, None], edges - place[:, None], 0.0)
    least = 0.5 * CUTS[0] * scale
    low = np.minimum(place + 2.0 * np.minimum(held.min(axis=1), -least), y)
    high = np.maximum(place + 2.0 * np.maximum(held.max(axis=1), least), y)
    cuts = np.sort(
        np.clip(np.column_stack([edges, y]), low[:, None], high[:, None]), axis=1
    )
    start, stop = cuts[:, :-1], cuts[:, 1:]
    rows_of, which = np.nonzero(start < stop)
    return _halved(law, y, scale, rows_of, start[rows_of, which], stop[rows_of, which])


def _below(law: Law, rows: IntArray, t: FloatArray) -> FloatArray:
    """Return the CDFs of some rows at places t, (rows, m); nobody is asked outside the support."""
    ends = (np.broadcast_to(end, (law.n, 1))[rows] for end in law.support)
    each = law.take(np.repeat(rows, t.shape[1]))
    with np.errstate(all="ignore"):
        return np.clip(np.reshape(each.cdf(np.clip(t, *ends).ravel()), t.shape), 0.0, 1.0)


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
    law: Law,
    y: FloatArray,
    scale: FloatArray,
    rows: IntArray,
    start: FloatArray,
    stop: FloatArray,
) -> FloatArray:
    """Integrate over panels [start, stop] of the rows `own`, halving those that are not accurate."""

    def rule(rows: IntArray, start: FloatArray, stop: FloatArray) -> FloatArray:
        half, middle = 0.5 * (stop - start), 0.5 * (stop + start)
        t = middle[:, None] + half[:, None] * X
        return np.asarray(
            half * (np.square(_below(law, rows, t) - (t >= y[rows, None])) @ W)
        )

    out, whole = np.zeros(len(y)), rule(rows, start, stop)
    for _ in range(HALVINGS):
        middle = 0.5 * (start + stop)
        left, right = rule(rows, start, middle), rule(rows, middle, stop)
        done = ~(
            np.abs(left + right - whole) > ACCURACY * scale[rows]
        )  # NaN does not get better
        np.add.at(out, rows[done], (left + right)[done])
        if done.all():
            return out
        go = ~done
        rows, whole = np.tile(rows[go], 2), np.concatenate([left[go], right[go]])
        cuts = start[go], middle[go], stop[go]
        start, stop = np.concatenate(cuts[:2]), np.concatenate(cuts[1:])
    np.add.at(out, rows, whole)
    return out
