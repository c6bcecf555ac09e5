"""Fits by other libraries: generalised linear models of statsmodels, estimators of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import (
    InputError,
    InputTypeError,
    NumericalError,
    UnsupportedModelError,
    check_finite,
    require,
)
from condgof.laws._as_model import as_model
from condgof.laws._law import Law, ModelLike
from condgof.laws._library import as_table, prediction
from condgof.laws.fits._linear import Design, Fitted, named, read_targets

#: Families by name, as statsmodels calls them, with their link.
FAMILIES = {
    "gaussian": ("Gaussian", "Identity"),
    "gamma": ("Gamma", "Log"),
    "inverse_gaussian": ("InverseGaussian", "Log"),
    "poisson": ("Poisson", "Log"),
    "binomial": ("Binomial", "Logit"),
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinearGlm(Fitted):
    """A generalised linear model of x itself, which statsmodels fitted on its design matrix."""

    design: Design
    results: Any

    def law(self, x: Any) -> Law:
        return as_model(self.results)(self.design.at(x))

    def __repr__(self) -> str:
        shown = named(self.design.names, np.asarray(self.results.params)[:, None])
        family = type(self.results.model.family).__name__
        return f"LinearGlm({family}: {shown}; dispersion: {float(self.results.scale):.4g})"


def _fit_glm(x: Any, y: Any, *, family: Any, intercept: bool) -> LinearGlm:
    sm = require("statsmodels.api", "statsmodels", "condgof.fits.glm")
    if isinstance(family, str):
        name, link = FAMILIES[family]
        family = getattr(sm.families, name)(link=getattr(sm.families.links, link)())
    design, X = Design.of(x, intercept=intercept)
    targets = read_targets(y, len(X))
    if targets.shape[1] != 1:
        raise InputError(f"A GLM is for one column of y, got shape {targets.shape}.")
    _check_targets(targets[:, 0], type(family).__name__)
    try:
        results = sm.GLM(targets[:, 0], X, family=family).fit()
    except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        raise NumericalError(
            f"statsmodels could not fit the GLM ({type(error).__name__}: {error}). Check that y can "
            f"come from the family {type(family).__name__}, and x for columns that are too large."
        ) from error
    if not results.converged:
        raise NumericalError("The GLM has not converged.")
    return LinearGlm(design=design, results=results)


def _check_targets(y: FloatArray, family: str) -> None:
    """Refuse a y that the family cannot have, before statsmodels divides by it."""
    check_finite(y, "y", "Drop or fill those rows first.")
    wrong, must = np.zeros(len(y), bool), ""
    if family in ("Gamma", "InverseGaussian"):
        wrong, must = y <= 0, "be positive"
    elif family == "Binomial":
        wrong, must = (y < 0) | (y > 1), "lie between 0 and 1"
    elif family in ("Poisson", "NegativeBinomial"):
        wrong, must = y < 0, "not be negative"
    bad = np.flatnonzero(wrong)
    if len(bad):
        raise InputError(
            f"y of a {family} GLM must {must}; it is wrong in {len(bad)} of {len(y)} rows, the first "
            f"{y[bad[0]]:.6g} in row {bad[0]} (counted from 0). Choose another family, or correct y."
        )


def glm(family: Any, *, intercept: bool = True) -> Callable[..., LinearGlm]:
    """Return the fit of a generalised linear model by statsmodels, for `composite`.

    It is called as (x, y) → model. Text and category columns of x enter as in `ols`.

    Parameters
    ----------
    family : str or statsmodels family
        "gaussian" (identity link), "gamma", "inverse_gaussian" or "poisson" (logarithmic link),
        "binomial" (y is 0 or 1; logistic link), or an object such as
        ``sm.families.NegativeBinomial(alpha=0.5)``.
    intercept : bool
        Whether to add a constant.

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
        raise InputError(
            f"family must be one of {', '.join(map(repr, FAMILIES))} or an object of a family of "
            f"statsmodels, got {family!r}."
        )
    return partial(_fit_glm, family=family, intercept=intercept)


def _fit_sklearn(
    x: Any, y: Any, rng: np.random.Generator | None = None, *, estimator: Any, scale: str, cv: int
) -> ModelLike:
    from condgof.laws._sklearn import _seeded_clone, residual_scale_by_cv, with_residual_scale

    rng = np.random.default_rng() if rng is None else rng
    X = as_table(x)
    if require("sklearn.base", "sklearn", "condgof.fits.sklearn").is_classifier(estimator):
        return as_model(_seeded_clone(estimator, rng).fit(X, np.ravel(np.asarray(y))))
    targets = read_targets(y, len(X))
    targets = targets[:, 0] if targets.shape[1] == 1 else targets  # several warn of a single column
    fitted = _seeded_clone(estimator, rng).fit(X, targets)
    try:
        return as_model(fitted)
    except UnsupportedModelError:
        pass  # no standard deviations of its own
    if scale == "cv":
        return residual_scale_by_cv(fitted, X, targets, cv=cv, rng=rng)
    predicted = prediction(fitted.predict(X), len(targets), "The prediction")
    residuals = (targets - predicted.reshape(targets.shape)).reshape(len(targets), -1)
    std = np.sqrt(np.square(residuals).mean(axis=0))
    if not (std > 0).all():
        raise NumericalError("The residuals are all 0: the regressor repeats y. Use scale='cv'.")
    return with_residual_scale(fitted, std)


def sklearn(estimator: Any, *, scale: str = "cv", cv: int = 5) -> Callable[..., ModelLike]:
    """Return the fit of a clone of a scikit-learn estimator, (x, y, rng) → model, for `composite`.

    A classifier, and a regressor with ``predict(X, return_std=True)``, alone, in a pipeline or a search,
    is the model; any other regressor gets a constant residual scale: y | x ~ N(predict(x), s²).

    Parameters
    ----------
    estimator : estimator
        A regressor or classifier, fitted or not; it is never changed. Each random_state that was left
        None gets a seed from the rng of `composite`.
    scale : {"cv", "residuals"}
        Where the residual scale comes from: folds that a regressor was not fitted on (which takes `cv`
        more fits), or the rows that it was fitted on, where it is too small for a flexible one.
    cv : int
        Number of folds.

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
    base = require("sklearn.base", "sklearn", "condgof.fits.sklearn")
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise InputTypeError(f"sklearn takes an estimator with fit and predict, got {estimator!r}.")
    if scale not in ("cv", "residuals"):
        raise InputError(f"scale must be 'cv' or 'residuals', got {scale!r}.")
    return partial(_fit_sklearn, estimator=base.clone(estimator), scale=scale, cv=cv)
