"""Weights of rows where the model is fitted: composite and crossfit."""

import numpy as np
import pytest
import statsmodels.api as sm

import condgof as cg
from condgof.errors import InputError, InputTypeError

N = 120
RNG = np.random.default_rng(12)
X = RNG.standard_normal((N, 2))
Y = X[:, 0] + RNG.standard_normal(N)
WEIGHTS = np.exp(X[:, 1])
FEW = {"n_boot": 19, "rng": 0, "engine": 1}
#: 19 refits reach p = 0.05 at the least.
STATISTICS = ("check", "adaptive", "kcsd", "fscd")


def verdict(answer):
    """Return the p-value and the statistic of a check or a test."""
    result = getattr(answer, "result", answer)
    return answer.pvalue, result.statistic


def unweighted_fit(x, y):
    return cg.fits.ols()(x, y)


def test_least_squares_are_weighted_in_mean_and_variance():
    model = cg.fits.ols()(X, Y, WEIGHTS)
    weighted = sm.WLS(Y, sm.add_constant(X), weights=WEIGHTS / WEIGHTS.mean()).fit()
    np.testing.assert_allclose(model.coefficients[:, 0], weighted.params)
    assert model.covariance[0, 0] == pytest.approx(weighted.scale)


def test_a_glm_with_integer_weights_is_that_of_repeated_rows():
    counts = RNG.poisson(np.exp(0.3 * X[:, 0]))
    times = RNG.integers(1, 4, N)
    weighted = cg.fits.glm("poisson")(X, counts, times.astype(float))
    repeated = cg.fits.glm("poisson")(np.repeat(X, times, axis=0), np.repeat(counts, times))
    np.testing.assert_allclose(weighted.results.params, repeated.results.params, atol=1e-6)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_equal_weights_are_no_weights(statistic):
    plain = cg.composite(cg.fits.ols(), X, Y, statistic=statistic, **FEW)
    equal = cg.composite(
        cg.fits.ols(), X, Y, weights=np.full(N, 3.0), statistic=statistic, **FEW
    )
    assert verdict(plain) == verdict(equal)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_rows_of_weight_0_are_left_out(statistic):
    weights = np.where(np.arange(N) < 40, 0.0, WEIGHTS)
    some = cg.composite(cg.fits.ols(), X, Y, weights=weights, statistic=statistic, **FEW)
    kept = slice(40, None)
    without = cg.composite(
        cg.fits.ols(),
        X[kept],
        Y[kept],
        weights=WEIGHTS[kept],
        statistic=statistic,
        **FEW,
    )
    assert verdict(some) == verdict(without)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_statistic_is_weighted(statistic):
    """Also where the fit is not: then nothing else differs."""
    plain = cg.composite(unweighted_fit, X, Y, statistic=statistic, **FEW)
    weighted = cg.composite(
        unweighted_fit, X, Y, weights=WEIGHTS, statistic=statistic, **FEW
    )
    assert verdict(plain)[1] != verdict(weighted)[1]


def test_the_statistic_of_kcsd_is_that_of_the_test():
    model = cg.fits.ols()(X, Y, WEIGHTS)
    whole = cg.composite(cg.fits.ols(), X, Y, weights=WEIGHTS, statistic="kcsd", **FEW)
    alone = cg.kcsd(model, X, Y, weights=WEIGHTS, n_boot=19, rng=0)
    assert whole.statistic == pytest.approx(alone.statistic, rel=1e-9)


def test_a_fit_that_gets_no_weights_is_noted():
    noted = cg.composite(unweighted_fit, X, Y, weights=WEIGHTS, **FEW).notes
    assert any("no parameter named weights" in note for note in noted)
    noted = cg.composite(cg.fits.ols(), X, Y, weights=WEIGHTS, **FEW).notes
    assert not any("no parameter named weights" in note for note in noted)
    assert any(note.startswith(f"weighted: {N} rows") for note in noted)


def test_fits_get_weights_of_mean_1_in_every_refit():
    seen = []

    def fit(x, y, weights):
        seen.append(weights)
        return cg.fits.ols()(x, y, weights)

    cg.composite(fit, X, Y, weights=WEIGHTS, **FEW)
    assert len(seen) > 19
    for weights in seen:
        np.testing.assert_allclose(weights, WEIGHTS / WEIGHTS.mean())


def test_misfit_that_has_weight_is_found():
    """A parabola where weights are high, a line where they are low."""
    y = Y + 1.5 * np.maximum(X[:, 1], 0.0) ** 2
    report = cg.composite(cg.fits.ols(), X, y, weights=WEIGHTS, **FEW)
    assert report.rejected


def test_what_cannot_be_weighted_is_refused():
    with pytest.raises(InputError, match=r"mmd takes no weights.*'kcsd', 'fscd'"):
        cg.composite(cg.fits.ols(), X, Y, weights=WEIGHTS, statistic="mmd", **FEW)
    with pytest.raises(InputError, match="negative"):
        cg.composite(cg.fits.ols(), X, Y, weights=-WEIGHTS, **FEW)


def test_folds_are_fitted_with_the_weights_of_their_rows():
    seen = []

    def fit(x, y, weights):
        seen.append((x[:, 1], weights))
        return cg.fits.ols()(x, y, weights)

    law = cg.crossfit(fit, X, Y, weights=WEIGHTS, folds=4, rng=0)
    assert len(seen) == 4
    for column, weights in seen:
        np.testing.assert_allclose(weights, np.exp(column) / WEIGHTS.mean())
    report = cg.check(law, X, Y, weights=WEIGHTS, n_boot=99, rng=0)
    assert not report.rejected


def test_a_column_of_x_may_hold_the_weights_of_a_crossfit():
    pd = pytest.importorskip("pandas")
    x = pd.DataFrame(X, columns=["a", "b"]).assign(w=WEIGHTS)
    by_name = cg.crossfit(cg.fits.ols(), x, Y, weights="w", rng=0)
    by_value = cg.crossfit(cg.fits.ols(), x, Y, weights=WEIGHTS, rng=0)
    np.testing.assert_array_equal(by_name.mean_std()[0], by_value.mean_std()[0])


def test_weights_for_a_fit_that_has_no_place_for_them_are_refused():
    with pytest.raises(InputTypeError, match="unweighted_fit has none"):
        cg.crossfit(unweighted_fit, X, Y, weights=WEIGHTS)
