"""From what a user has to a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputTypeError
from condgof.models._adapters import adapt, supported
from condgof.models._base import ConditionalModel
from condgof.models._classifier import Classifier
from condgof.models._coordinates import scores_of
from condgof.models._functions import ScoreArray
from condgof.models._normal import Normal, normal
from condgof.sample import Sample, as_numbers, is_frame

SUPPORTED = """\
  an array (n, d_y) of scores ∇_y log p(y|x)
  a tuple (mean, std) of arrays, or condgof.normal(mean=..., std=...)
  condgof.from_score(f) or condgof.from_log_prob(f) for a function f(y, x)
  condgof.models.Normal, NormalMixture, StudentT, Laplace, Gamma, Exponential, LogNormal, Beta,
  Uniform, Poisson, NegativeBinomial, Binomial, and their bound(...) for arrays of parameters
  condgof.probabilities(P) for class probabilities, an object with predict_proba,
  condgof.from_ratio(f)"""


def as_model(obj: Any) -> ConditionalModel:
    """Make a model of what a user has.

    Parameters
    ----------
    obj : ConditionalModel, array, tuple, or fitted object of a library
        A model is returned as it is; an array of shape (n, d_y), or (n,) when d_y = 1, holds scores;
        a *tuple* (mean, std) holds predictions, arrays with one row for each observation or functions
        of x. Fitted regressors and distributions of other libraries are taken as they are; an object
        that is not is answered with the list of what works.

    Returns
    -------
    ConditionalModel

    Examples
    --------
    >>> as_model((np.zeros(3), np.ones(3))).score(np.array([1.0, 2.0, 3.0]), None)[:, 0]
    array([-1., -2., -3.])
    """
    if isinstance(obj, ConditionalModel):
        return obj
    if isinstance(obj, tuple):
        if len(obj) != 2:
            raise InputTypeError(
                f"A tuple stands for (mean, std), and this one has {len(obj)} parts. "
                "For scores pass an array."
            )
        if callable(obj[0]) != callable(obj[1]) and max(np.ndim(p) for p in obj if not callable(p)):
            raise InputTypeError(
                "A tuple (mean, std) holds two arrays or two functions of x (or a number), not one of "
                "each. Evaluate the function at x first."
            )
        if callable(obj[0]) or callable(obj[1]):
            return Normal(mean=obj[0], std=obj[1])
        return normal(mean=obj[0], std=obj[1])
    adapted = adapt(obj)
    if adapted is not None:
        return adapted
    if hasattr(obj, "predict_proba") and not isinstance(obj, type):
        return Classifier(obj.predict_proba, getattr(obj, "classes_", None), type(obj).__name__)
    if isinstance(obj, type):
        raise InputTypeError(f"{obj.__name__} is a class. Pass an object of it, fitted.")
    if callable(obj):
        raise InputTypeError(
            "A bare function is ambiguous. Name what it computes: condgof.from_score(f) for "
            "f(y, x) → scores, condgof.from_log_prob(f) for f(y, x) → log-density, "
            "condgof.from_scipy(f) for f(x) → frozen scipy.stats distribution."
        )
    if isinstance(obj, (np.ndarray, list)) or is_frame(obj) or hasattr(obj, "__array__"):
        array = np.array(as_numbers(obj, "An array of scores", verb="must hold"))
        if array.ndim:
            return ScoreArray(array)
        raise InputTypeError("An array of scores must hold one row an observation, got one number.")
    raise InputTypeError(
        f"Cannot make a model of {type(obj).__name__}. What works:\n{SUPPORTED}{supported()}"
    )


def scores(model: Any, x: Any, y: Any) -> FloatArray:
    """Scores ∇_y log p(y|x) of a sample, which are all that the Stein tests see of a model.

    They are those of y itself. Where the model's support is bounded, the tests turn them into the scores
    of log(y − low) and its like; an observation outside the support is an error here as there.

    Parameters
    ----------
    model : ConditionalModel or anything `as_model` takes
        The model.
    x : array_like or frame of shape (n,) or (n, d_x)
        Covariates.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses.

    Returns
    -------
    ndarray of shape (n, d_y)

    Examples
    --------
    >>> import condgof as cg
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 0.0])
    >>> cg.scores(cg.models.Normal(mean=lambda x: x, std=1.0), x, y)[:, 0]
    array([-1., -0.,  2.])
    """
    return scores_of(as_model(model), Sample.of(x, y, to_test=False))
