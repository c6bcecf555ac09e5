"""The signed map: the difference of the witnesses, its noise, and the places it names."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import condgof as cg
import oracle
from condgof.errors import InputError, SupportError


def slow_map(x, y, p, q, at, sigma_x, sigma_y):
    """Values, unbiased values and noise from dense matrices."""
    n, d_y = y.shape
    root = np.linalg.cholesky(np.cov(y.T, ddof=1).reshape(d_y, d_y))
    u = np.linalg.solve(root, (y - y.mean(axis=0)).T).T
    unit = x.std(axis=0, ddof=1)
    h = [oracle.stein_h(u, s @ root, oracle.gaussian, sigma_y) for s in (p, q)]
    out = []
    for v in at:
        a, b = (oracle.witness(x / unit, one, v / unit, oracle.gaussian, sigma_x, d_y) for one in h)
        k = oracle.gram(x / unit, (v / unit)[None], oracle.gaussian, sigma_x)[:, 0]
        m = np.outer(k, k) * (h[0] - h[1]) / d_y
        np.fill_diagonal(m, 0.0)
        means = m.sum(axis=1) / (n - 1)
        out.append((a - b, means.mean(), 2 * means.std(ddof=1) / np.sqrt(n)))
    return np.array(out).T


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
@pytest.mark.parametrize("d_y", [1, 2])
def test_values_of_the_dense_formula(solver, d_y):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(60, d_y))
    p, q, at = 0.5 - y, -1.4 * y, rng.normal(size=(5, 2))
    found = cg.compare_map(
        cg.from_scores(p),
        cg.from_scores(q),
        x,
        y,
        at=at,
        kernel_x=cg.Gaussian(0.8),
        kernel_y=cg.Gaussian(0.9),
        solver=solver,
        rng=0,
    )
    values, unbiased, noise = slow_map(x, y, p, q, at, 0.8, 0.9)
    tolerance = 1e-9 if solver == "exact" else 2e-3
    size = np.abs(values).max()
    np.testing.assert_allclose(found.values, values, rtol=tolerance, atol=tolerance * size)
    np.testing.assert_allclose(found.noise, noise, rtol=tolerance)
    np.testing.assert_allclose(found.ratio, unbiased / noise, rtol=tolerance, atol=5 * tolerance)
    np.testing.assert_array_equal(found.points, at)


@given(st.integers(0, 2**32), st.integers(5, 30))
def test_swapping_the_models_changes_the_sign(seed, n):
    rng = np.random.default_rng(seed)
    x, y, p, q = rng.normal(size=(4, n, 1))
    p, q = cg.from_scores(p), cg.from_scores(q)
    one, other = (cg.compare_map(a, b, x, y, rng=0) for a, b in ((p, q), (q, p)))
    np.testing.assert_allclose(other.values, -one.values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(other.noise, one.noise, rtol=1e-9, atol=1e-12)


def places(names=("young", "south")):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 2000
    x = pd.DataFrame({"age": rng.uniform(20, 60, n), "region": rng.choice(["N", "S"], n)})
    y = rng.standard_normal(n)
    young = (np.where(x["age"] < 35, 0.7, 0.0), np.ones(n))
    south = (np.where((x["region"] == "S") & (x["age"] > 40), 0.7, 0.0), np.ones(n))
    return young, south, x, y, names


def test_places_are_named_in_the_users_columns():
    young, south, x, y, names = places()
    found = cg.compare_map(young, south, x, y, names=names, rng=0)
    assert found.columns == ("age", "region")
    assert 0 < len(found.worse("young")) <= 3
    assert 0 < len(found.worse("south")) <= 3
    assert found.worse("young")[0].x["age"] < 38
    strongest = found.worse("south")[0]
    assert strongest.x["age"] > 38
    assert strongest.x["region"] == "S"
    assert strongest.difference < 0
    assert "south is worse" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()


def test_nothing_is_named_where_models_are_the_same():
    young, _, x, y, _ = places()
    found = cg.compare_map(young, young, x, y, rng=0)
    assert found.places == ()
    assert not found.values.any()
    assert "nowhere is p clearly worse" in str(found)


def test_streams_give_the_same_on_any_files_and_threads(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    a = rng.normal(size=6000)
    table = pd.DataFrame({"a": a, "y": a + rng.normal(size=6000), "m": a + 0.3 * (a > 0), "k": 0.9 * a})
    table["s"] = 1.0
    table.to_parquet(tmp_path / "one.parquet")
    table[:1000].to_csv(tmp_path / "a.csv", index=False)
    table[1000:].to_csv(tmp_path / "b.csv", index=False)
    models = cg.columns(mean="m", std="s"), cg.columns(mean="k", std="s")
    one = cg.compare_map(*models, cg.scan(tmp_path / "one.parquet", x="a", y="y"), rng=0, engine=1)
    source = cg.scan([tmp_path / "a.csv", tmp_path / "b.csv"], x="a", y="y")
    two = cg.compare_map(*models, source, rng=0, engine=2)
    assert one.solver == "lowrank"
    np.testing.assert_allclose(two.values, one.values, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(two.noise, one.noise, rtol=1e-8)


def test_refused():
    young, south, x, y, _ = places()
    with pytest.raises(InputError, match="different names"):
        cg.compare_map(young, south, x, y, names=("a", "a"))
    with pytest.raises(SupportError):
        cg.compare_map(
            cg.models.Exponential(scale=1.0), cg.models.Normal(mean=0.0, std=1.0), x[["age"]], y
        )
