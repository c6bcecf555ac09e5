"""Conditional density models: what they can do, closed forms, and making them from what a user has."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from condgof.models._as_model import as_model, scores
from condgof.models._base import ConditionalModel, scores_of
from condgof.models._columns import ColumnsModel, columns
from condgof.models._coordinates import (
    BLIND,
    STANDARDIZED_BY,
    Coordinates,
    choose_coordinates,
    coordinates_of,
)
from condgof.models._functions import (
    LogProbModel,
    ScoreArray,
    ScoreModel,
    from_log_prob,
    from_score,
)
from condgof.models._mixture import NormalMixture
from condgof.models._normal import Normal, normal
from condgof.models._student import StudentT

if TYPE_CHECKING:
    from condgof.models import mdn

__all__ = [
    "BLIND",
    "STANDARDIZED_BY",
    "ColumnsModel",
    "ConditionalModel",
    "Coordinates",
    "LogProbModel",
    "Normal",
    "NormalMixture",
    "ScoreArray",
    "ScoreModel",
    "StudentT",
    "as_model",
    "choose_coordinates",
    "columns",
    "coordinates_of",
    "from_log_prob",
    "from_score",
    "mdn",
    "normal",
    "scores",
    "scores_of",
]


def __getattr__(name: str) -> Any:
    """Load the mixture density network when it is first asked for."""
    if name == "mdn":
        return importlib.import_module("condgof.models.mdn")
    raise AttributeError(f"module 'condgof.models' has no attribute {name!r}")
