"""From what a user has to a model: the front door."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    check_finite,
    check_object,
)
from condgof.laws._columns import Columns
from condgof.laws._law import CDF_ROUNDING, Law, Model, ModelLike, check_shape, grid_of
from condgof.laws._library import classifier
from condgof.laws._normal import Normal
from condgof.sample import Sample, is_frame

#: Modules of this room that take objects of a library, asked in this order: estimators of NGBoost are
#: also scikit-learn's. Each has ``SUPPORTED``, a line for messages, and ``adapt(obj)``, which returns a
#: law or a model, or None for an object that is not its own; they import their library only then.
ADAPTERS = (
    "_scipy", "_torch", "_jax", "_arviz", "_qp", "_ngboost", "_skpro", "_statsmodels", "_survival",
    "_sklearn",
)  # fmt: skip
SUPPORTED = """\
  a tuple (mean, std) of arrays, or condgof.normal(mean=..., std=...)
  condgof.from_draws(Y) for posterior-predictive or simulator draws, (n, m)
  condgof.from_quantiles(Q, levels), condgof.from_intervals(low, high, coverage)
  condgof.from_pit(u), condgof.from_bins(edges, P), condgof.from_scores(S)
  condgof.from_score(f) or condgof.from_log_prob(f) for a function f(y, x)
  condgof.models.Normal, NormalMixture, StudentT, Laplace, Gamma, Exponential, Weibull, LogNormal,
  Beta, Uniform, Poisson, NegativeBinomial, Binomial, …, of arrays or functions of x
  condgof.probabilities(P) for class probabilities, an object with predict_proba,
  condgof.from_ratio(f)"""


def as_model(obj: Any) -> ModelLike:
    """Make a model of what a user has.

    Parameters
    ----------
    obj : law, model, tuple, or fitted object of a library
        Laws and models are returned as they are; a *tuple* (mean, std) holds predictions, arrays with
        one row for each observation or functions of x. Fitted regressors and distributions of other
        libraries are taken as they are; an object that is not is answered with the list of what works.
        A bare array is refused: it may hold predictions, scores, draws or probabilities.

    Examples
    --------
    >>> as_model((np.zeros(3), np.ones(3))).score(np.array([1.0, 2.0, 3.0]))[:, 0]
    array([-1., -2., -3.])
    """
    if isinstance(obj, (Law, Model, Columns)):
        return obj
    check_object(obj, "The model")
    if isinstance(obj, tuple):
        if len(obj) != 2:
            raise InputTypeError(
                f"A tuple stands for (mean, std), and this one has {len(obj)} parts. For other "
                "predictions use condgof.from_draws, from_quantiles, from_intervals, ...."
            )
        return Normal(mean=obj[0], std=obj[1])
    for name in ADAPTERS:
        adapted = import_module(f"condgof.laws.{name}").adapt(obj)
        if adapted is not None:
            return adapted  # type: ignore[no-any-return]
    if hasattr(obj, "predict_proba") and not isinstance(obj, type):
        return classifier(obj.predict_proba, getattr(obj, "classes_", None), type(obj).__name__)
    if isinstance(obj, type):
        raise InputTypeError(f"{obj.__name__} is a class. Pass an object of it, fitted.")
    if callable(obj):
        raise InputTypeError(
            "A bare function is ambiguous. Name what it computes: condgof.from_score(f) for "
            "f(y, x) → scores, condgof.from_log_prob(f) for f(y, x) → log-density, "
            "condgof.from_scipy(f) for f(x) → frozen scipy.stats distribution, "
            "condgof.models.Model(f) for f(x) → law."
        )
    if isinstance(obj, (np.ndarray, list)) or is_frame(obj) or hasattr(obj, "__array__"):
        got = f"shape {np.shape(obj)}" if np.ndim(obj) else f"a single {type(obj).__name__}"
        raise InputTypeError(
            f"An array alone does not say what it is: {got} could be predictions, scores, draws or "
            f"probabilities. Name it. What works:\n{SUPPORTED}"
        )
    more = "".join(f"\n  {import_module(f'condgof.laws.{name}').SUPPORTED}" for name in ADAPTERS)
    raise InputTypeError(f"Cannot make a model of {type(obj).__name__}. What works:\n{SUPPORTED}{more}")


def law_of(model: ModelLike, sample: Sample) -> Law:
    """Call a model with x of a sample: the one place where that is done.

    Predictions that were given for rows which the sample left out are left out as well.
    """
    index, own = getattr(model, "index", None), getattr(sample.x_given, "index", None)
    if index is not None and hasattr(sample.x_given, "iloc"):
        kept = index[sample.kept] if sample.left_out and len(index) != sample.n else index
        if len(kept) == sample.n and not kept.equals(own):
            raise InputError(
                "The predictions and x have different indices. Align them first, such as mean = "
                "mean.loc[x.index], or pass arrays if rows match by position."
            )
    if sample.kept is not None and sample.left_out and model.rows == sample.n + sample.left_out:
        notes = getattr(model, "notes", ())
        model = model.take(sample.kept)
        if isinstance(model, Law) and not model.notes:
            model = model.noted(*notes)
    law = model(sample.x_given, sample.n)
    text = [column.name for column in sample.y_columns if column.categorical]
    if text and not law.discrete:
        raise InputTypeError(
            f"y column {text[0]!r} holds text or categories, and y must be numeric for this model. "
            "Pass numbers, or a model of classes (condgof.probabilities, a classifier)."
        )
    return law.facing(sample.y_given)


def drawn(law: Law, d_y: int, rng: np.random.Generator) -> FloatArray:
    """Draw y from a law, checked, (n, d_y)."""
    if not law.can("sample"):
        law.lacks("sample")
    values = check_shape(law.sample(rng), law.n, d_y, "What sample returns")
    check_finite(values, "What the model samples", "Check its sampler at those rows of x.")
    return values


def cdf_rows(law: Law, sample: Sample, rows: IntArray) -> FloatArray:
    """Return F(y_k | x_i) for some rows i and all k of a sample with d_y = 1, (len(rows), n)."""
    values = grid_of(law.take(rows), sample.y_given)
    if values.shape != (len(rows), sample.n):
        raise ShapeError(f"cdf_grid must return {(len(rows), sample.n)}, got {values.shape}.")
    if values.min() >= 0.0 and values.max() <= 1.0:  # false where there is a NaN
        return values
    broken = ~np.isfinite(values)
    bad = broken if broken.any() else (values < -CDF_ROUNDING) | (values > 1.0 + CDF_ROUNDING)
    if bad.any():
        i, k = np.argwhere(bad)[0]
        message = (
            f"The model's cdf is {values[i, k]:.6g} given row {rows[i]} of x (counted from 0), at "
            f"y = {sample.y[k, 0]:.6g}, and a cdf lies between 0 and 1. Check the model there."
        )
        if broken.any():
            raise NonFiniteError(message, int(bad.any(axis=1).sum()), int(rows[i]))
        raise InputError(message)
    return np.clip(values, 0.0, 1.0)
