"""Corrected laws: maps of normal scores, odds of events, hazards of periods."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import log_ndtr, ndtr, ndtri

import condgof as cg
from condgof.laws import (
    Corrected,
    CorrectedCounts,
    LegendreShape,
    LocationScale,
    OddsOfZero,
    PeriodHazards,
    censored,
    collapsed,
    extended,
    mapped_back,
    values_at,
    with_cell_probabilities,
    with_mapped_scores,
    with_odds,
)
from seeds import examples

TWO = np.array([0.5, -0.4])
MAPS = {
    "bias and spread": (LocationScale(TWO, np.array([-0.3, 0.4])),),
    "skew": (LegendreShape(np.array([0.3, -0.2]), 3),),
    "tails": (LegendreShape(np.array([-0.3, 0.3]), 4),),
    "hazard": (
        PeriodHazards(
            np.array([[0.5, -0.3, 0.2], [0, 1, -1]]), np.array([[0.3, 1], [0.2, 0.9]])
        ),
    ),
    "all": (
        LocationScale(TWO, 0.3 * TWO),
        LegendreShape(0.5 * TWO, 3),
        LocationScale(0.2 * TWO, -0.4 * TWO),
        LegendreShape(-0.5 * TWO, 4),
    ),
}
BASES = {
    "normal": cg.models.Normal(mean=[1.0, -2.0], std=[2.0, 0.5]),
    "gamma": cg.models.Gamma(shape=[3.0, 2.0], scale=[1.0, 2.0]),
}


@given(
    st.sampled_from(sorted(MAPS)),
    st.lists(st.floats(-9, 9), min_size=2, max_size=2),
)
@settings(deadline=None, max_examples=examples(20))
def test_maps_are_inverted_and_differentiated(name, values):
    z = np.array(values)[:, None]
    step = 1e-5
    for one in MAPS[name]:
        value = one.at(z)
        assert one.inverse(value.w) == pytest.approx(z, abs=1e-8)
        above = one.at(z + step)
        below = one.at(z - step)
        rise = (above.w - below.w) / (2 * step)
        ratio = 0.5 * (z**2 - value.w**2) + np.log(rise)
        slope = (above.log_ratio - below.log_ratio) / (2 * step)
        # Maps of periods have a kink at each cut.
        cuts = getattr(one, "cuts", np.empty(0))
        is_smooth = (np.abs(-log_ndtr(-z) - cuts) > 1e-3).all(axis=1)
        assert value.log_ratio[is_smooth] == pytest.approx(ratio[is_smooth], abs=1e-4)
        assert value.slope[is_smooth] == pytest.approx(slope[is_smooth], abs=1e-4)


def test_a_shape_adds_the_integral_of_its_polynomial():
    u = np.linspace(0.001, 0.999, 201)[None]
    for degree in (3, 4):
        legendre = np.polynomial.legendre.Legendre.basis(degree)
        area = legendre.integ(lbnd=-1)(2 * u - 1) * 0.5 * np.sqrt(2 * degree + 1)
        for theta in (-0.3, 0.3):
            w = LegendreShape(np.array([theta]), degree).at(ndtri(u)).w
            assert ndtr(w) == pytest.approx(u + theta * area, abs=1e-14)


def test_far_tails_keep_their_digits():
    shape = LegendreShape(np.array([0.3]), 4)
    far = np.array([[-30.0, 30.0]])
    w = shape.at(far).w
    # Both tails are 1 + 3θ times as heavy.
    assert log_ndtr(-np.abs(w)) - log_ndtr(-np.abs(far)) == pytest.approx(np.log(1.9))
    assert shape.inverse(w) == pytest.approx(far)


def test_neighbouring_maps_of_location_and_scale_are_one():
    z = np.random.default_rng(0).standard_normal((2, 5))
    maps = MAPS["all"][::2]
    (one,) = collapsed(maps)
    assert one.at(z).w == pytest.approx(maps[1].at(maps[0].at(z).w).w)
    assert len(collapsed(MAPS["all"])) == 4
    assert mapped_back(MAPS["all"], np.zeros((2, 1))).shape == (2, 1)


@pytest.mark.parametrize("maps", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_the_corrected_density_integrates_to_the_cdf(base, maps):
    law = Corrected(base, maps)
    for row in range(2):
        part = law.take(np.array([row]))
        cuts = part.quantile([1e-9, *np.linspace(0.01, 0.3, 30)])[0]
        density = lambda y, part=part: float(np.exp(part.log_prob(np.array([y]))[0]))  # noqa: E731
        mass = sum(integrate.quad(density, a, b)[0] for a, b in pairwise(cuts))
        assert mass == pytest.approx(0.3, abs=1e-5)
        assert law.quantile([0.3])[row, 0] == pytest.approx(cuts[-1])
    y = law.sample(np.random.default_rng(0))
    step = 1e-6
    slope = (law.log_prob(y + step) - law.log_prob(y - step)) / (2 * step)
    assert law.score(y)[:, 0] == pytest.approx(slope, rel=1e-4, abs=1e-5)
    assert law.cdf(y) + law.sf(y) == pytest.approx(1.0)


def test_nothing_changes_at_the_identity():
    base = cg.models.Normal(mean=np.arange(5.0), std=1.0)
    none = np.zeros(5)
    maps = (
        LocationScale(none, none),
        LegendreShape(none, 3),
        PeriodHazards(np.zeros((5, 3)), np.tile([0.3, 1.0], (5, 1))),
    )
    law = Corrected(base, maps)
    y = np.arange(5.0) + 0.3
    assert law.log_prob(y) == pytest.approx(base.log_prob(y))
    assert law.normal_scores(y) == pytest.approx(base.normal_scores(y))
    counts = cg.models.Poisson(mean=np.array([0.5, 3.0, 40.0]))
    same = CorrectedCounts(counts, (LocationScale(*np.zeros((2, 3))), OddsOfZero(none[:3])))
    for k in (0.0, 2.0, 35.0, 90.0):
        at = np.full(3, k)
        apart = np.abs(same.log_prob(at) - counts.log_prob(at))
        # Upper tails below 1e-9 are those of a geometric law with the ratio that is there.
        assert (apart < np.where(counts.log_prob(at) < -18, 1e-3, 1e-7)).all()
        assert same.cdf(at) == pytest.approx(counts.cdf(at), abs=1e-12)


def test_corrected_counts_are_a_distribution():
    counts = cg.models.Poisson(mean=np.array([0.5, 3.0, 40.0]))
    maps = (
        LocationScale(np.array([0.3, -0.5, 0.2]), np.array([0.9, 0.5, -0.4])),
        OddsOfZero(np.array([0.5, -1.0, 0.0])),
        LocationScale(np.array([0.1, 0.2, 0.0]), np.array([0.0, -0.1, 0.1])),
    )
    law = CorrectedCounts(counts, maps)
    k = np.arange(600.0)
    mean = law.mean_std()[0]
    for row in range(3):
        one = law.take(np.full(len(k), row))
        p = np.exp(one.log_prob(k))
        assert p.sum() == pytest.approx(1.0, abs=1e-9)
        assert np.cumsum(p) == pytest.approx(one.cdf(k), abs=1e-9)
        assert p @ k == pytest.approx(mean[row, 0], rel=1e-6)
        assert one.quantile([0.5])[0, 0] == k[np.searchsorted(np.cumsum(p), 0.5)]
    assert law.cdf(np.full(3, -1.0)).tolist() == [0.0, 0.0, 0.0]
    drawn = law.take(np.full(4000, 1)).sample(np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(mean[1, 0], abs=0.2)


def test_odds_of_zero_are_multiplied_and_other_counts_keep_their_proportions():
    counts = cg.models.Poisson(mean=np.array([0.5, 3.0]))
    theta = np.array([0.7, -1.0])
    law = CorrectedCounts(counts, (OddsOfZero(theta),))
    before = np.exp([counts.log_prob(np.full(2, k)) for k in (0.0, 1.0, 4.0)])
    after = np.exp([law.log_prob(np.full(2, k)) for k in (0.0, 1.0, 4.0)])
    odds = [p[0] / (1 - p[0]) for p in (before, after)]
    assert odds[1] / odds[0] == pytest.approx(np.exp(theta))
    assert after[2] / after[1] == pytest.approx(before[2] / before[1])


def test_odds_of_an_event_are_multiplied():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(5), 6)
    members = np.array([True, False, True, False, False])
    theta = rng.standard_normal(6)
    after = with_odds(p, members, theta)
    assert after.sum(axis=1) == pytest.approx(1.0)
    inside = [each[:, members].sum(axis=1) for each in (p, after)]
    odds = [each / (1 - each) for each in inside]
    assert odds[1] / odds[0] == pytest.approx(np.exp(theta))
    assert after[:, 0] / after[:, 2] == pytest.approx(p[:, 0] / p[:, 2])


@given(st.integers(0, 10_000), st.integers(1, 9))
@settings(deadline=None, max_examples=examples(12))
def test_values_at_the_scores_of_knots_are_those_of_the_knots(seed, count):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.standard_normal((6, count)), axis=1) + np.arange(count) * 1e-3
    by_row = np.sort(rng.standard_normal((6, count)), axis=1) + np.arange(count) * 1e-3
    for at in (by_row[0], by_row):
        knots = extended(values, at)
        z = np.broadcast_to(at, values.shape)
        assert values_at(knots, z) == pytest.approx(values, abs=1e-9)
        beyond = np.broadcast_to(at[..., -1:] + 0.5, (6, 1))
        assert (values_at(knots, beyond)[:, 0] > values[:, -1]).all()


def test_quantiles_are_where_their_levels_hold():
    """Quantiles of N(0, 1), where y is N(0, 1.8²): straight lines are exact."""
    levels = np.array([0.1, 0.5, 0.9])
    law = cg.from_quantiles(np.tile(ndtri(levels), (4, 1)), levels)
    cells = np.diff(ndtr(ndtri(levels) / 1.8), prepend=0.0, append=1.0)
    moved = with_cell_probabilities(law, np.tile(cells, (4, 1)), 1.0)
    assert moved.values == pytest.approx(np.tile(1.8 * ndtri(levels), (4, 1)))
    single = cg.from_quantiles(np.full(4, 2.0), [0.9])
    moved = with_cell_probabilities(single, np.tile([0.8, 0.2], (4, 1)), unit=3.0)
    assert moved.values == pytest.approx(2.0 + 3.0 * (ndtri(0.9) - ndtri(0.8)))


def test_intervals_are_where_their_coverage_holds():
    half = ndtri([0.75, 0.9])
    law = cg.from_intervals(np.tile(-half, (4, 1)), np.tile(half, (4, 1)), [0.5, 0.8])
    inside = 2 * ndtr(half / 1.8) - 1
    cells = np.diff(inside, prepend=0.0, append=1.0)
    moved = with_cell_probabilities(law, np.tile(cells, (4, 1)), 1.0)
    assert moved.high == pytest.approx(np.tile(1.8 * half, (4, 1)))
    assert moved.low == pytest.approx(-moved.high)


def test_draws_are_moved_by_the_map():
    draws = np.random.default_rng(0).standard_normal((2, 4000))
    law = cg.from_draws(draws)
    moved = with_mapped_scores(law, MAPS["bias and spread"])
    for row, (bias, log_spread) in enumerate(zip(TWO, (-0.3, 0.4), strict=True)):
        assert moved.values[row].mean() == pytest.approx(bias, abs=0.05)
        assert moved.values[row].std() == pytest.approx(np.exp(log_spread), abs=0.05)


def test_hazards_are_multiplied_in_periods():
    """Λ is y of an exponential law: the corrected survival is known in closed form."""
    base = cg.models.Exponential(scale=np.ones(2))
    theta = np.array([[0.5, -0.3, 0.2], [0.0, 1.0, -1.0]])
    law = Corrected(base, (PeriodHazards(theta, np.tile([0.3, 1.0], (2, 1))),))
    factor = np.exp(theta)
    for y in (0.2, 0.7, 2.5):
        times = [min(y, 0.3), np.clip(y, 0.3, 1.0) - 0.3, max(y - 1.0, 0.0)]
        hazard = factor @ times
        assert law.sf(np.full(2, y)) == pytest.approx(np.exp(-hazard))
        rate = factor[:, np.searchsorted([0.3, 1.0], y)]
        assert law.log_prob(np.full(2, y)) == pytest.approx(np.log(rate) - hazard)


def test_the_log_score_of_censored_times():
    base = cg.models.Weibull(shape=1.4, scale=np.array([2.0, 2.0, 3.0]))
    law = censored(base, [1, 0, 1], [0.0, 0.5, 1.0])(n=3)
    y = np.array([1.0, 2.0, 3.0])
    survival = np.log(base.sf(y))
    expected = np.array([base.log_prob(y)[0], survival[1], base.log_prob(y)[2]])
    expected[1:] -= np.log(base.sf(np.array([0.1, 0.5, 1.0])))[1:]
    assert law.log_prob(y) == pytest.approx(expected)
