"""What goes into a model of another library, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import DerivativeError, InputError, UnsupportedModelError
from condgof.sample import as_numbers

T = TypeVar("T")


def refuse_flat(reached: bool) -> NoReturn:
    """Refuse a density whose score is 0 everywhere; `reached` tells whether y enters it at all."""
    why = (
        "The log-density is flat at every row"
        if reached
        else "The log-density does not depend on y in a way that can be differentiated"
    )
    raise DerivativeError(
        f"{why}, so its score says nothing: a piecewise constant density (a histogram) cannot be tested "
        "through its score. If the model has a CDF, condgof.adaptive(..., standardize='cdf') fits; else "
        "use a test that works on samples. (A smooth density gets here when its gradient is cut: by "
        "no_grad, detach or NumPy inside the model.)"
    )


def check_batch_size(batch_size: Any) -> int:
    """Check a number of rows."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise InputError(f"batch_size must be a positive integer, got {batch_size!r}.")
    return int(batch_size)


def plain(x: Any) -> Any:
    """Return x as an array of numbers, which is what tensors are made of."""
    if x is None or isinstance(x, np.ndarray):
        return x
    return as_numbers(
        x, "x", advice="A network takes numbers: encode text columns first, or pass numeric columns."
    )


def one_column(y: AnyArray) -> AnyArray:
    """Return y, which must have one column."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] != 1:
        raise UnsupportedModelError(f"A cdf is there for d_y = 1 only, and y has {y.shape[1]} columns.")
    return y


def or_none(function: Callable[[], T]) -> T | None:
    """Return what a function returns, or None where the model does not have it."""
    try:
        return function()
    except UnsupportedModelError:
        return None
