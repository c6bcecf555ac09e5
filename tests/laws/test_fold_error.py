"""How far out-of-fold predictions depend on their fits, refusals, and refits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import condgof as cg
from condgof.errors import InputError, RefitError, UnsupportedModelError
from condgof.laws import FoldError
from condgof.models import Model, Normal, StudentT

FAST = {"engine": 1, "n_boot": 99}


def lines(seed, n, columns):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, columns))
    return x, 0.5 * x.sum(axis=1) + rng.standard_normal(n)


def predictive_t(x, y):
    """Least squares with its exact predictive distribution."""
    design = np.column_stack([np.ones(len(x)), x])
    slopes = np.linalg.lstsq(design, y, rcond=None)[0]
    degrees = len(y) - design.shape[1]
    variance = np.square(y - design @ slopes).sum() / degrees
    inverse = np.linalg.inv(design.T @ design)

    def law(new):
        at = np.column_stack([np.ones(len(new)), new])
        leverage = np.einsum("ij,jk,ik->i", at, inverse, at)
        scale = np.sqrt(variance * (1.0 + leverage))
        return StudentT(df=float(degrees), loc=at @ slopes, scale=scale)

    return Model(law)


def mean_error(fit, n, columns, samples=20):
    errors = []
    for seed in range(samples):
        x, y = lines(seed, n, columns)
        errors.append(cg.crossfit(fit, x, y, rng=seed).fold_error)
    return FoldError(*np.mean(errors, axis=0))


class TestFoldError:
    def test_it_is_what_plain_loops_say(self):
        x, y = lines(0, 30, 2)
        folds = np.arange(30) % 3
        law = cg.crossfit(cg.fits.ols(), x, y, folds=3, groups=folds, rng=0)
        # Folds are drawn, so that each is known by the rows that a fit predicts.
        fits = [cg.fits.ols()(x[folds != k], y[folds != k])(x) for k in range(3)]
        mean = np.stack([one.mean_std()[0][:, 0] for one in fits])
        std = np.stack([one.mean_std()[1][:, 0] for one in fits])
        variance = 0.0
        scale = 0.0
        fitted = []
        for i in range(30):
            v = np.mean(std[:, i] ** 2)
            variance += sum((mean[k, i] - mean[:, i].mean()) ** 2 for k in range(3)) / v
            logs = np.log(std[:, i])
            scale += 2.0 * sum((logs[k] - logs.mean()) ** 2 for k in range(3))
            for k in range(3):
                if folds[i] != k:
                    fitted.append((y[i] - mean[k, i]) ** 2 / std[k, i] ** 2)
        wanted = FoldError(
            instability=2.0 / 3.0 * (variance + scale) / 30.0,
            left_out=max(0.0, 2.0 * variance / 30.0 - max(0.0, 1.0 - np.mean(fitted))),
        )
        assert law.fold_error == pytest.approx(wanted)

    def test_least_squares_has_p_over_n(self):
        found = mean_error(cg.fits.ols(), 200, 7)
        assert found.instability == pytest.approx(9 / 200, rel=0.25)
        assert found.left_out == pytest.approx(8 / 160, rel=0.4)  # folds have 160 rows

    def test_a_predictive_distribution_leaves_nothing_out(self):
        found = mean_error(predictive_t, 200, 7)
        assert found.instability == pytest.approx(9 / 200, rel=0.25)
        assert found.left_out < 0.01

    def test_classes_and_counts(self):
        rng = np.random.default_rng(1)
        x = rng.standard_normal((200, 3))
        y = np.where(rng.random(200) < 1.0 / (1.0 + np.exp(-x[:, 0])), "yes", "no")
        law = cg.crossfit(LogisticRegression(C=1e6), x, y, rng=0)
        assert 0.005 < law.fold_error.instability < 0.08
        counts = rng.poisson(np.exp(0.3 * x[:, 0]))
        law = cg.crossfit(cg.fits.glm("poisson"), x, counts, rng=0)
        assert 0.005 < law.fold_error.instability < 0.08

    def test_laws_without_moments_have_none(self):
        def fit(x, y):
            return Model(lambda x: cg.from_scores(-np.asarray(x)[:, :1]))

        x, y = lines(2, 40, 1)
        assert cg.crossfit(fit, x, y, rng=0).fold_error is None

    def test_some_rows_keep_it(self):
        x, y = lines(3, 60, 2)
        law = cg.crossfit(cg.fits.ols(), x, y, rng=0, refits=3)
        some = np.arange(0, 60, 3)
        part = law.take(some)
        assert part.fold_error == law.fold_error
        for whole, taken in zip(law.refits, part.refits, strict=True):
            np.testing.assert_array_equal(taken.y, whole.y[some])
            np.testing.assert_array_equal(
                taken.law.mean_std()[0], whole.law.mean_std()[0][some]
            )


class TestRefusal:
    def test_many_parameters_for_the_rows(self):
        x, y = lines(0, 40, 10)
        law = cg.crossfit(cg.fits.ols(), x, y, rng=0)
        for test in (cg.check, cg.adaptive, cg.kcsd):
            with pytest.raises(UnsupportedModelError, match=r"limit 0\.12.*refits=199"):
                test(law, x, y, rng=0, **FAST)

    def test_other_uses_of_the_law_are_allowed(self):
        x, y = lines(0, 40, 10)
        law = cg.crossfit(cg.fits.ols(), x, y, rng=0)
        cg.compare(law, Normal(mean=np.zeros(40), std=np.ones(40)), x, y)

    def test_more_rows_have_a_smaller_limit(self):
        x, y = lines(0, 2000, 60)
        law = cg.crossfit(cg.fits.ols(), x, y, rng=0)
        with pytest.raises(UnsupportedModelError, match=r"limit 0\.047 for 2,000 rows"):
            cg.adaptive(law, x, y, rng=0, **FAST)

    def test_a_few_parameters_and_a_predictive_distribution_pass(self):
        x, y = lines(0, 200, 3)
        for fit in (cg.fits.ols(), predictive_t):
            law = cg.crossfit(fit, x, y, rng=0)
            assert not cg.adaptive(law, x, y, rng=0, **FAST).reject()


class TestRefits:
    def test_a_true_family_keeps_its_level(self):
        rejected = 0
        for seed in range(12):
            x, y = lines(seed, 30, 6)
            law = cg.crossfit(cg.fits.ols(), x, y, rng=seed, refits=49)
            result = cg.adaptive(law, x, y, rng=seed, **FAST)
            rejected += result.pvalue <= 0.06
        assert rejected <= 3  # without refits 7 of 12
        assert result.null == "joint"
        assert any("all folds fitted again" in note for note in result.details["notes"])

    def test_a_misfit_is_found(self):
        x, y = lines(0, 80, 2)
        y = y + x[:, 0] ** 2
        law = cg.crossfit(cg.fits.ols(), x, y, rng=0, refits=59)
        report = cg.check(law, x, y, rng=0, **FAST)
        assert report.rejected
        assert report.details["searched"]["null"] == "whole samples in place of y"

    def test_the_same_rng_gives_the_same_refits(self):
        x, y = lines(0, 40, 2)
        one, two = (cg.crossfit(cg.fits.ols(), x, y, rng=4, refits=3) for _ in range(2))
        for a, b in zip(one.refits, two.refits, strict=True):
            np.testing.assert_array_equal(a.y, b.y)
        plain = cg.crossfit(cg.fits.ols(), x, y, rng=4)
        np.testing.assert_array_equal(plain.mean_std()[0], one.mean_std()[0])

    def test_classes_with_names_and_frames(self):
        rng = np.random.default_rng(0)
        x = pd.DataFrame({"a": rng.standard_normal(60)})
        p = 1.0 / (1.0 + np.exp(-x["a"]))
        y = pd.Series(np.where(rng.random(60) < p, "yes", "no"), name="answer")
        law = cg.crossfit(LogisticRegression(), x, y, rng=0, refits=9)
        assert set(np.unique(law.refits[0].y)) <= {"yes", "no"}
        assert cg.check(law, x, y, rng=0, **FAST).result.null == "joint"

    def test_refits_that_fail(self):
        calls = []

        def fit(x, y):
            calls.append(len(calls))
            if len(calls) > 6 and len(calls) % 2:
                raise ValueError("no convergence")
            return cg.fits.ols()(x, y)

        x, y = lines(0, 40, 1)
        with pytest.raises(RefitError, match=r"refits failed.*no convergence"):
            cg.crossfit(fit, x, y, rng=0, refits=20)

    def test_what_is_refused(self):
        x, y = lines(0, 40, 1)
        with pytest.raises(InputError, match="refits must be"):
            cg.crossfit(cg.fits.ols(), x, y, refits=-1)

        def scores(x, y):
            return Model(lambda x: cg.from_scores(-np.asarray(x)[:, :1]))

        with pytest.raises(UnsupportedModelError, match="has no sampler"):
            cg.crossfit(scores, x, y, refits=5)
