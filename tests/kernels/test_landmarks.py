"""Landmarks through which a kernel is seen, and the whitening of their matrix."""

import numpy as np

from condgof.kernels import (
    CovariateKernel,
    Gaussian,
    OnColumns,
    choose_landmarks,
    whitening,
)

KERNEL = CovariateKernel((OnColumns(Gaussian(1.4), (0, 1)),))


def test_copies_are_left_out():
    different = np.random.default_rng(1).normal(size=(7, 2))
    copies = np.repeat(different, 20, axis=0)
    landmarks = choose_landmarks(
        KERNEL, copies, np.random.default_rng(0), tolerance=0.0, cap=50
    )
    assert len(np.unique(copies[landmarks.rows], axis=0)) == len(landmarks.rows) == 7


def test_the_cap_is_kept():
    wide = np.random.default_rng(1).normal(size=(300, 2)) * 50
    landmarks = choose_landmarks(
        KERNEL, wide, np.random.default_rng(0), tolerance=0.0, cap=50
    )
    assert len(landmarks.rows) == 50


def test_whitening_leaves_out_what_is_rounding():
    matrix = np.diag([1.0, 1e-3, 1e-12])
    assert whitening(matrix, 1e-6).shape == (3, 2)
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    white = whitening(matrix)
    np.testing.assert_allclose(white.T @ matrix @ white, np.eye(2), atol=1e-12)
