"""Calling users' functions so that x and y cannot be swapped silently."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def call_density(function: Callable[..., Any], y: Any, x: Any) -> Any:
    """Call a user's function of y and x.

    A parameter named x or y (or X, Y) gets what its name says, in whatever order they are written;
    other parameters get what is left, y first. A function of a single parameter gets y. For an
    unconditional model x is None, and is passed only where it is asked for.

    Examples
    --------
    >>> call_density(lambda x, y: (y, x), y="Y", x="X")
    ('Y', 'X')
    >>> call_density(lambda target, x: (target, x), y="Y", x="X")
    ('Y', 'X')
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in callables have no signature
        return function(y) if x is None else function(y, x)
    kinds = inspect.Parameter
    single = [p for p in parameters if p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)]
    required = [p for p in single if p.default is p.empty]
    variable = len(single) < len(parameters)
    if len(required) <= 1 and not variable and (x is None or len(single) == 1):
        first = (required or single or parameters)[0]
        return function(**{first.name: y}) if first.kind is kinds.KEYWORD_ONLY else function(y)
    given = {"y": y, "x": x}
    taken = {p.name.lower() for p in single} & set(given)
    rest = [name for name in given if name not in taken]
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for p in single:
        name = p.name.lower()
        if name not in given:
            if not rest:
                continue  # an option of the function's own
            name = rest.pop(0)
        if p.kind is kinds.KEYWORD_ONLY or len(positional) < single.index(p):
            named[p.name] = given[name]
        else:
            positional.append(given[name])
    for p in parameters:
        if p.kind is kinds.VAR_POSITIONAL and len(positional) == len(single):
            positional += [given[name] for name in rest]
            rest = []
        elif p.kind is kinds.VAR_KEYWORD:
            named.update({name: given[name] for name in rest})
    return function(*positional, **named)
