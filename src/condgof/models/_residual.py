"""A regressor without error bars, made a density by a residual scale."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, require
from condgof.models._adapters import comes_from
from condgof.models._library import Fitted, as_table, predicting, prediction
from condgof.models._normal import Normal
from condgof.models._parameters import Parameter
from condgof.sample import RngLike, Seed, Use, as_numbers, take_rows


@dataclass(frozen=True, eq=False)
class ResidualScale(Fitted):
    """Gaussian model around a regressor's prediction; see `with_residual_scale`.

    Parameters
    ----------
    regressor : object
        Anything fitted with a ``predict(X)`` method.
    std : Parameter
        The residual standard deviation.
    """

    regressor: Any
    std: Parameter

    def at(self, x: Any, n: int) -> Normal:
        """Return the Gaussian model at the n rows of x."""
        table = as_table(x)
        with predicting(type(self.regressor).__name__, n):
            mean = prediction(self.regressor.predict(table), n, "The prediction")
        mean = mean.reshape(n, -1)
        return Normal.bound(mean, self.std.at(x, n, (mean.shape[1],)))


def with_residual_scale(regressor: Any, std: Any) -> ResidualScale:
    """Make a density of any fitted regressor: y | x ~ N(predict(x), std²).

    Parameters
    ----------
    regressor : object
        A fitted object with a ``predict(X)`` method, of whichever library. It is never changed.
    std : float, (d_y,) array or callable
        Standard deviation of the residuals, or a function x → (n,) or (n, d_y). Take it from data that
        the regressor was not fitted on, or see `residual_scale_by_cv`.

    Returns
    -------
    ResidualScale

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> x, y = np.arange(4.0)[:, None], np.arange(4.0)
    >>> model = with_residual_scale(LinearRegression().fit(x, y), std=2.0)
    >>> model.score(y + 4.0, x)[:, 0]
    array([-1., -1., -1., -1.])
    """
    if isinstance(regressor, type) or not hasattr(regressor, "predict"):
        raise InputTypeError(
            f"with_residual_scale takes a fitted object with a predict method, got {regressor!r}."
        )
    if comes_from(regressor, "sklearn"):
        from condgof.models._sklearn import check_regressor

        check_regressor(regressor)
    scale = Parameter.constant_or_function("std", std)
    if not callable(std) and not (scale.value > 0).all():
        raise InputError(f"std must be positive, got {std!r}.")
    return ResidualScale(regressor, scale)


def residual_scale_by_cv(
    regressor: Any, X: Any, y: Any, *, cv: int | Iterable[Any] = 5, rng: RngLike = None
) -> ResidualScale:
    """Make a density of any scikit-learn regressor, its residual scale found by cross-validation.

    The standard deviation is the root mean square of the out-of-fold residuals, the same at every x.
    Residuals of the rows that a regressor was fitted on would be too small.

    Parameters
    ----------
    regressor : estimator
        Used for predictions as it is when it is fitted; a clone is fitted on all rows when it is not.
        Folds are fitted on clones, and the estimator itself is never changed.
    X : array or frame of shape (n,) or (n, d_x)
        The training data: *not* the data that the model will be tested on.
    y : array_like of shape (n,) or (n, d_y)
        Training responses.
    cv : int or iterable of (train, test)
        Number of folds, drawn with `rng`, or row numbers for each fold.
    rng : int, numpy.random.Generator or None
        For the folds, and for every ``random_state`` that was left None.

    Returns
    -------
    ResidualScale

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 1))
    >>> y = x[:, 0] + 0.5 * rng.normal(size=500)
    >>> model = residual_scale_by_cv(LinearRegression(), x, y, rng=0)
    >>> model.std.value.round(1)
    array([0.5])
    """
    base = require("sklearn.base", "sklearn", "residual_scale_by_cv")
    if isinstance(regressor, type) or not (hasattr(regressor, "fit") and hasattr(regressor, "predict")):
        raise InputTypeError(
            f"residual_scale_by_cv takes an estimator with fit and predict, got {regressor!r}."
        )
    if base.is_classifier(regressor):
        raise InputTypeError(f"{type(regressor).__name__} is a classifier. Pass a regressor.")
    X = as_table(X)
    targets = as_numbers(y, "y").astype(np.float64)
    if len(X) != len(targets):
        raise InputError(f"X has {len(X)} rows and y has {len(targets)}. Pass one row of X for each.")
    generator = Seed.of(rng).stream(Use.SPLIT)
    residuals = []
    for train, test in _folds(len(targets), cv, generator):
        fitted = _seeded_clone(regressor, generator).fit(take_rows(X, train), targets[train])
        predicted = prediction(fitted.predict(take_rows(X, test)), len(test), "The prediction")
        residuals.append((targets[test] - predicted.reshape(targets[test].shape)).reshape(len(test), -1))
    std: FloatArray = np.sqrt((np.concatenate(residuals) ** 2).mean(axis=0))
    if not (std > 0).all():
        raise InputError("The out-of-fold residuals are all 0: y has no noise to make a density of.")
    if not _is_fitted(regressor):
        regressor = _seeded_clone(regressor, generator).fit(X, targets)
    return with_residual_scale(regressor, std)


def _folds(n: int, cv: Any, generator: np.random.Generator) -> Iterable[tuple[IntArray, IntArray]]:
    if not isinstance(cv, (int, np.integer)) or isinstance(cv, bool):
        if not isinstance(cv, Iterable):
            raise InputError(f"cv must be a number of folds or pairs (train, test), got {cv!r}.")
        return [(np.asarray(train), np.asarray(test)) for train, test in cv]
    if not 2 <= cv <= n:
        raise InputError(f"cv must be between 2 and the number of rows, {n}, got {cv}.")
    order = generator.permutation(n)
    parts: list[AnyArray] = np.array_split(order, int(cv))
    return [(np.setdiff1d(order, part), np.sort(part)) for part in parts]


def _seeded_clone(estimator: Any, generator: np.random.Generator) -> Any:
    """Clone an estimator, with a seed for each random_state of None, which would draw globally."""
    from sklearn.base import clone

    copy = clone(estimator)
    seeds = {
        name: int(generator.integers(2**31))
        for name, value in sorted(copy.get_params(deep=True).items(), key=lambda item: item[0])
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    return copy.set_params(**seeds)


def _is_fitted(estimator: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True
