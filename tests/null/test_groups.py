"""Nulls of groups: weights, correlated random numbers, and two nulls of one statistic."""

import numpy as np
import pytest
from scipy import stats

import condgof as cg
from condgof.methods import Options, make_design, prepare
from condgof.null import (
    Dependence,
    GroupResample,
    GroupSigns,
    RowSigns,
    intraclass_correlation,
    weights_by_size,
)
from condgof.null._groups import GroupedGenerator
from condgof.sample import Seed
from condgof.stein import Units

GIANT = np.array([30, *[4] * 12])


def prepared(codes, seed=0):
    rng = np.random.default_rng(seed)
    n = len(codes)
    x = rng.normal(size=(n, 2))
    y = x[:, 0] + 0.6 * rng.normal(size=codes.max() + 1)[codes] + 0.8 * rng.normal(size=n)
    units = Units(scale_x="ranks", standardize="auto", predictions=True)
    options = Options(n_boot=99, engine=1).checked()
    rows = prepare((x[:, 0], np.ones(n)), x, y, units, options, Seed.of(0)).rows
    return make_design(rows.subsample).plan, rows, options.engine


def slow_statistics(plan, rows, codes):
    """Σ_{g≠h} a_g a_h V_g·V_h of each statistic, group by group."""
    features, values = plan.hold(rows)
    n_g = np.bincount(codes)
    n = len(codes)
    made = []
    for panel in plan.panels:
        for x_block in plan.features.blocks[panel.features]:
            for y_block in plan.test_functions.blocks[panel.test_functions]:
                f = features[:, x_block.columns].astype(float)
                xi = values[:, y_block.columns].astype(float)
                terms = (f[:, :, None] * xi[:, None, :]).reshape(n, -1)
                sums = np.stack([terms[codes == g].sum(axis=0) for g in range(len(n_g))])
                own = np.array(
                    [np.square(terms[codes == g]).sum() for g in range(len(n_g))]
                )
                pairs = (np.square(sums).sum(axis=1) - own) / n_g
                rho = pairs[n_g > 1].sum() / (n_g - 1).sum() / (own.sum() / n)
                a = 1.0 / (1.0 + (n_g - 1) * min(max(rho, 0.0), 1.0))
                gram = (a[:, None] * sums) @ (a[:, None] * sums).T
                counted = np.outer(a * n_g, a * n_g)
                between = counted.sum() - np.trace(counted)
                made.append(n * (n - 1) / between * (gram.sum() - np.trace(gram)))
    return np.array(made)


def test_both_nulls_have_the_statistics_of_the_slow_formula():
    codes = np.random.default_rng(1).permutation(np.repeat(np.arange(13), GIANT))
    plan, rows, engine = prepared(codes)
    slow = slow_statistics(plan, rows, codes)
    signs = GroupSigns("auto", Dependence(codes=codes))
    resampled = GroupResample(Dependence(codes=codes), codes=codes, rho=0.3)
    for null in (signs, resampled):
        drawn = null.draw(plan, rows, 20, Seed.of(0), engine)
        np.testing.assert_allclose(drawn.statistics, slow, rtol=1e-3, atol=1e-2)
        assert drawn.draws.shape == (len(slow), 20)
        assert np.isfinite(drawn.draws).all()


def test_groups_of_one_size_have_the_p_values_of_signs_of_rows():
    codes = np.repeat(np.arange(20), 6)
    plan, rows, engine = prepared(codes)
    depend = Dependence(codes=codes)
    weighted = GroupSigns("auto", depend).draw(plan, rows, 99, Seed.of(0), engine)
    plain = RowSigns("auto", depend).draw(plan, rows, 99, Seed.of(0), engine)
    for k in range(len(plan.statistics)):
        above = [(one.draws[k] >= one.statistics[k]).sum() for one in (weighted, plain)]
        assert abs(above[0] - above[1]) <= 1


def test_weights_do_not_change_with_signs_and_are_one_without_correlation():
    rng = np.random.default_rng(2)
    n_g = np.array([50.0, 3.0, 3.0, 1.0])
    diagonal = n_g[:, None] * np.ones((1, 2))
    independent = weights_by_size(squares=diagonal, diagonal=diagonal, n_g=n_g)
    np.testing.assert_array_equal(independent, 1.0)
    same = weights_by_size(squares=n_g[:, None] * diagonal, diagonal=diagonal, n_g=n_g)
    np.testing.assert_allclose(same, 1.0 / n_g[:, None] * np.ones((1, 2)))
    sums = rng.normal(size=(4, 5))
    flipped = sums * np.array([1, -1, -1, 1])[:, None]
    squares = [np.square(v).sum(axis=1, keepdims=True) for v in (sums, flipped)]
    one, other = (
        weights_by_size(squares=s, diagonal=diagonal[:, :1], n_g=n_g) for s in squares
    )
    np.testing.assert_array_equal(one, other)


def test_correlated_random_numbers_have_their_law_and_the_correlation():
    codes = np.repeat(np.arange(40), 5)
    rng = GroupedGenerator(np.random.default_rng(0), codes, 0.4)
    z = rng.standard_normal((200, 300))
    assert stats.kstest(z[0], "norm").pvalue > 1e-3
    assert np.corrcoef(z[0], z[1])[0, 1] == pytest.approx(0.4, abs=0.15)
    assert abs(np.corrcoef(z[0], z[5])[0, 1]) < 0.2
    within = np.mean([np.corrcoef(z[5 * g], z[5 * g + 1])[0, 1] for g in range(40)])
    assert within == pytest.approx(0.4, abs=0.03)
    assert stats.kstest(rng.random((200, 50))[::5].ravel(), "uniform").pvalue > 1e-3
    times = rng.standard_exponential((200, 50))[::5].ravel()
    assert stats.kstest(times, "expon").pvalue > 1e-3


def test_the_intraclass_correlation_is_found_whatever_the_shift_and_the_sizes():
    rng = np.random.default_rng(0)
    sizes = np.array([400, *rng.integers(1, 9, 300)])
    codes = np.repeat(np.arange(301), sizes)
    shared = rng.normal(size=301)[codes]
    z = np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=len(codes))
    assert intraclass_correlation(z[:, None], codes) == pytest.approx(0.3, abs=0.1)
    moved = intraclass_correlation(z[:, None] + 5.0, codes)
    assert moved == pytest.approx(intraclass_correlation(z[:, None], codes))
    assert intraclass_correlation(z[:, None], np.arange(len(z))) == 0
    independent = rng.normal(size=(len(codes), 1))
    assert intraclass_correlation(independent, codes) < 0.1


def test_the_larger_p_value_counts_and_the_result_says_so():
    codes = np.repeat(np.arange(25), [100, *[4] * 24])
    rng = np.random.default_rng(5)
    x = rng.normal(size=len(codes))
    notes = set()
    for seed in range(6):
        shared = rng.normal(size=25)[codes]
        y = x + np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=len(codes))
        result = cg.adaptive(
            (x, np.ones(len(x))), x, y, groups=codes, n_boot=99, rng=seed, engine=1
        )
        notes |= {result.null}
        signs = cg.adaptive(
            (x, np.ones(len(x))),
            x,
            y,
            groups=codes,
            n_boot=99,
            rng=seed,
            engine=1,
            null="wild",
        )
        assert result.pvalue >= signs.pvalue
    assert notes == {"wild bootstrap by group", "model by group"}
