"""The Stein matrix H_ij of a sample, never built."""

from __future__ import annotations

from dataclasses import dataclass

from condgof._typing import FloatArray, IntArray
from condgof.kernels import CellKernel, CovariateKernel, FiniteLocations, ResponseKernel
from condgof.stein._centred import CentredKernel
from condgof.stein._kernel import PairKernel, Prepared, Rows, SteinKernel


@dataclass(frozen=True, eq=False)
class SteinOperator:
    """The Stein matrix of a sample as a lazy operator: symmetric and positive semi-definite.

    Parameters
    ----------
    kernel : SteinKernel or CentredKernel
        How rows are compared.
    sample : SteinRows or CentredRows
        All rows, prepared.
    """

    kernel: PairKernel
    sample: Prepared

    @classmethod
    def of(
        cls,
        x: FloatArray,
        y: FloatArray,
        scores: FloatArray,
        kernel_x: CovariateKernel | FiniteLocations,
        kernel_y: ResponseKernel,
    ) -> SteinOperator:
        """Prepare the rows x (n, d_x), y and scores (n, d_y) for kernels that are ready.

        With a kernel of a discrete y the scores are residuals (n, cells).
        """
        if isinstance(kernel_y, CellKernel):
            kernel: PairKernel = CentredKernel(kernel_x, kernel_y)
        else:
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
