"""From the `engine` argument to something that runs tasks."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

from condgof.engine._dask import Cluster, cluster_of, is_client
from condgof.engine._processes import Processes
from condgof.engine._threads import Threads, cores
from condgof.errors import InputError, InputTypeError, check_object

Engine: TypeAlias = Threads | Cluster


def as_engine(engine: Any) -> Engine:
    """Turn the `engine` argument into something that runs tasks.

    Parameters
    ----------
    engine : None, int or dask.distributed.Client
        None for all of this machine's cores, a number of threads, or a connection to a cluster.

    Examples
    --------
    >>> list(as_engine(2).map(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    if engine is None:
        return Threads(cores())
    if isinstance(engine, (Threads, Cluster)):
        return engine
    check_object(engine, "engine")
    if is_client(engine):
        return cluster_of(engine)
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


def as_workers(engine: Any) -> Processes | Cluster:
    """Turn the `engine` argument of a study into something that runs independent tasks.

    Parameters
    ----------
    engine : None, int or dask.distributed.Client
        None for one process a core of this machine, a number of processes, or a connection to a cluster.

    Examples
    --------
    >>> sorted(as_workers(1).completed(abs, [-1, 2]))
    [(-1, 1), (2, 2)]
    """
    chosen = as_engine(engine)
    return Processes(chosen.count) if isinstance(chosen, Threads) else chosen
