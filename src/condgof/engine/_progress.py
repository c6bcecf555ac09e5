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

#: Seconds before stages are shown, and between two looks at the clock.
PATIENCE, EVERY = 2.0, 0.2
BAR = 12


def with_progress(
    items: Iterable[Item], total: int, what: str, note: Callable[[], str] | None = None
) -> Iterator[Item]:
    """Yield the items; on a terminal show how far they are: in the stage, or by tqdm with a `note`."""
    line, shown = (
        _LINE.get(),
        sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None,
    )
    if line is not None or not shown:
        yield from items if line is None else line.counted(items, total)
        return
    from tqdm import tqdm

    with tqdm(items, total=total, desc=what, leave=False) as bar:
        for item in bar:
            yield item
            if note is not None:
                bar.set_postfix_str(note())


@contextmanager
def stages(*names: str, show: bool = True) -> Iterator[Callable[[str], None]]:
    """Give a function that is told which stage begins, which is shown from two seconds on.

    Within other stages the line that is there goes on, with its own names, and silently if
    it does.
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
        self._now, self._share = "", ""

    def begin(self, name: str) -> None:
        self._now, self._share = name, ""

    def counted(self, items: Iterable[Item], total: int) -> Iterator[Item]:
        """Yield the items, and say which share of them was there."""
        for done, item in enumerate(items):
            self._share = f" {100 * done // max(total, 1)}%"
            yield item
        self._share = ""

    def run(self) -> None:
        if self.over.wait(PATIENCE):
            return
        while True:
            wide = max(shutil.get_terminal_size().columns - 1, 1)
            self._write(self.text()[:wide].ljust(wide))
            if self.over.wait(EVERY):
                self._write(" " * wide)
                return

    def text(self) -> str:
        at = self.names.index(self._now) if self._now in self.names else 0
        full = BAR * at // max(len(self.names), 1)
        stage = f"{self._now}{self._share} ({at + 1} of {len(self.names)})"
        seconds = time.monotonic() - self._start
        return f"[{'#' * full}{'-' * (BAR - full)}]  {stage}  {seconds:.0f} s"

    @staticmethod
    def _write(text: str) -> None:
        with suppress(OSError, ValueError):  # nobody looks any more
            sys.stderr.write(f"\r{text}\r")
            sys.stderr.flush()


_LINE: ContextVar[_Line | None] = ContextVar("condgof_line", default=None)
