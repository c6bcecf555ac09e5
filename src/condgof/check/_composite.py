"""A check of a family of models that is fitted on these very rows: every null is drawn with refits.

For each replicate y is drawn from the fitted model, the model is fitted again, and all that a check does
is done with it: the statistics of `adaptive`, the search for slices, the numbers of all rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.check._bench import Bench
from condgof.check._check import beside_of, notes_of, searched_of, slices_of, space_of, versions
from condgof.check._findings import Reader, between
from condgof.check._looked import Looked, again, look
from condgof.check._overall import LARGEST, REACH, overall_of
from condgof.check._power import POWER, UNKNOWN
from condgof.check._record import Check, Finding, Power, check_alpha
from condgof.check._scan import Found, Scan, Space, best_of, variances_of
from condgof.check._signals import Signals, signals_of
from condgof.check._size import size_of
from condgof.check._words import message
from condgof.engine import Threads, single_threaded_blas
from condgof.errors import CondgofError, InputError, UnsupportedModelError, check_finite
from condgof.laws import Fitter, Law, ModelLike, Probabilities, as_model, law_of
from condgof.methods import Scored
from condgof.methods._composite import (
    NULL,
    SAMPLERS,
    AllOfAdaptive,
    Asked,
    Called,
    Progress,
    Replicates,
    asked_of,
    described,
    name_of,
    run,
    told_of,
)
from condgof.methods._dependence import INDEPENDENT
from condgof.methods._rows import refuse_source
from condgof.null import check_n_boot
from condgof.result import GofResult
from condgof.sample import RngLike, Sample, Seed, Use, fresh, held, take_rows

#: A fit with more effective parameters than this share of the rows follows the noise.
FLEXIBLE = 0.25
#: Refits that take more seconds than this, one after the other, are slow.
SLOW = 60.0
#: A number that varies less than this share of its standard error over refits is set by the fit.
SET = 0.05
BETTER = (
    "`cg.check(cg.crossfit(fit, x, y), x, y)`, which holds every row against a fit that has not seen it,"
)
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
    progress: Progress | bool | None = None,
    **options: Any,
) -> Check | GofResult:
    """Check a family of models whose parameters are estimated on this very sample.

    H0: the true conditional density is *some* member p_θ(y|x) of the family that `fit` chooses from.
    The tests of a fixed model are wrong here: the fitted model follows the noise of its own sample, so
    that they reject a true family far too seldom, and miss misfit. Here the null distribution comes from
    a parametric bootstrap with refitting. With p̂ = fit(x, y) and T its statistic,

        y*_b ~ p̂(· | x),   p̂*_b = fit(x, y*_b),   T*_b = T(p̂*_b, x, y*_b),   b = 1, …, n_boot,
        p-value = (1 + #{T*_b ≥ T}) / (n_boot + 1).

    By default the answer is a `Check`: with T the combination of `adaptive` and of the search for
    slices, and with a null from refits for each of them. A slice is named where the largest of all
    slices of y* under p̂* is seldom as large; intervals of the numbers of all rows are those that refits
    tell; what is taken off for one slice and searched again is compared with the same refits. Intervals
    of a slice are those of `check`, which are rather too wide here: a fit takes a part of the noise
    away.

    T is one and the same function of the data in all of them: x stays, and with it the functions of x; a
    median distance on y is taken anew from each y; whatever is random inside of T (a split, locations)
    is drawn once. No draws are made inside of T. The statistics that `adaptive` combines are measured,
    in place of its own draws, by their values over all replicates; predictions, which change with each
    refit, are not among its columns here. Slices may be of what the first fit predicts: given its
    estimates, that is a function of x.

    Do not use it when the model was fitted on other data (`adaptive` tests it as it is, without any
    refit), when rows are dependent, or when `fit` is so flexible that it follows the noise: a bootstrap
    from an overfitted model says little. Then, and where fits take long, ``cg.check(cg.crossfit(fit, x,
    y), x, y)`` is the better question, and a note says so: where Σ_i (m*_i − m_i)(y*_i − m_i)/v_i, whose
    mean over refits is the effective number of parameters (m and v: mean and variance of y under p̂, m*
    the mean under p̂*), is above n/4, or the refits take more than a minute.

    Parameters
    ----------
    fit : callable
        (x, y) → the fitted model, anything that `as_model` takes and that can be sampled. It gets x as
        you passed it, and y in the same container. Parameters named x and y are passed by name; one
        named rng gets a `numpy.random.Generator`. It must return a new object each time.
        `condgof.fits` has some: ``ols()``, ``heteroscedastic()``, ``glm(family)``,
        ``sklearn(estimator)``.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample.
    statistic : {"check", "adaptive", "kcsd", "fscd", "mmd", "zheng"} or callable
        "check" for the whole answer; else which statistic alone, or your own: (model, x, y) → a number
        (larger means a worse fit) or a result.
    alpha : float
        The level of the check: of its verdict and its slices.
    n_boot : int
        Number of refits. 199 serve for a test at 0.05; take 999 for 0.01.
    missing : {"refuse", "drop", "level"}
        What to do about missing values, as in `kcsd`.
    rng : int, numpy.random.Generator or None
        Where randomness comes from. The same rng gives the same result on any number of workers, if
        `fit` itself is deterministic or takes its random numbers from an rng.
    engine : None, int or dask.distributed.Client
        All cores of this machine, a number of workers, or a Dask cluster.
    workers : {None, "processes", "threads"}
        What the workers on this machine are. None: processes where there is enough to do for them and
        `fit` can be sent to them, and this very process otherwise.
    progress : callable or bool, optional
        Called with the number of refits done and of all; None or True show a bar on a terminal (where
        tqdm is installed), False shows nothing.
    **options
        Options of the statistic, such as ``standardize=`` of `kcsd`; of "check" those of `adaptive`.
        Those that say how `adaptive`
        makes its draws (``solver=``, ``precision=``, ``memory=``) make no difference.

    Returns
    -------
    Check, or with another statistic GofResult
        The result is named after the statistic, such as ``"composite(kcsd)"``. Its ``details`` (of a
        check, ``report.result.details``): ``fitted`` (the fitted model in words), ``failures`` and
        ``first_failure`` (refits that failed are left out, so that the test is one given that the fit
        works; more than a tenth of them are an error), ``seconds_per_refit``,
        ``seconds_per_replicate``, ``workers``, and what the statistic says of itself.
        ``report.details`` also has ``effective_parameters``.

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
    name = name_of("adaptive" if whole else statistic, options)
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
        shown, model = described(raw), as_model(raw)
        law = law_of(model, sample)
        if not law.can("sample"):
            raise UnsupportedModelError(
                f"composite draws new responses from the model that fit returns, and {law.name} has no "
                f"sampler. {SAMPLERS}"
            )
        ready: AllOfAdaptive | AllOfCheck | Called
        if whole:
            ready = AllOfCheck.of(asked_of("adaptive", options), sample, model, law, seed)
        elif name == "adaptive":
            ready = AllOfAdaptive.of(asked_of(name, options), sample, model, law, seed)
        else:
            given = options if name is None else {**options, "missing": missing}
            ready = Called.of(name, statistic, given, sample, model, seed)
        observed = ready.values(model, sample.y_given)
        check_finite(observed[None], "The statistic of the sample", "Check the model that fit returns.")
        task = Replicates(fitter, x, y, sample, law, ready.values, seed)
        outcomes, where = run(task, n_boot, engine, workers, progress)
        draws = np.column_stack([o.values for o in outcomes if o.values is not None])
        found = ready.result(observed, draws, seed)
        told, said = told_of(outcomes), found.details.get("notes", ())
        notes = (*(r for r in sample.remarks if r not in said), *said, *told.pop("notes"))
        details = {"fitted": shown, **told, "seconds": time.perf_counter() - start, "workers": where}
        details = {**found.details, **details, **({"notes": notes} if notes else {})}
        found = replace(
            found, method=f"composite({ready.name})", null=NULL, seed=seed.value, details=details
        )
        return ready.report(found, observed, draws, alpha) if isinstance(ready, AllOfCheck) else found


@dataclass(frozen=True, eq=False)
class AllOfCheck:
    """What a check does with the data, as numbers: the same function of the sample and of replicates.

    Slices are those of x and of what the model predicts that was fitted first, for all of them.
    """

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
        """Make ready what belongs to x."""
        adaptive = AllOfAdaptive.of(asked, sample, model, law, seed)
        looked, law, rows = look(law, adaptive.first, seed, Threads(1))
        signals = signals_of(looked, law, rows, seed)
        overall, space = overall_of(Reader(looked, REACH)), space_of(looked, signals, seed)
        return cls(adaptive, looked, law, replace(signals, redraw=None), space, overall, seed)

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Return statistics, the largest slice, numbers of all rows, and how far y is followed."""
        scored, law = self.adaptive.scored(model, y)
        looked = again(self.looked, law, scored)
        found = self._search(signals_of(looked, law, scored, self.seed))
        largest = [] if found is None else [found[-1].value]
        followed = self._followed(law, scored)
        return np.array(
            [*self.adaptive.of_scored(scored), *largest, *self._apart(looked), followed],
            dtype=np.float64,
        )

    def _search(self, signals: Signals) -> tuple[Signals, tuple[FloatArray, ...], Found] | None:
        """Return the signals that are searched, variances over slices, and the largest slice."""
        if self.space is None:
            return None
        some = signals if self.space.searched is None else signals.take(self.space.searched)
        own = variances_of(self.space, some)
        return some, own, best_of(self.space, some.values, own, some.skewness)

    def _apart(self, looked: Looked) -> FloatArray:
        """Return how far each number of all rows is from what the model says, 0 where there is none."""
        found = {_key(f): f.estimate - f.expected for f in overall_of(Reader(looked, REACH))}
        return np.array([found.get(_key(f), 0.0) for f in self.overall if f.kind != "wild"])

    def _followed(self, law: Law, rows: Scored) -> float:
        """Return Σ (m* − m)(y* − m)/v: its mean over refits is the effective number of parameters."""
        first, refit = moments(self.law), moments(law)
        if first is None or refit is None:
            return 0.0
        (mean, variance), y = first, rows.sample.y
        if isinstance(law, Probabilities) and rows.outcomes is not None:
            y = np.eye(mean.shape[1])[rows.outcomes.observed]
        return float(((refit[0] - mean) * (y - mean) / variance).sum())

    def _parts(self, values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Divide values (K, ...) as `values` puts them together."""
        apart = sum(f.kind != "wild" for f in self.overall)
        first = len(values) - 1 - apart - (self.space is not None)
        return values[:first], values[first : -1 - apart], values[-1 - apart : -1], values[-1]

    def _scan(self, draws: FloatArray) -> Scan | None:
        """Return the search with the refits for its null."""
        found = self._search(self.signals)
        if self.space is None or found is None:
            return None
        some, own, best = found
        return Scan(self.space, some, own, np.array(self._parts(draws)[1][0]), NULL, best)

    def result(self, values: FloatArray, draws: FloatArray, seed: Seed) -> GofResult:
        """Return the verdict."""
        beside = beside_of(self._scan(draws))
        return self.adaptive.result(self._parts(values)[0], self._parts(draws)[0], seed, beside)

    def report(self, result: GofResult, values: FloatArray, draws: FloatArray, alpha: float) -> Check:
        """Say everything as a check does."""
        rejected, scan, looked = result.pvalue <= alpha, self._scan(draws), self.looked
        first, design = self.adaptive.first, self.adaptive.design
        bench = Bench.of(self.law, first, design, INDEPENDENT, self.seed, Threads(1))
        overall = refitted(self.overall, self._parts(draws)[2], looked.draws)
        power = Power(None, None, POWER, alpha, NO_POWER)
        found, everywhere = (
            slices_of(looked, self.signals, scan, None, alpha) if rejected and scan else ((), None)
        )
        words = message(rejected, overall, found, everywhere, power)
        if not rejected and result.null_distribution is not None:
            m, worse = draws.shape[1], int((result.null_distribution >= result.statistic).sum())
            words = (
                f"Nothing speaks against the family: of {m:,} samples that were drawn from the fitted "
                f"model and fitted again, {worse:,} look at least as wrong."
            )
        effective = float(self._parts(draws)[3].mean()) if moments(self.law) is not None else None
        notes = (*result.details.get("notes", ()), *bench.notes, *notes_of(looked, scan, INDEPENDENT))
        notes += (OF_FITTED, *better(effective, looked.n, result.details))
        return Check(
            result=result,
            words=words,
            overall=overall,
            slices=found,
            groups=(),
            effect=size_of(bench, rejected),
            power=power,
            tolerance=None,
            alpha=alpha,
            looked=looked,
            details={
                **result.details,
                "effective_parameters": effective,
                "searched": searched_of(scan, result.details["seconds"]),
                "versions": versions(),
                "notes": notes,
            },
        )


def moments(law: Law) -> tuple[FloatArray, FloatArray] | None:
    """Return mean and variance of y, (n, d_y) each; of classes of what makes Σ a Pearson statistic."""
    if isinstance(law, Probabilities):
        p = np.asarray(law.values, dtype=np.float64)
        return p, np.maximum(p, 1e-12)
    if not law.can("mean_std"):
        return None
    try:
        mean, std = (np.asarray(part, dtype=np.float64) for part in law.mean_std())
    except CondgofError:
        return None
    fine = np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()
    return (mean, np.square(std)) if fine and std.shape == mean.shape else None


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.kind, finding.column, finding.label


def refitted(overall: Sequence[Finding], apart: FloatArray, ranked: int = 0) -> tuple[Finding, ...]:
    """Give findings of all rows the intervals that refits tell: (estimate − what is by chance).

    `apart` (findings, m) is how far refits are from what their own models say. A fit makes some numbers
    what they are (the mean probability of a class, its share); then there is no interval.
    """
    told, at = [], 0
    for one in overall:
        if one.kind == "wild":
            told.append(one)
            continue
        by_chance, at = apart[at], at + 1
        if one.label == LARGEST:  # steps of counts: what the model says is a bound
            told.append(one)
            continue
        mean, half = (
            float(by_chance.mean()),
            REACH * float(by_chance.std(ddof=min(1, apart.shape[1] - 1))),
        )
        plain = (one.interval[1] - one.interval[0]) / 2.0
        if half <= SET * plain:
            ends = tuple(sorted((one.estimate, one.expected)))
            told.append(_with(one, (ends[0], ends[1]), "(the fit makes it so)", ranked))
            continue
        tail = 0.05 / 12.0
        low, high = np.quantile(by_chance, [tail, 1.0 - tail])
        ends = one.estimate - max(high, mean + half), one.estimate - min(low, mean - half)
        if one.kind in ("coverage", "tails", "confidence", "class", "zeros", "quantile", "spread"):
            ends = max(ends[0], 0.0), ends[1] if one.kind == "spread" else min(ends[1], 1.0)
        told.append(_with(one, (float(ends[0]), float(ends[1])), "", ranked))
    return tuple(told)


def _with(one: Finding, ends: tuple[float, float], instead: str, ranked: int) -> Finding:
    """Return a finding with another interval, or words in its place."""
    words = one.words
    for sign in (1.0, -1.0):
        old, new = (tuple(sorted((sign * a, sign * b))) for a, b in (one.interval, ends))
        if (written := between((old[0], old[1]), ranked)) in words:
            words = words.replace(written, instead or between((new[0], new[1]), ranked))
            break
    return replace(one, interval=ends, words=words)


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
