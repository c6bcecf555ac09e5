"""scikit-learn: regressors with error bars, classifiers, and any regressor with a residual scale."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError, UnsupportedModelError, require
from condgof.laws._families import Normal
from condgof.laws._law import Model
from condgof.laws._library import as_pandas, as_table, class_law, comes_from, predicted, prediction
from condgof.laws._parameters import Parameter
from condgof.sample import RngLike, Seed, Use, as_numbers, take_rows

#: Maps of y that keep a Gaussian Gaussian.
AFFINE = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
LATENT = (
    "the Gaussian process has no WhiteKernel: its standard deviations are those of the latent function, "
    "without the noise of the observations (also that in alpha)"
)


def adapt(obj: Any) -> Model:
    """Make a model of a fitted regressor or classifier."""
    from sklearn.base import is_classifier

    _check_fitted(obj)
    if not is_classifier(obj):
        _check_std(obj)
        return Model(partial(_gaussian, obj), type(obj).__name__)
    if not hasattr(obj, "predict_proba"):
        advice = "Wrap it in scikit-learn's CalibratedClassifierCV, or choose an option that does."
        raise UnsupportedModelError(f"{type(obj).__name__} predicts no probabilities. {advice}")
    return Model(partial(class_law, obj.predict_proba, obj.classes_, "scikit-learn"), "scikit-learn")


def _gaussian(obj: Any, x: Any) -> Normal:
    mean, std, last = predicted("scikit-learn", partial(_mean_std, obj), x)
    mean = prediction(mean, len(x), "The predicted mean")
    law = Normal(mean=mean, std=prediction(std, len(x), "The predicted std").reshape(mean.shape))
    kernel = getattr(last, "kernel_", None)
    return law if kernel is None or _has_noise(kernel) else law.noted(LATENT)


def _check_fitted(obj: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    name = type(obj).__name__
    if not hasattr(obj, "predict"):
        advice = "Pass a fitted regressor (for a search, with refit=True)."
        raise UnsupportedModelError(f"{name} has no predict method: it says nothing of y. {advice}")
    try:
        check_is_fitted(obj)
    except NotFittedError as error:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.") from error


def _check_std(obj: Any) -> None:
    """Refuse a regressor without standard deviations, or whose y is transformed out of the Gaussian."""
    transformer: Any = getattr(obj, "transformer_", None)
    name, kind = type(obj).__name__, type(transformer).__name__
    affine = kind in AFFINE and not getattr(transformer, "clip", False)
    if kind == "FunctionTransformer":
        affine = transformer.func is None and transformer.inverse_func is None
    if transformer is not None and not affine:
        advice = "Test that: pass its regressor_ as the model and the transformed y as y."
        raise UnsupportedModelError(f"{name} models a transformed y, not Gaussian in y itself. {advice}")
    inner = getattr(obj, "best_estimator_", getattr(obj, "regressor_", None))
    if hasattr(obj, "steps"):
        inner = obj.steps[-1][1]
    if inner is not None:
        _check_std(inner)
    elif "return_std" not in inspect.signature(obj.predict).parameters:
        give = "Give it one: condgof.models.with_residual_scale(...) or residual_scale_by_cv(...)."
        raise UnsupportedModelError(f"{name} has no standard deviation: it is no density of y. {give}")


def _mean_std(obj: Any, x: Any) -> tuple[FloatArray, FloatArray, Any]:
    """Predict through all wrappers, and say who predicted."""
    if hasattr(obj, "best_estimator_"):
        return _mean_std(obj.best_estimator_, x)
    if hasattr(obj, "steps"):
        return _mean_std(obj.steps[-1][1], obj[:-1].transform(x) if len(obj.steps) > 1 else x)
    if hasattr(obj, "regressor_"):
        mean, std, last = _mean_std(obj.regressor_, x)
        columns, back = mean.reshape(len(mean), -1), obj.transformer_.inverse_transform
        # An affine map takes a standard deviation to the distance between two images.
        middle = back(columns)
        return middle, np.abs(back(columns + std.reshape(columns.shape)) - middle), last
    # The linear ones multiply x as it is, which a polars frame does not bear.
    mean, std = obj.predict(as_pandas(x), return_std=True)
    return np.asarray(mean, dtype=np.float64), np.asarray(std, dtype=np.float64), obj


def _has_noise(kernel: Any) -> bool:
    """Whether a kernel of a Gaussian process has a term for the noise of an observation."""
    inner = (getattr(kernel, name, None) for name in ("k1", "k2", "kernel"))
    parts = [part for part in (*inner, *getattr(kernel, "kernels", ())) if part is not None]
    return type(kernel).__name__ == "WhiteKernel" or any(map(_has_noise, parts))


@dataclass(frozen=True, eq=False)
class ResidualScale(Model):
    """Gaussian model around what `regressor` predicts; `std` as `with_residual_scale` got it."""

    regressor: Any = None
    std: Any = None

    def __repr__(self) -> str:
        return f"ResidualScale({self.regressor!r}, std={self.std!r})"


def _around(regressor: Any, std: Any, x: Any) -> Normal:
    n, mean = len(x), predicted(type(regressor).__name__, regressor.predict, x)
    if callable(std):
        std = Parameter.of("std", std).at(x, n)
    elif std.ndim:
        std = std[None]  # one row, for all rows
    return Normal(mean=prediction(mean, n, "The prediction").reshape(n, -1), std=std)


def with_residual_scale(regressor: Any, std: Any) -> ResidualScale:
    """Make a density of any fitted regressor: y | x ~ N(predict(x), std²).

    Parameters
    ----------
    regressor, std : object with a ``predict(X)`` method; float, (d_y,) array or function of x
        Whichever library fitted it; the standard deviation of the residuals, of data that it was not
        fitted on (see `residual_scale_by_cv`), or a function x → (n,) or (n, d_y).

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> x, y = np.arange(4.0)[:, None], np.arange(4.0)
    >>> model = with_residual_scale(LinearRegression().fit(x, y), std=2.0)
    >>> model(x).score(y + 4.0)[:, 0]
    array([-1., -1., -1., -1.])
    """
    if isinstance(regressor, type) or not hasattr(regressor, "predict"):
        takes = "with_residual_scale takes an object with a predict method"
        raise InputTypeError(f"{takes}, got {regressor!r}.")
    name = type(regressor).__name__
    if comes_from(regressor, "sklearn"):
        from sklearn.base import is_classifier

        if is_classifier(regressor):
            raise UnsupportedModelError(f"{name} is a classifier, which goes straight to the tests.")
        _check_fitted(regressor)
    if not callable(std):
        std = as_numbers(std, "std").astype(np.float64)
        if std.ndim > 1 or not (std > 0).all():
            raise InputError(f"std must be positive, one number or one a column of y, got {std!r}.")
    return ResidualScale(partial(_around, regressor, std), name, regressor=regressor, std=std)


def residual_scale_by_cv(
    regressor: Any, X: Any, y: Any, *, cv: int | Iterable[Any] = 5, rng: RngLike = None
) -> ResidualScale:
    """Make a density of any scikit-learn regressor, its residual scale found by cross-validation.

    The standard deviation (`std` of the model, (d_y,)) is the root mean square of the out-of-fold
    residuals, the same at every x. Those of the rows that it was fitted on would be too small.

    Parameters
    ----------
    regressor, X, y : estimator; array or frame (n,) or (n, d_x); array_like (n,) or (n, d_y)
        It is never changed: folds, and all rows when it is not fitted, are fitted on clones. The data
        are those of training: *not* those that the model will be tested on.
    cv, rng : int or iterable of (train, test); int, numpy.random.Generator or None
        Number of folds, or row numbers of each; for drawing them, and for ``random_state`` of None.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 1))
    >>> y = x[:, 0] + 0.5 * rng.normal(size=500)
    >>> model = residual_scale_by_cv(LinearRegression(), x, y, rng=0)
    >>> model.std.round(1)
    array([0.5])
    """
    if checked_base(regressor, "residual_scale_by_cv").is_classifier(regressor):
        raise InputTypeError(f"{type(regressor).__name__} is a classifier. Pass a regressor.")
    X, targets = as_table(X), as_numbers(y, "y").astype(np.float64)
    n, generator = len(targets), Seed.of(rng).stream(Use.SPLIT)
    if len(X) != n:
        raise InputError(f"X has {len(X)} rows and y has {n}. Pass one row of X for each.")
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if not 2 <= cv <= n:
            raise InputError(f"cv must be between 2 and the number of rows, {n}, got {cv}.")
        order = generator.permutation(n)
        cv = [(np.setdiff1d(order, part), np.sort(part)) for part in np.array_split(order, int(cv))]
    elif not isinstance(cv, Iterable):
        raise InputError(f"cv must be a number of folds or pairs (train, test), got {cv!r}.")
    squares = []
    for train, test in (map(np.asarray, pair) for pair in cv):
        fitted = seeded_clone(regressor, generator).fit(take_rows(X, train), targets[train])
        squares.append(squared_residuals(fitted, take_rows(X, test), targets[test]))
    std: FloatArray = np.sqrt(np.concatenate(squares).mean(axis=0))
    if not (std > 0).all():
        raise InputError("The out-of-fold residuals are all 0: y has no noise to make a density of.")
    try:
        _check_fitted(regressor)
    except (InputError, TypeError):
        regressor = seeded_clone(regressor, generator).fit(X, targets)
    return with_residual_scale(regressor, std)


def checked_base(estimator: Any, maker: str) -> Any:
    """Return sklearn.base, once the estimator is one that it can work with."""
    base = require("sklearn.base", "sklearn", maker)
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        name = maker.rpartition(".")[2]
        raise InputTypeError(f"{name} takes an estimator with fit and predict, got {estimator!r}.")
    return base


def squared_residuals(fitted: Any, x: Any, y: FloatArray) -> FloatArray:
    """Return the squares of what a regressor leaves of y, (n, d_y)."""
    predicted = prediction(fitted.predict(x), len(y), "The prediction")
    return np.square(y - predicted.reshape(y.shape)).reshape(len(y), -1)


def seeded_clone(estimator: Any, generator: np.random.Generator) -> Any:
    """Clone an estimator, with a seed for each random_state of None, which would draw globally."""
    from sklearn.base import clone

    copy = clone(estimator)
    given = copy.get_params()
    names = [k for k in sorted(given) if k.split("__")[-1] == "random_state" and given[k] is None]
    return copy.set_params(**{name: int(generator.integers(2**31)) for name in names})
