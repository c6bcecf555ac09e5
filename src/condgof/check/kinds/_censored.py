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
from condgof.check.effects import ErrorKind, HazardTilt, Rate, Tilt
from condgof.check.kinds._rows import CheckedRows, RowTable, rows_class
from condgof.check.kinds._signals import Draw, OfResampled, Signals
from condgof.laws import Law, moments_of
from condgof.residuals import CensoredResiduals, CensoredTestFunctions
from condgof.sample import Seed
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader

#: Labels of the four periods of which events are counted, on the scale of Λ: all time, and
#: three thirds, in each of which about as many events are expected.
PERIOD_LABELS = ("", "early third", "middle third", "late third")
#: A third in which fewer events are expected, and none was observed, has no finding.
LEAST_EXPECTED = 1.0


class Events(NamedTuple):
    """Events of each row in all time and in each third of it."""

    observed: AnyArray  #: Whether the event was observed in the period, (n, 4).
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
    event: AnyArray  #: Whether the event was observed at y, else it was censored, (n,).
    hazard: FloatArray  #: Λ = −log P(Y > y|x), (n,).
    hazard_at_entry: FloatArray  #: Λ at the time of entry, (n,).
    #: Where the first third ends and where the second does: the values of Λ up to which
    #: about a third, and two thirds, of all events are expected.
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
        """Where each of the four periods of `PERIOD_LABELS` begins and ends."""
        return Periods(
            low=np.array([0.0, 0.0, *self.cuts]),
            high=np.array([np.inf, *self.cuts, np.inf]),
        )

    def events(self) -> Events:
        """Return events observed and expected, in all time and in each third.

        A row that was observed from Λ₀ to Λ₁ expects Λ₁ − Λ₀ events, the part of it in
        each third.
        """
        low, high = self.periods
        event = self.event[:, None]
        hazard = self.hazard[:, None]
        entry = self.hazard_at_entry[:, None]
        # An event at a cut belongs to the third that ends there, one at 0 to the first.
        inside = ((hazard > low) | (low == 0.0)) & (hazard <= high)
        expected = np.clip(hazard, low, high) - np.clip(entry, low, high)
        return Events(observed=event & inside, expected=np.asarray(expected))

    @property
    def places(self) -> tuple[str, ...]:
        """Where each of the four periods lies on the scale of Λ, in words."""
        low, high = (f"{cut:g}" for cut in self.cuts)
        return ("", f"up to {low}", f"{low} to {high}", f"above {high}")

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        observed, expected = self.events()
        places = self.places
        for k, label in enumerate(PERIOD_LABELS):
            count = int(observed[rows, k].sum())
            mean = float(expected[rows, k].sum())
            if label and not count and mean < LEAST_EXPECTED:
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
            yield from outliers(reader, Residual(rows, self.far_scores, self.y_name))

    @property
    def far_scores(self) -> FloatArray:
        """Normal scores by which rows are outliers, (n,).

        A row that was censored early is none: its event may come at any time.
        """
        return np.where(self.event | (self.z > 0), self.z, 0.0)

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        """Return events observed less events expected in each period, (n, 4).

        Their variance is the number of expected events. Where censoring times are known, it
        is instead the probability of an event in the period before censoring, and times
        can be resampled.
        """
        residuals = rows.residuals
        assert isinstance(residuals, CensoredResiduals)
        observed, expected = self.events()
        about = tuple(Signal("events", self.y_name, label) for label in PERIOD_LABELS)
        if not residuals.can_resample:
            return Signals(
                about=about,
                values=observed - expected,
                variance=expected,
                redraw=None,
                bound=1.0,
            )
        until, start, stop = self._watched(residuals, rows, seed)

        def at_times(some: IntArray) -> OfResampled:
            """Return a function from times since entry (r, m) to signals (r, m, 4)."""
            first = start[some][:, None]
            last = stop[some][:, None]
            end = until[some][:, None, None]

            def evaluate(drawn: AnyArray) -> AnyArray:
                times = drawn[:, :, None]
                came = (times <= end) & (times > first) & (times <= last)
                passed = np.clip(times, first, last) - first
                return np.asarray(came - passed, dtype=np.float32)

            return evaluate

        def redraw(some: IntArray) -> Draw:
            evaluate = at_times(some)
            return lambda rng, m: evaluate(rng.standard_exponential((len(some), m)))

        return Signals(
            about=about,
            values=observed - expected,
            variance=np.exp(-start) - np.exp(-stop),
            redraw=redraw,
            bound=1.0,
            of_resampled=lambda: at_times(np.arange(self.n)),
        )

    def _watched(
        self, residuals: CensoredResiduals, rows: RowsInMemory, seed: Seed
    ) -> _Watched:
        """Return until when each row is, or would be, watched, and in which periods."""
        until = residuals.censoring_times(rows.neighbours(seed))
        low, high = self.periods
        entry = self.hazard_at_entry[:, None]
        start = np.maximum(low - entry, 0.0)
        stop = np.maximum(np.minimum(high - entry, until[:, None]), start)
        return _Watched(until, start, stop)

    def tilt(self, law: Law, rows: RowsInMemory, seed: Seed) -> Tilt:
        residuals = rows.residuals
        assert isinstance(residuals, CensoredResiduals)
        observed, expected = self.events()
        lengths = None
        if residuals.can_resample:
            _, start, stop = self._watched(residuals, rows, seed)
            lengths = (stop - start)[:, 1:]
        kinds = tuple(
            ErrorKind("hazard", self.y_name, label, Rate(), "events")
            for label in PERIOD_LABELS
        )
        return HazardTilt(
            kinds=kinds,
            log_ratio=np.zeros((self.n, 1)),
            observed=observed[:, None, 1:],
            exposure=expected[:, None, 1:],
            lengths=lengths,
        )


class _Watched(NamedTuple):
    """Until when rows are watched, and in which part of each period, in Λ from entry."""

    until: FloatArray  #: (n,).
    start: FloatArray  #: (n, 4).
    stop: FloatArray  #: (n, 4).


def _thirds_of_hazard(at_entry: FloatArray, at_end: FloatArray) -> tuple[float, float]:
    """Return Λ up to which a third, and two thirds, of the events are expected.

    From Λ at entry and at the end of each row, (n,) each; to two digits, as sentences give
    it. While Λ goes on by dΛ, each row that is under observation expects dΛ events.
    """
    both = np.concatenate([at_entry, at_end])
    order = np.argsort(both, kind="stable")
    under_observation = np.cumsum(np.where(order < len(at_entry), 1.0, -1.0))
    steps = under_observation[:-1] * np.diff(both[order])
    expected = np.append(0.0, np.cumsum(steps))
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
