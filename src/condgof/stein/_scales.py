"""Stein kernels at several bandwidths at once, for Gaussian kernels: what they share is computed once.

A scale is a bandwidth a on x and a bandwidth σ on y. With t_x the squared distance of the numeric
columns of x in units of a common bandwidth, and t, c the squared distance and (s' − s)·(y − y'),

    H = exp(−t_x/2a²) · k_rest(x, x') · exp(−t/2σ²) · (s·s' + (d_y − c)/σ² − t/σ⁴).

Bandwidths that halve need no new exponential: exp(−t/2(σ/2)²) is the fourth power of exp(−t/2σ²).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from condgof._typing import FloatArray
from condgof.kernels import CovariateKernel, Gaussian, OnColumns, direct_sqdist, product_is_exact
from condgof.stein._kernel import Rows


@dataclass(frozen=True, eq=False)
class ScaleRows:
    """Rows of a sample, prepared for comparison by `ScaleKernel`.

    Parameters
    ----------
    x : ndarray of shape (n, d_x)
        Covariates, for the factors of k that are not Gaussian.
    z : ndarray of shape (n, d)
        What the Gaussian factor of k compares, centred, in units of its bandwidth.
    y, scores : ndarrays of shape (n, d_y)
        Responses, centred, and scores.
    z_norms, y_norms, products : ndarrays of shape (n,)
        Squared norms of z and y, and s·y.
    """

    x: FloatArray
    z: FloatArray
    y: FloatArray
    scores: FloatArray
    z_norms: FloatArray
    y_norms: FloatArray
    products: FloatArray

    def take(self, rows: Rows) -> ScaleRows:
        """Return some of the rows."""
        return ScaleRows(*(getattr(self, f.name)[rows] for f in fields(self)))

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class ScaleKernel:
    """The Stein kernels of all pairs of a bandwidth on x and one on y.

    Parameters
    ----------
    numeric : OnColumns or None
        The Gaussian factor of k with its common bandwidth, if x has numeric columns.
    rest : tuple of OnColumns
        Its other factors, the same at every scale.
    x_scales : tuple of float
        Multiples of the common bandwidth, largest first.
    y_scales : tuple of float
        Bandwidths on y, largest first.
    centre_x, centre_y : ndarrays of shape (d_x,), (d_y,)
        A point amid the data, as in `SteinKernel`.
    """

    numeric: OnColumns | None
    rest: tuple[OnColumns, ...]
    x_scales: tuple[float, ...]
    y_scales: tuple[float, ...]
    centre_x: FloatArray
    centre_y: FloatArray

    @classmethod
    def amid(
        cls,
        x: FloatArray,
        y: FloatArray,
        kernel_x: CovariateKernel,
        x_scales: tuple[float, ...],
        y_scales: tuple[float, ...],
    ) -> ScaleKernel:
        """Make the kernels for a sample; without numeric columns of x there is one scale of x."""
        gaussian = [f for f in kernel_x.factors if type(f.kernel) is Gaussian]
        return cls(
            gaussian[0] if gaussian else None,
            tuple(f for f in kernel_x.factors if type(f.kernel) is not Gaussian),
            tuple(sorted(x_scales, reverse=True)) if gaussian else (1.0,),
            tuple(sorted(y_scales, reverse=True)),
            np.median(x, axis=0),
            np.median(y, axis=0),
        )

    @property
    def scales(self) -> list[tuple[float, float]]:
        """All scales, in the order in which they come out: (multiple on x, bandwidth on y)."""
        return [(a, sigma) for sigma in self.y_scales for a in self.x_scales]

    def rows(self, x: FloatArray, y: FloatArray, scores: FloatArray) -> ScaleRows:
        """Prepare rows x (n, d_x), y and scores (n, d_y)."""
        z = np.empty((len(y), 0))
        if self.numeric is not None:
            columns = self.numeric.indices()
            bandwidth = self.numeric.kernel.sigma  # type: ignore[union-attr]
            z = (x - self.centre_x)[:, columns] / bandwidth
        y = y - self.centre_y
        return ScaleRows(
            x, z, y, scores, (z * z).sum(axis=1), (y * y).sum(axis=1), (scores * y).sum(axis=1)
        )

    def diag(self, a: ScaleRows) -> FloatArray:
        """Return H(z, z) at each scale, (K, n)."""
        square, d_y = (a.scores * a.scores).sum(axis=1), a.y.shape[1]
        rest = 1.0
        for factor in self.rest:
            rest *= float(factor(a.x[:1], a.x[:1])[0, 0])
        return np.stack([rest * (square + d_y / sigma**2) for _, sigma in self.scales])

    def blocks(self, a: ScaleRows, b: ScaleRows) -> Iterator[FloatArray]:
        """Yield H between two sets of rows at each scale, (len(a), len(b)) each.

        What is yielded is written over in the next step: use it at once.
        """
        on_x, on_y = self.factors(a, b)
        out = np.empty((len(a), len(b)))
        for h in on_y:
            for k in on_x:
                yield np.multiply(k, h, out=out)

    def factors(self, a: ScaleRows, b: ScaleRows) -> tuple[list[FloatArray], Iterator[FloatArray]]:
        """Return k at each scale of x, and h at each scale of y, which is written over in each step."""
        near = self._near_x(a, b) and self._near_y(a, b)
        t_x, t, cross = self._products(a, b) if near else self._differences(a, b)
        square = a.scores @ b.scores.T
        return self._on_x(a, b, t_x), self._on_y(t, cross, square, a.y.shape[1])

    def factors_x(self, a: ScaleRows, b: ScaleRows) -> list[FloatArray]:
        """Return k alone at each scale of x."""
        near = self._near_x(a, b)
        return self._on_x(
            a, b, _sqdist(a.z, b.z, a.z_norms, b.z_norms) if near else direct_sqdist(a.z, b.z)
        )

    def factors_y(self, a: ScaleRows, b: ScaleRows) -> Iterator[FloatArray]:
        """Return h alone at each scale of y, which is written over in each step."""
        t, cross = self._products_y(a, b) if self._near_y(a, b) else self._differences_y(a, b)
        return self._on_y(t, cross, a.scores @ b.scores.T, a.y.shape[1])

    def _near_x(self, a: ScaleRows, b: ScaleRows) -> bool:
        least = min(self.x_scales)
        return product_is_exact(a.z_norms / least**2, b.z_norms / least**2)

    def _near_y(self, a: ScaleRows, b: ScaleRows) -> bool:
        least = min(self.y_scales)
        return product_is_exact(a.y_norms / least**2, b.y_norms / least**2)

    def _on_y(
        self, t: FloatArray, cross: FloatArray, square: FloatArray, d_y: int
    ) -> Iterator[FloatArray]:
        """Yield h at each scale of y, from the squared distances, (s' − s)·(y − y') and s·s'."""
        np.subtract(d_y, cross, out=cross)
        h, term = np.empty_like(t), np.empty_like(t)
        phi: FloatArray | None = None
        for before, sigma in zip((None, *self.y_scales), self.y_scales, strict=False):
            phi = _narrower(phi, before, sigma, t)
            np.multiply(cross, 1.0 / sigma**2, out=h)
            h += square
            h -= np.multiply(t, 1.0 / sigma**4, out=term)
            h *= phi
            yield h

    def _on_x(self, a: ScaleRows, b: ScaleRows, t_x: FloatArray) -> list[FloatArray]:
        """Return k at each scale of x."""
        on_x: list[FloatArray] = []
        for before, scale in zip((None, *self.x_scales), self.x_scales, strict=False):
            on_x.append(_narrower(on_x[-1].copy() if on_x else None, before, scale, t_x))
        for factor in self.rest:
            values = factor(a.x, b.x)
            for k in on_x:
                k *= values
        return on_x

    def _products(self, a: ScaleRows, b: ScaleRows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Distances and (s' − s)·(y − y') as matrix products."""
        return _sqdist(a.z, b.z, a.z_norms, b.z_norms), *self._products_y(a, b)

    def _products_y(self, a: ScaleRows, b: ScaleRows) -> tuple[FloatArray, FloatArray]:
        cross = a.y @ b.scores.T
        cross += a.scores @ b.y.T
        cross -= a.products[:, None]
        cross -= b.products
        return _sqdist(a.y, b.y, a.y_norms, b.y_norms), cross

    def _differences(self, a: ScaleRows, b: ScaleRows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the same by differences, for rows far from the centre in bandwidths."""
        return direct_sqdist(a.z, b.z), *self._differences_y(a, b)

    def _differences_y(self, a: ScaleRows, b: ScaleRows) -> tuple[FloatArray, FloatArray]:
        cross = np.zeros((len(a), len(b)))
        for c in range(a.y.shape[1]):
            cross += (b.scores[:, c] - a.scores[:, c, None]) * (a.y[:, c, None] - b.y[:, c])
        return direct_sqdist(a.y, b.y), cross


def _sqdist(a: FloatArray, b: FloatArray, a_norms: FloatArray, b_norms: FloatArray) -> FloatArray:
    """Squared distances as a matrix product."""
    t = a @ (-2.0 * b.T)
    t += a_norms[:, None]
    t += b_norms
    return np.maximum(t, 0.0, out=t)


def _narrower(wider: FloatArray | None, before: float | None, scale: float, t: FloatArray) -> FloatArray:
    """Return exp(−t/2·scale²), from the one of the bandwidth before where that is twice as wide.

    `wider` is written over.
    """
    if wider is None or before != 2.0 * scale:
        values: FloatArray = np.exp(t * (-0.5 / scale**2))
        return values
    np.square(wider, out=wider)
    return np.square(wider, out=wider)
