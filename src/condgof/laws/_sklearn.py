"""scikit-learn: regressors with error bars, classifiers, and any regressor with a residual scale."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, TableLike
from condgof.errors import (
    InputError,
    InputTypeError,
    UnsupportedModelError,
    check_count,
    require,
)
from condgof.laws._families import Normal
from condgof.laws._law import Model
from condgof.laws._library import as_pandas, as_table, class_law, comes_from
from condgof.laws._parameters import Parameter
from condgof.sample import RngLike, Seed, Use, as_numbers, take_rows

#: Maps of y that keep a Gaussian Gaussian.
AFFINE = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
LATENT = (
    "the Gaussian process has no WhiteKernel: its standard deviations are those of the"
    " latent function, without the noise of the observations (also that in alpha)"
)


def adapt(obj: Any) -> Model:
    """Make a model of a fitted regressor or classifier."""
    from sklearn.base import is_classifier

    _check_fitted(obj)
    if not is_classifier(obj):
        _predictor(obj)  # which refuses what has none
        return Model(partial(_gaussian, obj), type(obj).__name__)
    if not hasattr(obj, "predict_proba"):
        advice = (
            "Wrap it in scikit-learn's CalibratedClassifierCV, or choose an option that"
            " does."
        )
        raise UnsupportedModelError(
            f"{type(obj).__name__} predicts no probabilities. {advice}"
        )
    return Model(partial(class_law, obj.predict_proba, obj.classes_), "scikit-learn")


def _gaussian(obj: object, x: TableLike) -> Normal:
    mean, std, last = _predictor(obj)(as_table(x))
    law = Normal(mean=mean, std=np.reshape(std, np.shape(mean)))
    if (kernel := getattr(last, "kernel_", None)) is None:
        return law
    kernels = (type(part).__name__ for part in (kernel, *kernel.get_params().values()))
    return law if "WhiteKernel" in kernels else law.noted(LATENT)


def _check_fitted(obj: object) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    name = type(obj).__name__
    if not hasattr(obj, "predict"):
        advice = "Pass a fitted regressor (for a search, with refit=True)."
        raise UnsupportedModelError(
            f"{name} has no predict method: it says nothing of y. {advice}"
        )
    try:
        check_is_fitted(obj)
    except NotFittedError as error:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.") from error


def _predictor(obj: Any) -> Callable[[Any], tuple[AnyArray, AnyArray, Any]]:
    """Return the function x → mean, std and who predicts them, through all wrappers; or refuse."""
    name = type(obj).__name__
    if hasattr(obj, "best_estimator_"):
        return _predictor(obj.best_estimator_)
    if hasattr(obj, "steps"):
        last, before = _predictor(obj.steps[-1][1]), obj[:-1]
        return lambda x: last(before.transform(x) if len(obj.steps) > 1 else x)
    if hasattr(obj, "regressor_"):
        inner, transformer = _predictor(obj.regressor_), obj.transformer_
        affine = type(transformer).__name__ in AFFINE and not getattr(
            transformer, "clip", False
        )
        if type(transformer).__name__ == "FunctionTransformer":
            affine = transformer.func is None and transformer.inverse_func is None
        if not affine:
            told = (
                f"{name} models a transformed y, not Gaussian in y itself. Test that:"
                " pass its"
            )
            raise UnsupportedModelError(
                f"{told} regressor_ as the model and the transformed y as y."
            )

        def scaled(x: TableLike) -> tuple[AnyArray, AnyArray, Any]:
            mean, std, last = inner(x)
            columns, back = mean.reshape(len(mean), -1), transformer.inverse_transform
            # An affine map takes a standard deviation to the distance between two images.
            middle = back(columns)
            return middle, np.abs(back(columns + std.reshape(columns.shape)) - middle), last

        return scaled
    if "return_std" not in inspect.signature(obj.predict).parameters:
        give = (
            "Give it one: condgof.models.with_residual_scale(...) or"
            " residual_scale_by_cv(...)."
        )
        raise UnsupportedModelError(
            f"{name} has no standard deviation: it is no density of y. {give}"
        )
    # The linear ones multiply x as it is, which a polars frame does not bear.
    return lambda x: (*obj.predict(as_pandas(x), return_std=True), obj)


@dataclass(frozen=True, eq=False)
class ResidualScale(Model):
    """Gaussian model around what `regressor` predicts; `std` as `with_residual_scale` got it."""

    regressor: Any = None
    std: Any = None

    def __repr__(self) -> str:
        return f"ResidualScale({self.regressor!r}, std={self.std!r})"


def _around(regressor: Any, std: Any, x: Any) -> Normal:
    n, mean = len(x), regressor.predict(as_table(x))
    if callable(std):
        std = Parameter.of("std", std).at(x, n)
    elif std.ndim:
        std = std[None]  # one row, for all rows
    return Normal(mean=np.asarray(mean).reshape(n, -1), std=std)


def with_residual_scale(regressor: object, std: object) -> ResidualScale:
    """Make a density of any fitted regressor: y | x ~ N(predict(x), std²).

    Parameters
    ----------
    regressor, std : object with a ``predict(X)`` method; float, (d_y,) array or function of x
        Whichever library fitted it; the standard deviation of the residuals, of data that
        it was not fitted on (see `residual_scale_by_cv`), or a function x → (n,) or (n,
        d_y).

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
            raise UnsupportedModelError(
                f"{name} is a classifier, which goes straight to the tests."
            )
        _check_fitted(regressor)
    if not callable(std):
        std = as_numbers(std, "std").astype(np.float64)
        if std.ndim > 1 or not (std > 0).all():
            raise InputError(
                f"std must be positive, one number or one a column of y, got {std!r}."
            )
    return ResidualScale(
        partial(_around, regressor, std), name, regressor=regressor, std=std
    )


def residual_scale_by_cv(
    regressor: Any, X: Any, y: TableLike, *, cv: int = 5, rng: RngLike = None
) -> ResidualScale:
    """Make a density of any scikit-learn regressor, its residual scale found by cross-validation.

    The standard deviation (`std` of the model, (d_y,)) is the root mean square of the
    out-of-fold residuals, the same at every x. Those of the rows that it was fitted on
    would be too small.

    Parameters
    ----------
    regressor, X, y : estimator; array or frame (n,) or (n, d_x); array_like (n,) or (n, d_y)
        It is never changed: folds, and all rows when it is not fitted, are fitted on
        clones. The data are those of training: *not* those that the model will be tested
        on.
    cv, rng : int; int, numpy.random.Generator or None
        Number of folds; for drawing them, and for ``random_state`` of None.

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
        raise InputTypeError(
            f"{type(regressor).__name__} is a classifier. Pass a regressor."
        )
    X, targets = as_table(X), as_numbers(y, "y").astype(np.float64)
    n, generator = len(targets), Seed.of(rng).stream(Use.SPLIT)
    if len(X) != n:
        raise InputError(f"X has {len(X)} rows and y has {n}. Pass one row of X for each.")
    if not 2 <= check_count(cv, "cv") <= n:
        raise InputError(f"cv must be between 2 and the number of rows, {n}, got {cv}.")
    order, squares = generator.permutation(n), []
    for test in map(np.sort, np.array_split(order, cv)):
        train = np.setdiff1d(order, test)
        fitted = seeded_clone(regressor, generator).fit(take_rows(X, train), targets[train])
        mean, held = (
            fitted.predict(take_rows(X, test)),
            targets[test].reshape(len(test), -1),
        )
        squares.append(np.square(held - np.asarray(mean).reshape(held.shape)))
    std: FloatArray = np.sqrt(np.concatenate(squares).mean(axis=0))
    if not (std > 0).all():
        raise InputError(
            "The out-of-fold residuals are all 0: y has no noise to make a density of."
        )
    try:
        _check_fitted(regressor)
    except (InputError, TypeError):
        regressor = seeded_clone(regressor, generator).fit(X, targets)
    return with_residual_scale(regressor, std)


def checked_base(estimator: object, maker: str) -> Any:
    """Return sklearn.base, once the estimator is one that it can work with."""
    base = require("sklearn.base", "sklearn", maker)
    if isinstance(estimator, type) or not (
        hasattr(estimator, "fit") and hasattr(estimator, "predict")
    ):
        name = maker.rpartition(".")[2]
        raise InputTypeError(
            f"{name} takes an estimator with fit and predict, got {estimator!r}."
        )
    return base


def seeded_clone(estimator: object, generator: np.random.Generator) -> Any:
    """Clone an estimator, with a seed for each random_state of None, which would draw globally."""
    from sklearn.base import clone

    copy = clone(estimator)
    given = copy.get_params()
    names = [
        k for k in sorted(given) if k.split("__")[-1] == "random_state" and given[k] is None
    ]
    return copy.set_params(**{name: int(generator.integers(2**31)) for name in names})
