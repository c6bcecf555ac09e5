"""What pages and pictures need of each kind of y: registered for its class of rows.

The files of `condgof.report.kinds` register these functions, one file a kind; a class that
is not registered raises.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import NamedTuple, NoReturn

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check import Check, Slice
from condgof.check.kinds import CheckedRows
from condgof.report._bins import ColumnBins
from condgof.report._chart import Chart

#: Draws a picture of a check that `Check.plot` can name, with the user's options.
Picture = Callable[..., Chart | None]


class RowResiduals(NamedTuple):
    """Residuals of single rows, which pictures can draw."""

    z: FloatArray  #: Of mean 0 and variance 1 under the model, (n, d_y).
    are_normal: bool  #: Whether they are standard normal under the model.
    #: The model's quantiles of y at `BAND_LEVELS`, (n, 5), NaN in rows that were not asked;
    #: None where the model has none, or y has several columns.
    bands: FloatArray | None = None
    are_counts: bool = False  #: Whether y comes in whole numbers, so that points coincide.

    @property
    def have_intervals(self) -> bool:
        """Whether the model predicts intervals of y, not only its mean and sd."""
        return self.are_normal or self.bands is not None


class ProfileDrawing(NamedTuple):
    """Estimates by bin of a column, as they are drawn: B bins, K estimates."""

    values: FloatArray  #: (B, K).
    low: FloatArray  #: (B, K).
    high: FloatArray  #: (B, K).
    expected: tuple[float, ...]  #: What the model says of each estimate, (K,).
    colours: AnyArray  #: (B, K).
    heads: tuple[str, ...]  #: Names of the estimates in tables, (K,).
    words: str  #: What stands out most; "" if nothing does.
    label: str  #: The name of the y axis.
    legend: str
    #: Colours of boxes from the first to the last estimate, (B,); () where none are drawn.
    boxes: tuple[str, ...] = ()


class Differences(NamedTuple):
    """What the cells of a map are about."""

    values: FloatArray  #: Data less model, row by row, (n,).
    low_way: str  #: What the model is where the values are negative: "too high".
    high_way: str  #: What the model is where the values are positive: "too low".
    unit: str = ""
    of_spread: bool = False  #: Whether cells show the sd of values, not their mean.


def _not_registered(function: str, checked: CheckedRows) -> NoReturn:
    raise NotImplementedError(f"{function} is not registered for {type(checked).__name__}")


@singledispatch
def first_pictures(checked: CheckedRows, check: Check) -> list[Chart | None]:
    """Return the pictures of all rows that come first; None for one that is not there."""
    _not_registered("first_pictures", checked)


@singledispatch
def available_pictures(checked: CheckedRows) -> dict[str, Picture]:
    """Return the pictures that only this kind of y, or a few kinds, have, by name."""
    _not_registered("available_pictures", checked)


@singledispatch
def slice_picture(checked: CheckedRows, check: Check, part: Slice) -> Chart | None:
    """Return the picture of the rows of a subgroup."""
    _not_registered("slice_picture", checked)


@singledispatch
def slice_quantiles(checked: CheckedRows, check: Check, part: Slice) -> Chart | None:
    """Return the quantiles of the residuals of a subgroup beside those expected."""
    _not_registered("slice_quantiles", checked)


@singledispatch
def along_column(checked: CheckedRows, bins: ColumnBins, y: int) -> ProfileDrawing | None:
    """Return estimates by bin of a column, of the y column number `y`."""
    _not_registered("along_column", checked)


@singledispatch
def differences(checked: CheckedRows, part: Slice | None) -> Differences | None:
    """Return what a map shows: what a subgroup is about, or what is most off overall."""
    _not_registered("differences", checked)


@singledispatch
def row_residuals(checked: CheckedRows) -> RowResiduals | None:
    """Return the residuals of single rows, where there are any."""
    _not_registered("row_residuals", checked)


@singledispatch
def slice_facts(checked: CheckedRows, rows: IntArray) -> list[str]:
    """Return sentences about the rows of a subgroup, by their positions (m,)."""
    _not_registered("slice_facts", checked)
