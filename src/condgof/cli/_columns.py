"""Which columns of a table the words of an option mean."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from condgof.errors import InputError, shown
from condgof.sample import LIMITS, hint, list_names

#: What makes a pattern of a word.
WILDCARDS = "*?["
#: What separates columns in files that are no CSV with commas.
OTHER_SEPARATORS = ";\t|"


@dataclass(frozen=True)
class ColumnNames:
    """The columns of a table, among which the words of options are looked up."""

    #: What messages call the table.
    table: str
    #: Its columns in order, also those of the same name.
    names: Sequence[str]

    def pick(
        self, words: Sequence[str], flag: str, without: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Find the columns that an option means.

        The first that fits counts: a column of that very name; names separated by commas;
        ``#k`` or ``k``, the column at position k counted from 0; a pattern with ``*``,
        ``?`` or ``[...]``.

        Parameters
        ----------
        words : sequence of str
            What follows the option, each time it is there.
        flag : str
            The option, as messages call it.
        without : collection of str
            Columns that patterns leave out.
        """
        times = Counter[str]()
        for word in words:
            times.update(self._matches(word, flag, without))
        LIMITS.columns.check(len(times), f"{flag} names")
        all_copies = Counter(self.names)
        for name, count in times.items():
            copies = all_copies[name]
            if copies > 1:
                many = f"{copies} columns named {name!r}"
                raise InputError(f"{self.table} has {many}. Give each its own name.")
            if count > 1:
                raise named_twice(flag, name)
        if not times:
            raise InputError(
                f"{flag} names no column, got {','.join(words)!r}{self._hint('')}"
            )
        return tuple(times)

    def named(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that words name as they are, without a pattern."""
        names: list[str] = []
        for word in words:
            parts = [word] if word in self.names else word.split(",")
            names += [part.strip() for part in parts if part.strip() in self.names]
        return tuple(names)

    def pick_one(self, word: str, flag: str) -> str:
        """Find the one column that an option means."""
        columns = self.pick([word], flag)
        if len(columns) != 1:
            raise InputError(
                f"{flag} takes one column, and {word!r} stands for {len(columns)}."
            )
        return columns[0]

    def _matches(self, word: str, flag: str, without: Collection[str]) -> list[str]:
        if word in self.names:
            return [word]
        parts = [part.strip() for part in word.split(",")]
        if len(parts) > 1:
            columns: list[str] = []
            for part in filter(None, parts):
                columns += self._matches(part, flag, without)
            return columns
        position = word.removeprefix("#")
        if position.isdecimal() and int(position) < len(self.names):
            return [self.names[int(position)]]
        if not any(character in word for character in WILDCARDS):
            raise InputError(
                f"{flag}: {self.table} has no column {word!r}{self._hint(word)}"
            )
        return self._matches_of_pattern(word, flag, without)

    def _matches_of_pattern(
        self, pattern: str, flag: str, without: Collection[str]
    ) -> list[str]:
        matching = [name for name in self.names if fnmatch.fnmatchcase(name, pattern)]
        if not matching:
            raise InputError(
                f"{flag}: no column of {self.table} matches"
                f" {pattern!r}{self._hint(pattern)}"
            )
        left = [name for name in dict.fromkeys(matching) if name not in without]
        if not left:
            every = f"every column that matches {pattern!r} has another role"
            raise InputError(f"{flag}: {every} ({list_names(matching)}).")
        return left

    def _hint(self, word: str) -> str:
        """Say, as the end of a message, which columns may have been meant."""
        names = self.names
        if word.removeprefix("#").isdecimal():
            last = len(names) - 1
            return f": positions go from 0 to {last}. Its columns are {list_names(names)}."
        if len(names) == 1 and any(sign in names[0] for sign in OTHER_SEPARATORS):
            only = f"Its only column is {shown(names[0])}"
            return f". {only}: say what is between columns, as in --delimiter ';'."
        return f". {hint(word, names)}"


def named_twice(flag: str, name: str) -> InputError:
    """Return the error of an option that names the same thing twice."""
    return InputError(f"{flag} names {name!r} twice. Name it once.")


def parse_number(text: str) -> float | None:
    """Return the number that a text is, or None."""
    try:
        return float(text)
    except ValueError:
        return None
