"""condgof's own tests of a sample."""

from __future__ import annotations

import condgof as cg
from rivals.design import Rng, Sample

#: Draws of the null distribution.
DRAWS = 499
#: Draws where a report is made as well.
REPORT_DRAWS = 199


def seed_of(rng: Rng) -> int:
    return int(rng.integers(2**31))


def adaptive(sample: Sample, rng: Rng) -> float:
    result = cg.adaptive(
        sample.law, sample.x, sample.y, n_boot=DRAWS, rng=seed_of(rng), engine=1
    )
    return float(result.pvalue)


def kcsd(sample: Sample, rng: Rng) -> float:
    result = cg.kcsd(
        sample.law, sample.x, sample.y, n_boot=DRAWS, rng=seed_of(rng), engine=1
    )
    return float(result.pvalue)


def kcsd_of_residuals(sample: Sample, rng: Rng) -> float:
    result = cg.kcsd(
        sample.law,
        sample.x,
        sample.y,
        standardize="cdf",
        n_boot=DRAWS,
        rng=seed_of(rng),
        engine=1,
    )
    return float(result.pvalue)


def calibration(sample: Sample, rng: Rng) -> float:
    result = cg.calibration(
        sample.law, sample.x, sample.y, n_boot=DRAWS, rng=seed_of(rng), engine=1
    )
    return float(result.pvalue)


def check(sample: Sample, rng: Rng) -> float:
    report = cg.check(
        sample.law, sample.x, sample.y, n_boot=REPORT_DRAWS, rng=seed_of(rng), engine=1
    )
    return float(report.pvalue)


def check_interval(sample: Sample, rng: Rng) -> float:
    """`check` of the 90% interval alone, as a model that predicts nothing else."""
    low = sample.law.quantile(0.05).ravel()
    high = sample.law.quantile(0.95).ravel()
    intervals = cg.from_intervals(low, high, 0.9)
    return check(sample._replace(law=intervals), rng)
