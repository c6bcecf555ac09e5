"""What the adaptive test looks at: families of functions of x, evidence of y, and their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import single_threaded_blas
from condgof.kernels import (
    CellKernel,
    CovariateKernel,
    Gaussian,
    OnColumns,
    Radial,
    cell_scales,
    median_distance,
)
from condgof.methods._optimize import row_locations
from condgof.methods._rows import Scored
from condgof.null import Family
from condgof.sample import Seed, Use, XUnits
from condgof.stein import (
    CENSORED,
    CellEvidence,
    CensoredEvidence,
    Evidence,
    Features,
    Levels,
    Marginals,
    NormalEvidence,
    Ones,
    Pairs,
    Panel,
    Plan,
    Ranked,
    Scales,
    SteinEvidence,
)

#: How much each family counts; chosen on other problems than those that are reported
#: (docs/decisions.md).
SHARES = {
    "x": 0.10,
    "columns": 0.21,
    "level": 0.21,
    "constant": 0.18,
    "locations": 0.12,
    "pairs": 0.07,
    "surprises": 0.11,
}
#: Bandwidths on x, in medians, and on y, in standardised units; how many single locations.
SCALES_X, SCALES_Y, LOCATIONS = (1.0, 0.5, 0.25), (4.0, 2.0, 1.0, 0.5), 40
#: The bandwidth on x at single locations, in medians, and the least effective number of rows near one.
LOCAL_X, LEAST_NEAR = 0.5, 3.0
#: Landmarks in x, and the share of the trace at which to stop; landmarks in y for each bandwidth.
RANK_X, PRECISION_X, RANK_Y, PRECISION_Y = 40, 1e-3, 24, 1e-3
#: Landmarks in x at most, where a precision is asked for.
RANK_MOST = 400
#: At most so many levels of a column and pairs of columns have functions of their own.
MOST_LEVELS, MOST_PAIRS = 40, 500
#: A level needs so many rows.
LEAST_LEVEL = 5


@dataclass(frozen=True, eq=False)
class Design:
    """What is compared."""

    #: Features of x, evidence of y, and which of them meet.
    plan: Plan
    #: Which statistics are combined first, and how much they count; with `surprises` as the last
    #: statistic.
    families: tuple[Family, ...]
    #: k with the median bandwidth.
    kernel_x: CovariateKernel
    #: Single locations, in the kernel's units, (L, ·).
    locations: FloatArray
    #: Share of the trace of k, at the narrowest bandwidth, that its landmarks leave.
    residual: float


def make_design(
    rows: Scored,
    seed: Seed,
    scales_x: tuple[float, ...] = SCALES_X,
    scales_y: tuple[float, ...] = SCALES_Y,
    count: int = LOCATIONS,
    precision: float | None = None,
) -> Design:
    """Choose everything by x alone, and where only scores are known landmarks in y by y."""
    known = rows.by == "cdf" or rows.cells is not None
    own_unit = rows.by != "none" and rows.cells is None
    kernel_x, kernel_y = rows.kernels(Gaussian("median"), Gaussian(1.0 if own_unit else "median"), seed)
    unit = kernel_y.sigma if isinstance(kernel_y, Radial) else 1.0
    # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        evidence = make_evidence(rows, scales_y, unit, seed)
        # Signs see the spread that is there, which near one location may be next to nothing by chance.
        places = _places(rows, kernel_x, count if known else 0, seed)
        whole = Scales.on(
            "x",
            kernel_x,
            scales_x,
            rows.x,
            seed.stream(Use.LANDMARKS),
            precision=precision or PRECISION_X,
            cap=RANK_X if precision is None else RANK_MOST,
        )
        features = Features((whole, *_others(rows, kernel_x, places)))
    plan = Plan(features, evidence, _panels(features, evidence), surprises=True)
    return Design(plan, _families(plan), kernel_x, places, whole.residual)


def make_evidence(rows: Scored, scales_y: Sequence[float], unit: float, seed: Seed) -> Evidence:
    """Return the evidence that the coordinates of y allow."""
    if rows.cells is not None:
        return CellEvidence(cell_kernels(rows, scales_y, unit))
    if rows.by == CENSORED:
        return CensoredEvidence.at(scales_y)
    if rows.by == "cdf":
        return NormalEvidence.at(scales_y, rows.sample.d_y)
    bandwidths = [unit * scale for scale in scales_y]
    if rows.by != "none":
        # Where y is far from what the model says, a bandwidth in its units sees every row by itself.
        own = median_distance(rows.y, seed.stream(Use.BANDWIDTH_Y, 1), "y")
        bandwidths += [own] if own > 2.0 * max(bandwidths) else []
    kernels = [Gaussian(bandwidth) for bandwidth in bandwidths]
    rng = seed.stream(Use.LANDMARKS, 2)
    cap = RANK_Y * min(rows.sample.d_y, 3)
    found, _ = SteinEvidence.on(kernels, rows.y, rows.scores, rng, precision=PRECISION_Y, cap=cap)
    return found


def cell_kernels(rows: Scored, scales: Sequence[float], unit: float = 1.0) -> tuple[CellKernel, ...]:
    """Return the kernels on a discrete y; one that says nothing of any row is left out."""
    assert rows.cells is not None
    some = np.asarray(rows.scores[: min(rows.n, 4096)])
    kernels = cell_scales(rows.cells, tuple(unit * scale for scale in scales))
    telling = tuple(kernel for kernel in kernels if kernel.features(some).any())
    return telling or kernels[:1]


def _places(rows: Scored, kernel_x: CovariateKernel, count: int, seed: Seed) -> FloatArray:
    """Choose rows of x as single locations, by x alone: such that have other rows near."""
    if not count:
        return rows.x[:0]
    points = row_locations(rows.x, min(count, rows.n), seed.stream(Use.LOCATIONS))
    near = narrowed(kernel_x, LOCAL_X)(rows.x, points)
    effective = np.square(near.sum(axis=0)) / np.square(near).sum(axis=0)
    return np.asarray(points[effective >= min(LEAST_NEAR, rows.n / 2)])


def _others(rows: Scored, kernel_x: CovariateKernel, places: FloatArray) -> list[Any]:
    """Return the features of x beside its kernel, in the order that panels need."""
    x = rows.x
    makers: list[Any] = [Ones()]
    numeric = _numeric(rows)
    ranked = _ranks(rows)
    normal = x if ranked is None else ranked.apply(x)
    if numeric:
        marginals = Marginals.on(numeric, normal)
        makers.append(marginals if ranked is None else Ranked(marginals, ranked))
    levels = _levels(rows)
    if levels is not None:
        makers.append(levels)
    if len(places):
        makers.append(Scales("locations", kernel_x, (LOCAL_X,), places))
    own = [i for i in numeric if i < rows.sample.d_x]
    if len(own) > 1:
        pairs = Pairs.on(own, normal, MOST_PAIRS)
        makers.append(pairs if ranked is None else Ranked(pairs, ranked))
    return makers


def _numeric(rows: Scored) -> list[int]:
    """Return the columns of x and of the predictions that are numbers of more than two values."""
    own = rows.sample.x_columns
    found = [i for i, column in enumerate(own) if not column.categorical and not column.constant]
    found += range(len(own), rows.x.shape[1])
    return [i for i in found if len(np.unique(rows.x[:, i])) > 2]


def _ranks(rows: Scored) -> XUnits | None:
    """Return a map of columns of x to normal scores, where x is in other units."""
    d_x = rows.sample.d_x
    if any(knot is not None for knot in rows.units.knots[:d_x]):
        return None
    own = XUnits.of(rows.x[:, :d_x], rows.sample.x_columns, "ranks")
    extra = rows.x.shape[1] - d_x
    return XUnits(np.append(own.scales, np.ones(extra)), (*own.knots, *([None] * extra)))


def _levels(rows: Scored) -> Levels | None:
    """Return indicators of the levels of categories, and of columns of two values."""
    columns: list[int] = []
    values: list[float] = []
    shares: list[float] = []
    for i in range(rows.x.shape[1]):
        own = i < rows.sample.d_x
        if own and rows.sample.x_columns[i].constant:
            continue
        distinct, counts = np.unique(rows.x[:, i], return_counts=True)
        if len(distinct) == 2:
            distinct, counts = distinct[1:], counts[1:]  # one tells the other
        elif not (own and rows.sample.x_columns[i].categorical):
            continue
        largest = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
        for k in largest[counts[largest] >= min(LEAST_LEVEL, rows.n / 4)]:
            columns.append(i)
            values.append(float(distinct[k]))
            shares.append(float(counts[k]) / rows.n)
    if not columns:
        return None
    return Levels(np.array(columns), np.array(values), np.array(shares))


def _panels(features: Features, evidence: Evidence) -> tuple[Panel, ...]:
    """Say which blocks meet: kernel and constant all evidence, single columns few simple functions."""
    kinds = [block.kind for block in evidence.blocks]
    whole = slice(0, len(kinds))
    if "simple" in kinds:
        first, last = kinds.index("simple"), len(kinds) - kinds[::-1].index("simple")
    else:  # single columns see the two widest bandwidths, or all kernels of a discrete y
        first, last = 0, 2 if kinds[0] == "stein" else len(kinds)
    simple, three, two = (slice(first, min(first + k, last)) for k in (last, 3, 2))
    if kinds[0] == "cells":
        three = two = whole
    wanted = (
        (("x", "constant"), whole),
        (("columns",), three),
        (("locations",), simple),
        (("pairs",), two),
    )
    found = ((features.family(*families), columns) for families, columns in wanted)
    return tuple(Panel(some, columns) for some, columns in found if some.stop > some.start)


def _families(plan: Plan) -> tuple[Family, ...]:
    """Return the families that statistics are combined in; the last one is that of the surprises."""
    families = [Family(name, share, plan.which(name)) for name, share in SHARES.items()]
    level = ("z", "surprise", "correlation")
    simple = [k for k in plan.which("constant") if plan.statistics[k][1].name in level]
    last: IntArray = np.array([len(plan.statistics)])
    own = {"level": np.array(simple, dtype=np.int64), "surprises": last}
    return tuple(replace(family, which=own.get(family.name, family.which)) for family in families)


def narrowed(kernel: CovariateKernel, factor: float) -> CovariateKernel:
    """Return a kernel on x with the bandwidths of its Gaussian factors multiplied."""

    def change(part: OnColumns) -> OnColumns:
        if not isinstance(part.kernel, Gaussian):
            return part
        return replace(part, kernel=part.kernel.with_bandwidth(factor * part.kernel.sigma))

    return replace(kernel, factors=tuple(map(change, kernel.factors)))
