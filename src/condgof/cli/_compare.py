"""`condgof compare` and `condgof rank`: options; read the models, compare, write the report, show."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

from condgof.check import Comparison, Ranking
from condgof.check import compare as compare_models
from condgof.check import rank as rank_models
from condgof.cli import _check
from condgof.cli._app import Option, command
from condgof.cli._check import dependence_of
from condgof.cli._load import loaded
from condgof.cli._output import command_line, print_result, write_whole
from condgof.cli._roles import NONE, Candidate, Given, spelled
from condgof.errors import InputError
from condgof.report import terminal

ABOUT = (
    "By proper scores: the log score of densities and probabilities, the CRPS of CDFs and"
    " draws, the Brier score of classes, the pinball loss of quantiles, the Winkler score"
    " of intervals; scores alone (the derivative of log p) by their Stein discrepancy. All"
    " models may be wrong: `condgof check` says whether one fits. Rows must not be those"
    " that a model was fitted on.\n\nA COLUMN is given as in `condgof check`."
)
COMPARE_HELP = (
    "Compare two models of the same data: which predicts better, by how much, and"
    " where.\n\nEach model is columns of the table (--a-mean and --a-std, --a-draws, …), or"
    " an object to import (--a-model); the same for b, in any mixture.\n\n" + ABOUT
)
COMPARE_EXAMPLES = (
    "Examples:\n\ncondgof compare table.csv --x income --y food --a-mean mu1 --a-std sd1"
    " --b-mean mu2 --b-std sd2\n\ncondgof compare pets.csv --x weight --y animal --a-prob"
    " 'f_*' --b-prob 'g_*' --classes cat,dog\n\ncondgof compare loads.parquet --x hour --y"
    " load --a-quantiles q1=0.1,q9=0.9 --b-draws 'd_*' --a-name old --b-name new"
    " --dependence 24 --report out.html"
)
RANK_HELP = (
    "Rank several models of the same data: which may be the best, all pairs corrected"
    " together.\n\n" + ABOUT
)
RANK_EXAMPLES = (
    "Example:\n\ncondgof rank table.csv --x income --y food --candidate 'line: mean=mu1"
    " std=sd1' --candidate 'skewed: family=lognormal param=mu=m,sigma=s' --candidate"
    " 'forest: draws=d_*'"
)
#: The kinds of prediction, as options of a check; PITs say nothing of how well a model
#: predicts.
KINDS = tuple(spelled(kind) for kind in NONE if kind != "pit")
OF_CHECK = {option.name: option for option in _check.OPTIONS}
DATA = ("x", "y", "categorical", "classes", "ordered", "drop-nulls")
TEST = ("groups", "dependence", "alpha", "seed", "threads", "report", "json", "quiet")
SHARED = (
    *(OF_CHECK[name] for name in DATA),
    Option(
        "measure",
        str,
        "NAME",
        None,
        "auto",
        "Measure of the verdict; auto: all that models offer.",
    ),
    *(OF_CHECK[name] for name in TEST),
    OF_CHECK["fail-on-reject"]._replace(
        help="Exit with 1 when the models differ, for pipelines."
    ),
)
CANDIDATE = (
    "A model: its name, a colon, and its predictions by kind, as in 'old: mean=mu std=sd'"
    f" or 'fit: model=mine.py:fitted'. Kinds: {', '.join(KINDS)}, model. Give the option"
    " again for each model."
)


def _side(letter: str) -> list[Option]:
    panel = f"Model {letter}"
    options = [
        OF_CHECK[kind]._replace(name=f"{letter}-{kind}", panel=panel) for kind in KINDS
    ]
    address = OF_CHECK["model"]._replace(name=f"{letter}-model", panel=panel)
    name = Option(
        f"{letter}-name", str, "TEXT", panel, letter, f"What to call model {letter}."
    )
    return [*options, address, name]


def _of_side(given: Given, letter: str) -> Candidate:
    named = {
        kind: given[f"{letter}_{kind}"] for kind in NONE if given.get(f"{letter}_{kind}")
    }
    return Candidate(
        given[f"{letter}_name"], named, given[f"{letter}_model"], f"--{letter}-"
    )


def _of_text(text: str) -> Candidate:
    name, colon, rest = text.partition(":")
    try:
        pairs = [word.partition("=") for word in shlex.split(rest)]
    except ValueError as error:
        raise InputError(f"--candidate {text!r}: {error}.") from error
    columns = {key: value if key == "family" else [value] for key, _, value in pairs}
    whole = colon and name.strip() and columns and all(value for _, _, value in pairs)
    if not whole or not {*columns} <= {*KINDS, "model"}:
        raise InputError(f"--candidate {text!r} is not of this form. {CANDIDATE}")
    model = columns.pop("model", [None])[0]
    return Candidate(
        name.strip(), {k.replace("-", "_"): v for k, v in columns.items()}, model
    )


@command(
    "compare",
    [*SHARED, *_side("a"), *_side("b")],
    COMPARE_HELP,
    COMPARE_EXAMPLES,
    fails="--fail-on-reject, and one predicts better",
)
def compare(given: Given) -> int:
    return _run(given, [_of_side(given, letter) for letter in "ab"])


@command(
    "rank",
    [*SHARED, Option("candidate", list[str], "MODEL", "Models to rank", ..., CANDIDATE)],
    RANK_HELP,
    RANK_EXAMPLES,
    fails="--fail-on-reject, and some model is not among the best",
)
def rank(given: Given) -> int:
    candidates = list(map(_of_text, given["candidate"]))
    names = [one.name for one in candidates]
    if len(set(names)) < len(names):
        raise InputError(
            f"--candidate: models must have different names, got {', '.join(names)}."
        )
    return _run(given, candidates, ranked=True)


def _run(given: Given, candidates: Sequence[Candidate], ranked: bool = False) -> int:
    names = [one.name for one in candidates]
    # Whatever users' models print must not get between the results.
    with redirect_stdout(sys.stderr):
        with loaded(given, candidates) as rows:
            settings: dict[str, Any] = {
                "measure": given["measure"], "alpha": given["alpha"], "rng": given["seed"],
                "engine": given["threads"], "dependence": dependence_of(given),
                "groups": rows.column("groups"),
            }  # fmt: skip
            result: Comparison | Ranking
            if ranked:
                models = dict(zip(names, rows.models, strict=True))
                result = rank_models(models, rows.x, rows.y, **settings)
                differ = len(result.best()) < len(names)
            else:
                (a, b), both = rows.models, (names[0], names[1])
                result = compare_models(a, b, rows.x, rows.y, names=both, **settings)
                differ = result.reject(given["alpha"])
        if given["report"] is not None:
            write_whole(given["report"], result.to_html(command=command_line(given)))
    plain, verdict = result.to_dict(), getattr(result, "verdict", result.words)
    plain.pop("null_distribution", None)
    document = {
        "data": rows.to_dict(),
        "models": {one.name: one.model or dict(one.given) for one in candidates},
        "alpha": given["alpha"],
        "rejected": differ,
        "verdict": verdict,
        "ranking" if ranked else "comparison": plain,
    }
    lines = [f"data  {rows.words}", "", *str(result).splitlines()]
    print_result(given, verdict, lambda: print("\n".join(map(terminal, lines))), document)
    return 1 if given["fail_on_reject"] and differ else 0
