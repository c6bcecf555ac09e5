"""The page of a check: one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from condgof.check import Check, headline
from condgof.report import _text as text
from condgof.report._chart import chart_style, themed
from condgof.report._columns import columns
from condgof.report._effect_table import effects
from condgof.report._folds import folds
from condgof.report._overview import overview
from condgof.report._rows import PageRows, marks, rows_section
from condgof.report._subgroups import groups, subgroups
from condgof.report._text import html
from condgof.report._verdict import facts_of, given, message

#: Most groups in the JSON of a page; its table lists more, and `Check.to_dict` has all.
MOST_GROUPS = 30
#: Of more groups than this, the JSON has the leading findings alone.
MOST_WHOLE_GROUPS = 20
#: Longer lists are left out of the JSON.
LONGEST_LIST = 200
#: Fields of a result that have x of single rows.
SINGLE_ROWS = ("null_distribution", "locations", "strongest_location", "location_labels")


def check_page(
    check: Check,
    *,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    row_labels: bool = True,
    rows: bool = True,
) -> str:
    """Return the page of a check; see `Check.to_html`."""
    question = given(check)
    facts = facts_of(check)
    heading = question if title is None else title
    below = facts if title is None else f"{question} · {facts}"
    page_rows = PageRows(check, with_labels=row_labels) if rows else None
    body = "".join(
        [
            message(check, notes),
            effects(check),
            overview(check, points=rows),
            groups(check),
            subgroups(check),
            columns(check),
            "" if page_rows is None else rows_section(page_rows),
            folds(check, command, page_rows),
        ]
    )
    return page(
        heading=heading,
        below=below,
        tab=f"{headline(check)} · {heading}",
        body=body,
        machine=numbers(check),
        shown=marks(page_rows, check),
    )


def numbers(check: Check) -> Any:
    """Return the numbers of a check for machines: six digits, no long lists."""
    results = check.to_dict()
    # The element with the id marks has them.
    del results["pictures"]["highlights"], results["pictures"]["rows"]
    result = results["result"]
    for place in (result, result["details"], results["details"]):
        for name, value in list(place.items()):
            if name in SINGLE_ROWS or (
                isinstance(value, list) and len(value) > LONGEST_LIST
            ):
                del place[name]
    if len(results["groups"]) > MOST_WHOLE_GROUPS:
        results["groups_left_out"] = max(len(results["groups"]) - MOST_GROUPS, 0)
        some = results["groups"][:MOST_GROUPS]
        results["groups"] = [{**group, "findings": group["findings"][:1]} for group in some]
    return json.loads(
        json.dumps(results), parse_float=lambda text: float(f"{float(text):.6g}")
    )


#: What the script of a page shows of rows and subgroups, where there are none.
NO_MARKS: dict[str, Any] = {"columns": [], "rows": {}, "selections": []}


def page(
    *,
    heading: str,
    below: str,
    tab: str,
    body: str,
    machine: dict[str, Any],
    shown: dict[str, Any] = NO_MARKS,
) -> str:
    """Put a body into a page, with style, script, the policy for just these, and JSON."""
    colours, rules = themed("page.css")
    style = f"{colours}{chart_style()}{rules}"
    script = (files("condgof.report") / "page.js").read_text("utf-8")
    known = [
        base64.b64encode(hashlib.sha256(t.encode()).digest()).decode()
        for t in (style, script)
    ]
    policy = (
        f"default-src 'none'; style-src 'sha256-{known[0]}'; script-src"
        f" 'sha256-{known[1]}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer"'
        ' content="no-referrer">\n'
        f"<title>{html(tab)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">To the verdict</a>\n'
        f"<header><h1>{html(heading)}</h1><p>{html(below)}</p></header>\n"
        f'<main id="main">{body}</main>\n'
        "<footer>Made by condgof. This file needs no network.</footer>\n"
        '<script type="application/json"'
        f' id="numbers">{text.script_json(machine)}</script>\n'
        '<script type="application/json"'
        f' id="marks">{text.script_json(shown)}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )
