"""kill -9 at random moments of a report, a study and a monitor: what is left on disk.

Each command runs in a process of its own, which is killed after a random share of the time
that a whole run takes. Then

- a report is the old or the new page, whole;
- a study goes on, and ends with the table of a study that was never killed;
- a monitor goes on from its state, and ends with the state of one that was never killed.

Run as

    PYTHONPATH=src OMP_NUM_THREADS=1 python benchmarks/kills.py [kills] [kinds…]

where the kinds are report, study and watch.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

from condgof.cli import main
from condgof.cli._watch import State

#: Names of hidden files that kills in the middle of a write have left.
LEFT: list[str] = []
#: Bytes that a monitor reads at once here, so that it writes its state many times.
SMALL_CHUNK = 1024
#: Seconds that the writing of a file takes, and in how many pieces: a slow disk, so that
#: kills come while a file is written.
SLOW_WRITE = 0.2
PIECES = 10
ROLES = ["--x", "x", "--y", "y", "--mean", "m", "--std", "s"]


def write_table(path: Path, n: int, seed: int) -> None:
    """Write predictions and y, of which y is more spread than predicted."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = x + 1.5 * rng.normal(size=n)
    rows = [f"{a:.4f},{b:.4f},{a:.4f},1.0" for a, b in zip(x, y, strict=True)]
    path.write_text("\n".join(["x,y,m,s", *rows, ""]))


def write_slowly(path: Path, data: bytes) -> int:
    """Write a file as a slow disk does, in pieces."""
    with path.open("wb", buffering=0) as file:
        for begin in range(0, len(data), len(data) // PIECES + 1):
            file.write(data[begin : begin + len(data) // PIECES + 1])
            time.sleep(SLOW_WRITE / PIECES)
    return len(data)


def start(words: list[str]) -> int:
    """Run a command in a child, which prints nothing, and return the child's id."""
    child = os.fork()
    if child:
        return child
    with (
        open(os.devnull, "w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        mock.patch.object(Path, "write_bytes", write_slowly),
    ):
        code = main(words)
    os._exit(code)


def run(words: list[str]) -> float:
    """Run a command to its end, and return the seconds that it took."""
    begun = time.monotonic()
    _, status = os.waitpid(start(words), 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"{words}: exit code {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - begun


def run_and_kill(words: list[str], after: float, writing: str = "") -> bool:
    """Run a command, kill it after some seconds, and return whether it was still alive.

    With `writing`, a pattern of hidden files, seconds count from when such a file is there.
    """
    child = start(words)
    while writing and not list(Path().glob(writing)):
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.002)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == -signal.SIGKILL


def remove(pattern: str) -> None:
    """Remove what a kill in the middle of a write has left."""
    for path in Path().glob(pattern):
        LEFT.append(path.name)
        path.unlink()


class Outcome(NamedTuple):
    """What a kill has left."""

    words: str
    is_right: bool


def kill_reports(kills: int, moments: random.Random) -> Counter[Outcome]:
    """Kill `condgof check --report` over an old report."""
    seconds = []
    pages = []
    for name in ("old", "new"):
        write_table(Path("table.csv"), 80, seed=len(name) + ord(name[0]))
        seconds.append(run(["check", "table.csv", *ROLES, "--report", "report.html"]))
        pages.append(Path("report.html").read_bytes())
    outcomes: Counter[Outcome] = Counter()
    for number in range(kills):
        Path("report.html").write_bytes(pages[0])
        words = ["check", "table.csv", *ROLES, "--report", "report.html"]
        if number % 2:
            after = moments.uniform(0.0, 1.5 * SLOW_WRITE)
            killed = run_and_kill(words, after, writing=".report.html.????????")
            remove(".report.html.????????")
        else:
            killed = run_and_kill(words, moments.uniform(0.0, 1.0) * seconds[1])
        page = Path("report.html").read_bytes()
        state = {pages[0]: "old page", pages[1]: "new page"}.get(page, "NEITHER PAGE")
        when = "killed" if killed else "had ended"
        outcomes[Outcome(f"report: {when}, {state}", state != "NEITHER PAGE")] += 1
    return outcomes


def kill_studies(kills: int, moments: random.Random) -> Counter[Outcome]:
    """Kill `condgof study`, and let it go on; each study is killed several times."""
    words = ["study", "--problem", "qgm", "--method", "kcsd", "--n", "20,30"]
    words += ["--trials", "10", "--workers", "1", "--out"]
    seconds = run([*words, "whole"])
    table = Path("whole/table.csv").read_bytes()
    outcomes: Counter[Outcome] = Counter()
    number = 0
    while sum(outcomes.values()) < kills:
        number += 1
        folder = f"study-{number}"
        for _ in range(3):
            killed = run_and_kill([*words, folder], moments.uniform(0.0, 1.0) * seconds)
            run([*words, folder])
            same = Path(folder, "table.csv").read_bytes() == table
            when = "killed" if killed else "had ended"
            end = "the same table" if same else "ANOTHER TABLE"
            outcomes[Outcome(f"study: {when}, went on to {end}", same)] += 1
            for path in Path(folder).iterdir():
                if path.name != "study.json":
                    path.unlink()
    return outcomes


def kill_monitors(kills: int, moments: random.Random) -> Counter[Outcome]:
    """Kill `condgof watch --state`, and let it go on to the end."""
    write_table(Path("log.csv"), 600, seed=5)
    outcomes: Counter[Outcome] = Counter()
    with mock.patch("condgof.cli._watch.CHUNK", SMALL_CHUNK):
        words = ["watch", "log.csv", *ROLES, "--state"]
        seconds = run([*words, "whole.json"])
        whole = State.read(Path("whole.json"))
        for number in range(kills):
            state = Path(f"state-{number}.json")
            if number % 2:
                after = moments.uniform(0.0, 4 * SLOW_WRITE)
                killed = run_and_kill([*words, str(state)], after, f".{state}.????????")
                remove(f".{state}.????????")
            else:
                after = moments.uniform(0.0, 1.0) * seconds
                killed = run_and_kill([*words, str(state)], after)
            middle = "no state yet"
            if state.exists():
                middle = "a state in the middle"
                if State.read(state).progress.read == whole.progress.read:
                    middle = "the state of the end"
            run([*words, str(state)])
            same = State.read(state) == whole
            when = "killed" if killed else "had ended"
            end = "went on to the same end" if same else "ANOTHER END"
            outcomes[Outcome(f"watch: {when}, {middle}, {end}", same)] += 1
    return outcomes


def print_outcomes(
    kill: Callable[[int, random.Random], Counter[Outcome]], kills: int
) -> bool:
    """Run one kind of kills in a folder of its own; return whether all is right."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            outcomes = kill(kills, random.Random(35))
            remove(".*.????????")
        finally:
            os.chdir(here)
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:4} {outcome.words}", flush=True)
    print(f"     hidden files of a write that was killed: {len(LEFT)}", flush=True)
    LEFT.clear()
    return all(outcome.is_right for outcome in outcomes)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    kinds = {"report": kill_reports, "study": kill_studies, "watch": kill_monitors}
    chosen = sys.argv[2:] or list(kinds)
    rights = [print_outcomes(kinds[name], number) for name in chosen]
    sys.exit(0 if all(rights) else 1)
