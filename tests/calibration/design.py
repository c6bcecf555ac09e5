"""What a cell is: a design that is sampled, and the claims that are counted on it.

A *design* draws a sample and a model. All *procedures* of a design (`adaptive`, `check`, …)
see the same samples. A procedure returns p-values by claim, and a *claim* asks that they
are at most α in no more than α of the samples, or, of a wrong model, in at least so many.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial, singledispatch
from typing import Any, NamedTuple

import numpy as np

from calibration.sequential import LEVEL_01, LEVEL_05, Limit

Rng = np.random.Generator
PValues = dict[str, float]

MOST_SAMPLES = 1000  # of a cell whose verdict does not become clear
HASH_DIGITS = 12  # of the versions of code and definitions that results carry


@dataclass(frozen=True, eq=False)
class Data:
    """A sample, and a model to test on it."""

    model: Any
    x: Any  # (n, d_x), or a frame
    y: Any  # (n,) or (n, d_y)
    options: dict[str, Any] = field(default_factory=dict)  # event, groups, dependence, …
    rivals: dict[str, Any] = field(default_factory=dict)  # other models of the same y
    by: Any = None  # (n,): groups whose fit is asked for one by one
    new: Any = None  # (x, y): rows that a repair is judged on


@dataclass(frozen=True)
class Procedure:
    """A function of the library, and what is claimed of its p-values."""

    run: Callable[[Data, int], PValues]  # (data, seed) → a p-value for each claim
    claims: Mapping[str, tuple[Limit, ...]]


def level(
    name: str,
    run: Callable[[Data, int], float],
    limits: tuple[Limit, ...] = (LEVEL_05, LEVEL_01),
) -> Procedure:
    """Return a procedure with one p-value, at most α in α of the samples."""
    return Procedure(partial(_named, name, run), {name: limits})


def _named(name: str, run: Callable[[Data, int], float], data: Data, seed: int) -> PValues:
    return {name: run(data, seed)}


@dataclass(frozen=True)
class Design:
    """How samples of a cell are drawn, and what is done with them."""

    name: str
    section: str  # the table of the page that it belongs to
    draw: Callable[[Rng], Data]
    procedures: tuple[Procedure, ...]
    most: int = MOST_SAMPLES
    note: str = ""  # what the documentation says of such samples, shown where a cell fails

    def rng(self, number: int) -> Rng:
        """Return the generator of a sample, seeded by the name and the number alone."""
        return np.random.default_rng([number, *self.name.encode()])

    @property
    def version(self) -> str:
        """The hash of what samples and p-values depend on, and of nothing else."""
        texts = definition((self.name, self.draw, self.procedures))
        return hash_of(repr(sorted(texts)))


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


class Definition(NamedTuple):
    """What a value is, and the values that it refers to."""

    text: str
    parts: list[object]


def definition(root: object) -> set[str]:
    """Collect the sources and values that a value is made of, as far as they are ours.

    Functions and classes of the library and of other packages are named only: a result
    carries the version of the library beside that of its definition.
    """
    texts: set[str] = set()
    visited: dict[int, object] = {}  # by identity, kept alive so that none is used twice
    to_do = [root]
    while to_do:
        value = to_do.pop()
        if id(value) in visited:
            continue
        visited[id(value)] = value
        found = take_apart(value)
        texts.add(found.text)
        to_do.extend(found.parts)
    return texts


@singledispatch
def take_apart(value: object) -> Definition:
    """Return what a value is and refers to; plain values are what they are printed as."""
    if is_dataclass(value):
        parts = [getattr(value, one.name) for one in fields(value)]
        return Definition(_plain_text(parts), [type(value), *parts])
    if hasattr(value, "__wrapped__"):  # of functools.cache
        return Definition("wrapped", [value.__wrapped__])
    if " at 0x" in repr(value):  # an address is another one in each process
        return Definition(f"{type(value).__module__}.{type(value).__qualname__}", [])
    return Definition(repr(value), [])


@take_apart.register
def _(value: partial) -> Definition:  # type: ignore[type-arg]
    parts = [value.func, *value.args, *value.keywords.values()]
    return Definition(f"{_plain_text(parts)}, {list(value.keywords)}", parts)


@take_apart.register
def _(value: types.MethodType) -> Definition:
    return Definition(value.__func__.__qualname__, [value.__func__, value.__self__])


@take_apart.register
def _(value: types.FunctionType) -> Definition:
    if not _is_ours(value):
        return Definition(f"{value.__module__}.{value.__qualname__}", [])
    return Definition(_source(value), _referenced(value))


@take_apart.register
def _(value: type) -> Definition:
    if not _is_ours(value):
        return Definition(f"{value.__module__}.{value.__qualname__}", [])
    file = inspect.getfile(value)
    methods: list[object] = []
    for member in vars(value).values():
        function = inspect.unwrap(getattr(member, "fget", member))  # of a property
        function = getattr(function, "__func__", function)  # of a class method
        # Methods that dataclasses write are not in the file.
        if (
            isinstance(function, types.FunctionType)
            and function.__code__.co_filename == file
        ):
            methods.append(function)
    return Definition(_source(value), methods)


@take_apart.register
def _(value: types.ModuleType) -> Definition:
    return Definition(value.__name__, [])


@take_apart.register
def _(value: Mapping) -> Definition:  # type: ignore[type-arg]
    parts = list(value.values())
    return Definition(f"{list(value)}: {_plain_text(parts)}", parts)


@take_apart.register(tuple)
@take_apart.register(list)
def _(value: Sequence[object]) -> Definition:
    return Definition(_plain_text(value), list(value))


@cache
def _source(value: Any) -> str:
    return inspect.getsource(value)


def _is_ours(value: Any) -> bool:
    return value.__module__.partition(".")[0] == __name__.partition(".")[0]


def _plain_text(parts: Sequence[object]) -> str:
    """Return numbers and texts in their places; what else there is has its own text."""
    plain = (str, int, float, bool, type(None))
    return repr([part if isinstance(part, plain) else "…" for part in parts])


def _referenced(function: types.FunctionType) -> list[object]:
    """Return the globals that a function names, those of functions inside it as well."""
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        instructions = dis.get_instructions(code)
        names.update(one.argval for one in instructions if one.opname == "LOAD_GLOBAL")
        codes.extend(one for one in code.co_consts if isinstance(one, types.CodeType))
    known = function.__globals__
    return [known[name] for name in sorted(names) if name in known]
