"""Level and power of a check of a posterior on the rows that it was fitted to.

Run: PYTHONPATH=tests python benchmarks/loo_level.py [samples [n [problem]]]. Beside each
test of the rows of the fit is a test of as many new rows under the same posterior: what
rows that were held out would have told.
"""

import sys

import numpy as np

import condgof as cg
from calibration.posteriors import PROBLEMS

SIZES = (50, 200)
#: Curvature of the truth that the model does not have.
BENDS = (0.0, 0.3)


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
