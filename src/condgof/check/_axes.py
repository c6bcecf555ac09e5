"""Columns that slices can be described by.

A condition on a column has words for readers, a query for `DataFrame.query`, and rows.
Bounds lie between observed values, so that nothing depends on rounding.
"""

from __future__ import annotations

import keyword
import math
import re
import tokenize
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from token import tok_name
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._record import Condition
from condgof.sample import Column

#: Categories of a column that slices can name; of more categories, the largest ones.
MAX_CATEGORIES = 60
#: Most characters of a number that a condition may be equal to ("dose = 2.5").
SHORT_NUMBER = 8
#: From here on, not every whole number is a double.
WHOLE = 2.0**53
#: Predictions that differ by at most this share of themselves are equal, up to rounding.
SAME_PREDICTION = 1e-9
#: A bound may move by 1/ROUND of a bin to become a round number.
ROUND = 4
#: Fewest columns of 0 and 1 that are taken for the dummies of one category.
MIN_DUMMIES = 3
#: Microseconds in a day.
DAY = 86_400_000_000
#: Microseconds in a day, a minute, a second and a microsecond: dates are rounded to these.
UNITS = (DAY, 60_000_000, 1_000_000, 1)
#: What names of condgof's own columns begin with where a user has a column of the name.
PREFIX = "condgof_"
#: Names that mean something else to `DataFrame.query`, or to numexpr behind it.
RESERVED = re.compile(
    "inf|Inf|sum|prod|min|max|abs|exp|expm1|log|log10|log1p|sqrt|floor|ceil|where|"
    "(?:arc)?(?:sin|cos|tan)h?|arctan2"
)
#: A word, a number or a mark that can stand between backticks.
PART = r"(?:[^\W\d]\w*+|(?:0|[1-9]\d*+|(?<=\.)\d++)(?![.\w])|[ +*/%&,:;=<>.?$-])"
#: A name that can stand between backticks: such parts, some of them in brackets.
QUOTABLE = re.compile(rf"(?:{PART}|\({PART}*+\)|\[{PART}*+\])+")


@dataclass(frozen=True, eq=False)
class Cut:
    """A column in bins; a slice is a range of them."""

    #: The bin of each row, (n,).
    codes: IntArray
    #: The number of bins.
    count: int
    #: First and last bin of each range that a slice may be, (A, 2).
    ranges: IntArray
    #: The smallest value of each bin: numbers, microseconds, or positions of categories.
    low: AnyArray
    #: The largest value of each bin.
    high: AnyArray
    #: Whether bins have an order, so that neighbours can be joined.
    joined: bool = True

    def bins_of(self, narrower: Cut) -> IntArray:
        """Return the bin that each bin of a narrower cut is in, (its count,)."""
        if not self.joined:
            return np.arange(self.count)
        return np.searchsorted(self.low[1:], narrower.low, side="right")


@dataclass(frozen=True, eq=False)
class Axis:
    """A column of x, or a prediction, that slices can be described by."""

    #: As `Check.frame` names it; for dummies of one category, how their names begin.
    name: str
    #: "numbers", "integers", "dates", "levels" (categories), "ordered" (categories in an
    #: order) or "two" (two values of any kind).
    kind: str
    #: Numbers, (n,): categories by their position, dates as days since 1970.
    values: FloatArray
    #: The categories of "levels", "ordered" and "two"; None for other kinds.
    levels: tuple[str, ...] | None = None
    #: Whether it is what the model predicts, not a column of x.
    predicted: bool = False
    #: The user's name of the column.
    label: str = ""
    #: The query of each category.
    queries: tuple[str, ...] = ()
    #: Whether it holds dates that came with a time zone, and are in UTC.
    utc: bool = False
    #: The positions of the columns that it is made of: among those of x, of dummies
    #: several; of a prediction its position among the predictions.
    source: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The name in sentences and pictures."""
        name = self.label or self.name
        return f"{name} (UTC)" if self.utc else name

    def text(self, value: float) -> str:
        """Write a value as people do."""
        if self.levels is not None:
            return self.levels[int(value)]
        if self.kind == "dates":
            return Column("", dates=True).text(value)
        if value == round(value) and abs(value) < 1e15:
            return commas(str(int(value)))
        return commas(digits(float(f"{value:.4g}")))

    @property
    def unordered(self) -> bool:
        """Whether its values are categories without an order."""
        return self.kind in ("levels", "two")

    def cut(
        self,
        bins: int,
        *,
        most_categories: int = MAX_CATEGORIES,
        within: Cut | None = None,
    ) -> Cut:
        """Cut the column at quantiles into at most `bins` bins, or into its categories.

        Of more than `most_categories` the smallest ones are in one bin. Bounds of a wider
        cut `within` which the bins are to lie are bounds here, too.
        """
        if self.unordered:
            return self._cut_into_categories(most_categories)
        return self._cut_at_quantiles(bins, within)

    def _cut_into_categories(self, most: int) -> Cut:
        """Return one bin for each of the largest categories, and one for all others."""
        places = self.values.astype(np.int64)
        sizes = np.bincount(places, minlength=len(self.levels or ()))
        count = min(most, np.count_nonzero(sizes))
        largest = np.sort(np.argsort(-sizes, kind="stable")[:count])
        bin_of = np.full(len(sizes), len(largest))
        bin_of[largest] = np.arange(len(largest))
        codes = bin_of[places]
        return Cut(
            codes=codes,
            count=int(codes.max()) + 1,
            ranges=np.repeat(np.arange(len(largest))[:, None], 2, axis=1),
            low=largest,
            high=largest,
            joined=False,
        )

    @cached_property
    def _ordered(self) -> AnyArray:
        """The values in order; dates in microseconds."""
        return np.sort(moments(self.values) if self.kind == "dates" else self.values)

    def _cut_at_quantiles(self, bins: int, within: Cut | None = None) -> Cut:
        """Return bins of about equal size, at most `bins`; a slice is any range of them."""
        values: AnyArray = moments(self.values) if self.kind == "dates" else self.values
        ordered = self._ordered
        # The place in `ordered` of the first row of each value but the smallest.
        starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        if len(starts) >= bins:
            starts = self._bin_starts(ordered, starts, bins)
            if within is not None:
                kept = np.searchsorted(ordered, within.low[1:])
                starts = _with_bounds(starts, kept, 0.5 * len(values) / bins)
        codes = np.searchsorted(ordered[starts], values, side="right").astype(np.int64)
        count = len(starts) + 1
        first, last = np.triu_indices(count)
        proper = (first > 0) | (last < count - 1)
        return Cut(
            codes=codes,
            count=count,
            ranges=np.column_stack((first, last))[proper],
            low=ordered[np.concatenate(([0], starts))],
            high=ordered[np.concatenate((starts, [0])) - 1],
        )

    def _bin_starts(self, ordered: AnyArray, starts: IntArray, bins: int) -> IntArray:
        """Choose the places nearest to quantiles where the value changes.

        Parameters
        ----------
        ordered : ndarray of shape (n,)
            The values in order.
        starts : ndarray
            The places where the value changes.
        bins : int
            The number of bins, at most that of `starts`.
        """
        n = len(ordered)
        wanted = n * np.arange(1, bins) / bins
        after = np.searchsorted(starts, wanted).clip(1, len(starts) - 1)
        nearer = wanted - starts[after - 1] < starts[after] - wanted
        places = starts[after - nearer]
        if self.kind == "numbers" and len(starts) >= ROUND * bins:
            near = n / (ROUND * bins)
            low = ordered[np.clip(places - near, 0, n - 1).astype(int)]
            high = ordered[np.clip(places + near, 0, n - 1).astype(int)]
            bounds = list(map(_shortest, low, high, ordered[places]))
            places = np.searchsorted(ordered, bounds)
        return np.unique(places)

    def condition(self, cut: Cut, first: int, last: int) -> Condition:
        """Return the condition that a row is in the bins from `first` to `last`."""
        low = cut.low[first]
        high = cut.high[last]
        if low == high and (self.kind != "numbers" or len(digits(low)) <= SHORT_NUMBER):
            return self.equals(low)
        if self.levels is not None:
            levels = self.levels[int(low) : int(high) + 1]
            words = f"{self.label} from {shown(levels[0])} to {shown(levels[-1])}"
            listed = ", ".join(map(literal, levels))
            return Condition(
                column=self.name,
                words=words,
                query=f"{quoted(self.name)} in [{listed}]",
                short=f"{levels[0]} to {levels[-1]}",
            )
        # Whole numbers include both ends; other bounds lie between the values of
        # neighbouring bins.
        whole = self.kind == "integers"
        lower = ""
        upper = ""
        if first > 0:
            lower = digits(low) if whole else self._between(cut.high[first - 1], low)
        if last < cut.count - 1:
            upper = digits(high) if whole else self._between(high, cut.low[last + 1])
        return self.within(lower, upper, "<=" if whole else "<")

    def equals(self, value: Any) -> Condition:
        """Return the condition that a row has a value.

        The value is a number, microseconds, or the position of a category.
        """
        if self.levels is not None:
            words = shown(self.levels[int(value)])
            query = self.queries[int(value)]
        elif self.kind == "dates":
            text = moment(int(value))
            words = commas(text)
            # A query compares dates with texts by order alone, not by equality.
            query = self.within(text, text).query
        else:
            text = digits(float(value))
            words = commas(text)
            query = f"{quoted(self.name)} == {text}"
        at = float(value) if self.levels is None and self.kind != "dates" else math.nan
        return Condition(
            column=self.name,
            words=f"{self.title} = {words}",
            query=query,
            short=words,
            low=at,
            high=at,
        )

    def within(self, lower: str, upper: str, below: str = "<=") -> Condition:
        """Return the condition that a row is between bounds, of which one may be "".

        The lower bound is included, the upper one if `below` is "<=".
        """
        above = f"{commas(lower)} ≤ " if lower else ""
        words = f"{above}{self.title} {below.replace('<=', '≤')} {commas(upper)}"
        if not upper:
            words = f"{self.title} ≥ {commas(lower)}"
        write = literal if self.kind == "dates" else str
        parts = []
        if lower:
            parts.append(f"{quoted(self.name)} >= {write(lower)}")
        if upper:
            parts.append(f"{quoted(self.name)} {below} {write(upper)}")
        low = math.nan
        high = math.nan
        if self.kind != "dates":
            low = float(lower) if lower else -math.inf
            high = float(upper) if upper else math.inf
        return Condition(
            column=self.name,
            words=words,
            query=" and ".join(parts),
            short=_range_text(commas(lower), commas(upper), below),
            low=low,
            high=high,
        )

    def bounds(self, cut: Cut) -> AnyArray:
        """Return where each bin but the first begins, as conditions state it, (count − 1,).

        Numbers, microseconds, or positions of ordered categories. A value belongs to the
        bin above a bound if it is not below it.
        """
        pairs = zip(cut.high[:-1], cut.low[1:], strict=True)
        if self.kind == "dates":
            return np.array([_shortest_tick(*pair) for pair in pairs], dtype=np.int64)
        if self.kind == "numbers":
            return np.array([self._bound(*pair) for pair in pairs])
        return cut.low[1:]

    def _between(self, below: Any, above: Any) -> str:
        """Write the shortest bound b with below < b ≤ above."""
        if self.kind == "dates":
            return moment(_shortest_tick(below, above))
        return digits(self._bound(below, above))

    def _bound(self, below: float, above: float) -> float:
        """Return the number of fewest digits that is > below and ≤ above."""
        return _shortest(below, above, below / 2 + above / 2, above)


def _with_bounds(starts: IntArray, kept: IntArray, nearest: float) -> IntArray:
    """Return starts of bins among which are those `kept`, and others not near to them."""
    if not len(kept):
        return starts
    distance = np.abs(starts[:, None] - kept).min(axis=1)
    return np.union1d(kept, starts[distance > nearest])


def _shortest_tick(below: int, above: int) -> int:
    """Return the roundest date, in microseconds, that is > below and ≤ above."""
    ticks = (int(above) // unit * unit for unit in UNITS)
    return next(tick for tick in ticks if tick > below)


def _range_text(lower: str, upper: str, below: str) -> str:
    """Write a range without the name of its column: "6 to 8", "≥ 8", "< 6"."""
    if not upper:
        return f"≥ {lower}"
    if not lower:
        return f"{below.replace('<=', '≤')} {upper}"
    return f"{lower} to {upper}"


def _shortest(below: float, above: float, *values: float) -> float:
    """Round one of `values` to the fewest digits at which it is > below and ≤ above."""
    rounded = (float(f"{value:.{places}g}") for places in range(1, 18) for value in values)
    return next(bound for bound in rounded if below < bound <= above)


def axes_of(
    columns: Sequence[Column],
    x: FloatArray,
    predictions: Sequence[tuple[Column, FloatArray]] = (),
    y_columns: Sequence[Column] = (),
) -> tuple[Axis, ...]:
    """Return the axes of columns of x (n, d_x) that vary, and of predictions (n,).

    Dummies of one category are one axis, in the place of the first of them. Predictions
    have the names that `Check.frame` gives them, beside x and `y_columns`.
    """
    names = unique_names([column.name for column in columns], ())
    axes = [
        axis_of(column, x[:, i], names[i], source=i) for i, column in enumerate(columns)
    ]
    taken = set(names)
    for prefix, members in _categories(columns, x):
        (name,) = unique_names([prefix], taken)
        taken.add(name)
        for i in members:
            axes[i] = None
        axes[min(members)] = _dummy_axis(name, prefix, members, columns, names, x)
    taken.update(unique_names([column.name for column in y_columns], names))
    others = prefixed_names([column.name for column, _ in predictions], taken)
    for number, (column, values) in enumerate(predictions):
        name = others[number]
        named = Column(name, column.levels)
        axes.append(axis_of(named, values, name, predicted=True, source=number))
    return tuple(axis for axis in axes if axis is not None)


def _dummy_axis(
    name: str,
    prefix: str,
    members: dict[int, str],
    columns: Sequence[Column],
    names: Sequence[str],
    x: FloatArray,
) -> Axis:
    """Return the axis of columns of 0 and 1 that are one category.

    Parameters
    ----------
    name : str
        What `Check.frame` calls the category.
    prefix : str
        How the names of its columns begin.
    members : dict
        From the number of each of its columns to the category of that column.
    columns, names, x
        All columns of x, what `Check.frame` calls them, and their values (n, d_x).
    """
    levels = tuple(members.values())
    values = x[:, list(members)] @ np.arange(1.0, len(members) + 1) - 1
    on = [_dummy_query(columns[i], names[i], value=True) for i in members]
    off = [_dummy_query(columns[i], names[i], value=False) for i in members]
    if values.min() < 0:  # rows where all of the columns are 0
        values[values < 0] = len(members)
        on.append(" and ".join(off))
        first = ", ".join(levels[:3])
        more = ", …" if len(levels) > 3 else ""
        levels = (*levels, f"none of {first}{more}")
    return Axis(
        name=name,
        kind="levels",
        values=values,
        levels=levels,
        label=prefix,
        queries=tuple(on),
        source=tuple(members),
    )


def _dummy_query(column: Column, name: str, *, value: bool) -> str:
    """Return the query of the rows where a column of 0 and 1, or of bools, has a value."""
    return f"{quoted(name)} == {value if column.boolean else int(value)}"


def axis_of(
    column: Column,
    values: FloatArray,
    name: str,
    predicted: bool = False,
    source: int = 0,
) -> Axis | None:
    """Return the axis of a column that `Check.frame` calls `name`; None if it is constant.

    `values` (n,) are numbers, categories by their position, or days since 1970. `source` is
    the position of the column among those of x, or among the predictions.
    """
    low = values.min()
    high = values.max()
    rounding = SAME_PREDICTION * max(abs(low), abs(high)) if predicted else 0.0
    if high / 2 - low / 2 <= rounding:
        return None
    levels = column.levels
    queries: tuple[str, ...] = ()
    texts = ("False", "True") if column.boolean else (digits(low), digits(high))
    short = max(map(len, texts)) <= SHORT_NUMBER and not predicted
    if levels is not None:
        kind = "ordered" if column.ordered else "levels"
        queries = tuple(f"{quoted(name)} == {literal(level)}" for level in levels)
    elif column.dates:
        kind = "dates"
    elif short and np.all((values == low) | (values == high)):
        kind = "two"
        levels = tuple(map(commas, texts))
        queries = tuple(f"{quoted(name)} == {text}" for text in texts)
        values = (values == high).astype(np.float64)
    elif max(-low, high) < WHOLE and np.all(values == np.floor(values)):
        kind = "integers"
    else:
        kind = "numbers"
    return Axis(
        name=name,
        kind=kind,
        values=values,
        levels=levels,
        predicted=predicted,
        label=column.name,
        queries=queries,
        utc=column.utc,
        source=(source,),
    )


def _categories(
    columns: Sequence[Column], x: FloatArray
) -> Iterator[tuple[str, dict[int, str]]]:
    """Yield the columns of 0 and 1 that are dummies of one category.

    Their names begin alike, and in no row more than one of them is 1. Each prefix comes
    with a dictionary from the numbers of its columns to their categories.
    """
    dummies = {
        i: column.name for i, column in enumerate(columns) if _is_dummy(column, x[:, i])
    }
    prefixes: set[str] = set()
    for name in dummies.values():
        prefixes |= {name[: mark.start()] for mark in re.finditer(r"[_=.[]+", name)}
    # Of prefixes that the same columns share, the longest stays: it comes last.
    prefix_of: dict[tuple[int, ...], str] = {}
    for prefix in sorted((prefix for prefix in prefixes if "[" not in prefix), key=len):
        members = tuple(i for i, name in dummies.items() if _suffix(name, prefix))
        prefix_of[members] = prefix
    most_columns_first = sorted(prefix_of.items(), key=lambda pair: -len(pair[0]))
    for members, prefix in most_columns_first:
        levels = {i: _suffix(dummies[i], prefix) for i in members if i in dummies}
        distinct = len(levels) == len(members) == len(set(levels.values()))
        if len(members) < MIN_DUMMIES or not distinct:
            continue
        if x[:, members].sum(axis=1).max() <= 1:
            yield prefix, levels
            for i in members:
                del dummies[i]


def _is_dummy(column: Column, values: FloatArray) -> bool:
    """Tell whether a column (n,) holds both 0 and 1, and nothing else."""
    if column.kind != "numbers" or np.any((values != 0) & (values != 1)):
        return False
    return bool(np.ptp(values))


def _suffix(name: str, prefix: str) -> str:
    """Return the category in the name of a dummy; "" if the name has another prefix."""
    match = re.fullmatch(
        re.escape(prefix) + r"(?:\[(?:T\.)?(.+)\]|[_=.[]+(.+))", name, re.DOTALL
    )
    return (match[1] or match[2]) if match else ""


def unique_names(wanted: Iterable[str], taken: Iterable[str]) -> tuple[str, ...]:
    """Return names that `DataFrame.query` tells apart from each other and from `taken`."""
    used = set(map(_query_name, taken))
    names = []
    for name in map(_safe, wanted):
        free = name
        number = 2
        while _query_name(free) in used:
            free = f"{name}_{number}"
            number += 1
        used.add(_query_name(free))
        names.append(free)
    return tuple(names)


def prefixed_names(wanted: Iterable[str], taken: Collection[str]) -> tuple[str, ...]:
    """Return names for columns of condgof's own, beside the names of a user's columns.

    Those of the user's names get `PREFIX`: ``condgof_z`` where the user has a column z.
    """
    users = set(map(_query_name, taken))
    names = [
        f"{PREFIX}{name}" if _query_name(_safe(name)) in users else name for name in wanted
    ]
    return unique_names(names, taken)


def _safe(name: str) -> str:
    """Return the name, changed only where no query can hold it between backticks."""
    name = unicodedata.normalize("NFKC", name)
    if RESERVED.fullmatch(name):
        return f"{name}_"
    dunder = name.startswith("__") or name.endswith("__")
    if not dunder and QUOTABLE.fullmatch(name) and _query_name(name).isidentifier():
        return name
    # Marks that are put on letters are no part of a word to pandas, though they are to
    # Python.
    allowed = (re.match(r"\w", mark) and f"a{mark}".isidentifier() for mark in name)
    plain = "".join(mark if keep else "_" for mark, keep in zip(name, allowed, strict=True))
    plain = re.sub("_+", "_", plain).strip("_")
    plain = plain if plain.isidentifier() else f"column_{plain}".strip("_")
    return _safe(plain)


def _query_name(name: str) -> str:
    """Return the name by which `DataFrame.query` looks a column up."""
    if quoted(name) == name:
        return name
    tokens = tokenize.EXACT_TOKEN_TYPES
    marks = {mark: f"_{tok_name[token]}_" for mark, token in tokens.items()}
    marks |= {" ": "_", "?": "_QUESTIONMARK_", "$": "_DOLLARSIGN_"}
    return "BACKTICK_QUOTED_STRING_" + "".join(marks.get(mark, mark) for mark in name)


def quoted(name: str) -> str:
    """Return a name of `Check.frame` for a query, between backticks where it needs them."""
    if name.isidentifier() and not keyword.iskeyword(name):
        return name
    return f"`{name}`"


def literal(text: str) -> str:
    """Write a text as a Python literal between double quotes."""
    # With a double quote at its end, repr writes any text between single quotes.
    return '"' + repr(text + '"')[1:-2].replace("\\'", "'").replace('"', '\\"') + '"'


def moments(days: FloatArray) -> IntArray:
    """Return days as microseconds."""
    return np.rint(days * DAY).astype(np.int64)


def moment(ticks: int) -> str:
    """Write microseconds since 1970 as a date, with as much of the time as there is."""
    day, time = str(np.datetime64(ticks, "us")).split("T")
    time = time.removesuffix(".000000").removesuffix(":00")
    return day if time == "00:00" else f"{day} {time}"


def shown(level: str) -> str:
    """Write a category, between quotes where a reader would not know where it ends."""
    visible = level and level.isprintable() and level.strip() == level
    return level if visible and " and " not in level else literal(level)


def digits(value: float) -> str:
    """Write a number with all its digits, and an exponent only where it is far from 1."""
    value = float(value) + 0.0  # no negative zero
    if value and not 1e-5 <= abs(value) < 1e16:
        return repr(value)
    return np.format_float_positional(value, trim="-")


def commas(text: str) -> str:
    """Write the digits of a number as sentences do: with commas from ten thousand on."""
    whole, dot, rest = text.partition(".")
    return f"{int(whole):,}{dot}{rest}" if re.fullmatch(r"-?\d{5,}", whole) else text
