"""Evidence ξ: test functions of y, row by row, each with mean 0 given x if the law is true.

Three kinds. Normal scores z of the law are N(0, I) whatever x is, so that their evidence is
a fixed table. Where only scores ∇ log p are known, the Stein operator makes test functions
of any function of y. A discrete y has the centred indicators of its cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import log_ndtr, ndtr

from condgof._typing import AnyArray, FloatArray, SingleArray
from condgof.errors import check_overflow
from condgof.kernels import CellKernel, Gaussian, Radial, sqdist
from condgof.stein._features import choose_pivots, whitening

#: Normal scores are clipped to ± this, and looked up on a grid of so many steps.
END, STEPS = 6.5, 4096
#: Eigen-directions of a Stein kernel of N(0, 1) below this share of the largest are left
#: out; nodes, evenly spaced, of the quadrature that finds them.
SMALLEST, NODES = 1e-2, 157
#: Scores above this are never computed with in single precision.
HUGE = 1e12
#: Single functions of z beside the Stein functions: z itself, its surprise, and Legendre
#: polynomials.
SIMPLE = ("z", "surprise", "shift", "spread", "skew", "tails")
#: A normal score beyond this is as wrong as can be; squares of its surprise must not
#: overflow.
FARTHEST = 1e9
#: Several columns of y: landmarks of the kernel on all, draws for its second moment, most
#: directions.
LANDMARKS, DRAWS, TOGETHER = 64, 2**15, 48


class EvidenceBlock(NamedTuple):
    """Some columns of the evidence."""

    name: str
    bandwidth: float | None = None  #: Of the kernel on y, where there is one.
    #: Where they come from.
    kind: str = "stein"
    columns: slice = slice(0, 0)


def side_by_side(blocks: Iterable[tuple[EvidenceBlock, int]]) -> tuple[EvidenceBlock, ...]:
    """Return blocks, each with its number of columns, one after the other."""
    placed, start = [], 0
    for block, size in blocks:
        placed.append(block._replace(columns=slice(start, start + size)))
        start += size
    return tuple(placed)


@dataclass(frozen=True, eq=False)
class NormalEvidence:
    """Evidence of normal scores, N(0, I) under the law whatever x is."""

    d_y: int
    table: SingleArray  #: Evidence of one column on a grid, (STEPS + 1, q₁).
    own: tuple[EvidenceBlock, ...]  #: Blocks of the table.
    joint: SteinEvidence | None  #: Test functions of all columns together, for d_y > 1.
    second: FloatArray  #: C = E[ξξᵀ], (q, q).

    @staticmethod
    @lru_cache(maxsize=16)
    def at(bandwidths: tuple[float, ...], d_y: int) -> NormalEvidence:
        """Return evidence at some bandwidths, and the simple functions, of d_y columns; made once."""
        grid = np.linspace(-END, END, STEPS + 1)
        stein = [_stein_functions(sigma, grid) for sigma in bandwidths]
        bands = [EvidenceBlock(f"bandwidth {sigma:g}", sigma) for sigma in bandwidths]
        sized = zip(bands, (functions.shape[1] for functions in stein), strict=True)
        blocks = side_by_side(
            [*sized, *((EvidenceBlock(name, kind="simple"), 1) for name in SIMPLE)]
        )
        table = np.concatenate([*stein, simple(grid)], axis=1)
        weight = np.exp(-0.5 * grid**2)
        weight /= weight.sum()
        table -= weight @ table  # what clipping and the grid leave of a mean
        second = (table * weight[:, None]).T @ table
        joint = None if d_y == 1 else _together(bandwidths, d_y)
        made = NormalEvidence(d_y, table.astype(np.float32), blocks, joint, second)
        return made if d_y == 1 else replace(made, second=_second(made, second))

    @cached_property
    def blocks(self) -> tuple[EvidenceBlock, ...]:
        """Of the table, all columns of y side by side; of pairs of columns, and of all together."""
        sizes = [
            (block, self.d_y * (block.columns.stop - block.columns.start))
            for block in self.own
        ]
        if self.joint is not None:
            after = 1 + [block.name for block in self.own].index("surprise")
            pairs = EvidenceBlock("correlation", kind="simple")
            sizes.insert(after, (pairs, self.d_y * (self.d_y - 1) // 2))
            sizes.append(
                (EvidenceBlock("all columns together"), self.joint.blocks[-1].columns.stop)
            )
        return side_by_side(sizes)

    def of(self, u: AnyArray, scores: AnyArray | None = None) -> AnyArray:
        """Look the evidence of normal scores u (n, d_y) up, (n, q)."""
        step = np.clip(u, -END, END)
        step += END
        step *= STEPS / (2.0 * END)
        index = np.rint(step, out=step).astype(np.int32)
        if self.joint is None:
            return np.asarray(self.table[index[:, 0]])
        clipped = np.clip(u, -END, END).astype(np.float64)
        each = [self.table[index[:, c]] for c in range(self.d_y)]
        first, second = np.triu_indices(self.d_y, 1)
        made: dict[str, list[AnyArray]] = {
            block.name: [one[:, block.columns] for one in each] for block in self.own
        }
        made["correlation"] = [clipped[:, first] * clipped[:, second]]
        made["all columns together"] = [self.joint.of(clipped, -clipped)]
        columns = [part for block in self.blocks for part in made[block.name]]
        return np.concatenate(columns, axis=1, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class CensoredEvidence:
    """Evidence of times of which some are censored: what is expected of it, given what is known of them.

    A function h of normal scores with E[h(Z)] = 0 has the value h(z) where the event came at z, and
    H(z) = E[h(Z) | Z > z] where it had not come by then; less H(z₀) where a row was watched only from z₀
    on. On the scale of Λ = −log S(y|x), with f = h − H and d = 1 for an event, that is

        ξ = d·f(Λ) − ∫₀^Λ f,

    a martingale in Λ: its mean given x is 0 whenever censoring is independent of the time
    given x. Without censoring it is the evidence h of the plain test. Of a Stein function h
    = l' − zl of N(0, 1) H = −l(z)φ(z)/(1 − Φ(z)).
    """

    plain: NormalEvidence  #: h, and where it is looked up.
    later: SingleArray  #: H on the grid of h, (STEPS + 1, q).

    @classmethod
    def at(cls, bandwidths: tuple[float, ...]) -> CensoredEvidence:
        plain = NormalEvidence.at(bandwidths, 1)
        grid = np.linspace(-END, END, STEPS + 1)
        weight = np.exp(-0.5 * grid**2)[:, None]
        part = weight * plain.table
        # Half of the step that z lies in is above it.
        above, sums = (np.cumsum(v[::-1], axis=0)[::-1] - 0.5 * v for v in (weight, part))
        later = sums / above
        later[0] = 0.0
        return cls(plain, later.astype(np.float32))

    @property
    def blocks(self) -> tuple[EvidenceBlock, ...]:
        return self.plain.blocks

    def of(self, u: AnyArray, scores: AnyArray) -> AnyArray:
        """Return ξ (n, q) of normal scores u (n, 1); scores: residual, event, entry, (n, 3)."""
        event = scores[:, 1:2] > 0
        return np.where(event, self.plain.of(u), self.expected(u)) - self.expected(
            scores[:, 2:]
        )

    def expected(self, u: AnyArray) -> AnyArray:
        return replace(self.plain, table=self.later).of(u)


def _second(evidence: NormalEvidence, own: FloatArray) -> FloatArray:
    """Return C of several columns of z: they are independent, but for what sees all of them."""
    z, weight = _nodes(evidence.d_y)
    xi = evidence.of(z).astype(np.float64)
    second = (xi * weight[:, None]).T @ xi
    single = {
        block.name: np.arange(block.columns.start, block.columns.stop)
        for block in evidence.own
    }
    alone = [block for block in evidence.blocks if block.name in single]
    place = np.concatenate([np.arange(b.columns.start, b.columns.stop) for b in alone])
    column = np.concatenate([np.tile(single[b.name], evidence.d_y) for b in alone])
    of_y = np.concatenate(
        [np.repeat(np.arange(evidence.d_y), len(single[b.name])) for b in alone]
    )
    same = of_y[:, None] == of_y
    second[np.ix_(place, place)] = np.where(same, own[np.ix_(column, column)], 0.0)
    return second


def _nodes(d_y: int) -> tuple[FloatArray, FloatArray]:
    """Return points and weights for means over N(0, I): a grid, or a fixed set of draws."""
    if d_y > 3:
        rng = np.random.default_rng(
            d_y
        )  # a fixed one: this is a table, not a draw of the user's
        half = rng.standard_normal((DRAWS, d_y))
        return np.concatenate([half, -half]), np.full(2 * DRAWS, 0.5 / DRAWS)
    axis = np.linspace(-6.0, 6.0, 61 if d_y == 2 else 25)
    z = np.stack(np.meshgrid(*[axis] * d_y, indexing="ij"), axis=-1).reshape(-1, d_y)
    weight = np.exp(-0.5 * np.square(z).sum(axis=1))
    return z, weight / weight.sum()


def _stein_functions(sigma: float, at: FloatArray) -> FloatArray:
    """Return the eigen-features of the Stein kernel of N(0, 1) at a bandwidth, (len(at), r).

    They are √λ_k e_k(t) for h = Σ_k λ_k e_k e_k, E[e_k] = 0 and E[e_k e_l] = δ_kl under
    N(0, 1).
    """
    node = np.linspace(-END, END, NODES)
    root = np.exp(-0.25 * node**2)
    root /= np.linalg.norm(root)
    values, axes = np.linalg.eigh(root[:, None] * _normal_h(node, node, sigma) * root)
    kept = values > SMALLEST * values[-1]
    scaled = root[:, None] * axes[:, kept] / np.sqrt(values[kept])
    return np.asarray(_normal_h(at, node, sigma) @ scaled)[:, ::-1]


def _normal_h(a: FloatArray, b: FloatArray, sigma: float) -> FloatArray:
    """Return the Stein kernel of N(0, 1), whose score is −t, with a Gaussian l."""
    square = np.square(a[:, None] - b)
    bracket = np.multiply.outer(a, b) + sigma**-2 - square * (sigma**-2 + sigma**-4)
    return np.asarray(np.exp(-0.5 * square / sigma**2) * bracket)


def legendre_at(u: AnyArray) -> AnyArray:
    """Return ψ_1 to ψ_4, orthonormal Legendre polynomials of PITs u, (..., 4), in their precision."""
    v = 2.0 * u - 1.0
    square = v * v
    out = np.empty((*u.shape, 4), dtype=u.dtype)
    out[..., 0] = 3**0.5 * v
    out[..., 1] = 5**0.5 * (1.5 * square - 0.5)
    out[..., 2] = 7**0.5 * v * (2.5 * square - 1.5)
    out[..., 3] = 3.0 * ((4.375 * square - 3.75) * square + 0.375)
    return out


def simple(z: AnyArray) -> FloatArray:
    """Return single functions of z with mean 0 and variance 1 under N(0, 1), (n, 6): see `SIMPLE`."""
    z = np.clip(z, -FARTHEST, FARTHEST)
    return np.column_stack([z, surprise(z) - 1.0, legendre_at(ndtr(z))])


def surprise(z: AnyArray) -> FloatArray:
    """Return −log P(|Z| ≥ |z|) of a standard normal Z, which is exponential under N(0, 1)."""
    return np.asarray(-np.log(2.0) - log_ndtr(-np.minimum(np.abs(z), FARTHEST)))


def _together(bandwidths: tuple[float, ...], d_y: int) -> SteinEvidence:
    """Return test functions of all columns of normal scores, at the middle bandwidth times √d_y."""
    rng = np.random.default_rng(d_y)
    sigma = sorted(bandwidths)[len(bandwidths) // 2] * np.sqrt(d_y)
    v = rng.standard_normal((LANDMARKS, d_y))
    kernel = Gaussian(float(sigma))
    full = SteinEvidence(d_y, (Functions(kernel, v, whitening(kernel(v, v), SMALLEST)),))
    z, weight = _nodes(d_y)
    xi = full.of(z, -z)
    values, axes = np.linalg.eigh((xi * weight[:, None]).T @ xi)
    kept = axes[:, values > SMALLEST * values[-1]][:, ::-1][:, :TOGETHER]
    return SteinEvidence(d_y, full.parts, kept)


@dataclass(frozen=True, eq=False)
class Functions:
    """Functions l(·, v_j) of y, whitened: l ≈ (l(·, v) W)(l(·, v) W)ᵀ."""

    kernel: Radial
    points: FloatArray  #: The landmarks v, (r, d_y).
    white: AnyArray  #: W, (r, r'), in the precision of all that is computed.

    def of(self, u: FloatArray, scores: FloatArray) -> AnyArray:
        """Return s_c l(u, v) + ∂_c l(u, v) for each coordinate c, whitened, (n, d_y·r')."""
        sigma, rank = self.kernel.sigma, self.white.shape[1]
        kind = (
            self.white.dtype
            if float(np.abs(scores).max(initial=0.0)) < HUGE
            else np.float64
        )
        near = sqdist(u, self.points, sigma)
        if type(self.kernel) is Gaussian:
            value = np.multiply(near, -0.5, dtype=kind, casting="same_kind")
            slope = np.exp(value, out=value)
        else:
            value, slope, _ = (part.astype(kind) for part in self.kernel.profile(near))
            slope = -2.0 * slope
        # ∂_c l = −slope·(u_c − v_c)/σ²: the part with u_c is a multiple of rows, that with
        # v_c of columns, so that one product has them all.
        apart = ((u - self.points.mean(axis=0)) / sigma**2).astype(kind)
        columns = ((self.points - self.points.mean(axis=0)) / sigma**2).astype(kind)
        whites = [self.white, *(c[:, None] * self.white for c in columns.T)]
        turned = slope @ np.concatenate(whites, axis=1)
        bent = turned[:, None, :rank]
        out = turned[:, rank:].reshape(len(u), u.shape[1], rank)
        scores = scores.astype(kind)
        if slope is value:
            out += (scores - apart)[:, :, None] * bent
        else:
            out += (
                scores[:, :, None] * (value @ self.white)[:, None]
                - apart[:, :, None] * bent
            )
        return np.asarray(out.reshape(len(u), -1))


@dataclass(frozen=True, eq=False)
class SteinEvidence:
    """Evidence from scores: the Stein operator on landmark functions, one block a kernel on y."""

    d_y: int
    parts: tuple[Functions, ...]
    #: A rotation to directions that matter, where there is one part, (q, q').
    turn: FloatArray | None = None

    @classmethod
    def on(
        cls,
        kernels: Sequence[Radial],
        u: FloatArray,
        scores: FloatArray,
        rng: np.random.Generator,
        *,
        precision: float,
        cap: int,
        single: bool = False,
    ) -> SteinEvidence:
        """Choose landmarks among rows u, scores (n, d_y).

        With `single` they are computed in single precision, without directions too weak for
        it.
        """
        parts, size = [], np.square(scores).sum(axis=1)
        check_overflow(size)
        unit = float(np.median(size)) or 1.0
        for kernel in kernels:
            # What is left of l counts as much as the Stein operator makes of it.
            weight = size / unit + u.shape[1] / (kernel.sigma**2 * unit)
            chosen, _ = choose_pivots(
                kernel, u, rng, tolerance=precision, cap=cap, weight=weight
            )
            points = u[chosen]
            parts.append(
                Functions(kernel, points, whitening(kernel(points, points), single=single))
            )
        return cls(u.shape[1], tuple(parts))

    @property
    def blocks(self) -> tuple[EvidenceBlock, ...]:
        if self.turn is not None:
            return side_by_side([(EvidenceBlock("all"), self.turn.shape[1])])
        sigmas = [part.kernel.sigma for part in self.parts]
        sizes = [self.d_y * part.white.shape[1] for part in self.parts]
        blocks = [EvidenceBlock(f"bandwidth {sigma:.3g}", sigma) for sigma in sigmas]
        return side_by_side(zip(blocks, sizes, strict=True))

    def of(self, u: AnyArray, scores: AnyArray) -> FloatArray:
        """Apply the Stein operator, (n, q)."""
        xi = np.concatenate([part.of(u, scores) for part in self.parts], axis=1)
        return xi if self.turn is None else np.asarray(xi @ self.turn)


@dataclass(frozen=True, eq=False)
class CellEvidence:
    """Evidence of a discrete y: what kernels on its cells make of the residuals e_y − p."""

    kernels: tuple[CellKernel, ...]

    @property
    def blocks(self) -> tuple[EvidenceBlock, ...]:
        return side_by_side(
            (EvidenceBlock(k.name, getattr(k.shown, "bandwidth", None), "cells"), k.size)
            for k in self.kernels
        )

    def of(self, u: AnyArray, scores: AnyArray) -> FloatArray:
        """Return the centred features of residuals `scores` (n, cells); u plays no part."""
        residuals = np.asarray(scores)
        return np.concatenate(
            [kernel.features(residuals) for kernel in self.kernels], axis=1
        )


#: `of` returns ξ (n, q) of rows u, scores (n, d_y); `blocks` says which columns belong
#: together.
Evidence: TypeAlias = NormalEvidence | CensoredEvidence | SteinEvidence | CellEvidence
