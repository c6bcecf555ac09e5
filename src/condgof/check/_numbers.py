"""Numbers as a person writes them. One place for the wording of a number."""

from __future__ import annotations

import math


def decimals(value: float) -> int:
    """Return how many decimals show two figures of a number: 2, or more for a small one."""
    if value == 0 or not math.isfinite(value):
        return 2
    # 0.1 less a rounding error is 0.1.
    return min(max(2, 1 - math.floor(math.log10(abs(value)) + 1e-9)), 6)


def short(value: float) -> str:
    """Write two figures of a number, and at least two decimals.

    Examples
    --------
    >>> short(0.1234), short(0.01234), short(12.345), short(0.0)
    ('0.12', '0.012', '12.35', '0.00')
    """
    return f"{value:.{decimals(value)}f}"


def sized(estimate: float, low: float, high: float, about: float = 0.0) -> tuple[str, str]:
    """Write an estimate and its interval with the digits that its distance from `about` asks for.

    Examples
    --------
    >>> sized(0.21, 0.1712, 0.25), sized(0.0147, 0.0058, 0.0236), sized(1.0036, 1.001, 1.006, 1.0)
    (('0.21', '0.17 to 0.25'), ('0.015', '0.006 to 0.024'), ('1.0036', '1.0010 to 1.0060'))
    """
    digits = decimals(estimate - about)
    return f"{estimate:.{digits}f}", f"{low + 0.0:.{digits}f} to {high + 0.0:.{digits}f}"
