"""The paper's problems and the bundled data."""

from condgof.study._engel import EngelStudy, Finding, engel_study, examine, load_engel
from condgof.study._problem import Problem
from condgof.study._problems import PROBLEMS, problem

__all__ = [
    "PROBLEMS",
    "EngelStudy",
    "Finding",
    "Problem",
    "engel_study",
    "examine",
    "load_engel",
    "problem",
]
