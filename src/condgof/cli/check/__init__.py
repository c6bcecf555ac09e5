"""`condgof check`: a table of data with a model's predictions, checked."""

from condgof.cli.check._columns import Asked, Roles
from condgof.cli.check._frame import Frame, Series
from condgof.cli.check._given import FORMS, load_model, running, users_line
from condgof.cli.check._load import STREAM_BYTES, in_columns, y_of
from condgof.cli.check._run import Options, run_check, silence, tell
from condgof.cli.check._show import console, show_check
from condgof.cli.check._stream import bound_to, streamed
from condgof.cli.check._survey import Dropped, Survey
from condgof.cli.check._table import Table

__all__ = [
    "FORMS",
    "STREAM_BYTES",
    "Asked",
    "Dropped",
    "Frame",
    "Options",
    "Roles",
    "Series",
    "Survey",
    "Table",
    "bound_to",
    "console",
    "in_columns",
    "load_model",
    "run_check",
    "running",
    "show_check",
    "silence",
    "streamed",
    "tell",
    "users_line",
    "y_of",
]
