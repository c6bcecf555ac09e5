"""What a check gives back: verdict, how, where and how much. Plain, frozen, picklable."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from condgof._typing import IntArray
from condgof.check._quantities import Signal
from condgof.errors import InputError, check_choice
from condgof.result import GofResult, Record, Shown, plain, pvalue_words
from condgof.sample import polars_expression

if TYPE_CHECKING:
    from condgof.check._local import Local
    from condgof.check._repair import Base, Repair
    from condgof.check._scores import Scores
    from condgof.check.curves import Pictures
    from condgof.check.effects import Analysis
    from condgof.check.kinds import CheckedRows
    from condgof.sample import RngLike

#: Version of the dictionary that `Check.to_dict` gives, and of ``condgof check --json``.
SCHEMA = 2
#: In which orders `Check.slices_by` lists slices.
ORDERS = ("certain", "severity")


@dataclass(frozen=True)
class Interval(Record):
    """An estimate with its confidence interval."""

    estimate: float
    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True)
class Finding(Record):
    """One number of some rows, beside what the model predicts."""

    #: What kind of number it is.
    #:
    #: Of a continuous y, with z the normal scores of the model's CDF:
    #: ``"shift"``, the mean of z (of all rows its median);
    #: ``"spread"``, the standard deviation of z (of all rows the width of the middle half,
    #: over that of the model);
    #: ``"skew"``, the share of rows above the model's 95% quantile less that below its 5%
    #: quantile;
    #: ``"tails"`` and ``"coverage"``, the shares of rows outside and inside the central
    #: interval `label`;
    #: ``"correlation"``, that of z of two columns;
    #: ``"wild"``, how many of all rows lie further out than any should;
    #: ``"atom"``, how often y is exactly the value `label`.
    #:
    #: Of classes:
    #: ``"confidence"``, how often the most probable class was right;
    #: ``"class"``, how often the class `label` came;
    #: ``"wild"``, how many rows have a class of a probability below 0.0001.
    #:
    #: Of counts:
    #: ``"mean"``, of named groups, their total over that predicted;
    #: ``"shift"`` and ``"spread"``, mean and standard deviation of (y − mean)/sd;
    #: ``"zeros"``, how often y was 0;
    #: ``"tails"``, how often y was so large that it, or a larger count, had a probability
    #: below 0.01.
    #:
    #: Of quantiles: ``"quantile"``, how often y was not above the quantile `label`.
    #: Of intervals: ``"coverage"``, how often y was inside the interval `label`.
    #:
    #: Of censored times: ``"events"``, their number over the expected one, of all time or
    #: of the third `label`.
    #:
    #: Of angles:
    #: ``"direction"``, ``"time"`` or ``"angle"``, the mean direction of residuals in
    #: degrees, hours or the unit of y;
    #: ``"concentration"``, their mean resultant length.
    kind: str
    #: The column of y that it is about; "a and b" of a correlation.
    column: str
    estimate: float
    #: The lower and the upper end of its confidence interval. Intervals of a slice hold for
    #: all slices of the search together, and so for those that were found.
    interval: tuple[float, float]
    expected: float  #: What the model predicts.
    label: str = ""  #: The class, the interval or the quantile that it is about.
    #: Which number of this kind it is: a key of `condgof.check._words.SENTENCES`.
    quantity: str = ""
    #: What else its sentence says: counts, rows, whether y has several columns.
    numbers: Mapping[str, Any] = field(default_factory=dict)
    #: Whether the fit of a model on these rows sets the number, so that it has no interval.
    set_by_fit: bool = False

    @property
    def words(self) -> str:
        """The number and what the model predicts, in words."""
        from condgof.check._words import words_of

        return words_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain Python objects, ready for JSON."""
        return {
            "kind": self.kind,
            "column": self.column,
            "estimate": plain(self.estimate),
            "interval": plain(self.interval),
            "expected": plain(self.expected),
            "words": self.words,
            "label": self.label,
        }

    @property
    def about(self) -> Signal:
        """What it is about, as a signal of the search is: its kind, column and label."""
        return Signal(self.kind, self.column, self.label)

    def with_expected(self) -> Finding:
        """Return it with an interval that holds what the model predicts.

        A number of outliers has no interval, and is left as it is, as is a value that comes
        too often: of that a continuous model has none.
        """
        if self.kind in ("wild", "atom"):
            return self
        low, high = self.interval
        interval = (min(low, self.expected), max(high, self.expected))
        return replace(self, interval=interval)

    @property
    def row_labels(self) -> list[str]:
        """The labels of the outlying rows that its sentence lists; [] without an index."""
        if self.kind != "wild":
            return []
        numbers = self._row_numbers
        names = [*self.numbers.get("labels", ()), *self.numbers.get("names", ())]
        return [name for name in names if name not in numbers]

    @property
    def _row_numbers(self) -> list[str]:
        """How the rows that its sentence lists are written by their numbers."""
        rows = self.numbers["rows"]
        return [f"{row:,}" for row in rows] + [str(row) for row in rows]

    def without_labels(self) -> Finding:
        """Return it with numbers of rows in place of their labels."""
        if not self.row_labels:
            return self
        names = [f"{row:,}" for row in self.numbers["rows"]]
        return replace(self, numbers={**self.numbers, "labels": [], "names": names})

    @property
    def telling(self) -> bool:
        """Whether the interval excludes what the model predicts."""
        return not self.interval[0] <= self.expected <= self.interval[1]

    def record(self) -> dict[str, Any]:
        """Return it as a row of a table, the ends of the interval apart."""
        low, high = self.interval
        return {
            "kind": self.kind,
            "column": self.column,
            "label": self.label,
            "estimate": self.estimate,
            "low": low,
            "high": high,
            "expected": self.expected,
            "words": self.words,
        }


@dataclass(frozen=True)
class Condition(Record):
    """What the rows of a slice have in common in one column."""

    #: The column, as `Check.frame` names it.
    column: str
    #: The condition for readers: "30 ≤ age ≤ 47".
    words: str
    #: The same condition for `DataFrame.query` of that frame.
    query: str
    #: What stands on an axis that has the name of the column: "30 to 47", "Rome".
    short: str = ""
    #: The smallest value along a column of numbers, −∞ for the first bin; NaN where the
    #: column is of categories or dates.
    low: float = math.nan
    #: The value up to which it reaches, ∞ for the last bin.
    high: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return column, words and query as plain Python objects, ready for JSON."""
        return {"column": self.column, "words": self.words, "query": self.query}


@dataclass(frozen=True, eq=False, repr=False)
class Slice(Shown, Record):
    """Rows that one or two conditions select, and what is wrong there.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> x, noise = np.random.default_rng(0).uniform(-4, 4, (2, 400))
    >>> report = cg.check((x, np.ones(400)), x, x + noise * (x > 3), rng=1)
    >>> frame = report.frame()
    >>> all((frame.query(one.query).index == one.rows).all() for one in report.slices)
    True
    """

    #: One or two; none for all rows but those of other slices.
    conditions: tuple[Condition, ...]
    #: All conditions for readers: "30 ≤ age ≤ 47 and married = 1".
    words: str
    #: The same for ``report.frame().query(...)``; "" where a mask of the user names rows.
    query: str
    #: The numbers of its n rows in the data, counted from 0, (n,).
    rows: IntArray
    #: Their share of all rows of the check.
    share: float
    #: Corrected for the whole search, or for all slices named beforehand.
    pvalue: float
    #: The smallest p-value that the number of draws allows.
    pvalue_floor: float
    #: The findings of its rows, the leading one first.
    findings: tuple[Finding, ...]
    #: How far the leading finding is from the prediction, at least 0: in standard
    #: deviations of y, in probability, or as the logarithm of a ratio.
    severity: float
    #: How the model is wrong: "too narrow", "too high", …
    direction: str

    @property
    def n(self) -> int:
        """Number of its rows."""
        return len(self.rows)

    @property
    def polars(self) -> Any:
        """Its query as an expression of polars (needs ``condgof[frames]``).

        Examples
        --------
        >>> import numpy as np, polars as pl, condgof as cg
        >>> a, noise = np.random.default_rng(0).uniform(-4, 4, (2, 400))
        >>> x = pl.DataFrame({"a": a})
        >>> report = cg.check((a, np.ones(400)), x, a + noise * (a > 3), rng=1)
        >>> worst = report.slices[0]
        >>> report.frame().filter(worst.polars).height == worst.n
        True
        """
        if not self.query:
            raise InputError(
                "This slice was named by a mask, and is no condition on columns. Use its"
                " rows: frame[slice.rows]."
            )
        return polars_expression(self.query)

    @property
    def kind(self) -> str:
        """What is wrong above all: the kind of the leading finding."""
        return self.findings[0].kind

    @property
    def message(self) -> str:
        """What is wrong, in words: "too narrow: the data spread 1.5 times as much …"."""
        return f"{self.direction}: {self.findings[0].words}"

    def __repr__(self) -> str:
        p = pvalue_words(self.pvalue, self.pvalue_floor)
        return f"Slice({self.words!r}, n={self.n}, {self.direction}, {p})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the row numbers as plain Python objects, ready for JSON."""
        fields = super().to_dict()
        del fields["rows"]
        return {**fields, "n": self.n, "kind": self.kind, "message": self.message}

    def records(self) -> list[dict[str, Any]]:
        """Return one row a finding: where, how many rows, its numbers, and the p-value."""
        where = {"where": self.words, "n": self.n, "pvalue": self.pvalue}
        return [{**where, **finding.record()} for finding in self.findings]


@dataclass(frozen=True, eq=False, repr=False)
class EffectCell(Record):
    """Rows of one cell of an effect, and how wrong the model is there."""

    #: None for everywhere, one or two otherwise.
    conditions: tuple[Condition, ...]
    words: str  #: "6 ≤ hr < 8 and workingday = 0"; "everywhere" without conditions.
    query: str  #: For ``report.frame().query(...)``; "" for all rows.
    rows: IntArray  #: The numbers of its n rows in the data, counted from 0, (n,).
    #: The number of the effect's kind on these rows, which one outlier does not turn: a
    #: median, the middle half, a share. Its interval holds for all cells of the search.
    finding: Finding
    #: The same of rows as they are, where it differs: mean and standard deviation.
    beside: tuple[Finding, ...]
    #: What the correction of the model is here, in the unit of the effect's kind, given the
    #: effects before it: SDs of a bias, a factor of a spread, log odds of an event, a
    #: factor of a hazard.
    correction: float

    @property
    def n(self) -> int:
        """Number of its rows."""
        return len(self.rows)

    @property
    def estimate(self) -> float:
        """The number of the effect's kind on these rows."""
        return self.finding.estimate

    @property
    def interval(self) -> tuple[float, float]:
        """Its interval, which holds for all cells that were searched."""
        return self.finding.interval

    def record(self) -> dict[str, Any]:
        """Return it as a row of a table."""
        low, high = self.interval
        row = {
            "where": self.words,
            "query": self.query,
            "n": self.n,
            "estimate": self.estimate,
            "low": low,
            "high": high,
            "expected": self.finding.expected,
            "correction": self.correction,
        }
        return row | {one.quantity: one.estimate for one in self.beside}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the row numbers as plain Python objects, for JSON."""
        return dict(plain(self.record() | {"words": self.finding.words}))


@dataclass(frozen=True)
class Advice(Record):
    """A change of the model, and what it gained on rows that were held out."""

    #: What to change: a key of `condgof.check._advice.ADVICE`.
    change: str
    columns: tuple[str, ...]  #: The columns that the change is about.
    gain: float  #: In nats a row.
    label: str = ""  #: The class, the statement, the value or the family it is about.
    #: A factor, a number of SDs, or an angle in its unit, where the change is one.
    amount: float | None = None
    #: Whether it helps only once the effects before it are corrected.
    given_before: bool = False

    @property
    def words(self) -> str:
        """The change in words: "let the mean depend on hr and workingday together"."""
        from condgof.check._advice import advice_words

        return advice_words(self)


@dataclass(frozen=True)
class CellOfAllRows(Record):
    """One cell of an effect, on all rows of a stream."""

    n: int  #: Number of its rows.
    #: As `EffectCell.estimate`. Medians and middle halves come from counts of residuals in
    #: bins: each quantile z is known up to 0.004·√(1 + z²). NaN without rows, and where
    #: the number is no sum and no quantile: a correlation, a direction.
    estimate: float
    expected: float  #: What the model predicts of the estimate.
    mean: float  #: Of residuals, or of what the estimate is the mean of.
    sd: float  #: Of the same.


@dataclass(frozen=True)
class EffectOfAllRows(Record):
    """An effect that was found on some rows of a stream, on all its rows."""

    rows: int  #: The number of all rows.
    #: What the correction gains, after those of the effects before it, on the rows that
    #: were not searched, in nats a row; NaN where it is not known.
    gain: float
    #: Its standard error, if rows are independent.
    gain_error: float
    #: Those of `Effect.cells`, in their order.
    cells: tuple[CellOfAllRows, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Effect(Shown, Record):
    """One part of a misfit: a kind of error that depends on no, one or two columns.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 4, (800, 2))
    >>> y = x[:, 0] + np.where(x[:, 1] > 3, 2.0, 1.0) * rng.standard_normal(800)
    >>> report = cg.check((x[:, 0], np.ones(800)), x, y, rng=1)
    >>> first = report.effects[0]
    >>> first.kind, first.columns
    ('spread', ('x2',))
    """

    #: ``"bias"``, ``"spread"``, ``"skew"``, ``"tails"``; of counts ``"bias"``,
    #: ``"dispersion"``, ``"zeros"``; of classes ``"class"``, ``"confidence"``; of
    #: statements ``"quantile"``, ``"coverage"``; of censored times ``"hazard"``; of several
    #: columns ``"correlation"``; of angles ``"direction"``, ``"time"`` or ``"angle"``, and
    #: ``"concentration"``; ``"atom"`` and ``"outliers"``.
    kind: str
    column: str  #: The column of y.
    label: str  #: The class, the statement, the period or the value; else "".
    #: The names of none, one or two columns of x or of what is predicted.
    columns: tuple[str, ...]
    #: Whether it is a straight trend along its column.
    trend: bool
    #: What its correction gains on rows that it was not learned on, in nats a row.
    gain: float
    share: float  #: Of the gains of all effects.
    pvalue: float
    pvalue_floor: float  #: The smallest p-value that the number of draws allows.
    cells: tuple[EffectCell, ...]
    advice: Advice | None = None
    #: The same on all rows of a stream, of which `cells` are of some; None where all rows
    #: were in memory.
    all_rows: EffectOfAllRows | None = None
    #: Whether rows as they are do not show it, only what the effects before it leave:
    #: tables and sentences then have `EffectCell.correction`, not `EffectCell.estimate`.
    given_before: bool = False
    #: Of a trend whose first and last cell hardly show it: the rows in the lower and in the
    #: upper third of its column, which sentences and tables then have. Else none.
    thirds: tuple[EffectCell, ...] = ()

    @property
    def extremes(self) -> tuple[EffectCell, ...]:
        """The cells that it goes from and to; one where they are the same.

        Of a trend these are the first and the last, or the thirds at either end if those
        hardly show it; else those that are lowest and highest for certain: a cell of few
        rows is not one of them for its noise.
        """
        from condgof.check._effect_words import effect_ends

        first, last = effect_ends(self)
        return (first,) if first is last else (first, last)

    @property
    def name(self) -> str:
        """Its kind and columns: "bias by hr × workingday"."""
        from condgof.check._effect_words import effect_name

        return effect_name(self)

    @property
    def words(self) -> str:
        """The effect in a sentence: what is wrong, and where most."""
        from condgof.check._effect_words import effect_sentence

        return effect_sentence(self)

    def records(self) -> list[dict[str, Any]]:
        """Return one row a cell; of a stream also with the numbers of all its rows."""
        rows = [cell.record() for cell in self.cells]
        if self.all_rows is not None:
            for row, cell in zip(rows, self.all_rows.cells, strict=True):
                row |= {"n_all_rows": cell.n, "estimate_all_rows": cell.estimate}
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return everything but row numbers as plain Python objects, ready for JSON."""
        return {**super().to_dict(), "name": self.name, "words": self.words}

    def plot(self, ax: object = None) -> Any:
        """Draw it along its own columns, with intervals. Needs ``condgof[plot]``."""
        from condgof.report import plot_effect

        return plot_effect(self, ax)

    def __repr__(self) -> str:
        p = pvalue_words(self.pvalue, self.pvalue_floor)
        return f"Effect({self.name!r}, gain={self.gain:.3g}, share={self.share:.2f}, {p})"


@dataclass(frozen=True)
class AvoidableLoss(Record):
    """What all effects together gain on rows that were held out."""

    estimate: float  #: A row.
    interval: tuple[float, float]  #: At level 0.95.
    unit: str  #: "nats a row".
    rows: int  #: The number of rows that were held out.
    #: Rows to which the model gave the probability 0; the estimate is of the others.
    impossible: int = 0


@dataclass(frozen=True)
class EffectSize(Record):
    """How much: the size of the misfit, which does not grow with n."""

    #: The size of a misfit that is the same at every x and has the discrepancy of the data.
    interval: Interval
    #: What the size is measured in: standard deviations of the model for a shift, of a
    #: discrete y probability, of censored times a relative error of the hazard.
    unit: str
    #: "as large as a constant shift of 0.21 model standard deviations (0.17 to 0.25)".
    words: str


@dataclass(frozen=True)
class Power(Record):
    """The minimum detectable effect: what is detected with probability `power`."""

    #: The size of the smallest misfit that is detected, in the unit of `EffectSize`; None
    #: where there is none.
    size: float | None
    #: How many times the predicted standard deviation that of the data would have to be;
    #: None where there is no such number.
    spread: float | None
    #: The probability of detection.
    power: float
    #: The level of the test.
    alpha: float
    words: str


@dataclass(frozen=True)
class Tolerance(Record):
    """Whether the misfit is larger than a user allows."""

    #: The largest misfit that is allowed.
    allowed: float
    #: "worse than you allow", "good enough" or "undecided".
    verdict: str
    #: The lower one-sided confidence bound of the size, at level 1 − alpha.
    low: float
    #: The upper one, at the same level.
    high: float
    words: str
    #: Of these numbers: that of `EffectSize`, or of `AvoidableLoss`.
    unit: str = ""

    @property
    def option(self) -> str:
        """What was allowed, as ``tolerance=`` takes it: "0.05 nats" or "0.1 size"."""
        return f"{self.allowed:g} {'nats' if self.unit.startswith('nats') else 'size'}"


@dataclass(frozen=True, eq=False, repr=False)
class Check(Shown, Record):
    """A check of a model, from `check`: whether it fits, and how, where and how much not.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> x, noise = np.random.default_rng(0).standard_normal((2, 60))
    >>> report = cg.check((x, np.ones(60)), x, x + noise, rng=0)
    >>> report.rejected, report.to_dict()["schema"]
    (False, 2)
    """

    #: The test of all rows, which is the verdict.
    result: GofResult
    #: The message of the report, in a sentence or two.
    words: str
    #: The findings of all rows.
    overall: tuple[Finding, ...]
    #: What the misfit consists of, in the order in which it was found: each gains most of
    #: what those before it leave. None unless the model is rejected.
    effects: tuple[Effect, ...]
    #: What all effects gain; None where there are none.
    avoidable_loss: AvoidableLoss | None
    #: Where: the extreme cells of effects; none unless the model is rejected.
    slices: tuple[Slice, ...]
    #: All groups, with ``by=``, and slices that the user named; most certain first.
    groups: tuple[Slice, ...]
    effect: EffectSize
    power: Power
    tolerance: Tolerance | None
    #: The level of the verdict, of the slices and of the tolerance.
    alpha: float
    #: The rows that were compared with the model, on which all numbers but the verdict are.
    checked: CheckedRows
    #: By name: "searched", how many slices; "versions" of packages; "notes" for readers.
    details: Mapping[str, Any] = field(default_factory=dict)
    #: The model and its laws, for `repair`; they are not stored with the report.
    base: Base | None = None
    #: How the effects were found, for `repair`; not stored with the report either.
    analysis: Analysis | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("pictures", None)  # computed again where it is asked for
        return {**state, "base": None, "analysis": None}

    @property
    def pvalue(self) -> float:
        """The p-value of the verdict."""
        return self.result.pvalue

    def reject(self, alpha: float | None = None) -> bool:
        """Whether the verdict rejects the model, at the level of the check or another."""
        return self.result.reject(self.alpha if alpha is None else alpha)

    @property
    def rejected(self) -> bool:
        """Whether the model is rejected at the level of the check."""
        return self.reject()

    @property
    def subject(self) -> str:
        """What the verdict is about: "the model", or the family that it is fitted from."""
        return (
            "the family of the fitted model"
            if "fitted" in self.result.details
            else "the model"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, a sentence each."""
        return tuple(self.details.get("notes", ()))

    @property
    def x_columns(self) -> tuple[str, ...]:
        """The names of the columns of x."""
        return tuple(column.name for column in self.checked.x_columns)

    @property
    def y_columns(self) -> tuple[str, ...]:
        """The names of the columns of y."""
        return tuple(column.name for column in self.checked.y_columns)

    def slices_by(self, order: str = "certain") -> tuple[Slice, ...]:
        """Return the slices, most certain first or worst first (``order="severity"``)."""
        if check_choice(order, "order", ORDERS) == "certain":
            return self.slices
        return tuple(sorted(self.slices, key=lambda one: -one.severity))

    def frame(self) -> Any:
        """Return the rows that were compared as a frame: x, y, predictions and residuals.

        Columns are those of x and y, ``predicted`` and ``predicted_sd`` (of classes the
        most probable class, in the type of y, and its ``confidence``), and of a continuous
        y ``pit``, the probability integral transform, and ``z``, its normal score.

        Columns of x and y keep their names. Where one of them is called like a column of
        condgof, the latter gets the prefix ``condgof_``: ``condgof_z`` beside a ``z`` of
        the user. Only a name that `DataFrame.query` cannot take, or that x and y both have,
        is changed (``a`b`` to ``a_b``; y to ``z_2`` where x has a ``z``).

        Returns
        -------
        DataFrame of pandas, polars or modin, or Table of pyarrow
            Of the library that x comes from; if x is no frame, that of y; of pandas for
            arrays, files and Dask. Rows are in the order of the data, without those that
            were left out. The index of pandas and modin is the user's, or the number of
            each row in the data where the user's rows have none.

        Notes
        -----
        ``frame().query(part.query)`` has exactly the rows of the slice `part`, and so has
        ``frame().filter(part.polars)`` of polars. Tables of pyarrow have no such method:
        write ``frame().to_pandas().query(part.query)``. ``part.rows`` are the positions of
        the same rows in the user's data: ``x.iloc[part.rows]`` of pandas, ``x[part.rows]``
        of polars, ``x.take(part.rows)`` of pyarrow.

        Examples
        --------
        >>> import numpy as np, pandas as pd, condgof as cg
        >>> noise = np.random.default_rng(0).standard_normal(4)
        >>> x = pd.DataFrame({"z": [0.0, 1.0, 2.0, 3.0]}, index=["a", "b", "c", "d"])
        >>> report = cg.check((x["z"], np.ones(4)), x, x["z"] + noise, rng=0)
        >>> list(report.frame().index), list(report.frame())[-2:]
        (['a', 'b', 'c', 'd'], ['pit', 'condgof_z'])
        """
        from condgof.check._frame import frame_of

        return frame_of(self.checked)

    @property
    def outliers(self) -> Any:
        """The outlying rows as a frame like `frame`, the furthest out first.

        A row is an outlier if one as far out, among all rows, has a probability below
        0.001; of classes, if the class that came had one below 0.0001. The last column is
        that probability: ``tail_probability``, of anything as far out in this row, or
        ``probability_of_y``. The frame is empty where there are no outliers, and where the
        model does not say how far out a row is (scores, quantiles, draws).

        Examples
        --------
        >>> import numpy as np, condgof as cg
        >>> x, noise = np.random.default_rng(0).standard_normal((2, 60))
        >>> noise[7] = 9.25
        >>> cg.check((x, np.ones(60)), x, x + noise, rng=0).outliers["z"].round(2).to_dict()
        {7: 9.25}
        """
        from condgof.check._outliers import outlier_frame

        return outlier_frame(self.checked)

    @cached_property
    def scores(self) -> Scores | None:
        """The mean proper scores of the model, taken apart, and coverage over x.

        Log score, CRPS (of at most 4,000 rows), Brier score, pinball loss or Winkler
        score, as the model offers them, each with an interval. Brier score, CRPS, pinball
        loss and the log score of two classes are taken apart: mean = miscalibration −
        discrimination + uncertainty (isotonic recalibration). ``scores.coverage`` is how
        far the coverage of intervals is off on average over x, split into too narrow and
        too wide. They are computed when they are first asked for (the CRPS of a law without
        a closed form takes a while), then kept, and in ``to_dict()``, too. None for a
        report that was stored before that, and of `composite`.

        Examples
        --------
        >>> import numpy as np, condgof as cg
        >>> x, u = np.random.default_rng(0).uniform(size=(2, 500))
        >>> p = np.clip(1.5 * x - 0.25, 0.01, 0.99)   # overconfident
        >>> report = cg.check(cg.probabilities(p), x, (u < x).astype(int), rng=0)
        >>> report.scores.to_frame()["score"].tolist()
        ['log score', 'Brier score']
        """
        from condgof.check._scores import scores_of

        return scores_of(self)

    def at(self, x0: Any) -> Local | tuple[Local, ...]:
        """Describe the model near one point of x, or near each of several.

        Rows count by a Gaussian kernel of the ranks of x, which is as narrow as 150 rows
        near the point allow, in effect, and at most of half the median bandwidth; rows of
        other categories count, a fifth for each such column, only where fewer than 20 rows
        are near without them. Of a continuous y and of counts it has the distribution of
        PITs near the point, with a band that holds the whole curve of the same smoothing
        with probability 0.95, how often the central 50% and 90% intervals hold y, and what
        is predicted there, before and after `repair`.
        Of classes it has the share of each class beside its mean predicted probability, of
        quantiles and intervals how often each statement held. Where fewer than 20 rows are
        near, in effect, that is the answer. P-values and intervals are of a point that you
        choose without looking at y.

        Parameters
        ----------
        x0 : mapping, Series, list or table
            A value for each column of x, by name or in their order; or rows of several
            points, a frame or an array of shape (m, d_x).

        Returns
        -------
        Local, or a tuple of them for a table of several rows

        Examples
        --------
        >>> import numpy as np, condgof as cg
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(0, 4, 2000)
        >>> y = x + np.where(x > 2, 2.0, 1.0) * rng.standard_normal(2000)
        >>> report = cg.check(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=1)
        >>> [near.pit.is_inside for near in report.at([1.0, 3.0])]
        [True, False]
        >>> print(report.at({"x": 40.0}).words)
        Too few rows near x = 40: 0.0 in effect, and 20 are needed.
        """
        from condgof.check._local import locals_of

        return locals_of(self, x0)

    def repair(self, *, rng: RngLike = 0) -> Repair:
        """Learn a correction on these rows, and return the model with it.

        The correction is made of the effects of the report. Of a continuous y they map
        z = Φ⁻¹(F(y|x)): bias, spread, skew and tails. Of counts they map the scores of the
        CDF and multiply the odds of 0; of classes they multiply odds; draws, quantiles and
        ends of intervals are moved. Without an effect, or where effects gain nothing on
        rows that were held out, the model is left as it is: ``better.held_out`` is that
        gain. Several columns of y, and scores or moments alone, are refused. The `rng` is
        of the folds, and of the rows that are learned from, at most 10,000.

        The result is a model: ``better(x)``, ``check(better, x2, y2)``, ``better.gain(x2,
        y2)``. Judge it on other rows than these.

        Examples
        --------
        >>> import numpy as np, condgof as cg
        >>> x, noise = np.random.default_rng(0).standard_normal((2, 600))
        >>> better = cg.check((x, np.ones(600)), x, x + 1.5 * noise, rng=0).repair()
        >>> law = better.of((np.zeros(3), np.ones(3)))(np.zeros(3))
        >>> bool(1.3 < law.location_scale()[1][0, 0] < 1.7)
        True
        """
        from condgof.check._repair import repair_of

        return repair_of(self, rng)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows as plain Python objects, ready for JSON."""
        names = [
            field.name
            for field in fields(self)
            if field.name not in ("checked", "base", "analysis")
        ]
        names += ["rejected", "x_columns", "y_columns"]
        values = {name: plain(getattr(self, name)) for name in names}
        # Of some models the CRPS takes longer than the check: only if asked for.
        values |= {"scores": plain(self.__dict__.get("scores"))}
        values |= {"curves": self.curves(), "pictures": plain(self.pictures)}
        return {"schema": SCHEMA, **values}

    def curves(self) -> dict[str, Any]:
        """Return the numbers behind the report's pictures of all rows, ready for JSON.

        By name: ``"pit"``, ``"reliability"``, ``"classes"``, ``"rootogram"``,
        ``"coverage"`` or ``"survival"``, whichever the kind of y has.
        """
        from condgof.check.curves import curves_of

        return curves_of(self)

    @cached_property
    def pictures(self) -> Pictures:
        """What the report's pictures of columns, slices and groups draw.

        Its fields: ``fit``, y beside the model's band by bin; ``columns``, estimates along
        each column by bin, of at most 18 columns; ``slices`` and ``groups``, the curves of
        the rows of the first eight of each, and where these rows lie among all. It is in
        `to_dict` as plain numbers, without those of bins and cells of fewer than five rows.
        """
        from condgof.check.curves import pictures_of

        return pictures_of(self)

    def without_labels(self) -> Check:
        """Return the same report with numbers of rows in place of their labels.

        Labels of an index may name people. Sentences about outliers list those of at most
        five rows, and so do `to_dict` and `to_html`. ``frame()`` keeps all of them.
        """
        from condgof.check._text import message

        overall = tuple(finding.without_labels() for finding in self.overall)
        report = replace(self, overall=overall)
        return replace(report, words=message(report))

    def to_html(
        self,
        *,
        title: str | None = None,
        command: str | None = None,
        notes: Sequence[str] = (),
        row_labels: bool = True,
        rows: bool = True,
    ) -> str:
        """Write the report: one HTML file below 1 MB that needs no network.

        The page says itself what it holds of the data.

        Parameters
        ----------
        title : str, optional
            The heading of the page; what is predicted from what unless given.
        command : str, optional
            The command that gives the check again.
        notes : sequence of str
            What else the reader should know.
        row_labels : bool
            Whether rows are called by their labels in the user's index, else by their
            numbers, counted from 0. Labels may name people.
        rows : bool
            Whether single rows are in the file: points of pictures, which are all rows or a
            random sample of 800, and a table of the rows farthest from the model.
        """
        from condgof.report import check_page

        report = self if row_labels else self.without_labels()
        return check_page(
            report,
            title=title,
            command=command,
            notes=notes,
            row_labels=row_labels,
            rows=rows,
        )

    def plot(self, what: str | None = None, ax: object = None, **which: Any) -> Any:
        """Draw the four pictures that matter on one figure, or one of the report's on Axes.

        Needs ``condgof[plot]``. ``what``: "fit" (y against what is predicted, or a
        ``column=``), "pit", "slices", "groups", "column" (``column=``: residual quantiles
        along it), "slice" (``number=``: the residuals of its rows), "qq", "map"
        (``columns=``: two of them), "effect" (``number=``, counted from 0), "null"; of
        classes "reliability" and "classes", of counts "rootogram", of quantiles and
        intervals "coverage", of times with censoring "survival", of angles "angles".
        Returns a matplotlib Figure or Axes.

        Examples
        --------
        >>> import numpy as np, condgof as cg
        >>> x, noise = np.random.default_rng(0).standard_normal((2, 60))
        >>> report = cg.check((x, np.ones(60)), x, x + noise, rng=0)
        >>> report.plot("fit", column="x").get_xlabel()
        'x'
        """
        from condgof.report import plot_check

        return plot_check(self, what, ax, **which)

    def records(self) -> list[dict[str, Any]]:
        """Return one row a finding: of all rows, of each slice and of each group."""
        overall = {"where": "all rows", "n": self.checked.n, "pvalue": None}
        rows = [{**overall, **finding.record()} for finding in self.overall]
        for part in (*self.slices, *self.groups):
            rows += part.records()
        return rows

    def __repr__(self) -> str:
        return (
            f"Check(n={self.result.n}, {self.result.pvalue_words},"
            f" slices={len(self.slices)})"
        )

    def __str__(self) -> str:
        from condgof.check._text import check_text

        return check_text(self)
