"""Where a model fails."""

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
    "power_criterion",
    "witness",
]
