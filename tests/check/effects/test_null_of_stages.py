"""Draws of the null are searched as the data are."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from condgof.check import axes_of
from condgof.check.effects import (
    ErrorKind,
    HazardTilt,
    ModelDraws,
    NullOfStages,
    Rate,
    Stage,
    make_state,
)
from condgof.sample import Sample, Seed

ROWS = 400
DRAWS = 40
#: The lengths of three periods in Λ; the last one has no end.
PERIODS = np.array([0.1, 0.3, np.inf])


def times_beside_their_law(rng, *, factor=1.0):
    """Return times whose hazard is `factor` times that predicted, and a column of x.

    Few rows are watched in the late period, so that some cells expect next to nothing of
    it: how much they expect differs from sample to sample.
    """
    until = np.where(rng.random(ROWS) < 0.15, np.inf, rng.uniform(0.05, 0.5, ROWS))
    starts = np.concatenate([[0.0], np.cumsum(PERIODS)[:-1]])
    ends = np.minimum(np.cumsum(PERIODS), until[:, None])
    lengths = np.maximum(ends - starts, 0.0)
    times = rng.standard_exponential(ROWS)[:, None] / factor
    seen = np.minimum(times, until[:, None])
    labels = ("", "early", "middle", "late")
    tilt = HazardTilt(
        kinds=tuple(ErrorKind("hazard", "y", one, Rate(), "events") for one in labels),
        log_ratio=np.zeros((ROWS, 1)),
        observed=((times > starts) & (times <= ends))[:, None],
        exposure=np.clip(seen - starts, 0.0, lengths)[:, None],
        lengths=lengths,
    )
    frame = pd.DataFrame({"age": rng.integers(0, 40, ROWS), "b": rng.normal(size=ROWS)})
    sample = Sample.from_data(frame, np.arange(float(ROWS)))
    return make_state(axes_of(sample.x_columns, sample.x, ()), tilt, None)


def sample_of(drawn, number):
    """Return one of m samples as if it were the data."""
    return replace(
        drawn,
        observed=drawn.observed[:, [number]],
        exposure=drawn.exposure[:, [number]],
        log_ratio=drawn.log_ratio[:, [number]],
    )


def test_times_are_drawn_where_a_row_is_never_censored():
    state = times_beside_their_law(np.random.default_rng(0))
    drawn = state.tilt.draw(np.random.default_rng(1), DRAWS)
    assert np.all(np.isfinite(drawn.exposure))
    assert np.all(np.isfinite(drawn.values))
    never = np.isinf(state.tilt.lengths[:, 2])
    assert np.all(drawn.observed[never].sum(axis=-1) == 1)


@pytest.mark.parametrize("stages", [0, 1])
def test_a_draw_of_times_is_worth_what_it_is_as_data(stages):
    state = times_beside_their_law(np.random.default_rng(2))
    space = state.space()
    before = [space.best(space.worths(*state.sums()))][:stages]
    for candidate in before:
        state = state.without(candidate, space)
        space = state.space()
    drawn = state.tilt.draw(np.random.default_rng(3), DRAWS)
    values = drawn.values
    own_space = space.for_samples(state.cells, drawn)
    found = own_space.worths(state.cells.sums(values), drawn.noise(values)).largest
    for number in range(DRAWS):
        alone = replace(state, tilt=sample_of(drawn, number))
        # Noise is that of the sample over what all samples expect on average.
        sums = alone.cells.sums(alone.tilt.values)
        noise = drawn.noise(values)[[number]]
        expected = alone.space().worths(sums, noise).largest[0]
        assert found[number] == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("factor", "rejections"), [(1.0, (0, 5)), (2.0, (38, 40))])
def test_the_null_of_times_has_its_level_and_power(factor, rejections):
    """Of 40 right laws at most 5 are rejected, P = 0.986; of wrong ones nearly all."""
    rejected = 0
    for seed in range(40):
        state = times_beside_their_law(np.random.default_rng([4, seed]), factor=factor)
        null = NullOfStages(
            rows=np.arange(ROWS), n=ROWS, count=59, draws=ModelDraws(Seed.of(seed))
        )
        space = state.space()
        sums = state.sums()
        best = space.best(space.worths(*sums))
        stage = Stage(
            candidate=best,
            fit=space.fit(best, *sums),
            gain=space.gain(best, *sums),
            worth=state.largest_worth,
        )
        rejected += null.tested(stage, state, space, [], 0.05).pvalue <= 0.05
    low, high = rejections
    assert low <= rejected <= high
