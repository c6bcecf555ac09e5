"""The front door: does the model fit, and if not how, where and how much?"""

from __future__ import annotations

import importlib
import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import IntArray, TableLike
from condgof.check._findings import Reader, led
from condgof.check._look import select_rows
from condgof.check._record import Check, Effect, Finding, Power, Slice
from condgof.check._repair import Base, gained
from condgof.check._scan import (
    LEAST,
    LEAST_ROWS,
    WHOLE_SAMPLES,
    Scan,
    Space,
    named_slices,
    read_sets,
)
from condgof.check._size import (
    Bench,
    check_allowed,
    power_of,
    thinned,
    tolerance_of,
    units_of,
)
from condgof.check._text import message
from condgof.check.kinds import CheckedRows, Signals
from condgof.engine import single_threaded_blas, stages
from condgof.methods import Options, censored_model, prepare, run_adaptive
from condgof.null import Dependence, check_resolution
from condgof.result import GofResult, check_alpha
from condgof.sample import CONTENT_SEED, RngLike, Seed
from condgof.stein import DEFAULT_MEMORY, Units

#: At most this many slices are named: the report is to be read, and each further slice is
#: less certain than those before it.
MOST_SLICES = 6
#: Most conditions that name a slice, such as "30 ≤ age ≤ 47" and "married = 1". The rows
#: outside of other slices are named by the conditions of these, and left out if there are
#: more.
MOST_CONDITIONS = 2
#: Packages whose versions a report states.
VERSIONS_OF = ("condgof", "numpy", "scipy")
#: The stages of a check in their order, as the line of progress names them: reading the
#: data, searching for slices, the test, the effect size, the minimum detectable effect, and
#: the numbers of all rows and of groups.
STAGES = ("reading", "slices", "verdict", "size", "power", "numbers")


def check(
    model: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    event: TableLike | None = None,
    entry: TableLike | None = None,
    by: object = None,
    slices: Sequence[Any] = (),
    groups: TableLike | None = None,
    dependence: object = None,
    tolerance: float | None = None,
    alpha: float = 0.05,
    standardize: str = "auto",
    scale_x: str = "ranks",
    solver: str = "auto",
    n_boot: int = 1000,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: object = None,
    memory: int = DEFAULT_MEMORY,
) -> Check:
    """Check a conditional density model: does it fit, and if not how, where and how much?

    - The *verdict* is that of `adaptive`, with one more family of statistics: the largest
      of all slices.
    - *How*, of all rows: the median, the middle half, how often the model's intervals hold
      y, how much lies far out; of classes, confidence against accuracy; with intervals that
      hold together 95% of the time, and that hold what the model predicts unless the
      verdict rejects. One wild row does not move them, and is named.
    - *Where*: slices, an interval or a level of a column of x or of what the model
      predicts, or two such conditions. All intervals between 20 quantiles of a column and
      rectangles of two columns, of at least 25 rows and 2% of them, are compared by ``max_k
      |Σ ψ_k(y)|/sd − √(2 log(n/|S|))``, with functions ψ_k of mean 0 under the model
      (shift, spread, skew and tails of the PIT; of classes and counts what happened less
      its probability), and the largest with that of y drawn anew, or else of random signs;
      then it is taken off and the search goes on. Slices are named only if the verdict
      rejects; their intervals hold for all slices that were searched at once.
    - *How much*: the constant misfit that has the discrepancy of the data, such as a shift
      in model standard deviations; it does not grow with n. *Power*: the one that is found
      with probability 0.8.

    Do not use it when parameters of the model were fitted on this same sample (see
    `composite`). Rows that depend on each other need ``dependence=`` or ``groups=``.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays:
        of these all but the verdict comes from 20,000 rows that are drawn at random.
    event, entry : array_like of shape (n,), optional
        Censoring, as in `adaptive`. Slices are then told by events observed against events
        expected, Σ Λ(y) − Λ(entry) with Λ = −log P(Y > y|x), and the effect is the relative
        error of the hazard.
    by : str or array_like of shape (n,), optional
        A column of x, or one label a row: each group is tested and described as a slice
        that was named beforehand, with Holm's correction. Rows that depend on each other
        are ``groups=``.
    slices : sequence
        Slices that you name beforehand, tested like groups: each a query of the columns of
        x and of predictions in ``frame()``, such as ``"30 <= age <= 47"``, or a mask of n
        rows.
    tolerance : float, optional
        The largest misfit that you allow, in the unit of ``effect``. ``report.tolerance``
        then says "worse than you allow", "good enough" (each wrongly with probability at
        most alpha) or "undecided".
    alpha : float
        The level of the verdict, of the slices and of the tolerance; at least 1/(n_boot +
        1), the smallest p-value.
    standardize, scale_x, solver, n_boot, dependence, groups, missing, rng, engine, memory
        As in `adaptive`.

    Returns
    -------
    Check
        ``print`` it, ``frame()`` and ``slices`` for pandas, ``to_html()`` for a colleague.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 4, 800)
    >>> y = x + np.where(x > 3, 2.0, 1.0) * rng.standard_normal(800)   # too noisy above 3
    >>> report = cg.check((x, np.ones(800)), x, y, rng=1)
    >>> first = report.slices[0]
    >>> z = report.frame().query(first.query)["z"]
    >>> first.kind, first.direction, bool(abs(z.std() - first.findings[0].estimate) < 1e-12)
    ('spread', 'too narrow', True)
    """
    alpha = check_alpha(alpha)
    allowed = None if tolerance is None else check_allowed(tolerance)
    options = Options(
        solver=solver,
        n_boot=n_boot,
        dependence=dependence,
        groups=groups,
        missing=missing,
        engine=engine,
        memory=memory,
    ).checked()
    check_resolution(alpha, options.n_boot)
    seed = Seed.of(rng)
    # Work is spread over the engine's threads; BLAS's own would wait for each other.
    with single_threaded_blas(), stages(*STAGES) as begin:
        begin("reading")
        units = Units(scale_x, standardize, predictions=True)
        model_with_events = censored_model(model, x, y, event, entry)
        prepared = prepare(model_with_events, x, y, units, options, seed)
        rows = prepared.rows
        options = options.for_rows(rows, x)
        checked, law, checked_sample = select_rows(
            prepared.law_or_model, rows, seed, options.engine
        )
        # `by` and masks have a value for every row that the user passed, also for rows
        # that were left out because a value is missing.
        rows_passed = rows.n + rows.subsample.sample.left_out
        sets = read_sets(by, slices, checked, rows_passed)
        depend = options.row_dependence
        if not checked.all_rows:
            depend = thinned(options.row_dependence, checked.rows, rows.n)
        # The number of the unit, of rows that depend on each other, that each row is in.
        parcels = units_of(depend, checked.n)
        signals = checked.all_signals(law, checked_sample, seed)
        begin("slices")
        space = Space.of(checked.axes, signals, checked_sample.sample.content_keys)
        scan = None
        if space is not None:
            scan = Scan.of(space, signals, depend, options.n_boot, seed, options.engine)
        begin("verdict")
        verdict = run_adaptive(
            rows, options, seed, subgroups=None if scan is None else scan.statistic
        )
        begin("size")
        bench = Bench.of(law, checked_sample, verdict.design, depend, CONTENT_SEED, rows.n)
        effect = bench.size.effect(verdict.result.pvalue <= alpha)
        begin("power")
        power = power_of(bench, alpha)
        begin("numbers")
        reader = Reader.of_all_rows(checked, parcels, consecutive=depend.codes is None)
        reader = replace(reader, reach=reader.reach * inflation_of(signals, depend))
        prenamed: tuple[Slice, ...] = ()
        if sets:
            prenamed = named_slices(sets, reader, signals, alpha)
        return assemble_report(
            result=verdict.result,
            alpha=alpha,
            reader=reader,
            overall=reader.findings(),
            scan=scan,
            bench=bench,
            effect=effect,
            power=power,
            groups=prenamed,
            allowed=allowed,
            base=Base(model, law, checked_sample, parcels),
        )


def inflation_of(signals: Signals, dependence: Dependence) -> float:
    """Return how much wider intervals are where rows of y share an error, at least 1."""
    shares_error = dependence.independent and signals.replicated is not None
    if not shares_error or signals.variance is None:
        return 1.0
    assert signals.replicated is not None
    return signals.replicated.inflation(signals.variance)


def assemble_report(
    *,
    result: GofResult,
    alpha: float,
    reader: Reader,
    overall: tuple[Finding, ...],
    scan: Scan | None,
    bench: Bench,
    effect: Effect,
    power: Power,
    groups: tuple[Slice, ...] = (),
    allowed: float | None = None,
    base: Base | None = None,
) -> Check:
    """Put a report together: slices are named only if the verdict rejects.

    Where it does not, the intervals of all rows are made to hold what the model predicts.
    So nothing is said against a right model with a larger probability than `alpha`, except
    for outliers (probability 0.001).

    `overall` are the findings of all rows, `groups` the slices named beforehand, `allowed`
    the misfit that the user tolerates, and `base` what `Check.repair` needs.
    """
    found = FoundSlices((), None)
    rejected = result.pvalue <= alpha
    if rejected and scan is not None:
        found = _describe_found(scan, reader, alpha)
    if not rejected:
        overall = tuple(finding.with_expected() for finding in overall)
    notes = (
        *result.details.get("notes", ()),
        *bench.notes,
        *_notes(reader.checked, scan, base),
    )
    tolerance = None
    if allowed is not None:
        tolerance = tolerance_of(bench, effect, allowed, alpha)
    report = Check(
        result=result,
        words="",
        overall=overall,
        slices=found.slices,
        groups=groups,
        effect=effect,
        power=power,
        tolerance=tolerance,
        alpha=alpha,
        checked=reader.checked,
        details={
            "searched": {"slices": 0} if scan is None else scan.details,
            "versions": _versions(),
            "notes": notes,
        },
        base=base,
    )
    # The message is written last, from all numbers of the report.
    return replace(report, words=message(report, found.everywhere))


def _versions() -> dict[str, str]:
    versions = {name: importlib.import_module(name).__version__ for name in VERSIONS_OF}
    return {**versions, "python": platform.python_version()}


class FoundSlices(NamedTuple):
    """What the search found."""

    slices: tuple[Slice, ...]
    #: The leading finding of all rows, where the search found all rows wrong alike.
    everywhere: Finding | None


def _describe_found(scan: Scan, reader: Reader, alpha: float) -> FoundSlices:
    """Describe the slices that the search found by the findings of their rows.

    The search may find all rows, too ("everywhere"). Found first, these give the finding
    `FoundSlices.everywhere`. Found after slices A and B, they are the rows outside of A and
    B, which are one more slice: "not (A) and not (B)".
    """
    checked = reader.checked
    threshold = scan.threshold(alpha)
    slices: list[Slice] = []
    everywhere: Finding | None = None
    for best, pvalue in scan.slices(alpha, MOST_SLICES):
        excluded = tuple(slices) if best.everywhere else ()
        conditions = sum(len(one.conditions) for one in excluded)
        inside = scan.space.inside(best.where)
        for one in excluded:
            inside &= ~np.isin(checked.rows, one.rows)
        if inside.sum() < LEAST or conditions > MOST_CONDITIONS:
            continue
        positions: IntArray = np.flatnonzero(inside)
        # Intervals reach as far as the search asks for, so that they hold for slices that
        # were searched for; and never less far than those of all rows.
        wide = replace(reader, reach=max(threshold + best.penalty, reader.reach))
        signal = scan.signals.about[best.signal]
        findings = led(wide.findings(positions), signal, best.z)
        if not findings[0].telling:
            # The sum of the signal stands out, and yet no interval excludes what the model
            # predicts.
            continue
        if best.everywhere and not excluded:
            everywhere = everywhere or findings[0]
        else:
            row_numbers = checked.rows[positions]
            slices.append(scan.told(best, pvalue, row_numbers, findings, excluded))
    return FoundSlices(tuple(slices), everywhere)


def _notes(checked: CheckedRows, scan: Scan | None, base: Base | None) -> Iterator[str]:
    """Say which rows were compared, and what the numbers leave out."""
    if not checked.all_rows:
        some = f"{checked.n:,} of the {checked.whole:,} rows"
        yield f"everything but the verdict is of {some}, drawn at random"
    if scan is None:
        if checked.n < LEAST_ROWS:
            yield (
                f"{checked.n} rows are too few to search for slices (that takes"
                f" {LEAST_ROWS})"
            )
        else:
            yield "no column of x can be cut into slices"
    else:
        count = len(scan.space.searched)
        if count < checked.n:
            yield (
                f"slices were searched in {count:,} of the rows, drawn at random, and their"
                " p-values come from these; their numbers are of all their rows"
            )
        yield from checked.search_notes()
        if scan.null == WHOLE_SAMPLES:
            yield (
                "the interval of the effect size and the minimum detectable effect take"
                " rows as independent, which they are not here"
            )
        if "signs" in scan.null:
            yield f"p-values of slices are corrected for the search by random {scan.null}"
        if base is not None and not base.law.of_x:
            yield (
                "slices by what the model predicts were not searched: draws, and fits to"
                " other rows of the same sample, are no function of x alone"
            )
    if base is not None:
        yield from gained(base)
