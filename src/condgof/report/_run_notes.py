"""The end of a report: what was run, and how to run it again."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from condgof.locate import Check, GroupedChecks
from condgof.report._escape import html, visible
from condgof.report._html import bullets
from condgof.report._numbers import number


def what_was_run(
    facts: Sequence[tuple[str, str]], key: str, command: str | None, python: str, notes: Sequence[str]
) -> str:
    """Return the facts of the run as a list, notes, and the lines that give it again."""
    listed = "".join(f"<dt>{html(name)}</dt><dd>{html(value)}</dd>" for name, value in facts)
    remarks = bullets(dict.fromkeys(visible(note) for note in notes))
    again = f"<pre><code>{_lines(command)}</code></pre>" if command else ""
    return (
        f'<section aria-labelledby="{key}-run"><h2 id="{key}-run">What was run</h2><dl>{listed}</dl>'
        f"{f'<h3>Notes</h3>{remarks}' if remarks else ''}<h3>To get this again</h3>{again}"
        f"<pre><code>{_lines(python)}</code></pre></section>"
    )


def notes_of(check: Check) -> list[str]:
    """Return what a check and its test remarked."""
    return [*_listed(check.details.get("notes")), *_listed(check.result.details.get("notes"))]


def _lines(text: str) -> str:
    """Escape a few lines of code; line ends stay."""
    return "\n".join(html(line) for line in text.splitlines())


def python_lines(check: Check) -> str:
    """Return the Python that gives a check again, given the model and the data."""
    options = "" if check.alpha == 0.05 else f", alpha={check.alpha:g}"
    seed, details = check.result.seed, check.result.details
    if "block_length" in details:
        options += f", dependence={details['block_length']}"
    elif "groups" in details:
        options += ", groups=groups"
    return f"import condgof as cg\ncg.check(model, x, y{options}, rng={seed})"


def versions(check: Check) -> Mapping[str, Any]:
    """Return the versions that the check ran with, or those of now where it did not keep them."""
    kept = check.details.get("versions")
    if isinstance(kept, Mapping):
        return kept
    import condgof

    return {
        "condgof": condgof.__version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
    }


def check_facts(check: Check) -> list[tuple[str, str]]:
    """Return the facts of one check."""
    result = check.result
    draws = 0 if result.null_distribution is None else len(result.null_distribution)
    facts = [
        ("rows", f"{result.n:,}"),
        ("x", _names(check.x_columns)),
        ("y", _names(check.y_columns)),
        ("test", f"{result.method}, {result.null}" + (f", {draws:,} draws" if draws else "")),
        ("statistic", number(result.statistic, 5)),
        ("p-value", f"{check.pvalue:.6g}"),
        ("level", f"{check.alpha:g}"),
        ("solver", str(result.solver)),
        ("discrepancy", _interval(check)),
        ("seed", str(result.seed)),
        ("versions", _versions(check)),
    ]
    if "standardized_by" in result.details:
        facts.insert(4, ("y compared as", str(result.details["standardized_by"])))
    return facts + _plain_details(check.details)


def group_facts(grouped: GroupedChecks, first: Check) -> list[tuple[str, str]]:
    """Return the facts that all groups share."""
    facts = [
        ("groups of", grouped.by),
        ("groups", f"{len(grouped.checks):,}, {len(grouped.left_out):,} left out"),
        ("rows", f"{sum(check.result.n for check in grouped.checks.values()):,}"),
        ("x", _names(first.x_columns)),
        ("y", _names(first.y_columns)),
        ("test", str(first.result.method)),
        ("level", f"{grouped.alpha:g}"),
        ("versions", _versions(first)),
    ]
    return facts + _plain_details(grouped.details)


def _versions(check: Check) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions(check).items())


def _plain_details(details: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what else is in the details and is a number or a text."""
    found = []
    for name, value in details.items():
        if name not in ("versions", "notes") and isinstance(value, (str, int, float, np.number)):
            said = f"{value:,}" if isinstance(value, int) and name != "seed" else f"{value}"
            found.append((str(name).replace("_", " "), said))
    return found


def _interval(check: Check) -> str:
    d = check.effect.discrepancy
    return f"{number(d.estimate)} ({number(d.low)} to {number(d.high)})"


def _names(columns: Sequence[str], most: int = 30) -> str:
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return ", ".join(columns[:most]) + more


def _listed(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(str(v) for v in value)
