"""Leaving torch as it was found, and finding the networks that a user's function works with."""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from condgof.errors import require

#: Modes and random states belong to the process: two threads must not change them at once.
LOCK = threading.RLock()
#: How many objects a search for networks looks at.
MOST = 2000


def torch_module() -> Any:
    """Import torch, or say how to install it."""
    return require("torch", "torch", "A torch model")


@contextmanager
def undisturbed(modules: tuple[Any, ...], device: Any) -> Iterator[None]:
    """Evaluate networks and leave no trace.

    Inside, every submodule is in evaluation mode, gradients can be taken (whatever the caller's mode
    is), and there is no autocasting. Afterwards each submodule has its own mode again, and the global
    random state is what it was.

    Parameters
    ----------
    modules : tuple of nn.Module
        The networks.
    device : torch.device
        Where they are.
    """
    torch = torch_module()
    parts = list({id(p): p for module in modules for p in module.modules()}.values())
    elsewhere = [] if device.type == "cpu" else [device]
    with LOCK:
        # The flag itself, not train(): that is often overridden, with effects that would stay.
        modes = [part.training for part in parts]
        fork = torch.random.fork_rng(devices=elsewhere, device_type=_random_type(device))
        try:
            for part in parts:
                part.training = False
            with (
                fork,
                torch.inference_mode(False),
                torch.enable_grad(),
                torch.autocast(device.type, enabled=False),
            ):
                yield
        finally:
            for part, mode in zip(parts, modes, strict=True):
                part.training = mode


def _random_type(device: Any) -> str:
    return "cuda" if device.type == "cpu" else str(device.type)


def seed_all(seed: int, device: Any) -> None:
    """Seed the generators of the CPU and of a device; only inside `undisturbed`."""
    torch = torch_module()
    # Not torch.manual_seed, which reaches every device of the machine.
    torch.default_generator.manual_seed(seed)
    if device.type != "cpu":
        getattr(torch, device.type).manual_seed(seed)


def dtype_and_device(modules: Iterable[Any], tensors: Iterable[Any]) -> tuple[Any, Any]:
    """Return where a model computes: as its parameters, its tensors, or in double precision here."""
    torch = torch_module()
    for module in modules:
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point():
                return tensor.dtype, tensor.device
    for tensor in tensors:
        if tensor.is_floating_point():
            return tensor.dtype, tensor.device
    return torch.float64, torch.device("cpu")


def reachable(thing: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Find the networks and tensors that a user's function works with.

    Looked through: closures, globals that the code names, defaults, partial arguments, the object of
    a bound method, attributes, and plain containers.

    Returns
    -------
    modules, tensors : tuples
    """
    torch = torch_module()
    modules: list[Any] = []
    tensors: list[Any] = []
    seen: set[int] = set()
    queue = [thing]
    while queue and len(seen) < MOST:
        item = queue.pop(0)
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, torch.nn.Module):
            modules.append(item)
        elif isinstance(item, torch.Tensor):
            tensors.append(item)
        else:
            queue += _inside(item)
    return tuple(modules), tuple(tensors)


def _inside(item: Any) -> list[Any]:
    if isinstance(item, (list, tuple, set, frozenset)):
        return list(item)
    if isinstance(item, dict):
        return list(item.values())
    if isinstance(item, functools.partial):
        return [item.func, *item.args, *item.keywords.values()]
    if isinstance(item, types.MethodType):
        return [item.__self__, item.__func__]
    if isinstance(item, types.FunctionType):
        return _of_function(item)
    if isinstance(item, (type, types.ModuleType, str, bytes, int, float)) or inspect.isbuiltin(item):
        return []
    return [*getattr(item, "__dict__", {}).values()]


def _of_function(function: types.FunctionType) -> list[Any]:
    found: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # a variable that is not set yet
            continue
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
        found += [function.__globals__[name] for name in code.co_names if name in function.__globals__]
    if hasattr(function, "__wrapped__"):
        found.append(function.__wrapped__)
    return found
