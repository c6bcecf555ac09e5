"""Learning a repair: penalised likelihood, and how much to learn by cross-validation.

All kinds of y are one problem. In each row a few numbers η say how the law is changed, η = 0 not at all;
η = B'φ(x) is linear in functions of x; the log score of the changed law less that of the law as it is,
ℓ(η; y), is known with its derivatives. B maximises Σ ℓ − ½ λ |B|², in units in which η has the Fisher
information 1 at η = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_softmax, ndtr

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws._law import TINY
from condgof.laws._repaired import FARTHEST, PARAMETERS, bend

#: Penalties of what depends on x, in rows; of the constant; and how much more the shape costs.
PENALTIES, CONSTANT, SHAPE = (5.0, 25.0, 125.0, 625.0), 1.0, 4.0
#: Steps of the optimiser, and where it stops: gains are told to three digits.
STEPS, FLAT = 40, 3e-5
#: Degrees of the log-density of the PIT that is common to all rows, its knots, its penalty in rows.
DEGREES, SHAPE_KNOTS, SHAPE_PENALTY = 6, 65, 10.0
#: Logits and numbers of a row beyond this are not meant.
MOST = 30.0


class Likelihood(Protocol):
    """The log score of changed laws, and what changes them."""

    #: From numbers of unit information to η, (q, q).
    @property
    def units(self) -> FloatArray: ...
    #: How much more each of the q numbers costs where it depends on x.
    @property
    def costs(self) -> FloatArray: ...
    #: Where to begin, (q,).
    @property
    def start(self) -> FloatArray: ...
    def at(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ℓ (n,), and its derivatives (n, q)."""


@lru_cache(maxsize=1)
def warp_units() -> FloatArray:
    """Return C with C'FC = 1, F the Fisher information of the map at the identity, (4, 4).

    C is upper triangular: skew comes with the shift, and tails with the spread, that keep them pure.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    bent = bend(np.zeros((len(nodes), PARAMETERS)), nodes)
    slopes = bent.by_slope - bent.w * bent.by_w
    fisher = (slopes * weights) @ slopes.T / weights.sum()
    return np.asarray(np.linalg.inv(np.linalg.cholesky(fisher)).T)


@dataclass(frozen=True, eq=False)
class OfScores:
    """Normal scores z (n,) of a continuous y; η is the map of `Warp`."""

    z: FloatArray

    @property
    def units(self) -> FloatArray:
        return warp_units()

    @property
    def costs(self) -> FloatArray:
        return np.array([1.0, 1.0, SHAPE, SHAPE])

    @property
    def start(self) -> FloatArray:
        low, middle, high = np.quantile(self.z, (0.25, 0.5, 0.75))
        return np.array([middle, np.log(max(high - low, 1e-9) / 1.349), 0.0, 0.0])

    def at(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        bent = bend(eta, self.z)
        value = 0.5 * (self.z**2 - bent.w**2) + bent.log_slope
        return value, (bent.by_slope - bent.w * bent.by_w).T


@dataclass(frozen=True, eq=False)
class OfCounts:
    """Normal scores of the CDF of counts before and at y, and at 0, (n, 3); η also has the odds of 0."""

    z: FloatArray

    @property
    def units(self) -> FloatArray:
        units = 2.0 * np.eye(PARAMETERS + 1)
        units[:-1, :-1] = warp_units()
        return units

    @property
    def costs(self) -> FloatArray:
        return np.array([1.0, 1.0, SHAPE, SHAPE, SHAPE])

    @property
    def start(self) -> FloatArray:
        return np.zeros(PARAMETERS + 1)

    def at(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        sides = [bend(eta[:, :-1], np.clip(z, -FARTHEST, FARTHEST)) for z in self.z.T]
        w = np.stack([side.w for side in sides])
        w = np.where(np.isinf(self.z.T), self.z.T, w)
        density = np.exp(-0.5 * w**2) / np.sqrt(2.0 * np.pi)
        by = [d * side.by_w for d, side in zip(density, sides, strict=True)]
        none, odds = np.isneginf(self.z[:, 0]), np.clip(eta[:, -1], -MOST, MOST)
        inside = np.where(w[0] > 0, ndtr(-w[0]) - ndtr(-w[1]), ndtr(w[1]) - ndtr(w[0]))
        inside = np.maximum(inside, TINY)
        zero, more = ndtr(w[2]), np.expm1(odds)
        kept = 1.0 / (1.0 + zero * more)
        value = np.log(inside) + np.log(kept) + none * odds
        slopes = (by[1] - by[0]) / inside - kept * more * by[2]
        return value, np.column_stack([slopes.T, none - kept * zero * (1.0 + more)])


@dataclass(frozen=True, eq=False)
class OfClasses:
    """Log-probabilities (n, K) and classes (n,); η is the log of a factor, and a constant a class."""

    logits: FloatArray
    codes: IntArray

    @property
    def units(self) -> FloatArray:
        return np.diag([1.0, *np.full(self.logits.shape[1], 2.0)])

    @property
    def costs(self) -> FloatArray:
        return np.ones(self.logits.shape[1] + 1)

    @property
    def start(self) -> FloatArray:
        return np.zeros(self.logits.shape[1] + 1)

    def log_probabilities(self, eta: FloatArray) -> FloatArray:
        """Return the logarithms of the changed probabilities, (n, K)."""
        steep = np.exp(np.clip(eta[:, :1], -5.0, 5.0))
        return np.asarray(log_softmax(steep * self.logits + eta[:, 1:], axis=1))

    def at(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        logs, each = self.log_probabilities(eta), np.arange(len(eta))
        residual = -np.exp(logs)
        residual[each, self.codes] += 1.0
        steep = np.exp(np.clip(eta[:, :1], -5.0, 5.0))
        by_heat = (residual * self.logits * steep).sum(axis=1)
        return logs[each, self.codes], np.column_stack([by_heat, residual])


def fit(given: Likelihood, features: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients (P, q) of η on features (n, P), of which the first is 1."""
    from scipy.optimize import minimize  # takes long to import

    (n, count), units = features.shape, given.units
    q = len(units)
    costs = np.outer(np.full(count, penalty), given.costs) / n
    costs[0] = CONSTANT / n
    begin = np.linalg.solve(units, given.start)
    # In these coordinates the curvature is about 1 in all directions.
    gram = features.T @ features / n + np.diag(costs[:, 0])
    root = np.linalg.cholesky(gram + 1e-9 * np.eye(count))
    white = solve_triangular(root, features.T, lower=True).T

    def coefficients(flat: FloatArray) -> FloatArray:
        return np.asarray(solve_triangular(root.T, flat.reshape(count, q), lower=False))

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        own = coefficients(flat)
        with np.errstate(all="ignore"):
            value, slopes = given.at((white @ flat.reshape(count, q) + begin) @ units.T)
            total = -value.mean() + 0.5 * (costs * own**2).sum()
            back = -white.T @ (slopes @ units) / n
        back = back + solve_triangular(root, costs * own, lower=True)
        if not (np.isfinite(total) and np.isfinite(back).all()):
            return 1e30, np.zeros(count * q)
        return float(total), back.ravel()

    options: Any = {"maxiter": STEPS, "gtol": FLAT, "ftol": 1e-9}
    found = minimize(loss, np.zeros(count * q), jac=True, method="L-BFGS-B", options=options)
    whole = coefficients(found.x)
    whole[0] += begin
    return np.asarray(whole @ units.T)


def fit_shape(w: FloatArray) -> FloatArray:
    """Return a smooth density of Φ(w) at knots, (K,), from w (n,): exp of a polynomial."""
    knots = np.linspace(-1.0, 1.0, SHAPE_KNOTS)
    scale = np.sqrt(2.0 * np.arange(DEGREES + 1) + 1.0)
    at_knots = np.polynomial.legendre.legvander(knots, DEGREES)[:, 1:] * scale[1:]
    mean = (np.polynomial.legendre.legvander(2.0 * ndtr(w) - 1.0, DEGREES)[:, 1:] * scale[1:]).mean(
        axis=0
    )
    weights = np.full(SHAPE_KNOTS, 1.0 / (SHAPE_KNOTS - 1))
    weights[[0, -1]] /= 2.0
    cost, c = SHAPE_PENALTY / len(w), np.zeros(DEGREES)
    for _ in range(30):
        density = np.exp(np.clip(at_knots @ c, -MOST, MOST)) * weights
        density /= density.sum()
        expected = density @ at_knots
        spread = (at_knots * density[:, None]).T @ at_knots - np.outer(expected, expected)
        step = np.linalg.solve(spread + cost * np.eye(DEGREES), mean - expected - cost * c)
        c = c + step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-8:
            break
    return np.asarray(density / weights)


@dataclass(frozen=True, eq=False)
class Trial:
    """The gains of all candidates on rows that they were not learned on."""

    #: Gain of each row by each candidate, (n, C).
    gains: FloatArray
    folds: IntArray
    #: Rows that depend on each other share a unit, (n,).
    units: IntArray
    #: How many standard errors a gain must have.
    needed: float

    def chosen(self, rows: AnyArray) -> int | None:
        """Return the best candidate on some rows; None if it is not clearly better than nothing."""
        gains = self.gains[rows]
        best = int(np.argmax(gains.mean(axis=0)))
        error = standard_error(gains[:, best], self.units[rows])
        return best if gains[:, best].mean() > self.needed * error else None

    def fold(self, number: int) -> tuple[IntArray, int | None]:
        """Return the rows of a fold, and the candidate that is best on all others."""
        return np.flatnonzero(self.folds == number), self.chosen(self.folds != number)


def standard_error(values: FloatArray, units: IntArray) -> float:
    """Return the standard error of a mean of rows, of which those of one unit depend on each other."""
    sums = np.bincount(units, values - values.mean())[np.bincount(units) > 0]
    count = len(sums)
    return float(np.sqrt((sums**2).sum() * count / max(count - 1, 1)) / len(values))
