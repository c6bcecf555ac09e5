"""Frozen distributions of SciPy."""

import numpy as np
import pytest
from scipy import stats

import condgof as cg
from condgof.errors import InputTypeError, ShapeError, UnsupportedModelError
from condgof.models import (
    Beta,
    Exponential,
    Gamma,
    Laplace,
    LogNormal,
    Normal,
    StudentT,
    Uniform,
    Weibull,
)
from laws.conformance import check_law

N = 40
X = np.random.default_rng(3).normal(size=(N, 1))
A = X[:, 0]
S = np.exp(0.4 * A)

#: x → frozen distribution, and the family that it becomes (None: numerical).
FROZEN = {
    "norm": (lambda a: stats.norm(a, np.exp(0.4 * a)), Normal),
    "laplace": (lambda a: stats.laplace(loc=a, scale=2.0), Laplace),
    "t": (lambda a: stats.t(5, a, 2.0), StudentT),
    "gamma": (lambda a: stats.gamma(0.7, scale=np.exp(a)), Gamma),
    "gamma-moved": (lambda a: stats.gamma(a=2 + a**2, loc=a), Gamma),
    "chi2": (lambda a: stats.chi2(3 + a**2), Gamma),
    "expon": (lambda a: stats.expon(a, 2.0), Exponential),
    "lognorm": (lambda a: stats.lognorm(0.5, scale=np.exp(a)), LogNormal),
    "beta": (lambda a: stats.beta(0.5, 1 + a**2, loc=a, scale=3.0), Beta),
    "uniform": (lambda a: stats.uniform(a, 1 + a**2), Uniform),
    "gumbel": (lambda a: stats.gumbel_r(a, 2.0), None),
    "weibull": (lambda a: stats.weibull_min(0.8 + a**2, scale=2.0), Weibull),
    "pareto": (lambda a: stats.pareto(5 + a**2), None),
}


@pytest.mark.parametrize("name", FROZEN)
def test_bound_to_rows(name):
    make, family = FROZEN[name]
    for parameter in (A, X):  # (n,) and (n, 1)
        model = cg.as_model(make(parameter))
        assert model.rows == N
        assert family is None or type(model) is family
        y = model.sample(np.random.default_rng(0))
        assert y.shape == (N, 1)
        np.testing.assert_allclose(
            model(X).log_prob(y), make(A).logpdf(y[:, 0]), rtol=1e-9, atol=1e-12
        )
    frozen = make(A)
    check_law(
        model,
        X,
        needs=("score", "log_prob", "cdf", "sample", "normal_scores", "mean_std"),
        step=1e-5 if name == "laplace" else 1e-3,
        same=1e-7,  # steps of numerical derivatives come from the spread of the rows
        snapshot=lambda: repr((frozen.args, frozen.kwds)),
    )


@pytest.mark.parametrize("name", ["gamma", "pareto", "beta"])
def test_a_function_of_x(name):
    make, _ = FROZEN[name]
    bound = cg.as_model(make(A))
    model = cg.from_scipy(lambda x: make(x))
    assert model.rows is None
    check_law(model, X, needs=("score", "cdf", "sample"), same=1e-7)
    y = model(X).sample(np.random.default_rng(0))
    np.testing.assert_allclose(model(X).score(y), bound(X).score(y), rtol=1e-10)
    results = [cg.kcsd(m, X, y, n_boot=20, rng=0) for m in (model, bound)]
    assert results[0].statistic == pytest.approx(results[1].statistic, rel=1e-12)
    assert results[0].details["reparametrized"] == results[1].details["reparametrized"]
    assert ("score_error" in results[0].details) == (name == "pareto")
    assert "score_error" not in cg.adaptive(model, X, y, n_boot=20, rng=0).details


def test_it_is_called_once():
    calls = []

    def predict(x):
        calls.append(len(x))
        return stats.gamma(2.0, scale=np.exp(x[:, 0]))

    y = np.random.default_rng(0).gamma(2.0, np.exp(A))
    cg.adaptive(cg.from_scipy(predict), X, y, n_boot=10, rng=0, standardize="mean_std")
    assert calls == [N]


def test_numbers_serve_for_all_rows():
    for frozen in (stats.gamma(2.0, scale=3.0), stats.gumbel_r([1.0], 2.0)):
        model = cg.as_model(frozen)
        assert model.rows is None
        check_law(model, A, frozen.rvs(N, random_state=0), same=1e-7)
        assert cg.ksd(model, frozen.rvs(N, random_state=0), n_boot=10, rng=0).pvalue > 0


def test_two_columns():
    model = cg.as_model(stats.gamma(np.column_stack([S, 2 * S])))
    check_law(model, X, needs=("normal_scores",))
    check_law(cg.as_model(stats.weibull_min(np.column_stack([S, 2 * S]))), X, same=1e-7)
    pair = stats.multivariate_normal([1.0, 2.0], [[2.0, 0.6], [0.6, 1.0]])
    model = cg.as_model(pair)
    y = pair.rvs(N, random_state=0)
    np.testing.assert_allclose(model(X).log_prob(y), pair.logpdf(y))
    check_law(model, X, y)


def test_tails():
    model = cg.as_model(stats.gumbel_r(np.zeros(3), 1.0))
    u = model.normal_scores(np.array([-5.0, 100.0, 600.0]))[:, 0]
    tails = [-stats.norm.ppf(stats.gumbel_r.sf(y)) for y in (100.0, 600.0)]
    np.testing.assert_allclose(u[1:], tails, rtol=1e-6)
    assert np.isfinite(u[0])


def test_heavy_tails_have_a_location():
    model = cg.as_model(stats.cauchy(A, S))
    y = model.sample(np.random.default_rng(0))
    with pytest.raises(UnsupportedModelError, match="no finite mean"):
        model.mean_std()
    location, scale = model.location_scale()
    np.testing.assert_allclose(location[:, 0], A, atol=1e-12)
    np.testing.assert_allclose(scale[:, 0], 2 * S / 1.35)
    assert "score_error" in cg.kcsd(model, X, y, n_boot=10, rng=0).details


class TestHistogram:
    MODEL = cg.as_model(stats.rv_histogram(np.histogram(A, bins=6)))

    def test_it_has_no_scores(self):
        y = self.MODEL(n=N).sample(np.random.default_rng(0))
        with pytest.raises(
            UnsupportedModelError, match=r"piecewise constant.*: adaptive, .*mmd, zheng"
        ):
            cg.scores(self.MODEL, X, y)

    @pytest.mark.parametrize("test", [cg.adaptive, cg.kcsd, cg.fscd])
    def test_tests_work_on_its_cdf(self, test):
        y = self.MODEL(n=N).sample(np.random.default_rng(0))
        result = test(self.MODEL, X, y, n_boot=50, rng=0)
        assert result.details["standardized_by"] == "normal scores of the model's CDF"
        assert not result.reject(0.001)

    def test_it_may_be_moved(self):
        y = self.MODEL(n=N).sample(np.random.default_rng(0))
        frozen = cg.as_model(stats.rv_histogram(np.histogram(A, bins=6))(loc=1.0))
        np.testing.assert_allclose(frozen.cdf(y + 1), self.MODEL.cdf(y))


def test_what_is_refused():
    with pytest.raises(
        InputTypeError, match=r"scipy.stats.gamma is a family. Give it parameters"
    ):
        cg.as_model(stats.gamma)
    with pytest.raises(InputTypeError, match=r"frozen scipy.stats distribution"):
        cg.as_model(stats.dirichlet([1.0, 2.0]))
    with pytest.raises(InputTypeError, match=r"frozen scipy.stats distribution"):
        cg.as_model(stats.Normal(mu=A, sigma=S))
    with pytest.raises(InputTypeError, match="takes a function x"):
        cg.from_scipy(stats.norm(A))
    with pytest.raises(InputTypeError, match="must return a frozen distribution"):
        cg.kcsd(cg.from_scipy(lambda x: x), X, A)
    with pytest.raises(ShapeError, match="has 39 rows for 40 rows of x"):
        cg.kcsd(cg.from_scipy(lambda x: stats.norm(A[1:])), X, A)
    with pytest.raises(ShapeError, match="bound to 40 rows and the sample has 39"):
        cg.kcsd(stats.norm(A), X[1:], A[1:])


def test_a_subclass_is_not_taken_for_its_parent():
    class Wider(type(stats.norm)):
        def _logpdf(self, x):
            return super()._logpdf(x / 2) - np.log(2)

        def _pdf(self, x):
            return np.exp(self._logpdf(x))

    model = cg.as_model(Wider(name="norm")(loc=1.0))
    np.testing.assert_allclose(model(n=2).score(np.array([3.0, 4.0]))[:, 0], [-0.5, -0.75])
