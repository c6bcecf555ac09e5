"""Sentences of findings: the only place where their numbers become English."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from condgof.check._quantities import LARGEST, QUANTITIES, SD
from condgof.result import rounded

if TYPE_CHECKING:
    from condgof.check._record import Finding

#: A spread this near to 1 is written as 1.00, and not with the digits that `rounded` shows
#: just below 1: 0.996 and 1.004 mean the same to a reader.
SPREAD_OF_ONE = 0.005
#: In place of an interval where a fit of the model on these rows determines the number,
#: as refits on resampled data show: the mean residual of a regression is 0, for instance.
SET_BY_FIT = "(the fit makes it so)"


def words_of(finding: Finding) -> str:
    """Write what a finding says, with its interval."""
    return SENTENCES[finding.quantity](finding)


def direction_of(finding: Finding) -> str:
    """Say how the model is wrong: "too narrow", "class a too often"."""
    if finding.kind not in QUANTITIES:  # the difference of two models, or outliers
        return finding.label
    quantity = QUANTITIES[finding.kind]
    is_larger = finding.estimate > finding.expected
    template = quantity.if_larger if is_larger else quantity.if_smaller
    label = finding.label
    if finding.kind == "events" and label:
        label = f" in the {label}"
    return template.replace("{}", label)


def brief_of(finding: Finding) -> str:
    """Say the number of a finding in a few words."""
    if finding.quantity in BRIEFS:
        return BRIEFS[finding.quantity](finding)
    value = rounded(finding.estimate)
    expected = rounded(finding.expected)
    label = finding.label
    if label == LARGEST:
        return f"{value} are counts of a probability below 0.01"
    of_label = f"the {label} " if label else ""
    if finding.kind == "shift":
        return f"{of_label}by {rounded(abs(finding.estimate))} standard deviations"
    if finding.kind == "spread":
        if label:
            return f"{of_label}{value} times as wide"
        return f"the data spread {value} times as much"
    if finding.kind == "events":
        return _events_count(finding)
    templates = {
        "coverage": f"the {label} interval holds {value}",
        "confidence": f"right in {value}, says {expected}",
        "class": f"came in {value}, says {expected}",
        "zeros": f"{value} are 0, says {expected}",
        "quantile": f"{value} lie below it, says {expected}",
        "correlation": f"of the residuals {value}, says {expected}",
    }
    return templates.get(finding.kind) or words_of(finding)


def between(interval: tuple[float, float], *, draws: int = 0, side: str = "") -> str:
    """Write the interval that follows a number, in brackets.

    Where the number is written as a distance, "0.3 above" or "0.3 below", `side` is that
    word, and the ends are distances as well: (0.1 to 0.5), or (between 0.1 below and 0.7
    above) where they are not on the same side. Of a law that is known by draws, the number
    of `draws` is added, as the number comes from ranks among them.
    """
    by = f"; by ranks among {draws:,} draws" if draws else ""
    low, high = (-interval[1], -interval[0]) if side == "below" else interval
    if side and low < 0:  # at least one end is on the other side than the number
        ends = [
            f"{rounded(abs(end))} {'above' if end > 0 else 'below'}" for end in interval
        ]
        return f"(between {' and '.join(ends)}{by})"
    return f"({rounded(low)} to {rounded(high)}{by})"


def _interval(finding: Finding, *, draws: int = 0, side: str = "") -> str:
    """Write the interval of a finding as `between` does, unless the fit sets the number."""
    if finding.set_by_fit:
        return SET_BY_FIT
    return between(finding.interval, draws=draws, side=side)


def _of_column(finding: Finding) -> str:
    """Return " of y1" where y has several columns."""
    return f" of {finding.column}" if finding.numbers.get("several") else ""


def percent(share: float) -> str:
    """Write a share as a percentage of two or three digits."""
    if 0.0 < share < 1e-4:
        return "<0.01%"
    return f"{100 * share:.{2 if share < 0.1 else 3}g}%"


def _median(finding: Finding) -> str:
    subject = f"the median of the data{_of_column(finding)} lies"
    return _shift(finding, subject, "the model's")


def _mean(finding: Finding) -> str:
    subject = f"the data{_of_column(finding)} lie on average"
    return _shift(finding, subject, "what the model says")


def _shift(finding: Finding, subject: str, than: str) -> str:
    """Write "`subject` 0.3 model standard deviations above `than` (0.1 to 0.5)"."""
    side = "above" if finding.estimate > 0 else "below"
    ends = _interval(finding, draws=finding.numbers.get("draws", 0), side=side)
    return f"{subject} {rounded(abs(finding.estimate))} {SD} {side} {than} {ends}"


def _middle_half(finding: Finding) -> str:
    subject = f"the middle half of the data{_of_column(finding)} is"
    return _spread(finding, subject, "wide as the model's")


def _sd(finding: Finding) -> str:
    return _spread(
        finding, f"the data{_of_column(finding)} spread", "much as the model says"
    )


def _spread(finding: Finding, subject: str, than: str) -> str:
    """Write "`subject` 1.5 times as `than` (1.3 to 1.7)"."""
    spread = finding.estimate
    times = "1.00" if abs(spread - 1.0) < SPREAD_OF_ONE else rounded(spread)
    ends = _interval(finding, draws=finding.numbers.get("draws", 0))
    return f"{subject} {times} times as {than} {ends}"


def _skew(finding: Finding) -> str:
    of = _of_column(finding)
    above = percent(finding.numbers["above"])
    below = percent(finding.numbers["below"])
    return (
        f"{above} of the rows lie above the model's 95% quantile{of} and {below} below its"
        " 5% quantile"
    )


def _tails(finding: Finding) -> str:
    share = finding.estimate
    words = (
        f"{percent(share)} of the rows lie outside the model's {finding.label}"
        f" interval{_of_column(finding)}"
    )
    if not share:
        return f"{words}, and it says {percent(finding.expected)}"
    ratio = share / finding.expected
    times = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
    return f"{words}, {times} times what it says"


def _largest_counts(finding: Finding) -> str:
    return (
        f"{rounded(finding.estimate)} of the rows {_interval(finding)} have a count so"
        " large that the model gives it, or a larger one, a probability below 0.01"
    )


def _outliers(finding: Finding) -> str:
    count = int(finding.estimate)
    rows = finding.numbers["rows"]
    scores = finding.numbers["z"]
    listed = ", ".join(
        f"{row:,} (z = {rounded(z)})" for row, z in zip(rows, scores, strict=True)
    )
    if count > len(rows):
        listed += f", and {count - len(rows):,} more"
    subject = "1 row lies" if count == 1 else f"{count:,} rows lie"
    noun = "row" if count == 1 else "rows"
    column = f" in {finding.column}" if finding.numbers.get("several") else ""
    n = finding.numbers["n"]
    return f"{subject} further out{column} than any of {n:,} rows should: {noun} {listed}"


def _correlation(finding: Finding) -> str:
    expected = rounded(finding.expected) if finding.expected else 0
    return (
        f"the residuals of {finding.column} have the correlation"
        f" {rounded(finding.estimate)} {_interval(finding)}, and the model says {expected}"
    )


def _share(
    finding: Finding, *, before: str = "", after: str = "", expected: bool = True
) -> str:
    """Write "`before` 0.42 of the rows `after` (0.4 to 0.44), and the model says 0.13".

    The prediction is left out unless `expected`: where it is the same in all rows, the
    label of the interval or quantile has it already.
    """
    words = f"{before}{rounded(finding.estimate)} of the rows{after} {_interval(finding)}"
    if expected:
        words += f", and the model says {rounded(finding.expected)}"
    return words


def _coverage(finding: Finding) -> str:
    before = f"the model's {finding.label} interval{_of_column(finding)} holds "
    return _share(finding, before=before, expected=False)


def _quantile(finding: Finding) -> str:
    after = f" lie below the {finding.label} quantile"
    return _share(finding, after=after, expected=False)


def _confidence(finding: Finding) -> str:
    return _share(finding, before="the most probable class is right in ")


def _class(finding: Finding) -> str:
    return _share(finding, before=f"class {finding.label} came in ")


def _zeros(finding: Finding) -> str:
    return _share(finding, after=" are 0")


def _events_count(finding: Finding) -> str:
    """Write how many events were observed and expected, in all time or a third of it."""
    count = finding.numbers["count"]
    mean = finding.numbers["mean"]
    hazards = finding.numbers["place"]  # such as "up to 0.3"
    at = f" in the {finding.label} (cumulative hazard {hazards})" if finding.label else ""
    expected = f"{mean:,.1f}" if mean >= 1 else rounded(mean)
    plural = "" if count == 1 else "s"
    return f"{count:,} event{plural} observed{at}, {expected} expected"


def _events(finding: Finding) -> str:
    low, high = finding.interval
    return (
        f"{_events_count(finding)} (ratio {rounded(finding.estimate)}, {rounded(low)} to"
        f" {rounded(high)})"
    )


def _mean_score(finding: Finding) -> str:
    # The finding is the shift that scores suggest, which has the opposite sign.
    low, high = finding.interval
    ends = SET_BY_FIT if finding.set_by_fit else between((-high, -low))
    return (
        f"the mean score{_of_column(finding)} is {rounded(-finding.estimate)} of its"
        f" standard deviation {ends}, and should be 0"
    )


def _score_spread(finding: Finding) -> str:
    return (
        f"the data{_of_column(finding)} spread {rounded(finding.estimate)} times as much as"
        f" the scores say {_interval(finding)}"
    )


#: Writes a finding in English.
Phrase: TypeAlias = Callable[["Finding"], str]

#: By `Finding.quantity`; a file of `check.kinds` adds its own by `register_sentence`.
SENTENCES: dict[str, Phrase] = {
    "median": _median,
    "mean": _mean,
    "middle half": _middle_half,
    "sd": _sd,
    "coverage": _coverage,
    "skew": _skew,
    "tails": _tails,
    "largest counts": _largest_counts,
    "outliers": _outliers,
    "correlation": _correlation,
    "confidence": _confidence,
    "class": _class,
    "zeros": _zeros,
    "quantile": _quantile,
    "events": _events,
    "mean score": _mean_score,
    "score spread": _score_spread,
    "difference": lambda finding: str(finding.numbers["words"]),
}
#: In a few words, by `Finding.quantity`; what has no entry here is in `brief_of`.
BRIEFS: dict[str, Phrase] = {}


def register_sentence(quantity: str, sentence: Phrase, brief: Phrase) -> None:
    """Add how a quantity is written, in a sentence and in a few words."""
    if quantity in SENTENCES:
        raise ValueError(f"there is a sentence for {quantity!r} already")
    SENTENCES[quantity] = sentence
    BRIEFS[quantity] = brief
