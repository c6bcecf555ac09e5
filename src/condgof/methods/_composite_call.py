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
            signature = inspect.signature(fit)
        except (TypeError, ValueError):
            return cls(fit, (), False)
        parameters = signature.parameters.values()
        by_name = {p.name.lower(): p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
        names = (by_name["x"], by_name["y"]) if {"x", "y"} <= set(by_name) else ()
        found = cls(fit, names, accepts(fit, "rng"))
        _check_signature(found, signature)
        return found

    def __call__(self, x: Any, y: Any, rng: np.random.Generator) -> Any:
        """Fit."""
        options = {"rng": rng} if self.seeded else {}
        if self.names:
            return self.fit(**dict(zip(self.names, (x, y), strict=True)), **options)
        return self.fit(x, y, **options)


def _check_signature(fitter: Fitter, signature: inspect.Signature) -> None:
    """Refuse a function that cannot be called with x and y."""
    options: dict[str, Any] = {"rng": None} if fitter.seeded else {}
    given: tuple[Any, ...] = () if fitter.names else (None, None)
    try:
        signature.bind(*given, **dict.fromkeys(fitter.names), **options)
    except TypeError as error:
        name = getattr(fitter.fit, "__name__", type(fitter.fit).__name__)
        raise InputTypeError(
            f"fit must be a function (x, y) → model, and {name}{signature} cannot be called with x and "
            f"y ({error}). Where it makes such a function, as those of condgof.fits do, call it first: "
            f"{name}(...)."
        ) from error
