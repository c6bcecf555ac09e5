"""Is it enough? The size of the misfit against the largest that a user allows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from condgof.check._bench import Bench
from condgof.check._numbers import short
from condgof.check._record import Effect, Tolerance
from condgof.errors import InputError

WORSE, ENOUGH, UNDECIDED = "worse than you allow", "good enough", "undecided"


def check_allowed(allowed: Any) -> float:
    """Check the size that a user allows."""
    number = isinstance(allowed, (int, float, np.floating, np.integer)) and not isinstance(allowed, bool)
    if not number or not 0 < allowed < math.inf:
        raise InputError(
            f"tolerance must be a positive number, the largest misfit that you allow, got {allowed!r}."
        )
    return float(allowed)


def tolerance_of(bench: Bench, effect: Effect, allowed: float, alpha: float) -> Tolerance:
    """Compare the bounds of the size, each one-sided at level 1 − alpha, with what is allowed.

    Where the interval of the effect begins at 0, so does this: nothing is worse than allowed that may be
    no misfit at all.
    """
    allowed = check_allowed(allowed)
    low, high = bench.size.bounds(alpha)
    low = low if effect.interval.low > 0 else 0.0
    of = f"and you allow {short(allowed)} ({effect.unit})"
    if low > allowed:
        verdict, words = WORSE, f"The misfit is worse than you allow: at least {short(low)}, {of}."
    elif high < allowed:
        verdict, words = ENOUGH, f"The model is good enough: its misfit is at most {short(high)}, {of}."
    else:
        between = f"at most {short(high)}" if low == 0 else f"between {short(low)} and {short(high)}"
        verdict, words = UNDECIDED, f"Undecided: the misfit is {between}, {of}. More rows would tell."
    return Tolerance(allowed, verdict, low, high, words)
