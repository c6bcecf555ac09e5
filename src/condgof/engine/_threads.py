"""This machine's threads, with BLAS held to one thread inside them."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from threadpoolctl import ThreadpoolController

Task = TypeVar("Task")
Value = TypeVar("Value")


class _SingleThreadedBlas:
    """Hold BLAS to one thread while anybody is inside.

    The limit is process-wide, so two calls from two user threads must not restore it under each
    other: the first one in sets it, the last one out puts the user's own setting back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._controller: ThreadpoolController | None = None
        self._modules = 0
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
                    self._limiter = None


single_threaded_blas = _SingleThreadedBlas()


@dataclass(frozen=True)
class Threads:
    """Run tasks on `count` of this machine's threads."""

    count: int
    #: Tasks stay in this process, where all rows can be seen.
    remote: ClassVar[bool] = False

    @property
    def local(self) -> Threads:
        """These threads."""
        return self

    def map(
        self, task: Callable[[Task], Value], items: Iterable[Task], *, most: int | None = None
    ) -> Iterator[Value]:
        """Apply `task` to every item and yield the values in the order of the items.

        Only a few results wait at any time. At most `most` threads are used (a memory budget may ask).
        """
        count = self.count if most is None else max(1, min(self.count, most))
        with single_threaded_blas():
            if count == 1:
                yield from map(task, items)
                return
            pool = ThreadPoolExecutor(count, thread_name_prefix="condgof")
            waiting: deque[Future[Value]] = deque()
            try:
                for item in items:
                    waiting.append(pool.submit(task, item))
                    if len(waiting) > 2 * count:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
