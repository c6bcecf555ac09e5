"""`condgof check`: a table of data with a model's predictions, checked."""

from condgof.cli.check._columns import Asked, Roles
from condgof.cli.check._frame import Frame, Series
from condgof.cli.check._given import FORMS, blame_model, load_model
from condgof.cli.check._load import STREAM_BYTES, predicted, y_of
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
    "blame_model",
    "bound_to",
    "console",
    "load_model",
    "predicted",
    "run_check",
    "show_check",
    "silence",
    "streamed",
    "tell",
    "y_of",
]
