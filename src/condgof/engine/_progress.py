"""A progress bar on a terminal, nothing otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def with_progress(
    items: Iterable[Item], total: int, what: str, note: Callable[[], str] | None = None
) -> Iterator[Item]:
    """Yield the items; where standard error is a terminal and tqdm is there, show how far it is.

    What `note` returns is shown behind the bar, anew after every item.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield from items
        return
    with tqdm(items, total=total, desc=what, leave=False) as bar:
        for item in bar:
            yield item
            if note is not None:
                bar.set_postfix_str(note())
