"""Scores of a y that looks bounded, without a support."""

import warnings

import numpy as np
import pytest

import condgof as cg
from condgof.errors import SupportWarning
from condgof.laws._undeclared import apparent_support

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=N)
Y = np.exp(X + RNG.normal(size=N))
SCORES = -(1 + np.log(Y) - X) / Y
FAST = {"rng": 0, "n_boot": 19, "engine": 1}


@pytest.mark.parametrize("test", [cg.kcsd, cg.fscd, cg.adaptive, cg.check])
def test_scores_of_a_positive_y_warn(test):
    for model in (
        cg.from_scores(SCORES),
        cg.from_score(lambda y, x: -(1 + np.log(y) - x) / y),
    ):
        with pytest.warns(SupportWarning, match=r"pass support=\(0, inf\)") as caught:
            result = test(model, X, Y, **FAST)
        assert caught[0].filename == __file__
        assert any("no support was declared" in note for note in result.details["notes"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", SupportWarning)
        test(cg.from_scores(SCORES, support=(0, None)), X, Y, **FAST)


def test_tests_without_x_and_comparisons_warn():
    law = cg.from_scores(SCORES)
    for test in (cg.ksd, cg.fssd):
        with pytest.warns(SupportWarning):
            test(law, Y, **FAST)
    with pytest.warns(SupportWarning):
        found = cg.compare(law, cg.from_scores(1.1 * SCORES), X, Y, rng=0)
    assert any(note.startswith("p: all y are positive") for note in found.details["notes"])


def test_columns_of_a_file_warn(tmp_path):
    import pandas as pd

    pd.DataFrame({"x": X, "y": Y, "s": SCORES}).to_csv(tmp_path / "t.csv", index=False)
    source = cg.scan(tmp_path / "t.csv", x="x", y="y")
    with pytest.warns(SupportWarning):
        cg.kcsd(cg.columns(score="s"), source, **FAST)


@pytest.mark.parametrize(
    ("draw", "support"),
    [
        (lambda rng: rng.lognormal(size=N), "(0, inf)"),
        (lambda rng: rng.exponential(size=N), "(0, inf)"),
        (lambda rng: rng.uniform(0, 5, N), "(0, inf)"),
        (lambda rng: rng.uniform(0, 1, N), "(0, 1)"),
        (lambda rng: rng.normal(0, 1, N), None),
        (lambda rng: rng.normal(100, 1, N), None),
        (lambda rng: rng.normal(0.5, 0.05, N), None),
        (lambda rng: rng.normal(170, 10, N), None),
    ],
)
def test_which_y_looks_bounded(draw, support):
    for seed in range(20):
        assert apparent_support(draw(np.random.default_rng(seed))) == support


def test_other_laws_know_their_support():
    with warnings.catch_warnings():
        warnings.simplefilter("error", SupportWarning)
        cg.kcsd(cg.models.LogNormal(mu=X, sigma=1.0), X, Y, **FAST)
        cg.kcsd(cg.from_scores(SCORES[:5]), X[:5], Y[:5], **FAST)
