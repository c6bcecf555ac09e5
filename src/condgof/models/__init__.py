"""Conditional density models: what they can do, closed forms, and making them from what a user has."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from condgof.models import fits
from condgof.models._answers import cdf_rows, check_cdf, draw_rows, sample_rows
from condgof.models._as_model import as_model, scores
from condgof.models._at_rows import AtRows
from condgof.models._base import ConditionalModel, check_rows
from condgof.models._classifier import Classifier
from condgof.models._columns import ColumnsModel, columns
from condgof.models._common import Common, common_coordinates, outside_support
from condgof.models._common_cells import (
    CommonCells,
    check_same_y,
    common_cells,
    with_probabilities,
)
from condgof.models._coordinates import (
    BLIND,
    STANDARDIZED_BY,
    Coordinates,
    choose_coordinates,
    coordinates_of,
    numbered,
    scores_of,
)
from condgof.models._counts import Binomial, NegativeBinomial, Poisson
from condgof.models._discrete import DiscreteModel
from condgof.models._functions import (
    LogProbModel,
    ScoreArray,
    ScoreModel,
    from_log_prob,
    from_score,
)
from condgof.models._interval import Beta, Uniform
from condgof.models._inverse_gaussian import InverseGaussian
from condgof.models._jax import JaxModel, from_jax
from condgof.models._laplace import Laplace
from condgof.models._mixture import NormalMixture
from condgof.models._normal import Normal, normal
from condgof.models._positive import Exponential, Gamma, LogNormal
from condgof.models._probabilities import Probabilities, probabilities
from condgof.models._ratio import RatioModel, from_ratio
from condgof.models._ratio_law import RatioLaw
from condgof.models._residual import ResidualScale, residual_scale_by_cv, with_residual_scale
from condgof.models._residuals import Law, normalised
from condgof.models._scipy import from_scipy
from condgof.models._statsmodels import from_statsmodels
from condgof.models._student import StudentT
from condgof.models._supported import Supported, with_support
from condgof.models._torch import TorchModel, from_torch

if TYPE_CHECKING:
    from condgof.models import mdn

__all__ = [
    "BLIND",
    "STANDARDIZED_BY",
    "AtRows",
    "Beta",
    "Binomial",
    "Classifier",
    "ColumnsModel",
    "Common",
    "CommonCells",
    "ConditionalModel",
    "Coordinates",
    "DiscreteModel",
    "Exponential",
    "Gamma",
    "InverseGaussian",
    "JaxModel",
    "Laplace",
    "Law",
    "LogNormal",
    "LogProbModel",
    "NegativeBinomial",
    "Normal",
    "NormalMixture",
    "Poisson",
    "Probabilities",
    "RatioLaw",
    "RatioModel",
    "ResidualScale",
    "ScoreArray",
    "ScoreModel",
    "StudentT",
    "Supported",
    "TorchModel",
    "Uniform",
    "as_model",
    "cdf_rows",
    "check_cdf",
    "check_rows",
    "check_same_y",
    "choose_coordinates",
    "columns",
    "common_cells",
    "common_coordinates",
    "coordinates_of",
    "draw_rows",
    "fits",
    "from_jax",
    "from_log_prob",
    "from_ratio",
    "from_scipy",
    "from_score",
    "from_statsmodels",
    "from_torch",
    "mdn",
    "normal",
    "normalised",
    "numbered",
    "outside_support",
    "probabilities",
    "residual_scale_by_cv",
    "sample_rows",
    "scores",
    "scores_of",
    "with_probabilities",
    "with_residual_scale",
    "with_support",
]


def __getattr__(name: str) -> Any:
    """Load the mixture density network when it is first asked for."""
    if name == "mdn":
        return importlib.import_module("condgof.models.mdn")
    raise AttributeError(f"module 'condgof.models' has no attribute {name!r}")
