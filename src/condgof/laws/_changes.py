"""What a repair may change of a law: the values that it is known by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray
from condgof.errors import UnsupportedModelError
from condgof.laws._corrected import (
    LEAST_CLASS_PROBABILITY,
    ScoreMap,
    extended,
    mapped_back,
    values_at,
)
from condgof.laws._counts import Counts
from condgof.laws._discrete import Probabilities, normalised
from condgof.laws._draws import Draws
from condgof.laws._known import CellsOfY, Intervals, Quantiles
from condgof.laws._law import Law
from condgof.laws._survival import Censored

#: Probabilities of statements are kept this far from 0 and 1.
LEAST_LEVEL = 1e-9
#: Normal scores of neighbouring values are at least this far apart.
LEAST_SCORE_STEP = 1e-9


class KnownValues(NamedTuple):
    """Values that a law is known by, with their places in its distribution."""

    scores: FloatArray  #: Normal scores of their levels, (K,).
    values: FloatArray  #: Quantiles at these levels, (n, K).


def is_known_by_values(law: Law) -> bool:
    """Whether a law is draws, quantiles or intervals, which can be moved one by one."""
    return isinstance(law, (Draws, Quantiles, Intervals))


def known_values(law: Law) -> KnownValues:
    """Return the values that a law of draws, quantiles or intervals is known by."""
    if isinstance(law, Draws):
        values = np.sort(np.asarray(law.values, dtype=np.float64), axis=1)
        levels = (np.arange(values.shape[1]) + 0.5) / values.shape[1]
        return KnownValues(scores=np.asarray(ndtri(levels)), values=values)
    if isinstance(law, Quantiles):
        values = np.asarray(law.values, dtype=np.float64)
        return KnownValues(scores=np.asarray(ndtri(law.levels)), values=values)
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
    return KnownValues(scores=np.asarray(ndtri(levels)), values=values)


def with_values(law: Law, moved: FloatArray) -> Law:
    """Return the law with other values, (n, K), in the order of `known_values`."""
    if isinstance(law, Draws):
        values = known_values(law).values
        are_whole = (values == np.rint(values)).all()
        return replace(law, values=np.rint(moved) if are_whole else moved)
    if isinstance(law, Quantiles):
        return replace(law, values=moved)
    assert isinstance(law, Intervals)
    half = len(law.coverage)
    return replace(law, low=moved[:, half - 1 :: -1], high=moved[:, half:])


def with_mapped_scores(law: Law, maps: Sequence[ScoreMap]) -> Law:
    """Return a law of draws whose normal scores are mapped: its draws are moved."""
    scores, values = known_values(law)
    z = mapped_back(maps, np.broadcast_to(scores, values.shape))
    return with_values(law, values_at(extended(values, scores), z))


def cell_shares(law: Law) -> FloatArray:
    """Return the probabilities of the cells of a law of statements, (C,)."""
    assert isinstance(law, CellsOfY)
    return law.shares


def with_cell_probabilities(law: Law, probabilities: FloatArray, unit: float) -> Law:
    """Return quantiles or intervals, moved so that their levels hold.

    The line between neighbouring values, and beyond the outer ones, is straight in normal
    scores.

    Parameters
    ----------
    law : Law
        Quantiles or intervals.
    probabilities : ndarray of shape (n, C)
        What the probabilities of the cells are, where the law states `cell_shares`.
    unit : float
        How much a single quantile moves for one normal score, in units of y.
    """
    stated, values = known_values(law)
    levels = np.cumsum(probabilities, axis=1)[:, :-1]
    if isinstance(law, Intervals):
        # What lies outside of an interval is taken to be half on either side.
        tails = 0.5 * (1.0 - levels)
        levels = np.concatenate([tails[:, ::-1], 1.0 - tails], axis=1)
    scores = ndtri(np.clip(levels, LEAST_LEVEL, 1.0 - LEAST_LEVEL))
    steps = LEAST_SCORE_STEP * np.arange(scores.shape[1])
    scores = np.maximum.accumulate(scores - steps, axis=1) + steps
    knots = extended(values, scores, unit)
    return with_values(law, values_at(knots, np.broadcast_to(stated, values.shape)))


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


def positive_class_probabilities(law: Law) -> FloatArray:
    """Return class probabilities that sum to 1, and of which none is 0, (n, K)."""
    values = class_probabilities(law)
    assert values is not None
    return normalised(np.maximum(normalised(values), LEAST_CLASS_PROBABILITY))


def class_names(law: Law) -> tuple[str, ...]:
    """Return the names of the classes of a law, K of them."""
    assert isinstance(law, Probabilities)
    return law.classes.names


def with_uncensored(law: Law, change: Callable[[Law], Law]) -> Law:
    """Change the law of times, of a law of censored times the one without censoring."""
    if isinstance(law, Censored):
        return replace(law, law=change(law.law))
    return change(law)
