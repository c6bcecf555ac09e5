"""The pages of a test and of a monitor."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from condgof.check import WEAK, WRONG_NOT_CHANGED, Monitor, Role
from condgof.errors import InputError
from condgof.report import _chart as c
from condgof.report._chart import Chart, draw
from condgof.report._figure import figure
from condgof.report._folds import families_table, folded
from condgof.report._null import null_picture
from condgof.report._page import SINGLE_ROWS, page
from condgof.report._text import (
    bullets,
    code,
    html,
    minus,
    once_in,
    section,
    sentence,
    table,
)
from condgof.report._verdict import Message, Number
from condgof.result import GofResult, number, plain

#: Tests that are functions of this name.
TESTS = ("adaptive", "calibration", "fscd", "kcsd", "mmd", "zheng")
#: Width and height of the picture of the evidence, in pixels.
EVIDENCE_SIZE = (1060, 300)
#: The picture of the evidence ends at these powers of ten, so that the alarm is visible.
LOWEST_POWER = -3.0
HIGHEST_POWER = 6.0
#: The picture reaches down to this power of ten at least.
LEAST_LOW_END = -0.5
#: Lower evidence counts as this, so that its logarithm is finite.
LEAST_EVIDENCE = 1e-300
#: Signs and colours of the message, by its role.
LOOKS = {Role.BAD: "bad", Role.WEAK: "weak", Role.GOOD: "good"}
#: Words of the page of a monitor.
MONITOR_WORDS = {
    "evidence": (
        "Wealth that begins at 1 and is bet against the model, row after row. If the model"
        " is right, it reaches 1/α with probability at most α, over all time."
    ),
    "alarm": "The evidence has reached 1/α: the model is wrong, perhaps from the start.",
    "change": (
        "Rows differ from those before. Without a change, one is noticed after the run"
        " length on average, or later."
    ),
}


def facts_line(*facts: str) -> str:
    """Return facts, the date and the version, for the line at the top of a page."""
    from condgof import __version__

    return " · ".join([*facts, f"{date.today()}", f"condgof {__version__}"])


def again(command: str | None, lines: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """Return the part of a page that says how to run it again; [] where nothing does."""
    texts = [text for text in (command, "\n".join(lines)) if text]
    body = "".join(map(code, texts))
    return [("How to run it again", "again", body)] if texts else []


# Tests


def result_page(
    result: GofResult, *, title: str | None = None, command: str | None = None
) -> str:
    """Return the page of a test; see `GofResult.to_html`."""
    heading = title or f"{result.method} test of goodness of fit"
    body = result_message(result).html()
    body += section("What was computed", "computed", _computed(result))
    body += folded([*again(command, _python_lines(result)), _held_by_result()])
    machine = result.to_dict()
    for place in (machine, machine["details"]):
        for name in SINGLE_ROWS:
            place.pop(name, None)
    return page(
        heading=heading,
        below=facts_line(f"{result.n:,} rows"),
        tab=f"{result_message(result).verdict} · {heading}",
        body=body,
        machine=machine,
    )


def _computed(result: GofResult) -> str:
    """Return the null distribution, the p-value of each part, and the numbers."""
    terms = "".join(
        f"<dt>{html(fact.name)}</dt><dd>{html(minus(fact.value))}</dd>"
        for fact in result.facts()
        if fact.name != "note"
    )
    parts = families_table(result)
    chart = null_picture(result)
    drawn = "" if chart is None else figure(chart, "null")
    return f'<div class="two">{drawn}{parts}<dl>{terms}</dl></div>'


def result_message(result: GofResult) -> Message:
    """Return the verdict of a test at the 5% level."""
    verdict = "No misfit found"
    role = Role.GOOD
    if result.verdict.startswith("too few"):
        verdict = "Not decided"
        role = Role.WEAK
    elif result.reject():
        is_weak = result.pvalue > WEAK
        verdict = "Weak evidence" if is_weak else "Misfit"
        role = Role.WEAK if is_weak else Role.BAD
    often = once_in(result.pvalue)
    meaning = f"If the model were right, a statistic this large would come up {often}."
    statistic = "Larger means a worse fit: it is compared with its null distribution."
    return Message(
        role=role,
        look=LOOKS[role],
        verdict=verdict,
        words=sentence(result.verdict),
        numbers=[
            Number("why-p", result.pvalue_words, "", meaning),
            Number("why-statistic", f"statistic {number(result.statistic)}", "", statistic),
        ],
        notes=[str(note) for note in result.details.get("notes", ())],
    )


def _python_lines(result: GofResult) -> list[str]:
    """Return the Python that gives a test again, given the model and the data."""
    is_fitted = "fitted" in result.details  # what was refitted is not in the result
    if result.method not in TESTS or result.seed is None or is_fitted:
        return []
    options = f"rng={result.seed}"
    if "block_length" in result.details:
        options = f"dependence={result.details['block_length']}, {options}"
    elif "groups" in result.details:
        options = f"groups=groups, {options}"
    return [
        "import condgof as cg",
        "# With the other options that were given, if any:",
        f"result = cg.{result.method}(model, x, y, {options})",
    ]


def _held_by_result() -> tuple[str, str, str]:
    held = [
        "The statistic, its null distribution as a histogram, and what was computed.",
        "Where the test has locations or names a strongest one: these points of x.",
        "Nothing else of the data; and the file sends nothing anywhere.",
    ]
    return ("What this file holds of your data", "holds", bullets(held))


# Monitors


def monitor_page(
    monitor: Monitor, *, title: str | None = None, command: str | None = None
) -> str:
    """Return the page of a monitor; see `Monitor.to_html`."""
    heading = title or "A model in use"
    body = monitor_message(monitor).html()
    chart = evidence_picture(monitor)
    if chart is not None:
        body += section("Evidence in time", "evidence-all", figure(chart, "evidence"))
    events = [
        [event["event"], f"{event['rows']:,} rows", f"{event['since']:,}"]
        for event in monitor.records()
    ]
    if events:
        heads = ("event", "noticed after", "since about row (from 0)")
        body += section("Alarm and changes", "events", table("Events", heads, events))
    terms = "".join(
        f"<dt>{html(word)}</dt><dd>{html(meaning)}</dd>"
        for word, meaning in MONITOR_WORDS.items()
    )
    held = [
        "The evidence after at most 200 numbers of rows, the alarm and the changes, with"
        " the name of the column along which the misfit is largest.",
        "No rows; and the file sends nothing anywhere.",
    ]
    body += folded(
        [
            *again(command),
            ("What this file holds of your data", "holds", bullets(held)),
            ("Glossary", "glossary", f"<dl>{terms}</dl>"),
        ]
    )
    return page(
        heading=heading,
        below=facts_line(f"{monitor.rows:,} rows", f"α = {monitor.alpha:g}"),
        tab=f"{monitor_message(monitor).verdict} · {heading}",
        body=body,
        machine=monitor_numbers(monitor),
    )


def monitor_message(monitor: Monitor) -> Message:
    """Return whether there was an alarm, since when, and how."""
    place = monitor.change_words
    notes = []
    if monitor.alarm:
        role = Role.BAD
        verdict = "Alarm"
        words = sentence(monitor.alarm_words)
        if not monitor.changed:
            notes.append(WRONG_NOT_CHANGED)
    elif monitor.changed:
        role = Role.WEAK
        verdict = "Changed, no alarm"
        words = "Rows differ from those before; the model is not shown to be wrong."
    else:
        role = Role.GOOD
        verdict = "No alarm"
        words = "No evidence that the model is wrong, and no change."
    limit = f"{1 / monitor.alpha:g}"
    run_length = f"{monitor.run_length:,.0f}"
    return Message(
        role=role,
        look=LOOKS[role],
        verdict=verdict,
        words=words,
        place=place,
        numbers=[
            Number(
                "why-evidence",
                f"evidence {number(monitor.evidence, 3)}",
                f"alarm at {limit}",
                f"If the model is right, the evidence ever reaches {limit} with probability"
                f" at most {monitor.alpha:g}, however long one watches.",
            ),
            Number(
                "why-changes",
                f"changes noticed: {len(monitor.changes)}",
                "",
                f"Without a change, one is noticed after {run_length} rows on average, or"
                " later.",
            ),
        ],
        notes=notes,
    )


def evidence_picture(monitor: Monitor) -> Chart | None:
    """Draw the evidence against the number of rows, the alarm and the changes."""
    history = monitor.history
    if not history:
        return None
    rows = np.array([0, *(one.rows for one in history)])
    evidence = np.array([1.0, *(one.evidence for one in history)])
    exact = np.log10(np.maximum(evidence, LEAST_EVIDENCE))
    limit = float(-np.log10(monitor.alpha))
    highest = max(HIGHEST_POWER, 1.25 * limit)
    powers = np.clip(exact, LOWEST_POWER, highest)
    ends = (0.0, 1.0 * max(rows[-1], 1))
    low = min(LEAST_LOW_END, float(powers.min()) - 0.1)
    up = (low, min(highest, max(1.25 * limit, float(powers.max()) + 0.1)))
    marks: list[c.Mark] = []
    if monitor.alarm and monitor.since is not None:
        marks.append(
            c.Boxes(
                left=np.array([1.0 * monitor.since]),
                right=np.array([ends[1]]),
                low=np.array([up[0]]),
                high=np.array([up[1]]),
                kinds=("shade",),
            )
        )
    marks += [c.rule(1.0 * change["since"], False, "low") for change in monitor.changes]
    marks += [
        c.rule(limit, look="dashed"),
        c.Line(rows, powers, "data"),
    ]
    alarm_rows = [event["rows"] for event in monitor.records() if event["event"] == "alarm"]
    if alarm_rows:
        marks.append(c.Points(np.array(alarm_rows), np.array([limit]), "high", "dot", 9.0))
    at = c.numeric("", up, 6).at
    whole = tuple(power for power in at if power == round(power))
    title = f"Evidence {number(monitor.evidence, 3)}; the alarm is at {1 / monitor.alpha:g}"
    if exact.max() > highest:
        title += f". Above {number(10.0**highest)} the line is at the edge"
    return Chart(
        title=title,
        x=c.numeric("rows", ends),
        y=c.Scale("evidence", up, whole, tuple(number(10.0**power) for power in whole)),
        marks=tuple(marks),
        table=c.table({"rows": rows, "evidence": evidence}),
        legend=c.keys(
            "line data evidence; dashed model the alarm; dot high first reached; box shade"
            " since the misfit began; line low a change began"
        ),
        size=EVIDENCE_SIZE,
        spots=c.Spots.between(rows),
    )


def plot_monitor(monitor: Monitor, ax: object = None) -> Any:
    """Draw the evidence with matplotlib; see `Monitor.plot`."""
    chart = evidence_picture(monitor)
    if chart is None:
        raise InputError("There is no evidence to draw yet: update(x, y) comes first.")
    return draw(chart, ax)


def monitor_numbers(monitor: Monitor) -> dict[str, Any]:
    """Return the numbers of a monitor for machines."""
    return {
        "rows": monitor.rows,
        "evidence": monitor.evidence,
        "alpha": monitor.alpha,
        "run_length": monitor.run_length,
        "since": monitor.since,
        "events": plain(monitor.records()),
        "history": [one._asdict() for one in monitor.history],
        "words": monitor.words,
    }
