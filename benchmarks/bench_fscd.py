"""FSCD with optimised locations, and the power criterion at many locations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import pdist

import condgof as cg
from measuring import Task, capped, show
from samples import paper_sample
from textbook import adam_fscd

#: Rows of hgm-far, and those of them that locations are optimised on.
ROWS = 1500
TRAINING_ROWS = 450
#: Starts of the optimiser in `cg.fscd`.
STARTS = 3
#: Locations of the power criterion in one call, and in a loop of calls.
LOCATIONS_AT_ONCE = 2000
LOCATIONS_ONE_BY_ONE = 100


def median_distance(a: np.ndarray) -> float:
    """Return the median heuristic of all pairs of rows."""
    return float(np.median(pdist(np.asarray(a).reshape(len(a), -1))))


def prepare_adam() -> Callable[[], object]:
    """One start on the training part of hgm-far at n = 1500."""
    model, x, y, _ = paper_sample("hgm-far", TRAINING_ROWS)
    start = x[np.argsort(-x.sum(axis=1))[:5]]
    s = cg.scores(model, x, y)
    sigma_x = median_distance(x)
    sigma_y = median_distance(y)
    return lambda: adam_fscd(x, y, s, start, sigma_x, sigma_y)


def prepare_lbfgs() -> Callable[[], object]:
    """All three starts of `fscd`, and its test with hardly any draws."""
    model, x, y, _ = paper_sample("hgm-far", ROWS)
    return lambda: cg.fscd(model, x, y, n_boot=1, rng=0)


def prepare_map() -> Callable[[], object]:
    """All locations in one call."""
    model, x, y, _ = paper_sample("hgm", 2000)
    at = np.random.default_rng(1).normal(size=(LOCATIONS_AT_ONCE, 3))
    return lambda: cg.power_criterion(model, x, y, at=at, rng=0)


def prepare_map_one_by_one() -> Callable[[], object]:
    """One call a location."""
    model, x, y, _ = paper_sample("hgm", 2000)
    at = np.random.default_rng(1).normal(size=(LOCATIONS_ONE_BY_ONE, 3))
    return lambda: [cg.power_criterion(model, x, y, at=v[None], rng=0) for v in at]


TASKS = {
    "adam": Task(prepare_adam),
    "lbfgs": Task(prepare_lbfgs, count=STARTS),
    "map": Task(prepare_map, count=LOCATIONS_AT_ONCE),
    "map-one-by-one": Task(prepare_map_one_by_one, count=LOCATIONS_ONE_BY_ONE),
}


def bench_optimize() -> None:
    show(
        "FSCD-opt, seconds a start, training part of n = 1500",
        {
            "adam": "Adam, 200 steps, autograd",
            "lbfgs": "condgof: L-BFGS-B, analytic gradient (a third of 3 starts)",
        },
        "adam",
    )


def bench_map() -> None:
    show(
        "Power criterion, seconds a location, n = 2000",
        {"map-one-by-one": "one call a location", "map": "2,000 locations in one call"},
        "map-one-by-one",
    )


def adam_rejects(trial: int) -> bool:
    """Whether the test with locations found by Adam rejects, on the rows held out."""
    n = capped(ROWS)
    model, x, y, _ = paper_sample("hgm-far", n, [trial, ROWS])
    s = cg.scores(model, x, y)
    rows = np.random.default_rng(trial).permutation(n)
    train = rows[: n * TRAINING_ROWS // ROWS]
    test = rows[n * TRAINING_ROWS // ROWS :]
    locations, sigma_x, sigma_y, _ = adam_fscd(
        x[train],
        y[train],
        s[train],
        x[train[:5]],
        median_distance(x[train]),
        median_distance(y[train]),
    )
    result = cg.fscd(
        model,
        x[test],
        y[test],
        locations=locations,
        kernel_x=cg.Gaussian(sigma_x),
        kernel_y=cg.Gaussian(sigma_y),
        n_boot=500,
        rng=trial,
    )
    return result.reject()


def fscd_rejects(trial: int) -> bool:
    """Whether `fscd` rejects the same sample."""
    model, x, y, _ = paper_sample("hgm-far", ROWS, [trial, ROWS])
    return cg.fscd(model, x, y, rng=trial, n_boot=500).reject()


def bench_power(trials: int = 100) -> None:
    """Power on the held-out part: Adam from a random start beside `fscd`."""
    ours = sum(fscd_rejects(trial) for trial in range(trials))
    adam = sum(adam_rejects(trial) for trial in range(trials))
    print(f"\n### Power of FSCD-opt on hgm-far, n = 1500, J = 5, {trials} samples\n")
    print("| optimiser | rejections |\n|---|---|")
    print(f"| Adam, 200 steps, one start at random rows | {adam} |")
    print(f"| condgof, three starts | {ours} |", flush=True)
