"""Every sentence true: on tables of all kinds, each number is a line of pandas on its own
rows.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson

import condgof as cg
from seeds import seeds

CENTRAL = {"50%": 0.6744897501960817, "90%": 1.6448536269514722}
OUTSIDE = {"99%": 2.5758293035489004, "99.9%": 3.2905267314919255}


def ugly_table(n, rng):
    """Numbers, whole numbers, years, booleans, levels with ugly names, ordered ones, dates,
    one-hot.
    """
    town = rng.choice(["Oslo", 'Rio "de" J', "a and b", "ø\\"], n)
    frame = pd.DataFrame(
        {
            "income (USD)": np.round(rng.lognormal(9, 1, n), 2),
            "age": rng.integers(18, 70, n),
            "year": rng.integers(1995, 2021, n),
            "class": rng.random(n) < 0.3,
            "town": town,
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "day": (
                pd.Timestamp("2021-01-01")
                + pd.to_timedelta(rng.integers(0, 800, n), unit="h")
            ),
            "small": rng.normal(size=n) * 1e-9,
        }
    )
    member = rng.integers(0, 4, n)
    for k, level in enumerate("ABC"):
        frame[f"edu_{level}"] = (member == k).astype(int)
    return frame.sample(frac=1.0, axis=1, random_state=int(rng.integers(1000)))


def misfit(frame, rng):
    """Something is wrong in one part of x: a shift and a spread."""
    masks = [
        frame["age"] < 30,
        frame["town"] == "a and b",
        frame["grade"] == "high",
        frame["class"],
        frame["edu_B"] == 1,
        frame["day"] < pd.Timestamp("2021-01-10"),
        frame["income (USD)"] > 9000,
        frame["year"].between(2001, 2008),
    ]
    mask = masks[int(rng.integers(len(masks)))].to_numpy()
    return 1.0 * mask, np.where(mask, 1.5, 1.0)


def middle_half(z):
    """The width of the middle half of scores beside that of a normal law."""
    low, high = z.quantile([0.25, 0.75])
    return (high - low) / (2 * CENTRAL["50%"])


def check_finding(finding, rows, words, plain):
    """Hold a finding to pandas."""
    estimate, expected = plain(rows, finding)
    assert finding.estimate == pytest.approx(estimate, rel=1e-9, abs=1e-12), (
        words,
        finding,
    )
    assert finding.expected == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert finding.interval[0] <= finding.estimate + 1e-12
    assert finding.interval[1] >= finding.estimate - 1e-12


def check_numbers(report, plain):
    """Hold each slice, group and cell to pandas, and return how many effects there are.

    `plain(frame, finding)` is what a finding should be.
    """
    frame = report.frame()
    for effect in report.effects:
        for cell in effect.cells:
            rows = frame.query(cell.query) if cell.query else frame
            np.testing.assert_array_equal(rows.index, np.sort(cell.rows))
            for finding in (cell.finding, *cell.beside):
                check_finding(finding, rows, cell.words, plain)
    for one in (*report.slices, *report.groups):
        if one.query:
            rows = frame.query(one.query)
            np.testing.assert_array_equal(rows.index, one.rows)
            assert (
                one.query in (c.query for c in one.conditions) or len(one.conditions) == 2
            )
        else:
            rows = frame.loc[one.rows]
        assert len(rows) == one.n
        assert one.share == pytest.approx(len(rows) / len(frame))
        for finding in one.findings:
            check_finding(finding, rows, one.words, plain)
        assert one.findings[0].telling or one in report.groups
    return len(report.effects)


def plain_continuous(rows, finding):
    z = rows["z"]
    return {
        "median": lambda: (z.median(), 0.0),
        "mean": lambda: (z.mean(), 0.0),
        "middle half": lambda: (middle_half(z), 1.0),
        "sd": lambda: (z.std(), 1.0),
        "coverage": lambda: (
            (z.abs() <= CENTRAL[finding.label]).mean(),
            float(finding.label[:-1]) / 100,
        ),
        "skew": lambda: ((z > CENTRAL["90%"]).mean() - (z < -CENTRAL["90%"]).mean(), 0.0),
        "tails": lambda: (
            (z.abs() > OUTSIDE[finding.label]).mean(),
            1.0 - float(finding.label[:-1]) / 100,
        ),
    }[finding.quantity]()


@pytest.mark.parametrize("seed", seeds(range(2), fuzz=6))
def test_continuous(seed):
    rng = np.random.default_rng(seed)
    n = 600
    frame = ugly_table(n, rng)
    shift, spread = misfit(frame, rng)
    mean = frame["age"].to_numpy() / 10.0
    sd = np.exp(frame["age"].to_numpy() / 100.0)
    y = pd.Series(mean + sd * (shift + spread * rng.normal(size=n)), name="y")
    report = cg.check((mean, sd), frame, y, by="town", rng=seed, n_boot=99)
    assert check_numbers(report, plain_continuous) > 0
    z = report.frame()["z"]
    np.testing.assert_allclose(
        z, shift + spread * ((y - mean) / sd - shift) / spread, atol=1e-9
    )


@pytest.mark.parametrize("seed", seeds((0, 2), fuzz=4))
def test_classes(seed):
    rng = np.random.default_rng(100 + seed)
    n = 700
    k = 2 + seed % 3
    frame = ugly_table(n, rng)
    _, wrong = misfit(frame, rng)
    p = rng.dirichlet(np.ones(k), n)
    true = np.where((wrong > 1)[:, None], np.roll(p, 1, axis=1), p)
    names = np.array([f"kind {i}" for i in range(k)])
    y = names[
        (rng.random(n)[:, None] >= np.cumsum(true, axis=1)).sum(axis=1).clip(0, k - 1)
    ]
    report = cg.check(cg.probabilities(p, names), frame, y, rng=seed, n_boot=99)
    top = pd.Series(p.argmax(axis=1))

    def plain(rows, finding):
        if finding.kind == "confidence":
            return (rows["y"] == rows["predicted"]).mean(), p[
                rows.index, top[rows.index]
            ].mean()
        return (rows["y"] == finding.label).mean(), p[
            rows.index, list(names).index(finding.label)
        ].mean()

    assert check_numbers(report, plain) > 0


@pytest.mark.parametrize("seed", seeds(range(2), fuzz=6))
def test_counts(seed):
    rng = np.random.default_rng(200 + seed)
    n = 700
    frame = ugly_table(n, rng)
    shift, _ = misfit(frame, rng)
    rate = np.exp(rng.normal(size=n) * 0.5)
    y = rng.poisson(rate * np.exp(0.8 * shift))
    report = cg.check(cg.models.Poisson(mean=rate), frame, y, rng=seed, n_boot=99)

    def plain(rows, finding):
        own = rate[rows.index]
        residual = (rows["y"] - own) / np.sqrt(own)
        usual = 2 * poisson.sf(rows["y"] - 1, own) * n >= 0.001
        np.testing.assert_allclose(rows["residual"][usual], residual[usual], atol=1e-9)
        return {
            "shift": lambda: (rows["residual"].mean(), 0.0),
            "spread": lambda: (middle_half(rows["z"]), 1.0),
            "zeros": lambda: ((rows["y"] == 0).mean(), np.exp(-own).mean()),
        }[finding.kind]()

    assert check_numbers(report, plain) > 0


@pytest.mark.parametrize("seed", seeds(range(2), fuzz=5))
def test_quantiles_and_intervals(seed):
    rng = np.random.default_rng(300 + seed)
    n = 700
    frame = ugly_table(n, rng)
    shift, spread = misfit(frame, rng)
    mean = frame["age"].to_numpy() / 10.0
    y = mean + 0.8 * shift + spread * rng.normal(size=n)
    if seed % 2:
        levels = [0.1, 0.5, 0.9]
        ends = mean[:, None] + np.array([-1.2815515655446004, 0.0, 1.2815515655446004])
        model = cg.from_quantiles(ends, levels)

        def plain(rows, finding):
            level = float(finding.label)
            below = y[rows.index] <= ends[rows.index, levels.index(level)]
            np.testing.assert_array_equal(rows[f"below_q{finding.label}"], below)
            return below.mean(), level

    else:
        end = CENTRAL["90%"]
        model = cg.from_intervals(mean - end, mean + end, 0.9)

        def plain(rows, finding):
            return rows["covered_90"].mean(), 0.9

    report = cg.check(model, frame, y, rng=seed, n_boot=99)
    assert check_numbers(report, plain) > 0
