"""A Dask cluster: tasks go to its workers, values come back.

Dask schedules; here the number of tasks that are out is bounded, and what a dead worker held is redone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from condgof.engine._threads import Task, Threads, Value, cores, single_threaded_blas
from condgof.errors import InputError


@dataclass(frozen=True, eq=False)
class Deferred:
    """An item for a cluster whose parts stay there: a task gets ``(value, parts)``, computed."""

    #: What travels with the item.
    value: Any
    #: Dask collections that a worker computes, or holds already.
    parts: tuple[Any, ...]


#: How often a value that was lost is asked for again. A task that kills its worker each time (it
#: runs out of memory, say) must end in an error at last.
ATTEMPTS = 3


@dataclass(frozen=True)
class Cluster:
    """Run tasks on the workers of the user's `dask.distributed.Client`, which is never closed."""

    client: Any
    #: Tasks leave this process: send them rows in large spans, and no more than they need.
    remote: ClassVar[bool] = True

    @property
    def local(self) -> Threads:
        """This machine's threads, for work that is too small to send."""
        return Threads(cores())

    def map(
        self, task: Callable[[Task], Value], items: Iterable[Task], *, most: int | None = None
    ) -> Iterator[Value]:
        """Apply `task` to every item on the workers and yield the values in the order of the items.

        The task is sent once, to all workers; only a few items are out at any time. An error that a task
        raises is raised here; tasks of a worker that died are tried again. `most` guards this machine's
        memory and is not used.
        """
        return (value for _, value in self._values(_Sent(self.client, task), items))

    def completed(
        self, task: Callable[[Task], Value], items: Iterable[Task]
    ) -> Iterator[tuple[Task, Value]]:
        """Apply `task` to every item and yield each item with its value as soon as that is there."""
        return self._values(_Sent(self.client, task, in_order=False), items)

    def _values(self, sent: _Sent, items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        waiting: deque[tuple[Any, Any]] = deque()
        try:
            for item in items:
                waiting.append((item, sent.submit(item)))
                # Counted anew each time: workers come and go.
                if len(waiting) > 2 * max(2, sum(self.client.nthreads().values())):
                    yield sent.take(waiting)
            while waiting:
                yield sent.take(waiting)
        finally:
            if waiting and self.client.status == "running":
                self.client.cancel([future for _, future in waiting])


class _Sent:
    """A task that was sent to all workers."""

    def __init__(self, client: Any, task: Callable[[Any], Any], *, in_order: bool = True) -> None:
        self.client, self.task, self.in_order = client, task, in_order
        self.renew()

    def renew(self) -> None:
        """Send the task, also where the workers that had it are gone."""
        # Scattering to no worker is an error in Dask, and a queue (SLURM) may yet bring the first.
        self.client.wait_for_workers(1)
        self.future = self.client.scatter(self.task, broadcast=True, hash=False)

    def submit(self, item: Any) -> Any:
        """Hand in one item; the parts of a deferred one are computed by the cluster and stay there."""
        check_open(self.client)
        if not isinstance(item, Deferred):
            return self.client.submit(_run, self.future, item, pure=False)
        parts = self.client.compute(list(item.parts))
        return self.client.submit(_run, self.future, item.value, *parts, pure=False)

    def take(self, waiting: deque[tuple[Any, Any]]) -> tuple[Any, Any]:
        """Take the first of what is waiting, or the first that is there, with its value."""
        from distributed import CancelledError, KilledWorker, wait

        for attempt in range(ATTEMPTS + 1):
            try:
                if not self.in_order:
                    futures = [future for _, future in waiting]
                    wait(futures, return_when="FIRST_COMPLETED")  # type: ignore[no-untyped-call]
                    there = (i for i, future in enumerate(futures) if future.done())
                    waiting.rotate(-next(there, 0))
                item, future = waiting[0]
                value = future.result()
                break
            except (CancelledError, KilledWorker):
                if attempt == ATTEMPTS:
                    raise
                # Every worker that had the task is gone, or this item was caught in too many deaths.
                self._again(waiting)
        waiting.popleft()
        return item, value

    def _again(self, waiting: deque[tuple[Any, Any]]) -> None:
        """Send the task again, and hand in again what has no value yet."""
        self.renew()
        for i, (item, future) in enumerate(waiting):
            if future.status != "finished":
                future.cancel()
                waiting[i] = item, self.submit(item)


def _run(task: Callable[[Any], Value], item: Any, *parts: Any) -> Value:
    """Run on a worker, with the parts of a deferred item: one BLAS thread, as in our own threads."""
    with single_threaded_blas():
        return task((item, parts) if parts else item)


def check_open(client: Any) -> None:
    """Refuse a client that is closed, on which Dask fails with whatever comes first, or waits."""
    if getattr(client, "status", "running") in ("closed", "closing"):
        raise InputError("engine is a Dask client that is closed. Pass one that is open.")
