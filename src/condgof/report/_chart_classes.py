"""Charts of a discrete y: how often each class or count was observed and predicted."""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.locate import Panel
from condgof.report._escape import shorten
from condgof.report._html import folded, table
from condgof.report._numbers import number
from condgof.report._svg import Frame, picture, room_for, text

#: How much of its place a bar takes, and a mark of what is predicted.
BAR, MARK = 0.36, 0.46
#: Pixels of a letter of a label.
LETTER = 7.0


def shares(panel: Panel) -> tuple[FloatArray, FloatArray]:
    """Return observed and predicted shares of a panel of classes."""
    assert panel.observed is not None
    assert panel.predicted is not None
    return panel.observed, panel.predicted


def classes_chart(panel: Panel, key: str, of: str) -> str:
    """Draw bars of what was observed, and a dashed mark across each of what the model says."""
    observed, predicted = shares(panel)
    count = len(panel.labels)
    up = (0.0, 1.12 * max(float(observed.max()), float(predicted.max()), 1e-9))
    room = (460.0 - room_for(up, 3) - 14.0) / count
    longest = max(map(len, panel.labels))
    turned = LETTER * longest > room - 6
    deep = 46 + (min(int(LETTER * 0.75 * min(longest, 16)), 84) if turned else 0)
    frame = Frame((-0.5, count - 0.5), up, height=234 + deep, left=room_for(up, 3), bottom=deep)
    parts = [frame.y_axis("share of the rows", 3)]
    shape, marks = [], []
    for i in range(count):
        a, b = (float(frame.at_x(i + side)) for side in (-BAR, BAR))
        top = float(frame.at_y(float(observed[i])))
        shape.append(f"M{a:.1f} {frame.floor}V{top:.1f}H{b:.1f}V{frame.floor}Z")
        left, right = (float(frame.at_x(i + side)) for side in (-MARK, MARK))
        level = float(frame.at_y(float(predicted[i])))
        marks.append(f"M{left:.1f} {level:.1f}H{right:.1f}")
    parts += [f'<path class="bar" d="{"".join(shape)}"/>', f'<path class="model" d="{"".join(marks)}"/>']
    parts += _labels(frame, panel.labels, turned)
    parts.append(frame.foot(panel.columns[0]))
    far = np.argsort(-np.abs(observed - predicted), kind="stable")[:3]
    told = "; ".join(
        f"{shorten(panel.labels[i], 40)} {number(float(observed[i]))} where the model says "
        f"{number(float(predicted[i]))}"
        for i in far
    )
    desc = f"{panel.columns[0]}: shares of {count} bars among {of}. The largest differences: {told}."
    title = f"{panel.columns[0]}: observed against predicted shares"
    return picture(frame, parts, key=key, title=title, desc=desc)


def _labels(frame: Frame, labels: tuple[str, ...], turned: bool) -> list[str]:
    if not turned:
        return [
            text(float(frame.at_x(i)), frame.floor + 17, label, "tick", "middle")
            for i, label in enumerate(labels)
        ]
    found = []
    for i, label in enumerate(labels):
        at = float(frame.at_x(i)) + 4
        words = text(0.0, 0.0, shorten(label, 16), "tick", "end")
        place = f"translate({at:.1f} {frame.floor + 14}) rotate(-45)"
        found.append(f'<g transform="{place}">{words}</g>')
    return found


def classes_table(panel: Panel) -> str:
    """Return the numbers of the chart."""
    observed, predicted = shares(panel)
    rows = [
        (label, number(float(a), 3), number(float(b), 3))
        for label, a, b in zip(panel.labels, observed, predicted, strict=True)
    ]
    heads = [panel.columns[0], "observed", "predicted"]
    return folded("Numbers of this picture", table("Shares", heads, rows, numeric=(1, 2)))
