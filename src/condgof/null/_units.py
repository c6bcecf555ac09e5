"""Means over rows that come in units (groups, or blocks of time): how much they vary.

Rows d_i of G units g, of n_g rows each, n in all, are independent between units and have
the mean m̂ = Σ d_i/n. Its variance is estimated by

    V̂ = Σ_g c_g²/n²,    c_g = Σ_{i∈g} (d_i − m̂) / √(1 − n_g/n):

the sample mean follows a large unit, which the root makes up for. V̂ is unbiased where rows
are independent (Bell and McCaffrey, 2002: "CR2"). In that case its law is that of
V·χ²_ν/ν in mean and variance with

    ν = n² / (Σ_g n_g² + Σ_{g≠h} b_g b_h),    b_g = n_g²/(n − n_g),

which depends on the sizes of units alone; for units of one size it is G − 1, and V̂ the
usual estimate. So m̂ is compared with Student's t of ν degrees of freedom. One unit of 100
rows among 24 of 4 rows leaves ν = 3.6 degrees of freedom of 24.

For the correlated rows of a large unit, V̂ and ν are both too small. There |m̂|/√V̂ is
bounded, since its numerator and its denominator are of the same unit, and the test keeps
its level all the same (docs/theory/groups.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray


class MeanVariance(NamedTuple):
    """The estimated variance of a mean of n rows."""

    variance: float
    df: float  #: Effective degrees of freedom of the variance; 0 where there is one unit.
    #: c_g of each unit, (G,).
    sums: FloatArray


def effective_df(sizes: AnyArray) -> float:
    """Return ν of the module's docstring, from the number of rows of each unit, (G,)."""
    sizes = np.asarray(sizes, dtype=np.float64)
    n = float(sizes.sum())
    if len(sizes) < 2:
        return 0.0
    b = np.square(sizes) / (n - sizes)
    off_diagonal = float(b.sum() ** 2 - np.square(b).sum())
    return n**2 / (float(np.square(sizes).sum()) + off_diagonal)


def mean_variance(values: FloatArray, units: IntArray | None = None) -> MeanVariance:
    """Estimate the variance of the mean of values (n,).

    Parameters
    ----------
    values : ndarray of shape (n,)
    units : ndarray of shape (n,), optional
        The number of the unit of each row; numbers without rows are no units. Without it
        every row is a unit.
    """
    n = len(values)
    centred = values - values.mean()
    if units is None:
        sizes = np.ones(n)
        sums = centred
    else:
        every_size = np.bincount(units)
        present = every_size > 0
        sizes = every_size[present].astype(np.float64)
        sums = np.bincount(units, centred)[present]
    if len(sizes) < 2:
        return MeanVariance(variance=0.0, df=0.0, sums=sums)
    scaled = np.asarray(sums / np.sqrt(1.0 - sizes / n))
    variance = float(np.square(scaled).sum()) / n**2
    return MeanVariance(variance=variance, df=effective_df(sizes), sums=scaled)
