"""Nulls: one class a null, their combination, and how rows depend on each other."""

from condgof.null._autocorrelation import Autocorrelation, auto_length, without_misfit
from condgof.null._bootstrap import (
    LIMIT,
    NULLS,
    RowWeights,
    bootstrap_weights,
    check_n_boot,
    check_resolution,
    default_draws,
    multinomial_weights,
    normal_pvalue,
    permutation_weights,
    pvalue,
    settle_ties,
    sign_weights,
)
from condgof.null._choose import LARGER_OF_TWO, choose_nulls, refuse_resampling
from condgof.null._combine import Combination, Family, log_tail
from condgof.null._dependence import (
    Dependence,
    check_dependence,
    dependence_of,
    group_weights,
    stretch_weights,
    warn_if_correlated,
)
from condgof.null._draws import (
    SINGLE_ROUNDING,
    FirstStatistic,
    Null,
    NullDraws,
    TestedRows,
    settle,
)
from condgof.null._groups import (
    GroupResample,
    GroupSigns,
    intraclass_correlation,
    weights_by_size,
)
from condgof.null._paired import Difference, differences
from condgof.null._resample import GaussianLimit, JointDraws, RecombinedResample, Resample
from condgof.null._signs import BlockSigns, ParcelSigns, RowSigns, block_length
from condgof.null._units import MeanVariance, effective_df, mean_variance

__all__ = [
    "LARGER_OF_TWO",
    "LIMIT",
    "NULLS",
    "SINGLE_ROUNDING",
    "Autocorrelation",
    "BlockSigns",
    "Combination",
    "Dependence",
    "Difference",
    "Family",
    "FirstStatistic",
    "GaussianLimit",
    "GroupResample",
    "GroupSigns",
    "JointDraws",
    "MeanVariance",
    "Null",
    "NullDraws",
    "ParcelSigns",
    "RecombinedResample",
    "Resample",
    "RowSigns",
    "RowWeights",
    "TestedRows",
    "auto_length",
    "block_length",
    "bootstrap_weights",
    "check_dependence",
    "check_n_boot",
    "check_resolution",
    "choose_nulls",
    "default_draws",
    "dependence_of",
    "differences",
    "effective_df",
    "group_weights",
    "intraclass_correlation",
    "log_tail",
    "mean_variance",
    "multinomial_weights",
    "normal_pvalue",
    "permutation_weights",
    "pvalue",
    "refuse_resampling",
    "settle",
    "settle_ties",
    "sign_weights",
    "stretch_weights",
    "warn_if_correlated",
    "weights_by_size",
    "without_misfit",
]
