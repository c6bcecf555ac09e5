"""Rejection rates with exact binomial intervals, as text, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

#: What a spreadsheet takes for the start of a formula, also in its wide form.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@dataclass(frozen=True)
class Row:
    """How often one test rejected one problem at one size.

    Parameters
    ----------
    problem, n, method
        The cell.
    trials : int
        Trials that gave a p-value.
    rejections : int
        Those with a p-value of at most alpha.
    rate, low, high : float or None
        Their share and its exact (Clopper–Pearson) 95% interval; the rate is None without trials.
    failed : int
        Trials that ended in an error; they count in nothing else.
    """

    problem: str
    n: int
    method: str
    trials: int
    rejections: int
    rate: float | None
    low: float
    high: float
    failed: int


def make_row(problem: str, n: int, method: str, pvalues: Sequence[float | None], alpha: float) -> Row:
    """Count the rejections among p-values; None stands for a trial that failed."""
    valid = [p for p in pvalues if p is not None]
    rejections = sum(p <= alpha for p in valid)
    low, high = interval(rejections, len(valid))
    rate = rejections / len(valid) if valid else None
    return Row(problem, n, method, len(valid), rejections, rate, low, high, len(pvalues) - len(valid))


def interval(successes: int, trials: int, coverage: float = 0.95) -> tuple[float, float]:
    """Return the exact (Clopper–Pearson) interval of a binomial share.

    Examples
    --------
    >>> [round(end, 4) for end in interval(5, 100)]
    [0.0164, 0.1128]
    """
    from scipy.stats import beta

    tail = (1.0 - coverage) / 2.0
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, trials - successes + 1))
    high = 1.0 if successes == trials else float(beta.ppf(1.0 - tail, successes + 1, trials - successes))
    return low, high


def csv_cell(value: object) -> object:
    """Keep a spreadsheet from running text: what looks like a formula gets an apostrophe in front.

    Numbers stay numbers.

    Examples
    --------
    >>> csv_cell("=1+1"), csv_cell(-1.5)
    ("'=1+1", -1.5)
    """
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.startswith(FORMULA) or value.lstrip(" ").startswith(FORMULA) else value


def to_csv(rows: Sequence[Row]) -> str:
    """Write one line a cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [*Row.__dataclass_fields__], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _short(value) for key, value in asdict(row).items()})
    return out.getvalue()


def to_dicts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return one dict a cell, with numbers rounded as in the other forms."""
    return [{key: _rounded(value) for key, value in asdict(row).items()} for row in rows]


def to_text(rows: Sequence[Row], titles: dict[str, str]) -> str:
    """Write one block a problem: a line a method, a column a size."""
    blocks = []
    for problem, methods, sizes, cells in _blocks(rows):
        head = ["", *(f"n = {n}" for n in sizes)]
        lines = [[m, *(_cell(cells.get((m, n))) for n in sizes)] for m in methods]
        widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
        table = ["  ".join(v.ljust(w) for v, w in zip(line, widths, strict=True)).rstrip()
                 for line in [head, *lines]]  # fmt: skip
        blocks.append("\n".join([titles.get(problem, problem), *table]))
    return "\n\n".join(blocks)


def to_markdown(rows: Sequence[Row], titles: dict[str, str], names: dict[str, str]) -> str:
    """Write one Markdown table a problem."""
    blocks = []
    for problem, methods, sizes, cells in _blocks(rows):
        lines = [
            f"**{_markdown(titles.get(problem, problem))}**",
            "",
            "| test | " + " | ".join(f"n = {n}" for n in sizes) + " |",
            "|---" * (1 + len(sizes)) + "|",
        ]
        for m in methods:
            values = [_cell(cells.get((m, n))) for n in sizes]
            lines.append(f"| {_markdown(names.get(m, m))} | {' | '.join(values)} |")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _blocks(rows: Sequence[Row]) -> list[tuple[str, list[str], list[int], dict[tuple[str, int], Row]]]:
    """Group by problem; problems and methods in the order they come, sizes as numbers."""
    found = []
    for problem in dict.fromkeys(row.problem for row in rows):
        mine = [row for row in rows if row.problem == problem]
        methods = list(dict.fromkeys(row.method for row in mine))
        sizes = sorted({row.n for row in mine})
        found.append((problem, methods, sizes, {(row.method, row.n): row for row in mine}))
    return found


def _cell(row: Row | None) -> str:
    if row is None or row.rate is None:
        return "–" if row is None or not row.failed else f"all {row.failed} failed"
    failed = f", {row.failed} failed" if row.failed else ""
    return f"{row.rate:.3f} ({row.low:.3f} to {row.high:.3f}{failed})"


def _markdown(text: str) -> str:
    for character in "\\|*_`<[":
        text = text.replace(character, f"\\{character}")
    return text


def _rounded(value: Any) -> Any:
    # Six digits: what is left of an exact interval after another version of SciPy computed it.
    return round(value, 6) if isinstance(value, float) else value


def _short(value: Any) -> Any:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else csv_cell(value)
