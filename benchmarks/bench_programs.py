"""Whole programs: the command line, importing, monitors, and scores of a network."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

import condgof as cg
from measuring import CLAIMS, Measurement, Task, capped, claim, measure
from samples import predictions_file

# Scores from a torch mixture density network

#: Rows of one batch, and of the whole sample.
BATCH = 8192
WHOLE = 10**6
COMPONENTS = 20


def network(family: str) -> object:
    """Return a mixture density network of two columns of y, of a torch family."""
    import torch
    from torch import distributions as td

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 5 * COMPONENTS)
    )
    sizes = [COMPONENTS, 2 * COMPONENTS, 2 * COMPONENTS]

    def mixture(x: object) -> object:
        weights, means, spreads = net(x).split(sizes, dim=1)
        part = getattr(td, family)(
            means.reshape(-1, COMPONENTS, 2),
            0.1 + torch.exp(spreads.reshape(-1, COMPONENTS, 2)),
        )
        return td.MixtureSameFamily(td.Categorical(logits=weights), td.Independent(part, 1))

    return cg.from_torch(mixture)


def prepare_network(
    n: int, family: str, *, through_condgof: bool = False
) -> Callable[[], object]:
    """Scores of n rows: of the law, or by `condgof.scores`."""
    model = network(family)
    x, y = np.random.default_rng(0).normal(size=(2, capped(n), 2))
    model(x[:100]).score(y[:100])  # what torch loads the first time is not the batch's
    if through_condgof:
        return lambda: cg.scores(model, x, y)
    return lambda: model(x).score(y)


#: A mixture of normals has scores in closed form, one of Laplace distributions by autograd.
NETWORK_TASKS = {
    "torch-batch": Task(partial(prepare_network, BATCH, "Normal")),
    "torch-scores": Task(partial(prepare_network, WHOLE, "Normal"), repeats=1),
    "torch-autograd-batch": Task(partial(prepare_network, BATCH, "Laplace")),
    "torch-autograd": Task(partial(prepare_network, WHOLE, "Laplace"), repeats=1),
    "torch-sample": Task(
        partial(prepare_network, WHOLE, "Normal", through_condgof=True), repeats=1
    ),
}


def median_memory(task: str) -> Measurement:
    """Return the run of three with the median memory, which is noisy by a few MB."""
    runs = [measure(task) for _ in range(3)]
    middle = statistics.median(run.megabytes for run in runs)
    return next(run for run in runs if run.megabytes == middle)


def bench_torch_scores() -> None:
    """Memory of scoring 1e6 rows with a network: the arrays, one batch, and little else."""
    arrays = 3 * 16e6 / 2**20  # x, y and scores: two columns of doubles each
    print(
        "\n### Scores of 1e6 rows from a torch mixture density network (20 components, d_y"
        " = 2)\n"
    )
    print(
        f"x, y and the scores take {arrays:.0f} MB. Beyond x and y, which are there"
        " before:\n"
    )
    print(
        "| what | seconds | memory added (MB) | (it and x and y, less one batch) / arrays |"
    )
    print("|---|---|---|---|")
    for whole, batch, label in (
        ("torch-scores", "torch-batch", "mixture of normals, closed form"),
        ("torch-autograd", "torch-autograd-batch", "mixture of Laplace, autograd"),
        ("torch-sample", "torch-batch", "the first, through condgof.scores"),
    ):
        one = median_memory(batch)
        row = median_memory(whole)
        share = (row.megabytes - one.megabytes + arrays * 2 / 3) / arrays
        print(f"| one batch of 8,192 rows | {one.seconds:.3g} | {one.megabytes:.0f} | |")
        print(
            f"| {label} | {row.seconds:.3g} | {row.megabytes:.0f} | {share:.2f} |",
            flush=True,
        )


# The command line


class Seconds(NamedTuple):
    """What a program took."""

    wall: float
    processor: float


def program_seconds(command: list[str]) -> Seconds:
    """Return the least wall-clock and processor seconds of two runs of a program."""
    runs = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        user = after.ru_utime - before.ru_utime
        system = after.ru_stime - before.ru_stime
        runs.append(Seconds(wall, user + system))
    return Seconds(min(run.wall for run in runs), min(run.processor for run in runs))


def bench_check(n: int = 1_000_000) -> None:
    """`condgof check` beside `cg.check` on the same Parquet file."""
    n = capped(n)
    path = predictions_file(n)
    script = (
        f"import condgof as cg; source = cg.scan({str(path)!r}, x=['x1', 'x2'], y='y'); "
        "print(cg.check(cg.columns(mean='mean', std='std'), source, rng=0).result.pvalue)"
    )
    roles = ["--x", "x1,x2", "--y", "y", "--mean", "mean", "--std", "std"]
    program = [sys.executable, "-m", "condgof", "check", str(path), *roles]
    report = ["--report", str(path.with_suffix(".html"))]
    base = program_seconds([sys.executable, "-c", script])
    rows = {
        "Python: cg.check on cg.scan": base,
        "condgof check": program_seconds(program),
        "condgof check --report": program_seconds([*program, *report]),
    }
    print(
        f"\n### condgof check beside cg.check, {n:,} rows of Parquet, mean and std"
        " columns\n"
    )
    print(
        "| what | seconds | times cg.check | processor seconds | times cg.check"
        " |\n|---|---|---|---|---|"
    )
    for label, row in rows.items():
        print(
            f"| {label} | {row.wall:.3g} | {row.wall / base.wall:.2f} |"
            f" {row.processor:.3g} | {row.processor / base.processor:.2f} |"
        )


# Monitors


class Watch(NamedTuple):
    """Rows that a monitor watches."""

    n: int
    batch: int  #: Rows that come at a time.
    columns: int  #: Columns of x.


WATCHES = {
    "monitor-2": Watch(n=1_000_000, batch=1_000, columns=2),
    "monitor-10": Watch(n=1_000_000, batch=1_000, columns=10),
    "monitor-row-by-row": Watch(n=10_000, batch=1, columns=2),
}


def prepare_monitor(watch: Watch) -> Callable[[], object]:
    """A true normal model, watched."""
    n = capped(watch.n)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, watch.columns))
    y = x[:, 0] + rng.normal(size=n)
    model = cg.models.Normal(mean=lambda x: x[:, 0], std=1.0)

    def run() -> None:
        monitor = cg.monitor(model, rng=0)
        for start in range(0, n, watch.batch):
            rows = slice(start, start + watch.batch)
            monitor.update(x[rows], y[rows])
        megabytes = len(json.dumps(monitor.state)) / 1e6
        print(f"state: {megabytes:.2f} MB", file=sys.stderr)

    return run


def bench_monitor() -> None:
    """A monitor, one core; row by row from 1e4 rows, since each costs the same."""
    print("\n### monitor: a true model, one core\n")
    print(CLAIMS)
    for name, watch in WATCHES.items():
        row = measure(name)
        seconds = row.processor * 1e6 / capped(watch.n)
        what = f"1e6 rows in batches of {watch.batch:,}, {watch.columns} columns"
        if watch.batch == 1:
            what = f"1e6 rows one by one, 100 times what {watch.n:,} take"
        measured = f"{seconds:.3g} s, {row.megabytes:.0f} MB added"
        claim(what, measured, seconds, most=60)


# Importing


def import_seconds(statement: str) -> float:
    """Return the least seconds of nine processes that run a statement."""
    code = (
        f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    )
    seconds = []
    for _ in range(9):
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds.append(float(run.stdout))
    return min(seconds)


def bench_import() -> None:
    base = import_seconds("import numpy, scipy.linalg")
    ours = import_seconds("import condgof")
    print("\n### Import time\n")
    print("| what | seconds |\n|---|---|")
    print(f"| import numpy, scipy.linalg | {base:.3f} |")
    print(f"| import condgof | {ours:.3f} ({ours / base:.2f} times) |", flush=True)


TASKS = {
    **NETWORK_TASKS,
    **{
        name: Task(partial(prepare_monitor, watch), repeats=1)
        for name, watch in WATCHES.items()
    },
}
