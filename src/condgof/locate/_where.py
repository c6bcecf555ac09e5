"""Where the misfit is strongest: locations that one part of the rows chooses and the other part tests.

At a location v the statistic is that of FSCD with J = 1, for each of some blocks of evidence; each is in
units of the spread of its own draws, and the largest counts. Locations are drawn together, so that their
maximum corrects for looking at several (Westfall and Young's step-down max-T). Where rows of a discrete
y depend on each other, the larger of two p-values counts (`milder`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels import CovariateKernel
from condgof.locate._bench import SIGNS
from condgof.locate._search import Candidate, Search, telling
from condgof.methods._draw import draw, milder
from condgof.methods._options import Options
from condgof.null import Combination
from condgof.sample import Seed
from condgof.stein import Evidence, Features, Given, Panel, Plan

#: Above so many rows that test, draws come from the Gaussian limit, or from sums over strata of rows.
FEW = 512


@dataclass(frozen=True, eq=False)
class Place:
    """A location that was chosen and tested."""

    #: Where, in the kernel's units, (d_x,).
    point: FloatArray
    #: Which columns count, and how far.
    kernel: CovariateKernel
    #: The power criterion on the rows that chose it.
    strength: float
    #: Of the rows that tested it, before and after correction for looking at several.
    raw_pvalue: float
    pvalue: float
    #: k(x_i, v) of those rows, (n_test,).
    weights: FloatArray

    @property
    def rows(self) -> float:
        """Effective number of tested rows near it."""
        square = float(np.square(self.weights).sum())
        return float(self.weights.sum()) ** 2 / square if square > 0 else 0.0


def examine(search: Search, chosen: list[Candidate], options: Options) -> tuple[Place, ...]:
    """Test places on the rows that did not choose them; `options` are those of the verdict."""
    if not chosen:
        return ()
    bench = search.bench
    rows = bench.rows.take(bench.testing)

    def weights(x: FloatArray) -> FloatArray:
        return np.column_stack([one.kernel(x, one.point[None])[:, 0] for one in chosen])

    places = Features((Given(weights, len(chosen), "locations", single=True),))
    plan = Plan(places, search.evidence, _panels(search.evidence, len(chosen)))
    solver = "lowrank" if rows.n > FEW else "auto"
    asked = replace(
        options, rows=bench.dependence.take(bench.testing), engine=bench.engine, solver=solver
    )
    again = milder(asked, rows, plan)
    seed = Seed(int(bench.stream(SIGNS).integers(2**63)))
    raw, corrected = np.zeros(len(chosen)), np.zeros(len(chosen))
    for how in (asked, again):
        if how is None:
            continue
        scaled = Combination.of(draw(plan, rows, how, seed).drawn, ()).scaled
        of_place = np.array([block.label for block, _ in plan.statistics])
        largest = np.stack(
            [scaled[: len(of_place)][of_place == j].max(axis=0) for j in range(len(chosen))]
        )
        values, draws = largest[:, -1], largest[:, :-1]
        above = np.count_nonzero(draws >= values[:, None], axis=1)
        raw = np.maximum(raw, (1 + above) / (draws.shape[1] + 1))
        corrected = np.maximum(corrected, step_down(values, draws))
    near = weights(rows.x)
    return tuple(
        Place(one.point, one.kernel, one.strength, float(raw[j]), float(corrected[j]), near[:, j].copy())
        for j, one in enumerate(chosen)
    )


def _panels(evidence: Evidence, count: int) -> tuple[Panel, ...]:
    """Let all places meet the blocks of evidence that tell where: runs of them without gaps."""
    used = [k for k, block in enumerate(evidence.blocks) if block in telling(evidence)]
    runs = (list(run) for _, run in groupby(enumerate(used), key=lambda pair: pair[1] - pair[0]))
    return tuple(Panel(slice(0, count), slice(run[0][1], run[-1][1] + 1)) for run in runs)


def step_down(values: FloatArray, draws: FloatArray) -> FloatArray:
    """Return p-values (L,) corrected by the maximum over statistics that are not larger.

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
