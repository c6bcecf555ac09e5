"""Charts of the misfit over x: a curve, a map, strips or bars by level, or pairs of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.locate import Check, Landscape
from condgof.report._marks import Places, legend, marks
from condgof.report._numbers import number
from condgof.report._reduce import (
    SHADES,
    highest,
    middle_span,
    scatter,
    shades,
    telling_pairs,
    varying,
)
from condgof.report._svg import Frame, picture, text

#: Levels of a categorical column that are drawn.
MOST_LEVELS = 12
HEIGHT = "evidence of misfit"


@dataclass(frozen=True)
class Drawn:
    """A chart and what stands under it."""

    svg: str
    caption: str


def where_charts(check: Check, key: str) -> list[Drawn]:
    """Draw the misfit over x with the locations on it, in the form that fits the columns."""
    scape = check.landscape
    if not len(scape.points):
        return []
    grid = scape.grid
    if grid is not None and scape.grid_values is not None and np.isfinite(scape.grid_values).any():
        if grid.shape[1] == 1:
            return [_curve(check, key), *_residuals_over_x(check, f"{key}r")]
        if grid.shape[1] == 2:
            return [_map(check, key)]
    columns = varying(scape)
    if len(columns) == 1:
        column = columns[0]
        return [_bars(check, column, key) if _is_level(scape, column) else _profile(check, column, key)]
    return [_pair(check, pair, f"{key}{i}") for i, pair in enumerate(telling_pairs(scape))]


def _curve(check: Check, key: str) -> Drawn:
    """Draw the criterion along the one column of x, over the rows."""
    scape = check.landscape
    assert scape.grid is not None
    assert scape.grid_values is not None
    x, values = scape.grid[:, 0], scape.grid_values
    top = highest(scape)
    places = Places.along(check, 0, x, values)
    frame = Frame(middle_span(x), (min(0.0, float(np.nanmin(values))), 1.28 * top), height=300)
    solid = np.where(np.isfinite(values), np.maximum(values, 0.0), 0.0)
    parts = [
        *(_reach(frame, check, scape.columns[0])),
        frame.y_axis(HEIGHT),
        frame.area(x, np.zeros_like(solid), solid, "under"),
        frame.line(x, values, "curve"),
        frame.level(0.0, "axis"),
        frame.rug(_within(frame, scape.points[:, 0]), "rug"),
        frame.x_axis(scape.columns[0]),
        *marks(frame, check, places, key),
    ]
    peak = int(np.nanargmax(values))
    desc = (
        f"A curve over {scape.columns[0]} from {number(float(x[0]))} to {number(float(x[-1]))}. It is highest at "
        f"{number(float(x[peak]))}, with {number(float(values[peak]))}. {_locations_words(check)}"
    )
    svg = picture(frame, parts, key=key, title=f"Misfit over {scape.columns[0]}", desc=desc, live=True)
    return Drawn(svg, "Height: how clearly a misfit around that place shows. Ticks at the foot: rows of data.")


def _residuals_over_x(check: Check, key: str) -> list[Drawn]:
    """Draw the residuals of the first column of y against x: where they leave the band is plain to see."""
    scape = check.landscape
    if scape.residuals is None or scape.grid is None:
        return []
    charts = []
    for i, name in enumerate(check.y_columns[:2]):
        x, z = scape.points[:, 0], scape.residuals[:, i]
        reach = float(np.clip(1.05 * np.abs(z[np.isfinite(z)]).max(initial=0.0), 3.2, 6.0))
        frame = Frame(middle_span(scape.grid[:, 0]), (-reach, reach), height=230)
        kept = np.isfinite(z) & (x >= frame.x[0]) & (x <= frame.x[1])
        ends = np.array(frame.x)
        parts = [
            frame.y_axis("residual"),
            frame.area(ends, np.full(2, -1.96), np.full(2, 1.96), "band"),
            frame.dots(x[kept], np.clip(z[kept], -reach, reach), "dot-near"),
            frame.level(0.0, "model"),
            frame.x_axis(scape.columns[0]),
        ]
        out = float((np.abs(z[kept]) > 1.96).mean()) if kept.any() else 0.0
        desc = f"Scatter of {int(kept.sum()):,} rows; {out:.1%} of them are outside the band that should hold 95%."
        title = f"Residuals of {name} over {scape.columns[0]}"
        caption = f"Residuals of {name} (model standard deviations). If the model is right, 95% lie in the band everywhere."
        charts.append(Drawn(picture(frame, parts, key=f"{key}{i}", title=title, desc=desc), caption))
    return charts


def _map(check: Check, key: str) -> Drawn:
    """Draw the criterion over two columns as a shaded map, over the rows."""
    scape = check.landscape
    assert scape.grid is not None
    assert scape.grid_values is not None
    x, y, values = scape.grid[:, 0], scape.grid[:, 1], scape.grid_values
    across, down = np.unique(x), np.unique(y)
    size = (_step(across), _step(down))
    frame = Frame(
        (across[0] - size[0] / 2, across[-1] + size[0] / 2),
        (down[0] - size[1] / 2, down[-1] + size[1] / 2),
        height=380,
        top=44,
    )
    known = np.isfinite(values)
    shade = shades(values, highest(scape))
    layers = [(known & (shade == i), f"s{i}") for i in range(SHADES)]
    inside = _inside(frame, scape.points[:, 0], scape.points[:, 1])
    parts = [
        *(frame.cells(x[rows], y[rows], size, kind) for rows, kind in layers),
        frame.dots(scape.points[inside, 0], scape.points[inside, 1], "speck"),
        frame.y_axis(scape.columns[1], grid=False),
        frame.x_axis(scape.columns[0]),
        legend(frame, highest(scape)),
        *marks(frame, check, Places.of(check, 0, 1), key),
    ]
    desc = f"A map over {scape.columns[0]} and {scape.columns[1]}. {_peak(check, [0, 1])} {_locations_words(check)}"
    title = f"Misfit over {scape.columns[0]} and {scape.columns[1]}"
    svg = picture(frame, parts, key=key, title=title, desc=desc, live=True)
    return Drawn(svg, "Shade: how clearly a misfit around that place shows. Dots: rows of data.")


def _profile(check: Check, column: int, key: str) -> Drawn:
    """Draw the criterion of the rows along one column."""
    scape = check.landscape
    x, values, top = scape.points[:, column], scape.values, highest(scape)
    low = min(0.0, float(np.nanmin(values)))
    frame = Frame(middle_span(x), (low, 1.28 * top), height=300)
    kept = _inside(frame, x, values)
    order = np.argsort(x)
    parts = [
        *(_reach(frame, check, scape.columns[column])),
        frame.y_axis(HEIGHT),
        frame.dots(x[kept], values[kept], "dot-near"),
        frame.x_axis(scape.columns[column]),
        *marks(frame, check, Places.along(check, column, x[order], values[order]), key),
    ]
    desc = f"{_peak(check, [column])} {_locations_words(check)}"
    title = f"Misfit over {scape.columns[column]}"
    svg = picture(frame, parts, key=key, title=title, desc=desc, live=True)
    return Drawn(svg, "Each dot is a row of data. Height: how clearly a misfit around it shows.")


def _bars(check: Check, column: int, key: str) -> Drawn:
    """Draw the mean criterion of each level as a bar."""
    scape = check.landscape
    shown, left_out = _levels_shown(check, column)
    codes = scape.points[:, column].astype(int)
    names = scape.levels[scape.columns[column]]
    means = np.array([scape.values[codes == level].mean() for level in shown])
    top = highest(scape)
    frame = Frame((min(0.0, float(means.min())), 1.3 * top), (len(shown) - 0.5, -0.5),
                  height=70 + 30 * len(shown), left=120)  # fmt: skip
    bars = (
        f'<rect class="bar" x="{float(frame.at_x(min(0.0, m))):.1f}" y="{float(frame.at_y(i)) - 9:.1f}" '
        f'width="{abs(float(frame.at_x(m) - frame.at_x(0.0))):.1f}" height="18"/>'
        for i, m in enumerate(means)
    )
    spots = [shown.index(int(loc.x[column])) for loc in check.locations]
    ends = [float(frame.at_x(max(means[i], 0.0))) + 18 for i in spots]
    places = Places(tuple(ends), tuple(float(frame.at_y(i)) for i in spots), absolute=True)
    parts = [
        *bars,
        *(_level_name(frame, i, names[level]) for i, level in enumerate(shown)),
        frame.x_axis(HEIGHT),
        *marks(frame, check, places, key),
    ]
    desc = "; ".join(f"{names[lv]}: {number(float(m))}" for lv, m in zip(shown, means, strict=True))
    title = f"Misfit by {scape.columns[column]}"
    svg = picture(frame, parts, key=key, title=title, desc=desc, live=True)
    return Drawn(svg, f"Length: how clearly a misfit at that level of {scape.columns[column]} shows.{left_out}")


def _pair(check: Check, pair: tuple[int, int], key: str) -> Drawn:
    """Draw rows over two columns, shaded (and larger) with the criterion; levels become strips."""
    scape = check.landscape
    if _is_level(scape, pair[0]) and not _is_level(scape, pair[1]):
        pair = (pair[1], pair[0])
    (x, x_frame, x_note), (y, y_frame, y_note) = (_coordinate(check, c) for c in pair)
    strips = len(y_frame.names) or 9
    height = int(np.clip(90 + 32 * strips, 230, 380))
    frame = Frame(x_frame.ends, y_frame.ends, height=height, top=44, left=104 if y_frame.names else 54)
    inside = _inside(frame, x, y)
    shade = shades(scape.values, highest(scape))
    layers = [(inside & (shade == i), f"d{i}") for i in range(SHADES)]
    x_name, y_name = (scape.columns[c] for c in pair)
    parts = [
        frame.y_axis(y_name, grid=False) if not y_frame.names else frame.side(y_name),
        frame.x_axis(x_name) if not x_frame.names else frame.foot(x_name),
        *(_level_name(frame, i, n) for i, n in enumerate(y_frame.names)),
        *(_level_foot(frame, i, n, len(x_frame.names)) for i, n in enumerate(x_frame.names)),
        *(frame.dots(x[rows], y[rows], kind) for rows, kind in layers),
        legend(frame, highest(scape)),
        *marks(frame, check, Places(x_frame.marks, y_frame.marks), key),
    ]
    desc = f"Scatter of {int(inside.sum()):,} rows. {_peak(check, list(pair))} {_locations_words(check)}"
    svg = picture(frame, parts, key=key, title=f"Misfit over {x_name} and {y_name}", desc=desc, live=True)
    caption = "Each dot is a row of data; darker and larger: a misfit around it shows more clearly."
    return Drawn(svg, f"{caption}{x_note}{y_note}")


@dataclass(frozen=True)
class _Side:
    """One axis of a pair: its ends, the names of levels on it, and where the locations are."""

    ends: tuple[float, float]
    names: tuple[str, ...]
    marks: tuple[float, ...]


def _coordinate(check: Check, column: int) -> tuple[FloatArray, _Side, str]:
    """Return where each row is on a column's axis, NaN for levels that are left out."""
    scape = check.landscape
    values, at = scape.points[:, column], [float(loc.x[column]) for loc in check.locations]
    if not _is_level(scape, column):
        return values, _Side(middle_span(values, at), (), tuple(at)), ""
    shown, left_out = _levels_shown(check, column)
    position = {level: float(i) for i, level in enumerate(shown)}
    rows = np.array([position.get(int(v), np.nan) for v in values])
    names = tuple(scape.levels[scape.columns[column]][level] for level in shown)
    spots = tuple(position[int(v)] for v in at)
    return rows + 0.62 * scatter(len(rows)), _Side((-0.5, len(shown) - 0.5), names, spots), left_out


def _levels_shown(check: Check, column: int) -> tuple[list[int], str]:
    """Return the levels to draw, those of locations and those with the strongest misfit first chosen."""
    scape = check.landscape
    codes = scape.points[:, column].astype(int)
    there = [int(level) for level in np.unique(codes)]
    forced = {int(loc.x[column]) for loc in check.locations}
    strength = {level: float(scape.values[codes == level].mean()) for level in there}
    ranked = sorted({*there, *forced}, key=lambda lv: (lv not in forced, -strength.get(lv, 0.0)))
    kept = sorted(ranked[: max(MOST_LEVELS, len(forced))])
    rest = len(ranked) - len(kept)
    name = scape.columns[column]
    return kept, f" {rest} levels of {name} with less misfit are not drawn." if rest else ""


def _level_name(frame: Frame, i: int, name: str) -> str:
    return text(frame.left - 8, float(frame.at_y(i)) + 4, _cut(name, 12), "tick", "end")


def _level_foot(frame: Frame, i: int, name: str, count: int) -> str:
    room = max(3, int((frame.width - frame.left - frame.right) / count / 7.5))
    return text(float(frame.at_x(i)), frame.floor + 17, _cut(name, room), "tick", "middle")


def _cut(name: str, length: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"


def _is_level(scape: Landscape, column: int) -> bool:
    return scape.columns[column] in scape.levels


def _reach(frame: Frame, check: Check, name: str) -> list[str]:
    ranges = [loc.reach[name] for loc in check.locations if name in loc.reach]
    return [frame.band(low, high, "reach") for low, high in ranges]


def _within(frame: Frame, x: FloatArray) -> FloatArray:
    return x[(x >= frame.x[0]) & (x <= frame.x[1])]


def _inside(frame: Frame, x: FloatArray, y: FloatArray) -> FloatArray:
    low, high = sorted(frame.y)
    return np.asarray((x >= frame.x[0]) & (x <= frame.x[1]) & (y >= low) & (y <= high))


def _step(ordered: FloatArray) -> float:
    return float(np.median(np.diff(ordered))) if len(ordered) > 1 else 1.0


def _peak(check: Check, columns: list[int]) -> str:
    """Say at which row the criterion is highest."""
    scape = check.landscape
    best = int(np.nanargmax(scape.values))
    said = []
    for c in columns:
        name, value = scape.columns[c], scape.points[best, c]
        shown = scape.levels[name][int(value)] if name in scape.levels else number(float(value))
        said.append(f"{name} = {shown}")
    return f"The misfit shows most at the row with {', '.join(said)} ({number(float(scape.values[best]))})."


def _locations_words(check: Check) -> str:
    return " ".join(f"Location {i}: {loc.where}." for i, loc in enumerate(check.locations, 1))
