"""Places that were tested, with what is wrong there and in words."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels import Categorical
from condgof.locate._bench import Bench, gaussian_reach
from condgof.locate._how import Estimate, correlations, stein_estimates, weighted_estimates
from condgof.locate._panel import panel_of
from condgof.locate._record import Finding, Location
from condgof.locate._where import Place
from condgof.locate._words import place as place_words
from condgof.locate._words import probability, reaches

#: Fewer effective rows than this tell nothing about how.
LEAST_HOW = 8.0


def locations_of(
    bench: Bench, places: tuple[Place, ...], alpha: float, rejects: bool
) -> tuple[Location, ...]:
    """Describe the places."""
    estimates = [_estimates(bench, place) for place in places]
    looked_at = sum(map(len, estimates))
    return tuple(
        _location(bench, place, number, found, looked_at, rejects and place.pvalue <= alpha)
        for number, (place, found) in enumerate(zip(places, estimates, strict=True))
    )


def _location(
    bench: Bench, place: Place, number: int, found: list[Estimate], looked_at: int, named: bool
) -> Location:
    rows = bench.rows
    sample = rows.sample
    x = rows.to_user(place.point)
    half = {i: reach * rows.scales[i] for i, reach in gaussian_reach(bench.near).items()}
    reach = reaches(sample, x, half)
    levels = {
        i: sample.x_columns[i].levels[int(x[i])]
        for factor in bench.near.factors
        if isinstance(factor.kernel, Categorical)
        for i in factor.indices()
    }
    where = place_words(sample, x, reach, levels)
    ordered = sorted(found, key=lambda estimate: -estimate.size)
    findings = tuple(
        e.finding(looked_at, named, "model standard deviations", sample.d_y > 1) for e in ordered
    )
    label = {
        c.name: float(v) if c.levels is None else c.levels[int(v)]
        for c, v in zip(sample.x_columns, x, strict=True)
    }
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
        words=location_words(where, place.pvalue, findings, named),
        panel=panel_of(bench, place, number),
    )


def _estimates(bench: Bench, place: Place) -> list[Estimate]:
    """Estimate what is wrong near a place, from residuals where there are any, or from scores."""
    if place.rows < LEAST_HOW:
        return []
    rows, testing = bench.rows, bench.testing
    names = tuple(column.name for column in rows.sample.y_columns)
    near = place.weights > 0
    w, some = place.weights[near], testing[near]
    u: FloatArray = rows.y[some]
    if rows.by == "none":
        return stein_estimates(u, rows.scores[some], w, names)
    estimates = weighted_estimates(u, w, names, shape=rows.by in ("cdf", "marginals"))
    if rows.by == "cdf" and len(names) > 1:
        estimates += correlations(u, w, names)
    return estimates


def location_words(where: str, pvalue: float, findings: tuple[Finding, ...], named: bool) -> str:
    """Say where and what in a sentence or two."""
    place = f"At {where}"  # a column keeps its name, capital or not
    p = probability(pvalue)
    said = [finding.words for finding in findings if finding.named]
    if not named:
        return f"{place}: where to look, no evidence ({p})."
    if not said:
        return f"{place}: the model does not fit ({p}), in a way that has no simple name."
    return f"{place}: {'; '.join(said)} ({p})."
