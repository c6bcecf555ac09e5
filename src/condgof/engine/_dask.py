"""A Dask cluster: tasks go to its workers, values come back.

Dask schedules; here the number of tasks that are out is bounded, and what a dead worker held is redone.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from condgof.engine._threads import Threads, cores, single_threaded_blas
from condgof.errors import InputError


@dataclass(frozen=True, eq=False)
class Deferred:
    """An item for a cluster whose parts stay there: a task gets ``(value, parts)``, computed."""

    #: What travels with the item.
    value: Any
    #: Dask collections that a worker computes, or holds already.
    parts: tuple[Any, ...]


Task = TypeVar("Task")
Value = TypeVar("Value")

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
        sent = _Sent(self.client, task)
        waiting: deque[tuple[Task, Any]] = deque()
        try:
            for item in items:
                waiting.append((item, sent.submit(item)))
                # Counted anew each time: workers come and go.
                if len(waiting) > 2 * max(2, sum(self.client.nthreads().values())):
                    yield sent.value(waiting)
            while waiting:
                yield sent.value(waiting)
        finally:
            if waiting and self.client.status == "running":
                self.client.cancel([future for _, future in waiting])

    def completed(
        self, task: Callable[[Task], Value], items: Iterable[Task]
    ) -> Iterator[tuple[Task, Value]]:
        """Apply `task` to every item and yield each item with its value as soon as that is there."""
        from distributed import CancelledError, KilledWorker, as_completed

        sent, source = _Sent(self.client, task), iter(items)
        running: dict[Any, tuple[Task, int]] = {}
        arrivals: Any = as_completed()  # type: ignore[no-untyped-call]

        def hand_in(item: Task, attempt: int) -> None:
            future = sent.submit(item)
            running[future] = item, attempt
            arrivals.add(future)

        def top_up() -> None:
            most = 2 * max(2, sum(self.client.nthreads().values()))
            for item in itertools.islice(source, max(0, most - len(running))):
                hand_in(item, 1)

        try:
            top_up()
            for future in arrivals:
                item, attempt = running.pop(future)
                try:
                    value = future.result()
                except (CancelledError, KilledWorker):
                    if attempt == ATTEMPTS:
                        raise
                    sent.renew()
                    hand_in(item, attempt + 1)
                    continue
                yield item, value
                top_up()
        finally:
            if running:
                self.client.cancel(list(running))


class _Sent:
    """A task that was sent to all workers."""

    def __init__(self, client: Any, task: Callable[[Any], Any]) -> None:
        self.client, self.task = client, task
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

    def value(self, waiting: deque[tuple[Any, Any]]) -> Any:
        """Take the first of what is waiting, and return its value when it is there."""
        from distributed import CancelledError, KilledWorker

        for attempt in range(ATTEMPTS + 1):
            try:
                value = waiting[0][1].result()
                break
            except (CancelledError, KilledWorker):
                if attempt == ATTEMPTS:
                    raise
                # Every worker that had the task is gone, or this item was caught in too many deaths.
                self._again(waiting)
        waiting.popleft()
        return value

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
