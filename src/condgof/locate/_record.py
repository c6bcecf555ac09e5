"""What a check gives back: verdict, where, how and how much. Plain, frozen, picklable.

Everything that a report or a picture draws is in here, in bounded size: neither sees the sample again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from condgof._typing import FloatArray
from condgof.locate._frozen import Record
from condgof.locate._shown import Shown
from condgof.locate._text import check_text
from condgof.result import GofResult

#: Version of the dictionary that `Check.to_dict` gives, and of ``condgof check --json``.
SCHEMA = 1


@dataclass(frozen=True)
class Interval(Record):
    """An estimate with its confidence interval."""

    #: The estimate, and the ends of the interval.
    estimate: float
    low: float
    high: float
    #: Its confidence level.
    level: float = 0.95


@dataclass(frozen=True)
class Finding(Record):
    """One way in which y differs from the model near a location."""

    #: What differs. ``"shift"``: mean of the data minus that of the model, in the model's standard
    #: deviations. ``"width"``: standard deviation of the data over that of the model, above 1 where the
    #: model is too narrow. ``"skew"``: third standardised moment. ``"tails"``: excess kurtosis.
    #: ``"correlation"``: correlation of the standardised residuals of two columns of y. Of a discrete y:
    #: ``"class"``: how often the class (or the count) `label` was observed. ``"confidence"``: how often
    #: the most probable class was the observed one. ``"quantile"``: how often y exceeded the predicted
    #: quantile of level `label`. ``"coverage"``: how often the interval `label` covered y.
    kind: str
    #: The column of y, or the two columns of a correlation.
    columns: tuple[str, ...]
    #: Its size.
    interval: Interval
    #: Whether the location is named and the interval, widened for all findings that were looked at
    #: there, excludes what the model says.
    named: bool
    #: The finding as a sentence, such as "the model is too narrow: the data spread 1.8 times as much
    #: (1.5 to 2.2)".
    words: str
    #: What the model says in place of the estimate.
    expected: float = 0.0
    #: The class, the count, the level of the quantile or the interval that it is about; "" where it is
    #: about y.
    label: str = ""


@dataclass(frozen=True, eq=False)
class Panel(Record):
    """What to draw of y near a location."""

    #: Whether `values` are y beside the model's density, y beside draws from the model, or residuals
    #: that are standard normal (or, from scores alone, merely of mean 0) under the model; ``"classes"``:
    #: a discrete y, to be drawn as bars from `labels`, `observed` and `predicted`.
    kind: str
    #: What is in the columns of `values`, such as ``("income",)``.
    columns: tuple[str, ...]
    #: Rows near the location, m ≤ 400, (m, d_y).
    values: FloatArray
    #: How near they are, between 0 and 1, (m,).
    weights: FloatArray
    #: Points on each column's axis, (g, d_y).
    grid: FloatArray | None = None
    #: The model's marginal density of each column there, averaged over the rows with their weights, (g,
    #: d_y).
    density: FloatArray | None = None
    #: Draws from the model near the location, (m', d_y).
    samples: FloatArray | None = None
    #: Classes, counts or ranges of counts ("3–5"), in order.
    labels: tuple[str, ...] = ()
    #: How often each was observed and predicted, over all tested rows near with their weights, (number
    #: of labels,).
    observed: FloatArray | None = None
    predicted: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Location(Record):
    """A place in x where the misfit is strongest, and what is wrong there."""

    #: The location, in the user's units (categorical columns by the position of their level), (d_x,).
    x: FloatArray
    #: Column name to value; categorical columns by their level.
    label: Mapping[str, float | str]
    #: In words: "income between 2,100 and 2,900".
    where: str
    #: Numeric column name to the (low, high) that the words name.
    reach: Mapping[str, tuple[float, float]]
    #: Corrected for the search (other rows chose the location) and for looking at several.
    pvalue: float
    #: Corrected for the search only.
    raw_pvalue: float
    #: Whether the check rejects the model and this location's p-value is at most its alpha.
    named: bool
    #: Effective number of tested rows near it, (Σw)²/Σw².
    rows: float
    #: Its power criterion on the rows that chose it.
    strength: float
    #: What is wrong in y, most telling first.
    findings: tuple[Finding, ...]
    #: Where and what, in a sentence or two.
    words: str
    #: What to draw.
    panel: Panel
    #: Numeric column name to half the length of the range in which rows count at least one half; columns
    #: that do not tell where are not in it.
    half_width: Mapping[str, float] = field(default_factory=dict)
    #: Categorical column name to the level that rows near it have; the same holds.
    levels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Effect(Record):
    """How much: the size of the misfit, which does not grow with n."""

    #: Equivalent shift δ: the misfit has the Stein discrepancy of a model that is off by δ of its own
    #: standard deviations everywhere (for a model with scores only, in units that `unit` names). Of
    #: classes: a model that gives the probability δ to the wrong class everywhere; of quantiles and
    #: intervals, to the wrong side of the middle quantile, or of the ends of the widest interval.
    interval: Interval
    #: The unit.
    unit: str
    #: The discrepancy D itself.
    discrepancy: Interval
    #: "as large as a constant shift of 0.21 model standard deviations (0.17 to 0.25)".
    words: str


@dataclass(frozen=True)
class Detectable(Record):
    """What the check could have seen: the smallest misfit that it finds with probability `power`."""

    #: A constant shift, in the model's standard deviations; None for classes, quantiles and intervals.
    shift: float | None
    #: Data that spread this many times (above 1) as much as the model says; None from scores alone.
    width: float | None
    #: With what probability, at which level.
    power: float
    alpha: float
    #: A sentence.
    words: str
    #: For classes: this probability, everywhere, on the most probable class that belongs to the next.
    #: For quantiles and intervals: on the wrong side of the middle quantile, or of the ends of the
    #: widest interval.
    probability: float | None = None


@dataclass(frozen=True, eq=False)
class Landscape(Record):
    """The misfit over x, for maps."""

    #: Names of all columns of x, in order.
    columns: tuple[str, ...]
    #: Name of a categorical column to its levels.
    levels: Mapping[str, tuple[str, ...]]
    #: Rows of x in the user's units, m ≤ 500; categorical columns by the position of their level, (m,
    #: d_x).
    points: FloatArray
    #: The power criterion at each, (m,).
    values: FloatArray
    #: For one or two numeric columns: a regular grid (201 points; 41 × 41, the first column varying
    #: slowest) and the criterion there, NaN where there are no data nearby, (g, d_x) and (g,).
    grid: FloatArray | None = None
    grid_values: FloatArray | None = None
    #: Standardised y of these rows (standard normal under the model), for a PIT or residual panel, (m,
    #: d_y).
    residuals: FloatArray | None = None
    #: What `residuals` are, such as "normal scores of the model's CDF".
    residual_kind: str = ""
    #: Of a discrete y: all rows that were looked at, as bars.
    overall: Panel | None = None
    #: Names of columns of dates, which are numbers of days since 1970-01-01 UTC in `points`.
    dates: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Check(Shown, Record):
    """Does the model fit, and if not where, how and how badly?

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, 300)
    >>> report = cg.check((x, np.ones(300)), x, x + rng.standard_normal(300), rng=0)
    >>> report.rejects, report.to_dict()["schema"]
    (False, 1)
    """

    #: The verdict: that of `adaptive`.
    result: GofResult
    #: How much.
    effect: Effect
    #: Where and how, strongest first; those that are `named` are evidence, others only where to look.
    locations: tuple[Location, ...]
    #: What could have been seen.
    detectable: Detectable
    #: The misfit over x.
    landscape: Landscape
    #: The level of all of it.
    alpha: float
    #: The user's names.
    x_columns: tuple[str, ...]
    y_columns: tuple[str, ...]
    #: The verdict in a sentence or two.
    words: str
    #: Rows that chose and rows that tested the locations, the correction, versions, notes.
    details: Mapping[str, Any] = field(default_factory=dict)
    #: The verdict's p-value corrected for all groups, in a check of one group.
    corrected_pvalue: float | None = None
    #: Which group.
    group: str | None = None

    @property
    def pvalue(self) -> float:
        """The verdict's p-value, corrected for groups where there are any."""
        return self.result.pvalue if self.corrected_pvalue is None else self.corrected_pvalue

    @property
    def rejects(self) -> bool:
        """Whether the model is rejected: the p-value is at most alpha."""
        return self.pvalue <= self.alpha

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON; ``"schema"`` is its version."""
        return {"schema": SCHEMA, **super().to_dict()}

    def __repr__(self) -> str:
        named = sum(location.named for location in self.locations)
        return f"Check(n={self.result.n}, pvalue={self.result.pvalue:.4g}, named={named})"

    def __str__(self) -> str:
        return check_text(self)
