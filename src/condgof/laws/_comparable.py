"""By which proper scores the laws of several models can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condgof.errors import UnsupportedModelError, option
from condgof.laws._circular import is_circular
from condgof.laws._discrete import Probabilities
from condgof.laws._known import Intervals, Quantiles, from_intervals, from_quantiles
from condgof.laws._law import Law
from condgof.laws._scores import MEASURES, available_measures

#: The discrepancy of models that have no proper score.
STEIN = "stein"


def as_common_statements(laws: Sequence[Law]) -> list[Law]:
    """Ask whole laws for the quantiles, or central intervals, that are all others have."""
    statements = next(
        (law for law in laws if isinstance(law, (Quantiles, Intervals))), None
    )
    if statements is None:
        return list(laws)
    return [_as_statements(law, statements) for law in laws]


def _as_statements(law: Law, statements: Quantiles | Intervals) -> Law:
    if law.discrete or not law.can("cdf"):
        return law
    if isinstance(statements, Quantiles):
        return from_quantiles(law.quantile(statements.levels), statements.levels)
    coverage = statements.coverage
    low = law.quantile(0.5 + -1.0 * coverage / 2.0)
    high = law.quantile(0.5 + 1.0 * coverage / 2.0)
    return from_intervals(low, high, coverage)


def observed_name(law: Law) -> str:
    """Return what a comparison calls the observations: classes, counts or rows."""
    if isinstance(law, Probabilities):
        return "classes"
    return "counts" if law.discrete else "rows"


class _Unlike(NamedTuple):
    """Why models that each offer a measure cannot be compared by it."""

    measure: str
    meanings: int  #: How many different things the models mean by it.
    reason: str


def _unlike(laws: Sequence[Law], common: set[str]) -> list[_Unlike]:
    """Return the measures by which these laws, though they offer them, do not compare."""
    kinds = {law.discrete for law in laws} if "log" in common else set()
    levels = {tuple(law.levels) for law in laws if isinstance(law, Quantiles)}
    coverages = {tuple(law.coverage) for law in laws if isinstance(law, Intervals)}
    candidates = [
        _Unlike("log", len(kinds), "a probability of one is no density of the other"),
        _Unlike("pinball", len(levels), "their quantiles are of different levels"),
        _Unlike("winkler", len(coverages), "their intervals are of different coverage"),
    ]
    return [one for one in candidates if one.meanings > 1]


def shared_measures(
    names: Sequence[str], laws: Sequence[Law], d_y: int, measure: str
) -> tuple[str, ...]:
    """Return the measures that all laws offer and are to be computed.

    None of them for Stein discrepancies; where there is nothing to compare by, an error.
    """
    offers = [set(available_measures(law, d_y)) for law in laws]
    common = set.intersection(*offers)
    unlike = _unlike(laws, common)
    common -= {one.measure for one in unlike}
    listed = "; ".join(
        f"{name!r} ({law.name}) offers {_listed(own)}"
        for name, law, own in zip(names, laws, offers, strict=True)
    )
    if unlike:
        listed += "; " + ", and ".join(one.reason for one in unlike)
    continuous = all(
        law.can("score") and not (law.discrete or law.is_censored or is_circular(law))
        for law in laws
    )
    if measure == STEIN and not continuous:
        raise UnsupportedModelError(
            f"The Stein discrepancy needs scores ∇_y log p(y|x) of all models: {listed}."
            f" Leave {option('measure')} out."
        )
    none_in_common = not common and continuous and not all(offers)
    if measure == STEIN or (measure == "auto" and none_in_common):
        return ()
    if not common or measure not in ("auto", *common):
        what = MEASURES[measure].name if measure in MEASURES else "proper score"
        raise UnsupportedModelError(
            f"The models have no {what} in common to be compared by: {listed}. Leave"
            f" {option('measure')} out, or give all as densities, CDFs or draws, as"
            " quantiles of the same levels, or as probabilities."
        )
    return tuple(key for key in MEASURES if key in common and measure in ("auto", key))


def _listed(offers: set[str]) -> str:
    return ", ".join(MEASURES[key].name for key in MEASURES if key in offers) or "none"
