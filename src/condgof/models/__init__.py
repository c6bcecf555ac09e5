"""Conditional density models: what they can do, closed forms, and making them from what a user has."""

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
from condgof.models._residual import ResidualScale, residual_scale_by_cv, with_residual_scale
from condgof.models._student import StudentT

__all__ = [
    "BLIND",
    "STANDARDIZED_BY",
    "ColumnsModel",
    "ConditionalModel",
    "Coordinates",
    "LogProbModel",
    "Normal",
    "NormalMixture",
    "ResidualScale",
    "ScoreArray",
    "ScoreModel",
    "StudentT",
    "as_model",
    "choose_coordinates",
    "columns",
    "coordinates_of",
    "from_log_prob",
    "from_score",
    "normal",
    "residual_scale_by_cv",
    "scores",
    "scores_of",
    "with_residual_scale",
]
