"""`condgof watch`: a model in use, while its predictions and what happened are written."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, redirect_stdout, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

from condgof.check import Monitor
from condgof.cli import print_message
from condgof.cli._app import Argument, Group, Option, command
from condgof.cli._columns import ColumnNames
from condgof.cli._load import STDIN, CompleteRows, standard_input
from condgof.cli._model import models_subject, user_errors
from condgof.cli._options import ColumnOptions, PredictionOptions, SeedOption
from condgof.cli._output import OutputFile, check_outputs, naming, write_whole
from condgof.cli._roles import Candidate, Roles, RowOptions, find_roles
from condgof.errors import CondgofError, InputError, InputTypeError, check_number
from condgof.report import terminal
from condgof.sample import NUMBERS, Frame, Kind, Table, arrow, find_delimiter
from condgof.study import locked

HELP = (
    "Watch a model in use: rows are read as they come, and the evidence against the model"
    " is valid at any time.\n\nA line is printed when the evidence reaches 1/alpha (the"
    " alarm: if the model is true it comes with probability alpha at most, over all time),"
    " with what is wrong since when, and when the model has changed. Predictions are given"
    " as in `condgof check`."
)
EXAMPLES = (
    "Examples:\n\ncondgof watch log.csv --x hour,site --y load --mean mu --std sd --state"
    " watch.json --follow\n\ncondgof watch - --x hour --y load --quantiles"
    " q10=0.1,q50=0.5,q90=0.9 --fail-on-alarm"
)
#: Panel of the help.
WATCH = "Watch"
#: Bytes read at once.
CHUNK = 1 << 20
#: Seconds between two looks at a file that has not grown.
PAUSE = 0.5
#: The version of the files of --state.
STATE_VERSION = 2
#: Bytes before those that are new, by which a file is told from another.
TAIL_BYTES = 4096
#: Bytes of a line: a file with longer ones is no table.
LONGEST_LINE = 1 << 24
#: Rows that are skipped and reported each; further ones are only counted.
MOST_LISTED = 20


class OnBadRow(StrEnum):
    """What becomes of a row that cannot be used."""

    SKIP = "skip"
    STOP = "stop"


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    """The options of `condgof watch`."""

    data: Annotated[
        str,
        Argument(
            metavar="FILE",
            help="CSV file that may grow, or - for CSV on standard input.",
        ),
    ]
    columns: Annotated[ColumnOptions, Group()]
    #: Stein scores alone cannot be watched.
    predictions: Annotated[
        PredictionOptions,
        Group(
            without=("score",),
        ),
    ]
    seed: SeedOption = 0
    alpha: Annotated[
        float,
        Option(
            metavar="LEVEL",
            panel=WATCH,
            help="Probability of an alarm if the model is true.",
        ),
    ] = 0.05
    run_length: Annotated[
        float,
        Option(
            metavar="ROWS",
            panel=WATCH,
            help=(
                "After how many rows, on average, a change may be seen where there is none."
            ),
        ),
    ] = 100_000
    state: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            panel=WATCH,
            help=(
                "Where all that is known is written, in one piece, after each block of"
                " rows; the same command goes on from there, after the rows of FILE that it"
                " has read."
            ),
        ),
    ] = None
    report: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            panel=WATCH,
            help=(
                "Write the evidence in time, the alarm and the changes as one HTML file,"
                " anew after each block of rows; it holds no rows."
            ),
        ),
    ] = None
    follow: Annotated[
        bool,
        Option(
            metavar="",
            panel=WATCH,
            help="Wait for more rows at the end of FILE, until Ctrl-C.",
        ),
    ] = False
    on_bad_row: Annotated[
        OnBadRow,
        Option(
            metavar="ACTION",
            panel=WATCH,
            help=(
                "skip or stop: a row that cannot be used (a quote that is not closed, a"
                " word in place of a number, a prediction that is none) is skipped and"
                " reported,"
                " or everything stops before it, with exit code 2."
            ),
        ),
    ] = OnBadRow.STOP
    fail_on_alarm: Annotated[
        bool,
        Option(
            metavar="",
            panel=WATCH,
            help="Stop at an alarm, with exit code 1.",
        ),
    ] = False


@command(
    WatchOptions,
    help=HELP,
    examples=EXAMPLES,
    fails="--fail-on-alarm, and there was an alarm",
)
def watch(options: WatchOptions, command_line: str) -> int:
    """Run `condgof watch`, and return its exit code."""
    check_number(options.alpha, "--alpha", "between 0 and 1", lambda level: 0 < level < 1)
    check_number(options.run_length, "--run-length", "above 1", lambda rows: rows > 1)
    inputs = [] if options.data == STDIN else [options.data]
    outputs = (OutputFile("--state", options.state), OutputFile("--report", options.report))
    check_outputs(outputs, inputs)
    with _locked(options.state):
        watcher = Watcher(options, command_line)
        watcher.run()
    watcher.print_summary()
    return 1 if options.fail_on_alarm and watcher.progress.alarm else 0


def _locked(state: Path | None) -> AbstractContextManager[None]:
    """Keep other commands from a state, which each would write without the other's rows."""
    if state is None or (state.exists() and not state.is_file()):
        return nullcontext()
    state = state.resolve()
    lock = state.with_name(f".{state.name}.lock")
    return locked(lock, f"--state {state}", another="another --state")


@dataclass
class Progress:
    """How far a file was read, and what was printed of it."""

    #: Bytes of the file that were read.
    offset: int = 0
    #: Rows that were read, also those with missing values and those that were skipped.
    read: int = 0
    #: The number of rows after which the last change was noticed that was printed.
    change: int = 0
    #: Whether the alarm was printed.
    alarm: bool = False
    #: Rows that could not be used, and were skipped.
    skipped: int = 0
    #: A hash of the last bytes before `offset`, by which another file is noticed.
    tail: str = ""


@dataclass(frozen=True)
class State:
    """The file of `--state`: what to go on from."""

    #: The first line of the table.
    header: str
    progress: Progress
    monitor: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> State:
        """Read a file that `write` wrote, and refuse one that has been changed since."""
        wrong = f"--state {path} is no state of condgof watch. Name another file, or"
        try:
            document = json.loads(path.read_bytes())
            version = document["watch_version"]
            content = document["content"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{wrong} remove it.") from error
        if version != STATE_VERSION:
            raise InputError(
                f"--state {path} was written by another version of condgof. Remove it, and"
                " begin anew."
            )
        if document.get("checksum") != _checksum(content):
            raise InputError(
                f"--state {path} is damaged: its content does not match its checksum."
                " Restore a copy of it, or remove it and begin anew."
            )
        return cls(content["header"], Progress(**content["progress"]), content["monitor"])

    def write(self, path: Path) -> None:
        """Write the state in one piece."""
        content = {
            "header": self.header,
            "progress": asdict(self.progress),
            "monitor": self.monitor,
        }
        document = {
            "watch_version": STATE_VERSION,
            "checksum": _checksum(content),
            "content": content,
        }
        write_whole(path, json.dumps(document, separators=(",", ":")))


def _checksum(content: object) -> str:
    """Return a hash of what a state holds, however it was laid out in its file."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class BadRow(NamedTuple):
    """A row that cannot be used."""

    number: int  #: Among all rows of the table, counted from 0.
    reason: str


class NumberedLine(NamedTuple):
    """A line of the table, with its newline, and the number of its row."""

    number: int
    #: Its position among the lines of its block.
    position: int
    text: bytes


class Watcher:
    """Reads rows, gives them to a monitor, prints what is new, and writes the state."""

    def __init__(self, options: WatchOptions, command_line: str) -> None:
        self.options = options
        self.command_line = command_line
        self.from_stdin = options.data == STDIN
        #: What messages call the table.
        self.label = "standard input" if self.from_stdin else options.data
        self.progress = Progress()
        #: What an earlier command wrote.
        self.earlier: State | None = None
        if options.state is not None and options.state.exists():
            self.earlier = State.read(options.state)
        #: The first line of the table, and the names in it.
        self.header = b""
        self.names: tuple[str, ...] = ()
        self.delimiter = ","
        #: The last bytes that were read.
        self.latest = b""
        #: Rows with missing values.
        self.dropped = 0
        #: Whether there was an alarm during this command.
        self.new_alarm = False
        #: Rows that were skipped by this command, and the first of them.
        self.skipped = 0
        self.first_skipped: BadRow | None = None
        #: The table without its rows, the roles of its columns, and the monitor; all are
        #: known from the first rows on.
        self.table: Table | None = None
        self.roles: Roles | None = None
        self.monitor: Monitor | None = None
        #: Whether an error is about rows, and not about options or the state.
        self.reading_rows = False

    def run(self) -> None:
        """Read rows to the end, for ever, or to an alarm."""
        with self._opened() as file:
            self._begin(file)
            for block in self._blocks(file):
                self._add_block(block)
                if self.options.fail_on_alarm and self.progress.alarm:
                    return

    def _opened(self) -> Any:
        if self.from_stdin:
            return nullcontext(standard_input())
        return open(self.options.data, "rb")

    def _add_block(self, block: bytes) -> None:
        """Add the rows of whole lines, print what is new, and write the state."""
        lines = io.BytesIO(block).readlines()
        full = [position for position, line in enumerate(lines) if line.strip()]
        numbered = [
            NumberedLine(self.progress.read + i, position, lines[position])
            for i, position in enumerate(full)
        ]
        bad: BadRow | None = None
        # What users' models print goes to standard error.
        with redirect_stdout(sys.stderr):
            good = []
            for line in numbered:
                reason = self._malformed(line.text)
                if not reason:
                    good.append(line)
                    continue
                bad = BadRow(line.number, reason)
                if self.options.on_bad_row is OnBadRow.STOP:
                    break
                self._skip(bad)
            else:
                bad = None
            worse = self._add_lines(good)
        bad = worse or bad
        if bad is None:
            self._advance(block, len(full))
        else:
            before = bad.number - self.progress.read
            self._advance(b"".join(lines[: full[before]]), before)
        if self.monitor is not None and self.monitor.rows:
            self._print_news(self.monitor)
            if self.options.state is not None:
                header = self.header.decode(errors="replace")
                State(header, self.progress, self.monitor.state).write(self.options.state)
            if self.options.report is not None:
                page = self.monitor.to_html(title=self.label, command=self.command_line)
                write_whole(self.options.report, page)
        if bad is not None:
            raise InputError(
                f"{self.label}, row {bad.number:,} (counted from 0): {bad.reason} Correct"
                " it; or pass --on-bad-row skip, which leaves such rows out."
            )

    def _advance(self, text: bytes, rows: int) -> None:
        """Note that some bytes, of some rows, were read."""
        self.progress.read += rows
        self.progress.offset += len(text)
        self.latest = (self.latest + text[-TAIL_BYTES:])[-TAIL_BYTES:]
        self.progress.tail = hashlib.sha256(self.latest).hexdigest()
        self.progress.skipped += self.skipped
        self.skipped = 0

    def _malformed(self, line: bytes) -> str:
        """Say what is wrong with a line on its own; "" if it has all columns.

        Each line stands alone: a quote that is not closed spoils its own row, and no other.
        """
        if b'"' not in line and b"\x00" not in line:
            count = line.count(self.delimiter.encode()) + 1
        else:
            try:
                text = line.decode().rstrip("\r\n")
                (fields,) = csv.reader([text], delimiter=self.delimiter, strict=True)
                count = len(fields)
            except (csv.Error, UnicodeDecodeError, ValueError) as error:
                return f"it cannot be read as CSV ({error})."
        if count != len(self.names):
            return f"it has {count} columns, and the first line {len(self.names)}."
        return ""

    def _add_lines(self, lines: list[NumberedLine]) -> BadRow | None:
        """Give lines to the monitor; return the first row that it refuses, or skip those.

        A block that is refused is halved until the row is found.
        """
        if not lines:
            return None
        try:
            self._add(self.header + b"".join(line.text for line in lines), lines[0].number)
        except (InputError, InputTypeError) as error:
            if not self.reading_rows:  # the options are wrong, not a row
                raise
            if len(lines) == 1:
                bad = BadRow(lines[0].number, str(error))
                if self.options.on_bad_row is OnBadRow.STOP:
                    return bad
                self._skip(bad)
                return None
            half = len(lines) // 2
            return self._add_lines(lines[:half]) or self._add_lines(lines[half:])
        return None

    def _skip(self, bad: BadRow) -> None:
        self.skipped += 1
        if self.first_skipped is None:
            self.first_skipped = bad
        if self.progress.skipped + self.skipped <= MOST_LISTED:
            print_message(
                f"{self.label}, row {bad.number:,} (counted from 0), is skipped:"
                f" {bad.reason}"
            )

    def _begin(self, file: BinaryIO) -> None:
        """Read the header, and go to the rows that an earlier command has not read."""
        first = file.readline()
        if not first:
            raise InputError(
                f"{self.label} is empty. A table with the columns of x and y is needed."
            )
        self.header = first.removesuffix(b"\n") + b"\n"
        dialect = self.options.columns.csv
        text = self.header.decode("utf-8-sig", errors="replace").rstrip("\r\n")
        self.delimiter = dialect.delimiter or find_delimiter(text)
        (names,) = csv.reader([text], delimiter=self.delimiter)
        self.names = tuple(names)
        self.progress.offset = len(self.header)
        self.latest = self.header[-TAIL_BYTES:]
        if self.earlier is None:
            return
        self.progress = self.earlier.progress
        if self.earlier.header != self.header.decode(errors="replace"):
            raise InputError(
                f"--state {self.options.state} is of other columns than those of"
                f" {self.label}."
            )
        if self.from_stdin:  # new rows follow those before
            return
        self._go_to_new_rows(file)

    def _go_to_new_rows(self, file: BinaryIO) -> None:
        """Go to the rows after those of the state, and refuse a file without the latter."""
        offset = self.progress.offset
        advice = "it is another file. Name another --state, or remove that one."
        if os.path.getsize(self.options.data) < offset:
            raise InputError(
                f"--state {self.options.state} has seen {offset:,} bytes of {self.label},"
                f" which now has fewer: {advice}"
            )
        file.seek(max(offset - TAIL_BYTES, 0))
        self.latest = file.read(min(offset, TAIL_BYTES))
        if hashlib.sha256(self.latest).hexdigest() != self.progress.tail:
            raise InputError(
                f"--state {self.options.state} has seen other rows of {self.label} than"
                f" those that are there now: {advice}"
            )

    def _blocks(self, file: Any) -> Iterator[bytes]:
        """Yield whole lines, as they come; blank lines are left out."""
        follow = self.options.follow and not self.from_stdin
        rest = b""
        while True:
            block = file.read1(CHUNK) if self.from_stdin else file.read(CHUNK)
            if not block and follow:
                self._refuse_replaced(file)
                time.sleep(PAUSE)
                continue
            cut = block.rfind(b"\n") + 1
            if not block:
                # The last line lacks a newline; one that is not whole is left for later.
                if rest.strip() and not self._malformed(rest):
                    yield rest
                elif rest.strip():
                    print_message(
                        f"the last line of {self.label} is not complete, and is left for"
                        " the next time."
                    )
                return
            if cut:
                lines = rest + block[:cut]
                rest = block[cut:]
                if lines.strip():
                    yield lines
                else:
                    self.progress.offset += len(lines)
            else:
                rest += block
            if len(rest) > LONGEST_LINE:
                raise InputError(
                    f"{self.label}, row {self.progress.read:,} (counted from 0), has more"
                    f" than {LONGEST_LINE:,} bytes: this is no table of lines."
                )

    def _refuse_replaced(self, file: BinaryIO) -> None:
        """Raise if another file has come in the place of the one that is followed."""
        with suppress(FileNotFoundError):  # it may come again
            now = os.stat(self.options.data)
            is_same = os.path.samestat(now, os.fstat(file.fileno()))
            if not is_same or now.st_size < self.progress.offset:
                raise InputError(
                    f"{self.label} was replaced or cut while it was followed. Begin anew,"
                    " with another --state."
                )

    def _add(self, text: bytes, first: int) -> None:
        """Give rows, which are CSV with a header, to the monitor.

        `first` is the number of the first of them.
        """
        label = f"{self.label}, from row {first:,} on," if first else self.label
        self.reading_rows = False
        if self.roles is None:
            self._find_roles(text)
        self.reading_rows = True
        rows = self._complete_rows(text, label)
        rows.check(drop_nulls=self.options.columns.drop_nulls, least=0)
        if rows.left:
            roles = rows.roles
            (predictions,) = roles.predictions
            address = self.options.predictions.model
            with user_errors(models_subject([] if address is None else [address])):
                names = (*roles.x, *roles.predicted)
                x: Any = Frame(
                    {name: rows.data[name] for name in names},
                    categorical=frozenset(roles.categorical),
                )
                if predictions.takes_frame:
                    x = x.pandas()
                if self.monitor is None:
                    self.reading_rows = False
                    self.monitor = self._new_monitor(rows, frame=type(x))
                    self.reading_rows = True
                self.monitor.update(x, rows.y())
        self.dropped += rows.dropped

    def _complete_rows(self, text: bytes, label: str) -> CompleteRows:
        """Read rows, of which the first ones have said what each column holds."""
        assert self.table is not None
        assert self.roles is not None
        file = replace(self.table.files[0], label=label, path=text)
        table = replace(self.table, label=label, files=(file,))
        return CompleteRows.from_table(table, self.roles, self.roles.all)

    def _find_roles(self, text: bytes) -> None:
        """Find which columns are what, and what they hold, from the first rows."""
        table = Table.from_text(self.label, text, self.options.columns.csv)
        roles = find_roles(
            ColumnNames(table.label, table.names),
            self.options.columns,
            [Candidate(options=self.options.predictions)],
            classes=self.options.predictions.class_names,
            rows=RowOptions(),
            seed=self.options.seed,
        )
        # A column that must hold numbers is read as such: a row in which it does not is a
        # bad row, also among the first ones.
        numeric = {name for name, kinds in roles.kinds.items() if kinds == NUMBERS}
        (file,) = table.files
        types = dict(file.types)
        types |= dict.fromkeys(numeric & set(types), arrow().float64())
        table = replace(table, files=(replace(file, types=types),)).reading(roles.kinds)
        for name in roles.x:
            if table.kinds[name] is Kind.TEXT and name not in roles.categorical:
                table.refuse_number_text(name, table.levels(name))
        self.table = table
        self.roles = roles

    def _new_monitor(self, rows: CompleteRows, frame: object) -> Monitor:
        """Make the monitor from the first rows, or go on with an earlier one."""
        roles = rows.roles
        (predictions,) = roles.predictions
        monitor = Monitor(
            predictions.model(rows.data, roles.y[0]),
            alpha=self.options.alpha,
            run_length=float(self.options.run_length),
            seed=self.options.seed,
            beside=[name for name in roles.predicted if name not in roles.x],
            frame=frame,
        )
        return monitor if self.earlier is None else monitor.restore(self.earlier.monitor)

    def _print_news(self, monitor: Monitor) -> None:
        """Print changes and an alarm that were not printed before."""
        for change in monitor.changes:
            if change["rows"] > self.progress.change:
                self.progress.change = change["rows"]
                _print(
                    f"After {change['rows']:,} rows: changed since about row"
                    f" {change['since']:,}."
                )
        if monitor.alarm and not self.progress.alarm:
            self.progress.alarm = True
            self.new_alarm = True
            _print(monitor.words)
            try:
                _print(f"The latest rows since then: {monitor.check().words}")
            except CondgofError as error:
                _print(f"The rows since then cannot be checked yet: {error}")

    def print_summary(self) -> None:
        """Print what is known at the end, unless an alarm was printed."""
        if self.monitor is None:
            report = "" if self.options.report is None else " No report is written."
            _print(f"No new rows in {self.label}.{report}")
        elif not self.new_alarm and self.monitor.rows:
            _print(self.monitor.words)
        if self.first_skipped is not None:
            _print(
                f"{self.progress.skipped:,} bad rows skipped; the first now was row"
                f" {self.first_skipped.number:,}: {self.first_skipped.reason}"
            )
        if self.dropped:
            _print(
                f"{self.dropped:,} row{'s' * (self.dropped > 1)} with missing values left"
                " out."
            )


def _print(text: str) -> None:
    with naming("standard output"):
        print(terminal(text), flush=True)
