"""What `condgof check` does: read, check, write the report, show."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from condgof.cli._files import check_apart, check_place, write_whole
from condgof.cli.check._classes import Classes
from condgof.cli.check._columns import Asked, Roles
from condgof.cli.check._document import document
from condgof.cli.check._facts import Facts
from condgof.cli.check._given import FORMS, load_model, model_file, running
from condgof.cli.check._load import Loaded, loaded
from condgof.cli.check._outcome import Grouped, Single
from condgof.cli.check._show import console
from condgof.cli.check._table import Table
from condgof.errors import InputError
from condgof.locate import check, check_groups
from condgof.report import terminal


@dataclass(frozen=True)
class Options:
    """What the user asked for.

    Parameters
    ----------
    data : str
        A file, a pattern, a folder, or ``-``.
    asked : Asked
        The columns.
    model : str, optional
        The address of a model.
    model_x : {"auto", "frame", "array"}
        How it gets x.
    alpha : float
        Level.
    seed : int
        Seed.
    threads : int, optional
        Number of threads; all cores unless given.
    dependence : str, optional
        Block length of rows in order of time, or "auto".
    classes : str, optional
        Names of the classes, with commas between.
    ordered : bool
        Whether their order means something.
    drop_nulls : bool
        Whether rows with missing values are left out.
    report : Path, optional
        Where to write the report.
    as_json, quiet, fail_on_reject : bool
        What to print, and the exit code.
    command : str
        The command as it was typed.
    """

    data: str
    asked: Asked
    model: str | None = None
    model_x: str = "auto"
    alpha: float = 0.05
    seed: int = 0
    threads: int | None = None
    dependence: str | None = None
    classes: str | None = None
    ordered: bool = False
    drop_nulls: bool = False
    report: Path | None = None
    as_json: bool = False
    quiet: bool = False
    fail_on_reject: bool = False
    command: str = "condgof check"


def run_check(options: Options) -> int:
    """Check, and return the exit code."""
    if not 0 < options.alpha < 1:
        raise InputError(f"--alpha must be between 0 and 1 (0.05 is 5%), got {options.alpha:g}.")
    if options.model_x not in FORMS:
        raise InputError(f"--model-x must be one of {', '.join(FORMS)}, got {options.model_x!r}.")
    if options.report is not None:
        check_place(options.report, "--report")
    say = silence if options.quiet else tell
    classes = Classes.of(options.classes, options.ordered, options.asked.prob)
    length = _length(options)
    # Whatever users' models print must not get between the results.
    with redirect_stdout(sys.stderr), _status(options):
        table = Table.of(options.data)
        roles = options.asked.resolve(table.label, table.names, options.model is not None, options.seed)
        model = None
        if options.model is not None:
            model = load_model(options.model, options.model_x, roles.x, len(roles.y))
        if options.report is not None:
            source = None if options.model is None else model_file(options.model)
            check_apart(options.report, "--report", [*table.paths, *([source] if source else [])])
        with loaded(table, roles, model, options.drop_nulls, say, classes) as sample:
            found = _checked(sample, roles, options, length)
    facts = Facts.of(table.label, roles, options.model, sample, options.command)
    if options.report is not None:
        write_whole(options.report, found.page(options.command, facts.notes()))
    _print(found, facts, options)
    return 1 if options.fail_on_reject and found.rejected else 0


def _length(options: Options) -> int | str | None:
    """Read the block length."""
    asked = options.dependence
    if asked is None or asked == "auto":
        return asked
    if not asked.isdecimal() or int(asked) < 1:
        raise InputError(
            f"--dependence must be a block length (a whole number from 1 on) or auto, got {asked!r}."
        )
    return int(asked)


def _checked(
    sample: Loaded, roles: Roles, options: Options, length: int | str | None
) -> Single | Grouped:
    settings: dict[str, Any] = {
        "alpha": options.alpha,
        "rng": options.seed,
        "engine": options.threads,
    }
    if length is not None:
        settings["dependence"] = length
    if sample.together is not None:
        settings["groups"] = np.asarray(sample.together)
    with running(options.model):
        if roles.by is None:
            return Single(check(sample.model, sample.x, sample.y, **settings))
        groups = check_groups(sample.model, sample.x, sample.y, by=sample.groups, **settings)
    if not groups.checks:
        name, reason = next(iter(groups.left_out.items()))
        raise InputError(
            f"No group of {roles.by!r} can be checked. The first: {name!r}, {reason}. Name a column "
            "with fewer and larger groups."
        )
    return Grouped(groups)


def _print(found: Single | Grouped, facts: Facts, options: Options) -> None:
    if options.as_json:
        whole = document(
            facts,
            found.rejected,
            found.words,
            found.content(),
            seed=options.seed,
            alpha=options.alpha,
            report=options.report,
        )
        print(json.dumps(whole, indent=2, allow_nan=False))
    elif options.quiet:
        print(terminal(found.words))
    else:
        console().print(found.show(facts.lines()))
        if options.report is not None:
            print(f"\nReport: {terminal(options.report)}")


@contextmanager
def _status(options: Options) -> Iterator[None]:
    """Show that something happens, on a terminal."""
    if options.quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status("checking"):
        yield


def tell(text: str) -> None:
    """Say something on standard error."""
    print(f"condgof: {terminal(text)}", file=sys.stderr)


def silence(text: str) -> None:
    """Say nothing."""
