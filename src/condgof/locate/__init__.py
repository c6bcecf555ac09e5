"""Where a model fails, how and how badly."""

from condgof.locate._check import check
from condgof.locate._check_groups import check_groups
from condgof.locate._grouped import GroupedChecks
from condgof.locate._maps import power_criterion, witness
from condgof.locate._record import Check

__all__ = ["Check", "GroupedChecks", "check", "check_groups", "power_criterion", "witness"]
