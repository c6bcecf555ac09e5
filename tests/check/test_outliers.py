"""Outliers as a frame, and values of y that come too often."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm, poisson

import condgof as cg
from condgof.check._atoms import grid_step

FAST = {"rng": 0, "n_boot": 39}


def normal_sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame({"a": rng.normal(size=n)}, index=[f"p{i}" for i in range(n)])
    return x, x["a"].to_numpy() + rng.normal(size=n)


def test_outliers_are_a_frame_the_furthest_out_first():
    x, y = normal_sample()
    model = (x["a"].to_numpy(), np.ones(300))
    assert len(cg.check(model, x, y, **FAST).outliers) == 0
    y[[5, 80]] = x["a"].iloc[[5, 80]] + np.array([7.0, -12.0])
    report = cg.check(model, x, y, **FAST)
    assert list(report.outliers.index) == ["p80", "p5"]
    assert list(report.outliers)[:-1] == list(report.frame())
    np.testing.assert_allclose(report.outliers["z"], [-12.0, 7.0])
    np.testing.assert_allclose(
        report.outliers["tail_probability"], 2 * norm.sf([12.0, 7.0]), rtol=1e-6
    )
    wild = next(one for one in report.overall if one.kind == "wild")
    assert wild.words == "2 of 300 rows are outliers: rows p80 (z = −12), p5 (z = 7)"


def test_the_frame_is_of_the_users_library_and_hides_no_column():
    x, y = normal_sample()
    y[3] += 20.0
    table = pl.DataFrame({"tail_probability": x["a"].to_numpy()})
    report = cg.check((x["a"].to_numpy(), np.ones(300)), table, y, **FAST)
    assert isinstance(report.outliers, pl.DataFrame)
    assert report.outliers.columns[0] == "tail_probability"
    assert report.outliers.columns[-1] == "condgof_tail_probability"


def test_far_counts_are_told_apart():
    """One less the CDF has no digits beyond z = 8.2."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    y = rng.poisson(3.0, 300)
    y[[7, 9, 11]] = 60, 90, 40
    report = cg.check(cg.models.Poisson(mean=3.0), x, y, **FAST)
    assert list(report.outliers.index) == [9, 7, 11]
    for count, z in zip((90, 60, 40), report.outliers["z"], strict=True):
        # z lies between the tails from the count on, and from the next one on.
        low = -norm.ppf(poisson.sf(count - 1, 3.0))
        high = -norm.ppf(poisson.sf(count, 3.0))
        assert low - 1e-6 <= z <= high + 1e-6


def test_classes_of_tiny_probability_are_outliers():
    rng = np.random.default_rng(2)
    x = rng.normal(size=500)
    p = np.where(np.arange(500) < 100, 1e-6, 0.5)
    y = (rng.random(500) < p).astype(int)
    report = cg.check(cg.probabilities(p), x, y, **FAST)
    assert len(report.outliers) == 0
    assert all(one.kind != "wild" for one in report.overall)
    y[:3] = 1
    p[0] = 0.0
    report = cg.check(cg.probabilities(p), x, y, **FAST)
    assert set(report.outliers.index) == {0, 1, 2}
    assert report.outliers.index[0] == 0
    wild = next(one for one in report.overall if one.kind == "wild")
    assert wild.words.startswith(
        "3 of 500 rows have a class that the model gives a probability below 0.0001"
        " (9.9e-05 expected; 1 of them probability 0): rows 0 (0), 1 (1e-06)"
    )
    json.dumps(report.to_dict(), allow_nan=False)


def test_few_improbable_classes_among_many_are_expected():
    rng = np.random.default_rng(3)
    p = np.full(60_000, 9e-5)
    y = (rng.random(len(p)) < p).astype(int)
    assert y.sum() > 3
    report = cg.check(cg.probabilities(p), rng.normal(size=len(p)), y, rng=0, n_boot=19)
    assert all(one.kind != "wild" for one in report.overall)
    assert len(report.outliers) == y.sum()


@pytest.mark.parametrize("kind", ["scores", "quantiles", "draws"])
def test_there_are_none_where_the_model_does_not_say_how_far_out(kind):
    x, y = normal_sample()
    y[0] = 50.0
    a = x["a"].to_numpy()
    models = {
        "scores": cg.from_scores((a - y)[:, None]),
        "quantiles": cg.from_quantiles(a[:, None] + [-1.0, 0.0, 1.0], [0.16, 0.5, 0.84]),
        "draws": cg.from_draws(
            a[:, None] + np.random.default_rng(0).normal(size=(300, 60))
        ),
    }
    assert len(cg.check(models[kind], x, y, **FAST).outliers) == 0


# Atoms


def atoms_of(report):
    return [one for one in report.overall if one.kind == "atom"]


def test_a_value_that_comes_too_often_is_an_atom():
    x, y = normal_sample(500)
    is_zero = np.random.default_rng(1).random(500) < 0.24
    y[is_zero] = 0.0
    report = cg.check((x["a"].to_numpy(), np.ones(500)), x, y, **FAST)
    (atom,) = atoms_of(report)
    assert (atom.label, atom.estimate, atom.expected) == ("0", is_zero.mean(), 0.0)
    assert atom.telling
    assert "exactly 0 (" in atom.words
    assert atom.words.endswith("where a continuous model has none")
    assert any(one["kind"] == "atom" for one in report.to_dict()["overall"])
    assert atom.words in str(report).replace("\n           ", " ")
    report.to_html()


@pytest.mark.parametrize("step", [0.1, 0.5, 2.0])
def test_a_rounded_y_has_no_atoms_and_a_note(step):
    x, y = normal_sample(500)
    rounded = np.round(3.0 * y / step) * step
    model = (3.0 * x["a"].to_numpy(), np.full(500, 3.0))
    report = cg.check(model, x, pd.Series(rounded, x.index, name="dose"), **FAST)
    assert atoms_of(report) == []
    assert f"dose is rounded to {step:g}" in report.notes


def test_an_atom_of_a_rounded_y():
    x, y = normal_sample(800)
    y = np.round(y, 1)
    y[np.random.default_rng(1).random(800) < 0.2] = 0.0
    report = cg.check((x["a"].to_numpy(), np.ones(800)), x, y, **FAST)
    (atom,) = atoms_of(report)
    assert atom.label == "0"
    assert 0.01 < atom.expected < 0.05
    assert "; the model predicts" in atom.words


def test_no_atoms_of_continuous_draws_counts_or_a_few_ties():
    x, y = normal_sample(500)
    y[:4] = 0.25  # fewer than five rows
    a = x["a"].to_numpy()
    assert atoms_of(cg.check((a, np.ones(500)), x, y, **FAST)) == []
    draws = np.random.default_rng(0).normal(size=(500, 40)) + a[:, None]
    y[:100] = 0.0
    assert atoms_of(cg.check(cg.from_draws(draws), x, y, **FAST)) == []
    counts = np.random.default_rng(0).poisson(2.0, 500)
    assert atoms_of(cg.check(cg.models.Poisson(mean=2.0), x, counts, **FAST)) == []


def test_grid_steps():
    assert grid_step(np.array([0.1, 0.7, -1.2])) == pytest.approx(0.1)
    assert grid_step(np.array([5.0, 15.0, 20.0])) == 5.0
    assert grid_step(np.array([0.25, 0.5, 1.75])) == 0.25
    assert grid_step(np.array([0.0, 3.0, 7.0])) == 1.0
    assert grid_step(np.random.default_rng(0).normal(size=20)) is None
