"""What closed forms share: parameters, which are numbers, arrays by row or functions of x."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, dataclass_transform

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import (
    InputError,
    InputTypeError,
    ShapeError,
    check_finite,
    refuse_rows,
    users_code,
)
from condgof.laws._law import (
    TINY,
    Law,
    as_rows,
    indexed,
    log_tail_scores,
    row_count,
    same_as,
)
from condgof.sample import as_numbers, fresh

#: y, or a parameter of a family, at all rows, (n, d_y); and all parameters.
Array: TypeAlias = FloatArray
Values: TypeAlias = tuple[Array, ...]
#: The smallest tail that is told from 0.
LOG_TINY = float(np.log(TINY))
CHECK = "Check the model at those rows."


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter of a law, by the name that messages call it: numbers, or a function of x."""

    name: str
    value: Any
    #: The dimensions of one row, at most: a mean 0, weights 1, a covariance 2. With more it
    #: is by row.
    plain: int = 0

    def __repr__(self) -> str:
        return repr(self.value)

    @classmethod
    def of(cls, name: str, value: object, plain: int = 0) -> Parameter:
        """Read a number, an array or a function of x; a `Parameter` stays."""
        if isinstance(value, Parameter):
            return value
        return cls(
            name,
            value if callable(value) else as_numbers(value, name).astype(np.float64),
            plain,
        )

    @property
    def rowwise(self) -> bool:
        """Whether the value has a row for each observation, or one row for all."""
        return not callable(self.value) and self.value.ndim > self.plain

    def at(self, x: Any, n: int) -> Parameter:
        if not callable(self.value):
            return self
        what = f"{self.name}(x)"
        with users_code(what):
            value = self.value(fresh(x))
        value = as_numbers(value, what).astype(np.float64)
        if value.ndim > self.plain and len(value) != n:
            raise ShapeError(
                f"{what} must have {n} rows, one for each of x, got shape {value.shape}."
            )
        return replace(self, value=value)

    def take(self, rows: IntArray, n: int) -> Parameter:
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
            check_finite(np.atleast_1d(array), self.name, CHECK)
        if array.ndim == 0:
            return np.broadcast_to(array, (n, *shape))
        whole = array if self.rowwise else array[None]
        shapes = [shape, shape[:-1]] if shape[-1] == 1 else [shape]
        if whole.shape[1:] not in shapes or len(whole) not in (1, n):
            wanted = " or ".join(str((n, *s)) for s in shapes)
            raise ShapeError(f"{self.name} must have shape {wanted}, got {array.shape}.")
        whole = whole.reshape(-1, *shape)
        return whole if len(whole) == n else np.broadcast_to(whole, (n, *shape))


class Parametric(Law):
    """A `family`, whose fields are its parameters: a law, or a model where some are functions of x."""

    #: Names of parameters that must be positive, and that must lie between 0 and 1.
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    SHARES: ClassVar[tuple[str, ...]] = ()
    #: What docstrings say that parameters are.
    FORMS: ClassVar[str] = "number, array (n,) or function of x"
    #: Two parameters of which one must be given.
    EITHER: ClassVar[tuple[str, ...]] = ()
    #: The dimensions of one row of a parameter, where that is not a number; see
    #: `Parameter`.
    PLAIN: ClassVar[Mapping[str, int]] = {}
    #: The CRPS at any y (n, 1), possible or not; None where it is integrated or summed up.
    _crps: Callable[..., Array] | None = None
    _rows: int | None = None

    def __post_init__(self) -> None:
        given = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        if self.EITHER and sum(given[name] is not None for name in self.EITHER) != 1:
            one, other = self.EITHER
            raise InputError(
                f"{type(self).__name__} needs exactly one of {one}= and {other}=."
            )
        self._read(**given)

    def _read(self, **values: Any) -> None:
        """Keep parameters under their names; one that is None is not there."""
        lengths = {}
        for name, value in values.items():
            parameter = (
                None
                if value is None
                else Parameter.of(name, value, self.PLAIN.get(name, 0))
            )
            object.__setattr__(self, name, parameter)
            if parameter is not None and parameter.rowwise and len(parameter.value) != 1:
                lengths[name] = len(parameter.value)
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {count}" for name, count in lengths.items())
            raise ShapeError(
                f"Parameters have different numbers of rows: {told}. Pass as many of each."
            )
        if lengths and self._callable:
            told = (
                f"{', '.join(lengths)} of {self.name} hold one row an observation, and"
                " others are"
            )
            advice = (
                "Pass arrays or functions, not some of each: evaluate the function at x."
            )
            raise InputTypeError(f"{told} functions of x. {advice}")
        object.__setattr__(self, "_rows", next(iter(lengths.values()), None))
        indexed(self, *values.values())

    def _parameters(self) -> dict[str, Parameter]:
        return {
            name: value
            for name, value in vars(self).items()
            if isinstance(value, Parameter)
        }

    @property
    def _callable(self) -> bool:
        return any(callable(p.value) for p in self._parameters().values())

    rows = same_as("_rows")

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
        rows, parameters = np.arange(self._rows)[rows], self._parameters()
        law = self._with(
            {k: p.take(rows, self._rows) for k, p in parameters.items()}, len(rows)
        )
        return (
            law if self.index is None else indexed(law, self.index.to_series().iloc[rows])
        )

    def _size(self, y: Any = None) -> int:
        """Return the number of rows: that of the law, which y must have, or of y where there is none."""
        if y is None or self._callable:
            return self.n  # which says what to do where there is none
        return len(y if self._rows is None else self._checked(y))

    def _at(self, n: int, d_y: int) -> tuple[FloatArray, ...]:
        """Return the parameters at n rows, checked, (n, d_y) each; a rate as the scale that it means."""
        values = []
        for name, parameter in self._parameters().items():
            value = parameter.values(n, (d_y,))
            if name in self.POSITIVE:
                check_positive(value, name)
            if name in self.SHARES:
                bad = ~((value >= 0) & (value <= 1))
                refuse_rows(bad, f"{name} must lie between 0 and 1, and does not", CHECK)
            values.append(1.0 / value if name == "rate" else value)
        return tuple(values)

    def crps(self, y: AnyArray) -> FloatArray:
        y = self._columns(y)
        if self._crps is None:
            return super().crps(y)
        with np.errstate(all="ignore"):
            return np.asarray(self._crps(y, *self._at(self._size(y), 1)))[:, 0]

    @property
    def _d_y(self) -> int:
        widths = (parameter.width for parameter in self._parameters().values())
        return max((width for width in widths if width is not None), default=1)


class ContinuousFamily(Parametric):
    """A family of a continuous y."""

    #: P(Y ≤ t | x), or P(Y > t | x) with `upper`, of a single y at places t, (n, m).
    _tail: Callable[..., FloatArray]

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._tail(self._columns(y), upper=False)[:, 0]

    def sf(self, y: AnyArray) -> FloatArray:
        return self._tail(self._columns(y), upper=True)[:, 0]

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        places = np.broadcast_to(np.ravel(values), (self._size(), len(values)))
        return self._tail(places, upper=False)


def check_positive(values: FloatArray, name: str) -> FloatArray:
    refuse_rows(~(values > 0), f"{name} must be positive, and is not", CHECK)
    return values


class Independent(ContinuousFamily):
    """Independent coordinates: functions of y, not used outside `_ends`, and of parameters, (n, d_y)."""

    POSITIVE = ("mean", "shape", "df", "scale", "rate", "sigma", "a", "b")
    FORMS = (
        "number, array (n,) or (n, d_y), or function of x\n    Coordinates of y are"
        " independent."
    )

    #: The log-density, and its derivative in y.
    _density: Callable[..., tuple[Array, Array]]
    #: log F and log(1 − F), each accurate where it is small.
    _log_tails: Callable[..., tuple[Array, Array]]
    #: It gets a generator in place of y, and `_moments` nothing.
    _draw: Callable[..., Array]
    _moments: Callable[..., tuple[Array, Array]]

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return np.array(-np.inf), np.array(np.inf)

    def score(self, y: AnyArray) -> FloatArray:
        y, p, below, above = self._placed(y)
        with np.errstate(all="ignore"):
            return np.where(below | above, np.nan, self._density(y, *p)[1])

    def _log_density(self, y: Array, *p: Any) -> Array:
        with np.errstate(all="ignore"):
            return self._density(y, *p)[0]

    def log_prob(self, y: AnyArray) -> FloatArray:
        y, p, below, above = self._placed(y)
        return np.asarray(
            np.where(below | above, -np.inf, self._log_density(y, *p)).sum(axis=1)
        )

    def normal_scores(self, y: AnyArray) -> FloatArray:
        y, p, below, above = self._placed(y)
        with np.errstate(all="ignore"):
            lower, upper = self._log_tails(y, *p)
        # What cannot be is as far out as numbers go.
        lower = np.where(below, LOG_TINY, np.where(above, 0.0, lower))
        upper = np.where(above, LOG_TINY, np.where(below, 0.0, upper))
        return log_tail_scores(lower, upper)

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        low, high = self._ends(self._at(self._size(), self._d_y))
        # A number stays one: what holds for all rows need not be looked up in each batch of
        # a network.
        return low if any(low.strides) else low.flat[0], (
            high if any(high.strides) else high.flat[0]
        )

    def sample(self, rng: np.random.Generator) -> FloatArray:
        p = self._at(self._size(), self._d_y)
        low, high = self._ends(p)
        # A draw that rounds to an end of the support is put beside it; 1/1e-300 is still a
        # number.
        least = np.maximum(np.nextafter(low, np.inf), low + 1e-300)
        return np.clip(self._draw(rng, *p), least, np.nextafter(high, -np.inf))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        with np.errstate(over="ignore"):
            mean, std = self._moments(*self._at(self._size(), self._d_y))
        return np.array(mean), np.array(std)

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        y, p, below, above = self._placed(y, 1)
        with np.errstate(all="ignore"):
            values = np.exp(self._log_tails(y, *p)[upper])
        zero, one = (above, below) if upper else (below, above)
        return np.where(zero, 0.0, np.where(one, 1.0, values))

    def _placed(
        self, y: AnyArray, d_y: int = 0
    ) -> tuple[FloatArray, Values, AnyArray, AnyArray]:
        """Return y, the parameters, and what of y is below and above the support."""
        y = as_rows(y)
        p = self._at(self._size(y), d_y or y.shape[1])
        low, high = self._ends(p)
        return y, p, y <= low, y >= high


T = TypeVar("T", bound=type)


@dataclass_transform(frozen_default=True, eq_default=False)
def family(cls: T) -> T:
    """Make a closed form of a class: a frozen dataclass that answers wrong parameters with the list.

    A docstring that does not describe them gets what holds for all.
    """
    made: Any = dataclass(frozen=True, eq=False)(cls)
    init = made.__init__
    signature = inspect.signature(init)
    _, *declared = signature.parameters.values()
    listed = ", ".join(
        f"{p.name}=" if p.default is p.empty else f"[{p.name}=]" for p in declared
    )

    @wraps(init)
    def checked(self: object, *args: Any, **kwargs: Any) -> None:
        try:
            signature.bind(self, *args, **kwargs)
        except TypeError as error:
            unknown = [repr(name) for name in kwargs if name not in signature.parameters]
            why = f"there is no {', '.join(unknown)}" if unknown else str(error)
            raise InputError(
                f"{cls.__name__} takes the parameters {listed}: {why}."
            ) from error
        init(self, *args, **kwargs)

    made.__init__ = checked
    if "Parameters\n" not in (doc := inspect.cleandoc(cls.__doc__ or "")):
        names = ", ".join(p.name for p in declared)
        one = " One of scale and rate = 1/scale is given." if "rate" in names else ""
        section = f"Parameters\n----------\n{names} : {made.FORMS}{one}\n\n"
        made.__doc__ = doc.replace("Examples\n", f"{section}Examples\n", 1)
    return made  # type: ignore[no-any-return]
