"""A repair: the law corrected by the effects that a check found.

Each effect multiplies odds, moves normal scores or changes a hazard by θ, which depends on
the cell of a row: of columns of x, or of what is predicted. The same effects are in
`Check.effects`, and their gain on held-out rows is that of the repair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.check.effects._analysis import FEWEST_ROWS, Analysis
from condgof.check.effects._held_out import FOLDS
from condgof.check.effects._rules import AxisReader, EffectRule
from condgof.check.effects._stages import Stage
from condgof.check.effects._tilts import ErrorKind
from condgof.check.kinds import (
    CensoredRows,
    CheckedRows,
    ClassRows,
    CountRows,
    hazard_at_times,
)
from condgof.engine import single_threaded_blas
from condgof.errors import InputError, UnsupportedModelError
from condgof.laws import (
    MEASURES,
    Corrected,
    CorrectedCounts,
    Law,
    LegendreShape,
    LocationScale,
    Model,
    ModelLike,
    OddsOfZero,
    PeriodHazards,
    ScoreMap,
    as_counts,
    as_model,
    available_measures,
    cell_shares,
    censored,
    class_names,
    class_probabilities,
    collapsed,
    has_count_cdf,
    is_known_by_values,
    join,
    known_values,
    law_of,
    moments_of,
    positive_class_probabilities,
    score,
    single_quantile_level,
    with_cell_probabilities,
    with_class_probabilities,
    with_mapped_scores,
    with_odds,
    with_uncensored,
)
from condgof.null import Difference
from condgof.residuals import (
    CensoredResiduals,
    ClassResiduals,
    ContinuousResiduals,
    CountCellResiduals,
    Residuals,
    StatementResiduals,
)
from condgof.result import Record, Shown, estimate_text, short
from condgof.sample import (
    CodedColumn,
    RngLike,
    Sample,
    mean_terms,
    take_rows,
    weighted_mean,
)
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._record import Check

#: Half the width of a 95% interval, in standard errors.
REACH_95 = 1.96
#: Factor by which the interval of held-out rows is wider, as folds share the rows that they
#: learn from (Nadeau and Bengio: √(1 + FOLDS/(FOLDS − 1))).
FOLDS_SHARE_ROWS = 1.5
#: What sentences say where there is no correction.
LEFT = "The model is left as it is."
NOTHING = f"Nothing to correct: no effect is significant and gains on held-out rows. {LEFT}"
#: The standard deviation of residuals is taken from these quantiles, ±1 of a normal law.
ONE_SD_QUANTILES = (0.1587, 0.8413)


# What is learned.


class AppliedEffect(NamedTuple):
    """An effect at n rows."""

    kind: ErrorKind
    number: int  #: The position of the kind among those of the tilt.
    theta: FloatArray  #: (n,).


class Corrector(ABC):
    """How a law of one kind of y is corrected."""

    @abstractmethod
    def correct(self, law: Law, effects: Sequence[AppliedEffect]) -> Law:
        """Return the law of n rows with effects, the first one first."""


@dataclass(frozen=True, eq=False)
class Correction:
    """Effects as functions of x and of what is predicted, and what they do to a law."""

    rules: tuple[EffectRule, ...]
    reader: AxisReader
    corrector: Corrector
    #: The rows of the check, whose columns of predictions are those of other rows.
    checked: CheckedRows

    def of(self, law: Law, x: TableLike) -> Law:
        """Return the corrected law at rows of x."""
        table = self.reader.read(x)
        predictions = predicted_columns(self.checked, law)
        effects = []
        for rule in self.rules:
            values = [self.reader.at(axis, table, predictions) for axis in rule.axes]
            theta = rule.theta_at(values, law.n)
            effects.append(AppliedEffect(rule.kind, rule.number, theta))
        return self.corrector.correct(law, effects)


def predicted_columns(checked: CheckedRows, law: Law) -> list[CodedColumn]:
    """Return what a law predicts of other rows than those of a check, in their columns."""
    if not law.of_x:
        return []
    columns = _with_predictions(checked, law).searched_predictions()
    expected = len(checked.searched_predictions())
    if len(columns) != expected:
        raise InputError(
            f"The repair was learned on {expected} numbers that the model predicts of a"
            f" row, and this one predicts {len(columns)}. Pass predictions of the same"
            " kind."
        )
    return columns


@singledispatch
def _with_predictions(checked: CheckedRows, law: Law) -> CheckedRows:
    """Return rows of a check that have the predictions of a law of other rows."""
    return replace(checked, moments=moments_of(law))


@_with_predictions.register
def _(checked: CountRows, law: Law) -> CheckedRows:
    return replace(checked, moments=moments_of(law, "mean_std"))


@_with_predictions.register
def _(checked: ClassRows, law: Law) -> CheckedRows:
    probabilities = class_probabilities(law)
    if probabilities is None or class_names(law) != checked.class_names:
        raise InputError(
            f"The repair was learned on probabilities of {', '.join(checked.class_names)}."
            " Pass probabilities of the same classes."
        )
    return replace(checked, probabilities=probabilities)


#: Rows of a check, and what was learned without them; None where nothing was.
Part = tuple[IntArray, Correction | None]


class Base(NamedTuple):
    """What was checked: the model as the user passed it, and its law and rows."""

    model: Any
    law: Law
    rows: RowsInMemory
    #: Rows of one unit depend on each other, (n,); None where none do.
    units: IntArray | None


@dataclass(frozen=True)
class Gain(Record):
    """How much better a repaired model predicts rows that it was not learned on."""

    #: "log score", "CRPS", "Brier score", "pinball loss" or "Winkler score" (of all but the
    #: first, less is better).
    measure: str
    before: float  #: Its mean over the n rows, of the model as it is.
    after: float  #: The same of the repaired model.
    estimate: float  #: By how much it is better.
    interval: tuple[float, float]  #: At level 0.95.
    n: int  #: How many rows it is of.

    @property
    def words(self) -> str:
        """As in "log score better by 0.12 a row (0.09 to 0.15): -1.52 before, …"."""
        if self.interval[0] == self.interval[1] == 0:
            return (
                f"{self.measure} {self.before:.2f} before and after: the model is left as"
                " it is"
            )
        way, sign = ("better", 1.0) if self.estimate >= 0 else ("worse", -1.0)
        low, high = sorted(sign * end for end in self.interval)
        size, span = estimate_text(abs(self.estimate), low, high)
        figures = max(len(size.partition(".")[2]), 2)
        ends = f"{self.before:.{figures}f} before, {self.after:.{figures}f} after"
        chance = ", which may be chance" if low <= 0 else ""
        return f"{self.measure} {way} by {size} a row ({span}){chance}: {ends}"

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, eq=False, repr=False)
class Repair(Shown, Model):
    """A repaired model, from `Check.repair`: a model like any other.

    ``better(x)`` is the law at other rows. Where the model was given by predictions of the
    rows of the check, ``better.of((mean2, std2))`` is the model at others. Judge it on rows
    it was not learned on.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x, new_x = rng.uniform(0, 4, (2, 1000))
    >>> y = x + np.where(x > 3, 2.0, 1.0) * rng.standard_normal(1000)
    >>> new_y = new_x + np.where(new_x > 3, 2.0, 1.0) * rng.standard_normal(1000)
    >>> report = cg.check(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=1)
    >>> better = report.repair()
    >>> better.gain(new_x, new_y).estimate > 0.05
    True
    >>> after = cg.check(better, new_x, new_y, rng=1)
    >>> after.effect.interval.estimate < report.effect.interval.estimate
    True
    """

    correction: Correction | None = None  #: What was learned, if anything.
    #: The model as it was; None where it was given by predictions of the rows of the check.
    base: ModelLike | None = None
    #: The gain on rows of the check, each by a repair that was learned and chosen without
    #: it, if any.
    held_out: Gain | None = None
    sentences: tuple[str, ...] = ()  #: What was learned, and the gain, in words.
    #: The rows of the check, in folds, with what was learned without each fold.
    parts: tuple[Part, ...] = field(default=(), repr=False)
    checked: Base | None = field(default=None, repr=False)  #: What the check was of.

    @property
    def rows(self) -> int | None:
        return None if self.base is None else self.base.rows

    def take(self, rows: IntArray) -> Self:
        return self if self.base is None else self.of(self.base.take(rows))

    @property
    def words(self) -> str:
        """What was learned, and the gain on held-out rows."""
        return " ".join(self.sentences)

    def of(self, model: object) -> Self:
        """Return the repair of another model, or of predictions ``(mean2, std2)``."""
        base = as_model(model)
        return replace(self, base=base, make=partial(_repaired, self.correction, base))

    def gain(
        self,
        x: TableLike,
        y: TableLike,
        *,
        event: TableLike | None = None,
        entry: TableLike | None = None,
    ) -> Gain:
        """Return how much better the repair predicts other rows, which are independent.

        `event` and `entry` are those of censored times, as in `check`.
        """
        if self.base is None:
            _refuse()
        sample = Sample.from_data(x, y, to_test=False)
        before, after = (
            law_of(censored(model, event, entry, x), sample) for model in (self.base, self)
        )
        return gain_of(before, after, sample.y_given, None)

    def held_out_law(self) -> tuple[Law, Law]:
        """Return the law of the checked rows, and its repair learned on other folds."""
        assert self.checked is not None
        law = self.checked.law
        x = self.checked.rows.sample.x_given
        parts = []
        for rows, correction in self.parts:
            own = _repaired(correction, law.take(rows), take_rows(x, rows))
            parts.append((rows, own))
        return law, join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the correction in words, and the gain, as plain Python objects."""
        gain = self.held_out and {**self.held_out.to_dict(), "words": self.held_out.words}
        return {"words": self.words, "held_out": gain}

    def records(self) -> list[dict[str, Any]]:
        """Return one row: the gain on held-out rows; none where nothing was learned."""
        if self.held_out is None:
            return []
        gain = self.held_out.to_dict()
        low, high = gain.pop("interval")
        return [{**gain, "low": low, "high": high}]

    def __repr__(self) -> str:
        return f"Repair({self.words})"

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def _repaired(correction: Correction | None, base: ModelLike, x: TableLike) -> Law:
    return base(x) if correction is None else correction.of(base(x), x)


def _refuse(*_: Any) -> NoReturn:
    raise InputError(
        "The model was checked by predictions for its rows, which say nothing of other"
        " rows. Pass predictions for these: better.of((mean, std)),"
        " better.of(condgof.from_draws(draws)), …, is the repaired model there."
    )


def repair_of(check: Check, rng: RngLike = 0) -> Repair:
    """Correct a model by the effects of a check; see `Check.repair`.

    `rng` has no effect: nothing here is random.
    """
    base = check.base
    if base is None:
        raise InputError(
            "This report has no model to repair: it was stored without it, or its model has"
            " seen these rows (`composite`). Check a model on other rows, or"
            " condgof.crossfit(fit, x, y)."
        )
    model = as_model(base.model)
    everything: tuple[Part, ...] = ((np.arange(base.rows.sample.n), None),)
    repair = Repair(
        _refuse,
        f"{model.name}, repaired",
        sentences=(NOTHING,),
        parts=everything,
        checked=base,
    )
    corrector = corrector_of(base.rows.residuals, base.law, check.checked)
    with single_threaded_blas():
        repair = _corrected_repair(repair, base, check, corrector)
    is_model_of_rows = model.rows is not None or hasattr(model, "bind")
    return repair if is_model_of_rows else repair.of(model)


def _corrected_repair(
    repair: Repair, base: Base, check: Check, corrector: Corrector
) -> Repair:
    """Return the repair with the effects of a check, if these gain on held-out rows."""
    n = base.rows.sample.n
    if n < FEWEST_ROWS or (base.units is not None and len(np.unique(base.units)) < FOLDS):
        least = (
            f"that takes {FEWEST_ROWS} rows, and {FOLDS} groups or blocks if rows are"
            " dependent"
        )
        words = f"{n} rows are too few to learn from ({least}). {LEFT}"
        return replace(repair, sentences=(words,))
    analysis = check.analysis
    if analysis is None or not analysis.stages:
        return repair
    reader = AxisReader.from_sample(base.rows.sample)

    def correction(stages: Sequence[Stage]) -> Correction | None:
        rules = tuple(EffectRule.from_stage(analysis, stage) for stage in stages)
        return Correction(rules, reader, corrector, check.checked) if rules else None

    held_out = analysis.held_out
    assert held_out is not None
    analysed = np.arange(n) if analysis.rows is None else analysis.rows
    final = correction(analysis.stages)
    assert final is not None
    parts: list[Part] = []
    for fold, stages in enumerate(held_out.stages):
        parts.append((analysed[held_out.folds == fold], correction(stages)))
    held = np.concatenate([rows for rows, _ in parts])
    parts.append((np.setdiff1d(np.arange(n), held), final))
    done = replace(
        repair, correction=final, parts=tuple(part for part in parts if len(part[0]))
    )
    gain = _held_out_gain(done, analysis, analysed, base)
    if gain.estimate <= 0:
        return repair
    sentences = (_effects_words(final.rules), _gain_words(gain, len(held_out.stages)))
    return replace(done, held_out=gain, sentences=sentences)


def _held_out_gain(
    repair: Repair, analysis: Analysis, analysed: IntArray, base: Base
) -> Gain:
    """Return the gain on held-out rows by the first measure that is finite.

    Of the log score it is the gain of the effects: rows that lie further out than
    `condgof.check.effects._tilts.CLIP` standard deviations count as if they lay there, so
    that no single row decides.
    """
    held_out = analysis.held_out
    assert held_out is not None
    rows = analysed[held_out.rows]
    units = np.arange(base.rows.sample.n) if base.units is None else base.units
    y = base.rows.sample.y_given[rows]
    before, after = (law.take(rows) for law in repair.held_out_law())
    weights = base.rows.sample.weights
    own = None if weights is None else weights[rows]
    gain = gain_of(before, after, y, units[rows], FOLDS_SHARE_ROWS * REACH_95, own)
    if gain.measure != MEASURES["log"].name:
        return gain
    mean = Difference.from_units(mean_terms(held_out.gains, own), units[rows])
    margin = FOLDS_SHARE_ROWS * REACH_95 * mean.error
    return replace(
        gain,
        after=gain.before + mean.value,
        estimate=mean.value,
        interval=(mean.value - margin, mean.value + margin),
    )


def gain_of(
    before: Law,
    after: Law,
    y: AnyArray,
    units: IntArray | None,
    reach: float = REACH_95,
    weights: FloatArray | None = None,
) -> Gain:
    """Compare two laws of the same rows by the first measure that is finite for both.

    Rows of one unit (n,) depend on each other. The interval has `reach` standard errors to
    either side. Means are weighted where rows have weights (n,).
    """
    for measure in available_measures(after):
        old = score(before, y, measure)
        new = score(after, y, measure)
        if np.isfinite(old).all() and np.isfinite(new).all():
            break
    about = MEASURES[measure]
    units = np.arange(len(y)) if units is None else units
    gain = Difference.from_units(mean_terms(about.sign * (new - old), weights), units)
    return Gain(
        measure=about.name,
        before=weighted_mean(old, weights),
        after=weighted_mean(new, weights),
        estimate=gain.value,
        interval=(gain.value - reach * gain.error, gain.value + reach * gain.error),
        n=len(y),
    )


def gained(base: Base) -> Iterator[str]:
    """Compare a repaired model with its base on the rows of a check of other rows."""
    model, sample = base.model, base.rows.sample
    if isinstance(model, Repair) and model.base is not None:
        before = law_of(model.base, sample)
        gain = gain_of(before, base.law, sample.y_given, base.units, weights=sample.weights)
        yield f"repaired, beside the model as it was: {gain.words}"


# In words.


def _effects_words(rules: Sequence[EffectRule]) -> str:
    """Write effects with their corrections: "bias by hour, -0.21 to +0.98 SD; …"."""
    each = "; ".join(f"{_rule_name(rule)}, {_range_words(rule)}" for rule in rules)
    return f"Corrected: {each}."


def _rule_name(rule: EffectRule) -> str:
    """Return the kind and the columns of an effect: "bias by hr × workingday"."""
    kind = rule.kind
    name = f"{kind.name} {kind.label}".strip()
    if not rule.axes:
        return f"{name} everywhere"
    return f"{name} by {' × '.join(axis.title for axis in rule.axes)}"


#: How the θ of a kind of error is written where it is no factor e^θ: a signed number and
#: its unit.
UNITS = {"bias": " SD", "skew": "", "tails": ""}
#: What e^θ of a kind of error multiplies, where that is not what the kind is called.
MULTIPLIED = {
    "zeros": "odds ",
    "class": "odds ",
    "confidence": "odds ",
    "quantile": "odds ",
    "coverage": "odds ",
}


def _range_words(rule: EffectRule) -> str:
    """Write the smallest and the largest correction of an effect."""
    ends = (float(rule.occupied.min()), float(rule.occupied.max()))
    if rule.kind.name in UNITS:
        texts = [f"{'+' if end > 0 else ''}{short(end)}" for end in ends]
        return f"{_span(texts)}{UNITS[rule.kind.name]}"
    return f"{MULTIPLIED.get(rule.kind.name, '')}times {_span(map(short, np.exp(ends)))}"


def _span(texts: Iterable[str]) -> str:
    """Write two ends, or one where they read alike."""
    low, high = texts
    return low if low == high else f"{low} to {high}"


def _gain_words(gain: Gain, folds: int) -> str:
    """Write the gain on held-out rows."""
    how = f" in {folds} folds" if folds > 1 else f", one fold of {FOLDS}"
    return f"On held-out rows ({gain.n:,}{how}): {gain.words}."


# One class for each kind of y.


def _score_map(effect: AppliedEffect) -> ScoreMap:
    """Return what an effect of normal scores does to them."""
    theta = effect.theta
    none = np.zeros(len(theta))
    maps: dict[str, ScoreMap] = {
        "bias": LocationScale(theta, none),
        "spread": LocationScale(none, theta),
        "skew": LegendreShape(theta, degree=3),
        "tails": LegendreShape(theta, degree=4),
    }
    return maps[effect.kind.name]


class ScoreCorrector(Corrector):
    """A continuous y with a CDF: normal scores are mapped."""

    def correct(self, law: Law, effects: Sequence[AppliedEffect]) -> Law:
        return Corrected(law, collapsed([_score_map(effect) for effect in effects]))


class DrawsCorrector(Corrector):
    """A continuous y that is known by draws: these are moved."""

    def correct(self, law: Law, effects: Sequence[AppliedEffect]) -> Law:
        maps = collapsed([_score_map(effect) for effect in effects])
        return with_mapped_scores(law, maps)


class CountCorrector(Corrector):
    """Counts: normal scores of the CDF are mapped, and the odds of 0 multiplied."""

    def correct(self, law: Law, effects: Sequence[AppliedEffect]) -> Law:
        return CorrectedCounts(as_counts(law), tuple(map(_count_map, effects)))


def _count_map(effect: AppliedEffect) -> LocationScale | OddsOfZero:
    theta = effect.theta
    none = np.zeros(len(theta))
    maps: dict[str, LocationScale | OddsOfZero] = {
        "bias": LocationScale(theta, none),
        "dispersion": LocationScale(none, theta),
        "zeros": OddsOfZero(theta),
    }
    return maps[effect.kind.name]


class ClassCorrector(Corrector):
    """Classes: the odds of single classes, and of the most probable one, are multiplied."""

    def correct(self, law: Law, effects: Sequence[AppliedEffect]) -> Law:
        names = class_names(law)
        values = positive_class_probabilities(law)
        most_probable = np.arange(len(names)) == values.argmax(axis=1)[:, None]
        for effect in effects:
            members: AnyArray = most_probable
            if effect.kind.name != "confidence":
                members = np.arange(len(names)) == names.index(effect.kind.label)
            values = with_odds(values, members, effect.theta)
        return with_class_probabilities(law, values)


@dataclass(frozen=True, eq=False)
class StatementCorrector(Corrector):
    """Quantiles and intervals: they are moved so that what they state holds."""

    members: AnyArray  #: The cells in which each statement holds, (K, C).
    #: How much a single quantile moves for one normal score, in units of y.
    unit: float

    def correct(self, law: Law, effects: Sequence[AppliedEffect]) -> Law:
        probabilities = np.tile(cell_shares(law), (law.n, 1))
        for effect in effects:
            members = self.members[effect.number]
            probabilities = with_odds(probabilities, members, effect.theta)
        return with_cell_probabilities(law, probabilities, self.unit)


@dataclass(frozen=True, eq=False)
class HazardCorrector(Corrector):
    """Censored times: the hazard is multiplied at all times, or in one period."""

    cuts: FloatArray  #: Times at which periods end, (T − 1,).

    def correct(self, law: Law, effects: Sequence[AppliedEffect]) -> Law:
        log_factors = np.zeros((law.n, len(self.cuts) + 1))
        for effect in effects:
            # The first kind is the hazard at all times, the others are of one period each.
            if effect.number == 0:
                log_factors += effect.theta[:, None]
            else:
                log_factors[:, effect.number - 1] += effect.theta
        hazards = PeriodHazards(log_factors, hazard_at_times(law, self.cuts))
        return with_uncensored(law, lambda inner: Corrected(inner, (hazards,)))


@singledispatch
def corrector_of(residuals: Residuals, law: Law, checked: CheckedRows) -> Corrector:
    """Return how a law can be corrected, or refuse and say why not."""
    raise UnsupportedModelError(
        f"This model cannot be repaired ({law.name}, {checked.label}): that takes one"
        " column of y, and a CDF, probabilities, draws, quantiles or intervals, of censored"
        " times a density. Of several columns repair each by itself; of moments say which"
        " distribution they mean, such as condgof.normal(mean, std)."
    )


#: What refuses a kind of y, and what is left of the kinds below.
_refuse_kind = corrector_of.dispatch(Residuals)


@corrector_of.register
def _(residuals: ContinuousResiduals, law: Law, checked: CheckedRows) -> Corrector:
    if is_known_by_values(law):
        return DrawsCorrector()
    if not available_measures(law):  # PITs alone have no score.
        _refuse_kind(residuals, law, checked)
    return ScoreCorrector()


@corrector_of.register
def _(residuals: StatementResiduals, law: Law, checked: CheckedRows) -> Corrector:
    _, values = known_values(law)
    cells = np.arange(len(residuals.shares))
    statements = residuals.some_statements
    members = np.stack([statement.happened(cells) for statement in statements])
    unit = 1.0
    if single_quantile_level(law) is not None:
        low, high = np.quantile(checked.y[:, 0] - values[:, 0], ONE_SD_QUANTILES)
        unit = 0.5 * float(high - low)
    return StatementCorrector(members, unit)


@corrector_of.register
def _(residuals: CountCellResiduals, law: Law, checked: CheckedRows) -> Corrector:
    if not has_count_cdf(law):
        _refuse_kind(residuals, law, checked)
    return CountCorrector()


@corrector_of.register
def _(residuals: ClassResiduals, law: Law, checked: CheckedRows) -> Corrector:
    if class_probabilities(law) is None:
        _refuse_kind(residuals, law, checked)
    return ClassCorrector()


@corrector_of.register
def _(residuals: CensoredResiduals, law: Law, checked: CheckedRows) -> Corrector:
    if not law.can("log_prob"):
        _refuse_kind(residuals, law, checked)
    assert isinstance(checked, CensoredRows)
    return HazardCorrector(np.array(checked.cuts))
