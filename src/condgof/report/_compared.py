"""The pages of comparisons and rankings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from condgof.check import SCORES, Comparison, Ranking, Role, Score
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report._chart import draw
from condgof.report._figure import figure
from condgof.report._folds import folded
from condgof.report._forest import intervals
from condgof.report._notebook import records_table
from condgof.report._page import page
from condgof.report._results import LOOKS, again, facts_line
from condgof.report._text import minus, section, shorten, table
from condgof.report._verdict import Message, Number
from condgof.result import (
    EstimateText,
    estimate_text,
    number,
    pvalue_number,
    pvalue_words,
)


class Compared(NamedTuple):
    """A difference of two models, over some rows."""

    name: str
    difference: float
    interval: c.Ends

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite([self.difference, *self.interval]).all())


def compared_chart(result: Comparison | Ranking) -> c.Chart | None:
    """Draw the difference over all rows and in slices; or of models to the first."""
    if isinstance(result, Ranking):
        parts = _ranked(result)
        title = f"how much worse than {result.names[0]}, by {result.name}"
        axis = "worse →"
    else:
        parts = _compared(result)
        first, second = result.names
        score = result.score
        title = f"{score.name} of {first} less that of {second} ({score.better} is better)"
        left, right = (second, first) if score.better == "higher" else (first, second)
        axis = f"← {left} better · {right} better →"
    shown = [part for part in parts if part.is_finite]
    if not shown:
        return None
    numbers = [[part.difference, *part.interval, 0.0] for part in shown]
    return intervals(
        axis=axis,
        names=[part.name for part in shown],
        numbers=np.array(numbers),
        wide=860,
        # The line at 0 would cross names at the left.
        names_at_intervals=True,
        title=shorten(title, 120),
    )


def _ranked(result: Ranking) -> list[Compared]:
    """Return how much worse each model is than the first."""
    first = result.names[0]
    sign = -1.0 if result.better == "higher" else 1.0
    errors = {
        frozenset((pair.better, pair.worse)): pair.standard_error for pair in result.pairs
    }
    parts = []
    for name, mean in zip(result.names[1:], result.means[1:], strict=True):
        difference = sign * (mean - result.means[0])
        half = 1.96 * errors[frozenset((first, name))]
        parts.append(Compared(name, difference, (difference - half, difference + half)))
    return parts


def _compared(result: Comparison) -> list[Compared]:
    """Return the difference over all rows, and in each slice."""
    parts = [Compared(f"all {result.n:,} rows", result.difference, result.interval)]
    for part in result.slices:
        lead = part.findings[0]
        certain = pvalue_words(part.pvalue, part.pvalue_floor)
        name = f"{part.words} · {part.n:,} rows, {certain}"
        parts.append(Compared(name, lead.estimate, lead.interval))
    return parts


def plot_compared(result: Comparison | Ranking, ax: object = None) -> Any:
    """Draw a comparison with matplotlib; see `Comparison.plot`."""
    chart = compared_chart(result)
    if chart is None:
        raise InputError("The difference is infinite: there is nothing to draw.")
    return draw(chart, ax)


def compared_page(
    result: Comparison | Ranking, *, title: str | None = None, command: str | None = None
) -> str:
    """Return the page of a comparison or a ranking."""
    names = f"{len(result.names)} models"
    if isinstance(result, Comparison):
        names = " and ".join(result.names)
    heading = title or names
    facts = [] if title is None else [names]
    chart = compared_chart(result)
    drawn = "" if chart is None else figure(chart, "difference")
    message = _message(result)
    body = message.html() + section("By how much", "difference-all", drawn, _means(result))
    if isinstance(result, Ranking):
        body += section("Pairs", "pairs", _pairs(result))
    body += folded(again(command))
    plain = result.to_dict()
    plain.pop("null_distribution", None)
    return page(
        heading=heading,
        below=facts_line(*facts, f"{result.n:,} rows"),
        tab=f"{message.verdict} · {heading}",
        body=body,
        machine=plain,
    )


def _means(result: Comparison | Ranking) -> str:
    """Return the means of each model, and of a comparison their difference."""
    caption = "Means over all rows"
    if isinstance(result, Ranking):
        return records_table(caption, result.records())
    texts = [_difference_text(score) for score in result.measures]
    first, second = result.names
    rows: list[list[str]] = [
        ["better", *(score.better for score in result.measures)],
        [first, *(number(score.means[0], 4) for score in result.measures)],
        [second, *(number(score.means[1], 4) for score in result.measures)],
        [f"{first} − {second}", *(text.estimate for text in texts)],
        ["95% interval", *(text.interval for text in texts)],
        ["p", *(pvalue_number(score.pvalue) for score in result.measures)],
    ]
    return table(caption, ["", *(score.name for score in result.measures)], rows)


def _difference_text(score: Score) -> EstimateText:
    """Return a difference and its interval as text; an infinite one has no interval."""
    if not np.isfinite(score.difference):
        return EstimateText(number(score.difference), "–")
    text = estimate_text(score.difference, *score.interval)
    return EstimateText(minus(text.estimate), minus(text.interval))


def _pairs(result: Ranking) -> str:
    """Return the differences of all pairs of models, the most significant first."""
    caption = f"All pairs, by {result.name}; p-values are corrected for their number"
    rows = [
        [
            f"{pair.better} · {pair.worse}",
            number(pair.difference, 3),
            pvalue_number(pair.pvalue),
        ]
        for pair in result.pairs
    ]
    return table(caption, ["pair, the better first", "difference", "p"], rows)


def _message(result: Comparison | Ranking) -> Message:
    """Return the verdict, by how much one model is better, and notes."""
    is_decided = _is_decided(result)
    role = Role.GOOD if is_decided else Role.WEAK
    words = minus(result.words)
    place = ""
    numbers: list[Number] = []
    if isinstance(result, Comparison) and np.isfinite(result.difference):
        words, place, numbers = _difference(result, is_decided=is_decided)
    return Message(
        role=role,
        look=LOOKS[role],
        verdict="One predicts better" if is_decided else "No difference found",
        words=words,
        place=place,
        numbers=numbers,
        notes=result.details.get("notes", ()),
    )


class Difference(NamedTuple):
    """How two models differ, in words and numbers."""

    words: str
    place: str
    numbers: list[Number]


def _difference(result: Comparison, *, is_decided: bool) -> Difference:
    """Return which of two models is better, where that is another, and by how much."""
    verb = SCORES[result.measure].verb
    better = result.better or result.names[0]
    worse = next(name for name in result.names if name != better)
    words = f"No evidence that {better} or {worse} {verb}s better."
    if is_decided:
        words = f"{better} {verb}s better than {worse}."
    where = [f"Where {one.words}: {one.findings[0].words}." for one in result.slices]
    infinite = [one for one in result.measures if any(one.infinite)]
    if infinite:  # why, in sentences
        where.insert(0, result.verdict)
    sign = result.score.sign or 1.0
    numbers = []
    for k, score in enumerate(result.measures):
        if not np.isfinite(score.difference):
            continue
        amount, way, span = score.lead(sign)
        p = pvalue_words(score.pvalue)
        meaning = (
            f"The mean {score.name} of {better} less that of {worse}, with its 95%"
            f" interval; {score.better} is better. The p-value is of no difference."
        )
        interval = f"[{minus(span.replace(' to ', ', '))}], {p}"
        whose = "" if is_decided else f" of {better}"
        text = f"{score.name}{whose} {amount} {way}{SCORES[score.key].unit}"
        numbers.append(Number(f"why-score-{k}", text, interval, meaning))
    return Difference(words, minus(" ".join(where)), numbers)


def _is_decided(result: Comparison | Ranking) -> bool:
    """Whether some model is better than another at the level of the comparison."""
    if isinstance(result, Ranking):
        return any(pair.pvalue <= result.alpha for pair in result.pairs)
    return result.reject(result.alpha)
