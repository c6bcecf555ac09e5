"""x and y checked once and frozen; splitting; the one seed of a call."""

from condgof.sample._array_source import ArraySource, is_lazy, names_of
from condgof.sample._column import Column, encode_levels
from condgof.sample._columns import (
    DROP,
    fresh,
    is_frame,
    read,
    read_labels,
    read_table,
    take_rows,
)
from condgof.sample._groups import read_groups
from condgof.sample._missing import check_rows
from condgof.sample._numbers import as_days, as_numbers, missing_in, unboxed
from condgof.sample._refill import held, refill
from condgof.sample._rng import RngLike, Seed, Use
from condgof.sample._sample import MIN_ROWS, Sample
from condgof.sample._source import Block, Source, scan
from condgof.sample._source_read import arrow, schema_of
from condgof.sample._source_read import expand as data_paths
from condgof.sample._source_read import format_of as data_format
from condgof.sample._units import XUnits

__all__ = [
    "DROP",
    "MIN_ROWS",
    "ArraySource",
    "Block",
    "Column",
    "RngLike",
    "Sample",
    "Seed",
    "Source",
    "Use",
    "XUnits",
    "arrow",
    "as_days",
    "as_numbers",
    "check_rows",
    "data_format",
    "data_paths",
    "encode_levels",
    "fresh",
    "held",
    "is_frame",
    "is_lazy",
    "missing_in",
    "names_of",
    "read",
    "read_groups",
    "read_labels",
    "read_table",
    "refill",
    "scan",
    "schema_of",
    "take_rows",
    "unboxed",
]
