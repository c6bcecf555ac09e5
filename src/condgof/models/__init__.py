"""Conditional density models: what they can do, closed forms, and making them from what a user has."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from condgof.models._as_model import as_model, scores
from condgof.models._base import ConditionalModel
from condgof.models._columns import ColumnsModel, columns
from condgof.models._coordinates import (
    BLIND,
    STANDARDIZED_BY,
    Coordinates,
    choose_coordinates,
    coordinates_of,
    scores_of,
)
from condgof.models._functions import (
    LogProbModel,
    ScoreArray,
    ScoreModel,
    from_log_prob,
    from_score,
)
from condgof.models._interval import Beta, Uniform
from condgof.models._laplace import Laplace
from condgof.models._mixture import NormalMixture
from condgof.models._normal import Normal, normal
from condgof.models._positive import Exponential, Gamma, LogNormal
from condgof.models._scipy import from_scipy
from condgof.models._student import StudentT
from condgof.models._supported import Supported, with_support

if TYPE_CHECKING:
    from condgof.models import mdn

__all__ = [
    "BLIND",
    "STANDARDIZED_BY",
    "Beta",
    "ColumnsModel",
    "ConditionalModel",
    "Coordinates",
    "Exponential",
    "Gamma",
    "Laplace",
    "LogNormal",
    "LogProbModel",
    "Normal",
    "NormalMixture",
    "ScoreArray",
    "ScoreModel",
    "StudentT",
    "Supported",
    "Uniform",
    "as_model",
    "choose_coordinates",
    "columns",
    "coordinates_of",
    "from_log_prob",
    "from_scipy",
    "from_score",
    "mdn",
    "normal",
    "scores",
    "scores_of",
    "with_support",
]


def __getattr__(name: str) -> Any:
    """Load the mixture density network when it is first asked for."""
    if name == "mdn":
        return importlib.import_module("condgof.models.mdn")
    raise AttributeError(f"module 'condgof.models' has no attribute {name!r}")
