"""Residuals: y compared with its law. One file and one class for each kind of y."""

from condgof.residuals._cells import CellResampler, CellResiduals, CellTestFunctions
from condgof.residuals._censored import (
    CensoredResiduals,
    CensoredTestFunctions,
    draw_censoring_times,
)
from condgof.residuals._choose import (
    STANDARDIZE,
    numbered,
    residual_class,
    residuals_of,
)
from condgof.residuals._circular import (
    AngleResampler,
    CircularResiduals,
    CircularScoreResiduals,
    SteinWaves,
    TrigonometricFunctions,
)
from condgof.residuals._classes import ClassResiduals, LabelResiduals
from condgof.residuals._continuous import ContinuousResiduals, NormalScoreResiduals
from condgof.residuals._counts import CountResiduals, RatioResiduals
from condgof.residuals._moments import MomentResiduals
from condgof.residuals._normal import (
    CORRELATION,
    GRID_END,
    GRID_STEPS,
    OUTLIERS,
    SMALLEST_DIRECTION,
    SURPRISE,
    NormalResampler,
    NormalTestFunctions,
    draw_top_surprises,
    excess,
    legendre,
    single_functions,
    surprise,
    surprise_count,
    top_surprises,
)
from condgof.residuals._rare import (
    Exceptions,
    draw_exceptions,
    hazards,
    other_cells,
)
from condgof.residuals._residuals import (
    STRETCHES,
    Neighbours,
    Resampled,
    Resampler,
    Residuals,
    TestFunctionBlock,
    TestFunctions,
)
from condgof.residuals._scores import JointScoreResiduals, ScoreResiduals
from condgof.residuals._several import (
    FoldedRankResiduals,
    MarginalResiduals,
    RankResiduals,
    SeveralResiduals,
)
from condgof.residuals._statements import (
    IntervalResiduals,
    QuantileResiduals,
    StatementResiduals,
)
from condgof.residuals._stein import (
    Y_LANDMARKS_STREAM,
    LandmarkFunctions,
    SteinResiduals,
    SteinTestFunctions,
    check_coordinates,
    line_of,
    overconfidence,
    raw_scores,
)

__all__ = [
    "CORRELATION",
    "GRID_END",
    "GRID_STEPS",
    "OUTLIERS",
    "SMALLEST_DIRECTION",
    "STANDARDIZE",
    "STRETCHES",
    "SURPRISE",
    "Y_LANDMARKS_STREAM",
    "AngleResampler",
    "CellResampler",
    "CellResiduals",
    "CellTestFunctions",
    "CensoredResiduals",
    "CensoredTestFunctions",
    "CircularResiduals",
    "CircularScoreResiduals",
    "ClassResiduals",
    "ContinuousResiduals",
    "CountResiduals",
    "Exceptions",
    "FoldedRankResiduals",
    "IntervalResiduals",
    "JointScoreResiduals",
    "LabelResiduals",
    "LandmarkFunctions",
    "MarginalResiduals",
    "MomentResiduals",
    "Neighbours",
    "NormalResampler",
    "NormalScoreResiduals",
    "NormalTestFunctions",
    "QuantileResiduals",
    "RankResiduals",
    "RatioResiduals",
    "Resampled",
    "Resampler",
    "Residuals",
    "ScoreResiduals",
    "SeveralResiduals",
    "StatementResiduals",
    "SteinResiduals",
    "SteinTestFunctions",
    "SteinWaves",
    "TestFunctionBlock",
    "TestFunctions",
    "TrigonometricFunctions",
    "check_coordinates",
    "draw_censoring_times",
    "draw_exceptions",
    "draw_top_surprises",
    "excess",
    "hazards",
    "legendre",
    "line_of",
    "numbered",
    "other_cells",
    "overconfidence",
    "raw_scores",
    "residual_class",
    "residuals_of",
    "single_functions",
    "surprise",
    "surprise_count",
    "top_surprises",
]
