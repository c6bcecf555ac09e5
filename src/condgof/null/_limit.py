"""The Gaussian limit of sums over many rows: Fᵀξ is N(0, Σ_s (FᵀF)_s⊗C_s).

A draw of G = Fᵀξ is Σ_s A_s·N·B_sᵀ with A_sA_sᵀ = (FᵀF)_s, B_sB_sᵀ = C_s and independent
N(0, 1) in N. One panel has most of the functions of y, and few features; all other panels
have many features, and few functions of y. So both roots are triangular in blocks: the
features of that panel, the *wide* ones, come first, and so do the functions of y that the
other panels need, the *narrow* ones. No feature is in two panels. So

    G_wide          = A_ww·N₁·Bᵀ                 for all functions of y,
    G_rest, narrow  = A_rw·(N₁·Bᵀ)_narrow + A_rr·N₂·B_nnᵀ,

with N₁ (wide, q) and N₂ (rest, narrow), and no other part of G is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.engine import Engine
from condgof.errors import check_overflow
from condgof.null._draws import NullDraws
from condgof.sample import Seed, Use
from condgof.stein import Plan, Totals, sum_arrays

#: Draws of a chunk.
LIMIT_CHUNK = 16
#: Eigen-directions of FᵀF and C whose eigenvalue is below this share of the largest are
#: left out: they have next to no part in a draw.
SMALLEST_ROOT_DIRECTION = 1e-7
#: `Limit.draw` draws normal numbers; a stream for each chunk of draws.
LIMIT_STREAM = 2


@dataclass(frozen=True, eq=False)
class RootBlock:
    """A block of a triangular root: how a group of variables depends on some noise."""

    rows: slice  #: The places of the variables in the order of the root.
    columns: slice  #: The numbers of the noise; as many as there are variables in all.
    values: SingleArray | None  #: (rows, columns); None stands for I.


@dataclass(frozen=True, eq=False)
class TriangularRoot:
    """A root L of a covariance C = LLᵀ (q, q), lower triangular in groups of variables.

    Groups come one after the other, and so does their noise. Blocks on the diagonal are
    symmetric roots, which do not depend on the signs and the order of eigenvectors:
    rounding may change these.
    """

    order: IntArray  #: The variables, group after group, (q,).
    blocks: tuple[RootBlock, ...]  #: Those that are not 0.

    @classmethod
    def from_covariance(
        cls, covariance: FloatArray, groups: Sequence[IntArray]
    ) -> TriangularRoot:
        """Return the root for `groups` of variables; each is in one group."""
        ends = np.cumsum([len(group) for group in groups])
        places = [
            slice(end - len(group), end) for end, group in zip(ends, groups, strict=True)
        ]
        order = np.concatenate(groups)
        by_group: list[dict[int, FloatArray]] = []  # L of a group, by earlier groups
        inverses: list[FloatArray] = []
        blocks = []
        for number, group in enumerate(groups):
            own: dict[int, FloatArray] = {}
            left = np.array(covariance[np.ix_(group, group)], dtype=np.float64)
            for k in range(number):
                shared = np.array(covariance[np.ix_(group, groups[k])], dtype=np.float64)
                for j in own.keys() & by_group[k].keys():
                    shared -= own[j] @ by_group[k][j].T
                if shared.any():
                    own[k] = shared @ inverses[k]
                    left -= own[k] @ own[k].T
                    of_earlier = own[k].astype(np.float32)
                    blocks.append(RootBlock(places[number], places[k], of_earlier))
            is_identity = np.array_equal(left, np.eye(len(group)))
            root = inverse = left
            if not is_identity:
                root, inverse = symmetric_root(left)
            values = None if is_identity else root.astype(np.float32)
            blocks.append(RootBlock(places[number], places[number], values))
            inverses.append(inverse)
            own[number] = root
            by_group.append(own)
        return cls(order=order, blocks=tuple(blocks))

    def multiply(self, noise: AnyArray) -> AnyArray:
        """Return noise·Lᵀ, the variables in their own order, (…, q), of noise (…, q)."""
        if not noise.size:
            return noise
        flat = noise.reshape(-1, len(self.order))
        ordered = np.zeros(flat.shape, dtype=noise.dtype)
        for block in self.blocks:
            some = flat[:, block.columns]
            ordered[:, block.rows] += (
                some if block.values is None else some @ block.values.T
            )
        return ordered[:, np.argsort(self.order)].reshape(noise.shape)

    def matrix(self) -> SingleArray:
        """Return L, variables and noise in the order of groups, (q, q)."""
        whole = np.zeros((len(self.order), len(self.order)), dtype=np.float32)
        for block in self.blocks:
            values = block.values
            if values is None:
                values = np.eye(block.rows.stop - block.rows.start, dtype=np.float32)
            whole[block.rows, block.columns] = values
        return whole


class SymmetricRoot(NamedTuple):
    """The symmetric root of a positive semi-definite matrix, and its inverse, (q, q)."""

    root: FloatArray
    inverse: FloatArray  #: On the directions that are kept.


def symmetric_root(matrix: FloatArray) -> SymmetricRoot:
    """Return the symmetric root of a positive semi-definite matrix, up to rounding."""
    values, axes = np.linalg.eigh((matrix + matrix.T) / 2.0)
    kept = values > SMALLEST_ROOT_DIRECTION * max(values[-1], 0.0)
    axes = axes[:, kept]
    roots = np.sqrt(values[kept])
    return SymmetricRoot((axes * roots) @ axes.T, (axes / roots) @ axes.T)


@dataclass(frozen=True, eq=False)
class _Split:
    """Which features are wide and which are not, and which functions of y are narrow."""

    widest: int  #: The panel with most functions of y.
    wide: IntArray  #: The features of that panel.
    rest: IntArray  #: All other features.
    is_narrow: AnyArray  #: Whether another panel needs a function of y, (q,).

    @classmethod
    def from_plan(cls, plan: Plan) -> _Split:
        cuts = plan.cuts
        widest = max(range(len(cuts)), key=lambda p: cuts[p].y_width)
        is_wide = np.zeros(plan.features.width, dtype=bool)
        is_wide[cuts[widest].x] = True
        is_narrow = np.zeros(plan.test_functions.width, dtype=bool)
        for p, cut in enumerate(cuts):
            if p != widest:
                assert not is_wide[cut.x].any(), "a feature is in two panels"
                is_narrow[cut.y] = True
        return cls(
            widest=widest,
            wide=np.flatnonzero(is_wide),
            rest=np.flatnonzero(~is_wide),
            is_narrow=is_narrow,
        )

    @property
    def narrow(self) -> IntArray:
        return np.flatnonzero(self.is_narrow)

    def groups(self, independent: Sequence[IntArray]) -> list[IntArray]:
        """Return groups of functions of y, the narrow ones first."""
        first = [group[self.is_narrow[group]] for group in independent]
        second = [group[~self.is_narrow[group]] for group in independent]
        return [group for group in (*first, *second) if len(group)]


@dataclass(frozen=True, eq=False)
class _StratumRoots:
    """The roots of one stratum, in single precision."""

    wide: SingleArray  #: A_ww.
    rest_by_wide: SingleArray  #: A_rw.
    rest: SingleArray  #: A_rr.
    functions: TriangularRoot  #: B.
    narrow: TriangularRoot  #: B_nn.

    @classmethod
    def from_moments(
        cls,
        gram: FloatArray,
        covariance: FloatArray,
        split: _Split,
        independent: Sequence[IntArray],
    ) -> _StratumRoots:
        """Take the roots of FᵀF (R, R) and of C (q, q)."""
        in_groups = [group for group in (split.wide, split.rest) if len(group)]
        root = TriangularRoot.from_covariance(gram, in_groups).matrix()
        wide = len(split.wide)
        narrow = split.narrow
        position = np.zeros(len(covariance), dtype=np.int64)
        position[narrow] = np.arange(len(narrow))
        narrow_groups = [position[group[split.is_narrow[group]]] for group in independent]
        return cls(
            wide=root[:wide, :wide],
            rest_by_wide=root[wide:, :wide],
            rest=root[wide:, wide:],
            functions=TriangularRoot.from_covariance(covariance, split.groups(independent)),
            narrow=TriangularRoot.from_covariance(
                covariance[np.ix_(narrow, narrow)],
                [group for group in narrow_groups if len(group)] or [narrow],
            ),
        )


@dataclass(frozen=True, eq=False)
class Limit:
    """Fᵀξ of the data beside N(0, Σ_s (FᵀF)_s⊗C_s), with one C (q, q) a stratum s."""

    plan: Plan
    observed: FloatArray  #: ‖Fᵀξ‖² of each statistic, (K,).
    mean: FloatArray  #: Its mean under the limit, (K,).
    split: _Split
    roots: list[_StratumRoots]  #: One a stratum.

    @classmethod
    def from_totals(
        cls, plan: Plan, totals: Totals, covariances: list[FloatArray]
    ) -> Limit:
        split = _Split.from_plan(plan)
        independent = plan.test_functions.independent_groups
        roots = []
        mean = np.zeros(len(plan.statistics))
        for gram, covariance in zip(totals.grams, covariances, strict=True):
            roots.append(_StratumRoots.from_moments(gram, covariance, split, independent))
            x_squares = np.diag(gram)
            y_squares = np.diag(covariance)
            mean += [
                x_squares[one.features.columns].sum()
                * y_squares[one.test_functions.columns].sum()
                for one in plan.statistics
            ]
        return cls(
            plan=plan,
            observed=plan.squares([one[None] for one in totals.sums])[0],
            mean=mean,
            split=split,
            roots=roots,
        )

    def sums(self, rng: np.random.Generator, m: int) -> list[AnyArray]:
        """Draw Fᵀξ of each panel m times, (m, R_p, q_p)."""
        parts = [self._stratum_sums(rng, m, roots) for roots in self.roots]
        return reduce(lambda one, other: sum_arrays([one, other]), parts)

    def _stratum_sums(
        self, rng: np.random.Generator, m: int, roots: _StratumRoots
    ) -> list[AnyArray]:
        """Draw what one stratum adds to Fᵀξ of each panel."""
        split = self.split
        narrow = split.narrow
        first_shape = (m, len(split.wide), self.plan.test_functions.width)
        second_shape = (m, len(split.rest), len(narrow))
        first = roots.functions.multiply(rng.standard_normal(first_shape, dtype=np.float32))
        second = roots.narrow.multiply(rng.standard_normal(second_shape, dtype=np.float32))
        sums = []
        for p, cut in enumerate(self.plan.cuts):
            if p == split.widest:
                sums.append(roots.wide @ first[:, :, cut.y])
                continue
            rows = slice(*np.searchsorted(split.rest, (cut.x.start, cut.x.stop)))
            columns = slice(*np.searchsorted(narrow, (cut.y.start, cut.y.stop)))
            by_first = roots.rest_by_wide[rows] @ first[:, :, cut.y]
            sums.append(by_first + roots.rest[rows] @ second[:, :, columns])
        return sums

    def draw(self, m: int, seed: Seed, engine: Engine) -> NullDraws:
        """Draw all statistics m times."""

        def task(start: int) -> FloatArray:
            """Return ‖Fᵀξ‖² of each statistic for the draws from `start` on, (K, draws)."""
            rng = seed.stream(Use.MODEL_SAMPLE, LIMIT_STREAM, start)
            return self.plan.squares(self.sums(rng, min(LIMIT_CHUNK, m - start))).T

        chunks = engine.local.map(task, range(0, m, LIMIT_CHUNK))
        draws = np.concatenate(list(chunks), axis=1)
        check_overflow(self.observed, draws)
        return NullDraws(
            statistics=self.observed - self.mean,
            draws=draws - self.mean[:, None],
            sizes=self.mean,
            details={"null": "limit"},
        )
