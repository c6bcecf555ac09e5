"""torch models: distributions, flows, and modules with a log-density."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputTypeError
from condgof.models._adapters import comes_from
from condgof.models._base import ConditionalModel
from condgof.models._call import call_density
from condgof.models._distribution import Rows, check_rowwise
from condgof.models._methods import named_method
from condgof.models._native import BATCH_SIZE, DENSITY, NativeModel
from condgof.models._native_input import check_batch_size
from condgof.models._torch_state import dtype_and_device, reachable, seed_all, torch_module, undisturbed
from condgof.models._torch_take import take

SUPPORTED = "condgof.from_torch(f) for f(x) → torch distribution or a module; a torch distribution"


@dataclass(frozen=True, eq=False)
class TorchModel(NativeModel):
    """A torch model; see `from_torch`.

    Parameters
    ----------
    make : callable, optional
        x → distribution.
    density : callable, optional
        (y, x) → log-density, in place of `make`.
    dist : torch.distributions.Distribution, optional
        A distribution with one part for each row, in place of `make`.
    modules : tuple of nn.Module
        Networks that are put into evaluation mode.
    dtype, device
        Of the tensors that the model gets.
    """

    make: Callable[[Any], Any] | None
    density: Callable[[Any, Any], Any] | None
    dist: Any
    modules: tuple[Any, ...]
    dtype: Any
    device: Any

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to, or None."""
        return int(self.dist.batch_shape[0]) if self.dist is not None and self.dist.batch_shape else None

    def take(self, rows: IntArray) -> TorchModel:
        """Return the model of some rows."""
        if self.rows is None:
            return self
        index = torch_module().as_tensor(np.asarray(rows), device=self.device)
        return replace(self, dist=take(self.dist, index))

    def _session(self) -> AbstractContextManager[Any]:
        return undisturbed(self.modules, self.device)

    def _native(self, array: AnyArray) -> Any:
        # A copy: a model that works in place must not reach the caller's array.
        return torch_module().tensor(np.asarray(array), dtype=self.dtype, device=self.device)

    def _called(self, function: Callable[..., Any], *tensors: Any) -> Any:
        """Call the user's code, and say with what if it fails."""
        try:
            return function(*tensors)
        except Exception as error:
            got = ", ".join("None" if t is None else f"{tuple(t.shape)}" for t in tensors)
            error.add_note(
                f"condgof called the model with tensors of shape {got}, {self.dtype} on {self.device}. "
                "x and y keep the shape in which they are passed, (n,) or (n, d); dtype= and device= of "
                "from_torch say what else to use."
            )
            raise

    def _rows(self, x: Any, part: slice, d_y: int | None) -> Rows | None:
        if self.density is not None:
            return None
        n = part.stop - part.start
        with torch_module().no_grad():
            if self.make is None:
                dist = take(self.dist, part)
            else:
                dist = self._called(self.make, None if x is None else self._native(x[part]))
        return Rows.of(dist, n, d_y, self._native, numbers)

    def _tensor_log_prob(self, rows: Rows | None, y: Any, x: Any, part: slice) -> Any:
        if rows is not None:
            return self._called(rows.log_prob, y)
        assert self.density is not None
        given = None if x is None else self._native(x[part])
        return check_rowwise(self._called(self.density, y, given), part.stop - part.start)

    def _log_prob(self, rows: Rows | None, y: AnyArray, x: Any, part: slice) -> FloatArray:
        return numbers(self._tensor_log_prob(rows, self._native(y), x, part))

    def _score(
        self, rows: Rows | None, y: AnyArray, x: Any, part: slice
    ) -> tuple[AnyArray | None, FloatArray]:
        leaf = self._native(y).requires_grad_()
        values = self._tensor_log_prob(rows, leaf, x, part)
        if not values.requires_grad:
            return None, numbers(values)
        (gradient,) = torch_module().autograd.grad(values.sum(), leaf, allow_unused=True)
        return None if gradient is None else numbers(gradient), numbers(values)

    def _draw(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        seed_all(int(rng.integers(2**63)), self.device)
        with torch_module().no_grad():
            batched = rows.layout is None or rows.layout.batch
            drawn = rows.dist.sample() if batched else rows.dist.sample((rows.rows,))
        return numbers(drawn).reshape(rows.rows, rows.d_y)

    @property
    def _mixing_advice(self) -> str:
        return (
            "Dropout and batch normalisation in training mode do that: name the networks, "
            "condgof.from_torch(f, modules=[net]), where condgof cannot find them by itself."
        )


def numbers(tensor: Any) -> FloatArray:
    """Return a tensor, or a number, as a NumPy array of doubles."""
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().double().numpy()
    return np.asarray(tensor, dtype=np.float64)


def from_torch(
    model: Any,
    *,
    method: str | None = None,
    y: str | None = None,
    x: str | None = None,
    modules: Any = None,
    dtype: Any = None,
    device: Any = None,
    batch_size: int = BATCH_SIZE,
) -> TorchModel:
    """Model from torch: a function or module that returns a distribution, or one with a log-density.

    Scores come from closed forms where the family has one here (normals and mixtures of them, Student
    t, Laplace, Gamma, Beta…), and from automatic differentiation otherwise, batch by batch. Afterwards
    everything is as it was: modes of all submodules, gradients, the caller's arrays, the global seed.

    Parameters
    ----------
    model : callable, nn.Module or torch.distributions.Distribution
        What is called with x, a tensor in the shape of the x that is tested, and returns the
        distribution of y given x: of ``torch.distributions``, a zuko flow's, or any object with
        ``log_prob(y)``. Batch shape (n,), or (n, d_y) for independent columns; event dimensions are
        summed. A distribution itself is bound to its n rows.
    method : str, optional
        The name of a method of `model` that returns log p(y|x) of shape (n,), such as "log_prob".
    y, x : str, optional
        What that method calls y and x; needed unless it calls them so.
    modules : list of nn.Module, optional
        The networks that `model` works with, to be put into evaluation mode meanwhile. By default
        those that are found in its closure, its globals and its attributes.
    dtype, device : optional
        What x and y are turned into; by default as the parameters of the networks have it. Scores
        come back in double precision.
    batch_size : int
        Rows evaluated at a time: memory grows with it, results do not change.

    Returns
    -------
    TorchModel

    Examples
    --------
    >>> import condgof as cg, torch
    >>> net = torch.nn.Linear(1, 1)
    >>> model = cg.from_torch(lambda x: torch.distributions.Normal(net(x), 1.0))
    >>> cg.scores(model, np.zeros((4, 1)), np.ones(4)).shape
    (4, 1)

    A flow with its own log-density, as nflows has it::

        cg.from_torch(flow, method="log_prob", y="inputs", x="context")
    """
    torch = torch_module()
    size = check_batch_size(batch_size)
    found, tensors = reachable(model)
    if modules is not None:
        given = [modules] if isinstance(modules, torch.nn.Module) else list(modules)
        found = tuple({id(m): m for m in (*given, *found)}.values())
    own_dtype, own_device = dtype_and_device(found, tensors)
    options = {
        "batch_size": size,
        "modules": found,
        "dtype": dtype or own_dtype,
        "device": own_device if device is None else torch.device(device),
    }
    if isinstance(model, torch.distributions.Distribution):
        return TorchModel(abilities=None, make=None, density=None, dist=model, **options)
    if method is not None or x is not None or y is not None or _has_density(model):
        density = named_method(model, method or "log_prob", y, x, "from_torch")
        return TorchModel(abilities=DENSITY, make=None, density=density, dist=None, **options)
    if not callable(model):
        raise InputTypeError(
            f"from_torch takes a function x → distribution, a module or a distribution, got "
            f"{type(model).__name__}."
        )
    return TorchModel(abilities=None, make=model, density=None, dist=None, **options)


def _has_density(model: Any) -> bool:
    return callable(getattr(type(model), "log_prob", None))


def from_torch_density(function: Callable[..., Any]) -> TorchModel:
    """Model from a function (y, x) → log-density of tensors; see `condgof.from_log_prob`."""
    modules, tensors = reachable(function)
    dtype, device = dtype_and_device(modules, tensors)
    return TorchModel(
        batch_size=BATCH_SIZE,
        abilities=DENSITY,
        make=None,
        density=_Density(function),
        dist=None,
        modules=modules,
        dtype=dtype,
        device=device,
    )


@dataclass(frozen=True, eq=False)
class _Density:
    """A function of y and x, which are given by name where it names them."""

    function: Callable[..., Any]

    def __call__(self, y: Any, x: Any) -> Any:
        return call_density(self.function, y, x)


def adapt(obj: Any) -> ConditionalModel | None:
    """Bind a torch distribution to its rows; ask what a module computes."""
    if not comes_from(obj, "torch"):
        return None
    torch = torch_module()
    if isinstance(obj, torch.distributions.Distribution):
        return from_torch(obj)
    if isinstance(obj, torch.nn.Module):
        raise InputTypeError(
            f"{type(obj).__name__} is a torch module, and what it returns must be named: "
            "condgof.from_torch(module) if module(x) is a distribution, condgof.from_torch(module, "
            "method='log_prob', y=..., x=...) if it has a log-density, condgof.from_torch(lambda x: "
            "torch.distributions.Normal(module(x), std)) if it predicts means."
        )
    return None
