"""Staged gains: equal to slow loops, and drawn from the same y as other statistics."""

import itertools
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from scipy.stats import ks_2samp

import condgof as cg
from condgof.check import (
    Bins,
    CertainRows,
    CountedGram,
    HeldGram,
    Scales,
    Signal,
    StagedGains,
    Weights,
    axes_of,
    staged_gains,
    sums_over,
)
from condgof.check._gain_bins import category_codes, quantile_codes
from condgof.check._look import select_rows
from condgof.check.kinds import CellSignals, Signals
from condgof.engine import as_engine
from condgof.methods import STAGED_GAINS, Options, make_design, prepare
from condgof.null import DrawnStatistics, Resample
from condgof.residuals import legendre
from condgof.sample import Column, Seed
from condgof.stein import Units

MODULE = sys.modules[StagedGains.__module__]
BINS_MODULE = sys.modules[Bins.__module__]
ENGINE = as_engine(1)
N = 240


def slow_gain(psi, v, cells, shrinkage):
    """Return Σ over cells of (κ − κ²/2)S²/V − κ, and δ of each row."""
    gain = 0.0
    delta = np.zeros(len(psi))
    for cell in cells:
        s = psi[cell].sum()
        variance = v[cell].sum()
        kept = variance / (variance + shrinkage)
        gain += (kept - kept**2 / 2) * s**2 / variance - kept
        delta[cell] = kept * s / variance
    return gain, delta


def slow_staged_gains(columns, orders, psi, v, shrinkage, least):
    """Loop over stages, columns and steps for one signal ψ (n,), all on rows."""
    psi = psi.copy()
    n = len(psi)
    largest = -np.inf
    for codes in columns:
        cells = [codes == b for b in np.unique(codes)]
        largest = max(largest, slow_gain(psi, v, cells, shrinkage)[0])
    total = 0.0
    statistics = []
    for stage in range(1, 7):
        candidates = [[np.ones(n, dtype=bool)]]
        for codes, ordered in zip(columns, orders, strict=True):
            for b in np.unique(codes):
                side = codes <= b if ordered else codes == b
                if min(side.sum(), n - side.sum()) >= least:
                    candidates.append([side, ~side])
        found = [slow_gain(psi, v, cells, shrinkage) for cells in candidates]
        gain, delta = max(found, key=lambda one: one[0])
        total += gain
        psi -= delta * v
        if stage in (1, 3, 6):
            statistics.append(total)
    return np.array([*statistics, largest])


def columns_and_bins(rng):
    names = ("a", "b", "town")
    x = np.column_stack(
        [
            rng.normal(size=N),
            rng.integers(0, 5, N),
            rng.choice(4, N, p=[0.5, 0.3, 0.17, 0.03]),
        ]
    ).astype(float)
    described = (Column("a"), Column("b"), Column("town", levels=("A", "B", "C", "D")))
    axes = axes_of(described, x)
    assert [axis.name for axis in axes] == list(names)
    bins = Bins.from_axes(axes, np.arange(N), 10)
    return [own - start for own, start in zip(bins.codes, bins.starts, strict=True)], bins


@pytest.mark.parametrize("varies", [False, True])
def test_slow_loops_give_the_same(varies):
    rng = np.random.default_rng(3)
    codes, bins = columns_and_bins(rng)
    assert bins.has_order.tolist() == [True, True, False]
    v = rng.uniform(0.1, 1.0, (N, 2)) if varies else np.tile([1.0, 0.25], (N, 1))
    psi = rng.normal(size=(N, 5, 2)) * np.sqrt(v)[:, None]
    psi[:, :, 0] += 0.4 * (codes[0] > 7)[:, None]
    psi[:, 2:, 1] += 0.3 * (codes[2] == 1)[:, None]
    shrinkage = 20.0 * v.mean(axis=0)
    weights = Weights.from_variance(v, bins.count)
    assert weights.rows.shape[1] == (2 if varies else 1)
    scales = Scales.from_weights(bins, weights.sums(bins), shrinkage, 10)
    indicator = bins.indicator(np.arange(N))
    grams = [HeldGram.from_rows(bins, indicator, weights), CountedGram(bins, weights)]
    expected = np.empty((4, 5, 2))
    for j, k in itertools.product(range(5), range(2)):
        own = codes, bins.has_order, psi[:, j, k], v[:, k], shrinkage[k], 10
        expected[:, j, k] = slow_staged_gains(*own)
    for gram in grams:
        fast = staged_gains(bins, scales, gram, sums_over(indicator, psi))
        np.testing.assert_allclose(fast, expected, rtol=1e-4, atol=1e-4)
    exact = staged_gains(
        bins,
        scales,
        CountedGram(bins, weights),
        np.stack([bins.sum_over(psi[:, j]) for j in range(5)], axis=1),
    )
    np.testing.assert_allclose(exact, expected, rtol=1e-10)


def test_where_gram_matrices_are_too_large_variances_are_means(monkeypatch):
    v = np.random.default_rng(0).uniform(0.1, 1.0, (N, 3))
    monkeypatch.setattr(BINS_MODULE, "GRAM_NUMBERS", 3 * 20**2 - 1)
    weights = Weights.from_variance(v, 20)
    assert weights.rows.shape == (N, 1)
    np.testing.assert_allclose(weights.factors, v.mean(axis=0))


def test_bins_are_quantiles_values_or_large_categories():
    rng = np.random.default_rng(1)
    sizes = np.bincount(quantile_codes(rng.normal(size=1200), 12))
    assert sizes.tolist() == [100] * 12
    np.testing.assert_array_equal(
        quantile_codes(np.array([3.0, 1, 3, 2]), 12), [2, 0, 2, 1]
    )
    ties = np.repeat([0.0, 1.0, 2.0], [90, 5, 5])
    assert len(np.unique(quantile_codes(ties, 2))) <= 2
    places = np.repeat([0, 1, 2, 3, 4], [50, 3, 40, 2, 20])
    codes = category_codes(places, most=60, least=10)
    assert np.bincount(codes).tolist() == [50, 40, 20, 5]
    codes = category_codes(places, most=3, least=10)
    assert np.bincount(codes).tolist() == [50, 40, 25]


def staged_of(law, x, y, n_boot=60, **options):
    """Return rows, design and staged gains of a sample, as a check makes them."""
    chosen = Options(n_boot=n_boot, engine=1, **options).checked()
    seed = Seed.of(4)
    units = Units("ranks", "auto", predictions=True)
    ready = prepare(law, x, y, units, chosen, seed)
    rows = ready.rows
    checked, own_law, sample = select_rows(ready.law_or_model, rows, seed, ENGINE)
    signals = checked.all_signals(own_law, sample, seed)
    keys = sample.sample.content_keys
    return rows, StagedGains.from_signals(checked.axes, signals, keys, units=None)


def laws():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(N, 2))
    p = np.column_stack([np.full(N, 0.2), 0.5 + 0.2 * np.tanh(x[:, 0]), np.zeros(N)])
    p[:, 2] = 1.0 - p.sum(axis=1)
    codes = (rng.random((N, 1)) > p.cumsum(axis=1)).sum(axis=1)
    mean = np.exp(0.5 + 0.3 * x[:, 0])
    ends = np.tile([-1.0, 0.0, 1.0], (N, 1))
    levels = ndtr([-1.0, 0.0, 1.0])
    normal = rng.normal(size=N)
    letters = np.array(["a", "b", "c"])[codes]
    return {
        "normal": (x, cg.models.Normal(mean=np.zeros(N), std=np.ones(N)), normal),
        "counts": (x, cg.models.Poisson(mean=mean), rng.poisson(mean)),
        "classes": (x, cg.probabilities(p, classes=["a", "b", "c"]), letters),
        "ordered": (x, cg.probabilities(p, classes=[0, 1, 2], ordered=True), codes),
        "quantiles": (x, cg.from_quantiles(ends, levels), normal),
    }


@pytest.mark.parametrize("kind", sorted(laws()))
def test_signals_are_those_of_the_y_that_was_resampled(kind):
    """Signals have mean 0 given x, and follow the test functions of the same y."""
    x, law, y = laws()[kind]
    rows, staged = staged_of(law, x, y)
    functions = make_design(rows.subsample).plan.test_functions
    resampled = rows.resampler(functions, Seed.of(0)).draw(np.random.default_rng(1), 400)
    psi = staged.signals.of_resampled()(resampled.drawn)
    assert psi.shape == (N, 400, staged.signals.values.shape[1])
    error = np.sqrt(staged.signals.variance.mean(axis=0) / (N * 400))
    assert (np.abs(psi.mean(axis=(0, 1))) < 5 * error).all()
    np.testing.assert_allclose(
        psi.var(axis=(0, 1)), staged.signals.variance.mean(axis=0), rtol=0.05
    )
    # In a row, each signal is nearly a linear function of the test functions of the same y:
    # of another y it would be independent of them.
    for i in range(0, N, 60):
        xi = np.column_stack([np.ones(400), resampled.values[i]])
        left = psi[i] - xi @ np.linalg.lstsq(xi, psi[i], rcond=None)[0]
        assert (left.var(axis=0) <= 0.1 * psi[i].var(axis=0) + 1e-6).all()


class FirstScores:
    """Records the normal scores that it is drawn from; the statistic is their mean."""

    names = ("first", "second")

    def __init__(self):
        self.parts = []

    def by_resampling(self):
        def evaluate(drawn):
            self.parts.append(drawn)
            return np.stack([drawn.mean(axis=(0, 2)), drawn[0, :, 0]])

        return DrawnStatistics(np.zeros(2), evaluate)


def test_a_column_of_draws_is_one_resampled_sample():
    x, law, y = laws()["normal"]
    rows, _ = staged_of(law, x, y)
    plan = make_design(rows.subsample).plan
    beside = FirstScores()
    drawn = Resample().draw(plan, rows, 40, Seed.of(2), ENGINE, beside)
    z = np.concatenate(beside.parts, axis=1)
    assert z.shape == (N, 40, 1)
    np.testing.assert_allclose(drawn.draws[drawn.additional["second"]], z[0, :, 0])
    features, _ = plan.hold(rows)
    for draw in (0, 39):
        xi = plan.test_functions.look_up(z[:, draw])
        sums = [(features[:, cut.x].T @ xi[:, cut.y])[None] for cut in plan.cuts]
        squares = plan.diagonal(plan.feature_squares(features), plan.value_squares(xi))
        expected = plan.squares(sums)[0] - squares
        own = drawn.draws[: len(expected), draw]
        np.testing.assert_allclose(own, expected, atol=2e-4 * np.abs(expected).max())


def test_signs_multiply_signals():
    """The statistic of turned signals is that of the signals with these signs."""
    x, law, y = laws()["normal"]
    _, staged = staged_of(law, x, y)
    signed = staged.by_signs()
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (N, 40))
    turned = replace(staged.signals, values=staged.signals.values * signs[:, :1])
    own = replace(staged, signals=turned).by_signs()
    np.testing.assert_allclose(signed.evaluate(signs[:, :1])[:, 0], own.observed, rtol=1e-4)
    assert signed.evaluate(signs).shape == (len(STAGED_GAINS), 40)


def test_units_of_rows_have_the_variance_of_their_sums():
    """A cell that lies in one group gains nothing: its sum has the variance of one unit."""
    x, law, y = laws()["normal"]
    _, staged = staged_of(law, x, y)
    codes = staged.bins.codes[0]
    grouped = replace(staged, units=codes)
    scales = grouped._signed_scales()
    sums = staged.bins.sum_over(staged.signals.values)[: codes.max() + 1]
    variance = scales.bins.variance[: codes.max() + 1]
    assert (variance >= np.square(sums) * (1 - 1e-5)).all()


def rare_law(kind, n, rng):
    chance = rng.choice([1e-4, 2e-3, 0.03, 0.4], n, p=[0.4, 0.4, 0.15, 0.05])
    if kind == "counts":
        return cg.models.Poisson(mean=chance), rng.poisson(chance)
    p = np.column_stack([0.4 * chance, 1 - chance, 0.6 * chance])
    codes = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1)
    return cg.probabilities(p, classes=[0, 1, 2]), codes


@pytest.mark.parametrize("kind", ["normal", "counts", "classes"])
def test_some_rows_stand_for_many(kind, monkeypatch):
    """Draws of some rows have the distribution of draws of all rows."""
    rng = np.random.default_rng(0)
    n = 6000
    x = pd.DataFrame(
        {"a": rng.normal(size=n), "b": pd.Categorical(rng.integers(0, 9, n).astype(str))}
    )
    if kind == "normal":
        law, y = cg.models.Normal(mean=np.zeros(n), std=np.ones(n)), rng.normal(size=n)
    else:
        law, y = rare_law(kind, n, rng)
    _, staged = staged_of(law, x, y)
    some = staged.own_resampling(500, Seed.of(1), ENGINE)
    monkeypatch.setattr(MODULE, "RESAMPLED_ROWS", n)
    whole = staged.own_resampling(500, Seed.of(2), ENGINE)
    np.testing.assert_allclose(some.observed, whole.observed)
    for a, b in zip(some.draws, whole.draws, strict=True):
        assert ks_2samp(a, b).statistic < 0.12


def test_one_sum_of_many_rows_is_that_of_few(monkeypatch):
    """The statistics of the data do not depend on how their Gram matrix is summed."""
    x, law, y = laws()["normal"]
    _, staged = staged_of(law, x, y)
    np.testing.assert_allclose(
        staged.observed(), staged.by_resampling().observed, rtol=1e-4, atol=1e-4
    )


def test_verdicts_see_a_tree_that_no_column_shows_alone():
    rng = np.random.default_rng(6)
    n = 600
    x = rng.normal(size=(n, 12))
    g = np.where(x[:, 0] > 0.3, 0.6 * np.sign(x[:, 1]), 0.5 * (x[:, 2] > 0.5))
    z = g - g.mean() + rng.normal(size=n) * np.sqrt(1 - g.var())
    report = cg.check((np.zeros(n), np.ones(n)), x, z, n_boot=199, rng=0)
    assert report.result.details["families"]["staged gains"] <= 0.01


@pytest.mark.parametrize("kind", ["classes", "counts"])
def test_a_law_without_any_exception_has_no_gain(kind):
    n = 3000
    never = 1e-12
    law = cg.models.Poisson(mean=np.full(n, never))
    if kind == "classes":
        law = cg.probabilities(np.tile([1 - never, never], (n, 1)), classes=[0, 1])
    x = np.random.default_rng(0).normal(size=(n, 2))
    report = cg.check(law, x, np.zeros(n, dtype=int), rng=0, n_boot=99)
    assert not report.rejected
    assert report.result.details["families"]["staged gains"] == 1.0


def test_few_rows_and_no_columns_have_no_such_family():
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    report = cg.check((np.zeros(40), np.ones(40)), rng.normal(size=40), y, n_boot=99, rng=0)
    assert "staged gains" not in report.result.details["families"]


def test_legendre_of_resampled_scores_is_that_of_the_data():
    x, law, y = laws()["normal"]
    _, staged = staged_of(law, x, y)
    psi = staged.signals.of_resampled()(y[:, None, None])
    np.testing.assert_allclose(psi[:, 0], legendre(ndtr(y)), atol=1e-12)


def test_exceptions_have_the_probability_of_the_law():
    n = 3000
    m = 400
    chance = np.array([1e-3, 0.01, 0.2])[np.arange(n) % 3]
    p = np.column_stack([1 - chance, 0.25 * chance, 0.75 * chance])
    cells = CellSignals(lambda rows: p[rows], lambda rows, codes: codes[:, :, None] * 1.0)
    values = np.zeros((n, 1))
    rare = CertainRows.of(
        Signals((Signal("class", "y"),), values, values, cells.redraw, cells=cells)
    )
    assert len(rare.rows) + len(rare.others) == n
    assert (rare.mode == 0).all()
    draw, rows, less = rare.drawn(np.random.default_rng(0), m)
    assert len(np.unique(draw * n + rows)) == len(rows)
    for k, size in enumerate((1e-3, 0.01, 0.2)):
        for code, share in ((1.0, 0.25), (2.0, 0.75)):
            count = int(((rows % 3 == k) & (less[:, 0] == code)).sum())
            trials = m * int((rare.rows % 3 == k).sum())
            assert (
                abs(count - trials * size * share) <= 4 * np.sqrt(trials * size * share) + 1
            )
