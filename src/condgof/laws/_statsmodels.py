"""Results of statsmodels: least squares, generalised linear models, and models of a discrete y."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
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

#: The closed form of a family of a GLM, from μ, φ and trials, (n,) each, and the GLM.
FAMILIES: dict[str, Callable[..., Law]] = {
    "Gaussian": lambda mu, phi, *_: Normal(mu, np.sqrt(phi)),
    "Gamma": lambda mu, phi, *_: Gamma(
        shape=1.0 / phi, scale=check_positive(mu, "The mean") * phi
    ),
    "InverseGaussian": lambda mu, phi, *_: InverseGaussian(mean=mu, shape=1.0 / phi),
    "Poisson": lambda mu, *_: counts.Poisson(mu),
    "NegativeBinomial": lambda mu, _, __, glm: counts.NegativeBinomial(
        mu, float(glm.family.alpha)
    ),
    "Binomial": lambda mu, _, trials, __: (
        bernoulli(mu) if trials is None else counts.Binomial(trials, np.clip(mu, 0.0, 1.0))
    ),
}
SUPPORTED = f"OLS, WLS, GLM ({', '.join(FAMILIES)}), counts (truncated ones at 0), "
SUPPORTED += "Logit, Probit, MNLogit, OrderedModel"
DISCRETE = ("Poisson", "NegativeBinomial", "Binomial")
#: Two classes, by the probability of the second; several, by their probabilities.
BINARY, CLASSES = ("Logit", "Probit"), ("MNLogit", "OrderedModel")
#: Counts with more or fewer zeros, which are closed forms here.
INFLATED = ("ZeroInflatedPoisson", "ZeroInflatedNegativeBinomialP")
CUT = ("HurdleCountModel", "TruncatedLFPoisson", "TruncatedLFNegativeBinomialP")


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
    given, beside, fixed = (weights, offset, exposure, trials, exog_infl), {}, {}
    for (name, needed), value in zip(
        _fitted_with(results.model).items(), given, strict=True
    ):
        if value is None:
            if needed:
                call = f"from_statsmodels(results, {name}=...), an array or a function of x"
                raise InputError(
                    f"The model was fitted with {name}. Pass that of your rows: {call}."
                )
            continue
        # Weights may be given where the fit had none.
        usable = {
            "weights": not _discrete(results.model),
            "exog_infl": hasattr(results.model, name),
        }
        if not (needed or usable.get(name, False)):
            raise InputError(
                f"The model was fitted without {name}, so that {name}= has no meaning."
            )
        if callable(value) or (np.ndim(value) == 0 and not isinstance(value, str)):
            fixed[name] = value
        else:
            advice = "A column of x is a function of it, lambda x: x['name']."
            beside[name] = as_numbers(value, name, advice=advice).astype(np.float64)
    return Model(
        partial(_law, results, fixed),
        f"{type(results.model).__name__} of statsmodels",
        beside,
    )


def _law(results: Any, fixed: dict[str, Any], x: TableLike, **beside: AnyArray) -> Law:
    model, table = results.model, as_pandas(x)
    n, formula, given = len(table), getattr(model, "formula", None), {}
    if formula is None and table.shape[1] != (count := model.exog.shape[1]):
        hint = "Is the constant among them (statsmodels.api.add_constant)?"
        raise InputError(
            f"The model was fitted on {count} columns, and x has {table.shape[1]}. {hint}"
        )
    if formula is not None and not hasattr(table, "columns"):
        fitted = f"The model was fitted by the formula {str(formula)!r}"
        raise InputTypeError(
            f"{fitted}, and x has no column names. Pass x as a frame with them."
        )
    for name, value in {**fixed, **beside}.items():
        width = model.k_inflate if name == "exog_infl" else 1
        values = Parameter.of(name, value).at(x, n).values(n, (width,))
        given[name] = np.array(values if name == "exog_infl" else values[:, 0])
    if hasattr(model, "exog_infl"):  # statsmodels would take the rows of the fit
        given.setdefault(
            "exog_infl", np.broadcast_to(model.exog_infl[:1], (n, model.k_inflate))
        )
    weights, trials = (given.pop(name, None) for name in ("weights", "trials"))

    def predict(**which: str) -> FloatArray:
        return np.asarray(results.predict(table, **given, **which), dtype=np.float64)

    if (family := _family(model)) is None:
        law = _counts_or_classes(
            results, predict, lambda: results.get_distribution(table, **given)
        )
    else:
        scale = float(results.scale)
        if family in DISCRETE and abs(scale - 1.0) > 1e-9:
            quasi = f"scale {scale:.4g} (quasi-likelihood), which is no distribution of y"
            raise UnsupportedModelError(
                f"This {family} GLM has the {quasi}. Fit it with scale=1."
            )
        by = 1.0 if weights is None else check_positive(weights, "weights")
        law = FAMILIES[family](predict(), np.full(n, scale) / by, trials, model)
    response = model.endog_names
    if formula is not None and isinstance(response, str) and not response.isidentifier():
        return law.noted(
            f"statsmodels fitted the response {response!r} of the formula: y must be that"
        )
    return law


def _counts_or_classes(
    results: Any, predict: Callable[..., FloatArray], distribution: Callable[[], Any]
) -> Law:
    """Return the law of a discrete y, from what statsmodels predicts."""
    model, name = results.model, type(results.model).__name__
    if name in BINARY:
        return bernoulli(predict())
    if name == "OrderedModel":
        return probabilities(predict(), list(model.labels), ordered=True)
    if name == "MNLogit":
        labels: list[Any] = [str(label) for _, label in sorted(model._ynames_map.items())]
        with suppress(ValueError):  # statsmodels keeps numbers as text
            labels = [float(label) for label in labels]
        return probabilities(predict(), labels)
    if name not in (*INFLATED, *CUT):
        law = from_frozen(distribution())
        assert law is not None
        return law
    mean = predict(which="mean-main")
    forms: tuple[Callable[..., Law], ...]
    if name in INFLATED:
        forms = counts.ZeroInflatedPoisson, counts.ZeroInflatedNegativeBinomial
        zeros = 1.0 - predict(which="prob-main")
    else:
        forms = counts.HurdlePoisson, counts.HurdleNegativeBinomial
        hurdle = name == "HurdleCountModel"
        zeros = predict(which="prob-zero") if hurdle else np.zeros(len(mean))
    power = getattr(getattr(model, "model2", model).model_main, "parameterization", None)
    if power is None:
        return forms[0](mean, zeros)
    # The variance of NB-P is μ + α μ^p.
    return forms[1](mean, np.asarray(results.params)[-1] * mean ** (power - 2.0), zeros)


def _family(model: Any) -> str | None:
    """Return the family of a GLM, which least squares are too."""
    name = type(model).__name__ if comes_from(model, "statsmodels") else ""
    if name == "GLM":
        return type(model.family).__name__
    return "Gaussian" if name in ("OLS", "WLS") else None


def _discrete(model: object) -> bool:
    module, name = type(model).__module__, type(model).__name__
    return (
        _family(model) in DISCRETE or ".discrete." in module or name in (*BINARY, *CLASSES)
    )


def _check_supported(results: object) -> None:
    """Refuse what is no fitted model of a kind that is known."""
    model = getattr(results, "model", results)
    name, family = type(model).__name__, _family(model)
    if not hasattr(results, "params") or not hasattr(results, "predict"):
        told = f"{name} of statsmodels holds no fitted regression"
        raise InputTypeError(f"{told}. Pass what the fit method of a model returns.")
    if _discrete(model):
        known = name in (*CUT, *CLASSES) or hasattr(model, "get_distribution")
        known = known and getattr(model, "truncation", 0) == 0
        if _varies(model, "var_weights", 1.0):
            told = f"A {family} GLM with var_weights is no distribution of y"
            raise UnsupportedModelError(
                f"{told}. Fit columns of successes and failures, with trials=."
            )
    elif not hasattr(results, "scale"):
        give = "Give one: condgof.models.with_residual_scale(results, std=...)"
        raise UnsupportedModelError(
            f"These results of {name} have no estimate of the noise. {give}."
        )
    else:
        known = family in FAMILIES
    if not known:
        refused = f"A GLM of the family {family}" if family else f"{name} of statsmodels"
        works = f"What works: {SUPPORTED}; your own log-density with condgof.from_log_prob"
        raise UnsupportedModelError(f"{refused} is not supported. {works}.")


def _fitted_with(model: object) -> dict[str, bool]:
    """Say what a fit had besides x that a prediction at other rows needs."""
    return {
        "weights": _varies(
            model, "var_weights" if hasattr(model, "var_weights") else "weights", 1.0
        ),
        "offset": _varies(model, "offset", 0.0),
        "exposure": _varies(model, "exposure", 0.0),  # kept as its logarithm
        "trials": _varies(model, "n_trials", 1.0),
        "exog_infl": (
            hasattr(model, "exog_infl") and bool(np.ptp(model.exog_infl, axis=0).any())
        ),
    }


def _varies(model: object, name: str, usual: float) -> bool:
    values = getattr(model, name, None)
    return values is not None and bool(
        np.any(np.asarray(values, dtype=np.float64) != usual)
    )
