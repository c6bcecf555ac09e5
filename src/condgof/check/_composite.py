"""A check of a family of models that is fitted on these very rows: every null is drawn with refits."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.check._check import report_of
from condgof.check._findings import LARGEST, REACH, Reader, between
from condgof.check._looked import Looked, Signals, look, moments_of, said_of, signals_of
from condgof.check._record import Check, Finding, Power
from condgof.check._scan import Scan, Space, best_of, compared, variances_of
from condgof.check._size import POWER, SD, UNKNOWN, Bench
from condgof.engine import Threads, single_threaded_blas
from condgof.errors import InputError, UnsupportedModelError, check_finite
from condgof.laws._as_model import as_model, law_of
from condgof.laws._crossfit import Fitter
from condgof.laws._discrete import Probabilities
from condgof.laws._law import Law, ModelLike
from condgof.methods import _composite as bootstrap
from condgof.methods._composite import NULL, AllOfAdaptive, Asked
from condgof.methods._sources import refuse_source
from condgof.null._bootstrap import check_n_boot
from condgof.null._dependence import Dependence
from condgof.result import GofResult, check_alpha
from condgof.sample import RngLike, Sample, Seed, Use, fresh, held, take_rows

#: A fit with more effective parameters than this share of the rows follows the noise; refits that take
#: more seconds than this, one after the other, are slow.
FLEXIBLE, SLOW = 0.25, 60.0
#: A number that varies less than this share of its standard error over refits is set by the fit.
SET = 0.05
#: The tail on either side that refits tell of each of six numbers, which hold together 95% of the time.
TAIL = 0.05 / 12.0
BETTER = "`cg.check(cg.crossfit(fit, x, y), x, y)`, where every row meets a fit that has not seen it,"
OF_FITTED = (
    "numbers are of rows that the model was fitted on: they tell what its family misses, and the error "
    "of its estimates is not in them"
)
NO_POWER = f"{UNKNOWN}: a shift or a spread that is the same at every x is fitted away."


def composite(
    fit: Any,
    x: Any,
    y: Any,
    *,
    statistic: Any = "check",
    alpha: float = 0.05,
    n_boot: int = 199,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    workers: str | None = None,
    progress: bootstrap.Progress | bool | None = None,
    **options: Any,
) -> Check | GofResult:
    """Check a family of models whose parameters are estimated on this very sample.

    H0: the true conditional density is *some* member of the family that `fit` chooses from. A fitted
    model follows the noise of its own sample, so that tests of a fixed model reject far too seldom. Here
    the null comes from a parametric bootstrap with refitting. With p̂ = fit(x, y) and T its statistic,

        y*_b ~ p̂(· | x),   p̂*_b = fit(x, y*_b),   T*_b = T(p̂*_b, x, y*_b),   b = 1, …, n_boot,
        p-value = (1 + #{T*_b ≥ T}) / (n_boot + 1).

    By default the answer is a `Check`. T is the combination of `adaptive` (which does not look at
    predictions here) and of the search for slices, each with a null from refits, and the same function
    of the data in all replicates. Refits give the intervals of the numbers of all rows; those of a slice
    are those of `check`, rather too wide here, because a fit takes a part of the noise away.

    Do not use it when the model was fitted on other data (use `check`), when rows are dependent, or when
    `fit` is so flexible that it follows the noise. Then, and where fits take long, use
    ``cg.check(cg.crossfit(fit, x, y), x, y)``. A note says so where the refits take more than a minute,
    or the effective number of parameters is above n/4: the mean over refits of
    Σ_i (m*_i − m_i)(y*_i − m_i)/v_i, with m and v the mean and variance of y under p̂, m* that of p̂*.

    Parameters
    ----------
    fit : callable
        (x, y) → the fitted model, a new object each time, that `as_model` takes and that can be sampled.
        It gets x and y in the containers that you passed; a parameter named rng gets a
        `numpy.random.Generator`. `condgof.fits` has ``ols()``, ``heteroscedastic()``, ``glm(family)``,
        ``sklearn(estimator)``.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample.
    statistic : {"check", "adaptive", "kcsd", "fscd", "mmd", "zheng"} or callable
        "check" for the whole answer; else which statistic alone, or your own: (model, x, y) → a number
        (larger means a worse fit) or a result.
    alpha : float
        The level of the check.
    n_boot : int
        Number of refits. 199 serve for a test at 0.05; take 999 for 0.01.
    missing, engine
        As in `kcsd`; workers may also be a Dask cluster.
    rng : int, numpy.random.Generator or None
        The same rng gives the same result on any number of workers, if `fit` itself is deterministic or
        takes its random numbers from an rng.
    workers : {None, "processes", "threads"}
        What the workers on this machine are. None: processes where that pays and `fit` can be sent to
        them, and this very process otherwise.
    progress : callable or bool, optional
        Called with the number of refits done and of all; None or True show a bar on a terminal (where
        tqdm is installed), False shows nothing.
    **options
        Options of the statistic, such as ``standardize=`` of `kcsd`; of "check" those of `adaptive`.

    Returns
    -------
    Check, or with another statistic GofResult
        In ``details`` of the result: ``fitted`` (the model in words), ``failures`` and
        ``first_failure`` (refits that failed are left out; more than a tenth are an error),
        ``seconds_per_refit``, ``seconds_per_replicate``, ``workers``, ``effective_parameters``.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 200)
    >>> y = x + 0.5 * x**2 + rng.standard_normal(200)
    >>> report = cg.composite(cg.fits.ols(), x, y, n_boot=99, rng=1)
    >>> report.reject(), report.slices[0].kind
    (True, 'shift')
    >>> cg.composite(cg.fits.ols(), np.column_stack([x, x**2]), y, n_boot=99, rng=1).reject()
    False
    """
    refuse_source("composite", x, y)
    n_boot, fitter, alpha = check_n_boot(n_boot), Fitter.of(fit), check_alpha(alpha)
    whole = isinstance(statistic, str) and statistic == "check"
    name = bootstrap.name_of("adaptive" if whole else statistic, options)
    if workers not in (None, "processes", "threads"):
        raise InputError(f"workers must be None, 'processes' or 'threads', got {workers!r}.")
    seed, sample = Seed.of(rng), Sample.of(x, y, missing=missing)
    x, y = held(x), held(y)
    if sample.kept is not None:
        x, y = take_rows(x, sample.kept), take_rows(y, sample.kept)
    # One BLAS thread, as in the workers: the observed statistic is the same function as theirs.
    with single_threaded_blas():
        start = time.perf_counter()
        raw = fitter(fresh(x), fresh(y), seed.stream(Use.REPLICATE, 0, 1))
        shown, model = bootstrap.described(raw), as_model(raw)
        law = law_of(model, sample)
        if not law.can("sample"):
            raise UnsupportedModelError(
                f"composite draws new responses from the model that fit returns, and {law.name} has no "
                f"sampler. {bootstrap.SAMPLERS}"
            )
        ready: AllOfAdaptive | AllOfCheck | bootstrap.Called
        if name == "adaptive":
            asked = bootstrap.asked_of(name, options), sample, model, law, seed
            ready = AllOfCheck.of(*asked) if whole else AllOfAdaptive.of(*asked)
        else:
            given = options if name is None else {**options, "missing": missing}
            ready = bootstrap.Called.of(name, statistic, given, sample, model, seed)
        observed = ready.values(model, sample.y_given)
        check_finite(observed[None], "The statistic of the sample", "Check the model that fit returns.")
        task = bootstrap.Replicates(fitter, x, y, sample, law, ready.values, seed)
        outcomes, where = bootstrap.run(task, n_boot, engine, workers, progress)
        draws = np.column_stack([o.values for o in outcomes if o.values is not None])
        result = ready.result(observed, draws, seed)
        told, notes = bootstrap.told_of(outcomes), result.details.get("notes", ())
        notes = (*(r for r in sample.remarks if r not in notes), *notes, *told.pop("notes"))
        details = {"fitted": shown, **told, "seconds": time.perf_counter() - start, "workers": where}
        details = {**result.details, **details, **({"notes": notes} if notes else {})}
        method = f"composite({ready.name})"
        result = replace(result, method=method, null=NULL, seed=seed.value, details=details)
        return ready.report(result, draws, alpha) if isinstance(ready, AllOfCheck) else result


@dataclass(frozen=True, eq=False)
class AllOfCheck:
    """What a check does with the data, as numbers: the same function of the sample and of replicates."""

    adaptive: AllOfAdaptive
    #: The rows and their law, of the observed sample.
    looked: Looked
    law: Law
    signals: Signals
    space: Space | None
    #: What is said of all rows.
    overall: tuple[Finding, ...]
    seed: Seed
    name: str = "check"

    @classmethod
    def of(cls, asked: Asked, sample: Sample, model: ModelLike, law: Law, seed: Seed) -> AllOfCheck:
        adaptive = AllOfAdaptive.of(asked, sample, model, law, seed)
        looked, law, rows = look(law, adaptive.first, seed, Threads(1))
        signals = signals_of(looked, law, rows, seed)
        overall, space = Reader(looked, REACH).findings(), Space.of(looked.axes, signals, seed)
        return cls(adaptive, looked, law, replace(signals, redraw=None), space, overall, seed)

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Return statistics, the largest slice, numbers of all rows, and how far y is followed."""
        scored, law = self.adaptive.scored(model, y)
        said = said_of(law, scored, self.looked.kind)
        looked = replace(self.looked, y=scored.sample.y, **said)
        scan = self._scan(signals_of(looked, law, scored, self.seed), np.empty(0))
        largest = [] if scan is None else [scan.best.value]
        # How far each number of all rows is from what the model says, 0 where there is none.
        away = {f.about: f.estimate - f.expected for f in Reader(looked, REACH).findings()}
        apart = [away.get(f.about, 0.0) for f in self.overall]
        # Σ (m* − m)(y* − m)/v: its mean over refits is the effective number of parameters.
        first, refit, followed, observed = moments(self.law), moments(law), 0.0, scored.sample.y
        if first is not None and refit is not None:
            mean, variance = first
            if isinstance(law, Probabilities) and scored.outcomes is not None:
                observed = np.eye(mean.shape[1])[scored.outcomes.observed]
            followed = float(((refit[0] - mean) * (observed - mean) / variance).sum())
        values = [*self.adaptive.of_scored(scored), *largest, *apart, followed]
        return np.array(values, dtype=np.float64)

    def _parts(self, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Divide values (K, ...) as `values` puts them together."""
        apart = len(self.overall)
        first = len(values) - 1 - apart - (self.space is not None)
        return values[:first], values[first : -1 - apart], values[-1 - apart : -1], values[-1]

    def _scan(self, signals: Signals, draws: FloatArray, seconds: float = 0.0) -> Scan | None:
        """Return the search, with the largest slice of each refit for its null."""
        if self.space is None:
            return None
        some = signals.take(self.space.searched)
        variances = variances_of(self.space, some)
        best = best_of(self.space, compared(self.space, some.values, variances, some.skewness))
        return Scan(self.space, some, variances, draws.ravel(), NULL, best, seconds)

    def result(self, values: FloatArray, draws: FloatArray, seed: Seed) -> GofResult:
        statistics, largest, _, _ = self._parts(draws)
        scan = self._scan(self.signals, largest)
        beside = None if scan is None else scan.beside
        return self.adaptive.result(self._parts(values)[0], statistics, seed, beside)

    def report(self, result: GofResult, draws: FloatArray, alpha: float) -> Check:
        _, largest, apart, followed = self._parts(draws)
        looked, about = self.looked, result.details
        scan = self._scan(self.signals, largest, about["seconds"])
        first, design = self.adaptive.first, self.adaptive.design
        bench = Bench.of(self.law, first, design, Dependence(), self.seed, Threads(1))
        overall = refitted(self.overall, apart, looked.draws)
        power = Power(None, None, POWER, alpha, NO_POWER)
        reader, effect = Reader(looked, REACH), bench.size.effect(result.pvalue <= alpha)
        report = report_of(result, alpha, reader, overall, scan, bench, effect, power)
        words = report.words
        if not report.rejected and result.null_distribution is not None:
            m, worse = draws.shape[1], int((result.null_distribution >= result.statistic).sum())
            words = (
                f"Nothing speaks against the family: of {m:,} samples that were drawn from the fitted "
                f"model and fitted again, {worse:,} look at least as wrong."
            )
        effective = float(followed.mean()) if moments(self.law) is not None else None
        notes = (*report.notes, OF_FITTED, *better(effective, looked.n, about))
        details = {**about, **report.details, "effective_parameters": effective, "notes": notes}
        return replace(report, words=words, details=details)


def moments(law: Law) -> tuple[FloatArray, FloatArray] | None:
    """Return mean and variance of y, (n, d_y) each; of classes of what makes Σ a Pearson statistic."""
    if isinstance(law, Probabilities):
        p = np.asarray(law.values, dtype=np.float64)
        return p, np.maximum(p, 1e-12)
    mean_std = moments_of(law, "mean_std")
    if mean_std is None or not (mean_std[1] > 0).all():
        return None
    return mean_std[0], np.square(mean_std[1])


def refitted(overall: Sequence[Finding], apart: FloatArray, ranked: int = 0) -> tuple[Finding, ...]:
    """Give findings the intervals that refits tell: estimate − `apart` of their own models, (K, m).

    A fit makes some numbers what they are (the share of a class); then there is no interval.
    """
    told = []
    for one, by_chance in zip(overall, apart, strict=True):
        if one.kind == "wild" or one.label == LARGEST:  # steps of counts: what the model says is a bound
            told.append(one)
            continue
        mean, sd = float(by_chance.mean()), float(by_chance.std(ddof=min(1, len(by_chance) - 1)))
        made_so = REACH * sd <= SET * (one.interval[1] - one.interval[0]) / 2.0
        if made_so:
            ends = min(one.estimate, one.expected), max(one.estimate, one.expected)
        else:
            low, high = (float(q) for q in np.quantile(by_chance, [TAIL, 1.0 - TAIL]))
            low, high = min(low, mean - REACH * sd), max(high, mean + REACH * sd)
            ends = one.estimate - high, one.estimate - low
            if one.kind in ("coverage", "tails", "confidence", "class", "zeros", "quantile", "spread"):
                ends = max(ends[0], 0.0), ends[1] if one.kind == "spread" else min(ends[1], 1.0)
        words = one.words
        side = next((side for side in ("above", "below") if f"{SD} {side} " in words), "")
        for sign in (1.0, -1.0):  # the interval in words, or with both signs turned
            old, new = (sorted((sign * a, sign * b)) for a, b in (one.interval, ends))
            written = between((old[0], old[1]), ranked, side)
            if written in words:
                instead = "(the fit makes it so)" if made_so else between((new[0], new[1]), ranked, side)
                words = words.replace(written, instead)
                break
        told.append(replace(one, interval=ends, words=words))
    return tuple(told)


def better(effective: float | None, n: int, details: Mapping[str, Any]) -> tuple[str, ...]:
    """Say when out-of-fold laws are the better question."""
    if effective is not None and effective > FLEXIBLE * n:
        return (
            f"the fit follows the noise: refits say that it has about {effective:,.0f} effective "
            f"parameters for {n:,} rows. {BETTER} is the better question",
        )
    seconds, refits = details["seconds_per_refit"], details["refits"]
    if seconds * refits > SLOW:
        return (
            f"{refits:,} refits took {seconds:.2g} seconds each. {BETTER} takes 5 fits, and is the "
            "better question where the model will be used as it is fitted",
        )
    return ()
