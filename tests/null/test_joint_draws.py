"""Whole draws in place of y: ranks by a slow oracle, levels, and when they are taken."""

import numpy as np
import pytest
from scipy.stats import norm

import condgof as cg
from condgof.laws import law_of
from condgof.residuals import replicates_of, residuals_of
from condgof.residuals._replicates import have_common_noise, random_ranks, spread_order
from condgof.sample import Sample

FAST = {"engine": 1, "n_boot": 99}


def posterior(seed, *, train=50, n=150, columns=3, draws=99, curved=0.0):
    """A linear model after a few training rows: test rows, and draws that share θ."""
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(train), rng.standard_normal((train, columns))])
    slopes = np.linspace(1.0, -1.0, columns + 1)
    y = design @ slopes + rng.standard_normal(train)
    estimate = np.linalg.lstsq(design, y, rcond=None)[0]
    degrees = train - columns - 1
    scale = np.linalg.norm(y - design @ estimate) / np.sqrt(rng.chisquare(degrees, draws))
    root = np.linalg.cholesky(np.linalg.inv(design.T @ design))
    theta = estimate[:, None] + root @ rng.standard_normal((columns + 1, draws)) * scale
    x = rng.standard_normal((n, columns))
    new = np.column_stack([np.ones(n), x])
    noise = rng.standard_normal(n)
    truth = new @ slopes + curved * (x[:, 0] ** 2 - 1.0)
    return x, truth + noise, new @ theta + scale * rng.standard_normal((n, draws))


def notes_of(result):
    return result.details.get("notes", ())


def rejections(data, samples, **options):
    results = []
    for seed in range(samples):
        x, y, draws = data(seed)
        law = cg.from_draws(draws)
        results.append(cg.adaptive(law, x, y, rng=seed, **FAST, **options))
    return sum(result.pvalue <= 0.05 for result in results), results[0]


def test_a_true_family_with_few_training_rows_keeps_its_level():
    rejected, result = rejections(posterior, 30)
    assert rejected <= 5  # row by row it was 20 of 30
    assert result.null == "joint"
    assert len(result.null_distribution) == 99
    assert any("move together" in note and "99 whole" in note for note in notes_of(result))


def test_a_misfit_is_found_all_the_same():
    rejected, _ = rejections(lambda seed: posterior(seed, curved=1.0), 10)
    assert rejected >= 9


def test_check_searches_whole_draws_too():
    rejected = named = groups = 0
    for seed in range(15):
        x, y, draws = posterior(seed, n=120)
        by = np.where(x[:, 0] > 0, "high", "low")
        report = cg.check(cg.from_draws(draws), x, y, by=by, rng=seed, **FAST)
        if report.rejected:
            assert report.details["searched"]["null"] == "whole samples in place of y"
        rejected += report.rejected
        named += bool(report.slices)
        groups += any(one.pvalue <= 0.05 for one in report.groups)
    assert rejected <= 3
    assert named <= 3
    assert groups <= 3


def test_independent_rows_keep_the_finer_null():
    def data(seed):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((100, 1))
        return x, x[:, 0] + rng.standard_normal(100), x + rng.standard_normal((100, 99))

    rejected, result = rejections(data, 10)
    assert result.null == "model"
    assert not notes_of(result)
    assert rejected <= 3


def test_one_noise_vector_for_all_rows():
    def data(seed, scale=1.0):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((150, 1))
        spread = np.exp(0.3 * x)
        y = x[:, 0] + scale * spread[:, 0] * rng.standard_normal(150)
        return x, y, x + spread * rng.standard_normal(99)

    assert have_common_noise(data(0)[2])
    rejected, result = rejections(data, 30)
    assert rejected <= 5
    assert any("the same order in every row" in note for note in notes_of(result))
    rejected, _ = rejections(lambda seed: data(seed, scale=2.0), 10)
    assert rejected >= 9


def test_draws_that_are_sorted_in_each_row_are_ranks_and_no_draws_of_all_rows():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 1))
    y = x[:, 0] + rng.standard_normal(100)
    draws = np.sort(x + rng.standard_normal((100, 99)), axis=1)
    for some in (draws, draws[:, ::-1]):
        assert cg.adaptive(cg.from_draws(some), x, y, rng=0, **FAST).null == "model"


def test_no_common_noise():
    rng = np.random.default_rng(0)
    assert not have_common_noise(rng.standard_normal((20, 30)))
    assert not have_common_noise(np.ones((20, 30)))
    assert not have_common_noise(rng.standard_normal((1, 30)))


def test_several_columns_of_y():
    def data(seed):
        x, first, one = posterior(seed, n=60, draws=49)
        rng = np.random.default_rng([seed, 1])
        second = first + rng.standard_normal(60)
        two = one + rng.standard_normal(one.shape)
        return x, np.column_stack([first, second]), np.stack([one, two], axis=2)

    rejected, result = rejections(data, 15)
    assert result.null == "joint"
    assert rejected <= 3


def test_groups_of_the_user_keep_their_signs():
    x, y, draws = posterior(0)
    groups = np.arange(len(y)) % 30
    result = cg.adaptive(cg.from_draws(draws), x, y, groups=groups, rng=0, **FAST)
    assert result.null != "joint"


def test_ranks_are_those_of_plain_loops():
    rng = np.random.default_rng(1)
    candidates = rng.integers(0, 5, (8, 12)).astype(float)
    chosen = np.array([0, 3, 11])
    ranks = random_ranks(candidates, chosen, np.random.default_rng(2))
    uniform = np.random.default_rng(2)
    for i in range(8):
        w = uniform.random(3)
        for k, c in enumerate(chosen):
            others = np.delete(candidates[i], c)
            below = (others < candidates[i, c]).sum()
            equal = (others == candidates[i, c]).sum()
            assert ranks[i, k] == pytest.approx(below + w[k] * (1 + equal))


def test_a_draw_in_place_of_y_is_ranked_as_y_was():
    """z of a draw is between the z of its rank among y and the others."""
    x, y, draws = posterior(3, n=40, draws=19)
    sample = Sample.from_data(x, y)
    law = law_of(cg.from_draws(draws), sample)
    replicates = replicates_of(law, sample, residuals_of(law, sample, "auto"))
    order = spread_order(19)
    for number in range(19):
        s = order[number]
        others = np.column_stack([np.delete(draws, s, axis=1), y])
        below = (others < draws[:, [s]]).sum(axis=1)
        z = replicates.replicate(number).residuals.u[:, 0]
        assert (z >= norm.ppf(below / 20.0) - 1e-6).all()
        assert (z <= norm.ppf((below + 1.0) / 20.0) + 1e-6).all()


def test_an_order_whose_beginnings_are_spread():
    order = spread_order(100)
    assert sorted(order) == list(range(100))
    for count in (5, 10, 30):
        gaps = np.diff(np.sort(order[:count]))
        assert gaps.max() <= 3 * 100 / count


def test_many_draws_serve_for_as_many_as_were_asked():
    x, y, draws = posterior(1, draws=400)
    result = cg.adaptive(cg.from_draws(draws), x, y, rng=1, engine=1, n_boot=150)
    assert len(result.null_distribution) == 150
    again = cg.adaptive(cg.from_draws(draws), x, y, rng=1, engine=2, n_boot=150)
    assert again.pvalue == result.pvalue
