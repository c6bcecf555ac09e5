"""Where the misfit is strongest: locations that one part of the rows chooses and the other part tests.

At a location v the statistic is that of FSCD with J = 1, for each of some kernels on y; each is divided
by the standard deviation of its own draws, and the largest counts. All draws share their signs, so that
their maximum over locations corrects for looking at several (Westfall and Young's step-down max-T).

A discrete y is drawn anew from the model instead, which is exact. Where rows depend on each other that
would not do, and the signs of the rows' groups or blocks are used as well; but signs only see the
residuals that are there, which are tiny where a model is nearly certain, and right. The larger of both
p-values counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels import CovariateKernel
from condgof.locate._bench import SIGNS, Bench
from condgof.locate._search import Candidate, Search
from condgof.null import Family
from condgof.sample import Seed
from condgof.stein import LocalKernel, Redraw, ScaleSums, local_forms

#: Directions of the features of a discrete y with a smaller share of their variance are left out.
SMALLEST = 1e-6


@dataclass(frozen=True, eq=False)
class Place:
    """A location that was chosen and tested.

    Parameters
    ----------
    point : ndarray of shape (d_x,)
        Where, in the kernel's units.
    kernel : CovariateKernel
        Which columns count, and how far.
    strength : float
        The power criterion on the rows that chose it.
    raw_pvalue, pvalue : float
        Of the rows that tested it, before and after correction for looking at several.
    weights : ndarray of shape (n_test,)
        k(x_i, v) of those rows.
    """

    point: FloatArray
    kernel: CovariateKernel
    strength: float
    raw_pvalue: float
    pvalue: float
    weights: FloatArray

    @property
    def rows(self) -> float:
        """Effective number of tested rows near it."""
        square = float(np.square(self.weights).sum())
        return float(self.weights.sum()) ** 2 / square if square > 0 else 0.0


@dataclass(frozen=True, eq=False)
class OwnKernels(CovariateKernel):
    """A kernel of its own for each location: between locations, in their order, and rows."""

    kernels: tuple[CovariateKernel, ...] = ()

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Evaluate between the locations `a` (L, d_x), all of them, and rows `b` (n, d_x): (L, n)."""
        pairs = zip(self.kernels, a, strict=True)
        return np.concatenate([kernel(point[None], b) for kernel, point in pairs])


def examine(search: Search, chosen: list[Candidate], n_boot: int) -> tuple[Place, ...]:
    """Test places on the rows that did not choose them."""
    if not chosen:
        return ()
    bench = search.bench
    points = np.stack([one.point for one in chosen])
    own = OwnKernels((), kernels=tuple(one.kernel for one in chosen))
    near = own(points, bench.rows.x[bench.testing])
    seed = Seed(int(bench.stream(SIGNS).integers(2**63)))
    local = LocalKernel(own, points, search.factors)
    raw, corrected = np.zeros(len(near)), np.zeros(len(near))
    for family in _families(search, local, near, n_boot, seed):
        values = family.values.reshape(-1, len(near)).max(axis=0)
        draws = family.draws.reshape(-1, len(near), n_boot).max(axis=0)
        above = np.count_nonzero(draws >= values[:, None], axis=1)
        raw = np.maximum(raw, (1 + above) / (n_boot + 1))
        corrected = np.maximum(corrected, step_down(values, draws))
    return tuple(
        Place(one.point, one.kernel, one.strength, float(raw[j]), float(corrected[j]), near[j])
        for j, one in enumerate(chosen)
    )


def _families(
    search: Search, local: LocalKernel, near: FloatArray, n_boot: int, seed: Seed
) -> list[Family]:
    """Return the statistics of all kernels on y and places (L, n_test), with draws of each null."""
    bench, some = search.bench, search.bench.testing
    rows, n, dependence = bench.rows, len(some), bench.dependence.take(some)
    redrawn = _redrawn(bench, near, n_boot, seed)
    exact = []
    if redrawn is not None:
        parts = (part / (n - 1) for part in (redrawn.totals, redrawn.forms, redrawn.own))
        exact = [Family.redrawn(*parts)]
    if exact and dependence.independent:
        return exact
    weights = dependence.weights("wild", n, n_boot, seed)
    x, y, scores = rows.x[some], rows.y[some], rows.scores[some]
    found = local_forms(local, x, y, scores, weights, bench.engine)
    totals, draws = found.totals / (n - 1), weights.factor * found.forms
    if dependence.independent:
        return [Family.of(totals, draws)]
    return [Family.dependent(totals, draws, weights.factor * found.own), *exact]


def _redrawn(bench: Bench, near: FloatArray, n_boot: int, seed: Seed) -> ScaleSums | None:
    """Draw a discrete y of the rows that test anew from the model; None where that cannot be done."""
    outcomes, cells = bench.rows.outcomes, bench.rows.cells
    if outcomes is None or cells is None:
        return None
    kernels = bench.design.cell_kernels(bench.rows, bench.design.y_scales)
    plan = Redraw(outcomes.take(bench.testing), kernels, (), np.ascontiguousarray(near.T), SMALLEST)
    return plan.run(n_boot, seed, bench.engine)[1]


def step_down(values: FloatArray, draws: FloatArray) -> FloatArray:
    """Return p-values (L,) corrected by the maximum over statistics that are not larger.

    Parameters
    ----------
    values : ndarray of shape (L,)
        Statistics, on one scale.
    draws : ndarray of shape (L, m)
        Their draws, column by column from the same signs.

    Examples
    --------
    >>> draws = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    >>> step_down(np.array([2.5, 1.0]), draws)
    array([0.5, 0.5])
    """
    order = np.argsort(-values, kind="stable")
    # From the smallest up: the maximum of the draws over all statistics that come after.
    maxima = np.maximum.accumulate(draws[order[::-1]], axis=0)[::-1]
    above = np.count_nonzero(maxima >= values[order][:, None], axis=1)
    corrected = np.empty(len(values))
    corrected[order] = np.maximum.accumulate((1 + above) / (draws.shape[1] + 1))
    return corrected
