"""NGBoost: fitted regressors and classifiers, and the distributions that they predict."""

from __future__ import annotations

from functools import partial
from typing import Any

from condgof._typing import TableLike
from condgof.errors import InputError, UnsupportedModelError
from condgof.laws._discrete import probabilities
from condgof.laws._families import Normal
from condgof.laws._law import Law, Model
from condgof.laws._library import as_table, base_names
from condgof.laws._scipy import from_frozen


def adapt(obj: Any) -> Law | Model:
    """Make a model of a fitted estimator, or a law of a predicted distribution."""
    bases = base_names(obj)
    # By class and not by attribute: a distribution claims to have any attribute.
    if "Distn" in bases:
        return _law(obj)
    name = type(obj).__name__
    if "NGBSurvival" in bases:
        raise UnsupportedModelError(
            f"{name} is of censored times. Pass a fitted NGBRegressor."
        )
    if "NGBoost" not in bases:
        raise UnsupportedModelError(
            f"{name} of NGBoost is no regressor. Pass a fitted NGBRegressor."
        )
    if getattr(obj, "init_params", None) is None:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    return Model(partial(_predicted, obj), name)


def _predicted(estimator: Any, x: TableLike) -> Law:
    return _law(estimator.pred_dist(as_table(x)))


def _law(distribution: Any) -> Law:
    """Return the law of a predicted distribution.

    It is read from the distribution of SciPy inside, since `params` of NGBoost leave out
    the degrees of freedom of a Student t.
    """
    name = type(distribution).__name__
    if name == "MVN":
        return Normal(mean=distribution.loc, cov=distribution.cov)
    if "ClassificationDistn" in base_names(distribution):
        return probabilities(distribution.class_probs())
    law = from_frozen(vars(distribution).get("dist"))
    if law is None:
        raise UnsupportedModelError(
            f"{name} of NGBoost holds no distribution of SciPy. Pass its log-density to"
            " condgof.from_log_prob."
        )
    return law
