"""The numbers that are said of some rows: each is a plain computation on just these rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, ndtr, ndtri, stdtrit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._looked import COUNT_LEVELS, Looked, column_pairs
from condgof.check._record import Finding
from condgof.check._signals import MOST_CLASSES, THIRDS, Signal, events_of, largest_classes
from condgof.laws._discrete import normalised
from condgof.result import rounded, share_interval

#: Half the central intervals of N(0, 1), by what they are called.
CENTRAL = {"50%": 0.6744897501960817, "90%": 1.6448536269514722}
BEYOND = {"99%": (2.5758293035489004, 0.01), "99.9%": (3.2905267314919255, 0.001)}
#: Half the middle half of N(0, 1).
QUARTILE = CENTRAL["50%"]
#: A row is wild if one as far out as it is, among all rows, has less than this probability.
WILD = 1e-3
#: At most so many of them are named.
NAMED = 5
#: Standard errors to either side of the intervals of all rows: six hold together 95% of the time.
REACH = 2.638257273476751
#: Of all rows up to so many classes have a number, and shift and spread are of these.
ALL_CLASSES, MEDIAN, MIDDLE = 12, "median", "middle half"
#: What the tail of counts is of.
LARGEST = "largest"
#: So many counts should not be the most probable ones, for a spread to tell anything.
EVENTS = 10
SD = "model standard deviations"


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads numbers off rows.

    Intervals reach `reach` standard errors to either side: of a slice as many as the whole search
    needs, so that they hold for what was found. Rows that depend on each other belong to `units`.
    """

    looked: Looked
    reach: float
    units: IntArray | None = None

    def stretch(self, inside: AnyArray, values: FloatArray) -> float:
        """Return the reach, longer where the values of rows of one unit go together."""
        if self.units is None:
            return self.reach
        centred, of = values - values.mean(), self.units[inside]
        apart = float(np.square(centred).sum())
        together = float(np.square(np.bincount(of, centred)).sum())
        return student(self.reach, len(np.unique(of))) * math.sqrt(max(together / (apart or 1.0), 1.0))

    def mean(
        self, inside: AnyArray, values: FloatArray, least: float = 0.0
    ) -> tuple[float, tuple[float, float]]:
        """Return the mean of values (m,) and its interval: by Student's law, or an sd of at least 1.

        Their own sd counts as `least` if it is less: rare events may not have come.
        """
        n, estimate = len(values), float(values.mean())
        sd = max(float(values.std(ddof=1)) if n > 1 else 0.0, least)
        half = self.reach * max(sd, 1.0)
        if sd > 0 and self.units is None:
            half = min(half, student(self.reach, n) * sd)
        elif self.units is not None:
            half = self.stretch(inside, values) * (sd or 1.0)
        half /= math.sqrt(n)
        return estimate, (estimate - half, estimate + half)

    def spread(self, inside: AnyArray, values: FloatArray) -> tuple[float, tuple[float, float]]:
        """Return the standard deviation and Bonett's interval, which allows for heavy tails."""
        n = len(values)
        estimate = float(values.std(ddof=1)) if n > 1 else math.nan
        if n < 5 or not estimate > 0:
            return estimate, (0.0, math.inf)
        ordered = np.sort(values)
        cut = min(int(n / (2.0 * math.sqrt(n - 4))), (n - 1) // 2)
        middle = float(ordered[cut : n - cut].mean())
        squares = np.square(values - middle)
        kurtosis = n * float(np.square(squares).sum()) / float(squares.sum()) ** 2
        error = 0.5 * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
        stretch = self.stretch(inside, np.square(values - values.mean()))
        half = max(stretch, student(self.reach, n)) * error if error > 0 else 0.0
        # Where tails are heavy, what is far out has mostly not come: the upper end is further away.
        above = half * min(1.0 + max(kurtosis - 3.0, 0.0) / 10.0, 2.0)
        # Bonett's small-sample factor; the exponent keeps a huge interval finite.
        factor = n / max(n - self.reach, 1.0) if n > 2 * self.reach else 2.0
        low, high = (estimate * math.sqrt(factor) * math.exp(min(end, 300.0)) for end in (-half, above))
        return estimate, (min(low, estimate), high)

    def share(
        self, inside: AnyArray, happened: AnyArray, says: AnyArray | float = 0.0
    ) -> tuple[float, tuple[float, float]]:
        """Return how often something happened, with the interval of Clopper and Pearson.

        `says` is its probability in each row: where that tells rows apart, the interval is shorter, by
        as much as residuals vary less than what happened does.
        """
        n, k = len(happened), int(np.count_nonzero(happened))
        p, rest = np.broadcast_to(np.asarray(says, dtype=np.float64), n), happened - says
        # As if one more event had come.
        variation = 1.0 + max(float(np.square(rest).sum()), float((p * (1.0 - p)).sum()))
        shorter = math.sqrt(min(variation * n / max(k * (n - k), 1), 1.0)) if np.ndim(says) else 1.0
        tail = float(ndtr(-shorter * self.stretch(inside, rest)))
        low, high = share_interval(k, n, 2.0 * tail)
        return k / n, (float(low), float(high))

    def share_of(
        self,
        rows: IntArray,
        happened: AnyArray,
        says: AnyArray | float,
        about: Signal,
        before: str = "",
        after: str = "",
    ) -> Finding:
        """Tell in how many rows something happened, beside its probability, in each row or in all.

        `before` and `after` are words around the share.
        """
        varies = np.ndim(says) > 0
        share, ends = self.share(rows, happened, says if varies else 0.0)
        expected = float(np.mean(says))
        words = f"{before}{rounded(share)} of the rows{after} {between(ends)}"
        words += f", and the model says {rounded(expected)}" if varies else ""
        kind, column, label = about
        return Finding(kind, column, share, ends, expected, words, label)

    def ratio(
        self, inside: AnyArray, happened: AnyArray, expected: FloatArray
    ) -> tuple[float, tuple[float, float]]:
        """Return the number of events over that expected, with the interval of a Poisson number."""
        count, mean = int(happened.sum()), max(float(expected.sum()), 1e-300)
        tail = float(ndtr(-self.stretch(inside, happened - expected)))
        low = float(gammaincinv(count, tail)) / mean if count else 0.0
        return count / mean, (low, float(gammaincinv(count + 1, 1.0 - tail)) / mean)

    def findings(self, inside: AnyArray) -> tuple[Finding, ...]:
        """Return all numbers of some rows (positions, or a mask)."""
        rows = np.flatnonzero(inside) if inside.dtype == bool else inside
        return tuple(READERS[self.looked.kind](self, rows))


def student(reach: float, n: int) -> float:
    """Return how many standard errors reach as far where these come from n values, by Student's law."""
    return -float(stdtrit(n - 1, ndtr(-reach))) if n > 1 else math.inf


def between(interval: tuple[float, float], draws: int = 0) -> str:
    """Write an interval behind a number; of draws, that it comes from ranks."""
    by = f"; by ranks among {draws:,} draws" if draws else ""
    return f"({rounded(interval[0])} to {rounded(interval[1])}{by})"


def _continuous(reader: Reader, rows: IntArray, whole: bool = False) -> Iterator[Finding]:
    """Residuals z; of the whole sample by quantiles, which one wild row does not move."""
    looked = reader.looked
    assert looked.z is not None
    several, has_pit = len(looked.y_columns) > 1, looked.pit is not None
    centre, outer = (_quartiles, "99.9%") if whole else (_shift_spread, "99%")
    for j, column in enumerate(looked.y_columns):
        z, of = looked.z[rows, j], f" of {column.name}" if several else ""
        yield from centre(reader, rows, z, column.name, of)
        if has_pit:
            yield from _shares(reader, rows, z, column.name, outer, of)
        if has_pit and whole and not looked.draws:
            yield from _wild(reader, z, column.name, of)
    if several:
        yield from _correlations(reader, rows)


def _shares(
    reader: Reader, rows: IntArray, z: FloatArray, column: str, outer: str, of: str
) -> Iterator[Finding]:
    """How many rows lie inside the central intervals, and beyond them, as far as the law tells."""
    for label, end in CENTRAL.items():
        if reader.looked.tells(0.5 - 0.5 * float(label[:-1]) / 100):
            yield _coverage(reader, rows, np.abs(z) <= end, column, label, float(label[:-1]) / 100, of)
    if reader.looked.tells(0.05):
        yield _skew(reader, rows, z, column, of)
    end, expected = BEYOND[outer]
    if reader.looked.tells(0.5 * expected):
        share, ends = reader.share(rows, np.abs(z) > end)
        words = f"{_percent(share)} of the rows lie outside the model's {outer} interval{of}"
        if share:
            ratio = share / expected
            words += f", {f'{ratio:,.0f}' if ratio >= 10 else f'{ratio:.2g}'} times what it says"
        yield Finding("tails", column, share, ends, expected, words, outer)


def _shift_spread(
    reader: Reader, rows: IntArray, z: FloatArray, column: str, of: str = "", least: float = 0.0
) -> Iterator[Finding]:
    """Mean and standard deviation of residuals."""
    shift, ends = reader.mean(rows, z, least)
    where = f"{rounded(abs(shift))} {SD} {'above' if shift > 0 else 'below'} what the model says"
    sized = ends if shift > 0 else (-ends[1], -ends[0])
    words = f"the data{of} lie on average {where} {between(sized, reader.looked.draws)}"
    yield Finding("shift", column, shift, ends, 0.0, words)
    if len(z) < 2:
        return
    spread, ends = reader.spread(rows, z)
    within = between(ends, reader.looked.draws)
    words = f"the data{of} spread {rounded(spread)} times as much as the model says {within}"
    yield Finding("spread", column, spread, ends, 1.0, words)


def _quartiles(reader: Reader, rows: IntArray, z: FloatArray, column: str, of: str) -> Iterator[Finding]:
    """Median and middle half of residuals."""
    median, (low, high) = float(np.median(z)), (float(q) for q in np.quantile(z, [0.25, 0.75]))
    first, ends, last = (_order_interval(reader, rows, z, level) for level in (0.25, 0.5, 0.75))
    sized = ends if median > 0 else (-ends[1], -ends[0])
    where = f"{rounded(abs(median))} {SD} {'above' if median > 0 else 'below'} the model's"
    words = f"the median of the data{of} lies {where} {between(sized, reader.looked.draws)}"
    yield Finding("shift", column, median, ends, 0.0, words, MEDIAN)
    spread = (high - low) / (2.0 * QUARTILE)
    below, above = ((end[1] - end[0]) / 2.0 for end in (first, last))
    # Sample quartiles have the correlation 1/3.
    half = math.sqrt(below**2 + above**2 - below * above * 2.0 / 3.0) / (2.0 * QUARTILE)
    ends = (max(spread - half, 0.0), spread + half)
    within = between(ends, reader.looked.draws)
    words = f"the middle half of the data{of} is {rounded(spread)} times as wide as the model's {within}"
    yield Finding("spread", column, spread, ends, 1.0, words, MIDDLE)


def _order_interval(reader: Reader, rows: IntArray, z: FloatArray, level: float) -> tuple[float, float]:
    """Return the order statistics between which a quantile lies, whatever the law of z."""
    n = len(z)
    at = float(np.quantile(z, level))
    stretch = reader.stretch(rows, np.asarray(z <= at, dtype=np.float64))
    half = min(stretch * math.sqrt(n * level * (1.0 - level)), float(n))
    first = max(math.floor(n * level - half) - 1, 0)
    last = min(math.ceil(n * level + half), n - 1)
    ordered = np.partition(z, [first, last])
    return min(float(ordered[first]), at), max(float(ordered[last]), at)


def _wild(reader: Reader, z: FloatArray, column: str, of: str) -> Iterator[Finding]:
    """Name the rows that lie further out than all rows together should."""
    end = -float(ndtri(0.5 * WILD / len(z)))
    far = np.flatnonzero(np.abs(z) > end)
    if not len(far):
        return
    worst = far[np.argsort(-np.abs(z[far]), kind="stable")[:NAMED]]
    named = ", ".join(f"{reader.looked.rows[i]:,} (z = {rounded(float(z[i]))})" for i in worst)
    more = f", and {len(far) - len(worst):,} more" if len(far) > len(worst) else ""
    what = "1 row lies" if len(far) == 1 else f"{len(far):,} rows lie"
    further = f"{what} further out{of.replace(' of ', ' in ', 1)} than any of {len(z):,} rows should"
    words = f"{further}: row{'s' if len(far) > 1 else ''} {named}{more}"
    count = float(len(far))
    yield Finding("wild", column, count, (count, count), 0.0, words)


def _coverage(
    reader: Reader, rows: IntArray, held: AnyArray, column: str, label: str, level: float, of: str = ""
) -> Finding:
    about, before = Signal("coverage", column, label), f"the model's {label} interval{of} holds "
    return reader.share_of(rows, held, level, about, before)


def _percent(share: float) -> str:
    text = f"{100 * share:.2g}" if share < 0.1 else f"{100 * share:.3g}"
    return f"{text}%"


def _skew(reader: Reader, rows: IntArray, z: FloatArray, column: str, of: str = "") -> Finding:
    end = CENTRAL["90%"]
    above, below = float(np.mean(z > end)), float(np.mean(z < -end))
    estimate, ends = reader.mean(rows, (z > end) * 1.0 - (z < -end) * 1.0)
    if above == below == 0.0:
        ends = (-(reader.reach**2) / len(z), reader.reach**2 / len(z))
    words = (
        f"{_percent(above)} of the rows lie above the model's 95% quantile{of} and {_percent(below)} "
        "below its 5% quantile"
    )
    return Finding("skew", column, estimate, (max(ends[0], -1.0), min(ends[1], 1.0)), 0.0, words)


def _correlations(reader: Reader, rows: IntArray) -> Iterator[Finding]:
    looked = reader.looked
    assert looked.z is not None
    if looked.together is None:  # columns may go together, and the law does not say how
        return
    names = [column.name for column in looked.y_columns]
    for k, (a, b) in enumerate(zip(*column_pairs(len(names)), strict=True)):
        first, second = looked.z[rows, a], looked.z[rows, b]
        alive = len(rows) > 3 and first.std() > 0 and second.std() > 0
        r = float(np.corrcoef(first, second)[0, 1]) if alive else 0.0
        half = reader.stretch(rows, first * second) / math.sqrt(max(len(rows) - 3, 1))
        at = math.atanh(max(min(r, 1 - 1e-12), -1 + 1e-12))
        ends = (math.tanh(at - half), math.tanh(at + half))
        expected = float(looked.together[rows, k].mean())
        words = (
            f"the residuals of {names[a]} and {names[b]} have the correlation {rounded(r)} "
            f"{between(ends)}, and the model says {rounded(expected) if expected else 0}"
        )
        yield Finding("correlation", f"{names[a]} and {names[b]}", r, ends, expected, words)


def _classes(reader: Reader, rows: IntArray, most: int = MOST_CLASSES) -> Iterator[Finding]:
    looked = reader.looked
    assert looked.probabilities is not None
    assert looked.codes is not None
    p, codes, name = normalised(looked.probabilities[rows]), looked.codes[rows], looked.y_columns[0].name
    top = np.argmax(p, axis=1)
    about, before = Signal("confidence", name), "the most probable class is right in "
    yield reader.share_of(rows, codes == top, p[np.arange(len(p)), top], about, before)
    for k in largest_classes(looked.probabilities, most):
        label = looked.class_names[k]
        about, before = Signal("class", name, label), f"class {label} came in "
        yield reader.share_of(rows, codes == k, p[:, k], about, before)


def _counts(reader: Reader, rows: IntArray) -> Iterator[Finding]:
    looked = reader.looked
    name = looked.y_columns[0].name
    if looked.z is not None and looked.surest is not None:
        shift_spread = _shift_spread(reader, rows, looked.z[rows, 0], name, least=1.0)
        yield next(shift_spread)
        if (1.0 - looked.surest[rows]).sum() >= EVENTS:
            yield from shift_spread
    levels = np.zeros((looked.n, 2, 0)) if looked.below is None else looked.below
    for level, (happened, says) in zip(COUNT_LEVELS, levels[rows].T, strict=False):
        about, after = Signal("quantile", name, f"{level:g}"), f" are at most the {level:g} quantile"
        yield reader.share_of(rows, happened, says, about, after=after)
    if looked.zeros is not None and looked.has_zeros:
        zero = looked.y[rows, 0] == 0
        yield reader.share_of(rows, zero, looked.zeros[rows], Signal("zeros", name), after=" are 0")


def _count_tail(reader: Reader, rows: IntArray) -> Iterator[Finding]:
    """How often a count is larger than the model allows in 1 of 100."""
    looked = reader.looked
    if looked.upper is None:
        return
    share, ends = reader.share(rows, looked.upper < 0.01)
    words = (
        f"{rounded(share)} of the rows {between(ends)} have a count so large that the model gives it, "
        "or a larger one, a probability below 0.01"
    )
    expected = min(share, 0.01)  # steps of counts: at most 0.01
    yield Finding("tails", looked.y_columns[0].name, share, ends, expected, words, LARGEST)


def _events(reader: Reader, rows: IntArray) -> Iterator[Finding]:
    looked = reader.looked
    assert looked.codes is not None
    name = looked.y_columns[0].name
    for event in looked.some_events:
        happened = event.happened(looked.codes[rows])
        if event.kind == "quantile":
            label = f"{event.level:g}"
            about, after = Signal("quantile", name, label), f" lie below the {label} quantile"
            yield reader.share_of(rows, ~happened, event.level, about, after=after)
        else:
            label = f"{100 * event.level:g}%"
            yield _coverage(reader, rows, happened, name, label, event.expected)


def _observed(reader: Reader, rows: IntArray) -> Iterator[Finding]:
    """Events observed and expected, of all time and of thirds of the model's distribution."""
    happened, expected = (part[rows] for part in events_of(reader.looked))
    low, high = (f"{cut:g}" for cut in reader.looked.cuts)
    places = (f"up to {low}", f"{low} to {high}", f"above {high}")
    for k, label in enumerate(THIRDS):
        ratio, ends = reader.ratio(rows, happened[:, k], expected[:, k])
        count, mean = int(happened[:, k].sum()), float(expected[:, k].sum())
        if label and not count and mean < 1.0:  # nobody was watched as long as that
            continue
        at = f" in the {label} (cumulative hazard {places[k - 1]})" if label else ""
        number = f"{mean:,.1f}" if mean >= 1 else rounded(mean)
        seen = f"{count:,} event{'s' * (count != 1)} observed{at}, {number} expected"
        words = f"{seen} (ratio {rounded(ratio)}, {rounded(ends[0])} to {rounded(ends[1])})"
        yield Finding("events", reader.looked.y_columns[0].name, ratio, ends, 1.0, words, label)


def _scores(reader: Reader, rows: IntArray) -> Iterator[Finding]:
    """Of scores alone: by E[s] = 0 and E[s(y − c)] = −1; see `condgof.check._signals`."""
    looked = reader.looked
    assert looked.scores is not None
    assert looked.scored_y is not None
    several = len(looked.y_columns) > 1
    for j, column in enumerate(looked.y_columns):
        s, y = looked.scores[rows, j], looked.scored_y[rows, j]
        of = f" of {column.name}" if several else ""
        size = float(looked.scores[:, j].std()) or 1.0
        shift, ends = reader.mean(rows, -s / size)
        number = f"{rounded(-shift)} of its standard deviation {between((-ends[1], -ends[0]))}"
        words = f"the mean score{of} is {number}, and should be 0"
        yield Finding("shift", column.name, shift, ends, 0.0, words)
        centre = float(looked.scored_y[:, j].mean())
        square, ends = reader.mean(rows, -s * (y - centre))
        low, high = (math.sqrt(max(end, 0.0)) for end in ends)
        spread = math.sqrt(max(square, 0.0))
        number = f"{rounded(spread)} times as much as the scores say {between((low, high))}"
        words = f"the data{of} spread {number}"
        yield Finding("spread", column.name, spread, (low, high), 1.0, words)


READERS: dict[str, Callable[[Reader, IntArray], Iterator[Finding]]] = {
    "continuous": _continuous,
    "several": _continuous,
    "moments": _continuous,
    "classes": _classes,
    "counts": _counts,
    "quantiles": _events,
    "intervals": _events,
    "censored": _observed,
    "scores": _scores,
}


def overall_of(reader: Reader) -> tuple[Finding, ...]:
    """Return what is said of all rows: numbers that one wild row does not move, and wild rows."""
    looked = reader.looked
    rows = np.arange(looked.n)
    if looked.kind in ("continuous", "several", "moments"):
        return tuple(_continuous(reader, rows, whole=True))
    if looked.kind == "classes":
        return tuple(_classes(reader, rows, ALL_CLASSES))
    findings = reader.findings(rows)
    if looked.kind == "counts":
        return (*findings, *_count_tail(reader, rows))
    if looked.kind == "censored":
        assert looked.scored_y is not None
        z = looked.scored_y[:, 0]
        # That a row was censored early says nothing.
        far = np.where(np.asarray(looked.event) | (z > 0), z, 0.0)
        return (*findings, *_wild(reader, far, looked.y_columns[0].name, ""))
    return findings


#: What may lead where a signal is strongest, in the order of preference.
LEADERS = {
    "spread": ("spread", "coverage", "tails"),
    "tails": ("tails", "coverage", "spread", "skew"),
    "skew": ("skew", "shift", "coverage", "spread"),
    "shift": ("shift", "skew", "coverage"),
}


def led(findings: tuple[Finding, ...], signal: Signal, sign: float) -> tuple[Finding, ...]:
    """Put the finding first that says what the signal saw; then others, the most telling first."""
    ranked = sorted(findings, key=lambda one: -distance(one))
    if signal.kind not in LEADERS:
        lead = next((f for f in findings if f.about == signal and f.telling), ranked[0])
        return (lead, *(f for f in ranked if f is not lead))
    of_column = [f for f in ranked if f.column == signal.column] or ranked
    shift, spread = (next((f for f in of_column if f.kind == k), None) for k in ("shift", "spread"))
    inside = [f for f in of_column if f.kind == "coverage"]
    kind = signal.kind
    if kind == "tails" and spread and spread.telling and inside:
        # The data are wider, or narrower, in the middle as well as far out: no matter of tails.
        wider = spread.estimate > 1.0
        kind = "spread" if all((f.estimate < f.expected) == wider for f in inside) else kind
    if shift and spread and shift.telling and abs(shift.estimate) >= 1.0:
        # The data lie so far off that PITs are 0 or 1, and signals tell nothing else.
        kind = "shift" if distance(shift) > distance(spread) else kind
    fitting = [f for leader in LEADERS[kind] for f in of_column if f.kind == leader and f.telling]
    fits = [f for f in fitting if _agrees(f, signal, sign)] if kind == signal.kind else []
    if kind == "tails" and sign < 0:
        # Too few rows in the middle and far out, as of a mode that is missing: whichever says more.
        fits.sort(key=distance, reverse=True)
    if sign > 0 and signal.kind in ("spread", "tails") and shift and spread and shift.telling:
        # The data lie far out because they are shifted, and spread no more than they should.
        fits = [shift] if spread.estimate < spread.expected else fits
    lead = (fits or fitting or of_column)[0]
    return (lead, *(f for f in ranked if f is not lead))


def _agrees(finding: Finding, signal: Signal, sign: float) -> bool:
    """Whether a finding points the way that the signal does."""
    if finding.kind == signal.kind or {finding.kind, signal.kind} <= {"shift", "skew"}:
        return (finding.estimate > finding.expected) == (sign > 0)
    if signal.kind in ("spread", "tails") and finding.kind == "coverage":
        # Heavy tails come with too many rows in the middle.
        middle = signal.kind == "tails" and finding.label == "50%"
        return (finding.estimate < finding.expected) == ((sign > 0) != middle)
    return True


def distance(finding: Finding) -> float:
    """Return how far a finding is from what the model says, in half-widths of its interval."""
    low, high = finding.interval
    away = finding.estimate - finding.expected
    half = finding.estimate - low if away > 0 else high - finding.estimate
    return abs(away) / half if half > 0 else (math.inf if away else 0.0)


def severity(finding: Finding) -> float:
    """Return how bad it is: in standard deviations, in the logarithm of a ratio, or in probability."""
    if finding.kind in ("spread", "events"):
        return abs(math.log(max(finding.estimate, 1e-12)))
    return abs(finding.estimate - finding.expected)


def direction(finding: Finding) -> str:
    """Say in a word or two what the model is."""
    more = finding.estimate > finding.expected
    label = finding.label
    return {
        "shift": ("too low", "too high"),
        "spread": ("too narrow", "too wide"),
        "coverage": ("too wide", "too narrow"),
        "tails": ("tails too light", "tails too heavy"),
        "skew": ("more above than below", "more below than above"),
        "correlation": ("too little correlation", "too much correlation"),
        "confidence": ("under-confident", "over-confident"),
        "class": (f"class {label} too rarely", f"class {label} too often"),
        "events": tuple(f"hazard too {w}{f' in the {label}' * bool(label)}" for w in ("low", "high")),
        "zeros": ("too few zeros", "too many zeros"),
        "quantile": (f"{label} quantile too high", f"{label} quantile too low"),
        "score": (label, label),
    }[finding.kind][0 if more else 1]
