"""JAX models: NumPyro and FlowJAX distributions, and log-densities, of one row or of many."""

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
    rebuilt,
)
from condgof.laws._functions import call_density
from condgof.laws._law import Law, Model
from condgof.laws._library import comes_from

#: The smallest number of rows that is compiled; on how many it is tried if a function is
#: one of rows.
LEAST, TRIED = 16, 3
jax_module = partial(require, "jax", "jax", "A JAX model")


@dataclass(frozen=True, eq=False, kw_only=True)
class JaxNetwork(Network):
    """A JAX model; see `from_jax`."""

    LIBRARY = "JAX"
    #: Whether `make` or `density` is a function of one row; None: tried.
    per_row: bool | None = None
    #: What is made once for a model and its copies, such as compiled functions; never
    #: pickled.
    kept: dict[Any, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "kept": {}}

    def native(self, array: AnyArray) -> Any:
        # In the precision that JAX is set to: single, unless the user chose double.
        jnp = jax_module().numpy
        return jnp.asarray(np.asarray(array, dtype=jnp.result_type(float)))

    def at(self, x: Any) -> Network:
        if self.make is None or (x is not None and self.per_row is not None):
            return self
        return replace(self, per_row=x is not None and self._makes_rows(self.make, x))

    def law(self, x: TableLike, n: int) -> Law:
        given, dist = (
            self.given(x),
            None,
        )  # of some objects only the log-density can be mapped over rows
        if self.make is not None and self.per_row is False:
            dist = self.make(given)
        elif (
            self.make is not None
            and self.per_row
            and comes_from(self.make(given[0]), "numpyro")
        ):
            with suppress(UnsupportedModelError):  # made anew it has the rows as its batch
                dist = rebuilt(
                    jax_module().vmap(self.make)(given), lambda value, by_row: value
                )
        return TensorLaw(self, None, x, n) if dist is None else self.law_of(dist, x, n)

    def _makes_rows(self, make: Callable[[Any], Any], x: AnyArray) -> bool | None:
        """Whether `make` takes one row; None when only y could tell."""
        few = x[
            np.arange(2 + np.prod(x.shape[1:], dtype=int)) % len(x)
        ]  # as many as nothing else
        try:
            dist = make(self.native(few))
        except Exception:  # whatever a function raises on shapes that it is not made for
            make(self.native(x[0]))  # and if that fails too, it is the user's to see
            return True
        if not hasattr(dist, "batch_shape"):
            return None
        return tuple(dist.batch_shape)[:1] not in ((), (len(few),))

    def takes_rows(self, y: AnyArray, x: Any) -> bool:
        """Whether the function is that of one row; remembered for y and x of such shapes."""
        if self.per_row is not None:
            return self.per_row
        shapes = min(len(y), TRIED), y.shape[1:], None if x is None else x.shape[1:]
        if shapes not in self.kept:
            self.kept[shapes] = self._tried(y, x)
        return bool(self.kept[shapes])

    def _tried(self, y: AnyArray, x: Any) -> bool:
        """Try the log-density as that of one row, and of all rows at once."""
        y, x = self.native(y[:TRIED]), None if x is None else self.given(x[:TRIED])
        values, failed = dict[bool, FloatArray](), Exception()
        for per_row in (True, False):
            try:
                values[per_row] = doubles(self._values(y, x, per_row))
            except (
                Exception
            ) as error:  # whatever a function raises on shapes that it is not made for
                failed = error
        if not values:
            raise failed  # that of all rows at once
        # Indexing the first row in place of the first column must not go unnoticed.
        if len(values) == 2 and not np.allclose(
            values[False], values[True], 1e-3, 1e-3, equal_nan=True
        ):
            meant = (
                "Say which is meant: from_jax(f, per_row=True) or False, or wrap it in"
                " jax.vmap"
            )
            raise InputError(
                f"The model takes one row and many, and the two disagree. {meant}."
            )
        return False not in values

    def _values(self, y: Any, x: Any, per_row: bool) -> Any:
        """Return the log-density of all rows, (b,), row by row or at once."""
        if per_row:
            return jax_module().vmap(self._single)(y, x)
        if self.make is not None:
            return TensorLaw(self, self.make(x), x, len(y)).log_density(y)
        assert self.density is not None
        return check_rowwise(self.density(y, x), len(y))

    def _single(self, y: Any, x: Any) -> Any:
        """Return the log-density of one row, (); columns may be the batch of a distribution."""
        if self.make is None:
            assert self.density is not None
            return jax_module().numpy.asarray(self.density(y, x)).reshape(())
        dist = self.make(x)
        if not hasattr(dist, "batch_shape"):
            return dist.log_prob(y).reshape(())
        shape = tuple(dist.batch_shape) + tuple(dist.event_shape)
        if sum(size != 1 for size in shape) > 1 or int(np.prod(shape)) != y.size:
            got = f"{type(dist).__name__} with batch and event shape {shape} for one row"
            raise ShapeError(f"The model returned {got}, and y has {y.size} columns.")
        return dist.log_prob(
            y.reshape(shape).astype(int if is_discrete(dist) else y.dtype)
        ).sum()

    def _both(self, law: TensorLaw, y: AnyArray) -> list[FloatArray]:
        n, jax = len(y), jax_module()

        def total(y: TableLike, x: TableLike, per_row: bool) -> tuple[Any, Any]:
            values = self._values(y, x, per_row)
            return values.sum(), values

        if "compiled" not in self.kept:
            self.kept["compiled"] = jax.jit(jax.grad(total, has_aux=True), static_argnums=2)
        # To a power of two, by repeating the last row: every new shape would be compiled
        # anew.
        padded = np.minimum(np.arange(max(LEAST, 1 << (n - 1).bit_length())), n - 1)
        given = None if law.x is None else self.given(law.x[padded])
        both = self.kept["compiled"](
            self.native(y[padded]), given, self.takes_rows(y, law.x)
        )
        return [doubles(part)[:n] for part in both]

    def score(self, law: TensorLaw, y: AnyArray) -> AnyArray:
        return self._both(law, y)[0]

    def log_prob(self, law: TensorLaw, y: AnyArray) -> FloatArray:
        return self._both(law, y)[1]

    def draw(self, law: TensorLaw, rng: np.random.Generator, shape: tuple[Any, ...]) -> Any:
        random = jax_module().random
        key = random.fold_in(random.key(int(rng.integers(2**31))), int(rng.integers(2**31)))
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
    per_row, batch_size : bool or None, int
        Whether `model` takes one row or all of them, by default both are tried on a few
        rows; rows evaluated at a time, with which memory grows and results do not change.

    Examples
    --------
    >>> import condgof as cg, numpyro.distributions as dist
    >>> model = cg.from_jax(lambda x: dist.Normal(2.0 * x, 1.0))
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    >>> cg.scores(model, x, y)[:, 0]
    array([-1., -0.,  1.])
    """
    jax_module()
    network, kind = JaxNetwork(size=batch_size, per_row=per_row), type(model).__name__
    if comes_from(model, "flowjax") and hasattr(model, "cond_shape"):
        return network.model(make=partial(Flow, model), per_row=False)
    if comes_from(model, "numpyro") and hasattr(model, "batch_shape"):
        # NumPy's arrays cannot be indexed by what JAX compiles.
        model = jax_module().tree.map(jax_module().numpy.asarray, model)
        return replace(network, per_row=False).of_rows(model)
    if not callable(model):
        advice = "A log-density goes to condgof.from_log_prob(f, backend='jax')."
        raise InputTypeError(
            f"from_jax takes a function x → distribution, got {kind}. {advice}"
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
        self.flow, self.event_shape = flow, tuple(flow.shape)
        self.batch_shape = () if shape is None else (len(x),)
        self.condition = None if shape is None else x.reshape(len(x), *shape)

    def log_prob(self, y: TableLike) -> Any:
        return self.flow.log_prob(y, self.condition)

    def sample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        return self.flow.sample(key, shape, condition=self.condition)

    def normal_scores(self, y: Any) -> Any:
        """Bring y to where the base distribution is, if that is a standard normal; else None."""
        # With its parameters in the form in which they are used.
        flow = require("paramax", "jax", "A FlowJAX model").unwrap(self.flow)
        z = y.reshape(len(y), *self.event_shape)
        while hasattr(flow, "bijection"):
            given = () if flow.bijection.cond_shape is None else (self.condition,)
            z = jax_module().vmap(flow.bijection.inverse)(z, *given)
            flow = flow.base_dist
        return z.reshape(len(y), -1) if type(flow).__name__ == "StandardNormal" else None
