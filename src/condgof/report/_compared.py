"""The pages of comparisons, rankings, tests and monitors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from condgof.check import Comparison, Ranking, Role
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report._chart import draw
from condgof.report._figure import figure
from condgof.report._folds import folded
from condgof.report._forest import intervals
from condgof.report._notebook import records_table
from condgof.report._page import page
from condgof.report._text import code, html, minus, paragraph, section, shorten
from condgof.report._verdict import SIGNS
from condgof.result import pvalue_words


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


def compared_page(result: Comparison | Ranking, command: str | None = None) -> str:
    """Return the page of a comparison or a ranking."""
    heading = " and ".join(result.names)
    if isinstance(result, Ranking):
        heading = f"{len(result.names)} models"
    chart = compared_chart(result)
    drawn = "" if chart is None else figure(chart, "difference")
    means = records_table("Means over all rows", result.records())
    body = _message(result) + section("By how much", "difference-all", drawn, means)
    if isinstance(result, Ranking):
        shown = ("better", "worse", "difference", "pvalue")
        pairs = [{name: getattr(pair, name) for name in shown} for pair in result.pairs]
        caption = "All pairs; p-values are corrected for their number"
        body += section("Pairs", "pairs", records_table(caption, pairs))
    body += folded([("How to run it again", "again", code(command))]) if command else ""
    plain = result.to_dict()
    plain.pop("null_distribution", None)
    return page(
        heading=heading,
        below=f"{result.n:,} rows",
        tab=f"Comparison · {heading}",
        body=body,
        machine=plain,
    )


def _message(result: Comparison | Ranking) -> str:
    """Return the verdict, and notes."""
    is_decided = _is_decided(result)
    verdict = "One predicts better" if is_decided else "No difference found"
    sign = SIGNS[Role.GOOD if is_decided else Role.WEAK]
    notes = "".join(f"<li>{html(note)}</li>" for note in result.details.get("notes", ()))
    return (
        f'<section class="message {"good" if is_decided else "weak"}"'
        ' aria-labelledby="verdict"><h2 id="verdict"><svg viewBox="0 0 24 24"'
        f' aria-hidden="true" focusable="false">{sign}</svg>{verdict}</h2>'
        f"{paragraph(minus(result.words), 'words long')}"
        + (f'<ul class="notes" aria-label="Notes">{notes}</ul>' if notes else "")
        + "</section>"
    )


def _is_decided(result: Comparison | Ranking) -> bool:
    """Whether some model is better than another at the level of the comparison."""
    if isinstance(result, Ranking):
        return any(pair.pvalue <= result.alpha for pair in result.pairs)
    return result.reject(result.alpha)
