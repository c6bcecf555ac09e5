"""The commands and their options; what they do is in the files beside this one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from condgof.cli import _check, _compare
from condgof.study import METHODS, MISFITS, PAPER_TRIALS, PROBLEMS

SETTINGS = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    help="Does a model of y given x, with its uncertainty, fit the data? If not: where, and how?",
    context_settings=SETTINGS,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
paper = typer.Typer(
    help="Reproduce the paper's figures and tables.", context_settings=SETTINGS, no_args_is_help=True
)
app.add_typer(paper, name="paper")


def command() -> Callable[..., Any]:
    """Return the command line as a function of ``args``; it ends in SystemExit."""
    return typer.main.get_command(app)


Out = Annotated[
    Path,
    typer.Option(metavar="FOLDER", help="Folder for what is written; made when it is not there."),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Another seed gives other samples.")]
Workers = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Processes; one a core unless given.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Run on the Dask cluster at this address, such as tcp://host:8786."
    ),
]


@app.callback()
def _condgof() -> None:
    """Take no options of its own: every command has its own."""


app.command(help=_check.HELP, epilog=_check.EXAMPLES)(_check.check)
app.command(help=_compare.HELP, epilog=_compare.EXAMPLES)(_compare.compare)


@app.command(epilog="Example: condgof demo --out demo-output")
def demo(out: Out = Path("demo-output")) -> None:
    """Reject a model of the bundled data, see why, and check the next: text, reports, a figure."""
    from condgof.cli._demo import run_demo

    run_demo(out)


@app.command(
    epilog="Examples:\n\ncondgof study --problem qgm,hgm --method adaptive,kcsd --n 100,400 "
    "--trials 300 --out qgm-hgm\n\ncondgof study --model mycode:model --data x.csv "
    "--misfit shift=0.2,scale=1.3 --n 500 --out misfit"
)
def study(
    n: Annotated[str, typer.Option(metavar="SIZES", help="Sample sizes, as in 100,400.")],
    problem: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help=f"Problems: {', '.join(PROBLEMS)}, or your own as module:attr; separated by commas.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help=f"Tests: {', '.join(METHODS)}, or your own as module:attr; separated by commas. "
            "adaptive unless given.",
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, metavar="N", help="Samples of each problem and size.")
    ] = 300,
    out: Out = Path("study-output"),
    alpha: Annotated[
        float, typer.Option(metavar="LEVEL", help="Level at which p-values count as rejections.")
    ] = 0.05,
    seed: Seed = 0,
    workers: Workers = None,
    scheduler: Scheduler = None,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", metavar="", help="Try again the trials that ended in an error."),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A fitted model, module:attr or file.py:attr, which is imported: with n rows, what "
            "misfit could I have seen?",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --model: the x to draw from, a CSV file or .npy."),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(metavar="COLUMNS", help="With --data: the columns of x; all of them unless given."),
    ] = None,
    misfit: Annotated[
        str | None,
        typer.Option(
            metavar="MISFITS",
            help=f"With --model: misfits and sizes, of {', '.join(MISFITS)}. shift and tilt are in "
            "model standard deviations, scale is a ratio, outliers a share; shift=0 shows the level. "
            "shift=0,shift=0.2,scale=1.3 unless given.",
        ),
    ] = None,
) -> None:
    """Measure how often tests reject: their level where the model is true, their power where it is not.

    A study that was stopped, or killed, goes on where it was when the same command is run again.
    """
    from condgof.cli import _study

    problems = _study.read_problems(problem, model, data, x, misfit)
    _study.run(
        problems,
        _study.split(method) or ["adaptive"],
        _study.read_sizes(n),
        where=(workers, scheduler),
        out=out,
        options={"trials": trials, "alpha": alpha, "seed": seed, "retry_failed": retry_failed},
    )


@paper.command(epilog="Example: condgof paper power --out paper-power --quick")
def power(
    out: Out = Path("paper-power"),
    trials: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help=f"Samples of each; {PAPER_TRIALS} unless given."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="20 trials, for a first look.")
    ] = False,
    seed: Seed = 0,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Rejection rates of all tests on the paper's four problems: tables and the figure."""
    from condgof.cli import _paper

    _paper.run_power(out, trials or (20 if quick else PAPER_TRIALS), seed, (workers, scheduler))


@paper.command(epilog="Example: condgof paper criterion --out paper-criterion")
def criterion(
    out: Out = Path("paper-criterion"),
    n: Annotated[int, typer.Option(min=20, metavar="N", help="Rows of each sample.")] = 1000,
    seed: Seed = 0,
) -> None:
    """Power-criterion curves of the main text's illustration and of appendix B: one figure."""
    from condgof.cli import _paper

    _paper.run_criterion(out, n, seed)


@paper.command(
    epilog="Example: condgof paper taxi --train 'trips/2014*.parquet' --test trips/2015-01.parquet "
    "--unusual trips/2012-11-01_03.parquet --out paper-taxi"
)
def taxi(
    train: Annotated[
        list[str],
        typer.Option(metavar="FILE", help="Trips to train on: a file or a glob; may be given again."),
    ],
    test: Annotated[Path, typer.Option(metavar="FILE", help="Held-out trips to test on.")],
    also: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILES]...", help="More to train on, as a shell expands --train *.csv."),
    ] = None,
    more: Annotated[
        Path | None, typer.Option(metavar="FILE", help="More ordinary trips to test on.")
    ] = None,
    unusual: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Trips of unusual days, to be set beside the held-out ones."),
    ] = None,
    out: Out = Path("paper-taxi"),
    seed: Seed = 0,
) -> None:
    """New York's taxis: a mixture density network of drop-offs given pick-ups, tested; maps and numbers.

    Files are Parquet or CSV with coordinates, as the city published them until June 2016. A network that
    an earlier run left in the folder is not trained again.
    """
    from condgof.cli import _taxi

    files = _taxi.TaxiFiles(_taxi.matching([*train, *(also or [])]), test, more, unusual)
    _taxi.run_taxi(files, out, plan=_taxi.TaxiPlan(seed=seed))
