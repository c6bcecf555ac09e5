"""Kernels: radial profiles, products over columns, finite locations, bandwidths."""

from condgof.kernels._cells import (
    Block,
    CellKernel,
    Cells,
    Ordinal,
    ResponseKernel,
    cell_scales,
    resolve_cells,
)
from condgof.kernels._kernel import (
    IMQ,
    Categorical,
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    Gram,
    Kernel,
    Matern12,
    Matern52,
    OnColumns,
    Product,
    Radial,
    median_distance,
    resolve_x,
    resolve_y,
    sqdist,
)

__all__ = [
    "IMQ", "Block", "Categorical", "CellKernel", "Cells", "CovariateKernel", "FiniteLocations",
    "Gaussian", "Gram", "Kernel", "Matern12", "Matern52", "OnColumns", "Ordinal", "Product",
    "Radial", "ResponseKernel", "cell_scales", "median_distance", "resolve_cells", "resolve_x",
    "resolve_y", "sqdist",
]  # fmt: skip
