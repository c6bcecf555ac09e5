"""Counts known through ratios of probabilities alone: the difference Stein operator.

With ρ(y) = p(y+1|x)/p(y|x) and any function f of the counts, (A f)(y) = a(y) f(y+1) − b(y)
f(y) with a(y) = ρ(y)/(1 + ρ(y)), b(y) = 1/(1 + ρ(y−1)), b(0) = 0, has mean 0: p(y) a(y) =
p(y+1) b(y+1). It is the operator of Yang, Liu, Rao and Neville (2018) with a weight 1/(1 +
ρ), so that a and b are bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import NonFiniteError, NumericalError, refuse_rows
from condgof.laws._counts import COUNT, FINENESS, REACH, Whole, standardised
from condgof.laws._discrete import Residuals
from condgof.laws._functions import FunctionOfRows, check_callable
from condgof.laws._law import Law, Model, first_place, one_each, refuse_outside, same_as

#: Widths to either side of the mode over which ratios are normalised, what may be left out
#: there, and up to how many counts in a row, and in all rows together.
WINGS, NEGLIGIBLE, MOST_COUNTS, MOST_NUMBERS = 14.0, 1e-9, 2048, 2**22


@dataclass(frozen=True, eq=False)
class RatioOutcomes:
    """Probabilities of counts from `start` on, (n, K), with a and b of the operator at each of them."""

    probabilities: FloatArray
    ahead: FloatArray
    behind: FloatArray
    start: FloatArray
    observed: IntArray
    location: FloatArray
    scale: FloatArray
    linear, plain = False, 0  # the operator is not e_y − p

    def take(self, rows: IntArray) -> RatioOutcomes:
        return RatioOutcomes(*(getattr(self, field.name)[rows] for field in fields(self)))

    def of(self, codes: IntArray) -> FloatArray:
        rows, y = np.arange(len(codes)), self.start + codes
        return stepped(
            y, self.ahead[rows, codes], self.behind[rows, codes], self.location, self.scale
        )


def stepped(
    y: FloatArray,
    ahead: FloatArray,
    behind: FloatArray,
    location: FloatArray,
    scale: FloatArray,
) -> FloatArray:
    """Return a(y) at the cells of y + 1 less b(y) at those of y, times a weight, (n, cells)."""
    weight, rows = np.maximum(1.0, 2.0 * scale), np.arange(len(y))
    out = np.zeros((len(y), COUNT))
    for count, add in ((y + 1.0, weight * ahead), (y, -weight * behind)):
        # It goes to the two cells beside the count, in proportion to how near they are.
        place = (standardised(count, location, scale) + REACH) * FINENESS
        left = np.minimum(np.floor(place), COUNT - 2).astype(np.int64)
        out[rows, left] += add * (1.0 - (place - left))
        out[rows, left + 1] += add * (place - left)
    return out


def first_step(holds: Callable[[FloatArray], AnyArray], n: int) -> FloatArray:
    """Return the smallest whole step from 0 on at which something holds, (n,); infinite if never."""

    def there(step: FloatArray) -> AnyArray:
        return (step >= 0) & holds(np.maximum(step, 0.0))

    found = first_place(there, np.zeros(n), 1.0, whole=True)
    return np.where(
        there(found) & (found < 2.0**48), found, np.inf
    )  # beyond, y + 1 is soon y


class Ratios(Whole):
    """Counts 0, 1, 2, … known through ratios; see `from_ratio`."""

    name = "The model of counts"
    normalised = False
    #: log p(y+1|x)/p(y|x), (n,).
    log_ratio: Callable[..., FloatArray]

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        """Return y in units of the model's width, and A applied to each cell."""
        y = self.numbers(y)
        forward, backward = self.log_ratio(y), self.log_ratio(np.maximum(y - 1.0, 0.0))
        lost, what = np.isnan(forward), "The ratio p(y+1|x)/p(y|x) is not a number"
        advice = f"There y = {y[lost.argmax()]:g}. Where the model ends, it should be 0."
        refuse_rows(lost, what, advice, NonFiniteError)
        refuse_outside(np.isnan(backward) | ((backward == -np.inf) & (y > 0)), self.name)
        location, scale = (part[:, 0] for part in self.location_scale())
        ahead, behind = expit(forward), np.where(y > 0, expit(-backward), 0.0)
        values = stepped(y, ahead, behind, location, scale)
        u = standardised(y, location, scale)[:, None]
        return Residuals(u, values, self._outcomes(y, location, scale))

    def _outcomes(
        self, y: FloatArray, location: FloatArray, scale: FloatArray
    ) -> RatioOutcomes | None:
        """Normalise the ratios over all counts that matter, to draw y anew; None where too many do."""
        wing = WINGS * scale
        start = np.maximum(0.0, np.minimum(location - wing, y))
        count = int(max((location - start + wing).max(), (y - start).max())) + 2
        if count > MOST_COUNTS or count * len(y) > MOST_NUMBERS:
            return None
        ratios = [self.log_ratio(np.maximum(start + k, 0.0)) for k in range(-1, count)]
        back, steps = np.stack(ratios[:-1], axis=1), np.stack(ratios[1:], axis=1)
        with np.errstate(invalid="ignore"):
            logs = np.cumsum(np.column_stack([np.zeros(len(y)), steps[:, :-1]]), axis=1)
        logs = np.where(np.isnan(logs), -np.inf, logs)
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        left_out = (p[:, 0] * (start > 0)).max() + p[:, -1].max()
        if not np.isfinite(p).all() or left_out > NEGLIGIBLE:
            return None
        first = (start <= 0)[:, None] & (np.arange(count) == 0)
        steps, back = (np.where(np.isnan(part), -np.inf, part) for part in (steps, back))
        behind = np.where(first, 0.0, expit(-back))
        observed = (y - start).astype(np.int64)
        return RatioOutcomes(p, expit(steps), behind, start, observed, location, scale)

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return the mode, where ρ falls below 1, and the half-width of the model at x, (n, 1) each.

        The width δ is where δ·log ρ(mode + δ) reaches −1: of a normal shape its standard
        deviation. It only chooses the units that y is compared in, and so does one of
        several modes.
        """
        mode = first_step(lambda step: ~(self.log_ratio(step) > 0), self.n)
        if not np.isfinite(mode).all():
            wrong = "The ratios p(y+1|x)/p(y|x) do not fall below 1, however large y is"
            raise NumericalError(
                f"{wrong}, so that there is no such model. Check the function."
            )

        def wide(step: FloatArray) -> AnyArray:
            with np.errstate(
                invalid="ignore"
            ):  # 0 times a ratio of 0: the mode is the largest count
                return ~(step * self.log_ratio(mode + step) > -1.0)

        width = first_step(wide, self.n)
        return (
            mode[:, None],
            np.where(np.isfinite(width), np.maximum(width, 1.0), 1.0 + mode)[:, None],
        )


@dataclass(frozen=True, eq=False)
class FromRatio(Ratios, FunctionOfRows):
    """Counts known through a function for the ratio."""

    def log_ratio(self, y: FloatArray) -> FloatArray:
        values = one_each(self._called(y), len(y), "the ratio function")
        least = f"The smallest is {values.min():g}."
        refuse_rows(
            values < 0, "A ratio of probabilities is not negative, and these are", least
        )
        with np.errstate(divide="ignore"):
            return np.log(values)


@dataclass(frozen=True, eq=False)
class FromLogPmf(Ratios):
    """Counts 0, 1, 2, … known through a law's log p(y|x), up to a constant that may depend on x."""

    law: Law

    rows, log_prob = same_as("law.rows"), same_as("law.log_prob")

    def take(self, rows: IntArray) -> FromLogPmf:
        return FromLogPmf(self.law.take(rows))

    def log_ratio(self, y: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(self.log_prob(y + 1.0) - self.log_prob(y))


def from_ratio(function: Callable[..., Any]) -> Model:
    """Model of counts from ratios p(y+1|x)/p(y|x), which no normalising constant enters.

    The tests use a difference Stein operator: with ρ the ratio and any function f, ρ(y)/(1
    + ρ(y))·f(y+1) − f(y)/(1 + ρ(y−1)), without the last term at the smallest count, has
    mean 0 under the model, exactly. It hardly sees weights of separated modes: prefer a CDF
    if there is one.

    Parameters
    ----------
    function : callable
        f(y, x) → p(y+1|x)/p(y|x) of shape (n,), for whole numbers y from 0 on; 0 where y is
        the largest count that can be. Called by name when its parameters are named x and y.

    Examples
    --------
    >>> import condgof as cg
    >>> model = cg.from_ratio(lambda y, x: np.exp(x) / (y + 1))    # Poisson with mean exp(x)
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=120)
    >>> cg.adaptive(model, x, rng.poisson(2 * np.exp(x)), rng=1).reject()
    True
    """
    make = partial(FromRatio, check_callable(function, "from_ratio"))
    return Model(make, Ratios.name, conditional=False)
