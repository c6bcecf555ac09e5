"""What the user brought, read once: x and y as a sample, files as tables and sources, the seed."""

from condgof.sample._column import Column, XUnits, encode_levels
from condgof.sample._rng import RngLike, Seed, Use
from condgof.sample._sample import MIN_ROWS, Sample, check_rows, read_groups
from condgof.sample._source import ArraySource, Block, Source, is_lazy, scan
from condgof.sample._table import Frame, Table, arrow
from condgof.sample._values import (
    DROP,
    as_numbers,
    fresh,
    is_frame,
    names_of,
    read,
    read_y,
    take_rows,
)

__all__ = [
    "DROP", "MIN_ROWS", "ArraySource", "Block", "Column", "Frame", "RngLike", "Sample", "Seed", "Source",
    "Table", "Use", "XUnits", "arrow", "as_numbers", "check_rows", "encode_levels", "fresh", "is_frame",
    "is_lazy", "names_of", "read", "read_groups", "read_y", "scan", "take_rows",
]  # fmt: skip
