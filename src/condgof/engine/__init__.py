"""Where the work runs. Only this room knows about threads and clusters."""

from condgof.engine._as_engine import Engine, as_engine, as_workers
from condgof.engine._dask import Cluster
from condgof.engine._deferred import Deferred
from condgof.engine._processes import Crew, Processes, WorkerError, can_send
from condgof.engine._progress import stages, with_progress
from condgof.engine._threads import Threads, single_threaded_blas

__all__ = [
    "Cluster",
    "Crew",
    "Deferred",
    "Engine",
    "Processes",
    "Threads",
    "WorkerError",
    "as_engine",
    "as_workers",
    "can_send",
    "single_threaded_blas",
    "stages",
    "with_progress",
]
