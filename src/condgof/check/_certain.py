"""Rows of a discrete y that are nearly certain, drawn by their exceptions.

Where some rows stand for all in a null, rare events of these rows would be fewer than those
of the data. Rows whose most probable cell is nearly certain are therefore all drawn: they
are in that cell but for exceptions, which are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check.kinds import CellSignals, Signals
from condgof.residuals import (
    draw_exceptions,
    first_cells,
    hazards,
    other_cells,
    sums_of_others,
)
from condgof.stein import PIECE_ROWS

#: Most exceptions in a draw, on average.
MOST_EXCEPTIONS = 1024
#: Most cells of these exceptions: of rows with many cells there are fewer exceptions.
MOST_CELLS = 2**14
#: Signals of all cells of the certain rows are held if they are at most this many numbers
#: (16 MB); else they are computed for the exceptions of each draw.
HELD_SIGNALS = 2**22


class CellTable(NamedTuple):
    """All that exceptions of r certain rows can be."""

    others: FloatArray  #: Running sums of probabilities of cells but the mode, (r, C).
    changes: AnyArray  #: Signals of each cell less those of the mode, (r, C, K).


class DrawnExceptions(NamedTuple):
    """Exceptions in some draws, e of them."""

    draws: IntArray  #: The draw that each is in, (e,).
    rows: IntArray  #: The row of each, (e,).
    changes: AnyArray  #: Its signals less those of the most probable cell, (e, K).


@dataclass(frozen=True, eq=False)
class CertainRows:
    """Rows of a discrete y whose most probable cell is nearly certain."""

    signals: CellSignals
    rows: IntArray  #: Which rows they are, (r,).
    others: IntArray  #: The other rows.
    mode: IntArray  #: The most probable cell of each, (r,).
    usual: AnyArray  #: The signals in that cell, (r, K).
    hazard: FloatArray  #: Running sums over rows of −log P(no exception), (r,).

    @classmethod
    def of(cls, signals: Signals) -> CertainRows | None:
        """Take the surest rows, up to `MOST_EXCEPTIONS` in all; None where none is sure."""
        cells = signals.cells
        assert cells is not None
        n = len(signals.values)
        pieces = np.split(np.arange(n), range(PIECE_ROWS, n, PIECE_ROWS))
        modes = []
        chances = []
        for piece in pieces:
            p = cells.probabilities(piece)
            modes.append(p.argmax(axis=1))
            chances.append(1.0 - p.max(axis=1))
        mode = np.concatenate(modes)
        chance = np.concatenate(chances)
        cell_count = cells.probabilities(pieces[0][:1]).shape[1]
        most = min(MOST_EXCEPTIONS, MOST_CELLS / cell_count)
        order = np.argsort(chance, kind="stable")
        is_sure = (np.cumsum(chance[order]) <= most) & (chance[order] < 0.5)
        rows = np.sort(order[is_sure][: n - 1])  # one row at least is drawn like others
        if not len(rows):
            return None
        usual = [
            cells.at(some, mode[some][:, None])[:, 0]
            for some in np.array_split(rows, len(pieces))
        ]
        return cls(
            signals=cells,
            rows=rows,
            others=np.flatnonzero(np.isin(np.arange(n), rows, invert=True)),
            mode=mode[rows],
            usual=np.concatenate(usual),
            hazard=np.cumsum(hazards(chance[rows])),
        )

    def drawn(self, rng: np.random.Generator, m: int) -> DrawnExceptions:
        """Draw the exceptions of m samples.

        Points of a Poisson process: a row that has any in a draw, with its probability, is
        an exception.
        """
        exceptions = draw_exceptions(self.hazard, rng, m)
        number = exceptions.rows
        rows = self.rows[number]
        if self._table is not None:
            sums = self._table.others
            thresholds = exceptions.uniforms * sums[number, -1]
            codes = first_cells(sums, number, thresholds)
            changes = self._table.changes[number, codes]
        else:
            p = self.signals.probabilities(rows)
            codes = other_cells(p, self.mode[number], exceptions.uniforms)
            changes = self.signals.at(rows, codes[:, None])[:, 0] - self.usual[number]
        return DrawnExceptions(draws=exceptions.draws, rows=rows, changes=changes)

    @cached_property
    def _table(self) -> CellTable | None:
        """All cells of the certain rows; None where that is too much."""
        count = self.signals.probabilities(self.rows[:1]).shape[1]
        if self.usual.size * count > HELD_SIGNALS:
            return None
        cells = np.broadcast_to(np.arange(count), (len(self.rows), count))
        return CellTable(
            others=sums_of_others(self.signals.probabilities(self.rows), self.mode),
            changes=self.signals.at(self.rows, cells) - self.usual[:, None],
        )
