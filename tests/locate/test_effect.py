"""Size of the misfit and what could have been seen: closed forms, against sums and simulation."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

import condgof as cg
import oracle
from condgof.kernels import CovariateKernel, Gaussian, OnColumns
from condgof.locate import _effect, _power
from condgof.locate._effect import PairSums, pair_sums
from condgof.null import Dependence
from condgof.sample import Seed, Use
from condgof.stein import ArrayRows, NormalEvidence

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


def test_sums_over_parcels_against_the_definition(monkeypatch):
    """Exactly, and through landmarks: pairs of rows of different groups, added up by group."""
    rng = np.random.default_rng(2)
    x, u = rng.standard_normal((200, 1)), 0.3 + rng.standard_normal((200, 1))
    codes = rng.permutation(np.repeat(np.arange(20), 10))
    bench = SimpleNamespace(stream=BENCH.stream, dependence=Dependence(codes=codes))
    matrix = oracle.gram(x, x, oracle.gaussian, 1.1) * oracle.stein_h(u, -u, oracle.gaussian, 1.0)
    member = (codes[:, None] == np.arange(20)).astype(float)
    whole = member.T @ matrix @ member / 10**2
    np.fill_diagonal(whole, 0.0)
    for rows, within in ((100, 0.01), (1000, 1e-9)):
        monkeypatch.setattr(_effect, "EXACT_ROWS", rows)
        found = pair_sums(ArrayRows(x, u, -u), kernel(1, 1.1), Gaussian(1.0), bench)
        assert found.n == 20
        assert found.mean == pytest.approx(whole.sum() / (20 * 19), rel=within)
        assert found.spread == pytest.approx((whole.sum(axis=1) / 19).var(ddof=1), rel=within)
        assert found.square == pytest.approx((whole**2).sum() / (20 * 19), rel=within)


@pytest.mark.parametrize(("size", "mean", "sd"), [(0.6, 0.6, 1.0), (np.log(1.4), 0.0, 1.4)])
def test_means_of_evidence_under_a_misfit(size, mean, sd):
    """By sums over the table of the evidence."""
    evidence = NormalEvidence.at((4.0, 1.0), 1)
    bench = SimpleNamespace(stream=BENCH.stream, rows=SimpleNamespace(sample=SimpleNamespace(d_y=1)))
    move = (lambda u, a: u + a) if mean else (lambda u, a: u * np.exp(a))
    xi, found, _ = _power._moved(evidence, bench, move, None)(size)
    grid = np.linspace(-6.5, 6.5, len(evidence.table))
    weight = np.exp(-0.5 * ((grid - mean) / sd) ** 2)
    expected = weight @ evidence.table / weight.sum()
    np.testing.assert_allclose(found, expected, atol=3e-3)
    np.testing.assert_allclose(xi.mean(axis=0), expected, atol=3e-3)


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


@pytest.mark.parametrize("scores", [False, True])
def test_a_model_that_is_far_too_sure_has_a_large_effect(scores):
    """The size follows the data, however far apart they are; a shift alone keeps its usual bandwidth."""
    x, noise = np.random.default_rng(6).standard_normal((2, 200))
    for c in (30.0, 1e5, 1e8):
        model = cg.from_scores(-c * noise[:, None]) if scores else (np.zeros(200), np.ones(200))
        found = cg.check(model, x, c * noise, rng=0, n_boot=99, n_locations=0)
        assert found.rejects
        assert 0.2 * c < found.effect.interval.estimate < 2.0 * c
    found = cg.check((np.zeros(200), np.ones(200)), x, 20.0 + noise, rng=0, n_boot=99, n_locations=0)
    assert found.effect.interval.estimate == pytest.approx(20.0, rel=0.05)
    assert "Gaussian(1) on standardised y" in found.details["kernel_effect"]


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


NOISE = {
    "normal": lambda rng, n: rng.standard_normal((n, 1)),
    "scores": lambda rng, n: rng.standard_normal((n, 1)),
    "columns": lambda rng, n: rng.standard_normal((n, 2)),
}


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("what", ["shift", "width"])
def test_what_could_have_been_seen_is_seen(kind, what):
    """60 samples with the misfit that is found with probability 0.8: exact bounds for 0.65 to 0.95."""
    n, found = 100, 0
    rng = np.random.default_rng(5)
    x = rng.standard_normal((n, 1))

    def model(y):
        return cg.from_scores(-y) if kind == "scores" else (np.zeros(y.shape), np.ones(y.shape))

    y = NOISE[kind](rng, n)
    size = getattr(cg.check(model(y), x, y, rng=0, n_boot=300, n_locations=0).detectable, what)
    if size is None:
        assert (kind, what) == ("scores", "width")
        return
    for trial in range(60):
        y = NOISE[kind](np.random.default_rng(trial), n)
        y[:, 0] = y[:, 0] + size if what == "shift" else y[:, 0] * size
        found += cg.adaptive(model(y), x, y, rng=trial, n_boot=99).reject()
    assert binom.ppf(1e-4, 60, 0.65) <= found <= binom.isf(1e-4, 60, 0.95)
