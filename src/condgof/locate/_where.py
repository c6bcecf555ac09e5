"""Where the misfit is strongest: locations that one part of the rows chooses and the other part tests.

At a location v the statistic is that of FSCD with J = 1, at two bandwidths on y; each is divided by the
standard deviation of its own draws, and the larger of the two counts. All draws share their signs, so
that their maximum over locations corrects for looking at several (step-down max-T of Westfall and Young).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import single_threaded_blas
from condgof.kernels import CovariateKernel, Gaussian
from condgof.locate._bench import FACTORS, LEAST_NEAR, SIGNS, Bench, nearness
from condgof.locate._maps import criterion_map
from condgof.methods import LOCAL_RANK, LOCAL_TOLERANCE, LOCAL_Y, SUBSAMPLE
from condgof.null import Family, bootstrap_weights
from condgof.sample import Seed, Use
from condgof.stein import (
    ArrayRows,
    Landmarks,
    LocalKernel,
    SteinOperator,
    choose_landmarks,
    local_forms,
)

#: Locations further apart than this many bandwidths are different places.
APART = 2.0


@dataclass(frozen=True, eq=False)
class Place:
    """A location that was chosen and tested.

    Parameters
    ----------
    point : ndarray of shape (d_x,)
        Where, in the kernel's units.
    strength : float
        The power criterion on the rows that chose it.
    raw_pvalue, pvalue : float
        Of the rows that tested it, before and after correction for looking at several.
    weights : ndarray of shape (n_test,)
        k(x_i, v) of those rows.
    """

    point: FloatArray
    strength: float
    raw_pvalue: float
    pvalue: float
    weights: FloatArray

    @property
    def rows(self) -> float:
        """Effective number of tested rows near it."""
        square = float(np.square(self.weights).sum())
        return float(self.weights.sum()) ** 2 / square if square > 0 else 0.0


def y_factors(bench: Bench) -> tuple[Landmarks, ...]:
    """Factor the y-side of the Stein matrix, at each bandwidth, from rows that choose."""
    rows, factors = bench.rows, []
    for number, scale in enumerate(LOCAL_Y):
        rng = bench.seed.stream(Use.CHECK, FACTORS, number)
        some = bench.choosing
        if len(some) > SUBSAMPLE:
            some = np.sort(rng.choice(some, SUBSAMPLE, replace=False))
        # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on cores.
        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            operator = SteinOperator.of(
                rows.x[some],
                rows.y[some],
                rows.scores[some],
                CovariateKernel(()),
                Gaussian(scale * bench.y_unit),
            )
            factors.append(choose_landmarks(operator, rng, tolerance=LOCAL_TOLERANCE, cap=LOCAL_RANK))
    return tuple(factors)


def criterion_at(bench: Bench, factors: tuple[Landmarks, ...], points: FloatArray) -> FloatArray:
    """Return the power criterion of single locations (m,), the larger of the bandwidths on y.

    It comes from the rows that choose. Points are in the kernel's units.
    """
    rows, some, kernel = bench.rows, bench.choosing, bench.near
    data = ArrayRows(rows.x[some], rows.y[some], rows.scores[some])
    shape = (len(points), 1, len(some), rows.sample.d_y)
    values = [
        criterion_map(factor, data, lambda x: kernel(x, points), shape, bench.engine)
        for factor in factors
    ]
    return np.max(values, axis=0)


def choose(bench: Bench, points: FloatArray, values: FloatArray, count: int) -> IntArray:
    """Choose the strongest of the points (m, d_x) that are apart and have enough rows near, in order."""
    x = bench.rows.x
    _, among = nearness(bench.near, x[bench.choosing], points)
    _, tested = nearness(bench.near, x[bench.testing], points)
    open_ = (among >= LEAST_NEAR) & (tested >= LEAST_NEAR) & (values > 0)
    chosen: list[int] = []
    limit = np.exp(-0.5 * APART**2)
    for candidate in np.argsort(-values, kind="stable"):
        if len(chosen) == count:
            break
        if open_[candidate]:
            chosen.append(int(candidate))
            open_ &= bench.near(points, points[[candidate]])[:, 0] <= limit
    return np.array(chosen, dtype=np.int64)


def examine(
    bench: Bench, factors: tuple[Landmarks, ...], points: FloatArray, strengths: FloatArray, n_boot: int
) -> tuple[Place, ...]:
    """Test locations on the rows that did not choose them."""
    if not len(points):
        return ()
    rows, some = bench.rows, bench.testing
    x, y, scores = rows.x[some], rows.y[some], rows.scores[some]
    seed = Seed(int(bench.stream(SIGNS).integers(2**63)))
    weights = bootstrap_weights("wild", len(some), n_boot, seed)
    found = local_forms(LocalKernel(bench.near, points, factors), x, y, scores, weights, bench.engine)
    family = Family.of(found.totals / (len(some) - 1), weights.factor * found.forms)
    count = len(points)
    values = family.values.reshape(-1, count).max(axis=0)
    draws = family.draws.reshape(-1, count, n_boot).max(axis=0)
    raw = (1 + np.count_nonzero(draws >= values[:, None], axis=1)) / (n_boot + 1)
    corrected = step_down(values, draws)
    near = bench.near(points, x)
    return tuple(
        Place(points[j], float(strengths[j]), float(raw[j]), float(corrected[j]), near[j])
        for j in range(count)
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
