"""Parameters of closed forms: numbers, arrays with one row for each observation, or functions of x."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import (
    InputError,
    InputTypeError,
    ShapeError,
    UnsupportedModelError,
    check_finite,
    refuse_rows,
    users_code,
)
from condgof.laws._law import Law, indexed, row_count
from condgof.sample import as_numbers, fresh


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter of a law, by the name that messages call it: numbers, or a function of x."""

    name: str
    value: Any
    #: How many dimensions one row has at most, so that an array of more has one row for each
    #: observation: 0 for a mean or a scale, 1 for weights of components, 2 for a covariance.
    plain: int = 0

    def __repr__(self) -> str:
        return repr(self.value)

    @classmethod
    def of(cls, name: str, value: Any, plain: int = 0) -> Parameter:
        """Read a number, an array or a function of x; a `Parameter` stays."""
        if isinstance(value, Parameter):
            return value
        return cls(name, value if callable(value) else _numbers(name, value), plain)

    @property
    def rowwise(self) -> bool:
        """Whether the value has a row for each observation, or one row for all."""
        return not callable(self.value) and self.value.ndim > self.plain

    def at(self, x: Any, n: int) -> Parameter:
        """Return the parameter at the n rows of x."""
        if not callable(self.value):
            return self
        with users_code(f"{self.name}(x)"):
            value = self.value(fresh(x))
        found = replace(self, value=_numbers(f"{self.name}(x)", value))
        if found.rowwise and len(found.value) != n:
            shape = found.value.shape
            raise ShapeError(f"{self.name}(x) must have {n} rows, one for each of x, got shape {shape}.")
        return found

    def take(self, rows: IntArray, n: int) -> Parameter:
        """Return the parameter of some of n rows."""
        if not self.rowwise or (len(self.value) == 1 and n != 1):
            return self
        return replace(self, value=self.value[rows])

    @property
    def width(self) -> int | None:
        """How many columns of y, or components, the parameter speaks of; None when any would fit."""
        shape = self.value.shape[1:] if self.rowwise else self.value.shape
        return int(shape[-1]) if shape else None

    def values(self, n: int, shape: tuple[int, ...], *, finite: bool = True) -> FloatArray:
        """Return the values at n rows, (n, *shape); a last dimension of 1 may be left out."""
        array: FloatArray = self.value
        if finite:
            check_finite(np.atleast_1d(array), self.name, "Check the model at those rows.")
        if array.ndim == 0:
            return np.broadcast_to(array, (n, *shape))
        whole = array if self.rowwise else array[None]
        shapes = [shape, shape[:-1]] if shape[-1] == 1 else [shape]
        if whole.shape[1:] not in shapes or len(whole) not in (1, n):
            wanted = " or ".join(str((n, *s)) for s in shapes)
            raise ShapeError(f"{self.name} must have shape {wanted}, got {array.shape}.")
        return np.broadcast_to(whole.reshape(-1, *shape), (n, *shape))


class Parametric(Law):
    """A `family`, whose fields are its parameters: a law, or a model where some are functions of x."""

    #: Names of parameters that must be positive, and that must lie between 0 and 1.
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    SHARES: ClassVar[tuple[str, ...]] = ()
    #: Two parameters of which one must be given.
    EITHER: ClassVar[tuple[str, ...]] = ()
    #: The dimensions of one row of a parameter, where that is not a number; see `Parameter`.
    PLAIN: ClassVar[Mapping[str, int]] = {}
    _rows: int | None = None

    def __post_init__(self) -> None:
        given = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        if self.EITHER and sum(given[name] is not None for name in self.EITHER) != 1:
            one, other = self.EITHER
            raise InputError(f"{type(self).__name__} needs exactly one of {one}= and {other}=.")
        self._read(**given)

    def _read(self, **values: Any) -> None:
        """Keep parameters under their names; one that is None is not there."""
        lengths = {}
        for name, value in values.items():
            found = None if value is None else Parameter.of(name, value, self.PLAIN.get(name, 0))
            object.__setattr__(self, name, found)
            if found is not None and found.rowwise and len(found.value) != 1:
                lengths[name] = len(found.value)
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {count}" for name, count in lengths.items())
            raise ShapeError(f"Parameters have different numbers of rows: {told}. Pass as many of each.")
        if lengths and self._callable:
            raise InputTypeError(
                f"{', '.join(lengths)} of {self.name} hold one row for each observation, and others are "
                "functions of x. Pass arrays or functions, not some of each: evaluate the function at x."
            )
        if lengths:
            object.__setattr__(self, "_rows", next(iter(lengths.values())))
        indexed(self, *values.values())

    def _parameters(self) -> dict[str, Parameter]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Parameter)}

    @property
    def _callable(self) -> bool:
        return any(callable(p.value) for p in self._parameters().values())

    @property
    def rows(self) -> int | None:
        return self._rows

    def _with(self, parameters: dict[str, Parameter], rows: int) -> Self:
        made = object.__new__(type(self))
        for name, value in {**vars(self), **parameters, "_rows": rows}.items():
            object.__setattr__(made, name, value)
        return made

    def __call__(self, x: Any = None, n: int | None = None) -> Law:
        """Return the law at the rows of x, with functions evaluated there."""
        if self._rows is not None:
            return super().__call__(x, n)
        n = row_count(x, n)
        return self._with({name: p.at(x, n) for name, p in self._parameters().items()}, n)

    def take(self, rows: IntArray) -> Self:
        if self._rows is None:
            return self
        rows = np.arange(self._rows)[rows]
        taken = self._with(
            {k: p.take(rows, self._rows) for k, p in self._parameters().items()}, len(rows)
        )
        return taken if self.index is None else indexed(taken, self.index.to_series().iloc[rows])

    def _size(self, y: Any = None) -> int:
        """Return the number of rows: that of the law, which y must have, or of y where there is none."""
        if y is None or self._callable:
            return self.n  # which says what to do where there is none
        return len(y if self._rows is None else self._checked(y))

    def _at(self, n: int, d_y: int) -> tuple[FloatArray, ...]:
        """Return the parameters at n rows, checked, (n, d_y) each."""
        values = []
        for name, parameter in self._parameters().items():
            values.append(value := parameter.values(n, (d_y,)))
            if name in self.POSITIVE:
                check_positive(value, name)
            inside = (value >= 0) & (value <= 1)
            if name in self.SHARES and not inside.all():
                row = np.flatnonzero(~inside.all(axis=1))[0]
                raise InputError(f"{name} must lie between 0 and 1, got {value[row, 0]} in row {row}.")
        return tuple(values)

    @property
    def _d_y(self) -> int:
        """The number of columns of y that the parameters speak of."""
        widths = (parameter.width for parameter in self._parameters().values())
        return max((width for width in widths if width is not None), default=1)


class Continuous(Parametric):
    """A family of a continuous y; a subclass writes `_tail`, P(Y ≤ y | x) or P(Y > y | x), (n,)."""

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        raise NotImplementedError

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._tail(y, upper=False)

    def sf(self, y: AnyArray) -> FloatArray:
        return self._tail(y, upper=True)

    def _one_column(self, d_y: int, what: str) -> None:
        if d_y != 1:
            name = type(self).__name__
            raise UnsupportedModelError(f"The {what} of a {name} model is there for d_y = 1 only.")


T = TypeVar("T", bound=type)


@dataclass_transform(frozen_default=True, eq_default=False)
def family(cls: T) -> T:
    """Make a closed form of a class: a frozen dataclass that answers wrong parameters with the list."""
    made: Any = dataclass(frozen=True, eq=False)(cls)
    init = made.__init__
    signature = inspect.signature(init)
    _, *own = signature.parameters.values()
    listed = ", ".join(f"{p.name}=" if p.default is p.empty else f"[{p.name}=]" for p in own)

    @wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            signature.bind(self, *args, **kwargs)
        except TypeError as error:
            unknown = [repr(name) for name in kwargs if name not in signature.parameters]
            why = f"there is no {', '.join(unknown)}" if unknown else str(error)
            raise InputError(f"{cls.__name__} takes the parameters {listed}: {why}.") from error
        init(self, *args, **kwargs)

    made.__init__ = checked
    return made  # type: ignore[no-any-return]


def _numbers(name: str, value: Any) -> FloatArray:
    return as_numbers(value, name).astype(np.float64)


def check_positive(values: FloatArray, name: str) -> FloatArray:
    """Raise when any value is not positive."""
    refuse_rows(~(values > 0), f"{name} must be positive, and is not", "Check the model at those rows.")
    return values
