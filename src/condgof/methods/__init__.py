"""One file a test."""

from condgof.methods._adaptive import adaptive
from condgof.methods._calibration import calibration
from condgof.methods._composite import composite
from condgof.methods._fscd import fscd
from condgof.methods._fssd import fssd
from condgof.methods._kcsd import kcsd
from condgof.methods._ksd import ksd
from condgof.methods._lazy import lay_out
from condgof.methods._mmd import mmd
from condgof.methods._prepare import Scored, Units, check_reg
from condgof.methods._solve import SOLVERS, find_landmarks
from condgof.methods._stream import Stream, check_source_call
from condgof.methods._zheng import zheng

__all__ = [
    "SOLVERS",
    "Scored",
    "Stream",
    "Units",
    "adaptive",
    "calibration",
    "check_reg",
    "check_source_call",
    "composite",
    "find_landmarks",
    "fscd",
    "fssd",
    "kcsd",
    "ksd",
    "lay_out",
    "mmd",
    "zheng",
]
