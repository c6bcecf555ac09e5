"""A repair: a correction learned on the rows of a check, which makes a better model if rows say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._repair_fit import CONSTANT, PENALTIES, Classed, Kind, Learned, RepairDesign, kind_of
from condgof.check._text import listed
from condgof.engine import single_threaded_blas
from condgof.errors import InputError
from condgof.laws._as_model import as_model, law_of
from condgof.laws._crossfit import join
from condgof.laws._known import Quantiles
from condgof.laws._law import Joined, Law, Model, ModelLike
from condgof.laws._repaired import Repaired
from condgof.laws._scores import MEASURES, offered, score
from condgof.methods._scored import Scored
from condgof.null._dependence import Dependence
from condgof.null._paired import Paired
from condgof.result import Record, Shown, short, sized
from condgof.sample import RngLike, Sample, Seed, Use, take_rows

if TYPE_CHECKING:
    from condgof.check._record import Check

#: Of more rows than this so many are learned from; fewer than that teach nothing.
MOST, LEAST = 10_000, 50
FOLDS = 5
#: How many standard errors a gain must have: if the p-value of the check is a tenth of its level or
#: less, if the model is rejected, and if it is not.
STRONG, NEEDED = 0.1, (0.5, 1.5, 2.5)
#: Half the width of a 95% interval, in standard errors; and by how much that of held-out rows is wider,
#: because folds share the rows that they learn from (Nadeau and Bengio: √(1 + FOLDS/(FOLDS − 1))).
WIDE, SHARED = 1.96, 1.5
#: What a row counts for whose prediction is no number.
WORST = 1e6
PIT_SCORE = "log score of the PIT"
LEFT = "The model is left as it is."
NOTHING = f"Nothing to mend: no correction is clearly better on held-out rows. {LEFT}"
#: Uses of random numbers in a check; see `condgof.check._scan`.
REPAIR = 27


class Correction(NamedTuple):
    """What was learned, by functions of every column of x, of those that the check names, or of none."""

    kind: Kind
    design: RepairDesign
    learned: Learned
    every: bool | None

    def of(self, law: Law, x: Any) -> Law:
        return self.kind.change(law, self.learned, self.design.at(x, law, self.every))


#: Rows of a check, and what was learned without them; None where nothing was.
Part = tuple[IntArray, Correction | None]


class Base(NamedTuple):
    """What a check was of: the model as it was given, its law and sample of the rows looked at."""

    model: Any
    law: Law
    rows: Scored
    #: Rows of one unit depend on each other, (n,); None where none do.
    units: IntArray | None


@dataclass(frozen=True)
class Gain(Record):
    """How much better a repaired model predicts rows that it was not learned on."""

    #: "log score", "CRPS", "Brier score", "pinball loss" or "Winkler score" (of all but the first, less
    #: is better); "log score of the PIT" where nothing else is known.
    measure: str
    #: Its mean over the n rows, of the model as it is and repaired.
    before: float
    after: float
    #: By how much it is better, and a 95% interval.
    estimate: float
    interval: tuple[float, float]
    n: int

    @property
    def words(self) -> str:
        """In words: log score better by 0.12 a row (0.09 to 0.15): -1.52 before, -1.40 after."""
        if self.interval[0] == self.interval[1] == 0:
            return f"{self.measure} {self.before:.2f} before and after: the model is left as it is"
        way, sign = ("better", 1.0) if self.estimate >= 0 else ("worse", -1.0)
        low, high = sorted(sign * end for end in self.interval)
        size, span = sized(abs(self.estimate), low, high)
        figures = max(len(size.partition(".")[2]), 2)
        ends = f"{self.before:.{figures}f} before, {self.after:.{figures}f} after"
        chance = ", which may be chance" if low <= 0 else ""
        return f"{self.measure} {way} by {size} a row ({span}){chance}: {ends}"

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, eq=False, repr=False)
class Repair(Shown, Model):
    """A model repaired, from `Check.repair`: a model like any other, which says what it learned.

    ``better(x)`` is the law at other rows. Where the model was given by predictions of the rows of the
    check, ``better.of((mean2, std2))`` is the model at others. Judge it on rows it was not learned on.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x, new_x = rng.uniform(0, 4, (2, 1000))
    >>> y, new_y = (v + np.where(v > 3, 2.0, 1.0) * rng.standard_normal(1000) for v in (x, new_x))
    >>> report = cg.check(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=1)
    >>> better = report.repair()
    >>> better.gain(new_x, new_y).estimate > 0.05
    True
    >>> after = cg.check(better, new_x, new_y, rng=1)
    >>> after.effect.interval.estimate < report.effect.interval.estimate
    True
    """

    #: What was learned, if anything; the model as it was, None if predictions of the rows of the check.
    correction: Correction | None = None
    base: ModelLike | None = None
    #: The gain on rows of the check, each by a repair that was learned and chosen without it, if any.
    held_out: Gain | None = None
    #: Both in words; the rows of the check with what was learned without them; what the check was of.
    sentences: tuple[str, ...] = ()
    parts: tuple[Part, ...] = field(default=(), repr=False)
    checked: Base | None = field(default=None, repr=False)

    @property
    def rows(self) -> int | None:
        return None if self.base is None else self.base.rows

    def take(self, rows: IntArray) -> Self:
        return self if self.base is None else self.of(self.base.take(rows))

    @property
    def words(self) -> str:
        """What was learned, and the gain on held-out rows."""
        return " ".join(self.sentences)

    def of(self, model: Any) -> Self:
        """Return the repair of predictions for other rows, ``(mean2, std2)``, or of another model."""
        base = as_model(model)
        return replace(self, base=base, make=partial(_repaired, self.correction, base))

    def gain(self, x: Any, y: Any) -> Gain:
        """Return how much better the repaired model predicts other rows, which must be independent."""
        if self.base is None:
            _refuse()
        sample = Sample.of(x, y, to_test=False)
        return gain_of(law_of(self.base, sample), law_of(self, sample), sample.y_given, None)

    def held_out_law(self) -> tuple[Law, Law]:
        """Return the law of the rows of the check, and repaired: each row by what others taught."""
        assert self.checked is not None
        law, x = self.checked.law, self.checked.rows.sample.x_given
        each = ((rows, how, law.take(rows), take_rows(x, rows)) for rows, how in self.parts)
        return law, join([(rows, _repaired(how, own, own_x)) for rows, how, own, own_x in each])

    def to_dict(self) -> dict[str, Any]:
        """Return what was learned in words, and the gain, as plain Python objects, ready for JSON."""
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


def _repaired(correction: Correction | None, base: ModelLike, x: Any) -> Law:
    return base(x) if correction is None else correction.of(base(x), x)


def _refuse(*_: Any) -> NoReturn:
    raise InputError(
        "The model was checked by predictions for its rows, which say nothing of other rows. Pass "
        "predictions for these: better.of((mean, std)), better.of(condgof.from_draws(draws)), …, is the "
        "repaired model there."
    )


def repair_of(check: Check, rng: RngLike = 0) -> Repair:
    """Learn a repair on the rows of a check; see `Check.repair`."""
    base = check.base
    if base is None:
        raise InputError(
            "This report has no model to repair: it was stored without it, or its model has seen these "
            "rows (`composite`). Check a model on other rows, or condgof.crossfit(fit, x, y)."
        )
    model = as_model(base.model)
    name, parts = f"{model.name}, repaired", ((np.arange(base.rows.sample.n), None),)
    repair = Repair(_refuse, name, sentences=(NOTHING,), parts=parts, checked=base)
    with single_threaded_blas():
        repair = _learn(repair, base, check, Seed.of(rng))
    return repair.of(model) if model.rows is None and not hasattr(model, "bind") else repair


def _learn(repair: Repair, base: Base, check: Check, seed: Seed) -> Repair:
    """Learn by functions of the columns, and with the penalty, that held-out rows choose."""
    law, sample, kind = base.law, base.rows.sample, kind_of(base.law, check.looked)
    slices = [[condition.column for condition in one.conditions] for one in check.slices]
    design = RepairDesign.of(sample.x_given, law, slices)
    n, rng = sample.n, seed.stream(Use.CHECK, REPAIR)
    units = np.arange(n) if base.units is None else base.units
    if n < LEAST or len(np.unique(units)) < 2 * FOLDS:
        least = f"that takes {LEAST} rows, and {2 * FOLDS} groups or blocks if rows depend on each other"
        return replace(repair, sentences=(f"{n} rows are too few to learn from ({least}). {LEFT}",))
    rows = np.sort(rng.choice(n, MOST, replace=False)) if n > MOST else np.arange(n)
    data: Any = kind.of(law, check.looked, sample).take(rows)
    given, width = (take_rows(sample.x_given, rows), law.take(rows)), 0
    features: dict[bool | None, FloatArray] = {}
    for every in (None, False, True):
        functions = design.at(*given, every)
        if functions.shape[1] > width:  # a set that adds nothing is not tried
            features[every] = functions
        width = functions.shape[1]
    _, codes = np.unique(units[rows], return_inverse=True)
    folds = rng.permutation(int(codes.max()) + 1)[codes.ravel()] % FOLDS
    tried = list(_attempts(data, features, folds))
    needed = NEEDED[0 if check.pvalue <= STRONG * check.alpha else 1 if check.rejected else 2]

    def chosen(some: AnyArray) -> Attempt | None:
        """Return what is best on some held-out rows; None if not by `needed` standard errors."""
        best = max(tried, key=lambda one: float(one.gains[some].mean()))
        gain = _mean(best.gains[some], units[rows][some])
        return best if gain.value > needed * gain.error else None

    best = chosen(folds >= 0)
    if best is None:
        return repair
    parts: list[Part] = []
    for fold in range(FOLDS):
        one = chosen(folds != fold)
        part = None if one is None else Correction(kind, design, one.learned[fold], one.every)
        parts.append((rows[folds == fold], part))
    learned = data.learn(features[best.every], best.penalty)[best.number]
    final = Correction(kind, design, learned, best.every)
    parts.append((np.setdiff1d(np.arange(n), rows), final))
    done = replace(repair, correction=final, parts=tuple(part for part in parts if len(part[0])))
    gain = gain_of(*done.held_out_law(), sample.y_given, units, SHARED * WIDE)
    if gain.estimate <= 0:
        return repair
    return replace(done, held_out=gain, sentences=_told(final, law, gain, features[best.every], n))


class Attempt(NamedTuple):
    """What was learned without each fold, a result of `learn` by its number, and gains there, (n,)."""

    every: bool | None
    penalty: float
    number: int
    learned: list[Learned]
    gains: FloatArray


def _attempts(data: Any, features: dict[bool | None, FloatArray], folds: IntArray) -> Iterator[Attempt]:
    """Try the constant alone, then each set of columns at each penalty."""
    for every, f in features.items():
        # On every column the least penalty is left out: it takes the longest.
        for penalty in (CONSTANT,) if every is None else PENALTIES[every:]:
            made = [data.take(folds != k).learn(f[folds != k], penalty) for k in range(FOLDS)]
            for number, learned in enumerate(zip(*made, strict=True)):
                gains = np.empty(len(folds))
                for k, one in enumerate(learned):
                    gains[folds == k] = data.take(folds == k).gains(one, f[folds == k])
                gains[~np.isfinite(gains)] = -WORST
                yield Attempt(every, penalty, number, list(learned), gains)


def _mean(values: FloatArray, units: IntArray) -> Paired:
    """Return the mean of rows, of which those of one unit depend on each other, and its error."""
    return Paired.of(values, Dependence(codes=np.unique(units, return_inverse=True)[1].ravel()))


def gain_of(before: Law, after: Law, y: AnyArray, units: IntArray | None, wide: float = WIDE) -> Gain:
    """Compare two laws of the same rows by the first measure that both have, and that is finite."""
    name, sign, scores = PIT_SCORE, 1.0, [np.zeros(len(y)), np.zeros(len(y))]
    measures = offered(after)
    for measure in measures:
        scores = [score(law, y, measure) for law in (before, after)]
        name, sign = MEASURES[measure].name, MEASURES[measure].sign
        if all(np.isfinite(part).all() for part in scores):
            break
    if not measures:  # nothing is known but the PIT
        for rows, law in after.parts() if isinstance(after, Joined) else [(slice(None), after)]:
            scores[1][rows] = law.pit_score(y[rows]) if isinstance(law, Repaired) else 0.0
    gain = _mean(sign * (scores[1] - scores[0]), np.arange(len(y)) if units is None else units)
    ends = gain.value - wide * gain.error, gain.value + wide * gain.error
    return Gain(name, float(scores[0].mean()), float(scores[1].mean()), gain.value, ends, len(y))


def gained(base: Base) -> Iterator[str]:
    """Say what a repaired model gains on the rows of a check, which it was not learned on."""
    model, sample = base.model, base.rows.sample
    if isinstance(model, Repair) and model.base is not None:
        gain = gain_of(law_of(model.base, sample), base.law, sample.y_given, base.units)
        yield f"repaired, beside the model as it was: {gain.words}"


def _told(correction: Correction, law: Law, gain: Gain, features: FloatArray, n: int) -> tuple[str, ...]:
    kind, design, learned, every = correction
    given = "the same in all rows"
    if every is not None:
        names = [b.name for i, b in design.bases.items() if every or i in design.named]
        first = ["the predictions"] if any(design.predictions) else []
        given = f"given {listed([*first, *names], 4 + len(first))}"
    eta = features @ learned.coefficients
    if isinstance(law, Quantiles) and len(law.levels) == 1:  # its unit is that of y
        at = float(ndtri(law.levels[0]))
        moved = learned.warp(features).inverse(np.full((len(eta), 1), at)) - at
        what = f"the quantile is moved by {_span(moved)}"
    elif kind is Classed:
        what = f"logits times {_span(np.exp(eta[:, 0]))} and a constant for each class"
        if learned.floor is not None:
            what += (
                f", after {learned.floor[0]:g} of the overall frequencies is mixed in, because what the "
                "model held to be impossible came"
            )
    else:
        low, middle, high = learned.warp(features).inverse(np.tile([-1.0, 0.0, 1.0], (len(eta), 1))).T
        shift, spread = _span(middle), _span(0.5 * (high - low))
        what = f"a shift by {shift} model standard deviations and a spread times {spread}"
        if eta.shape[1] > 4:
            what += f", the odds of 0 times {_span(np.exp(eta[:, 4]))}"
    more = f", {n - MOST:,} others" if n > MOST else ""
    held = f"On held-out rows ({min(n, MOST):,} in {FOLDS} folds{more}): {gain.words}."
    middle = "" if every is None else " (middle 90% of rows)"
    return f"Learned, {given}: {what}{middle}.", held


def _span(values: AnyArray) -> str:
    """Write the middle 90% of some values."""
    low, high = (short(end) for end in np.quantile(values, (0.05, 0.95)))
    return low if low == high else f"{low} to {high}"
