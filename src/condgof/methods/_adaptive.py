"""The adaptive test: at all scales, columns and locations at once. The recommended test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import single_threaded_blas
from condgof.errors import InputError
from condgof.kernels import Gaussian, Kernel, Radial
from condgof.methods._design import LOCATIONS, SCALES_X, SCALES_Y, Design, make_design, narrowed
from condgof.methods._draw import MILDER, Ran, draw, milder
from condgof.methods._options import Options, censored_model, check_count, prepare
from condgof.methods._rows import Scored, Stream, Units, prediction_name
from condgof.null import Combination, Dependence, Drawn, Family
from condgof.result import GofResult
from condgof.sample import RngLike, Seed
from condgof.stein import BLIND, DEFAULT_MEMORY, STANDARDIZED_BY, CellEvidence, EvidenceBlock


def adaptive(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    event: Any = None,
    entry: Any = None,
    standardize: str = "auto",
    scales_x: tuple[float, ...] = SCALES_X,
    scales_y: tuple[float, ...] = SCALES_Y,
    n_locations: int = LOCATIONS,
    scale_x: str = "ranks",
    solver: str = "auto",
    null: str = "auto",
    n_boot: int = 1000,
    precision: float | None = None,
    dependence: Any = None,
    groups: Any = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> GofResult:
    """Test a conditional density model at all scales at once: the recommended test.

    H0: p(y|x) is the true conditional density for almost all x. y is first standardised by the model,
    given x, which compares like with like and changes neither the hypothesis nor the level. Then
    functions
    F of x meet functions ξ of y whose mean given x is 0 under the model, and each pair of a block of one
    and a block of the other has the statistic Σ_{i≠j} (F_i·F_j)(ξ_i·ξ_j). The functions of x, by family:

    - *x*: the product kernel at several bandwidths, as in `kcsd`, less its constant part,
    - *columns*: each column of x, and of what the model predicts, by itself; each level of a category,
    - *pairs*: products of two columns,
    - *locations*: single rows of x, as in `fscd` with one location (J = 1),
    - *constant*: 1, which asks whether y is right on the whole.

    Those of y are the Stein functions at several bandwidths, and, where normal scores z of the model's
    CDF are known, z itself, the surprise −log P(|Z| ≥ |z|), and Legendre polynomials of the PIT (shift,
    spread, skew, tails). A last family, *surprises*, asks whether the largest surprises are too large.

    Each statistic is divided by the spread of its null draws, those of a family are combined by the log
    of the mean of exponentials, each family has a p-value among its own draws, and

        statistic = log Σ_f w_f/p_f,

    the weighted harmonic mean of these. The draws go through the same combination: nothing is split off
    and nothing is paid twice. Normal scores, and a discrete y, are drawn anew from the model, so that
    the level is exact in samples of any size; of many rows, from the Gaussian limit of the sums. Where
    only scores are known, or rows depend on each other, rows get random signs.

    Numeric columns of x are compared by ranks: an outlier is only the largest, and any increasing change
    of a unit gives the same result. A discrete y is compared in several ways in place of several
    bandwidths: classes by their labels, by whether they are among the most probable ones, and by their
    log-probability, each less its mean under the model; ordered ones also by the steps between them;
    counts at the bandwidths `scales_y`, in standard deviations of the model.

    Do not use it when parameters of the model were fitted on this same sample. Rows that depend on each
    other need ``dependence=`` or ``groups=`` (see `kcsd`). With a model that offers nothing but scores,
    modes of y that lie far apart are not compared by weight; the result says so.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays.
    event : array_like of shape (n,), optional
        Where y is a time and some of it is censored on the right: 1 where the event came at y, 0 where
        it had not come by y. Censoring must be independent of the time given x. Each function of y is
        replaced by its mean under the model given what is known, which has mean 0 given x (see
        docs/censoring.md). Times drawn anew are censored where the data would have been, by Kaplan and
        Meier's estimate from rows near in x; of more than 4,096 rows, rows get random signs.
    entry : array_like of shape (n,), optional
        Left truncation, with `event`: the time from which on each row was watched, below y.
    standardize : {"auto", "cdf", "marginals", "mean_std", "none"}
        What y is standardised by, given x: normal scores Φ⁻¹(F(y|x)) of the model's CDF (for
        d_y > 1 of its conditional CDFs, coordinate after coordinate), of its marginal CDFs, its
        location and scale (a full covariance where the model has one), or nothing. "auto" takes the
        first of these that the model offers. Of classes, "none" compares labels alone.
    scales_x : tuple of float
        Bandwidths on x, in units of the median distance.
    scales_y : tuple of float
        Bandwidths on y, in standardised units; with ``standardize="none"``, in units of the median
        distance.
    n_locations : int
        Number of rows of x that serve as single locations; 0 for none.
    scale_x : {"ranks", "std", "none"}
        How numeric columns of x are compared: by normal scores of their ranks, in standard deviations,
        or as they are.
    solver : {"auto", "exact", "lowrank"}
        Whether draws are made row by row ("exact"), or from the Gaussian limit or from sums over blocks
        of rows ("lowrank"); "auto" goes by the work.
    null : {"auto", "model", "wild", "multinomial"}
        "auto" draws y anew from the model where it can, and gives rows signs where it cannot; "model"
        and "wild" insist on one of them.
    precision : float, optional
        Share of the kernel on x, at its narrowest bandwidth, that its functions may leave unseen (at
        most 400 of them); ``details["precision"]`` is what was reached. By default there are 40
        functions a bandwidth, which lost no power that was measured.
    n_boot, dependence, groups, missing, rng, engine, memory
        As in `kcsd`. With `dependence` or `groups` draws come from the sums over at most 512 parcels of
        rows (stretches, whole groups), where there are many rows.

    Returns
    -------
    GofResult
        Its ``kernel_x`` and ``kernel_y`` are those of the scale that carries most of the evidence.
        ``details``: ``families`` (the p-value of each), ``scales`` (bandwidths, statistic and p-value of
        each), ``strongest_scale``, ``strongest_column``, ``strongest_location`` (with p-values of their
        own, not corrected for the search), and ``standardized_by``.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 400)
    >>> y = x + (1 + (x > 1)) * rng.standard_normal(400)   # too noisy where x > 1
    >>> result = cg.adaptive(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=1)
    >>> result.reject(alpha=0.001), result.details["standardized_by"]
    (True, "normal scores of the model's CDF")
    >>> bool(result.details["strongest_location"]["x"][0] > 1)
    True
    """
    if isinstance(null, str) and null == "spectral":
        raise InputError("adaptive has no spectral null; use null='auto'.")
    options = Options.of(solver, null, n_boot, precision, dependence, groups, missing, engine, memory)
    x_scales, y_scales = _scales(scales_x, "scales_x"), _scales(scales_y, "scales_y")
    count = 0 if n_locations == 0 else check_count(n_locations, "n_locations")
    seed = Seed.of(rng)
    model = censored_model(model, x, y, event, entry)
    scored = prepare(model, x, y, Units(scale_x, standardize, predictions=True), options, seed)
    options = options.for_rows(scored, x)
    return run_adaptive(scored, options, seed, x_scales, y_scales, count).result


@dataclass(frozen=True, eq=False)
class Beside:
    """A statistic with its own draws that is combined with the others, as a family of its own."""

    family: Family
    statistic: float
    draws: FloatArray

    def joined(self, drawn: Drawn, families: Sequence[Family]) -> tuple[Drawn, list[Family]]:
        """Return statistics and families with this one; its draws are repeated if they are fewer."""
        m = drawn.draws.shape[1]
        own = np.resize(self.draws, m)
        both = Drawn(
            np.append(drawn.statistics, self.statistic),
            np.vstack([drawn.draws, own]),
            np.append(drawn.sizes, 0.0),
        )
        return both, [*families, replace(self.family, which=np.array([len(drawn.statistics)]))]


@dataclass(frozen=True, eq=False)
class Adapted:
    """The result of the adaptive test with what it was made of."""

    result: GofResult
    design: Design
    ran: Ran
    combination: Combination


def run_adaptive(
    scored: Scored | Stream,
    options: Options,
    seed: Seed,
    x_scales: tuple[float, ...] = SCALES_X,
    y_scales: tuple[float, ...] = SCALES_Y,
    count: int = LOCATIONS,
    beside: Beside | None = None,
) -> Adapted:
    """Run the adaptive test on a sample that is scored already, perhaps with one more family."""
    design = make_design(scored.subsample, seed, x_scales, y_scales, count, options.precision)

    def test(how: Options) -> Adapted:
        ran = draw(design.plan, scored, how, seed)
        families: Sequence[Family] = design.families if ran.excess else design.families[:-1]
        drawn = ran.drawn
        if beside is not None:
            drawn, families = beside.joined(drawn, families)
        combination = Combination.of(drawn, families)
        milder = how.rows.independent and not options.rows.independent
        result = _result(scored, design, ran, combination, seed, options.rows, milder)
        return Adapted(result, design, ran, combination)

    # Work is spread over the engine's threads; BLAS's own would wait for each other beside them.
    with single_threaded_blas():
        found, again = test(options), milder(options, scored, design.plan)
        return found if again is None else max(found, test(again), key=lambda one: one.result.pvalue)


def _scales(scales: Any, name: str) -> tuple[float, ...]:
    """Check multiples of a bandwidth, and put the largest first."""
    listed = list(scales) if isinstance(scales, (Sequence, np.ndarray)) else []
    numbers = all(
        isinstance(scale, (int, float, np.integer, np.floating)) and not isinstance(scale, bool)
        for scale in listed
    )
    if not listed or not numbers or not all(0 < scale < np.inf for scale in listed):
        raise InputError(f"{name} must be a list of positive numbers, got {scales!r}.")
    return tuple(sorted({float(scale) for scale in listed}, reverse=True))


def _result(
    scored: Scored | Stream,
    design: Design,
    ran: Ran,
    combination: Combination,
    seed: Seed,
    dependence: Dependence,
    milder: bool,
) -> GofResult:
    """Put the result together."""
    n, rows = scored.n, scored.subsample
    scales = design.plan.which("x", kinds=("stein", "cells"))
    best = int(scales[np.argmax(combination.scaled[scales, -1])])
    statistics = ran.drawn.statistics / (n - 1)
    details: dict[str, Any] = {"standardized_by": STANDARDIZED_BY[rows.by], **rows.details()}
    details |= dependence.details()
    table = {k: _scale(design, k, statistics[k], combination.each[k]) for k in scales}
    details |= {
        "families": combination.pvalues,
        "precision": design.residual,
        "scales": list(table.values()),
        "strongest_scale": table[best],
        **_column(rows, design, combination),
        **_where(rows, design, combination),
    }
    notes = (*rows.notes(), *((BLIND,) if rows.by in ("none", "mean_std") else ()))
    notes += (*dependence.notes, *((MILDER,) if milder else ()))
    details |= {**ran.details, **({"notes": notes} if notes else {})}
    if rows.score_error is not None:
        details["score_error"] = rows.score_error
    on_x, on_y = design.plan.statistics[best]
    return GofResult(
        statistic=combination.statistic,
        pvalue=combination.pvalue,
        method="adaptive",
        n=n,
        null_distribution=combination.draws,
        null=ran.null,
        kernel_x=narrowed(design.kernel_x, on_x.label).shown(rows.sample.d_x),
        kernel_y=kernel_on_y(design, on_y),
        solver=ran.solver,
        seed=seed.value,
        details=details,
    )


def _scale(design: Design, number: int, statistic: float, p: float) -> dict[str, Any]:
    """Return what one scale says, as plain numbers; a kernel of a discrete y also has a name."""
    on_x, on_y = design.plan.statistics[number]
    radial = [f.kernel.sigma for f in design.kernel_x.factors if isinstance(f.kernel, Radial)]
    name = {"y": on_y.name} if on_y.kind == "cells" else {}
    return {
        "bandwidth_x": on_x.label * radial[0] if radial else None,
        "bandwidth_y": on_y.bandwidth,
        **name,
        "statistic": float(statistic),
        "pvalue": float(p),
    }


def kernel_on_y(design: Design, block: EvidenceBlock) -> Kernel:
    """Return the kernel on y of a block of evidence, for results and their readers."""
    evidence = design.plan.evidence
    if isinstance(evidence, CellEvidence):
        return evidence.kernels[evidence.blocks.index(block)].shown
    return Gaussian(block.bandwidth or 1.0)


def _column(rows: Scored, design: Design, combination: Combination) -> dict[str, Any]:
    """Return which column says most by itself, and through which function of y."""
    which = design.plan.which("columns")
    if not len(which):
        return {}
    best = int(which[np.argmax(combination.scaled[which, -1])])
    on_x, on_y = design.plan.statistics[best]
    column = on_x.label[0] if isinstance(on_x.label, tuple) else on_x.label
    own = rows.sample.x_columns
    extra = rows.x.shape[1] - len(own)
    predicted = prediction_name(column - len(own), extra, rows.sample.d_y)
    name = own[column].name if column < len(own) else predicted
    found: dict[str, Any] = {"column": name, "y": on_y.name, "pvalue": float(combination.each[best])}
    if isinstance(on_x.label, tuple) and column < len(own) and own[column].categorical:
        found["level"] = own[column].text(on_x.label[1])
    return {"strongest_column": found}


def _where(rows: Scored, design: Design, combination: Combination) -> dict[str, Any]:
    """Return which of the locations says most."""
    which = design.plan.which("locations")
    if not len(which):
        return {}
    best = int(which[np.argmax(combination.scaled[which, -1])])
    point = rows.to_user(design.locations[design.plan.statistics[best][0].label])
    labels = rows.sample.labels(point[None])
    strongest: dict[str, Any] = {"x": point, "pvalue": float(combination.each[best])}
    return {"strongest_location": {**strongest, **({"label": labels[0]} if labels else {})}}
