"""Studies of level and power: problems, a model's misfits, many trials; and the bundled data."""

from condgof.study._examples import load_engel
from condgof.study._problems import PROBLEMS, Problem, misfit_of, problem
from condgof.study._run import draw_trial, run_study
from condgof.study._study import Study

__all__ = [
    "PROBLEMS", "Problem", "Study", "draw_trial", "load_engel", "misfit_of", "problem", "run_study",
]  # fmt: skip


def __dir__() -> list[str]:
    """Name what is public."""
    return __all__
