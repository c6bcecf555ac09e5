"""What the adaptive test compares: kernels at all scales, and at single locations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from condgof.kernels import (
    CellKernel,
    CovariateKernel,
    Gaussian,
    OnColumns,
    ResponseKernel,
    cell_scales,
)
from condgof.methods._prepare import Scored
from condgof.methods._random import row_locations
from condgof.methods._stream import SUBSAMPLE
from condgof.sample import Seed, Use
from condgof.stein import CentredScales, LocalKernel, ScaleKernel, SteinOperator, choose_landmarks

#: The bandwidth on x at single locations, in medians, and those on y, in units of the coordinates.
LOCAL_X = 0.5
LOCAL_Y = (1.0, 4.0)
#: Relative residual and largest rank of the factors on y at single locations.
LOCAL_TOLERANCE, LOCAL_RANK = 1e-2, 48


@dataclass(frozen=True, eq=False)
class Design:
    """What is compared, at which scales and where.

    Parameters
    ----------
    kernel_x : CovariateKernel
        k with the median bandwidth.
    x_scales : tuple of float
        Multiples of that bandwidth.
    y_scales : tuple of float
        Bandwidths on y.
    y_unit : float
        What they are multiples of.
    n_locations : int
        How many single locations; 0 for none.
    """

    kernel_x: CovariateKernel
    x_scales: tuple[float, ...]
    y_scales: tuple[float, ...]
    y_unit: float
    n_locations: int

    def scale_kernel(self, rows: Scored) -> ScaleKernel:
        """Return the Stein kernels of all scales."""
        if rows.cells is not None:
            kernels = self.cell_kernels(rows, self.y_scales)
            return CentredScales.of(rows.x, self.kernel_x, self.x_scales, kernels)
        bandwidths = tuple(self.y_unit * scale for scale in self.y_scales)
        return ScaleKernel.amid(rows.x, rows.y, self.kernel_x, self.x_scales, bandwidths)

    def cell_kernels(self, rows: Scored, scales: tuple[float, ...]) -> tuple[CellKernel, ...]:
        """Return the kernels on a discrete y; one that says nothing of any row is left out."""
        assert rows.cells is not None
        some = np.asarray(rows.scores[: min(rows.n, SUBSAMPLE)])
        kernels = cell_scales(rows.cells, tuple(self.y_unit * scale for scale in scales))
        telling = tuple(kernel for kernel in kernels if kernel.features(some).any())
        return telling or kernels[:1]

    def local_kernels_on_y(self, rows: Scored) -> tuple[ResponseKernel, ...]:
        """Return the kernels on y at single locations."""
        if rows.cells is not None:
            return self.cell_kernels(rows, self.y_scales)
        return tuple(Gaussian(scale * self.y_unit) for scale in LOCAL_Y)

    def local_kernel(self, rows: Scored, seed: Seed) -> LocalKernel:
        """Choose rows of x as locations (y is not looked at), and factor the kernels on y."""
        rng = seed.stream(Use.LOCATIONS)
        count = min(self.n_locations, rows.n)
        locations = row_locations(rows.x, count, rng)
        factors = []
        for number, kernel_y in enumerate(self.local_kernels_on_y(rows)):
            pivots = seed.stream(Use.LANDMARKS, 2, number)
            some = np.arange(rows.n)
            if rows.n > SUBSAMPLE:
                some = np.sort(pivots.choice(rows.n, SUBSAMPLE, replace=False))
            operator = SteinOperator.of(
                rows.x[some],
                rows.y[some],
                rows.scores[some],
                CovariateKernel(()),
                kernel_y,
            )
            factors.append(choose_landmarks(operator, pivots, tolerance=LOCAL_TOLERANCE, cap=LOCAL_RANK))
        return LocalKernel(narrowed(self.kernel_x, LOCAL_X), locations, tuple(factors))


def narrowed(kernel: CovariateKernel, factor: float) -> CovariateKernel:
    """Return a kernel on x with the bandwidths of its Gaussian factors multiplied."""

    def change(part: OnColumns) -> OnColumns:
        if not isinstance(part.kernel, Gaussian):
            return part
        return replace(part, kernel=part.kernel.with_bandwidth(factor * part.kernel.sigma))

    return replace(kernel, factors=tuple(map(change, kernel.factors)))
