"""The front door: does the model fit, and if not how, where and how much?"""

from __future__ import annotations

import importlib
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from condgof._typing import IntArray
from condgof.check._bench import Bench
from condgof.check._findings import Reader, led
from condgof.check._groups import named_slices
from condgof.check._looked import Looked, look
from condgof.check._named import read_by, read_named
from condgof.check._overall import REACH, overall_of
from condgof.check._power import power_of
from condgof.check._record import Check, Finding, Slice, check_alpha
from condgof.check._repair import Base
from condgof.check._scan import Scan, Space
from condgof.check._signals import Signals, signals_of
from condgof.check._size import check_allowed, size_of, tolerance_of
from condgof.check._words import message
from condgof.engine import single_threaded_blas, stages
from condgof.errors import InputError
from condgof.laws import ModelLike
from condgof.methods._adaptive import Beside, run_adaptive
from condgof.methods._options import Options, censored_model, prepare_with_model
from condgof.methods._rows import Scored, Stream, Units
from condgof.null import Dependence, Family
from condgof.sample import RngLike, Seed
from condgof.stein import DEFAULT_MEMORY

#: How much the search counts among the families of the verdict.
SHARE = 0.12
#: At most so many slices are named.
MOST = 6
#: Fewer rows than this are not searched.
LEAST_ROWS = 50
#: Rows that depend on each other are summed up in at most so many parcels.
PARCELS = 512
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
    tolerance: float | None = None,
    alpha: float = 0.05,
    standardize: str = "auto",
    scale_x: str = "ranks",
    solver: str = "auto",
    n_boot: int = 1000,
    dependence: Any = None,
    groups: Any = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> Check:
    """Check a conditional density model: does it fit, and if not how, where and how much?

    - The *verdict* is that of `adaptive` on all rows, with one more family of statistics: the largest
      of all slices.
    - *How*, of all rows: where the median lies, how wide the middle half is, how often the model's
      intervals hold y, how much lies far out; of classes, confidence against accuracy; with intervals
      that hold together 95% of the time. One wild row does not move them, and is named.
    - *Where*: slices of x, and of what the model predicts. A slice is an interval of a column or a
      level, or two such conditions. All intervals between 20 quantiles of a column, and all rectangles
      of a pair of columns, that have at least 25 rows and 2% of them, are compared by
      max_k |Σ ψ_k(y)|/sd − √(2 log(n/|S|)), with functions ψ_k of mean 0 under the model (shift,
      spread, skew and tails of the PIT; of classes and counts what happened less its probability). The
      largest is compared with that of y drawn anew from the model, or where that cannot be done of
      random signs; then it is taken off and the search goes on. Slices are named only if the verdict
      rejects: for a true model the probability that any is named is at most alpha. Numbers of a slice
      are of exactly its rows, and their intervals hold for all slices that were searched at once.
    - *How much*: the constant misfit that has the discrepancy of the data, such as a shift in model
      standard deviations. It does not grow with n.
    - *What could have been found*: the constant misfit, in the same unit, that is found with
      probability 0.8.

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
        Slices that you name beforehand, tested like groups: each a query for ``frame()``, a mask of n
        rows, or a dict such as ``{"age": (30, 47), "married": 1}``.
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
    units = Units(scale_x, standardize, predictions=True)
    # Work is spread over the engine's threads; BLAS's own would wait for each other beside them.
    with single_threaded_blas(), stages(*STAGES) as begin:
        begin("reading")
        watched = censored_model(model, x, y, event, entry)
        own, scored = prepare_with_model(watched, x, y, units, options, seed)
        options = options.for_rows(scored, x)
        return inspect(model, own, scored, options, seed, alpha, allowed, by, slices, begin)


def inspect(
    given: Any,
    model: ModelLike,
    scored: Scored | Stream,
    options: Options,
    seed: Seed,
    alpha: float,
    allowed: float | None,
    by: Any,
    named: Sequence[Any],
    begin: Callable[[str], None],
) -> Check:
    """Check a model, `given` as the user has it, on a sample that is scored."""
    looked, law, rows = look(model, scored, seed, options.engine)
    column, sets = _named(looked, by, named, scored.n + scored.subsample.sample.left_out)
    depend = options.rows if looked.all_rows else options.rows.take(looked.rows)
    units = None
    if not depend.independent:
        units = np.asarray(depend.parcels(looked.n, PARCELS).of(0, looked.n), dtype=np.int64)
    signals = signals_of(looked, law, rows, seed)
    begin("slices")
    began = time.perf_counter()
    scan = _search(looked, signals, depend, options, seed)
    seconds = time.perf_counter() - began
    begin("verdict")
    adapted = run_adaptive(scored, options, seed, beside=beside_of(scan))
    result = adapted.result
    rejected = result.pvalue <= alpha
    begin("size")
    bench = Bench.of(model, scored, adapted.design, options.rows, seed, options.engine)
    effect = size_of(bench, rejected)
    begin("power")
    power = power_of(adapted, bench, alpha)
    begin("numbers")
    overall = overall_of(Reader(looked, REACH, units))
    found, everywhere = (
        slices_of(looked, signals, scan, units, alpha) if rejected and scan else ((), None)
    )
    groups = named_slices(sets, looked, signals, units, alpha, column)
    bad = [one for one in groups if one.pvalue <= alpha]
    return Check(
        result=result,
        words=message(rejected, overall, found, everywhere, power, bad, len(groups)),
        overall=overall,
        slices=found,
        groups=groups,
        effect=effect,
        power=power,
        tolerance=None if allowed is None else tolerance_of(bench, effect, allowed, alpha),
        alpha=alpha,
        looked=looked,
        details={
            "searched": searched_of(scan, seconds),
            "versions": versions(),
            "notes": (*result.details.get("notes", ()), *bench.notes, *notes_of(looked, scan, depend)),
        },
        base=Base(given, law, rows, units),
    )


def _search(
    looked: Looked, signals: Signals, depend: Dependence, options: Options, seed: Seed
) -> Scan | None:
    """Search for slices, where there are rows and columns to search."""
    space = space_of(looked, signals, seed)
    if space is None:
        return None
    return Scan.of(space, signals, depend, options.n_boot, seed, options.engine)


def space_of(looked: Looked, signals: Signals, seed: Seed) -> Space | None:
    """Return what is to be searched, where there are rows and columns for it."""
    if looked.n < LEAST_ROWS or not looked.axes:
        return None
    known = signals.unit or signals.variance is not None
    space = Space.of(looked.axes, seed, signals.first, len(signals.about), looked.n, known)
    return space if space.parts else None


def beside_of(scan: Scan | None) -> Beside | None:
    """Return the search as one more family of the verdict."""
    if scan is None:
        return None
    return Beside(Family("slices", SHARE, np.array([0])), scan.best.value, scan.draws)


def slices_of(
    looked: Looked, signals: Signals, scan: Scan, units: IntArray | None, alpha: float
) -> tuple[tuple[Slice, ...], Finding | None]:
    """Describe the slices that stand out, and what all rows have in common if that stands out."""
    threshold = scan.threshold(alpha)
    slices: list[Slice] = []
    everywhere: Finding | None = None
    for found, p in scan.slices(alpha, MOST):
        inside = np.flatnonzero(scan.space.inside(found.where))
        reader = Reader(looked, max(threshold + found.penalty, REACH), units)
        findings = led(reader.findings(inside), signals.about[found.signal], found.z)
        if not findings[0].telling:  # it stands out, but nothing that can be said of it is certain
            continue
        if found.everywhere:
            # After a slice it is what is left, and no message.
            everywhere = findings[0] if not slices and everywhere is None else everywhere
            continue
        slices.append(scan.told(found, p, looked.rows[inside], findings))
    return tuple(slices), everywhere


def _named(
    looked: Looked, by: Any, named: Sequence[Any], given: int
) -> tuple[str, list[tuple[str, str, IntArray]]]:
    """Read groups, and slices that the user named; `given` rows are in the user's data."""
    sets: list[tuple[str, str, IntArray]] = []
    column = ""
    if by is not None:
        column, codes, told = read_by(by, looked, given)
        order = np.argsort(codes, kind="stable")
        cuts = np.searchsorted(codes[order], np.arange(len(told) + 1))
        sets += [
            (words, query, order[first:last])
            for (words, query), first, last in zip(told, cuts[:-1], cuts[1:], strict=True)
            if last > first
        ]
    if isinstance(named, (str, dict)) or not isinstance(named, Iterable):
        raise InputError("slices must be a list of slices: put it in brackets, slices=[...].")
    for one in named:
        words, query, mask = read_named(one, looked, given)
        sets.append((words, query, np.flatnonzero(mask)))
    return column, sets


def searched_of(scan: Scan | None, seconds: float) -> dict[str, Any]:
    """Say what was searched."""
    if scan is None:
        return {"slices": 0}
    rows = scan.space.n if scan.space.searched is None else len(scan.space.searched)
    return {
        "slices": scan.space.count,
        "columns": len(scan.space.axes),
        "pairs": scan.space.pairs,
        "rows": rows,
        "draws": len(scan.draws),
        "null": scan.null,
        "pvalue": scan.pvalue,
        "seconds": round(seconds, 3),
    }


def notes_of(looked: Looked, scan: Scan | None, depend: Dependence) -> tuple[str, ...]:
    notes: list[str] = []
    if not looked.all_rows:
        notes.append(
            f"all but the verdict is of {looked.n:,} of the {looked.whole:,} rows, drawn at random"
        )
    if scan is None:
        few = f"{looked.n} rows are too few to search for slices (that takes {LEAST_ROWS})"
        notes.append(few if looked.n < LEAST_ROWS else "no column of x can tell where")
    elif scan.space.searched is not None:
        notes.append(
            f"slices were searched in {len(scan.space.searched):,} of the rows, drawn at random, and "
            "their p-values come from these; their numbers are of all their rows"
        )
    if scan is not None and "signs" in scan.null:
        notes.append(f"the correction of slices for the search is by random {scan.null}")
    if not depend.independent:
        notes.append(
            "what could have been found is worked out as if rows were independent, and so is somewhat "
            "too small"
        )
    return tuple(notes)


def versions() -> dict[str, str]:
    import scipy

    return {
        "condgof": importlib.import_module("condgof").__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }
