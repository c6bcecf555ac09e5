"""Models from plain functions."""

import numpy as np
import pytest

import condgof as cg
from condgof.errors import DerivativeError, InputError, InputTypeError, NonFiniteError, ShapeError

X = np.linspace(-2, 2, 40)
Y = np.sin(X) + 0.3 * np.cos(17 * X)


def test_parameters_named_x_and_y_cannot_be_swapped():
    expected = X - Y
    for function in (lambda y, x: x - y, lambda x, y: x - y, lambda *, x, y: x - y):
        np.testing.assert_array_equal(cg.scores(cg.from_score(function), X, Y)[:, 0], expected)
    np.testing.assert_array_equal(
        cg.scores(cg.from_score(lambda a, b: b - a), X, Y)[:, 0],
        expected,  # by position: (y, x)
    )

    def with_default(y, x, scale=1.0):
        return (x - y) / scale

    np.testing.assert_array_equal(cg.scores(cg.from_score(with_default), X, Y)[:, 0], expected)


def test_a_function_of_y_alone_serves_the_unconditional_tests():
    result = cg.ksd(cg.from_score(lambda y: -y), Y, n_boot=10, rng=0)
    same = cg.ksd(cg.from_score(lambda value: -value), Y, n_boot=10, rng=0)
    assert result.statistic == same.statistic == cg.ksd(-Y, Y, n_boot=10, rng=0).statistic
    log_density = cg.from_log_prob(lambda y: -0.5 * y**2)
    assert cg.ksd(log_density, Y, n_boot=10, rng=0).statistic == pytest.approx(result.statistic)


def test_models_get_x_and_y_in_the_users_shape():
    seen = []

    def score(y, x):
        seen.append((np.shape(y), np.shape(x)))
        return -np.asarray(y)

    cg.scores(cg.from_score(score), X, Y)
    cg.scores(cg.from_score(score), X[:, None], Y[:, None])
    assert seen == [((40,), (40,)), ((40, 1), (40, 1))]


@pytest.mark.parametrize("shape", [(40, 40), (1, 40), (40, 2), (39,), ()])
def test_scores_of_a_wrong_shape(shape):
    with pytest.raises(ShapeError, match=r"scores must have shape \(40, 1\) or \(40,\)"):
        cg.scores(cg.from_score(lambda y, x: np.zeros(shape)), X, Y)


def test_scores_for_two_columns_must_have_two():
    y = np.column_stack([Y, Y**2])
    with pytest.raises(ShapeError, match=r"scores must have shape \(40, 2\), .* got \(40,\)"):
        cg.scores(np.zeros(40), X, y)


def test_a_model_that_returns_nan():
    def score(y, x):
        return np.where(y > 0.5, np.nan, -y)

    bad = np.flatnonzero(Y > 0.5)
    with pytest.raises(NonFiniteError, match=f"in {len(bad)} of 40 rows, the first in row {bad[0]}"):
        cg.scores(cg.from_score(score), X, Y)


class TestLogProb:
    def test_the_derivative_of_a_normal(self):
        model = cg.from_log_prob(lambda y, x: -0.5 * (y - x) ** 2 / 0.3**2)
        scores, errors = model.score_and_error(Y, X)
        truth = (X - Y) / 0.3**2
        np.testing.assert_allclose(scores[:, 0], truth, rtol=1e-8, atol=1e-8)
        assert (np.abs(scores[:, 0] - truth) <= 10 * errors[:, 0] + 1e-12).all()

    def test_several_columns(self, rng):
        y = rng.normal(size=(30, 3))
        x = rng.normal(size=(30, 2))
        truth = cg.models.Normal(mean=lambda x: x.sum(axis=1)[:, None] * np.ones(3), std=0.5)
        model = cg.from_log_prob(truth.log_prob)
        np.testing.assert_allclose(cg.scores(model, x, y), truth.score(y, x), rtol=1e-8, atol=1e-8)

    def test_much_narrower_than_the_spread_of_y(self):
        model = cg.from_log_prob(lambda y, x: -0.5 * ((y - np.sin(x)) / 1e-2) ** 2)
        np.testing.assert_allclose(
            cg.scores(model, X, Y)[:, 0], (np.sin(X) - Y) / 1e-4, rtol=1e-6, atol=1e-4
        )

    def test_heavy_tails(self):
        truth = cg.models.StudentT(df=2.0, loc=lambda x: x)
        y = X + np.random.default_rng(0).standard_t(2, size=40)
        model = cg.from_log_prob(truth.log_prob)
        np.testing.assert_allclose(cg.scores(model, X, y), truth.score(y, X), rtol=1e-7, atol=1e-9)

    def test_a_noisy_log_density_is_refused(self):
        noise = np.random.default_rng(0)

        def log_prob(y, x):
            return -0.5 * (y - x) ** 2 + 1e-3 * noise.normal(size=len(y))

        with pytest.raises(DerivativeError, match=r"not accurate in .* of 40 rows"):
            cg.scores(cg.from_log_prob(log_prob), X, Y)

    def test_a_histogram_is_refused(self):
        with pytest.raises(DerivativeError, match="flat at every row"):
            cg.scores(cg.from_log_prob(lambda y, x: np.zeros(len(y))), X, Y)

    def test_an_observation_with_density_zero(self):
        def log_prob(y, x):
            with np.errstate(divide="ignore"):
                return np.log((y > -0.5).astype(float)) - y

        bad = np.flatnonzero(Y <= -0.5)
        with pytest.raises(NonFiniteError, match=f"in {len(bad)} of 40 rows"):
            cg.scores(cg.from_log_prob(log_prob), X, Y)

    def test_the_wrong_shape(self):
        with pytest.raises(ShapeError, match=r"one number for each row, shape \(40,\)"):
            cg.scores(cg.from_log_prob(lambda y, x: np.zeros((40, 40))), X, Y)

    def test_bad_options(self):
        with pytest.raises(InputError, match="backend"):
            cg.from_log_prob(lambda y, x: y, backend="fortran")
        with pytest.raises(InputError, match="tolerance"):
            cg.from_log_prob(lambda y, x: y, tolerance=0)
        with pytest.raises(InputTypeError, match="takes a function"):
            cg.from_log_prob(3)
