"""One local cluster for all tests of this folder."""

from contextlib import ExitStack
from pathlib import Path

import dask
import pytest
from distributed import Client, LocalCluster

#: What the scheduler and the workers of Dask do beside their tasks, which took 0.08 seconds
#: of processor time in each second that a cluster was there.
LESS_OBSERVED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}


class SharedCluster:
    """Two worker processes of one thread each, which start when they are first needed."""

    def __init__(self):
        self.client = None
        self.resources = ExitStack()

    def connect(self):
        """Return a client of the cluster."""
        if self.client is None:
            enter = self.resources.enter_context
            enter(dask.config.set(LESS_OBSERVED))
            # Any free port: a default one that is taken (xdist may start two clusters)
            # would be a warning.
            options = {"processes": True, "dashboard_address": ":0"}
            cluster = enter(LocalCluster(n_workers=2, threads_per_worker=1, **options))
            self.client = enter(Client(cluster))
        return self.client

    def close(self):
        """End the processes, if they are there."""
        self.client = None
        self.resources.close()


SHARED = SharedCluster()


@pytest.fixture
def client():
    """A client of two worker processes."""
    return SHARED.connect()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """End the cluster with the last test of this folder, not with that of the session."""
    if nextitem is None or nextitem.path.parent != Path(__file__).parent:
        SHARED.close()
