"""Kernels of a discrete y: on the cells of a finite set, and exactly centred under the model.

A model with known probabilities has, for each row, residuals r = e_y − p over the cells,
whose mean given x is 0. Whatever the kernel l on the cells, with L = ΨΨᵀ its matrix there,

    l(y, y') − E l(Y, y') − E l(y, Y') + E l(Y, Y') = r·L·r' = ⟨Ψᵀr, Ψᵀr'⟩,

so that a kernel is a linear map of residuals to features, and the feature's mean is 0
exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError
from condgof.kernels._kernel import Categorical, Gaussian, Kernel, Radial

#: Directions of the matrix of a kernel below this share of the largest are left out.
SMALLEST = 1e-12
#: What "median" stands for: one standard deviation of the model, or one step between
#: categories. Not the median of the data: y drawn anew from the model for the null
#: distribution would have another.
STEP = 1.0
#: How residuals become features: as they are, summed up from the first cell on, or by a
#: matrix.
Map: TypeAlias = Literal["same", "sums"] | FloatArray


@dataclass(frozen=True)
class Ordinal(Kernel):
    """Kernel on ordered categories: −|a − b|/2, counted in steps from one category to the next.

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


@dataclass(frozen=True, eq=False)
class Block:
    """Some columns of the residuals, start to stop, and what a result calls them."""

    name: str
    start: int
    stop: int
    #: Where the cells lie, (stop − start,), in increasing order; None for cells without an
    #: order, and for columns that are features already.
    positions: FloatArray | None = None
    #: Whether distances between positions are in units of y (counts), not in steps (ordered
    #: categories).
    distances: bool = False

    @property
    def columns(self) -> slice:
        return slice(self.start, self.stop)


@dataclass(frozen=True, eq=False)
class Cells:
    """What the columns of a model's residuals are, and what results say y was seen as."""

    #: The first one tells all distributions apart by itself.
    blocks: tuple[Block, ...]
    words: str

    @property
    def width(self) -> int:
        return self.blocks[-1].stop


@dataclass(frozen=True, eq=False)
class CellKernel(Kernel):
    """A kernel on a discrete y that is ready: a linear map of residuals to features."""

    #: What becomes of each block; a matrix Ψ has shape (columns of the block, m).
    parts: tuple[tuple[Block, Map], ...]
    shown: Kernel

    @property
    def name(self) -> str:
        """What a table of several kernels calls it."""
        return " and ".join(block.name for block, _ in self.parts)

    @property
    def size(self) -> int:
        return int(self.features(np.zeros((1, self.width))).shape[1])

    @property
    def width(self) -> int:
        return max(block.stop for block, _ in self.parts)

    def features(self, residuals: FloatArray) -> FloatArray:
        """Return the centred features of rows, (n, m), from their residuals (n, width)."""
        found: list[FloatArray] = []
        for block, how in self.parts:
            part = residuals[:, block.columns]
            if isinstance(how, np.ndarray):
                found.append(part @ how)
            else:
                found.append(part if how == "same" else np.cumsum(part, axis=1)[:, :-1])
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)

    def __repr__(self) -> str:
        return repr(self.shown)

    def to_dict(self) -> dict[str, Any]:
        return self.shown.to_dict()


ResponseKernel: TypeAlias = Radial | CellKernel


def resolve_cells(kernel: object, cells: Cells) -> CellKernel:
    """Make a kernel on a discrete y ready.

    ``Gaussian("median")``, the default, is `Categorical` for classes, `Ordinal` for ordered
    ones.
    """
    block, *others = cells.blocks
    default = kernel == Gaussian("median")
    if not isinstance(kernel, (Radial, Categorical, Ordinal)):
        kinds = "condgof.Categorical(), condgof.Ordinal() or a radial kernel"
        raise InputTypeError(f"kernel_y of a discrete y must be {kinds}, got {kernel!r}.")
    if isinstance(kernel, Categorical) or (default and block.positions is None):
        # Whatever its similarity s, the centred kernel is 1 − s times that of s = 0.
        ready = CellKernel(((block, "same"),), Categorical(0.0))
    elif block.positions is None:
        say = (
            "say that the classes are ordered: condgof.probabilities(P, classes,"
            " ordered=True)"
        )
        why = f"{kernel!r} compares distances, and classes without an order have none"
        raise InputError(f"{why}. Use condgof.Categorical() for kernel_y, or {say}.")
    elif isinstance(kernel, Ordinal) or (default and not block.distances):
        ready = CellKernel(((block, "sums"),), Ordinal())
    else:
        median = kernel.bandwidth == "median"
        ready = on_positions(kernel.with_bandwidth(STEP) if median else kernel, block)
    return CellKernel((*ready.parts, *((block, "same") for block in others)), ready.shown)


def on_positions(kernel: Radial, block: Block) -> CellKernel:
    """Return a radial kernel on cells that have positions, through a root of its matrix there."""
    assert block.positions is not None
    points = block.positions[:, None]
    values, axes = np.linalg.eigh(kernel(points, points))
    kept = values > SMALLEST * values[-1]
    return CellKernel(((block, axes[:, kept] * np.sqrt(values[kept])),), kernel)


def cell_scales(cells: Cells, bandwidths: tuple[float, ...]) -> tuple[CellKernel, ...]:
    """Return the kernels on y that the adaptive test combines; `bandwidths` are for counts."""
    main = cells.blocks[0]
    if main.positions is not None and main.distances:
        return tuple(on_positions(Gaussian(sigma), main) for sigma in bandwidths)
    ranked = () if main.positions is None else (CellKernel(((main, "sums"),), Ordinal()),)
    return *ranked, *(
        CellKernel(((block, "same"),), Categorical(0.0)) for block in cells.blocks
    )
