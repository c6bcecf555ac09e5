"""Models of counts with a CDF: what they share, and Poisson, negative binomial and binomial models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, NumericalError
from condgof.kernels import Cells
from condgof.models._base import as_rows
from condgof.models._discrete import DiscreteModel, Residuals, flat, whole_numbers
from condgof.models._lattice import COUNT, COUNTS, cell_of, cell_probabilities, standardised
from condgof.models._parameters import Parameter, check_positive
from condgof.models._parametric import Parametric, Values
from condgof.models._residuals import CellLaw, SomeRows, one_hot_less

#: The smallest standard deviation that counts are measured in: a model may be certain of one value.
LEAST_SCALE = 1e-6


class CountModel(DiscreteModel):
    """Counts with a CDF, in one column of y.

    A subclass writes `_cdf`, `_bounds` and `mean_std` (or `location_scale`), and what else it has.
    """

    def _cdf(self, y: FloatArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) for y of shape (n, m), with any real numbers in it."""
        raise NotImplementedError

    def _bounds(self, x: Any, n: int) -> tuple[AnyArray, AnyArray]:
        """Return the smallest and the largest count, which broadcast to (n,)."""
        return np.array(0.0), np.array(np.inf)

    def numbers(self, y: AnyArray, x: Any) -> FloatArray:
        """Return y as numbers, checked, (n,)."""
        return whole_numbers(y, *self._bounds(x, len(y)), self._name)

    def cells(self, by: str) -> Cells:
        """Return the cells of a standardised count."""
        return COUNTS

    def residuals(self, y: AnyArray, x: Any, by: str) -> Residuals:
        """Return y in standard deviations, and the residuals over its cells."""
        y = self.numbers(y, x)
        location, scale = (part[:, 0] for part in self.location_scale(x, len(y)))
        scale = np.maximum(scale, LEAST_SCALE)
        u = standardised(y, location, scale)
        p = cell_probabilities(lambda at: self._cdf(at, x), location, scale)
        if not (np.isfinite(u).all() and np.isfinite(p).all()):
            bad = np.flatnonzero(~(np.isfinite(u) & np.isfinite(p).all(axis=1)))
            raise NumericalError(
                f"{self._name} has no finite mean, standard deviation or CDF in {len(bad)} of {len(y)} "
                f"rows, the first in row {bad[0]} (counted from 0). Check the model there."
            )
        codes = cell_of(u)
        law = CellLaw(SomeRows(p), one_hot_less, COUNT, codes)
        return Residuals(u[:, None], law.of(codes), law)

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the open interval around the counts that can be."""
        low, high = (np.asarray(end, dtype=np.float64) for end in self._bounds(x, n))
        column = (low[:, None] if low.ndim else low), (high[:, None] if high.ndim else high)
        return column[0] - 1.0, column[1] + 1.0

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x), (n,)."""
        return self._cdf(flat(np.asarray(y)).astype(np.float64)[:, None], x)[:, 0]

    def cdf_grid(self, values: AnyArray, x: Any, n: int | None = None) -> FloatArray:
        """Return P(Y ≤ v | x) for each row of x and each of m values, (n, m)."""
        rows = self.rows or (len(x) if x is not None else n)
        at = np.asarray(values, dtype=np.float64).reshape(1, -1)
        return self._cdf(np.broadcast_to(at, (rows or 0, at.shape[1])), x)


class CountFamily(Parametric, CountModel):
    """A closed form; a subclass writes functions of arrays of parameters, (n, 1) each."""

    #: Parameters that must be positive, and that must lie between 0 and 1.
    POSITIVE: tuple[str, ...] = ()
    SHARES: tuple[str, ...] = ()

    def _at(self, x: Any, n: int) -> Values:
        """Return the parameters at all rows, checked, (n, 1) each."""
        values = []
        for name, parameter in self._parameters().items():
            value = parameter.at(x, n, (1,))
            if name in self.POSITIVE:
                check_positive(value, name)
            if name in self.SHARES and not ((value >= 0) & (value <= 1)).all():
                row = int(np.flatnonzero(~((value >= 0) & (value <= 1)))[0])
                raise InputError(
                    f"{name} must lie between 0 and 1, and is {value[row, 0]} in row {row}."
                )
            values.append(value)
        return tuple(values)

    def _log_pmf(self, y: FloatArray, p: Values) -> FloatArray:
        raise NotImplementedError

    def _tail(self, y: FloatArray, p: Values) -> FloatArray:
        """Return P(Y ≤ y) for whole y inside the support."""
        raise NotImplementedError

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        raise NotImplementedError

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance."""
        raise NotImplementedError

    def _most(self, p: Values) -> AnyArray:
        """Return the largest count, (n, 1)."""
        return np.array(np.inf)

    def _bounds(self, x: Any, n: int) -> tuple[AnyArray, AnyArray]:
        most = np.asarray(self._most(self._at(x, n)))
        return np.array(0.0), most[:, 0] if most.ndim else most

    def _cdf(self, y: FloatArray, x: Any) -> FloatArray:
        p = self._at(x, len(y))
        y, most = np.floor(y), self._most(p)
        inside = np.clip(y, 0.0, most)
        inside = np.where(np.isfinite(inside), inside, 0.0)
        values = np.where(y < 0, 0.0, np.where(y >= most, 1.0, self._tail(inside, p)))
        return np.clip(values, 0.0, 1.0)

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,); −∞ for what cannot be."""
        y = as_rows(flat(np.asarray(y)))
        p = self._at(x, len(y))
        possible = (y >= 0) & (y <= self._most(p)) & (y == np.floor(y))
        values = np.where(possible, self._log_pmf(np.where(possible, y, 0.0), p), -np.inf)
        return np.asarray(values[:, 0])

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one count for each row of x, (n, 1)."""
        return np.asarray(self._draw(rng, self._at(x, self._size(x, n))), dtype=np.float64)

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, 1) each."""
        mean, variance = self._moments(self._at(x, self._size(x, n)))
        return np.array(mean), np.sqrt(variance)


@dataclass(frozen=True, eq=False, init=False)
class Poisson(CountFamily):
    """Poisson model of counts: p(y|x) = μ(x)^y exp(−μ(x)) / y!.

    Parameters
    ----------
    mean : float or callable
        μ: a constant, or a function x → (n,). Arrays with one row for each observation: `Poisson.bound`.

    Examples
    --------
    >>> Poisson(mean=lambda x: x).cdf(np.array([0.0]), np.array([1.0])).round(3)
    array([0.368])
    """

    mean: Parameter

    POSITIVE = ("mean",)

    def __init__(self, mean: Any) -> None:
        self._read(mean=mean)

    def _log_pmf(self, y: FloatArray, p: Values) -> FloatArray:
        from scipy.special import gammaln, xlogy

        return np.asarray(xlogy(y, p[0]) - p[0] - gammaln(y + 1.0))

    def _tail(self, y: FloatArray, p: Values) -> FloatArray:
        from scipy.special import gammaincc

        return np.asarray(gammaincc(y + 1.0, p[0]))

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        return rng.poisson(p[0]).astype(np.float64)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        return p[0], p[0]


@dataclass(frozen=True, eq=False, init=False)
class NegativeBinomial(CountFamily):
    """Negative binomial model of counts: mean μ(x), variance μ + dispersion·μ².

    Parameters
    ----------
    mean : float or callable
        μ: a constant, or a function x → (n,).
    dispersion : float or callable
        As `mean`; what statsmodels calls alpha, and 1/size. The nearer to 0, the nearer to a Poisson
        model.

    Examples
    --------
    >>> mean, std = NegativeBinomial(mean=2.0, dispersion=0.5).mean_std(None, 1)
    >>> mean[0, 0], std[0, 0]
    (np.float64(2.0), np.float64(2.0))
    """

    mean: Parameter
    dispersion: Parameter

    POSITIVE = ("mean", "dispersion")

    def __init__(self, mean: Any, dispersion: Any) -> None:
        self._read(mean=mean, dispersion=dispersion)

    def _log_pmf(self, y: FloatArray, p: Values) -> FloatArray:
        from scipy.special import betaln, xlogy

        mean, size = p[0], 1.0 / p[1]
        share = mean / (mean + size)
        # −size·log(1 + μ/size): log1p, because a small dispersion makes this the Poisson's −μ.
        tail = -size * np.log1p(mean / size)
        whole = -np.log(size + y) - betaln(size, y + 1.0)  # differences of gammaln would lose digits
        return np.asarray(whole + xlogy(y, share) + tail)

    def _tail(self, y: FloatArray, p: Values) -> FloatArray:
        from scipy.special import betainc

        mean, size = p[0], 1.0 / p[1]
        return np.asarray(betainc(size, y + 1.0, size / (mean + size)))

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        mean, dispersion = p
        return rng.poisson(rng.gamma(1.0 / dispersion, mean * dispersion)).astype(np.float64)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        return p[0], p[0] + p[1] * p[0] ** 2


@dataclass(frozen=True, eq=False, init=False)
class Binomial(CountFamily):
    """Binomial model of counts: y of `trials`(x), each with probability p(x).

    Parameters
    ----------
    trials : int or callable
        How many trials: whole numbers, a constant or a function x → (n,).
    p : float or callable
        The probability of each, between 0 and 1, as `trials`.

    Examples
    --------
    >>> np.exp(Binomial(trials=2, p=0.5).log_prob(np.array([0.0, 1.0, 2.0]), np.zeros(3))).round(3)
    array([0.25, 0.5 , 0.25])
    """

    trials: Parameter
    p: Parameter

    SHARES = ("p",)

    def __init__(self, trials: Any, p: Any) -> None:
        self._read(trials=trials, p=p)

    def _at(self, x: Any, n: int) -> Values:
        trials, p = super()._at(x, n)
        bad = np.flatnonzero(~((trials >= 0) & (trials == np.floor(trials))))
        if len(bad):
            raise InputError(
                f"trials must be whole numbers from 0 on, and is {trials[bad[0], 0]} in row {bad[0]} "
                "(counted from 0)."
            )
        return trials, p

    def _most(self, p: Values) -> AnyArray:
        return p[0]

    def _bounds(self, x: Any, n: int) -> tuple[AnyArray, AnyArray]:
        trials, p = (part[:, 0] for part in self._at(x, n))
        # A probability of 0 or 1 leaves one count that can be.
        return np.where(p == 1, trials, 0.0), np.where(p == 0, 0.0, trials)

    def _log_pmf(self, y: FloatArray, p: Values) -> FloatArray:
        from scipy.special import gammaln, xlog1py, xlogy

        trials, share = p
        chosen = gammaln(trials + 1.0) - gammaln(y + 1.0) - gammaln(trials - y + 1.0)
        return np.asarray(chosen + xlogy(y, share) + xlog1py(trials - y, -share))

    def _tail(self, y: FloatArray, p: Values) -> FloatArray:
        from scipy.special import betaincc

        trials, share = p
        return np.asarray(betaincc(y + 1.0, np.maximum(trials - y, 1e-300), share))

    def _draw(self, rng: np.random.Generator, p: Values) -> FloatArray:
        return rng.binomial(p[0].astype(np.int64), p[1]).astype(np.float64)

    def _moments(self, p: Values) -> tuple[FloatArray, FloatArray]:
        return p[0] * p[1], p[0] * p[1] * (1.0 - p[1])
