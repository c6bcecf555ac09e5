"""What adapters of libraries share: whose an object is, x as it wants it, what it calls y and x."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import TableLike
from condgof.errors import InputError
from condgof.laws._discrete import probabilities
from condgof.laws._functions import signature_of
from condgof.laws._law import Law
from condgof.sample import is_frame


def comes_from(obj: object, library: str) -> bool:
    """Whether an object's class, or one that it is derived from, is a library's; nothing is imported."""
    return any(base.__module__.partition(".")[0] == library for base in type(obj).__mro__)


def as_table(x: TableLike) -> Any:
    """Return x with columns, as libraries want it: frames as they are, (n,) as (n, 1)."""
    if is_frame(x):
        return x
    if hasattr(x, "to_frame"):  # a Series
        return x.to_frame()
    array = np.asarray(x)
    return array[:, None] if array.ndim == 1 else array


def as_pandas(x: Any) -> Any:
    """Return a table whose frames are pandas frames, for libraries that know no others."""
    x = as_table(x)
    if not hasattr(x, "get_column"):
        return x
    import pandas as pd

    return pd.DataFrame({name: x.get_column(name).to_numpy() for name in x.columns})


def class_law(predict: Callable[[Any], Any], classes: object, x: TableLike) -> Law:
    """Return the law of class probabilities (n, K) at x, and of what y calls the classes."""
    return probabilities(np.asarray(predict(as_table(x))), classes)


def _by_name(
    function: Callable[..., Any], y_name: str, x_name: str, y: TableLike, x: TableLike
) -> Any:
    return function(**({y_name: y} if x is None else {y_name: y, x_name: x}))


def named_method(owner: object, method: str, y: str | None, x: str | None) -> Any:
    """Find out which parameter of a method that returns log p(y|x) is y and which is x, or ask.

    Unless the user names them, a method with parameters y and x, or y and one other, is
    taken at its word; all else is refused: flows call y "x" or "inputs", and x "context",
    "condition" or "y".
    """
    function, kind = getattr(owner, str(method), None), type(owner).__name__
    if not callable(function):
        raise InputError(
            f"{kind} has no method {method!r}. Name the one that returns log p(y|x)."
        )
    signature = signature_of(function)
    parameters = signature.parameters.values() if signature else ()
    every = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    if y is x is None and "y" in every and ("x" in every or len(every) == 2):
        y, x = "y", "x" if "x" in every else next(name for name in every if name != "y")
    call = f"{kind}.{method}({', '.join(every) or '...'})"
    if y is None or x is None:
        first, second = every[:2] if len(every) > 1 else ("inputs", "context")
        asked = f"condgof.from_torch(model, method={method!r}, y={first!r}, x={second!r})"
        raise InputError(
            f"{call} does not say which parameter is y and which x. Name both: {asked}."
        )
    # Any name may be passed where there is a **kwargs.
    known = (
        not every or any(p.kind is p.VAR_KEYWORD for p in parameters) or {y, x} <= {*every}
    )
    if not known:
        raise InputError(f"{call} has no parameter {(y if y not in every else x)!r}.")
    return partial(_by_name, function, y, x)
