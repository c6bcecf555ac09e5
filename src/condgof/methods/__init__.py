"""One file a test."""

from condgof.methods._fscd import fscd
from condgof.methods._fssd import fssd
from condgof.methods._kcsd import kcsd
from condgof.methods._ksd import ksd
from condgof.methods._prepare import Scored, check_reg

__all__ = ["Scored", "check_reg", "fscd", "fssd", "kcsd", "ksd"]
