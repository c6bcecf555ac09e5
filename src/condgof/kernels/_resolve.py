"""From what the user asked for to kernels that are ready to evaluate on a given sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError
from condgof.kernels._kernel import (
    Categorical,
    Gaussian,
    Kernel,
    OnColumns,
    Product,
    Radial,
    median_distance,
)
from condgof.sample import Column, Seed, Use


@dataclass(frozen=True)
class CovariateKernel(Kernel):
    """A kernel on x that is ready: every bandwidth a number, every column an index."""

    #: It is their product; the empty product is 1 (the unconditional tests).
    factors: tuple[OnColumns, ...]
    #: For each factor, whether its bandwidth came from the median heuristic.
    asked_for_median: tuple[bool, ...] = ()

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Evaluate the kernel between the rows of `a` (n, d_x) and of `b` (m, d_x): (n, m)."""
        return Product(self.factors)(a, b)

    @property
    def compares_levels(self) -> bool:
        """Whether some factor compares levels, between which there are no points."""
        return any(isinstance(factor.kernel, Categorical) for factor in self.factors)

    def shown(self, d_x: int) -> Kernel:
        """Return the simplest kernel that says the same, for results and their readers."""
        if len(self.factors) == 1:
            only = self.factors[0]
            return only.kernel if len(only.columns) == d_x else only
        return Product(self.factors)


def resolve_x(kernel: Any, x: FloatArray, columns: Sequence[Column], seed: Seed) -> CovariateKernel:
    """Make the kernel on x ready for a sample x (n, d_x), scaled as the kernel will see it.

    A plain kernel goes on all numeric columns, and categorical columns get `Categorical()`.
    Constant columns are left out.
    """
    if not isinstance(kernel, Kernel):
        raise InputTypeError(
            f"kernel_x must be a kernel such as condgof.Gaussian('median'), got {kernel!r}."
        )
    if isinstance(kernel, (Radial, Categorical)):
        factors = _spread(kernel, columns)
    else:
        factors = [_locate(factor, columns) for factor in Product.of(kernel).factors]
    ready: list[OnColumns] = []
    medians: list[bool] = []
    for number, factor in enumerate(factors):
        varying = [i for i in factor.indices() if not columns[i].constant]
        if not varying:
            continue
        inner = factor.kernel
        medians.append(isinstance(inner, Radial) and inner.bandwidth == "median")
        if isinstance(inner, Radial) and inner.bandwidth == "median":
            rng = seed.stream(Use.BANDWIDTH_X, number)
            inner = inner.with_bandwidth(median_distance(x[:, varying], rng, "x"))
        labels = tuple(columns[i].name for i in varying)
        ready.append(OnColumns(inner, tuple(varying), labels))
    if not ready:
        raise InputError("kernel_x uses constant columns only. Put it on a column that varies.")
    return CovariateKernel(tuple(ready), tuple(medians))


def resolve_y(kernel: Any, y: FloatArray, seed: Seed, *, stein: bool = True) -> Radial:
    """Make the kernel on y ready for a sample: radial, with a number as its bandwidth.

    Unless `stein` is False it must be smooth too, because a Stein kernel takes its derivatives.
    """
    if not isinstance(kernel, Radial):
        raise InputTypeError(
            f"kernel_y must be a radial kernel such as condgof.Gaussian('median'), got {kernel!r}."
        )
    if stein and not kernel.smooth:
        raise InputError(
            f"{type(kernel).__name__} cannot serve on y: the Stein kernel needs two derivatives at "
            "distance 0. Use Gaussian, IMQ or Matern52 for kernel_y."
        )
    if kernel.bandwidth == "median":
        rng = seed.stream(Use.BANDWIDTH_Y)
        return kernel.with_bandwidth(median_distance(y, rng, "y"))
    return kernel


def _spread(kernel: Radial | Categorical, columns: Sequence[Column]) -> list[OnColumns]:
    numeric = tuple(i for i, column in enumerate(columns) if not column.categorical)
    levels = tuple(i for i, column in enumerate(columns) if column.categorical)
    if isinstance(kernel, Categorical):
        return [OnColumns(kernel, numeric + levels)]
    factors = [OnColumns(kernel, numeric)] if numeric else []
    return factors + ([OnColumns(Categorical(), levels)] if levels else [])


def _locate(factor: OnColumns, columns: Sequence[Column]) -> OnColumns:
    names = [column.name for column in columns]
    indices: list[int] = []
    for wanted in factor.columns:
        if isinstance(wanted, str):
            if names.count(wanted) > 1:
                raise InputError(f"kernel_x: x has several columns named {wanted!r}. Use numbers.")
            if wanted not in names:
                raise InputError(f"kernel_x: x has no column {wanted!r}; it has {', '.join(names)}.")
            index = names.index(wanted)
        else:
            if not -len(names) <= wanted < len(names):
                raise InputError(f"kernel_x: x has {len(names)} columns, there is no {wanted}.")
            index = wanted % len(names)
        if columns[index].categorical and isinstance(factor.kernel, Radial):
            raise InputTypeError(
                f"kernel_x: column {names[index]!r} is categorical. Use Categorical().on(...)."
            )
        indices.append(index)
    return OnColumns(factor.kernel, tuple(indices))


@dataclass(frozen=True)
class FiniteLocations:
    """The kernel k_V(x, x') = (1/J) Σ_j k(x, v_j) k(x', v_j) of the finite-set tests."""

    kernel: CovariateKernel
    #: V (J, d_x), in the coordinates of the kernel.
    locations: FloatArray

    def features(self, x: FloatArray) -> FloatArray:
        """Return F (n, J) with k_V(x_i, x_j) = F_i · F_j."""
        values: FloatArray = self.kernel(x, self.locations) / np.sqrt(len(self.locations))
        return values


@dataclass(frozen=True, eq=False)
class Gram:
    """The matrix k(z_i, z_j) of a sample as a lazy operator: symmetric, with a constant diagonal."""

    #: The columns of all Gaussian factors in bandwidths, (n, d): their product is one exponential.
    joined: FloatArray
    #: All columns, and the factors on them that are not Gaussian.
    points: FloatArray
    others: tuple[OnColumns, ...]

    @classmethod
    def of(cls, kernel: CovariateKernel, points: FloatArray) -> Gram:
        """Prepare the rows `points` (n, d) for a kernel that is ready."""
        # Moved first, then divided: large coordinates (years, seconds) would lose digits.
        moved = points - np.median(points, axis=0)
        parts, others = [np.empty((len(points), 0))], []
        for factor in kernel.factors:
            if type(factor.kernel) is Gaussian:
                parts.append(moved[:, factor.indices()] / factor.kernel.sigma)
            else:
                others.append(factor)
        return cls(np.concatenate(parts, axis=1), points, tuple(others))

    @property
    def n(self) -> int:
        """Number of rows (and columns)."""
        return len(self.points)

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """Return the block of the matrix at some rows and columns, as a new array."""
        out = Gaussian(1.0)(self.joined[rows], self.joined[columns])
        for factor in self.others:
            out *= factor(self.points[rows], self.points[columns])
        return out
