"""`composite` on a cluster gives what it gives here."""

import numpy as np
import pytest

import condgof as cg


@pytest.mark.parametrize("statistic", ["kcsd", "adaptive"])
def test_composite_on_a_cluster(client, statistic):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 2))
    y = x[:, 0] + rng.standard_normal(60)

    def fit(x, y):  # what a user writes in a notebook
        if abs(y.mean()) > 0.35:
            raise ValueError("no convergence")
        return cg.fits.ols()(x, y)

    here, there = (
        cg.composite(fit, x, y, statistic=statistic, n_boot=19, rng=0, engine=engine)
        for engine in (1, client)
    )
    np.testing.assert_allclose(there.null_distribution, here.null_distribution, rtol=1e-9)
    assert there.pvalue == here.pvalue
    assert there.details["workers"] == "Dask"
    assert there.details["failures"] == here.details["failures"]
    assert there.details["first_failure"] == here.details["first_failure"]
