"""Groups of ``by=`` and ``slices=``: tested, described, and put in order.

They are not searched for, so that each set of rows has tests of its own, and Holm's
correction is for the number of sets alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from condgof.check._findings import Reader, severity
from condgof.check._named_kinds import named_tests
from condgof.check._named_rows import NamedRows
from condgof.check._named_signals import SetsBySignals
from condgof.check._named_tests import LEAST_PVALUE, SetDecisions
from condgof.check._record import Slice
from condgof.check._tails import RowSets
from condgof.check._words import direction_of
from condgof.check.kinds import Signals
from condgof.laws import Law


def named_slices(
    sets: Sequence[NamedRows], reader: Reader, signals: Signals, law: Law, alpha: float
) -> tuple[Slice, ...]:
    """Test rows that have a name each; the smallest p-values first.

    `reader` is that of all rows, `signals` and `law` are theirs. Rows that depend on each
    other, that share an error, or that have weights, have no exact tests.
    """
    checked = reader.checked
    rows = [one.rows for one in sets]
    row_sets = RowSets.from_rows(rows)
    tests = []
    has_weights = checked.weights is not None
    if reader.units is None and signals.replicated is None and not has_weights:
        tests = named_tests(checked, row_sets, law, reader)
    if tests:
        tested = SetDecisions.from_tests(tests, alpha)
        pvalues = tested.pvalues
        findings = tested.findings()
    else:
        by_signals = SetsBySignals.from_signals(rows, reader, signals, alpha)
        pvalues = by_signals.pvalues
        findings = by_signals.findings
    slices = []
    for one, p, found in zip(sets, pvalues, findings, strict=True):
        named = Slice(
            conditions=one.conditions,
            words=one.words,
            query=one.query,
            rows=checked.rows[one.rows],
            share=len(one.rows) / checked.n,
            pvalue=float(p),
            pvalue_floor=LEAST_PVALUE * len(sets),
            findings=found,
            severity=severity(found[0]),
            direction=direction_of(found[0]) if p <= alpha else "no evidence",
        )
        slices.append(named)
    return tuple(sorted(slices, key=lambda one: one.pvalue))


def level_notes(groups: Sequence[Slice], alpha: float) -> Iterator[str]:
    """Say at which level groups were tested."""
    if groups:
        what = (
            "the rows that you named have"
            if len(groups) == 1
            else (f"the {len(groups):,} groups that you named have, all together,")
        )
        yield (
            f"{what} a level of {alpha:g} of their own, beside that of the verdict; each"
            " interval is that of the group's test, corrected for their number"
        )
