"""What `composite` asks of a statistic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from condgof._typing import AnyArray, FloatArray
from condgof.kernels import Kernel
from condgof.laws import ModelLike
from condgof.null import pvalue


@dataclass(frozen=True, eq=False)
class Combined:
    """One statistic with its draws (m,), and what a result says of it.

    Parameters
    ----------
    statistic, draws
        Of the sample, and of the replicates (m,).
    details : mapping
        For the result.
    kernel_x, kernel_y : Kernel, optional
        For the result, where the replicates tell which.
    """

    statistic: float
    draws: FloatArray
    details: Mapping[str, Any]
    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None

    @property
    def pvalue(self) -> float:
        """The p-value."""
        return pvalue(self.statistic, self.draws)


class Statistic(Protocol):
    """A function of a model and the responses, for one x."""

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Return the statistics (K,) of responses y in the user's shape, under their own fit."""
        ...

    def combined(self, values: FloatArray, draws: FloatArray) -> Combined:
        """Make one statistic of those observed (K,) and those of m replicates (K, m)."""
        ...
