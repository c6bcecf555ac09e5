"""The paper's problems and the bundled data; studies of level and power."""

from condgof.study._csv import csv_cell
from condgof.study._engel import EngelStudy, engel_study, load_engel
from condgof.study._lock import InUseError
from condgof.study._methods import METHODS, TITLES
from condgof.study._misfit import MISFITS, MisfitProblem, misfit_of
from condgof.study._names import Reference
from condgof.study._paper import (
    ILLUSTRATIONS,
    PAPER_METHODS,
    PAPER_SIZES,
    PAPER_TRIALS,
    Illustration,
    illustrate,
)
from condgof.study._problem import Problem
from condgof.study._problems import PROBLEMS, problem
from condgof.study._run import run_study
from condgof.study._store import StudyError
from condgof.study._study import Study
from condgof.study._table import Row
from condgof.study._taxi import (
    DOWNTOWN,
    Effect,
    Kernels,
    Occasion,
    Zone,
    choose_kernels,
    effect_of,
    examine_trips,
    examine_zones,
    match_hours,
    null_deviations,
)
from condgof.study._taxi_maps import (
    KILOMETRES,
    PickupGrid,
    Spot,
    find_spots,
    local_effects,
    local_means,
    normal_map,
    paper_map,
    pickup_grid,
)
from condgof.study._trial import Outcome, Trial, draw_trial
from condgof.study._trips import EAST, NORTH, SOUTH, WEST, Trips, join, read_trips

__all__ = [
    "DOWNTOWN",
    "EAST",
    "ILLUSTRATIONS",
    "KILOMETRES",
    "METHODS",
    "MISFITS",
    "NORTH",
    "PAPER_METHODS",
    "PAPER_SIZES",
    "PAPER_TRIALS",
    "PROBLEMS",
    "SOUTH",
    "TITLES",
    "WEST",
    "Effect",
    "EngelStudy",
    "Illustration",
    "InUseError",
    "Kernels",
    "MisfitProblem",
    "Occasion",
    "Outcome",
    "PickupGrid",
    "Problem",
    "Reference",
    "Row",
    "Spot",
    "Study",
    "StudyError",
    "Trial",
    "Trips",
    "Zone",
    "choose_kernels",
    "csv_cell",
    "draw_trial",
    "effect_of",
    "engel_study",
    "examine_trips",
    "examine_zones",
    "find_spots",
    "illustrate",
    "join",
    "load_engel",
    "local_effects",
    "local_means",
    "match_hours",
    "misfit_of",
    "normal_map",
    "null_deviations",
    "paper_map",
    "pickup_grid",
    "problem",
    "read_trips",
    "run_study",
]
