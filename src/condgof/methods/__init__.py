"""One file a test."""

from condgof.methods._adaptive import SCALES_SHARE, Adapted, adaptive, run_adaptive
from condgof.methods._adaptive_solve import LOCAL_RANK, LOCAL_TOLERANCE, LOCAL_X, LOCAL_Y, narrowed
from condgof.methods._fscd import fscd
from condgof.methods._fssd import fssd
from condgof.methods._kcsd import kcsd
from condgof.methods._ksd import ksd
from condgof.methods._lazy import lay_out
from condgof.methods._mmd import mmd
from condgof.methods._prepare import Scored, Units, check_count, check_reg
from condgof.methods._solve import SOLVERS, Options, find_landmarks, prepare_with_model
from condgof.methods._stream import SUBSAMPLE, Stream, check_source_call, score_rows
from condgof.methods._zheng import zheng

__all__ = [
    "LOCAL_RANK",
    "LOCAL_TOLERANCE",
    "LOCAL_X",
    "LOCAL_Y",
    "SCALES_SHARE",
    "SOLVERS",
    "SUBSAMPLE",
    "Adapted",
    "Options",
    "Scored",
    "Stream",
    "Units",
    "adaptive",
    "check_count",
    "check_reg",
    "check_source_call",
    "find_landmarks",
    "fscd",
    "fssd",
    "kcsd",
    "ksd",
    "lay_out",
    "mmd",
    "narrowed",
    "prepare_with_model",
    "run_adaptive",
    "score_rows",
    "zheng",
]
