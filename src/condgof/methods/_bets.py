"""Bets against a law, row after row, which win if the law is wrong and cannot be won if it is right.

An e-value of a row is q(y)/p(y), with a density q that is chosen before the row is seen: under p its
mean is 1. Products of them, and averages of such products, are wealth that begins at 1 and on average
never grows: it ever reaches 1/α with probability at most α (Ville). Here q is a predictive distribution
in which the past of the same bin of a column counts: of normal scores N(m̂, v̂), means and variances
shrunk to 0 and 1 by conjugate priors; of cells of probability the law's own, tilted. So the product over
the rows of a bin is a marginal likelihood, and sums over rows are all that has to be kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.special import gammaln, ndtri, zeta

from condgof._typing import FloatArray, IntArray

#: Bins of a column; bets are made on all of them, and on halves of them.
BINS, HALVES = 8, 2
#: Rows between two starts, and how many starts are remembered.
APART, MOST_STARTS = 64, 12
#: Rows that the prior counts for: of a mean of 0, of a variance of 1, of shares of cells.
MEAN_ROWS, SPREAD_ROWS, SHAPE_ROWS = 8.0, 16.0, 24.0
#: How much of the wealth is put on row 0; and how slowly the rest is put on later starts.
FIRST, DECAY = 0.6, 1.25
#: Cells of the PIT: their upper ends but the last.
PIT_ENDS = np.array([0.001, 0.01, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99, 0.999])
#: Tilts of each direction of a discrete y: of log-odds, of powers of p, of shares of a uniform law.
ODDS = np.array([-1.0, -0.3, 0.3, 1.0])
POWERS = np.array([-0.6, -0.25, 0.25, 0.6])
UNIFORM = np.array([0.005, 0.02, 0.1, 0.4])
#: So many classes are looked at by themselves; a probability below this counts as this.
MOST_CLASSES, LEAST = 4, 1e-300


class NormalBet:
    """That normal scores have another mean, another variance, or both.

    As all bets it has `kinds` of misfit; `rows`, what is summed up, (n, C, width), from normal scores
    (n, C) or tilts (n, L); and `log_wealth`, what rows with such sums (…, width) have made, (…, kinds).
    """

    kinds: tuple[str, ...] = ("shift", "spread", "shift and spread")
    width = 3

    def rows(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        """Return 1, z and z²."""
        return np.stack([np.ones_like(z), z, np.square(z)], axis=-1)

    def log_wealth(self, sums: FloatArray) -> FloatArray:
        """Use a normal prior of the mean, an inverse gamma prior of the variance, or both."""
        n, total, square = np.moveaxis(sums, -1, 0)
        half = 0.5 * SPREAD_ROWS
        explained, known = np.square(total) / (n + MEAN_ROWS), -0.5 * np.log1p(n / MEAN_ROWS)
        start = gammaln(half + 0.5 * n) - gammaln(half) + half * np.log(half) + 0.5 * square
        alone, both = (
            start - (half + 0.5 * n) * np.log(half + 0.5 * left) for left in (square, square - explained)
        )
        return np.stack([0.5 * explained + known, alone, both + known], axis=-1)


class ShapeBet:
    """That PITs have other shares in cells than the law says: skew, tails, several modes."""

    kinds: tuple[str, ...] = ("shape",)
    width = len(PIT_ENDS) + 1

    def rows(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        """Return which cell each z is in."""
        return np.asarray(np.eye(self.width)[np.searchsorted(ndtri(PIT_ENDS), z)])

    def log_wealth(self, sums: FloatArray) -> FloatArray:
        """Use a Dirichlet prior."""
        shares = np.diff(PIT_ENDS, prepend=0.0, append=1.0)
        n, prior = sums.sum(axis=-1), SHAPE_ROWS * shares
        cells = gammaln(prior + sums) - gammaln(prior) - sums * np.log(shares)
        value = cells.sum(axis=-1) + gammaln(SHAPE_ROWS) - gammaln(SHAPE_ROWS + n)
        return np.asarray(value[..., None])


class TiltBet:
    """That cells of a discrete y have other probabilities: the law's, tilted in some directions."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds, self.width = kinds, len(kinds) * len(ODDS)

    def rows(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        """Return the logarithms of q(y)/p(y)."""
        return tilts[:, None]

    def log_wealth(self, sums: FloatArray) -> FloatArray:
        """Average over the tilts of each direction."""
        tilts = sums.reshape(*sums.shape[:-1], len(self.kinds), len(ODDS))
        most = tilts.max(axis=-1, keepdims=True)
        return np.asarray(np.log(np.exp(tilts - most).mean(axis=-1)) + most[..., 0])


def ordered_tilts(p: FloatArray, observed: IntArray) -> dict[str, FloatArray]:
    """Return log q(y)/p(y) of tilts of cells in an order, by kind, (n, 4) each; p is (n, K)."""
    upper = np.cumsum(p, axis=1)
    middle = np.clip(2.0 * upper - p - 1.0, -1.0, 1.0)  # of each cell's PITs, from −1 to 1
    each, lowest = np.arange(len(p)), np.argmax(p > 0, axis=1)
    found = {}
    for kind, psi in (("shift", middle), ("spread", 1.5 * np.square(middle) - 0.5)):
        weighed = np.stack([(p * np.exp(1.7 * odds * psi)).sum(axis=1) for odds in ODDS], axis=1)
        found[kind] = 1.7 * ODDS * psi[each, observed][:, None] - np.log(weighed)
    found["lowest values"] = _indicator(p[each, lowest], observed == lowest)
    found["surprise"] = _surprise(p, observed)
    return found


def class_tilts(p: FloatArray, observed: IntArray, names: Sequence[str]) -> dict[str, FloatArray]:
    """Return the same of classes without an order; of very many, every fourth makes one of four sets."""
    step = min(p.shape[1], MOST_CLASSES)
    found = {}
    for k in range(1 if step == 2 else 0, step):
        held = p[:, k::step].sum(axis=1)
        found[f"class {names[k]}" + " …" * (p.shape[1] > step)] = _indicator(held, observed % step == k)
    said = np.log(np.maximum(p[np.arange(len(p)), observed], LEAST))
    powers = np.stack([np.power(p, 1.0 + power).sum(axis=1) for power in POWERS], axis=1)
    found["confidence"] = POWERS * said[:, None] - np.log(powers)
    found["surprise"] = _surprise(p, observed)
    return found


def _indicator(p: FloatArray, happened: Any) -> FloatArray:
    """Tilt the odds of something of probability p that happened or not, (n,)."""
    scaled = 1.0 + p[:, None] * np.expm1(ODDS)
    return np.asarray(ODDS * np.asarray(happened)[:, None] - np.log(scaled))


def _surprise(p: FloatArray, observed: IntArray) -> FloatArray:
    """Mix with a uniform law of the cells: what has probability 0 and happens refutes at once."""
    said = np.maximum(p[np.arange(len(p)), observed], LEAST)
    return np.asarray(np.log1p(UNIFORM * (1.0 / (p.shape[1] * said[:, None]) - 1.0)))


def cell_scores(p: FloatArray, observed: IntArray, uniform: FloatArray) -> FloatArray:
    """Return normal scores of randomised PITs, (n, 2): of cells in their order, and by probability."""
    own = p[np.arange(len(p)), observed]
    below = np.where(np.arange(p.shape[1]) < observed[:, None], p, 0.0).sum(axis=1)
    less, equal = ((p * kind).sum(axis=1) for kind in (p < own[:, None], p == own[:, None]))
    u = np.stack([below + uniform * own, less + uniform * equal], axis=1)
    return normal_scores(u)


def normal_scores(u: FloatArray) -> FloatArray:
    """Return Φ⁻¹(u), finite also where u is rounded to 0 or 1."""
    return np.asarray(ndtri(np.clip(u, 1e-300, 1.0 - 2.0**-53)))


Bet: TypeAlias = NormalBet | ShapeBet | TiltBet


class Bets:
    """Wealth of bets on all bins of all groupings, begun at several rows.

    What starts at row s sees rows from s on: who begins late finds out sooner that a law has gone wrong.
    Starts are `APART`, and older ones are joined, so that their ages about double. `sums` since each
    start are (S, C, G, BINS, width); `offsets`, what the wealth is beyond what these have made, are
    (S, C, G, 2, K), as are the logarithms of shares of coordinates of y, groupings, all bins or halves,
    and kinds in `weights`, but for S. `later` is the logarithm of what the k-th start gets.
    """

    def __init__(
        self, bet: Bet, weights: FloatArray, later: Callable[[int], float], last: int = 0
    ) -> None:
        self.bet, self.weights, self.later = bet, weights, later
        self.begun, self.last = 0, last
        self.starts: list[int] = []
        self.sums = np.zeros((0, *weights.shape[:2], BINS, bet.width))
        self.offsets = np.zeros((0, *weights.shape))

    def begin(self, row: int) -> None:
        """Start at a row."""
        self.starts.append(row)
        self.last = row
        self.sums = np.concatenate([self.sums, np.zeros((1, *self.sums.shape[1:]))])
        self.offsets = np.concatenate([self.offsets, (self.weights + self.later(self.begun))[None]])
        self.begun += 1

    def add(self, codes: IntArray, rows: FloatArray) -> FloatArray:
        """Add rows, their bins (n, G) and what is summed up (n, C, width), and return the wealth."""
        self.sums += binned(codes[:, : self.weights.shape[1]], rows)
        return self.offsets + self._earned()

    def _earned(self) -> FloatArray:
        """Return the logarithm of what the rows since each start have made, (S, C, G, 2, K)."""
        shape = (*self.sums.shape[:3], HALVES, BINS // HALVES, self.bet.width)
        halves = self.sums.reshape(shape).sum(axis=4)
        each = [self.bet.log_wealth(sums).sum(axis=3) for sums in (self.sums, halves)]
        return np.stack(each, axis=3)

    def rebin(self, codes: IntArray, rows: FloatArray, first: int, anew: IntArray) -> None:
        """Go on with other bins of some groupings, from the rows from `first` on; wealth is kept."""
        anew = anew[anew < self.weights.shape[1]]
        wealth = self.offsets + self._earned()
        for i, start in enumerate(self.starts):
            since = max(start - first, 0)
            self.sums[i][:, anew] = binned(codes[since:, anew], rows[since:])
        self.offsets = wealth - self._earned()

    def renew(self, row: int, wealth: FloatArray) -> None:
        """Start once more if the last start is long ago, and join two older starts if there are many."""
        if row - self.last < APART:
            return
        self.begin(row)
        if len(self.starts) > MOST_STARTS:
            # Of all but the first and last, the two whose ages are most alike; the richer one goes on.
            ages = np.log(row + APART - np.array(self.starts[1:-1]))
            i = 1 + int(np.argmax(np.diff(ages)))
            stays, goes = sorted((i, i + 1), key=lambda k: -log_sum(wealth[k]))
            self.offsets[stays] += np.logaddexp(wealth[stays], wealth[goes]) - wealth[stays]
            del self.starts[goes]
            self.sums, self.offsets = (np.delete(a, goes, axis=0) for a in (self.sums, self.offsets))

    def plain(self) -> dict[str, Any]:
        """Return all that changes as plain numbers and lists."""
        told = {name: getattr(self, name).ravel().tolist() for name in ("sums", "offsets")}
        return {"begun": self.begun, "last": self.last, "starts": list(self.starts), **told}

    def restore(self, told: Mapping[str, Any]) -> None:
        """Take over what `plain` told."""
        self.begun, self.last, self.starts = told["begun"], told["last"], list(told["starts"])
        for name in ("sums", "offsets"):
            shape = (len(self.starts), *getattr(self, name).shape[1:])
            setattr(self, name, np.array(told[name], dtype=np.float64).reshape(shape))


def binned(codes: IntArray, rows: FloatArray) -> FloatArray:
    """Sum up rows (n, C, L) by their bins (n, G), in the order of the rows: (C, G, BINS, L)."""
    (_, groupings), (_, coordinates, width) = codes.shape, rows.shape
    flat = (codes + BINS * np.arange(groupings)).ravel()
    out = np.empty((coordinates, groupings * BINS, width))
    for c in range(coordinates):
        for k in range(width):
            each = np.repeat(rows[:, c, k], groupings)
            out[c, :, k] = np.bincount(flat, weights=each, minlength=groupings * BINS)
    return out.reshape(coordinates, groupings, BINS, width)


def log_sum(logs: FloatArray) -> float:
    """Return the logarithm of the sum of wealth; SciPy's is slow for few numbers."""
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).sum()))


def lasting(number: int) -> float:
    """Return the logarithm of what a start gets of a wealth of 1 that is for all times."""
    if number == 0:
        return math.log(FIRST)
    return math.log((1.0 - FIRST) / zeta(DECAY)) - DECAY * math.log(number)


def renewed(number: int) -> float:
    """Return the same where each row adds 1, for a change at whatever row (Shiryaev–Roberts)."""
    return math.log(APART)
