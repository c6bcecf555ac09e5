"""A kernel on columns that are not numeric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError
from condgof.kernels._base import Kernel


@dataclass(frozen=True)
class Categorical(Kernel):
    """Kernel on levels: 1 where two rows agree, `similarity` to the power of the columns where not.

    Every level is as far from every other. It is positive definite, and tells all levels apart, for
    any similarity below 1; with 0, rows of different levels are never compared.

    Parameters
    ----------
    similarity : float
        From 0 (included) to 1 (excluded).

    Examples
    --------
    >>> Categorical(0.5)(np.array([[0.0]]), np.array([[0.0], [1.0]]))
    array([[1. , 0.5]])
    """

    similarity: float = 0.5

    def __post_init__(self) -> None:
        number = isinstance(self.similarity, (int, float, np.integer, np.floating))
        if not number or not 0 <= self.similarity < 1:
            raise InputError(
                f"Categorical: similarity must be at least 0 and below 1, got {self.similarity!r}."
            )
        object.__setattr__(self, "similarity", float(self.similarity))

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Evaluate the kernel between the rows of `a` (n, d) and of `b` (m, d): (n, m)."""
        out = np.ones((len(a), len(b)))
        for column_a, column_b in zip(a.T, b.T, strict=True):
            np.multiply(out, self.similarity, out=out, where=column_a[:, None] != column_b)
        return out

    def __repr__(self) -> str:
        return f"Categorical({self.similarity:.6g})"

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain Python objects, ready for JSON."""
        return {"kernel": "Categorical", "similarity": self.similarity}
