"""Columns as slices can name them: what a condition says in words, to `DataFrame.query`, and its rows.

Bounds lie between observed values, so that nothing depends on rounding.
"""

from __future__ import annotations

import keyword
import re
import tokenize
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from token import tok_name
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._record import Condition
from condgof.sample import Column

#: A column of more levels offers its largest ones; values of more characters are not named
#: one by one.
LEVELS, SHORT = 60, 8
#: Whole numbers from here on are not all numbers of their own; predictions that differ by
#: no more than this share of themselves are the same, but for rounding.
WHOLE, SAME = 2.0**53, 1e-9
#: Bounds may be off by one part in so many of a bin; so many columns of 0 and 1 are a
#: category.
ROUND, DUMMIES = 4, 3
#: Microseconds of a day, a minute, a second, and one.
UNITS = (86_400_000_000, 60_000_000, 1_000_000, 1)
#: Names that mean something else to `DataFrame.query`, or to numexpr behind it.
RESERVED = re.compile(
    "inf|Inf|sum|prod|min|max|abs|exp|expm1|log|log10|log1p|sqrt|floor|ceil|where|"
    "(?:arc)?(?:sin|cos|tan)h?|arctan2"
)
#: What can stand between backticks: words and numbers with marks between them, some in
#: brackets.
PART = r"(?:[^\W\d]\w*+|(?:0|[1-9]\d*+|(?<=\.)\d++)(?![.\w])|[ +*/%&,:;=<>.?$-])"
QUOTABLE = re.compile(rf"(?:{PART}|\({PART}*+\)|\[{PART}*+\])+")


@dataclass(frozen=True, eq=False)
class Cut:
    """A column in bins; a slice is a range of them."""

    #: The bin of each row, (n,), and the number of bins; the ranges that a slice may be,
    #: (A, 2): first and last bin.
    codes: IntArray
    count: int
    ranges: IntArray
    #: The smallest and the largest value of each bin: numbers, microseconds, or positions
    #: of levels.
    low: AnyArray
    high: AnyArray


@dataclass(frozen=True, eq=False)
class Axis:
    #: As `Check.frame` names it; of columns of 0 and 1 that are one category, how their
    #: names begin.
    name: str
    #: "numbers", "integers", "dates", "levels", "ordered" or "two".
    kind: str
    #: Numbers (n,): levels by position, dates as days since 1970; levels of the last three
    #: kinds.
    values: FloatArray
    levels: tuple[str, ...] | None = None
    #: Whether it is what the model predicts, not a column of x.
    predicted: bool = False
    #: The user's name; the query of each level.
    label: str = ""
    queries: tuple[str, ...] = ()
    #: Whether it holds dates that came with a time zone, and are in UTC.
    utc: bool = False

    @property
    def title(self) -> str:
        """What the words of slices, and pictures, call it."""
        return f"{self.label or self.name}{' (UTC)' * self.utc}"

    def text(self, value: float) -> str:
        if self.levels is not None:
            return self.levels[int(value)]
        if self.kind == "dates":
            return Column("", dates=True).text(value)
        if value == round(value) and abs(value) < 1e15:
            return commas(str(int(value)))
        return commas(digits(float(f"{value:.4g}")))

    def cut(self, bins: int) -> Cut:
        """Cut it at quantiles into at most so many bins, or into its levels."""
        if self.kind in ("levels", "two"):
            # One bin a level, the largest ones, and one of all others if there are any.
            places = self.values.astype(np.int64)
            sizes = np.bincount(places, minlength=len(self.levels or ()))
            named = np.sort(
                np.argsort(-sizes, kind="stable")[: min(LEVELS, np.count_nonzero(sizes))]
            )
            numbers = np.full(len(sizes), len(named))
            numbers[named] = np.arange(len(named))
            codes, ranges = (
                numbers[places],
                np.repeat(np.arange(len(named))[:, None], 2, axis=1),
            )
            return Cut(codes, int(codes.max()) + 1, ranges, named, named)
        values: AnyArray = moments(self.values) if self.kind == "dates" else self.values
        ordered = np.sort(values)
        starts = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        if (
            len(starts) >= bins
        ):  # more values than bins: the nearest place where values change
            wanted = len(values) * np.arange(1, bins) / bins
            after = np.searchsorted(starts, wanted).clip(1, len(starts) - 1)
            nearer = wanted - starts[after - 1] < starts[after] - wanted
            places = starts[after - nearer]
            if (
                self.kind == "numbers" and len(starts) >= ROUND * bins
            ):  # near it, at a round number
                near, end = len(values) / (ROUND * bins), len(values) - 1
                low, high = (
                    ordered[np.clip(places + d, 0, end).astype(int)] for d in (-near, near)
                )
                places = np.searchsorted(
                    ordered, list(map(_shortest, low, high, ordered[places]))
                )
            starts = np.unique(places)
        codes = np.searchsorted(ordered[starts], values, side="right").astype(np.int64)
        count = len(starts) + 1
        first, last = np.triu_indices(count)
        ranges = np.column_stack((first, last))[(first > 0) | (last < count - 1)]
        low = ordered[np.concatenate(([0], starts))]
        return Cut(codes, count, ranges, low, ordered[np.concatenate((starts, [0])) - 1])

    def condition(self, cut: Cut, first: int, last: int) -> Condition:
        """Say which rows are in the bins from `first` to `last`."""
        low, high = cut.low[first], cut.high[last]
        if low == high and (self.kind != "numbers" or len(digits(low)) <= SHORT):
            return self.equals(low)
        if self.levels is not None:
            levels = self.levels[int(low) : int(high) + 1]
            words = f"{self.label} from {shown(levels[0])} to {shown(levels[-1])}"
            listed = ", ".join(map(literal, levels))
            return Condition(self.name, words, f"{quoted(self.name)} in [{listed}]")
        # Whole numbers include both ends; other bounds lie between the values of
        # neighbouring bins.
        whole, lower, upper = self.kind == "integers", "", ""
        if first > 0:
            lower = digits(low) if whole else self._between(cut.high[first - 1], low)
        if last < cut.count - 1:
            upper = digits(high) if whole else self._between(high, cut.low[last + 1])
        return self.within(lower, upper, "<=" if whole else "<")

    def equals(self, value: Any) -> Condition:
        """Say which rows have a value: a number, microseconds, or the position of a level."""
        if self.levels is not None:
            words, query = shown(self.levels[int(value)]), self.queries[int(value)]
        else:
            text = moment(int(value)) if self.kind == "dates" else digits(float(value))
            # A date equals no text, it is only compared with one.
            ends = self.within(text, text) if self.kind == "dates" else None
            words, query = (
                commas(text),
                ends.query if ends else f"{quoted(self.name)} == {text}",
            )
        return Condition(self.name, f"{self.title} = {words}", query)

    def within(self, lower: str, upper: str, below: str = "<=") -> Condition:
        """Say which rows are between two bounds, of which one may be empty; the lower is included."""
        above = f"{commas(lower)} ≤ " if lower else ""
        words = f"{above}{self.title} {below.replace('<=', '≤')} {commas(upper)}"
        if not upper:
            words = f"{self.title} ≥ {commas(lower)}"
        write = literal if self.kind == "dates" else str
        ends = [
            f"{sign} {write(end)}" for sign, end in ((">=", lower), (below, upper)) if end
        ]
        return Condition(
            self.name, words, " and ".join(f"{quoted(self.name)} {end}" for end in ends)
        )

    def _between(self, below: Any, above: Any) -> str:
        """Write the shortest bound b with below < b ≤ above."""
        if self.kind == "dates":
            ticks = (int(above) // unit * unit for unit in UNITS)
            return moment(next(tick for tick in ticks if tick > below))
        return digits(_shortest(below, above, below / 2 + above / 2, above))


def _shortest(below: float, above: float, *values: float) -> float:
    """Round one of some values to the fewest digits with which it is > below and ≤ above."""
    rounded = (float(f"{value:.{places}g}") for places in range(1, 18) for value in values)
    return next(bound for bound in rounded if below < bound <= above)


def axes_of(
    columns: Sequence[Column],
    x: FloatArray,
    predictions: Sequence[tuple[Column, FloatArray]] = (),
) -> tuple[Axis, ...]:
    """Return what slices can name: columns of x that vary, dummies as one category, and predictions."""
    names = unique_names([column.name for column in columns], ())
    axes = [axis_of(column, x[:, i], names[i]) for i, column in enumerate(columns)]
    taken = set(names)
    for prefix, members in _categories(columns, x):
        levels, dummies = tuple(members.values()), list(members)
        values = x[:, dummies] @ np.arange(1.0, len(members) + 1) - 1
        on, off = (
            [
                f"{quoted(names[i])} == {bit if columns[i].boolean else int(bit)}"
                for i in members
            ]
            for bit in (True, False)
        )
        if values.min() < 0:
            values[values < 0] = len(members)
            on.append(" and ".join(off))
            levels = (
                *levels,
                "none of " + ", ".join([*levels[:3], *["…"] * (len(levels) > 3)]),
            )
        (name,) = unique_names([prefix], taken)
        taken.add(name)
        for i in members:
            axes[i] = None
        axes[min(members)] = Axis(name, "levels", values, levels, False, prefix, tuple(on))
    others = unique_names([column.name for column, _ in predictions], taken)
    for name, (column, values) in zip(others, predictions, strict=True):
        axes.append(axis_of(Column(name, column.levels), values, name, predicted=True))
    return tuple(axis for axis in axes if axis is not None)


def axis_of(
    column: Column, values: FloatArray, name: str, predicted: bool = False
) -> Axis | None:
    """Return the axis of one column, which is `name` in `Check.frame`; None if it is constant."""
    low, high = values.min(), values.max()
    if high / 2 - low / 2 <= (SAME * max(abs(low), abs(high)) if predicted else 0.0):
        return None
    kind, levels, queries = "numbers", column.levels, tuple[str, ...]()
    texts = ("False", "True") if column.boolean else (digits(low), digits(high))
    short = max(map(len, texts)) <= SHORT and not predicted
    if levels is not None:
        kind = "ordered" if column.ordered else "levels"
        queries = tuple(f"{quoted(name)} == {literal(level)}" for level in levels)
    elif column.dates:
        kind = "dates"
    elif short and np.all((values == low) | (values == high)):
        kind, levels = "two", tuple(map(commas, texts))
        queries = tuple(f"{quoted(name)} == {text}" for text in texts)
        values = (values == high).astype(np.float64)
    elif max(-low, high) < WHOLE and np.all(values == np.floor(values)):
        kind = "integers"
    return Axis(name, kind, values, levels, predicted, column.name, queries, column.utc)


def _categories(
    columns: Sequence[Column], x: FloatArray
) -> Iterator[tuple[str, dict[int, str]]]:
    """Find columns of 0 and 1 whose names begin alike and of which at most one is 1: their levels."""
    dummies = {
        i: column.name
        for i, column in enumerate(columns)
        if column.kind == "numbers"
        and not np.any((x[:, i] != 0) & (x[:, i] != 1))
        and np.ptp(x[:, i])
    }
    prefixes = {
        name[: at.start()]
        for name in dummies.values()
        for at in re.finditer(r"[_=.[]+", name)
    }
    # Of the same columns the longest prefix, and most columns first.
    prefix_of: dict[tuple[int, ...], str] = {}
    for prefix in sorted((prefix for prefix in prefixes if "[" not in prefix), key=len):
        prefix_of[tuple(i for i, name in dummies.items() if _suffix(name, prefix))] = prefix
    for members, prefix in sorted(prefix_of.items(), key=lambda pair: -len(pair[0])):
        levels = {i: _suffix(dummies[i], prefix) for i in members if i in dummies}
        distinct = len(levels) == len(members) == len(set(levels.values()))
        if len(members) >= DUMMIES and distinct and x[:, members].sum(axis=1).max() <= 1:
            yield prefix, levels
            for i in members:
                del dummies[i]


def _suffix(name: str, prefix: str) -> str:
    """Return the level in the name of a column of 0 and 1; "" if it does not belong to the prefix."""
    match = re.fullmatch(
        re.escape(prefix) + r"(?:\[(?:T\.)?(.+)\]|[_=.[]+(.+))", name, re.DOTALL
    )
    return (match[1] or match[2]) if match else ""


def unique_names(wanted: Iterable[str], taken: Iterable[str]) -> tuple[str, ...]:
    """Return names that `DataFrame.query` can tell apart from each other and from those taken."""
    known, names = set(map(_seen, taken)), []
    for name in map(_safe, wanted):
        number, free = 2, name
        while _seen(free) in known:
            free, number = f"{name}_{number}", number + 1
        known.add(_seen(free))
        names.append(free)
    return tuple(names)


def _safe(name: str) -> str:
    """Return the name, changed only if it cannot be used in a query, even between backticks."""
    name = unicodedata.normalize("NFKC", name)
    if RESERVED.fullmatch(name):
        return f"{name}_"
    dunder = name.startswith("__") or name.endswith("__")
    if not dunder and QUOTABLE.fullmatch(name) and _seen(name).isidentifier():
        return name
    # Marks that are put on letters are no part of a word to pandas, though they are to
    # Python.
    allowed = (re.match(r"\w", mark) and f"a{mark}".isidentifier() for mark in name)
    plain = "".join(mark if keep else "_" for mark, keep in zip(name, allowed, strict=True))
    plain = re.sub("_+", "_", plain).strip("_")
    plain = plain if plain.isidentifier() else f"column_{plain}".strip("_")
    return _safe(plain)


def _seen(name: str) -> str:
    """Return a name as `DataFrame.query` sees it."""
    if quoted(name) == name:
        return name
    marks = {
        mark: f"_{tok_name[kind]}_" for mark, kind in tokenize.EXACT_TOKEN_TYPES.items()
    }
    marks |= {" ": "_", "?": "_QUESTIONMARK_", "$": "_DOLLARSIGN_"}
    return "BACKTICK_QUOTED_STRING_" + "".join(marks.get(mark, mark) for mark in name)


def quoted(name: str) -> str:
    """Return a name of `Check.frame` as a query has it, between backticks where it needs them."""
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"`{name}`"


def literal(text: str) -> str:
    return '"' + repr(text + '"')[1:-2].replace("\\'", "'").replace('"', '\\"') + '"'


def moments(days: FloatArray) -> IntArray:
    """Return days as microseconds."""
    return np.rint(days * UNITS[0]).astype(np.int64)


def moment(ticks: int) -> str:
    """Write microseconds since 1970 as a date, with as much of the time as there is."""
    day, time = str(np.datetime64(ticks, "us")).split("T")
    time = time.removesuffix(".000000").removesuffix(":00")
    return day if time == "00:00" else f"{day} {time}"


def shown(level: str) -> str:
    """Write a level, between quotes where it would not be seen as one."""
    clear = (
        level.strip() == level and level.isprintable() and level and " and " not in level
    )
    return level if clear else literal(level)


def digits(value: float) -> str:
    value = float(value) + 0.0  # no negative zero
    if value and not 1e-5 <= abs(value) < 1e16:
        return repr(value)
    return np.format_float_positional(value, trim="-")


def commas(text: str) -> str:
    """Write the digits of a number as words do: with commas from ten thousand on."""
    whole, dot, rest = text.partition(".")
    return f"{int(whole):,}{dot}{rest}" if re.fullmatch(r"-?\d{5,}", whole) else text
