"""`condgof compare`: which of two models fits a table of data worse, and where."""

from condgof.cli.compare._run import Options, run_compare
from condgof.cli.compare._sides import Side

__all__ = ["Options", "Side", "run_compare"]
