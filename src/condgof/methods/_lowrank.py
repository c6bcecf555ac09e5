"""Sums of many rows, of a discrete y, of many statistics: features, evidence, and which null runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from scipy.linalg import orth

from condgof import kernels
from condgof._typing import AnyArray, FloatArray
from condgof.engine import single_threaded_blas
from condgof.errors import UnsupportedModelError
from condgof.kernels import CellKernel, CovariateKernel, FiniteLocations, ResponseKernel
from condgof.methods._options import Options
from condgof.methods._scored import CENSORED, SUBSAMPLE, TOGETHER, Scored
from condgof.null import _draws as nulls
from condgof.null._bootstrap import LIMIT, NULLS, bootstrap_weights, settle_ties
from condgof.sample import Seed, Use
from condgof.stein._evidence import (
    CellEvidence,
    CensoredEvidence,
    NormalEvidence,
    SteinEvidence,
)
from condgof.stein._features import Features, Maker, nystrom
from condgof.stein._matrix import SteinOperator
from condgof.stein._sum import PIECE, Piece, Plan

#: Relative residual that features reach, and the largest numbers of landmarks in x and in
#: y, unless asked otherwise: up to so many rows, and above; the residual where several
#: models are compared.
MANY, FEWER, MORE = 50_000, (2e-4, 400, 120), (1e-3, 250, 80)
PRECISION_TOGETHER = 1e-4
#: Wider plans are turned to the directions that hold all but a share of the size of FᵀF and
#: ξᵀξ.
WIDEST, TAIL = 8192, 1e-3
#: A discrete y of few rows is summed exactly: a residual that is rounding, as many
#: landmarks as rows.
EXACT, EXACT_ROWS = 1e-12, 2500
#: Draws as near as this to a sum, as a share of its terms, are the sum itself.
SAME = 1e-6
#: Rows whose pairs tell what residual was reached.
PROBE = 400
#: By itself the library redraws all rows up to this work, in multiplications; that of a row
#: by itself.
REDRAW_WORK, ROW_WORK = 8e9, 1000
#: Single rows get weights up to so many rows; beyond, at most so many blocks of rows.
WEIGHTED_ROWS, BLOCKS = PIECE, 2048
#: Rows that depend on each other are gathered in at most so many parcels, beyond that many
#: rows.
PARCELS = 512
#: Said where rows depend on each other and the null is that of y drawn anew.
MILDER = (
    "of two p-values, by signs that groups or blocks share and by drawing y anew from the"
    " model, the larger one counts: here the latter"
)


def plan_of(
    scored: Scored,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
) -> tuple[Plan, dict[str, Any]]:
    """Factor both kernels, each on its own, and return the plan with what a result says of it."""
    rows, n = scored.subsample, scored.n
    together, many = rows.by == TOGETHER, n > MANY
    single = many and not together
    usual, most_x, most_y = MORE if many else FEWER
    precision = options.precision or (PRECISION_TOGETHER if together else usual)
    small = (
        isinstance(kernel_y, CellKernel) and n <= EXACT_ROWS and options.precision is None
    )
    # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on
    # cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        if isinstance(kernel_x, FiniteLocations):
            maker = Maker("x", kernel_x.features, (0,), (len(kernel_x.locations),))
        else:
            rng = seed.stream(Use.LANDMARKS)
            target, cap = (EXACT, n) if small else (precision, most_x)
            maker = nystrom(kernel_x, rows.x, rng, precision=target, cap=cap, single=single)
        if isinstance(kernel_y, CellKernel):
            evidence: Any = CellEvidence((kernel_y,))
        else:
            rng = seed.stream(Use.LANDMARKS, 2)
            # Of few rows more finely, which costs little: the residual is then that of x
            # alone.
            finer: Any = {"precision": precision / (1 if single else 10), "cap": most_y}
            # Of several models, scores of none of them choose the landmarks, which are the
            # same for all.
            scores = np.zeros(rows.y.shape) if together else rows.scores
            evidence = SteinEvidence.on(
                (kernel_y,), rows.y, scores, rng, single=single, **finer
            )
        plan = Plan(Features((maker,)), evidence)
        wide = plan.features.width * evidence.blocks[-1].columns.stop > WIDEST
        if wide and not small and not together:
            plan = _turned(plan, rows)
        each = rows.by_model() if together else [rows]
        reached = max(residual(plan, one, kernel_x, kernel_y) for one in each)
    shape = (plan.features.width, plan.evidence.blocks[-1].columns.stop)
    details: dict[str, Any] = {"precision": reached, "landmarks": shape}
    if not small and reached > max(10 * precision, 5e-3):
        details["notes"] = (
            (
                f"the kernels were seen through {shape[0]} functions of x, to a residual of"
                f" {reached:.1g} (asked: {precision:g}): the level holds, power may be lost"
            ),
        )
    return plan, details


def _turned(plan: Plan, rows: Scored) -> Plan:
    """Turn both sides to their main directions on some rows, which signs of rows do not change."""
    (maker,), evidence = plan.features.makers, plan.evidence
    if maker.whites:
        white = maker.whites[0] @ _main(plan.features.of(rows.x))
        maker = replace(maker, whites=(white,), sizes=(white.shape[1],))
    if isinstance(evidence, SteinEvidence):
        evidence = replace(evidence, turn=_main(evidence.of(rows.y, rows.scores)))
    return Plan(Features((maker,)), evidence, plan.panels)


def _main(values: FloatArray) -> FloatArray:
    squares, axes = np.linalg.eigh(values.T @ values)
    left = np.sqrt(np.cumsum(squares**2) / np.square(squares).sum())
    return np.ascontiguousarray(axes[:, left > TAIL][:, ::-1])


def residual(
    plan: Plan,
    rows: Scored,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
) -> float:
    """Estimate ‖H − (FFᵀ)∘(ξξᵀ)‖_F / ‖H‖_F off the diagonal, on some rows."""
    some = slice(0, min(rows.n, PROBE))
    x, y, scores = rows.x[some], rows.y[some], rows.scores[some]
    features, xi = plan.features.of(x), plan.evidence.of(y, scores)
    h = xi @ xi.T
    near = (features @ features.T) * h
    if isinstance(kernel_y, CellKernel):
        exact = near if isinstance(kernel_x, FiniteLocations) else kernel_x(x, x) * h
    else:
        exact = SteinOperator.of(x, y, scores, kernel_x, kernel_y).block(
            slice(None), slice(None)
        )
    for matrix in (near, exact):
        np.fill_diagonal(matrix, 0.0)
    size = float(np.linalg.norm(exact))
    return float(np.linalg.norm(near - exact)) / size if size else 0.0


@dataclass(frozen=True, eq=False)
class Ran:
    """Statistics with their draws, and how these were made."""

    #: Σ_{i≠j} of each statistic; then, where there is one, the excess of surprises, or
    #: `too_sure`.
    drawn: nulls.Drawn
    null: str
    solver: str
    details: dict[str, Any] = field(default_factory=dict)

    def first(self, n: int) -> tuple[float, FloatArray]:
        """Return the first sum, and draws of it over n − 1; what differs by rounding alone is equal."""
        total, draws, size = (
            float(self.drawn.statistics[0]),
            self.drawn.draws[0],
            self.drawn.sizes[0],
        )
        return total, settle_ties(total, draws, SAME * (abs(total) + float(size))) / (n - 1)


def nulls_of(plan: Plan, scored: Scored, options: Options) -> list[Options]:
    """Return how to test: twice where rows of a discrete y depend on each other.

    Residuals of a model that is nearly certain, and right, are tiny and point one way:
    signs of groups or blocks alone would reject it. Drawing y anew, row by row, does not
    see the dependence. The larger of both p-values keeps its level where either does.
    """
    rows = options.rows
    apart = replace(options, rows=replace(rows, aside=True, notes=(*rows.notes, MILDER)))
    discrete = scored.subsample.cells is not None and not rows.independent
    return [options, apart] if discrete and law_is_known(plan, scored, apart) else [options]


def law_is_known(plan: Plan, scored: Scored, options: Options) -> bool:
    """Tell whether to draw y anew for the null; refuse where that was asked for and cannot be."""
    few = scored.subsample
    known = isinstance(plan.evidence, NormalEvidence) or (
        few.by == CENSORED and scored is few
    )
    known |= few.cells is not None and few.outcomes is not None
    known &= options.rows.independent
    if options.null == "model" and not known:
        refuse_redraw()
    return known and options.null in ("auto", "model")


def refuse_redraw() -> NoReturn:
    raise UnsupportedModelError(
        "null='model' draws y anew from the model, which takes normal scores (adaptive with"
        " a model that has a CDF) or a discrete y with known probabilities, and rows that"
        " do not depend on each other. Use null='auto'."
    )


def draw(plan: Plan, scored: Scored, options: Options, seed: Seed) -> Ran:
    run = _redrawn if law_is_known(plan, scored, options) else _weighted
    return run(plan, scored, options, seed)


def until_of(scored: Scored, seed: Seed) -> FloatArray:
    """Return when rows of times with censoring are censored, or would have been, (n,)."""
    near = kernels.resolve_x(
        kernels.Gaussian("median"), scored.x, scored.sample.x_columns, seed
    )
    return nulls.censoring_times(
        scored.scores, scored.x, near, seed.stream(Use.MODEL_SAMPLE, 6)
    )


def _redrawn(plan: Plan, scored: Scored, options: Options, seed: Seed) -> Ran:
    """Draw y of all rows anew, or of many rows from a limit, or by strata."""
    n, m, engine = scored.n, options.n_boot, options.engine
    evidence: Any = plan.evidence
    # The work of one draw of all rows, in multiplications.
    work = n * (ROW_WORK + sum(cut.of_x.shape[0] * cut.of_y.shape[0] for cut in plan.cuts))
    small = options.solver == "exact" or (n <= SUBSAMPLE and float(work) * m <= REDRAW_WORK)
    if scored.source is None and small and options.solver != "lowrank":
        top = np.empty(0)
        if isinstance(evidence, NormalEvidence):
            top = nulls.excess(nulls.top_surprises(scored.y.reshape(1, -1)), scored.y.size)
            again: nulls.Redraw = nulls.redraw_normal(evidence, n)
        elif isinstance(evidence, CensoredEvidence):
            again = nulls.redraw_censored(evidence, scored.scores, until_of(scored, seed))
        else:
            assert scored.outcomes is not None
            cells = nulls.CellDraws.of(evidence, scored.outcomes)

            def again(rng: np.random.Generator, m: int) -> tuple[AnyArray, FloatArray]:
                return np.stack(
                    [cells.drawn(rng.random(n)) for _ in range(m)], axis=1
                ), np.empty((0, m))

        drawn = nulls.redrawn(plan, scored.rows(), again, top, m, seed, engine)
        return Ran(drawn, NULLS["model"], "exact", {"null": "model"})
    if isinstance(evidence, NormalEvidence):
        drawn = nulls.limit(plan, scored.rows(), n, m, seed, engine)
        return Ran(drawn, LIMIT, "lowrank", {"null": "limit"})

    def cells_of(piece: Piece) -> nulls.CellDraws:
        assert piece.outcomes is not None
        return nulls.CellDraws.of(evidence, piece.outcomes, piece.keep)

    drawn = nulls.recombined(plan, scored.rows(), cells_of, m, seed, engine)
    return Ran(drawn, NULLS["model"], "lowrank", {"null": "model"})


def too_sure(x: FloatArray, y: FloatArray, scores: FloatArray) -> FloatArray:
    """Return −Σ_c (s_c·f_c + ∂_c f_c) for f = tanh(r/σ), (n,): above 0 where a model is too sure.

    r are the residuals of a regression of y on x, and σ is their standard deviation. The
    derivative is that of both as well, so that the mean under the model is exactly 0. A
    true model has it skewed to the right, like z² − 1: signs then reject too often on the
    left, and not where a model is too sure.
    """
    n, wide = len(y), 3 * (x.shape[1] + 1) <= len(y)
    basis = orth(np.column_stack([np.ones(n), x] if wide else [np.ones(n)]))
    left, free = 1.0 - np.square(basis).sum(axis=1, keepdims=True), n - basis.shape[1]
    r = y - basis @ (basis.T @ y)
    unit = np.abs(r).max(axis=0)
    scale = unit * np.sqrt(np.square(r / np.where(unit > 0, unit, 1.0)).sum(axis=0) / free)
    varies = np.where(
        scale > 1e-12 * np.abs(y).max(axis=0), scale, np.inf
    )  # more than rounding
    f = np.tanh(r / varies)
    slope = (1.0 - np.square(f)) * (left - np.square(r / varies) / free) / varies
    return np.asarray(-(scores * f + slope).sum(axis=1))


def _weighted(plan: Plan, scored: Scored, options: Options, seed: Seed) -> Ran:
    """Draw by weights on rows, on blocks of rows, or on parcels of rows that depend on each other."""
    rows, depend, m, engine = scored.rows(), options.rows, options.n_boot, options.engine
    total, name = rows.total, depend.named(options.null)
    if total <= WEIGHTED_ROWS:
        weights = depend.weights(options.null, total, m, seed)
        drawn = nulls.weighted_rows(plan, rows, weights, engine)
        # Of a multinomial bootstrap draws are divided by n, and statistics by n − 1.
        drawn = replace(drawn, draws=weights.factor * (total - 1) * drawn.draws)
        if isinstance(plan.evidence, SteinEvidence) and len(plan.statistics) > 1:
            (piece,) = rows.pieces()  # so few rows are one piece
            kept = np.arange(total) if piece.keep is None else np.flatnonzero(piece.keep)
            each = np.zeros(total)
            each[kept] = too_sure(piece.x[kept], piece.y[kept], piece.scores[kept])
            drawn = drawn.plus(float(each.sum()), each @ weights.block(0, total))
        return Ran(drawn, name, "lowrank")
    if depend.independent:
        units = nulls.signed_blocks(plan, rows, BLOCKS, seed, engine)
    else:
        units = nulls.parcelled(plan, rows, depend.parcels(total, PARCELS), engine)
    count, n = len(units.counts), scored.n
    weights = bootstrap_weights(options.null, count, m, seed)
    forms, own = nulls.weighted_units(plan, units.sums, weights.block(0, count), engine)
    whole, sizes = (
        plan.squares([one[None] for one in units.totals])[0],
        units.own.sum(axis=0),
    )
    draws = forms - own[:, None]
    if depend.independent:
        return Ran(
            nulls.Drawn(whole - sizes, draws, sizes), name, "lowrank", {"blocks": count}
        )
    # Pairs within a parcel are in neither the statistics nor the draws.
    factor = n * (n - 1.0) / (float(n) * n - float(np.square(units.counts).sum()))
    drawn = nulls.Drawn(factor * (whole - own), factor * draws, factor * sizes)
    return Ran(drawn, name, "lowrank", {"parcels": count})
