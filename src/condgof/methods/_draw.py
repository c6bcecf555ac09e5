"""From a plan and a sample to statistics with their draws: which null distribution runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import UnsupportedModelError
from condgof.kernels import Gaussian, resolve_x
from condgof.laws import Outcomes
from condgof.methods._dependence import INDEPENDENT
from condgof.methods._options import Options
from condgof.methods._rows import SUBSAMPLE, Scored, Stream
from condgof.null import (
    LIMIT,
    NULLS,
    Dependence,
    Drawn,
    Redraw,
    bootstrap_weights,
    censoring_times,
    excess,
    limit,
    parcelled,
    recombined,
    redraw_cells,
    redraw_censored,
    redraw_normal,
    redrawn,
    signed_blocks,
    top_surprises,
    weighted_rows,
    weighted_units,
)
from condgof.sample import Seed, Use
from condgof.stein import (
    CENSORED,
    PIECE,
    CellEvidence,
    CensoredEvidence,
    Evidence,
    Held,
    NormalEvidence,
    Piece,
    Plan,
)

#: By itself the library redraws all rows up to this many multiplications.
REDRAW_WORK = 8e9
#: What drawing a row costs beside its sums.
ROW_WORK = 1000
#: Single rows get weights up to so many rows; beyond, at most so many blocks of rows.
WEIGHTED_ROWS, BLOCKS = PIECE, 2048
#: Rows that depend on each other are gathered in at most so many parcels, beyond that many rows.
PARCELS = 512
#: Said where rows depend on each other and the null is that of y drawn anew.
MILDER = (
    "of two p-values, by signs that groups or blocks share and by drawing y anew from the model, the "
    "larger one counts: here the latter"
)


@dataclass(frozen=True, eq=False)
class Ran:
    """Statistics with their draws, and how these were made."""

    #: Σ_{i≠j} of each statistic; the last one is the excess of surprises where there is one.
    drawn: Drawn
    #: What ran.
    null: str
    solver: str
    #: Whether the last statistic is the excess of surprises.
    excess: bool = False
    #: For the result.
    details: dict[str, Any] = field(default_factory=dict)


def law_is_known(scored: Scored | Stream, plan: Plan, null: str, rows: Dependence) -> bool:
    """Tell whether to draw y anew for the null; refuse where that was asked for and cannot be."""
    few = scored.subsample
    normal = isinstance(plan.evidence, NormalEvidence)
    few_rows = few.by == CENSORED and scored is few
    known = rows.independent and (
        normal or few_rows or (few.cells is not None and few.outcomes is not None)
    )
    if null == "model" and not known:
        refuse_redraw()
    return known and null in ("auto", "model")


def refuse_redraw() -> NoReturn:
    """Refuse to draw y anew."""
    raise UnsupportedModelError(
        "null='model' draws y anew from the model, which takes normal scores (adaptive with a model "
        "that has a CDF) or a discrete y with known probabilities, and rows that do not depend on "
        "each other. Use null='auto'."
    )


def draw(plan: Plan, scored: Scored | Stream, options: Options, seed: Seed) -> Ran:
    """Compute the statistics of a plan and draw from their null distribution."""
    if law_is_known(scored, plan, options.null, options.rows):
        return _redrawn(plan, scored, options, seed)
    return _weighted(plan, scored, options, seed)


def until_of(scored: Scored, seed: Seed) -> FloatArray:
    """Return when rows of times with censoring are censored, or would have been, (n,)."""
    near = resolve_x(Gaussian("median"), scored.x, scored.sample.x_columns, seed)
    return censoring_times(scored.scores, scored.x, near, seed.stream(Use.MODEL_SAMPLE, 6))


def work_of(plan: Plan, n: int) -> float:
    """Return the work of one draw of all rows, in multiplications."""
    width = ROW_WORK + sum((cut.x.stop - cut.x.start) * (cut.y.stop - cut.y.start) for cut in plan.cuts)
    return float(n) * float(width)


def _redrawn(plan: Plan, scored: Scored | Stream, options: Options, seed: Seed) -> Ran:
    n, m, engine, evidence = scored.n, options.n_boot, options.engine, plan.evidence
    small = options.solver == "exact" or (n <= SUBSAMPLE and work_of(plan, n) * m <= REDRAW_WORK)
    if isinstance(scored, Scored) and small and options.solver != "lowrank":
        held, top = Held.of(plan, scored.rows()), 0.0
        if isinstance(evidence, NormalEvidence):
            again = redraw_normal(evidence, n)
            top = float(excess(top_surprises(scored.y.reshape(1, -1)), scored.y.size)[0])
        elif isinstance(evidence, CensoredEvidence):
            again = redraw_censored(evidence, scored.scores, until_of(scored, seed))
        else:
            again = _redraw_rows(evidence, scored.outcomes)
        found = redrawn(plan, held, again, top, m, seed, engine)
        surprises = isinstance(evidence, NormalEvidence) and plan.surprises
        found = found if surprises else _without_last(found)
        return Ran(found, NULLS["model"], "exact", surprises, {"null": "model"})
    if isinstance(evidence, NormalEvidence):
        found = limit(plan, scored.rows(), n, m, seed, engine)
        return Ran(found, LIMIT, "lowrank", plan.surprises, {"null": "limit"})
    assert isinstance(evidence, CellEvidence)

    def of_piece(piece: Piece, uniform: FloatArray) -> AnyArray:
        assert piece.outcomes is not None
        made = redraw_cells(evidence, piece.outcomes)(uniform)
        return made if piece.keep is None else made * piece.keep[:, None]

    found = recombined(plan, scored.rows(), of_piece, m, seed, engine)
    return Ran(found, NULLS["model"], "lowrank", False, {"null": "model"})


def _redraw_rows(evidence: Evidence, outcomes: Outcomes | None) -> Redraw:
    """Return what draws a discrete y of all rows anew."""
    assert isinstance(evidence, CellEvidence)
    assert outcomes is not None
    n, cells = len(outcomes.observed), redraw_cells(evidence, outcomes)
    return lambda rng, m: (np.stack([cells(rng.random(n)) for _ in range(m)], axis=1), np.zeros(m))


def _without_last(found: Drawn) -> Drawn:
    return Drawn(found.statistics[:-1], found.draws[:-1], found.sizes[:-1])


def _weighted(plan: Plan, scored: Scored | Stream, options: Options, seed: Seed) -> Ran:
    """Draw by weights on rows, on blocks of rows, or on parcels of rows that depend on each other."""
    rows, depend, m, engine = scored.rows(), options.rows, options.n_boot, options.engine
    total, name = rows.total, depend.named(options.null)
    if total <= WEIGHTED_ROWS:
        weights = depend.weights(options.null, total, m, seed)
        found = weighted_rows(plan, Held.of(plan, rows), weights, engine)
        # Of a multinomial bootstrap draws are divided by n, and statistics by n − 1.
        factor = weights.factor * (total - 1)
        return Ran(replace(found, draws=factor * found.draws), name, "lowrank")
    if depend.independent:
        units, null = signed_blocks(plan, rows, BLOCKS, seed, engine), options.null
    else:
        units, null = parcelled(plan, rows, depend.parcels(total, PARCELS), engine), "wild"
    count, n = len(units.counts), scored.n
    weights = bootstrap_weights(null, count, m, seed)
    forms, own = weighted_units(plan, units, weights.block(0, count), engine)
    whole, sizes = plan.squares([one[None] for one in units.totals])[0], units.own.sum(axis=0)
    draws = forms - own[:, None]
    if depend.independent:
        return Ran(Drawn(whole - sizes, draws, sizes), name, "lowrank", False, {"blocks": count})
    # Pairs within a parcel are in neither the statistics nor the draws.
    factor = n * (n - 1.0) / (float(n) * n - float(np.square(units.counts).sum()))
    found = Drawn(factor * (whole - own), factor * draws, factor * sizes)
    return Ran(found, name, "lowrank", False, {"parcels": count})


def milder(options: Options, scored: Scored | Stream, plan: Plan) -> Options | None:
    """Return the options of a second test where rows of a discrete y depend on each other, or None.

    Signs of groups or blocks see no more than the residuals that are there, and those of a model that is
    nearly certain, and right, are tiny and point one way: alone they would reject it. Against drawing y
    anew, row by row, such residuals are what was to be expected; but that does not see the dependence.
    The larger of both p-values keeps its level where either does.
    """
    if options.rows.independent or scored.subsample.cells is None:
        return None
    return (
        replace(options, rows=INDEPENDENT)
        if law_is_known(scored, plan, options.null, INDEPENDENT)
        else None
    )
