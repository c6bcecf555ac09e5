"""Where in x a model fails: the witness and the power criterion at many locations.

Both are quadratic in F_iv = k(x_i, v) with h between: by tiles, or through evidence, h ≈
ξξᵀ, A = ξᵀF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Unpack

import numpy as np

from condgof._typing import AnyArray, FloatArray, TableLike
from condgof.errors import check_overflow
from condgof.kernels import CovariateKernel, Gaussian, Kernel, Radial
from condgof.methods._options import (
    HowToTest,
    Options,
    prepare,
    read_options,
    spelled_out,
)
from condgof.methods._plan import plan_kernels
from condgof.residuals import TestFunctions
from condgof.sample import Seed
from condgof.stein import (
    Piece,
    PreparedRows,
    RowsInMemory,
    SteinOperator,
    Units,
    criterion_of_means,
    matmul,
    reduce_over,
    sum_arrays,
)

#: Features of a piece that are held at a time.
HELD_NUMBERS = 2**21
#: Bytes that a location takes for each row while sums are made by tiles.
BYTES_PER_LOCATION = 32


@spelled_out("solver", "missing", "rng", "engine", "memory")
def witness(
    model: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    at: TableLike,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    **how: Unpack[HowToTest],
) -> FloatArray:
    """How much model and data differ at locations in x.

    At v it is (1/d_y)‖Ĝ(v)‖² = (1/(d_y n²)) Σ_{ij} k(x_i, v) k(x_j, v) h_p(i, j), never
    negative. It is large where the model is wrong *and* there are data; `power_criterion`
    divides by its noise.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays.
    at : array_like of shape (m, d_x), or (m,) when d_x = 1, or frame
        Where to look.
    kernel_x, kernel_y, scale_x, missing, rng, engine, memory
        As in `kcsd`.
    solver : {"auto", "exact", "lowrank"}
        "lowrank" sees h through landmarks in y, linear in n; "auto" takes it above 5,000
        rows.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> x, y = cg.study.problem("hgm-1d").draw(500, np.random.default_rng(0))
    >>> values = cg.witness(cg.study.problem("hgm-1d").p, x, y, at=[[-1.0], [1.0]], rng=0)
    >>> bool(values[1] > values[0])
    True
    """
    options, seed = read_options(witness, how)
    rows = prepare(model, x, y, Units(scale_x), options, seed).rows
    stein = _stein_side(rows, kernel_x, kernel_y, options, seed)
    some = rows.subsample
    points = some.to_kernel_units(some.sample.locations(at))
    values = stein.witness(points)
    # Rounding may take a value that is 0 in exact arithmetic just below it.
    return np.asarray(np.maximum(values, 0.0) / (some.d_y * float(rows.n) ** 2))


@spelled_out("solver", "missing", "rng", "engine", "memory")
def power_criterion(
    model: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    at: TableLike,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    **how: Unpack[HowToTest],
) -> FloatArray:
    """Signal-to-noise ratio of FSCD at locations in x: where a misfit can best be detected.

    For a set V it is T̂_V / σ̂_V, with T̂_V the U-statistic of FSCD and σ̂_V twice the
    standard deviation of its row means (paper, Corollary 6).

    Parameters
    ----------
    model, x, y
        As in `witness`.
    at : array_like of shape (m, d_x), (m,) when d_x = 1, or (m, J, d_x); or frame
        Single locations, or m sets of J locations.
    kernel_x, kernel_y, scale_x, solver, missing, rng, engine, memory
        As in `witness`.

    Returns
    -------
    ndarray of shape (m,)
        0 where σ̂_V is 0.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> x, y = cg.study.problem("hgm-1d").draw(500, np.random.default_rng(0))
    >>> model = cg.study.problem("hgm-1d").p
    >>> values = cg.power_criterion(model, x, y, at=[-1.0, 1.0], rng=0)
    >>> bool(values[1] > values[0])
    True
    """
    options, seed = read_options(power_criterion, how)
    rows = prepare(model, x, y, Units(scale_x), options, seed).rows
    stein = _stein_side(rows, kernel_x, kernel_y, options, seed)
    some = rows.subsample
    points = some.to_kernel_units(some.sample.locations(at, sets=True))
    size = points.shape[1] if points.ndim == 3 else 1
    flat = points.reshape(-1, points.shape[-1])
    share = 1.0 / (size * some.d_y * (rows.n - 1))
    return stein.criterion(flat, size, share)


def _stein_side(
    rows: PreparedRows,
    kernel_x: Kernel,
    kernel_y: Kernel,
    options: Options,
    seed: Seed,
) -> SteinByTiles | SteinByFunctions:
    """Return h of a sample by tiles, or of many rows and a discrete y by test functions."""
    ready = rows.subsample.kernels(kernel_x, kernel_y, seed)
    constant = CovariateKernel(())
    # "auto" is exact for as many rows as in a test with 1,000 draws: 5,000.
    is_exact = options.chosen_solver(rows.n) == "exact"
    if is_exact and isinstance(rows, RowsInMemory) and isinstance(ready.on_y, Radial):
        return SteinByTiles(
            rows=rows,
            kernel_x=ready.on_x,
            h=rows.operator(constant, ready.on_y),
            options=options,
        )
    # Of a discrete y there are finitely many test functions, and sums over them are exact.
    plan = plan_kernels(rows, constant, ready.on_y, options, seed).plan
    return SteinByFunctions(
        rows=rows,
        kernel_x=ready.on_x,
        test_functions=plan.test_functions,
        options=options,
    )


class _LocationSums(NamedTuple):
    """Sums at m locations v, with F_iv = k(x_i, v)."""

    by_row: FloatArray  #: Σ_{j≠i} F_iv F_jv h_ij of each row i, (n, m).
    diagonal: FloatArray  #: Σ_i F_iv² h_ii, (m,).


@dataclass(frozen=True, eq=False)
class SteinByTiles:
    """A sample with k, and h swept by tiles."""

    rows: RowsInMemory
    kernel_x: CovariateKernel
    h: SteinOperator
    options: Options

    def witness(self, points: FloatArray) -> FloatArray:
        """Return Σ_ij F_iv F_jv h_ij at locations (m, d_x), (m,)."""
        each = [sums.by_row.sum(axis=0) + sums.diagonal for sums in self._sums(points)]
        return np.concatenate(each)

    def criterion(self, points: FloatArray, size: int, share: float) -> FloatArray:
        """Return the power criterion of sets of `size` locations, (m·size, d_x), (m,)."""
        parts = []
        for sums in self._sums(points, multiple=size):
            by_set = sums.by_row.reshape(self.rows.n, -1, size).sum(axis=2)
            parts.append(criterion_of_means(share * by_set))
        return np.concatenate(parts)

    def _sums(self, points: FloatArray, multiple: int = 1) -> Iterator[_LocationSums]:
        """Yield sums for as many locations at a time as fit the budget of memory."""
        memory = self.options.memory
        diagonal = self.h.diag()
        fitting = memory // (BYTES_PER_LOCATION * self.rows.n)
        group = max(1, fitting // multiple) * multiple
        for start in range(0, len(points), group):
            features = self.kernel_x(self.rows.subsample.x, points[start : start + group])
            sums = matmul(self.h, features, engine=self.options.engine, memory=memory)
            yield _LocationSums(
                by_row=np.multiply(sums, features, out=sums),
                diagonal=diagonal @ np.square(features),
            )


@dataclass(frozen=True, eq=False)
class SteinByFunctions:
    """A sample with k, and h ≈ ξξᵀ by test functions ξ."""

    rows: PreparedRows
    kernel_x: CovariateKernel
    test_functions: TestFunctions
    options: Options

    def witness(self, points: FloatArray) -> FloatArray:
        """Return Σ_ij F_iv F_jv h_ij at locations (m, d_x), (m,)."""
        products, _ = self._products(points)
        return np.asarray(np.square(products).sum(axis=0))

    def criterion(self, points: FloatArray, size: int, share: float) -> FloatArray:
        """Return the power criterion of sets of `size` locations, (m·size, d_x), (m,)."""
        n = self.rows.n
        products, diagonal = self._products(points)
        sums = (np.square(products).sum(axis=0) - diagonal).reshape(-1, size).sum(axis=1)
        mean = sums / n
        squares = self._centred_squares(points, products, mean, size)
        spread = 2.0 * share * np.sqrt(squares / (n - 1))
        out = np.zeros(len(mean))
        return np.asarray(np.divide(share * mean, spread, out=out, where=spread > 0))

    def _products(self, points: FloatArray) -> list[FloatArray]:
        """Return A = ξᵀF (q, m), and Σ_i F_iv²‖ξ_i‖² (m,)."""

        def task(xi: AnyArray, f: FloatArray) -> list[FloatArray]:
            return [xi.T @ f, np.square(xi).sum(axis=1) @ np.square(f)]

        return self._sum_over_rows(points, task)

    def _centred_squares(
        self, points: FloatArray, products: FloatArray, mean: FloatArray, size: int
    ) -> FloatArray:
        """Return the sums of squares of row sums of sets of locations, centred, (m,)."""

        def task(xi: AnyArray, f: FloatArray) -> list[FloatArray]:
            sums = f * (xi @ products - np.square(xi).sum(axis=1)[:, None] * f)
            by_set = sums.reshape(len(f), -1, size).sum(axis=2)
            return [np.square(by_set - mean).sum(axis=0)]

        return self._sum_over_rows(points, task)[0]

    def _sum_over_rows(
        self,
        points: FloatArray,
        task: Callable[[AnyArray, FloatArray], list[FloatArray]],
    ) -> list[FloatArray]:
        """Add up what a task makes of ξ and F, over all rows."""
        kernel = self.kernel_x
        functions = self.test_functions
        step = max(1, HELD_NUMBERS // len(points))

        def on_piece(piece: Piece) -> list[FloatArray]:
            xi = functions.evaluate(piece.residuals)
            parts = (slice(start, start + step) for start in range(0, len(xi), step))
            return sum_arrays(
                task(xi[part], kernel(piece.x[part], points)) for part in parts
            )

        sums = reduce_over(self.rows, self.options.engine, on_piece, sum_arrays)
        check_overflow(*sums)
        return sums
