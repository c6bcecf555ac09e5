"""Features F of x in named blocks: k(x, x') ≈ F(x)·F(x'), or functions for themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.kernels import CovariateKernel, Gaussian, sqdist
from condgof.sample import XUnits
from condgof.stein._pivots import choose_pivots, whitening

#: A function of one normal score is looked up on a grid of ± this, in so many steps.
END, STEPS = 4.5, 1024
#: The bandwidth on a single column, in normal scores, and the largest number of its features.
COLUMN_BANDWIDTH, COLUMN_RANK = 0.5, 8
#: More columns than this have a line and a parabola each, and no more.
MOST_RICH = 64
#: Waves on a single column, in half periods over all ranks: long and short ones.
WAVES = ((3, 4), (5, 6, 7, 8))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Raw columns that a maker puts out, and the blocks of features that they become."""

    #: What the blocks are of.
    family: str
    #: Number of raw columns.
    size: int
    #: What they are multiplied by; without it each raw column is a feature, (size, r).
    white: AnyArray | None
    #: Number of features of each block.
    blocks: tuple[int, ...]
    #: What a result says of each block.
    labels: tuple[Any, ...]


class Maker(Protocol):
    """Makes raw columns from x."""

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """What they are."""

    def raw(self, x: FloatArray) -> AnyArray:
        """Return them for rows x (n, d_x), (n, raw columns)."""


@dataclass(frozen=True)
class FeatureBlock:
    """Some columns of F: the family they belong to, what they are of, and which."""

    family: str
    label: Any
    columns: slice


@dataclass(frozen=True, eq=False)
class Features:
    """Functions of x, side by side."""

    #: Where they come from.
    makers: tuple[Maker, ...]
    chunks: tuple[Chunk, ...] = field(init=False)
    blocks: tuple[FeatureBlock, ...] = field(init=False)

    def __post_init__(self) -> None:
        chunks = tuple(chunk for maker in self.makers for chunk in maker.chunks)
        blocks, start = [], 0
        for chunk in chunks:
            for size, label in zip(chunk.blocks, chunk.labels, strict=True):
                blocks.append(FeatureBlock(chunk.family, label, slice(start, start + size)))
                start += size
        object.__setattr__(self, "chunks", chunks)
        object.__setattr__(self, "blocks", tuple(blocks))

    @property
    def width(self) -> int:
        """Number of features R."""
        return int(self.blocks[-1].columns.stop)

    def raw(self, x: FloatArray) -> AnyArray:
        """Return the raw columns of rows x (n, d_x)."""
        made = [maker.raw(x) for maker in self.makers]
        return made[0] if len(made) == 1 else np.concatenate(made, axis=1)

    def turn(self, raw: AnyArray) -> AnyArray:
        """Turn raw columns (n, ·) into features (n, R); linear, so that sums may be turned too."""
        if all(chunk.white is None for chunk in self.chunks):
            return raw
        parts, start = [], 0
        for chunk in self.chunks:
            part = raw[:, start : start + chunk.size]
            parts.append(part if chunk.white is None else part @ chunk.white)
            start += chunk.size
        return np.concatenate(parts, axis=1)

    def of(self, x: FloatArray) -> AnyArray:
        """Return F (n, R) of rows x (n, d_x)."""
        return self.turn(self.raw(x))

    def family(self, *names: str) -> slice:
        """Return the blocks of some families, which must follow each other, as a slice of all blocks."""
        found = [i for i, block in enumerate(self.blocks) if block.family in names]
        return slice(found[0], found[-1] + 1) if found else slice(0, 0)


@dataclass(frozen=True, eq=False)
class Nystrom:
    """A kernel on x through landmarks: F = k(x, v) W, in the precision of W."""

    #: k.
    kernel: CovariateKernel
    #: The landmarks v, (r, d_x).
    points: FloatArray
    #: W, (r, r').
    white: AnyArray
    #: Share of the trace of k that they leave, on the rows they were chosen from.
    residual: float

    @classmethod
    def on(
        cls,
        kernel: CovariateKernel,
        x: FloatArray,
        rng: np.random.Generator,
        *,
        precision: float,
        cap: int,
        single: bool = False,
    ) -> Nystrom | Ones:
        """Choose landmarks among rows x (n, d_x)."""
        if not kernel.factors:
            return Ones()
        chosen = choose_pivots(kernel, x, rng, tolerance=precision, cap=cap)
        points = x[chosen.index]
        return cls(kernel, points, whitening(kernel(points, points), single=single), chosen.residual)

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """One block."""
        size, rank = self.white.shape
        return (Chunk("x", size, self.white, (rank,), (1.0,)),)

    def raw(self, x: FloatArray) -> AnyArray:
        """Return k(x, v)."""
        return self.kernel(x, self.points).astype(self.white.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Scales:
    """A kernel on x at several multiples of its bandwidths, through the same landmarks, in singles."""

    #: What the blocks are called.
    family: str
    #: k; the bandwidths of its Gaussian factors are multiplied.
    kernel: CovariateKernel
    #: By what.
    multiples: tuple[float, ...]
    #: The landmarks v, (r, d_x).
    points: FloatArray
    #: W for each multiple; None where each k(x, v_j) stands for itself, (r, ·), or None.
    whites: tuple[SingleArray, ...] | None = None
    #: Means of k(x, v) over the rows, which are taken away: the constant is a feature of its own, (raw
    #: columns,).
    centre: SingleArray | None = None
    #: Share of the trace that the landmarks leave, at the narrowest.
    residual: float = 0.0

    @classmethod
    def on(
        cls,
        family: str,
        kernel: CovariateKernel,
        multiples: Sequence[float],
        x: FloatArray,
        rng: np.random.Generator,
        *,
        precision: float,
        cap: int,
    ) -> Scales:
        """Choose landmarks among rows x (n, d_x), for the narrowest of all."""
        if not any(type(factor.kernel) is Gaussian for factor in kernel.factors):
            multiples = (1.0,)
        plain = cls(family, kernel, tuple(multiples), x[:0])
        narrow = min(multiples)

        def compare(a: FloatArray, b: FloatArray) -> FloatArray:
            return plain._at(a, b, (narrow,))[0].astype(np.float64)

        chosen = choose_pivots(compare, x, rng, tolerance=precision, cap=cap)
        points = x[chosen.index]
        own = plain._at(points, points, plain.multiples)
        whites = tuple(whitening(k.astype(np.float64), single=True) for k in own)
        made = cls(family, kernel, plain.multiples, points, whites, None, chosen.residual)
        return replace(made, centre=made.raw(x).mean(axis=0, dtype=np.float64).astype(np.float32))

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """One block for each multiple, or one for each point."""
        count = len(self.points)
        if self.whites is None:
            return (Chunk(self.family, count, None, (1,) * count, tuple(range(count))),)
        pairs = zip(self.whites, self.multiples, strict=True)
        return tuple(Chunk(self.family, count, w, (w.shape[1],), (a,)) for w, a in pairs)

    def raw(self, x: FloatArray) -> SingleArray:
        """Return k(x, v) at each multiple, side by side."""
        found = np.concatenate(self._at(x, self.points, self.multiples), axis=1)
        if self.centre is not None:
            found -= self.centre
        return found

    def _at(self, a: FloatArray, b: FloatArray, multiples: Sequence[float]) -> list[SingleArray]:
        exponent = np.zeros((len(a), len(b)), dtype=np.float32)
        rest: SingleArray | None = None
        for factor in self.kernel.factors:
            columns = factor.indices()
            if type(factor.kernel) is Gaussian:
                exponent -= 0.5 * sqdist(a[:, columns], b[:, columns], factor.kernel.sigma).astype(
                    np.float32
                )
            else:
                other = factor(a, b).astype(np.float32)
                rest = other if rest is None else rest * other
        found = []
        for multiple in multiples:
            k = np.exp(exponent * np.float32(multiple**-2))
            found.append(k if rest is None else k * rest)
        return found


@dataclass(frozen=True)
class Ones:
    """The constant."""

    family: str = "constant"

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """One block of one feature."""
        return (Chunk(self.family, 1, None, (1,), (None,)),)

    def raw(self, x: FloatArray) -> SingleArray:
        """Return ones, (n, 1)."""
        return np.ones((len(x), 1), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Given:
    """Functions of x that are given: one block of all, or one for each."""

    #: From x (n, d_x) to (n, J).
    function: Callable[[FloatArray], AnyArray]
    #: J.
    count: int
    #: What the blocks are called.
    family: str = "x"
    #: Whether each is a block of its own.
    single: bool = False

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """One block of all, or one for each."""
        blocks = (1,) * self.count if self.single else (self.count,)
        return (Chunk(self.family, self.count, None, blocks, tuple(range(len(blocks)))),)

    def raw(self, x: FloatArray) -> AnyArray:
        """Return them."""
        return self.function(x)


@dataclass(frozen=True, eq=False)
class Marginals:
    """Each column of x by itself, centred over the rows: smooth functions of its normal scores."""

    #: Which columns; they are normal scores of ranks.
    columns: tuple[int, ...]
    #: Means of the features over rows, (raw columns,).
    centre: SingleArray
    #: How many blocks of functions each column has: of very many columns a line and a parabola.
    blocks: int

    @classmethod
    def on(cls, columns: Sequence[int], x: FloatArray) -> Marginals:
        """Centre them on rows x (n, d_x)."""
        blocks = 2 if len(columns) > MOST_RICH else len(_smooth()[1])
        plain = cls(tuple(columns), np.zeros(1, dtype=np.float32), blocks)
        return replace(plain, centre=plain.raw(x).mean(axis=0, dtype=np.float64).astype(np.float32))

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """Some blocks for each column."""
        sizes = _smooth()[1][: self.blocks]
        count = len(self.columns)
        labels = tuple(column for column in self.columns for _ in sizes)
        return (Chunk("columns", count * sum(sizes), None, sizes * count, labels),)

    def raw(self, x: FloatArray) -> SingleArray:
        """Look them up."""
        table, sizes = _smooth()
        step = (np.clip(x[:, list(self.columns)], -END, END) + END) * (STEPS / (2.0 * END))
        some = table[:, : sum(sizes[: self.blocks])]
        found: SingleArray = some[np.rint(step).astype(np.int32)].reshape(len(x), -1)
        found -= self.centre
        return found


@cache
def _smooth() -> tuple[SingleArray, tuple[int, ...]]:
    """Return functions of one normal score on a grid, and the sizes of their blocks.

    A line, a parabola, the eigen-features of a Gaussian kernel under N(0, 1), and waves over the ranks.
    """
    from scipy.special import ndtr

    grid, nodes = np.linspace(-END, END, STEPS + 1), np.linspace(-END, END, 181)
    root = np.exp(-0.25 * nodes**2)
    root /= np.linalg.norm(root)

    def k(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(np.exp(-0.5 * np.square(a[:, None] - b) / COLUMN_BANDWIDTH**2))

    values, axes = np.linalg.eigh(root[:, None] * k(nodes, nodes) * root)
    smooth = (
        k(grid, nodes) @ (root[:, None] * axes / np.sqrt(np.maximum(values, 1e-12)))[:, -COLUMN_RANK:]
    )
    waves = np.cos(np.pi * np.multiply.outer(ndtr(grid), np.concatenate(WAVES)))
    table = np.column_stack([grid, grid**2, smooth, waves]).astype(np.float32)
    return table, (1, 1, COLUMN_RANK, *map(len, WAVES))


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels of columns of x, each its centred indicator and a block of its own."""

    #: The column of each level.
    columns: IntArray
    #: The level, (L,).
    values: FloatArray
    #: How many of the rows have it, (L,).
    shares: FloatArray

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """A block for each level."""
        count = len(self.columns)
        labels = tuple(zip(map(int, self.columns), map(float, self.values), strict=True))
        return (Chunk("columns", count, None, (1,) * count, labels),)

    def raw(self, x: FloatArray) -> SingleArray:
        """Return 1 or 0, less the share."""
        found: SingleArray = (x[:, self.columns] == self.values).astype(np.float32)
        found -= self.shares.astype(np.float32)
        return found


@dataclass(frozen=True, eq=False)
class Pairs:
    """Products of two columns of normal scores, centred: whether two columns act together."""

    #: Which columns.
    first: IntArray
    second: IntArray
    #: Means of the products, (P,).
    centre: SingleArray

    @classmethod
    def on(cls, columns: Sequence[int], x: FloatArray, most: int) -> Pairs:
        """Take pairs of some columns, at most so many and evenly spread, centred on rows x (n, d_x)."""
        index = np.asarray(columns, dtype=np.int64)
        first, second = (index[side] for side in np.triu_indices(len(index), 1))
        some = np.unique(np.linspace(0, len(first) - 1, min(most, len(first))).astype(np.int64))
        first, second = first[some], second[some]
        return cls(first, second, (x[:, first] * x[:, second]).mean(axis=0).astype(np.float32))

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """A block for each pair."""
        count = len(self.first)
        labels = tuple(zip(map(int, self.first), map(int, self.second), strict=True))
        return (Chunk("pairs", count, None, (1,) * count, labels),)

    def raw(self, x: FloatArray) -> SingleArray:
        """Multiply."""
        return (x[:, self.first] * x[:, self.second] - self.centre).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Another maker, for x in other units than it takes."""

    maker: Maker
    units: XUnits

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """Those of the maker."""
        return self.maker.chunks

    def raw(self, x: FloatArray) -> AnyArray:
        """Return those of the maker."""
        return self.maker.raw(self.units.apply(x))
