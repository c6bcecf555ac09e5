"""The adaptive test on a cluster: the very result of the local run."""

import sys

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import condgof as cg
from condgof.check import select_rows

N = 9_000
OPTIONS = {"rng": 5, "n_boot": 100}


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    mean = x[:, 0] - x[:, 1]
    std = np.exp(0.3 * x[:, 1])
    return x, mean + std * rng.normal(size=N), mean, std


def assert_same(far, near):
    assert far.pvalue == near.pvalue
    # Sums within a piece are in single precision, and Dask's chunks cut pieces elsewhere.
    assert far.statistic == pytest.approx(near.statistic, rel=1e-4)
    np.testing.assert_allclose(far.null_distribution, near.null_distribution, rtol=1e-4)
    for a, b in zip(far.details["scales"], near.details["scales"], strict=True):
        assert a["statistic"] == pytest.approx(b["statistic"], rel=1e-4, abs=1e-5)
    assert (far.n, far.solver) == (near.n, near.solver)


def test_arrays(client, sample):
    x, y, mean, std = sample
    near, far = (
        cg.adaptive((mean, std), x, y, engine=e, **OPTIONS) for e in (None, client)
    )
    assert near.solver == "lowrank"
    assert_same(far, near)


def test_the_exact_solver(client, sample):
    x, y, mean, std = (a[:500] for a in sample)
    near, far = (
        cg.adaptive((mean, std), x, y, engine=e, rng=5, n_boot=100, solver="exact")
        for e in (None, client)
    )
    assert_same(far, near)


def test_a_source(client, sample, tmp_path):
    x, y, mean, std = sample
    table = pa.table({"a": x[:, 0], "b": x[:, 1], "y": y, "mu": mean, "sd": std})
    pq.write_table(table.slice(0, 5017), tmp_path / "1.parquet", row_group_size=2000)
    pq.write_table(table.slice(5017), tmp_path / "2.parquet")
    source = cg.scan(tmp_path / "*.parquet", x=["a", "b"], y="y")
    model = cg.columns(mean="mu", std="sd")
    near, far = (cg.adaptive(model, source, engine=e, **OPTIONS) for e in (None, client))
    assert_same(far, near)


def test_dask_arrays(client, sample):
    results = []
    for engine, chunks in ((None, N), (client, 3500)):
        x, y, mean, std = (da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in sample)
        results.append(cg.adaptive((mean, std), x, y, engine=engine, **OPTIONS))
    assert_same(*results)


@pytest.mark.parametrize("test", [cg.kcsd, cg.fscd])
def test_standardised(client, sample, test):
    x, y, mean, std = sample
    options = {"standardize": "cdf", "solver": "lowrank", **OPTIONS}
    options |= {"locations": "random"} if test is cg.fscd else {}
    near, far = (test((mean, std), x, y, engine=e, **options) for e in (None, client))
    assert far.pvalue == near.pvalue
    assert far.statistic == pytest.approx(near.statistic, rel=1e-8)


def test_effects_on_all_rows_of_a_source(client, sample, tmp_path, monkeypatch):
    """Workers sum over the cells of effects: the numbers are those of the local run."""
    monkeypatch.setattr(sys.modules[select_rows.__module__], "STREAMED_ROWS", 5_000)
    x, y, mean, std = sample
    y = y + 0.7 * (x[:, 0] > 1)
    table = pa.table({"a": x[:, 0], "b": x[:, 1], "y": y, "mu": mean, "sd": std})
    pq.write_table(table, tmp_path / "1.parquet", row_group_size=2000)
    source = cg.scan(tmp_path / "*.parquet", x=["a", "b"], y="y")
    model = cg.columns(mean="mu", std="sd")
    near, far = (cg.check(model, source, engine=e, **OPTIONS) for e in (None, client))
    assert near.effects
    for a, b in zip(near.effects, far.effects, strict=True):
        assert b.all_rows.gain == pytest.approx(a.all_rows.gain, rel=1e-9)
        assert [cell.n for cell in b.all_rows.cells] == [c.n for c in a.all_rows.cells]
        for one, other in zip(a.all_rows.cells, b.all_rows.cells, strict=True):
            assert other.estimate == pytest.approx(one.estimate, rel=1e-9)
