"""What commands write: files in one piece, a check on the terminal, tables of repaired predictions."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.check import Check, Repair
from condgof.check._looked import BANDS, column_values
from condgof.check._record import SCHEMA
from condgof.check._text import WIDTH, check_text
from condgof.errors import InputError
from condgof.laws._discrete import Probabilities, normalised
from condgof.laws._known import Intervals, Quantiles
from condgof.laws._law import Law
from condgof.report import terminal
from condgof.report._page import advices
from condgof.sample import arrow

#: Lines of what to try.
MOST_TRIED = 3


def check_place(
    path: Path | None,
    flag: str,
    endings: tuple[str, ...] = (),
    inputs: Iterable[str | None] = (),
) -> None:
    """Raise unless the file that an option names can be written, and is none that is read."""
    if path is None:
        return
    folder = path.parent
    if not folder.is_dir():
        raise InputError(
            f"{flag} {path}: there is no folder {folder}. Make it first (mkdir -p)."
        )
    if path.is_dir():
        raise InputError(f"{flag} {path} is a folder. Name a file in it.")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(f"{flag} {path}: you may not write there.")
    if endings and path.suffix.lower() not in endings:
        raise InputError(f"{flag} {path}: name a file that ends in {' or '.join(endings)}.")
    for each in filter(None, inputs):  # also through a link
        if path.exists() and os.path.exists(each) and os.path.samefile(path, each):
            same = f"is the same file as {each}, which is read, and would be written over"
            raise InputError(f"{flag} {path} {same}. Name another file.")


def write_whole(path: Path, text: str | bytes) -> None:
    """Write a file in one piece: what was there before is kept until all of the new is there."""
    data = text.encode() if isinstance(text, str) else text
    with naming(path):
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_bytes(data)
            return
        path = path.resolve()  # of a link, what it points to
        new = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
        try:
            new.write_bytes(data)
            if path.exists():
                shutil.copymode(path, new)
            os.replace(new, path)
        except BaseException:
            with suppress(OSError):
                new.unlink()
            raise


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Have errors such as a full disk say what was being written."""
    try:
        yield
    except BrokenPipeError:
        # With its number, Typer would exit with 1, which says that the model is rejected.
        raise BrokenPipeError from None
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def command_line(given: Mapping[str, Any]) -> str:
    return shlex.join(("condgof", *given["context"].obj))


def print_result(
    given: Mapping[str, Any],
    line: str,
    show: Callable[[], object],
    document: Mapping[str, Any],
) -> None:
    """Print what came out as options ask for it: JSON, one line, or all of it."""
    from condgof import __version__

    with naming("standard output"):
        if given["json"]:
            report = None if given["report"] is None else str(given["report"])
            head = {
                "schema": SCHEMA,
                "condgof": __version__,
                "command": command_line(given),
            }
            whole = {**head, "seed": given["seed"], "report": report, **document}
            print(json.dumps(whole, indent=2, allow_nan=False))
        elif given["quiet"]:
            print(terminal(line))
        else:
            show()
            if given["report"] is not None:
                print(f"\nReport: {terminal(given['report'])}")
        sys.stdout.flush()


def show_check(check: Check, facts: Mapping[str, str] | None = None) -> None:
    known = list((facts or {}).items())
    tried = [("to try", advice) for advice, _ in advices(check)[:MOST_TRIED]]
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    print("\n".join(map(terminal, check_text(check, known, tried, width).split("\n"))))


def write_repaired(path: Path, check: Check, better: Repair) -> None:
    """Write the predictions of each row, as they are and repaired by what other rows taught."""
    before, after = better.held_out_law()
    names = (check.looked.class_names, check.looked.codes)
    y = (
        np.array(names[0])[names[1]]
        if isinstance(before, Probabilities)
        else check.looked.y[:, 0]
    )
    columns: dict[str, Any] = {"row": check.looked.rows}
    for column, values in zip(check.looked.x_columns, check.looked.x.T, strict=True):
        columns[column.name] = column_values(column, values)
    columns[check.y_columns[0]] = y
    for prefix, law in (("", before), ("repaired_", after)):
        columns |= {f"{prefix}{name}": values for name, values in predicted(law).items()}
    table, file = arrow().table(columns), io.BytesIO()
    csv = path.suffix.lower() == ".csv"
    (arrow("csv").write_csv if csv else arrow("parquet").write_table)(table, file)
    write_whole(path, file.getvalue())


def predicted(law: Law) -> dict[str, AnyArray]:
    def listed(begin: str, names: Iterable[Any], values: AnyArray) -> dict[str, AnyArray]:
        named = (
            f"{begin}{name if isinstance(name, str) else format(name, 'g')}"
            for name in names
        )
        return dict(zip(named, np.asarray(values).T, strict=True))

    if isinstance(law, Probabilities):
        return listed("p_", law.class_names, normalised(law.values))
    if isinstance(law, Quantiles):
        return listed("q", law.levels, law.values)
    if isinstance(law, Intervals):
        return listed("low_", law.coverage, law.low) | listed(
            "high_", law.coverage, law.high
        )
    columns = listed("q", BANDS, law.quantile(BANDS))
    if law.can("mean_std"):
        mean, std = law.mean_std()
        columns |= {"mean": mean[:, 0], "std": std[:, 0]}
    return columns
