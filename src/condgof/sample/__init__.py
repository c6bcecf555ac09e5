"""x and y checked once and frozen; splitting; the one seed of a call."""

from condgof.sample._array_source import ArraySource, is_lazy, names_of
from condgof.sample._column import Column, encode_levels
from condgof.sample._columns import fresh, is_frame, read, take_rows
from condgof.sample._groups import read_groups
from condgof.sample._missing import check_rows
from condgof.sample._numbers import as_numbers
from condgof.sample._refill import held, refill
from condgof.sample._rng import RngLike, Seed, Use
from condgof.sample._sample import MIN_ROWS, Sample
from condgof.sample._source import Block, Source, scan
from condgof.sample._source_labels import labels_of
from condgof.sample._source_paths import expand as data_paths
from condgof.sample._source_paths import format_of as data_format
from condgof.sample._source_read import arrow
from condgof.sample._source_read import numbers as column_numbers
from condgof.sample._source_read import read as read_batches
from condgof.sample._units import SCALE_X, XUnits

__all__ = [
    "MIN_ROWS",
    "SCALE_X",
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
    "as_numbers",
    "check_rows",
    "column_numbers",
    "data_format",
    "data_paths",
    "encode_levels",
    "fresh",
    "held",
    "is_frame",
    "is_lazy",
    "labels_of",
    "names_of",
    "read",
    "read_batches",
    "read_groups",
    "refill",
    "scan",
    "take_rows",
]
