"""The search of two compared models for slices, against the obvious loop over them."""

import itertools
import re
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

import condgof as cg
from condgof.check import (
    CertainRows,
    Scan,
    Signal,
    Space,
    axes_of,
    best_of,
    central_of,
    compared,
)
from condgof.check._look import select_rows
from condgof.check.kinds import CellSignals, Signals
from condgof.engine import as_engine
from condgof.methods import Options, prepare
from condgof.null import Dependence, pvalue
from condgof.residuals import legendre
from condgof.sample import Sample, Seed, Use
from condgof.stein import Units

#: The module of the search: its constants are part of what the slow loops compute.
SEARCH = sys.modules[Scan.__module__]
KINDS = ("shift", "spread", "skew", "tails")


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


def space_of(frame, first=2, total=4):
    sample = Sample.from_data(frame, np.arange(len(frame)) * 1.0)
    axes = axes_of(sample.x_columns, sample.x)
    about = (Signal("shift", "y"),) * total
    shape = len(frame), total
    signals = Signals(about, np.zeros(shape), np.ones(shape), None, first)
    return Space.of(axes, signals, sample.content_keys)


def signals_of(z):
    from scipy.special import ndtr

    def redraw(rows):
        return lambda rng, m: legendre(rng.random((len(rows), m), dtype=np.float32))

    about = tuple(Signal(kind, "y") for kind in KINDS)
    return Signals(about, legendre(ndtr(z)), np.ones((len(z), 4)), redraw)


def slow_slices(axes, n):
    """All slices as masks, with penalties and the number of signals they see: the obvious
    way.
    """
    out = [(np.ones(n, dtype=bool), 0.0, 4)]

    def ranges(axis, bins):
        cut = axis.cut(bins)
        return [(cut.codes >= i) & (cut.codes <= j) for i, j in cut.ranges]

    sets = [(mask, 0.0, 4) for axis in axes for mask in ranges(axis, SEARCH.BINS)]
    for a, b in itertools.combinations(axes, 2):
        of_a = ranges(a, SEARCH.BINS_PAIR)
        of_b = ranges(b, SEARCH.BINS_PAIR)
        both = itertools.product(of_a, of_b)
        sets += [(u & v, 0.0, 2) for u, v in both]
    for mask, extra, seen in sets:
        size = int(mask.sum())
        if size >= max(25, 0.02 * n) and n - size >= max(10, SEARCH.OUTSIDE * n):
            out.append((mask, extra + np.sqrt(2 * np.log(n / size)), seen))
    return out


@pytest.mark.parametrize("n", [120, 400])
def test_best_slice_is_that_of_the_loop_over_all(n):
    frame = table(n)
    z = np.random.default_rng(1).normal(size=n) + 0.8 * (frame.degree == "B").to_numpy()
    space = space_of(frame)
    signals = signals_of(z)
    slow = slow_slices(space.axes, n)
    assert space.count == len(slow)
    values = [
        max(abs(signals.values[mask, k].sum()) / np.sqrt(mask.sum()) for k in range(seen))
        - penalty
        for mask, penalty, seen in slow
    ]
    variances = tuple(
        np.repeat(part.rows[:, None], part.signals, axis=1) * 1.0 for part in space.parts
    )
    best = best_of(space, compared(space, signals.values, variances, np.zeros(4)))
    assert best.value == pytest.approx(max(values), rel=1e-12)
    np.testing.assert_array_equal(space.inside(best.where), slow[int(np.argmax(values))][0])


def slow_belief(space, signals):
    """Slices, and how much they overlap the wrong one, averaged over which it is: the
    obvious loop.
    """
    every = [
        (space.inside(where), part.signals, where)
        for part in space.parts
        for where in part.where
    ]
    size = np.array(
        [
            max(abs(signals.values[m, k].sum()) / np.sqrt(m.sum()) for k in range(seen))
            for m, seen, _ in every
        ]
    )
    weight = np.exp(size.max() * (size - size.max()))
    if SEARCH.EVERYWHERE * len(every) * weight[0] > weight.sum():
        return every, np.arange(len(every)) == 0
    overlap = np.array(
        [[(m & t).sum() / (m | t).sum() for t, _, _ in every] for m, _, _ in every]
    )
    said = [" and ".join(c.words for c in space.conditions(where)) for _, _, where in every]
    cost = [len(re.findall("[<≤≥=]| and ", words)) + (words != "") for words in said]
    return every, overlap @ weight * SEARCH.SIMPLER ** np.array(cost)


@pytest.mark.parametrize("wrong", ["degree", "score", "both", "all"])
def test_the_slice_that_is_named_overlaps_most_with_those_that_may_be_wrong(
    wrong, monkeypatch
):
    monkeypatch.setattr(SEARCH, "COMPARED", 10**6)
    n = 300
    frame = table(300).drop(columns="age")
    where = {
        "degree": frame.degree == "B",
        "score": frame.score.between(-0.3, 0.8),
        "both": frame.member & (frame.score > 0),
        "all": frame.score < 9,
    }[wrong]
    z = np.random.default_rng(3).normal(size=n) + 0.8 * where.to_numpy()
    space = space_of(frame)
    signals = signals_of(z)
    every, belief = slow_belief(space, signals)
    variances = tuple(
        np.repeat(part.rows[:, None], part.signals, axis=1) * 1.0 for part in space.parts
    )
    compare = compared(space, signals.values, variances, np.zeros(4))
    named = central_of(space, compare, -np.inf)
    inside = space.inside(named.where)
    same = [i for i, (mask, _, _) in enumerate(every) if (mask == inside).all()]
    assert max(belief[same]) == pytest.approx(belief.max(), rel=1e-5)
    assert named.everywhere == (wrong == "all")
    # Only slices above the bound are named, as long as there are any.
    passed = best_of(space, compare).value - 1e-9
    if wrong != "all":
        assert central_of(space, compare, passed).value > passed


def test_draws_are_the_same_maximum_of_redrawn_signals():
    frame = table(150)
    n = 150
    space = space_of(frame)
    signals = signals_of(np.random.default_rng(0).normal(size=n))
    scan = Scan.of(space, signals, Dependence(), 32, Seed.of(3), as_engine(None))
    chunk = SEARCH.CHUNK
    stream = Seed.of(3).stream(Use.CHECK, SEARCH.DRAWN, 0)
    drawn = signals.redraw(np.arange(n))(stream, chunk)
    slow = slow_slices(space.axes, n)
    for j in range(chunk):
        want = max(
            max(abs(drawn[mask, j, k].sum()) / np.sqrt(mask.sum()) for k in range(seen))
            - penalty
            for mask, penalty, seen in slow
        )
        assert scan.draws[j] == pytest.approx(want, abs=2e-4)


def rare_law(kind, n, rng):
    """A discrete law with rare exceptions in most rows, and the y of it."""
    chance = np.where(rng.random(n) < 0.01, 0.3, 5e-4)
    if kind == "counts":
        return cg.models.Poisson(mean=chance), rng.poisson(chance)
    if kind == "intervals":
        end = np.full(n, 3.29)
        return cg.from_intervals(-end, end, 0.999), rng.normal(size=n)
    p = np.column_stack([0.4 * chance, 1 - chance, 0.6 * chance])
    return cg.probabilities(p, classes=[0, 1, 2]), (
        rng.random((n, 1)) > p.cumsum(axis=1)
    ).sum(axis=1)


@pytest.mark.parametrize("kind", ["classes", "counts", "intervals"])
def test_exceptions_of_many_rows_are_drawn_as_all_rows_would_be(kind, monkeypatch):
    """Drawn of some rows alone, rare events would be fewer than in the data (at KS
    distances of 0.2).
    """
    rng = np.random.default_rng(0)
    n = 5000
    law, y = rare_law(kind, n, rng)
    seed = Seed.of(1)
    engine = as_engine(2)
    options = Options(n_boot=499, engine=2).checked()
    units = Units("ranks", "auto", predictions=True)
    ready = prepare(law, table(n), y, units, options, seed)
    checked, own_law, rows = select_rows(ready.law_or_model, ready.rows, seed, engine)
    signals = checked.signals(own_law, rows, seed)
    space = Space.of(checked.axes, signals, rows.sample.content_keys)

    def scan_of():
        return Scan.of(space, signals, Dependence(), 499, seed, engine)

    monkeypatch.setattr(SEARCH, "FEW", 10**6)  # all draws, whatever the first of them say
    some = scan_of()
    monkeypatch.setattr(SEARCH, "REDRAWN", n)
    whole = scan_of()
    assert some.best.value == pytest.approx(whole.best.value)
    assert ks_2samp(some.draws, whole.draws).statistic < 0.12


@pytest.mark.parametrize("kind", ["classes", "counts"])
def test_a_law_without_any_exception_is_searched(kind):
    n = 3000
    never = 1e-12
    law, y = (
        (cg.models.Poisson(mean=np.full(n, never)), np.zeros(n, dtype=int))
        if kind == "counts"
        else (
            cg.probabilities(np.tile([1 - never, never], (n, 1)), classes=[0, 1]),
            np.zeros(n, int),
        )
    )
    report = cg.check(law, table(n), y, rng=0, n_boot=99)
    assert not report.rejected
    assert report.result.details["families"]["staged gains"] == 1.0
    assert report.effects == ()


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


def test_what_exceptions_add_is_added_to_the_cells_of_their_rows():
    frame = table(300)
    n = 300
    m = 5
    space = space_of(frame)
    rng = np.random.default_rng(0)
    draw = rng.integers(m, size=40)
    rows = rng.integers(n, size=40)
    less = rng.normal(size=(40, 4))
    values = np.zeros((n, m, 4))
    np.add.at(values, (rows, draw), less)
    for part in space.parts:
        k = part.signals
        want = (part.members @ values[:, :, :k].reshape(n, -1)).reshape(-1, m, k)
        np.testing.assert_allclose(
            SEARCH.exception_cells(part, draw, rows, less, m), want, atol=1e-6
        )


def test_signs_of_groups_are_the_same_maximum():
    frame = table(150)
    n = 150
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 30, n)
    space = space_of(frame)
    signals = signals_of(rng.normal(size=n))
    depend = Dependence(codes=groups)
    scan = Scan.of(space, signals, depend, 16, Seed.of(3), as_engine(None))
    count = int(groups.max()) + 1
    stream = Seed.of(3).stream(Use.CHECK, SEARCH.UNIT_SIGNS, 0)
    signs = stream.integers(0, 2, (count, SEARCH.CHUNK)) * 2.0 - 1.0
    for j in range(SEARCH.CHUNK):
        values = []
        for mask, penalty, seen in slow_slices(space.axes, n):
            for k in range(seen):
                sums = np.bincount(groups[mask], signals.values[mask, k], count)
                own = max(np.square(sums).sum(), mask.sum())
                values.append(abs(sums @ signs[:, j]) / np.sqrt(own) - penalty)
        assert scan.draws[j] == pytest.approx(max(values), abs=2e-4)


def test_the_next_slice_says_something_new():
    n = 2000
    frame = table(n)
    rng = np.random.default_rng(2)
    z = rng.normal(size=n) * np.where(frame.degree == "B", 1.6, 1.0) + 0.7 * (
        frame.age < 30
    )
    space = space_of(frame)
    signals = signals_of(z.to_numpy())
    scan = Scan.of(space, signals, Dependence(), 199, Seed.of(0), as_engine(None))
    found = [space.conditions(one.where) for one, _ in scan.slices(0.05, 6)]
    assert [c.words for c in found[0]] in (["degree = B"], ["age ≤ 29"], ["age ≤ 30"])
    columns = {c.column for conditions in found for c in conditions}
    assert {"degree", "age"} <= columns
    assert len(found) <= 3


def test_engine_and_order_of_work_do_not_matter():
    frame = table(300)
    n = 300
    space = space_of(frame)
    signals = signals_of(np.random.default_rng(5).normal(size=n))
    one = Scan.of(space, signals, Dependence(), 100, Seed.of(1), as_engine(None))
    two = Scan.of(space, signals, Dependence(), 100, Seed.of(1), as_engine(2))
    np.testing.assert_array_equal(one.draws, two.draws)
    assert one.pvalue == pvalue(one.best.value, one.draws)


def test_many_columns_are_bounded_work():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 60))
    y = x[:, 0] + rng.normal(size=400) + 2.0 * (x[:, 7] > 0.5)
    report = cg.check((x[:, 0], np.ones(400)), x, y, n_boot=100, rng=0)
    assert report.slices[0].conditions[0].column == "x8"
    assert report.effects[0].columns == ("x8",)
    assert report.details["searched"]["columns"] == 60
    assert report.details["searched"]["pairs"] == 66  # of 12 columns


def test_large_n_searches_and_speaks_of_all_rows():
    """More rows than those of which y is drawn."""
    rng = np.random.default_rng(0)
    n = 40_000
    x = rng.integers(0, 50, n)
    y = rng.normal(size=n) + 0.3 * (x >= 40)
    report = cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, n_boot=100)
    first = report.slices[0]
    assert report.details["searched"]["rows"] == n
    assert re.fullmatch("x ≥ (39|40|41)", first.words)  # cells have one value or two
    np.testing.assert_array_equal(first.rows, report.frame().query(first.query).index)
    own = y[first.rows]
    assert first.findings[0].estimate == pytest.approx(np.median(own), rel=1e-12)
    assert first.findings[1].estimate == pytest.approx(own.mean(), rel=1e-12)
