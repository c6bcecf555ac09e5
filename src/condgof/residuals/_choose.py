"""Which residuals a law and a sample make: the only place that decides."""

from __future__ import annotations

from condgof.errors import InputError, UnsupportedModelError, check_choice
from condgof.laws import (
    FULL,
    PLAIN,
    CellsOfY,
    Censored,
    Discrete,
    Intervals,
    Joined,
    Law,
    Quantiles,
    VectorDraws,
    is_circular,
)
from condgof.residuals._cells import CellResiduals
from condgof.residuals._censored import CensoredResiduals
from condgof.residuals._circular import CircularResiduals, CircularScoreResiduals
from condgof.residuals._classes import ClassResiduals, LabelResiduals, OrderedResiduals
from condgof.residuals._continuous import ContinuousResiduals
from condgof.residuals._counts import CountCellResiduals, CountResiduals
from condgof.residuals._moments import MomentResiduals
from condgof.residuals._residuals import Residuals
from condgof.residuals._scores import ScoreResiduals
from condgof.residuals._several import (
    MarginalResiduals,
    RankResiduals,
    SeveralResiduals,
)
from condgof.residuals._statements import (
    IntervalResiduals,
    QuantileResiduals,
    StatementResiduals,
)
from condgof.sample import Sample

#: What a user may standardise y by.
STANDARDIZE = ("auto", "cdf", "marginals", "mean_std", "none")


def residuals_of(law: Law, sample: Sample, standardize: str) -> Residuals:
    """Compare the y of a sample with its law, in the coordinates a user asked for.

    Parameters
    ----------
    law : Law
        The predictive distribution of each row.
    sample : Sample
        The rows; a discrete y as the numbers that its law has for it (`numbered`).
    standardize : {"auto", "cdf", "marginals", "mean_std", "none"}
        What y is standardised by, given x; "auto" takes the best that the law offers.
    """
    return residual_class(law, sample.d_y, standardize).from_law(law, sample)


def residual_class(law: Law, d_y: int, standardize: str) -> type[Residuals]:
    """Choose the class of residuals, and refuse what the law cannot do."""
    if isinstance(law, Censored):
        return _censored(standardize)
    check_choice(standardize, "standardize", STANDARDIZE)
    if is_circular(law):
        return _circular(law, standardize)
    if law.discrete:
        return _discrete(law, standardize)
    return _continuous(law, d_y, standardize)


def numbered(law: Law, sample: Sample) -> Sample:
    """Return the sample with a discrete y as the numbers that its law has for it."""
    if isinstance(law, Discrete):
        return sample.with_numbers(law.numbers(sample.y_given))
    return sample


def _censored(standardize: str) -> type[Residuals]:
    if standardize in ("auto", "cdf"):
        return CensoredResiduals
    raise InputError(
        "With event= y is compared by the model's CDF;"
        f" standardize={standardize!r} has no meaning. Leave it out."
    )


def _circular(law: Law, standardize: str) -> type[Residuals]:
    if standardize not in ("auto", "none"):
        raise InputError(
            f"standardize={standardize!r} is for a y on a line. Use 'auto' or 'none':"
            " angles are compared with the model's mean directions, or by its scores."
        )
    by_scores = standardize == "none" and law.can("score")
    return CircularScoreResiduals if by_scores else CircularResiduals


def _discrete(law: Law, standardize: str) -> type[CellResiduals]:
    if standardize not in ("auto", "none"):
        raise InputError(
            f"standardize={standardize!r} is for a continuous y. Use 'auto' or 'none':"
            " counts and ordered classes are compared by steps of the model's CDF."
        )
    if isinstance(law, Quantiles):
        return QuantileResiduals
    if isinstance(law, Intervals):
        return IntervalResiduals
    if isinstance(law, CellsOfY):
        return StatementResiduals
    first = law.first if isinstance(law, Joined) else law
    if isinstance(first, VectorDraws):
        return RankResiduals
    assert isinstance(law, Discrete)
    full = standardize == "auto"
    values = law.cells(FULL if full else PLAIN).blocks[0]
    if values.distances:
        return CountResiduals if full and law.can("cdf") else CountCellResiduals
    if not full:
        return LabelResiduals
    is_ordered = values.positions is not None and values.stop - values.start > 2
    return OrderedResiduals if is_ordered else ClassResiduals


def _continuous(law: Law, d_y: int, standardize: str) -> type[Residuals]:
    if standardize == "none" and law.can("score"):
        return ScoreResiduals  # before a density is integrated to a CDF that nobody needs
    normal = ContinuousResiduals if d_y == 1 else SeveralResiduals
    # The classes by what a user calls them, the best first.
    classes: dict[str, type[Residuals]] = {
        "cdf": normal,
        "marginals": MarginalResiduals,
        "mean_std": MomentResiduals,
        "none": ScoreResiduals,
    }
    # Whether the law offers what each needs.
    has_moments = law.can("location_scale") or law.can("mean_std")
    offers = {
        "cdf": law.can("normal_scores") or (law.can("cdf") and d_y == 1),
        "marginals": law.can("marginals") and law.can("score"),
        "mean_std": has_moments and law.can("score"),
        "none": law.can("score"),
    }
    if not any(offers.values()) and law.can("cdf"):
        raise UnsupportedModelError(
            f"{law.name} has a CDF for one column of y, and y has {d_y}."
        )
    # A law without a score (draws, PITs, a histogram) is compared by what it has.
    if standardize == "auto" or (standardize == "none" and not offers["none"]):
        best = next((name for name, offered in offers.items() if offered), "none")
        return classes[best]
    if not offers[standardize]:
        offered = ", ".join(repr(name) for name, can in offers.items() if can)
        raise UnsupportedModelError(
            f"standardize={standardize!r} needs more than {law.name} offers for d_y ="
            f" {d_y}. It can take: {offered}."
        )
    return classes[standardize]
