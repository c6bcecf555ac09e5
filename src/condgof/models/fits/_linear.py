"""Linear Gaussian models: least squares, and variances that depend on x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, NumericalError
from condgof.models._base import as_rows
from condgof.models._library import Fitted
from condgof.models._normal import Normal
from condgof.models.fits._design import Design
from condgof.sample import as_numbers

#: The likelihood is at its maximum when a step changes its logarithm by less than this a row.
CONVERGED = 1e-11
MOST_STEPS = 200
#: −E log χ²₁, by which the logarithm of a squared residual lies below that of the variance.
LOG_CHI2 = 1.2703628454614782


@dataclass(frozen=True, eq=False)
class LinearNormal(Fitted):
    """Gaussian model whose mean is linear in x, and whose variance is constant or log-linear.

    Parameters
    ----------
    design : Design
        How x enters.
    coefficients : ndarray of shape (p, d_y)
        Of the mean.
    covariance : ndarray of shape (d_y, d_y), optional
        Of the residuals, where it is constant.
    log_variance : ndarray of shape (p, d_y), optional
        Coefficients of the logarithm of the variance, where it is not.
    """

    design: Design
    coefficients: FloatArray
    covariance: FloatArray | None = None
    log_variance: FloatArray | None = None

    def at(self, x: Any, n: int) -> Normal:
        """Return the Gaussian model at the n rows of x."""
        X = self.design.at(x)
        mean = X @ self.coefficients
        if self.log_variance is not None:
            return Normal.bound(mean, np.exp(0.5 * (X @ self.log_variance)))
        assert self.covariance is not None
        if mean.shape[1] == 1:
            return Normal.bound(mean, np.full(mean.shape, np.sqrt(self.covariance[0, 0])))
        return Normal.bound(mean, cov=np.broadcast_to(self.covariance, (n, *self.covariance.shape)))

    def __repr__(self) -> str:
        parts = [f"mean: {_named(self.design.names, self.coefficients)}"]
        if self.log_variance is not None:
            parts.append(f"log variance: {_named(self.design.names, self.log_variance)}")
        if self.covariance is not None:
            stds = ", ".join(f"{s:.4g}" for s in np.sqrt(np.diag(self.covariance)))
            parts.append(f"std: {stds}")
        return f"LinearNormal({'; '.join(parts)})"


def _named(names: tuple[str, ...], values: FloatArray) -> str:
    shown = [", ".join(f"{v:.4g}" for v in row) for row in values]
    one = values.shape[1] == 1
    return ", ".join(f"{n}={v if one else f'({v})'}" for n, v in zip(names, shown, strict=True))


@dataclass(frozen=True)
class Ols:
    """Least squares with an estimated variance; see `ols`."""

    intercept: bool = True

    def __call__(self, x: Any, y: Any) -> LinearNormal:
        """Fit."""
        design, X = Design.of(x, intercept=self.intercept)
        targets = _targets(y, len(X))
        coefficients, left = _least_squares(X, targets)
        residuals = targets - X @ coefficients
        covariance = residuals.T @ residuals / left
        scale = np.square(targets).max(axis=0)
        if not (np.diag(covariance) > 1e-26 * scale).all():
            raise NumericalError("The residuals of least squares are 0: y has no noise to model.")
        return LinearNormal(design, coefficients, covariance=covariance)


def ols(*, intercept: bool = True) -> Ols:
    """Return the fit of y | x ~ N(xβ, σ²) by least squares, σ² = RSS/(n − rank), for `composite`.

    With several columns of y it estimates their full residual covariance. Text and category columns of a
    frame enter as one indicator for each level but the first.

    Parameters
    ----------
    intercept : bool
        Whether to add a constant.

    Returns
    -------
    callable
        (x, y) → model.

    Examples
    --------
    >>> import condgof as cg
    >>> cg.fits.ols()(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 5.0, 8.0]))
    LinearNormal(mean: intercept=0.8, x=2.3; std: 0.3873)
    """
    return Ols(_flag(intercept))


@dataclass(frozen=True)
class Heteroscedastic:
    """Maximum likelihood with a log-linear variance; see `heteroscedastic`."""

    def __call__(self, x: Any, y: Any) -> LinearNormal:
        """Fit."""
        design, X = Design.of(x)
        targets = _targets(y, len(X))
        found = [_maximise(X, column) for column in targets.T]
        mean, log_variance = (np.column_stack(parts) for parts in zip(*found, strict=True))
        return LinearNormal(design, mean, log_variance=log_variance)


def heteroscedastic() -> Heteroscedastic:
    """Return the fit of y | x ~ N(xβ, exp(xγ)) by maximum likelihood, for `composite`.

    Both have an intercept; several columns of y are independent given x. Text and category columns enter
    as in `ols`.

    Returns
    -------
    callable
        (x, y) → model.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 4, 2000)
    >>> y = x + np.exp(0.5 * x + 0.5) * rng.standard_normal(2000)
    >>> cg.fits.heteroscedastic()(x, y).log_variance.round(1).ravel()
    array([1., 1.])
    """
    return Heteroscedastic()


def _maximise(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Maximise the likelihood over β and γ: weighted least squares and Fisher scoring in turn."""
    beta, _ = _least_squares(X, y[:, None])
    pinv = np.linalg.pinv(X)
    squares = np.square(y - X @ beta[:, 0])
    floor = 1e-8 * float(squares.mean())
    if not floor > 0:
        raise NumericalError("The residuals of least squares are 0: y has no noise to model.")
    gamma = pinv @ (np.log(np.maximum(squares, floor)) + LOG_CHI2)
    b, value = _weighted(X, y, gamma)
    for _ in range(MOST_STEPS):
        # Fisher's information of γ is XᵀX/2, so that a step is a regression of r²/σ² − 1.
        step = pinv @ (np.square(y - X @ b) * np.exp(-(X @ gamma)) - 1.0)
        for halving in range(30):
            tried = gamma + step * 0.5**halving
            new_b, new = _weighted(X, y, tried)
            if new >= value - 1e-13 * abs(value):
                break
        gain = new - value
        b, gamma, value = new_b, tried, new
        if abs(gain) <= CONVERGED * len(y):
            return b, gamma
    raise NumericalError(
        f"The likelihood of a log-linear variance has not converged after {MOST_STEPS} steps "
        f"({len(y)} rows, {X.shape[1]} coefficients). Use fewer columns, or more rows."
    )


def _weighted(X: FloatArray, y: FloatArray, gamma: FloatArray) -> tuple[FloatArray, float]:
    """Return β given γ by weighted least squares, and the log-likelihood there (less a constant)."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        log_variance = X @ gamma
        weights = np.exp(-0.5 * log_variance)
        if not np.isfinite(weights).all() or not (weights > 0).all():
            return np.zeros(X.shape[1]), -np.inf
        beta = np.linalg.lstsq(X * weights[:, None], y * weights, rcond=None)[0]
        value = -0.5 * float((log_variance + np.square((y - X @ beta) * weights)).sum())
    return np.asarray(beta, dtype=np.float64), value if np.isfinite(value) else -np.inf


def _least_squares(X: FloatArray, y: FloatArray) -> tuple[FloatArray, int]:
    """Return the coefficients (p, d_y), and how many rows there are more than they can fit."""
    coefficients, _, rank, _ = np.linalg.lstsq(X, y, rcond=None)
    left = len(X) - int(rank)
    if left < 1:
        raise InputError(
            f"{len(X)} rows cannot tell {X.shape[1]} coefficients and a variance. "
            "Pass more rows or fewer columns."
        )
    return np.asarray(coefficients, dtype=np.float64), left


def _targets(y: Any, n: int) -> FloatArray:
    """Return y as (n, d_y) of doubles."""
    numbers: AnyArray = as_numbers(y, "y")
    if numbers.ndim not in (1, 2) or len(numbers) != n:
        raise InputError(f"y must have shape ({n},) or ({n}, d_y), got {numbers.shape}.")
    return as_rows(numbers)


def _flag(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"intercept must be True or False, got {value!r}.")
    return bool(value)
