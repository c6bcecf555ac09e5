"""What came out, of one check or of one for each group, in the forms that it leaves in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType

from condgof.cli.check._document import check_to_dict, groups_to_dict
from condgof.cli.check._show import show_check, show_groups
from condgof.locate import Check, GroupedChecks
from condgof.report import groups_page


@dataclass(frozen=True, eq=False)
class Single:
    """One check of all rows."""

    check: Check

    @property
    def rejected(self) -> bool:
        """Whether the model is rejected."""
        return self.check.rejects

    @property
    def words(self) -> str:
        """The verdict."""
        return self.check.words

    def show(self, facts: Mapping[str, str]) -> RenderableType:
        """Lay it out for a terminal."""
        return show_check(self.check, facts)

    def content(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"check": check_to_dict(self.check)}

    def page(self, command: str, notes: Sequence[str]) -> str:
        """Return the report."""
        return self.check.to_html(command=command, notes=notes)


@dataclass(frozen=True, eq=False)
class Grouped:
    """A check of each group."""

    groups: GroupedChecks

    @property
    def rejected(self) -> bool:
        """Whether the model is rejected in any group, after the correction."""
        return bool(self.groups.rejected)

    @property
    def words(self) -> str:
        """The verdict."""
        return self.groups.words

    def show(self, facts: Mapping[str, str]) -> RenderableType:
        """Lay it out for a terminal."""
        return show_groups(self.groups, facts)

    def content(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"groups": groups_to_dict(self.groups)}

    def page(self, command: str, notes: Sequence[str]) -> str:
        """Return the report."""
        return groups_page(self.groups, command=command, notes=notes)
