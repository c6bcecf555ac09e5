"""Counts known through ratios of probabilities alone: the difference Stein operator.

With ρ(y) = p(y+1|x)/p(y|x) and any function f of the counts,

    (A f)(y) = a(y) f(y+1) − b(y) f(y),  a(y) = ρ(y)/(1 + ρ(y)),  b(y) = 1/(1 + ρ(y−1)),

with b = 0 at the smallest count, has mean 0, because p(y) a(y) = p(y+1) b(y+1). It is the
operator of Yang, Liu, Rao and Neville (2018) with a weight 1/(1 + ρ), so that a and b are
bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import NonFiniteError, NumericalError, refuse_rows
from condgof.laws._counts import COUNT, FINENESS, REACH, Whole, standardised
from condgof.laws._discrete import Residuals
from condgof.laws._functions import FunctionOfRows, check_callable
from condgof.laws._law import (
    Law,
    Model,
    check_per_row,
    first_place,
    refuse_outside,
    same_as,
)

# Ratios are normalised over the counts within this many widths of the mode.
WINGS = 14.0

# The largest probability that the first and the last of these counts may have together. If
# they have more, counts beyond matter, and y cannot be resampled.
NEGLIGIBLE_TAIL = 1e-9

# The most counts of a row, and the most probabilities of all rows, that are normalised.
MAX_COUNTS = 2048
MAX_NUMBERS = 2**22

# Searches for a count end here: not far beyond, y + 1 is y in double precision.
LARGEST_STEP = 2.0**48


@dataclass(frozen=True, eq=False)
class RatioOutcomes:
    """`Outcomes` that are counts: code k of a row is the count start + k, K counts a row.

    Residuals are those of the difference Stein operator, see `operator_on_cells`.

    Parameters
    ----------
    probabilities, ahead, behind : ndarray of shape (n, K)
        The probability of each count, and the operator's a(y) and b(y) there.
    start : ndarray of shape (n,)
        The count that has code 0.
    observed : ndarray of int, shape (n,)
        The codes of the observed counts.
    location, scale : ndarray of shape (n,)
        In which units counts are compared.
    """

    probabilities: FloatArray
    ahead: FloatArray
    behind: FloatArray
    start: FloatArray
    observed: IntArray
    location: FloatArray
    scale: FloatArray

    # The residuals are not e_code − p.
    linear = False
    plain = 0

    def take(self, rows: IntArray) -> RatioOutcomes:
        """Return the outcomes of some rows, given by their numbers (r,)."""
        return RatioOutcomes(
            probabilities=self.probabilities[rows],
            ahead=self.ahead[rows],
            behind=self.behind[rows],
            start=self.start[rows],
            observed=self.observed[rows],
            location=self.location[rows],
            scale=self.scale[rows],
        )

    def residuals(self, codes: IntArray) -> FloatArray:
        """Return the residuals of codes (n,), one for each row, (n, cells)."""
        rows = np.arange(len(codes))
        return operator_on_cells(
            y=self.start + codes,
            ahead=self.ahead[rows, codes],
            behind=self.behind[rows, codes],
            location=self.location,
            scale=self.scale,
        )


def operator_on_cells(
    y: FloatArray,
    ahead: FloatArray,
    behind: FloatArray,
    location: FloatArray,
    scale: FloatArray,
) -> FloatArray:
    """Return the Stein operator applied to one function f for each cell, (n, `COUNT`).

    The function of a cell is a tent: 1 at the cell's position, 0 at its neighbours', linear
    between them, in units of `location` and `scale`. So a(y) goes to the two cells beside
    y + 1, and −b(y) to those beside y, in proportion to how near they are.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Counts.
    ahead, behind : ndarray of shape (n,)
        a(y) and b(y).
    location, scale : ndarray of shape (n,)
        The units of the cells.
    """
    # A difference of f between neighbouring counts is of the order 1/scale: this weight
    # makes rows of different scale comparable.
    weight = np.maximum(1.0, 2.0 * scale)
    out = np.zeros((len(y), COUNT))
    _add_to_cells(out, standardised(y + 1.0, location, scale), weight * ahead)
    _add_to_cells(out, standardised(y, location, scale), -weight * behind)
    return out


def _add_to_cells(out: FloatArray, u: FloatArray, amount: FloatArray) -> None:
    """Add amounts (n,) to the two cells of `out` (n, `COUNT`) beside u (n,)."""
    rows = np.arange(len(u))
    place = (u + REACH) * FINENESS
    left = np.minimum(np.floor(place), COUNT - 2).astype(np.int64)
    out[rows, left] += amount * (1.0 - (place - left))
    out[rows, left + 1] += amount * (place - left)


def first_step(holds: Callable[[FloatArray], AnyArray], n: int) -> FloatArray:
    """Return the smallest whole step from 0 on at which something holds, (n,).

    Infinite where it never does. `holds` takes steps (n,) and returns booleans (n,).
    """

    def holds_from_0_on(step: FloatArray) -> AnyArray:
        return (step >= 0) & holds(np.maximum(step, 0.0))

    step = first_place(holds_from_0_on, np.zeros(n), 1.0, whole=True)
    return np.where(holds_from_0_on(step) & (step < LARGEST_STEP), step, np.inf)


class Ratios(Whole):
    """Counts 0, 1, 2, … known through ratios; a subclass writes `log_ratio`."""

    name = "The model of counts"
    normalised = False
    #: ``log_ratio(y)`` returns log p(y+1|x)/p(y|x) of counts (n,), (n,).
    log_ratio: Callable[..., FloatArray]

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        y = self.numbers(y)
        forward = self.log_ratio(y)
        backward = self.log_ratio(np.maximum(y - 1.0, 0.0))
        undefined = np.isnan(forward)
        refuse_rows(
            undefined,
            "The ratio p(y+1|x)/p(y|x) is not a number",
            f"There y = {y[undefined.argmax()]:g}. Where the model ends, it should be 0.",
            NonFiniteError,
        )
        refuse_outside(np.isnan(backward) | ((backward == -np.inf) & (y > 0)), self.name)
        location, scale = (part[:, 0] for part in self.location_scale())
        values = operator_on_cells(
            y=y,
            ahead=expit(forward),
            behind=np.where(y > 0, expit(-backward), 0.0),
            location=location,
            scale=scale,
        )
        return Residuals(
            u=standardised(y, location, scale)[:, None],
            values=values,
            outcomes=self._outcomes(y, location, scale),
        )

    def _outcomes(
        self, y: FloatArray, location: FloatArray, scale: FloatArray
    ) -> RatioOutcomes | None:
        """Normalise the ratios over all counts that matter, so that y can be resampled.

        None where there are too many such counts. All arrays have shape (n,).
        """
        wing = WINGS * scale
        start = np.maximum(0.0, np.minimum(location - wing, y))
        count = int(max((location - start + wing).max(), (y - start).max())) + 2
        if count > MAX_COUNTS or count * len(y) > MAX_NUMBERS:
            return None
        ratios = [self.log_ratio(np.maximum(start + k, 0.0)) for k in range(-1, count)]
        # log ρ(y − 1) and log ρ(y) at the counts y = start + k, (n, count) each.
        backward = np.stack(ratios[:-1], axis=1)
        forward = np.stack(ratios[1:], axis=1)
        p = _normalise(forward)
        below = (p[:, 0] * (start > 0)).max()
        above = p[:, -1].max()
        if not np.isfinite(p).all() or below + above > NEGLIGIBLE_TAIL:
            return None
        is_smallest = (start <= 0)[:, None] & (np.arange(count) == 0)
        # A ratio of two impossible counts is not a number: it counts as 0.
        forward = np.where(np.isnan(forward), -np.inf, forward)
        backward = np.where(np.isnan(backward), -np.inf, backward)
        return RatioOutcomes(
            probabilities=p,
            ahead=expit(forward),
            behind=np.where(is_smallest, 0.0, expit(-backward)),
            start=start,
            observed=(y - start).astype(np.int64),
            location=location,
            scale=scale,
        )

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return the mode, where ρ falls below 1, and a half-width at x, (n, 1) each.

        The half-width δ is where δ·log ρ(mode + δ) reaches −1: of a normal shape it is the
        standard deviation. It only chooses the units that y is compared in, and so does
        the mode, any one if there are several.
        """
        mode = first_step(lambda step: ~(self.log_ratio(step) > 0), self.n)
        if not np.isfinite(mode).all():
            wrong = "The ratios p(y+1|x)/p(y|x) do not fall below 1, however large y is"
            raise NumericalError(
                f"{wrong}, so that there is no such model. Check the function."
            )

        def is_beyond_width(step: FloatArray) -> AnyArray:
            # At step 0 a log-ratio of −∞, where the mode is the largest count, gives NaN.
            with np.errstate(invalid="ignore"):
                return ~(step * self.log_ratio(mode + step) > -1.0)

        width = first_step(is_beyond_width, self.n)
        width = np.where(np.isfinite(width), np.maximum(width, 1.0), 1.0 + mode)
        return mode[:, None], width[:, None]


def _normalise(log_ratios: FloatArray) -> FloatArray:
    """Return probabilities of K counts from the log-ratio at each of them, (n, K) each."""
    first = np.zeros(len(log_ratios))
    with np.errstate(invalid="ignore"):
        logs = np.cumsum(np.column_stack([first, log_ratios[:, :-1]]), axis=1)
    logs = np.where(np.isnan(logs), -np.inf, logs)
    p: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p


@dataclass(frozen=True, eq=False)
class FromRatio(Ratios, FunctionOfRows):
    """Counts known through a function for the ratio; see `from_ratio`."""

    def log_ratio(self, y: FloatArray) -> FloatArray:
        ratios = check_per_row(self._called(y), len(y), "the ratio function")
        refuse_rows(
            ratios < 0,
            "A ratio of probabilities is not negative, and these are",
            f"The smallest is {ratios.min():g}.",
        )
        with np.errstate(divide="ignore"):
            return np.log(ratios)


@dataclass(frozen=True, eq=False)
class FromLogPmf(Ratios):
    """Counts 0, 1, 2, … known through log p(y|x) up to a constant that may depend on x."""

    law: Law

    rows = same_as("law.rows")
    log_prob = same_as("law.log_prob")

    def take(self, rows: IntArray) -> FromLogPmf:
        return FromLogPmf(self.law.take(rows))

    def log_ratio(self, y: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.asarray(self.log_prob(y + 1.0) - self.log_prob(y))


def from_ratio(function: Callable[..., Any]) -> Model:
    """Model of counts from ratios p(y+1|x)/p(y|x), which no normalising constant enters.

    The tests use a difference Stein operator: with ρ the ratio and any function f,
    ρ(y)/(1 + ρ(y))·f(y+1) − f(y)/(1 + ρ(y−1)), without the last term at the smallest count,
    has mean 0 under the model, exactly. It hardly sees weights of separated modes: prefer a
    CDF if there is one.

    Parameters
    ----------
    function : callable
        f(y, x) → p(y+1|x)/p(y|x) of shape (n,), for whole numbers y from 0 on; 0 where y is
        the largest count that can be. Called by name when its parameters are named x and y.

    Examples
    --------
    >>> import condgof as cg
    >>> model = cg.from_ratio(lambda y, x: np.exp(x) / (y + 1))  # Poisson of mean exp(x)
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=120)
    >>> cg.adaptive(model, x, rng.poisson(2 * np.exp(x)), rng=1).reject()
    True
    """
    make = partial(FromRatio, check_callable(function, "from_ratio"))
    return Model(make, Ratios.name, conditional=False)
