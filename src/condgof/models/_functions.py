"""Models from plain functions: a score, or a log-density that is differentiated numerically."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, ShapeError
from condgof.models._base import ConditionalModel
from condgof.models._call import call_density
from condgof.models._jax import from_jax_density
from condgof.models._numerical import NumericalScore
from condgof.models._ratio import counts_from_log_prob
from condgof.models._support import Bounds
from condgof.models._supported import Supported
from condgof.models._torch import from_torch_density
from condgof.sample import as_numbers, fresh


@dataclass(frozen=True, eq=False)
class ScoreModel(ConditionalModel):
    """A model known through its score function; see `from_score`."""

    function: Callable[..., Any]

    def score(self, y: AnyArray, x: Any) -> AnyArray:
        """Return ∇_y log p(y|x)."""
        return as_numbers(call_density(self.function, fresh(y), fresh(x)), "The scores")


@dataclass(frozen=True, eq=False)
class ScoreArray(ConditionalModel):
    """A model known through an array of scores, one row for each observation."""

    values: AnyArray

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to."""
        return len(self.values)

    def take(self, rows: IntArray) -> ScoreArray:
        """Return the model of some rows."""
        return ScoreArray(self.values[rows])

    def score(self, y: AnyArray, x: Any) -> AnyArray:
        """Return the scores."""
        return self.values


@dataclass(frozen=True, eq=False)
class LogProbModel(NumericalScore):
    """A model known through its log-density; see `from_log_prob`."""

    function: Callable[..., Any]
    tolerance: float = 1e-4
    bounds: Bounds | None = None

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the support that was declared, or the whole line."""
        return super().support(x, n, d_y) if self.bounds is None else self.bounds.at(x, n, d_y)

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), up to a constant that may depend on x, (n,)."""
        # Fresh copies: a function that works in place must not move the rows for the next call.
        values = as_numbers(call_density(self.function, fresh(y), fresh(x)), "What log_prob returns")
        n = len(y)
        if values.shape != (n,):
            raise ShapeError(
                f"log_prob must return one number for each row, shape ({n},), got {values.shape}."
            )
        return values.astype(np.float64)


def from_score(function: Callable[..., Any], *, support: Any = None) -> ConditionalModel:
    """Model from its score function.

    Parameters
    ----------
    function : callable
        f(y, x) → ∇_y log p(y|x) of shape (n, d_y), or (n,) when d_y = 1. A function whose
        parameters are named x and y is called by name, in whatever order they are written. For the
        unconditional tests it may be a function of y alone.
    support : pair, optional
        The open interval (low, high) that y lives in, for a model that does not live on the whole
        line: numbers, (d_y,) arrays or functions of x, None or infinite for no bound. The tests
        then compare y on a scale where it is unbounded; `function` stays that of y itself.

    Examples
    --------
    >>> model = from_score(lambda y, x: -(y - x))
    >>> model.score(np.array([1.0, 2.0]), np.array([0.0, 2.0]))
    array([-1., -0.])

    An exponential density:

    >>> model = from_score(lambda y, x: -x, support=(0, np.inf))
    """
    model = ScoreModel(_check_callable(function, "from_score"))
    return model if support is None else Supported(model, Bounds.of(support))


def from_log_prob(
    function: Callable[..., Any],
    *,
    backend: str = "numpy",
    tolerance: float = 1e-4,
    support: Any = None,
) -> ConditionalModel:
    """Model from its log-density, which need not be normalised.

    Parameters
    ----------
    function : callable
        f(y, x) → log p(y|x) of shape (n,), up to a constant that may depend on x. Called by name
        when its parameters are named x and y.
    backend : {"numpy", "torch", "jax"}
        What it works on and how it is differentiated. "numpy" takes differences, extrapolated to step
        0; "torch" and "jax" differentiate automatically (see `from_torch` and `from_jax`; a JAX
        function may also be that of a single row).
    tolerance : float
        The largest relative error of the derivative that is accepted ("numpy" only).
    support : pair or "counts", optional
        The open interval (low, high) that y lives in, as in `from_score`; `function` is never
        called outside it. ``"counts"``: y is one of 0, 1, 2, …, and `function` the log of its
        probability, perhaps unnormalised, −inf beyond the largest count if there is one; see
        `from_ratio` for how it is tested.

    Returns
    -------
    ConditionalModel
        With "numpy", its ``score_and_error(y, x)`` also tells the estimated errors.

    Examples
    --------
    >>> model = from_log_prob(lambda y, x: -0.5 * (y - x) ** 2)
    >>> scores, errors = model.score_and_error(np.array([1.0, 2.0]), np.array([0.0, 2.5]))
    >>> np.allclose(scores[:, 0], [-1.0, 0.5]), bool(errors.max() < 1e-8)
    (True, True)
    """
    if backend not in ("numpy", "torch", "jax"):
        raise InputError(f"backend must be 'numpy', 'torch' or 'jax', got {backend!r}.")
    if not tolerance > 0:
        raise InputError(f"tolerance must be positive, got {tolerance!r}.")
    checked = _check_callable(function, "from_log_prob")
    if isinstance(support, str) and support == "counts":
        return counts_from_log_prob(from_log_prob(function, backend=backend, tolerance=tolerance))
    bounds = None if support is None else Bounds.of(support)
    if backend == "numpy":
        return LogProbModel(checked, tolerance, bounds)
    model = from_torch_density(checked) if backend == "torch" else from_jax_density(checked)
    return model if bounds is None else Supported(model, bounds)


def _check_callable(function: Any, name: str) -> Callable[..., Any]:
    if not callable(function):
        raise InputTypeError(f"{name} takes a function f(y, x), got {type(function).__name__}.")
    return function  # type: ignore[no-any-return]
