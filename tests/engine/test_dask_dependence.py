"""Signs of blocks and of groups on a cluster: the same result as on this machine."""

import numpy as np
import pytest

import condgof as cg

N = 9000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 1))
CODES = RNG.integers(0, 700, N)
Y = X[:, 0] + np.sqrt(0.1) * RNG.normal(size=700)[CODES] + np.sqrt(0.9) * RNG.normal(size=N)
MODEL = (X[:, 0], np.ones(N))


@pytest.mark.parametrize(
    "declared", [{"dependence": 10}, {"groups": CODES}], ids=["blocks", "groups"]
)
@pytest.mark.parametrize("test", ["kcsd", "adaptive"])
def test_as_on_this_machine(client, test, declared):
    options = {"n_boot": 40, "rng": 1, "solver": "lowrank", **declared}
    here = getattr(cg, test)(MODEL, X, Y, **options)
    there = getattr(cg, test)(MODEL, X, Y, engine=client, **options)
    assert "parcels" in here.details
    assert there.pvalue == here.pvalue
    assert there.statistic == pytest.approx(here.statistic, rel=1e-8)
    np.testing.assert_allclose(
        there.null_distribution, here.null_distribution, rtol=1e-7, atol=1e-9
    )
