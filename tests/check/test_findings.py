"""The numbers of findings: by textbook formulas, and by simulation where they claim."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import condgof as cg
from condgof.check import (
    REACH,
    Finding,
    Reader,
    Residual,
    Signal,
    beyond_range,
    check_text,
    direction_of,
    distance,
    finding_name,
    joint_reach,
    led,
    residual_quantile_interval,
    severity,
    student,
)
from condgof.check.kinds import ContinuousRows, RowTable
from condgof.result import rounded
from condgof.sample import Column

REACH_95 = stats.norm.isf(0.025)


def reader(reach=REACH_95, units=None):
    """A reader whose intervals need no rows of a check."""
    without_weights = SimpleNamespace(weights=None)
    return Reader(without_weights, reach, units)


def rows_of(values):
    return np.arange(len(values))


# By hand


def test_the_mean_is_the_textbooks():
    z = np.random.default_rng(0).gamma(2.0, 1.0, 50)
    estimate, ends = reader().mean(rows_of(z), z)
    assert estimate == pytest.approx(z.mean())
    normal = stats.norm.interval(0.95, z.mean(), stats.sem(z))
    np.testing.assert_allclose(
        ends, normal
    )  # they spread more than the model says, by an sd of their own
    calm = z / 10
    np.testing.assert_allclose(
        reader().mean(rows_of(z), calm)[1],
        stats.t.interval(0.95, 49, calm.mean(), stats.sem(calm)),
    )
    few = np.array(
        [0.1, 0.1001]
    )  # alike by chance: the model's own standard deviation is 1
    low, high = reader().mean(rows_of(few), few)[1]
    assert high - low < 0.01 * student(REACH_95, 1)
    np.testing.assert_allclose(
        reader().mean(rows_of(few[:1]), few[:1])[1], (0.1 - REACH_95, 0.1 + REACH_95)
    )
    assert reader().mean(rows_of(few), np.zeros(2))[1][1] == pytest.approx(
        REACH_95 / math.sqrt(2)
    )


def test_students_law():
    assert student(REACH_95, 4) == pytest.approx(stats.t.isf(0.025, 4))
    assert student(4.0, 25) == pytest.approx(stats.t.isf(stats.norm.sf(4.0), 25))
    assert student(4.0, 10**7) == pytest.approx(4.0, rel=1e-4)
    assert student(2.0, 0) == math.inf


@pytest.mark.parametrize("n", [10, 40, 300])
def test_bonetts_interval(n):
    """ln(c·s²) ± t·se of Bonett (2006), with a trimmed mean; further up where tails are
    heavy.
    """
    z = np.random.default_rng(n).standard_t(5, n)
    trim = 1 / (2 * math.sqrt(n - 4))
    middle = stats.trim_mean(z, trim)
    kurtosis = n * np.sum((z - middle) ** 4) / np.sum((z - middle) ** 2) ** 2
    error = math.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    c = n / (n - REACH_95)
    reach = stats.t.isf(0.025, n - 1)
    above = min(1 + max(kurtosis - 3, 0) / 10, 2)
    expected = [
        math.sqrt(c * z.var(ddof=1) * math.exp(sign * reach * error))
        for sign in (-1, above)
    ]
    estimate, ends = reader().spread(rows_of(z), z)
    assert estimate == pytest.approx(z.std(ddof=1))
    np.testing.assert_allclose(ends, expected)


def test_few_values_have_no_spread():
    z = np.array([0.1, 0.5, -0.4])
    assert reader().spread(rows_of(z), z) == (pytest.approx(z.std(ddof=1)), (0.0, math.inf))
    assert reader().spread(rows_of(z), np.zeros(3))[1] == (0.0, math.inf)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (1, 400), (180, 400)])
def test_clopper_and_pearson(k, n):
    happened = np.arange(n) < k
    estimate, ends = reader().share(rows_of(happened), happened)
    exact = stats.binomtest(k, n).proportion_ci(0.95, "exact")
    assert estimate == k / n
    np.testing.assert_allclose(ends, (exact.low, exact.high), rtol=1e-9)
    flat = reader().share(rows_of(happened), happened, np.full(n, k / n))[1]
    np.testing.assert_allclose(
        flat, ends
    )  # where probabilities are the same, nothing is shorter


def test_a_share_whose_probabilities_tell_rows_apart():
    """By the variation of residuals; never shorter than that, and Clopper and Pearson's at
    most.
    """
    rng = np.random.default_rng(0)
    p = np.repeat([0.02, 0.98], 200)
    happened = rng.random(400) < p
    whole = reader().share(rows_of(p), happened)[1]
    estimate, ends = reader().share(rows_of(p), happened, p)
    half = REACH_95 * math.sqrt(np.square(happened - p).sum()) / 400
    assert whole[0] < ends[0] <= estimate - half
    assert estimate + half <= ends[1] < whole[1]
    assert ends[1] - ends[0] < 2.6 * half
    coin = rng.random(400) < 0.5  # a model that is sure, and wrong: nothing is shorter
    np.testing.assert_allclose(
        reader().share(rows_of(p), coin, p)[1], reader().share(rows_of(p), coin)[1]
    )


def test_shares_cover_whatever_the_probabilities():
    """2,000 samples each of sure, rare and mixed probabilities; exact bound at a tail of
    1e-4.
    """
    for seed, p in enumerate(
        [
            np.repeat([0.02, 0.98], 50),
            np.full(100, 0.02),
            np.linspace(0.0, 1.0, 100),
            np.full(100, 0.999),
        ]
    ):
        rng = np.random.default_rng(seed)
        missed = 0
        for _ in range(2000):
            low, high = reader().share(rows_of(p), rng.random(100) < p, p)[1]
            missed += not low <= p.mean() <= high
        assert missed <= stats.binom.isf(1e-4, 2000, 0.05)


@pytest.mark.parametrize(("n", "level"), [(25, 0.5), (200, 0.5), (200, 0.25)])
def test_the_interval_of_a_quantile_covers(n, level):
    """Order statistics: 3,000 samples of a skewed law; exact bound at a tail of 1e-4."""
    rng = np.random.default_rng(n)
    missed = 0
    truth = -math.log(1 - level)
    for _ in range(3000):
        z = rng.exponential(size=n)
        residual = Residual(np.arange(n), z, "y")
        low, high = residual_quantile_interval(reader(), residual, level)
        assert low in z or low == np.quantile(z, level)
        missed += not low <= truth <= high
    assert missed <= stats.binom.isf(1e-4, 3000, 0.05)


@pytest.mark.parametrize(("n", "level"), [(3, 0.5), (5, 0.5), (6, 0.25), (10, 0.25)])
def test_beyond_few_values_the_interval_goes_on(n, level):
    """P(m − c·r > q) of the smallest of n normal values and their range, by simulation."""
    tail = 0.01
    c = beyond_range(n, level, tail)
    z = np.sort(np.random.default_rng(n).normal(3.0, 2.0, (60_000, n)), axis=1)
    quantile = 3.0 + 2.0 * stats.norm.ppf(level)
    above = z[:, 0] - c * (z[:, -1] - z[:, 0]) > quantile
    assert abs(above.mean() - tail) < 4 * math.sqrt(tail / len(z))
    # As many values as are needed have nothing beyond them.
    assert beyond_range(60, level, tail) == 0
    assert beyond_range(1, level, tail) == math.inf


@pytest.mark.parametrize("n", [5, 10])
def test_few_rows_have_intervals_that_hold_together(n):
    """50 of 300 samples of 5 rows missed before."""
    missed = 0
    for seed in range(300):
        found = cg_overall(np.random.default_rng([n, seed]).standard_normal(n))
        missed += any(one.telling for one in found.values() if one.kind != "wild")
    assert missed <= stats.binom.isf(1e-4, 300, 0.05)


def test_one_large_group_does_not_narrow_what_is_said():
    """One group of 100 rows and 24 of 4: 128 of 506 samples missed before."""
    codes = np.repeat(np.arange(25), [100, *[4] * 24])
    rng = np.random.default_rng(8)
    missed = 0
    for _ in range(200):
        shared = rng.normal(size=25)[codes]
        z = np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=len(codes))
        found = cg_overall(z, units=codes)
        missed += any(one.telling for one in found.values() if one.kind != "wild")
    assert missed <= stats.binom.isf(1e-4, 200, 0.05)


def test_more_intervals_reach_further():
    assert joint_reach(6) == pytest.approx(REACH)
    assert joint_reach(58) == pytest.approx(stats.norm.isf(0.025 / 58))
    rng = np.random.default_rng(0)
    y = rng.standard_normal((60, 8))
    model = cg.models.Normal(mean=np.zeros((60, 8)), std=np.ones((60, 8)))
    found = cg.check(model, rng.standard_normal(60), y, rng=0, n_boot=99)
    coverage = next(f for f in found.overall if f.kind == "coverage")
    # Six numbers of each of 8 columns, and the correlations of the pairs of five of them.
    low, high = stats.binomtest(round(60 * coverage.estimate), 60).proportion_ci(
        1.0 - 0.05 / 58
    )
    assert coverage.interval == pytest.approx((low, high))


def test_beside_no_evidence_no_interval_excludes_what_is_predicted():
    """The verdict rejects with probability α; nothing else is said against a model."""
    finding = Finding("coverage", "y", 0.6, (0.51, 0.7), 0.5, "50%")
    assert finding.telling
    assert finding.with_expected().interval == (0.5, 0.7)
    assert not finding.with_expected().telling
    outliers = Finding("wild", "y", 1.0, (1.0, 1.0), 0.0)
    assert outliers.with_expected() is outliers
    for seed in range(15):
        x, y = np.random.default_rng([3, seed]).standard_normal((2, 40))
        found = cg.check((np.zeros(40), np.ones(40)), x, y, rng=0, n_boot=99, engine=1)
        if not found.rejected:
            assert not any(f.telling for f in found.overall if f.kind != "wild")


def test_the_middle_half_covers():
    """Of normal and of heavy-tailed rows, 300 samples each."""
    for law, truth in (
        (stats.norm(), 1.0),
        (stats.t(3), stats.t(3).ppf(0.75) / stats.norm.ppf(0.75)),
    ):
        missed = 0
        for seed in range(300):
            z = law.rvs(120, random_state=seed)
            found = cg_overall(z)
            missed += (
                not found["spread"].interval[0] <= truth <= found["spread"].interval[1]
            )
        assert missed <= stats.binom.isf(1e-4, 300, 0.05)


def cg_overall(z, rows=None, units=None):
    """What is said of all rows with the normal scores z."""
    n = len(z)
    table = RowTable(
        rows=np.arange(n) if rows is None else rows,
        x_columns=(Column("x"),),
        x=np.zeros((n, 1)),
        y_columns=(Column("y"),),
        y=z[:, None],
        whole=n,
    )
    checked = ContinuousRows(
        table=table, comparison={}, moments=None, z=z[:, None], draws=0
    )
    return {
        (f.kind if f.kind != "coverage" else f.label): f
        for f in Reader(checked, REACH, units).findings()
    }


def test_numbers_of_all_rows_by_hand():
    z = np.random.default_rng(0).standard_t(4, 500) * 1.2 + 0.3
    found = cg_overall(z)
    inside = {"50%": 0.6744897501960817, "90%": 1.6448536269514722}
    assert found["shift"].estimate == pytest.approx(np.median(z))
    q = np.quantile(z, [0.25, 0.75])
    assert found["spread"].estimate == pytest.approx((q[1] - q[0]) / (2 * inside["50%"]))
    for label, end in inside.items():
        assert found[label].estimate == pytest.approx((np.abs(z) <= end).mean())
        assert found[label].expected == float(label[:-1]) / 100
    end = inside["90%"]
    assert found["skew"].estimate == pytest.approx((z > end).mean() - (z < -end).mean())
    assert found["tails"].estimate == pytest.approx((np.abs(z) > 3.2905267314919255).mean())
    assert found["tails"].expected == 0.001
    assert found["tails"].words.endswith("; the model predicts 0.1%")


def test_one_wild_row_moves_nothing_and_is_named():
    z = np.random.default_rng(1).standard_normal(400)
    wild = z.copy()
    wild[123] = 1e6 if z[123] > 0 else -1e6
    plain = cg_overall(z)
    other = cg_overall(wild, rows=np.arange(400) * 10)
    for key in ("shift", "spread", "50%", "skew"):
        assert other[key].estimate == pytest.approx(plain[key].estimate, abs=0.02)
        np.testing.assert_allclose(other[key].interval, plain[key].interval, atol=0.02)
    assert "wild" not in plain
    assert (
        other["wild"].words == "1 of 400 rows is an outlier: row 1230 "
        f"(z = {'' if z[123] > 0 else '−'}1,000,000)"
    )
    assert other["wild"].estimate == 1.0
    many = wild.copy()
    many[10:20] = 9.0 + np.arange(10)
    words = cg_overall(many)["wild"].words
    assert words.startswith("11 of 400 rows are outliers: rows 123 (z = ")
    assert words.endswith(", and 6 more")


def test_wild_rows_of_a_true_model_are_rare():
    """One in a thousand samples has a row that is called wild."""
    rng = np.random.default_rng(0)
    named = sum("wild" in cg_overall(rng.standard_normal(200)) for _ in range(1000))
    assert named <= stats.binom.isf(1e-4, 1000, 0.001)


def test_a_wild_row_through_the_front_door():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(300)
    y = x + rng.standard_normal(300)
    y[77] = 1e6
    found = cg.check((x, np.ones(300)), x, y, rng=0, n_boot=99)
    assert any(
        "row 77 (z = 999,99" in f.words or "row 77 (z = 1,000,00" in f.words
        for f in found.overall
    )
    assert abs(found.overall[0].estimate) < 0.3
    assert found.overall[1].estimate == pytest.approx(1.0, abs=0.2)
    assert "row 77" in found.words


# Simultaneous intervals


@given(st.integers(0, 10**6), st.floats(2.0, 6.0))
def test_a_longer_reach_is_wider(seed, reach):
    z = np.random.default_rng(seed).standard_normal(60)
    for number in ("mean", "spread"):
        one, other = (getattr(reader(r), number)(rows_of(z), z)[1] for r in (1.96, reach))
        assert other[0] <= one[0] <= one[1] <= other[1]
    low, high = (reader(r).share(rows_of(z), z > 0)[1] for r in (1.96, reach))
    assert high[0] <= low[0] <= low[1] <= high[1]


def test_intervals_of_slices_are_wider_than_those_of_the_same_rows_named_beforehand():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 600)
    y = rng.standard_normal(600) + 1.0 * (x > 0.7)
    model = (np.zeros(600), np.ones(600))
    first = cg.check(model, x, y, rng=0, n_boot=99).slices[0]
    same = cg.check(model, x, y, rng=0, n_boot=99, slices=[first]).groups[0]
    np.testing.assert_array_equal(first.rows, same.rows)
    assert [one.quantity for one in first.findings[:2]] == ["median", "mean"]
    assert first.findings[1].estimate == pytest.approx(same.findings[0].estimate, rel=1e-12)
    assert first.findings[1].interval[0] < same.findings[0].interval[0]
    assert first.findings[1].interval[1] > same.findings[0].interval[1]


def test_rows_of_one_unit_that_go_together_widen_intervals():
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(30), 10)
    z = rng.standard_normal(30)[units] * 0.7 + 0.7 * rng.standard_normal(300)
    apart = reader()
    together = reader(units=units)
    for number, values in (("mean", z), ("share", z > 0)):
        one, other = (
            getattr(r, number)(np.arange(300), values)[1] for r in (apart, together)
        )
        assert other[1] - other[0] > 1.5 * (one[1] - one[0])
    # As the means of units have it.
    means = z.reshape(30, 10).mean(axis=1)
    low, high = together.mean(np.arange(300), z)[1]
    assert high - low == pytest.approx(
        2 * stats.t.isf(0.025, 29) * means.std(ddof=1) / math.sqrt(30), rel=0.05
    )
    alone = reader(units=np.zeros(300, dtype=int))
    assert alone.mean(np.arange(300), z)[1] == (-math.inf, math.inf)
    assert alone.share(np.arange(300), z > 0)[1] == (0.0, 1.0)


@pytest.mark.parametrize("n", [5, 25])
def test_means_and_spreads_of_a_few_rows_cover(n):
    """4,000 samples of a normal law, at the reach of one in a thousand and of one in
    twenty.
    """
    rng = np.random.default_rng(n)
    for level, factor in ((0.05, 1.5), (0.001, 3.0)):
        own = reader(stats.norm.isf(level / 2))
        missed = np.zeros(2, dtype=int)
        for _ in range(4000):
            z = rng.standard_normal(n)
            for k, number in enumerate((own.mean, own.spread)):
                low, high = number(np.arange(n), z)[1]
                missed[k] += not low <= k <= high
        assert missed.max() <= stats.binom.isf(1e-4, 4000, factor * level)


# What leads


def finding(kind, estimate, low, high, expected, label="", column="y"):
    return Finding(kind, column, estimate, (low, high), expected, label)


CASES = (
    finding("shift", 0.5, 0.2, 0.8, 0.0),
    finding("spread", 1.4, 1.2, 1.7, 1.0),
    finding("coverage", 0.4, 0.3, 0.5001, 0.5, "50%"),
    finding("coverage", 0.75, 0.65, 0.83, 0.9, "90%"),
    finding("skew", 0.05, -0.02, 0.12, 0.0),
    finding("tails", 0.05, 0.02, 0.09, 0.01, "99%"),
)


@pytest.mark.parametrize("kind", ["shift", "spread", "skew", "tails"])
@pytest.mark.parametrize("sign", [-5.0, 5.0])
def test_what_leads_holds(kind, sign):
    order = led(CASES, Signal(kind, "y"), sign)
    assert sorted(map(id, order)) == sorted(map(id, CASES))
    assert order[0].telling
    rest = [distance(one) for one in order[1:]]
    assert rest == sorted(rest, reverse=True)


def test_what_leads_says_what_the_search_saw():
    assert led(CASES, Signal("shift", "y"), 5.0)[0].kind == "shift"
    assert led(CASES, Signal("spread", "y"), 5.0)[0].kind == "spread"
    narrow = (finding("spread", 1.1, 0.9, 1.5, 1.0), *CASES[3:])
    assert led(narrow, Signal("spread", "y"), 5.0)[0].kind == "coverage"


@given(st.data())
def test_never_a_number_that_does_not_hold_beside_one_that_does(data):
    def some(kind, expected, label=""):
        estimate = expected + data.draw(st.floats(-0.4, 0.4))
        low, high = (data.draw(st.floats(0.01, 0.5)) for _ in range(2))
        return finding(kind, estimate, estimate - low, estimate + high, expected, label)

    kinds = [
        ("shift", 0.0, ""),
        ("spread", 1.0, ""),
        ("coverage", 0.5, "50%"),
        ("coverage", 0.9, "90%"),
    ]
    findings = tuple(
        some(*each) for each in [*kinds, ("skew", 0.0, ""), ("tails", 0.01, "99%")]
    )
    signal = Signal(data.draw(st.sampled_from(["shift", "spread", "skew", "tails"])), "y")
    first = led(findings, signal, data.draw(st.sampled_from([-4.0, 4.0])))[0]
    assert first.telling or not any(f.telling for f in findings)
    classes = (some("confidence", 0.7), some("class", 0.3, "a"), some("class", 0.5, "b"))
    first = led(classes, Signal("class", "y", "b"), 4.0)[0]
    assert first.telling or not any(f.telling for f in classes)


def test_slices_whose_numbers_do_not_hold_are_not_named():
    """What stands out only in what cannot be said is left out: every slice leads with what
    holds.
    """
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 1, (200, 2))
        y = rng.standard_normal(200) * np.where(x[:, 0] > 0.5, 1.35, 1.0)
        found = cg.check((np.zeros(200), np.ones(200)), x, y, rng=seed, n_boot=39)
        for one in found.slices:
            assert one.findings[0].telling


def test_distance_severity_and_direction():
    assert distance(finding("shift", 0.5, 0.2, 0.9, 0.0)) == pytest.approx(0.5 / 0.3)
    assert distance(finding("shift", -0.5, -0.6, -0.3, 0.0)) == pytest.approx(0.5 / 0.2)
    assert distance(finding("tails", 0.01, 0.01, 0.01, 0.01)) == 0.0
    assert distance(finding("tails", 0.02, 0.02, 0.02, 0.01)) == math.inf
    assert severity(finding("spread", 2.0, 1, 3, 1.0)) == severity(
        finding("spread", 0.5, 0, 1, 1.0)
    )
    assert severity(finding("coverage", 0.7, 0, 1, 0.9, "90%")) == pytest.approx(0.2)
    words = {
        ("shift", 1): "too low",
        ("shift", -1): "too high",
        ("spread", 1): "too narrow",
        ("coverage", 1): "too wide",
        ("coverage", -1): "too narrow",
        ("tails", 1): "tails too light",
        ("skew", 1): "upper tail too light",
        ("correlation", 1): "correlation too low",
        ("confidence", 1): "underconfident",
        ("class", 1): "P(b) too low",
        ("class", -1): "P(b) too high",
        ("zeros", 1): "too few zeros",
        ("quantile", 1): "b quantile too high",
    }
    for (kind, sign), said in words.items():
        assert direction_of(finding(kind, 0.5 + 0.2 * sign, 0, 1, 0.5, "b")) == said


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.294, "0.29"),
        (-1.5, "-1.50"),
        (0.0042, "0.0042"),
        (0.00001, "0.00"),
        (-0.00001, "0.00"),
        (1234.6, "1,235"),
        (3e12, "3e+12"),
        (0.9964, "0.996"),
        (0.99996, "1.00"),
        (1.0, "1.00"),
        (0.0, "0.00"),
        (math.inf, "∞"),
        (99.5, "99.50"),
        (0.9999, "0.9999"),
        (-0.9964, "-0.996"),
        (0.00996, "0.010"),
    ],
)
def test_numbers_are_written_as_people_do(value, text):
    assert rounded(value) == text


@given(st.floats(-50, 50))
def test_numbers_are_near_what_they_stand_for(value):
    assert abs(float(rounded(value)) - value) <= 0.00501


def test_the_text_says_each_number_of_all_rows_once():
    x = np.random.default_rng(0).standard_normal(200)
    found = cg.check(
        (x, np.ones(200)),
        x,
        x + np.random.default_rng(1).standard_normal(200),
        rng=0,
        n_boot=39,
    )
    text = check_text(found)
    for one in found.overall:
        assert text.count(f"  {finding_name(one)} ") == 1
