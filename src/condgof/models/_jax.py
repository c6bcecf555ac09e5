"""JAX models: NumPyro and FlowJAX distributions, and log-densities."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, InputTypeError
from condgof.models._adapters import comes_from
from condgof.models._base import ConditionalModel
from condgof.models._call import call_density
from condgof.models._distribution import Rows, check_rowwise
from condgof.models._families import family
from condgof.models._jax_rows import (
    TRIED,
    Flow,
    is_per_row,
    jax_module,
    native,
    numbers,
    row_log_prob,
)
from condgof.models._methods import named_method
from condgof.models._native import BATCH_SIZE, DENSITY, NativeModel
from condgof.models._native_input import check_batch_size
from condgof.sample import as_numbers

SUPPORTED = "condgof.from_jax(f) for f(x) → NumPyro distribution; a FlowJAX distribution"

#: The smallest number of rows that is compiled.
LEAST = 16


@dataclass(frozen=True, eq=False)
class JaxModel(NativeModel):
    """A JAX model; see `from_jax`.

    Parameters
    ----------
    make : callable, optional
        x → distribution.
    density : callable, optional
        (y, x) → log-density, in place of `make`.
    flow : flowjax distribution, optional
        In place of `make`.
    per_row : bool, optional
        Whether `make` or `density` is a function of one row; None: tried.
    """

    make: Callable[[Any], Any] | None
    density: Callable[[Any, Any], Any] | None
    flow: Any
    per_row: bool | None

    def __getstate__(self) -> dict[str, Any]:
        # Compiled functions cannot be pickled, and are made again.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def probe(self, y: AnyArray, x: Any) -> ConditionalModel:
        """Return the model knowing what it can do, and whether it takes rows one by one."""
        y, x = as_numbers(y, "y"), None if x is None else as_numbers(x, "x")
        return NativeModel.probe(replace(self, per_row=self._takes_rows(y, x)), y, x)

    def _session(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def _takes_rows(self, y: AnyArray, x: Any) -> bool:
        """Whether the function is that of one row."""
        if self.per_row is not None or self.flow is not None:
            return bool(self.per_row)
        return is_per_row(self._batched, self._single, y, x)

    def _makes_rows(self, x: AnyArray) -> bool | None:
        """Whether `make` takes one row; None when only y could tell, and there is none."""
        if self.per_row is not None:
            return self.per_row
        assert self.make is not None
        few = x[:TRIED]
        try:
            dist = self.make(native(few))
            many = not hasattr(dist, "batch_shape") or tuple(dist.batch_shape)[:1] in ((), (len(few),))
        except Exception:  # whatever a function raises on shapes that it is not made for
            self.make(native(x[0]))  # and if that fails too, it is the user's to see
            many = False
        if not many or not hasattr(dist, "batch_shape"):
            return None if many else True
        if not tuple(dist.batch_shape):
            return False
        y = numbers(dist.sample(jax_module().random.key(0))).reshape(len(few), -1)
        return is_per_row(self._batched, self._single, y, few)

    def _batched(self, y: Any, x: Any) -> Any:
        """Return the log-density of all rows at once, (b,)."""
        n, d_y = len(y), 1 if y.ndim == 1 else y.shape[1]
        if self.density is not None:
            return check_rowwise(self.density(y, x), n)
        dist = Flow(self.flow, x, n) if self.make is None else self.make(x)
        return Rows.of(dist, n, d_y, native, numbers).log_prob(y)

    def _single(self, y: Any, x: Any) -> Any:
        """Return the log-density of one row, ()."""
        if self.density is not None:
            return jax_module().numpy.asarray(self.density(y, x)).reshape(())
        assert self.make is not None
        return row_log_prob(self.make(x), y)

    @cached_property
    def _compiled(self) -> Callable[[Any, Any, bool], tuple[Any, Any]]:
        jax = jax_module()

        def total(y: Any, x: Any, per_row: bool) -> Any:
            values = self._mapped(self._single, y, x) if per_row else self._batched(y, x)
            return values.sum(), values

        compiled: Callable[[Any, Any, bool], tuple[Any, Any]] = jax.jit(
            jax.grad(total, has_aux=True), static_argnums=2
        )
        return compiled

    def _mapped(self, function: Callable[..., Any], y: Any, x: Any) -> Any:
        if x is None:
            return jax_module().vmap(lambda one: function(one, None))(y)
        return jax_module().vmap(function)(y, x)

    def _rows(self, x: Any, part: slice, d_y: int | None) -> Rows | None:
        if self.density is not None:
            return None
        n, given = part.stop - part.start, None if x is None else native(x[part])
        if self.make is None:
            return Rows.of(Flow(self.flow, given, n), n, d_y, native, numbers)
        per_row = False if x is None else self._makes_rows(x)
        if per_row is None:
            return None
        if per_row and given is not None:
            if not comes_from(self.make(native(x[part.start])), "numpyro"):
                return None  # of which only the log-density can be mapped over rows
            dist = _promoted(jax_module().vmap(self.make)(given), n)
            return None if dist is None else Rows.of(dist, n, d_y, native, numbers)
        return Rows.of(self.make(given), n, d_y, native, numbers)

    def _score(
        self, rows: Rows | None, y: AnyArray, x: Any, part: slice
    ) -> tuple[AnyArray | None, FloatArray]:
        n, given = len(y), None if x is None else x[part]
        per_row = self._takes_rows(y, given)
        # To a power of two, by repeating the last row: every new shape would be compiled anew.
        padded = np.minimum(np.arange(max(LEAST, 1 << (n - 1).bit_length())), n - 1)
        scores, values = self._compiled(
            native(y[padded]), None if given is None else native(given[padded]), per_row
        )
        return numbers(scores)[:n], numbers(values)[:n]

    def _log_prob(self, rows: Rows | None, y: AnyArray, x: Any, part: slice) -> FloatArray:
        return self._score(rows, y, x, part)[1]

    def _draw(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        random = jax_module().random
        key = random.fold_in(random.key(int(rng.integers(2**31))), int(rng.integers(2**31)))
        batched = rows.layout is None or rows.layout.batch
        drawn = rows.dist.sample(key) if batched else rows.dist.sample(key, (rows.rows,))
        return numbers(drawn).reshape(rows.rows, rows.d_y)


def _promoted(dist: Any, n: int) -> Any:
    """Return a mapped NumPyro distribution with the n rows as its first batch dimension, or None."""
    promote = import_module("numpyro.distributions.batch_util").promote_batch_shape
    try:
        if family(dist) == "MixtureSameFamily":  # which promote_batch_shape leaves as it is
            dist = type(dist)(promote(dist.mixing_distribution), promote(dist.component_distribution))
        else:
            dist = promote(dist)
    except (NotImplementedError, AttributeError, AssertionError, ValueError):
        return None
    return dist if tuple(dist.batch_shape)[:1] == (n,) else None


def from_jax(
    model: Any,
    *,
    method: str | None = None,
    y: str | None = None,
    x: str | None = None,
    per_row: bool | None = None,
    batch_size: int = BATCH_SIZE,
) -> JaxModel:
    """Model from JAX: a function that returns a distribution, or an object with a log-density.

    Scores come from closed forms where the family has one here (normals and mixtures of them, Student
    t, Laplace, Gamma, Beta…), and from ``jax.grad`` otherwise, compiled, batch by batch, in the
    precision that JAX is set to. As with ``jax.jit``, values that a function reads from outside are
    those of its first call: make a new model after training on.

    Parameters
    ----------
    model : callable or distribution
        What is called with x and returns the distribution of y given x: of NumPyro, or any object with
        ``log_prob(y)``. It may take all rows at once, x in the shape that is tested, or one row. A
        FlowJAX distribution is taken as it is, with x as its condition.
    method : str, optional
        The name of a method of `model` that returns log p(y|x), such as "log_prob".
    y, x : str, optional
        What that method calls y and x; needed unless it calls them so.
    per_row : bool, optional
        Whether `model` takes one row (and is mapped over rows) or all of them. By default both are
        tried on three rows; where both work and disagree, this is needed.
    batch_size : int
        Rows evaluated at a time: memory grows with it, results do not change.

    Returns
    -------
    JaxModel

    Examples
    --------
    >>> import condgof as cg, numpyro.distributions as dist
    >>> model = cg.from_jax(lambda x: dist.Normal(2.0 * x, 1.0))
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    >>> cg.scores(model, x, y)[:, 0]
    array([-1., -0.,  1.])
    """
    jax_module()
    size = check_batch_size(batch_size)
    if per_row not in (None, True, False):
        raise InputError(f"per_row must be True, False or None, got {per_row!r}.")
    if comes_from(model, "flowjax") and hasattr(model, "cond_shape") and method is None:
        return JaxModel(size, None, None, None, model, False)
    if comes_from(model, "numpyro") and hasattr(model, "batch_shape"):
        if tuple(model.batch_shape):
            raise InputTypeError(
                f"{type(model).__name__} has a batch of {tuple(model.batch_shape)}. Pass the function "
                "that makes it, condgof.from_jax(f) with f(x) → distribution."
            )
        return JaxModel(size, None, lambda _: model, None, None, False)
    if method is not None or x is not None or y is not None or _has_density(model):
        density = named_method(model, method or "log_prob", y, x, "from_jax")
        return JaxModel(size, DENSITY, None, density, None, per_row)
    if not callable(model):
        raise InputTypeError(
            f"from_jax takes a function x → distribution or a distribution, got {type(model).__name__}."
        )
    return JaxModel(size, None, model, None, None, per_row)


def _has_density(model: Any) -> bool:
    return callable(getattr(type(model), "log_prob", None))


def from_jax_density(function: Callable[..., Any]) -> JaxModel:
    """Model from a function (y, x) → log-density; see `condgof.from_log_prob`."""
    jax_module()
    return JaxModel(BATCH_SIZE, DENSITY, None, lambda y, x: call_density(function, y, x), None, None)


def adapt(obj: Any) -> ConditionalModel | None:
    """Take distributions of FlowJAX and NumPyro."""
    ours = (comes_from(obj, "flowjax") and hasattr(obj, "cond_shape")) or (
        comes_from(obj, "numpyro") and hasattr(obj, "batch_shape")
    )
    return from_jax(obj) if ours else None
