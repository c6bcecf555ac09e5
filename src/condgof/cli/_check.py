"""`condgof check`: its options; read, check, write the report, show."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from condgof.check import Check, Repair
from condgof.check import check as run_check
from condgof.check._check import STAGES
from condgof.check._size import WORSE
from condgof.check._text import verdict_words
from condgof.cli import _output as output
from condgof.cli._app import Many, One, Option, command
from condgof.cli._load import Loaded, loaded
from condgof.cli._roles import NONE, Candidate, Given
from condgof.engine import stages
from condgof.errors import InputError
from condgof.laws._as_model import FAMILIES
from condgof.report import terminal

DATA, PREDICTIONS, MODEL = (
    "Data",
    "Predictions in columns of DATA: one kind",
    "Or a model to import",
)
ROWS, TEST, OUTPUT = "Groups, and rows that depend on each other", "Check", "Output"

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
    " m --std s --tolerance 0.1 --fail-on-reject\n\ncondgof check houses.csv --x rooms,town"
    " --y price --model mymodels.py:fitted"
)
OPTIONS = (
    Option("x", list[str], "COLUMN", DATA, ..., "What y is modelled by. Text columns are categories."),
    Option("y", list[str], "COLUMN", DATA, ..., "What was observed."),
    Option("categorical", Many, "COLUMN", DATA, None, "Columns of x that hold categories in numbers."),
    Option("drop-nulls", bool, "", DATA, False, "Leave out rows with missing values, and say how many."),
    Option("mean", Many, "COLUMN", PREDICTIONS, None, "Mean of a normal model, one for each of y."),
    Option("std", Many, "COLUMN", PREDICTIONS, None, "Its standard deviation, one for each of y."),
    Option("family", One, "NAME", PREDICTIONS, None, f"A closed form: {', '.join(FAMILIES)}."),
    Option("param", Many, "NAME=COLUMN", PREDICTIONS, None, "Its parameters, each a column or a "
        "number, as in mu=m,sigma=0.5. A name that is wrong is answered with the right ones."),
    Option("draws", Many, "COLUMN", PREDICTIONS, None, "Draws of y, a column each, such as 'y_*': "
        "posterior predictive samples, runs of a simulator, members of an ensemble."),
    Option("quantiles", Many, "COLUMN=LEVEL", PREDICTIONS, None, "Predicted quantiles with their "
        "levels, which increase: q05=0.05,q50=0.5,q95=0.95."),
    Option("interval", Many, "COLUMN", PREDICTIONS, None, "Low and high end of a prediction interval, "
        "as in lo,hi; of nested intervals, the smallest first: lo50,hi50,lo90,hi90."),
    Option("coverage", Many, "SHARE", PREDICTIONS, None, "How often each holds y: 0.9, or 0.5,0.9."),
    Option("pit", Many, "COLUMN", PREDICTIONS, None, "Probability integral transform F(y|x) of each y."),
    Option("score", Many, "COLUMN", PREDICTIONS, None, "Derivative of log p(y|x) by y, for each of y."),
    Option("prob", Many, "COLUMN", PREDICTIONS, None, "Of classes: predicted probability, a column for "
        "each class of y (or one, for the second of two classes). Classes are called as the columns "
        "are, without what all of these begin with; or see --classes."),
    Option("classes", One, "NAMES", PREDICTIONS, None, "What y calls the classes, with commas between, "
        "in the order of --prob; a name with a comma in it between double quotes."),
    Option("ordered", bool, "", PREDICTIONS, False, "The order of the classes means something."),
    Option("count-mean", Many, "COLUMN", PREDICTIONS, None, "Of counts: mean of a Poisson model."),
    Option("model", One, "ADDRESS", MODEL, None, "A fitted model to import: package.module:name, or "
        "path/to/file.py:name. This runs the code in there: name only code that you trust. A function "
        "without arguments is called for the model, which gets x as a frame of pandas, "
        "where that is installed. Pickle files are never opened."),
    Option("event", One, "COLUMN", ROWS, None, "y is a time, and this says whether the event came then "
        "(1) or had not come by then (0): right censoring."),
    Option("entry", One, "COLUMN", ROWS, None, "With --event: the time from which on each row was "
        "watched (left truncation)."),
    Option("by", One, "COLUMN", ROWS, None, "Test each group too, p-values corrected for their number."),
    Option("groups", One, "COLUMN", ROWS, None, "Rows with the same value depend on each other, such "
        "as visits of one patient."),
    Option("dependence", One, "LENGTH", ROWS, None, "Rows are in order of time, and those up to about "
        "this many rows apart depend on each other; or auto."),
    Option("slice", Many, "QUERY", TEST, None, "Rows to test too, as a query of pandas of x and "
        "predicted, such as 'age < 30 and married == 1'; may be repeated."),
    Option("tolerance", float | None, "SIZE", TEST, None, "The largest size that you allow, in standard "
        "deviations (of classes, a probability): is it worse, or good enough?"),
    Option("alpha", float, "LEVEL", TEST, 0.05, "Level of the test, and of all that is named."),
    Option("seed", int, "N", TEST, 0, "The same seed gives the same result.", 0),
    Option("threads", int | None, "N", TEST, None, "One a core unless given; changes no result.", 1),
    Option("report", Path | None, "FILE", OUTPUT, None, "Write a report, one HTML file; a file of that "
        "name is replaced, but none that is read."),
    Option("repair", Path | None, "FILE", OUTPUT, None, "Learn a correction of the model, and write all "
        "predictions as they are and repaired (.parquet, .csv), each row by what other rows taught."),
    Option("json", bool, "", OUTPUT, False, "Print one JSON document: see docs/reference/json.md."),
    Option("quiet", bool, "", OUTPUT, False, "Print the verdict only, one line."),
    Option("fail-on-reject", bool, "", OUTPUT, False, "Exit with 1 when the model is rejected, or is "
        "in a group of --by or --slice; with --tolerance, when it is worse than that."),
)  # fmt: skip
FAILS = (
    "--fail-on-reject, and the model is rejected (with --tolerance: is worse than allowed)"
)


@command("check", OPTIONS, HELP, EXAMPLES, fails=FAILS)
def check(given: Given) -> int:
    # Whatever users' models print must not get between the results.
    with (
        redirect_stdout(sys.stderr),
        stages(*STAGES, "report", show=not given["quiet"]) as begin,
    ):
        begin("reading")
        with loaded(given, [Candidate("", {}, given["model"], "--")]) as rows:
            result, better = _checked(rows, given)
        facts = {
            "data": rows.words,
            **({"model": given["model"]} if given["model"] else {}),
        }
        if given["report"] is not None:
            begin("report")
            notes = [f"{head}: {text}" for head, text in facts.items()]
            page = result.to_html(command=output.command_line(given), notes=notes)
            output.write_whole(given["report"], page)

    def show() -> None:
        output.show_check(result, facts)
        if better is not None:
            print(
                f"\nRepair: {terminal(given['repair'])}, each row by what other rows taught"
            )
            print("\n".join(map(terminal, better.sentences)))

    told = result.words if result.tolerance is None else result.tolerance.words
    line = f"{verdict_words(result)}. {told}"
    output.print_result(given, line, show, _document(result, rows, given, better))
    failed = result.rejected or any(group.pvalue <= result.alpha for group in result.groups)
    if result.tolerance is not None:
        failed = result.tolerance.verdict == WORSE
    return 1 if given["fail_on_reject"] and failed else 0


def dependence_of(given: Given) -> int | str | None:
    asked: str | None = given["dependence"]
    return int(asked) if asked is not None and asked.isdecimal() else asked


def _checked(rows: Loaded, given: Given) -> tuple[Check, Repair | None]:
    if rows.streamed and given["repair"] is not None:
        streamed = "this table is streamed because it is large"
        raise InputError(
            f"--repair needs all rows in memory, and {streamed}. Repair a part of it."
        )
    settings: dict[str, Any] = {
        "by": rows.by, "slices": tuple(given["slice"] or ()), "tolerance": given["tolerance"],
        "alpha": given["alpha"], "rng": given["seed"], "engine": given["threads"],
        "dependence": dependence_of(given), "groups": rows.column("groups"),
        "event": rows.column("event"), "entry": rows.column("entry"),
    }  # fmt: skip
    result = run_check(rows.models[0], rows.x, rows.y, **settings)
    if given["repair"] is None:
        return result, None
    better = result.repair(rng=given["seed"])
    output.write_repaired(given["repair"], result, better)
    return result, better


def _document(
    result: Check, rows: Loaded, given: Given, better: Repair | None
) -> dict[str, Any]:
    """Return the JSON document: the check, and where it comes from; see docs/reference/json.md."""
    plain, roles = result.to_dict(), rows.read.roles
    del plain["result"]["null_distribution"]
    return {
        "data": rows.to_dict(),
        "columns": {
            "x": list(roles.x),
            "y": list(roles.y),
            **NONE,
            **roles.predictions[0].facts,
            "categorical": list(roles.categorical),
            "groups": roles.groups,
            "by": roles.by,
            **({} if roles.event is None else {"event": roles.event, "entry": roles.entry}),
        },
        "model": given["model"],
        **(
            {}
            if better is None
            else {"repair": {"file": str(given["repair"]), **better.to_dict()}}
        ),
        "verdict": verdict_words(result),
        **plain,
    }
