"""Closed forms of distribution objects: torch.distributions and NumPyro name their families alike.

A network that ends in a normal or in a mixture of normals is most of what users bring. Reading the
parameters off and computing in closed form gives scores in double precision from a model in single
precision, Rosenblatt's normal scores for several columns of y, and draws from a NumPy generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import ShapeError
from condgof.models._base import ConditionalModel
from condgof.models._interval import Beta, Uniform
from condgof.models._laplace import Laplace
from condgof.models._mixture import NormalMixture
from condgof.models._normal import Normal
from condgof.models._parametric import Parametric
from condgof.models._positive import Exponential, Gamma
from condgof.models._student import StudentT

#: Whose class names can be trusted.
LIBRARIES = ("torch.distributions", "numpyro.distributions")
#: Wrappers that leave the parameters of what they wrap as they are.
WRAPPERS = ("Independent", "ExpandedDistribution")
#: Families with independent columns: ours, and their names for its parameters.
COLUMNWISE: dict[str, tuple[type[Parametric], dict[str, str]]] = {
    "Normal": (Normal, {"mean": "loc", "std": "scale"}),
    "StudentT": (StudentT, {"df": "df", "loc": "loc", "scale": "scale"}),
    "Laplace": (Laplace, {"loc": "loc", "scale": "scale"}),
    "Gamma": (Gamma, {"shape": "concentration", "rate": "rate"}),
    "Exponential": (Exponential, {"rate": "rate"}),
    "Beta": (Beta, {"a": "concentration1", "b": "concentration0"}),
    "Uniform": (Uniform, {"low": "low", "high": "high"}),
}

Numbers = Callable[[Any], FloatArray]


@dataclass(frozen=True)
class Layout:
    """How the dimensions of a distribution stand for rows and columns of y.

    Parameters
    ----------
    batch, event : tuple of int
        Its batch shape and event shape. A batch shape of () is the same distribution for every row.
    rows, d_y : int
        Shape of y.
    """

    batch: tuple[int, ...]
    event: tuple[int, ...]
    rows: int
    d_y: int

    @classmethod
    def of(cls, dist: Any, rows: int, d_y: int) -> Layout:
        """Check that a distribution has one part for each row, so that nothing is broadcast.

        Batch and event shape together must be (rows, d_y), (rows,) for d_y = 1, or such with further
        dimensions of size 1; or a single event that serves for all rows.
        """
        batch, event = tuple(dist.batch_shape), tuple(dist.event_shape)
        shape = batch + event
        columns = shape[1:] if batch else shape
        fits = sum(size != 1 for size in columns) <= 1 and int(np.prod(columns)) == d_y
        if fits and (not batch or batch[0] == rows):
            return cls(batch, event, rows, d_y)
        hint = ""
        if batch == (d_y,) and not event and d_y > 1:
            hint = " For columns that are independent wrap it in Independent(…, 1)."
        elif batch[:1] != (rows,) and shape[:1] == (rows,):
            hint = " Its rows are part of the event: leave out one Independent."
        elif batch[:1] == (rows,):
            hint = f" It speaks of {int(np.prod(columns))} columns of y, not {d_y}."
        wanted = f"({rows}, {d_y})" + (f" or ({rows},)" if d_y == 1 else "")
        raise ShapeError(
            f"The model returned {type(dist).__name__} with batch shape {batch} and event shape {event} "
            f"for {rows} rows of x and y of shape ({rows}, {d_y}). Batch and event shape together must "
            f"be {wanted}, with the rows first.{hint}"
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in which the distribution takes y."""
        return self.batch + self.event if self.batch else (self.rows, *self.event)

    def spread(self, array: AnyArray, event: tuple[int, ...], tail: tuple[int, ...]) -> FloatArray:
        """Bring a parameter of shape (*batch, *event), or less, to (rows, *tail)."""
        whole = np.broadcast_to(array, self.batch + event).reshape(-1, *tail)
        return np.broadcast_to(whole, (self.rows, *tail))


def family(dist: Any) -> str | None:
    """Return the name of the class that defines the log-density, or None if it is not a library's.

    A subclass that changes the density is not of the family that it is derived from.

    Examples
    --------
    >>> family(object()) is None
    True
    """
    named = None
    for base in type(dist).__mro__:
        if not base.__name__.startswith("_"):
            named = base.__name__
        if "log_prob" in vars(base):
            return named if base.__module__.startswith(LIBRARIES) else None
    return None


def unwrapped(dist: Any) -> Any:
    """Return a distribution without what only regroups its dimensions."""
    while family(dist) in WRAPPERS:
        dist = dist.base_dist
    return dist


def closed_form(dist: Any, layout: Layout, numbers: Numbers) -> ConditionalModel | None:
    """Return the closed form of a distribution for the rows of a layout, or None.

    Parameters
    ----------
    dist : distribution
        Of torch or NumPyro.
    layout : Layout
        Its dimensions.
    numbers : callable
        Turns a tensor into a NumPy array of doubles.
    """
    part = unwrapped(dist)
    name, d_y = family(part), layout.d_y

    def each(key: str) -> FloatArray:
        return layout.spread(numbers(getattr(part, key)), layout.event, (d_y,))

    if name in COLUMNWISE:
        ours, keys = COLUMNWISE[name]
        return ours.bound(**{key: each(theirs) for key, theirs in keys.items()})
    if name == "MultivariateNormal":
        factor = layout.spread(numbers(part.scale_tril), (d_y, d_y), (d_y, d_y))
        return Normal.bound(each("loc"), cov=factor @ factor.transpose(0, 2, 1))
    if name == "LowRankMultivariateNormal":
        cov = layout.spread(numbers(part.covariance_matrix), (d_y, d_y), (d_y, d_y))
        return Normal.bound(each("loc"), cov=0.5 * (cov + cov.transpose(0, 2, 1)))
    if name == "MixtureSameFamily":
        return _mixture(part, layout, numbers)
    return None


def _mixture(dist: Any, layout: Layout, numbers: Numbers) -> ConditionalModel | None:
    """Return a mixture of normals with diagonal covariances, in whichever way it was put together."""
    part = unwrapped(dist.component_distribution)
    if family(part) != "Normal" or int(np.prod(layout.batch[1:])) > 1:
        return None  # the latter has independent columns, each a mixture of its own
    weights = numbers(mixture_weights(dist))
    count = weights.shape[-1]
    weights = layout.spread(weights, (count,), (count,))
    # Weights in single precision sum to 1 up to 1e-7 only.
    weights = weights / weights.sum(axis=1, keepdims=True)
    means, stds = (
        layout.spread(numbers(value), (count, *layout.event), (count, layout.d_y))
        for value in (part.loc, part.scale)
    )
    return NormalMixture.bound(weights, means, stds)


def mixture_weights(dist: Any) -> Any:
    """Return the weights of a MixtureSameFamily, which torch and NumPyro keep under different names."""
    mixing = getattr(dist, "mixture_distribution", None) or dist.mixing_distribution
    return mixing.probs
