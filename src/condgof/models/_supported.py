"""Declaring the support of a model that does not say."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import Any, cast

from condgof._typing import AnyArray, IntArray
from condgof.models._base import ConditionalModel
from condgof.models._delegate import Delegate
from condgof.models._support import Bounds


@dataclass(frozen=True, eq=False)
class Supported(Delegate):
    """A model with a support that was declared from outside; see `with_support`."""

    model: ConditionalModel
    bounds: Bounds

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to, or None."""
        return self.model.rows

    @property
    def _name(self) -> str:
        """What messages call the model."""
        return self.model._name

    def take(self, rows: IntArray) -> Supported:
        """Return the model of some rows."""
        return Supported(self.model.take(rows), self.bounds.take(rows))

    def given(self, x: Any) -> ConditionalModel:
        """Return the model of these rows of x."""
        return Supported(self.model.given(x), self.bounds)

    def can(self, ability: str) -> bool:
        """Whether the model has an ability."""
        return self.model.can(ability)

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the support that was declared."""
        return self.bounds.at(x, n, d_y)

    def _model(self, x: Any) -> ConditionalModel:
        return self.model


def with_support(model: Any, low: Any = None, high: Any = None) -> ConditionalModel:
    """Declare the support of a model that does not say, such as an array of scores.

    Parameters
    ----------
    model : ConditionalModel or anything `as_model` takes
        The model. Its scores stay those of y itself.
    low, high : float, (d_y,) array or callable, optional
        The ends of the open interval that y lives in: numbers, functions x → (n,) or (n, d_y), or,
        for a model that is bound to rows, arrays with one row for each observation. None or infinite
        where there is no bound.

    Returns
    -------
    ConditionalModel

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(1, 2, 200)
    >>> y = rng.exponential(x)
    >>> model = cg.models.with_support(-1 / x, low=0)   # the scores of Exponential(scale=x)
    >>> result = cg.kcsd(model, x, y, rng=0)
    >>> result.details["reparametrized"], result.reject()
    ('log(y - low)', False)
    """
    from condgof.models._as_model import as_model

    model = as_model(model)
    bounds = Bounds.of((low, high), model.rows)
    # A model with a place for bounds keeps them itself: numerical derivatives need them.
    if is_dataclass(model) and hasattr(model, "bounds"):
        return cast(ConditionalModel, replace(cast(Any, model), bounds=bounds))
    return Supported(model, bounds)
