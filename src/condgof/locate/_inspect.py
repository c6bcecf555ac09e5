"""The parts of a check, put together on a sample that is scored."""

from __future__ import annotations

import importlib
import platform
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof.errors import InputError
from condgof.laws import CellsOfY, ModelLike
from condgof.locate._bench import LEAST_NEAR, Bench, by_ranks
from condgof.locate._effect import (
    effect_of,
    effect_of_columns,
    ranked_only,
    score_spread,
    y_bandwidth,
)
from condgof.locate._effect_discrete import class_kernel_x, discrete_effect
from condgof.locate._landscape import blank_landscape, landscape_of
from condgof.locate._locations import locations_of
from condgof.locate._power import detectable_of
from condgof.locate._record import Check, Landscape, Location
from condgof.locate._search import Search, choose
from condgof.locate._verdict import verdict
from condgof.locate._view import view_of
from condgof.locate._where import examine
from condgof.methods._adaptive import run_adaptive
from condgof.methods._options import Options, check_count
from condgof.methods._rows import Scored, Stream
from condgof.result import GofResult
from condgof.sample import Seed

#: Candidates for locations, which are also the points of the map.
CANDIDATES = 500
#: Fewer rows than this are not split to look for places.
LEAST_ROWS = 4 * LEAST_NEAR


@dataclass(frozen=True)
class Aims:
    """What a check is asked for."""

    #: Its level.
    alpha: float
    #: How many places to look at, at most.
    n_locations: int

    @classmethod
    def of(cls, alpha: Any, n_locations: Any) -> Aims:
        """Check what a user passed."""
        number = isinstance(alpha, (int, float, np.floating)) and not isinstance(alpha, bool)
        if not number or not 0 < alpha < 1:
            raise InputError(f"alpha must be between 0 and 1, got {alpha!r}.")
        count = 0 if isinstance(n_locations, int) and n_locations == 0 else n_locations
        return cls(float(alpha), count and check_count(count, "n_locations"))


def inspect(
    model: ModelLike, scored: Scored | Stream, aims: Aims, options: Options, seed: Seed
) -> Check:
    """Check a model on a sample that is scored."""
    adapted = run_adaptive(scored, options, seed)
    result, rows = adapted.result, scored.subsample
    bench = Bench.of(model, scored, adapted.design, options.rows, seed, options.engine)
    locations, landscape, said = _look(bench, aims, result.pvalue <= aims.alpha, options)
    tau = None
    if rows.cells is None:
        effect = effect_of(bench)
        if rows.by == "none":
            tau = float(np.exp(np.log(score_spread(bench.rows)).mean()))
    else:
        effect = effect_of_columns(bench) if by_ranks(rows) else discrete_effect(bench)
    detectable = detectable_of(adapted, bench, aims.alpha, tau, ranked_only(bench))
    found = Check(
        result=result,
        effect=effect,
        locations=locations,
        detectable=detectable,
        landscape=landscape,
        alpha=aims.alpha,
        x_columns=tuple(column.name for column in rows.sample.x_columns),
        y_columns=tuple(column.name for column in rows.sample.y_columns),
        words="",
        details=_details(bench, result, said),
    )
    return verdict(found)


def _look(
    bench: Bench, aims: Aims, rejects: bool, options: Options
) -> tuple[tuple[Location, ...], Landscape, tuple[str, ...]]:
    """Look for places and describe them; the last is what could not be done."""
    view, points = view_of(bench), bench.points(CANDIDATES)
    why = _why_not(bench)
    if why:
        return (), blank_landscape(bench, points, view), (why,)
    search = Search.of(bench)
    values, _, near = search.at(bench.near, bench.rows.x[points])
    chosen = choose(search, bench.rows.x[points], values, near, aims.n_locations)
    places = examine(search, chosen, options)
    said = () if places or not aims.n_locations else ("no place has enough rows near it",)
    named = locations_of(bench, places, aims.alpha, rejects, view, 1.0 / (options.n_boot + 1))
    return named, landscape_of(search, points, values, view), (*said, *_few_groups(bench, aims.alpha))


def _why_not(bench: Bench) -> str:
    """Say why places cannot be looked for; "" where they can."""
    if not bench.columns:
        return "no column of x can tell where"
    if bench.rows.n < LEAST_ROWS:
        return f"{bench.rows.n} rows are too few to tell where (that takes {LEAST_ROWS})"
    if not len(bench.testing):
        return "groups are too few to tell where: some must choose places, and others test them"
    return ""


def _few_groups(bench: Bench, alpha: float) -> tuple[str, ...]:
    """Say so where the groups that test are too few for any evidence."""
    count = bench.dependence.take(bench.testing).count
    if bench.dependence.independent or not count or 2.0 ** (1 - count) <= alpha:
        return ()
    return (f"no place can be named: {count} groups tested them, which have {2 ** (count - 1)} patterns "
            "of signs",)  # fmt: skip


def effect_kernels(bench: Bench) -> str:
    """Return the kernels of the effect, for the reader of a check."""
    sample, cells = bench.rows.sample, bench.rows.cells
    if cells is None:
        on_y = f"Gaussian({y_bandwidth(bench):.6g}) on standardised y"
        return f"{bench.wide.shown(sample.d_x)!r} on x, {on_y}"
    if cells.blocks[0].distances:
        return f"{bench.wide.shown(sample.d_x)!r} on x, Gaussian(1) on standardised counts"
    if by_ranks(bench.rows):
        return f"{bench.wide.shown(sample.d_x)!r} on x, Gaussian(1) on the normal scores of each column"
    what = "cells" if isinstance(bench.law, CellsOfY) else "classes"
    return f"{class_kernel_x(bench).shown(sample.d_x)!r} on x, whether {what} are equal on y"


def _details(bench: Bench, result: GofResult, said: tuple[str, ...]) -> dict[str, Any]:
    import scipy

    assert result.null_distribution is not None
    return {
        "choosing_rows": len(bench.choosing),
        "testing_rows": len(bench.testing),
        "pvalue_floor": 1.0 / (len(result.null_distribution) + 1),
        "correction": "step-down max-T over the places, on rows that did not choose them",
        "kernel_effect": effect_kernels(bench),
        "kernel_where": str(bench.near.shown(bench.rows.sample.d_x)),
        "versions": {
            "condgof": importlib.import_module("condgof").__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
        "notes": (*result.details.get("notes", ()), *bench.notes, *said, *_dependence_notes(bench)),
    }


def _dependence_notes(bench: Bench) -> tuple[str, ...]:
    """Say what is not said for rows that depend on each other."""
    if bench.dependence.independent:
        return ()
    return ("what could have been found is worked out as if rows were independent, and so is somewhat "
            "too small",)  # fmt: skip
