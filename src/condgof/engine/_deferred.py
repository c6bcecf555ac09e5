"""Items of which parts are still to be computed, where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Deferred:
    """An item for a cluster whose parts stay there: a task gets ``(value, parts)``, computed.

    Parameters
    ----------
    value : object
        What travels with the item.
    parts : tuple of Dask collections
        What a worker computes, or holds already.
    """

    value: Any
    parts: tuple[Any, ...]
