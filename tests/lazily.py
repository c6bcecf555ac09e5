"""A mapping whose values are made when they are first asked for.

Test files are imported by every worker, which then runs only some of their tests: what is
made at import is made by all, for tests that mostly run elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Lazily(Mapping[str, Value], Generic[Value]):
    """Values by name; `makers` has, by the same names, what makes each of them once."""

    def __init__(self, makers: Mapping[str, Callable[[], Value]]) -> None:
        self.makers = dict(makers)
        self._values: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name not in self._values:
            self._values[name] = self.makers[name]()
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)
