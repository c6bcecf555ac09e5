"""In which units columns of x are compared: as they are, in standard deviations, or by ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, NumericalError
from condgof.sample._column import Column

#: What a user may ask for.
SCALE_X = ("ranks", "std", "none")


@dataclass(frozen=True, eq=False)
class XUnits:
    """A map of x, column by column and increasing in each, to the units that kernels compare.

    Parameters
    ----------
    scales : ndarray of shape (d_x,)
        What columns are divided by.
    knots : tuple of (values, scores) or None
        For columns that are compared by ranks: sorted values and the normal scores of their ranks,
        between
        which values are interpolated. Any increasing change of a column's unit leaves those scores
        alone,
        and an outlier is only the largest.

    Examples
    --------
    >>> x = np.array([[1.0], [2.0], [1e9]])
    >>> units = XUnits.of(x, [Column("x")], "ranks")
    >>> np.round(units.apply(x)[:, 0], 3)
    array([-0.967,  0.   ,  0.967])
    >>> units.invert(units.apply(x))[:, 0]
    array([1.e+00, 2.e+00, 1.e+09])
    """

    scales: FloatArray
    knots: tuple[tuple[FloatArray, FloatArray] | None, ...]

    @classmethod
    def of(cls, x: FloatArray, columns: Sequence[Column], scale_x: str) -> XUnits:
        """Take the units from rows x (n, d_x); levels and constant columns stay as they are."""
        if not isinstance(scale_x, str) or scale_x not in SCALE_X:
            names = ", ".join(map(repr, SCALE_X))
            raise InputError(f"scale_x must be one of {names}, got {scale_x!r}.")
        scales, knots = np.ones(x.shape[1]), []
        for i, column in enumerate(columns):
            plain = column.categorical or column.constant
            knots.append(_ranked(x[:, i]) if scale_x == "ranks" and not plain else None)
            if scale_x == "std" and not plain:
                with np.errstate(over="ignore", invalid="ignore"):
                    scales[i] = x[:, i].std(ddof=1)
        if not (np.isfinite(scales).all() and (scales > 0).all()):
            raise NumericalError(
                "The standard deviation of a column of x overflows or is 0 to rounding. Rescale x, or "
                "pass scale_x='ranks'."
            )
        return cls(scales, tuple(knots))

    def apply(self, x: FloatArray) -> FloatArray:
        """Bring x (n, d_x) to these units."""
        out: FloatArray = x / self.scales
        for i, knot in enumerate(self.knots):
            if knot is not None:
                out[:, i] = np.interp(x[:, i], *knot)
        return out

    def invert(self, u: FloatArray) -> FloatArray:
        """Bring points (m, d_x) back to the user's units."""
        out: FloatArray = u * self.scales
        for i, knot in enumerate(self.knots):
            if knot is not None:
                out[:, i] = np.interp(u[:, i], knot[1], knot[0])
        return out

    def joined(self, other: XUnits) -> XUnits:
        """Return the units of the columns of both, side by side."""
        return replace(
            self, scales=np.append(self.scales, other.scales), knots=(*self.knots, *other.knots)
        )


def _ranked(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct values and the normal scores of their middle ranks."""
    from scipy.special import ndtri

    distinct, counts = np.unique(values, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts
    return distinct, np.asarray(ndtri(middle / len(values)))
