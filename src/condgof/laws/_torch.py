"""torch models: distributions, flows, and modules with a log-density."""

from __future__ import annotations

import gc
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, TableLike
from condgof.errors import InputError, InputTypeError, require, shown
from condgof.laws._distribution import Network, TensorLaw, check_rowwise, doubles
from condgof.laws._functions import call_density, refuse_flat
from condgof.laws._law import Law, Model
from condgof.laws._library import named_method

#: Modes and random states belong to the process: two threads must not change them at once.
LOCK = threading.RLock()
#: Objects that a search for a function's networks visits at most.
MAX_VISITED = 4000
torch_module = partial(require, "torch", "torch", "A torch model")


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchNetwork(Network):
    """A torch model; see `from_torch`."""

    LIBRARY = "torch"
    ADVICE = (
        "Dropout and batch normalisation do that: name the networks, from_torch(f,"
        " modules=[net])."
    )
    modules: tuple[Any, ...]
    dtype: Any
    device: Any

    @contextmanager
    def session(self) -> Iterator[None]:
        """Put submodules into evaluation mode; afterwards all is as before.

        Gradients can be taken whatever the caller's mode is, nothing is cast to a lower
        precision, and torch's random state is put back.
        """
        torch = torch_module()
        kind = self.device.type
        on_cpu = kind == "cpu"
        with (
            LOCK,
            # The state of the CPU is always put back; `devices` are those beside it.
            torch.random.fork_rng(
                devices=[] if on_cpu else [self.device],
                device_type="cuda" if on_cpu else str(kind),
            ),
            torch.inference_mode(False),
            torch.enable_grad(),
            torch.autocast(kind, enabled=False),
            ExitStack() as stack,
        ):
            for module in self.modules:
                for part in module.modules():
                    # The flag itself is set, since train() is often overridden, with
                    # effects that would stay.
                    stack.callback(setattr, part, "training", part.training)
                    part.training = False
            yield

    def native(self, array: AnyArray) -> Any:
        # A copy: a model that works in place must not reach the caller's array.
        return torch_module().tensor(
            np.asarray(array), dtype=self.dtype, device=self.device
        )

    def law(self, x: TableLike, n: int) -> Law:
        if self.make is None:
            return TensorLaw(self, None, x, n)
        with torch_module().no_grad():
            dist = self.make(self.given(x))
        return self.law_of(dist, x, n)

    def _values(self, law: TensorLaw, y: TableLike) -> Any:
        """Return the log-density at a tensor y, as a tensor (n,)."""
        if self.density is None:
            return law.log_density(y)
        return check_rowwise(self.density(y, self.given(law.x)), law.count)

    def log_prob(self, law: TensorLaw, y: AnyArray) -> FloatArray:
        return doubles(self._values(law, self.native(y)))

    def score(self, law: TensorLaw, y: AnyArray) -> AnyArray:
        leaf = self.native(y).requires_grad_()
        values = self._values(law, leaf)
        gradient = None
        if values.requires_grad:
            (gradient,) = torch_module().autograd.grad(
                values.sum(), leaf, allow_unused=True
            )
        if gradient is None:
            refuse_flat("does not depend on y in a way that can be differentiated")
        return doubles(gradient)

    def draw(self, law: TensorLaw, rng: np.random.Generator, shape: tuple[Any, ...]) -> Any:
        torch = torch_module()
        seed = int(rng.integers(2**63))
        # torch.manual_seed would reach every device of the machine.
        torch.default_generator.manual_seed(seed)
        if self.device.type != "cpu":
            getattr(torch, self.device.type).manual_seed(seed)
        with torch.no_grad():
            return law.dist.sample(*shape)


def from_torch(
    model: object,
    *,
    method: str | None = None,
    y: str | None = None,
    x: str | None = None,
    modules: object = None,
    dtype: object = None,
    device: object = None,
    batch_size: int = Network.size,
) -> Law | Model:
    """Model from torch: a function or module that returns a distribution or a log-density.

    Scores come from closed forms or automatic differentiation, batch by batch. Afterwards
    all is as it was: modes of submodules, gradients, arrays, seed.

    Parameters
    ----------
    model : callable, nn.Module or torch.distributions.Distribution
        What is called with a tensor x and returns the distribution of y: of
        ``torch.distributions``, a zuko flow's, or any object with ``log_prob(y)``. Batch
        shape (n,), or (n, d_y) for independent columns; event dimensions are summed. A
        distribution itself is the law of its n rows.
    method, y, x : str, optional
        The name of a method of `model` that returns log p(y|x) of shape (n,), such as
        "log_prob", and what it calls y and x; needed unless it calls them so: for a flow of
        nflows ``cg.from_torch(flow, method="log_prob", y="inputs", x="context")``.
    modules : list of nn.Module, optional
        The networks to be put into evaluation mode meanwhile, beside those that are found
        in the closure, the globals and the attributes of `model`.
    dtype, device : optional
        What x and y are turned into, by default as the parameters of the networks have it.
    batch_size : int
        Rows evaluated at a time: memory grows with them, and results do not change.

    Examples
    --------
    >>> import condgof as cg, torch
    >>> net = torch.nn.Linear(1, 1)
    >>> model = cg.from_torch(lambda x: torch.distributions.Normal(net(x), 1.0))
    >>> cg.scores(model, np.zeros((4, 1)), np.ones(4)).shape
    (4, 1)
    """
    network = _network(
        model, batch_size=batch_size, modules=modules, dtype=dtype, device=device
    )
    if isinstance(model, torch_module().distributions.Distribution):
        return network.of_rows(model)
    names_given = method is not None or y is not None or x is not None
    if names_given or callable(getattr(type(model), "log_prob", None)):
        return network.model(density=named_method(model, method or "log_prob", y, x))
    if callable(model):
        return network.model(make=model)
    raise InputTypeError(
        "from_torch takes a function x → distribution, a module or a distribution, got"
        f" {type(model).__name__}."
    )


def from_density(function: Callable[..., Any]) -> Model:
    """Model from a function (y, x) → log-density of tensors; see `from_log_prob`."""
    return _network(function).model(density=partial(call_density, function))


def adapt(obj: object) -> Law | Model | None:
    """Take a torch distribution as the law of its rows; ask what a module computes."""
    torch = torch_module()
    if isinstance(obj, torch.distributions.Distribution):
        return from_torch(obj)
    if isinstance(obj, torch.nn.Module):
        raise InputTypeError(
            f"{type(obj).__name__} is a torch module, and what it returns must be named:"
            " from_torch(net) for a distribution, from_torch(net, method='log_prob',"
            " y=..., x=...) for a log-density, from_torch(lambda x:"
            " torch.distributions.Normal(net(x), std)) for means."
        )
    return None


def _read_device(device: Any) -> Any:
    """Return a device of torch, by its name or as it is."""
    try:
        return torch_module().device(device)
    except (RuntimeError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"device={shown(device)} is no device of torch: {reason}"
        ) from error


def _network(
    model: Any,
    *,
    batch_size: int = Network.size,
    modules: Any = None,
    dtype: Any = None,
    device: Any = None,
) -> TorchNetwork:
    """Find the networks of a model, and where and in which precision they compute."""
    torch = torch_module()
    named = [modules] if isinstance(modules, torch.nn.Module) else modules or ()
    found = reachable(model)
    networks = (*named, *(item for item in found if isinstance(item, torch.nn.Module)))
    tensors: list[Any] = []
    for network in networks:
        tensors += [*network.parameters(), *network.buffers()]
    tensors += [item for item in found if isinstance(item, torch.Tensor)]
    # A model without parameters or tensors computes in double precision, on the CPU.
    default = torch.empty(0, dtype=torch.float64, device="cpu")
    like = next((tensor for tensor in tensors if tensor.is_floating_point()), default)
    return TorchNetwork(
        size=batch_size,
        modules=networks,
        dtype=dtype or like.dtype,
        device=like.device if device is None else _read_device(device),
    )


def reachable(thing: object) -> list[Any]:
    """Return the networks and tensors that a user's function works with, in any place.

    The search goes breadth first through what Python's garbage collector would visit.
    """
    leaves = (torch_module().nn.Module, torch_module().Tensor)
    visited: dict[int, Any] = {}
    queue = [thing]
    for item in queue:  # which grows meanwhile
        if id(item) not in visited and len(visited) < MAX_VISITED:
            visited[id(item)] = item
            if not isinstance(item, leaves):
                queue += _referents(item)
    return [item for item in visited.values() if isinstance(item, leaves)]


def _referents(item: object) -> list[Any]:
    """Return the objects that an object refers to."""
    if isinstance(item, (type, types.ModuleType, types.FrameType)):
        return []  # these lead to everything that was imported
    if not isinstance(item, types.FunctionType):
        return gc.get_referents(item)
    held = [item.__defaults__, item.__kwdefaults__, item.__closure__, vars(item)]
    # Of a function's globals, only those that its code names.
    codes = [item.__code__]
    for code in codes:  # which grows, by functions that are defined inside
        codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
    for code in codes:
        for name in code.co_names:
            if name in item.__globals__:
                held.append(item.__globals__[name])
    return held
