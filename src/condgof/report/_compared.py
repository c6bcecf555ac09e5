"""Comparisons and rankings of models: the card of a notebook, the page, the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condgof.check._comparison import Comparison, Ranking
from condgof.check._numbers import sized
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report._binned import sides
from condgof.report._cards import box, lines
from condgof.report._chart import Chart
from condgof.report._escape import shorten, visible
from condgof.report._html import bullets, paragraph, table
from condgof.report._page import page
from condgof.report._pen_pyplot import draw
from condgof.report._sections import section
from condgof.report._where import code, figure
from condgof.result import pvalue_number, pvalue_words


def compared_card(found: Comparison | Ranking) -> str:
    """Return the words, and a line for each measure of a comparison, or each model of a ranking."""
    if isinstance(found, Ranking):
        best = found.best()
        listed = [
            (name, f"{mean:.5g}{', may be the best' if name in best else ''}")
            for name, mean in zip(found.names, found.means, strict=True)
        ]
        return box(found.words, lines([*listed, ("rows", f"{found.n:,}")]), len(best) < len(found.names))
    rows = [
        (s.name, f"difference {' ('.join(sized(s.difference, *s.interval))}), {pvalue_words(s.pvalue)}")
        for s in found.measures
    ]
    rows.append(("rows", f"{found.n:,}"))
    rows += [("where", f"{one.words}: {one.findings[0].words}") for one in found.slices]
    rows += [("note", str(note)) for note in found.details.get("notes", ())]
    return box(found.verdict, lines(rows), found.reject(found.alpha))


def comparison_chart(found: Comparison) -> Chart | None:
    """Draw the difference of the measure of the verdict, over all rows and in slices."""
    parts = [(f"all {found.n:,} rows", found.difference, found.interval)]
    for s in found.slices:
        label = f"{shorten(s.words, 60)} · {s.n:,} rows"
        parts.append((label, s.findings[0].estimate, s.findings[0].interval))
    p, q = found.names
    name = f"{found.score.name} of {p} less that of {q} ({found.score.better} is better)"
    left, right = (q, p) if found.score.better == "higher" else (p, q)
    return _forest(parts, name, f"← {left} better · {right} better →", found.words)


def ranking_chart(found: Ranking) -> Chart | None:
    """Draw how much worse each model is than the first."""
    first, sign = found.names[0], -1.0 if found.better == "higher" else 1.0
    pairs = {frozenset((one.better, one.worse)): one for one in found.pairs}
    parts = []
    for name, mean in zip(found.names[1:], found.means[1:], strict=True):
        one, apart = pairs[frozenset((first, name))], sign * (mean - found.means[0])
        reach = 1.96 * one.standard_error
        parts.append((shorten(name, 60), apart, (apart - reach, apart + reach)))
    return _forest(parts, f"how much worse than {first}, by {found.name}", "worse →", found.words)


def _forest(
    parts: Sequence[tuple[str, float, tuple[float, float]]], name: str, axis: str, words: str
) -> Chart | None:
    """Draw estimates with intervals, one under the other."""
    shown = [part for part in parts[::-1] if np.isfinite([part[1], *part[2]]).all()]
    if not shown:
        return None
    at, estimate = np.arange(len(shown)) * 1.0, np.array([part[1] for part in shown])
    low, high = np.array([part[2] for part in shown]).T
    kinds, spans = sides(low, high, np.zeros(len(low))), c.spans(low, high)
    ends = c.robust_ends(np.append(low, high), [0.0, *estimate], 0.06)
    tips = tuple(f"{part[0]}: {span}" for part, span in zip(shown, spans, strict=True))
    marks: list[c.Mark] = [c.Rule(0.0, False, dashed=True)]
    marks.append(c.Intervals(at, estimate, low, high, kinds, True, 8.0, tips))
    marks += [c.Text(ends[0], float(i), part[0], "start", 11.0) for i, part in enumerate(shown)]
    numbers = c.table({"where": [part[0] for part in shown], "difference": estimate, "interval": spans})
    scale = c.Scale("", (-0.5, len(shown) - 0.3))
    size = (860, 60 + 44 * len(shown))
    return Chart(
        shorten(name, 120), words, c.numeric(axis, ends), scale, tuple(marks), numbers, (), size
    )


def plot_compared(found: Comparison | Ranking, ax: Any = None) -> Any:
    """Draw a comparison or a ranking with matplotlib; see their `plot`."""
    chart = ranking_chart(found) if isinstance(found, Ranking) else comparison_chart(found)
    if chart is None:
        raise InputError("The difference is infinite: there is nothing to draw.")
    return draw(chart, ax)


def compared_page(found: Comparison | Ranking, command: str | None = None) -> str:
    """Write the report of a comparison or a ranking."""
    heading, body, chart = _ranking(found) if isinstance(found, Ranking) else _comparison(found)
    drawn = "" if chart is None else figure(chart, "difference")
    notes = bullets(visible(note) for note in found.details.get("notes", ()))
    again = f"<p>To get this page again:</p>{code(command)}" if command else ""
    verdict = paragraph(getattr(found, "verdict", found.words))
    whole = section("Which predicts better", "verdict", verdict, drawn, body, notes, again)
    plain = found.to_dict()
    plain.pop("null_distribution", None)
    return page(heading, f"{found.n:,} rows", f"Comparison · {heading}", whole, plain)


def _comparison(found: Comparison) -> tuple[str, str, Chart | None]:
    """Return heading, tables (each measure, and where) and picture of a comparison."""
    p, q = found.names
    rows = [
        (f"{s.name} ({s.better} is better)", f"{s.means[0]:.5g}", f"{s.means[1]:.5g}",
         *sized(s.difference, *s.interval), pvalue_number(s.pvalue))
        for s in found.measures
    ]  # fmt: skip
    header = ["measure", p, q, f"{p} less {q}", "95% interval", "p"]
    body = table("Means over all rows", header, rows, numeric=(1, 2, 3, 4, 5))
    where = [
        (s.words, f"{s.n:,}", s.findings[0].words, pvalue_number(s.pvalue, s.pvalue_floor))
        for s in found.slices
    ]
    if where:
        heads = ["where", "rows", "", "p, corrected for the search"]
        body += table("Where the difference is another", heads, where, numeric=(1, 3))
    return f"{p} and {q}", body, comparison_chart(found)


def _ranking(found: Ranking) -> tuple[str, str, Chart | None]:
    """Return heading, tables (the models, and all pairs) and picture of a ranking."""
    best = found.best()
    rows = [
        (name, f"{mean:.5g}", *(f"{own[i]:.5g}" for own in found.others.values()),
         "yes" if name in best else "no")
        for i, (name, mean) in enumerate(zip(found.names, found.means, strict=True))
    ]  # fmt: skip
    header = ["model", f"{found.name} ({found.better} is better)", *found.others, "may be the best"]
    numeric = tuple(range(1, 2 + len(found.others)))
    body = table("Means over all rows", header, rows, numeric=numeric)
    pairs = [(f"{o.better} against {o.worse}", f"{o.difference:.4g}", pvalue_number(o.pvalue))
             for o in found.pairs]  # fmt: skip
    body += table("All pairs", ["better against worse", "by", "p, corrected for all pairs"], pairs,
                  numeric=(1, 2))  # fmt: skip
    return f"{len(found.names)} models", body, ranking_chart(found)
