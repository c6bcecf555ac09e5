"""From what a user has to a model, and from a model to the law of a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import (
    FitWarning,
    InputError,
    InputTypeError,
    NonFiniteError,
    check_finite,
    check_object,
    option,
    warn,
)
from condgof.laws import (
    _columns,
    _draws,
    _jax,
    _ngboost,
    _qp,
    _scipy,
    _sklearn,
    _skpro,
    _statsmodels,
    _torch,
)
from condgof.laws._families import Normal
from condgof.laws._law import (
    CDF_ROUNDING,
    Law,
    Model,
    ModelLike,
    check_shape,
    evaluate_cdf_grid,
)
from condgof.laws._library import class_law, comes_from
from condgof.sample import Sample, is_frame

PREDICTIONS = """\
  a tuple (mean, std) of arrays, or condgof.normal(mean=..., std=...)
  condgof.models.Normal, Gamma, Poisson, …, of arrays or functions of x
  condgof.from_draws(Y), from_quantiles(Q, levels), from_intervals(low, high, coverage),
  from_pit(u), from_bins(edges, P), from_scores(S), probabilities(P) for predictions
  condgof.from_score(f), from_log_prob(f), from_ratio(f) for a function f(y, x)"""
OBJECTS = """
  a frozen scipy.stats distribution, or one of torch, NumPyro, FlowJAX, skpro, NGBoost or qp
  condgof.from_scipy(f), from_torch(f) or from_jax(f) for a function f(x) → distribution
  fitted models of scikit-learn, skpro, NGBoost, statsmodels, lifelines or scikit-survival \
that
  predict a distribution, whatever has predict_proba; ArviZ data with a posterior_predictive
  condgof.models.with_residual_scale(regressor, std=...) for any other regressor"""


def _adapt_lifelines(obj: Any) -> Model:
    from condgof.laws._survival import from_lifelines  # which itself imports `as_model`

    return from_lifelines(obj)


def _adapt_sksurv(obj: Any) -> Model:
    from condgof.laws._survival import from_sksurv  # which itself imports `as_model`

    return from_sksurv(obj)


#: Rows are told apart by their values where this share of those of a fit are different.
MOSTLY_DIFFERENT = 0.9
#: Rows with values of the fit are those of the fit where this share of all rows have such.
SHARE_FITTED = 0.5
#: Fewer rows than this may be so by chance.
FEWEST_FITTED = 10


@dataclass(frozen=True)
class Adapter:
    """How objects of a library become models."""

    #: The package that defines the class of an object, or a class that it is derived from.
    library: str
    #: Returns None for an object of the library that holds no prediction of y.
    adapt: Callable[[Any], ModelLike | None]


#: Asked in this order: objects of NGBoost and scikit-survival are also scikit-learn's.
ADAPTERS = (
    Adapter("ngboost", _ngboost.adapt),
    Adapter("qp", _qp.adapt),
    Adapter("scipy", _scipy.from_frozen),
    Adapter("torch", _torch.adapt),
    Adapter("flowjax", _jax.adapt),
    Adapter("numpyro", _jax.adapt),
    Adapter("arviz", _draws.adapt),
    Adapter("arviz_base", _draws.adapt),
    Adapter("xarray", _draws.adapt),
    Adapter("skpro", _skpro.adapt),
    Adapter("statsmodels", _statsmodels.from_statsmodels),
    Adapter("lifelines", _adapt_lifelines),
    Adapter("sksurv", _adapt_sksurv),
    Adapter("sklearn", _sklearn.adapt),
)


def as_model(obj: Any) -> ModelLike:
    """Make a model of what a user has.

    Parameters
    ----------
    obj : law, model, tuple, or fitted object of a library
        A *tuple* (mean, std) holds predictions, arrays with one row for each observation or
        functions of x. Fitted regressors and distributions of other libraries are taken as
        they are; what is not known is answered with the list of what works. A bare array is
        refused: predictions, or scores?

    Examples
    --------
    >>> as_model((np.zeros(3), np.ones(3))).score(np.array([1.0, 2.0, 3.0]))[:, 0]
    array([-1., -2., -3.])
    """
    if isinstance(obj, (Law, Model, _columns.Columns)):
        return obj
    check_object(obj, "The model")
    if isinstance(obj, tuple):
        return _mean_and_std(obj)
    for adapter in ADAPTERS:
        if comes_from(obj, adapter.library):
            model = adapter.adapt(obj)
            if model is not None:
                return model
    if hasattr(obj, "predict_proba") and not isinstance(obj, type):
        classes = getattr(obj, "classes_", None)
        return Model(partial(class_law, obj.predict_proba, classes), type(obj).__name__)
    _refuse(obj)


def _mean_and_std(pair: tuple[Any, ...]) -> Normal:
    if len(pair) != 2:
        raise InputTypeError(
            f"A tuple stands for (mean, std), and this one has {len(pair)} parts. What"
            f" works:\n{PREDICTIONS}"
        )
    mean, std = pair
    return Normal(mean=mean, std=std)


def _refuse(obj: Any) -> NoReturn:
    """Refuse an object that is no model, and list what works in its place."""
    kind = type(obj).__name__
    if isinstance(obj, type):
        raise InputTypeError(f"{obj.__name__} is a class. Pass an object of it, fitted.")
    if callable(obj):
        raise InputTypeError(
            "A bare function is ambiguous. Name what it computes: condgof.from_score(f) or"
            " from_log_prob(f) for f(y, x), from_scipy(f) or condgof.models.Model(f) for"
            " f(x)."
        )
    if isinstance(obj, (np.ndarray, list)) or is_frame(obj) or hasattr(obj, "__array__"):
        got = f"shape {np.shape(obj)}" if np.ndim(obj) else f"a single {kind}"
        raise InputTypeError(
            f"An array alone does not say what it is: {got} could be predictions, scores,"
            f" draws, …. Name it. What works:\n{PREDICTIONS}"
        )
    raise InputTypeError(
        f"Cannot make a model of {kind}. What works:\n{PREDICTIONS}{OBJECTS}"
    )


def law_of(model: ModelLike, sample: Sample) -> Law:
    """Return the law of y at the rows of a sample.

    Predictions for rows that the sample left out (missing values) are left out as well.
    """
    _check_index(model, sample)
    predicts_all_rows = model.rows == sample.n + sample.left_out
    if sample.kept is not None and sample.left_out and predicts_all_rows:
        notes = getattr(model, "notes", ())
        model = model.take(sample.kept)
        if notes and isinstance(model, Law) and not model.notes:
            model = model.noted(*notes)
    law = model(sample.x_given, sample.n)
    text = [column.name for column in sample.y_columns if column.categorical]
    if text and not law.discrete:
        raise InputTypeError(
            f"y column {text[0]!r} holds text or categories, and y must be numeric for this"
            " model. Pass numbers, or a model of classes (condgof.probabilities)."
        )
    return law.facing(sample.y_given)


def fit_notes(model: Any, sample: Sample) -> tuple[str, ...]:
    """Say, and warn, that a fit is not one to check like this; see `FitWarning`."""
    model = as_model(model)
    inner = getattr(model, "law", model)  # of a model with events
    if not isinstance(inner, Model):
        return ()
    notes = list(inner.fit_notes)
    in_fit = fitted_rows(inner, sample)
    if in_fit:
        which = "the rows have" if in_fit == sample.n else f"{in_fit:,} of the rows have"
        column = "y" if inner.fitted_y is not None else "x"
        notes.append(
            f"{which} the {column} that {inner.name} was fitted on: a fit is closer to"
            " these than to new ones, so use rows that it has not seen, crossfit or"
            " composite"
        )
    for note in notes:
        warn(f"{note[0].upper()}{note[1:]}.", FitWarning)
    if inner.of_survival and inner is model:  # the law itself gives a CensoringWarning
        notes.append(
            f"{inner.name} is a model of survival, and all times were taken as events:"
            f" without {option('event')} censored times read as a misfit"
        )
    return tuple(notes)


def fitted_rows(model: Model, sample: Sample) -> int:
    """Return how many rows are among those that a model was fitted on, by y or by x.

    Values that many rows share do not tell rows apart: 0 unless they are the same sample,
    or most values of the fit differ, and a larger share of the rows is among them than
    chance makes so.
    """
    fitted = model.fitted_y
    values = sample.y[:, 0] if sample.d_y == 1 else None
    if fitted is None and model.fitted_x is not None:
        if sample.x.shape[1] != model.fitted_x.shape[1]:
            return 0
        fitted = _as_keys(model.fitted_x)
        values = _as_keys(sample.x)
    elif fitted is not None:
        fitted = fitted.astype(np.float64)
    if fitted is None or values is None:
        return 0
    if len(fitted) == sample.n and _same_values(np.sort(fitted), np.sort(values)):
        return sample.n
    different = np.unique(fitted)
    if len(different) < MOSTLY_DIFFERENT * len(fitted):
        return 0
    count = int(np.isin(values, different).sum())
    return count if count >= FEWEST_FITTED and count > SHARE_FITTED * sample.n else 0


def _same_values(fitted: AnyArray, values: AnyArray) -> bool:
    """Whether two sorted arrays are equal, up to what scaling and back again rounds."""
    if fitted.dtype.kind != "f":
        return bool(np.array_equal(fitted, values))
    return bool(np.allclose(fitted, values, rtol=1e-12, atol=1e-12 * np.ptp(values)))


def _as_keys(x: AnyArray) -> AnyArray:
    """Return one value for each row (n, d), equal where rows are: their bytes."""
    rows = np.ascontiguousarray(x, dtype=np.float64) + 0.0  # −0 becomes 0
    return np.asarray(rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0])


def _check_index(model: ModelLike, sample: Sample) -> None:
    """Refuse predictions whose index, of pandas, is not that of x (or else of y)."""
    index = getattr(model, "index", None)
    labels = sample.origin.labels
    if index is None or labels is None:
        return
    if len(index) != len(labels) and sample.kept is not None:
        labels = labels[sample.kept]
    if len(index) == len(labels) and not index.equals(labels):
        has_labels = hasattr(sample.x_given, "iloc")
        other = "x" if has_labels else "y"
        raise InputError(
            f"The predictions and {other} have different indices. Align them first, such as"
            f" mean.loc[{other}.index], or pass arrays."
        )


def drawn(law: Law, d_y: int, rng: np.random.Generator) -> FloatArray:
    """Draw y from a law, checked, (n, d_y)."""
    if not law.can("sample"):
        law.lacks("sample")
    values = check_shape(law.sample(rng), law.n, d_y, "What sample returns")
    check_finite(values, "What the model samples", "Check its sampler at those rows of x.")
    return values


def cdf_rows(law: Law, sample: Sample, rows: IntArray) -> FloatArray:
    """Return F(y_k | x_i) for rows i and all k of a sample with d_y = 1, (len(rows), n)."""
    values = evaluate_cdf_grid(law.take(rows), sample.y_given)
    values = check_shape(values, len(rows), sample.n, "What cdf_grid returns")
    bad = ~((values >= -CDF_ROUNDING) & (values <= 1.0 + CDF_ROUNDING))
    if bad.any():
        i, k = np.argwhere(bad)[0]
        value = values[i, k]
        error = InputError if np.isfinite(value) else NonFiniteError
        raise error(
            f"The model's cdf is {value:.6g} given row {rows[i]} of x (counted from 0), at"
            f" y = {sample.y[k, 0]:.6g}, and a cdf lies between 0 and 1. Check the model."
        )
    return np.clip(values, 0.0, 1.0)
