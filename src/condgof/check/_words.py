"""The message: what is wrong, in a sentence or two that whoever reads it can check."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from condgof.check._findings import direction, distance, said
from condgof.check._record import Finding, Power, Slice

#: What a finding is about, as the subject of a sentence.
SUBJECTS = {
    "shift": "The centre is wrong",
    "spread": "The spread is wrong",
    "coverage": "The intervals are wrong",
    "tails": "The tails are wrong",
    "skew": "The shape is wrong",
    "correlation": "The dependence between columns of y is wrong",
    "confidence": "The confidence is wrong",
    "class": "The class probabilities are wrong",
    "zeros": "The number of zeros is wrong",
    "quantile": "The quantiles are wrong",
    "events": "The hazard is wrong",
}
#: Of all rows these are other numbers of the same thing.
ROBUST = ("shift", "spread", "tails")
#: At most so many slices are in the message.
TOLD = 3


def message(
    rejected: bool,
    overall: Sequence[Finding],
    slices: Sequence[Slice],
    everywhere: Finding | None,
    power: Power,
    groups: Sequence[Slice] = (),
    of: int = 0,
) -> str:
    """Say what is wrong, or what would have been found.

    `everywhere` is what all rows have in common; `groups` are those that are wrong, of so many.
    """
    columns = {finding.column for finding in overall if finding.kind != "correlation"}
    brief = partial(_brief, several=len(columns) > 1)
    if not rejected and groups:
        parts = ", ".join(brief(one.findings[0], one.words) for one in groups[:TOLD])
        where = f"{len(groups):,} of {of:,} groups" if of > 1 else "the slice that you named"
        return f"Over all rows nothing speaks against the model. It is wrong in {where}: {parts}."
    if not rejected:
        return f"Nothing speaks against the model. {power.words}"
    told, sentences = (slices or groups)[:TOLD], []
    if everywhere is not None:
        everywhere = _same(everywhere, overall)
        sentences.append(f"{SUBJECTS[everywhere.kind]} in all rows: {brief(everywhere)}")
    for kind in dict.fromkeys(one.kind for one in told):
        parts = ", ".join(brief(one.findings[0], one.words) for one in told if one.kind == kind)
        if everywhere is not None and kind == everywhere.kind:
            worse = {one.direction for one in told if one.kind == kind} == {direction(everywhere)}
            sentences[0] += f"; {'above all' if worse else 'and'} {parts}"
        else:
            sentences.append(f"{SUBJECTS[kind]}: {parts}")
    sentences = [f"{sentence}." for sentence in sentences]
    if sentences:
        return " ".join(sentences[:2])
    known = [finding for finding in overall if finding.kind in SUBJECTS]
    first = max(known, key=distance, default=None)
    if first is None or not first.telling:
        # Single rows, or else what comes nearest to being certain.
        first = next((finding for finding in overall if finding.kind == "wild"), first)
        nearest = f" What differs most, of all rows: {first.words}." if first else ""
        return f"The model is wrong, and no column or pair of columns tells where.{nearest}"
    subject = f"{SUBJECTS[first.kind]} in all rows: {brief(first)}."
    return f"{subject} No part of x stands out by itself."


def _same(finding: Finding, overall: Sequence[Finding]) -> Finding:
    """Return the number that is said of all rows in the place of one like it, if it holds too."""
    alike = (f for f in overall if (f.kind, f.column) == (finding.kind, finding.column) and f.telling)
    ways = (f for f in alike if direction(f) == direction(finding))
    return next((f for f in ways if f.label == finding.label or f.kind in ROBUST), finding)


def _brief(finding: Finding, where: str = "", several: bool = False) -> str:
    """Say what is wrong in a few words, with the number in brackets, where, and in which column of y."""
    value, expected = said(finding.estimate), said(finding.expected)
    of = f"the {finding.label} " if finding.label else ""
    number = {
        "shift": f"{of}by {said(abs(finding.estimate))} standard deviations",
        "spread": f"{of}{value} times as wide" if of else f"the data spread {value} times as much",
        "coverage": f"the {finding.label} interval holds {value}",
        "tails": f"{value} lie outside the {finding.label} interval"
        if finding.label != "largest"
        else f"{value} are counts of a probability below 0.01",
        "skew": finding.words,
        "events": finding.words.rpartition(" (ratio")[0],
        "confidence": f"right in {value}, says {expected}",
        "class": f"came in {value}, says {expected}",
        "zeros": f"{value} are 0, says {expected}",
        "quantile": f"{value} lie below it, says {expected}",
        "correlation": f"of the residuals {value}, says {expected}",
    }[finding.kind]
    place = f" {'in' if where.endswith(' of a mask') else 'where'} {where}" if where else ""
    column = f" for {finding.column}" if several and finding.kind != "skew" else ""
    return f"{direction(finding)}{column}{place} ({number})"
