"""Calling a user's `fit`, so that x and y cannot be swapped silently."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof.errors import InputTypeError


def accepts(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of this name."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some built-in callables have no signature
        return False


@dataclass(frozen=True, eq=False)
class Fitter:
    """A user's `fit`.

    Parameters
    ----------
    fit : callable
        (x, y) → model; parameters named x and y are passed by name, in whatever order they are written.
    names : tuple of str
        Those names as they are spelled, or () where they are passed by position.
    seeded : bool
        Whether it takes an rng.
    """

    fit: Callable[..., Any]
    names: tuple[str, ...]
    seeded: bool

    @classmethod
    def of(cls, fit: Any) -> Fitter:
        """Check that `fit` can be called, and look at its parameters."""
        if isinstance(fit, type) or not callable(fit):
            what = f"the class {fit.__name__}" if isinstance(fit, type) else type(fit).__name__
            raise InputTypeError(
                f"fit must be a function (x, y) → model, such as condgof.fits.ols(), got {what}. "
                "For a scikit-learn estimator pass condgof.fits.sklearn(estimator)."
            )
        try:
            parameters = inspect.signature(fit).parameters.values()
        except (TypeError, ValueError):
            return cls(fit, (), False)
        by_name = {p.name.lower(): p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
        names = (by_name["x"], by_name["y"]) if {"x", "y"} <= set(by_name) else ()
        return cls(fit, names, accepts(fit, "rng"))

    def __call__(self, x: Any, y: Any, rng: np.random.Generator) -> Any:
        """Fit."""
        options = {"rng": rng} if self.seeded else {}
        if self.names:
            return self.fit(**dict(zip(self.names, (x, y), strict=True)), **options)
        return self.fit(x, y, **options)
