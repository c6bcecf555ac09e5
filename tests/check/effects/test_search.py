"""The search for effects against plain loops over everything that it compares."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from condgof.check import axes_of
from condgof.check.effects import (
    Candidate,
    ErrorKind,
    EventTilt,
    HazardTilt,
    NormalTilt,
    Odds,
    Rate,
    Space,
    Units,
    make_state,
)
from condgof.sample import Column, Sample

#: The module of the search: its constants are part of what the slow loops compute.
SEARCH = sys.modules[Space.__module__]


def axes_of_frame(frame, predictions=()):
    sample = Sample.from_data(frame, np.arange(float(len(frame))))
    return axes_of(sample.x_columns, sample.x, predictions)


def mixed_frame(n, rng):
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "income": rng.lognormal(size=n),
            "town": rng.choice(list("ABCDE"), n, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
            "member": rng.random(n) < 0.4,
        }
    )


# What a correction gains, row by row.


def squares_of(z):
    """Return the sum of squares, which is taken as at least a tenth of that predicted."""
    return max(np.square(z).sum(), 0.1 * len(z))


def normal_gain(kind, theta, tilt, rows, sample):
    z = np.clip(tilt.z[rows, sample], -4.0, 4.0)
    if kind == 0:
        return float((theta * z - 0.5 * theta**2).sum())
    if kind == 1:
        return float(-theta * len(rows) - 0.5 * np.expm1(-2.0 * theta) * squares_of(z))
    psi = tilt.values[rows, sample, kind]
    return float((theta * psi - 0.5 * theta**2).sum())


def event_gain(kind, theta, tilt, rows, sample):
    """All rows of a cell have one probability here, so that the gain is exact."""
    gain = 0.0
    for row in rows:
        p = tilt.probabilities[row, 0][tilt.members[0, kind]].sum()
        happened = tilt.members[0, kind, tilt.codes[row, sample]]
        gain += theta * happened - np.log(1.0 - p + p * np.exp(theta))
    return gain


def hazard_gain(kind, theta, tilt, rows, sample):
    gain = 0.0
    periods = range(3) if kind == 0 else [kind - 1]
    for row in rows:
        for period in periods:
            gain += theta * tilt.observed[row, sample, period]
            gain -= (np.exp(theta) - 1.0) * tilt.exposure[row, 0, period]
    return gain


GAINS = {NormalTilt: normal_gain, EventTilt: event_gain, HazardTilt: hazard_gain}


# The θ of a cell that gains most with λ rows as predicted mixed in.


def normal_fit(kind, tilt, rows, sample, shrinkage):
    n = len(rows)
    z = np.clip(tilt.z[rows, sample], -4.0, 4.0)
    if kind == 0:
        return z.sum() / (n + shrinkage)
    if kind == 1:
        return 0.5 * np.log((squares_of(z) + shrinkage) / (n + shrinkage))
    psi = tilt.values[rows, sample, kind]
    return float(np.clip(psi.sum() / (n + shrinkage), -0.3, 0.3))


def event_fit(kind, tilt, rows, sample, shrinkage):
    p = tilt.probabilities[rows[0], 0][tilt.members[0, kind]].sum()
    happened = sum(tilt.members[0, kind, tilt.codes[row, sample]] for row in rows)
    share = (happened + shrinkage * p) / (len(rows) + shrinkage)
    share = np.clip(share, 1e-9, 1.0 - 1e-9)
    return np.log(share / (1.0 - share)) - np.log(p / (1.0 - p))


def hazard_fit(kind, tilt, rows, sample, shrinkage):
    periods = [0, 1, 2] if kind == 0 else [kind - 1]
    observed = tilt.observed[rows][:, sample][:, periods].sum()
    expected = tilt.exposure[rows][:, 0][:, periods].sum()
    if expected == 0.0:
        return 0.0
    added = shrinkage * expected / len(rows)
    ratio = max((observed + added) / (expected + added), 1e-9)
    return float(np.clip(np.log(ratio), -5.0, 5.0))


FITS = {NormalTilt: normal_fit, EventTilt: event_fit, HazardTilt: hazard_fit}


# The worth of a candidate.


def kept_and_price(partition, *, trend):
    preference = (SEARCH.CONSTANT, SEARCH.STEPS, SEARCH.PAIR)[len(partition.axes)]
    if trend:
        preference = SEARCH.TREND
    kept = preference.kept
    if partition.predicted:
        kept *= SEARCH.KEPT_OF_PREDICTION
    return kept, preference.price


def design_effects(tilt, units, rows, kind):
    """Return Σ_u (Σ ψ)²/Σ ψ² over the rows of a cell, at least 1."""
    if units is None or not len(rows):
        return 1.0
    psi = tilt.values[rows, 0, kind]
    together = sum(psi[units[rows] == unit].sum() ** 2 for unit in np.unique(units[rows]))
    return max(together / np.square(psi).sum(), 1.0)


def slow_steps(state, partition, kind, sample, noise, units):
    tilt = state.tilt
    best = -np.inf
    for shrinkage in SEARCH.SHRINKAGES:
        used = shrinkage if partition.axes else 0.0
        total = 0.0
        for cell in range(partition.count):
            rows = np.flatnonzero(partition.codes == cell)
            if not len(rows):
                continue
            theta = FITS[type(tilt)](kind, tilt, rows, sample, used)
            total += GAINS[type(tilt)](kind, theta, tilt, rows, sample)
            leverage = len(rows) / (len(rows) + used)
            total -= leverage * noise * design_effects(tilt, units, rows, kind)
        best = max(best, total)
    kept, price = kept_and_price(partition, trend=False)
    return best * kept - price


def slow_trend(state, partition, kind, sample, noise, units):
    tilt = state.tilt
    cells = [np.flatnonzero(partition.codes == cell) for cell in range(partition.count)]

    def loss(line, bounded=lambda theta: theta):
        return -sum(
            GAINS[type(tilt)](
                kind,
                bounded(line[0] + line[1] * partition.positions[cell]),
                tilt,
                rows,
                sample,
            )
            for cell, rows in enumerate(cells)
        )

    found = minimize(
        loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}
    )
    # The line that gains most, cut off at the bounds that θ has.
    gained = -loss(found.x, tilt.kinds[kind].form.bounded)
    effects = [design_effects(tilt, units, rows, kind) * len(rows) for rows in cells]
    penalty = 2.0 * noise * sum(effects) / tilt.n
    kept, price = kept_and_price(partition, trend=True)
    return (gained - penalty) * kept - price


# Samples.


def normal_state(n=240, units=None, samples=1):
    """Normal scores that are biased, and vary too much, along columns."""
    rng = np.random.default_rng(0)
    frame = mixed_frame(n, rng)
    predicted = 0.2 * frame["age"].to_numpy() + rng.normal(size=n)
    axes = axes_of_frame(frame, [(Column("predicted"), predicted)])
    z = rng.normal(size=n) * np.where(frame["member"], 1.3, 0.9)
    z += 0.02 * (frame["age"].to_numpy() - 40)
    state = make_state(axes, NormalTilt.from_scores(z, "y"), units)
    if samples == 1:
        return state
    drawn = state.tilt.draw(rng, samples)
    return type(state)(state.cells, drawn, units)


def event_state(n=150):
    rng = np.random.default_rng(1)
    axes = axes_of_frame(mixed_frame(n, rng))
    p = np.array([0.2, 0.5, 0.3])
    tilt = EventTilt(
        kinds=tuple(ErrorKind("class", "y", str(k), Odds(), "class") for k in range(2)),
        log_ratio=np.zeros((n, 1)),
        probabilities=np.tile(p, (n, 1))[:, None],
        codes=rng.choice(3, (n, 1), p=[0.35, 0.4, 0.25]),
        members=np.array([[[True, False, False], [True, True, False]]]),
    )
    return make_state(axes, tilt, None)


def hazard_state(n=150):
    rng = np.random.default_rng(2)
    frame = mixed_frame(n, rng)
    lengths = np.tile([0.3, 0.4, 0.6], (n, 1))
    ends = np.cumsum(lengths, axis=1)
    starts = ends - lengths
    rate = np.where(frame["town"] == "A", 1.8, 0.8)
    times = (rng.standard_exponential(n) / rate)[:, None]
    labels = ("", "early", "middle", "late")
    tilt = HazardTilt(
        kinds=tuple(ErrorKind("hazard", "y", one, Rate(), "events") for one in labels),
        log_ratio=np.zeros((n, 1)),
        observed=((times > starts) & (times <= ends))[:, None],
        exposure=(np.clip(times, starts, ends) - starts)[:, None],
        lengths=lengths,
    )
    return make_state(axes_of_frame(frame), tilt, None)


def compare_steps(state, units=None, relative=1e-6):
    sums = state.sums()
    found = state.space().worths(*sums).steps
    partitions = state.cells.partitions
    for p, partition in enumerate(partitions):
        for sample in range(state.tilt.m):
            for kind in range(len(state.tilt.kinds)):
                noise = sums.noise[sample, kind]
                slow = slow_steps(state, partition, kind, sample, noise, units)
                one = found[p, sample, kind]
                assert one == pytest.approx(slow, rel=relative, abs=relative), (p, kind)


def compare_trends(state, accuracy, units=None):
    sums = state.sums()
    space = state.space()
    found = space.worths(*sums).trends
    assert len(found)
    for t, p in enumerate(space.ordered):
        partition = state.cells.partitions[p]
        for kind in range(len(state.tilt.kinds)):
            slow = slow_trend(state, partition, kind, 0, sums.noise[0, kind], units)
            assert found[t, 0, kind] <= slow + 1e-4
            assert found[t, 0, kind] == pytest.approx(slow, abs=accuracy), (p, kind)


def test_worths_of_normal_scores():
    compare_steps(normal_state())


def test_worths_of_several_samples():
    # Draws are of single precision.
    compare_steps(normal_state(n=120, samples=3), relative=1e-4)


def test_worths_of_events():
    compare_steps(event_state())


def test_worths_of_hazards():
    compare_steps(hazard_state())


def test_worths_of_rows_in_units():
    labels = np.random.default_rng(3).integers(0, 12, 240)
    state = normal_state(units=Units.from_labels(labels))
    compare_steps(state, units=labels)
    compare_trends(state, accuracy=1e-3, units=labels)


@pytest.mark.parametrize("state", [normal_state, event_state, hazard_state])
def test_worths_of_trends(state):
    """Newton's steps end within a thousandth of a nat of the best line."""
    compare_trends(state(), accuracy=1e-3)


@pytest.mark.parametrize("spread", [0.4, 0.6, 1.6, 2.5])
def test_lines_of_spread_are_found_where_the_law_is_far_off(spread):
    """Newton's steps lose at most a twentieth of what the best line gains."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.normal(size=400)})
    z = rng.normal(size=400) * spread * np.exp(0.2 * frame["age"].to_numpy())
    state = make_state(axes_of_frame(frame), NormalTilt.from_scores(z, "y"), None)
    sums = state.sums()
    space = state.space()
    number = int(space.ordered[0])
    partition = state.cells.partitions[number]
    limit = 4.0 * max(1.0, np.subtract(*np.quantile(z, [0.75, 0.25])) / 1.349)
    assert np.abs(z).max() < limit
    tilt = state.tilt

    def loss(line):
        theta = line[0] + line[1] * partition.positions[partition.codes]
        return (theta + 0.5 * (np.exp(-2.0 * theta) - 1.0) * tilt.z[:, 0] ** 2).sum()

    best = -minimize(loss, [np.log(spread), 0.0], method="Nelder-Mead").fun
    found = space.gain(Candidate(1, number, trend=True), *sums) + 2.0 * sums.noise[0, 1]
    assert found <= best + 1e-3
    assert found >= 0.95 * best


# The gain on rows left out.


@pytest.mark.parametrize("n", [40, 200, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_the_gain_is_that_on_rows_left_out(n, seed):
    """Refitted without each row, against one closed form.

    With mean θ̂ and mean square q of n scores, the two differ by
    −θ̂² + (q − θ̂²)(1/(n − 1) + n/(2(n − 1)²)): as ψ² is counted around 0 and not around
    θ̂, the closed form is too small by θ̂², which is 2/n of the gain nθ̂²/2.
    """
    z = np.clip(np.random.default_rng([n, seed]).normal(0.4, 1.2, n), -4.0, 4.0)
    state = make_state([], NormalTilt.from_scores(z, "y"), None)
    found = state.space().gain(Candidate(0, 0, trend=False), *state.sums())
    exact = 0.0
    for row in range(n):
        theta = np.delete(z, row).mean()
        exact += theta * z[row] - 0.5 * theta**2
    mean = z.mean()
    variance = np.square(z).mean() - mean**2
    difference = variance * (1.0 / (n - 1) + 0.5 * n / (n - 1) ** 2) - mean**2
    assert found - exact == pytest.approx(difference, abs=1e-6)
    assert abs(found - exact) <= 2.0 / n * (0.5 * n * mean**2) + 2.0 * variance / n


@pytest.mark.parametrize("seed", range(5))
def test_the_gain_of_a_spread_is_that_on_rows_left_out(seed):
    """The error of the closed form falls with the number of rows, as 20/n."""
    for n in (50, 200, 800):
        z = np.random.default_rng([n, seed]).normal(0.0, 1.4, n)
        state = make_state([], NormalTilt.from_scores(z, "y"), None)
        found = state.space().gain(Candidate(1, 0, trend=False), *state.sums())
        exact = 0.0
        for row in range(n):
            square = np.square(np.delete(z, row)).mean()
            exact += -0.5 * np.log(square) - 0.5 * (1.0 / square - 1.0) * z[row] ** 2
        assert found == pytest.approx(exact, abs=20.0 / n)


def test_a_candidate_is_worth_what_the_search_has_for_it():
    state = normal_state()
    space = state.space()
    sums = state.sums()
    worths = space.worths(*sums)
    best = space.best(worths)
    assert space.worth_of(worths, best) == pytest.approx(float(worths.largest[0]))
    for p, partition in enumerate(state.cells.partitions):
        for kind in range(4):
            kept, price = kept_and_price(partition, trend=False)
            gain = space.gain(Candidate(kind, p, trend=False), *sums)
            assert worths.steps[p, 0, kind] == pytest.approx(kept * gain - price, abs=1e-6)
