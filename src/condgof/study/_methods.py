"""The tests by the names that studies use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from condgof import methods as tests
from condgof.errors import InputError, InputTypeError
from condgof.study._names import OWN, Reference, unknown

#: Name → the function of `condgof`, and its options.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "adaptive": ("adaptive", {}),
    "kcsd": ("kcsd", {}),
    "fscd-opt": ("fscd", {"locations": "optimize", "n_locations": 5}),
    "fscd-opt-1": ("fscd", {"locations": "optimize", "n_locations": 1}),
    "fscd-rand": ("fscd", {"locations": "random", "n_locations": 5}),
    "fscd-rand-1": ("fscd", {"locations": "random", "n_locations": 1}),
    "mmd": ("mmd", {}),
    "zheng": ("zheng", {}),
    "zheng-wild": ("zheng", {"null": "wild"}),
}

#: What figures and tables for people call them.
TITLES = {
    "adaptive": "adaptive",
    "kcsd": "KCSD",
    "fscd-opt": "FSCD-opt, J=5",
    "fscd-opt-1": "FSCD-opt, J=1",
    "fscd-rand": "FSCD-rand, J=5",
    "fscd-rand-1": "FSCD-rand, J=1",
    "mmd": "MMD",
    "zheng": "Zheng",
    "zheng-wild": "Zheng, signs",
}

#: A test as a study runs it: (model, x, y, *, rng, engine) → GofResult.
Method = Callable[..., Any]


def as_methods(methods: Any) -> dict[str, Method | Reference]:
    """Read the `methods` argument of a study: names, addresses ``module:attr``, or {name: callable}."""
    if isinstance(methods, Mapping):
        found = {str(name): _method(value) for name, value in methods.items()}
    else:
        single = not isinstance(methods, Iterable) or isinstance(methods, str)
        found = {}
        for value in [methods] if single else list(methods):
            name = value if isinstance(value, str) else getattr(value, "__name__", None)
            if name is None or name == "<lambda>":
                raise InputTypeError("A method without a name: pass methods as {name: callable}.")
            if name in found:
                raise InputError(f"The method {name!r} is there twice.")
            found[name] = _method(value)
    if not found:
        raise InputError(f"No method was given. There are: {', '.join(METHODS)}{OWN}.")
    return found


def definition(method: Method | Reference) -> str:
    """Say what a method is, so that a study that is gone on with can tell whether it has changed."""
    if isinstance(method, Reference):
        return method.path
    if isinstance(method, functools.partial):
        options = ", ".join(f"{key}={value!r}" for key, value in sorted(method.keywords.items()))
        return f"{definition(method.func)}({options})"
    if isinstance(method, _Named):
        options = ", ".join(f"{key}={value!r}" for key, value in METHODS[method.name][1].items())
        return f"condgof.{METHODS[method.name][0]}({options})"
    kind = method if hasattr(method, "__qualname__") else type(method)
    return f"{kind.__module__}.{kind.__qualname__}"


def _method(value: Any) -> Method | Reference:
    if isinstance(value, str) and ":" in value:
        reference = Reference(value)
        if not callable(reference.load()):
            raise InputTypeError(f"{value!r} is not a test: it cannot be called.")
        return reference
    if isinstance(value, str):
        if value not in METHODS:
            raise unknown("method", value, METHODS, OWN)
        named = _Named(value)
        named.find()
        return named
    if not callable(value):
        raise InputTypeError(f"A method must be a name or callable, got {type(value).__name__}.")
    return value  # type: ignore[no-any-return]


class _Named:
    """A test of `condgof`, looked up when it runs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find(self) -> Method:
        """Return the function."""
        test = METHODS[self.name][0]
        if not hasattr(tests, test):
            raise InputError(f"The method {self.name!r} needs condgof.{test}, which this version lacks.")
        return getattr(tests, test)  # type: ignore[no-any-return]

    def __call__(self, model: Any, x: Any, y: Any, **options: Any) -> Any:
        """Run the test."""
        return self.find()(model, x, y, **METHODS[self.name][1], **options)
