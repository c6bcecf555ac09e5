"""The claims that need hundreds of trials, one cell each."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

import condgof as cg
from condgof.study import problem

TRUE_MODELS = ("lgm", "true-hetero", "true-mixture", "true-student")
NULLS = ("wild", "multinomial")


def fixed_locations(d_x: int) -> np.ndarray:
    """Five locations chosen without looking at any data."""
    return np.random.default_rng(0).standard_normal((5, d_x))


METHODS: dict[str, Callable[..., cg.GofResult]] = {
    "kcsd": cg.kcsd,
    "fscd-given": lambda p, x, y, **k: cg.fscd(p, x, y, locations=fixed_locations(x.shape[1]), **k),
    "fscd-random": lambda p, x, y, **k: cg.fscd(p, x, y, locations="random", **k),
    "fscd-optimize": lambda p, x, y, **k: cg.fscd(p, x, y, locations="optimize", **k),
}


#: The low-rank solver, down to hardly any rank: the level must hold all the same.
LOWRANK: dict[str, Callable[..., cg.GofResult]] = {
    "kcsd, rank 2": lambda p, x, y, **k: cg.kcsd(p, x, y, solver="lowrank", rank=2, **k),
    "kcsd, rank 20": lambda p, x, y, **k: cg.kcsd(p, x, y, solver="lowrank", rank=20, **k),
    "kcsd, lowrank": lambda p, x, y, **k: cg.kcsd(p, x, y, solver="lowrank", **k),
}


def few_null_rows(p: Any, x: Any, y: Any, **options: Any) -> cg.GofResult:
    """Draws from 600 of the rows, as the test makes them by itself from 16,384 of more rows."""
    with mock.patch("condgof.methods._adaptive_solve.NULL_ROWS", 600):
        return cg.adaptive(p, x, y, solver="lowrank", rank=40, **options)


#: The adaptive test's own low-rank solver.
ADAPTIVE: dict[str, Callable[..., cg.GofResult]] = {
    "adaptive, rank 5": lambda p, x, y, **k: cg.adaptive(p, x, y, solver="lowrank", rank=5, **k),
    "adaptive, 600 null rows": few_null_rows,
}


#: True models with a discrete y; the classifiers are calibrated.
DISCRETE_MODELS = (
    "true-softmax-2",
    "true-softmax-3",
    "true-softmax-10",
    "true-grades",
    "true-poisson",
    "true-nb-small",
    "true-nb-large",
    "true-binomial",
    "true-count-ratio",
)


def by_signs(test: Callable[..., cg.GofResult]) -> Callable[..., cg.GofResult]:
    """The test with random signs, as it is by itself above 2,500 rows."""

    def run(p: Any, x: Any, y: Any, **options: Any) -> cg.GofResult:
        with mock.patch("condgof.methods._redraw.MODEL_ROWS", 0):
            return test(p, x, y, **options)

    return run


#: The tests of a discrete y.
DISCRETE: dict[str, Callable[..., cg.GofResult]] = {
    "kcsd": cg.kcsd,
    "adaptive": cg.adaptive,
    "calibration": cg.calibration,
    "kcsd, signs": by_signs(cg.kcsd),
    "adaptive, signs": by_signs(cg.adaptive),
}
#: What a discrete y must show: the least power, at a size.
DISCRETE_POWER = {
    ("poisson-overdispersed", 300, "kcsd"): 0.9,
    ("poisson-overdispersed", 300, "adaptive"): 0.9,
    ("softmax-overconfident-3", 1000, "adaptive"): 0.8,
    ("softmax-overconfident-10", 1000, "adaptive"): 0.95,
    ("softmax-overconfident-3", 1000, "kcsd"): None,
    ("softmax-overconfident-10", 1000, "kcsd"): None,
    ("softmax-overconfident-3", 1000, "calibration"): None,
    ("grades-flat", 300, "adaptive"): None,
}


@dataclass(frozen=True)
class Cell:
    """One method on one problem at one size."""

    kind: str
    problem: str
    n: int
    method: str
    null: str
    trials: int

    @property
    def name(self) -> str:
        method = self.method.replace(", ", "-").replace(" ", "")
        return f"{self.kind}.{self.problem}.{self.n}.{method}.{self.null}"

    def pvalue(self, trial: int) -> float:
        """Run one trial: the sample depends on the problem, size and trial only."""
        case = problem(self.problem)
        key = [trial, self.n, *self.problem.encode()]
        x, y = case.draw(self.n, np.random.default_rng(key))
        options: dict[str, Any] = {"null": self.null, "rng": trial, "engine": 1}
        if self.kind.startswith("discrete"):
            return DISCRETE[self.method](case.p, x, y, n_boot=199, **options).pvalue
        return {**METHODS, **LOWRANK, **ADAPTIVE}[self.method](case.p, x, y, **options).pvalue


def all_cells() -> list[Cell]:
    level = [
        Cell("level", name, n, method, null, 1000)
        for name, n, method, null in itertools.product(TRUE_MODELS, (100, 300), METHODS, NULLS)
    ]
    power = [
        Cell("power", "qgm", 400, "kcsd", "wild", 300),
        Cell("power", "qgm", 400, "fscd-random", "wild", 300),
        Cell("power", "qgm", 400, "fscd-optimize", "wild", 300),
        *(
            Cell("power", "hgm-far", 1500, method, "wild", 300)
            for method in METHODS
            if "given" not in method
        ),
    ]
    lowrank = [
        Cell("lowrank", name, 300, method, null, 1000)
        for name, method, null in itertools.product(TRUE_MODELS, LOWRANK, ("wild", "spectral"))
    ]
    lowrank += [
        Cell("lowrank", name, 1000 if "null" in method else 300, method, "wild", 1000)
        for name, method in itertools.product(TRUE_MODELS, ADAPTIVE)
    ]
    discrete = [
        Cell("discrete-power", name, n, method, "wild", 200) for name, n, method in DISCRETE_POWER
    ]
    discrete += [
        Cell("discrete-level", name, 100, method, "wild", 1000)
        for name, method in itertools.product(DISCRETE_MODELS, ("kcsd", "adaptive"))
    ]
    discrete += [
        Cell("discrete-level", name, 1000, method, "wild", 1000)
        for name, method in itertools.product(
            ("true-softmax-2", "true-softmax-10", "true-nb-small"), ("kcsd, signs", "adaptive, signs")
        )
    ]
    return power + lowrank + level + discrete
