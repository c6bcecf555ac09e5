"""Power of named groups beside the exact test of the kind of error that there is.

One group of G is wrong, by a size at which the exact test, at level 0.05/G, has about the
power that the table says. Run as

    PYTHONPATH=src python benchmarks/named_groups.py [samples] [chosen]

Weights were chosen on the problems of `CHOSEN_ON`, which ``chosen`` runs; the table in
docs/dev/named_groups.md is of these. Those of `REPORTED` have other laws, sizes of groups
and probabilities; a run of them has not been finished.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import binom, norm, poisson
from scipy.stats import t as student_law

import condgof as cg
from condgof.check import REACH, Reader, select_rows
from condgof.check._named_kinds import named_tests
from condgof.check._named_rows import read_sets
from condgof.check._named_tests import SetDecisions
from condgof.check._tails import RowSets
from condgof.methods import Options, censored_model, prepare
from condgof.sample import Seed
from condgof.stein import Units

#: The level of all groups together.
ALPHA = 0.05
#: Rows of each group, in the problems that weights were chosen on.
CHOSEN_ROWS = 60
#: The same in those that are reported.
REPORTED_ROWS = 35


#: Counts whose probabilities are added up in exact tests.
MOST_COUNT = 2000


class Sample(NamedTuple):
    """Data in which group 0 is wrong, and the p-value of the exact test of group 0."""

    model: object
    x: np.ndarray
    y: np.ndarray
    exact: float
    event: np.ndarray | None = None


def first_pvalue(sample: Sample, by: np.ndarray, *, alone: bool) -> float:
    """Return the adjusted p-value of group 0, without the verdict that `check` has.

    `alone` says that no other group is named.
    """
    seed = Seed.of(0)
    options = Options(
        solver="auto",
        n_boot=99,
        dependence=None,
        groups=None,
        missing="refuse",
        engine=1,
        memory=2**30,
    ).checked()
    model = censored_model(sample.model, sample.x, sample.y, sample.event, None)
    units = Units("ranks", "auto", predictions=True)
    prepared = prepare(model, sample.x, sample.y, units, options, seed)
    options = options.for_rows(prepared.rows, sample.x)
    checked, law, _ = select_rows(
        prepared.law_or_model, prepared.rows, seed, options.engine
    )
    sets = read_sets(by, (), checked, len(by))
    if alone:
        sets = [one for one in sets if one.words.endswith("= 0")]
    row_sets = RowSets.from_rows([one.rows for one in sets])
    tests = named_tests(checked, row_sets, law, Reader(checked, REACH))
    return float(SetDecisions.from_tests(tests, ALPHA).pvalues[0])


def by_likelihood(pmf: np.ndarray, k: int) -> float:
    """Return the sum of all probabilities that are at most that of k."""
    return float(min(1.0, pmf[pmf <= pmf[k] * (1 + 1e-9)].sum()))


def normal(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.normal(size=len(by))
    y = x + rng.normal(size=len(by)) + size * (by == 0)
    z = (y - x)[by == 0].sum() / np.sqrt((by == 0).sum())
    return Sample((x, np.ones(len(by))), x, y, float(2 * norm.sf(abs(z))))


def classes(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.normal(size=len(by))
    p = 1 / (1 + np.exp(0.8 - x))
    true = 1 / (1 + np.exp(0.8 - x - size * (by == 0)))
    y = (rng.random(len(by)) < true).astype(int)
    pmf = np.ones(1)
    for one in p[by == 0]:
        pmf = np.convolve(pmf, [1 - one, one])
    return Sample(cg.probabilities(p), x, y, by_likelihood(pmf, y[by == 0].sum()))


def rare_class(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.normal(size=len(by))
    p = np.full(len(by), 0.05)
    y = (rng.random(len(by)) < p * np.exp(size * (by == 0))).astype(int)
    rows = np.count_nonzero(by == 0)
    pmf = binom.pmf(np.arange(rows + 1), rows, 0.05)
    return Sample(cg.probabilities(p), x, y, by_likelihood(pmf, y[by == 0].sum()))


def coverage(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.normal(size=len(by))
    y = x + rng.normal(size=len(by)) * np.exp(size * (by == 0))
    end = norm.ppf(0.95)
    held = (np.abs(y - x) <= end)[by == 0].sum()
    rows = np.count_nonzero(by == 0)
    pmf = binom.pmf(np.arange(rows + 1), rows, 0.9)
    model = cg.from_intervals(x - end, x + end, 0.9)
    return Sample(model, x, y, by_likelihood(pmf, held))


def counts(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.normal(size=len(by))
    mean = np.exp(0.2 + 0.5 * x)
    y = rng.poisson(mean * np.exp(size * (by == 0)))
    total = mean[by == 0].sum()
    pmf = poisson.pmf(np.arange(MOST_COUNT), total)
    return Sample(cg.models.Poisson(mean=mean), x, y, by_likelihood(pmf, y[by == 0].sum()))


def rare_counts(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.normal(size=len(by))
    mean = 0.05 * np.exp(0.3 * x)
    y = rng.poisson(mean * np.exp(size * (by == 0)))
    pmf = poisson.pmf(np.arange(MOST_COUNT), mean[by == 0].sum())
    return Sample(cg.models.Poisson(mean=mean), x, y, by_likelihood(pmf, y[by == 0].sum()))


def events(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.normal(size=len(by))
    hazard = np.exp(0.4 * x)
    times = rng.exponential(size=len(by)) / (hazard * np.exp(size * (by == 0)))
    until = rng.exponential(0.5, len(by))
    y = np.minimum(times, until)
    event = (times <= until).astype(int)
    pmf = poisson.pmf(np.arange(MOST_COUNT), (hazard * y)[by == 0].sum())
    exact = by_likelihood(pmf, event[by == 0].sum())
    return Sample(cg.models.Exponential(rate=hazard), x, y, exact, event)


def student(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    """Predictions with heavy tails, of which z = Φ⁻¹(F(y|x)) is off by a constant."""
    x = rng.uniform(-2, 2, len(by))
    z = rng.normal(size=len(by)) + size * (by == 0)
    y = x + 0.5 * student_law.ppf(norm.cdf(z), 4)
    total = z[by == 0].sum() / np.sqrt((by == 0).sum())
    model = cg.models.StudentT(df=4.0, loc=x, scale=0.5)
    return Sample(model, x, y, float(2 * norm.sf(abs(total))))


def likely_class(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.uniform(-2, 2, len(by))
    p = 1 / (1 + np.exp(-1.2 - 0.7 * x))
    true = 1 / (1 + np.exp(-1.2 - 0.7 * x + size * (by == 0)))
    y = (rng.random(len(by)) < true).astype(int)
    pmf = np.ones(1)
    for one in p[by == 0]:
        pmf = np.convolve(pmf, [1 - one, one])
    return Sample(cg.probabilities(p), x, y, by_likelihood(pmf, y[by == 0].sum()))


def fixed_class(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.uniform(-2, 2, len(by))
    p = np.full(len(by), 0.12)
    y = (rng.random(len(by)) < p * np.exp(size * (by == 0))).astype(int)
    rows = np.count_nonzero(by == 0)
    pmf = binom.pmf(np.arange(rows + 1), rows, 0.12)
    return Sample(cg.probabilities(p), x, y, by_likelihood(pmf, y[by == 0].sum()))


def coverage_80(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.uniform(-2, 2, len(by))
    y = x + rng.normal(size=len(by)) * np.exp(size * (by == 0))
    end = norm.ppf(0.9)
    held = (np.abs(y - x) <= end)[by == 0].sum()
    rows = np.count_nonzero(by == 0)
    pmf = binom.pmf(np.arange(rows + 1), rows, 0.8)
    model = cg.from_intervals(x - end, x + end, 0.8)
    return Sample(model, x, y, by_likelihood(pmf, held))


def large_counts(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.uniform(-2, 2, len(by))
    mean = np.exp(1.5 + 0.3 * x)
    y = rng.poisson(mean * np.exp(size * (by == 0)))
    pmf = poisson.pmf(np.arange(MOST_COUNT), mean[by == 0].sum())
    return Sample(cg.models.Poisson(mean=mean), x, y, by_likelihood(pmf, y[by == 0].sum()))


def small_counts(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.uniform(-2, 2, len(by))
    mean = 0.2 * np.exp(0.3 * x)
    y = rng.poisson(mean * np.exp(size * (by == 0)))
    pmf = poisson.pmf(np.arange(MOST_COUNT), mean[by == 0].sum())
    return Sample(cg.models.Poisson(mean=mean), x, y, by_likelihood(pmf, y[by == 0].sum()))


def weibull_events(rng: np.random.Generator, by: np.ndarray, size: float) -> Sample:
    x = rng.uniform(-2, 2, len(by))
    scale = np.exp(-0.3 * x)
    hazard = rng.exponential(size=len(by)) * np.exp(-size * (by == 0))
    times = scale * hazard ** (1 / 1.5)
    until = rng.uniform(0.2, 2.0, len(by))
    y = np.minimum(times, until)
    event = (times <= until).astype(int)
    total = np.power(y / scale, 1.5)[by == 0].sum()
    pmf = poisson.pmf(np.arange(MOST_COUNT), total)
    exact = by_likelihood(pmf, event[by == 0].sum())
    model = cg.models.Weibull(shape=1.5, scale=scale)
    return Sample(model, x, y, exact, event)


Make = Callable[[np.random.Generator, np.ndarray, float], Sample]
#: What makes samples, and sizes of the error for 1 and for 30 groups.
Cell = tuple[Make, dict[int, tuple[float, float]]]
#: Sizes of the error are such that power is near 0.5 and near 0.8.
CHOSEN_ON: dict[str, Cell] = {
    "normal, mean": (normal, {1: (0.26, 0.37), 30: (0.41, 0.52)}),
    "classes, p from 0.1 to 0.8": (classes, {1: (0.6, 0.85), 30: (0.95, 1.2)}),
    "classes, p = 0.05": (rare_class, {1: (0.85, 1.15), 30: (1.2, 1.5)}),
    "90% intervals": (coverage, {1: (0.22, 0.33), 30: (0.36, 0.46)}),
    "Poisson counts": (counts, {1: (0.22, 0.31), 30: (0.34, 0.44)}),
    "Poisson counts, mean 0.05": (rare_counts, {1: (0.95, 1.25), 30: (1.3, 1.6)}),
    "events": (events, {1: (0.45, 0.63), 30: (0.72, 0.88)}),
}
REPORTED: dict[str, Cell] = {
    "Student t, bias": (student, {1: (0.33, 0.48), 30: (0.53, 0.68)}),
    "classes, p from 0.45 to 0.93": (likely_class, {1: (0.8, 1.1), 30: (1.2, 1.55)}),
    "classes, p = 0.12": (fixed_class, {1: (0.75, 1.0), 30: (1.1, 1.35)}),
    "80% intervals": (coverage_80, {1: (0.3, 0.45), 30: (0.5, 0.65)}),
    "Poisson counts, mean 4.5": (large_counts, {1: (0.16, 0.22), 30: (0.25, 0.31)}),
    "Poisson counts, mean 0.2": (small_counts, {1: (0.65, 0.9), 30: (0.95, 1.2)}),
    "Weibull events": (weibull_events, {1: (0.42, 0.6), 30: (0.7, 0.88)}),
}


def main(samples: int, cells: dict[str, Cell], rows: int) -> None:
    print("| error of one group | groups | exact test | named group | difference |")
    print("|---|---|---|---|---|")
    for name, (make, sizes) in cells.items():
        for count, each in sizes.items():
            for size in each:
                exact = np.zeros(samples, dtype=bool)
                named = np.zeros(samples, dtype=bool)
                for trial in range(samples):
                    rng = np.random.default_rng([trial, count, *name.encode()])
                    by = np.repeat(np.arange(max(count, 2)), rows)
                    sample = make(rng, by, size)
                    exact[trial] = sample.exact <= ALPHA / count
                    pvalue = first_pvalue(sample, by, alone=count == 1)
                    named[trial] = pvalue <= ALPHA
                print(
                    f"| {name} | {count} | {exact.mean():.3f} | {named.mean():.3f} |"
                    f" {named.mean() - exact.mean():+.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    if "chosen" in sys.argv:
        main(trials, CHOSEN_ON, CHOSEN_ROWS)
    else:
        main(trials, REPORTED, REPORTED_ROWS)
