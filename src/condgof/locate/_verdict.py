"""The verdict of a check in words, and what becomes of it when groups are corrected for."""

from __future__ import annotations

from dataclasses import replace

from condgof.locate._locations import location_words
from condgof.locate._record import Check, Location
from condgof.locate._text import verdict_words


def verdict(check: Check) -> Check:
    """Return the check with its verdict in a sentence or two."""
    said = verdict_words(check)
    if not check.rejects:
        return replace(check, words=f"{said}. {check.detectable.words}")
    words = f"{said}: the misfit is {check.effect.words}."
    named = [location for location in check.locations if location.named]
    if named:
        return replace(check, words=f"{words} {named[0].words}")
    return replace(check, words=f"{words} No single place stands out.")


def corrected(check: Check, pvalue: float, group: str, floor: float = 0.0) -> Check:
    """Return the check of a group, its p-value corrected for all groups.

    Where the corrected p-value no longer rejects, no location is named any more. `floor` is the smallest
    corrected p-value that the draws could give.
    """
    least = check.details.get("pvalue_floor", 0.0)
    details = {**check.details, "pvalue_floor": floor}
    graded = replace(check, corrected_pvalue=pvalue, group=group, details=details)
    if not graded.rejects:
        graded = replace(graded, locations=tuple(_unnamed(one, least) for one in graded.locations))
    return verdict(graded)


def _unnamed(location: Location, floor: float) -> Location:
    findings = tuple(replace(finding, named=False) for finding in location.findings)
    words = location_words(location.where, location.pvalue, findings, False, floor)
    return replace(location, named=False, findings=findings, words=words)
