"""Checks made by hand for pages and pictures: each kind of y, each kind of column, and wild rows.

Numbers of slices are plain computations on their rows; intervals and p-values are made up.
Whether a check is right is tested elsewhere.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import stats

from condgof.check._axes import Axis
from condgof.check._looked import BANDS, Looked
from condgof.check._record import (
    Check,
    Condition,
    Effect,
    Finding,
    Interval,
    Power,
    Slice,
    Tolerance,
)
from condgof.laws._known import Event
from condgof.result import GofResult
from condgof.sample import Column

EVIL = "<img src=x onerror=alert(1)>"
EDUCATION = ("< HS", "HS grad", "Some college", "College grad", "Advanced degree")
REGIONS = tuple(
    f"Region no. {i:02d} of the Kingdom, {w}" for i in range(30) for w in ("coast", "hills")
)
QUERIES = {"=": "==", "≤": "<=", "≥": ">=", "<": "<", ">": ">"}


def axis(name, kind, values, levels=None, predicted=False):
    return Axis(name, kind, np.asarray(values, dtype=float), levels, predicted, name)


def columns_of(axes):
    return tuple(
        Column(a.name, a.levels, dates=a.kind == "dates", ordered=a.kind == "ordered")
        for a in axes
        if not a.predicted
    )


def looked_of(kind, axes, y, y_columns, **more):
    """Rows of a kind; the columns of x are the axes that are not predicted."""
    x = np.column_stack([a.values for a in axes if not a.predicted])
    fields = {
        "rows": np.arange(len(y)),
        "x_columns": columns_of(axes),
        "x": x,
        "whole": len(y),
        **more,
    }
    known = {f.name for f in dataclasses.fields(Looked)}
    kept = {name: value for name, value in fields.items() if name in known}
    return Looked(kind=kind, axes=axes, y=y, y_columns=y_columns, **kept)


def bands_of(quantiles, rng, most=600):
    """The model's quantiles in some rows, as a check has them."""
    rows = np.sort(rng.choice(len(quantiles), min(most, len(quantiles)), replace=False))
    bands = np.full(quantiles.shape, np.nan)
    bands[rows] = quantiles[rows]
    return {"bands": bands}


def x_of(n, rng, evil=False):
    """Axes of x: an integer, ordered levels, a year, numbers, two levels, dates, many levels."""
    day = np.datetime64("2019-01-01").astype(int)
    return (
        axis("age", "integers", rng.integers(18, 81, n)),
        axis(
            "education",
            "ordered",
            rng.choice(5, n, p=[0.1, 0.3, 0.25, 0.2, 0.15]),
            EDUCATION,
        ),
        axis("year", "integers", rng.integers(2003, 2010, n)),
        axis("distance", "numbers", rng.lognormal(1.0, 1.2, n)),
        axis("job class", "two", rng.integers(0, 2, n), ("Industrial", "Information")),
        axis("hired", "dates", day + rng.integers(0, 1400, n)),
        axis(
            EVIL if evil else "region",
            "levels",
            np.minimum(rng.geometric(0.06, n) - 1, 59),
            REGIONS,
        ),
    )


def result_of(n, pvalue, seed=0, draws=1000):
    rng = np.random.default_rng(seed)
    null = np.log(rng.pareto(1.1, draws) + 1)
    statistic = (
        float(np.quantile(null, 1 - pvalue))
        if pvalue > 1 / draws
        else float(null.max() + 3)
    )
    families = {
        "scales": pvalue,
        "columns": min(1.0, 2 * pvalue),
        "slices": pvalue,
        "locations": 0.31,
    }
    return GofResult(
        statistic,
        max(pvalue, 1 / (draws + 1)),
        "adaptive",
        n,
        null_distribution=null,
        null="redraw",
        solver="features",
        seed=42,
        details={
            "families": families,
            "standardized_by": "normal scores of the model's CDF",
        },
    )


def share(inside, level=0.95):
    """A share of rows with its exact interval."""
    n, k = len(inside), int(np.sum(inside))
    a = (1 - level) / 2
    low = 0.0 if k == 0 else float(stats.beta.ppf(a, k, n - k + 1))
    return k / n, (low, 1.0 if k == n else float(stats.beta.ppf(1 - a, k + 1, n - k)))


def findings_of_z(z, column, lead="spread"):
    """What is said of rows with residuals z."""
    n, mean, sd = len(z), float(z.mean()), float(z.std(ddof=1))
    half, wide = 3.2 * sd / np.sqrt(n), float(np.exp(3.2 * np.sqrt(0.7 / n)))
    words = (
        f"the data spread {sd:.2f} times as much as the model says ({sd / wide:.2f} to"
        f" {sd * wide:.2f})"
    )
    found = [Finding("spread", column, sd, (sd / wide, sd * wide), 1.0, words)]
    side = "above" if mean > 0 else "below"
    words = (
        f"the data lie {abs(mean):.2f} standard deviations {side} the prediction "
        f"({mean - half:.2f} to {mean + half:.2f})"
    )
    found.append(Finding("shift", column, mean, (mean - half, mean + half), 0.0, words))
    for level in (0.5, 0.9):
        at, ends = share(np.abs(z) <= stats.norm.ppf(0.5 + level / 2))
        words = (
            f"the {level:.0%} interval holds {at:.2f} of the rows ({ends[0]:.2f} to"
            f" {ends[1]:.2f})"
        )
        found.append(Finding("coverage", column, at, ends, level, words, f"{level:.0%}"))
    at, ends = share(np.abs(z) > stats.norm.ppf(0.9995))
    words = f"{at:.1%} of the rows lie outside the model's 99.9% interval"
    found.append(Finding("tails", column, at, ends, 0.001, words))
    q = np.quantile(z, [0.1, 0.5, 0.9])
    skew = float((q[2] + q[0] - 2 * q[1]) / (q[2] - q[0]))
    found.append(
        Finding(
            "skew", column, skew, (skew - 0.1, skew + 0.1), 0.0, f"skewed by {skew:.2f}"
        )
    )
    return tuple(sorted(found, key=lambda f: f.kind != lead))


def share_finding(kind, column, happened, expected, words, label=""):
    at, ends = share(happened, 0.999)
    text = f"{words} in {at:.2f} of the rows where the model says {expected:.2f}"
    return Finding(
        kind,
        column,
        at,
        ends,
        float(expected),
        f"{text} ({ends[0]:.2f} to {ends[1]:.2f})",
        label,
    )


def direction_of(finding):
    above = finding.estimate > finding.expected
    return {
        "shift": ("too high", "too low"),
        "spread": ("too wide", "too narrow"),
        "coverage": ("too narrow", "too wide"),
        "confidence": ("too sure", "not sure enough"),
        "class": ("too high", "too low"),
        "quantile": ("too low", "too high"),
        "zeros": ("too high", "too low"),
    }.get(finding.kind, ("too low", "too high"))[int(above)]


def slice_of(looked, conditions, findings, pvalue=1e-4):
    """A slice of (axis name, sign, value) conditions; `findings` of a mask gives what is said of it."""
    inside, named = np.ones(looked.n, bool), []
    by_name = {a.name: a for a in looked.axes}
    for name, sign, value in conditions:
        a = by_name[name]
        at = a.levels.index(value) if a.levels is not None else value
        compare = {"=": a.values == at, "≤": a.values <= at, "≥": a.values >= at}
        inside &= compare[sign]
        said = value if a.levels is not None else a.text(at)
        named.append(
            Condition(name, f"{name} {sign} {said}", f"`{name}` {QUERIES[sign]} {value!r}")
        )
    found = findings(inside)
    return Slice(
        tuple(named),
        " and ".join(c.words for c in named),
        " and ".join(c.query for c in named),
        looked.rows[inside],
        float(inside.mean()),
        pvalue,
        1e-4,
        found,
        abs(found[0].estimate - found[0].expected),
        direction_of(found[0]),
    )


def check_of(
    looked, overall, slices=(), groups=(), pvalue=1e-4, words="All is wrong.", unit="sd"
):
    size = Interval(0.31, 0.24, 0.39)
    effect = Effect(
        size, unit, "as large as a constant shift of 0.31 model standard deviations"
    )
    power = Power(
        0.15, 1.2, 0.8, 0.05, "A shift of 0.15 would have been found with probability 0.8."
    )
    tolerance = Tolerance(
        0.1, "worse than you allow", 0.25, 0.38, "The misfit is larger than 0.1."
    )
    details = {"notes": ("A note.",), "searched": {"slices": 2200}}
    result = result_of(looked.n, pvalue)
    return Check(
        result,
        words,
        overall,
        slices,
        groups,
        effect,
        power,
        tolerance,
        0.05,
        looked,
        details,
    )


def continuous(n=900, seed=0, evil=False, bad=True, wild=True, bands=True, groups=0):
    """Wages: too wide below a predicted 110, too narrow for advanced degrees, five wild rows."""
    rng = np.random.default_rng(seed)
    axes = x_of(n, rng, evil)
    age, education, year = (a.values for a in axes[:3])
    location = (
        60
        + 9 * education
        + 0.9 * (age - 18)
        - 0.009 * (age - 18) ** 2
        + 1.2 * (year - 2003)
    )
    scale = np.full(n, 28.0)
    spread = np.where(location < 110, 0.69, 1.0) * np.where(education == 4, 1.6, 1.0)
    shift = np.where((age >= 30) & (age <= 47), 0.3, 0.0)
    z = rng.standard_normal(n)
    if bad:
        z = shift + spread * z
    if wild:
        high = np.flatnonzero((location > 110) & (education < 4))[:5]
        z[high] = [9.5, -8.0, 7.1, 6.0, 31.0]
    axes += (
        axis("predicted", "numbers", location, predicted=True),
        axis("predicted_sd", "numbers", scale * (1 + 0.1 * rng.random(n)), predicted=True),
    )
    column = EVIL + " of y" if evil else "wage"
    quantiles = location[:, None] + scale[:, None] * stats.norm.ppf(BANDS)
    looked = looked_of(
        "continuous",
        axes,
        (location + scale * z)[:, None],
        (Column(column),),
        z=z[:, None],
        location=location[:, None],
        scale=scale[:, None],
        **(bands_of(quantiles, rng) if bands else {}),
    )

    def said(lead):
        return lambda inside: findings_of_z(z[inside], column, lead)

    slices = ()
    if bad:
        slices = (
            slice_of(looked, [("predicted", "≤", 110.0)], said("spread")),
            slice_of(
                looked,
                [("education", "=", "Advanced degree"), ("job class", "=", "Information")],
                said("spread"),
            ),
            slice_of(looked, [("age", "≥", 30), ("age", "≤", 47)], said("shift"), 0.0003),
            slice_of(looked, [("year", "=", 2006)], said("coverage"), 0.03),
        )
    members = ()
    if groups:
        of = rng.integers(0, groups, n)
        z2 = z + np.where(of == 3, 2.5, 0.0)
        members = tuple(
            Slice(
                (Condition("town", f"town = T{g:03d}", f"town == 'T{g:03d}'"),),
                f"town = T{g:03d}",
                f"town == 'T{g:03d}'",
                np.flatnonzero(of == g),
                float((of == g).mean()),
                1e-4 if g == 3 else 0.8,
                1e-4,
                findings_of_z(z2[of == g], column, "shift"),
                abs(float(z2[of == g].mean())),
                "too low",
            )
            for g in range(groups)
            if (of == g).sum() > 1
        )
    words = (
        "The spread is wrong: too wide below a predicted 110, too narrow for advanced"
        " degrees."
        if bad
        else "Nothing speaks against the model."
    )
    return check_of(
        looked, findings_of_z(z, column), slices, members, 1e-4 if bad else 0.4, words
    )


def one_column(n=600, seed=1):
    """One numeric column of x, and a spread that the model misses."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 4, n))[rng.permutation(n)]
    location, scale = np.sin(2 * x) + x, 0.3 + 0.1 * x
    z = rng.standard_normal(n) * np.where(x > 3, 2.0, 1.0)
    axes = (axis("x", "numbers", x), axis("predicted", "numbers", location, predicted=True))
    looked = looked_of(
        "continuous",
        axes,
        (location + scale * z)[:, None],
        (Column("y"),),
        z=z[:, None],
        location=location[:, None],
        scale=scale[:, None],
        **bands_of(location[:, None] + scale[:, None] * stats.norm.ppf(BANDS), rng),
    )
    slices = (
        slice_of(looked, [("x", "≥", 3.0)], lambda inside: findings_of_z(z[inside], "y")),
    )
    return check_of(looked, findings_of_z(z, "y"), slices)


def several(n=500, seed=2):
    """Two columns of y."""
    rng = np.random.default_rng(seed)
    axes = x_of(n, rng)
    z = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], n) * [1.0, 1.4]
    location = np.column_stack([axes[0].values, 0.1 * axes[0].values])
    axes += tuple(
        axis(f"predicted_{name}", "numbers", location[:, i], predicted=True)
        for i, name in enumerate(("height", "weight"))
    )
    looked = looked_of(
        "several",
        axes,
        location + z,
        (Column("height"), Column("weight")),
        z=z,
        location=location,
        scale=np.ones((n, 2)),
    )

    def said(inside):
        return findings_of_z(z[inside, 1], "weight") + findings_of_z(z[inside, 0], "height")

    correlation = Finding(
        "correlation", "height, weight", 0.5, (0.4, 0.6), 0.0, "z correlate by 0.5"
    )
    overall = (*said(np.ones(n, bool)), correlation)
    return check_of(looked, overall, (slice_of(looked, [("age", "≥", 50)], said),))


def classes(n=800, seed=3, names=("setosa", "versicolor", "virginica"), evil=False):
    """A classifier that is too sure, above all of old people."""
    rng = np.random.default_rng(seed)
    axes = x_of(n, rng, evil)
    names = (EVIL, *names[1:]) if evil else names
    logits = 1.1 * rng.standard_normal((n, len(names)))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    sharper = np.where(axes[0].values > 55, 3.0, 1.2)[:, None]
    p = truth**sharper / (truth**sharper).sum(axis=1, keepdims=True)
    codes = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    codes = np.minimum(codes, len(names) - 1)
    best = p.argmax(axis=1)
    axes += (
        axis("predicted", "levels", best, tuple(names), predicted=True),
        axis("confidence", "numbers", p.max(axis=1), predicted=True),
    )
    looked = looked_of(
        "classes",
        axes,
        codes[:, None].astype(float),
        (Column("species", tuple(names)),),
        probabilities=p,
        codes=codes,
        class_names=tuple(names),
    )
    right = codes == best

    def said(inside):
        mean = p.max(axis=1)[inside].mean()
        words = "the most probable class was right"
        found = [share_finding("confidence", "species", right[inside], mean, words)]
        return (
            *found,
            *(
                share_finding(
                    "class",
                    "species",
                    codes[inside] == k,
                    p[inside, k].mean(),
                    f"{c} came",
                    c,
                )
                for k, c in enumerate(names)
            ),
        )

    slices = (
        slice_of(looked, [("age", "≥", 56)], said),
        slice_of(looked, [("job class", "=", "Industrial")], said, 0.02),
    )
    words = "The model is too sure: it says 0.79 and is right in 0.61 of the rows."
    return check_of(looked, said(np.ones(n, bool)), slices, words=words, unit="probability")


def counts(n=700, seed=4):
    """Counts with more zeros and a longer tail than Poisson."""
    rng = np.random.default_rng(seed)
    axes = x_of(n, rng)
    mean = np.exp(0.4 + 0.02 * (axes[0].values - 40))
    y = rng.poisson(mean * rng.gamma(1.2, 1 / 1.2, n)).astype(float)
    sd = np.sqrt(mean)
    z = (y - mean) / sd
    axes += (
        axis("predicted", "numbers", mean, predicted=True),
        axis("predicted_sd", "numbers", sd, predicted=True),
    )
    grid = stats.poisson.pmf(np.arange(12), mean[:, None])
    looked = looked_of(
        "counts",
        axes,
        y[:, None],
        (Column("visits"),),
        z=z[:, None],
        location=mean[:, None],
        scale=sd[:, None],
        **bands_of(stats.poisson.ppf(BANDS, mean[:, None]), rng),
        codes=y.astype(np.int64),
        count_probabilities=np.append(grid.mean(axis=0), 1 - grid.sum(axis=1).mean()),
    )

    def said(inside):
        found = [
            f for f in findings_of_z(z[inside], "visits") if f.kind in ("shift", "spread")
        ]
        zeros = np.exp(-mean[inside]).mean()
        return (
            *found,
            share_finding("zeros", "visits", y[inside] == 0, zeros, "visits was 0"),
        )

    slices = (slice_of(looked, [("age", "≥", 60)], said),)
    return check_of(
        looked, said(np.ones(n, bool)), slices, words="The counts spread too much."
    )


def cells(kind="quantiles", n=800, seed=5):
    """Quantiles or intervals that are too narrow in far places."""
    rng = np.random.default_rng(seed)
    axes = x_of(n, rng)
    spread = np.where(axes[3].values > 5, 1.7, 1.0)
    y = spread * rng.standard_normal(n)
    if kind == "quantiles":
        levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
        codes = (stats.norm.ppf(levels) < y[:, None]).sum(axis=1)
        events = tuple(Event("quantile", lv, k + 1) for k, lv in enumerate(levels))
    else:
        levels = np.array([0.5, 0.9])
        codes = 2 - (np.abs(y[:, None]) <= stats.norm.ppf(0.5 + levels / 2)).sum(axis=1)
        events = tuple(Event("coverage", lv, k + 1) for k, lv in enumerate(levels))
    axes += (axis("predicted", "numbers", rng.standard_normal(n), predicted=True),)
    looked = looked_of(
        kind,
        axes,
        y[:, None],
        (Column("load"),),
        codes=codes,
        events=events,
    )

    def said(inside):
        found = []
        for event in events:
            happened = event.happened(codes[inside])
            if event.kind == "quantile":
                found.append(
                    share_finding(
                        "quantile",
                        "load",
                        happened,
                        event.level,
                        "y was not above it",
                        f"{event.level:g}",
                    )
                )
            else:
                label = f"{event.level:.0%}"
                words = f"the {label} interval holds y"
                found.append(
                    share_finding("coverage", "load", happened, event.level, words, label)
                )
        return tuple(found[::-1])

    slices = (slice_of(looked, [("distance", "≥", 5.0)], said),)
    return check_of(looked, said(np.ones(n, bool)), slices, unit="probability")


def scores(n=300, seed=6):
    """Scores alone: no z, nothing predicted."""
    rng = np.random.default_rng(seed)
    axes = x_of(n, rng)[:3]
    y = rng.standard_normal((n, 1))
    looked = looked_of("scores", axes, y, (Column("y"),))
    return check_of(looked, ())


def moments():
    """Residuals of which only mean and standard deviation are known."""
    check = continuous(seed=15)
    looked = dataclasses.replace(check.looked, kind="moments", bands=None)
    return dataclasses.replace(check, looked=looked)


def made():
    """Every check, by name."""
    return {
        "continuous": continuous(),
        "evil": continuous(seed=8, evil=True),
        "good": continuous(seed=9, bad=False, wild=False),
        "no bands": continuous(seed=10, bands=False),
        "groups": continuous(n=3000, seed=11, groups=200),
        "few groups": continuous(seed=12, groups=9),
        "one column": one_column(),
        "several": several(),
        "classes": classes(),
        "evil classes": classes(seed=13, evil=True),
        "counts": counts(),
        "quantiles": cells("quantiles"),
        "intervals": cells("intervals"),
        "scores": scores(),
        "moments": moments(),
        "tiny": continuous(n=12, seed=14, bad=False, wild=False),
    }
