"""Closed forms: one suite that every model must pass."""

import numpy as np
import pytest
from scipy import stats

import condgof as cg
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    UnsupportedModelError,
)
from condgof.models import Law, Normal, NormalMixture, StudentT

COV = np.array([[2.0, 0.6], [0.6, 1.0]])


def mixing(x):
    return np.column_stack([1 / (1 + np.exp(-x[:, 0])), 1 / (1 + np.exp(x[:, 0]))])


MODELS = {
    "normal": (Normal(mean=lambda x: x.sum(axis=1), std=lambda x: 1 + x[:, 0] ** 2), 1),
    "normal-constant": (Normal(mean=1.0, std=2.0), 1),
    "normal-2d": (Normal(mean=lambda x: x, std=[[1.0, 2.0]]), 2),
    "normal-cov": (Normal(mean=lambda x: x, cov=COV), 2),
    "normal-cov-of-x": (
        Normal(mean=[[0.0, 1.0]], cov=lambda x: COV * (1 + x[:, 0] ** 2)[:, None, None]),
        2,
    ),
    "mixture": (
        NormalMixture(mixing, lambda x: np.column_stack([x[:, 0], -x[:, 1]]), [0.5, 2.0]),
        1,
    ),
    "mixture-2d": (NormalMixture([0.3, 0.7], [[[0.0, 1.0], [2.0, -1.0]]], 1.5), 2),
    "student": (StudentT(df=4, loc=lambda x: x[:, 0], scale=lambda x: 1 + x[:, 1] ** 2), 1),
    "student-2d": (StudentT(df=[[3.0, 8.0]], loc=lambda x: x, scale=1.0), 2),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


@pytest.mark.parametrize("n", [1, 2, 50])
def test_shapes(model, n, rng):
    model, d_y = model
    x = rng.normal(size=(n, 2))
    y = model(x).sample(rng)
    assert y.shape == (n, d_y)
    assert model(x).score(y).shape == (n, d_y)
    assert model(x).log_prob(y).shape == (n,)
    mean, std = model(x).mean_std()
    assert mean.shape == std.shape == (n, d_y)
    assert model.rows is None
    assert model.take(np.array([0])) is model
    assert model(x).rows == n
    if d_y == 1:
        assert model(x).cdf(y).shape == (n,)
        np.testing.assert_array_equal(model(x).score(y[:, 0]), model(x).score(y))
    else:
        with pytest.raises(UnsupportedModelError, match="d_y = 1"):
            model(x).cdf(y)


def test_score_against_differences(model, rng):
    model, d_y = model
    x = rng.normal(size=(30, 2))
    y = model(x).sample(rng)
    for c in range(d_y):
        step = np.eye(d_y)[c] * 1e-6
        slope = (model(x).log_prob(y + step) - model(x).log_prob(y - step)) / 2e-6
        np.testing.assert_allclose(model(x).score(y)[:, c], slope, rtol=1e-5, atol=1e-7)


def test_density_integrates_to_one(model):
    model, d_y = model
    if d_y > 1:
        grid = np.linspace(-60, 60, 601)
        y = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
        cell = 0.2**2
    else:
        y = np.linspace(-2000, 2000, 800_001)[:, None]
        cell = 0.005
    x = np.broadcast_to([0.3, -0.4], (len(y), 2))
    tails = 2e-3 if isinstance(model, StudentT) else 1e-6
    assert np.exp(model(x).log_prob(y)).sum() * cell == pytest.approx(1.0, abs=tails)


def test_sampler_mean_and_cdf_agree(model):
    model, d_y = model
    n = 20_000
    x = np.broadcast_to([0.3, -0.4], (n, 2))
    y = model(x).sample(np.random.default_rng(0))
    mean, std = model(x).mean_std()
    z = (y - mean) / std
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=5 / np.sqrt(n))
    np.testing.assert_allclose(z.std(axis=0), 1.0, atol=0.05)
    if d_y == 1:
        assert stats.kstest(model(x).cdf(y), "uniform").pvalue > 1e-4


def test_the_same_draws_twice(model):
    model, _ = model
    x = np.zeros((5, 2))
    a, b = (model(x).sample(np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_mixture_far_in_the_tails():
    model = NormalMixture([0.5, 0.5], [-1.0, 1.0], 1.0)
    y = np.array([-1e6, 1e6])
    np.testing.assert_allclose(model.score(y)[:, 0], [1e6 - 1, -1e6 + 1])
    assert np.isfinite(model.log_prob(y)).all()


def test_a_weight_of_zero_is_a_component_that_is_not_there():
    model = NormalMixture([1.0, 0.0], [0.0, 1e3], 1.0)
    np.testing.assert_allclose(model.score(np.array([2.0])), [[-2.0]])


def test_bad_parameters(rng):
    x = rng.normal(size=(4, 2))
    y = rng.normal(size=4)
    with pytest.raises(InputError, match="exactly one of"):
        Normal(mean=0.0)
    with pytest.raises(InputError, match="exactly one of"):
        Normal(mean=0.0, std=1.0, cov=COV)
    with pytest.raises(InputError, match="std must be positive, and is not in 4 of 4 rows"):
        Normal(mean=0.0, std=-1.0)(x).score(y)
    with pytest.raises(InputError, match="positive definite"):
        Normal(mean=0.0, cov=-COV)(x).score(x)
    with pytest.raises(ShapeError, match="cov must be a matrix"):
        Normal(mean=0.0, cov=2.0)(x).score(y)
    with pytest.raises(
        ShapeError, match=r"mean must have shape \(4, 1\) or \(4,\), got \(4, 4\)"
    ):
        Normal(mean=lambda x: np.zeros((4, 4)), std=1.0)(x).score(y)
    with pytest.raises(ShapeError, match=r"bound to 3 rows and the sample has 4"):
        Normal(mean=np.zeros(3), std=1.0)(x)
    with pytest.raises(ShapeError, match=r"y has 4 rows, and the law of Normal has 3"):
        Normal(mean=np.zeros(3), std=1.0).score(y)
    with pytest.raises(
        InputTypeError, match=r"mean of Normal hold one row .* evaluate the function"
    ):
        Normal(mean=np.zeros(4), std=lambda x: 1.0 + x[:, 0] ** 2)
    with pytest.raises(InputTypeError, match=r"Normal is a model: call it with x"):
        Normal(mean=lambda x: x, std=1.0).score(y)
    with pytest.raises(NonFiniteError, match=r"mean has NaN .* the first in row 2"):
        Normal(mean=lambda x: np.array([0, 1, np.nan, 3]), std=1.0)(x).score(y)
    with pytest.raises(InputError, match="sum to 1"):
        NormalMixture([0.5, 0.6], [0.0, 1.0], 1.0)(x).score(y)
    with pytest.raises(InputError, match="one number for each component"):
        NormalMixture(1.0, [0.0, 1.0], 1.0)(x).score(y)
    with pytest.raises(UnsupportedModelError, match="df > 2"):
        StudentT(df=1.5)(x).mean_std()
    with pytest.raises(InputTypeError, match="mean must be real numbers"):
        Normal(mean="zero", std=1.0)


def test_bound_models_take_their_rows(rng):
    mean = rng.normal(size=6)
    std = rng.uniform(1, 2, 6)
    y = rng.normal(size=6)
    for model in (cg.normal(mean=mean, std=std), cg.as_model((mean, std))):
        assert model.rows == 6
        rows = np.array([4, 1])
        assert model.take(rows).rows == 2
        np.testing.assert_array_equal(model.take(rows).score(y[rows]), model.score(y)[rows])
        np.testing.assert_allclose(model.score(y)[:, 0], (mean - y) / std**2)
    scores = cg.from_scores(rng.normal(size=(6, 2)))
    y = rng.normal(size=(6, 2))
    np.testing.assert_array_equal(scores.take(rows).score(y[rows]), scores.score(y)[rows])
    cov = cg.normal(mean=np.zeros((6, 2)), cov=np.broadcast_to(COV, (6, 2, 2)))
    assert cov.take(rows).rows == 2
    assert cg.normal(mean=mean, std=2.0).rows == 6


def test_bad_bound_models():
    with pytest.raises(ShapeError, match="different numbers of rows: mean 2, std 3"):
        cg.normal(mean=[0.0, 1.0], std=[1.0, 1.0, 1.0])
    with pytest.raises(InputTypeError, match="single numbers, which say nothing of rows"):
        cg.normal(mean=0.0, std=1.0)
    with pytest.raises(InputError, match="exactly one"):
        cg.normal(mean=[0.0, 1.0])


class TestAsModel:
    def test_models_pass_through(self):
        model = Normal(mean=0.0, std=1.0)
        assert cg.as_model(model) is model

    def test_a_tuple_of_functions(self):
        model = cg.as_model((lambda x: x, lambda x: 1 + 0 * x))
        assert model(np.array([0.0])).score(np.array([1.0])) == -1

    @pytest.mark.parametrize(
        ("obj", "message"),
        [
            (lambda y, x: y, "from_score"),
            ((1, 2, 3), "this one has 3 parts"),
            ("model.pkl", "What works"),
            (object(), "What works"),
            (None, "What works"),
            (np.array(["a"]), "does not say what it is: shape \\(1,\\)"),
            ([1.0, 2.0], r"shape \(2,\) could be predictions, scores, draws"),
            (np.array(1.0), "a single ndarray"),
        ],
    )
    def test_what_cannot_be_a_model(self, obj, message):
        with pytest.raises(InputTypeError, match=message):
            cg.as_model(obj)

    def test_a_model_without_scores_says_what_it_can_take(self):
        class Nothing(Law):
            rows = 3

        class OnlySampler(Nothing):
            def sample(self, rng):
                return np.zeros((3, 1))

        with pytest.raises(
            UnsupportedModelError,
            match=r"OnlySampler has no score. Tests that can take it: mmd",
        ):
            cg.scores(OnlySampler(), [0.0, 1.0, 2.0], [1.0, 2.0, 4.0])
        with pytest.raises(UnsupportedModelError, match=r"Nothing has no score. No test"):
            cg.scores(Nothing(), [0.0, 1.0, 2.0], [1.0, 2.0, 4.0])
        with pytest.raises(
            UnsupportedModelError,
            match=r"no cdf. Tests that can take it: adaptive, fscd, fssd, kcsd, ksd",
        ):
            cg.from_score(lambda y, x: -y)(n=3).cdf(np.zeros(3))
