"""Which curves each kind of y has: registered for its class of rows.

A class that is not registered raises.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._record import Slice
from condgof.check.curves._bins import part_rows, part_y
from condgof.check.curves._overall import (
    MOST_CLASSES,
    MOST_STEPS,
    MOST_STEPS_OF_SUBGROUP,
    class_confidences,
    class_shares,
    confidence_of,
    coverage_curve,
    event_curve,
    pit_bars,
    pit_histogram,
    reliability_curve,
    residual_histogram,
    residual_quantiles,
    rootogram_of,
    survival_curve,
)
from condgof.check.curves._profiles import (
    Profile,
    event_profile,
    moment_profile,
    quantile_profile,
    share_profile,
)
from condgof.check.kinds import (
    CensoredRows,
    CheckedRows,
    CircularRows,
    CircularScoreRows,
    ClassRows,
    ContinuousRows,
    CountRows,
    IntervalRows,
    MomentRows,
    QuantileRows,
    ScoreRows,
    SeveralRows,
    SingleMarginalRows,
    StatementRows,
)

#: Rows with z of N(0, 1) under the model, (n, d_y).
NormalScores: TypeAlias = ContinuousRows | SeveralRows
#: Rows of one column of y, of which bands may be known.
OneColumn: TypeAlias = ContinuousRows | SingleMarginalRows
#: Rows of which nothing that was predicted is known.
ScoresAlone: TypeAlias = ScoreRows | CircularScoreRows
#: Rows with scores z, (n, d_y), that measure how far each row is from the model.
RowsWithScores: TypeAlias = (
    ContinuousRows | SeveralRows | SingleMarginalRows | MomentRows | CountRows
)
#: Rows with scores (n,) by which they are outliers.
RowsWithFarScores: TypeAlias = CensoredRows | CircularRows

#: Residuals are cut at ± this before columns of y are compared: outliers decide nothing.
CUT = 2.5
#: Kinds of findings that a map shows by the spread of residuals in its cells.
SPREAD_KINDS = ("spread", "coverage", "tails")


class RowResiduals(NamedTuple):
    """Residuals of single rows."""

    z: FloatArray  #: Of mean 0 and variance 1 under the model, (n, d_y).
    are_normal: bool  #: Whether they are standard normal under the model.
    #: The model's quantiles of y at `BAND_LEVELS`, (n, 5), NaN in rows that were not asked;
    #: None where the model has none, or y has several columns.
    bands: FloatArray | None = None
    are_counts: bool = False  #: Whether y comes in whole numbers, so that points coincide.

    @property
    def have_intervals(self) -> bool:
        """Whether the model predicts intervals of y, not only its mean and sd."""
        return self.are_normal or self.bands is not None

    @property
    def deviations(self) -> FloatArray:
        """How far they are from mean 0 and variance 1, (2, d_y)."""
        z = np.clip(self.z, -CUT, CUT)
        return np.abs([z.mean(axis=0), (np.square(z).mean(axis=0) - 1.0) / 2.0])


class MapValues(NamedTuple):
    """What the cells of a map are about."""

    values: FloatArray  #: Data less model, row by row, (n,).
    #: "shift" or "spread" of residuals, "class", "confidence", "quantile", "coverage" or
    #: "direction".
    quantity: str
    unit: str = ""

    @property
    def of_spread(self) -> bool:
        """Whether cells show the standard deviation of values, not their mean."""
        return self.quantity == "spread"


def not_registered(function: str, checked: CheckedRows) -> NoReturn:
    raise NotImplementedError(f"{function} is not registered for {type(checked).__name__}")


@singledispatch
def overall_curves(checked: CheckedRows) -> dict[str, Any]:
    """Return the records of the curves of all rows, by name."""
    not_registered("overall_curves", checked)


@singledispatch
def subgroup_curves(checked: CheckedRows, part: Slice) -> dict[str, Any]:
    """Return the records of the curves of a subgroup, by name; None for one without."""
    not_registered("subgroup_curves", checked)


@singledispatch
def column_profile(checked: CheckedRows, bins: list[IntArray], y: int) -> Profile | None:
    """Return estimates in B bins of a column, of the y column number `y`.

    `bins` are the positions of the rows of each bin.
    """
    not_registered("column_profile", checked)


@singledispatch
def map_values(checked: CheckedRows, part: Slice | None) -> MapValues | None:
    """Return what a map shows: what a subgroup is about, or what is most off overall."""
    not_registered("map_values", checked)


@singledispatch
def row_residuals(checked: CheckedRows) -> RowResiduals | None:
    """Return the residuals of single rows, where there are any."""
    not_registered("row_residuals", checked)


class RowDistances(NamedTuple):
    """How far each row is from what the model predicts."""

    name: str  #: What it is measured by.
    values: FloatArray  #: (n,).


@singledispatch
def row_distances(checked: CheckedRows) -> RowDistances | None:
    """Return how far rows are from the model; None where the model does not say."""
    not_registered("row_distances", checked)


@singledispatch
def overall_codes(checked: CheckedRows) -> dict[str, IntArray]:
    """Return into which bar of a picture of all rows each row falls, (n,), by picture."""
    not_registered("overall_codes", checked)


def strongest_column(checked: CheckedRows) -> int:
    """Return the column of y that is most off; 0 where there are no residuals."""
    residuals = row_residuals(checked)
    return 0 if residuals is None else int(np.argmax(residuals.deviations.max(axis=0)))


def _residual_histogram(checked: CheckedRows, z: FloatArray, part: Slice) -> dict[str, Any]:
    """Return the histogram of a subgroup's residuals, of all residuals z (n, d_y)."""
    inside = z[part_rows(checked, part), part_y(checked, part)]
    return {"residuals": residual_histogram(inside)}


def _residual_map(
    checked: CheckedRows, residuals: RowResiduals, part: Slice | None
) -> MapValues:
    """Show residuals: by their spread if that is what is off, else by their mean."""
    kind = "" if part is None else part.findings[0].kind
    y = strongest_column(checked) if part is None else part_y(checked, part)
    shift, spread = residuals.deviations[:, y]
    if kind in SPREAD_KINDS or (spread > shift and kind != "shift"):
        return MapValues(residuals.z[:, y], "spread", "times")
    return MapValues(residuals.z[:, y], "shift", "sd")


# Normal scores of y: one column, several columns, and one column by its marginal CDF


def _normal_residuals(checked: NormalScores) -> RowResiduals:
    """Return normal scores as residuals, without bands: few curves need these."""
    return RowResiduals(z=checked.z, are_normal=True)


@row_residuals.register
def _(checked: SeveralRows) -> RowResiduals | None:
    return _normal_residuals(checked)


@row_residuals.register(ContinuousRows)
@row_residuals.register(SingleMarginalRows)
def _(checked: OneColumn) -> RowResiduals | None:
    return RowResiduals(z=checked.z, are_normal=True, bands=checked.bands)


@overall_curves.register(ContinuousRows)
@overall_curves.register(SeveralRows)
def _(checked: NormalScores) -> dict[str, Any]:
    names = [column.name for column in checked.y_columns]
    columns = zip(names, checked.pit.T, strict=True)
    return {"pit": {name: pit_histogram(pit) for name, pit in columns}}


@subgroup_curves.register(ContinuousRows)
@subgroup_curves.register(SeveralRows)
def _(checked: NormalScores, part: Slice) -> dict[str, Any]:
    inside = checked.z[part_rows(checked, part), part_y(checked, part)]
    histogram = _residual_histogram(checked, checked.z, part)
    return {**histogram, "quantiles": residual_quantiles(inside)}


@column_profile.register(ContinuousRows)
@column_profile.register(SeveralRows)
def _(checked: NormalScores, bins: list[IntArray], y: int) -> Profile | None:
    return quantile_profile(checked.z[:, y], bins)


@map_values.register(ContinuousRows)
@map_values.register(SeveralRows)
def _(checked: NormalScores, part: Slice | None) -> MapValues | None:
    return _residual_map(checked, _normal_residuals(checked), part)


@row_distances.register(ContinuousRows)
@row_distances.register(SeveralRows)
@row_distances.register(SingleMarginalRows)
@row_distances.register(MomentRows)
@row_distances.register(CountRows)
def _(checked: RowsWithScores) -> RowDistances | None:
    return RowDistances("|z|", np.abs(checked.z).max(axis=1))


@overall_codes.register
def _(checked: ContinuousRows) -> dict[str, IntArray]:
    return {"pit": pit_bars(checked.pit[:, 0])}


@overall_codes.register(SeveralRows)
@overall_codes.register(MomentRows)
@overall_codes.register(CensoredRows)
@overall_codes.register(StatementRows)
@overall_codes.register(CircularRows)
@overall_codes.register(ScoreRows)
@overall_codes.register(CircularScoreRows)
def _(checked: CheckedRows) -> dict[str, IntArray]:
    """Nothing: their pictures of all rows have no bars that rows fall into."""
    return {}


# Means and standard deviations alone: residuals of no known law


@row_residuals.register
def _(checked: MomentRows) -> RowResiduals | None:
    return RowResiduals(z=checked.z, are_normal=False)


@overall_curves.register
def _(checked: MomentRows) -> dict[str, Any]:
    return {}


@subgroup_curves.register
def _(checked: MomentRows, part: Slice) -> dict[str, Any]:
    return _residual_histogram(checked, checked.z, part)


@column_profile.register
def _(checked: MomentRows, bins: list[IntArray], y: int) -> Profile | None:
    return moment_profile(checked.z[:, y], bins)


@map_values.register
def _(checked: MomentRows, part: Slice | None) -> MapValues | None:
    return _residual_map(checked, RowResiduals(checked.z, are_normal=False), part)


# Counts


def _count_residuals(checked: CountRows) -> RowResiduals:
    """Return normal scores of the randomised PIT."""
    return RowResiduals(z=checked.z, are_normal=True, bands=checked.bands, are_counts=True)


@row_residuals.register
def _(checked: CountRows) -> RowResiduals | None:
    return _count_residuals(checked)


@overall_curves.register
def _(checked: CountRows) -> dict[str, Any]:
    bars = rootogram_of(checked)
    return {} if bars is None else {"rootogram": bars}


@subgroup_curves.register
def _(checked: CountRows, part: Slice) -> dict[str, Any]:
    return _residual_histogram(checked, checked.z, part)


@column_profile.register
def _(checked: CountRows, bins: list[IntArray], y: int) -> Profile | None:
    return None if checked.residual is None else moment_profile(checked.residual, bins)


@map_values.register
def _(checked: CountRows, part: Slice | None) -> MapValues | None:
    return _residual_map(checked, _count_residuals(checked), part)


@overall_codes.register
def _(checked: CountRows) -> dict[str, IntArray]:
    bars = rootogram_of(checked)
    if bars is None:
        return {}
    counts = checked.y[:, 0].astype(int)
    return {"rootogram": np.searchsorted(bars.starts, counts, side="right") - 1}


# Classes


@row_residuals.register
def _(checked: ClassRows) -> RowResiduals | None:
    return None


@overall_curves.register
def _(checked: ClassRows) -> dict[str, Any]:
    every_row = np.ones(checked.n, bool)
    return {
        "reliability": reliability_curve(confidence_of(checked)),
        "classes": class_shares(checked, every_row).furthest(MOST_CLASSES),
        "class reliability": {
            name: reliability_curve(one) for name, one in class_confidences(checked).items()
        },
    }


@subgroup_curves.register
def _(checked: ClassRows, part: Slice) -> dict[str, Any]:
    """Return shares of classes where a class is off, else how often it was right."""
    inside = part_rows(checked, part)
    if part.kind == "class":
        return {"classes": class_shares(checked, inside).furthest(MOST_CLASSES)}
    return {"reliability": reliability_curve(confidence_of(checked).take(inside))}


@column_profile.register
def _(checked: ClassRows, bins: list[IntArray], y: int) -> Profile | None:
    confidence = confidence_of(checked)
    return share_profile(
        names=["accuracy − confidence"],
        happened=[confidence.right],
        probability=[confidence.probability],
        bins=bins,
        as_difference=True,
    )


@map_values.register
def _(checked: ClassRows, part: Slice | None) -> MapValues | None:
    """Show the class that a subgroup is about; else how confident the model is."""
    if part is not None and part.kind == "class":
        label = part.findings[0].label
        if label in checked.class_names:
            k = checked.class_names.index(label)
            p = np.asarray(checked.probabilities, dtype=float)
            return MapValues((checked.codes == k) - p[:, k], "class")
    confidence = confidence_of(checked)
    return MapValues(confidence.probability - confidence.right, "confidence")


@row_distances.register
def _(checked: ClassRows) -> RowDistances | None:
    p = np.asarray(checked.probabilities, dtype=float)[np.arange(checked.n), checked.codes]
    with np.errstate(divide="ignore"):
        return RowDistances("−log P(y)", -np.log(p))


@overall_codes.register
def _(checked: ClassRows) -> dict[str, IntArray]:
    shares = class_shares(checked, np.ones(checked.n, bool)).furthest(MOST_CLASSES)
    place = np.full(len(checked.class_names), -1)
    for k, name in enumerate(shares.names):
        place[checked.class_names.index(name)] = k
    return {"classes": place[checked.codes]}


# Quantiles and intervals


@row_residuals.register
def _(checked: StatementRows) -> RowResiduals | None:
    return None


@overall_curves.register
def _(checked: StatementRows) -> dict[str, Any]:
    return {"coverage": coverage_curve(checked, np.ones(checked.n, bool))}


@subgroup_curves.register
def _(checked: StatementRows, part: Slice) -> dict[str, Any]:
    return {"coverage": coverage_curve(checked, part_rows(checked, part))}


@singledispatch
def _statement_quantity(checked: StatementRows) -> str:
    not_registered("_statement_quantity", checked)


@_statement_quantity.register
def _(checked: QuantileRows) -> str:
    return "quantile"


@_statement_quantity.register
def _(checked: IntervalRows) -> str:
    return "coverage"


@column_profile.register
def _(checked: StatementRows, bins: list[IntArray], y: int) -> Profile | None:
    """Return the first, the middle and the last statement."""
    last = len(checked.statements) - 1
    chosen = sorted({0, len(checked.statements) // 2, last})
    statements = [checked.statements[k] for k in chosen]
    return share_profile(
        names=[checked.statement_label(statement) for statement in statements],
        happened=[statement.happened(checked.codes) for statement in statements],
        probability=[np.full(checked.n, statement.level) for statement in statements],
        bins=bins,
        as_difference=False,
    )


@map_values.register
def _(checked: StatementRows, part: Slice | None) -> MapValues | None:
    """Show the statement that a subgroup is about; else the one furthest out."""
    label = "" if part is None else part.findings[0].label
    named = [one for one in checked.statements if checked.statement_label(one) == label]
    statement = max(named or checked.statements, key=lambda one: abs(one.level - 0.5))
    missed = statement.level - statement.happened(checked.codes)
    return MapValues(missed, _statement_quantity(checked))


@row_distances.register
def _(checked: StatementRows) -> RowDistances | None:
    """By the width from the lowest to the highest quantile, or of the widest interval."""
    if checked.moments is None:
        return None
    error = np.abs(checked.y[:, 0] - checked.moments.location[:, 0])
    width = np.maximum(checked.width[:, 0], np.finfo(float).tiny)
    return RowDistances("distance from the middle, in predicted widths", error / width)


# Censored times


@row_residuals.register
def _(checked: CensoredRows) -> RowResiduals | None:
    return None


@overall_curves.register
def _(checked: CensoredRows) -> dict[str, Any]:
    every_row = np.arange(checked.n)
    curve = survival_curve(checked, every_row)
    events = event_curve(checked, every_row)
    found = {"events": events, "survival": curve and curve.thinned(MOST_STEPS)}
    return {name: one for name, one in found.items() if one is not None}


@subgroup_curves.register
def _(checked: CensoredRows, part: Slice) -> dict[str, Any]:
    rows = np.flatnonzero(part_rows(checked, part))
    curve = survival_curve(checked, rows)
    thinned = None if curve is None else curve.thinned(MOST_STEPS_OF_SUBGROUP)
    return {"events": event_curve(checked, rows), "survival": thinned}


@column_profile.register
def _(checked: CensoredRows, bins: list[IntArray], y: int) -> Profile | None:
    return event_profile(checked, bins)


@map_values.register
def _(checked: CensoredRows, part: Slice | None) -> MapValues | None:
    return None


@row_distances.register(CensoredRows)
@row_distances.register(CircularRows)
def _(checked: RowsWithFarScores) -> RowDistances | None:
    return RowDistances("|z|", np.abs(checked.far_scores))


# Angles


@row_residuals.register(CircularRows)
def _(checked: CircularRows) -> RowResiduals | None:
    return None


@overall_curves.register
def _(checked: CircularRows) -> dict[str, Any]:
    return {"angles": checked.histogram(np.arange(checked.n))}


@subgroup_curves.register
def _(checked: CircularRows, part: Slice) -> dict[str, Any]:
    rows = np.flatnonzero(part_rows(checked, part))
    return {"angles": checked.histogram(rows) if len(rows) else None}


@column_profile.register
def _(checked: CircularRows, bins: list[IntArray], y: int) -> Profile | None:
    bias = checked.bias_profile(bins)
    distance = np.where(bias.side != 0, np.abs(bias.estimate), -1.0)
    return Profile(
        names=("bias",),
        estimate=bias.estimate[:, None],
        low=bias.low[:, None],
        high=bias.high[:, None],
        expected=(0.0,),
        side=bias.side[:, None],
        furthest=int(np.argmax(distance)) if bias.side.any() else None,
    )


@map_values.register
def _(checked: CircularRows, part: Slice | None) -> MapValues | None:
    values = checked.unit.from_radians(checked.angle)
    return MapValues(values, "direction", checked.unit.name)


# Stein scores alone


@row_distances.register(ScoreRows)
@row_distances.register(CircularScoreRows)
def _(checked: ScoresAlone) -> RowDistances | None:
    return None


@row_residuals.register(ScoreRows)
@row_residuals.register(CircularScoreRows)
def _(checked: ScoresAlone) -> RowResiduals | None:
    return None


@overall_curves.register(ScoreRows)
@overall_curves.register(CircularScoreRows)
def _(checked: ScoresAlone) -> dict[str, Any]:
    return {}


@subgroup_curves.register(ScoreRows)
@subgroup_curves.register(CircularScoreRows)
def _(checked: ScoresAlone, part: Slice) -> dict[str, Any]:
    return {}


@column_profile.register(ScoreRows)
@column_profile.register(CircularScoreRows)
def _(checked: ScoresAlone, bins: list[IntArray], y: int) -> Profile | None:
    return None


@map_values.register(ScoreRows)
@map_values.register(CircularScoreRows)
def _(checked: ScoresAlone, part: Slice | None) -> MapValues | None:
    return None
