"""Threads: order, errors, and BLAS as it was."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from condgof.engine import Threads, as_engine, single_threaded_blas
from condgof.errors import InputError, InputTypeError


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_values_come_in_order(count):
    barrier = threading.Event()

    def task(i):
        if i == 0 and count > 1:
            barrier.wait(1)  # the first task ends last
        if i == count:
            barrier.set()
        return i * i

    assert list(Threads(count).map(task, range(40))) == [i * i for i in range(40)]


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_in_a_task_reaches_the_caller(count):
    def task(i):
        if i == 5:
            raise ValueError("five")
        return i

    with pytest.raises(ValueError, match="five"):
        list(Threads(count).map(task, range(100)))


def test_blas_is_single_inside_and_restored_after():
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        inside = list(Threads(2).map(lambda _: blas_threads(), range(3)))
        assert all(set(counts) == {1} for counts in inside)
        assert blas_threads() == before


def test_overlapping_calls_restore_only_at_the_end():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first = single_threaded_blas()
        second = single_threaded_blas()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_engines():
    assert as_engine(None).count >= 1
    assert as_engine(3) == Threads(3)
    with pytest.raises(InputError, match="at least 1"):
        as_engine(0)
    with pytest.raises(InputTypeError, match="number of threads"):
        as_engine("all")
