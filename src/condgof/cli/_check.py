"""The options of `condgof check`; what it does is in the folder of that name."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from condgof.laws import FAMILIES

DATA, PREDICTIONS, MODEL = "Data", "Predictions in columns of DATA: one kind", "Or a model to import"
ROWS, TEST, OUTPUT = "Groups, and rows that depend on each other", "Check", "Output"
Many: TypeAlias = list[str] | None

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


def _option(text: str, metavar: str, panel: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, **more)


def _flag(text: str, panel: str, *names: str) -> Any:
    return _option(text, "", panel, *names)  # some versions of Typer would show <bool>


def check(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Parquet, CSV or Feather file, by its ending; a pattern or a folder of such files; or "
            "- for CSV on standard input. Large tables are streamed.",
            show_default=False,
        ),
    ],
    x: Annotated[
        list[str], _option("What y is modelled by. Text columns are categories.", "COLUMN", DATA)
    ],
    y: Annotated[list[str], _option("What was observed.", "COLUMN", DATA)],
    categorical: Annotated[
        Many,
        _option(
            "Those of x that are categories though they hold numbers, such as codes.", "COLUMN", DATA
        ),
    ] = None,
    drop_nulls: Annotated[
        bool,
        _flag(
            "Leave out rows with missing values, and say how many; they are an error otherwise.",
            DATA,
            "--drop-nulls",
        ),
    ] = False,
    mean: Annotated[
        Many, _option("Predicted mean of a normal model, one for each of y.", "COLUMN", PREDICTIONS)
    ] = None,
    std: Annotated[
        Many, _option("Its standard deviation, one for each of y.", "COLUMN", PREDICTIONS)
    ] = None,
    family: Annotated[
        str | None, _option(f"A closed form: {', '.join(FAMILIES)}.", "NAME", PREDICTIONS)
    ] = None,
    param: Annotated[
        Many,
        _option(
            "Its parameters, each a column or a number, as in mu=m,sigma=0.5. A name that is wrong is "
            "answered with the right ones.",
            "NAME=COLUMN",
            PREDICTIONS,
        ),
    ] = None,
    draws: Annotated[
        Many,
        _option(
            "Draws of y, a column each, such as 'y_*': posterior predictive samples, runs of a "
            "simulator, members of an ensemble.",
            "COLUMN",
            PREDICTIONS,
        ),
    ] = None,
    quantiles: Annotated[
        Many,
        _option(
            "Predicted quantiles with their levels, which increase: q05=0.05,q50=0.5,q95=0.95.",
            "COLUMN=LEVEL",
            PREDICTIONS,
        ),
    ] = None,
    interval: Annotated[
        Many,
        _option(
            "Low and high end of a prediction interval, as in lo,hi; of nested intervals, the smallest "
            "first: lo50,hi50,lo90,hi90.",
            "COLUMN",
            PREDICTIONS,
        ),
    ] = None,
    coverage: Annotated[
        Many,
        _option("How often each interval should hold y: 0.9, or 0.5,0.9.", "SHARE", PREDICTIONS),
    ] = None,
    pit: Annotated[
        Many,
        _option(
            "Probability integral transform F(y|x), between 0 and 1, one for each of y.",
            "COLUMN",
            PREDICTIONS,
        ),
    ] = None,
    score: Annotated[
        Many,
        _option("The derivative of log p(y|x) by y, one for each of y.", "COLUMN", PREDICTIONS),
    ] = None,
    prob: Annotated[
        Many,
        _option(
            "Of classes: predicted probability, a column for each class of y (or one, for the "
            "second of two classes). Classes are called as the columns are, without what all of these "
            "begin or end with; or see --classes.",
            "COLUMN",
            PREDICTIONS,
        ),
    ] = None,
    classes: Annotated[
        str | None,
        _option(
            "What y calls the classes, with commas between, in the order of --prob; a name with a "
            "comma in it between double quotes.",
            "NAMES",
            PREDICTIONS,
        ),
    ] = None,
    ordered: Annotated[
        bool,
        _flag(
            "The order of the classes means something, such as grades or stages.",
            PREDICTIONS,
            "--ordered",
        ),
    ] = False,
    count_mean: Annotated[
        Many, _option("Of counts: predicted mean of a Poisson model.", "COLUMN", PREDICTIONS)
    ] = None,
    model: Annotated[
        str | None,
        _option(
            "A fitted model to import: package.module:name, or path/to/file.py:name. This runs "
            "the code in there: name only code that you trust. A function without arguments is called "
            "for the model. Pickle files are never opened.",
            "ADDRESS",
            MODEL,
        ),
    ] = None,
    model_x: Annotated[
        str,
        _option(
            "How the model gets x: frame (of pandas, with column names), array (n rows, a column "
            "for each of x), or auto, a frame where pandas is installed.",
            "FORM",
            MODEL,
        ),
    ] = "auto",
    by: Annotated[
        str | None,
        _option(
            "Test and describe each group too; p-values are corrected for the number of groups.",
            "COLUMN",
            ROWS,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        _option(
            "Rows with the same value depend on each other, such as visits of one patient.",
            "COLUMN",
            ROWS,
        ),
    ] = None,
    dependence: Annotated[
        str | None,
        _option(
            "Rows are in order of time, and those up to about this many rows apart depend on each "
            "other; or auto.",
            "LENGTH",
            ROWS,
        ),
    ] = None,
    slices: Annotated[
        Many,
        _option(
            "Rows to test and describe too, as a query of pandas, such as 'age < 30 and married == 1'. "
            "Columns are those of x and y, and predicted; may be repeated.",
            "QUERY",
            TEST,
            "--slice",
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        _option(
            "The largest misfit that you allow, in the unit of the size that is printed (standard "
            "deviations of the model; of classes a probability): is it worse, or good enough?",
            "SIZE",
            TEST,
        ),
    ] = None,
    alpha: Annotated[
        float, _option("Level of the test, and of all that is named.", "LEVEL", TEST)
    ] = 0.05,
    seed: Annotated[int, _option("The same seed gives the same result.", "N", TEST, min=0)] = 0,
    threads: Annotated[
        int | None,
        _option("One a core unless given; the result does not depend on it.", "N", TEST, min=1),
    ] = None,
    order: Annotated[
        str, _option("Which slices come first: certain, or severity, the worst.", "ORDER", OUTPUT)
    ] = "certain",
    report: Annotated[
        Path | None,
        _option(
            "Write a report, one HTML file; a file of that name is replaced, but none that is read.",
            "FILE",
            OUTPUT,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        _flag(
            "Print one JSON document and nothing else; docs/json.md has its fields.", OUTPUT, "--json"
        ),
    ] = False,
    quiet: Annotated[bool, _flag("Print the verdict only, one line.", OUTPUT, "--quiet", "-q")] = False,
    fail_on_reject: Annotated[
        bool,
        _flag(
            "Exit with 1 when the model is rejected, or worse than --tolerance allows; for pipelines.",
            OUTPUT,
            "--fail-on-reject",
        ),
    ] = False,
) -> None:
    """Check whether a model fits."""
    from condgof.cli.check import Asked, Options, run_check  # pyarrow and the tests: only when it runs

    asked = Asked(
        x,
        y,
        by=by,
        categorical=categorical or (),
        groups=groups,
        mean=mean or (),
        std=std or (),
        family=family,
        param=param or (),
        draws=draws or (),
        quantiles=quantiles or (),
        interval=interval or (),
        coverage=coverage or (),
        pit=pit or (),
        score=score or (),
        prob=prob or (),
        count_mean=count_mean or (),
    )
    words = context.obj if isinstance(context.obj, tuple) else ("check", data)
    code = run_check(
        Options(
            data,
            asked,
            model=model,
            model_x=model_x,
            slices=tuple(slices or ()),
            tolerance=tolerance,
            order=order,
            alpha=alpha,
            seed=seed,
            threads=threads,
            dependence=dependence,
            classes=classes,
            ordered=ordered,
            drop_nulls=drop_nulls,
            report=report,
            as_json=as_json,
            quiet=quiet,
            fail_on_reject=fail_on_reject,
            command=shlex.join(("condgof", *words)),
        )
    )
    raise typer.Exit(code)
