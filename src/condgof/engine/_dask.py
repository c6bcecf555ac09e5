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
    """An item for a cluster whose parts stay there: a task gets ``(value, parts)``, computed."""

    #: What travels with the item.
    value: Any
    #: Dask collections that a worker computes, or holds already.
    parts: tuple[Any, ...]


#: How often a value that was lost is asked for again. A task that kills its worker each
#: time (it runs out of memory, say) must end in an error at last.
ATTEMPTS = 3


@dataclass(frozen=True)
class Cluster(Workers):
    """Run tasks on the workers of the user's `dask.distributed.Client`, which is never closed."""

    client: Any
    #: Tasks leave this process: send them rows in large spans, and no more than they need.
    remote: ClassVar[bool] = True

    @property
    def local(self) -> Threads:
        """This machine's threads, for work that is too small to send."""
        return Threads(cores())

    def _run(
        self, task: Run, items: Iterable[Any], in_order: bool, most: int | None = None
    ) -> Pairs:
        sent, waiting = _Sent(self.client, task, in_order), deque[tuple[Any, Any]]()
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
    def __init__(self, client: Any, task: Callable[[Any], Any], in_order: bool) -> None:
        self.client, self.task, self.in_order = client, task, in_order
        self.renew()

    def renew(self) -> None:
        # Scattering to no worker is an error in Dask, and a queue (SLURM) may yet bring the
        # first.
        self.client.wait_for_workers(1)
        self.future = self.client.scatter(self.task, broadcast=True, hash=False)

    def submit(self, item: Any) -> Any:
        check_open(self.client)
        value, parts = (
            (item.value, item.parts) if isinstance(item, Deferred) else (item, ())
        )
        computed = self.client.compute(list(parts)) if parts else ()
        return self.client.submit(_on_worker, self.future, value, *computed, pure=False)

    def take(self, waiting: deque[tuple[Any, Any]]) -> tuple[Any, Any]:
        """Take the first of what is waiting, or the first that is there, with its value."""
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
                # Every worker that had the task is gone, or this item was caught in too
                # many deaths.
                self._again(waiting)
        waiting.popleft()
        return item, value

    def _again(self, waiting: deque[tuple[Any, Any]]) -> None:
        self.renew()
        for i, (item, future) in enumerate(waiting):
            if future.status != "finished":
                future.cancel()
                waiting[i] = item, self.submit(item)


def _on_worker(task: Callable[[Any], Any], item: Any, *parts: Any) -> Any:
    """Run on a worker, with the parts of a deferred item: one BLAS thread, as in our own threads."""
    with single_threaded_blas():
        return task((item, parts) if parts else item)


def check_open(client: Any) -> None:
    """Refuse a client that is closed, on which Dask fails with whatever comes first, or waits."""
    if getattr(client, "status", "running") in ("closed", "closing"):
        raise InputError("engine is a Dask client that is closed. Pass one that is open.")
