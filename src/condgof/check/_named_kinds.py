"""Which tests the rows of each kind of y have where they are named beforehand.

Registered by the class of the rows. An empty list says that no exact test is known, and
sums of signals are tested instead (`condgof.check._named_signals`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray
from condgof.check._findings import CENTRAL, HALF_WIDTH_90, OUTSIDE_99, Reader
from condgof.check._named_counts import count_totals
from condgof.check._named_tests import (
    MEAN_WEIGHT,
    SPREAD_WEIGHT,
    CorrelationTest,
    MeanTest,
    NamedTest,
    RatioTest,
    Scores,
    ShareTest,
    SkewTest,
    SpreadTest,
    poisson_events,
)
from condgof.check._quantities import Quantity, Signal, register_quantity
from condgof.check._record import Finding
from condgof.check._tails import RowSets
from condgof.check._words import SET_BY_FIT, amount, register_sentence
from condgof.check.kinds import (
    PERIOD_LABELS,
    CensoredRows,
    CheckedRows,
    CircularRows,
    CircularScoreRows,
    ClassRows,
    ContinuousRows,
    CountRows,
    MarginalRows,
    MomentRows,
    RankRows,
    ScoreRows,
    SeveralRows,
    StatementRows,
)
from condgof.laws import Law, normalised
from condgof.result import rounded

#: The share of the level of correlations of all pairs of columns of y.
CORRELATION_WEIGHT = 0.1
#: The share of classes, all together; the rest is for the confidence. A smaller share costs
#: more power than with normal scores: numbers of events go in steps.
CLASSES_WEIGHT = 0.95
#: The share of events in all time; the rest is for its thirds.
EVENTS_WEIGHT = 0.94
#: The share of the total of counts.
TOTAL_WEIGHT = 0.91
#: The share of zeros beside it.
ZEROS_WEIGHT = 0.03
#: The probability on either side of the central 90% interval, by which skew is measured.
HALF_WIDTH_90_TAIL = 0.05
#: A third of the time in which fewer events are expected, and none came, is not reported.
LEAST_EXPECTED_EVENTS = 1.0


@singledispatch
def named_tests(
    checked: CheckedRows, sets: RowSets, law: Law, reader: Reader
) -> list[NamedTest]:
    """Return the tests of all numbers of S sets; their weights add up to 1."""
    raise NotImplementedError(f"named rows have no tests for {type(checked).__name__}")


@named_tests.register(CircularRows)
@named_tests.register(CircularScoreRows)
@named_tests.register(MarginalRows)
@named_tests.register(MomentRows)
@named_tests.register(RankRows)
@named_tests.register(ScoreRows)
def _(checked: CheckedRows, sets: RowSets, law: Law, reader: Reader) -> list[NamedTest]:
    return []


class StatedShare(NamedTuple):
    """What happened in rows of all sets, and its probability."""

    about: Signal
    happened: AnyArray  #: Booleans, (M,).
    probability: float


def _score_tests(
    scores: Scores,
    reader: Reader,
    resolves: Callable[[float], bool],
    *,
    total_weight: float = 1.0,
) -> list[NamedTest]:
    """Return the tests of normal scores of one column, with weights of a given sum.

    The mean leads, then the spread; skew, coverages and tails have equal shares of what is
    left. `resolves` says whether the law can tell a tail of some probability.
    """
    size = np.abs(scores.observed)
    shares = []
    for label, half_width in CENTRAL.items():
        level = float(label[:-1]) / 100
        if resolves(0.5 - 0.5 * level):
            about = Signal("coverage", scores.column, label)
            shares.append(StatedShare(about, size <= half_width, level))
    if resolves(0.5 * OUTSIDE_99.outside):
        about = Signal("tails", scores.column, OUTSIDE_99.label)
        shares.append(StatedShare(about, size > OUTSIDE_99.half_width, OUTSIDE_99.outside))
    has_skew = resolves(HALF_WIDTH_90_TAIL)
    others = len(shares) + has_skew
    mean_weight = total_weight * MEAN_WEIGHT
    spread_weight = total_weight * SPREAD_WEIGHT
    if not others:
        spread_weight = total_weight - mean_weight
    other_weight = (total_weight - mean_weight - spread_weight) / max(others, 1)
    tests: list[NamedTest] = [
        MeanTest(scores=scores, weight=mean_weight),
        SpreadTest(scores=scores, weight=spread_weight, reader=reader),
    ]
    if has_skew:
        tests.append(SkewTest.from_scores(scores, other_weight, HALF_WIDTH_90))
    for share in shares:
        test = ShareTest.from_events(
            share.about,
            other_weight,
            scores.sets,
            share.happened,
            share.probability,
            several=scores.several,
        )
        tests.append(test)
    return tests


@named_tests.register
def _(checked: ContinuousRows, sets: RowSets, law: Law, reader: Reader) -> list[NamedTest]:
    scores = Scores.from_rows(sets, checked.z[:, 0], checked.y_name, draws=checked.draws)
    return _score_tests(scores, reader, checked.resolves)


@named_tests.register
def _(checked: SeveralRows, sets: RowSets, law: Law, reader: Reader) -> list[NamedTest]:
    names = [column.name for column in checked.y_columns]
    columns = [
        Scores.from_rows(sets, z, name, several=True, draws=checked.draws)
        for z, name in zip(checked.z.T, names, strict=True)
    ]
    column_weight = (1.0 - CORRELATION_WEIGHT) / len(columns)
    tests: list[NamedTest] = []
    for scores in columns:
        tests += _score_tests(scores, reader, checked.resolves, total_weight=column_weight)
    pairs = list(zip(*checked.pairs, strict=True))
    for a, b in pairs:
        test = CorrelationTest(
            column=f"{names[a]} and {names[b]}",
            weight=CORRELATION_WEIGHT / len(pairs),
            first=columns[a],
            second=columns[b],
        )
        tests.append(test)
    return tests


@named_tests.register
def _(checked: ClassRows, sets: RowSets, law: Law, reader: Reader) -> list[NamedTest]:
    """Each class, and whether the most probable one came."""
    p = normalised(checked.probabilities[sets.rows])
    codes = checked.codes[sets.rows]
    top = np.argmax(p, axis=1)
    confidence = p[np.arange(len(p)), top]
    tests: list[NamedTest] = []
    for k in checked.largest_classes:
        about = Signal("class", checked.y_name, checked.class_names[k])
        weight = CLASSES_WEIGHT / len(checked.largest_classes)
        tests.append(ShareTest.from_events(about, weight, sets, codes == k, p[:, k]))
    about = Signal("confidence", checked.y_name)
    weight = 1.0 - CLASSES_WEIGHT
    tests.append(ShareTest.from_events(about, weight, sets, codes == top, confidence))
    return tests


@named_tests.register
def _(checked: StatementRows, sets: RowSets, law: Law, reader: Reader) -> list[NamedTest]:
    """Each quantile or interval, all alike."""
    codes = checked.codes[sets.rows]
    weight = 1.0 / len(checked.some_statements)
    return [
        ShareTest.from_events(
            checked.about(one), weight, sets, one.happened(codes), one.level
        )
        for one in checked.some_statements
    ]


@named_tests.register
def _(checked: CensoredRows, sets: RowSets, law: Law, reader: Reader) -> list[NamedTest]:
    """Events in all time, which lead, and in each third of it."""
    events = checked.events()
    places = checked.places
    tests: list[NamedTest] = []
    for k, label in enumerate(PERIOD_LABELS):
        observed = sets.sums(events.observed[sets.rows, k])
        expected = sets.sums(events.expected[sets.rows, k])
        thirds = len(PERIOD_LABELS) - 1
        tests.append(
            RatioTest(
                weight=(1.0 - EVENTS_WEIGHT) / thirds if label else EVENTS_WEIGHT,
                observed=observed,
                expected=expected,
                sums=poisson_events(observed, expected, sets.sizes),
                template=Finding(
                    kind="events",
                    column=checked.y_name,
                    estimate=0.0,
                    interval=(0.0, 0.0),
                    expected=1.0,
                    label=label,
                    quantity="events",
                    numbers={"place": places[k]},
                ),
                # A third without events, where hardly any is expected, is not reported.
                least_expected=LEAST_EXPECTED_EVENTS if label else 0.0,
            )
        )
    return tests


@named_tests.register
def _(checked: CountRows, sets: RowSets, law: Law, reader: Reader) -> list[NamedTest]:
    """The total leads, then spread and zeros.

    Where the law has no mean or no CDF, the mean of normal scores leads.
    """
    scores = Scores.from_rows(sets, checked.z[:, 0], checked.y_name)
    zeros = checked.zeros if checked.has_zeros else None
    zeros_weight = 0.0 if zeros is None else ZEROS_WEIGHT
    tests: list[NamedTest] = []
    if checked.residual is not None and law.can("cdf"):
        totals = count_totals(checked, sets, law)
        template = Finding(
            kind="mean",
            column=checked.y_name,
            estimate=1.0,
            interval=(1.0, 1.0),
            expected=1.0,
            quantity="mean count",
        )
        tests.append(RatioTest(TOTAL_WEIGHT, *totals, template=template))
    else:
        tests.append(MeanTest(scores=scores, weight=TOTAL_WEIGHT))
    spread_weight = 1.0 - TOTAL_WEIGHT - zeros_weight
    tests.append(SpreadTest(scores=scores, weight=spread_weight, reader=reader))
    if zeros is not None:
        is_zero = checked.y[sets.rows, 0] == 0
        about = Signal("zeros", checked.y_name)
        tests.append(
            ShareTest.from_events(about, zeros_weight, sets, is_zero, zeros[sets.rows])
        )
    return tests


def _total_words(finding: Finding) -> str:
    low, high = finding.interval
    ends = f"{rounded(low)} to {rounded(high)}"
    if finding.set_by_fit:
        ends = SET_BY_FIT.strip("()")
    count = finding.numbers["count"]
    mean = finding.numbers["mean"]
    counted = f"{count:,}" if isinstance(count, int) else amount(count)
    return (
        f"{counted} counted, {amount(mean)} predicted (ratio"
        f" {rounded(finding.estimate)}, {ends})"
    )


def _total_brief(finding: Finding) -> str:
    return f"{rounded(finding.estimate)} times as many as predicted"


register_quantity(
    "mean",
    Quantity(
        subject="The mean is wrong",
        if_larger="too low",
        if_smaller="too high",
        name="total",
        unit="times what the model predicts",
        is_ratio=True,
    ),
)
register_sentence("mean count", _total_words, _total_brief)
