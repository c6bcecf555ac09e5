"""What a kernel is, and the one method a kernel author writes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError
from condgof.kernels._distance import direct_sqdist, near_zero, sqdist

Bandwidth: TypeAlias = float | Literal["median"]
SMALLEST = 1e-70
Profile: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


class Kernel:
    """A positive-definite kernel on rows of numbers.

    Kernels multiply (``a * b``) and can be put on some columns of x (``a.on("age", "income")``).
    """

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Evaluate the kernel between the rows of `a` (n, d) and of `b` (m, d): (n, m)."""
        raise NotImplementedError

    def __mul__(self, other: Kernel) -> Kernel:
        from condgof.kernels._product import Product

        if not isinstance(other, Kernel):
            return NotImplemented
        return Product.of(self, other)

    def on(self, *columns: int | str) -> Kernel:
        """Return this kernel on some columns of x, by name or by number.

        Examples
        --------
        >>> from condgof.kernels import Gaussian, Laplace
        >>> Gaussian(2.0).on("lon", "lat") * Laplace(1.0).on("age")
        Gaussian(2).on('lon', 'lat') * Laplace(1).on('age')
        """
        from condgof.kernels._product import OnColumns

        return OnColumns.of(self, columns)

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain Python objects, ready for JSON."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Radial(Kernel):
    """A kernel of the distance alone: k(a, b) = φ(t), t = ‖a − b‖² / bandwidth².

    A new kernel is a subclass with one method, `profile`.

    Parameters
    ----------
    bandwidth : float or "median"
        A positive number, or ``"median"`` for the median distance between rows.
    """

    bandwidth: Bandwidth = "median"

    #: Whether the profile is smooth enough at 0 for the Stein kernel on y.
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", _check_bandwidth(self.bandwidth, type(self).__name__))

    def profile(self, t: FloatArray) -> Profile:
        """Return φ(t), φ'(t) and φ''(t) for t ≥ 0, of any shape, as new arrays."""
        raise NotImplementedError

    def value(self, t: FloatArray) -> FloatArray:
        """Return φ(t) alone."""
        return self.profile(t)[0]

    def curvature_slope(self, t: FloatArray, profile: Profile) -> FloatArray:
        """Return t·φ'''(t), which the optimiser of the y-bandwidth needs.

        The default takes a difference of φ''; the library's own kernels have it in closed form, from
        the `profile` at t.
        """
        step, t = 1e-5, np.asarray(t, dtype=np.float64)  # in single precision a difference is noise
        upper, lower = self.profile(t * (1 + step))[2], self.profile(t * (1 - step))[2]
        return (upper - lower) / (2 * step)

    @property
    def sigma(self) -> float:
        """The bandwidth as a number."""
        if isinstance(self.bandwidth, str):
            raise InputError(
                f"{self!r} has no bandwidth yet: 'median' is filled in from the data by a test."
            )
        return self.bandwidth

    def with_bandwidth(self, bandwidth: float) -> Radial:
        """Return the same kernel with another bandwidth."""
        return replace(self, bandwidth=bandwidth)

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Evaluate the kernel between the rows of `a` (n, d) and of `b` (m, d): (n, m)."""
        return self.value(self.distances(a, b))

    def distances(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return t = ‖a_i − b_j‖² / bandwidth² for all pairs of rows, (n, m)."""
        if self.smooth:
            return sqdist(a, b, self.sigma)
        # A kink at 0 takes the root of t, and with it of the rounding error of a matrix product.
        return direct_sqdist(*near_zero(a, b, self.sigma))

    def __repr__(self) -> str:
        shown = repr(self.bandwidth) if isinstance(self.bandwidth, str) else f"{self.bandwidth:.6g}"
        return f"{type(self).__name__}({shown})"

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain Python objects, ready for JSON."""
        return {"kernel": type(self).__name__, "bandwidth": self.bandwidth}


def _check_bandwidth(bandwidth: Any, kernel: str) -> Bandwidth:
    if isinstance(bandwidth, str):
        if bandwidth != "median":
            raise InputError(
                f"{kernel}: the bandwidth must be a positive number or 'median', got {bandwidth!r}."
            )
        return "median"
    if isinstance(bandwidth, (bool, np.bool_)) or not isinstance(
        bandwidth, (int, float, np.integer, np.floating)
    ):
        raise InputTypeError(
            f"{kernel}: the bandwidth must be a positive number or 'median', "
            f"got {type(bandwidth).__name__}."
        )
    try:
        number = float(bandwidth)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number <= 0:
        raise InputError(
            f"{kernel}: the bandwidth must be positive and finite, got {number!r}. "
            "Pass a positive number or 'median'."
        )
    if not SMALLEST <= number <= 1.0 / SMALLEST:  # its fourth power must neither over- nor underflow
        raise InputError(
            f"{kernel}: the bandwidth {number:.3g} is too small or too large for double precision. "
            "Rescale the data, so that distances are nearer to 1."
        )
    return number
