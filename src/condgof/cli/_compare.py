"""`condgof compare` and `condgof rank`: options; read, compare, write the report, print."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import Annotated, Any

from condgof.check import Comparison, Ranking
from condgof.check import compare as compare_models
from condgof.check import rank as rank_models
from condgof.cli._app import Group, Option, command
from condgof.cli._load import LoadedTable, load_table
from condgof.cli._options import (
    OUTPUT,
    ClassOptions,
    ColumnOptions,
    DataArgument,
    DependenceOptions,
    EntryOption,
    EventOption,
    FormatOptions,
    PredictionOptions,
    ReportOption,
    TestOptions,
    WeightsOption,
    check_level,
)
from condgof.cli._output import OutputFile, Printer, print_lines, write_whole
from condgof.cli._predictions import ABSENT, Spelling
from condgof.cli._roles import Candidate, RowOptions
from condgof.errors import InputError
from condgof.null import default_draws

ABOUT = (
    "By proper scores: the log score of densities and probabilities, the CRPS of CDFs and"
    " draws, the Brier score of classes, the pinball loss of quantiles, the Winkler score"
    " of intervals, the log and the integrated Brier score of censored times (--event);"
    " scores alone (the derivative of log p) by their Stein discrepancy. All"
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
COMPARE_FAILS = "--fail-on-reject, and one predicts better"
RANK_HELP = (
    "Rank several models of the same data: which may be the best, all pairs corrected"
    " together.\n\n" + ABOUT
)
RANK_EXAMPLES = (
    "Example:\n\ncondgof rank table.csv --x income --y food --candidate 'line: mean=mu1"
    " std=sd1' --candidate 'skewed: family=lognormal param=mu=m,sigma=s' --candidate"
    " 'forest: draws=d_*'"
)
RANK_FAILS = "--fail-on-reject, and some model is not among the best"

#: PITs do not say how well a model predicts.
NOT_COMPARED = "pit"
#: What a candidate of `rank` may have, as it is typed: mean, count-mean, …, model.
CANDIDATE_KEYS = (
    *(name.replace("_", "-") for name in ABSENT if name != NOT_COMPARED),
    "model",
)
CANDIDATE_HELP = (
    "A model: its name, a colon, and its predictions by kind, as in 'old: mean=mu std=sd'"
    f" or 'fit: model=mine.py:fitted'. Kinds: {', '.join(CANDIDATE_KEYS)}. Give the option"
    " again for each model."
)


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """The options that `compare` and `rank` have in common."""

    data: DataArgument
    columns: Annotated[ColumnOptions, Group()]
    classes: Annotated[ClassOptions, Group()]
    measure: Annotated[
        str,
        Option(
            metavar="NAME",
            help="Measure of the verdict; auto: all that models offer.",
        ),
    ] = "auto"
    event: EventOption = None
    entry: EntryOption = None
    weights: WeightsOption = None
    dependence: Annotated[DependenceOptions, Group()]
    test: Annotated[TestOptions, Group()]
    report: ReportOption = None
    format: Annotated[FormatOptions, Group()]
    fail_on_reject: Annotated[
        bool,
        Option(
            metavar="",
            panel=OUTPUT,
            help="Exit with 1 when the models differ, for pipelines.",
        ),
    ] = False


#: Options of a check that are no options of model a, or b, alone.
NOT_OF_ONE_MODEL = (NOT_COMPARED, "class_names")


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The options of `condgof compare`."""

    shared: Annotated[SharedOptions, Group()]
    a: Annotated[
        PredictionOptions, Group(prefix="a-", panel="Model a", without=NOT_OF_ONE_MODEL)
    ]
    a_name: Annotated[
        str, Option(metavar="TEXT", panel="Model a", help="What to call model a.")
    ] = "a"
    b: Annotated[
        PredictionOptions, Group(prefix="b-", panel="Model b", without=NOT_OF_ONE_MODEL)
    ]
    b_name: Annotated[
        str, Option(metavar="TEXT", panel="Model b", help="What to call model b.")
    ] = "b"


@dataclass(frozen=True, kw_only=True)
class RankOptions:
    """The options of `condgof rank`."""

    shared: Annotated[SharedOptions, Group()]
    candidate: Annotated[
        list[str],
        Option(
            metavar="MODEL",
            panel="Models to rank",
            help=CANDIDATE_HELP,
        ),
    ]


@command(CompareOptions, help=COMPARE_HELP, examples=COMPARE_EXAMPLES, fails=COMPARE_FAILS)
def compare(options: CompareOptions, command_line: str) -> int:
    """Run `condgof compare`, and return its exit code."""
    shared = options.shared
    names = (options.a_name, options.b_name)
    candidates = [
        Candidate(name=options.a_name, options=options.a, flag=Spelling("--a-")),
        Candidate(name=options.b_name, options=options.b, flag=Spelling("--b-")),
    ]
    # What users' models print goes to standard error, so that results alone are printed.
    with redirect_stdout(sys.stderr), _load(shared, candidates) as table:
        a, b = table.models
        result = compare_models(
            a,
            b,
            table.x,
            table.y,
            event=table.event,
            entry=table.entry,
            names=names,
            measure=shared.measure,
            alpha=shared.test.alpha,
            rng=shared.test.seed,
            engine=shared.test.threads,
            dependence=shared.dependence.length,
            groups=table.groups,
            weights=table.weights,
        )
    differ = result.reject(shared.test.alpha)
    comparison = result.to_dict()
    comparison.pop("null_distribution", None)
    document = _document(table, candidates, shared, differ=differ, verdict=result.verdict)
    document["comparison"] = comparison
    _print(shared, command_line, table, result, result.verdict, document)
    return 1 if shared.fail_on_reject and differ else 0


@command(RankOptions, help=RANK_HELP, examples=RANK_EXAMPLES, fails=RANK_FAILS)
def rank(options: RankOptions, command_line: str) -> int:
    """Run `condgof rank`, and return its exit code."""
    shared = options.shared
    check_level(shared.test.alpha, default_draws(rank_models), "rank")
    candidates = [_parse_candidate(text) for text in options.candidate]
    names = [candidate.name for candidate in candidates]
    if len(set(names)) < len(names):
        raise InputError(
            f"--candidate: models must have different names, got {', '.join(names)}."
        )
    # What users' models print goes to standard error, so that results alone are printed.
    with redirect_stdout(sys.stderr), _load(shared, candidates) as table:
        result = rank_models(
            dict(zip(names, table.models, strict=True)),
            table.x,
            table.y,
            event=table.event,
            entry=table.entry,
            measure=shared.measure,
            alpha=shared.test.alpha,
            rng=shared.test.seed,
            engine=shared.test.threads,
            dependence=shared.dependence.length,
            groups=table.groups,
            weights=table.weights,
        )
    differ = len(result.best()) < len(names)
    document = _document(table, candidates, shared, differ=differ, verdict=result.words)
    document["ranking"] = result.to_dict()
    _print(shared, command_line, table, result, result.words, document)
    return 1 if shared.fail_on_reject and differ else 0


def _parse_candidate(text: str) -> Candidate:
    """Read a model such as 'old: mean=mu std=sd'."""
    name, _, rest = text.partition(":")
    name = name.strip()
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise InputError(f"--candidate {text!r}: {error}.") from error
    values: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in CANDIDATE_KEYS or not value:
            raise _no_candidate(text)
        values[key] = value
    if not name or not values:
        raise _no_candidate(text)
    return Candidate(
        name=name,
        options=PredictionOptions.from_words(values),
        flag=Spelling(before="", after="="),
        label=f"--candidate {name!r}",
    )


def _no_candidate(text: str) -> InputError:
    return InputError(f"--candidate {text!r} is not of this form. {CANDIDATE_HELP}")


@contextmanager
def _load(shared: SharedOptions, candidates: Sequence[Candidate]) -> Iterator[LoadedTable]:
    """Read the table; classes are called the same in all models."""
    with load_table(
        shared.data,
        shared.columns,
        [
            replace(each, options=replace(each.options, class_names=shared.classes))
            for each in candidates
        ],
        classes=shared.classes,
        rows=RowOptions(
            event=shared.event,
            entry=shared.entry,
            groups=shared.dependence.groups,
            weights=shared.weights,
        ),
        seed=shared.test.seed,
        quiet=shared.format.quiet,
        outputs=[OutputFile("--report", shared.report)],
    ) as table:
        yield table


def _write_report(
    shared: SharedOptions, result: Comparison | Ranking, command_line: str
) -> None:
    if shared.report is not None:
        write_whole(shared.report, result.to_html(command=command_line))


def _document(
    table: LoadedTable,
    candidates: Sequence[Candidate],
    shared: SharedOptions,
    *,
    differ: bool,
    verdict: str,
) -> dict[str, Any]:
    """Return what the JSON documents of both commands have in common."""
    return {
        "data": table.to_dict(),
        "models": {each.name: _model_document(each.options) for each in candidates},
        "alpha": shared.test.alpha,
        "rejected": differ,
        "verdict": verdict,
    }


def _model_document(options: PredictionOptions) -> str | dict[str, Any]:
    """Return the address of a model, or the options that name its columns, as typed."""
    if options.model:
        return options.model
    values = {name: getattr(options, name) for name in ABSENT}
    return {name: value for name, value in values.items() if value}


def _print(
    shared: SharedOptions,
    command_line: str,
    table: LoadedTable,
    result: Comparison | Ranking,
    verdict: str,
    document: Mapping[str, Any],
) -> None:
    printer = Printer(
        command_line=command_line,
        format=shared.format,
        seed=shared.test.seed,
        report=shared.report,
    )
    printer.print(
        line=verdict,
        text=lambda: print_lines(f"data  {table.words}\n\n{result}"),
        document=lambda: document,
        write=lambda: _write_report(shared, result, command_line),
    )
