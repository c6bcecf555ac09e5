"""The inverse Gaussian family, against SciPy's."""

import numpy as np
from scipy import stats

import condgof as cg
from condgof.models import InverseGaussian
from laws.conformance import check_law

X = np.random.default_rng(0).normal(size=(40, 2))


def test_conformance():
    full = ("score", "log_prob", "cdf", "sample", "mean_std")
    model = InverseGaussian(
        mean=lambda x: np.exp(0.5 * x[:, 0]), shape=2.0, loc=lambda x: x[:, 1]
    )
    check_law(model, X, needs=full)
    two = InverseGaussian(mean=lambda x: 1.0 + 0 * x, shape=lambda x: np.exp(x))
    check_law(two, X, needs=("score", "sample"))


def test_scipy_distributions_become_it():
    frozen = stats.invgauss(np.exp(0.5 * X[:, 0]), loc=X[:, 1], scale=2.0)
    model = cg.as_model(frozen)
    assert isinstance(model, InverseGaussian)
    y = frozen.rvs(random_state=np.random.default_rng(0))
    np.testing.assert_allclose(model.log_prob(y), frozen.logpdf(y), rtol=1e-9)
    np.testing.assert_allclose(model.cdf(y), frozen.cdf(y), rtol=1e-9)


def test_tails():
    y = np.array([1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0])
    for mean, shape in ((1.0, 1.0), (2.0, 0.1), (1.0, 50.0), (3.0, 1e6)):
        model = InverseGaussian(mean, shape)
        truth = stats.invgauss(mean / shape, scale=shape)
        np.testing.assert_allclose(model.cdf(y), truth.cdf(y), rtol=1e-7, atol=1e-300)
        np.testing.assert_allclose(model.sf(y), truth.sf(y), rtol=1e-7, atol=1e-300)
        assert np.isfinite(model.normal_scores(y)).all()
        assert (np.diff(model.normal_scores(y)[:, 0]) >= 0).all()
