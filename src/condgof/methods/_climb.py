"""L-BFGS-B on a function to be made large."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condgof._typing import FloatArray

#: Bandwidths stay within these multiples of the median heuristic: smaller ones overfit.
BANDWIDTH_RANGE = (0.4, 3.0)
MAX_ITERATIONS = 15


def climb(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    bounds: list[tuple[float, float]],
) -> tuple[FloatArray, float, float]:
    """Maximise a function with its gradient inside a box.

    Parameters
    ----------
    function : callable
        (d,) → value and gradient (d,).
    start : ndarray of shape (d,)
        Where to begin.
    bounds : list of (low, high)
        The box.

    Returns
    -------
    end : ndarray of shape (d,)
        The best point.
    before, after : float
        Values at the start and at the end.

    Examples
    --------
    >>> end, before, after = climb(lambda v: (-float(v @ v), -2 * v), np.ones(2), [(0.5, 2.0)] * 2)
    >>> end, before, after
    (array([0.5, 0.5]), -2.0, -0.5)
    """
    low, high = np.array(bounds).reshape(-1, 2).T
    start = np.clip(start, low, high)
    before, _ = function(start)
    if not len(start):
        return start, before, before
    from scipy.optimize import minimize

    def negative(v: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(v)
        return -value, -gradient

    found = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": MAX_ITERATIONS, "ftol": 1e-6},
    )
    after = -float(found.fun)
    return (found.x, before, after) if after >= before else (start, before, before)


def log_range() -> tuple[float, float]:
    """Bounds of a log-bandwidth relative to the median heuristic."""
    return float(np.log(BANDWIDTH_RANGE[0])), float(np.log(BANDWIDTH_RANGE[1]))
