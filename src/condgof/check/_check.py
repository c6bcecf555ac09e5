"""The front door: does the model fit, and if not how, where and how much?"""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from condgof._typing import TableLike
from condgof.check._all_rows import with_all_rows
from condgof.check._atoms import atoms_of
from condgof.check._explain import Explained, explain
from condgof.check._findings import Reader
from condgof.check._look import select_rows
from condgof.check._named import level_notes, named_slices
from condgof.check._named_rows import read_sets
from condgof.check._record import Check, Effect, EffectSize, Finding, Power, Slice
from condgof.check._repair import Base, gained
from condgof.check._size import (
    Bench,
    power_of,
    thinned,
    tolerance_of,
    units_of,
)
from condgof.check._staged_gains import StagedGains
from condgof.check._text import message
from condgof.check._tolerance import NATS, SIZE, Allowed, read_allowed, tolerance_of_loss
from condgof.check.effects import (
    FEWEST_ROWS,
    SIGNS_OF_ROWS,
    SIGNS_OF_UNITS,
    WHOLE_SAMPLES,
    Analysis,
    Replicates,
    Tilt,
    analyse,
)
from condgof.check.kinds import CheckedRows, Signals, tilt_of_signals
from condgof.engine import single_threaded_blas, stages
from condgof.errors import UnsupportedModelError
from condgof.laws import Law, family_name, fit_notes
from condgof.methods import Options, censored_model, prepare, run_adaptive
from condgof.null import Dependence, check_resolution
from condgof.result import GofResult, check_alpha
from condgof.sample import CONTENT_SEED, RngLike, Seed
from condgof.stein import DEFAULT_MEMORY, RowsInMemory, RowsInStream, Units

#: Packages whose versions a report states.
VERSIONS_OF = ("condgof", "numpy", "scipy")
#: The stages of a check in their order, as the line of progress names them: reading the
#: data, the test, the effect size, the minimum detectable effect, the numbers of all rows
#: and of groups, and the effects that a misfit consists of.
STAGES = ("reading", "verdict", "size", "power", "numbers", "effects")


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
    weights: TableLike | None = None,
    dependence: object = None,
    tolerance: str | float | None = None,
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

    - *Verdict*: the p-value of `adaptive`, with one more family of statistics: what steps
      in single columns gain in log score, taken off one after the other.
    - *Effects*: what the misfit consists of. An effect is a kind of error (bias, spread,
      skew, tails; of counts dispersion and zeros; the odds of a class; a quantile; the
      hazard) that depends on no column, on one, or on two columns of x or of what is
      predicted. It is worth what its correction gains in log score on rows that it was not
      learned on. The largest one is taken off, and the search goes on, while the same
      search on y drawn from the corrected law gains as much with probability at most
      `alpha`. What all of them gain together on held-out rows is `avoidable_loss`.
    - *Slices*: the places where effects are largest, with intervals that hold for all
      places that were searched at once. Effects and slices are named only if the verdict
      rejects.
    - *Overall*: the median, the middle half, how often predicted intervals hold y, how much
      lies far out; of classes, confidence against accuracy. Their intervals hold together
      95% of the time, and hold what is predicted unless the verdict rejects. One outlier
      does not move them, and is named.
    - *Effect size*: the uniform misfit, such as a bias in predictive SDs, that would be
      equally detectable. Unlike the p-value, it does not depend on the sample size.
      *Power*: the smallest one that is detected with probability 0.8.

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
        Censoring, as in `adaptive`. Subgroups then report observed and expected events, Σ
        Λ(y) − Λ(entry) with Λ = −log P(Y > y|x), and the effect size is the relative error
        of the hazard.
    by : str, list of str, array_like of shape (n,) or frame, optional
        A column of x or of predictions, several of them, or one label a row: each group is
        tested and described as a slice that was named beforehand. Of several columns,
        ``by=["region", "sex"]``, groups are the combinations that occur; at most 2,000. A
        column or frame of pandas is put in the order of x by its index. Groups and `slices`
        have the level `alpha` together (Holm's correction), beside that of the verdict, and
        the exact test of their kind of y; an interval excludes what is predicted exactly
        where there is evidence. Rows that depend on each other are ``groups=``.
    slices : sequence
        Slices that you name beforehand, tested like groups: each a query of the columns of
        x and of predictions in ``frame()``, such as ``"30 <= age <= 47"``, or a mask of n
        rows.
    weights : array_like or Series of shape (n,), or str, optional
        Weights of rows, which must be functions of x (survey weights, importance,
        exposures): not of y. A string names a column of x, or of the source. Sums, gains,
        estimates and scores are weighted, and intervals are those of the effective number
        of rows, (Σw)²/Σw². Outliers and values of y that come too often are counted in
        rows. Only ratios of weights matter; rows of weight 0 are left out. See
        docs/have/weights.md.
    tolerance : str, optional
        The largest misfit that you allow: ``"0.05 nats"`` of ``avoidable_loss``, or ``"0.1
        size"`` in the unit of ``effect``. ``report.tolerance`` then says "worse than you
        allow", "good enough" (each wrongly with probability at most alpha) or "undecided".
        A bare number is a size, as in version 0.2, with a warning.
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
    >>> [effect.name for effect in report.effects]
    ['spread by x']
    >>> first = report.slices[0]
    >>> low, high = report.frame().query(first.query)["z"].quantile([0.25, 0.75])
    >>> width = (high - low) / 1.349   # of the middle half; 1 if the model is right
    >>> first.kind, first.direction, bool(abs(width - first.findings[0].estimate) < 0.001)
    ('spread', 'too narrow', True)
    """
    alpha = check_alpha(alpha)
    allowed = None if tolerance is None else read_allowed(tolerance)
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
        prepared = prepare(model_with_events, x, y, units, options, seed, weights)
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
        begin("verdict")
        keys = checked_sample.sample.content_keys
        refuse_weights_of_kind(checked)
        gains = StagedGains.from_signals(
            checked.axes, signals, keys, parcels, checked.weights
        )
        verdict = run_adaptive(rows, options, seed, beside=gains)
        begin("size")
        bench = Bench.from_rows(
            law, checked_sample, verdict.design, depend, CONTENT_SEED, rows.n
        )
        effect = bench.size.effect(verdict.result.pvalue <= alpha)
        begin("power")
        power = power_of(bench, alpha)
        begin("numbers")
        reader = Reader.of_all_rows(checked, parcels, consecutive=depend.codes is None)
        reader = replace(reader, reach=reader.reach * inflation_of(signals, depend))
        atoms = atoms_of(checked, law)
        prenamed: tuple[Slice, ...] = ()
        if sets:
            prenamed = named_slices(sets, reader, signals, law, alpha)
        begin("effects")
        analysis = None
        rejected = verdict.result.pvalue <= alpha
        if rejected or (allowed is not None and allowed.unit == NATS):
            analysis = analyse(
                checked.axes,
                tilt_of_rows(checked, law, checked_sample, signals, seed),
                units=parcels,
                replicates=replicates_of(signals, depend),
                keys=keys,
                alpha=alpha,
                seed=seed,
                name_effects=rejected,
                weights=checked.weights,
            )
        on_all_rows = None
        is_part = isinstance(rows, RowsInStream) and not checked.all_rows
        # Numbers of weighted rows stay those of the rows that were searched.
        if is_part and analysis and checked.weights is None:
            assert isinstance(rows, RowsInStream)
            on_all_rows = partial(
                with_all_rows,
                analysis=analysis,
                searched=checked,
                searched_rows=checked_sample,
                stream=rows,
                seed=seed,
                engine=options.engine,
            )
        return assemble_report(
            result=verdict.result,
            alpha=alpha,
            reader=reader,
            overall=(*reader.findings(), *atoms.findings),
            analysis=analysis,
            bench=bench,
            effect=effect,
            power=power,
            groups=prenamed,
            allowed=allowed,
            data_notes=(
                *fit_notes(model_with_events, rows.subsample.sample),
                *atoms.notes,
            ),
            base=Base(model, law, checked_sample, parcels),
            on_all_rows=on_all_rows,
        )


def refuse_weights_of_kind(checked: CheckedRows) -> None:
    """Refuse weights of a kind of y whose numbers cannot be weighted yet."""
    if checked.weights is None or checked.takes_weights:
        return
    raise UnsupportedModelError(
        f"check takes no weights where y is {checked.label}. Leave them out, or pass them"
        " to condgof.adaptive, which weights its sums for every kind of y."
    )


def inflation_of(signals: Signals, dependence: Dependence) -> float:
    """Return how much wider intervals are where rows of y share an error, at least 1."""
    shares_error = dependence.independent and signals.replicated is not None
    if not shares_error or signals.variance is None:
        return 1.0
    assert signals.replicated is not None
    return signals.replicated.inflation(signals.variance)


def tilt_of_rows(
    checked: CheckedRows, law: Law, rows: RowsInMemory, signals: Signals, seed: Seed
) -> Tilt:
    """Return the rows as effects take them: by signals, where rows share an error."""
    if signals.replicated is not None:
        return tilt_of_signals(signals)
    return checked.tilt(law, rows, seed)


def replicates_of(signals: Signals, dependence: Dependence) -> Replicates | None:
    """Return the whole samples to put in the place of y, where rows share an error."""
    replicated = signals.replicated
    if replicated is None or not dependence.independent:
        return None
    return Replicates(
        replicated.count, lambda number: np.asarray(replicated.signals(number).values)
    )


def assemble_report(
    *,
    result: GofResult,
    alpha: float,
    reader: Reader,
    overall: tuple[Finding, ...],
    analysis: Analysis | None,
    bench: Bench,
    effect: EffectSize,
    power: Power,
    groups: tuple[Slice, ...] = (),
    allowed: Allowed | None = None,
    data_notes: tuple[str, ...] = (),
    base: Base | None = None,
    on_all_rows: Callable[[tuple[Effect, ...]], tuple[Effect, ...]] | None = None,
) -> Check:
    """Put a report together: slices are named only if the verdict rejects.

    Where it does not, the intervals of all rows are made to hold what the model predicts.
    So nothing is said against a right model with a larger probability than `alpha`, except
    for outliers (probability 0.001).

    `overall` are the findings of all rows, `groups` the slices named beforehand, `allowed`
    the misfit that the user tolerates, `data_notes` what is said of y itself, and `base`
    what `Check.repair` needs. Of a stream, `on_all_rows` gives effects the numbers of all
    rows.
    """
    rejected = result.pvalue <= alpha
    explained = Explained()
    if analysis is not None:
        family = "" if base is None else family_name(base.law)
        explained = explain(analysis, reader, family)
    if on_all_rows is not None:
        explained = replace(explained, effects=on_all_rows(explained.effects))
    if not rejected:
        overall = tuple(finding.with_expected() for finding in overall)
    notes = (
        *result.details.get("notes", ()),
        *bench.notes,
        *_notes(reader.checked, analysis, base),
        *level_notes(groups, alpha),
        *data_notes,
    )
    tolerance = None
    if allowed is not None and allowed.unit == SIZE:
        tolerance = tolerance_of(bench, effect, allowed.value, alpha)
    elif allowed is not None and explained.avoidable_loss is not None:
        tolerance = tolerance_of_loss(explained.avoidable_loss, allowed.value, alpha)
    # Without effects there is a loss only if it was asked for.
    asked = allowed is not None and allowed.unit == NATS
    loss = explained.avoidable_loss if explained.effects or asked else None
    report = Check(
        result=result,
        words="",
        overall=overall,
        effects=explained.effects,
        avoidable_loss=loss,
        slices=explained.slices,
        groups=groups,
        effect=effect,
        power=power,
        tolerance=tolerance,
        alpha=alpha,
        checked=reader.checked,
        details={
            "searched": {} if analysis is None else analysis.details,
            "versions": _versions(),
            "notes": notes,
        },
        base=base,
        analysis=analysis,
    )
    # The message is written last, from all numbers of the report.
    return replace(report, words=message(report))


def _versions() -> dict[str, str]:
    versions = {name: importlib.import_module(name).__version__ for name in VERSIONS_OF}
    return {**versions, "python": platform.python_version()}


def _notes(
    checked: CheckedRows, analysis: Analysis | None, base: Base | None
) -> Iterator[str]:
    """Say which rows were compared, and what the numbers leave out."""
    if not checked.all_rows:
        some = f"{checked.n:,} of the {checked.whole:,} rows"
        beside = ""
        if analysis is not None and analysis.stages and checked.weights is None:
            beside = "; effects have the numbers of all rows beside these (all_rows)"
        yield f"everything but the verdict is of {some}, drawn at random{beside}"
    if checked.weights is not None:
        yield "charts, outliers and repeated values are of rows, whatever their weights"
    if checked.n < FEWEST_ROWS:
        few = f"{checked.n} rows are too few to search for effects"
        yield f"{few} (that takes {FEWEST_ROWS})"
    if analysis is not None:
        yield from checked.search_notes()
        if analysis.null == WHOLE_SAMPLES:
            yield (
                "the interval of the effect size and the minimum detectable effect take"
                " rows as independent, which they are not here"
            )
        if analysis.null in (SIGNS_OF_ROWS, SIGNS_OF_UNITS):
            yield f"p-values of effects come from {analysis.null}"
        if base is not None and not base.law.of_x:
            yield (
                "effects of what the model predicts were not searched: draws, and fits to"
                " other rows of the same sample, are no function of x alone"
            )
    if base is not None:
        yield from gained(base)
