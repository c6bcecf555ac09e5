"""Every result of the library is a frame on request, with a row for each of its numbers."""

import numpy as np
import pytest

import condgof as cg

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, 150)
Y = X + (X > 1) * 2.0 + RNG.standard_normal(150)
MODEL = (X, np.ones(150))
OTHER = (X + (X > 1) * 2.0, np.ones(150))


@pytest.fixture(scope="module")
def report():
    return cg.check(MODEL, X, Y, rng=0, n_boot=99)


RESULTS = {
    "kcsd": lambda: cg.kcsd(MODEL, X, Y, n_boot=19, rng=0),
    "adaptive": lambda: cg.adaptive(MODEL, X, Y, n_boot=19, rng=0),
    "calibration": lambda: cg.calibration(MODEL, X, Y, n_boot=19, rng=0),
    "compare": lambda: cg.compare(MODEL, OTHER, X, Y, rng=0),
    "rank": lambda: cg.rank({"a": MODEL, "b": OTHER}, X, Y, n_boot=99, rng=0),
    "composite": lambda: cg.composite(
        cg.fits.ols(), X, Y, statistic="adaptive", n_boot=9, rng=0, engine=1
    ),
}
PARTS = {
    "check": lambda report: report,
    "effect": lambda report: report.effects[0],
    "slice": lambda report: report.slices[0],
    "scores": lambda report: report.scores,
    "at": lambda report: report.at(0.0),
    "repair": lambda report: report.repair(),
}


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_results_are_frames(make):
    result = make()
    frame = result.to_frame()
    assert len(frame) == len(result.records()) >= 1


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_parts_of_a_report_are_frames(part, report):
    result = part(report)
    frame = result.to_frame()
    assert len(frame) == len(result.records()) >= 1
