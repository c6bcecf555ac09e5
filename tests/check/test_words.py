"""The message, and numbers in words."""

import json
import re
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import condgof as cg
import sentences as spoken
from condgof.check import (
    QUANTITIES,
    SENTENCES,
    SET_BY_FIT,
    Finding,
    brief_of,
    direction_of,
    finding_row,
    with_refit_intervals,
)
from condgof.check.kinds import unit_of
from condgof.result import estimate_text, pvalue_words, short

#: The quantity of a finding by its kind, where these have different names.
QUANTITY_OF = {
    "shift": "mean",
    "spread": "sd",
    "wild": "outliers",
    "mean": "mean count",
}
#: What else the sentences of these kinds say.
DEGREES = unit_of(360)
NUMBERS = {
    "direction": {"unit": DEGREES},
    "time": {"unit": unit_of(24)},
    "angle": {"unit": unit_of(7)},
    "concentration": {"unit": DEGREES, "sd": 30.0, "expected_sd": 20.0},
    "skew": {"above": 0.06, "below": 0.04},
    "events": {"count": 7, "mean": 10.0, "place": ""},
    "mean": {"count": 7, "mean": 10.0},
    "tails": {"n": 1000},
}


def finding(
    kind,
    estimate=0.7,
    low=0.6,
    high=0.8,
    expected=0.5,
    label="",
    *,
    column="y",
    quantity=None,
    numbers=None,
):
    return Finding(
        kind=kind,
        column=column,
        estimate=estimate,
        interval=(low, high),
        expected=expected,
        label=label,
        quantity=quantity or QUANTITY_OF.get(kind, kind),
        numbers=NUMBERS.get(kind, {}) if numbers is None else numbers,
    )


def median(estimate, low, high, column="y"):
    return finding(
        "shift", estimate, low, high, 0.0, "median", column=column, quantity="median"
    )


# Findings in a few words, and as rows of a table


def test_tails_by_their_number_where_rows_are_few():
    tails = finding("tails", 1 / 117, 0.0, 0.05, 0.001, "99.9%", numbers={"n": 117})
    assert tails.words == (
        "1 of 117 rows lies outside the 99.9% interval; the model predicts 0.1%"
    )
    tails = finding("tails", 0.02, 0.01, 0.03, 0.001, "99.9%", numbers={"n": 5000})
    assert tails.words == (
        "2.0% of rows lie outside the 99.9% interval; the model predicts 0.1%"
    )


def test_shares_have_digits_that_show_the_difference():
    rare = finding("class", 0.0347, 0.0301, 0.0398, 0.0265, "Yes")
    assert rare.words == ("3.5% of rows are Yes (3.0% to 4.0%); the model predicts 2.6%")
    assert direction_of(rare) == "P(Yes) too low"


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (finding("zeros", 0.42, 0.4, 0.44, 0.13),
         "42% of rows are 0 (40% to 44%); the model predicts 13%"),
        (finding("quantile", 0.15, 0.12, 0.18, 0.05, "0.05"),
         "15% of rows lie below the 5% quantile (12% to 18%)"),
        (finding("spread", 0.58, 0.5, 0.66, 1.0),
         "residual SD is 0.58 times the predicted SD (0.50 to 0.66)"),
        (finding("spread", 1.8, 1.7, 1.9, 1.0, "middle half", quantity="middle half"),
         "the middle half of the residuals is 1.80 times as wide as predicted (1.70 to"
         " 1.90)"),
        (finding("shift", -0.25, -0.4, -0.1, 0.0),
         "the mean residual is −0.25 predicted SDs (−0.40 to −0.10)"),
        (median(0.35, 0.2, 0.5),
         "the median residual is +0.35 predicted SDs (+0.20 to +0.50)"),
        (finding("coverage", 0.78, 0.7, 0.85, 0.9, "90%"),
         "the 90% interval holds 78% of rows (70% to 85%)"),
        (finding("confidence", 0.55, 0.5, 0.6, 0.97),
         "the most probable class is right in 55% of rows (50% to 60%); the model predicts"
         " 97%"),
        (finding("correlation", 0.7, 0.6, 0.8, 0.0, column="rent and food"),
         "residuals of rent and food have correlation 0.70 (0.60 to 0.80); the model"
         " predicts 0"),
        (finding("tails", 0.08, 0.07, 0.09, 0.01, "largest", quantity="largest counts"),
         "8% of rows have a count in the upper 1% tail (7% to 9%)"),
        (finding("wild", 1.0, 1.0, 1.0, 0.0, numbers={"rows": [7], "z": [9.0], "n": 400}),
         "1 of 400 rows is an outlier: row 7 (z = 9)"),
        (finding("wild", 7.0, 7.0, 7.0, 0.0,
                 numbers={"rows": [7, 2], "labels": ["a", "b"], "z": [9.0, -8.0],
                          "n": 400}),
         "7 of 400 rows are outliers: rows a (z = 9), b (z = −8), and 5 more"),
    ],
)  # fmt: skip
def test_sentences(one, words):
    assert one.words == words
    assert brief_of(one) in words or brief_of(one).partition(";")[0] in words


@pytest.mark.parametrize(
    ("one", "row"),
    [
        (finding("coverage", 0.93, 0.92, 0.94, 0.9, "90%"),
         ("90% coverage", "93%", "[92%, 94%]", "90%")),
        (median(0.02, -0.01, 0.06),
         ("bias (median)", "+0.02 SD", "[−0.01, +0.06]", "0 SD")),
        (finding("spread", 1.5, 1.2, 1.8, 1.0), ("spread (SD)", "1.50×", "[1.20, 1.80]",
                                                 "1×")),
        (finding("quantile", 0.15, 0.12, 0.18, 0.05, "0.05"),
         ("below the 5% quantile", "15%", "[12%, 18%]", "5%")),
        (finding("events", 0.86, 0.7, 1.04, 1.0,
                 numbers={"count": 137, "mean": 158.8, "place": ""}),
         ("events (137 of 158.8 expected)", "0.86×", "[0.70, 1.04]", "1×")),
    ],
)  # fmt: skip
def test_rows_of_the_table(one, row):
    assert finding_row(one) == row


@pytest.mark.parametrize("kind", QUANTITIES)
def test_every_kind_has_a_row_and_a_direction(kind):
    one = finding(kind, label="90%" if kind in ("coverage", "tails") else "")
    for text in (*finding_row(one), direction_of(one), brief_of(one)):
        assert text
        assert "{}" not in text
        assert "nan" not in text


@given(
    st.sampled_from(sorted(QUANTITIES)),
    st.floats(-50, 50),
    st.floats(0.0, 3.0) | st.just(np.inf),
    st.floats(-2, 2),
)
def test_whatever_the_numbers_rows_and_sentences_are_clean(kind, value, half, expected):
    one = finding(kind, value, value - half, value + half, expected, label="90%")
    texts = [*finding_row(one)]
    if kind not in ("direction", "time", "angle", "concentration"):
        texts += [one.words, brief_of(one)]
    for text in texts:
        assert "nan" not in text
        assert not re.search(r"[-−+]0(\.0+)?(?![\d.,])", text), text
        assert "  " not in text


# The message of checks


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("odd", [0, 3])
def test_mean_and_std_swapped(sign, odd):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 500)
    y = 40.0 + 5.0 * rng.standard_normal(500)
    y[:odd] = 0.0
    report = cg.check(
        (np.full(500, 5.0 * sign), np.full(500, 40.0)), x, sign * y, rng=0, n_boot=99
    )
    z = report.frame()["z"]
    assert (sign * z > 0).sum() == 500 - odd
    rows = "497 of 500" if odd else "All 500"
    side = "above" if sign > 0 else "below"
    assert (
        f"{rows} rows lie {side} the predicted median: are these the right predictions"
        in report.words
    )
    right = cg.check(
        (np.full(500, 41.0 * sign), np.full(500, 5.0)), x, sign * y, rng=0, n_boot=99
    )
    assert "swapped" not in right.words


def test_findings_of_real_tables():
    """Fair's affairs, the doctor's visits of the RAND experiment, and digits: numbers by
    pandas.
    """
    fair = pytest.importorskip("statsmodels.datasets.fair")
    randhie = pytest.importorskip("statsmodels.datasets.randhie")
    data = fair.load_pandas().data.sample(500, random_state=0).reset_index(drop=True)
    y = data.pop("affairs")
    x = data
    found = cg.check(
        (np.full(500, y.mean()), np.full(500, y.std())),
        x,
        y,
        by="religious",
        rng=0,
        n_boot=99,
    )
    z = (y - y.mean()) / y.std()
    frame = found.frame()
    np.testing.assert_allclose(frame["z"], z)
    for one in (*found.slices, *found.groups):
        rows = frame.query(one.query)
        assert len(rows) == one.n
        low, high = rows["z"].quantile([0.25, 0.75])
        for f in one.findings:
            want = {
                "median": rows["z"].median(),
                "mean": rows["z"].mean(),
                "middle half": (high - low) / (2 * 0.6744897502),
                "sd": rows["z"].std(),
                "coverage": (
                    (
                        rows["z"].abs()
                        <= {"50%": 0.6744897502, "90%": 1.6448536270}.get(f.label, 0)
                    ).mean()
                ),
                "skew": (
                    (rows["z"] > 1.6448536270).mean() - (rows["z"] < -1.6448536270).mean()
                ),
                "tails": (
                    (
                        rows["z"].abs()
                        > {"99%": 2.5758293035, "99.9%": 3.2905267315}.get(f.label, 0)
                    ).mean()
                ),
            }[f.quantity]
            if f.quantity == "sd" and f.estimate < 1.0 <= want:
                # Outliers count less in a group, and its interval holds their SD too.
                assert one in found.groups
                assert f.interval[0] < f.estimate < want < f.interval[1]
                continue
            assert f.estimate == pytest.approx(want, abs=1e-9)
    visits = randhie.load_pandas().data.sample(500, random_state=0).reset_index(drop=True)
    counts = visits.pop("mdvis")
    found = cg.check(
        cg.models.Poisson(mean=counts.mean()), visits, counts, rng=0, n_boot=99
    )
    assert found.overall[2].estimate == pytest.approx((counts == 0).mean())
    for one in found.slices:
        rows = found.frame().query(one.query)
        zeros = next(f for f in one.findings if f.kind == "zeros")
        assert zeros.estimate == pytest.approx((rows["mdvis"] == 0).mean())
        assert zeros.expected == pytest.approx(np.exp(-counts.mean()))
    digits = pytest.importorskip("sklearn.datasets").load_digits(as_frame=True).frame
    digits = digits.sample(400, random_state=0).reset_index(drop=True)
    target = digits["target"]
    pixels = digits[[f"pixel_{i}_{j}" for i in (2, 4, 6) for j in (2, 3, 4)]]
    found = cg.check(
        cg.probabilities(np.full((400, 10), 0.1)), pixels, target, rng=0, n_boot=39
    )
    for one in found.slices:
        rows = found.frame().query(one.query)
        for f in one.findings:
            label = int(f.label) if f.label else rows["predicted"]
            share = (rows["target"] == label).mean()
            assert share == pytest.approx(f.estimate)
            assert f.expected == pytest.approx(0.1)
    assert [f.label for f in found.overall[1:]] == [str(k) for k in range(10)]


# Sentences of findings, as they were recorded


#: Quantities of angles, which version 0.2 did not have; `test_circular.py` has sentences.
OF_ANGLES = {
    "direction",
    "time",
    "angle",
    "direction by scores",
    "time by scores",
    "angle by scores",
    "concentration",
    "arc coverage",
}


#: Quantities of single rows and values; `test_outliers.py` has sentences.
OF_SINGLE_ROWS = {"improbable classes", "atom"}


@cache
def spoken_findings(case):
    """The findings of a real check of one kind of y."""
    return tuple(spoken.findings_of(spoken.CASES[case](spoken.Sampled())))


@pytest.mark.parametrize("case", spoken.CASES)
def test_every_sentence_is_the_recorded_one(case):
    recorded = json.loads(spoken.RECORDED.read_text())[case]
    assert [one.words for one in spoken_findings(case)] == recorded


def test_every_quantity_is_spoken_of():
    every = [one for case in spoken.CASES for one in spoken_findings(case)]
    assert {one.quantity for one in every} == set(SENTENCES) - OF_ANGLES - OF_SINGLE_ROWS
    assert any(one.set_by_fit for one in every)
    with pytest.raises(KeyError, match="no such quantity"):
        _ = finding("shift", quantity="no such quantity").words


@pytest.mark.parametrize("case", spoken.KINDS_OF_Y)
def test_refits_change_intervals_and_words_follow(case):
    """Nothing else changes: words are those of the same numbers with another interval."""
    before = spoken_findings(case)
    chance = np.random.default_rng(0).normal(0.01, 0.3, (len(before), 60))
    after = with_refit_intervals(before, chance)
    for old, new in zip(before, after, strict=True):
        stays = old.kind == "wild" or old.label == "largest"
        assert (new.interval == old.interval) == stays
        for one in fields(Finding):
            if one.name not in ("interval", "set_by_fit"):
                assert getattr(new, one.name) == getattr(old, one.name)
        same = replace(old, interval=new.interval, set_by_fit=new.set_by_fit)
        assert new.words == same.words
        has_interval = not stays and old.quantity not in ("skew", "tails")
        assert (new.words != old.words) == has_interval
    fixed = with_refit_intervals(before, np.zeros_like(chance))
    for old, new in zip(before, fixed, strict=True):
        if old.kind == "wild" or old.label == "largest":
            assert new is old
            continue
        assert new.set_by_fit
        assert new.interval == tuple(sorted([old.estimate, old.expected]))
        if old.quantity not in ("skew", "tails", "events", "mean count"):
            assert SET_BY_FIT in new.words


# Numbers


@given(st.floats(0.001, 0.5), st.floats(0.0, 0.4))
def test_an_estimate_and_its_interval_have_the_same_digits(estimate, half):
    text, ends = estimate_text(estimate, max(estimate - half, 0.0), estimate + half)
    assert abs(float(text) - estimate) <= 0.006
    assert len(text.split(".")[1]) == len(ends.split(" to ")[1].split(".")[1])
    assert abs(float(short(estimate)) - estimate) <= 0.06 * estimate


@pytest.mark.parametrize(
    ("pvalue", "floor", "words"),
    [
        (1 / 1001, 1 / 1001, "p ≤ 0.001"),
        (2 / 1001, 1 / 1001, "p = 0.002"),
        (1 / 301, 1 / 301, "p ≤ 0.004"),
        (1.0, 1.0, "p ≤ 1"),
        (0.41, 0.0, "p = 0.41"),
        (4e-300, 4e-300, "p ≤ 4e−300"),
        (9.5e-5, 9.5e-5, "p ≤ 0.0001"),
        (9.5e-6, 9.5e-6, "p ≤ 1e−5"),
        (1.4e-55, 0.0, "p < 0.0001"),
        (3e-5, 1e-5, "p < 0.0001"),
        (0.0, 0.0, "p < 0.0001"),
    ],
)
def test_a_p_value_that_is_the_smallest_there_is_is_a_bound(pvalue, floor, words):
    assert pvalue_words(pvalue, floor) == words
