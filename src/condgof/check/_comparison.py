"""What comparisons of models give back: plain, frozen, picklable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from condgof.check._numbers import sized
from condgof.check._record import Record, Slice
from condgof.errors import InputError, require
from condgof.laws import MEASURES, Measure
from condgof.methods._measured import STEIN
from condgof.result import GofResult, _plain, pvalue_words

#: What models without a proper score are compared by.
DISCREPANCY = Measure(STEIN, "Stein discrepancy", -1.0)


@dataclass(frozen=True)
class Score(Record):
    """What one measure says of two models."""

    #: Its key ("log", "crps", …, "stein"), its name, and which values of it are "better".
    key: str
    name: str
    better: str
    #: The mean of each model.
    means: tuple[float, float]
    #: The first less the second, its 95% interval and two-sided p-value.
    difference: float
    interval: tuple[float, float]
    pvalue: float
    #: In how many rows each is infinite: what was observed had probability 0, or an interval no end.
    infinite: tuple[int, int] = (0, 0)

    @property
    def sign(self) -> float:
        """1 where the first model is better, −1 where the second is, 0 where they are equal."""
        if self.difference == 0 or math.isnan(self.difference):
            return 0.0
        return math.copysign(1.0, self.difference) * (1.0 if self.better == "higher" else -1.0)

    def words(self, sign: float) -> str:
        """Say how much the first (sign 1), or the second model (−1), is higher or lower."""
        if not math.isfinite(self.difference):
            return f"{self.name} not comparable"
        low, high = sorted(sign * end for end in self.interval)
        value = sign * self.difference
        if value < 0:
            value, low, high, way = -value, -high, -low, "lower"
        else:
            way = "higher"
        amount, span = sized(value, low, high)
        worse = ", which is worse" if value and way != self.better else ""
        row = "" if self.key == STEIN else " a row"
        return f"{self.name} {amount} {way}{row} ({span}){worse}"


def infinite_words(name: str, score: Measure | Score, count: int, n: int, observed: str) -> str:
    """Say why a score of a model is infinite: what it gave no probability to."""
    if score.key != "log":
        return f"an interval of {name} has no end in {count:,} of {n:,} rows: its {score.name} is ∞"
    what, rows = ("density", "rows") if observed == "rows" else ("probability", f"observed {observed}")
    return f"{name} gave {what} 0 to {count:,} of {n:,} {rows}: its log score is −∞"


class Shown:
    """What comparisons and rankings look like: a page, a picture, a card in a notebook."""

    def to_html(self, *, command: str | None = None) -> str:
        """Return the report, one page that needs nothing else."""
        from condgof.report import compared_page

        return compared_page(self, command)  # type: ignore[arg-type]

    def plot(self, ax: Any = None) -> Any:
        """Draw the difference, or how much worse each model is than the first, with intervals.

        Needs ``condgof[plot]``.
        """
        from condgof.report import plot_compared

        return plot_compared(self, ax)  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        from condgof.report import compared_card

        return compared_card(self)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown, GofResult):
    """Which of two models predicts better, from `compare`.

    The fields of a `GofResult`, and:

    Parameters
    ----------
    statistic : float
        The difference of the measure in standard errors, as a standard normal number under no
        difference.
    pvalue : float
        Two-sided, of no difference in the measure of the verdict.
    names : pair of str
        What the models are called.
    measure : str
        The key of the measure that the verdict is by.
    measures : tuple of Score
        All measures that both models offer, each with difference, interval and p-value.
    slices : tuple of Slice
        Where the other model is better, or the difference larger than over all rows.
    alpha : float
        The level of the verdict and of the slices.

    Examples
    --------
    >>> score = Score("crps", "CRPS", "lower", (0.5, 0.7), -0.2, (-0.3, -0.1), 0.001)
    >>> found = Comparison(-3.3, 0.001, "compare", 200, names=("line", "curve"), measures=(score,))
    >>> found.better, found.words
    ('line', 'line predicts better than curve: CRPS 0.20 lower a row (0.10 to 0.30), p = 0.001.')
    """

    names: tuple[str, str] = ("p", "q")
    measure: str = "crps"
    measures: tuple[Score, ...] = ()
    slices: tuple[Slice, ...] = ()
    alpha: float = 0.05

    @property
    def score(self) -> Score:
        """The measure of the verdict."""
        return next(score for score in self.measures if score.key == self.measure)

    @property
    def difference(self) -> float:
        """The first model's mean less the second's, in the orientation of the measure."""
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
        """The verdict, and where the difference is another, in sentences that name the measure."""
        where = (f"Where {one.words}: {one.findings[0].words}." for one in self.slices)
        return " ".join([self.verdict, *where])

    @property
    def verdict(self) -> str:
        """The verdict over all rows."""
        (p, q), score = self.names, self.score
        verb = "fit" if self.measure == STEIN else "predict"
        sentences = [self._infinite(s) for s in self.measures if any(s.infinite)]
        if not math.isfinite(score.difference):
            return " ".join(sentences)
        if score.difference == 0 and self.pvalue == 1.0:
            return " ".join([*sentences, f"{p} and {q} {verb} alike: their {score.name} is the same."])
        sign = score.sign or 1.0
        better, worse = (p, q) if sign > 0 else (q, p)
        finite = [s for s in self.measures if s is not score and math.isfinite(s.difference)]
        each = "; ".join(f"{s.words(sign)}, {pvalue_words(s.pvalue)}" for s in (score, *finite))
        if self.reject(self.alpha):
            said = f"{better} {verb}s better than {worse}: {each}."
        else:
            level = f"at the {100 * self.alpha:g}% level"
            said = f"No evidence {level}, by {score.name}, that {p} or {q} {verb}s better: "
            said += f"of {better}, {each}."
        return " ".join([*sentences, said])

    def _infinite(self, score: Score) -> str:
        """Say of a measure that is infinite for a model why, and what follows."""
        both = [k for k in (0, 1) if score.infinite[k]]
        seen = str(self.details.get("observed", "rows"))
        told = "; ".join(
            infinite_words(self.names[k], score, score.infinite[k], self.n, seen) for k in both
        )
        if len(both) == 2:
            return f"{told}: they cannot be compared by it."
        if score is self.score:
            return f"{told}, so that {self.names[1 - both[0]]} predicts better."
        if not self.reject(self.alpha):
            return f"{told}."
        verdict = "better" if self.better == self.names[both[0]] else "worse"
        return f"{told}; by {self.score.name} it is {verdict}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        more = {"difference": self.difference, "interval": self.interval, "better": self.better}
        return {**super().to_dict(), **_plain(more), "words": self.words}

    def to_frame(self) -> Any:
        """Return the measures as a pandas frame, one row each (needs ``condgof[frames]``)."""
        pandas = require("pandas", "frames", "to_frame")
        rows = [
            {
                "measure": s.name, "better": s.better, **dict(zip(self.names, s.means, strict=True)),
                "difference": s.difference, "low": s.interval[0], "high": s.interval[1],
                "pvalue": s.pvalue,
            }
            for s in self.measures
        ]  # fmt: skip
        return pandas.DataFrame(rows)

    def __repr__(self) -> str:
        return (
            f"Comparison(names={self.names!r}, n={self.n}, measure={self.measure!r}, "
            f"difference={self.difference:.6g}, pvalue={self.pvalue:.4g})"
        )

    def __str__(self) -> str:
        lines = [f"comparison of {self.names[0]} and {self.names[1]}, n = {self.n:,}", f"  {self.words}"]
        wide = max(len(name) for name in self.names)
        for s in self.measures:
            amount, span = sized(s.difference, *s.interval)
            lines.append(f"  {s.name} ({s.better} is better)")
            digits = max(4, len(amount.split(".")[-1]))
            lines += [
                f"    {name:{wide}}  {mean:.{digits}f}"
                for name, mean in zip(self.names, s.means, strict=True)
            ]
            if math.isfinite(s.difference):
                lines.append(f"    difference {amount} (95% interval {span}), {pvalue_words(s.pvalue)}")
        lines += [f"  note  {note}" for note in self.details.get("notes", ())]
        return "\n".join(lines)


@dataclass(frozen=True)
class Pair(Record):
    """Two models of a ranking."""

    #: Their names; `better` has the better mean.
    better: str
    worse: str
    #: How much better: the distance of the means, and its standard error.
    difference: float
    standard_error: float
    #: Two-sided, corrected for all pairs.
    pvalue: float
    #: Of this pair by itself, as if it had been the only one.
    single: float


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Shown, Record):
    """Several models in the order of a measure, from `rank`.

    Parameters
    ----------
    names : tuple of str
        The models, the best first.
    means : tuple of float
        Their means of the measure, in that order.
    pairs : tuple of Pair
        All pairs, the most significant first.
    n : int
        Number of rows.
    measure : str
        The key of the measure; `others` has the means of the other measures, by name.

    Examples
    --------
    >>> found = Ranking(("a", "b"), (0.1, 0.4), (Pair("a", "b", 0.3, 0.1, 0.003, 0.003),), n=100)
    >>> found.best(), found.best(alpha=0.001)
    (('a',), ('a', 'b'))
    """

    names: tuple[str, ...]
    means: tuple[float, ...]
    pairs: tuple[Pair, ...]
    n: int
    measure: str = "crps"
    others: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    alpha: float = 0.05
    seed: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the measure is called."""
        return MEASURES.get(self.measure, DISCREPANCY).name

    @property
    def better(self) -> str:
        """Which values of it are better, "higher" or "lower"."""
        return MEASURES.get(self.measure, DISCREPANCY).better

    def different(self, alpha: float | None = None) -> tuple[Pair, ...]:
        """Return the pairs that differ; all of these statements hold together with 1 − alpha."""
        level = self.alpha if alpha is None else alpha
        if not 0 < level < 1:
            raise InputError(f"alpha must be between 0 and 1, got {alpha!r}.")
        return tuple(pair for pair in self.pairs if pair.pvalue <= level)

    def best(self, alpha: float | None = None) -> tuple[str, ...]:
        """Return the models that may be the best: none is significantly better.

        The best model is among them with probability 1 − alpha (or more).
        """
        worse = {pair.worse for pair in self.different(alpha)}
        return tuple(name for name in self.names if name not in worse)

    @property
    def words(self) -> str:
        """The verdict in a sentence."""
        best, name = self.best(), self.name
        out = [each for each in self.names if each not in best]
        if len(best) == 1:
            return f"{best[0]} is the best of {len(self.names)} models by {name}."
        if not out:
            return f"Any of the {len(self.names)} models may be the best by {name}."
        listed = f"{', '.join(best[:-1])} or {best[-1]}"
        return f"{listed} may be the best of {len(self.names)} models by {name}; {', '.join(out)} not."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {**super().to_dict(), "method": "rank", "best": list(self.best()), "words": self.words}

    def to_frame(self) -> Any:
        """Return the models as a pandas frame, the best first (needs ``condgof[frames]``)."""
        pandas = require("pandas", "frames", "to_frame")
        best = self.best()
        table = {"model": self.names, self.name: self.means, **self.others}
        return pandas.DataFrame({**table, "may be the best": [name in best for name in self.names]})

    def __repr__(self) -> str:
        return (
            f"Ranking(n={self.n}, measure={self.measure!r}, names={self.names!r}, best={self.best()!r})"
        )

    def __str__(self) -> str:
        best, lost = self.best(), self.different()
        wide = max(5, *map(len, self.names))
        title = f"{self.name} ({self.better} is better)"
        lines = [
            f"rank of {len(self.names)} models, n = {self.n:,}",
            f"  {self.words}",
            f"     {'model':{wide}}  {title:>28}  best?  worse than ({100 * self.alpha:g}% level, all "
            "pairs together)",
        ]
        for k, (name, mean) in enumerate(zip(self.names, self.means, strict=True), 1):
            than = [
                other for other in self.names if any((p.better, p.worse) == (other, name) for p in lost)
            ]
            mark = "yes" if name in best else "no"
            lines.append(f"{k:3}  {name:{wide}}  {mean:28.5g}  {mark:5}  {', '.join(than) or '-'}")
        lines += [f"  note  {note}" for note in self.details.get("notes", ())]
        return "\n".join(lines)
