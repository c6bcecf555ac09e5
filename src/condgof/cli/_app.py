"""The commands and their options; what they do is in the files beside this one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer

from condgof.cli import _check, _compare, _options, _watch
from condgof.cli._options import Many, One, Option
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


def _out(folder: str) -> Option:
    text = "Folder for what is written; made when it is not there."
    return Option("out", Path, "FOLDER", None, Path(folder), text)


SEED = Option("seed", int, "N", None, 0, "Another seed gives other samples.", 0)
WHERE = (
    Option("workers", int | None, "N", None, None, "Processes; one a core unless given.", 1),
    Option("scheduler", One, "URL", None, None, "Run on the Dask cluster at this address, such as "
        "tcp://host:8786."),
)  # fmt: skip
STUDY_HELP = (
    "Measure how often tests reject: their level where the model is true, their power where it is not."
    "\n\nA study that was stopped, or killed, goes on where it was when the same command is run again."
)
STUDY_EXAMPLES = (
    "Examples:\n\ncondgof study --problem qgm,hgm --method adaptive,kcsd --n 100,400 "
    "--trials 300 --out qgm-hgm\n\ncondgof study --model mycode:model --data x.csv "
    "--misfit shift=0.2,scale=1.3 --n 500 --out misfit"
)
STUDY = (
    Option("n", str, "SIZES", None, ..., "Sample sizes, as in 100,400."),
    Option("problem", Many, "NAMES", None, None,
        f"Problems: {', '.join(PROBLEMS)}, or your own as module:attr; separated by commas."),
    Option("method", Many, "NAMES", None, None, f"Tests: {', '.join(METHODS)}, or your own as "
        "module:attr; separated by commas. adaptive unless given."),
    Option("trials", int, "N", None, 300, "Samples of each problem and size.", 1),
    _out("study-output"),
    Option("alpha", float, "LEVEL", None, 0.05, "Level at which p-values count as rejections."),
    SEED,
    *WHERE,
    Option("retry-failed", bool, "", None, False, "Try again the trials that ended in an error."),
    Option("model", One, "ADDRESS", None, None, "A fitted model, module:attr or file.py:attr, which is "
        "imported: with n rows, what misfit could I have seen?"),
    Option("data", Path | None, "FILE", None, None,
        "With --model: the x to draw from, a CSV file or .npy."),
    Option("x", One, "COLUMNS", None, None,
        "With --data: the columns of x; all of them unless given."),
    Option("misfit", One, "MISFITS", None, None, f"With --model: misfits and sizes, of "
        f"{', '.join(MISFITS)}. shift and tilt are in model standard deviations, scale is a ratio, "
        "outliers a share; shift=0 shows the level. shift=0,shift=0.2,scale=1.3 unless given."),
)  # fmt: skip
POWER = (
    _out("paper-power"),
    Option("trials", int | None, "N", None, None, f"Samples of each; {PAPER_TRIALS} unless given.", 1),
    Option("quick", bool, "", None, False, "20 trials, for a first look."),
    SEED,
    *WHERE,
)
CRITERION = (
    _out("paper-criterion"),
    Option("n", int, "N", None, 1000, "Rows of each sample.", 20),
    SEED,
)


@app.callback()
def _condgof() -> None:
    """Take no options of its own: every command has its own."""


app.command(help=_check.HELP, epilog=_check.EXAMPLES)(_check.check)
app.command(help=_compare.COMPARE_HELP, epilog=_compare.COMPARE_EXAMPLES)(_compare.compare)
app.command(help=_compare.RANK_HELP, epilog=_compare.RANK_EXAMPLES)(_compare.rank)
app.command(help=_watch.HELP, epilog=_watch.EXAMPLES)(_watch.watch)


def _demo(given: Mapping[str, Any]) -> int:
    from condgof.cli import _demo

    _demo.run_demo(given["out"])
    return 0


def _study(given: Mapping[str, Any]) -> int:
    from condgof.cli import _study

    problems = (given[name] for name in ("problem", "model", "data", "x", "misfit"))
    _study.run(
        _study.read_problems(*problems),
        _study.split(given["method"]) or ["adaptive"],
        _study.read_sizes(given["n"]),
        where=(given["workers"], given["scheduler"]),
        out=given["out"],
        options={name: given[name] for name in ("trials", "alpha", "seed", "retry_failed")},
    )
    return 0


def _power(given: Mapping[str, Any]) -> int:
    from condgof.cli import _study

    trials = given["trials"] or (20 if given["quick"] else PAPER_TRIALS)
    _study.run_power(given["out"], trials, given["seed"], (given["workers"], given["scheduler"]))
    return 0


def _criterion(given: Mapping[str, Any]) -> int:
    from condgof.cli import _study

    _study.run_criterion(given["out"], given["n"], given["seed"])
    return 0


app.command(
    help="Reject a model of the bundled data, see why, and check the next: text, reports, a figure.",
    epilog="Example: condgof demo --out demo-output",
)(_options.command("demo", [_out("demo-output")], _demo, None))
app.command(help=STUDY_HELP, epilog=STUDY_EXAMPLES)(_options.command("study", STUDY, _study, None))
paper.command(
    help="Rejection rates of all tests on the paper's four problems: tables and the figure.",
    epilog="Example: condgof paper power --out paper-power --quick",
)(_options.command("power", POWER, _power, None))
paper.command(
    help="Power-criterion curves of the main text's illustration and of appendix B: one figure.",
    epilog="Example: condgof paper criterion --out paper-criterion",
)(_options.command("criterion", CRITERION, _criterion, None))
