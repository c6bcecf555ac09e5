"""Low-rank factors of the Stein matrices of all scales, from one set of landmark rows.

The landmarks are chosen for the sum of the matrices (each in units of its diagonal), which is above
each of them in the order of positive semi-definite matrices, so that they serve them all; comparisons
with them then share distances and exponentials. A wide scale needs fewer of them than a narrow one:
its factor stops when what is left of its diagonal is nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from condgof._typing import FloatArray, IntArray, SingleArray
from condgof.engine import Engine
from condgof.stein._features import settle
from condgof.stein._kernel import Rows as Index
from condgof.stein._landmarks import choose_pivots
from condgof.stein._pass import tiles_of
from condgof.stein._rows import ArrayRows, Piece, Rows
from condgof.stein._scale_sweep import ScaleSums
from condgof.stein._scales import ScaleKernel, ScaleRows
from condgof.stein._sum import Arrays, sum_over
from condgof.stein._sweep import Weights, check_overflow

#: Entries of a tile in the pass over all rows: a dozen such tiles should stay in the cache.
ENTRIES = 32_768
#: A row whose H_ii is this many times the median counts as heavy.
HEAVY = 30.0
#: A factor stops when what is left of each diagonal entry is below this share of it.
SMALLEST = 1e-8


@dataclass(frozen=True, eq=False)
class SumOfScales:
    """The sum of the Stein matrices of all scales, each in units of the mean of its diagonal."""

    kernel: ScaleKernel
    sample: ScaleRows
    units: FloatArray

    @classmethod
    def of(cls, kernel: ScaleKernel, sample: ScaleRows) -> SumOfScales:
        """Find the units."""
        units = kernel.diag(sample).mean(axis=1)
        return cls(kernel, sample, np.where(units > 0, units, 1.0))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.sample)

    def diag(self) -> FloatArray:
        """Return the diagonal, (n,)."""
        values: FloatArray = (self.kernel.diag(self.sample) / self.units[:, None]).sum(axis=0)
        return values

    def block(self, rows: Index, columns: Index) -> FloatArray:
        """Return the block at some rows and columns."""
        blocks = self.kernel.blocks(self.sample.take(rows), self.sample.take(columns))
        total: FloatArray = sum(
            (block / unit for block, unit in zip(blocks, self.units, strict=True)), start=np.zeros(())
        )
        return total


@dataclass(frozen=True, eq=False)
class ScaleLandmarks:
    """Landmark rows, with a factor for each scale.

    Parameters
    ----------
    kernel : ScaleKernel
        The scales.
    rows : ScaleRows
        The r landmark rows.
    chosen : tuple of K arrays of shape (r_k,)
        Which landmarks serve a scale, in the order of its factor.
    inverses : tuple of K arrays of shape (r_k, r_k)
        L⁻¹ with LLᵀ = H(S_k, S_k).
    index : ndarray of shape (r,)
        Their numbers in the (sub)sample that they were chosen from.
    residual : float
        Estimated relative residual of the sum of the scales.
    capped : bool
        Whether the rank stopped at its cap.
    """

    kernel: ScaleKernel
    rows: ScaleRows
    chosen: tuple[IntArray, ...]
    inverses: tuple[FloatArray, ...]
    index: IntArray
    residual: float
    capped: bool

    @property
    def ranks(self) -> list[int]:
        """The rank at each scale."""
        return [len(index) for index in self.chosen]

    @property
    def units(self) -> FloatArray:
        """The size of features at each scale, (K,), as powers of 2: to divide by them is exact."""
        sizes = np.sqrt(self.kernel.diag(self.rows).max(axis=1))
        return np.asarray(np.exp2(np.round(np.log2(sizes))))

    def features(self, rows: ScaleRows) -> Iterator[FloatArray]:
        """Yield the features of some rows at each scale, (r_k, len(rows)) each."""
        blocks = self.kernel.blocks(self.rows, rows)
        for index, inverse, block in zip(self.chosen, self.inverses, blocks, strict=True):
            features: FloatArray = inverse @ block[index]
            yield features


def choose_scale_landmarks(
    kernel: ScaleKernel,
    sample: ScaleRows,
    rng: np.random.Generator,
    *,
    tolerance: float,
    cap: int,
) -> ScaleLandmarks:
    """Choose landmarks among the rows of a (sub)sample, and factor each scale on them."""
    pivots = choose_pivots(SumOfScales.of(kernel, sample), rng, tolerance=tolerance, cap=cap)
    rows = sample.take(pivots.index)
    factors = [_factor(block) for block in kernel.blocks(rows, rows)]
    return ScaleLandmarks(
        kernel,
        rows,
        tuple(index for index, _ in factors),
        tuple(inverse for _, inverse in factors),
        pivots.index,
        pivots.residual,
        pivots.capped,
    )


def _factor(matrix: FloatArray) -> tuple[IntArray, FloatArray]:
    """Factor a positive semi-definite matrix, largest pivot first, as far as it is not singular.

    Rows are in units of the root of their own diagonal: beside an observation that the model holds to
    be impossible, all others would seem to be nothing.
    """
    size = np.sqrt(np.diag(matrix))
    factor, order, rank, _ = dpstrf(matrix / np.outer(size, size), tol=SMALLEST, lower=1)
    index = np.asarray(order[:rank] - 1, dtype=np.int64)
    return index, np.tril(np.linalg.inv(np.tril(factor[:rank, :rank]))) / size[index]


@dataclass(frozen=True, eq=False)
class Held:
    """How much of the diagonal the factors hold, in rows that are not landmarks.

    Parameters
    ----------
    limit : ndarray of shape (K,)
        Rows with a larger H_ii at some scale are left out of the share.
    share : ndarray of shape (K,)
        Σ ‖Φ_i‖² / Σ H_ii over the other rows.
    """

    limit: FloatArray
    share: FloatArray

    def light(self, diagonal: FloatArray) -> NDArray[np.bool_]:
        """Tell which rows are below the limit, from their H_ii (K, n)."""
        return np.asarray((diagonal <= self.limit[:, None]).all(axis=0))


def scale_totals(landmarks: ScaleLandmarks, rows: Rows, engine: Engine, held: Held) -> FloatArray:
    """Sum ΦΦᵀ off its diagonal at each scale, over all rows, (K,).

    Σ_i ‖Φ_i‖² would take r² operations a row and scale. It is the share of Σ_i H_ii that the factor
    holds, and that share is known from the rows that draws were made of. Landmarks, which are among
    the rows, are held as a whole. Rows whose H_ii is far above the others' have their own features: one
    of them could outweigh all the rest.

    Parameters
    ----------
    landmarks : ScaleLandmarks
        The low-rank factors.
    rows : Rows
        The rows.
    engine : Engine
        Where the work runs.
    held : Held
        From `scale_forms`.
    """
    kernel, count = landmarks.kernel, len(landmarks.rows)

    def task(piece: Piece, rows: ScaleRows) -> Arrays:
        diagonal = kernel.diag(rows)
        if piece.keep is not None:
            diagonal = diagonal * piece.keep
        heavy = np.flatnonzero(~held.light(diagonal))
        own = np.array([float(np.square(f).sum()) for f in landmarks.features(rows.take(heavy))])
        diagonal[:, heavy] = 0.0
        sums = np.zeros((len(kernel.scales), count))
        for part in tiles_of(len(rows), max(16, ENTRIES // count)):
            on_x, on_y = kernel.factors(landmarks.rows, rows.take(part))
            if piece.keep is not None:
                for k in on_x:
                    k *= piece.keep[part]
            each = (np.einsum("ri,ri->r", k, h) for h in on_y for k in on_x)
            for total, one in zip(sums, each, strict=True):
                total += one
        return sums, own + held.share * diagonal.sum(axis=1)

    sums, own = sum_over(kernel, rows, engine, task)
    check_overflow(sums, own)
    diagonal = kernel.diag(landmarks.rows)
    own += (1.0 - held.share) * diagonal[:, held.light(diagonal)].sum(axis=1)
    whole = np.array(
        [
            float(np.square(inverse @ one[index]).sum())
            for one, index, inverse in zip(sums, landmarks.chosen, landmarks.inverses, strict=True)
        ]
    )
    return settle(whole - own, whole + own)


def scale_forms(
    landmarks: ScaleLandmarks,
    rows: ArrayRows,
    weights: Weights,
    engine: Engine,
    *,
    ordinary: int | None = None,
) -> tuple[ScaleSums, Held]:
    """Sum ΦΦᵀ off its diagonal at each scale, plainly and under m sets of weights.

    Products with the weights are in single precision, as in `scale_sweep`. Where landmarks are among
    the rows they come last, after `ordinary` others; they are left out of what the factors hold.

    Returns
    -------
    sums : ScaleSums
        The sums.
    held : Held
        How much of the diagonal the factors hold.
    """
    kernel = landmarks.kernel
    diagonal = kernel.diag(kernel.rows(rows.x, rows.y, rows.scores))
    last = rows.total if ordinary is None else ordinary
    held = Held(HEAVY * np.median(diagonal, axis=1), np.ones(len(diagonal)))
    ranks, m, units = landmarks.ranks, weights.m, landmarks.units
    cuts = np.cumsum([0, *ranks])

    def task(piece: Piece, rows: ScaleRows) -> Arrays:
        w = weights.block(piece.start, piece.stop).astype(np.float32)
        plain, own, own_light = np.zeros(cuts[-1]), np.zeros(len(ranks)), np.zeros(len(ranks))
        light = held.light(kernel.diag(rows))
        light &= np.arange(piece.start, piece.stop) < last
        weighted: SingleArray = np.zeros((cuts[-1], m), dtype=np.float32)
        own_weighted = np.zeros((len(ranks), m))
        for part in tiles_of(len(rows)):
            stacked: SingleArray = np.empty((cuts[-1], len(w[part])), dtype=np.float32)
            squares = np.empty((len(ranks), len(w[part])))
            for k, features in enumerate(landmarks.features(rows.take(part))):
                features /= units[k]  # single must not overflow, nor underflow when squared
                stacked[cuts[k] : cuts[k + 1]] = features
                plain[cuts[k] : cuts[k + 1]] += features.sum(axis=1)
                each = np.square(features).sum(axis=0)
                own[k] += float(each.sum())
                own_light[k] += float(each[light[part]].sum())
                # Of the rounded features: the square of an outlier must cancel to the last digit.
                squares[k] = np.square(stacked[cuts[k] : cuts[k + 1]], dtype=np.float64).sum(axis=0)
            weighted += stacked @ w[part]
            own_weighted += squares @ np.square(w[part])
        return plain, own, weighted.astype(np.float64), own_weighted, own_light

    plain, own, weighted, own_weighted, own_light = sum_over(kernel, rows, engine, task)
    check_overflow(plain, own, weighted, own_weighted)
    whole = np.add.reduceat(np.square(plain), cuts[:-1])
    forms = np.add.reduceat(np.square(weighted), cuts[:-1], axis=0) - own_weighted
    totals = settle(whole - own, whole + own) * units**2
    light_sum = diagonal[:, :last][:, held.light(diagonal[:, :last])].sum(axis=1)
    share = np.divide(own_light * units**2, light_sum, out=np.ones(len(ranks)), where=light_sum > 0)
    return ScaleSums(totals, forms * units[:, None] ** 2, own * units**2), replace(held, share=share)
