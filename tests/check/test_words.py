"""The message, and numbers in words."""

import json
import re
from dataclasses import fields, replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

import condgof as cg
import sentences as spoken
from condgof.check import (
    QUANTITIES,
    SENTENCES,
    SET_BY_FIT,
    Condition,
    Finding,
    Power,
    Slice,
    between,
    direction_of,
    percent,
    severity,
    with_refit_intervals,
)
from condgof.check import message as message_of
from condgof.check.kinds import unit_of
from condgof.result import estimate_text, pvalue_words, short

POWER = Power(
    0.2, 1.2, 0.8, 0.05, "A shift of 0.2 would have been found with probability 0.8."
)


#: The quantity of a finding by its kind, where these have different names.
QUANTITY_OF = {"shift": "mean", "spread": "sd", "wild": "outliers"}
#: What else the sentences of these kinds say.
DEGREES = unit_of(360)
NUMBERS = {
    "direction": {"unit": DEGREES},
    "time": {"unit": unit_of(24)},
    "angle": {"unit": unit_of(7)},
    "concentration": {"unit": DEGREES, "sd": 30.0, "expected_sd": 20.0},
    "skew": {"above": 0.06, "below": 0.04},
    "events": {"count": 7, "mean": 10.0, "place": ""},
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


def part(words, *findings, pvalue=0.01):
    lead = findings[0]
    return Slice(
        conditions=(Condition("x", words, "x > 1"),),
        words=words,
        query="x > 1",
        rows=np.arange(10),
        share=0.1,
        pvalue=pvalue,
        pvalue_floor=0.001,
        findings=findings,
        severity=severity(lead),
        direction=direction_of(lead),
    )


SHIFT = finding("shift", 0.5, 0.2, 0.8, 0.0)
SPREAD = finding("spread", 1.5, 1.2, 1.8, 1.0)
WIDE = finding("spread", 0.6, 0.5, 0.8, 1.0)
EVERY = tuple(
    finding(kind, label="90%" if kind in ("coverage", "tails") else "")
    for kind in QUANTITIES
)


def message(rejected, overall, slices, everywhere, power):
    check = SimpleNamespace(
        rejected=rejected,
        overall=overall,
        slices=slices,
        groups=(),
        power=power,
        alpha=0.05,
        checked=SimpleNamespace(normal_scores_of=lambda column: None),
        details={"searched": {"slices": 9}},
    )
    return message_of(check, everywhere)


def sentences(text):
    return re.split(r"(?<=[.])\s+(?=[A-Z])", text)


# The message by itself


def test_nothing_is_wrong():
    words = message(False, EVERY, (), None, POWER)
    assert words == f"Nothing speaks against the model. {POWER.words}"


def test_slices_of_one_kind_are_one_sentence():
    told = [part("a > 1", SPREAD), part("b = 2", WIDE), part("c = 3", SHIFT)]
    words = message(True, EVERY, told, None, POWER)
    assert (
        words
        == "The spread is wrong: too narrow where a > 1 (the data spread 1.50 times as"
        " much), too wide where b = 2 (the data spread 0.60 times as much). The centre"
        " is wrong: too low where c = 3 (by 0.50 standard deviations)."
    )


@pytest.mark.parametrize("kind", QUANTITIES)
@pytest.mark.parametrize("everywhere", [None, SHIFT, SPREAD])
def test_at_most_two_sentences_without_p_values(kind, everywhere):
    lead = next(f for f in EVERY if f.kind == kind)
    for told in (
        (),
        (part("a > 1", lead),),
        (part("a > 1", lead), part("b = 2", SHIFT), part("c", WIDE)),
    ):
        for overall in (EVERY, (), (finding(kind, 0.55),)):
            words = message(True, overall, told, everywhere, POWER)
            assert 1 <= len(sentences(words)) <= 2
            assert not re.search(r"\bp [=≤<]", words)
            assert words.endswith(".")
            assert ".." not in words
            if told:
                assert "a > 1" in words or (
                    everywhere is not None and everywhere.kind != kind
                )


def test_all_rows_and_above_all():
    above = message(
        True, (), [part("a > 1", SPREAD)], finding("spread", 1.3, 1.2, 1.4, 1.0), POWER
    )
    assert above.startswith(
        "The spread is wrong over all rows: too narrow (the data spread 1.30 times as much)"
    )
    assert "; above all too narrow where a > 1 (" in above
    other = message(
        True, (), [part("a > 1", WIDE)], finding("spread", 1.3, 1.2, 1.4, 1.0), POWER
    )
    assert "; and too wide where a > 1 (" in other
    assert "above all" not in other


def test_what_is_said_of_all_rows_is_the_number_that_is_listed():
    mean = finding("shift", 0.4, 0.3, 0.5, 0.0)
    words = message(True, (median(0.35, 0.2, 0.5),), (), mean, POWER)
    assert (
        words == "The centre is wrong over all rows: too low (the median by 0.35 standard"
        " deviations)."
    )
    other = median(0.05, -0.1, 0.2)
    assert "(by 0.40 standard deviations)" in message(True, (other,), (), mean, POWER)
    middle = finding("spread", 1.8, 1.7, 1.9, 1.0, "middle half", quantity="middle half")
    words = message(True, (middle,), (), SPREAD, POWER)
    assert "(the middle half 1.80 times as wide)" in words


def test_of_several_columns_of_y_the_column_is_told():
    overall = [median(0.0, -1.0, 1.0, column=name) for name in ("rent", "food")]
    food = finding("shift", 0.9, 0.5, 1.3, 0.0, column="food")
    words = message(True, overall, [part("x > 2", food)], None, POWER)
    assert (
        words == "The centre is wrong: too low for food where x > 2 (by 0.90 standard"
        " deviations)."
    )
    both = finding("correlation", 0.7, 0.6, 0.8, 0.0, column="rent and food")
    assert (
        "too little correlation for rent and food (of the residuals 0.70, says 0.00)"
        in message(True, overall, (), both, POWER)
    )


def test_large_counts_are_no_interval():
    large = finding("tails", 0.08, 0.07, 0.09, 0.01, "largest", quantity="largest counts")
    words = message(True, (large,), (), None, POWER)
    assert "tails too light (0.08 are counts of a probability below 0.01)" in words


def test_rejected_and_no_slice_still_has_a_how():
    strong = message(True, (finding("spread", 1.5, 1.4, 1.6, 1.0),), (), None, POWER)
    assert strong.startswith("The spread is wrong over all rows: too narrow (")
    weak = message(
        True,
        (finding("shift", 0.1, -0.1, 0.3, 0.0), finding("skew", 0.01, -0.1, 0.1, 0.0)),
        (),
        None,
        POWER,
    )
    assert (
        "the data lie on average 0.10 model standard deviations above what the model says"
        " (between 0.10 below and 0.30 above)" in weak
    )
    numbers = {"rows": [7], "z": [9.0], "n": 400}
    wild = finding("wild", 1.0, 1.0, 1.0, 0.0, numbers=numbers)
    assert "row 7 (z = 9.00)" in message(
        True, (finding("shift", 0.1, -0.1, 0.3, 0.0), wild), (), None, POWER
    )
    assert message(True, (), (), None, POWER).startswith("The model is wrong")


def test_the_tails_in_percent_and_in_times_what_the_model_says():
    """One wording for a slice and for all rows, and words that follow the number."""
    z = np.concatenate([np.full(8, 5.0), np.random.default_rng(0).uniform(-2, 2, 1992)])
    for values, told in (
        (
            z,
            "0.4% of the rows lie outside the model's 99.9% interval, 4 times what it says",
        ),
        (z[8:], "0% of the rows lie outside the model's 99.9% interval, and it says 0.1%"),
    ):
        report = cg.check(
            (np.zeros(len(values)), np.ones(len(values))),
            np.arange(len(values)),
            values,
            rng=0,
        )
        tails = next(f for f in report.overall if f.kind == "tails")
        assert tails.words == told
    tails = finding("tails", 0.004, 0.002, 0.007, 0.001, "99.9%")
    words = message(True, (), (), tails, POWER)
    assert (
        words
        == f"The model's tails are wrong over all rows: tails too light ({tails.words})."
    )


def test_small_shares_and_ratios_near_one():
    z = ndtri((np.random.default_rng(0).permutation(800) + 0.5) / 800)
    report = cg.check(
        (np.zeros(800), np.full(800, 1.0001)), np.arange(800), z, rng=0, n_boot=99
    )
    spread = next(f for f in report.overall if f.kind == "spread")
    assert 0.99 < spread.estimate < 1.0
    assert "is 1.00 times as wide as" in spread.words
    assert [percent(share) for share in (0.0, 3e-8, 0.004, 0.123)] == [
        "0%",
        "<0.01%",
        "0.4%",
        "12.3%",
    ]


@pytest.mark.parametrize(
    ("ends", "side", "written"),
    [
        ((-0.08, 0.04), "below", "(between 0.08 below and 0.04 above)"),
        ((-0.04, 0.08), "above", "(between 0.04 below and 0.08 above)"),
        ((-0.44, -0.24), "below", "(0.24 to 0.44)"),
        ((0.24, 0.44), "above", "(0.24 to 0.44)"),
        ((0.24, 0.44), "below", "(between 0.24 above and 0.44 above)"),
        ((-0.08, 0.04), "", "(-0.08 to 0.04)"),
    ],
)
def test_beside_above_and_below_an_interval_has_no_signs(ends, side, written):
    assert between(ends, side=side) == written


def test_the_centre_is_told_where_it_is_far_off():
    far = median(0.8, 0.7, 0.9)
    words = message(True, (far,), (), WIDE, POWER)
    assert words.endswith(
        "The centre is wrong over all rows: too low (the median by 0.80 standard"
        " deviations)."
    )
    near = median(0.3, 0.2, 0.4)
    assert "centre" not in message(True, (near,), (), WIDE, POWER)
    by_slice = message(True, (far,), [part("a > 1", SHIFT)], WIDE, POWER)
    assert by_slice.count("The centre is wrong") == 1


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
    assert (
        f"The centre is wrong over all rows: too {'low' if sign > 0 else 'high'} ("
        in report.words
    )
    z = report.frame()["z"]
    assert (sign * z > 0).sum() == 500 - odd
    rows = "497 of 500" if odd else "All 500"
    side = "above" if sign > 0 else "below"
    assert (
        f"{rows} rows lie {side} the model's median: are these the right predictions"
        in report.words
    )
    right = cg.check(
        (np.full(500, 41.0 * sign), np.full(500, 5.0)), x, sign * y, rng=0, n_boot=99
    )
    assert "swapped" not in right.words


# The message of checks


def claims(words):
    """The parts "… where … (number)" of a message."""
    return re.findall(r"where (.+?) \((.+?)\)(?=[,.;])", words)


@pytest.mark.parametrize("seed", range(6))
def test_every_message_is_true_of_its_rows(seed):
    rng = np.random.default_rng(seed)
    n = 800
    frame = pd.DataFrame(
        {"age": rng.integers(18, 70, n), "town": rng.choice(["Oslo", "Rome"], n)}
    )
    mask = [
        frame["age"] < 30,
        frame["town"] == "Rome",
        (frame["age"] > 40) & (frame["town"] == "Oslo"),
    ][seed % 3]
    y = rng.standard_normal(n) * np.where(mask & (seed > 2), 1.8, 1.0) + 0.9 * (
        mask & (seed <= 2)
    )
    found = cg.check(
        (np.zeros(n), np.ones(n)), frame, pd.Series(y, name="y"), rng=seed, n_boot=99
    )
    assert found.slices
    assert len(sentences(found.words)) <= 2
    by_words = {one.words: one for one in found.slices}
    told = claims(found.words)
    assert told
    for where, inside in told:
        z = y[by_words[where].rows]
        value = float(re.search(r"-?\d+\.\d+", inside)[0])
        plain = {
            "standard deviations": abs(z.mean()),
            "times as much": z.std(ddof=1),
            "50% interval holds": (np.abs(z) <= 0.6744897501960817).mean(),
            "90% interval holds": (np.abs(z) <= 1.6448536269514722).mean(),
            "lie outside the model's 99%": 100 * (np.abs(z) > 2.5758293035489004).mean(),
        }
        (want,) = (number for key, number in plain.items() if key in inside)
        assert value == pytest.approx(want, abs=0.0051)


def test_messages_of_real_tables():
    """Fair's affairs, the doctor's visits of the RAND experiment, and digits: numbers by
    pandas.
    """
    sm = pytest.importorskip("statsmodels.api")
    data = (
        sm.datasets.fair.load_pandas()
        .data.sample(800, random_state=0)
        .reset_index(drop=True)
    )
    y = data.pop("affairs")
    x = data
    found = cg.check(
        (np.full(800, y.mean()), np.full(800, y.std())),
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
        for f in one.findings:
            want = {
                "shift": rows["z"].mean(),
                "spread": rows["z"].std(),
                "coverage": (
                    (
                        rows["z"].abs()
                        <= {"50%": 0.6744897502, "90%": 1.6448536270}.get(f.label, 0)
                    ).mean()
                ),
                "skew": (
                    (rows["z"] > 1.6448536270).mean() - (rows["z"] < -1.6448536270).mean()
                ),
                "tails": (rows["z"].abs() > 2.5758293035).mean(),
            }[f.kind]
            assert f.estimate == pytest.approx(want, abs=1e-9)
    visits = (
        sm.datasets.randhie.load_pandas()
        .data.sample(800, random_state=0)
        .reset_index(drop=True)
    )
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


# Sentences of findings, as version 0.2 wrote them


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
    assert {one.quantity for one in every} == set(SENTENCES) - OF_ANGLES
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
        if old.quantity not in ("skew", "tails", "events"):
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
