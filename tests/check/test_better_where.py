"""Where one model predicts better: the search, against the obvious loop over all slices."""

import itertools
import re
import sys

import numpy as np
import pandas as pd
import pytest

from condgof.check import Slices, SliceSearch, axes_of, central
from condgof.engine import as_engine
from condgof.null import Dependence, pvalue
from condgof.sample import Sample, Seed, Use

#: The module of the search: its constants are part of what the slow loops compute.
SEARCH = sys.modules[SliceSearch.__module__]


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, n),
            "degree": rng.choice(list("ABC"), n),
            "member": rng.random(n) < 0.4,
            "score": rng.normal(size=n),
        }
    )


def slices_of(frame):
    sample = Sample.from_data(frame, np.arange(len(frame)) * 1.0)
    return Slices.from_axes(axes_of(sample.x_columns, sample.x), sample.content_keys)


def centred(d):
    return d - d.mean()


def slow_slices(axes, n):
    """All slices as masks, with their penalties: the obvious way."""

    def ranges(axis, bins):
        cut = axis.cut(bins)
        return [(cut.codes >= i) & (cut.codes <= j) for i, j in cut.ranges]

    masks = [mask for axis in axes for mask in ranges(axis, SEARCH.BINS)]
    for a, b in itertools.combinations(axes, 2):
        of_a = ranges(a, SEARCH.BINS_OF_PAIR)
        of_b = ranges(b, SEARCH.BINS_OF_PAIR)
        masks += [u & v for u, v in itertools.product(of_a, of_b)]
    found = [(np.ones(n, dtype=bool), 0.0)]
    for mask in masks:
        size = int(mask.sum())
        if size >= max(50, 0.05 * n) and n - size >= max(10, 0.1 * n):
            found.append((mask, np.sqrt(2 * np.log(n / size))))
    return found


def slow_variance(mask, d):
    """The sum of squares of a slice, at least that of a hundred average rows or of all."""
    least = min(int(mask.sum()), 100) * np.square(d).mean()
    return max(np.square(d[mask]).sum(), least)


def search_of(slices, d, dependence=None, draws=32, seed=3, engine=None):
    return SliceSearch.from_differences(
        slices, d, dependence or Dependence(), draws, Seed.of(seed), as_engine(engine)
    )


def symmetric(n):
    """Differences in pairs ±d, which are not skewed, in random order."""
    rng = np.random.default_rng(1)
    half = rng.normal(size=n // 2)
    return rng.permutation(np.concatenate([half, -half]))


@pytest.mark.parametrize("n", [160, 400])
def test_the_largest_slice_is_that_of_the_loop_over_all(n):
    slices = slices_of(table(n))
    d = symmetric(n)
    slow = slow_slices(slices.axes, n)
    assert slices.count == len(slow)
    values = [
        abs(d[mask].sum()) / np.sqrt(slow_variance(mask, d)) - penalty
        for mask, penalty in slow
    ]
    best = search_of(slices, d).best
    assert best.value == pytest.approx(max(values), rel=1e-6)
    np.testing.assert_array_equal(
        slices.inside(best.place), slow[int(np.argmax(values))][0]
    )


def test_draws_are_the_largest_values_with_random_signs():
    n = 160
    slices = slices_of(table(n))
    d = symmetric(n)
    search = search_of(slices, d)
    stream = Seed.of(3).stream(Use.CHECK, SEARCH.SIGNS_STREAM, 0)
    signs = stream.integers(0, 2, (n, SEARCH.CHUNK)) * 2.0 - 1.0
    slow = slow_slices(slices.axes, n)
    for j in range(SEARCH.CHUNK):
        values = [
            abs(d[mask] @ signs[mask, j]) / np.sqrt(slow_variance(mask, d)) - penalty
            for mask, penalty in slow
        ]
        assert search.draws[j] == pytest.approx(max(values), abs=2e-4)


def test_rows_of_a_group_have_one_sign():
    n = 160
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 30, n)
    slices = slices_of(table(n))
    d = symmetric(n)
    search = search_of(slices, d, Dependence(codes=groups))
    count = int(groups.max()) + 1
    stream = Seed.of(3).stream(Use.CHECK, SEARCH.SIGNS_STREAM, 0)
    signs = stream.integers(0, 2, (count, SEARCH.CHUNK)) * 2.0 - 1.0
    for j in range(SEARCH.CHUNK):
        values = []
        for mask, penalty in slow_slices(slices.axes, n):
            sums = np.bincount(groups[mask], d[mask], count)
            values.append(abs(sums @ signs[:, j]) / np.sqrt(sums @ sums) - penalty)
        assert search.draws[j] == pytest.approx(max(values), abs=2e-4)


def slow_belief(slices, z):
    """Slices, and how much they overlap the right one, averaged over which that is."""
    every = []
    for family in slices.families:
        every += [family.place(number) for number in range(len(family.rows))]
    masks = [slices.inside(place) for place in every]
    size = np.abs(np.concatenate(z))
    weight = np.exp(size.max() * (size - size.max()))
    if SEARCH.ODDS_OF_EVERYWHERE * len(every) * weight[0] > weight.sum():
        return masks, np.arange(len(every)) == 0
    overlap = np.array([[(m & t).sum() / (m | t).sum() for t in masks] for m in masks])
    words = [slices.words(place) for place in every]
    bounds = [len(re.findall("[<≤≥=]| and ", one)) + (one != "") for one in words]
    return masks, overlap @ weight * SEARCH.FACTOR_OF_BOUND ** np.array(bounds)


@pytest.mark.parametrize("other", ["degree", "score", "both", "all"])
def test_the_slice_that_is_named_overlaps_most_with_those_that_may_differ(
    other, monkeypatch
):
    monkeypatch.setattr(SEARCH, "MOST_COMPARED", 10**6)
    n = 300
    frame = table(n).drop(columns="age")
    where = {
        "degree": frame.degree == "B",
        "score": frame.score.between(-0.3, 0.8),
        "both": frame.member & (frame.score > 0),
        "all": frame.score < 9,
    }[other]
    d = np.random.default_rng(3).normal(size=n) + 0.8 * where.to_numpy()
    slices = slices_of(frame)
    ones = [family.rows * 1.0 for family in slices.families]
    z = slices.standardised(d, ones, 0.0)
    masks, belief = slow_belief(slices, z)
    named = central(slices, z, -np.inf)
    inside = slices.inside(named.place)
    same = [i for i, mask in enumerate(masks) if (mask == inside).all()]
    assert max(belief[same]) == pytest.approx(belief.max(), rel=1e-5)
    assert named.is_everywhere == (other == "all")
    # Only slices above the threshold are named, as long as there are any.
    threshold = slices.largest(z).value - 1e-9
    if other != "all":
        assert central(slices, z, threshold).value > threshold


def test_the_next_slice_says_something_new():
    n = 2000
    frame = table(n)
    rng = np.random.default_rng(2)
    d = rng.normal(size=n) + 0.7 * (frame.age < 30) - 0.5 * (frame.degree == "B")
    slices = slices_of(frame)
    search = search_of(slices, centred(d.to_numpy()), draws=199)
    named = search.named(0.05, 6)
    found = [slices.conditions(one.candidate.place) for one in named]
    columns = {one.column for conditions in found for one in conditions}
    assert {"degree", "age"} <= columns
    assert len(found) <= 3
    assert all(0 < one.pvalue <= 0.05 for one in named)


def test_engine_and_order_of_work_do_not_matter():
    n = 300
    slices = slices_of(table(n))
    d = centred(np.random.default_rng(5).exponential(size=n))
    one = search_of(slices, d, draws=100, seed=1)
    two = search_of(slices, d, draws=100, seed=1, engine=2)
    np.testing.assert_array_equal(one.draws, two.draws)
    assert one.pvalue == pvalue(one.best.value, one.draws)


def test_few_rows_and_no_columns_are_not_searched():
    assert slices_of(table(99)) is None
    assert Slices.from_axes((), np.arange(500)) is None
