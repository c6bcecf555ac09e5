"""The demonstration: a model is rejected, the check says why, and the next model does not have it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from condgof.check import Check, check
from condgof.check._text import verdict_words
from condgof.cli._app import command, out_option
from condgof.cli._output import show_check, write_whole
from condgof.errors import MissingPackageError
from condgof.report import terminal
from condgof.report._chart import new_figure
from condgof.sample import Frame
from condgof.study._examples import engel_study

ABOUT = {
    "constant spread": "food lies on a line, and the spread is the same at every income",
    "growing spread": "food lies on a line, and the spread is in proportion to income",
}
#: What follows from the first check; and what it is worth.
NEXT = (
    "So the spread is not the same at every income: poorer households lie closer to the"
    " line.\nThe model that follows from it, fitted on the same households as the first:"
)
LAST = (
    "The households that were checked led to the second model, so that a final verdict"
    " needs others."
)
HELP = (
    "Reject a model of the bundled data, see why, and check the next: text, reports, a"
    " figure."
)


@command(
    "demo",
    [out_option("demo-output")],
    HELP,
    "Example: condgof demo --out demo-output",
    None,
)
def demo(given: Mapping[str, Any]) -> int:
    run_demo(given["out"])
    return 0


def run_demo(out: Path) -> None:
    """Check both models, say what came out, and write tables, reports and a figure into a folder."""
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
    x, y = (
        Frame({n: v.copy()}, flat=True) for n, v in (("income", income), ("food", food))
    )
    checks: dict[str, Check] = {}
    reports = [out / f"{name.replace(' ', '-')}.html" for name in models]
    for number, (name, model) in enumerate(models.items()):
        if checks:
            print(f"\n{NEXT}")
        title = f"{name.capitalize()}: {ABOUT[name]}"
        print(f"\n{number + 1}. {title}.\n")
        mean, std = (column[:, 0] for column in model(income).mean_std())
        checks[name] = check((mean, std), x, y, rng=0)
        rows = np.column_stack((income, food, mean, std)).tolist()
        lines = ["income,food,mean,std", *(",".join(map(repr, row)) for row in rows), ""]
        write_whole(reports[number].with_suffix(".csv"), "\n".join(lines))
        page = checks[name].to_html(title=title, command=_command(reports[number]))
        write_whole(reports[number], page)
        show_check(checks[name])
    sizes = [(each.effect.unit, each.effect.interval) for each in checks.values()]
    before, after = (
        f"{size.estimate:.2f} ({size.low:.2f} to {size.high:.2f})" for _, size in sizes
    )
    print(f"\nSize of the misfit in {sizes[0][0]}: {before}, then {after}.\n{LAST}\n")
    print(
        "Reports, to open in a browser: "
        f" {terminal(reports[0])}\n{'':32}{terminal(reports[1])}"
    )
    _figure(checks, out / "engel.png")
    print(f"The first of them once more:    {terminal(_command(reports[0]))}")


def _command(report: Path) -> str:
    table, columns = (
        str(report.with_suffix(".csv")),
        "--x income --y food --mean mean --std std",
    )
    return (
        f"condgof check {shlex.quote(table)} {columns} --report {shlex.quote(str(report))}"
    )


def _figure(checks: dict[str, Check], path: Path) -> None:
    """Draw the first picture of each report, side by side; without matplotlib the reports must do."""
    try:
        figure = new_figure((11.0, 5.0), shown=False)
    except MissingPackageError:
        return
    parts = figure.subfigures(1, len(checks))
    for (name, result), part in zip(checks.items(), parts, strict=True):
        part.suptitle(f"{name.capitalize()}. {verdict_words(result)}")
        ax = result.plot("fit", part.subplots(), column="income")
        ax.set(ylim=(0, 2000), yticks=range(0, 2001, 500))  # the same for both
        ax.yaxis.set_major_formatter("{x:,.0f}")
    figure.savefig(path, dpi=150)
    print(f"Both as a figure:               {terminal(path)}")
