"""Where a model fails, how and how badly."""

from condgof.locate._check import check
from condgof.locate._maps import power_criterion, witness
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
    "Effect",
    "Finding",
    "Interval",
    "Landscape",
    "Location",
    "Panel",
    "check",
    "power_criterion",
    "witness",
]
