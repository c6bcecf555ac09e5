"""Where a model fails."""

from condgof.locate._difference import DifferenceMap, Place, compare_map
from condgof.locate._maps import power_criterion, witness

__all__ = ["DifferenceMap", "Place", "compare_map", "power_criterion", "witness"]
