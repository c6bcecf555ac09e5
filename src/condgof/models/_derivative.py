"""Numerical derivatives with an error estimate, for all rows at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condgof._typing import FloatArray

LEVELS = 14
SHRINK = 2.0


def differentiate(
    function: Callable[[FloatArray], FloatArray], y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradient of a row-wise function by extrapolated central differences.

    For each row the steps shrink by halves from a tenth of the spread of y; differences are
    extrapolated to step 0 (Richardson), and of the whole table each row keeps the entry that differs
    least from its neighbours (Ridders). That difference is the error estimate.

    Parameters
    ----------
    function : callable
        (n, d) → (n,), each row's value depending on that row only.
    y : ndarray of shape (n, d)
        Where to differentiate.

    Returns
    -------
    gradient, error : ndarrays of shape (n, d)
        The derivative and its estimated absolute error (infinite where nothing was finite).

    Examples
    --------
    >>> g, e = differentiate(lambda y: np.sin(y[:, 0]), np.array([[0.0], [1.0], [2.0]]))
    >>> bool(np.abs(g[:, 0] - np.cos([0.0, 1.0, 2.0])).max() < 1e-10)
    True
    """
    gradient, error = np.empty(y.shape), np.empty(y.shape)
    for c in range(y.shape[1]):
        gradient[:, c], error[:, c] = _one_column(function, y, c)
    return gradient, error


def _one_column(
    function: Callable[[FloatArray], FloatArray], y: FloatArray, c: int
) -> tuple[FloatArray, FloatArray]:
    n = len(y)
    best, best_error = np.zeros(n), np.full(n, np.inf)
    previous: list[FloatArray] = []
    # The spread by quartiles: a single outlier must not blow up the steps of all other rows.
    low, high = np.quantile(y[:, c], [0.25, 0.75])
    step = 0.1 * (float(high - low) / 1.35 or float(y[:, c].std()) or 1.0)
    with np.errstate(invalid="ignore", over="ignore"):  # a step may leave the support
        for _ in range(LEVELS):
            slope, rounding = _central(function, y, c, step)
            row = [slope]
            for k, coarser in enumerate(previous):
                factor = SHRINK ** (2 * (k + 1))
                row.append((factor * row[k] - coarser) / (factor - 1.0))
                error = np.fmax(np.abs(row[k + 1] - row[k]), np.abs(row[k + 1] - coarser))
                error += rounding  # entries may agree by chance to more digits than they have
                better = error < best_error
                best = np.where(better, row[k + 1], best)
                best_error = np.where(better, error, best_error)
            previous = row
            step /= SHRINK
    return best, best_error


def _central(
    function: Callable[[FloatArray], FloatArray], y: FloatArray, c: int, step: float
) -> tuple[FloatArray, FloatArray]:
    """Return the central difference and the size of its rounding error, (n,) each."""
    up, down = y.copy(), y.copy()
    up[:, c] += step
    down[:, c] -= step
    # What was really added, after rounding, is what the difference is divided by.
    apart = up[:, c] - down[:, c]
    upper, lower = function(up), function(down)
    rounding = np.finfo(np.float64).eps * (np.abs(upper) + np.abs(lower)) / apart
    return (upper - lower) / apart, rounding
