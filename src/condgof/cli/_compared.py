"""What `condgof compare` and `condgof rank` do: read the models, compare, write the report, show."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from condgof.check import Comparison, Ranking, compare, rank
from condgof.cli._compare import KINDS, SINGLE
from condgof.cli._files import check_apart, check_place, naming, write_whole
from condgof.cli.check import (
    FORMS,
    ClassNames,
    Loaded,
    Request,
    Roles,
    Table,
    Wanted,
    block_length,
    check_choice,
    check_level,
    load_model,
    loaded,
    model_file,
    running,
)
from condgof.errors import CondgofError, InputError
from condgof.laws import ModelLike
from condgof.report import terminal

#: Version of the JSON document.
VERSION = 2


@dataclass(frozen=True)
class Candidate:
    """One of the models: columns by the kinds of `KINDS`, or an address."""

    name: str
    given: Mapping[str, Any]
    model: str | None = None
    #: What its options begin with, "--a-"; "" for a candidate of `rank`.
    prefix: str = ""

    def roles(self, table: Table, asked: Wanted, seed: int) -> Roles:
        """Find the columns of this model, and of x and y, in the table."""
        with self.flags():
            if self.given.get("pit"):
                raise InputError(
                    "--pit: a PIT says whether a model is calibrated, and nothing of how well it "
                    "predicts: there is no score to compare by. Give the predictions themselves, or use "
                    "`condgof check`."
                )
            own = {kind.replace("-", "_"): value for kind, value in self.given.items() if value}
            both = replace(asked, **own)
            return both.resolve(table.label, table.names, self.model is not None, seed)

    def load(self, form: str, roles: Roles) -> ModelLike | None:
        """Import the model, where it is to be imported."""
        if self.model is None:
            return None
        with self.flags():
            return load_model(self.model, form, roles.x, len(roles.y))

    @contextmanager
    def flags(self) -> Iterator[None]:
        """Let messages name the options as they are here: --a-mean for --mean."""
        try:
            yield
        except CondgofError as error:
            text = str(error)
            for word in (*KINDS, "model "):
                text = text.replace(f"--{word}", f"{self.prefix}{word}" if self.prefix else f"{word}=")
            where = "" if self.prefix else f"--candidate {self.name!r}: "
            error.args = (f"{where}{text}", *error.args[1:])
            raise


@dataclass(frozen=True)
class ComparisonRequest(Request):
    """What the user asked for: the models, and the rest as in `condgof check`."""

    sides: tuple[Candidate, ...] = ()
    measure: str = "auto"


def read_candidate(text: str) -> Candidate:
    """Read one model of `rank`, such as "old: mean=mu std=sd"."""
    name, colon, rest = text.partition(":")
    try:
        pairs = [word.partition("=") for word in shlex.split(rest)]
    except ValueError as error:
        raise InputError(f"--candidate {text!r}: {error}.") from error
    given = {key: [value] if key not in SINGLE else value for key, _, value in pairs}
    unknown = [key for key in given if key not in (*KINDS, "model")]
    if not (colon and name.strip() and given) or unknown or not all(value for _, _, value in pairs):
        raise InputError(
            f"--candidate {text!r}: write a name, a colon, and what the model is in, as in 'old: "
            "mean=mu std=sd', 'new: draws=d_*' or 'fit: model=mine.py:fitted'. The kinds are "
            f"{', '.join(KINDS)}, model."
        )
    model = given.pop("model", [None])[0]
    return Candidate(name.strip(), given, model)


def _common_roles(found: Sequence[Roles]) -> Roles:
    """Put the roles of all models together: what a pattern of x stands for leaves out their columns."""
    first, taken = found[0], {name for roles in found for name in roles.predicted}
    x = tuple(name for name in first.x if all(name in roles.x for roles in found))
    if not x:
        raise InputError(f"--x: every column that it stands for has another role ({', '.join(taken)}).")
    return replace(
        first,
        x=x,
        predictions=tuple(each for roles in found for each in roles.predictions),
        categorical=tuple(name for name in first.categorical if name in x),
        text_y=any(roles.text_y for roles in found),
    )


def run_compare(options: ComparisonRequest) -> int:
    """Compare two models, and return the exit code."""
    sample, found = _run(options)
    return _told(options, sample, found, found.reject(options.alpha))


def run_rank(options: ComparisonRequest) -> int:
    """Rank several models, and return the exit code."""
    sample, found = _run(options, ranked=True)
    return _told(options, sample, found, len(found.best()) < len(found.names))


def _run(options: ComparisonRequest, ranked: bool = False) -> tuple[Loaded, Any]:
    """Read the table once for all models, and compare them."""
    check_level(options.alpha)
    check_choice("--model-x", options.model_x, FORMS)
    if options.report is not None:
        check_place(options.report, "--report")
    prob = [name for side in options.sides for name in side.given.get("prob") or ()]
    classes = ClassNames.of(options.classes, options.ordered, prob)
    length = block_length(options.dependence)
    addresses = [side.model for side in options.sides]
    # Whatever users' models print must not get between the results.
    with redirect_stdout(sys.stderr):
        table = Table.of(options.data)
        each = [side.roles(table, options.asked, options.seed) for side in options.sides]
        roles = _common_roles(each)
        models = [side.load(options.model_x, roles) for side in options.sides]
        if options.report is not None:
            sources = [model_file(address) for address in addresses if address is not None]
            check_apart(options.report, "--report", [*table.paths, *filter(None, sources)])
        with loaded(table, roles, models, options.drop_nulls, classes, options.quiet) as sample:
            names = tuple(side.name for side in options.sides)
            settings: dict[str, Any] = {
                "measure": options.measure, "alpha": options.alpha, "rng": options.seed,
                "engine": options.threads, "dependence": length, "groups": sample.groups,
            }  # fmt: skip
            with running(*addresses):
                found: Comparison | Ranking
                if ranked:
                    given = dict(zip(names, sample.models, strict=True))
                    if len(given) < len(names):
                        raise InputError(f"--candidate: models must have different names, got {names}.")
                    found = rank(given, sample.x, sample.y, **settings)
                else:
                    first, second = sample.models
                    found = compare(first, second, sample.x, sample.y, names=names, **settings)  # type: ignore[arg-type]
        if options.report is not None:
            write_whole(options.report, found.to_html(command=options.command))
    return sample, found


def _told(options: ComparisonRequest, sample: Loaded, found: Any, rejected: bool) -> int:
    with naming("standard output"):
        if options.as_json:
            document = _document(options, sample, found, rejected)
            print(json.dumps(document, indent=2, allow_nan=False))
        elif options.quiet:
            print(terminal(getattr(found, "verdict", found.words)))
        else:
            lines = [f"data  {sample.words()}", "", *str(found).splitlines()]
            print("\n".join(terminal(line) for line in lines))
            if options.report is not None:
                print(f"\nReport: {terminal(options.report)}")
        sys.stdout.flush()
    return 1 if options.fail_on_reject and rejected else 0


def _document(options: ComparisonRequest, sample: Loaded, found: Any, rejected: bool) -> dict[str, Any]:
    from condgof import __version__

    plain = found.to_dict()
    plain.pop("null_distribution", None)
    return {
        "schema": VERSION,
        "condgof": __version__,
        "command": options.command,
        "data": sample.to_dict(),
        "models": {side.name: side.model or dict(side.given) for side in options.sides},
        "alpha": options.alpha,
        "seed": options.seed,
        "report": None if options.report is None else str(options.report),
        "rejected": rejected,
        "verdict": getattr(found, "verdict", found.words),
        "comparison" if isinstance(found, Comparison) else "ranking": plain,
    }
