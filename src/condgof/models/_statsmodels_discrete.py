"""Results of statsmodels for a discrete y: what each of its models predicts at x."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import UnsupportedModelError
from condgof.models._counts import Binomial, NegativeBinomial, Poisson
from condgof.models._discrete import DiscreteModel
from condgof.models._library import prediction
from condgof.models._probabilities import bernoulli, probabilities
from condgof.models._scipy import adapt as adapt_scipy

#: Families of a GLM whose y is discrete.
GLM_FAMILIES = ("Poisson", "NegativeBinomial", "Binomial")
#: Two classes, by the probability of the second; classes by their probabilities; ordered ones.
BINARY, CLASSES, ORDERED = ("Logit", "Probit"), ("MNLogit",), ("OrderedModel",)


def is_discrete(results: Any) -> bool:
    """Whether results are of a model with a discrete y that is known here."""
    model = results.model
    name = type(model).__name__
    if name == "GLM":
        return type(model.family).__name__ in GLM_FAMILIES
    if name in (*BINARY, *CLASSES, *ORDERED):
        return True
    return ".discrete." in type(model).__module__ and hasattr(results, "get_distribution")


def predicted(
    results: Any, table: Any, n: int, given: dict[str, AnyArray], trials: FloatArray | None
) -> DiscreteModel:
    """Return the model of y at n rows, from what statsmodels predicts there.

    Parameters
    ----------
    results : Results
        Fitted results.
    table : array or frame
        x.
    n : int
        Its rows.
    given : dict
        Offset and exposure of those rows, where the fit had any.
    trials : ndarray of shape (n,), optional
        Trials of a binomial GLM.
    """
    name = type(results.model).__name__
    if name in (*BINARY, *CLASSES, *ORDERED):
        values = np.asarray(results.predict(table, **given), dtype=np.float64)
        if name in BINARY:
            return bernoulli(values)
        return probabilities(values, _classes(results, name), ordered=name in ORDERED)
    if name != "GLM":
        model = adapt_scipy(results.get_distribution(table, **given))
        if not isinstance(model, DiscreteModel):
            raise UnsupportedModelError(f"{name} of statsmodels has no distribution that is known here.")
        return model
    mean = prediction(results.predict(table, **given), n, "The prediction")
    return _glm(results, mean, trials)


def _glm(results: Any, mean: FloatArray, trials: FloatArray | None) -> DiscreteModel:
    family = results.model.family
    kind = type(family).__name__
    if abs(float(results.scale) - 1.0) > 1e-9:
        raise UnsupportedModelError(
            f"This {kind} GLM was fitted with a scale of {float(results.scale):.4g} "
            "(quasi-likelihood), which is no distribution of y. Fit it with scale=1, or a negative "
            "binomial model."
        )
    if kind == "Poisson":
        return Poisson.bound(mean)
    if kind == "NegativeBinomial":
        return NegativeBinomial.bound(mean, np.full(len(mean), float(family.alpha)))
    if trials is None:
        return bernoulli(mean)
    return Binomial.bound(trials, np.clip(mean, 0.0, 1.0))


def needs_trials(results: Any) -> bool:
    """Whether a binomial GLM was fitted to counts of several trials."""
    model = results.model
    if type(model).__name__ != "GLM" or type(model.family).__name__ != "Binomial":
        return False
    return bool(np.any(np.asarray(getattr(model, "n_trials", 1.0), dtype=np.float64) != 1.0))


def _classes(results: Any, name: str) -> Any:
    """Return what y calls the classes; statsmodels keeps some as text."""
    if name in ORDERED:
        return list(results.model.labels)
    names = [str(label) for _, label in sorted(results.model._ynames_map.items())]
    try:
        return [float(label) for label in names]
    except ValueError:
        return names
