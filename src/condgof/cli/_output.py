"""What commands write: files in one piece, results on a terminal, repaired predictions."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from condgof.check import (
    BAND_LEVELS,
    SCHEMA,
    WIDTH,
    Check,
    Line,
    Repair,
    Role,
    check_lines,
    column_values,
    line_text,
)
from condgof.cli._options import FormatOptions
from condgof.errors import CondgofError, InputError
from condgof.laws import predicted_columns
from condgof.report import terminal
from condgof.sample import arrow

#: Lines of a terminal whose size is not known.
TERMINAL_LINES = 24
#: Most columns of text, however wide a terminal is: longer lines are hard to read.
MOST_COLUMNS = 120
#: How a terminal shows each role: parameters of the escape sequence "select graphic
#: rendition"; "" for plain text.
STYLES: dict[Role, str] = {
    Role.PLAIN: "",
    Role.HEADING: "1",  # bold
    Role.BAD: "1;31",  # bold red
    Role.WEAK: "33",  # amber
    Role.GOOD: "1;32",  # bold green
    Role.STRONG: "1",
    Role.DIM: "2",
}


@dataclass(frozen=True)
class OutputFile:
    """A file that an option names for writing."""

    flag: str
    #: None where the option is not there.
    path: Path | None
    #: What its name may end in; () for anything.
    endings: tuple[str, ...] = ()

    def check(self, inputs: Iterable[str]) -> None:
        """Raise unless the file can be written, and is none of those that are read."""
        if self.path is None:
            return
        path = self.path
        folder = path.parent
        place = f"{self.flag} {path}"
        if not folder.is_dir():
            raise InputError(
                f"{place}: there is no folder {folder}. Make it first (mkdir -p)."
            )
        if path.is_dir():
            raise InputError(f"{place} is a folder. Name a file in it.")
        protected = path.exists() and not os.access(path, os.W_OK)
        if protected or not os.access(folder, os.W_OK):
            raise InputError(f"{place}: you may not write there.")
        if self.endings and path.suffix.lower() not in self.endings:
            raise InputError(
                f"{place}: name a file that ends in {' or '.join(self.endings)}."
            )
        for read in inputs:
            # The same file may have two names, one of them a link.
            if path.exists() and os.path.exists(read) and os.path.samefile(path, read):
                same = f"the same file as {read}, which is read, and would be written over"
                raise InputError(f"{place} is {same}. Name another file.")


def check_outputs(outputs: Sequence[OutputFile], inputs: Sequence[str]) -> None:
    """Raise unless all files can be written, none over another or over one that is read."""
    flags: dict[Path, str] = {}
    for output in outputs:
        if output.path is None:
            continue
        output.check(inputs)
        if output.path.exists() and not output.path.is_file():  # /dev/stdout, a pipe
            continue
        first = flags.setdefault(output.path.resolve(), output.flag)
        if first != output.flag:
            raise InputError(
                f"{first} and {output.flag} are the same file, {output.path}, and one would"
                " be written over the other. Name two files."
            )


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file in one piece: an old file is kept until all of the new one is there."""
    data = content.encode() if isinstance(content, str) else content
    with naming(path):
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_bytes(data)
            return
        path = path.resolve()  # a link stays, and its target is replaced
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
    except CondgofError:  # some of them are OSErrors, too
        raise
    except BrokenPipeError:
        # With its number, Typer would exit with 1, which means that the model is rejected.
        raise BrokenPipeError from None
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


@dataclass(frozen=True, kw_only=True)
class Printer:
    """Prints what a command found, in the form that its options ask for."""

    command_line: str
    format: FormatOptions
    seed: int
    report: Path | None

    def print(
        self,
        *,
        line: str,
        text: Callable[[], object],
        document: Callable[[], Mapping[str, Any]],
        write: Callable[[], object],
    ) -> None:
        """Print a JSON document, one line, or the text.

        The document and the text are functions, of which one is called: the curves and
        scores of a document take longer than many a check. Files are written after that,
        by `write`: what was found is not lost where a file cannot be written.
        """
        from condgof import __version__

        content: Mapping[str, Any] = {}
        if self.format.json:
            # What users' models print goes to standard error, while a document asks them.
            with redirect_stdout(sys.stderr):
                content = document()
        with naming("standard output"):
            if self.format.json:
                head = {
                    "schema": SCHEMA,
                    "condgof": __version__,
                    "command": self.command_line,
                    "seed": self.seed,
                    "report": None if self.report is None else str(self.report),
                }
                print(json.dumps({**head, **content}, indent=2, allow_nan=False))
            elif self.format.quiet:
                print(terminal(line))
            else:
                text()
            sys.stdout.flush()
        # What users' models print goes to standard error, while a report asks them.
        with redirect_stdout(sys.stderr):
            write()
        is_text = not self.format.json and not self.format.quiet
        if is_text and self.report is not None:
            with naming("standard output"):
                print(f"→ {terminal(self.report)}", flush=True)


def print_lines(text: str) -> None:
    """Print text in which names from users' data cannot steer the terminal."""
    print("\n".join(terminal(line) for line in text.split("\n")))


def uses_colour(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether to colour what is printed: only on a terminal, and not with NO_COLOR."""
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return stream.isatty()


def styled(line: Line, *, colour: bool) -> str:
    """Return a line for a terminal, in which names from users' data cannot steer it."""
    if not colour:
        return terminal(line_text(line))
    texts = []
    for text, role in line:
        style = STYLES[role]
        safe = terminal(text)
        texts.append(f"\x1b[{style}m{safe}\x1b[0m" if style and safe.strip() else safe)
    return "".join(texts).rstrip()


def print_check(
    check: Check,
    *,
    source: str = "",
    facts: Sequence[tuple[str, str]] = (),
    verbose: bool = False,
) -> None:
    """Print a check, as wide as the terminal, in colour where there is one.

    `source` is the name of the table, `facts` what else is to be said of it, and `verbose`
    adds sentences.
    """
    width = shutil.get_terminal_size((WIDTH, TERMINAL_LINES)).columns
    lines = check_lines(
        check,
        width=min(width, MOST_COLUMNS),
        source=source,
        facts=facts,
        verbose=verbose,
    )
    colour = uses_colour(sys.stdout, os.environ)
    for line in lines:
        print(styled(line, colour=colour))


def write_repaired(path: Path, check: Check, repair: Repair) -> None:
    """Write the predictions of each row, and those repaired by what other rows taught."""
    before, after = repair.held_out_law()
    rows = check.checked
    columns: dict[str, Any] = {"row": rows.rows}
    for column, values in zip(rows.x_columns, rows.x.T, strict=True):
        columns[column.name] = column_values(column, values)
    columns[check.y_columns[0]] = rows.observed_values()
    for name, values in predicted_columns(before, BAND_LEVELS).items():
        columns[name] = values
    for name, values in predicted_columns(after, BAND_LEVELS).items():
        columns[f"repaired_{name}"] = values
    table = arrow().table(columns)
    file = io.BytesIO()
    if path.suffix.lower() == ".csv":
        arrow("csv").write_csv(table, file)
    else:
        arrow("parquet").write_table(table, file)
    write_whole(path, file.getvalue())
