"""What `condgof compare` does: read, compare, look where, show."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

from condgof.check import DifferenceMap, compare_map
from condgof.cli.check import FORMS, Table, running, silence, tell
from condgof.cli.compare._sides import Both, Side, both_loaded, common_roles
from condgof.errors import InputError
from condgof.methods import Comparison, compare
from condgof.null import check_alternative
from condgof.report import terminal

#: Version of the JSON document.
VERSION = 1


@dataclass(frozen=True)
class Options:
    """What the user asked for.

    Parameters
    ----------
    data : str
        A file, a pattern, a folder, or ``-``.
    x, y, categorical : tuple of str
        The columns.
    sides : pair of Side
        The models.
    model_x : {"auto", "frame", "array"}
        How models that are imported get x.
    alternative : str
        "two-sided", "greater" (a fits worse) or "less".
    alpha : float
        Level.
    seed : int
        Seed.
    threads : int, optional
        Number of threads; all cores unless given.
    drop_nulls : bool
        Whether rows with missing values are left out.
    as_json, quiet, fail_on_reject : bool
        What to print, and the exit code.
    command : str
        The command as it was typed.
    """

    data: str
    x: tuple[str, ...]
    y: tuple[str, ...]
    sides: tuple[Side, Side]
    categorical: tuple[str, ...] = ()
    model_x: str = "auto"
    alternative: str = "two-sided"
    alpha: float = 0.05
    seed: int = 0
    threads: int | None = None
    drop_nulls: bool = False
    as_json: bool = False
    quiet: bool = False
    fail_on_reject: bool = False
    command: str = "condgof compare"


def run_compare(options: Options) -> int:
    """Compare, and return the exit code."""
    check_alternative(options.alternative)
    if not 0 < options.alpha < 1:
        raise InputError(f"--alpha must be between 0 and 1 (0.05 is 5%), got {options.alpha:g}.")
    if options.model_x not in FORMS:
        raise InputError(f"--model-x must be one of {', '.join(FORMS)}, got {options.model_x!r}.")
    say = silence if options.quiet else tell
    a, b = options.sides
    # Whatever users' models print must not get between the results.
    with redirect_stdout(sys.stderr):
        table = Table.of(options.data)
        found = [side.roles(table, options.x, options.y, options.categorical) for side in (a, b)]
        roles = common_roles(found[0], found[1])
        models = (a.load(options.model_x, roles[0]), b.load(options.model_x, roles[1]))
        with both_loaded(table, roles, models, options.drop_nulls, say) as sample:
            result, where = _compared(sample, options)
    _print(table.label, sample, result, where, options)
    return 1 if options.fail_on_reject and result.reject(options.alpha) else 0


def _compared(sample: Both, options: Options) -> tuple[Comparison, DifferenceMap | None]:
    a, b = options.sides
    settings: dict[str, Any] = {
        "names": (a.name, b.name),
        "rng": options.seed,
        "engine": options.threads,
    }
    with running(a.model, b.model):
        result = compare(*sample.models, sample.x, sample.y, alternative=options.alternative, **settings)
        if options.quiet or "standard_error" not in result.details:  # a refuted model has no map
            return result, None
        return result, compare_map(*sample.models, sample.x, sample.y, **settings)


def _print(
    data: str, sample: Both, result: Comparison, where: DifferenceMap | None, options: Options
) -> None:
    if options.as_json:
        print(json.dumps(_document(data, sample, result, where, options), indent=2, allow_nan=False))
        return
    verdict = result.words(options.alpha)
    if not result.reject(options.alpha):  # else it begins with a model's name, which stays as it is
        verdict = f"{verdict[:1].upper()}{verdict[1:]}"
    verdict = f"{verdict} (p = {result.pvalue:.2g})."
    if options.quiet:
        print(terminal(verdict))
        return
    rows = f"{sample.rows:,} rows"
    if sample.dropped.rows:
        rows += f"; {sample.dropped.words} with missing values left out"
    if sample.streamed:
        rows += "; streamed"
    wide = max(len(side.name) for side in options.sides)
    lines = [f"data  {data}: {rows}"]
    lines += [f"{side.letter}     {side.name:{wide}}  {side.words}" for side in options.sides]
    low, high = result.confidence_interval(1 - options.alpha)
    lines += ["", verdict, "", "Discrepancy (squared KCSD, smaller is better):"]
    lines += [
        f"  {name:{wide}}  {value:.4g}"
        for name, value in zip(result.names, result.discrepancies, strict=True)
    ]
    level = f"{100 * (1 - options.alpha):g}%"
    lines.append(f"  difference {result.difference:.4g} ({level} interval {low:.4g} to {high:.4g})")
    if where is not None:
        lines += ["", *str(where).replace("where ", "Where ", 1).splitlines()]
    else:
        lines += [f"note  {note}" for note in result.details.get("notes", ())]
    print("\n".join(terminal(line) for line in lines))


def _document(
    data: str, sample: Both, result: Comparison, where: DifferenceMap | None, options: Options
) -> dict[str, Any]:
    from condgof import __version__

    return {
        "schema": VERSION,
        "condgof": __version__,
        "command": options.command,
        "data": {
            "path": data,
            "rows": sample.rows,
            "dropped_rows": sample.dropped.rows,
            "dropped_by_column": dict(sample.dropped.columns),
            "streamed": sample.streamed,
        },
        "models": {side.name: side.words for side in options.sides},
        "alternative": options.alternative,
        "alpha": options.alpha,
        "seed": options.seed,
        "rejected": result.reject(options.alpha),
        "verdict": result.words(options.alpha),
        "comparison": result.to_dict(),
        "places": [] if where is None else [place.to_dict() for place in where.places],
    }
