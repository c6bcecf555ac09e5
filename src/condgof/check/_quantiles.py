"""Quantiles of a few numbers, in a third of the time that `np.quantile` takes for them."""

from __future__ import annotations

import numpy as np

from condgof._typing import AnyArray, FloatArray

#: Of more values `np.quantile` is no slower: its time is that of ordering them.
MANY_VALUES = 20_000


def linear_quantiles(values: AnyArray, levels: FloatArray) -> AnyArray:
    """Return quantiles of finite values (m, ...) along the first axis, (k, ...).

    These are NumPy's, to the last digit: of the level p, linear between the order
    statistics around (m − 1)·p. A check asks for hundreds of them, mostly of a few rows.
    """
    if len(values) > MANY_VALUES:
        return np.asarray(np.quantile(values, levels, axis=0))
    last = len(values) - 1
    place = levels * last
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, last)
    ordered = np.partition(values, np.concatenate([below, above]), axis=0)
    low = ordered[below]
    high = ordered[above]
    share = (place - below).reshape(-1, *[1] * (values.ndim - 1))
    apart = high - low
    # From the nearer of the two, as NumPy does: so that the quantile never passes it.
    up = low + apart * share
    return np.asarray(np.where(share < 0.5, up, high - apart * (1.0 - share)))
