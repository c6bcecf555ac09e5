"""The demonstration: two models of household food expenditure, tested on held-out households."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.locate import power_criterion
from condgof.methods import kcsd
from condgof.models import Normal
from condgof.report import draw_fit, draw_where, new_figure, use_log_ticks
from condgof.result import GofResult
from condgof.study import EngelStudy, engel_study

SEED = 0


@dataclass(frozen=True, eq=False)
class Finding:
    """What the test says of one model, and the criterion along x."""

    name: str
    model: Normal
    result: GofResult
    grid: FloatArray
    criterion: FloatArray

    @property
    def top(self) -> float:
        """Where the criterion is highest."""
        return float(self.grid[np.argmax(self.criterion)])


def run_demo(out: Path, say: Callable[[str], None] = print) -> list[Finding]:
    """Test both models, say what came out, and write the figure.

    Parameters
    ----------
    out : Path
        Folder for the figure; made when it is not there.
    say : callable
        Gets each line of text.
    """
    study = engel_study()
    say("Engel's data: food expenditure given income, 235 Belgian households (1857), in francs.")
    say(
        f"Both models were fitted on every other household and are tested on the other "
        f"{len(study.income)}.\n"
    )
    findings = [examine(name, model, study) for name, model in study.models.items()]
    for finding in findings:
        say(describe(finding))
    out.mkdir(parents=True, exist_ok=True)
    path = out / "engel.png"
    draw(findings, study).savefig(path, dpi=150)
    say(f"Figure: {path}")
    return findings


def examine(name: str, model: Normal, study: EngelStudy) -> Finding:
    """Test one model and look where it fails, over the middle 96% of incomes."""
    result = kcsd(model, study.income, study.food, rng=SEED)
    low, high = np.quantile(study.income, [0.02, 0.98])
    grid = np.linspace(low, high, 200)
    return Finding(name, model, result, grid, power_criterion(
        model, study.income, study.food, at=grid, rng=SEED
    ))  # fmt: skip


def describe(finding: Finding) -> str:
    """Say what came out, for a reader who knows no kernels."""
    result = finding.result
    draws = 0 if result.null_distribution is None else len(result.null_distribution)
    if result.reject():
        verdict = "does not fit (evidence against it at the 5% level)"
        where = f"The misfit is easiest to see at incomes near {finding.top:,.0f}."
    else:
        verdict = "no evidence against it at the 5% level"
        where = f"The misfit criterion is highest near {finding.top:,.0f}, but is no evidence by itself."
    return (
        f"Model with {finding.name}\n"
        f"  verdict   {verdict}\n"
        f"  p-value   {result.pvalue:.4f}   (KCSD, n = {result.n}, {draws:,} draws)\n"
        f"  where     {where}\n"
    )


def draw(findings: list[Finding], study: EngelStudy) -> Any:
    """Draw, for each model, the data against it and the criterion along income."""
    figure, axes = new_figure(2, len(findings), width=9.0, height=6.2)
    for finding, (upper, lower) in zip(findings, axes.T, strict=True):
        grid = np.geomspace(study.income.min(), study.income.max(), 200)
        mean, std = finding.model.mean_std(grid)
        draw_fit(upper, study.income, study.food, grid, mean[:, 0], std[:, 0])
        p = finding.result.pvalue
        word = "rejected" if finding.result.reject() else "not rejected"
        upper.set_title(f"{finding.name.capitalize()}: {word}, p = {p:.3f}", fontsize=11)
        draw_where(lower, finding.grid, finding.criterion, finding.top, f"{finding.top:,.0f}")
        lower.set_xlabel("income (francs a year, log scale)")
        upper.set_yscale("log")
        use_log_ticks(upper.yaxis, (100, 200, 500, 1000, 2000, 4000))
        lower.set_xscale("log")
        use_log_ticks(lower.xaxis, (400, 600, 1000, 2000, 3000, 5000))
    axes[0, 0].set_ylabel("food (francs a year, log scale)")
    axes[0, 0].legend(frameon=False, fontsize=9, loc="upper left")
    axes[1, 0].set_ylabel("power criterion:\nwhere a misfit shows")
    return figure
