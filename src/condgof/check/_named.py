"""Slices and groups that the user names beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import IntArray
from condgof.check._axes import Axis, axis_of, commas, digits, moments, unique_names
from condgof.check._frame import frame_of
from condgof.check._looked import Looked
from condgof.check._record import Condition
from condgof.errors import InputError, InputTypeError, ShapeError
from condgof.sample import as_days, missing_in, read_groups

#: A column of numbers with at most so many values can be a group for each.
MOST_VALUES = 50
#: What a slice can be.
KINDS = (
    "A slice is a query for report.frame(), a dictionary such as {'age': (30, 47), 'town': 'Oslo'}, "
    "or a boolean array with one entry for each row of the data"
)


def read_named(
    spec: Any, looked: Looked, given: int | None = None
) -> tuple[str, str, NDArray[np.bool_]]:
    """Return a slice that the user names: in words, as a query ("" for a mask), and its rows (n,).

    `given` is the number of rows of the user's data: `looked.whole`, unless rows were left out.
    """
    query = spec if isinstance(spec, str) else getattr(spec, "query", None)
    if isinstance(spec, Mapping) and spec:
        found = [_pick(_axis(name, looked, "slices"), wanted) for name, wanted in spec.items()]
        said = [f"({c.words})" if c.query[0] == "(" and len(found) > 1 else c.words for c, _ in found]
        words = " and ".join(said)
        query = " and ".join(condition.query for condition, _ in found)
        mask = np.all([held for _, held in found], axis=0)
    elif isinstance(query, str) and query.strip():
        words, mask = str(getattr(spec, "words", query)), _query(query, looked)
    else:
        mask = _mask(spec, looked, looked.whole if given is None else given)
        words, query = f"the {np.count_nonzero(mask):,} rows of a mask", ""
    if not mask.any():
        raise InputError(f"No row is in the slice {words!r}. Leave it out, or make it larger.")
    return words, query, mask


def _query(query: str, looked: Looked) -> NDArray[np.bool_]:
    """Tell in which rows a query holds."""
    frame = frame_of(looked)
    try:
        return np.isin(looked.rows, frame.query(query).index.to_numpy(dtype=np.int64))
    except Exception as error:  # whatever a query may raise
        raise InputError(
            f"The slice {query!r} is no query that pandas can answer ({type(error).__name__}: {error}). "
            f"It is asked of report.frame(), whose columns are {_listed(frame.columns)}."
        ) from error


def _mask(spec: Any, looked: Looked, given: int) -> NDArray[np.bool_]:
    """Read one truth value for each row of the user's data; return those of the rows looked at."""
    try:
        raw = np.asarray(spec)
    except Exception:  # whatever an object's __array__ may raise
        raw = np.asarray(None)
    if raw.dtype.kind == "O" and raw.ndim and all(isinstance(v, (bool, np.bool_)) for v in raw.flat):
        raw = raw.astype(bool)
    if raw.dtype.kind != "b" or not raw.ndim:
        got = f"{spec!r:.60}" if not raw.ndim else f"an array of {raw.dtype} values"
        missing = " with missing values" if raw.ndim and missing_in(spec).any() else ""
        raise InputTypeError(f"slices has {got}{missing}, which is no slice. {KINDS}.")
    if raw.shape != (given,):
        raise ShapeError(
            f"slices has a mask of shape {raw.shape}, and the data have {given} rows. Pass one truth "
            f"value for each row, shape ({given},)."
        )
    return np.asarray(raw[looked.rows])


def read_by(
    by: Any, looked: Looked, given: int | None = None
) -> tuple[str, IntArray, tuple[tuple[str, str], ...]]:
    """Return the groups of ``by=``: its name, the group of each row (n,), words and a query for each.

    `by` names a column of x, or is one label for each of the `given` rows of the user's data.
    """
    if isinstance(by, str):
        axis = _axis(by, looked, "by")
        found, codes = np.unique(axis.values, return_inverse=True)
        if axis.levels is None and len(found) > MOST_VALUES:
            raise InputError(
                f"by={by!r} is a column of {axis.kind} with {len(found)} values, too many for a group "
                f"each (at most {MOST_VALUES}). Cut it into ranges, by=pandas.cut(x[{by!r}], 5), or, if "
                f"its values are labels, pass them, by=x[{by!r}]."
            )
        places = found.astype(np.int64) if axis.levels else axis.numbers(found)
        made = [axis.span(i, i) if axis.kind == "ordered" else axis.equals([i]) for i in places]
        return axis.label, codes.reshape(-1), tuple((one.words, one.query) for one in made)
    groups = read_groups(by, None, looked.whole if given is None else given, looked.rows, what="by")
    _, first = np.unique(groups, return_index=True)
    if len(first) in (1, looked.n):
        alike = "the same in all" if len(first) == 1 else "different in each of the"
        raise InputError(
            f"by is {alike} {looked.n} rows. Pass one label for each row, the same in a group."
        )
    labels = np.asarray(by).reshape(-1)[looked.rows][first]
    order = _order(labels, getattr(getattr(by, "dtype", None), "categories", None))
    name = getattr(by, "name", None)
    named = "group" if name is None or callable(name) or name == "" else str(name)
    texts = [_text(label) for label in labels]
    twice = next((i for i, text in enumerate(texts) if text in texts[:i]), None)
    if twice is not None:
        same = labels[texts.index(texts[twice])]
        raise InputError(
            f"by has groups that read the same, {same!r} and {labels[twice]!r}. Make labels of one type."
        )
    told = tuple((f"{named} = {_text(labels[i])}", "") for i in order)
    return named, np.argsort(order)[groups], told


def _order(labels: Any, categories: Any) -> IntArray:
    """Return the order of labels: as their categories are listed, else by number or text."""
    if categories is not None and len(categories):
        known = {str(level): i for i, level in enumerate(categories)}
        labels = np.array([known[str(label)] for label in labels])
    try:
        return np.argsort(labels, kind="stable")
    except TypeError:  # numbers and text
        return np.argsort([str(label) for label in labels], kind="stable")


def _text(label: Any) -> str:
    days = as_days(np.array([label]), "by") if isinstance(label, np.datetime64) else None
    if days is not None:
        return Axis("", "dates", days).written(moments(days)[0])
    return digits(float(label)) if isinstance(label, (float, np.floating)) else str(label)


def _axis(name: Any, looked: Looked, what: str) -> Axis:
    """Find a column by the user's name, or by that of report.frame()."""
    names = unique_names([column.name for column in looked.x_columns], ())
    for i, column in enumerate(looked.x_columns):
        if str(name) in (column.name, names[i]):
            found = axis_of(column, looked.x[:, i], names[i])
            if found is None:
                raise InputError(f"{what}: the column {name!r} is the same in all rows. Pass another.")
            return found
    for axis in looked.axes:
        if axis.name == name:
            return axis
    known = [column.name for column in looked.x_columns] + [a.name for a in looked.axes if a.predicted]
    other = " Or pass one label for each row." if what == "by" else ""
    raise InputError(f"{what} has {name!r}, which is no column: those are {_listed(known)}.{other}")


def _pick(axis: Axis, wanted: Any) -> tuple[Condition, NDArray[np.bool_]]:
    """Read what a dictionary says of one column: a value, a list of values, or (from, to)."""
    numbers = axis.numbers(axis.values)
    if not isinstance(wanted, tuple):
        several = list(wanted) if isinstance(wanted, (list, set, np.ndarray)) else [wanted]
        values = [_value(axis, value) for value in several]
        if not values:
            raise InputError(f"slices has an empty list for {axis.label!r}. Pass at least one value.")
        return axis.equals(values), np.isin(numbers, values)
    ranged = axis.levels is None or axis.kind == "ordered"
    if not ranged or len(wanted) != 2 or wanted == (None, None):
        raise InputError(
            f"slices has {wanted!r} for {axis.label!r}. A tuple is both ends of a range of numbers, "
            "dates or ordered levels, such as (30, 47), of which one may be None. Pass a list of levels."
        )
    low, high = (None if end is None else _value(axis, end) for end in wanted)
    held = np.ones(len(numbers), dtype=bool) if low is None else numbers >= low
    held &= True if high is None else numbers <= high
    if axis.levels is not None:
        return axis.span(low or 0, len(axis.levels) - 1 if high is None else high), held
    lower, upper = ("" if end is None else axis.written(end) for end in (low, high))
    return axis.within(lower, upper), held


def _value(axis: Axis, value: Any) -> Any:
    """Read a value of a column: a number, microseconds since 1970, or the position of a level."""
    levels = axis.levels
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if levels is not None:
        text = commas(digits(float(value))) if number and axis.kind == "two" else str(value)
        if text in levels:
            return levels.index(text)
        raise InputError(f"slices: {value!r} is no level of {axis.label!r}. It has {_listed(levels)}.")
    if axis.kind == "dates":
        try:
            raw = np.array([value], dtype="M8[us]" if isinstance(value, str) else object)
            days = as_days(raw, axis.label)
        except ValueError:  # a text that is no date
            days = None
        if days is not None and not np.isnan(days[0]):
            return int(moments(days)[0])
    elif number and np.isfinite(value):
        return float(value)
    raise InputTypeError(f"slices: the column {axis.label!r} holds {axis.kind}, got {value!r}.")


def _listed(names: Any) -> str:
    return ", ".join(map(str, names[:12])) + (", …" if len(names) > 12 else "")
