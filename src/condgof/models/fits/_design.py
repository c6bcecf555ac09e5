"""The matrix of a linear model, from arrays and frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError
from condgof.sample import Column, encode_levels, read


@dataclass(frozen=True)
class Design:
    """How rows of x become rows of a design matrix.

    Numeric columns are taken as they are; a text or category column becomes one column of 0 and 1 for
    each of its levels but the first.

    Parameters
    ----------
    columns : tuple of Column
        The columns of x, with their levels.
    intercept : bool
        Whether a column of ones comes first.
    """

    columns: tuple[Column, ...]
    intercept: bool

    @classmethod
    def of(cls, x: Any, *, intercept: bool = True) -> tuple[Design, FloatArray]:
        """Read x; return the design, and its matrix (n, p) for these rows."""
        _, values, columns = read(x, "x", text=True)
        design = cls(columns, intercept)
        return design, design._matrix(values)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the matrix."""
        found = ["intercept"] if self.intercept else []
        for column in self.columns:
            levels = column.levels
            found += [column.name] if levels is None else [f"{column.name}={v}" for v in levels[1:]]
        return tuple(found)

    def at(self, x: Any) -> FloatArray:
        """Return the matrix (m, p) at other rows of x, in the same columns."""
        _, values, columns = read(x, "x", text=True)
        if len(columns) != len(self.columns):
            raise InputError(
                f"The model was fitted on {len(self.columns)} columns of x, and x has {len(columns)}."
            )
        for i, (column, fitted) in enumerate(zip(columns, self.columns, strict=True)):
            if column.categorical != fitted.categorical:
                kind = "text" if fitted.categorical else "numbers"
                raise InputError(f"Column {column.name!r} of x must hold {kind}, as in the fit.")
            if column.levels is not None and column.levels != fitted.levels:
                raw = np.array(column.levels)[values[:, i].astype(int)]
                values[:, i] = encode_levels(raw, fitted, "x")
        return self._matrix(values)

    def _matrix(self, values: FloatArray) -> FloatArray:
        parts = [np.ones((len(values), 1))] if self.intercept else []
        for i, column in enumerate(self.columns):
            if column.levels is None:
                parts.append(values[:, i : i + 1])
            else:
                parts.append((values[:, i : i + 1] == np.arange(1, len(column.levels))) * 1.0)
        return np.concatenate(parts, axis=1)
