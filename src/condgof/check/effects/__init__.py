"""Effects: what a misfit consists of.

A kind of error (bias, spread, the odds of a class, …) that depends on no column, on one or
on two is worth what its correction gains in log score on rows that it was not learned on.

- `_forms`: gains as functions of sums over cells,
- `_partitions`: cells of columns,
- `_tilts`: rows beside a law that can be corrected, one class for each way to correct,
- `_search`: all candidates at once,
- `_stages`: the best one is taken off, and the search goes on,
- `_held_out`: the whole search again without each fold,
- `_analysis`: all of it.
"""

from condgof.check.effects._analysis import (
    FEWEST_ROWS,
    Analysis,
    Replicates,
    analyse,
    analyse_state,
    make_state,
)
from condgof.check.effects._forms import (
    Exposure,
    Form,
    Location,
    Odds,
    Rate,
    Scale,
    Tilting,
)
from condgof.check.effects._held_out import HeldOut, apply_stages
from condgof.check.effects._partitions import Cells, Partition, everything, make_partitions
from condgof.check.effects._search import Candidate, Fit, Space
from condgof.check.effects._stages import (
    SIGNS_OF_ROWS,
    SIGNS_OF_UNITS,
    WHOLE_SAMPLES,
    KnownNull,
    ModelDraws,
    NullOfStages,
    ReplicateDraws,
    SampleDraws,
    SignDraws,
    Stage,
    State,
    Units,
    find_stages,
)
from condgof.check.effects._tilts import (
    CountTilt,
    ErrorKind,
    EventTilt,
    HazardTilt,
    NormalTilt,
    SeveralTilt,
    SignalTilt,
    Tilt,
)

__all__ = [
    "FEWEST_ROWS",
    "SIGNS_OF_ROWS",
    "SIGNS_OF_UNITS",
    "WHOLE_SAMPLES",
    "Analysis",
    "Candidate",
    "Cells",
    "CountTilt",
    "ErrorKind",
    "EventTilt",
    "Exposure",
    "Fit",
    "Form",
    "HazardTilt",
    "HeldOut",
    "KnownNull",
    "Location",
    "ModelDraws",
    "NormalTilt",
    "NullOfStages",
    "Odds",
    "Partition",
    "Rate",
    "ReplicateDraws",
    "Replicates",
    "SampleDraws",
    "Scale",
    "SeveralTilt",
    "SignDraws",
    "SignalTilt",
    "Space",
    "Stage",
    "State",
    "Tilt",
    "Tilting",
    "Units",
    "analyse",
    "analyse_state",
    "apply_stages",
    "everything",
    "find_stages",
    "make_partitions",
    "make_state",
]
