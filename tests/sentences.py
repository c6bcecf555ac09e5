"""Checks of every kind of y, of which `test_words` compares all sentences with recorded
ones.

Record them, with the sources of the version to record::

    PYTHONPATH=src python tests/sentences.py
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

import condgof as cg

N = 400
RECORDED = Path(__file__).with_suffix(".json")
FAST = {"rng": 0, "n_boot": 39, "engine": 1}


class OnlyMoments(cg.Law):
    """A law with a score, mean and standard deviation, and no CDF."""

    def __init__(self, mean):
        self.mean = np.asarray(mean, dtype=float)

    @property
    def rows(self):
        return len(self.mean)

    def take(self, rows):
        return OnlyMoments(self.mean[rows])

    def score(self, y):
        return self.mean[:, None] - np.asarray(y).reshape(-1, 1)

    def mean_std(self):
        return self.mean[:, None], np.ones((len(self.mean), 1))


class Sampled:
    """Covariates of 400 rows, two groups, and noise that spreads too much in one."""

    def __init__(self):
        self.rng = np.random.default_rng(11)
        self.age = self.rng.integers(18, 70, N)
        self.town = np.where(np.arange(N) % 4 == 0, "Oslo", "Rome")
        self.x = pd.DataFrame({"age": self.age, "town": self.town})
        self.mean = self.age / 20.0
        self.noise = self.rng.standard_normal(N)
        self.noise *= np.where(self.town == "Oslo", 1.7, 1.0)

    def check(self, model, y, **options):
        return cg.check(model, self.x, y, by="town", **FAST, **options)


def continuous(s):
    y = s.mean + s.noise + 0.3
    y[7] += 40.0
    return s.check((s.mean, np.ones(N)), y)


def draws(s):
    made = s.mean[:, None] + s.rng.standard_normal((N, 60))
    return s.check(cg.from_draws(made), s.mean + s.noise - 0.2)


def several(s):
    other = 0.6 * s.noise + 0.8 * s.rng.standard_normal(N)
    y = pd.DataFrame({"rent": s.mean + s.noise, "food": other})
    y.loc[5, "food"] = 30.0
    mean = np.column_stack([s.mean, np.zeros(N)])
    return s.check((mean, np.ones((N, 2))), y)


def moments(s):
    return s.check(OnlyMoments(s.mean), s.mean + s.noise)


def scores(s):
    return s.check(cg.from_scores(-s.noise[:, None] - 0.3), s.mean + s.noise)


def classes(s):
    logits = np.column_stack([s.mean, np.full(N, 2.0), 4.0 - s.mean])
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    flat = 0.5 * p + 0.5 / 3.0
    codes = (s.rng.random((N, 1)) > np.cumsum(flat, axis=1)).sum(axis=1)
    names = np.array(["bus", "car", "train"])
    return s.check(cg.probabilities(p, classes=list(names)), names[codes])


def counts(s):
    y = s.rng.poisson(s.mean * np.exp(0.6 * s.noise))
    y[s.rng.random(N) < 0.1] = 0
    return s.check(cg.models.Poisson(mean=s.mean), y)


def quantiles(s):
    levels = np.array([0.1, 0.5, 0.9])
    ends = s.mean[:, None] + np.array([-1.28, 0.0, 1.28])
    return s.check(cg.from_quantiles(ends, levels), s.mean + s.noise + 0.2)


def intervals(s):
    low = np.column_stack([s.mean - 0.67, s.mean - 1.64])
    high = np.column_stack([s.mean + 0.67, s.mean + 1.64])
    return s.check(cg.from_intervals(low, high, [0.5, 0.9]), s.mean + s.noise)


def censored(s):
    time = s.rng.exponential(1.0 / (0.5 + 0.5 * (s.town == "Oslo")))
    end = s.rng.uniform(0.0, 3.0, N)
    model = cg.models.Exponential(scale=np.ones(N))
    return s.check(model, np.minimum(time, end), event=time <= end)


def fitted(s):
    """A number that refits tell, with its interval, and one that the fit sets."""
    y = s.mean + 0.02 * (s.age - 40.0) ** 2 / 10.0 + s.noise
    fit = cg.fits.ols()
    return cg.composite(fit, s.x[["age"]], y, rng=0, n_boot=19, engine=1)


def fitted_counts(s):
    y = s.rng.poisson(s.mean * np.exp(0.4 * s.noise))
    fit = cg.fits.glm("poisson")
    return cg.composite(fit, s.x[["age"]], y, rng=0, n_boot=19, engine=1)


def compared(s):
    y = s.mean + s.noise
    worse = s.mean + 1.5 * (s.town == "Oslo")
    models = (s.mean, np.ones(N)), (worse, np.ones(N))
    return cg.compare(*models, s.x, y, rng=0, engine=1)


#: A check of each kind of y, by name.
KINDS_OF_Y = {
    "continuous": continuous,
    "draws": draws,
    "several": several,
    "moments": moments,
    "scores": scores,
    "classes": classes,
    "counts": counts,
    "quantiles": quantiles,
    "intervals": intervals,
    "censored": censored,
}
#: The same, and what else has findings: fitted models, and the comparison of two models.
CASES = {
    **KINDS_OF_Y,
    "fitted": fitted,
    "fitted_counts": fitted_counts,
    "compared": compared,
}


def findings_of(report):
    """All findings of a report: of all rows, of named groups, of the first subgroups."""
    overall = getattr(report, "overall", ())
    groups = getattr(report, "groups", ())
    parts = (*groups, *report.slices[:2])
    return [*overall, *(finding for part in parts for finding in part.findings)]


def sentences():
    """The words of all findings of all cases, by case."""
    return {
        name: [finding.words for finding in findings_of(case(Sampled()))]
        for name, case in CASES.items()
    }


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(sentences(), indent=1, ensure_ascii=False) + "\n")
