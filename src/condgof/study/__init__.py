"""The paper's problems and the bundled data."""

from condgof.study._engel import load_engel
from condgof.study._problems import PROBLEMS, Problem, problem

__all__ = ["PROBLEMS", "Problem", "load_engel", "problem"]
