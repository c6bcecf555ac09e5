"""Bounded support: intervals that y lives in, and the way from there to the whole line.

On an interval the Stein identity fails, or holds with scores too heavy-tailed to use. So each coordinate
with a bound is turned into

    u = log(y − low),   u = −log(high − y)   or   u = log(y − low) − log(high − y),

which is increasing, chosen without looking at y, and so changes neither the hypothesis nor the level.
Scores carry over by the chain rule, s_u = s_y · dy/du + d log(dy/du)/du. Everything is row by row, so
that chunks of a stream agree with the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, SupportError
from condgof.models._parameters import Parameter

#: What results call a coordinate with a lower bound (True or False) and an upper one.
WORDS = {
    (True, False): "log(y - low)",
    (False, True): "-log(high - y)",
    (True, True): "logit((y - low)/(high - low))",
}


@dataclass(frozen=True, eq=False)
class Line:
    """The map from the support of each row and coordinate to the whole line.

    Parameters
    ----------
    low, high : ndarrays of shape (n, d_y)
        Ends of the intervals, ∓∞ where there is none.
    """

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, support: tuple[AnyArray, AnyArray], n: int, d_y: int) -> Line | None:
        """Read what a model says of its support; None where it is the whole line.

        Examples
        --------
        >>> line = Line.of((np.array(0.0), np.array(1.0)), 2, 1)
        >>> line.forward(np.array([[0.5], [0.9]])).round(3)[:, 0]
        array([0.   , 2.197])
        """
        low, high = (np.asarray(end, dtype=np.float64) for end in support)
        if (low == -np.inf).all() and (high == np.inf).all():
            return None
        line = cls(np.broadcast_to(low, (n, d_y)), np.broadcast_to(high, (n, d_y)))
        bad = np.flatnonzero(~(line.low < line.high).all(axis=1))
        if len(bad):
            raise InputError(
                f"The support of the model is empty in {len(bad)} of {n} rows, the first in row "
                f"{bad[0]} (counted from 0): low must be below high there."
            )
        return line

    def check(self, y: FloatArray, model: str) -> None:
        """Refuse observations outside the support, or on its boundary."""
        bad = np.flatnonzero(~((y > self.low) & (y < self.high)).all(axis=1))
        if len(bad):
            raise SupportError(model, len(bad), len(y), int(bad[0]))

    def forward(self, y: FloatArray) -> FloatArray:
        """Return u, (n, d_y)."""
        a, b = self._rooms(y)
        return np.where(self._bounded, np.log(a) - np.log(b), y)

    def backward(self, u: FloatArray) -> FloatArray:
        """Return y, (n, d_y): the distance from the nearer end keeps its digits."""
        from scipy.special import expit

        near_low, near_high = np.exp(np.minimum(u, 700.0)), np.exp(np.minimum(-u, 700.0))
        both = self._has_low & self._has_high
        width = np.where(both, self._width, 1.0)
        near_low = np.where(both, width * expit(u), near_low)
        near_high = np.where(both, width * expit(-u), near_high)
        from_low = self._has_low & (~self._has_high | (u < 0))
        with np.errstate(invalid="ignore"):  # where the other end is infinite
            return np.where(
                self._bounded, np.where(from_low, self.low + near_low, self.high - near_high), u
            )

    def slope(self, y: FloatArray) -> FloatArray:
        """Return dy/du, which is positive, (n, d_y)."""
        a, b = self._rooms(y)
        return a * (b / self._width)

    def scores(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the scores of u, from those of y, (n, d_y)."""
        a, b = self._rooms(y)
        low, high = self._has_low, self._has_high
        own = np.where(low & high, (b - a) / self._width, np.where(low, 1.0, 0.0) - high)
        return scores * (a * (b / self._width)) + own

    def place(self, location: FloatArray, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bring a location and a scale to the line, by the delta method.

        They become T(location) and scale · T'(location). Whatever they are, they depend on x alone,
        and so they only choose the units in which u is compared.
        """
        # A mean that rounds to an end of the interval is put beside it.
        both = self._has_low & self._has_high
        room = np.where(both, 1e-9 * self._width, 1e-300)
        least = np.maximum(np.nextafter(self.low, np.inf), self.low + room)
        most = np.minimum(np.nextafter(self.high, -np.inf), self.high - room)
        inside = np.clip(location, least, most)
        slope = 1.0 / self.slope(inside)
        return self.forward(inside), scale * (slope if scale.ndim == 2 else slope[:, :, None])

    def words(self) -> str:
        """Say what was done to y, such as "log(y - low)"."""
        columns = []
        for c in range(self.low.shape[1]):
            kinds = sorted(
                set(zip(self._has_low[:, c].tolist(), self._has_high[:, c].tolist(), strict=True))
            )
            columns.append(" or ".join(WORDS.get(kind, "y") for kind in kinds))
        if len(set(columns)) == 1:
            return columns[0]
        return ", ".join(f"column {c}: {words}" for c, words in enumerate(columns))

    @property
    def _has_low(self) -> AnyArray:
        return np.isfinite(self.low)

    @property
    def _has_high(self) -> AnyArray:
        return np.isfinite(self.high)

    @property
    def _bounded(self) -> AnyArray:
        return self._has_low | self._has_high

    @property
    def _width(self) -> FloatArray:
        """The length of the interval, 1 where that is infinite."""
        width = self.high - self.low
        return np.where(np.isfinite(width), width, 1.0)

    def _rooms(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the distances to the lower and the upper end, 1 where there is none."""
        with np.errstate(invalid="ignore"):
            low = np.where(self._has_low, y - self.low, 1.0)
            return low, np.where(self._has_high, self.high - y, 1.0)


@dataclass(frozen=True, eq=False)
class Bounds:
    """A support that a user declares: numbers, vectors, functions of x, or arrays bound to rows."""

    low: Parameter
    high: Parameter

    @classmethod
    def of(cls, support: Any, rows: int | None = None) -> Bounds:
        """Read a pair (low, high); None is no bound. `rows`: how many the model is bound to."""
        if not isinstance(support, (tuple, list)) or len(support) != 2:
            raise InputTypeError(
                f"support must be a pair (low, high), such as (0, inf), got {support!r}."
            )
        ends = (
            -np.inf if support[0] is None else support[0],
            np.inf if support[1] is None else support[1],
        )
        return cls(*(_end(name, end, rows) for name, end in zip(("low", "high"), ends, strict=True)))

    def take(self, rows: IntArray) -> Bounds:
        """Return the bounds of some rows."""
        return Bounds(self.low.take(rows), self.high.take(rows))

    def at(self, x: Any, n: int, d_y: int) -> tuple[FloatArray, FloatArray]:
        """Return the ends at all rows, (n, d_y) each."""
        low = self.low.at(x, n, (d_y,), finite=False)
        return low, self.high.at(x, n, (d_y,), finite=False)


def _end(name: str, value: Any, rows: int | None) -> Parameter:
    if not callable(value) and rows is not None and np.shape(value)[:1] == (rows,):
        return Parameter.rowwise(name, value, rows)
    return Parameter.constant_or_function(name, value)
