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
from functools import lru_cache
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from threadpoolctl import ThreadpoolController

from condgof.errors import InputError, InputTypeError, check_object

if TYPE_CHECKING:
    from condgof.engine._dask import Cluster

Task = TypeVar("Task")
Value = TypeVar("Value")
Run: TypeAlias = Callable[[Any], Any]
Pairs: TypeAlias = Iterator[tuple[Any, Any]]


@lru_cache(1)
def _controller(modules: int) -> Any:
    """Find the BLAS libraries.

    `modules` is the number of modules that are imported: another number means another
    search, because a new module may have brought a BLAS library.
    """
    return ThreadpoolController()


class _SingleThreadedBlas:
    """Hold BLAS to one thread while anybody is inside.

    The limit is process-wide, so two calls from two user threads must not restore it under
    each other: the first one in sets it, the last one out puts the user's own setting back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limiter: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._limiter = _controller(len(sys.modules)).limit(
                    limits=1, user_api="blas"
                )
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limiter.restore_original_limits()


single_threaded_blas = _SingleThreadedBlas()


class Workers:
    """What runs tasks, wherever that is."""

    def map(
        self,
        task: Callable[[Task], Value],
        items: Iterable[Task],
        *,
        most: int | None = None,
    ) -> Iterator[Value]:
        """Apply `task` to every item and yield the values in the order of the items.

        Only a few items and values wait at any time. An error that a task raises is raised
        here. At most `most` of this machine's threads are used, which a memory budget may
        ask for.
        """
        return (value for _, value in self._run(task, items, True, most))

    def completed(
        self, task: Callable[[Task], Value], items: Iterable[Task]
    ) -> Iterator[tuple[Task, Value]]:
        """Apply `task` to every item and yield each item with its value when ready."""
        return self._run(task, items, False)

    def _run(
        self, task: Run, items: Iterable[Any], in_order: bool, most: int | None = None
    ) -> Pairs:
        raise NotImplementedError


@dataclass(frozen=True)
class Threads(Workers):
    """Run tasks on `count` of this machine's threads; with one, in this very thread."""

    count: int
    #: Tasks stay in this process, where all rows can be seen.
    remote: ClassVar[bool] = False

    @property
    def local(self) -> Threads:
        return self

    def _run(
        self, task: Run, items: Iterable[Any], in_order: bool, most: int | None = None
    ) -> Pairs:
        count = self.count if most is None else max(1, min(self.count, most))
        with single_threaded_blas():
            yield from shared_out([task] * count, items, in_order)


def shared_out(
    runners: Sequence[Callable[[Task], Value]],
    items: Iterable[Task],
    in_order: bool,
    stop: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Task, Value]]:
    """Let whichever runner is free take the next item, and yield items with their values.

    `stop` ends what runners are still busy with when nobody asks for further values.
    """
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
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def as_engine(engine: Any) -> Threads | Cluster:
    """Turn the `engine` argument into what runs tasks.

    It is None (all cores), a number of threads, or a Dask client.
    """
    from condgof.engine._dask import Cluster, check_open

    if engine is None:
        return Threads(cores())
    if isinstance(engine, (Threads, Cluster)):
        return engine
    check_object(engine, "engine")
    # A Dask client is recognised by its methods, without importing Dask.
    if all(hasattr(engine, name) for name in ("scatter", "submit", "scheduler_info")):
        if getattr(engine, "asynchronous", False):
            raise InputTypeError(
                "engine is an asynchronous Dask client. Pass one with asynchronous=False."
            )
        check_open(engine)
        return Cluster(engine)
    try:
        if isinstance(engine, bool):
            raise TypeError("a truth value")
        count = operator.index(engine)
    except TypeError as error:
        wanted = "None (all cores), a number of threads or a dask.distributed.Client"
        raise InputTypeError(
            f"engine must be {wanted}, got {type(engine).__name__}."
        ) from error
    if count < 1:
        raise InputError(f"engine must be at least 1 thread, got {count}.")
    return Threads(count)
