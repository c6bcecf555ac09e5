"""Processes as workers: values as they come, errors, deaths, what cannot be sent."""

import os
import sys
import threading

import pytest

from condgof.engine import Processes, WorkerError, as_workers
from condgof.errors import InputError


def test_all_values_come_each_with_its_item():
    items = list(range(50))
    for count in (1, 2):
        values = dict(Processes(count).completed(lambda i: (i * i, print("noise")), items))
        assert values == {i: (i * i, None) for i in items}


def test_workers_are_other_processes_with_one_thread_and_the_same_path():
    def look(_):
        import os
        import sys

        return os.getpid(), os.environ["OPENBLAS_NUM_THREADS"], list(sys.path)

    values = [value for _, value in Processes(2).completed(look, range(8))]
    assert os.getpid() not in {pid for pid, _, _ in values}
    assert all(threads == "1" and path == sys.path for _, threads, path in values)


def test_an_error_is_raised_with_where_it_was():
    def fail(i):
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost") as caught:
        list(Processes(2).completed(fail, range(5)))
    assert "In a worker process" in caught.value.__notes__[0]


def test_an_error_that_cannot_be_sent():
    def fail(i):
        class LocalError(Exception):
            def __init__(self, a, b):
                super().__init__(a)

        raise LocalError("odd", 1)

    with pytest.raises(RuntimeError, match="LocalError: odd"):
        list(Processes(2).completed(fail, range(5)))


def test_a_worker_that_dies_is_an_error():
    with pytest.raises(WorkerError, match=r"died \(exit code .*\) at"):
        list(Processes(2).completed(lambda i: os._exit(9), range(5)))


def test_stopping_early_ends_the_workers():
    def pid(_):
        import os

        return os.getpid()

    values = Processes(2).completed(pid, iter(range(10**9)))
    _, worker = next(values)
    values.close()
    with pytest.raises(OSError, match="No such process"):
        os.kill(worker, 0)
    assert threading.active_count() == 1 or "condgof" not in str(threading.enumerate())


def test_without_cloudpickle_what_cannot_be_sent_runs_in_threads(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    values = dict(Processes(2).completed(lambda i: (i + 1, os.getpid()), range(9)))
    assert values == {i: (i + 1, os.getpid()) for i in range(9)}
    assert dict(Processes(2).completed(abs, [-1, 2])) == {-1: 1, 2: 2}


def test_engines_of_a_study():
    assert as_workers(3) == Processes(3)
    assert as_workers(None).count >= 1
    with pytest.raises(InputError, match="at least 1"):
        as_workers(0)
