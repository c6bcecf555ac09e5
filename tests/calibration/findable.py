"""What can be found of the wrong slice by an oracle that knows the misfit and its size.

Given candidates that are all as likely, the likelihood of the data says how probable each
of them is; the two guesses that most probably overlap the wrong one (Jaccard index above
0.5) are the best that anybody can make. `check` is told neither direction nor size, and
must not name anything of a true model.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from checks import ORACLE, ORACLE_CORRECTED, CheckClaim, wrong_sample

#: Bins of a column by itself, as in a search by `check`.
BINS = 20
#: Bins of each column of a pair, as in a search by `check`.
BINS_PAIR = 6
#: Rows that a slice has at least, as in a search by `check`.
LEAST = 25
#: Only the most probable candidates are compared.
MOST = 1500


def ranges(column: Any, bins: int) -> list[Any]:
    """All intervals between quantiles of a column, or its levels, as rows."""
    if column.dtype in (object, bool):
        return [column == level for level in np.unique(column)]
    values = column.astype(float)
    code = np.searchsorted(
        np.unique(np.quantile(values, np.arange(1, bins) / bins)), values, "right"
    )
    last = code.max()
    ends = [
        (i, j) for i in range(last + 1) for j in range(i, last + 1) if (i, j) != (0, last)
    ]
    return [(code >= i) & (code <= j) for i, j in ends]


def findable_trial(
    kind: str, how: str, reach: float, n: int, trial: int
) -> dict[str, float]:
    x, mean, wrong, z = wrong_sample(kind, how, reach, n, trial)
    columns = [x[name].to_numpy() for name in x] + [mean]
    slices = [rows for column in columns for rows in ranges(column, BINS)]
    coarse = [ranges(column, BINS_PAIR) for column in columns]
    slices += [a & b for one, other in combinations(coarse, 2) for a in one for b in other]
    inside = np.array([rows for rows in slices if rows.sum() >= LEAST] + [wrong])
    size = inside.sum(axis=1)
    if how == "shift":
        shift = reach / np.sqrt(size)
        log = shift * (inside @ z) - size * shift**2 / 2
    else:
        log_sd = reach / np.sqrt(2 * size)
        log = -size * log_sd - np.expm1(-2 * log_sd) / 2 * (inside @ z**2)
    top = np.argsort(-log)[:MOST]
    probability = np.exp(log[top] - log[top[0]])
    both = inside[top].astype(float) @ inside[top].T
    near = both / (size[top][:, None] + size[top] - both) > 0.5
    first = int(np.argmax(near @ probability))
    second = int(np.argmax(near @ (probability * ~near[first])))
    guesses = inside[top[[first, second]]]
    jaccard = [(guess & wrong).sum() / (guess | wrong).sum() for guess in guesses]
    return {"found": float(max(jaccard) > 0.5)}


def show(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        f"| {name} | {sum(t['found'] for t in trials):.0f} |"
        for name, trials in rows.items()
    ]
    return "\n".join(["| what is wrong | found at best |", "|---|---|", *lines]), []


FINDABLE_CHECKS = {
    "check.findable": CheckClaim(
        "check: the slice that is wrong, found by one who knows the misfit",
        "The same 200 samples. The best two guesses (Bayes) of one who is told that one of"
        " some 5,700 slices is wrong,\nwhether in shift or in spread, in which direction"
        " and how much.",
        {
            f"{kind}, {how}, {name}": (partial(findable_trial, kind, how, reach, 1000), 200)
            for kind in ("level", "interval", "pair", "predicted")
            for how in ("shift", "spread")
            for name, reach in (
                ("oracle at 0.05", ORACLE),
                ("oracle at 0.05 over 5,000", ORACLE_CORRECTED),
            )
        },
        show,
    )
}
