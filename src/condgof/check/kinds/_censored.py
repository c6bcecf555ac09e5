"""Times with censoring: events observed and events expected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._findings import Residual, outliers
from condgof.check._quantities import Signal
from condgof.check._record import Finding
from condgof.check._size import (
    Bench,
    Size,
    features_of_x,
    pair_sums,
    root_of,
    size_of,
)
from condgof.check.kinds._rows import CheckedRows, RowTable, rows_class
from condgof.check.kinds._signals import Draw, Signals
from condgof.laws import Law, moments_of
from condgof.residuals import CensoredResiduals, CensoredTestFunctions
from condgof.sample import Seed
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader

#: Parts of the time that rows were observed, on the scale of Λ: all of it, and thirds, in
#: each of which about as many events are expected.
THIRDS = ("", "early third", "middle third", "late third")


class Events(NamedTuple):
    """Events of each row in all time and in each third of it."""

    observed: AnyArray  #: Whether the event came, (n, 4).
    expected: FloatArray  #: How many are expected while the row was observed, (n, 4).


class Periods(NamedTuple):
    """Where all time, and each third of it, begin and end on the scale of Λ, (4,) each."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class CensoredRows(CheckedRows):
    """Rows with censored times."""

    label = "censored"
    z: FloatArray  #: Normal scores of y, (n,).
    event: AnyArray  #: Whether the event came at y, (n,).
    hazard: FloatArray  #: Λ = −log P(Y > y|x), (n,).
    hazard_at_entry: FloatArray  #: Λ at the time of entry, (n,).
    #: Λ up to which about a third, and two thirds, of all events are expected.
    cuts: tuple[float, float]

    @classmethod
    def from_law(
        cls, table: RowTable, law: Law, residuals: CensoredResiduals
    ) -> CensoredRows:
        names = [column.name for column in table.y_columns]
        return cls(
            table=table,
            comparison=residuals.columns(names),
            moments=moments_of(law),
            z=residuals.z,
            event=residuals.event > 0,
            hazard=residuals.hazard,
            hazard_at_entry=residuals.hazard_at_entry,
            cuts=_thirds_of_hazard(residuals.hazard_at_entry, residuals.hazard),
        )

    @property
    def periods(self) -> Periods:
        return Periods(
            low=np.array([0.0, 0.0, *self.cuts]),
            high=np.array([np.inf, *self.cuts, np.inf]),
        )

    def events(self) -> Events:
        """Return events observed and expected, in all time and in each third.

        A row that was observed from Λ₀ to Λ₁ expects as many events as the length of that.
        """
        low, high = self.periods
        event = self.event[:, None]
        hazard = self.hazard[:, None]
        entry = self.hazard_at_entry[:, None]
        # An event at a cut belongs to the third that ends there, one at 0 to the first.
        inside = ((hazard > low) | (low == 0.0)) & (hazard <= high)
        expected = np.clip(hazard, low, high) - np.clip(entry, low, high)
        return Events(observed=event & inside, expected=np.asarray(expected))

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        observed, expected = self.events()
        low, high = (f"{cut:g}" for cut in self.cuts)
        places = ("", f"up to {low}", f"{low} to {high}", f"above {high}")
        for k, label in enumerate(THIRDS):
            count = int(observed[rows, k].sum())
            mean = float(expected[rows, k].sum())
            if label and not count and mean < 1.0:  # nobody was observed as long as that
                continue
            ratio = reader.ratio(rows, observed[rows, k], expected[rows, k])
            yield Finding(
                kind="events",
                column=self.y_name,
                estimate=ratio.value,
                interval=ratio.interval,
                expected=1.0,
                label=label,
                quantity="events",
                numbers={"count": count, "mean": mean, "place": places[k]},
            )
        if overall:
            # That a row was censored early tells nothing.
            far = np.where(self.event | (self.z > 0), self.z, 0.0)
            yield from outliers(reader, Residual(rows, far, self.y_name))

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        """Return events less what is expected, which is the variance, too.

        Where it is known when rows are censored, the variance is P(low < Λ ≤ high) up to
        then.
        """
        residuals = rows.residuals
        assert isinstance(residuals, CensoredResiduals)
        observed, expected = self.events()
        about = tuple(Signal("events", self.y_name, label) for label in THIRDS)
        if not residuals.can_resample:
            return Signals(
                about=about,
                values=observed - expected,
                variance=expected,
                redraw=None,
                bound=1.0,
            )
        until = residuals.censoring_times(rows.neighbours(seed))
        low, high = self.periods
        entry = self.hazard_at_entry[:, None]
        start = np.maximum(low - entry, 0.0)
        stop = np.maximum(np.minimum(high - entry, until[:, None]), start)

        def redraw(some: IntArray) -> Draw:
            first = start[some][:, None]
            last = stop[some][:, None]
            end = until[some][:, None, None]

            def draw(rng: np.random.Generator, m: int) -> AnyArray:
                times = rng.standard_exponential((len(some), m, 1))
                came = (times <= end) & (times > first) & (times <= last)
                passed = np.clip(times, first, last) - first
                return np.asarray(came - passed, dtype=np.float32)

            return draw

        return Signals(
            about=about,
            values=observed - expected,
            variance=np.exp(-start) - np.exp(-stop),
            redraw=redraw,
            bound=1.0,
        )


def _thirds_of_hazard(before: FloatArray, after: FloatArray) -> tuple[float, float]:
    """Return Λ up to which a third, and two thirds, of the events are expected.

    From Λ at entry and at the end of each row, (n,) each; to two digits.
    """
    both = np.concatenate([before, after])
    order = np.argsort(both, kind="stable")
    observed = np.cumsum(np.where(order < len(before), 1.0, -1.0))
    expected = np.append(0.0, np.cumsum(observed[:-1] * np.diff(both[order])))
    thirds = expected[-1] * np.array([1.0, 2.0]) / 3.0
    first, second = np.interp(thirds, expected, both[order])
    return float(f"{first:.2g}"), float(f"{second:.2g}")


@rows_class.register
def _(residuals: CensoredResiduals) -> type[CheckedRows]:
    return CensoredRows


@size_of.register
def _(residuals: CensoredResiduals, bench: Bench) -> Size:
    """E[ξ|x] = s·E[∫f|x] where the hazard is 1 + s times the model's."""
    functions = CensoredTestFunctions.at_bandwidths((1.0,))
    first = functions.blocks[0].columns
    xi = functions.evaluate(residuals)[:, first].astype(np.float64)
    at_entry = functions.expected_later(residuals.entry_z)
    at_end = functions.expected_later(residuals.z)
    move = (at_entry - at_end)[:, first].astype(np.float64)
    f = features_of_x(bench.kernel, bench)
    return Size(
        parts=(pair_sums(f, xi, move, bench.dependence),),
        of=root_of(1.0),
        unit="relative error of the hazard",
        like="a hazard that is off by {} times itself at every x",
    )
