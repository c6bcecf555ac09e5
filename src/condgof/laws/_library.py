"""What adapters of libraries share: whose an object is, asking it for a prediction, checking that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import CondgofError, InputError, ShapeError
from condgof.laws._discrete import probabilities
from condgof.laws._functions import signature_of
from condgof.laws._law import Law
from condgof.sample import is_frame


def comes_from(obj: Any, library: str) -> bool:
    """Whether an object's class, or one that it is derived from, is a library's; nothing is imported."""
    return any(base.__module__.partition(".")[0] == library for base in type(obj).__mro__)


def as_table(x: Any) -> Any:
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


@contextmanager
def predicting(library: str, n: int) -> Iterator[None]:
    """Turn whatever a library raises while it predicts into an error that says so."""
    try:
        yield
    except CondgofError:
        raise
    except Exception as error:  # libraries raise anything
        told = f"{library} could not predict at the {n} rows of x ({type(error).__name__}: {error})"
        raise InputError(f"{told}. Pass x with the columns that the model was fitted on.") from error


def prediction(values: Any, n: int, what: str) -> FloatArray:
    """Check a prediction: an array of shape (n,) or (n, d), rows matched by position."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2) or len(array) != n:
        raise ShapeError(f"{what} has shape {array.shape}, and x has {n} rows.")
    return array


def predicted(library: str, predict: Callable[[Any], Any], x: Any) -> Any:
    """Ask a library for its prediction at the table of x."""
    table = as_table(x)
    with predicting(library, len(table)):
        return predict(table)


def class_law(predict: Callable[[Any], Any], classes: Any, library: str, x: Any) -> Law:
    """Return the law of class probabilities (n, K) at x, and of what y calls the classes."""
    values = predicted(library, predict, x)
    if isinstance(values, list):
        raise ShapeError(f"{library} predicts {len(values)} outputs. Pass a classifier of one y.")
    if np.ndim(values) != 2 or len(values) != len(x):
        raise ShapeError(f"{library} predicted a shape of {np.shape(values)}, and x has {len(x)} rows.")
    if np.shape(values)[1] < 2:
        raise InputError(f"{library} was fitted on a single class, so that there is nothing to test.")
    return probabilities(np.asarray(values), classes)


def _by_name(function: Callable[..., Any], y_name: str, x_name: str, y: Any, x: Any) -> Any:
    return function(**({y_name: y} if x is None else {y_name: y, x_name: x}))


def named_method(owner: Any, method: str, y: str | None, x: str | None, maker: str) -> Any:
    """Find out which parameter of a method that returns log p(y|x) is y and which is x, or ask.

    Unless the user names them, a method with parameters y and x, or y and one other, is taken at its
    word; all else is refused: flows call y "x" or "inputs", and x "context", "condition" or "y".
    """
    function, kind = getattr(owner, str(method), None), type(owner).__name__
    if not callable(function):
        names = ", ".join(n for n in dir(owner) if "prob" in n or "density" in n)
        raise InputError(f"{kind} has no method {method!r}. Those that may be meant: {names or 'none'}.")
    signature = signature_of(function)
    parameters = list(signature.parameters.values()) if signature else []
    single = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    required = [p.name for p in single if p.default is p.empty]
    # Unknown where any name may be passed.
    every = [] if any(p.kind is p.VAR_KEYWORD for p in parameters) else [p.name for p in single]
    if y is None and x is None:
        if {"x", "y"} <= set(every):
            y, x = "y", "x"
        elif len(required) == 2 and "y" in required:
            y, x = "y", required[1 - required.index("y")]
    if y is None or x is None:
        first, second = every[:2] if len(every) > 1 else ("inputs", "context")
        raise InputError(
            f"{kind}.{method}({', '.join(every) or '...'}) does not say which parameter is y and which "
            f"x. Name both: condgof.{maker}(model, method={method!r}, y={first!r}, x={second!r})."
        )
    if unknown := [name for name in (y, x) if every and name not in every]:
        raise InputError(f"{method}({', '.join(every)}) of {kind} has no parameter {unknown[0]!r}.")
    return partial(_by_name, function, y, x)
