"""A progress bar on a terminal, nothing otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def with_progress(items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
    """Yield the items; where standard error is a terminal and tqdm is there, show how far it is."""
    if not sys.stderr.isatty():
        yield from items
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield from items
        return
    yield from tqdm(items, total=total, desc=what, leave=False)
