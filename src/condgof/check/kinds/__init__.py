"""What a check does for each kind of y: one file a kind, registered for its residuals."""

from condgof.check.kinds._bands import BAND_LEVELS, bands_of
from condgof.check.kinds._censored import PERIOD_LABELS, CensoredRows, hazard_at_times
from condgof.check.kinds._circular import (
    AngleHistogram,
    CircularRows,
    CircularScoreRows,
    unit_of,
)
from condgof.check.kinds._classes import (
    MOST_EXAMINED_CLASSES,
    TINY_PROBABILITY,
    ClassRows,
    by_label_and_rank,
    first_to_next,
    squares_by_label_and_rank,
)
from condgof.check.kinds._continuous import (
    LEGENDRE,
    LEGENDRE_THIRD_MOMENTS,
    ContinuousRows,
)
from condgof.check.kinds._counts import LARGE_PROBABILITY, CountRows, shifted_law
from condgof.check.kinds._moments import MomentRows
from condgof.check.kinds._rows import (
    CheckedRows,
    FrameColumn,
    RowTable,
    checked_rows,
    rows_class,
)
from condgof.check.kinds._scores import RatioRows, ScoreRows
from condgof.check.kinds._several import (
    MarginalRows,
    RankRows,
    SeveralRows,
    SingleMarginalRows,
    column_pairs,
)
from condgof.check.kinds._signals import (
    CellSignals,
    Draw,
    OfResampled,
    ReplicatedSignals,
    Signals,
    tilt_of_signals,
)
from condgof.check.kinds._statements import (
    IntervalRows,
    QuantileRows,
    StatementRows,
    moved_probability,
)

__all__ = [
    "BAND_LEVELS",
    "LARGE_PROBABILITY",
    "LEGENDRE",
    "LEGENDRE_THIRD_MOMENTS",
    "MOST_EXAMINED_CLASSES",
    "PERIOD_LABELS",
    "TINY_PROBABILITY",
    "AngleHistogram",
    "CellSignals",
    "CensoredRows",
    "CheckedRows",
    "CircularRows",
    "CircularScoreRows",
    "ClassRows",
    "ContinuousRows",
    "CountRows",
    "Draw",
    "FrameColumn",
    "IntervalRows",
    "MarginalRows",
    "MomentRows",
    "OfResampled",
    "QuantileRows",
    "RankRows",
    "RatioRows",
    "ReplicatedSignals",
    "RowTable",
    "ScoreRows",
    "SeveralRows",
    "Signals",
    "SingleMarginalRows",
    "StatementRows",
    "bands_of",
    "by_label_and_rank",
    "checked_rows",
    "column_pairs",
    "first_to_next",
    "hazard_at_times",
    "moved_probability",
    "rows_class",
    "shifted_law",
    "squares_by_label_and_rank",
    "tilt_of_signals",
    "unit_of",
]
