"""`condgof watch`: a model in use, while its predictions and what happened are written."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from condgof.check import Monitor
from condgof.cli._app import Argument, Group, Option, command
from condgof.cli._columns import ColumnNames
from condgof.cli._load import STDIN, CompleteRows
from condgof.cli._model import models_subject, user_errors
from condgof.cli._options import ColumnOptions, PredictionOptions, SeedOption
from condgof.cli._output import OutputFile, naming, write_whole
from condgof.cli._roles import Candidate, Roles, RowOptions, find_roles
from condgof.errors import CondgofError, InputError, check_number
from condgof.report import terminal
from condgof.sample import Frame, Table

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
    follow: Annotated[
        bool,
        Option(
            metavar="",
            panel=WATCH,
            help="Wait for more rows at the end of FILE, until Ctrl-C.",
        ),
    ] = False
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
    OutputFile("--state", options.state).check(inputs)
    watcher = Watcher(options)
    watcher.run()
    watcher.print_summary()
    return 1 if options.fail_on_alarm and watcher.progress.alarm else 0


@dataclass
class Progress:
    """How far a file was read, and what was printed of it."""

    #: Bytes of the file that were read.
    offset: int = 0
    #: Rows that were read, also those with missing values.
    read: int = 0
    #: The number of rows after which the last change was noticed that was printed.
    change: int = 0
    #: Whether the alarm was printed.
    alarm: bool = False


@dataclass(frozen=True)
class State:
    """The file of `--state`: what to go on from."""

    #: The first line of the table.
    header: str
    progress: Progress
    monitor: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> State:
        """Read a file that `write` wrote."""
        with suppress(ValueError, TypeError):
            document = json.loads(path.read_text(encoding="utf-8"))
            if {"watch", "monitor"} <= set(document):
                watched = dict(document["watch"])
                header = watched.pop("header")
                return cls(header, Progress(**watched), document["monitor"])
        raise InputError(
            f"--state {path} is no state of condgof watch. Name another file, or remove it."
        )

    def write(self, path: Path) -> None:
        """Write the state in one piece."""
        watched = {"header": self.header, **asdict(self.progress)}
        document = {"watch": watched, "monitor": self.monitor}
        write_whole(path, json.dumps(document, separators=(",", ":")))


class Watcher:
    """Reads rows, gives them to a monitor, prints what is new, and writes the state."""

    def __init__(self, options: WatchOptions) -> None:
        self.options = options
        self.from_stdin = options.data == STDIN
        #: What messages call the table.
        self.label = "standard input" if self.from_stdin else options.data
        self.progress = Progress()
        #: What an earlier command wrote.
        self.earlier: State | None = None
        if options.state is not None and options.state.exists():
            self.earlier = State.read(options.state)
        #: The first line of the table.
        self.header = b""
        #: Rows with missing values.
        self.dropped = 0
        #: Whether there was an alarm during this command.
        self.new_alarm = False
        #: The table without its rows, the roles of its columns, and the monitor; all are
        #: known from the first rows on.
        self.table: Table | None = None
        self.roles: Roles | None = None
        self.monitor: Monitor | None = None

    def run(self) -> None:
        """Read rows to the end, for ever, or to an alarm."""
        with sys.stdin.buffer if self.from_stdin else open(self.options.data, "rb") as file:
            self._begin(file)
            for lines in self._blocks(file):
                # What users' models print goes to standard error.
                with redirect_stdout(sys.stderr):
                    self._add(self.header + lines)
                if self.monitor is None:  # all rows so far have missing values
                    continue
                self._print_news(self.monitor)
                if self.options.state is not None:
                    header = self.header.decode(errors="replace")
                    state = State(header, self.progress, self.monitor.state)
                    state.write(self.options.state)
                if self.options.fail_on_alarm and self.progress.alarm:
                    return

    def _begin(self, file: BinaryIO) -> None:
        """Read the header, and go to the rows that an earlier command has not read."""
        first = file.readline()
        if not first:
            raise InputError(
                f"{self.label} is empty. A table with the columns of x and y is needed."
            )
        self.header = first.removesuffix(b"\n") + b"\n"
        self.progress.offset = len(self.header)
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
        offset = self.progress.offset
        if os.path.getsize(self.options.data) < offset:
            raise InputError(
                f"--state {self.options.state} has seen {offset:,} bytes of {self.label},"
                " which now has fewer: it is another file. Name another --state, or remove"
                " that one."
            )
        file.seek(offset)

    def _blocks(self, file: Any) -> Iterator[bytes]:
        """Yield whole lines, as they come."""
        follow = self.options.follow and not self.from_stdin
        rest = b""
        while True:
            block = file.read1(CHUNK) if self.from_stdin else file.read(CHUNK)
            if not block and follow:
                time.sleep(PAUSE)
                continue
            rest += block
            lacks_newline = bool(rest) and not block  # of the last line
            if lacks_newline:
                rest += b"\n"
            cut = _end_of_rows(rest)
            lines = rest[:cut]
            rest = rest[cut:]
            self.progress.offset += len(lines) - lacks_newline
            if lines.strip():
                yield lines
            if not block:
                return

    def _add(self, text: bytes) -> None:
        """Give rows, which are CSV with a header, to the monitor."""
        read = self.progress.read
        label = f"{self.label}, from row {read:,} on," if read else self.label
        rows = self._complete_rows(text, label)
        rows.check(drop_nulls=self.options.columns.drop_nulls, least=0)
        self.dropped += rows.dropped
        self.progress.read += len(rows.complete)
        if not rows.left:
            return
        roles = rows.roles
        (predictions,) = roles.predictions
        address = self.options.predictions.model
        with user_errors(models_subject([] if address is None else [address])):
            names = (*roles.x, *roles.predicted)
            x: Any = Frame({name: rows.data[name] for name in names})
            if predictions.takes_frame:
                x = x.pandas()
            monitor = self.monitor or self._new_monitor(rows, frame=type(x))
            monitor.update(x, rows.y())
        self.monitor = monitor

    def _complete_rows(self, text: bytes, label: str) -> CompleteRows:
        """Read rows; the first ones say what each column is for, and what it holds."""
        if self.monitor is None or self.table is None or self.roles is None:
            table = Table.from_text(self.label, text)
            self.roles = find_roles(
                ColumnNames(table.label, table.names),
                self.options.columns,
                [Candidate(options=self.options.predictions)],
                classes=self.options.predictions.class_names,
                rows=RowOptions(),
                seed=self.options.seed,
            )
            self.table = table.reading(self.roles.kinds)
        file = replace(self.table.files[0], label=label, path=text)
        table = replace(self.table, label=label, files=(file,))
        return CompleteRows.from_table(table, self.roles, self.roles.all)

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
            _print(f"No new rows in {self.label}.")
        elif not self.new_alarm:
            _print(self.monitor.words)
        if self.dropped:
            _print(
                f"{self.dropped:,} row{'s' * (self.dropped > 1)} with missing values left"
                " out."
            )


def _print(text: str) -> None:
    with naming("standard output"):
        print(terminal(text), flush=True)


def _end_of_rows(text: bytes) -> int:
    """Return where the last whole row ends: after a newline that is not between quotes."""
    cut = text.rfind(b"\n") + 1
    while cut and text.count(b'"', 0, cut) % 2:
        cut = text.rfind(b"\n", 0, cut - 1) + 1
    return cut
