"""Properties of Stein kernels and tests that hold for any data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import condgof as cg
from condgof.engine import Threads
from condgof.kernels import CovariateKernel, FiniteLocations, OnColumns
from condgof.null import sign_weights
from condgof.sample import Seed
from condgof.stein import SteinOperator, sweep

SMOOTH = [cg.Gaussian, cg.IMQ, cg.Matern52]
COVARIATE = [*SMOOTH, cg.Matern12]


@st.composite
def samples(draw):
    n = draw(st.integers(3, 40))
    d_x = draw(st.integers(1, 3))
    d_y = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = rng.normal(size=(n, d_x))
    y = rng.normal(size=(n, d_y))
    s = rng.normal(size=(n, d_y))
    if draw(st.booleans()):  # ties, as in real data
        x = np.round(x, 1)
        y = np.round(y, 1)
        x[0] += 1.0
        y[0] += 1.0
    heavy = draw(st.sampled_from([1.0, 30.0]))
    return x, y, heavy * s


@st.composite
def operators(draw):
    x, y, s = draw(samples())
    kernel_y = draw(st.sampled_from(SMOOTH))(draw(st.floats(0.1, 10.0)))
    factor = draw(st.sampled_from(COVARIATE))(draw(st.floats(0.1, 10.0)))
    kernel_x = CovariateKernel((OnColumns(factor, tuple(range(x.shape[1]))),))
    if draw(st.booleans()):
        kernel_x = FiniteLocations(kernel_x, x[: draw(st.integers(1, 3))])
    return SteinOperator.from_rows(x, y, s, kernel_x, kernel_y)


def dense(operator):
    return operator.block(slice(0, operator.n), slice(0, operator.n))


@given(operators())
def test_symmetric_and_positive_semi_definite(operator):
    matrix = dense(operator)
    size = np.abs(matrix).max()
    np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-12 * size)
    assert np.linalg.eigvalsh((matrix + matrix.T) / 2).min() > -1e-10 * size * operator.n
    np.testing.assert_allclose(
        np.diag(matrix), operator.diag(), rtol=1e-9, atol=1e-12 * size
    )


@given(operators(), st.integers(1, 50), st.integers(1, 4))
def test_tiles_and_threads(operator, tile, threads):
    weights = sign_weights(operator.n, 5, Seed.of(0))
    whole = sweep(operator, weights.block, 5, engine=Threads(1))
    cut = sweep(operator, weights.block, 5, engine=Threads(threads), tile=tile)
    size = np.abs(dense(operator)).sum()
    assert cut[0] == pytest.approx(whole[0], rel=1e-10, abs=1e-13 * size)
    np.testing.assert_allclose(cut[1], whole[1], rtol=1e-10, atol=1e-13 * size)


@given(samples(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(sample, random):
    x, y, s = sample
    order = list(range(len(x)))
    random.shuffle(order)
    plain = cg.kcsd(cg.from_scores(s), x, y, n_boot=1, rng=0)
    mixed = cg.kcsd(cg.from_scores(s[order]), x[order], y[order], n_boot=1, rng=0)
    size = np.abs(s).max() ** 2 * len(x) + 1
    assert mixed.statistic == pytest.approx(plain.statistic, rel=1e-9, abs=1e-12 * size)


@given(samples(), st.floats(-100, 100), st.floats(0.01, 100))
def test_units_do_not_matter_with_median_bandwidths(sample, shift, scale):
    """In other units of y, scores are divided by the unit, the statistic by its square."""
    x, y, s = sample
    plain = cg.kcsd(cg.from_scores(s), x, y, n_boot=30, rng=0)
    other = cg.kcsd(
        cg.from_scores(s / scale), 3 * x - shift, scale * y + shift, n_boot=30, rng=0
    )
    size = np.abs(plain.null_distribution).max() + abs(plain.statistic)
    tolerance = 1e-9 * (1 + abs(shift) / scale)
    assert other.statistic * scale**2 == pytest.approx(
        plain.statistic, rel=tolerance, abs=tolerance * size
    )


@given(samples())
def test_witness_is_never_negative_and_fscd_is_its_mean(sample):
    x, y, s = sample
    kernels = {"kernel_x": cg.Gaussian(1.0), "kernel_y": cg.IMQ(1.0)}
    values = cg.witness(cg.from_scores(s), x, y, at=x, **kernels)
    assert (values >= 0).all()
    n = len(x)
    v = x[:3]
    result = cg.fscd(cg.from_scores(s), x, y, locations=v, n_boot=1, rng=0, **kernels)
    columns = tuple(range(x.shape[1]))
    kernel_x = CovariateKernel((OnColumns(cg.Gaussian(1.0), columns),))
    operator = SteinOperator.from_rows(x, y, s, FiniteLocations(kernel_x, v), cg.IMQ(1.0))
    whole = result.statistic * (n - 1) + operator.diag().sum() / y.shape[1]
    assert whole == pytest.approx(n**2 * values[:3].mean(), rel=1e-8, abs=1e-9)


TRUTHS = {
    "normal": cg.models.Normal(mean=lambda x: x[:, 0], std=lambda x: 1 + x[:, 0] ** 2),
    "normal-2d": cg.models.Normal(
        mean=lambda x: np.column_stack([x, -x]), cov=[[1.0, 0.5], [0.5, 2.0]]
    ),
    "mixture": cg.models.NormalMixture([0.3, 0.7], [-2.0, 1.0], [0.5, 1.0]),
    "student": cg.models.StudentT(df=4.0, loc=lambda x: x[:, 0]),
}


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("make", SMOOTH)
def test_stein_kernel_has_mean_zero_under_the_truth(name, make):
    """E h(z, Z) = 0 for each fixed z, within five standard errors of 40,000 draws."""
    truth = TRUTHS[name]
    n = 40_000
    rng = np.random.default_rng(11)
    x = rng.normal(size=(n, 1))
    y = truth(x).sample(rng)
    kernel = CovariateKernel((OnColumns(cg.Gaussian(1.0), (0,)),))
    operator = SteinOperator.from_rows(x, y, truth(x).score(y), kernel, make(1.0))
    rows = operator.block(np.arange(12), np.arange(operator.n))[:, 12:]
    error = rows.std(axis=1) / np.sqrt(rows.shape[1])
    assert (np.abs(rows.mean(axis=1)) < 5 * error).all()
