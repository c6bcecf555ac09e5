"""The JSON document of `condgof check --json`; docs/json.md says what its fields mean."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from condgof.cli.check._facts import Facts

if TYPE_CHECKING:
    from condgof.locate import Check, GroupedChecks

#: Version of the document: raised when a field goes or changes its meaning, not when one is added.
VERSION = 1


def document(
    facts: Facts, rejected: bool, verdict: str, content: Mapping[str, Any], *, seed: int, alpha: float,
    report: Path | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the whole document.

    Parameters
    ----------
    facts : Facts
        What was checked.
    rejected : bool
        Whether the model, or that of any group, is rejected.
    verdict : str
        The verdict in words.
    content : mapping
        ``check`` or ``groups``.
    seed, alpha, report
        As asked for.
    """
    from condgof import __version__

    return {
        "schema": VERSION,
        "condgof": __version__,
        "command": facts.command,
        **facts.to_dict(),
        "alpha": alpha,
        "seed": seed,
        "rejected": rejected,
        "verdict": verdict,
        "report": None if report is None else str(report),
        "check": None,
        "groups": None,
        **content,
    }


def check_to_dict(check: Check) -> dict[str, Any]:
    """Return a check without what is only there to be drawn."""
    result = check.result.to_dict()
    del result["null_distribution"]
    return {
        "group": check.group,
        "rejected": check.rejects,
        "pvalue": check.pvalue,
        "words": check.words,
        "result": result,
        "effect": check.effect.to_dict(),
        "detectable": check.detectable.to_dict(),
        "locations": [_location(location.to_dict()) for location in check.locations],
        "details": check.to_dict()["details"],
    }


def groups_to_dict(grouped: GroupedChecks) -> dict[str, Any]:
    """Return the checks of several groups."""
    return {
        "by": grouped.by,
        "words": grouped.words,
        "rejected": list(grouped.rejected),
        "correction": str(grouped.details["correction"]),
        "left_out": dict(grouped.left_out),
        "checks": [check_to_dict(check) for check in grouped.checks.values()],
    }


def _location(location: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in location.items() if name != "panel"}
