"""What `condgof check` does: read, check, write the report, show."""

from __future__ import annotations

import json
import math
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from condgof.check import Check, check
from condgof.check._check import STAGES
from condgof.check._record import ORDERS
from condgof.check._text import verdict_words
from condgof.check._tolerance import WORSE
from condgof.cli._files import check_apart, check_place, naming, write_whole
from condgof.cli.check._classes import Classes
from condgof.cli.check._columns import Asked
from condgof.cli.check._facts import Facts
from condgof.cli.check._given import FORMS, load_model, model_file, running
from condgof.cli.check._load import Loaded, loaded
from condgof.cli.check._show import console, show_check
from condgof.cli.check._table import Table
from condgof.engine import stages
from condgof.errors import InputError
from condgof.report import terminal

#: How many groups one line names.
NAMED = 5


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
    slices : tuple of str
        Queries of slices to test.
    tolerance : float, optional
        The largest misfit that is allowed.
    order : {"certain", "severity"}
        Which slices come first.
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
    slices: tuple[str, ...] = ()
    tolerance: float | None = None
    order: str = "certain"
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
    if options.tolerance is not None and not 0 < options.tolerance < math.inf:
        raise InputError(
            "--tolerance must be a positive number, the largest misfit that you allow (0.1 is a tenth "
            f"of a standard deviation), got {options.tolerance:g}."
        )
    for flag, value, known in (("order", options.order, ORDERS), ("model-x", options.model_x, FORMS)):
        if value not in known:
            raise InputError(f"--{flag} must be one of {', '.join(known)}, got {value!r}.")
    if options.report is not None:
        check_place(options.report, "--report")
    classes = Classes.of(options.classes, options.ordered, options.asked.prob)
    length = _length(options)
    shown = stages(*STAGES, "report", show=not options.quiet)
    # Whatever users' models print must not get between the results.
    with redirect_stdout(sys.stderr), shown as begin:
        begin("reading")
        table = Table.of(options.data)
        roles = options.asked.resolve(table.label, table.names, options.model is not None, options.seed)
        model = None
        if options.model is not None:
            model = load_model(options.model, options.model_x, roles.x, len(roles.y))
        if options.report is not None:
            source = None if options.model is None else model_file(options.model)
            check_apart(options.report, "--report", [*table.paths, *([source] if source else [])])
        say = silence if options.quiet else tell
        with loaded(table, roles, model, options.drop_nulls, say, classes) as sample:
            found = _checked(sample, options, length)
        facts = Facts.of(table.label, roles, options.model, sample)
        if options.report is not None:
            begin("report")
            write_whole(options.report, found.to_html(command=options.command, notes=facts.notes()))
    with naming("standard output"):
        _print(found, facts, options)
        sys.stdout.flush()
    return 1 if options.fail_on_reject and _failed(found) else 0


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


def _checked(sample: Loaded, options: Options, length: int | str | None) -> Check:
    settings: dict[str, Any] = {
        "by": sample.by,
        "slices": options.slices,
        "tolerance": options.tolerance,
        "alpha": options.alpha,
        "rng": options.seed,
        "engine": options.threads,
    }
    if length is not None:
        settings["dependence"] = length
    if sample.groups is not None:
        settings["groups"] = np.asarray(sample.groups)
    with running(options.model):
        return check(sample.model, sample.x, sample.y, **settings)


def _failed(found: Check) -> bool:
    """Whether the model is worse than allowed, or else rejected: in all rows, or in any group."""
    if found.tolerance is not None:
        return found.tolerance.verdict == WORSE
    return found.rejected or bool(_bad_groups(found))


def _bad_groups(found: Check) -> list[str]:
    return [one.words for one in found.groups if one.pvalue <= found.alpha]


def _print(found: Check, facts: Facts, options: Options) -> None:
    if options.as_json:
        print(json.dumps(_document(found, facts, options), indent=2, allow_nan=False))
    elif options.quiet:
        print(terminal(_one_line(found)))
    else:
        show_check(console(), found, facts.lines(), options.order)
        if options.report is not None:
            print(f"\nReport: {terminal(options.report)}")


def _one_line(found: Check) -> str:
    text = f"{verdict_words(found)}. {found.words if found.tolerance is None else found.tolerance.words}"
    if not found.groups:
        return text
    bad = _bad_groups(found)
    named = f" ({', '.join(bad[:NAMED])}{', …' if len(bad) > NAMED else ''})" if bad else ""
    return f"{text} Evidence in {len(bad)} of {len(found.groups)} groups{named}."


def _document(found: Check, facts: Facts, options: Options) -> dict[str, Any]:
    """Return the JSON document: the check, and where it comes from; docs/json.md has its fields."""
    from condgof import __version__

    plain = found.to_dict()
    del plain["result"]["null_distribution"]
    plain["slices"] = [one.to_dict() for one in found.slices_by(options.order)]
    return {
        "schema": plain["schema"],
        "condgof": __version__,
        "command": options.command,
        **facts.to_dict(),
        "seed": options.seed,
        "report": None if options.report is None else str(options.report),
        "verdict": verdict_words(found),
        **plain,
    }


def tell(text: str) -> None:
    """Say something on standard error."""
    print(f"condgof: {terminal(text)}", file=sys.stderr)


def silence(text: str) -> None:
    """Say nothing."""
