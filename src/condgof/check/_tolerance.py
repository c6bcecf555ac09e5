"""Whether a misfit is larger than a user allows, by its size or by the avoidable loss."""

from __future__ import annotations

import math
import re
import warnings
from typing import NamedTuple

from scipy.special import ndtri

from condgof.check._record import AvoidableLoss, Tolerance
from condgof.check._size import ENOUGH, UNDECIDED, WORSE
from condgof.errors import InputError, check_number, option, option_name, shown
from condgof.result import short

#: The unit of the avoidable loss.
NATS = "nats"
#: The unit of `Check.effect`, whatever it is measured in.
SIZE = "size"
#: A number and one of the units.
WRITTEN = re.compile(r"\s*(\S+?)\s*(nats|size)\s*")
#: Half the width of a 95% interval, in standard errors.
WIDTH_95 = 1.959963984540054


#: The largest tolerance: a misfit of so many standard deviations, or nats a row, is one
#: that nobody allows, and 20 is meant as a percentage.
LARGEST = 10.0


class Allowed(NamedTuple):
    """The largest misfit that a user allows."""

    value: float
    unit: str  #: `NATS` or `SIZE`.


def read_allowed(tolerance: object) -> Allowed:
    """Read ``tolerance=``: "0.05 nats", "0.1 size", or a bare number in the latter unit."""
    wanted = (
        f"a positive number of at most {LARGEST:g} with its unit, such as '0.05 nats' or"
        " '0.1 size'"
    )
    if isinstance(tolerance, str):
        match = WRITTEN.fullmatch(tolerance)
        try:
            value = float(match[1]) if match else math.nan
        except ValueError:
            value = math.nan
        if match is None or not 0 < value <= LARGEST:
            raise InputError(
                f"{option_name('tolerance')} must be {wanted}, got {shown(tolerance)}. Nats"
                " are those of the avoidable loss, and size is the effect size."
            )
        return Allowed(value, match[2])
    value = check_number(tolerance, "tolerance", wanted, lambda one: 0 < one <= LARGEST)
    warnings.warn(
        f"{option('tolerance', f'{value:g}')} has no unit. Write '{value:g} size' for the"
        " effect size, as before, or 'NUMBER nats' for the avoidable loss.",
        FutureWarning,
        stacklevel=3,
    )
    return Allowed(value, SIZE)


def tolerance_of_loss(loss: AvoidableLoss, allowed: float, alpha: float) -> Tolerance:
    """Compare one-sided bounds of the avoidable loss, at level 1 − alpha."""
    error = (loss.interval[1] - loss.interval[0]) / (2.0 * WIDTH_95)
    reach = -float(ndtri(alpha)) * error
    low = max(loss.estimate - reach, 0.0)
    high = max(loss.estimate + reach, 0.0)
    yours = f"and you allow {short(allowed)} ({loss.unit})"
    if low > allowed:
        verdict = WORSE
        words = f"The misfit is worse than you allow: it loses {short(low)}, {yours}."
    elif high < allowed:
        verdict = ENOUGH
        words = f"The model is good enough: it loses at most {short(high)}, {yours}."
    else:
        verdict = UNDECIDED
        words = (
            f"Undecided: the avoidable loss is between {short(low)} and {short(high)},"
            f" {yours}. More rows would tell."
        )
    return Tolerance(allowed, verdict, low, high, words, unit=loss.unit)
