"""`condgof watch`: a model in use, watched while its predictions and what happened are written."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from condgof.check._monitor import Monitor
from condgof.cli import _check
from condgof.cli._app import Option, command
from condgof.cli._load import STDIN, Read, y_of
from condgof.cli._model import load_model, running
from condgof.cli._output import check_place, naming, write_whole
from condgof.cli._roles import Given, class_columns, find_roles
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
SHARED = (
    "x", "y", "categorical", "drop-nulls", "mean", "std", "family", "param", "draws", "quantiles",
    "interval", "coverage", "pit", "prob", "classes", "ordered", "count-mean", "model", "seed",
)  # fmt: skip
#: Bytes read at once, and seconds between two looks at a file that does not grow.
CHUNK, PAUSE = 1 << 20, 0.5
WATCH = "Watch"
OPTIONS = (
    *(option for option in _check.OPTIONS if option.name in SHARED),
    Option("alpha", float, "LEVEL", WATCH, 0.05, "Probability of an alarm if the model is true."),
    Option("run-length", float, "ROWS", WATCH, 100_000, "After how many rows, on average, a change may "
        "be seen where there is none."),
    Option("state", Path | None, "FILE", WATCH, None, "Where all that is known is written, in one "
        "piece, after each block of rows; the same command goes on from there, after the rows of FILE "
        "that it has read."),
    Option("follow", bool, "", WATCH, False, "Wait for more rows at the end of FILE, until Ctrl-C."),
    Option("fail-on-alarm", bool, "", WATCH, False, "Stop at an alarm, with exit code 1."),
)  # fmt: skip
FILE = ("FILE", "CSV file that may grow, or - for CSV on standard input.")


@command("watch", OPTIONS, HELP, EXAMPLES, FILE, "--fail-on-alarm, and there was an alarm")
def watch(given: Given) -> int:
    check_number(given["alpha"], "--alpha", "between 0 and 1", lambda level: 0 < level < 1)
    check_number(given["run_length"], "--run-length", "above 1", lambda rows: rows > 1)
    check_place(
        given["state"], "--state", inputs=[] if given["data"] == STDIN else [given["data"]]
    )
    watcher = Watcher(given)
    watcher.run()
    watcher.end()
    return 1 if given["fail_on_alarm"] and watcher.place["alarm"] else 0


class Watcher:
    """Reads rows, gives them to a monitor, says what is new, and writes what is known."""

    def __init__(self, given: Given) -> None:
        self.given, self.data, self.path = given, given["data"], given["state"]
        self.label = "standard input" if self.data == STDIN else self.data
        known = self.path is not None and self.path.exists()
        self.before = _read_state(self.path) if known else {}
        #: How many bytes and rows of the file were read; what was said last: change, alarm.
        self.place: dict[str, Any] = {"offset": 0, "read": 0, "change": 0, "alarm": False}
        self.header, self.left_out, self.new_alarm = b"", 0, False
        self.monitor: Monitor | None = None

    def run(self) -> None:
        """Read rows to the end, for ever, or to an alarm."""
        follow = self.given["follow"] and self.data != STDIN
        with sys.stdin.buffer if self.data == STDIN else open(self.data, "rb") as file:
            self._begin(file)
            for lines in self._blocks(file, follow):
                with redirect_stdout(sys.stderr):  # whatever users' models print
                    self._add(self.header + lines)
                if self.monitor is None:  # all of them were left out
                    continue
                self._tell()
                if self.path is not None:
                    place = {"header": self.header.decode(errors="replace"), **self.place}
                    document = {"watch": place, "monitor": self.monitor.state}
                    write_whole(self.path, json.dumps(document, separators=(",", ":")))
                if self.given["fail_on_alarm"] and self.place["alarm"]:
                    return

    def _begin(self, file: Any) -> None:
        """Read the header, and leave out the rows that a state has seen."""
        self.header = file.readline()
        if not self.header:
            raise InputError(
                f"{self.label} is empty. A table with the columns of x and y is needed."
            )
        self.header = self.header.removesuffix(b"\n") + b"\n"
        self.place["offset"] = len(self.header)
        if not self.before:
            return
        self.place |= self.before["watch"]
        header, offset = self.place.pop("header"), self.place["offset"]
        if header != self.header.decode(errors="replace"):
            raise InputError(
                f"--state {self.path} is of other columns than those of {self.label}."
            )
        if self.data == STDIN:  # new rows follow those before
            return
        if os.path.getsize(self.data) < offset:
            fewer = (
                f"has seen {offset:,} bytes of {self.label}, which now has fewer: it is"
                " another file"
            )
            raise InputError(
                f"--state {self.path} {fewer}. Name another --state, or remove that one."
            )
        file.seek(offset)

    def _blocks(self, file: Any, follow: bool) -> Iterator[bytes]:
        """Yield whole lines, as they come."""
        rest, block = b"", b" "
        while block or follow:
            block = file.read1(CHUNK) if self.data == STDIN else file.read(CHUNK)
            if not block and follow:
                time.sleep(PAUSE)
                continue
            ends = bool(rest) and not block  # the last line lacks its end
            rest += b"\n" if ends else block
            cut = _last_line(rest)
            lines, rest = rest[:cut], rest[cut:]
            self.place["offset"] += len(lines) - ends
            if lines.strip():
                yield lines

    def _add(self, text: bytes) -> None:
        given, place = self.given, self.place["read"]
        label = f"{self.label}, from row {place:,} on," if place else self.label
        if self.monitor is None:
            table = Table.of_text(self.label, text)
            self.roles = find_roles(given, table.label, table.names)
            self.table = table.reading(self.roles.kinds)
        roles, file = self.roles, replace(self.table.files[0], label=label, path=text)
        read = Read.of(replace(self.table, label=label, files=(file,)), roles, roles.all)
        read.judge(given["drop_nulls"], 0)
        self.left_out += read.dropped
        self.place["read"] += len(read.complete)
        if not read.left:
            return
        data = read.data
        with running(given["model"]):
            x: Any = Frame({name: data[name] for name in (*roles.x, *roles.predicted)})
            x = x if given["model"] is None else x.pandas()
            monitor = self._begun(data, type(x)) if self.monitor is None else self.monitor
            monitor.update(x, y_of(data, roles))
        self.monitor = monitor

    def _begun(self, data: dict[str, Any], frame: object) -> Monitor:
        """Make the monitor, for these first rows, or from a state."""
        given, roles = self.given, self.roles
        if given["model"] is not None:
            model: Any = load_model(given["model"])
        else:
            in_columns = roles.predictions[0].model
            model = in_columns or class_columns(given, data, roles.predicted, roles.y[0])
        beside = [name for name in roles.predicted if name not in roles.x]
        settings = (given["alpha"], float(given["run_length"]), given["seed"])
        made = Monitor(model, *settings, beside=beside, frame=frame)
        return made.restore(self.before["monitor"]) if self.before else made

    def _tell(self) -> None:
        monitor, place = self.monitor, self.place
        assert monitor is not None
        for change in monitor.changes:
            if change["rows"] > place["change"]:
                place["change"] = change["rows"]
                _print(
                    f"After {change['rows']:,} rows: changed since about row"
                    f" {change['since']:,}."
                )
        if monitor.alarm and not place["alarm"]:
            place["alarm"] = self.new_alarm = True
            _print(monitor.words)
            try:
                _print(f"The latest rows since then: {monitor.check().words}")
            except CondgofError as error:
                _print(f"The rows since then cannot be checked yet: {error}")

    def end(self) -> None:
        if self.monitor is None:
            _print(f"No new rows in {self.label}.")
        elif not self.new_alarm:  # which has said all of it
            _print(self.monitor.words)
        if self.left_out:
            _print(
                f"{self.left_out:,} row{'s' * (self.left_out > 1)} with missing values left"
                " out."
            )


def _print(text: str) -> None:
    with naming("standard output"):
        print(terminal(text), flush=True)


def _last_line(text: bytes) -> int:
    """Return where the last whole row ends: at a newline that is not between quotes."""
    cut = text.rfind(b"\n") + 1
    while cut and text.count(b'"', 0, cut) % 2:
        cut = text.rfind(b"\n", 0, cut - 1) + 1
    return cut


def _read_state(path: Path) -> dict[str, Any]:
    with suppress(ValueError, TypeError):
        document = json.loads(path.read_text(encoding="utf-8"))
        if {"watch", "monitor"} <= set(document):
            return dict(document)
    raise InputError(
        f"--state {path} is no state of condgof watch. Name another file, or remove it."
    )
