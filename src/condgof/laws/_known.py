"""Laws of which the CDF is known at the data alone, or between bins: PITs and histograms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import ShapeError, check_finite, refuse_rows
from condgof.laws._discrete import check_probabilities, normalised
from condgof.laws._draws import one_column
from condgof.laws._law import ByRow, as_rows, indexed, tail_scores
from condgof.sample import as_numbers


@dataclass(frozen=True, eq=False)
class Pit(ByRow):
    """Probability integral transforms u = F(y|x) of the observations; see `from_pit`."""

    WHY_NOT = "only the CDF at the observations is known"
    name = "The law of PITs"

    values: FloatArray

    def normal_scores(self, y: AnyArray) -> FloatArray:
        self._checked(y)
        if as_rows(y).shape != self.values.shape:
            raise ShapeError(f"The PITs have shape {self.values.shape}, and y has {np.shape(y)}.")
        return tail_scores(self.values, 1.0 - self.values)


def from_pit(u: Any) -> Pit:
    """Law from probability integral transforms u = F(y|x), computed elsewhere.

    Parameters
    ----------
    u : array_like of shape (n,), or (n, d_y) for Rosenblatt's sequence
        Uniform on (0, 1) and independent of x if the model is true. For a discrete y take the
        randomised PIT. Each of several columns is that of y given x *and the columns before it*.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x, u = rng.normal(size=300), rng.random(300)
    >>> cg.adaptive(cg.from_pit(u), x, u, rng=1).reject()
    False
    """
    array = as_numbers(u, "u").astype(np.float64)
    if array.ndim not in (1, 2) or not array.size:
        raise ShapeError(f"PITs must have shape (n,) or (n, d_y), got {array.shape}.")
    check_finite(array, "u", "Check the model there.")
    refuse_rows(
        (array < 0) | (array > 1),
        "A PIT lies between 0 and 1, and u does not",
        "Normal scores become PITs by scipy.special.ndtr.",
    )
    return indexed(Pit(as_rows(array)), u)


@dataclass(frozen=True, eq=False)
class Bins(ByRow):
    """A histogram in each row: a density that is constant between edges; see `from_bins`."""

    EACH = ("probabilities",)
    WHY_NOT = "its density is piecewise constant, so that the score would be 0 almost everywhere"

    #: Increasing, (1, K + 1) or (n, K + 1).
    edges: FloatArray
    #: The probability of each bin, (n, K).
    probabilities: FloatArray

    @property
    def name(self) -> str:
        return f"The law of {self.probabilities.shape[1]} bins a row"

    def take(self, rows: IntArray) -> Bins:
        edges = self.edges[rows] if len(self.edges) > 1 else self.edges
        return Bins(edges, self.probabilities[rows])

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        held = self.probabilities > 0
        first, last = held.argmax(axis=1), held.shape[1] - held[:, ::-1].argmax(axis=1)
        return self._edge(first)[:, None], self._edge(last)[:, None]

    def _edge(self, number: IntArray) -> FloatArray:
        """Return the edge of a number in each row, (n,)."""
        return np.asarray(self.edges[np.arange(self.n) if len(self.edges) > 1 else 0, number])

    def _place(self, y: AnyArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the bin of y (clipped), its share of that bin's width, and the width, (n,)."""
        y = one_column(self, y)
        code = np.clip((self.edges <= y).sum(axis=1) - 1, 0, self.edges.shape[1] - 2)
        low, width = self._edge(code), self._edge(code + 1) - self._edge(code)
        return code, np.clip((y[:, 0] - low) / width, 0.0, 1.0), width

    def cdf(self, y: AnyArray) -> FloatArray:
        code, part, _ = self._place(y)
        return self._sum(code, part, self.probabilities)

    def sf(self, y: AnyArray) -> FloatArray:
        code, part, _ = self._place(y)
        last = self.probabilities.shape[1] - 1
        return self._sum(last - code, 1.0 - part, self.probabilities[:, ::-1])

    @staticmethod
    def _sum(code: IntArray, part: FloatArray, p: FloatArray) -> FloatArray:
        below = np.where(np.arange(p.shape[1]) < code[:, None], p, 0.0).sum(axis=1)
        return np.asarray(np.clip(below + part * p[np.arange(len(code)), code], 0.0, 1.0))

    def log_prob(self, y: AnyArray) -> FloatArray:
        code, _, width = self._place(y)
        y = as_rows(y)[:, 0]
        outside = (y < self.edges[:, 0]) | (y > self.edges[:, -1])
        with np.errstate(divide="ignore"):
            values = np.log(self.probabilities[np.arange(self.n), code] / width)
        return np.where(outside, -np.inf, values)

    def crps(self, y: AnyArray) -> FloatArray:
        y, n = one_column(self, y), self.n
        edges = np.broadcast_to(self.edges, (n, self.edges.shape[1]))
        sums = np.hstack([np.zeros((n, 1)), np.cumsum(self.probabilities, axis=1)])
        here = self.cdf(y)[:, None]
        # F is linear between edges: the integral of its square is a sum, on either side of y.
        below = np.minimum(edges, y), np.where(edges < y, sums, here)
        above = np.maximum(edges, y), 1.0 - np.where(edges > y, sums, here)
        parts = (
            np.diff(e) * (f[:, 1:] ** 2 + f[:, 1:] * f[:, :-1] + f[:, :-1] ** 2) / 3.0
            for e, f in (below, above)
        )
        outside = np.maximum(edges[:, :1] - y, 0.0) + np.maximum(y - edges[:, -1:], 0.0)
        return np.asarray(sum(part.sum(axis=1) for part in parts) + outside[:, 0])

    def sample(self, rng: np.random.Generator) -> FloatArray:
        sums = np.cumsum(self.probabilities, axis=1)[:, :-1]
        code = (rng.random((self.n, 1)) >= sums).sum(axis=1)
        low, high = self._edge(code), self._edge(code + 1)
        return np.asarray(low + (high - low) * rng.random(self.n))[:, None]

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        middle, width = 0.5 * (self.edges[:, 1:] + self.edges[:, :-1]), np.diff(self.edges, axis=1)
        mean = (self.probabilities * middle).sum(axis=1, keepdims=True)
        square = np.square(middle - mean) + np.square(width) / 12.0
        return mean, np.sqrt((self.probabilities * square).sum(axis=1, keepdims=True))


def from_bins(edges: Any, probabilities: Any) -> Bins:
    """Law from histograms: probabilities of bins, with a density that is constant inside each.

    Parameters
    ----------
    edges : array_like of shape (K + 1,) or (n, K + 1)
        The edges of the bins, increasing and finite; the same for all rows, or one row an observation.
    probabilities : array_like of shape (n, K)
        The probability of each bin, which sum to 1 in each row.

    Returns
    -------
    Bins
        With a CDF that is linear between edges. It has no score: the tests see its normal scores.

    Examples
    --------
    >>> law = from_bins([0.0, 1.0, 3.0], [[0.5, 0.5], [1.0, 0.0]])
    >>> law.cdf(np.array([2.0, 0.25]))
    array([0.75, 0.25])
    """
    p = as_numbers(probabilities, "probabilities").astype(np.float64)
    at = as_numbers(edges, "edges").astype(np.float64)
    at = at[None] if at.ndim == 1 else at
    if p.ndim != 2 or not p.size:
        raise ShapeError(f"probabilities must have shape (n, K), one row an observation, got {p.shape}.")
    n, count = len(p), p.shape[1] + 1
    if at.shape not in ((1, count), (n, count)):
        raise ShapeError(
            f"edges must have shape ({count},) or ({n}, {count}), one more than bins, got "
            f"{np.shape(edges)}."
        )
    check_finite(at, "edges", "Check the model there.")
    refuse_rows(np.diff(at, axis=1) <= 0, "edges must increase, and do not", "Sort them.")
    advice = "A density becomes probabilities when it is multiplied by the widths of the bins."
    return Bins(at, normalised(check_probabilities(p, "The histogram", advice)))
