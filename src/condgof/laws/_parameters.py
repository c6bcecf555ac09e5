"""Parametric families: parameters are numbers, arrays by row or functions of x.

A family is a class whose fields are its parameters (`family`), and whose methods are its
formulas. The base classes turn formulas into abilities of a law: `Parametric` reads and
checks parameters, `ContinuousFamily` derives `cdf`, `sf` and `cdf_grid` from one function
for the tails, and `Independent` is for families whose coordinates of y are independent.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, TypeVar, dataclass_transform

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
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
    carry_folds,
    log_tail_scores,
    row_count,
    same_as,
    with_index,
)
from condgof.sample import as_numbers, fresh

#: y, or a parameter of a family, at all rows, (n, d_y).
Array: TypeAlias = FloatArray
#: All parameters of a family at all rows, in the order in which the family declares them.
Values: TypeAlias = tuple[Array, ...]
#: Logarithm of the smallest tail probability that differs from 0.
LOG_TINY = float(np.log(TINY))
#: Least distance of a draw from the ends of the support; its reciprocal is still a number.
LEAST_DISTANCE = 1e-300
#: How messages about wrong parameters end.
CHECK = "Check the model at those rows."


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter of a family: an array, or a function of x.

    Parameters
    ----------
    name : str
        What messages call the parameter.
    value : ndarray or callable
        Its values, or a function of x that returns them.
    plain : int
        Number of dimensions of one row's value: 0 for a mean, 1 for weights of components,
        2 for a covariance matrix. An array with more dimensions has a row for each
        observation, or a single row for all.
    """

    name: str
    value: Any
    plain: int = 0

    def __repr__(self) -> str:
        return repr(self.value)

    @classmethod
    def from_value(cls, name: str, value: object, plain: int = 0) -> Parameter:
        """Read a number, an array or a function of x; a `Parameter` stays as it is."""
        if isinstance(value, Parameter):
            return value
        if callable(value):
            return cls(name, value, plain)
        return cls(name, as_numbers(value, name).astype(np.float64), plain)

    @property
    def rowwise(self) -> bool:
        """Whether the value has a row for each observation, or one row for all."""
        return not callable(self.value) and self.value.ndim > self.plain

    def at(self, x: TableLike | None, n: int) -> Parameter:
        """Return the parameter at the n rows of x: a function is evaluated there."""
        if not callable(self.value):
            return self
        call = f"{self.name}(x)"
        with users_code(call):
            value = self.value(fresh(x))
        value = as_numbers(value, call).astype(np.float64)
        if value.ndim > self.plain and len(value) != n:
            raise ShapeError(
                f"{call} must have {n} rows, one for each of x, got shape {value.shape}."
            )
        return replace(self, value=value)

    def take(self, rows: IntArray, n: int) -> Parameter:
        """Return the parameter at some of n rows."""
        same_for_all = not self.rowwise or (len(self.value) == 1 and n != 1)
        return self if same_for_all else replace(self, value=self.value[rows])

    @property
    def width(self) -> int | None:
        """Number of columns of y, or of components; None when any number fits."""
        shape = self.value.shape[1:] if self.rowwise else self.value.shape
        return int(shape[-1]) if shape else None

    def values(self, n: int, shape: tuple[int, ...], *, finite: bool = True) -> FloatArray:
        """Return the values at n rows, (n, *shape); a last dimension of 1 may be absent."""
        array: FloatArray = self.value
        if finite:
            check_finite(np.atleast_1d(array), self.name, CHECK)
        if array.ndim == 0:
            return np.broadcast_to(array, (n, *shape))
        by_row = array if self.rowwise else array[None]
        allowed_shapes = [shape]
        if shape[-1] == 1:
            allowed_shapes.append(shape[:-1])
        if by_row.shape[1:] not in allowed_shapes or len(by_row) not in (1, n):
            wanted = " or ".join(str((n, *allowed)) for allowed in allowed_shapes)
            raise ShapeError(f"{self.name} must have shape {wanted}, got {array.shape}.")
        by_row = by_row.reshape(-1, *shape)
        return by_row if len(by_row) == n else np.broadcast_to(by_row, (n, *shape))


def check_positive(values: FloatArray, name: str) -> FloatArray:
    """Return values of a parameter, (n, …), which must be positive."""
    refuse_rows(~(values > 0), f"{name} must be positive, and is not", CHECK)
    return values


def _check_shares(values: FloatArray, name: str) -> None:
    """Refuse values of a parameter, (n, …), that are not between 0 and 1."""
    outside = ~((values >= 0) & (values <= 1))
    refuse_rows(outside, f"{name} must lie between 0 and 1, and does not", CHECK)


class Parametric(Law):
    """A family, whose fields are its parameters.

    It is a law where all parameters are numbers or arrays, and a model where some are
    functions of x. Formulas of a family are methods that get y and then the values of all
    parameters, (n, d_y) each, in the order in which the family declares them.
    """

    #: Names of parameters that must be positive.
    POSITIVE: ClassVar[tuple[str, ...]] = ()
    #: Names of parameters that must lie between 0 and 1.
    SHARES: ClassVar[tuple[str, ...]] = ()
    #: Two parameters of which exactly one must be given.
    EITHER: ClassVar[tuple[str, ...]] = ()
    #: Dimensions of one row's value of a parameter that is not a number; see `Parameter`.
    PLAIN: ClassVar[Mapping[str, int]] = {}
    #: What docstrings without a section on parameters say that these are; see `family`.
    FORMS: ClassVar[str] = "number, array (n,) or function of x"
    #: The closed form of the CRPS at any y (n, 1), inside the support or not; None where
    #: the family has none, and the CRPS is an integral or a sum.
    _crps: Callable[..., Array] | None = None
    #: Number of rows; None for a model.
    _rows: int | None = None

    def __post_init__(self) -> None:
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        if self.EITHER:
            one, other = self.EITHER
            if (values[one] is None) == (values[other] is None):
                raise InputError(
                    f"{type(self).__name__} needs exactly one of {one}= and {other}=."
                )
        self._read(**values)

    def _read(self, **values: Any) -> None:
        """Keep parameters as attributes of these names; None is an absent one."""
        row_counts: dict[str, int] = {}
        for name, value in values.items():
            parameter = None
            if value is None and name not in self._optional():
                raise InputTypeError(
                    f"{name} of {type(self).__name__} is None. Pass a number, an array or a"
                    " function of x."
                )
            if value is not None:
                parameter = Parameter.from_value(name, value, self.PLAIN.get(name, 0))
                if parameter.rowwise and len(parameter.value) != 1:
                    row_counts[name] = len(parameter.value)
            object.__setattr__(self, name, parameter)
        if len(set(row_counts.values())) > 1:
            listed = ", ".join(f"{name} {count}" for name, count in row_counts.items())
            raise ShapeError(
                f"Parameters have different numbers of rows: {listed}. Pass as many of"
                " each."
            )
        if row_counts and self._callable:
            raise InputTypeError(
                f"{', '.join(row_counts)} of {self.name} hold one row an observation, and"
                " others are functions of x. Pass arrays or functions, not some of each:"
                " evaluate the function at x."
            )
        object.__setattr__(self, "_rows", next(iter(row_counts.values()), None))
        with_index(self, *values.values())

    def _optional(self) -> tuple[str, ...]:
        """Return the names of parameters that may be absent, and are None then."""
        declared = fields(self)  # type: ignore[arg-type]
        return (*self.EITHER, *(f.name for f in declared if f.default is None))

    def facing(self, y: AnyArray) -> Law:
        """Return the law; one of numbers alone is made as wide as y."""
        width = np.shape(y)[1] if np.ndim(y) == 2 else 1
        parameters = self._parameters()
        all_numbers = all(np.ndim(one.value) == 0 for one in parameters.values())
        if width == 1 or self.discrete or not all_numbers or self._callable:
            return super().facing(y)
        name, first = next(iter(parameters.items()))
        wide = replace(first, value=np.full((1, width), first.value))
        return self._with({name: wide}, self.n).facing(y)

    def _parameters(self) -> dict[str, Parameter]:
        """Return the parameters by name, in the order of their declaration."""
        attributes = vars(self).items()
        return {name: value for name, value in attributes if isinstance(value, Parameter)}

    @property
    def _callable(self) -> bool:
        """Whether some parameter is a function of x."""
        return any(callable(p.value) for p in self._parameters().values())

    rows = same_as("_rows")

    def _with(self, parameters: dict[str, Parameter], rows: int) -> Self:
        """Return the same family with some attributes replaced, which are not checked."""
        law = object.__new__(type(self))
        attributes = {**vars(self), **parameters, "_rows": rows}
        for name, value in attributes.items():
            object.__setattr__(law, name, value)
        return law

    def __call__(self, x: TableLike | None = None, n: int | None = None) -> Law:
        """Return the law at the rows of x, with functions evaluated there."""
        if self._rows is not None:
            return super().__call__(x, n)
        n = row_count(x, n)
        parameters = {name: p.at(x, n) for name, p in self._parameters().items()}
        return self._with(parameters, n)

    def take(self, rows: IntArray) -> Self:
        if self._rows is None:
            return self
        rows = np.arange(self._rows)[rows]
        parameters = {
            name: p.take(rows, self._rows) for name, p in self._parameters().items()
        }
        law = self._with(parameters, len(rows))
        carry_folds(self, law, rows)
        if self.index is None:
            return law
        return with_index(law, self.index.to_series().iloc[rows])

    def _size(self, y: AnyArray | None = None) -> int:
        """Return the number of rows: of the law, which y must have, or else of y."""
        if y is None or self._callable:
            return self.n  # a model has no rows, and the error says what to do
        return len(y if self._rows is None else self._checked(y))

    def _at(self, n: int, d_y: int) -> Values:
        """Return the checked parameters at n rows, (n, d_y) each; a rate as its scale."""
        values = []
        for name, parameter in self._parameters().items():
            value = parameter.values(n, (d_y,))
            if name in self.POSITIVE:
                check_positive(value, name)
            if name in self.SHARES:
                _check_shares(value, name)
            values.append(1.0 / value if name == "rate" else value)
        return tuple(values)

    @property
    def _d_y(self) -> int:
        """Number of columns of y that the parameters have; 1 where all are numbers."""
        widths = (parameter.width for parameter in self._parameters().values())
        return max((width for width in widths if width is not None), default=1)

    def crps(self, y: AnyArray) -> FloatArray:
        y = self._columns(y)
        if self._crps is None:
            return super().crps(y)
        with np.errstate(all="ignore"):
            parameters = self._at(self._size(y), 1)
            return np.asarray(self._crps(y, *parameters))[:, 0]


class ContinuousFamily(Parametric):
    """A family of a continuous y."""

    #: (places t (n, m), *, upper) → P(Y ≤ t | x), or P(Y > t | x) with `upper`, (n, m).
    _tail: Callable[..., FloatArray]

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._tail(self._columns(y), upper=False)[:, 0]

    def sf(self, y: AnyArray) -> FloatArray:
        return self._tail(self._columns(y), upper=True)[:, 0]

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        places = np.broadcast_to(np.ravel(values), (self._size(), len(values)))
        return self._tail(places, upper=False)


class LogTails(NamedTuple):
    """The logarithms of F and of 1 − F, each accurate where the tail is small."""

    lower: Array
    upper: Array


class Moments(NamedTuple):
    """Mean and standard deviation, (n, d_y) each."""

    mean: Array
    std: Array


class Located(NamedTuple):
    """y (n, d_y), the parameters there, and where y is not inside the support."""

    y: FloatArray
    parameters: Values
    #: Masks (n, d_y): y is at the lower end or below it, at the upper end or above it.
    below: AnyArray
    above: AnyArray


class Independent(ContinuousFamily):
    """A family with independent coordinates, by the formulas of one coordinate.

    A formula gets y (n, d_y) and the parameters, and is evaluated at every coordinate at
    once. Its values outside the support do not count.
    """

    POSITIVE = ("mean", "shape", "df", "scale", "rate", "sigma", "a", "b")
    FORMS = (
        "number, array (n,) or (n, d_y), or function of x\n    Coordinates of y are"
        " independent."
    )

    #: (y, *parameters) → log p(y), (n, d_y).
    _log_density: Callable[..., Array]
    #: (y, *parameters) → d log p(y) / dy, (n, d_y).
    _score: Callable[..., Array]
    #: (y, *parameters) → log F and log(1 − F), as in `LogTails`.
    _log_tails: Callable[..., tuple[Array, Array]]
    #: (rng, *parameters) → draws of y, (n, d_y).
    _draw: Callable[..., Array]
    #: (*parameters) → mean and standard deviation, as in `Moments`.
    _moments: Callable[..., tuple[Array, Array]]

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        """Return the ends of the support from the parameters; here the whole line."""
        return np.array(-np.inf), np.array(np.inf)

    def _locate(self, y: AnyArray, d_y: int | None = None) -> Located:
        """Return y with its parameters, which have `d_y` columns if not those of y."""
        y = as_rows(y)
        parameters = self._at(self._size(y), y.shape[1] if d_y is None else d_y)
        low, high = self._ends(parameters)
        return Located(y, parameters, below=y <= low, above=y >= high)

    def score(self, y: AnyArray) -> FloatArray:
        y, parameters, below, above = self._locate(y)
        with np.errstate(all="ignore"):
            return np.where(below | above, np.nan, self._score(y, *parameters))

    def log_prob(self, y: AnyArray) -> FloatArray:
        y, parameters, below, above = self._locate(y)
        with np.errstate(all="ignore"):
            log_density = self._log_density(y, *parameters)
        return np.asarray(np.where(below | above, -np.inf, log_density).sum(axis=1))

    def normal_scores(self, y: AnyArray) -> FloatArray:
        y, parameters, below, above = self._locate(y)
        with np.errstate(all="ignore"):
            lower, upper = self._log_tails(y, *parameters)
        # An impossible y is as far out as the smallest tail probability.
        lower = np.where(below, LOG_TINY, np.where(above, 0.0, lower))
        upper = np.where(above, LOG_TINY, np.where(below, 0.0, upper))
        return log_tail_scores(lower, upper)

    def _tail(self, y: AnyArray, *, upper: bool) -> FloatArray:
        y, parameters, below, above = self._locate(y, d_y=1)
        with np.errstate(all="ignore"):
            log_lower, log_upper = self._log_tails(y, *parameters)
            if upper:
                return np.where(above, 0.0, np.where(below, 1.0, np.exp(log_upper)))
            return np.where(below, 0.0, np.where(above, 1.0, np.exp(log_lower)))

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        low, high = self._ends(self._at(self._size(), self._d_y))
        return _number_if_constant(low), _number_if_constant(high)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        parameters = self._at(self._size(), self._d_y)
        low, high = self._ends(parameters)
        # A draw that rounds to an end of the support is moved beside that end.
        least = np.maximum(np.nextafter(low, np.inf), low + LEAST_DISTANCE)
        most = np.nextafter(high, -np.inf)
        return np.clip(self._draw(rng, *parameters), least, most)

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        with np.errstate(over="ignore"):
            parameters = self._at(self._size(), self._d_y)
            mean, std = self._moments(*parameters)
        return np.array(mean), np.array(std)


def _number_if_constant(end: AnyArray) -> AnyArray:
    """Return the number that a broadcast array repeats; any other array stays.

    An end that holds for all rows need not be evaluated again in each batch of a network.
    """
    repeats_one_number = not any(end.strides)
    return end.flat[0] if repeats_one_number else end


T = TypeVar("T", bound=type)


@dataclass_transform(frozen_default=True, eq_default=False)
def family(cls: T) -> T:
    """Return a frozen dataclass whose fields are the parameters of a family.

    Wrong names of parameters are answered with an error that lists the right ones. A
    docstring without a section on parameters gets one: their names, with `FORMS`.
    """
    decorated: Any = dataclass(frozen=True, eq=False)(cls)
    init = decorated.__init__
    signature = inspect.signature(init)
    _, *declared = signature.parameters.values()  # all but self

    @wraps(init)
    def checked_init(self: object, *args: Any, **kwargs: Any) -> None:
        try:
            signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise _wrong_parameters(cls.__name__, declared, kwargs, error) from error
        init(self, *args, **kwargs)

    decorated.__init__ = checked_init
    docstring = inspect.cleandoc(cls.__doc__ or "")
    if "Parameters\n" not in docstring:
        section = _parameters_section(declared, decorated.FORMS)
        decorated.__doc__ = docstring.replace("Examples\n", f"{section}Examples\n", 1)
    return decorated  # type: ignore[no-any-return]


def _wrong_parameters(
    name: str,
    declared: list[inspect.Parameter],
    passed: Mapping[str, object],
    error: TypeError,
) -> InputError:
    """Return the error of a call with unknown parameters, or without some of them."""
    listed = ", ".join(
        f"{p.name}=" if p.default is p.empty else f"[{p.name}=]" for p in declared
    )
    known = {"self", *(p.name for p in declared)}
    unknown = [repr(key) for key in passed if key not in known]
    why = f"there is no {', '.join(unknown)}" if unknown else str(error)
    return InputError(f"{name} takes the parameters {listed}: {why}.")


def _parameters_section(declared: list[inspect.Parameter], forms: str) -> str:
    """Return the section of a docstring that says what all parameters of a family are."""
    names = ", ".join(p.name for p in declared)
    either = " One of scale and rate = 1/scale is given." if "rate" in names else ""
    return f"Parameters\n----------\n{names} : {forms}{either}\n\n"
