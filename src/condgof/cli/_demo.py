"""The demonstration: two models of household food expenditure, tested on held-out households."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from condgof.report import draw_findings
from condgof.study import Finding, engel_study, examine


def run_demo(out: Path, say: Callable[[str], None] = print) -> None:
    """Test both models, say what came out, and write the figure.

    Parameters
    ----------
    out : Path
        Folder for the figure; made when it is not there.
    say : callable
        Gets each paragraph of text.
    """
    study = engel_study()
    say("Engel's data: food expenditure given income, 235 Belgian households (1857), in francs.")
    say(
        "Both models were fitted on every other household and are tested on the other "
        f"{len(study.income)}.\n"
    )
    findings = [examine(name, model, study) for name, model in study.models.items()]
    for finding in findings:
        say(describe(finding))
    out.mkdir(parents=True, exist_ok=True)
    path = out / "engel.png"
    draw_findings(findings, study).savefig(path, dpi=150)
    say(f"Figure: {path}")


def describe(finding: Finding) -> str:
    """Say what came out, for a reader who knows no kernels."""
    result = finding.result
    draws = 0 if result.null_distribution is None else len(result.null_distribution)
    if result.reject():
        verdict = "does not fit (evidence against it at the 5% level)"
        where = f"The misfit is easiest to see {finding.where} francs of income."
    else:
        verdict = "no evidence against it at the 5% level"
        where = (
            f"The misfit criterion is highest {finding.where} francs of income, "
            "but is no evidence by itself."
        )
    return (
        f"Model with {finding.name}\n"
        f"  verdict   {verdict}\n"
        f"  p-value   {result.pvalue:.4f}   (KCSD, n = {result.n}, {draws:,} draws)\n"
        f"  where     {where}\n"
    )
