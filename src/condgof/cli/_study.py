"""`condgof study` and `condgof paper`: options; run, print the tables, draw figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer

from condgof.cli import print_message
from condgof.cli._app import Group, Option, command
from condgof.cli._columns import ColumnNames, parse_number
from condgof.cli._load import open_table
from condgof.cli._model import add_current_folder, user_errors
from condgof.cli._options import OutOption, check_level
from condgof.cli._output import naming, write_whole
from condgof.errors import InputError, MissingPackageError, refuse_rows, require
from condgof.null import default_draws
from condgof.report import draw_criterion, draw_power
from condgof.sample import ANY, TEXT, Csv, Frame, Kind, missing_in
from condgof.study import (
    ILLUSTRATIONS,
    METHODS,
    MISFITS,
    PAPER_METHODS,
    PAPER_SIZES,
    PAPER_TRIALS,
    PROBLEMS,
    Reference,
    Study,
    illustrate,
    misfit_of,
    run_study,
)

#: Misfits of a user's model unless others are asked for.
DEFAULT_MISFITS = "shift=0,shift=0.2,scale=1.3"
#: The tests of a study unless others are asked for.
DEFAULT_METHODS = ["adaptive"]
#: The level of the paper's tables.
PAPER_ALPHA = 0.05
#: Seconds to wait for a Dask scheduler.
SCHEDULER_TIMEOUT = 20
FIGURE_DPI = 150
#: What to do about missing values of x.
ADVICE = "Leave those rows out."
#: Who is blamed for errors in code that the study imports.
USERS_CODE = "A model, problem or test of yours"


SampleSeed: TypeAlias = Annotated[
    int, Option(metavar="N", minimum=0, help="Another seed gives other samples.")
]


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Where a study runs."""

    workers: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=1,
            help="Processes; one a core unless given.",
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="Run on the Dask cluster at this address, such as tcp://host:8786.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """The options of `condgof study`."""

    n: Annotated[
        str,
        Option(
            metavar="SIZES",
            help="Sample sizes, as in 100,400.",
        ),
    ]
    problem: Annotated[
        list[str] | None,
        Option(
            metavar="NAMES",
            help=(
                f"Problems: {', '.join(PROBLEMS)}, or your own as module:attr; separated by"
                " commas."
            ),
        ),
    ] = None
    method: Annotated[
        list[str] | None,
        Option(
            metavar="NAMES",
            help=(
                f"Tests: {', '.join(METHODS)}, or your own as module:attr; separated by"
                " commas. adaptive unless given."
            ),
        ),
    ] = None
    trials: Annotated[
        int,
        Option(
            metavar="N",
            minimum=1,
            help="Samples of each problem and size.",
        ),
    ] = 300
    out: OutOption = Path("study-output")
    alpha: Annotated[
        float,
        Option(
            metavar="LEVEL",
            help="Level at which p-values count as rejections.",
        ),
    ] = 0.05
    seed: SampleSeed = 0
    engine: Annotated[EngineOptions, Group()]
    model: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help=(
                "A fitted model, module:attr or file.py:attr, which is imported: with n"
                " rows, what misfit could I have seen?"
            ),
        ),
    ] = None
    data: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="With --model: the x to draw from, a Parquet, CSV or Feather file.",
        ),
    ] = None
    x: Annotated[
        str | None,
        Option(
            metavar="COLUMNS",
            help="With --data: the columns of x; all unless given.",
        ),
    ] = None
    categorical: Annotated[
        str | None,
        Option(
            metavar="COLUMNS",
            help="With --data: columns of x that hold categories in numbers.",
        ),
    ] = None
    misfit: Annotated[
        str | None,
        Option(
            metavar="MISFITS",
            help=(
                f"With --model: misfits and sizes, of {' and '.join(MISFITS)}. shift is in"
                " model standard deviations, scale is a ratio; shift=0 shows the level."
                f" {DEFAULT_MISFITS} unless given."
            ),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class PowerOptions:
    """The options of `condgof paper power`."""

    out: OutOption = Path("paper-power")
    trials: Annotated[
        int,
        Option(
            metavar="N",
            minimum=1,
            help="Samples of each.",
        ),
    ] = PAPER_TRIALS
    seed: SampleSeed = 0
    engine: Annotated[EngineOptions, Group()]


@dataclass(frozen=True, kw_only=True)
class CriterionOptions:
    """The options of `condgof paper criterion`."""

    out: OutOption = Path("paper-criterion")
    n: Annotated[
        int,
        Option(
            metavar="N",
            minimum=20,
            help="Rows of each sample.",
        ),
    ] = 1000
    seed: SampleSeed = 0


@command(
    StudyOptions,
    help=(
        "Measure how often tests reject: their level where the model is true, their power"
        " where it is not.\n\nA study that was stopped, or killed, goes on where it was"
        " when the same command is run again."
    ),
    examples=(
        "Examples:\n\ncondgof study --problem qgm,hgm --method adaptive,kcsd --n 100,400 "
        "--trials 300 --out qgm-hgm\n\ncondgof study --model mycode:model --data x.csv "
        "--misfit shift=0.2,scale=1.3 --n 500 --out misfit"
    ),
)
def study(options: StudyOptions, command_line: str) -> int:
    """Run `condgof study`, and return its exit code."""
    problems = _read_problems(options)
    methods = split(options.method) or DEFAULT_METHODS
    for method in methods:
        if method in METHODS:
            check_level(options.alpha, default_draws(METHODS[method].test), "study")
    try:
        sizes = [int(part) for part in split([options.n])]
    except ValueError as error:
        raise InputError(
            f"--n takes whole numbers, as in 100,400; got {options.n!r}."
        ) from error
    result = _run(
        problems,
        methods,
        sizes,
        trials=options.trials,
        alpha=options.alpha,
        seed=options.seed,
        out=options.out,
        engine=options.engine,
    )
    _show(result, options.out)
    return 0


@command(
    PowerOptions,
    help=(
        "Rejection rates of all tests on the paper's four problems: tables and the figure."
    ),
    examples="Example: condgof paper power --out paper-power --trials 20",
)
def power(options: PowerOptions, command_line: str) -> int:
    """Run `condgof paper power`, and return its exit code."""
    result = _run(
        list(PAPER_SIZES),
        PAPER_METHODS,
        PAPER_SIZES,
        trials=options.trials,
        alpha=PAPER_ALPHA,
        seed=options.seed,
        out=options.out,
        engine=options.engine,
    )
    _show(result, options.out)
    return 0


@command(
    CriterionOptions,
    help=(
        "Power-criterion curves of the main text's illustration and of appendix B: one"
        " figure."
    ),
    examples="Example: condgof paper criterion --out paper-criterion",
)
def criterion(options: CriterionOptions, command_line: str) -> int:
    """Run `condgof paper criterion`, and return its exit code."""
    n = options.n
    illustrations = [illustrate(name, n=n, rng=options.seed) for name in ILLUSTRATIONS]
    lines = ["problem,v,criterion"]
    for each in illustrations:
        highest = f"x = {each.top:.2f} ({each.criterion.max():.3f})"
        print(f"{each.name:15} criterion highest at {highest}, n = {n}")
        for v, value in zip(each.grid, each.criterion, strict=True):
            lines.append(f"{each.name},{v:.6g},{value:.6g}")
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / "criterion.csv"
    write_whole(table, "\n".join([*lines, ""]))
    print(f"Curves: {table}")
    figure = options.out / "criterion.png"
    draw_criterion(illustrations).savefig(figure, dpi=FIGURE_DPI)
    print(f"Figure: {figure}")
    return 0


def _run(
    problems: Sequence[Any],
    methods: Sequence[str],
    sizes: Sequence[int] | Mapping[str, Sequence[int]],
    *,
    trials: int,
    alpha: float,
    seed: int,
    out: Path,
    engine: EngineOptions,
) -> Study:
    """Run a study; one that is stopped by Ctrl-C ends with the exit code 130."""
    try:
        with _workers(engine) as workers, naming(out), user_errors(USERS_CODE):
            return run_study(
                problems,
                methods,
                sizes,
                trials=trials,
                alpha=alpha,
                rng=seed,
                engine=workers,
                out=out,
            )
    except KeyboardInterrupt:
        print_message(
            f"stopped. What is finished is in {out}; run the same command again to go on."
        )
        raise typer.Exit(130) from None


def _show(result: Study, out: Path) -> None:
    """Print the table of a study, draw its figure, and warn of trials that went wrong."""
    print(
        f"{result}\n\nTables: {out / 'table.txt'} (.csv, .json, .md). Trials:"
        f" {out / 'trials.jsonl'}."
    )
    try:
        draw_power(result).savefig(out / "power.png", dpi=FIGURE_DPI)
        print(f"Figure: {out / 'power.png'}")
    except MissingPackageError as error:
        print_message(f"no figure. {error}")
    refuted = result.refuted()
    if refuted:
        print_message(
            f"{len(refuted)} trials have observations outside the model's support and count"
            f" as rejections. The first ({refuted[0].at}): {refuted[0].note}"
        )
    failures = result.failures()
    if failures:
        total = len(result.cells()) * result.trials
        message = (
            f"{len(failures)} of {total} trials failed. The first ({failures[0].at}):"
            f" {failures[0].error}"
        )
        if len(failures) == total:
            raise InputError(message)
        print_message(f"{message} (the same command tries them again)")


def split(words: Iterable[str] | None) -> list[str]:
    """Split words at commas, and leave out what is empty."""
    parts = [part.strip() for part in ",".join(words or ()).split(",")]
    return [part for part in parts if part]


def _read_problems(options: StudyOptions) -> list[Any]:
    """Return the problems by name, and the misfits of the user's own model."""
    add_current_folder()
    problems: list[Any] = [*split(options.problem)]
    if options.model is None:
        of_model = (options.data, options.misfit, options.x, options.categorical)
        if any(value is not None for value in of_model):
            raise InputError(
                "--data, --x, --categorical and --misfit belong to --model, which is"
                " missing."
            )
    elif options.data is None:
        raise InputError("--model needs --data, a file with the x to draw from.")
    else:
        columns = [] if options.x is None else split([options.x])
        x = _read_x(options.data, columns, split([options.categorical or ""]))
        for text in split([options.misfit or DEFAULT_MISFITS]):
            problems.append(_misfit(Reference(options.model), x, text))
    if not problems:
        raise InputError("A study needs --problem (such as qgm), or --model with --data.")
    return problems


def _misfit(model: Reference, x: Any, text: str) -> Any:
    """Return the problem of a model with a misfit such as "shift=0.2".

    x is an array (n, d) or a frame.
    """
    kind, _, size = text.partition("=")
    number = parse_number(size)
    if number is None:
        raise InputError(
            f"--misfit takes kind=size, as in shift=0.2,scale=1.3; got {text!r}. There are:"
            f" {', '.join(MISFITS)}."
        )
    with user_errors(USERS_CODE):
        return misfit_of(model, x, kind.strip(), number)


def _read_x(path: str, columns: list[str], categorical: list[str]) -> Any:
    """Read columns of x, or all where none are named.

    Returns
    -------
    array (n, d), or a frame where a column holds text or dates
    """
    table = open_table(path, Csv())
    if all(parse_number(name) is not None for name in table.names):
        raise InputError(
            f"{path} has no first line with the names of its columns. Add one."
        )
    names = table.names
    if columns:
        names = ColumnNames(table.label, table.names).pick(columns, "--x")
    picked: Sequence[str] = ()
    if categorical:
        picked = ColumnNames(table.label, table.names).pick(categorical, "--categorical")
    wanted = {name: TEXT if name in picked else ANY for name in names}
    table = table.reading(wanted)
    for name, kind in table.kinds.items():
        if kind is Kind.TEXT and name not in picked:
            table.refuse_number_text(name, table.levels(name))
    parts = list(table.batches())
    if not parts:
        raise InputError(f"{path} has no rows. A study draws rows of x from it.")
    x = {name: np.concatenate([part[name] for part in parts]) for name in names}
    for name, values in x.items():
        refuse_rows(
            missing_in(values), f"Column {name!r} of {path} has missing values", ADVICE
        )
    if all(kind is Kind.NUMBERS for kind in table.kinds.values()):
        return np.column_stack(list(x.values())).astype(np.float64)
    return Frame(x, categorical=frozenset(picked)).pandas()


@contextmanager
def _workers(options: EngineOptions) -> Iterator[Any]:
    """Give where to run: a number of processes, None for one a core, or a Dask client."""
    if options.scheduler is None:
        yield options.workers
        return
    if options.workers is not None:
        raise InputError(
            "Give --workers (processes here) or --scheduler (a cluster), not both."
        )
    distributed = require("distributed", "dask", "--scheduler")
    try:
        client = distributed.Client(options.scheduler, timeout=SCHEDULER_TIMEOUT)
    except (ValueError, TypeError) as error:
        raise InputError(
            "--scheduler must be the address of a Dask scheduler, such as tcp://host:8786,"
            f" got {options.scheduler!r}: {error}."
        ) from error
    with client:
        yield client
