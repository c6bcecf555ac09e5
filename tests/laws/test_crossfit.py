"""Out-of-fold laws: who predicts which row, how folds become one law, level of a test."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression

import condgof as cg
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    UnsupportedModelError,
)
from condgof.laws import DiscreteFolds, Folds, Probabilities, join
from condgof.models import Model, Normal, NormalMixture
from laws.conformance import check_law
from levels import assert_not_too_small

N = 90
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
Y = X.sum(axis=1) + RNG.normal(size=N)
#: The same folds as groups.
GIVEN = {"folds": 3, "groups": np.arange(N) % 3, "rng": 0}
SPLIT = [
    (np.flatnonzero(np.arange(N) % 3 != k), np.flatnonzero(np.arange(N) % 3 == k))
    for k in range(3)
]


def split_law(fit, x, y, test):
    """The law of rows by a fit of the others, as a user would write it."""
    rest = np.setdiff1d(np.arange(len(y)), test)
    return fit(x[rest], y[rest])(x[test])


class TestRows:
    def test_every_row_is_predicted_by_a_fit_of_the_other_folds(self):
        law = cg.crossfit(cg.fits.ols(), X, Y, **GIVEN)
        assert isinstance(law, Normal)
        assert law.rows == N
        for _, test in SPLIT:
            alone = split_law(cg.fits.ols(), X, Y, test)
            for a, b in zip(law.take(test).mean_std(), alone.mean_std(), strict=True):
                np.testing.assert_allclose(a, b)

    @pytest.mark.parametrize("folds", [2, 5, N])
    def test_folds_are_drawn(self, folds):
        seen = []

        def fit(x, y):
            seen.append(np.flatnonzero(np.isin(Y, y)))
            return cg.fits.ols()(x, y)

        law = cg.crossfit(fit, X, Y, folds=folds, rng=0)
        assert law.rows == N
        assert len(seen) == folds
        held = [np.setdiff1d(np.arange(N), rows) for rows in seen]
        np.testing.assert_array_equal(np.sort(np.concatenate(held)), np.arange(N))
        assert max(map(len, held)) - min(map(len, held)) <= 1

    def test_the_same_rng_gives_the_same_law(self):
        one, two, other = (
            cg.crossfit(cg.fits.ols(), X, Y, rng=s).score(Y) for s in (1, 1, 2)
        )
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, other)

    def test_a_fit_that_takes_an_rng_gets_one_of_its_own(self):
        drawn = []

        def fit(x, y, rng):
            drawn.append(rng.random())
            return cg.fits.ols()(x, y)

        for _ in range(2):
            cg.crossfit(fit, X, Y, rng=3)
        assert len(set(drawn)) == 5
        assert drawn[:5] == drawn[5:]

    def test_parameters_by_name(self):
        def fit(y, x):
            return cg.fits.ols()(x, y)

        wanted = cg.crossfit(cg.fits.ols(), X, Y, rng=0).score(Y)
        np.testing.assert_array_equal(cg.crossfit(fit, X, Y, rng=0).score(Y), wanted)

    def test_nothing_of_the_caller_is_changed(self):
        x = X.copy()
        y = Y.copy()

        def fit(x, y):
            model = cg.fits.ols()(x, y)
            x[:] = 0.0
            y[:] = 0.0
            return model

        cg.crossfit(fit, x, y, rng=0)
        np.testing.assert_array_equal(x, X)
        np.testing.assert_array_equal(y, Y)

    @pytest.mark.parametrize("kind", [list, pd.DataFrame, pl.DataFrame])
    def test_containers(self, kind):
        wanted = cg.crossfit(cg.fits.ols(), X, Y, rng=0).score(Y)
        if kind is list:
            x = X.tolist()
            y = Y.tolist()
        else:
            x = kind({"a": X[:, 0], "b": X[:, 1]})
            y = pd.Series(Y, name="y") if kind is pd.DataFrame else pl.Series("y", Y)
        np.testing.assert_allclose(cg.crossfit(cg.fits.ols(), x, y, rng=0).score(Y), wanted)

    def test_frames_with_an_index_stay_in_order(self):
        index = np.random.default_rng(1).permutation(N)
        x = pd.DataFrame(X, columns=["a", "b"], index=index)
        y = pd.Series(Y, index=index)
        law = cg.crossfit(cg.fits.ols(), x, y, rng=0)
        np.testing.assert_allclose(
            law.score(Y), cg.crossfit(cg.fits.ols(), X, Y, rng=0).score(Y)
        )
        with pytest.raises(InputError, match="indices of x and y"):
            cg.crossfit(cg.fits.ols(), x, y.sort_index())


class TestGroups:
    GROUPS = np.repeat(np.arange(18), 5)[np.random.default_rng(5).permutation(N)]

    def test_groups_stay_together(self):
        seen = []

        def fit(x, y):
            seen.append(set(self.GROUPS[np.isin(Y, y)]))
            return cg.fits.ols()(x, y)

        cg.crossfit(fit, X, Y, groups=self.GROUPS, rng=0)
        held = [set(range(18)) - groups for groups in seen]
        assert sorted(group for groups in held for group in groups) == list(range(18))

    def test_folds_of_groups_are_of_about_the_same_size(self):
        groups = np.repeat(np.arange(9), [40, 10, 10, 10, 4, 4, 4, 4, 4])
        sizes = []

        def fit(x, y):
            sizes.append(N - len(y))
            return cg.fits.ols()(x, y)

        cg.crossfit(fit, X, Y, groups=groups, folds=3, rng=0)
        assert sorted(sizes) == [24, 26, 40]

    def test_a_column_of_x(self):
        frame = pd.DataFrame(X, columns=["a", "b"]).assign(g=[f"g{k}" for k in self.GROUPS])

        def fit(x, y):
            model = cg.fits.ols()(x[["a", "b"]], y)
            return Model(lambda x: model(x[["a", "b"]]))

        by_name = cg.crossfit(fit, frame, Y, groups="g", rng=0)
        by_array = cg.crossfit(fit, frame, Y, groups=self.GROUPS, rng=0)
        np.testing.assert_array_equal(by_name.score(Y), by_array.score(Y))

    def test_more_folds_than_groups(self):
        with pytest.raises(
            InputError, match="between 2 and the number of groups, 3, got 5"
        ):
            cg.crossfit(cg.fits.ols(), X, Y, groups=np.arange(N) % 3)


class TestOneLaw:
    def test_families_are_joined(self):
        def mixture(x, y):
            spread = float(y.std())

            def law(x):
                means = np.column_stack([x[:, 0] - spread, x[:, 0] + spread])
                return NormalMixture([0.5, 0.5], means, [spread, 2 * spread])

            return Model(law)

        law = cg.crossfit(mixture, X, Y, **GIVEN)
        assert isinstance(law, NormalMixture)
        check_law(law, X, Y, draws=500)
        for _, test in SPLIT:
            alone = split_law(mixture, X, Y, test)
            np.testing.assert_allclose(
                law.take(test).log_prob(Y[test]), alone.log_prob(Y[test])
            )

    def test_several_columns_of_y(self):
        y = np.column_stack([Y, X[:, 0] - Y + RNG.normal(size=N)])
        law = cg.crossfit(cg.fits.ols(), X, y, **GIVEN)
        assert law.cov.value.shape == (N, 2, 2)
        alone = split_law(cg.fits.ols(), X, y, SPLIT[1][1])
        np.testing.assert_allclose(
            law.take(SPLIT[1][1]).score(y[SPLIT[1][1]]), alone.score(y[SPLIT[1][1]])
        )
        # Folds of 60 rows vary too much for a verdict, which is not what is asked here.
        object.__setattr__(law, "fold_error", None)
        check_law(law, X, y, draws=500)

    def test_a_number_that_all_folds_share_stays_one(self):
        law = cg.crossfit(
            lambda x, y: Normal(mean=lambda x: x[:, 0] + y.mean(), std=2.0), X, Y, **GIVEN
        )
        assert law.std.value.shape == ()
        assert law.mean.value.shape == (N,)

    def test_families_that_differ(self):
        """A fold may choose another family; the rows are asked one fold after the other."""

        def chosen(x, y):
            scale = float(np.exp(y.mean()))
            if len(chosen.seen) % 2:
                chosen.seen.append("gamma")
                return cg.models.Gamma(
                    shape=2.0, scale=lambda x: scale * np.exp(0.1 * x[:, 0])
                )
            chosen.seen.append("lognormal")
            return cg.models.LogNormal(mu=lambda x: 0.1 * x[:, 0], sigma=0.4 + 0.01 * scale)

        chosen.seen = []
        y = np.exp(0.3 * Y)
        law = cg.crossfit(chosen, X, y, **GIVEN)
        assert isinstance(law, Folds)
        # Folds disagree on purpose, and tests would refuse them.
        object.__setattr__(law, "fold_error", None)
        check_law(law, X, draws=500, needs=("score", "cdf", "sample", "mean_std"))
        low, high = law.support
        assert low.shape == high.shape == (N, 1)

    def test_a_family_on_the_line_beside_one_that_is_not(self):
        laws = [
            (np.arange(0, N, 2), Normal(np.zeros(N // 2), 1.0)),
            (np.arange(1, N, 2), cg.models.Gamma(np.ones(N // 2), 1.0)),
        ]
        law = join(laws)
        np.testing.assert_array_equal(
            law.support[0][:, 0], np.where(np.arange(N) % 2, 0.0, -np.inf)
        )
        assert not join([laws[0], (laws[1][0], cg.from_scores(np.zeros(N // 2)))]).can(
            "cdf"
        )

    def test_predictions_of_other_kinds(self):
        levels = [0.1, 0.5, 0.9]

        def quantiles(x, y):
            at = np.quantile(y, levels)
            return Model(lambda x: cg.from_quantiles(x[:, :1] + at, levels))

        def draws(x, y):
            return Model(lambda x: cg.from_draws(x[:, :1] + y[:20], rng=4))

        def bins(x, y):
            edges = np.linspace(y.min() - 9, y.max() + 9, 6)
            return Model(lambda x: cg.from_bins(edges, np.full((len(x), 5), 0.2)))

        for fit in (quantiles, draws, bins):
            law = cg.crossfit(fit, X, Y, **GIVEN)
            assert not isinstance(law, Folds)
            assert law.rows == N
            check_law(law, X, Y, steps=True, mass=0.05, draws=500)
        np.testing.assert_array_equal(cg.crossfit(draws, X, Y, **GIVEN).ids, np.arange(N))

    def test_predictions_with_an_index_are_one_law(self):
        import pandas as pd

        frame = pd.DataFrame({"a": X[:, 0]}, index=np.arange(N)[::-1])
        law = cg.crossfit(
            lambda x, y: Model(lambda x: Normal(x["a"], 1.0)), frame, Y, **GIVEN
        )
        assert isinstance(law, Normal)
        assert law.index is None
        np.testing.assert_array_equal(law.mean_std()[0][:, 0], X[:, 0])

    def test_draws_of_other_numbers_stay_apart(self):
        def fit(x, y):
            count = 5 + int(Y[0] in y)
            return Model(lambda x: cg.from_draws(x[:, :1] + y[:count]))

        law = cg.crossfit(fit, X, Y, **GIVEN)
        assert isinstance(law, Folds)
        assert law.normal_scores(Y).shape == (N, 1)

    def test_notes_are_kept(self):
        def crossing(x, y):
            def law(x):
                quantiles = np.tile([0.0, 1.0], (len(x), 1))
                quantiles[0] = [1.0, 0.0]
                return cg.from_quantiles(quantiles, [0.1, 0.9])

            return Model(law)

        law = cg.crossfit(crossing, X, Y, **GIVEN)
        assert "predicted quantiles cross in 1 of 30" in law.notes[0]
        assert "3 fits" in law.notes[-1]


class TestClasses:
    LABELS = np.array(["a", "b", "c"])[np.digitize(Y, [-1.0, 1.5])]

    def test_probabilities_are_joined(self):
        law = cg.crossfit(LogisticRegression(), X, self.LABELS, **GIVEN)
        assert isinstance(law, Probabilities)
        for train, test in SPLIT:
            theirs = (
                LogisticRegression()
                .fit(X[train], self.LABELS[train])
                .predict_proba(X[test])
            )
            np.testing.assert_allclose(law.values[test], theirs)
        check_law(law, X, self.LABELS)

    @pytest.mark.parametrize("numbers", [False, True])
    def test_a_fold_that_misses_a_class(self, numbers):
        """A class of one fold alone is unknown to the fit that leaves this fold out."""
        rare = np.flatnonzero(self.LABELS == "c")[:2]
        y = np.where(self.LABELS == "c", "b", self.LABELS)
        y[rare] = "rare"
        y = np.searchsorted(np.unique(y), y) if numbers else y
        test = np.union1d(rare, np.random.default_rng(2).permutation(N)[:45])
        law = cg.crossfit(
            LogisticRegression(), X, y, folds=2, groups=np.isin(np.arange(N), test)
        )
        assert len(law.classes.labels) == 3
        assert (law.values[test, 2] == 0).all()
        assert (law.values[np.setdiff1d(np.arange(N), test)] > 0).all()
        np.testing.assert_allclose(law.values.sum(axis=1), 1.0)
        result = cg.adaptive(law, X, y, n_boot=50, rng=0)
        assert any("probability 0 in 2 rows" in note for note in result.details["notes"])

    def test_ordered_classes(self):
        def laws(*labels):
            parts = (
                cg.probabilities(np.full((2, len(own)), 1 / len(own)), own, ordered=True)
                for own in labels
            )
            return [(np.arange(2 * k, 2 * k + 2), law) for k, law in enumerate(parts)]

        law = join(laws(["low", "mid", "high"], ["low", "high"]))
        assert law.ordered
        assert law.classes.names == ("low", "mid", "high")
        np.testing.assert_array_equal(law.values[2:], [[0.5, 0.0, 0.5]] * 2)
        assert join(laws([1, 3], [1, 2])).classes.names == ("1", "2", "3")
        with pytest.raises(InputError, match="No fold has all of the ordered classes"):
            join(laws(["low", "mid"], ["low", "high"]))
        with pytest.raises(InputError, match="by numbers, and some by names"):
            join(laws(["low", "mid"], [1, 2]))

    def test_counts(self):
        y = RNG.poisson(np.exp(0.5 * X[:, 0] + 1))
        law = cg.crossfit(cg.fits.glm("poisson"), X, y, **GIVEN)
        assert isinstance(law, cg.models.Poisson)
        # Folds of 60 rows vary too much for a verdict, which is not what is asked here.
        object.__setattr__(law, "fold_error", None)
        check_law(law, X, y)

    def test_counts_that_are_no_closed_form(self):
        def fit(x, y):
            return cg.from_scipy(
                lambda x: stats.betabinom(9, 2.0, np.exp(x[:, 0]) * float(y.mean()))
            )

        y = RNG.integers(0, 10, N)
        law = cg.crossfit(fit, X, y, **GIVEN)
        assert isinstance(law, DiscreteFolds)
        assert law.discrete
        check_law(law, X, y)

    def test_kinds_that_do_not_go_together(self):
        laws = [
            (np.arange(2), Normal(np.zeros(2), 1.0)),
            (np.arange(2, 4), cg.models.Poisson(np.ones(2))),
        ]
        with pytest.raises(
            InputError, match="Fold 1 gives a law of a continuous y, and fold 2 of a discre"
        ):
            join(laws)
        quantiles = [
            cg.from_quantiles(np.zeros((2, len(at))), at)
            for at in ([0.5], [0.5], [0.1, 0.9])
        ]
        with pytest.raises(
            InputError, match=r"Fold 1 .*: 2\), and fold 3 .*: 3\), which cannot be put"
        ):
            join([(np.arange(2 * k, 2 * k + 2), law) for k, law in enumerate(quantiles)])


class TestWhatMayFit:
    @pytest.mark.parametrize("estimator", [BayesianRidge(), LinearRegression()])
    def test_an_estimator_is_cloned(self, estimator):
        law = cg.crossfit(estimator, X, Y, rng=0)
        assert isinstance(law, Normal)
        assert not hasattr(estimator, "coef_")
        wanted = cg.crossfit(cg.fits.sklearn(estimator), X, Y, rng=0)
        np.testing.assert_array_equal(law.score(Y), wanted.score(Y))

    def test_random_states_come_from_the_rng(self):
        forest = RandomForestRegressor(n_estimators=3)
        one, two = (
            cg.crossfit(cg.fits.sklearn(forest, cv=2), X, Y, folds=3, rng=1)
            for _ in range(2)
        )
        np.testing.assert_array_equal(one.score(Y), two.score(Y))

    def test_a_formula(self):
        frame = pd.DataFrame(X, columns=["a", "b"])
        law = cg.crossfit(
            lambda x, y: smf.ols("y ~ a + b", x.assign(y=y)).fit(), frame, Y, **GIVEN
        )
        mean = law.mean_std()[0][:, 0]
        np.testing.assert_allclose(
            mean, cg.crossfit(cg.fits.ols(), X, Y, **GIVEN).mean_std()[0][:, 0]
        )

    def test_scikit_learn_is_not_imported_for_other_fits(self):
        code = (
            "import sys, numpy as np, condgof as cg\nx = np.arange(30.0); law ="
            " cg.crossfit(cg.fits.ols(), x, x + np.sin(x), rng=0)\nprint(law.rows,"
            " 'sklearn' in sys.modules)"
        )
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert run.stdout.split() == ["30", "False"]


class TestErrors:
    @pytest.mark.parametrize(
        ("folds", "error", "match"),
        [
            (1, InputError, "between 2 and the number of rows, 90, got 1"),
            (91, InputError, "got 91"),
            (True, InputError, "folds must be an integer"),
            ("five", InputError, "folds must be an integer"),
            (2.5, InputError, "folds must be an integer"),
            (SPLIT, InputError, "folds must be an integer"),
        ],
    )
    def test_folds(self, folds, error, match):
        with pytest.raises(error, match=match):
            cg.crossfit(cg.fits.ols(), X, Y, folds=folds)

    def test_an_error_says_which_fold(self):
        def fit(x, y):
            if not np.isin(Y[2], y).any():
                raise ZeroDivisionError("the third")
            return cg.fits.ols()(x, y)

        with pytest.raises(
            InputError,
            match=r"Fold \d of 3 \(60 rows to fit, 30 held out\) failed: ZeroDiv",
        ):
            cg.crossfit(fit, X, Y, **GIVEN)
        with pytest.raises(InputError, match="2 rows cannot tell 3 coefficients"):
            cg.crossfit(cg.fits.ols(), X[:3], Y[:3], folds=3, rng=0)
        levels = pd.DataFrame({"k": np.where(np.arange(N) == 7, "z", "a")})
        with pytest.raises(InputError, match="'z' is not a level"):
            cg.crossfit(cg.fits.ols(), levels, Y)

    @pytest.mark.parametrize(
        ("fit", "match"),
        [
            (Normal(0.0, 1.0), "fit must be a function"),
            (Model(lambda x: Normal(x[:, 0], 1.0)), "fit must be a function"),
            (LinearRegression, "got the class LinearRegression"),
            (3, "fit must be a function"),
            (cg.fits.ols, r"call it first: ols\(\.\.\.\)"),
            (
                lambda x, y: (np.zeros(30), np.ones(30)),
                "fit returned predictions for 30 rows",
            ),
            (lambda x, y: "model", "Cannot make a model of str"),
        ],
    )
    def test_what_cannot_fit(self, fit, match):
        with pytest.raises(InputTypeError, match=match):
            cg.crossfit(fit, X, Y)

    def test_rows_that_do_not_match(self):
        with pytest.raises(ShapeError, match="x has 90 rows and y has 89"):
            cg.crossfit(cg.fits.ols(), X, Y[:-1])
        with pytest.raises(NonFiniteError, match="groups has missing values"):
            cg.crossfit(
                cg.fits.ols(), X, Y, groups=np.where(np.arange(N) == 3, np.nan, 1.0)
            )


def test_level_of_least_squares():
    """A line fitted to a line; `make calibrate` has cells of least squares."""
    pvalues = []
    refused = 0
    for trial in range(20):
        rng = np.random.default_rng([trial, 7])
        x = rng.normal(size=(150, 2))
        y = x @ [1.0, -0.5] + rng.normal(size=150)
        law = cg.crossfit(cg.fits.ols(), x, y, rng=trial)
        try:
            result = cg.adaptive(law, x, y, n_boot=99, rng=trial, engine=1)
            pvalues.append(result.pvalue)
        except UnsupportedModelError:
            refused += 1
    assert_not_too_small(pvalues)
    assert refused <= 1


def test_a_wrong_family_is_found():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 300)
    y = x + 0.5 * x**2 + rng.normal(size=300)
    assert cg.adaptive(
        cg.crossfit(cg.fits.ols(), x, y, rng=0), x, y, n_boot=200, rng=0
    ).reject()


class TestOutOfFoldLawsAreNoFunctionsOfX:
    """A fit to the other rows goes against the noise of those that it has not seen."""

    X, NOISE = np.random.default_rng(3).normal(size=(2, 60))

    def fit(self, x, y):
        slope = float(x @ y / (x @ x))
        return cg.from_log_prob(lambda y, x: -0.5 * (y - slope * x) ** 2)

    def test_also_where_they_are_known_by_a_log_density(self):
        y = self.X + self.NOISE
        law = cg.crossfit(self.fit, self.X, y, folds=3, rng=0)
        told = law.facing(y)
        assert told.can("normal_scores")
        assert not told.of_x
        assert not told.take(np.arange(7)).of_x

    @pytest.mark.parametrize("kind", ["folds", "classes"])
    def test_also_of_some_rows(self, kind):
        y = self.X + self.NOISE
        if kind == "folds":
            law = cg.crossfit(self.fit, self.X, y, folds=3, rng=0)
        else:
            steep = cg.models.Model(lambda x: cg.probabilities(1 / (1 + np.exp(-x))))
            law = cg.crossfit(lambda x, y: steep, self.X, y > 0, folds=3, rng=0)
        assert not law.of_x
        assert not law.take(np.arange(7)).of_x
