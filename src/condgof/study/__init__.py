"""The paper's problems and the bundled data; studies of level and power."""

from condgof.study._engel import EngelStudy, engel_study, load_engel
from condgof.study._methods import METHODS, TITLES
from condgof.study._misfit import MISFITS, MisfitProblem, misfit_of
from condgof.study._names import Reference, did_you_mean
from condgof.study._paper import (
    ILLUSTRATIONS,
    PAPER_METHODS,
    PAPER_SIZES,
    PAPER_TRIALS,
    Illustration,
    illustrate,
)
from condgof.study._problems import PROBLEMS, Problem, problem
from condgof.study._run import run_study
from condgof.study._store import InUseError, StudyError
from condgof.study._study import Study
from condgof.study._table import Row, csv_cell
from condgof.study._trial import Outcome, Trial, draw_trial

__all__ = [
    "ILLUSTRATIONS",
    "METHODS",
    "MISFITS",
    "PAPER_METHODS",
    "PAPER_SIZES",
    "PAPER_TRIALS",
    "PROBLEMS",
    "TITLES",
    "EngelStudy",
    "Illustration",
    "InUseError",
    "MisfitProblem",
    "Outcome",
    "Problem",
    "Reference",
    "Row",
    "Study",
    "StudyError",
    "Trial",
    "csv_cell",
    "did_you_mean",
    "draw_trial",
    "engel_study",
    "illustrate",
    "load_engel",
    "misfit_of",
    "problem",
    "run_study",
]
