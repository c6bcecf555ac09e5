"""A kernel on angles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ive

from condgof._typing import FloatArray, IntArray
from condgof.errors import InputError, InputTypeError
from condgof.kernels._kernel import Bandwidth, Gaussian, Kernel, median_distance
from condgof.sample import Seed, Use

#: Terms of the Fourier series of a kernel below this share of the first are left out,
SMALLEST_TERM = 1e-12
#: and all terms after this many.
MOST_TERMS = 48


class FourierTerms(NamedTuple):
    """A kernel of angles as Σ_k weight_k·cos(k(θ − θ'))."""

    frequencies: IntArray  #: k, from 0 on, (K,).
    weights: FloatArray  #: Not negative, (K,).


@dataclass(frozen=True)
class Periodic(Kernel):
    """Kernel on angles, exp((cos(θ − θ') − 1)/s²), for a y that has a period.

    θ = 2πy/period and s = 2π·bandwidth/period. It is the Gaussian kernel of the distance of
    two points of a circle through the circle; for a small bandwidth, that of their distance
    along it.

    Parameters
    ----------
    bandwidth : float or "median"
        In the unit of y: a positive number, or ``"median"`` for the median distance.
    period : float
        The length of a whole turn in the unit of y. A test takes that of the model.

    Examples
    --------
    >>> kernel = Periodic(30.0, period=360)
    >>> kernel(np.array([[350.0]]), np.array([[350.0], [10.0]])).round(3)
    array([[1.   , 0.803]])
    """

    bandwidth: Bandwidth = "median"
    period: float = 2.0 * math.pi

    def __post_init__(self) -> None:
        Gaussian(self.bandwidth)  # refuses what is no bandwidth
        if not 0 < self.period < math.inf:
            raise InputError(f"Periodic: the period must be positive, got {self.period!r}.")

    @property
    def sigma(self) -> float:
        """The bandwidth as a number, in the unit of y."""
        if isinstance(self.bandwidth, str):
            raise InputError(f"{self!r} has no bandwidth yet: a test fills it in.")
        return self.bandwidth

    @property
    def _inverse_square(self) -> float:
        """1/s², with the bandwidth s as an angle."""
        return (self.period / (2.0 * math.pi * self.sigma)) ** 2

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        difference = 2.0 * math.pi * (a[:, :1] - b[:, 0]) / self.period
        return np.asarray(np.exp((np.cos(difference) - 1.0) * self._inverse_square))

    def fourier_terms(self) -> FourierTerms:
        """Return the terms of the kernel: e^(−1/s²)·I_k(1/s²), twice that for k > 0."""
        frequencies = np.arange(MOST_TERMS)
        weights = ive(frequencies, self._inverse_square)
        weights[1:] *= 2.0
        kept = weights > SMALLEST_TERM * weights[0]
        return FourierTerms(frequencies[kept], weights[kept])

    def __repr__(self) -> str:
        median = isinstance(self.bandwidth, str)
        text = repr(self.bandwidth) if median else f"{self.bandwidth:.6g}"
        return f"Periodic({text}, period={self.period:.6g})"


def resolve_angles(
    kernel: object, angles: FloatArray, period: float, seed: Seed
) -> Periodic:
    """Make a kernel on angles (n,) in radians ready: its period and bandwidth are known.

    A Gaussian kernel, the default of tests, stands for the periodic one of its bandwidth.
    """
    if type(kernel) is Gaussian:
        kernel = Periodic(kernel.bandwidth)
    if not isinstance(kernel, Periodic):
        raise InputTypeError(
            "kernel_y of angles must be condgof.Gaussian(bandwidth), which stands for"
            f" condgof.kernels.Periodic(bandwidth), got {kernel!r}."
        )
    ready = replace(kernel, period=period)
    if ready.bandwidth != "median":
        return ready
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    distance = median_distance(points, seed.stream(Use.BANDWIDTH_Y), "y")
    return replace(ready, bandwidth=distance * period / (2.0 * math.pi))
