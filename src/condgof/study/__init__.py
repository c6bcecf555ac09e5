"""The paper's problems and the bundled data."""

from condgof.study._engel import EngelStudy, Finding, engel_study, examine, load_engel
from condgof.study._problem import Problem
from condgof.study._problems import PROBLEMS, problem
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
from condgof.study._trips import EAST, NORTH, SOUTH, WEST, Trips, join, read_trips

__all__ = [
    "DOWNTOWN",
    "EAST",
    "KILOMETRES",
    "NORTH",
    "PROBLEMS",
    "SOUTH",
    "WEST",
    "Effect",
    "EngelStudy",
    "Finding",
    "Kernels",
    "Occasion",
    "PickupGrid",
    "Problem",
    "Spot",
    "Trips",
    "Zone",
    "choose_kernels",
    "effect_of",
    "engel_study",
    "examine",
    "examine_trips",
    "examine_zones",
    "find_spots",
    "join",
    "load_engel",
    "local_effects",
    "local_means",
    "match_hours",
    "normal_map",
    "null_deviations",
    "paper_map",
    "pickup_grid",
    "problem",
    "read_trips",
]
