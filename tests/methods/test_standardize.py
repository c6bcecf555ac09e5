"""`standardize=` of kcsd and fscd: the same test on coordinates that were made by hand."""

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import condgof as cg
from condgof.errors import InputError, UnsupportedModelError

COV = np.array([[2.0, 0.9], [0.9, 1.0]])
SHORT = {"n_boot": 60, "rng": 2}


def draw(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    model = cg.models.Normal(mean=lambda x: x, cov=COV)
    return model, x, model(x).sample(rng)


def by_hand(model, x, y, by):
    """Coordinates and scores from the formulas, for a Gaussian with covariance COV."""
    if by == "none":
        return y, model(x).score(y)
    if by == "marginals":
        std = np.sqrt(np.diag(COV))
        return (y - x) / std, model(x).score(y) * std
    u = np.linalg.solve(np.linalg.cholesky(COV), (y - x).T).T
    return u, -u


@pytest.mark.parametrize("by", ["cdf", "marginals", "mean_std", "none"])
@pytest.mark.parametrize("form", ["kcsd", "random", "optimize", "given"])
def test_arrays(form, by):
    model, x, y = draw()
    u, s = by_hand(model, x, y, by)

    def run(model, y, **options):
        if form == "kcsd":
            return cg.kcsd(model, x, y, **options, **SHORT)
        locations = [[0.0, 0.0], [1.0, -1.0]] if form == "given" else form
        return cg.fscd(model, x, y, locations=locations, n_locations=2, **options, **SHORT)

    got = run(model, y, standardize=by)
    wanted = run(cg.from_scores(s), u)
    assert got.pvalue == wanted.pvalue
    assert got.statistic == pytest.approx(wanted.statistic, rel=1e-8)
    assert got.kernel_y.bandwidth == pytest.approx(wanted.kernel_y.bandwidth)
    if form != "kcsd":
        np.testing.assert_allclose(got.locations, wanted.locations, atol=1e-5)
    names = {
        "cdf": "normal scores of the model's CDF",
        "marginals": "normal scores of the model's marginal CDFs",
        "mean_std": "location and scale of the model",
    }
    assert got.details.get("standardized_by") == names.get(by)


def test_auto_and_the_default():
    model, x, y = draw()
    plain, none, auto, cdf = (
        cg.kcsd(model, x, y, **SHORT, **options)
        for options in ({}, *({"standardize": by} for by in ("none", "auto", "cdf")))
    )
    assert plain.statistic == none.statistic
    assert auto.statistic == cdf.statistic != plain.statistic


@pytest.mark.parametrize("test", [cg.kcsd, cg.fscd])
def test_errors(test):
    model, x, y = draw()
    with pytest.raises(InputError, match="standardize must be one of"):
        test(model, x, y, standardize="yes")
    with pytest.raises(UnsupportedModelError, match="It can take: 'none'"):
        test(cg.from_scores(model(x).score(y)), x, y, standardize="mean_std")


N = 6_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, N))
    mu = a - b
    sd = np.exp(0.3 * b)
    y = mu + sd * rng.standard_t(6, N)
    u = (y - mu) / sd
    return {"a": a, "b": b, "y": y, "mu": mu, "sd": sd, "u": u, "s": -u}


FORMS = {
    "kcsd": lambda *a, **k: cg.kcsd(*a, solver="lowrank", **k),
    "fscd-random": lambda *a, **k: cg.fscd(*a, locations="random", solver="lowrank", **k),
    "fscd-optimize": lambda *a, **k: cg.fscd(
        *a, n_locations=1, train_fraction=0.04, solver="lowrank", **k
    ),
}


def assert_same(result, other):
    assert result.pvalue == other.pvalue
    assert result.statistic == pytest.approx(other.statistic, rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_a_source(form, table, tmp_path):
    pq.write_table(pa.table(table), tmp_path / "rows.parquet", row_group_size=1000)
    source, other = (cg.scan(tmp_path / "*.parquet", x=["a", "b"], y=y) for y in ("y", "u"))
    wanted = FORMS[form](cg.columns(score="s"), other, precision=0.01, **SHORT)
    for by in ("cdf", "mean_std"):
        got = FORMS[form](
            cg.columns(mean="mu", std="sd"), source, standardize=by, precision=0.01, **SHORT
        )
        assert_same(got, wanted)
        assert got.details["standardized_by"]
    with pytest.raises(UnsupportedModelError, match="It can take: 'none'"):
        FORMS[form](cg.columns(score="s"), source, standardize="cdf", **SHORT)


@pytest.mark.parametrize("form", ["kcsd", "fscd-random"])
def test_dask_arrays(form, table):
    lazy = {name: da.from_array(values, chunks=2500) for name, values in table.items()}
    x = da.stack([lazy["a"], lazy["b"]], axis=1)
    wanted = FORMS[form](cg.from_scores(lazy["s"]), x, lazy["u"], precision=0.01, **SHORT)
    got = FORMS[form](
        (lazy["mu"], lazy["sd"]), x, lazy["y"], standardize="cdf", precision=0.01, **SHORT
    )
    assert_same(got, wanted)
