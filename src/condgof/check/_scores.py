"""The proper scores of a check, taken apart, and how far coverage is off over x."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.check._decomposition import (
    Decomposition,
    decompose_crps,
    decompose_probability,
    decompose_quantile,
    log_loss,
)
from condgof.check._local import COVERAGES, LocalWeights
from condgof.check._repair import Base
from condgof.check._sampled import some_rows
from condgof.check._words import percent
from condgof.check.kinds import (
    CheckedRows,
    ClassRows,
    ContinuousRows,
    CountRows,
    IntervalRows,
)
from condgof.errors import CondgofError
from condgof.laws import (
    MEASURES,
    Law,
    Measure,
    Quantiles,
    available_measures,
    evaluate_cdf_grid,
    score,
)
from condgof.null import Difference
from condgof.result import Record, Shown, estimate_text, number, plain
from condgof.sample import CONTENT_SEED, Use, mean_terms, weighted_mean

if TYPE_CHECKING:
    from condgof.check._record import Check

#: Rows on which the CRPS is computed at most: of most laws it is an integral.
MOST_CRPS_ROWS = 4_000
#: Rows on which coverage over x is estimated at most: it takes the distances of all pairs.
MOST_COVERAGE_ROWS = 2_000
#: Fewer rows are too few to learn where coverage is off.
FEWEST_COVERAGE_ROWS = 100
#: Thresholds between observations at which the CRPS is taken apart.
THRESHOLDS = 200
#: Thresholds on either side beyond the observations.
OUTER_THRESHOLDS = 10
#: Levels of the predicted quantiles up to which thresholds reach beyond the observations.
OUTER_LEVELS = (0.001, 0.999)
#: Folds in which it is learned where coverage is off.
COVERAGE_FOLDS = 5
#: Streams of random numbers (`Seed.stream`); `condgof.check._look` lists the others.
CRPS_ROWS_STREAM = 31
COVERAGE_ROWS_STREAM = 32
COVERAGE_FOLDS_STREAM = 33


# What is returned.


@dataclass(frozen=True)
class MeanScore(Record):
    """The mean of a proper score over rows, and what it is made of."""

    key: str  #: "log", "crps", "energy", "brier", "pinball" or "winkler".
    name: str
    better: str  #: Which values are better, "higher" or "lower".
    mean: float
    interval: tuple[float, float]  #: 95% interval of the mean.
    rows: int  #: How many rows it is the mean of.
    #: In how many rows it is infinite: what was observed had probability 0, or an interval
    #: no end.
    infinite: int = 0
    #: Of the whole score; None where it has none. Of a log score, of −log p.
    parts: Decomposition | None = None
    #: Of each class or level.
    by_label: tuple[Decomposition, ...] = ()

    @property
    def words(self) -> str:
        """As in "CRPS 0.56 (0.54 to 0.59), miscalibration 0.01, …"."""
        text, span = estimate_text(self.mean, *self.interval)
        words = f"{self.name} {text} ({span}), {self.better} is better"
        if self.infinite:
            words += f"; infinite in {self.infinite:,} of {self.rows:,} rows"
        if self.parts is not None:
            words += (
                f"; miscalibration {number(self.parts.miscalibration)}, discrimination"
                f" {number(self.parts.discrimination)}, uncertainty"
                f" {number(self.parts.uncertainty)}"
            )
        return words


@dataclass(frozen=True)
class CoverageError(Record):
    """How far the coverage of an interval is off, over x."""

    nominal: float  #: What the coverage should be.
    coverage: float  #: The coverage over all rows.
    #: The mean over x of how far P(inside given x) is from nominal, as far as it can be
    #: learned: a lower bound.
    estimate: float
    interval: tuple[float, float]  #: 95% interval of the estimate.
    too_narrow: float  #: The part of the estimate where coverage is too low.
    too_wide: float  #: The part where it is too high.
    rows: int  #: How many rows it is estimated from.

    @property
    def words(self) -> str:
        """As in "coverage of the 90% interval is off by 4.1% on average over x (…)"."""
        low, high = (percent(max(end, 0.0)) for end in self.interval)
        return (
            f"coverage of the {percent(self.nominal)} interval is off by"
            f" {percent(max(self.estimate, 0.0))} on average over x ({low} to {high}):"
            f" too narrow {percent(max(self.too_narrow, 0.0))}, too wide"
            f" {percent(max(self.too_wide, 0.0))}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Shown, Record):
    """The proper scores of a check, from ``report.scores``.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> x, noise = np.random.default_rng(0).standard_normal((2, 400))
    >>> scores = cg.check((x, 2 * np.ones(400)), x, x + noise, rng=0).scores
    >>> [one.name for one in scores.scores]
    ['log score', 'CRPS']
    >>> crps = scores.scores[1]
    >>> bool(abs(crps.parts.mean - crps.mean) < 1e-12)
    True
    >>> scores.coverage[1].too_wide > scores.coverage[1].too_narrow
    True
    """

    scores: tuple[MeanScore, ...]
    #: Of central intervals, or of those that were predicted; empty where there are none.
    coverage: tuple[CoverageError, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {"scores": plain(self.scores), "coverage": plain(self.coverage)}

    def records(self) -> list[dict[str, Any]]:
        """Return one row a score, and one for each of its classes or levels."""
        return [row for one in self.scores for row in _score_records(one)]

    @property
    def words(self) -> str:
        """All numbers, a sentence each."""
        return ". ".join(self._sentences()) + "."

    def _sentences(self) -> list[str]:
        scores = [one.words for one in self.scores]
        return [*scores, *(one.words for one in self.coverage)]

    def __repr__(self) -> str:
        return f"Scores({', '.join(one.name for one in self.scores)})"

    def __str__(self) -> str:
        return "\n".join(self._sentences())


def _score_records(one: MeanScore) -> Iterator[dict[str, Any]]:
    low, high = one.interval
    whole = {"score": one.name, "label": "", "mean": one.mean, "low": low, "high": high}
    yield {**whole, **_part_record(one.parts), "rows": one.rows}
    for part in one.by_label:
        row = {**whole, "label": part.label, "mean": part.mean, "low": None, "high": None}
        yield {**row, **_part_record(part), "rows": one.rows}


def _part_record(part: Decomposition | None) -> dict[str, float | None]:
    names = ("miscalibration", "discrimination", "uncertainty")
    return {name: None if part is None else getattr(part, name) for name in names}


# Scores.


def scores_of(check: Check) -> Scores | None:
    """Return the scores of a check; None where it was stored without its model."""
    base = check.base
    if base is None:
        return None
    keys = available_measures(base.law, base.rows.sample.d_y)
    each = [mean_score(MEASURES[key], check.checked, base) for key in keys]
    return Scores(tuple(each), tuple(coverage_errors(check.checked, base)))


def mean_score(measure: Measure, checked: CheckedRows, base: Base) -> MeanScore:
    """Return the mean of one score, with its interval and its parts."""
    rows = np.arange(checked.n)
    law = base.law
    if measure.key == "crps" and checked.n > MOST_CRPS_ROWS:
        rows = some_rows(checked.n, MOST_CRPS_ROWS, CONTENT_SEED, CRPS_ROWS_STREAM)
        law = law.take(rows)
    values = score(law, base.rows.sample.y_given[rows], measure.key)
    units = rows if base.units is None else base.units[rows]
    weights = None if checked.weights is None else checked.weights[rows]
    mean = Difference.from_units(mean_terms(values, weights), units)
    interval = mean.interval() if np.isfinite(values).all() else (np.nan, np.nan)
    parts = ScoreParts()
    if np.isfinite(mean.value):
        evaluate = PARTS.get(measure.key)
        if evaluate is not None:
            parts = evaluate(ScoredRows(law, checked, rows, mean.value))
    return MeanScore(
        key=measure.key,
        name=measure.name,
        better=measure.better,
        mean=mean.value,
        interval=interval,
        rows=len(rows),
        infinite=int((~np.isfinite(values)).sum()),
        parts=parts.whole,
        by_label=parts.by_label,
    )


class ScoreParts(NamedTuple):
    """A mean score taken apart: as a whole, and by class or level."""

    whole: Decomposition | None = None
    by_label: tuple[Decomposition, ...] = ()


class ScoredRows(NamedTuple):
    """Rows whose mean score is taken apart."""

    law: Law  #: Of these rows.
    checked: CheckedRows  #: All rows of the check.
    rows: IntArray  #: The positions of these among them, (m,).
    mean: float  #: Their mean score.

    @property
    def weights(self) -> FloatArray | None:
        """Weights of these rows, (m,); None where all are equal."""
        weights = self.checked.weights
        return None if weights is None else weights[self.rows]

    @property
    def y(self) -> FloatArray:
        """The only column of y as numbers, (m,)."""
        return np.asarray(self.checked.y[self.rows, 0])


def _brier_parts(scored: ScoredRows) -> ScoreParts:
    checked = scored.checked
    if not isinstance(checked, ClassRows):
        return ScoreParts()
    probabilities = np.asarray(checked.probabilities, dtype=np.float64)[scored.rows]
    codes = checked.codes[scored.rows]
    parts = [
        decompose_probability(
            probabilities[:, k], _is(codes, k), label=name, weights=scored.weights
        )
        for k, name in enumerate(checked.class_names)
    ]
    if len(parts) == 2:  # both classes have the same parts, and the score is of one
        return ScoreParts(replace(parts[1], label=""))
    return ScoreParts(Decomposition.total(parts), tuple(parts))


def _log_parts(scored: ScoredRows) -> ScoreParts:
    """Take the log score of two classes apart; of more it is no sum over classes."""
    checked = scored.checked
    if not isinstance(checked, ClassRows) or len(checked.class_names) != 2:
        return ScoreParts()
    probabilities = np.asarray(checked.probabilities, dtype=np.float64)[scored.rows, 1]
    outcome = _is(checked.codes[scored.rows], 1)
    whole = decompose_probability(probabilities, outcome, log_loss, weights=scored.weights)
    return ScoreParts(whole)


def _is(codes: IntArray, code: int) -> FloatArray:
    return np.asarray(codes == code, dtype=np.float64)


def _pinball_parts(scored: ScoredRows) -> ScoreParts:
    law = scored.law
    if not isinstance(law, Quantiles):
        return ScoreParts()
    values = np.asarray(law.values, dtype=np.float64)
    parts = [
        decompose_quantile(
            values[:, k],
            scored.y,
            float(level),
            label=f"{level:g}",
            weights=scored.weights,
        )
        for k, level in enumerate(law.levels)
    ]
    return ScoreParts(Decomposition.total(parts, 1.0 / len(parts)), tuple(parts))


def _crps_parts(scored: ScoredRows) -> ScoreParts:
    if isinstance(scored.checked, ClassRows):
        return ScoreParts()
    try:
        grid = threshold_grid(scored.law, scored.y)
        cdf = evaluate_cdf_grid(scored.law, grid.thresholds)
    except CondgofError:  # the law has no quantiles
        return ScoreParts()
    parts = decompose_crps(
        scored.mean, cdf, scored.y, grid.thresholds, grid.widths, scored.weights
    )
    return ScoreParts(parts)


#: What takes a mean score apart, by the key of the score.
PARTS: dict[str, Callable[[ScoredRows], ScoreParts]] = {
    "log": _log_parts,
    "crps": _crps_parts,
    "brier": _brier_parts,
    "pinball": _pinball_parts,
}


class Thresholds(NamedTuple):
    """Places on the line of y, and the length that each stands for, (T,) each."""

    thresholds: FloatArray
    widths: FloatArray


def threshold_grid(law: Law, y: FloatArray) -> Thresholds:
    """Cut the line at quantiles of y (n,), and beyond y as far as the law reaches.

    Of a discrete y the CDF is constant between whole numbers, which are where it is cut.
    """
    reach = np.asarray(law.quantile(OUTER_LEVELS), dtype=np.float64)
    low = float(min(y.min(), np.min(reach[:, 0])))
    high = float(max(y.max(), np.max(reach[:, 1])))
    if law.discrete:
        step = max(1.0, np.ceil((high - low) / THRESHOLDS))
        places = np.arange(np.floor(low), high, step)
        return Thresholds(places, np.full(len(places), step))
    inner = np.quantile(y, np.linspace(0.0, 1.0, THRESHOLDS + 1))
    below = np.linspace(low, y.min(), OUTER_THRESHOLDS, endpoint=False)
    above = np.linspace(y.max(), high, OUTER_THRESHOLDS + 1)[1:]
    edges = np.unique(np.concatenate([below, inner, above]))
    return Thresholds(0.5 * (edges[1:] + edges[:-1]), np.diff(edges))


# Coverage over x.


class Coverage(NamedTuple):
    """An interval that the model predicts for each row."""

    nominal: float  #: How often it should hold y.
    inside: FloatArray  #: Whether it does, (n,), from 0 to 1 where y is discrete.


@singledispatch
def coverages_of(
    checked: CheckedRows, levels: Sequence[float] = COVERAGES
) -> list[Coverage]:
    """Return central intervals of some levels, or those that are predicted; or none."""
    return []


@coverages_of.register
def _(checked: ContinuousRows, levels: Sequence[float] = COVERAGES) -> list[Coverage]:
    distance = np.abs(2.0 * checked.pit[:, 0] - 1.0)
    return [Coverage(level, (distance <= level).astype(np.float64)) for level in levels]


@coverages_of.register
def _(checked: CountRows, levels: Sequence[float] = COVERAGES) -> list[Coverage]:
    lower = checked.steps.lower
    width = np.maximum(checked.steps.upper - lower, np.finfo(float).tiny)
    each = []
    for level in levels:
        low = np.clip((0.5 - level / 2 - lower) / width, 0.0, 1.0)
        high = np.clip((0.5 + level / 2 - lower) / width, 0.0, 1.0)
        each.append(Coverage(level, high - low))
    return each


@coverages_of.register
def _(checked: IntervalRows, levels: Sequence[float] = COVERAGES) -> list[Coverage]:
    return [
        Coverage(one.level, one.happened(checked.codes).astype(np.float64))
        for one in checked.statements
    ]


def coverage_errors(checked: CheckedRows, base: Base) -> Iterator[CoverageError]:
    """Yield how far the coverage of each interval is off over x.

    With Z whether y is inside, and s(x) the sign of an estimate of P(Z = 1 | x) − nominal
    that was learned on other folds, E[s(x)(Z − nominal)] ≤ E|P(Z = 1 | x) − nominal|, with
    equality if all signs are right. So the mean of s(x)(Z − nominal) is an estimate of a
    lower bound, and of a right model 0 on average.
    """
    intervals = coverages_of(checked)
    if not intervals or checked.n < FEWEST_COVERAGE_ROWS or not checked.x.shape[1]:
        return
    rows = some_rows(checked.n, MOST_COVERAGE_ROWS, CONTENT_SEED, COVERAGE_ROWS_STREAM)
    units = rows if base.units is None else base.units[rows]
    smoother = _held_out_smoother(checked, rows, units)
    weights = None if checked.weights is None else checked.weights[rows]
    for nominal, inside in intervals:
        z = inside[rows]
        side = np.sign(smoother @ (z - nominal))
        gain = side * (z - nominal)
        mean = Difference.from_units(mean_terms(gain, weights), units)
        yield CoverageError(
            nominal=nominal,
            coverage=weighted_mean(inside, checked.weights),
            estimate=mean.value,
            interval=mean.interval(),
            too_narrow=weighted_mean(np.where(side < 0, gain, 0.0), weights),
            too_wide=weighted_mean(np.where(side > 0, gain, 0.0), weights),
            rows=len(rows),
        )


def _held_out_smoother(checked: CheckedRows, rows: IntArray, units: IntArray) -> FloatArray:
    """Return weights of rows near each row that are in other folds, (m, m)."""
    kernel = LocalWeights.from_rows(checked.x[rows], checked.x_columns).matrix()
    if checked.weights is not None:
        kernel = kernel * checked.weights[rows]
    _, codes = np.unique(units, return_inverse=True)
    rng = CONTENT_SEED.stream(Use.CHECK, COVERAGE_FOLDS_STREAM)
    fold_of_unit = rng.permutation(int(codes.max()) + 1) % COVERAGE_FOLDS
    folds = fold_of_unit[codes.ravel()]
    return np.where(folds[:, None] != folds, kernel, 0.0)
