"""A test of a family of models: parametric bootstrap with refitting."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np

from condgof.engine import single_threaded_blas
from condgof.errors import UnsupportedModelError, check_finite
from condgof.laws import Fitter, Law, ModelLike, as_model, drawn, law_of
from condgof.methods._composite_base import Combined
from condgof.methods._composite_run import (
    Outcome,
    Progress,
    Replicates,
    check_workers,
    failures,
    fit_stream,
    labelled,
    run,
)
from condgof.methods._composite_statistics import check_statistic, make_statistic
from condgof.methods._stream import refuse_source
from condgof.null import check_n_boot
from condgof.result import GofResult
from condgof.sample import RngLike, Sample, Seed, Use, fresh, held, take_rows

#: Characters of a fitted model that a result keeps.
SHOWN = 160
SAMPLERS = (
    "Those that have one: closed forms (condgof.models.Normal, Poisson, ...), tuples (mean, std), "
    "class probabilities, models of scikit-learn, statsmodels and NGBoost, torch and JAX distributions, "
    "mixture density networks. Those that have none: arrays of scores, condgof.from_score, "
    "condgof.from_log_prob."
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

    T is one and the same function of the data in all of them: x stays, and with it the kernel on x; a
    median distance on y is taken anew from each y; whatever is random inside of T (a split, locations)
    is drawn once. No draws are made inside of T. The statistics that `adaptive` combines are measured,
    in place of its own draws, by their values over all replicates.

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
        Options of the statistic, such as ``standardize=`` of `kcsd`.

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
    check_statistic(statistic, options)
    check_workers(workers)
    seed, sample = Seed.of(rng), Sample.of(x, y, missing=missing)
    x, y = held(x), held(y)
    if sample.kept is not None:
        x, y = take_rows(x, sample.kept), take_rows(y, sample.kept)
    # One BLAS thread, as in the workers: the observed statistic is the same function as theirs.
    with single_threaded_blas():
        start = time.perf_counter()
        raw = fitter(fresh(x), fresh(y), fit_stream(seed, 0))
        shown = _described(raw)
        model = as_model(raw)
        drawing = _drawing(model, sample)
        first = drawn(drawing, sample.d_y, seed.stream(Use.REPLICATE, 0, 0))
        reference = labelled(drawing, first, sample)
        ready, described = make_statistic(statistic, options, sample, model, reference, seed, missing)
        observed = ready.values(model, sample.y_given)
        check_finite(observed[None], "The statistic of the sample", "Check the model that fit returns.")
        task = Replicates(fitter, x, y, sample, drawing, ready, seed)
        outcomes, where = run(task, n_boot, engine, workers, progress)
    draws = np.column_stack([o.values for o in outcomes.values() if o.values is not None])
    details = _details(outcomes, shown, where, n_boot, time.perf_counter() - start)
    return _result(ready.name, sample, ready.combined(observed, draws), described, details, seed)


def _drawing(model: ModelLike, sample: Sample) -> Law:
    """Return the law of the fitted model at these rows of x, which draws."""
    law = law_of(model, sample)
    if not law.can("sample"):
        raise UnsupportedModelError(
            f"composite draws new responses from the model that fit returns, and {law.name} has no "
            f"sampler. {SAMPLERS}"
        )
    return law


def _described(raw: Any) -> str:
    """Return the fitted model in one line."""
    words = "a tuple (mean, std)" if isinstance(raw, tuple) else " ".join(repr(raw).split())
    words = re.sub(r" at 0x[0-9a-fA-F]+", "", words)  # where in memory: another one in each run
    return words if len(words) <= SHOWN else words[: SHOWN - 3] + "..."


def _details(
    outcomes: dict[int, Outcome], fitted: str, where: str, n_boot: int, seconds: float
) -> dict[str, Any]:
    """Return what a result says of the refits."""
    failed = failures(outcomes)
    every = list(outcomes.values())
    details: dict[str, Any] = {
        "fitted": fitted,
        "refits": n_boot,
        "failures": len(failed),
        "first_failure": failed[0] if failed else None,
        "seconds_per_refit": float(np.mean([o.fit_seconds for o in every])),
        "seconds_per_replicate": float(np.mean([o.seconds for o in every])),
        "seconds": seconds,
        "workers": where,
    }
    if failed:
        word = "refits failed and were" if len(failed) > 1 else "refit failed and was"
        first = " ".join(failed[0].split())
        details["notes"] = (f"{len(failed)} of {n_boot} {word} left out ({first})",)
    return details


def _result(
    name: str,
    sample: Sample,
    found: Combined,
    described: GofResult | None,
    details: dict[str, Any],
    seed: Seed,
) -> GofResult:
    """Put a result together: what the test says of itself, and the null distribution of the refits."""
    own = {} if described is None else dict(described.details)
    own.pop("null", None)  # that of the test, of which a single draw was made
    said = own.pop("notes", ())
    notes = (*(r for r in sample.remarks if r not in said), *said, *details.pop("notes", ()))
    details = {**own, **found.details, **details, **({"notes": notes} if notes else {})}
    return GofResult(
        statistic=found.statistic,
        pvalue=found.pvalue,
        method=f"composite({name})",
        n=sample.n if described is None else described.n,
        null_distribution=found.draws,
        null="parametric bootstrap",
        kernel_x=found.kernel_x or getattr(described, "kernel_x", None),
        kernel_y=found.kernel_y or getattr(described, "kernel_y", None),
        solver=getattr(described, "solver", None),
        locations=getattr(described, "locations", None),
        seed=seed.value,
        details=details,
    )
