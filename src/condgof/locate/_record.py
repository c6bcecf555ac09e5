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
    """An estimate with its confidence interval.

    Parameters
    ----------
    estimate, low, high : float
        The estimate, and the ends of the interval.
    level : float
        Its confidence level.
    """

    estimate: float
    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True)
class Finding(Record):
    """One way in which y differs from the model near a location.

    Parameters
    ----------
    kind : str
        What differs. ``"shift"``: mean of the data minus that of the model, in the model's standard
        deviations. ``"width"``: standard deviation of the data over that of the model, above 1 where the
        model is too narrow. ``"skew"``: third standardised moment. ``"tails"``: excess kurtosis.
        ``"correlation"``: correlation of the standardised residuals of two columns of y. Of a discrete
        y: ``"class"``: how often the class (or the count) `label` was observed. ``"confidence"``: how
        often the most probable class was the observed one. ``"quantile"``: how often y exceeded the
        predicted quantile of level `label`. ``"coverage"``: how often the interval `label` covered y.
    columns : tuple of str
        The column of y, or the two columns of a correlation.
    interval : Interval
        Its size.
    named : bool
        Whether the location is named and the interval, widened for all findings that were looked at
        there, excludes what the model says.
    words : str
        The finding as a sentence, such as "the model is too narrow: the data spread 1.8 times as much
        (1.5 to 2.2)".
    expected : float
        What the model says in place of the estimate.
    label : str
        The class, the count, the level of the quantile or the interval that it is about; "" where it is
        about y.
    """

    kind: str
    columns: tuple[str, ...]
    interval: Interval
    named: bool
    words: str
    expected: float = 0.0
    label: str = ""


@dataclass(frozen=True, eq=False)
class Panel(Record):
    """What to draw of y near a location.

    Parameters
    ----------
    kind : {"density", "samples", "residuals", "classes"}
        Whether `values` are y beside the model's density, y beside draws from the model, or residuals
        that are standard normal (or, from scores alone, merely of mean 0) under the model;
        ``"classes"``: a discrete y, to be drawn as bars from `labels`, `observed` and `predicted`.
    columns : tuple of str
        What is in the columns of `values`, such as ``("income",)``.
    values : ndarray of shape (m, d_y)
        Rows near the location, m ≤ 400.
    weights : ndarray of shape (m,)
        How near they are, between 0 and 1.
    grid : ndarray of shape (g, d_y), optional
        Points on each column's axis.
    density : ndarray of shape (g, d_y), optional
        The model's marginal density of each column there, averaged over the rows with their weights.
    samples : ndarray of shape (m', d_y), optional
        Draws from the model near the location.
    labels : tuple of str
        Classes, counts or ranges of counts ("3–5"), in order.
    observed, predicted : ndarray of shape (number of labels,), optional
        How often each was observed and predicted, over all tested rows near with their weights.
    """

    kind: str
    columns: tuple[str, ...]
    values: FloatArray
    weights: FloatArray
    grid: FloatArray | None = None
    density: FloatArray | None = None
    samples: FloatArray | None = None
    labels: tuple[str, ...] = ()
    observed: FloatArray | None = None
    predicted: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Location(Record):
    """A place in x where the misfit is strongest, and what is wrong there.

    Parameters
    ----------
    x : ndarray of shape (d_x,)
        The location, in the user's units (categorical columns by the position of their level).
    label : mapping
        Column name to value; categorical columns by their level.
    where : str
        In words: "income between 2,100 and 2,900".
    reach : mapping
        Numeric column name to the (low, high) that the words name.
    pvalue : float
        Corrected for the search (other rows chose the location) and for looking at several.
    raw_pvalue : float
        Corrected for the search only.
    named : bool
        Whether the check rejects the model and this location's p-value is at most its alpha.
    rows : float
        Effective number of tested rows near it, (Σw)²/Σw².
    strength : float
        Its power criterion on the rows that chose it.
    findings : tuple of Finding
        What is wrong in y, most telling first.
    words : str
        Where and what, in a sentence or two.
    panel : Panel
        What to draw.
    half_width : mapping
        Numeric column name to the distance from `x` at which a row still counts one half; columns that
        do not tell where are not in it.
    levels : mapping
        Categorical column name to the level that rows near it have; the same holds.
    """

    x: FloatArray
    label: Mapping[str, float | str]
    where: str
    reach: Mapping[str, tuple[float, float]]
    pvalue: float
    raw_pvalue: float
    named: bool
    rows: float
    strength: float
    findings: tuple[Finding, ...]
    words: str
    panel: Panel
    half_width: Mapping[str, float] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Effect(Record):
    """How much: the size of the misfit, which does not grow with n.

    Parameters
    ----------
    interval : Interval
        Equivalent shift δ: the misfit has the Stein discrepancy of a model that is off by δ of its own
        standard deviations everywhere (for a model with scores only, in units that `unit` names). Of
        classes: a model that gives the probability δ to the wrong class everywhere; of quantiles and
        intervals, to the wrong side of the middle quantile, or of the ends of the widest interval.
    unit : str
        The unit.
    discrepancy : Interval
        The discrepancy D itself.
    words : str
        "as large as a constant shift of 0.21 model standard deviations (0.17 to 0.25)".
    """

    interval: Interval
    unit: str
    discrepancy: Interval
    words: str


@dataclass(frozen=True)
class Detectable(Record):
    """What the check could have seen: the smallest misfit that it finds with probability `power`.

    Parameters
    ----------
    shift : float or None
        A constant shift, in the model's standard deviations; None for classes, quantiles and intervals.
    width : float or None
        Data that spread this many times (above 1) as much as the model says; None from scores alone.
    power, alpha : float
        With what probability, at which level.
    words : str
        A sentence.
    probability : float or None
        For classes: this probability, everywhere, on the most probable class that belongs to the next.
        For quantiles and intervals: on the wrong side of the middle quantile, or of the ends of the
        widest interval.
    """

    shift: float | None
    width: float | None
    power: float
    alpha: float
    words: str
    probability: float | None = None


@dataclass(frozen=True, eq=False)
class Landscape(Record):
    """The misfit over x, for maps.

    Parameters
    ----------
    columns : tuple of str
        Names of all columns of x, in order.
    levels : mapping
        Name of a categorical column to its levels.
    points : ndarray of shape (m, d_x)
        Rows of x in the user's units, m ≤ 1,500; categorical columns by the position of their level.
    values : ndarray of shape (m,)
        The power criterion at each.
    grid, grid_values : ndarray of shape (g, d_x) and (g,), optional
        For one or two numeric columns: a regular grid (201 points; 41 × 41, the first column varying
        slowest) and the criterion there, NaN where there are no data nearby.
    residuals : ndarray of shape (m, d_y), optional
        Standardised y of these rows (standard normal under the model), for a PIT or residual panel.
    residual_kind : str
        What `residuals` are, such as "normal scores of the model's CDF".
    overall : Panel, optional
        Of a discrete y: all rows that were looked at, as bars.
    dates : tuple of str
        Names of columns of dates, which are numbers of days since 1970-01-01 UTC in `points`.
    """

    columns: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    points: FloatArray
    values: FloatArray
    grid: FloatArray | None = None
    grid_values: FloatArray | None = None
    residuals: FloatArray | None = None
    residual_kind: str = ""
    overall: Panel | None = None
    dates: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Check(Shown, Record):
    """Does the model fit, and if not where, how and how badly?

    Parameters
    ----------
    result : GofResult
        The verdict: that of `adaptive`.
    effect : Effect
        How much.
    locations : tuple of Location
        Where and how, strongest first; those that are `named` are evidence, others only where to look.
    detectable : Detectable
        What could have been seen.
    landscape : Landscape
        The misfit over x.
    alpha : float
        The level of all of it.
    x_columns, y_columns : tuple of str
        The user's names.
    words : str
        The verdict in a sentence or two.
    details : mapping
        Rows that chose and rows that tested the locations, the correction, versions, notes.
    corrected_pvalue : float, optional
        The verdict's p-value corrected for all groups, in a check of one group.
    group : str, optional
        Which group.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, 300)
    >>> report = cg.check((x, np.ones(300)), x, x + rng.standard_normal(300), rng=0)
    >>> report.rejects, report.to_dict()["schema"]
    (False, 1)
    """

    result: GofResult
    effect: Effect
    locations: tuple[Location, ...]
    detectable: Detectable
    landscape: Landscape
    alpha: float
    x_columns: tuple[str, ...]
    y_columns: tuple[str, ...]
    words: str
    details: Mapping[str, Any] = field(default_factory=dict)
    corrected_pvalue: float | None = None
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
