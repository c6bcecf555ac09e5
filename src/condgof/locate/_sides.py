"""Quantiles and intervals: a misfit as a probability on the wrong side of one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.laws import CellsOfY


@dataclass(frozen=True, eq=False)
class Side:
    """One statement of quantiles or intervals, of which a probability may be on the wrong side."""

    #: Whether it is that y exceeds a quantile, or that an interval covers y.
    kind: str
    #: That of the quantile, or the coverage of the interval.
    level: float
    #: In which cells it holds.
    inside: AnyArray
    #: The probabilities of the cells, (K,).
    shares: FloatArray

    @classmethod
    def of(cls, law: CellsOfY) -> Side:
        """Choose the middle one of the quantiles, or the widest interval."""
        event = law.events[-1]
        if event.kind == "quantile":
            event = min(law.events, key=lambda one: abs(one.level - 0.5))
        return cls(event.kind, event.level, event.happened(np.arange(len(law.shares))), law.shares)

    @property
    def rare(self) -> bool:
        """Whether it holds in fewer than half of the rows."""
        return float(self.shares[self.inside].sum()) < 0.5

    @property
    def room(self) -> float:
        """How much there is to move: the probability of the likelier side."""
        inside = float(self.shares[self.inside].sum())
        return max(inside, 1.0 - inside)

    @property
    def move(self) -> FloatArray:
        """What a probability of 1 that goes to the less likely side adds to each cell, (K,).

        On either side cells keep their proportions.
        """
        gains = self.inside if self.rare else ~self.inside
        values: FloatArray = self.shares / np.where(
            gains, self.shares[gains].sum(), -self.shares[~gains].sum()
        )
        return values

    @property
    def _name(self) -> str:
        if self.kind == "quantile":
            return f"{self.level:g} quantile"
        return f"{100 * self.level:g}% interval"

    @property
    def unit(self) -> str:
        """The unit of a size."""
        if self.kind == "quantile":
            return f"probability on the wrong side of the {self._name}"
        return f"in the coverage of the {self._name}"

    def large(self, size: str) -> str:
        """Say how large a misfit is."""
        if self.kind == "quantile":
            return f"a probability of {size} on the wrong side of the {self._name} at every x"
        return f"a coverage of the {self._name} that is off by {size} at every x"

    def found(self, size: str) -> str:
        """Say which misfit is found."""
        if self.kind == "quantile":
            often = f"{size} {'more' if self.rare else 'fewer'} of the rows"
            return f"A {self._name} that is exceeded by {often} than it says at every x"
        often = f"{size} {'more' if self.rare else 'less'}"
        return f"A {self._name} that covers {often} than it says at every x"
