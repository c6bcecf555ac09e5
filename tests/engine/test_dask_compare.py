"""compare on a cluster: the same as on threads, from arrays, files and Dask arrays."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import condgof as cg

N = 9000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    a = rng.normal(size=N)
    return pd.DataFrame(
        {"a": a, "y": a + rng.normal(size=N), "m": a + 0.1, "k": 0.9 * a, "s": np.ones(N)}
    )


def assert_same(result, other):
    assert result.statistic == pytest.approx(other.statistic, rel=1e-8)
    assert result.pvalue == pytest.approx(other.pvalue, rel=1e-6)


def test_arrays(client, table):
    p = (table["m"].to_numpy(), table["s"].to_numpy())
    q = cg.models.Normal(mean=lambda x: 0.9 * np.asarray(x)[:, 0], std=1.0)
    x = table[["a"]].to_numpy()
    y = table["y"].to_numpy()
    on_cluster = cg.compare(p, q, x, y, rng=1, engine=client)
    on_threads = cg.compare(p, q, x, y, rng=1, engine=1)
    assert_same(on_cluster, on_threads)


def test_files(client, table, tmp_path):
    table.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="a", y="y")
    p = cg.columns(mean="m", std="s")
    q = (table["k"].to_numpy(), table["s"].to_numpy())
    on_cluster = cg.compare(p, q, source, rng=1, engine=client)
    assert_same(on_cluster, cg.compare(p, q, source, rng=1))


def test_dask_arrays(client, table):
    results = []
    for chunks, engine in ((N, 1), (2500, client)):
        x, y, m, k, s = (da.from_array(table[c].to_numpy(), chunks=chunks) for c in "aymks")
        for other in (cg.from_scores(k - y), (k, s)):
            results.append(cg.compare((m, s), other, x, y, rng=1, engine=engine))
    assert_same(results[0], results[2])
    assert_same(results[1], results[3])
    assert [result.measure for result in results] == ["stein", "log"] * 2
