"""Processor time and memory of `check` for each kind of y, beside a normal law in 0.2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import condgof as cg
import samples
from measuring import CLAIMS, VERSION_02, Task, alternately, capped, claim
from samples import Sample

#: Rows of a sample that is checked before the clock starts, so that everything is loaded.
WARM_UP_ROWS = 300
#: Rounds in which each kind is measured, in turn with the normal law in 0.2.
ROUNDS = 3
#: The most that 600 columns of x may take, in times of 20 columns.
MOST_OF_600_COLUMNS = 15


class Kind(NamedTuple):
    """A sample, and how many times a normal law of 0.2 its check may take."""

    what: str
    draw: Callable[[int], Sample]
    rows: int
    most: float | None


#: What all are compared with: a normal law with 1e5 rows and 5 columns.
NORMAL = Kind(
    "normal law, 5 columns of x", partial(samples.normal_law, columns=5), 10**5, None
)

KINDS = {
    "counts": Kind("counts", samples.counts, 10**5, 3),
    "quantiles": Kind("5 quantiles", samples.quantiles, 10**5, 3),
    "classes-200": Kind("200 classes", partial(samples.many_classes, count=200), 20_000, 6),
    "classes-1000": Kind(
        "1,000 classes", partial(samples.many_classes, count=1000), 25_000, 12
    ),
    "draws-3": Kind("200 draws of 3 columns", samples.draws_of_columns, 5000, 2),
    "y-20": Kind("20 columns of y", partial(samples.several_columns, d_y=20), 3000, 3),
    "x-20": Kind("20 columns of x", partial(samples.normal_law, columns=20), 3000, None),
    "x-600": Kind("600 columns of x", partial(samples.normal_law, columns=600), 3000, None),
}


def prepare(kind: Kind) -> Callable[[], object]:
    """Draw a sample, and return its check."""
    warm_up = kind.draw(WARM_UP_ROWS)
    cg.check(warm_up.model, warm_up.x, warm_up.y, rng=0)
    model, x, y, _ = kind.draw(capped(kind.rows))
    return lambda: cg.check(model, x, y, rng=0)


def task_of(name: str) -> str:
    return f"kinds/{name}"


TASKS = {
    task_of(name): Task(partial(prepare, kind), repeats=1)
    for name, kind in {"normal": NORMAL, **KINDS}.items()
}


def bench_kinds() -> None:
    """Each kind of y in turn with the normal law of 0.2: processor seconds and memory."""
    print(
        "\n### `check` by kind of y: processor seconds beside 0.2's of a normal law with"
        " 1e5 rows and 5 columns\n"
    )
    print(CLAIMS)
    normal = task_of("normal")
    memory = []
    seconds = {}
    for name, kind in {"normal": NORMAL, **KINDS}.items():
        now, earlier = alternately(task_of(name), (normal, VERSION_02), rounds=ROUNDS)
        seconds[name] = now.processor
        memory.append(f"| {kind.what} | {kind.rows:,} | {now.peak:.0f} |")
        claim(
            f"{kind.what}, n = {kind.rows:,}",
            f"{now.processor:.3g}, {earlier.processor:.3g}",
            now.processor / earlier.processor,
            most=kind.most,
        )
    few = seconds["x-20"]
    many = seconds["x-600"]
    claim(
        "600 columns of x / 20 columns",
        f"{many:.3g}, {few:.3g}",
        many / few,
        most=MOST_OF_600_COLUMNS,
    )
    print("\n| kind | n | peak memory of the process, MB |\n|---|---|---|")
    print("\n".join(memory), flush=True)
