"""The front door: whether a model fits, how and where it does not, and how much."""

from condgof.check._check import check
from condgof.check._difference import compare_map
from condgof.check._difference_record import DifferenceMap, Place
from condgof.check._looked import Looked
from condgof.check._record import (
    SCHEMA,
    Check,
    Condition,
    Effect,
    Finding,
    Interval,
    Power,
    Slice,
    Tolerance,
)

__all__ = [
    "SCHEMA",
    "Check",
    "Condition",
    "DifferenceMap",
    "Effect",
    "Finding",
    "Interval",
    "Looked",
    "Place",
    "Power",
    "Slice",
    "Tolerance",
    "check",
    "compare_map",
]
