"""The Stein matrix: a lazy operator, sums over it, the power criterion."""

from condgof.stein._criterion import (
    Gradient,
    PairwiseTerms,
    criterion_gradient,
    criterion_of_means,
    criterion_slopes,
)
from condgof.stein._features import sweep_features
from condgof.stein._finite_set import finite_set_features, finite_set_gradient
from condgof.stein._operator import SteinOperator
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
    "ArrayWeights",
    "Gradient",
    "PairwiseTerms",
    "SteinOperator",
    "Sums",
    "Weights",
    "check_memory",
    "criterion_gradient",
    "criterion_of_means",
    "criterion_slopes",
    "finite_set_features",
    "finite_set_gradient",
    "matmul",
    "plan",
    "sweep",
    "sweep_features",
]
