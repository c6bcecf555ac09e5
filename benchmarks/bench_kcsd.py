"""KCSD: the exact sum, the separable sum, a million rows and more."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

import condgof as cg
from measuring import (
    CLAIMS,
    Task,
    alternately,
    capped,
    claim,
    measure,
    memory_share,
    seconds_of,
    show,
)
from samples import Sample, paper_sample, scored_pair, scores_file
from textbook import dense_kcsd

#: Bandwidths on x and on y of the comparison with the textbook.
BANDWIDTH_X = 1.2
BANDWIDTH_Y = 1.5


def prepare_dense(n: int = 5000, n_boot: int = 500) -> Callable[[], object]:
    model, x, y, _ = paper_sample("qgm", n)
    s = model(x).score(y)
    return lambda: dense_kcsd(x, y, s, BANDWIDTH_X, BANDWIDTH_Y, n_boot, 0)


def prepare_exact(n: int = 5000, n_boot: int = 500) -> Callable[[], object]:
    model, x, y, _ = paper_sample("qgm", n)
    return lambda: cg.kcsd(
        model,
        x,
        y,
        kernel_x=cg.Gaussian(BANDWIDTH_X),
        kernel_y=cg.Gaussian(BANDWIDTH_Y),
        n_boot=n_boot,
        rng=0,
    )


def prepare_lowrank(n: int) -> Callable[[], object]:
    x, y, s = scored_pair(capped(n))
    return lambda: cg.kcsd(cg.from_scores(s), x, y, rng=0, n_boot=500)


def prepare_stream(n: int) -> Callable[[], object]:
    source = cg.scan(scores_file(capped(n)), x=["x1", "x2"], y=["y1", "y2"])
    return lambda: cg.kcsd(cg.columns(score=["s1", "s2"]), source, rng=0, solver="lowrank")


TASKS = {
    "dense": Task(prepare_dense),
    "exact": Task(prepare_exact),
    "taxi-dense": Task(partial(prepare_dense, n=12_000), repeats=1),
    "taxi-size": Task(partial(prepare_lowrank, 12_000)),
    "lowrank": Task(partial(prepare_lowrank, 10**6), repeats=3),
    "stream-5": Task(partial(prepare_stream, 10**5)),
    "stream-7": Task(partial(prepare_stream, 10**7), repeats=2),
}


def bench_exact() -> None:
    dense, exact = alternately("dense", "exact")
    print(
        "\n### KCSD beside the textbook: dense float32, a product a draw; seconds (of"
        " processor)\n"
    )
    print(CLAIMS)
    ratio = dense.seconds / exact.seconds
    claim("exact, n = 5000, m = 500: dense / it", seconds_of(dense, exact), ratio, least=10)
    claim(
        "its memory",
        f"{dense.megabytes:.0f} MB, {exact.megabytes:.0f} MB",
        memory_share(exact, dense),
        most=0.25,
    )


def bench_taxi_size() -> None:
    show(
        "The paper's taxi size: n = 12,000, m = 500",
        {
            "taxi-dense": "textbook: dense float32, a product a draw",
            "taxi-size": "condgof.kcsd, default",
        },
        "taxi-dense",
    )


def bench_scale() -> None:
    """A million rows in memory, and up to ten million from Parquet."""
    dense, memory = alternately("dense", "lowrank")
    five = measure("stream-5")
    seven = measure("stream-7")
    print("\n### Scale: kcsd, d_x = d_y = 2; seconds (of processor)\n")
    print(CLAIMS)
    claim(
        "1e6 rows / textbook, n = 5000, m = 500",
        seconds_of(memory, dense),
        memory.seconds / dense.seconds,
        most=0.35,
    )
    claim(
        "1e7 rows of Parquet / 1e6 in memory",
        seconds_of(seven, memory),
        seven.seconds / memory.seconds,
        most=10.5,
    )
    claim("its memory: GB", f"{seven.peak:.0f} MB", seven.peak / 1024, most=1)
    claim(
        "slope of log time, 1e5 to 1e7 rows of Parquet",
        seconds_of(five, seven),
        math.log10(seven.seconds / five.seconds) / 2,
        most=1.1,
    )


class SeparableCase(NamedTuple):
    """A sample, and how far the separable sum may be from the exact one."""

    sample: Sample
    #: In null standard deviations; None where nothing is asked.
    most: float | None


def separable_cases(n: int) -> dict[str, SeparableCase]:
    """Return the samples on which the two sums are compared, by name."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 10))
    wide = rng.normal(size=(n, 30))
    mean = np.column_stack([x[:, 0], x[:, 1] * x[:, 2], x.sum(axis=1)])
    cases = {
        name: SeparableCase(paper_sample(name, n), most=0.005)
        for name in ("lgm", "hgm", "qgm")
    }
    cases["d_x = 10, d_y = 3"] = SeparableCase(
        Sample((mean, np.ones((n, 3))), x, mean + rng.normal(size=(n, 3))), most=0.01
    )
    cases["d_x = 30"] = SeparableCase(
        Sample((wide[:, 0], np.ones(n)), wide, wide[:, 0] + rng.normal(size=n)), most=None
    )
    return cases


def bench_separable(n: int = 4000, m: int = 5000) -> None:
    """`solver="lowrank"` beside `solver="exact"` with the same seed."""
    n = capped(n)
    print(
        f"\n### The separable sum beside the exact one: kcsd, n = {n:,}, {m:,} draws, the"
        " same seed\n"
    )
    print(
        f"Differences: of statistics in null standard deviations, of p-values.\n\n{CLAIMS}"
    )
    for name, ((model, x, y, _), most) in separable_cases(n).items():
        exact = cg.kcsd(model, x, y, solver="exact", n_boot=m, rng=0)
        low = cg.kcsd(model, x, y, solver="lowrank", n_boot=m, rng=0)
        null_sd = exact.null_distribution.std()
        claim(
            f"{name}: statistic",
            f"{exact.statistic:.5g}, {low.statistic:.5g}",
            abs(low.statistic - exact.statistic) / null_sd,
            most=most,
        )
        # Other draws of the same null have p-values that differ by chance: three standard
        # errors more are allowed.
        correlation = np.corrcoef(exact.null_distribution, low.null_distribution)[0, 1]
        same = correlation > 0.9
        p = exact.pvalue
        noise = 0.0 if same else 3 * np.sqrt(2 * p * (1 - p) / m)
        claim(
            f"{name}: p-value, {'the same' if same else 'other'} draws",
            f"{p:.4f}, {low.pvalue:.4f}",
            abs(low.pvalue - p),
            most=None if most is None else round(0.01 + noise, 4),
        )
        keys = ("precision", "landmarks", "notes")
        details = {key: low.details[key] for key in keys if key in low.details}
        print(f"| {name}: the result says | {details} | | | |", flush=True)
