"""Observed and predicted shares of rows: what classes and statements share."""

from __future__ import annotations

import numpy as np

from condgof.check.curves import ColumnPanel, ShareProfile
from condgof.report import _chart as c
from condgof.report._bins import side_colours
from condgof.report._dispatch import ProfileDrawing
from condgof.result import number

#: Where observed and predicted shares are equal.
DIAGONAL = c.Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]))


def share_drawing(
    panel: ColumnPanel, *, heads: tuple[str, ...], label: str, legend: str
) -> ProfileDrawing:
    """Draw shares by bin; where they are less than expected, the model is too narrow."""
    profile = panel.profile
    assert isinstance(profile, ShareProfile)
    words = ""
    at = profile.furthest
    if at is not None:
        k = profile.furthest_statement
        share = number(profile.share[at, k], 2)
        predicted = number(profile.predicted[at, k], 2)
        words = f"{share} ({predicted} predicted) at {panel.bins[at]}"
    return ProfileDrawing(
        colours=side_colours(profile.side, turned=True),
        heads=heads,
        words=words,
        label=label,
        legend=legend,
    )
