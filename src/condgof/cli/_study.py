"""`condgof study`: read the options, run the study, show the table, draw the figure."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import typer

from condgof.cli._data import read_x
from condgof.cli._progress import progress_bar
from condgof.errors import CondgofError, InputError, MissingPackageError, require
from condgof.report import draw_power
from condgof.study import MISFITS, Reference, Study, misfit_of, run_study

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
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # users' modules are where they are
    problems: list[Any] = [*split(names)]
    if model is None:
        if data is not None or misfits is not None or columns is not None:
            raise InputError("--data, --x and --misfit belong to --model, which is missing.")
    elif data is None:
        raise InputError("--model needs --data, a file with the x to draw from.")
    else:
        x = read_x(data, split(columns))
        for text in split(misfits or DEFAULT_MISFITS):
            kind, size = _misfit(text)
            with _staying():
                problems.append(misfit_of(Reference(model), x, kind, size))
    if not problems:
        raise InputError("A study needs --problem (such as qgm), or --model with --data.")
    return problems


@contextmanager
def _staying() -> Iterator[None]:
    """Have what users' models and tests raise be theirs, and not end the program."""
    from condgof.cli.check import users_line

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
