"""`condgof demo`: a model is rejected, the check says why, and the next model is not."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from condgof._typing import FloatArray
from condgof.check import Check, check, verdict_words
from condgof.cli._app import command
from condgof.cli._options import OutOption
from condgof.cli._output import print_check, write_whole
from condgof.errors import MissingPackageError
from condgof.report import new_figure, terminal
from condgof.sample import Frame
from condgof.study import engel_study

#: What each model of the study assumes, by its name.
ASSUMPTIONS = {
    "constant spread": "food lies on a line, and the spread is the same at every income",
    "growing spread": "food lies on a line, and the spread is in proportion to income",
}
#: Printed between the two checks.
WHAT_FOLLOWS = (
    "So the spread is not the same at every income: poorer households lie closer to the"
    " line.\nThe model that follows from it, fitted on the same households as the first:"
)
#: Printed after the second check.
CAUTION = (
    "The households that were checked suggested the second model, so confirm it on fresh"
    " data."
)
FIGURE_INCHES = (11.0, 5.0)
FIGURE_DPI = 150
#: The axis of y in both pictures: food, francs.
FOOD_LIMITS = (0, 2000)
FOOD_TICKS = range(0, 2001, 500)


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """The options of `condgof demo`."""

    out: OutOption = Path("demo-output")


@command(
    DemoOptions,
    help=(
        "Reject a model of the bundled data, see why, and check the next: text, reports, a"
        " figure."
    ),
    examples="Example: condgof demo --out demo-output",
)
def demo(options: DemoOptions, command_line: str) -> int:
    """Run `condgof demo`, and return its exit code."""
    run_demo(options.out)
    return 0


def run_demo(out: Path) -> None:
    """Check both models, print what was found, and write tables, reports and a figure."""
    income, food, models = engel_study()
    out.mkdir(parents=True, exist_ok=True)
    print(
        "Engel's data: what 235 Belgian households spent on food, given their income (1857,"
        " francs)."
    )
    print(
        f"Models are fitted on every other household, and checked on the {len(income)}"
        " others."
    )
    checks: dict[str, Check] = {}
    reports: list[Path] = []
    for name, model in models.items():
        if checks:
            print(f"\n{WHAT_FOLLOWS}")
        title = f"{name.capitalize()}: {ASSUMPTIONS[name]}"
        print(f"\n{len(checks) + 1}. {title}.\n")
        mean, std = (column[:, 0] for column in model(income).mean_std())
        result = check(
            (mean, std),
            Frame({"income": income.copy()}, flat=True),
            Frame({"food": food.copy()}, flat=True),
            rng=0,
        )
        report = out / f"{name.replace(' ', '-')}.html"
        _write_table(_table_path(report), income, food, mean, std)
        write_whole(report, result.to_html(title=title, command=_command(report)))
        print_check(result)
        checks[name] = result
        reports.append(report)
    first, second = checks.values()
    print(
        f"\nEffect size in {first.effect.unit}: {_effect_size(first)}, then"
        f" {_effect_size(second)}.\n{CAUTION}\n"
    )
    print(f"Reports, to open in a browser:  {terminal(reports[0])}")
    print(f"{'':32}{terminal(reports[1])}")
    _write_figure(checks, out / "engel.png")
    print(f"To make the first one again:    {terminal(_command(reports[0]))}")


def _effect_size(result: Check) -> str:
    size = result.effect.interval
    return f"{size.estimate:.2f} ({size.low:.2f} to {size.high:.2f})"


def _table_path(report: Path) -> Path:
    return report.with_suffix(".csv")


def _write_table(
    path: Path, income: FloatArray, food: FloatArray, mean: FloatArray, std: FloatArray
) -> None:
    """Write columns, (n,) each, as CSV with all their digits."""
    lines = ["income,food,mean,std"]
    for row in np.column_stack((income, food, mean, std)).tolist():
        lines.append(",".join(map(repr, row)))
    write_whole(path, "\n".join([*lines, ""]))


def _command(report: Path) -> str:
    """Return the command that writes a report from its table."""
    table = shlex.quote(str(_table_path(report)))
    columns = "--x income --y food --mean mean --std std"
    return f"condgof check {table} {columns} --report {shlex.quote(str(report))}"


def _write_figure(checks: Mapping[str, Check], path: Path) -> None:
    """Draw the first picture of each report, side by side, if matplotlib is installed."""
    try:
        figure = new_figure(FIGURE_INCHES, shown=False)
    except MissingPackageError:
        return
    parts = figure.subfigures(1, len(checks))
    for (name, result), part in zip(checks.items(), parts, strict=True):
        part.suptitle(f"{name.capitalize()}. {verdict_words(result)}")
        ax = result.plot("fit", part.subplots(), column="income")
        ax.set(ylim=FOOD_LIMITS, yticks=FOOD_TICKS)
        ax.yaxis.set_major_formatter("{x:,.0f}")
    figure.savefig(path, dpi=FIGURE_DPI)
    print(f"Both as a figure:               {terminal(path)}")
