"""A check as text that a person reads in a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from condgof.result import pvalue_words

if TYPE_CHECKING:
    from condgof.locate._record import Check

WIDTH = 100


def verdict_words(check: Check) -> str:
    """Say whether there is evidence against the model, with the p-value."""
    p = pvalue_words(check.pvalue, check.details.get("pvalue_floor", 0.0))
    said = p if check.corrected_pvalue is None else f"{p}, corrected for all groups"
    return f"{'Evidence' if check.rejects else 'No evidence'} against the model ({said})"


def kind_of_model(check: Check) -> str:
    """Say what was checked: classes, quantiles and intervals have no density."""
    density = check.effect.unit.startswith("model standard deviations")
    return f"conditional {'density ' * density}model"


def check_text(check: Check) -> str:
    """Write a check in some lines."""
    lines = [f"Check of a {kind_of_model(check)}, n = {check.result.n:,}"]
    lines += _hung("  verdict  ", verdict_words(check))
    if check.rejects:
        lines += _hung("  size     ", check.effect.words)
    else:
        lines += _hung("  power    ", check.detectable.words)
    named = [location for location in check.locations if location.named]
    for number, location in enumerate(named):
        lines += _hung("  where    " if number == 0 else "           ", location.words)
    if check.rejects and not named:
        lines += _hung("  where    ", "no single place stands out")
    others = [location.where for location in check.locations if not location.named]
    if others and check.rejects:
        lines += _hung("  perhaps  ", f"{'; '.join(others)} (where to look, no evidence)")
    for note in check.details.get("notes", ()):
        lines += _hung("  note     ", note)
    return "\n".join(lines)


def _hung(head: str, text: str) -> list[str]:
    """Wrap a text for a terminal, under its head."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False
    )
