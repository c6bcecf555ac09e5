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
from condgof.models._jax import JaxModel, from_jax
from condgof.models._mixture import NormalMixture
from condgof.models._normal import Normal, normal
from condgof.models._student import StudentT
from condgof.models._torch import TorchModel, from_torch

__all__ = [
    "BLIND",
    "STANDARDIZED_BY",
    "ColumnsModel",
    "ConditionalModel",
    "Coordinates",
    "JaxModel",
    "LogProbModel",
    "Normal",
    "NormalMixture",
    "ScoreArray",
    "ScoreModel",
    "StudentT",
    "TorchModel",
    "as_model",
    "choose_coordinates",
    "columns",
    "coordinates_of",
    "from_jax",
    "from_log_prob",
    "from_score",
    "from_torch",
    "normal",
    "scores",
    "scores_of",
]
