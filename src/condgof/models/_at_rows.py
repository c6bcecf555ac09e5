"""A model bound to the rows of its x, so that something else may take the place of x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from condgof._typing import IntArray
from condgof.errors import ShapeError
from condgof.kernels import Cells
from condgof.models._base import ConditionalModel
from condgof.models._delegate import Delegate, DiscreteDelegate
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


class DiscreteAtRows(AtRows, DiscreteDelegate):
    """The same for a discrete y."""

    def cells(self, by: str) -> Cells:
        """Return what the columns of the residuals are of."""
        assert isinstance(self.model, DiscreteModel)
        return self.model.cells(by)
