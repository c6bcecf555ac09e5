"""Every number of every effect and slice is a line of pandas on its own rows.

The seeds were chosen so that the model is wrong in other rows with each (`wrong_rows`).
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, poisson

import condgof as cg
from seeds import seeds

#: Half the width of the central intervals of N(0, 1) that findings name.
HALF_WIDTHS = {"50%": norm.ppf(0.75), "90%": norm.ppf(0.95)}
OUTSIDE = {"99%": 0.01, "99.9%": 0.001}
ROWS = 600


def awkward_table(rng):
    """Columns of all kinds, with names that queries have to quote, some values missing."""
    n = ROWS
    frame = pd.DataFrame(
        {
            "income (USD)": np.round(rng.lognormal(9, 1, n), 2),
            "rounded": np.round(rng.normal(size=n), 1),
            "age": rng.integers(18, 70, n),
            "0/1": rng.integers(0, 2, n),
            "class": rng.random(n) < 0.3,
            "town": rng.choice(["Oslo", 'Rio "de" J', "a and b", "ø\\", "x"], n),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high", "top"], n),
                ["low", "mid", "high", "top"],
                ordered=True,
            ),
            "day of": pd.Timestamp("2021-01-01")
            + pd.to_timedelta(rng.integers(0, 800, n), unit="h"),
            "z": rng.normal(size=n) * 1e-9,
        }
    )
    frame.loc[rng.choice(n, 12, replace=False), "income (USD)"] = np.nan
    return frame.sample(frac=1.0, axis=1, random_state=int(rng.integers(1000)))


def wrong_rows(frame, rng):
    """Return one or two masks of rows in which the model is wrong."""
    masks = [
        frame["age"] < 30,
        frame["town"] == "a and b",
        frame["grade"] >= "high",
        frame["class"],
        frame["0/1"] == 1,
        frame["day of"] < pd.Timestamp("2021-01-10"),
        frame["income (USD)"] > 9000,
        frame["rounded"].between(-0.5, 0.5),
        (frame["age"] < 45) == (frame["0/1"] == 1),
    ]
    first, second = rng.choice(len(masks), 2, replace=False)
    return masks[first].to_numpy(), masks[second].to_numpy()


def same_number(one, other, about):
    assert one == pytest.approx(other, rel=1e-9, abs=1e-12), about


def check_finding(finding, rows, plain):
    estimate, expected = plain(rows, finding)
    same_number(finding.estimate, estimate, finding)
    same_number(finding.expected, expected, finding)
    low, high = finding.interval
    assert low <= finding.estimate + 1e-12
    assert high >= finding.estimate - 1e-12


def rows_of(one, frame):
    """Return the rows of a cell or a slice, by its query and by their numbers."""
    rows = frame.query(one.query) if one.query else frame
    np.testing.assert_array_equal(np.sort(rows.index), np.sort(one.rows))
    assert one.n == len(rows)
    return rows


def check_effects(report, plain):
    frame = report.frame()
    for effect in report.effects:
        seen = np.concatenate([cell.rows for cell in effect.cells])
        assert len(np.unique(seen)) == len(seen), "a row is in two cells"
        assert set(seen) <= set(frame.index)
        if not any(len(cell.conditions) == 0 for cell in effect.cells):
            assert effect.columns
        for cell in effect.cells:
            rows = rows_of(cell, frame)
            assert len(cell.conditions) <= len(effect.columns)
            check_finding(cell.finding, rows, plain)
            for finding in cell.beside:
                check_finding(finding, rows, plain)
            assert np.isfinite(cell.correction)
            assert cell.estimate == cell.finding.estimate
        table = effect.to_frame()
        assert len(table) == len(effect.cells)
        np.testing.assert_array_equal(table["n"], [cell.n for cell in effect.cells])
        np.testing.assert_allclose(
            table["estimate"], [cell.estimate for cell in effect.cells]
        )
    if report.effects:
        assert sum(one.share for one in report.effects) == pytest.approx(1.0)
        gains = [one.gain for one in report.effects]  # in the order of the search
        total = max(report.avoidable_loss.estimate, 0.0)
        assert sum(gains) == pytest.approx(total, rel=1e-6, abs=1e-9)


def wrong_way(one):
    return np.sign(one.findings[0].estimate - one.findings[0].expected)


def check_slices(report, plain):
    frame = report.frame()
    for one in report.slices:
        rows = rows_of(one, frame)
        assert len(rows) < len(frame)
        same_number(one.share, len(rows) / len(frame), one)
        assert one.findings[0].telling
        for finding in one.findings:
            check_finding(finding, rows, plain)
        for condition in one.conditions:
            others = [c.query for c in one.conditions if c is not condition]
            without = frame.query(" and ".join(f"({q})" for q in others) or "index >= 0")
            assert len(without) > len(rows), f"vacuous: {condition.words}"
    for first in report.slices:
        for second in report.slices:
            inside = set(first.rows) <= set(second.rows)
            if first is not second and inside:
                assert wrong_way(first) == wrong_way(second), (first.words, second.words)
    for effect in report.effects:
        assert effect.pvalue <= report.alpha


def check_report(report, plain):
    """Hold all numbers to pandas, and return how many effects there are."""
    check_effects(report, plain)
    check_slices(report, plain)
    return len(report.effects)


def shares_of_scores(z, finding):
    """Return what findings of normal scores are, by kind and label."""
    if finding.kind == "coverage":
        level = float(finding.label[:-1]) / 100.0
        return (z.abs() <= HALF_WIDTHS[finding.label]).mean(), level
    if finding.kind == "skew":
        end = HALF_WIDTHS["90%"]
        return (z > end).mean() - (z < -end).mean(), 0.0
    if finding.kind == "tails":
        outside = OUTSIDE[finding.label]
        return (z.abs() > norm.isf(outside / 2.0)).mean(), outside
    low, high = z.quantile([0.25, 0.75])
    return {
        "median": lambda: (z.median(), 0.0),
        "mean": lambda: (z.mean(), 0.0),
        "middle half": lambda: ((high - low) / (2.0 * HALF_WIDTHS["50%"]), 1.0),
        "sd": lambda: (z.std(), 1.0),
    }[finding.quantity]()


OPTIONS = {"missing": "drop", "n_boot": 99, "engine": 1}


@pytest.mark.parametrize("seed", seeds((1, 7, 11), fuzz=12))
def test_continuous(seed):
    rng = np.random.default_rng([1, seed])
    frame = awkward_table(rng)
    biased, wide = wrong_rows(frame, rng)
    mean = frame["age"].to_numpy() / 10.0
    sd = np.exp(frame["age"].to_numpy() / 100.0)
    z = biased * rng.choice([-0.9, 0.9]) + rng.normal(size=ROWS)
    z = z * np.where(wide, rng.choice([0.5, 1.6]), 1.0)
    y = pd.Series(mean + sd * z, name="y")
    report = cg.check((mean, sd), frame, y, rng=seed, **OPTIONS)
    scores = pd.Series((y - mean) / sd)

    def plain(rows, finding):
        return shares_of_scores(scores[rows.index], finding)

    assert check_report(report, plain) > 0


@pytest.mark.parametrize("seed", seeds((6, 8), fuzz=10))
def test_classes(seed):
    """Of two classes, and of more."""
    rng = np.random.default_rng([2, seed])
    frame = awkward_table(rng)
    wrong, _ = wrong_rows(frame, rng)
    k = 2 + seed % 3
    p = rng.dirichlet(np.full(k, 2.0), ROWS)
    true = np.where(wrong[:, None], np.roll(p, 1, axis=1), p)
    names = [f"kind {number}" for number in range(k)]
    codes = (rng.random(ROWS)[:, None] >= np.cumsum(true, axis=1)).sum(axis=1)
    y = pd.Series(np.array(names)[codes.clip(0, k - 1)], name="y")
    report = cg.check(cg.probabilities(p, names), frame, y, rng=seed, **OPTIONS)
    top = p.argmax(axis=1)

    def plain(rows, finding):
        own = rows.index
        if finding.kind == "confidence":
            right = y[own] == np.array(names)[top[own]]
            return right.mean(), p[own, top[own]].mean()
        return (y[own] == finding.label).mean(), p[own, names.index(finding.label)].mean()

    assert check_report(report, plain) > 0


@pytest.mark.parametrize("seed", seeds((0, 1), fuzz=8))
def test_counts(seed):
    rng = np.random.default_rng([3, seed])
    frame = awkward_table(rng)
    more, zeros = wrong_rows(frame, rng)
    rate = np.exp(0.5 * rng.normal(size=ROWS) + (seed % 2))
    y = rng.poisson(rate * np.where(more, 2.0, 1.0))
    y = pd.Series(np.where(zeros & (rng.random(ROWS) < 0.3), 0, y), name="y")
    report = cg.check(cg.models.Poisson(mean=rate), frame, y, rng=seed, **OPTIONS)

    def plain(rows, finding):
        own = rows.index
        low, high = rows["condgof_z"].quantile([0.25, 0.75])
        if finding.kind == "tails":
            share = (poisson.sf(y[own] - 1, rate[own]) < 0.01).mean()
            return share, min(share, 0.01)
        return {
            "shift": lambda: (rows["residual"].mean(), 0.0),
            "spread": lambda: ((high - low) / (2.0 * HALF_WIDTHS["50%"]), 1.0),
            "zeros": lambda: ((y[own] == 0).mean(), np.exp(-rate[own]).mean()),
        }[finding.kind]()

    residual = (y - rate) / np.sqrt(rate)
    shown = report.frame()["residual"]
    # Residuals of outliers are moved to the largest of other rows.
    usual = 2.0 * poisson.sf(y - 1, rate) * ROWS >= 0.001
    np.testing.assert_allclose(
        shown[usual[shown.index]], residual[shown.index][usual[shown.index]], atol=1e-9
    )
    assert check_report(report, plain) > 0


@pytest.mark.parametrize("seed", seeds((0, 3), fuzz=6))
def test_quantiles_and_intervals(seed):
    rng = np.random.default_rng([4, seed])
    frame = awkward_table(rng)
    biased, wide = wrong_rows(frame, rng)
    mean = frame["age"].to_numpy() / 10.0
    z = 0.9 * biased + np.where(wide, 1.6, 1.0) * rng.normal(size=ROWS)
    y = pd.Series(mean + z, name="y")
    levels = [0.1, 0.5, 0.9]
    ends = mean[:, None] + norm.ppf(levels)
    end = HALF_WIDTHS["90%"]
    if seed % 2:
        model = cg.from_quantiles(ends, levels)
    else:
        model = cg.from_intervals(mean - end, mean + end, 0.9)

    def plain(rows, finding):
        own = rows.index
        if finding.kind == "coverage":
            return (np.abs(y[own] - mean[own]) <= end).mean(), 0.9
        level = float(finding.label)
        return (y[own] <= ends[own, levels.index(level)]).mean(), level

    report = cg.check(model, frame, y, rng=seed, **OPTIONS)
    assert check_report(report, plain) > 0


@pytest.mark.parametrize("seed", seeds((1, 3), fuzz=4))
def test_censored_times(seed):
    rng = np.random.default_rng([5, seed])
    frame = awkward_table(rng)
    wrong, _ = wrong_rows(frame, rng)
    rate = np.exp(0.3 * rng.normal(size=ROWS))
    times = rng.exponential(1.0 / (rate * np.where(wrong, 2.5, 1.0)))
    until = rng.exponential(1.5, ROWS)
    y = pd.Series(np.minimum(times, until), name="y")
    event = times <= until
    report = cg.check(
        cg.models.Exponential(rate=rate), frame, y, event=event, rng=seed, **OPTIONS
    )

    def plain(rows, finding):
        own = rows.index
        low = 0.0
        high = np.inf
        match str(finding.numbers["place"]).split():
            case ["y", "≤", end]:
                high = float(end)
            case [start, "<", "y", "≤", end]:
                low = float(start)
                high = float(end)
            case ["y", ">", start]:
                low = float(start)
        time = y.to_numpy()[own]
        observed = (event[own] & (time > low) & (time <= high)).sum()
        expected = rate[own] * (np.clip(time, low, high) - low)
        return observed / expected.sum(), 1.0

    assert check_report(report, plain) > 0


def test_a_right_model_has_neither_effects_nor_slices():
    rng = np.random.default_rng(6)
    frame = awkward_table(rng)
    mean = frame["age"].to_numpy() / 10.0
    y = mean + rng.normal(size=ROWS)
    report = cg.check((mean, np.ones(ROWS)), frame, y, rng=0, **OPTIONS)
    assert report.pvalue > 0.05
    assert report.effects == ()
    assert report.slices == ()
    assert report.avoidable_loss is None
