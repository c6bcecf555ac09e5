"""Where in x a model fails: the witness and the power criterion at many locations.

Both are quadratic in the features F_iv = k(x_i, v) with the y-side of the Stein matrix in the middle,
so that one sweep over that matrix serves all locations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Threads, as_engine
from condgof.kernels import CovariateKernel, Gaussian, Kernel
from condgof.methods import Scored, check_reg
from condgof.sample import RngLike, Sample, Seed
from condgof.stein import (
    DEFAULT_MEMORY,
    ArrayWeights,
    SteinOperator,
    check_memory,
    criterion_of_means,
    matmul,
    sweep,
)


def witness(
    model: Any,
    x: Any,
    y: Any,
    *,
    at: Any,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> FloatArray:
    """How much model and data differ at locations in x.

    At v it is (1/d_y)‖Ĝ(v)‖² = (1/(d_y n²)) Σ_{ij} k(x_i, v) k(x_j, v) h_p(i, j), never negative. It is
    large where the model is wrong *and* there are data; `power_criterion` divides by its noise.

    Parameters
    ----------
    model : ConditionalModel or anything `as_model` takes
        The model.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample.
    at : array_like of shape (m, d_x), or (m,) when d_x = 1, or frame
        Where to look.
    kernel_x, kernel_y, scale_x, rng, engine, memory
        As in `kcsd`; `rng` matters only for the median heuristic above 1,000 rows.

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
    view = _View.of(model, x, y, kernel_x, kernel_y, scale_x, rng, engine, memory)
    points = view.scored.sample.locations(at) / view.scored.scales
    own = view.operator.diag()
    out = np.empty(len(points))
    for part, features in view.features(points):
        sums = sweep(view.operator, ArrayWeights(features), engine=view.engine, memory=view.memory)
        out[part] = sums.forms + own @ (features * features)
    # Rounding may take a value that is 0 in exact arithmetic just below it.
    return np.maximum(out, 0.0) / (view.scored.sample.d_y * view.scored.sample.n**2)


def power_criterion(
    model: Any,
    x: Any,
    y: Any,
    *,
    at: Any,
    reg: float = 0.0,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "none",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> FloatArray:
    """Signal-to-noise ratio of FSCD at locations in x: where a misfit can best be detected.

    For a set V it is T̂_V / (σ̂_V + reg), with T̂_V the U-statistic of FSCD and σ̂_V twice the standard
    deviation of its row means (paper, Corollary 6).

    Parameters
    ----------
    model : ConditionalModel or anything `as_model` takes
        The model.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample.
    at : array_like of shape (m, d_x), (m,) when d_x = 1, or (m, J, d_x); or frame
        Single locations, or m sets of J locations.
    reg : float
        Added to σ̂_V.
    kernel_x, kernel_y, scale_x, rng, engine, memory
        As in `kcsd`; `rng` matters only for the median heuristic above 1,000 rows.

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
    view = _View.of(model, x, y, kernel_x, kernel_y, scale_x, rng, engine, memory)
    points = view.scored.sample.locations(at, sets=True) / view.scored.scales
    size = points.shape[1] if points.ndim == 3 else 1
    n, d_y = view.scored.sample.n, view.scored.sample.d_y
    out = np.empty(len(points))
    flat = points.reshape(-1, points.shape[-1])
    for part, features in view.features(flat, multiple=size):
        product = matmul(view.operator, features, engine=view.engine, memory=view.memory)
        product *= features
        means = product.reshape(n, -1, size).sum(axis=2) / (size * d_y * (n - 1))
        out[part.start // size : part.stop // size] = criterion_of_means(means, reg)
    return out


@dataclass(frozen=True, eq=False)
class _View:
    """A scored sample with its kernels: the y-side of the Stein matrix, and features on demand."""

    scored: Scored
    kernel_x: CovariateKernel
    operator: SteinOperator
    engine: Threads
    memory: int

    @classmethod
    def of(
        cls,
        model: Any,
        x: Any,
        y: Any,
        kernel_x: Kernel,
        kernel_y: Kernel,
        scale_x: str,
        rng: RngLike,
        engine: Any,
        memory: int,
    ) -> _View:
        threads, memory = as_engine(engine), check_memory(memory)
        scored = Scored.of(model, Sample.of(x, y), scale_x)
        ready_x, ready_y = scored.kernels(kernel_x, kernel_y, Seed.of(rng))
        return cls(scored, ready_x, scored.operator(CovariateKernel(()), ready_y), threads, memory)

    def features(self, points: FloatArray, multiple: int = 1) -> Any:
        """Yield slices of locations, in groups that fit the memory budget, and their features."""
        n = self.scored.sample.n
        group = max(1, self.memory // (32 * n) // multiple) * multiple
        for start in range(0, len(points), group):
            part = slice(start, min(start + group, len(points)))
            yield part, self.kernel_x(self.scored.x, points[part])
