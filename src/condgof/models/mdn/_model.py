"""The fitted network, as a conditional density model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, ShapeError
from condgof.models import _mixture_forms as forms
from condgof.models._base import ConditionalModel
from condgof.models._mixture_forms import Parts
from condgof.models.mdn._networks import (
    LOG_VARIANCE,
    RECTIFIED,
    Layers,
    Sizes,
    State,
    apply,
    check_state,
    fold,
)
from condgof.sample import as_numbers, is_frame, take_rows

#: Rows that are evaluated at a time.
BATCH_SIZE = 4096


@dataclass(frozen=True)
class History:
    """How training went.

    Parameters
    ----------
    train, validation : tuple of float
        Mean negative log-likelihood of each epoch, in the units of y; `validation` is empty when no
        rows were set aside.
    best_epoch : int
        The epoch, counted from 1, whose weights the model has.
    """

    train: tuple[float, ...] = ()
    validation: tuple[float, ...] = ()
    best_epoch: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class MDN(ConditionalModel):
    """Mixture density network, p(y|x) = Σ_c π_c(x) N(y; μ_c(x), diag σ_c(x)²).

    Three networks give π, μ and log σ² (paper, appendix C). `fit_mdn` makes one, with torch; what it
    makes is plain NumPy, evaluates in double precision and in batches, and needs torch no more.

    Parameters
    ----------
    sizes : Sizes
        Numbers of columns of x and y, and of components.
    state : mapping of str to ndarray
        The arrays of the networks, named as in torch's state dict.
    x_shift, x_scale : ndarrays of shape (d_x,)
        The networks see (x − x_shift)/x_scale.
    y_shift, y_scale : ndarrays of shape (d_y,)
        Means and standard deviations that the networks give are of (y − y_shift)/y_scale.
    x_names : tuple of str, optional
        The columns of the frame it was fitted on; a frame to score must have them, in any order.
    batch_size : int
        Rows that are evaluated at a time.
    history : History
        How training went.

    Examples
    --------
    >>> from condgof.models.mdn import fit_mdn
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 400)
    >>> y = x + 0.1 * rng.standard_normal(400)
    >>> model = fit_mdn(x, y, components=2, epochs=30, rng=0)
    >>> model.score(y, x).shape
    (400, 1)
    """

    sizes: Sizes
    state: State
    x_shift: FloatArray
    x_scale: FloatArray
    y_shift: FloatArray
    y_scale: FloatArray
    x_names: tuple[str, ...] | None = None
    batch_size: int = BATCH_SIZE
    history: History = field(default_factory=History)
    _layers: dict[str, Layers] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", check_state(self.state, self.sizes))
        d_x, d_y = self.sizes.d_x, self.sizes.d_y
        for name, d in (("x_shift", d_x), ("x_scale", d_x), ("y_shift", d_y), ("y_scale", d_y)):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != (d,) or not np.isfinite(array).all():
                raise InputError(f"{name} must be {d} finite numbers, got {array}.")
            if name.endswith("scale") and not (array > 0).all():
                raise InputError(f"{name} must be positive, got {array}.")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if not isinstance(self.batch_size, int) or self.batch_size < 1:
            raise InputError(f"batch_size must be a positive integer, got {self.batch_size!r}.")
        layers = {network: fold(self.state, network) for network in RECTIFIED}
        object.__setattr__(self, "_layers", layers)

    def __repr__(self) -> str:
        return f"MDN(d_x={self.sizes.d_x}, d_y={self.sizes.d_y}, components={self.sizes.components})"

    def with_batch_size(self, batch_size: int) -> MDN:
        """Return the same model, evaluated in batches of another size."""
        return replace(self, batch_size=batch_size)

    def save(self, path: str | Path) -> None:
        """Write the model to one file, in the safetensors format (no pickle); see `load`."""
        from condgof.models.mdn._files import write_model

        write_model(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> MDN:
        """Read a model that `save` wrote; nothing in the file is ever run."""
        from condgof.models.mdn._files import read_model

        return read_model(Path(path))

    def parts(self, x: Any) -> Parts:
        """Return weights (n, C), means and standard deviations (n, C, d_y) at every row of x."""
        d_y, c = self.sizes.d_y, self.sizes.components
        return Parts(*self._map_x(lambda parts: parts, x, (c,), (c, d_y), (c, d_y)))

    def score(self, y: AnyArray, x: Any) -> FloatArray:
        """Return ∇_y log p(y|x) in closed form, (n, d_y)."""
        return self._map(forms.score, y, x, (self.sizes.d_y,))

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        return self._map(forms.log_prob, y, x, ())

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        return self._map(forms.cdf, y, x, ())

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, (n,)."""
        return self._map(forms.sf, y, x, ())

    def cdf_grid(self, values: AnyArray, x: Any, n: int | None = None) -> FloatArray:
        """Return P(Y ≤ v | x) for each row of x and each of m values, d_y = 1, (n, m)."""
        (grid,) = self._map_x(lambda parts: (forms.cdf_grid(values, parts),), x, (len(values),))
        return grid

    def normal_scores(self, y: AnyArray, x: Any) -> FloatArray:
        """Return Rosenblatt's sequence of normal scores, (n, d_y)."""
        return self._map(forms.normal_scores, y, x, (self.sizes.d_y,))

    def marginals(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return normal scores of the marginal CDFs, their slopes and marginal scores, (n, d_y) each."""

        def stacked(rows: FloatArray, parts: Parts) -> FloatArray:
            return np.stack(forms.marginals(rows, parts), axis=1)

        values = self._map(stacked, y, x, (3, self.sizes.d_y))
        return values[:, 0], values[:, 1], values[:, 2]

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the mean, and standard deviations or Cholesky factors of the covariance."""
        d = self.sizes.d_y
        mean, scale = self._map_x(forms.location_scale, x, (d,), (d,) if d == 1 else (d, d))
        return mean, scale

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, d_y) each."""
        mean, std = self._map_x(forms.mean_std, x, (self.sizes.d_y,), (self.sizes.d_y,))
        return mean, std

    def mean_cov(self, x: Any) -> tuple[FloatArray, FloatArray]:
        """Return mean (n, d_y) and covariance (n, d_y, d_y)."""
        d = self.sizes.d_y
        mean, cov = self._map_x(forms.mean_cov, x, (d,), (d, d))
        return mean, cov

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row of x, (n, d_y); the same draws for any batch size."""
        n = len(x)
        uniform, values = rng.random((n, 1)), rng.standard_normal((n, self.sizes.d_y))
        for rows, parts in self._batches(x, n):
            values[rows] = forms.sample(parts, uniform[rows], values[rows])
        return values

    def _map(
        self,
        function: Callable[[FloatArray, Parts], FloatArray],
        y: AnyArray,
        x: Any,
        shape: tuple[int, ...],
    ) -> FloatArray:
        """Evaluate a function of y and the mixture batch by batch, (n, *shape)."""
        y = as_numbers(y, "y")
        n, d_y = len(y), self.sizes.d_y
        if y.shape != (n, d_y) and not (d_y == 1 and y.shape == (n,)):
            raise ShapeError(f"y must have {d_y} columns, as in the fit, got shape {y.shape}.")
        values = np.empty((n, *shape))
        for rows, parts in self._batches(x, n):
            values[rows] = function(y[rows].reshape(-1, d_y).astype(np.float64), parts)
        return values

    def _map_x(
        self, function: Callable[[Parts], tuple[FloatArray, ...]], x: Any, *shapes: tuple[int, ...]
    ) -> tuple[FloatArray, ...]:
        """Evaluate a function of the mixture batch by batch, an array (n, *shape) for each shape."""
        results = tuple(np.empty((len(x), *shape)) for shape in shapes)
        for rows, parts in self._batches(x, len(x)):
            for result, values in zip(results, function(parts), strict=True):
                result[rows] = values
        return results

    def _batches(self, x: Any, n: int) -> Iterator[tuple[slice, Parts]]:
        """Yield rows and the mixtures there, so that only one batch of mixtures is in memory."""
        if x is None or len(x) != n:
            got = "None" if x is None else f"{len(x)} rows"
            raise ShapeError(f"x must have {n} rows, one for each row of y, got {got}.")
        names = check_names(x, self.x_names)
        x = x if hasattr(x, "shape") else np.asarray(x)
        for start in range(0, n, self.batch_size):
            rows = slice(start, min(start + self.batch_size, n))
            part = take_rows(x, rows)  # type: ignore[arg-type]  # a slice takes rows, too
            values = as_numbers(part if names is None else part[names], "x")
            if values.ndim not in (1, 2) or values.size != len(values) * self.sizes.d_x:
                raise ShapeError(
                    f"x must have {self.sizes.d_x} columns, as in the fit, got shape {np.shape(x)}."
                )
            yield rows, self._at(values.reshape(-1, self.sizes.d_x).astype(np.float64))

    def _at(self, x: FloatArray) -> Parts:
        """Evaluate the networks at one batch of rows."""
        z = (x - self.x_shift) / self.x_scale
        raw = {network: apply(layers, z) for network, layers in self._layers.items()}
        weights = raw["weights"]
        weights -= weights.max(axis=1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=1, keepdims=True)
        shape = (len(x), self.sizes.components, self.sizes.d_y)
        means = raw["means"].reshape(shape) * self.y_scale + self.y_shift
        stds = np.exp(0.5 * np.clip(raw["variances"].reshape(shape), *LOG_VARIANCE))
        return Parts(weights, means, stds * self.y_scale)


def check_names(x: Any, names: tuple[str, ...] | None) -> list[str] | None:
    """Return the columns to take of a frame, or None where x has no names."""
    if names is None or not is_frame(x):
        return None
    missing = [name for name in names if name not in list(x.columns)]
    if missing:
        raise InputError(
            f"x lacks the column {missing[0]!r}. The model was fitted on the columns "
            f"{', '.join(map(repr, names))}."
        )
    return list(names)
