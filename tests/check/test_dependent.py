"""Rows that depend on each other: groups of rows, and blocks of a series."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import condgof as cg
from condgof.check import Bench
from levels import assert_not_too_small

FAST = {"n_boot": 39, "engine": 1}
N = 400


def clustered(seed, count=20, share=0.3):
    """Rows of a group have part of their noise in common."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(count), N // count)
    x = rng.standard_normal(N)
    common = rng.standard_normal(count)[codes]
    return x, np.sqrt(share) * common + np.sqrt(1 - share) * rng.standard_normal(N), codes


def plainly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cg.errors.DependenceWarning)
        return cg.check(*args, **options, **FAST)


def series(rng, n=N):
    """Noise in which rows next to each other go together, with standard deviation 1."""
    noise = np.convolve(rng.standard_normal(n + 4), np.ones(5) / np.sqrt(5), "valid")
    return rng.standard_normal(n), noise


def width(check, kind="coverage"):
    found = next(f for f in check.overall if f.kind == kind)
    return found.interval[1] - found.interval[0]


def test_groups_widen_what_is_said():
    x, noise, codes = clustered(0)
    model = (x, np.ones(N))
    y = x + noise + 1.0
    by = np.where(x > 0, "high", "low")
    plain = plainly(model, x, y, by=by, rng=0)
    found = cg.check(model, x, y, groups=codes, by=by, rng=0, **FAST)
    assert found.result.details["groups"] == 20
    assert found.rejected
    for kind in ("shift", "coverage"):
        assert width(found, kind) > 1.3 * width(plain, kind)
    assert found.overall[0].estimate == plain.overall[0].estimate
    size = plain.effect.interval
    wide = found.effect.interval
    assert wide.high - wide.low > 1.2 * (size.high - size.low)
    assert any("signs of groups or blocks of rows" in note for note in found.notes)
    assert not any("signs" in note for note in plain.notes)
    assert max(one.pvalue for one in found.groups) > 100 * max(
        one.pvalue for one in plain.groups
    )
    assert all(one.pvalue <= 0.05 for one in found.groups)


def test_blocks_find_and_say_so():
    rng = np.random.default_rng(0)
    x, noise = series(rng, 1200)
    y = x + noise + 1.5 * (x > 1.0)
    found = cg.check((x, np.ones(1200)), x, y, dependence=10, rng=0, **FAST)
    assert found.result.details["block_length"] == 10
    first = found.slices[0]
    assert (first.kind, first.direction) == ("shift", "too low")
    assert x[first.rows].min() > 0.7
    np.testing.assert_array_equal(found.frame().query(first.query).index, first.rows)
    residual = (y - x)[first.rows]
    assert [one.quantity for one in first.findings[:2]] == ["median", "mean"]
    assert first.findings[0].estimate == pytest.approx(np.median(residual))
    assert first.findings[1].estimate == pytest.approx(residual.mean())
    assert any("signs of groups or blocks of rows" in note for note in found.notes)


@pytest.mark.parametrize("how", ["groups", "blocks", "classes", "by"])
def test_true_models_name_nothing_more_often_than_they_may(how):
    """6 samples, of which p-values count whole; `make calibrate` has more."""
    trials = 6
    named = 0
    gains = []
    groups = []
    for trial in range(trials):
        if how == "blocks":
            rng = np.random.default_rng([trial, 3])
            x, noise = series(rng)
            options = {"dependence": 10}
        else:
            x, noise, codes = clustered([trial, 3], 40)
            options = {"groups": codes}
        model = (x, np.ones(N))
        y = x + noise
        if how == "classes":
            model = cg.probabilities(np.full(N, 0.5))
            y = (noise > 0).astype(int)
        if how == "by":
            options["by"] = codes // 4
        found = cg.check(model, x, y, rng=trial, n_boot=39, engine=1, **options)
        named += bool(found.effects)
        gains.append(found.result.details["families"]["staged gains"])
        if how == "by":
            groups.append(min(1.0, min(one.pvalue for one in found.groups)))
    assert named <= binom.isf(1e-4, trials, 0.05)
    assert_not_too_small(gains)
    if how == "by":
        assert_not_too_small(groups)


def test_dependence_of_one_row_is_none():
    x, noise, _ = clustered(1)
    model = (x, np.ones(N))
    plain = plainly(model, x, x + noise, rng=0)
    alone = plainly(model, x, x + noise, groups=np.arange(N), rng=0)
    assert alone.pvalue == plain.pvalue
    assert alone.effect == plain.effect
    assert [f.interval for f in alone.overall] == [f.interval for f in plain.overall]


def test_few_groups_could_not_have_found_anything():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 90)
    y = x + rng.standard_normal(90)
    model = cg.models.Normal(mean=lambda x: x, std=1.0)
    few = cg.check(model, x, y, groups=np.arange(90) // 45, rng=0, **FAST)
    assert few.power.words.startswith("With so few rows, or groups of them, hardly any")
    assert not few.rejected
    assert all(f.interval[0] <= f.expected <= f.interval[1] for f in few.overall)
    many = cg.check(model, x, y, groups=np.arange(90) // 3, rng=0, **FAST)
    assert many.power.words.startswith("Minimum detectable (power 0.8): ")


def test_rows_that_go_together_find_less():
    x, noise, codes = clustered(0)
    model = (x, np.ones(N))
    y = x + noise
    plain, found = (plainly(model, x, y, groups=g, rng=0).power for g in (None, codes))
    assert found.size > 1.5 * plain.size


def test_a_giant_group():
    x, noise, _ = clustered(2)
    giant = np.where(np.arange(N) < 390, 0, np.arange(N))
    found = cg.check(
        (x, np.ones(N)), x, x + noise, groups=giant, by=np.arange(N) < 200, rng=0, **FAST
    )
    assert found.result.n == N
    assert not found.slices
    inside = next(
        one for one in found.groups if one.words == "group = True"
    )  # of one group alone
    assert inside.pvalue == 1.0
    assert not any(f.telling for f in inside.findings)


def test_many_rows_are_drawn_at_random(monkeypatch):
    monkeypatch.setattr(sys.modules[Bench.__module__], "MOST_ROWS", 200)
    x, noise, codes = clustered(3)
    for options in ({"dependence": 10}, {"groups": codes}):
        found = cg.check((x, np.ones(N)), x, x + noise, rng=0, **options, **FAST)
        assert any("200 of the 400 rows, drawn at random" in note for note in found.notes)


def test_groups_by_a_column_and_rows_that_are_left_out():
    x, noise, codes = clustered(4)
    frame = pd.DataFrame({"x": x, "who": pd.Categorical(codes.astype(str))})
    frame.loc[::50, "x"] = np.nan
    found = cg.check(
        (x, np.ones(N)),
        frame,
        x + noise,
        groups="who",
        by=codes < 10,
        missing="drop",
        rng=0,
        **FAST,
    )
    assert found.result.details["groups"] == 20
    assert found.result.n == N - 8
    assert sum(one.n for one in found.groups) == N - 8
    np.testing.assert_array_equal(
        np.sort(np.concatenate([one.rows for one in found.groups])), found.frame().index
    )


@pytest.mark.parametrize("kind", ["intervals", "draws", "scores", "counts", "classes"])
def test_all_kinds_take_groups_and_blocks(kind):
    rng = np.random.default_rng(5)
    x, noise, codes = clustered(5)
    y = x + noise
    model = {
        "intervals": lambda: cg.from_intervals(x - 1.6449, x + 1.6449, 0.9),
        "draws": lambda: cg.from_draws(x[:, None] + rng.standard_normal((N, 50))),
        "scores": lambda: cg.from_scores((x - y)[:, None]),
        "counts": lambda: cg.models.Poisson(mean=np.exp(x / 2)),
        "classes": lambda: cg.probabilities(np.full(N, 0.5)),
    }[kind]()
    y = {"counts": rng.poisson(np.exp(x / 2)), "classes": (noise > 0).astype(int)}.get(
        kind, y
    )
    for options in ({"groups": codes}, {"dependence": 5}):
        found = cg.check(model, x, y, by=x > 0, rng=0, **FAST, **options)
        assert len(found.groups) == 2
        assert all(0 < one.pvalue <= 1 for one in found.groups)
