"""Which files a path, a pattern or a folder stands for, and their formats."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from condgof.errors import InputError, InputTypeError

PathLike: TypeAlias = str | os.PathLike[str]

FORMATS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".csv": "CSV",
    ".feather": "Feather",
    ".arrow": "Feather",
    ".ipc": "Feather",
}


def expand(path: Any) -> list[str]:
    """Return the files that a path, a pattern, a folder or a list of these stand for."""
    given = [path] if isinstance(path, str | os.PathLike) else path
    if not isinstance(given, Sequence) or not all(isinstance(p, str | os.PathLike) for p in given):
        raise InputTypeError(f"path must be a path or a list of paths, got {type(path).__name__}.")
    if not given:
        raise InputError("path is an empty list. Pass at least one file.")
    paths: list[str] = []
    for each in given:
        name = os.path.expanduser(os.fspath(each))
        # A name that exists is meant as it is, even with brackets in it.
        matches = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        found = [file for match in matches for file in _files(match)]
        if not found:
            raise InputError(f"No file matches {os.fspath(each)!r}. Check the path or the pattern.")
        paths += [os.path.abspath(file) for file in found]
    if len(set(paths)) < len(paths):
        twice = next(file for file in paths if paths.count(file) > 1)
        raise InputError(f"{twice} is named twice, and its rows would count twice. Name it once.")
    return paths


def _files(path: str) -> list[str]:
    """Return the path of a file, or the data files in a folder and its subfolders, sorted.

    Names that start with a dot or an underscore are by custom not data, but notes of the writer.
    """
    if not os.path.isdir(path):
        return [path]
    found: list[str] = []
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        names = [name for name in files if not name.startswith((".", "_"))]
        found += [os.path.join(folder, name) for name in names if _ending(name) in FORMATS]
    return sorted(found)


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def format_of(path: str) -> str:
    """Return the format that the ending of a file says."""
    kind = FORMATS.get(_ending(path))
    if kind is None:
        raise InputError(
            f"{path} has the ending {_ending(path)!r}, which is none of {', '.join(FORMATS)}. "
            "Convert the file, or rename it to say its format."
        )
    return kind
