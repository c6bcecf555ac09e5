"""qp: ensembles with one distribution a row."""

import numpy as np
import pytest
import qp
from scipy import stats

import condgof as cg
from condgof.errors import ShapeError, UnsupportedModelError
from condgof.laws import Histograms
from condgof.models import Gamma, Normal, NormalMixture
from laws.conformance import check_law

RNG = np.random.default_rng(5)
N = 30
X = RNG.normal(size=(N, 1))
GRID = np.linspace(-6.0, 8.0, 141)
DENSITY = stats.norm(X, 1.0).pdf(GRID)
LEVELS = np.linspace(0.005, 0.995, 100)
#: How qp is asked for an ensemble, and the law that it becomes (None: what qp computes).
ENSEMBLES = {
    "norm": (
        lambda qp: qp.Ensemble(qp.stats.norm, {"loc": X, "scale": np.ones((N, 1))}),
        Normal,
    ),
    "gamma": (
        lambda qp: qp.Ensemble(qp.stats.gamma, {"a": 1 + X**2, "scale": np.ones((N, 1))}),
        Gamma,
    ),
    "mixmod": (
        lambda qp: qp.Ensemble(
            qp.mixmod,
            {
                "means": np.hstack([X, -X]),
                "stds": np.ones((N, 2)),
                "weights": np.tile([0.3, 0.7], (N, 1)),
            },
        ),
        NormalMixture,
    ),
    "hist": (
        lambda qp: qp.Ensemble(qp.hist, {"bins": GRID[::10], "pdfs": DENSITY[:, 5:-1:10]}),
        Histograms,
    ),
    "interp": (lambda qp: qp.Ensemble(qp.interp, {"xvals": GRID, "yvals": DENSITY}), None),
    "quant": (
        lambda qp: qp.Ensemble(
            qp.quant, {"quants": LEVELS, "locs": stats.norm(X, 1.0).ppf(LEVELS)}
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_ensembles(name):
    make, kind = ENSEMBLES[name]
    ensemble = make(qp)
    law = cg.as_model(ensemble)
    assert law.rows == N
    assert kind is None or type(law) is kind
    y = law.sample(np.random.default_rng(0))
    np.testing.assert_allclose(law.cdf(y), ensemble.cdf(y)[:, 0], atol=1e-9)
    np.testing.assert_allclose(law.log_prob(y), ensemble.logpdf(y)[:, 0], atol=1e-9)
    at = np.array([0.5, 1.5])
    np.testing.assert_allclose(law.cdf_grid(at), ensemble.cdf(at), atol=1e-9)
    if name != "quant":  # whose ppf is not quite the inverse of its cdf
        check_law(
            law,
            X,
            needs=("cdf", "log_prob", "sample"),
            normalised=False,
            same=1e-6,
            draws=300,
        )
    assert cg.adaptive(ensemble, X, y, rng=0).pvalue > 0.001
    one = law.take(np.array([3]))
    for row in (one, one.take(np.array([0]))):
        np.testing.assert_allclose(row.cdf(y[3:4]), law.cdf(y)[3:4])
    np.testing.assert_allclose(
        one.take(np.array([0, 0])).cdf(y[[3, 3]]), law.cdf(y)[[3, 3]]
    )


def test_what_qp_interpolates_has_no_score():
    with pytest.raises(UnsupportedModelError, match=r"interp of qp has no score .*corners"):
        cg.scores(ENSEMBLES["interp"][0](qp), X, X[:, 0])


class Ensemble:
    """As much of an ensemble as is read: normal distributions, called interpolated."""

    def __init__(self, loc):
        self.loc = loc
        self.npdf = len(loc)
        self.gen_class = type("interp_gen", (), {})
        self.frozen = None
        self.metadata = {}
        self.objdata = {}

    def __getitem__(self, rows):
        return Ensemble(self.loc[rows])

    def _ask(self, name, values):
        loc = self.loc if self.npdf > 1 else self.loc[0]
        return getattr(stats.norm(loc, 1.0), name)(values)

    def cdf(self, values):
        return self._ask("cdf", values)

    def logpdf(self, values):
        return self._ask("logpdf", values)

    def ppf(self, values):
        return self._ask("ppf", values)

    def mean(self):
        return self.loc

    def std(self):
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")


Ensemble.__module__ = "qp.core.ensemble"


def test_without_the_package():
    law = cg.as_model(Ensemble(X))
    check_law(
        law, X, needs=("cdf", "log_prob", "sample", "location_scale"), same=1e-7, draws=300
    )
    with pytest.raises(
        UnsupportedModelError, match="qp could not compute std of interp of qp"
    ):
        law.mean_std()
    y = X[:, 0] + 0.5
    np.testing.assert_allclose(law.normal_scores(y), 0.5)
    with pytest.raises(ShapeError, match="bound to 30 rows"):
        cg.adaptive(Ensemble(X), X[1:], y[1:])
