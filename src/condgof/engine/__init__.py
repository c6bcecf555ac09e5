"""Where the work runs. Only this package knows threads, processes and clusters."""

from __future__ import annotations

from typing import TypeAlias

from condgof.engine._dask import ATTEMPTS, Cluster, Deferred, SentTask
from condgof.engine._processes import Processes, WorkerError, can_send
from condgof.engine._progress import stages, with_progress
from condgof.engine._threads import Threads, as_engine, single_threaded_blas

__all__ = [
    "ATTEMPTS",
    "Cluster",
    "Deferred",
    "Engine",
    "Processes",
    "SentTask",
    "Threads",
    "WorkerError",
    "as_engine",
    "as_workers",
    "can_send",
    "single_threaded_blas",
    "stages",
    "with_progress",
]

Engine: TypeAlias = Threads | Cluster


def as_workers(engine: object) -> Processes | Cluster:
    """Turn the `engine` argument of a study into something that runs independent tasks."""
    chosen = as_engine(engine)
    return Processes(chosen.count) if isinstance(chosen, Threads) else chosen
