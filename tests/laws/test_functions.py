"""Models from plain functions."""

import functools

import numpy as np
import pytest
from scipy import stats

import condgof as cg
from condgof.errors import (
    DerivativeError,
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
)
from condgof.laws import call_density, differentiate, named_method

X = np.linspace(-2, 2, 40)
Y = np.sin(X) + 0.3 * np.cos(17 * X)


def test_parameters_named_x_and_y_cannot_be_swapped():
    expected = X - Y
    for function in (lambda y, x: x - y, lambda x, y: x - y, lambda *, x, y: x - y):
        np.testing.assert_array_equal(
            cg.scores(cg.from_score(function), X, Y)[:, 0], expected
        )
    np.testing.assert_array_equal(
        cg.scores(cg.from_score(lambda a, b: b - a), X, Y)[:, 0],
        expected,  # by position: (y, x)
    )

    for function in (lambda x, target: x - target, lambda covariate, y: covariate - y):
        np.testing.assert_array_equal(
            cg.scores(cg.from_score(function), X, Y)[:, 0], expected
        )

    def with_default(y, x, scale=1.0):
        return (x - y) / scale

    np.testing.assert_array_equal(
        cg.scores(cg.from_score(with_default), X, Y)[:, 0], expected
    )


def test_any_way_to_write_the_parameters():
    def x_only_by_position(x, y, /):
        return x - y

    def rest(x, *others):
        return x - others[0]

    def options(y, context=0.0):
        return context - y

    def everything(**given):
        return given["x"] - given["y"]

    class Called:
        def __call__(self, X, y):
            return X - y

    partial = functools.partial(lambda scale, y, x: (x - y) / scale, 1.0)
    lambdas = [
        lambda X, y: X - y,
        lambda *both: both[1] - both[0],
        np.vectorize(lambda y, x: x - y),
    ]
    for function in (
        x_only_by_position,
        rest,
        options,
        everything,
        Called(),
        partial,
        *lambdas,
    ):
        got = cg.scores(cg.from_score(function), X, Y)[:, 0]
        np.testing.assert_array_equal(got, X - Y, err_msg=str(function))


def test_functions_that_work_in_place():
    def log_prob(y, x):
        y -= x
        x *= 0
        return -0.5 * y**2

    np.testing.assert_allclose(
        cg.scores(cg.from_log_prob(log_prob), X, Y)[:, 0], X - Y, rtol=1e-8, atol=1e-8
    )


def test_unconditional_functions_in_any_letter():
    wanted = cg.ksd(cg.from_scores(-Y), Y, n_boot=5, rng=0).statistic
    for function in (lambda x: -x, lambda value: -value, lambda y, x: -y, np.negative):
        assert cg.ksd(cg.from_score(function), Y, n_boot=5, rng=0).statistic == wanted
    density = cg.from_log_prob(stats.norm().logpdf)
    assert cg.ksd(density, Y, n_boot=5, rng=0).statistic == pytest.approx(wanted, rel=1e-6)


def test_a_function_of_y_alone_serves_the_unconditional_tests():
    result = cg.ksd(cg.from_score(lambda y: -y), Y, n_boot=10, rng=0)
    same = cg.ksd(cg.from_score(lambda value: -value), Y, n_boot=10, rng=0)
    assert (
        result.statistic
        == same.statistic
        == cg.ksd(cg.from_scores(-Y), Y, n_boot=10, rng=0).statistic
    )
    log_density = cg.from_log_prob(lambda y: -0.5 * y**2)
    assert cg.ksd(log_density, Y, n_boot=10, rng=0).statistic == pytest.approx(
        result.statistic
    )


def test_scores_need_no_sample_that_could_be_tested():
    """Scores along y at a single x are an ordinary thing to ask for."""
    model = cg.models.Normal(mean=lambda x: x, std=1.0)
    np.testing.assert_array_equal(
        cg.scores(model, [1.0, 1.0], [0.0, 2.0])[:, 0], [1.0, -1.0]
    )


def test_models_get_x_and_y_in_the_users_shape():
    shapes = []

    def score(y, x):
        shapes.append((np.shape(y), np.shape(x)))
        return -np.asarray(y)

    cg.scores(cg.from_score(score), X, Y)
    cg.scores(cg.from_score(score), X[:, None], Y[:, None])
    assert shapes == [((40,), (40,)), ((40, 1), (40, 1))]


@pytest.mark.parametrize("shape", [(40, 40), (1, 40), (40, 2), (39,), ()])
def test_scores_of_a_wrong_shape(shape):
    with pytest.raises(ShapeError, match=r"scores must have shape \(40, 1\) or \(40,\)"):
        cg.scores(cg.from_score(lambda y, x: np.zeros(shape)), X, Y)


def test_scores_for_two_columns_must_have_two():
    y = np.column_stack([Y, Y**2])
    with pytest.raises(
        ShapeError, match=r"scores must have shape \(40, 2\), .* got \(40,\)"
    ):
        cg.scores(cg.from_scores(np.zeros(40)), X, y)


def test_a_model_that_returns_nan():
    def score(y, x):
        return np.where(y > 0.5, np.nan, -y)

    bad = np.flatnonzero(Y > 0.5)
    with pytest.raises(
        NonFiniteError, match=f"in {len(bad)} of 40 rows, the first in row {bad[0]}"
    ):
        cg.scores(cg.from_score(score), X, Y)


class TestLogProb:
    def test_the_derivative_of_a_normal(self):
        model = cg.from_log_prob(lambda y, x: -0.5 * (y - x) ** 2 / 0.3**2)
        scores, errors = model(X).score_and_error(Y)
        truth = (X - Y) / 0.3**2
        np.testing.assert_allclose(scores[:, 0], truth, rtol=1e-8, atol=1e-8)
        assert (np.abs(scores[:, 0] - truth) <= 10 * errors[:, 0] + 1e-12).all()

    def test_several_columns(self, rng):
        y = rng.normal(size=(30, 3))
        x = rng.normal(size=(30, 2))
        truth = cg.models.Normal(
            mean=lambda x: x.sum(axis=1)[:, None] * np.ones(3), std=0.5
        )
        model = cg.from_log_prob(lambda y, x: truth(x).log_prob(y))
        np.testing.assert_allclose(
            cg.scores(model, x, y), truth(x).score(y), rtol=1e-8, atol=1e-8
        )

    def test_much_narrower_than_the_spread_of_y(self):
        model = cg.from_log_prob(lambda y, x: -0.5 * ((y - np.sin(x)) / 1e-2) ** 2)
        np.testing.assert_allclose(
            cg.scores(model, X, Y)[:, 0], (np.sin(X) - Y) / 1e-4, rtol=1e-6, atol=1e-4
        )

    def test_heavy_tails(self):
        truth = cg.models.StudentT(df=2.0, loc=lambda x: x)
        y = X + np.random.default_rng(0).standard_t(2, size=40)
        model = cg.from_log_prob(lambda y, x: truth(x).log_prob(y))
        np.testing.assert_allclose(
            cg.scores(model, X, y), truth(X).score(y), rtol=1e-7, atol=1e-9
        )

    def test_an_outlier_does_not_spoil_the_other_rows(self):
        truth = cg.models.StudentT(df=2.0, loc=lambda x: x)
        modes = cg.models.NormalMixture([0.5, 0.5], [-3.0, 3.0], 0.5)
        for case in (truth, modes):
            y = Y.copy()
            y[3] = 1e6
            got = cg.scores(
                cg.from_log_prob(lambda y, x, case=case: case(x).log_prob(y)), X, y
            )
            np.testing.assert_allclose(got, case(X).score(y), rtol=1e-6, atol=1e-6)

    def test_results_tell_the_error(self):
        model = cg.from_log_prob(lambda y, x: -0.5 * (y - x) ** 2)
        assert 0 < cg.kcsd(model, X, Y, n_boot=5, rng=0).details["score_error"] < 1e-9
        assert (
            "score_error"
            not in cg.kcsd(cg.from_scores(X - Y), X, Y, n_boot=5, rng=0).details
        )

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
        with pytest.raises(
            ShapeError, match=r"shape \(40, 1\) or \(40,\), one number for each row"
        ):
            cg.scores(cg.from_log_prob(lambda y, x: np.zeros((40, 40))), X, Y)

    def test_bad_options(self):
        with pytest.raises(InputError, match="backend"):
            cg.from_log_prob(lambda y, x: y, backend="fortran")
        with pytest.raises(InputError, match="tolerance"):
            cg.from_log_prob(lambda y, x: y, tolerance=0)
        with pytest.raises(InputTypeError, match="takes a function"):
            cg.from_log_prob(3)


class TestCallingUsersCode:
    def test_parameters_are_matched_by_name(self):
        assert call_density(lambda x, y: (y, x), y="Y", x="X") == ("Y", "X")
        assert call_density(lambda target, x: (target, x), y="Y", x="X") == ("Y", "X")

    def test_a_method_whose_parameters_are_named(self):
        class Flow:
            def log_prob(self, inputs, context):
                return inputs - context

        assert named_method(Flow(), "log_prob", "inputs", "context")(5, 3) == 2

    def test_a_numerical_derivative(self):
        at = np.array([0.0, 1.0, 2.0])
        slope, _ = differentiate(lambda y: np.sin(y[:, 0]), at[:, None])
        assert np.abs(slope[:, 0] - np.cos(at)).max() < 1e-10


def test_steps_that_reach_over_a_narrow_peak_do_not_count():
    """They agree with each other, on the slope of the density beside the peak."""
    from scipy.stats import norm

    def log_density(y):
        y = y[:, 0]
        return np.logaddexp(norm.logpdf(y), norm.logpdf(y, 0.5, 1e-3))

    y = np.array([[0.5005], [0.499], [-1.0], [1.3], [2.0], [-0.4]])
    slope, error = differentiate(log_density, y)
    wanted = np.array([-500.0, 1000.0, 1.0, -1.3, -2.0, 0.4])
    np.testing.assert_allclose(slope[:, 0], wanted, rtol=3e-3)
    assert error.max() < 1.0
