"""Results at fixed seeds are those of the first release: they are part of the contract.

A change of these numbers is a change of every user's results, and belongs in the changelog.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import condgof as cg
from condgof.study import problem

GOLDEN = Path(__file__).with_name("results.json")
CASES = {
    "kcsd.true-mixture": lambda p, x, y: cg.kcsd(p, x, y, rng=1),
    "kcsd.true-mixture.multinomial": lambda p, x, y: cg.kcsd(
        p, x, y, rng=1, null="multinomial"
    ),
    "kcsd.lgm.imq-std": lambda p, x, y: cg.kcsd(
        p, x, y, rng=1, kernel_x=cg.IMQ(), kernel_y=cg.Matern52(), scale_x="std"
    ),
    "fscd.true-hetero.random": lambda p, x, y: cg.fscd(p, x, y, rng=1, locations="random"),
    "adaptive.true-hetero": lambda p, x, y: cg.adaptive(p, x, y, rng=1),
    "adaptive.true-mixture.mean_std": lambda p, x, y: cg.adaptive(
        p, x, y, rng=1, standardize="mean_std"
    ),
    "mmd.lgm": lambda p, x, y: cg.mmd(p, x, y, rng=1),
    "zheng.true-mixture.wild": lambda p, x, y: cg.zheng(p, x, y, rng=1, null="wild"),
    "ksd.true-student": lambda p, x, y: cg.ksd(cg.from_scores(p(x).score(y)), y, rng=1),
    "fssd.true-student.random": lambda p, x, y: cg.fssd(
        cg.from_scores(p(x).score(y)), y, rng=1, locations="random"
    ),
}
#: Rows of each case: more than 1,000, of which the median heuristic draws some.
ROWS = 1200
DOUBLE = 1e-8
#: The test functions of `adaptive` are summed over rows in single precision, by BLAS, in an
#: order that depends on the processor. With rounding errors of random sign, two sums of n
#: terms in different orders differ by about sqrt(2 n) 2^-24 / 3 of themselves, a millionth;
#: two processors have differed by 1.9e-7.
SINGLE = float(np.sqrt(2 * ROWS) * 2.0**-24 / 3)


def compute(name):
    case = problem(name.split(".")[1])
    x, y = case.draw(ROWS, np.random.default_rng(0))
    result = CASES[name](case.p, x, y)
    return {"statistic": result.statistic, "pvalue": result.pvalue}


@pytest.mark.parametrize("name", CASES)
def test_as_released(name):
    released = json.loads(GOLDEN.read_text())[name]
    result = compute(name)
    assert result["pvalue"] == released["pvalue"]
    rel = SINGLE if name.startswith("adaptive") else DOUBLE
    assert result["statistic"] == pytest.approx(released["statistic"], rel=rel)


if __name__ == "__main__":  # write them again, together with a line in the changelog
    GOLDEN.write_text(json.dumps({name: compute(name) for name in CASES}, indent=2) + "\n")
