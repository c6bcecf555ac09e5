"""Behaviour of the tests as a whole: results, reproducibility, optimisation."""

import json
import pickle
import tracemalloc

import numpy as np
import pytest

import condgof as cg
import oracle
from condgof.errors import InputError, UnsupportedModelError
from condgof.result import pvalue_number
from condgof.sample import Seed, Use
from condgof.study import problem


@pytest.fixture(scope="module")
def hgm():
    case = problem("hgm")
    x, y = case.draw(400, np.random.default_rng(0))
    return case.p, x, y


TESTS = {
    "kcsd": lambda m, x, y, **k: cg.kcsd(m, x, y, **k),
    "fscd-optimize": lambda m, x, y, **k: cg.fscd(m, x, y, **k),
    "fscd-random": lambda m, x, y, **k: cg.fscd(m, x, y, locations="random", **k),
    "fscd-given": lambda m, x, y, **k: cg.fscd(m, x, y, locations=x[:3], **k),
    "ksd": lambda m, x, y, **k: cg.ksd(cg.from_scores(m(x).score(y)), y, **k),
    "fssd": lambda m, x, y, **k: cg.fssd(
        cg.from_scores(m(x).score(y)), y, **{n: v for n, v in k.items() if n != "memory"}
    ),
}


@pytest.mark.parametrize("name", TESTS)
class TestEveryTest:
    @pytest.mark.parametrize("null", ["wild", "multinomial"])
    def test_the_same_on_any_threads_and_budget(self, name, null, hgm):
        run = TESTS[name]
        first = run(*hgm, rng=7, null=null, engine=1, n_boot=99)
        for options in ({"engine": 2}, {"engine": 5}, {"memory": 300_000}):
            other = run(*hgm, rng=7, null=null, n_boot=99, **options)
            assert other.pvalue == first.pvalue
            assert other.statistic == pytest.approx(first.statistic, rel=1e-8)
        assert run(*hgm, rng=8, null=null, n_boot=99).null_distribution.tolist() != (
            first.null_distribution.tolist()
        )

    def test_the_result(self, name, hgm):
        result = TESTS[name](*hgm, rng=7, n_boot=99)
        assert result.method == name.split("-")[0]
        assert 0 < result.pvalue <= 1
        assert result.pvalue * 100 == pytest.approx(round(result.pvalue * 100))
        assert len(result.null_distribution) == 99
        assert result.solver == "exact"
        assert len(repr(result)) < 120
        assert (
            f"p-value    {pvalue_number(result.pvalue, result.pvalue_floor)} (99 wild"
            " bootstrap draws)" in str(result)
        )
        assert json.loads(json.dumps(result.to_dict()))["pvalue"] == result.pvalue
        with pytest.raises(ValueError, match="read-only"):
            result.null_distribution[0] = 1.0
        with pytest.raises(AttributeError):
            result.pvalue = 0.0
        with pytest.raises(TypeError):
            result.details["n_train"] = 0
        copy = pickle.loads(pickle.dumps(result))
        assert copy.pvalue == result.pvalue
        assert copy != result
        assert not copy.null_distribution.flags.writeable
        assert copy.details == result.details


@pytest.mark.parametrize("name", ["kcsd", "fscd-random"])
def test_memory_stays_in_the_budget(name):
    """No n×n array (128 MB here), and no more than the budget beyond the data."""
    case = problem("qgm")
    x, y = case.draw(4000, np.random.default_rng(0))
    budget = 16 * 2**20
    TESTS[name](case.p, x[:50], y[:50], rng=0, n_boot=5)  # imports are not counted
    tracemalloc.start()
    TESTS[name](case.p, x, y, rng=0, n_boot=500, engine=2, memory=budget, solver="exact")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < budget + 40 * x.nbytes + 8 * 500 * 20


def test_reject():
    result = cg.GofResult(statistic=1.0, pvalue=0.05, method="kcsd", n=10)
    assert result.reject()
    assert not result.reject(0.049)
    for alpha in (0.0, 1.0, -1, np.nan):
        with pytest.raises(InputError, match="alpha"):
            result.reject(alpha)


class TestOptimize:
    def test_it_improves_and_reports(self, hgm):
        result = cg.fscd(*hgm, rng=0, n_locations=2)
        details = result.details
        assert details["criterion_after"] > details["criterion_before"]
        assert details["n_train"] == 120
        assert result.n == 280
        assert result.locations.shape == (2, 3)
        assert details["bandwidth_x"] == result.kernel_x.bandwidth
        assert details["bandwidth_y"] == result.kernel_y.bandwidth

    def test_the_criterion_is_that_of_the_definition(self, hgm):
        model, x, y = hgm
        train = np.sort(Seed.of(0).stream(Use.SPLIT).permutation(400)[:120])
        result = cg.fscd(*hgm, rng=0, n_locations=2)
        sigma_x = result.kernel_x.bandwidth
        sigma_y = result.kernel_y.bandwidth
        h = oracle.stein_h(
            y[train], model(x[train]).score(y[train]), oracle.gaussian, sigma_y
        )
        v = result.locations
        matrix = oracle.finite_matrix(x[train], h, v, oracle.gaussian, sigma_x, 1)
        assert result.details["criterion_after"] == pytest.approx(
            oracle.criterion(matrix), rel=1e-9
        )

    def test_numbers_are_left_alone_and_medians_bounded(self, hgm):
        fixed = cg.fscd(*hgm, rng=0, kernel_x=cg.Gaussian(1.5), kernel_y=cg.Gaussian(2.5))
        assert fixed.kernel_x.bandwidth == 1.5
        assert fixed.kernel_y.bandwidth == 2.5
        for kernel in (cg.IMQ(), cg.Matern52()):
            free = cg.fscd(*hgm, rng=0, kernel_x=kernel, kernel_y=kernel)
            medians = cg.kcsd(*hgm, rng=0, kernel_x=kernel, kernel_y=kernel, n_boot=1)
            for used, median in (
                (free.kernel_x, medians.kernel_x),
                (free.kernel_y, medians.kernel_y),
            ):
                assert 0.3 < used.bandwidth / median.bandwidth < 4

    def test_locations_stay_near_the_data(self, hgm):
        _, x, _ = hgm
        locations = cg.fscd(*hgm, rng=3).locations
        assert (locations >= x.min(axis=0)).all()
        assert (locations <= x.max(axis=0)).all()

    def test_bound_models_are_split_with_the_sample(self, hgm):
        model, x, y = hgm
        mean, std = model(x).mean_std()
        functional = cg.fscd(model, x, y, rng=0)
        bound = cg.fscd((mean, std), x, y, rng=0)
        scores = cg.fscd(cg.from_scores(model(x).score(y)), x, y, rng=0)
        assert functional.pvalue == bound.pvalue == scores.pvalue
        assert functional.statistic == pytest.approx(bound.statistic, rel=1e-12)

    def test_more_locations_than_training_rows(self, hgm):
        model, x, y = hgm
        assert cg.fscd(model, x[:30], y[:30], n_locations=12, rng=0).locations.shape == (
            12,
            3,
        )

    def test_the_training_part_is_bounded(self):
        case = problem("qgm")
        x, y = case.draw(8000, np.random.default_rng(0))
        result = cg.fscd(case.p, x, y, rng=0, n_locations=1, n_boot=20)
        assert result.details["n_train"] == 2000
        assert result.n == 6000

    def test_starts_in_parallel_change_nothing(self):
        case = problem("hgm")
        x, y = case.draw(
            4000, np.random.default_rng(0)
        )  # 1,200 rows to train on: starts on threads
        one, two = (cg.fscd(case.p, x, y, rng=0, n_boot=50, engine=k) for k in (1, 2))
        np.testing.assert_array_equal(one.locations, two.locations)
        assert one.details == two.details

    def test_ties_in_x_do_not_make_one_place_of_five(self):
        rng = np.random.default_rng(0)
        x = rng.integers(0, 8, 300).astype(float)
        y = x + (1 + (x == 5)) * rng.normal(size=300)
        result = cg.fscd((x, np.ones(300)), x, y, rng=0)
        assert len(np.unique(result.locations.round(6))) > 1

    def test_a_shift_of_x_changes_nothing(self, hgm):
        model, x, y = hgm
        s = model(x).score(y)
        for kernel in (cg.Gaussian(), cg.Matern12()):
            plain = cg.fscd(cg.from_scores(s), x, y, rng=0, kernel_x=kernel, n_boot=50)
            moved = cg.fscd(
                cg.from_scores(s), x + 2.0**20, y, rng=0, kernel_x=kernel, n_boot=50
            )
            assert moved.details["criterion_before"] == pytest.approx(
                plain.details["criterion_before"], rel=1e-6
            )

    def test_products_and_constant_columns(self, hgm):
        model, x, y = hgm
        kernel = cg.Gaussian().on(0, 2) * cg.Matern12(1.0).on(1)
        result = cg.fscd(model, x, y, rng=0, kernel_x=kernel, n_locations=2)
        assert result.kernel_x.factors[1].kernel == cg.Matern12(1.0)
        wide = np.column_stack([x, np.full(len(x), 2.0)])
        bound = cg.from_scores(model(x).score(y))
        result = cg.fscd(bound, wide, y, rng=0, n_locations=2)
        np.testing.assert_array_equal(result.locations[:, 3], 2.0)


class TestFssd:
    Y = np.random.default_rng(0).standard_t(3, size=(1500, 2))

    def test_optimised_and_random(self):
        model = cg.models.Normal(mean=[[0.0, 0.0]], std=1.0)
        result = cg.fssd(model, self.Y, rng=0)
        assert result.reject(0.01)
        assert result.details["criterion_after"] > result.details["criterion_before"]
        assert result.locations.shape == (5, 2)
        assert cg.fssd(model, self.Y, locations="random", rng=0).n == 1500
        fixed = cg.fssd(model, self.Y, kernel_y=cg.IMQ(1.3), rng=0)
        assert fixed.kernel_y == cg.IMQ(1.3)

    def test_many_rows_are_gathered_in_blocks(self):
        y = np.random.default_rng(0).normal(size=(6000, 2))
        at = y[:3]
        s = -1.1 * y
        result = cg.fssd(
            cg.from_scores(s), y, locations=at, kernel_y=cg.Gaussian(1.0), rng=0
        )
        near = np.exp(-0.5 * np.square(y[:, None] - at).sum(axis=2))[:, :, None]
        tau = (near * (s[:, None] - (y[:, None] - at))).reshape(len(y), -1)
        wanted = (np.square(tau.sum(axis=0)).sum() - np.square(tau).sum()) / (
            6 * (len(y) - 1)
        )
        assert result.statistic == pytest.approx(wanted, rel=1e-9)
        assert result.details["blocks"] <= 2048
        few = cg.fssd(
            cg.from_scores(s[:3000]),
            y[:3000],
            locations=at,
            kernel_y=cg.Gaussian(1.0),
            rng=0,
        )
        spread = few.null_distribution.std()  # of the limit, which does not depend on n
        assert result.null_distribution.std() == pytest.approx(spread, rel=0.15)

    def test_units_do_not_matter(self):
        """Optimised in units of the bandwidth: millimetres do as well as metres."""
        plain = cg.fssd(cg.models.Normal(mean=[[0.0, 0.0]], std=1.0), self.Y, rng=0)
        milli = cg.fssd(cg.models.Normal(mean=[[0.0, 0.0]], std=1e3), 1e3 * self.Y, rng=0)
        np.testing.assert_allclose(milli.locations, 1e3 * plain.locations, rtol=1e-4)
        assert milli.pvalue == plain.pvalue

    @pytest.mark.parametrize(
        ("model", "seen"),
        [
            (cg.models.Exponential(1.0), r"log\(y - low\)"),
            (
                cg.from_draws(np.random.default_rng(1).exponential(size=(200, 50))),
                "normal scores",
            ),
        ],
        ids=["bounded", "without a score"],
    )
    def test_y_is_compared_as_it_is_or_not_at_all(self, model, seen):
        """Locations are points of y: the scores of something else have no place there."""
        y = np.random.default_rng(0).exponential(size=200)
        with pytest.raises(UnsupportedModelError, match=f"is compared as {seen}.* Use ksd"):
            cg.fssd(model, y, rng=0)
        assert not cg.ksd(model, y, rng=0).reject(0.01)


def test_random_locations_follow_a_gaussian_fitted_to_x():
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal([5.0, -3.0], [[2.0, 1.2], [1.2, 1.0]], size=2000)
    y = rng.normal(size=2000)
    result = cg.fscd(
        cg.from_scores(np.ones(2000)),
        x,
        y,
        locations="random",
        n_locations=3000,
        n_boot=1,
        rng=0,
        kernel_x=cg.Gaussian(1.0),
    )
    np.testing.assert_allclose(result.locations.mean(axis=0), x.mean(axis=0), atol=0.15)
    np.testing.assert_allclose(np.cov(result.locations.T), np.cov(x.T), atol=0.2)


def test_tiny_samples_tie_with_their_own_statistic():
    """With three rows a quarter of all signs give the statistic itself: p counts them."""
    model = cg.from_scores([3.0, 2.5, 2.0])
    result = cg.kcsd(model, [0.0, 0.1, 0.2], [1.0, 1.5, 2.0], n_boot=4000, rng=0)
    equal = (result.null_distribution == result.statistic).mean()
    assert 0.2 < equal < 0.3
    assert result.pvalue >= equal


def test_a_map_of_locations_in_groups(hgm):
    model, x, y = hgm
    at = np.random.default_rng(1).normal(size=(500, 3))
    for function in (cg.witness, cg.power_criterion):
        whole = function(model, x, y, at=at)
        small = function(model, x, y, at=at, memory=400_000, engine=2)
        np.testing.assert_allclose(small, whole, rtol=1e-9, atol=1e-14)
    sets = at[:300].reshape(100, 3, 3)
    np.testing.assert_allclose(
        cg.power_criterion(model, x, y, at=sets, memory=400_000),
        cg.power_criterion(model, x, y, at=sets),
        rtol=1e-9,
    )
