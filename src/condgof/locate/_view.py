"""A discrete y as a check looks at it: classes, or counts."""

from __future__ import annotations

from typing import TypeAlias

from condgof.locate._bench import Bench
from condgof.locate._classes import ClassRows
from condgof.locate._counted import CountRows

View: TypeAlias = ClassRows | CountRows


def view_of(bench: Bench) -> View | None:
    """Return how a discrete y is looked at; None for a continuous one."""
    cells = bench.rows.cells
    if cells is None:
        return None
    return CountRows.of(bench) if cells.blocks[0].distances else ClassRows.of(bench)
