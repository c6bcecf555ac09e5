"""The options of `condgof compare`; what it does is in the folder of that name."""

from __future__ import annotations

import shlex
from typing import Annotated, TypeAlias

import typer

COLUMNS_PANEL, A_PANEL, B_PANEL, OUTPUT_PANEL = "Columns", "Model a", "Model b", "Output"

HELP = (
    "Compare two models of the same data: which fits worse, by how much, and where.\n\n"
    "Each model is columns of the table (--a-mean and --a-std, or --a-score), or an object to import "
    "(--a-model); the same for b, in any mixture. Both may be wrong: `condgof check` says whether one "
    "fits. Rows must be independent, and not those that a model was fitted on.\n\n"
    "A COLUMN is given as in `condgof check`.\n\n"
    "Exit code 0: it ran. 1: --fail-on-reject, and one model fits worse. 2: bad input or usage, with a "
    "message. 3: an internal error."
)
EXAMPLES = (
    "Examples:\n\n"
    "condgof compare table.csv --x income --y food --a-mean mu1 --a-std sd1 --b-mean mu2 --b-std sd2\n\n"
    "condgof compare 'part-*.parquet' --x 'feat_*' --y y --a-score s_old --b-score s_new "
    "--a-name old --b-name new --alternative greater --json\n\n"
    "condgof compare houses.csv --x rooms --y price --a-mean mu --a-std sd --b-model mymodels.py:fitted"
)
Many: TypeAlias = list[str] | None


def _columns(text: str, panel: str) -> object:
    return typer.Option(metavar="COLUMN", help=text, rich_help_panel=panel)


def _address(panel: str) -> object:
    return typer.Option(
        metavar="ADDRESS",
        help="A fitted model to import: package.module:name, or path/to/file.py:name. This runs "
        "the code in there: name only code that you trust.",
        rich_help_panel=panel,
    )


def _name(letter: str, panel: str) -> object:
    return typer.Option(metavar="TEXT", help=f"What to call model {letter}.", rich_help_panel=panel)


MEAN, STD = "Predicted mean, one for each of y.", "Predicted standard deviation, one for each of y."
SCORE = "In place of mean and std: the derivative of log p(y|x) by y, one for each of y."


def compare(
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
    categorical: Annotated[
        Many,
        _columns("Columns of x to take as categories though they hold numbers.", COLUMNS_PANEL),
    ] = None,
    drop_nulls: Annotated[
        bool,
        typer.Option(
            "--drop-nulls",
            metavar="",
            help="Leave out rows with missing values, and say how many; they are an error otherwise.",
            rich_help_panel=COLUMNS_PANEL,
        ),
    ] = False,
    a_mean: Annotated[Many, _columns(MEAN, A_PANEL)] = None,
    a_std: Annotated[Many, _columns(STD, A_PANEL)] = None,
    a_score: Annotated[Many, _columns(SCORE, A_PANEL)] = None,
    a_model: Annotated[str | None, _address(A_PANEL)] = None,
    a_name: Annotated[str, _name("a", A_PANEL)] = "a",
    b_mean: Annotated[Many, _columns(MEAN, B_PANEL)] = None,
    b_std: Annotated[Many, _columns(STD, B_PANEL)] = None,
    b_score: Annotated[Many, _columns(SCORE, B_PANEL)] = None,
    b_model: Annotated[str | None, _address(B_PANEL)] = None,
    b_name: Annotated[str, _name("b", B_PANEL)] = "b",
    model_x: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            help="How models that are imported get x: frame, array, or auto, a frame where pandas is "
            "installed.",
        ),
    ] = "auto",
    alternative: Annotated[
        str,
        typer.Option(
            metavar="SIDE", help="two-sided; greater: a fits worse than b; less: b fits worse than a."
        ),
    ] = "two-sided",
    alpha: Annotated[float, typer.Option(metavar="LEVEL", help="Level of the test.")] = 0.05,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="The same seed gives the same result.")
    ] = 0,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="One a core unless given; the result does not depend on it."
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            metavar="",
            help="Print one JSON document and nothing else.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            metavar="",
            help="Print the verdict only, one line.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = False,
    fail_on_reject: Annotated[
        bool,
        typer.Option(
            "--fail-on-reject",
            metavar="",
            help="Exit with 1 when one model fits worse, for pipelines: with --alternative greater, "
            "when a does.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = False,
) -> None:
    """Compare two models of the same data."""
    from condgof.cli.compare import Options, Side, run_compare  # the tests: only when it runs

    words = context.obj if isinstance(context.obj, tuple) else ("compare", data)
    code = run_compare(
        Options(
            data,
            tuple(x),
            tuple(y),
            (
                Side("a", a_name, a_mean or (), a_std or (), a_score or (), a_model),
                Side("b", b_name, b_mean or (), b_std or (), b_score or (), b_model),
            ),
            categorical=tuple(categorical or ()),
            model_x=model_x,
            alternative=alternative,
            alpha=alpha,
            seed=seed,
            threads=threads,
            drop_nulls=drop_nulls,
            as_json=as_json,
            quiet=quiet,
            fail_on_reject=fail_on_reject,
            command=shlex.join(("condgof", *words)),
        )
    )
    raise typer.Exit(code)
