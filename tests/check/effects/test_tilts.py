"""Corrected laws, against explicit densities and samples that are drawn from them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal, norm, poisson

from condgof.check import axes_of
from condgof.check.effects import (
    Candidate,
    CountTilt,
    ErrorKind,
    EventTilt,
    HazardTilt,
    NormalTilt,
    Odds,
    Rate,
    SeveralTilt,
    SignalTilt,
    Tilting,
    make_state,
)
from condgof.sample import Column

#: Standard errors that a mean over many draws may be off: P(|Z| > 5) = 6e-7.
FAR = 5.0
#: The lengths of the periods of censored times, in Λ.
PERIODS = np.array([0.3, 0.4, 0.6])
#: Rows and draws of the laws that are drawn from.
ROWS = 60
DRAWS = 4000


# A sample of the law corrected by θ of one kind, as a tilt beside the law as it was.


def legendre(u, degree):
    """Return the normalised Legendre polynomial of a degree at PITs (n,)."""
    coefficients = np.zeros(degree + 1)
    coefficients[degree] = np.sqrt(2.0 * degree + 1.0)
    return np.polynomial.legendre.legval(2.0 * u - 1.0, coefficients)


def tilted_pits(theta, degree, rng):
    """Draw PITs (n,) whose density is 1 + θψ, by rejection."""
    u = rng.random(len(theta))
    open_rows = np.arange(len(theta))
    highest = 1.0 + np.abs(theta).max() * np.sqrt(2.0 * degree + 1.0)
    while len(open_rows):
        u[open_rows] = rng.random(len(open_rows))
        density = 1.0 + theta[open_rows] * legendre(u[open_rows], degree)
        open_rows = open_rows[highest * rng.random(len(open_rows)) > density]
    return u


def normal_sample(kind, theta, rng):
    z = rng.standard_normal(len(theta))
    if kind == 0:
        z = z + theta
    elif kind == 1:
        z = z * np.exp(theta)
    else:
        z = ndtri(tilted_pits(theta, kind + 1, rng))
    return NormalTilt.from_scores(z, "y")


def count_steps(y, mean, rng):
    """Return counts beside a Poisson law."""
    lower = poisson.cdf(y - 1, mean)
    upper = poisson.cdf(y, mean)
    u = lower + rng.random(len(y)) * (upper - lower)
    return CountTilt.from_steps(
        z=ndtri(u),
        is_zero=y == 0,
        p_zero=np.exp(-mean),
        lower=lower,
        upper=upper,
        column="y",
    )


def tilted_cdf(cdf, kind, theta, p_zero):
    """Return the CDF of the corrected law of counts from that of the law."""
    if kind == 0:
        return ndtr(ndtri(cdf) - theta)
    if kind == 1:
        return ndtr(ndtri(cdf) * np.exp(-theta))
    odds = np.exp(theta) * p_zero / (1.0 - p_zero)
    tilted = odds / (1.0 + odds)
    above = tilted + (cdf - p_zero) * (1.0 - tilted) / (1.0 - p_zero)
    return np.where(cdf < p_zero, 0.0, above)  # below 0 the CDF is 0


def count_sample(kind, theta, rng):
    mean = rng.choice([0.15, 0.6, 3.0], len(theta))
    possible = np.arange(25)
    cdf = poisson.cdf(possible, mean[:, None])
    cdf = tilted_cdf(cdf, kind, theta[:, None], np.exp(-mean)[:, None])
    y = (rng.random(len(theta))[:, None] >= cdf).sum(axis=1)
    return count_steps(y, mean, rng)


def events_of(p, codes, members):
    kinds = tuple(
        ErrorKind("class", "y", str(k), Odds(), "class") for k in range(members.shape[1])
    )
    return EventTilt(
        kinds=kinds,
        log_ratio=np.zeros((len(p), 1)),
        probabilities=p[:, None],
        codes=codes[:, None],
        members=members,
    )


def probabilities_of(n, rng):
    return rng.dirichlet(np.full(4, 2.0), n)


def events_tilted(p, member, theta):
    """Return probabilities (n, C) with the odds of an event times e^θ."""
    weight = p * np.where(member, np.exp(theta)[:, None], 1.0)
    return weight / weight.sum(axis=1, keepdims=True)


#: Two classes, a set of two that overlaps with them, for all rows alike.
FIXED_EVENTS = np.array([[[1, 0, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0]]], dtype=bool)


def event_sample(kind, theta, rng, members=FIXED_EVENTS):
    p = probabilities_of(len(theta), rng)
    tilted = events_tilted(p, members[:, kind], theta)
    codes = (rng.random(len(theta))[:, None] >= np.cumsum(tilted, axis=1)).sum(axis=1)
    return events_of(p, codes.clip(0, 3), members)


def own_event_sample(kind, theta, rng):
    """Events that differ from row to row, such as the most probable class."""
    top = rng.integers(0, 4, len(theta))
    members = np.broadcast_to(FIXED_EVENTS, (len(theta), 3, 4)).copy()
    members[:, 2] = top[:, None] == np.arange(4)
    p = probabilities_of(len(theta), rng)
    tilted = events_tilted(p, members[:, kind], theta)
    codes = (rng.random(len(theta))[:, None] >= np.cumsum(tilted, axis=1)).sum(axis=1)
    return events_of(p, codes.clip(0, 3), members)


def hazard_of(times, lengths):
    """Return times (n,) in units of Λ, censored after the last period, beside the law."""
    ends = np.cumsum(lengths, axis=1)
    starts = ends - lengths
    kinds = tuple(
        ErrorKind("hazard", "y", label, Rate(), "events")
        for label in ("", "early", "middle", "late")
    )
    at = times[:, None]
    return HazardTilt(
        kinds=kinds,
        log_ratio=np.zeros((len(times), 1)),
        observed=((at > starts) & (at <= ends))[:, None],
        exposure=(np.clip(at, starts, ends) - starts)[:, None],
        lengths=lengths,
    )


def hazard_factors(kind, theta):
    """Return what the hazard of each period is multiplied by, (n, T)."""
    chosen = np.ones(3, dtype=bool) if kind == 0 else np.arange(3) == kind - 1
    return np.where(chosen, np.exp(theta)[:, None], 1.0)


def hazard_sample(kind, theta, rng):
    """Follow the cumulative hazard, which grows faster where the hazard is larger."""
    lengths = PERIODS * rng.uniform(0.5, 2.0, (len(theta), 1))
    factors = hazard_factors(kind, theta)
    left = rng.standard_exponential(len(theta))
    times = np.zeros(len(theta))
    for period in range(3):
        whole = lengths[:, period] * factors[:, period]
        times += np.minimum(left, whole) / factors[:, period]
        left = np.maximum(left - whole, 0.0)
    return hazard_of(times + left, lengths)


def several_sample(kind, theta, rng):
    z = rng.standard_normal((len(theta), 2))
    if kind < 2:
        z[:, kind] += theta
    elif kind < 4:
        z[:, kind - 2] *= np.exp(theta)
    else:
        z[:, 1] = theta * z[:, 0] + np.sqrt(1.0 - theta**2) * z[:, 1]
    return SeveralTilt.from_scores(z, ["a", "b"], [(0, 1)], joint=True)


def signal_redraw(rows, rng, m):
    """Draw two test functions of variances 1/3 and 2."""
    uniform = rng.uniform(-1.0, 1.0, (len(rows), m))
    normal = np.sqrt(2.0) * rng.standard_normal((len(rows), m))
    return np.stack([uniform, normal], axis=-1)


def signal_sample(kind, theta, rng):
    """Test functions whose mean is moved by θ times their variance."""
    n = len(theta)
    variance = np.broadcast_to([1.0 / 3.0, 2.0], (n, 2))
    psi = signal_redraw(np.arange(n), rng, 1)
    psi[:, 0, kind] += theta * variance[:, kind]
    return SignalTilt(
        kinds=tuple(ErrorKind(name, "y", "", Tilting(), name) for name in ("a", "b")),
        log_ratio=np.zeros((n, 1)),
        psi=psi,
        variance=variance,
        events=np.zeros((n, 2)),
        redraw=signal_redraw,
        rows=np.arange(n),
    )


@dataclass(frozen=True)
class Way:
    """A way to correct a law: how its samples are drawn, with θ of each kind."""

    name: str
    sample: object  #: (kind, theta, rng) → tilt of a sample of the corrected law.
    kinds: int
    largest: float  #: The largest |θ| that is tried.


WAYS = (
    Way("normal", normal_sample, 4, 0.3),
    Way("counts", count_sample, 3, 0.6),
    Way("events", event_sample, 3, 0.8),
    Way("events of rows", own_event_sample, 3, 0.8),
    Way("hazard", hazard_sample, 4, 0.8),
    Way("several", several_sample, 5, 0.5),
    Way("signals", signal_sample, 2, 0.3),
)
EVERY_KIND = [
    pytest.param(way, kind, id=f"{way.name}-{kind}")
    for way in WAYS
    for kind in range(way.kinds)
]
EVERY_WAY = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)


def law_sample(way, n=ROWS, seed=0):
    """Return a sample of the law itself."""
    return way.sample(0, np.zeros(n), np.random.default_rng(seed))


# Test functions.


def assert_mean(values, expected):
    """Compare the mean over the second axis of values (n, m, …) with what is expected.

    Each row by itself, and all rows together.
    """
    difference = values - expected
    m = values.shape[1]
    error = np.maximum(values.std(axis=1), 1e-9) / np.sqrt(m)
    assert np.all(np.abs(difference.mean(axis=1)) <= FAR * error)
    together = np.sqrt((error**2).sum(axis=0)) / len(values)
    assert np.all(np.abs(difference.mean(axis=(0, 1))) <= FAR * together)


@EVERY_WAY
def test_test_functions_have_mean_0_and_the_stated_information(way):
    drawn = law_sample(way).draw(np.random.default_rng(1), DRAWS)
    values = np.asarray(drawn.values, dtype=np.float64)
    assert values.shape == (ROWS, DRAWS, way.kinds)
    assert_mean(values, 0.0)
    assert_mean(values**2, drawn.information[:, None])
    assert np.all(drawn.log_ratio == 0.0)


@pytest.mark.parametrize(("way", "kind"), EVERY_KIND)
def test_a_corrected_law_is_drawn_from_as_it_is_now(way, kind):
    theta = np.linspace(-way.largest, way.largest, ROWS)
    corrected = law_sample(way).corrected(kind, theta[:, None])
    drawn = corrected.draw(np.random.default_rng(2), DRAWS)
    values = np.asarray(drawn.values, dtype=np.float64)
    if way.name == "signals":
        # Only means of test functions are known, and those drawn are of the law itself.
        assert_mean(values, 0.0)
        return
    assert_mean(values, 0.0)
    assert_mean(values**2, drawn.information[:, None])


@EVERY_WAY
def test_noise_is_1_under_the_law(way):
    tilt = law_sample(way, n=400)
    drawn = tilt.draw(np.random.default_rng(3), 300)
    noise = drawn.noise(drawn.values)
    assert noise.shape == (300, way.kinds)
    error = noise.std(axis=0) / np.sqrt(300)
    # The spread is judged around that of the sample: its noise is too small by O(1/n).
    assert np.all(np.abs(noise.mean(axis=0) - 1.0) <= FAR * error + 5.0 / 400)


@pytest.mark.parametrize(("way", "kind"), EVERY_KIND)
def test_the_true_correction_makes_a_wrong_law_right(way, kind):
    n = 40_000
    rng = np.random.default_rng([4, kind])
    theta = np.where(rng.random(n) < 0.5, way.largest, -0.5 * way.largest)
    tilt = way.sample(kind, theta, rng)

    def errors(one):
        values = np.asarray(one.values[:, 0], dtype=np.float64)
        halves = [values[theta > 0], values[theta < 0]]
        return np.stack(
            [half.mean(axis=0) / (half.std(axis=0) / np.sqrt(len(half))) for half in halves]
        )

    wrong = errors(tilt)
    assert np.all(np.abs(wrong[:, kind]) > 2 * FAR)
    assert np.all(np.abs(errors(tilt.corrected(kind, theta[:, None]))) < FAR)


@pytest.mark.parametrize(("way", "kind"), EVERY_KIND)
def test_the_gain_is_largest_at_the_true_correction(way, kind):
    """Summed over a sample of the corrected law, and about 0 for θ near 0."""
    n = 20_000
    true = 0.7 * way.largest
    tilt = way.sample(kind, np.full(n, true), np.random.default_rng([5, kind]))

    def gain(theta):
        return tilt.corrected(kind, np.full((n, 1), theta)).log_ratio.mean()

    assert gain(true) > 0.0
    assert gain(0.0) == pytest.approx(0.0, abs=1e-12)
    assert gain(true) > max(gain(0.6 * true), gain(1.4 * true), gain(-true))


# Log scores.


#: Normal scores whose quantiles are so wide that none of them is clipped.
GRID = np.linspace(-6.5, 6.5, 26_001)


@pytest.mark.parametrize("theta", [-0.25, 0.1, 0.3])
@pytest.mark.parametrize("kind", range(4))
def test_normal_scores_gain_the_log_ratio_of_densities(kind, theta):
    tilt = NormalTilt.from_scores(GRID, "y")
    corrected = tilt.corrected(kind, np.full((len(GRID), 1), theta))
    if kind == 0:
        explicit = norm.logpdf(GRID, theta) - norm.logpdf(GRID)
    elif kind == 1:
        explicit = norm.logpdf(GRID, 0.0, np.exp(theta)) - norm.logpdf(GRID)
    else:
        explicit = np.log1p(theta * legendre(ndtr(GRID), kind + 1))
    ratio = corrected.log_ratio[:, 0]
    np.testing.assert_allclose(ratio, explicit, rtol=1e-9, atol=1e-9)
    density = np.exp(ratio) * norm.pdf(GRID)
    # What is beyond the grid of a normal law with sd e^0.3 is below 2e-6.
    assert np.trapezoid(density, GRID) == pytest.approx(1.0, abs=1e-5)
    # The corrected normal score is Φ⁻¹ of the corrected CDF.
    middle = np.abs(GRID) < 4.0
    cdf = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    cdf *= GRID[1] - GRID[0]
    np.testing.assert_allclose(ndtr(corrected.z[middle, 0]), cdf[middle], atol=1e-5)


def test_one_far_row_gains_no_more_than_the_limit():
    """A row at 30 sd gains what one at the limit of the scores does."""
    z = np.random.default_rng(0).standard_normal(200)
    z[0] = 30.0
    z[1] = 4.0
    tilt = NormalTilt.from_scores(z, "y")
    for kind in range(4):
        gains = tilt.corrected(kind, np.full((200, 1), 0.2)).log_ratio[:2, 0]
        assert gains[0] == pytest.approx(gains[1])
        assert tilt.values[0, 0, kind] == pytest.approx(tilt.values[1, 0, kind])


@pytest.mark.parametrize("mean", [0.1, 1.0, 7.5])
@pytest.mark.parametrize("theta", [-0.5, 0.2, 0.6])
@pytest.mark.parametrize("kind", range(3))
def test_counts_gain_the_log_ratio_of_probabilities(mean, theta, kind):
    possible = np.arange(40)
    possible = possible[poisson.sf(possible, mean) > 1e-12]
    count = len(possible)
    before = poisson.pmf(possible, mean)
    cdf = poisson.cdf(np.arange(-1, count), mean)
    after = np.diff(tilted_cdf(cdf, kind, theta, np.exp(-mean)))
    tilt = count_steps(possible, np.full(count, mean), np.random.default_rng(0))
    corrected = tilt.corrected(kind, np.full((count, 1), theta))
    # Further out, the score of the count is that of its clipped randomised PIT.
    usual = (np.abs(tilt.z[:, 0]) < 4.0) & (after > 1e-10)
    ratio = corrected.log_ratio[usual, 0]
    explicit = np.log(after[usual] / before[usual])
    np.testing.assert_allclose(ratio, explicit, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(corrected.p_zero[0, 0], after[0], rtol=1e-9)
    steps = (corrected.upper - corrected.lower)[:, 0]
    np.testing.assert_allclose(steps, after, rtol=1e-6, atol=1e-12)
    # All that is possible, but what is beyond 7 sd under the law.
    assert steps.sum() == pytest.approx(1.0, abs=1e-3)


def test_corrections_of_counts_one_after_the_other():
    """Log ratios of several corrections add up to that of the last law and the first."""
    rng = np.random.default_rng(3)
    mean = rng.uniform(0.1, 4.0, 300)
    tilt = count_steps(rng.poisson(mean), mean, rng)
    steps = tilt.upper - tilt.lower
    for kind, theta in ((0, 0.3), (2, -0.5), (1, 0.2), (0, -0.1)):
        tilt = tilt.corrected(kind, np.full((300, 1), theta))
    usual = np.abs(tilt.z) < 3.5
    assert usual.mean() > 0.99
    explicit = np.log((tilt.upper - tilt.lower) / steps)
    np.testing.assert_allclose(tilt.log_ratio[usual], explicit[usual], atol=1e-7)


@pytest.mark.parametrize("sample", [event_sample, own_event_sample])
@pytest.mark.parametrize("kind", range(3))
def test_events_gain_the_log_ratio_of_probabilities(sample, kind):
    rng = np.random.default_rng(6)
    theta = rng.uniform(-1.5, 1.5, 50)
    tilt = sample(kind, np.zeros(50), rng)
    every = np.zeros(50)
    for code in range(4):
        rows = replace(tilt, codes=np.full((50, 1), code))
        corrected = rows.corrected(kind, theta[:, None])
        member = tilt.members[:, kind]
        explicit = events_tilted(tilt.probabilities[:, 0], member, theta)
        np.testing.assert_allclose(corrected.probabilities[:, 0], explicit, rtol=1e-10)
        ratio = np.exp(corrected.log_ratio[:, 0])
        before = tilt.probabilities[:, 0, code]
        np.testing.assert_allclose(ratio, explicit[:, code] / before, rtol=1e-10)
        every += before * ratio
    np.testing.assert_allclose(every, 1.0, rtol=1e-10)


def log_likelihood(time, lengths, factors):
    """Return the log likelihood of one time with a piecewise constant hazard."""
    total = 0.0
    start = 0.0
    for length, factor in zip(lengths, factors, strict=True):
        inside = min(max(time - start, 0.0), length)
        total -= factor * inside
        if start < time <= start + length:
            total += np.log(factor)
        start += length
    return total


@pytest.mark.parametrize("kind", range(4))
def test_times_gain_the_log_ratio_of_likelihoods(kind):
    rng = np.random.default_rng(7)
    theta = rng.uniform(-1.0, 1.0, 80)
    tilt = hazard_sample(0, np.zeros(80), rng)
    corrected = tilt.corrected(kind, theta[:, None])
    factors = hazard_factors(kind, theta)
    times = tilt.exposure[:, 0].sum(axis=1)
    times = np.where(tilt.observed[:, 0].any(axis=1), times, np.inf)
    for row, time in enumerate(times):
        lengths = tilt.lengths[row]
        explicit = log_likelihood(time, lengths, factors[row])
        explicit -= log_likelihood(time, lengths, np.ones(3))
        assert corrected.log_ratio[row, 0] == pytest.approx(explicit, abs=1e-10)
    np.testing.assert_allclose(corrected.lengths, tilt.lengths * factors, rtol=1e-12)


@pytest.mark.parametrize("kind", range(4))
def test_likelihoods_of_times_integrate_to_1(kind):
    lengths = np.tile(PERIODS, (20_001, 1))
    end = PERIODS.sum()
    times = np.linspace(0.0, end, 20_001)
    theta = np.full((len(times), 1), 0.5)
    ratio = hazard_of(times, lengths).corrected(kind, theta).log_ratio[:, 0]
    inside = np.trapezoid(np.exp(ratio - times), times)
    censored = hazard_of(np.array([2.0 * end]), lengths[:1]).corrected(kind, theta[:1])
    beyond = np.exp(censored.log_ratio[0, 0] - end)
    assert inside + beyond == pytest.approx(1.0, abs=1e-4)


def test_times_that_are_never_censored_are_drawn():
    lengths = np.tile([0.3, 0.4, np.inf], (ROWS, 1))
    times = np.random.default_rng(12).standard_exponential(ROWS)
    tilt = replace(hazard_of(times, np.tile(PERIODS, (ROWS, 1))), lengths=lengths)
    drawn = tilt.draw(np.random.default_rng(13), DRAWS)
    assert np.all(drawn.observed.sum(axis=2) == 1)
    assert_mean(np.asarray(drawn.values), 0.0)
    assert_mean(np.asarray(drawn.values) ** 2, drawn.information[:, None])


@pytest.mark.parametrize("kind", range(5))
def test_several_columns_gain_the_log_ratio_of_densities(kind):
    rng = np.random.default_rng(8)
    z = 0.8 * rng.standard_normal((300, 2))
    theta = rng.uniform(-0.6, 0.6, 300)
    tilt = SeveralTilt.from_scores(z, ["a", "b"], [(0, 1)], joint=True)
    found = tilt.corrected(kind, theta[:, None]).log_ratio[:, 0]
    for row in range(300):
        mean = np.zeros(2)
        covariance = np.eye(2)
        if kind < 2:
            mean[kind] = theta[row]
        elif kind < 4:
            covariance[kind - 2, kind - 2] = np.exp(2.0 * theta[row])
        else:
            covariance[0, 1] = covariance[1, 0] = theta[row]
        explicit = multivariate_normal(mean, covariance).logpdf(z[row])
        explicit -= multivariate_normal(np.zeros(2), np.eye(2)).logpdf(z[row])
        assert found[row] == pytest.approx(explicit, abs=1e-9)


# Rows and signs.


def same(one, other):
    for name in ("values", "information", "expected", "log_ratio"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)


@pytest.mark.parametrize(("way", "kind"), EVERY_KIND)
def test_rows_are_taken_before_or_after(way, kind):
    rng = np.random.default_rng(9)
    tilt = law_sample(way, n=200, seed=9)
    if way.name == "normal":
        tilt = NormalTilt.from_scores(rng.uniform(-2.0, 2.0, 200), "y")
    rows = rng.permutation(200)[:70]
    theta = rng.uniform(-way.largest, way.largest, (200, 1))
    np.testing.assert_array_equal(tilt.take(rows).values, tilt.values[rows])
    np.testing.assert_array_equal(tilt.take(rows).information, tilt.information[rows])
    np.testing.assert_array_equal(tilt.take(rows).expected, tilt.expected[rows])
    before = tilt.take(rows).corrected(kind, theta[rows])
    after = tilt.corrected(kind, theta).take(rows)
    same(before, after)
    signs = rng.choice([-1.0, 1.0], (200, 3))
    same(tilt.take(rows).signed(signs[rows]), tilt.signed(signs).take(rows))
    shrink = rng.uniform(0.8, 1.0, (200, 1))
    before = tilt.take(rows).standardised(kind, shrink[rows])
    same(before, tilt.standardised(kind, shrink).take(rows))
    assert tilt.take(rows).n == 70
    assert tilt.m == 1


@EVERY_WAY
def test_signs_multiply_test_functions(way):
    rng = np.random.default_rng(10)
    tilt = law_sample(way)
    signs = rng.choice([-1.0, 1.0], (ROWS, 7))
    signed = tilt.signed(signs)
    expected = tilt.values * signs[:, :, None]
    np.testing.assert_allclose(signed.values, expected, rtol=1e-6)
    np.testing.assert_array_equal(signed.information, tilt.information)
    np.testing.assert_array_equal(signed.expected, tilt.expected)
    assert signed.m == 7
    assert signed.draw(rng, 2) is None


def test_removed_bias_leaves_scores_of_unit_variance():
    """Where cells are small, scores less the mean of their cell vary less than 1."""
    rng = np.random.default_rng(11)
    levels = tuple(str(number) for number in range(60))
    codes = np.repeat(np.arange(60.0), 5)[:, None]
    axes = axes_of([Column("group", levels)], codes)
    law = make_state(axes, NormalTilt.from_scores(np.zeros(300), "y"), None)
    state = replace(law, tilt=law.tilt.draw(rng, 2000))
    by_group = Candidate(kind=0, partition=1, trend=False)
    left = state.without(by_group, law.space()).tilt.z
    assert left.var(axis=1).mean() == pytest.approx(1.0, abs=0.01)


def test_no_odds_make_an_impossible_event_possible():
    """Rows of probability 0 are worth nothing, and gain nothing, whatever happened."""
    p = np.tile([0.0, 0.3, 0.3, 0.4], (50, 1))
    codes = np.arange(50) % 4  # the first class is impossible, and comes in every 4th row
    tilt = events_of(p, codes, np.eye(4, dtype=bool)[None])
    assert np.all(tilt.values[..., 0] == 0.0)
    corrected = tilt.corrected(0, np.full((50, 1), 3.0))
    assert np.all(corrected.log_ratio == 0.0)
    np.testing.assert_array_equal(corrected.probabilities[:, 0], p)
