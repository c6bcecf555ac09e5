"""`condgof check`: a table of data with a model's predictions, checked."""

from condgof.cli.check._columns import Asked
from condgof.cli.check._frame import Frame, Series
from condgof.cli.check._run import Options, run_check
from condgof.cli.check._show import console, show_check

__all__ = ["Asked", "Frame", "Options", "Series", "console", "run_check", "show_check"]
