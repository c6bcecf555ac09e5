"""A Dask cluster: tasks go to its workers, values come back.

Dask schedules; here the number of tasks that are out is bounded, and what a dead worker
held is redone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from condgof.engine._threads import (
    Pairs,
    Run,
    Threads,
    Workers,
    cores,
    single_threaded_blas,
)
from condgof.errors import InputError


@dataclass(frozen=True, eq=False)
class Deferred:
    """An item whose parts stay on the cluster: a task gets ``(value, computed parts)``."""

    #: What travels with the item.
    value: Any
    #: Dask collections that a worker computes, or holds already.
    parts: tuple[Any, ...]


#: How often a value that was lost is asked for again. A task that kills its worker each
#: time (it runs out of memory, say) must end in an error at last.
ATTEMPTS = 3


@dataclass(frozen=True)
class Cluster(Workers):
    """Run tasks on the workers of the user's Dask client, which is never closed."""

    client: Any  #: A `dask.distributed.Client`.
    #: Tasks leave this process: send them rows in large spans, and no more than they need.
    remote: ClassVar[bool] = True

    @property
    def local(self) -> Threads:
        """This machine's threads, for work that is too small to send."""
        return Threads(cores())

    def _run(
        self, task: Run, items: Iterable[Any], in_order: bool, most: int | None = None
    ) -> Pairs:
        sent = SentTask(self.client, task, in_order)
        waiting = deque[tuple[Any, Any]]()
        try:
            for item in items:
                waiting.append((item, sent.submit(item)))
                # The workers are counted each time, because they come and go.
                if len(waiting) > 2 * max(2, sum(self.client.nthreads().values())):
                    yield sent.take(waiting)
            while waiting:
                yield sent.take(waiting)
        finally:
            if waiting and self.client.status == "running":
                self.client.cancel([future for _, future in waiting])


class SentTask:
    """A task that all workers hold, and the items that it is applied to."""

    def __init__(self, client: Any, task: Callable[[Any], Any], in_order: bool) -> None:
        self.client = client
        self.task = task
        self.in_order = in_order
        self.renew()

    def renew(self) -> None:
        """Send the task to all workers."""
        # Scattering to no worker is an error in Dask, and a queue (SLURM) may start the
        # first worker later.
        self.client.wait_for_workers(1)
        self.future = self.client.scatter(self.task, broadcast=True, hash=False)

    def submit(self, item: Any) -> Any:
        """Apply the task to an item on some worker; return the future of its value."""
        check_open(self.client)
        value = item.value if isinstance(item, Deferred) else item
        parts = item.parts if isinstance(item, Deferred) else ()
        computed = self.client.compute(list(parts)) if parts else ()
        return self.client.submit(_on_worker, self.future, value, *computed, pure=False)

    def take(self, waiting: deque[tuple[Any, Any]]) -> tuple[Any, Any]:
        """Take an item and its value: the first that waits, or the first that is ready."""
        from distributed import CancelledError, KilledWorker, wait

        for attempt in range(ATTEMPTS + 1):
            try:
                if not self.in_order:
                    futures = [future for _, future in waiting]
                    wait(futures, return_when="FIRST_COMPLETED")  # type: ignore[no-untyped-call]
                    waiting.rotate(-next((i for i, f in enumerate(futures) if f.done()), 0))
                item, future = waiting[0]
                value = future.result()
                break
            except (CancelledError, KilledWorker):
                if attempt == ATTEMPTS:
                    raise
                # Every worker that had the task is gone, or too many workers died with
                # this item.
                self.resend(waiting)
        waiting.popleft()
        return item, value

    def resend(self, waiting: deque[tuple[Any, Any]]) -> None:
        """Send the task again, and all items whose values are not there."""
        self.renew()
        for i, (item, future) in enumerate(waiting):
            if future.status != "finished":
                future.cancel()
                waiting[i] = item, self.submit(item)


def _on_worker(task: Callable[[Any], Any], item: Any, *parts: Any) -> Any:
    """Run a task on a worker with one BLAS thread, as in the threads of this machine."""
    with single_threaded_blas():
        return task((item, parts) if parts else item)


def check_open(client: Any) -> None:
    """Refuse a client that is closed: Dask would fail in odd ways, or wait for ever."""
    if getattr(client, "status", "running") in ("closed", "closing"):
        raise InputError("engine is a Dask client that is closed. Pass one that is open.")
