"""Radial kernels besides the Gaussian one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels._kernel import Profile, Radial


@dataclass(frozen=True, repr=False)
class IMQ(Radial):
    """Inverse multiquadric kernel, (1 + ‖a − b‖² / σ²)^(−1/2), σ the bandwidth: good when d_y is large.

    Examples
    --------
    >>> IMQ(1.0)(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.707]])
    """

    def profile(self, t: FloatArray) -> Profile:
        u = 1.0 / (1.0 + t)
        phi = np.sqrt(u)
        dphi = -0.5 * phi * u
        return phi, dphi, -1.5 * dphi * u

    def value(self, t: FloatArray) -> FloatArray:
        return 1.0 / np.sqrt(1.0 + t)


@dataclass(frozen=True, repr=False)
class Matern52(Radial):
    """Matérn kernel of smoothness 5/2, (1 + ρ + ρ²/3) exp(−ρ) with ρ = √5 ‖a − b‖ / σ, σ the bandwidth.

    It is not analytic: on x, the paper's theorem for random locations does not cover it.

    Examples
    --------
    >>> Matern52(1.0)(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.524]])
    """

    def profile(self, t: FloatArray) -> Profile:
        """Return φ, φ', φ'' as functions of t = ρ²/5."""
        rho = np.sqrt(5.0 * t)
        decay = np.exp(-rho)
        phi = (1.0 + rho + rho * rho / 3.0) * decay
        return phi, (-5.0 / 6.0) * (1.0 + rho) * decay, (25.0 / 12.0) * decay


@dataclass(frozen=True, repr=False)
class Matern12(Radial):
    """Matérn kernel of smoothness 1/2, exp(−‖a − b‖ / σ), for x only (and for y in `mmd`).

    Also known as the exponential or Laplacian kernel; σ is the bandwidth. It has a kink at 0, where a
    Stein kernel on y needs two derivatives. It is not analytic: the paper's theorem for random
    locations does not cover it.

    Examples
    --------
    >>> Matern12(1.0)(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.368]])
    """

    smooth: ClassVar[bool] = False

    def profile(self, t: FloatArray) -> Profile:
        """Return φ, φ', φ'' of φ(t) = exp(−√t); the derivatives are cut off at the kink."""
        root = np.sqrt(np.maximum(t, 1e-24))
        phi = np.exp(-np.sqrt(t))
        return phi, -0.5 * phi / root, 0.25 * phi * (1.0 + 1.0 / root) / (root * root)

    def value(self, t: FloatArray) -> FloatArray:
        return np.exp(-np.sqrt(t))
