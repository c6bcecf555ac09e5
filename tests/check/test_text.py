"""The terminal: order, widths, what is said where nothing or no single effect is found."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import condgof as cg
import made_effects as made
from condgof.check import (
    Role,
    Span,
    check_lines,
    display_width,
    hint_words,
    line_text,
    message,
    table_lines,
    verdict_of,
    verdict_words,
)
from condgof.check._terminal import Column
from seeds import examples

FAST = {"rng": 0, "n_boot": 99, "engine": 1}


def run(y_of, **options):
    """Check a standard normal model of 400 rows whose labels are r0, r1, …"""
    rng = np.random.default_rng(3)
    index = [f"r{i}" for i in range(400)]
    x = pd.DataFrame(
        {
            "hr": rng.integers(0, 24, 400),
            "workingday": rng.choice(["no", "yes"], 400),
            "temp": rng.uniform(size=400),
            "wind": rng.uniform(size=400),
        },
        index=index,
    )
    noise = rng.standard_normal(400)
    y = pd.Series(np.asarray(y_of(x, noise)), index=index, name="bikers")
    return cg.check((np.zeros(400), np.ones(400)), x, y, **FAST, **options)


@pytest.fixture(scope="module")
def wrong():
    """A check that is rejected, with an outlier, and effects made by hand."""

    def y_of(x, noise):
        y = noise * np.where(x["workingday"] == "no", 2.0, 1.0)
        y[5] = 50.0
        return y

    report = run(y_of, by="workingday")
    effects = (made.bikes(), made.incomes(), made.towns())
    report = replace(report, effects=effects, avoidable_loss=made.loss())
    return replace(report, words=message(report))


@pytest.fixture(scope="module")
def right():
    return run(lambda x, noise: noise, by="workingday")


def lines_of(report, width, **options):
    return [line_text(line) for line in check_lines(report, width=width, **options)]


def test_the_order_of_the_terminal(wrong):
    text = str(wrong)
    places = [
        text.index(part)
        for part in (
            "condgof ",
            "400 rows · bikers | hr, workingday, temp, +1",
            "✗ MISFIT   p ≤ 0.01   avoidable loss 0.43 nats/row [0.38, 0.48]",
            "  The mean is wrong by hr and workingday: 2.2 SD too high where",
            "WHAT IS WRONG",
            "  1  bias by hr × workingday    48%  −2.2 SD ",
            "  2  spread by income           29%  0.37× ",
            "SUBGROUPS",
            "GROUPS",
            "OVERALL",
            "TRY   hr × workingday in the mean",
            "Effect size: as detectable as",
        )
    ]
    assert places == sorted(places)


def test_outliers_by_the_labels_of_their_rows(wrong):
    assert re.search(r"outliers: \d+ of 400 rows \(none expected\): r5", str(wrong))
    wild = next(one for one in wrong.overall if one.kind == "wild")
    assert "r5 (z = 50)" in wild.words


def test_the_message_is_the_first_effect_with_its_share(wrong):
    assert wrong.words == (
        "The mean is wrong by hr and workingday: 2.2 SD too high where 6 ≤ hr < 8 and"
        " workingday = 0 (97 rows). This is 48% of the avoidable loss; then spread by"
        " income 29%, class Yes by town 9%."
    )
    alone = replace(wrong, effects=(made.everywhere(),))
    assert message(alone) == (
        "The spread is too wide everywhere: the middle half of the residuals is 0.58 times"
        " as wide as predicted."
    )


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_too_long(wrong, right, width, verbose):
    for report in (wrong, right):
        lines = lines_of(report, width, source="a table.csv", verbose=verbose)
        assert max(map(display_width, lines)) <= width
        assert not any(line.endswith(" ") for line in lines)
        text = "\n".join(lines)
        assert "nan" not in text
        assert not re.search(r"[-−+]0(\.0+)?(?![\d.,])", text)


def test_all_numbers_are_there_at_every_width(wrong):
    """Narrow tables put numbers under names, and leave none out."""
    numbers = [
        sorted(re.findall(r"\d+(?:\.\d+)?", "\n".join(lines_of(wrong, width))))
        for width in (60, 80, 120)
    ]
    assert numbers[0] == numbers[1] == numbers[2]


def test_verbose_adds_sentences(wrong):
    plain = " ".join("\n".join(lines_of(wrong, 100)).split())
    verbose = " ".join("\n".join(lines_of(wrong, 100, verbose=True)).split())
    for words in (*(one.words for one in wrong.effects), wrong.overall[0].words):
        assert words in verbose
        assert words not in plain


def test_rows_of_probability_0_come_before_all_notes(wrong):
    report = replace(wrong, avoidable_loss=made.loss(impossible=38))
    text = " ".join(str(report).split())
    assert "⚠ 38 rows have probability 0 under the model" in text
    assert text.index("⚠") == text.index("⚠ 38 rows")
    assert "probability 0" not in str(wrong)


def test_a_right_model(right):
    text = str(right)
    assert "✓ NO MISFIT FOUND   p = " in text
    assert text.count("o misfit found") == 0
    assert re.search(
        r"Minimum detectable \(power 0\.8\): bias 0\.\d+ SD, spread ×1\.", text
    )
    assert right.words == f"No misfit found. {right.power.words}"
    assert "WHAT IS WRONG" not in text
    assert "TRY" not in text


@pytest.mark.parametrize(
    ("pvalue", "alpha", "sign", "words", "role"),
    [
        (0.001, 0.05, "✗", "Misfit", Role.BAD),
        (0.01, 0.05, "✗", "Misfit", Role.BAD),
        (0.03, 0.05, "⚠", "Weak evidence of misfit", Role.WEAK),
        (0.08, 0.1, "⚠", "Weak evidence of misfit", Role.WEAK),
        (0.08, 0.05, "✓", "No misfit found", Role.GOOD),
        (0.03, 0.01, "✓", "No misfit found", Role.GOOD),
    ],
)
def test_weak_evidence_is_called_weak(wrong, pvalue, alpha, sign, words, role):
    result = replace(wrong.result, pvalue=pvalue, null_distribution=np.zeros(999))
    report = replace(wrong, result=result, alpha=alpha)
    verdict = verdict_of(report)
    assert (verdict.sign, verdict.role) == (sign, role)
    assert verdict_words(report).startswith(f"{words} (p ")
    if role is Role.WEAK:
        assert message(report).startswith("Weak evidence: the mean is wrong by hr")


def test_subgroups_without_effects_are_named(wrong):
    first = wrong.slices[0]
    words = message(replace(wrong, effects=()))
    assert words.startswith(f"The model is wrong where {first.words} ({first.direction}, ")
    assert "hint" not in words


def test_without_an_effect_the_strongest_column_is_a_hint(wrong):
    details = {
        "families": {"columns": 0.04, "x": 0.2},
        "strongest_column": {"column": "temp", "pvalue": 0.02, "y": "z"},
    }
    report = replace(
        wrong,
        effects=(),
        slices=(),
        groups=(),
        result=replace(wrong.result, details=details),
    )
    assert hint_words(report) == (
        "The model is wrong, but no single effect is significant by itself; the strongest"
        " hint is temp (p = 0.020)"
    )
    assert hint_words(report) in message(report)
    assert "stands out" not in str(report)


def test_without_a_column_the_strongest_family_is_a_hint(wrong):
    details = {"families": {"pairs": 0.04, "x": 0.2}}
    result = replace(wrong.result, details=details)
    report = replace(wrong, effects=(), slices=(), result=result)
    assert "hint is the test of products of two columns of x (p = 0.040)" in hint_words(
        report
    )
    category = {"column": "town", "level": "Rome", "pvalue": 0.02, "y": "z"}
    details = {"strongest_column": category}
    report = replace(report, result=replace(wrong.result, details=details))
    assert "the strongest hint is town = Rome (p = 0.020)" in hint_words(report)
    report = replace(report, result=replace(wrong.result, details={}))
    assert hint_words(report).endswith("no single effect is significant by itself")


def test_groups_that_are_wrong_are_named_though_nothing_is_wrong_overall(wrong):
    result = replace(wrong.result, pvalue=0.2)
    words = message(replace(wrong, result=result))
    assert words.startswith(
        "No misfit found overall, but the model is wrong in 1 of 2 groups: workingday ="
        " no (too narrow, residual SD is "
    )


def test_the_same_advice_is_given_once_with_its_gains_added(wrong):
    one = made.incomes()
    report = replace(wrong, effects=(one, replace(one, gain=0.1)))
    text = str(report)
    assert text.count("let the spread depend on income") == 1
    assert "let the spread depend on income   +0.24 nats/row" in text


@settings(max_examples=examples(20))
@given(
    names=st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=4),
    width=st.integers(30, 120),
)
def test_tables_of_any_names(names, width):
    """Nothing in a name breaks a line, and no number is lost."""
    rows = [(Span(name), Span("12"), Span("[1, 2]", Role.DIM)) for name in names]
    columns = (Column("rows", ">"), Column("interval"))
    lines = [line_text(line) for line in table_lines("WHERE", columns, rows, width)]
    assert not any(re.search(r"[\n\r\x0b\x0c]", line) for line in lines)
    assert sum(line.count("[1, 2]") for line in lines) >= len(names)


def test_letters_that_are_wide():
    assert display_width("日本") == 4
    assert display_width("Ås") == 2
    assert display_width("e\u0301") == 1
