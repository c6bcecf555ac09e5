"""The null distribution of a discrete y: the statistic of y drawn anew from the model, given x.

With features F (n, r) of x, k(x_i, x_j) = F_i·F_j, and C the centred features of y (n, m),

    Σ_{i≠j} k(x_i, x_j)⟨c_i, c_j⟩ = ‖FᵀC‖² − Σ_i ‖F_i‖²‖c_i‖².

Drawing y from the model and computing it again gives its exact distribution under the null hypothesis,
for any n and any F that depends on x alone. Random signs are not exact here: where the model is nearly
certain, residuals are tiny but for rare large ones, and a sample without those looks as if it hardly
varied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import Engine, single_threaded_blas
from condgof.kernels import CellKernel, CovariateKernel
from condgof.laws import Outcomes
from condgof.sample import Seed, Use
from condgof.stein._features import settle
from condgof.stein._kernel import Rows
from condgof.stein._landmarks import choose_pivots
from condgof.stein._scale_sweep import ScaleSums
from condgof.stein._sweep import check_overflow

#: Draws that are made together.
CHUNK = 8
#: The largest number of features of x.
MOST = 2500
#: Features of all cells of all rows are held up to this many numbers.
TABLE = 2**24


@dataclass(frozen=True, eq=False)
class _Gram:
    """The matrix of a kernel on x."""

    kernel: CovariateKernel
    x: FloatArray

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.x)

    def diag(self) -> FloatArray:
        """Return the diagonal."""
        return np.full(self.n, float(self.kernel(self.x[:1], self.x[:1])[0, 0]))

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return a block."""
        return self.kernel(self.x[rows], self.x[columns])


def x_features(
    kernel: CovariateKernel, x: FloatArray, rng: np.random.Generator, *, tolerance: float
) -> FloatArray:
    """Return F (n, r) with FFᵀ ≈ k(x_i, x_j), by randomly pivoted Cholesky to a relative residual."""
    if not kernel.factors:
        return np.ones((len(x), 1))
    gram = _Gram(kernel, x)
    pivots = choose_pivots(gram, rng, tolerance=tolerance, cap=min(len(x), MOST))
    columns = gram.block(slice(0, len(x)), pivots.index)
    return np.asarray(np.linalg.solve(pivots.triangle, columns.T).T)


@dataclass(frozen=True, eq=False)
class Redraw:
    """Statistics of one sample and of y drawn anew, for several features of x and kernels on y.

    Parameters
    ----------
    outcomes : Outcomes
        What the model says of y, (n, cells).
    kernels : sequence of CellKernel
        The kernels on y.
    blocks : sequence of ndarrays of shape (n, r)
        Features of x; each block is a statistic.
    single : ndarray of shape (n, L)
        Features each column of which is a statistic by itself.
    smallest : float
        Directions of the features of y with less than this share of their variance are left out.
    drawn : ndarray of shape (n, cells), optional
        Other probabilities to draw y from, to see what the test says where they are the truth.
    """

    outcomes: Outcomes
    kernels: Sequence[CellKernel]
    blocks: Sequence[FloatArray]
    single: FloatArray
    smallest: float
    drawn: FloatArray | None = None

    @property
    def work(self) -> float:
        """Multiplications for each draw, at most."""
        width = sum(block.shape[1] for block in self.blocks) + self.single.shape[1]
        size = sum(min(kernel.size, self.outcomes.probabilities.shape[1]) for kernel in self.kernels)
        return float(len(self.outcomes.observed) * width * size)

    def run(self, draws: int, seed: Seed, engine: Engine) -> tuple[ScaleSums, ScaleSums]:
        """Return sums over pairs of different rows: of the blocks, and of the single features.

        Each has totals (kernels·blocks,) and forms (kernels·blocks, draws), by kernel and then by block.
        """
        with single_threaded_blas():
            features = [
                features_by_cell(self.outcomes, kernel, self.smallest) for kernel in self.kernels
            ]
            stacked = np.ascontiguousarray(np.concatenate([*self.blocks, self.single], axis=1).T)
            squares = np.stack(
                [*(np.square(b).sum(axis=1) for b in self.blocks), *np.square(self.single).T]
            )
        cuts = np.cumsum([0, *(b.shape[1] for b in self.blocks), *([1] * self.single.shape[1])])[:-1]
        truth = self.outcomes.probabilities if self.drawn is None else self.drawn
        sums = np.cumsum(np.asarray(truth, dtype=np.float64), axis=1)
        sums /= sums[:, -1:]
        sums[:, -1] = 2.0  # rounding must not leave a gap at the end

        def statistics(codes: IntArray) -> FloatArray:
            found = []
            for of in features:
                c = of(codes)
                whole = np.add.reduceat(np.square(stacked @ c).sum(axis=1), cuts)
                own = squares @ np.square(c).sum(axis=1)
                found.append(settle(whole - own, whole + own))
            return np.concatenate(found)

        def chunk(start: int) -> FloatArray:
            rng = seed.stream(Use.MODEL_SAMPLE, 1, start)
            found = []
            for _ in range(min(CHUNK, draws - start)):
                found.append(statistics((rng.random((len(sums), 1)) >= sums).sum(axis=1)))
            return np.stack(found, axis=1)

        with single_threaded_blas():
            observed = statistics(self.outcomes.observed)
            own = np.concatenate(
                [squares @ np.square(f(self.outcomes.observed)).sum(axis=1) for f in features]
            )
        forms = np.concatenate(list(engine.local.map(chunk, range(0, draws, CHUNK))), axis=1)
        check_overflow(observed, forms)
        return self._sorted(observed, forms, own)

    def _sorted(
        self, observed: FloatArray, forms: FloatArray, own: FloatArray
    ) -> tuple[ScaleSums, ScaleSums]:
        count = len(self.blocks)
        shape = (len(self.kernels), count + self.single.shape[1])
        totals, each, sizes = observed.reshape(shape), forms.reshape(*shape, -1), own.reshape(shape)

        def part(which: slice) -> ScaleSums:
            rows = each[:, which].reshape(-1, forms.shape[1])
            return ScaleSums(totals[:, which].reshape(-1), rows, sizes[:, which].reshape(-1))

        return part(slice(0, count)), part(slice(count, None))


def features_by_cell(
    outcomes: Outcomes, kernel: CellKernel, smallest: float
) -> Callable[[IntArray], FloatArray]:
    """Return the function from observed cells (n,) to their centred features (n, m).

    The features are rotated to the directions that vary under the model, which the law of the rows
    tells, and so x alone; inner products stay as they are.
    """
    n, count = outcomes.probabilities.shape
    rows = np.arange(n)
    p = np.asarray(outcomes.probabilities, dtype=np.float64)
    p = p / p.sum(axis=1, keepdims=True)
    if all(block.stop <= outcomes.plain for block, _ in kernel.parts):
        whole = kernel.features(np.eye(count))
        mean = p @ whole
        second = (whole * p.sum(axis=0)[:, None]).T @ whole - mean.T @ mean
        turn = _turn(second, smallest)
        whole, mean = whole @ turn, mean @ turn
        return lambda codes: whole[codes] - mean[rows]
    if n * count * kernel.size > TABLE:
        return lambda codes: kernel.features(np.asarray(outcomes.of(codes)))
    table = np.stack(
        [kernel.features(np.asarray(outcomes.of(np.full(n, cell)))) for cell in range(count)], axis=1
    )
    turn = _turn(np.einsum("ik,ikm,ikl->ml", p, table, table, optimize=True), smallest)
    turned: FloatArray = table @ turn
    return lambda codes: turned[rows, codes]


def _turn(second: FloatArray, smallest: float) -> FloatArray:
    """Return the axes of a second moment that hold more than a share of it, as columns; all, of 0."""
    values, axes = np.linalg.eigh(second)
    kept = values > smallest * max(float(values.sum()), np.finfo(np.float64).tiny)
    return np.asarray(axes[:, kept] if kept.any() else axes)
