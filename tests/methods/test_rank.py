"""rank: every pair as in compare, corrected together."""

import json
import pickle

import numpy as np
import pytest
from scipy.stats import norm

import condgof as cg
import oracle
from condgof.errors import InputError, InputTypeError


def many(n=300):
    rng = np.random.default_rng(2)
    x = rng.uniform(-2, 2, (n, 1))
    y = x[:, 0] + rng.normal(size=n)
    ones = np.ones(n)
    return {
        "bent": (x[:, 0] + 0.4 * x[:, 0] ** 2, ones), "truth": (x[:, 0], ones),
        "wide": (x[:, 0], 1.15 * ones), "flat": (0 * x[:, 0], ones),
    }, x, y  # fmt: skip


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
def test_rank_is_compare_for_every_pair(solver):
    models, x, y = many()
    found = cg.rank(models, x, y, rng=0, solver=solver)
    assert list(found.discrepancies) == sorted(found.discrepancies)
    assert len(found.pairs) == 6
    for pair in found.pairs:
        one = cg.compare(models[pair.worse], models[pair.better], x, y, rng=0, solver=solver)
        assert pair.difference == pytest.approx(one.difference, rel=1e-6)
        assert pair.standard_error == pytest.approx(one.details["standard_error"], rel=1e-6)
        assert pair.pvalue == pytest.approx(one.pvalue, rel=1e-4)
        assert pair.adjusted >= pair.pvalue
    assert "truth" in found.best()
    assert not {"bent", "flat"} & set(found.best())
    adjusted = [pair.adjusted for pair in found.pairs]
    assert adjusted == sorted(adjusted)


def test_rank_corrects_by_the_largest_of_joint_draws():
    """The first pair against the largest |z| of all six, drawn from the rows' own correlation."""
    models, x, y = many(60)
    models["bent"] = (x[:, 0] + 0.05 * x[:, 0] ** 2, np.ones(60))
    models["flat"] = (0.95 * x[:, 0], np.ones(60))
    found = cg.rank(models, x, y, rng=0, kernel_x=cg.Gaussian(1.0), kernel_y=cg.Gaussian(1.0))
    u, unit = y / y.std(ddof=1), y.std(ddof=1)
    k = oracle.gram(x / x.std(ddof=1), x / x.std(ddof=1), oracle.gaussian, 1.0)
    rows = []
    for mean, std in models.values():
        h = k * oracle.stein_h(u[:, None], (unit * (mean - y) / std**2)[:, None], oracle.gaussian, 1.0)
        np.fill_diagonal(h, 0.0)
        rows.append(h.mean(axis=1))
    rows = np.array(rows)
    pairs = [(a, b) for a in range(4) for b in range(a)]
    correlation = np.corrcoef(np.array([rows[a] - rows[b] for a, b in pairs]))
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(6), correlation, 100_000)
    strongest = found.pairs[0]
    z = norm.isf(strongest.pvalue / 2)
    expected = float((np.abs(draws).max(axis=1) >= z).mean())
    assert strongest.adjusted == pytest.approx(expected, abs=4 * np.sqrt(expected / 9999) + 1e-3)


def test_rank_of_models_that_are_the_same():
    models, x, y = many(100)
    found = cg.rank({"a": models["truth"], "b": models["truth"], "c": models["flat"]}, x, y, rng=0)
    pair = next(p for p in found.pairs if {p.better, p.worse} == {"a", "b"})
    assert (pair.pvalue, pair.adjusted) == (1, 1)
    assert set(found.best()) == {"a", "b"}


def test_a_ranking_reads_pickles_and_goes_to_json():
    models, x, y = many()
    found = cg.rank(models, x, y, rng=0)
    text = str(found)
    assert "rank of 4 models by fit, n = 300" in text
    assert "truth" in text.splitlines()[2] or "wide" in text.splitlines()[2]
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["best"] == list(found.best())
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()
    assert len(found.different(0.9)) >= len(found.different(1e-6))
    with pytest.raises(InputError, match="alpha"):
        found.best(2.0)


def test_rank_refuses():
    models, x, y = many(50)
    with pytest.raises(InputTypeError, match="mapping"):
        cg.rank([models["truth"], models["flat"]], x, y)
    with pytest.raises(InputError, match="two models or more"):
        cg.rank({"one": models["truth"]}, x, y)
    with pytest.raises(InputTypeError, match="strings"):
        cg.rank({1: models["truth"], 2: models["flat"]}, x, y)
