"""Which of several models predicts better, by proper scores, and where."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from scipy.special import ndtr

from condgof._typing import FloatArray, TableLike
from condgof.check._axes import axes_of
from condgof.check._quantities import Signal
from condgof.check._record import Finding, Slice
from condgof.check._scan import Scan, Space
from condgof.check.kinds import Signals
from condgof.engine import single_threaded_blas
from condgof.errors import InputError, InputTypeError
from condgof.kernels import Gaussian, Kernel
from condgof.laws import MEASURES, STEIN, Measure
from condgof.methods import (
    Contrasts,
    HowToRead,
    Measured,
    measured,
    read_options,
    spelled_out,
)
from condgof.null import Difference, check_n_boot, check_resolution
from condgof.result import (
    GofResult,
    Record,
    Shown,
    check_alpha,
    estimate_text,
    plain,
    pvalue_words,
)
from condgof.sample import Seed, Use

#: Samples of fewer rows are not searched for slices. Scores have no known law, so the null
#: is by random signs, for which a slice has at least 50 rows: half of these.
FEWEST_ROWS_FOR_SLICES = 100
#: Slices that a comparison names at most: they add to the verdict over all rows.
MOST_SLICES = 3
#: Draws of the null distribution of the search for slices; the smallest p-value is 0.001.
SEARCH_DRAWS = 999
#: Standard errors that an interval of 95% reaches to either side, Φ⁻¹(0.975).
REACH_95 = 1.96


# The measures.


@dataclass(frozen=True)
class ProperScore:
    """A measure by which models are compared, and how sentences speak of it."""

    measure: Measure
    #: "a predicts better than b".
    verb = "predict"
    #: What a difference of means is for.
    unit = " a row"
    #: Whether each row has a score, so that slices can be compared.
    scores_rows = True

    @property
    def name(self) -> str:
        return self.measure.name

    @property
    def better(self) -> str:
        """Which values are better, "higher" or "lower"."""
        return self.measure.better

    @property
    def sign(self) -> float:
        """1 where higher values are better, −1 where lower ones are."""
        return self.measure.sign

    def infinite_words(self, model: str, count: int, n: int, observed: str) -> str:
        """Say why the score of a model is infinite in `count` of n rows.

        `observed` is what rows are rows of: "rows" of a continuous y, "counts", "classes".
        """
        return (
            f"an interval of {model} has no end in {count:,} of {n:,} rows: its"
            f" {self.name} is ∞"
        )


class LogScore(ProperScore):
    """The log score, which is infinite where an observation had probability 0."""

    def infinite_words(self, model: str, count: int, n: int, observed: str) -> str:
        if observed == "rows":
            return f"{model} gave density 0 to {count:,} of {n:,} rows: its log score is −∞"
        return (
            f"{model} gave probability 0 to {count:,} of {n:,} observed {observed}: its log"
            " score is −∞"
        )


class SteinDiscrepancy(ProperScore):
    """The Stein discrepancy, of models without a proper score: one number for all rows."""

    verb = "fit"
    unit = ""
    scores_rows = False


#: All measures by their keys, in the order in which they are chosen for a verdict.
SCORES: dict[str, ProperScore] = {
    "log": LogScore(MEASURES["log"]),
    "crps": ProperScore(MEASURES["crps"]),
    "energy": ProperScore(MEASURES["energy"]),
    "brier": ProperScore(MEASURES["brier"]),
    "pinball": ProperScore(MEASURES["pinball"]),
    "winkler": ProperScore(MEASURES["winkler"]),
    STEIN: SteinDiscrepancy(Measure(STEIN, "Stein discrepancy", -1.0)),
}


# What is returned.


@dataclass(frozen=True)
class Score(Record):
    """Two models compared by one measure."""

    #: The key of the measure ("log", "crps", …, "stein").
    key: str
    #: The name of the measure.
    name: str
    #: Which values are better, "higher" or "lower".
    better: str
    #: The mean score of the first model, and of the second.
    means: tuple[float, float]
    #: The first mean minus the second.
    difference: float
    #: The lower and the upper end of the 95% interval of the difference.
    interval: tuple[float, float]
    #: Two-sided p-value of no difference.
    pvalue: float
    #: In how many rows the score of the first model is infinite, and of the second: what
    #: was observed had probability 0, or an interval no end.
    infinite: tuple[int, int] = (0, 0)

    @property
    def sign(self) -> float:
        """1 where the first model is better, −1 where the second is, 0 where neither is."""
        sign = 0.0 if math.isnan(self.difference) else float(np.sign(self.difference))
        return sign if self.better == "higher" else 0.0 - sign

    def words(self, sign: float) -> str:
        """Say how much higher or lower the score of one model is than that of the other.

        It is that of the first model with `sign` 1, of the second with −1.
        """
        way = "lower" if sign * self.difference < 0 else "higher"
        # The amount is written as a positive number.
        amount_sign = -sign if way == "lower" else sign
        low, high = sorted(amount_sign * end for end in self.interval)
        amount, span = estimate_text(amount_sign * self.difference, low, high)
        worse = ", which is worse" if self.difference and way != self.better else ""
        return f"{self.name} {amount} {way}{SCORES[self.key].unit} ({span}){worse}"

    @classmethod
    def from_study(cls, key: str, study: Contrasts) -> Score:
        """Take the difference of the first two models by the measure `key`."""
        first_mean, second_mean = study.means.tolist()
        first_infinite, second_infinite = study.infinite
        pair = study.pairs[0, 1]
        return cls(
            key=key,
            name=SCORES[key].name,
            better=SCORES[key].better,
            means=(first_mean, second_mean),
            difference=pair.value,
            interval=pair.interval(),
            pvalue=pair.pvalue,
            infinite=(first_infinite, second_infinite),
        )


class Compared(Shown):
    """What comparisons and rankings look like: a page and a picture."""

    def to_html(self, *, command: str | None = None) -> str:
        """Return the report, one page that needs nothing else."""
        from condgof.report import compared_page

        return compared_page(self, command)  # type: ignore[arg-type]

    def plot(self, ax: object = None) -> Any:
        """Draw differences of means with intervals (needs ``condgof[plot]``)."""
        from condgof.report import plot_compared

        return plot_compared(self, ax)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.words})"  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Compared, GofResult):
    """Which of two models predicts better, from `compare`.

    A `GofResult`: `statistic` is the difference in standard errors, as a standard normal
    number under no difference, `pvalue` is two-sided, both by the measure of the verdict.

    Examples
    --------
    >>> score = Score("crps", "CRPS", "lower", (0.5, 0.7), -0.2, (-0.3, -0.1), 0.001)
    >>> found = Comparison(
    ...     -3.3, 0.001, "compare", 200, names=("line", "curve"), measures=(score,)
    ... )
    >>> found.better
    'line'
    >>> print(found.words)
    line predicts better than curve: CRPS 0.20 lower a row (0.10 to 0.30), p = 0.001.
    """

    #: What the models are called.
    names: tuple[str, str] = ("p", "q")
    #: The key of the measure that the verdict is by.
    measure: str = "crps"
    #: All measures that both models offer.
    measures: tuple[Score, ...] = ()
    #: Where the other model is better, or the difference larger than over all rows.
    slices: tuple[Slice, ...] = ()
    #: The level of the verdict and of the slices.
    alpha: float = 0.05

    @property
    def score(self) -> Score:
        """The measure of the verdict."""
        return next(score for score in self.measures if score.key == self.measure)

    @property
    def difference(self) -> float:
        """The first model's mean minus the second's, in the orientation of the measure."""
        return self.score.difference

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the difference."""
        return self.score.interval

    @property
    def better(self) -> str | None:
        """The model with the better mean, significant or not; None where they are equal."""
        return {1.0: self.names[0], -1.0: self.names[1], 0.0: None}[self.score.sign]

    @property
    def words(self) -> str:
        """The verdict, and where the difference is another, in sentences."""
        where = [f"Where {one.words}: {one.findings[0].words}." for one in self.slices]
        return " ".join([self.verdict, *where])

    @property
    def verdict(self) -> str:
        """The verdict over all rows."""
        sentences = [
            self._infinite(score) for score in self.measures if any(score.infinite)
        ]
        if math.isfinite(self.score.difference):
            sentences.append(self._finite_verdict())
        return " ".join(sentences)

    def _finite_verdict(self) -> str:
        """Say which model is better by the measure of the verdict, which is finite."""
        p, q = self.names
        score = self.score
        verb = SCORES[self.measure].verb
        if score.difference == 0 and self.pvalue == 1.0:
            return f"{p} and {q} {verb} alike: their {score.name} is the same."
        sign = score.sign or 1.0
        better, worse = (p, q) if sign > 0 else (q, p)
        others = [
            other
            for other in self.measures
            if other is not score and math.isfinite(other.difference)
        ]
        each = "; ".join(
            f"{one.words(sign)}, {pvalue_words(one.pvalue)}" for one in (score, *others)
        )
        if self.reject(self.alpha):
            return f"{better} {verb}s better than {worse}: {each}."
        return (
            f"No evidence at the {100 * self.alpha:g}% level, by {score.name}, that {p} or"
            f" {q} {verb}s better: of {better}, {each}."
        )

    def _infinite(self, score: Score) -> str:
        """Say why a measure is infinite for a model, and what follows."""
        observed = str(self.details.get("observed", "rows"))
        infinite = [k for k in (0, 1) if score.infinite[k]]
        reasons = "; ".join(
            SCORES[score.key].infinite_words(
                self.names[k], score.infinite[k], self.n, observed
            )
            for k in infinite
        )
        if len(infinite) == 2:
            return f"{reasons}: they cannot be compared by it."
        model = self.names[infinite[0]]
        other = self.names[1 - infinite[0]]
        if score is self.score:
            return f"{reasons}, so that {other} predicts better."
        if not self.reject(self.alpha):
            return f"{reasons}."
        verdict = "better" if self.better == model else "worse"
        return f"{reasons}; by {self.score.name} it is {verdict}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        verdict = {
            "difference": self.difference,
            "interval": self.interval,
            "better": self.better,
        }
        return {**super().to_dict(), **plain(verdict), "words": self.words}

    def records(self) -> list[dict[str, Any]]:
        """Return one row a measure."""
        rows = []
        for score in self.measures:
            low, high = score.interval
            row = {
                "measure": score.name,
                "better": score.better,
                **dict(zip(self.names, score.means, strict=True)),
                "difference": score.difference,
                "low": low,
                "high": high,
                "pvalue": score.pvalue,
            }
            rows.append(row)
        return rows

    def __str__(self) -> str:
        lines = [
            f"comparison of {self.names[0]} and {self.names[1]}, n = {self.n:,}",
            f"  {self.words}",
        ]
        for score in self.measures:
            lines += self._score_lines(score)
        lines += [f"  note  {note}" for note in self.details.get("notes", ())]
        return "\n".join(lines)

    def _score_lines(self, score: Score) -> list[str]:
        amount, span = estimate_text(score.difference, *score.interval)
        width = max(len(name) for name in self.names)
        # The means have at least the digits of their difference.
        digits = max(4, len(amount.split(".")[-1]))
        lines = [f"  {score.name} ({score.better} is better)"]
        for name, mean in zip(self.names, score.means, strict=True):
            lines.append(f"    {name:{width}}  {mean:.{digits}f}")
        if math.isfinite(score.difference):
            lines.append(
                f"    difference {amount} (95% interval {span}),"
                f" {pvalue_words(score.pvalue)}"
            )
        return lines


@dataclass(frozen=True)
class Pair(Record):
    """Two models of a ranking."""

    #: The model with the better mean.
    better: str
    #: The other model.
    worse: str
    #: How much better it is: the distance of the means, at least 0.
    difference: float
    #: The standard error of the difference.
    standard_error: float
    #: Two-sided p-value, corrected for all pairs.
    pvalue: float
    #: Two-sided p-value of this pair by itself.
    single: float


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Compared, Record):
    """Several models in the order of a measure, from `rank`.

    Examples
    --------
    >>> pair = Pair("a", "b", 0.3, 0.1, 0.003, 0.003)
    >>> found = Ranking(("a", "b"), (0.1, 0.4), (pair,), n=100)
    >>> found.best(), found.best(alpha=0.001)
    (('a',), ('a', 'b'))
    """

    #: The K models, the best first.
    names: tuple[str, ...]
    #: The mean score of each of them, in the same order.
    means: tuple[float, ...]
    #: All pairs, the most significant first.
    pairs: tuple[Pair, ...]
    #: Number of rows.
    n: int
    #: The key of the measure.
    measure: str = "crps"
    #: Means of the other measures, by name.
    others: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    alpha: float = 0.05
    seed: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the measure is called."""
        return SCORES[self.measure].name

    @property
    def better(self) -> str:
        """Which values of it are better, "higher" or "lower"."""
        return SCORES[self.measure].better

    def different(self, alpha: float | None = None) -> tuple[Pair, ...]:
        """Return the pairs that differ.

        All of these statements hold together with probability 1 − alpha.
        """
        level = check_alpha(self.alpha if alpha is None else alpha)
        return tuple(pair for pair in self.pairs if pair.pvalue <= level)

    def best(self, alpha: float | None = None) -> tuple[str, ...]:
        """Return the models that may be the best.

        The best model is one of them with probability 1 − alpha.
        """
        worse = {pair.worse for pair in self.different(alpha)}
        return tuple(name for name in self.names if name not in worse)

    @property
    def words(self) -> str:
        """The verdict in a sentence."""
        best = self.best()
        others = [name for name in self.names if name not in best]
        if len(best) == 1:
            return f"{best[0]} is the best of {len(self.names)} models by {self.name}."
        if not others:
            return f"Any of the {len(self.names)} models may be the best by {self.name}."
        listed = f"{', '.join(best[:-1])} or {best[-1]}"
        return (
            f"{listed} may be the best of {len(self.names)} models by {self.name};"
            f" {', '.join(others)} not."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {
            **super().to_dict(),
            "method": "rank",
            "best": list(self.best()),
            "words": self.words,
        }

    def records(self) -> list[dict[str, Any]]:
        """Return one row a model, the best first."""
        best = self.best()
        rows = []
        for k, model in enumerate(self.names):
            row: dict[str, Any] = {"model": model, self.name: self.means[k]}
            for measure, means in self.others.items():
                row[measure] = means[k]
            row["may be the best"] = model in best
            rows.append(row)
        return rows

    def __str__(self) -> str:
        best = self.best()
        significant = {(pair.better, pair.worse) for pair in self.different()}
        width = max(5, *(len(name) for name in self.names))
        title = f"{self.name} ({self.better} is better)"
        worse_than = f"worse than ({100 * self.alpha:g}% level, all pairs together)"
        lines = [
            f"rank of {len(self.names)} models, n = {self.n:,}",
            f"  {self.words}",
            f"     {'model':{width}}  {title:>28}  best?  {worse_than}",
        ]
        for k, (name, mean) in enumerate(zip(self.names, self.means, strict=True), 1):
            mark = "yes" if name in best else "no"
            better = [other for other in self.names if (other, name) in significant]
            listed = ", ".join(better) or "-"
            lines.append(f"{k:3}  {name:{width}}  {mean:28.5g}  {mark:5}  {listed}")
        lines += [f"  note  {note}" for note in self.details.get("notes", ())]
        return "\n".join(lines)


# compare and rank.


@spelled_out(*HowToRead.__annotations__)
def compare(
    model_p: object,
    model_q: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    measure: str = "auto",
    names: tuple[str, str] = ("p", "q"),
    alpha: float = 0.05,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    **how: Unpack[HowToRead],
) -> Comparison:
    """Test which of two models predicts better.

    Each row is scored with every proper score that both models offer: the log score of
    densities and probabilities, the CRPS of CDFs and draws (of draws the fair one, whatever
    their number; of several columns the energy score), the Brier score of classes, the
    pinball loss of quantiles, the Winkler score of intervals. H0: the mean difference is 0.
    The p-value is the larger of Student's t test of the paired differences and of one that
    takes their skewness out, so that the level holds for skewed and for heavy-tailed ones.
    The verdict is by the first measure, in this order, that is finite for both models.
    Where fewer than ten rows are expected to differ from their most probable class or
    count, the variance is at least that under the mixture of both models with equal
    expected scores: that an event did not come is no proof. There the test is conservative
    (at 0.05 it may reject less than 1% of equally good models), since one event more or
    less decides.
    Unnormalised models (`from_score`, …) are compared by their Stein discrepancies, the
    squared KCSD of `kcsd`.

    Do not use it to find out whether a model fits (both may be wrong), or when a model was
    fitted on this same sample.

    Parameters
    ----------
    model_p, model_q : law, model or anything `as_model` takes
        The models, functional or bound to rows, in any mixture. Beside quantiles or
        intervals, another law is asked for the same quantiles, or the central intervals of
        the same coverage.
    x : array_like or frame of shape (n,) or (n, d_x), or Source
        Covariates, in which slices are looked for; the models may be `columns` of a source
        from `scan`.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses; left out with a source.
    measure : {"auto", "log", "crps", "energy", "brier", "pinball", "winkler", "stein"}
        The measure of the verdict; "auto" computes all that both models offer.
    names : pair of str
        What to call the models.
    alpha : float
        Level of the verdict in words, and of the slices.
    kernel_x, kernel_y : Kernel
        Of the Stein discrepancy.
    groups, dependence, missing, rng, engine, memory
        As in `check`; `rng` matters for the slices and the Stein discrepancy only.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 500)
    >>> y = x + 0.3 * x**2 + rng.standard_normal(500)
    >>> line, curve = (x + 0.4, np.ones(500)), (x + 0.3 * x**2, np.ones(500))
    >>> found = cg.compare(line, curve, x, y, names=("line", "curve"), rng=0)
    >>> found.better, found.measure, found.reject()
    ('curve', 'log', True)
    """
    p, q = check_names(names, 2)
    check_alpha(alpha)
    options, seed = read_options(compare, how)
    scored = measured(
        models={p: model_p, q: model_q},
        x=x,
        y=y,
        measure=measure,
        kernels=(kernel_x, kernel_y),
        options=options,
        seed=seed,
    )
    scores = [Score.from_study(key, study) for key, study in scored.studies.items()]
    chosen = _first_finite(scores)
    return Comparison(
        statistic=scored.studies[chosen.key].pairs[0, 1].z,
        pvalue=chosen.pvalue,
        method="compare",
        n=scored.n,
        seed=seed.value,
        details=scored.details,
        names=(p, q),
        measure=chosen.key,
        measures=tuple(scores),
        slices=_find_slices(scored, chosen, (p, q), alpha, seed, options.engine),
        alpha=alpha,
    )


def _first_finite(scores: Sequence[Score]) -> Score:
    """Return the first measure that is finite for both models, else the first of all."""
    finite = [score for score in scores if math.isfinite(score.difference)]
    return finite[0] if finite else scores[0]


@spelled_out(*HowToRead.__annotations__)
def rank(
    models: Mapping[str, Any],
    x: TableLike,
    y: TableLike | None = None,
    *,
    measure: str = "auto",
    alpha: float = 0.05,
    n_boot: int = 9999,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    **how: Unpack[HowToRead],
) -> Ranking:
    """Order several models by a proper score, and say which of them may be the best.

    Every pair is compared as in `compare`, by the first measure that all models offer and
    that is finite for all. P-values are corrected for the number of pairs by the step-down
    max-T method (Romano and Wolf), with joint normal draws that have the pairs' own
    correlation: all statements "b predicts worse than a" at level alpha hold together with
    probability 1 − alpha, and the best model is among those that no other beats
    (`Ranking.best`) with at least that probability.

    Parameters
    ----------
    models : mapping of str to model
        Two models or more, by name; each a law, model or anything `as_model` takes.
    x, y, measure, alpha, groups, dependence, kernel_x, kernel_y, missing, engine, memory
        As in `compare`.
    n_boot : int
        Number of joint draws.
    rng : int, numpy.random.Generator or None
        Of these draws, and of what `compare` needs.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 500)
    >>> y = x + 0.3 * x**2 + rng.standard_normal(500)
    >>> models = {f"bend {b}": (x + b * x**2, np.ones(500)) for b in (0.0, 0.3, -0.3)}
    >>> found = cg.rank(models, x, y, rng=0)
    >>> found.names, found.best()
    (('bend 0.3', 'bend 0.0', 'bend -0.3'), ('bend 0.3',))
    """
    if not isinstance(models, Mapping):
        raise InputTypeError(
            f"rank takes a mapping of names to models, got {type(models).__name__}."
        )
    names = check_names(list(models))
    if len(names) < 2:
        raise InputError(f"rank needs two models or more, got {len(names)}.")
    check_alpha(alpha)
    draws = check_n_boot(n_boot)
    check_resolution(alpha, draws)
    options, seed = read_options(rank, how)
    scored = measured(
        models=models,
        x=x,
        y=y,
        measure=measure,
        kernels=(kernel_x, kernel_y),
        options=options,
        seed=seed,
    )
    key = _first_without_infinite(scored.studies)
    study = scored.studies[key]
    order = sorted(range(len(names)), key=lambda a: -SCORES[key].sign * study.means[a])
    others = {
        SCORES[other].name: tuple(its.means[order].tolist())
        for other, its in scored.studies.items()
        if other != key
    }
    notes = (*_notes_on_infinite(scored, names, key), *scored.details["notes"])
    return Ranking(
        names=tuple(names[a] for a in order),
        means=tuple(study.means[order].tolist()),
        pairs=tuple(_ranked_pairs(study, names, SCORES[key].sign, draws, seed)),
        n=scored.n,
        measure=key,
        others=others,
        alpha=alpha,
        seed=seed.value,
        details={**scored.details, "notes": notes, "n_boot": draws},
    )


def _first_without_infinite(studies: Mapping[str, Contrasts]) -> str:
    """Return the first measure that is finite for all models, else the first of all."""
    finite = [key for key, study in studies.items() if not any(study.infinite)]
    return finite[0] if finite else next(iter(studies))


def _notes_on_infinite(scored: Measured, names: Sequence[str], key: str) -> list[str]:
    """Say which models have infinite scores, and which measure ranks them instead."""
    observed = scored.details.get("observed", "rows")
    notes = []
    for other, study in scored.studies.items():
        instead = "" if other == key else f"; models are ranked by {SCORES[key].name}"
        for name, count in zip(names, study.infinite, strict=True):
            if count:
                reason = SCORES[other].infinite_words(name, count, scored.n, observed)
                notes.append(reason + instead)
    return notes


def _ranked_pairs(
    study: Contrasts, names: Sequence[str], sign: float, draws: int, seed: Seed
) -> Iterable[Pair]:
    """Yield all pairs, the most significant first.

    `sign` is 1 where higher values of the measure are better, −1 where lower ones are.
    """
    for (a, b), pvalue in corrected_pvalues(study, draws, seed).items():
        pair = study.pairs[a, b]
        better, worse = (a, b) if sign * pair.value >= 0 else (b, a)
        yield Pair(
            better=names[better],
            worse=names[worse],
            difference=abs(pair.value),
            standard_error=pair.error,
            # A pair that does not differ at all keeps its p-value of 1.
            pvalue=1.0 if pair.pvalue == 1.0 else pvalue,
            single=pair.pvalue,
        )


def check_names(names: Any, count: int | None = None) -> tuple[str, ...]:
    """Check what models are to be called."""
    listed = isinstance(names, Sequence) and not isinstance(names, str)
    if not listed or not all(isinstance(name, str) and name for name in names):
        raise InputTypeError(
            f"Models must be named by strings that are not empty, got {names!r}."
        )
    if len(names) != (count or len(names)) or len(set(names)) < len(names):
        raise InputError(
            f"The {count or len(names)} models must have different names, got {names!r}."
        )
    return tuple(names)


def corrected_pvalues(study: Contrasts, m: int, seed: Seed) -> dict[tuple[int, int], float]:
    """Return p-values of all pairs by step-down max-T over m joint normal draws of |z|.

    The pairs are in the order of their own p-values, and no corrected p-value is smaller
    than the pair's own.
    """
    pairs = study.pairs
    order = sorted(pairs, key=lambda pair: pairs[pair].pvalue)
    single = np.array([pairs[pair].pvalue for pair in order])
    draws = _joint_draws(study.covariance, order, m, seed)
    # The largest |z| of the pairs that are left at each step, (m, pairs).
    largest = np.maximum.accumulate(draws[:, ::-1], axis=1)[:, ::-1]
    above = (largest >= [abs(pairs[pair].z) for pair in order]).sum(axis=0)
    monotone = np.maximum.accumulate(np.maximum((1 + above) / (m + 1), single))
    corrected = np.minimum(monotone, 1.0)
    return dict(zip(order, corrected.tolist(), strict=True))


def _joint_draws(
    covariance: FloatArray, pairs: Sequence[tuple[int, int]], m: int, seed: Seed
) -> FloatArray:
    """Draw |z| of pairs (a, b) of models with this covariance (K, K), (m, pairs)."""
    variances, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    contrasts = np.array([root[a] - root[b] for a, b in pairs])
    norms = np.linalg.norm(contrasts, axis=1, keepdims=True)
    directions = np.divide(contrasts, norms, out=np.zeros(contrasts.shape), where=norms > 0)
    normal = seed.stream(Use.BOOTSTRAP).standard_normal((m, len(root)))
    return np.asarray(np.abs(normal @ directions.T))


# Slices of x in which the difference is another.


def _find_slices(
    scored: Measured,
    overall: Score,
    names: tuple[str, str],
    alpha: float,
    seed: Seed,
    engine: Any,
) -> tuple[Slice, ...]:
    """Search for slices in which the difference is another than over all rows."""
    sample = scored.sample
    if sample is None or not SCORES[overall.key].scores_rows:
        return ()
    if scored.n < FEWEST_ROWS_FOR_SLICES or not math.isfinite(overall.difference):
        return ()
    d = scored.differences(overall.key)
    signals = _signals_of_differences(d)
    axes = axes_of(sample.x_columns, sample.x)
    space = Space.of(axes, signals, sample.content_keys)
    if space is None or not (d != d[0]).any():
        return ()
    with single_threaded_blas():
        scan = Scan.of(space, signals, scored.dependence, SEARCH_DRAWS, seed, engine)
        candidates = scan.slices(alpha, MOST_SLICES)
    units = scored.units
    row_numbers = np.arange(scored.n) if sample.kept is None else sample.kept
    slices = []
    for candidate, pvalue in candidates:
        if candidate.everywhere:
            continue
        inside = np.flatnonzero(space.inside(candidate.where))
        # The interval is as wide as the search asks for, so that it is valid for slices
        # that were searched for.
        reach = max(scan.threshold(alpha) + candidate.penalty, REACH_95)
        level = 1.0 - 2.0 * float(ndtr(-reach))
        difference = Difference.from_units(d[inside], units[inside])
        finding = _slice_finding(overall, difference, level, names, len(inside))
        if finding.telling and not _is_weaker(difference.value, overall.difference):
            slices.append(scan.told(candidate, pvalue, row_numbers[inside], (finding,), ()))
    return tuple(slices)


def _signals_of_differences(d: FloatArray) -> Signals:
    """Return differences (n,), less their mean, as the only signal of the search."""
    centred = (d - d.mean())[:, None]
    return Signals((Signal("score", ""),), centred, variance=None, redraw=None, first=1)


def _is_weaker(value: float, overall: float) -> bool:
    """Return whether a slice has less of the difference that all rows have, so no news."""
    return value * overall >= 0 and abs(value) < abs(overall)


def _slice_finding(
    overall: Score,
    difference: Difference,
    level: float,
    names: tuple[str, str],
    rows: int,
) -> Finding:
    """Return how the models compare in a slice of `rows` rows, with its sentence."""
    interval = difference.interval(level)
    score = replace(overall, difference=difference.value, interval=interval)
    better, worse = names if score.sign >= 0 else names[::-1]
    words = (
        f"{better} predicts better than {worse}, {score.words(score.sign or 1.0)},"
        f" {rows:,} rows"
    )
    return Finding(
        kind="score",
        column="",
        estimate=difference.value,
        interval=interval,
        expected=0.0,
        label=f"{better} better",
        quantity="difference",
        numbers={"words": words},
    )
