"""This machine's threads, with BLAS held to one thread inside them."""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from threadpoolctl import ThreadpoolController

from condgof.errors import InputError, InputTypeError, check_object

if TYPE_CHECKING:
    from condgof.engine._dask import Cluster

Task = TypeVar("Task")
Value = TypeVar("Value")


class _SingleThreadedBlas:
    """Hold BLAS to one thread while anybody is inside.

    The limit is process-wide, so two calls from two user threads must not restore it under each
    other: the first one in sets it, the last one out puts the user's own setting back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = self._modules = 0
        self._controller: ThreadpoolController | None = None
        self._limiter: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                if self._controller is None or self._modules != len(sys.modules):
                    # Anew where something was imported since: it may have brought a BLAS.
                    self._controller, self._modules = ThreadpoolController(), len(sys.modules)
                self._limiter = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limiter.restore_original_limits()


single_threaded_blas = _SingleThreadedBlas()


@dataclass(frozen=True)
class Threads:
    """Run tasks on `count` of this machine's threads; with one, in this very thread."""

    count: int
    #: Tasks stay in this process, where all rows can be seen.
    remote: ClassVar[bool] = False

    @property
    def local(self) -> Threads:
        return self

    def map(
        self, task: Callable[[Task], Value], items: Iterable[Task], *, most: int | None = None
    ) -> Iterator[Value]:
        """Apply `task` to every item and yield the values in the order of the items.

        Only a few results wait at any time. At most `most` threads are used (a memory budget may ask).
        """
        count = self.count if most is None else max(1, min(self.count, most))
        with single_threaded_blas():
            for _, value in shared_out([task] * count, items, in_order=True):
                yield value

    def completed(
        self, task: Callable[[Task], Value], items: Iterable[Task]
    ) -> Iterator[tuple[Task, Value]]:
        """Apply `task` to every item and yield each item with its value as soon as that is there."""
        with single_threaded_blas():
            yield from shared_out([task] * self.count, items)


def shared_out(
    runners: Sequence[Callable[[Task], Value]],
    items: Iterable[Task],
    *,
    in_order: bool = False,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Task, Value]]:
    """Let whichever runner is free take the next item; `stop` ends what they are still busy with."""
    if len(runners) == 1:
        for item in items:
            yield item, runners[0](item)
        return
    free: SimpleQueue[Callable[[Task], Value]] = SimpleQueue()
    for runner in runners:
        free.put(runner)

    def run(item: Task) -> tuple[Task, Value]:
        runner = free.get()
        try:
            return item, runner(item)
        finally:
            free.put(runner)

    def take() -> tuple[Task, Value]:
        if not in_order:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            waiting.rotate(-next(i for i, future in enumerate(waiting) if future in done))
        return waiting.popleft().result()

    pool = ThreadPoolExecutor(len(runners), thread_name_prefix="condgof")
    waiting: deque[Future[tuple[Task, Value]]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(run, item))
            if len(waiting) > 2 * len(runners):
                yield take()
        while waiting:
            yield take()
    finally:
        stop()
        pool.shutdown(wait=True, cancel_futures=True)


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def as_engine(engine: Any) -> Threads | Cluster:
    """Turn `engine` (None for all cores, a number of threads, a Dask client) into what runs tasks."""
    if engine is None:
        return Threads(cores())
    if isinstance(engine, Threads):
        return engine
    from condgof.engine._dask import Cluster, check_open

    if isinstance(engine, Cluster):
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
