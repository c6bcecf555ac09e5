"""Writing files so that nothing is lost when writing fails."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from condgof.errors import InputError


def check_place(path: Path, flag: str) -> None:
    """Raise unless the file that an option names can be written: before the work, not after it."""
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{flag} {path}: there is no folder {folder}. Make it first (mkdir -p).")
    if path.is_dir():
        raise InputError(
            f"{flag} {path} is a folder. Name a file in it, such as {path / 'report.html'}."
        )
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(f"{flag} {path}: you may not write there.")


def check_apart(path: Path, flag: str, inputs: Iterable[str]) -> None:
    """Raise if the file that an option names is one of those that are read, also through a link."""
    for each in inputs:
        if path.exists() and os.path.exists(each) and os.path.samefile(path, each):
            raise InputError(
                f"{flag} {path} is the same file as {each}, which is read, and would be written over. "
                "Name another file."
            )


def write_whole(path: Path, text: str | bytes) -> None:
    """Write a file in one piece: what was there before is kept until all of the new is there.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp()) / "note.txt"
    >>> write_whole(path, "one")
    >>> write_whole(path, "two")
    >>> path.read_text(), [entry.name for entry in path.parent.iterdir()]
    ('two', ['note.txt'])
    """
    data = text.encode() if isinstance(text, str) else text
    with naming(path):
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_bytes(data)
            return
        path = path.resolve()  # of a link, what it points to
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, path.stat().st_mode if path.exists() else 0o666 & ~_umask())
            os.replace(name, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Have errors such as a full disk say what was being written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _umask() -> int:
    """Return the process's mask for new files, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
