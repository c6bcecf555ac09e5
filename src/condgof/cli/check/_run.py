"""What `condgof check` does: read, check, write the report, show."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from condgof.check import Check, Repair, check
from condgof.check._check import STAGES
from condgof.check._record import ORDERS
from condgof.check._size import WORSE
from condgof.check._text import verdict_words
from condgof.cli._files import check_apart, check_place, naming, write_whole
from condgof.cli.check._classes import ClassNames
from condgof.cli.check._columns import Roles, Wanted
from condgof.cli.check._given import FORMS, load_model, model_file, running
from condgof.cli.check._load import Loaded, loaded
from condgof.cli.check._predictions import NONE
from condgof.cli.check._repair import check_ending, write_repaired
from condgof.cli.check._show import console, show_check
from condgof.cli.check._table import Table
from condgof.engine import stages
from condgof.errors import InputError
from condgof.report import terminal

#: How many groups one line names.
NAMED = 5


@dataclass(frozen=True)
class Request:
    """What the user asked for: the options by their names, as they were given."""

    data: str
    asked: Wanted
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
    repair: Path | None = None
    as_json: bool = False
    quiet: bool = False
    fail_on_reject: bool = False
    command: str = "condgof check"

    @classmethod
    def of(cls, given: Mapping[str, Any], **more: Any) -> Self:
        """Read them from all that was given on the command line, by name."""
        known = {each.name: given[each.name] for each in fields(cls) if each.name in given}
        command = shlex.join(("condgof", *given["context"].obj))
        return cls(asked=Wanted.of(given), as_json=given["json"], command=command, **known, **more)


@dataclass(frozen=True)
class Facts:
    """What was checked, for the terminal, the report and JSON: the rows, their columns, the model."""

    sample: Loaded
    roles: Roles
    model: str | None

    @property
    def model_words(self) -> str:
        """Where the model comes from."""
        return self.model if self.model is not None else self.roles.predictions[0].words

    def lines(self) -> dict[str, str]:
        """Return labels and text for the terminal."""
        return {"data": self.sample.words(", not counted in row numbers"), "model": self.model_words}

    def notes(self) -> list[str]:
        """Return what a reader of the report should know of the data."""
        dropped = self.sample.dropped
        notes = [f"data: {self.sample.label}", f"model: {self.model_words}"]
        if dropped.rows:
            left = f"rows with missing values that were left out: {dropped.words}"
            notes.append(f"{left}; they are not counted in row numbers")
        if self.sample.streamed:
            notes.append("the table was streamed, not read whole")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return them ready for JSON."""
        roles = self.roles
        return {
            "data": self.sample.to_dict(),
            "columns": {
                "x": list(roles.x),
                "y": list(roles.y),
                **NONE,
                **(roles.predictions[0].facts if roles.predictions else {}),
                "categorical": list(roles.categorical),
                "groups": roles.groups,
                "by": roles.by,
                **({} if roles.event is None else {"event": roles.event, "entry": roles.entry}),
            },
            "model": self.model,
        }


def run_check(options: Request) -> int:
    """Check, and return the exit code."""
    check_level(options.alpha)
    if options.tolerance is not None and not 0 < options.tolerance < math.inf:
        raise InputError(
            "--tolerance must be a positive number, the largest misfit that you allow (0.1 is a tenth "
            f"of a standard deviation), got {options.tolerance:g}."
        )
    check_choice("--order", options.order, ORDERS)
    check_choice("--model-x", options.model_x, FORMS)
    written = {"--report": options.report, "--repair": options.repair}
    for flag, path in written.items():
        if path is not None:
            check_place(path, flag)
    if options.repair is not None:
        check_ending(options.repair)
    classes = ClassNames.of(options.classes, options.ordered, options.asked.prob)
    length = block_length(options.dependence)
    shown = stages(*STAGES, "report", show=not options.quiet)
    # Whatever users' models print must not get between the results.
    with redirect_stdout(sys.stderr), shown as begin:
        begin("reading")
        table = Table.of(options.data)
        roles = options.asked.resolve(table.label, table.names, options.model is not None, options.seed)
        model = None
        if options.model is not None:
            model = load_model(options.model, options.model_x, roles.x, len(roles.y))
        source = None if options.model is None else model_file(options.model)
        for flag, path in written.items():
            if path is not None:
                check_apart(path, flag, [*table.paths, *([source] if source else [])])
        with loaded(table, roles, [model], options.drop_nulls, classes, options.quiet) as sample:
            if sample.streamed and options.repair is not None:
                raise InputError(
                    "--repair needs all rows in memory, and this table is streamed because it is large. "
                    "Learn the repair on a part of the rows, in Python: report.repair()."
                )
            found = _checked(sample, options, length)
            better = None if options.repair is None else _repaired(found, options)
        facts = Facts(sample, roles, options.model)
        if options.report is not None:
            begin("report")
            write_whole(options.report, found.to_html(command=options.command, notes=facts.notes()))
    with naming("standard output"):
        _print(found, facts, options, better)
        sys.stdout.flush()
    return 1 if options.fail_on_reject and _failed(found) else 0


def check_level(alpha: float) -> None:
    """Check the level of a test."""
    if not 0 < alpha < 1:
        raise InputError(f"--alpha must be between 0 and 1 (0.05 is 5%), got {alpha:g}.")


def check_choice(flag: str, value: str, known: Sequence[str]) -> None:
    """Check an option that takes one of some words."""
    if value not in known:
        raise InputError(f"{flag} must be one of {', '.join(known)}, got {value!r}.")


def block_length(asked: str | None) -> int | str | None:
    """Read the block length."""
    if asked is None or asked == "auto":
        return asked
    if not asked.isdecimal() or int(asked) < 1:
        raise InputError(
            f"--dependence must be a block length (a whole number from 1 on) or auto, got {asked!r}."
        )
    return int(asked)


def _checked(sample: Loaded, options: Request, length: int | str | None) -> Check:
    settings: dict[str, Any] = {
        **sample.watched,
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
        settings["groups"] = sample.groups
    with running(options.model):
        return check(sample.models[0], sample.x, sample.y, **settings)


def _repaired(found: Check, options: Request) -> Repair:
    assert options.repair is not None
    with running(options.model):
        better = found.repair(rng=options.seed)
        write_repaired(options.repair, found, better)
    return better


def _failed(found: Check) -> bool:
    """Whether the model is worse than allowed, or else rejected: in all rows, or in any group."""
    if found.tolerance is not None:
        return found.tolerance.verdict == WORSE
    return found.rejected or bool(_bad_groups(found))


def _bad_groups(found: Check) -> list[str]:
    return [one.words for one in found.groups if one.pvalue <= found.alpha]


def _print(found: Check, facts: Facts, options: Request, better: Repair | None) -> None:
    if options.as_json:
        print(json.dumps(_document(found, facts, options, better), indent=2, allow_nan=False))
    elif options.quiet:
        print(terminal(_one_line(found)))
    else:
        show_check(console(), found, facts.lines(), options.order)
        if options.report is not None:
            print(f"\nReport: {terminal(options.report)}")
        if better is not None:
            print(f"\nRepair: {terminal(options.repair)}, each row by what other rows taught")
            print("\n".join(terminal(sentence) for sentence in better.sentences))


def _one_line(found: Check) -> str:
    text = f"{verdict_words(found)}. {found.words if found.tolerance is None else found.tolerance.words}"
    if not found.groups:
        return text
    bad = _bad_groups(found)
    named = f" ({', '.join(bad[:NAMED])}{', …' if len(bad) > NAMED else ''})" if bad else ""
    return f"{text} Evidence in {len(bad)} of {len(found.groups)} groups{named}."


def _document(found: Check, facts: Facts, options: Request, better: Repair | None) -> dict[str, Any]:
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
        **({} if better is None else {"repair": {"file": str(options.repair), **better.to_dict()}}),
        "verdict": verdict_words(found),
        **plain,
    }
