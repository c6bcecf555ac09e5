"""The message of a check in a sentence or two, and all of it as lines for a terminal.

Lines are made of spans, and spans have roles: `str(report)` joins their texts, and the
command line colours them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from condgof.check._advice import gain_words
from condgof.check._effect_words import (
    CORRECTION_NOTE,
    effect_headline,
    effect_in_short,
    effect_range,
    worst_words,
)
from condgof.check._findings import distance
from condgof.check._numbers import NumberFormat, rows_text
from condgof.check._quantities import QUANTITIES
from condgof.check._record import AvoidableLoss, Check, Effect, Finding, Slice
from condgof.check._terminal import (
    Column,
    Line,
    Role,
    Span,
    display_width,
    line_text,
    padded,
    paragraph,
    table_lines,
)
from condgof.check._words import (
    NUMBER_FORMATS,
    brief_of,
    direction_of,
    finding_row,
    outlier_labels,
)
from condgof.methods import FAMILIES
from condgof.residuals import OUTLIERS
from condgof.result import pvalue_number, pvalue_words

if TYPE_CHECKING:
    from condgof.check.kinds import CheckedRows

#: Columns of text, unless a terminal says how many it has.
WIDTH = 88
#: Most groups that are listed.
MOST_GROUPS = 12
#: Most groups in the message.
GROUPS_IN_MESSAGE = 3
#: Most effects that the message names after the first.
FURTHER_EFFECTS = 2
#: Most changes of the model that are listed.
MOST_CHANGES = 3
#: Columns of x that the first line names.
COLUMNS_NAMED = 3
#: A rejection with a larger p-value than this is called weak evidence.
WEAK = 0.01
#: The message asks whether these are the right predictions where this share of rows lies
#: on one side of the predicted median.
NEARLY_ALL = 0.99
RIGHT_ONES = "are these the right predictions, in the unit of y (mean and SD not swapped)?"


# The verdict, and the message.


def is_weak(check: Check) -> bool:
    """Whether the model is rejected on weak evidence."""
    return check.rejected and check.pvalue > WEAK


def headline(check: Check) -> str:
    """Return the verdict in two or three words."""
    of = " of the family of the fitted model" if "fitted" in check.result.details else ""
    if not check.rejected:
        return f"No misfit{of} found"
    return f"Weak evidence of misfit{of}" if is_weak(check) else f"Misfit{of}"


def verdict_words(check: Check) -> str:
    return f"{headline(check)} ({check.result.pvalue_words})"


def searched_slices(check: Check) -> int:
    return int(check.details.get("searched", {}).get("slices", 0))


def listed(names: Sequence[str], most: int = 4) -> str:
    """List names: "a, b and 5 more"."""
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    if len(shown) > 1:
        return f"{', '.join(shown[:-1])} and {shown[-1]}"
    return shown[0] if shown else "nothing"


def message(check: Check) -> str:
    """Write what is wrong and where, or what could have been detected.

    The first effect comes first, with its share of the avoidable loss. Without a rejection
    the message has the minimum detectable effect, or the groups that were named and are
    wrong.
    """
    groups = [one for one in check.groups if one.pvalue <= check.alpha]
    if check.rejected:
        sentences = _rejected_sentences(check, groups)
    elif groups:
        places = _group_places(groups)
        count = f"{len(groups):,} of {len(check.groups):,} groups"
        where = count if len(check.groups) > 1 else "the subgroup that you named"
        sentences = [
            f"No misfit found overall, but the model is wrong in {where}: {places}"
        ]
    else:
        return f"No misfit found. {check.power.words}"
    return " ".join(f"{sentence}." for sentence in sentences) + _swapped(check)


def _rejected_sentences(check: Check, groups: Sequence[Slice]) -> list[str]:
    """Return what is wrong, in one or two sentences without full stops."""
    weak = "Weak evidence: " if is_weak(check) else ""
    atom = _telling_atom(check)
    if atom is not None and _leads(atom, check):
        # A density gives single values no probability: no change of it gains as much as a
        # point mass would, and other effects may be no more than its traces.
        sentences = [atom.words]
        sentences += [effect_headline(effect) for effect in check.effects[:1]]
        return sentences
    if check.effects:
        first, *others = check.effects
        sentences = [f"{weak}{_lowered(effect_headline(first), bool(weak))}"]
        sentences += _shares(first, others)
        if atom is not None:
            sentences.append(atom.words)
        return sentences
    if check.slices:
        wrong = f"The model is wrong where {_group_places(check.slices)}"
        return [f"{weak}{_lowered(wrong, bool(weak))}"]
    sentences = [f"{weak}{_lowered(hint_words(check), bool(weak))}"]
    if groups:
        sentences.append(f"Of the groups that you named: {_group_places(groups)}")
        return sentences
    overall = _strongest_overall(check)
    if _leading_family(check) == OUTLIERS:
        outliers = (finding for finding in check.overall if finding.kind == "wild")
        overall = next(outliers, overall)
    if overall is not None:
        direction = direction_of(overall)
        way = f"{direction}, " if direction else ""
        sentences.append(f"Overall: {way}{brief_of(overall)}")
    return sentences


class MessageParts(NamedTuple):
    """The message in two parts, for a page that sets them apart."""

    headline: str  #: What is wrong, in one short sentence without a full stop.
    place: str  #: Where most, and the rest of the message; "" without.


def message_parts(check: Check) -> MessageParts:
    """Return the headline and its worst place.

    Without effects the headline is the whole message. Where nothing is wrong, it is the
    minimum detectable effect, as the verdict says the rest.
    """
    groups = [one for one in check.groups if one.pvalue <= check.alpha]
    if not check.rejected and not groups:
        return MessageParts(check.power.words.rstrip("."), "")
    atom = _telling_atom(check)
    atom_leads = atom is not None and _leads(atom, check)
    if not check.rejected or not check.effects or atom_leads:
        return MessageParts(check.words.rstrip("."), "")
    first = check.effects[0]
    place = worst_words(first)
    sentences = f"{place[:1].upper()}{place[1:]}.{_swapped(check)}"
    return MessageParts(effect_in_short(first), sentences)


def _telling_atom(check: Check) -> Finding | None:
    """Return a value of y that comes too often, where there is one."""
    return next((one for one in check.overall if one.kind == "atom" and one.telling), None)


def _leads(atom: Finding, check: Check) -> bool:
    """Whether an atom is said before all effects: a point mass, and no heap of rows."""
    return bool(atom.numbers["leads"]) or not check.effects


def _lowered(sentence: str, after_colon: bool) -> str:
    """Return a sentence as it stands after a colon, its first letter small."""
    return f"{sentence[:1].lower()}{sentence[1:]}" if after_colon else sentence


def _shares(first: Effect, others: Sequence[Effect]) -> list[str]:
    """Say how much of the avoidable loss the first effects carry, where there are more."""
    if not others:
        return []
    named = [f"{one.name} {share_text(one)}" for one in others[:FURTHER_EFFECTS]]
    more = len(others) - len(named)
    if more:
        named.append(f"{more} more")
    return [f"This is {share_text(first)} of the avoidable loss; then {', '.join(named)}"]


def share_text(effect: Effect) -> str:
    return f"{100.0 * effect.share:.0f}%"


def _group_places(groups: Sequence[Slice]) -> str:
    """Name groups with what is wrong in each, in brackets."""
    named = [
        f"{one.words} ({one.direction}, {brief_of(one.findings[0])})"
        for one in groups[:GROUPS_IN_MESSAGE]
    ]
    more = len(groups) - len(named)
    if more:
        named.append(f"and {more:,} more")
    return ", ".join(named)


def _strongest_overall(check: Check) -> Finding | None:
    """Return the number of all rows that is furthest outside of its interval."""
    telling = [one for one in check.overall if one.telling and one.kind in NUMBER_FORMATS]
    return max(telling, key=distance, default=None)


def _leading_family(check: Check) -> str | None:
    """Return the family of the test with the smallest p-value."""
    families = check.result.details.get("families", {})
    return min(families, key=lambda name: families[name], default=None)


def hint_words(check: Check) -> str:
    """Name the column or family of the test with the smallest p-value, as a hint."""
    details = check.result.details
    none = "The model is wrong"
    if check.details.get("searched"):
        none += ", but no single effect is significant by itself"
    column = details.get("strongest_column")
    families = details.get("families", {})
    family = _leading_family(check)
    floor = check.result.pvalue_floor
    if column is not None:
        is_leading = family is None or column["pvalue"] <= families[family]
        if is_leading or column["pvalue"] <= check.alpha:
            name = column["column"]
            if "level" in column:
                name = f"{name} = {column['level']}"
            p = pvalue_words(column["pvalue"], floor)
            return f"{none}; the strongest hint is {name} ({p})"
    if family is None:
        return none
    descriptions = {spec.name: spec.description for spec in FAMILIES}
    p = pvalue_words(families[family], floor)
    about = descriptions.get(family, family)
    return f"{none}; the strongest hint is the test of {about} ({p})"


def _swapped(check: Check) -> str:
    """Ask about the predictions where nearly all rows lie on one side of their median."""
    if not check.rejected:
        return ""
    for finding in check.overall:
        if finding.kind == "shift" and finding.telling:
            sentence = _one_side(finding, check.checked)
            if sentence:
                return f" {sentence}"
    return ""


def _one_side(finding: Finding, checked: CheckedRows) -> str:
    """Say how many rows lie on one side of the predicted median, if nearly all do."""
    scores = checked.normal_scores_of(finding.column)
    if scores is None:
        return ""
    is_above = finding.estimate > 0
    on_side = scores > 0 if is_above else scores < 0
    count = int(on_side.sum())
    n = len(scores)
    if count < NEARLY_ALL * n:
        return ""
    rows = f"{'All' if count == n else f'{count:,} of'} {n:,} rows"
    side = "above" if is_above else "below"
    of = f" of {finding.column}" if finding.numbers.get("several") else ""
    return f"{rows} lie {side} the predicted median{of}: {RIGHT_ONES}"


# Lines.


def check_text(check: Check, width: int = WIDTH) -> str:
    """Write everything as plain text."""
    lines = check_lines(check, width=width)
    return "\n".join(line_text(line) for line in lines)


@dataclass(frozen=True)
class TextOptions:
    """What else a terminal shows."""

    width: int = WIDTH
    source: str = ""  #: The table that was read.
    facts: tuple[tuple[str, str], ...] = ()  #: What else is said of it: a name and words.
    verbose: bool = False  #: Whether effects and numbers are said in sentences, too.


def check_lines(
    check: Check,
    *,
    width: int = WIDTH,
    source: str = "",
    facts: Sequence[tuple[str, str]] = (),
    verbose: bool = False,
) -> list[Line]:
    """Return a check as lines of a terminal of `width` columns.

    Parameters
    ----------
    check : Check
        The check.
    width : int
        Most characters of a line; words that are longer are not broken.
    source : str
        The name of the table that was read.
    facts : sequence of (name, words)
        What else is said of the table, under the first line.
    verbose : bool
        Whether effects and numbers are said in sentences, too.
    """
    options = TextOptions(width, source, tuple(facts), verbose)
    empty: Line = ()
    return [
        *_header_lines(check, options),
        empty,
        *_verdict_lines(check, width),
        empty,
        *_effect_lines(check, options),
        *_slice_lines("SUBGROUPS", check.slices, width),
        *_group_lines(check, width),
        *_overall_lines(check, options),
        *_closing_lines(check, width),
    ]


def _header_lines(check: Check, options: TextOptions) -> list[Line]:
    version = check.details.get("versions", {}).get("condgof", "")
    first = f"condgof {version}".strip()
    rows = rows_text(check.result.n)
    parts = [part for part in (first, options.source, rows, _question(check)) if part]
    lines = paragraph(" · ".join(parts), options.width, role=Role.DIM)
    for name, words in options.facts:
        lines += paragraph(f"{name}: {words}", options.width, role=Role.DIM)
    return lines


def _question(check: Check) -> str:
    """Write what is predicted from what: "bikers | hr, workingday, temp, +5"."""
    names = list(check.x_columns[:COLUMNS_NAMED])
    more = len(check.x_columns) - len(names)
    if more:
        names.append(f"+{more:,}")
    y = ", ".join(check.y_columns)
    return f"{y} | {', '.join(names)}" if names else y


class Verdict(NamedTuple):
    """The verdict as the terminal shows it."""

    sign: str
    words: str
    role: Role


def verdict_of(check: Check) -> Verdict:
    """Return sign, words and colour of the verdict."""
    if not check.rejected:
        return Verdict("✓", "NO MISFIT FOUND", Role.GOOD)
    if is_weak(check):
        return Verdict("⚠", "WEAK EVIDENCE", Role.WEAK)
    return Verdict("✗", "MISFIT", Role.BAD)


def _verdict_lines(check: Check, width: int) -> list[Line]:
    sign, words, role = verdict_of(check)
    line = [Span(f"{sign} {words}", role), Span(f"   {check.result.pvalue_words}")]
    lines: list[Line] = []
    if check.avoidable_loss is not None:
        loss, interval = loss_texts(check.avoidable_loss)
        spans = [Span(f"   avoidable loss {loss} "), Span(interval, Role.DIM)]
        if sum(display_width(span.text) for span in (*line, *spans)) > width:
            lines.append(tuple(line))
            line = [Span("  avoidable loss "), Span(f"{loss} "), Span(interval, Role.DIM)]
        else:
            line += spans
    lines.append(tuple(line))
    lines += paragraph(_headline_words(check), width, before="  ", role=Role.STRONG)
    if "fitted" in check.result.details:
        lines += paragraph(str(check.result.details["fitted"]), width, before="  ")
    if check.tolerance is not None:
        lines += paragraph(check.tolerance.words, width, before="  ")
    for note in reading_notes(check):
        lines += paragraph(note, width, before="⚠ ", role=Role.WEAK)
    return lines


def _headline_words(check: Check) -> str:
    """Return the message; where nothing is wrong, what the verdict does not say yet."""
    is_wrong = check.rejected or any(one.pvalue <= check.alpha for one in check.groups)
    return check.words if is_wrong else check.power.words


class LossTexts(NamedTuple):
    """The avoidable loss as texts."""

    estimate: str  #: "0.43 nats/row".
    interval: str  #: "[0.38, 0.48]".


def loss_texts(loss: AvoidableLoss) -> LossTexts:
    numbers = NumberFormat()
    decimals = min(max(numbers.decimals(loss.estimate, 0.0), 2), 4)
    return LossTexts(
        estimate=f"{numbers.bare(loss.estimate, decimals)} {short_unit(loss.unit)}",
        interval=numbers.interval(*loss.interval, decimals),
    )


def short_unit(unit: str) -> str:
    """Write "nats a row" as "nats/row"."""
    return unit.replace(" a row", "/row")


def reading_notes(check: Check) -> Iterator[str]:
    """Yield what changes how a report is read: impossible rows first."""
    loss = check.avoidable_loss
    if loss is not None and loss.impossible:
        verb = "has" if loss.impossible == 1 else "have"
        yield (
            f"{rows_text(loss.impossible)} {verb} probability 0 under the model; the"
            " avoidable loss is of the others"
        )
    yield from check.notes


def _effect_lines(check: Check, options: TextOptions) -> list[Line]:
    if not check.effects:
        return []
    rows = []
    for number, effect in enumerate(check.effects, 1):
        ends = effect_range(effect)
        rows.append(
            (
                Span(f"{number}  {effect.name}"),
                Span(share_text(effect)),
                Span(ends.first),
                Span(ends.last),
                Span(pvalue_cell(effect.pvalue, effect.pvalue_floor)),
            )
        )
    columns = (Column("share", ">"), Column("from"), Column("to"), Column("p", ">"))
    lines = table_lines("WHAT IS WRONG", columns, rows, options.width)
    if any(effect.given_before for effect in check.effects):
        lines += paragraph(CORRECTION_NOTE, options.width, before="  ", role=Role.DIM)
    if options.verbose:
        for number, effect in enumerate(check.effects, 1):
            lines += paragraph(effect.words, options.width, before=f"  {number}  ")
    return lines


def _slice_lines(heading: str, parts: Sequence[Slice], width: int) -> list[Line]:
    rows = []
    for part in parts:
        lead = part.findings[0]
        estimate = ""
        interval = ""
        if lead.kind in NUMBER_FORMATS:
            row = finding_row(lead)
            interval = row.interval
            is_share = QUANTITIES[lead.kind].is_share
            estimate = f"{row.data} vs {row.model}" if is_share else row.data
        rows.append(
            (
                Span(part.words),
                Span(f"{part.n:,}"),
                Span(part.direction),
                Span(estimate),
                Span(interval, Role.DIM),
                Span(pvalue_cell(part.pvalue, part.pvalue_floor)),
            )
        )
    columns = (
        Column("rows", ">"),
        Column("problem"),
        Column("estimate", ">"),
        Column("interval"),
        Column("p", ">"),
    )
    return table_lines(heading, columns, rows, width)


def _group_lines(check: Check, width: int) -> list[Line]:
    lines = _slice_lines("GROUPS", check.groups[:MOST_GROUPS], width)
    if len(check.groups) > MOST_GROUPS:
        lines.append((Span(f"  and {len(check.groups) - MOST_GROUPS:,} more", Role.DIM),))
    return lines


def _overall_lines(check: Check, options: TextOptions) -> list[Line]:
    several = len(check.y_columns) > 1
    findings = [
        finding
        for finding in check.overall
        if finding.kind not in ("correlation", "class") or finding.telling
    ]
    rows = []
    for finding in findings:
        if finding.kind in NUMBER_FORMATS:
            row = finding_row(finding, several=several)
            rows.append(
                (
                    Span(row.name),
                    Span(row.data),
                    Span(row.interval, Role.DIM),
                    Span(row.model),
                )
            )
    columns = (Column("data", ">"), Column("95% CI"), Column("model", ">"))
    lines = table_lines("OVERALL", columns, rows, options.width)
    for finding in findings:
        if finding.kind == "wild":
            lines += paragraph(outlier_words(finding), options.width, before="  ")
    if options.verbose:
        for finding in findings:
            lines += paragraph(finding.words, options.width, before="  – ")
    return lines


def outlier_words(finding: Finding) -> str:
    """Write "outliers: 10 of 3,458 rows (none expected): 1204, 88, and 8 more"."""
    of = f" of {finding.column}" if finding.numbers.get("several") else ""
    count = f"{int(finding.estimate):,} of {rows_text(finding.numbers['n'])}"
    expected = f"{finding.expected:.2g}" if finding.expected else "none"
    labels = outlier_labels(finding, with_scores=False)
    return f"outliers{of}: {count} ({expected} expected): {labels}"


def _closing_lines(check: Check, width: int) -> list[Line]:
    lines: list[Line] = []
    advices = advice_texts(check)
    longest = max((display_width(words) for words, _ in advices), default=0)
    for words, gain in advices:
        head = Span("   " if lines else "TRY", Role.HEADING)
        text = f"   {padded(words, longest, '<')}   {gain}"
        if 3 + display_width(text) <= width:
            lines.append((head, Span(text)))
        else:
            lines += paragraph(f"{words}, {gain}", width, before=f"{head.text}   ")
    if check.rejected:
        lines += paragraph(f"Effect size: {check.effect.words}.", width, role=Role.DIM)
    return lines


class AdviceText(NamedTuple):
    """A change of the model, and what it gained."""

    words: str
    gain: str


def advice_texts(check: Check) -> list[AdviceText]:
    """Return the changes that effects ask for, each once, what gains most first.

    Those that help only after others come after these.
    """
    gains: dict[str, float] = {}
    is_later: dict[str, bool] = {}
    for effect in check.effects:
        if effect.advice is not None:
            words = effect.advice.words
            gains[words] = gains.get(words, 0.0) + effect.advice.gain
            is_later[words] = effect.advice.given_before
    ordered = sorted(gains, key=lambda words: (is_later[words], -gains[words]))
    return [AdviceText(words, gain_words(gains[words])) for words in ordered[:MOST_CHANGES]]


def pvalue_cell(value: float, floor: float) -> str:
    """Write a p-value as a cell of a table: "≤0.001"."""
    return pvalue_number(value, floor).replace(" ", "")
