"""`condgof check`: its options; read the table, check, write the report, print."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from condgof.check import STAGES, WORSE, Check, Local, Repair, headline, verdict_words
from condgof.check import check as run_check
from condgof.cli._app import Group, Option, command
from condgof.cli._load import LoadedTable, load_table
from condgof.cli._options import (
    OUTPUT,
    ROWS,
    TEST,
    ColumnOptions,
    DataArgument,
    DependenceOptions,
    EntryOption,
    EventOption,
    FormatOptions,
    PredictionOptions,
    ReportOption,
    TestOptions,
    WeightsOption,
    check_level,
)
from condgof.cli._output import (
    OutputFile,
    Printer,
    print_check,
    print_lines,
    write_repaired,
    write_whole,
)
from condgof.cli._predictions import ABSENT
from condgof.cli._roles import Candidate, RowOptions
from condgof.engine import stages
from condgof.errors import InputError
from condgof.null import default_draws
from condgof.report import terminal
from condgof.sample import Column

HELP = (
    "Check whether a model fits: the verdict, how and where it does not fit, and how"
    " much.\n\nThe model is columns of the table with one kind of prediction (--mean and"
    " --std, --family, --draws, --quantiles, --interval, --pit or --score; of classes"
    " --prob, of counts --count-mean), or an object to import (--model). Rows must not be"
    " those that the model was fitted on, and independent unless --dependence or --groups"
    " says how they are not.\n\nA COLUMN is its name; or names with commas between; or a"
    " pattern such as 'feat_*', which leaves out columns that have another role; or a"
    " position, #0 being the first. A column of that very name goes before all else."
    " Options with a COLUMN may be repeated."
)
EXAMPLES = (
    "Examples:\n\ncondgof check table.csv --x income --y food --mean mu --std sd --report"
    " out.html\n\ncondgof check table.csv --x income --y food --family lognormal --param"
    " mu=m,sigma=0.5\n\ncondgof check 'part-*.parquet' --x 'feat_*' --y y --draws 'y_*'"
    " --by region --json\n\ncondgof check loads.csv --x hour --y load --quantiles"
    " q05=0.05,q50=0.5,q95=0.95\n\ncondgof check loads.csv --x hour --y load --interval"
    " lo,hi --coverage 0.9\n\ncondgof check pets.csv --x weight,age --y animal --prob"
    " p_cat,p_dog --slice 'age < 2'\n\ncondgof check big.parquet --x 'feat_*' --y y --mean"
    " m --std s --tolerance '0.05 nats' --fail-on-reject\n\ncondgof check houses.csv --x"
    " rooms,town --y price --model mymodels.py:fitted"
)
FAILS = (
    "--fail-on-reject, and the model is rejected (with --tolerance: is worse than allowed)"
)


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of `condgof check`."""

    data: DataArgument
    columns: Annotated[ColumnOptions, Group()]
    predictions: Annotated[PredictionOptions, Group()]
    event: EventOption = None
    entry: EntryOption = None
    weights: WeightsOption = None
    by: Annotated[
        str | None,
        Option(
            metavar="COLUMN",
            panel=ROWS,
            help=(
                "Test each group too, p-values corrected for their number; of several"
                " columns (a,b) each combination."
            ),
        ),
    ] = None
    dependence: Annotated[DependenceOptions, Group()]
    slice: Annotated[
        list[str] | None,
        Option(
            metavar="QUERY",
            panel=TEST,
            help=(
                "Rows to test too, as a condition on x and predicted, such as 'age <"
                " 30 and married == 1'; may be repeated."
            ),
        ),
    ] = None
    at: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN=VALUE,…",
            panel=TEST,
            help=(
                "Describe the model near a point of x, with a value for each of its"
                " columns, such as age=40,region=north; may be repeated."
            ),
        ),
    ] = None
    tolerance: Annotated[
        str | None,
        Option(
            metavar="NUMBER UNIT",
            panel=TEST,
            help=(
                "The largest misfit that you allow: '0.05 nats' of avoidable loss a row, or"
                " '0.1 size' of effect size. Is it worse, or good enough?"
            ),
        ),
    ] = None
    test: Annotated[TestOptions, Group()]
    report: ReportOption = None
    repair: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            panel=OUTPUT,
            help=(
                "Learn a correction of the model, and write all predictions as they are"
                " and repaired (.parquet, .csv), each row by what other rows taught."
            ),
        ),
    ] = None
    format: Annotated[FormatOptions, Group()]
    verbose: Annotated[
        bool,
        Option(
            metavar="",
            panel=OUTPUT,
            short=("-v",),
            help="Print effects and numbers in sentences, too.",
        ),
    ] = False
    fail_on_reject: Annotated[
        bool,
        Option(
            metavar="",
            panel=OUTPUT,
            help=(
                "Exit with 1 when the model is rejected, or is in a group of --by or"
                " --slice; with --tolerance, when it is worse than that."
            ),
        ),
    ] = False


@command(CheckOptions, help=HELP, examples=EXAMPLES, fails=FAILS)
def check(options: CheckOptions, command_line: str) -> int:
    """Run `condgof check`, and return its exit code."""
    check_level(options.test.alpha, default_draws(run_check), "check")
    quiet = options.format.quiet
    repair: Repair | None = None
    points: list[Local] = []
    # What users' models print goes to standard error, so that results alone are printed.
    with (
        redirect_stdout(sys.stderr),
        stages(*STAGES, show=not quiet) as begin,
    ):
        begin("reading")
        with load_table(
            options.data,
            options.columns,
            [Candidate(options=options.predictions)],
            classes=options.predictions.class_names,
            rows=RowOptions(
                by=options.by,
                event=options.event,
                entry=options.entry,
                groups=options.dependence.groups,
                weights=options.weights,
            ),
            seed=options.test.seed,
            quiet=quiet,
            outputs=[
                OutputFile("--report", options.report),
                OutputFile("--repair", options.repair, endings=(".parquet", ".csv")),
            ],
        ) as table:
            if options.repair is not None:
                _check_repairable(table)
            result = _check(table, options)
            points = [_near(result, text) for text in options.at or ()]
            if options.repair is not None:
                repair = result.repair(rng=options.test.seed)
        facts = _facts(table, options.predictions.model)
        source = table.label

    def write_files() -> None:
        if options.repair is not None and repair is not None:
            write_repaired(options.repair, result, repair)
        if options.report is None:
            return
        with stages("report", show=not quiet) as begin:
            begin("report")
            notes = _page_notes(table, options.predictions.model)
            page = result.to_html(command=command_line, notes=notes)
            write_whole(options.report, page)

    def print_text() -> None:
        print_check(result, source=source, facts=facts, verbose=options.verbose)
        for point in points:
            print_lines(f"\n{point}")
        if repair is not None:
            print(
                f"\nRepair: {terminal(options.repair)}, each row by what other rows taught"
            )
            for sentence in repair.sentences:
                print(terminal(sentence))

    printer = Printer(
        command_line=command_line,
        format=options.format,
        seed=options.test.seed,
        report=options.report,
    )
    printer.print(
        line=_quiet_line(result),
        text=print_text,
        document=lambda: _document(result, table, options, repair, points),
        write=write_files,
    )
    return 1 if options.fail_on_reject and _fails(result) else 0


def _quiet_line(check: Check) -> str:
    """Return the verdict and the message, which may begin with the verdict, too."""
    words = check.words if check.tolerance is None else check.tolerance.words
    return f"{verdict_words(check)}. {words.removeprefix(f'{headline(check)}. ')}"


def _check_repairable(table: LoadedTable) -> None:
    if table.streamed:
        raise InputError(
            "--repair needs all rows in memory, and this table is streamed because it is"
            " large. Repair a part of it."
        )


def _check(table: LoadedTable, options: CheckOptions) -> Check:
    return run_check(
        table.models[0],
        table.x,
        table.y,
        event=table.event,
        entry=table.entry,
        by=table.by,
        slices=tuple(options.slice or ()),
        groups=table.groups,
        weights=table.weights,
        dependence=options.dependence.length,
        tolerance=_with_unit(options.tolerance),
        alpha=options.test.alpha,
        rng=options.test.seed,
        engine=options.test.threads,
    )


def _near(result: Check, text: str) -> Local:
    """Describe a model near a point, "age=40,region=north"."""
    columns = {column.name: column for column in result.checked.x_columns}
    point: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        column = columns.get(name.strip())
        if not equals or column is None:
            raise InputError(
                f"--at {text!r}: {part!r} is not COLUMN=VALUE with a column of x, which are"
                f" {', '.join(columns)}."
            )
        point[column.name] = _value(column, value.strip(), text)
    found = result.at(point)
    assert isinstance(found, Local)
    return found


def _value(column: Column, value: str, text: str) -> Any:
    """Read one value of a column of numbers, dates or categories."""
    if column.levels is not None:
        return value
    try:
        return np.datetime64(value) if column.dates else float(value)
    except ValueError as error:
        raise InputError(
            f"--at {text!r}: column {column.name!r} holds {column.kind}, got {value!r}."
        ) from error


def _with_unit(tolerance: str | None) -> str | None:
    """Return a tolerance with its unit: a bare number is an effect size, which is noted."""
    if tolerance is None or not tolerance.strip().replace(".", "", 1).isdecimal():
        return tolerance
    if float(tolerance) == 0.0:  # is refused, without a note about its unit
        return tolerance
    print(
        f"note: --tolerance {tolerance} has no unit and is taken as '{tolerance} size', an"
        " effect size; 'NUMBER nats' is the avoidable loss a row.",
        file=sys.stderr,
    )
    return f"{tolerance} size"


def _fails(result: Check) -> bool:
    """Return whether the model is rejected, or worse than a tolerance."""
    if result.tolerance is not None:
        return result.tolerance.verdict == WORSE
    return result.rejected or any(each.pvalue <= result.alpha for each in result.groups)


def _facts(table: LoadedTable, model: str | None) -> list[tuple[str, str]]:
    """Return what is printed before the verdict: rows left out, the model to import."""
    facts = [("data", "; ".join(table.remarks))] if table.remarks else []
    if model:
        facts.append(("model", model))
    return facts


def _page_notes(table: LoadedTable, model: str | None) -> list[str]:
    """Return the same for the page, where the table has no line of its own."""
    notes = [f"data: {table.words}"]
    return [*notes, f"model: {model}"] if model else notes


def _document(
    result: Check,
    table: LoadedTable,
    options: CheckOptions,
    repair: Repair | None,
    points: Sequence[Local],
) -> dict[str, Any]:
    """Return the JSON document: the check, and what it was made from.

    docs/reference/json.md describes the keys.
    """
    document: dict[str, Any] = {
        "data": table.to_dict(),
        "columns": _columns_document(table),
        "model": options.predictions.model,
    }
    if repair is not None:
        document["repair"] = {"file": str(options.repair), **repair.to_dict()}
    if points:
        document["at"] = [point.to_dict() for point in points]
    _ = result.scores  # computed when they are asked for, and then in the document
    plain = result.to_dict()
    del plain["result"]["null_distribution"]
    return {**document, "verdict": verdict_words(result), **plain}


def _columns_document(table: LoadedTable) -> dict[str, Any]:
    roles = table.rows.roles
    (predictions,) = roles.predictions
    document = {
        "x": list(roles.x),
        "y": list(roles.y),
        **ABSENT,
        **predictions.values,
        "categorical": list(roles.categorical),
        "groups": roles.rows.groups,
        "by": ",".join(roles.rows.by) or None,
    }
    if roles.rows.event is not None:
        document["event"] = roles.rows.event
        document["entry"] = roles.rows.entry
    if roles.rows.weights is not None:
        document["weights"] = roles.rows.weights
    return document
