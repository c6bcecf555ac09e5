"""pyarrow, imported when a file is read: its errors, types, and columns as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, require
from condgof.sample._arrays import as_days
from condgof.sample._column import Kind


def arrow(part: str = "") -> Any:
    """Return pyarrow, or a `part` of it such as "csv"; or say how to install it."""
    return require(f"pyarrow.{part}" if part else "pyarrow", "arrow", "Reading files")


@contextmanager
def naming(label: str, format_name: str) -> Iterator[None]:
    """Turn pyarrow's errors into one line that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise InputError(f"{label} is not text in UTF-8: convert it first.") from error
    except (arrow().ArrowException, OSError, EOFError) as error:
        reason = str(error).strip().partition("\n")[0]
        if "mpty CSV" in reason:
            wrong = "is empty. A table with the columns of x and y is needed."
        else:
            wrong = f"cannot be read as {format_name}: {reason}"
        raise InputError(f"{label} {wrong}") from error


def kind_of_type(arrow_type: Any) -> Kind:
    """Return what columns of a type of pyarrow hold."""
    types = arrow().types
    if types.is_dictionary(arrow_type):
        holds_text = kind_of_type(arrow_type.value_type) is Kind.TEXT
        return Kind.TEXT if holds_text else Kind.OTHER
    tests = {
        Kind.NUMBERS: (
            types.is_integer,
            types.is_floating,
            types.is_decimal,
            types.is_boolean,
        ),
        Kind.TEXT: (types.is_string, types.is_large_string, types.is_string_view),
        Kind.DATES: (types.is_date, types.is_timestamp),
        Kind.NOTHING: (types.is_null,),
    }
    for kind, kind_tests in tests.items():
        if any(test(arrow_type) for test in kind_tests):
            return kind
    return Kind.OTHER


def values_of(column: Any, kind: Kind) -> AnyArray:
    """Return a column of a batch as an array (n,).

    Numbers are doubles with NaN where null, text is objects with None, dates have NaT.
    """
    if kind is Kind.TEXT:
        encoded = encode_text(column)
        levels: AnyArray = np.array([*encoded.levels, None], dtype=object)
        return levels[encoded.codes]
    pa = arrow()
    arrow_type = pa.float64() if kind is Kind.NUMBERS else pa.timestamp("us")
    # Unsafe only in that integers above 2**53 are rounded, as they are in NumPy. A cast,
    # even to the same type, imports another part of pyarrow.
    same = column.type == arrow_type
    cast = column if same else column.cast(arrow_type, safe=False)
    if kind is Kind.NUMBERS and len(cast) and not cast.null_count:
        # The memory itself: `to_numpy` imports pandas where it is installed, which takes a
        # third of a second in a program that has no other use for it.
        _, memory = cast.buffers()
        return np.frombuffer(memory, np.float64, count=len(cast), offset=8 * cast.offset)
    return np.asarray(cast.to_numpy(zero_copy_only=False))


class EncodedText(NamedTuple):
    """A column of text by its distinct values."""

    #: The distinct values, of which one may be None.
    levels: list[str | None]
    #: The position of each row among these, -1 for null, (n,).
    codes: IntArray


def encode_text(column: Any) -> EncodedText:
    """Return a column of a batch, of any type, as text with its distinct values apart."""
    pa = arrow()
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(-1)
    levels = column.dictionary.cast(pa.string()).to_pylist()
    return EncodedText(levels=levels, codes=np.asarray(codes))


def numbers_of(column: Any, kind: Kind, levels: Sequence[str] | None) -> FloatArray:
    """Return a column of a batch as numbers (n,), NaN where it is null.

    Dates become days, and text its position among the `levels`.
    """
    if not levels:
        values = values_of(column, kind)
        return np.asarray(as_days(values)) if kind is Kind.DATES else values
    encoded = encode_text(column)
    positions = {level: float(i) for i, level in enumerate(levels)}
    numbers = [positions.get(str(level), np.nan) for level in encoded.levels]
    return np.array([*numbers, np.nan])[encoded.codes]
