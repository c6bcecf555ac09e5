"""The size of the misfit: sums by the plain double loop, closed forms, and what must not be
said.
"""

import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

import condgof as cg
import oracle
from condgof.check import Bench, PairSums, pair_sums, parcels_of, squares_of
from condgof.check.kinds import (
    by_label_and_rank,
    first_to_next,
    shifted_law,
    squares_by_label_and_rank,
)
from condgof.methods import Options, make_design, prepare
from condgof.null import Dependence
from condgof.residuals import RatioResiduals
from condgof.result import estimate_text, short
from condgof.sample import Seed
from condgof.stein import Units

ROWS = Dependence()


def bench_of(model, x, y, seed=0, **options):
    """The rows of a sample, without a verdict."""
    how = Options(n_boot=19, engine=1, **options).checked()
    units = Units(scale_x="ranks", standardize="auto", predictions=True)
    rng = Seed.of(seed)
    law, rows = prepare(model, x, y, units, how, rng)
    how = how.for_rows(rows, x)
    return Bench.from_rows(law, rows, make_design(rows.subsample), how.row_dependence, rng)


def softmax(logits):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def drawn(p, rng):
    return np.minimum(
        (rng.random((len(p), 1)) >= np.cumsum(p, axis=1)).sum(axis=1), p.shape[1] - 1
    )


# Sums


def loops(f, xi, move):
    """The definition: matrices of H and of the yardstick, without their diagonals."""
    n = len(f)
    matrix = np.zeros((n, n))
    near = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                matrix[i, j] = (f[i] @ f[j]) * (xi[i] @ xi[j])
                near[i, j] = (f[i] @ f[j]) * (move[i] @ move[j])
    return matrix, near


def check_sums(found, matrix, near):
    n = len(matrix)
    means = matrix.sum(axis=1) / (n - 1)
    left = means - matrix.sum() / near.sum() * near.sum(axis=1) / (n - 1)
    square = (matrix**2).sum() / (n * (n - 1))
    cube = sum(
        matrix[i, j] * matrix[j, k] * matrix[k, i]
        for i in range(n)
        for j in range(n)
        for k in range(n)
    ) / (n * (n - 1) * (n - 2))
    assert found.n == n
    assert found.mean == pytest.approx(means.mean())
    assert found.near == pytest.approx(near.sum() / (n * (n - 1)))
    assert found.between == pytest.approx(
        max(left.var(ddof=1) - square / (2 * n), 0), rel=1e-5
    )
    assert found.square == pytest.approx(square, rel=1e-5)
    assert found.lead == pytest.approx(np.clip(cube / square**1.5, 0, 1), rel=1e-4)


def test_sums_against_the_double_loop(rng):
    f, xi, move = (0.5 + rng.standard_normal((20, d)) for d in (3, 2, 2))
    check_sums(pair_sums(f, xi, move, ROWS), *loops(f, xi, move))
    assert pair_sums(f, xi, None, ROWS).near == pytest.approx(
        loops(f, xi, np.ones((20, 1)))[1].sum() / 380
    )


def test_sums_over_parcels_against_the_double_loop(rng):
    """Pairs of rows of different groups, added up by group."""
    f, xi, move = (0.5 + rng.standard_normal((60, d)) for d in (3, 2, 2))
    codes = rng.permutation(np.repeat(np.arange(12), 5))
    member = (codes[:, None] == np.arange(12)).astype(float)
    whole, near = (member.T @ part @ member / 25 for part in loops(f, xi, move))
    for part in (whole, near):
        np.fill_diagonal(part, 0.0)
    check_sums(pair_sums(f, xi, move, Dependence(codes=codes)), whole, near)


def test_parcels():
    assert parcels_of(ROWS, 9) is None
    assert parcels_of(Dependence(length=2), 20).tolist() == np.repeat(range(5), 4).tolist()
    assert parcels_of(Dependence(length=5), 12).max() == 2  # at least three
    many = parcels_of(Dependence(codes=np.repeat(np.arange(2000), 2)), 4000)
    assert len(np.unique(many)) == 512
    assert (many[::2] == many[1::2]).all()


def test_features_give_the_stein_matrix(rng):
    """D̂ through landmarks, against the matrix itself."""
    x = rng.standard_normal((300, 2))
    z = 0.4 + rng.standard_normal(300)
    bench = bench_of((np.zeros(300), np.ones(300)), x, z)
    part = bench.size.parts[0]
    k = bench.kernel(bench.rows.x, bench.rows.x)
    u = bench.rows.residuals.u
    matrix = k * oracle.stein_h(u, -u, oracle.gaussian, 1.0)
    off = ~np.eye(300, dtype=bool)
    assert part.mean == pytest.approx(matrix[off].mean(), rel=0.02)
    assert part.near == pytest.approx(k[off].mean(), rel=0.01)
    assert part.square == pytest.approx((matrix[off] ** 2).mean(), rel=0.02)


def test_squares_under_the_model_against_all_outcomes(rng):
    """Sums over all pairs of outcomes, for labels, ranks and any kernel on cells."""
    p = softmax(rng.standard_normal((4, 4)))
    q = np.array([[0.7, 0.1, 0.1, 0.1]] * 2)  # ties
    p = np.concatenate([p, q])
    root = rng.standard_normal((4, 3))
    for found, features in (
        (
            squares_by_label_and_rank(p),
            lambda i: by_label_and_rank(p[[i] * 4], np.eye(4) - p[i]),
        ),
        (squares_of(p, root @ root.T), lambda i: (np.eye(4) - p[i]) @ root),
    ):
        for i in range(6):
            for j in range(6):
                inner = features(i) @ features(j).T
                assert found[i, j] == pytest.approx(p[i] @ inner**2 @ p[j], abs=1e-12)


# Bounds


def test_quantiles_are_those_of_a_squared_mean():
    """One feature of variance 1: n·D̂ + 1 has a noncentral χ² law with one degree of
    freedom.
    """
    n = 400
    for m in (0.0, 0.1, 0.3):
        own = m**2 if m else 0.0
        sums = PairSums(n, m**2, 1.0, own, 1.0, 0.0, 1.0)
        for p in (0.05, 0.95, 0.975):
            c = np.sqrt(n) * m
            grid = np.linspace(0, 12, 100_001)
            at = grid[np.searchsorted(norm.cdf(grid - c) - norm.cdf(-grid - c), p)]
            exact = (at**2 - 1) / n
            assert sums.quantile(m**2, p) == pytest.approx(
                exact, abs=0.15 * sums.noise + 0.02 * m
            )


@pytest.mark.parametrize("delta", [0.0, 0.15, 0.6])
def test_bounds_hold(delta):
    """400 samples of n = 150 with that shift; tests/calibration has groups."""
    rng = np.random.default_rng(1)
    wrong = np.zeros(2)
    for _ in range(400):
        z = delta + rng.standard_normal((150, 1))
        near = np.abs(rng.standard_normal((150, 1)))
        sums = pair_sums(near, z, None, ROWS)
        low, high = sums.ends(0.05, 0.05, lambda d: 1.0)
        wrong += low > sums.near * delta**2, high < sums.near * delta**2
    assert (wrong <= binom.isf(1e-4, 400, 0.05)).all()
    assert delta < 0.5 or (wrong >= 5).all()  # and are not wider than they need to be


def test_bounds_without_noise_and_below_0():
    nothing = PairSums(10, 0.5, 1.0, 0.0, 0.0, 0.0, 1.0)
    assert nothing.ends(0.05, 0.05, lambda d: 1.0) == (0.5, 0.5)
    below = PairSums(100, -0.5, 1.0, 0.0, 1.0, 0.0, 1.0).ends(0.05, 0.05, lambda d: 1.0)
    assert below[0] == 0
    assert below[1] > 0


# Sizes: a constant misfit has the size that it has


@pytest.mark.parametrize("d_y", [1, 2])
def test_the_size_of_a_shift_is_the_shift(d_y, rng):
    n = 2000
    x = rng.standard_normal((n, 2))
    y = rng.standard_normal((n, d_y))
    y -= y.mean(axis=0)
    y[:, 0] += 0.4
    found = bench_of((np.zeros((n, d_y)), np.ones((n, d_y))), x, y).size
    low, high = found.bounds(0.025)
    assert low < 0.4 < high
    assert found.estimate == pytest.approx(0.4, abs=0.05)


def too_sure(p, size):
    return p + np.minimum(size, p.max(axis=1))[:, None] * first_to_next(p)


@pytest.mark.parametrize("count", [2, 3, 12])
@pytest.mark.parametrize("size", [0.15, -0.1])
def test_the_size_of_classes_is_what_moved_between_the_first_and_the_next(count, size, rng):
    n = 4000
    x = rng.standard_normal((n, 2))
    p = 0.3 * np.eye(count)[rng.integers(0, count, n)] + 0.7 / count  # room for both
    p = softmax(np.log(p))
    if size < 0:
        size = -0.5 * float(np.sort(p, axis=1)[:, -2].min())
    found = bench_of(cg.probabilities(p), x, drawn(p + size * first_to_next(p), rng)).size
    low, high = found.bounds(0.01)
    assert low < abs(size) < high
    assert found.estimate == pytest.approx(abs(size), abs=0.03)


def test_a_classifier_that_is_far_too_modest(rng):
    """Version 0.1 said 0.048 of one that says 0.74 and is right 0.98 of the time."""
    n = 1500
    x = rng.standard_normal((n, 2))
    best = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    p = np.full((n, 3), 0.13)
    p[np.arange(n), best] = 0.74
    y = np.where(rng.random(n) < 0.98, best, (best + 1) % 3)
    found = cg.check(cg.probabilities(p), x, y, rng=0, n_boot=99)
    assert found.effect.interval.estimate == pytest.approx(0.24, abs=0.06)
    assert found.effect.interval.low > found.power.size


def test_misfits_between_labels_do_not_vanish(rng):
    """Labels that go wrong in one region, and by opposite signs: near the mean probability
    moved.
    """
    n = 4000
    x = rng.standard_normal((n, 2))
    p = softmax(x @ rng.standard_normal((2, 3)))
    swapped = p.copy()
    signed = p.copy()
    there = x[:, 0] > 1
    swapped[there] = p[there][:, [1, 0, 2]]
    moved = np.where(x[:, 1] > 0, np.minimum(0.1, p[:, 0]), -np.minimum(0.1, p[:, 1]))
    signed[:, 0] -= moved
    signed[:, 1] += moved
    for q in (swapped, signed):
        size = bench_of(cg.probabilities(p), x, drawn(q, rng)).size.estimate
        mean = 0.5 * np.abs(q - p).sum(axis=1).mean()
        assert 0.7 * mean < size < 2.0 * mean


@pytest.mark.parametrize("mean", [0.3, 3.0, 60.0])
def test_the_size_of_counts_is_a_shift_in_standard_deviations(mean, rng):
    n = 3000
    x = rng.standard_normal(n)
    mu = mean * np.exp(0.3 * x)
    found = bench_of(cg.models.Poisson(mu), x, rng.poisson(mu + 0.4 * np.sqrt(mu))).size
    low, high = found.bounds(0.01)
    assert low < 0.4 < high
    assert found.estimate == pytest.approx(0.4, abs=0.06)


def test_counts_known_by_ratios(rng):
    n = 600
    x = rng.standard_normal(n)
    model = cg.from_ratio(lambda y, x: 3.0 * np.exp(0.3 * x) / (y + 1.0))
    mu = 3.0 * np.exp(0.3 * x)
    bench = bench_of(model, x, rng.poisson(mu + 0.5 * np.sqrt(mu)))
    assert bench.size.estimate == pytest.approx(0.5, abs=0.15)
    known = bench.rows.residuals
    ratios = RatioResiduals(
        u=known.u, values=known.values, cells=known.cells, outcomes=None
    )
    size = replace(bench, rows=replace(bench.rows, residuals=ratios)).size
    assert size.estimate == pytest.approx(0.5, abs=0.2)
    assert size.note == "as its ratios suggest"


def test_tilted_laws():
    at = np.arange(120.0)
    logs = at * np.log(4.0) - 4.0 - np.cumsum(np.log(np.maximum(at, 1)))
    p = np.exp(logs)[None]  # Poisson, 4
    for size in (-0.5, 0.3, 2.0):
        q = shifted_law(p, at, size)
        mean = 4.0 + 2.0 * size
        np.testing.assert_allclose((q @ at)[0], mean, atol=0.01)
        np.testing.assert_allclose(
            (q @ (at - mean) ** 2)[0], mean, atol=0.05
        )  # another Poisson


@pytest.mark.parametrize("kind", ["interval", "quantile"])
def test_the_size_of_cells(kind, rng):
    n = 3000
    x = rng.standard_normal(n)
    if kind == "interval":
        y = 1.645 / norm.ppf(0.9) * rng.standard_normal(n)  # covers 0.8
        bench = bench_of(
            cg.from_intervals(np.full(n, -1.645), np.full(n, 1.645), 0.9), x, y
        )
    else:
        u = 0.5 * (rng.random(n) + (rng.random(n) < 0.4))
        y = norm.ppf(u)
        levels = [0.1, 0.5, 0.9]
        bench = bench_of(cg.from_quantiles(np.tile(norm.ppf(levels), (n, 1)), levels), x, y)
    low, high = bench.size.bounds(0.01)
    assert low < 0.1 < high
    assert high - low < 0.08
    effect = bench.size.effect(True, 0.95)
    assert kind in effect.words
    assert kind in effect.unit


def test_draws_of_several_columns_have_the_size_of_the_worst(rng):
    n = 500
    x = rng.standard_normal((n, 1))
    y = rng.standard_normal((n, 2))
    y[:, 1] += 0.5
    bench = bench_of(cg.from_draws(rng.standard_normal((n, 99, 2))), x, y)
    size = bench.size
    assert len(size.parts) == 2
    assert size.estimate == pytest.approx(0.5, abs=0.15)
    low, high = size.bounds(0.05)
    assert low < size.estimate < high
    words = size.effect(True, 0.95).words
    assert "a constant shift of one column by" in words
    assert words.endswith(
        "on its normal-score scale; how columns go together is not in that number)"
    )


def test_scores_alone(rng):
    n = 1000
    x = rng.standard_normal(n)
    z = 0.4 + rng.standard_normal(n)
    bench = bench_of(
        cg.from_scores(-z[:, None] / 3.0), x, 10.0 * x + 3.0 * z
    )  # wherever y lies
    assert bench.size.estimate == pytest.approx(0.4, abs=0.12)
    assert bench.size.effect(True, 0.95).unit == "predicted SDs (as its scores suggest)"


@pytest.mark.parametrize("scores", [False, True])
def test_a_model_that_is_far_too_sure_has_a_large_size(scores):
    """The size follows the data, however far apart they are; a shift alone keeps its usual
    bandwidth.
    """
    x, noise = np.random.default_rng(6).standard_normal((2, 200))
    for c in (30.0, 1e5, 1e8):
        model = (
            cg.from_scores(-c * noise[:, None]) if scores else (np.zeros(200), np.ones(200))
        )
        size = bench_of(model, x, c * noise).size
        low, high = size.bounds(0.05)
        assert 0.2 * c < low < size.estimate < high < 3.0 * c
    size = bench_of((np.zeros(200), np.ones(200)), x, 20.0 + noise).size
    assert size.estimate == pytest.approx(20.0, rel=0.05)


def test_the_size_does_not_grow_with_n_and_gets_more_certain():
    widths = []
    for n in (300, 6000):
        x, y = np.random.default_rng(3).standard_normal((2, n))
        size = bench_of((np.zeros(n), np.ones(n)), x, y + 0.3 - y.mean()).size
        assert size.estimate == pytest.approx(0.3, abs=0.08)
        widths.append(np.subtract(*size.bounds(0.05)[::-1]))
    assert widths[1] < 0.4 * widths[0]


# What must not be said


def test_not_rejected_means_from_0_on(rng):
    n = 400
    x = rng.standard_normal((n, 2))
    size = bench_of((np.zeros(n), np.ones(n)), x, 0.5 + rng.standard_normal(n)).size
    assert size.effect(True, 0.95).interval.low > 0.3
    effect = size.effect(False, 0.95)
    assert effect.interval.low == 0
    assert effect.words.startswith("at most as detectable as a uniform bias of 0.")
    assert effect.words.endswith(" predicted SDs")
    told = size.effect(True, 0.95).words
    assert re.fullmatch(
        r"as detectable as a uniform bias of 0.\d\d predicted SDs \(0.\d\d to 0.\d\d\)",
        told,
    )


@pytest.mark.parametrize("error", [1e-3, 1e-4])
@pytest.mark.parametrize("count", [2, 3])
def test_a_right_and_sure_classifier_has_no_size(error, count):
    """Version 0.1 left out 0 in 50 of 60."""
    above = 0
    for trial in range(30):
        rng = np.random.default_rng(trial)
        x = rng.standard_normal((300, 2))
        p = np.full((300, count), error / (count - 1))
        p[np.arange(300), (x[:, 0] > 0).astype(int)] = 1.0 - error
        low, high = bench_of(cg.probabilities(p), x, drawn(p, rng), trial).size.bounds(
            0.025
        )
        above += low > 0
        assert high < 0.2
        assert (
            high > 0.005
        )  # 300 rows without an error do not exclude a probability of 0.005
    assert above <= 3


def test_groups_have_wider_bounds(rng):
    codes = np.repeat(np.arange(30), 20)
    x = rng.standard_normal((600, 2))
    shared = rng.standard_normal(30)[codes]
    y = 0.6 * shared + 0.8 * rng.standard_normal(600)
    model = (np.zeros(600), np.ones(600))
    ends = [
        bench_of(model, x, y, **options).size.bounds(0.05)
        for options in ({"dependence": 1}, {"groups": codes}, {"dependence": 20})
    ]
    assert ends[1][1] - ends[1][0] > 1.5 * (ends[0][1] - ends[0][0])
    assert ends[2][1] > ends[0][1]


# Rows, and words


def test_many_rows_are_drawn_at_random(rng, monkeypatch):
    monkeypatch.setattr(sys.modules[Bench.__module__], "MOST_ROWS", 500)
    n = 2000
    x, y = rng.standard_normal((2, n))
    model = (np.zeros(n), np.ones(n))
    bench = bench_of(model, x, y, groups=np.arange(n) // 10)
    assert (bench.n, bench.rows.n, bench.law.n, len(bench.dependence.codes)) == (
        n,
        500,
        500,
        500,
    )
    assert bench.notes == (
        (
            "the size of the misfit is of 500 of the 2,000 rows, drawn at random; the"
            " verdict of all"
        ),
    )
    assert bench_of(model, x, y, dependence=40).dependence.length == 10
    assert not bench_of((np.zeros(400), np.ones(400)), x[:400], y[:400]).notes


def test_numbers():
    assert [short(value) for value in (0.0123, 0.1, 0.3 - 0.2, 2.5, np.inf)] == [
        "0.012",
        "0.10",
        "0.10",
        "2.50",
        "inf",
    ]
    assert estimate_text(0.21, 0.1712, 0.25) == ("0.21", "0.17 to 0.25")


def test_one_large_group_does_not_narrow_the_size():
    """A shift of 0.3 in one group of 100 rows and 24 of 4: "good enough" in 29 of 100."""
    codes = np.repeat(np.arange(25), [100, *[4] * 24])
    too_small = 0
    for seed in range(60):
        rng = np.random.default_rng([5, seed])
        shared = rng.normal(size=25)[codes]
        z = np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=len(codes))
        f = np.ones((len(codes), 1))
        sums = pair_sums(f, z[:, None] + 0.3, None, Dependence(codes=codes))
        _, high = sums.ends(0.05, 0.05, lambda _: 1.0)
        too_small += math.sqrt(high / sums.near) < 0.3
    assert too_small <= binom.isf(1e-4, 60, 0.05)
