"""The statistics of `adaptive`, evaluated without draws and combined by those of the replicates.

`adaptive` measures each of its statistics by the spread of its own bootstrap draws. Here the replicates
take the place of those draws: nothing is drawn inside a replicate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.engine import Threads, single_threaded_blas
from condgof.errors import UnsupportedModelError
from condgof.laws import ModelLike
from condgof.methods._adaptive import SCALES_SHARE, _scales, _table, _where, kernel_on_y, make_design
from condgof.methods._adaptive_design import Design, narrowed
from condgof.methods._adaptive_solve import solve_adaptive
from condgof.methods._composite_base import Combined
from condgof.methods._prepare import Scored, Units, check_count
from condgof.methods._solve import Options
from condgof.null import Family, combine, pvalue
from condgof.sample import Sample, Seed
from condgof.stein import DEFAULT_MEMORY, LocalKernel, ScaleKernel, ScaleTiles, local_totals

#: Options of `adaptive` that are heeded here.
ADAPTIVE_OPTIONS = {
    *("standardize", "scale_x", "scales_x", "scales_y", "n_locations"),
    *("solver", "rank", "tolerance", "memory"),
}
#: Bytes that each worker may spend on keeping the kernel on x: 2,300 rows at three scales.
KEPT = 2**26


@dataclass(frozen=True, eq=False)
class AdaptiveStatistic:
    """All scales and locations of `adaptive`.

    Parameters
    ----------
    reference : Scored
        Responses drawn from the fitted model for the same x. Whatever must be chosen by looking at y
        (what h is factored by at single locations; the unit of y where it is not standardised) is
        chosen on them, and then the same for the observed sample and every replicate.
    design : Design
        Kernel on x, scales, number of locations.
    local : LocalKernel, optional
        The locations.
    options : Options
        The solver.
    units : Units
        As the user asked for them.
    seed : Seed
        Of the call.
    kernel : ScaleKernel
        The kernels of all scales.
    tiles : ScaleTiles
        The kernel on x between all rows, at all scales, where that fits into memory.
    """

    reference: Scored
    design: Design
    local: LocalKernel | None
    options: Options
    units: Units
    seed: Seed
    kernel: ScaleKernel
    tiles: ScaleTiles
    name: str = "adaptive"

    def __reduce__(self) -> tuple[Any, ...]:
        # Tiles can be made again by the worker: they are not sent.
        parts = (self.reference, self.design, self.local, self.options, self.units, self.seed)
        return type(self).with_tiles, parts

    @classmethod
    def with_tiles(
        cls,
        reference: Scored,
        design: Design,
        local: LocalKernel | None,
        options: Options,
        units: Units,
        seed: Seed,
    ) -> AdaptiveStatistic:
        """Compare the rows of x with each other, once."""
        kernel = design.scale_kernel(reference)
        rows = kernel.rows(reference.x, reference.y, reference.scores)
        keep = min(options.memory // 4, KEPT) if options.solver == "exact" else 0
        tiles = ScaleTiles.of(kernel, rows, keep)
        return cls(reference, design, local, options, units, seed, kernel, tiles)

    @classmethod
    def of(
        cls, reference: Sample, model: ModelLike, options: Mapping[str, Any], seed: Seed
    ) -> AdaptiveStatistic:
        """Make ready scales and locations for one x; the options are those of `adaptive`, checked."""
        units = Units(options.get("scale_x", "std"), options.get("standardize", "auto"))
        scored = Scored.of(model, reference, units)
        asked = options.get("n_locations", 80)
        design = make_design(
            scored,
            _scales(options.get("scales_x", (1.0, 0.5, 0.25)), "scales_x"),
            _scales(options.get("scales_y", (4.0, 2.0, 1.0, 0.5)), "scales_y"),
            0 if asked == 0 else check_count(asked, "n_locations"),
            seed,
        )
        solving = Options.of(
            solver=options["solver"],
            null="wild",
            n_boot=1,
            rank=options.get("rank"),
            tolerance=options.get("tolerance"),
            engine=1,
            memory=options.get("memory", DEFAULT_MEMORY),
        )
        with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
            local = design.local_kernel(scored, seed) if design.n_locations else None
        return cls.with_tiles(scored, design, local, solving, units, seed)

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Return n·D̂ at each scale, then at each location."""
        scored = Scored.of(model, self.reference.sample.with_y(y), self.units)
        if scored.by != self.reference.by:
            raise UnsupportedModelError(
                f"{model.name} standardises y in another way than the model that was fitted first."
            )
        if self.options.solver == "lowrank":
            parts = solve_adaptive(scored, self.design, self.options, self.seed)
            own = () if parts.local is None else (parts.local.statistics,)
            return np.concatenate([parts.scales.statistics, *own])
        rows = self.kernel.rows(scored.x, scored.y, scored.scores)
        found = [self.tiles.sums(self.kernel, rows)]
        if self.local is not None:
            found.append(local_totals(self.local, scored.rows(), Threads(1)))
        values: FloatArray = np.concatenate(found) / (scored.n - 1)
        return values

    def combined(self, values: FloatArray, draws: FloatArray) -> Combined:
        """Combine as `adaptive` does, with the replicates for draws.

        Each statistic is centred and divided by its standard deviation over the observed value and
        all replicates together (refits pull some scales down more than others): where these are
        exchangeable, so is everything made of them.
        """
        both = np.column_stack([values, draws])
        spread = both.std(axis=1, keepdims=True)
        centred = both - both.mean(axis=1, keepdims=True)
        z = np.divide(centred, spread, out=np.zeros(both.shape), where=spread > 0)
        kernel = self.kernel
        count, wide = len(kernel.scales), len(kernel.x_scales)
        scales = Family(z[:count, 0], z[:count, 1:])
        evidence = [scales.some(slice(a, None, wide)).log_mean_exp() for a in range(wide)]
        shares = [1.0 / wide] * wide
        table = _table(kernel, self.design, values[:count], scales.pvalues)
        best = int(np.argmax(scales.values))
        details: dict[str, Any] = {
            "scales": table,
            "strongest_scale": table[best],
            "scales_pvalue": pvalue(*combine(evidence, shares)),
        }
        if self.local is not None and len(values) > count:
            at = Family(z[count:, 0], z[count:, 1:])
            evidence.append(at.log_mean_exp())
            shares = [*(SCALES_SHARE * share for share in shares), 1.0 - SCALES_SHARE]
            details |= _where(self.reference, self.local.locations, at, evidence[-1])
        multiple, bandwidth = kernel.scales[best]
        shown = narrowed(self.design.kernel_x, multiple).shown(self.reference.sample.d_x)
        return Combined(*combine(evidence, shares), details, shown, kernel_on_y(kernel, bandwidth))
