"""The Stein matrix: a lazy operator, sums over it, the power criterion."""

from condgof.stein._centred import CentredKernel, CentredRows, CentredScales
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
from condgof.stein._kernel import SteinKernel, SteinRows
from condgof.stein._landmarks import Landmarks, choose_landmarks
from condgof.stein._local import LocalKernel, local_forms, local_totals
from condgof.stein._map_pass import map_spread, map_sums
from condgof.stein._operator import SteinOperator
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
    "DEFAULT_MEMORY",
    "PIECE",
    "ArrayRows",
    "ArrayWeights",
    "CentredKernel",
    "CentredRows",
    "CentredScales",
    "CentredTerms",
    "Gradient",
    "Landmarks",
    "LocalKernel",
    "Moments",
    "PairwiseTerms",
    "Piece",
    "Redraw",
    "Rows",
    "ScaleKernel",
    "ScaleLandmarks",
    "ScaleRows",
    "ScaleSums",
    "ScaleTiles",
    "SteinKernel",
    "SteinOperator",
    "SteinRows",
    "Sums",
    "Weights",
    "check_memory",
    "choose_landmarks",
    "choose_scale_landmarks",
    "criterion_gradient",
    "criterion_of_means",
    "criterion_slopes",
    "even_cuts",
    "finite_set_features",
    "finite_set_gradient",
    "forms",
    "local_forms",
    "local_totals",
    "map_spread",
    "map_sums",
    "matmul",
    "moments",
    "plan",
    "scale_forms",
    "scale_sweep",
    "scale_totals",
    "sweep",
    "sweep_features",
    "x_features",
]
