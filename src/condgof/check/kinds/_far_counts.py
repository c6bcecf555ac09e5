"""Normal scores of counts so far out that one less the CDF has no digits."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, ndtri_exp

from condgof._typing import FloatArray, IntArray
from condgof.laws import Law, row_uniforms
from condgof.residuals import V_SEED, StepCdf

#: One less the CDF has fewer than three digits below this.
FEW_DIGITS = 1e-13
#: Probabilities that are added up from a count on. So far out each is a fraction of the one
#: before, and what follows is the rest of a geometric series.
ADDED_COUNTS = 64
#: Largest ratio of this series.
LARGEST_RATIO = 0.999


def resolved_scores(
    law: Law, y: FloatArray, steps: StepCdf, numbers: IntArray
) -> FloatArray:
    """Return z = Φ⁻¹(F(y−1) + V·p(y)) of counts y (n,), also far above the mean, (n,).

    `numbers` (n,) are those of the rows in the data, to which V belongs. Where F(y−1) is
    nearly 1, the probability of y or more is a sum of probabilities, if the law has these.
    """
    z = steps.normal_scores(numbers)
    far = np.flatnonzero(1.0 - steps.lower < FEW_DIGITS)
    if not len(far) or not law.can("log_prob"):
        return z
    some = law.take(far)
    logs = np.stack([some.log_prob(y[far] + k) for k in range(ADDED_COUNTS)], axis=1)
    ratio = np.exp(np.clip(logs[:, -1] - logs[:, -2], None, np.log(LARGEST_RATIO)))
    rest = logs[:, -1] + np.log(ratio) - np.log1p(-ratio)
    beyond = logsumexp(np.column_stack([logs[:, 1:], rest]), axis=1)
    # 1 − u = P(Y > y) + (1 − V)·p(y), of which the logarithm is known.
    v = row_uniforms(V_SEED, numbers[far])
    log_tail = np.logaddexp(beyond, logs[:, 0] + np.log1p(-v))
    is_known = np.isfinite(log_tail)
    z[far[is_known]] = -ndtri_exp(log_tail[is_known])
    return z
