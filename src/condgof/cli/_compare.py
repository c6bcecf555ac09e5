"""`condgof compare` and `condgof rank`: options; read the models, compare, write the report, show."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from condgof.check import Comparison, Ranking
from condgof.check import compare as compare_models
from condgof.check import rank as rank_models
from condgof.cli import _check
from condgof.cli._app import Option, command
from condgof.cli._check import check_shared, command_line, dependence_of
from condgof.cli._load import Loaded, loaded, open_table
from condgof.cli._model import load_model, model_file, running
from condgof.cli._output import check_apart, naming, write_whole
from condgof.cli._roles import Given, Roles, check_classes, find_roles
from condgof.errors import CondgofError, InputError
from condgof.laws._law import ModelLike
from condgof.report import terminal
from condgof.sample import Table

VERSION = 2

ABOUT = (
    "By proper scores: the log score of densities and probabilities, the CRPS of CDFs and draws, the "
    "Brier score of classes, the pinball loss of quantiles, the Winkler score of intervals; scores "
    "alone (the derivative of log p) by their Stein discrepancy. All models may be wrong: `condgof "
    "check` says whether one fits. Rows must not be those that a model was fitted on.\n\n"
    "A COLUMN is given as in `condgof check`.\n\n"
)
COMPARE_HELP = (
    "Compare two models of the same data: which predicts better, by how much, and where.\n\n"
    "Each model is columns of the table (--a-mean and --a-std, --a-draws, …), or an object to import "
    "(--a-model); the same for b, in any mixture.\n\n" + ABOUT + "Exit code 0: it ran. 1: "
    "--fail-on-reject, and one predicts better. 2: bad input or usage, with a message. 3: an internal "
    "error."
)
COMPARE_EXAMPLES = (
    "Examples:\n\n"
    "condgof compare table.csv --x income --y food --a-mean mu1 --a-std sd1 --b-mean mu2 --b-std sd2\n\n"
    "condgof compare pets.csv --x weight --y animal --a-prob 'f_*' --b-prob 'g_*' --classes cat,dog\n\n"
    "condgof compare loads.parquet --x hour --y load --a-quantiles q1=0.1,q9=0.9 --b-draws 'd_*' "
    "--a-name old --b-name new --dependence 24 --report out.html"
)
RANK_HELP = (
    "Rank several models of the same data: which may be the best, all pairs corrected together.\n\n"
    + ABOUT + "Exit code 0: it ran. 1: --fail-on-reject, and some model is not among the best. 2: bad "
    "input or usage, with a message. 3: an internal error."
)  # fmt: skip
RANK_EXAMPLES = (
    "Example:\n\n"
    "condgof rank table.csv --x income --y food --candidate 'line: mean=mu1 std=sd1' "
    "--candidate 'skewed: family=lognormal param=mu=m,sigma=s' --candidate 'forest: draws=d_*'"
)
#: The kinds of prediction; they, and what they share with a check, are options of that.
KINDS = (
    "mean", "std", "family", "param", "draws", "quantiles", "interval", "coverage", "prob",
    "count-mean", "score", "pit",
)  # fmt: skip
OF_CHECK = {option.name: option for option in _check.OPTIONS}
REFUSED = "Refused: PITs say whether a model is calibrated, and not how well it predicts."
DATA = ("x", "y", "categorical", "classes", "ordered", "drop-nulls", "model-x")
TEST = ("groups", "dependence", "alpha", "seed", "threads", "report", "json", "quiet")
SHARED = (
    *(OF_CHECK[name] for name in DATA),
    Option("measure", str, "NAME", None, "auto", "Measure of the verdict; auto: all that models offer."),
    *(OF_CHECK[name] for name in TEST),
    OF_CHECK["fail-on-reject"]._replace(help="Exit with 1 when the models differ, for pipelines."),
)
CANDIDATE = (
    "A model: its name, a colon, and its predictions by kind, as in 'old: mean=mu std=sd', 'new: "
    f"draws=d_*' or 'fit: model=mine.py:fitted'. Kinds: {', '.join(KINDS)}, model. Give the option "
    "again for each model."
)


def _side(letter: str) -> list[Option]:
    """Return the options of one side of a comparison."""
    panel = f"Model {letter}"
    options = [OF_CHECK[kind]._replace(name=f"{letter}-{kind}", panel=panel) for kind in KINDS]
    options[-1] = options[-1]._replace(help=REFUSED)
    address = OF_CHECK["model"]._replace(name=f"{letter}-model", panel=panel)
    name = Option(f"{letter}-name", str, "TEXT", panel, letter, f"What to call model {letter}.")
    return [*options, address, name]


@dataclass(frozen=True)
class Candidate:
    """One of the models: columns by the kinds of `KINDS`, or an address."""

    name: str
    given: Mapping[str, Any]
    model: str | None = None
    #: What its options begin with, "--a-"; "" for a candidate of `rank`.
    prefix: str = ""

    @classmethod
    def of_side(cls, given: Given, letter: str) -> Candidate:
        """Read one side of a comparison."""
        named = {kind: given[f"{letter}_{kind.replace('-', '_')}"] for kind in KINDS}
        columns = {kind: value for kind, value in named.items() if value}
        return cls(given[f"{letter}_name"], columns, given[f"{letter}_model"], f"--{letter}-")

    @classmethod
    def of_text(cls, text: str) -> Candidate:
        """Read one model of `rank`, such as "old: mean=mu std=sd"."""
        name, colon, rest = text.partition(":")
        try:
            pairs = [word.partition("=") for word in shlex.split(rest)]
        except ValueError as error:
            raise InputError(f"--candidate {text!r}: {error}.") from error
        columns = {key: value if key == "family" else [value] for key, _, value in pairs}
        unknown = [key for key in columns if key not in (*KINDS, "model")]
        whole = colon and name.strip() and columns and all(value for _, _, value in pairs)
        if unknown or not whole:
            raise InputError(
                f"--candidate {text!r}: write a name, a colon, and what the model is in, as in 'old: "
                "mean=mu std=sd', 'new: draws=d_*' or 'fit: model=mine.py:fitted'. The kinds are "
                f"{', '.join(KINDS)}, model."
            )
        model = columns.pop("model", [None])[0]
        return cls(name.strip(), columns, model)

    def roles(self, table: Table, given: Given) -> Roles:
        """Find the columns of this model, and of x and y, in the table."""
        with self.flags():
            if self.given.get("pit"):
                raise InputError(
                    "--pit: a PIT says whether a model is calibrated, and nothing of how well it "
                    "predicts: there is no score to compare by. Give the predictions themselves, or use "
                    "`condgof check`."
                )
            columns = {kind.replace("-", "_"): value for kind, value in self.given.items()}
            return find_roles({**given, **columns, "model": self.model}, table.label, table.names)

    def load(self, form: str, x: tuple[str, ...]) -> ModelLike | None:
        """Import the model, where it is to be imported."""
        with self.flags():
            return None if self.model is None else load_model(self.model, form, x)

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


@command("compare", [*SHARED, *_side("a"), *_side("b")], COMPARE_HELP, COMPARE_EXAMPLES)
def compare(given: Given) -> int:
    """Compare two models, and return the exit code."""
    sides = tuple(Candidate.of_side(given, letter) for letter in "ab")
    sample, result = _run(given, sides)
    return _told(given, sides, sample, result, result.reject(given["alpha"]))


@command(
    "rank",
    [*SHARED, Option("candidate", list[str], "MODEL", "Models to rank", ..., CANDIDATE)],
    RANK_HELP,
    RANK_EXAMPLES,
)
def rank(given: Given) -> int:
    """Rank several models, and return the exit code."""
    sides = tuple(map(Candidate.of_text, given["candidate"]))
    sample, result = _run(given, sides, ranked=True)
    return _told(given, sides, sample, result, len(result.best()) < len(result.names))


def _common_roles(each: Sequence[Roles]) -> Roles:
    """Put the roles of all models together: what a pattern of x stands for leaves out their columns."""
    first, taken = each[0], {name for roles in each for name in roles.predicted}
    x = tuple(name for name in first.x if all(name in roles.x for roles in each))
    if not x:
        raise InputError(f"--x: every column that it stands for has another role ({', '.join(taken)}).")
    return replace(
        first,
        x=x,
        predictions=tuple(one for roles in each for one in roles.predictions),
        categorical=tuple(name for name in first.categorical if name in x),
        text_y=any(roles.text_y for roles in each),
    )


def _run(given: Given, sides: Sequence[Candidate], ranked: bool = False) -> tuple[Loaded, Any]:
    """Read the table once for all models, and compare them."""
    check_shared(given)
    check_classes(given, [name for side in sides for name in side.given.get("prob") or ()])
    addresses = [side.model for side in sides]
    # Whatever users' models print must not get between the results.
    with redirect_stdout(sys.stderr):
        table = open_table(given["data"])
        roles = _common_roles([side.roles(table, given) for side in sides])
        models = [side.load(given["model_x"], roles.x) for side in sides]
        check_apart(given["report"], "--report", [*table.paths, *map(model_file, addresses)])
        with loaded(table, roles, models, given) as sample, running(*addresses):
            names = tuple(side.name for side in sides)
            settings: dict[str, Any] = {
                "measure": given["measure"], "alpha": given["alpha"], "rng": given["seed"],
                "engine": given["threads"], "dependence": dependence_of(given), "groups": sample.groups,
            }  # fmt: skip
            result: Comparison | Ranking
            if ranked:
                if len(set(names)) < len(names):
                    raise InputError(f"--candidate: models must have different names, got {names}.")
                named = dict(zip(names, sample.models, strict=True))
                result = rank_models(named, sample.x, sample.y, **settings)
            else:
                first, second = sample.models
                result = compare_models(first, second, sample.x, sample.y, names=names, **settings)  # type: ignore[arg-type]
        if given["report"] is not None:
            write_whole(given["report"], result.to_html(command=command_line(given)))
    return sample, result


def _told(given: Given, sides: Sequence[Candidate], sample: Loaded, result: Any, rejected: bool) -> int:
    """Print what came out, and return the exit code."""
    with naming("standard output"):
        if given["json"]:
            from condgof import __version__

            plain = result.to_dict()
            plain.pop("null_distribution", None)
            document = {
                "schema": VERSION,
                "condgof": __version__,
                "command": command_line(given),
                "data": sample.to_dict(),
                "models": {side.name: side.model or dict(side.given) for side in sides},
                "alpha": given["alpha"],
                "seed": given["seed"],
                "report": None if given["report"] is None else str(given["report"]),
                "rejected": rejected,
                "verdict": getattr(result, "verdict", result.words),
                "comparison" if isinstance(result, Comparison) else "ranking": plain,
            }
            print(json.dumps(document, indent=2, allow_nan=False))
        elif given["quiet"]:
            print(terminal(getattr(result, "verdict", result.words)))
        else:
            lines = [f"data  {sample.words()}", "", *str(result).splitlines()]
            print("\n".join(terminal(line) for line in lines))
            if given["report"] is not None:
                print(f"\nReport: {terminal(given['report'])}")
        sys.stdout.flush()
    return 1 if given["fail_on_reject"] and rejected else 0
