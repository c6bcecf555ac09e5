"""How benchmarks measure: tasks in processes of their own, versions in turn."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parent / ".venv"

#: The Python of this version.
THIS_VERSION = sys.executable
#: The Pythons of earlier versions, which `make bench` installs beside this one.
VERSION_01 = str(ENVIRONMENTS / "bench01" / "bin" / "python")
VERSION_02 = str(ENVIRONMENTS / "bench02" / "bin" / "python")

#: For trying a part out: no sample has more rows than this.
MAX_ROWS = int(os.environ.get("CONDGOF_BENCH_MAX_ROWS", 10**9))

#: ru_maxrss is in KiB.
KIB_PER_MB = 1024


def capped(n: int) -> int:
    """Return a number of rows, or fewer where a part is only tried out."""
    return min(n, MAX_ROWS)


@dataclass(frozen=True)
class Task:
    """Something to measure."""

    #: Prepares the data, and returns the action whose time counts.
    prepare: Callable[[], Callable[[], object]]
    #: How often the action is run; its best time counts.
    repeats: int = 5
    #: How many of what is compared one action does: times are divided by this.
    count: int = 1


@dataclass(frozen=True)
class Measurement:
    """What a task took, in a process of its own."""

    #: Wall-clock seconds.
    seconds: float
    #: Processor seconds, user and system, of all threads.
    processor: float
    #: Peak memory that the action added to what was there before, MB.
    megabytes: float
    #: Peak memory of the whole process, MB.
    peak: float


class TaskError(Exception):
    """A task failed in its process."""


def run_task(task: Task) -> Measurement:
    """Measure a task in this process."""
    action = task.prepare()
    before = peak_memory()
    seconds = []
    processor = []
    for _ in range(task.repeats):
        start = time.perf_counter()
        processor_start = time.process_time()
        action()
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - processor_start)
    peak = peak_memory()
    return Measurement(
        seconds=min(seconds) / task.count,
        processor=min(processor) / task.count,
        megabytes=peak - before,
        peak=peak,
    )


def peak_memory() -> float:
    """Return the peak memory of this process so far, MB.

    On Linux a process begins with the peak of the process that started it. The one that
    starts tasks must stay small.
    """
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_PER_MB


def print_measurement(measurement: Measurement) -> None:
    """Print what `measure` reads in the process that asked."""
    print(json.dumps(asdict(measurement)))


def measure(task: str, python: str = THIS_VERSION) -> Measurement:
    """Measure a task, by its name, in a process of its own."""
    environment = dict(os.environ)
    if python != THIS_VERSION:
        environment.pop("PYTHONPATH", None)  # it would bring the sources of this version
    command = [python, str(HERE / "run.py"), "--task", task]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        environment_name = Path(python).parent.parent.name
        raise TaskError(f"{lines[-1]} (in {environment_name})")
    sys.stderr.write(done.stderr)
    measurement = Measurement(**json.loads(done.stdout.splitlines()[-1]))
    label = (
        task if python == THIS_VERSION else f"{task} ({Path(python).parent.parent.name})"
    )
    _RECORDED.setdefault(label, []).append(measurement)
    return measurement


#: What `measure` has measured in this process, by task and environment.
_RECORDED: dict[str, list[Measurement]] = {}


def recorded() -> dict[str, list[dict[str, float]]]:
    """Return all measurements of this process, in four digits, for the files of results."""
    return {
        label: [
            {name: float(f"{value:.4g}") for name, value in asdict(run).items()}
            for run in runs
        ]
        for label, runs in _RECORDED.items()
    }


def best(runs: list[Measurement]) -> Measurement:
    """Return the best times of some runs, and the most memory."""
    return Measurement(
        seconds=min(run.seconds for run in runs),
        processor=min(run.processor for run in runs),
        megabytes=max(run.megabytes for run in runs),
        peak=max(run.peak for run in runs),
    )


def alternately(*tasks: str | tuple[str, str], rounds: int = 3) -> list[Measurement]:
    """Measure tasks, or (task, python), in turn; return the best of each."""
    runs: list[list[Measurement]] = [[] for _ in tasks]
    for _ in range(rounds):
        for task, so_far in zip(tasks, runs, strict=True):
            name, python = task if isinstance(task, tuple) else (task, THIS_VERSION)
            so_far.append(measure(name, python))
    return [best(so_far) for so_far in runs]


@dataclass(frozen=True)
class Beside:
    """A task under this version and an earlier one, medians over the rounds."""

    now: Measurement
    earlier: Measurement
    #: Processor time, this version / the earlier one.
    processor_ratio: float
    #: Peak memory of the process, this version / the earlier one.
    memory_ratio: float


def beside(task: str, earlier: str, rounds: int) -> Beside:
    """Measure a task under this version and under the Python of an earlier one, in turn.

    A ratio is the median of the ratios of single rounds, in which both versions met the
    same state of the machine. Which one goes first changes from round to round.
    """
    pythons = [THIS_VERSION, earlier]
    runs: dict[str, list[Measurement]] = {python: [] for python in pythons}
    for number in range(rounds):
        for python in pythons if number % 2 == 0 else reversed(pythons):
            runs[python].append(measure(task, python))
    pairs = list(zip(runs[THIS_VERSION], runs[earlier], strict=True))
    return Beside(
        now=median_measurement(runs[THIS_VERSION]),
        earlier=median_measurement(runs[earlier]),
        processor_ratio=statistics.median(a.processor / b.processor for a, b in pairs),
        memory_ratio=statistics.median(a.peak / b.peak for a, b in pairs),
    )


def median_measurement(runs: list[Measurement]) -> Measurement:
    """Return the median of each number of some runs."""
    return Measurement(
        seconds=statistics.median(run.seconds for run in runs),
        processor=statistics.median(run.processor for run in runs),
        megabytes=statistics.median(run.megabytes for run in runs),
        peak=statistics.median(run.peak for run in runs),
    )


#: The head of a table of claims.
CLAIMS = "| what | measured | ratio | asked | |\n|---|---|---|---|---|"


def claim(
    what: str,
    measured: str,
    value: float,
    least: float | None = None,
    most: float | None = None,
) -> None:
    """Print a line of a table of `CLAIMS`: a figure, what is asked, and whether met."""
    asked = ""
    verdict = ""
    if least is not None:
        asked = f"at least {least:g}"
        verdict = "met" if value >= least else "**not met**"
    elif most is not None:
        asked = f"at most {most:g}"
        verdict = "met" if value <= most else "**not met**"
    print(f"| {what} | {measured} | {value:.3g} | {asked} | {verdict} |", flush=True)


def show(title: str, rows: dict[str, str], baseline: str) -> None:
    """Print a table of tasks, task → what it is called, beside one of them."""
    print(f"\n### {title}\n")
    print(
        "| what | seconds | peak memory added (MB) | times faster | share of its memory |"
    )
    print("|---|---|---|---|---|")
    measured = {task: measure(task) for task in rows}
    base = measured[baseline]
    for task, row in measured.items():
        faster = base.seconds / row.seconds
        share = memory_share(row, base)
        print(
            f"| {rows[task]} | {row.seconds:.3g} | {row.megabytes:.0f} "
            f"| {faster:.1f} | {share:.2f} |",
            flush=True,
        )


def memory_share(one: Measurement, base: Measurement) -> float:
    """Return the memory that one task added / another one; NaN where that is 0."""
    return one.megabytes / base.megabytes if base.megabytes else float("nan")


def seconds_of(*measurements: Measurement) -> str:
    """Write seconds, and processor seconds in brackets, of each measurement."""
    return ", ".join(f"{m.seconds:.3g} s ({m.processor:.3g})" for m in measurements)
