"""Bounded support: intervals that y lives in, and the way from there to the whole line.

On an interval the Stein identity fails, or holds with scores too heavy-tailed to use. So a
coordinate with a bound is turned into u = log(y − low), −log(high − y) or log(y − low) −
log(high − y), chosen without y, so that the hypothesis stays; its scores are s_u = s_y ·
dy/du + d log(dy/du)/du.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from condgof._typing import AnyArray, FloatArray, TableLike
from condgof.errors import InputError, InputTypeError, UnsupportedModelError, refuse_rows
from condgof.laws._law import Declared, Law, Model, ModelLike, refuse_outside
from condgof.laws._parameters import Parameter

#: How results call the map of a coordinate, by whether it has a lower and an upper bound.
MAP_WORDS = {
    (False, False): "y",
    (True, False): "log(y - low)",
    (False, True): "-log(high - y)",
    (True, True): "logit((y - low)/(high - low))",
}
#: Largest |u| of which exp is still a number.
LARGEST_EXPONENT = 700.0
#: Least distance of a location from the ends of its support, where it would be infinite on
#: the line: a share of the width of an interval, and a number on a half-line.
LEAST_SHARE = 1e-9
LEAST_DISTANCE = 1e-300


class Distances(NamedTuple):
    """Distances of y to both ends of its support, (n, d_y) each; 1 without a bound."""

    from_low: FloatArray
    to_high: FloatArray


@dataclass(frozen=True, eq=False)
class Line:
    """The map y → u from the support (low, high) of each coordinate to the whole line.

    Parameters
    ----------
    low, high : ndarray of shape (n, d_y)
        The ends of the support, ∓∞ where there is no bound. A coordinate without bounds
        stays as it is.
    """

    low: FloatArray
    high: FloatArray

    @classmethod
    def from_support(
        cls, support: tuple[AnyArray, AnyArray], n: int, d_y: int
    ) -> Line | None:
        """Return the map for the support of a law; None where that is the whole line."""
        low, high = (np.asarray(end, dtype=np.float64) for end in support)
        if (low == -np.inf).all() and (high == np.inf).all():
            return None
        try:
            line = cls(np.broadcast_to(low, (n, d_y)), np.broadcast_to(high, (n, d_y)))
        except ValueError as error:
            raise InputError(
                f"The model's support must broadcast to {(n, d_y)}, got {low.shape} and"
                f" {high.shape}."
            ) from error
        refuse_rows(
            ~(line.low < line.high),
            "The support of the model is empty",
            "There low must be below high.",
        )
        return line

    @property
    def _has_low(self) -> AnyArray:
        return np.isfinite(self.low)

    @property
    def _has_high(self) -> AnyArray:
        return np.isfinite(self.high)

    @property
    def _has_both(self) -> AnyArray:
        return self._has_low & self._has_high

    @property
    def _width(self) -> FloatArray:
        """Width of the support; 1 where it is infinite."""
        width = self.high - self.low
        return np.where(np.isfinite(width), width, 1.0)

    def _distances(self, y: FloatArray) -> Distances:
        with np.errstate(invalid="ignore"):
            from_low = np.where(self._has_low, y - self.low, 1.0)
            to_high = np.where(self._has_high, self.high - y, 1.0)
        return Distances(from_low, to_high)

    def check(self, y: FloatArray, model: str) -> None:
        """Refuse y (n, d_y) outside the support of a model, or on its boundary."""
        refuse_outside(~((y > self.low) & (y < self.high)), model)

    def forward(self, y: FloatArray) -> FloatArray:
        """Return u of y, (n, d_y)."""
        a, b = self._distances(y)
        return np.where(self._has_low | self._has_high, np.log(a) - np.log(b), y)

    def backward(self, u: FloatArray) -> FloatArray:
        """Return y of u, (n, d_y): the distance from the nearer end keeps its digits."""
        both = self._has_both
        exp_u = np.exp(np.minimum(u, LARGEST_EXPONENT))
        exp_minus_u = np.exp(np.minimum(-u, LARGEST_EXPONENT))
        from_low = np.where(both, self._width * expit(u), exp_u)
        to_high = np.where(both, self._width * expit(-u), exp_minus_u)
        nearer_low = self._has_low & (~self._has_high | (u < 0))
        with np.errstate(invalid="ignore"):  # where the other end is infinite
            y = np.where(nearer_low, self.low + from_low, self.high - to_high)
        return np.where(self._has_low | self._has_high, y, u)

    def slope(self, y: FloatArray) -> FloatArray:
        """Return dy/du, which is positive, (n, d_y)."""
        a, b = self._distances(y)
        return a * (b / self._width)

    def scores(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the scores of u, s_y · dy/du + d log(dy/du)/du, (n, d_y)."""
        a, b = self._distances(y)
        half_line = np.where(self._has_low, 1.0, 0.0) - self._has_high
        log_slope = np.where(self._has_both, (b - a) / self._width, half_line)
        return scores * (a * (b / self._width)) + log_slope

    def place(
        self, location: FloatArray, scale: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return location and scale on the line, by the delta method.

        The location has shape (n, d_y), the scale that shape or (n, d_y, d_y). A location
        that rounds to an end of the interval is moved beside that end.
        """
        room = np.where(self._has_both, LEAST_SHARE * self._width, LEAST_DISTANCE)
        least = np.maximum(np.nextafter(self.low, np.inf), self.low + room)
        most = np.minimum(np.nextafter(self.high, -np.inf), self.high - room)
        inside = np.clip(location, least, most)
        slope = 1.0 / self.slope(inside)
        if scale.ndim == 3:
            slope = slope[:, :, None]
        return self.forward(inside), scale * slope

    def words(self) -> str:
        """Return how results describe the map, such as "log(y - low)"."""
        columns = [
            _map_words(has_low, has_high)
            for has_low, has_high in zip(self._has_low.T, self._has_high.T, strict=True)
        ]
        if len(set(columns)) == 1:
            return columns[0]
        return ", ".join(f"column {c}: {words}" for c, words in enumerate(columns))


def _map_words(has_low: AnyArray, has_high: AnyArray) -> str:
    """Return how results call the map of one coordinate; bounds of each row are (n,)."""
    pairs = set(zip(has_low.tolist(), has_high.tolist(), strict=True))
    return " or ".join(MAP_WORDS[pair] for pair in sorted(pairs))


@dataclass(frozen=True, eq=False)
class Bounds:
    """A support that the user declares.

    Each end is a number, a function of x, or an array with one row an observation.
    """

    low: Parameter
    high: Parameter

    @classmethod
    def from_pair(cls, support: object) -> Bounds:
        """Read a pair (low, high); None is no bound."""
        if not isinstance(support, (tuple, list)) or len(support) != 2:
            raise InputTypeError(
                f"support must be a pair (low, high) like (0, inf), got {support!r}."
            )
        low, high = support
        return cls(
            low=Parameter.from_value("low", -np.inf if low is None else low),
            high=Parameter.from_value("high", np.inf if high is None else high),
        )

    @property
    def rowwise(self) -> bool:
        """Whether an end has one row an observation."""
        return self.low.rowwise or self.high.rowwise

    def at(self, x: TableLike | None, n: int) -> tuple[FloatArray, FloatArray]:
        """Return the ends at the n rows of x, which broadcast to (n, d_y)."""
        low = self.low.at(x, n)
        high = self.high.at(x, n)
        return _end_values(low, n), _end_values(high, n)


def _end_values(end: Parameter, n: int) -> FloatArray:
    """Return the values of an end of the support, (n, d_y), or a number."""
    if not end.rowwise:
        return end.value  # type: ignore[no-any-return]
    return end.values(n, (end.width or 1,), finite=False)


def _law_within(model: ModelLike, bounds: Bounds, x: TableLike | None, n: int) -> Law:
    """Return the law of a model at the rows of x, with a declared support."""
    law = model(x, n)
    if not isinstance(law, Declared):
        raise UnsupportedModelError(f"{law.name} has a support of its own: declare none.")
    low, high = bounds.at(x, law.n)
    return law.within(low, high)


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
    >>> scores = cg.from_scores(-1 / x)                  # those of Exponential(scale=x)
    >>> model = cg.models.with_support(scores, low=0)
    >>> result = cg.kcsd(model, x, y, rng=0)
    >>> result.details["reparametrized"], result.reject()
    ('log(y - low)', False)
    """
    from condgof.laws._as_model import as_model

    model = as_model(model)
    bounds = Bounds.from_pair((low, high))
    is_function = callable(low) or callable(high)
    if isinstance(model, Law) and model.rows is not None and not is_function:
        return _law_within(model, bounds, None, model.rows)
    if model.rows is not None or bounds.rowwise:
        raise InputTypeError(
            "Of the model and its support one is a function of x, the other has a row an"
            " observation. Evaluate the function at x first."
        )
    return Model(
        partial(_law_within, model, bounds),
        model.name,
        conditional=False,
        batched=getattr(model, "batched", False),
    )
