"""One file a test."""

from condgof.methods._fscd import fscd
from condgof.methods._fssd import fssd
from condgof.methods._kcsd import kcsd
from condgof.methods._ksd import ksd
from condgof.methods._prepare import Scored, check_reg
from condgof.methods._solve import SOLVERS, find_landmarks

__all__ = ["SOLVERS", "Scored", "check_reg", "find_landmarks", "fscd", "fssd", "kcsd", "ksd"]
