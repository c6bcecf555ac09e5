"""The analysis of a misfit: its effects, and what they gain on rows held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._axes import Axis
from condgof.check.effects._held_out import HeldOut, assign_folds, held_out_gains
from condgof.check.effects._partitions import (
    Cells,
    choose_paired,
    everything,
    make_partitions,
)
from condgof.check.effects._stages import (
    SIGNS_OF_UNITS,
    ModelDraws,
    NullOfStages,
    ReplicateDraws,
    SampleDraws,
    SignDraws,
    Stage,
    StageNull,
    State,
    Units,
    find_stages,
)
from condgof.check.effects._tilts import Tilt
from condgof.sample import KeyArray, Seed, rows_by_content

#: Most effects that are named: a report is to be read.
MOST_EFFECTS = 8
#: Stages whose gain on rows held out is computed where no effect is named.
UNTESTED_STAGES = 3
#: Draws of the null of each stage.
DRAWS = 199
#: Rows of which y is drawn; of more rows, a choice by x.
DRAWN_ROWS = 4096
#: Rows that are searched; of more rows, a choice by x.
SEARCHED_ROWS = 200_000
#: Samples of fewer rows are not analysed.
FEWEST_ROWS = 30
#: Uses of `rows_by_content`: which rows are drawn, and the order that folds come from.
DRAWN_ROWS_USE = 28
FOLDS_USE = 29


@dataclass(frozen=True, eq=False)
class Analysis:
    """The effects of a misfit."""

    axes: tuple[Axis, ...]
    state: State  #: All rows beside the law as it is.
    stages: tuple[Stage, ...]  #: The effects, in the order in which they were found.
    #: What is left is tried once more: the first candidate that is not significant.
    left: Stage | None
    held_out: HeldOut
    null: str = ""  #: What the p-values come from, in words.
    #: The positions of the analysed rows among those of the check; None for all of them.
    rows: IntArray | None = None

    @property
    def details(self) -> dict[str, Any]:
        """How large the search was, for `Check.details`."""
        partitions = self.state.cells.partitions
        return {
            "columns": len(self.axes),
            "pairs": sum(len(one.axes) == 2 for one in partitions),
            "kinds": len(self.state.tilt.kinds),
            "slices": len(self.state.cells.rows) * len(self.state.tilt.kinds),
            "rows": self.state.tilt.n,
            "draws": max((stage.draws for stage in self.stages), default=0),
            "null": self.null,
        }


def analyse(
    axes: Sequence[Axis],
    tilt: Tilt,
    *,
    units: IntArray | None,
    replicates: Replicates | None,
    keys: KeyArray,
    alpha: float,
    seed: Seed,
    name_effects: bool = True,
    weights: FloatArray | None = None,
) -> Analysis | None:
    """Take a misfit apart; None for too few rows.

    Parameters
    ----------
    axes : sequence of Axis
        The columns that effects may depend on.
    tilt : Tilt
        The n rows beside their law.
    units : ndarray of shape (n,), optional
        The unit of each row; rows depend on each other within units.
    replicates : Replicates, optional
        Whole samples to be put in the place of y, where rows share an error.
    keys : ndarray of shape (n,)
        Keys of the rows by what they hold, by which some of them are chosen.
    alpha : float
        The level at which an effect counts.
    seed : Seed
        Of the draws of the null.
    name_effects : bool
        Whether effects are tested and named; else only their gain on rows held out is
        asked for.
    weights : ndarray of shape (n,), optional
        Weights of the rows, where they are not equal. Gains are weighted.
    """
    if tilt.n < FEWEST_ROWS:
        return None
    of_units = None if units is None else Units.from_labels(units)
    state = make_state(axes, tilt, of_units, weights)
    null = None
    if name_effects:
        null = choose_null(state, replicates, keys, alpha, seed)
    return analyse_state(axes, state, null, keys=keys, alpha=alpha)


def make_state(
    axes: Sequence[Axis],
    tilt: Tilt,
    units: Units | None,
    weights: FloatArray | None = None,
) -> State:
    """Return rows beside their law, in the cells of all candidates.

    Rows with weights (n,) count as many as their effective number.
    """
    if weights is not None:
        weights = weights * (weights.sum() / np.square(weights).sum())
    partitions = [everything(tilt.n), *make_partitions(axes, choose_paired(axes))]
    return State(Cells.from_partitions(partitions, weights), tilt, units)


def analyse_state(
    axes: Sequence[Axis],
    state: State,
    null: StageNull | None,
    *,
    keys: KeyArray,
    alpha: float,
) -> Analysis:
    """Find the effects, and what they gain on rows held out.

    Without a `null` no effects are named, and what is held out is the gain of some stages.
    """
    stages: tuple[Stage, ...] = ()
    left = None
    if null is not None:
        found = find_stages(state, most=MOST_EFFECTS, null=null, alpha=alpha)
        stages = tuple(found.stages)
        left = found.left
    folds = assign_folds(state.tilt.n, state.units, np.argsort(keys, kind="stable"))
    held_out = held_out_gains(state, len(stages) or UNTESTED_STAGES, folds)
    return Analysis(
        axes=tuple(axes),
        state=state,
        stages=stages,
        left=left,
        held_out=held_out,
        null="" if null is None else null.label,
    )


def choose_null(
    state: State,
    replicates: Replicates | None,
    keys: KeyArray,
    alpha: float,
    seed: Seed,
) -> NullOfStages:
    """Return what stages are compared with: samples of the law, or random signs."""
    n = state.tilt.n
    count = max(DRAWS, math.ceil(1.0 / alpha) - 1)
    rows = rows_by_content(keys, DRAWN_ROWS, DRAWN_ROWS_USE)
    draws: SampleDraws
    if state.units is not None:
        # Whole units, so that rows of a unit stay together.
        chosen = np.isin(state.units.codes, np.unique(state.units.codes[rows]))
        rows = np.flatnonzero(chosen) if n > DRAWN_ROWS else rows
        draws = SignDraws(seed, state.units.take(rows).codes, SIGNS_OF_UNITS)
    elif replicates is not None:
        count = min(count, replicates.count)
        own = rows
        draws = ReplicateDraws(count, lambda number: replicates.values(number)[own])
    elif state.tilt.take(rows[:1]).draw(np.random.default_rng(0), 1) is None:
        draws = SignDraws(seed, np.arange(len(rows)))
    else:
        draws = ModelDraws(seed)
    return NullOfStages(rows=rows, n=n, count=count, draws=draws)


@dataclass(frozen=True, eq=False)
class Replicates:
    """Whole samples in place of y."""

    count: int
    values: Callable[[int], FloatArray]  #: Test functions of a sample by number, (n, K).
