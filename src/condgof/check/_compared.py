"""What comparisons of models give back: scores, the comparison of two, and a ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from condgof.check._record import Slice
from condgof.laws import MEASURES, STEIN, Measure
from condgof.methods import Contrasts
from condgof.result import (
    GofResult,
    Record,
    Shown,
    check_alpha,
    estimate_text,
    plain,
    pvalue_words,
)

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
    "ibs": ProperScore(MEASURES["ibs"]),
    STEIN: SteinDiscrepancy(Measure(STEIN, "Stein discrepancy", -1.0)),
}


# What is returned.


class Lead(NamedTuple):
    """How much higher or lower the score of one model is than that of another, in text."""

    amount: str  #: A positive number.
    way: str  #: "higher" or "lower".
    span: str  #: The ends of its 95% interval.


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
        amount, way, span = self.lead(sign)
        worse = ", which is worse" if self.difference and way != self.better else ""
        return f"{self.name} {amount} {way}{SCORES[self.key].unit} ({span}){worse}"

    def lead(self, sign: float) -> Lead:
        """Return how much higher or lower the score of one model is; see `words`."""
        way = "lower" if sign * self.difference < 0 else "higher"
        # The amount is written as a positive number.
        amount_sign = -sign if way == "lower" else sign
        low, high = sorted(amount_sign * end for end in self.interval)
        amount, span = estimate_text(amount_sign * self.difference, low, high)
        return Lead(amount, way, span)

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

    def to_html(self, *, title: str | None = None, command: str | None = None) -> str:
        """Return the report, one page that needs nothing else.

        Parameters
        ----------
        title : str, optional
            The heading of the page; the names of the models unless given.
        command : str, optional
            The command that gives the comparison again.
        """
        from condgof.report import compared_page

        return compared_page(self, title=title, command=command)  # type: ignore[arg-type]

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
        # The same model comes first as in the sentence, so that the numbers are the same.
        sign = self.score.sign or 1.0
        first = self.names[0] if sign > 0 else self.names[1]
        amount, way, span = score.lead(sign)
        width = max(len(name) for name in self.names)
        # The means have at least the digits of their difference.
        digits = max(4, len(amount.split(".")[-1]))
        lines = [f"  {score.name} ({score.better} is better)"]
        for name, mean in zip(self.names, score.means, strict=True):
            lines.append(f"    {name:{width}}  {mean:.{digits}f}")
        if math.isfinite(score.difference):
            lines.append(
                f"    {first} is {amount} {way} (95% interval {span}),"
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
