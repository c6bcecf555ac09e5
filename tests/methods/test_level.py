"""The level tables of `make calibrate` in small: fixed seeds, exact bounds."""

import numpy as np
import pytest

import condgof as cg
from condgof.study import problem
from levels import assert_uniform

TRIALS = 15
FORMS = {
    "kcsd": lambda *a, **k: cg.kcsd(*a, **k),
    "fscd-given": lambda p, x, y, **k: cg.fscd(
        p, x, y, locations=np.eye(5, x.shape[1]), **k
    ),
    "fscd-random": lambda *a, **k: cg.fscd(*a, locations="random", **k),
    "fscd-optimize": lambda *a, **k: cg.fscd(*a, **k),
    "ksd": lambda p, x, y, **k: cg.ksd(cg.from_scores(p(x).score(y)), y, **k),
    "fssd-random": lambda p, x, y, **k: cg.fssd(
        cg.from_scores(p(x).score(y)), y, locations="random", **k
    ),
    "fssd-optimize": lambda p, x, y, **k: cg.fssd(cg.from_scores(p(x).score(y)), y, **k),
}


NAMES = ["lgm", "true-hetero", "true-mixture", "true-student"]
#: Optimising takes a hundred times as long; the other problems are in `make calibrate`.
ONCE = ("fscd-optimize", "ksd", "fssd-random", "fssd-optimize")
CASES = [(n, f) for n in NAMES for f in FORMS if f not in ONCE or n == NAMES[1]]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_level(name, form):
    case = problem(name)
    pvalues = []
    for trial in range(TRIALS):
        x, y = case.draw(60, np.random.default_rng([trial, 60]))
        pvalues.append(FORMS[form](case.p, x, y, n_boot=199, rng=trial, engine=1).pvalue)
    assert_uniform(pvalues, n_boot=199)


@pytest.mark.parametrize(
    ("form", "name", "n"),
    [("kcsd", "qgm", 2000), ("fscd-random", "hgm", 500), ("fscd-optimize", "hgm", 500)],
)
def test_a_wrong_model_is_found_when_there_are_data_enough(name, n, form):
    case = problem(name)
    found = 0
    for trial in range(10):
        x, y = case.draw(n, np.random.default_rng([trial, n]))
        found += FORMS[form](case.p, x, y, n_boot=200, rng=trial).reject(0.05)
    assert found >= 6
