"""The options of `condgof check`; what it does is in the folder of that name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from condgof.cli._options import Many, One, Option, command
from condgof.laws import FAMILIES

DATA, PREDICTIONS, MODEL = "Data", "Predictions in columns of DATA: one kind", "Or a model to import"
ROWS, TEST, OUTPUT = "Groups, and rows that depend on each other", "Check", "Output"

HELP = (
    "Check whether a model fits: the verdict, how and where it does not fit, and how much.\n\n"
    "The model is columns of the table with one kind of prediction (--mean and --std, --family, "
    "--draws, --quantiles, --interval, --pit or --score; of classes --prob, of counts --count-mean), or "
    "an object to import (--model). Rows must not be those that the model was fitted on, and "
    "independent unless --dependence or --groups says how they are not.\n\n"
    "A COLUMN is its name; or names with commas between; or a pattern such as 'feat_*', which leaves "
    "out columns that have another role; or a position, #0 being the first. A column of that very name "
    "goes before all else. Options with a COLUMN may be repeated.\n\n"
    "Exit code 0: it ran. 1: --fail-on-reject, and the model is rejected, or is in a group; with "
    "--tolerance, and it is worse than allowed. 2: bad input or usage, with a message. 3: an internal "
    "error."
)
EXAMPLES = (
    "Examples:\n\n"
    "condgof check table.csv --x income --y food --mean mu --std sd --report out.html\n\n"
    "condgof check table.csv --x income --y food --family lognormal --param mu=m,sigma=0.5\n\n"
    "condgof check 'part-*.parquet' --x 'feat_*' --y y --draws 'y_*' --by region --json\n\n"
    "condgof check loads.csv --x hour --y load --quantiles q05=0.05,q50=0.5,q95=0.95\n\n"
    "condgof check loads.csv --x hour --y load --interval lo,hi --coverage 0.9\n\n"
    "condgof check pets.csv --x weight,age --y animal --prob p_cat,p_dog --slice 'age < 2'\n\n"
    "condgof check big.parquet --x 'feat_*' --y y --mean m --std s --tolerance 0.1 --fail-on-reject\n\n"
    "condgof check houses.csv --x rooms,town --y price --model mymodels.py:fitted"
)
OPTIONS = (
    Option("x", list[str], "COLUMN", DATA, ..., "What y is modelled by. Text columns are categories."),
    Option("y", list[str], "COLUMN", DATA, ..., "What was observed."),
    Option("categorical", Many, "COLUMN", DATA, None, "Those of x that are categories though they hold "
        "numbers, such as codes."),
    Option("drop-nulls", bool, "", DATA, False, "Leave out rows with missing values, and say how many; "
        "they are an error otherwise."),
    Option("mean", Many, "COLUMN", PREDICTIONS, None, "Predicted mean of a normal model, one for each "
        "of y."),
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
    Option("coverage", Many, "SHARE", PREDICTIONS, None, "How often each interval should hold y: 0.9, "
        "or 0.5,0.9."),
    Option("pit", Many, "COLUMN", PREDICTIONS, None, "Probability integral transform F(y|x), between 0 "
        "and 1, one for each of y."),
    Option("score", Many, "COLUMN", PREDICTIONS, None, "The derivative of log p(y|x) by y, one for "
        "each of y."),
    Option("prob", Many, "COLUMN", PREDICTIONS, None, "Of classes: predicted probability, a column for "
        "each class of y (or one, for the second of two classes). Classes are called as the columns "
        "are, without what all of these begin or end with; or see --classes."),
    Option("classes", One, "NAMES", PREDICTIONS, None, "What y calls the classes, with commas between, "
        "in the order of --prob; a name with a comma in it between double quotes."),
    Option("ordered", bool, "", PREDICTIONS, False, "The order of the classes means something, such as "
        "grades or stages."),
    Option("count-mean", Many, "COLUMN", PREDICTIONS, None, "Of counts: predicted mean of a Poisson "
        "model."),
    Option("model", One, "ADDRESS", MODEL, None, "A fitted model to import: package.module:name, or "
        "path/to/file.py:name. This runs the code in there: name only code that you trust. A function "
        "without arguments is called for the model. Pickle files are never opened."),
    Option("model-x", str, "FORM", MODEL, "auto", "How the model gets x: frame (of pandas, with column "
        "names), array (n rows, a column for each of x), or auto, a frame where pandas is installed."),
    Option("event", One, "COLUMN", ROWS, None, "y is a time, and this says whether the event came then "
        "(1) or had not come by then (0): right censoring."),
    Option("entry", One, "COLUMN", ROWS, None, "With --event: the time from which on each row was "
        "watched (left truncation)."),
    Option("by", One, "COLUMN", ROWS, None, "Test and describe each group too; p-values are corrected "
        "for the number of groups."),
    Option("groups", One, "COLUMN", ROWS, None, "Rows with the same value depend on each other, such "
        "as visits of one patient."),
    Option("dependence", One, "LENGTH", ROWS, None, "Rows are in order of time, and those up to about "
        "this many rows apart depend on each other; or auto."),
    Option("slice", Many, "QUERY", TEST, None, "Rows to test and describe too, as a query of pandas, "
        "such as 'age < 30 and married == 1'. Columns are those of x and y, and predicted; may be "
        "repeated."),
    Option("tolerance", float | None, "SIZE", TEST, None, "The largest misfit that you allow, in the "
        "unit of the size that is printed (standard deviations of the model; of classes a probability): "
        "is it worse, or good enough?"),
    Option("alpha", float, "LEVEL", TEST, 0.05, "Level of the test, and of all that is named."),
    Option("seed", int, "N", TEST, 0, "The same seed gives the same result.", 0),
    Option("threads", int | None, "N", TEST, None, "One a core unless given; the result does not "
        "depend on it.", 1),
    Option("order", str, "ORDER", OUTPUT, "certain", "Which slices come first: certain, or severity, "
        "the worst."),
    Option("report", Path | None, "FILE", OUTPUT, None, "Write a report, one HTML file; a file of that "
        "name is replaced, but none that is read."),
    Option("repair", Path | None, "FILE", OUTPUT, None, "Learn a correction of the model, and write "
        "predictions of all rows as they are and repaired (.parquet or .csv): each row by what other "
        "rows taught."),
    Option("json", bool, "", OUTPUT, False, "Print one JSON document and nothing else; docs/json.md "
        "has its fields."),
    Option("quiet", bool, "", OUTPUT, False, "Print the verdict only, one line."),
    Option("fail-on-reject", bool, "", OUTPUT, False, "Exit with 1 when the model is rejected, or "
        "worse than --tolerance allows; for pipelines."),
)  # fmt: skip


def _check(given: Mapping[str, Any]) -> int:
    from condgof.cli.check import Request, run_check  # pyarrow and the tests: only when it runs

    return run_check(Request.of(given, slices=tuple(given["slice"] or ())))


check = command("check", OPTIONS, _check)
