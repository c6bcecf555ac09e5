"""The radial kernels: one profile each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels._base import Profile, Radial


@dataclass(frozen=True, repr=False)
class Gaussian(Radial):
    """Gaussian kernel, exp(−‖a − b‖² / 2σ²). The paper's choice for x and y.

    Parameters
    ----------
    bandwidth : float or "median"
        σ.

    Examples
    --------
    >>> Gaussian(1.0)(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.607]])
    """

    def profile(self, t: FloatArray) -> Profile:
        """Return φ, φ', φ'' of φ(t) = exp(−t/2)."""
        phi = self.value(t)
        return phi, -0.5 * phi, 0.25 * phi

    def value(self, t: FloatArray) -> FloatArray:
        """Return φ(t) alone."""
        return np.exp(-0.5 * t)

    def curvature_slope(self, t: FloatArray, profile: Profile) -> FloatArray:
        """Return t·φ'''(t)."""
        return -0.5 * t * profile[2]


@dataclass(frozen=True, repr=False)
class IMQ(Radial):
    """Inverse multiquadric kernel, (1 + ‖a − b‖² / σ²)^(−1/2): heavy tails, good when d_y is large.

    Parameters
    ----------
    bandwidth : float or "median"
        σ.

    Examples
    --------
    >>> IMQ(1.0)(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.707]])
    """

    def profile(self, t: FloatArray) -> Profile:
        """Return φ, φ', φ'' of φ(t) = (1 + t)^(−1/2)."""
        u = 1.0 / (1.0 + t)
        phi = np.sqrt(u)
        dphi = -0.5 * phi * u
        return phi, dphi, -1.5 * dphi * u

    def value(self, t: FloatArray) -> FloatArray:
        """Return φ(t) alone."""
        return 1.0 / np.sqrt(1.0 + t)

    def curvature_slope(self, t: FloatArray, profile: Profile) -> FloatArray:
        """Return t·φ'''(t)."""
        return -2.5 * t * profile[2] / (1.0 + t)


@dataclass(frozen=True, repr=False)
class Matern52(Radial):
    """Matérn kernel of smoothness 5/2, (1 + ρ + ρ²/3) exp(−ρ) with ρ = √5 ‖a − b‖ / σ.

    It is not analytic: on x, the paper's theorem for random locations does not cover it.

    Parameters
    ----------
    bandwidth : float or "median"
        σ.

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

    def curvature_slope(self, t: FloatArray, profile: Profile) -> FloatArray:
        """Return t·φ'''(t); φ''' alone is infinite at 0."""
        return -0.5 * np.sqrt(5.0 * t) * profile[2]


@dataclass(frozen=True, repr=False)
class Laplace(Radial):
    """Laplace kernel, exp(−‖a − b‖ / σ), for x only (and for y in `mmd`).

    It has a kink at 0, where a Stein kernel on y needs two derivatives. It is not analytic:
    the paper's theorem for random locations does not cover it.

    Parameters
    ----------
    bandwidth : float or "median"
        σ.

    Examples
    --------
    >>> Laplace(1.0)(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.368]])
    """

    smooth: ClassVar[bool] = False

    def profile(self, t: FloatArray) -> Profile:
        """Return φ, φ', φ'' of φ(t) = exp(−√t); the derivatives are cut off at the kink."""
        root = np.sqrt(np.maximum(t, 1e-24))
        phi = np.exp(-np.sqrt(t))
        return phi, -0.5 * phi / root, 0.25 * phi * (1.0 + 1.0 / root) / (root * root)

    def value(self, t: FloatArray) -> FloatArray:
        """Return φ(t) alone."""
        return np.exp(-np.sqrt(t))
