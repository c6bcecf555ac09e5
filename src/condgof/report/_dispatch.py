"""What pages and pictures need of each kind of y: registered for its class of rows.

The files of `condgof.report.kinds` register these functions, one file a kind; a class that
is not registered raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any, NamedTuple, NoReturn

from condgof._typing import AnyArray, IntArray
from condgof.check import Check, Slice
from condgof.check.curves import ColumnPanel
from condgof.check.kinds import CheckedRows
from condgof.report._chart import Chart

#: Draws a picture of a check that `Check.plot` can name, with the user's options.
Picture = Callable[..., Chart | None]


class ProfileDrawing(NamedTuple):
    """How estimates by bin of a column are drawn: B bins, K estimates."""

    colours: AnyArray  #: (B, K).
    heads: tuple[str, ...]  #: Names of the estimates in tables, (K,).
    words: str  #: What stands out most; "" if nothing does.
    label: str  #: The name of the y axis.
    legend: str
    #: Colours of boxes from the first to the last estimate, (B,); () where none are drawn.
    boxes: tuple[str, ...] = ()


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
def slice_picture(
    checked: CheckedRows, part: Slice, curves: Mapping[str, Any]
) -> Chart | None:
    """Return the picture of the rows of a subgroup, of which `curves` are the numbers.

    These are records of `condgof.check.curves.subgroup_curves`, by name; here and below.
    """
    _not_registered("slice_picture", checked)


@singledispatch
def slice_quantiles(
    checked: CheckedRows, part: Slice, curves: Mapping[str, Any]
) -> Chart | None:
    """Return the quantiles of the residuals of a subgroup beside those expected."""
    _not_registered("slice_quantiles", checked)


@singledispatch
def profile_drawing(checked: CheckedRows, panel: ColumnPanel) -> ProfileDrawing:
    """Return how estimates by bin of a column are drawn, and in which words."""
    _not_registered("profile_drawing", checked)


@singledispatch
def slice_facts(checked: CheckedRows, rows: IntArray) -> list[str]:
    """Return sentences about the rows of a subgroup, by their positions (m,)."""
    _not_registered("slice_facts", checked)
