"""Parametric bootstrap with refitting: statistics of replicates, here or on workers."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from condgof import errors
from condgof._typing import AnyArray, FloatArray
from condgof.engine import Cluster, Processes, Threads, as_engine, can_send, with_progress
from condgof.errors import InputError, InputTypeError, RefitError, UnsupportedModelError
from condgof.kernels import CellKernel, CovariateKernel, FiniteLocations, Kernel
from condgof.laws._as_model import as_model, drawn, law_of
from condgof.laws._crossfit import Fitter
from condgof.laws._discrete import Probabilities
from condgof.laws._functions import signature_of
from condgof.laws._law import Law, ModelLike
from condgof.methods._adaptive import Beside, Design, adaptive, checked_scales, combined, make_design
from condgof.methods._baselines import mmd, zheng
from condgof.methods._fscd import fscd
from condgof.methods._kcsd import kcsd
from condgof.methods._lowrank import Ran, plan_of
from condgof.methods._options import Options
from condgof.methods._scored import Scored, Units
from condgof.null._bootstrap import pvalue
from condgof.null._dependence import Dependence
from condgof.null._draws import Drawn, excess, settle, top_surprises
from condgof.result import GofResult
from condgof.sample import Sample, Seed, Use, fresh, refill
from condgof.stein._evidence import NormalEvidence
from condgof.stein._matrix import sweep
from condgof.stein._sum import PIECE, Plan

Asked = Mapping[str, Any]
#: Called with (replicates that are done, replicates).
Progress: TypeAlias = Callable[[int, int], None]
Workers: TypeAlias = Threads | Processes | Cluster

#: Less work than this is done where we are; one failed refit is not fatal, more than this share are.
WORTH_SECONDS, MOST_FAILURES = 3.0, 0.1
NOT_FRESH = (
    "Two draws of one replicate from the fitted model differ. Either fit works on one object and "
    "returns it again and again, so that a refit changed the fitted model (return a new one: for "
    "scikit-learn condgof.fits.sklearn(estimator), or sklearn.base.clone(estimator).fit(x, y)), or the "
    "model's sampler does not draw from the rng that it is given."
)
TESTS = {test.__name__: test for test in (kcsd, adaptive, fscd, mmd, zheng)}
#: What `composite` decides itself, and what is of no use where the rows of a replicate are independent.
OWN = ("rng", "engine", "n_boot", "null", "dependence", "groups", "missing")
#: Rows of a tile; bytes that each worker may spend on keeping the functions of x.
TILE, KEPT = 256, 2**26
NULL = "parametric bootstrap"
#: Characters of a fitted model that a result keeps.
SHOWN = 160
SAMPLERS = (
    "Those that have one: closed forms (condgof.models.Normal, Poisson, ...), tuples (mean, std), class "
    "probabilities, models of scikit-learn, statsmodels and NGBoost, torch and JAX distributions, MDNs. "
    "Those that have none: arrays of scores, condgof.from_score, condgof.from_log_prob."
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

    fit: Fitter
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
                raise errors.NumericalError(f"The statistic is {values[~np.isfinite(values)][0]}.")
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
    assert isinstance(law, Probabilities)  # of labels that are text, models draw the positions
    return np.asarray(law.classes.labels[numbers.astype(np.int64)])


def choose_workers(engine: Any, kind: str | None, task: Replicates, seconds: float) -> Workers:
    """Choose where replicates run, which would take so many seconds one after the other."""
    chosen = as_engine(engine)
    if isinstance(chosen, Cluster):
        return chosen
    if kind == "threads" or chosen.count == 1:
        return Threads(chosen.count)
    if kind is None:
        return Processes(chosen.count) if seconds > WORTH_SECONDS and can_send(task) else Threads(1)
    if not can_send(task):
        raise InputTypeError(
            "fit, its model or the statistic cannot be sent to another process. Define fit at the "
            "top of a module, install cloudpickle, or pass workers='threads' (if fit can run in "
            "several threads at once) or engine=1."
        )
    return Processes(chosen.count)


def run(
    task: Replicates, n_boot: int, engine: Any, kind: str | None, progress: Progress | bool | None
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
            others = with_progress(completed, n_boot - 1, "refits")
        for number, outcome in chain([(1, first)], others):
            outcomes[number] = outcome
            failed = [o.error for _, o in sorted(outcomes.items()) if o.error is not None]
            if len(failed) > max(1, int(MOST_FAILURES * n_boot)):  # the others are no fair sample of all
                raise RefitError(
                    f"{len(failed)} of {len(outcomes)} refits failed, more than {MOST_FAILURES:.0%} of "
                    f"the {n_boot} that were asked for. The first: {failed[0]} The model was refitted "
                    "on responses drawn from the fitted model itself: check that fit works on such data."
                )
            if callable(progress):
                progress(len(outcomes), n_boot)
    where = "Dask" if isinstance(workers, Cluster) else "this process"
    if not isinstance(workers, Cluster) and workers.count > 1:
        where = f"{workers.count} {'threads' if isinstance(workers, Threads) else 'processes'}"
    return [outcomes[number] for number in sorted(outcomes)], where


def described(raw: Any) -> str:
    words = "a tuple (mean, std)" if isinstance(raw, tuple) else " ".join(repr(raw).split())
    words = re.sub(r" at 0x[0-9a-fA-F]+", "", words)  # where in memory: another one in each run
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
        "notes": [f"{len(failed)} of {n} {word} left out ({' '.join(e.split())})" for e in failed[:1]],
    }


def name_of(statistic: Any, options: Asked) -> str | None:
    """Return the name of a test of the library, or None for a user's own function; check options."""
    name = next((name for name, test in TESTS.items() if statistic in (name, test)), None)
    if name is None:
        if callable(statistic):
            return None
        raise InputError(
            f"statistic must be one of {', '.join(map(repr, TESTS))}, or a function "
            f"(model, x, y) → number, got {statistic!r}."
        )
    if "null" in options:
        raise InputTypeError("composite has a null of its own, from refits, and takes no null=.")
    known = sorted(asked_of(name, {}))
    for option in (option for option in options if option not in known):
        raise InputTypeError(f"{name} has no option {option!r}. Its options here: {', '.join(known)}.")
    return name


def asked_of(name: str, options: Asked) -> dict[str, Any]:
    """Return the options of a test that are heeded here, as asked for or with their defaults."""
    parameters = inspect.signature(TESTS[name]).parameters.values()
    known = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in OWN}
    return {**known, **options}


def _how(asked: Asked) -> Options:
    """Check how to solve; "auto" is exact up to as many rows as with 1,000 draws (5,000)."""
    return Options.of(**{key: asked[key] for key in ("solver", "precision", "memory") if key in asked})


@dataclass(frozen=True, eq=False)
class Called:
    """A statistic that is one number: a test of the library with a single draw, or a user's function."""

    name: str
    test: Callable[..., Any]
    sample: Sample
    #: Of every call; an rng is the same number in all, and with it splits, locations and the like.
    options: Asked
    said: GofResult | None = None  #: What the test itself says of the observed sample.

    @classmethod
    def of(
        cls, name: str | None, test: Any, options: Asked, sample: Sample, model: ModelLike, seed: Seed
    ) -> Called:
        """Make ready a test, or without a name a user's function."""
        if name is None:
            signature = signature_of(test)
            seeded = signature is not None and "rng" in signature.parameters
            given = {**options, **({"rng": seed.value} if seeded else {})}
            return cls(getattr(test, "__name__", type(test).__name__).strip("<>"), test, sample, given)
        asked, given = asked_of(name, options), {**options, "rng": seed.value, "engine": 1}
        given |= {"n_boot": 1} if name != "zheng" else {}
        given |= {"solver": _how(asked).chosen(sample.n)} if "solver" in asked else {}
        said = TESTS[name](model, sample.x_given, sample.y_given, **given)
        if name == "kcsd":
            return cls(name, KcsdSum.of(asked, sample, model, seed), sample, {}, said)
        return cls(name, TESTS[name], sample, given, said)

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        answer = self.test(model, self.sample.x_given, y, **self.options)
        try:
            return np.array([float(getattr(answer, "statistic", answer))])
        except (TypeError, ValueError) as error:
            got = type(answer).__name__
            message = f"The statistic {self.name} must return a number or a GofResult, got {got}."
            raise InputTypeError(message) from error

    def result(self, values: FloatArray, draws: FloatArray, seed: Seed) -> GofResult:
        said = self.said or GofResult(0.0, 1.0, self.name, self.sample.n)
        details = {key: what for key, what in said.details.items() if key != "null"}  # of one draw
        value, draws = float(values[0]), np.array(draws[0])
        p = pvalue(value, draws)
        return replace(said, statistic=value, pvalue=p, null_distribution=draws, details=details)


@dataclass(frozen=True, eq=False)
class SharedX:
    """What replicates have in common: x in the kernel's units, and F, made once where memory allows."""

    sample: Sample
    units: Units
    seed: Seed | None  #: For units and landmarks that come from some of many rows.
    plan: Any = None  #: A Plan, or None where there is no F, only tiles.

    @classmethod
    def of(cls, scored: Scored, units: Units, seed: Seed | None, plan: Plan | None) -> SharedX:
        """Take x as it was scored first, so that its units are not found again."""
        return cls(replace(scored.sample, x=scored.x), replace(units, scale_x="none"), seed, plan)

    def __getstate__(self) -> dict[str, Any]:  # `_held` is made again by each worker
        return {name: value for name, value in self.__dict__.items() if name != "_held"}

    def scored(self, model: ModelLike, y: AnyArray) -> tuple[Scored, Law]:
        """Score other responses with their own model, and return them with its law."""
        sample = self.sample.with_y(y)
        law = law_of(model, sample)
        return Scored.of(law, sample, self.units, self.seed), law

    @cached_property
    def _held(self) -> list[tuple[AnyArray, AnyArray]]:
        few = 8 * self.sample.n * self.plan.features.width <= KEPT
        return [self._features(start) for start in range(0, self.sample.n, PIECE)] if few else []

    def _features(self, start: int) -> tuple[AnyArray, AnyArray]:
        features = self.plan.features.of(self.sample.x[start : start + PIECE])
        return features, self.plan.sizes(features)

    @np.errstate(over="ignore", invalid="ignore")  # said by whoever gets the sums
    def sums(self, scored: Scored, evidence: Any) -> tuple[FloatArray, FloatArray]:
        """Return ‖Fᵀξ‖² and Σ_i ‖F_i‖²‖ξ_i‖² of each statistic, (K,)."""
        plan: Plan = replace(self.plan, evidence=evidence)
        totals = [np.zeros((len(cut.of_x), len(cut.of_y))) for cut in plan.cuts]
        own = np.zeros(len(plan.statistics))
        for piece in scored.rows().pieces():
            start = piece.start
            features, sizes = self._held[start // PIECE] if self._held else self._features(start)
            xi = evidence.of(piece.y, piece.scores)
            own += plan.own(sizes, plan.evidence_squares(xi))
            for total, cut in zip(totals, plan.cuts, strict=True):
                total += features[:, cut.x].T @ xi[:, cut.y]
        return plan.squares([total[None] for total in totals])[0], own


@dataclass(frozen=True, eq=False)
class KcsdSum:
    """n·D̂ of `kcsd`, (model, x, y) → number: by tiles, or through features of x."""

    shared: SharedX
    kernel_x: CovariateKernel
    kernel_y: Kernel
    how: Options
    seed: Seed

    @classmethod
    def of(cls, asked: Asked, sample: Sample, model: ModelLike, seed: Seed) -> KcsdSum:
        how, units = _how(asked), Units(asked["scale_x"], asked["standardize"])
        some = seed if how.chosen(sample.n) == "lowrank" else None
        scored = Scored.of(model, sample, units, some)
        kernel_x, kernel_y = scored.subsample.kernels(asked["kernel_x"], asked["kernel_y"], seed)
        tiles = some is None and not isinstance(kernel_y, CellKernel)
        plan = None if tiles else plan_of(scored, kernel_x, kernel_y, how, seed)[0]
        return cls(SharedX.of(scored, units, some, plan), kernel_x, asked["kernel_y"], how, seed)

    def __call__(self, model: ModelLike, x: Any, y: AnyArray) -> float:
        scored, _ = self.shared.scored(model, y)
        n, rows = scored.n, scored.subsample
        kernel: Any = rows.kernel_on_y(self.kernel_y, self.seed)
        if self.shared.plan is None:
            none, operator = np.empty((n, 0)), scored.operator(self.kernel_x, kernel)
            tiles: Any = {"engine": Threads(1), "tile": TILE}
            return sweep(operator, lambda start, stop: none[start:stop], 0, **tiles)[0] / (n - 1)
        # Landmarks in y are those of this y, whatever is made of x.
        one = FiniteLocations(self.kernel_x, rows.x[:1])
        evidence = plan_of(scored, one, kernel, self.how, self.seed)[0].evidence
        whole, own = self.shared.sums(scored, evidence)
        return float(whole[0] - own[0]) / (n - 1)


@dataclass(frozen=True, eq=False)
class AllOfAdaptive:
    """All statistics that `adaptive` combines, without predictions, which are not of x alone."""

    #: The observed sample under the model fitted on it; all others have its x and its kind of y.
    first: Scored
    design: Design
    shared: SharedX
    #: What the terms of each statistic add up to, (K,).
    sizes: FloatArray
    name: str = "adaptive"

    @classmethod
    def of(cls, asked: Asked, sample: Sample, model: ModelLike, law: Law, seed: Seed) -> AllOfAdaptive:
        """Choose what is compared: by x, and by responses drawn from the fitted model.

        Landmarks in y and its unit are then the same for the data and all replicates.
        """
        _how(asked)
        units = Units(asked["scale_x"], asked["standardize"])
        scales = checked_scales(asked["scales_x"], asked["scales_y"], asked["n_locations"])
        first = Scored.of(model, sample, units, seed)
        anew = Scored.of(model, sample.with_y(draw_response(law, sample, seed, 0)), units, seed)
        design = make_design(anew.subsample, seed, *scales)
        shared = SharedX.of(first, units, seed, design.plan)
        return cls(first, design, shared, shared.sums(anew, design.plan.evidence)[1])

    @property
    def _normal(self) -> bool:
        return isinstance(self.design.plan.evidence, NormalEvidence)

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        return self.of_scored(self.scored(model, y)[0])

    def scored(self, model: ModelLike, y: AnyArray) -> tuple[Scored, Law]:
        """Score other responses with their own model, which must see y as the first one does."""
        scored, law = self.shared.scored(model, y)
        if scored.by != self.first.by or scored.scores.shape != self.first.scores.shape:
            raise UnsupportedModelError(
                f"{model.name} sees y in another way than the model that was fitted first: it is "
                "standardised by something else, or has other classes."
            )
        return scored, law

    def of_scored(self, scored: Scored) -> FloatArray:
        """Return Σ_{i≠j} of each statistic, and the excess of surprises where z is known."""
        whole, own = self.shared.sums(scored, self.design.plan.evidence)
        statistics, z = settle(whole - own, whole + own), scored.y.reshape(1, -1)
        return np.append(statistics, excess(top_surprises(z), z.size)) if self._normal else statistics

    def result(
        self, values: FloatArray, draws: FloatArray, seed: Seed, beside: Beside | None = None
    ) -> GofResult:
        """Combine as `adaptive` does, with the replicates for draws, and perhaps one more family.

        But for the family `level`, whether y is right on the whole: refits have its mean and spread.
        """
        skipped = {"level"} if self._normal else {"level", "surprises"}
        families = [family for family in self.design.families if family.name not in skipped]
        refits = Drawn(values, draws, np.append(self.sizes, 0.0)[: len(values)])
        ran = Ran(refits, NULL, "exact")
        return combined(self.first, self.design, ran, families, beside, seed, Dependence()).result
