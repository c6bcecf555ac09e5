"""Which nulls a test runs: the only place that decides."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import NoReturn

import numpy as np

from condgof.errors import UnsupportedModelError
from condgof.null._dependence import Dependence
from condgof.null._draws import Null, TestedRows
from condgof.null._groups import GroupResample, GroupSigns, intraclass_correlation
from condgof.null._resample import (
    GaussianLimit,
    JointDraws,
    RecombinedResample,
    Resample,
    StratifiedLimit,
)
from condgof.null._signs import BlockSigns, ParcelSigns, RowSigns
from condgof.null._units import effective_df
from condgof.residuals import (
    AveragedTestFunctions,
    CellResiduals,
    CensoredResiduals,
    NormalScoreResiduals,
    Residuals,
    SteppedResiduals,
    TestFunctions,
)
from condgof.stein import PIECE_ROWS, Plan

#: Every draw resamples all rows up to this many rows. For more rows, what
#: `null_of_many_rows` returns takes less time and memory.
RESAMPLED_ROWS = 4096
#: The same up to this work of all draws together, in multiplications.
RESAMPLED_WORK = 8e9
#: The work of resampling a row once, in multiplications, beside those of F with ξ.
ROW_WORK = 1000
#: Up to this many rows each row has a bootstrap weight of its own, and all weights are held
#: at once. For more rows, blocks or parcels of rows have the weights.
WEIGHTED_ROWS = PIECE_ROWS
#: Where the effective number of groups (`condgof.null.effective_df`) is larger, the
#: skewness of their sums does not matter to random signs.
FEW_GROUPS = 60
#: Groups are resampled up to this work of all draws together, in sums over a group.
GROUPED_WORK = 1e9
#: The note of a result where rows depend on each other and the p-value is that of resampled
#: y, because it is larger than that of random signs.
LARGER_BY_GROUP = (
    "of two p-values, by random signs of groups and by resampling y with rows that are"
    " correlated within groups, the larger one counts: here the latter"
)
#: The same where it is row by row that y is resampled.
LARGER_OF_TWO = (
    "of two p-values, by signs that groups or blocks share and by drawing y anew from the"
    " model, the larger one counts: here the latter"
)


def choose_nulls(
    plan: Plan,
    rows: TestedRows,
    residuals: Residuals,
    dependence: Dependence,
    *,
    null: str,
    solver: str,
    n_boot: int,
) -> list[Null]:
    """Choose how to draw statistics under the null hypothesis: one null, or two.

    Of two nulls the larger p-value counts: it keeps its level where either does. There are
    two where rows of a discrete y depend on each other. Residuals of a model that is nearly
    certain, and right, are tiny and point one way: signs of groups or blocks alone would
    reject it. Resampling y, row by row, does not see the dependence.

    Parameters
    ----------
    plan : Plan
        What is summed.
    rows : TestedRows
        All rows.
    residuals : Residuals
        Those of a subsample of the rows; their class is the kind of y.
    dependence : Dependence
        How rows depend on each other.
    null, solver, n_boot
        The options of the tests, as the user gave them.
    """
    resampling = _resampling_null(
        plan, rows, residuals, dependence, solver=solver, n_boot=n_boot
    )
    if null == "model" and resampling is None:
        refuse_resampling()
    if resampling is not None and null in ("auto", "model"):
        return [resampling]
    signs = _sign_null(plan, rows, dependence, bootstrap=null)
    by_group = _grouped_resampling(plan, rows, residuals, dependence, n_boot=n_boot)
    if by_group is not None and null == "auto":
        return [signs, by_group]
    if dependence.independent or not isinstance(residuals, CellResiduals):
        return [signs]
    # The second null resamples row by row, as if rows were independent.
    ignored = replace(dependence, ignored=True, notes=(*dependence.notes, LARGER_OF_TWO))
    row_by_row = _resampling_null(
        plan, rows, residuals, ignored, solver=solver, n_boot=n_boot
    )
    if row_by_row is None or null != "auto":
        return [signs]
    return [signs, row_by_row]


def refuse_resampling() -> NoReturn:
    """Refuse ``null="model"`` where y cannot be resampled."""
    raise UnsupportedModelError(
        "null='model' draws y anew from the model, which takes normal scores (adaptive with"
        " a model that has a CDF) or a discrete y with known probabilities, and rows that"
        " do not depend on each other. Use null='auto'."
    )


def _resampling_null(
    plan: Plan,
    rows: TestedRows,
    residuals: Residuals,
    dependence: Dependence,
    *,
    solver: str,
    n_boot: int,
) -> Null | None:
    """Return the null that resamples y, or None where y cannot be resampled."""
    if not (plan.test_functions.resampled and rows.can_resample and dependence.independent):
        return None
    if rows.are_drawn_together:
        replicates = rows.subsample.replicates
        assert replicates is not None
        notes = replicates.notes(min(n_boot, replicates.count))
        return JointDraws(replace(dependence, notes=(*dependence.notes, *notes)))
    n = rows.n
    products = sum(cut.x_width * cut.y_width for cut in plan.cuts)
    work = float(n * (ROW_WORK + products)) * n_boot
    is_small = n <= RESAMPLED_ROWS and work <= RESAMPLED_WORK
    may_hold_all_rows = not rows.is_stream and solver != "lowrank"
    if may_hold_all_rows and (is_small or solver == "exact"):
        return Resample(dependence)
    return null_of_many_rows(residuals, plan.test_functions, dependence)


@singledispatch
def null_of_many_rows(
    residuals: Residuals, test_functions: TestFunctions, dependence: Dependence
) -> Null:
    """Return the null that stands for resampling many rows.

    Where no other is registered for the class of residuals, all rows are resampled.
    """
    return Resample(dependence)


@null_of_many_rows.register
def _(
    residuals: NormalScoreResiduals, test_functions: TestFunctions, dependence: Dependence
) -> Null:
    return GaussianLimit(dependence)


@null_of_many_rows.register
def _(
    residuals: CellResiduals, test_functions: TestFunctions, dependence: Dependence
) -> Null:
    return RecombinedResample(dependence)


@null_of_many_rows.register
def _(
    residuals: SteppedResiduals, test_functions: TestFunctions, dependence: Dependence
) -> Null:
    is_averaged = isinstance(test_functions, AveragedTestFunctions)
    if is_averaged and not residuals.is_mostly_certain:
        return StratifiedLimit(residuals, dependence)
    return RecombinedResample(dependence)


def _grouped_resampling(
    plan: Plan,
    rows: TestedRows,
    residuals: Residuals,
    dependence: Dependence,
    *,
    n_boot: int,
) -> GroupResample | None:
    """Return the null that resamples y of few groups of rows, or None.

    With many groups random signs alone keep the level. The resamplers of normal scores and
    of censored times draw one number a row, which `GroupResample` correlates.
    """
    codes = dependence.codes
    if codes is None or dependence.independent or len(plan.statistics) == 1:
        return None
    by_numbers = isinstance(residuals, (NormalScoreResiduals, CensoredResiduals))
    can_resample = plan.test_functions.resampled and rows.can_resample
    if not by_numbers or not can_resample or rows.is_stream or len(codes) != residuals.n:
        return None
    products = sum(cut.x_width * cut.y_width for cut in plan.cuts)
    work = float(dependence.count * products) * n_boot
    if effective_df(np.bincount(codes)) > FEW_GROUPS or work > GROUPED_WORK:
        return None
    return GroupResample(
        replace(dependence, notes=(*dependence.notes, LARGER_BY_GROUP)),
        codes=codes,
        rho=intraclass_correlation(residuals.dependence_values().values, codes),
    )


def _sign_null(
    plan: Plan, rows: TestedRows, dependence: Dependence, *, bootstrap: str
) -> Null:
    """Return the null of random signs: of rows, of groups, of blocks or of parcels."""
    # Tests of one pair of kernels are those of the paper: their statistics have no weights.
    if dependence.count and not dependence.independent and len(plan.statistics) > 1:
        return GroupSigns(bootstrap, dependence)
    if rows.total <= WEIGHTED_ROWS:
        return RowSigns(bootstrap, dependence)
    if dependence.independent:
        return BlockSigns(bootstrap, dependence)
    return ParcelSigns(bootstrap, dependence)
