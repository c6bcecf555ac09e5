"""The Stein matrix: a lazy operator, sums over it, the power criterion."""

from condgof.stein._centred import CentredKernel, CentredRows, CentredScales
from condgof.stein._common import (
    Common,
    CommonCells,
    check_same_y,
    common_cells,
    common_coordinates,
    outside_support,
    with_probabilities,
)
from condgof.stein._coordinates import (
    BLIND,
    STANDARDIZED_BY,
    Coordinates,
    choose_coordinates,
    coordinates_of,
    numbered,
    scores,
    scores_of,
)
from condgof.stein._criterion import (
    CentredTerms,
    Gradient,
    PairwiseTerms,
    criterion_gradient,
    criterion_of_means,
    criterion_slopes,
)
from condgof.stein._features import sweep_features
from condgof.stein._finite_set import finite_set_features, finite_set_gradient
from condgof.stein._joint_sweep import JointSums, joint_sweep
from condgof.stein._kernel import SteinKernel, SteinRows
from condgof.stein._landmarks import Landmarks, choose_landmarks
from condgof.stein._local import LocalKernel, local_forms, local_totals
from condgof.stein._map_pass import map_spread, map_sums
from condgof.stein._operator import SteinOperator
from condgof.stein._parcels import ParcelSums, local_parcels, parcel_forms, scale_parcels
from condgof.stein._pass import Moments, forms, moments
from condgof.stein._redraw import Redraw, x_features
from condgof.stein._rows import PIECE, ArrayRows, Piece, Rows, even_cuts
from condgof.stein._scale_landmarks import (
    ScaleLandmarks,
    choose_scale_landmarks,
    scale_forms,
    scale_totals,
)
from condgof.stein._scale_sums import ScaleTiles
from condgof.stein._scale_sweep import ScaleSums, scale_sweep
from condgof.stein._scales import ScaleKernel, ScaleRows
from condgof.stein._shared import SharedFeatures, choose_shared
from condgof.stein._shared_pass import shared_moments, shared_spread, shared_sums, totals_of
from condgof.stein._sweep import (
    DEFAULT_MEMORY,
    ArrayWeights,
    Sums,
    Weights,
    check_memory,
    matmul,
    plan,
    sweep,
)

__all__ = [
    "BLIND",
    "DEFAULT_MEMORY",
    "PIECE",
    "STANDARDIZED_BY",
    "ArrayRows",
    "ArrayWeights",
    "CentredKernel",
    "CentredRows",
    "CentredScales",
    "CentredTerms",
    "Common",
    "CommonCells",
    "Coordinates",
    "Gradient",
    "JointSums",
    "Landmarks",
    "LocalKernel",
    "Moments",
    "PairwiseTerms",
    "ParcelSums",
    "Piece",
    "Redraw",
    "Rows",
    "ScaleKernel",
    "ScaleLandmarks",
    "ScaleRows",
    "ScaleSums",
    "ScaleTiles",
    "SharedFeatures",
    "SteinKernel",
    "SteinOperator",
    "SteinRows",
    "Sums",
    "Weights",
    "check_memory",
    "check_same_y",
    "choose_coordinates",
    "choose_landmarks",
    "choose_scale_landmarks",
    "choose_shared",
    "common_cells",
    "common_coordinates",
    "coordinates_of",
    "criterion_gradient",
    "criterion_of_means",
    "criterion_slopes",
    "even_cuts",
    "finite_set_features",
    "finite_set_gradient",
    "forms",
    "joint_sweep",
    "local_forms",
    "local_parcels",
    "local_totals",
    "map_spread",
    "map_sums",
    "matmul",
    "moments",
    "numbered",
    "outside_support",
    "parcel_forms",
    "plan",
    "scale_forms",
    "scale_parcels",
    "scale_sweep",
    "scale_totals",
    "scores",
    "scores_of",
    "shared_moments",
    "shared_spread",
    "shared_sums",
    "sweep",
    "sweep_features",
    "totals_of",
    "with_probabilities",
    "x_features",
]
