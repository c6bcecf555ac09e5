"""Closed forms, of arrays or functions of x, and what models and laws of one's own are made of.

What makes models of predictions and of other libraries' objects stands in `condgof` itself
(`condgof.from_draws`, `condgof.from_torch`, `condgof.probabilities`, …).

Examples
--------
>>> import condgof as cg
>>> model = cg.models.Gamma(shape=2.0, scale=lambda x: np.exp(x))
>>> model(np.zeros(2)).mean_std()[0]
array([[2.],
       [2.]])
"""

from condgof.laws import mdn
from condgof.laws._counts import (
    Binomial,
    HurdleNegativeBinomial,
    HurdlePoisson,
    NegativeBinomial,
    Poisson,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)
from condgof.laws._discrete import Discrete
from condgof.laws._families import (
    Beta,
    Exponential,
    Gamma,
    InverseGaussian,
    Laplace,
    LogNormal,
    Normal,
    NormalMixture,
    StudentT,
    Uniform,
    Weibull,
)
from condgof.laws._law import Law, Model
from condgof.laws._line import with_support
from condgof.laws._sklearn import residual_scale_by_cv, with_residual_scale
from condgof.laws._survival import censored

__all__ = [
    "Beta",
    "Binomial",
    "Discrete",
    "Exponential",
    "Gamma",
    "HurdleNegativeBinomial",
    "HurdlePoisson",
    "InverseGaussian",
    "Laplace",
    "Law",
    "LogNormal",
    "Model",
    "NegativeBinomial",
    "Normal",
    "NormalMixture",
    "Poisson",
    "StudentT",
    "Uniform",
    "Weibull",
    "ZeroInflatedNegativeBinomial",
    "ZeroInflatedPoisson",
    "censored",
    "mdn",
    "residual_scale_by_cv",
    "with_residual_scale",
    "with_support",
]


def __dir__() -> list[str]:
    """Name what is public."""
    return __all__
