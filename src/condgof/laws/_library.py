"""What adapters of libraries share: whose an object is, tables as they want them, names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import TableLike
from condgof.errors import InputError
from condgof.laws._discrete import probabilities
from condgof.laws._functions import read_signature
from condgof.laws._law import Law
from condgof.sample import is_frame


def comes_from(obj: object, library: str) -> bool:
    """Whether an object's class, or one that it is derived from, is a library's.

    Nothing is imported: only the names of modules are compared.
    """
    return any(base.__module__.partition(".")[0] == library for base in type(obj).__mro__)


def base_names(obj: object) -> set[str]:
    """Return the names of an object's class and of all classes that it is derived from."""
    return {base.__name__ for base in type(obj).__mro__}


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
    table = as_table(x)
    if not hasattr(table, "get_column"):  # which polars frames have
        return table
    import pandas as pd

    return pd.DataFrame({name: table.get_column(name).to_numpy() for name in table.columns})


def class_law(predict: Callable[[Any], Any], classes: object, x: TableLike) -> Law:
    """Return the law of class probabilities `predict(x)`, (n, K), with labels `classes`."""
    return probabilities(np.asarray(predict(as_table(x))), classes)


def named_method(owner: object, method: str, y: str | None, x: str | None) -> Any:
    """Return a function (y, x) that calls a method which computes log p(y|x) by name.

    Parameters
    ----------
    owner, method : object, str
        What has the method, and its name.
    y, x : str or None
        What the method calls y and x. Unless both are given, a method with parameters y and
        x, or y and one other, is taken at its word; all else is refused: flows call y "x"
        or "inputs", and x "context", "condition" or "y".
    """
    kind = type(owner).__name__
    function = getattr(owner, str(method), None)
    if not callable(function):
        raise InputError(
            f"{kind} has no method {method!r}. Name the one that returns log p(y|x)."
        )
    signature = read_signature(function)
    parameters = list(signature.parameters.values()) if signature else []
    names = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    if y is None and x is None and "y" in names and ("x" in names or len(names) == 2):
        y = "y"
        x = "x" if "x" in names else next(name for name in names if name != "y")
    call = f"{kind}.{method}({', '.join(names) or '...'})"
    if y is None or x is None:
        first, second = names[:2] if len(names) > 1 else ("inputs", "context")
        example = f"condgof.from_torch(model, method={method!r}, y={first!r}, x={second!r})"
        raise InputError(
            f"{call} does not say which parameter is y and which x. Name both: {example}."
        )
    takes_any_name = not names or any(p.kind is p.VAR_KEYWORD for p in parameters)
    if not takes_any_name and not {y, x} <= set(names):
        unknown = x if y in names else y
        raise InputError(f"{call} has no parameter {unknown!r}.")
    return partial(_call_by_name, function, y, x)


def _call_by_name(
    function: Callable[..., Any], y_name: str, x_name: str, y: TableLike, x: TableLike
) -> Any:
    arguments = {y_name: y}
    if x is not None:
        arguments[x_name] = x
    return function(**arguments)
