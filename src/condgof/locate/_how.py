"""How y differs from the model near a location, with intervals: shift, width, skew, tails, correlation.

Every estimate is a function of means weighted by a_i = w_i/Σw, and its standard error is the root of the
sum of squares of its influence a_i ψ(r_i), added up within rows that depend on each other (`Scatter`);
the rows are not those that chose the location.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from condgof._typing import FloatArray
from condgof.locate._record import Finding, Interval
from condgof.locate._scatter import Scatter
from condgof.locate._words import measured, sized

LEVEL = 0.95
#: As many rows' worth of belief that the kurtosis is that of a normal.
PRIOR = 20.0
#: Standard errors by which shift or spread may be off before ranks among draws tell nothing of shape.
BENT = 2.0


#: From an interval, the columns, the unit of a shift and whether it is clear to a sentence.
Words = Callable[[Interval, tuple[str, ...], str, bool], str]


@dataclass(frozen=True)
class Estimate:
    """An estimate on the scale on which it is about normal."""

    #: As in `Finding`.
    kind: str
    #: The columns of y.
    columns: tuple[str, ...]
    #: The estimate and its standard error, on that scale; the model says 0.
    value: float
    error: float
    #: From that scale to the one that is reported.
    back: Callable[[float], float]
    #: Degrees of freedom of the error.
    freedom: float
    #: The class, or the count, that it is about.
    label: str = ""
    #: Puts it in words, where not the words of its kind serve.
    say: Words | None = None

    @property
    def size(self) -> float:
        """How telling it is: in standard errors."""
        return abs(self.value) / self.error if self.error > 0 else 0.0

    def ends(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval of some level."""
        from scipy.special import stdtrit

        reach = float(stdtrit(self.freedom, 0.5 + level / 2)) * self.error
        return self.back(self.value - reach), self.back(self.value + reach)

    def excludes_model(self, level: float) -> bool:
        """Whether the interval of some level leaves out what the model says."""
        low, high = self.ends(level)
        return not low <= self.back(0.0) <= high

    def finding(self, looked_at: int, evidence: bool, unit: str, several: bool) -> Finding:
        """Put it in words; `looked_at`: how many findings share the error that is allowed."""
        named = evidence and self.excludes_model(1.0 - (1.0 - LEVEL) / looked_at)
        found = Interval(self.back(self.value), *self.ends(LEVEL), level=LEVEL)
        words = (self.say or _WORDS[self.kind])(found, self.columns, unit, named)
        if several and self.kind != "correlation":
            words = f"{self.columns[0]}: {words}"
        return Finding(self.kind, self.columns, found, named, words, self.back(0.0), self.label)


def same(value: float) -> float:
    """Return the value itself."""
    return value


def weighted_estimates(
    residuals: FloatArray,
    weights: FloatArray,
    columns: tuple[str, ...],
    scatter: Scatter,
    *,
    shape: bool,
) -> list[Estimate]:
    """Estimate shift and width, and where `shape` skew and tails, of residuals that are standardised."""
    share = weights / weights.sum()
    effective = scatter.effective(share)
    grow = np.sqrt(effective / (effective - 1.0))  # as n/(n − 1) for equal weights
    estimates = []
    for r, name in zip(residuals.T, columns, strict=True):

        def error(influence: FloatArray) -> float:
            return float(grow * scatter.error(share * influence))

        mean = float(share @ r)
        variance = float(share @ np.square(r - mean))
        if variance <= 0:
            continue
        z = (r - mean) / np.sqrt(variance)
        of = (name,)
        freedom = effective - 1.0
        estimates.append(Estimate("shift", of, mean, error(r - mean), same, freedom))
        log_width = 0.5 * float(np.log(variance * grow**2))
        # Few rows tell their own kurtosis badly: it is drawn to that of the normal.
        drawn = PRIOR / (PRIOR + effective)
        width_error = error(0.5 * (np.square(z) - 1.0)) ** 2
        width_error = float(np.sqrt((1 - drawn) * width_error + drawn / (2.0 * (effective - 1.0))))
        estimates.append(Estimate("width", of, log_width, width_error, _exp, freedom))
        if shape:
            skew, kurtosis = float(share @ z**3), float(share @ z**4)
            by_skew = error(z**3 - 3.0 * z - skew - 1.5 * skew * (z**2 - 1.0))
            by_tails = error(z**4 - kurtosis - 4.0 * skew * z - 2.0 * kurtosis * (z**2 - 1.0))
            # Rows without an outlier say little about outliers: no less than a normal sample would.
            by_skew = max(by_skew, float(np.sqrt(6.0 / effective)))
            by_tails = max(by_tails, float(np.sqrt(24.0 / effective)))
            estimates.append(Estimate("skew", of, skew, by_skew, same, freedom))
            estimates.append(Estimate("tails", of, kurtosis - 3.0, by_tails, same, freedom))
    return estimates


def of_ranks(found: list[Estimate]) -> list[Estimate]:
    """Return estimates from ranks among draws, with skew and tails only of columns that fit otherwise.

    Beyond all of the draws there is no rank: where shift or spread is off, that bends the shape.
    """
    off = {one.columns for one in found if one.kind in ("shift", "width") and one.size > BENT}
    return [
        replace(one, say=_width_of_ranks) if one.kind == "width" else one
        for one in found
        if one.kind not in ("skew", "tails") or one.columns not in off
    ]


def correlations(
    u: FloatArray, weights: FloatArray, columns: tuple[str, ...], scatter: Scatter
) -> list[Estimate]:
    """Estimate correlations of residuals that are uncorrelated under the model, on Fisher's scale."""
    share = weights / weights.sum()
    effective = scatter.effective(share)
    centred = u - share @ u
    spread = np.sqrt(share @ np.square(centred))
    if not (spread > 0).all():
        return []
    z, estimates = centred / spread, []
    for a in range(u.shape[1]):
        for b in range(a):
            rho = float(np.clip(share @ (z[:, a] * z[:, b]), -1 + 1e-9, 1 - 1e-9))
            influence = z[:, a] * z[:, b] - 0.5 * rho * (z[:, a] ** 2 + z[:, b] ** 2)
            error = scatter.error(share * influence) / (1.0 - rho**2)
            pair = (columns[b], columns[a])
            value = float(np.arctanh(rho))
            estimates.append(Estimate("correlation", pair, value, error, _tanh, effective - 1.0))
    return estimates


def stein_estimates(
    y: FloatArray,
    scores: FloatArray,
    weights: FloatArray,
    columns: tuple[str, ...],
    scatter: Scatter,
) -> list[Estimate]:
    """Estimate shift and width from scores alone: E[s] = 0 and E[s(y − c)] = −1 under the model.

    The model's standard deviation near the location is taken as τ = (m₂ / E[s²])^½, m₂ = −E[s(y − c)],
    which is exact for a Gaussian; the shift is −τ E[s] and the ratio of widths √m₂.
    """
    share = weights / weights.sum()
    effective = scatter.effective(share)
    grow, estimates = np.sqrt(effective / (effective - 1.0)), []
    for s, v, name in zip(scores.T, y.T, columns, strict=True):
        first = float(share @ s)
        second = -float(share @ (s * (v - share @ v)))
        square = float(share @ (s * s))
        if second <= 0 or square <= 0:  # not like a Gaussian at all
            continue
        tau = np.sqrt(second / square)
        of_first = s - first
        of_second = -(s - first) * (v - share @ v) - second
        of_log_tau = 0.5 * (of_second / second - (s * s - square) / square)
        by_shift = -tau * (of_first + first * of_log_tau)
        error = float(grow * scatter.error(share * by_shift))
        freedom = effective - 1.0
        estimates.append(Estimate("shift", (name,), -tau * first, error, same, freedom))
        error = float(grow * scatter.error(share * of_second)) / (2.0 * second)
        estimates.append(Estimate("width", (name,), 0.5 * float(np.log(second)), error, _exp, freedom))
    return estimates


def stein_correlations(
    u: FloatArray,
    scores: FloatArray,
    weights: FloatArray,
    columns: tuple[str, ...],
    scatter: Scatter,
) -> list[Estimate]:
    """Estimate −E[s_a u_b + s_b u_a]/2, which is 0 under the model, in units of the columns' own widths.

    For a standard normal model it is the correlation of the data.
    """
    share = weights / weights.sum()
    effective = scatter.effective(share)
    centred = u - share @ u
    units = np.sqrt(np.abs(share @ (scores * centred)))
    estimates = []
    for a in range(u.shape[1]):
        for b in range(a):
            unit = units[a] * units[b]
            if unit <= 0:
                continue
            terms = -(scores[:, a] * centred[:, b] + scores[:, b] * centred[:, a]) / (2.0 * unit)
            value = float(share @ terms)
            error = scatter.error(share * (terms - value))
            pair = (columns[b], columns[a])
            estimates.append(Estimate("correlation", pair, value, error, same, effective - 1.0))
    return estimates


def _exp(value: float) -> float:
    return float(np.exp(value))


def _tanh(value: float) -> float:
    return float(np.tanh(value))


def _shift(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
    if not named:
        return f"shift {measured(found, unit)}: no clear sign"
    side, where = ("low", "above") if found.estimate > 0 else ("high", "below")
    size = found if found.estimate > 0 else Interval(-found.estimate, -found.high, -found.low)
    return f"the model is too {side}: y lies {measured(size, unit, f' {where} it')}"


def _width(found: Interval, columns: tuple[str, ...], unit: str, named: bool, note: str = "") -> str:
    size, ends = sized(found.estimate, found.low, found.high)
    ends += note
    if not named:
        return f"spread {size} times the model's ({ends}): no clear sign"
    side = "narrow" if found.estimate > 1 else "wide"
    return f"the model is too {side}: the data spread {size} times as much as it says ({ends})"


def _width_of_ranks(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
    return _width(found, columns, unit, named, "; by ranks among the draws")


def _skew(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
    size, ends = sized(found.estimate, found.low, found.high)
    if not named:
        return f"skewness {size} ({ends}) where the model has 0: no clear sign"
    side = "high" if found.estimate > 0 else "low"
    return f"y is drawn out to {side} values more than the model says: skewness {size} ({ends})"


def _tails(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
    size, ends = sized(found.estimate, found.low, found.high)
    if not named:
        return f"excess kurtosis {size} ({ends}) where the model has 0: no clear sign"
    side = "heavier" if found.estimate > 0 else "lighter"
    return f"the tails of y are {side} than the model's: excess kurtosis {size} ({ends})"


def _correlation(found: Interval, columns: tuple[str, ...], unit: str, named: bool) -> str:
    size, ends = sized(found.estimate, found.low, found.high)
    pair = f"{columns[0]} and {columns[1]}"
    if not named:
        return f"correlation {size} ({ends}) of the residuals of {pair}: no clear sign"
    said = f"{pair} go together in another way than the model says"
    return f"{said}: its residuals have correlation {size} ({ends})"


_WORDS = {
    "shift": _shift,
    "width": _width,
    "skew": _skew,
    "tails": _tails,
    "correlation": _correlation,
}
