"""The front door: does the model fit, and if not how, where and how much?"""

from __future__ import annotations

import importlib
import platform
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from condgof._typing import IntArray
from condgof.check._findings import REACH, Reader, led, overall_of
from condgof.check._looked import Looked, look
from condgof.check._named import named_slices, read_sets
from condgof.check._power import power_of
from condgof.check._record import Check, Effect, Finding, Power, Slice
from condgof.check._repair import Base
from condgof.check._scan import LEAST, Scan, Space
from condgof.check._signals import MOST_CLASSES, Signals, signals_of
from condgof.check._size import Bench, check_allowed, tolerance_of
from condgof.check._text import message
from condgof.engine import single_threaded_blas, stages
from condgof.methods._adaptive import Beside, run_adaptive
from condgof.methods._options import Options, censored_model, prepare
from condgof.methods._scored import Units
from condgof.null._bootstrap import Dependence
from condgof.null._combine import Family
from condgof.result import GofResult, check_alpha
from condgof.sample import RngLike, Seed
from condgof.stein._matrix import DEFAULT_MEMORY

#: How much the search counts among the families of the verdict; at most so many slices are named.
SHARE, MOST = 0.12, 6
#: Fewer rows are not searched; rows that depend on each other are summed up in at most so many parcels.
LEAST_ROWS, PARCELS = 50, 512
#: What a check does, in this order: shown while it takes long.
STAGES = ("reading", "slices", "verdict", "size", "power", "numbers")


def check(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    event: Any = None,
    entry: Any = None,
    by: Any = None,
    slices: Sequence[Any] = (),
    groups: Any = None,
    dependence: Any = None,
    tolerance: float | None = None,
    alpha: float = 0.05,
    standardize: str = "auto",
    scale_x: str = "ranks",
    solver: str = "auto",
    n_boot: int = 1000,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> Check:
    """Check a conditional density model: does it fit, and if not how, where and how much?

    - The *verdict* is that of `adaptive`, with one more family of statistics: the largest of all slices.
    - *How*, of all rows: where the median lies, how wide the middle half is, how often the model's
      intervals hold y, how much lies far out; of classes, confidence against accuracy; with intervals
      that hold together 95% of the time. One wild row does not move them, and is named.
    - *Where*: slices of x, and of what the model predicts: an interval of a column or a level, or two
      such conditions. All intervals between 20 quantiles of a column, and all rectangles of a pair of
      columns, of at least 25 rows and 2% of them, are compared by
      ``max_k |Σ ψ_k(y)|/sd − √(2 log(n/|S|))``, with functions ψ_k of mean 0 under the model (shift,
      spread, skew and tails of the PIT; of classes and counts what happened less its probability), and
      the largest with that of y drawn anew, or where that cannot be done of random signs; then it is
      taken off and the search goes on. Slices are named only if the verdict rejects, of a true model
      with probability at most alpha; their intervals hold for all slices that were searched at once.
    - *How much*: the constant misfit that has the discrepancy of the data, such as a shift in model
      standard deviations. It does not grow with n.
    - *Power*: the constant misfit, in the same unit, that is found with probability 0.8.

    Do not use it when parameters of the model were fitted on this same sample. Rows that depend on each
    other need ``dependence=`` or ``groups=``.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays. Of more rows
        than fit into memory, all but the verdict come from 20,000 that are drawn at random.
    event, entry : array_like of shape (n,), optional
        Censoring, as in `adaptive`. Slices are then told by events observed against events expected,
        Σ Λ(y) − Λ(entry) with Λ = −log P(Y > y|x), and the effect is the relative error of the hazard.
    by : str or array_like of shape (n,), optional
        A column of x, or one label a row: each group is tested and described as a slice that was named
        beforehand, with Holm's correction for their number, whatever it is. Rows with a group each,
        not rows that depend on each other: those are ``groups=``.
    slices : sequence
        Slices that you name beforehand, tested like groups: each a query of the columns of x and of
        predictions in ``frame()``, a mask of n rows, or a dict such as ``{"age": (30, 47)}``.
    tolerance : float, optional
        The largest misfit that you allow, in the unit of ``effect``: with many rows every model is
        wrong. ``report.tolerance`` then says "worse than you allow", "good enough" or "undecided", each
        of the first two wrongly with probability at most alpha.
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
    >>> first.kind, first.direction
    ('spread', 'too narrow')
    >>> z = report.frame().query(first.query)["z"]
    >>> bool(abs(z.std() - first.findings[0].estimate) < 1e-12)
    True
    """
    alpha = check_alpha(alpha)
    allowed = None if tolerance is None else check_allowed(tolerance)
    options = Options.of(solver, "auto", n_boot, None, dependence, groups, missing, engine, memory)
    seed = Seed.of(rng)
    # Work is spread over the engine's threads; BLAS's own would wait for each other beside them.
    with single_threaded_blas(), stages(*STAGES) as begin:
        begin("reading")
        units = Units(scale_x, standardize, predictions=True)
        watched = censored_model(model, x, y, event, entry)
        law_or_model, scored = prepare(watched, x, y, units, options, seed)
        options = options.for_rows(scored, x)
        looked, law, rows = look(law_or_model, scored, seed, options.engine)
        sets = read_sets(by, slices, looked, scored.n + scored.subsample.sample.left_out)
        depend = options.rows if looked.all_rows else options.rows.take(looked.rows)
        parcels = None
        if not depend.independent:
            parcels = np.asarray(depend.parcels(looked.n, PARCELS).of(0, looked.n), dtype=np.int64)
        signals = signals_of(looked, law, rows, seed)
        begin("slices")
        began, space, scan = time.perf_counter(), space_of(looked, signals, seed), None
        if space is not None:
            scan = Scan.of(space, signals, depend, options.n_boot, seed, options.engine)
        seconds = time.perf_counter() - began
        begin("verdict")
        adapted = run_adaptive(scored, options, seed, beside=beside_of(scan))
        begin("size")
        bench = Bench.of(law_or_model, scored, adapted.design, options.rows, seed, options.engine)
        effect = bench.size.effect(adapted.result.pvalue <= alpha)
        begin("power")
        power = power_of(adapted, bench, alpha)
        begin("numbers")
        overall = overall_of(Reader(looked, REACH, parcels))
        named = named_slices(sets, looked, signals, parcels, alpha) if sets else ()
        report = report_of(
            adapted.result, alpha, looked, signals, scan, seconds, parcels, overall, named, effect, power
        )
        notes = (*report.notes, *bench.notes, *notes_of(looked, scan, depend))
        return replace(
            report,
            tolerance=None if allowed is None else tolerance_of(bench, effect, allowed, alpha),
            details={**report.details, "notes": notes},
            base=Base(model, law, rows, parcels),
        )


def report_of(
    result: GofResult,
    alpha: float,
    looked: Looked,
    signals: Signals,
    scan: Scan | None,
    seconds: float,
    units: IntArray | None,
    overall: tuple[Finding, ...],
    groups: tuple[Slice, ...],
    effect: Effect,
    power: Power,
) -> Check:
    """Put a report together: slices are named and described only if the verdict rejects."""
    slices, everywhere, rejected = list[Slice](), None, result.pvalue <= alpha
    searched = {} if scan is None else {**scan.details, "seconds": round(seconds, 3)}
    if rejected and scan is not None:
        threshold = scan.threshold(alpha)
        for best, p in scan.slices(alpha, MOST):
            # After slices, what all rows have in common is what is left: of the other rows, as long as
            # these can be said with two conditions.
            others = slices if best.everywhere else []
            if sum(len(one.conditions) for one in others) > 2:
                continue
            inside = np.flatnonzero(scan.space.inside(best.where))
            for one in others:
                inside = inside[~np.isin(looked.rows[inside], one.rows)]
            if len(inside) < LEAST:
                continue
            reader = Reader(looked, max(threshold + best.penalty, REACH), units)
            findings = led(reader.findings(inside), signals.about[best.signal], best.z)
            if not findings[0].telling:  # it stands out, but nothing that can be said of it is certain
                continue
            if others or not best.everywhere:
                slices.append(scan.told(best, p, looked.rows[inside], findings, tuple(others)))
            else:
                everywhere = everywhere or findings[0]
    wrong = [group for group in groups if group.pvalue <= alpha]
    return Check(
        result=result,
        words=message(
            rejected, overall, slices, everywhere, power, wrong, len(groups), looked, bool(searched)
        ),
        overall=overall,
        slices=tuple(slices),
        groups=groups,
        effect=effect,
        power=power,
        tolerance=None,
        alpha=alpha,
        looked=looked,
        details={
            "searched": searched or {"slices": 0},
            "versions": {
                "condgof": importlib.import_module("condgof").__version__,
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "python": platform.python_version(),
            },
            "notes": result.details.get("notes", ()),
        },
    )


def space_of(looked: Looked, signals: Signals, seed: Seed) -> Space | None:
    """Return what is to be searched, where there are rows and columns for it."""
    if looked.n < LEAST_ROWS or not looked.axes:
        return None
    known = signals.unit or signals.variance is not None
    return Space.of(looked.axes, seed, signals.first, len(signals.about), looked.n, known)


def beside_of(scan: Scan | None) -> Beside | None:
    """Return the search as one more family of the verdict."""
    if scan is None:
        return None
    return Beside(Family("slices", SHARE, np.array([0])), scan.best.value, scan.draws)


def notes_of(looked: Looked, scan: Scan | None, depend: Dependence) -> tuple[str, ...]:
    """Say which rows were looked at, and what the numbers leave out."""
    notes: list[str] = []
    if not looked.all_rows:
        some = f"{looked.n:,} of the {looked.whole:,} rows"
        notes.append(f"everything but the verdict is of {some}, drawn at random")
    if scan is None:
        few = f"{looked.n} rows are too few to search for slices (that takes {LEAST_ROWS})"
        notes.append(few if looked.n < LEAST_ROWS else "no column of x can be cut into slices")
    elif scan.space.searched is not None:
        notes.append(
            f"slices were searched in {len(scan.space.searched):,} of the rows, drawn at random, and "
            "their p-values come from these; their numbers are of all their rows"
        )
    if scan is not None and len(looked.class_names) > MOST_CLASSES:
        some = f"of {len(looked.class_names)} classes the {MOST_CLASSES} most probable ones"
        notes.append(f"{some} were looked at by themselves in the search for slices")
    if scan is not None and "signs" in scan.null:
        notes.append(f"p-values of slices are corrected for the search by random {scan.null}")
    if not depend.independent:
        notes.append(
            "the smallest misfit that would have been found is worked out as if rows were independent, "
            "and so is somewhat too small"
        )
    return tuple(notes)
