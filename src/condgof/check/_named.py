"""Slices and groups that the user names beforehand: which rows they are, and a test of each.

No search, and so no price for one, and no draws, so that no p-value has a floor: the normal law of sums
with a correction for skewness, of a discrete y Bennett's inequality; Holm's correction for their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri, stdtr

from condgof._typing import FloatArray, IntArray
from condgof.check._axes import Axis, axis_of, commas, digits, moment, moments, unique_names
from condgof.check._findings import Reader, direction, led, severity
from condgof.check._looked import Looked, frame_of
from condgof.check._record import Condition, Slice
from condgof.check._signals import Signals
from condgof.errors import InputError, InputTypeError, ShapeError
from condgof.sample import as_days, missing_in, read_groups

#: A column of numbers with at most so many values can be a group for each.
MOST_VALUES = 50
#: Rows that have a name: in words and as a query ("" for a mask), and their positions.
NamedRows: TypeAlias = tuple[Condition, IntArray]
#: What is said of the model in a group that is not rejected.
NO_EVIDENCE = "no evidence"
#: The smallest p-value that is written down.
TINY = 1e-300
#: What a slice can be.
KINDS = (
    "A slice is a query of x and what is predicted, a dictionary such as {'age': (30, 47), 'town': "
    "'Oslo'}, or a boolean array with one entry for each row of the data"
)


def read_sets(by: Any, named: Sequence[Any], looked: Looked, given: int) -> list[NamedRows]:
    """Read groups and slices; `given` rows are in the user's data."""
    column, sets = "", list[NamedRows]()
    if by is not None:
        column, codes, told = read_by(by, looked, given)
        order = np.argsort(codes, kind="stable")
        parts = np.split(order, np.searchsorted(codes[order], np.arange(1, len(told))))
        groups = zip(told, parts, strict=True)
        sets += [(Condition(column, *names), rows) for names, rows in groups if len(rows)]
    if isinstance(named, (str, dict)) or not isinstance(named, Iterable):
        raise InputError("slices must be a list of slices: put it in brackets, slices=[...].")
    for one in named:
        words, query, mask = read_named(one, looked, given)
        sets.append((Condition(column, words, query), np.flatnonzero(mask)))
    return sets


def read_named(
    spec: Any, looked: Looked, given: int | None = None
) -> tuple[str, str, NDArray[np.bool_]]:
    """Return a slice that the user names: in words, as a query ("" for a mask), and its rows (n,)."""
    query = spec if isinstance(spec, str) else getattr(spec, "query", None)
    if isinstance(spec, Mapping) and spec:
        picked = [_pick(_axis(name, looked, "slices"), wanted) for name, wanted in spec.items()]
        parts = [f"({c.words})" if c.query[0] == "(" and len(picked) > 1 else c.words for c, _ in picked]
        words, query = " and ".join(parts), " and ".join(condition.query for condition, _ in picked)
        mask = np.all([held for _, held in picked], axis=0)
    elif isinstance(query, str) and query.strip():
        words, frame = str(getattr(spec, "words", query)), frame_of(looked, outcomes=False)
        try:
            mask = np.isin(looked.rows, frame.query(query).index.to_numpy(dtype=np.int64))
        except Exception as error:  # whatever a query may raise
            raise InputError(
                f"The slice {query!r} is no query that pandas can answer ({type(error).__name__}: "
                f"{error}). It is asked of x and what is predicted: {_listed(frame.columns)}; not of y, "
                "since rows that are chosen by what happened differ from any model."
            ) from error
    else:
        mask = _mask(spec, looked, looked.whole if given is None else given)
        words, query = f"the {np.count_nonzero(mask):,} rows of a mask", ""
    if not mask.any():
        raise InputError(f"No row is in the slice {words!r}. Leave it out, or make it larger.")
    return words, query, mask


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
    """Return the groups of ``by=``: its name, the group of each row (n,), words and a query for each."""
    if isinstance(by, str):
        axis = _axis(by, looked, "by")
        values, codes = np.unique(axis.values, return_inverse=True)
        if axis.levels is None and len(values) > MOST_VALUES:
            raise InputError(
                f"by={by!r} is a column of {axis.kind} with {len(values)} values, too many for a group "
                f"each (at most {MOST_VALUES}). Cut it into ranges, by=pandas.cut(x[{by!r}], 5), or, if "
                f"its values are labels, pass them, by=x[{by!r}]."
            )
        places = values.astype(np.int64) if axis.levels else axis.numbers(values)
        made = (axis.equals([place]) for place in places)
        return axis.label, codes.reshape(-1), tuple((one.words, one.query) for one in made)
    groups = read_groups(by, None, looked.whole if given is None else given, looked.rows, what="by")
    _, first = np.unique(groups, return_index=True)
    if len(first) in (1, looked.n):
        alike = "the same in all" if len(first) == 1 else "different in each of the"
        raise InputError(
            f"by is {alike} {looked.n} rows. Pass one label for each row, the same in a group."
        )
    labels = np.asarray(by).reshape(-1)[looked.rows][first]
    categories = getattr(getattr(by, "dtype", None), "categories", None)
    known = {str(level): i for i, level in enumerate(() if categories is None else categories)}
    keys = np.array([known[str(label)] for label in labels]) if known else labels
    try:
        order = np.argsort(keys, kind="stable")
    except TypeError:  # numbers and text
        order = np.argsort([str(label) for label in labels], kind="stable")
    name = getattr(by, "name", None)
    named = "group" if name is None or callable(name) or name == "" else str(name)
    texts = [_text(label) for label in labels]
    for i, text in enumerate(texts):
        if (same := texts.index(text)) < i:
            both = f"{labels[same]!r} and {labels[i]!r}"
            raise InputError(f"by has groups that read the same, {both}. Make labels of one type.")
    return named, np.argsort(order)[groups], tuple((f"{named} = {texts[i]}", "") for i in order)


def _text(label: Any) -> str:
    days = as_days(np.array([label]), "by") if isinstance(label, np.datetime64) else None
    if days is not None:
        return moment(int(moments(days)[0]))
    return digits(float(label)) if isinstance(label, (float, np.floating)) else str(label)


def _axis(name: Any, looked: Looked, what: str) -> Axis:
    """Find a column by the user's name, or by that of report.frame()."""
    names = unique_names([column.name for column in looked.x_columns], ())
    for i, column in enumerate(looked.x_columns):
        if str(name) in (column.name, names[i]):
            axis = axis_of(column, looked.x[:, i], names[i])
            if axis is None:
                raise InputError(f"{what}: the column {name!r} is the same in all rows. Pass another.")
            return axis
    named = next((axis for axis in looked.axes if axis.name == name), None)
    if named is not None:
        return named
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


def named_slices(
    sets: Sequence[NamedRows], looked: Looked, signals: Signals, units: IntArray | None, alpha: float
) -> tuple[Slice, ...]:
    """Test rows that have a name each; the smallest p-values first."""
    tests = [_test(signals, rows, units) for _, rows in sets]
    adjusted = holm(np.array([p for p, _, _ in tests]))
    reader = Reader(looked, -float(ndtri(alpha / (2.0 * len(sets) * len(signals.about)))), units)
    slices = []
    for (condition, rows), p, (_, k, z) in zip(sets, adjusted.tolist(), tests, strict=True):
        findings = led(reader.findings(rows), signals.about[k], z)
        said = direction(findings[0]) if p <= alpha else NO_EVIDENCE
        about = (condition,), condition.words, condition.query, looked.rows[rows], len(rows) / looked.n
        slices.append(Slice(*about, p, TINY * len(sets), findings, severity(findings[0]), said))
    return tuple(sorted(slices, key=lambda one: one.pvalue))


def _test(signals: Signals, rows: IntArray, units: IntArray | None) -> tuple[float, int, float]:
    """Return the p-value of some rows, the signal that is strongest there, and N of it."""
    values = signals.values[rows]
    sums, n = values.sum(axis=0), len(rows)
    if signals.variance is not None:
        known = signals.variance[rows].sum(axis=0)
    else:
        known = n * (np.ones(len(sums)) if signals.unit else signals.square)
    if units is not None or not (signals.unit or signals.variance is not None):
        of = np.arange(n) if units is None else np.unique(units[rows], return_inverse=True)[1]
        logs, z = _by_units(values, np.asarray(of), known)
    elif signals.variance is not None:
        logs, z = _bennett(sums, known, signals.bound), sums / np.sqrt(known + signals.floor)
    else:
        z = sums / np.sqrt(known)
        normal = straightened(z, signals.third or (0.0,) * len(z), n)
        logs = np.minimum(math.log(2.0) + log_ndtr(-np.abs(normal)), 0.0)  # log P(|Z| ≥ |z|)
    k = int(np.argmin(logs))
    return max(min(1.0, len(sums) * math.exp(max(float(logs[k]), -700.0))), TINY), k, float(z[k])


def straightened(z: FloatArray, third: Sequence[float], n: int) -> FloatArray:
    """Take the skewness off standardised sums of n terms: N − aN² + a²N³/3, which always increases."""
    a = np.asarray(third) / (6.0 * math.sqrt(n))
    return np.asarray(z - a * (z**2 - 1.0) + a**2 * z**3 / 3.0)


def _bennett(sums: FloatArray, variance: FloatArray, bound: FloatArray | float = 1.0) -> FloatArray:
    """Return log of 2·exp(−V·h(t/V)), h(u) = (1 + u)log(1 + u) − u, in units of the largest term."""
    v = np.maximum(variance / np.square(bound), 1e-300)
    u = np.abs(sums) / bound / v
    return np.asarray(np.minimum(math.log(2.0) - v * ((1.0 + u) * np.log1p(u) - u), 0.0))


def _by_units(values: FloatArray, units: IntArray, known: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compare sums with their variation between units, by Student's law of so many units."""
    count = int(units.max()) + 1
    each = np.stack([np.bincount(units, column, count) for column in values.T])
    # At least what is known of it: a few rows may be alike by chance.
    variance = np.maximum(np.square(each).sum(axis=1), np.maximum(known, 1e-300))
    z = each.sum(axis=1) / np.sqrt(variance)
    # z² ≤ count by Cauchy and Schwarz; as a t statistic of the mean over units.
    t = z * np.sqrt((count - 1) / np.maximum(count - z**2, 1e-12)) if count > 1 else 0.0 * z
    with np.errstate(divide="ignore"):
        return np.log(np.minimum(2.0 * stdtr(max(count - 1, 1), -np.abs(t)), 1.0)), z


def holm(pvalues: FloatArray) -> FloatArray:
    """Correct p-values for their number, step by step."""
    order = np.argsort(pvalues, kind="stable")
    stepped = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    return np.asarray(np.minimum(stepped, 1.0)[np.argsort(order)])
