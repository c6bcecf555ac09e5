"""The options of `condgof check`; what it does is in the folder of that name."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

COLUMNS_PANEL, MODEL_PANEL, OUTPUT_PANEL = "Columns", "Model", "Output"


HELP = (
    "Check whether a model fits: the verdict, where it fails, how, and how badly.\n\n"
    "The model is columns of the table (--mean and --std, or --score; of classes --prob, of counts "
    "--count-mean), or an object to import (--model). Rows must not be those that the model was fitted "
    "on, and independent unless --dependence or --groups says how they are not.\n\n"
    "A COLUMN is its name; or names with commas between; or a pattern such as 'feat_*', which leaves "
    "out columns that have another role; or a position, #0 being the first. A column of that very name "
    "goes before all else. Options with a COLUMN may be repeated.\n\n"
    "Exit code 0: it ran. 1: --fail-on-reject, and the model is rejected. 2: bad input or usage, with a "
    "message. 3: an internal error."
)
EXAMPLES = (
    "Examples:\n\n"
    "condgof check table.csv --x income --y food --mean mu --std sd --report out.html\n\n"
    "condgof check 'part-*.parquet' --x 'feat_*' --y y --score s --by region --json\n\n"
    "condgof check houses.csv --x rooms --x town --y price --model mymodels.py:fitted\n\n"
    "condgof check pets.csv --x weight --x age --y animal --prob p_cat --prob p_dog --report out.html"
)


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
        list[str],
        typer.Option(
            metavar="COLUMN",
            help="What y is modelled by. Text columns are categories.",
            show_default=False,
            rich_help_panel=COLUMNS_PANEL,
        ),
    ],
    y: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMN",
            help="What was observed.",
            show_default=False,
            rich_help_panel=COLUMNS_PANEL,
        ),
    ],
    mean: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Predicted mean, one for each of y.", rich_help_panel=COLUMNS_PANEL
        ),
    ] = None,
    std: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Predicted standard deviation, one for each of y.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="In place of --mean and --std: the derivative of log p(y|x) by y, one for each of y.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    prob: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Of classes: predicted probability, a column for each class of y (or one, for the "
            "second of two classes). Classes are called as the columns are, without what all of these "
            "begin or end with; or see --classes.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="What y calls the classes, with commas between, in the order of --prob; a name with a "
            "comma in it between double quotes.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    ordered: Annotated[
        bool,
        typer.Option(
            "--ordered",
            help="The order of the classes means something, such as grades or stages.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = False,
    count_mean: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Of counts: predicted mean of a Poisson model.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Check within each group; p-values are corrected for the number of groups.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Columns of x to take as categories though they hold numbers, such as codes.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows with the same value depend on each other, such as visits of one patient.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = None,
    dependence: Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH",
            help="Rows are in order of time, and those up to about this many rows apart depend on each "
            "other; or auto.",
        ),
    ] = None,
    drop_nulls: Annotated[
        bool,
        typer.Option(
            "--drop-nulls",
            help="Leave out rows with missing values, and say how many; they are an error otherwise.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A fitted model to import: package.module:name, or path/to/file.py:name. This runs "
            "the code in there: name only code that you trust. A function without arguments is called "
            "for the model. Pickle files are never opened.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    model_x: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            help="How the model gets x: frame (of pandas, with column names), array (n rows, a column "
            "for each of x), or auto, a frame where pandas is installed.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = "auto",
    alpha: Annotated[
        float, typer.Option(metavar="LEVEL", help="Level of the test, and of all that is named.")
    ] = 0.05,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="The same seed gives the same result.")
    ] = 0,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="One a core unless given; the result does not depend on it."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a report, one HTML file; a file of that name is replaced.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print one JSON document and nothing else; docs/json.md has its fields.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print the verdict only, one line.", rich_help_panel=OUTPUT_PANEL
        ),
    ] = False,
    fail_on_reject: Annotated[
        bool,
        typer.Option(
            "--fail-on-reject",
            help="Exit with 1 when the model is rejected, for pipelines.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = False,
) -> None:
    """Check whether a model fits."""
    from condgof.cli.check import Asked, Options, run_check  # pyarrow and the tests: only when it runs

    asked = Asked(
        x,
        y,
        mean or (),
        std or (),
        score or (),
        by,
        categorical or (),
        prob or (),
        count_mean or (),
        groups,
    )
    words = context.obj if isinstance(context.obj, tuple) else ("check", data)
    code = run_check(
        Options(
            data,
            asked,
            model=model,
            model_x=model_x,
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
