"""Repaired predictions of the rows of a check, as a table."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

from condgof._typing import AnyArray
from condgof.check import Check, Repair
from condgof.check._looked import BANDS
from condgof.cli._files import write_whole
from condgof.errors import InputError
from condgof.laws import Intervals, Law, Probabilities, Quantiles, normalised
from condgof.laws._counts import Counts
from condgof.sample import arrow

#: What a table of repaired predictions can be written as.
ENDINGS = (".parquet", ".csv")


def check_ending(path: Path) -> None:
    """Refuse a file of another kind than can be written."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"--repair {path}: name a file that ends in {' or '.join(ENDINGS)}.")


def write_repaired(path: Path, found: Check, better: Repair) -> None:
    """Write the predictions of each row, as they are and repaired by what other rows taught."""
    before, after = better.held_out_law()
    names = (found.looked.class_names, found.looked.codes)
    y = np.array(names[0])[names[1]] if isinstance(before, Probabilities) else found.looked.y[:, 0]
    columns: dict[str, Any] = {"row": found.looked.rows, found.y_columns[0]: y}
    for prefix, law in (("", before), ("repaired_", after)):
        columns |= {f"{prefix}{name}": values for name, values in predicted(law, found).items()}
    table, file = arrow().table(columns), io.BytesIO()
    csv = path.suffix.lower() == ".csv"
    (arrow("csv").write_csv if csv else arrow("parquet").write_table)(table, file)
    write_whole(path, file.getvalue())


def predicted(law: Law, found: Check) -> dict[str, AnyArray]:
    """Return what a law predicts, a column each."""
    if isinstance(law, Probabilities):
        return {
            f"p_{name}": p for name, p in zip(law.class_names, normalised(law.values).T, strict=True)
        }
    if isinstance(law, Quantiles):
        return {f"q{level:g}": q for level, q in zip(law.levels, np.asarray(law.values).T, strict=True)}
    if isinstance(law, Intervals):
        return {
            f"{end}_{coverage:g}": values
            for end, ends in (("low", law.low), ("high", law.high))
            for coverage, values in zip(law.coverage, np.asarray(ends).T, strict=True)
        }
    if not law.can("cdf"):
        return {"pit": ndtr(law.normal_scores(found.looked.y)[:, 0])}
    columns = {f"q{level:g}": q for level, q in zip(BANDS, law.quantile(BANDS).T, strict=True)}
    if isinstance(law, Counts):
        columns["p_0"] = law.cdf(np.zeros(law.n))
    if law.can("mean_std"):
        mean, std = law.mean_std()
        columns |= {"mean": mean[:, 0], "sd": std[:, 0]}
    return columns
