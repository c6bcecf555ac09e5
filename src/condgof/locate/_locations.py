"""Places that were tested, with what is wrong there and in words."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels import Categorical
from condgof.locate._bench import Bench, gaussian_reach
from condgof.locate._how import Estimate
from condgof.locate._panel import panel_of
from condgof.locate._record import Finding, Location, Panel
from condgof.locate._residuals import How, Residuals, estimates_at
from condgof.locate._scatter import Scatter
from condgof.locate._view import View
from condgof.locate._where import Place
from condgof.locate._words import EVERYWHERE, reaches
from condgof.locate._words import place as place_words
from condgof.methods._rows import Scored
from condgof.result import pvalue_words


def locations_of(
    bench: Bench,
    places: tuple[Place, ...],
    alpha: float,
    rejects: bool,
    view: View | None,
    floor: float = 0.0,
) -> tuple[Location, ...]:
    """Describe the places; `view` is that of a discrete y, `floor` the smallest p-value there is."""
    if not places:
        return ()
    how: How = Residuals.of(bench) if view is None else view
    scatter = Scatter.of(bench.dependence.take(bench.testing), len(bench.testing))
    estimates = [estimates_at(how, place, scatter) for place in places]
    names = [rejects and place.pvalue <= alpha for place in places]
    return tuple(
        _location(
            bench,
            place,
            _findings(*found, named, how.unit),
            named,
            panel_of(bench, place, number, view),
            floor,
        )
        for number, (place, found, named) in enumerate(zip(places, estimates, names, strict=True))
    )


def _findings(found: list[Estimate], looked_at: int, named: bool, unit: str) -> tuple[Finding, ...]:
    """Turn estimates into findings, most telling first."""
    several = len({estimate.columns for estimate in found}) > 1
    ordered = sorted(found, key=lambda estimate: -estimate.size)
    return tuple(estimate.finding(looked_at, named, unit, several) for estimate in ordered)


def _location(
    bench: Bench,
    place: Place,
    findings: tuple[Finding, ...],
    named: bool,
    panel: Panel,
    floor: float,
) -> Location:
    rows = bench.rows
    sample = rows.sample
    x = rows.to_user(place.point)
    ends = {i: _ends(rows, place.point, i, far) for i, far in gaussian_reach(place.kernel).items()}
    reach = reaches(sample, ends)
    label = {
        c.name: float(v) if c.kind == "numbers" else c.text(v)
        for c, v in zip(sample.x_columns, x, strict=True)
    }
    levels = {
        i: str(label[sample.x_columns[i].name])
        for factor in place.kernel.factors
        if isinstance(factor.kernel, Categorical)
        for i in factor.indices()
    }
    where = place_words(sample, x, reach, levels)
    return Location(
        x=x,
        label=label,
        where=where,
        reach=reach,
        pvalue=place.pvalue,
        raw_pvalue=place.raw_pvalue,
        named=named,
        rows=place.rows,
        strength=place.strength,
        findings=findings,
        words=location_words(where, place.pvalue, findings, named, floor),
        panel=panel,
        half_width={sample.x_columns[i].name: 0.5 * (high - low) for i, (low, high) in ends.items()},
        levels={sample.x_columns[i].name: level for i, level in levels.items()},
    )


def _ends(rows: Scored, point: FloatArray, column: int, far: float) -> tuple[float, float]:
    """Return between which values of a column rows count at least half, in the user's units."""
    both = np.tile(point, (2, 1))
    both[:, column] += (-far, far)
    low, high = rows.to_user(both)[:, column]
    return float(low), float(high)


def location_words(
    where: str, pvalue: float, findings: tuple[Finding, ...], named: bool, floor: float = 0.0
) -> str:
    """Say where and what in a sentence or two."""
    # A column keeps its name, capital or not.
    place = where[0].upper() + where[1:] if where == EVERYWHERE else f"At {where}"
    p = pvalue_words(pvalue, floor)
    said = [finding.words for finding in findings if finding.named]
    if not named:
        return f"{place}: where to look, no evidence ({p})."
    if not said:
        likely = f"; most telling, though not certain: {findings[0].words}" if findings else ""
        return f"{place}: the model does not fit ({p}){likely}."
    return f"{place}: {'; '.join(said)} ({p})."
