"""Rows of x and y that do not fit together, or miss a value, and what becomes of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from condgof._typing import IntArray
from condgof.errors import InputError, ShapeError
from condgof.sample._column import Column
from condgof.sample._columns import DROP, Variables, constant

#: What to do about missing values of x, or y, which cannot have a level of them.
ADVICE = {
    "x": f"{DROP} Or pass missing='drop', which leaves them out, or missing='level', which makes "
    "missing a level.",
    "y": f"{DROP} Or pass missing='drop', which leaves them out.",
}


def check_option(missing: Any) -> None:
    """Raise unless `missing` is one of the three options."""
    if not isinstance(missing, str) or missing not in ("refuse", "drop", "level"):
        raise InputError(f"missing must be 'refuse', 'drop' or 'level', got {missing!r}.")


def check_rows(x: Any, y: Any, n_x: int, n_y: int) -> None:
    """Raise unless x and y have equally many rows and, where both have one, the same index."""
    if n_x != n_y:
        raise ShapeError(f"x has {n_x} rows and y has {n_y}. Pass one row of x for each row of y.")
    if not (hasattr(x, "iloc") and hasattr(y, "iloc")) or x.index.equals(y.index):
        return
    row = bisect_left(range(n_x), 1, key=lambda i: not x.index[: i + 1].equals(y.index[: i + 1]))
    labels = x.index[[row]].tolist() + y.index[[row]].tolist()
    same = "hold the same labels in another order" if set(x.index) == set(y.index) else "differ"
    raise InputError(
        f"The indices of x and y {same}: row {row} (counted from 0) is {labels[0]!r} in x and "
        f"{labels[1]!r} in y. Align them first, y = y.loc[x.index], or pass y.to_numpy() if rows "
        "match by position."
    )


def complete_rows(x: Variables, y: Variables) -> tuple[IntArray | None, tuple[str, ...]]:
    """Return the rows without a missing value (None if that is all of them), and what to say of it."""
    values = np.column_stack((x.values, y.values))
    kept = np.flatnonzero(~np.isnan(values).any(axis=1))
    n, lost = len(values), len(values) - len(kept)
    if not lost:
        return None, ()
    if lost == n:
        raise ShapeError(
            f"Each of the {n} rows has a missing value, so that missing='drop' leaves none. Leave out "
            "the columns with the most missing values."
        )
    were = "was" if lost == 1 else "were"
    return kept, (f"{lost} of {n} rows {were} left out because a value is missing",)


def as_levels(table: Variables) -> tuple[Variables, tuple[str, ...]]:
    """Make missing a level of each column that misses values, and say so.

    Text gets one more level. Numbers and dates are put at the (lower) median of the others, so that
    whole numbers stay whole, and get a column of "no" and "yes" beside them.
    """
    parts, columns, notes = [table.values[:, :0]], [], []
    names = [column.name for column in table.columns]
    for column, values in zip(table.columns, table.values.T, strict=True):
        lost = np.isnan(values)
        n, count, known = len(lost), np.count_nonzero(lost), values[~lost]
        beside: list[Column] = []
        if count and column.levels is not None:
            level = _unused("missing", column.levels)
            values = np.where(lost, len(column.levels), values)
            # Missing has no place in an order.
            column = replace(column, levels=(*column.levels, level), ordered=False)
            notes.append(
                f"missing values of {column.name!r} ({count} of {n} rows) are a level, {level!r}"
            )
        elif count:
            middle = np.quantile(known, 0.5, method="lower") if len(known) else 0.0
            values = np.where(lost, middle, values)
            beside = [Column(_unused(f"{column.name} missing", names), ("no", "yes"), not len(known))]
            notes.append(
                f"missing values of {column.name!r} ({count} of {n} rows) are put at its median, and "
                f"{beside[0].name!r} says where"
            )
        parts += [values] + [lost * 1.0] * len(beside)
        columns += [replace(column, constant=constant(values)), *beside]
    return replace(table, values=np.column_stack(parts), columns=tuple(columns)), tuple(notes)


def _unused(name: str, taken: Iterable[str]) -> str:
    """Return the name, with a number behind it if it is taken."""
    known, number = set(taken), 2
    if name not in known:
        return name
    while f"{name} {number}" in known:
        number += 1
    return f"{name} {number}"
