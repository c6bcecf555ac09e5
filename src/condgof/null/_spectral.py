"""The limit of the null distribution, from a spectrum."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.sample import Seed, Use


def spectral_draws(eigenvalues: FloatArray, m: int, seed: Seed) -> FloatArray:
    """Draw Σ_j λ_j (χ²_j − 1), the limit of n·D̂ under the null hypothesis (paper, Proposition 3).

    Parameters
    ----------
    eigenvalues : ndarray of shape (r,)
        λ.
    m : int
        How many draws.
    seed : Seed
        From where.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> draws = spectral_draws(np.array([1.0, 0.5]), 5000, Seed.of(0))
    >>> bool(abs(draws.mean()) < 0.1), bool(abs(draws.var() - 2 * 1.25) < 0.3)
    (True, True)
    """
    normals = seed.stream(Use.SPECTRAL).standard_normal((m, len(eigenvalues)))
    draws: FloatArray = (np.square(normals) - 1.0) @ eigenvalues
    return draws
