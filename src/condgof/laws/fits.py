"""Ready-made fits, (x, y) → model, for `composite` and `crossfit`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from condgof._typing import FloatArray, TableLike
from condgof.errors import (
    InputError,
    NumericalError,
    UnsupportedModelError,
    require,
    users_code,
)
from condgof.laws import _sklearn
from condgof.laws._as_model import as_model
from condgof.laws._families import Normal
from condgof.laws._law import Law, Model, ModelLike, as_rows
from condgof.laws._library import as_table
from condgof.sample import Column, as_numbers, encode_levels, read

__all__ = ["glm", "heteroscedastic", "ols", "sklearn"]
__dir__ = __all__.copy

#: The likelihood is at its maximum when a step changes its logarithm by less than this a
#: row.
CONVERGED, MOST_STEPS = 1e-11, 200
#: −E log χ²₁, by which the logarithm of a squared residual lies below that of the variance.
LOG_CHI2 = 1.2703628454614782
NO_NOISE = "The residuals of least squares are 0: y has no noise to model."
#: Families by name, as statsmodels calls them, with their link.
FAMILIES = {
    "gaussian": ("Gaussian", "Identity"), "gamma": ("Gamma", "Log"), "poisson": ("Poisson", "Log"),
    "inverse_gaussian": ("InverseGaussian", "Log"), "binomial": ("Binomial", "Logit"),
}  # fmt: skip


@dataclass(frozen=True)
class DesignMatrix:
    """How rows of x become rows of a design matrix: 1, numbers, and 0 and 1 for levels."""

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, x: TableLike) -> tuple[DesignMatrix, FloatArray]:
        """Read x; return the design, and its matrix (n, p) for these rows."""
        design = cls(read(x, "x")[2])
        return design, design.at(x)

    @property
    def names(self) -> tuple[str, ...]:
        listed = ["intercept"]
        for column in self.columns:
            levels = column.levels
            listed += (
                [column.name]
                if levels is None
                else [f"{column.name}={v}" for v in levels[1:]]
            )
        return tuple(listed)

    def at(self, x: Any) -> FloatArray:
        """Return the matrix (m, p) at rows of x, in the columns of the fit."""
        _, values, columns = read(x, "x")
        if len(columns) != len(self.columns):
            fitted = f"The model was fitted on {len(self.columns)} columns of x"
            raise InputError(f"{fitted}, and x has {len(columns)}.")
        parts = [np.ones((len(values), 1))]
        for part, column, first in zip(
            values.T[:, :, None], columns, self.columns, strict=True
        ):
            if column.categorical != first.categorical:
                kind = "text" if first.categorical else "numbers"
                raise InputError(
                    f"Column {column.name!r} of x must hold {kind}, as in the fit."
                )
            if column.levels != first.levels:
                raw = np.array(column.levels)[part[:, 0].astype(int)]
                part = encode_levels(raw, first, "x")[:, None]
            levels = first.levels
            parts.append(
                part if levels is None else (part == np.arange(1, len(levels))) * 1.0
            )
        return np.concatenate(parts, axis=1)

    def named(self, values: FloatArray) -> str:
        """Write coefficients (p, d_y) with the names of the columns."""
        shown = [", ".join(f"{v:.4g}" for v in row) for row in values]
        one = values.shape[1] == 1
        return ", ".join(
            f"{n}={v if one else f'({v})'}" for n, v in zip(self.names, shown, strict=True)
        )


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(Model):
    """A fitted model that is itself the function x → law: subclasses write `law`."""

    law: ClassVar[Callable[..., Law]]
    make: Callable[..., Law] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "make", self.law)
        object.__setattr__(self, "name", type(self).__name__)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinearNormal(Fitted):
    """Gaussian model whose mean is linear in x, and whose variance is constant or log-linear."""

    design: DesignMatrix
    #: Of the mean, (p, d_y), and of the logarithm of the variance where that is not
    #: constant.
    coefficients: FloatArray
    log_variance: Any = None
    #: Of the residuals, (d_y, d_y), where it is constant.
    covariance: FloatArray | None = None

    def law(self, x: TableLike) -> Normal:
        X = self.design.at(x)
        mean = X @ self.coefficients
        if self.covariance is None:
            return Normal(mean, np.exp(0.5 * (X @ self.log_variance)))
        if mean.shape[1] == 1:
            return Normal(mean, np.sqrt(self.covariance[0, 0]))
        return Normal(mean, cov=self.covariance)

    def __repr__(self) -> str:
        if self.covariance is None:
            spread = f"log variance: {self.design.named(self.log_variance)}"
        else:
            spread = "std: " + ", ".join(
                f"{s:.4g}" for s in np.sqrt(np.diag(self.covariance))
            )
        return f"LinearNormal(mean: {self.design.named(self.coefficients)}; {spread})"


def ols() -> Callable[..., LinearNormal]:
    """Return the fit (x, y) → model of y | x ~ N(xβ, σ²) by least squares, σ² = RSS/(n − rank).

    There is an intercept. Text and category columns of a frame enter as indicators of all
    levels but the first. Several columns of y have a full covariance.

    Examples
    --------
    >>> import condgof as cg
    >>> cg.fits.ols()(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 5.0, 8.0]))
    LinearNormal(mean: intercept=0.8, x=2.3; std: 0.3873)
    """
    return _fit_ols


def _fit_ols(x: TableLike, y: TableLike) -> LinearNormal:
    design, X = DesignMatrix.of(x)
    targets = read_targets(y, len(X))
    coefficients, left = _least_squares(X, targets)
    residuals = targets - X @ coefficients
    covariance = residuals.T @ residuals / left
    if not (np.diag(covariance) > 1e-26 * np.square(targets).max(axis=0)).all():
        raise NumericalError(NO_NOISE)
    return LinearNormal(design=design, coefficients=coefficients, covariance=covariance)


def heteroscedastic() -> Callable[..., LinearNormal]:
    """Return the fit (x, y) → model of y | x ~ N(xβ, exp(xγ)) by maximum likelihood.

    Both have an intercept; several columns of y are independent given x. Levels enter as in
    `ols`.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 4, 2000)
    >>> y = x + np.exp(0.5 * x + 0.5) * rng.standard_normal(2000)
    >>> cg.fits.heteroscedastic()(x, y).log_variance.round(1).ravel()
    array([1., 1.])
    """
    return _fit_heteroscedastic


def _fit_heteroscedastic(x: TableLike, y: TableLike) -> LinearNormal:
    design, X = DesignMatrix.of(x)
    fitted = [_maximise(X, column) for column in read_targets(y, len(X)).T]
    mean, log_variance = (np.column_stack(parts) for parts in zip(*fitted, strict=True))
    return LinearNormal(design=design, coefficients=mean, log_variance=log_variance)


def _maximise(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Maximise the likelihood over β and γ: weighted least squares and Fisher scoring in turn."""
    squares = np.square(y - X @ _least_squares(X, y[:, None])[0][:, 0])
    floor = 1e-8 * float(squares.mean())
    if not floor > 0:
        raise NumericalError(NO_NOISE)
    pinv = np.linalg.pinv(X)
    gamma = pinv @ (np.log(np.maximum(squares, floor)) + LOG_CHI2)
    beta, squares, value = _weighted(X, y, gamma)
    for _ in range(MOST_STEPS):
        # Fisher's information of γ is XᵀX/2, so that a step is a regression of r²/σ² − 1.
        before, start, step = value, gamma, pinv @ (squares - 1.0)
        for halving in range(30):
            gamma = start + step * 0.5**halving
            beta, squares, value = _weighted(X, y, gamma)
            if value >= before - 1e-13 * abs(before):
                break
        if abs(value - before) <= CONVERGED * len(y):
            return beta, gamma
    raise NumericalError(
        "A log-linear variance has not converged. Use fewer columns, or more rows."
    )


def _weighted(
    X: FloatArray, y: FloatArray, gamma: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return β given γ by weighted least squares, r²/σ², and the log-likelihood (less a constant)."""
    with np.errstate(all="ignore"):
        log_variance = X @ gamma
        weights = np.exp(-0.5 * log_variance)
        if not (np.isfinite(weights) & (weights > 0)).all():
            return np.zeros(X.shape[1]), weights, -np.inf
        beta = np.linalg.lstsq(X * weights[:, None], y * weights, rcond=None)[0]
        squares = np.square((y - X @ beta) * weights)
        value = -0.5 * float((log_variance + squares).sum())
    return np.asarray(beta, np.float64), squares, value if np.isfinite(value) else -np.inf


def _least_squares(X: FloatArray, y: FloatArray) -> tuple[FloatArray, int]:
    """Return the coefficients (p, d_y), and how many rows there are more than they can fit."""
    coefficients, _, rank, _ = np.linalg.lstsq(X, y, rcond=None)
    left = len(X) - int(rank)
    if left < 1:
        told = f"{X.shape[1]} coefficients and a variance"
        raise InputError(
            f"{len(X)} rows cannot tell {told}. Use more rows, or fewer columns."
        )
    return np.asarray(coefficients, dtype=np.float64), left


def read_targets(y: TableLike, n: int) -> FloatArray:
    """Return y as (n, d_y) of doubles, a copy."""
    numbers = as_numbers(y, "y")
    if numbers.ndim not in (1, 2) or len(numbers) != n:
        raise InputError(f"y must have shape ({n},) or ({n}, d_y), got {numbers.shape}.")
    return as_rows(numbers.astype(np.float64))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinearGlm(Fitted):
    """A generalised linear model of x itself, which statsmodels fitted on its design matrix."""

    design: DesignMatrix
    results: Any

    def law(self, x: TableLike) -> Law:
        return as_model(self.results)(self.design.at(x))

    def __repr__(self) -> str:
        shown = self.design.named(np.asarray(self.results.params)[:, None])
        family = type(self.results.model.family).__name__
        return f"LinearGlm({family}: {shown}; dispersion: {float(self.results.scale):.4g})"


def _fit_glm(x: TableLike, y: TableLike, *, family: object) -> LinearGlm:
    sm = require("statsmodels.api", "statsmodels", "condgof.fits.glm")
    if isinstance(family, str):
        name, link = FAMILIES[family]
        family = getattr(sm.families, name)(link=getattr(sm.families.links, link)())
    design, X = DesignMatrix.of(x)
    targets = read_targets(y, len(X))
    if targets.shape[1] != 1:
        raise InputError(f"A GLM is for one column of y, got shape {targets.shape}.")
    # A y that the family cannot have is refused by its law.
    with (
        np.errstate(all="ignore"),
        users_code(f"The {type(family).__name__} GLM of statsmodels"),
    ):
        results = sm.GLM(targets[:, 0], X, family=family).fit()
    if not results.converged:
        raise NumericalError("The GLM has not converged.")
    return LinearGlm(design=design, results=results)


def glm(family: object) -> Callable[..., LinearGlm]:
    """Return the fit (x, y) → model of a generalised linear model by statsmodels, x as in `ols`.

    Parameters
    ----------
    family : str or statsmodels family
        "gaussian" (identity link), "gamma", "inverse_gaussian" or "poisson" (logarithmic
        link), "binomial" (y is 0 or 1; logistic link), or an object such as
        ``sm.families.NegativeBinomial(alpha=0.5)``.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 2, 500)
    >>> y = rng.gamma(3.0, np.exp(x) / 3.0)
    >>> model = cg.fits.glm("gamma")(x, y)
    >>> model.results.params.round(1)
    array([0., 1.])
    """
    if family not in FAMILIES if isinstance(family, str) else not hasattr(family, "link"):
        names = ", ".join(map(repr, FAMILIES))
        raise InputError(
            f"family must be one of {names} or a family of statsmodels, got {family!r}."
        )
    return partial(_fit_glm, family=family)


def _fit_sklearn(
    x: TableLike,
    y: TableLike,
    rng: np.random.Generator | None = None,
    *,
    estimator: object,
    cv: int,
) -> ModelLike:
    from sklearn.base import is_classifier

    rng, X = np.random.default_rng() if rng is None else rng, as_table(x)
    targets = (
        np.ravel(np.asarray(y)) if is_classifier(estimator) else read_targets(y, len(X))
    )
    targets = (
        targets[:, 0] if targets.shape[1:] == (1,) else targets
    )  # several warn of a single column
    fitted = _sklearn.seeded_clone(estimator, rng).fit(X, targets)
    try:
        return as_model(fitted)
    except UnsupportedModelError:
        if is_classifier(estimator):
            raise
    # It has no standard deviations of its own, and residuals of its own rows are too small.
    return _sklearn.residual_scale_by_cv(fitted, X, targets, cv=cv, rng=rng)


def sklearn(estimator: object, *, cv: int = 5) -> Callable[..., ModelLike]:
    """Return the fit (x, y, rng) → model of a clone of a scikit-learn estimator.

    A classifier, and a regressor with ``predict(X, return_std=True)``, alone, in a pipeline or a search,
    is the model; any other regressor gets a constant residual scale, y | x ~ N(predict(x), s²), from
    `cv` folds that it was not fitted on. The estimator is never changed. Each random_state that was
    left None gets a seed from the rng.

    Examples
    --------
    >>> import condgof as cg
    >>> from sklearn.linear_model import BayesianRidge
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(100, 1))
    >>> model = cg.fits.sklearn(BayesianRidge())(x, x[:, 0] + rng.normal(size=100))
    >>> model(x).mean_std()[0].shape
    (100, 1)
    """
    base = _sklearn.checked_base(estimator, "condgof.fits.sklearn")
    return partial(_fit_sklearn, estimator=base.clone(estimator), cv=cv)
