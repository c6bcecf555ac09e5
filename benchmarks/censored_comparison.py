"""Level and power of ``compare(..., event=)`` by both scores of censored times.

Run: python benchmarks/censored_comparison.py [samples]. Times are exponential with log
scale a·x1 + b·x2, the models take x1 alone or x2 alone: with a = b they are equally good.
"""

import sys

import numpy as np

import condgof as cg


def draw(rng, n, a, b, truncated):
    x = rng.standard_normal((n, 2))
    entry = rng.exponential(0.3, n) if truncated else None
    times = rng.exponential(np.exp(x @ [a, b]))
    if truncated:  # only rows that are watched at all are in the data
        while (times <= entry).any():
            late = times <= entry
            times[late] = rng.exponential(np.exp(x[late] @ [a, b]))
    until = rng.exponential(2.0, n) + (entry if truncated else 0.0)
    return x, np.minimum(times, until), times <= until, entry


def main(samples=300):
    models = [
        cg.models.Exponential(scale=lambda x: np.exp(0.4 * x[:, 0])),
        cg.models.Exponential(scale=lambda x: np.exp(0.4 * x[:, 1])),
    ]
    for n in (100, 400):
        for truncated in (False, True):
            for a, b in ((0.4, 0.4), (0.6, 0.3)):
                rng = np.random.default_rng([n, int(10 * a)])
                rejected = {"log": 0, "ibs": 0}
                for _ in range(samples):
                    x, y, event, entry = draw(rng, n, a, b, truncated)
                    found = cg.compare(*models, x, y, event=event, entry=entry, rng=0)
                    for one in found.measures:
                        rejected[one.key] += one.pvalue <= 0.05
                print(
                    f"n={n:4} entry={truncated!s:5} a={a} b={b} of {samples}:"
                    f" log {rejected['log']}, integrated Brier {rejected['ibs']}",
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
