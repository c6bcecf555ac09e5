"""A distribution object of another library, for some rows: what can be computed of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import ShapeError, UnsupportedModelError
from condgof.models._base import ConditionalModel, as_rows, tail_scores
from condgof.models._discrete import DiscreteModel
from condgof.models._families import Layout, Numbers, closed_form, family, mixture_weights, unwrapped
from condgof.models._native_discrete import discrete_form


@dataclass(frozen=True, eq=False)
class Rows:
    """The distribution of y given some rows of x.

    Parameters
    ----------
    dist : object
        Has ``log_prob(y)``, and whatever else of a distribution of torch or NumPyro.
    rows, d_y : int
        Shape of y.
    native : callable
        Turns a NumPy array into a tensor.
    numbers : callable
        Turns a tensor into a NumPy array of doubles.
    """

    dist: Any
    rows: int
    d_y: int
    native: Callable[[AnyArray], Any]
    numbers: Numbers

    @classmethod
    def of(
        cls, dist: Any, rows: int, d_y: int | None, native: Callable[[AnyArray], Any], numbers: Numbers
    ) -> Rows:
        """Check what a user's function returned; `d_y` None is for when only x is there to tell."""
        check_distribution(dist)
        if d_y is None:
            d_y = _width(dist)
        return cls(dist, rows, d_y, native, numbers)

    @cached_property
    def layout(self) -> Layout | None:
        """How its dimensions stand for rows and columns; None for an object that does not tell."""
        if hasattr(self.dist, "batch_shape") and hasattr(self.dist, "event_shape"):
            return Layout.of(self.dist, self.rows, self.d_y)
        return None

    @cached_property
    def discrete(self) -> bool:
        """Whether y is discrete."""
        support = _constraint(self.dist)
        return support is not None and _is_discrete(support)

    @cached_property
    def closed(self) -> ConditionalModel | None:
        """The closed form, where there is one; a discrete y has one, or is refused."""
        if self.discrete:
            return self._discrete_form()
        return None if self.layout is None else closed_form(self.dist, self.layout, self.numbers)

    def _discrete_form(self) -> DiscreteModel:
        part, layout = unwrapped(self.dist), self.layout
        if layout is None:
            raise UnsupportedModelError(f"{type(part).__name__} does not tell its shape (batch_shape).")

        def probs() -> FloatArray:
            values = self.numbers(part.probs)
            return layout.spread(values, (values.shape[-1],), (values.shape[-1],))

        def read(key: str) -> FloatArray:
            return layout.spread(self.numbers(getattr(part, key)), layout.event, (1,))[:, 0]

        return discrete_form(family(part), part, self.rows, probs, read)

    def log_prob(self, y: Any) -> Any:
        """Return log p(y|x) of a tensor (rows, d_y) or (rows,), as a tensor (rows,)."""
        if self.discrete and hasattr(y, "astype"):  # JAX looks classes up by whole numbers
            y = y.astype(int)
        if self.layout is None:
            return self.checked(self.dist.log_prob(y))
        values = self.dist.log_prob(y.reshape(self.layout.shape))
        want = self.layout.batch or (self.rows,)
        if tuple(values.shape) != want:
            raise ShapeError(f"log_prob returned shape {tuple(values.shape)}, expected {want}.")
        return values.reshape(self.rows, -1).sum(1)

    def checked(self, values: Any) -> Any:
        """Check that a log-density has one number for each row; (rows, 1) will do."""
        return check_rowwise(values, self.rows)

    def cdf(self, y: AnyArray) -> FloatArray | None:
        """Return the CDF of each coordinate, (rows, d_y), where coordinates are independent."""
        part = unwrapped(self.dist)
        if self.layout is None or not hasattr(part, "cdf"):
            return None
        value = self.native(as_rows(y)).reshape(self.layout.shape)
        if hasattr(value, "double") and family(part) not in (None, "TransformedDistribution"):
            value = value.double()  # torch's own formulas take any precision, and tails need it
        if family(part) == "MixtureSameFamily":
            inner = unwrapped(part.component_distribution)
            if self.d_y > 1 and self.layout.event:
                return None
            axis = len(self.layout.batch or (1,))
            each = self._own(inner.cdf, value.reshape(*value.shape[:axis], 1, *self.layout.event))
            if each is None:
                return None
            weights = self.numbers(mixture_weights(part))
            each = each.reshape(*each.shape[: axis + 1])
            return np.asarray((weights * each).sum(axis=-1).reshape(self.rows, self.d_y))
        if family(part) is None and self.d_y > 1:
            return None  # who knows what a user's own means for several columns
        found = self._own(part.cdf, value)
        if found is None or found.size != self.rows * self.d_y:
            return None
        return found.reshape(self.rows, self.d_y)

    def _own(self, function: Callable[[Any], Any], value: Any) -> FloatArray | None:
        try:
            return self.numbers(function(value))
        except NotImplementedError:
            return None

    def normal_scores(self, y: AnyArray) -> FloatArray | None:
        """Return u, standard normal under the model and invertible in y, (rows, d_y), or None.

        Closed forms have Rosenblatt's sequence; a flow has its own inverse, which brings y to where
        the base distribution is; independent coordinates have their CDFs.
        """
        if hasattr(self.dist, "normal_scores"):
            own = self.dist.normal_scores(self.native(as_rows(y)))
            return None if own is None else self.numbers(own)
        if self.closed is not None:
            return self.closed.normal_scores(y, None)
        found = self._pulled_back(y)
        if found is not None:
            return found
        lower = self.cdf(y)
        if lower is None:
            return None
        single = bool((lower.astype(np.float32) == lower).all())
        # A CDF that rounds to 1 is no farther out than its precision can tell.
        least = 2.0**-25 if single else 2.0**-54
        return tail_scores(lower, np.maximum(1.0 - lower, least))

    def _pulled_back(self, y: AnyArray) -> FloatArray | None:
        """Return the normal scores of the base distribution of a flow, or None."""
        flow = unwrapped(self.dist)
        if self.layout is None:
            return None
        value = self.native(as_rows(y)).reshape(self.layout.shape)
        if family(flow) == "TransformedDistribution":
            base = flow.base_dist
            for transform in reversed(flow.transforms):
                if not getattr(transform, "bijective", True):
                    return None
                value = transform.inv(value)
        elif hasattr(flow, "transform") and hasattr(flow, "base"):  # as zuko has them
            base, value = flow.base, flow.transform(value)
        else:
            return None
        z = self.numbers(value)
        if z.size != self.rows * self.d_y:
            return None
        inner = Rows(base, self.rows, self.d_y, self.native, self.numbers)
        return inner.normal_scores(z.reshape(self.rows, self.d_y))

    def mean_std(self) -> tuple[FloatArray, FloatArray] | None:
        """Return mean and standard deviation, (rows, d_y) each, or None."""
        if self.closed is not None:
            return self.closed.mean_std(None, self.rows)
        try:
            mean, variance = (self.numbers(getattr(self.dist, key)) for key in ("mean", "variance"))
        except (NotImplementedError, AttributeError):
            return None
        if self.layout is None:
            whole: tuple[int, ...] = (self.rows, self.d_y)
            return mean.reshape(whole), np.sqrt(variance).reshape(whole)
        spread = self.layout.spread
        return (
            np.array(spread(mean, self.layout.event, (self.d_y,))),
            np.sqrt(spread(variance, self.layout.event, (self.d_y,))),
        )

    def support(self) -> tuple[AnyArray, AnyArray]:
        """Return the lower and the upper end of each coordinate; they broadcast to (rows, d_y)."""
        bounds = _bounds(self.dist)
        if bounds is None or self.layout is None:
            return np.array(-math.inf), np.array(math.inf)
        low, high = (self.numbers(end) for end in bounds)
        if low.ndim == 0 and high.ndim == 0:
            return low, high
        event, width = self.layout.event, (self.d_y,)
        return self.layout.spread(low, event, width), self.layout.spread(high, event, width)


def check_rowwise(values: Any, rows: int) -> Any:
    """Check that a log-density has one number for each row; (rows, 1) will do."""
    shape = tuple(getattr(values, "shape", ()))
    if shape not in ((rows,), (rows, 1)) or not hasattr(values, "reshape"):
        got = f"shape {shape}" if hasattr(values, "shape") else type(values).__name__
        square = " Is one of x and y of shape (n,) and the other of (n, 1)?" if len(shape) == 2 else ""
        raise ShapeError(
            f"The log-density must have one number for each row, shape ({rows},), got {got}.{square}"
        )
    return values.reshape(rows)


def check_distribution(dist: Any) -> None:
    """Refuse what has no log-density."""
    if not callable(getattr(dist, "log_prob", None)):
        shape = f" of shape {tuple(dist.shape)}" if hasattr(dist, "shape") else ""
        raise UnsupportedModelError(
            f"The model returned {type(dist).__name__}{shape}, and a distribution with log_prob(y) is "
            "needed. Return one, such as Normal(mean, std), or Categorical(logits=...) of a "
            "classifier's logits; for a function that returns the log-density itself use "
            "condgof.from_log_prob(f, backend=...)."
        )


def _constraint(dist: Any) -> Any:
    """Return the innermost constraint that describes the support, or None if it is not told."""
    try:
        support = dist.support
    except (NotImplementedError, AttributeError):
        return None
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    return support


def _is_discrete(support: Any) -> bool:
    try:
        return bool(support.is_discrete)
    except (NotImplementedError, AttributeError):
        return False


def _bounds(dist: Any) -> tuple[Any, Any] | None:
    """Return the ends of the support, or None for the whole line."""
    support = _constraint(dist)
    name = type(support).__name__.strip("_").lower()
    low, high = (getattr(support, f"{end}_bound", None) for end in ("lower", "upper"))
    if low is not None or high is not None:
        return -math.inf if low is None else low, math.inf if high is None else high
    if family(unwrapped(dist)) == "VonMises":  # a circle, which torch gives as the whole line
        return -math.pi, math.pi
    if support is None or name in ("real", "realvector", "dependent", "dependentproperty"):
        return None
    raise UnsupportedModelError(
        f"{type(dist).__name__} lives on {support}, which is not an interval in each coordinate of y. "
        "Test a model of transformed coordinates that can take any real value."
    )


def _width(dist: Any) -> int:
    """Return the number of columns of y when only x is there to tell."""
    if not hasattr(dist, "batch_shape"):
        raise UnsupportedModelError(
            f"{type(dist).__name__} does not tell its shape (batch_shape and event_shape)."
        )
    batch, event = tuple(dist.batch_shape), tuple(dist.event_shape)
    return int(np.prod((batch[1:] if batch else ()) + event))
