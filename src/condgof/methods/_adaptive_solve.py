"""The adaptive test's statistics and draws: exact, or from low-rank factors that are linear in n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import single_threaded_blas
from condgof.methods._adaptive_design import Design, narrowed
from condgof.methods._prepare import Scored
from condgof.methods._redraw import law_is_known, redraw_scales, scale_features
from condgof.methods._solve import Options
from condgof.methods._stream import SUBSAMPLE, Stream
from condgof.null import NULLS, bootstrap_weights, sign_weights
from condgof.sample import Seed, Use
from condgof.stein import (
    ArrayRows,
    CentredScales,
    LocalKernel,
    ParcelSums,
    ScaleLandmarks,
    ScaleSums,
    Weights,
    choose_scale_landmarks,
    local_forms,
    local_parcels,
    local_totals,
    parcel_forms,
    scale_forms,
    scale_parcels,
    scale_sweep,
    scale_totals,
)

#: The low-rank solver makes its draws from at most this many rows.
NULL_ROWS = 16_384
#: Where rows depend on each other, from at most this many sums over parcels of rows.
PARCELS = 512
#: Its largest rank, up to 50,000 rows and above.
RANK, RANK_ABOVE = 500, 250


@dataclass(frozen=True, eq=False)
class Part:
    """Statistics n·D̂ (K,) of one kind, with their draws (K, m) and the size of their terms (K,)."""

    statistics: FloatArray
    draws: FloatArray
    sizes: FloatArray


@dataclass(frozen=True, eq=False)
class Parts:
    """What the adaptive test combines.

    Parameters
    ----------
    scales : Part
        One statistic for each scale.
    local : Part or None
        One for each bandwidth on y and each location.
    locations : ndarray of shape (L, d_x)
        The locations, in the kernel's units.
    solver, null : str
        What ran.
    independent : bool
        Whether the draws are those of rows that do not depend on each other.
    details : dict
        For the result.
    """

    scales: Part
    local: Part | None
    locations: FloatArray
    solver: str
    null: str
    independent: bool
    details: dict[str, Any]


def solve_adaptive(scored: Scored | Stream, design: Design, options: Options, seed: Seed) -> Parts:
    """Compute the statistics of all scales and locations, and draw from their null distribution."""
    # One BLAS thread: the last bits decide which pivots are drawn, and must not depend on cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        local = design.local_kernel(scored.subsample, seed) if design.n_locations else None
    if law_is_known(scored, options.null, options.chosen(scored.n), options.rows) and isinstance(
        scored, Scored
    ):
        parts = _redrawn(scored, design, local, options, seed)
        if parts is not None:
            return parts
    if scored.subsample.cells is not None:
        # Signs see the spread of the residuals near a location, which is next to nothing where a model
        # that is nearly certain happened to be right in all of them: the test would reject.
        local = None
    if isinstance(scored, Scored) and options.chosen(scored.n) == "exact":
        return _exact(scored, design, local, options, seed)
    return _lowrank(scored, design, local, options, seed)


def _exact(
    scored: Scored, design: Design, local: LocalKernel | None, options: Options, seed: Seed
) -> Parts:
    n, engine = scored.n, options.engine
    weights = options.rows.weights(options.null, n, options.n_boot, seed, options.memory // 8)
    kernel = design.scale_kernel(scored)
    rows = kernel.rows(scored.x, scored.y, scored.scores)
    scales = scale_sweep(kernel, rows, weights, engine=engine, memory=options.memory)
    at = None
    if local is not None:
        at = local_forms(local, scored.x, scored.y, scored.scores, weights, engine)
    return Parts(
        _part(scales.totals, scales, n, weights.factor),
        None if at is None else _part(at.totals, at, n, weights.factor),
        np.empty((0, scored.x.shape[1])) if local is None else local.locations,
        "exact",
        options.rows.named(options.null),
        options.rows.independent,
        {},
    )


def _redrawn(
    scored: Scored, design: Design, local: LocalKernel | None, options: Options, seed: Seed
) -> Parts | None:
    """Draw a discrete y anew from the model; None where that is too much work."""
    kernel = design.scale_kernel(scored)
    assert isinstance(kernel, CentredScales)
    narrow = tuple(narrowed(design.kernel_x, scale) for scale in kernel.x_scales)
    single = None if local is None else local.kernel_x(scored.x, local.locations)
    found = redraw_scales(
        scored,
        kernel.kernels,
        scale_features(narrow, scored.x, seed),
        single,
        options.null,
        options.n_boot,
        seed,
        options.engine,
    )
    if found is None:
        return None
    n, factor = scored.n, 1.0 / (scored.n - 1)
    scales, at = found
    return Parts(
        _part(scales.totals, scales, n, factor),
        None if local is None else _part(at.totals, at, n, factor),
        np.empty((0, scored.x.shape[1])) if local is None else local.locations,
        "exact",
        NULLS["model"],
        True,
        {"null": "model"},
    )


def _lowrank(
    scored: Scored | Stream, design: Design, local: LocalKernel | None, options: Options, seed: Seed
) -> Parts:
    n, engine = scored.n, options.engine
    landmarks, numbers = _landmarks(scored, design, options, seed)
    if not options.rows.independent and n > NULL_ROWS:  # rows at random would not be neighbours
        return _by_parcels(scored, landmarks, local, options, seed)
    null = null_rows(scored, numbers, options, seed)
    some, weights = null.rows, null.weights
    draws, held = scale_forms(landmarks, some, weights, engine.local, ordinary=null.ordinary)
    whole = null.ordinary == n
    totals = draws.totals if whole else scale_totals(landmarks, scored.rows(), engine, held)
    factor = 1.0 / n if options.null == "multinomial" else 1.0 / (n - 1)
    at: Part | None = None
    if local is not None:
        found = local_forms(local, some.x, some.y, some.scores, weights, engine)
        sums = found.totals if whole else local_totals(local, scored.rows(), engine)
        at = _part(sums, found, n, factor)
    details = _factor_details(landmarks) | ({} if whole else {"null_rows": null.ordinary})
    return Parts(
        _part(totals, draws, n, factor),
        at,
        np.empty((0, scored.subsample.x.shape[1])) if local is None else local.locations,
        "lowrank",
        options.rows.named(options.null),
        options.rows.independent,
        details,
    )


def _by_parcels(
    scored: Scored | Stream,
    landmarks: ScaleLandmarks,
    local: LocalKernel | None,
    options: Options,
    seed: Seed,
) -> Parts:
    """Draw from sums over parcels of rows, all of which count: one sign for each.

    Pairs within a parcel are in neither the statistics nor the draws, and the sums are divided by the
    number of other pairs.
    """
    n, rows = scored.n, scored.rows()
    parcels = options.rows.parcels(n, PARCELS)
    weights = sign_weights(parcels.count, options.n_boot, seed)
    sums = scale_parcels(landmarks, rows, parcels, options.engine)
    factor = n / (float(n) * n - float(np.square(sums.counts).sum()))

    def part(found: ParcelSums) -> Part:
        forms = parcel_forms(found, weights)
        return Part(factor * forms.totals, factor * forms.forms, factor * forms.own)

    at = None if local is None else part(local_parcels(local, rows, parcels, options.engine))
    return Parts(
        part(sums),
        at,
        np.empty((0, scored.subsample.x.shape[1])) if local is None else local.locations,
        "lowrank",
        options.rows.named(options.null),
        options.rows.independent,
        _factor_details(landmarks) | {"parcels": parcels.count},
    )


def _factor_details(landmarks: ScaleLandmarks) -> dict[str, Any]:
    """Return what a result says of the low-rank factors."""
    details: dict[str, Any] = {"rank": max(landmarks.ranks), "residual": landmarks.residual}
    if landmarks.capped:
        details["notes"] = (
            f"rank stopped at {max(landmarks.ranks)} with a relative residual of "
            f"{landmarks.residual:.1g} over all scales: the level holds, some power may be lost at the "
            "narrowest (raise rank=)",
        )
    return details


def _part(totals: FloatArray, sums: ScaleSums, n: int, factor: float) -> Part:
    return Part(totals / (n - 1), factor * sums.forms, factor * sums.own)


def _landmarks(
    scored: Scored | Stream, design: Design, options: Options, seed: Seed
) -> tuple[ScaleLandmarks, IntArray]:
    """Choose landmarks, and return them with their global row numbers."""
    rng, rows = seed.stream(Use.LANDMARKS), scored.subsample
    some = np.arange(rows.n)
    if rows.n > SUBSAMPLE:
        some = np.sort(rng.choice(rows.n, SUBSAMPLE, replace=False))
    cap = options.rank or (RANK if scored.n <= 50_000 else RANK_ABOVE)
    kernel = design.scale_kernel(rows)
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore", under="ignore"):
        sample = kernel.rows(rows.x[some], rows.y[some], rows.scores[some])
        found = choose_scale_landmarks(kernel, sample, rng, tolerance=options.target(scored.n), cap=cap)
    numbers = some[found.index]
    return found, numbers if isinstance(scored, Scored) else scored.sampled[numbers]


@dataclass(frozen=True, eq=False)
class NullRows:
    """Rows that draws are made of, with their weights.

    Parameters
    ----------
    rows : ArrayRows
        The rows: first those that stand for all that are no landmarks, then the landmarks.
    weights : Weights
        Their bootstrap weights; a row that stands for k rows has them times √k.
    ordinary : int
        How many come first; all rows, where there are not too many.
    """

    rows: ArrayRows
    weights: Weights
    ordinary: int


@dataclass(frozen=True, eq=False)
class ScaledWeights:
    """Bootstrap weights, those of a row times a number."""

    weights: Weights
    scale: FloatArray

    @property
    def m(self) -> int:
        """Number of draws."""
        return self.weights.m

    def block(self, start: int, stop: int) -> FloatArray:
        """Return the weights of rows start to stop."""
        return self.weights.block(start, stop) * self.scale[start:stop, None]


def null_rows(scored: Scored | Stream, landmarks: IntArray, options: Options, seed: Seed) -> NullRows:
    """Return the rows that draws are made from: all of them, or as many as suffice, at random.

    Only the covariance of the features enters into the null distribution, and some thousand rows tell
    that of any number. The landmarks are there as themselves: their features are larger than others'.
    """
    n, draws = scored.n, options.n_boot
    if n <= NULL_ROWS:
        all_rows = scored.rows() if isinstance(scored, Scored) else None
        rows = all_rows or _read(scored, np.arange(n), options)
        return NullRows(rows, options.rows.weights(options.null, n, draws, seed), n)
    rng, taken = seed.stream(Use.LANDMARKS, 3), np.sort(landmarks)
    size = min(NULL_ROWS, n - len(taken))
    drawn = np.sort(rng.choice(n - len(taken), size, replace=False))
    # The k-th row that is no landmark has as many before it as landmarks are passed on the way.
    drawn += np.searchsorted(taken - np.arange(len(taken)), drawn, side="right")
    first, last = _read(scored, drawn, options), _read(scored, taken, options)
    rows = ArrayRows(
        np.concatenate([first.x, last.x]),
        np.concatenate([first.y, last.y]),
        np.concatenate([first.scores, last.scores]),
    )
    scale = np.ones(rows.total)
    scale[:size] = np.sqrt((n - len(taken)) / size)
    weights = bootstrap_weights(options.null, rows.total, draws, seed)
    return NullRows(rows, ScaledWeights(weights, scale), size)


def _read(scored: Scored | Stream, rows: IntArray, options: Options) -> ArrayRows:
    if isinstance(scored, Stream):
        return scored.at(rows, options.engine).rows()
    return ArrayRows(scored.x[rows], scored.y[rows], scored.scores[rows])
