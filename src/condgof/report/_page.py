"""The page: one file that needs nothing else, whatever the names in it."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import Any

from condgof.check._record import Check
from condgof.check._text import headline
from condgof.report._escape import html, script_json, shorten
from condgof.report._message import given, message
from condgof.report._pen_svg import chart_style
from condgof.report._sections import columns, folds, groups, overview, to_try, where

#: Groups that are in the numbers for machines, and how long a list there may be.
MOST_GROUPS, LONG = 200, 200


def check_page(
    check: Check, *, title: str | None = None, command: str | None = None, notes: Sequence[str] = ()
) -> str:
    """Write the report of one check.

    Parameters
    ----------
    check : Check
        From `check`.
    title : str, optional
        Heading of the page; what is predicted from what unless given.
    command : str, optional
        The command that gives the check again.
    notes : sequence of str
        What else the reader should know, such as rows that were dropped.

    Returns
    -------
    str
        HTML, one file below 1 MB.
    """
    heading = given(check) if title is None else title
    model = check.details.get("model")
    below = [given(check)] * (title is not None) + [f"{check.result.n:,} rows"]
    below += [f"model: {shorten(model, 80)}"] if isinstance(model, str) else []
    parts = (message, overview, where, groups, columns, to_try)
    body = "".join(part(check) for part in parts) + folds(check, command, notes)
    return page(heading, " · ".join(below), f"{headline(check)} · {heading}", body, numbers(check))


def numbers(check: Check) -> dict[str, Any]:
    """Return the numbers of a check without what is long, for machines that read a page."""
    plain = check.to_dict()
    for name in ("null_distribution", "locations"):
        plain["result"].pop(name, None)
    for place in (plain["result"]["details"], plain["details"]):
        for name in [n for n, value in place.items() if isinstance(value, list) and len(value) > LONG]:
            del place[name]
    if len(plain["groups"]) > 20:
        plain["groups_left_out"] = max(len(plain["groups"]) - MOST_GROUPS, 0)
        plain["groups"] = [{**g, "findings": g["findings"][:1]} for g in plain["groups"][:MOST_GROUPS]]
    return plain


def page(heading: str, below: str, tab: str, body: str, found: dict[str, Any]) -> str:
    """Put a body into a page, with style and script and the policy that allows just these two.

    `found` is there for machines, as JSON in the element with the id "numbers".
    """
    style, script = _style(), _read("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{html(tab)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">To the message</a>\n'
        f"<header><div><h1>{html(heading)}</h1><p>{html(below)}</p></div>"
        '<button class="theme" type="button" aria-label="Switch between light and dark">Dark</button>'
        f'</header>\n<main id="main">{body}</main>\n'
        "<footer>Made by condgof. This file needs no network.</footer>\n"
        f'<script type="application/json" id="numbers">{script_json(found)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


@functools.cache
def _read(name: str) -> str:
    return resources.files("condgof.report").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def _style() -> str:
    """Return the style sheet: colours in light, the same in dark where that is wanted, and rules."""
    light, dark, rules = _read("page.css").split("/* --- */")
    wanted = f'@media screen {{ :root[data-theme="dark"] {{{dark}}} }}'
    system = f'(prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{{dark}}} }}'
    return f"{light}@media screen and {system}\n{wanted}{chart_style()}{rules}"


def _digest(text: str) -> str:
    """Return the hash by which a browser knows the one script and the one style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
