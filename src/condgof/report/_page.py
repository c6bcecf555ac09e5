"""The page: one file that needs nothing else, whatever the names in it."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from condgof.locate import Check
from condgof.report._escape import html, script_json
from condgof.report._html import bullets, folded
from condgof.report._run_notes import check_facts, notes_of, python_lines, what_was_run
from condgof.report._verdict import evidence, headline, verdict
from condgof.report._where_how import MOST_FINDINGS, residuals, where_and_how

#: How to read the page, for someone who has never seen one.
READING = (
    "A model here is a claim about the whole spread of y at each x, not only its mean. The page asks "
    "whether the data "
    "could have come from it.",
    "The p-value says how sure we can be that something is off; a small one is evidence against the "
    "model.",
    "The effect size says how much is off, in units of the model's own standard deviation. It does "
    "not depend on how "
    "many rows there are: judge by it whether the misfit matters to you.",
    "No evidence is not proof that the model is right: the third box says what could have been found.",
    "Where and how say in which part of x the misfit is clearest, and what is wrong with y there.",
)


def check_page(
    check: Check, *, title: str | None = None, command: str | None = None, notes: Sequence[str] = ()
) -> str:
    """Write the report of one check.

    Parameters
    ----------
    check : Check
        From `check`.
    title : str, optional
        Heading of the page.
    command : str, optional
        The command that gives the check again.
    notes : sequence of str
        What else the reader should know, such as rows that were dropped.

    Returns
    -------
    str
        HTML, one file.
    """
    heading = title if title is not None else f"Does the model of {_all(check.y_columns)} fit?"
    below = f"{check.result.n:,} rows; {_all(check.y_columns)} given {_all(check.x_columns)}"
    said = [*notes, *notes_of(check)]
    body = section(check, "c0") + what_was_run(
        check_facts(check), "c0", command, python_lines(check), said
    )
    return page(heading, below, f"{headline(check)} · {heading}", body, summary(check))


def summary(check: Check) -> dict[str, Any]:
    """Return the numbers of a check without what is only drawn, for machines that read a page."""
    numbers = check.to_dict()
    del numbers["landscape"]
    numbers["result"] = {k: v for k, v in numbers["result"].items() if k != "null_distribution"}
    numbers["locations"] = [
        {k: v[:MOST_FINDINGS] if k == "findings" else v for k, v in place.items() if k != "panel"}
        for place in numbers["locations"]
    ]
    return numbers


def section(check: Check, key: str, level: int = 2) -> str:
    """Return verdict, where and how, residuals and evidence of one check; headings from a level on."""
    parts = (verdict, where_and_how, residuals, evidence)
    text = "".join(part(check, key) for part in parts)
    if level == 2:
        return text
    for depth in (4, 3, 2):  # a group has a heading of its own: all others go down by one
        text = text.replace(f"<h{depth}", f"<h{depth + 1}").replace(f"</h{depth}>", f"</h{depth + 1}>")
    return text


def page(heading: str, below: str, tab: str, body: str, numbers: Mapping[str, Any]) -> str:
    """Put a body into a page, with style and script and the policy that allows just these two.

    `numbers` are there for machines, as JSON in the element with the id "numbers".
    """
    style, script = _style(), _read("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri "
        "'none'; "
        "form-action 'none'"
    )
    reading = folded("How to read this page", bullets(READING))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{html(tab)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">To the verdict</a>\n'
        f'<header><div><h1>{html(heading)}</h1><p class="soft">{html(below)}</p></div>'
        '<button class="theme" type="button" aria-label="Switch between light and dark">Dark</button>'
        "</header>\n"
        f'<main id="main">{body}</main>\n'
        f"<footer>{reading}Made by condgof. This file needs no network and holds no more of the data "
        "than it shows.</footer>\n"
        f'<script type="application/json" id="numbers">{script_json(numbers)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


@functools.cache
def _read(name: str) -> str:
    return resources.files("condgof.report").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _style() -> str:
    return _read("page.css").replace("/* dark */", _read("dark.css").strip())


def _digest(text: str) -> str:
    """Return the hash by which a browser knows the one script and the one style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _all(columns: Sequence[str], most: int = 4) -> str:
    shown = list(columns[:most])
    if len(columns) > most:
        return f"{', '.join(shown)} and {len(columns) - most} more columns"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
