"""Classifiers and count models of other libraries pass the suite of a discrete y."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.miscmodels.ordinal_model import OrderedModel

import condgof as cg
from condgof.errors import InputError, ShapeError, UnsupportedModelError
from condgof.models import Binomial, NegativeBinomial, Poisson, Probabilities
from models.conformance_discrete import check_discrete

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(150, 2)), RNG.normal(size=(24, 2))
ETA = X @ [0.6, -0.4]
COUNTS = RNG.poisson(np.exp(0.5 + ETA))
BINARY = (RNG.random(150) < 1 / (1 + np.exp(-ETA))).astype(int)
CLASSES = np.minimum(COUNTS, 2)
NAMES = np.array(["none", "one", "more"])[CLASSES]
E, NEW_E = sm.add_constant(X), sm.add_constant(NEW)


class TestSklearn:
    @pytest.mark.parametrize(
        "make",
        [
            lambda: LogisticRegression().fit(X, CLASSES),
            lambda: LogisticRegression().fit(X, NAMES),
            lambda: LogisticRegression().fit(X, BINARY > 0),
            lambda: make_pipeline(StandardScaler(), LogisticRegression()).fit(X, NAMES),
            lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}).fit(X, CLASSES),
            lambda: RandomForestClassifier(20, random_state=0).fit(X, CLASSES),
        ],
    )
    def test_classifiers(self, make):
        fitted = make()
        check_discrete(cg.as_model(fitted), NEW, snapshot=lambda: pickle.dumps(fitted))
        found = cg.as_model(fitted).given(NEW)
        np.testing.assert_allclose(found.values, fitted.predict_proba(NEW))
        assert [str(c) for c in found.classes.labels] == [
            str(int(c)) if isinstance(c, np.bool_) else str(c) for c in fitted.classes_
        ]

    def test_frames(self):
        frame = pd.DataFrame(X, columns=["a", "b"])
        fitted = LogisticRegression().fit(frame, NAMES)
        new = pd.DataFrame(NEW, columns=["a", "b"], index=RNG.integers(3, size=24))
        y = NAMES[:24]
        wanted = cg.kcsd(LogisticRegression().fit(X, NAMES), NEW, y, rng=0).pvalue
        assert cg.kcsd(fitted, new, pd.Series(y), rng=0).pvalue == wanted
        assert cg.kcsd(fitted, pl.from_pandas(new), y, rng=0).pvalue == wanted

    def test_anything_with_predict_proba(self):
        class Own:
            classes_ = np.array(["none", "one", "more"])

            def predict_proba(self, x):
                return np.full((len(x), 3), 1 / 3)

        assert 0 < cg.adaptive(Own(), NEW, NAMES[:24], rng=0).pvalue <= 1
        with pytest.raises(InputError, match="could not predict at the 24 rows"):
            cg.adaptive(LogisticRegression().fit(X, CLASSES), NEW[:, :1], CLASSES[:24])
        Own.predict_proba = lambda self, x: np.ones((3, 3)) / 3
        with pytest.raises(ShapeError, match=r"predicted a shape of \(3, 3\), and x has 24 rows"):
            cg.adaptive(Own(), NEW, NAMES[:24])
        Own.predict_proba = lambda self, x: [np.ones((24, 2)) / 2] * 2
        with pytest.raises(ShapeError, match="predicts 2 outputs"):
            cg.adaptive(Own(), NEW, NAMES[:24])


class TestStatsmodels:
    @pytest.mark.parametrize(
        ("make", "kind"),
        [
            (lambda: sm.GLM(COUNTS, E, sm.families.Poisson()).fit(), Poisson),
            (lambda: sm.GLM(COUNTS, E, sm.families.NegativeBinomial(alpha=0.7)).fit(), NegativeBinomial),
            (lambda: sm.GLM(BINARY, E, sm.families.Binomial()).fit(), Probabilities),
            (lambda: sm.Poisson(COUNTS, E).fit(disp=0), Poisson),
            (lambda: sm.NegativeBinomial(COUNTS + CLASSES, E).fit(disp=0), NegativeBinomial),
            (
                lambda: sm.NegativeBinomial(COUNTS + CLASSES, E, loglike_method="nb1").fit(disp=0),
                NegativeBinomial,
            ),
            (lambda: sm.ZeroInflatedPoisson(COUNTS, E).fit(disp=0, maxiter=200), None),
            (lambda: sm.Logit(BINARY, E).fit(disp=0), Probabilities),
            (lambda: sm.Probit(BINARY, E).fit(disp=0), Probabilities),
            (lambda: sm.MNLogit(CLASSES, E).fit(disp=0), Probabilities),
            (lambda: sm.MNLogit(NAMES, E).fit(disp=0), Probabilities),
        ],
    )
    def test_results(self, make, kind):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits to few rows
            results = make()
        model = cg.as_model(results)
        if kind is not None:
            assert isinstance(model.given(NEW_E), kind)
        check_discrete(model, NEW_E, most=150)

    def test_moments_are_those_of_statsmodels(self):
        for results in (
            sm.NegativeBinomial(COUNTS + CLASSES, E, loglike_method="nb1").fit(disp=0),
            sm.NegativeBinomial(COUNTS + CLASSES, E).fit(disp=0),
        ):
            mean, std = cg.as_model(results).mean_std(NEW_E)
            theirs = results.get_distribution(NEW_E)
            np.testing.assert_allclose(mean[:, 0], theirs.mean())
            np.testing.assert_allclose(std[:, 0], theirs.std())

    def test_moments_of_inflated_counts(self):
        from statsmodels.distributions import discrete

        mu = np.exp(NEW[:4, 0])
        for law in (
            discrete.zipoisson(mu, 0.3),
            discrete.zinegbin(mu, 0.4, 1, 0.3),
            discrete.zigenpoisson(mu, 0.4, 2, 0.3),
        ):
            mean, std = cg.as_model(law).mean_std(NEW[:4])
            np.testing.assert_allclose(mean[:, 0], law.mean(), rtol=1e-6)
            np.testing.assert_allclose(std[:, 0], law.std(), rtol=1e-6)

    def test_classes_keep_their_order(self):
        results = OrderedModel(CLASSES, X, distr="logit").fit(method="bfgs", disp=0)
        own = cg.as_model(results).given(NEW)
        assert own.ordered
        np.testing.assert_allclose(own.values, results.predict(NEW))
        check_discrete(cg.as_model(results), NEW)
        named = sm.MNLogit(NAMES, E).fit(disp=0)
        assert cg.as_model(named).given(NEW_E).classes.names == ("more", "none", "one")

    def test_formulas(self):
        frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=COUNTS)
        new = pd.DataFrame(NEW, columns=["a", "b"])
        y = COUNTS[:24]
        wanted = cg.kcsd(sm.Poisson(COUNTS, E).fit(disp=0), NEW_E, y, kernel_x=cg.Gaussian(1.0), rng=0)
        for results in (
            smf.poisson("y ~ a + b", frame).fit(disp=0),
            smf.glm("y ~ a + b", frame, family=sm.families.Poisson()).fit(),
        ):
            found = cg.kcsd(results, new, y, kernel_x=cg.Gaussian(1.0), rng=0)
            assert found.statistic == pytest.approx(wanted.statistic, rel=1e-5)

    def test_trials_offset_and_exposure(self):
        trials = RNG.integers(1, 9, 150)
        won = RNG.binomial(trials, 1 / (1 + np.exp(-ETA)))
        results = sm.GLM(np.column_stack([won, trials - won]), E, sm.families.Binomial()).fit()
        with pytest.raises(InputError, match="fitted with trials"):
            cg.as_model(results)
        model = cg.models.from_statsmodels(results, trials=trials[:24])
        assert isinstance(model.given(NEW_E), Binomial)
        check_discrete(model, NEW_E)
        exposed = sm.Poisson(COUNTS, E, exposure=trials).fit(disp=0)
        with pytest.raises(InputError, match="fitted with exposure"):
            cg.as_model(exposed)
        model = cg.models.from_statsmodels(exposed, exposure=trials[:24])
        np.testing.assert_allclose(
            model.mean_std(NEW_E)[0][:, 0], exposed.predict(NEW_E, exposure=trials[:24])
        )

    def test_quasi_likelihood_is_no_distribution(self):
        results = sm.GLM(COUNTS, E, sm.families.Poisson()).fit(scale="X2")
        with pytest.raises(UnsupportedModelError, match="quasi-likelihood"):
            cg.kcsd(results, NEW_E, COUNTS[:24])


class TestTorch:
    td = pytest.importorskip("torch").distributions

    def families(self):
        import torch

        w = torch.tensor([[0.6, -0.4]], dtype=torch.float64).T
        eta = lambda x: (x.double() @ w)[:, 0]  # noqa: E731
        td = self.td
        return {
            "categorical": lambda x: td.Categorical(
                logits=torch.stack([eta(x), -eta(x), 0 * eta(x)], -1)
            ),
            "bernoulli": lambda x: td.Bernoulli(logits=eta(x)),
            "bernoulli-column": lambda x: td.Bernoulli(probs=torch.sigmoid(eta(x))[:, None]),
            "poisson": lambda x: td.Poisson(torch.exp(eta(x))),
            "negative-binomial": lambda x: td.NegativeBinomial(3.0, logits=eta(x)),
            "binomial": lambda x: td.Binomial(7, logits=eta(x)),
        }

    @pytest.mark.parametrize(
        "name",
        ["categorical", "bernoulli", "bernoulli-column", "poisson", "negative-binomial", "binomial"],
    )
    def test_families(self, name):
        import torch

        make = self.families()[name]
        dist = make(torch.tensor(NEW))
        y = dist.sample().numpy().reshape(-1)
        check_discrete(cg.from_torch(make, batch_size=10), NEW, y, most=400)
        own = cg.from_torch(make).probe(y, NEW).given(NEW)
        theirs = dist.log_prob(torch.tensor(y).reshape(dist.batch_shape)).numpy().reshape(-1)
        np.testing.assert_allclose(own.log_prob(y, NEW), theirs, atol=1e-5)
        if name not in ("bernoulli-column",):
            check_discrete(cg.as_model(dist), NEW, y, most=400)

    def test_a_head_of_logits(self):
        import torch

        net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3))
        model = cg.from_torch(lambda x: self.td.Categorical(logits=net(x)))
        check_discrete(model, NEW, CLASSES[:24])
        assert net.training
        with pytest.raises(UnsupportedModelError, match=r"Categorical\(logits=\.\.\.\)"):
            cg.kcsd(cg.from_torch(net), NEW, CLASSES[:24])


class TestJax:
    def families(self):
        import jax.numpy as jnp
        import numpyro.distributions as nd

        eta = lambda x: 0.6 * x[..., 0] - 0.4 * x[..., 1]  # noqa: E731
        return {
            "categorical": lambda x: nd.Categorical(logits=jnp.stack([eta(x), -eta(x), 0 * eta(x)], -1)),
            "bernoulli": lambda x: nd.Bernoulli(logits=eta(x)),
            "poisson": lambda x: nd.Poisson(jnp.exp(eta(x))),
            "negative-binomial": lambda x: nd.NegativeBinomial2(jnp.exp(eta(x)), 3.0),
            "gamma-poisson": lambda x: nd.GammaPoisson(3.0, jnp.exp(-eta(x))),
            "binomial": lambda x: nd.Binomial(7, logits=eta(x)),
        }

    @pytest.mark.parametrize(
        "name", ["categorical", "bernoulli", "poisson", "negative-binomial", "gamma-poisson", "binomial"]
    )
    def test_families(self, name):
        import jax

        make = self.families()[name]
        dist = make(NEW)
        y = np.asarray(dist.sample(jax.random.key(0))).astype(float)
        if name == "categorical":  # the others are read alike
            check_discrete(cg.from_jax(make), NEW, y, most=400)
        own = cg.from_jax(make).probe(y, NEW).given(NEW)
        np.testing.assert_allclose(own.log_prob(y, NEW), dist.log_prob(y.astype(int)), atol=1e-4)


class TestSkpro:
    @pytest.mark.parametrize("name", ["Poisson", "NegativeBinomial", "Binomial", "Geometric"])
    def test_distributions(self, name):
        import skpro.distributions as distr

        mean = np.exp(0.5 * NEW[:, :1])
        given = {
            "Poisson": {"mu": mean},
            "NegativeBinomial": {"mu": mean, "alpha": 2.0},
            "Binomial": {"n": 6, "p": 1 / (1 + mean)},
            "Geometric": {"p": 1 / (1 + mean)},
        }[name]
        dist = getattr(distr, name)(**given)
        check_discrete(cg.as_model(dist), NEW, most=150)
        mean, std = cg.as_model(dist).mean_std(NEW)
        np.testing.assert_allclose(mean, dist.mean())
        np.testing.assert_allclose(std**2, dist.var())

    def test_a_regressor(self):
        from skpro.regression.linear import GLMRegressor

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = GLMRegressor("Poisson", add_constant=True).fit(
                pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame({"y": COUNTS})
            )
        new = pd.DataFrame(NEW, columns=["a", "b"])
        check_discrete(cg.as_model(fitted), new, COUNTS[:24], most=200)


class TestNGBoost:
    def test_classifier(self):
        from ngboost import NGBClassifier
        from ngboost.distns import k_categorical

        fitted = NGBClassifier(Dist=k_categorical(3), n_estimators=4, verbose=False).fit(X, CLASSES)
        check_discrete(cg.as_model(fitted), NEW)
        np.testing.assert_allclose(cg.as_model(fitted).given(NEW).values, fitted.predict_proba(NEW))
        check_discrete(cg.as_model(fitted.pred_dist(NEW)), NEW)

    def test_counts(self):
        from ngboost import NGBRegressor
        from ngboost.distns import Poisson as Theirs

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = NGBRegressor(Dist=Theirs, n_estimators=4, verbose=False).fit(X, COUNTS)
        assert isinstance(cg.as_model(fitted).given(NEW), Poisson)
        check_discrete(cg.as_model(fitted), NEW, most=150)


def test_new_distributions_of_scipy():
    model = cg.as_model(stats.make_distribution(stats.poisson)(mu=np.exp(NEW[:, 0])))
    check_discrete(model, NEW, most=150)
