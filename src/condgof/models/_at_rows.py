"""A model bound to the rows of its x, so that something else may take the place of x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import ShapeError
from condgof.kernels import Cells
from condgof.models._base import ConditionalModel
from condgof.models._delegate import Delegate
from condgof.models._discrete import DiscreteModel
from condgof.sample import take_rows


@dataclass(frozen=True, eq=False)
class AtRows(Delegate):
    """A model that answers for the rows of an x of its own, whatever x it is asked about.

    Parameters
    ----------
    model : ConditionalModel
        The model.
    x : array, frame or None
        Its x.
    count : int
        Number of rows.
    """

    model: ConditionalModel
    x: Any
    count: int

    @classmethod
    def of(cls, model: ConditionalModel, x: Any, n: int) -> AtRows:
        """Bind a model to the n rows of x; it predicts there once, where it can."""
        if model.rows is not None and model.rows != n:
            raise ShapeError(f"The model is bound to {model.rows} rows and the sample has {n}.")
        own = model.given(x)
        return (DiscreteAtRows if own.discrete else cls)(own, x, n)

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to."""
        return self.count

    @property
    def notes(self) -> tuple[str, ...]:
        """What the model says of itself."""
        return self.model.notes

    @property
    def _name(self) -> str:
        """What messages call the model."""
        return self.model._name

    def can(self, ability: str) -> bool:
        """Whether the model has an ability."""
        return self.model.can(ability)

    def take(self, rows: IntArray) -> AtRows:
        """Return the model of some rows."""
        x = None if self.x is None else take_rows(self.x, rows)
        model = self.model if self.model.rows is None else self.model.take(rows)
        return type(self)(model, x, len(rows))

    def _model(self, x: Any) -> ConditionalModel:
        return self.model

    def _x(self, x: Any) -> Any:
        return self.x


class DiscreteAtRows(AtRows, DiscreteModel):
    """The same for a discrete y."""

    @property
    def _discrete(self) -> DiscreteModel:
        assert isinstance(self.model, DiscreteModel)
        return self.model

    def numbers(self, y: AnyArray, x: Any) -> FloatArray:
        """Return y as numbers, checked, (n,)."""
        return self._discrete.numbers(y, self.x)

    def cells(self, by: str) -> Cells:
        """Return what the columns of the residuals are of."""
        return self._discrete.cells(by)

    def residuals(self, y: AnyArray, x: Any, by: str) -> tuple[FloatArray, FloatArray]:
        """Return y as kernels compare it, and the residuals."""
        return self._discrete.residuals(y, self.x, by)

    def remarks(self, y: AnyArray, x: Any) -> tuple[str, ...]:
        """What a reader of a result should know of these observations."""
        return self._discrete.remarks(y, self.x)
