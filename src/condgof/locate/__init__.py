"""Where a model fails, how and how badly."""

from condgof.locate._check import check
from condgof.locate._check_groups import check_groups
from condgof.locate._difference import compare_map
from condgof.locate._difference_record import DifferenceMap, Place
from condgof.locate._grouped import GroupedChecks
from condgof.locate._record import (
    SCHEMA,
    Check,
    Detectable,
    Effect,
    Finding,
    Interval,
    Landscape,
    Location,
    Panel,
)

__all__ = [
    "SCHEMA",
    "Check",
    "Detectable",
    "DifferenceMap",
    "Effect",
    "Finding",
    "GroupedChecks",
    "Interval",
    "Landscape",
    "Location",
    "Panel",
    "Place",
    "check",
    "check_groups",
    "compare_map",
]
