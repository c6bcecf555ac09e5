"""Differences of Stein discrepancies: both solvers against the dense formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import condgof as cg
import oracle
from condgof.methods import Options, contrast, prepare_joint
from condgof.sample import Seed


def stein(p, q, x, y, kernel_x, kernel_y, solver="exact", precision=None):
    seed = Seed.of(0)
    options = Options(solver=solver, precision=precision).checked()
    models = {"p": cg.from_scores(p), "q": cg.from_scores(q)}
    joint = prepare_joint(models, x, y, options, seed)
    kernels = joint.subsample.kernels(kernel_x, kernel_y, seed)
    return contrast(joint, kernels.on_x, kernels.on_y, options, seed)


def sample(n=40, d_x=2, d_y=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d_x))
    y = rng.normal(size=(n, d_y)) @ np.triu(np.full((d_y, d_y), 0.7))
    return x, y, 0.4 - y, -1.5 * y


def slow(x, y, scores, sigma_x, sigma_y, kernel=oracle.gaussian):
    """Everything of a comparison from dense matrices."""
    root = np.linalg.cholesky(np.cov(y.T, ddof=1).reshape(y.shape[1], -1))
    u = np.linalg.solve(root, (y - y.mean(axis=0)).T).T
    x = x / x.std(axis=0, ddof=1)
    k = oracle.gram(x, x, oracle.gaussian, sigma_x)
    p, q = (k * oracle.stein_h(u, s @ root, kernel, sigma_y) for s in scores)
    return oracle.difference(p, q)


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
@pytest.mark.parametrize("d_y", [1, 2])
@pytest.mark.parametrize("kernel_y", [cg.Gaussian(0.8), cg.IMQ(1.3), cg.Matern52(1.1)])
def test_values_of_the_dense_formula(solver, d_y, kernel_y):
    """With every row a landmark the low-rank solver gives the very same difference, too."""
    x, y, p, q = sample(d_y=d_y)
    found = stein(
        p, q, x, y, cg.Gaussian(1.5), kernel_y, solver, None if solver == "exact" else 1e-13
    )
    kernel = oracle.KERNELS[type(kernel_y).__name__]
    value, error, z, both = slow(x, y, (p, q), 1.5, kernel_y.sigma, kernel)
    one = found.pairs[0, 1]
    tolerance = 1e-9 if solver == "exact" else 1e-6
    assert found.details["solver"] == solver
    assert one.value == pytest.approx(value, rel=tolerance)
    assert one.error == pytest.approx(error, rel=tolerance)
    assert one.z == pytest.approx(z, rel=10 * tolerance)
    if solver == "exact":
        assert found.means == pytest.approx(both, rel=1e-9)


def test_compare_says_the_same_by_its_stein_measure():
    x, y, p, q = sample()
    kernels = {"kernel_x": cg.Gaussian(1.5), "kernel_y": cg.Gaussian(0.8)}
    result = cg.compare(cg.from_scores(p), cg.from_scores(q), x, y, rng=0, **kernels)
    value, _, z, both = slow(x, y, (p, q), 1.5, 0.8)
    assert result.measure == "stein"
    assert result.difference == pytest.approx(value)
    assert result.statistic == pytest.approx(z)
    assert result.score.means == pytest.approx(both)
    assert "Stein discrepancy" in result.words


@given(st.integers(0, 2**32), st.integers(8, 40))
def test_swapping_the_models_changes_signs_only(seed, n):
    x, y, p, q = sample(n, seed=seed)
    one = stein(p, q, x, y, cg.Gaussian(1.0), cg.Gaussian(1.0)).pairs[0, 1]
    other = stein(q, p, x, y, cg.Gaussian(1.0), cg.Gaussian(1.0)).pairs[0, 1]
    assert other.value == pytest.approx(-one.value, rel=1e-9)
    assert other.z == pytest.approx(-one.z, rel=1e-6, abs=1e-9)
    assert other.interval() == pytest.approx(
        tuple(-end for end in one.interval()[::-1]), rel=1e-6
    )


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
def test_a_model_against_itself(solver):
    x, y, p, _ = sample()
    one = stein(p, p.copy(), x, y, cg.Gaussian(1.0), cg.Gaussian(1.0), solver).pairs[0, 1]
    assert (one.pvalue, one.z, one.value, one.interval()) == (1, 0, 0, (0, 0))


def test_a_discrete_y_has_no_stein_measure():
    x = np.arange(20.0)
    y = np.arange(20) % 2
    coin = cg.probabilities(np.full(20, 0.5))
    with pytest.raises(cg.errors.UnsupportedModelError, match="needs scores"):
        cg.compare(coin, coin, x, y, measure="stein")
    ratios = cg.from_ratio(lambda y, x: np.ones(len(y)) / (y + 1))
    with pytest.raises(cg.errors.UnsupportedModelError, match="no proper score in common"):
        cg.compare(ratios, coin, x, y)
