"""The paper's problems and the bundled data."""

from condgof.study._engel import EngelStudy, engel_study, load_engel
from condgof.study._problems import PROBLEMS, Problem, problem

__all__ = ["PROBLEMS", "EngelStudy", "Problem", "engel_study", "load_engel", "problem"]
