"""Pictures by name: those that matter together, and each by itself with matplotlib."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from condgof.check import Axis, Check
from condgof.check.curves import axis_of, subgroup_curves
from condgof.errors import InputError, check_choice
from condgof.report._bins import chosen_slice
from condgof.report._chart import Chart, draw, draw_all
from condgof.report._dispatch import (
    Picture,
    available_pictures,
    first_pictures,
    slice_picture,
    slice_quantiles,
)
from condgof.report._effects import effect_chart
from condgof.report._fit import fit
from condgof.report._forest import forest
from condgof.report._maps import map_of
from condgof.report._null import null_picture
from condgof.report._panels import column_panel, panels
from condgof.result import GofResult

#: What `Check.plot` can draw. Those that are not of all kinds of y are registered for some;
#: see `available_pictures`.
PICTURE_NAMES = (
    "fit",
    "pit",
    "slices",
    "groups",
    "column",
    "slice",
    "qq",
    "map",
    "effect",
    "null",
    "reliability",
    "class",
    "classes",
    "rootogram",
    "coverage",
    "survival",
    "angles",
)
#: Pictures of the figure that `Check.plot` draws.
MAIN_PICTURES = 4


def drawn_first(check: Check) -> list[Chart]:
    """Return the pictures of all rows that come first."""
    charts = first_pictures(check.checked, check)
    return [chart for chart in charts if chart is not None]


def main_pictures(check: Check) -> list[Chart]:
    """Return the pictures that matter: all rows, slices or groups, the leading column."""
    charts = [
        *drawn_first(check),
        _slices(check) or _groups(check),
        *panels(check, 2, wide=True),
        null_picture(check.result),
    ]
    return [chart for chart in charts if chart is not None][:MAIN_PICTURES]


def plot_check(
    check: Check, what: str | None = None, ax: object = None, **options: Any
) -> Any:
    """Draw the main pictures, or one by name, with matplotlib; see `Check.plot`."""
    if what is None:
        if ax is not None or options:
            names = ", ".join(map(repr, PICTURE_NAMES))
            raise InputError(f"Name one picture to draw: {names}.")
        return draw_all(main_pictures(check))
    what = check_choice(what, "what", PICTURE_NAMES)
    checked = check.checked
    picture = {**COMMON_PICTURES, **available_pictures(checked)}.get(what)
    try:
        chart = None if picture is None else picture(check, **options)
    except (TypeError, IndexError) as error:
        raise InputError(f"plot({what!r}) cannot be drawn so: {error}.") from error
    if chart is None:
        raise InputError(f"This check of {checked.label} has no picture {what!r}.")
    return draw(chart, ax)


def _axis(check: Check, column: str) -> Axis:
    axis = axis_of(check.checked, column)
    assert axis is not None  # a column that is named is there, or refused
    return axis


def _fit(check: Check, column: str | None = None, y: int = 0) -> Chart | None:
    return fit(check, column, y=y)


def _slices(check: Check) -> Chart | None:
    return forest(check.slices, leading_only=True)


def _groups(check: Check) -> Chart | None:
    return forest(check.groups)


def _column(check: Check, column: str, y: int | None = None) -> Chart | None:
    return column_panel(check, _axis(check, column), y=y, wide=True)


def _slice(check: Check, number: int = 1) -> Chart | None:
    part = chosen_slice(check, number)
    return slice_picture(check.checked, part, subgroup_curves(check.checked, part))


def _qq(check: Check, number: int = 1) -> Chart | None:
    part = chosen_slice(check, number)
    return slice_quantiles(check.checked, part, subgroup_curves(check.checked, part))


def _map(check: Check, columns: tuple[str, str]) -> Chart | None:
    return map_of(check, _axis(check, columns[0]), _axis(check, columns[1]))


def _effect(check: Check, number: int = 0) -> Chart | None:
    return effect_chart(check.effects[number]) if check.effects else None


def _null(check: Check) -> Chart | None:
    return null_picture(check.result)


#: Pictures that are asked for in the same way whatever kind y is of.
COMMON_PICTURES: dict[str, Picture] = {
    "fit": _fit,
    "slices": _slices,
    "groups": _groups,
    "column": _column,
    "slice": _slice,
    "qq": _qq,
    "map": _map,
    "effect": _effect,
    "null": _null,
}


def plot_result(result: GofResult, ax: object = None) -> Any:
    """Draw the null distribution of a test; see `GofResult.plot`."""
    chart = null_picture(result)
    if chart is None:
        lacking = f"This {result.method} result has no null distribution to draw"
        raise InputError(f"{lacking}. Run the test with null='wild'.")
    title = f"{result.method}, n = {result.n:,}: {result.pvalue_words}"
    return draw(replace(chart, title=title), ax)
