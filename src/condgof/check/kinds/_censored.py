"""Times with censoring: events observed and events expected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Self

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
from condgof.laws import Law, hazard, moments_of
from condgof.residuals import CensoredResiduals, CensoredTestFunctions
from condgof.sample import Seed, content_order
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader

#: Labels of the four periods of which events are counted: all time, and three stretches of
#: it, the same for all rows, in each of which about a third of the events are expected.
PERIOD_LABELS = ("", "early third", "middle third", "late third")
#: A third in which fewer events are expected, and none was observed, has no finding.
LEAST_EXPECTED = 1.0
#: Rows, evenly spread over x, by which the ends of the thirds are chosen.
CUT_ROWS = 500
#: Times among which the ends of the thirds are chosen: quantiles of y.
CUT_TIMES = 33
#: Significant digits of the ends of the thirds, as sentences give them.
CUT_DIGITS = 2
#: Times at which pictures count events: quantiles of y.
CURVE_TIMES = 40
#: Of more rows than this, pictures do not count events in time: Λ would take 16 MB.
MOST_ROWS_IN_TIME = 50_000
#: The largest Λ at the end of a third. In double precision nobody is left there.
LARGEST_HAZARD = 1e6


class Events(NamedTuple):
    """Events of each row in all time and in each third of it."""

    observed: AnyArray  #: Whether the event was observed in the period, (n, 4).
    expected: FloatArray  #: How many are expected while the row was observed, (n, 4).


class Periods(NamedTuple):
    """Λ where all time, and each third of it, begin and end for each row, (n, 4) each."""

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
    #: Where the first third ends and where the second does: the times, in the unit of y, up
    #: to which about a third, and two thirds, of all events are expected.
    cuts: tuple[float, float]
    hazard_at_cuts: FloatArray  #: Λ at these times, (n, 2).
    #: Times at which pictures count events, (T,), and Λ then, (n, T); () until they are
    #: asked for.
    times: FloatArray = field(default_factory=lambda: np.zeros(0))
    hazard_in_time: FloatArray | None = None

    @classmethod
    def from_law(
        cls, table: RowTable, law: Law, residuals: CensoredResiduals
    ) -> CensoredRows:
        names = [column.name for column in table.y_columns]
        cuts = _thirds_of_time(table, law, residuals)
        return cls(
            table=table,
            comparison=residuals.columns(names),
            moments=moments_of(law),
            z=residuals.z,
            event=residuals.event > 0,
            hazard=residuals.hazard,
            hazard_at_entry=residuals.hazard_at_entry,
            cuts=cuts,
            hazard_at_cuts=hazard_at_times(law, np.array(cuts)),
        )

    def with_bands(self, law: Law, seed: Seed) -> Self:
        """Return the rows with Λ at the times at which pictures count events."""
        if self.n > MOST_ROWS_IN_TIME:
            return self
        levels = np.linspace(0.0, 1.0, CURVE_TIMES + 1)[1:]
        times = np.unique(np.quantile(self.y[:, 0], levels, method="inverted_cdf"))
        in_time = hazard_at_times(law, times)
        return replace(self, times=times, hazard_in_time=in_time)

    def expected_in_time(self, rows: IntArray) -> FloatArray | None:
        """Return how many events of some rows are expected up to each of `times`, (T,)."""
        if self.hazard_in_time is None:
            return None
        reached = np.minimum(self.hazard_in_time[rows], self.hazard[rows][:, None])
        entry = self.hazard_at_entry[rows][:, None]
        return np.asarray(np.maximum(reached - entry, 0.0).sum(axis=0, dtype=float))

    @property
    def periods(self) -> Periods:
        """Where each of the four periods of `PERIOD_LABELS` begins and ends."""
        zero = np.zeros((self.n, 1))
        infinite = np.full((self.n, 1), np.inf)
        ends = self.hazard_at_cuts
        return Periods(
            low=np.hstack([zero, zero, ends]), high=np.hstack([infinite, ends, infinite])
        )

    def events(self) -> Events:
        """Return events observed and expected, in all time and in each third.

        A row that was observed from Λ₀ to Λ₁ expects Λ₁ − Λ₀ events, the part of it in
        each third.
        """
        low, high = self.periods
        hazard = self.hazard[:, None]
        entry = self.hazard_at_entry[:, None]
        expected = np.clip(hazard, low, high) - np.clip(entry, low, high)
        # An event at a cut belongs to the third that ends there.
        times = self.y[:, :1]
        first, second = self.cuts
        starts = np.array([-np.inf, -np.inf, first, second])
        stops = np.array([np.inf, first, second, np.inf])
        inside = (times > starts) & (times <= stops)
        return Events(observed=self.event[:, None] & inside, expected=np.asarray(expected))

    @property
    def places(self) -> tuple[str, ...]:
        """Which times each of the four periods has, in words: "20 < week ≤ 37"."""
        low, high = (f"{cut:,g}" for cut in self.cuts)
        name = self.y_name
        return ("", f"{name} ≤ {low}", f"{low} < {name} ≤ {high}", f"{name} > {high}")

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        observed, expected = self.events()
        places = self.places
        for k, label in enumerate(PERIOD_LABELS):
            count: float = int(observed[rows, k].sum())
            mean = float(expected[rows, k].sum())
            weights = reader.weights_of(rows)
            if weights is not None:
                count = round(float(observed[rows, k] @ weights), 1)
                mean = float(expected[rows, k] @ weights)
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


def _thirds_of_time(
    table: RowTable, law: Law, residuals: CensoredResiduals
) -> tuple[float, float]:
    """Return the times up to which about a third, and two thirds, of events are expected.

    A row expects Λ(min(t, y)) − Λ(entry) events up to t. They are round numbers near
    quantiles of y.
    """
    order = content_order(table.x)
    some = order[:: -(-len(order) // CUT_ROWS)]
    levels = np.linspace(0.0, 1.0, CUT_TIMES)
    quantiles = np.quantile(table.y[:, 0], levels, method="inverted_cdf")
    times = np.unique([float(f"{time:.{CUT_DIGITS}g}") for time in quantiles])
    at_end = residuals.hazard[some][:, None]
    at_entry = residuals.hazard_at_entry[some][:, None]
    by_then = np.minimum(hazard_at_times(law.take(some), times), at_end)
    expected = np.maximum(by_then - at_entry, 0.0).sum(axis=0)
    total = float((at_end - at_entry).sum())
    first, second = (
        float(times[np.argmin(np.abs(expected - share * total))])
        for share in (1 / 3, 2 / 3)
    )
    return first, second


def hazard_at_times(law: Law, times: FloatArray) -> FloatArray:
    """Return Λ(t) = −log P(Y > t|x) of n rows at m times, (n, m), at most 1e6."""
    low, high = (np.broadcast_to(end, (law.n, 1))[:, 0] for end in law.support)
    result = np.zeros((law.n, len(times)))
    for k, time in enumerate(times):
        result[time >= high, k] = LARGEST_HAZARD
        inside = np.flatnonzero((time > low) & (time < high))
        if len(inside):
            z = law.take(inside).normal_scores(np.full((len(inside), 1), time))[:, 0]
            result[inside, k] = np.minimum(hazard(z), LARGEST_HAZARD)
    return result


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
