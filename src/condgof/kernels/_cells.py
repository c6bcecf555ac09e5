"""Kernels of a discrete y: on the cells of a finite set, centred exactly under the model.

A discrete y falls into one of K cells (a class, a range of counts, the range between two
predicted quantiles). A model with cell probabilities p has, for each row, residuals
r = e_y − p over the cells, where e_y is the unit vector of the observed cell; their mean
given x is 0. Whatever the kernel l on the cells, with L = ΨΨᵀ its matrix (K, K) there,

    l(y, y') − E l(Y, y') − E l(y, Y') + E l(Y, Y') = rᵀ·L·r' = ⟨Ψᵀr, Ψᵀr'⟩,

so that a kernel is a linear map Ψᵀ of residuals to features, and each feature has mean 0
exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError
from condgof.kernels._kernel import Categorical, Gaussian, Kernel, Radial

# Eigenvectors of a kernel's matrix whose eigenvalue is below this share of the largest one
# are rounding error, and are left out of Ψ.
SMALLEST_EIGENVALUE = 1e-12

# The bandwidth that "median" stands for: one predictive standard deviation for counts, one
# step between neighbours for ordered categories. It must not be the median distance of the
# data: y resampled from the model, for the null distribution, would have another one.
MEDIAN_BANDWIDTH = 1.0


@dataclass(frozen=True)
class Ordinal(Kernel):
    """Kernel on ordered categories: −|a − b|/2, where a and b count categories.

    Its features are the indicators of y ≤ t, for all t but the last category: two
    categories are the more alike, the fewer lie between them. It is positive definite once
    centred, which is all that is needed. For models of a discrete y, as `kernel_y`.

    Examples
    --------
    >>> Ordinal()(np.array([[0.0]]), np.array([[0.0], [3.0]]))
    array([[-0. , -1.5]])
    """

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        values: FloatArray = -0.5 * np.abs(a[:, None, :] - b).sum(axis=2)
        return values


class CellGeometry(Enum):
    """What is known about how far apart the cells of a block are."""

    #: Nothing: any two cells are equally different (classes). Also for columns of residuals
    #: that are features already (ranks).
    UNORDERED = auto()
    #: Their order (ordered categories): cells are compared by the steps between them.
    ORDERED = auto()
    #: Their distance in units of y (counts): a radial kernel applies.
    METRIC = auto()


@dataclass(frozen=True, eq=False)
class Block:
    """Neighbouring columns of the residuals that describe y in one way.

    Residuals (n, width) may describe y in several ways side by side: class probabilities
    have a block of labels, one of ranks and one of log-probabilities. Each block gets a
    kernel of its own and is a test of its own in `adaptive`.

    Parameters
    ----------
    name : str
        What results call the tests of this block, such as ``"labels"`` or ``"counts"``.
    start, stop : int
        The columns of the residuals, from `start` to `stop` − 1.
    positions : ndarray of shape (stop − start,), optional
        Where the cells lie, increasing. None for cells without an order, and for columns
        that are features already.
    distances : bool
        Whether differences of positions are in units of y, so that a radial kernel with
        several bandwidths applies (counts). Otherwise positions tell the order alone
        (ordered categories).
    """

    name: str
    start: int
    stop: int
    positions: FloatArray | None = None
    distances: bool = False

    @property
    def columns(self) -> slice:
        """The columns of the residuals, as an index."""
        return slice(self.start, self.stop)

    @property
    def geometry(self) -> CellGeometry:
        """How cells of this block can be compared."""
        if self.positions is None:
            return CellGeometry.UNORDERED
        return CellGeometry.METRIC if self.distances else CellGeometry.ORDERED


@dataclass(frozen=True, eq=False)
class Cells:
    """What the columns of a model's residuals are.

    Parameters
    ----------
    blocks : tuple of Block
        Side by side, from column 0 on. The first block by itself tells all distributions
        of y apart; further ones add power.
    words : str
        What y is compared by, in words; results show it as ``details["standardized_by"]``.
    """

    blocks: tuple[Block, ...]
    words: str

    @property
    def width(self) -> int:
        """The number of columns of the residuals."""
        return self.blocks[-1].stop


class ResidualMap(Protocol):
    """A linear map of the residuals of one block, (n, columns), to features, (n, m)."""

    def __call__(self, residuals: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class SameFeatures:
    """The residuals are the features, m = columns: the kernel 1{y = y'}."""

    def __call__(self, residuals: FloatArray) -> FloatArray:
        """Return the residuals as they are."""
        return residuals


@dataclass(frozen=True)
class CumulativeFeatures:
    """1{y ≤ t} − P(Y ≤ t) for all cells t but the last, m = columns − 1: `Ordinal`."""

    def __call__(self, residuals: FloatArray) -> FloatArray:
        """Return sums of the residuals from the first cell on."""
        return np.cumsum(residuals, axis=1)[:, :-1]


@dataclass(frozen=True, eq=False)
class MatrixFeatures:
    """r·Ψ with a root Ψ (columns, m) of the kernel's matrix: any kernel on the cells."""

    root: FloatArray

    def __call__(self, residuals: FloatArray) -> FloatArray:
        """Return the products of residuals with Ψ."""
        return residuals @ self.root


class MappedBlock(NamedTuple):
    """A block of residuals, and how it becomes features."""

    block: Block
    residual_map: ResidualMap


@dataclass(frozen=True, eq=False)
class CellKernel(Kernel):
    """A kernel on a discrete y that is ready: a linear map of residuals to features.

    Parameters
    ----------
    parts : tuple of MappedBlock
        The blocks of residuals that it uses; their features are put side by side.
    shown : Kernel
        The kernel that a user would write, for results and their readers.
    """

    parts: tuple[MappedBlock, ...]
    shown: Kernel

    @property
    def name(self) -> str:
        """What a table of several kernels calls it: the names of its blocks."""
        return " and ".join(block.name for block, _ in self.parts)

    @property
    def size(self) -> int:
        """The number m of features."""
        return int(self.features(np.zeros((1, self.width))).shape[1])

    @property
    def width(self) -> int:
        """How many columns of residuals it needs, from the first one on."""
        return max(block.stop for block, _ in self.parts)

    def features(self, residuals: FloatArray) -> FloatArray:
        """Return the centred features of rows, (n, m), from their residuals (n, width)."""
        features = [
            residual_map(residuals[:, block.columns]) for block, residual_map in self.parts
        ]
        return features[0] if len(features) == 1 else np.concatenate(features, axis=1)

    def __repr__(self) -> str:
        return repr(self.shown)

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain Python objects, ready for JSON."""
        return self.shown.to_dict()


#: A kernel on y that is ready: on numbers or angles, or on the cells of a discrete y.
ResponseKernel: TypeAlias = Kernel | CellKernel


def resolve_cells(kernel: object, cells: Cells) -> CellKernel:
    """Make a kernel on a discrete y ready.

    Parameters
    ----------
    kernel : Radial, Categorical or Ordinal
        What a user passed as `kernel_y`; it applies to the first block. The default
        ``Gaussian("median")`` stands for `Categorical` on unordered cells, for `Ordinal` on
        ordered ones and for a bandwidth of one predictive standard deviation on counts.
    cells : Cells
        The columns of the residuals. The residuals of blocks after the first one are
        features as they are.

    Returns
    -------
    CellKernel
    """
    if not isinstance(kernel, (Radial, Categorical, Ordinal)):
        kinds = "condgof.Categorical(), condgof.Ordinal() or a radial kernel"
        raise InputTypeError(f"kernel_y of a discrete y must be {kinds}, got {kernel!r}.")
    first, *others = cells.blocks
    ready = _on_block(kernel, first)
    further = (MappedBlock(block, SameFeatures()) for block in others)
    return CellKernel((*ready.parts, *further), ready.shown)


def _on_block(kernel: Radial | Categorical | Ordinal, block: Block) -> CellKernel:
    """Make a kernel ready on the cells of one block."""
    geometry = block.geometry
    is_default = kernel == Gaussian("median")
    if isinstance(kernel, Categorical):
        return on_categories(block)
    if geometry is CellGeometry.UNORDERED:
        if is_default:
            return on_categories(block)
        say = (
            "say that the classes are ordered: condgof.probabilities(P, classes,"
            " ordered=True)"
        )
        why = f"{kernel!r} compares distances, and classes without an order have none"
        raise InputError(f"{why}. Use condgof.Categorical() for kernel_y, or {say}.")
    if isinstance(kernel, Ordinal):
        return on_order(block)
    if is_default and geometry is CellGeometry.ORDERED:
        return on_order(block)
    if kernel.bandwidth == "median":
        kernel = kernel.with_bandwidth(MEDIAN_BANDWIDTH)
    return on_positions(kernel, block)


def on_categories(block: Block) -> CellKernel:
    """Return the kernel 1{y = y'} on the cells of a block.

    It serves for `Categorical` of any similarity s: once centred, that kernel is 1 − s
    times the one of s = 0, and no test depends on a factor.
    """
    return CellKernel((MappedBlock(block, SameFeatures()),), Categorical(0.0))


def on_order(block: Block) -> CellKernel:
    """Return the kernel `Ordinal` on the cells of a block."""
    return CellKernel((MappedBlock(block, CumulativeFeatures()),), Ordinal())


def on_positions(kernel: Radial, block: Block) -> CellKernel:
    """Return a radial kernel on cells with positions, by a root of its matrix there."""
    assert block.positions is not None, "cells without an order have no distances"
    points = block.positions[:, None]
    eigenvalues, eigenvectors = np.linalg.eigh(kernel(points, points))
    kept = eigenvalues > SMALLEST_EIGENVALUE * eigenvalues[-1]
    root = eigenvectors[:, kept] * np.sqrt(eigenvalues[kept])
    return CellKernel((MappedBlock(block, MatrixFeatures(root)),), kernel)


def cell_scales(cells: Cells, bandwidths: tuple[float, ...]) -> tuple[CellKernel, ...]:
    """Return the kernels on y that the adaptive test combines.

    Parameters
    ----------
    cells : Cells
        The columns of the residuals.
    bandwidths : tuple of float
        Of the Gaussian kernels on counts, in predictive standard deviations; unused where
        the first block has no distances.

    Returns
    -------
    tuple of CellKernel
        For counts one Gaussian kernel a bandwidth. Otherwise `Ordinal` on the first block
        if it is ordered, and then `Categorical` on each block.
    """
    first = cells.blocks[0]
    if first.geometry is CellGeometry.METRIC:
        return tuple(on_positions(Gaussian(sigma), first) for sigma in bandwidths)
    by_category = tuple(on_categories(block) for block in cells.blocks)
    if first.geometry is CellGeometry.ORDERED:
        return on_order(first), *by_category
    return by_category
