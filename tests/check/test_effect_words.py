"""Effects in words: what is wrong, by which columns, where most; every number a cell's."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_effects as made
from condgof.check import (
    EFFECT_KINDS,
    RATIO,
    SHARE,
    effect_ends,
    effect_headline,
    effect_name,
    effect_range,
    effect_sentence,
    effect_subject,
    worst_cell,
)
from json_document import SCHEMA, problems

ROME = made.category("town", "Rome")
OSLO = made.category("town", "Oslo")
BERGEN = made.category("town", "Bergen")


def by_town(kind, rome, oslo, half_width=0.01, label=None, **numbers):
    """An effect that depends on the town."""
    cells = [
        made.cell(kind, value, town, half_width=half_width, **numbers)
        for value, town in ((rome, ROME), (oslo, OSLO))
    ]
    return made.effect(kind, *cells, label=label)


def test_every_kind_of_the_table_is_tried():
    assert set(made.QUANTITIES) == set(EFFECT_KINDS)


@pytest.mark.parametrize(
    ("effect", "name"),
    [
        (made.bikes(), "bias by hr × workingday"),
        (made.everywhere(), "spread overall"),
        (made.towns(), "class Yes by town"),
        (by_town("hazard", 1.3, 0.8, label="early third"), "early hazard by town"),
        (by_town("hazard", 1.3, 0.8), "hazard by town"),
        (by_town("quantile", 0.15, 0.1), "5% quantile by town"),
        (by_town("coverage", 0.7, 0.8), "90% coverage by town"),
        (made.effect("atom", made.cell("atom", 0.24), label="0"), "atom 0 overall"),
        (
            made.effect("correlation", made.cell("correlation", 0.3), column="a and b"),
            "correlation of a and b overall",
        ),
        (
            made.effect("bias", made.cell("bias", 0.3, ROME, several=True), column="rent"),
            "bias of rent by town",
        ),
    ],
)
def test_names(effect, name):
    assert effect_name(effect) == name
    assert effect.name == name


def test_an_interaction():
    effect = made.bikes()
    assert effect.words == (
        "The mean is wrong by hr and workingday: 2.2 SD too high where 6 ≤ hr < 8 and"
        " workingday = 0 (97 rows); 1.2 SD too low where 6 ≤ hr < 8 and workingday = 1 (97"
        " rows)."
    )
    assert effect_range(effect) == ("−2.2 SD", "+1.2 SD")


def test_a_trend_is_said_as_a_trend():
    effect = made.incomes()
    assert effect.words == (
        "The spread is wrong along income: the spread of the residuals grows from 0.37×"
        " where income < 20 (120 rows) to 1.61× where income ≥ 80 (120 rows)."
    )
    falling = replace(effect, cells=effect.cells[::-1])
    assert " falls from 1.61× " in falling.words
    assert effect_range(effect) == ("0.37×", "1.61×")


def test_what_holds_everywhere_is_said_first():
    assert made.everywhere(quantity="sd").words == (
        "Everywhere: residual SD is 0.58 times the predicted SD."
    )
    effect = by_town("spread", 5.11, 5.04, half_width=0.2)
    assert effect_headline(effect) == (
        "The spread is too narrow everywhere, and depends on town: most where town = Rome"
        " (97 rows), the middle half of the residuals is 5.1 times as wide as predicted"
    )


@pytest.mark.parametrize(
    ("kind", "less", "more", "subjects"),
    [
        ("bias", -0.5, 0.5, ("mean is too high", "mean is too low", "mean is wrong")),
        ("spread", 0.5, 2.0, ("too wide", "too narrow", "The spread is wrong")),
        ("dispersion", 0.5, 2.0, ("underdispersed", "overdispersed", "is wrong")),
        ("zeros", 0.02, 0.42, ("Too many zeros", "Too few zeros", "of 0 is wrong")),
        ("class", 0.1, 0.4, ("of Yes is too high", "of Yes is too low", "Yes is wrong")),
        ("confidence", 0.5, 0.999, ("overconfident", "underconfident", "is wrong")),
        ("quantile", 0.01, 0.15, ("5% quantile is too low", "is too high", "is wrong")),
        ("coverage", 0.7, 0.97, ("are too narrow", "are too wide", "are wrong")),
        ("hazard", 0.5, 2.0, ("hazard is too high", "hazard is too low", "is wrong")),
        ("tails", 0.0, 0.05, ("too heavy", "too light", "The tails are wrong")),
        ("skew", -0.2, 0.2, ("to the left", "to the right", "is wrong")),
    ],
)
def test_the_subject_follows_the_direction_where_cells_agree(kind, less, more, subjects):
    half = 0.001
    for rome, oslo, subject in (
        (less, less, subjects[0]),
        (more, more, subjects[1]),
        (less, more, subjects[2]),
    ):
        assert subject in effect_subject(by_town(kind, rome, oslo, half_width=half))


def test_cells_that_may_be_right_do_not_count_for_the_direction():
    effect = made.effect(
        "bias",
        made.cell("bias", -0.05, ROME, half_width=0.2),
        made.cell("bias", 0.8, OSLO, half_width=0.2),
    )
    assert effect.words == (
        "The mean is too low, depending on town: 0.80 SD too low where town = Oslo (97"
        " rows)."
    )


@pytest.mark.parametrize(
    ("kind", "estimate", "words", "options"),
    [
        ("skew", 0.15, "17% of rows lie above the 95% quantile and 2% below the 5%",
         {"above": 0.17, "below": 0.02}),
        ("tails", 0.034, "3.4% of rows lie outside the 99% interval (1% predicted)", {}),
        ("zeros", 0.42, "42% of rows are 0 (13% predicted)", {}),
        ("class", 0.34, "34% of rows are Yes (20% predicted)", {}),
        ("confidence", 0.55, "is right in 55% of rows (97% predicted)", {}),
        ("quantile", 0.15, "15% of rows lie below the 5% quantile", {}),
        ("coverage", 0.78, "the 90% interval holds 78% of rows", {}),
        ("hazard", 1.3, "1.30 times the expected events (137 observed, 105.4 expected)",
         {"count": 137, "mean": 105.4}),
        ("hazard", 1.3, "1.30 times the expected events.", {}),
        ("correlation", 0.32, "have correlation 0.32 (0 predicted)", {}),
        ("concentration", 0.7, "mean resultant length of the residuals is 0.70 (0.9", {}),
        ("outliers", 10.0, "10 of 3,458 rows lie further out than any should",
         {"n": 3458}),
        ("dispersion", 3.3, "residual SD is 3.3 times the predicted SD",
         {"quantity": "sd"}),
    ],
)  # fmt: skip
def test_sentences_of_each_kind(kind, estimate, words, options):
    n = options.pop("n", None)
    effect = made.everywhere(kind, estimate, **options)
    if n is not None:
        (cell,) = effect.cells
        finding = replace(cell.finding, numbers={"n": n})
        effect = replace(effect, cells=(replace(cell, finding=finding),))
    assert words in effect.words


def test_an_atom_is_said_with_its_value():
    effect = made.effect("atom", made.cell("atom", 0.24), label="0", column="rain")
    cell = made.cell("atom", 0.24, column="rain")
    effect = replace(effect, cells=(cell,))
    assert effect.words == "Everywhere: 24% of rain are exactly 0 (0% predicted)."
    assert effect_subject(effect) == "The value 0 comes more often than predicted"


def test_a_small_cell_is_not_the_worst_because_it_is_small():
    wild = made.cell("bias", 3.0, ROME, half_width=3.5, n=5)
    sure = made.cell("bias", 0.8, OSLO, half_width=0.1, n=500)
    assert worst_cell(made.effect("bias", wild, sure)) is sure


def test_where_no_cell_is_certain_corrections_decide():
    """The wide intervals of small cells do not make the cell next to 1 the worst."""
    narrow = replace(made.cell("spread", 0.56, ROME, half_width=0.8, n=28), correction=0.76)
    middle = replace(made.cell("spread", 0.92, OSLO, half_width=0.3, n=33), correction=0.9)
    wide = replace(made.cell("spread", 1.5, BERGEN, half_width=1.2, n=25), correction=1.49)
    effect = made.effect("spread", narrow, middle, wide)
    assert effect.extremes == (narrow, wide)
    few = replace(made.cell("spread", 0.2, ROME, half_width=0.9, n=6), correction=0.5)
    assert made.effect("spread", few, narrow, wide).extremes == (narrow, wide)


def test_digits_show_the_difference():
    pair = SHARE.pair(0.0347, 0.0265)
    assert pair == ("3.5%", "2.6%")
    assert SHARE.pair(0.42, 0.13) == ("42%", "13%")
    assert SHARE.pair(0.93, 0.90) == ("93%", "90%")
    assert SHARE.pair(0.9004, 0.9) == ("90.04%", "90%")
    assert RATIO.pair(1.004, 1.0).estimate == "1.0040×"
    assert SHARE.pair(0.04, 0.001) == ("4%", "0.1%")


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_different_shares_are_written_differently(share, expected):
    pair = SHARE.pair(share, expected)
    if abs(share - expected) > 1e-7:
        assert pair.estimate.rstrip("0%.") != pair.expected.rstrip("0%.") or (
            float(pair.estimate[:-1]) != float(pair.expected[:-1])
        )


#: Numbers that findings may have, and that are hard to write.
NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1e-12, -1e-12, 1.0])


@given(
    kind=st.sampled_from(sorted(EFFECT_KINDS)),
    estimates=st.lists(NUMBERS, min_size=1, max_size=4),
    half_width=st.floats(0.0, 1e3) | st.just(np.nan) | st.just(np.inf),
    trend=st.booleans(),
    expected=NUMBERS,
)
def test_whatever_the_numbers_sentences_are_clean(
    kind, estimates, half_width, trend, expected
):
    shares = SHARE.unit == EFFECT_KINDS[kind].numbers.unit
    values = [abs(value) / 2e6 if shares else value for value in estimates]
    cells = [
        made.cell(
            kind,
            value,
            made.number_range("age", 10 * i, 10 * i + 10),
            half_width=half_width,
            expected=abs(expected) / 2e6 if shares else expected,
        )
        for i, value in enumerate(values)
    ]
    effect = made.effect(kind, *cells, trend=trend, label="a")
    overall = made.effect(kind, made.cell(kind, values[0]), label="a")
    texts = [effect.words, overall.words, effect.name, *effect_range(effect)]
    for one in (effect, overall):
        if one.advice is not None:
            texts.append(one.advice.words)
    for text in texts:
        assert "nan" not in text
        assert not re.search(r"[-−+]0(\.0+)?(?![\d.,])", text), text
        assert "  " not in text, text
        assert "{" not in text


@pytest.mark.parametrize("effect", [made.bikes(), made.incomes(), made.towns()])
def test_every_number_of_a_sentence_is_one_of_a_cell(effect):
    factor = EFFECT_KINDS[effect.kind].numbers.factor
    known = {abs(factor * one.finding.estimate) for one in effect.cells}
    known |= {abs(factor * one.finding.expected) for one in effect.cells}
    said = re.findall(r"(\d+(?:\.\d+)?)(?: SD|×|%)", effect_sentence(effect))
    assert said
    for text in said:
        places = len(text.partition(".")[2])
        nearest = min(abs(float(text) - value) for value in known)
        assert nearest <= 0.5 * 10.0**-places + 1e-9


def test_effects_as_json_are_as_documented():
    for effect in (made.bikes(), made.incomes(), made.towns(), made.everywhere()):
        document = json.loads(json.dumps(effect.to_dict()))
        assert problems(document, SCHEMA["$defs"]["effects_item"]) == []
        assert document["words"] == effect.words
    document = json.loads(json.dumps(made.loss(impossible=2).to_dict()))
    assert problems(document, SCHEMA["$defs"]["avoidable_loss"]) == []


def test_an_unknown_kind_raises():
    with pytest.raises(KeyError):
        effect_name(replace(made.everywhere(), kind="no such kind"))


# Effects that show only once those before them are corrected.


def given_before(kind, *corrections, rows=(97, 97), trend=False):
    """An effect by town whose corrections differ from what rows as they are show."""
    shown = made.EXPECTED[kind]
    cells = [
        replace(made.cell(kind, shown, town, n=n, half_width=0.1), correction=correction)
        for correction, town, n in zip(corrections, (ROME, OSLO), rows, strict=True)
    ]
    return replace(made.effect(kind, *cells, trend=trend), given_before=True)


def test_a_later_spread_is_said_by_its_correction():
    effect = given_before("spread", 0.47, 0.9)
    assert effect_range(effect) == ("0.47×*", "0.90×*")
    assert effect.words == (
        "The spread is too wide, depending on town, once the effects before it are"
        " corrected: residuals spread 0.47 times as much as predicted where town = Rome"
        " (97 rows)."
    )


def test_a_later_bias_of_both_signs():
    effect = given_before("bias", -0.4, 0.31)
    assert effect_range(effect) == ("−0.40 SD*", "+0.31 SD*")
    assert effect.words == (
        "The mean is wrong by town, once the effects before it are corrected: a bias of"
        " −0.40 SD is left where town = Rome (97 rows); a bias of +0.31 SD is left where"
        " town = Oslo (97 rows)."
    )


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        ("zeros", ("odds 0.50×*", "odds 2.0×*")),
        ("hazard", ("0.50×*", "2.0×*")),
        ("tails", ("tails too light*", "tails too light*")),
    ],
)
def test_corrections_of_other_kinds(kind, ends):
    assert effect_range(given_before(kind, 0.5, 2.0)) == ends


def test_a_later_trend_goes_from_and_to_its_corrections():
    words = given_before("bias", -0.4, 0.31, trend=True).words
    assert "the bias grows from −0.40 SD where" in words
    assert "to +0.31 SD where" in words


def test_a_correction_of_few_rows_is_no_end():
    effect = given_before("bias", -0.4, 0.31, rows=(4, 97))
    low, high = effect_ends(effect)
    assert low is high is effect.cells[1]
    assert effect.extremes == (effect.cells[1],)


def test_every_number_of_a_sentence_about_corrections_is_a_correction():
    for kind in EFFECT_KINDS:
        effect = given_before(kind, 0.37, 2.3)
        words = effect.words.replace("97 rows", "")
        label = re.escape(str(effect.label))
        numbers = set(re.findall(r"\d+\.\d+", re.sub(label, "", words) if label else words))
        assert numbers <= {"0.37", "0.63", "2.3", "2.30"}, words
