"""Columns of x and y: name, kind, how values are written, and in which units they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, NumericalError, check_choice


@dataclass(frozen=True)
class Column:
    """One column of x or y."""

    #: The user's name for it, or a made-up one for arrays.
    name: str
    #: The levels of a categorical column, whose numbers are positions in it; None if
    #: numeric.
    levels: tuple[str, ...] | None = None
    #: Whether all rows are equal: such a column carries nothing.
    constant: bool = False
    #: Whether the numbers are days since 1970-01-01 UTC.
    dates: bool = False
    #: Whether those dates came with a time zone, so that it must be said that they are in
    #: UTC.
    utc: bool = False
    #: Whether the levels have an order of their own, in which they are listed.
    ordered: bool = False
    boolean: bool = False

    @property
    def categorical(self) -> bool:
        return self.levels is not None

    @property
    def kind(self) -> str:
        """What the column holds, in a word: text, dates or numbers."""
        return "text" if self.categorical else "dates" if self.dates else "numbers"

    def text(self, value: float) -> str:
        if self.levels is not None:
            return self.levels[int(value)]
        day, time = str(np.datetime64(round(value * 24 * 60), "m")).split("T")
        return (day if time == "00:00" else f"{day} {time}") + " UTC" * self.utc


def encode_levels(raw: AnyArray, column: Column, label: str) -> FloatArray:
    """Turn levels given by name into the numbers that `column` has for them."""
    levels = column.levels or ()
    known = {level: float(i) for i, level in enumerate(levels)}
    unknown = [str(value) for value in raw if str(value) not in known]
    if unknown:
        listed = f"{', '.join(levels[:10])}{', ...' if len(levels) > 10 else ''}"
        told = f"{label}: {unknown[0]!r} is not a level of column {column.name!r}"
        raise InputError(f"{told}. Its levels are {listed}.")
    return np.array([known[str(value)] for value in raw], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class XUnits:
    """A map of x, column by column and increasing in each, to the units that kernels compare."""

    #: What columns are divided by, (d_x,).
    scales: FloatArray
    #: For columns that are compared by ranks: sorted values and the normal scores of their
    #: ranks, between which values are interpolated. Any increasing change of a column's
    #: unit leaves those scores alone, and an outlier is only the largest.
    knots: tuple[tuple[FloatArray, FloatArray] | None, ...]

    @classmethod
    def of(cls, x: FloatArray, columns: Sequence[Column], scale_x: str) -> XUnits:
        """Take the units from rows x (n, d_x); levels and constant columns stay as they are."""
        check_choice(scale_x, "scale_x", ("ranks", "std", "none"))
        scales, knots = np.ones(x.shape[1]), []
        for i, column in enumerate(columns):
            plain = column.categorical or column.constant
            knots.append(_ranked(x[:, i]) if scale_x == "ranks" and not plain else None)
            if scale_x == "std" and not plain:
                with np.errstate(over="ignore", invalid="ignore"):
                    scales[i] = x[:, i].std(ddof=1)
        if not (np.isfinite(scales).all() and (scales > 0).all()):
            raise NumericalError(
                "The standard deviation of a column of x overflows or is 0 to rounding."
                " Rescale x, or pass scale_x='ranks'."
            )
        return cls(scales, tuple(knots))

    def apply(self, x: FloatArray, back: bool = False) -> FloatArray:
        """Bring x (n, d_x) to these units, or from them back to the user's."""
        if not back and (self.scales == 1.0).all() and not any(self.knots):
            return x
        out: FloatArray = x * self.scales if back else x / self.scales
        for i, knot in enumerate(self.knots):
            if knot is not None:
                out[:, i] = np.interp(x[:, i], *(knot[::-1] if back else knot))
        return out

    def joined(self, other: XUnits) -> XUnits:
        return XUnits(np.append(self.scales, other.scales), (*self.knots, *other.knots))


def _ranked(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    from scipy.special import ndtri

    distinct, counts = np.unique(values, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts
    return distinct, np.asarray(ndtri(middle / len(values)))
