"""Null distributions: bootstrap and permutation weights, the spectral limit, and the p-value."""

from condgof.null._combine import Evidence, Family, combine
from condgof.null._dependent import Dependence, Parcels, group_weights, stretch_weights
from condgof.null._named import NULLS, bootstrap_weights, check_n_boot, check_null
from condgof.null._pvalue import normal_pvalue, pvalue, settle_ties
from condgof.null._skewed import ALTERNATIVES, Difference, check_alternative
from condgof.null._spectral import spectral_draws
from condgof.null._weights import (
    RowWeights,
    multinomial_weights,
    permutation_weights,
    sign_weights,
)

__all__ = [
    "ALTERNATIVES",
    "NULLS",
    "Dependence",
    "Difference",
    "Evidence",
    "Family",
    "Parcels",
    "RowWeights",
    "bootstrap_weights",
    "check_alternative",
    "check_n_boot",
    "check_null",
    "combine",
    "group_weights",
    "multinomial_weights",
    "normal_pvalue",
    "permutation_weights",
    "pvalue",
    "settle_ties",
    "sign_weights",
    "spectral_draws",
    "stretch_weights",
]
