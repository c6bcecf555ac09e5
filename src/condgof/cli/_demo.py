"""The demonstration: two models of household food expenditure, checked on other households."""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path

from condgof.cli._files import write_whole
from condgof.cli.check import Series, console, show_check
from condgof.errors import MissingPackageError
from condgof.laws import Normal
from condgof.locate import Check, check
from condgof.report import draw_findings, terminal
from condgof.study import EngelStudy, engel_study, examine

ABOUT = {
    "constant spread": "food lies on a line, with the same spread at every income",
    "growing spread": "food lies on a line, with a spread in proportion to income",
}


def run_demo(out: Path) -> None:
    """Check both models, say what came out, and write tables, reports and a figure.

    Parameters
    ----------
    out : Path
        Folder for what is written; made when it is not there.
    """
    study = engel_study()
    out.mkdir(parents=True, exist_ok=True)
    print("Engel's data: food expenditure given income, 235 Belgian households (1857), in francs.")
    count = len(study.income)
    print(f"Two models were fitted on every other household, and are checked on the other {count}.")
    reports = [_one(name, model, study, out) for name, model in study.models.items()]
    _figure(study, out / "engel.png")
    print("\nReports, to be opened in a browser:")
    for path in reports:
        print(f"  {terminal(path)}")
    print("The same with a table of your own, such as:")
    print(f"  {terminal(_command(reports[0]))}")


def _one(name: str, model: Normal, study: EngelStudy, out: Path) -> Path:
    """Check one model; leave its predictions as a table, and the report."""
    mean, std = (column[:, 0] for column in model(study.income).mean_std())
    found = check((mean, std), Series("income", study.income), Series("food", study.food), rng=0)
    path = out / f"{name.replace(' ', '-')}.html"
    _write_table(path.with_suffix(".csv"), zip(study.income, study.food, mean, std, strict=True))
    write_whole(path, found.to_html(title=f"{name.capitalize()}: {ABOUT[name]}", command=_command(path)))
    _show(name, found)
    return path


def _show(name: str, found: Check) -> None:
    print(f"\n{name.capitalize()}: {ABOUT[name]}.")
    console().print(show_check(found, {}))


def _command(report: Path) -> str:
    columns = ("--x", "income", "--y", "food", "--mean", "mean", "--std", "std")
    table = report.with_suffix(".csv")
    return shlex.join(("condgof", "check", str(table), *columns, "--report", str(report)))


def _write_table(path: Path, rows: zip[tuple[float, ...]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["income", "food", "mean", "std"])
    writer.writerows([repr(float(value)) for value in row] for row in rows)
    write_whole(path, text.getvalue())


def _figure(study: EngelStudy, path: Path) -> None:
    """Draw data, models and where a misfit shows; without matplotlib the reports must do."""
    findings = [examine(name, model, study) for name, model in study.models.items()]
    try:
        draw_findings(findings, study).savefig(path, dpi=150)
    except MissingPackageError:
        return
    print(f"\nFigure: {terminal(path)}")
