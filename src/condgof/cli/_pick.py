"""Which columns of a table an option means."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections import Counter
from collections.abc import Collection, Sequence

from condgof.errors import InputError

#: How many names a message lists.
LISTED = 10


def number_of(text: str) -> float | None:
    """Read a number; None where there is none."""
    try:
        return float(text)
    except ValueError:
        return None


def pick(
    asked: Sequence[str],
    names: Sequence[str],
    table: str,
    flag: str,
    without: Collection[str | None] = (),
    natural: bool = False,
) -> tuple[str, ...]:
    """Find the columns that an option (`flag`, given once or several times) means among `names`.

    The first that fits counts: a column of that very name; names separated by commas; ``#k``, the
    column at position k counted from 0; a pattern with ``*``, ``?`` or ``[...]``, which leaves out
    columns `without` and may be sorted in `natural` order, d_10 after d_9; a whole number, which is a
    position as well.

    Examples
    --------
    >>> names = ["age", "feat_1", "feat_2", "a,b"]
    >>> pick(["feat_*", "a,b"], names, "t.csv", "--x")
    ('feat_1', 'feat_2', 'a,b')
    >>> pick(["feat_2,age"], names, "t.csv", "--x"), pick(["#0", "1"], names, "t.csv", "--x")
    (('feat_2', 'age'), ('age', 'feat_1'))
    """
    columns: dict[str, None] = {}
    counts = Counter(names)
    for each in asked:
        for name in _columns_of(each, names, table, flag, without, natural):
            if name in columns:
                raise InputError(f"{flag} names the column {name!r} twice. Name each column once.")
            if counts[name] > 1:
                raise InputError(
                    f"{table} has {counts[name]} columns named {name!r}. Give each its own name."
                )
            columns[name] = None
    if not columns:
        raise InputError(f"{flag} names no column, got {','.join(asked)!r}. {_listed(names)}")
    return tuple(columns)


def pick_one(asked: str, names: Sequence[str], table: str, flag: str) -> str:
    """Find the one column that an option means."""
    columns = pick([asked], names, table, flag)
    if len(columns) != 1:
        raise InputError(f"{flag} takes one column, and {asked!r} stands for {len(columns)}.")
    return columns[0]


def pairs(
    asked: Sequence[str], names: Sequence[str], flag: str, example: str, *, named: int
) -> list[tuple[str, str]]:
    """Split options such as ``mu=a,sigma=b`` into pairs; a column's own name may have commas in it.

    `named` (0 or 1) says which side of the "=" is a column.

    Examples
    --------
    >>> pairs(["mu=a,sigma=2", "loc=b,c"], ["a", "b,c"], "--param", "", named=1)
    [('mu', 'a'), ('sigma', '2'), ('loc', 'b,c')]
    """
    split = []
    for word in asked:
        whole = _halves(word, named)
        parts = [word] if whole[named] in names else [part for part in word.split(",") if part.strip()]
        for part in parts:
            halves = _halves(part, named)
            if not all(halves):
                raise InputError(
                    f"{flag} is used as in {example}, and {part.strip()!r} is no such pair."
                )
            split.append(halves)
    if not split:
        raise InputError(f"{flag} is empty. It is used as in {example}.")
    return split


def _halves(text: str, named: int) -> tuple[str, str]:
    # A column's name may have "=" in it; the other side never has.
    left, _, right = text.partition("=") if named else text.rpartition("=")
    return left.strip(), right.strip()


def _columns_of(
    asked: str,
    names: Sequence[str],
    table: str,
    flag: str,
    without: Collection[str | None],
    natural: bool,
) -> list[str]:
    """Find the columns that one word means."""
    if asked in names:
        return [asked]
    parts = [part.strip() for part in asked.split(",")]
    if len(parts) > 1:
        rest = (names, table, flag, without, natural)
        return [name for part in parts if part for name in _columns_of(part, *rest)]
    number = asked.removeprefix("#")
    if asked.startswith("#") and number.isdecimal():
        return [_at(int(number), asked, names, table, flag)]
    if any(character in asked for character in "*?["):
        matching = [name for name in names if fnmatch.fnmatchcase(name, asked)]
        if not matching:
            raise InputError(f"{flag}: no column of {table} matches {asked!r}. {_near(asked, names)}")
        left = [name for name in dict.fromkeys(matching) if name not in without]
        if not left:
            raise InputError(
                f"{flag}: every column that matches {asked!r} has another role ({_few(matching)})."
            )
        return sorted(left, key=_natural) if natural else left
    if asked.isdecimal():
        return [_at(int(asked), asked, names, table, flag)]
    raise _missing(asked, names, table, flag)


def _natural(name: str) -> list[str | int]:
    """Return what sorts names with numbers in them: text and numbers by turns."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def _at(position: int, asked: str, names: Sequence[str], table: str, flag: str) -> str:
    if position >= len(names):
        raise InputError(
            f"{flag}: {table} has no column {asked!r}: positions go from 0 to {len(names) - 1}. "
            f"{_listed(names)}"
        )
    return names[position]


def _missing(asked: str, names: Sequence[str], table: str, flag: str) -> InputError:
    hint = _near(asked, names)
    if len(names) == 1 and any(sign in names[0] for sign in ";\t|"):
        hint = f"Its only column is {names[0]!r}: separate the columns with commas."
    return InputError(f"{flag}: {table} has no column {asked!r}. {hint}")


def _near(asked: str, names: Sequence[str]) -> str:
    """Suggest the nearest names, or list what is there."""
    folded = {name.casefold(): name for name in names}
    near = [folded[key] for key in difflib.get_close_matches(asked.casefold(), list(folded), 3)]
    return f"Did you mean {' or '.join(repr(name) for name in near)}?" if near else _listed(names)


def _listed(names: Sequence[str]) -> str:
    return f"Its columns are {_few(names)}."


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(repr(name) for name in names[:LISTED]) + more
