"""The tests, one verb a function: what a user calls stands here, all else is imported by module."""

from condgof.methods._adaptive import adaptive, calibration
from condgof.methods._baselines import mmd, zheng
from condgof.methods._fscd import fscd, fssd
from condgof.methods._kcsd import kcsd, ksd
from condgof.methods._maps import power_criterion, witness

__all__ = [
    "adaptive", "calibration", "fscd", "fssd", "kcsd", "ksd", "mmd", "power_criterion", "witness",
    "zheng",
]  # fmt: skip
