"""Cells of two columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis
from condgof.check.curves._bins import bins_of, without_few
from condgof.check.curves._kinds import map_values
from condgof.check.curves._profiles import TINY
from condgof.result import Record, plain

if TYPE_CHECKING:
    from condgof.check._record import Check, Slice

#: Most bins of each of the two columns.
MOST_MAP_BINS = 7

LEAST_SHARE_VARIANCE = 1e-4
#: The least standard deviation of which a map takes the logarithm.
LEAST_SD = 1e-3
#: A cell of a map with fewer rows says little: it is marked, and never the furthest.
FEW_ROWS = 10


@dataclass(frozen=True, eq=False)
class MapCells(Record):
    """Cells of two columns that have rows, (C,) each."""

    first: IntArray  #: The bin of the first column.
    second: IntArray  #: The bin of the second column.
    rows: IntArray  #: How many rows each cell has.
    estimate: FloatArray  #: The mean, or the logarithm of the standard deviation.
    distance: FloatArray  #: From 0, in standard errors; 0 in cells of few rows.

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, without estimates of cells of few rows."""
        names = ("estimate", "distance")
        hidden = {
            name: plain(without_few(getattr(self, name), self.rows)) for name in names
        }
        return super().to_dict() | hidden

    @property
    def are_few(self) -> AnyArray:
        """Which cells have too few rows to say much, (C,)."""
        return self.rows < FEW_ROWS

    @property
    def furthest(self) -> int:
        """The number of the cell with the largest distance."""
        return int(np.argmax(self.distance))

    @property
    def differ(self) -> bool:
        """Whether the largest distance is more than chance explains.

        The largest of m absolute normal numbers is about √(2 log 2m).
        """
        bound = (2 * np.log(2 * len(self.rows))) ** 0.5
        return bool(self.distance[self.furthest] >= bound)


def map_cells(
    values: FloatArray, first: IntArray, second: IntArray, *, of_spread: bool
) -> MapCells | None:
    """Return means of values (n,), or logarithms of their sd, by cell.

    `first` and `second` are bins of two columns, (n,), −1 for rows that are left out. None
    where no cell has rows enough: one for a mean, two for a standard deviation.
    """
    width = int(second.max(initial=-1)) + 1
    cell = np.where((first < 0) | (second < 0), -1, first * width + second)
    cells, rows = np.unique(cell[cell >= 0], return_counts=True)
    enough = rows >= (2 if of_spread else 1)
    cells = cells[enough]
    rows = rows[enough]
    if not len(cells):
        return None
    parts = [values[cell == one] for one in cells]
    if of_spread:
        estimate = np.array([np.log(max(part.std(ddof=1), LEAST_SD)) for part in parts])
        # Standard errors times √rows, from all values: here of log sd, by the delta method.
        error = np.std((values - values.mean()) ** 2) / (2 * values.var())
    else:
        estimate = np.array([part.mean() for part in parts])
        error = values.std()
    distance = np.abs(estimate) * np.sqrt(rows) / max(error, TINY)
    return MapCells(
        first=cells // width,
        second=cells % width,
        rows=rows,
        estimate=estimate,
        distance=np.where(rows < FEW_ROWS, 0.0, distance),
    )


@dataclass(frozen=True, eq=False)
class ColumnMap(Record):
    """Two columns in cells, and how far data and model are apart in each."""

    columns: tuple[str, str]
    first_bins: tuple[str, ...]  #: Names of the bins of the first column.
    second_bins: tuple[str, ...]  #: Names of the bins of the second column.
    #: What the cells show: "shift" or "spread" of residuals, "class", "confidence", …; of a
    #: spread, estimates are logarithms.
    quantity: str
    unit: str
    cells: MapCells

    @property
    def of_spread(self) -> bool:
        """Whether estimates are logarithms of standard deviations."""
        return self.quantity == "spread"


def column_map(
    check: Check, first: Axis, second: Axis, part: Slice | None = None
) -> ColumnMap | None:
    """Return two columns in cells: what a subgroup is about, or what is most off."""
    shown = map_values(check.checked, part)
    if shown is None:
        return None
    bins = [bins_of(axis, check, part, MOST_MAP_BINS) for axis in (first, second)]
    codes = [one.codes for one in bins]
    cells = map_cells(shown.values, *codes, of_spread=shown.of_spread)
    if cells is None:
        return None
    return ColumnMap(
        columns=(first.name, second.name),
        first_bins=bins[0].names,
        second_bins=bins[1].names,
        quantity=shown.quantity,
        unit=shown.unit,
        cells=cells,
    )
