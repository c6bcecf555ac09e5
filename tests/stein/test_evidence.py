"""Evidence: mean 0 under the law, and the Stein kernel that it factors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import oracle
from condgof.kernels import IMQ, Block, Cells, Gaussian, Matern52, cell_scales
from condgof.stein._evidence import (
    END,
    SMALLEST,
    STEPS,
    CellEvidence,
    NormalEvidence,
    SteinEvidence,
    legendre_at,
    simple,
    surprise,
)

SCALES = (4.0, 2.0, 1.0, 0.5)
GRID = np.linspace(-END, END, STEPS + 1)[:, None]
WEIGHT = norm.pdf(GRID[:, 0]) / norm.pdf(GRID[:, 0]).sum()


def columns(evidence, name):
    return next(block.columns for block in evidence.blocks if block.name == name)


def test_simple_functions_have_mean_0_and_variance_1():
    for k in range(6):
        mean = quad(
            lambda z, k=k: simple(np.array([z]))[0, k] * norm.pdf(z), -9, 9, limit=200
        )[0]
        square = quad(
            lambda z, k=k: simple(np.array([z]))[0, k] ** 2 * norm.pdf(z), -9, 9, limit=200
        )[0]
        assert mean == pytest.approx(0.0, abs=1e-6)
        assert square == pytest.approx(1.0, abs=1e-5)


def test_legendre_functions_are_orthonormal_and_bounded():
    u = (np.arange(200_000) + 0.5) / 200_000
    psi = legendre_at(u)
    np.testing.assert_allclose(psi.T @ psi / len(u), np.eye(4), atol=1e-6)
    assert np.abs(legendre_at(np.array([0.0, 1.0]))).max() <= 3.0 + 1e-12


@given(st.floats(-60, 60))
def test_surprise_is_the_tail_probability(z):
    assert surprise(np.array([z]))[0] == pytest.approx(
        -np.log(2) - norm.logsf(abs(z)), rel=1e-12, abs=1e-15
    )


def test_the_table_of_one_column():
    evidence = NormalEvidence.at(SCALES, 1)
    xi = evidence.of(GRID).astype(float)
    np.testing.assert_allclose(WEIGHT @ xi, 0.0, atol=2e-7)
    np.testing.assert_allclose((xi * WEIGHT[:, None]).T @ xi, evidence.second, atol=1e-6)


@pytest.mark.parametrize("sigma", SCALES)
def test_the_table_factors_the_stein_kernel(sigma):
    """Directions below a share of the largest are left out: that bounds the error in the mean square."""
    evidence = NormalEvidence.at(SCALES, 1)
    z = np.linspace(-3, 3, 41)[:, None]
    wanted = oracle.stein_h(z, -z, oracle.gaussian, sigma)
    xi = evidence.of(z)[:, columns(evidence, f"bandwidth {sigma:g}")].astype(float)
    weight = np.sqrt(norm.pdf(z[:, 0]) / norm.pdf(z[:, 0]).sum())
    apart = np.linalg.norm(weight[:, None] * (xi @ xi.T - wanted) * weight)
    largest = np.linalg.norm(weight[:, None] * wanted * weight)
    assert apart <= 4 * SMALLEST * largest


def test_what_lies_far_out_is_clipped():
    evidence = NormalEvidence.at(SCALES, 1)
    np.testing.assert_array_equal(
        evidence.of(np.array([[1e9], [-40.0]])), evidence.of(np.array([[END], [-END]]))
    )


@pytest.mark.parametrize("d_y", [2, 3, 5])
def test_several_columns(d_y):
    evidence, one = NormalEvidence.at(SCALES, d_y), NormalEvidence.at(SCALES, 1)
    z = np.random.default_rng(0).standard_normal((40_000, d_y), dtype=np.float32)
    xi = evidence.of(z).astype(float)
    assert np.abs(xi.mean(axis=0) / xi.std(axis=0)).max() < 5 / np.sqrt(len(z))
    last = xi[:, -8:]  # functions of all columns together, times all others
    products, squares = xi.T @ last / len(z), (xi**2).T @ last**2 / len(z)
    deviation = np.sqrt((squares - products**2) / len(z)) + (2e-3 if d_y < 4 else 0.02)
    assert np.abs((products - evidence.second[:, -8:]) / deviation).max() < 6
    both = columns(evidence, "z")
    np.testing.assert_array_equal(
        xi[:, both],
        np.column_stack([one.of(z[:, [c]])[:, columns(one, "z")] for c in range(d_y)]),
    )
    single = columns(one, "z").start
    np.testing.assert_allclose(
        evidence.second[both, both], one.second[single, single] * np.eye(d_y), atol=1e-12
    )


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize(
    ("kernel", "slow", "d_y", "within"),
    [
        (Gaussian(1.3), oracle.gaussian, 1, 1e-4),
        (Gaussian(1.3), oracle.gaussian, 2, 1e-3),
        (IMQ(1.3), oracle.imq, 1, 1e-3),
        (Matern52(1.3), oracle.matern52, 1, 2e-2),
    ],
)
def test_scores_only(kernel, slow, d_y, within, offset):
    """Landmark functions span derivatives too as they get dense, and the sooner the smoother the
    kernel is.
    """
    rng = np.random.default_rng(1)
    dense, y = 1.5 * rng.normal(size=(400, d_y)), rng.normal(size=(50, d_y))
    s = 2.0 * rng.normal(size=(50, d_y))
    evidence = SteinEvidence.on(
        (kernel,), dense + offset, np.ones((400, d_y)), rng, precision=1e-12, cap=400
    )
    xi = evidence.of(y + offset, s)
    wanted = oracle.stein_h(y, s, slow, 1.3)
    assert np.linalg.norm(xi @ xi.T - wanted) <= within * np.linalg.norm(wanted)


def test_cells():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1.0, 2.0, 0.5], size=20)
    codes = np.array([rng.choice(3, p=row) for row in p])
    cells = Cells((Block("counts", 0, 3, np.array([0.0, 1.0, 3.0]), True),), "counts")
    evidence = CellEvidence(cell_scales(cells, (2.0, 1.0)))
    residuals = np.eye(3)[codes] - p
    xi = evidence.of(codes, residuals)
    for block, sigma in zip(evidence.blocks, (2.0, 1.0), strict=True):
        points = np.array([[0.0], [1.0], [3.0]])
        wanted = oracle.centred_h(
            oracle.gram(points, points, oracle.gaussian, sigma), p, codes
        )
        np.testing.assert_allclose(
            xi[:, block.columns] @ xi[:, block.columns].T, wanted, atol=1e-9
        )
