"""The front door: whether a model fits, how and where it does not, and how much."""

from condgof.check._check import check
from condgof.check._comparison import Comparison, Pair, Ranking, Score, compare, rank
from condgof.check._composite import composite
from condgof.check._looked import Looked
from condgof.check._record import (
    Check,
    Condition,
    Effect,
    Finding,
    Interval,
    Power,
    Slice,
    Tolerance,
)
from condgof.check._repair import Gain, Repair

__all__ = [
    "Check", "Comparison", "Condition", "Effect", "Finding", "Gain", "Interval", "Looked", "Pair",
    "Power", "Ranking", "Repair", "Score", "Slice", "Tolerance", "check", "compare", "composite", "rank",
]  # fmt: skip
