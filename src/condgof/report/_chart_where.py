"""Charts of the misfit over x: a curve, a map, strips or bars by level, or pairs of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.locate import Check
from condgof.report._escape import html
from condgof.report._levels import (
    coordinate,
    cut,
    is_date,
    is_level,
    level_means,
    levels_shown,
    room,
    written,
)
from condgof.report._marks import Places, extents, legend, marks
from condgof.report._numbers import number
from condgof.report._reduce import (
    SHADES,
    Regular,
    are_normal,
    grid_of,
    highest,
    middle_span,
    shades,
    telling_pairs,
    varying,
)
from condgof.report._svg import Frame, picture, room_for, text

HEIGHT = "evidence of misfit"
FRAMES = " Dashed frame: what the chosen number stands for."


@dataclass(frozen=True)
class Drawn:
    """A chart and what stands under it."""

    svg: str
    caption: str


def where_charts(check: Check, key: str) -> list[Drawn]:
    """Draw the misfit over x with the locations on it, in the form that fits the columns."""
    scape = check.landscape
    if not np.isfinite(scape.values).any():
        return []
    regular = grid_of(scape)
    if regular is not None:
        if len(regular.columns) == 1:
            return [_curve(check, regular, key), *_residuals_over_x(check, regular, f"{key}r")]
        return [_map(check, regular, key)]
    columns = varying(scape.points)
    if len(columns) == 1:
        column = columns[0]
        return [_bars(check, column, key) if is_level(scape, column) else _profile(check, column, key)]
    return [_pair(check, pair, f"{key}{i}") for i, pair in enumerate(telling_pairs(scape))]


def _curve(check: Check, regular: Regular, key: str) -> Drawn:
    """Draw the criterion along the one column of x, over the rows."""
    scape, column, values = check.landscape, regular.columns[0], regular.values
    x, name = regular.points[:, 0], scape.columns[column]
    top = highest(check)
    places = Places.along(check, column, x, values)
    low = max(-0.5 * top, min(0.0, float(np.nanmin(values))))
    up = (low - 0.08 * top, 1.2 * top)
    frame = Frame(middle_span(x), up, height=300, left=room_for(up))
    solid = np.where(np.isfinite(values), np.maximum(values, 0.0), 0.0)
    parts = [
        frame.y_axis(HEIGHT),
        frame.area(x, np.zeros_like(solid), solid, "under"),
        frame.line(x, np.maximum(values, low), "curve"),
        frame.level(0.0, "axis"),
        frame.rug(_within(frame, scape.points[:, column]), "rug"),
        frame.x_axis(name, dates=is_date(scape, column)),
        *_reaches(frame, check, name, places),
        *marks(frame, check, places, key),
    ]
    peak = int(np.nanargmax(values))
    first, last, top_at = (written(scape, column, float(x[i])) for i in (0, -1, peak))
    desc = (
        f"A curve over {name} from {first} to {last}. It is highest at {top_at}, with "
        f"{number(float(values[peak]))}. {_locations_words(check)}"
    )
    svg = picture(frame, parts, key=key, title=f"Misfit over {name}", desc=desc, live=True)
    reach = " Bar through a number: what it stands for." if check.locations else ""
    return Drawn(
        svg,
        f"Height: how clearly a misfit around that place shows.{reach} Ticks at the foot: rows of data.",
    )


def _residuals_over_x(check: Check, regular: Regular, key: str) -> list[Drawn]:
    """Draw the residuals of the first columns of y against x, with the band that should hold them."""
    scape = check.landscape
    if scape.residuals is None or not are_normal(scape):
        return []
    column = regular.columns[0]
    across = scape.columns[column]
    charts = []
    for i, name in enumerate(check.y_columns[:2]):
        x, z = scape.points[:, column], scape.residuals[:, i]
        reach = float(np.clip(1.05 * np.abs(z[np.isfinite(z)]).max(initial=0.0), 3.2, 6.0))
        frame = Frame(middle_span(regular.points[:, 0]), (-reach, reach), height=230)
        kept = np.isfinite(z) & (x >= frame.x[0]) & (x <= frame.x[1])
        ends = np.array(frame.x)
        parts = [
            frame.y_axis("residual"),
            frame.area(ends, np.full(2, -1.96), np.full(2, 1.96), "band"),
            frame.dots(x[kept], np.clip(z[kept], -reach, reach), "dot-near"),
            frame.level(0.0, "model"),
            frame.x_axis(across, dates=is_date(scape, column)),
        ]
        out = float((np.abs(z[kept]) > 1.96).mean()) if kept.any() else 0.0
        desc = (
            f"Scatter of {int(kept.sum()):,} rows; {out:.1%} are outside the band that should hold 95%."
        )
        title = f"Residuals of {name} over {across}"
        caption = (
            f"Residuals of {name} (model standard deviations). If the model is right, 95% lie in the "
            "band everywhere."
        )
        charts.append(Drawn(picture(frame, parts, key=f"{key}{i}", title=title, desc=desc), caption))
    return charts


def _map(check: Check, regular: Regular, key: str) -> Drawn:
    """Draw the criterion over two columns as a shaded map, over the rows."""
    scape, values = check.landscape, regular.values
    (a, b), (x, y) = regular.columns, regular.points.T
    x_name, y_name = scape.columns[a], scape.columns[b]
    across, down = np.unique(x), np.unique(y)
    size = (_step(across), _step(down))
    up = (down[0] - size[1] / 2, down[-1] + size[1] / 2)
    frame = Frame(
        (across[0] - size[0] / 2, across[-1] + size[0] / 2),
        up,
        height=380,
        top=44,
        left=room_for(up, dates=is_date(scape, b)),
    )
    places = Places.of(check, a, b)
    known = np.isfinite(values)
    shade = shades(values, highest(check))
    layers = [(known & (shade == i), f"s{i}") for i in range(SHADES)]
    inside = _inside(frame, scape.points[:, a], scape.points[:, b])
    parts = [
        *(frame.cells(x[rows], y[rows], size, kind) for rows, kind in layers),
        frame.dots(scape.points[inside, a], scape.points[inside, b], "speck"),
        frame.y_axis(y_name, grid=False, dates=is_date(scape, b)),
        frame.x_axis(x_name, dates=is_date(scape, a)),
        legend(frame, highest(check)),
        *marks(frame, check, places, key, extents(frame, check, (a, b), places)),
    ]
    desc = f"A map over {x_name} and {y_name}. {_peak(check, [a, b])} {_locations_words(check)}"
    title = f"Misfit over {x_name} and {y_name}"
    svg = picture(frame, parts, key=key, title=title, desc=desc, live=True)
    caption = "Shade: how clearly a misfit around that place shows. Dots: rows of data."
    return Drawn(svg, f"{caption}{FRAMES if check.locations else ''}")


def _profile(check: Check, column: int, key: str) -> Drawn:
    """Draw the criterion of the rows along one column."""
    scape = check.landscape
    x, values, top = scape.points[:, column], scape.values, highest(check)
    low = min(0.0, float(np.nanmin(values)))
    up = (low - 0.05 * top, 1.2 * top)
    frame = Frame(middle_span(x), up, height=300, left=room_for(up))
    kept = _inside(frame, x, values)
    order = np.argsort(x)
    parts = [
        frame.y_axis(HEIGHT),
        frame.dots(x[kept], values[kept], "dot-near"),
        frame.x_axis(scape.columns[column], dates=is_date(scape, column)),
        *marks(frame, check, Places.along(check, column, x[order], values[order]), key),
    ]
    desc = f"{_peak(check, [column])} {_locations_words(check)}"
    title = f"Misfit over {scape.columns[column]}"
    svg = picture(frame, parts, key=key, title=title, desc=desc, live=True)
    return Drawn(svg, "Each dot is a row of data. Height: how clearly a misfit around it shows.")


def _bars(check: Check, column: int, key: str) -> Drawn:
    """Draw the mean criterion of each level as a bar."""
    scape = check.landscape
    shown, left_out = levels_shown(check, column)
    names = scape.levels[scape.columns[column]]
    means = level_means(check, column, shown)
    wide = (min(0.0, float(means.min())), 1.3 * highest(check))
    left = 20 + room([names[level] for level in shown])
    frame = Frame(wide, (len(shown) - 0.5, -0.5), height=70 + 30 * len(shown), left=left)
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
    return Drawn(
        svg, f"Length: how clearly a misfit at that level of {scape.columns[column]} shows.{left_out}"
    )


def _pair(check: Check, pair: tuple[int, int], key: str) -> Drawn:
    """Draw rows over two columns, shaded (and larger) with the criterion; levels become strips."""
    scape = check.landscape
    if is_level(scape, pair[0]) and not is_level(scape, pair[1]):
        pair = (pair[1], pair[0])
    x, x_frame, x_note = coordinate(check, pair[0], 0.7548776662466927)
    y, y_frame, y_note = coordinate(check, pair[1], 0.5698402909980532)
    strips = len(y_frame.names) or 9
    below = 40 + int(0.7 * room(x_frame.names)) if x_frame.names else 46
    frame = Frame(
        x_frame.ends, y_frame.ends, top=44, bottom=below,
        height=int(np.clip(44 + 32 * strips, 184, 334)) + below,
        left=max(34 + room(y_frame.names), int(0.75 * room(x_frame.names))) if y_frame.names
        else room_for(y_frame.ends, dates=is_date(scape, pair[1])),
    )  # fmt: skip
    inside = _inside(frame, x, y)
    shade = shades(scape.values, highest(check))
    layers = [(inside & (shade == i), f"d{i}") for i in range(SHADES)]
    x_name, y_name = (scape.columns[c] for c in pair)
    places = Places(x_frame.marks, y_frame.marks)
    parts = [
        frame.side(y_name)
        if y_frame.names
        else frame.y_axis(y_name, grid=False, dates=is_date(scape, pair[1])),
        frame.foot(x_name) if x_frame.names else frame.x_axis(x_name, dates=is_date(scape, pair[0])),
        *(_level_name(frame, i, n) for i, n in enumerate(y_frame.names)),
        *(_level_foot(frame, i, n) for i, n in enumerate(x_frame.names)),
        *(frame.dots(x[rows], y[rows], kind) for rows, kind in layers),
        legend(frame, highest(check)),
        *marks(frame, check, places, key, extents(frame, check, pair, places)),
    ]
    desc = f"Scatter of {int(inside.sum()):,} rows. {_peak(check, list(pair))} {_locations_words(check)}"
    svg = picture(
        frame, parts, key=key, title=f"Misfit over {x_name} and {y_name}", desc=desc, live=True
    )
    caption = (
        "Each dot is a row of data; stronger and larger: a misfit around it shows more clearly."
        f"{FRAMES if check.locations else ''}"
        if key.endswith("0")
        else f"The same over {x_name} and {y_name}."
    )
    return Drawn(svg, f"{caption}{x_note}{y_note}")


def _level_name(frame: Frame, i: int, name: str) -> str:
    return text(frame.left - 8, float(frame.at_y(i)) + 4, cut(name), "tick", "end")


def _level_foot(frame: Frame, i: int, name: str) -> str:
    place = f"translate({float(frame.at_x(i)) + 4:.1f} {frame.floor + 14}) rotate(-42)"
    return f'<text class="tick" text-anchor="end" transform="{place}">{html(cut(name))}</text>'


def _reaches(frame: Frame, check: Check, name: str, places: Places) -> list[str]:
    """Draw through each location the range that it stands for."""
    drawn = []
    for location, height in zip(check.locations, places.y, strict=True):
        if name in location.reach:
            a, b = np.clip(
                frame.at_x(np.array(location.reach[name])), frame.left, frame.width - frame.right
            )
            y = float(frame.at_y(height))
            ends = "".join(f"M{end:.1f} {y - 5:.1f}v10" for end in (a, b))
            drawn.append(f'<path class="reach" d="M{a:.1f} {y:.1f}H{b:.1f}{ends}"/>')
    return drawn


def _within(frame: Frame, x: FloatArray) -> FloatArray:
    return x[(x >= frame.x[0]) & (x <= frame.x[1])]


def _inside(frame: Frame, x: FloatArray, y: FloatArray) -> AnyArray:
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
        said.append(f"{scape.columns[c]} = {written(scape, c, float(scape.points[best, c]))}")
    return (
        f"The misfit shows most at the row with {', '.join(said)} ({number(float(scape.values[best]))})."
    )


def _locations_words(check: Check) -> str:
    return " ".join(f"Location {i}: {loc.where}." for i, loc in enumerate(check.locations, 1))
