"""Ready-made fits, (x, y) → model, for `composite` and `crossfit`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, TableLike
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

#: The likelihood of `heteroscedastic` is at its maximum when a step changes its logarithm
#: by less than this a row.
CONVERGED = 1e-11
MAX_STEPS = 200
#: A step that lowers the likelihood is halved, at most this often.
MAX_HALVINGS = 30
#: Relative rounding error of a log-likelihood: a step that lowers it by less is taken.
LIKELIHOOD_ROUNDING = 1e-13
#: −E log χ²₁, by which the logarithm of a squared residual lies below that of the variance.
LOG_CHI2 = 1.2703628454614782
#: Squared residuals below this share of their mean are raised to it before the logarithm.
SMALLEST_SQUARE = 1e-8
#: Residuals are 0 if their variance is at most this share of the largest y², by rounding.
NO_VARIANCE = 1e-26
NO_NOISE = "The residuals of least squares are 0: y has no noise to model."


@dataclass(frozen=True)
class GlmFamily:
    """A family and its link, in the names of `statsmodels.api.families`."""

    name: str
    link: str


FAMILIES = {
    "gaussian": GlmFamily("Gaussian", link="Identity"),
    "gamma": GlmFamily("Gamma", link="Log"),
    "poisson": GlmFamily("Poisson", link="Log"),
    "inverse_gaussian": GlmFamily("InverseGaussian", link="Log"),
    "binomial": GlmFamily("Binomial", link="Logit"),
}


@dataclass(frozen=True)
class DesignMatrix:
    """How rows of x become rows of a design matrix: 1, numbers, indicators of levels."""

    columns: tuple[Column, ...]

    @classmethod
    def from_table(cls, x: TableLike) -> DesignMatrix:
        _, _, columns = read(x, "x")
        return cls(columns)

    @property
    def names(self) -> tuple[str, ...]:
        names = ["intercept"]
        for column in self.columns:
            if column.levels is None:
                names.append(column.name)
            else:
                names += [f"{column.name}={level}" for level in column.levels[1:]]
        return tuple(names)

    def at(self, x: Any) -> FloatArray:
        """Return the matrix (m, p) at rows of x, in the columns of the fit."""
        _, values, columns = read(x, "x")
        if len(columns) != len(self.columns):
            raise InputError(
                f"The model was fitted on {len(self.columns)} columns of x, and x has"
                f" {len(columns)}."
            )
        parts = [np.ones((len(values), 1))]
        for numbers, column, fitted in zip(values.T, columns, self.columns, strict=True):
            parts.append(_design_columns(numbers, column, fitted))
        return np.concatenate(parts, axis=1)

    def label(self, values: FloatArray) -> str:
        """Write coefficients (p, d_y) with the names of the columns."""
        labelled = []
        for name, row in zip(self.names, values, strict=True):
            numbers = ", ".join(f"{value:.4g}" for value in row)
            labelled.append(f"{name}={numbers if len(row) == 1 else f'({numbers})'}")
        return ", ".join(labelled)


def _design_columns(numbers: FloatArray, column: Column, fitted: Column) -> FloatArray:
    """Return a column of x, (m, 1), or indicators of its levels but the first.

    Parameters
    ----------
    numbers : (m,) array
        The column: numbers, or the positions of its values among `column.levels`.
    column, fitted : Column
        The column of these rows, and that of the fit.
    """
    if column.categorical != fitted.categorical:
        kind = "text" if fitted.categorical else "numbers"
        raise InputError(f"Column {column.name!r} of x must hold {kind}, as in the fit.")
    if column.levels != fitted.levels:
        raw = np.array(column.levels)[numbers.astype(int)]
        numbers = encode_levels(raw, fitted, "x")
    if fitted.levels is None:
        return numbers[:, None]
    indicators = numbers[:, None] == np.arange(1, len(fitted.levels))
    return np.asarray(indicators, dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(Model):
    """A fitted model that is itself the function x → law: subclasses write `law`."""

    #: What messages call the model.
    NAME: ClassVar[str]
    law: ClassVar[Callable[..., Law]]
    make: Callable[..., Law] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "make", self.law)
        object.__setattr__(self, "name", self.NAME)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinearNormal(Fitted):
    """Gaussian model whose mean is linear in x."""

    NAME = "LinearNormal"

    design: DesignMatrix
    #: Those of the mean, (p, d_y).
    coefficients: FloatArray

    @abstractmethod
    def law(self, x: TableLike) -> Normal: ...

    @abstractmethod
    def _describe_spread(self) -> str: ...

    def __repr__(self) -> str:
        mean = self.design.label(self.coefficients)
        return f"{self.NAME}(mean: {mean}; {self._describe_spread()})"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Homoscedastic(LinearNormal):
    """Gaussian model with a linear mean and one covariance for all x."""

    #: That of the residuals, (d_y, d_y).
    covariance: FloatArray

    def law(self, x: TableLike) -> Normal:
        mean = self.design.at(x) @ self.coefficients
        if mean.shape[1] == 1:
            return Normal(mean, np.sqrt(self.covariance[0, 0]))
        return Normal(mean, cov=self.covariance)

    def _describe_spread(self) -> str:
        stds = np.sqrt(np.diag(self.covariance))
        return "std: " + ", ".join(f"{std:.4g}" for std in stds)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Heteroscedastic(LinearNormal):
    """Gaussian model with a linear mean and log-linear variances."""

    #: Coefficients of the logarithm of the variance, (p, d_y).
    log_variance: FloatArray

    def law(self, x: TableLike) -> Normal:
        X = self.design.at(x)
        return Normal(X @ self.coefficients, np.exp(0.5 * (X @ self.log_variance)))

    def _describe_spread(self) -> str:
        return f"log variance: {self.design.label(self.log_variance)}"


def ols() -> Callable[..., LinearNormal]:
    """Return the fit (x, y) → model of y | x ~ N(xβ, σ²) by least squares.

    σ² is RSS/(n − rank). There is an intercept. Text and category columns of a frame enter
    as indicators of all levels but the first. Several columns of y have a full covariance.
    The fit takes weights of rows, too: (x, y, weights), with squares weighted in both.

    Examples
    --------
    >>> import condgof as cg
    >>> cg.fits.ols()(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 5.0, 8.0]))
    LinearNormal(mean: intercept=0.8, x=2.3; std: 0.3873)
    """
    return _fit_ols


def _fit_ols(
    x: TableLike, y: TableLike, weights: FloatArray | None = None
) -> Homoscedastic:
    design = DesignMatrix.from_table(x)
    X = design.at(x)
    targets = read_targets(y, len(X))
    roots = _roots_of_weights(weights, len(X))
    fit = _least_squares(X * roots, targets * roots)
    residuals = (targets - X @ fit.coefficients) * roots
    covariance = residuals.T @ residuals / fit.degrees_of_freedom
    largest = np.square(targets).max(axis=0)
    if not (np.diag(covariance) > NO_VARIANCE * largest).all():
        raise NumericalError(NO_NOISE)
    return Homoscedastic(
        design=design, coefficients=fit.coefficients, covariance=covariance
    )


def _roots_of_weights(weights: FloatArray | None, n: int) -> FloatArray:
    """Return the square roots of weights (n,), scaled to a mean of 1, as (n, 1)."""
    if weights is None:
        return np.ones((n, 1))
    return np.asarray(np.sqrt(weights / np.mean(weights))[:, None])


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


def _fit_heteroscedastic(x: TableLike, y: TableLike) -> Heteroscedastic:
    design = DesignMatrix.from_table(x)
    X = design.at(x)
    fits = [_maximise_likelihood(X, column) for column in read_targets(y, len(X)).T]
    return Heteroscedastic(
        design=design,
        coefficients=np.column_stack([fit.mean for fit in fits]),
        log_variance=np.column_stack([fit.log_variance for fit in fits]),
    )


class LogLinearFit(NamedTuple):
    """Coefficients β of the mean and γ of the log-variance, (p,) each."""

    mean: FloatArray
    log_variance: FloatArray


def _maximise_likelihood(X: FloatArray, y: FloatArray) -> LogLinearFit:
    """Maximise over β and γ by weighted least squares and Fisher scoring in turn.

    Parameters
    ----------
    X, y : (n, p) and (n,) arrays
    """
    start = _least_squares(X, y[:, None]).coefficients[:, 0]
    squares = np.square(y - X @ start)
    floor = SMALLEST_SQUARE * float(squares.mean())
    if not floor > 0:
        raise NumericalError(NO_NOISE)
    pinv = np.linalg.pinv(X)
    gamma = pinv @ (np.log(np.maximum(squares, floor)) + LOG_CHI2)
    fit = _weighted_least_squares(X, y, gamma)
    for _ in range(MAX_STEPS):
        before = fit.log_likelihood
        # Fisher's information of γ is XᵀX/2, so that a step is a regression of r²/σ² − 1.
        step = pinv @ (fit.squares - 1.0)
        lowest = before - LIKELIHOOD_ROUNDING * abs(before)
        for halving in range(MAX_HALVINGS):
            candidate = gamma + step * 0.5**halving
            fit = _weighted_least_squares(X, y, candidate)
            if fit.log_likelihood >= lowest:
                break
        gamma = candidate
        if abs(fit.log_likelihood - before) <= CONVERGED * len(y):
            return LogLinearFit(mean=fit.coefficients, log_variance=gamma)
    raise NumericalError(
        "A log-linear variance has not converged. Use fewer columns, or more rows."
    )


class WeightedFit(NamedTuple):
    """A fit of the mean for given variances."""

    coefficients: FloatArray  # β, (p,)
    squares: FloatArray  # r²/σ², (n,)
    log_likelihood: float  # up to a constant; −∞ where it cannot be computed


def _weighted_least_squares(X: FloatArray, y: FloatArray, gamma: FloatArray) -> WeightedFit:
    """Return the best β for variances exp(Xγ)."""
    with np.errstate(all="ignore"):
        log_variance = X @ gamma
        weights = np.exp(-0.5 * log_variance)
        if not (np.isfinite(weights) & (weights > 0)).all():
            return WeightedFit(np.zeros(X.shape[1]), weights, -np.inf)
        beta = np.linalg.lstsq(X * weights[:, None], y * weights, rcond=None)[0]
        squares = np.square((y - X @ beta) * weights)
        value = -0.5 * float((log_variance + squares).sum())
    return WeightedFit(
        coefficients=np.asarray(beta, np.float64),
        squares=squares,
        log_likelihood=value if np.isfinite(value) else -np.inf,
    )


class LeastSquares(NamedTuple):
    """Coefficients (p, d_y), and the number of rows less the rank of the design."""

    coefficients: FloatArray
    degrees_of_freedom: int


def _least_squares(X: FloatArray, y: FloatArray) -> LeastSquares:
    coefficients, _, rank, _ = np.linalg.lstsq(X, y, rcond=None)
    degrees_of_freedom = len(X) - int(rank)
    if degrees_of_freedom < 1:
        raise InputError(
            f"{len(X)} rows cannot tell {X.shape[1]} coefficients and a variance. Use more"
            " rows, or fewer columns."
        )
    return LeastSquares(np.asarray(coefficients, dtype=np.float64), degrees_of_freedom)


def read_targets(y: TableLike, n: int) -> FloatArray:
    """Return y as (n, d_y) of doubles, a copy."""
    numbers = as_numbers(y, "y")
    if numbers.ndim not in (1, 2) or len(numbers) != n:
        raise InputError(f"y must have shape ({n},) or ({n}, d_y), got {numbers.shape}.")
    return as_rows(numbers.astype(np.float64))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinearGlm(Fitted):
    """A generalised linear model of x, which statsmodels fitted on its design matrix."""

    NAME = "LinearGlm"

    design: DesignMatrix
    results: Any

    def law(self, x: TableLike) -> Law:
        return as_model(self.results)(self.design.at(x))

    def __repr__(self) -> str:
        coefficients = self.design.label(np.asarray(self.results.params)[:, None])
        family = type(self.results.model.family).__name__
        dispersion = f"{float(self.results.scale):.4g}"
        return f"{self.NAME}({family}: {coefficients}; dispersion: {dispersion})"


def _fit_glm(
    x: TableLike, y: TableLike, weights: FloatArray | None = None, *, family: object
) -> LinearGlm:
    sm = require("statsmodels.api", "statsmodels", "condgof.fits.glm")
    if isinstance(family, str):
        chosen = FAMILIES[family]
        link = getattr(sm.families.links, chosen.link)
        family = getattr(sm.families, chosen.name)(link=link())
    design = DesignMatrix.from_table(x)
    X = design.at(x)
    targets = read_targets(y, len(X))
    if targets.shape[1] != 1:
        raise InputError(f"A GLM is for one column of y, got shape {targets.shape}.")
    # A y that the family cannot have is refused by its law.
    with (
        np.errstate(all="ignore"),
        users_code(f"The {type(family).__name__} GLM of statsmodels"),
    ):
        of_rows = None if weights is None else weights / np.mean(weights)
        results = sm.GLM(targets[:, 0], X, family=family, freq_weights=of_rows).fit()
    if not results.converged:
        raise NumericalError("The GLM has not converged.")
    return LinearGlm(design=design, results=results)


def glm(family: object) -> Callable[..., LinearGlm]:
    """Return the fit (x, y) → model of a generalised linear model; x is read as in `ols`.

    The fit takes weights of rows, too: (x, y, weights), by which log-likelihoods are
    multiplied.

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
    known = family in FAMILIES if isinstance(family, str) else hasattr(family, "link")
    if not known:
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

    rng = np.random.default_rng() if rng is None else rng
    X = as_table(x)
    if is_classifier(estimator):
        targets: AnyArray = np.ravel(np.asarray(y))
    else:
        targets = read_targets(y, len(X))
    if targets.ndim == 2 and targets.shape[1] == 1:  # at which some estimators warn
        targets = targets[:, 0]
    fitted = _sklearn.seeded_clone(estimator, rng).fit(X, targets)
    try:
        return as_model(fitted)
    except UnsupportedModelError:
        if is_classifier(estimator):
            raise
    # The regressor predicts no standard deviation. Residuals of the rows that it was fitted
    # on would be too small, so out-of-fold residuals give the scale.
    return _sklearn.residual_scale_by_cv(fitted, X, targets, cv=cv, rng=rng)


def sklearn(estimator: object, *, cv: int = 5) -> Callable[..., ModelLike]:
    """Return the fit (x, y, rng) → model of a clone of a scikit-learn estimator.

    A classifier, and a regressor with ``predict(X, return_std=True)``, alone, in a pipeline
    or a search, is the model; any other regressor gets a constant residual scale, y | x ~
    N(predict(x), s²), from `cv` folds that it was not fitted on. The estimator is never
    changed. Each random_state that was left None gets a seed from the rng.

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
