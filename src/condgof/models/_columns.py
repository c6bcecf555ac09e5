"""A model whose predictions are columns of the same table as the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, InputTypeError
from condgof.models._base import ConditionalModel
from condgof.models._functions import ScoreArray
from condgof.models._normal import Normal
from condgof.models._support import Bounds
from condgof.models._supported import Supported

Names: TypeAlias = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class ColumnsModel(ConditionalModel):
    """Predictions in named columns; see `columns`.

    Parameters
    ----------
    mean, std, score : tuple of str
        Column names, one for each column of y; either `mean` and `std`, or `score`.
    bounds : Bounds, optional
        The support, where it is not the whole line.
    """

    mean: tuple[str, ...]
    std: tuple[str, ...]
    score_columns: tuple[str, ...]
    bounds: Bounds | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that the model needs."""
        return (*self.mean, *self.std, *self.score_columns)

    def score(self, y: AnyArray, x: Any) -> AnyArray:
        """Refuse: the columns are in a table that only a source can read."""
        raise InputTypeError(
            "condgof.columns(...) names columns of a table: pass condgof.scan(...) as x, or arrays as "
            "the model."
        )

    def bind(self, table: Mapping[str, FloatArray]) -> ConditionalModel:
        """Return the model of some rows, from their columns."""

        def stack(names: tuple[str, ...]) -> FloatArray:
            return np.column_stack([table[name] for name in names])

        if self.score_columns:
            scores = ScoreArray(stack(self.score_columns))
            return scores if self.bounds is None else Supported(scores, self.bounds)
        return Normal.bound(stack(self.mean), stack(self.std))


def columns(
    *,
    mean: Names | None = None,
    std: Names | None = None,
    score: Names | None = None,
    support: Any = None,
) -> ColumnsModel:
    """Model whose predictions are columns of a scanned table.

    Parameters
    ----------
    mean, std : str or list of str
        Columns with predicted means and standard deviations, one for each column of y.
    score : str or list of str
        Columns with scores ∇_y log p(y|x), in place of `mean` and `std`.
    support : pair of float, optional
        The open interval (low, high) that y lives in, for scores of a model that does not live on
        the whole line; as in `from_score`.

    Returns
    -------
    ColumnsModel

    Examples
    --------
    >>> columns(mean="mu", std="sd").names
    ('mu', 'sd')
    """
    given = [_names(value, name) for name, value in (("mean", mean), ("std", std), ("score", score))]
    means, stds, scores = given
    if bool(scores) == bool(means or stds) or len(means) != len(stds):
        raise InputError("columns needs mean= and std= with as many columns each, or score=.")
    if support is not None and not scores:
        raise InputError("support= goes with score=: a model of mean= and std= is Gaussian.")
    return ColumnsModel(means, stds, scores, None if support is None else Bounds.of(support))


def _names(names: Names | None, what: str) -> tuple[str, ...]:
    listed = () if names is None else (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InputTypeError(f"{what} must be the name of a column or a list of names, got {names!r}.")
    return tuple(listed)
