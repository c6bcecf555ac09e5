"""How much a difference of scores varies where what decides is rare.

Two models give an event different small probabilities, and it did not come: the difference
d of their scores is the same number in every row, and its empirical variance is 0. What has
not been seen varies nevertheless, and the models say how much.

Let S be a proper score, higher is better, and d_i(y) = S(P_i, y) − S(Q_i, y) for row i.
Since S is proper, K_P = mean_i E_P d_i ≥ 0 and K_Q = −mean_i E_Q d_i ≥ 0. The null
hypothesis is that both models have the same expected score. On the segment between them,
(1 − λ)P + λQ, the expectation of d is linear in λ, and it is 0 for one member R only,

    λ = K_P / (K_P + K_Q),   n·Var(mean d) = mean_i E_R d_i² = (1 − λ)·A_P + λ·A_Q,

with A_P = mean_i E_P d_i². This is a floor of the squared standard error. Neither model's
own variance would do: with probabilities 0.0001 and 0.015 of an event whose probability is
0.003, the smaller variance is 30 times too small, the larger 5 times too large.

The floor is used where R lets fewer than `MOST_EXCEPTIONS` rows differ from their most
probable outcome. Where more rows do, the sample itself tells the variance, and R, which is
not the truth, would only blunt the test: it is a mixture, and of the truth N(0, 1) and
N(0, 1.4²), say, it has 2.2 times the variance of d under the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws import MEASURES, Law, Probabilities, score

#: The floor is used where fewer rows than this are expected to differ from their most
#: probable outcome. With 5 and with 10 such rows the sample's own variance, with the
#: correction for skewness, rejects in 1 of 150 samples at 0.05.
MOST_EXCEPTIONS = 10.0
#: Rows at which scores of other outcomes are computed at most, evenly spread over all.
MOST_ROWS = 2000
#: Outcomes of all these rows together, where there are many classes.
OUTCOMES = 40_000
#: Rows of a law, each repeated for several outcomes, that are scored at a time.
ROWS_TOGETHER = 8192
#: Counts are listed, with their probabilities, where there are at most this many of them
#: between two quantiles whose levels are this far from 0 and 1.
MOST_COUNTS = 64
COUNT_TAIL = 1e-9
#: A log score is at least this, the logarithm of the smallest normal double: an event of
#: probability 0 counts as one of the smallest probability that a double can hold.
LEAST_LOG_SCORE = math.log(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class PossibleScores:
    """Scores of J outcomes that each row could have had, by one measure and K models.

    Parameters
    ----------
    scores : ndarray of shape (K, m, J)
        Of each model, in m of the rows; higher is better.
    weights : ndarray of shape (K, m, J)
        The probability of each outcome under each model; they sum to 1 over outcomes.
    """

    scores: FloatArray
    weights: FloatArray

    def null_of(self, a: int, b: int) -> NullOfPair | None:
        """Return d and its law under the null hypothesis; None where models agree."""
        d = self.scores[a] - self.scores[b]
        # Rounding may leave either a little below 0.
        gain_a = max(float((self.weights[a] * d).sum(axis=1).mean()), 0.0)
        gain_b = max(float((self.weights[b] * -d).sum(axis=1).mean()), 0.0)
        if gain_a + gain_b == 0:
            return None
        share = gain_a / (gain_a + gain_b)
        weights = (1.0 - share) * self.weights[a] + share * self.weights[b]
        return NullOfPair(d=d, weights=weights)

    def covariance(self) -> FloatArray:
        """Return the covariance of the scores of a row, (K, K), under all models alike."""
        weights = self.weights.mean(axis=0)
        means = (weights * self.scores).sum(axis=2).mean(axis=1)
        centred = self.scores - means[:, None, None]
        products = np.einsum("amj,bmj,mj->ab", centred, centred, weights)
        return np.asarray(products / len(weights))


class NullOfPair(NamedTuple):
    """Differences of scores of outcomes, and the law R under which their mean is 0."""

    d: FloatArray  #: (m, J).
    weights: FloatArray  #: Probabilities of the outcomes, (m, J).

    @property
    def mean_square(self) -> float:
        """The mean of E_R d_i² over rows."""
        return float((self.weights * np.square(self.d)).sum(axis=1).mean())

    def variance_floor(self, n: float) -> float:
        """Return the least variance of the mean of n differences; 0 where there is none."""
        exceptions = n * float((1.0 - self.weights.max(axis=1)).mean())
        return self.mean_square / n if exceptions < MOST_EXCEPTIONS else 0.0


def rows_to_score(laws: Sequence[Law], n: int) -> IntArray:
    """Return the numbers of the rows, of n, in which other outcomes are scored, sorted.

    There are none for laws whose outcomes cannot be listed.
    """
    if not all(law.discrete and law.can("log_prob") for law in laws):
        return np.empty(0, dtype=np.int64)
    most: float = MOST_ROWS
    if isinstance(laws[0], Probabilities):
        most = min(most, OUTCOMES / laws[0].values.shape[1])
    count = max(1, min(n, math.ceil(most)))
    return np.linspace(0, n - 1, count).astype(np.int64)


def possible_scores(laws: Sequence[Law], keys: Sequence[str]) -> dict[str, PossibleScores]:
    """Score all that each of m rows could have been, by measures, if that can be listed.

    Parameters
    ----------
    laws : sequence of K Law
        The laws of the same m rows, of a discrete y.
    keys : sequence of str
        The measures, keys of `MEASURES`.
    """
    labels = _all_outcomes(laws)
    if labels is None:
        return {}
    y = np.broadcast_to(labels, (laws[0].n, len(labels)))
    weights = np.stack([np.exp(_scores_at(law, y, "log")) for law in laws])
    weights /= weights.sum(axis=2, keepdims=True)
    return {
        key: PossibleScores(
            scores=np.stack([_scores_at(law, y, key) for law in laws]), weights=weights
        )
        for key in keys
    }


def _all_outcomes(laws: Sequence[Law]) -> AnyArray | None:
    """Return the classes that laws have in common, or the counts that are possible, (J,).

    None where laws have different classes, or too many counts are possible.
    """
    classes = [law.classes.labels for law in laws if isinstance(law, Probabilities)]
    if classes:
        same = len(classes) == len(laws) and all(
            set(labels.tolist()) == set(classes[0].tolist()) for labels in classes
        )
        return classes[0] if same else None
    if not all(law.can("cdf") for law in laws):
        return None
    ends = [law.quantile([COUNT_TAIL, 1.0 - COUNT_TAIL]) for law in laws]
    low = min(float(end[:, 0].min()) for end in ends)
    high = max(float(end[:, 1].max()) for end in ends)
    return np.arange(low, high + 1.0) if high - low < MOST_COUNTS else None


def _scores_at(law: Law, y: AnyArray, key: str) -> FloatArray:
    """Return scores of outcomes y (m, J) in each of m rows, so that higher is better."""
    m, count = y.shape
    together = max(1, ROWS_TOGETHER // m)
    parts = []
    for start in range(0, count, together):
        part = y[:, start : start + together]
        each = law.take(np.repeat(np.arange(m), part.shape[1]))
        values = score(each, part.ravel(), key).reshape(m, -1)
        parts.append(np.maximum(MEASURES[key].sign * values, LEAST_LOG_SCORE))
    return np.concatenate(parts, axis=1)
