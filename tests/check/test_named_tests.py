"""Rows named beforehand: p-value and interval agree, and tests keep their level."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, nbinom

import condgof as cg
from condgof.check import Reader, holm, holm_levels, select_rows
from condgof.check._named import named_slices
from condgof.check._named_counts import third_cumulants
from condgof.check._named_kinds import named_tests
from condgof.check._named_rows import read_sets
from condgof.check._named_tests import SetDecisions, poisson_events
from condgof.check._size import units_of
from condgof.check._tails import RowSets
from condgof.methods import Options, censored_model, prepare
from condgof.sample import Seed
from condgof.stein import Units
from seeds import examples

ALPHA = 0.05


class Prepared(NamedTuple):
    """What `check` makes of data before it tests named groups."""

    reader: Reader
    law: object
    rows: object
    sets: list


def prepared_groups(model, x, y, by, *, event=None, groups=None):
    """Prepare data as `check` does."""
    seed = Seed.of(0)
    options = Options(
        solver="auto",
        n_boot=99,
        dependence=None,
        groups=groups,
        missing="refuse",
        engine=1,
        memory=2**30,
    ).checked()
    bound = censored_model(model, x, y, event, None)
    units = Units("ranks", "auto", predictions=True)
    prepared = prepare(bound, x, y, units, options, seed)
    options = options.for_rows(prepared.rows, x)
    checked, law, rows = select_rows(
        prepared.law_or_model, prepared.rows, seed, options.engine
    )
    reader = Reader.of_all_rows(checked, units_of(options.row_dependence, checked.n))
    return Prepared(reader, law, rows, read_sets(by, (), checked, len(by)))


def groups_of(**data):
    """Return named groups as `check` does, without its verdict and its search."""
    reader, law, rows, sets = prepared_groups(**data)
    signals = reader.checked.all_signals(law, rows, Seed.of(0))
    return named_slices(sets, reader, signals, law, ALPHA)


class PValues(NamedTuple):
    """p-values of groups, (count,) each: adjusted for their number, and before that."""

    adjusted: np.ndarray
    own: np.ndarray


def pvalues_of(**data):
    """Return the p-values that `groups_of` shows, and those before Holm's correction."""
    reader, law, _, sets = prepared_groups(**data)
    row_sets = RowSets.from_rows([one.rows for one in sets])
    tests = named_tests(reader.checked, row_sets, law, reader)
    assert sum(test.weight for test in tests) == pytest.approx(1.0)
    decisions = SetDecisions.from_tests(tests, ALPHA)
    return PValues(decisions.pvalues, np.exp(decisions.weighted.min(axis=0)))


def off_by(rng, by, size):
    """Return what is added to the groups, half of which are right."""
    return size * rng.normal(size=by.max() + 1)[by] * (by % 2)


def normal(rng, by, size):
    x = rng.normal(size=len(by))
    y = x + off_by(rng, by, size) + np.exp(off_by(rng, by, size)) * rng.normal(size=len(by))
    return {"model": (x, np.ones(len(by))), "x": x, "y": y}


def heavy_tails(rng, by, size):
    x = rng.normal(size=len(by))
    y = x + off_by(rng, by, size) + rng.standard_t(2, len(by))
    return {"model": (x, np.ones(len(by))), "x": x, "y": y}


def several(rng, by, size):
    x = rng.normal(size=len(by))
    mean = np.column_stack([x, -x])
    noise = rng.normal(size=mean.shape) + off_by(rng, by, size)[:, None]
    return {"model": (mean, np.ones(mean.shape)), "x": x, "y": mean + noise}


def two_classes(rng, by, size):
    x = rng.normal(size=len(by))
    p = 1 / (1 + np.exp(-x))
    true = 1 / (1 + np.exp(-x - off_by(rng, by, size)))
    return {
        "model": cg.probabilities(p),
        "x": x,
        "y": (rng.random(len(by)) < true).astype(int),
    }


def three_classes(rng, by, size):
    p = rng.dirichlet(np.ones(3), len(by))
    true = p * np.exp(np.outer(off_by(rng, by, size), [1.0, 0.0, -1.0]))
    cdf = np.cumsum(true, axis=1) / true.sum(axis=1, keepdims=True)
    y = (rng.random((len(by), 1)) >= cdf).sum(axis=1).clip(0, 2)
    return {"model": cg.probabilities(p), "x": rng.normal(size=len(by)), "y": y}


def counts(rng, by, size):
    x = rng.normal(size=len(by))
    mean = np.exp(0.5 * x)
    y = rng.poisson(mean * np.exp(off_by(rng, by, size)))
    return {"model": cg.models.Poisson(mean=mean), "x": x, "y": y}


def overdispersed(rng, by, size):
    x = rng.normal(size=len(by))
    mean = 20.0 * np.exp(0.5 * x)
    y = rng.poisson(mean * np.exp(off_by(rng, by, size)))
    return {"model": cg.models.NegativeBinomial(mean=mean, dispersion=0.3), "x": x, "y": y}


def binomials(rng, by, size):
    x = rng.normal(size=len(by))
    p = 1 / (1 + np.exp(-1.5 - x))
    true = 1 / (1 + np.exp(-1.5 - x - off_by(rng, by, size)))
    model = cg.models.Binomial(trials=9, p=p)
    return {"model": model, "x": x, "y": rng.binomial(9, true)}


def quantiles(rng, by, size):
    x = rng.normal(size=len(by))
    ends = x[:, None] + np.array([-1.2815515655446004, 0.0, 1.2815515655446004])
    y = x + off_by(rng, by, size) + rng.normal(size=len(by))
    return {"model": cg.from_quantiles(ends, [0.1, 0.5, 0.9]), "x": x, "y": y}


def intervals(rng, by, size):
    x = rng.normal(size=len(by))
    y = x + off_by(rng, by, size) + rng.normal(size=len(by))
    return {"model": cg.from_intervals(x - 1.645, x + 1.645, 0.9), "x": x, "y": y}


def events(rng, by, size):
    x = rng.normal(size=len(by))
    rate = np.exp(0.3 * x)
    times = rng.exponential(size=len(by)) / (rate * np.exp(off_by(rng, by, size)))
    until = rng.exponential(size=len(by))
    return {
        "model": cg.models.Exponential(rate=rate),
        "x": x,
        "y": np.minimum(times, until),
        "event": (times <= until).astype(int),
    }


def scores(rng, by, size):
    x = rng.normal(size=len(by))
    y = x + off_by(rng, by, size) + rng.normal(size=len(by))
    return {"model": cg.from_scores((x - y)[:, None]), "x": x, "y": y}


def angles(rng, by, size):
    x = rng.uniform(-3, 3, len(by))
    y = x + off_by(rng, by, size) + rng.vonmises(0, 2, len(by))
    return {"model": cg.models.VonMises(mean=x, concentration=2.0), "x": x, "y": y}


def in_groups(rng, by, size):
    x = rng.normal(size=len(by))
    codes = np.arange(len(by)) // 3
    shared = rng.normal(size=len(by))[codes]
    y = x + off_by(rng, by, size) + 0.8 * rng.normal(size=len(by)) + 0.6 * shared
    return {"model": (x, np.ones(len(by))), "x": x, "y": y, "groups": codes}


KINDS = (
    normal,
    heavy_tails,
    several,
    two_classes,
    three_classes,
    counts,
    overdispersed,
    binomials,
    quantiles,
    intervals,
    events,
    scores,
    angles,
    in_groups,
)


@pytest.mark.filterwarnings("ignore::condgof.errors.DependenceWarning")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(deadline=None, max_examples=examples(4), derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    count=st.sampled_from([2, 3, 8]),
    rows=st.sampled_from([3, 12, 60]),
    size=st.sampled_from([0.0, 0.3, 1.0, 3.0]),
)
def test_an_interval_excludes_the_prediction_exactly_where_there_is_evidence(
    kind, seed, count, rows, size
):
    """Evidence is an adjusted p-value of at most alpha; then the leading finding tells."""
    rng = np.random.default_rng(seed)
    by = rng.permutation(np.repeat(np.arange(count), rows))
    if "groups" in kind.__name__:
        by = np.sort(by)
    for group in groups_of(by=by, **kind(rng, by, size)):
        telling = [finding.telling for finding in group.findings]
        assert any(telling) == (group.pvalue <= ALPHA)
        if any(telling):
            assert group.findings[0].telling
            assert group.direction != "no evidence"
        else:
            assert group.direction == "no evidence"
        for finding in group.findings:
            low, high = finding.interval
            assert low <= finding.estimate <= high


def test_levels_are_those_of_the_steps_of_holm():
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.5])
    levels = holm_levels(p, 0.05)
    # 0.005 ≤ 0.05/5 and 0.01 ≤ 0.05/4 are rejected, and 0.03 > 0.05/3 is not.
    np.testing.assert_allclose(levels, 0.05 / np.array([4, 3, 3, 5, 3]))
    np.testing.assert_array_equal(holm(p) <= 0.05, p <= levels)
    np.testing.assert_allclose(holm_levels(np.zeros(3), 0.03), [0.01, 0.015, 0.03])


@pytest.mark.parametrize("until", [0.1, 0.45, 1.5, 5.0, 90.0])
@pytest.mark.parametrize("m", [4, 7, 16, 25, 90])
def test_events_keep_their_level_whatever_the_censoring(m, until):
    """20,000 sets of m rows, all censored at the same time; exact bounds at 1e-4."""
    rng = np.random.default_rng(m)
    trials = 20_000
    times = rng.exponential(size=(trials, m))
    observed = (times <= until).sum(axis=1).astype(float)
    expected = np.minimum(times, until).sum(axis=1)
    sums = poisson_events(observed, expected, np.full(trials, m))
    p = np.exp(sums.log_pvalues())
    for level in (0.05, 0.01, 0.001):
        assert (p <= level).sum() <= binom.isf(1e-4, trials, level)


def test_third_cumulants_of_counts():
    mean = np.array([0.02, 1.0, 7.0, 80.0, 900.0])
    poisson_law = cg.models.Poisson(mean=mean)(n=5)
    np.testing.assert_allclose(
        third_cumulants(poisson_law, mean, np.sqrt(mean)), mean, rtol=2e-2
    )
    size = 4.0
    law = cg.models.NegativeBinomial(mean=mean, dispersion=1 / size)(n=5)
    exact = [float(nbinom.stats(size, size / (size + m), moments="s")) for m in mean]
    sd = np.sqrt(mean + mean**2 / size)
    np.testing.assert_allclose(
        third_cumulants(law, mean, sd), np.array(exact) * sd**3, rtol=2e-2
    )


def right_overdispersed(rng, by, size):
    sample = overdispersed(rng, by, 0.0)
    mean = 20.0 * np.exp(0.5 * sample["x"])
    sample["y"] = rng.poisson(mean * rng.gamma(1 / 0.3, 0.3, len(by)))
    return sample


def rare_counts(rng, by, size):
    x = rng.normal(size=len(by))
    mean = 0.1 * np.exp(0.5 * x)
    return {"model": cg.models.Poisson(mean=mean), "x": x, "y": rng.poisson(mean)}


def rare_class(rng, by, size):
    x = rng.normal(size=len(by))
    p = 0.03 * np.exp(0.5 * x).clip(0, 10)
    y = (rng.random(len(by)) < p).astype(int)
    return {"model": cg.probabilities(p), "x": x, "y": y}


@pytest.mark.parametrize(
    "kind",
    [
        normal,
        several,
        two_classes,
        three_classes,
        rare_class,
        counts,
        rare_counts,
        right_overdispersed,
        binomials,
        quantiles,
        intervals,
        events,
    ],
)
@pytest.mark.parametrize("rows", [2, 7, 50])
def test_groups_of_a_right_model_keep_their_level(kind, rows):
    """p-values of groups, not adjusted for their number; exact bounds at 1e-4."""
    trials = 300 if rows < 10 else 120  # benchmarks/named_groups.py has more
    rng = np.random.default_rng(rows)
    by = np.repeat(np.arange(trials), rows)
    sample = kind(rng, by, 0.0)
    adjusted, p = pvalues_of(by=by, **sample)
    # Holm's first step multiplies the smallest p-value by the number of groups.
    assert adjusted.min() > 0.01
    for level in (0.2, 0.05, 0.01):
        assert (p <= level).sum() <= binom.isf(1e-4, trials, level)
    if kind is normal:
        assert (p <= 0.05).sum() >= binom.ppf(1e-4, trials, 0.03)  # and are not idle
