"""Options that several commands share, in groups; each command adds its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

from condgof.cli._app import Argument, Group, Option
from condgof.errors import InputError, reworded
from condgof.laws import FAMILIES
from condgof.result import draws_needed
from condgof.sample import Csv

# Panels of the help.
DATA = "Data"
PREDICTIONS = "Predictions in columns of DATA: one kind"
MODEL = "Or a model to import"
ROWS = "Groups, and rows that depend on each other"
TEST = "Check"
OUTPUT = "Output"


# Options of several commands that belong to no group.
DataArgument: TypeAlias = Annotated[
    str,
    Argument(
        metavar="DATA",
        help=(
            "Parquet, CSV or Feather file, by its ending; a pattern or a folder of such"
            " files; or - for CSV on standard input. Large tables are streamed."
        ),
    ),
]
OutOption: TypeAlias = Annotated[
    Path,
    Option(
        metavar="FOLDER",
        help="Folder for what is written; made when it is not there.",
    ),
]
ReportOption: TypeAlias = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        panel=OUTPUT,
        help=(
            "Write a report, one HTML file; a file of that name is replaced, but none that"
            " is read."
        ),
    ),
]
SeedOption: TypeAlias = Annotated[
    int,
    Option(
        metavar="N",
        panel=TEST,
        minimum=0,
        help="The same seed gives the same result.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """Which columns are x and y."""

    x: Annotated[
        list[str],
        Option(
            metavar="COLUMN",
            panel=DATA,
            help="What y is modelled by. Text columns are categories.",
        ),
    ]
    y: Annotated[
        list[str],
        Option(
            metavar="COLUMN",
            panel=DATA,
            help="What was observed.",
        ),
    ]
    categorical: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            panel=DATA,
            help="Columns of x that hold categories in numbers.",
        ),
    ] = None
    drop_nulls: Annotated[
        bool,
        Option(
            metavar="",
            panel=DATA,
            help="Leave out rows with missing values, and say how many.",
        ),
    ] = False
    delimiter: Annotated[
        str | None,
        Option(
            metavar="MARK",
            panel=DATA,
            help="Of CSV: what is between columns; found in the first line unless given.",
        ),
    ] = None
    decimal: Annotated[
        str,
        Option(
            metavar="MARK",
            panel=DATA,
            help="Of CSV: what is before the fraction of a number, such as a comma.",
        ),
    ] = "."

    @property
    def csv(self) -> Csv:
        """How CSV files are written."""
        mark = {r"\t": "\t", "tab": "\t"}.get(self.delimiter or "", self.delimiter)
        with reworded(lambda message: f"--{message}"):
            return Csv(delimiter=mark, decimal=self.decimal)


@dataclass(frozen=True, kw_only=True)
class ClassOptions:
    """What the classes of y are called, where probabilities are predicted."""

    classes: Annotated[
        str | None,
        Option(
            metavar="NAMES",
            panel=PREDICTIONS,
            help=(
                "What y calls the classes, with commas between, in the order of --prob; a"
                " name with a comma in it between double quotes."
            ),
        ),
    ] = None
    ordered: Annotated[
        bool,
        Option(
            metavar="",
            panel=PREDICTIONS,
            help="The order of the classes means something.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class PredictionOptions:
    """Where the predictions of a model are: columns of the table, or a model to import."""

    mean: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            panel=PREDICTIONS,
            help="Mean of a normal model, one for each of y.",
        ),
    ] = None
    std: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            panel=PREDICTIONS,
            help="Its standard deviation, one for each of y.",
        ),
    ] = None
    family: Annotated[
        str | None,
        Option(
            metavar="NAME",
            panel=PREDICTIONS,
            help=f"A closed form: {', '.join(FAMILIES)}.",
        ),
    ] = None
    param: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=COLUMN",
            panel=PREDICTIONS,
            help=(
                "Its parameters, each a column or a number, as in mu=m,sigma=0.5. A name"
                " that is wrong is answered with the right ones."
            ),
        ),
    ] = None
    draws: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            panel=PREDICTIONS,
            help=(
                "Draws of y, a column each, such as 'y_*': posterior predictive samples,"
                " runs of a simulator, members of an ensemble."
            ),
        ),
    ] = None
    quantiles: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN=LEVEL",
            panel=PREDICTIONS,
            help=(
                "Predicted quantiles with their levels, which increase:"
                " q05=0.05,q50=0.5,q95=0.95."
            ),
        ),
    ] = None
    interval: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            panel=PREDICTIONS,
            help=(
                "Low and high end of a prediction interval, as in lo,hi; of nested"
                " intervals, the smallest first: lo50,hi50,lo90,hi90."
            ),
        ),
    ] = None
    coverage: Annotated[
        list[str] | None,
        Option(
            metavar="SHARE",
            panel=PREDICTIONS,
            help="How often each holds y: 0.9, or 0.5,0.9.",
        ),
    ] = None
    pit: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            panel=PREDICTIONS,
            help="Probability integral transform F(y|x) of each y.",
        ),
    ] = None
    score: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            panel=PREDICTIONS,
            help="Derivative of log p(y|x) by y, for each of y.",
        ),
    ] = None
    prob: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            panel=PREDICTIONS,
            help=(
                "Of classes: predicted probability, a column for each class of y (or one,"
                " for the second of two classes). Classes are called as the columns are,"
                " without what all of these begin with; or see --classes."
            ),
        ),
    ] = None
    class_names: Annotated[ClassOptions, Group()] = ClassOptions()
    count_mean: Annotated[
        list[str] | None,
        Option(
            metavar="COLUMN",
            panel=PREDICTIONS,
            help="Of counts: mean of a Poisson model.",
        ),
    ] = None
    model: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            panel=MODEL,
            help=(
                "A fitted model to import: package.module:name, or path/to/file.py:name."
                " This runs the code in there: name only code that you trust. A function"
                " without arguments is called for the model, which gets x as a frame of"
                " pandas, where that is installed. Pickle files are never opened."
            ),
        ),
    ] = None

    @classmethod
    def from_words(cls, words: Mapping[str, str]) -> PredictionOptions:
        """Return options as if each of these words had been typed after its option once."""

        def listed(name: str) -> list[str] | None:
            return [words[name]] if name in words else None

        return cls(
            mean=listed("mean"),
            std=listed("std"),
            family=words.get("family"),
            param=listed("param"),
            draws=listed("draws"),
            quantiles=listed("quantiles"),
            interval=listed("interval"),
            coverage=listed("coverage"),
            pit=listed("pit"),
            score=listed("score"),
            prob=listed("prob"),
            count_mean=listed("count-mean"),
            model=words.get("model"),
        )


EventOption: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="COLUMN",
        panel=ROWS,
        help=(
            "y is a time, and this says whether the event came then (1) or had not"
            " come by then (0): right censoring."
        ),
    ),
]
EntryOption: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="COLUMN",
        panel=ROWS,
        help=(
            "With --event: the time from which on each row was watched (left truncation)."
        ),
    ),
]


WeightsOption: TypeAlias = Annotated[
    str | None,
    Option(
        metavar="COLUMN",
        panel=ROWS,
        help=(
            "Weights of rows that depend on x alone, not on y: survey weights, importance."
            " Rows of weight 0 are left out."
        ),
    ),
]


@dataclass(frozen=True, kw_only=True)
class DependenceOptions:
    """Which rows depend on each other."""

    groups: Annotated[
        str | None,
        Option(
            metavar="COLUMN",
            panel=ROWS,
            help=(
                "Rows with the same value depend on each other, such as visits of one"
                " patient."
            ),
        ),
    ] = None
    dependence: Annotated[
        str | None,
        Option(
            metavar="LENGTH",
            panel=ROWS,
            help=(
                "Rows are in order of time, and those up to about this many rows apart"
                " depend on each other; or auto."
            ),
        ),
    ] = None

    @property
    def length(self) -> int | str | None:
        """The block length as the library takes it: a number, "auto" or None."""
        if self.dependence is not None and self.dependence.isdecimal():
            return int(self.dependence)
        return self.dependence


@dataclass(frozen=True, kw_only=True)
class TestOptions:
    """Level, seed and threads of a test."""

    alpha: Annotated[
        float,
        Option(
            metavar="LEVEL",
            panel=TEST,
            help="Level of the test, and of all that is named.",
        ),
    ] = 0.05
    seed: SeedOption = 0
    threads: Annotated[
        int | None,
        Option(
            metavar="N",
            panel=TEST,
            minimum=1,
            help="One a core unless given; changes no result.",
        ),
    ] = None


def check_level(alpha: float, draws: int, command: str) -> None:
    """Refuse a value of --alpha that no p-value of the draws of a command can reach.

    The number of draws is the default in Python; the command line has no option for it.
    """
    if 0 < alpha < 1.0 / (draws + 1):
        raise InputError(
            f"--alpha {alpha:g} is below 1/{draws + 1}, the smallest p-value that the"
            f" {draws:,} draws of condgof {command} can give: it would never reject. Take"
            f" --alpha {1.0 / draws:g} or larger, or test in Python with"
            f" n_boot={draws_needed(alpha)}."
        )


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """In which form the result is printed."""

    json: Annotated[
        bool,
        Option(
            metavar="",
            panel=OUTPUT,
            help="Print one JSON document: see docs/reference/json.md.",
        ),
    ] = False
    quiet: Annotated[
        bool,
        Option(
            metavar="",
            panel=OUTPUT,
            short=("-q",),
            help="Print the verdict only, one line.",
        ),
    ] = False
