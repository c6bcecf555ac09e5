"""Estimators of scikit-learn, cloned and fitted anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof.errors import InputError, InputTypeError, NumericalError, UnsupportedModelError, require
from condgof.models._as_model import as_model
from condgof.models._base import ConditionalModel
from condgof.models._library import as_table, prediction
from condgof.models._residual import _seeded_clone, residual_scale_by_cv, with_residual_scale
from condgof.sample import as_numbers

SCALES = ("cv", "residuals")


@dataclass(frozen=True)
class SklearnFit:
    """A clone of an estimator, fitted; see `sklearn`."""

    estimator: Any
    scale: str = "cv"
    cv: int = 5

    def __call__(self, x: Any, y: Any, rng: np.random.Generator | None = None) -> ConditionalModel:
        """Fit a clone."""
        from condgof.models._sklearn import SklearnModel, _check_std

        rng = np.random.default_rng() if rng is None else rng
        X = as_table(x)
        if require("sklearn.base", "sklearn", "condgof.fits.sklearn").is_classifier(self.estimator):
            return as_model(_seeded_clone(self.estimator, rng).fit(X, np.ravel(np.asarray(y))))
        targets = as_numbers(y, "y").astype(np.float64)
        if targets.ndim == 2 and targets.shape[1] == 1:
            targets = targets[:, 0]  # several regressors warn of a single column
        fitted = _seeded_clone(self.estimator, rng).fit(X, targets)
        try:
            _check_std(fitted)
        except UnsupportedModelError:
            pass  # no standard deviations of its own
        else:
            return SklearnModel(fitted)
        if self.scale == "cv":
            return residual_scale_by_cv(fitted, X, targets, cv=self.cv, rng=rng)
        predicted = prediction(fitted.predict(X), len(targets), "The prediction")
        residuals = (targets - predicted.reshape(targets.shape)).reshape(len(targets), -1)
        std = np.sqrt(np.square(residuals).mean(axis=0))
        if not (std > 0).all():
            raise NumericalError("The residuals are all 0: the regressor repeats y. Use scale='cv'.")
        return with_residual_scale(fitted, std)


def sklearn(estimator: Any, *, scale: str = "cv", cv: int = 5) -> SklearnFit:
    """Return the fit of a clone of a scikit-learn estimator, for `composite`.

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

    Returns
    -------
    callable
        (x, y, rng) → model.

    Examples
    --------
    >>> import condgof as cg
    >>> from sklearn.linear_model import BayesianRidge
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(100, 1))
    >>> model = cg.fits.sklearn(BayesianRidge())(x, x[:, 0] + rng.normal(size=100))
    >>> model.mean_std(x)[0].shape
    (100, 1)
    """
    base = require("sklearn.base", "sklearn", "condgof.fits.sklearn")
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise InputTypeError(f"sklearn takes an estimator with fit and predict, got {estimator!r}.")
    if scale not in SCALES:
        raise InputError(f"scale must be 'cv' or 'residuals', got {scale!r}.")
    return SklearnFit(base.clone(estimator), scale, cv)
