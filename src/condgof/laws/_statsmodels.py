"""Results of statsmodels: least squares, generalised linear models, and discrete models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, TableLike
from condgof.errors import InputError, InputTypeError, UnsupportedModelError
from condgof.laws import _counts as counts
from condgof.laws._discrete import bernoulli, probabilities
from condgof.laws._families import Gamma, InverseGaussian, Normal
from condgof.laws._law import Law, Model
from condgof.laws._library import as_pandas, comes_from
from condgof.laws._parameters import Parameter, check_positive
from condgof.laws._scipy import from_frozen
from condgof.sample import as_numbers


@dataclass(frozen=True, eq=False)
class GlmPrediction:
    """What a GLM predicts of n rows."""

    mean: FloatArray  # μ, (n,)
    dispersion: FloatArray  # φ over the variance weights, (n,)
    trials: FloatArray | None  # of a binomial family, (n,)
    family: Any  # the family of statsmodels


def _gamma(p: GlmPrediction) -> Law:
    mean = check_positive(p.mean, "The mean")
    return Gamma(shape=1.0 / p.dispersion, scale=mean * p.dispersion)


def _binomial(p: GlmPrediction) -> Law:
    if p.trials is None:
        return bernoulli(p.mean)
    return counts.Binomial(trials=p.trials, p=np.clip(p.mean, 0.0, 1.0))


#: Families of a GLM by name, as closed forms.
FAMILIES: dict[str, Callable[[GlmPrediction], Law]] = {
    "Gaussian": lambda p: Normal(mean=p.mean, std=np.sqrt(p.dispersion)),
    "Gamma": _gamma,
    "InverseGaussian": lambda p: InverseGaussian(mean=p.mean, shape=1.0 / p.dispersion),
    "Poisson": lambda p: counts.Poisson(mean=p.mean),
    "NegativeBinomial": lambda p: counts.NegativeBinomial(
        mean=p.mean, dispersion=float(p.family.alpha)
    ),
    "Binomial": _binomial,
}
#: Those of a discrete y, whose dispersion must be 1.
DISCRETE_FAMILIES = ("Poisson", "NegativeBinomial", "Binomial")
#: Models of two classes, which predict the probability of the second.
BINARY = ("Logit", "Probit")
#: Models of several classes, which predict all probabilities.
CLASSES = ("MNLogit", "OrderedModel")
#: Zero-inflated counts with a closed form here.
INFLATED = ("ZeroInflatedPoisson", "ZeroInflatedNegativeBinomialP")
#: Counts whose positive part is truncated at 0.
TRUNCATED = ("HurdleCountModel", "TruncatedLFPoisson", "TruncatedLFNegativeBinomialP")
SUPPORTED = (
    f"OLS, WLS, GLM ({', '.join(FAMILIES)}), counts (truncated ones at 0), Logit, Probit,"
    " MNLogit, OrderedModel"
)
#: A fit has no quasi-likelihood if its scale is 1 up to this.
SCALE_ROUNDING = 1e-9


def from_statsmodels(
    results: Any,
    *,
    weights: Any = None,
    offset: Any = None,
    exposure: Any = None,
    trials: Any = None,
    exog_infl: Any = None,
) -> Model:
    """Model from results of statsmodels.

    The density is that of the family at the estimated parameters, as if they were known.
    `as_model` does the same for results that need nothing besides x.

    Parameters
    ----------
    results : Results
        Of an OLS, a WLS, a GLM (Gaussian, Gamma, InverseGaussian, Poisson, NegativeBinomial
        or Binomial) or a discrete model (Poisson, NegativeBinomial, GeneralizedPoisson,
        zero-inflated, truncated and hurdle ones, Logit, Probit, MNLogit, OrderedModel). For
        a formula x must be a frame with its columns; otherwise x has the columns of the
        fitted exog, the constant included.
    weights, offset, exposure, trials : number, array of shape (n,) or function of x
        Those of the rows that are tested: the weights of a WLS (variance = scale/weight) or
        the variance weights of a GLM; the offset or exposure of a GLM or a count model; the
        trials of a binomial GLM, whose y is then the number of successes.
    exog_infl : array of shape (n,) or (n, k), or function of x
        The columns of the fitted exog_infl of a zero-inflated model, the constant included.

    Examples
    --------
    >>> import statsmodels.api as sm
    >>> x = sm.add_constant(np.arange(5.0))
    >>> y = np.array([0.0, 1.0, 2.5, 3.0, 3.5])
    >>> results = sm.WLS(y, x, weights=[1.0, 1.0, 1.0, 0.5, 0.5]).fit()
    >>> model = from_statsmodels(results, weights=lambda x: np.where(x[:, 1] < 3, 1.0, 0.5))
    >>> mean, std = model(x).mean_std()
    >>> bool(np.isclose(std[4] / std[0], np.sqrt(2.0))[0])
    True
    """
    _check_supported(results)
    model = results.model
    given = {
        "weights": weights,
        "offset": offset,
        "exposure": exposure,
        "trials": trials,
        "exog_infl": exog_infl,
    }
    needed = _fitted_with(model)
    # These two may be given where the fit does not need them.
    usable = {
        "weights": not _is_discrete(model),
        "exog_infl": hasattr(model, "exog_infl"),
    }
    by_row: dict[str, AnyArray] = {}
    fixed: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            if needed[name]:
                raise InputError(
                    f"The model was fitted with {name}. Pass that of your rows:"
                    f" from_statsmodels(results, {name}=...), an array or a function of x."
                )
        elif not (needed[name] or usable.get(name, False)):
            raise InputError(
                f"The model was fitted without {name}, so that {name}= has no meaning."
            )
        elif callable(value) or (np.ndim(value) == 0 and not isinstance(value, str)):
            fixed[name] = value
        else:
            advice = "A column of x is a function of it, lambda x: x['name']."
            by_row[name] = as_numbers(value, name, advice=advice).astype(np.float64)
    name = f"{type(model).__name__} of statsmodels"
    return Model(
        partial(_law, results, fixed),
        name,
        beside=by_row,
        fitted_y=_fitted_y(results),
        fit_notes=_fit_notes(results, name),
    )


def _fitted_y(results: Any) -> AnyArray | None:
    """Return y of the rows that a model was fitted on, (n,); None where it is none such."""
    y = np.asarray(getattr(results.model, "endog", None))
    return y if y.ndim == 1 and y.dtype.kind in "biuf" else None


def _fit_notes(results: Any, name: str) -> tuple[str, ...]:
    """Say that a fit has not converged, where statsmodels knows."""
    returned = getattr(results, "mle_retvals", None)
    converged = getattr(results, "converged", True)
    if isinstance(returned, Mapping):
        converged = returned.get("converged", converged)
    if converged is None or bool(converged):
        return ()
    return (
        f"the fit of {name} has not converged: its parameters are not those of the family"
        " that is checked",
    )


def _law(results: Any, fixed: dict[str, Any], x: TableLike, **by_row: AnyArray) -> Law:
    """Return the law at rows of x.

    Parameters
    ----------
    results : Results of statsmodels
    fixed, by_row : dict
        What `from_statsmodels` got besides x: numbers and functions of x, and arrays with a
        row for each of x.
    """
    model = results.model
    table = as_pandas(x)
    _check_columns(model, table)
    inputs = _evaluate(model, {**fixed, **by_row}, x, len(table))
    weights = inputs.pop("weights", None)
    trials = inputs.pop("trials", None)
    predicted = Predicted(results, table, inputs)
    family = _family(model)
    if family is None:
        law = _discrete_law(predicted)
    else:
        scale = float(results.scale)
        if family in DISCRETE_FAMILIES and abs(scale - 1.0) > SCALE_ROUNDING:
            raise UnsupportedModelError(
                f"This {family} GLM has the scale {scale:.4g} (quasi-likelihood), which is"
                " no distribution of y. Fit it with scale=1."
            )
        by = 1.0 if weights is None else check_positive(weights, "weights")
        prediction = GlmPrediction(
            mean=predicted(),
            dispersion=np.full(len(table), scale) / by,
            trials=trials,
            family=getattr(model, "family", None),
        )
        law = FAMILIES[family](prediction)
    response = model.endog_names
    formula = getattr(model, "formula", None)
    if formula is not None and isinstance(response, str) and not response.isidentifier():
        return law.noted(
            f"statsmodels fitted the response {response!r} of the formula: y must be that"
        )
    return law


def _check_columns(model: Any, table: Any) -> None:
    """Refuse a table without the columns that the model was fitted on."""
    formula = getattr(model, "formula", None)
    if formula is not None:
        if not hasattr(table, "columns"):
            raise InputTypeError(
                f"The model was fitted by the formula {str(formula)!r}, and x has no column"
                " names. Pass x as a frame with them."
            )
        return
    count = model.exog.shape[1]
    if table.shape[1] != count:
        raise InputError(
            f"The model was fitted on {count} columns, and x has {table.shape[1]}. Is the"
            " constant among them (statsmodels.api.add_constant)?"
        )


def _evaluate(
    model: Any, values: dict[str, Any], x: TableLike, n: int
) -> dict[str, FloatArray]:
    """Return what a prediction needs besides x, (n,) each; `exog_infl` is (n, k)."""
    inputs = {}
    for name, value in values.items():
        parameter = Parameter.from_value(name, value).at(x, n)
        if name == "exog_infl":
            inputs[name] = np.array(parameter.values(n, (model.k_inflate,)))
        else:
            inputs[name] = np.array(parameter.values(n, (1,))[:, 0])
    if hasattr(model, "exog_infl") and "exog_infl" not in inputs:
        # It was constant in the fit; statsmodels would take all rows of the fit.
        constant = model.exog_infl[:1]
        inputs["exog_infl"] = np.broadcast_to(constant, (n, model.k_inflate))
    return inputs


@dataclass(frozen=True, eq=False)
class Predicted:
    """Results of statsmodels at rows of a table, with what a prediction needs besides."""

    results: Any
    table: Any
    inputs: dict[str, FloatArray]

    def __call__(self) -> FloatArray:
        """Return the means (n,), or probabilities of classes (n, K)."""
        values = self.results.predict(self.table, **self.inputs)
        return np.asarray(values, dtype=np.float64)

    def which(self, quantity: str) -> FloatArray:
        """Return another quantity that statsmodels predicts, by its name for it."""
        values = self.results.predict(self.table, **self.inputs, which=quantity)
        return np.asarray(values, dtype=np.float64)

    def distribution(self) -> Any:
        """Return a frozen distribution of SciPy."""
        return self.results.get_distribution(self.table, **self.inputs)


def _discrete_law(predicted: Predicted) -> Law:
    """Return the law of classes or counts, from what statsmodels predicts."""
    model = predicted.results.model
    name = type(model).__name__
    if name in BINARY:
        return bernoulli(predicted())
    if name == "OrderedModel":
        return probabilities(predicted(), list(model.labels), ordered=True)
    if name == "MNLogit":
        labels: list[Any] = [str(label) for _, label in sorted(model._ynames_map.items())]
        with suppress(ValueError):  # statsmodels keeps numbers as text
            labels = [float(label) for label in labels]
        return probabilities(predicted(), labels)
    if name in INFLATED:
        return _zero_inflated_law(predicted)
    if name in TRUNCATED:
        return _hurdle_law(predicted)
    law = from_frozen(predicted.distribution())
    assert law is not None
    return law


def _zero_inflated_law(predicted: Predicted) -> Law:
    mean = predicted.which("mean-main")
    zeros = 1.0 - predicted.which("prob-main")
    dispersion = _dispersion(predicted.results, mean)
    if dispersion is None:
        return counts.ZeroInflatedPoisson(mean, zeros)
    return counts.ZeroInflatedNegativeBinomial(mean, dispersion, zeros)


def _hurdle_law(predicted: Predicted) -> Law:
    """Return the law of a hurdle model, or of a truncated one, which has no zeros."""
    mean = predicted.which("mean-main")
    hurdle = type(predicted.results.model).__name__ == "HurdleCountModel"
    zeros = predicted.which("prob-zero") if hurdle else np.zeros(len(mean))
    dispersion = _dispersion(predicted.results, mean)
    if dispersion is None:
        return counts.HurdlePoisson(mean, zeros)
    return counts.HurdleNegativeBinomial(mean, dispersion, zeros)


def _dispersion(results: Any, mean: FloatArray) -> FloatArray | None:
    """Return the dispersion of the counts' negative binomial, (n,); None of a Poisson.

    The variance of NB-P is μ + α μ^p, that of our negative binomial μ + dispersion·μ².
    """
    model = results.model
    counted = getattr(model, "model2", model).model_main
    power = getattr(counted, "parameterization", None)
    if power is None:
        return None
    alpha = np.asarray(results.params)[-1]
    return np.asarray(alpha * mean ** (power - 2.0))


def _family(model: Any) -> str | None:
    """Return the family of a GLM or of least squares by name; None of any other model."""
    name = type(model).__name__ if comes_from(model, "statsmodels") else ""
    if name == "GLM":
        return type(model.family).__name__
    return "Gaussian" if name in ("OLS", "WLS") else None


def _is_discrete(model: object) -> bool:
    if _family(model) in DISCRETE_FAMILIES or ".discrete." in type(model).__module__:
        return True
    return type(model).__name__ in (*BINARY, *CLASSES)


def _check_supported(results: object) -> None:
    """Refuse what is no fitted model of a kind that is known."""
    model = getattr(results, "model", results)
    name = type(model).__name__
    family = _family(model)
    if not hasattr(results, "params") or not hasattr(results, "predict"):
        raise InputTypeError(
            f"{name} of statsmodels holds no fitted regression. Pass what the fit method of"
            " a model returns."
        )
    if _is_discrete(model):
        if _varies(model, "var_weights", usual=1.0):
            raise UnsupportedModelError(
                f"A {family} GLM with var_weights is no distribution of y. Fit columns of"
                " successes and failures, with trials=."
            )
        predicts = name in (*TRUNCATED, *CLASSES) or hasattr(model, "get_distribution")
        known = predicts and getattr(model, "truncation", 0) == 0
    elif not hasattr(results, "scale"):
        raise UnsupportedModelError(
            f"These results of {name} have no estimate of the noise. Give one:"
            " condgof.models.with_residual_scale(results, std=...)."
        )
    else:
        known = family in FAMILIES
    if not known:
        refused = f"A GLM of the family {family}" if family else f"{name} of statsmodels"
        raise UnsupportedModelError(
            f"{refused} is not supported. What works: {SUPPORTED}; your own log-density"
            " with condgof.from_log_prob."
        )


def _fitted_with(model: object) -> dict[str, bool]:
    """Return what a fit had besides x that a prediction at other rows needs."""
    weights = "var_weights" if hasattr(model, "var_weights") else "weights"
    return {
        "weights": _varies(model, weights, usual=1.0),
        "offset": _varies(model, "offset", usual=0.0),
        # statsmodels keeps the logarithm of the exposure.
        "exposure": _varies(model, "exposure", usual=0.0),
        "trials": _varies(model, "n_trials", usual=1.0),
        "exog_infl": (
            hasattr(model, "exog_infl") and bool(np.ptp(model.exog_infl, axis=0).any())
        ),
    }


def _varies(model: object, name: str, usual: float) -> bool:
    """Whether an array of the fit exists and differs from the `usual` number in a row."""
    values = getattr(model, name, None)
    if values is None:
        return False
    return bool(np.any(np.asarray(values, dtype=np.float64) != usual))
