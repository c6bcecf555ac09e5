"""Zheng's test: values against loops, the same for any budget, level, clear refusals."""

import json
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom, norm

import condgof as cg
import oracle
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    NumericalError,
    ShapeError,
    UnsupportedModelError,
)
from condgof.laws import Law, Normal, NormalMixture, StudentT
from condgof.null import sign_weights
from condgof.result import pvalue_number
from condgof.sample import Seed
from condgof.study import problem
from levels import assert_uniform
from own_laws import OfX, model_of

LINE = Normal(mean=lambda x: x.sum(axis=1), std=1.5)


class Logistic(OfX):
    """A law that has nothing but a cdf, and no grid of its own."""

    def cdf(self, y):
        x = self.x
        self.more[0].append((type(y), np.shape(y), type(x), np.shape(x)))
        mean = np.asarray(x, dtype=float).reshape(len(x), -1).sum(axis=1)
        return 1 / (1 + np.exp(-(np.asarray(y).reshape(-1) - mean)))


def draw(n=23, d_x=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, (n, d_x))
    return x, x.sum(axis=1) + rng.normal(size=n)


MODELS = {
    "normal": LINE,
    "normal-cov": Normal(mean=lambda x: x.sum(axis=1), cov=[[2.0]]),
    "mixture": NormalMixture(
        [0.3, 0.7], lambda x: np.column_stack([x[:, 0], x.sum(axis=1)]), [0.5, 2.0]
    ),
    "student": StudentT(df=4.0, loc=lambda x: x[:, 0], scale=lambda x: 1 + x[:, 1] ** 2),
    "constant": Normal(mean=6.0, std=3.0),
    "logistic": model_of(Logistic, []),
}


@pytest.mark.parametrize("name", MODELS)
def test_values_and_draws(name):
    x, y = draw()
    y[4] = y[9]  # a tie counts as "at most" both ways
    model = MODELS[name]

    def cdf(value, i):
        return float(model(x[[i]]).cdf(np.array([value]))[0])

    product, A, B, T = oracle.zheng(x, y, cdf)
    result = cg.zheng(model, x, y, null="wild", n_boot=20, rng=5)
    np.testing.assert_allclose(result.statistic, T, rtol=1e-10)
    np.testing.assert_allclose(
        [result.details["A"], result.details["B"]], [A, B], rtol=1e-10
    )
    h = x.std(axis=0, ddof=1) * 23 ** (-1 / 24)
    np.testing.assert_allclose(result.details["bandwidths"], h, rtol=1e-12)
    signs = sign_weights(23, 20, Seed.of(5)).block(0, 23)
    draws = [oracle.wild_draw(product, s) / np.sqrt(B) for s in signs.T]
    np.testing.assert_allclose(result.null_distribution, draws, rtol=1e-9, atol=1e-12)
    assert result.pvalue == (1 + sum(d >= T for d in draws)) / 21
    normal = cg.zheng(model, x, y)
    assert normal.statistic == result.statistic
    assert normal.pvalue == pytest.approx(norm.sf(T), rel=1e-10)


@pytest.mark.parametrize("d_x", [1, 3])
def test_other_widths_of_x(d_x):
    x, y = draw(15, d_x)
    _, _, _, T = oracle.zheng(x, y, lambda v, i: norm.cdf(v, x[i].sum(), 1.5))
    assert cg.zheng(LINE, x, y).statistic == pytest.approx(T, rel=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_the_grid_is_the_cdf_of_all_pairs(name):
    x, y = draw(7)
    model = MODELS[name]
    for values in (y[:5], y[:5, None]):
        grid = model(x).cdf_grid(values)
        assert grid.shape == (7, 5)
        for i in range(7):
            np.testing.assert_allclose(grid[i], model(x[[i] * 5]).cdf(y[:5]), rtol=1e-13)


@pytest.mark.parametrize("null", ["normal", "wild"])
def test_the_same_on_any_threads(null):
    case = problem("hgm")
    x, y = case.draw(1200, np.random.default_rng(0))
    first = cg.zheng(case.p, x, y, rng=7, null=null, n_boot=100, engine=1)
    for engine in (2, 5):
        other = cg.zheng(case.p, x, y, rng=7, null=null, n_boot=100, engine=engine)
        assert (other.pvalue, other.statistic) == (first.pvalue, first.statistic)
    assert first.null_distribution is None or first.null_distribution.shape == (100,)


def test_the_model_may_be_asked_in_pieces(monkeypatch):
    x, y = draw(60)
    whole = cg.zheng(model_of(Logistic, []), x, y)
    # Eight rows at a time.
    monkeypatch.setattr("condgof.methods._baselines.CDF_VALUES", 500)
    seen = []
    asked = cg.zheng(model_of(Logistic, seen), x, y)
    assert asked.statistic == pytest.approx(whole.statistic, rel=1e-12)
    assert {shape for _, shape, _, _ in seen} == {(480,), (240,)}


def test_memory_is_not_a_few_times_the_square():
    x, y = draw(1500)
    cg.zheng(LINE, x[:50], y[:50])  # imports are not counted
    tracemalloc.start()
    cg.zheng(LINE, x, y, engine=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 8 * 1500**2  # D alone has half of it


def test_rows_in_any_order():
    x, y = draw(50)
    order = np.random.default_rng(1).permutation(50)
    plain = cg.zheng(LINE, x, y)
    turned = cg.zheng(LINE, x[order], y[order])
    assert turned.statistic == pytest.approx(plain.statistic, rel=1e-10)
    mean = x.sum(axis=1)
    for rows in (slice(None), order):
        bound = cg.zheng((mean[rows], np.full(50, 1.5)), x[rows], y[rows])
        assert bound.statistic == pytest.approx(plain.statistic, rel=1e-10)


def test_units_and_shifts_of_x_do_not_matter():
    x, y = draw(50)
    bound = (x.sum(axis=1), np.full(50, 1.5))
    plain = cg.zheng(bound, x, y).statistic
    assert cg.zheng(bound, x * [1e3, 1e-4], y).statistic == pytest.approx(plain, rel=1e-9)
    assert cg.zheng(bound, x + 2.0**20, y).statistic == pytest.approx(plain, rel=1e-6)


def test_the_result():
    x, y = draw(40)
    normal = cg.zheng(LINE, x, y, rng=7)
    wild = cg.zheng(LINE, x, y, rng=7, null="wild", n_boot=99)
    assert (normal.method, normal.n, normal.null, normal.seed) == ("zheng", 40, "normal", 7)
    for name in ("kernel_x", "kernel_y", "null_distribution", "locations", "solver"):
        assert getattr(normal, name) is None
    assert f"p-value    {pvalue_number(normal.pvalue)} (normal limit)" in str(normal)
    assert (
        f"p-value    {pvalue_number(wild.pvalue, wild.pvalue_floor)} (99 wild bootstrap"
        " draws)" in str(wild)
    )
    assert json.loads(json.dumps(normal.to_dict()))["pvalue"] == normal.pvalue
    assert pickle.loads(pickle.dumps(normal)).details == normal.details
    assert wild.pvalue * 100 == pytest.approx(round(wild.pvalue * 100))


def test_tiny_samples_tie_with_their_own_statistic():
    result = cg.zheng(
        (np.zeros(3), np.ones(3)),
        [0.0, 0.1, 0.2],
        [1.0, 1.5, 2.0],
        null="wild",
        n_boot=4000,
    )
    equal = (result.null_distribution == result.statistic).mean()
    assert 0.2 < equal < 0.3
    assert result.pvalue >= equal


def test_never_zero_and_found_where_it_is_plain():
    x, y = draw(200)
    for null in ("normal", "wild"):
        wrong = cg.zheng(LINE, x, y + 30.0, null=null, rng=0, n_boot=199)
        assert wrong.reject(0.01)
        assert 0 < wrong.pvalue <= 1 / 200
        true = cg.zheng(
            Normal(mean=lambda x: x.sum(axis=1), std=1.0), x, y, null=null, rng=0
        )
        assert not true.reject(0.01)
    case = problem("qgm")
    found = sum(
        cg.zheng(case.p, *case.draw(400, np.random.default_rng(t)), engine=1).reject()
        for t in range(20)
    )
    assert found >= 8


@pytest.mark.parametrize("name", ["lgm", "true-hetero", "true-mixture", "true-student"])
def test_level(name):
    """The normal limit is rough at small alpha (docs/calibration.md); signs are not."""
    case = problem(name)
    trials = 40
    wild = []
    normal = []
    for trial in range(trials):
        x, y = case.draw(60, np.random.default_rng([trial, 60]))
        result = cg.zheng(case.p, x, y, null="wild", n_boot=199, rng=trial, engine=1)
        wild.append(result.pvalue)
        normal.append(norm.sf(result.statistic))
    assert_uniform(wild, n_boot=199)
    assert sum(p <= 0.05 for p in normal) <= binom.isf(1e-4, trials, 0.05)


class TestModels:
    @pytest.mark.parametrize("shape_x", [(30,), (30, 1)])
    @pytest.mark.parametrize("shape_y", [(30,), (30, 1)])
    def test_x_and_y_come_as_they_were_passed(self, shape_x, shape_y):
        x, y = draw(30, d_x=1)
        seen = []
        cg.zheng(model_of(Logistic, seen), x.reshape(shape_x), y.reshape(shape_y))
        assert seen == [(np.ndarray, (900, *shape_y[1:]), np.ndarray, (900, *shape_x[1:]))]

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames_stay_frames(self, frame):
        x, y = draw(30)
        data = frame({"a": x[:, 0], "b": x[:, 1]})
        seen = []
        result = cg.zheng(model_of(Logistic, seen), data, y)
        assert {kind for _, _, kind, _ in seen} == {frame}
        plain = cg.zheng(model_of(Logistic, []), x, y)
        assert result.statistic == pytest.approx(plain.statistic, rel=1e-12)

    def test_a_bound_model_without_a_grid(self):
        class Bound(Law):
            def __init__(self, mean):
                self.mean = mean

            @property
            def rows(self):
                return len(self.mean)

            def take(self, rows):
                return Bound(self.mean[rows])

            def cdf(self, y):
                return norm.cdf(y, self.mean, 1.5)

        x, y = draw(30)
        bound = cg.zheng(Bound(x.sum(axis=1)), x, y)
        assert bound.statistic == pytest.approx(cg.zheng(LINE, x, y).statistic, rel=1e-10)

    def test_a_subclass_with_a_cdf_of_its_own_is_believed(self):
        class Shifted(Normal):
            def cdf(self, y):
                return super().cdf(np.asarray(y) - 1.0)

        x, y = draw(30)
        shifted = cg.zheng(Shifted(mean=lambda x: x.sum(axis=1), std=1.0), x, y)
        wanted = cg.zheng(Normal(mean=lambda x: x.sum(axis=1) + 1.0, std=1.0), x, y)
        assert shifted.statistic == pytest.approx(wanted.statistic, rel=1e-10)

    def test_constant_columns_are_left_out(self):
        x, y = draw(30)
        bound = (x.sum(axis=1), np.ones(30))
        wide = np.column_stack([x[:, 0], np.full(30, 7.0), x[:, 1]])
        plain = cg.zheng(bound, x, y)
        result = cg.zheng(bound, wide, y)
        assert result.statistic == pytest.approx(plain.statistic, rel=1e-12)
        a, none, b = result.details["bandwidths"]
        assert ((a, b), none) == (plain.details["bandwidths"], None)
        assert result.details["notes"] == (
            "left out of the kernel, because constant: 'x2'",
        )

    def test_categorical_columns_multiply_k(self):
        x, y = draw(12, d_x=1)
        kind = np.array(["u", "v", "w"] * 4)
        bound = (x[:, 0], np.ones(12))
        result = cg.zheng(bound, pd.DataFrame({"a": x[:, 0], "kind": kind}), y)
        product, *_ = oracle.zheng(x, y, lambda v, i: norm.cdf(v, x[i, 0]))
        product = product * np.where(kind[:, None] == kind, 1.0, 0.5)
        off = product[~np.eye(12, dtype=bool)]
        wanted = off.sum() / 11 / np.sqrt(2 * (off**2).sum() / (12 * 11))
        assert result.statistic == pytest.approx(wanted, rel=1e-10)
        assert result.details["bandwidths"][1] is None
        only = cg.zheng(bound, pd.DataFrame({"kind": kind}), y)
        assert only.details["bandwidths"] == (None,)

    def test_rounding_of_a_cdf_is_forgiven(self):
        class Single(OfX):
            def cdf(self, y):
                return norm.cdf(y, self.x.sum(axis=1), 1.5).astype(np.float32)[:, None] * (
                    1 + 1e-7
                )

        x, y = draw(30)
        assert cg.zheng(model_of(Single), x, y).statistic == pytest.approx(
            cg.zheng(LINE, x, y).statistic, rel=1e-4
        )


class Answer(OfX):
    def cdf(self, y):
        return self.more[0](norm.cdf(y, self.x.sum(axis=1), 1.5))


def spoil(value):
    def change(values):
        values[20 * 3 + 2] = value  # row 3 of x, at the third y
        return values

    return change


class TestErrors:
    def test_no_cdf(self):
        with pytest.raises(
            UnsupportedModelError,
            match=r"Scores has no cdf. Tests that can take it: adaptive, fscd, fssd, kcsd",
        ):
            cg.zheng(cg.from_scores(np.ones(20)), *draw(20))

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            (spoil(1.2), InputError, r"cdf is 1.2 given row 3 of x .* between 0 and 1"),
            (spoil(-0.1), InputError, r"cdf is -0.1 given row 3 of x .* between 0 and 1"),
            (spoil(np.nan), NonFiniteError, r"cdf is nan given row 3 of x"),
            (spoil(np.inf), NonFiniteError, r"cdf is inf given row 3 of x"),
            (
                lambda v: v[:20],
                ShapeError,
                r"shape \(400, 1\) or \(400,\), one number for each row, got \(20,\)",
            ),
            (lambda v: v.reshape(20, 20), ShapeError, r"got \(20, 20\)"),
            (
                lambda v: v.astype(str),
                InputTypeError,
                "What cdf returns must be real numbers",
            ),
        ],
    )
    def test_what_a_cdf_may_not_return(self, change, error, message):
        with pytest.raises(error, match=message):
            cg.zheng(model_of(Answer, change), *draw(20))

    def test_one_column_of_y(self):
        x, _ = draw(20)
        with pytest.raises(ShapeError, match=r"one column of y, and y has 2.* kcsd"):
            cg.zheng(LINE, x, x)

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"null": "multinomial"}, InputError, "null must be one of 'normal', 'wild'"),
            ({"null": None}, InputError, "null must be one of"),
            ({"n_boot": 0, "null": "wild"}, InputError, "n_boot must be at least 1"),
            ({"n_boot": 2.5}, InputTypeError, "n_boot must be an integer"),
            ({"engine": 0}, InputError, "engine"),
            ({"rng": "a"}, InputTypeError, "rng"),
        ],
    )
    def test_bad_options(self, change, error, message):
        with pytest.raises(error, match=message):
            cg.zheng(LINE, *draw(20), **change)

    def test_rows(self):
        with pytest.raises(ShapeError, match="bound to 5 rows and the sample has 20"):
            cg.zheng((np.zeros(5), np.ones(5)), *draw(20))

    def test_nothing_near_enough(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(20, 3000))
        with pytest.raises(NumericalError, match="0/0"):
            cg.zheng((np.zeros(20), np.ones(20)), x, rng.normal(size=20))
