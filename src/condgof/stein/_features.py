"""Features F of x in named blocks: k(x, x') ≈ F(x)·F(x'), or functions for themselves.

A kernel is seen through landmark rows S, k ≈ k(·, S) k(S, S)⁻¹ k(S, ·), chosen by randomly
pivoted Cholesky: each block of pivots is drawn with probability proportional to what is
left of the diagonal (Chen, Epperly, Tropp and Webber).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.kernels import CovariateKernel, Gaussian, sqdist
from condgof.sample import XUnits

#: Pivots that are drawn together.
BLOCK = 24
#: A pivot below this share of its own diagonal entry is numerically a copy of others.
SMALLEST_PIVOT = 1e-10
#: Directions below this share of the largest are left out in single precision: W multiplies
#: rounding.
SINGLE = 1e-6
#: A function of one normal score is looked up on a grid of ± this, in so many steps.
END, STEPS = 4.5, 1024
#: The bandwidth on a single column, in normal scores, and the largest number of its
#: features; more columns than so many have a line and a parabola each, and no more.
COLUMN_BANDWIDTH, COLUMN_RANK, MOST_RICH = 0.5, 8, 64
#: Waves on a single column, in half periods over all ranks: long and short ones.
WAVES = ((3, 4), (5, 6, 7, 8))


def choose_pivots(
    kernel: Callable[[FloatArray, FloatArray], FloatArray],
    points: FloatArray,
    rng: np.random.Generator,
    *,
    tolerance: float,
    cap: int,
    weight: FloatArray | None = None,
) -> tuple[IntArray, float]:
    """Choose rows until a share `tolerance` of the (weighted) trace is left; also return that share."""
    n, cap = len(points), min(cap, len(points))
    left, chosen = np.ones(n), np.empty(0, dtype=np.int64)
    weight = np.ones(n) if weight is None else weight / weight.max()
    total, features = float(weight.sum()), np.empty((n, cap))
    while len(chosen) < cap and float(weight @ left) > tolerance * total:
        k, open_ = len(chosen), np.where(left > SMALLEST_PIVOT, weight * left, 0.0)
        size = min(BLOCK, cap - k, int(np.count_nonzero(open_)))
        if not size:
            break
        drawn = rng.choice(n, size, replace=False, p=open_ / open_.sum())
        new = kernel(points, points[drawn]) - features[:, :k] @ features[drawn, :k].T
        kept, factor = _small_cholesky(new[drawn])
        columns = slice(k, k + len(kept))
        features[:, columns] = np.linalg.solve(factor, new[:, kept].T).T
        chosen = np.concatenate([chosen, drawn[kept]])
        left = np.maximum(left - np.square(features[:, columns]).sum(axis=1), 0.0)
        left[chosen] = 0.0
    return chosen, float(weight @ left) / total if total else 0.0


def _small_cholesky(matrix: FloatArray) -> tuple[IntArray, FloatArray]:
    """Factor a small positive semi-definite matrix, largest pivot first, leaving out near copies."""
    left, size = np.diag(matrix).copy(), len(matrix)
    floor, factor = 1e-3 * float(left.max()), np.zeros((size, size))
    kept: list[int] = []
    for k in range(size):
        pivot = int(np.argmax(left))
        if kept and left[pivot] <= floor:
            break
        kept.append(pivot)
        column = matrix[:, pivot] - factor[:, :k] @ factor[pivot, :k]
        factor[:, k] = column / np.sqrt(max(left[pivot], SMALLEST_PIVOT))
        left = left - factor[:, k] ** 2
        left[kept] = -np.inf
    order = np.array(kept, dtype=np.int64)
    return order, np.tril(factor[order][:, : len(order)])


def whitening(
    matrix: FloatArray, smallest: float = 1e-9, *, single: bool = False
) -> AnyArray:
    """Return W (r, r') with W Wᵀ ≈ matrix⁻¹, leaving out directions below a share of the largest."""
    values, axes = np.linalg.eigh((matrix + matrix.T) / 2.0)
    kept = values > (max(smallest, SINGLE) if single else smallest) * values[-1]
    white: FloatArray = axes[:, kept] / np.sqrt(values[kept])
    return np.ascontiguousarray(white[:, ::-1], dtype=np.float32 if single else np.float64)


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes columns from rows x (n, d_x), in blocks of one family."""

    family: str
    columns: Callable[[FloatArray], AnyArray]
    #: What a result says of each block, and how many features it has.
    labels: tuple[Any, ...]
    sizes: tuple[int, ...]
    #: What the raw columns of each block are multiplied by, (·, size); without, they are
    #: the features.
    whites: tuple[AnyArray, ...] = ()
    #: What is taken off the columns, which are then in single precision.
    centre: SingleArray | None = None
    residual: float = (
        0.0  #: Share of the trace of the (narrowest) kernel that landmarks leave.
    )

    @classmethod
    def single(
        cls, family: str, columns: Callable[[FloatArray], AnyArray], labels: Any
    ) -> Maker:
        labels = tuple(labels)
        return cls(family, columns, labels, (1,) * len(labels))

    def raw(self, x: FloatArray) -> AnyArray:
        made = self.columns(x)
        if self.centre is None:
            return made
        return np.subtract(made, self.centre, out=made).astype(np.float32, copy=False)

    def centred(self, x: FloatArray) -> Maker:
        """Take the means over rows x (n, d_x) off."""
        means = self.columns(x).mean(axis=0, dtype=np.float64)
        return replace(self, centre=means.astype(np.float32))


class FeatureBlock(NamedTuple):
    """Some columns of F: the family they belong to, what they are of, and which."""

    family: str
    label: Any
    columns: slice


@dataclass(frozen=True, eq=False)
class Features:
    """Functions of x, side by side."""

    makers: tuple[Maker, ...]

    @cached_property
    def blocks(self) -> tuple[FeatureBlock, ...]:
        """Which columns belong together, in order and without gaps."""
        blocks, start = [], 0
        for maker in self.makers:
            for size, label in zip(maker.sizes, maker.labels, strict=True):
                blocks.append(FeatureBlock(maker.family, label, slice(start, start + size)))
                start += size
        return tuple(blocks)

    @cached_property
    def parts(self) -> tuple[tuple[slice, slice, AnyArray | None], ...]:
        """Which raw columns become which features, and what they are multiplied by."""
        parts: list[tuple[slice, slice, AnyArray | None]] = []
        raw = made = 0
        for maker in self.makers:
            for white in maker.whites or (None,):
                rows, columns = (sum(maker.sizes),) * 2 if white is None else white.shape
                parts.append((slice(raw, raw + rows), slice(made, made + columns), white))
                raw, made = raw + rows, made + columns
        return tuple(parts)

    @property
    def width(self) -> int:
        return int(self.blocks[-1].columns.stop)

    def raw(self, x: FloatArray) -> AnyArray:
        made = [maker.raw(x) for maker in self.makers]
        return made[0] if len(made) == 1 else np.concatenate(made, axis=1)

    def turn(self, raw: AnyArray) -> AnyArray:
        """Turn raw columns (n, ·) into features (n, R); linear, so that sums may be turned too."""
        if not any(maker.whites for maker in self.makers):
            return raw
        made = [
            raw[:, some] if white is None else raw[:, some] @ white
            for some, _, white in self.parts
        ]
        return np.concatenate(made, axis=1)

    def of(self, x: FloatArray) -> AnyArray:
        return self.turn(self.raw(x))

    def family(self, *names: str) -> slice:
        """Return the blocks of some families, which must follow each other, as a slice of all blocks."""
        which = [i for i, block in enumerate(self.blocks) if block.family in names]
        return slice(which[0], which[-1] + 1) if which else slice(0, 0)


def ones() -> Maker:
    return Maker.single(
        "constant", lambda x: np.ones((len(x), 1), dtype=np.float32), [None]
    )


def nystrom(
    kernel: CovariateKernel,
    x: FloatArray,
    rng: np.random.Generator,
    *,
    precision: float,
    cap: int,
    single: bool = False,
) -> Maker:
    """See a kernel on x through landmarks v among rows x (n, d_x): F = k(x, v) W."""
    if not kernel.factors:
        return ones()
    chosen, left = choose_pivots(kernel, x, rng, tolerance=precision, cap=cap)
    points = x[chosen]
    white = whitening(kernel(points, points), single=single)

    def compared(rows: FloatArray) -> AnyArray:
        return kernel(rows, points).astype(white.dtype, copy=False)

    return Maker("x", compared, (1.0,), (white.shape[1],), (white,), residual=left)


def scales(
    kernel: CovariateKernel,
    multiples: Sequence[float],
    x: FloatArray,
    rng: np.random.Generator,
    *,
    precision: float,
    cap: int,
) -> Maker:
    """See a kernel at multiples of its Gaussian bandwidths through one set of landmarks, in singles.

    They are chosen among rows x (n, d_x) for the narrowest, and the features are centred on
    these.
    """
    if not any(type(factor.kernel) is Gaussian for factor in kernel.factors):
        multiples = (1.0,)
    narrow = min(multiples)

    def compare(a: FloatArray, b: FloatArray) -> FloatArray:
        return _at_multiples(kernel, (narrow,), b, a).astype(np.float64)

    chosen, left = choose_pivots(compare, x, rng, tolerance=precision, cap=cap)
    points = x[chosen]
    own = np.split(_at_multiples(kernel, multiples, points, points), len(multiples), axis=1)
    whites = tuple(whitening(k.astype(np.float64), single=True) for k in own)
    columns, sizes = (
        partial(_at_multiples, kernel, multiples, points),
        [w.shape[1] for w in whites],
    )
    return Maker(
        "x", columns, tuple(multiples), tuple(sizes), whites, residual=left
    ).centred(x)


def single_locations(kernel: CovariateKernel, multiple: float, points: FloatArray) -> Maker:
    """Take k(x, v_j), at a multiple of its Gaussian bandwidths, for itself at each of some points."""
    columns = partial(_at_multiples, kernel, (multiple,), points)
    return Maker.single("locations", columns, range(len(points)))


def _at_multiples(
    kernel: CovariateKernel, multiples: Sequence[float], points: FloatArray, x: FloatArray
) -> SingleArray:
    """Return k(x, v) at each multiple, side by side."""
    exponent = np.zeros((len(x), len(points)), dtype=np.float32)
    rest: SingleArray | None = None
    for factor in kernel.factors:
        columns = factor.indices()
        if type(factor.kernel) is Gaussian:
            near = sqdist(x[:, columns], points[:, columns], factor.kernel.sigma)
            exponent -= 0.5 * near.astype(np.float32)
        else:
            other = factor(x, points).astype(np.float32)
            rest = other if rest is None else rest * other
    each = [np.exp(exponent * np.float32(multiple**-2)) for multiple in multiples]
    return np.concatenate(each if rest is None else [k * rest for k in each], axis=1)


def marginals(columns: list[int], x: FloatArray) -> Maker:
    """Take smooth functions of single columns, which are normal scores, centred on rows x (n, d_x)."""
    sizes = _smooth()[1][: 2 if len(columns) > MOST_RICH else None]
    labels = tuple(column for column in columns for _ in sizes)

    def looked_up(rows: FloatArray) -> SingleArray:
        step = (np.clip(rows[:, columns], -END, END) + END) * (STEPS / (2.0 * END))
        table = _smooth()[0][:, : sum(sizes)]
        return table[np.rint(step).astype(np.int32)].reshape(len(rows), -1)

    return Maker("columns", looked_up, labels, sizes * len(columns)).centred(x)


@cache
def _smooth() -> tuple[SingleArray, tuple[int, ...]]:
    """Return functions of one normal score on a grid, and the sizes of their blocks.

    A line, a parabola, the eigen-features of a Gaussian kernel under N(0, 1), and waves
    over the ranks.
    """
    grid, nodes = np.linspace(-END, END, STEPS + 1), np.linspace(-END, END, 181)
    root = np.exp(-0.25 * nodes**2)
    root /= np.linalg.norm(root)

    def k(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-0.5 * np.square(a[:, None] - b) / COLUMN_BANDWIDTH**2))

    values, axes = np.linalg.eigh(root[:, None] * k(nodes, nodes) * root)
    scaled = root[:, None] * axes / np.sqrt(np.maximum(values, 1e-12))
    smooth = k(grid, nodes) @ scaled[:, -COLUMN_RANK:]
    waves = np.cos(np.pi * np.multiply.outer(ndtr(grid), np.concatenate(WAVES)))
    table = np.column_stack([grid, grid**2, smooth, waves]).astype(np.float32)
    return table, (1, 1, COLUMN_RANK, *map(len, WAVES))


def levels(columns: IntArray, values: FloatArray, shares: FloatArray) -> Maker:
    """Take centred indicators of levels (L,) of some columns, which shares (L,) of the rows have."""
    labels = zip(map(int, columns), map(float, values), strict=True)
    made = Maker.single(
        "categories", lambda x: (x[:, columns] == values).astype(np.float32), labels
    )
    return replace(made, centre=shares.astype(np.float32))


def pairs(columns: Sequence[int], x: FloatArray, most: int) -> Maker:
    """Take products of two columns of normal scores, centred on rows x, of at most so many pairs."""
    index = np.asarray(columns, dtype=np.int64)
    first, second = (index[side] for side in np.triu_indices(len(index), 1))
    some = np.unique(np.linspace(0, len(first) - 1, min(most, len(first))).astype(np.int64))
    first, second = first[some], second[some]
    labels = zip(map(int, first), map(int, second), strict=True)
    return Maker.single(
        "pairs", lambda rows: rows[:, first] * rows[:, second], labels
    ).centred(x)


def ranked(maker: Maker, units: XUnits | None) -> Maker:
    """Return a maker for x in other units than it takes."""
    return (
        maker
        if units is None
        else replace(maker, columns=lambda x: maker.columns(units.apply(x)))
    )
