"""Rows that the user names beforehand: groups of ``by=``, queries and masks of ``slices=``.

n is the number of rows of the check, and `given` that of the user's data, of which some may
have been left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condgof._typing import AnyArray, IntArray
from condgof.check._axes import Axis, digits, moment, moments
from condgof.check._frame import name_columns
from condgof.check._record import Condition
from condgof.check._text import listed
from condgof.check.kinds import CheckedRows
from condgof.errors import (
    InputError,
    InputTypeError,
    by_asker,
    check_object,
    option,
    option_name,
    shown,
)
from condgof.sample import (
    LANGUAGE,
    LIMITS,
    QueryError,
    align_rows,
    column_names,
    is_frame,
    label_array,
    native_column,
    read_groups,
    select,
)

#: Most values of a column of fractional numbers that ``by=`` makes a group each.
MOST_VALUES = 50


class NamedRows(NamedTuple):
    """Rows that have a name."""

    #: One for each column that names them, or a single one of a query or a mask.
    conditions: tuple[Condition, ...]
    rows: IntArray  #: Their positions among the rows of the check, (m,).

    @property
    def words(self) -> str:
        return " and ".join(one.words for one in self.conditions)

    @property
    def query(self) -> str:
        """What selects the rows in `Check.frame`; "" where no query does."""
        queries = [one.query for one in self.conditions]
        return " and ".join(queries) if all(queries) else ""


class GroupColumn(NamedTuple):
    """A column whose values are groups."""

    codes: IntArray  #: The group of each row, by its position in `conditions`, (n,).
    conditions: tuple[Condition, ...]


def read_sets(
    by: object, named: Sequence[Any], checked: CheckedRows, given: int
) -> list[NamedRows]:
    """Read groups and slices; `given` rows are in the user's data."""
    no_list = isinstance(named, np.ndarray) and named.ndim == 0
    if isinstance(named, (str, Mapping)) or not isinstance(named, Iterable) or no_list:
        raise InputError(
            f"{option_name('slices')} must be a list of slices: put it in brackets,"
            f" {option('slices', '[...]')}."
        )
    groups = [] if by is None else read_by(by, checked, given)
    return [*groups, *(read_named(one, checked, given) for one in named)]


def read_named(spec: object, checked: CheckedRows, given: int) -> NamedRows:
    """Read a slice that the user names: a query, what has one, or a truth value a row."""
    query = spec if isinstance(spec, str) else getattr(spec, "query", None)
    if isinstance(query, str) and query.strip():
        words = str(getattr(spec, "words", query))
        rows = np.flatnonzero(_select(query, checked))
    else:
        aligned = align_rows(
            spec, checked.table.origin.labels, f"The mask of {option('slices')}"
        )
        rows = np.flatnonzero(_mask(aligned, given)[checked.rows])
        words, query = f"the {len(rows):,} rows of a mask", ""
    if not len(rows):
        raise InputError(
            f"No row is in the slice {words!r}. Leave it out, or make it larger."
        )
    return NamedRows((Condition("", words, query),), rows)


def _select(query: str, checked: CheckedRows) -> NDArray[np.bool_]:
    """Return the rows that a query of x and of predictions selects, (n,)."""
    parts = name_columns(checked)
    columns = {**parts.x, **parts.predicted}
    # The names that the user gave, where the frame of a check has others.
    users = {part.column.name: part for part in columns.values()}
    try:
        return select(query, {**users, **columns}, checked.n)
    except QueryError as error:
        raise InputError(
            f"The slice {shown(query)} cannot be answered: {error} {LANGUAGE} It is asked"
            f" of x and what is predicted, {listed(list(columns), 12)}; not of y, since"
            " rows that are chosen by what happened differ from any model."
        ) from error


def _mask(spec: object, given: int) -> AnyArray:
    """Read one truth value for each row of the user's data, (given,)."""
    if isinstance(spec, np.ma.MaskedArray) and np.ma.is_masked(spec):
        raise InputError(
            f"{option_name('slices')} has a mask that is missing in"
            f" {int(np.ma.getmaskarray(spec).sum())} rows. Say of each row whether it is in"
            " the slice."
        )
    try:
        raw = np.asarray(spec)
    except Exception:  # whatever an object's __array__ may raise
        raw = np.asarray(None)
    if (
        raw.dtype.kind == "O"
        and raw.ndim
        and all(isinstance(v, (bool, np.bool_)) for v in raw.flat)
    ):
        raw = raw.astype(bool)
    if raw.dtype.kind != "b" or raw.shape != (given,):
        got = f"{raw.dtype} values of shape {raw.shape}" if raw.ndim else f"{spec!r:.60}"
        raise InputTypeError(
            f"{option_name('slices')} has {got}, which is no slice. A slice is a query of"
            " x and what is predicted, such as 'age < 30', or a truth value (none missing)"
            f" for each of the {given} rows of the data."
        )
    return raw


def read_by(by: Any, checked: CheckedRows, given: int) -> list[NamedRows]:
    """Read the groups of ``by=``.

    Columns of x or of what is predicted by name, or labels for each row, in a column or in
    a frame of several. Of several columns, groups are the combinations that occur.
    """
    check_object(by, "by")
    columns = _group_columns(by, checked, given)
    codes = np.column_stack([column.codes for column in columns])
    groups, number = np.unique(codes, axis=0, return_inverse=True)
    count = len(groups)
    if count in (1, checked.n):
        alike = "the same in all" if count == 1 else "different in each of the"
        raise InputError(
            f"{option_name('by')} is {alike} {checked.n} rows. Pass labels that"
            " are the same in a group."
        )
    LIMITS.groups.check(count, f"{option_name('by')} makes")
    order = np.argsort(number.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(number.reshape(-1), minlength=count))
    sets = []
    for group, rows in zip(groups, np.split(order, ends[:-1]), strict=True):
        conditions = tuple(
            column.conditions[code] for column, code in zip(columns, group, strict=True)
        )
        sets.append(NamedRows(conditions, rows))
    return sets


def _group_columns(by: Any, checked: CheckedRows, given: int) -> list[GroupColumn]:
    if isinstance(by, str):
        return [_column_of_x(by, checked)]
    is_list = isinstance(by, (list, tuple)) and all(isinstance(one, str) for one in by)
    if is_list and 0 < len(by) < given:
        return [_column_of_x(name, checked) for name in by]
    if is_frame(by):
        names = column_names(by)
        parts = [native_column(by, j) for j in range(len(names))]
        return [
            _column_of_labels(part, name, checked, given)
            for part, name in zip(parts, names, strict=True)
        ]
    name = getattr(by, "name", None)
    is_named = name is not None and not callable(name) and name != ""
    return [_column_of_labels(by, str(name) if is_named else "group", checked, given)]


def _column_of_x(name: str, checked: CheckedRows) -> GroupColumn:
    """Return the groups of a column of x, or of what is predicted."""
    axis = next((one for one in checked.axes if name in (one.label, one.name)), None)
    if axis is None:
        known = f"those are {listed([one.label for one in checked.axes], 12)}"
        no = f"by has {name!r}, which is no column that varies: {known}"
        raise InputError(f"{no}. Or pass one label for each row.")
    values, codes = np.unique(axis.values, return_inverse=True)
    if _is_fractional(axis, values) and len(values) > MOST_VALUES:
        in_python = by_asker(
            python=f", by=pandas.cut(x[{name!r}], 5), or, if its values are labels, pass"
            f" them, by=x[{name!r}]",
            command_line=" in a column of their own",
        )
        raise InputError(
            f"{option('by', repr(name))} is a column of {axis.kind} with {len(values)}"
            f" values, too many for a group each (at most {MOST_VALUES}). Cut it into"
            f" ranges{in_python}."
        )
    shown = moments(values) if axis.kind == "dates" else values
    conditions = tuple(axis.equals(value) for value in shown)
    return GroupColumn(codes.reshape(-1), conditions)


def _is_fractional(axis: Axis, values: AnyArray) -> bool:
    """Whether a column holds numbers that are not all whole."""
    if axis.levels is not None or axis.kind == "dates":
        return False
    return bool((values != np.floor(values)).any())


def _column_of_labels(
    labels: Any, name: str, checked: CheckedRows, given: int
) -> GroupColumn:
    """Return the groups of one label for each row of the user's data."""
    aligned = align_rows(labels, checked.table.origin.labels, "by")
    groups = read_groups(aligned, None, given, checked.rows, what="by")
    _, first = np.unique(groups, return_index=True)
    if len(first) < checked.n:  # labels that differ in each row have an error of their own
        LIMITS.groups.check(len(first), "by makes")
    values = label_array(aligned, "by").reshape(-1)[checked.rows][first]
    levels = getattr(getattr(labels, "dtype", None), "categories", None)
    place = {str(level): i for i, level in enumerate(() if levels is None else levels)}
    keys = [place.get(str(value), value) for value in values]
    order = sorted(range(len(keys)), key=lambda i: (isinstance(keys[i], str), keys[i]))
    texts = [_text(values[i]) for i in order]
    firsts: dict[str, int] = {}
    for i, text in enumerate(texts):
        same = firsts.setdefault(text, i)
        if same < i:
            both = f"{values[order[same]]!r} and {values[order[i]]!r}"
            raise InputError(
                f"by has groups that read the same, {both}. Make labels of one type."
            )
    conditions = tuple(Condition(name, f"{name} = {text}", "") for text in texts)
    return GroupColumn(np.argsort(order)[groups], conditions)


def _text(label: object) -> str:
    if isinstance(label, np.datetime64):
        return moment(int(label.astype("M8[us]").astype(np.int64)))
    return digits(float(label)) if isinstance(label, (float, np.floating)) else str(label)
