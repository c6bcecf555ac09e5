"""How a check looks at a y that is held against cells: as classes, counts, or ranks among draws."""

from __future__ import annotations

from typing import TypeAlias

from condgof.locate._bench import Bench, by_ranks
from condgof.locate._classes import ClassRows
from condgof.locate._counted import CountRows
from condgof.locate._ranked import RankedRows

View: TypeAlias = ClassRows | CountRows | RankedRows


def view_of(bench: Bench) -> View | None:
    """Return how such a y is looked at; None for a continuous one."""
    cells = bench.rows.cells
    if cells is None:
        return None
    if by_ranks(bench.rows):
        return RankedRows.of(bench)
    return CountRows.of(bench) if cells.blocks[0].distances else ClassRows.of(bench)
