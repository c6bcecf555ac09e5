"""Regressors and classifiers of NGBoost."""

from __future__ import annotations

from functools import partial
from typing import Any

from condgof.errors import InputError, UnsupportedModelError
from condgof.laws import _scipy
from condgof.laws._classes import probabilities
from condgof.laws._law import Law, Model
from condgof.laws._library import as_table, comes_from, predicting
from condgof.laws._normal import Normal

SUPPORTED = "a fitted NGBRegressor or NGBClassifier of NGBoost, or what its pred_dist returned"


def adapt(obj: Any) -> Law | Model | None:
    """Make a model of a regressor or what it predicted, or return None for another library's object."""
    if not comes_from(obj, "ngboost"):
        return None
    name = type(obj).__name__
    bases = {base.__name__ for base in type(obj).__mro__}
    if "Distn" in bases:  # before any hasattr, which is true of whatever one asks these
        return _law(obj)
    if "NGBoost" not in bases:
        raise UnsupportedModelError(f"{name} of NGBoost is no regressor. Pass a fitted NGBRegressor.")
    if "NGBSurvival" in bases:
        raise UnsupportedModelError(
            f"{name} models censored times, which no test takes. Pass an NGBRegressor."
        )
    if getattr(obj, "init_params", None) is None:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    return Model(partial(_predicted, obj), name)


def _predicted(regressor: Any, x: Any) -> Law:
    x = as_table(x)
    with predicting("NGBoost", len(x)):
        predicted = regressor.pred_dist(x)
    return _law(predicted)


def _law(predicted: Any) -> Law:
    """Read a predicted distribution: that of SciPy which it holds, or a multivariate normal.

    Its `params` would not do: they leave out the degrees of freedom of a t distribution.
    """
    if type(predicted).__name__ == "MVN":
        return Normal(mean=predicted.loc, cov=predicted.cov)
    if any(base.__name__ == "ClassificationDistn" for base in type(predicted).__mro__):
        return probabilities(predicted.class_probs())
    law = _scipy.adapt(vars(predicted).get("dist"))
    if law is None:
        raise UnsupportedModelError(
            f"{type(predicted).__name__} of NGBoost holds no distribution of SciPy. Write its "
            "log-density, and pass condgof.from_log_prob(lambda y, x: ..., support=...)."
        )
    return law
