"""Where the misfit is strongest: locations that one part of the rows chooses and the other part tests.

At a location v the statistic is that of FSCD with J = 1, at two bandwidths on y; each is divided by the
standard deviation of its own draws, and the larger of the two counts. All draws share their signs, so
that their maximum over locations corrects for looking at several (Westfall and Young's step-down max-T).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels import CovariateKernel
from condgof.locate._bench import SIGNS
from condgof.locate._search import Candidate, Search
from condgof.null import Family, bootstrap_weights
from condgof.sample import Seed
from condgof.stein import LocalKernel, local_forms


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
    rows, some = bench.rows, bench.testing
    x, y, scores = rows.x[some], rows.y[some], rows.scores[some]
    seed = Seed(int(bench.stream(SIGNS).integers(2**63)))
    weights = bootstrap_weights("wild", len(some), n_boot, seed)
    points = np.stack([one.point for one in chosen])
    own = OwnKernels((), kernels=tuple(one.kernel for one in chosen))
    local = LocalKernel(own, points, search.factors)
    found = local_forms(local, x, y, scores, weights, bench.engine)
    family = Family.of(found.totals / (len(some) - 1), weights.factor * found.forms)
    count = len(points)
    values = family.values.reshape(-1, count).max(axis=0)
    draws = family.draws.reshape(-1, count, n_boot).max(axis=0)
    raw = (1 + np.count_nonzero(draws >= values[:, None], axis=1)) / (n_boot + 1)
    corrected, near = step_down(values, draws), own(points, x)
    return tuple(
        Place(one.point, one.kernel, one.strength, float(raw[j]), float(corrected[j]), near[j])
        for j, one in enumerate(chosen)
    )


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
