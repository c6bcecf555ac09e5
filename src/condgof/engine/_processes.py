"""This machine's cores as processes, for many small tasks that have nothing to do with each other.

The workers are programs of their own that talk through pipes. Against `multiprocessing` this has three
gains: the user's script is not imported anew (it needs no ``if __name__ == "__main__"``), a worker ends
by itself when its parent was killed (its pipe closes), and no worker holds a file or a lock of its
parent.
"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from condgof.engine._threads import single_threaded_blas
from condgof.errors import CondgofError

Task = TypeVar("Task")
Value = TypeVar("Value")

#: Read by the BLAS libraries when they load: a worker is one core's worth.
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS")}

_END = object()


class WorkerError(CondgofError, RuntimeError):
    """A worker process died."""


@dataclass(frozen=True)
class Processes:
    """Run tasks in a number of processes; with one, in this very process.

    Parameters
    ----------
    count : int
        How many.
    """

    count: int

    def completed(
        self, task: Callable[[Task], Value], items: Iterable[Task]
    ) -> Iterator[tuple[Task, Value]]:
        """Apply `task` to every item and yield each item with its value as soon as that is there.

        A task that cannot be sent to another process (it holds a lambda, and cloudpickle, which could
        send it, is not installed) runs in as many threads.

        Parameters
        ----------
        task : callable
            What to do with an item; must not depend on where it runs.
        items : iterable
            The items.
        """
        if self.count == 1:
            with single_threaded_blas():
                for item in items:
                    yield item, task(item)
            return
        payload = _pickled(task)
        if payload is None:
            with single_threaded_blas():
                yield from _crew([_Here(task) for _ in range(self.count)], items)
        else:
            yield from _crew([_Worker(payload) for _ in range(self.count)], items)


@dataclass(frozen=True)
class Crew:
    """Run tasks in a number of threads of this process; with one, in this very thread.

    For tasks that spend their time outside Python; what they share they must be able to share.

    Parameters
    ----------
    count : int
        How many.
    """

    count: int

    def completed(
        self, task: Callable[[Task], Value], items: Iterable[Task]
    ) -> Iterator[tuple[Task, Value]]:
        """Apply `task` to every item and yield each item with its value as soon as that is there."""
        with single_threaded_blas():
            if self.count == 1:
                for item in items:
                    yield item, task(item)
            else:
                yield from _crew([_Here(task) for _ in range(self.count)], items)


def can_send(task: Any) -> bool:
    """Whether a task can be sent to another process."""
    return _pickled(task) is not None


def _pickled(task: Any) -> bytes | None:
    """Return the task as bytes that another process can read, or None."""
    try:
        pickler = importlib.import_module("cloudpickle")
    except ImportError:
        pickler = pickle
    try:
        data: bytes = pickler.dumps(task)
    except Exception:  # what cannot be pickled says so in many ways
        return None
    # Plain pickle names what the user's script defines, and a worker has another __main__.
    return None if pickler is pickle and b"__main__" in data else data


def _crew(workers: list[Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Let each worker take the next item when it is free; a thread waits for each of them."""
    source, turn, stop = iter(items), threading.Lock(), threading.Event()
    done: SimpleQueue[tuple[Any, Any, BaseException | None]] = SimpleQueue()

    def serve(worker: Any) -> None:
        try:
            while not stop.is_set():
                with turn:
                    item = next(source, _END)
                if item is _END:
                    break
                done.put((item, worker.run(item), None))
        except BaseException as error:
            done.put((None, None, error))
        else:
            done.put((_END, None, None))

    threads = [threading.Thread(target=serve, args=(w,), daemon=True) for w in workers]
    try:
        for thread in threads:
            thread.start()
        busy = len(threads)
        while busy:
            item, value, error = done.get()
            if error is not None:
                raise error
            if item is _END:
                busy -= 1
            else:
                yield item, value
    finally:
        stop.set()
        for worker in workers:
            worker.close()
        for thread in threads:
            thread.join()


class _Here:
    """A worker that is a thread of this process."""

    def __init__(self, task: Callable[[Any], Any]) -> None:
        self.run = task

    def close(self) -> None:
        """Nothing to end."""


class _Worker:
    """A process that runs `condgof.engine._worker`."""

    def __init__(self, payload: bytes) -> None:
        # Its own path first, so that it finds condgof and the user's modules where this process does.
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; from condgof.engine._worker import serve; serve()"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
        )
        self._payload: bytes | None = payload

    def run(self, item: Any) -> Any:
        """Send one item and wait for its value."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            if self._payload is not None:
                pickle.dump(self._payload, stdin)
                self._payload = None
            pickle.dump(item, stdin)
            stdin.flush()
            fine, value = pickle.load(stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            self._process.kill()
            raise WorkerError(
                f"A worker process died (exit code {self._process.wait()}) at {item}. "
                "If memory ran out, use fewer workers."
            ) from error
        if fine:
            return value
        raise value

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:
                pass  # what was still to be sent has no reader any more
