"""How a check shows itself: it reaches up to `report` when it is asked to, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from condgof.locate._grouped import GroupedChecks
    from condgof.locate._record import Check


class Shown:
    """The report and the pictures of a check."""

    def to_html(
        self, *, title: str | None = None, command: str | None = None, notes: Sequence[str] = ()
    ) -> str:
        """Write the report: one HTML file that needs no network and no other file.

        It has the verdict, a map of the misfit over x with a panel for each location, the residuals, the
        evidence at each scale, and what was run. It stays below 2 MB for any number of rows.

        Examples
        --------
        >>> import numpy as np, condgof as cg
        >>> x, noise = np.random.default_rng(0).standard_normal((2, 60))
        >>> report = cg.check((x, np.ones(60)), x, x + noise, rng=0)
        >>> report.to_html(title="My model").count("<h1>My model</h1>")
        1
        """
        from condgof.report import check_page

        return check_page(_check(self), title=title, command=command, notes=notes)

    def plot_where(self, ax: Any = None, *, columns: Sequence[str] | None = None) -> Any:
        """Draw the misfit over x, with the locations numbered (needs ``condgof[plot]``).

        A curve for one numeric column of x, a map for two, bars for the levels of a categorical one; for
        more columns, the rows over the pair that tells most. Solid numbers are evidence by themselves,
        open ones are only where to look.

        Examples
        --------
        >>> import numpy as np, condgof as cg
        >>> x, noise = np.random.default_rng(0).standard_normal((2, 60))
        >>> cg.check((x, np.ones(60)), x, x + noise, rng=0).plot_where().get_xlabel()
        'x'
        """
        from condgof.report import plot_where

        return plot_where(_check(self), ax, columns)

    def plot_how(self, location: Any, ax: Any = None, *, column: str | None = None) -> Any:
        """Draw y near a location against the model (needs ``condgof[plot]``).

        Examples
        --------
        >>> import numpy as np, condgof as cg
        >>> x, noise = np.random.default_rng(0).standard_normal((2, 60))
        >>> report = cg.check((x, np.ones(60)), x, x + 3 * noise, rng=0)
        >>> report.plot_how(0).get_xlabel()
        'y'
        """
        from condgof.report import plot_how

        return plot_how(_check(self), location, ax, column)

    def _repr_html_(self) -> str:
        from condgof.report import check_card

        return check_card(_check(self))


class ShownGroups:
    """The report of checks by groups."""

    def to_html(
        self, *, title: str | None = None, command: str | None = None, notes: Sequence[str] = ()
    ) -> str:
        """Write the report: a table of all groups and a section for each, in one HTML file.

        It stays below 2 MB: where there are many groups, those with the smallest p-values have their
        pictures, and the others a line in the table.
        """
        from condgof.report import groups_page

        return groups_page(cast("GroupedChecks", self), title=title, command=command, notes=notes)

    def _repr_html_(self) -> str:
        from condgof.report import groups_card

        return groups_card(cast("GroupedChecks", self))


def _check(shown: Shown) -> Check:
    return cast("Check", shown)
