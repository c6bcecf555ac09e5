"""What tests cost beside each other: adaptive, dependence, compare, classes, composite."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

import condgof as cg
from measuring import Task, capped, measure, show
from samples import Sample, many_classes, normal_pair, paper_sample, scored_pair
from textbook import dense_compare

#: From this many rows on, a sample is the true normal model of two columns; below, it is
#: one of the paper's problems.
LARGE = 10_000


def sample_of(n: int) -> Sample:
    return paper_sample("hgm-far", n) if n < LARGE else normal_pair(n)


# adaptive beside kcsd

ADAPTIVE_ROWS = (300, 1500, 5000, 100_000, 1_000_000)


def prepare_test(test: str, n: int) -> Callable[[], object]:
    """One test with its defaults; above 10,000 rows the low-rank solver runs by itself."""
    model, x, y, _ = sample_of(n)
    run = getattr(cg, test)
    return lambda: run(model, x, y, rng=0)


def adaptive_tasks() -> dict[str, Task]:
    repeats = {"adaptive-1000000": 2, "kcsd-1000000": 3}
    tasks = {}
    for n in ADAPTIVE_ROWS:
        for test in ("kcsd", "adaptive"):
            name = f"{test}-{n}"
            tasks[name] = Task(partial(prepare_test, test, n), repeats.get(name, 5))
    return tasks


def bench_adaptive() -> None:
    """`adaptive` (12 scales, 80 locations) beside one `kcsd` at the same n and solver."""
    print("\n### adaptive beside kcsd, defaults, 1,000 draws\n")
    print("| n | kcsd, seconds | adaptive, seconds | times kcsd |\n|---|---|---|---|")
    for n in ADAPTIVE_ROWS:
        one = measure(f"kcsd-{n}").seconds
        many = measure(f"adaptive-{n}").seconds
        print(f"| {n:,} | {one:.3g} | {many:.3g} | {many / one:.1f} |", flush=True)


# Signs of rows, of blocks and of groups


class Dependent(NamedTuple):
    """A test whose cost with dependent rows is measured."""

    test: str
    n: int


DEPENDENT = (
    Dependent("kcsd", 5000),
    Dependent("adaptive", 1500),
    Dependent("kcsd", 50_000),
    Dependent("adaptive", 100_000),
)
BLOCK_LENGTH = 10
GROUP_ROWS = 20


def prepare_rows(case: Dependent) -> Callable[[], object]:
    """Signs of rows: the test of independent rows."""
    model, x, y, _ = sample_of(case.n)
    return lambda: getattr(cg, case.test)(model, x, y, rng=0)


def prepare_blocks(case: Dependent) -> Callable[[], object]:
    """Signs of blocks of rows that follow each other."""
    model, x, y, _ = sample_of(case.n)
    return lambda: getattr(cg, case.test)(model, x, y, rng=0, dependence=BLOCK_LENGTH)


def prepare_groups(case: Dependent) -> Callable[[], object]:
    """Signs of groups."""
    model, x, y, _ = sample_of(case.n)
    groups = np.arange(len(x)) // GROUP_ROWS
    return lambda: getattr(cg, case.test)(model, x, y, rng=0, groups=groups)


UNITS = {"rows": prepare_rows, "blocks": prepare_blocks, "groups": prepare_groups}


def dependent_tasks() -> dict[str, Task]:
    tasks = {}
    for case in DEPENDENT:
        for unit, prepare in UNITS.items():
            repeats = 2 if case.n > LARGE else 5
            tasks[f"{case.test}-{unit}-{case.n}"] = Task(partial(prepare, case), repeats)
    return tasks


def bench_dependence() -> None:
    """What signs of blocks and of groups cost beside signs of rows."""
    print(
        "\n### Signs of rows, of blocks (of 10) and of groups (of 20): seconds, 1,000"
        " draws\n"
    )
    print("| test | n | rows | blocks | groups | blocks / rows | groups / rows |")
    print("|---|---|---|---|---|---|---|")
    for test, n in DEPENDENT:
        rows = measure(f"{test}-rows-{n}").seconds
        blocks = measure(f"{test}-blocks-{n}").seconds
        groups = measure(f"{test}-groups-{n}").seconds
        print(
            f"| {test} | {n:,} | {rows:.3g} | {blocks:.3g} | {groups:.3g} |"
            f" {blocks / rows:.2f} | {groups / rows:.2f} |",
            flush=True,
        )


# compare


def two_models(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return scores of a model with a first mean too high, of the truth, and x and y."""
    x, y, s = scored_pair(capped(n))
    return s + np.array([0.2, 0.0]), s, x, y


def prepare_compare(n: int) -> Callable[[], object]:
    p, q, x, y = two_models(n)
    return lambda: cg.compare(cg.from_scores(p), cg.from_scores(q), x, y, rng=0)


def prepare_compare_dense(n: int) -> Callable[[], object]:
    p, q, x, y = two_models(n)
    return lambda: dense_compare(x, y, p, q, 1.7, 2.4)


COMPARE_TASKS = {
    "compare-dense": Task(partial(prepare_compare_dense, 5000), repeats=2),
    "compare-5000": Task(partial(prepare_compare, 5000)),
    "compare-100000": Task(partial(prepare_compare, 100_000), repeats=2),
    "compare-1000000": Task(partial(prepare_compare, 1_000_000), repeats=1),
}


def bench_compare() -> None:
    show(
        "compare: two models, d_x = d_y = 2",
        {
            "compare-dense": "textbook: two dense float32 matrices, n = 5000",
            "compare-5000": "condgof.compare by Stein, exact, n = 5000",
            "compare-100000": "condgof.compare by Stein, low rank, n = 1e5",
            "compare-1000000": "condgof.compare by Stein, low rank, n = 1e6",
        },
        "compare-dense",
    )


# Classifiers


class Classifier(NamedTuple):
    """A test of a softmax classifier."""

    test: str
    n: int
    classes: int

    @property
    def name(self) -> str:
        return f"discrete-{self.test}-{self.n}-{self.classes}"


CLASSIFIERS = (
    Classifier("kcsd", 1000, 10),
    Classifier("adaptive", 1000, 10),
    Classifier("kcsd", 25_000, 1000),
    Classifier("kcsd", 100_000, 1000),
    Classifier("adaptive", 25_000, 1000),
    Classifier("adaptive", 100_000, 1000),
)


def prepare_classifier(case: Classifier) -> Callable[[], object]:
    """The probabilities are there before the clock starts."""
    model, x, y, _ = many_classes(capped(case.n), case.classes)
    return lambda: getattr(cg, case.test)(model, x, y, rng=0)


def bench_discrete() -> None:
    """Classifiers: a thousand classes and 100,000 rows, whose probabilities take 800 MB."""
    print("\n### Classifiers, 1,000 draws\n")
    print("| test | n | classes | seconds | probabilities (MB) | memory added (MB) |")
    print("|---|---|---|---|---|---|")
    for case in CLASSIFIERS:
        row = measure(case.name)
        print(
            f"| {case.test} | {case.n:,} | {case.classes:,} | {row.seconds:.3g} |"
            f" {8 * case.n * case.classes / 2**20:.0f} | {row.megabytes:.0f} |",
            flush=True,
        )


# composite

REFITS = 20
COMPOSITE_ROWS = (100, 1000)
COMPOSITE_STATISTICS = ("kcsd", "adaptive")


def prepare_composite(statistic: str, n: int) -> Callable[[], object]:
    """Refits of a line with the library's own loop."""
    _, x, y, _ = paper_sample("qgm", n)
    fit = cg.fits.ols()
    return lambda: cg.composite(
        fit, x, y, statistic=statistic, n_boot=REFITS, rng=0, engine=1
    )


def prepare_composite_loop(statistic: str, n: int) -> Callable[[], object]:
    """The same as a user would write it: a whole test in each replicate."""
    _, x, y, _ = paper_sample("qgm", n)
    fit = cg.fits.ols()
    test = getattr(cg, statistic)

    def loop() -> None:
        model = fit(x, y)
        rng = np.random.default_rng(0)
        for _ in range(REFITS):
            drawn = model(x).sample(rng)
            test(fit(x, drawn), x, drawn, rng=0, engine=1)

    return loop


def composite_tasks() -> dict[str, Task]:
    tasks = {}
    for statistic in COMPOSITE_STATISTICS:
        for n in COMPOSITE_ROWS:
            tasks[f"composite-{statistic}-{n}"] = Task(
                partial(prepare_composite, statistic, n), count=REFITS
            )
            tasks[f"composite-{statistic}-loop-{n}"] = Task(
                partial(prepare_composite_loop, statistic, n),
                repeats=2 if (statistic, n) == ("adaptive", 1000) else 5,
                count=REFITS,
            )
    return tasks


def bench_composite() -> None:
    """A replicate of `composite`: draw, refit a line, evaluate the statistic; one core."""
    print(
        "\n### composite: milliseconds a replicate, a line fitted by least squares, one"
        " core\n"
    )
    print(
        "| statistic | n | loop of whole tests | composite | times faster"
        " |\n|---|---|---|---|---|"
    )
    for statistic in COMPOSITE_STATISTICS:
        for n in COMPOSITE_ROWS:
            slow = measure(f"composite-{statistic}-loop-{n}").seconds
            fast = measure(f"composite-{statistic}-{n}").seconds
            row = f"{1e3 * slow:.3g} | {1e3 * fast:.3g} | {slow / fast:.1f}"
            print(f"| {statistic} | {n:,} | {row} |", flush=True)


TASKS = {
    **adaptive_tasks(),
    **dependent_tasks(),
    **COMPARE_TASKS,
    **{
        case.name: Task(partial(prepare_classifier, case), 1 if case.n > 1000 else 5)
        for case in CLASSIFIERS
    },
    **composite_tasks(),
}
