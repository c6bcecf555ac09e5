"""The Stein matrix H_ij of a sample, never built."""

from __future__ import annotations

from dataclasses import dataclass

from condgof._typing import FloatArray, IntArray
from condgof.kernels import CovariateKernel, FiniteLocations, Radial
from condgof.stein._kernel import Rows, SteinKernel, SteinRows


@dataclass(frozen=True, eq=False)
class SteinOperator:
    """The Stein matrix of a sample as a lazy operator: symmetric and positive semi-definite."""

    #: How rows are compared.
    kernel: SteinKernel
    #: All rows, prepared.
    sample: SteinRows

    @classmethod
    def of(
        cls,
        x: FloatArray,
        y: FloatArray,
        scores: FloatArray,
        kernel_x: CovariateKernel | FiniteLocations,
        kernel_y: Radial,
    ) -> SteinOperator:
        """Prepare the rows x (n, d_x), y and scores (n, d_y) for kernels that are ready."""
        kernel = SteinKernel.amid(x, y, kernel_x, kernel_y)
        return cls(kernel, kernel.rows(x, y, scores))

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""
        return len(self.sample)

    def diag(self) -> FloatArray:
        """Return the diagonal, (n,)."""
        return self.kernel.diag(self.sample)

    def rows(self, index: IntArray) -> FloatArray:
        """Return whole rows of the matrix, (len(index), n)."""
        return self.kernel.block(self.sample.take(index), self.sample)

    def block(self, rows: Rows, columns: Rows) -> FloatArray:
        """Return the block of the matrix at some rows and columns."""
        return self.kernel.block(self.sample.take(rows), self.sample.take(columns))
