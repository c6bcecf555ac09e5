"""Which library an object comes from, and the file that knows how to make a model of it.

An adapter is a module of this room with two names: ``SUPPORTED``, a line for messages, and
``adapt(obj)``, which returns a `ConditionalModel`, or None for an object that is not its own. Adapters
import their library only once an object of it is in their hands.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from condgof.models._base import ConditionalModel

#: Modules of this room, asked in this order.
ADAPTERS: tuple[str, ...] = ("_scipy",)


def adapt(obj: Any) -> ConditionalModel | None:
    """Make a model of a fitted object of some library, or return None."""
    for name in ADAPTERS:
        model = import_module(f"condgof.models.{name}").adapt(obj)
        if isinstance(model, ConditionalModel):
            return model
    return None


def supported() -> str:
    """List what adapters take, a line each."""
    return "".join(f"\n  {import_module(f'condgof.models.{name}').SUPPORTED}" for name in ADAPTERS)


def comes_from(obj: Any, library: str) -> bool:
    """Whether an object's class, or one that it is derived from, is defined in a library.

    Nothing is imported: an object of a library that was never imported cannot exist.

    Examples
    --------
    >>> import numpy as np
    >>> comes_from(np.zeros(2), "numpy"), comes_from(3, "numpy")
    (True, False)
    """
    return any(base.__module__.partition(".")[0] == library for base in type(obj).__mro__)
