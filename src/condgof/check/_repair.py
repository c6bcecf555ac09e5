"""A repair: a correction that is learned on the rows of a check.

In each row numbers η = B'φ(x) say how the law is changed, η = 0 not at all. B maximises
Σ ℓ(η; y) − ½ λ |B|², ℓ the gain in log score, in units in which η has information 1 at 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial, singledispatch
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from scipy.special import log_softmax, ndtr, ndtri

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.check._text import listed
from condgof.check.kinds import CheckedRows, ClassRows
from condgof.engine import single_threaded_blas
from condgof.errors import InputError, UnsupportedModelError
from condgof.laws import (
    MEASURES,
    TINY,
    Law,
    Model,
    ModelLike,
    as_counts,
    as_model,
    available_measures,
    class_probabilities,
    has_count_cdf,
    is_known_by_values,
    join,
    knots_of,
    law_of,
    normalised,
    predictions,
    score,
    single_quantile_level,
    with_class_probabilities,
    with_knots,
)
from condgof.laws import repairs as maps
from condgof.null import Difference
from condgof.residuals import (
    ClassResiduals,
    ContinuousResiduals,
    CountCellResiduals,
    Residuals,
    StatementResiduals,
)
from condgof.result import Record, Shown, estimate_text, short
from condgof.sample import Column, RngLike, Sample, Seed, Use, read_table, take_rows
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._record import Check

#: Rows that are learned from; of more rows, a random choice.
MOST_ROWS = 10_000
#: Nothing is learned from fewer rows.
LEAST_ROWS = 50
#: Folds of the cross-validation.
FOLDS = 5
#: The evidence against the model is strong where its p-value is at most this share of the
#: level.
STRONG = 0.1
#: Standard errors that a gain must exceed: with strong evidence against the model, if the
#: model is rejected, and if it is not.
NEEDED = (0.5, 1.5, 2.5)
#: Half the width of a 95% interval, in standard errors.
WIDE = 1.96
#: Factor by which the interval of held-out rows is wider, as folds share the rows that they
#: learn from (Nadeau and Bengio: √(1 + FOLDS/(FOLDS − 1))).
SHARED = 1.5
#: What a row counts for whose prediction is no number.
WORST = 1e6
LEFT = "The model is left as it is."
NOTHING = f"Nothing to mend: no correction is clearly better on held-out rows. {LEFT}"
#: Uses of random numbers in a check; see `condgof.check._scan`.
REPAIR = 27
#: Penalties of functions of x that cross-validation chooses from, in rows.
PENALTIES = (5.0, 25.0, 125.0, 625.0)
#: Penalty of the constant, in rows.
CONSTANT = 1.0
#: Factor by which the penalty of skew and tails is larger than that of shift and spread.
SHAPE = 4.0
#: Most steps of the optimiser.
STEPS = 40
#: Gradient at which the optimiser stops: gains are reported to three digits.
FLAT = 3e-5
#: Weight of the prior of each component of a shape, in rows.
SHAPE_ROWS = np.append(np.full(len(maps.CENTRES) - 1, 0.5), 20.0)
#: Steps of the iteration for the weights of the components.
SHAPE_STEPS = 100
#: Largest log odds.
MOST = 30.0
#: Smallest probability: those below are raised to it.
LEAST = 1e-12
#: Waves along the ranks of a column.
FINE = 12
#: Waves along the ranks of a prediction.
WAVES = 5
#: Values from which ranks are interpolated.
KNOTS = 256
#: Categories of a column that have a function each; of more, the largest.
LEVELS = 40
#: Value of the function of a category: two categories of equal size have the variance of a
#: wave.
LEVEL = 2.0


class Correction(NamedTuple):
    """A correction: a function of columns and predictions, or the same in all rows."""

    kind: Kind
    design: RepairDesign | None
    learned: Learned

    def of(self, law: Law, x: TableLike) -> Law:
        features = np.ones((law.n, 1)) if self.design is None else self.design.at(x, law)
        return self.kind.change(
            law, features @ self.learned.coefficients, self.learned.shape
        )


class Learned(NamedTuple):
    """Coefficients (P, q) of functions, and weights of a shape common to all rows."""

    coefficients: FloatArray
    shape: FloatArray | None = None


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
    #: Its mean over the n rows, of the model as it is and repaired.
    before: float
    after: float
    #: By how much it is better, and a 95% interval.
    estimate: float
    interval: tuple[float, float]
    n: int

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

    #: What was learned, if anything; the model as it was, None if predictions of the rows
    #: of the check.
    correction: Correction | None = None
    base: ModelLike | None = None
    #: The gain on rows of the check, each by a repair that was learned and chosen without
    #: it, if any.
    held_out: Gain | None = None
    #: Both in words; the rows of the check with what was learned without them; what the
    #: check was of.
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

    def of(self, model: object) -> Self:
        """Return the repair of another model, or of predictions ``(mean2, std2)``."""
        base = as_model(model)
        return replace(self, base=base, make=partial(_repaired, self.correction, base))

    def gain(self, x: TableLike, y: TableLike) -> Gain:
        """Return how much better the repair predicts other rows, which are independent."""
        if self.base is None:
            _refuse()
        sample = Sample.from_data(x, y, to_test=False)
        return gain_of(
            law_of(self.base, sample), law_of(self, sample), sample.y_given, None
        )

    def held_out_law(self) -> tuple[Law, Law]:
        """Return the law of the checked rows, and its repair learned on other folds."""
        assert self.checked is not None
        law, x = self.checked.law, self.checked.rows.sample.x_given
        each = ((rows, how, law.take(rows), take_rows(x, rows)) for rows, how in self.parts)
        return law, join(
            [(rows, _repaired(how, own, own_x)) for rows, how, own, own_x in each]
        )

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
    """Learn a repair on the rows of a check; see `Check.repair`."""
    base = check.base
    if base is None:
        raise InputError(
            "This report has no model to repair: it was stored without it, or its model has"
            " seen these rows (`composite`). Check a model on other rows, or"
            " condgof.crossfit(fit, x, y)."
        )
    model = as_model(base.model)
    name, parts = f"{model.name}, repaired", ((np.arange(base.rows.sample.n), None),)
    repair = Repair(_refuse, name, sentences=(NOTHING,), parts=parts, checked=base)
    with single_threaded_blas():
        repair = _learn(repair, base, check, Seed.of(rng))
    return repair.of(model) if model.rows is None and not hasattr(model, "bind") else repair


def _learn(repair: Repair, base: Base, check: Check, seed: Seed) -> Repair:
    """Learn with the functions and the penalty that cross-validation chooses."""
    law, sample = base.law, base.rows.sample
    kind = repair_class(base.rows.residuals, law, check.checked)
    n, rng = sample.n, seed.stream(Use.CHECK, REPAIR)
    units = np.arange(n) if base.units is None else base.units
    if n < LEAST_ROWS or len(np.unique(units)) < 2 * FOLDS:
        least = (
            f"that takes {LEAST_ROWS} rows, and {2 * FOLDS} groups or blocks if rows are"
            " dependent"
        )
        return replace(
            repair, sentences=(f"{n} rows are too few to learn from ({least}). {LEFT}",)
        )
    rows = (
        np.sort(rng.choice(n, MOST_ROWS, replace=False)) if n > MOST_ROWS else np.arange(n)
    )
    data: Any = kind.of(law, check.checked, sample).take(rows)
    design = RepairDesign.of(
        sample.x_given, law, {c.column for s in check.slices for c in s.conditions}
    )
    features = {
        None: np.ones((len(rows), 1)),
        design: design.at(take_rows(sample.x_given, rows), law.take(rows)),
    }
    _, codes = np.unique(units[rows], return_inverse=True)
    folds = rng.permutation(int(codes.max()) + 1)[codes.ravel()] % FOLDS
    tried = list(_attempts(data, features, folds))
    needed = NEEDED[
        0 if check.pvalue <= STRONG * check.alpha else 1 if check.rejected else 2
    ]

    def chosen(some: AnyArray) -> Attempt | None:
        """Return the best on held-out rows; None if not by `needed` standard errors."""
        best = max(tried, key=lambda one: float(one.gains[some].mean()))
        gain = Difference.from_units(best.gains[some], units[rows][some])
        return best if gain.value > needed * gain.error else None

    best = chosen(folds >= 0)
    if best is None:
        return repair
    parts: list[Part] = []
    for fold in range(FOLDS):
        one = chosen(folds != fold)
        part = None if one is None else Correction(kind, one.design, one.learned[fold])
        parts.append((rows[folds == fold], part))
    learned = Learned(fit(data, features[best.design], best.penalty))
    if best.shaped:
        learned = data.shaped(features[best.design], learned)
    final = Correction(kind, best.design, learned)
    parts.append((np.setdiff1d(np.arange(n), rows), final))
    done = replace(
        repair, correction=final, parts=tuple(part for part in parts if len(part[0]))
    )
    gain = gain_of(*done.held_out_law(), sample.y_given, units, SHARED * WIDE)
    if gain.estimate <= 0:
        return repair
    return replace(
        done, held_out=gain, sentences=_told(final, law, gain, features[best.design], n)
    )


class Attempt(NamedTuple):
    """What was learned without each fold, and gains there, (n,)."""

    design: RepairDesign | None
    penalty: float
    shaped: bool
    learned: list[Learned]
    gains: FloatArray


def _attempts(
    data: Any, features: dict[RepairDesign | None, FloatArray], folds: IntArray
) -> Iterator[Attempt]:
    """Try the constant alone, then all functions at each penalty."""
    for design, f in features.items():
        for penalty in (CONSTANT,) if design is None else PENALTIES:
            others = [(data.take(folds != k), f[folds != k]) for k in range(FOLDS)]
            learned = [Learned(fit(*other, penalty)) for other in others]
            for shaped in (False, True) if type(data) is Mapped else (False,):
                if shaped:
                    learned = [
                        own.shaped(g, one)
                        for (own, g), one in zip(others, learned, strict=True)
                    ]
                gains = np.empty(len(folds))
                for k, one in enumerate(learned):
                    gains[folds == k] = data.take(folds == k).gains(f[folds == k], one)
                gains[~np.isfinite(gains)] = -WORST
                yield Attempt(design, penalty, shaped, learned, gains)


def gain_of(
    before: Law, after: Law, y: AnyArray, units: IntArray | None, wide: float = WIDE
) -> Gain:
    """Compare two laws of the same rows by the first measure that is finite for both."""
    for measure in available_measures(after):
        old, new = (score(law, y, measure) for law in (before, after))
        if np.isfinite(old).all() and np.isfinite(new).all():
            break
    about, units = MEASURES[measure], np.arange(len(y)) if units is None else units
    gain = Difference.from_units(about.sign * (new - old), units)
    ends = gain.value - wide * gain.error, gain.value + wide * gain.error
    return Gain(about.name, float(old.mean()), float(new.mean()), gain.value, ends, len(y))


def gained(base: Base) -> Iterator[str]:
    """Compare a repaired model with its base on the rows of a check of other rows."""
    model, sample = base.model, base.rows.sample
    if isinstance(model, Repair) and model.base is not None:
        gain = gain_of(law_of(model.base, sample), base.law, sample.y_given, base.units)
        yield f"repaired, beside the model as it was: {gain.words}"


def _told(
    correction: Correction, law: Law, gain: Gain, features: FloatArray, n: int
) -> tuple[str, ...]:
    kind, design, learned = correction
    given, middle = "the same in all rows", ""
    if design is not None:
        names, middle = [b.name for b in design.bases.values()], " (middle 90% of rows)"
        first = ["the predictions"] if any(design.predictions) else []
        given = f"given {listed([*first, *names], 4 + len(first))}"
    eta = features @ learned.coefficients
    level = single_quantile_level(law)
    if level is not None:  # its unit is that of y
        at = float(ndtri(level))
        moved = maps.unbend(eta, np.full((len(eta), 1), at)) - at
        what = f"the quantile is moved by {_span(moved)}"
    elif kind is Classed:
        what = f"logits times {_span(np.exp(eta[:, 0]))} and a constant for each class"
    else:
        low, centre, high = maps.unbend(
            eta[:, :4], np.tile([-1.0, 0.0, 1.0], (len(eta), 1))
        ).T
        shift, spread = _span(centre), _span(0.5 * (high - low))
        what = f"a shift by {shift} model standard deviations and a spread times {spread}"
        if eta.shape[1] > 4:
            what += f", the odds of 0 times {_span(np.exp(eta[:, 4]))}"
    more = f", {n - MOST_ROWS:,} others" if n > MOST_ROWS else ""
    held = f"On held-out rows ({min(n, MOST_ROWS):,} in {FOLDS} folds{more}): {gain.words}."
    return f"Learned, {given}: {what}{middle}.", held


def _span(values: AnyArray) -> str:
    """Write the middle 90% of some values."""
    low, high = (short(end) for end in np.quantile(values, (0.05, 0.95)))
    return low if low == high else f"{low} to {high}"


@lru_cache(maxsize=1)
def warp_units() -> FloatArray:
    """Return C with C'FC = 1, F the Fisher information of the map at the identity, (4, 4).

    C is upper triangular: skew comes with the shift, and tails with the spread, that keep
    them pure.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    bent = maps.bend(np.zeros((len(nodes), maps.PARAMETERS)), nodes)
    fisher = (bent.by_eta * weights) @ bent.by_eta.T / weights.sum()
    return np.asarray(np.linalg.inv(np.linalg.cholesky(fisher)).T)


@dataclass(frozen=True, eq=False)
class Mapped:
    """Normal scores z of one continuous y, (n,); η is the map of `maps.bend`.

    As all kinds: `units` (q, q) lead from numbers of unit information to η; `costs` are how
    much more each number costs where it depends on x; `start` is where to begin.
    """

    z: FloatArray
    costs: ClassVar[FloatArray | float] = np.array([1.0, 1.0, SHAPE, SHAPE])

    @classmethod
    def of(cls, law: Law, checked: CheckedRows, sample: Sample) -> Self:
        z = checked.normal_scores_of(checked.y_name)
        assert z is not None
        return cls(z)

    @property
    def units(self) -> FloatArray:
        return warp_units()

    @property
    def start(self) -> FloatArray | float:
        low, middle, high = np.quantile(self.z, (0.25, 0.5, 0.75))
        return np.array([middle, np.log(max(high - low, 1e-9) / 1.349), 0.0, 0.0])

    def at(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ℓ (n,), and its derivatives (n, q)."""
        bent = maps.bend(eta, self.z)
        return bent.log_ratio, bent.by_eta.T

    def take(self, rows: AnyArray) -> Self:
        return replace(self, z=self.z[rows])

    def shaped(self, features: FloatArray, learned: Learned) -> Learned:
        """Learn a shape that is common to these rows, by a shrunken EM algorithm."""
        each = maps.over_normal(maps.bend(features @ learned.coefficients, self.z).w)
        shape = SHAPE_ROWS / SHAPE_ROWS.sum()
        for _ in range(SHAPE_STEPS):
            share = each * shape
            shape = SHAPE_ROWS + (share / share.sum(axis=1, keepdims=True)).sum(axis=0)
            shape = shape / shape.sum()
        return learned._replace(shape=shape)

    def gains(self, features: FloatArray, learned: Learned) -> FloatArray:
        """Return by how much rows are predicted better, (n,)."""
        eta = features @ learned.coefficients
        if learned.shape is not None:
            return maps.reshape(maps.bend(eta, self.z), learned.shape).log_ratio
        return self.at(eta)[0] - self.at(np.zeros_like(eta))[0]

    @staticmethod
    def change(law: Law, eta: FloatArray, shape: FloatArray | None) -> Law:
        return maps.Repaired(law, eta, shape)


@dataclass(frozen=True, eq=False)
class Knotted(Mapped):
    """Quantiles, intervals and draws: normal scores of y, interpolated between values."""

    @classmethod
    def of(cls, law: Law, checked: CheckedRows, sample: Sample) -> Self:
        places, values = knots_of(law)
        return cls(maps.placed(*maps.extended(values, places), sample.y[:, 0]))

    @staticmethod
    def change(law: Law, eta: FloatArray, shape: FloatArray | None) -> Law:
        places, values = knots_of(law)
        z = maps.unbend(eta, np.broadcast_to(places, values.shape))
        return with_knots(law, maps.values_at(*maps.extended(values, places), z))


@dataclass(frozen=True, eq=False)
class Counted(Mapped):
    """Counts: normal scores of the CDF at y − 1, y and 0, (n, 3); η has the odds of 0."""

    start = 0.0
    costs = np.array([1.0, 1.0, SHAPE, SHAPE, SHAPE])

    @classmethod
    def of(cls, law: Law, checked: CheckedRows, sample: Sample) -> Self:
        y = sample.y[:, :1]
        return cls(
            maps.count_scores(
                as_counts(law), np.concatenate([y - 1.0, y, np.zeros_like(y)], axis=1)
            )
        )

    @property
    def units(self) -> FloatArray:
        units = 2.0 * np.eye(maps.PARAMETERS + 1)
        units[:-1, :-1] = warp_units()
        return units

    def at(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        sides = [
            maps.bend(eta[:, :-1], np.clip(z, -maps.FARTHEST, maps.FARTHEST))
            for z in self.z.T
        ]
        w = np.where(np.isinf(self.z.T), self.z.T, [side.w for side in sides])
        density = np.exp(-0.5 * w**2) / np.sqrt(2.0 * np.pi)
        by = [d * side.w_by_eta for d, side in zip(density, sides, strict=True)]
        none, odds = np.isneginf(self.z[:, 0]), np.clip(eta[:, -1], -MOST, MOST)
        inside = np.where(w[0] > 0, ndtr(-w[0]) - ndtr(-w[1]), ndtr(w[1]) - ndtr(w[0]))
        inside = np.maximum(inside, TINY)
        zero, more = ndtr(w[2]), np.expm1(odds)
        scale = 1.0 / (1.0 + zero * more)
        value = np.log(inside) + np.log(scale) + none * odds
        slopes = (by[1] - by[0]) / inside - scale * more * by[2]
        return value, np.column_stack([slopes.T, none - scale * zero * (1.0 + more)])

    @staticmethod
    def change(law: Law, eta: FloatArray, shape: FloatArray | None) -> Law:
        return maps.RepairedCounts(as_counts(law), eta[:, :-1], eta[:, -1])


@dataclass(frozen=True, eq=False)
class Classed:
    """Classes: probabilities (n, K); η is a log factor, and a constant for each class."""

    p: FloatArray
    codes: IntArray
    start = 0.0
    costs = 1.0

    @classmethod
    def of(cls, law: Law, checked: CheckedRows, sample: Sample) -> Classed:
        assert isinstance(checked, ClassRows)
        return cls(normalised(checked.probabilities), checked.codes)

    @cached_property
    def logits(self) -> FloatArray:
        """Log-probabilities, finite also where what came had probability 0, (n, K)."""
        return np.log(np.maximum(self.p, LEAST))

    @property
    def units(self) -> FloatArray:
        return np.diag([1.0, *np.full(self.p.shape[1], 2.0)])

    def changed(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logs of the changed probabilities, (n, K), and factors (n, 1)."""
        steep = np.exp(np.clip(eta[:, :1], -5.0, 5.0))
        return np.asarray(log_softmax(steep * self.logits + eta[:, 1:], axis=1)), steep

    def at(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        (logs, steep), each = self.changed(eta), np.arange(len(eta))
        residual = -np.exp(logs)
        residual[each, self.codes] += 1.0
        by_heat = (residual * self.logits * steep).sum(axis=1)
        return logs[each, self.codes], np.column_stack([by_heat, residual])

    def take(self, rows: AnyArray) -> Classed:
        return Classed(self.p[rows], self.codes[rows])

    def gains(self, features: FloatArray, learned: Learned) -> FloatArray:
        before = self.logits[np.arange(len(self.codes)), self.codes]
        return self.at(features @ learned.coefficients)[0] - before

    @staticmethod
    def change(law: Law, eta: FloatArray, shape: FloatArray | None) -> Law:
        values = class_probabilities(law)
        assert values is not None
        before = Classed(normalised(values), np.empty(0, dtype=np.int64))
        return with_class_probabilities(law, np.exp(before.changed(eta)[0]))


#: How a law can be repaired.
Kind = type[Mapped] | type[Classed]


@singledispatch
def repair_class(residuals: Residuals, law: Law, checked: CheckedRows) -> Kind:
    """Return how a law can be repaired, or refuse and say why not."""
    raise UnsupportedModelError(
        f"This model cannot be repaired ({law.name}, {checked.label}): that takes one"
        " column of y without censoring, and a CDF, probabilities, draws, quantiles or"
        " intervals. Of several columns repair each by itself; of moments say which"
        " distribution they mean, such as condgof.normal(mean, std)."
    )


#: What refuses a kind of y, and what is left of the kinds below.
_refuse_kind = repair_class.dispatch(Residuals)


@repair_class.register
def _(residuals: ContinuousResiduals, law: Law, checked: CheckedRows) -> Kind:
    if is_known_by_values(law):
        return Knotted
    # PITs alone have no score.
    return Mapped if available_measures(law) else _refuse_kind(residuals, law, checked)


@repair_class.register
def _(residuals: StatementResiduals, law: Law, checked: CheckedRows) -> Kind:
    return Knotted


@repair_class.register
def _(residuals: CountCellResiduals, law: Law, checked: CheckedRows) -> Kind:
    return Counted if has_count_cdf(law) else _refuse_kind(residuals, law, checked)


@repair_class.register
def _(residuals: ClassResiduals, law: Law, checked: CheckedRows) -> Kind:
    has_classes = class_probabilities(law) is not None
    return Classed if has_classes else _refuse_kind(residuals, law, checked)


def fit(given: Mapped | Classed, features: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients (P, q) of η on features (n, P), of which the first is 1."""
    from scipy.linalg import solve_triangular  # takes long to import
    from scipy.optimize import minimize  # takes long to import

    (n, count), units = features.shape, given.units
    q = len(units)
    cost, start = (np.broadcast_to(each, q) for each in (given.costs, given.start))
    costs = np.outer(np.full(count, penalty), cost) / n
    costs[0] = CONSTANT / n
    begin = np.linalg.solve(units, start)
    # In these coordinates the curvature is about 1 in all directions.
    gram = features.T @ features / n + np.diag(costs[:, 0])
    root = np.linalg.cholesky(gram + 1e-9 * np.eye(count))
    white = solve_triangular(root, features.T, lower=True).T

    def coefficients(flat: FloatArray) -> FloatArray:
        return np.asarray(solve_triangular(root.T, flat.reshape(count, q), lower=False))

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        b = coefficients(flat)
        with np.errstate(all="ignore"):
            value, slopes = given.at((white @ flat.reshape(count, q) + begin) @ units.T)
            total = -value.mean() + 0.5 * (costs * b**2).sum()
            back = -white.T @ (slopes @ units) / n
        back = back + solve_triangular(root, costs * b, lower=True)
        if not (np.isfinite(total) and np.isfinite(back).all()):
            return 1e30, np.zeros(count * q)
        return float(total), back.ravel()

    options: Any = {"maxiter": STEPS, "gtol": FLAT, "ftol": 1e-9}
    optimum = minimize(
        loss, np.zeros(count * q), jac=True, method="L-BFGS-B", options=options
    )
    whole = coefficients(optimum.x)
    whole[0] += begin
    return np.asarray(whole @ units.T)


@dataclass(frozen=True, eq=False)
class Basis:
    """Functions of one column."""

    name: str
    #: Of numbers and dates: values that occur, and the share of rows below each (ties by
    #: half).
    knots: FloatArray
    ranks: FloatArray
    #: Of a category: the levels that have a function.
    levels: tuple[str, ...] | None = None
    #: Whether missing has one.
    missing: bool = False

    @classmethod
    def of(
        cls, name: str, values: FloatArray, levels: Sequence[str] | None
    ) -> Basis | None:
        """Take what the values (n,) of a column tell; None if it is constant."""
        lost = np.isnan(values)
        known, counts = np.unique(values[~lost], return_counts=True)
        if len(known) + bool(lost.any()) < 2:
            return None
        if levels is not None:
            largest = known[np.argsort(-counts, kind="stable")[:LEVELS]].astype(np.int64)
            named = tuple(levels[i] for i in sorted(largest))
            return cls(name, known[:0], known[:0], named, bool(lost.any()))
        ranks = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
        if len(known) > KNOTS:
            some = np.unique(
                np.searchsorted(ranks, np.linspace(0, 1, KNOTS)).clip(0, len(known) - 1)
            )
            known, ranks = known[some], ranks[some]
        return cls(name, known, ranks, None, bool(lost.any()))

    def at(
        self, values: FloatArray, levels: Sequence[str] | None, waves: int = FINE
    ) -> FloatArray:
        """Return the functions of values (n,), positions in `levels` or numbers: (n, k)."""
        lost = np.isnan(values)
        if self.levels is not None:
            place = {level: i for i, level in enumerate(levels or ())}
            codes = np.array([place.get(level, -1) for level in self.levels])
            parts = LEVEL * (values[:, None] == codes)
        elif not len(self.knots):
            parts = np.empty((len(values), 0))
        else:
            u = np.interp(np.where(lost, self.knots[0], values), self.knots, self.ranks)
            k = np.arange(1, min(waves, len(self.knots) - 1) + 1)
            # A wave of twice the frequency counts half, so that what is smooth is learned
            # first.
            parts = np.sqrt(2.0) * np.cos(np.pi * u[:, None] * k) / k
            parts[lost] = 0.0
        return np.column_stack([parts, LEVEL * lost]) if self.missing else parts


@dataclass(frozen=True, eq=False)
class RepairDesign:
    """The functions that a repair may use: of predictions, and of columns of x."""

    #: The names of the columns of x.
    columns: tuple[str, ...]
    #: Of the columns that are named, by their number, and of the predictions; None of what
    #: is constant.
    bases: dict[int, Basis]
    predictions: tuple[Basis | None, ...]

    @classmethod
    def of(cls, x: TableLike, law: Law, named: Collection[str]) -> RepairDesign:
        table = read_table(x, "x")
        both = enumerate(zip(table.columns, table.values.T, strict=True))
        each = {
            i: Basis.of(c.name, values, c.levels)
            for i, (c, values) in both
            if c.name in named
        }
        bases = {i: basis for i, basis in each.items() if basis is not None}
        predictions = tuple(Basis.of("a prediction", p, None) for p in _predicted(law).T)
        return cls(tuple(column.name for column in table.columns), bases, predictions)

    def read(self, x: TableLike) -> tuple[FloatArray, tuple[Column, ...]]:
        """Read x at other rows, by the names of its columns or else by their position."""
        table = read_table(x, "x")
        names, order = (
            [column.name for column in table.columns],
            list(range(len(self.columns))),
        )
        if all(name in names for name in self.columns):
            order = [names.index(name) for name in self.columns]
        elif len(names) != len(self.columns):
            raise InputError(
                f"The repair was learned on the columns {', '.join(self.columns)} of x, and"
                f" x has {', '.join(names)}. Pass x with the same columns."
            )
        columns = tuple(table.columns[i] for i in order)
        for i, basis in self.bases.items():
            if (basis.levels is None) != (columns[i].levels is None):
                was, now = (
                    ("numbers", "text") if basis.levels is None else ("text", "numbers")
                )
                raise InputError(
                    f"x column {basis.name!r} held {was}, and now holds {now}."
                )
        return table.values[:, order], columns

    def at(self, x: Any, law: Law) -> FloatArray:
        """Return the functions at rows of x, (n, P), of which the first is the constant."""
        (values, columns), predicted = self.read(x), _predicted(law)
        if self.predictions and predicted.shape[1] != len(self.predictions):
            raise InputError(
                f"The repair was learned on {len(self.predictions)} numbers that the model"
                f" predicts of a row, and this one predicts {predicted.shape[1]}. Pass"
                " predictions of the same kind."
            )
        parts = [np.ones((law.n, 1))]
        for told, p in zip(self.predictions, predicted.T, strict=False):
            parts += [] if told is None else [told.at(p, None, WAVES)]
        parts += [
            basis.at(values[:, i], columns[i].levels) for i, basis in self.bases.items()
        ]
        return np.concatenate(parts, axis=1)


def _predicted(law: Law) -> FloatArray:
    values = predictions(law)
    return np.empty((law.n, 0)) if values is None else values
