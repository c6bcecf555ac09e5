"""Names that users type: lists, references to their own objects, and help with misspelt ones."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from condgof.errors import CondgofError, InputError

#: Ends a list of names.
OWN = ", or your own, module:attr"


def unknown(what: str, name: str, known: Iterable[str], more: str = "") -> InputError:
    """Return the error of a name that is not there: it lists the names, and the nearest one."""
    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    return InputError(f"There is no {what} {name!r}.{guess} There are: {', '.join(names)}{more}.")


@dataclass(frozen=True)
class Reference:
    """A user's object by its address, ``module:attr``: it is imported wherever it is needed.

    Parameters
    ----------
    path : str
        The address; ``attr`` may have dots.
    """

    path: str

    @functools.cache  # noqa: B019 (a handful of addresses, each for good)
    def load(self) -> Any:
        """Import the object."""
        module_name, _, attribute = self.path.partition(":")
        if not module_name or not attribute:
            raise InputError(f"{self.path!r} is not an address. Write it as module:attr.")
        try:
            value: Any = importlib.import_module(module_name)
        except Exception as error:  # users' modules fail in their own ways
            raise InputError(
                f"{self.path!r} cannot be imported: {type(error).__name__}: {error}. The module must be "
                "installed, or be in the folder you are in."
            ) from error
        for part in attribute.split("."):
            if not hasattr(value, part):
                names = [name for name in vars(value) if not name.startswith("_")]
                near = difflib.get_close_matches(part, names, 1)
                guess = f" Did you mean {near[0]!r}?" if near else ""
                raise InputError(f"{module_name} has no {part!r}.{guess}")
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
