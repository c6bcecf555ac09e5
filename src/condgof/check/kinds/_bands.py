"""The model's quantiles of y at some rows, which pictures draw as bands."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.check._sampled import some_rows
from condgof.errors import CondgofError
from condgof.laws import Law
from condgof.sample import Seed

#: Levels of the quantiles that pictures draw: the ends of the central 90% and 50%
#: intervals, and the median.
BAND_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Rows of which quantiles are asked for: a picture is not wide enough to show more.
BAND_ROWS = 600
#: The stream of random numbers (`Seed.stream`) that draws these rows. Each use of random
#: numbers in a check has a number of its own; see `condgof.check._look`.
BAND_ROWS_STREAM = 25


def bands_of(law: Law, n: int, seed: Seed) -> FloatArray | None:
    """Return the quantiles of y at `BAND_LEVELS`, (n, 5), of the n rows of a law.

    They are asked for at `BAND_ROWS` rows, drawn at random, and are NaN in other rows. None
    where the law has no quantiles, or infinite ones.
    """
    rows = some_rows(n, BAND_ROWS, seed, BAND_ROWS_STREAM)
    bands = np.full((n, len(BAND_LEVELS)), np.nan)
    try:
        bands[rows] = law.take(rows).quantile(BAND_LEVELS)
    except CondgofError:
        return None
    return bands if np.isfinite(bands[rows]).all() else None
