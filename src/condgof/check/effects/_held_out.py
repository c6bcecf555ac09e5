"""What effects gain on rows that had no part in finding them.

The gain of an effect that was chosen for its gain is too large by the choice. So the whole
search is made again without each fold of the rows, and judged on that fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check.effects._partitions import Cells
from condgof.check.effects._stages import Stage, State, Units, find_stages
from condgof.check.effects._tilts import Tilt

#: Parts that rows are cut into; each is held out once.
FOLDS = 5
#: Of more rows than this, only one fold is held out: its error is small then, and each
#: search takes as long as the first.
ALL_FOLDS_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Effects that were found without each fold, and what they gain there."""

    rows: IntArray  #: The rows that were held out, (h,).
    folds: IntArray  #: The fold of each of all rows, (n,).
    stages: tuple[tuple[Stage, ...], ...]  #: The effects found without each fold.
    gains: FloatArray  #: The gain of each of the rows held out, in nats, (h,).
    gains_by_stage: FloatArray  #: The same after each stage, (h, stages).


def assign_folds(n: int, units: Units | None, order: IntArray) -> IntArray:
    """Return the fold of each row, (n,): rows of a unit are in the same one.

    `order` (n,) is an order of the rows as if at random, which does not depend on how they
    came.
    """
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    if units is None:
        return rank % FOLDS
    first = np.full(units.count, n)
    np.minimum.at(first, units.codes, rank)
    place = np.argsort(np.argsort(first, kind="stable"))
    return np.asarray(place % FOLDS)[units.codes]


def held_out_gains(state: State, count: int, folds: IntArray) -> HeldOut:
    """Search `count` effects without each fold, and judge them there."""
    tested = range(FOLDS) if len(folds) <= ALL_FOLDS_ROWS else range(1)
    rows = []
    gains = []
    by_stage = []
    found = []
    for fold in tested:
        inside = np.flatnonzero(folds == fold)
        others = np.flatnonzero(folds != fold)
        found_stages = find_stages(state.take(others), most=count, null=None, alpha=1.0)
        stages = found_stages.stages
        test = state.take(inside)
        steps = np.zeros((len(inside), count))
        tilt = test.tilt
        for number, stage in enumerate(stages):
            tilt = apply_stage(test.cells, tilt, stage)
            steps[:, number:] = tilt.log_ratio
        rows.append(inside)
        gains.append(tilt.log_ratio[:, 0])
        by_stage.append(steps)
        found.append(tuple(stages))
    return HeldOut(
        rows=np.concatenate(rows),
        folds=folds,
        stages=tuple(found),
        gains=np.concatenate(gains),
        gains_by_stage=np.concatenate(by_stage),
    )


def apply_stage(cells: Cells, tilt: Tilt, stage: Stage) -> Tilt:
    """Correct rows by the parameters of a stage, which may have been learned on others."""
    codes = cells.codes[:, stage.candidate.partition]
    return tilt.corrected(stage.candidate.kind, stage.fit.theta[codes][:, None])


def apply_stages(cells: Cells, tilt: Tilt, stages: Sequence[Stage]) -> Tilt:
    """Correct rows by the parameters of all stages, one after the other."""
    for stage in stages:
        tilt = apply_stage(cells, tilt, stage)
    return tilt
