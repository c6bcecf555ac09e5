"""Results of statsmodels: least squares, generalised linear models, and models of a discrete y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, UnsupportedModelError
from condgof.models._adapters import comes_from
from condgof.models._base import ConditionalModel
from condgof.models._classifier import DiscreteFitted
from condgof.models._discrete import DiscreteModel
from condgof.models._inverse_gaussian import InverseGaussian
from condgof.models._library import Fitted, as_pandas, predicting, prediction
from condgof.models._normal import Normal
from condgof.models._parameters import Parameter, check_positive
from condgof.models._positive import Gamma
from condgof.models._statsmodels_discrete import GLM_FAMILIES, is_discrete, needs_trials, predicted

SUPPORTED = (
    "results of statsmodels: OLS, WLS and GLM (Gaussian, Gamma, InverseGaussian, Poisson, "
    "NegativeBinomial, Binomial), Poisson and its kin, Logit, Probit, MNLogit, OrderedModel, by "
    "arrays or formula; condgof.models.from_statsmodels for those with weights, an offset, an "
    "exposure or trials"
)
#: The closed form of a family, from its mean μ and dispersion φ, (n,) each.
FAMILIES: dict[str, Callable[[FloatArray, FloatArray], ConditionalModel]] = {
    "Gaussian": lambda mu, phi: Normal.bound(mu, np.sqrt(phi)),
    "Gamma": lambda mu, phi: Gamma.bound(shape=1.0 / phi, scale=check_positive(mu, "The mean") * phi),
    "InverseGaussian": lambda mu, phi: InverseGaussian.bound(mean=mu, shape=1.0 / phi),
}
#: What a fit may have had besides x.
BESIDES = ("weights", "offset", "exposure", "trials")


def adapt(obj: Any) -> StatsmodelsModel | None:
    """Make a model of results, or return None for an object of another library."""
    return from_statsmodels(obj) if comes_from(obj, "statsmodels") else None


@dataclass(frozen=True, eq=False)
class StatsmodelsModel(Fitted):
    """The model that statsmodels fitted, with its estimates taken for the truth.

    Parameters
    ----------
    results : Results
        Fitted results; used as they are and never changed.
    family : str
        A key of `FAMILIES`; "discrete" where y is.
    weights, offset, exposure, trials : Parameter, optional
        What the fit had besides x, for the rows that are predicted.
    """

    results: Any
    family: str
    weights: Parameter | None = None
    offset: Parameter | None = None
    exposure: Parameter | None = None
    trials: Parameter | None = None

    @property
    def rows(self) -> int | None:
        """Number of rows that weights, offset, exposure or trials were given for, or None."""
        besides = (getattr(self, name) for name in BESIDES)
        given = (p for p in besides if p is not None and p.bound)
        return next((len(p.value) for p in given), None)

    def take(self, rows: IntArray) -> StatsmodelsModel:
        """Return the model of some rows."""
        given = {name: getattr(self, name) for name in BESIDES}
        return replace(self, **{name: p and p.take(rows) for name, p in given.items()})

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of a result should know."""
        name = self.results.model.endog_names
        if isinstance(name, str) and not name.isidentifier() and _formula(self.results):
            return (f"statsmodels fitted the response {name!r} of the formula: y must be that",)
        return ()

    def _table(self, x: Any, n: int) -> tuple[Any, dict[str, FloatArray]]:
        """Return x as statsmodels takes it, with offset and exposure."""
        table = as_pandas(x)
        _check_columns(self.results, table)
        given = {
            name: np.asarray(parameter.at(x, n, (1,)))[:, 0]
            for name in ("offset", "exposure")
            if (parameter := getattr(self, name)) is not None
        }
        return table, given

    def at(self, x: Any, n: int) -> ConditionalModel:
        """Return the closed form at the n rows of x."""
        table, given = self._table(x, n)
        with predicting("statsmodels", n):
            mean = prediction(self.results.predict(table, **given), n, "The prediction")
        dispersion = np.full(n, float(self.results.scale))
        if self.weights is not None:
            weights = check_positive(self.weights.at(x, n, (1,))[:, 0], "weights")
            dispersion = dispersion / weights
        return FAMILIES[self.family](mean, dispersion)


class DiscreteStatsmodels(DiscreteFitted, StatsmodelsModel):
    """The same where y is discrete."""

    def at(self, x: Any, n: int) -> DiscreteModel:
        """Return the model of y at the n rows of x."""
        table, given = self._table(x, n)
        trials = None if self.trials is None else np.asarray(self.trials.at(x, n, (1,)))[:, 0]
        with predicting("statsmodels", n):
            return predicted(self.results, table, n, given, trials)


def from_statsmodels(
    results: Any, *, weights: Any = None, offset: Any = None, exposure: Any = None, trials: Any = None
) -> StatsmodelsModel:
    """Model from results of statsmodels.

    The density is that of the family at the estimated parameters (the uncertainty of the estimates is
    not in it). `as_model` does the same for results that need nothing besides x.

    Parameters
    ----------
    results : Results
        What ``fit()`` of an OLS, a WLS, a GLM (Gaussian, Gamma, InverseGaussian, Poisson,
        NegativeBinomial or Binomial) or a discrete model (Poisson, NegativeBinomial, GeneralizedPoisson,
        zero-inflated ones, Logit, Probit, MNLogit, OrderedModel) returned. For a formula x must be a
        frame with its columns; otherwise x has the columns of the fitted exog, the constant included.
    weights : number, array of shape (n,), callable or str
        For the rows that are tested: the weights of a WLS (variance = scale/weight) or the variance
        weights of a GLM. An array binds the model to rows; a callable is a function of x; a str is a
        column of x.
    offset, exposure : as `weights`
        Those of a GLM or a count model, for the rows that are tested.
    trials : as `weights`
        How many trials a binomial GLM has in each row; y is then the number of successes.

    Returns
    -------
    StatsmodelsModel

    Examples
    --------
    >>> import statsmodels.api as sm
    >>> x = sm.add_constant(np.arange(5.0))
    >>> y = np.array([0.0, 1.0, 2.5, 3.0, 3.5])
    >>> results = sm.WLS(y, x, weights=[1.0, 1.0, 1.0, 0.5, 0.5]).fit()
    >>> model = from_statsmodels(results, weights=lambda x: np.where(x[:, 1] < 3, 1.0, 0.5))
    >>> mean, std = model.mean_std(x)
    >>> bool(np.isclose(std[4] / std[0], np.sqrt(2.0))[0])
    True
    """
    family = _family(results)
    given = {"weights": weights, "offset": offset, "exposure": exposure, "trials": trials}
    for name, was_fitted in _fitted_with(results).items():
        if was_fitted and given[name] is None:
            raise InputError(
                f"The model was fitted with {name}, and those of the rows that you test are not known. "
                f"Pass them: condgof.models.from_statsmodels(results, {name}=...), an array, a "
                "function of x or the name of a column of x."
            )
        if not was_fitted and given[name] is not None and name != "weights":
            raise InputError(f"The model was fitted without {name}, so that {name}= has no meaning.")
    parameters = {name: _parameter(name, g) for name, g in given.items()}
    return (DiscreteStatsmodels if family == "discrete" else StatsmodelsModel)(
        results, family, **parameters
    )


def _parameter(name: str, given: Any) -> Parameter | None:
    if given is None:
        return None
    if isinstance(given, str):
        return Parameter(name, lambda x: x[given])
    if callable(given) or np.ndim(given) == 0:
        return Parameter.constant_or_function(name, given)
    return Parameter.rowwise(name, given, len(given))


def _family(results: Any) -> str:
    """Return the key in `FAMILIES`, or refuse."""
    name = type(getattr(results, "model", results)).__name__
    if not hasattr(results, "params") or not hasattr(results, "predict"):
        advice = " Call its fit method, and pass what that returns." if hasattr(results, "fit") else ""
        raise InputTypeError(f"{name} of statsmodels holds no fitted regression.{advice}")
    if comes_from(results.model, "statsmodels") and is_discrete(results):
        return "discrete"
    if not hasattr(results, "scale"):
        raise UnsupportedModelError(
            f"These results of {name} have no estimate of the noise. Give one: "
            "condgof.models.with_residual_scale(results, std=...)."
        )
    if comes_from(results.model, "statsmodels") and name in ("OLS", "WLS"):
        return "Gaussian"
    family = type(results.model.family).__name__ if name == "GLM" else None
    if family in FAMILIES:
        return family
    what = f"A GLM of the family {family}" if family else f"{name} of statsmodels"
    raise UnsupportedModelError(
        f"{what} is not supported. What works: OLS, WLS and GLM of the families "
        f"{', '.join((*FAMILIES, *GLM_FAMILIES))}, and models of a discrete y; "
        "or your own log-density with condgof.from_log_prob."
    )


def _fitted_with(results: Any) -> dict[str, bool]:
    """Say what a fit had besides x that a prediction at other rows needs."""
    model = results.model
    none = dict.fromkeys(BESIDES, False)
    if type(model).__name__ == "GLM":
        # An exposure is kept as its logarithm.
        has = {name: _vary(getattr(model, name, None), 0.0) for name in ("offset", "exposure")}
        weights = _vary(model.var_weights, 1.0)
        return {**none, "weights": weights, **has, "trials": needs_trials(results)}
    if is_discrete(results):
        return {
            **none,
            **{name: _vary(getattr(model, name, None), 0.0) for name in ("offset", "exposure")},
        }
    weights = type(model).__name__ == "WLS" and bool(np.ptp(np.asarray(model.weights)) > 0)
    return {**none, "weights": weights}


def _vary(values: Any, usual: float) -> bool:
    return values is not None and bool(np.any(np.asarray(values, dtype=np.float64) != usual))


def _formula(results: Any) -> str | None:
    formula = getattr(results.model, "formula", None)
    return None if formula is None else str(formula)


def _check_columns(results: Any, table: Any) -> None:
    """Say which columns are missing before statsmodels stumbles over them."""
    formula = _formula(results)
    if formula is not None:
        if not hasattr(table, "columns"):
            raise InputTypeError(
                f"The model was fitted by the formula {formula!r}, and x has no column names. "
                "Pass x as a frame with the formula's columns."
            )
        return
    fitted = results.model.exog.shape[1]
    given = table.shape[1]
    if given != fitted:
        names = ", ".join(map(str, results.model.exog_names))
        hint = " Add the constant: x = statsmodels.api.add_constant(x)." if given == fitted - 1 else ""
        raise InputError(f"The model was fitted on {fitted} columns ({names}), and x has {given}.{hint}")
