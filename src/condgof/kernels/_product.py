"""Products of kernels over blocks of columns of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError
from condgof.kernels._base import Kernel, Radial
from condgof.kernels._categorical import Categorical


@dataclass(frozen=True)
class OnColumns(Kernel):
    """A kernel on some columns of x; made by ``kernel.on(...)``.

    Parameters
    ----------
    kernel : Radial or Categorical
        The kernel.
    columns : tuple of int or str
        Column numbers or names; names are turned into numbers when the kernel meets the data.
    labels : tuple of str
        What to call the columns when shown, once the data are known.
    """

    kernel: Radial | Categorical
    columns: tuple[int | str, ...]
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, kernel: Kernel, columns: Sequence[int | str]) -> OnColumns:
        """Check and make."""
        if not isinstance(kernel, (Radial, Categorical)):
            raise InputTypeError(
                f"Only a single kernel can be put on columns, got {kernel!r}. "
                "Write a.on(...) * b.on(...)."
            )
        if not columns:
            raise InputError(f"{kernel!r}.on() needs at least one column, by name or number.")
        for column in columns:
            if isinstance(column, bool) or not isinstance(column, (int, np.integer, str)):
                raise InputTypeError(f"A column is a name or a number, got {column!r}.")
        if len(set(columns)) < len(columns):
            raise InputError(f"{kernel!r}.on{tuple(columns)!r} names a column twice.")
        return cls(kernel, tuple(c if isinstance(c, str) else int(c) for c in columns))

    def indices(self) -> list[int]:
        """Return the column numbers."""
        if any(isinstance(column, str) for column in self.columns):
            raise InputError(f"{self!r} names columns, which a test turns into numbers.")
        return [int(column) for column in self.columns]

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Evaluate the kernel between the rows of `a` (n, d) and of `b` (m, d): (n, m)."""
        columns = self.indices()
        return self.kernel(a[:, columns], b[:, columns])

    def __repr__(self) -> str:
        return f"{self.kernel!r}.on({', '.join(map(repr, self.labels or self.columns))})"

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain Python objects, ready for JSON."""
        return {**self.kernel.to_dict(), "columns": list(self.labels or self.columns)}


@dataclass(frozen=True)
class Product(Kernel):
    """A product of kernels, each on its own block of columns; made by ``a.on(...) * b.on(...)``.

    Parameters
    ----------
    factors : tuple of OnColumns
        The factors.

    Examples
    --------
    >>> from condgof.kernels import Gaussian, Categorical
    >>> k = Gaussian(1.0).on(0) * Categorical(0.5).on(1)
    >>> k(np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]]))
    array([[0.5]])
    """

    factors: tuple[OnColumns, ...]

    @classmethod
    def of(cls, *kernels: Kernel) -> Product:
        """Check, flatten and make."""
        factors: list[OnColumns] = []
        for kernel in kernels:
            if isinstance(kernel, Product):
                factors += kernel.factors
            elif isinstance(kernel, OnColumns):
                factors.append(kernel)
            else:
                raise InputTypeError(
                    f"A factor of a product needs its columns: write {kernel!r}.on(...)."
                )
        return cls(tuple(factors))

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Evaluate the kernel between the rows of `a` (n, d) and of `b` (m, d): (n, m)."""
        out = np.ones((len(a), len(b)))
        for factor in self.factors:
            out *= factor(a, b)
        return out

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.factors))

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain Python objects, ready for JSON."""
        return {"kernel": "Product", "factors": [factor.to_dict() for factor in self.factors]}
