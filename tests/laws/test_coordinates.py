"""Coordinates of y: normal scores, marginals, location and scale, and their scores."""

import numpy as np
import pytest
from scipy import integrate, stats

import condgof as cg
from condgof.errors import InputError, NumericalError, ShapeError, UnsupportedModelError
from condgof.kernels import CovariateKernel, OnColumns
from condgof.laws import law_of, log_tail_scores, tail_scores
from condgof.models import Normal, NormalMixture, StudentT
from condgof.residuals import (
    ContinuousResiduals,
    MomentResiduals,
    ScoreResiduals,
    SeveralResiduals,
    residual_class,
    residuals_of,
)
from condgof.sample import Sample
from condgof.stein import SteinOperator
from own_laws import OfX, model_of

COV = np.array([[2.0, 0.6], [0.6, 1.0]])
FAR = np.array(
    [-1e3, -100.0, -30.0, -8.0, -1.0, -1e-3, 0.0, 0.5, 5.0, 9.0, 30.0, 40.0, 1e3]
)


def mixing(x):
    return np.column_stack([1 / (1 + np.exp(-x[:, 0])), 1 / (1 + np.exp(x[:, 0]))])


PAIR = NormalMixture(
    mixing,
    lambda x: np.stack(
        [np.column_stack([x[:, 0], x[:, 1]]), np.column_stack([x[:, 1] + 2, -x[:, 0]])], 1
    ),
    [[[0.7, 1.5], [1.0, 0.4]]],
)
TRIPLE = NormalMixture(
    [0.5, 0.2, 0.3],
    [[[0.0, 0.0, 0.0], [2.0, -1.0, 1.0], [-1.0, 2.0, 2.0]]],
    [[[1.0, 0.5, 2.0], [0.6, 0.8, 0.7], [1.2, 1.0, 0.5]]],
)
MODELS = {
    "normal": (Normal(mean=lambda x: x[:, 0], std=lambda x: 1 + x[:, 1] ** 2), 1),
    "normal-2d": (Normal(mean=lambda x: x, std=[[1.0, 2.0]]), 2),
    "normal-cov": (Normal(mean=lambda x: x, cov=COV), 2),
    "mixture": (
        NormalMixture(mixing, lambda x: np.column_stack([x[:, 0] - 2, x[:, 0] + 2]), 0.8),
        1,
    ),
    "mixture-2d": (PAIR, 2),
    "mixture-3d": (TRIPLE, 3),
    "student": (
        StudentT(df=3.0, loc=lambda x: x[:, 0], scale=lambda x: 1 + x[:, 1] ** 2),
        1,
    ),
    "student-2d": (StudentT(df=[[3.0, 8.0]], loc=lambda x: x, scale=0.7), 2),
}
CASES = [
    (name, by)
    for name in MODELS
    for by in ("cdf", "marginals", "mean_std", "none")
    if by != "marginals" or not name.startswith("student")
]


def draw(name, n, seed=0):
    model, _ = MODELS[name]
    rng = np.random.default_rng([seed, n])
    x = rng.normal(size=(n, 2))
    return model, x, model(x).sample(rng)


def coordinates(model, sample, by):
    return residuals_of(law_of(model, sample), sample, by)


def log_tail(u):
    """The log of the smaller tail of a standard normal at u."""
    return stats.norm.logcdf(-np.abs(u))


class TestFarTails:
    def test_normal(self):
        model = Normal(mean=2.0, std=0.5)
        u = model.normal_scores(2.0 + 0.5 * FAR)
        np.testing.assert_allclose(u[:, 0], FAR, rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("df", [1.0, 3.0, 30.0])
    def test_student(self, df):
        """Against the integral of the density beyond each point."""
        u = StudentT(df=df, loc=1.0, scale=2.0).normal_scores(1.0 + 2.0 * FAR)[:, 0]
        np.testing.assert_array_equal(np.sign(u), np.sign(FAR))
        for z, value in zip(FAR, u, strict=True):
            # The tail beyond z is an integral over t = 1/y, from 0 to 1/z.
            tail, _ = integrate.quad(
                lambda t: stats.t.pdf(1 / t, df) / t**2 if t else 0.0,
                0.0,
                1 / max(abs(z), 0.5),
                epsabs=0.0,
                epsrel=1e-10,
            )
            if abs(z) < 0.5:
                tail = stats.t(df).sf(abs(z))
            assert log_tail(value) == pytest.approx(np.log(tail), rel=1e-8)

    def test_student_beyond_any_tail(self):
        u = StudentT(df=2e6).normal_scores(np.array([-1e6, -1e3, 1e3, 1e6]))[:, 0]
        assert np.isfinite(u).all()
        assert (u[:2] < -30).all()
        assert (u[2:] > 30).all()

    def test_mixture(self):
        model = NormalMixture([0.2, 0.8], [-3.0, 3.0], [0.5, 1.0])
        u = model.normal_scores(FAR)[:, 0]
        low, high = (
            np.logaddexp(
                np.log(0.2) + tail((FAR + 3.0) / 0.5), np.log(0.8) + tail((FAR - 3.0) / 1.0)
            )
            for tail in (stats.norm.logcdf, stats.norm.logsf)
        )
        np.testing.assert_allclose(log_tail(u), np.minimum(low, high), rtol=1e-10)
        np.testing.assert_array_equal(u < 0, low < high)
        assert (np.diff(u) > 0).all()

    def test_mixture_in_two_dimensions(self):
        y = np.stack(np.meshgrid(FAR, FAR), axis=-1).reshape(-1, 2)
        u = PAIR(np.zeros((len(y), 2))).normal_scores(y)
        assert np.isfinite(u).all()
        marginal, slope, marginal_score = PAIR(np.zeros((len(y), 2))).marginals(y)
        assert np.isfinite(marginal).all()
        assert (slope > 0).all()
        assert np.isfinite(marginal_score).all()

    def test_a_weight_of_zero(self):
        model = NormalMixture([1.0, 0.0], [[[0.0, 0.0], [5.0, 5.0]]], 1.0)
        y = np.array([[0.3, -2.0], [30.0, 1.0]])
        np.testing.assert_allclose(model.normal_scores(y), y, rtol=1e-12)
        np.testing.assert_allclose(model.marginals(y)[0], y, rtol=1e-12)

    @pytest.mark.parametrize("name", ["normal", "mixture", "student"])
    def test_cdf_and_sf(self, name):
        model, x, y = draw(name, 50)
        np.testing.assert_allclose(model(x).cdf(y) + model(x).sf(y), 1.0, rtol=1e-14)
        u = tail_scores(model(x).cdf(y), model(x).sf(y))
        np.testing.assert_allclose(
            u, model(x).normal_scores(y)[:, 0], rtol=1e-7, atol=1e-12
        )
        assert 0 < model(np.zeros((50, 2))).sf(np.full(50, 15.0))[0] < 1e-3

    @pytest.mark.parametrize("name", ["normal-2d", "mixture-2d", "student-2d"])
    def test_sf_is_for_one_column(self, name):
        model, x, y = draw(name, 5)
        with pytest.raises(UnsupportedModelError, match=r"says this for d_y = 1 only"):
            model(x).sf(y)


class TestTailScores:
    def test_both_tails(self):
        near = FAR[np.abs(FAR) < 37]
        u = tail_scores(stats.norm.cdf(near), stats.norm.sf(near))
        np.testing.assert_allclose(u, near, rtol=1e-9, atol=1e-12)

    def test_a_cdf_alone_resolves_eight_deviations_above(self):
        z = np.array([-30.0, -8.0, 0.0, 8.0, 30.0])
        u = tail_scores(stats.norm.cdf(z), 1.0 - stats.norm.cdf(z))
        np.testing.assert_allclose(u[:3], z[:3], rtol=1e-9, atol=1e-12)
        assert u[3] == pytest.approx(8.0, abs=0.1)
        assert 8.1 < u[4] < 8.5

    def test_impossible_observations(self):
        u = tail_scores(np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1e-300]))
        assert u[0] < -37
        assert 8.1 < u[1] < 8.5
        assert u[2] == pytest.approx(stats.norm.isf(1e-300))

    def test_logarithms(self):
        low = stats.norm.logcdf(FAR)
        high = stats.norm.logsf(FAR)
        np.testing.assert_allclose(log_tail_scores(low, high), FAR, rtol=1e-9, atol=1e-9)

    def test_a_model_with_both_tails_beyond_them(self):
        """A tail that is 0 is beyond 37 deviations, and not where 1 − cdf ends."""

        class Both(OfX):
            def cdf(self, y):
                return stats.norm.cdf(y)

            def sf(self, y):
                return stats.norm.sf(y)

        u = Both(FAR).normal_scores(FAR)[:, 0]
        assert (np.diff(u) >= 0).all()
        np.testing.assert_allclose(u, np.clip(FAR, -37.52, 37.52), atol=1e-3)

    def test_a_model_with_nothing_but_a_cdf(self):
        x = np.zeros(3)
        u = OnlyCdf(x).normal_scores(np.array([-20.0, 0.0, 2.0]))
        np.testing.assert_allclose(u[:, 0], [-20.0, 0.0, 2.0], rtol=1e-9, atol=1e-12)
        with pytest.raises(
            UnsupportedModelError, match="says this for d_y = 1 only, and here d_y = 2"
        ):
            OnlyCdf(x).normal_scores(np.zeros((3, 2)))


class TestRosenblatt:
    @pytest.mark.parametrize("name", MODELS)
    def test_standard_normal_and_independent(self, name):
        """At fixed seeds, p-values of coordinates, of their pairs, and of x exceed 1e-4."""
        model, x, y = draw(name, 4000, seed=3)
        u = model(x).normal_scores(y)
        assert u.shape == y.shape
        columns = np.column_stack([u, x])
        for k in range(u.shape[1]):
            assert stats.kstest(u[:, k], "norm").pvalue > 1e-4
            for other in range(k + 1, columns.shape[1]):
                for f in (np.asarray, np.abs):
                    for g in (np.asarray, np.abs):
                        correlation = stats.spearmanr(
                            f(columns[:, k]), g(columns[:, other])
                        )
                        assert correlation.pvalue > 1e-4

    @pytest.mark.parametrize("name", ["normal-cov", "mixture-2d"])
    def test_against_integrals_of_the_density(self, name):
        """F(y_1) and F(y_2 | y_1) by Gauss's rule with 240 nodes a dimension."""
        model = MODELS[name][0]
        at = np.array([0.3, -0.4])

        def density(first, second):
            rows = np.stack(np.broadcast_arrays(first, second), axis=-1)
            flat = rows.reshape(-1, 2)
            log = model(np.broadcast_to(at, flat.shape)).log_prob(flat)
            return np.exp(log).reshape(rows.shape[:-1])

        for point in ([-0.5, 0.4], [1.3, -1.0], [2.4, 0.1]):
            u = model(at[None]).normal_scores(np.array([point]))[0]
            below = nodes(-14.0, point[0])
            whole = nodes(-14.0, 14.0)
            first = below[1] @ density(below[0][:, None], whole[0]) @ whole[1]
            below = nodes(-14.0, point[1])
            given = (
                density(point[0], below[0])
                @ below[1]
                / (density(point[0], whole[0]) @ whole[1])
            )
            np.testing.assert_allclose(stats.norm.cdf(u), [first, given], atol=1e-9)

    def test_the_third_coordinate_given_two(self):
        whole = nodes(-15.0, 15.0)
        for point in ([0.1, -0.3, 1.0], [1.9, -1.2, 0.4], [-1.0, 1.5, 2.2]):

            def density(third, point=point):
                y = np.column_stack([np.full((len(third), 2), point[:2]), third])
                return np.exp(TRIPLE.log_prob(y))

            below = nodes(-15.0, point[2])
            wanted = density(below[0]) @ below[1] / (density(whole[0]) @ whole[1])
            u = TRIPLE.normal_scores(np.array([point]))[0]
            assert stats.norm.cdf(u[2]) == pytest.approx(wanted, abs=1e-9)


def nodes(low, high):
    """Points and weights of Gauss's rule on an interval."""
    points, weights = np.polynomial.legendre.leggauss(240)
    return low + (high - low) * (points + 1) / 2, weights * (high - low) / 2


def slope_of(f, at, step):
    return (f(at + step) - f(at - step)) / (2 * np.abs(step).max())


class TestChainRule:
    @pytest.mark.parametrize("name", [name for name, by in CASES if by == "marginals"])
    def test_marginals(self, name):
        """u, du/dy and ∂ log f against the marginal CDF; the score in u by differences."""
        model, x, y = draw(name, 40)
        _u, slope, marginal_score = model(x).marginals(y)
        scores = coordinates(model, Sample.from_data(x, y), "marginals").scores
        for k in range(y.shape[1]):
            step = 1e-5 * np.eye(y.shape[1])[k]
            moved = slope_of(lambda y, k=k: model(x).marginals(y)[0][:, k], y, step)
            np.testing.assert_allclose(
                np.broadcast_to(slope, y.shape)[:, k], moved, rtol=1e-6
            )

            def log_density(y):  # of the marginal: φ(u) du/dy
                u, slope, _ = model(x).marginals(y)
                return stats.norm.logpdf(u) + np.log(slope)

            moved = slope_of(lambda y, k=k: log_density(y)[:, k], y, step)
            np.testing.assert_allclose(
                np.broadcast_to(marginal_score, y.shape)[:, k], moved, rtol=1e-5, atol=1e-7
            )

            def log_induced(y):
                return model(x).log_prob(y) - np.log(model(x).marginals(y)[1] + 0 * y).sum(
                    axis=1
                )

            moved = slope_of(log_induced, y, step) / np.broadcast_to(slope, y.shape)[:, k]
            np.testing.assert_allclose(scores[:, k], moved, rtol=1e-4, atol=1e-6)

    def test_marginals_are_those_of_each_coordinate(self):
        _, x, y = draw("mixture-2d", 30)
        u = PAIR(x).marginals(y)[0]
        weights, means, stds = PAIR(x).parts()
        wanted = (weights[:, :, None] * stats.norm.cdf((y[:, None] - means) / stds)).sum(
            axis=1
        )
        np.testing.assert_allclose(stats.norm.cdf(u), wanted, rtol=1e-10)
        model, x, y = draw("normal-cov", 30)
        np.testing.assert_allclose(
            model(x).marginals(y)[0], (y - x) / np.sqrt(np.diag(COV))
        )

    @pytest.mark.parametrize("name", MODELS)
    def test_location_and_scale(self, name):
        model, x, y = draw(name, 30)
        location, scale = model(x).location_scale()
        compared = coordinates(model, Sample.from_data(x, y), "mean_std")

        def back(u):
            if scale.ndim == 2:
                return location + scale * u
            return location + np.einsum("nij,nj->ni", scale, u)

        np.testing.assert_allclose(back(compared.u), y, rtol=1e-10, atol=1e-12)
        for k in range(y.shape[1]):
            step = 1e-6 * np.eye(y.shape[1])[k]
            moved = slope_of(lambda u: model(x).log_prob(back(u)), compared.u, step)
            np.testing.assert_allclose(compared.scores[:, k], moved, rtol=1e-4, atol=1e-6)

    @pytest.mark.parametrize("name", ["normal-cov", "mixture-2d", "mixture-3d"])
    def test_a_full_covariance_where_the_model_has_one(self, name):
        model, d_y = MODELS[name]
        n = 20_000
        x = np.broadcast_to([0.3, -0.4], (n, 2))
        y = model(x).sample(np.random.default_rng(0))
        compared = coordinates(model, Sample.from_data(x, y, to_test=False), "mean_std")
        np.testing.assert_allclose(np.cov(compared.u.T), np.eye(d_y), atol=6 / np.sqrt(n))
        np.testing.assert_allclose(compared.u.mean(axis=0), 0.0, atol=6 / np.sqrt(n))

    def test_location_and_scale_without_a_variance(self):
        model = StudentT(df=1.0, loc=lambda x: x, scale=2.0)
        x = np.array([0.0, 1.0, 2.0])
        y = np.array([4.0, 1.0, 0.0])
        compared = coordinates(model, Sample.from_data(x, y), "mean_std")
        np.testing.assert_allclose(compared.u[:, 0], [2.0, 0.0, -1.0])


@pytest.mark.parametrize(("name", "by"), CASES)
def test_stein_kernel_has_mean_zero_in_every_coordinates(name, by):
    """E h(z, Z) = 0 for each z under the truth, to five standard errors of 12,000 draws."""
    model, x, y = draw(name, 12_000, seed=11)
    compared = coordinates(model, Sample.from_data(x, y), by)
    kernel = CovariateKernel((OnColumns(cg.Gaussian(1.5), (0, 1)),))
    operator = SteinOperator.from_rows(
        x, compared.u, compared.scores, kernel, cg.Gaussian(1.0)
    )
    rows = operator.block(np.arange(10), np.arange(operator.n))[:, 10:]
    error = rows.std(axis=1) / np.sqrt(rows.shape[1])
    assert (np.abs(rows.mean(axis=1)) < 5 * error).all()


class OnlyCdf(OfX):
    """The standard normal, through its CDF alone."""

    def cdf(self, y):
        return stats.norm.cdf(np.ravel(y))


class Located(OfX):
    """A score with a mean and a standard deviation, in shapes to choose."""

    def score(self, y):
        return -np.asarray(y)

    def mean_std(self):
        shape = self.more[0] if self.more else (-1, 1)
        return np.zeros(self.n).reshape(shape), np.ones(self.n).reshape(shape)


class TestChoice:
    @pytest.mark.parametrize(
        ("model", "d_y", "kind"),
        [
            *(
                (model, 1, ContinuousResiduals)
                for model, d_y in MODELS.values()
                if d_y == 1
            ),
            *((model, d_y, SeveralResiduals) for model, d_y in MODELS.values() if d_y > 1),
            (cg.from_score(lambda y, x: -y), 1, ScoreResiduals),
            (cg.from_log_prob(lambda y, x: -(y**2)), 1, ScoreResiduals),
            (cg.from_scores(np.ones(5)), 1, ScoreResiduals),
            (cg.as_model((np.ones(5), np.ones(5))), 1, ContinuousResiduals),
            (model_of(OnlyCdf), 1, ContinuousResiduals),
            (model_of(Located), 3, MomentResiduals),
        ],
    )
    def test_the_best_that_a_model_offers(self, model, d_y, kind):
        assert residual_class(model(np.ones((5, 2))), d_y, "auto") is kind

    @pytest.mark.parametrize(
        ("model", "standardize", "offered"),
        [
            (cg.from_score(lambda y, x: -y), "cdf", "'none'"),
            (cg.from_score(lambda y, x: -y), "mean_std", "'none'"),
            (StudentT(df=3.0), "marginals", "'cdf', 'mean_std', 'none'"),
            (model_of(Located), "cdf", "'mean_std', 'none'"),
            (model_of(OnlyCdf), "mean_std", "'cdf'"),
        ],
    )
    def test_what_it_does_not_offer(self, model, standardize, offered):
        with pytest.raises(UnsupportedModelError, match=f"It can take: {offered}."):
            residual_class(model(np.ones(3)), 1, standardize)

    @pytest.mark.parametrize("standardize", ["std", "CDF", None, 3, True, ["cdf"]])
    def test_bad_values(self, standardize):
        with pytest.raises(InputError, match="standardize must be one of 'auto', 'cdf'"):
            residual_class(OnlyCdf(np.ones(3)), 1, standardize)


class TestErrors:
    sample = Sample.from_data([0.0, 1.0, 2.0], [1.0, 2.0, 4.0])

    def test_a_cdf_is_of_one_column(self):
        law = model_of(OnlyCdf)(np.ones((5, 2)))
        for standardize in ("auto", "none"):
            with pytest.raises(
                UnsupportedModelError, match="CDF for one column of y, and y has 2"
            ):
                residual_class(law, 2, standardize)

    def test_a_score_that_is_not_there(self):
        with pytest.raises(
            UnsupportedModelError,
            match=(
                r"OnlyCdf has no score. Tests that can take it: adaptive, fscd, kcsd, ksd,"
                r" zheng\."
            ),
        ):
            ScoreResiduals.from_law(OnlyCdf(np.ones(3)), self.sample)

    @pytest.mark.parametrize("shape", [(-1,), (1, -1)])
    def test_shapes_of_location_and_scale(self, shape):
        with pytest.raises(ShapeError, match="location and scale must have shapes"):
            coordinates(model_of(Located, shape), self.sample, "mean_std")

    def test_rows_that_fail_are_counted_and_named(self):
        class Broken(OnlyCdf):
            def cdf(self, y):
                return np.array([0.5, np.nan, 0.5])

        with pytest.raises(
            NumericalError, match="failed in 1 of 3 rows, the first in row 1"
        ):
            coordinates(model_of(Broken), self.sample, "cdf")

    def test_a_cdf_of_the_wrong_shape(self):
        class Wide(OnlyCdf):
            def cdf(self, y):
                return np.full((3, 2), 0.5)

        with pytest.raises(
            ShapeError,
            match=r"shape \(3, 1\) or \(3,\), one number for each row, got \(3, 2\)",
        ):
            coordinates(model_of(Wide), self.sample, "cdf")

    @pytest.mark.parametrize("by", ["cdf", "mean_std", "marginals", "none"])
    def test_a_model_of_other_rows(self, by):
        with pytest.raises(ShapeError, match="bound to 4 rows and the sample has 3"):
            coordinates(cg.as_model((np.zeros(4), np.ones(4))), self.sample, by)

    def test_a_bounded_support_is_left_unless_the_cdf_serves(self):
        class Positive(Normal):
            @property
            def support(self):
                return np.array(0.0), np.array(np.inf)

        model = Positive(mean=0.5, std=1.0)
        sample = Sample.from_data(np.arange(3.0), np.array([1.0, 2.0, 4.0]))
        assert coordinates(model, sample, "cdf").reparametrized is None
        for by in ("none", "mean_std"):
            assert coordinates(model, sample, by).reparametrized == "log(y - low)"
        np.testing.assert_allclose(coordinates(model, sample, "none").u, np.log(sample.y))
