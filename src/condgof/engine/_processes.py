"""This machine's cores as processes, for many small and independent tasks.

The workers are programs of their own that talk through pipes. Against `multiprocessing`
this has three gains: the user's script is not imported anew (it needs no ``if __name__ ==
"__main__"``), a worker ends by itself when its parent was killed (its pipe closes), and no
worker holds a file or a lock of its parent.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from condgof.engine._threads import Pairs, Run, Threads, Workers, shared_out
from condgof.errors import CondgofError

#: Read by the BLAS libraries when they load: a worker is one core's worth.
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS")}


class WorkerError(CondgofError, RuntimeError):
    """A worker process died."""


@dataclass(frozen=True)
class Processes(Workers):
    """Run tasks in `count` processes; with one, in this very process.

    A task that cannot be sent (a lambda, without cloudpickle) runs in as many threads.
    """

    count: int

    def _run(
        self, task: Run, items: Iterable[Any], in_order: bool, most: int | None = None
    ) -> Pairs:
        payload = None if self.count == 1 else _pickled(task)
        if payload is None:
            yield from Threads(self.count).completed(task, items)
            return
        workers = [_Worker(payload) for _ in range(self.count)]

        def stop() -> None:
            for worker in workers:
                worker.close()

        yield from shared_out([worker.run for worker in workers], items, in_order, stop)


def can_send(task: object) -> bool:
    """Whether a task can be sent to another process."""
    return _pickled(task) is not None


def _pickled(task: object) -> bytes | None:
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


class _Worker:
    """A process that holds a task, and applies it to items that it is sent."""

    def __init__(self, payload: bytes) -> None:
        # The worker takes over sys.path, so that it finds condgof and the user's modules
        # where this process does.
        start = "from condgof.engine._processes import serve; serve()"
        code = f"import sys; sys.path[:] = {sys.path!r}; {start}"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
        )
        #: The task as bytes, until it has been sent with the first item.
        self._payload: bytes | None = payload

    def run(self, item: object) -> Any:
        """Return the value of the task at an item, or raise what it raised."""
        stdin = self._process.stdin
        stdout = self._process.stdout
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
                f"A worker process died (exit code {self._process.wait()}) at {item}. If"
                " memory ran out, use fewer workers."
            ) from error
        if fine:
            return value
        raise value

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what was still to be sent has no reader any more
                if pipe is not None:
                    pipe.close()


def serve() -> None:
    """Run tasks until the pipe closes: the parent is done, or dead."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent decides
    receive = os.fdopen(os.dup(0), "rb")
    send = os.fdopen(os.dup(1), "wb")
    # Standard output becomes standard error: what users' code prints must not end up among
    # the values.
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    task: Any = None
    while True:
        try:
            item = pickle.load(receive)
            if task is None:  # the first message is the task, and the next one an item
                task = pickle.loads(item)
                item = pickle.load(receive)
        except EOFError:
            break
        except Exception as error:
            answer: tuple[bool, Any] = (False, error)
        else:
            try:
                answer = (True, task(item))
            except Exception as error:
                error.add_note(f"In a worker process:\n{traceback.format_exc()}")
                answer = (False, error)
        try:
            send.write(_readable(answer))
            send.flush()
        except OSError:
            break
    sys.stdout.flush()
    os._exit(0)  # nothing to tidy up, and users' threads must not hold it


def _readable(answer: tuple[bool, Any]) -> bytes:
    """Pickle an answer that the parent will be able to read."""
    try:
        data = pickle.dumps(answer)
        pickle.loads(data)
    except Exception:
        error = answer[1]
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    return data
