"""The Gaussian model, with any mean and any variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, ShapeError, UnsupportedModelError
from condgof.models._base import as_rows
from condgof.models._parameters import Parameter, check_positive
from condgof.models._parametric import Parametric

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False, init=False)
class Normal(Parametric):
    """Gaussian model y | x ~ N(mean(x), std(x)²), or N(mean(x), cov(x)).

    Linear, quadratic and heteroscedastic regression are special cases.

    Parameters
    ----------
    mean : float, (d_y,) array or callable
        A constant, or a function x → (n,) or (n, d_y).
    std : float, (d_y,) array or callable, optional
        Standard deviation of each coordinate (they are independent), as for `mean`.
    cov : (d_y, d_y) array or callable, optional
        Covariance matrix in place of `std`, or a function x → (n, d_y, d_y).

    Examples
    --------
    >>> model = Normal(mean=lambda x: 2 * x, std=0.5)
    >>> model.score(np.array([1.0, 2.5]), np.array([0.5, 1.0]))
    array([[-0.],
           [-2.]])
    """

    mean: Parameter
    std: Parameter | None
    cov: Parameter | None

    def __init__(self, mean: Any, std: Any = None, *, cov: Any = None) -> None:
        if (std is None) == (cov is None):
            raise InputError("Normal needs exactly one of std= and cov=.")
        self._read(mean=mean, std=std, cov=cov)

    def _std(self, x: Any, n: int, d_y: int) -> FloatArray:
        assert self.std is not None
        return check_positive(self.std.at(x, n, (d_y,)), "std")

    def _chol(self, x: Any, n: int, d_y: int) -> FloatArray:
        assert self.cov is not None
        if not callable(self.cov.value) and self.cov.value.ndim == 0:
            raise ShapeError("cov must be a matrix, got a number. Pass std= for equal variances.")
        cov = self.cov.at(x, n, (d_y, d_y))
        skew = np.abs(cov - cov.transpose(0, 2, 1)).reshape(n, -1).max(axis=1)
        size = np.abs(cov).reshape(n, -1).max(axis=1)
        if (skew > 1e-8 * size).any():
            raise InputError(f"cov is not symmetric, first in row {int(np.argmax(skew > 1e-8 * size))}.")
        try:
            return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise InputError("cov is not positive definite in some row.") from error

    def _residual(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray]:
        """Return standardised residuals z and the scale: std (n, d) or a Cholesky factor."""
        y = as_rows(y)
        n, d_y = y.shape
        centred = y - self.mean.at(x, n, (d_y,))
        if self.cov is None:
            std = self._std(x, n, d_y)
            return centred / std, std
        chol = self._chol(x, n, d_y)
        return _solve(chol, centred), chol

    def score(self, y: AnyArray, x: Any) -> FloatArray:
        """Return −Σ⁻¹(y − mean), (n, d_y)."""
        z, scale = self._residual(y, x)
        if self.cov is None:
            return -z / scale
        return -_solve(scale.transpose(0, 2, 1), z)

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        z, scale = self._residual(y, x)
        diagonal = scale if self.cov is None else np.diagonal(scale, axis1=1, axis2=2)
        values: FloatArray = -0.5 * (z * z + LOG_2PI).sum(axis=1) - np.log(diagonal).sum(axis=1)
        return values

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self._one_residual(y, x)))

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, (n,)."""
        from scipy.special import ndtr

        return np.asarray(ndtr(-self._one_residual(y, x)))

    def _one_residual(self, y: AnyArray, x: Any) -> FloatArray:
        z, _ = self._residual(y, x)
        if z.shape[1] != 1:
            raise UnsupportedModelError("The cdf of a Normal model is there for d_y = 1 only.")
        return z[:, 0]

    def normal_scores(self, y: AnyArray, x: Any) -> FloatArray:
        """Return L⁻¹(y − mean) with LLᵀ the covariance, which is Rosenblatt's sequence, (n, d_y)."""
        return self._residual(y, x)[0]

    def marginals(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the standardised coordinates, their slopes 1/std and marginal scores, (n, d_y) each."""
        y = as_rows(y)
        mean, std = self.mean_std(x, len(y))
        u = (y - mean) / std
        return u, 1.0 / std, -u / std

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the mean, and standard deviations or Cholesky factors of the covariance."""
        if self.cov is None:
            return self.mean_std(x, n)
        n = self._size(x, n)
        d_y = self._d_y(x)
        return np.array(self.mean.at(x, n, (d_y,))), self._chol(x, n, d_y)

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row of x, (n, d_y)."""
        n = self._size(x, n)
        d_y = self._d_y(x)
        z = rng.standard_normal((n, d_y))
        mean = self.mean.at(x, n, (d_y,))
        if self.cov is None:
            return mean + self._std(x, n, d_y) * z
        return mean + (self._chol(x, n, d_y) @ z[:, :, None])[:, :, 0]

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, d_y) each."""
        n = self._size(x, n)
        d_y = self._d_y(x)
        mean = np.array(self.mean.at(x, n, (d_y,)))
        if self.cov is None:
            return mean, np.array(self._std(x, n, d_y))
        self._chol(x, n, d_y)
        cov = self.cov.at(x, n, (d_y, d_y))
        return mean, np.sqrt(np.diagonal(cov, axis1=1, axis2=2))


def _solve(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Solve one linear system a row: (n, d, d) and (n, d) → (n, d)."""
    return np.asarray(np.linalg.solve(matrices, vectors[:, :, None])[:, :, 0], dtype=np.float64)


def normal(mean: Any, std: Any = None, *, cov: Any = None) -> Normal:
    """Gaussian model from arrays of predictions, one row for each observation.

    Parameters
    ----------
    mean : array_like of shape (n,) or (n, d_y)
        Predicted means.
    std : array_like of shape (n,) or (n, d_y), or float, optional
        Predicted standard deviations.
    cov : array_like of shape (n, d_y, d_y), optional
        Predicted covariance matrices, in place of `std`.

    Returns
    -------
    Normal
        A model that is bound to these n rows.

    Examples
    --------
    >>> normal(mean=[0.0, 1.0], std=[1.0, 2.0]).score(np.array([1.0, 1.0]), None)
    array([[-1.],
           [-0.]])
    """
    return Normal.bound(mean, std, cov=cov)
