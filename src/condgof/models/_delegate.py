"""Models that stand for another model, which may depend on x."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import ShapeError, UnsupportedModelError
from condgof.models._answers import grid_of
from condgof.models._base import ConditionalModel
from condgof.models._discrete import DiscreteModel, Residuals
from condgof.sample import fresh, take_rows


class Delegate(ConditionalModel):
    """A model that hands every question on to another one."""

    def _model(self, x: Any) -> ConditionalModel:
        """Return the model that answers for these rows of x."""
        raise NotImplementedError

    def _x(self, x: Any) -> Any:
        """Return the x that it is asked about."""
        return x

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the open interval that each coordinate of each row lives in."""
        return self._model(x).support(self._x(x), n, d_y)

    def score(self, y: AnyArray, x: Any) -> AnyArray:
        """Return ∇_y log p(y|x)."""
        return self._model(x).score(y, self._x(x))

    def score_and_error(self, y: AnyArray, x: Any) -> tuple[AnyArray, AnyArray | None]:
        """Return the scores and, where they are approximate, their estimated absolute errors."""
        return self._model(x).score_and_error(y, self._x(x))

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x)."""
        return self._model(x).log_prob(y, self._x(x))

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x)."""
        return self._model(x).cdf(y, self._x(x))

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x)."""
        return self._model(x).sf(y, self._x(x))

    def cdf_grid(self, values: AnyArray, x: Any, n: int | None = None) -> FloatArray:
        """Return P(Y ≤ v | x) for each row of x and each of m values."""
        model = self._model(x)
        return grid_of(model)(model, values, self._x(x), n)

    def normal_scores(self, y: AnyArray, x: Any) -> FloatArray:
        """Return Φ⁻¹(F(y|x))."""
        return self._model(x).normal_scores(y, self._x(x))

    def marginals(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return normal scores of the marginals, their slopes and marginal scores."""
        return self._model(x).marginals(y, self._x(x))

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return where y lies and how wide."""
        return self._model(x).location_scale(self._x(x), n)

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row of x."""
        return self._model(x).sample(self._x(x), rng, n)

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of y given x."""
        return self._model(x).mean_std(self._x(x), n)


@dataclass(frozen=True, eq=False)
class Predicted(Delegate):
    """A functional model made of a function that predicts the distributions of y for rows of x.

    Parameters
    ----------
    predict : callable
        x → a model that is bound to these rows, or the same for all rows. It gets x as the user passed
        it (a copy).
    label : str
        What messages call it.
    lacking : tuple of str
        Abilities that the predicted models do not have.
    """

    predict: Callable[[Any], ConditionalModel]
    label: str = "the predicted distribution"
    lacking: tuple[str, ...] = ("marginals",)

    @property
    def _name(self) -> str:
        """What messages call the model."""
        return self.label

    def can(self, ability: str) -> bool:
        """Whether the model has an ability."""
        return ability not in self.lacking

    def given(self, x: Any) -> ConditionalModel:
        """Predict once."""
        return self._model(x)

    def probe(self, y: AnyArray, x: Any) -> ConditionalModel:
        """Return the model knowing whether y is discrete, from its prediction at two rows."""
        few = None if x is None else take_rows(x, np.arange(min(2, len(x))))
        if self.discrete or not self._model(few).discrete:
            return self
        return DiscretePredicted(self.predict, self.label, ("score", "normal_scores", "marginals"))

    def _model(self, x: Any) -> ConditionalModel:
        model = self.predict(fresh(x))
        if model.rows is not None and x is not None and model.rows != len(x):
            raise ShapeError(f"{self.label} has {model.rows} rows for {len(x)} rows of x.")
        return model


class DiscreteDelegate(Delegate, DiscreteModel):
    """The same for a discrete y."""

    def numbers(self, y: AnyArray, x: Any) -> FloatArray:
        """Return y as numbers, checked, (n,)."""
        return _discrete(self._model(x)).numbers(y, self._x(x))

    def class_names(self, x: Any) -> tuple[str, ...] | None:
        """Return what y calls the classes."""
        return _discrete(self._model(x)).class_names(self._x(x))

    def residuals(self, y: AnyArray, x: Any, by: str) -> Residuals:
        """Return y as kernels compare it, and the residuals."""
        return _discrete(self._model(x)).residuals(y, self._x(x), by)

    def remarks(self, y: AnyArray, x: Any) -> tuple[str, ...]:
        """What a reader of a result should know of these observations."""
        return _discrete(self._model(x)).remarks(y, self._x(x))


def _discrete(model: ConditionalModel) -> DiscreteModel:
    if not isinstance(model, DiscreteModel):
        raise UnsupportedModelError(
            f"{model._name} is continuous for some rows and discrete for others."
        )
    return model


class DiscretePredicted(Predicted, DiscreteDelegate):
    """A function that predicts distributions of a discrete y."""
