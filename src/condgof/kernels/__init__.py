"""Kernels: radial profiles, products over columns, finite locations, bandwidths."""

from condgof.kernels._bandwidth import median_distance
from condgof.kernels._base import Kernel, Radial
from condgof.kernels._categorical import Categorical
from condgof.kernels._cells import (
    Block,
    CellKernel,
    Cells,
    Ordinal,
    ResponseKernel,
    cell_scales,
    resolve_cells,
)
from condgof.kernels._distance import direct_sqdist, product_is_exact, sqdist
from condgof.kernels._gram import Gram
from condgof.kernels._product import OnColumns, Product
from condgof.kernels._profiles import IMQ, Gaussian, Laplace, Matern52
from condgof.kernels._resolve import CovariateKernel, FiniteLocations, resolve_x, resolve_y

__all__ = [
    "IMQ",
    "Block",
    "Categorical",
    "CellKernel",
    "Cells",
    "CovariateKernel",
    "FiniteLocations",
    "Gaussian",
    "Gram",
    "Kernel",
    "Laplace",
    "Matern52",
    "OnColumns",
    "Ordinal",
    "Product",
    "Radial",
    "ResponseKernel",
    "cell_scales",
    "direct_sqdist",
    "median_distance",
    "product_is_exact",
    "resolve_cells",
    "resolve_x",
    "resolve_y",
    "sqdist",
]
