"""Between which values an axis is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from condgof._typing import FloatArray

#: Samples of fewer values than this have all of them on the axis.
FEWEST_TO_CUT = 20
#: Levels of the quantiles between which values always are on the axis.
INNER_LEVELS = (0.005, 0.995)
#: An axis leaves out far values if the full range is wider than this many inner ranges.
TOO_WIDE = 1.5
#: Values up to this many inner ranges beyond the inner range are on the axis all the same.
REACH_BEYOND = 0.35

Ends: TypeAlias = tuple[float, float]


def ends_of(values: FloatArray, pad: float = 0.04) -> Ends:
    """Return the ends of an axis: the range of values, and `pad` ranges to either side.

    If all values are equal, the axis goes half a unit to either side of them.
    """
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low = float(finite.min())
    high = float(finite.max())
    # Beside very large numbers half a unit would be lost in rounding.
    margin = pad * (high - low) if high > low else max(0.5, 1e-9 * abs(low))
    return low - margin, high + margin


def robust_ends(
    values: FloatArray, always: Sequence[float] = (), pad: float = 0.04
) -> Ends:
    """Return the ends of an axis of values (n,), without those that are far out.

    The values `always` are on the axis in any case.
    """
    full = np.append(values, always)
    full = full[np.isfinite(full)]
    if len(full) >= FEWEST_TO_CUT:
        finite_always = [value for value in always if math.isfinite(value)]
        inner = np.append(np.quantile(full, INNER_LEVELS), finite_always)
        low = float(inner.min())
        high = float(inner.max())
        if np.ptp(full) > TOO_WIDE * (high - low):
            reach = REACH_BEYOND * (high - low)
            full = full[(full >= low - reach) & (full <= high + reach)]
    return ends_of(full, pad)
