"""Names that users type: lists, references to their own objects, and help with misspelt ones."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from condgof.errors import CondgofError, InputError

#: Ends a list of names.
OWN = ", or your own, module:attr"


def unknown(what: str, name: str, known: Iterable[str], more: str = "") -> InputError:
    """Return the error of a name that is not there: it lists the names, and the nearest one."""
    names = list(known)
    guess = did_you_mean(name, names)
    return InputError(f"There is no {what} {name!r}.{guess} There are: {', '.join(names)}{more}.")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Name the nearest of the names that are there, as the end of a message; "" where none is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f" Did you mean {near[0]!r}?" if near else ""


@dataclass(frozen=True)
class Reference:
    """A user's object by its address, which is imported wherever it is needed.

    Parameters
    ----------
    path : str
        The address, ``module:attr`` or ``file.py:attr``; ``attr`` may have dots.
    """

    path: str

    @functools.cache  # noqa: B019 (a handful of addresses, each for good)
    def load(self) -> Any:
        """Import the object."""
        module_name, _, attribute = self.path.rpartition(":")
        if not module_name or not attribute:
            raise InputError(f"{self.path!r} is not an address. Write it as module:attr.")
        try:
            value: Any = _import(module_name)
        except (Exception, SystemExit) as error:  # users' modules fail in their own ways
            raise InputError(
                f"{self.path!r} cannot be imported: {type(error).__name__}: {error}. The module must be "
                "installed, or be in the folder you are in."
            ) from error
        for part in attribute.split("."):
            if not hasattr(value, part):
                names = [name for name in vars(value) if not name.startswith("_")]
                raise InputError(f"{module_name} has no {part!r}.{did_you_mean(part, names)}")
            value = getattr(value, part)
        return value

    @functools.cache  # noqa: B019
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
            raise InputError(f"{self.path!r} failed: {type(error).__name__}: {error}") from error


def _import(name: str) -> Any:
    """Import a module by its name, or a file by its path, which can import modules beside it."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name).expanduser().resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {name}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None  # the ending says Python
    assert spec.loader is not None
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # dataclasses and pickles look there
    spec.loader.exec_module(module)
    return module
