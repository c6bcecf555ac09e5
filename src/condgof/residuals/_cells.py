"""Residuals of a discrete y: indicators of its cells less their probabilities.

A kernel on y is a linear map of these residuals to features, whose mean given x is exactly
0 under the law (`condgof.kernels.CellKernel`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from condgof import kernels
from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.kernels import CellKernel, Cells, Kernel, ResponseKernel, SameFeatures
from condgof.laws import (
    FULL,
    PLAIN,
    ClassTable,
    Discrete,
    FullClassOutcomes,
    Law,
    Outcomes,
)
from condgof.residuals._cell_scores import ordered_cell_scores
from condgof.residuals._rare import (
    Exceptions,
    RareEventResampler,
    ResampledValues,
    draw_exceptions_in_blocks,
    first_cells,
    other_cells,
)
from condgof.residuals._resampled import FEW_CELLS, ResampledCells, ResampledClasses
from condgof.residuals._residuals import (
    DependenceValues,
    Neighbours,
    Resampled,
    Resampler,
    Residuals,
    SizedBlock,
    TestFunctionBlock,
    TestFunctions,
    few_stretches,
    side_by_side,
)
from condgof.residuals._stein import BANDWIDTHS
from condgof.sample import Sample, Seed

#: Test functions of all cells of all rows are held if they are at most this many numbers
#: (128 MB); else they are computed for the cells that are drawn.
HELD_NUMBERS = 2**24
#: Rows on which features of a kernel on y are computed first: a kernel whose features are 0
#: in all of them is left out.
PROBE_ROWS = 4096
#: All rows are examined for autocorrelation up to this many probabilities of their cells.
STRETCHED_NUMBERS = 2**22


@dataclass(frozen=True, eq=False)
class CellTestFunctions(TestFunctions):
    """What kernels on the cells of y make of the residuals e_y − p, one block each."""

    kernels: tuple[CellKernel, ...]
    resampled = True

    @property
    def blocks(self) -> tuple[TestFunctionBlock, ...]:
        sized = []
        for kernel in self.kernels:
            bandwidth = getattr(kernel.shown, "bandwidth", None)
            block = TestFunctionBlock(kernel.name, bandwidth=bandwidth, is_named=True)
            sized.append(SizedBlock(block, kernel.size))
        return side_by_side(sized)

    def evaluate(self, residuals: CellResiduals) -> FloatArray:
        return self.features(np.asarray(residuals.values))

    def features(self, values: FloatArray) -> FloatArray:
        """Return ξ (n, q) of residuals (n, cells)."""
        return np.concatenate([kernel.features(values) for kernel in self.kernels], axis=1)

    def kernel_of(self, block: TestFunctionBlock) -> Kernel:
        return self.kernels[self.blocks.index(block)].shown

    @property
    def block_indicator(self) -> FloatArray:
        """Which columns of ξ belong to which block, (q, blocks), as 1 and 0."""
        sizes = [kernel.size for kernel in self.kernels]
        return np.repeat(np.eye(len(sizes)), sizes, axis=0)

    @property
    def are_residuals(self) -> bool:
        """Whether ξ are residuals as they are, with a block for each of theirs."""
        parts = [kernel.parts for kernel in self.kernels]
        return all(
            len(own) == 1 and isinstance(own[0].residual_map, SameFeatures) for own in parts
        )


@dataclass(frozen=True, eq=False)
class CellResiduals(Residuals):
    """y as one of several cells, less the probability of each under the law."""

    compared_as = "cells of a discrete y"
    tests_locations = True
    u: FloatArray  #: y as a number that kernels could compare, (n, d_y).
    #: Residuals (n, cells), which may be made only when rows are taken.
    values: FloatArray
    cells: Cells  #: What the columns of the residuals are of.
    #: From what y can be drawn given x; None where only ratios of probabilities are known.
    outcomes: Outcomes | None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_cells(cls, law: Law, sample: Sample, *, full: bool, **more: Any) -> Self:
        """Ask a law of a discrete y for its residuals, all of them or those of y alone.

        `more` are fields of the subclass.
        """
        assert isinstance(law, Discrete)
        by = FULL if full else PLAIN
        compared = law.residuals(sample.y_given, by)
        return cls(
            u=compared.u,
            values=compared.values,
            cells=law.cells(by),
            outcomes=compared.outcomes,
            notes=law.remarks(sample.y_given),
            **more,
        )

    @property
    def n(self) -> int:
        return len(self.u)

    @property
    def row_width(self) -> int:
        return int(self.u.shape[1] + self.values.shape[1])

    @property
    def cell_count(self) -> int:
        if self.outcomes is None:
            return 1
        return int(self.outcomes.probabilities.shape[1])

    def take(self, rows: slice | IntArray) -> Self:
        outcomes = self.outcomes
        if outcomes is not None:
            outcomes = outcomes.take(np.arange(self.n)[rows])
        return replace(self, u=self.u[rows], values=self.values[rows], outcomes=outcomes)

    def ready_kernel(self, kernel: object, seed: Seed) -> ResponseKernel:
        return kernels.resolve_cells(kernel, self.cells)

    def kernel_test_functions(
        self,
        kernel: ResponseKernel,
        rng: np.random.Generator,
        *,
        precision: float,
        cap: int,
        single: bool,
    ) -> CellTestFunctions:
        assert isinstance(kernel, CellKernel)
        return CellTestFunctions((kernel,))

    def test_functions(self, seed: Seed) -> TestFunctions:
        each = kernels.cell_scales(self.cells, BANDWIDTHS)
        some = np.asarray(self.values[: min(self.n, PROBE_ROWS)])
        # A kernel whose features are 0 in every row has nothing to compare.
        telling = tuple(kernel for kernel in each if kernel.features(some).any())
        return CellTestFunctions(telling or each[:1])

    @property
    def can_resample(self) -> bool:
        return self.outcomes is not None

    def resampler(
        self, test_functions: TestFunctions, neighbours: Neighbours
    ) -> Resampler | None:
        if self.outcomes is None or not isinstance(test_functions, CellTestFunctions):
            return None
        return CellResampler.from_outcomes(test_functions, self.outcomes)

    def rare_event_resampler(
        self, test_functions: TestFunctions, keep: AnyArray | None = None
    ) -> RareEventResampler | None:
        """Return what draws y of many rows again; of rows that do not count, zeros.

        `keep` (n,) says which rows count. None where y cannot be drawn.
        """
        if self.outcomes is None or not isinstance(test_functions, CellTestFunctions):
            return None
        return CellResampler.from_outcomes(test_functions, self.outcomes, keep)

    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        return {}

    def dependence_values(self) -> DependenceValues:
        """Return normal scores of cells in their order; a subclass may know better."""
        assert self.outcomes is not None
        return ordered_cell_scores(self.outcomes.probabilities, self.outcomes.observed)

    def stretches(self, size: int) -> list[slice]:
        if self.n * self.cell_count <= STRETCHED_NUMBERS:
            return [slice(0, self.n)]
        return few_stretches(self.n, size)

    def details(self) -> dict[str, Any]:
        return {"standardized_by": self.cells.words}


@dataclass(frozen=True, eq=False)
class CellResampler:
    """Draws of a discrete y from its law, for some rows, as test functions."""

    test_functions: CellTestFunctions
    outcomes: Outcomes
    p: FloatArray  #: Probabilities of the cells, (n, K).
    mode: IntArray  #: The most probable cell of each row, (n,).
    rare: FloatArray  #: Probability of any other cell, (n,).
    keep: AnyArray | None  #: Which rows count, (n,); all of them if None.
    names = ()

    @classmethod
    def from_outcomes(
        cls,
        test_functions: CellTestFunctions,
        outcomes: Outcomes,
        keep: AnyArray | None = None,
    ) -> CellResampler:
        p = np.array(outcomes.probabilities, dtype=np.float64)
        p /= p.sum(axis=1, keepdims=True)
        mode = p.argmax(axis=1)
        rows = np.arange(len(p))
        largest = p[rows, mode]
        p[rows, mode] = 0.0
        rare = p.sum(axis=1)
        p[rows, mode] = largest
        return cls(
            test_functions=test_functions,
            outcomes=outcomes,
            p=p,
            mode=mode,
            rare=rare,
            keep=keep,
        )

    @cached_property
    def _cumulative(self) -> FloatArray:
        """Running sums of the probabilities of all cells but the last, (n, K − 1)."""
        return np.cumsum(self.p[:, :-1], axis=1)

    @cached_property
    def _ends(self) -> FloatArray:
        """Running sums of row i moved to [i, i + 1], (n, K)."""
        ends = np.cumsum(self.p, axis=1)
        np.minimum(ends, 1.0, out=ends)
        ends[:, -1] = 1.0  # rounding must not leave a gap at the end
        ends += np.arange(len(ends))[:, None]
        return ends

    def _cells_at(self, uniforms: FloatArray) -> IntArray:
        """Return the first cell whose running sum is above each number, (n, c)."""
        n, count = self.p.shape
        if count <= FEW_CELLS:
            passed = np.zeros(uniforms.shape, dtype=np.int64)
            for sums in self._cumulative.T:
                passed += uniforms >= sums[:, None]
            return passed
        rows = np.arange(n)[:, None]
        return first_cells(self._ends, rows, uniforms + rows)

    @cached_property
    def _is_linear(self) -> bool:
        """Whether ξ is a function of the cell alone, less its mean in each row."""
        blocks = [
            block for kernel in self.test_functions.kernels for block, _ in kernel.parts
        ]
        return all(block.stop <= self.outcomes.plain for block in blocks)

    @cached_property
    def _class_table(self) -> ClassTable | None:
        """What residuals by label, rank and log-probability have in common, of classes."""
        if not isinstance(self.outcomes, FullClassOutcomes):
            return None
        return ClassTable.from_probabilities(self.p)

    @cached_property
    def _linear_table(self) -> FloatArray:
        """ξ of all cells before its mean is taken off, (K, q)."""
        return self.test_functions.features(np.eye(self.p.shape[1], self.outcomes.plain))

    @cached_property
    def _linear_mean(self) -> FloatArray:
        """That mean, (n, q)."""
        table = self._linear_table
        is_identity = (
            table.shape[0] == table.shape[1] and (table == np.eye(len(table))).all()
        )
        return self.p if is_identity else np.asarray(self.p @ table)

    @cached_property
    def _table(self) -> FloatArray | None:
        """ξ of all cells of all rows, (n, K, q); None where that is too much."""
        n, count = self.p.shape
        if n * count * self.test_functions.width > HELD_NUMBERS:
            return None
        every = []
        for cell in range(count):
            residuals = np.asarray(self.outcomes.residuals(np.full(n, cell)))
            every.append(self.test_functions.features(residuals))
        return np.stack(every, axis=1)

    @property
    def observed(self) -> FloatArray:
        return np.empty(0)

    def draw(self, rng: np.random.Generator, m: int) -> Resampled:
        n = len(self.mode)
        uniforms = np.stack([rng.random(n) for _ in range(m)], axis=1)
        codes = self._cells_at(uniforms)
        values = np.stack([self._by_table(own) for own in codes.T], axis=1)
        return Resampled(values=values, additional=np.empty((0, m)), drawn=uniforms)

    @property
    def _are_few_cells(self) -> bool:
        """Whether ξ is a function of a cell alone, one of few, less its mean."""
        return self._is_linear and self.p.shape[1] <= FEW_CELLS

    @property
    def _are_all_of_classes(self) -> bool:
        """Whether ξ are all residuals of classes: by label, rank and log-probability."""
        functions = self.test_functions
        table = self._class_table
        is_whole = table is not None and functions.width == table.width
        return is_whole and functions.are_residuals

    @property
    def numbers_each(self) -> int:
        sums_alone = self._are_few_cells or self._are_all_of_classes
        return len(self.p) * (1 if sums_alone else self.test_functions.width)

    def resampled(
        self, uniforms: FloatArray, certain: float = 0.0
    ) -> ResampledValues | AnyArray:
        """Return ξ of cells drawn by uniform numbers (n, c): (n, c, q), or what sums it.

        Rows whose exceptions have at most the probability `certain` are their mode.
        """
        is_drawn = self.rare > certain
        mode = self.mode[:, None]
        codes = np.where(is_drawn[:, None], self._cells_at(uniforms), mode)
        keep = np.ones(len(codes), dtype=bool) if self.keep is None else self.keep
        if self._are_few_cells:
            usual = self.evaluate(None, self.mode)
            return ResampledCells(
                codes=codes,
                is_drawn=is_drawn & keep,
                table=self._linear_table,
                fixed=np.where((is_drawn & keep)[:, None], -self._linear_mean, usual),
                blocks=self.test_functions.block_indicator,
            )
        if self._are_all_of_classes:
            assert self._class_table is not None
            return ResampledClasses(
                table=self._class_table, codes=codes, is_drawn=is_drawn, keep=keep
            )
        return np.stack([self.evaluate(None, own) for own in codes.T], axis=1)

    def _by_table(self, codes: IntArray) -> AnyArray:
        """Return ξ (n, q) of cells (n,) in one of many draws."""
        if self._is_linear or self._table is None:
            return self.evaluate(None, codes)
        values = self._table[np.arange(len(self.mode)), codes]
        return np.asarray(values if self.keep is None else values * self.keep[:, None])

    def evaluate(self, rows: IntArray | None, codes: IntArray) -> AnyArray:
        """Return ξ (m, q) of cells (m,) at some rows, or at all."""
        some = slice(None) if rows is None else rows
        if self._is_linear:
            values = self._linear_table[codes]
            values -= self._linear_mean[some]
        elif self._class_table is not None:
            table = self._class_table.take(some)
            values = self.test_functions.features(table.residuals(codes))
        else:
            outcomes = self.outcomes if rows is None else self.outcomes.take(rows)
            values = self.test_functions.features(np.asarray(outcomes.residuals(codes)))
        return np.asarray(values if self.keep is None else values * self.keep[some, None])

    def has_certain_rows(self, certain: float) -> bool:
        return bool(((self.rare > 0) & (self.rare <= certain)).any())

    def exceptions(
        self, start: int, certain: float, draws: range, seed: Seed
    ) -> Exceptions:
        """Return where rows that are nearly certain are not drawn as their mode."""
        rare = np.where(self.rare <= certain, self.rare, 0.0)
        return draw_exceptions_in_blocks(rare, certain, start, draws, seed)

    def other_cells(self, exceptions: Exceptions) -> IntArray:
        """Return which other cells exceptions are, (e,)."""
        rows = exceptions.rows
        p = self.outcomes.take(rows).probabilities
        return other_cells(p, self.mode[rows], exceptions.uniforms)

    def exceptional(self, exceptions: Exceptions) -> AnyArray:
        """Return ξ of exceptions, (e, q): any cell but the most probable one."""
        return self.evaluate(exceptions.rows, self.other_cells(exceptions))

    def usual(self, rows: IntArray) -> AnyArray:
        """Return ξ of the most probable cells at rows (e,), (e, q)."""
        return self.evaluate(rows, self.mode[rows])
