"""A family of models that is fitted on these very rows: every null is drawn with refits.

`composite` is a parametric bootstrap. A statistic has `values`, a function (model, y) →
numbers (K,) of the sample and of each replicate, and `result`, which makes a result of the
observed ones and the others.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from condgof import engine as engines
from condgof import errors
from condgof._typing import AnyArray, FloatArray, TableLike
from condgof.check._check import report_of
from condgof.check._findings import LARGEST, REACH, Reader, between
from condgof.check._looked import Looked, Signals, look, moments_of, said_of, signals_of
from condgof.check._record import Check, Finding, Power
from condgof.check._scan import Scan, Space, best_of, compared, variances_of
from condgof.check._size import POWER, SD, UNKNOWN, Bench
from condgof.errors import (
    InputError,
    InputTypeError,
    RefitError,
    UnsupportedModelError,
    check_finite,
)
from condgof.laws._as_model import as_model, drawn, law_of
from condgof.laws._crossfit import as_fit
from condgof.laws._discrete import Probabilities
from condgof.laws._functions import signature_of
from condgof.laws._law import Law, ModelLike
from condgof.methods import adaptive, fscd, kcsd, mmd, zheng
from condgof.methods._adaptive import Beside, Design, combined, make_design
from condgof.methods._lowrank import Ran
from condgof.methods._options import Options, needs_memory
from condgof.methods._scored import Scored, Units
from condgof.null._bootstrap import check_n_boot, pvalue
from condgof.null._dependence import Dependence
from condgof.null._draws import Drawn, excess, settle, top_surprises
from condgof.result import GofResult, check_alpha
from condgof.sample import RngLike, Sample, Seed, Use, fresh, take_rows
from condgof.sample._values import held, refill
from condgof.stein._evidence import NormalEvidence
from condgof.stein._sum import PIECE

Asked = Mapping[str, Any]
#: Called with (replicates that are done, replicates).
Progress: TypeAlias = Callable[[int, int], None]
Workers: TypeAlias = engines.Threads | engines.Processes | engines.Cluster

#: Less work than this is done where we are; one failed refit is not fatal, more than this
#: share are.
WORTH_SECONDS, MOST_FAILURES = 3.0, 0.1
NOT_FRESH = (
    "Two draws of one replicate from the fitted model differ. Either fit works on one"
    " object and returns it again and again, so that a refit changed the fitted model"
    " (return a new one: for scikit-learn condgof.fits.sklearn(estimator), or"
    " sklearn.base.clone(estimator).fit(x, y)), or the model's sampler does not draw from"
    " the rng that it is given."
)
TESTS = {test.__name__: test for test in (kcsd, adaptive, fscd, mmd, zheng)}
#: What `composite` decides itself, and what is of no use where the rows of a replicate are
#: independent.
OWN = ("rng", "engine", "n_boot", "null", "dependence", "groups", "missing")
#: Bytes that each worker may spend on keeping the functions of x.
KEPT = 2**26
NULL = "parametric bootstrap"
#: Characters of a fitted model that a result keeps.
SHOWN = 160
#: A fit with more effective parameters than this share of the rows follows the noise;
#: refits that take more seconds than this, one after the other, are slow.
FLEXIBLE, SLOW = 0.25, 60.0
#: A number that varies less than this share of its standard error over refits is set by the
#: fit.
SET = 0.05
#: The tail on either side that refits tell of each of six numbers, which hold together 95%
#: of the time.
TAIL = 0.05 / 12.0
BETTER = (
    "`cg.check(cg.crossfit(fit, x, y), x, y)`, where every row meets a fit that has not"
    " seen it,"
)
OF_FITTED = (
    "numbers are of rows that the model was fitted on: they tell what its family misses,"
    " and the error of its estimates is not in them"
)
NO_POWER = f"{UNKNOWN}: a shift or a spread that is the same at every x is fitted away."


def composite(
    fit: object,
    x: TableLike,
    y: TableLike,
    *,
    statistic: object = "check",
    alpha: float = 0.05,
    n_boot: int = 199,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: object = None,
    workers: str | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> Check | GofResult:
    """Check a family of models whose parameters are estimated on this very sample.

    H0: the true conditional density is *some* member of the family that `fit` chooses from.
    A fitted model follows the noise of its own sample, so that tests of a fixed model
    reject far too seldom. Here the null comes from a parametric bootstrap with refitting.
    With p̂ = fit(x, y) and T its statistic,

        y*_b ~ p̂(· | x),   p̂*_b = fit(x, y*_b),   T*_b = T(p̂*_b, x, y*_b),   b = 1, …, n_boot,
        p-value = (1 + #{T*_b ≥ T}) / (n_boot + 1).

    By default the answer is a `Check`. T is the combination of `adaptive` (which does not
    look at predictions here) and of the search for slices, each with a null from refits,
    and the same function of the data in all replicates. Refits give the intervals of the
    numbers of all rows; those of a slice are those of `check`, rather too wide here,
    because a fit takes a part of the noise away.

    Do not use it when the model was fitted on other data (use `check`), when rows are
    dependent, or when `fit` is so flexible that it follows the noise. Then, and where fits
    take long, use ``cg.check(cg.crossfit(fit, x, y), x, y)``. A note says so where the
    refits take more than a minute, or the effective number of parameters is above n/4: the
    mean over refits of Σ_i (m*_i − m_i)(y*_i − m_i)/v_i, with m and v the mean and variance
    of y under p̂, m* that of p̂*.

    Parameters
    ----------
    fit : callable
        (x, y) → the fitted model, a new object each time, that `as_model` takes and that
        can be sampled. It gets x and y in the containers that you passed; a parameter named
        rng gets a `numpy.random.Generator`. `condgof.fits` has ``ols()``,
        ``heteroscedastic()``, ``glm(family)``, ``sklearn(estimator)``.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample.
    statistic : {"check", "adaptive", "kcsd", "fscd", "mmd", "zheng"} or callable
        "check" for the whole answer; else which statistic alone, or your own: (model, x, y)
        → a number (larger means a worse fit) or a result.
    alpha : float
        The level of the check.
    n_boot : int
        Number of refits. 199 serve for a test at 0.05; take 999 for 0.01.
    missing, engine
        As in `kcsd`; workers may also be a Dask cluster.
    rng : int, numpy.random.Generator or None
        The same rng gives the same result on any number of workers, if `fit` itself is
        deterministic or takes its random numbers from an rng.
    workers : {None, "processes", "threads"}
        What the workers on this machine are. None: processes where that pays and `fit` can
        be sent to them, and this very process otherwise.
    progress : callable or bool, optional
        Called with the number of refits done and of all; None or True show a bar on a
        terminal (where tqdm is installed), False shows nothing.
    **options
        Options of the statistic, such as ``standardize=`` of `kcsd`; of "check" those of
        `adaptive`.

    Returns
    -------
    Check, or with another statistic GofResult
        In ``details`` of the result: ``fitted`` (the model in words), ``failures`` and
        ``first_failure`` (refits that failed are left out; more than a tenth are an error),
        ``seconds_per_refit``, ``seconds_per_replicate``, ``workers``,
        ``effective_parameters``.

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
    needs_memory("composite", x, y)
    n_boot, fitter, alpha = check_n_boot(n_boot), as_fit(fit), check_alpha(alpha)
    whole = isinstance(statistic, str) and statistic == "check"
    name = name_of("adaptive" if whole else statistic, options)
    if workers not in (None, "processes", "threads"):
        raise InputError(
            f"workers must be None, 'processes' or 'threads', got {workers!r}."
        )
    seed, sample = Seed.of(rng), Sample.of(x, y, missing=missing)
    x, y = held(x), held(y)
    if sample.kept is not None:
        x, y = take_rows(x, sample.kept), take_rows(y, sample.kept)
    # One BLAS thread, as in the workers: the observed statistic is the same function as
    # theirs.
    with engines.single_threaded_blas():
        start = time.perf_counter()
        with errors.users_code("fit"):
            raw = fitter(fresh(x), fresh(y), seed.stream(Use.REPLICATE, 0, 1))
            shown, model = described(raw), as_model(raw)
        law = law_of(model, sample)
        if not law.can("sample"):
            raise UnsupportedModelError(
                "composite draws new responses from the model that fit returns, and"
                f" {law.name} has no sampler. Those that have one: closed forms"
                " (condgof.models), tuples (mean, std), class probabilities, distributions"
                " and models of libraries; scores and log-densities do not."
            )
        ready: AllOfAdaptive | Called
        if name == "adaptive":
            kind = AllOfCheck if whole else AllOfAdaptive
            ready = kind.of(asked_of(name, options), sample, model, law, seed)
        else:
            given = options if name is None else {**options, "missing": missing}
            ready = Called.of(name, statistic, given, sample, model, seed)
        observed = ready.values(model, sample.y_given)
        check_finite(
            observed[None],
            "The statistic of the sample",
            "Check the model that fit returns.",
        )
        task = Replicates(fitter, x, y, sample, law, ready.values, seed)
        outcomes, where = run(task, n_boot, engine, workers, progress)
        draws = np.column_stack([o.values for o in outcomes if o.values is not None])
        result = ready.result(observed, draws)
        told, notes = told_of(outcomes), result.details.get("notes", ())
        notes = (*(r for r in sample.remarks if r not in notes), *notes, *told.pop("notes"))
        details = {
            "fitted": shown,
            **told,
            "seconds": time.perf_counter() - start,
            "workers": where,
        }
        details = {**result.details, **details, **({"notes": notes} if notes else {})}
        method = f"composite({ready.name})"
        result = replace(result, method=method, null=NULL, seed=seed.value, details=details)
        return (
            ready.report(result, draws, alpha) if isinstance(ready, AllOfCheck) else result
        )


class RefitOutcome(NamedTuple):
    """What a replicate gave: statistics (K,) or the message of what failed, and how long it took."""

    values: FloatArray | None
    error: str | None
    fit_seconds: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Replicates:
    """The task that travels to the workers: the number of a replicate → its outcome."""

    fit: Callable[..., Any]
    x: Any
    y: Any
    sample: Sample
    law: Law
    #: (model, y in the user's shape) → statistics (K,).
    statistic: Callable[[ModelLike, AnyArray], FloatArray]
    seed: Seed

    def __call__(self, number: int) -> RefitOutcome:
        start = time.perf_counter()
        try:
            y = draw_response(self.law, self.sample, self.seed, number)
            # A copy of x each time, so that a fit that writes into it changes nothing.
            rng = self.seed.stream(Use.REPLICATE, number, 1)
            model = self.fit(fresh(self.x), refill(self.y, y), rng)
            fitted = time.perf_counter()
            values = self.statistic(as_model(model), y.reshape(self.sample.y_given.shape))
            if not np.isfinite(values).all():
                raise errors.NumericalError(
                    f"The statistic is {values[~np.isfinite(values)][0]}."
                )
        except (errors.MissingPackageError, MemoryError):
            raise  # the machine's fault, and not this replicate's
        except Exception as error:  # users' fits raise anything
            seconds = time.perf_counter() - start
            return RefitOutcome(None, f"{type(error).__name__}: {error}", seconds, seconds)
        return RefitOutcome(values, None, fitted - start, time.perf_counter() - start)


def draw_response(law: Law, sample: Sample, seed: Seed, number: int) -> AnyArray:
    """Draw the responses of a replicate from the fitted model as y has them, (n, d_y) or labels (n,)."""
    numbers = drawn(law, sample.d_y, seed.stream(Use.REPLICATE, number, 0))
    if sample.y_given.dtype.kind not in "OUS":
        return numbers
    assert isinstance(
        law, Probabilities
    )  # of labels that are text, models draw the positions
    return np.asarray(law.classes.labels[numbers.astype(np.int64)])


def choose_workers(
    engine: object, kind: str | None, task: Replicates, seconds: float
) -> Workers:
    """Choose where replicates run, which would take so many seconds one after the other."""
    chosen = engines.as_engine(engine)
    if isinstance(chosen, engines.Cluster):
        return chosen
    if kind == "threads" or chosen.count == 1:
        return engines.Threads(chosen.count)
    if (kind or seconds > WORTH_SECONDS) and engines.can_send(task):
        return engines.Processes(chosen.count)
    if kind is None:
        return engines.Threads(1)
    raise InputTypeError(
        "fit, its model or the statistic cannot be sent to another process. Define fit at"
        " the top of a module, install cloudpickle, or pass workers='threads' (if fit can"
        " run in several threads at once) or engine=1."
    )


def run(
    task: Replicates,
    n_boot: int,
    engine: object,
    kind: str | None,
    progress: Progress | bool | None,
) -> tuple[list[RefitOutcome], str]:
    """Run all replicates, the first of them here; return them in order, and where they ran."""
    drawing: tuple[Any, ...] = (task.law, task.sample, task.seed, 1)
    before, first = draw_response(*drawing), task(1)
    if not np.array_equal(before, draw_response(*drawing)):
        raise InputError(NOT_FRESH)
    outcomes: dict[int, RefitOutcome] = {}
    workers = choose_workers(engine, kind, task, n_boot * first.seconds)
    with closing(workers.completed(task, range(2, n_boot + 1))) as completed:  # type: ignore[type-var]
        others: Iterable[tuple[int, RefitOutcome]] = completed
        if progress is None or progress is True:
            others = engines.with_progress(completed, n_boot - 1, "refits")
        for number, outcome in chain([(1, first)], others):
            outcomes[number] = outcome
            failed = [o.error for _, o in sorted(outcomes.items()) if o.error is not None]
            if len(failed) > max(
                1, int(MOST_FAILURES * n_boot)
            ):  # the others are no fair sample of all
                raise RefitError(
                    f"{len(failed)} of {len(outcomes)} refits failed, more than"
                    f" {MOST_FAILURES:.0%} of the {n_boot} that were asked for. The first:"
                    f" {failed[0]} The model was refitted on responses drawn from the"
                    " fitted model itself: check that fit works on such data."
                )
            if callable(progress):
                progress(len(outcomes), n_boot)
    where = "Dask" if isinstance(workers, engines.Cluster) else "this process"
    if not isinstance(workers, engines.Cluster) and workers.count > 1:
        where = (
            f"{workers.count}"
            f" {'threads' if isinstance(workers, engines.Threads) else 'processes'}"
        )
    return [outcomes[number] for number in sorted(outcomes)], where


def described(raw: object) -> str:
    words = "a tuple (mean, std)" if isinstance(raw, tuple) else " ".join(repr(raw).split())
    words = re.sub(
        r" at 0x[0-9a-fA-F]+", "", words
    )  # where in memory: another one in each run
    return words if len(words) <= SHOWN else words[: SHOWN - 3] + "..."


def told_of(outcomes: list[RefitOutcome]) -> dict[str, Any]:
    failed, n = [o.error for o in outcomes if o.error is not None], len(outcomes)
    word = "refits failed and were" if len(failed) > 1 else "refit failed and was"
    return {
        "refits": n,
        "failures": len(failed),
        "first_failure": failed[0] if failed else None,
        "seconds_per_refit": float(np.mean([o.fit_seconds for o in outcomes])),
        "seconds_per_replicate": float(np.mean([o.seconds for o in outcomes])),
        "notes": [
            f"{len(failed)} of {n} {word} left out ({' '.join(e.split())})"
            for e in failed[:1]
        ],
    }


def name_of(statistic: object, options: Asked) -> str | None:
    """Return the name of a test of the library, or None for a user's own function; check options."""
    name = next((name for name, test in TESTS.items() if statistic in (name, test)), None)
    if name is None:
        if callable(statistic):
            return None
        raise InputError(
            f"statistic must be one of {', '.join(map(repr, TESTS))}, or a function "
            f"(model, x, y) → number, got {statistic!r}."
        )
    known = sorted(asked_of(name, {}))
    for option in (option for option in options if option not in known):
        raise InputTypeError(
            f"{name} has no option {option!r}. Its options here: {', '.join(known)}."
        )
    return name


def asked_of(name: str, options: Asked) -> dict[str, Any]:
    """Return the options of a test that are heeded here, as asked for or with their defaults."""
    parameters = inspect.signature(TESTS[name]).parameters.values()
    known = {
        p.name: p.default
        for p in parameters
        if p.kind is p.KEYWORD_ONLY and p.name not in OWN
    }
    return {**known, **options}


def _how(asked: Asked) -> Options:
    """Check how to solve; "auto" is exact up to as many rows as with 1,000 draws (5,000)."""
    return Options.of(
        **{key: asked[key] for key in ("solver", "precision", "memory") if key in asked}
    )


@dataclass(frozen=True, eq=False)
class Called:
    """A statistic that is one number: a test of the library with a single draw, or a user's function."""

    name: str
    test: Callable[..., Any]
    sample: Sample
    #: Of every call; an rng is the same number in all, and with it splits, locations and
    #: the like.
    options: Asked
    said: GofResult | None = None  #: What the test itself says of the observed sample.

    @classmethod
    def of(
        cls,
        name: str | None,
        test: Any,
        options: Asked,
        sample: Sample,
        model: ModelLike,
        seed: Seed,
    ) -> Called:
        """Make ready a test, or without a name a user's function."""
        if name is None:
            signature = signature_of(test)
            seeded = signature is not None and "rng" in signature.parameters
            given = {**options, **({"rng": seed.value} if seeded else {})}
            return cls(
                getattr(test, "__name__", type(test).__name__).strip("<>"),
                test,
                sample,
                given,
            )
        asked, given = asked_of(name, options), {**options, "rng": seed.value, "engine": 1}
        given |= {"n_boot": 1} if name != "zheng" else {}
        given |= {"solver": _how(asked).chosen(sample.n)} if "solver" in asked else {}
        said = TESTS[name](model, sample.x_given, sample.y_given, **given)
        return cls(name, TESTS[name], sample, given, said)

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        answer = self.test(model, self.sample.x_given, y, **self.options)
        try:
            return np.array([float(getattr(answer, "statistic", answer))])
        except (TypeError, ValueError) as error:
            got = type(answer).__name__
            message = (
                f"The statistic {self.name} must return a number or a GofResult, got {got}."
            )
            raise InputTypeError(message) from error

    def result(self, values: FloatArray, draws: FloatArray) -> GofResult:
        said = self.said or GofResult(0.0, 1.0, self.name, self.sample.n)
        details = {
            key: what for key, what in said.details.items() if key != "null"
        }  # of one draw
        value, draws = float(values[0]), np.array(draws[0])
        p = pvalue(value, draws)
        return replace(
            said, statistic=value, pvalue=p, null_distribution=draws, details=details
        )


@dataclass(frozen=True, eq=False)
class AllOfAdaptive:
    """All statistics that `adaptive` combines, without predictions, which are not of x alone."""

    #: The observed sample under the model fitted on it; all others have its x and its kind
    #: of y.
    first: Scored
    design: Design
    units: Units
    seed: Seed
    #: What the terms of each statistic add up to, (K,).
    sizes: FloatArray
    name = "adaptive"

    @classmethod
    def of(
        cls, asked: Asked, sample: Sample, model: ModelLike, law: Law, seed: Seed
    ) -> Self:
        """Choose what is compared: by x, and by responses drawn from the fitted model.

        Landmarks in y and its unit are then the same for the data and all replicates.
        """
        _how(asked)
        units = Units(asked["scale_x"], asked["standardize"])
        first = Scored.of(model, sample, units, seed)
        anew = Scored.of(
            model, sample.with_y(draw_response(law, sample, seed, 0)), units, seed
        )
        design = make_design(anew.subsample, seed)
        made = cls(first, design, replace(units, scale_x="none"), seed, np.empty(0))
        return replace(made, sizes=made.sums(anew)[1])

    def __getstate__(self) -> dict[str, Any]:  # `_held` is made again by each worker
        return {name: value for name, value in self.__dict__.items() if name != "_held"}

    def scored(self, model: ModelLike, y: AnyArray) -> tuple[Scored, Law]:
        """Score other responses with their own model, which must see y as the first one does."""
        # With x as it was scored first, so that its units are not found again.
        sample = replace(self.first.sample, x=self.first.x).with_y(y)
        law = law_of(model, sample)
        scored = Scored.of(law, sample, self.units, self.seed)
        if scored.by != self.first.by or scored.scores.shape != self.first.scores.shape:
            raise UnsupportedModelError(
                f"{model.name} sees y in another way than the model that was fitted first:"
                " it is standardised by something else, or has other classes."
            )
        return scored, law

    @cached_property
    def _held(self) -> list[tuple[AnyArray, AnyArray]]:
        n = self.first.n
        few = 8 * n * self.design.plan.features.width <= KEPT
        return [self._features(start) for start in range(0, n, PIECE)] if few else []

    def _features(self, start: int) -> tuple[AnyArray, AnyArray]:
        features = self.design.plan.features.of(self.first.x[start : start + PIECE])
        return features, self.design.plan.sizes(features)

    @np.errstate(over="ignore", invalid="ignore")  # said by whoever gets the sums
    def sums(self, scored: Scored) -> tuple[FloatArray, FloatArray]:
        """Return ‖Fᵀξ‖² and Σ_i ‖F_i‖²‖ξ_i‖² of each statistic, (K,)."""
        plan = self.design.plan
        totals = [np.zeros((len(cut.of_x), len(cut.of_y))) for cut in plan.cuts]
        own = np.zeros(len(plan.statistics))
        for piece in scored.rows().pieces():
            start = piece.start
            features, sizes = (
                self._held[start // PIECE] if self._held else self._features(start)
            )
            xi = plan.evidence.of(piece.y, piece.scores)
            own += plan.own(sizes, plan.evidence_squares(xi))
            for total, cut in zip(totals, plan.cuts, strict=True):
                total += features[:, cut.x].T @ xi[:, cut.y]
        return plan.squares([total[None] for total in totals])[0], own

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        return self.of_scored(self.scored(model, y)[0])

    def of_scored(self, scored: Scored) -> FloatArray:
        """Return Σ_{i≠j} of each statistic, and the excess of surprises where z is known."""
        whole, own = self.sums(scored)
        statistics, z = settle(whole - own, whole + own), scored.y.reshape(1, -1)
        return (
            np.append(statistics, excess(top_surprises(z), z.size))
            if self._normal
            else statistics
        )

    @property
    def _normal(self) -> bool:
        return isinstance(self.design.plan.evidence, NormalEvidence)

    def result(
        self, values: FloatArray, draws: FloatArray, beside: Beside | None = None
    ) -> GofResult:
        """Combine as `adaptive` does, with the replicates for draws, and perhaps one more family.

        But for the family `level`, whether y is right on the whole: refits have its mean
        and spread.
        """
        skipped = {"level"} if self._normal else {"level", "surprises"}
        families = [family for family in self.design.families if family.name not in skipped]
        refits = Drawn(values, draws, np.append(self.sizes, 0.0)[: len(values)])
        ran = Ran(refits, NULL, "exact")
        return combined(
            self.first, self.design, ran, families, beside, self.seed, Dependence()
        )


@dataclass(frozen=True, eq=False)
class AllOfCheck(AllOfAdaptive):
    """What a check does with the data, as numbers: the same function of the sample and of replicates."""

    #: The rows and their law, of the observed sample.
    looked: Looked
    law: Law
    signals: Signals
    space: Space | None
    #: What is said of all rows.
    overall: tuple[Finding, ...]
    name = "check"

    @classmethod
    def of(
        cls, asked: Asked, sample: Sample, model: ModelLike, law: Law, seed: Seed
    ) -> Self:
        adaptive = AllOfAdaptive.of(asked, sample, model, law, seed)
        looked, law, rows = look(law, adaptive.first, seed, engines.Threads(1))
        signals = signals_of(looked, law, rows, seed)
        overall, space = (
            Reader(looked, REACH).findings(),
            Space.of(looked.axes, signals, seed),
        )
        seen = looked, law, replace(signals, redraw=None), space, overall
        return cls(
            adaptive.first, adaptive.design, adaptive.units, seed, adaptive.sizes, *seen
        )

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Return statistics, the largest slice, numbers of all rows, and how far y is followed."""
        scored, law = self.scored(model, y)
        said = said_of(law, scored, self.looked.kind)
        looked = replace(self.looked, y=scored.sample.y, **said)
        scan = self._scan(signals_of(looked, law, scored, self.seed), np.empty(0))
        largest = [] if scan is None else [scan.best.value]
        # How far each number of all rows is from what the model says, 0 where there is
        # none.
        away = {f.about: f.estimate - f.expected for f in Reader(looked, REACH).findings()}
        apart = [away.get(f.about, 0.0) for f in self.overall]
        # Σ (m* − m)(y* − m)/v: its mean over refits is the effective number of parameters.
        first, refit, followed, observed = (
            moments(self.law),
            moments(law),
            0.0,
            scored.sample.y,
        )
        if first is not None and refit is not None:
            mean, variance = first
            if isinstance(law, Probabilities) and scored.outcomes is not None:
                observed = np.eye(mean.shape[1])[scored.outcomes.observed]
            followed = float(((refit[0] - mean) * (observed - mean) / variance).sum())
        return np.array(
            [*self.of_scored(scored), *largest, *apart, followed], dtype=np.float64
        )

    def _parts(
        self, values: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Divide values (K, ...) as `values` puts them together."""
        apart = len(self.overall)
        first = len(values) - 1 - apart - (self.space is not None)
        return (
            values[:first],
            values[first : -1 - apart],
            values[-1 - apart : -1],
            values[-1],
        )

    def _scan(
        self, signals: Signals, draws: FloatArray, seconds: float = 0.0
    ) -> Scan | None:
        """Return the search, with the largest slice of each refit for its null."""
        if self.space is None:
            return None
        some = signals.take(self.space.searched)
        variances = variances_of(self.space, some)
        best = best_of(
            self.space, compared(self.space, some.values, variances, some.skewness)
        )
        return Scan(self.space, some, variances, draws.ravel(), NULL, best, seconds)

    def result(
        self, values: FloatArray, draws: FloatArray, beside: Beside | None = None
    ) -> GofResult:
        statistics, largest, _, _ = self._parts(draws)
        scan = self._scan(self.signals, largest)
        beside = None if scan is None else scan.beside
        return super().result(self._parts(values)[0], statistics, beside)

    def report(self, result: GofResult, draws: FloatArray, alpha: float) -> Check:
        _, largest, apart, followed = self._parts(draws)
        looked, about = self.looked, result.details
        scan = self._scan(self.signals, largest, about["seconds"])
        bench = Bench.of(self.law, self.first, self.design, Dependence(), self.seed)
        overall = refitted(self.overall, apart, looked.draws)
        power = Power(None, None, POWER, alpha, NO_POWER)
        reader, effect = Reader(looked, REACH), bench.size.effect(result.pvalue <= alpha)
        report = report_of(result, alpha, reader, overall, scan, bench, effect, power)
        words = report.words
        if not report.rejected and result.null_distribution is not None:
            m, worse = (
                draws.shape[1],
                int((result.null_distribution >= result.statistic).sum()),
            )
            words = (
                f"Nothing speaks against the family: of {m:,} samples that were drawn from"
                f" the fitted model and fitted again, {worse:,} look at least as wrong."
            )
        effective = float(followed.mean()) if moments(self.law) is not None else None
        notes = (*report.notes, OF_FITTED, *better(effective, looked.n, about))
        details = {
            **about,
            **report.details,
            "effective_parameters": effective,
            "notes": notes,
        }
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


def refitted(
    overall: Sequence[Finding], apart: FloatArray, ranked: int = 0
) -> tuple[Finding, ...]:
    """Give findings the intervals that refits tell: estimate − `apart` of their own models, (K, m).

    A fit makes some numbers what they are (the share of a class); then there is no
    interval.
    """
    told = []
    for one, by_chance in zip(overall, apart, strict=True):
        if (
            one.kind == "wild" or one.label == LARGEST
        ):  # steps of counts: what the model says is a bound
            told.append(one)
            continue
        mean, sd = (
            float(by_chance.mean()),
            float(by_chance.std(ddof=min(1, len(by_chance) - 1))),
        )
        made_so = REACH * sd <= SET * (one.interval[1] - one.interval[0]) / 2.0
        if made_so:
            ends = min(one.estimate, one.expected), max(one.estimate, one.expected)
        else:
            low, high = (float(q) for q in np.quantile(by_chance, [TAIL, 1.0 - TAIL]))
            low, high = min(low, mean - REACH * sd), max(high, mean + REACH * sd)
            ends = one.estimate - high, one.estimate - low
            if one.kind in (
                "coverage",
                "tails",
                "confidence",
                "class",
                "zeros",
                "quantile",
                "spread",
            ):
                ends = (
                    max(ends[0], 0.0),
                    ends[1] if one.kind == "spread" else min(ends[1], 1.0),
                )
        words = one.words
        side = next((side for side in ("above", "below") if f"{SD} {side} " in words), "")
        for sign in (1.0, -1.0):  # the interval in words, or with both signs turned
            old, new = (sorted((sign * a, sign * b)) for a, b in (one.interval, ends))
            written = between((old[0], old[1]), ranked, side)
            if written in words:
                instead = (
                    "(the fit makes it so)"
                    if made_so
                    else between((new[0], new[1]), ranked, side)
                )
                words = words.replace(written, instead)
                break
        told.append(replace(one, interval=ends, words=words))
    return tuple(told)


def better(effective: float | None, n: int, details: Mapping[str, Any]) -> tuple[str, ...]:
    """Say when out-of-fold laws are the better question."""
    if effective is not None and effective > FLEXIBLE * n:
        return (
            (
                f"the fit follows the noise: refits say that it has about {effective:,.0f}"
                f" effective parameters for {n:,} rows. {BETTER} is the better question"
            ),
        )
    seconds, refits = details["seconds_per_refit"], details["refits"]
    if seconds * refits > SLOW:
        return (
            (
                f"{refits:,} refits took {seconds:.2g} seconds each. {BETTER} takes 5 fits,"
                " and is the better question where the model will be used as it is fitted"
            ),
        )
    return ()
