"""Where the work runs. Only this room knows about threads, processes and clusters."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

from condgof.engine._dask import Cluster, Deferred, check_open
from condgof.engine._processes import Crew, Processes, WorkerError, can_send
from condgof.engine._progress import stages, with_progress
from condgof.engine._threads import Threads, cores, single_threaded_blas
from condgof.errors import InputError, InputTypeError, check_object

__all__ = [
    "Cluster", "Crew", "Deferred", "Engine", "Processes", "Threads", "WorkerError", "as_engine",
    "as_workers", "can_send", "single_threaded_blas", "stages", "with_progress",
]  # fmt: skip

Engine: TypeAlias = Threads | Cluster


def as_engine(engine: Any) -> Engine:
    """Turn `engine` (None for all cores, a number of threads, a Dask client) into what runs tasks."""
    if engine is None:
        return Threads(cores())
    if isinstance(engine, (Threads, Cluster)):
        return engine
    check_object(engine, "engine")
    # A Dask client is told by what it can do, without importing Dask.
    if all(hasattr(engine, name) for name in ("scatter", "submit", "scheduler_info")):
        if getattr(engine, "asynchronous", False):
            raise InputTypeError(
                "engine is an asynchronous Dask client, and condgof waits for its results. "
                "Pass a Client that was made with asynchronous=False."
            )
        check_open(engine)
        return Cluster(engine)
    try:
        count = operator.index(engine)
    except TypeError as error:
        raise InputTypeError(
            "engine must be None (all cores), a number of threads or a dask.distributed.Client, "
            f"got {type(engine).__name__}."
        ) from error
    if count < 1:
        raise InputError(f"engine must be at least 1 thread, got {count}.")
    return Threads(count)


def as_workers(engine: Any) -> Processes | Cluster:
    """Turn the `engine` argument of a study into something that runs independent tasks."""
    chosen = as_engine(engine)
    return Processes(chosen.count) if isinstance(chosen, Threads) else chosen
