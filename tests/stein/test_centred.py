"""The matrix of a discrete y, its scales, and y drawn anew."""

import numpy as np
import pytest

import condgof as cg
from condgof.engine import as_engine
from condgof.kernels import (
    CovariateKernel,
    FiniteLocations,
    Gaussian,
    OnColumns,
    cell_scales,
    resolve_cells,
)
from condgof.laws._discrete import FULL
from condgof.null import sign_weights
from condgof.sample import Seed
from condgof.stein import (
    CentredScales,
    Redraw,
    SteinOperator,
    choose_landmarks,
    choose_scale_landmarks,
    scale_sweep,
    sweep,
    x_features,
)
from condgof.stein._redraw import features_by_cell
from oracle import gaussian, gram, off_diagonal_forms

RNG = np.random.default_rng(2)
N = 70
X = RNG.normal(size=(N, 2))
P = RNG.dirichlet([1.0, 0.5, 2.0, 0.3], size=N)
MODEL = cg.probabilities(P)
Y = MODEL.sample(RNG)[:, 0]
SEEN = MODEL.residuals(Y, FULL)
CELLS = MODEL.cells(FULL)
KERNEL_X = CovariateKernel((OnColumns(Gaussian(1.4), (0, 1)),))
KERNEL_Y = resolve_cells(cg.Gaussian(), CELLS)
KERNELS = cell_scales(CELLS, (1.0,))
H = SEEN.values @ SEEN.values.T


@pytest.mark.parametrize("finite", [False, True])
def test_operator(finite):
    v = RNG.normal(size=(3, 2))
    kernel = FiniteLocations(KERNEL_X, v) if finite else KERNEL_X
    k = (
        gram(X, v, gaussian, 1.4) @ gram(v, X, gaussian, 1.4) / 3
        if finite
        else gram(X, X, gaussian, 1.4)
    )
    operator = SteinOperator.of(X, Y[:, None], SEEN.values, kernel, KERNEL_Y)
    np.testing.assert_allclose(operator.block(slice(0, N), slice(0, N)), k * H, atol=1e-12)
    np.testing.assert_allclose(operator.diag(), np.diag(k * H), atol=1e-12)
    factor = choose_landmarks(operator, np.random.default_rng(0), tolerance=1e-9, cap=N)
    features = factor.whiten(factor.compare(operator.sample))
    off = ~np.eye(N, dtype=bool)  # the tolerance is for what is summed, which leaves out the diagonal
    np.testing.assert_allclose((features.T @ features)[off], (k * H)[off], atol=1e-6)


def dense_scales():
    found = []
    for kernel in KERNELS:
        c = kernel.features(SEEN.values)
        found += [gram(X, X, gaussian, a * 1.4) * (c @ c.T) for a in (1.0, 0.5)]
    return found


def test_scales():
    kernel = CentredScales.of(X, KERNEL_X, (0.5, 1.0), KERNELS)
    rows = kernel.rows(X, Y[:, None], SEEN.values)
    for block, wanted in zip(kernel.blocks(rows, rows), dense_scales(), strict=True):
        np.testing.assert_allclose(block, wanted, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(rows), [np.diag(m) for m in dense_scales()], atol=1e-12)
    weights = sign_weights(N, 9, Seed.of(0))
    sums = scale_sweep(kernel, rows, weights, engine=as_engine(1), memory=2**26)
    w = weights.block(0, N)
    for total, forms, matrix in zip(sums.totals, sums.forms, dense_scales(), strict=True):
        assert total == pytest.approx(matrix.sum() - np.trace(matrix), abs=1e-9)
        np.testing.assert_allclose(forms, off_diagonal_forms(matrix, w), atol=2e-4)
    found = choose_scale_landmarks(kernel, rows, np.random.default_rng(0), tolerance=1e-8, cap=N)
    for features, matrix in zip(found.features(rows), dense_scales(), strict=True):
        np.testing.assert_allclose(features.T @ features, matrix, atol=1e-5)


def test_features_of_x():
    f = x_features(KERNEL_X, X, np.random.default_rng(0), tolerance=1e-9)
    np.testing.assert_allclose(f @ f.T, gram(X, X, gaussian, 1.4), atol=1e-7)


@pytest.mark.parametrize("table", [True, False])
def test_features_by_cell(table, monkeypatch):
    if not table:
        monkeypatch.setattr("condgof.stein._redraw.TABLE", 0)
    codes = MODEL.sample(RNG)[:, 0].astype(int)
    wanted = SEEN.outcomes.of(codes)
    for kernel in (KERNEL_Y, *KERNELS):
        c, plain = features_by_cell(SEEN.outcomes, kernel, 1e-12)(codes), kernel.features(wanted)
        np.testing.assert_allclose(c @ c.T, plain @ plain.T, atol=1e-9)


def test_drawn_anew():
    blocks = [x_features(KERNEL_X, X, np.random.default_rng(0), tolerance=1e-9)]
    single = gram(X, X[:3], gaussian, 0.7)
    plan = Redraw(SEEN.outcomes, KERNELS, blocks, single, 1e-12)
    whole, alone = plan.run(30, Seed.of(1), as_engine(1))
    again, _ = plan.run(30, Seed.of(1), as_engine(2))
    np.testing.assert_array_equal(whole.forms, again.forms)
    for s, kernel in enumerate(KERNELS):
        c = kernel.features(SEEN.values)
        matrix = gram(X, X, gaussian, 1.4) * (c @ c.T)
        assert whole.totals[s] == pytest.approx(matrix.sum() - np.trace(matrix), rel=1e-6)
        for j in range(3):
            matrix = np.outer(single[:, j], single[:, j]) * (c @ c.T)
            assert alone.totals[3 * s + j] == pytest.approx(matrix.sum() - np.trace(matrix), abs=1e-9)
    # The mean of a U-statistic under its model is 0.
    more, _ = plan.run(2000, Seed.of(2), as_engine(2))
    assert (np.abs(more.forms.mean(axis=1)) < 4.5 * more.forms.std(axis=1) / np.sqrt(2000)).all()


def test_exact_sums_agree_with_signs():
    operator = SteinOperator.of(X, Y[:, None], SEEN.values, KERNEL_X, KERNEL_Y)
    weights = sign_weights(N, 5, Seed.of(0))
    sums = sweep(operator, weights, engine=as_engine(1))
    matrix = gram(X, X, gaussian, 1.4) * H
    np.testing.assert_allclose(sums.forms, off_diagonal_forms(matrix, weights.block(0, N)), atol=1e-9)
