"""Changes in a stream: rows until `cg.monitor`, PITMonitor and ADWIN report one.

PITMonitor (arXiv 2603.13156) ranks each PIT among those before it, p_t = rank / t with ties
broken at random, and bets on the histogram of earlier ranks: with e_t the height of the bin
of p_t, M_t = e_t (M_{t−1} + 1/(t(t+1))). It reports a change when M_t reaches 1/α.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

import numpy as np
from river.drift import ADWIN
from scipy.stats import norm

import condgof as cg
import drift
from rivals.design import Rng, Sample

ALPHA = 0.05
BINS = 100  # of the histogram of ranks
NEVER = -1.0  # rows until a report where there is none


def stream(rng: Rng, *, kind: str) -> Sample:
    """Return river's FriedmanDrift, and a model of the rows before the change."""
    rows = drift.draw_stream(kind, int(rng.integers(2**31)))
    law = cg.normal(mean=rows.mean, std=np.full(len(rows.y), rows.spread))
    return Sample(law, rows.x, rows.y, rows)


def first_row(reports: object) -> float:
    """Return the number of rows until the first True."""
    return next((float(row) for row, found in enumerate(reports, 1) if found), NEVER)


def evidence_of_ranks(pits: np.ndarray, rng: Rng) -> object:
    """Yield the mixture e-process of PITMonitor after each PIT."""
    ordered: list[float] = []
    counts = np.ones(BINS)
    evidence = 0.0
    for t, pit in enumerate(pits, start=1):
        insort(ordered, pit)
        first, behind = bisect_left(ordered, pit), bisect_right(ordered, pit)
        rank = (first + rng.uniform(0, behind - first)) / t
        place = min(int(rank * BINS), BINS - 1)
        evidence = counts[place] / counts.sum() * BINS * (evidence + 1.0 / (t * (t + 1)))
        counts[place] += 1
        yield evidence


def pit_monitor(sample: Sample, rng: Rng) -> float:
    rows = sample.fitted
    pits = norm.cdf((rows.y - rows.mean) / rows.spread)
    return first_row(one >= 1.0 / ALPHA for one in evidence_of_ranks(pits, rng))


def adwin(sample: Sample, rng: Rng) -> float:
    """ADWIN of squared residuals, with its default sensitivity."""
    detector = ADWIN()

    def reports() -> object:
        for value in np.square(sample.fitted.y - sample.fitted.mean):
            detector.update(value)
            yield detector.drift_detected

    return first_row(reports())


def monitor(sample: Sample, rng: Rng) -> float:
    """The first row of `Monitor.changes`, with a run length of 100,000 rows."""
    rows = sample.fitted
    predicted = (rows.mean, np.full(len(rows.y), rows.spread))
    m = cg.monitor(predicted, rng=int(rng.integers(2**31))).update(rows.x, rows.y)
    return float(m.changes[0]["rows"]) if m.changed else NEVER
