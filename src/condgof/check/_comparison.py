"""Which of several models predicts better, by proper scores, and where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from scipy.special import ndtr

from condgof._typing import TableLike
from condgof.check._axes import axes_of
from condgof.check._looked import Signal, Signals
from condgof.check._record import Finding, Slice
from condgof.check._scan import Scan, Space
from condgof.engine import single_threaded_blas
from condgof.errors import InputError, InputTypeError
from condgof.kernels import Gaussian, Kernel
from condgof.laws._scores import MEASURES, Measure
from condgof.methods._options import HowToRead, read_options, spelled_out
from condgof.methods._several import STEIN, Contrasts, Measured, measured
from condgof.null._bootstrap import check_n_boot
from condgof.null._paired import Difference
from condgof.result import GofResult, Record, Shown, check_alpha, plain, pvalue_words, sized
from condgof.sample import Seed, Use

#: Measures by their keys; the last is for models without a proper score.
NAMED = {**MEASURES, STEIN: Measure(STEIN, "Stein discrepancy", -1.0)}
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
    #: In how many rows each is infinite: what was observed had probability 0, or an
    #: interval no end.
    infinite: tuple[int, int] = (0, 0)

    @property
    def sign(self) -> float:
        """1 where the first model is better, −1 where the second is, 0 where they are equal."""
        sign = 0.0 if math.isnan(self.difference) else float(np.sign(self.difference))
        return sign if self.better == "higher" else 0.0 - sign

    def words(self, sign: float) -> str:
        """Say how much the first (sign 1), or the second model (−1), is higher or lower."""
        way = "lower" if sign * self.difference < 0 else "higher"
        sign = -sign if way == "lower" else sign
        amount, span = sized(
            sign * self.difference, *sorted(sign * end for end in self.interval)
        )
        worse = ", which is worse" if self.difference and way != self.better else ""
        row = "" if self.key == STEIN else " a row"
        return f"{self.name} {amount} {way}{row} ({span}){worse}"


def infinite_words(
    name: str, score: Measure | Score, count: int, n: int, observed: str
) -> str:
    """Say why a score of a model is infinite: what it gave no probability to."""
    if score.key != "log":
        return (
            f"an interval of {name} has no end in {count:,} of {n:,} rows: its {score.name}"
            " is ∞"
        )
    what, rows = (
        ("density", "rows")
        if observed == "rows"
        else ("probability", f"observed {observed}")
    )
    return f"{name} gave {what} 0 to {count:,} of {n:,} {rows}: its log score is −∞"


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
    >>> found = Comparison(-3.3, 0.001, "compare", 200, names=("line", "curve"), measures=(score,))
    >>> found.better, found.words
    ('line', 'line predicts better than curve: CRPS 0.20 lower a row (0.10 to 0.30), p = 0.001.')
    """

    #: What the models are called; the key of the measure that the verdict is by.
    names: tuple[str, str] = ("p", "q")
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
        sign = score.sign or 1.0
        better, worse = (p, q) if sign > 0 else (q, p)
        finite = [
            s for s in self.measures if s is not score and math.isfinite(s.difference)
        ]
        each = "; ".join(
            f"{s.words(sign)}, {pvalue_words(s.pvalue)}" for s in (score, *finite)
        )
        if not math.isfinite(score.difference):
            pass  # what is infinite says it
        elif score.difference == 0 and self.pvalue == 1.0:
            sentences.append(f"{p} and {q} {verb} alike: their {score.name} is the same.")
        elif self.reject(self.alpha):
            sentences.append(f"{better} {verb}s better than {worse}: {each}.")
        else:
            nothing = (
                f"No evidence at the {100 * self.alpha:g}% level, by {score.name}, that"
            )
            sentences.append(f"{nothing} {p} or {q} {verb}s better: of {better}, {each}.")
        return " ".join(sentences)

    def _infinite(self, score: Score) -> str:
        """Say of a measure that is infinite for a model why, and what follows."""
        both, seen = (
            [k for k in (0, 1) if score.infinite[k]],
            str(self.details.get("observed", "rows")),
        )
        each = (
            infinite_words(self.names[k], score, score.infinite[k], self.n, seen)
            for k in both
        )
        told = "; ".join(each)
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
        more = {
            "difference": self.difference,
            "interval": self.interval,
            "better": self.better,
        }
        return {**super().to_dict(), **plain(more), "words": self.words}

    def records(self) -> list[dict[str, Any]]:
        """Return one row a measure."""
        rows = []
        for s in self.measures:
            (low, high), means = s.interval, dict(zip(self.names, s.means, strict=True))
            amounts = {
                "difference": s.difference,
                "low": low,
                "high": high,
                "pvalue": s.pvalue,
            }
            rows.append({"measure": s.name, "better": s.better, **means, **amounts})
        return rows

    def __str__(self) -> str:
        lines = [
            f"comparison of {self.names[0]} and {self.names[1]}, n = {self.n:,}",
            f"  {self.words}",
        ]
        wide = max(len(name) for name in self.names)
        for s in self.measures:
            amount, span = sized(s.difference, *s.interval)
            lines.append(f"  {s.name} ({s.better} is better)")
            digits = max(4, len(amount.split(".")[-1]))
            for name, mean in zip(self.names, s.means, strict=True):
                lines.append(f"    {name:{wide}}  {mean:.{digits}f}")
            if math.isfinite(s.difference):
                lines.append(
                    f"    difference {amount} (95% interval {span}),"
                    f" {pvalue_words(s.pvalue)}"
                )
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
    #: Two-sided, corrected for all pairs; and of this pair by itself.
    pvalue: float
    single: float


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Compared, Record):
    """Several models in the order of a measure, from `rank`.

    Examples
    --------
    >>> found = Ranking(("a", "b"), (0.1, 0.4), (Pair("a", "b", 0.3, 0.1, 0.003, 0.003),), n=100)
    >>> found.best(), found.best(alpha=0.001)
    (('a',), ('a', 'b'))
    """

    #: The models, the best first, and their means of the measure; all pairs, the most
    #: significant first.
    names: tuple[str, ...]
    means: tuple[float, ...]
    pairs: tuple[Pair, ...]
    #: Number of rows; the key of the measure; means of the other measures, by name.
    n: int
    measure: str = "crps"
    others: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    alpha: float = 0.05
    seed: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the measure is called."""
        return NAMED[self.measure].name

    @property
    def better(self) -> str:
        """Which values of it are better, "higher" or "lower"."""
        return NAMED[self.measure].better

    def different(self, alpha: float | None = None) -> tuple[Pair, ...]:
        """Return the pairs that differ; all of these statements hold together with 1 − alpha."""
        level = check_alpha(self.alpha if alpha is None else alpha)
        return tuple(pair for pair in self.pairs if pair.pvalue <= level)

    def best(self, alpha: float | None = None) -> tuple[str, ...]:
        """Return the models that may be the best, which is one of them with probability 1 − alpha."""
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
        return (
            f"{listed} may be the best of {len(self.names)} models by {name};"
            f" {', '.join(out)} not."
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
        best, header = self.best(), ("model", self.name, *self.others, "may be the best")
        table = (
            self.names,
            self.means,
            *self.others.values(),
            [name in best for name in self.names],
        )
        return [dict(zip(header, row, strict=True)) for row in zip(*table, strict=True)]

    def __str__(self) -> str:
        best, wide = self.best(), max(5, *map(len, self.names))
        lost = {(pair.better, pair.worse) for pair in self.different()}
        title = f"{self.name} ({self.better} is better)"
        than = f"worse than ({100 * self.alpha:g}% level, all pairs together)"
        lines = [f"rank of {len(self.names)} models, n = {self.n:,}", f"  {self.words}"]
        lines.append(f"     {'model':{wide}}  {title:>28}  best?  {than}")
        for k, (name, mean) in enumerate(zip(self.names, self.means, strict=True), 1):
            better = ", ".join(other for other in self.names if (other, name) in lost)
            mark = "yes" if name in best else "no"
            lines.append(f"{k:3}  {name:{wide}}  {mean:28.5g}  {mark:5}  {better or '-'}")
        lines += [f"  note  {note}" for note in self.details.get("notes", ())]
        return "\n".join(lines)


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
    models, kernels = {p: model_p, q: model_q}, (kernel_x, kernel_y)
    found = measured(models, x, y, measure, kernels, options, seed)
    scores, studies = list[Score](), found.studies
    for key, study in studies.items():
        about, one, (first, second) = NAMED[key], study.pairs[0, 1], study.means.tolist()
        difference, (a, b) = (one.value, one.interval(), one.pvalue), study.infinite
        scores.append(
            Score(key, about.name, about.better, (first, second), *difference, (a, b))
        )
    chosen = next((s for s in scores if math.isfinite(s.difference)), scores[0])
    slices = _where(found, chosen, (p, q), alpha, seed, options.engine)
    return Comparison(
        studies[chosen.key].pairs[0, 1].z, chosen.pvalue, "compare", found.n, seed=seed.value,
        details=found.details, names=(p, q), measure=chosen.key, measures=tuple(scores), slices=slices,
        alpha=alpha,
    )  # fmt: skip


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
    draws, (options, seed) = check_n_boot(n_boot), read_options(rank, how)
    found = measured(models, x, y, measure, (kernel_x, kernel_y), options, seed)
    studies, observed = found.studies, found.details.get("observed", "rows")
    key = next(
        (k for k, study in studies.items() if not any(study.infinite)), next(iter(studies))
    )
    study, sign, left_out = studies[key], NAMED[key].sign, []
    others = {NAMED[k].name: one.means for k, one in studies.items() if k != key}
    for other, its in studies.items():
        instead = "" if other == key else f"; models are ranked by {NAMED[key].name}"
        for name, count in zip(names, its.infinite, strict=True):
            if count:
                told = infinite_words(name, NAMED[other], count, found.n, observed)
                left_out.append(told + instead)
    order = sorted(range(len(names)), key=lambda a: -sign * study.means[a])
    ranked = []
    for pair, p in _corrected(study, draws, seed).items():
        one, (a, b) = (
            study.pairs[pair],
            pair if sign * study.pairs[pair].value >= 0 else pair[::-1],
        )
        p = 1.0 if one.pvalue == 1.0 else p
        ranked.append(Pair(names[a], names[b], abs(one.value), one.error, p, one.pvalue))
    return Ranking(
        names=tuple(names[a] for a in order),
        means=tuple(study.means[order].tolist()),
        pairs=tuple(ranked),
        n=found.n, measure=key, alpha=alpha, seed=seed.value,
        details={**found.details, "notes": (*left_out, *found.details["notes"]), "n_boot": draws},
        others={name: tuple(means[order].tolist()) for name, means in others.items()},
    )  # fmt: skip


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


def _corrected(study: Contrasts, m: int, seed: Seed) -> dict[tuple[int, int], float]:
    """Return p-values by step-down max-T over m joint normal draws of all |z|; at least their own."""
    pairs = study.pairs
    order = sorted(pairs, key=lambda pair: pairs[pair].pvalue)
    variances, axes = np.linalg.eigh(study.covariance)
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    contrasts = np.array([root[a] - root[b] for a, b in order])
    size = np.linalg.norm(contrasts, axis=1, keepdims=True)
    contrasts = np.divide(contrasts, size, out=np.zeros(contrasts.shape), where=size > 0)
    draws = np.abs(seed.stream(Use.BOOTSTRAP).standard_normal((m, len(root))) @ contrasts.T)
    # The largest of the pairs that are still left, for each step.
    largest = np.maximum.accumulate(draws[:, ::-1], axis=1)[:, ::-1]
    above = (largest >= [abs(pairs[pair].z) for pair in order]).sum(axis=0)
    single = np.array([pairs[pair].pvalue for pair in order])
    corrected = np.minimum(
        np.maximum.accumulate(np.maximum((1 + above) / (m + 1), single)), 1.0
    )
    return dict(zip(order, corrected.tolist(), strict=True))


def _where(
    found: Measured,
    whole: Score,
    names: tuple[str, str],
    alpha: float,
    seed: Seed,
    engine: Any,
) -> tuple[Slice, ...]:
    """Search for slices in which the difference is another than over all rows."""
    sample, rows, slices = found.sample, found.dependence, list[Slice]()
    if sample is None or whole.key == STEIN or not math.isfinite(whole.difference):
        return ()
    d = found.differences(whole.key)
    signals = Signals((Signal("score", ""),), (d - d.mean())[:, None], None, None, first=1)
    space = Space.of(axes_of(sample.x_columns, sample.x), signals, seed)
    if found.n < LEAST_ROWS or space is None or not (d != d[0]).any():
        return ()
    with single_threaded_blas():
        scan = Scan.of(space, signals, rows, N_SEARCH, seed, engine)
        stand_out = scan.slices(alpha, MOST)
    units, numbers = found.units, np.arange(found.n) if sample.kept is None else sample.kept
    for one, pvalue in stand_out:
        if one.everywhere:
            continue
        inside = np.flatnonzero(space.inside(one.where))
        here = Difference.by_units(d[inside], units[inside])
        # As wide as the search asks for, so that it holds for what was found.
        reach = max(scan.threshold(alpha) + one.penalty, REACH)
        interval = here.interval(1.0 - 2.0 * float(ndtr(-reach)))
        score = replace(whole, difference=here.value, interval=interval)
        better, worse = names if score.sign >= 0 else names[::-1]
        told = f"{score.words(score.sign or 1.0)}, {len(inside):,} rows"
        words = f"{better} predicts better than {worse}, {told}"
        finding = Finding("score", "", here.value, interval, 0.0, words, f"{better} better")
        weaker = here.value * whole.difference >= 0 and abs(here.value) < abs(
            whole.difference
        )
        if (
            finding.telling and not weaker
        ):  # less of the same, or perhaps nothing, is no news
            slices.append(scan.told(one, pvalue, numbers[inside], (finding,), ()))
    return tuple(slices)
