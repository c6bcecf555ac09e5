"""The model's quantiles of y at some rows, which pictures draw as bands."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.check._sampled import some_rows
from condgof.errors import CondgofError
from condgof.laws import Law
from condgof.sample import Seed

#: Levels of the quantiles that pictures draw.
BAND_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Rows of which quantiles are asked for: more would not show.
BAND_ROWS = 600
#: The use of random numbers in a check for these rows; see `condgof.check._scan`.
BAND_ROWS_STREAM = 25


def bands_of(law: Law, n: int, seed: Seed) -> FloatArray | None:
    """Return the quantiles of some of n rows, (n, levels), NaN in others.

    None where the law has no quantiles, or infinite ones.
    """
    rows = some_rows(n, BAND_ROWS, seed, BAND_ROWS_STREAM)
    bands = np.full((n, len(BAND_LEVELS)), np.nan)
    try:
        bands[rows] = law.take(rows).quantile(BAND_LEVELS)
    except CondgofError:
        return None
    return bands if np.isfinite(bands[rows]).all() else None
