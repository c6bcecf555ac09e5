"""`condgof check`: a table of data with a model's predictions, checked."""

from condgof.cli.check._classes import ClassNames
from condgof.cli.check._columns import Roles, Wanted
from condgof.cli.check._frame import Frame, Series
from condgof.cli.check._given import (
    FORMS,
    load_model,
    model_file,
    modules_from_here,
    running,
    users_line,
)
from condgof.cli.check._load import Loaded, loaded, y_of
from condgof.cli.check._pick import number_of
from condgof.cli.check._run import (
    Request,
    block_length,
    check_choice,
    check_level,
    run_check,
)
from condgof.cli.check._show import console, show_check
from condgof.cli.check._survey import Survey
from condgof.cli.check._table import Table

__all__ = [
    "FORMS",
    "ClassNames",
    "Frame",
    "Loaded",
    "Request",
    "Roles",
    "Series",
    "Survey",
    "Table",
    "Wanted",
    "block_length",
    "check_choice",
    "check_level",
    "console",
    "load_model",
    "loaded",
    "model_file",
    "modules_from_here",
    "number_of",
    "run_check",
    "running",
    "show_check",
    "users_line",
    "y_of",
]
