"""What the pictures of a report draw, each computed once.

Pictures of all rows are `overall_curves`. Pictures of effects draw the cells of
`Check.effects`, those of slices and groups on one axis their findings, and the picture of
the null distribution draws `GofResult.null_distribution`: these are in `Check.to_dict` by
themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from condgof._typing import IntArray
from condgof.check._axes import Axis
from condgof.check.curves._bins import axis_of, bins_of, part_y, without_few
from condgof.check.curves._fit import FitByBin, fit_by_bin
from condgof.check.curves._kinds import (
    column_profile,
    overall_curves,
    strongest_column,
    subgroup_curves,
)
from condgof.check.curves._maps import ColumnMap, column_map
from condgof.check.curves._profiles import Profile
from condgof.check.curves._rows import (
    Highlight,
    ShownRows,
    highlights_of,
    shown_rows,
)
from condgof.result import Record, plain

if TYPE_CHECKING:
    from condgof.check._record import Check, Slice

#: Most columns that have a panel; of more, those that explain most.
MOST_PANELS = 18
#: Most slices, and most groups, that have pictures: a page stays below 1 MB.
MOST_DRAWN = 8


@dataclass(frozen=True, eq=False)
class ColumnPanel(Record):
    """Estimates along a column, in B bins."""

    column: str
    y: str  #: The column of y that they are about.
    bins: tuple[str, ...]  #: (B,).
    rows: IntArray  #: (B,).
    profile: Profile

    @property
    def explained(self) -> float:
        """What the column explains: the mean square of estimates between its bins."""
        n = self.rows[:, None]
        values = self.profile.estimate
        between = n * np.square(values - np.sum(n * values, axis=0) / n.sum())
        return float(between.sum() / max(len(n) - 1, 1))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, without numbers of bins of few rows.

        The numbers of the profile are on one level with its bins.
        """
        numbers = {name: plain(getattr(self, name)) for name in ("column", "y", "bins")}
        numbers["rows"] = plain(self.rows)
        for name, value in vars(self.profile).items():
            is_by_bin = isinstance(value, np.ndarray)
            numbers[name] = plain(without_few(value, self.rows) if is_by_bin else value)
        return numbers


def column_numbers(
    check: Check, axis: Axis, part: Slice | None = None, *, y: int | None = None
) -> ColumnPanel | None:
    """Return estimates along a column, of column `y` or of the one that is most off.

    Levels that the subgroup `part` names are among the bins. None where there are no
    estimates, or no bins.
    """
    bins = bins_of(axis, check, part)
    if not bins.names:
        return None
    checked = check.checked
    if y is None:
        y = strongest_column(checked)
    profile = column_profile(checked, bins.rows, y)
    if profile is None:
        return None
    return ColumnPanel(
        column=axis.name,
        y=checked.y_columns[y].name,
        bins=bins.names,
        rows=bins.sizes,
        profile=profile,
    )


def column_panels(check: Check) -> tuple[ColumnPanel, ...]:
    """Return at most `MOST_PANELS` panels, of the column that explains most first."""
    y = strongest_column(check.checked)
    panels = [column_numbers(check, axis, y=y) for axis in check.checked.axes]
    found = [panel for panel in panels if panel is not None]
    return tuple(sorted(found, key=lambda panel: -panel.explained)[:MOST_PANELS])


@dataclass(frozen=True, eq=False)
class SubgroupPictures(Record):
    """What the pictures of a slice or a group draw."""

    words: str  #: Which rows these are, as in `Slice.words`.
    curves: dict[str, Record]  #: Of its rows, by name, as the kind of y has them.
    #: The subgroup among all rows: along the two columns that it names, …
    map: ColumnMap | None = None
    #: … or along the only one, with y and the model's bands, …
    fit: FitByBin | None = None
    #: … or without these.
    panel: ColumnPanel | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, without what there is not."""
        numbers = super().to_dict()
        return {name: value for name, value in numbers.items() if value is not None}


def subgroup_pictures(check: Check, part: Slice) -> SubgroupPictures:
    """Return what the pictures of a subgroup draw."""
    by_name = {axis.name: axis for axis in check.checked.axes}
    columns = dict.fromkeys(condition.column for condition in part.conditions)
    named = [by_name[column] for column in columns if column in by_name]
    curves = subgroup_curves(check.checked, part)
    known = {name: curve for name, curve in curves.items() if curve is not None}
    if len(named) == 2:
        cells = column_map(check, named[0], named[1], part)
        return SubgroupPictures(part.words, known, map=cells)
    if not named:
        return SubgroupPictures(part.words, known)
    y = part_y(check.checked, part)
    fit = fit_by_bin(check, named[0], part, y=y)
    if fit is not None:
        return SubgroupPictures(part.words, known, fit=fit)
    panel = column_numbers(check, named[0], part, y=y)
    return SubgroupPictures(part.words, known, panel=panel)


@dataclass(frozen=True, eq=False)
class Pictures(Record):
    """What the pictures of a report draw, but for those of `overall_curves`."""

    #: y against what is predicted, or against the only column of x; None without residuals
    #: of single rows.
    fit: FitByBin | None
    columns: tuple[ColumnPanel, ...]  #: That which explains most first.
    slices: tuple[SubgroupPictures, ...]  #: Of the first slices.
    groups: tuple[SubgroupPictures, ...]  #: Of the first groups.
    #: Where the rows of effects, slices and groups lie in the pictures of all rows.
    highlights: tuple[Highlight, ...]
    rows: ShownRows  #: Which single rows are drawn, and which are listed.


def pictures_of(check: Check) -> Pictures:
    """Compute what the pictures of a report draw."""
    axis = axis_of(check.checked, None)
    panels = column_panels(check)
    return Pictures(
        fit=None if axis is None else fit_by_bin(check, axis),
        columns=panels,
        slices=tuple(subgroup_pictures(check, one) for one in check.slices[:MOST_DRAWN]),
        groups=tuple(subgroup_pictures(check, one) for one in check.groups[:MOST_DRAWN]),
        highlights=highlights_of(check, panels),
        rows=shown_rows(check),
    )


def curves_of(check: Check) -> dict[str, Any]:
    """Return the curves of all rows as plain numbers, ready for JSON.

    Of a continuous y ``"pit"``, of classes ``"reliability"`` and ``"classes"``, of counts
    ``"rootogram"``, of quantiles and intervals ``"coverage"``, of censored times
    ``"survival"``, at most 200 steps, of angles ``"angles"``; see the records of these
    names.
    """
    curves: dict[str, Any] = plain(overall_curves(check.checked))
    return curves
