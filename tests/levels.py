"""Whether p-values of right models are as they should be, from few of them.

Counts of rejections say little of a dozen samples. Fisher's sum of logarithms uses each
p-value whole: of 15 right ones that are six times too small it misses almost none.
`make calibrate` measures the levels themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import chi2

TAIL = 1e-4  # how often p-values of an exact test are refused, on each side


def assert_not_too_small(pvalues: Sequence[float]) -> None:
    """Refuse independent p-values that come from no valid test.

    Those of a valid test are at least as large as uniform ones, in distribution, so that
    −2 Σ log p is at most as large as a chi-squared variable with 2m degrees of freedom.
    """
    assert _fisher(pvalues) <= chi2.isf(TAIL, 2 * len(pvalues)), sorted(pvalues)


def assert_uniform(pvalues: Sequence[float], n_boot: int) -> None:
    """Refuse independent p-values of `n_boot` draws that are too small or too large.

    Exact ones are uniform on 1/(n_boot + 1), 2/(n_boot + 1), …, 1: so are their mirror
    images.
    """
    assert_not_too_small(pvalues)
    assert_not_too_small(1.0 + 1.0 / (n_boot + 1) - np.asarray(pvalues))


def _fisher(pvalues: Sequence[float]) -> float:
    return float(-2.0 * np.log(pvalues).sum())
