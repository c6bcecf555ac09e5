"""Atoms: values that a continuous y has too often, where the model has none.

A y that is rounded repeats all its values, and is no misfit: it has the probability of the
cell that is rounded to each value. So a value is an atom if it comes far more often than
that; where y is not rounded, that is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import digits
from condgof.check._record import Finding
from condgof.check.kinds import CheckedRows, ContinuousRows
from condgof.laws import Law
from condgof.result import share_interval

#: The fewest rows with the same value, and their smallest share of all rows.
LEAST_ROWS = 5
LEAST_SHARE = 0.01
#: y is rounded where more than this share of the other rows repeat a value.
ROUNDED_SHARE = 0.5
#: A value of a rounded y is an atom if it comes this many times as often as predicted, and
TIMES_EXPECTED = 2.0
#: as often with less than this probability, over all values of y.
SURPRISE = 1e-3
#: Steps that people round to: these times a power of ten.
ROUND_STEPS = (5.0, 2.5, 2.0, 1.0)
#: The powers of ten, from the largest on.
POWERS = range(6, -9, -1)
#: A multiple of a step is exact to this share of the step.
EXACT = 1e-6
#: At most this many atoms are reported, the most frequent ones.
MOST_ATOMS = 3
#: A value is at an end of y, such as 0 or where y is cut off, if at most this share of the
#: rows lies beyond it. Such an atom is said first, before all effects.
MOST_BEYOND = 0.01
#: So is an atom elsewhere with this share of the rows, unless y is rounded: fewer rows, or
#: those of a rounded y, heap up at round numbers, which is seldom the cause of a misfit.
LEADING_SHARE = 0.1
#: The error probability of the interval of a share.
ERROR = 0.05


class Atoms(NamedTuple):
    """What repeated values of y say."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


@singledispatch
def atoms_of(checked: CheckedRows, law: Law) -> Atoms:
    """Return the atoms of y; of a y that is no single continuous column there are none."""
    return Atoms((), ())


@atoms_of.register
def _(checked: ContinuousRows, law: Law) -> Atoms:
    if checked.draws:  # draws may have atoms, which is not known here
        return Atoms((), ())
    y = checked.y[:, 0]
    n = len(y)
    values, counts = np.unique(y, return_counts=True)
    is_frequent = counts >= max(LEAST_ROWS, LEAST_SHARE * n)
    others = ~is_frequent
    repeated = counts[others & (counts > 1)].sum()
    is_rounded = repeated > ROUNDED_SHARE * counts[others].sum()
    if is_frequent.all() or counts[is_frequent].sum() > ROUNDED_SHARE * n:
        # Most rows share few values: they are on a grid, or there is nothing but atoms.
        is_rounded = np.count_nonzero(is_frequent) > MOST_ATOMS
    if not is_rounded:
        found = _findings(checked, values, counts, np.flatnonzero(is_frequent), None)
        return Atoms(tuple(found), ())
    step = grid_step(values)
    if step is None or not law.can("cdf"):
        note = f"most values of {checked.y_name} repeat: it is discrete, or rounded"
        return Atoms((), (f"{note}, and not exactly from a continuous model",))
    expected = _expected_counts(law, values[is_frequent], step, n)
    frequent = np.flatnonzero(is_frequent)
    observed = counts[frequent]
    chance = gammainc(np.maximum(observed, 1), np.maximum(expected, 1e-300))
    is_atom = (observed > TIMES_EXPECTED * expected) & (chance * len(values) < SURPRISE)
    found = _findings(checked, values, counts, frequent[is_atom], expected[is_atom] / n)
    return Atoms(tuple(found), (f"{checked.y_name} is rounded to {digits(step)}",))


def _findings(
    checked: CheckedRows,
    values: FloatArray,
    counts: IntArray,
    atoms: IntArray,
    expected: FloatArray | None,
) -> Iterator[Finding]:
    """Yield the most frequent atoms, by their positions among the values of y.

    `expected` are their predicted shares; None where these are 0.
    """
    n = int(counts.sum())
    shares = np.zeros(len(atoms)) if expected is None else expected
    for k in np.argsort(-counts[atoms], kind="stable")[:MOST_ATOMS]:
        count = int(counts[atoms[k]])
        low, high = share_interval(count, n, ERROR)
        beyond = min(int(counts[: atoms[k]].sum()), int(counts[atoms[k] + 1 :].sum()))
        is_heap = count < LEADING_SHARE * n or expected is not None
        leads = beyond <= MOST_BEYOND * n or not is_heap
        yield Finding(
            kind="atom",
            column=checked.y_name,
            estimate=count / n,
            interval=(float(low), float(high)),
            expected=float(shares[k]),
            label=digits(float(values[atoms[k]])),
            quantity="atom",
            numbers={"count": count, "n": n, "leads": leads},
        )


def grid_step(values: AnyArray) -> float | None:
    """Return the largest usual step that all values are multiples of; None without one."""
    for power in POWERS:
        for factor in ROUND_STEPS:
            step = factor * 10.0**power
            if factor == 2.5 and power < -1:
                continue
            multiples = values / step
            whole = np.rint(multiples)
            is_exact = np.abs(multiples - whole) < EXACT
            is_multiple = is_exact & ((whole != 0.0) | (values == 0.0))
            if is_multiple.all() and np.abs(multiples).max() < 1.0 / EXACT:
                return float(step)
    return None


def _expected_counts(law: Law, values: FloatArray, step: float, n: int) -> FloatArray:
    """Return how many of n rows are rounded to each value, under the model, (values,)."""
    half = 0.5 * step
    totals = []
    for value in values:
        above = law.cdf(np.full(n, value + half))
        below = law.cdf(np.full(n, value - half))
        totals.append(float(np.sum(np.asarray(above) - np.asarray(below))))
    if not math.isfinite(sum(totals)):
        return np.full(len(totals), np.inf)
    return np.array(totals)
