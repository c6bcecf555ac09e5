"""Closed forms, of arrays or functions of x, and what models of one's own are made of.

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

from condgof.laws import (
    Beta,
    Binomial,
    Discrete,
    Exponential,
    Gamma,
    HurdleNegativeBinomial,
    HurdlePoisson,
    InverseGaussian,
    Laplace,
    Law,
    LogNormal,
    Model,
    NegativeBinomial,
    Normal,
    NormalMixture,
    Poisson,
    StudentT,
    Uniform,
    VonMises,
    Weibull,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
    censored,
    residual_scale_by_cv,
    with_residual_scale,
    with_support,
)

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
    "VonMises",
    "Weibull",
    "ZeroInflatedNegativeBinomial",
    "ZeroInflatedPoisson",
    "censored",
    "residual_scale_by_cv",
    "with_residual_scale",
    "with_support",
]


def __dir__() -> list[str]:
    """Return the public names alone."""
    return __all__
