"""From a plan and a sample to statistics with their draws: which null distribution runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import UnsupportedModelError
from condgof.methods._dependence import INDEPENDENT
from condgof.methods._options import Options
from condgof.methods._rows import SUBSAMPLE, Scored, Stream
from condgof.null import (
    LIMIT,
    NULLS,
    Dependence,
    Drawn,
    bootstrap_weights,
    excess,
    limit,
    parcelled,
    recombined,
    redraw_cells,
    redraw_normal,
    redrawn,
    signed_blocks,
    top_surprises,
    weighted_rows,
    weighted_units,
)
from condgof.sample import Seed
from condgof.stein import PIECE, CellEvidence, Held, NormalEvidence, Piece, Plan

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
    known = rows.independent and (normal or (few.cells is not None and few.outcomes is not None))
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


def work_of(plan: Plan, n: int) -> float:
    """Return the work of one draw of all rows, in multiplications."""
    width = ROW_WORK + sum((cut.x.stop - cut.x.start) * (cut.y.stop - cut.y.start) for cut in plan.cuts)
    return float(n) * float(width)


def _redrawn(plan: Plan, scored: Scored | Stream, options: Options, seed: Seed) -> Ran:
    n, m, engine = scored.n, options.n_boot, options.engine
    small = options.solver == "exact" or (n <= SUBSAMPLE and work_of(plan, n) * m <= REDRAW_WORK)
    normal = isinstance(plan.evidence, NormalEvidence)
    if isinstance(scored, Scored) and small and options.solver != "lowrank":
        held = Held.of(plan, scored.rows())
        if isinstance(plan.evidence, NormalEvidence):
            top = float(excess(top_surprises(scored.y.reshape(1, -1)), scored.y.size)[0])
            found = redrawn(plan, held, redraw_normal(plan.evidence, n), top, m, seed, engine)
            found = found if plan.surprises else _without_last(found)
            return Ran(found, NULLS["model"], "exact", plan.surprises, {"null": "model"})
        assert isinstance(plan.evidence, CellEvidence)
        assert scored.outcomes is not None
        cells = redraw_cells(plan.evidence, scored.outcomes)

        def some(rng: np.random.Generator, count: int) -> tuple[AnyArray, FloatArray]:
            return np.stack([cells(rng.random(n)) for _ in range(count)], axis=1), np.zeros(count)

        found = redrawn(plan, held, some, 0.0, m, seed, engine)
        return Ran(_without_last(found), NULLS["model"], "exact", False, {"null": "model"})
    if normal:
        found = limit(plan, scored.rows(), n, m, seed, engine)
        return Ran(found, LIMIT, "lowrank", plan.surprises, {"null": "limit"})
    evidence = plan.evidence
    assert isinstance(evidence, CellEvidence)

    def of_piece(piece: Piece, uniform: FloatArray) -> AnyArray:
        assert piece.outcomes is not None
        made = redraw_cells(evidence, piece.outcomes)(uniform)
        return made if piece.keep is None else made * piece.keep[:, None]

    found = recombined(plan, scored.rows(), of_piece, m, seed, engine)
    return Ran(found, NULLS["model"], "lowrank", False, {"null": "model"})


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
        units = signed_blocks(plan, rows, BLOCKS, seed, engine)
        weights = bootstrap_weights(options.null, len(units.counts), m, seed)
        forms, own = weighted_units(plan, units, weights.block(0, weights.n), engine)
        whole = plan.squares([one[None] for one in units.totals])[0]
        sizes = units.own.sum(axis=0)
        mean = own[:, None]
        return Ran(
            Drawn(whole - sizes, forms - mean, sizes),
            name,
            "lowrank",
            False,
            {"blocks": len(units.counts)},
        )
    parcels = depend.parcels(total, PARCELS)
    units = parcelled(plan, rows, parcels, engine)
    weights = bootstrap_weights("wild", parcels.count, m, seed)
    forms, own = weighted_units(plan, units, weights.block(0, parcels.count), engine)
    whole = plan.squares([one[None] for one in units.totals])[0]
    # Pairs within a parcel are in neither the statistics nor the draws.
    n = scored.n
    factor = n * (n - 1.0) / (float(n) * n - float(np.square(units.counts).sum()))
    found = Drawn(
        factor * (whole - own), factor * (forms - own[:, None]), factor * units.own.sum(axis=0)
    )
    return Ran(found, name, "lowrank", False, {"parcels": parcels.count})


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
