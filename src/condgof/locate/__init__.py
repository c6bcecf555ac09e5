"""Where a model fails, how and how badly."""

from condgof.locate._check import check
from condgof.locate._maps import power_criterion, witness
from condgof.locate._record import Check

__all__ = ["Check", "check", "power_criterion", "witness"]
