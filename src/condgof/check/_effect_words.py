"""Effects in words: one table of kinds of effects, and the sentences made of it.

Every number of a sentence is a number of a cell: `EffectCell.finding`, its estimate and
what the model predicts; or `EffectCell.correction`, where an effect shows only in what the
effects before it leave. Nothing here computes, and nothing parses what was written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from condgof.check._numbers import (
    COUNT,
    IN_DEGREES,
    IN_HOURS,
    IN_SD,
    IN_UNIT_OF_Y,
    RATIO,
    SHARE,
    SHARE_DIFFERENCE,
    UNIT_FREE,
    NumberFormat,
    NumberPair,
    percent_label,
    rows_text,
)

if TYPE_CHECKING:
    from condgof.check._record import Effect, EffectCell, Finding

#: Writes a number of some rows in the middle of a sentence, from its finding and the label
#: of the effect.
Phrase: TypeAlias = Callable[["Finding", str], str]

#: What the thirds of time are called before "hazard".
PERIODS = {"early third": "early", "middle third": "middle", "late third": "late"}
#: Cells of fewer rows are not the ends of an effect that is said by its corrections.
LEAST_ROWS_OF_END = 10
#: What stands behind a correction in tables,
CORRECTION_MARK = "*"
#: and what it says.
CORRECTION_NOTE = "* once the effects above it are corrected"
#: A ratio of at most this is as far from 1 as the search can tell: its logarithm is taken
#: of this number instead.
LEAST_RATIO = 1e-6


@dataclass(frozen=True)
class CorrectionKind:
    """How the correction of a cell is written."""

    numbers: NumberFormat
    neutral: float  #: That of a cell where nothing is wrong.
    words: str  #: In a sentence: {} stands for the number.
    table: str = "{}"  #: In a table.


#: In predicted standard deviations.
SHIFTED = CorrectionKind(IN_SD, 0.0, "a bias of {} is left")
#: A factor of the spread.
SCALED = CorrectionKind(RATIO, 1.0, "residuals spread {} times as much as predicted")
#: A factor of the odds of an event.
ODDS = CorrectionKind(RATIO, 1.0, "the odds are {} times those predicted", "odds {}")
#: A factor of the rate of events.
RATE = CorrectionKind(RATIO, 1.0, "events come {} times as often as expected")
#: The coefficient of a change of shape, whose size says nothing to a reader.
SHAPED = CorrectionKind(UNIT_FREE, 0.0, "")


@dataclass(frozen=True)
class EffectKind:
    """How effects of one kind are named, and what more and less mean for the model.

    In all texts {} stands for what the effect is about: the class, the statement, the
    period, the columns of y.
    """

    name: str  #: In tables: "bias", "class {}".
    subject: str  #: What is wrong where cells disagree: "The mean is wrong".
    if_larger: str  #: Where all numbers are larger than predicted: "The mean is too low".
    if_smaller: str  #: Where all are smaller.
    larger: str  #: What the model is in a cell where the number is larger: "too low".
    smaller: str  #: What it is where the number is smaller.
    numbers: NumberFormat
    phrase: Phrase  #: Writes the number of a cell in a sentence.
    quantity: str  #: What grows or falls in a trend: "the median residual".
    axis: str  #: What an axis is called: "median residual (SD)".
    is_ratio: bool = False  #: Whether numbers are compared by their ratio.
    correction: CorrectionKind = SHAPED
    #: Whether a number larger than predicted means that data spread less, or lie lower.
    more_is_less: bool = False


def _bias(finding: Finding, label: str) -> str:
    way = "too low" if finding.estimate > finding.expected else "too high"
    return f"{IN_SD.size(finding.estimate, finding.expected, finding.interval)} {way}"


def _turn(larger: str, smaller: str) -> Phrase:
    """Return how a bias on a circle is written, in its unit: "1 h 40 min too early"."""

    def phrase(finding: Finding, label: str) -> str:
        size = finding.numbers["unit"].text(abs(finding.estimate))
        return f"{size} {larger if finding.estimate > finding.expected else smaller}"

    return phrase


def _ratio(finding: Finding) -> str:
    """Write a ratio without its unit."""
    decimals = RATIO.decimals(finding.estimate, finding.expected, finding.interval)
    return RATIO.bare(finding.estimate, decimals)


def _spread(finding: Finding, label: str) -> str:
    ratio = _ratio(finding)
    if finding.quantity == "sd":
        return f"residual SD is {ratio} times the predicted SD"
    return f"the middle half of the residuals is {ratio} times as wide as predicted"


def _skew(finding: Finding, label: str) -> str:
    above = finding.numbers.get("above")
    below = finding.numbers.get("below")
    if above is None or below is None:
        difference = SHARE_DIFFERENCE.pair(
            finding.estimate, finding.expected, finding.interval
        ).estimate
        return (
            "the share of rows above the 95% quantile less that below the 5% quantile is"
            f" {difference}"
        )
    return (
        f"{SHARE.pair(above, 0.05).estimate} of rows lie above the 95% quantile and"
        f" {SHARE.pair(below, 0.05).estimate} below the 5% quantile"
    )


def _tails(finding: Finding, label: str) -> str:
    interval = finding.label or label or "central"
    shares = SHARE.pair(finding.estimate, finding.expected, finding.interval)
    return (
        f"{shares.estimate} of rows lie outside the {interval} interval"
        f" ({shares.expected} predicted)"
    )


def _zeros(finding: Finding, label: str) -> str:
    shares = SHARE.pair(finding.estimate, finding.expected, finding.interval)
    return f"{shares.estimate} of rows are 0 ({shares.expected} predicted)"


def _class(finding: Finding, label: str) -> str:
    shares = SHARE.pair(finding.estimate, finding.expected, finding.interval)
    name = label or finding.label
    return f"{shares.estimate} of rows are {name} ({shares.expected} predicted)"


def _confidence(finding: Finding, label: str) -> str:
    shares = SHARE.pair(finding.estimate, finding.expected, finding.interval)
    return (
        f"the most probable class is right in {shares.estimate} of rows"
        f" ({shares.expected} predicted)"
    )


def _quantile(finding: Finding, label: str) -> str:
    name = percent_label(label or finding.label)
    share = SHARE.pair(finding.estimate, finding.expected, finding.interval).estimate
    return f"{share} of rows lie below the {name} quantile"


def _coverage(finding: Finding, label: str) -> str:
    name = percent_label(label or finding.label)
    share = SHARE.pair(finding.estimate, finding.expected, finding.interval).estimate
    return f"the {name} interval holds {share} of rows"


def _hazard(finding: Finding, label: str) -> str:
    ratio = _ratio(finding)
    words = f"{ratio} times the expected events"
    if "count" not in finding.numbers:
        return words
    mean = finding.numbers["mean"]
    expected = f"{mean:,.1f}" if mean >= 1 else f"{mean:.2g}"
    return f"{words} ({finding.numbers['count']:,} observed, {expected} expected)"


def _correlation(finding: Finding, label: str) -> str:
    values = UNIT_FREE.pair(finding.estimate, finding.expected, finding.interval)
    return (
        f"residuals of {finding.column} have correlation {values.estimate}"
        f" ({values.expected} predicted)"
    )


def _concentration(finding: Finding, label: str) -> str:
    values = UNIT_FREE.pair(finding.estimate, finding.expected, finding.interval)
    return (
        f"the mean resultant length of the residuals is {values.estimate}"
        f" ({values.expected} predicted)"
    )


def _outliers(finding: Finding, label: str) -> str:
    count = round(finding.estimate)
    verb = "lies" if count == 1 else "lie"
    n = finding.numbers.get("n")
    rows = f"{count:,} of {rows_text(n)}" if n else rows_text(count)
    return f"{rows} {verb} further out than any should"


def _atom(finding: Finding, label: str) -> str:
    shares = SHARE.pair(finding.estimate, finding.expected, finding.interval)
    value = label or finding.label
    return (
        f"{shares.estimate} of {finding.column} are exactly {value}"
        f" ({shares.expected} predicted)"
    )


#: The kinds of effects, by `Effect.kind`.
EFFECT_KINDS: dict[str, EffectKind] = {
    "bias": EffectKind(
        name="bias",
        subject="The mean{} is wrong",
        if_larger="The mean{} is too low",
        if_smaller="The mean{} is too high",
        larger="too low",
        smaller="too high",
        numbers=IN_SD,
        phrase=_bias,
        quantity="the bias",
        axis="bias (predicted SD)",
        correction=SHIFTED,
    ),
    "spread": EffectKind(
        name="spread",
        subject="The spread{} is wrong",
        if_larger="The spread{} is too narrow",
        if_smaller="The spread{} is too wide",
        larger="too narrow",
        smaller="too wide",
        numbers=RATIO,
        phrase=_spread,
        quantity="the spread of the residuals",
        axis="spread of residuals / predicted",
        is_ratio=True,
        correction=SCALED,
    ),
    "skew": EffectKind(
        name="skew",
        subject="The skewness{} is wrong",
        if_larger="The data{} are more skewed to the right than predicted",
        if_smaller="The data{} are more skewed to the left than predicted",
        larger="upper tail too light",
        smaller="lower tail too light",
        numbers=SHARE_DIFFERENCE,
        phrase=_skew,
        quantity="the share above the 95% quantile less that below the 5% quantile",
        axis="rows above the 95% quantile less rows below the 5% quantile",
    ),
    "tails": EffectKind(
        name="tails",
        subject="The tails{} are wrong",
        if_larger="The tails{} are too light",
        if_smaller="The tails{} are too heavy",
        larger="tails too light",
        smaller="tails too heavy",
        numbers=SHARE,
        phrase=_tails,
        quantity="the share of rows in the tails",
        axis="rows in the tails",
        is_ratio=True,
    ),
    "dispersion": EffectKind(
        name="dispersion",
        subject="The dispersion{} is wrong",
        if_larger="The counts{} are overdispersed",
        if_smaller="The counts{} are underdispersed",
        larger="too narrow",
        smaller="too wide",
        numbers=RATIO,
        phrase=_spread,
        quantity="the spread of the residuals",
        axis="spread of residuals / predicted",
        is_ratio=True,
        correction=SCALED,
    ),
    "zeros": EffectKind(
        name="zeros",
        subject="The probability of 0{} is wrong",
        if_larger="Too few zeros{} are predicted",
        if_smaller="Too many zeros{} are predicted",
        larger="too few zeros",
        smaller="too many zeros",
        numbers=SHARE,
        phrase=_zeros,
        quantity="the share of zeros",
        axis="share of zeros",
        correction=ODDS,
    ),
    "class": EffectKind(
        name="class{}",
        subject="The probability of{} is wrong",
        if_larger="The probability of{} is too low",
        if_smaller="The probability of{} is too high",
        larger="too low",
        smaller="too high",
        numbers=SHARE,
        phrase=_class,
        quantity="the share of{}",
        axis="share of{}",
        correction=ODDS,
    ),
    "confidence": EffectKind(
        name="confidence",
        subject="The confidence is wrong",
        if_larger="The model is underconfident",
        if_smaller="The model is overconfident",
        larger="underconfident",
        smaller="overconfident",
        numbers=SHARE,
        phrase=_confidence,
        quantity="the share of rows in which the most probable class is right",
        axis="share of correct classes",
        more_is_less=True,
        correction=ODDS,
    ),
    "quantile": EffectKind(
        name="{} quantile",
        subject="The{} quantile is wrong",
        if_larger="The{} quantile is too high",
        if_smaller="The{} quantile is too low",
        larger="too high",
        smaller="too low",
        numbers=SHARE,
        phrase=_quantile,
        quantity="the share of rows below the{} quantile",
        axis="rows below the{} quantile",
        more_is_less=True,
        correction=ODDS,
    ),
    "coverage": EffectKind(
        name="{} coverage",
        subject="The{} intervals are wrong",
        if_larger="The{} intervals are too wide",
        if_smaller="The{} intervals are too narrow",
        larger="too wide",
        smaller="too narrow",
        numbers=SHARE,
        phrase=_coverage,
        quantity="the coverage of the{} intervals",
        axis="rows inside the{} interval",
        more_is_less=True,
        correction=ODDS,
    ),
    "hazard": EffectKind(
        name="{} hazard",
        subject="The{} hazard{when} is wrong",
        if_larger="The{} hazard{when} is too low",
        if_smaller="The{} hazard{when} is too high",
        larger="too low",
        smaller="too high",
        numbers=RATIO,
        phrase=_hazard,
        quantity="the number of events over that expected",
        axis="observed / expected events",
        is_ratio=True,
        correction=RATE,
    ),
    "correlation": EffectKind(
        name="correlation{}",
        subject="The correlation{} is wrong",
        if_larger="The correlation{} is too low",
        if_smaller="The correlation{} is too high",
        larger="too low",
        smaller="too high",
        numbers=UNIT_FREE,
        phrase=_correlation,
        quantity="the correlation of the residuals",
        axis="correlation of residuals",
    ),
    "direction": EffectKind(
        name="bias of the direction",
        subject="The predicted direction{} is wrong",
        if_larger="The predicted direction{} is too small",
        if_smaller="The predicted direction{} is too large",
        larger="too small",
        smaller="too large",
        numbers=IN_DEGREES,
        phrase=_turn("too small", "too large"),
        quantity="the bias",
        axis="bias (degrees)",
    ),
    "time": EffectKind(
        name="bias of the time",
        subject="The predicted time{} is wrong",
        if_larger="The predicted time{} is too early",
        if_smaller="The predicted time{} is too late",
        larger="too early",
        smaller="too late",
        numbers=IN_HOURS,
        phrase=_turn("too early", "too late"),
        quantity="the bias",
        axis="bias (hours)",
    ),
    "angle": EffectKind(
        name="bias",
        subject="The prediction{} is wrong",
        if_larger="The prediction{} is too small",
        if_smaller="The prediction{} is too large",
        larger="too small",
        smaller="too large",
        numbers=IN_UNIT_OF_Y,
        phrase=_turn("too small", "too large"),
        quantity="the bias",
        axis="bias (unit of y)",
    ),
    "concentration": EffectKind(
        name="concentration",
        subject="The concentration{} is wrong",
        if_larger="The concentration{} is too low",
        if_smaller="The concentration{} is too high",
        larger="too wide",
        smaller="too narrow",
        numbers=UNIT_FREE,
        phrase=_concentration,
        quantity="the mean resultant length of the residuals",
        axis="mean resultant length",
        more_is_less=True,
    ),
    "outliers": EffectKind(
        name="outliers",
        subject="There are outliers{}",
        if_larger="There are outliers{}",
        if_smaller="There are fewer outliers{} than predicted",
        larger="outliers",
        smaller="too few outliers",
        numbers=COUNT,
        phrase=_outliers,
        quantity="the number of outliers",
        axis="outliers",
    ),
    "atom": EffectKind(
        name="atom{}",
        subject="The probability of exactly{} is wrong",
        if_larger="The value{} comes more often than predicted",
        if_smaller="The value{} comes less often than predicted",
        larger="too rare",
        smaller="too frequent",
        numbers=SHARE,
        phrase=_atom,
        quantity="the share of rows that are exactly{}",
        axis="rows that are exactly{}",
    ),
}
#: Kinds whose texts name the class, the statement, the period or the value.
LABELLED = ("class", "quantile", "coverage", "hazard", "atom")


def _about(effect: Effect) -> str:
    """Return what stands for {} in the texts of the effect's kind, after a space."""
    if effect.kind in LABELLED:
        label = effect.label
        if effect.kind == "hazard":
            label = PERIODS.get(label, label)
        if effect.kind in ("quantile", "coverage"):
            label = percent_label(label)
        return f" {label}" if label else ""
    if effect.kind == "correlation":
        return f" of {effect.column}"
    several = any(cell.finding.numbers.get("several") for cell in effect.cells)
    return f" of {effect.column}" if several else ""


def _filled(text: str, effect: Effect) -> str:
    """Put what the effect is about into a text of its kind."""
    return text.replace("{}", _about(effect)).replace("{when}", _when(effect)).strip()


def _when(effect: Effect) -> str:
    """Return the times of a period, in the unit of y and after a space: " (week > 37)"."""
    if effect.kind != "hazard" or not effect.label:
        return ""
    return f" ({effect.cells[0].finding.numbers['place']})"


def effect_kind(effect: Effect) -> EffectKind:
    """Return how effects of this kind are written; a kind without an entry raises."""
    return EFFECT_KINDS[effect.kind]


def effect_name(effect: Effect) -> str:
    """Name an effect in a few words: "bias by hr × workingday", "spread overall"."""
    kind = _filled(effect_kind(effect).name, effect)
    if effect.kind not in (*LABELLED, "correlation"):
        kind += _about(effect)
    if not effect.columns:
        return f"{kind} overall"
    return f"{kind} by {' × '.join(effect.columns)}"


def axis_name(effect: Effect) -> str:
    """Name the number of an effect on an axis, with its unit."""
    return _filled(effect_kind(effect).axis, effect)


def deviation(effect: Effect, value: float, expected: float) -> float:
    """Return how far a number is from the prediction: a difference, or a log ratio."""
    if not effect_kind(effect).is_ratio:
        return value - expected
    return math.log(max(value, LEAST_RATIO) / max(expected, LEAST_RATIO))


def _certain(effect: Effect, cell: EffectCell, side: int) -> tuple[int, float]:
    """Return by what cells are ordered, the one furthest above (side 1) or below (−1) last.

    A cell that is certainly beyond the prediction comes after all others, by the end of its
    interval that is nearer to the prediction: that of a small cell is near, however far its
    estimate is off. Where none is certain, corrections decide, which are shrunk, the more
    the fewer rows a cell has; cells of few rows come first, and so do those whose own
    number is on the other side.
    """
    correction = side * _correction_size(effect, cell)
    if effect.given_before:
        return (1, correction) if cell.n >= LEAST_ROWS_OF_END else (0, correction)
    finding = cell.finding
    low, high = finding.interval
    nearer_end = side * deviation(effect, low if side > 0 else high, finding.expected)
    if nearer_end > 0.0:
        return 2, nearer_end
    estimate = side * deviation(effect, finding.estimate, finding.expected)
    if cell.n >= LEAST_ROWS_OF_END and estimate > 0.0:
        return 1, correction
    return 0, estimate


def _correction_size(effect: Effect, cell: EffectCell) -> float:
    """Return how far the correction of a cell is from none, as `deviation` does."""
    neutral = effect_kind(effect).correction.neutral
    if neutral == 0.0:
        return cell.correction
    return math.log(max(cell.correction, LEAST_RATIO) / neutral)


def is_larger(effect: Effect, cell: EffectCell) -> bool:
    """Whether the number of a cell is larger than predicted, as the effect has it."""
    if effect.given_before:
        return _correction_size(effect, cell) > 0.0
    return cell.finding.estimate > cell.finding.expected


def extreme_cells(effect: Effect) -> tuple[EffectCell, EffectCell]:
    """Return the cells that are certainly lowest and highest, beside the prediction."""
    low = max(effect.cells, key=lambda cell: _certain(effect, cell, -1))
    high = max(effect.cells, key=lambda cell: _certain(effect, cell, 1))
    return low, high


def worst_cell(effect: Effect) -> EffectCell:
    """Return the cell that is certainly furthest from what the model predicts."""
    low, high = extreme_cells(effect)
    is_low = _certain(effect, low, -1) > _certain(effect, high, 1)
    return low if is_low else high


def _direction(effect: Effect) -> int:
    """Return 1 or −1 where all numbers that differ certainly differ in one way, else 0.

    Where none differs certainly, all numbers count, and of a trend both ends always do; of
    corrections, those of at least half the largest one.
    """
    if effect.given_before:
        sizes = [_correction_size(effect, cell) for cell in effect.cells]
        largest = max(map(abs, sizes))
        differences = [size for size in sizes if abs(size) >= 0.5 * largest]
    else:
        findings = [cell.finding for cell in effect.cells]
        certain = [finding for finding in findings if finding.telling] or findings
        if effect.trend:
            certain = [*certain, *(cell.finding for cell in effect_ends(effect))]
        differences = [finding.estimate - finding.expected for finding in certain]
    signs = {int(one > 0.0) - int(one < 0.0) for one in differences}
    return signs.pop() if len(signs) == 1 else 0


def effect_subject(effect: Effect) -> str:
    """Say what is wrong in a short sentence: "The mean is wrong"."""
    kind = effect_kind(effect)
    text = {1: kind.if_larger, -1: kind.if_smaller, 0: kind.subject}[_direction(effect)]
    return _filled(text, effect)


def cell_direction(effect: Effect, cell: EffectCell) -> str:
    """Say what the model is in a cell: "too high"."""
    kind = effect_kind(effect)
    return kind.larger if is_larger(effect, cell) else kind.smaller


def _place(effect: Effect, cell: EffectCell) -> str:
    """Say how wrong a cell is, where it is, and how many rows it has."""
    number = _phrase(effect, cell)
    if not cell.conditions:
        return number
    if _is_everywhere(effect):
        return f"most where {cell.words} ({rows_text(cell.n)}), {number}"
    return f"{number} where {cell.words} ({rows_text(cell.n)})"


def _phrase(effect: Effect, cell: EffectCell) -> str:
    """Write the number of a cell in the middle of a sentence."""
    if not effect.given_before:
        return effect_kind(effect).phrase(cell.finding, effect.label)
    correction = effect_kind(effect).correction
    if not correction.words:
        return cell_direction(effect, cell)
    text = _correction_number(correction, cell)
    if correction is not SHIFTED:
        text = text.removesuffix(correction.numbers.unit)
    return correction.words.format(text)


def _correction_number(correction: CorrectionKind, cell: EffectCell) -> str:
    """Write the correction of a cell with its unit."""
    decimals = correction.numbers.decimals(cell.correction, correction.neutral)
    return correction.numbers.text(cell.correction, decimals)


def _is_everywhere(effect: Effect) -> bool:
    """Whether all cells certainly differ from the prediction, in the same way."""
    if effect.given_before:  # corrections have no intervals
        return False
    return bool(_direction(effect)) and all(cell.finding.telling for cell in effect.cells)


def _by(effect: Effect) -> str:
    """Say which columns an effect depends on: " by hr and workingday", " everywhere"."""
    if not effect.columns:
        return " everywhere"
    if effect.trend:
        return f" along {effect.columns[0]}"
    columns = " and ".join(effect.columns)
    if _is_everywhere(effect):
        return f" everywhere, and depends on {columns}"
    return f", depending on {columns}" if _direction(effect) else f" by {columns}"


class EffectRange(NamedTuple):
    """The ends of an effect as texts."""

    first: str
    last: str


def _pair(effect: Effect, cell: EffectCell) -> NumberPair:
    """Write the number of a cell and its prediction."""
    finding = cell.finding
    numbers = effect_kind(effect).numbers
    return numbers.pair(finding.estimate, finding.expected, finding.interval)


#: Kinds whose prediction differs from cell to cell, so that tables show it.
COMPARED = ("class", "confidence", "zeros", "atom", "correlation", "concentration")


def cell_text(effect: Effect, cell: EffectCell) -> str:
    """Write the number of a cell; beside its prediction, where that varies."""
    if effect.given_before:
        return _correction_text(effect, cell)
    pair = _pair(effect, cell)
    if effect.kind in COMPARED:
        return f"{pair.estimate} vs {pair.expected}"
    return pair.estimate


def _correction_text(effect: Effect, cell: EffectCell) -> str:
    """Write the correction of a cell in a table, marked as one."""
    correction = effect_kind(effect).correction
    if not correction.words:
        return f"{cell_direction(effect, cell)}{CORRECTION_MARK}"
    number = correction.table.format(_correction_number(correction, cell))
    return f"{number}{CORRECTION_MARK}"


def effect_ends(effect: Effect) -> tuple[EffectCell, EffectCell]:
    """Return the cells that an effect goes from and to.

    Of a trend these are the first and the last along its column, or the thirds at either
    end if those hardly show it; else those that are certainly lowest and highest.
    """
    if effect.thirds:
        return effect.thirds[0], effect.thirds[-1]
    if effect.trend:
        return effect.cells[0], effect.cells[-1]
    return extreme_cells(effect)


def effect_range(effect: Effect) -> EffectRange:
    """Write from where to where an effect goes: "−2.2 SD", "+1.2 SD"."""
    first, last = effect_ends(effect)
    if first is last:
        return EffectRange(cell_text(effect, first), "")
    return EffectRange(cell_text(effect, first), cell_text(effect, last))


def _trend_words(effect: Effect) -> str:
    """Write "the bias grows from −0.4 SD where … to +0.6 SD where …"."""
    first, last = effect_ends(effect)
    if effect.given_before:
        before = _correction_size(effect, first)
        after = _correction_size(effect, last)
    else:
        before = deviation(effect, first.finding.estimate, first.finding.expected)
        after = deviation(effect, last.finding.estimate, last.finding.expected)
    verb = "grows" if after > before else "falls"
    if effect.kind in COMPARED:  # the number may grow while it falls behind the prediction
        verb = "goes"
    quantity = _filled(effect_kind(effect).quantity, effect)
    return (
        f"{quantity} {verb} from {_trend_end(effect, first)} to {_trend_end(effect, last)}"
    )


def _trend_end(effect: Effect, cell: EffectCell) -> str:
    """Write one end of a trend: its number, the prediction, where it is, its rows."""
    rows = rows_text(cell.n)
    if effect.given_before:
        number = _correction_text(effect, cell).removesuffix(CORRECTION_MARK)
        return f"{number} where {cell.words} ({rows})"
    pair = _pair(effect, cell)
    if effect.kind in COMPARED:
        rows = f"{pair.expected} predicted, {rows}"
    return f"{pair.estimate} where {cell.words} ({rows})"


def worst_words(effect: Effect) -> str:
    """Say where an effect is worst, with its number and rows; of a trend, how it goes."""
    if effect.trend and len(effect.cells) > 1:
        return _trend_words(effect)
    return _place(effect, worst_cell(effect))


def effect_in_short(effect: Effect) -> str:
    """Say what is wrong by which columns: "The mean is wrong by hr and workingday"."""
    return f"{effect_subject(effect)}{_by(effect)}{_condition(effect)}"


def effect_headline(effect: Effect) -> str:
    """Say what is wrong by which columns, and where most, without a full stop."""
    return f"{effect_in_short(effect)}: {worst_words(effect)}"


def _condition(effect: Effect) -> str:
    """Say what has to be corrected for an effect to show, where something has to be."""
    return ", once the effects before it are corrected" if effect.given_before else ""


def effect_sentence(effect: Effect) -> str:
    """Write an effect as a sentence: what is wrong, where most, and where the other way."""
    if not effect.columns:
        return f"Everywhere{_condition(effect)}: {worst_words(effect)}."
    words = effect_headline(effect)
    opposite = _opposite_cell(effect)
    if opposite is not None:
        words += f"; {_place(effect, opposite)}"
    return f"{words}."


def _opposite_cell(effect: Effect) -> EffectCell | None:
    """Return the worst cell on the other side of the prediction than the worst of all."""
    if effect.trend:
        return None
    worst = worst_cell(effect)
    low, high = extreme_cells(effect)
    other = high if worst is low else low
    differs = is_larger(effect, worst) != is_larger(effect, other)
    if effect.given_before:
        sizes = [abs(_correction_size(effect, cell)) for cell in (other, worst)]
        return other if differs and sizes[0] >= 0.5 * sizes[1] else None
    return other if differs and other.finding.telling else None
