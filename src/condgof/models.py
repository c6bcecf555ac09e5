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

from condgof.laws import mdn as mdn
from condgof.laws._counts import Binomial as Binomial
from condgof.laws._counts import HurdleNegativeBinomial as HurdleNegativeBinomial
from condgof.laws._counts import HurdlePoisson as HurdlePoisson
from condgof.laws._counts import NegativeBinomial as NegativeBinomial
from condgof.laws._counts import Poisson as Poisson
from condgof.laws._counts import (
    ZeroInflatedNegativeBinomial as ZeroInflatedNegativeBinomial,
)
from condgof.laws._counts import ZeroInflatedPoisson as ZeroInflatedPoisson
from condgof.laws._discrete import Discrete as Discrete
from condgof.laws._families import Beta as Beta
from condgof.laws._families import Exponential as Exponential
from condgof.laws._families import Gamma as Gamma
from condgof.laws._families import InverseGaussian as InverseGaussian
from condgof.laws._families import Laplace as Laplace
from condgof.laws._families import LogNormal as LogNormal
from condgof.laws._families import Normal as Normal
from condgof.laws._families import NormalMixture as NormalMixture
from condgof.laws._families import StudentT as StudentT
from condgof.laws._families import Uniform as Uniform
from condgof.laws._families import Weibull as Weibull
from condgof.laws._law import Law as Law
from condgof.laws._law import Model as Model
from condgof.laws._line import with_support as with_support
from condgof.laws._sklearn import residual_scale_by_cv as residual_scale_by_cv
from condgof.laws._sklearn import with_residual_scale as with_residual_scale
from condgof.laws._survival import censored as censored

__all__ = [
    name for name in dir() if not name.startswith("_")
]  # what was imported under its own name


def __dir__() -> list[str]:
    """Name what is public."""
    return __all__
