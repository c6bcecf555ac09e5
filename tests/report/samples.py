"""Real checks for pages and pictures: each kind of y, each kind of column, and outliers.

Each sample is a small fixed data set with a misfit that is planted in it. Whether a check
is right is tested elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

import condgof as cg
from lazily import Lazily

EVIL = "<img src=x onerror=alert(1)>"
EDUCATION = ("< HS", "HS grad", "Some college", "College grad", "Advanced degree")
REGIONS = tuple(
    f"Region no. {i:02d} of the Kingdom, {side}"
    for i in range(30)
    for side in ("coast", "hills")
)
SPECIES = ("setosa", "versicolor", "virginica")
#: The seed of all checks, which pages repeat.
SEED = 42
#: Draws of the null distribution: enough for all that is tested here.
DRAWS = 199
#: What is allowed, so that pages say whether the misfit is larger.
TOLERANCE = "0.1 size"


def people(n: int, rng: np.random.Generator, *, evil: bool = False) -> pd.DataFrame:
    """Return one column of each kind: whole numbers, ordered levels, dates, and others."""
    region = np.minimum(rng.geometric(0.06, n) - 1, len(REGIONS) - 1)
    education = rng.choice(len(EDUCATION), n, p=[0.1, 0.3, 0.25, 0.2, 0.15])
    job = rng.integers(0, 2, n)
    days = rng.integers(0, 1400, n)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 81, n),
            "education": pd.Categorical.from_codes(education, EDUCATION, ordered=True),
            "year": rng.integers(2003, 2010, n),
            "distance": rng.lognormal(1.0, 1.2, n),
            "job class": np.array(["Industrial", "Information"])[job],
            "hired": np.datetime64("2019-01-01") + days.astype("timedelta64[D]"),
            EVIL if evil else "region": np.array(REGIONS)[region],
        }
    )


def check(model: object, x: object, y: object, **options: object) -> cg.Check:
    options = {"rng": SEED, "n_boot": DRAWS, "tolerance": TOLERANCE, **options}
    return cg.check(model, x, y, **options)


def wages(
    n: int = 900,
    seed: int = 0,
    *,
    evil: bool = False,
    misfit: bool = True,
    outliers: bool = True,
    towns: int = 0,
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, pd.Series, dict[str, object]]:
    """Return x, the predicted mean and sd, y, and options of the check.

    The spread is too wide where less than 110 is predicted, too narrow for advanced
    degrees in information; ages from 30 to 47 are shifted. Five rows are outliers.
    """
    rng = np.random.default_rng(seed)
    x = people(n, rng, evil=evil)
    age = x["age"].to_numpy()
    education = x["education"].cat.codes.to_numpy()
    mean = 60 + 9 * education + 0.9 * (age - 18) - 0.009 * (age - 18) ** 2
    mean = mean + 1.2 * (x["year"].to_numpy() - 2003)
    sd = 28.0 * (1.0 + 0.1 * rng.random(n))
    z = rng.standard_normal(n)
    if misfit:
        narrow = (education == 4) & (x["job class"] == "Information").to_numpy()
        spread = np.where(mean < 110, 0.69, 1.0) * np.where(narrow, 2.5, 1.0)
        z = np.where((age >= 30) & (age <= 47), 0.5, 0.0) + spread * z
    if outliers:
        high = np.flatnonzero((mean > 110) & (education < 4))[:5]
        z[high] = [9.5, -8.0, 7.1, 6.0, 31.0]
    options: dict[str, object] = {}
    if towns:
        town = rng.integers(0, towns, n)
        z = z + np.where(town == 3, 2.5, 0.0)
        options["by"] = pd.Series([f"T{number:03d}" for number in town], name="town")
    name = f"{EVIL} of y" if evil else "wage"
    return x, mean, sd, pd.Series(mean + sd * z, name=name), options


def continuous(**sample: object) -> cg.Check:
    x, mean, sd, y, options = wages(**sample)
    return check((mean, sd), x, y, **options)


def no_bands() -> cg.Check:
    """PITs alone: nothing is predicted, so that there are no bands to draw."""
    x, mean, sd, y, _ = wages(seed=10)
    return check(cg.from_pit(stats.norm.cdf((y - mean) / sd)), x, y)


def draws() -> cg.Check:
    """A law that is known by draws."""
    x, mean, sd, y, _ = wages(n=400, seed=16)
    rng = np.random.default_rng(17)
    noise = rng.standard_normal((400, 99))
    return check(cg.from_draws(mean[:, None] + sd[:, None] * noise), x, y)


def one_column(n: int = 600, seed: int = 1) -> cg.Check:
    """One numeric column of x, and a spread that the model misses."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, n)
    mean = np.sin(2 * x) + x
    sd = 0.3 + 0.1 * x
    y = mean + sd * rng.standard_normal(n) * np.where(x > 3, 2.0, 1.0)
    return check((mean, sd), pd.DataFrame({"x": x}), pd.Series(y, name="y"))


def two_columns(n: int = 500, seed: int = 2) -> cg.Check:
    """Two columns of y that correlate, which the model does not know."""
    rng = np.random.default_rng(seed)
    x = people(n, rng)
    age = x["age"].to_numpy()
    mean = np.column_stack([age, 0.1 * age])
    covariance = [[1, 0.5], [0.5, 1]]
    z = rng.multivariate_normal([0, 0], covariance, n) * [1.0, 1.2]
    z[:, 1] *= np.where(age > 60, 2.2, 1.0)
    y = pd.DataFrame(mean + z, columns=["height", "weight"])
    return check((mean, np.ones((n, 2))), x, y)


def vector_draws(n: int = 300, seed: int = 18) -> cg.Check:
    """Two columns of y of a law that is known by draws."""
    rng = np.random.default_rng(seed)
    x = people(n, rng)[["age", "education", "job class"]]
    age = x["age"].to_numpy()
    mean = np.column_stack([age, 0.1 * age])
    y = pd.DataFrame(mean + 1.5 * rng.standard_normal((n, 2)), columns=["height", "weight"])
    return check(cg.from_draws(mean[:, None] + rng.standard_normal((n, 60, 2))), x, y)


def classes(n: int = 800, seed: int = 3, *, evil: bool = False) -> cg.Check:
    """A classifier that is overconfident, above all of old people."""
    rng = np.random.default_rng(seed)
    x = people(n, rng, evil=evil)
    names = (EVIL, *SPECIES[1:]) if evil else SPECIES
    logits = 1.1 * rng.standard_normal((n, len(names)))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    power = np.where(x["age"].to_numpy() > 55, 3.0, 1.2)[:, None]
    p = truth**power / (truth**power).sum(axis=1, keepdims=True)
    codes = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    y = pd.Series(np.array(names)[np.minimum(codes, len(names) - 1)], name="species")
    return check(cg.probabilities(p, classes=list(names)), x, y)


def counts(n: int = 700, seed: int = 4) -> cg.Check:
    """Counts with more zeros and a longer tail than Poisson's law has."""
    rng = np.random.default_rng(seed)
    x = people(n, rng)
    mean = np.exp(0.4 + 0.02 * (x["age"].to_numpy() - 40))
    y = rng.poisson(mean * rng.gamma(1.2, 1 / 1.2, n))
    return check(cg.models.Poisson(mean=mean), x, pd.Series(y, name="visits"))


def _loads(n: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return x and a y that spreads more than N(0, 1) in far places."""
    rng = np.random.default_rng(seed)
    x = people(n, rng)
    spread = np.where(x["distance"].to_numpy() > 5, 1.7, 1.0)
    return x, pd.Series(spread * rng.standard_normal(n), name="load")


def quantiles(n: int = 800, seed: int = 5) -> cg.Check:
    """Quantiles that are too narrow in far places."""
    x, y = _loads(n, seed)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    centre = 0.001 * np.random.default_rng(seed).standard_normal(n)
    return check(
        cg.from_quantiles(centre[:, None] + stats.norm.ppf(levels), levels=levels), x, y
    )


def intervals(n: int = 800, seed: int = 5) -> cg.Check:
    """Intervals that are too narrow in far places."""
    x, y = _loads(n, seed)
    levels = np.array([0.5, 0.9])
    ends = np.tile(stats.norm.ppf(0.5 + levels / 2), (n, 1))
    return check(cg.from_intervals(-ends, ends, coverage=levels), x, y)


def scores(n: int = 300, seed: int = 6) -> cg.Check:
    """Stein scores alone: nothing predicted can be drawn."""
    rng = np.random.default_rng(seed)
    x = people(n, rng)[["age", "education", "year"]]
    y = 1.4 * rng.standard_normal(n)
    return check(cg.from_scores(-y), x, pd.Series(y, name="y"))


def moments() -> cg.Check:
    """Residuals of which only mean and standard deviation are known."""
    x, mean, sd, y, _ = wages(seed=15)
    return check((mean, sd), x, y, standardize="mean_std")


def marginals() -> cg.Check:
    """Normal scores of the marginal CDF of one column."""
    x, mean, sd, y, _ = wages(n=300, seed=20)
    return check((mean, sd), x, y, standardize="marginals")


def censored(n: int = 500, seed: int = 19) -> cg.Check:
    """Censored times whose hazard is too low for old people."""
    rng = np.random.default_rng(seed)
    x = people(n, rng)
    age = x["age"].to_numpy()
    times = rng.exponential(np.where(age > 60, 0.4, 1.0))
    ends = rng.uniform(0.2, 2.0, n)
    y = pd.Series(np.minimum(times, ends), name="time")
    return check(cg.models.Exponential(scale=1.0), x, y, event=times <= ends)


#: What makes each check, by name.
MAKERS: dict[str, Callable[[], cg.Check]] = {
    "continuous": continuous,
    "evil": partial(continuous, seed=8, evil=True),
    "good": partial(continuous, seed=21, misfit=False, outliers=False),
    "no bands": no_bands,
    "draws": draws,
    "groups": partial(continuous, n=3000, seed=11, towns=200),
    "few groups": partial(continuous, seed=12, towns=9),
    "one column": one_column,
    "several": two_columns,
    "vector draws": vector_draws,
    "classes": classes,
    "evil classes": partial(classes, seed=13, evil=True),
    "counts": counts,
    "quantiles": quantiles,
    "intervals": intervals,
    "censored": censored,
    "scores": scores,
    "moments": moments,
    "marginals": marginals,
    "tiny": partial(continuous, n=12, seed=14, misfit=False, outliers=False),
}
_CHECKS = Lazily(MAKERS)


def checks() -> Lazily[cg.Check]:
    """Return every check, by name; each is made when it is first asked for."""
    return _CHECKS
