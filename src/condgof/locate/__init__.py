"""Where a model fails."""

from condgof.locate._maps import power_criterion, witness

__all__ = ["power_criterion", "witness"]
