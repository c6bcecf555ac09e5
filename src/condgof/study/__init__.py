"""The paper's problems and the bundled data; studies of level and power."""

from condgof.study._engel import EngelStudy, Finding, engel_study, examine, load_engel
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
    "Finding",
    "Illustration",
    "InUseError",
    "MisfitProblem",
    "Outcome",
    "Problem",
    "Reference",
    "Study",
    "StudyError",
    "Trial",
    "draw_trial",
    "engel_study",
    "examine",
    "illustrate",
    "load_engel",
    "misfit_of",
    "problem",
    "run_study",
]
