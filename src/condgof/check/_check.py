"""The front door: does the model fit, and if not how, where and how much?"""

from __future__ import annotations

import importlib
import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from condgof._typing import TableLike
from condgof.check._findings import REACH, Reader, led
from condgof.check._looked import MOST_CLASSES, look, signals_of
from condgof.check._record import Check, Effect, Finding, Power, Slice
from condgof.check._repair import Base, gained
from condgof.check._scan import LEAST, LEAST_ROWS, Scan, Space, named_slices, read_sets
from condgof.check._size import (
    Bench,
    check_allowed,
    power_of,
    thinned,
    tolerance_of,
    units_of,
)
from condgof.check._text import message
from condgof.engine import single_threaded_blas, stages
from condgof.methods._adaptive import censored_model, run_adaptive
from condgof.methods._options import Options, prepare
from condgof.methods._scored import Units
from condgof.result import GofResult, check_alpha
from condgof.sample import RngLike, Seed
from condgof.stein._matrix import DEFAULT_MEMORY

#: At most so many slices are named; whose versions a report tells.
MOST, USED = 6, ("condgof", "numpy", "scipy")
#: What a check does, in this order: shown while it takes long.
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
      hold together 95% of the time. One wild row does not move them, and is named.
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
        The level of the verdict, of the slices and of the tolerance.
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
    options = Options.of(
        solver, "auto", n_boot, None, dependence, groups, missing, engine, memory
    )
    seed = Seed.of(rng)
    # Work is spread over the engine's threads; BLAS's own would wait for each other beside
    # them.
    with single_threaded_blas(), stages(*STAGES) as begin:
        begin("reading")
        units = Units(scale_x, standardize, predictions=True)
        watched = censored_model(model, x, y, event, entry)
        law_or_model, scored = prepare(watched, x, y, units, options, seed)
        options = options.for_rows(scored, x)
        looked, law, rows = look(law_or_model, scored, seed, options.engine)
        sets = read_sets(by, slices, looked, scored.n + scored.subsample.sample.left_out)
        depend = (
            options.rows
            if looked.all_rows
            else thinned(options.rows, looked.rows, scored.n)
        )
        parcels = units_of(depend, looked.n)
        signals = signals_of(looked, law, rows, seed)
        begin("slices")
        space, scan = Space.of(looked.axes, signals, seed), None
        if space is not None:
            scan = Scan.of(space, signals, depend, options.n_boot, seed, options.engine)
        begin("verdict")
        result, design = run_adaptive(
            scored, options, seed, None if scan is None else scan.beside
        )
        begin("size")
        bench = Bench.of(law, rows, design, depend, seed, scored.n)
        effect = bench.size.effect(result.pvalue <= alpha)
        begin("power")
        power = power_of(bench, alpha)
        begin("numbers")
        reader = Reader(looked, REACH, parcels)
        tested = named_slices(sets, looked, signals, parcels, alpha) if sets else ()
        about = result, alpha, reader, reader.findings(), scan, bench, effect, power
        return report_of(*about, tested, allowed, Base(model, law, rows, parcels))


def report_of(
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
    """Put a report together: slices are named and described only if the verdict rejects."""
    slices, everywhere, rejected, looked = (
        list[Slice](),
        None,
        result.pvalue <= alpha,
        reader.looked,
    )
    if rejected and scan is not None:
        threshold = scan.threshold(alpha)
        for best, p in scan.slices(alpha, MOST):
            # After slices, what all rows have in common is what is left: of the other rows,
            # as long as these can be said with two conditions.
            others, inside = (
                slices if best.everywhere else [],
                scan.space.inside(best.where),
            )
            for one in others:
                inside &= ~np.isin(looked.rows, one.rows)
            if inside.sum() < LEAST or sum(len(one.conditions) for one in others) > 2:
                continue
            inside = np.flatnonzero(inside)
            wide = replace(reader, reach=max(threshold + best.penalty, REACH))
            findings = led(wide.findings(inside), scan.signals.about[best.signal], best.z)
            if not findings[
                0
            ].telling:  # it stands out, but nothing that can be said of it is certain
                continue
            if others or not best.everywhere:
                slices.append(
                    scan.told(best, p, looked.rows[inside], findings, tuple(others))
                )
            else:
                everywhere = everywhere or findings[0]
    report = Check(
        result=result,
        words="",
        overall=overall,
        slices=tuple(slices),
        groups=groups,
        effect=effect,
        power=power,
        tolerance=None if allowed is None else tolerance_of(bench, effect, allowed, alpha),
        alpha=alpha,
        looked=looked,
        details={
            "searched": {"slices": 0} if scan is None else scan.details,
            "versions": (
                {name: importlib.import_module(name).__version__ for name in USED}
                | {"python": platform.python_version()}
            ),
            "notes": (
                *result.details.get("notes", ()),
                *bench.notes,
                *_notes(reader, scan, base),
            ),
        },
        base=base,
    )
    return replace(report, words=message(report, everywhere))


def _notes(reader: Reader, scan: Scan | None, base: Base | None) -> Iterator[str]:
    """Say which rows were looked at, and what the numbers leave out."""
    looked = reader.looked
    if not looked.all_rows:
        some = f"{looked.n:,} of the {looked.whole:,} rows"
        yield f"everything but the verdict is of {some}, drawn at random"
    if scan is None:
        few = f"{looked.n} rows are too few to search for slices (that takes {LEAST_ROWS})"
        yield few if looked.n < LEAST_ROWS else "no column of x can be cut into slices"
    else:
        if (count := len(scan.space.searched)) < looked.n:
            yield (
                f"slices were searched in {count:,} of the rows, drawn at random, and "
                "their p-values come from these; their numbers are of all their rows"
            )
        if len(looked.class_names) > MOST_CLASSES:
            some = (
                f"of {len(looked.class_names)} classes the {MOST_CLASSES} most probable"
                " ones"
            )
            yield f"{some} were looked at by themselves in the search for slices"
        if "signs" in scan.null:
            yield f"p-values of slices are corrected for the search by random {scan.null}"
        if base is not None and not base.law.of_x:
            yield (
                "slices by what the model predicts were not searched: draws, and fits to"
                " other rows of the same sample, are no function of x alone"
            )
    if base is not None:
        yield from gained(base)
