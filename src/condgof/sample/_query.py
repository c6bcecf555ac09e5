"""Conditions on columns, such as ``age < 30 and town in ["Oslo", "Rome"]``.

A query holds columns, numbers, text between quotes, comparisons (also chained ones),
``in`` and ``not in`` with a list, ``and``, ``or``, ``not`` and parentheses, and nothing
else: it is parsed here, and no part of it is ever given to `eval` or to a frame library.
What `DataFrame.query` of pandas answers of such queries is answered alike.
"""

from __future__ import annotations

import ast
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import InputError, require, shown
from condgof.sample._arrays import BoolArray, as_moments
from condgof.sample._column import Kind
from condgof.sample._frames import CodedColumn
from condgof.sample._table import hint

#: The tokens of a query, each with its pattern, in the order in which they are tried.
TOKENS: dict[str, str] = {
    "space": r"\s+",
    "number": r"(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w)",
    "text": r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"",
    "quoted": r"`[^`\n]+`",
    "compare": r"<=|>=|==|!=|<|>",
    "mark": r"[()\[\],&|~+-]",
    "name": r"[^\W\d]\w*",
}
TOKEN = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in TOKENS.items()))
#: Words that are no names of columns, unless between backticks.
WORDS = ("and", "or", "not", "in", "True", "False")
#: Most parentheses and ``not`` inside each other.
MOST_NESTED = 50
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
#: What a query may hold, for messages.
LANGUAGE = (
    "A query compares columns with numbers, text in quotes or lists, by < <= > >= == != and"
    " in, joined by and, or, not; names that are no single word stand between backticks."
)

Columns: TypeAlias = Mapping[str, CodedColumn]


class QueryError(InputError):
    """A text is no query, or no query of these columns."""


class Token(NamedTuple):
    """A word, number or mark of a query."""

    kind: str
    text: str
    place: int  #: The position of its first character.


class Node(ABC):
    """A part of a query that is true or false in each row."""

    @abstractmethod
    def evaluate(self, columns: Columns, n: int) -> BoolArray:
        """Return where it is true, (n,)."""

    @abstractmethod
    def to_polars(self, pl: Any) -> Any:
        """Return it as an expression, given the module polars."""


@dataclass(frozen=True)
class Literal:
    """A number, a truth value or a text."""

    value: float | bool | str


@dataclass(frozen=True)
class Name(Node):
    """A column; on its own, one of truth values."""

    name: str

    def find(self, columns: Columns) -> CodedColumn:
        if self.name not in columns:
            raise QueryError(
                f"there is no column {shown(self.name)}. {hint(self.name, list(columns))}"
            )
        return columns[self.name]

    def evaluate(self, columns: Columns, n: int) -> BoolArray:
        column, values = self.find(columns)
        if not column.boolean:
            raise QueryError(
                f"{shown(self.name)} alone is no condition: it holds {column.kind}, not"
                " truth values. Compare it with something."
            )
        return np.asarray(values, dtype=bool)

    def to_polars(self, pl: Any) -> Any:
        return pl.col(self.name).fill_null(False)


@dataclass(frozen=True)
class Not(Node):
    """True where a part is not."""

    part: Node

    def evaluate(self, columns: Columns, n: int) -> BoolArray:
        return ~self.part.evaluate(columns, n)

    def to_polars(self, pl: Any) -> Any:
        return ~self.part.to_polars(pl)


@dataclass(frozen=True)
class Joined(Node):
    """True where all parts are, or where any is."""

    parts: tuple[Node, ...]
    all: bool

    def evaluate(self, columns: Columns, n: int) -> BoolArray:
        join = np.logical_and if self.all else np.logical_or
        return np.asarray(join.reduce([part.evaluate(columns, n) for part in self.parts]))

    def to_polars(self, pl: Any) -> Any:
        join = pl.all_horizontal if self.all else pl.any_horizontal
        return join(*(part.to_polars(pl) for part in self.parts))


Operand: TypeAlias = Name | Literal


@dataclass(frozen=True)
class Comparison(Node):
    """A comparison of columns and literals, such as ``age < 30``."""

    left: Operand
    symbol: str
    right: Operand

    def evaluate(self, columns: Columns, n: int) -> BoolArray:
        left = _values(self.left, self.right, columns)
        right = _values(self.right, self.left, columns)
        answer = COMPARISONS[self.symbol](left, right)
        return np.broadcast_to(np.asarray(answer, dtype=bool), (n,))

    def to_polars(self, pl: Any) -> Any:
        left = _polars_operand(pl, self.left, self.right, self.symbol)
        right = _polars_operand(pl, self.right, self.left, self.symbol)
        # A missing value equals nothing, and is neither less nor more.
        return COMPARISONS[self.symbol](left, right).fill_null(self.symbol == "!=")


@dataclass(frozen=True)
class Among(Node):
    """True where a column equals any of some literals: ``town in ["Oslo", "Rome"]``."""

    left: Operand
    literals: tuple[Literal, ...]

    def evaluate(self, columns: Columns, n: int) -> BoolArray:
        among = np.zeros(n, dtype=bool)
        for literal in self.literals:
            among |= Comparison(self.left, "==", literal).evaluate(columns, n)
        return among

    def to_polars(self, pl: Any) -> Any:
        equal = [Comparison(self.left, "==", one).to_polars(pl) for one in self.literals]
        return pl.any_horizontal(*equal) if equal else pl.lit(False)


def _polars_operand(pl: Any, operand: Operand, other: Operand, symbol: str) -> Any:
    """Return an operand of a comparison as an expression.

    Dates are compared by order alone, so that a text which is one stands for it there.
    """
    if isinstance(operand, Name):
        column = pl.col(operand.name)
        with_number = isinstance(other, Literal) and type(other.value) is float
        return column.fill_nan(None) if with_number else column
    if isinstance(operand.value, str) and symbol not in ("==", "!="):
        try:
            return pl.lit(_moment(operand.value).item())
        except QueryError:  # a category of an ordered column
            return pl.lit(operand.value)
    return pl.lit(operand.value)


def _values(operand: Operand, other: Operand, columns: Columns) -> AnyArray:
    """Return the values of an operand, (n,) or a single one, to compare with another's.

    Numbers and truth values are compared as numbers, dates as moments, categories with an
    order by their places in it, and other text as text.
    """
    kind = _kind(operand, columns)
    other_kind = _kind(other, columns)
    if isinstance(operand, Literal):
        if kind is Kind.TEXT and other_kind is Kind.DATES:
            return _moment(str(operand.value))
        if kind is Kind.TEXT and isinstance(other, Name):
            levels = other.find(columns).column.levels
            if other.find(columns).column.ordered and levels is not None:
                return _place(str(operand.value), other.name, levels)
        _check_comparable(kind, other_kind, operand, other)
        return np.asarray(operand.value)
    column, values = operand.find(columns)
    _check_comparable(kind, other_kind, operand, other)
    if column.levels is None:
        return as_moments(values) if column.dates else np.asarray(values)
    if column.ordered and isinstance(other, Literal):
        return np.asarray(values)
    return np.array(column.levels)[np.asarray(values).astype(np.int64)]


def _kind(operand: Operand, columns: Columns) -> Kind:
    if isinstance(operand, Name):
        return operand.find(columns).column.kind
    return Kind.TEXT if isinstance(operand.value, str) else Kind.NUMBERS


def _check_comparable(kind: Kind, other: Kind, *operands: Operand) -> None:
    """Refuse a comparison of numbers with text, and of two literals."""
    if all(isinstance(operand, Literal) for operand in operands):
        raise QueryError("a comparison needs a column.")
    date_as_text = {kind, other} == {Kind.DATES, Kind.TEXT} and any(
        isinstance(operand, Literal) for operand in operands
    )
    if kind is other or date_as_text:
        return
    names = [operand.name for operand in operands if isinstance(operand, Name)]
    raise QueryError(
        f"{shown(names[0])} is compared with another kind: {kind} and {other}."
    )


def _moment(text: str) -> AnyArray:
    """Read a date, such as "2020-01-31" or "2020-01-31 18:30"."""
    try:
        return np.datetime64(text.strip().replace(" ", "T", 1), "us")  # type: ignore[return-value]
    except ValueError as error:
        raise QueryError(f"{shown(text)} is no date such as '2020-01-31'.") from error


def _place(text: str, name: str, levels: Sequence[str]) -> AnyArray:
    """Return the place of a category in the order of its column."""
    if text not in levels:
        raise QueryError(
            f"{shown(text)} is no category of {shown(name)}. {hint(text, levels)}"
        )
    return np.asarray(levels.index(text))


class Parser:
    """Reads a query from left to right."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.tokens = list(_tokens(query))
        self.position = 0
        self.nested = 0

    def parse(self) -> Node:
        """Read the whole query."""
        node = self._condition(self._either())
        if self._next.kind != "end":
            raise self._unexpected("the end, or 'and' or 'or'")
        return node

    @property
    def _next(self) -> Token:
        return self.tokens[self.position]

    def _accept(self, *texts: str) -> str:
        """Go past the next token if it is one of these words or marks; return it or ""."""
        token = self._next
        if token.kind in ("text", "quoted") or token.text not in texts:
            return ""
        self.position += 1
        return token.text

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._unexpected(f"'{text}'")

    def _unexpected(self, wanted: str) -> QueryError:
        token = self._next
        got = "the end" if token.kind == "end" else shown(token.text)
        return QueryError(
            f"{wanted} is expected at character {token.place + 1}, not {got}."
        )

    def _condition(self, part: Node | Literal) -> Node:
        if isinstance(part, Literal):
            raise QueryError(f"{shown(part.value)} alone is no condition.")
        return part

    def _either(self) -> Node | Literal:
        return self._joined(self._all, ("or", "|"), every=False)

    def _all(self) -> Node | Literal:
        return self._joined(self._negated, ("and", "&"), every=True)

    def _joined(
        self, read: Callable[[], Node | Literal], words: tuple[str, ...], *, every: bool
    ) -> Node | Literal:
        parts = [read()]
        while self._accept(*words):
            parts.append(read())
        if len(parts) == 1:
            return parts[0]
        return Joined(tuple(map(self._condition, parts)), every)

    def _negated(self) -> Node | Literal:
        if not self._accept("not", "~"):
            return self._compared()
        self._enter()
        part = self._condition(self._negated())
        self.nested -= 1
        return Not(part)

    def _compared(self) -> Node | Literal:
        """Read an operand, and what it is compared with, as in ``1 < a <= b``."""
        left = self._primary()
        parts: list[Node] = []
        while True:
            symbol = self._next.text if self._next.kind == "compare" else ""
            if symbol:
                self.position += 1
            else:
                negated = self._accept("not")
                if not self._accept("in"):
                    if negated:
                        raise self._unexpected("'in'")
                    break
                symbol = "!=" if negated else "=="
                if self._next.text not in ("[", "("):
                    raise self._unexpected("a list such as [1, 2]")
            if not isinstance(left, (Name, Literal)):
                raise self._unexpected("'and' or 'or'")
            if (symbol in ("==", "!=") and self._next.text == "[") or self._is_list():
                among = Among(left, self._list())
                parts.append(Not(among) if symbol == "!=" else among)
                break
            right = self._primary()
            if not isinstance(right, (Name, Literal)):
                raise QueryError("a condition is no value to compare with.")
            parts.append(Comparison(left, symbol, right))
            left = right
        if not parts:
            return left
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), all=True)

    def _is_list(self) -> bool:
        """Whether a list between parentheses follows the word "in"."""
        return self.tokens[self.position - 1].text == "in" and self._next.text == "("

    def _list(self) -> tuple[Literal, ...]:
        closing = "]" if self._accept("[", "(") == "[" else ")"
        literals: list[Literal] = []
        while not self._accept(closing):
            if literals:
                self._expect(",")
                if self._accept(closing):
                    break
            literal = self._primary()
            if not isinstance(literal, Literal):
                raise self._unexpected("a number or a text in quotes")
            literals.append(literal)
        return tuple(literals)

    def _primary(self) -> Node | Literal:
        token = self._next
        if self._accept("("):
            self._enter()
            part = self._either()
            self._expect(")")
            self.nested -= 1
            return part
        sign = self._accept("-", "+")
        token = self._next
        self.position += 1
        if token.kind == "number":
            number = float(token.text.replace("_", ""))
            return Literal(-number if sign == "-" else number)
        if not sign and token.kind == "text":
            return Literal(str(ast.literal_eval(token.text)))
        if not sign and token.kind == "quoted":
            return Name(token.text[1:-1])
        if not sign and token.text in ("True", "False"):
            return Literal(token.text == "True")
        if not sign and token.kind == "name" and token.text not in WORDS:
            return Name(token.text)
        self.position -= 1
        raise self._unexpected("a column, a number or a text in quotes")

    def _enter(self) -> None:
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise QueryError(f"more than {MOST_NESTED} parentheses are inside each other.")


def _tokens(query: str) -> Sequence[Token]:
    tokens = []
    place = 0
    while place < len(query):
        match = TOKEN.match(query, place)
        if match is None or match.lastgroup is None:
            raise QueryError(
                f"character {place + 1}, {shown(query[place])}, is part of no query."
            )
        if match.lastgroup != "space":
            tokens.append(Token(match.lastgroup, match.group(), place))
        place = match.end()
    return [*tokens, Token("end", "", place)]


def polars_expression(query: str) -> Any:
    """Return a query as an expression of polars (needs ``condgof[frames]``).

    Examples
    --------
    >>> import polars as pl
    >>> from condgof.sample import polars_expression
    >>> frame = pl.DataFrame({"age": [20, 35, 50], "town": ["Oslo", "Rome", None]})
    >>> query = "30 <= age < 50 or not town in ['Oslo', 'Rome']"
    >>> frame.filter(polars_expression(query))["age"].to_list()
    [35, 50]
    """
    polars = require("polars", "frames", "An expression of polars")
    return Parser(query).parse().to_polars(polars)


def select(query: str, columns: Columns, n: int) -> BoolArray:
    """Return the rows that a query selects, as a mask (n,).

    Parameters
    ----------
    query : str
        A condition; see the module.
    columns : mapping of names to (column, values (n,))
        The columns that the query may name; of levels their positions, of dates days.
    n : int
        The number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from condgof.sample import CodedColumn, Column, select
    >>> age = CodedColumn(Column("age"), np.array([20.0, 35.0, 50.0]))
    >>> town = CodedColumn(Column("town", ("Oslo", "Rome")), np.array([0.0, 1.0, 1.0]))
    >>> select("30 <= age < 50 or town == 'Oslo'", {"age": age, "town": town}, 3)
    array([ True,  True, False])
    """
    return np.array(Parser(query).parse().evaluate(columns, n))
