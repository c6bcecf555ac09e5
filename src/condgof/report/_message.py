"""The head of a report: the message, and three chips: how certain, how much, is it enough."""

from __future__ import annotations

from collections.abc import Sequence

from condgof.check._findings import said
from condgof.check._numbers import short, sized
from condgof.check._record import Check, Finding
from condgof.check._text import headline
from condgof.report._escape import html, shorten
from condgof.report._html import paragraph
from condgof.report._numbers import number, once_in

_CROSS = '<path d="M6 6L18 18M18 6L6 18"/>'
_RING = '<circle cx="12" cy="12" r="8"/>'
#: What each kind of finding is called, with its label if it has one, and its unit.
KINDS = {
    "shift": ("shift", "standard deviations"),
    "spread": ("spread", "times the model's"),
    "skew": ("skew", "share above less share below"),
    "tails": ("beyond the {} interval", "share of rows"),
    "coverage": ("inside the {} interval", "share of rows"),
    "correlation": ("correlation of {}", ""),
    "confidence": ("right", "share of rows"),
    "class": ("share of {}", "share of rows"),
    "zeros": ("zeros", "share of rows"),
    "quantile": ("not above the {} quantile", "share of rows"),
    "events": ("events, {}", "times what the model expects"),
}
#: A message of more letters is set smaller.
LONG = 130
#: Of all rows, where they are other numbers.
OVERALL = {"shift": "shift of the median", "spread": "width of the middle half"}
#: Kinds whose sign is written.
_SIGNED = ("shift", "skew", "correlation")


def given(check: Check) -> str:
    """Say what is predicted from what: "wage given age, education and 5 more columns"."""
    return (
        f"{_all(check.y_columns)} given {_all(check.x_columns)}"
        if check.x_columns
        else _all(check.y_columns)
    )


def name_of(finding: Finding, several: bool = False, overall: bool = False) -> str:
    """Name a finding: "inside the 90% interval"; of several columns of y, with its column."""
    kind, label = finding.kind, finding.label
    if kind == "correlation":
        return f"correlation of {finding.column}"
    if kind == "tails" and label == "largest":
        name = "counts of probability below 0.01"
    else:
        name = KINDS.get(kind, (kind, ""))[0].format(label) if label else kind_name(kind)
        name = OVERALL.get(kind, name) if overall else name
    return f"{finding.column}: {name}" if several else name


def kind_name(kind: str) -> str:
    """Name a kind of finding without a label."""
    name = KINDS.get(kind, (kind, ""))[0]
    return {"class": "share of a class", "events": "events"}.get(
        kind, name.replace(" the {}", " the").replace(" of {}", "")
    )


def value_of(finding: Finding, value: float) -> str:
    """Write a value of a finding as its words do, and no finer than its interval is."""
    if finding.kind == "tails":
        return f"{number(100 * value, 2)}%"
    coarse = abs(value) < 100 and finding.interval[1] - finding.interval[0] > 0.01
    text = (f"{value + 0.0:.2f}" if coarse else said(value)).replace("-", "−")
    text = text.replace("−0.00", "0.00") if text == "−0.00" else text
    return f"+{text}" if finding.kind in _SIGNED and value > 0 and text != "0.00" else text


def expected_of(finding: Finding) -> str:
    """Write what the model says: 1, 0.5, 0.1%; of what differs from row to row the mean, 0.30."""
    text = value_of(finding, finding.expected)
    fixed = "." in text and finding.kind not in ("confidence", "class", "zeros")
    return text.rstrip("0").rstrip(".") if fixed else text


def range_of(finding: Finding) -> str:
    """Write the interval of a finding."""
    low, high = finding.interval
    return f"{value_of(finding, low)} to {value_of(finding, high)}"


def chips(check: Check) -> list[tuple[str, str, str]]:
    """Return how certain, how much, whether it is enough: a name, a value and what it means, each."""
    much, power, p = check.effect.interval, check.power, check.result.pvalue_words
    often = once_in(check.pvalue).replace("about", "at most") if "≤" in p else once_in(check.pvalue)
    seen, ends = sized(much.estimate, much.low, much.high)
    value = (
        f"{seen}, between {ends.replace('to', 'and')}" if much.low > 0 else f"at most {short(much.high)}"
    )
    found = [
        ("How certain", p, f"If {check.subject} were right, data this far off would come up {often}."),
        ("How much", value, f"{check.effect.unit}; 0 is a perfect fit"),
    ]
    if check.tolerance is not None:
        allowed = f"the {check.tolerance.allowed:g} you allow"
        value = {
            "worse than you allow": f"worse than {allowed}",
            "good enough": f"good enough: below {allowed}",
        }.get(check.tolerance.verdict, f"{check.tolerance.verdict} about {allowed}")
        found.append(("Is it enough", value, _once(check.tolerance.words, check.words)))
    else:
        able = "not known" if power.size is None else f"{short(power.size)} or more"
        found.append(("Could have been seen", able, _once(power.words, check.words)))
    return found


def state(check: Check) -> str:
    """Return how the page is to look: "bad", "good", or "open" where a tolerance is undecided."""
    if check.tolerance is None:
        return "bad" if check.rejected else "good"
    return {"worse than you allow": "bad", "good enough": "good"}.get(check.tolerance.verdict, "open")


def message(check: Check) -> str:
    """Return the message, large, and the chips."""
    sign = _CROSS if check.rejected else _RING
    listed = "".join(
        f"<li><span>{html(name)}</span><b>{html(value)}</b>{paragraph(meaning) if meaning else ''}</li>"
        for name, value, meaning in chips(check)
    )
    words = paragraph(check.words, "words long" if len(check.words) > LONG else "words")
    return (
        f'<section class="message {state(check)}" aria-labelledby="verdict"><h2 id="verdict">'
        f'<svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">{sign}</svg>'
        f"{html(headline(check))}</h2>{words}"
        f'<ul class="chips">{listed}</ul></section>'
    )


def _once(words: str, before: str) -> str:
    """Return words, or nothing where they were said."""
    return "" if words.rstrip(".") in before else words


def _all(columns: Sequence[str], most: int = 4) -> str:
    names = [shorten(name, 60) for name in columns]
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} more columns"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
