"""The numbers of some rows: each is a plain computation on just these rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaincinv, ndtr, ndtri, stdtrit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._quantities import MEDIAN, MIDDLE_HALF, QUANTITIES, Signal
from condgof.check._record import Finding
from condgof.result import share_interval

if TYPE_CHECKING:
    from condgof.check.kinds import CheckedRows

#: Half the width of the central 50% interval of N(0, 1), and of the 90% interval.
HALF_WIDTH_50 = 0.6744897501960817
HALF_WIDTH_90 = 1.6448536269514722
#: The central intervals whose coverage is reported, by label.
CENTRAL = {"50%": HALF_WIDTH_50, "90%": HALF_WIDTH_90}


class OuterInterval(NamedTuple):
    """A central interval of N(0, 1) that few rows should lie outside of."""

    label: str
    half_width: float
    outside: float  #: The probability outside.


OUTSIDE_99 = OuterInterval("99%", 2.5758293035489004, 0.01)
OUTSIDE_999 = OuterInterval("99.9%", 3.2905267314919255, 0.001)
#: A row is an outlier if one as far out, among all rows, has less than this probability.
OUTLIER_PROBABILITY = 1e-3
#: The most outliers that are named.
MOST_NAMED = 5
#: Standard errors to either side of the intervals of all rows, Φ⁻¹(1 − 0.05/12): the six of
#: median, middle half, both coverages, skew and tails hold together 95% of the time.
REACH = 2.638257273476751
#: Tails that heavy distributions have not shown yet move the upper end of a spread out by
#: at most this factor.
MOST_STRETCHED_TAIL = 2.0
#: How far, in standard deviations, a shift must be for PITs to tell nothing else.
FAR_SHIFT = 1.0


class Estimate(NamedTuple):
    """A number, and its interval."""

    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads numbers off rows.

    Intervals reach `reach` standard errors to either side: of a subgroup as many as the
    whole search needs, so that they hold for what was found. Rows that depend on each other
    belong to `units`.
    """

    checked: CheckedRows
    reach: float
    units: IntArray | None = None

    def findings(self, rows: IntArray | None = None) -> tuple[Finding, ...]:
        """Return the numbers of some rows, or of all: then one outlier moves none."""
        some = np.arange(self.checked.n) if rows is None else rows
        return tuple(self.checked.findings(self, some, overall=rows is None))

    def stretch(self, inside: AnyArray, values: FloatArray) -> float:
        """Return the reach, longer where the values of rows of one unit go together."""
        if self.units is None:
            return self.reach
        centred = values - values.mean()
        units = self.units[inside]
        apart = float(np.square(centred).sum())
        together = float(np.square(np.bincount(units, centred)).sum())
        by_units = student(self.reach, len(np.unique(units)))
        return by_units * math.sqrt(max(together / (apart or 1.0), 1.0))

    def mean(self, inside: AnyArray, values: FloatArray, least: float = 0.0) -> Estimate:
        """Return the mean of values (m,), of sd at least `least`.

        Its interval is Student's, but never wider than a normal one of sd max(sd, 1): the
        values have sd 1 under the model, and a few rows estimate a smaller one badly. Where
        rows belong to units, it is as wide as these ask for.
        """
        n = len(values)
        estimate = float(values.mean())
        sd = max(float(values.std(ddof=1)) if n > 1 else 0.0, least)
        half = self.reach * max(sd, 1.0)
        if sd > 0 and self.units is None:
            half = min(half, student(self.reach, n) * sd)
        elif self.units is not None:
            half = self.stretch(inside, values) * (sd or 1.0)
        half /= math.sqrt(n)
        return Estimate(estimate, (estimate - half, estimate + half))

    def spread(self, inside: AnyArray, values: FloatArray) -> Estimate:
        """Return the standard deviation and Bonett's interval, which allows heavy tails."""
        n = len(values)
        estimate = float(values.std(ddof=1)) if n > 1 else math.nan
        if n < 5 or not estimate > 0:
            return Estimate(estimate, (0.0, math.inf))
        cut = min(int(n / (2.0 * math.sqrt(n - 4))), (n - 1) // 2)
        trimmed_mean = float(np.sort(values)[cut : n - cut].mean())
        squares = np.square(values - trimmed_mean)
        kurtosis = n * float(np.square(squares).sum()) / float(squares.sum()) ** 2
        error = 0.5 * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
        stretch = self.stretch(inside, np.square(values - values.mean()))
        half = max(stretch, student(self.reach, n)) * error if error > 0 else 0.0
        # Where tails are heavy, what is far out has mostly not come: the upper end is
        # further away.
        tail = min(1.0 + max(kurtosis - 3.0, 0.0) / 10.0, MOST_STRETCHED_TAIL)
        # Bonett's small-sample factor; the exponent keeps a huge interval finite.
        factor = n / max(n - self.reach, 1.0) if n > 2 * self.reach else 2.0
        low = estimate * math.sqrt(factor) * math.exp(-half)
        high = estimate * math.sqrt(factor) * math.exp(min(half * tail, 300.0))
        return Estimate(estimate, (min(low, estimate), high))

    def share(
        self, inside: AnyArray, happened: AnyArray, expected: AnyArray | float = 0.0
    ) -> Estimate:
        """Return how often something happened, with the interval of Clopper and Pearson."""
        n = len(happened)
        count = int(np.count_nonzero(happened))
        p = np.broadcast_to(np.asarray(expected, dtype=np.float64), n)
        rest = happened - expected
        shorter = 1.0
        if np.ndim(expected):
            # Where probabilities tell rows apart, the interval is shorter, by as much as
            # residuals vary less than what happened does; as if one more event had come.
            residual = float(np.square(rest).sum())
            variation = 1.0 + max(residual, float((p * (1.0 - p)).sum()))
            shorter = math.sqrt(min(variation * n / max(count * (n - count), 1), 1.0))
        tail = float(ndtr(-shorter * self.stretch(inside, rest)))
        low, high = share_interval(count, n, 2.0 * tail)
        return Estimate(count / n, (float(low), float(high)))

    def share_finding(
        self,
        rows: IntArray,
        happened: AnyArray,
        expected: AnyArray | float,
        about: Signal,
        *,
        several: bool = False,
    ) -> Finding:
        """Return how often something happened, beside its probability.

        That is one number for each row, or one for all.
        """
        varies = np.ndim(expected) > 0
        share = self.share(rows, happened, expected if varies else 0.0)
        return Finding(
            kind=about.kind,
            column=about.column,
            estimate=share.value,
            interval=share.interval,
            expected=float(np.mean(expected)),
            label=about.label,
            quantity=about.kind,
            numbers={"several": several},
        )

    def ratio(self, inside: AnyArray, happened: AnyArray, expected: FloatArray) -> Estimate:
        """Return the number of events over that expected, as a Poisson number."""
        count = int(happened.sum())
        mean = max(float(expected.sum()), 1e-300)
        tail = float(ndtr(-self.stretch(inside, happened - expected)))
        low = float(gammaincinv(count, tail)) / mean if count else 0.0
        high = float(gammaincinv(count + 1, 1.0 - tail)) / mean
        return Estimate(count / mean, (low, high))


def student(reach: float, n: int) -> float:
    """Return the standard errors, from n values, that reach as far by Student's law."""
    return -float(stdtrit(n - 1, ndtr(-reach))) if n > 1 else math.inf


class Residual(NamedTuple):
    """Residuals z of one column of y at some rows, and how sentences speak of them."""

    rows: IntArray  #: Positions among the rows of the check, (m,).
    z: FloatArray  #: (m,).
    column: str
    several: bool = False  #: Whether y has other columns.
    draws: int = 0  #: How many draws of each row the law is known by.


def mean_and_spread(
    reader: Reader, residual: Residual, *, least: float = 0.0
) -> Iterator[Finding]:
    """Yield mean and standard deviation of residuals.

    `least` is that of the standard deviation from which the interval of the mean comes.
    """
    numbers = {"several": residual.several, "draws": residual.draws}
    mean = reader.mean(residual.rows, residual.z, least)
    yield Finding(
        kind="shift",
        column=residual.column,
        estimate=mean.value,
        interval=mean.interval,
        expected=0.0,
        quantity="mean",
        numbers=numbers,
    )
    if len(residual.z) < 2:
        return
    spread = reader.spread(residual.rows, residual.z)
    yield Finding(
        kind="spread",
        column=residual.column,
        estimate=spread.value,
        interval=spread.interval,
        expected=1.0,
        quantity="sd",
        numbers=numbers,
    )


def median_and_middle_half(reader: Reader, residual: Residual) -> Iterator[Finding]:
    """Yield median and middle half of residuals, which one outlier does not move."""
    numbers = {"several": residual.several, "draws": residual.draws}
    yield Finding(
        kind="shift",
        column=residual.column,
        estimate=float(np.median(residual.z)),
        interval=_quantile_interval(reader, residual, 0.5),
        expected=0.0,
        label=MEDIAN,
        quantity="median",
        numbers=numbers,
    )
    if len(residual.z) < 2:
        return
    width = _middle_half_width(reader, residual)
    yield Finding(
        kind="spread",
        column=residual.column,
        estimate=width.value,
        interval=width.interval,
        expected=1.0,
        label=MIDDLE_HALF,
        quantity="middle half",
        numbers=numbers,
    )


def _middle_half_width(reader: Reader, residual: Residual) -> Estimate:
    """Return the width of the middle half of residuals over that of N(0, 1)."""
    low, high = (float(q) for q in np.quantile(residual.z, [0.25, 0.75]))
    normal_width = 2.0 * HALF_WIDTH_50
    first = _quantile_interval(reader, residual, 0.25)
    last = _quantile_interval(reader, residual, 0.75)
    below = (first[1] - first[0]) / 2.0
    above = (last[1] - last[0]) / 2.0
    # Sample quartiles have the correlation 1/3.
    variance = below**2 + above**2 - below * above * 2.0 / 3.0
    half = math.sqrt(variance) / normal_width
    spread = (high - low) / normal_width
    return Estimate(spread, (max(spread - half, 0.0), spread + half))


def _quantile_interval(
    reader: Reader, residual: Residual, level: float
) -> tuple[float, float]:
    """Return the order statistics between which a quantile lies, whatever the law of z."""
    z = residual.z
    n = len(z)
    at = float(np.quantile(z, level))
    below = np.asarray(z <= at, dtype=np.float64)
    stretch = reader.stretch(residual.rows, below)
    half = min(stretch * math.sqrt(n * level * (1.0 - level)), float(n))
    first = max(math.floor(n * level - half) - 1, 0)
    last = min(math.ceil(n * level + half), n - 1)
    ordered = np.partition(z, [first, last])
    return min(float(ordered[first]), at), max(float(ordered[last]), at)


def interval_shares(
    reader: Reader,
    residual: Residual,
    outer: OuterInterval,
    resolves: Callable[[float], bool],
) -> Iterator[Finding]:
    """Yield how many rows lie inside central intervals, and beyond them.

    As far as the law `resolves` such tails: a few draws do not.
    """
    rows, z, column, several, _ = residual
    for label, half_width in CENTRAL.items():
        level = float(label[:-1]) / 100
        if resolves(0.5 - 0.5 * level):
            about = Signal("coverage", column, label)
            inside = np.abs(z) <= half_width
            yield reader.share_finding(rows, inside, level, about, several=several)
    if resolves(0.05):
        yield _skew(reader, residual)
    if resolves(0.5 * outer.outside):
        share = reader.share(rows, np.abs(z) > outer.half_width)
        yield Finding(
            kind="tails",
            column=column,
            estimate=share.value,
            interval=share.interval,
            expected=outer.outside,
            label=outer.label,
            quantity="tails",
            numbers={"several": several},
        )


def _skew(reader: Reader, residual: Residual) -> Finding:
    """Return the share of rows above the 95% quantile less that below the 5% quantile."""
    z = residual.z
    above = z > HALF_WIDTH_90
    below = z < -HALF_WIDTH_90
    skew, (low, high) = reader.mean(residual.rows, above * 1.0 - below * 1.0)
    if not (above.any() or below.any()):
        low = -(reader.reach**2) / len(z)
        high = reader.reach**2 / len(z)
    return Finding(
        kind="skew",
        column=residual.column,
        estimate=skew,
        interval=(max(low, -1.0), min(high, 1.0)),
        expected=0.0,
        quantity="skew",
        numbers={
            "several": residual.several,
            "above": float(above.mean()),
            "below": float(below.mean()),
        },
    )


def outliers(reader: Reader, residual: Residual) -> Iterator[Finding]:
    """Yield the number of outliers: rows further out than any of all rows should be."""
    z = residual.z
    bound = -float(ndtri(0.5 * OUTLIER_PROBABILITY / len(z)))
    far = np.flatnonzero(np.abs(z) > bound)
    if not len(far):
        return
    worst = far[np.argsort(-np.abs(z[far]), kind="stable")[:MOST_NAMED]]
    count = float(len(far))
    yield Finding(
        kind="wild",
        column=residual.column,
        estimate=count,
        interval=(count, count),
        expected=0.0,
        quantity="outliers",
        numbers={
            "several": residual.several,
            "rows": [int(row) for row in reader.checked.rows[worst]],
            "z": [float(z[i]) for i in worst],
            "n": len(z),
        },
    )


#: What may lead where a signal is strongest, in the order of preference.
LEADERS = {
    "spread": ("spread", "coverage", "tails"),
    "tails": ("tails", "coverage", "spread", "skew"),
    "skew": ("skew", "shift", "coverage", "spread"),
    "shift": ("shift", "skew", "coverage"),
}


def led(findings: tuple[Finding, ...], signal: Signal, sign: float) -> tuple[Finding, ...]:
    """Put the finding first that says what the signal saw; then the most telling ones."""
    ranked = sorted(findings, key=lambda one: -distance(one))
    lead = _lead(findings, ranked, signal, sign)
    return (lead, *(one for one in ranked if one is not lead))


def _lead(
    findings: tuple[Finding, ...], ranked: list[Finding], signal: Signal, sign: float
) -> Finding:
    if signal.kind not in LEADERS:
        same = (one for one in findings if one.about == signal and one.telling)
        return next(same, ranked[0])
    of_column = [one for one in ranked if one.column == signal.column] or ranked
    shift = next((one for one in of_column if one.kind == "shift"), None)
    spread = next((one for one in of_column if one.kind == "spread"), None)
    coverage = [one for one in of_column if one.kind == "coverage"]
    kind = signal.kind
    if kind == "tails" and spread and spread.telling and coverage:
        # The data are wider, or narrower, in the middle as well as far out: no matter of
        # tails.
        wider = spread.estimate > 1.0
        if all((one.estimate < one.expected) == wider for one in coverage):
            kind = "spread"
    if shift and spread and shift.telling and abs(shift.estimate) >= FAR_SHIFT:
        # The data lie so far off that PITs are 0 or 1, and signals tell nothing else.
        kind = "shift" if distance(shift) > distance(spread) else kind
    fitting = [
        one
        for leader in LEADERS[kind]
        for one in of_column
        if one.kind == leader and one.telling
    ]
    agreeing = []
    if kind == signal.kind:
        agreeing = [one for one in fitting if _agrees(one, signal, sign)]
    if kind == "tails" and sign < 0:
        # Too few rows in the middle and far out, as of a mode that is missing: whichever
        # says more.
        agreeing.sort(key=distance, reverse=True)
    spreads = signal.kind in ("spread", "tails")
    if sign > 0 and spreads and shift and spread and shift.telling:
        # The data lie far out because they are shifted, and spread no more than predicted.
        agreeing = [shift] if spread.estimate < spread.expected else agreeing
    return (agreeing or fitting or of_column)[0]


def _agrees(finding: Finding, signal: Signal, sign: float) -> bool:
    """Whether a finding points the way that the signal does."""
    if finding.kind == "shift" and signal.kind == "skew":
        return True  # data that are shifted and narrow are skewed to the other side
    same = finding.kind == signal.kind
    if same or {finding.kind, signal.kind} <= {"shift", "skew"}:
        return (finding.estimate > finding.expected) == (sign > 0)
    if signal.kind in ("spread", "tails") and finding.kind == "coverage":
        # Heavy tails come with too many rows in the middle.
        middle = signal.kind == "tails" and finding.label == "50%"
        return (finding.estimate < finding.expected) == ((sign > 0) != middle)
    return True


def distance(finding: Finding) -> float:
    """Return how far a finding is from the prediction, in half-widths of its interval."""
    low, high = finding.interval
    away = finding.estimate - finding.expected
    half = finding.estimate - low if away > 0 else high - finding.estimate
    if half > 0:
        return abs(away) / half
    return math.inf if away else 0.0


def severity(finding: Finding) -> float:
    """Return how bad it is: in standard deviations, in a log ratio, or in probability."""
    quantity = QUANTITIES.get(finding.kind)
    if quantity is not None and quantity.is_ratio:
        return abs(math.log(max(finding.estimate, 1e-12)))
    return abs(finding.estimate - finding.expected)
