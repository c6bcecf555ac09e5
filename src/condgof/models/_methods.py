"""Calling a method of a user's object with y and x, each under the name that the method has for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from condgof.errors import InputError


@dataclass(frozen=True, eq=False)
class Named:
    """A method that is called with y and x by name.

    Parameters
    ----------
    owner : object
        What the user passed.
    method : str
        The name of its method.
    y, x : str
        The names of the method's parameters.
    """

    owner: Any
    method: str
    y: str
    x: str

    def __call__(self, y: Any, x: Any) -> Any:
        """Call the method; without x for an unconditional model."""
        given = {self.y: y} if x is None else {self.y: y, self.x: x}
        return getattr(self.owner, self.method)(**given)


def named_method(owner: Any, method: str, y: str | None, x: str | None, maker: str) -> Named:
    """Find out which parameter of a method is y and which is x, or ask.

    Parameters
    ----------
    owner : object
        What the user passed.
    method : str
        The name of a method that returns log p(y|x).
    y, x : str or None
        What the user says they are called. Left out, a method with parameters named y and x, or with
        y and one other, is taken at its word; all else is refused, because flows call y "x" or
        "inputs" and x "context", "condition" or "y".
    maker : str
        The public function, for messages.

    Examples
    --------
    >>> class Flow:
    ...     def log_prob(self, inputs, context):
    ...         return inputs - context
    >>> named_method(Flow(), "log_prob", "inputs", "context", "from_torch")(5, 3)
    2
    """
    function = getattr(owner, method, None) if isinstance(method, str) else None
    if not callable(function):
        names = [n for n in dir(owner) if "prob" in n or "density" in n]
        raise InputError(
            f"{type(owner).__name__} has no method {method!r}. "
            + (f"Those that may be meant: {', '.join(names)}." if names else "Name one that it has.")
        )
    required, every = _parameters(function)
    if y is not None and x is not None:
        for name in (y, x):
            if every is not None and name not in every:
                raise InputError(
                    f"{method}({', '.join(every)}) of {type(owner).__name__} has no parameter {name!r}."
                )
        return Named(owner, method, y, x)
    if y is None and x is None:
        if every and {"x", "y"} <= set(every):
            return Named(owner, method, "y", "x")
        if len(required) == 2 and "y" in required:
            return Named(owner, method, "y", next(name for name in required if name != "y"))
    example = every if every and len(every) > 1 else ["inputs", "context"]
    raise InputError(
        f"{type(owner).__name__}.{method}({', '.join(every or ['...'])}) does not say which parameter "
        f"is y and which is x. Name both, for example condgof.{maker}(model, method={method!r}, "
        f"y={example[0]!r}, x={example[1]!r})."
    )


def _parameters(function: Callable[..., Any]) -> tuple[list[str], list[str] | None]:
    """Return the names of the required parameters, and of all; None where any name may be passed."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [], None
    kinds = inspect.Parameter
    single = [p for p in parameters if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    required = [p.name for p in single if p.default is p.empty]
    anything = any(p.kind is kinds.VAR_KEYWORD for p in parameters)
    return required, None if anything else [p.name for p in single]
