"""The claims that need hundreds of trials, one cell each."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from comparisons import compare_cells

import condgof as cg
from condgof.study import problem

TRUE_MODELS = ("lgm", "true-hetero", "true-mixture", "true-student")
NULLS = ("wild", "multinomial")


def fixed_locations(d_x: int) -> np.ndarray:
    """Five locations chosen without looking at any data."""
    return np.random.default_rng(0).standard_normal((5, d_x))


METHODS: dict[str, Callable[..., cg.GofResult]] = {
    "kcsd": cg.kcsd,
    "fscd-given": lambda p, x, y, **k: cg.fscd(
        p, x, y, locations=fixed_locations(x.shape[1]), **k
    ),
    "fscd-random": lambda p, x, y, **k: cg.fscd(p, x, y, locations="random", **k),
    "fscd-optimize": lambda p, x, y, **k: cg.fscd(p, x, y, locations="optimize", **k),
}


#: The separable sum, down to hardly any features: the level must hold all the same.
LOWRANK: dict[str, Callable[..., cg.GofResult]] = {
    "kcsd, precision 0.5": lambda p, x, y, **k: cg.kcsd(
        p, x, y, solver="lowrank", precision=0.5, **k
    ),
    "kcsd, precision 0.1": lambda p, x, y, **k: cg.kcsd(
        p, x, y, solver="lowrank", precision=0.1, **k
    ),
    "kcsd, lowrank": lambda p, x, y, **k: cg.kcsd(p, x, y, solver="lowrank", **k),
}


#: The same of the adaptive test.
ADAPTIVE: dict[str, Callable[..., cg.GofResult]] = {
    "adaptive, precision 0.5": lambda p, x, y, **k: cg.adaptive(
        p, x, y, precision=0.5, **k
    ),
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


#: The tests of a discrete y.
DISCRETE: dict[str, Callable[..., cg.GofResult]] = {
    "kcsd": cg.kcsd,
    "adaptive": cg.adaptive,
    "calibration": cg.calibration,
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
        return {**METHODS, **LOWRANK, **ADAPTIVE}[self.method](
            case.p, x, y, **options
        ).pvalue


def all_cells() -> list[Any]:
    level = [
        Cell("level", name, n, method, null, 1000)
        for name, n, method, null in itertools.product(
            TRUE_MODELS, (100, 300), METHODS, NULLS
        )
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
        for name, method, null in itertools.product(
            TRUE_MODELS, LOWRANK, ("auto", "spectral")
        )
    ]
    lowrank += [
        Cell("lowrank", name, 300, method, "auto", 1000)
        for name, method in itertools.product(TRUE_MODELS, ADAPTIVE)
    ]
    from dependence import dependent_cells  # whose cells are made of this file's

    discrete = [
        Cell("discrete-power", name, n, method, "auto", 200)
        for name, n, method in DISCRETE_POWER
    ]
    discrete += [
        Cell("discrete-level", name, 100, method, "auto", 1000)
        for name, method in itertools.product(DISCRETE_MODELS, ("kcsd", "adaptive"))
    ]
    return [*power, *lowrank, *level, *dependent_cells(), *compare_cells(), *discrete]
