"""Kernels: radial profiles, products over columns, finite locations, bandwidths."""

from condgof.kernels._cells import Block as Block
from condgof.kernels._cells import CellKernel as CellKernel
from condgof.kernels._cells import Cells as Cells
from condgof.kernels._cells import Ordinal as Ordinal
from condgof.kernels._cells import ResponseKernel as ResponseKernel
from condgof.kernels._cells import cell_scales as cell_scales
from condgof.kernels._cells import resolve_cells as resolve_cells
from condgof.kernels._kernel import IMQ as IMQ
from condgof.kernels._kernel import Categorical as Categorical
from condgof.kernels._kernel import CovariateKernel as CovariateKernel
from condgof.kernels._kernel import FiniteLocations as FiniteLocations
from condgof.kernels._kernel import Gaussian as Gaussian
from condgof.kernels._kernel import Gram as Gram
from condgof.kernels._kernel import Kernel as Kernel
from condgof.kernels._kernel import Matern12 as Matern12
from condgof.kernels._kernel import Matern52 as Matern52
from condgof.kernels._kernel import OnColumns as OnColumns
from condgof.kernels._kernel import Product as Product
from condgof.kernels._kernel import Radial as Radial
from condgof.kernels._kernel import median_distance as median_distance
from condgof.kernels._kernel import resolve_x as resolve_x
from condgof.kernels._kernel import resolve_y as resolve_y
from condgof.kernels._kernel import sqdist as sqdist
