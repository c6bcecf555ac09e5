"""What the user brought, read once: x and y as a sample, files as sources, the seed."""

from condgof.sample._arrays import as_days
from condgof.sample._arrow import arrow
from condgof.sample._column import Column, Kind, RankScores, XUnits, encode_levels
from condgof.sample._containers import fresh, hold, refill, take_rows
from condgof.sample._content import (
    CONTENT_SEED,
    KeyArray,
    content_keys,
    content_order,
    rows_by_content,
)
from condgof.sample._formats import Csv, find_delimiter
from condgof.sample._frames import (
    CodedColumn,
    Frame,
    FrameOrigin,
    column_names,
    is_frame,
    is_series,
    native_column,
)
from condgof.sample._limits import LIMITS, Limit, Limits
from condgof.sample._query import LANGUAGE, QueryError, select
from condgof.sample._rng import RngLike, Seed, Use
from condgof.sample._sample import (
    MIN_ROWS,
    Sample,
    align_rows,
    check_rows,
    label_array,
    read_groups,
)
from condgof.sample._source import ArraySource, Block, Source, is_lazy, scan
from condgof.sample._table import (
    ANY,
    LABELS,
    NUMBERS,
    TEXT,
    Table,
    hint,
    list_names,
    list_texts,
)
from condgof.sample._values import (
    DROP_ADVICE,
    Variables,
    as_numbers,
    missing_in,
    names_of,
    read,
    read_table,
    read_y,
)

__all__ = [
    "ANY",
    "CONTENT_SEED",
    "DROP_ADVICE",
    "LABELS",
    "LANGUAGE",
    "LIMITS",
    "MIN_ROWS",
    "NUMBERS",
    "TEXT",
    "ArraySource",
    "Block",
    "CodedColumn",
    "Column",
    "Csv",
    "Frame",
    "FrameOrigin",
    "KeyArray",
    "Kind",
    "Limit",
    "Limits",
    "QueryError",
    "RankScores",
    "RngLike",
    "Sample",
    "Seed",
    "Source",
    "Table",
    "Use",
    "Variables",
    "XUnits",
    "align_rows",
    "arrow",
    "as_days",
    "as_numbers",
    "check_rows",
    "column_names",
    "content_keys",
    "content_order",
    "encode_levels",
    "find_delimiter",
    "fresh",
    "hint",
    "hold",
    "is_frame",
    "is_lazy",
    "is_series",
    "label_array",
    "list_names",
    "list_texts",
    "missing_in",
    "names_of",
    "native_column",
    "read",
    "read_groups",
    "read_table",
    "read_y",
    "refill",
    "rows_by_content",
    "scan",
    "select",
    "take_rows",
]
