"""Sentences of findings: the only place where their numbers become English."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from condgof.check._numbers import (
    FEW_ROWS,
    IN_DEGREES,
    IN_HOURS,
    IN_SD,
    IN_UNIT_OF_Y,
    RATIO,
    SHARE,
    SHARE_DIFFERENCE,
    UNIT_FREE,
    NumberFormat,
    percent_label,
    rows_text,
)
from condgof.check._quantities import LARGEST, QUANTITIES
from condgof.result import number, rounded

if TYPE_CHECKING:
    from condgof.check._record import Finding

#: In place of an interval where a fit of the model on these rows determines the number,
#: as refits on resampled data show: the mean residual of a regression is 0, for instance.
SET_BY_FIT = "(set by the fit)"
#: Most decimals of a number that the fit determines.
DECIMALS_SET_BY_FIT = 2
#: The unit of a bias, in sentences.
SDS = "predicted SDs"
#: How the numbers of each kind of finding are written, by `Finding.kind`.
NUMBER_FORMATS: dict[str, NumberFormat] = {
    "shift": IN_SD,
    "spread": RATIO,
    "coverage": SHARE,
    "tails": SHARE,
    "skew": SHARE_DIFFERENCE,
    "correlation": UNIT_FREE,
    "confidence": SHARE,
    "class": SHARE,
    "zeros": SHARE,
    "atom": SHARE,
    "quantile": SHARE,
    "events": RATIO,
    "mean": RATIO,
    "direction": IN_DEGREES,
    "time": IN_HOURS,
    "angle": IN_UNIT_OF_Y,
    "concentration": UNIT_FREE,
}


def words_of(finding: Finding) -> str:
    """Write what a finding says, with its interval."""
    return SENTENCES[finding.quantity](finding)


def direction_of(finding: Finding) -> str:
    """Say how the model is wrong: "too narrow", "P(a) too high"."""
    if finding.kind not in QUANTITIES:  # the difference of two models, or outliers
        return finding.label
    quantity = QUANTITIES[finding.kind]
    is_larger = finding.estimate > finding.expected
    template = quantity.if_larger if is_larger else quantity.if_smaller
    label = finding.label
    if finding.kind == "events" and label:
        label = f" in the {label}"
    if finding.kind == "quantile":
        label = percent_label(label)
    return template.replace("{}", label)


def brief_of(finding: Finding) -> str:
    """Say the number of a finding in a few words, without its interval."""
    if finding.quantity in BRIEFS:
        return BRIEFS[finding.quantity](finding)
    return SENTENCES_WITHOUT_INTERVAL[finding.quantity](finding)


class FindingRow(NamedTuple):
    """A finding as a row of a table."""

    name: str
    data: str
    interval: str  #: "" where there is none.
    model: str


def finding_row(finding: Finding, *, several: bool = False) -> FindingRow:
    """Write a finding as a row of a table; of `several` columns of y, it is named."""
    numbers = NUMBER_FORMATS[finding.kind]
    decimals = decimals_of(finding)
    pair = numbers.pair(finding.estimate, finding.expected, finding.interval)
    interval = numbers.interval(*finding.interval, decimals)
    model = pair.expected
    data = pair.estimate
    if finding.set_by_fit:
        interval = SET_BY_FIT
        model = _expected(finding)
        data = numbers.text(finding.estimate, decimals)
    if finding.label == LARGEST:
        model = "at most 1%"
    name = finding_name(finding, several=several)
    return FindingRow(name=name, data=data, interval=interval, model=model)


def finding_name(finding: Finding, *, several: bool = False) -> str:
    """Name the number of a finding: "90% coverage", "rent: bias (median)"."""
    if finding.kind == "correlation":
        return f"correlation of {finding.column}"
    if finding.kind == "events":
        period = f", {finding.numbers['place']}" if finding.label else ""
        mean = finding.numbers["mean"]
        return f"events{period} ({finding.numbers['count']:,} of {mean:,.1f} expected)"
    name = ROBUST_NAMES.get(finding.quantity)
    if name is None:
        label = finding.label
        if finding.kind == "quantile":
            label = percent_label(label)
        name = QUANTITIES[finding.kind].name.replace("{}", label).strip().rstrip(",")
    return f"{finding.column}: {name}" if several else name


#: Names of numbers, by `Finding.quantity`, where a kind has several.
ROBUST_NAMES = {
    "median": "bias (median)",
    "mean": "bias (mean)",
    "middle half": "spread (middle half)",
    "sd": "spread (SD)",
    "largest counts": "very large counts",
}


# Numbers of a finding.


def decimals_of(finding: Finding) -> int:
    """Return with how many decimals the numbers of a finding are written."""
    numbers = NUMBER_FORMATS[finding.kind]
    decimals = numbers.decimals(finding.estimate, finding.expected, finding.interval)
    # What a fit sets differs from the prediction by rounding, which is not worth digits.
    return min(decimals, DECIMALS_SET_BY_FIT) if finding.set_by_fit else decimals


def _interval(finding: Finding) -> str:
    """Write the interval of a finding, with the digits of its estimate, in brackets."""
    if finding.set_by_fit:
        return SET_BY_FIT
    numbers = NUMBER_FORMATS[finding.kind]
    decimals = decimals_of(finding)
    unit = numbers.unit if numbers.unit == "%" else ""
    low, high = (f"{numbers.bare(end, decimals)}{unit}" for end in finding.interval)
    draws = finding.numbers.get("draws", 0)
    by = f"; by ranks among {draws:,} draws" if draws else ""
    return f"({low} to {high}{by})"


def _value(finding: Finding) -> str:
    """Write the estimate of a finding without its unit."""
    return NUMBER_FORMATS[finding.kind].bare(finding.estimate, decimals_of(finding))


def _expected(finding: Finding) -> str:
    """Write what the model predicts, with the digits of the estimate."""
    numbers = NUMBER_FORMATS[finding.kind]
    if finding.set_by_fit:
        return numbers.text(finding.expected, decimals_of(finding))
    return numbers.pair(finding.estimate, finding.expected, finding.interval).expected


class RowShare(NamedTuple):
    """A share of rows as the subject or object of a sentence."""

    text: str  #: "42% of rows", or "1 of 117 rows".
    is_one: bool  #: Whether it is a single row, so that the verb is singular.


def _row_share(finding: Finding) -> RowShare:
    """Write a share of rows; a few rows by their number."""
    n = finding.numbers.get("n")
    if n is not None:
        count = round(finding.estimate * n)
        if count < FEW_ROWS:
            return RowShare(f"{count:,} of {rows_text(n)}", count == 1)
    return RowShare(f"{_value(finding)}% of rows", False)


def _of_column(finding: Finding) -> str:
    """Return " of y1" where y has several columns."""
    return f" of {finding.column}" if finding.numbers.get("several") else ""


def percent(share: float) -> str:
    """Write a share as a percentage of two or three digits."""
    if 0.0 < share < 1e-4:
        return "<0.01%"
    return f"{100 * share:.{2 if share < 0.1 else 3}g}%"


# Sentences. Each has a part with the number, and the interval after it.


def _median(finding: Finding) -> str:
    return f"the median residual{_of_column(finding)} is {_value(finding)} {SDS}"


def _mean(finding: Finding) -> str:
    return f"the mean residual{_of_column(finding)} is {_value(finding)} {SDS}"


def _middle_half(finding: Finding) -> str:
    return (
        f"the middle half of the residuals{_of_column(finding)} is {_value(finding)} times"
        " as wide as predicted"
    )


def _sd(finding: Finding) -> str:
    return f"residual SD{_of_column(finding)} is {_value(finding)} times the predicted SD"


def _skew(finding: Finding) -> str:
    of = _of_column(finding)
    above = percent(finding.numbers["above"])
    below = percent(finding.numbers["below"])
    return (
        f"{above} of rows lie above the 95% quantile{of} and {below} below the 5% quantile"
    )


def _tails(finding: Finding) -> str:
    share, is_one = _row_share(finding)
    return (
        f"{share} {'lies' if is_one else 'lie'} outside the {finding.label} interval"
        f"{_of_column(finding)}; the model predicts {_expected(finding)}"
    )


def _largest_counts(finding: Finding) -> str:
    share, is_one = _row_share(finding)
    return f"{share} {'has' if is_one else 'have'} a count in the upper 1% tail"


def _outliers(finding: Finding) -> str:
    count = int(finding.estimate)
    column = f" in {finding.column}" if finding.numbers.get("several") else ""
    noun = "an outlier" if count == 1 else "outliers"
    n = finding.numbers["n"]
    verb = "is" if count == 1 else "are"
    row = "row" if count == 1 else "rows"
    return (
        f"{count:,} of {rows_text(n)} {verb} {noun}{column}: {row}"
        f" {outlier_labels(finding)}"
    )


def amount(value: float) -> str:
    """Write an expected number: with one decimal from 1 on, else with two figures."""
    return f"{value:,.1f}" if value >= 0.95 else f"{value:.2g}"


def _improbable_classes(finding: Finding) -> str:
    numbers = finding.numbers
    count = int(finding.estimate)
    has = "has" if count == 1 else "have"
    none = numbers["impossible"]
    impossible = f"; {none:,} of them probability 0" if none else ""
    each = ", ".join(
        f"{name} ({p:.2g})" if p > 0 else f"{name} (0)"
        for name, p in zip(numbers["names"], numbers["probability"], strict=True)
    )
    left_out = count - len(numbers["names"])
    more = f", and {left_out:,} more" if left_out > 0 else ""
    return (
        f"{count:,} of {rows_text(numbers['n'])} {has} a class that the model gives a"
        f" probability below {numbers['limit']:g} ({amount(numbers['expected'])}"
        f" expected{impossible}): {'row' if count == 1 else 'rows'} {each}{more}"
    )


def _atom(finding: Finding) -> str:
    share = SHARE.text(finding.estimate, decimals_of(finding))
    words = f"{share} of {finding.column} are exactly {finding.label} {_interval(finding)}"
    if not finding.expected:
        return f"{words}, where a continuous model has none"
    return f"{words}; the model predicts {_expected(finding)}"


def outlier_labels(finding: Finding, *, with_scores: bool = True) -> str:
    """List outliers by the labels of their rows, the farthest first."""
    labels = finding.numbers.get("labels") or finding.numbers["rows"]
    listed = [str(label) for label in labels]
    if with_scores:
        scores = finding.numbers["z"]
        listed = [
            f"{label} (z = {number(z)})" for label, z in zip(listed, scores, strict=True)
        ]
    left_out = int(finding.estimate) - len(listed)
    more = f", and {left_out:,} more" if left_out > 0 else ""
    return f"{', '.join(listed)}{more}"


def _correlation(finding: Finding) -> str:
    return f"residuals of {finding.column} have correlation {_value(finding)}"


def _coverage(finding: Finding) -> str:
    share = _row_share(finding).text
    return f"the {finding.label} interval{_of_column(finding)} holds {share}"


def _quantile(finding: Finding) -> str:
    share, is_one = _row_share(finding)
    verb = "lies" if is_one else "lie"
    return f"{share} {verb} below the {percent_label(finding.label)} quantile"


def _confidence(finding: Finding) -> str:
    return f"the most probable class is right in {_row_share(finding).text}"


def _class(finding: Finding) -> str:
    share, is_one = _row_share(finding)
    return f"{share} {'is' if is_one else 'are'} {finding.label}"


def _zeros(finding: Finding) -> str:
    share, is_one = _row_share(finding)
    return f"{share} {'is' if is_one else 'are'} 0"


def _events_count(finding: Finding) -> str:
    """Write how many events were observed and expected, in all time or a third of it."""
    count = finding.numbers["count"]
    mean = finding.numbers["mean"]
    times = finding.numbers["place"]  # such as "week > 37"
    at = f" in the {finding.label} ({times})" if finding.label else ""
    expected = f"{mean:,.1f}" if mean >= 1 else rounded(mean)
    plural = "" if count == 1 else "s"
    return f"{count:,} event{plural} observed{at}, {expected} expected"


def _events(finding: Finding) -> str:
    ratio = NUMBER_FORMATS["events"]
    decimals = max(2, decimals_of(finding))
    low, high = (ratio.bare(end, decimals) for end in finding.interval)
    estimate = ratio.bare(finding.estimate, decimals)
    return f"{_events_count(finding)} (ratio {estimate}, {low} to {high})"


def _mean_score(finding: Finding) -> str:
    # The finding is the shift that scores suggest, which has the opposite sign.
    low, high = finding.interval
    decimals = decimals_of(finding)
    ends = f"({IN_SD.bare(-high, decimals)} to {IN_SD.bare(-low, decimals)})"
    if finding.set_by_fit:
        ends = SET_BY_FIT
    return (
        f"the mean Stein score{_of_column(finding)} is"
        f" {IN_SD.bare(-finding.estimate, decimals)} of its standard deviation {ends}; the"
        " model predicts 0"
    )


def _score_spread(finding: Finding) -> str:
    return (
        f"the spread of the data{_of_column(finding)} is {_value(finding)} times that of"
        " the Stein scores"
    )


#: Writes a finding in English.
Phrase: TypeAlias = Callable[["Finding"], str]


def _with_interval(phrase: Phrase) -> Phrase:
    """Return a sentence that says the number and its interval."""
    return lambda finding: f"{phrase(finding)} {_interval(finding)}"


def _with_prediction(phrase: Phrase) -> Phrase:
    """Return a sentence that says the number, its interval, and the prediction."""
    return lambda finding: (
        f"{phrase(finding)} {_interval(finding)}; the model predicts {_expected(finding)}"
    )


def _beside_prediction(phrase: Phrase) -> Phrase:
    """Return a sentence that says the number and the prediction."""
    return lambda finding: f"{phrase(finding)}; the model predicts {_expected(finding)}"


#: By `Finding.quantity`; a file of `check.kinds` adds its own by `register_sentence`.
SENTENCES: dict[str, Phrase] = {
    "median": _with_interval(_median),
    "mean": _with_interval(_mean),
    "middle half": _with_interval(_middle_half),
    "sd": _with_interval(_sd),
    "coverage": _with_interval(_coverage),
    "skew": _skew,
    "tails": _tails,
    "largest counts": _with_interval(_largest_counts),
    "outliers": _outliers,
    "improbable classes": _improbable_classes,
    "atom": _atom,
    "correlation": _with_prediction(_correlation),
    "confidence": _with_prediction(_confidence),
    "class": _with_prediction(_class),
    "zeros": _with_prediction(_zeros),
    "quantile": _with_interval(_quantile),
    "events": _events,
    "mean score": _mean_score,
    "score spread": _with_interval(_score_spread),
    "difference": lambda finding: str(finding.numbers["words"]),
}
#: The same sentences without intervals, for messages of a line.
SENTENCES_WITHOUT_INTERVAL: dict[str, Phrase] = {
    "median": _median,
    "mean": _mean,
    "middle half": _middle_half,
    "sd": _sd,
    "coverage": _coverage,
    "skew": _skew,
    "tails": _tails,
    "largest counts": _largest_counts,
    "outliers": _outliers,
    "improbable classes": _improbable_classes,
    "atom": _atom,
    "correlation": _beside_prediction(_correlation),
    "confidence": _beside_prediction(_confidence),
    "class": _beside_prediction(_class),
    "zeros": _beside_prediction(_zeros),
    "quantile": _quantile,
    "events": _events_count,
    "mean score": _mean_score,
    "score spread": _score_spread,
    "difference": SENTENCES["difference"],
}
#: In a few words, by `Finding.quantity`, of what `register_sentence` adds.
BRIEFS: dict[str, Phrase] = {}


def register_sentence(quantity: str, sentence: Phrase, brief: Phrase) -> None:
    """Add how a quantity is written, in a sentence and in a few words."""
    if quantity in SENTENCES:
        raise ValueError(f"there is a sentence for {quantity!r} already")
    SENTENCES[quantity] = sentence
    BRIEFS[quantity] = brief
