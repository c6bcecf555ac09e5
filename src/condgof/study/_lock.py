"""An exclusive lock on a folder, which the system takes away when its holder dies."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from condgof.errors import CondgofError

NAME = ".lock"


class InUseError(CondgofError, OSError):
    """Another process holds the lock."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock on a folder.

    The lock is the system's, on an open file: it ends with the process, however that ends, so that no
    stale lock is ever left behind. The file itself stays; it only says who holds or held it.
    """
    # Never opened for truncation: whoever cannot have the lock must not wipe its holder's name.
    descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            holder = _holder(folder)
            raise InUseError(
                f"{folder} is in use by another process{holder}. "
                "Wait for it to end, or use another folder."
            ) from error
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    if os.name == "nt":
        windows = importlib.import_module("msvcrt")
        # A byte far behind the text, which others may then still read.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        windows.locking(descriptor, windows.LK_NBLCK, 1)
    else:
        fcntl = importlib.import_module("fcntl")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _holder(folder: Path) -> str:
    try:
        text = (folder / NAME).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return f" (number {text})" if text.isdigit() else ""
