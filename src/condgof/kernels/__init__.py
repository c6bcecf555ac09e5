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
    Categorical,
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    Gram,
    Kernel,
    OnColumns,
    Product,
    Radial,
    direct_sqdist,
    median_distance,
    product_is_exact,
    resolve_x,
    resolve_y,
    sqdist,
)
from condgof.kernels._radial import IMQ, Matern12, Matern52

__all__ = [
    "IMQ", "Block", "Categorical", "CellKernel", "Cells", "CovariateKernel", "FiniteLocations",
    "Gaussian", "Gram", "Kernel", "Matern12", "Matern52", "OnColumns", "Ordinal", "Product",
    "Radial", "ResponseKernel", "cell_scales", "direct_sqdist", "median_distance",
    "product_is_exact", "resolve_cells", "resolve_x", "resolve_y", "sqdist",
]  # fmt: skip
