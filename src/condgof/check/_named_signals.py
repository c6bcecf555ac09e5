"""Tests of rows that are named beforehand by sums of signals, where no exact test is known.

That is where rows depend on each other (units), where the law of y is known by scores or
moments alone, and where rows of y share an error. The strongest of K signals has K times
its own p-value: by Student's t of sums over units, by Bennett's inequality for a discrete
y, or by the normal law of sums with a correction for skewness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, stdtr

from condgof._typing import FloatArray, IntArray
from condgof.check._findings import Reader, led
from condgof.check._named_tests import LEAST_PVALUE, holm, holm_levels
from condgof.check._record import Finding
from condgof.check.kinds import ReplicatedSignals, Signals

#: The longest reach of an interval, in standard errors, that is tried.
LONGEST_REACH = 40.0
#: Halvings in the search for the reach at which intervals begin to exclude a prediction.
REACH_HALVINGS = 24


class SignalTest(NamedTuple):
    """The strongest signal of a set of rows."""

    pvalue: float  #: Corrected for the number of signals.
    signal: int  #: Its number.
    z: float  #: Its standardised sum.
    #: How many times as much as its variance says this sum varies, at least 1.
    inflation: float = 1.0


@dataclass(frozen=True, eq=False)
class SetsBySignals:
    """S sets, with p-values and findings that agree."""

    pvalues: FloatArray  #: Adjusted, (S,).
    findings: list[tuple[Finding, ...]]  #: Of each set, the leading one first.

    @classmethod
    def from_signals(
        cls, sets: Sequence[IntArray], reader: Reader, signals: Signals, alpha: float
    ) -> SetsBySignals:
        """Test S sets of rows by their strongest signals, and describe them.

        A set is rejected only if one of its intervals, at the level of its test, excludes
        what is predicted as well. Intervals of other sets are made to hold what is
        predicted.
        """
        tests = _signal_tests(sets, reader, signals)
        count = len(signals.about)
        own = []
        for test, rows in zip(tests, sets, strict=True):
            p = test.pvalue
            if p <= alpha:
                p = max(p, _interval_pvalue(reader, rows, test, count))
            own.append(p)
        pvalues = np.array(own)
        adjusted = holm(pvalues)
        levels = holm_levels(pvalues, alpha)
        findings = []
        for number, (test, rows) in enumerate(zip(tests, sets, strict=True)):
            reach = -float(ndtri(levels[number] / (2.0 * count)))
            wide = replace(reader, reach=test.inflation * reach)
            found = led(wide.findings(rows), signals.about[test.signal], test.z)
            if adjusted[number] <= alpha:
                # The first that excludes what is predicted leads.
                found = tuple(sorted(found, key=lambda one: not one.telling))
            else:
                found = tuple(one.with_expected() for one in found)
            findings.append(found)
        return cls(pvalues=adjusted, findings=findings)


def _signal_tests(
    sets: Sequence[IntArray], reader: Reader, signals: Signals
) -> list[SignalTest]:
    weights = reader.checked.weights
    if weights is not None:
        # Sums Σ wψ have the variance Σ w²v.
        variance = signals.variance
        squares = np.square(weights)[:, None]
        signals = replace(
            signals.weighted(weights),
            variance=None if variance is None else variance * squares,
        )
    if reader.units is None and signals.replicated is not None:
        return _tests_by_replicates(signals, signals.replicated, sets)
    return [strongest_signal(signals, rows, reader.units, weights) for rows in sets]


def _interval_pvalue(reader: Reader, rows: IntArray, test: SignalTest, count: int) -> float:
    """Return the least level, for `count` signals, at which an interval tells."""

    def tells(reach: float) -> bool:
        wide = replace(reader, reach=test.inflation * reach)
        return any(finding.telling for finding in wide.findings(rows))

    low = 0.0
    high = LONGEST_REACH
    for _ in range(REACH_HALVINGS):
        middle = 0.5 * (low + high)
        if tells(middle):
            low = middle
        else:
            high = middle
    return min(1.0, max(2.0 * count * float(ndtr(-low)), LEAST_PVALUE))


def strongest_signal(
    signals: Signals,
    rows: IntArray,
    units: IntArray | None,
    weights: FloatArray | None = None,
) -> SignalTest:
    """Return the p-value of some rows, and the signal that is strongest there.

    `weights` (N,) are those of all rows, by which signals are multiplied already.
    """
    values = signals.values[rows]
    sums = values.sum(axis=0)
    n: float = len(rows)
    largest = 1.0
    if weights is not None:
        largest = float(weights[rows].max())
    if signals.variance is None:
        known = n * signals.square
    else:
        known = signals.variance[rows].sum(axis=0)
    if units is not None or signals.variance is None:
        of_units = np.arange(len(rows))
        if units is not None:
            _, of_units = np.unique(units[rows], return_inverse=True)
        logs, z = _by_units(values, np.asarray(of_units), known)
    elif signals.bound is not None:
        logs = bennett_bound(sums, known, largest * np.asarray(signals.bound))
        z = sums / np.sqrt(known + 1.0)
    else:
        z = sums / np.sqrt(known)
        if weights is not None:  # as many equally weighted rows would be as skewed
            own = weights[rows]
            n = float(np.square(own).sum() ** 3 / (own**3).sum() ** 2)
        normal = straightened(z, signals.third or (0.0,) * len(z), n)
        # log P(|Z| ≥ |z|)
        logs = np.minimum(math.log(2.0) + log_ndtr(-np.abs(normal)), 0.0)
    k = int(np.argmin(logs))
    pvalue = len(sums) * math.exp(max(float(logs[k]), -700.0))
    return SignalTest(pvalue=max(min(1.0, pvalue), LEAST_PVALUE), signal=k, z=float(z[k]))


def _tests_by_replicates(
    signals: Signals, replicated: ReplicatedSignals, sets: Sequence[IntArray]
) -> list[SignalTest]:
    """Compare sums over named rows with those of whole samples, by Student's t.

    If sums of y and of m samples are exchangeable and about normal, the former less the
    mean of the latter over their standard deviation, and over √(1 + 1/m), is Student's t
    with m − 1 degrees of freedom.
    """
    drawn = replicated.sums(sets)
    m = len(drawn)
    tests = []
    for rows, sums in zip(sets, np.moveaxis(drawn, 1, 0), strict=True):
        spread = np.maximum(sums.std(axis=0, ddof=1), 1e-150)
        t = (signals.values[rows].sum(axis=0) - sums.mean(axis=0)) / spread
        t /= math.sqrt(1.0 + 1.0 / m)
        k = int(np.argmax(np.abs(t)))
        p = min(1.0, 2.0 * len(t) * float(stdtr(m - 1, -abs(t[k]))))
        inflation = 1.0
        if signals.variance is not None:
            known = math.sqrt(max(float(signals.variance[rows, k].sum()), 1e-300))
            inflation = max(1.0, float(spread[k]) / known)
        test = SignalTest(
            pvalue=max(p, LEAST_PVALUE), signal=k, z=float(t[k]), inflation=inflation
        )
        tests.append(test)
    return tests


def straightened(z: FloatArray, third: Sequence[float], n: float) -> FloatArray:
    """Correct standardised sums of n terms for skewness: N − aN² + a²N³/3, increasing."""
    a = np.asarray(third) / (6.0 * math.sqrt(n))
    return np.asarray(z - a * (z**2 - 1.0) + a**2 * z**3 / 3.0)


def bennett_bound(
    sums: FloatArray, variance: FloatArray, bound: FloatArray | float = 1.0
) -> FloatArray:
    """Return log of 2·exp(−V·h(t/V)), h(u) = (1 + u)log(1 + u) − u, in units of `bound`."""
    v = np.maximum(variance / np.square(bound), 1e-300)
    u = np.abs(sums) / bound / v
    return np.asarray(np.minimum(math.log(2.0) - v * ((1.0 + u) * np.log1p(u) - u), 0.0))


class UnitSums(NamedTuple):
    """Sums of K signals compared with their variation between units, (K,) each."""

    log_pvalues: FloatArray
    z: FloatArray


def _by_units(values: FloatArray, units: IntArray, known: FloatArray) -> UnitSums:
    """Compare sums with their variation between units, by Student's t distribution.

    z = Σ_u S_u/√(Σ_u S_u²) of the sums S_u over units. Sums that differ in variance make
    large z rarer, not more frequent (Benjamini, 1983, JASA 78). The p-value of c units is
    at least 2^(1 − c): that often all S_u have the same sign, and sums that differ in
    nothing but their sign, such as those of classes or of the scores of a Laplace
    distribution, have the largest z then, √c.
    """
    count = int(units.max()) + 1
    each = np.stack([np.bincount(units, column, count) for column in values.T])
    # At least what is known of it: a few rows may be alike by chance.
    variance = np.maximum(np.square(each).sum(axis=1), np.maximum(known, 1e-300))
    z = each.sum(axis=1) / np.sqrt(variance)
    t = 0.0 * z
    if count > 1:
        # z² ≤ count by Cauchy and Schwarz; as a t statistic of the mean over units.
        t = z * np.sqrt((count - 1) / np.maximum(count - z**2, 1e-12))
    by_student = 2.0 * stdtr(max(count - 1, 1), -np.abs(t))
    pvalues = np.clip(by_student, math.ldexp(1.0, 1 - min(count, 1000)), 1.0)
    return UnitSums(log_pvalues=np.log(pvalues), z=z)
