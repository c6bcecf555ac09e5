"""Which nulls a test runs: the only place that decides."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import NoReturn

from condgof.errors import UnsupportedModelError
from condgof.null._dependence import Dependence
from condgof.null._draws import Null, TestedRows
from condgof.null._resample import GaussianLimit, RecombinedResample, Resample
from condgof.null._signs import BlockSigns, ParcelSigns, RowSigns
from condgof.residuals import CellResiduals, NormalScoreResiduals, Residuals
from condgof.stein import PIECE_ROWS, Plan

#: All rows are resampled up to this many of them,
RESAMPLED_ROWS = 4096
#: and up to this work of all draws, in multiplications; beyond, a limit serves.
RESAMPLED_WORK = 8e9
#: The work of a row by itself, beside its products.
ROW_WORK = 1000
#: Single rows get weights up to this many rows; beyond, blocks of rows do.
WEIGHTED_ROWS = PIECE_ROWS
#: Said where rows depend on each other and the null is that of a resampled y.
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
    """Choose how to draw statistics under the null hypothesis; the larger p-value counts.

    There are two nulls where rows of a discrete y depend on each other. Residuals of a
    model that is nearly certain, and right, are tiny and point one way: signs of groups or
    blocks alone would reject it. Resampling y, row by row, does not see the dependence. The
    larger of both p-values keeps its level where either does.

    Parameters
    ----------
    plan : Plan
        What is summed.
    rows, residuals : TestedRows, Residuals
        All rows, and residuals of some of them, which tell the kind of y.
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
    signs = _sign_null(rows, dependence, bootstrap=null)
    if dependence.independent or not isinstance(residuals, CellResiduals):
        return [signs]
    # Put aside: rows are taken as independent, and resampled one by one.
    aside = replace(dependence, aside=True, notes=(*dependence.notes, LARGER_OF_TWO))
    second = _resampling_null(plan, rows, residuals, aside, solver=solver, n_boot=n_boot)
    if second is None or null != "auto":
        return [signs]
    return [signs, second]


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
    n = rows.n
    products = sum(cut.x_width * cut.y_width for cut in plan.cuts)
    work = float(n * (ROW_WORK + products)) * n_boot
    is_small = n <= RESAMPLED_ROWS and work <= RESAMPLED_WORK
    of_all_rows = not rows.is_stream and solver != "lowrank"
    if of_all_rows and (is_small or solver == "exact"):
        return Resample(dependence)
    return null_of_many_rows(residuals, dependence)


@singledispatch
def null_of_many_rows(residuals: Residuals, dependence: Dependence) -> Null:
    """Return the null that stands for resampling y of many rows; by default all of them."""
    return Resample(dependence)


@null_of_many_rows.register
def _(residuals: NormalScoreResiduals, dependence: Dependence) -> Null:
    return GaussianLimit(dependence)


@null_of_many_rows.register
def _(residuals: CellResiduals, dependence: Dependence) -> Null:
    return RecombinedResample(dependence)


def _sign_null(rows: TestedRows, dependence: Dependence, *, bootstrap: str) -> Null:
    """Return the null of random signs: of rows, of blocks, or of parcels of rows."""
    if rows.total <= WEIGHTED_ROWS:
        return RowSigns(bootstrap, dependence)
    if dependence.independent:
        return BlockSigns(bootstrap, dependence)
    return ParcelSigns(bootstrap, dependence)
