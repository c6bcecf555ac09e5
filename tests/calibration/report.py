"""From p-values to a table that says which claims hold."""

from __future__ import annotations

from scipy.stats import binom

from cells import METHODS, NULLS, TRUE_MODELS, Cell

#: Both tails together.
TAIL = 1e-4


def bounds(trials: int, alpha: float) -> tuple[int, int]:
    """Return the exact binomial bounds: fewer or more rejections have probability below TAIL."""
    low = int(binom.ppf(TAIL / 2, trials, alpha))
    high = int(binom.isf(TAIL / 2, trials, alpha))
    return low, high


def rejections(pvalues: dict[int, float], alpha: float) -> int:
    return sum(p <= alpha for p in pvalues.values())


def paired_pvalue(better: dict[int, float], worse: dict[int, float]) -> float:
    """Exact one-sided test on the trials in which just one of two tests rejects."""
    only_better = sum(better[t] <= 0.05 < worse[t] for t in better)
    only_worse = sum(worse[t] <= 0.05 < better[t] for t in better)
    return float(binom.sf(only_better - 1, only_better + only_worse, 0.5))


def table(cells: list[Cell], results: dict[str, dict[int, float]]) -> tuple[str, list[str]]:
    """Return the tables as Markdown, and the claims that fail."""
    failures: list[str] = []
    lines = [
        "# Calibration",
        "",
        "Made by `make calibrate` (`tests/calibration/`). Every trial has its own seed; a p-value of at",
        "most α counts as a rejection.",
        "",
    ]
    level = [c for c in cells if c.kind == "level"]
    if level:
        lines += _level_lines(level, results, failures)
    power = [c for c in cells if c.kind == "power"]
    if power:
        lines += _power_lines(power, results, failures)
    lines.append("All claims hold." if not failures else "Claims that fail:\n")
    lines += [f"- {failure}" for failure in failures]
    return "\n".join(lines) + "\n", failures


def _level_lines(
    cells: list[Cell], results: dict[str, dict[int, float]], failures: list[str]
) -> list[str]:
    low5, high5 = bounds(1000, 0.05)
    low1, high1 = bounds(1000, 0.01)
    lines = [
        "## Level: rejections in 1,000 samples from true models",
        "",
        f"Exact binomial bounds (outside with probability {TAIL:g}): {low5} to {high5} at α = 0.05,",
        f"{low1} to {high1} at α = 0.01. The default null (`wild`) must stay inside; the paper's",
        "(`multinomial`) is shown as it comes out. Values outside are marked `*`.",
        "",
        "| model | n | test | wild 0.05 | wild 0.01 | multinomial 0.05 | multinomial 0.01 |",
        "|---|---|---|---|---|---|---|",
    ]
    by_name = {(c.problem, c.n, c.method, c.null): c for c in cells}
    for problem in TRUE_MODELS:
        for n in sorted({c.n for c in cells}):
            for method in METHODS:
                shown = []
                for null in NULLS:
                    cell = by_name.get((problem, n, method, null))
                    if cell is None:
                        shown += ["", ""]
                        continue
                    for alpha, low, high in ((0.05, low5, high5), (0.01, low1, high1)):
                        count = rejections(results[cell.name], alpha)
                        outside = not low <= count <= high
                        shown.append(f"{count}{'*' if outside else ''}")
                        if outside and null == "wild":
                            failures.append(f"{cell.name}: {count} rejections at {alpha}")
                if any(shown):
                    lines.append(f"| {problem} | {n} | {method} | {' | '.join(shown)} |")
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
        lines += [f"On hgm-far the optimised test beats {other}: paired exact test, p = {p:.1e}.", ""]
        if p > 1e-3:
            failures.append(f"hgm-far: optimised does not beat {other}, p = {p:.1e}")
    return lines
