"""Test functions of Stein scores: landmark functions factor the Stein kernel."""

import numpy as np
import pytest

import oracle
from condgof.kernels import IMQ, Gaussian, Matern52
from condgof.residuals import SteinTestFunctions


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
def test_landmark_functions_factor_the_stein_kernel(kernel, slow, d_y, within, offset):
    """Dense landmarks span derivatives too, the sooner the smoother the kernel is."""
    rng = np.random.default_rng(1)
    dense = 1.5 * rng.normal(size=(400, d_y))
    y = rng.normal(size=(50, d_y))
    scores = 2.0 * rng.normal(size=(50, d_y))
    test_functions = SteinTestFunctions.from_landmarks(
        (kernel,), dense + offset, np.ones((400, d_y)), rng, precision=1e-12, cap=400
    )
    xi = test_functions.apply_operator(y + offset, scores)
    expected = oracle.stein_h(y, scores, slow, 1.3)
    assert np.linalg.norm(xi @ xi.T - expected) <= within * np.linalg.norm(expected)
