"""A test of a family of models: parametric bootstrap with refitting.

What belongs to x alone (kernels and functions of x, locations) is made once. What looks at y (a median
distance on y, say) is made anew for each sample, so that the observed statistic and those of replicates
are the same function of the data.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.engine import Threads, single_threaded_blas
from condgof.errors import InputError, InputTypeError, UnsupportedModelError, check_finite
from condgof.kernels import CellKernel, CovariateKernel, FiniteLocations, Kernel
from condgof.laws import Fitter, Law, ModelLike, accepts, as_model, law_of
from condgof.methods import _adaptive as adapt
from condgof.methods._composite_run import Outcome, Progress, Replicates, draw_response, run
from condgof.methods._dependence import INDEPENDENT
from condgof.methods._design import Design, make_design
from condgof.methods._draw import Ran
from condgof.methods._fscd import fscd
from condgof.methods._kcsd import kcsd
from condgof.methods._mmd import mmd
from condgof.methods._options import Options, check_count
from condgof.methods._rows import Scored, Units, refuse_source
from condgof.methods._solve import plan_of
from condgof.methods._zheng import zheng
from condgof.null import Combination, Drawn, check_n_boot, excess, pvalue, settle, top_surprises
from condgof.result import GofResult
from condgof.sample import RngLike, Sample, Seed, Use, fresh, held, take_rows
from condgof.stein import PIECE, ArrayWeights, NormalEvidence, Plan, sweep

Asked = Mapping[str, Any]
TESTS = {test.__name__: test for test in (kcsd, adapt.adaptive, fscd, mmd, zheng)}
#: What `composite` decides itself, and what is of no use where the rows of a replicate are independent.
OWN = ("rng", "engine", "n_boot", "null", "dependence", "groups", "missing")
#: "auto" is exact up to as many rows as with this many draws (5,000), in tiles of so many rows.
DRAWS, TILE = 1000, 256
#: Bytes that each worker may spend on keeping the functions of x: 40,000 rows of 200 functions.
KEPT = 2**26
NULL = "parametric bootstrap"
#: Characters of a fitted model that a result keeps.
SHOWN = 160
SAMPLERS = (
    "Those that have one: closed forms (condgof.models.Normal, Poisson, ...), tuples (mean, std), class "
    "probabilities, models of scikit-learn, statsmodels and NGBoost, torch and JAX distributions, MDNs. "
    "Those that have none: arrays of scores, condgof.from_score, condgof.from_log_prob."
)


def composite(
    fit: Any,
    x: Any,
    y: Any,
    *,
    statistic: Any = "adaptive",
    n_boot: int = 199,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    workers: str | None = None,
    progress: Progress | bool | None = None,
    **options: Any,
) -> GofResult:
    """Test a family of models whose parameters are estimated on this very sample.

    H0: the true conditional density is *some* member p_θ(y|x) of the family that `fit` chooses from.
    The tests of a fixed model are wrong here: the fitted model follows the noise of its own sample, so
    that they reject a true family far too seldom, and miss misfit. Here the null distribution comes from
    a parametric bootstrap with refitting. With p̂ = fit(x, y) and T its statistic,

        y*_b ~ p̂(· | x),   p̂*_b = fit(x, y*_b),   T*_b = T(p̂*_b, x, y*_b),   b = 1, …, n_boot,
        p-value = (1 + #{T*_b ≥ T}) / (n_boot + 1).

    T is one and the same function of the data in all of them: x stays, and with it the functions of x; a
    median distance on y is taken anew from each y; whatever is random inside of T (a split, locations)
    is drawn once. No draws are made inside of T. The statistics that `adaptive` combines are measured,
    in place of its own draws, by their values over all replicates; predictions, which change with each
    refit, are not among its columns here.

    Do not use it when the model was fitted on other data (`adaptive` tests it as it is, without any
    refit), when rows are dependent, or when `fit` is so flexible that it follows the noise: a bootstrap
    from an overfitted model says little.

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
    statistic : {"adaptive", "kcsd", "fscd", "mmd", "zheng"} or callable
        Which statistic, or your own: (model, x, y) → a number (larger means a worse fit) or a result.
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
        Options of the statistic, such as ``standardize=`` of `kcsd`. Those that say how `adaptive`
        makes its draws (``solver=``, ``precision=``, ``memory=``) make no difference.

    Returns
    -------
    GofResult
        Named after the statistic, such as ``"composite(kcsd)"``. ``details``: ``fitted`` (the fitted
        model in words), ``failures`` and ``first_failure`` (refits that failed are left out; more than a
        tenth of them are an error), ``seconds_per_refit``, ``seconds_per_replicate``, ``workers``, and
        what the statistic says of itself.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 200)
    >>> y = x + 0.5 * x**2 + rng.standard_normal(200)
    >>> cg.composite(cg.fits.ols(), x, y, n_boot=99, rng=1).reject()
    True
    >>> cg.composite(cg.fits.ols(), np.column_stack([x, x**2]), y, n_boot=99, rng=1).reject()
    False
    """
    refuse_source("composite", x, y)
    n_boot, fitter = check_n_boot(n_boot), Fitter.of(fit)
    name = _name_of(statistic, options)
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
        shown, model = _described(raw), as_model(raw)
        law = law_of(model, sample)
        if not law.can("sample"):
            raise UnsupportedModelError(
                f"composite draws new responses from the model that fit returns, and {law.name} has no "
                f"sampler. {SAMPLERS}"
            )
        ready: AllOfAdaptive | Called
        if name == "adaptive":
            ready = AllOfAdaptive.of(_asked(name, options), sample, model, law, seed)
        else:
            given = options if name is None else {**options, "missing": missing}
            ready = Called.of(name, statistic, given, sample, model, seed)
        observed = ready.values(model, sample.y_given)
        check_finite(observed[None], "The statistic of the sample", "Check the model that fit returns.")
        task = Replicates(fitter, x, y, sample, law, ready.values, seed)
        outcomes, where = run(task, n_boot, engine, workers, progress)
    draws = np.column_stack([o.values for o in outcomes if o.values is not None])
    found = ready.result(observed, draws, seed)
    told, said = _told(outcomes), found.details.get("notes", ())
    notes = (*(r for r in sample.remarks if r not in said), *said, *told.pop("notes"))
    details = {"fitted": shown, **told, "seconds": time.perf_counter() - start, "workers": where}
    details = {**found.details, **details, **({"notes": notes} if notes else {})}
    return replace(found, method=f"composite({ready.name})", null=NULL, seed=seed.value, details=details)


def _described(raw: Any) -> str:
    """Return the fitted model in one line."""
    words = "a tuple (mean, std)" if isinstance(raw, tuple) else " ".join(repr(raw).split())
    words = re.sub(r" at 0x[0-9a-fA-F]+", "", words)  # where in memory: another one in each run
    return words if len(words) <= SHOWN else words[: SHOWN - 3] + "..."


def _told(outcomes: list[Outcome]) -> dict[str, Any]:
    """Return what a result says of the refits."""
    errors = [o.error for o in outcomes if o.error is not None]
    word = "refits failed and were" if len(errors) > 1 else "refit failed and was"
    first = [" ".join(error.split()) for error in errors[:1]]
    return {
        "refits": len(outcomes),
        "failures": len(errors),
        "first_failure": errors[0] if errors else None,
        "seconds_per_refit": float(np.mean([o.fit_seconds for o in outcomes])),
        "seconds_per_replicate": float(np.mean([o.seconds for o in outcomes])),
        "notes": [f"{len(errors)} of {len(outcomes)} {word} left out ({error})" for error in first],
    }


def _name_of(statistic: Any, options: Asked) -> str | None:
    """Return the name of a test of the library, or None for a user's own function; check options."""
    name = next((name for name, test in TESTS.items() if statistic in (name, test)), None)
    if name is None and not callable(statistic):
        raise InputError(
            f"statistic must be one of {', '.join(map(repr, TESTS))}, or a function "
            f"(model, x, y) → number, got {statistic!r}."
        )
    if name is None:
        return None
    if "null" in options:
        raise InputTypeError("composite has a null of its own, from refits, and takes no null=.")
    known = _asked(name, {})
    wrong = [option for option in options if option not in known]
    if wrong:
        names = ", ".join(sorted(known))
        raise InputTypeError(f"{name} has no option {wrong[0]!r}. Its options here: {names}.")
    return name


def _asked(name: str, options: Asked) -> dict[str, Any]:
    """Return the options of a test that are heeded here, as asked for or with their defaults."""
    parameters = inspect.signature(TESTS[name]).parameters.values()
    known = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in OWN}
    return {**known, **options}


def _how(asked: Asked) -> Options:
    """Check how to solve."""
    given = {key: asked[key] for key in ("solver", "precision", "memory") if key in asked}
    return Options.of(null="wild", n_boot=DRAWS, **given)


@dataclass(frozen=True, eq=False)
class Called:
    """A statistic that is one number: a test of the library with a single draw, or a user's function."""

    name: str
    test: Callable[..., Any]
    sample: Sample
    #: Of every call; an rng is the same number in all, and with it splits, locations and the like.
    options: Asked
    #: What the test itself says of the observed sample.
    said: GofResult | None = None

    @classmethod
    def of(
        cls, name: str | None, test: Any, options: Asked, sample: Sample, model: ModelLike, seed: Seed
    ) -> Called:
        """Make ready a test, or without a name a user's function."""
        if name is None:
            given = {**options, **({"rng": seed.value} if accepts(test, "rng") else {})}
            return cls(getattr(test, "__name__", type(test).__name__).strip("<>"), test, sample, given)
        asked, given = _asked(name, options), {**options, "rng": seed.value, "engine": 1}
        given |= {"n_boot": 1} if name != "zheng" else {}
        given |= {"solver": _how(asked).chosen(sample.n)} if "solver" in asked else {}
        said = TESTS[name](model, sample.x_given, sample.y_given, **given)
        if name == "kcsd":
            return cls(name, KcsdSum.of(asked, sample, model, seed), sample, {}, said)
        return cls(name, TESTS[name], sample, given, said)

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Call it."""
        found = self.test(model, self.sample.x_given, y, **self.options)
        try:
            return np.array([float(getattr(found, "statistic", found))])
        except (TypeError, ValueError) as error:
            got = type(found).__name__
            message = f"The statistic {self.name} must return a number or a GofResult, got {got}."
            raise InputTypeError(message) from error

    def result(self, values: FloatArray, draws: FloatArray, seed: Seed) -> GofResult:
        """Compare it with its draws, as it is."""
        said = self.said or GofResult(0.0, 1.0, self.name, self.sample.n)
        details = {key: what for key, what in said.details.items() if key != "null"}  # of one draw
        value, draws = float(values[0]), np.array(draws[0])
        p = pvalue(value, draws)
        return replace(said, statistic=value, pvalue=p, null_distribution=draws, details=details)


@dataclass(frozen=True, eq=False)
class Shared:
    """What replicates have in common: x in the kernel's units, and F, made once where memory allows."""

    sample: Sample
    units: Units
    #: For units and landmarks that come from some of many rows.
    seed: Seed | None
    #: A Plan, or None where there is no F, only tiles.
    plan: Any = None

    @classmethod
    def of(cls, scored: Scored, units: Units, seed: Seed | None, plan: Plan | None = None) -> Shared:
        """Take x as it was scored first, so that its units are not found again."""
        return cls(replace(scored.sample, x=scored.x), replace(units, scale_x="none"), seed, plan)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_held"}

    def scored(self, model: ModelLike, y: AnyArray) -> Scored:
        """Score other responses with their own model."""
        return Scored.of(model, self.sample.with_y(y), self.units, self.seed)

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

    shared: Shared
    kernel_x: CovariateKernel
    kernel_y: Kernel
    how: Options
    seed: Seed

    @classmethod
    def of(cls, asked: Asked, sample: Sample, model: ModelLike, seed: Seed) -> KcsdSum:
        """Make ready what belongs to x."""
        how, units = _how(asked), Units(asked["scale_x"], asked["standardize"])
        some = seed if how.chosen(sample.n) == "lowrank" else None
        scored = Scored.of(model, sample, units, some)
        kernel_x, kernel_y = scored.subsample.kernels(asked["kernel_x"], asked["kernel_y"], seed)
        tiles = some is None and not isinstance(kernel_y, CellKernel)
        plan = None if tiles else plan_of(scored, kernel_x, kernel_y, how, seed)[0]
        return cls(Shared.of(scored, units, some, plan), kernel_x, asked["kernel_y"], how, seed)

    def __call__(self, model: ModelLike, x: Any, y: AnyArray) -> float:
        """Sum over the Stein matrix."""
        scored = self.shared.scored(model, y)
        n, rows = scored.n, scored.subsample
        kernel: Any = rows.kernel_on_y(self.kernel_y, self.seed)
        if self.shared.plan is None:
            none = ArrayWeights(np.empty((n, 0)))
            sums = sweep(scored.operator(self.kernel_x, kernel), none, engine=Threads(1), tile=TILE)
            return sums.total / (n - 1)
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
    shared: Shared
    #: What the terms of each statistic add up to, (K,).
    sizes: FloatArray
    name: str = "adaptive"

    @classmethod
    def of(cls, asked: Asked, sample: Sample, model: ModelLike, law: Law, seed: Seed) -> AllOfAdaptive:
        """Choose what is compared: by x, and by responses drawn from the fitted model.

        Landmarks in y, and its unit where it is not standardised, are then the same for the data and all
        replicates, and none of them has an advantage.
        """
        _how(asked)
        units, count = Units(asked["scale_x"], asked["standardize"]), asked["n_locations"]
        count = 0 if count == 0 else check_count(count, "n_locations")
        x_scales, y_scales = (adapt._scales(asked[name], name) for name in ("scales_x", "scales_y"))
        first = Scored.of(model, sample, units, seed)
        drawn = Scored.of(model, sample.with_y(draw_response(law, sample, seed, 0)), units, seed)
        design = make_design(drawn.subsample, seed, x_scales, y_scales, count)
        shared = Shared.of(first, units, seed, design.plan)
        return cls(first, design, shared, shared.sums(drawn, design.plan.evidence)[1])

    @property
    def _normal(self) -> bool:
        return isinstance(self.design.plan.evidence, NormalEvidence)

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Return Σ_{i≠j} of each statistic, and the excess of surprises where z is known."""
        scored = self.shared.scored(model, y)
        if scored.by != self.first.by or scored.scores.shape != self.first.scores.shape:
            raise UnsupportedModelError(
                f"{model.name} sees y in another way than the model that was fitted first: it is "
                "standardised by something else, or has other classes."
            )
        whole, own = self.shared.sums(scored, self.design.plan.evidence)
        found, z = settle(whole - own, whole + own), scored.y.reshape(1, -1)
        return np.append(found, excess(top_surprises(z), z.size)) if self._normal else found

    def result(self, values: FloatArray, draws: FloatArray, seed: Seed) -> GofResult:
        """Combine as `adaptive` does, with the replicates for draws.

        But for the family `level`, whether y is right on the whole: refits have its mean and spread.
        """
        skipped = {"level"} if self._normal else {"level", "surprises"}
        families = [family for family in self.design.families if family.name not in skipped]
        drawn = Drawn(values, draws, np.append(self.sizes, 0.0)[: len(values)])
        combination = Combination.of(drawn, families)
        ran = Ran(drawn, NULL, "exact", self._normal)
        return adapt._result(self.first, self.design, ran, combination, seed, INDEPENDENT, milder=False)
