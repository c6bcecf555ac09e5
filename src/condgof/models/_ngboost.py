"""Regressors of NGBoost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from condgof.errors import InputError, ShapeError, UnsupportedModelError
from condgof.models._adapters import comes_from
from condgof.models._base import ConditionalModel
from condgof.models._classifier import DiscreteFitted
from condgof.models._library import Fitted, as_table, predicting
from condgof.models._normal import Normal
from condgof.models._probabilities import probabilities
from condgof.models._scipy import adapt as adapt_scipy

#: Distributions of counts.
COUNTS = ("Poisson", "BetaBinomial", "BetaBinomialEstN")
SUPPORTED = "a fitted NGBRegressor or NGBClassifier of NGBoost, or what its pred_dist returned"


def adapt(obj: Any) -> ConditionalModel | None:
    """Make a model of a regressor or what it predicted, or return None for another library's object."""
    if not comes_from(obj, "ngboost"):
        return None
    name = type(obj).__name__
    bases = {base.__name__ for base in type(obj).__mro__}
    if "Distn" in bases:  # before any hasattr, which is true of whatever one asks these
        return _model(obj)
    if "NGBoost" not in bases:
        raise UnsupportedModelError(f"{name} of NGBoost is no regressor. Pass a fitted NGBRegressor.")
    if "NGBSurvival" in bases:
        raise UnsupportedModelError(
            f"{name} models times of which some are censored, which no test here knows how to use. "
            "Pass an NGBRegressor."
        )
    if getattr(obj, "init_params", None) is None:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    counts = obj.Dist.__name__ in COUNTS
    discrete = counts or any(base.__name__ == "ClassificationDistn" for base in obj.Dist.__mro__)
    return (DiscreteNGBoost if discrete else NGBoostModel)(obj)


@dataclass(frozen=True, eq=False)
class NGBoostModel(Fitted):
    """The density that NGBoost predicts at x.

    Parameters
    ----------
    regressor : NGBRegressor
        Fitted; it is used as it is and never changed.
    """

    regressor: Any

    def at(self, x: Any, n: int) -> ConditionalModel:
        """Return the model at the n rows of x."""
        x = as_table(x)
        with predicting("NGBoost", n):
            predicted = self.regressor.pred_dist(x)
        model = _model(predicted)
        if model.rows not in (None, n):
            raise ShapeError(f"NGBoost predicted {model.rows} rows, and x has {n}.")
        return model


class DiscreteNGBoost(DiscreteFitted, NGBoostModel):
    """The same for classes and counts."""


def _model(predicted: Any) -> ConditionalModel:
    """Read a predicted distribution: that of SciPy which it holds, or a multivariate normal.

    Its `params` would not do: they leave out the degrees of freedom of a t distribution.
    """
    if type(predicted).__name__ == "MVN":
        return Normal.bound(predicted.loc, cov=predicted.cov)
    if any(base.__name__ == "ClassificationDistn" for base in type(predicted).__mro__):
        return probabilities(predicted.class_probs())
    model = adapt_scipy(vars(predicted).get("dist"))
    if model is None:
        name = type(predicted).__name__
        raise UnsupportedModelError(
            f"{name} of NGBoost holds no distribution of SciPy. Write its log-density, and pass "
            "condgof.from_log_prob(lambda y, x: ..., support=...)."
        )
    return model
