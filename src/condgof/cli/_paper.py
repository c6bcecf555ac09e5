"""`condgof paper`: the paper's experiments."""

from __future__ import annotations

import csv
from pathlib import Path

from condgof.cli import _study
from condgof.report import draw_criterion
from condgof.study import ILLUSTRATIONS, PAPER_METHODS, PAPER_SIZES, Illustration, illustrate


def run_power(out: Path, trials: int, seed: int, where: _study.Where) -> None:
    """Run the paper's power study."""
    _study.run(
        list(PAPER_SIZES),
        PAPER_METHODS,
        PAPER_SIZES,
        where=where,
        out=out,
        options={"trials": trials, "seed": seed},
    )


def run_criterion(out: Path, n: int, seed: int) -> None:
    """Compute the power-criterion curves; write them as CSV and as a figure."""
    illustrations = [illustrate(name, n=n, seed=seed) for name in ILLUSTRATIONS]
    for one in illustrations:
        print(
            f"{one.name:15} criterion highest at x = {one.top:.2f} ({one.criterion.max():.3f}), n = {n}"
        )
    out.mkdir(parents=True, exist_ok=True)
    _write(out / "criterion.csv", illustrations)
    print(f"Curves: {out / 'criterion.csv'}")
    draw_criterion(illustrations).savefig(out / "criterion.png", dpi=150)
    print(f"Figure: {out / 'criterion.png'}")


def _write(path: Path, illustrations: list[Illustration]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem", "v", "criterion"])
        for one in illustrations:
            for v, value in zip(one.grid, one.criterion, strict=True):
                writer.writerow([one.name, f"{v:.6g}", f"{value:.6g}"])
