"""Size of the misfit and what could have been seen: closed forms, against sums and simulation."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

import condgof as cg
import oracle
from condgof.kernels import CovariateKernel, Gaussian, OnColumns
from condgof.locate import _effect
from condgof.locate._detectable import shifted, widened
from condgof.locate._effect import PairSums, pair_sums
from condgof.null import Dependence
from condgof.sample import Seed, Use
from condgof.stein import ArrayRows

BENCH = SimpleNamespace(stream=lambda use: Seed(0).stream(Use.CHECK, use), dependence=Dependence())


def kernel(d, sigma):
    return CovariateKernel((OnColumns(Gaussian(sigma), tuple(range(d))),))


def test_pair_sums_against_the_definition():
    rng = np.random.default_rng(0)
    x, u = rng.standard_normal((30, 2)), rng.standard_normal((30, 2))
    matrix = oracle.gram(x, x, oracle.gaussian, 1.3) * oracle.stein_h(u, -u, oracle.gaussian, 0.9)
    np.fill_diagonal(matrix, 0.0)
    found = pair_sums(ArrayRows(x, u, -u), kernel(2, 1.3), Gaussian(0.9), BENCH)
    assert found.mean == pytest.approx(matrix.sum() / (30 * 29))
    assert found.spread == pytest.approx((matrix.sum(axis=1) / 29).var(ddof=1))
    assert found.square == pytest.approx((matrix**2).sum() / (30 * 29))


def test_a_low_rank_factor_gives_the_same_sums(monkeypatch):
    rng = np.random.default_rng(1)
    x, u = rng.standard_normal((1500, 2)), 0.3 + rng.standard_normal((1500, 1))
    exact = pair_sums(ArrayRows(x, u, -u), kernel(2, 1.6), Gaussian(1.0), BENCH)
    monkeypatch.setattr(_effect, "EXACT_ROWS", 100)
    fast = pair_sums(ArrayRows(x, u, -u), kernel(2, 1.6), Gaussian(1.0), BENCH)
    assert fast.mean == pytest.approx(exact.mean, rel=0.01)
    assert fast.spread == pytest.approx(exact.spread, rel=0.02)
    assert fast.square == pytest.approx(exact.square, rel=0.01)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("misfit", "size"), [(shifted, 0.6), (widened, 1.4), (widened, 0.7)])
def test_closed_forms_of_a_misfit_in_y(misfit, size, sigma):
    """E[g] is the discrepancy, and E[g²] that of the witness function: by sums over a fine grid."""
    grid = np.linspace(-9, 9, 1201)
    mean, sd = (size, 1.0) if misfit is shifted else (0.0, size)
    q = np.exp(-0.5 * ((grid - mean) / sd) ** 2)
    q /= q.sum()
    gap = grid[:, None] - grid
    l = np.exp(-0.5 * gap**2 / sigma**2)  # noqa: E741
    h = l * (np.outer(grid, grid) + (1 - gap**2) / sigma**2 - gap**2 / sigma**4)
    g = h @ q
    found = misfit(size, np.array([sigma]), 1)
    assert found.first[0] == pytest.approx(q @ g, rel=1e-4)
    assert found.second[0] == pytest.approx(q @ g**2, rel=1e-4)
    p = np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum()
    growth = np.sqrt((q @ h**2 @ q) / (p @ h**2 @ p))
    assert found.growth[0] == pytest.approx(growth, rel=1e-2)


def test_a_shift_in_several_columns_of_y():
    found = shifted(0.5, np.array([1.0]), 3)
    assert found.first[0] == pytest.approx(0.25 * 3**-1.5)  # δ²(1 + 2/σ²)^(−d/2)


def test_the_equivalent_shift_of_a_shift_is_the_shift():
    n, found = 200, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((n, 2)), 1.0 + rng.standard_normal(n)
        y -= y.mean() - 1.0
        effect = cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, n_boot=10, n_locations=0).effect
        found.append(effect.interval)
    assert np.mean([one.estimate for one in found]) == pytest.approx(1.0, abs=0.04)
    assert sum(one.low < 1.0 < one.high for one in found) >= 8


def test_the_effect_does_not_grow_with_n():
    sizes = {}
    for n in (300, 1500):
        rng = np.random.default_rng(3)
        x, y = rng.standard_normal((2, n))
        y += 0.3 - y.mean()
        found = cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, n_boot=10, n_locations=0).effect
        sizes[n] = found.interval
    assert sizes[1500].high - sizes[1500].low < sizes[300].high - sizes[300].low
    assert abs(sizes[1500].estimate - sizes[300].estimate) < 0.15


@pytest.mark.parametrize("delta", [0.0, 0.2, 1.0])
def test_intervals_of_the_discrepancy_cover(delta):
    """300 samples of n = 80; `make calibrate ONLY=check.effect` has more misfits and sizes."""
    k, missed = kernel(1, 1.0), 0
    truth = delta**2 * 3**-0.5 * 3**-0.5  # E[k] of two standard normals at bandwidth 1 is 3^(−1/2)
    for trial in range(300):
        rng = np.random.default_rng(trial)
        x, u = rng.standard_normal((80, 1)), delta + rng.standard_normal((80, 1))
        found = pair_sums(ArrayRows(x, u, -u), k, Gaussian(1.0), BENCH).interval(0.95)
        missed += not found.low <= truth <= found.high
    assert missed <= binom.isf(1e-4, 300, 0.05)


def test_no_spread_no_interval():
    assert PairSums(10, 0.5, 0.0, 0.0).interval(0.95).low == 0.5


def test_more_rows_see_smaller_misfits():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((2, 800))
    seen = [
        cg.check((np.zeros(n), np.ones(n)), x[:n], y[:n], rng=0, n_boot=300, n_locations=0).detectable
        for n in (50, 200, 800)
    ]
    shifts, widths = [d.shift for d in seen], [d.width for d in seen]
    assert shifts == sorted(shifts, reverse=True)
    assert widths == sorted(widths, reverse=True)
    assert shifts[0] / shifts[2] == pytest.approx(4.0, rel=0.35)  # about as 1/√n
    assert all(width > 1 for width in widths)


def test_what_could_have_been_seen_is_seen():
    """60 samples with the shift that is found with probability 0.8: exact bounds for 0.65 to 0.95."""
    n, found = 100, 0
    rng = np.random.default_rng(5)
    x = rng.standard_normal((n, 1))
    model = (np.zeros((n, 1)), np.ones((n, 1)))
    size = cg.check(model, x, rng.standard_normal((n, 1)), rng=0, n_boot=300).detectable.shift
    for trial in range(60):
        y = size + np.random.default_rng(trial).standard_normal((n, 1))
        found += cg.adaptive(model, x, y, rng=trial, n_boot=99).reject()
    assert binom.ppf(1e-4, 60, 0.65) <= found <= binom.isf(1e-4, 60, 0.95)
