"""A study on disk: an append-only file of trials, and the options that they depend on."""

from __future__ import annotations

import errno
import importlib
import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from condgof.errors import CondgofError, InputError
from condgof.study._study import Outcome, Trial

TRIALS, OPTIONS, LOCK = "trials.jsonl", "study.json", ".lock"
FORMAT = 2


class StudyError(CondgofError, ValueError):
    """A folder holds a study that this one cannot go on with."""


class InUseError(CondgofError, OSError):
    """Another process holds the lock."""


@contextmanager
def open_store(
    folder: Path | None, options: dict[str, Any], say: Callable[[str], None]
) -> Iterator[tuple[dict[Trial, Outcome], BinaryIO | None]]:
    """Open the study in a folder, made when it is not there and locked; None keeps all in memory.

    Yields the outcomes that are there, and the file for further ones. `options` are what results depend
    on, by name: those that are remembered must agree, and new ones are added.
    """
    if folder is None:
        yield {}, None
        return
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        _remember(folder, options)
        path = folder / TRIALS
        outcomes = _recover(path, say)
        with path.open("ab") as file:
            yield outcomes, file
            os.fsync(file.fileno())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the system's lock on a file in the folder: it ends with the process, however that ends."""
    # Never opened for truncation: whoever cannot have the lock must not wipe its holder's name.
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                raise InputError(
                    f"{folder} cannot be locked ({error.strerror}), and two processes must not write "
                    "there at once. Use a folder on a disk of this machine."
                ) from error
            held = ""
            with suppress(OSError):  # some systems let nobody else read a file that is locked
                held = (folder / LOCK).read_text(encoding="utf-8", errors="replace").strip()
            holder = f" (number {held})" if held.isdigit() else ""
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


def to_line(outcome: Outcome) -> bytes:
    row: dict[str, Any] = outcome.at._asdict()
    if outcome.error is None:
        row |= {"pvalue": outcome.pvalue, "statistic": outcome.statistic}
    row |= {n: told for n in ("error", "note") if (told := getattr(outcome, n)) is not None}
    row["seconds"] = round(outcome.seconds, 6)
    # Unicode stays readable; a line separator inside a string is escaped, so a line is a line.
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def from_line(line: bytes) -> Outcome:
    """Read a line; anything that is not the whole of an outcome is an error."""
    row = json.loads(line.decode("utf-8"))
    at = Trial(*(row[name] for name in Trial._fields))
    if [type(part) for part in at] != [str, int, str, int]:
        raise ValueError("no coordinates")
    seconds = _number(row["seconds"])
    if "error" in row:
        return Outcome(at, None, None, seconds, str(row["error"]))
    pvalue, statistic, note = _number(row["pvalue"]), row.get("statistic"), row.get("note")
    if not 0.0 <= pvalue <= 1.0:
        raise ValueError("not a p-value")
    statistic = None if statistic is None else _number(statistic)
    return Outcome(at, pvalue, statistic, seconds, note=None if note is None else str(note))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError("not a number")
    return float(value)


def _recover(path: Path, say: Callable[[str], None]) -> dict[Trial, Outcome]:
    """Read the trials; cut off a last line that a kill has torn, leave out lines that make no sense."""
    data = path.read_bytes() if path.exists() else b""
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)
        say(
            f"{path}: the last line was torn ({len(data) - whole} bytes, by a kill or a crash) and is "
            "cut off; its trial is done again."
        )
    outcomes: dict[Trial, Outcome] = {}
    for number, line in enumerate(data[:whole].split(b"\n")[:-1], 1):
        try:
            outcome = from_line(line)
        except (ValueError, KeyError, TypeError, RecursionError):
            say(f"{path}: line {number} cannot be read; its trial is done again if it is needed.")
        else:
            outcomes[outcome.at] = outcome  # the last one counts: failed trials may be tried again
    return outcomes


def _remember(folder: Path, options: dict[str, Any]) -> None:
    """Refuse options that would change the results of the folder; write the union of both."""
    path = folder / OPTIONS
    if path.exists():
        known = _read(path)
        both = ((name, known.get(name, now), now) for name, now in options.items())
        changed = [
            f"its {name} was {before}, and is {now} now" for name, before, now in both if before != now
        ]
        if changed:
            raise StudyError(
                f"{folder} holds a study whose results would change: {'; '.join(changed)}. Go on with "
                "its own options, or use another folder."
            )
        if options.keys() <= known.keys():
            return
        options = {**known, **options}
    elif (folder / TRIALS).exists():
        raise StudyError(
            f"{folder} has {TRIALS} but not the {OPTIONS} that says what they are. Use another folder."
        )
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, **options}, file, indent=2, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)  # the old file or the new one, never half of one


def _read(path: Path) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        known = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(known, dict) and known.get("format") == FORMAT:
            return known
    raise StudyError(
        f"{path} is not the {OPTIONS} of a study that this version can read. Use another folder."
    )
