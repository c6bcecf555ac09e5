"""JAX models: NumPyro and FlowJAX distributions, and log-densities, of one row or many."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, TableLike
from condgof.errors import (
    InputError,
    InputTypeError,
    ShapeError,
    UnsupportedModelError,
    require,
)
from condgof.laws._distribution import (
    Network,
    TensorLaw,
    check_rowwise,
    doubles,
    is_discrete,
    rebuild,
)
from condgof.laws._functions import call_density
from condgof.laws._law import Law, Model
from condgof.laws._library import comes_from

#: The smallest number of rows for which a function is compiled.
MIN_COMPILED_ROWS = 16
#: Rows on which a function is tried, to know whether it takes one row or many.
TRIAL_ROWS = 3
#: Largest difference, absolute or relative, between values row by row and all at once, in
#: single precision.
SAME_VALUE = 1e-3
jax_module = partial(require, "jax", "jax", "A JAX model")


@dataclass(eq=False)
class Cache:
    """What a model and its copies compute once."""

    #: (y, x, per_row) → scores and log-density, compiled; None before it is first needed.
    gradient: Callable[..., tuple[Any, Any]] | None = None
    #: Whether the function takes one row, by the shapes of the rows that it was tried on.
    takes_one_row: dict[tuple[Any, ...], bool] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class JaxNetwork(Network):
    """A JAX model; see `from_jax`."""

    LIBRARY = "JAX"
    #: Whether `make` or `density` is a function of one row; None where it is to be tried.
    per_row: bool | None = None
    #: What a model and its copies have computed; never pickled.
    cache: Cache = field(default_factory=Cache)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "cache": Cache()}

    def native(self, array: AnyArray) -> Any:
        # In the precision that JAX is set to: single, unless the user chose double.
        jnp = jax_module().numpy
        return jnp.asarray(np.asarray(array, dtype=jnp.result_type(float)))

    def at(self, x: Any) -> Network:
        if self.make is None or (x is not None and self.per_row is not None):
            return self
        return replace(self, per_row=x is not None and self._makes_one_row(self.make, x))

    def law(self, x: TableLike, n: int) -> Law:
        dist = None if self.make is None else self._distribution(self.make, self.given(x))
        return TensorLaw(self, None, x, n) if dist is None else self.law_of(dist, x, n)

    def _distribution(self, make: Callable[[Any], Any], x: Any) -> Any:
        """Return the distribution of all rows; None where only densities can be mapped."""
        if self.per_row is False:
            return make(x)
        if self.per_row and comes_from(make(x[0]), "numpyro"):
            with suppress(UnsupportedModelError):
                mapped = jax_module().vmap(make)(x)
                # Built anew of its parameters, the distribution has the rows as its batch.
                return rebuild(mapped, lambda value, by_row: value)
        return None

    def _makes_one_row(self, make: Callable[[Any], Any], x: AnyArray) -> bool | None:
        """Whether `make` takes one row; None when only y could tell."""
        # A number of rows that no dimension of one row has, so that batches cannot be
        # mistaken for columns.
        count = 2 + np.prod(x.shape[1:], dtype=int)
        few = x[np.arange(count) % len(x)]
        try:
            dist = make(self.native(few))
        except Exception:  # whatever a function raises on shapes that it is not made for
            make(self.native(x[0]))  # and if that fails too, it is the user's to see
            return True
        if not hasattr(dist, "batch_shape"):
            return None
        return tuple(dist.batch_shape)[:1] not in ((), (len(few),))

    def takes_one_row(self, y: AnyArray, x: Any) -> bool:
        """Whether the function takes one row; remembered by the shapes of y and x."""
        if self.per_row is not None:
            return self.per_row
        x_shape = None if x is None else x.shape[1:]
        shapes = (min(len(y), TRIAL_ROWS), y.shape[1:], x_shape)
        if shapes not in self.cache.takes_one_row:
            self.cache.takes_one_row[shapes] = self._try_rows(y, x)
        return self.cache.takes_one_row[shapes]

    def _try_rows(self, y: AnyArray, x: Any) -> bool:
        """Try the log-density as that of one row, and of all rows at once."""
        y = self.native(y[:TRIAL_ROWS])
        x = None if x is None else self.given(x[:TRIAL_ROWS])
        by_row = self._try_values(y, x, per_row=True)
        at_once = self._try_values(y, x, per_row=False)
        if isinstance(at_once, Exception):
            if isinstance(by_row, Exception):
                raise at_once
            return True
        # Indexing the first row in place of the first column must not go unnoticed.
        if not isinstance(by_row, Exception) and not np.allclose(
            at_once, by_row, rtol=SAME_VALUE, atol=SAME_VALUE, equal_nan=True
        ):
            raise InputError(
                "The model takes one row and many, and the two disagree. Say which is"
                " meant: from_jax(f, per_row=True) or False, or wrap it in jax.vmap."
            )
        return False

    def _try_values(self, y: Any, x: Any, per_row: bool) -> FloatArray | Exception:
        try:
            return doubles(self._values(y, x, per_row))
        except Exception as error:  # which a function raises on shapes that are not its own
            return error

    def _values(self, y: Any, x: Any, per_row: bool) -> Any:
        """Return the log-density of all rows, (b,), row by row or at once."""
        if per_row:
            return jax_module().vmap(self._single)(y, x)
        if self.make is not None:
            return TensorLaw(self, self.make(x), x, len(y)).log_density(y)
        assert self.density is not None
        return check_rowwise(self.density(y, x), len(y))

    def _single(self, y: Any, x: Any) -> Any:
        """Return the log-density of one row, (); columns may be a distribution's batch."""
        if self.make is None:
            assert self.density is not None
            return jax_module().numpy.asarray(self.density(y, x)).reshape(())
        dist = self.make(x)
        if not hasattr(dist, "batch_shape"):
            return dist.log_prob(y).reshape(())
        shape = tuple(dist.batch_shape) + tuple(dist.event_shape)
        if sum(size != 1 for size in shape) > 1 or int(np.prod(shape)) != y.size:
            raise ShapeError(
                f"The model returned {type(dist).__name__} with batch and event shape"
                f" {shape} for one row, and y has {y.size} columns."
            )
        value = y.reshape(shape).astype(int if is_discrete(dist) else y.dtype)
        return dist.log_prob(value).sum()

    def _score_and_log_prob(
        self, law: TensorLaw, y: AnyArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the scores (n, d_y) and the log-density (n,), by a compiled function."""
        n = len(y)
        if self.cache.gradient is None:
            jax = jax_module()
            gradient = jax.grad(self._total, has_aux=True)
            self.cache.gradient = jax.jit(gradient, static_argnums=2)
        # Padded to a power of two by repeating the last row, since a function is compiled
        # anew for each number of rows.
        size = max(MIN_COMPILED_ROWS, 1 << (n - 1).bit_length())
        padded = np.minimum(np.arange(size), n - 1)
        x = None if law.x is None else self.given(law.x[padded])
        per_row = self.takes_one_row(y, law.x)
        score, log_prob = self.cache.gradient(self.native(y[padded]), x, per_row)
        return doubles(score)[:n], doubles(log_prob)[:n]

    def _total(self, y: Any, x: Any, per_row: bool) -> tuple[Any, Any]:
        """Return the sum of the log-density, to be differentiated, and its values."""
        values = self._values(y, x, per_row)
        return values.sum(), values

    def score(self, law: TensorLaw, y: AnyArray) -> AnyArray:
        score, _ = self._score_and_log_prob(law, y)
        return score

    def log_prob(self, law: TensorLaw, y: AnyArray) -> FloatArray:
        _, log_prob = self._score_and_log_prob(law, y)
        return log_prob

    def draw(self, law: TensorLaw, rng: np.random.Generator, shape: tuple[Any, ...]) -> Any:
        random = jax_module().random
        # Two draws, since a key of JAX takes 32 bits.
        first = int(rng.integers(2**31))
        second = int(rng.integers(2**31))
        key = random.fold_in(random.key(first), second)
        return law.dist.sample(key, *shape)


def from_jax(
    model: object, *, per_row: bool | None = None, batch_size: int = Network.size
) -> Law | Model:
    """Model from JAX: a function that returns a distribution, or a distribution.

    Scores come from closed forms where there is one here, else from ``jax.grad``, compiled,
    batch by batch, in the precision that JAX is set to. As with ``jax.jit``, values that a
    function reads from outside are those of its first call: make a new model after training
    on. A log-density goes to ``cg.from_log_prob(f, backend="jax")``.

    Parameters
    ----------
    model : callable or distribution
        What is called with x and returns the distribution of y given x: of NumPyro, or any
        object with ``log_prob(y)``. It may take all rows at once, x in the shape that is
        tested, or one row. A FlowJAX distribution is taken as it is, with x as its
        condition; one of NumPyro is the law of its n rows, or of any number where it has no
        batch.
    per_row : bool or None
        Whether `model` takes one row or all of them; by default both are tried on a few
        rows.
    batch_size : int
        Rows evaluated at a time: memory grows with them, and results do not change.

    Examples
    --------
    >>> import condgof as cg, numpyro.distributions as dist
    >>> model = cg.from_jax(lambda x: dist.Normal(2.0 * x, 1.0))
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    >>> cg.scores(model, x, y)[:, 0]
    array([-1., -0.,  1.])
    """
    jax = jax_module()
    network = JaxNetwork(size=batch_size, per_row=per_row)
    if comes_from(model, "flowjax") and hasattr(model, "cond_shape"):
        return network.model(make=partial(Flow, model), per_row=False)
    if comes_from(model, "numpyro") and hasattr(model, "batch_shape"):
        # NumPy's arrays cannot be indexed by what JAX compiles.
        model = jax.tree.map(jax.numpy.asarray, model)
        return replace(network, per_row=False).of_rows(model)
    if not callable(model):
        raise InputTypeError(
            f"from_jax takes a function x → distribution, got {type(model).__name__}. A"
            " log-density goes to condgof.from_log_prob(f, backend='jax')."
        )
    return network.model(make=model)


def from_density(function: Callable[..., Any]) -> Model:
    """Model from a function (y, x) → log-density; see `condgof.from_log_prob`."""
    jax_module()
    return JaxNetwork().model(density=partial(call_density, function))


def adapt(obj: object) -> Law | Model | None:
    """Take distributions of FlowJAX and NumPyro."""
    return from_jax(obj) if hasattr(obj, "log_prob") else None


class Flow:
    """A FlowJAX distribution given rows of x, or the same for every row."""

    def __init__(self, flow: Any, x: Any) -> None:
        shape = flow.cond_shape
        if shape is not None and (x is None or x.size != len(x) * int(np.prod(shape))):
            got = "none" if x is None else f"{tuple(x.shape)}"
            raise ShapeError(f"The flow is conditional on {shape}, and x is {got}.")
        self.flow = flow
        self.event_shape = tuple(flow.shape)
        self.batch_shape = () if shape is None else (len(x),)
        self.condition = None if shape is None else x.reshape(len(x), *shape)

    def log_prob(self, y: TableLike) -> Any:
        return self.flow.log_prob(y, self.condition)

    def sample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        return self.flow.sample(key, shape, condition=self.condition)

    def normal_scores(self, y: Any) -> Any:
        """Return y (n, d_y) mapped to the base of the flow; None if that is not N(0, I)."""
        vmap = jax_module().vmap
        # FlowJAX keeps constrained parameters (such as positive scales) in another form.
        flow = require("paramax", "jax", "A FlowJAX model").unwrap(self.flow)
        z = y.reshape(len(y), *self.event_shape)
        while hasattr(flow, "bijection"):
            inverse = vmap(flow.bijection.inverse)
            conditional = flow.bijection.cond_shape is not None
            z = inverse(z, self.condition) if conditional else inverse(z)
            flow = flow.base_dist
        return z.reshape(len(y), -1) if type(flow).__name__ == "StandardNormal" else None
