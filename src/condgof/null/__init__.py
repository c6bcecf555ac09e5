"""Null distributions: redraws, the Gaussian limit, weights on rows; combination; p-values."""

from condgof.null._combine import Combination, Family, log_tail
from condgof.null._dependent import Dependence, Parcels, group_weights, stretch_weights
from condgof.null._draws import (
    Drawn,
    drawn_surprises,
    excess,
    limit,
    parcelled,
    recombined,
    redraw_cells,
    redraw_normal,
    redrawn,
    settle,
    signed_blocks,
    top_surprises,
    weighted_rows,
    weighted_units,
)
from condgof.null._named import LIMIT, NULLS, bootstrap_weights, check_n_boot, check_null
from condgof.null._pvalue import normal_pvalue, pvalue, settle_ties
from condgof.null._skewed import ALTERNATIVES, Difference, check_alternative
from condgof.null._weights import (
    RowWeights,
    multinomial_weights,
    normal_weights,
    permutation_weights,
    sign_weights,
)

__all__ = [
    "ALTERNATIVES",
    "LIMIT",
    "NULLS",
    "Combination",
    "Dependence",
    "Difference",
    "Drawn",
    "Family",
    "Parcels",
    "RowWeights",
    "bootstrap_weights",
    "check_alternative",
    "check_n_boot",
    "check_null",
    "drawn_surprises",
    "excess",
    "group_weights",
    "limit",
    "log_tail",
    "multinomial_weights",
    "normal_pvalue",
    "normal_weights",
    "parcelled",
    "permutation_weights",
    "pvalue",
    "recombined",
    "redraw_cells",
    "redraw_normal",
    "redrawn",
    "settle",
    "settle_ties",
    "sign_weights",
    "signed_blocks",
    "stretch_weights",
    "top_surprises",
    "weighted_rows",
    "weighted_units",
]
