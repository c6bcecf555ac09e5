"""scikit-learn regressors that predict a mean and a standard deviation, and its classifiers."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, UnsupportedModelError
from condgof.models._adapters import comes_from
from condgof.models._base import ConditionalModel
from condgof.models._classifier import Classifier, classifier
from condgof.models._library import Fitted, as_pandas, as_table, predicting, prediction
from condgof.models._normal import Normal

SUPPORTED = (
    "fitted scikit-learn regressors with predict(X, return_std=True), also in a Pipeline or a search; "
    "condgof.models.with_residual_scale for any other regressor; fitted classifiers with predict_proba"
)
#: Maps of y that keep a Gaussian Gaussian.
AFFINE = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
LATENT = (
    "the Gaussian process has no WhiteKernel: scikit-learn then predicts the latent function, and the "
    "noise of the observations (also that in alpha) is in no predicted standard deviation"
)


def adapt(obj: Any) -> ConditionalModel | None:
    """Make a model of a fitted regressor or classifier, or return None for another library's object."""
    if not comes_from(obj, "sklearn"):
        return None
    from sklearn.base import is_classifier

    if is_classifier(obj):
        return _classifier(obj)
    check_regressor(obj)
    _check_std(obj)
    return SklearnModel(obj)


@dataclass(frozen=True, eq=False)
class SklearnModel(Fitted):
    """Gaussian model whose mean and standard deviation a fitted regressor predicts.

    Several outputs are independent given x.

    Parameters
    ----------
    regressor : estimator
        A fitted estimator of scikit-learn; it is used as it is and never changed.
    """

    regressor: Any

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of a result should know."""
        kernel = getattr(_last(self.regressor), "kernel_", None)
        return () if kernel is None or _has_noise(kernel) else (LATENT,)

    def at(self, x: Any, n: int) -> Normal:
        """Return the Gaussian model at the n rows of x."""
        x = as_table(x)
        with predicting("scikit-learn", n):
            mean, std = _mean_std(self.regressor, x)
        mean, std = prediction(mean, n, "The predicted mean"), prediction(std, n, "The predicted std")
        return Normal.bound(mean, std.reshape(mean.shape))


def check_regressor(obj: Any) -> None:
    """Refuse what is not a fitted regressor."""
    from sklearn.base import is_classifier

    name = type(obj).__name__
    if is_classifier(obj):
        raise UnsupportedModelError(
            f"{name} is a classifier, which has no residual scale: it goes straight to the tests. "
            "Pass a regressor here."
        )
    if not hasattr(obj, "predict"):
        raise UnsupportedModelError(
            f"{name} has no predict method, so that it says nothing of y given x. "
            "Pass a fitted regressor (for a search, with refit=True)."
        )
    _check_fitted(obj)


def _check_fitted(obj: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(obj)
    except NotFittedError as error:
        raise InputError(
            f"{type(obj).__name__} is not fitted yet. Call its fit method first."
        ) from error


def _classifier(obj: Any) -> Classifier:
    """Make a model of a fitted classifier, alone, in a pipeline or in a search."""
    _check_fitted(obj)
    if not hasattr(obj, "predict_proba"):
        raise UnsupportedModelError(
            f"{type(obj).__name__} predicts no probabilities (predict_proba). Wrap it in scikit-learn's "
            "CalibratedClassifierCV, or choose an option of it that does."
        )
    return classifier(obj, "scikit-learn")


def _parts(obj: Any) -> Any:
    """Return what an estimator wraps: a search's best, a pipeline's last, a target's regressor."""
    for name in ("best_estimator_", "regressor_"):
        if hasattr(obj, name):
            return getattr(obj, name)
    return obj.steps[-1][1] if hasattr(obj, "steps") else None


def _last(obj: Any) -> Any:
    """Return the estimator at the end of all wrappers."""
    inner = _parts(obj)
    return obj if inner is None else _last(inner)


def _check_std(obj: Any) -> None:
    """Refuse a regressor without standard deviations, or whose y is transformed out of the Gaussian."""
    inner = _parts(obj)
    transformer = getattr(obj, "transformer_", None)
    if transformer is not None and not _is_affine(transformer):
        raise UnsupportedModelError(
            f"{type(obj).__name__} models a transformed y, which is not Gaussian in y itself. Test the "
            "same hypothesis on the transformed scale: pass its regressor_ as the model and the "
            "transformed y as y."
        )
    if inner is not None:
        _check_std(inner)
    elif "return_std" not in inspect.signature(obj.predict).parameters:
        raise UnsupportedModelError(
            f"{type(obj).__name__} predicts no standard deviation, so that it is no density of y yet. "
            "Give it one: condgof.models.with_residual_scale(regressor, std=...), or "
            "condgof.models.residual_scale_by_cv(regressor, X, y) from its training data."
        )


def _is_affine(transformer: Any) -> bool:
    name = type(transformer).__name__
    if name == "FunctionTransformer":
        return transformer.func is None and transformer.inverse_func is None
    return name in AFFINE and not getattr(transformer, "clip", False)


def _mean_std(obj: Any, x: Any) -> tuple[FloatArray, FloatArray]:
    """Predict through all wrappers."""
    if hasattr(obj, "best_estimator_"):
        return _mean_std(obj.best_estimator_, x)
    if hasattr(obj, "steps"):
        return _mean_std(obj.steps[-1][1], obj[:-1].transform(x) if len(obj.steps) > 1 else x)
    if hasattr(obj, "regressor_"):
        mean, std = _mean_std(obj.regressor_, x)
        columns = mean.reshape(len(mean), -1)
        back = obj.transformer_.inverse_transform
        shifted = back(columns + std.reshape(columns.shape))
        # An affine map takes a standard deviation to the distance between two images.
        return back(columns), np.abs(shifted - back(columns))
    # The linear ones multiply x as it is, which a polars frame does not bear.
    mean, std = obj.predict(as_pandas(x), return_std=True)
    return np.asarray(mean, dtype=np.float64), np.asarray(std, dtype=np.float64)


def _has_noise(kernel: Any) -> bool:
    """Whether a kernel of a Gaussian process has a term for the noise of an observation."""
    if type(kernel).__name__ == "WhiteKernel":
        return True
    inner = [getattr(kernel, name, None) for name in ("k1", "k2", "kernel")]
    return any(_has_noise(k) for k in [*inner, *getattr(kernel, "kernels", ())] if k is not None)
