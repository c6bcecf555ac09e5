"""Whether residuals are alike in rows that share a category of x, which nobody declared.

For a series c with mean 0 given x under a true law of independent rows, the sums S_g of the
rows of category g have mean 0 and variance Σ_{i∈g} c_i². So

    T = Σ_g S_g² / Σ_i c_i²

is 1 on average. Where S_g² / Σ_{i∈g} c_i² is χ² with one degree of freedom, T is compared
with χ²_ν / ν, where ν = (Σ_g Q_g)² / Σ_g Q_g² and Q_g = Σ_{i∈g} c_i². Sums of few rows vary
less than this, so the comparison errs on the safe side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from condgof._typing import FloatArray, IntArray
from condgof.errors import DependenceWarning, option, warn
from condgof.sample import Sample

#: Categories from which on rows that share one are taken for groups. With fewer, a test by
#: groups says little, and a difference between them is a misfit of the model.
FEWEST_CATEGORIES = 20
#: The warning is given where chance alone makes rows of a category as alike this rarely.
WARNING_LEVEL = 1e-5


class AlikeRows(NamedTuple):
    """How alike the residuals of rows of one category are."""

    correlation: float  #: Of two rows of the same category, on average over such pairs.
    pvalue: float


def alike_rows(c: FloatArray, codes: IntArray) -> AlikeRows:
    """Compare residuals c (n,) within categories, of which each row has a number (n,).

    Examples
    --------
    >>> c = np.array([1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    >>> alike_rows(c, np.array([0, 0, 1, 1, 2, 2, 3, 3])).correlation
    1.0
    """
    squares = np.square(c)
    sums = np.bincount(codes, weights=c)
    variances = np.bincount(codes, weights=squares)
    sizes = np.bincount(codes)
    total = float(variances.sum())
    pairs = float((sizes * (sizes - 1)).sum())
    if total == 0.0 or pairs == 0.0:
        return AlikeRows(0.0, 1.0)
    # A category of a single row adds a constant to T, and nothing to what is tested.
    several = sizes > 1
    within = float(variances[several].sum())
    if within == 0.0:
        return AlikeRows(0.0, 1.0)
    freedom = within**2 / float(np.square(variances[several]).sum())
    ratio = float(np.square(sums[several]).sum()) / within
    covariance = float((np.square(sums) - variances).sum()) / pairs
    return AlikeRows(
        correlation=covariance / (total / len(c)),
        pvalue=float(gammaincc(freedom / 2.0, freedom * ratio / 2.0)),
    )


def warn_if_groups_alike(series: list[FloatArray], sample: Sample) -> tuple[str, ...]:
    """Warn where rows that share a category have residuals that are alike; return a note.

    Parameters
    ----------
    series : list of array, (n, v) each
        Residuals, centred.
    sample : Sample
        The rows in memory.
    """
    columns = [
        (number, column.name)
        for number, column in enumerate(sample.x_columns)
        if column.levels is not None and len(column.levels) >= FEWEST_CATEGORIES
    ]
    found: list[tuple[AlikeRows, str]] = []
    for number, name in columns:
        _, codes = np.unique(sample.x[:, number], return_inverse=True)
        for c in series:
            for part in c.T:
                found.append((alike_rows(part, codes.ravel()), name))
    if not found:
        return ()
    worst, name = min(found, key=lambda one: one[0].pvalue)
    if worst.pvalue * len(found) >= WARNING_LEVEL:
        return ()
    groups = option("groups", repr(name))
    warn(
        f"Residuals of rows with the same {name} are correlated ({worst.correlation:.2f})."
        f" Either rows of one {name} share something that the model does not know, and the"
        f" p-value is too small: pass {groups}. Or the model lacks {name}: then the p-value"
        " is right.",
        DependenceWarning,
    )
    return (
        f"residuals of rows with the same {name} are correlated"
        f" ({worst.correlation:.2f}): the p-value is too small if rows of one {name} share"
        f" something that the model does not know ({groups}); or the model lacks {name}",
    )
