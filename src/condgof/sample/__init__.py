"""x and y checked once and frozen; splitting; the one seed of a call."""

from condgof.sample._array_source import ArraySource, is_lazy, names_of
from condgof.sample._columns import Column, encode_levels, fresh, is_frame, read, take_rows
from condgof.sample._numbers import as_numbers
from condgof.sample._refill import held, refill
from condgof.sample._rng import RngLike, Seed, Use
from condgof.sample._sample import MIN_ROWS, Sample
from condgof.sample._source import Block, Source, scan

__all__ = [
    "MIN_ROWS",
    "ArraySource",
    "Block",
    "Column",
    "RngLike",
    "Sample",
    "Seed",
    "Source",
    "Use",
    "as_numbers",
    "encode_levels",
    "fresh",
    "held",
    "is_frame",
    "is_lazy",
    "names_of",
    "read",
    "refill",
    "scan",
    "take_rows",
]
