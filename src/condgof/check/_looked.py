"""The rows that a check looks at: what numbers, slices and pictures are made of, and their frame.

And signals, the functions of y, of mean 0 under the law, whose sums over rows the search
compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import WHOLE, Axis, axes_of, moments, unique_names
from condgof.engine import Engine
from condgof.errors import CondgofError, require
from condgof.laws._counts import cell_of, standardised
from condgof.laws._discrete import normalised
from condgof.laws._draws import RankOutcomes, RowDraws
from condgof.laws._known import CellsOfY, Event
from condgof.laws._law import Joined, Law, ModelLike, grid_of
from condgof.laws._ratio import RatioOutcomes
from condgof.laws._survival import hazard
from condgof.methods._lowrank import until_of
from condgof.methods._scored import CENSORED, SUBSAMPLE, Scored, score_rows
from condgof.sample import Column, Seed, Use
from condgof.stein._evidence import legendre_at as legendre

#: Of a stream so many rows are looked at; of so many the model's quantiles are asked for.
STREAMED, BAND_COUNT = 20_000, 600
#: The largest count that is drawn by itself, and the least sd; at one time so many rows of
#: counts, or numbers of draws, are looked at; rows that tell that a prediction is no
#: function of one column.
MOST_COUNTS, LEAST_SCALE, PIECE, CANDIDATES, FEW = 60, 1e-6, 4096, 2**21, 64
#: At most so many columns of y are looked at in pairs, so many events and classes by
#: themselves.
MOST_TOGETHER, MOST_EVENTS, MOST_CLASSES = 5, 6, 12
#: Uses of random numbers in a check; see `condgof.check._scan`.
BAND_ROWS, LOOK_ROWS = 25, 26
#: Levels of the quantiles that pictures draw.
BANDS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Shift, spread, skew and tails, and E[ψ³] of each: what a normal approximation of their
#: sums lacks.
KINDS = ("shift", "spread", "skew", "tails")
THIRD = (0.0, 0.63888, 0.0, 0.48551)
#: Parts of the time that rows were watched, on the scale of Λ; see `Looked.cuts`.
THIRDS = ("", "early third", "middle third", "late third")

#: Draws y anew m times: the signals of some rows, (rows, m, K); and what makes it for
#: these.
Draw = Callable[[np.random.Generator, int], AnyArray]
Redraw = Callable[[IntArray], Draw]
#: A column of the frame, and its values: numbers, or positions of levels.
Part: TypeAlias = tuple[Column, AnyArray]


@dataclass(frozen=True, eq=False)
class Looked:
    """Rows in memory, in the order of the data, with what the model says of them."""

    #: "continuous", "several" (columns of y), "classes", "counts", "quantiles",
    #: "intervals", "censored", or "moments" or "scores" where these are all that is known;
    #: the number of each row in the data.
    kind: str
    rows: IntArray
    #: The columns of x and their values (n, d_x); and as slices can name them, then the
    #: predictions.
    x_columns: tuple[Column, ...]
    x: FloatArray
    axes: tuple[Axis, ...]
    #: y as numbers (n, d_y); of classes, the labels are `class_names[codes]`.
    y: FloatArray
    y_columns: tuple[Column, ...]
    #: Standard normal under the model, (n, d_y); of counts (y − mean)/sd; of scores alone
    #: None. How many draws of each row the law is known by, if it is.
    z: FloatArray | None = None
    draws: int = 0
    #: Of several columns: what the model says of the product of z of each pair, (n, pairs),
    #: if it does.
    together: FloatArray | None = None
    #: What the model predicts: location and scale of y, (n, d_y) each.
    location: FloatArray | None = None
    scale: FloatArray | None = None
    #: The model's quantiles of y at the levels `BANDS`, (n, 5), NaN in rows that were not
    #: asked.
    bands: FloatArray | None = None
    #: Of scores alone, ∇ log p(y|x), and y in the coordinates that they are of, (n, d_y);
    #: of times with censoring, normal scores of y.
    scores: FloatArray | None = None
    scored_y: FloatArray | None = None
    #: Of classes, probabilities (n, K); of a discrete y, the observed class or cell, (n,).
    probabilities: AnyArray | None = None
    codes: IntArray | None = None
    class_names: tuple[str, ...] = ()
    #: Of quantiles and intervals, what the law says of y.
    events: tuple[Event, ...] = ()
    #: Of counts: the mean over all rows of the model's probabilities of 0, 1, …, and of all
    #: above, (m,); in each row the probability of 0, of the most probable one, of y or a
    #: larger one, (n,).
    count_probabilities: FloatArray | None = None
    zeros: FloatArray | None = None
    surest: FloatArray | None = None
    upper: FloatArray | None = None
    #: Of times with censoring: whether the event came at y, Λ = −log P(Y > ·|x) at y and at
    #: entry, (n,) each, and Λ up to which about a third, and two thirds, of all events are
    #: expected.
    event: AnyArray | None = None
    hazard: FloatArray | None = None
    before: FloatArray | None = None
    cuts: tuple[float, ...] = (0.0, 0.0)
    #: Number of rows of the data.
    whole: int = 0

    @property
    def n(self) -> int:
        return len(self.rows)

    @property
    def pit(self) -> FloatArray | None:
        """Φ(z), uniform under the model, (n, d_y); None where there is none."""
        scored = self.kind in ("continuous", "several")
        return np.asarray(ndtr(self.z)) if scored and self.z is not None else None

    def tells(self, tail: float) -> bool:
        """Whether the law tells what it gives this probability, at either end: a few draws do not."""
        return not self.draws or tail * (self.draws + 1) >= 1.0

    @property
    def some_events(self) -> tuple[Event, ...]:
        """The events that are looked at by themselves, evenly spread."""
        last = len(self.events) - 1
        chosen = np.linspace(0, last, min(last + 1, MOST_EVENTS)).astype(int)
        return tuple(self.events[k] for k in chosen)

    @property
    def largest_classes(self) -> IntArray:
        """The most probable classes over all rows; of two, the second."""
        shares = np.asarray(self.probabilities, dtype=np.float64).mean(axis=0)
        largest = np.sort(np.argsort(-shares, kind="stable")[:MOST_CLASSES])
        return largest if len(shares) > 2 else np.array([1])

    @property
    def has_zeros(self) -> bool:
        """Whether a count was 0, or one should have been."""
        return self.zeros is not None and bool((self.y == 0).any() or self.zeros.sum() >= 1)

    @property
    def all_rows(self) -> bool:
        return self.n == self.whole


def some_rows(n: int, most: int, seed: Seed, use: int) -> IntArray:
    """Return the numbers of n rows, or where there are more of `most` at random, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(seed.stream(Use.CHECK, use).choice(n, most, replace=False))


def look(
    model: ModelLike, scored: Scored, seed: Seed, engine: Engine
) -> tuple[Looked, Law, Scored]:
    """Take the rows to look at: all that are in memory, of a stream some at random."""
    if scored.source is not None:
        numbers = some_rows(scored.n, STREAMED, seed, LOOK_ROWS)
        rows, law = score_rows(scored, numbers, engine)
    else:
        assert isinstance(model, Law)
        rows, law, kept = scored, model, scored.sample.kept
        numbers = np.arange(scored.n) if kept is None else kept
    sample, kind = rows.sample, _kind(law, rows)
    fields = said_of(law, rows, kind)
    if kind in ("continuous", "counts"):
        fields["bands"] = _bands(law, len(numbers), seed)
    given = numbers, sample.x_columns, sample.x, (), sample.y, sample.y_columns
    looked = Looked(kind, *given, whole=scored.n, **fields)
    predictions = list(_predicted(looked)) if law.of_x else []
    if (
        len(looked.class_names) == 2
    ):  # which one is predicted, and how surely, is in its probability
        predictions = predictions[:1]
    axes = axes_of(sample.x_columns, sample.x, predictions)
    # A slice of a single column says it better than one of a prediction that the column
    # tells.
    numbers_of_x = [
        axis.values for axis in axes if not axis.predicted and axis.levels is None
    ]
    axes = tuple(
        axis
        for axis in axes
        if not (axis.predicted and axis.levels is None)
        or not any(_monotone(axis.values, values) for values in numbers_of_x)
    )
    return replace(looked, axes=axes), law, rows


def said_of(law: Law, rows: Scored, kind: str) -> dict[str, Any]:
    """Return what the law says of y, as fields of `Looked`."""
    if kind == "counts":
        return _said_of_counts(law, rows)
    if kind == "classes":
        assert rows.outcomes is not None
        names = tuple(map(str, getattr(law, "class_names", None) or ()))
        codes, p = rows.outcomes.observed, rows.outcomes.probabilities
        return {"codes": codes, "probabilities": p, "class_names": names}
    given, fields = moments_of(law), dict[str, Any]()
    if given is not None:
        fields |= {"location": given[0], "scale": given[1]}
    if kind in ("continuous", "several", "moments"):
        first = law.first if isinstance(law, Joined) else law
        draws = first.values.shape[1] if isinstance(first, RowDraws) else 0
        fields |= {"z": rows.y, "together": _together(rows), "draws": draws}
    elif kind == "scores":
        # Of counts, the difference operator applied to the constant: about a score of the
        # counts in `y`.
        s = (
            rows.scores
            if rows.cells is None
            else np.asarray(rows.scores).sum(axis=1, keepdims=True)
        )
        fields |= {"scores": s, "scored_y": rows.y}
    elif kind == "censored":
        fields |= {"event": rows.scores[:, 1] > 0, "hazard": hazard(rows.y[:, 0])}
        fields |= {"before": hazard(rows.scores[:, 2]), "scored_y": rows.y}
        fields["cuts"] = _cuts(fields["before"], fields["hazard"])
    elif isinstance(law, CellsOfY) and rows.outcomes is not None:
        fields |= {"codes": rows.outcomes.observed, "events": law.events}
    return fields


def _together(rows: Scored) -> FloatArray | None:
    """Return what the law says of products of z of two columns: 0 where it makes them independent."""
    first, second = column_pairs(rows.sample.d_y)
    if rows.by == "cdf":
        return np.zeros((rows.n, len(first)))
    if not isinstance(rows.outcomes, RankOutcomes):
        return None
    ranks = rows.outcomes.ranks[:, 1:, : rows.sample.d_y]
    products, half = np.empty((rows.n, len(first))), 0.5 / (ranks.shape[1] + 1)
    for start in range(0, rows.n, PIECE):
        u = np.asarray(ranks[start : start + PIECE], dtype=np.float64)
        ends = [
            np.exp(-0.5 * np.square(ndtri(np.clip(u + move, 0.0, 1.0))))
            for move in (-half, half)
        ]
        # The mean of z between two ranks; within them it is random, in each column for
        # itself.
        mean = (ends[0] - ends[1]) / (2.0 * half * np.sqrt(2.0 * np.pi))
        products[start : start + PIECE] = (mean[..., first] * mean[..., second]).mean(
            axis=1
        )
    return products


def column_pairs(d_y: int) -> tuple[IntArray, IntArray]:
    return np.triu_indices(min(d_y, MOST_TOGETHER), 1)


def _monotone(a: FloatArray, b: FloatArray) -> bool:
    """Whether a is an increasing or decreasing function of b."""
    few = np.linspace(0, len(a) - 1, min(len(a), FEW)).astype(np.int64)
    for some in (few, np.arange(len(a))):
        order = np.lexsort((a[some], b[some]))
        steps, ties = np.diff(a[some][order]), np.diff(b[some][order]) == 0
        if not ((steps >= 0).all() or (steps <= 0).all()) or (steps[ties] != 0).any():
            return False
    return True


def _cuts(before: FloatArray, after: FloatArray) -> tuple[float, ...]:
    """Return Λ up to which a third, and two thirds, of the events are expected, to two digits."""
    order = np.argsort(both := np.concatenate([before, after]), kind="stable")
    watched = np.cumsum(np.where(order < len(before), 1.0, -1.0))
    expected = np.append(0.0, np.cumsum(watched[:-1] * np.diff(both[order])))
    ends = np.interp(expected[-1] * np.array([1.0, 2.0]) / 3.0, expected, both[order])
    return tuple(float(f"{end:.2g}") for end in ends)


def _kind(law: Law, rows: Scored) -> str:
    if rows.by == CENSORED:
        return "censored"
    if rows.cells is None:
        if rows.by in ("cdf", "marginals"):
            return "continuous" if rows.sample.d_y == 1 else "several"
        return "moments" if rows.by == "mean_std" else "scores"
    first = rows.cells.blocks[0]
    if first.name.startswith("ranks,"):
        return "several"
    if isinstance(law, CellsOfY):
        return law.SEEN[0]
    if not first.distances:
        return "classes"
    return (
        "counts" if rows.outcomes is not None else "scores"
    )  # very many counts, and ratios alone


def moments_of(
    law: Law, ability: str = "location_scale"
) -> tuple[FloatArray, FloatArray] | None:
    """Return what the law predicts of y, (n, d_y) each, where it has both and they are finite."""
    if not (law.can(ability) or law.can("mean_std")):
        return None
    try:
        location, scale = (
            np.asarray(part, dtype=np.float64) for part in getattr(law, ability)()
        )
    except CondgofError:  # a library's law that has no moments says so when it is asked
        return None
    if scale.ndim == 3:
        scale = np.sqrt(np.square(scale).sum(axis=2))
    scale = np.broadcast_to(scale, location.shape)
    return (
        (location, scale)
        if np.isfinite(location).all() and np.isfinite(scale).all()
        else None
    )


def _said_of_counts(law: Law, rows: Scored) -> dict[str, Any]:
    """Return what the law says of counts: (y − mean)/sd, and how often each is expected."""
    y, n, outcomes, fields = rows.sample.y, rows.n, rows.outcomes, dict[str, Any]()
    assert outcomes is not None
    pieces = np.split(np.arange(n), np.arange(PIECE, n, PIECE))
    surest = [outcomes.take(piece).probabilities.max(axis=1) for piece in pieces]
    fields["surest"] = np.concatenate(surest)
    given: tuple[FloatArray, FloatArray] | None
    if isinstance(outcomes, RatioOutcomes):
        p, start = outcomes.probabilities, outcomes.start
        at = np.arange(float(p.shape[1]))
        mean = (p @ at)[:, None]
        given = (
            start[:, None] + mean,
            np.sqrt((p * np.square(at - mean)).sum(axis=1, keepdims=True)),
        )
        fields["zeros"] = np.where(start == 0, p[:, 0], 0.0)
        fields["upper"] = np.cumsum(p[:, ::-1], axis=1)[:, ::-1][
            np.arange(n), outcomes.observed
        ]
    else:
        given = moments_of(law, "mean_std")
        if law.can("cdf"):
            most = int(min(max(np.quantile(y, 0.99) + 2, 5), MOST_COUNTS))
            total, zeros = np.zeros(most + 1), []
            for piece in pieces:
                grid = grid_of(law.take(piece), np.arange(-1.0, most + 1))
                total += grid[:, 1:].sum(axis=0)
                zeros.append(grid[:, 1] - grid[:, 0])
            fields["count_probabilities"] = np.diff(total / n, prepend=0.0, append=1.0)
            fields |= {"zeros": np.concatenate(zeros), "upper": 1.0 - law.cdf(y - 1.0)}
    if given is not None:
        z = (y - given[0]) / np.maximum(given[1], LEAST_SCALE)
        fields |= {"location": given[0], "scale": given[1], "z": z}
    return fields


def _bands(law: Law, n: int, seed: Seed) -> FloatArray | None:
    rows, bands = (
        some_rows(n, BAND_COUNT, seed, BAND_ROWS),
        np.full((n, len(BANDS)), np.nan),
    )
    try:
        bands[rows] = law.take(rows).quantile(BANDS)
    except CondgofError:
        return None
    return bands if np.isfinite(bands[rows]).all() else None


def frame_of(looked: Looked, *, outcomes: bool = True) -> Any:
    """Return x, y, what is predicted, and residuals; the index is the number of each row in the data.

    Without `outcomes`, what is known before y is.
    """
    pandas = require("pandas", "frames", "A frame of the rows")
    x = _named(list(zip(looked.x_columns, looked.x.T, strict=True)))
    # What slices can name has the first choice of names.
    taken = [*x, *(axis.name for axis in looked.axes if not axis.predicted)]
    predicted = _named(list(_predicted(looked)), taken)
    y = list(zip(looked.y_columns, looked.y.T, strict=True))
    if looked.kind == "classes" and looked.codes is not None:
        y = [(Column(looked.y_columns[0].name, looked.class_names), looked.codes)]
    seen = _named([*y, *_residuals(looked)], [*x, *predicted])
    own = list(seen) if outcomes else []
    parts = x | predicted | seen
    order = [*x, *own[: len(y)], *predicted, *own[len(y) :]]
    values = {name: _in_pandas(pandas, *parts[name]) for name in order}
    return pandas.DataFrame(values).set_axis(looked.rows)


def _named(parts: list[Part], taken: Iterable[str] = ()) -> dict[str, Part]:
    return dict(
        zip(unique_names([column.name for column, _ in parts], taken), parts, strict=True)
    )


def _predicted(looked: Looked) -> Iterator[Part]:
    if looked.kind == "classes" and looked.probabilities is not None:
        p = np.asarray(looked.probabilities, dtype=np.float64)
        if len(looked.class_names) == 2:
            yield Column(f"probability_{looked.class_names[1]}"), p[:, 1]
        yield Column("predicted", looked.class_names), p.argmax(axis=1) * 1.0
        yield Column("confidence"), p.max(axis=1)
    yield from _each(looked, "predicted", looked.location)
    yield from _each(
        looked, "predicted_width" if looked.events else "predicted_sd", looked.scale
    )


def _residuals(looked: Looked) -> Iterator[Part]:
    if looked.event is not None and looked.hazard is not None and looked.before is not None:
        yield Column("event"), looked.event.astype(np.int64)
        yield Column("cumulative_hazard"), looked.hazard
        if looked.before.any():
            yield Column("hazard_at_entry"), looked.before
    yield from _each(looked, "pit", looked.pit)
    yield from _each(looked, "z", looked.z)
    for event in looked.events:
        below = event.kind == "quantile"
        name = f"below_q{event.level:g}" if below else f"covered_{100 * event.level:g}"
        yield Column(name, boolean=True), event.happened(np.asarray(looked.codes))


def _each(looked: Looked, name: str, values: AnyArray | None) -> Iterator[Part]:
    """List the columns of some values (n, d_y), named after columns of y if there are several."""
    for i, column in enumerate(looked.y_columns if values is not None else ()):
        single = len(looked.y_columns) == 1
        yield Column(name if single else f"{name}_{column.name}"), np.asarray(values)[:, i]


def _in_pandas(pandas: Any, column: Column, values: AnyArray) -> Any:
    if column.levels is not None and column.ordered:
        return pandas.Categorical.from_codes(
            values.astype(np.int64), list(column.levels), ordered=True
        )
    made = column_values(column, values)
    return made if column.levels is None else pandas.Series(made, dtype=object)


def column_values(column: Column, values: AnyArray) -> AnyArray:
    if column.levels is not None:
        return np.array(column.levels, dtype=object)[values.astype(np.int64)]
    if column.dates:
        return moments(values).astype("M8[us]")
    if column.boolean:
        return values.astype(bool)
    whole = np.all(np.abs(values) < WHOLE) and np.all(values == np.floor(values))
    return values.astype(np.int64) if whole else values


class Signal(NamedTuple):
    """What a function of y is about; see `Finding`."""

    kind: str
    column: str
    label: str = ""

    @classmethod
    def of(cls, event: Event, column: str) -> Signal:
        quantile = event.kind == "quantile"
        return cls(
            event.kind,
            column,
            f"{event.level:g}" if quantile else f"{100 * event.level:g}%",
        )


@dataclass(frozen=True, eq=False)
class CellSignals:
    """Signals of a discrete y, cell by cell."""

    #: Of some rows (r,): probabilities of their cells, (r, C); signals of cells (r, m), (r,
    #: m, K).
    probabilities: Callable[[IntArray], FloatArray]
    at: Callable[[IntArray, IntArray], AnyArray]

    def take(self, rows: IntArray) -> CellSignals:
        return CellSignals(
            lambda some: self.probabilities(rows[some]),
            lambda some, codes: self.at(rows[some], codes),
        )

    def redraw(self, rows: IntArray) -> Draw:
        sums, offsets = (
            np.cumsum(self.probabilities(rows), axis=1),
            np.arange(len(rows))[:, None],
        )
        ends, count = (sums / sums[:, -1:] + offsets).ravel(), sums.shape[1]

        def draw(rng: np.random.Generator, m: int) -> AnyArray:
            places = np.searchsorted(
                ends, rng.random((len(rows), m)) + offsets, side="right"
            )
            return self.at(rows, np.minimum(places - count * offsets, count - 1))

        return draw


@dataclass(frozen=True, eq=False)
class Signals:
    about: tuple[Signal, ...]
    #: (n, K), and their variance under the law, None where it is not known.
    values: FloatArray
    variance: FloatArray | None
    #: None where y cannot be drawn anew; how many of the first are looked at in pairs of
    #: columns of x.
    redraw: Redraw | None
    first: int = 2
    #: E[ψ³] of each where it is the same in all rows; how large each can be, of a discrete
    #: law.
    third: tuple[float, ...] = ()
    bound: FloatArray | float | None = None
    #: Of a discrete law with known probabilities.
    cells: CellSignals | None = None

    @property
    def skewness(self) -> FloatArray:
        """Of signals whose law is not known, as they are, (K,); 0 where the null knows it."""
        if self.variance is not None:
            return np.zeros(len(self.about))
        return np.asarray(
            (self.values**3).mean(axis=0) / np.maximum(self.square, 1e-300) ** 1.5
        )

    @cached_property
    def square(self) -> FloatArray:
        return np.asarray(np.square(self.values).mean(axis=0))

    def take(self, rows: IntArray) -> Signals:
        redraw, variance = (
            self.redraw,
            None if self.variance is None else self.variance[rows],
        )
        of_some = None if redraw is None else lambda some: redraw(rows[some])
        cells = None if self.cells is None else self.cells.take(rows)
        return replace(
            self, values=self.values[rows], variance=variance, redraw=of_some, cells=cells
        )


def signals_of(looked: Looked, law: Law, rows: Scored, seed: Seed) -> Signals:
    if isinstance(rows.outcomes, RankOutcomes):
        return _of_ranks(looked, rows.outcomes)
    if (u := looked.pit) is not None:
        return _of_pits(looked, u, known=rows.by == "cdf")
    if looked.kind == "censored":
        return _of_censored(looked, until_of(rows, seed) if rows.n <= SUBSAMPLE else None)
    if looked.kind == "classes":
        return _of_classes(looked)
    if looked.kind in ("quantiles", "intervals"):
        return _of_events(looked, rows)
    return _of_counts(looked, law, rows) if looked.kind == "counts" else _of_scores(looked)


def _of_columns(u: AnyArray, pairs: tuple[IntArray, IntArray]) -> AnyArray:
    """Return the signals (..., K) of PITs (..., d_y): of several columns shift and spread, and pairs."""
    each = legendre(u)
    if u.shape[-1] == 1:
        return each[..., 0, :]
    shift, spread = each[..., 0], each[..., 1]
    return np.concatenate(
        [shift, spread, shift[..., pairs[0]] * shift[..., pairs[1]]], axis=-1
    )


def _about(looked: Looked, pairs: tuple[IntArray, IntArray]) -> tuple[Signal, ...]:
    names = [column.name for column in looked.y_columns]
    about = [
        Signal(kind, name)
        for kind in KINDS[: 4 if len(names) == 1 else 2]
        for name in names
    ]
    both = zip(*pairs, strict=True)
    return (*about, *(Signal("correlation", f"{names[a]} and {names[b]}") for a, b in both))


def _of_pits(looked: Looked, u: FloatArray, known: bool) -> Signals:
    """Of PITs; where columns of y have one each that are not known to be independent, no pairs."""
    d_y = len(looked.y_columns)
    pairs, third = column_pairs(d_y if known else 1), THIRD if d_y == 1 else ()

    def redraw(rows: IntArray) -> Draw:
        return lambda rng, m: _of_columns(
            rng.random((len(rows), m, d_y), dtype=np.float32), pairs
        )

    about, values = _about(looked, pairs), _of_columns(u, pairs)
    variance = np.broadcast_to(1.0, values.shape) if known else None
    return Signals(about, values, variance, redraw if known else None, 2 * d_y, third)


def _of_ranks(looked: Looked, outcomes: RankOutcomes) -> Signals:
    """Of several columns of draws: y could have been any of them, and columns may go together."""
    ranks, pairs = outcomes.ranks[:, :, : outcomes.columns], column_pairs(outcomes.columns)
    n, count, d_y = ranks.shape
    about = _about(looked, pairs)
    values, mean, variance = np.empty((3, n, len(about)))
    step = max(1, CANDIDATES // (count * len(about)))
    for start in range(0, n, step):
        some = slice(start, start + step)
        each = _of_columns(np.asarray(ranks[some], dtype=np.float64), pairs)
        mean[some], variance[some], values[some] = (
            each.mean(axis=1),
            each.var(axis=1),
            each[:, 0],
        )

    def redraw(rows: IntArray) -> Draw:
        centre = mean[rows].astype(np.float32)[:, None]
        some, each = ranks[rows], np.arange(len(rows))[:, None]

        def draw(rng: np.random.Generator, m: int) -> AnyArray:
            return (
                _of_columns(some[each, rng.integers(0, count, (len(some), m))], pairs)
                - centre
            )

        return draw

    bound = np.abs(_of_columns(np.ones(d_y), pairs)) + np.abs(mean).max(axis=0)
    return Signals(about, values - mean, variance, redraw, 2 * d_y, bound=bound)


def _of_classes(looked: Looked) -> Signals:
    whole, name = np.asarray(looked.probabilities), looked.y_columns[0].name
    largest = looked.largest_classes
    classes = (Signal("class", name, looked.class_names[k]) for k in largest)
    about = (Signal("confidence", name), *classes)

    p = normalised(whole)
    top = np.argmax(p, axis=1)
    mean = np.column_stack([p[np.arange(len(p)), top], p[:, largest]])

    def at(rows: IntArray, codes: IntArray) -> AnyArray:
        happened = (codes == top[rows][:, None])[:, :, None], codes[:, :, None] == largest
        expected = mean[rows][:, None].astype(np.float32)
        return np.concatenate(happened, axis=2, dtype=np.float32) - expected

    cells = CellSignals(lambda rows: normalised(whole[rows]), at)
    values = at(np.arange(len(whole)), np.asarray(looked.codes)[:, None])[:, 0].astype(
        np.float64
    )
    return Signals(about, values, mean * (1.0 - mean), cells.redraw, bound=1.0, cells=cells)


def events_of(looked: Looked) -> tuple[AnyArray, FloatArray]:
    """Return the events, and those that the model expects, of all time and of each third, (n, 4) each.

    A row that was watched from Λ₀ to Λ₁ expects as many events as the length of that.
    """
    low, high = _thirds(looked)
    watched = (looked.event, looked.hazard, looked.before)
    event, hazard, before = (np.asarray(part)[:, None] for part in watched)
    # An event at a cut belongs to the third that ends there, one at 0 to the first.
    inside = ((hazard > low) | (low == 0.0)) & (hazard <= high)
    return event & inside, np.asarray(
        np.clip(hazard, low, high) - np.clip(before, low, high)
    )


def _thirds(looked: Looked) -> tuple[FloatArray, FloatArray]:
    """Return where all time, and each third of it, begin and end, (4,) each."""
    return np.array([0.0, 0.0, *looked.cuts]), np.array([np.inf, *looked.cuts, np.inf])


def _of_censored(looked: Looked, until: FloatArray | None) -> Signals:
    """Of times with censoring: events less what is expected, which is the variance, too.

    Where it is known `until` when rows are censored, (n,), that is P(low < Λ ≤ high) up to
    then.
    """
    happened, expected = events_of(looked)
    about = tuple(Signal("events", looked.y_columns[0].name, label) for label in THIRDS)
    if until is None:
        return Signals(about, happened - expected, expected, None, bound=1.0)
    (low, high), before = _thirds(looked), np.asarray(looked.before)[:, None]
    start = np.maximum(low - before, 0.0)
    stop = np.maximum(np.minimum(high - before, until[:, None]), start)

    def redraw(rows: IntArray) -> Draw:
        first, last, end = (
            start[rows][:, None],
            stop[rows][:, None],
            until[rows][:, None, None],
        )

        def draw(rng: np.random.Generator, m: int) -> AnyArray:
            times = rng.standard_exponential((len(rows), m, 1))
            came = (times <= end) & (times > first) & (times <= last)
            passed = np.clip(times, first, last) - first
            return np.asarray(came - passed, dtype=np.float32)

        return draw

    return Signals(
        about, happened - expected, np.exp(-start) - np.exp(-stop), redraw, bound=1.0
    )


def _of_events(looked: Looked, rows: Scored) -> Signals:
    """Of quantiles and intervals: whether each of their statements held."""
    assert rows.outcomes is not None
    events, shares = (
        looked.some_events,
        np.asarray(rows.outcomes.probabilities[0], dtype=np.float64),
    )
    about = tuple(Signal.of(event, looked.y_columns[0].name) for event in events)
    level = np.array([event.level for event in events])
    table = (
        np.column_stack([event.happened(np.arange(len(shares))) for event in events])
        - level
    )
    variance = np.broadcast_to(level * (1.0 - level), (looked.n, len(events)))
    small, values = table.astype(np.float32), table[rows.outcomes.observed]
    cells = CellSignals(
        lambda some: np.broadcast_to(shares, (len(some), len(shares))),
        lambda some, codes: small[codes],
    )
    return Signals(
        about, values, variance, cells.redraw, len(events), bound=1.0, cells=cells
    )


def _of_counts(looked: Looked, law: Law, rows: Scored) -> Signals:
    """Of counts with known probabilities: shift and spread by the middle of each step, and zeros."""
    assert rows.outcomes is not None
    outcomes, name = rows.outcomes, looked.y_columns[0].name
    if isinstance(outcomes, RatioOutcomes):
        zero = -outcomes.start.astype(np.int64)
    else:
        units = (part[:, 0] for part in law.location_scale())
        zero = cell_of(standardised(np.zeros(looked.n), *units))
    zeros = looked.has_zeros
    about = tuple(Signal(kind, name) for kind in ("shift", "spread", "zeros")[: 2 + zeros])

    def probabilities(some: IntArray) -> FloatArray:
        return np.asarray(normalised(outcomes.take(some).probabilities))

    def uncentred(some: IntArray, p: FloatArray, codes: IntArray) -> FloatArray:
        """Return the signals of cells (r, m), (r, m, K), less no mean."""
        middle = np.take_along_axis(np.cumsum(p, axis=1) - 0.5 * p, codes, axis=1)
        made = legendre(np.clip(middle, 0.0, 1.0))[..., : 2 + zeros]
        if zeros:
            made[..., 2] = codes == zero[some][:, None]
        return np.asarray(made)

    def at(some: IntArray, codes: IntArray) -> AnyArray:
        made = uncentred(some, probabilities(some), codes) - mean[some][:, None]
        return np.asarray(made, dtype=np.float32)

    (values, variance, mean), bound = (
        np.empty((3, looked.n, len(about))),
        np.zeros(len(about)),
    )
    for some in np.split(np.arange(looked.n), np.arange(PIECE, looked.n, PIECE)):
        p = probabilities(some)
        made = uncentred(some, p, np.broadcast_to(np.arange(p.shape[1]), p.shape))
        mean[some] = (p[:, :, None] * made).sum(axis=1)
        made -= mean[some][:, None]
        variance[some] = (p[:, :, None] * np.square(made)).sum(axis=1)
        values[some] = made[np.arange(len(some)), outcomes.observed[some]]
        bound = np.maximum(bound, np.abs(made).max(axis=(0, 1)))
    cells = CellSignals(probabilities, at)
    return Signals(about, values, variance, cells.redraw, bound=bound, cells=cells)


def _of_scores(looked: Looked) -> Signals:
    """Of residuals of mean 0 and variance 1; of scores, E[s] = 0 and E[s(y − c)] = −1, whatever c is."""
    names = [column.name for column in looked.y_columns]
    about = tuple(Signal(kind, name) for kind in KINDS[:2] for name in names)
    if looked.z is not None:
        parts, first = [looked.z, np.square(looked.z) - 1.0], 2
    else:
        s, y = (
            np.asarray(part, dtype=np.float64) for part in (looked.scores, looked.scored_y)
        )
        parts, first = [-s, -s * (y - y.mean(axis=0)) - 1.0], 2 * len(names)
    return Signals(about, np.concatenate(parts, axis=1), None, None, first)
