"""What to change in a model: a table from effects to changes, and these in words.

A change is advised only with the gain that was measured on rows held out, and only where
the family of the model allows it: no Student t for counts, no logarithm of zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from condgof.check._effect_words import is_larger, worst_cell
from condgof.check._numbers import (
    IN_DEGREES,
    IN_HOURS,
    IN_SD,
    IN_UNIT_OF_Y,
    RATIO,
    percent_label,
)
from condgof.check._record import Advice

if TYPE_CHECKING:
    from condgof.check._record import Effect

#: Families of counts whose variance is a function of their mean.
POISSON_LIKE = ("poisson", "zero-inflated poisson")
#: Families with a dispersion of their own.
DISPERSED = ("negative binomial", "zero-inflated negative binomial")
#: Families with a parameter for the probability of 0.
ZERO_INFLATED = ("zero-inflated poisson", "zero-inflated negative binomial", "hurdle")
#: Families whose tails are heavier than those of the normal distribution.
HEAVY_TAILED = ("student t", "cauchy")
#: Families that are skewed to the right by themselves, or of the logarithm of y.
RIGHT_SKEWED = ("lognormal", "gamma", "weibull", "exponential", "inverse gaussian")
#: Families whose spread is set by their mean, and cannot be changed by itself.
ONE_PARAMETER = ("poisson", "exponential", "bernoulli", "binomial")
#: Most rows that are advised to be looked at one by one.
FEW_OUTLIERS = 10


@dataclass(frozen=True)
class YFacts:
    """What advice needs to know of y, and of the columns of a check."""

    is_positive: bool = False  #: Whether all y are above 0.
    has_zeros: bool = False  #: Whether some y are 0.
    is_discrete: bool = False  #: Whether y are counts or classes.
    #: The columns that are what the model predicts, not columns of x.
    predictions: tuple[str, ...] = ()


#: Chooses a change for an effect of one kind, given the family of the model and y; "" for
#: none.
Choice: TypeAlias = Callable[["Effect", str, YFacts], str]


def _is_larger(effect: Effect) -> bool:
    """Whether the number is larger than predicted in the worst cell."""
    return is_larger(effect, worst_cell(effect))


def _is_of_categories(effect: Effect) -> bool:
    """Whether the first column of the effect has categories, not numbers."""
    conditions = [cell.conditions[0] for cell in effect.cells if cell.conditions]
    return bool(conditions) and all(math.isnan(one.low) for one in conditions)


def _bias(effect: Effect, family: str, y: YFacts) -> str:
    if not effect.columns:
        return "mean shift"
    if len(effect.columns) == 2:
        return "mean interaction"
    if effect.columns[0] in y.predictions:
        return "mean of prediction"
    if effect.trend:
        return "mean slope"
    return "mean category" if _is_of_categories(effect) else "mean curve"


def _on_a_circle(change: str) -> Choice:
    """Return the choice for a bias on a circle: `change` where it is the same everywhere.

    Elsewhere it is that for any bias.
    """

    def choice(effect: Effect, family: str, y: YFacts) -> str:
        return _bias(effect, family, y) if effect.columns else change

    return choice


def _spread(effect: Effect, family: str, y: YFacts) -> str:
    if family in ONE_PARAMETER:
        return "spread of its own"
    return "spread by columns" if effect.columns else "spread factor"


def _skew(effect: Effect, family: str, y: YFacts) -> str:
    if effect.columns:
        return "shape by columns"
    if _is_larger(effect) and y.is_positive and family not in RIGHT_SKEWED:
        return "skewed family or logarithm"
    return "other skewed family" if family in RIGHT_SKEWED else "skewed family"


def _tails(effect: Effect, family: str, y: YFacts) -> str:
    if y.is_discrete:
        return ""
    if effect.columns:
        return "shape by columns"
    if _is_larger(effect):
        return "heavier tail" if family in HEAVY_TAILED else "student t"
    return "lighter tail" if family in HEAVY_TAILED else ""


def _dispersion(effect: Effect, family: str, y: YFacts) -> str:
    if family in DISPERSED:
        if effect.columns:
            return "dispersion by columns"
        return "more dispersion" if _is_larger(effect) else "less dispersion"
    if not _is_larger(effect):
        return "underdispersed family"
    return "negative binomial by columns" if effect.columns else "negative binomial"


def _zeros(effect: Effect, family: str, y: YFacts) -> str:
    if family in ZERO_INFLATED:
        return "zeros by columns" if effect.columns else "zeros"
    if _is_larger(effect):
        if not y.has_zeros:
            return ""
        return "zero-inflated by columns" if effect.columns else "zero-inflated"
    return "hurdle" if y.has_zeros else "zero-truncated"


def _class(effect: Effect, family: str, y: YFacts) -> str:
    if not effect.columns:
        return "class intercept"
    return "class interaction" if len(effect.columns) == 2 else "class term"


def _confidence(effect: Effect, family: str, y: YFacts) -> str:
    if effect.columns:
        return "temperature by columns"
    return "temperature below 1" if _is_larger(effect) else "temperature above 1"


def _coverage(effect: Effect, family: str, y: YFacts) -> str:
    if effect.columns:
        return "width by columns"
    return "narrower intervals" if _is_larger(effect) else "wider intervals"


def _quantile(effect: Effect, family: str, y: YFacts) -> str:
    if effect.columns:
        return "quantile by columns"
    return "lower quantile" if _is_larger(effect) else "higher quantile"


def _hazard(effect: Effect, family: str, y: YFacts) -> str:
    if not effect.label:
        if not effect.columns:
            return "hazard factor"
        return "hazard interaction" if len(effect.columns) == 2 else "hazard term"
    if not effect.columns:
        return "baseline hazard"
    return "stratified hazard" if _is_of_categories(effect) else "time-varying hazard"


def _correlation(effect: Effect, family: str, y: YFacts) -> str:
    return "correlation by columns" if effect.columns else "correlation"


def _concentration(effect: Effect, family: str, y: YFacts) -> str:
    return "concentration by columns" if effect.columns else "concentration"


def _outliers(effect: Effect, family: str, y: YFacts) -> str:
    if worst_cell(effect).finding.estimate <= FEW_OUTLIERS:
        return "check outliers"
    if y.is_discrete:
        return ""
    return "heavier tail" if family in HEAVY_TAILED else "student t"


def _atom(effect: Effect, family: str, y: YFacts) -> str:
    return "point mass" if _is_larger(effect) else ""


#: The choice of a change, by `Effect.kind`.
CHOICES: dict[str, Choice] = {
    "bias": _bias,
    "spread": _spread,
    "skew": _skew,
    "tails": _tails,
    "dispersion": _dispersion,
    "zeros": _zeros,
    "class": _class,
    "confidence": _confidence,
    "coverage": _coverage,
    "quantile": _quantile,
    "hazard": _hazard,
    "correlation": _correlation,
    "direction": _on_a_circle("turn"),
    "time": _on_a_circle("time shift"),
    "angle": _on_a_circle("angle shift"),
    "concentration": _concentration,
    "outliers": _outliers,
    "atom": _atom,
}
#: What to change, by `Advice.change`. {columns} stands for the columns of the effect,
#: {product} for these with a cross between them, {label} for its class, statement or value,
#: {amount} for a factor or a number of SDs.
ADVICE: dict[str, str] = {
    "mean shift": "move the mean by {amount}",
    "turn": "turn the predicted direction by {amount}",
    "time shift": "move the predicted time by {amount}",
    "angle shift": "move the prediction by {amount}",
    "mean slope": "a linear term of {columns} in the mean",
    "mean curve": "a nonlinear term of {columns} in the mean",
    "mean category": "{columns} in the mean",
    "mean of prediction": "a nonlinear function of {columns} as the mean",
    "mean interaction": "{product} in the mean",
    "spread factor": "multiply the predicted SD by {amount}",
    "spread by columns": "let the spread depend on {columns}",
    "spread of its own": "a family with a spread of its own",
    "shape by columns": "let the shape depend on {columns}",
    "skewed family": "a skewed family",
    "other skewed family": "a family with another skewness",
    "skewed family or logarithm": "a skewed family, or the logarithm of y",
    "student t": "a heavier tail, such as Student's t",
    "heavier tail": "fewer degrees of freedom, or another family with heavier tails",
    "lighter tail": "more degrees of freedom, or a normal distribution",
    "negative binomial": "a negative binomial family",
    "negative binomial by columns": (
        "a negative binomial family whose dispersion depends on {columns}"
    ),
    "underdispersed family": "an underdispersed family, such as Conway–Maxwell–Poisson",
    "dispersion by columns": "let the dispersion depend on {columns}",
    "more dispersion": "a larger dispersion",
    "less dispersion": "a smaller dispersion",
    "zero-inflated": "a zero-inflated family",
    "zero-inflated by columns": "a zero-inflated family with {columns} in the zeros",
    "zeros": "change the probability of 0",
    "zeros by columns": "let the probability of 0 depend on {columns}",
    "hurdle": "a hurdle model with fewer zeros",
    "zero-truncated": "a zero-truncated family",
    "class intercept": "change the intercept of class {label}",
    "class term": "a term of {columns} in the log odds of {label}",
    "class interaction": "{product} in the log odds of {label}",
    "temperature above 1": "divide the logits by a temperature above 1",
    "temperature below 1": "divide the logits by a temperature below 1",
    "temperature by columns": "a temperature of the logits that depends on {columns}",
    "wider intervals": "wider {label} intervals",
    "narrower intervals": "narrower {label} intervals",
    "width by columns": "a width of the {label} intervals that depends on {columns}",
    "lower quantile": "a lower {label} quantile",
    "higher quantile": "a higher {label} quantile",
    "quantile by columns": "let the {label} quantile depend on {columns}",
    "hazard factor": "multiply the hazard by {amount}",
    "hazard term": "a term of {columns} in the hazard",
    "hazard interaction": "{product} in the hazard",
    "baseline hazard": "a more flexible baseline hazard",
    "stratified hazard": "a baseline hazard for each category of {columns}",
    "time-varying hazard": "an effect of {columns} on the hazard that varies over time",
    "correlation": "let the columns of y be correlated",
    "correlation by columns": "let the correlation depend on {columns}",
    "concentration": "change the concentration",
    "concentration by columns": "let the concentration depend on {columns}",
    "check outliers": "check the outliers: they may be errors in the data",
    "point mass": "a point mass at {label}, as in a two-part model",
}


#: How the amount of a change is written that is a difference; all others are factors.
SHIFTS = {
    "mean shift": IN_SD,
    "turn": IN_DEGREES,
    "time shift": IN_HOURS,
    "angle shift": IN_UNIT_OF_Y,
}


def advice_for(effect: Effect, family: str, y: YFacts) -> Advice | None:
    """Return the change of the model that an effect asks for, with its measured gain.

    Parameters
    ----------
    effect : Effect
        The effect.
    family : str
        The family of the model in lower case, such as "poisson"; "" where it is not known.
    y : YFacts
        What is known of y and of the columns.

    Returns
    -------
    Advice or None
        None where the effect gains nothing on rows held out, or where no change of the
        table fits the family.
    """
    if not effect.gain > 0.0:
        return None
    change = CHOICES[effect.kind](effect, family.lower(), y)
    if not change:
        return None
    amount = None
    if "{amount}" in ADVICE[change]:
        worst = worst_cell(effect)
        amount = worst.correction if effect.given_before else worst.finding.estimate
    label = effect.label
    if effect.kind in ("coverage", "quantile"):
        label = percent_label(label)
    return Advice(
        change=change,
        columns=effect.columns,
        gain=effect.gain,
        label=label,
        amount=amount,
        given_before=effect.given_before,
    )


def advice_words(advice: Advice) -> str:
    """Write a change: "hr × workingday in the mean"."""
    amount = ""
    if advice.amount is not None:
        numbers = SHIFTS.get(advice.change, RATIO)
        expected = 1.0 if numbers is RATIO else 0.0
        decimals = numbers.decimals(advice.amount, expected)
        text = numbers.bare if numbers is RATIO else numbers.text
        amount = text(advice.amount, decimals)
    first = "after that, " if advice.given_before else ""
    return first + ADVICE[advice.change].format(
        columns=" and ".join(advice.columns),
        product=" × ".join(advice.columns),
        label=advice.label,
        amount=amount,
    )


def gain_words(gain: float) -> str:
    """Write a gain on rows held out: "+0.21 nats/row"."""
    decimals = 2 if gain >= 0.095 else 3
    return f"+{gain:.{decimals}f} nats/row" if gain >= 0.0005 else "under 0.001 nats/row"
