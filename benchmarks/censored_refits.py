"""Level of `composite` and `crossfit` of censored times, with exponential regressions.

Run: python benchmarks/censored_refits.py [samples [n]]. Censoring depends on x, some rows
enter late. Prints rejections at 0.05 and 0.01 for both.
"""

import sys

import numpy as np

import condgof as cg

COLUMNS = 3
STEPS = 12
REFITS = 99


def fit_exponential(x, y, event, entry):
    """Fit log scale = a + x·b by Newton's method, given entries."""
    design = np.column_stack([np.ones(len(x)), x])
    duration = np.ravel(y) - entry
    b = np.zeros(design.shape[1])
    b[0] = np.log(duration.sum() / event.sum())
    for _ in range(STEPS):
        expected = duration * np.exp(-design @ b)
        information = design.T @ (design * expected[:, None])
        b = b + np.linalg.solve(information, design.T @ (expected - event))

    def scale(x):
        return np.exp(np.column_stack([np.ones(len(x)), x]) @ b)

    return cg.models.Exponential(scale=scale)


def draw(rng, n):
    """Return x (n, 3), times, events and entries (n,) of an exponential regression."""
    x = rng.standard_normal((n, COLUMNS))
    times = rng.exponential(np.exp(0.4 * x[:, 0]))
    until = rng.exponential(1.5 * np.exp(0.5 * x[:, 1]))
    entry = np.where(rng.random(n) < 0.3, rng.uniform(0.0, 0.3, n), 0.0)
    y = np.minimum(times, until)
    kept = y > entry
    return x[kept], y[kept], (times <= until)[kept].astype(int), entry[kept]


def main(samples=200, n=100):
    found = {"composite": [], "crossfit": []}
    for number in range(samples):
        x, y, event, entry = draw(np.random.default_rng([n, number]), n)
        times = {"event": event, "entry": entry}
        whole = cg.composite(
            fit_exponential,
            x,
            y,
            **times,
            statistic="adaptive",
            n_boot=REFITS,
            rng=number,
            engine=1,
            progress=False,
        )
        found["composite"].append(whole.pvalue)
        law = cg.crossfit(fit_exponential, x, y, **times, rng=number)
        found["crossfit"].append(cg.adaptive(law, x, y, n_boot=199, rng=0).pvalue)
    for name, pvalues in found.items():
        p = np.array(pvalues)
        print(
            f"{name:9} n={n}: rejected {np.sum(p <= 0.05)} at 0.05 and"
            f" {np.sum(p <= 0.01)} at 0.01 of {samples}",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
