"""Names that users type: tests, addresses of their own objects, and help with misspelt ones."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from condgof import methods as tests
from condgof.errors import CondgofError, InputError, InputTypeError

OWN = ", or your own, module:attr"


def unknown(what: str, name: str, known: Iterable[str], more: str = "") -> InputError:
    """Return the error of a name that is not there: it lists the names, and the nearest one."""
    there = f"There are: {', '.join(known)}{more}."
    return InputError(f"There is no {what} {name!r}.{did_you_mean(name, known)} {there}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Name the nearest of the names, as the end of a message; "" where none is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f" Did you mean {near[0]!r}?" if near else ""


@dataclass(frozen=True)
class Reference:
    """A user's object by its address, ``module:attr`` or ``file.py:attr``, imported where needed."""

    path: str

    @cache  # noqa: B019 (a handful of addresses, each for good)
    def load(self) -> Any:
        module_name, _, attribute = self.path.rpartition(":")
        if not module_name or not attribute:
            raise InputError(f"{self.path!r} is not an address. Write it as module:attr.")
        try:
            value: Any = _import(module_name)
        except (Exception, SystemExit) as error:  # users' modules fail in their own ways
            raise InputError(
                f"{self.path!r} cannot be imported: {type(error).__name__}: {error}. The"
                " module must be installed, or be in the folder you are in."
            ) from error
        for part in attribute.split("."):
            if not hasattr(value, part):
                names = [name for name in vars(value) if not name.startswith("_")]
                raise InputError(
                    f"{module_name} has no {part!r}.{did_you_mean(part, names)}"
                )
            value = getattr(value, part)
        return value

    @cache  # noqa: B019
    def made(self) -> Any:
        """Import the object; a plain function is called for it."""
        value = self.load()
        if not inspect.isfunction(value):
            return value
        try:
            return value()
        except CondgofError:
            raise
        except Exception as error:
            raise InputError(
                f"{self.path!r} failed: {type(error).__name__}: {error}"
            ) from error


def _import(name: str) -> Any:
    """Import a module by its name, or a file by its path, which can import modules beside it."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name).expanduser().resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {name}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader  # noqa: PT018 (the ending says Python)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # dataclasses and pickles look there
    spec.loader.exec_module(module)
    return module


#: A test as a study runs it: (model, x, y, *, rng, engine) → GofResult.
Method = Callable[..., Any]
#: Name → the test, and what figures and tables for people call it.
METHODS: dict[str, tuple[Method, str]] = {
    "adaptive": (tests.adaptive, "adaptive"),
    "kcsd": (tests.kcsd, "KCSD"),
    "fscd-opt": (partial(tests.fscd, locations="optimize", n_locations=5), "FSCD-opt, J=5"),
    "fscd-opt-1": (
        partial(tests.fscd, locations="optimize", n_locations=1),
        "FSCD-opt, J=1",
    ),
    "fscd-rand": (partial(tests.fscd, locations="random", n_locations=5), "FSCD-rand, J=5"),
    "fscd-rand-1": (
        partial(tests.fscd, locations="random", n_locations=1),
        "FSCD-rand, J=1",
    ),
    "mmd": (tests.mmd, "MMD"),
    "zheng": (tests.zheng, "Zheng"),
    "zheng-wild": (partial(tests.zheng, null="wild"), "Zheng, signs"),
}


def listed(given: object) -> list[Any]:
    """Return the entries of a sequence, or the one thing that was given in its place."""
    return (
        [given]
        if isinstance(given, str) or not isinstance(given, Iterable)
        else list(given)
    )


def as_methods(methods: object) -> dict[str, Method | Reference]:
    """Read the `methods` argument of a study: names, addresses ``module:attr``, or {name: callable}."""
    named = dict(methods) if isinstance(methods, Mapping) else {}
    for value in () if isinstance(methods, Mapping) else listed(methods):
        name = value if isinstance(value, str) else getattr(value, "__name__", "<lambda>")
        if name == "<lambda>":
            raise InputTypeError(
                "A method without a name: pass methods as {name: callable}."
            )
        if name in named:
            raise InputError(f"The method {name!r} is there twice.")
        named[name] = value
    if not named:
        raise InputError(f"No method was given. There are: {', '.join(METHODS)}{OWN}.")
    return {str(name): _method(value) for name, value in named.items()}


def _method(value: Any) -> Method | Reference:
    if isinstance(value, str) and ":" in value:
        reference = Reference(value)
        if not callable(reference.load()):
            raise InputTypeError(f"{value!r} is not a test: it cannot be called.")
        return reference
    if isinstance(value, str):
        if value not in METHODS:
            raise unknown("method", value, METHODS, OWN)
        return METHODS[value][0]
    if not callable(value):
        raise InputTypeError(
            f"A method must be a name or callable, got {type(value).__name__}."
        )
    return value  # type: ignore[no-any-return]


def title_of(method: str) -> str:
    return METHODS[method][1] if method in METHODS else method


def definition(method: Method | Reference) -> str:
    """Say what a method is, so that a study that is gone on with can tell whether it has changed."""
    if isinstance(method, Reference):
        return method.path
    if isinstance(method, partial):
        options = ", ".join(
            f"{key}={value!r}" for key, value in sorted(method.keywords.items())
        )
        return f"{definition(method.func)}({options})"
    kind = method if hasattr(method, "__qualname__") else type(method)
    return f"{kind.__module__}.{kind.__qualname__}"
