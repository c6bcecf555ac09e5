"""Outliers: rows so far out that a right model has hardly any, one frame for all kinds.

Of normal scores z, a row is an outlier if one as far out, among all n rows, has less than
the probability 0.001. Of classes, if what happened had a probability below 0.0001.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from condgof._typing import FloatArray, IntArray
from condgof.check._axes import prefixed_names
from condgof.check._findings import OUTLIER_PROBABILITY
from condgof.check._frame import name_columns
from condgof.check.kinds import (
    TINY_PROBABILITY,
    CensoredRows,
    CheckedRows,
    CircularRows,
    CircularScoreRows,
    ClassRows,
    ContinuousRows,
    CountRows,
    FrameColumn,
    MomentRows,
    ScoreRows,
    SeveralRows,
    StatementRows,
)
from condgof.laws import normalised
from condgof.sample import Column

#: The column of the frame that says how improbable a value as far out is.
TAIL_NAME = "tail_probability"
#: That which says how probable the class was that came.
PROBABILITY_NAME = "probability_of_y"


class Outlying(NamedTuple):
    """The outlying ones of n rows."""

    rows: IntArray  #: Their positions, (k,).
    distance: FloatArray  #: How far out each is; the largest is listed first, (k,).
    column: str  #: What the frame calls `probability`.
    probability: FloatArray  #: Of what happened, or of anything as far out, (k,).


@singledispatch
def outlying_rows(checked: CheckedRows) -> Outlying:
    """Return the rows that lie further out than any should."""
    raise NotImplementedError(f"there are no outliers for {type(checked).__name__}")


@outlying_rows.register(CircularScoreRows)
@outlying_rows.register(MomentRows)
@outlying_rows.register(ScoreRows)
@outlying_rows.register(StatementRows)
def _(checked: CheckedRows) -> Outlying:
    """Nothing: how far out a row is, is not known."""
    return _beyond(np.zeros((checked.n, 1)))


@outlying_rows.register
def _(checked: ContinuousRows) -> Outlying:
    return _beyond(np.zeros((checked.n, 1)) if checked.draws else checked.z)


@outlying_rows.register
def _(checked: SeveralRows) -> Outlying:
    return _beyond(np.zeros((checked.n, 1)) if checked.draws else checked.z)


@outlying_rows.register
def _(checked: CountRows) -> Outlying:
    return _beyond(checked.z)


@outlying_rows.register
def _(checked: CensoredRows) -> Outlying:
    return _beyond(checked.far_scores[:, None])


@outlying_rows.register
def _(checked: CircularRows) -> Outlying:
    return _beyond(checked.far_scores[:, None])


@outlying_rows.register
def _(checked: ClassRows) -> Outlying:
    p = normalised(checked.probabilities)[np.arange(checked.n), checked.codes]
    rows = np.flatnonzero(p < TINY_PROBABILITY)
    with np.errstate(divide="ignore"):
        distance = -np.log(p[rows])
    return Outlying(rows, distance, PROBABILITY_NAME, p[rows])


def _beyond(z: FloatArray) -> Outlying:
    """Return the rows of normal scores (n, d) that lie beyond the bound of outliers.

    A row with several scores counts by the one that is furthest out.
    """
    size = np.abs(z).max(axis=1)
    bound = -float(ndtri(0.5 * OUTLIER_PROBABILITY / len(z)))
    rows = np.flatnonzero(size > bound)
    return Outlying(rows, size[rows], TAIL_NAME, 2.0 * ndtr(-size[rows]))


def outlier_frame(checked: CheckedRows) -> Any:
    """Return the outliers as a frame of the user's library, the furthest out first."""
    outlying = outlying_rows(checked)
    order = np.argsort(-outlying.distance, kind="stable")
    rows = outlying.rows[order]
    parts = name_columns(checked)
    columns = {**parts.x, **parts.y, **parts.predicted, **parts.comparison}
    taken = {
        name: part._replace(values=np.asarray(part.values)[rows])
        for name, part in columns.items()
    }
    (name,) = prefixed_names([outlying.column], list(taken))
    taken[name] = FrameColumn(Column(name), outlying.probability[order])
    return checked.table.origin.build(taken, checked.rows[rows])
