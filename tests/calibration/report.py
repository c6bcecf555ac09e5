"""From p-values to a table that says which claims hold."""

from __future__ import annotations

from collections.abc import Callable, Collection

from comparisons import compare_lines
from dependence import dependence_lines
from scipy.stats import binom

from cells import ADAPTIVE, DISCRETE_POWER, LOWRANK, METHODS, NULLS, TRUE_MODELS, Cell

#: Probability of a count outside the bounds, both tails together.
TAIL = 1e-4


def bounds(trials: int, alpha: float) -> tuple[int, int]:
    """Return exact binomial bounds: counts outside have a probability below TAIL."""
    low = int(binom.ppf(TAIL / 2, trials, alpha))
    high = int(binom.isf(TAIL / 2, trials, alpha))
    return low, high


def level_table(
    rows: dict[str, list[dict[str, float]]],
    alphas: tuple[float, ...] = (0.05, 0.01),
    below: Collection[str] = (),
    within: Callable[[int, float], tuple[int, int]] = bounds,
) -> tuple[str, list[str]]:
    """Count rejections of cells "row @ column" at each level.

    Those of the cells `below` may be too few.
    """
    columns = list(dict.fromkeys(name.split(" @ ")[1] for name in rows))
    table: dict[str, dict[str, str]] = {}
    failures: list[str] = []
    for name, trials in rows.items():
        row, column = name.split(" @ ")
        shown = []
        for alpha in alphas:
            low, high = within(len(trials), alpha)
            count = sum(one["pvalue"] <= alpha for one in trials)
            outside = count > high or (count < low and name not in below)
            shown.append(f"{count}{'*' * outside}")
            failures += [f"{name}: {count} rejections at {alpha:g}"] * outside
        table.setdefault(row, dict.fromkeys(columns, ""))[column] = ", ".join(shown)
    lines = [f"| | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|"]
    lines += [f"| {row} | {' | '.join(shown.values())} |" for row, shown in table.items()]
    return "\n".join(lines), failures


def rejections(pvalues: dict[int, float], alpha: float) -> int:
    return sum(p <= alpha for p in pvalues.values())


def paired_pvalue(better: dict[int, float], worse: dict[int, float]) -> float:
    """Exact one-sided test on the trials in which just one of two tests rejects."""
    only_better = sum(better[t] <= 0.05 < worse[t] for t in better)
    only_worse = sum(worse[t] <= 0.05 < better[t] for t in better)
    return float(binom.sf(only_better - 1, only_better + only_worse, 0.5))


def cell_sections(
    cells: list[Cell], results: dict[str, dict[int, float]], failures: list[str]
) -> list[str]:
    """Return a section for each kind of cell; claims that fail are added to `failures`."""

    def level_lines(some: list[Cell]) -> list[str]:
        return [
            (
                "## Level of the Stein tests under both bootstraps: rejections in 1,000"
                " samples"
            ),
            "",
            *_bounds_lines(),
            (
                "The default null (`wild`) must stay inside; the paper's (`multinomial`) is"
                " shown as it"
            ),
            "comes out. Values outside are marked `*`.",
            "",
            *_level_lines(some, results, failures, list(METHODS), NULLS, ("wild",)),
        ]

    def lowrank_lines(some: list[Cell]) -> list[str]:
        methods = [*LOWRANK, *ADAPTIVE]
        return [
            "## Level of the low-rank solver",
            "",
            (
                "The same for features of any precision. The spectral null is a limit for"
                " large n, shown as"
            ),
            "it comes out at n = 300.",
            "",
            *_level_lines(
                some, results, failures, methods, ("auto", "spectral"), ("auto",)
            ),
        ]

    makers = {
        "level": level_lines,
        "lowrank": lowrank_lines,
        "power": lambda some: _power_lines(some, results, failures),
        "dependence": lambda some: dependence_lines(some, results, bounds, failures),
        "compare": lambda some: compare_lines(some, results, failures),
        "discrete-level": lambda some: _discrete_level_lines(some, results, failures),
        "discrete-power": lambda some: _discrete_power_lines(some, results, failures),
    }
    by_kind = {kind: [cell for cell in cells if cell.kind == kind] for kind in makers}
    return ["\n".join(makers[kind](some)) for kind, some in by_kind.items() if some]


def page(sections: list[str], failures: list[str]) -> str:
    lines = [
        "# Calibration",
        "",
        (
            "Made by `make calibrate` (`tests/calibration/`). Every trial has its own seed;"
            " a p-value of at"
        ),
        "most α counts as a rejection.",
        "",
        *sections,
        "All claims hold." if not failures else "Claims that fail:\n",
        *(f"- {failure}" for failure in failures),
    ]
    return "\n".join(lines) + "\n"


def _bounds_lines() -> list[str]:
    low5, high5 = bounds(1000, 0.05)
    low1, high1 = bounds(1000, 0.01)
    return [
        (
            f"Exact binomial bounds (outside with probability {TAIL:g}): {low5} to {high5}"
            " at α = 0.05,"
        ),
        f"{low1} to {high1} at α = 0.01.",
    ]


def _level_lines(
    cells: list[Cell],
    results: dict[str, dict[int, float]],
    failures: list[str],
    methods: list[str],
    nulls: tuple[str, ...],
    claimed: tuple[str, ...],
) -> list[str]:
    """One row a model, size and method, two columns a null; `claimed` nulls must hold."""
    columns = " | ".join(f"{null} {alpha}" for null in nulls for alpha in (0.05, 0.01))
    lines = [f"| model | n | test | {columns} |", "|---" * (3 + 2 * len(nulls)) + "|"]
    by_name = {(c.problem, c.n, c.method, c.null): c for c in cells}
    for problem in TRUE_MODELS:
        for n in sorted({c.n for c in cells}):
            for method in methods:
                shown: list[str] = []
                for null in nulls:
                    cell = by_name.get((problem, n, method, null))
                    shown += (
                        ["", ""]
                        if cell is None
                        else _counts(cell, results, failures, claimed)
                    )
                if any(shown):
                    lines.append(f"| {problem} | {n} | {method} | {' | '.join(shown)} |")
    return [*lines, ""]


def _counts(
    cell: Cell,
    results: dict[str, dict[int, float]],
    failures: list[str],
    claimed: tuple[str, ...],
) -> list[str]:
    shown = []
    for alpha in (0.05, 0.01):
        low, high = bounds(cell.trials, alpha)
        count = rejections(results[cell.name], alpha)
        outside = not low <= count <= high
        shown.append(f"{count}{'*' if outside else ''}")
        if outside and cell.null in claimed:
            failures.append(f"{cell.name}: {count} rejections at {alpha}")
    return shown


def _discrete_level_lines(
    cells: list[Cell], results: dict[str, dict[int, float]], failures: list[str]
) -> list[str]:
    lines = [
        "## Level with a discrete y: rejections in 1,000 samples from true models",
        "",
        *_bounds_lines(),
        "All must be inside; 199 draws.",
        "",
        "| model | n | test | 0.05 | 0.01 |",
        "|---|---|---|---|---|",
    ]
    for cell in cells:
        shown = _counts(cell, results, failures, ("auto",))
        lines.append(f"| {cell.problem} | {cell.n} | {cell.method} | {' | '.join(shown)} |")
    return [*lines, ""]


def _discrete_power_lines(
    cells: list[Cell], results: dict[str, dict[int, float]], failures: list[str]
) -> list[str]:
    lines = [
        "## Power with a discrete y: rejection rates at α = 0.05 in 200 samples",
        "",
        "| problem | n | test | rate | at least |",
        "|---|---|---|---|---|",
    ]
    for cell in cells:
        rate = rejections(results[cell.name], 0.05) / cell.trials
        least = DISCRETE_POWER[(cell.problem, cell.n, cell.method)]
        lines.append(
            f"| {cell.problem} | {cell.n} | {cell.method} | {rate:.3f} | {least or ''} |"
        )
        if least is not None and rate < least:
            failures.append(f"{cell.name}: {rate:.3f}, below {least}")
    return [*lines, ""]


def _power_lines(
    cells: list[Cell], results: dict[str, dict[int, float]], failures: list[str]
) -> list[str]:
    lines = [
        "## Power: rejection rates at α = 0.05 in 300 samples",
        "",
        "| problem | n | test | rate | claim |",
        "|---|---|---|---|---|",
    ]
    claims = {
        "power.qgm.400.kcsd.wild": (0.47, 0.70),
        "power.qgm.400.fscd-random.wild": (0.25, 0.55),
        "power.hgm-far.1500.fscd-optimize.wild": (0.70, 1.0),
    }
    for cell in cells:
        rate = rejections(results[cell.name], 0.05) / cell.trials
        claim = claims.get(cell.name)
        said = "" if claim is None else f"{claim[0]} to {claim[1]}"
        lines.append(f"| {cell.problem} | {cell.n} | {cell.method} | {rate:.3f} | {said} |")
        if claim is not None and not claim[0] <= rate <= claim[1]:
            failures.append(f"{cell.name}: {rate:.3f}, outside {said}")
    lines.append("")
    best = results.get("power.hgm-far.1500.fscd-optimize.wild")
    for other in ("kcsd", "fscd-random"):
        rival = results.get(f"power.hgm-far.1500.{other}.wild")
        if best is None or rival is None:
            continue
        p = paired_pvalue(best, rival)
        lines += [
            f"On hgm-far the optimised test beats {other}: paired exact test, p = {p:.1e}.",
            "",
        ]
        if p > 1e-3:
            failures.append(f"hgm-far: optimised does not beat {other}, p = {p:.1e}")
    return lines
