"""How often the band of ``report.at(x0)`` holds the PIT curve of the same smoothing.

Run: python benchmarks/local_band.py [samples]. For each problem, sample size and point it
prints the effective rows, how often the band holds the curve under the truth, and how often
the diagonal is rejected at 5%.
"""

import sys

import numpy as np
from scipy.special import ndtr, ndtri

from condgof.check._local import LocalWeights
from condgof.check._local_band import (
    PIT_LEVELS,
    curve_band,
    largest_distance,
    step_curve,
)
from condgof.sample import Column

POINTS = (0.02, 0.5)
SIZES = (100, 300)


def truth(name, x):
    """Return mean and sd of the normal score of y, whose model is N(0, 1)."""
    if name == "right":
        return np.zeros(len(x)), np.ones(len(x))
    if name == "shifted":
        return np.full(len(x), 0.8), np.ones(len(x))
    if name == "heteroscedastic":
        return np.zeros(len(x)), 0.5 + 2.0 * x
    return 4.0 * (x - 0.5), np.ones(len(x))  # "wrong slope"


def main(samples=500):
    t = PIT_LEVELS[1:-1]
    for name in ("right", "shifted", "heteroscedastic", "wrong slope"):
        for n in SIZES:
            for x0 in POINTS:
                rng = np.random.default_rng([n, int(100 * x0)])
                held = rejected = 0
                rows = []
                for _ in range(samples):
                    x = rng.random((n, 1))
                    mean, sd = truth(name, x[:, 0])
                    u = ndtr(mean + sd * rng.standard_normal(n))
                    weights = LocalWeights.from_rows(x, (Column("x"),))
                    near = weights.near(np.array([x0]), None)
                    some = u[near.rows]
                    band = curve_band(
                        step_curve(some, near.weights),
                        unit_weights=near.weights,
                        rng=rng,
                        distance=float(largest_distance(some, near.weights)),
                    )
                    z = (ndtri(t)[:, None] - mean[near.rows]) / sd[near.rows]
                    curve = ndtr(z) @ near.weights
                    inside = (band.low[1:-1] <= curve) & (curve <= band.high[1:-1])
                    held += inside.all()
                    rejected += band.pvalue <= 0.05
                    rows.append(near.effective)
                print(
                    f"{name:16} n={n:5} x0={x0} rows={np.mean(rows):6.1f}"
                    f" held={held / samples:.3f} rejected={rejected / samples:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
