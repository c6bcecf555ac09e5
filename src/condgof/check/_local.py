"""A model at one point of x: how y is distributed near it, beside what is predicted.

Rows count by a kernel of the ranks of x: see `LocalWeights`. All numbers are of the same
smoothing of the truth, so that bands and intervals need no assumption on how fast the
distribution of y changes with x.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.check._local_band import (
    PIT_LEVELS,
    averaged_curve,
    curve_band,
    effective_rows,
    joint_critical,
    largest_distance,
    share_ends,
    step_curve,
    sums_by_unit,
)
from condgof.check._numbers import rows_text
from condgof.check._repair import Base, Correction, repair_of
from condgof.check._words import percent
from condgof.check.effects._rules import AxisReader
from condgof.check.kinds import (
    CheckedRows,
    ClassRows,
    ContinuousRows,
    CountRows,
    StatementRows,
)
from condgof.errors import CondgofError, InputError, ShapeError, UnsupportedModelError
from condgof.kernels import Categorical, CovariateKernel, Gaussian, resolve_x
from condgof.laws import (
    Event,
    InsideInterval,
    Law,
    NotAboveQuantile,
    as_model,
    class_names,
    class_probabilities,
)
from condgof.methods import LOCAL_BANDWIDTH, narrowed
from condgof.result import Record, Shown, number, pvalue_words
from condgof.sample import (
    CONTENT_SEED,
    CodedColumn,
    Column,
    Frame,
    Sample,
    Use,
    Variables,
    XUnits,
    encode_levels,
    is_frame,
    is_series,
    take_rows,
)

if TYPE_CHECKING:
    from condgof.check._record import Check

#: Fewer effective rows near a point are too few: a share of 20 rows has a standard error of
#: up to 0.11.
FEWEST_NEAR = 20.0
#: Rows whose weight is below this share of the largest do not count: that keeps the draws
#: of the band to the rows that matter.
LEAST_RELATIVE_WEIGHT = 1e-3
#: Near a point there are enough effective rows to take no wider a neighbourhood: a share
#: of 150 rows has a standard error of up to 0.04.
ENOUGH_NEAR = 150.0
#: Bandwidths of neighbourhoods, over the median distance of rows; the widest is that of
#: the single locations of the test.
BANDWIDTH_FACTORS = tuple(LOCAL_BANDWIDTH * 2.0 ** (-k / 3.0) for k in range(9, -1, -1))
#: Weight of a row in another category, for each such column. Half, as in the kernel of the
#: test, would let other categories prevail wherever there are many.
OTHER_CATEGORY = 0.2
#: Standard deviation of ranks, which are uniform from 0 to 1: 1/√12.
RANK_SD = 0.2887
#: Coverage of the central intervals that are reported.
COVERAGES = (0.5, 0.9)
#: Levels of the predicted quantiles that are reported.
QUANTILE_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: The stream of random numbers (`Seed.stream`) of the band; `condgof.check._look` lists the
#: others.
BAND_STREAM = 30
#: Most columns of x that a sentence names; a table has all of them.
MOST_NAMED = 6


# What is returned.


@dataclass(frozen=True, eq=False)
class PitCurve(Record):
    """The distribution of PITs near a point, (101,) each."""

    #: Levels t from 0 to 1.
    levels: FloatArray
    #: The weighted share of rows with a PIT of at most t; t if the model is right.
    observed: FloatArray
    #: Between `low` and `high` the whole curve lies with probability 0.95.
    low: FloatArray
    high: FloatArray
    #: Probability of a curve as far from the diagonal if the model is right near the point.
    pvalue: float

    @property
    def is_inside(self) -> bool:
        """Whether the band holds the diagonal, as it should if the model is right."""
        inside = (self.low <= self.levels) & (self.levels <= self.high)
        return bool(inside[1:-1].all())


@dataclass(frozen=True)
class LocalShare(Record):
    """How often something happened near a point, beside its predicted probability."""

    label: str  #: "inside the central 90% interval", "class cat".
    expected: float  #: What the model predicts.
    estimate: float  #: The weighted share of rows.
    #: Intervals of all shares of a point hold together with probability 0.95.
    interval: tuple[float, float]

    @property
    def telling(self) -> bool:
        """Whether the interval excludes what the model predicts."""
        return not self.interval[0] <= self.expected <= self.interval[1]

    @property
    def words(self) -> str:
        """As in "inside the central 90% interval: 81% (75% to 86%), predicted 90%"."""
        low, high = (percent(end) for end in self.interval)
        return (
            f"{self.label}: {percent(self.estimate)} ({low} to {high}), predicted"
            f" {percent(self.expected)}"
        )


@dataclass(frozen=True)
class LocalPrediction(Record):
    """What is predicted at a point: quantiles of y, or probabilities of classes."""

    #: Levels of quantiles as text, or names of classes.
    labels: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def words(self) -> str:
        """As in "5% −1.64, 25% −0.67, …"."""
        pairs = zip(self.labels, self.values, strict=True)
        return ", ".join(f"{label} {number(value)}" for label, value in pairs)


@dataclass(frozen=True, eq=False, repr=False)
class Local(Shown, Record):
    """A model near one point of x, from ``report.at(x0)``.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 4, 2000)
    >>> y = x + np.where(x > 2, 2.0, 1.0) * rng.standard_normal(2000)
    >>> report = cg.check(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=1)
    >>> near = report.at(3.0)
    >>> near.pit.is_inside, near.shares[2].label
    (False, 'inside the central 90% interval')
    >>> near.shares[2].estimate < 0.7
    True
    """

    #: The point, by the names of the columns of x.
    x: Mapping[str, Any]
    #: How many equally weighted rows would be as informative: (Σ w)²/Σ w².
    rows: float
    #: The rows that count, by their numbers in the data, (m,), the nearest first.
    nearest: IntArray
    #: The local distribution of PITs; None of classes and statements, and where there are
    #: too few rows.
    pit: PitCurve | None
    #: Of a PIT: below the median, inside central intervals; of classes each class; of
    #: quantiles and intervals each statement. Empty where there are too few rows.
    shares: tuple[LocalShare, ...]
    #: What the model predicts at the point; None where it has no quantiles.
    predicted: LocalPrediction | None
    #: What ``report.repair()`` predicts there; None where nothing is repaired.
    repaired: LocalPrediction | None
    #: What a reader should know, a sentence each.
    notes: tuple[str, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether there are enough rows near the point."""
        return self.rows >= FEWEST_NEAR

    @property
    def place(self) -> str:
        """The point in words: "age = 40, region = north"."""
        texts = [f"{name} = {_text(value)}" for name, value in self.x.items()]
        more = len(texts) - MOST_NAMED
        rest = f" and {more} more columns" if more > 0 else ""
        return ", ".join(texts[:MOST_NAMED]) + rest

    @property
    def words(self) -> str:
        """What is known of the model near the point, in a sentence or two."""
        if not self.enough:
            return (
                f"Too few rows near {self.place}: {self.rows:.1f} in effect, and"
                f" {FEWEST_NEAR:.0f} are needed."
            )
        head = f"Near {self.place} ({rows_text(round(self.rows))} in effect)"
        telling = [share.words for share in self.shares if share.telling]
        if self.pit is not None:
            p = pvalue_words(self.pit.pvalue)
            if self.pit.is_inside and not telling:
                return f"{head}: no evidence against the model, {p}."
            return f"{head}: {'; '.join(telling) or 'the PITs are not uniform'} ({p})."
        if not telling:
            return f"{head}: no evidence against the model."
        return f"{head}: {'; '.join(telling)}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the row numbers as plain Python objects, for JSON."""
        values = super().to_dict()
        del values["nearest"]
        return {**values, "enough": self.enough, "words": self.words}

    def records(self) -> list[dict[str, Any]]:
        """Return one row a share: predicted, observed, and the ends of its interval."""
        rows = []
        for share in self.shares:
            low, high = share.interval
            row = {
                "share": share.label,
                "expected": share.expected,
                "estimate": share.estimate,
                "low": low,
                "high": high,
                "rows": self.rows,
            }
            rows.append({**self.x, **row})
        return rows

    def plot(self, ax: object = None) -> Any:
        """Draw the local PIT curve with its band, or the shares (``condgof[plot]``)."""
        from condgof.report import plot_local

        return plot_local(self, ax)

    def __repr__(self) -> str:
        return f"Local({self.words})"

    def __str__(self) -> str:
        lines = [self.words]
        lines += [f"  {share.words}" for share in self.shares]
        if self.predicted is not None:
            lines.append(f"  predicted  {self.predicted.words}")
        if self.repaired is not None:
            lines.append(f"  repaired   {self.repaired.words}")
        lines += [f"  note       {note}" for note in self.notes]
        return "\n".join(lines)


def _text(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


# Points of x.


class Points(NamedTuple):
    """Points of x as the user named them."""

    #: A table that models can be called with, where the user's columns are all of x.
    table: TableLike
    values: FloatArray  #: In the numbers of the sample, (m, d_x).
    labels: tuple[Mapping[str, Any], ...]  #: The user's columns and their values.
    single: bool  #: Whether the user passed one row, not a table.


def read_points(x0: Any, sample: Sample) -> Points:
    """Read one point (a mapping, a list, a labelled row) or a table of several."""
    reader = AxisReader.from_sample(sample)
    rows, single = _as_table(x0, reader.names)
    table = reader.read(rows)
    columns = reader.values_at(table)
    values = np.empty((len(table.values), len(columns)))
    for k, (column, at) in enumerate(zip(sample.x_columns, columns, strict=True)):
        values[:, k] = at.values
        if column.levels is not None:
            names = np.array([*(at.levels or ()), ""], dtype=object)
            known = np.nan_to_num(at.values, nan=-1.0).astype(int)
            values[:, k] = encode_levels(names[known], column, "x0")
        if not np.isfinite(values[:, k]).all():
            raise InputError(
                f"x0 has no finite value in column {column.name!r}. Give one, as the rows"
                " of the check have."
            )
    labels = tuple(_label(table, row) for row in range(len(values)))
    given = [one for one in reader.columns if not one.is_indicator]
    own = [k for k, one in enumerate(reader.columns) if not one.is_indicator]
    return Points(
        table=_like_given(
            sample, [one.column for one in given], values[:, own], reader.names
        ),
        values=values,
        labels=labels,
        single=single,
    )


def _as_table(x0: Any, names: Sequence[str]) -> tuple[Any, bool]:
    """Return x0 as a table, and whether it was a single row."""
    if is_series(x0) and hasattr(x0, "index") and set(names) <= set(map(str, x0.index)):
        x0 = {str(name): value for name, value in zip(x0.index, x0.tolist(), strict=True)}
    if isinstance(x0, Mapping):
        return _frame_of_row({str(name): value for name, value in x0.items()}, names), True
    if is_frame(x0):
        return x0, len(x0) == 1
    if np.ndim(x0) == 0:
        x0 = [x0]
    if np.ndim(x0) == 1:
        if len(names) == 1:
            return np.reshape(np.asarray(x0), (-1, 1)), len(x0) == 1
        if len(x0) != len(names):
            raise ShapeError(
                f"x0 has {len(x0)} values, and x has the {len(names)} columns"
                f" {', '.join(names)}. Pass one value for each, or a mapping by name."
            )
        return _frame_of_row(dict(zip(names, x0, strict=True)), names), True
    return x0, len(x0) == 1


def _frame_of_row(row: Mapping[str, Any], names: Sequence[str]) -> Frame:
    """Return one row with a value for each of the columns `names`."""
    lacking = [name for name in names if name not in row]
    unknown = [name for name in row if name not in names]
    if lacking or unknown:
        what = f"lacks {', '.join(lacking)}" if lacking else f"has {', '.join(unknown)}"
        raise InputError(f"x0 {what}. The columns of x are {', '.join(names)}.")
    data = {}
    for name in names:
        value = np.asarray(row[name])
        if value.ndim:
            raise ShapeError(
                f"x0 has {value.size} values of {name!r}. A row has one for each column;"
                " pass several rows as a table."
            )
        if value.dtype.kind in "US":
            value = value.astype(object)
        data[name] = value.reshape(1)
    return Frame(data)


def _label(table: Variables, row: int) -> dict[str, Any]:
    """Return one row of a table by column: numbers as numbers, all else as text."""
    label: dict[str, Any] = {}
    for column, value in zip(table.columns, table.values[row], strict=True):
        is_number = column.levels is None and not column.dates
        if np.isnan(value):
            label[column.name] = "missing"
        else:
            label[column.name] = float(value) if is_number else column.text(value)
    return label


def _like_given(
    sample: Sample, columns: Sequence[Column], values: FloatArray, names: Sequence[str]
) -> TableLike:
    """Return points (m, d) in the container that the model got x in."""
    given = sample.x_given
    if not is_frame(given):
        return values[:, 0] if np.ndim(given) == 1 else values
    coded = {
        name: CodedColumn(column, part)
        for name, column, part in zip(names, columns, values.T, strict=True)
    }
    if isinstance(given, Frame):
        return Frame({name: one.column.decode(one.values) for name, one in coded.items()})
    frame: TableLike = replace(sample.origin, labels=None).build(
        coded, np.arange(len(values))
    )
    return frame


# Weights.


@dataclass(frozen=True, eq=False)
class LocalWeights:
    """How much rows count near points of x: a kernel of ranks.

    It is Gaussian in the numbers of x, and rows of other categories do not count. Of
    several bandwidths, up to half the median one, the narrowest serves that has
    `ENOUGH_NEAR` rows near the point, in effect, else the widest; where that has not even
    `FEWEST_NEAR`, rows of other categories count `OTHER_CATEGORY` for each such column.
    All of this depends on x alone.
    """

    units: XUnits  #: Numbers as normal scores of their ranks.
    kernels: tuple[CovariateKernel, ...]  #: The narrowest first.
    #: The widest, in which rows of other categories count, too; None without categories.
    mixing: CovariateKernel | None
    x: FloatArray  #: The rows of the check, numbers as ranks from 0 to 1, (n, d_x).
    scales: FloatArray  #: Standard deviations of the columns, (d_x,).
    #: Weights of the rows themselves, (n,); None where all are equal.
    weights: FloatArray | None = None

    @classmethod
    def from_rows(
        cls,
        x: FloatArray,
        columns: Sequence[Column],
        weights: FloatArray | None = None,
    ) -> LocalWeights:
        """Choose kernels for rows x (n, d_x), which may have weights of their own (n,)."""
        units = XUnits.from_rows(x, columns, "ranks")
        ranks = as_ranks(x, units)
        median = resolve_x(Gaussian("median"), ranks, columns, CONTENT_SEED)
        each = [narrowed(median, factor) for factor in BANDWIDTH_FACTORS]
        mixing = None
        if median.compares_levels:
            mixing = _with_similarity(each[-1], OTHER_CATEGORY)
        return cls(
            units=units,
            kernels=tuple(_with_similarity(kernel, 0.0) for kernel in each),
            mixing=mixing,
            x=ranks,
            scales=x.std(axis=0),
            weights=weights,
        )

    def near(self, point: FloatArray, units: IntArray | None) -> NearRows:
        """Return the rows near a point (d_x,).

        Rows of one of `units` (n,) depend on each other; None where none do.
        """
        at = self._ranks(point[None, :])
        for kernel in self.kernels:
            found = NearRows.from_kernel(self._weighted(kernel(at, self.x)[0]), units)
            if found.effective >= ENOUGH_NEAR:
                break
        if found.effective >= FEWEST_NEAR or self.mixing is None:
            return found
        mixed = NearRows.from_kernel(self._weighted(self.mixing(at, self.x)[0]), units)
        return mixed._replace(mixes_categories=True)

    def _weighted(self, kernel: FloatArray) -> FloatArray:
        """Multiply a kernel (n,) by the weights of the rows themselves."""
        return kernel if self.weights is None else kernel * self.weights

    def matrix(self) -> FloatArray:
        """Return how much rows count near each other, by the widest kernel, (n, n)."""
        kernel = self.kernels[-1] if self.mixing is None else self.mixing
        return np.asarray(kernel(self.x, self.x))

    def _ranks(self, points: FloatArray) -> FloatArray:
        """Return points in ranks; beyond the rows, by standard deviations of the column.

        Ranks end where the rows do. Without the distance beyond, a point far outside would
        be taken for one at the end.
        """
        moved = as_ranks(points, self.units)
        for k, knot in enumerate(self.units.knots):
            if knot is None or self.scales[k] == 0:
                continue
            inside = np.clip(points[:, k], knot.values[0], knot.values[-1])
            beyond = (points[:, k] - inside) / self.scales[k]
            moved[:, k] += RANK_SD * beyond
        return moved


def as_ranks(x: FloatArray, units: XUnits) -> FloatArray:
    """Return rows x (m, d) with numbers as ranks from 0 to 1, and categories as they are.

    Ranks, and not normal scores, have as many rows near the ends as in the middle.
    """
    ranks = np.array(units.apply(x))
    for k, knot in enumerate(units.knots):
        if knot is not None:
            ranks[:, k] = ndtr(ranks[:, k])
    return ranks


def _with_similarity(kernel: CovariateKernel, similarity: float) -> CovariateKernel:
    """Return a kernel in which categories that differ are as similar as this."""
    factors = []
    for factor in kernel.factors:
        if isinstance(factor.kernel, Categorical):
            factor = replace(factor, kernel=Categorical(similarity))
        factors.append(factor)
    return replace(kernel, factors=tuple(factors))


class NearRows(NamedTuple):
    """The rows near one point."""

    rows: IntArray  #: Positions among the rows of the check, the nearest first, (m,).
    weights: FloatArray  #: They add up to 1, (m,).
    unit_weights: FloatArray  #: Of units of rows that depend on each other, (U,).
    effective: float
    mixes_categories: bool = False  #: Whether rows of other categories are among them.

    @classmethod
    def from_kernel(cls, kernel: FloatArray, units: IntArray | None) -> NearRows:
        """Take the rows of which the kernel, (n,), is not negligible."""
        top = float(kernel.max(initial=0.0))
        near = np.flatnonzero(kernel > LEAST_RELATIVE_WEIGHT * top)
        near = near[np.argsort(-kernel[near], kind="stable")]
        total = float(kernel[near].sum())
        weights = kernel[near] / total if total > 0 else np.full(len(near), np.nan)
        unit_weights = sums_by_unit(weights, None if units is None else units[near])
        effective = effective_rows(unit_weights) if total > 0 else 0.0
        # The kernel is at most 1: its sum is the number of rows within about a bandwidth,
        # which is small also where many rows are equally far away.
        effective = min(effective, 2.0 * total)
        return cls(near, weights, unit_weights, effective)


# One point.


class LocalNumbers(NamedTuple):
    """What is computed near a point."""

    pit: PitCurve | None
    shares: tuple[LocalShare, ...]


def locals_of(check: Check, x0: Any) -> Local | tuple[Local, ...]:
    """Describe a model near a point of x, or near each of several; see `Check.at`."""
    base = check.base
    if base is None:
        raise InputError(
            "This report has no rows to look at: it was stored without its model, or its"
            " model was fitted on these rows (`composite`). Call at() where the check was"
            " made, on rows that the model has not been fitted on."
        )
    sample = base.rows.sample
    if not sample.d_x:
        raise InputError("x has no columns, so that there is no point to look near.")
    points = read_points(x0, sample)
    checked = check.checked
    weights = LocalWeights.from_rows(checked.x, checked.x_columns, checked.weights)
    correction = _correction_of(check)
    each = []
    for k in range(len(points.values)):
        near = weights.near(points.values[k], base.units)
        numbers = LocalNumbers(None, ())
        # Refuses kinds of y that have no local numbers, whatever the number of rows.
        evaluate = local_numbers.dispatch(type(checked))
        if near.effective >= FEWEST_NEAR or evaluate is _refuse_kind:
            rng = CONTENT_SEED.stream(Use.CHECK, BAND_STREAM)
            numbers = local_numbers(checked, near, rng)
        laws = _laws_at(points, k, base, near, correction)
        one = Local(
            x=points.labels[k],
            rows=near.effective,
            nearest=checked.rows[near.rows],
            pit=numbers.pit,
            shares=numbers.shares,
            predicted=prediction_of(laws.predicted),
            repaired=prediction_of(laws.repaired),
            notes=(*laws.notes, *_notes(base, near)),
        )
        each.append(one)
    return each[0] if points.single else tuple(each)


def _notes(base: Base, near: NearRows) -> Iterator[str]:
    if near.mixes_categories:
        yield (
            "few rows have these categories: others count"
            f" {percent(OTHER_CATEGORY)} for each column in which they differ"
        )
    if base.rows.are_drawn_together:
        yield "the band takes rows as independent, and here they share an error"


def _correction_of(check: Check) -> Correction | None:
    """Return what the repair of a check has learned; None where nothing, or no repair."""
    try:
        return repair_of(check).correction
    except UnsupportedModelError:
        return None


class LawsAt(NamedTuple):
    """The predictive distribution at a point, as it is and repaired: one row each."""

    predicted: Law | None  #: None where the model knows its rows only, and none is near.
    repaired: Law | None
    notes: tuple[str, ...] = ()


def _laws_at(
    points: Points, k: int, base: Base, near: NearRows, correction: Correction | None
) -> LawsAt:
    model = as_model(base.model)
    notes: tuple[str, ...] = ()
    if model.rows is None and not hasattr(model, "bind"):
        x = take_rows(points.table, np.array([k]))
        law = model(x, 1)
    elif not len(near.rows):
        return LawsAt(None, None)
    else:
        row = near.rows[:1]
        x = take_rows(base.rows.sample.x_given, row)
        law = base.law.take(row)
        label = base.rows.sample.kept
        named = int(row[0]) if label is None else int(label[row[0]])
        notes = (
            "the model was given by predictions of its rows: predicted is that of the"
            f" nearest one, row {named}",
        )
    repaired = None if correction is None else correction.of(law, x)
    return LawsAt(law, repaired, notes)


def prediction_of(law: Law | None) -> LocalPrediction | None:
    """Return what a law of one row predicts; None where it has no quantiles."""
    if law is None:
        return None
    probabilities = class_probabilities(law)
    if probabilities is not None:
        values = np.asarray(probabilities, dtype=np.float64)[0]
        return LocalPrediction(tuple(class_names(law)), tuple(values.tolist()))
    try:
        quantiles = np.asarray(law.quantile(QUANTILE_LEVELS), dtype=np.float64).ravel()
    except CondgofError:
        return None
    if len(quantiles) != len(QUANTILE_LEVELS) or not np.isfinite(quantiles).all():
        return None
    labels = tuple(percent(level) for level in QUANTILE_LEVELS)
    return LocalPrediction(labels, tuple(quantiles.tolist()))


# One function for each kind of y.


@singledispatch
def local_numbers(
    checked: CheckedRows, near: NearRows, rng: np.random.Generator
) -> LocalNumbers:
    """Compare y with its law near a point; `rng` draws the null of the band."""
    raise UnsupportedModelError(
        f"at() cannot look at {checked.label} near one x: that takes one column of y with"
        " a CDF, draws, class probabilities, quantiles or intervals. Of several columns"
        " check each by itself; of moments say which distribution they mean, such as"
        " condgof.normal(mean, std)."
    )


#: What refuses a kind of y.
_refuse_kind = local_numbers.dispatch(CheckedRows)


def pit_shares(curve: FloatArray, m: float) -> tuple[LocalShare, ...]:
    """Return shares below the median and inside central intervals, of a PIT curve."""

    def at(level: float) -> float:
        return float(np.interp(level, PIT_LEVELS, curve))

    labels = ["below the predicted median"]
    expected = [0.5]
    observed = [at(0.5)]
    for coverage in COVERAGES:
        labels.append(f"inside the central {percent(coverage)} interval")
        expected.append(coverage)
        observed.append(at(0.5 + coverage / 2) - at(0.5 - coverage / 2))
    return shares_with_intervals(labels, expected, observed, m)


def shares_with_intervals(
    labels: Sequence[str],
    expected: Sequence[float] | FloatArray,
    observed: Sequence[float] | FloatArray,
    m: float,
    statements: int | None = None,
) -> tuple[LocalShare, ...]:
    """Return shares of m effective rows with intervals that hold together.

    `statements` is the number of shares that are free, all of them unless given.
    """
    critical = joint_critical(statements or len(labels))
    ends = share_ends(np.asarray(observed), m, critical)
    return tuple(
        LocalShare(label, float(p), float(share), (float(low), float(high)))
        for label, p, share, low, high in zip(
            labels, expected, observed, ends.low, ends.high, strict=True
        )
    )


@local_numbers.register
def _(checked: ContinuousRows, near: NearRows, rng: np.random.Generator) -> LocalNumbers:
    pit = checked.pit[near.rows, 0]
    curve = step_curve(pit, near.weights)
    distance = None
    if len(near.unit_weights) == len(near.weights):
        distance = float(largest_distance(pit, near.weights))
    return _pit_numbers(curve, near, rng, distance)


@local_numbers.register
def _(checked: CountRows, near: NearRows, rng: np.random.Generator) -> LocalNumbers:
    steps = checked.steps.take(near.rows)
    return _pit_numbers(averaged_curve(steps.lower, steps.upper, near.weights), near, rng)


def _pit_numbers(
    curve: FloatArray,
    near: NearRows,
    rng: np.random.Generator,
    distance: float | None = None,
) -> LocalNumbers:
    band = curve_band(curve, unit_weights=near.unit_weights, rng=rng, distance=distance)
    pit = PitCurve(PIT_LEVELS.copy(), curve, band.low, band.high, band.pvalue)
    return LocalNumbers(pit, pit_shares(curve, effective_rows(near.unit_weights)))


@local_numbers.register
def _(checked: ClassRows, near: NearRows, rng: np.random.Generator) -> LocalNumbers:
    names = checked.class_names
    codes = checked.codes[near.rows]
    hits = codes[:, None] == np.arange(len(names))
    observed = near.weights @ hits
    predicted = (
        near.weights @ np.asarray(checked.probabilities, dtype=np.float64)[near.rows]
    )
    labels = [f"class {name}" for name in names]
    m = effective_rows(near.unit_weights)
    # Shares add up to 1, so that one of them follows from the others.
    return LocalNumbers(
        None, shares_with_intervals(labels, predicted, observed, m, len(names) - 1)
    )


@singledispatch
def statement_label(statement: Event) -> str:
    """Return what a statement about y is called."""
    raise NotImplementedError(f"no label is known for {type(statement).__name__}")


@statement_label.register
def _(statement: NotAboveQuantile) -> str:
    return f"not above the {percent(statement.level)} quantile"


@statement_label.register
def _(statement: InsideInterval) -> str:
    return f"inside the {percent(statement.level)} interval"


@local_numbers.register
def _(checked: StatementRows, near: NearRows, rng: np.random.Generator) -> LocalNumbers:
    codes = checked.codes[near.rows]
    observed = []
    labels = []
    for statement in checked.some_statements:
        held: AnyArray = statement.happened(codes)
        observed.append(float(near.weights @ held))
        labels.append(statement_label(statement))
    expected = [statement.level for statement in checked.some_statements]
    m = effective_rows(near.unit_weights)
    return LocalNumbers(None, shares_with_intervals(labels, expected, observed, m))
