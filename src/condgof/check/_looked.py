"""The rows that a check looks at: what numbers, slices and pictures are made of, and their frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import WHOLE, Axis, axes_of, moments, unique_names
from condgof.engine import Engine
from condgof.errors import CondgofError, require
from condgof.laws._draws import RankOutcomes, RowDraws
from condgof.laws._known import CellsOfY, Event
from condgof.laws._law import Joined, Law, ModelLike, grid_of
from condgof.laws._ratio import RatioOutcomes
from condgof.laws._survival import hazard
from condgof.methods._scored import CENSORED, Scored
from condgof.methods._sources import Stream
from condgof.sample import Column, Seed, Use

#: Of a stream so many rows are looked at; of so many the model's quantiles are asked for.
STREAMED, BAND_COUNT = 20_000, 600
#: The largest count that is drawn by itself, rows of counts that are looked at together, the least sd.
MOST_COUNTS, PIECE, LEAST_SCALE = 60, 4096, 1e-6
#: Rows that tell at once that a prediction is no function of one column.
FEW = 64
#: At most so many columns of y are looked at in pairs, and so many events by themselves.
MOST_TOGETHER, MOST_EVENTS = 5, 6
#: Uses of random numbers in a check; see `condgof.check._scan`.
BAND_ROWS, LOOK_ROWS = 25, 26
#: Quantiles by which counts without a variance are told.
COUNT_LEVELS = (0.5, 0.9)
#: Levels of the model's quantiles of y that pictures draw.
BANDS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: A column of the frame, and its values: numbers, or positions of levels.
Part: TypeAlias = tuple[Column, AnyArray]


@dataclass(frozen=True, eq=False)
class Looked:
    """Rows in memory, in the order of the data, with what the model says of them."""

    #: "continuous", "several" (columns of y), "classes", "counts", "quantiles", "intervals", "censored"
    #: (times of which some are known only to be later), or "scores" where scores are all that is known.
    kind: str
    #: The number of each row in the data, (n,).
    rows: IntArray
    #: The columns of x and their values (n, d_x); and as slices can name them, then the predictions.
    x_columns: tuple[Column, ...]
    x: FloatArray
    axes: tuple[Axis, ...]
    #: y as numbers (n, d_y); of classes, the labels are `class_names[codes]`.
    y: FloatArray
    y_columns: tuple[Column, ...]
    #: Standard normal under the model, (n, d_y); of counts (y − mean)/sd; of scores alone None.
    z: FloatArray | None = None
    #: How many draws of each row the law is known by; 0 if it is known otherwise.
    draws: int = 0
    #: Of several columns: what the model says of the product of z of each pair, (n, pairs), if it does.
    together: FloatArray | None = None
    #: What the model predicts: location and scale of y, (n, d_y) each.
    location: FloatArray | None = None
    scale: FloatArray | None = None
    #: Some of the rows, and the model's quantiles of y there at the levels `BANDS`, (m, 5).
    band_rows: IntArray | None = None
    band_values: FloatArray | None = None
    #: Of scores alone, ∇ log p(y|x), and y in the coordinates that they are of, (n, d_y); of times with
    #: censoring, normal scores of y.
    scores: FloatArray | None = None
    scored_y: FloatArray | None = None
    #: Of classes, probabilities (n, K); of a discrete y, the observed class or cell, (n,).
    probabilities: AnyArray | None = None
    codes: IntArray | None = None
    class_names: tuple[str, ...] = ()
    #: Of quantiles and intervals, what the law says of y.
    events: tuple[Event, ...] = ()
    #: Of counts: the mean over all rows of the model's probabilities of 0, 1, …, and of all above, (m,);
    #: in each row the probability of 0, of the most probable one, of y or a larger one, (n,); without a
    #: variance: whether y is at most the quantiles of `COUNT_LEVELS`, and its probability, (n, 2, 2).
    count_probabilities: FloatArray | None = None
    zeros: FloatArray | None = None
    surest: FloatArray | None = None
    upper: FloatArray | None = None
    below: FloatArray | None = None
    #: Of times with censoring: whether the event came at y, and Λ = −log P(Y > ·|x) at y and at entry,
    #: (n,) each.
    event: AnyArray | None = None
    hazard: FloatArray | None = None
    before: FloatArray | None = None
    #: Λ up to which about a third, and two thirds, of all events are expected.
    cuts: tuple[float, float] = (0.0, 0.0)
    #: Number of rows of the data.
    whole: int = 0

    @property
    def n(self) -> int:
        """Number of rows that were looked at."""
        return len(self.rows)

    @property
    def bands(self) -> FloatArray | None:
        """The model's quantiles of y at the levels `BANDS`, (n, 5), NaN where they are not known."""
        if self.band_rows is None or self.band_values is None:
            return None
        values = np.full((self.n, len(BANDS)), np.nan)
        values[self.band_rows] = self.band_values
        return values

    @property
    def pit(self) -> FloatArray | None:
        """Φ(z), uniform under the model, (n, d_y); None where there is none."""
        if self.z is None or self.kind not in ("continuous", "several"):
            return None
        return np.asarray(ndtr(self.z))

    def tells(self, tail: float) -> bool:
        """Whether the law tells what it gives this probability, at either end: a few draws do not."""
        return not self.draws or tail * (self.draws + 1) >= 1.0

    @property
    def some_events(self) -> tuple[Event, ...]:
        """The events that are looked at by themselves, evenly spread."""
        count = len(self.events)
        chosen = np.linspace(0, count - 1, min(count, MOST_EVENTS)).astype(int)
        return tuple(self.events[k] for k in chosen)

    @property
    def has_zeros(self) -> bool:
        """Whether a count was 0, or one should have been."""
        return self.zeros is not None and bool((self.y == 0).any() or self.zeros.sum() >= 1)

    @property
    def all_rows(self) -> bool:
        """Whether these are all rows of the data."""
        return self.n == self.whole


def look(
    model: ModelLike, scored: Scored | Stream, seed: Seed, engine: Engine
) -> tuple[Looked, Law, Scored]:
    """Take the rows to look at: all that are in memory, of a stream some at random."""
    numbers = np.arange(scored.n)
    if isinstance(scored, Stream):
        if scored.n > STREAMED:
            rng = seed.stream(Use.CHECK, LOOK_ROWS)
            numbers = np.sort(rng.choice(scored.n, STREAMED, replace=False))
        rows, law = scored.with_model(numbers, engine)
    else:
        assert isinstance(model, Law)
        rows, law = scored, model
        numbers = numbers if rows.sample.kept is None else rows.sample.kept
    sample, kind = rows.sample, _kind(law, rows)
    fields = _said(law, rows, kind)
    if kind in ("continuous", "counts"):
        fields |= _bands(law, len(numbers), seed)
    given = numbers, sample.x_columns, sample.x, (), sample.y, sample.y_columns
    looked = Looked(kind, *given, whole=scored.n, **fields)
    predictions = list(_predicted(looked)) if law.of_x else []
    if predictions and kind == "classes" and len(looked.class_names) == 2:
        p = np.asarray(looked.probabilities, dtype=np.float64)
        predictions = [(Column(f"probability_{looked.class_names[1]}"), p[:, 1])]
    axes = axes_of(sample.x_columns, sample.x, predictions)
    # A slice of a single column says it better than one of a prediction that the column tells.
    numbers_of_x = [axis.values for axis in axes if not axis.predicted and axis.levels is None]
    axes = tuple(
        axis
        for axis in axes
        if not (axis.predicted and axis.levels is None)
        or not any(_monotone(axis.values, values) for values in numbers_of_x)
    )
    return replace(looked, axes=axes), law, rows


def again(looked: Looked, law: Law, rows: Scored) -> Looked:
    """Return the same rows with another y and the law that was fitted to it; what tells where stays."""
    return replace(looked, y=rows.sample.y, **_said(law, rows, looked.kind))


def _said(law: Law, rows: Scored, kind: str) -> dict[str, Any]:
    """Return what the law says of y."""
    if kind == "counts":
        return _of_counts(law, rows)
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
        # Of counts, the difference operator applied to the constant: about a score of the counts in `y`.
        s = rows.scores if rows.cells is None else np.asarray(rows.scores).sum(axis=1, keepdims=True)
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
        ends = [np.exp(-0.5 * np.square(ndtri(np.clip(u + move, 0.0, 1.0)))) for move in (-half, half)]
        # The mean of z between two ranks; within them it is random, in each column for itself.
        mean = (ends[0] - ends[1]) / (2.0 * half * np.sqrt(2.0 * np.pi))
        products[start : start + PIECE] = (mean[..., first] * mean[..., second]).mean(axis=1)
    return products


def column_pairs(d_y: int) -> tuple[IntArray, IntArray]:
    """Return which columns of y are looked at together."""
    first, second = np.triu_indices(min(d_y, MOST_TOGETHER), 1)
    return first, second


def _monotone(a: FloatArray, b: FloatArray) -> bool:
    """Whether a is an increasing or decreasing function of b."""
    few = np.linspace(0, len(a) - 1, min(len(a), FEW)).astype(np.int64)
    for some in (few, np.arange(len(a))):
        order = np.lexsort((a[some], b[some]))
        steps, ties = np.diff(a[some][order]), np.diff(b[some][order]) == 0
        if not ((steps >= 0).all() or (steps <= 0).all()) or (steps[ties] != 0).any():
            return False
    return True


def _cuts(before: FloatArray, after: FloatArray) -> tuple[float, float]:
    """Return Λ up to which a third, and two thirds, of the events are expected, to two digits."""
    cuts, whole = [], float((after - before).sum())
    for share in (1 / 3, 2 / 3):
        low, high = 0.0, float(after.max())
        for _ in range(40):
            middle = 0.5 * (low + high)
            expected = float((np.minimum(after, middle) - np.minimum(before, middle)).sum())
            low, high = (middle, high) if expected < share * whole else (low, middle)
        cuts.append(float(f"{high:.2g}"))
    return cuts[0], cuts[1]


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
    return "counts" if rows.outcomes is not None else "scores"  # very many counts, and ratios alone


def moments_of(law: Law, ability: str = "location_scale") -> tuple[FloatArray, FloatArray] | None:
    """Return what the law predicts of y, (n, d_y) each, where it has both and they are finite."""
    if not (law.can(ability) or law.can("mean_std")):
        return None
    try:
        location, scale = (np.asarray(part, dtype=np.float64) for part in getattr(law, ability)())
    except CondgofError:  # a library's law that has no moments says so when it is asked
        return None
    if scale.ndim == 3:
        scale = np.sqrt(np.square(scale).sum(axis=2))
    scale = np.broadcast_to(scale, location.shape)
    return (location, scale) if np.isfinite(location).all() and np.isfinite(scale).all() else None


def _of_counts(law: Law, rows: Scored) -> dict[str, Any]:
    """Return what the law says of counts: (y − mean)/sd, and how often each is expected."""
    y, n, outcomes, fields = rows.sample.y, rows.n, rows.outcomes, dict[str, Any]()
    assert outcomes is not None
    pieces = np.split(np.arange(n), np.arange(PIECE, n, PIECE))
    fields["surest"] = np.concatenate(
        [outcomes.take(piece).probabilities.max(axis=1) for piece in pieces]
    )
    given: tuple[FloatArray, FloatArray] | None
    if isinstance(outcomes, RatioOutcomes):
        p, start = outcomes.probabilities, outcomes.start
        at = np.arange(float(p.shape[1]))
        mean = (p @ at)[:, None]
        given = start[:, None] + mean, np.sqrt((p * np.square(at - mean)).sum(axis=1, keepdims=True))
        fields["zeros"] = np.where(start == 0, p[:, 0], 0.0)
        fields["upper"] = np.cumsum(p[:, ::-1], axis=1)[:, ::-1][np.arange(n), outcomes.observed]
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
        return fields | {"location": given[0], "scale": given[1], "z": z}
    below = [np.column_stack((y[:, 0] <= q, law.cdf(q))) for q in law.quantile(COUNT_LEVELS).T]
    return fields | {"below": np.stack(below, axis=2)}


def _bands(law: Law, n: int, seed: Seed) -> dict[str, Any]:
    """Return the model's quantiles of y in some rows."""
    rows = np.arange(n)
    if n > BAND_COUNT:
        rows = np.sort(seed.stream(Use.CHECK, BAND_ROWS).choice(n, BAND_COUNT, replace=False))
    try:
        values = law.take(rows).quantile(BANDS)
    except CondgofError:
        return {}
    return {"band_rows": rows, "band_values": values} if np.isfinite(values).all() else {}


def frame_of(looked: Looked, *, outcomes: bool = True) -> Any:
    """Return x, y, what is predicted, and residuals; the index is the number of each row in the data.

    Without `outcomes`, what is known before y is.
    """
    pandas = require("pandas", "frames", "A frame of the rows")
    seen = [(Column(axis.name, axis.levels), axis.values) for axis in looked.axes if axis.predicted]
    x = list(zip(looked.x_columns, looked.x.T, strict=True))
    y = list(zip(looked.y_columns, looked.y.T, strict=True))
    if looked.kind == "classes" and looked.codes is not None:
        y = [(Column(looked.y_columns[0].name, looked.class_names), looked.codes)]
    others = [part for part in _predicted(looked) if not any(_same(part, other) for other in seen)]
    known, others = range(len(y), len(y) + len(others)), [*y, *others, *_residuals(looked)]
    # What slices can name has the first choice of names.
    x_names = unique_names([column.name for column, _ in x], ())
    names = [*x_names, *(column.name for column, _ in seen)]
    other_names = unique_names([column.name for column, _ in others], names)
    parts = zip([*names, *other_names], x + seen + others, strict=True)
    values = {name: _in_pandas(pandas, column, numbers) for name, (column, numbers) in parts}
    order = dict.fromkeys([*x_names, *other_names[: len(y)], *values])
    if not outcomes:
        order = dict.fromkeys([*names, *(other_names[i] for i in known)])
    return pandas.DataFrame({name: values[name] for name in order}).set_axis(looked.rows)


def _predicted(looked: Looked) -> Iterator[Part]:
    """List what the model predicts of each row."""
    if looked.kind == "classes" and looked.probabilities is not None:
        p = np.asarray(looked.probabilities, dtype=np.float64)
        yield Column("predicted", looked.class_names), p.argmax(axis=1) * 1.0
        yield Column("confidence"), p.max(axis=1)
    yield from _each(looked, "predicted", looked.location)
    yield from _each(looked, "predicted_width" if looked.events else "predicted_sd", looked.scale)


def _residuals(looked: Looked) -> Iterator[Part]:
    """List how y compares with what the model says."""
    if looked.event is not None and looked.hazard is not None and looked.before is not None:
        yield Column("event"), looked.event.astype(np.int64)
        yield Column("cumulative_hazard"), looked.hazard
        if looked.before.any():
            yield Column("hazard_at_entry"), looked.before
    yield from _each(looked, "pit", looked.pit)
    yield from _each(looked, "z", looked.z)
    for event in looked.events:
        happened, below = event.happened(np.asarray(looked.codes)), event.kind == "quantile"
        name = f"below_q{event.level:g}" if below else f"covered_{100 * event.level:g}"
        yield Column(name, boolean=True), happened != below  # of a quantile: that y exceeds it


def _each(looked: Looked, name: str, values: AnyArray | None) -> Iterator[Part]:
    """List the columns of some values (n, d_y), named after columns of y if there are several."""
    for i, column in enumerate(looked.y_columns if values is not None else ()):
        single = len(looked.y_columns) == 1
        yield Column(name if single else f"{name}_{column.name}"), np.asarray(values)[:, i]


def _same(part: Part, other: Part) -> bool:
    return part[0].levels == other[0].levels and np.array_equal(part[1], other[1])


def _in_pandas(pandas: Any, column: Column, values: AnyArray) -> Any:
    if column.levels is not None and column.ordered:
        return pandas.Categorical.from_codes(values.astype(np.int64), list(column.levels), ordered=True)
    made = column_values(column, values)
    return made if column.levels is None else pandas.Series(made, dtype=object)


def column_values(column: Column, values: AnyArray) -> AnyArray:
    """Return the values of a column as a user has them."""
    if column.levels is not None:
        return np.array(column.levels, dtype=object)[values.astype(np.int64)]
    if column.dates:
        return moments(values).astype("M8[us]")
    if column.boolean:
        return values.astype(bool)
    whole = np.all(np.abs(values) < WHOLE) and np.all(values == np.floor(values))
    return values.astype(np.int64) if whole else values
