"""`condgof check`: a table of data with a model's predictions, checked."""

from condgof.cli.check._columns import Asked
from condgof.cli.check._run import Options, run_check

__all__ = ["Asked", "Options", "run_check"]
