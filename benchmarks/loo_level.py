"""Level and power of a check of a posterior on the rows that it was fitted to.

Run: python benchmarks/loo_level.py [samples [n ...]]. Conjugate posteriors, sampled
exactly: a normal linear model (σ known or not), and Poisson counts with a gamma posterior
for each of four groups.
"""

import sys

import arviz_base as azb
import numpy as np
from scipy.special import gammaln

import condgof as cg

DRAWS = 4000


def idata_of(y, predicted, log_likelihood):
    """Make ArviZ data of one chain, of arrays (draws, n)."""
    return azb.from_dict(
        {
            "posterior_predictive": {"y": predicted[None]},
            "log_likelihood": {"y": log_likelihood[None]},
            "observed_data": {"y": y},
        }
    )


def linear(rng, n, known, bend=0.0):
    """Return x, y and a posterior of y = a + b·x + c·x2 + σε with a flat prior."""
    x = rng.standard_normal((n, 2))
    y = 1.0 + x[:, 0] + bend * (x[:, 0] ** 2 - 1.0) + rng.standard_normal(n)
    design = np.column_stack([np.ones(n), x])
    inverse = np.linalg.inv(design.T @ design)
    mean = inverse @ design.T @ y
    rest = y - design @ mean
    sigma = np.ones(DRAWS)
    if not known:
        sigma = np.sqrt(rest @ rest / rng.chisquare(n - 3, DRAWS))
    root = np.linalg.cholesky(inverse)
    beta = mean + sigma[:, None] * (rng.standard_normal((DRAWS, 3)) @ root.T)
    mu = beta @ design.T
    logs = -0.5 * ((y - mu) / sigma[:, None]) ** 2 - np.log(sigma)[:, None]
    predicted = mu + sigma[:, None] * rng.standard_normal((DRAWS, n))
    return x, y, idata_of(y, predicted, logs)


def poisson(rng, n, bend=0.0):
    """Return x, y and gamma posteriors of the rates of four groups."""
    group = np.arange(n) % 4
    x = np.column_stack([group, rng.standard_normal(n)])
    y = rng.poisson((2.0 + group) * np.exp(bend * x[:, 1]))
    total = np.bincount(group, y, minlength=4)
    rate = rng.gamma(total + 0.5, 1.0 / np.bincount(group), (DRAWS, 4))
    mu = rate[:, group]
    logs = y * np.log(mu) - mu - gammaln(y + 1)
    return x, y, idata_of(y.astype(float), rng.poisson(mu).astype(float), logs)


PROBLEMS = {
    "normal, σ known": lambda rng, n, bend: linear(rng, n, True, bend),
    "normal, σ unknown": lambda rng, n, bend: linear(rng, n, False, bend),
    "Poisson": lambda rng, n, bend: poisson(rng, n, bend),
}


def main(samples=100, *sizes):
    for n in sizes or (50, 200):
        for name, draw in PROBLEMS.items():
            for bend in (0.0, 0.3):
                rng = np.random.default_rng([n, int(10 * bend)])
                p = []
                for _ in range(samples):
                    x, y, idata = draw(rng, n, bend)
                    p.append(cg.adaptive(idata, x, y, rng=0, n_boot=199).pvalue)
                rejected = int((np.array(p) <= 0.05).sum())
                print(
                    f"{name:18} n={n:4} bend={bend} rejected {rejected} of {samples};"
                    f" p ≤ 0.5: {np.mean(np.array(p) <= 0.5):.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
