"""One verb a file."""

from condgof.methods._adaptive import Adapted, adaptive, run_adaptive
from condgof.methods._calibration import calibration
from condgof.methods._fscd import fscd
from condgof.methods._kcsd import kcsd
from condgof.methods._ksd import fssd, ksd
from condgof.methods._maps import power_criterion, witness
from condgof.methods._mmd import mmd
from condgof.methods._rows import Scored, Stream, Units
from condgof.methods._zheng import zheng

__all__ = [
    "Adapted",
    "Scored",
    "Stream",
    "Units",
    "adaptive",
    "calibration",
    "fscd",
    "fssd",
    "kcsd",
    "ksd",
    "mmd",
    "power_criterion",
    "run_adaptive",
    "witness",
    "zheng",
]
