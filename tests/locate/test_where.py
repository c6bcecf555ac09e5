"""The search for places and their test, against slow versions."""

import numpy as np
import pandas as pd
import pytest

import condgof as cg
import oracle
from condgof.engine import as_engine
from condgof.kernels import Gaussian
from condgof.laws import as_model
from condgof.locate._bench import Bench, local_kernel
from condgof.locate._search import OVERLAP, Search, choose
from condgof.locate._where import examine, step_down
from condgof.methods._design import make_design
from condgof.methods._options import Options
from condgof.methods._rows import Scored, Units
from condgof.null import Dependence
from condgof.sample import Sample, Seed

OPTIONS = Options.of(solver="auto", null="auto", n_boot=2000, engine=1, memory=2**30)


def make_bench(x, y, model=None, rng=0):
    n = len(y)
    model = as_model((np.zeros(np.shape(y)), np.ones(np.shape(y))) if model is None else model)
    seed = Seed.of(rng)
    scored = Scored.of(model, Sample.of(x, y), Units("std", "auto"))
    assert scored.n == n
    return Bench.of(model, scored, make_design(scored, seed), Dependence(), seed, as_engine(1))


def look(bench, count=5):
    search, points = Search.of(bench), bench.rows.x
    values, _, near = search.at(bench.near, points)
    return search, choose(search, points, values, near, count)


@pytest.fixture(scope="module")
def bench():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((160, 2))
    return make_bench(x, (0.7 * (x[:, 0] > 0.5) + rng.standard_normal(160))[:, None])


def test_rows_are_split_once(bench):
    both = np.concatenate([bench.choosing, bench.testing])
    assert sorted(both) == list(range(160))
    assert len(bench.choosing) == 80


def test_criterion_is_that_of_the_definition(bench):
    """T̂/σ̂ at both bandwidths on y, pair by pair; the factor of h is of a tolerance of 1e-2."""
    some = bench.choosing
    x, y, s = bench.rows.x[some], bench.rows.y[some], bench.rows.scores[some]
    points, sigma = bench.rows.x[:4], bench.near.factors[0].kernel.sigma
    near = oracle.gram(x, points, oracle.gaussian, sigma)
    expected = []
    for bandwidth in (1.0, 4.0):
        h = oracle.stein_h(y, s, oracle.gaussian, bandwidth)
        np.fill_diagonal(h, 0.0)
        means = near * (h @ near) / (len(x) - 1)
        expected.append(means.mean(axis=0) / (2 * means.std(axis=0, ddof=1)))
    values, total, effective = Search.of(bench).at(bench.near, points)
    np.testing.assert_allclose(values, np.max(expected, axis=0), rtol=0.02, atol=1e-3)
    np.testing.assert_allclose(total, near.sum(axis=0))
    np.testing.assert_allclose(effective, near.sum(axis=0) ** 2 / (near**2).sum(axis=0))


def test_the_statistic_of_a_place_is_that_of_fscd(bench):
    """Ranked among sign draws of its own: p-values agree with `fscd` at the same location."""
    search, chosen = look(bench, 1)
    (place,) = examine(search, chosen, OPTIONS)
    rows, some = bench.rows, bench.testing
    kernel_x = place.kernel.shown(2)
    pvalues = [
        cg.fscd(
            cg.from_scores(rows.scores[some]), rows.x[some], rows.y[some], locations=place.point[None],
            kernel_x=kernel_x, kernel_y=Gaussian(bandwidth), n_boot=2000, rng=1,
        ).pvalue
        for bandwidth in (1.0, 4.0)
    ]  # fmt: skip
    assert min(pvalues) / 2 <= place.raw_pvalue <= 2.5 * min(pvalues) + 0.01
    assert place.pvalue == place.raw_pvalue  # of one place there is nothing to correct


def test_step_down_against_its_definition():
    rng = np.random.default_rng(1)
    values, draws = rng.normal(1.0, 1.0, 6), rng.normal(size=(6, 300))
    order, expected, running = np.argsort(-values), np.empty(6), 0.0
    for k, which in enumerate(order):
        rest = draws[order[k:]].max(axis=0)
        running = max(running, (1 + (rest >= values[which]).sum()) / 301)
        expected[which] = running
    np.testing.assert_array_equal(step_down(values, draws), expected)


def test_step_down_keeps_the_family_error():
    """Six dependent true hypotheses, 2,000 families: any rejection in about 5% (exact bounds)."""
    from scipy.stats import binom

    rng, rejected = np.random.default_rng(2), 0
    for _ in range(2000):
        z = rng.normal(size=(6, 100)) + rng.normal(size=100)
        rejected += step_down(z[:, 0], z[:, 1:]).min() <= 0.05
    assert binom.ppf(5e-5, 2000, 0.05) <= rejected <= binom.isf(5e-5, 2000, 0.05)


def test_places_are_apart_and_strongest_first():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((600, 3))
    search, chosen = look(make_bench(x, (0.4 + rng.standard_normal(600))[:, None]))
    assert len(chosen) >= 2
    assert [c.strength for c in chosen] == sorted((c.strength for c in chosen), reverse=True)
    weights = np.stack([c.kernel(search.x, c.point[None])[:, 0] for c in chosen])
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    cosines = weights @ weights.T - np.eye(len(chosen))
    assert cosines.max() <= OVERLAP + 1e-12


def test_columns_that_do_not_matter_are_left_out():
    right = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((1200, 6))
        y = (0.8 * (x[:, 2] > 1) + rng.standard_normal(1200))[:, None]
        _, chosen = look(make_bench(x, y, rng=seed), 1)
        columns = [i for factor in chosen[0].kernel.factors for i in factor.indices()]
        right += columns == [2] and chosen[0].point[2] > 0.5
    assert right >= 4


def test_bandwidths_of_some_columns_are_half_their_median():
    rng = np.random.default_rng(4)
    bench = make_bench(rng.standard_normal((400, 3)), rng.standard_normal((400, 1)))
    kernel = bench.kernel_on((1,))
    (factor,) = kernel.factors
    assert factor.indices() == [1]
    assert factor.kernel.sigma == pytest.approx(0.5 * 0.954, rel=0.15)  # median |x − x'| of N(0, 1)
    assert bench.kernel_on((0, 1, 2)) is bench.near


def test_levels_are_places_of_their_own_unless_they_are_too_many():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "a": rng.standard_normal(500),
            "city": rng.choice(["Oslo", "Rome"], 500),
            "street": [f"s{i % 100}" for i in range(500)],
        }
    )
    scored = Scored.of(as_model((np.zeros(500), np.ones(500))), Sample.of(frame, frame["a"]), Units())
    kernel, _ = scored.kernels(Gaussian("median"), Gaussian(1.0), Seed(0))
    near, said = local_kernel(kernel, scored.sample)
    assert said == ("not used to tell where, because most levels have too few rows: street",)
    assert [factor.indices() for factor in near.factors] == [[0], [1]]
    assert near(scored.x[:1], scored.x[scored.x[:, 1] != scored.x[0, 1]]).max() == 0.0
