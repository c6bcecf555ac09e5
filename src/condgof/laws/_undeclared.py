"""Scores of a bounded y whose bounds were not declared.

Scores ∇_y log p(y|x) do not tell where the support ends. Stein's identity E[s·f + f'] = 0
needs a density that vanishes at the ends: an exponential law has s = −1 and E[s·f + f'] =
−f(0)·p(0). And where it does vanish, as the log-normal density does at 0, scores grow like
1/y there, and a few rows decide the test. With the support declared, y is compared on a
scale on which it is unbounded.
"""

from __future__ import annotations

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import SupportWarning, by_asker, warn
from condgof.laws._functions import ScoreFunction, Scores
from condgof.laws._law import Law, as_rows

#: y has an end at 0 (or 1) if it comes this near to it, in distances between quartiles: a
#: uniform law does with 40 rows, a normal law with the mean 3 sd above 0 does not.
AT_AN_END = 0.25
#: Or if it comes this near, and the upper tail is longer than the lower one by this factor,
#: as of a log-normal law.
NEAR_AN_END = 3.0
SKEWED = 2.0
#: Fewer rows tell nothing of the shape of y.
FEWEST_ROWS = 10


def undeclared_support_notes(law: Law, y: FloatArray) -> tuple[str, ...]:
    """Warn where y (n, d_y) looks bounded and its scores have no support; return notes."""
    if not isinstance(law, (Scores, ScoreFunction)) or law.ends is not None:
        return ()
    if len(y) < FEWEST_ROWS:
        return ()
    for column in as_rows(y).T:
        support = apparent_support(column)
        if support is not None:
            return (_warn(support, float(column.min())),)
    return ()


def apparent_support(y: FloatArray) -> str | None:
    """Return the support that y (n,) seems to have, "(0, inf)" or "(0, 1)", or None."""
    least = float(y.min())
    most = float(y.max())
    if least <= 0:
        return None
    low, median, high = np.quantile(y, [0.25, 0.5, 0.75])
    spread = float(high - low)
    at_zero = least <= AT_AN_END * spread
    if most < 1 and (at_zero or 1.0 - most <= AT_AN_END * spread):
        return "(0, 1)"
    skewed = most - median > SKEWED * (median - least)
    if at_zero or (least <= NEAR_AN_END * spread and skewed):
        return "(0, inf)"
    return None


def _warn(support: str, least: float) -> str:
    """Warn that a support was not declared, and return it as a note."""
    where = "positive" if support == "(0, inf)" else "between 0 and 1"
    warn(
        f"All y are {where}, the smallest is {least:.3g}, and scores ∇ log p(y|x) do not"
        " tell where the support of the model ends. If y can be nothing else, pass"
        f" {_declared(support)}: without it the"
        " p-value may be far too small. If the model's density extends beyond, ignore this"
        " warning.",
        SupportWarning,
    )
    return (
        f"all y are {where} and no support was declared for the scores: if y can be nothing"
        f" else, the p-value may be far too small; pass {_declared(support)}"
    )


def _declared(support: str) -> str:
    """Return what declares a support, for whoever asked."""
    return by_asker(
        python=f"support={support} to condgof.from_scores, from_score or columns",
        command_line="another kind of prediction than --score, such as --family",
    )
