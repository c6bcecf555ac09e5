"""`condgof study` and `condgof paper`: read the options, run, show the tables, draw the figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import typer

from condgof._typing import FloatArray
from condgof.cli import tell
from condgof.cli._app import Many, One, Option, command, out_option
from condgof.cli._load import open_table
from condgof.cli._model import modules_from_here, running
from condgof.cli._output import write_whole
from condgof.cli._roles import Given, number_of, pick
from condgof.errors import InputError, MissingPackageError, check_finite, require
from condgof.report._studies import draw_criterion, draw_power
from condgof.sample._table import NUMBERS
from condgof.study import PROBLEMS, misfit_of, run_study
from condgof.study._examples import (
    ILLUSTRATIONS,
    PAPER_METHODS,
    PAPER_SIZES,
    PAPER_TRIALS,
    illustrate,
)
from condgof.study._names import METHODS, Reference
from condgof.study._problems import MISFITS

DEFAULT_MISFITS = "shift=0,shift=0.2,scale=1.3"
YOURS = "A model, problem or test of yours"
SEED = Option("seed", int, "N", None, 0, "Another seed gives other samples.", 0)
WHERE = (
    Option("workers", int | None, "N", None, None, "Processes; one a core unless given.", 1),
    Option("scheduler", One, "URL", None, None, "Run on the Dask cluster at this address, such as "
        "tcp://host:8786."),
)  # fmt: skip
STUDY_HELP = (
    "Measure how often tests reject: their level where the model is true, their power where"
    " it is not.\n\nA study that was stopped, or killed, goes on where it was when the same"
    " command is run again."
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
    out_option("study-output"),
    Option("alpha", float, "LEVEL", None, 0.05, "Level at which p-values count as rejections."),
    SEED,
    *WHERE,
    Option("model", One, "ADDRESS", None, None, "A fitted model, module:attr or file.py:attr, which is "
        "imported: with n rows, what misfit could I have seen?"),
    Option("data", One, "FILE", None, None,
        "With --model: the x to draw from, a Parquet, CSV or Feather file."),
    Option("x", One, "COLUMNS", None, None, "With --data: the columns of x; all unless given."),
    Option("misfit", One, "MISFITS", None, None, f"With --model: misfits and sizes, of "
        f"{' and '.join(MISFITS)}. shift is in model standard deviations, scale is a ratio; shift=0 "
        "shows the level. shift=0,shift=0.2,scale=1.3 unless given."),
)  # fmt: skip
POWER_HELP = (
    "Rejection rates of all tests on the paper's four problems: tables and the figure."
)
POWER = (
    out_option("paper-power"),
    Option("trials", int, "N", None, PAPER_TRIALS, "Samples of each.", 1),
    SEED,
    *WHERE,
)
CRITERION_HELP = (
    "Power-criterion curves of the main text's illustration and of appendix B: one figure."
)
CRITERION_EXAMPLE = "Example: condgof paper criterion --out paper-criterion"
ROWS = Option("n", int, "N", None, 1000, "Rows of each sample.", 20)
CRITERION = (out_option("paper-criterion"), ROWS, SEED)


@command("study", STUDY, STUDY_HELP, STUDY_EXAMPLES, None)
def study(given: Given) -> int:
    problems, methods = read_problems(given), split(given["method"]) or ["adaptive"]
    try:
        sizes = [int(part) for part in split(given["n"])]
    except ValueError as error:
        raise InputError(
            f"--n takes whole numbers, as in 100,400; got {given['n']!r}."
        ) from error
    return run(
        problems, methods, sizes, given, trials=given["trials"], alpha=given["alpha"]
    )


@command(
    "power",
    POWER,
    POWER_HELP,
    "Example: condgof paper power --out paper-power --trials 20",
    None,
)
def power(given: Given) -> int:
    return run(list(PAPER_SIZES), PAPER_METHODS, PAPER_SIZES, given, trials=given["trials"])


@command("criterion", CRITERION, CRITERION_HELP, CRITERION_EXAMPLE, None)
def criterion(given: Given) -> int:
    out, n = given["out"], given["n"]
    illustrations = [illustrate(name, n=n, rng=given["seed"]) for name in ILLUSTRATIONS]
    lines = ["problem,v,criterion"]
    for one in illustrations:
        highest = f"x = {one.top:.2f} ({one.criterion.max():.3f})"
        print(f"{one.name:15} criterion highest at {highest}, n = {n}")
        points = zip(one.grid, one.criterion, strict=True)
        lines += [f"{one.name},{v:.6g},{value:.6g}" for v, value in points]
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "criterion.csv", "\n".join([*lines, ""]))
    print(f"Curves: {out / 'criterion.csv'}")
    draw_criterion(illustrations).savefig(out / "criterion.png", dpi=150)
    print(f"Figure: {out / 'criterion.png'}")
    return 0


def run(problems: object, methods: object, n: object, given: Given, **options: Any) -> int:
    """Run a study, print its table, write everything, and return the exit code."""
    out: Path = given["out"]
    options |= {"rng": given["seed"], "out": out}
    try:
        with _engine(given) as engine, running(what=YOURS):
            study = run_study(problems, methods, n, engine=engine, **options)
    except KeyboardInterrupt:
        tell(f"stopped. What is finished is in {out}; run the same command again to go on.")
        raise typer.Exit(130) from None
    print(
        f"{study}\n\nTables: {out / 'table.txt'} (.csv, .json, .md). Trials:"
        f" {out / 'trials.jsonl'}."
    )
    try:
        draw_power(study).savefig(out / "power.png", dpi=150)
        print(f"Figure: {out / 'power.png'}")
    except MissingPackageError as error:
        tell(f"no figure. {error}")
    if refuted := study.refuted():
        what = (
            "trials have observations outside the model's support and count as rejections"
        )
        tell(f"{len(refuted)} {what}. The first ({refuted[0].at}): {refuted[0].note}")
    if failed := study.failures():
        total = len(study.cells()) * study.trials
        text = (
            f"{len(failed)} of {total} trials failed. The first ({failed[0].at}):"
            f" {failed[0].error}"
        )
        if len(failed) == total:
            raise InputError(text)
        tell(f"{text} (the same command tries them again)")
    return 0


def split(values: Iterable[str] | str | None) -> list[str]:
    text = values if isinstance(values, str) else ",".join(values or ())
    return [part.strip() for part in text.split(",") if part.strip()]


def read_problems(given: Given) -> list[Any]:
    """Read the problems by name, and the misfits of the user's own model."""
    modules_from_here()
    problems: list[Any] = [*split(given["problem"])]
    model, data, columns, misfits = (
        given[name] for name in ("model", "data", "x", "misfit")
    )
    if model is None:
        if data is not None or misfits is not None or columns is not None:
            raise InputError(
                "--data, --x and --misfit belong to --model, which is missing."
            )
    elif data is None:
        raise InputError("--model needs --data, a file with the x to draw from.")
    else:
        x = _read_x(data, split(columns))
        for text in split(misfits or DEFAULT_MISFITS):
            kind, _, size = text.partition("=")
            if number_of(size) is None:
                form = "--misfit takes kind=size, as in shift=0.2,scale=1.3"
                raise InputError(f"{form}; got {text!r}. There are: {', '.join(MISFITS)}.")
            with running(what=YOURS):
                problems.append(misfit_of(Reference(model), x, kind.strip(), float(size)))
    if not problems:
        raise InputError("A study needs --problem (such as qgm), or --model with --data.")
    return problems


def _read_x(path: str, columns: list[str]) -> FloatArray:
    """Read columns of x, (n, d), or all."""
    table = open_table(path)
    if all(number_of(name) is not None for name in table.names):
        raise InputError(
            f"{path} has no first line with the names of its columns. Add one."
        )
    names = pick(columns, table.names, table.label, "--x") if columns else table.names
    batches = table.reading(dict.fromkeys(names, NUMBERS)).batches()
    parts = [np.column_stack(list(batch.values())) for batch in batches]
    x = np.concatenate([np.empty((0, len(names))), *parts])
    check_finite(x, path, "Leave those rows out.")
    return x


@contextmanager
def _engine(given: Given) -> Iterator[Any]:
    """Give where to run: a number of processes, or a cluster."""
    workers, scheduler = given["workers"], given["scheduler"]
    if scheduler is None:
        yield workers
        return
    if workers is not None:
        raise InputError(
            "Give --workers (processes here) or --scheduler (a cluster), not both."
        )
    distributed = require("distributed", "dask", "--scheduler")
    try:
        client = distributed.Client(scheduler, timeout=20)
    except (ValueError, TypeError) as error:
        form = "the address of a Dask scheduler, such as tcp://host:8786"
        raise InputError(
            f"--scheduler must be {form}, got {scheduler!r}: {error}."
        ) from error
    with client:
        yield client
