"""One file a test."""

from condgof.methods._adaptive import SCALES_SHARE, Adapted, adaptive, run_adaptive
from condgof.methods._adaptive_design import (
    LOCAL_RANK,
    LOCAL_TOLERANCE,
    LOCAL_X,
    LOCAL_Y,
    Design,
    narrowed,
)
from condgof.methods._adaptive_solve import Parts
from condgof.methods._calibration import calibration
from condgof.methods._compare import check_names, compare, joint_options
from condgof.methods._comparison import Comparison, Pair, Ranking
from condgof.methods._composite import composite
from condgof.methods._contrast import chosen as solver_of
from condgof.methods._dependence import split_dependent
from condgof.methods._fscd import fscd
from condgof.methods._fssd import fssd
from condgof.methods._joint import Joint
from condgof.methods._joint_prepare import prepare_joint
from condgof.methods._joint_stream import JointStream
from condgof.methods._kcsd import kcsd
from condgof.methods._ksd import ksd
from condgof.methods._lazy import lay_out
from condgof.methods._mmd import mmd
from condgof.methods._prepare import Scored, Units, check_count, check_reg
from condgof.methods._rank import rank
from condgof.methods._redraw import SCALES_SMALLEST, scale_features
from condgof.methods._solve import SOLVERS, Options, find_landmarks, prepare, prepare_with_model
from condgof.methods._stream import SUBSAMPLE, Stream, check_source_call, score_rows
from condgof.methods._zheng import zheng

__all__ = [
    "LOCAL_RANK",
    "LOCAL_TOLERANCE",
    "LOCAL_X",
    "LOCAL_Y",
    "SCALES_SHARE",
    "SCALES_SMALLEST",
    "SOLVERS",
    "SUBSAMPLE",
    "Adapted",
    "Comparison",
    "Design",
    "Joint",
    "JointStream",
    "Options",
    "Pair",
    "Parts",
    "Ranking",
    "Scored",
    "Stream",
    "Units",
    "adaptive",
    "calibration",
    "check_count",
    "check_names",
    "check_reg",
    "check_source_call",
    "compare",
    "composite",
    "find_landmarks",
    "fscd",
    "fssd",
    "joint_options",
    "kcsd",
    "ksd",
    "lay_out",
    "mmd",
    "narrowed",
    "prepare",
    "prepare_joint",
    "prepare_with_model",
    "rank",
    "run_adaptive",
    "scale_features",
    "score_rows",
    "solver_of",
    "split_dependent",
    "zheng",
]
