"""scikit-learn: regressors with error bars, classifiers, and residual scales for others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

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

#: Transformers that map y affinely, and so keep a Gaussian Gaussian.
AFFINE = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
#: What a result says of a Gaussian process whose kernel has no noise.
LATENT = (
    "the Gaussian process has no WhiteKernel: its standard deviations are those of the"
    " latent function, without the noise of the observations (also that in alpha)"
)


def adapt(obj: Any) -> Model:
    """Make a model of a fitted regressor or classifier."""
    from sklearn.base import is_classifier

    name = type(obj).__name__
    _check_fitted(obj)
    if not is_classifier(obj):
        gaussian_predictor(obj)  # refuses an estimator without standard deviations
        return Model(
            partial(_gaussian_law, obj),
            name,
            fitted_y=_fitted_y(obj),
            fit_notes=_fit_notes(obj),
        )
    if not hasattr(obj, "predict_proba"):
        raise UnsupportedModelError(
            f"{name} predicts no probabilities. Wrap it in scikit-learn's"
            " CalibratedClassifierCV, or choose an option that does."
        )
    return Model(
        partial(class_law, obj.predict_proba, obj.classes_),
        "scikit-learn",
        fitted_x=_fitted_x(obj),
        fit_notes=_fit_notes(obj),
    )


#: Attributes by which estimators with a final step inside lead to it.
INNER = ("best_estimator_", "regressor_", "estimator_", "base_estimator_")
#: Boosted trees, whose number of iterations is that of their trees: chosen, not reached.
BY_DESIGN = ("HistGradientBoostingRegressor", "HistGradientBoostingClassifier")


def _inner_estimators(obj: Any) -> Iterator[Any]:
    """Yield an estimator and those inside: of searches, pipelines, calibrations."""
    yield obj
    inside = [getattr(obj, name) for name in INNER if hasattr(obj, name)]
    inside += [step for _, step in getattr(obj, "steps", ())[-1:]]
    inside += list(getattr(obj, "calibrated_classifiers_", ()))
    if type(obj).__name__ == "_CalibratedClassifier":
        inside.append(obj.estimator)
    for one in inside:
        yield from _inner_estimators(one)


def _fit_notes(obj: Any) -> tuple[str, ...]:
    """Say that a fit has stopped at its limit of iterations, where scikit-learn knows."""
    for one in _inner_estimators(obj):
        iterations = getattr(one, "n_iter_", None)
        limit = getattr(one, "max_iter", None)
        if iterations is None or not isinstance(limit, int) or limit < 1:
            continue
        if type(one).__name__ in BY_DESIGN or int(np.max(iterations)) < limit:
            continue
        return (
            f"the fit of {type(one).__name__} stopped at max_iter={limit} iterations and"
            " may not have converged: its parameters are not those of the best fit",
        )
    return ()


def _fitted_y(obj: Any) -> AnyArray | None:
    """Return y of the rows of a fit, (n,), in its own unit; None where nothing keeps it."""
    if hasattr(obj, "regressor_"):  # y was transformed before it was kept
        return None
    for one in _inner_estimators(obj):
        y = getattr(one, "y_train_", getattr(one, "_y", None))
        if y is None or np.ndim(y) != 1 or np.asarray(y).dtype.kind not in "biuf":
            continue
        mean = getattr(one, "_y_train_mean", 0.0)
        scale = getattr(one, "_y_train_std", 1.0)
        return np.asarray(y) * scale + mean
    return None


def _fitted_x(obj: Any) -> AnyArray | None:
    """Return x of the rows of a fit, (n, d); None where nothing keeps it as it came."""
    if hasattr(obj, "steps"):  # it was transformed before it was kept
        return None
    for one in _inner_estimators(obj):
        x = getattr(one, "X_train_", getattr(one, "_fit_X", None))
        if isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype.kind in "biuf":
            return x
    return None


class Prediction(NamedTuple):
    """A Gaussian prediction: mean and standard deviation, (n,) or (n, d_y)."""

    mean: AnyArray
    std: AnyArray
    #: The regressor that predicted them, without pipelines and searches around it.
    regressor: Any


def _gaussian_law(estimator: object, x: TableLike) -> Normal:
    prediction = gaussian_predictor(estimator)(as_table(x))
    mean = prediction.mean
    law = Normal(mean=mean, std=np.reshape(prediction.std, np.shape(mean)))
    kernel = getattr(prediction.regressor, "kernel_", None)
    if kernel is None or _has_noise(kernel):
        return law
    return law.noted(LATENT)


def _has_noise(kernel: Any) -> bool:
    """Whether a kernel of a Gaussian process, or a part of it, is a WhiteKernel."""
    parts = (kernel, *kernel.get_params().values())
    return any(type(part).__name__ == "WhiteKernel" for part in parts)


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
    # A Gaussian process that is not fitted predicts its prior, and scikit-learn lets it.
    if hasattr(obj, "n_restarts_optimizer") and not hasattr(obj, "X_train_"):
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")


def gaussian_predictor(obj: Any) -> Callable[[Any], Prediction]:
    """Return the function x → prediction of an estimator, or refuse what has none.

    Searches, pipelines and transformations of y are seen through.
    """
    name = type(obj).__name__
    if hasattr(obj, "best_estimator_"):  # a search
        return gaussian_predictor(obj.best_estimator_)
    if hasattr(obj, "steps"):  # a pipeline
        last = gaussian_predictor(obj.steps[-1][1])
        return partial(_predict_by_pipeline, obj, last)
    if hasattr(obj, "regressor_"):  # a TransformedTargetRegressor
        inner = gaussian_predictor(obj.regressor_)
        if not _is_affine(obj.transformer_):
            raise UnsupportedModelError(
                f"{name} models a transformed y, not Gaussian in y itself. Test that: pass"
                " its regressor_ as the model and the transformed y as y."
            )
        return partial(_predict_transformed, inner, obj.transformer_)
    if "return_std" not in inspect.signature(obj.predict).parameters:
        raise UnsupportedModelError(
            f"{name} has no standard deviation: it is no density of y. Give it one:"
            " condgof.models.with_residual_scale(...) or residual_scale_by_cv(...)."
        )
    return partial(_predict, obj)


def _predict(regressor: Any, x: Any) -> Prediction:
    # Linear regressors multiply x as it is, which polars frames do not support.
    mean, std = regressor.predict(as_pandas(x), return_std=True)
    return Prediction(mean, std, regressor)


def _predict_by_pipeline(
    pipeline: Any, last: Callable[[Any], Prediction], x: Any
) -> Prediction:
    return last(pipeline[:-1].transform(x) if len(pipeline.steps) > 1 else x)


def _predict_transformed(
    inner: Callable[[Any], Prediction], transformer: Any, x: Any
) -> Prediction:
    prediction = inner(x)
    mean = prediction.mean.reshape(len(prediction.mean), -1)
    std = prediction.std.reshape(mean.shape)
    # An affine map takes a standard deviation to the distance between two images.
    middle = transformer.inverse_transform(mean)
    above = transformer.inverse_transform(mean + std)
    return Prediction(middle, np.abs(above - middle), prediction.regressor)


def _is_affine(transformer: Any) -> bool:
    name = type(transformer).__name__
    if name == "FunctionTransformer":
        return transformer.func is None and transformer.inverse_func is None
    return name in AFFINE and not getattr(transformer, "clip", False)


@dataclass(frozen=True, eq=False)
class ResidualScale(Model):
    """Gaussian model around the predictions of a regressor; see `with_residual_scale`."""

    regressor: Any = None
    #: A number, an array (d_y,), or a function of x.
    std: Any = None

    def __repr__(self) -> str:
        return f"ResidualScale({self.regressor!r}, std={self.std!r})"


def _law_around(regressor: Any, std: Any, x: Any) -> Normal:
    n = len(x)
    mean = regressor.predict(as_table(x))
    if callable(std):
        std = Parameter.from_value("std", std).at(x, n)
    elif std.ndim:
        std = std[None]  # one row, for all rows
    return Normal(mean=np.asarray(mean).reshape(n, -1), std=std)


def with_residual_scale(regressor: object, std: object) -> ResidualScale:
    """Make a density of any fitted regressor: y | x ~ N(predict(x), std²).

    Parameters
    ----------
    regressor : object with a ``predict(X)`` method
        Whichever library fitted it.
    std : float, array of shape (d_y,), or function of x
        The standard deviation of the residuals, of data that the regressor was not fitted
        on (see `residual_scale_by_cv`), or a function x → (n,) or (n, d_y).

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> x, y = np.arange(4.0)[:, None], np.arange(4.0)
    >>> model = with_residual_scale(LinearRegression().fit(x, y), std=2.0)
    >>> model(x).score(y + 4.0)[:, 0]
    array([-1., -1., -1., -1.])
    """
    if isinstance(regressor, type) or not hasattr(regressor, "predict"):
        raise InputTypeError(
            f"with_residual_scale takes an object with a predict method, got {regressor!r}."
        )
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
    make = partial(_law_around, regressor, std)
    of_sklearn = comes_from(regressor, "sklearn")
    return ResidualScale(
        make,
        name,
        fitted_y=_fitted_y(regressor) if of_sklearn else None,
        fit_notes=_fit_notes(regressor) if of_sklearn else (),
        regressor=regressor,
        std=std,
    )


def residual_scale_by_cv(
    regressor: Any, X: Any, y: TableLike, *, cv: int = 5, rng: RngLike = None
) -> ResidualScale:
    """Make a density of any scikit-learn regressor: its residual scale by cross-validation.

    The standard deviation (`std` of the model, (d_y,)) is the root mean square of the
    out-of-fold residuals, the same at every x. Those of the rows that it was fitted on
    would be too small.

    Parameters
    ----------
    regressor : estimator
        It is never changed: folds, and all rows when it is not fitted, are fitted on
        clones.
    X, y : array or frame (n,) or (n, d_x); array_like (n,) or (n, d_y)
        The data of training: *not* those that the model will be tested on.
    cv : int
        Number of folds.
    rng : int, numpy.random.Generator or None
        For drawing the folds, and for ``random_state`` of None.

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
    X = as_table(X)
    targets = as_numbers(y, "y").astype(np.float64)
    generator = Seed.of(rng).stream(Use.SPLIT)
    n = len(targets)
    if len(X) != n:
        raise InputError(f"X has {len(X)} rows and y has {n}. Pass one row of X for each.")
    if not 2 <= check_count(cv, "cv") <= n:
        raise InputError(f"cv must be between 2 and the number of rows, {n}, got {cv}.")
    order = generator.permutation(n)
    squares = []
    for fold in np.array_split(order, cv):
        test = np.sort(fold)
        train = np.setdiff1d(order, test)
        fitted = seeded_clone(regressor, generator).fit(take_rows(X, train), targets[train])
        held_out = targets[test].reshape(len(test), -1)
        mean = np.asarray(fitted.predict(take_rows(X, test))).reshape(held_out.shape)
        squares.append(np.square(held_out - mean))
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
    """Clone an estimator, with a seed for each random_state of None (the global one)."""
    from sklearn.base import clone

    copy = clone(estimator)
    seeds = {}
    for name, value in sorted(copy.get_params().items()):
        if name.split("__")[-1] == "random_state" and value is None:
            seeds[name] = int(generator.integers(2**31))
    return copy.set_params(**seeds)
