"""JAX functions of one row or of many, and FlowJAX distributions as the rest of condgof knows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, ShapeError, require

#: Rows on which a function is tried as one of rows and as one of batches.
TRIED = 3


def jax_module() -> Any:
    """Import JAX, or say how to install it."""
    return require("jax", "jax", "A JAX model")


def native(array: AnyArray) -> Any:
    """Return a JAX array in the precision that JAX is set to (single, unless the user chose double)."""
    jnp = jax_module().numpy
    return jnp.asarray(np.asarray(array, dtype=jnp.result_type(float)))


def numbers(array: Any) -> FloatArray:
    """Return a JAX array as a NumPy array of doubles."""
    return np.asarray(array, dtype=np.float64)


def row_log_prob(dist: Any, y: Any) -> Any:
    """Return log p(y|x) of a distribution for one row, (); columns may be its batch dimension."""
    if not hasattr(dist, "batch_shape"):
        return dist.log_prob(y).reshape(())
    shape = tuple(dist.batch_shape) + tuple(dist.event_shape)
    if getattr(dist.support, "is_discrete", False):  # classes are looked up by whole numbers
        y = y.astype(int)
    if sum(size != 1 for size in shape) > 1 or int(np.prod(shape)) != y.size:
        raise ShapeError(
            f"The model returned {type(dist).__name__} with batch shape {tuple(dist.batch_shape)} and "
            f"event shape {tuple(dist.event_shape)} for one row, and y has {y.size} columns."
        )
    return dist.log_prob(y.reshape(shape)).sum()


def is_per_row(
    batched: Callable[[Any, Any], Any], single: Callable[[Any, Any], Any], y: AnyArray, x: Any
) -> bool:
    """Whether a log-density is that of one row, rather than of all rows at once.

    Both ways are tried on a few rows. Where both work they must agree, since indexing the first row
    in place of the first column would go unnoticed.

    Parameters
    ----------
    batched, single : callable
        (y, x) → log-density of all rows, (k,), and of one row, ().
    y, x : ndarrays
        Observations; x may be None.
    """
    y, x = native(y[:TRIED]), None if x is None else native(x[:TRIED])
    found: dict[bool, FloatArray] = {}
    errors: dict[bool, Exception] = {}
    for per_row in (False, True):
        try:
            if per_row:
                rows = [single(y[i], None if x is None else x[i]) for i in range(len(y))]
                found[per_row] = np.array([numbers(value).reshape(()) for value in rows])
            else:
                found[per_row] = numbers(batched(y, x))
        except Exception as error:  # whatever a function raises on shapes that it is not made for
            errors[per_row] = error
    if len(found) == 2:
        if not np.allclose(found[False], found[True], rtol=1e-3, atol=1e-3, equal_nan=True):
            raise InputError(
                "The model can be called with one row and with many, and the two disagree. Say which is "
                "meant: condgof.from_jax(f, per_row=True) or per_row=False; a log-density of one row "
                "can be wrapped in jax.vmap."
            )
        return False
    if not found:
        errors[False].add_note(f"With one row at a time it fails too: {errors[True]}")
        raise errors[False]
    return True in found


@dataclass(frozen=True, eq=False)
class Flow:
    """A FlowJAX distribution given some rows of x.

    Parameters
    ----------
    flow : flowjax.distributions.AbstractDistribution
        Conditional or not.
    x : array or None
        The rows.
    rows : int
        Their number.
    """

    flow: Any
    x: Any
    rows: int

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """One part for each row."""
        return (self.rows,)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one y."""
        return tuple(self.flow.shape)

    def _condition(self) -> Any:
        if self.flow.cond_shape is None:
            return None
        if self.x is None or self.x.size != self.rows * int(np.prod(self.flow.cond_shape)):
            got = "none" if self.x is None else f"{tuple(self.x.shape)}"
            raise ShapeError(f"The flow is conditional on {self.flow.cond_shape}, and x is {got}.")
        return self.x.reshape(self.rows, *self.flow.cond_shape)

    def log_prob(self, y: Any) -> Any:
        """Return log p(y|x), (rows,)."""
        return self.flow.log_prob(y, self._condition())

    def sample(self, key: Any) -> Any:
        """Draw one y for each row."""
        condition = self._condition()
        shape = (self.rows,) if condition is None else ()
        return self.flow.sample(key, shape, condition=condition)

    def normal_scores(self, y: Any) -> Any:
        """Bring y to where the base distribution is, if that is a standard normal; else None."""
        jax, flow, condition = jax_module(), self._unwrapped(), self._condition()
        z = y.reshape(self.rows, *self.event_shape)
        while hasattr(flow, "bijection"):
            bijection = flow.bijection
            if bijection.cond_shape is None:
                z = jax.vmap(bijection.inverse)(z)
            else:
                z = jax.vmap(bijection.inverse)(z, condition)
            flow = flow.base_dist
        return z.reshape(self.rows, -1) if type(flow).__name__ == "StandardNormal" else None

    def _unwrapped(self) -> Any:
        """Return the flow with its parameters in the form in which they are used."""
        return require("paramax", "jax", "A FlowJAX model").unwrap(self.flow)
