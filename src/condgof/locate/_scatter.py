"""How much weighted means over rows vary, where rows may depend on each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.null import Dependence


@dataclass(frozen=True, eq=False)
class Scatter:
    """The variance of sums Σ_i v_i over rows: Σ_ij v_i v_j c_ij.

    c is 1 on the diagonal, and between rows that depend on each other what the correlation of their
    signs is in the bootstrap: 1 within a group, (1 − 1/length)^|i − j| in a time series. Rows that are
    independent have none of the latter.

    Examples
    --------
    >>> v = np.array([1.0, 2.0, -1.0])
    >>> float(Scatter().square(v)), float(Scatter(codes=np.array([0, 0, 1])).square(v))
    (6.0, 10.0)
    """

    #: The group of each row.
    codes: IntArray | None = None
    #: The places of rows in a time series, increasing.
    places: IntArray | None = None
    #: Mean length of its stretches.
    length: float = 1.0

    @classmethod
    def of(cls, dependence: Dependence, n: int) -> Scatter:
        """Make it of what is known of n rows."""
        if dependence.independent:
            return cls()
        if dependence.codes is not None:
            return cls(codes=dependence.codes)
        return cls(places=np.arange(n), length=float(dependence.length or 1))

    def take(self, rows: AnyArray) -> Scatter:
        """Return that of some rows, in their order."""
        return Scatter(
            None if self.codes is None else self.codes[rows],
            None if self.places is None else self.places[rows],
            self.length,
        )

    def square(self, v: FloatArray) -> float:
        """Return Σ_ij v_i v_j c_ij of v (n,)."""
        if self.codes is not None:
            return float(np.square(np.bincount(self.codes, v)).sum())
        own = float(v @ v)
        if self.places is None:
            return own
        # Between neighbours the correlation is decay^gap, and over several rows the product of these.
        decay = np.power(1.0 - 1.0 / self.length, np.diff(self.places))
        before, both = 0.0, 0.0
        for i, share in enumerate(decay.tolist()):
            before = share * (before + float(v[i]))
            both += before * float(v[i + 1])
        return max(own + 2.0 * both, 0.0)

    def error(self, influence: FloatArray) -> float:
        """Return the standard error of Σ_i v_i from its influences v (n,)."""
        return float(np.sqrt(self.square(influence)))

    def effective(self, share: FloatArray) -> float:
        """Return the effective number of independent rows of shares (n,) that sum to 1."""
        return 1.0 / self.square(share)
