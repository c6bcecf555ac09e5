"""Classifiers and count models of other libraries pass the suite of a discrete y."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.discrete import count_model, truncated_model
from statsmodels.miscmodels.ordinal_model import OrderedModel

import condgof as cg
from condgof.errors import InputError, InputTypeError, ShapeError, UnsupportedModelError
from condgof.laws import Probabilities, ScipyCounts
from condgof.models import (
    Binomial,
    HurdleNegativeBinomial,
    HurdlePoisson,
    NegativeBinomial,
    Poisson,
    ZeroInflatedNegativeBinomial,
    ZeroInflatedPoisson,
)
from laws.conformance import check_law

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2))
NEW = RNG.normal(size=(24, 2))
ETA = X @ [0.6, -0.4]
COUNTS = RNG.poisson(np.exp(0.5 + ETA))
BINARY = (RNG.random(150) < 1 / (1 + np.exp(-ETA))).astype(int)
CLASSES = np.minimum(COUNTS, 2)
NAMES = np.array(["none", "one", "more"])[CLASSES]
E = sm.add_constant(X)
NEW_E = sm.add_constant(NEW)


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
        check_law(cg.as_model(fitted), NEW, snapshot=lambda: pickle.dumps(fitted))
        law = cg.as_model(fitted)(NEW)
        np.testing.assert_allclose(law.values, fitted.predict_proba(NEW))
        classes = fitted.classes_
        if classes.dtype == bool:
            classes = classes.astype(int)
        assert [str(c) for c in law.classes.labels] == [str(c) for c in classes]

    def test_frames(self):
        frame = pd.DataFrame(X, columns=["a", "b"])
        fitted = LogisticRegression().fit(frame, NAMES)
        new = pd.DataFrame(NEW, columns=["a", "b"], index=RNG.integers(3, size=24))
        y = NAMES[:24]
        wanted = cg.kcsd(LogisticRegression().fit(X, NAMES), NEW, y, rng=0).pvalue
        assert cg.kcsd(fitted, new, pd.Series(y, index=new.index), rng=0).pvalue == wanted
        assert cg.kcsd(fitted, pl.from_pandas(new), y, rng=0).pvalue == wanted

    def test_anything_with_predict_proba(self):
        class Own:
            classes_ = np.array(["none", "one", "more"])

            def predict_proba(self, x):
                return np.full((len(x), 3), 1 / 3)

        assert 0 < cg.adaptive(Own(), NEW, NAMES[:24], rng=0).pvalue <= 1
        with pytest.raises(
            InputError, match="scikit-learn failed: ValueError: X has 1 features"
        ):
            cg.adaptive(LogisticRegression().fit(X, CLASSES), NEW[:, :1], CLASSES[:24])
        Own.predict_proba = lambda self, x: np.ones((3, 3)) / 3
        with pytest.raises(ShapeError, match="has 3 rows for 24 rows of x"):
            cg.adaptive(Own(), NEW, NAMES[:24])
        Own.predict_proba = lambda self, x: [np.ones((24, 2)) / 2] * 2
        with pytest.raises(ShapeError, match=r"got \(2, 24, 2\)"):
            cg.adaptive(Own(), NEW, NAMES[:24])


class TestStatsmodels:
    @pytest.mark.parametrize(
        ("make", "kind"),
        [
            (lambda: sm.GLM(COUNTS, E, sm.families.Poisson()).fit(), Poisson),
            (
                lambda: sm.GLM(COUNTS, E, sm.families.NegativeBinomial(alpha=0.7)).fit(),
                NegativeBinomial,
            ),
            (lambda: sm.GLM(BINARY, E, sm.families.Binomial()).fit(), Probabilities),
            (lambda: sm.Poisson(COUNTS, E).fit(disp=0), Poisson),
            (
                lambda: sm.NegativeBinomial(COUNTS + CLASSES, E).fit(disp=0),
                NegativeBinomial,
            ),
            (
                lambda: sm.NegativeBinomial(COUNTS + CLASSES, E, loglike_method="nb1").fit(
                    disp=0
                ),
                NegativeBinomial,
            ),
            (
                lambda: sm.ZeroInflatedPoisson(COUNTS, E).fit(disp=0, maxiter=200),
                ZeroInflatedPoisson,
            ),
            (
                lambda: sm.GeneralizedPoisson(COUNTS, E).fit(disp=0, maxiter=200),
                ScipyCounts,
            ),
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
        assert isinstance(model(NEW_E), kind)
        check_law(model, NEW_E, most=150)

    def test_moments_are_those_of_statsmodels(self):
        for results in (
            sm.NegativeBinomial(COUNTS + CLASSES, E, loglike_method="nb1").fit(disp=0),
            sm.NegativeBinomial(COUNTS + CLASSES, E).fit(disp=0),
        ):
            mean, std = cg.as_model(results)(NEW_E).mean_std()
            theirs = results.get_distribution(NEW_E)
            np.testing.assert_allclose(mean[:, 0], theirs.mean())
            np.testing.assert_allclose(std[:, 0], theirs.std())

    def test_moments_of_inflated_counts(self):
        from statsmodels.distributions import discrete

        mu = np.exp(NEW[:4, 0])
        for law in (
            discrete.genpoisson_p(mu, 0.4, 2),
            discrete.zipoisson(mu, 0.3),
            discrete.zinegbin(mu, 0.4, 1, 0.3),
            discrete.zigenpoisson(mu, 0.4, 2, 0.3),
        ):
            mean, std = cg.as_model(law)(NEW[:4]).mean_std()
            np.testing.assert_allclose(mean[:, 0], law.mean(), rtol=1e-6)
            np.testing.assert_allclose(std[:, 0], law.std(), rtol=1e-6)

    def test_classes_keep_their_order(self):
        results = OrderedModel(CLASSES, X, distr="logit").fit(method="bfgs", disp=0)
        law = cg.as_model(results)(NEW)
        assert law.ordered
        np.testing.assert_allclose(law.values, results.predict(NEW))
        check_law(cg.as_model(results), NEW)
        named = sm.MNLogit(NAMES, E).fit(disp=0)
        assert cg.as_model(named)(NEW_E).classes.names == ("more", "none", "one")

    def test_formulas(self):
        frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=COUNTS)
        new = pd.DataFrame(NEW, columns=["a", "b"])
        y = COUNTS[:24]
        wanted = cg.kcsd(
            sm.Poisson(COUNTS, E).fit(disp=0), NEW_E, y, kernel_x=cg.Gaussian(1.0), rng=0
        )
        for results in (
            smf.poisson("y ~ a + b", frame).fit(disp=0),
            smf.glm("y ~ a + b", frame, family=sm.families.Poisson()).fit(),
        ):
            by_formula = cg.kcsd(results, new, y, kernel_x=cg.Gaussian(1.0), rng=0)
            assert by_formula.statistic == pytest.approx(wanted.statistic, rel=1e-5)

    def test_trials_offset_and_exposure(self):
        trials = RNG.integers(1, 9, 150)
        won = RNG.binomial(trials, 1 / (1 + np.exp(-ETA)))
        results = sm.GLM(
            np.column_stack([won, trials - won]), E, sm.families.Binomial()
        ).fit()
        with pytest.raises(InputError, match="fitted with trials"):
            cg.as_model(results)
        model = cg.from_statsmodels(results, trials=trials[:24])
        assert isinstance(model(NEW_E), Binomial)
        check_law(model, NEW_E)
        exposed = sm.Poisson(COUNTS, E, exposure=trials).fit(disp=0)
        with pytest.raises(InputError, match="fitted with exposure"):
            cg.as_model(exposed)
        model = cg.from_statsmodels(exposed, exposure=trials[:24])
        np.testing.assert_allclose(
            model(NEW_E).mean_std()[0][:, 0], exposed.predict(NEW_E, exposure=trials[:24])
        )

    def test_quasi_likelihood_is_no_distribution(self):
        results = sm.GLM(COUNTS, E, sm.families.Poisson()).fit(scale="X2")
        with pytest.raises(UnsupportedModelError, match="quasi-likelihood"):
            cg.kcsd(results, NEW_E, COUNTS[:24])


def quietly(model, **options):
    """Fit, whether or not that converges: any parameters will do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(disp=0, maxiter=60, **options)


class TestOtherZeros:
    """Zero-inflated, hurdle and truncated counts, against statsmodels' probabilities."""

    RNG = np.random.default_rng(1)
    E = sm.add_constant(RNG.normal(size=(600, 2)))
    Y = RNG.poisson(np.exp(E @ [0.8, 0.6, -0.4]) * RNG.gamma(2.0, 0.5, 600))
    Y *= RNG.random(600) > 1 / (1 + np.exp(1 - E[:, 1]))
    Z = E[:, :2]
    NEW_Z = NEW_E[:, :2]
    OFFSET = 0.3 * NEW[:, 0]

    def check(self, results, law, **options):
        values = np.arange(30)
        theirs = np.asarray(
            results.predict(NEW_E, which="prob", y_values=values, **options)
        )
        ours = np.column_stack([np.exp(law.log_prob(np.full(24, k))) for k in values])
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
        np.testing.assert_allclose(
            law.cdf_grid(values), np.cumsum(theirs, axis=1), atol=1e-10
        )

    @pytest.mark.parametrize(
        ("make", "options", "kind"),
        [
            (count_model.ZeroInflatedPoisson, {}, ZeroInflatedPoisson),
            (count_model.ZeroInflatedPoisson, {"inflation": "probit"}, ZeroInflatedPoisson),
            (
                count_model.ZeroInflatedNegativeBinomialP,
                {"p": 2},
                ZeroInflatedNegativeBinomial,
            ),
            (
                count_model.ZeroInflatedNegativeBinomialP,
                {"p": 1},
                ZeroInflatedNegativeBinomial,
            ),
            (count_model.ZeroInflatedGeneralizedPoisson, {}, ScipyCounts),
        ],
    )
    def test_zero_inflated(self, make, options, kind):
        fitted = quietly(
            make(self.Y, self.E, exog_infl=self.Z, offset=0.3 * self.E[:, 1], **options)
        )
        with pytest.raises(InputError, match="fitted with offset"):
            cg.as_model(fitted)
        with pytest.raises(
            InputError, match=r"exog_infl=\.\.\.\), an array or a function of x"
        ):
            cg.from_statsmodels(fitted, offset=self.OFFSET)
        model = cg.from_statsmodels(fitted, offset=self.OFFSET, exog_infl=self.NEW_Z)
        assert model.rows == 24
        assert isinstance(model(NEW_E), kind)
        self.check(fitted, model(NEW_E), offset=self.OFFSET, exog_infl=self.NEW_Z)
        if options == {"p": 1}:  # the forms themselves are checked elsewhere
            check_law(model, NEW_E, most=300, tests=False)
        # A constant alone need not be passed, whether or not the fit had it as a column.
        for constant in (None, np.ones((600, 1))):
            plain = quietly(make(self.Y, self.E, exog_infl=constant, **options))
            self.check(plain, cg.as_model(plain)(NEW_E), exog_infl=np.ones((24, 1)))

    def test_exog_infl_by_function(self):
        frame, new = (pd.DataFrame(x, columns=["c", "a", "b"]) for x in (self.E, NEW_E))
        fitted = quietly(
            sm.ZeroInflatedNegativeBinomialP(self.Y, frame, exog_infl=frame[["c", "a"]])
        )
        wanted = cg.from_statsmodels(fitted, exog_infl=self.NEW_Z)(new).mean_std()
        model = cg.from_statsmodels(fitted, exog_infl=lambda x: x[["c", "a"]])
        assert model.rows is None
        for x in (new, pl.from_pandas(new)):
            np.testing.assert_array_equal(model(x).mean_std(), wanted)
        with pytest.raises(InputError, match="KeyError:"):
            cg.from_statsmodels(fitted, exog_infl=lambda x: x[["c", "z"]])(new)
        with pytest.raises(
            InputTypeError, match=r"exog_infl must be real numbers.*lambda x: x\['name'\]"
        ):
            cg.from_statsmodels(fitted, exog_infl=["c", "a"])
        with pytest.raises(ShapeError, match=r"exog_infl must have shape \(24, 2\)"):
            cg.from_statsmodels(fitted, exog_infl=self.NEW_Z[:, :1])(new)
        with pytest.raises(InputError, match="on 3 columns, and x has 2"):
            model(new[["c", "a"]])
        with pytest.raises(InputError, match="fitted without exog_infl"):
            cg.from_statsmodels(sm.Poisson(COUNTS, E).fit(disp=0), exog_infl=self.NEW_Z)
        with pytest.raises(InputError, match="fitted without weights"):
            cg.from_statsmodels(sm.Poisson(COUNTS, E).fit(disp=0), weights=NEW[:, 0])

    @pytest.mark.parametrize("zerodist", ["poisson", "negbin"])
    @pytest.mark.parametrize(
        ("options", "kind"),
        [
            ({"dist": "poisson"}, HurdlePoisson),
            ({"dist": "negbin", "p": 1}, HurdleNegativeBinomial),
            ({"dist": "negbin", "p": 2}, HurdleNegativeBinomial),
        ],
    )
    def test_hurdles(self, options, kind, zerodist):
        fitted = quietly(
            truncated_model.HurdleCountModel(self.Y, self.E, zerodist=zerodist, **options)
        )
        law = cg.as_model(fitted)(NEW_E)
        assert isinstance(law, kind)
        self.check(fitted, law)

    @pytest.mark.parametrize(
        ("make", "options", "kind"),
        [
            (truncated_model.TruncatedLFPoisson, {}, HurdlePoisson),
            (
                truncated_model.TruncatedLFNegativeBinomialP,
                {"p": 1},
                HurdleNegativeBinomial,
            ),
            (
                truncated_model.TruncatedLFNegativeBinomialP,
                {"p": 2},
                HurdleNegativeBinomial,
            ),
        ],
    )
    def test_truncated(self, make, options, kind):
        fitted = quietly(make(self.Y, self.E, offset=0.3 * self.E[:, 2], **options))
        with pytest.raises(InputError, match="fitted with offset"):
            cg.as_model(fitted)
        model = cg.from_statsmodels(fitted, offset=lambda x: 0.3 * x[:, 1])
        assert isinstance(model(NEW_E), kind)
        self.check(fitted, model(NEW_E), offset=self.OFFSET)
        assert np.isneginf(model(NEW_E).log_prob(np.zeros(24))).all()

    def test_what_is_refused(self):
        for make, options in (
            (truncated_model.TruncatedLFPoisson, {"truncation": 1}),
            (truncated_model.TruncatedLFGeneralizedPoisson, {}),
        ):
            with pytest.raises(
                UnsupportedModelError,
                match=rf"{make.__name__} of statsmodels.*from_log_prob",
            ):
                cg.as_model(quietly(make(self.Y, self.E, **options)))
        weighted = sm.GLM(
            COUNTS, E, sm.families.Poisson(), var_weights=np.linspace(1, 2, 150)
        ).fit()
        with pytest.raises(UnsupportedModelError, match="var_weights is no distribution"):
            cg.as_model(weighted)


class TestSkpro:
    @pytest.mark.parametrize(
        "name", ["Poisson", "NegativeBinomial", "Binomial", "Geometric"]
    )
    def test_distributions(self, name):
        import skpro.distributions as distr

        mean = np.exp(0.5 * NEW[:, :1])
        options = {
            "Poisson": {"mu": mean},
            "NegativeBinomial": {"mu": mean, "alpha": 2.0},
            "Binomial": {"n": 6, "p": 1 / (1 + mean)},
            "Geometric": {"p": 1 / (1 + mean)},
        }[name]
        dist = getattr(distr, name)(**options)
        check_law(cg.as_model(dist), NEW, most=150)
        mean, std = cg.as_model(dist)(NEW).mean_std()
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
        check_law(cg.as_model(fitted), new, COUNTS[:24], most=200)


class TestNGBoost:
    def test_classifier(self):
        from ngboost import NGBClassifier
        from ngboost.distns import k_categorical

        fitted = NGBClassifier(Dist=k_categorical(3), n_estimators=4, verbose=False).fit(
            X, CLASSES
        )
        check_law(cg.as_model(fitted), NEW)
        np.testing.assert_allclose(
            cg.as_model(fitted)(NEW).values, fitted.predict_proba(NEW)
        )
        check_law(cg.as_model(fitted.pred_dist(NEW)), NEW)

    def test_counts(self):
        from ngboost import NGBRegressor
        from ngboost.distns import Poisson as Theirs

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = NGBRegressor(Dist=Theirs, n_estimators=4, verbose=False).fit(X, COUNTS)
        assert isinstance(cg.as_model(fitted)(NEW), Poisson)
        check_law(cg.as_model(fitted), NEW, most=150)
