"""Counts known through ratios of probabilities alone: the difference Stein operator.

With ρ(y) = p(y+1|x)/p(y|x), which needs no normalising constant, and any function f of the counts,

    (A f)(y) = a(y) f(y+1) − b(y) f(y),   a(y) = ρ(y)/(1 + ρ(y)),   b(y) = 1/(1 + ρ(y−1)),   b(low) = 0,

has mean 0: p(y) a(y) = p(y+1) b(y+1) = p(y) p(y+1)/(p(y) + p(y+1)), so that the sum telescopes, and at
both ends of the support nothing is left over (at the upper one ρ = 0). It is the forward difference
operator of Yang, Liu, Rao and Neville (2018) with a weight 1/(1 + ρ) on the step from y to y+1. Their
own, ρ(y) f(y+1) − f(y), has unbounded scores where the model finds an observation too small, and its
mirror image where it finds it too large; a and b lie between 0 and 1 everywhere.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    NumericalError,
    ShapeError,
    SupportError,
)
from condgof.kernels import Cells
from condgof.models._base import ConditionalModel, row_count
from condgof.models._call import call_density
from condgof.models._discrete import DiscreteModel, Residuals, whole_numbers
from condgof.models._lattice import COUNTS
from condgof.models._ratio_law import RatioLaw, Units, first_step
from condgof.sample import as_numbers, fresh

#: Widths to either side of the mode over which ratios are normalised, and what may be left out there.
WINGS, NEGLIGIBLE = 14.0, 1e-9
#: Up to so many counts in a row, and in all rows together.
MOST_COUNTS, MOST_NUMBERS = 2048, 2**22


@dataclass(frozen=True, eq=False)
class RatioModel(DiscreteModel):
    """A model of counts from `low` on, known through ratios; see `condgof.from_ratio`."""

    low: int

    @abstractmethod
    def log_ratio(self, y: FloatArray, x: Any) -> FloatArray:
        """Return log p(y+1|x)/p(y|x), (n,), for y ≥ low."""

    @property
    def _name(self) -> str:
        """What messages call the model."""
        return "The model of counts"

    def numbers(self, y: AnyArray, x: Any) -> FloatArray:
        """Return y as numbers, checked, (n,)."""
        return whole_numbers(y, np.array(float(self.low)), np.array(np.inf), self._name)

    def cells(self, by: str) -> Cells:
        """Return the cells of a standardised count."""
        return COUNTS

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the open interval around the counts that can be."""
        return np.array(self.low - 1.0), np.array(np.inf)

    def residuals(self, y: AnyArray, x: Any, by: str) -> Residuals:
        """Return y in units of the model's width, and A applied to each cell.

        Functions of the standardised count are linear between the middles of cells, so that large counts
        have derivatives too; they are weighted by the model's width.
        """
        from scipy.special import expit

        y = self.numbers(y, x)
        forward = self._checked(self.log_ratio(y, x), y)
        backward = self.log_ratio(np.maximum(y - 1.0, self.low), x)
        if np.isnan(backward).any() or ((backward == -np.inf) & (y > self.low)).any():
            bad = np.flatnonzero(np.isnan(backward) | ((backward == -np.inf) & (y > self.low)))
            raise SupportError(self._name, len(bad), len(y), int(bad[0]))
        units = Units(*(part[:, 0] for part in self.location_scale(x, len(y))))
        ahead, behind = expit(forward), np.where(y > self.low, expit(-backward), 0.0)
        law = self._law(y, x, units)
        return Residuals(units.of(y)[:, None], units.steps(y, ahead, behind), law)

    def _law(self, y: FloatArray, x: Any, units: Units) -> RatioLaw | None:
        """Normalise the ratios over all counts that matter; None where these are too many.

        This serves to draw y anew for the null distribution, and for nothing else.
        """
        from scipy.special import expit

        start = np.maximum(self.low, np.minimum(units.location - WINGS * units.scale, y))
        reach = max(
            float((units.location - start + WINGS * units.scale).max()), float((y - start).max())
        )
        count = int(reach) + 2
        if count > MOST_COUNTS or count * len(y) > MOST_NUMBERS:
            return None
        before = self.log_ratio(np.maximum(start - 1.0, self.low), x)
        steps = np.stack([self.log_ratio(start + k, x) for k in range(count)], axis=1)
        with np.errstate(invalid="ignore"):
            logs = np.cumsum(np.column_stack([np.zeros(len(y)), steps[:, :-1]]), axis=1)
        logs = np.where(np.isnan(logs), -np.inf, logs)
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        left_out = (p[:, 0] * (start > self.low)).max() + p[:, -1].max()
        if not np.isfinite(p).all() or left_out > NEGLIGIBLE:
            return None
        back = np.column_stack([before, steps[:, :-1]])
        first = (start <= self.low)[:, None] & (np.arange(count) == 0)
        steps, back = (np.where(np.isnan(part), -np.inf, part) for part in (steps, back))
        behind = np.where(first, 0.0, expit(-back))
        return RatioLaw(p, expit(steps), behind, start, units, (y - start).astype(np.int64))

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the mode and the half-width of the model at x, (n, 1) each, found from ratios.

        The mode is where ρ falls below 1, the width δ where δ·log ρ(mode + δ) reaches −1, which for a
        normal shape is its standard deviation. A model with several modes gets one of them: whatever
        depends on x alone will do, and only chooses the units that y is compared in.
        """
        n = row_count(x, n)
        start = np.full(n, float(self.low))

        def falls(step: FloatArray) -> AnyArray:
            return ~(self.log_ratio(start + step, x) > 0)

        mode = start + first_step(falls, n)
        if not np.isfinite(mode).all():
            raise NumericalError(
                "The ratios p(y+1|x)/p(y|x) do not fall below 1, however large y is, so that there is "
                "no such model. Check the function."
            )

        def wide(step: FloatArray) -> AnyArray:
            with np.errstate(invalid="ignore"):  # 0 times a ratio of 0: the mode is the largest count
                return ~(step * self.log_ratio(mode + step, x) > -1.0)

        width = first_step(wide, n)
        return mode[:, None], np.where(np.isfinite(width), np.maximum(width, 1.0), 1.0 + mode)[:, None]

    def _checked(self, values: FloatArray, y: FloatArray) -> FloatArray:
        bad = np.flatnonzero(np.isnan(values))
        if len(bad):
            raise NonFiniteError(
                f"The ratio p(y+1|x)/p(y|x) is not a number in {len(bad)} of {len(y)} rows, the first "
                f"in row {bad[0]} (counted from 0), at y = {y[bad[0]]:g}. Where the model ends, it "
                "should be 0.",
                count=len(bad),
                first_row=int(bad[0]),
            )
        return values


@dataclass(frozen=True, eq=False)
class FromRatio(RatioModel):
    """A model known through a function for the ratio."""

    function: Callable[..., Any]

    def log_ratio(self, y: FloatArray, x: Any) -> FloatArray:
        """Return the log of what the function returns, (n,)."""
        raw = as_numbers(
            call_density(self.function, y.copy(), fresh(x)), "What the ratio function returns"
        )
        if raw.shape not in ((len(y),), (len(y), 1)):
            raise ShapeError(f"The ratio must be one number for each row, ({len(y)},), got {raw.shape}.")
        values = raw.reshape(-1).astype(np.float64)
        if (values < 0).any():
            row = int(np.flatnonzero(values < 0)[0])
            raise InputError(
                f"A ratio of probabilities is not negative, got {values[row]:g} in row {row}."
            )
        with np.errstate(divide="ignore"):
            return np.log(values)


@dataclass(frozen=True, eq=False)
class FromLogPmf(RatioModel):
    """A model known through log p(y|x), up to a constant that may depend on x.

    Parameters
    ----------
    model : ConditionalModel
        What has that `log_prob`.
    """

    model: ConditionalModel

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), up to a constant, (n,)."""
        return self.model.log_prob(y, x)

    def log_ratio(self, y: FloatArray, x: Any) -> FloatArray:
        """Return log p(y+1|x) − log p(y|x), (n,)."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.log_prob(y + 1.0, x) - self.log_prob(y, x))


def from_ratio(function: Callable[..., Any], *, low: int = 0) -> RatioModel:
    """Model of counts from ratios p(y+1|x)/p(y|x), which no normalising constant enters.

    The tests use a difference Stein operator: with ρ the ratio and any function f,
    ρ(y)/(1 + ρ(y))·f(y+1) − f(y)/(1 + ρ(y−1)), without the last term at the smallest count, has mean 0
    under the model, exactly. Where a model has a CDF, its closed form or library is the better choice:
    it also tells apart what a Stein operator hardly sees (weights of separated modes).

    Parameters
    ----------
    function : callable
        f(y, x) → p(y+1|x)/p(y|x) of shape (n,), for whole numbers y from `low` on; 0 where y is the
        largest count that can be. Called by name when its parameters are named x and y.
    low : int
        The smallest count.

    Returns
    -------
    RatioModel

    Examples
    --------
    A Poisson model with mean exp(x), of which only λ/(y + 1) is used:

    >>> import condgof as cg
    >>> model = cg.from_ratio(lambda y, x: np.exp(x) / (y + 1))
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> cg.adaptive(model, x, rng.poisson(np.exp(x)), rng=1).reject()
    False
    >>> cg.adaptive(model, x, rng.poisson(1.5 * np.exp(x)), rng=1).reject()
    True
    """
    if not callable(function):
        raise InputTypeError(f"from_ratio takes a function f(y, x), got {type(function).__name__}.")
    return FromRatio(_low(low), function)


def counts_from_log_prob(model: ConditionalModel, low: int = 0) -> RatioModel:
    """Model of counts from what has a log-probability, up to a constant."""
    return FromLogPmf(_low(low), model)


def _low(low: Any) -> int:
    if isinstance(low, bool) or not isinstance(low, (int, np.integer)):
        raise InputTypeError(f"low must be a whole number, got {low!r}.")
    return int(low)
