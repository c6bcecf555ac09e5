"""Draws of the sum: against loops, against each other, and their distribution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, ks_2samp

import oracle
from condgof.engine import as_engine
from condgof.kernels import Block, Cells, Gaussian, cell_scales
from condgof.null._bootstrap import bootstrap_weights, sign_weights
from condgof.null._combine import Combination, Family
from condgof.null._draws import (
    CellDraws,
    block_length,
    drawn_surprises,
    excess,
    limit,
    recombined,
    redraw_normal,
    redrawn,
    signed_blocks,
    top_surprises,
    weighted_rows,
    weighted_units,
)
from condgof.sample import Seed
from condgof.stein._evidence import CellEvidence, NormalEvidence, SteinEvidence, surprise
from condgof.stein._features import Features, Maker, ones
from condgof.stein._sum import Panel, Piece, Plan

ENGINE = as_engine(1)


def normal_plan(scales=(2.0, 1.0)):
    features = Features((Maker("x", lambda x: x, (0,), (2,)), ones()))
    evidence = NormalEvidence.at(scales, 1)
    return Plan(features, evidence, (Panel(slice(0, 2), slice(0, len(evidence.blocks))),))


def normal_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 1))
    return Piece(rng.normal(size=(n, 2)), z, -z)


@pytest.mark.parametrize("name", ["wild", "multinomial", "spectral"])
@pytest.mark.parametrize("n", [9, 60])
def test_weights_on_rows_against_loops(name, n):
    rng = np.random.default_rng(0)
    x, y, s = (rng.normal(size=(n, 1)) for _ in range(3))
    kernels = (Gaussian(1.0), Gaussian(0.5))
    grid = np.linspace(-4, 4, 200)[:, None]
    evidence = SteinEvidence.on(
        kernels, grid, np.ones_like(grid), rng, precision=1e-12, cap=200
    )
    plan = Plan(
        Features((Maker("x", lambda x: np.hstack([x, x**2]), (0,), (2,)),)),
        evidence,
        (Panel(slice(0, 1), slice(0, 2)),),
    )
    weights = bootstrap_weights(name, n, 12, Seed.of(1))
    found = weighted_rows(plan, Piece(x, y, s), weights, ENGINE)
    f = np.hstack([x, x**2])
    for k, sigma in enumerate((1.0, 0.5)):
        matrix = (f @ f.T) * oracle.stein_h(y, s, oracle.gaussian, sigma)
        wanted = oracle.off_diagonal_forms(matrix, weights.block(0, n))
        size = np.abs(matrix).sum()
        np.testing.assert_allclose(found.draws[k], wanted, atol=2e-5 * size)
        assert found.statistics[k] == pytest.approx(
            matrix.sum() - np.trace(matrix), abs=1e-5 * size
        )


def test_redraws_treat_the_data_as_they_treat_draws():
    """A redraw that gives the data back gives the very same statistics."""
    plan, rows = normal_plan(), normal_rows(40)
    _, xi = plan.held(rows)
    top = float(excess(top_surprises(rows.y.reshape(1, -1)), 40)[0])
    same = redrawn(plan, rows, lambda rng, m: (np.repeat(xi[:, None], m, axis=1), np.full(m,
    top)), top, 3,
                   Seed.of(0), ENGINE)  # fmt: skip
    np.testing.assert_allclose(
        same.draws, np.repeat(same.statistics[:, None], 3, axis=1), rtol=1e-4, atol=1e-4
    )


def test_redraws_do_not_depend_on_threads():
    plan, rows = normal_plan(), normal_rows(200)
    draw = redraw_normal(plan.evidence, 200)
    made = [
        redrawn(plan, rows, draw, 0.0, 70, Seed.of(0), as_engine(k)).draws for k in (1, 3)
    ]
    np.testing.assert_array_equal(*made)


def test_the_limit_is_that_of_redraws():
    """Up to what heavy tails of the evidence leave at this n: quantiles, in units of the spread."""
    n, m = 2000, 6000
    plan, rows = normal_plan(), normal_rows(n)
    near = redrawn(plan, rows, redraw_normal(plan.evidence, n), 0.0, m, Seed.of(0), ENGINE)
    far = limit(plan, rows, n, m, Seed.of(0), ENGINE)
    spread = near.draws.std(axis=1)
    for level, within in ((0.5, 0.12), (0.95, 0.3)):
        apart = (
            np.quantile(near.draws, level, axis=1) - np.quantile(far.draws, level, axis=1)
        ) / spread
        assert np.abs(apart).max() < within
    np.testing.assert_allclose(
        far.draws[:-1].mean(axis=1) / far.draws[:-1].std(axis=1), 0.0, atol=0.15
    )


def test_surprises_are_drawn_without_drawing_all():
    rng = np.random.default_rng(0)
    n, m = 80, 2000
    direct = np.sort(surprise(rng.normal(size=(m, n))), axis=1)[:, ::-1][:, : n // 4]
    drawn = drawn_surprises(n, m, rng)
    assert drawn.shape == direct.shape
    for k in (0, 5, 19):
        assert ks_2samp(direct[:, k], drawn[:, k]).pvalue > 1e-4
    assert ks_2samp(excess(direct, n), excess(drawn, n)).pvalue > 1e-4


def test_excess_against_a_loop():
    z = np.random.default_rng(1).normal(size=30)
    s = sorted(
        (
            -np.log(2 * (1 - float(__import__("scipy.stats").stats.norm.cdf(abs(v)))))
            for v in z
        ),
        reverse=True,
    )
    best = max(
        sum(s[i] - np.log(30 / (i + 0.5)) for i in range(k)) / np.sqrt(k)
        for k in range(1, 30 // 4 + 1)
    )
    assert excess(top_surprises(z[None]), 30)[0] == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("n", [3000, 100_000])
def test_blocks_are_few_and_fit_into_pieces(n):
    length = block_length(n, 2048)
    assert 4096 % length == 0 or length % 4096 == 0
    assert n / length <= 2048


def test_signs_of_blocks_have_the_spread_of_signs_of_rows():
    plan, rows = normal_plan(), normal_rows(3000)
    by_row = weighted_rows(plan, rows, sign_weights(3000, 800, Seed.of(0)), ENGINE)
    units = signed_blocks(plan, rows, 512, Seed.of(0), ENGINE)
    weights = sign_weights(len(units.counts), 800, Seed.of(0)).block(0, len(units.counts))
    forms, own = weighted_units(plan, units.sums, weights, ENGINE)
    # The spread of a statistic of one term is that of a sum over the blocks.
    ratio = (forms - own[:, None]).std(axis=1) / by_row.draws.std(axis=1)
    assert np.abs(np.log(ratio)).max() < 5 * np.sqrt(2 / len(units.counts) + 2 / 800)


class Rare:
    """Outcomes of two cells, the second one rare."""

    def __init__(self, p, observed):
        self.probabilities, self.observed = p, observed
        self.linear, self.plain = True, p.shape[1]

    def take(self, rows):
        return Rare(self.probabilities[rows], self.observed[rows])

    def of(self, codes):
        return np.eye(self.plain)[codes] - self.probabilities


def rare_cells(n, rare, seed=0):
    """A plan and rows of two cells, the second of which has the probability `rare`, (n,) or a number."""
    rng = np.random.default_rng(seed)
    rare = np.broadcast_to(rare, n)
    p = np.column_stack([1 - rare, rare])
    codes = (rng.random(n) < rare).astype(int)
    outcomes, x = Rare(p, codes), rng.normal(size=(n, 2))
    evidence = CellEvidence(cell_scales(Cells((Block("labels", 0, 2),), "labels"), (1.0,)))
    plan = Plan(
        Features((Maker("x", lambda x: x, (0,), (2,)), ones())),
        evidence,
        (Panel(slice(0, 2), slice(0, 1)),),
    )
    rows = Piece(x, codes[:, None].astype(float), outcomes.of(codes), outcomes)
    return plan, rows


def recombined_cells(plan, rows, m):
    return recombined(
        plan,
        rows,
        lambda piece: CellDraws.of(plan.evidence, piece.outcomes),
        m,
        Seed.of(0),
        ENGINE,
    )


@pytest.mark.parametrize("rare", [0.3, 2e-3, np.where(np.arange(6000) % 3, 0.2, 1e-3)])
def test_strata_recombined_are_draws_of_all_rows(rare):
    n = 6000
    plan, rows = rare_cells(n, rare)
    cells = CellDraws.of(plan.evidence, rows.outcomes)

    def redraw(rng, m):
        return np.stack([cells.drawn(rng.random(n)) for _ in range(m)], axis=1), np.zeros(m)

    exact = redrawn(plan, rows, redraw, 0.0, 600, Seed.of(0), ENGINE)
    many = recombined_cells(plan, rows, 600)
    np.testing.assert_allclose(
        many.statistics,
        exact.statistics[:-1],
        rtol=1e-3,
        atol=1e-3 * exact.sizes[:-1].max(),
    )
    for a, b in zip(exact.draws[:-1], many.draws, strict=True):
        assert ks_2samp(a, b).statistic < 0.12


def test_what_is_rare_happens_to_other_rows_in_every_draw():
    """Else data in which it happened to a row that no draw has would stand out from all of them."""
    plan, rows = rare_cells(10_000, 1e-4)
    draws = recombined_cells(plan, rows, 500).draws[
        0
    ]  # depend on the x of the rows it happened to
    values, often = np.unique(draws.round(9), return_counts=True)
    nothing = often.max() / len(draws)  # it happened to no row: in exp(-1) of the draws
    assert (
        binom.ppf(1e-4, 500, np.exp(-1)) <= often.max() <= binom.isf(1e-4, 500, np.exp(-1))
    )
    assert len(values) > 0.95 * (1 - nothing) * len(draws)


def surprises_of(rows, start, stop, draws, sure=0.01):
    plan, whole = rows
    part = whole.take(slice(start, stop), start)
    cells = CellDraws.of(plan.evidence, part.outcomes)
    draw, row, codes = cells.surprises(start, sure, draws, Seed.of(3))
    assert (codes != cells.mode[row]).all()
    return set(zip(draw.tolist(), (start + row).tolist(), strict=True))


def test_surprises_have_the_probability_of_the_law():
    rare = np.array([0.0, 1e-3, 0.01, 0.3])[np.arange(4000) % 4]
    found = surprises_of(rare_cells(4000, rare), 0, 4000, range(400))
    for k, p in enumerate(
        (0.0, 1e-3, 0.01, 0.0)
    ):  # rows that are not sure are drawn otherwise
        count = sum(row % 4 == k for _, row in found)
        assert binom.ppf(1e-4, 400_000, p) <= count <= binom.isf(1e-4, 400_000, p)


def test_surprises_of_three_cells_are_the_other_two():
    p = np.tile([0.002, 0.99, 0.008], (3000, 1))
    evidence = CellEvidence(cell_scales(Cells((Block("labels", 0, 3),), "labels"), (1.0,)))
    cells = CellDraws.of(evidence, Rare(p, np.ones(3000, dtype=int)))
    _, _, codes = cells.surprises(0, 0.011, range(200), Seed.of(0))
    first = int((codes == 0).sum())
    assert set(codes.tolist()) == {0, 2}
    assert binom.ppf(1e-4, len(codes), 0.2) <= first <= binom.isf(1e-4, len(codes), 0.2)


@settings(max_examples=25, deadline=None)
@given(cut=st.integers(1, 8999), first=st.integers(0, 5000))
def test_surprises_do_not_depend_on_how_rows_are_cut(cut, first):
    rows, draws = rare_cells(9000, 2e-3), range(20, 60)
    whole = surprises_of(rows, 0, 9000, draws)
    low, high = sorted({first, cut}) if first != cut else (cut, cut + 1)
    parts = [
        surprises_of(rows, a, b, draws)
        for a, b in ((0, low), (low, high), (high, 9000))
        if a < b
    ]
    assert set.union(*parts) == whole
    assert sum(map(len, parts)) == len(whole)


@pytest.mark.parametrize("n", [10, 40])
def test_the_level_of_redraws_is_exact(n):
    plan, trials, found = normal_plan(), 300, 0
    families = [Family("all", 1.0, np.arange(len(plan.statistics) + 1))]
    draw = redraw_normal(plan.evidence, n)
    for t in range(trials):
        rows = normal_rows(n, 1000 + t)
        top = float(excess(top_surprises(rows.y.reshape(1, -1)), n)[0])
        drawn = redrawn(plan, rows, draw, top, 39, Seed.of(t), ENGINE)
        found += Combination.of(drawn, families).pvalue <= 0.1
    assert binom.ppf(1e-4, trials, 0.1) <= found <= binom.isf(1e-4, trials, 0.1)
