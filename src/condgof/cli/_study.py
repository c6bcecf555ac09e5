"""`condgof study` and `condgof paper`: read the options, run, show the tables, draw the figures."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import typer

from condgof._typing import FloatArray
from condgof.cli._progress import progress_bar
from condgof.cli.check import modules_from_here, number_of, users_line
from condgof.errors import CondgofError, InputError, MissingPackageError, check_finite, require
from condgof.report import draw_criterion, draw_power
from condgof.sample import as_numbers
from condgof.study import (
    ILLUSTRATIONS,
    MISFITS,
    PAPER_METHODS,
    PAPER_SIZES,
    Illustration,
    Reference,
    Study,
    illustrate,
    misfit_of,
    run_study,
)

#: A number of processes here, or the address of a cluster.
Where: TypeAlias = tuple[int | None, str | None]
DEFAULT_MISFITS = "shift=0,shift=0.2,scale=1.3"


def run(
    problems: Any, methods: Any, n: Any, *, where: Where, out: Path, options: dict[str, Any]
) -> Study:
    """Run a study with a progress bar, print its table and write everything to `out`."""
    try:
        with _engine(*where) as engine, progress_bar() as progress, _staying():
            study = run_study(
                problems, methods, n, out=out, engine=engine, progress=progress, say=tell, **options
            )
    except KeyboardInterrupt:
        tell(f"stopped. What is finished is in {out}; run the same command again to go on.")
        raise typer.Exit(130) from None
    print(study)
    print(f"\nTables: {out / 'table.txt'} (.csv, .json, .md). Trials: {out / 'trials.jsonl'}.")
    try:
        path = out / "power.png"
        draw_power(study).savefig(path, dpi=150)
        print(f"Figure: {path}")
    except MissingPackageError as error:
        tell(f"no figure. {error}")
    _tell_failures(study)
    return study


def _tell_failures(study: Study) -> None:
    refuted = study.refuted()
    if refuted:
        tell(
            f"{len(refuted)} trials have observations outside the model's support and count as "
            f"rejections. The first ({refuted[0].at}): {refuted[0].note}"
        )
    failed = study.failures()
    if not failed:
        return
    total = len(study.cells()) * study.trials
    text = f"{len(failed)} of {total} trials failed. The first ({failed[0].at}): {failed[0].error}"
    if len(failed) == total:
        raise InputError(text)
    tell(f"{text} (--retry-failed tries them again)")


def tell(text: str) -> None:
    """Say something that is not a result."""
    print(f"condgof: {text}", file=sys.stderr)


def split(values: Iterable[str] | str | None) -> list[str]:
    """Split at commas, in one option or several."""
    given = [values] if isinstance(values, str) else list(values or [])
    return [part.strip() for value in given for part in value.split(",") if part.strip()]


def read_sizes(text: str) -> list[int]:
    """Read sample sizes."""
    try:
        return [int(part) for part in split(text)]
    except ValueError as error:
        raise InputError(f"--n takes whole numbers, as in 100,400; got {text!r}.") from error


def read_problems(
    names: list[str] | None,
    model: str | None,
    data: Path | None,
    columns: str | None,
    misfits: str | None,
) -> list[Any]:
    """Read the problems by name, and the misfits of the user's own model."""
    modules_from_here()
    problems: list[Any] = [*split(names)]
    if model is None:
        if data is not None or misfits is not None or columns is not None:
            raise InputError("--data, --x and --misfit belong to --model, which is missing.")
    elif data is None:
        raise InputError("--model needs --data, a file with the x to draw from.")
    else:
        x = _read_x(data, split(columns))
        for text in split(misfits or DEFAULT_MISFITS):
            kind, size = _misfit(text)
            with _staying():
                problems.append(misfit_of(Reference(model), x, kind, size))
    if not problems:
        raise InputError("A study needs --problem (such as qgm), or --model with --data.")
    return problems


def _read_x(path: Path, columns: list[str]) -> FloatArray:
    """Read columns of x, (n, d), or all: a CSV file whose first line may name them, or a .npy array."""
    x = _read_npy(path, columns) if path.suffix == ".npy" else _read_csv(path, columns)
    if x.size == 0:
        raise InputError(f"{path} has no rows.")
    check_finite(x, str(path), "Leave those rows out.")
    return x


def _read_npy(path: Path, columns: list[str]) -> FloatArray:
    if columns:
        raise InputError(f"{path} is an array: its columns have no names. Leave out --x.")
    try:
        array = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise InputError(f"{path} is not an array of numbers: {error}") from error
    values = as_numbers(array, str(path)).astype(np.float64)
    return values[:, None] if values.ndim == 1 else values


def _read_csv(path: Path, columns: list[str]) -> FloatArray:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [(i, line) for i, line in enumerate(csv.reader(file), 1) if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file: {error}") from error
    if not lines:
        raise InputError(f"{path} is empty.")
    names = [name.strip() for name in lines[0][1]]
    if all(number_of(name) is not None for name in names):
        if columns:
            raise InputError(f"{path} has no first line with names. Add one, or leave out --x.")
    else:
        lines = lines[1:]
    lacking = [name for name in columns if name not in names]
    if lacking:
        raise InputError(f"{path} has no column {', '.join(lacking)}. It has: {', '.join(names)}.")
    at = [names.index(name) for name in columns] or range(len(names))
    rows = []
    for number, line in lines:
        try:
            if len(line) != len(names):
                raise ValueError
            rows.append([float(line[i]) for i in at])
        except ValueError as error:
            raise InputError(
                f"{path}, line {number}: not {len(names)} numbers. --x picks the columns of x."
            ) from error
    return np.array(rows, dtype=np.float64)


@contextmanager
def _staying() -> Iterator[None]:
    """Have what users' models and tests raise be theirs, and not end the program."""
    try:
        yield
    except SystemExit as stop:
        raise InputError(
            f"A model, problem or test of yours tried to end the program: SystemExit: {stop}. It has to "
            "return, or to raise another error."
        ) from stop
    except (CondgofError, OSError):
        raise
    except Exception as error:
        where = users_line(error)
        if not where:
            raise
        raise InputError(
            f"A model, problem or test of yours failed{where}: {type(error).__name__}: {error}"
        ) from error


def _misfit(text: str) -> tuple[str, float]:
    kind, _, size = text.partition("=")
    try:
        return kind.strip(), float(size)
    except ValueError as error:
        raise InputError(
            f"--misfit takes kind=size, as in shift=0.2,scale=1.3; got {text!r}. "
            f"There are: {', '.join(MISFITS)}."
        ) from error


@contextmanager
def _engine(workers: int | None, scheduler: str | None) -> Iterator[Any]:
    """Give where to run: a number of processes, or a cluster."""
    if scheduler is None:
        yield workers
        return
    if workers is not None:
        raise InputError("Give --workers (processes here) or --scheduler (a cluster), not both.")
    distributed = require("distributed", "dask", "--scheduler")
    try:
        client = distributed.Client(scheduler, timeout=20)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"--scheduler must be the address of a Dask scheduler, such as tcp://host:8786, got "
            f"{scheduler!r}: {error}."
        ) from error
    with client:
        yield client


def run_power(out: Path, trials: int, seed: int, where: Where) -> None:
    """Run the paper's power study."""
    run(
        list(PAPER_SIZES),
        PAPER_METHODS,
        PAPER_SIZES,
        where=where,
        out=out,
        options={"trials": trials, "seed": seed},
    )


def run_criterion(out: Path, n: int, seed: int) -> None:
    """Compute the power-criterion curves; write them as CSV and as a figure."""
    illustrations = [illustrate(name, n=n, seed=seed) for name in ILLUSTRATIONS]
    for one in illustrations:
        print(
            f"{one.name:15} criterion highest at x = {one.top:.2f} ({one.criterion.max():.3f}), n = {n}"
        )
    out.mkdir(parents=True, exist_ok=True)
    _write(out / "criterion.csv", illustrations)
    print(f"Curves: {out / 'criterion.csv'}")
    draw_criterion(illustrations).savefig(out / "criterion.png", dpi=150)
    print(f"Figure: {out / 'criterion.png'}")


def _write(path: Path, illustrations: list[Illustration]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem", "v", "criterion"])
        for one in illustrations:
            for v, value in zip(one.grid, one.criterion, strict=True):
                writer.writerow([one.name, f"{v:.6g}", f"{value:.6g}"])
