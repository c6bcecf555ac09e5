"""Numbers for people: how many digits, and where an axis has its ticks."""

from __future__ import annotations

import math
from itertools import pairwise


def number(value: float, digits: int = 3) -> str:
    """Write a number with some significant digits, thousands set apart.

    Examples
    --------
    >>> number(0.012345), number(2149.7), number(-0.5), number(3.2e-9), number(12.0)
    ('0.0123', '2,150', '−0.5', '3.2e−9', '12')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if value != 0 and not 1e-4 <= abs(value) < 1e9:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        text = f"{_trimmed(mantissa)}e{int(exponent)}"
    else:
        magnitude = math.floor(math.log10(abs(value))) if value else 0
        places = max(0, digits - 1 - magnitude)
        text = _trimmed(f"{value:,.{places}f}")
    return "0" if text in ("-0", "0") else text.replace("-", "−")


def size(value: float) -> str:
    """Write a size of a misfit: two decimals, more only where that would be nothing.

    Examples
    --------
    >>> size(0.1), size(-1.834), size(0.0042), size(0.0), size(1234.5)
    ('0.10', '−1.83', '0.0042', '0.00', '1,234')
    """
    if not math.isfinite(value) or 0 < abs(value) < 0.005 or abs(value) >= 100:
        return number(value, 3 if abs(value) >= 100 else 2)
    return f"{value:.2f}".replace("-", "−")


def once_in(value: float) -> str:
    """Say how often something of some probability happens.

    Examples
    --------
    >>> once_in(0.000999), once_in(0.35), once_in(0.034)
    ('about once in 1,000', 'about 35 times in 100', 'about 3.4 times in 100')
    """
    if value >= 0.99:
        return "nearly always"
    if value >= 0.01:
        return f"about {number(100 * value, 2)} times in 100"
    times = 1 / value
    return f"about once in {number(round(times, 2 - len(str(int(times)))), 3)}"


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers between low and high, about `count` of them.

    Examples
    --------
    >>> ticks(0.0, 10.3), ticks(-0.21, 0.19, 4)
    ([0.0, 2.0, 4.0, 6.0, 8.0, 10.0], [-0.2, -0.1, 0.0, 0.1])
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * min((1.0, 2.0, 2.5, 5.0, 10.0), key=lambda m: abs(math.log(m * power / rough)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = max(0, 2 - math.floor(math.log10(step)))
    return [round(i * step, min(places, 300)) + 0.0 for i in range(first, last + 1)]


def tick_texts(at: list[float]) -> list[str]:
    """Write ticks, all with the same number of places.

    Examples
    --------
    >>> tick_texts([0.0, 0.5, 1.0]), tick_texts([0.0, 2000.0]), tick_texts([0.0, 2.5e6])
    (['0', '0.5', '1.0'], ['0', '2,000'], ['0', '2.5M'])
    """
    largest = max((abs(t) for t in at), default=0.0)
    if largest == 0.0:
        return ["0" for _ in at]
    if largest >= 1e12 or largest < 1e-3:
        return [number(t, 3) for t in at]
    unit, suffix = next(
        (u, s) for u, s in ((1e9, "G"), (1e6, "M"), (1e5, "k"), (1.0, "")) if largest >= u or u == 1.0
    )
    unit = 1e3 if suffix == "k" else unit
    step = min((abs(b - a) for a, b in pairwise(at)), default=largest) / unit
    places = max(0, math.ceil(-math.log10(step) - 1e-9)) if step else 0
    if round(step * 10**places) * 1.0 != round(step * 10**places, 6):  # a step of 0.25 or 2.5
        places += 1
    texts = (f"{t / unit:,.{places}f}" for t in at)
    return [f"{s}{suffix}".replace("-", "−") if t else "0" for s, t in zip(texts, at, strict=True)]


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
