"""A check on the terminal: for a person who knows no kernels, in colour or without, at 80 columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from condgof.report import terminal
from condgof.result import pvalue_words

if TYPE_CHECKING:
    from condgof.locate import Check, GroupedChecks, Location

#: Lines longer than this are hard to read.
WIDEST = 100
#: How many groups are shown in detail.
MOST_GROUPS = 5


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `main`: Rich would exit with 1, which says that the model is rejected."""
        raise BrokenPipeError


def console() -> Console:
    """Return the console for results: standard output, without any markup or highlighting."""
    found = _Screen(file=sys.stdout, markup=False, emoji=False, highlight=False)
    if found.width > WIDEST:
        found.width = WIDEST
    return found


def show_check(check: Check, facts: Mapping[str, str]) -> RenderableType:
    """Lay out a check.

    Parameters
    ----------
    check : Check
        What to show.
    facts : mapping
        What was checked: label to text.
    """
    parts: list[RenderableType] = [_facts(facts)] if facts else []
    parts += [
        _headline(headline(check), check.rejects),
        _facts(
            {"how much": _sentence(check.effect.words), "could see": _sentence(check.detectable.words)}
        ),
        *_places(check),
    ]
    notes = notes_of(check)
    if notes:
        parts.append(Text())
        parts += [_facts({"" if i else "note": note}) for i, note in enumerate(notes)]
    return Group(*parts)


def headline(check: Check) -> str:
    """The verdict in a few words."""
    found = "Evidence" if check.rejects else "No evidence"
    level = f"{100 * check.alpha:g}%"
    return f"{found} against the model at the {level} level ({_chance(check)})."


def show_groups(grouped: GroupedChecks, facts: Mapping[str, str]) -> RenderableType:
    """Lay out the checks of several groups: a line for each, and the places in those rejected."""
    table = Grid(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False, header_style="dim")
    table.add_column(Text(terminal(grouped.by)), overflow="fold")
    for name in ("rows", "p-value", "corrected"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("size of the misfit", overflow="fold")
    for name, check in grouped.checks.items():
        size = check.effect.interval
        table.add_row(
            Text(terminal(name), style="bold red" if check.rejects else ""),
            f"{check.result.n:,}",
            f"{check.result.pvalue:.2g}",
            f"{check.pvalue:.2g}{' *' if check.rejects else '  '}",
            f"{size.estimate:.2f} ({size.low:.2f} to {size.high:.2f})",
        )
    parts: list[RenderableType] = [
        _facts(facts),
        _headline(grouped.words, bool(grouped.rejected)),
        table,
    ]
    units = dict.fromkeys(check.effect.unit for check in grouped.checks.values())
    parts.append(
        Text(terminal(f"* rejected after correction. Sizes in {', '.join(units)}."), style="dim")
    )
    for name in grouped.rejected[:MOST_GROUPS]:
        heading = f"{grouped.by} = {name}"
        parts += _places(grouped[name], heading)
    if grouped.left_out:
        parts += [Text(), _facts({"left out": _few_reasons(grouped.left_out)})]
    return Group(*parts)


def _few_reasons(left_out: Mapping[str, str]) -> str:
    listed = [f"{name}: {reason}" for name, reason in list(left_out.items())[:MOST_GROUPS]]
    more = len(left_out) - len(listed)
    return "; ".join(listed) + (f"; and {more} more" if more else "")


def notes_of(check: Check) -> list[str]:
    """What a reader should know besides."""
    listed = [*check.result.details.get("notes", ()), *check.details.get("notes", ())]
    return list(dict.fromkeys(str(note) for note in listed))


def _headline(words: str, rejected: bool) -> RenderableType:
    style = "bold red" if rejected else "bold"  # no green: no evidence does not make a model right
    return Padding(Text(terminal(words), style=style), (1, 0), expand=False)


def _facts(facts: Mapping[str, str]) -> Grid:
    """Labels on the left, text on the right."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=9, no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for name, text in facts.items():
        grid.add_row(Text(name), Text(terminal(text)))
    return grid


def _places(check: Check, group: str = "") -> Iterator[RenderableType]:
    named = [location for location in check.locations if location.named]
    if not named:
        if check.rejects:
            where = "No single place stands out: the misfit is spread over x."
            yield Text()
            yield Text(terminal(f"{group}: {where}")) if group else _facts({"where": where})
        return
    heading = terminal(group) if group else "Where, and what is wrong there"
    yield Padding(Text(heading, style="bold"), (1, 0, 0, 0), expand=False)
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(justify="right", no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for number, location in enumerate(named, 1):
        grid.add_row(Text(f"{number}."), _place(location))
    yield grid


def _place(location: Location) -> RenderableType:
    text = Text(terminal(location.where), style="bold")
    chance = pvalue_words(location.pvalue)
    text.append(f"  ({chance}, {location.rows:,.0f} rows near)", style="not bold dim")
    lines = Grid.grid(padding=(0, 1, 0, 0))
    lines.add_column(width=1)
    lines.add_column(overflow="fold")
    for line in _what(location):
        lines.add_row("-", Text(terminal(line)))
    return Group(text, lines)


def _what(location: Location) -> list[str]:
    """Sentences on what is wrong at a place."""
    named = [
        f"{finding.words}." if finding.words.startswith(finding.columns) else _sentence(finding.words)
        for finding in location.findings
        if finding.named
    ]
    if named or not location.findings:
        return named
    return [f"In no simple way; the most telling difference: {location.findings[0].words}."]


def _chance(check: Check) -> str:
    return pvalue_words(check.pvalue, check.details.get("pvalue_floor", 0.0))


def _sentence(words: str) -> str:
    """Begin with a capital letter and end with a full stop."""
    words = words.strip()
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"
