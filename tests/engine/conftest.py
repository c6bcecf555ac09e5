"""One local cluster for all tests of this folder."""

import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="session")
def client():
    """Two worker processes of one thread each."""
    # Any free port: a default one that is taken (xdist may start two clusters) would be a
    # warning.
    options = {"processes": True, "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        Client(cluster) as connected,
    ):
        yield connected
