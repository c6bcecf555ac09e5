"""MMD: values against loops, draws against permuted rows, exact level, clear refusals."""

import json
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest

import condgof as cg
import oracle
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    UnsupportedModelError,
)
from condgof.laws import Normal
from condgof.null import permutation_weights
from condgof.result import pvalue_number
from condgof.sample import Seed, Use
from condgof.study import problem
from levels import assert_uniform
from own_laws import OfX, model_of

LINE = Normal(mean=lambda x: x.sum(axis=1), std=1.0)


def draw(n=23, d_x=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, (n, d_x))
    return x, x.sum(axis=1) + rng.normal(size=n)


def by_hand(model, x, y, seed):
    """The two groups of rows, made as the docstring says."""
    n = len(x)
    order = Seed.of(seed).stream(Use.SPLIT).permutation(n)
    first = np.sort(order[: (n + 1) // 2])
    second = np.sort(order[(n + 1) // 2 :])
    new = model(x[second]).sample(Seed.of(seed).stream(Use.MODEL_SAMPLE))
    values = np.concatenate([y.reshape(n, -1)[first], new])
    return x[np.concatenate([first, second])], values, np.arange(n) < len(first)


@pytest.mark.parametrize("n", [4, 5, 22, 23])
@pytest.mark.parametrize(
    ("name_x", "name_y"), [("Gaussian", "Gaussian"), ("IMQ", "Matern12")]
)
def test_values_and_draws(n, name_x, name_y):
    x, y = draw(n)
    kernels = {
        "kernel_x": getattr(cg, name_x)("median"),
        "kernel_y": getattr(cg, name_y)("median"),
    }
    result = cg.mmd(LINE, x, y, rng=5, n_boot=20, **kernels)
    pooled_x, pooled_y, first = by_hand(LINE, x, y, 5)
    sigmas = oracle.median_distance(pooled_x), oracle.median_distance(pooled_y)
    matrix = oracle.gram(pooled_x, pooled_x, oracle.KERNELS[name_x], sigmas[0])
    matrix *= oracle.gram(pooled_y, pooled_y, oracle.KERNELS[name_y], sigmas[1])
    wanted = oracle.mmd2(matrix, first)
    np.testing.assert_allclose(result.statistic, n / 2 * wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.details["mmd2"], wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        [result.kernel_x.bandwidth, result.kernel_y.bandwidth], sigmas
    )
    labels = permutation_weights(n, len(first[first]), 20, Seed.of(5)).block(0, n) > 0
    assert (labels[:, 0] == first).all()
    draws = [n / 2 * oracle.mmd2(matrix, column) for column in labels[:, 1:].T]
    np.testing.assert_allclose(result.null_distribution, draws, rtol=1e-9, atol=1e-12)
    above = sum(draw >= n / 2 * wanted - 1e-12 for draw in draws)
    assert result.pvalue == (1 + above) / 21


def test_two_columns_of_y_and_a_product_on_x():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 3))
    y = rng.normal(size=(20, 2))
    model = Normal(mean=lambda x: x[:, :2], std=[[1.0, 2.0]])
    kernel = cg.Gaussian(1.5).on(2, 0) * cg.Matern12(0.7).on(1)
    result = cg.mmd(
        model, x, y, rng=1, n_boot=1, kernel_x=kernel, kernel_y=cg.Gaussian(1.1)
    )
    px, py, first = by_hand(model, x, y, 1)
    matrix = oracle.gram(px[:, [2, 0]], px[:, [2, 0]], oracle.gaussian, 1.5)
    matrix *= oracle.gram(px[:, [1]], px[:, [1]], oracle.matern12, 0.7)
    matrix *= oracle.gram(py, py, oracle.gaussian, 1.1)
    np.testing.assert_allclose(result.statistic, 10 * oracle.mmd2(matrix, first), rtol=1e-9)


def test_scale_x_divides_by_standard_deviations():
    x, y = draw(40)
    spread = x.std(axis=0, ddof=1)
    plain = cg.mmd(
        Normal(mean=lambda x: x @ spread, std=1.0), x / spread, y, rng=0, n_boot=20
    )
    scaled = cg.mmd(LINE, x, y, rng=0, n_boot=20, scale_x="std")
    assert scaled.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert scaled.pvalue == plain.pvalue


@pytest.mark.parametrize("n", [700, 701])
def test_the_same_on_any_threads_and_budget(n):
    case = problem("hgm")
    x, y = case.draw(n, np.random.default_rng(0))
    first = cg.mmd(case.p, x, y, rng=7, engine=1, n_boot=300)
    for options in (
        {"engine": 2},
        {"engine": 5},
        {"memory": 300_000},
        {"memory": 4_000_000},
    ):
        other = cg.mmd(case.p, x, y, rng=7, n_boot=300, **options)
        assert other.pvalue == first.pvalue
        assert other.statistic == pytest.approx(first.statistic, rel=1e-8)
    assert cg.mmd(case.p, x, y, rng=8, n_boot=300).statistic != first.statistic


def test_memory_stays_in_the_budget():
    """No n×n array (128 MB here)."""
    case = problem("qgm")
    x, y = case.draw(4000, np.random.default_rng(0))
    budget = 16 * 2**20
    cg.mmd(case.p, x[:50], y[:50], rng=0, n_boot=5)  # imports are not counted
    tracemalloc.start()
    kernels = {"kernel_x": cg.Gaussian(1.0), "kernel_y": cg.Gaussian(1.0)}
    cg.mmd(case.p, x, y, rng=0, n_boot=300, engine=2, memory=budget, **kernels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < budget + 60 * x.nbytes


def test_the_result():
    x, y = draw(41)
    result = cg.mmd(LINE, x, y, rng=7, n_boot=99)
    assert (result.method, result.n, result.null, result.seed) == (
        "mmd",
        41,
        "permutation",
        7,
    )
    assert (result.details["n1"], result.details["n2"]) == (21, 20)
    assert 0 < result.pvalue <= 1
    assert len(result.null_distribution) == 99
    assert (
        f"p-value    {pvalue_number(result.pvalue, result.pvalue_floor)} (99 permutation"
        " draws)" in str(result)
    )
    assert json.loads(json.dumps(result.to_dict()))["pvalue"] == result.pvalue
    assert pickle.loads(pickle.dumps(result)).details == result.details
    generator = np.random.default_rng(3)
    one, two = (cg.mmd(LINE, x, y, rng=generator, n_boot=99) for _ in range(2))
    assert one.statistic != two.statistic
    assert cg.mmd(LINE, x, y, rng=one.seed, n_boot=99).statistic == one.statistic


def test_tiny_samples_tie_with_their_own_statistic():
    """A third of the permutations of 2 + 2 rows give the same groups: p counts them."""
    x = np.array([0.0, 1.0, 2.0, 3.0])
    y = np.array([9.0, 1.0, -3.0, 4.0])
    for seed in range(5):
        result = cg.mmd((np.zeros(4), np.ones(4)), x, y, n_boot=2000, rng=seed)
        equal = (result.null_distribution == result.statistic).mean()
        assert 0.25 < equal < 0.42
        assert result.pvalue >= equal


def test_never_zero_and_found_where_it_is_plain():
    x, y = draw(100)
    wrong = cg.mmd(LINE, x, y + 10.0, rng=0, n_boot=199)
    assert wrong.pvalue == 1 / 200
    spread = cg.mmd(Normal(mean=lambda x: x.sum(axis=1), std=5.0), x, y, rng=0, n_boot=199)
    assert spread.reject(0.01)
    assert not cg.mmd(LINE, x, y, rng=0, n_boot=199).reject(0.01)


@pytest.mark.parametrize("name", ["true-hetero", "true-student"])
@pytest.mark.parametrize("n", [30, 31])
def test_level(name, n):
    case = problem(name)
    pvalues = []
    for trial in range(40):
        x, y = case.draw(n, np.random.default_rng([trial, n]))
        pvalues.append(cg.mmd(case.p, x, y, n_boot=199, rng=trial, engine=1).pvalue)
    assert_uniform(pvalues, n_boot=199)


class TestModels:
    def test_bound_and_functional_agree(self):
        x, y = draw(40)
        functional = cg.mmd(LINE, x, y, rng=2, n_boot=50)
        for model in ((x.sum(axis=1), np.ones(40)), cg.normal(mean=x.sum(axis=1), std=1.0)):
            bound = cg.mmd(model, x, y, rng=2, n_boot=50)
            assert bound.pvalue == functional.pvalue
            assert bound.statistic == pytest.approx(functional.statistic, rel=1e-12)

    def test_order_of_columns_does_not_matter(self):
        x, y = draw(40, d_x=3)
        plain = cg.mmd(LINE, x, y, rng=2, n_boot=50)
        turned = cg.mmd(LINE, x[:, [2, 0, 1]], y, rng=2, n_boot=50)
        assert turned.pvalue == plain.pvalue
        assert turned.statistic == pytest.approx(plain.statistic, rel=1e-9)

    def test_renumbering_rows_renumbers_the_split(self):
        """The split goes by row number; the order within the groups makes no difference."""
        x, y = draw(40)
        order = Seed.of(2).stream(Use.SPLIT).permutation(40)
        turned = np.arange(40)
        half = np.sort(order[:20])
        turned[half] = half[::-1]  # turns the first group around, and leaves the second
        plain = cg.mmd(LINE, x, y, rng=2, n_boot=50)
        again = cg.mmd(LINE, x[turned], y[turned], rng=2, n_boot=50)
        assert again.statistic == pytest.approx(plain.statistic, rel=1e-9)

    @pytest.mark.parametrize("shape", [(30,), (30, 1)])
    def test_x_comes_as_it_was_passed(self, shape):
        seen = []

        def mean(x):
            seen.append(x.shape)
            return x.reshape(-1)

        x, y = draw(30, d_x=1)
        cg.mmd(Normal(mean=mean, std=1.0), x.reshape(shape), y, rng=0, n_boot=9)
        assert set(seen) == {shape}

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames_stay_frames(self, frame):
        x, y = draw(60)
        data = frame(
            {"a": x[:, 0], "b": x[:, 1], "kind": ["u", "v"] * 30, "one": np.ones(60)}
        )
        kinds = set()

        def mean(x):
            kinds.add(type(x))
            return np.asarray(x["a"]) + np.asarray(x["b"])

        result = cg.mmd(Normal(mean=mean, std=1.0), data, y, rng=0, n_boot=99)
        assert kinds == {frame}
        assert "Categorical(0.5).on('kind')" in str(result.kernel_x)
        assert result.details["notes"] == (
            "left out of the kernel, because constant: 'one'",
        )
        assert not result.reject(0.01)

    def test_only_a_sampler_is_needed(self):
        class Coin(OfX):
            support = (0.0, 1.0)

            def sample(self, rng):
                return rng.integers(0, 2, len(self.x))

        rng = np.random.default_rng(0)
        x = rng.normal(size=80)
        assert not cg.mmd(
            model_of(Coin), x, rng.integers(0, 2, 80), rng=0, n_boot=199
        ).reject(0.01)
        assert cg.mmd(model_of(Coin), x, (x > 0) * 1, rng=0, n_boot=199).reject(0.01)


class Sampler(OfX):
    def sample(self, rng):
        return self.more[0](len(self.x))


class TestErrors:
    def test_no_sampler(self):
        x, y = draw(20)
        with pytest.raises(
            UnsupportedModelError,
            match=(
                r"Scores has no sample. Tests that can take it: adaptive, fscd, fssd, kcsd"
            ),
        ):
            cg.mmd(cg.from_scores(np.ones(20)), x, y)

    @pytest.mark.parametrize(
        ("make", "error", "message"),
        [
            (
                lambda n: np.zeros((n, 2)),
                ShapeError,
                r"\(10, 1\) or \(10,\), .* got \(10, 2\)",
            ),
            (
                lambda n: np.zeros((1, n)),
                ShapeError,
                r"What sample returns must have shape",
            ),
            (lambda n: np.zeros(20), ShapeError, r"got \(20,\)"),
            (
                lambda n: np.full(n, np.nan),
                NonFiniteError,
                "samples has NaN .* in 10 of 10 rows",
            ),
            (
                lambda n: np.full(n, "a"),
                InputTypeError,
                "What sample returns must be real numbers",
            ),
            (lambda n: None, InputTypeError, "What sample returns must be real numbers"),
        ],
    )
    def test_what_a_sampler_may_not_return(self, make, error, message):
        with pytest.raises(error, match=message):
            cg.mmd(model_of(Sampler, make), *draw(20))

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"n_boot": 0}, InputError, "n_boot must be at least 1"),
            ({"n_boot": 2.5}, InputTypeError, "n_boot must be an integer"),
            ({"kernel_x": 1.0}, InputTypeError, "kernel_x must be a kernel"),
            (
                {"kernel_y": cg.Categorical()},
                InputTypeError,
                "kernel_y must be a radial kernel",
            ),
            ({"scale_x": "max"}, InputError, "scale_x"),
            ({"memory": 1}, InputError, "memory"),
            ({"engine": 0}, InputError, "engine"),
            ({"rng": -1}, InputError, "rng"),
        ],
    )
    def test_bad_options(self, change, error, message):
        with pytest.raises(error, match=message):
            cg.mmd(LINE, *draw(20), **change)

    def test_rows(self):
        x, y = draw(20)
        with pytest.raises(ShapeError, match="bound to 5 rows and the sample has 20"):
            cg.mmd((np.zeros(5), np.ones(5)), x, y)
        with pytest.raises(ShapeError, match="needs 4 rows, got 3"):
            cg.mmd(LINE, x[:3], y[:3])
        with pytest.raises(ShapeError, match="x has 20 rows and y has 19"):
            cg.mmd(LINE, x, y[:-1])
        with pytest.raises(InputTypeError, match="y is missing"):
            cg.mmd(LINE, x, None)


@pytest.mark.parametrize("test", [cg.mmd, cg.zheng])
def test_sources_and_dask_arrays_are_refused(test, tmp_path):
    import dask.array as da

    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n2,4\n3,3\n4,1\n")
    with pytest.raises(InputTypeError, match=r"in memory.* kcsd, fscd and adaptive"):
        test(LINE, cg.scan(path, x="a", y="b"), None)
    x, y = draw(20)
    with pytest.raises(InputTypeError, match=r"in memory.* kcsd, fscd and adaptive"):
        test(LINE, da.from_array(x), da.from_array(y))
