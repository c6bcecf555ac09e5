"""Level and power of a check of a posterior on the rows that it was fitted to.

Run: python benchmarks/loo_level.py [samples [n [problem]]]. Conjugate posteriors, sampled
exactly: a normal linear model (σ known or not), and Poisson counts with a gamma posterior
for each of four groups. Beside each test of the rows of the fit is a test of as many new
rows under the same posterior: what rows that were held out would have told.
"""

import sys
from typing import Any, NamedTuple

import arviz_base as azb
import numpy as np
from scipy.special import gammaln

import condgof as cg

DRAWS = 4000
SIZES = (50, 200)
#: Curvature of the truth that the model does not have.
BENDS = (0.0, 0.3)


class Sample(NamedTuple):
    """Rows of a fit with their posterior, and new rows with their predictions."""

    x: np.ndarray  # (n, d)
    y: np.ndarray  # (n,)
    idata: Any
    new_x: np.ndarray  # (n, d)
    new_y: np.ndarray  # (n,)
    new_draws: np.ndarray  # (n, DRAWS)


def idata_of(y, predicted, log_likelihood):
    """Make ArviZ data of one chain, of arrays (draws, n)."""
    return azb.from_dict(
        {
            "posterior_predictive": {"y": predicted[None]},
            "log_likelihood": {"y": log_likelihood[None]},
            "observed_data": {"y": y},
        }
    )


def linear_rows(rng, n, bend):
    """Return x (n, 2) and y = 1 + x_0 + bend·(x_0² − 1) + ε."""
    x = rng.standard_normal((n, 2))
    y = 1.0 + x[:, 0] + bend * (x[:, 0] ** 2 - 1.0) + rng.standard_normal(n)
    return x, y


def linear_design(x):
    return np.column_stack([np.ones(len(x)), x])


def linear(rng, n, known, bend=0.0):
    """Return rows and a posterior of y = a + b·x_0 + c·x_1 + σε with a flat prior."""
    x, y = linear_rows(rng, n, bend)
    design = linear_design(x)
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
    new_x, new_y = linear_rows(rng, n, bend)
    new_mu = beta @ linear_design(new_x).T
    new_draws = new_mu + sigma[:, None] * rng.standard_normal((DRAWS, n))
    return Sample(x, y, idata_of(y, predicted, logs), new_x, new_y, new_draws.T)


def poisson_rows(rng, n, bend):
    """Return x, a group and a number that the rate depends on if bend is not 0, and y."""
    group = np.arange(n) % 4
    x = np.column_stack([group, rng.standard_normal(n)])
    return x, rng.poisson((2.0 + group) * np.exp(bend * x[:, 1]))


def poisson(rng, n, bend=0.0):
    """Return rows and gamma posteriors of the rates of four groups."""
    x, y = poisson_rows(rng, n, bend)
    group = x[:, 0].astype(int)
    total = np.bincount(group, y, minlength=4)
    rate = rng.gamma(total + 0.5, 1.0 / np.bincount(group), (DRAWS, 4))
    mu = rate[:, group]
    logs = y * np.log(mu) - mu - gammaln(y + 1)
    predicted = rng.poisson(mu).astype(float)
    new_x, new_y = poisson_rows(rng, n, bend)
    new_draws = rng.poisson(rate[:, new_x[:, 0].astype(int)]).astype(float)
    return Sample(
        x, y, idata_of(y.astype(float), predicted, logs), new_x, new_y, new_draws.T
    )


PROBLEMS = {
    "known": lambda rng, n, bend: linear(rng, n, True, bend),
    "unknown": lambda rng, n, bend: linear(rng, n, False, bend),
    "poisson": lambda rng, n, bend: poisson(rng, n, bend),
}


def pvalues(problem, n, bend, samples):
    """Return p-values of the rows of the fit, and of new rows, (2, samples)."""
    found = []
    for number in range(samples):
        rng = np.random.default_rng([n, int(10 * bend), number])
        sample = PROBLEMS[problem](rng, n, bend)
        fitted = cg.adaptive(sample.idata, sample.x, sample.y, rng=0, n_boot=199)
        law = cg.from_draws(sample.new_draws)
        new = cg.adaptive(law, sample.new_x, sample.new_y, rng=0, n_boot=199)
        found.append([fitted.pvalue, new.pvalue])
    return np.array(found).T


def main(samples=100, sizes=SIZES, problems=tuple(PROBLEMS), bends=BENDS):
    for n in sizes:
        for problem in problems:
            for bend in bends:
                fitted, new = pvalues(problem, n, bend, samples)
                print(f"{problem} n={n} bend={bend}, {samples} samples", flush=True)
                for name, p in (("rows of the fit", fitted), ("new rows", new)):
                    counts = [int(np.sum(p <= level)) for level in (0.01, 0.05, 0.5)]
                    print(f"  {name}: rejected {counts} at 0.01, 0.05, 0.5", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        samples=int(given[0]) if given else 100,
        sizes=(int(given[1]),) if len(given) > 1 else SIZES,
        problems=(given[2],) if len(given) > 2 else tuple(PROBLEMS),
    )
