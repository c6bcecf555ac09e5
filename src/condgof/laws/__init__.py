"""Laws: what a model says of y at given rows; closed forms, and making them from what a user has."""

from __future__ import annotations

from condgof.laws import fits, mdn
from condgof.laws._as_model import as_model, cdf_rows, drawn, law_of
from condgof.laws._cells import CellsOfY, Intervals, Quantiles, from_intervals, from_quantiles
from condgof.laws._censored import Censored, censored
from condgof.laws._classes import Probabilities, probabilities
from condgof.laws._columns import FAMILIES, Columns, columns
from condgof.laws._counts import (
    Binomial,
    HurdleNegativeBinomial,
    HurdlePoisson,
    NegativeBinomial,
    Poisson,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)
from condgof.laws._crossfit import Fitter, accepts, crossfit
from condgof.laws._discrete import Discrete, Outcomes, normalised
from condgof.laws._draws import Draws, VectorDraws, from_draws
from condgof.laws._families import (
    Beta,
    Exponential,
    Gamma,
    InverseGaussian,
    Laplace,
    LogNormal,
    StudentT,
    Uniform,
    Weibull,
)
from condgof.laws._functions import Scores, from_log_prob, from_score, from_scores
from condgof.laws._jax import from_jax
from condgof.laws._known import Bins, Pit, from_bins, from_pit
from condgof.laws._law import Law, Model, ModelLike, grid_of
from condgof.laws._line import with_support
from condgof.laws._mixture import NormalMixture
from condgof.laws._normal import Normal, normal
from condgof.laws._ratio import RatioOutcomes, from_ratio
from condgof.laws._scipy import from_scipy
from condgof.laws._scores import MEASURES, Measure, offered, score
from condgof.laws._sklearn import residual_scale_by_cv, with_residual_scale
from condgof.laws._statsmodels import from_statsmodels
from condgof.laws._torch import from_torch

__all__ = [
    "FAMILIES",
    "MEASURES",
    "Beta",
    "Binomial",
    "Bins",
    "CellsOfY",
    "Censored",
    "Columns",
    "Discrete",
    "Draws",
    "Exponential",
    "Fitter",
    "Gamma",
    "HurdleNegativeBinomial",
    "HurdlePoisson",
    "Intervals",
    "InverseGaussian",
    "Laplace",
    "Law",
    "LogNormal",
    "Measure",
    "Model",
    "ModelLike",
    "NegativeBinomial",
    "Normal",
    "NormalMixture",
    "Outcomes",
    "Pit",
    "Poisson",
    "Probabilities",
    "Quantiles",
    "RatioOutcomes",
    "Scores",
    "StudentT",
    "Uniform",
    "VectorDraws",
    "Weibull",
    "ZeroInflatedNegativeBinomial",
    "ZeroInflatedPoisson",
    "accepts",
    "as_model",
    "cdf_rows",
    "censored",
    "columns",
    "crossfit",
    "drawn",
    "fits",
    "from_bins",
    "from_draws",
    "from_intervals",
    "from_jax",
    "from_log_prob",
    "from_pit",
    "from_quantiles",
    "from_ratio",
    "from_scipy",
    "from_score",
    "from_scores",
    "from_statsmodels",
    "from_torch",
    "grid_of",
    "law_of",
    "mdn",
    "normal",
    "normalised",
    "offered",
    "probabilities",
    "residual_scale_by_cv",
    "score",
    "with_residual_scale",
    "with_support",
]
