"""The work of `check`: read, test, describe, and put the report together."""

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
from condgof.null import Dependence
from condgof.result import GofResult
from condgof.sample import CONTENT_SEED, Seed
from condgof.stein import RowsInMemory, RowsInStream, Units

#: Packages whose versions a report states.
VERSIONS_OF = ("condgof", "numpy", "scipy")
#: The stages of a check in their order, as the line of progress names them: reading the
#: data, the test, the effect size, the minimum detectable effect, the numbers of all rows
#: and of groups, and the effects that a misfit consists of.
STAGES = ("reading", "verdict", "size", "power", "numbers", "effects")


def run_check(
    model: object,
    x: TableLike,
    y: TableLike | None,
    *,
    event: TableLike | None,
    entry: TableLike | None,
    by: object,
    slices: Sequence[Any],
    weights: TableLike | None,
    tolerance: str | float | None,
    alpha: float,
    units: Units,
    options: Options,
    seed: Seed,
) -> Check:
    """Do what `check` says; `units`, `options` and `seed` are made of its other options."""
    allowed = None if tolerance is None else read_allowed(tolerance)
    # Work is spread over the engine's threads; BLAS's own would wait for each other.
    with single_threaded_blas(), stages(*STAGES) as begin:
        begin("reading")
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
