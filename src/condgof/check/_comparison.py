"""Which of several models predicts better, by proper scores, and where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtr

from condgof._typing import FloatArray, IntArray
from condgof.check._axes import axes_of
from condgof.check._record import Finding, Slice
from condgof.check._scan import Scan, Space
from condgof.check._signals import Signal, Signals
from condgof.engine import as_engine, single_threaded_blas
from condgof.errors import InputError, InputTypeError
from condgof.kernels import Gaussian, Kernel
from condgof.laws._scores import MEASURES, Measure
from condgof.methods._dependence import Asked
from condgof.methods._options import Options
from condgof.methods._several import STEIN, Contrasts, Measured, contrast, measured, prepare_joint
from condgof.null._bootstrap import Dependence, check_n_boot
from condgof.null._paired import Difference, Paired
from condgof.result import GofResult, Record, Shown, check_alpha, plain, pvalue_words, sized
from condgof.sample import RngLike, Seed, Use
from condgof.stein._matrix import DEFAULT_MEMORY

#: What models without a proper score are compared by.
DISCREPANCY = Measure(STEIN, "Stein discrepancy", -1.0)
#: Rows below which slices are not looked for, how many are named, and draws of the search.
LEAST_ROWS, MOST, N_SEARCH = 100, 3, 999
#: Standard errors that an interval of 95% reaches to either side.
REACH = 1.96


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


class Compared(Shown):
    """What comparisons and rankings look like: a page and a picture."""

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


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Compared, GofResult):
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
            sentence = f"{better} {verb}s better than {worse}: {each}."
        else:
            level = f"at the {100 * self.alpha:g}% level"
            sentence = f"No evidence {level}, by {score.name}, that {p} or {q} {verb}s better: "
            sentence += f"of {better}, {each}."
        return " ".join([*sentences, sentence])

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
        return {**super().to_dict(), **plain(more), "words": self.words}

    def records(self) -> list[dict[str, Any]]:
        """Return one row a measure."""
        return [
            {
                "measure": s.name, "better": s.better, **dict(zip(self.names, s.means, strict=True)),
                "difference": s.difference, "low": s.interval[0], "high": s.interval[1],
                "pvalue": s.pvalue,
            }
            for s in self.measures
        ]  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"Comparison(names={self.names!r}, n={self.n}, measure={self.measure!r}, "
            f"difference={self.difference:.6g}, {self.pvalue_words})"
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
class Ranking(Compared, Record):
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
        level = check_alpha(self.alpha if alpha is None else alpha)
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

    def records(self) -> list[dict[str, Any]]:
        """Return one row a model, the best first."""
        best, header = self.best(), ("model", self.name, *self.others, "may be the best")
        table = (self.names, self.means, *self.others.values(), [name in best for name in self.names])
        return [dict(zip(header, row, strict=True)) for row in zip(*table, strict=True)]

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


def compare(
    model_p: Any,
    model_q: Any,
    x: Any,
    y: Any = None,
    *,
    measure: str = "auto",
    names: tuple[str, str] = ("p", "q"),
    alpha: float = 0.05,
    groups: Any = None,
    dependence: int | str | None = None,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> Comparison:
    """Test which of two models predicts better.

    Each row is scored with every proper score that both models offer: the log score of densities and
    probabilities, the CRPS of CDFs and draws (of draws the fair one, which does not depend on their
    number; of draws of several columns the energy score), the Brier score of classes, the pinball loss
    of quantiles, the Winkler score of intervals. H0: the mean difference d̄ of the scores is 0. Both
    models may be wrong. The p-value is the larger of Student's t test of the paired differences and
    of one that takes their skewness out, so that its level holds for skewed and for heavy-tailed
    differences; for a model against itself it is 1. The verdict is by the first measure, in the
    order above, that is finite for both models.

    Unnormalised models (`from_score`, `from_scores`, `from_log_prob` of several columns) are compared by
    their Stein discrepancies, the squared KCSD of `kcsd`, which need no normalising constant.

    Do not use it to find out whether a model fits: both may be wrong. Do not use it when a model was
    fitted on this same sample: it would look better than it is.

    Parameters
    ----------
    model_p, model_q : law, model or anything `as_model` takes
        The models, functional or bound to rows, in any mixture. Beside quantiles or intervals, another
        law is asked for the same quantiles, or the central intervals of the same coverage.
    x : array_like or frame of shape (n,) or (n, d_x), or Source
        Covariates, as in `check`: they are where slices are looked for. With a source from `scan` the
        models may be `columns` of it; it is read once.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses; left out with a source.
    measure : {"auto", "log", "crps", "energy", "brier", "pinball", "winkler", "stein"}
        The measure of the verdict; "auto" computes all that both models offer.
    names : pair of str
        What to call the models.
    alpha : float
        Level of the verdict in words, and of the slices.
    groups, dependence
        Rows that depend on each other, as in `check`: differences are added up over groups, or blocks.
    kernel_x, kernel_y : Kernel
        Of the Stein discrepancy.
    missing : {"refuse", "drop", "level"}
        What to do about missing values, as in `check`.
    rng, engine, memory
        As in `check`; `rng` matters for the slices and the Stein discrepancy only.

    Returns
    -------
    Comparison
        `words`, `measure`, `difference` (first less second), `interval`, `pvalue`, all `measures`, and
        `slices`: where the other model is better, or the difference larger than over all rows.

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

    Two classifiers, by the probability of the second class:

    >>> label = np.where(rng.random(500) < 1 / (1 + np.exp(-x)), "yes", "no")
    >>> steep, flat = (cg.probabilities(1 / (1 + np.exp(-b * x)), ["no", "yes"]) for b in (1.2, 0.1))
    >>> [(score.key, score.pvalue < 0.05) for score in cg.compare(steep, flat, x, label).measures]
    [('log', True), ('brier', True)]
    """
    p, q = check_names(names, 2)
    check_alpha(alpha)
    seed, asked = Seed.of(rng), Asked.of(dependence, groups, "auto")
    models, how = {p: model_p, q: model_q}, {"missing": missing, "engine": engine, "memory": memory}
    scored = measured(models, x, y, measure, missing, asked)
    pairs: dict[str, Paired | Difference]
    if scored.tables:
        n, details = scored.n, _details(scored)
        pairs = {key: Paired.of(scored.differences(key), scored.dependence) for key in scored.tables}
        scores = [
            _score(MEASURES[key], table.mean(axis=1), pairs[key], scored.impossible(key))
            for key, table in scored.tables.items()
        ]
    else:
        stein, n, details = _stein(models, x, y, (kernel_x, kernel_y), asked, how, seed)
        pairs = {STEIN: stein.pairs[0, 1]}
        scores = [_score(DISCREPANCY, stein.discrepancies, pairs[STEIN])]
    chosen = next((s for s in scores if math.isfinite(s.difference)), scores[0])
    slices: tuple[Slice, ...] = ()
    if scored.tables and scored.sample is not None and math.isfinite(chosen.difference):
        slices = _where(scored, chosen.key, (p, q), alpha, seed, engine)
    one = pairs[chosen.key]
    return Comparison(
        one.z, one.pvalue, "compare", n, seed=seed.value, details=details, names=(p, q),
        measure=chosen.key, measures=tuple(scores), slices=slices, alpha=alpha,
    )  # fmt: skip


def rank(
    models: Mapping[str, Any],
    x: Any,
    y: Any = None,
    *,
    measure: str = "auto",
    alpha: float = 0.05,
    n_boot: int = 9999,
    rng: RngLike = None,
    missing: str = "refuse",
    groups: Any = None,
    dependence: int | str | None = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
) -> Ranking:
    """Order several models by a proper score, and say which of them may be the best.

    Every pair is compared as in `compare`, by the first measure that all models offer and that is finite
    for all. The p-values of the pairs are corrected for their number by the step-down max-T method
    (Romano and Wolf): the largest ``|z|`` among pairs is held against the largest of joint normal draws
    that have the pairs' own correlation. So all statements "b predicts worse than a" at level alpha hold
    together with probability 1 − alpha, and the best model is among those that no other beats
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
        Where randomness comes from: the draws above, and what `compare` needs.

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
            f'rank takes a mapping such as {{"a": model, "b": model}}, got {type(models).__name__}.'
        )
    names = check_names(list(models))
    if len(names) < 2:
        raise InputError(f"rank needs two models or more, got {len(names)}.")
    check_alpha(alpha)
    draws, seed, asked = check_n_boot(n_boot), Seed.of(rng), Asked.of(dependence, groups, "auto")
    scored = measured(models, x, y, measure, missing, asked)
    pairs: Mapping[tuple[int, int], Paired | Difference]
    if scored.tables:
        finite = [k for k, table in scored.tables.items() if np.isfinite(table).all()]
        key = (finite or list(scored.tables))[0]
        n, means, covariance = scored.n, scored.tables[key].mean(axis=1), _covariance(scored, key)
        pairs = {
            (a, b): Paired.of(scored.differences(key, a, b), scored.dependence)
            for a, b in combinations(range(len(names)), 2)
        }
        details = _details(scored)
        details["notes"] = (*_left_out(scored, key), *details["notes"])
    else:
        how = {"missing": missing, "engine": engine, "memory": memory}
        stein, n, details = _stein(models, x, y, (kernel_x, kernel_y), asked, how, seed)
        key, means, covariance, pairs = STEIN, stein.discrepancies, stein.covariance, stein.pairs
    sign = MEASURES.get(key, DISCREPANCY).sign
    order = sorted(range(len(names)), key=lambda a: -sign * means[a])
    others = {
        MEASURES[k].name: tuple(float(t[a].mean()) for a in order)
        for k, t in scored.tables.items()
        if k != key
    }
    return Ranking(
        names=tuple(names[a] for a in order),
        means=tuple(float(means[a]) for a in order),
        pairs=_pairs(names, pairs, covariance, sign, draws, seed),
        n=n, measure=key, others=others, alpha=alpha, seed=seed.value,
        details={**details, "n_boot": draws},
    )  # fmt: skip


def check_names(names: Any, count: int | None = None) -> tuple[str, ...]:
    """Check what models are to be called."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InputTypeError(f"names must be a pair of strings, got {names!r}.")
    if not all(isinstance(name, str) and name for name in names):
        raise InputTypeError(f"Models must be named by strings that are not empty, got {names!r}.")
    if count is not None and len(names) != count:
        raise InputError(f"names must be {count} names, got {len(names)}.")
    if len(set(names)) < len(names):
        raise InputError(f"Models must have different names, got {names!r}.")
    return tuple(names)


def _score(
    measure: Measure, means: FloatArray, one: Paired | Difference, infinite: Sequence[int] = (0, 0)
) -> Score:
    first, second = (float(mean) for mean in means)
    both = (int(infinite[0]), int(infinite[1]))
    about = measure.key, measure.name, measure.better
    return Score(*about, (first, second), one.value, one.interval(), one.pvalue, both)


def _details(scored: Measured) -> dict[str, Any]:
    return {"observed": scored.observed, "notes": scored.notes, **scored.dependence.details()}


def _left_out(scored: Measured, key: str) -> list[str]:
    """Say of each model whose score by some measure is infinite, and what models are ranked by."""
    return [
        infinite_words(name, MEASURES[other], count, scored.n, scored.observed)
        + ("" if other == key else f"; models are ranked by {MEASURES[key].name}")
        for other in scored.tables
        for name, count in zip(scored.names, scored.impossible(other), strict=True)
        if count
    ]


def _stein(
    models: Mapping[str, Any],
    x: Any,
    y: Any,
    kernels: tuple[Kernel, Kernel],
    asked: Asked,
    how: Mapping[str, Any],
    seed: Seed,
) -> tuple[Contrasts, int, dict[str, Any]]:
    """Compare models that have no proper score by their Stein discrepancies; how many rows, details."""
    if asked.groups is not None or asked.dependence is not None:
        raise InputError(
            "groups= and dependence= go with proper scores, and these models have none in common: their "
            "Stein discrepancies take rows as independent. Leave them out, or give normalised models."
        )
    options = Options.of(solver="auto", null="auto", n_boot=1000, precision=None, **how)
    joint = prepare_joint(models, x, y, "std", options, seed)
    on_x, on_y = joint.some[0].kernels(*kernels, seed)
    stein = contrast(joint, on_x, on_y, options, seed)
    notes = (*joint.each[0].notes(), *stein.details.get("notes", ()))
    shown = {"kernel_x": str(on_x.shown(joint.each[0].sample.d_x)), "kernel_y": str(on_y)}
    details = {**joint.details, **stein.details, "solver": stein.solver, **shown, "notes": notes}
    return stein, joint.n, details


def _covariance(scored: Measured, key: str) -> FloatArray:
    """Return the covariance of the mean scores, (K, K), by groups or blocks where rows are in such."""
    table = np.where(np.isfinite(scored.tables[key]), scored.tables[key], 0.0)
    centred = table - table.mean(axis=1, keepdims=True)
    if not scored.dependence.independent:
        parcels = scored.dependence.parcels(scored.n, scored.n)
        units = np.asarray(parcels.of(0, scored.n), dtype=np.int64)
        centred = np.stack([np.bincount(units, column, parcels.count) for column in centred])
    return np.asarray(centred @ centred.T / scored.n**2)


def _pairs(
    names: tuple[str, ...],
    pairs: Mapping[tuple[int, int], Paired | Difference],
    covariance: FloatArray,
    sign: float,
    m: int,
    seed: Seed,
) -> tuple[Pair, ...]:
    """Return all pairs of models with both p-values, the most significant first.

    Step-down max-T over joint normal draws; never below the p-value of the pair by itself, which does
    not end at 1/(m + 1).
    """
    order = sorted(pairs, key=lambda pair: pairs[pair].pvalue)
    draws = _draws(covariance, order, m, seed)
    # The largest of the pairs that are still left, for each step.
    largest = np.maximum.accumulate(draws[:, ::-1], axis=1)[:, ::-1]
    above = (largest >= [abs(pairs[pair].z) for pair in order]).sum(axis=0)
    single = np.array([pairs[pair].pvalue for pair in order])
    corrected = np.minimum(np.maximum.accumulate(np.maximum((1 + above) / (m + 1), single)), 1.0)
    ranked = []
    for pair, adjusted in zip(order, corrected.tolist(), strict=True):
        one = pairs[pair]
        a, b = pair if sign * one.value >= 0 else pair[::-1]
        p = 1.0 if one.pvalue == 1.0 else adjusted
        ranked.append(Pair(names[a], names[b], abs(one.value), one.error, p, one.pvalue))
    return tuple(ranked)


def _draws(covariance: FloatArray, pairs: list[tuple[int, int]], m: int, seed: Seed) -> FloatArray:
    """Draw |z| of all pairs at once, (m, P), where no two models differ."""
    variances, axes = np.linalg.eigh(covariance)
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    contrasts = np.array([root[a] - root[b] for a, b in pairs])
    size = np.linalg.norm(contrasts, axis=1, keepdims=True)
    contrasts = np.divide(contrasts, size, out=np.zeros(contrasts.shape), where=size > 0)
    normals = seed.stream(Use.BOOTSTRAP).standard_normal((m, len(covariance)))
    return np.asarray(np.abs(normals @ contrasts.T))


def _where(
    scored: Measured, key: str, names: tuple[str, str], alpha: float, seed: Seed, engine: Any
) -> tuple[Slice, ...]:
    """Search for slices in which the difference is another than over all rows."""
    sample, d, rows = scored.sample, scored.differences(key), scored.dependence
    assert sample is not None
    axes = axes_of(sample.x_columns, sample.x)
    if scored.n < LEAST_ROWS or not axes or not (d != d[0]).any():
        return ()
    centred = (d - d.mean())[:, None]
    signals = Signals((Signal("score", ""),), centred, None, None, first=1, unit=False)
    with single_threaded_blas():
        space = Space.of(axes, seed, 1, 1, scored.n, known=False)
        if not space.parts:
            return ()
        scan = Scan.of(space, signals, rows, N_SEARCH, seed, as_engine(engine))
        stand_out = scan.slices(alpha, MOST)
    units = np.asarray(rows.parcels(scored.n, scored.n).of(0, scored.n), dtype=np.int64)
    threshold, overall = scan.threshold(alpha), float(d.mean())
    numbers = np.arange(scored.n) if sample.kept is None else sample.kept
    slices = []
    for one, p in stand_out:
        inside = np.flatnonzero(space.inside(one.where))
        if one.everywhere:
            continue
        reach = max(threshold + one.penalty, REACH)
        finding = _finding(MEASURES[key], names, d[inside], units[inside], reach)
        weaker = finding.estimate * overall >= 0 and abs(finding.estimate) < abs(overall)
        if weaker or not finding.telling:  # less of the same, or perhaps nothing, is no news
            continue
        slices.append(scan.told(one, p, numbers[inside], (finding,)))
    return tuple(slices)


def _finding(
    measure: Measure, names: tuple[str, str], d: FloatArray, units: IntArray, reach: float
) -> Finding:
    """Say which model is better in some rows: the mean difference of exactly these.

    The interval is as wide as the search asks for, so that it holds for what was found.
    """
    one = Paired.of(d, Dependence(codes=np.unique(units, return_inverse=True)[1].ravel()))
    interval = one.interval(1.0 - 2.0 * float(ndtr(-reach)))
    better, worse = names if measure.sign * one.value >= 0 else names[::-1]
    sign = 1.0 if better == names[0] else -1.0
    score = Score(measure.key, measure.name, measure.better, (0.0, 0.0), one.value, interval, one.pvalue)
    words = f"{better} predicts better than {worse}, {score.words(sign)}, {len(d):,} rows"
    return Finding("score", "", one.value, interval, 0.0, words, f"{better} better")
