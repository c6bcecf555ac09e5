"""Bounded support: intervals that y lives in, and the way from there to the whole line.

On an interval the Stein identity fails, or holds with scores too heavy-tailed to use. So a
coordinate with a bound is turned into u = log(y − low), −log(high − y) or log(y − low) −
log(high − y), chosen without y, so that the hypothesis stays; its scores are s_u = s_y ·
dy/du + d log(dy/du)/du.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, InputTypeError, UnsupportedModelError, refuse_rows
from condgof.laws._law import Declared, Law, Model, ModelLike, refuse_outside
from condgof.laws._parameters import Parameter

#: What results call a coordinate with a lower bound (True or False) and an upper one.
WORDS = {
    (True, False): "log(y - low)",
    (False, True): "-log(high - y)",
    (True, True): "logit((y - low)/(high - low))",
}


@dataclass(frozen=True, eq=False)
class Line:
    """The map from the support (low, high), ∓∞ without bounds, (n, d_y) each, to the whole line."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, support: tuple[AnyArray, AnyArray], n: int, d_y: int) -> Line | None:
        """Read what a law says of its support; None where it is the whole line."""
        low, high = (np.asarray(end, dtype=np.float64) for end in support)
        if (low == -np.inf).all() and (high == np.inf).all():
            return None
        try:
            line = cls(np.broadcast_to(low, (n, d_y)), np.broadcast_to(high, (n, d_y)))
        except ValueError as error:
            got = f"{low.shape} and {high.shape}"
            raise InputError(
                f"The model's support must broadcast to {(n, d_y)}, got {got}."
            ) from error
        empty = ~(line.low < line.high)
        refuse_rows(
            empty, "The support of the model is empty", "There low must be below high."
        )
        return line

    def check(self, y: FloatArray, model: str) -> None:
        refuse_outside(~((y > self.low) & (y < self.high)), model)

    def forward(self, y: FloatArray) -> FloatArray:
        a, b = self._rooms(y)
        return np.where(self._has_low | self._has_high, np.log(a) - np.log(b), y)

    def backward(self, u: FloatArray) -> FloatArray:
        """Return y, (n, d_y): the distance from the nearer end keeps its digits."""
        both = self._has_low & self._has_high
        from_low = np.where(both, self._width * expit(u), np.exp(np.minimum(u, 700.0)))
        from_high = np.where(both, self._width * expit(-u), np.exp(np.minimum(-u, 700.0)))
        nearer_low = self._has_low & (~self._has_high | (u < 0))
        with np.errstate(invalid="ignore"):  # where the other end is infinite
            y = np.where(nearer_low, self.low + from_low, self.high - from_high)
        return np.where(self._has_low | self._has_high, y, u)

    def slope(self, y: FloatArray) -> FloatArray:
        """Return dy/du, which is positive, (n, d_y)."""
        a, b = self._rooms(y)
        return a * (b / self._width)

    def scores(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the scores of u, from those of y, (n, d_y)."""
        (a, b), low, high = self._rooms(y), self._has_low, self._has_high
        log_slope = np.where(
            low & high, (b - a) / self._width, np.where(low, 1.0, 0.0) - high
        )
        return scores * (a * (b / self._width)) + log_slope

    def place(
        self, location: FloatArray, scale: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Bring location and scale to the line by the delta method."""
        # A mean that rounds to an end of the interval is put beside it.
        room = np.where(self._has_low & self._has_high, 1e-9 * self._width, 1e-300)
        least = np.maximum(np.nextafter(self.low, np.inf), self.low + room)
        most = np.minimum(np.nextafter(self.high, -np.inf), self.high - room)
        inside = np.clip(location, least, most)
        slope = 1.0 / self.slope(inside)
        return self.forward(inside), scale * (
            slope if scale.ndim == 2 else slope[:, :, None]
        )

    def words(self) -> str:
        """Say what was done to y, such as "log(y - low)"."""
        pairs = zip(self._has_low.T.tolist(), self._has_high.T.tolist(), strict=True)
        kinds = (sorted(set(zip(*ends, strict=True))) for ends in pairs)
        columns = [" or ".join(WORDS.get(kind, "y") for kind in column) for column in kinds]
        if len(set(columns)) == 1:
            return columns[0]
        return ", ".join(f"column {c}: {words}" for c, words in enumerate(columns))

    _has_low = property(lambda self: np.isfinite(self.low))
    _has_high = property(lambda self: np.isfinite(self.high))

    @property
    def _width(self) -> FloatArray:
        width = self.high - self.low
        return np.where(np.isfinite(width), width, 1.0)

    def _rooms(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the distances to the lower and the upper end, 1 where there is none."""
        with np.errstate(invalid="ignore"):
            low = np.where(self._has_low, y - self.low, 1.0)
            return low, np.where(self._has_high, self.high - y, 1.0)


@dataclass(frozen=True, eq=False)
class Bounds:
    """A support that a user declares: numbers, functions of x, or arrays with one row an observation."""

    low: Parameter
    high: Parameter

    @classmethod
    def of(cls, support: object) -> Bounds:
        """Read a pair (low, high); None is no bound."""
        if not isinstance(support, (tuple, list)) or len(support) != 2:
            raise InputTypeError(
                f"support must be a pair (low, high) like (0, inf), got {support!r}."
            )
        low, high = support
        low, high = -np.inf if low is None else low, np.inf if high is None else high
        return cls(Parameter.of("low", low), Parameter.of("high", high))

    def at(self, x: Any, n: int) -> tuple[FloatArray, FloatArray]:
        """Return the ends at the rows of x, which broadcast to (n, d_y)."""
        ends = (self.low.at(x, n), self.high.at(x, n))
        low, high = (
            e.values(n, (e.width or 1,), finite=False) if e.rowwise else e.value
            for e in ends
        )
        return low, high


def _within(model: ModelLike, bounds: Bounds, x: Any, n: int) -> Law:
    law = model(x, n)
    if not isinstance(law, Declared):
        raise UnsupportedModelError(f"{law.name} has a support of its own: declare none.")
    return law.within(*bounds.at(x, law.n))


def with_support(model: object, low: Any = None, high: Any = None) -> ModelLike:
    """Declare the support of a model that does not state it, such as an array of scores.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model. Its scores stay those of y itself.
    low, high : number, array (n,) or (n, d_y), or function of x, optional
        The ends of the open interval that y lives in. None or infinite where there is no
        bound.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(1, 2, 200)
    >>> y = rng.exponential(x)
    >>> model = cg.models.with_support(cg.from_scores(-1 / x), low=0)   # those of Exponential(scale=x)
    >>> result = cg.kcsd(model, x, y, rng=0)
    >>> result.details["reparametrized"], result.reject()
    ('log(y - low)', False)
    """
    from condgof.laws._as_model import as_model

    model, bounds = as_model(model), Bounds.of((low, high))
    within, functions = partial(_within, model, bounds), callable(low) or callable(high)
    if isinstance(model, Law) and model.rows is not None and not functions:
        return within(None, model.rows)
    if model.rows is not None or bounds.low.rowwise or bounds.high.rowwise:
        wrong = (
            "Of the model and its support one is a function of x, the other has a row an"
            " observation"
        )
        raise InputTypeError(f"{wrong}. Evaluate the function at x first.")
    return Model(
        within, model.name, conditional=False, batched=getattr(model, "batched", False)
    )
