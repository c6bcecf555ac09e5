"""Slices that are named beforehand: groups, and whatever the user asks about.

No search, and so no price for one: each has a p-value by itself, from the normal law of its sums with a
correction for skewness, or for a discrete y from Bennett's inequality, which holds whatever the number
of rows; Holm's correction is for their number. No draws are made, so that no p-value has a floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._findings import Reader, direction, led, severity
from condgof.check._looked import Looked
from condgof.check._record import Condition, Slice
from condgof.check._signals import Signals

#: What is said of the model in a group that is not rejected.
NO_EVIDENCE = "no evidence"
#: The smallest p-value that is written down.
TINY = 1e-300


def named_slices(
    sets: Sequence[tuple[str, str, IntArray]],
    looked: Looked,
    signals: Signals,
    units: IntArray | None,
    alpha: float,
    column: str = "",
) -> tuple[Slice, ...]:
    """Test rows that have a name each: (words, query, positions); the smallest p-values first."""
    from scipy.special import ndtri

    if not sets:
        return ()
    found = [_test(signals, rows, units) for _, _, rows in sets]
    adjusted = holm(np.array([p for p, _, _ in found]))
    reach = -float(ndtri(alpha / (2.0 * len(sets) * len(signals.about))))
    reader = Reader(looked, reach, units)
    slices = []
    for (words, query, rows), p, (_, k, z) in zip(sets, adjusted, found, strict=True):
        findings = led(reader.findings(rows), signals.about[k], z)
        slices.append(
            Slice(
                conditions=(Condition(column, words, query),),
                words=words,
                query=query,
                rows=looked.rows[rows],
                share=len(rows) / looked.n,
                pvalue=float(p),
                pvalue_floor=TINY * len(sets),
                findings=findings,
                severity=severity(findings[0]),
                direction=direction(findings[0]) if p <= alpha else NO_EVIDENCE,
            )
        )
    order = np.argsort([one.pvalue for one in slices], kind="stable")
    return tuple(slices[i] for i in order)


def _test(signals: Signals, rows: IntArray, units: IntArray | None) -> tuple[float, int, float]:
    """Return the p-value of some rows, the signal that is strongest there, and N of it."""
    values = signals.values[rows]
    sums, n = values.sum(axis=0), len(rows)
    if signals.variance is not None:
        known = signals.variance[rows].sum(axis=0)
    else:
        known = n * (np.ones(len(sums)) if signals.unit else signals.square)
    if units is not None or not (signals.unit or signals.variance is not None):
        of = np.arange(n) if units is None else np.unique(units[rows], return_inverse=True)[1]
        logs, z = _by_units(values, np.asarray(of), known)
    elif signals.variance is not None:
        logs, z = _bennett(sums, known, signals.bound), sums / np.sqrt(known + signals.floor)
    else:
        z = sums / np.sqrt(known)
        logs = _log_normal_tail(straightened(z, signals.third or (0.0,) * len(z), n))
    k = int(np.argmin(logs))
    return max(min(1.0, len(sums) * math.exp(max(float(logs[k]), -700.0))), TINY), k, float(z[k])


def straightened(z: FloatArray, third: Sequence[float], n: int) -> FloatArray:
    """Take the skewness off standardised sums of n terms: N − aN² + a²N³/3, which always increases."""
    a = np.asarray(third) / (6.0 * math.sqrt(n))
    return np.asarray(z - a * (z**2 - 1.0) + a**2 * z**3 / 3.0)


def _log_normal_tail(z: FloatArray) -> FloatArray:
    """Return log P(|Z| ≥ |z|)."""
    from scipy.special import log_ndtr

    return np.asarray(np.minimum(math.log(2.0) + log_ndtr(-np.abs(z)), 0.0))


def _bennett(sums: FloatArray, variance: FloatArray, bound: FloatArray | float = 1.0) -> FloatArray:
    """Return log of 2·exp(−V·h(t/V)), h(u) = (1 + u)log(1 + u) − u, in units of the largest term."""
    v = np.maximum(variance / np.square(bound), 1e-300)
    u = np.abs(sums) / bound / v
    return np.asarray(np.minimum(math.log(2.0) - v * ((1.0 + u) * np.log1p(u) - u), 0.0))


def _by_units(values: FloatArray, units: IntArray, known: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compare sums with their variation between units, by Student's law of so many units.

    It counts as what is known of it if it is less: a few rows may be alike by chance.
    """
    from scipy.special import stdtr

    count = int(units.max()) + 1
    each = np.stack([np.bincount(units, column, count) for column in values.T])
    own = np.maximum(np.square(each).sum(axis=1), np.maximum(known, 1e-300))
    z = each.sum(axis=1) / np.sqrt(own)
    # z² ≤ count by Cauchy and Schwarz; as a t statistic of the mean over units.
    t = z * np.sqrt((count - 1) / np.maximum(count - z**2, 1e-12)) if count > 1 else 0.0 * z
    with np.errstate(divide="ignore"):
        return np.log(np.minimum(2.0 * stdtr(max(count - 1, 1), -np.abs(t)), 1.0)), z


def holm(pvalues: FloatArray) -> FloatArray:
    """Correct p-values for their number, step by step.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(pvalues, kind="stable")
    stepped = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    out: AnyArray = np.empty(len(pvalues))
    out[order] = np.minimum(stepped, 1.0)
    return np.asarray(out)
