"""Several models on one sample, scored row by row with the proper scores that all of them offer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, UnsupportedModelError
from condgof.laws import (
    MEASURES,
    Intervals,
    Law,
    Probabilities,
    Quantiles,
    from_intervals,
    from_quantiles,
    offered,
    score,
)
from condgof.methods._autocorrelation import auto_length, look
from condgof.methods._dependence import Asked, given_dependence
from condgof.methods._joint import for_each, read_models, read_sample
from condgof.methods._rows import check_source_call, read_laws, with_columns
from condgof.null import Dependence, differences
from condgof.sample import Sample

#: The discrepancy of models that have no proper score.
STEIN = "stein"


@dataclass(frozen=True, eq=False)
class Measured:
    """What the measures that K models share say of n rows."""

    names: tuple[str, ...]
    n: int
    #: Scores by the key of the measure, (K, n) each, in the orientation of the field.
    tables: Mapping[str, FloatArray]
    #: "classes", "counts" or "rows": what a probability, or a density, of 0 was given to.
    observed: str = "rows"
    notes: tuple[str, ...] = ()
    #: The rows, where they are in memory.
    sample: Sample | None = None
    #: How they depend on each other.
    dependence: Dependence = field(default_factory=Dependence)

    def differences(self, key: str, a: int = 0, b: int = 1) -> FloatArray:
        """Return the scores of one model less those of another, (n,)."""
        return differences(self.tables[key][a], self.tables[key][b])

    def impossible(self, key: str) -> tuple[int, ...]:
        """Return in how many rows each model has an infinite score."""
        return tuple(int(np.isinf(own).sum()) for own in self.tables[key])


def measured(
    models: Mapping[str, Any], x: Any, y: Any, measure: str, missing: str, asked: Asked
) -> Measured:
    """Score all rows of a sample, or of a source in one pass."""
    if not isinstance(measure, str) or measure not in ("auto", STEIN, *MEASURES):
        raise InputError(
            f"measure must be 'auto', {', '.join(map(repr, MEASURES))} or {STEIN!r}, got {measure!r}."
        )
    names, (ready, x, y) = tuple(models), read_models(models, x, y)
    sample = None
    pieces: Iterator[tuple[Sample, list[Law]]]
    if check_source_call(x, y, "auto", missing):
        source = with_columns(ready, x)
        pieces = ((s, laws) for s, laws, _ in read_laws(source, ready, 0, source.n))
        n = source.n
    else:
        laws, sample = read_sample(ready, names, x, y, missing)
        pieces, n = iter([(sample, laws)]), sample.n
    tables: dict[str, list[FloatArray]] = {}
    seen, notes = "rows", list[str]()
    for own, laws in pieces:
        d_y, given = own.d_y, own.y_given
        laws = alike([law.facing(given) for law in laws])
        if not tables:
            keys, first = shared(names, laws, d_y, measure), laws[0]
            discrete = "counts" if first.discrete else "rows"
            seen = "classes" if isinstance(first, Probabilities) else discrete
        for key in keys:
            scores = for_each(names, laws, partial(score, y=given, measure=key))
            tables.setdefault(key, []).append(np.stack(scores))
        notes += [f"{name}: {note}" for name, law in zip(names, laws, strict=True) for note in law.notes]
        if not keys:
            break
    found = {key: np.concatenate(parts, axis=1) for key, parts in tables.items()}
    said = tuple(dict.fromkeys(notes))
    if sample is not None:
        said += tuple(sample.notes())
    whole = Measured(names, n, found, seen, said, sample)
    rows = _dependence(whole, asked, x) if found else Dependence()
    return replace(whole, notes=(*said, *rows.notes), dependence=rows)


def _dependence(found: Measured, asked: Asked, x: Any) -> Dependence:
    """Find how rows depend on each other, from differences of scores; warn where nothing was said."""
    pairs = [
        np.nan_to_num(found.differences(key, 0, b), posinf=0.0, neginf=0.0)
        for key in found.tables
        for b in range(1, len(found.names))
    ]
    columns = np.stack(pairs, axis=1)
    if asked.dependence == "auto":
        length = auto_length([columns], found.n)
        return Dependence(length, notes=(f"block length {length} chosen by dependence='auto'",))
    if asked.dependence is None and asked.groups is None:
        return Dependence(notes=look([columns]))
    return given_dependence(asked, found.n, x, 0, found.sample)


def alike(laws: Sequence[Law]) -> list[Law]:
    """Ask whole laws for the quantiles, or the central intervals, that are all that others are."""
    cells = [law for law in laws if isinstance(law, (Quantiles, Intervals))]
    if not cells or len(cells) == len(laws):
        return list(laws)

    def seen(law: Law) -> Law:
        if isinstance(law, (Quantiles, Intervals)) or not law.can("cdf") or law.discrete:
            return law
        one = cells[0]
        if isinstance(one, Quantiles):
            return from_quantiles(law.quantile(one.levels), one.levels)
        low, high = (law.quantile(0.5 + side * one.coverage / 2.0) for side in (-1.0, 1.0))
        return from_intervals(low, high, one.coverage)

    return [seen(law) for law in laws]


def shared(names: Sequence[str], laws: Sequence[Law], d_y: int, measure: str) -> tuple[str, ...]:
    """Return the measures that all laws offer and are to be computed; none for Stein discrepancies."""
    each = [set(offered(law, d_y)) for law in laws]
    common = set.intersection(*each)
    why = []
    if len({law.discrete for law in laws}) > 1 and "log" in common:
        common -= {"log"}
        why.append("a probability of one is no density of the other")
    if len({tuple(law.levels) for law in laws if isinstance(law, Quantiles)}) > 1:
        common -= {"pinball"}
        why.append("their quantiles are of different levels")
    if len({tuple(law.coverage) for law in laws if isinstance(law, Intervals)}) > 1:
        common -= {"winkler"}
        why.append("their intervals are of different coverage")
    told = "; ".join(
        f"{name!r} ({law.name}) offers "
        + (", ".join(MEASURES[k].name for k in MEASURES if k in own) or "none")
        for name, law, own in zip(names, laws, each, strict=True)
    )
    if why:
        told += f"; {', and '.join(why)}"
    if measure in MEASURES and measure not in common:
        raise UnsupportedModelError(
            f"The models have no {MEASURES[measure].name} in common: {told}. Leave measure= out, or "
            "give models that have it."
        )
    continuous = not any(law.discrete for law in laws) and all(law.can("score") for law in laws)
    if measure == STEIN and not continuous:
        raise UnsupportedModelError(
            f"The Stein discrepancy needs scores ∇_y log p(y|x) of all models: {told}. Leave "
            "measure= out."
        )
    if measure == STEIN or (not common and continuous and not all(each)):
        return ()
    if not common:
        raise UnsupportedModelError(
            f"The models have no proper score in common to be compared by: {told}. Give all as "
            "densities, CDFs or draws, as quantiles of the same levels, or as probabilities of classes."
        )
    return tuple(k for k in MEASURES if k in common and measure in ("auto", k))
