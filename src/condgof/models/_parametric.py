"""Closed forms made of parameters: binding them to rows, and families with independent coordinates."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputTypeError, UnsupportedModelError
from condgof.models._base import ConditionalModel, as_rows, log_tail_scores, row_count
from condgof.models._parameters import Parameter, check_positive
from condgof.sample import as_numbers

#: The parameters of a family at all rows, (n, d_y) each.
Values: TypeAlias = tuple[FloatArray, ...]

#: The smallest tail that is told from 0.
LOG_TINY = float(np.log(np.finfo(np.float64).tiny))


@lru_cache
def _signature(cls: type) -> inspect.Signature:
    """Return the parameters of a class; finding them takes longer than all the rest of `bound`."""
    return inspect.signature(cls)


class Parametric(ConditionalModel):
    """A model whose parameters are constants, functions of x, or arrays bound to rows.

    A subclass reads them with `_read` in its ``__init__``; `bound` takes the same arguments.
    """

    def _read(self, **values: Any) -> None:
        """Keep parameters under their names; one that is None is not there."""
        for name, value in values.items():
            parameter = None if value is None else Parameter.constant_or_function(name, value)
            object.__setattr__(self, name, parameter)

    @classmethod
    def bound(cls, *args: Any, **kwargs: Any) -> Self:
        """Make a model of arrays of parameters, with one row for each observation.

        It takes the arguments of the class; a single number serves for all rows.

        Raises
        ------
        InputTypeError
            When all of them are single numbers, which bind the model to no rows.
        """
        kind: Any = cls  # a type is hashable, which its stubs do not say
        given = _signature(kind).bind(*args, **kwargs).arguments
        arrays = {name: as_numbers(a, name) for name, a in given.items() if a is not None}
        rows = [len(a) for a in arrays.values() if a.ndim > 0]
        if not rows:
            raise InputTypeError(
                f"{' and '.join(arrays)} are single numbers, which bind the model to no rows. "
                f"Pass arrays, or use condgof.models.{cls.__name__}."
            )
        return cls(**{name: Parameter.rowwise(name, a, rows[0]) for name, a in arrays.items()})

    def _parameters(self) -> dict[str, Parameter]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Parameter)}

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to, or None."""
        bound = (len(p.value) for p in self._parameters().values() if p.bound)
        return next(bound, None)

    def take(self, rows: IntArray) -> Self:
        """Return the model of some rows."""
        if self.rows is None:
            return self
        taken = object.__new__(type(self))
        for name, value in vars(self).items():
            part = value.take(rows) if isinstance(value, Parameter) else value
            object.__setattr__(taken, name, part)
        return taken

    def _size(self, x: Any, n: int | None) -> int:
        """Return the number of rows, which x, `n` or the binding tells."""
        return self.rows or row_count(x, n)

    def _d_y(self, x: Any) -> int:
        """Return the number of columns of y when only x is there to tell."""
        widths = (parameter.width(x) for parameter in self._parameters().values())
        return max((width for width in widths if width is not None), default=1)


class Independent(Parametric):
    """A family whose coordinates are independent given x.

    A subclass writes functions of arrays of shape (n, d_y): `_log_density`, `_slope` (its derivative in
    y), `_log_tails`, `_draw`, `_moments`, and `_ends` if it does not live on the whole line. They see
    values of y inside the support only.
    """

    #: Parameters that must be positive.
    POSITIVE: ClassVar[tuple[str, ...]] = ()

    def _at(self, x: Any, n: int, d_y: int) -> Values:
        """Return the parameters at all rows, checked."""
        values = []
        for name, parameter in self._parameters().items():
            value = parameter.at(x, n, (d_y,))
            values.append(check_positive(value, name) if name in self.POSITIVE else value)
        return tuple(values)

    def _log_density(self, y: FloatArray, p: Values) -> FloatArray:
        raise NotImplementedError

    def _slope(self, y: FloatArray, p: Values) -> FloatArray:
        raise NotImplementedError

    def _log_tails(self, y: FloatArray, p: Values) -> tuple[FloatArray, FloatArray]:
        """Return log F and log(1 − F), each accurate where it is small."""
        raise NotImplementedError

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        raise NotImplementedError

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        raise NotImplementedError

    def _ends(self, p: Values) -> tuple[AnyArray, AnyArray]:
        return np.array(-np.inf), np.array(np.inf)

    def score(self, y: AnyArray, x: Any) -> FloatArray:
        """Return ∂ log p(y|x)/∂y_k, (n, d_y); NaN outside the support."""
        y, p, below, above = self._placed(y, x)
        return np.where(below | above, np.nan, self._slope(y, p))

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,); −∞ outside the support."""
        y, p, below, above = self._placed(y, x)
        values: FloatArray = np.where(below | above, -np.inf, self._log_density(y, p)).sum(axis=1)
        return values

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        return self._tail(y, x, upper=False)

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, (n,)."""
        return self._tail(y, x, upper=True)

    def cdf_grid(self, values: AnyArray, x: Any, n: int | None = None) -> FloatArray:
        """Return P(Y ≤ v | x) for each row of x and each of m values, d_y = 1, (n, m)."""
        p = self._at(x, self._size(x, n), 1)
        y, below, above = self._moved_in(np.ravel(values), p)
        lower = np.exp(self._log_tails(y, p)[0])
        return np.where(below, 0.0, np.where(above, 1.0, lower))

    def normal_scores(self, y: AnyArray, x: Any) -> FloatArray:
        """Return Φ⁻¹ of the CDF of each coordinate (they are independent), (n, d_y)."""
        y, p, below, above = self._placed(y, x)
        lower, upper = self._log_tails(y, p)
        # What cannot be is as far out as numbers go.
        lower = np.where(below, LOG_TINY, np.where(above, 0.0, lower))
        upper = np.where(above, LOG_TINY, np.where(below, 0.0, upper))
        return log_tail_scores(lower, upper)

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the open interval that each coordinate of each row lives in."""
        return self._ends(self._at(x, n, d_y))

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row of x, (n, d_y)."""
        p = self._at(x, self._size(x, n), self._d_y(x))
        low, high = self._ends(p)
        # A draw that rounds to an end of the support is put beside it; 1/1e-300 is still a number.
        least = np.maximum(np.nextafter(low, np.inf), low + 1e-300)
        return np.clip(self._draw(rng, p), least, np.nextafter(high, -np.inf))

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, d_y) each."""
        mean, std = self._moments(self._at(x, self._size(x, n), self._d_y(x)))
        return np.array(mean), np.array(std)

    def _tail(self, y: AnyArray, x: Any, *, upper: bool) -> FloatArray:
        y, p, below, above = self._placed(y, x)
        if y.shape[1] != 1:
            what, name = "sf" if upper else "cdf", type(self).__name__
            raise UnsupportedModelError(f"The {what} of a {name} model is there for d_y = 1 only.")
        values = np.exp(self._log_tails(y, p)[upper])
        zero, one = (above, below) if upper else (below, above)
        return np.where(zero, 0.0, np.where(one, 1.0, values))[:, 0]

    def _placed(self, y: AnyArray, x: Any) -> tuple[FloatArray, Values, AnyArray, AnyArray]:
        """Return y with what is outside put inside, the parameters, and what was below and above."""
        y = as_rows(y)
        p = self._at(x, *y.shape)
        inside, below, above = self._moved_in(y, p)
        return inside, p, below, above

    def _moved_in(self, y: FloatArray, p: Values) -> tuple[FloatArray, AnyArray, AnyArray]:
        """Return y with what is outside put inside, and what was below and above."""
        low, high = self._ends(p)
        below, above = y <= low, y >= high
        if below.any() or above.any():
            y = np.where(below | above, _inside(low, high), y)
        return y, below, above


def _inside(low: AnyArray, high: AnyArray) -> FloatArray:
    """Return some point of each interval."""
    has_low, has_high = np.isfinite(low), np.isfinite(high)
    least, most = np.where(has_low, low, 0.0), np.where(has_high, high, 0.0)
    one = np.where(has_low, least + 1.0 + np.abs(least), most - 1.0 - np.abs(most))
    return np.where(has_low & has_high, 0.5 * (least + most), one)


def log_of(tail: AnyArray) -> FloatArray:
    """Return the log of a probability; one that rounds to 0 is taken as the smallest number."""
    values: FloatArray = np.log(np.maximum(tail, np.finfo(np.float64).tiny))
    return values
