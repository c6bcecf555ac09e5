"""Regressors of NGBoost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from condgof.errors import InputError, ShapeError, UnsupportedModelError
from condgof.models._adapters import comes_from
from condgof.models._base import ConditionalModel
from condgof.models._interval import Beta
from condgof.models._laplace import Laplace
from condgof.models._library import Fitted, as_table, predicting
from condgof.models._normal import Normal
from condgof.models._positive import Exponential, Gamma, LogNormal
from condgof.models._student import StudentT

SUPPORTED = "a fitted NGBRegressor of NGBoost, or what its pred_dist returned"
#: The closed form of a predicted distribution, by the name of its class. Its attributes are read, not
#: `params`, which leaves out the degrees of freedom of a t distribution.
FAMILIES: dict[str, Callable[[Any], ConditionalModel]] = {
    "Normal": lambda d: Normal.bound(d.loc, d.scale),
    "LogNormal": lambda d: LogNormal.bound(mu=d.loc, sigma=d.scale),
    "Exponential": lambda d: Exponential.bound(scale=d.scale),
    "Laplace": lambda d: Laplace.bound(d.loc, d.scale),
    "T": lambda d: StudentT.bound(d.df, d.loc, d.scale),
    "TFixedDf": lambda d: StudentT.bound(d.df, d.loc, d.scale),
    "TFixedDfFixedVar": lambda d: StudentT.bound(d.df, d.loc, d.scale),
    "Gamma": lambda d: Gamma.bound(shape=d.alpha, rate=d.beta),
    "Beta": lambda d: Beta.bound(d.alpha, d.beta),
    "MVN": lambda d: Normal.bound(d.loc, cov=d.cov),
}


def adapt(obj: Any) -> ConditionalModel | None:
    """Make a model of a regressor or what it predicted, or return None for another library's object."""
    if not comes_from(obj, "ngboost"):
        return None
    name = type(obj).__name__
    bases = {base.__name__ for base in type(obj).__mro__}
    if "Distn" in bases:  # before any hasattr, which is true of whatever one asks these
        return FAMILIES[_family(type(obj))](obj)
    if "NGBoost" not in bases:
        raise UnsupportedModelError(f"{name} of NGBoost is no regressor. Pass a fitted NGBRegressor.")
    if "NGBClassifier" in bases:
        raise UnsupportedModelError(f"{name} is a classifier, and discrete y is not supported yet.")
    if "NGBSurvival" in bases:
        raise UnsupportedModelError(
            f"{name} models times of which some are censored, which no test here knows how to use. "
            "Pass an NGBRegressor."
        )
    if getattr(obj, "init_params", None) is None:
        raise InputError(f"{name} is not fitted yet. Call its fit method first.")
    return NGBoostModel(obj, _family(obj.Dist))


@dataclass(frozen=True, eq=False)
class NGBoostModel(Fitted):
    """The density that NGBoost predicts at x.

    Parameters
    ----------
    regressor : NGBRegressor
        Fitted; it is used as it is and never changed.
    family : str
        A key of `FAMILIES`.
    """

    regressor: Any
    family: str

    def at(self, x: Any, n: int) -> ConditionalModel:
        """Return the closed form at the n rows of x."""
        x = as_table(x)
        with predicting("NGBoost", n):
            predicted = self.regressor.pred_dist(x)
        model = FAMILIES[self.family](predicted)
        if model.rows != n:
            raise ShapeError(f"NGBoost predicted {model.rows} rows, and x has {n}.")
        return model


def _family(distribution: type) -> str:
    """Return the key in `FAMILIES` of a class of distributions or one it is derived from, or refuse."""
    names = [base.__name__ for base in distribution.__mro__]
    for name in names:
        if name in FAMILIES:
            return name
    if any(name in ("Poisson", "BetaBinomial", "BetaBinomialEstN") for name in names):
        raise UnsupportedModelError(
            f"{names[0]} of NGBoost is a distribution of counts, and discrete y is not supported yet."
        )
    raise UnsupportedModelError(
        f"{names[0]} of NGBoost has no closed form here. What works: {', '.join(FAMILIES)}; or pass "
        "condgof.from_log_prob(lambda y, x: regressor.pred_dist(x).logpdf(y))."
    )
