"""The numbers that are said of some rows: each is a plain computation on just these rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import gammaincinv, ndtr, ndtri, stdtrit

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._looked import THIRDS, Looked, Signal, column_pairs, events_of
from condgof.check._record import Finding
from condgof.check._size import SD
from condgof.laws._discrete import normalised
from condgof.result import rounded, share_interval

#: Half the central intervals of N(0, 1), by what they are called.
CENTRAL = {"50%": 0.6744897501960817, "90%": 1.6448536269514722}
BEYOND = {"99%": (2.5758293035489004, 0.01), "99.9%": (3.2905267314919255, 0.001)}
#: The width of the middle half of N(0, 1).
MIDDLE_HALF = 2.0 * CENTRAL["50%"]
#: A row is wild if one as far out, among all rows, has less than this probability; so many
#: are named.
WILD, NAMED = 1e-3, 5
#: Standard errors to either side of the intervals of all rows: six hold together 95% of the
#: time.
REACH = 2.638257273476751
#: What shift and spread of all rows are of, and the tail of counts.
MEDIAN, MIDDLE, LARGEST = "median", "middle half", "largest"
#: So many counts should not be the most probable ones, for a spread to tell anything.
EVENTS = 10
#: A number, and its interval.
Estimate: TypeAlias = tuple[float, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads numbers off rows.

    Intervals reach `reach` standard errors to either side: of a slice as many as the whole
    search needs, so that they hold for what was found. Rows that depend on each other
    belong to `units`.
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
        return student(self.reach, len(np.unique(of))) * math.sqrt(
            max(together / (apart or 1.0), 1.0)
        )

    def mean(self, inside: AnyArray, values: FloatArray, least: float = 0.0) -> Estimate:
        """Return the mean of values (m,), of sd at least `least`: by Student's law, or an sd of 1."""
        n, estimate = len(values), float(values.mean())
        sd = max(float(values.std(ddof=1)) if n > 1 else 0.0, least)
        half = self.reach * max(sd, 1.0)
        if sd > 0 and self.units is None:
            half = min(half, student(self.reach, n) * sd)
        elif self.units is not None:
            half = self.stretch(inside, values) * (sd or 1.0)
        half /= math.sqrt(n)
        return estimate, (estimate - half, estimate + half)

    def spread(self, inside: AnyArray, values: FloatArray) -> Estimate:
        """Return the standard deviation and Bonett's interval, which allows for heavy tails."""
        n = len(values)
        estimate = float(values.std(ddof=1)) if n > 1 else math.nan
        if n < 5 or not estimate > 0:
            return estimate, (0.0, math.inf)
        cut = min(int(n / (2.0 * math.sqrt(n - 4))), (n - 1) // 2)
        squares = np.square(values - float(np.sort(values)[cut : n - cut].mean()))
        kurtosis = n * float(np.square(squares).sum()) / float(squares.sum()) ** 2
        error = 0.5 * math.sqrt(max(kurtosis - (n - 3) / n, 0.0) / (n - 1))
        stretch = self.stretch(inside, np.square(values - values.mean()))
        half = max(stretch, student(self.reach, n)) * error if error > 0 else 0.0
        # Where tails are heavy, what is far out has mostly not come: the upper end is
        # further away.
        above = half * min(1.0 + max(kurtosis - 3.0, 0.0) / 10.0, 2.0)
        # Bonett's small-sample factor; the exponent keeps a huge interval finite.
        factor = n / max(n - self.reach, 1.0) if n > 2 * self.reach else 2.0
        low, high = (
            estimate * math.sqrt(factor) * math.exp(min(end, 300.0))
            for end in (-half, above)
        )
        return estimate, (min(low, estimate), high)

    def share(
        self, inside: AnyArray, happened: AnyArray, says: AnyArray | float = 0.0
    ) -> Estimate:
        """Return how often something happened, with the interval of Clopper and Pearson."""
        n, k = len(happened), int(np.count_nonzero(happened))
        p, rest = np.broadcast_to(np.asarray(says, dtype=np.float64), n), happened - says
        # Where probabilities `says` tell rows apart, the interval is shorter, by as much as
        # residuals vary less than what happened does; as if one more event had come.
        variation = 1.0 + max(float(np.square(rest).sum()), float((p * (1.0 - p)).sum()))
        shorter = (
            math.sqrt(min(variation * n / max(k * (n - k), 1), 1.0))
            if np.ndim(says)
            else 1.0
        )
        tail = float(ndtr(-shorter * self.stretch(inside, rest)))
        low, high = share_interval(k, n, 2.0 * tail)
        return k / n, (float(low), float(high))

    def share_of(
        self,
        rows: IntArray,
        came: AnyArray,
        says: AnyArray | float,
        about: Signal,
        *words: str,
    ) -> Finding:
        """Tell in how many rows something came, beside its probability, in each row or in all."""
        varies, (before, after) = np.ndim(says) > 0, words
        share, ends = self.share(rows, came, says if varies else 0.0)
        expected = float(np.mean(says))
        said = f"{before}{rounded(share)} of the rows{after} {between(ends)}"
        said += f", and the model says {rounded(expected)}" if varies else ""
        return Finding(about.kind, about.column, share, ends, expected, said, about.label)

    def ratio(self, inside: AnyArray, happened: AnyArray, expected: FloatArray) -> Estimate:
        """Return the number of events over that expected, with the interval of a Poisson number."""
        count, mean = int(happened.sum()), max(float(expected.sum()), 1e-300)
        tail = float(ndtr(-self.stretch(inside, happened - expected)))
        low = float(gammaincinv(count, tail)) / mean if count else 0.0
        return count / mean, (low, float(gammaincinv(count + 1, 1.0 - tail)) / mean)

    def findings(self, rows: IntArray | None = None) -> tuple[Finding, ...]:
        """Return all numbers of some rows; of the whole sample such that one wild row moves none."""
        some = np.arange(self.looked.n) if rows is None else rows
        return tuple(READERS.get(self.looked.kind, _continuous)(self, some, rows is None))


def student(reach: float, n: int) -> float:
    """Return how many standard errors reach as far where these come from n values, by Student's law."""
    return -float(stdtrit(n - 1, ndtr(-reach))) if n > 1 else math.inf


def between(interval: tuple[float, float], draws: int = 0, side: str = "") -> str:
    """Write an interval behind a number, or a distance "above" or "below"; of draws, that ranks tell."""
    by = f"; by ranks among {draws:,} draws" if draws else ""
    low, high = (-interval[1], -interval[0]) if side == "below" else interval
    if side and low < 0:  # the other end, or both, are on the other side
        ends = (
            f"{rounded(abs(end))} {'above' if end > 0 else 'below'}" for end in interval
        )
        return f"(between {' and '.join(ends)}{by})"
    return f"({rounded(low)} to {rounded(high)}{by})"


def _percent(share: float) -> str:
    if 0.0 < share < 1e-4:
        return "<0.01%"
    return f"{100 * share:.{2 if share < 0.1 else 3}g}%"


def _continuous(reader: Reader, rows: IntArray, whole: bool) -> Iterator[Finding]:
    looked, several = reader.looked, len(reader.looked.y_columns) > 1
    for j, column in enumerate(looked.y_columns):
        z, of = np.asarray(looked.z)[rows, j], f" of {column.name}" if several else ""
        yield from _shift_spread(reader, rows, z, column.name, of, whole)
        if looked.kind != "moments":  # of which no law is known
            yield from _shares(
                reader, rows, z, column.name, of, "99.9%" if whole else "99%"
            )
            if whole and not looked.draws:
                yield from _wild(reader, z, column.name, of)
    if several:
        yield from _correlations(reader, rows)


def _shift_spread(
    reader: Reader,
    rows: IntArray,
    z: FloatArray,
    column: str,
    of: str = "",
    whole: bool = False,
) -> Iterator[Finding]:
    """Mean and standard deviation of residuals; of the whole sample median and middle half."""
    draws, labels = reader.looked.draws, (MEDIAN, MIDDLE) if whole else ("", "")
    if whole:
        lie, than = f"the median of the data{of} lies", "the model's"
        extend, wide = f"the middle half of the data{of} is", "wide as the model's"
        shift, ends = float(np.median(z)), _order_interval(reader, rows, z, 0.5)
    else:
        lie, than = f"the data{of} lie on average", "what the model says"
        extend, wide = f"the data{of} spread", "much as the model says"
        # Of counts, rare ones may not have come.
        shift, ends = reader.mean(
            rows, z, least=1.0 if reader.looked.kind == "counts" else 0.0
        )
    side = "above" if shift > 0 else "below"
    words = f"{lie} {rounded(abs(shift))} {SD} {side} {than} {between(ends, draws, side)}"
    yield Finding("shift", column, shift, ends, 0.0, words, labels[0])
    if len(z) < 2:
        return
    spread, ends = _middle_half(reader, rows, z) if whole else reader.spread(rows, z)
    times = "1.00" if abs(spread - 1.0) < 0.005 else rounded(spread)
    words = f"{extend} {times} times as {wide} {between(ends, draws)}"
    yield Finding("spread", column, spread, ends, 1.0, words, labels[1])


def _middle_half(reader: Reader, rows: IntArray, z: FloatArray) -> Estimate:
    """Return the width of the middle half of residuals over that of N(0, 1)."""
    low, high = (float(q) for q in np.quantile(z, [0.25, 0.75]))
    ends = (_order_interval(reader, rows, z, level) for level in (0.25, 0.75))
    below, above = ((last - first) / 2.0 for first, last in ends)
    # Sample quartiles have the correlation 1/3.
    half = math.sqrt(below**2 + above**2 - below * above * 2.0 / 3.0) / MIDDLE_HALF
    spread = (high - low) / MIDDLE_HALF
    return spread, (max(spread - half, 0.0), spread + half)


def _order_interval(
    reader: Reader, rows: IntArray, z: FloatArray, level: float
) -> tuple[float, float]:
    """Return the order statistics between which a quantile lies, whatever the law of z."""
    n = len(z)
    at = float(np.quantile(z, level))
    stretch = reader.stretch(rows, np.asarray(z <= at, dtype=np.float64))
    half = min(stretch * math.sqrt(n * level * (1.0 - level)), float(n))
    first = max(math.floor(n * level - half) - 1, 0)
    last = min(math.ceil(n * level + half), n - 1)
    ordered = np.partition(z, [first, last])
    return min(float(ordered[first]), at), max(float(ordered[last]), at)


def _shares(
    reader: Reader, rows: IntArray, z: FloatArray, column: str, of: str, outer: str
) -> Iterator[Finding]:
    """How many rows lie inside the central intervals, and beyond them, as far as the law tells."""
    tells = reader.looked.tells
    for label, end in CENTRAL.items():
        level = float(label[:-1]) / 100
        if tells(0.5 - 0.5 * level):
            about, before = (
                Signal("coverage", column, label),
                f"the model's {label} interval{of} holds ",
            )
            yield reader.share_of(rows, np.abs(z) <= end, level, about, before, "")
    if tells(0.05):
        above, below = z > CENTRAL["90%"], z < -CENTRAL["90%"]
        skew, (low, high) = reader.mean(rows, above * 1.0 - below * 1.0)
        if not (above.any() or below.any()):
            low, high = -(reader.reach**2) / len(z), reader.reach**2 / len(z)
        words = (
            f"{_percent(above.mean())} of the rows lie above the model's 95% quantile{of}"
            f" and {_percent(below.mean())} below its 5% quantile"
        )
        yield Finding("skew", column, skew, (max(low, -1.0), min(high, 1.0)), 0.0, words)
    end, expected = BEYOND[outer]
    if tells(0.5 * expected):
        share, ends = reader.share(rows, np.abs(z) > end)
        words = (
            f"{_percent(share)} of the rows lie outside the model's {outer} interval{of}"
        )
        ratio = share / expected
        times = f"{f'{ratio:,.0f}' if ratio >= 10 else f'{ratio:.2g}'} times what it says"
        words += f", {times}" if share else f", and it says {_percent(expected)}"
        yield Finding("tails", column, share, ends, expected, words, outer)


def _wild(reader: Reader, z: FloatArray, column: str, of: str = "") -> Iterator[Finding]:
    """Name the rows that lie further out than all rows together should."""
    far = np.flatnonzero(np.abs(z) > -float(ndtri(0.5 * WILD / len(z))))
    if not len(far):
        return
    worst, count = far[np.argsort(-np.abs(z[far]), kind="stable")[:NAMED]], float(len(far))
    named = ", ".join(
        f"{reader.looked.rows[i]:,} (z = {rounded(float(z[i]))})" for i in worst
    )
    more = f", and {len(far) - len(worst):,} more" if len(far) > len(worst) else ""
    what, rows = (
        ("1 row lies", "row") if len(far) == 1 else (f"{len(far):,} rows lie", "rows")
    )
    further = (
        f"{what} further out{of.replace(' of ', ' in ', 1)} than any of {len(z):,} rows"
        " should"
    )
    yield Finding(
        "wild", column, count, (count, count), 0.0, f"{further}: {rows} {named}{more}"
    )


def _correlations(reader: Reader, rows: IntArray) -> Iterator[Finding]:
    looked, names = reader.looked, [column.name for column in reader.looked.y_columns]
    if looked.together is None:  # columns may go together, and the law does not say how
        return
    for k, (a, b) in enumerate(zip(*column_pairs(len(names)), strict=True)):
        first, second = (np.asarray(looked.z)[rows, j] for j in (a, b))
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


def _classes(reader: Reader, rows: IntArray, _: bool) -> Iterator[Finding]:
    looked, name = reader.looked, reader.looked.y_columns[0].name
    p, codes = (
        normalised(np.asarray(looked.probabilities)[rows]),
        np.asarray(looked.codes)[rows],
    )
    top = np.argmax(p, axis=1)
    about, before = Signal("confidence", name), "the most probable class is right in "
    yield reader.share_of(rows, codes == top, p[np.arange(len(p)), top], about, before, "")
    for k in looked.largest_classes:
        about = Signal("class", name, looked.class_names[k])
        yield reader.share_of(
            rows, codes == k, p[:, k], about, f"class {about.label} came in ", ""
        )


def _counts(reader: Reader, rows: IntArray, whole: bool) -> Iterator[Finding]:
    looked = reader.looked
    name = looked.y_columns[0].name
    if looked.z is not None and looked.surest is not None:
        shift_spread = _shift_spread(reader, rows, looked.z[rows, 0], name)
        yield next(shift_spread)
        if (1.0 - looked.surest[rows]).sum() >= EVENTS:
            yield from shift_spread
    if looked.zeros is not None and looked.has_zeros:
        zero = looked.y[rows, 0] == 0
        yield reader.share_of(
            rows, zero, looked.zeros[rows], Signal("zeros", name), "", " are 0"
        )
    # Of a law without a variance it is all that can be said of a slice.
    if looked.upper is not None and (whole or looked.z is None):
        share, ends = reader.share(rows, looked.upper[rows] < 0.01)
        words = (
            f"{rounded(share)} of the rows {between(ends)} have a count so large that the"
            " model gives it, or a larger one, a probability below 0.01"
        )
        expected = min(share, 0.01)  # steps of counts: at most 0.01
        yield Finding("tails", name, share, ends, expected, words, LARGEST)


def _events(reader: Reader, rows: IntArray, _: bool) -> Iterator[Finding]:
    codes, name = np.asarray(reader.looked.codes)[rows], reader.looked.y_columns[0].name
    for event in reader.looked.some_events:
        about, words = (
            Signal.of(event, name),
            ("", f" lie below the {event.level:g} quantile"),
        )
        if event.kind == "coverage":
            words = f"the model's {about.label} interval holds ", ""
        yield reader.share_of(rows, event.happened(codes), event.level, about, *words)


def _observed(reader: Reader, rows: IntArray, whole: bool) -> Iterator[Finding]:
    """Events observed and expected, of all time and of thirds of the model's distribution."""
    looked, name = reader.looked, reader.looked.y_columns[0].name
    happened, expected = (part[rows] for part in events_of(looked))
    low, high = (f"{cut:g}" for cut in looked.cuts)
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
        yield Finding("events", name, ratio, ends, 1.0, words, label)
    if whole:
        z = np.asarray(looked.scored_y)[:, 0]
        # That a row was censored early says nothing.
        yield from _wild(reader, np.where(np.asarray(looked.event) | (z > 0), z, 0.0), name)


def _scores(reader: Reader, rows: IntArray, _: bool) -> Iterator[Finding]:
    """Of scores alone: by E[s] = 0 and E[s(y − c)] = −1; see `_of_scores` of signals."""
    looked = reader.looked
    scores, scored_y = np.asarray(looked.scores), np.asarray(looked.scored_y)
    for j, column in enumerate(looked.y_columns):
        s, y = scores[rows, j], scored_y[rows, j]
        of = f" of {column.name}" if len(looked.y_columns) > 1 else ""
        size = float(scores[:, j].std()) or 1.0
        shift, ends = reader.mean(rows, -s / size)
        number = (
            f"{rounded(-shift)} of its standard deviation {between((-ends[1], -ends[0]))}"
        )
        words = f"the mean score{of} is {number}, and should be 0"
        yield Finding("shift", column.name, shift, ends, 0.0, words)
        square, ends = reader.mean(rows, -s * (y - float(scored_y[:, j].mean())))
        spread, low, high = (math.sqrt(max(value, 0.0)) for value in (square, *ends))
        number = f"{rounded(spread)} times as much as the scores say {between((low, high))}"
        yield Finding(
            "spread", column.name, spread, (low, high), 1.0, f"the data{of} spread {number}"
        )


#: By what is looked at; others are continuous.
READERS = {
    "classes": _classes,
    "counts": _counts,
    "quantiles": _events,
    "intervals": _events,
    "censored": _observed,
    "scores": _scores,
}

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
    shift, spread = (
        next((f for f in of_column if f.kind == k), None) for k in ("shift", "spread")
    )
    inside = [f for f in of_column if f.kind == "coverage"]
    kind = signal.kind
    if kind == "tails" and spread and spread.telling and inside:
        # The data are wider, or narrower, in the middle as well as far out: no matter of
        # tails.
        wider = spread.estimate > 1.0
        kind = "spread" if all((f.estimate < f.expected) == wider for f in inside) else kind
    if shift and spread and shift.telling and abs(shift.estimate) >= 1.0:
        # The data lie so far off that PITs are 0 or 1, and signals tell nothing else.
        kind = "shift" if distance(shift) > distance(spread) else kind
    fitting = [
        f for leader in LEADERS[kind] for f in of_column if f.kind == leader and f.telling
    ]
    fits = [f for f in fitting if _agrees(f, signal, sign)] if kind == signal.kind else []
    if kind == "tails" and sign < 0:
        # Too few rows in the middle and far out, as of a mode that is missing: whichever
        # says more.
        fits.sort(key=distance, reverse=True)
    if (
        sign > 0
        and signal.kind in ("spread", "tails")
        and shift
        and spread
        and shift.telling
    ):
        # The data lie far out because they are shifted, and spread no more than they
        # should.
        fits = [shift] if spread.estimate < spread.expected else fits
    lead = (fits or fitting or of_column)[0]
    return (lead, *(f for f in ranked if f is not lead))


def _agrees(finding: Finding, signal: Signal, sign: float) -> bool:
    """Whether a finding points the way that the signal does."""
    if finding.kind == "shift" and signal.kind == "skew":
        return True  # data that are shifted and narrow are skewed to the other side
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


TOGETHER = "The dependence between columns of y is wrong"
#: What is wrong, and what the model is where a number is more, or less, than it says; {} is
#: the label.
TOLD = {
    "shift": ("The centre is wrong", "too low", "too high"),
    "spread": ("The spread is wrong", "too narrow", "too wide"),
    "coverage": ("The intervals are wrong", "too wide", "too narrow"),
    "tails": ("The model's tails are wrong", "tails too light", "tails too heavy"),
    "skew": ("The shape is wrong", "more above than below", "more below than above"),
    "correlation": (TOGETHER, "too little correlation", "too much correlation"),
    "confidence": ("The confidence is wrong", "under-confident", "over-confident"),
    "class": (
        "The class probabilities are wrong",
        "class {} too rarely",
        "class {} too often",
    ),
    "zeros": ("The number of zeros is wrong", "too few zeros", "too many zeros"),
    "quantile": ("The quantiles are wrong", "{} quantile too high", "{} quantile too low"),
    "events": ("The hazard is wrong", "hazard too low{}", "hazard too high{}"),
}


def direction(finding: Finding) -> str:
    if finding.kind == "score":
        return finding.label
    _, more, less = TOLD[finding.kind]
    label = (
        f" in the {finding.label}"
        if finding.kind == "events" and finding.label
        else finding.label
    )
    return (more if finding.estimate > finding.expected else less).replace("{}", label)
