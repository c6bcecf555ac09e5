"""Advice: the change that an effect asks for, with its gain; none that a family lacks."""

import itertools
from dataclasses import replace

import pytest

import made_effects as made
from condgof.check import (
    ADVICE,
    EFFECT_KINDS,
    YFacts,
    advice_for,
    advice_words,
    gain_words,
)

ROME = made.category("town", "Rome")
AGE = made.number_range("age", 20, 30)
PREDICTED = made.number_range("predicted", 2, 3)
COUNTS = YFacts(has_zeros=True, is_discrete=True)
POSITIVE = YFacts(is_positive=True)
FAMILIES = ("", "normal", "student t", "lognormal", "gamma", "poisson", "exponential")
FAMILIES += ("negative binomial", "zero-inflated poisson", "bernoulli", "conformal")


def advised(kind, estimate, *conditions, family="", facts=None, trend=False, label=None):
    """The words of the advice for an effect of one cell; None without advice."""
    cell = made.cell(kind, estimate, *conditions, half_width=0.001)
    effect = made.effect(kind, cell, trend=trend, label=label)
    advice = advice_for(effect, family, facts or YFacts())
    return None if advice is None else advice.words


@pytest.mark.parametrize(
    ("words", "kind", "estimate", "conditions", "options"),
    [
        ("age × town in the mean", "bias", 0.5, (AGE, ROME), {}),
        ("a nonlinear term of age in the mean", "bias", 0.5, (AGE,), {}),
        ("a linear term of age in the mean", "bias", 0.5, (AGE,), {"trend": True}),
        ("town in the mean", "bias", 0.5, (ROME,), {}),
        ("move the mean by +0.50 SD", "bias", 0.5, (), {}),
        ("a nonlinear function of predicted as the mean", "bias", 0.5, (PREDICTED,),
         {"facts": YFacts(predictions=("predicted",))}),
        ("multiply the predicted SD by 0.58", "spread", 0.58, (), {}),
        ("let the spread depend on age", "spread", 1.6, (AGE,), {}),
        ("a family with a spread of its own", "spread", 1.6, (), {"family": "exponential"}),
        ("a skewed family, or the logarithm of y", "skew", 0.2, (), {"facts": POSITIVE}),
        ("a skewed family", "skew", 0.2, (), {}),
        ("a skewed family", "skew", -0.2, (), {"facts": POSITIVE}),
        ("a family with another skewness", "skew", 0.2, (),
         {"facts": POSITIVE, "family": "Lognormal"}),
        ("a heavier tail, such as Student's t", "tails", 0.05, (), {"family": "normal"}),
        ("fewer degrees of freedom, or another family with heavier tails", "tails", 0.05,
         (), {"family": "student t"}),
        (None, "tails", 0.05, (), {"facts": COUNTS}),
        ("a negative binomial family", "dispersion", 2.0, (), {"family": "poisson"}),
        ("a larger dispersion", "dispersion", 2.0, (), {"family": "negative binomial"}),
        ("let the dispersion depend on age", "dispersion", 2.0, (AGE,),
         {"family": "negative binomial"}),
        ("an underdispersed family, such as Conway–Maxwell–Poisson", "dispersion", 0.5, (),
         {"family": "poisson"}),
        ("a zero-inflated family", "zeros", 0.42, (), {"facts": COUNTS}),
        (None, "zeros", 0.42, (), {}),
        ("let the probability of 0 depend on age", "zeros", 0.42, (AGE,),
         {"facts": COUNTS, "family": "zero-inflated poisson"}),
        ("a zero-truncated family", "zeros", 0.0, (), {}),
        ("change the intercept of class Yes", "class", 0.34, (), {}),
        ("a term of age in the log odds of Yes", "class", 0.34, (AGE,), {}),
        ("divide the logits by a temperature above 1", "confidence", 0.55, (), {}),
        ("divide the logits by a temperature below 1", "confidence", 0.99, (), {}),
        ("wider 90% intervals", "coverage", 0.7, (), {"family": "conformal"}),
        ("a width of the 90% intervals that depends on town", "coverage", 0.7, (ROME,), {}),
        ("a lower 5% quantile", "quantile", 0.15, (), {}),
        ("multiply the hazard by 1.30", "hazard", 1.3, (), {}),
        ("a term of age in the hazard", "hazard", 1.3, (AGE,), {}),
        ("a more flexible baseline hazard", "hazard", 1.3, (), {"label": "early third"}),
        ("a baseline hazard for each category of town", "hazard", 1.3, (ROME,),
         {"label": "early third"}),
        ("an effect of age on the hazard that varies over time", "hazard", 1.3, (AGE,),
         {"label": "late third"}),
        ("let the correlation depend on town", "correlation", 0.5, (ROME,), {}),
        ("check the outliers: they may be errors in the data", "outliers", 3.0, (), {}),
        ("a heavier tail, such as Student's t", "outliers", 45.0, (), {}),
        ("a point mass at 0, as in a two-part model", "atom", 0.24, (), {"label": "0"}),
    ],
)  # fmt: skip
def test_what_an_effect_asks_for(words, kind, estimate, conditions, options):
    assert advised(kind, estimate, *conditions, **options) == words


def test_no_advice_without_a_gain():
    effect = made.bikes()
    for gain in (0.0, -0.01, float("nan")):
        assert advice_for(replace(effect, gain=gain), "", YFacts()) is None
    advice = advice_for(effect, "", YFacts())
    assert advice is not None
    assert advice.gain == effect.gain
    assert advice.to_dict()["change"] in ADVICE


@pytest.mark.parametrize("kind", EFFECT_KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_no_remedy_that_the_family_or_y_excludes(kind, family):
    places = [(), (ROME,), (AGE,), (AGE, ROME)]
    estimates = (0.001, 0.5, 0.999, 2.0, 40.0)
    facts = [COUNTS, POSITIVE, YFacts(), YFacts(is_discrete=True)]
    for conditions, estimate, y in itertools.product(places, estimates, facts):
        words = advised(kind, estimate, *conditions, family=family, facts=y)
        if words is None:
            continue
        assert "conformal" not in words
        assert not (y.is_discrete and "Student" in words)
        assert not ("logarithm" in words and not y.is_positive)
        assert not ("zero-inflated" in words and not y.has_zeros)
        assert not ("zero-inflated" in words and "zero-inflated" in family)
        assert not ("Student" in words and family == "student t")


def test_every_change_can_be_written():
    for change in ADVICE:
        advice = replace(made.bikes().advice, change=change, amount=1.2, label="a")
        words = advice_words(advice)
        assert words
        assert "{" not in words


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (0.213, "+0.21 nats/row"),
        (0.0304, "+0.030 nats/row"),
        (1e-5, "under 0.001 nats/row"),
        (1.5, "+1.50 nats/row"),
    ],
)
def test_gains(gain, words):
    assert gain_words(gain) == words
