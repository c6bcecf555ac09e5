"""Names that users type: tests, addresses of their own objects, help with misspelt ones."""

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
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from condgof.errors import CondgofError, InputError, InputTypeError
from condgof.methods import adaptive, fscd, kcsd, mmd, zheng

#: The end of a list of names, in messages.
OR_YOUR_OWN = ", or your own, module:attr"


def unknown_name(what: str, name: str, known: Iterable[str], more: str = "") -> InputError:
    """Return the error of a name that does not exist: it proposes the nearest name.

    `what` says what kind of thing was asked for, `more` is put after the list of names.
    """
    there = f"There are: {', '.join(known)}{more}."
    return InputError(f"There is no {what} {name!r}.{did_you_mean(name, known)} {there}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Name the nearest of the names, as the end of a message; "" where none is near."""
    if not isinstance(name, str):
        return " Pass a name, which is text."
    near = difflib.get_close_matches(name, list(known), 1)
    return f" Did you mean {near[0]!r}?" if near else ""


@dataclass(frozen=True)
class Reference:
    """A user's object by its address, imported where it is needed.

    The address is ``module:attr`` or ``file.py:attr``. A reference can be sent to another
    process where the object itself cannot.
    """

    path: str

    @cache  # noqa: B019 (a handful of addresses, each for good)
    def load(self) -> Any:
        """Import the object."""
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
    def resolve(self) -> Any:
        """Import the object; a plain function is called, and its value is the object."""
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


def _import(name: str) -> ModuleType:
    """Import a module by its name, or a file by its path.

    A file can import modules that lie beside it.
    """
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
Method: TypeAlias = Callable[..., Any]


class NamedMethod(NamedTuple):
    """A test that a study knows by name."""

    test: Method
    title: str  #: What figures and tables for people call it.


#: Name → test.
METHODS = {
    "adaptive": NamedMethod(adaptive, "adaptive"),
    "kcsd": NamedMethod(kcsd, "KCSD"),
    "fscd-opt": NamedMethod(
        partial(fscd, locations="optimize", n_locations=5), "FSCD-opt, J=5"
    ),
    "fscd-opt-1": NamedMethod(
        partial(fscd, locations="optimize", n_locations=1), "FSCD-opt, J=1"
    ),
    "fscd-rand": NamedMethod(
        partial(fscd, locations="random", n_locations=5), "FSCD-rand, J=5"
    ),
    "fscd-rand-1": NamedMethod(
        partial(fscd, locations="random", n_locations=1), "FSCD-rand, J=1"
    ),
    "mmd": NamedMethod(mmd, "MMD"),
    "zheng": NamedMethod(zheng, "Zheng"),
    "zheng-wild": NamedMethod(partial(zheng, null="wild"), "Zheng, signs"),
}


def as_list(values: object) -> list[Any]:
    """Return the entries of a sequence; a text, or no sequence, is a single entry."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [values]
    return list(values)


def as_methods(methods: object) -> dict[str, Method | Reference]:
    """Read the `methods` argument of a study.

    It is a name, an address ``module:attr``, a callable, a sequence of them, or a mapping
    of names to them.
    """
    named = dict(methods) if isinstance(methods, Mapping) else _by_name(as_list(methods))
    if not named:
        known = ", ".join(METHODS)
        raise InputError(f"No method was given. There are: {known}{OR_YOUR_OWN}.")
    return {str(name): _as_method(value) for name, value in named.items()}


def _by_name(methods: list[Any]) -> dict[str, Any]:
    """Return methods by their names, addresses or the names of functions."""
    named: dict[str, Any] = {}
    for method in methods:
        name = method if isinstance(method, str) else getattr(method, "__name__", None)
        if name is None or name == "<lambda>":
            raise InputTypeError(
                "A method without a name: pass methods as {name: callable}."
            )
        if name in named:
            raise InputError(f"The method {name!r} is there twice.")
        named[name] = method
    return named


def _as_method(value: Any) -> Method | Reference:
    if isinstance(value, str) and ":" in value:
        reference = Reference(value)
        if not callable(reference.load()):
            raise InputTypeError(f"{value!r} is not a test: it cannot be called.")
        return reference
    if isinstance(value, str):
        if value not in METHODS:
            raise unknown_name("method", value, METHODS, OR_YOUR_OWN)
        return METHODS[value].test
    if not callable(value):
        raise InputTypeError(
            f"A method must be a name or callable, got {type(value).__name__}."
        )
    return value  # type: ignore[no-any-return]


def title_of(method: str) -> str:
    """Return what figures and tables for people call a method."""
    return METHODS[method].title if method in METHODS else method


def definition(method: Method | Reference) -> str:
    """Say what a method is: an address, or a qualified name with the options of a partial.

    A study that goes on tells by this text whether the method has changed.
    """
    if isinstance(method, Reference):
        return method.path
    if isinstance(method, partial):
        options = ", ".join(
            f"{key}={value!r}" for key, value in sorted(method.keywords.items())
        )
        return f"{definition(method.func)}({options})"
    kind = method if hasattr(method, "__qualname__") else type(method)
    return f"{kind.__module__}.{kind.__qualname__}"
