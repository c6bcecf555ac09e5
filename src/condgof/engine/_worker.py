"""The other end of `_processes`: read items from a pipe, write values to another."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from typing import Any


def serve() -> None:
    """Run tasks until the pipe closes: the parent is done, or dead."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent decides
    receive, send = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What users' code prints must not end up among the values.
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    task: Any = None
    while True:
        try:
            item = pickle.load(receive)
            if task is None:
                task, item = pickle.loads(item), pickle.load(receive)
        except EOFError:
            break
        except Exception as error:
            answer: tuple[bool, Any] = (False, error)
        else:
            answer = _attempt(task, item)
        try:
            send.write(_readable(answer))
            send.flush()
        except OSError:
            break
    sys.stdout.flush()
    os._exit(0)  # nothing to tidy up, and users' threads must not hold it


def _attempt(task: Any, item: Any) -> tuple[bool, Any]:
    try:
        return True, task(item)
    except Exception as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return False, error


def _readable(answer: tuple[bool, Any]) -> bytes:
    """Pickle an answer that the parent will be able to read."""
    try:
        data = pickle.dumps(answer)
        pickle.loads(data)
    except Exception:
        error = answer[1]
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    return data
