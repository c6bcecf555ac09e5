"""Where in x a model fails: the witness and the power criterion at many locations.

Both are quadratic in F_iv = k(x_i, v) with h between: by tiles, or through evidence, h ≈
ξξᵀ, A = ξᵀF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, Unpack

import numpy as np

from condgof._typing import AnyArray, FloatArray, TableLike
from condgof.errors import check_overflow
from condgof.kernels import CovariateKernel, Gaussian, Kernel, Radial
from condgof.methods._lowrank import plan_of
from condgof.methods._options import HowToTest, Options, prepare, read_options, spelled_out
from condgof.methods._scored import Scored, Units
from condgof.sample import Seed
from condgof.stein._criterion import criterion_of_means
from condgof.stein._evidence import Evidence
from condgof.stein._matrix import SteinOperator, matmul
from condgof.stein._sum import Piece, added, reduce_over

Data: TypeAlias = tuple[Any, Any, Any]
Kernels: TypeAlias = tuple[Kernel, Kernel]
#: Features of a piece that are held at a time.
HELD = 2**21


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
    view = _View.of(
        (model, x, y), (kernel_x, kernel_y), scale_x, *read_options(witness, how)
    )
    rows = view.scored.subsample
    points = rows.in_units(rows.sample.locations(at))
    if not isinstance(view.h, SteinOperator):
        out = np.square(view.products(points)[0]).sum(axis=0)
    else:
        out = np.concatenate(
            [sums.sum(axis=0) + own for sums, own in view.by_tiles(points)]
        )
    # Rounding may take a value that is 0 in exact arithmetic just below it.
    return np.asarray(np.maximum(out, 0.0) / (rows.sample.d_y * float(view.scored.n) ** 2))


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
    >>> values = cg.power_criterion(cg.study.problem("hgm-1d").p, x, y, at=[-1.0, 1.0], rng=0)
    >>> bool(values[1] > values[0])
    True
    """
    read = read_options(power_criterion, how)
    view = _View.of((model, x, y), (kernel_x, kernel_y), scale_x, *read)
    rows, n = view.scored.subsample, view.scored.n
    points = rows.in_units(rows.sample.locations(at, sets=True))
    size = points.shape[1] if points.ndim == 3 else 1
    flat, share = (
        points.reshape(-1, points.shape[-1]),
        1.0 / (size * rows.sample.d_y * (n - 1)),
    )
    if isinstance(view.h, SteinOperator):
        by_set = (
            sums.reshape(n, -1, size).sum(axis=2) for sums, _ in view.by_tiles(flat, size)
        )
        return np.concatenate([criterion_of_means(share * sums) for sums in by_set])
    products, own = view.products(flat)
    mean = (np.square(products).sum(axis=0) - own).reshape(-1, size).sum(axis=1) / n
    spread = 2.0 * share * np.sqrt(view.squares(flat, products, mean, size) / (n - 1))
    return np.asarray(
        np.divide(share * mean, spread, out=np.zeros(len(points)), where=spread > 0)
    )


@dataclass(frozen=True, eq=False)
class _View:
    """A sample with k, and h by tiles or by evidence."""

    scored: Scored
    kernel_x: CovariateKernel
    h: SteinOperator | Evidence
    options: Options

    @classmethod
    def of(
        cls, data: Data, on: Kernels, scale_x: str, options: Options, seed: Seed
    ) -> _View:
        # "auto" is exact for as many rows as in a test with 1,000 draws: 5,000.
        scored = prepare(*data, Units(scale_x), options, seed)[1]
        ready_x, ready_y = scored.subsample.kernels(*on, seed)
        exact, constant = options.chosen(scored.n) == "exact", CovariateKernel(())
        if exact and scored.source is None and isinstance(ready_y, Radial):
            return cls(scored, ready_x, scored.operator(constant, ready_y), options)
        # Of a discrete y the evidence is finite, and sums over it are exact.
        plan, _ = plan_of(scored, constant, ready_y, options, seed)
        return cls(scored, ready_x, plan.evidence, options)

    def by_tiles(
        self, points: FloatArray, multiple: int = 1
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield Σ_{j≠i} F_iv F_jv h_ij (n, m) and Σ_i F_iv² h_ii, for locations that fit the budget."""
        assert isinstance(self.h, SteinOperator)
        n, memory, own = self.scored.n, self.options.memory, self.h.diag()
        group = max(1, memory // (32 * n) // multiple) * multiple
        for start in range(0, len(points), group):
            features = self.kernel_x(self.scored.subsample.x, points[start : start + group])
            sums = matmul(self.h, features, engine=self.options.engine, memory=memory)
            yield np.multiply(sums, features, out=sums), own @ np.square(features)

    def products(self, points: FloatArray) -> list[FloatArray]:
        """Return A = ξᵀF (q, m), and Σ_i F_iv²‖ξ_i‖² (m,)."""
        return self._over(
            points, lambda xi, f: [xi.T @ f, np.square(xi).sum(axis=1) @ np.square(f)]
        )

    def squares(
        self, points: FloatArray, a: FloatArray, mean: FloatArray, size: int
    ) -> FloatArray:
        """Return the sum of squares of row sums of sets of locations, less their mean, (m,)."""

        def task(xi: AnyArray, f: FloatArray) -> list[FloatArray]:
            sums = f * (xi @ a - np.square(xi).sum(axis=1)[:, None] * f)
            return [
                np.square(sums.reshape(len(f), -1, size).sum(axis=2) - mean).sum(axis=0)
            ]

        return self._over(points, task)[0]

    def _over(
        self, points: FloatArray, task: Callable[[AnyArray, FloatArray], list[FloatArray]]
    ) -> list[FloatArray]:
        """Add up what a task makes of ξ and F, over all rows."""
        kernel, evidence, step = self.kernel_x, self.h, max(1, HELD // len(points))
        assert not isinstance(evidence, SteinOperator)

        def of_piece(piece: Piece) -> list[FloatArray]:
            xi = evidence.of(piece.y, piece.scores)
            parts = (slice(start, start + step) for start in range(0, len(xi), step))
            return added(task(xi[part], kernel(piece.x[part], points)) for part in parts)

        sums = reduce_over(self.scored.rows(), self.options.engine, of_piece, added)
        check_overflow(*sums)
        return sums
