"""Charts of y: near a location against the model, and of all residuals."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.locate import Panel
from condgof.report._numbers import number
from condgof.report._reduce import histogram, middle_span, panel_span, quantiles
from condgof.report._svg import Frame, picture, room_for


def normal_density(z: FloatArray) -> FloatArray:
    """Return the standard normal density."""
    return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))


def reference(
    panel: Panel, column: int, ends: tuple[float, float], normal: bool
) -> tuple[FloatArray, FloatArray] | None:
    """Return the model's density (x, height) of a column, if it has one; `normal` if residuals should be that."""
    if panel.grid is not None and panel.density is not None:
        x, height = panel.grid[:, column], panel.density[:, column]
        inside = (x >= ends[0]) & (x <= ends[1])
        return x[inside], height[inside]
    if panel.kind == "residuals" and normal:
        x = np.linspace(*ends, 121)
        return x, normal_density(x)
    return None


def panel_chart(panel: Panel, column: int, key: str, where: str, normal: bool) -> str:
    """Draw the rows near a location as a histogram, and what the model says as a line."""
    ends = panel_span(panel, column)
    edges, heights = histogram(panel.values[:, column], panel.weights, ends)
    line = reference(panel, column, ends, normal)
    top = [float(heights.max(initial=0.0))]
    if line is not None:
        top.append(float(np.nanmax(line[1], initial=0.0)))
    if panel.samples is not None and line is None:
        edges_m, drawn = histogram(panel.samples[:, column], None, ends, bins=len(heights))
        top.append(float(drawn.max(initial=0.0)))
    up = (0.0, 1.1 * (max(top) or 1.0))
    frame = Frame(ends, up, height=250, left=room_for(up, 3))
    parts = [frame.y_axis("density", 3), frame.bars(edges, heights, "bar")]
    if line is not None:
        parts.append(frame.line(*line, "model"))
    elif panel.samples is not None:
        parts.append(frame.steps(edges_m, drawn, "model"))
    else:
        parts.append(frame.upright(0.0, "model"))
    near = panel.values[:, column][panel.weights >= 0.5 * panel.weights.max(initial=0.0)]
    shown = near[(near >= ends[0]) & (near <= ends[1])]
    parts += [frame.rug(shown, "rug"), frame.x_axis(panel.columns[column])]
    return picture(frame, parts, key=key, title=_title(panel, column), desc=_desc(panel, column, where, line))


def model_words(panel: Panel, normal: bool) -> str:
    """Return what the line of a panel is."""
    if panel.kind == "density" or (panel.density is not None and panel.kind != "residuals"):
        return "the model's density there"
    if panel.kind == "samples":
        return "draws from the model there"
    return "standard normal, as the model says" if normal else "0, their mean under the model"


def _title(panel: Panel, column: int) -> str:
    return f"{panel.columns[column]}: data near the location against the model"


def _desc(
    panel: Panel, column: int, where: str, line: tuple[FloatArray, FloatArray] | None
) -> str:
    weights = panel.weights / panel.weights.sum() if panel.weights.sum() > 0 else panel.weights
    mean = float(weights @ panel.values[:, column])
    sd = float(np.sqrt(weights @ (panel.values[:, column] - mean) ** 2))
    text = (
        f"Histogram of {len(panel.values):,} rows near {where}, weighted by nearness: mean {number(mean)}, "
        f"standard deviation {number(sd)}."
    )
    if line is None or len(line[0]) < 2:
        return text
    mass = line[1] / max(float(line[1].sum()), 1e-300)
    middle = float(mass @ line[0])
    spread = float(np.sqrt(mass @ (line[0] - middle) ** 2))
    return f"{text} The model's line has mean {number(middle)} and standard deviation {number(spread)}."


def pair_chart(panel: Panel, pair: tuple[int, int], key: str, where: str) -> str:
    """Draw two columns of y against each other: rows near a location, and the model's draws under them."""
    a, b = pair
    frame = Frame(panel_span(panel, a), panel_span(panel, b), height=300, left=room_for(panel_span(panel, b)))
    inside = _inside(frame, panel.values[:, a], panel.values[:, b])
    parts = [frame.y_axis(panel.columns[b]), frame.x_axis(panel.columns[a])]
    if panel.samples is not None:
        kept = panel.samples[_inside(frame, panel.samples[:, a], panel.samples[:, b])]
        parts.append(frame.dots(kept[:, a], kept[:, b], "dot-model"))
    share = panel.weights / max(float(panel.weights.max(initial=0.0)), 1e-300)
    for kind, low, high in (("dot-far", 0.05, 0.35), ("dot-mid", 0.35, 0.7), ("dot-near", 0.7, 1.01)):
        rows = inside & (share >= low) & (share < high)
        parts.append(frame.dots(panel.values[rows, a], panel.values[rows, b], kind))
    title = f"{panel.columns[a]} and {panel.columns[b]} near the location"
    desc = f"Scatter of {int(inside.sum()):,} rows near {where}; nearer rows are stronger."
    return picture(frame, parts, key=key, title=title, desc=desc)


def _inside(frame: Frame, x: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(
        (x >= frame.x[0]) & (x <= frame.x[1]) & (y >= frame.y[0]) & (y <= frame.y[1])
    )


def residual_chart(residuals: FloatArray, name: str, key: str, normal: bool) -> str:
    """Draw residuals (m,) as a histogram, with the standard normal density if that is what they should be."""
    ends = middle_span(residuals, (-3.2, 3.2))
    edges, heights = histogram(residuals, None, ends)
    z = np.linspace(*ends, 141)
    frame = Frame(ends, (0.0, 1.1 * max(float(heights.max(initial=0.0)), 0.4)), height=270, left=50)
    parts = [
        frame.y_axis("density", 3),
        frame.bars(edges, heights, "bar"),
        frame.line(z, normal_density(z), "model") if normal else frame.upright(0.0, "model"),
        frame.x_axis(f"residual of {name}, in model standard deviations"),
    ]
    desc = (
        f"Histogram of {len(residuals):,} residuals: mean {number(float(residuals.mean()))}, standard deviation "
        f"{number(float(residuals.std()))}."
    )
    if normal:
        desc += " Under the model they are standard normal: mean 0, standard deviation 1."
    return picture(frame, parts, key=key, title=f"Residuals of {name}", desc=desc)


def quantile_chart(residuals: FloatArray, name: str, key: str) -> str:
    """Draw the quantiles of residuals against those of the model, with a 95% band for all of them."""
    q = quantiles(residuals)
    reach = float(max(3.2, min(6.0, 1.05 * np.abs(q.values).max(initial=0.0))))
    across = float(max(3.2, 1.05 * np.abs(q.normal).max(initial=0.0)))
    frame = Frame((-across, across), (-reach, reach), height=270)
    ends = np.array([-min(reach, across), min(reach, across)])
    parts = [
        frame.y_axis("observed"),
        frame.area(q.normal, np.clip(q.low, -reach, reach), np.clip(q.high, -reach, reach), "band"),
        frame.line(ends, ends, "model"),
        frame.dots(q.normal, np.clip(q.values, -reach, reach), "dot-near"),
        frame.x_axis(f"residual of {name}: expected under the model"),
    ]
    desc = (
        f"Ordered residuals against normal quantiles. {q.outside:,} of {len(residuals):,} lie outside the band that "
        "holds all of them 95 times in 100 when the model is right."
    )
    return picture(frame, parts, key=key, title=f"Quantiles of the residuals of {name}", desc=desc)
