"""The Gaussian law, with any mean and any variance."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, InputTypeError, ShapeError
from condgof.laws._crps import normal_crps
from condgof.laws._families import LOG_2PI
from condgof.laws._law import as_rows, check_levels
from condgof.laws._parameters import Continuous, check_positive, family


@family
class Normal(Continuous):
    """Gaussian model y | x ~ N(mean(x), std(x)²), or N(mean(x), cov(x)).

    Linear, quadratic and heteroscedastic regression are special cases.

    Parameters
    ----------
    mean : number, array (n,) or (n, d_y), or function of x
        Arrays have one row for each observation (or one row for all); a function returns such an array.
    std : as `mean`, optional
        Standard deviation of each coordinate (they are independent).
    cov : array (d_y, d_y) or (n, d_y, d_y), or function of x, optional
        Covariance matrix in place of `std`.

    Examples
    --------
    >>> model = Normal(mean=lambda x: 2 * x, std=0.5)
    >>> model(np.array([0.5, 1.0])).score(np.array([1.0, 2.5]))
    array([[-0.],
           [-2.]])
    """

    mean: Any
    std: Any = None
    cov: Any = field(default=None, kw_only=True)

    EITHER = ("std", "cov")
    PLAIN: ClassVar = {"cov": 2}

    def _scale(self, n: int, d_y: int) -> FloatArray:
        """Return std (n, d_y), or the Cholesky factors of cov (n, d_y, d_y), checked."""
        if self.cov is None:
            return check_positive(self.std.values(n, (d_y,)), "std")
        if self.cov.value.ndim == 0:
            raise ShapeError("cov must be a matrix, got a number. Pass std= for equal variances.")
        cov = self.cov.values(n, (d_y, d_y))
        skew = np.abs(cov - cov.transpose(0, 2, 1)).max(axis=(1, 2))
        bad = np.flatnonzero(skew > 1e-8 * np.abs(cov).max(axis=(1, 2)))
        if len(bad):
            raise InputError(f"cov is not symmetric, first in row {bad[0]}.")
        try:
            return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise InputError("cov is not positive definite in some row.") from error

    def _residual(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return standardised residuals z and the scale: std (n, d) or a Cholesky factor."""
        y = as_rows(y)
        n, d_y = self._size(y), y.shape[1]
        centred, scale = y - self.mean.values(n, (d_y,)), self._scale(n, d_y)
        return centred / scale if self.cov is None else _solve(scale, centred), scale

    def score(self, y: AnyArray) -> FloatArray:
        """Return −Σ⁻¹(y − mean), (n, d_y)."""
        z, scale = self._residual(y)
        return -z / scale if self.cov is None else -_solve(scale.transpose(0, 2, 1), z)

    def log_prob(self, y: AnyArray) -> FloatArray:
        z, scale = self._residual(y)
        diagonal = scale if self.cov is None else np.diagonal(scale, axis1=1, axis2=2)
        return np.asarray(-0.5 * (z * z + LOG_2PI).sum(axis=1) - np.log(diagonal).sum(axis=1))

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        z, _ = self._residual(y)
        self._one_column(z.shape[1], "sf" if upper else "cdf")
        return np.asarray(ndtr(-z[:, 0] if upper else z[:, 0]))

    def crps(self, y: AnyArray) -> FloatArray:
        z, _ = self._residual(y)
        self._one_column(z.shape[1], "CRPS")
        return normal_crps(z, self._moments(len(z), 1)[1])[:, 0]

    def normal_scores(self, y: AnyArray) -> FloatArray:
        return self._residual(y)[0]

    def marginals(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        y = as_rows(y)
        mean, std = self._moments(self._size(y), y.shape[1])
        u = (y - mean) / std
        return u, 1.0 / std, -u / std

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        n, d_y = self._size(), self._d_y
        return np.array(self.mean.values(n, (d_y,))), np.array(self._scale(n, d_y))

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        n = self._size()
        z: FloatArray = np.ravel(values) - self.mean.values(n, (1,))
        z /= self._scale(n, 1).reshape(n, 1)
        return np.asarray(ndtr(z, out=z))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        n, d_y = self._size(), self._d_y
        z, mean, scale = rng.standard_normal((n, d_y)), self.mean.values(n, (d_y,)), self._scale(n, d_y)
        return np.asarray(mean + (scale * z if self.cov is None else (scale @ z[:, :, None])[:, :, 0]))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        return self._moments(self._size(), self._d_y)

    def _moments(self, n: int, d_y: int) -> tuple[FloatArray, FloatArray]:
        mean, scale = np.array(self.mean.values(n, (d_y,))), np.array(self._scale(n, d_y))
        if self.cov is None:
            return mean, scale
        return mean, np.sqrt(np.diagonal(self.cov.values(n, (d_y, d_y)), axis1=1, axis2=2))

    def quantile(self, levels: Any) -> FloatArray:
        mean, std = self._moments(self._size(), 1)
        return mean + std * np.asarray(ndtri(check_levels(levels)))


def _solve(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Solve one linear system a row: (n, d, d) and (n, d) → (n, d)."""
    return np.asarray(np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0], dtype=np.float64)


def normal(mean: Any, std: Any = None, *, cov: Any = None) -> Normal:
    """Gaussian law from arrays of predictions, one row for each observation.

    Parameters
    ----------
    mean, std : array_like of shape (n,) or (n, d_y), or float
        Predicted means and standard deviations.
    cov : array_like of shape (n, d_y, d_y), optional
        Predicted covariance matrices, in place of `std`.

    Returns
    -------
    Normal

    Examples
    --------
    >>> normal(mean=[0.0, 1.0], std=[1.0, 2.0]).score(np.array([1.0, 1.0]))
    array([[-1.],
           [-0.]])
    """
    law = Normal(mean, std, cov=cov)
    if law.rows is None and not law._callable and np.ndim(mean) == 0:
        raise InputTypeError(
            "mean and std are single numbers, which say nothing of rows. Pass arrays of n rows, or "
            "use condgof.models.Normal for the same law at every x."
        )
    return law
