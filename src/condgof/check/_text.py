"""The message of a check in a sentence or two, and all of it as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from condgof.check._findings import distance
from condgof.check._quantities import QUANTITIES
from condgof.check._record import Check, Finding, Slice
from condgof.check._words import brief_of, direction_of
from condgof.result import pvalue_words

if TYPE_CHECKING:
    from condgof.check.kinds import CheckedRows

WIDTH = 100
#: What a paragraph is about, and what it says.
Paragraph: TypeAlias = tuple[str, str]
#: Most groups that are listed.
GROUPS = 12
#: Most slices in the message.
SLICES = 3
#: Of all rows these are other numbers of the same thing.
ROBUST = ("shift", "spread", "tails")
#: The message names the bias where the median of all rows is off by more standard
#: deviations than this.
FAR = 0.5
#: It names the bias, too, where a larger share lies on one side of the predicted median.
ONE_SIDE = 0.8
#: It asks whether these are the right predictions where this share lies on one side.
NEARLY_ALL = 0.99
RIGHT_ONES = "are these the right predictions, in the unit of y (mean and std not swapped)?"


def headline(check: Check) -> str:
    return f"{'Evidence' if check.rejected else 'No evidence'} against {check.subject}"


def verdict_words(check: Check) -> str:
    return f"{headline(check)} ({check.result.pvalue_words})"


def slice_words(one: Slice) -> str:
    p = pvalue_words(one.pvalue, one.pvalue_floor)
    return f"{one.words} ({one.n:,} rows): {one.message}; {p}"


def lines_of(check: Check) -> Iterator[Paragraph]:
    yield "verdict", verdict_words(check)
    yield "message", check.words
    if check.tolerance is not None:
        yield "allowed", check.tolerance.words
    if check.rejected:
        yield "size", check.effect.words
    if "fitted" in check.result.details:
        yield "fitted", check.result.details["fitted"]
    overall = (
        f.words
        for f in check.overall
        if f.kind not in ("correlation", "class") or f.telling
    )
    yield from (("all rows", words) for words in overall)
    yield from (("where", slice_words(one)) for one in check.slices)
    if check.rejected and not check.slices and searched_slices(check):
        yield "where", "no single column or pair of columns stands out"
    yield from (("groups", slice_words(one)) for one in check.groups[:GROUPS])
    if len(check.groups) > GROUPS:
        yield "groups", f"and {len(check.groups) - GROUPS:,} more"
    yield from (("note", note) for note in check.notes)


def searched_slices(check: Check) -> int:
    return int(check.details.get("searched", {}).get("slices", 0))


def check_text(
    check: Check,
    before: Sequence[Paragraph] = (),
    after: Sequence[Paragraph] = (),
    width: int = WIDTH,
) -> str:
    """Write everything as text, with more paragraphs before and after."""
    title = (
        f"Check of {listed(check.y_columns)} given {listed(check.x_columns)}, n ="
        f" {check.result.n:,}"
    )
    text, last = textwrap.wrap(title, width), ""
    for about, words in [*before, *lines_of(check), *after]:
        head = f"  {about if about != last else '':8} "
        wrap = textwrap.TextWrapper(width, head, " " * len(head), break_long_words=False)
        text += wrap.wrap(words)
        last = about
    return "\n".join(text)


def listed(names: Sequence[str], most: int = 4) -> str:
    shown = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return (
        " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
        or "nothing"
    )


def message(check: Check, everywhere: Finding | None) -> str:
    """Write what is wrong overall and where, or what would have been detected."""
    overall, count, searched = check.overall, len(check.groups), searched_slices(check) > 0
    groups = [one for one in check.groups if one.pvalue <= check.alpha]
    columns = {finding.column for finding in overall if finding.kind != "correlation"}
    brief = partial(_brief, several=len(columns) > 1)
    if not check.rejected and groups:
        parts = ", ".join(brief(one.findings[0], one.words) for one in groups[:SLICES])
        where = (
            f"{len(groups):,} of {count:,} groups"
            if count > 1
            else "the slice that you named"
        )
        return (
            f"Over all rows nothing speaks against the model. It is wrong in {where}:"
            f" {parts}."
        )
    if not check.rejected:
        return f"Nothing speaks against the model. {check.power.words}"
    told, sentences = (check.slices or groups)[:SLICES], []
    nowhere = everywhere is None and not told
    if nowhere:
        known = (finding for finding in overall if finding.kind in QUANTITIES)
        everywhere = max(known, key=distance, default=None)
        if everywhere is None or not everywhere.telling:
            # Single rows may be what is wrong; else a number that is half way to being
            # certain.
            wild = next(
                (finding.words for finding in overall if finding.kind == "wild"), ""
            )
            rest = (
                f"Of all rows: {wild}"
                if wild
                else "No number of all rows differs with certainty"
            )
            if not wild and everywhere is not None and distance(everywhere) >= 0.5:
                rest += f"; what comes nearest: {everywhere.words}"
            where = ", and no column or pair of columns tells where" if searched else ""
            return f"The model is wrong{where}. {rest}."
    elif everywhere is not None:
        everywhere = _same(everywhere, overall)
    if everywhere is not None:
        sentences.append(
            f"{QUANTITIES[everywhere.kind].subject} over all rows: {brief(everywhere)}"
        )
    for kind in dict.fromkeys(one.kind for one in told):
        parts = ", ".join(
            brief(one.findings[0], one.words) for one in told if one.kind == kind
        )
        if everywhere is not None and kind == everywhere.kind:
            worse = {one.direction for one in told if one.kind == kind} == {
                direction_of(everywhere)
            }
            sentences[0] += f"; {'above all' if worse else 'and'} {parts}"
        else:
            sentences.append(f"{QUANTITIES[kind].subject}: {parts}")
    shift, hint = _centre(overall, check.checked)
    if shift and not any(
        sentence.startswith(QUANTITIES["shift"].subject) for sentence in sentences[:2]
    ):
        sentences.insert(1, f"{QUANTITIES['shift'].subject} over all rows: {brief(shift)}")
    elif nowhere and searched:
        sentences.append("No part of x stands out by itself")
    return " ".join([*(f"{sentence}." for sentence in sentences[:2]), *hint])


def _centre(
    overall: Sequence[Finding], checked: CheckedRows
) -> tuple[Finding | None, list[str]]:
    """Return the overall shift if it is large, and a hint if nearly all lie on one side."""
    telling = (
        finding for finding in overall if finding.kind == "shift" and finding.telling
    )
    shift = max(telling, key=lambda finding: abs(finding.estimate), default=None)
    if shift is None:
        return None, []
    share, hint = 0.0, list[str]()
    scores = checked.normal_scores_of(shift.column)
    if scores is not None:
        names = [column.name for column in checked.y_columns]
        z = scores * (1.0 if shift.estimate > 0 else -1.0)
        share, count = float((z > 0).mean()), int((z > 0).sum())
        if share >= NEARLY_ALL:
            rows = f"{'All' if share == 1.0 else f'{count:,} of'} {len(z):,} rows"
            side = f"{'above' if shift.estimate > 0 else 'below'} the model's median"
            side += f" of {shift.column}" if len(names) > 1 else ""
            hint = [f"{rows} lie {side}: {RIGHT_ONES}"]
    return (shift if abs(shift.estimate) > FAR or share > ONE_SIDE else None), hint


def _same(finding: Finding, overall: Sequence[Finding]) -> Finding:
    """Return the overall finding that stands for one like it, if both hold."""
    alike = (
        f
        for f in overall
        if (f.kind, f.column) == (finding.kind, finding.column) and f.telling
    )
    ways = (f for f in alike if direction_of(f) == direction_of(finding))
    return next((f for f in ways if f.label == finding.label or f.kind in ROBUST), finding)


def _brief(finding: Finding, where: str = "", several: bool = False) -> str:
    """Write a finding in a few words: the number in brackets, where, which column of y."""
    number = brief_of(finding)
    place = f" {'in' if where.endswith(' of a mask') else 'where'} {where}" if where else ""
    column = (
        f" for {finding.column}"
        if several and finding.kind not in ("skew", "tails")
        else ""
    )
    return f"{direction_of(finding)}{column}{place} ({number})"
