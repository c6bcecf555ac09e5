"""Counts: mean, spread, zeros, and the upper tail."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._findings import (
    OUTLIER_PROBABILITY,
    Residual,
    mean_and_spread,
    median_and_middle_half,
    outliers,
)
from condgof.check._quantities import LARGEST, SD, Signal
from condgof.check._record import Finding
from condgof.check._size import (
    SHIFT,
    Bench,
    Size,
    features_of_x,
    mean_residuals,
    off_diagonal_mean,
    pair_sums,
    size_of,
    squares_of,
)
from condgof.check.effects import CountTilt, Tilt
from condgof.check.kinds._bands import bands_of
from condgof.check.kinds._far_counts import resolved_scores
from condgof.check.kinds._rows import CheckedRows, RowTable, rows_class
from condgof.check.kinds._signals import CellSignals, Draw, OfResampled, Signals
from condgof.kernels import cell_scales
from condgof.laws import (
    Law,
    Moments,
    RatioOutcomes,
    evaluate_cdf_grid,
    moments_of,
    normalised,
)
from condgof.residuals import CountCellResiduals, StepCdf
from condgof.sample import Seed
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader

#: Rows whose probabilities are in memory at a time.
PIECE_ROWS = 4096
#: The least standard deviation that residuals (y − mean)/sd are divided by.
LEAST_SCALE = 1e-6
#: Two ways to compute a probability differ by less than this.
ROUNDING = 1e-12
#: The quantile of the observed counts up to which counts have a bar of their own.
LARGEST_COUNT_LEVEL = 0.99
#: No count above this one has a bar of its own; larger ones are together.
MOST_COUNTS = 60
#: All counts up to this one have a bar of their own.
FEWEST_COUNTS = 5
#: The fewest rows that should not have their most probable count for the spread to be
#: reported: where the model is nearly certain of all counts, it rests on a few rows.
LEAST_UNLIKELY = 10
#: A count is large if it, or a larger one, has less than this probability.
LARGE_PROBABILITY = 0.01
#: Sizes s of a misfit, in standard deviations, at which D(s) is computed; between them it
#: is interpolated.
SIZES = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
#: About how many rows D(s) is computed from.
TILTED_ROWS = 64
#: Halvings in the search for the tilt of a law of counts.
TILT_STEPS = 14
#: The largest tilt θ that the search can reach.
LARGEST_TILT = 8.0
#: The least variance by which the variance of tilted counts is divided.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class CountRows(CheckedRows):
    """Rows with counts."""

    label = "counts"
    is_discrete = True
    #: Normal scores of the randomised PIT, N(0, 1) under the law, (n, 1).
    z: FloatArray
    #: (y − mean)/sd, (n,), of outliers as large as the largest of other rows; None where
    #: the law has no finite moments.
    residual: FloatArray | None
    steps: StepCdf  #: The CDF of each row.
    #: The probability of 0, (n,); None where the law has no CDF.
    zeros: FloatArray | None
    #: The probability of y or a larger count, (n,); None where the law has no CDF.
    upper: FloatArray | None
    #: The mean over all rows of the probabilities of 0, 1, …, c − 1, and of all larger
    #: counts together, (c + 1,); None where the law has no CDF, or is known by ratios.
    count_probabilities: FloatArray | None
    #: The model's quantiles of y, (n, levels), NaN in rows that were not asked; or None.
    bands: FloatArray | None = None

    @classmethod
    def from_law(
        cls, table: RowTable, law: Law, residuals: CountCellResiduals
    ) -> CountRows:
        steps = residuals.count_steps(law, table.y[:, 0])
        outcomes = residuals.known_outcomes
        if isinstance(outcomes, RatioOutcomes):
            predictions = _predictions_of_ratios(outcomes)
        else:
            predictions = _predictions_of_law(law, table.y, steps)
        z = resolved_scores(law, table.y[:, 0], steps, table.rows)
        moments = predictions.moments
        residual = None
        comparison = {"z": z}
        if moments is not None:
            residual = _residuals(table.y[:, 0], moments, steps)
            comparison = {"residual": residual, "z": z}
        return cls(
            table=table,
            comparison=comparison,
            moments=moments,
            z=z[:, None],
            residual=residual,
            steps=steps,
            zeros=predictions.zeros,
            upper=predictions.upper,
            count_probabilities=predictions.count_probabilities,
        )

    @property
    def has_zeros(self) -> bool:
        """Whether a count was 0, or one should have been."""
        if self.zeros is None:
            return False
        return bool((self.y == 0).any() or self.zeros.sum() >= 1)

    def with_bands(self, law: Law, seed: Seed) -> Self:
        return replace(self, bands=bands_of(law, self.n, seed))

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        if self.residual is not None:
            # Rare counts that dominate the variance may not have been observed, so the sd
            # of residuals is taken as at least 1, that of the model.
            residual = Residual(rows, self.residual[rows], self.y_name)
            mean, *_ = mean_and_spread(reader, residual, least_sd=1.0)
            yield mean
        scores = Residual(rows, self.z[rows, 0], self.y_name)
        if (1.0 - self.steps.largest[rows]).sum() >= LEAST_UNLIKELY:
            # The middle half, which one row does not turn.
            _, *spread = median_and_middle_half(reader, scores)
            yield from spread
        if self.zeros is not None and self.has_zeros:
            is_zero = self.y[rows, 0] == 0
            about = Signal("zeros", self.y_name)
            yield reader.share_finding(rows, is_zero, self.zeros[rows], about)
        # Where the law has no variance, a subgroup has no mean, but this.
        if self.upper is not None and (overall or self.residual is None):
            yield self._large_counts(reader, rows, self.upper[rows])
        if overall:
            yield from outliers(reader, scores)

    def _large_counts(self, reader: Reader, rows: IntArray, upper: FloatArray) -> Finding:
        share = reader.share(rows, upper < LARGE_PROBABILITY)
        return Finding(
            kind="tails",
            column=self.y_name,
            estimate=share.value,
            interval=share.interval,
            # As counts come in steps, the expected share is not known, but at most 0.01:
            # a smaller share is no misfit.
            expected=min(share.value, LARGE_PROBABILITY),
            label=LARGEST,
            quantity="largest counts",
        )

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        """Return shift and spread, averaged over the step of the CDF at y, and zeros.

        K is 3, or 2 where no count is or should be 0.
        """
        kinds = ("shift", "spread", "zeros") if self.has_zeros else ("shift", "spread")
        about = tuple(Signal(kind, self.y_name) for kind in kinds)
        p_zero = self._p_first_is_zero

        def ends_of(some: IntArray) -> FloatArray:
            """Return the ends of the cells of r rows, (r, C + 1)."""
            return self.steps.take(some).fine_ends

        def of_cells(some: IntArray, ends: FloatArray) -> list[FloatArray]:
            """Return the signals of all cells of r rows, K arrays (r, C)."""
            is_first = np.arange(ends.shape[1] - 1) == 0
            is_zero = is_first & (p_zero[some] > 0)[:, None]
            each = _signals_of_steps(
                ends[:, :-1], ends[:, 1:], is_zero, p_zero[some][:, None]
            )
            return each[: len(about)]

        def probabilities(some: IntArray) -> FloatArray:
            return np.diff(ends_of(some), axis=1)

        def at(some: IntArray, codes: IntArray) -> AnyArray:
            """Return the signals of r rows in cells (r, m), (r, m, K)."""
            ends = ends_of(some)
            zero_chance = p_zero[some][:, None]
            each = _signals_of_steps(
                np.take_along_axis(ends, codes, axis=1),
                np.take_along_axis(ends, codes + 1, axis=1),
                (codes == 0) & (zero_chance > 0),
                zero_chance,
            )
            return np.stack(each[: len(about)], axis=-1, dtype=np.float32)

        def at_uniforms(some: IntArray) -> OfResampled:
            """Return what draws r rows by uniform numbers (r, m).

            Their signals in all cells are computed once.
            """
            ends = ends_of(some)
            table = np.stack(of_cells(some, ends), axis=-1, dtype=np.float32)
            flat = table.reshape(-1, len(about))
            first_of_row = table.shape[1] * np.arange(len(some))[:, None]
            inner = ends[:, 1:-1]

            def evaluate(uniforms: AnyArray) -> AnyArray:
                cells = np.zeros(uniforms.shape, dtype=np.int32)
                for end in inner.T:
                    cells += uniforms >= end[:, None]
                return np.asarray(flat.take(first_of_row + cells, axis=0))

            return evaluate

        def redraw(some: IntArray) -> Draw:
            evaluate = at_uniforms(some)
            return lambda rng, m: evaluate(rng.random((len(some), m)))

        is_zero = (self.y[:, 0] == 0) & (p_zero > 0)
        values = _signals_of_steps(self.steps.lower, self.steps.upper, is_zero, p_zero)
        variance = np.empty((self.n, len(about)))
        bound = np.zeros(len(about))
        for some in _pieces(self.n):
            ends = ends_of(some)
            p = np.diff(ends, axis=1)
            for k, each in enumerate(of_cells(some, ends)):
                variance[some, k] = np.einsum("ij,ij,ij->i", p, each, each)
                bound[k] = max(bound[k], float(np.abs(each).max()))

        cells = CellSignals(probabilities, at)
        return Signals(
            about=about,
            values=np.column_stack(values[: len(about)]),
            variance=variance,
            redraw=redraw,
            bound=bound,
            cells=cells,
            of_resampled=lambda: at_uniforms(np.arange(self.n)),
        )

    def tilt(self, law: Law, rows: RowsInMemory, seed: Seed) -> Tilt:
        p_zero = self._p_first_is_zero
        return CountTilt.from_steps(
            z=self.z[:, 0],
            is_zero=(self.y[:, 0] == 0) & (p_zero > 0),
            p_zero=p_zero,
            lower=self.steps.lower,
            upper=self.steps.upper,
            column=self.y_name,
        )

    @property
    def _p_first_is_zero(self) -> FloatArray:
        """The probability of 0 where that is the smallest count, else 0, (n,)."""
        if self.zeros is None:
            return np.zeros(self.n)
        is_first = np.abs(self.steps.ends[:, 1] - self.zeros) <= ROUNDING
        return np.where(is_first, self.zeros, 0.0)


def _signals_of_steps(
    lower: FloatArray, upper: FloatArray, is_zero: AnyArray, p_zero: FloatArray
) -> list[FloatArray]:
    """Return shift and spread averaged between probabilities, and zeros.

    They are the means of √3(2u − 1) and √5(6u² − 6u + 1) over u from `lower` to `upper`,
    and 1{y = 0} − P(0).
    """
    total = lower + upper
    squares = lower * lower + lower * upper + upper * upper
    shift = math.sqrt(3.0) * (total - 1.0)
    spread = math.sqrt(5.0) * (2.0 * squares - 3.0 * total + 1.0)
    return [shift, spread, is_zero - p_zero]


def _residuals(y: FloatArray, moments: Moments, steps: StepCdf) -> FloatArray:
    """Return (y − mean)/sd of counts (n,), of outliers as large as the largest others.

    Outliers are rows so far out that among n rows one has a probability below 0.001.
    """
    scale = np.maximum(moments.scale[:, 0], LEAST_SCALE)
    residual = (y - moments.location[:, 0]) / scale
    tail = 2.0 * np.minimum(steps.upper, 1.0 - steps.lower)
    is_usual = tail * len(y) >= OUTLIER_PROBABILITY
    if is_usual.all() or not is_usual.any():
        return residual
    largest = float(np.abs(residual[is_usual]).max())
    return np.where(is_usual, residual, np.clip(residual, -largest, largest))


def _pieces(n: int) -> list[IntArray]:
    """Return the numbers of n rows, cut into pieces."""
    return np.split(np.arange(n), np.arange(PIECE_ROWS, n, PIECE_ROWS))


class _CountPredictions(NamedTuple):
    """What a law of counts predicts; see `CountRows` for each field."""

    moments: Moments | None
    zeros: FloatArray | None
    upper: FloatArray | None
    count_probabilities: FloatArray | None


def _predictions_of_ratios(outcomes: RatioOutcomes) -> _CountPredictions:
    """Return the predictions of ratios, by the probabilities that they are normalised to.

    Cell k of row i is the count start_i + k.
    """
    p = outcomes.probabilities
    start = outcomes.start
    at = np.arange(float(p.shape[1]))
    mean = (p @ at)[:, None]
    variance = (p * np.square(at - mean)).sum(axis=1, keepdims=True)
    upper = np.cumsum(p[:, ::-1], axis=1)[:, ::-1]
    return _CountPredictions(
        moments=Moments(location=start[:, None] + mean, scale=np.sqrt(variance)),
        zeros=np.where(start == 0, p[:, 0], 0.0),
        upper=upper[np.arange(len(p)), outcomes.observed],
        count_probabilities=None,
    )


def _predictions_of_law(law: Law, y: FloatArray, steps: StepCdf) -> _CountPredictions:
    """Return the probabilities of small counts, and of y (n, 1) or a larger count."""
    moments = moments_of(law, "mean_std")
    if not law.can("cdf"):
        return _CountPredictions(
            moments=moments, zeros=None, upper=None, count_probabilities=None
        )
    n = len(y)
    # Two counts above nearly all that were observed show where the data end.
    high = np.quantile(y, LARGEST_COUNT_LEVEL) + 2
    most = int(min(max(high, FEWEST_COUNTS), MOST_COUNTS))
    total = np.zeros(most + 1)
    zeros = []
    for piece in _pieces(n):
        cdf = evaluate_cdf_grid(law.take(piece), np.arange(-1.0, most + 1))
        total += cdf[:, 1:].sum(axis=0)
        zeros.append(cdf[:, 1] - cdf[:, 0])
    return _CountPredictions(
        moments=moments,
        zeros=np.concatenate(zeros),
        upper=1.0 - steps.lower,
        count_probabilities=np.diff(total / n, prepend=0.0, append=1.0),
    )


@rows_class.register
def _(residuals: CountCellResiduals) -> type[CheckedRows]:
    return CountRows


@size_of.register
def _(residuals: CountCellResiduals, bench: Bench) -> Size:
    """The law is tilted until its mean is off by s standard deviations.

    D(s) is the mean over pairs of rows of k·⟨E_q[ξ], E_q[ξ']⟩ under the tilted laws q. It
    has no formula, so it is computed at `SIZES` from a few rows, and interpolated.
    """
    outcomes = residuals.known_outcomes
    (kernel,) = cell_scales(residuals.cells, (1.0,))
    f = features_of_x(bench.kernel, bench)
    xi = kernel.features(np.asarray(residuals.values))
    root = kernel.features(np.eye(kernel.width))

    def expected(some: IntArray) -> FloatArray:
        p = normalised(outcomes.take(some).probabilities)
        return squares_of(p, root @ root.T)

    is_linear = outcomes.linear
    sums = pair_sums(f, xi, None, bench.dependence, expected if is_linear else None)
    some = np.arange(0, len(f), -(-len(f) // TILTED_ROWS))
    few = outcomes.take(some)
    near = f[some] @ f[some].T
    p = normalised(few.probabilities)
    positions = residuals.cells.blocks[0].positions if is_linear else None
    at = np.arange(float(p.shape[1])) if positions is None else positions
    squares = []
    variances = []
    for size in SIZES:
        q = shifted_law(p, at, size) if size else p
        moved = kernel.features(mean_residuals(few, q - p))
        mean_square = off_diagonal_mean(near * (moved @ moved.T))
        squares.append(mean_square / off_diagonal_mean(near))
        variances.append(float(np.mean(q @ np.square(at) - np.square(q @ at))))
    # √(D(s)/E[k]) at each size.
    roots = np.maximum.accumulate(np.sqrt(np.maximum(squares, 0.0)))
    # The variance of tilted counts over that of the model, at each size.
    wider = np.maximum(np.array(variances) / max(variances[0], LEAST_VARIANCE), 1.0)
    return Size(
        parts=(sums,),
        of=lambda d: float(np.interp(math.sqrt(max(d, 0.0)), roots, SIZES)),
        unit=SD,
        like=SHIFT,
        wider=lambda s: float(np.interp(s, SIZES, wider)),
    )


def shifted_law(p: FloatArray, at: FloatArray, size: float) -> FloatArray:
    """Tilt p (n, K) of counts at (K,) until the mean has moved by `size` sds.

    q ∝ p·exp(θz) with z the standardised counts; a Poisson law becomes another Poisson law.
    θ is found by bisection in each row. Where the largest count is less than `size` sds
    above the mean, q is as near as it can be.
    """
    away = at - (p @ at)[:, None]
    variance = np.maximum((p * np.square(away)).sum(axis=1), 1e-300)
    z = away / np.sqrt(variance)[:, None]
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    theta = np.zeros(len(p))
    step = LARGEST_TILT / 2.0
    for _ in range(TILT_STEPS):
        q = logs + theta[:, None] * z
        q -= q.max(axis=1, keepdims=True)
        np.exp(q, out=q)
        q /= q.sum(axis=1, keepdims=True)
        theta += np.where((q * z).sum(axis=1) < size, step, -step)
        step *= 0.5
    return np.asarray(q)
