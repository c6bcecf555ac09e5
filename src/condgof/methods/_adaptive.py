"""The adaptive test: standardised, at several scales and locations at once. The recommended test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError
from condgof.kernels import Gaussian, Kernel, Radial
from condgof.methods._adaptive_design import Design, narrowed
from condgof.methods._adaptive_solve import Part, Parts, solve_adaptive
from condgof.methods._prepare import Scored, Units, check_count
from condgof.methods._solve import MILDER, Options, larger_pvalue, prepare
from condgof.methods._stream import Stream
from condgof.null import NULLS, Dependence, Evidence, Family, combine, pvalue
from condgof.result import GofResult
from condgof.sample import RngLike, Seed
from condgof.stein import BLIND, DEFAULT_MEMORY, STANDARDIZED_BY, CentredScales, ScaleKernel

#: How much the scales count, beside the locations, in the combined statistic.
SCALES_SHARE = 0.7
#: Bandwidths on x, in medians, and on y, in standardised units; how many single locations.
SCALES_X, SCALES_Y, LOCATIONS = (1.0, 0.5, 0.25), (4.0, 2.0, 1.0, 0.5), 80


def adaptive(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    standardize: str = "auto",
    scales_x: tuple[float, ...] = SCALES_X,
    scales_y: tuple[float, ...] = SCALES_Y,
    n_locations: int = LOCATIONS,
    scale_x: str = "std",
    solver: str = "auto",
    null: str = "wild",
    n_boot: int = 1000,
    rank: int | None = None,
    tolerance: float | None = None,
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

    - at each *scale*, a bandwidth on x and one on y, the KCSD statistic of `kcsd`,
    - at each of many *locations*, rows of x, the statistic of `fscd` with that one location (J = 1),

    are each divided by the standard deviation of their own null draws. The scales with one bandwidth a
    on x are combined by the log of the mean of exponentials, c_a = log mean_k exp(z_k), and so are all
    locations; each combination has a p-value among its own draws, and with A bandwidths on x

        statistic = log(Σ_a (0.7/A)/p_a + 0.3/p_locations),

    the weighted harmonic mean of these. The draws use the same signs for all of them and go through
    the same combination: nothing is split off and nothing is paid twice.

    A discrete y is compared in several ways in place of several bandwidths: classes by their labels, by
    whether they are among the most probable ones, and by their log-probability, each less its mean under
    the model; ordered ones also by the steps between them; counts at the bandwidths `scales_y`, in
    standard deviations of the model.

    Do not use it when parameters of the model were fitted on this same sample. Rows that depend on each
    other need ``dependence=`` or ``groups=`` (see `kcsd`). With a model that offers nothing but scores,
    modes of y that lie far apart are not compared by weight; the result says so.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays.
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
    scale_x : {"std", "none"}
        Whether to divide each numeric column of x by its standard deviation first.
    solver, null, n_boot, rank, tolerance, dependence, groups, missing, rng, engine, memory
        As in `kcsd`; there is no spectral null. The low-rank solver (rank up to 500, or 250 above
        50,000 rows) makes its draws from 16,384 rows where there are more; with `dependence` or
        `groups`, from the sums over 512 parcels of rows (stretches, whole groups).

    Returns
    -------
    GofResult
        Its ``kernel_x`` and ``kernel_y`` are those of the scale that carries most of the evidence.
        ``details``: ``scales`` (bandwidths, statistic and p-value of each), ``strongest_scale``,
        ``scales_pvalue``, ``locations_pvalue``, ``strongest_location`` (where, with the p-value of
        that location alone, not corrected for the search), and ``standardized_by``.

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
        raise InputError("adaptive has no spectral null; use null='wild'.")
    options = Options.of(
        solver=solver,
        null=null,
        n_boot=n_boot,
        rank=rank,
        tolerance=tolerance,
        engine=engine,
        memory=memory,
        dependence=dependence,
        groups=groups,
        missing=missing,
    )
    x_scales, y_scales = _scales(scales_x, "scales_x"), _scales(scales_y, "scales_y")
    count = 0 if n_locations == 0 else check_count(n_locations, "n_locations")
    seed = Seed.of(rng)
    scored = prepare(model, x, y, Units(scale_x, standardize), options, seed)
    options = options.for_rows(scored, x)
    return run_adaptive(scored, options, seed, x_scales, y_scales, count).result


@dataclass(frozen=True, eq=False)
class Adapted:
    """The result of the adaptive test with what it was made of."""

    result: GofResult
    design: Design
    parts: Parts

    @property
    def null(self) -> str:
        """The null distribution that ran."""
        return self.parts.null


def run_adaptive(
    scored: Scored | Stream,
    options: Options,
    seed: Seed,
    x_scales: tuple[float, ...] = SCALES_X,
    y_scales: tuple[float, ...] = SCALES_Y,
    count: int = LOCATIONS,
) -> Adapted:
    """Run the adaptive test on a sample that is scored already."""
    rows = scored.subsample
    design = make_design(rows, x_scales, y_scales, count, seed)

    def test(how: Options) -> Adapted:
        parts = solve_adaptive(scored, design, how, seed)
        return Adapted(_result(scored.n, rows, design, parts, seed, options.rows), design, parts)

    return larger_pvalue(test, options, scored, lambda one: one.result.pvalue)


def make_design(
    rows: Scored, x_scales: tuple[float, ...], y_scales: tuple[float, ...], count: int, seed: Seed
) -> Design:
    """Choose the bandwidth on x and the unit of y."""
    own_unit = rows.by != "none" and rows.cells is None
    kernel_x, kernel_y = rows.kernels(Gaussian("median"), Gaussian(1.0 if own_unit else "median"), seed)
    unit = kernel_y.sigma if isinstance(kernel_y, Radial) else 1.0
    return Design(kernel_x, x_scales, y_scales, unit, count)


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
    n: int, rows: Scored, design: Design, parts: Parts, seed: Seed, dependence: Dependence
) -> GofResult:
    """Combine the parts."""
    scales = _family(parts.scales, parts)
    kernel = design.scale_kernel(rows)
    count = len(kernel.x_scales)
    evidence = [scales.some(slice(a, None, count)).log_mean_exp() for a in range(count)]
    shares = [1.0 / count] * count
    details: dict[str, Any] = {"standardized_by": STANDARDIZED_BY[rows.by], **rows.details()}
    details |= dependence.details()
    table = _table(kernel, design, parts.scales.statistics, scales.pvalues)
    best = int(np.argmax(scales.values))
    together = pvalue(*combine(evidence, shares))
    details |= {"scales": table, "strongest_scale": table[best], "scales_pvalue": together}
    if parts.local is not None:
        local = _family(parts.local, parts)
        evidence.append(local.log_mean_exp())
        shares = [*(SCALES_SHARE * share for share in shares), 1.0 - SCALES_SHARE]
        details |= _where(rows, parts.locations, local, evidence[-1])
    statistic, draws = combine(evidence, shares)
    notes = (*rows.notes(), *((BLIND,) if rows.by in ("none", "mean_std") else ()))
    notes += (*dependence.notes, *parts.details.get("notes", ()))
    notes += (MILDER,) if parts.independent and not dependence.independent else ()
    details |= {**parts.details, **({"notes": notes} if notes else {})}
    if rows.score_error is not None:
        details["score_error"] = rows.score_error
    multiple, bandwidth = kernel.scales[best]
    on_y = kernel_on_y(kernel, bandwidth)
    return GofResult(
        statistic=statistic,
        pvalue=pvalue(statistic, draws),
        method="adaptive",
        n=n,
        null_distribution=draws,
        null=parts.null,
        kernel_x=narrowed(design.kernel_x, multiple).shown(rows.sample.d_x),
        kernel_y=on_y,
        solver=parts.solver,
        seed=seed.value,
        details=details,
    )


def _family(part: Part, parts: Parts) -> Family:
    if parts.null == NULLS["model"]:
        return Family.redrawn(part.statistics, part.draws, part.sizes)
    if parts.independent:
        return Family.of(part.statistics, part.draws)
    return Family.dependent(part.statistics, part.draws, part.sizes)


def _table(
    kernel: ScaleKernel, design: Design, statistics: FloatArray, pvalues: FloatArray
) -> list[dict[str, Any]]:
    """Return what each scale says, as plain numbers; a kernel of a discrete y also has a name."""
    radial = [f.kernel.sigma for f in design.kernel_x.factors if isinstance(f.kernel, Radial)]
    return [
        {
            "bandwidth_x": multiple * radial[0] if radial else None,
            **_named_scale(kernel, bandwidth),
            "statistic": float(statistic),
            "pvalue": float(p),
        }
        for (multiple, bandwidth), statistic, p in zip(kernel.scales, statistics, pvalues, strict=True)
    ]


def kernel_on_y(kernel: ScaleKernel, bandwidth: float) -> Kernel:
    """Return the kernel on y of one scale, for results and their readers."""
    if isinstance(kernel, CentredScales):
        return kernel.kernels[int(bandwidth)].shown
    return Gaussian(bandwidth)


def _named_scale(kernel: ScaleKernel, bandwidth: float) -> dict[str, Any]:
    if not isinstance(kernel, CentredScales):
        return {"bandwidth_y": bandwidth}
    on_y = kernel.kernels[int(bandwidth)]
    return {"bandwidth_y": getattr(on_y.shown, "bandwidth", None), "y": on_y.name}


def _where(rows: Scored, locations: FloatArray, local: Family, evidence: Evidence) -> dict[str, Any]:
    """Return what the locations say: as a family, and which of them says most."""
    best = int(np.argmax(local.values))
    point = rows.to_user(locations[best % len(locations)])
    labels = rows.sample.labels(point[None])
    strongest: dict[str, Any] = {"x": point, "pvalue": float(local.pvalues[best])}
    return {
        "locations_pvalue": evidence.pvalue,
        "strongest_location": {**strongest, **({"label": labels[0]} if labels else {})},
    }
