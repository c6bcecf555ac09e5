"""Models of a discrete y: labels, ordered categories and counts.

There is no score ∇_y log p. Its place take residuals r(y, x) over a fixed set of cells, with E r(Y, x) =
0 under the model for every x, exactly; kernels of a discrete y (`condgof.kernels`) make features of
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import (
    InputError,
    InputTypeError,
    ShapeError,
    SupportError,
    UnsupportedModelError,
)
from condgof.kernels import Cells
from condgof.models._base import ConditionalModel
from condgof.models._residuals import Law
from condgof.sample import as_numbers

#: Which residuals a test may ask for: those of y itself, or with them all that the model can be held to.
PLAIN, FULL = "plain", "full"


@dataclass(frozen=True, eq=False)
class Residuals:
    """What kernels see of a discrete y.

    Parameters
    ----------
    u : ndarray of shape (n, 1)
        y as they compare it.
    values : ndarray of shape (n, cells)
        The residuals, of mean 0 given x under the model.
    law : Law, optional
        From which y can be drawn anew, for the null distribution.
    """

    u: FloatArray
    values: FloatArray
    law: Law | None = None


class DiscreteModel(ConditionalModel):
    """A model of a discrete y in one column.

    A subclass writes `numbers`, `cells` and `residuals`, and what else it has (`log_prob`, `cdf`,
    `sample`, `mean_std`).
    """

    @property
    def discrete(self) -> bool:
        """True: y is discrete."""
        return True

    def numbers(self, y: AnyArray, x: Any) -> FloatArray:
        """Return y as numbers, checked, (n,)."""
        raise NotImplementedError

    def cells(self, by: str) -> Cells:
        """Return what the columns of the residuals are of."""
        raise NotImplementedError

    def class_names(self, x: Any) -> tuple[str, ...] | None:
        """Return what y calls the classes, in the order of their probabilities; None for counts."""
        return None

    def residuals(self, y: AnyArray, x: Any, by: str) -> Residuals:
        """Return y as kernels compare it, with its residuals."""
        raise NotImplementedError

    def _lacks(self, ability: str) -> NoReturn:
        if ability == "score":
            raise UnsupportedModelError(
                f"{self._name} is a model of a discrete y, which has no score ∇_y log p(y|x). The "
                "tests see its residuals instead: adaptive, kcsd, fscd and calibration take it as it "
                "is."
            )
        super()._lacks(ability)

    def remarks(self, y: AnyArray, x: Any) -> tuple[str, ...]:
        """What a reader of a result should know of these observations, a sentence each."""
        return ()


def flat(y: AnyArray) -> AnyArray:
    """Return a y of one column as (n,)."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        return y[:, 0]
    if y.ndim != 1:
        raise ShapeError(
            f"A model of a discrete y is for one column of y, got shape {y.shape}. Pass one label or "
            "count for each row."
        )
    return y


def whole_numbers(y: AnyArray, low: AnyArray, high: AnyArray, model: str) -> FloatArray:
    """Check counts: whole numbers from `low` to `high`, which broadcast to (n,)."""
    if np.asarray(y).dtype.kind in "OUS":
        raise InputTypeError(f"{model} is a model of counts, and y holds text. Pass numbers.")
    values = flat(as_numbers(y, "y")).astype(np.float64)
    broken = np.flatnonzero(values != np.floor(values))
    if len(broken):
        raise InputError(
            f"{model} is a model of counts, and y is not a whole number in {len(broken)} of "
            f"{len(values)} rows, the first in row {broken[0]} (counted from 0). A continuous y needs "
            "another model."
        )
    bad = np.flatnonzero((values < low) | (values > high))
    if len(bad):
        raise SupportError(model, len(bad), len(values), int(bad[0]))
    return values


def refuse_standardizing(standardize: str) -> NoReturn:
    """Refuse to standardise a discrete y by anything but what its model does by itself."""
    raise InputError(
        f"standardize={standardize!r} is for a continuous y: the CDF of a discrete one takes steps. Use "
        "'auto' or 'none'; counts are compared in the model's own standard deviations with either."
    )
