"""How far a study is: a bar with the time left on a terminal, a few lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

#: Seconds between two lines where there is no terminal.
EVERY = 60.0


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None]]:
    """Give a function of (trials done, trials of all) that shows them."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    bar = Progress(
        TextColumn("trials"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        speed_estimate_period=600.0,
    )
    with bar:
        task = bar.add_task("trials", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Lines:
    """Write a line now and then."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._before: int | None = None

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._before is None:
            self._before = done
            if done and done < total:
                print(f"condgof: {done:,} of {total:,} trials are there already.", file=sys.stderr)
        elif now - self._last >= EVERY and done < total:
            self._last = now
            left = (now - self._start) / max(1, done - self._before) * (total - done)
            print(
                f"condgof: {done:,} of {total:,} trials, about {_time(left)} left",
                file=sys.stderr,
                flush=True,
            )


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
