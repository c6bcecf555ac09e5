"""What a repair may change of a law: the values that it is known by."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray
from condgof.errors import UnsupportedModelError
from condgof.laws._counts import Counts
from condgof.laws._discrete import Probabilities
from condgof.laws._draws import Draws
from condgof.laws._known import Intervals, Quantiles
from condgof.laws._law import Law


class Knots(NamedTuple):
    """Values that a law is known by, with their places in its distribution."""

    scores: FloatArray  #: Normal scores of their levels, (K,).
    values: FloatArray  #: Quantiles at these levels, (n, K).


def is_known_by_values(law: Law) -> bool:
    """Whether a law is draws, quantiles or intervals, which can be moved one by one."""
    return isinstance(law, (Draws, Quantiles, Intervals))


def knots_of(law: Law) -> Knots:
    """Return the values that a law of draws, quantiles or intervals is known by."""
    if isinstance(law, Draws):
        values = np.sort(np.asarray(law.values, dtype=np.float64), axis=1)
        levels = (np.arange(values.shape[1]) + 0.5) / values.shape[1]
        return Knots(scores=np.asarray(ndtri(levels)), values=values)
    if isinstance(law, Quantiles):
        values = np.asarray(law.values, dtype=np.float64)
        return Knots(scores=np.asarray(ndtri(law.levels)), values=values)
    assert isinstance(law, Intervals)
    tails = 0.5 * (1.0 - law.coverage)
    levels = np.concatenate([tails[::-1], 1.0 - tails])
    values = np.concatenate([law.low[:, ::-1], law.high], axis=1).astype(np.float64)
    if not np.isfinite(values).all():
        raise UnsupportedModelError(
            "An interval without an end cannot be repaired: what lies beyond it has no"
            " measure. Pass its finite end as a quantile, condgof.from_quantiles(end,"
            " level)."
        )
    return Knots(scores=np.asarray(ndtri(levels)), values=values)


def with_knots(law: Law, moved: FloatArray) -> Law:
    """Return the law with other values, (n, K), in the order of `knots_of`."""
    if isinstance(law, Draws):
        values = knots_of(law).values
        are_whole = (values == np.rint(values)).all()
        return replace(law, values=np.rint(moved) if are_whole else moved)
    if isinstance(law, Quantiles):
        return replace(law, values=moved)
    assert isinstance(law, Intervals)
    half = len(law.coverage)
    return replace(law, low=moved[:, half - 1 :: -1], high=moved[:, half:])


def single_quantile_level(law: Law) -> float | None:
    """Return the level of a law of one quantile, whose unit is that of y; else None."""
    if isinstance(law, Quantiles) and len(law.levels) == 1:
        return float(law.levels[0])
    return None


def has_count_cdf(law: Law) -> bool:
    """Whether a law is of counts with a CDF, which can be mapped."""
    return isinstance(law, Counts)


def as_counts(law: Law) -> Counts:
    """Return a law of counts with a CDF as such."""
    assert isinstance(law, Counts)
    return law


def class_probabilities(law: Law) -> AnyArray | None:
    """Return the class probabilities of a law, (n, K); None where it has none."""
    return law.values if isinstance(law, Probabilities) else None


def class_numbers(law: Law) -> FloatArray | None:
    """Return the labels of classes, (K,), where these are numbers; else None."""
    if isinstance(law, Probabilities) and law.classes.numeric:
        return law.classes.values
    return None


def with_class_probabilities(law: Law, values: FloatArray) -> Law:
    """Return a law of class probabilities with other values, (n, K)."""
    assert isinstance(law, Probabilities)
    return replace(law, values=values)
