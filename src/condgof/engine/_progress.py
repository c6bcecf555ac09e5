"""How far a computation is: on a terminal, from two seconds on; nothing otherwise."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import parent_process
from typing import TypeVar

Item = TypeVar("Item")

#: Seconds before stages are shown.
PATIENCE = 2.0
#: Seconds between two updates of the line.
EVERY = 0.2
#: Characters of the bar.
BAR = 12


def with_progress(
    items: Iterable[Item], total: int, what: str, note: Callable[[], str] | None = None
) -> Iterator[Item]:
    """Yield the items, and show on a terminal how many of the `total` are done.

    Within `stages` the share is shown beside the name of the stage. Elsewhere tqdm shows a
    bar, if it is installed, called `what` and followed by a `note`.
    """
    line = _LINE.get()
    if line is not None:
        yield from line.counted(items, total)
        return
    if not sys.stderr.isatty() or importlib.util.find_spec("tqdm") is None:
        yield from items
        return
    from tqdm import tqdm

    with tqdm(items, total=total, desc=what, leave=False) as bar:
        for item in bar:
            yield item
            if note is not None:
                bar.set_postfix_str(note())


@contextmanager
def stages(*names: str, show: bool = True) -> Iterator[Callable[[str], None]]:
    """Give a function to call with the name of each stage as it begins.

    From two seconds on the stage is shown on a terminal, unless `show` is False. Within
    other stages their line goes on: these names are not shown, and a silent line stays
    silent.
    """
    outer = _LINE.get()
    if outer is not None:
        yield outer.begin
        return
    line = _Line(names)
    token = _LINE.set(line)
    main = (
        threading.current_thread() is threading.main_thread() and parent_process() is None
    )
    clock = threading.Thread(target=line.run, daemon=True)
    if show and main and sys.stderr.isatty():
        clock.start()
    try:
        yield line.begin
    finally:
        _LINE.reset(token)
        line.over.set()
        if clock.ident is not None:
            clock.join()


class _Line:
    """The last line of a terminal: there is one, whoever writes to it."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.over = threading.Event()
        self._start = time.monotonic()
        self._stage = ""
        self._share = ""

    def begin(self, name: str) -> None:
        """Begin a stage."""
        self._stage = name
        self._share = ""

    def counted(self, items: Iterable[Item], total: int) -> Iterator[Item]:
        """Yield the items, and note which share of them is done."""
        for done, item in enumerate(items):
            self._share = f" {100 * done // max(total, 1)}%"
            yield item
        self._share = ""

    def run(self) -> None:
        """Write the line until all is over, and wipe it then."""
        if self.over.wait(PATIENCE):
            return
        while True:
            wide = max(shutil.get_terminal_size().columns - 1, 1)
            self._write(self.text()[:wide].ljust(wide))
            if self.over.wait(EVERY):
                self._write(" " * wide)
                return

    def text(self) -> str:
        """Return a bar, the stage with its share and its number, and the seconds."""
        at = self.names.index(self._stage) if self._stage in self.names else 0
        full = BAR * at // max(len(self.names), 1)
        stage = f"{self._stage}{self._share} ({at + 1} of {len(self.names)})"
        seconds = time.monotonic() - self._start
        return f"[{'#' * full}{'-' * (BAR - full)}]  {stage}  {seconds:.0f} s"

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal was closed
            sys.stderr.write(f"\r{text}\r")
            sys.stderr.flush()


#: The line that is written to now.
_LINE: ContextVar[_Line | None] = ContextVar("condgof_line", default=None)
