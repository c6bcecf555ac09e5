"""The options of `condgof compare` and `condgof rank`; what they do is in `_compared`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from condgof.cli._options import Many, One, Option, command

DATA, MODELS, ROWS, OUTPUT = "Data", "Models to rank", "Rows that depend on each other", "Output"

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
#: The kinds of prediction, and what each option has.
KINDS = {
    "mean": "Predicted mean, one for each of y.",
    "std": "Predicted standard deviation, one for each of y.",
    "family": "A family of distributions by name, such as lognormal.",
    "param": "Its parameters: mu=m,sigma=0.5, columns or numbers.",
    "draws": "Draws of y, a column each.",
    "quantiles": "Quantiles and their levels, as in q05=0.05,q95=0.95.",
    "interval": "Ends of an interval, low and high.",
    "coverage": "How often the interval should hold y, such as 0.9.",
    "prob": "Probabilities of the classes, a column each, or that of the second of two.",
    "count-mean": "Predicted mean of Poisson counts.",
    "score": "The derivative of log p(y|x) by y, one for each of y.",
    "pit": "Refused: PITs say whether a model is calibrated, and not how well it predicts.",
}
#: What an option takes, where that is no COLUMN.
TAKES = {
    "family": "NAME", "param": "NAME=COLUMN", "quantiles": "COLUMN=LEVEL", "coverage": "SHARE",
}  # fmt: skip
#: Kinds of one word.
SINGLE = ("family",)
#: Options that both commands have.
SHARED = (
    Option("x", list[str], "COLUMN", DATA, ..., "What y is modelled by. Text columns are categories."),
    Option("y", list[str], "COLUMN", DATA, ..., "What was observed."),
    Option("categorical", Many, "COLUMN", DATA, None, "Columns of x that hold categories in numbers."),
    Option("classes", One, "NAMES", DATA, None,
        "Names of the classes of --prob options, in their order."),
    Option("ordered", bool, "", DATA, False, "The order of the classes means something."),
    Option("drop-nulls", bool, "", DATA, False,
        "Leave out rows with missing values, and say how many; they "
        "are an error otherwise."),
    Option("model-x", str, "FORM", None, "auto", "How imported models get x: frame, array, or auto."),
    Option("measure", str, "NAME", None, "auto", "Measure of the verdict; auto: all that models offer."),
    Option("groups", One, "COLUMN", ROWS, None,
        "Which rows belong together, and may depend on each other."),
    Option("dependence", One, "LENGTH", ROWS, None,
        "Rows are in order of time: a block length, or auto."),
    Option("alpha", float, "LEVEL", None, 0.05, "Level of the test."),
    Option("seed", int, "N", None, 0, "The same seed gives the same result.", 0),
    Option("threads", int | None, "N", None, None,
        "One a core unless given; results do not depend on it.", 1),
    Option("report", Path | None, "FILE", OUTPUT, None,
        "Write the report to this file, one page of HTML."),
    Option("json", bool, "", OUTPUT, False, "Print one JSON document and nothing else."),
    Option("quiet", bool, "", OUTPUT, False, "Print the verdict only, one line."),
    Option("fail-on-reject", bool, "", OUTPUT, False,
        "Exit with 1 when the models differ, for pipelines."),
)  # fmt: skip
ADDRESS = (
    "A fitted model to import: package.module:name, or path/to/file.py:name. This runs the code in "
    "there: name only code that you trust."
)


def _side(letter: str) -> list[Option]:
    """Return the options of one side of a comparison."""
    panel = f"Model {letter}"
    kinds = [
        Option(
            f"{letter}-{kind}",
            One if kind in SINGLE else Many,
            TAKES.get(kind, "COLUMN"),
            panel,
            None,
            text,
        )
        for kind, text in KINDS.items()
    ]
    address = Option(f"{letter}-model", One, "ADDRESS", panel, None, ADDRESS)
    name = Option(f"{letter}-name", str, "TEXT", panel, letter, f"What to call model {letter}.")
    return [*kinds, address, name]


def _compare(given: Mapping[str, Any]) -> int:
    from condgof.cli._compared import Candidate, ComparisonRequest, run_compare

    sides = []
    for letter in "ab":
        own = {kind: given[f"{letter}_{kind.replace('-', '_')}"] for kind in KINDS}
        own = {kind: value for kind, value in own.items() if value}
        sides.append(Candidate(given[f"{letter}_name"], own, given[f"{letter}_model"], f"--{letter}-"))
    return run_compare(ComparisonRequest.of(given, sides=tuple(sides)))


def _rank(given: Mapping[str, Any]) -> int:
    from condgof.cli._compared import ComparisonRequest, read_candidate, run_rank

    return run_rank(ComparisonRequest.of(given, sides=tuple(map(read_candidate, given["candidate"]))))


compare = command("compare", [*SHARED, *_side("a"), *_side("b")], _compare)
CANDIDATE = (
    "A model: its name, a colon, and its predictions by kind, as in 'old: mean=mu std=sd', 'new: "
    f"draws=d_*' or 'fit: model=mine.py:fitted'. Kinds: {', '.join(KINDS)}, model. Give the option "
    "again for each model."
)
rank = command("rank", [*SHARED, Option("candidate", list[str], "MODEL", MODELS, ..., CANDIDATE)], _rank)
