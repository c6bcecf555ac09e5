"""Discrete distributions of torch and NumPyro: their closed forms, and models that predict them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import UnsupportedModelError
from condgof.models._classifier import DiscreteFitted
from condgof.models._counts import Binomial, CountFamily, NegativeBinomial, Poisson
from condgof.models._discrete import DiscreteModel
from condgof.models._probabilities import Probabilities, bernoulli, probabilities

if TYPE_CHECKING:
    from condgof.models._native import NativeModel

#: How a family becomes one of ours, from a function that reads its parameters as (n,) and itself.
Reader = Callable[[Callable[[str], FloatArray], Any], DiscreteModel]
COUNTS: dict[str, Reader] = {
    "Poisson": lambda read, dist: Poisson.bound(read("rate")),
    "Binomial": lambda read, dist: Binomial.bound(read("total_count"), read("probs")),
    "Bernoulli": lambda read, dist: bernoulli(read("probs")),
    # torch counts successes of probability p before so many failures.
    "NegativeBinomial": lambda read, dist: NegativeBinomial.bound(
        read("total_count") * read("probs") / (1.0 - read("probs")), 1.0 / read("total_count")
    ),
    "GammaPoisson": lambda read, dist: NegativeBinomial.bound(
        read("concentration") / read("rate"), 1.0 / read("concentration")
    ),
}
#: NumPyro's names for the same.
COUNTS |= {
    f"{name}{how}": COUNTS[name] for name in ("Binomial", "Bernoulli") for how in ("Probs", "Logits")
}
for _name in ("NegativeBinomialProbs", "NegativeBinomialLogits", "NegativeBinomial2"):
    COUNTS[_name] = COUNTS["GammaPoisson"]
CATEGORICAL = ("Categorical", "CategoricalProbs", "CategoricalLogits")


def discrete_form(
    name: str | None,
    dist: Any,
    rows: int,
    probs: Callable[[], FloatArray],
    read: Callable[[str], FloatArray],
) -> DiscreteModel:
    """Return our model of a discrete distribution, or refuse.

    Parameters
    ----------
    name : str or None
        Its family.
    dist : distribution
        It itself.
    rows : int
        Number of rows.
    probs : callable
        () → class probabilities (rows, K), of a categorical family.
    read : callable
        Name of a parameter → its values, (rows,).
    """
    if name in CATEGORICAL:
        ordered = type(dist).__name__ == "OrderedLogistic"
        return probabilities(probs(), ordered=ordered)
    if name in COUNTS:
        return COUNTS[name](read, dist)
    known = "Categorical, Bernoulli, Binomial, Poisson and NegativeBinomial"
    raise UnsupportedModelError(
        f"{type(dist).__name__} is a discrete distribution that is not known here; {known} are. For "
        "others there are condgof.from_log_prob(f, backend=..., support='counts') and "
        "condgof.probabilities(P)."
    )


@dataclass(frozen=True, eq=False)
class DiscreteNative(DiscreteFitted):
    """A torch or JAX model of a discrete y.

    Parameters
    ----------
    model : NativeModel
        What makes the distributions.
    """

    model: NativeModel

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to."""
        return self.model.rows

    def take(self, rows: Any) -> DiscreteNative:
        """Return the model of some rows."""
        return replace(self, model=cast("NativeModel", self.model.take(rows)))

    def _model(self, x: Any) -> DiscreteModel:
        n = self.model.rows if x is None else len(x)
        return self.model.discrete_at(x, n or 1)

    def at(self, x: Any, n: int) -> DiscreteModel:
        """Return the model at the n rows of x."""
        return self.model.discrete_at(x, n)


def joined(parts: Sequence[DiscreteModel]) -> DiscreteModel:
    """Join the models of consecutive rows."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, Probabilities):
        values = [part.values for part in parts if isinstance(part, Probabilities)]
        return replace(first, values=np.concatenate(values))
    families = [part for part in parts if isinstance(part, CountFamily)]
    whole = {
        name: np.concatenate([part._parameters()[name].value for part in families])
        for name in families[0]._parameters()
    }
    return type(families[0]).bound(**whole)
