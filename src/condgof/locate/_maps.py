"""Where in x a model fails: the witness and the power criterion at many locations.

Both are quadratic in the features F_iv = k(x_i, v) with the y-side of the Stein matrix in the middle,
so that one sweep over that matrix serves all locations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, as_engine
from condgof.errors import InputError
from condgof.kernels import CovariateKernel, Gaussian, Kernel, ResponseKernel
from condgof.laws import as_model, law_of
from condgof.methods import (
    SOLVERS,
    Scored,
    Stream,
    Units,
    check_reg,
    check_source_call,
    find_landmarks,
    lay_out,
)
from condgof.sample import RngLike, Sample, Seed
from condgof.stein import (
    DEFAULT_MEMORY,
    ArrayWeights,
    Landmarks,
    Rows,
    SteinOperator,
    check_memory,
    criterion_of_means,
    map_spread,
    map_sums,
    matmul,
    sweep,
)


def witness(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    at: Any,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    solver: str = "auto",
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> FloatArray:
    """How much model and data differ at locations in x.

    At v it is (1/d_y)‖Ĝ(v)‖² = (1/(d_y n²)) Σ_{ij} k(x_i, v) k(x_j, v) h_p(i, j), never negative. It is
    large where the model is wrong *and* there are data; `power_criterion` divides by its noise. Where
    the model's support is bounded, y is compared on the whole line, as in `kcsd`.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays.
    at : array_like of shape (m, d_x), or (m,) when d_x = 1, or frame
        Where to look.
    kernel_x, kernel_y, scale_x, missing, rng, engine, memory
        As in `kcsd`; `rng` matters only for the median heuristic above 1,000 rows and for the
        low-rank factor.
    solver : {"auto", "exact", "lowrank"}
        "lowrank" works from a factor of h, linear in n; "auto" takes it above 5,000 rows.

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
    view = _View.of(model, x, y, kernel_x, kernel_y, scale_x, solver, missing, rng, engine, memory)
    points = view.scored.sample.locations(at) / view.scored.scales
    out = np.empty(len(points))
    if view.landmarks is not None:
        products, _ = map_sums(
            view.landmarks, view.rows(), view.features_at(points), len(points), view.engine
        )
        out[:] = np.square(products).sum(axis=0)
    else:
        operator = view.operator
        own = operator.diag()
        for part, features in view.features(points):
            sums = sweep(operator, ArrayWeights(features), engine=view.engine, memory=view.memory)
            out[part] = sums.forms + own @ (features * features)
    # Rounding may take a value that is 0 in exact arithmetic just below it.
    return np.maximum(out, 0.0) / (view.scored.sample.d_y * view.n**2)


def power_criterion(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    at: Any,
    reg: float = 0.0,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    solver: str = "auto",
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> FloatArray:
    """Signal-to-noise ratio of FSCD at locations in x: where a misfit can best be detected.

    For a set V it is T̂_V / (σ̂_V + reg), with T̂_V the U-statistic of FSCD and σ̂_V twice the standard
    deviation of its row means (paper, Corollary 6). Where the model's support is bounded, y is compared
    on the whole line, as in `kcsd`.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays.
    at : array_like of shape (m, d_x), (m,) when d_x = 1, or (m, J, d_x); or frame
        Single locations, or m sets of J locations.
    reg : float
        Added to σ̂_V.
    kernel_x, kernel_y, scale_x, missing, rng, engine, memory
        As in `kcsd`; `rng` matters only for the median heuristic above 1,000 rows and for the
        low-rank factor.
    solver : {"auto", "exact", "lowrank"}
        "lowrank" works from a factor of h, linear in n; "auto" takes it above 5,000 rows.

    Returns
    -------
    ndarray of shape (m,)
        0 where σ̂_V + reg is 0.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> x, y = cg.study.problem("hgm-1d").draw(500, np.random.default_rng(0))
    >>> values = cg.power_criterion(cg.study.problem("hgm-1d").p, x, y, at=[-1.0, 1.0], rng=0)
    >>> bool(values[1] > values[0])
    True
    """
    reg = check_reg(reg)
    view = _View.of(model, x, y, kernel_x, kernel_y, scale_x, solver, missing, rng, engine, memory)
    points = view.scored.sample.locations(at, sets=True) / view.scored.scales
    size = points.shape[1] if points.ndim == 3 else 1
    n, d_y = view.scored.sample.n, view.scored.sample.d_y
    flat = points.reshape(-1, points.shape[-1])
    if view.landmarks is not None:
        return _lowrank_criterion(view, flat, size, reg)
    operator, out = view.operator, np.empty(len(points))
    for part, features in view.features(flat, multiple=size):
        product = matmul(operator, features, engine=view.engine, memory=view.memory)
        product *= features
        means = product.reshape(n, -1, size).sum(axis=2) / (size * d_y * (n - 1))
        out[part.start // size : part.stop // size] = criterion_of_means(means, reg)
    return out


def _lowrank_criterion(view: _View, flat: FloatArray, size: int, reg: float) -> FloatArray:
    """Power criterion from a low-rank factor of h, in two passes over the rows."""
    assert view.landmarks is not None
    n, features = view.n, view.features_at(flat)
    products, own = map_sums(view.landmarks, view.rows(), features, len(flat), view.engine)
    totals = (np.square(products).sum(axis=0) - own).reshape(-1, size).sum(axis=1)
    squares = map_spread(view.landmarks, view.rows(), features, products, totals / n, size, view.engine)
    share = 1.0 / (size * view.scored.sample.d_y * (n - 1))
    spread = 2.0 * share * np.sqrt(squares / (n - 1)) + reg
    out = np.zeros(len(totals))
    values: FloatArray = np.divide(share * totals / n, spread, out=out, where=spread > 0)
    return values


#: Above this many rows "auto" takes the low-rank factor.
EXACT_ROWS = 5000
LOWRANK_TOLERANCE, LOWRANK_CAP = 2e-4, 500


@dataclass(frozen=True, eq=False)
class _View:
    """A scored sample with its kernels: the y-side of the Stein matrix, and features on demand.

    `landmarks` is the low-rank factor of the y-side, or None where `operator` is to be used; with
    a `stream`, `scored` is its subsample.
    """

    scored: Scored
    stream: Stream | None
    kernel_x: CovariateKernel
    kernel_y: ResponseKernel
    landmarks: Landmarks | None
    engine: Engine
    memory: int

    @property
    def operator(self) -> SteinOperator:
        """The y-side of the Stein matrix."""
        return self.scored.operator(CovariateKernel(()), self.kernel_y)

    def rows(self) -> Rows:
        """The rows, for sums over them."""
        return (self.stream or self.scored).rows()

    @property
    def n(self) -> int:
        """Number of rows."""
        return (self.stream or self.scored).n

    def features_at(self, points: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """The map from x (b, d_x) to k(x, v) for all points v, (b, m)."""
        kernel = self.kernel_x  # and nothing else of the view: workers get this function
        return lambda x: kernel(x, points)

    @classmethod
    def of(
        cls,
        model: Any,
        x: Any,
        y: Any,
        kernel_x: Kernel,
        kernel_y: Kernel,
        scale_x: str,
        solver: str,
        missing: str,
        rng: RngLike,
        engine: Any,
        memory: int,
    ) -> _View:
        if not isinstance(solver, str) or solver not in SOLVERS:
            raise InputError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {solver!r}.")
        threads, memory, seed = as_engine(engine), check_memory(memory), Seed.of(rng)
        stream = None
        model, x, y = lay_out(model, x, y)
        if check_source_call(x, y, solver, missing):
            stream = Stream.of(model, x, seed, threads, Units(scale_x))
            scored = stream.subsample
        else:
            sample = Sample.of(x, y, to_test=False, missing=missing).ready(discrete=True)
            law = law_of(as_model(model), sample)
            scored = Scored.of(law, sample.ready(discrete=law.discrete), Units(scale_x))
        ready_x, ready_y = scored.kernels(kernel_x, kernel_y, seed)
        landmarks = None
        if stream or solver == "lowrank" or (solver == "auto" and scored.n > EXACT_ROWS):
            landmarks = find_landmarks(
                scored,
                CovariateKernel(()),
                ready_y,
                seed,
                cap=LOWRANK_CAP,
                tolerance=LOWRANK_TOLERANCE,
            )
        return cls(scored, stream, ready_x, ready_y, landmarks, threads, memory)

    def features(self, points: FloatArray, multiple: int = 1) -> Any:
        """Yield slices of locations, in groups that fit the memory budget, and their features."""
        n = self.scored.sample.n
        group = max(1, self.memory // (32 * n) // multiple) * multiple
        for start in range(0, len(points), group):
            part = slice(start, min(start + group, len(points)))
            yield part, self.kernel_x(self.scored.x, points[part])
