"""Studies of level and power: problems, misfits of a model, many trials; bundled data."""

from condgof.study._examples import ILLUSTRATIONS as ILLUSTRATIONS
from condgof.study._examples import PAPER_METHODS as PAPER_METHODS
from condgof.study._examples import PAPER_SIZES as PAPER_SIZES
from condgof.study._examples import PAPER_TRIALS as PAPER_TRIALS
from condgof.study._examples import Illustration as Illustration
from condgof.study._examples import engel_study as engel_study
from condgof.study._examples import illustrate as illustrate
from condgof.study._examples import load_engel
from condgof.study._misfit import MISFITS as MISFITS
from condgof.study._misfit import misfit_of
from condgof.study._names import METHODS as METHODS
from condgof.study._names import Reference as Reference
from condgof.study._names import title_of as title_of
from condgof.study._problem import Problem
from condgof.study._problems import PROBLEMS, problem
from condgof.study._run import InUseError as InUseError
from condgof.study._run import draw_trial, run_study
from condgof.study._run import from_line as from_line
from condgof.study._run import locked as locked
from condgof.study._run import to_line as to_line
from condgof.study._study import Cell as Cell
from condgof.study._study import Outcome as Outcome
from condgof.study._study import Row as Row
from condgof.study._study import Study
from condgof.study._study import Topic as Topic
from condgof.study._study import Trial as Trial
from condgof.study._study import csv_cell as csv_cell

#: What is public. The names that are imported with "as" are for other packages and tests.
__all__ = [
    "PROBLEMS",
    "Problem",
    "Study",
    "draw_trial",
    "load_engel",
    "misfit_of",
    "problem",
    "run_study",
]


def __dir__() -> list[str]:
    """Name what is public."""
    return __all__
