"""Limits and errors: at once, typed, with what to do."""

import time
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pytest

import condgof as cg
from condgof.errors import (
    CensoringWarning,
    CondgofError,
    FitWarning,
    InputError,
    InputTypeError,
    UnsupportedModelError,
)
from condgof.sample import LIMITS

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
Y = X + RNG.normal(size=N)
ONES = np.ones(N)


def wide(n, width):
    return np.broadcast_to(RNG.normal(size=(n, 1)), (n, width))


def many_labels():
    n = 3 * LIMITS.groups.most
    x = RNG.normal(size=n)
    return cg.check((x, np.ones(n)), x, x[::-1], by=np.arange(n) // 2, rng=0)


BEYOND = {
    "columns": lambda most: cg.kcsd((X, ONES), wide(N, most + 1), Y),
    "searched_columns": lambda most: cg.check((X, ONES), wide(N, most + 1), Y),
    "responses": lambda most: cg.check(
        (np.zeros((N, most + 1)), 1.0), X, RNG.normal(size=(N, most + 1))
    ),
    "classes": lambda most: cg.check(
        cg.probabilities(np.full((N, most + 1), 1 / (most + 1))), X, np.arange(N)
    ),
    "groups": lambda most: many_labels(),
    "draws": lambda most: cg.check((X, ONES), X, Y, n_boot=most + 1),
    "locations": lambda most: cg.fscd((X, ONES), X, Y, n_locations=most + 1),
    "trials": lambda most: cg.check(
        cg.models.Binomial(trials=most + 1, p=0.5), X, RNG.integers(0, 9, N)
    ),
}


@pytest.mark.parametrize("name", [field.name for field in fields(LIMITS)])
def test_beyond_a_limit_a_call_is_refused_at_once(name):
    limit = getattr(LIMITS, name)
    cg.check((X, ONES), X, Y, n_boot=39, alpha=0.1)  # imports take their time
    begun = time.process_time()
    with pytest.raises(InputError) as caught:
        BEYOND[name](limit.most)
    assert time.process_time() - begun < 1.0
    assert f"{limit.most:,}" in str(caught.value)
    assert limit.advice in str(caught.value)


def no_rows():
    class Unfinished(cg.Law):
        def score(self, y):
            return -np.asarray(y)

    return Unfinished()


class TestTypedErrors:
    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (
                lambda: cg.models.Normal(mean=None, std=1.0),
                InputTypeError,
                "mean of Normal",
            ),
            (lambda: cg.check((None, 1.0), X, Y), InputTypeError, "is None"),
            (lambda: cg.crossfit(cg.fits.ols(), None, Y), InputError, "x must have a row"),
            (lambda: cg.check(no_rows(), X, Y), UnsupportedModelError, "property rows"),
            (
                lambda: cg.check((X, 1.0), X, Y, slices=np.array(3)),
                InputError,
                "list of slices",
            ),
            (
                lambda: cg.composite(cg.fits.ols(), X, Y, statistic=np.arange(2)),
                InputError,
                "statistic must be one of",
            ),
            (
                lambda: cg.composite(cg.fits.ols(), X, Y, progress="yes"),
                InputTypeError,
                "progress must be",
            ),
            (lambda: cg.study.problem(5), InputError, "no problem 5"),
            (lambda: cg.Monitor((X, ONES), alpha=7), InputError, "alpha must be"),
            (lambda: cg.Monitor((X, ONES), run_length=-1), InputError, "run_length must"),
            (lambda: cg.check((X, 1.0), X, Y, engine=True), InputTypeError, "got bool"),
            (lambda: cg.check((X, 1.0), X, Y, tolerance=20), InputError, "at most 10"),
            (
                lambda: cg.compare(
                    (X, 1.0), (X + 1, 1.0), X, Y, measure="crps", kernel_x=cg.Gaussian(1.0)
                ),
                InputError,
                "measure='stein'",
            ),
            (
                lambda: cg.columns(mean="m", std="s", param={"a": "b"}),
                InputError,
                "goes with family=",
            ),
            (
                lambda: cg.check(
                    cg.models.Exponential(scale=ONES), X, np.abs(Y), event=np.ones(N - 1)
                ),
                InputError,
                "event has 59 rows, and y has 60",
            ),
        ],
    )
    def test_what_was_raw_or_accepted(self, call, error, message):
        with pytest.raises(error, match=message):
            call()

    def test_a_device_that_torch_lacks(self):
        torch = pytest.importorskip("torch")
        with pytest.raises(InputError, match="device='x' is no device"):
            cg.from_torch(lambda x: torch.distributions.Normal(x, 1.0), device="x")

    def test_a_gaussian_process_that_is_not_fitted(self):
        module = pytest.importorskip("sklearn.gaussian_process")
        with pytest.raises(InputError, match="not fitted yet"):
            cg.as_model(module.GaussianProcessRegressor())

    def test_a_file_that_loses_a_column(self, tmp_path):
        path = tmp_path / "t.parquet"
        frame = pd.DataFrame({"x": X, "y": Y, "m": X, "s": ONES})
        frame.to_parquet(path)
        source = cg.scan(path, x="x", y="y", extra=["m", "s"])
        frame[["x", "y", "s"]].to_parquet(path)
        with pytest.raises(CondgofError, match="no column 'm'"):
            source.take([0, 1])

    def test_long_values_are_cut(self):
        with pytest.raises(InputError) as caught:
            cg.check((X, 1.0), X, Y, missing="a" * 100_000)
        assert len(str(caught.value)) < 200
        with pytest.raises(InputError) as caught:
            cg.check((X, 1.0), pd.DataFrame({"x": X}), Y, groups="b" * 100_000)
        assert len(str(caught.value)) < 4000

    def test_numbers_for_a_y_of_two_columns(self):
        y = np.column_stack([Y, Y[::-1]])
        wanted = cg.check((np.zeros((N, 2)), np.ones((N, 2))), X, y, n_boot=99, rng=0)
        scalar = cg.models.Normal(mean=0.0, std=1.0)
        found = cg.check(scalar, X, y, n_boot=99, rng=0)
        assert found.result.pvalue == wanted.result.pvalue

    def test_labels_of_128_bits(self):
        labels = np.arange(N) % 3
        wide_labels = pl.Series("g", labels.tolist(), dtype=pl.Int128)
        for by in (wide_labels, labels):
            report = cg.check((X, 1.0), X, Y, by=by, n_boot=39, alpha=0.1, rng=0)
            assert [len(one.rows) for one in report.groups] == [20, 20, 20]


class TestFits:
    sm = pytest.importorskip("statsmodels.api")

    def test_rows_that_it_was_fitted_on(self):
        x = pd.DataFrame({"x": X})
        fit = self.sm.OLS(Y, x).fit()
        with pytest.warns(FitWarning, match="rows have the y that OLS"):
            report = cg.check(fit, x, Y, n_boot=39, alpha=0.1, rng=0)
        assert any("was fitted on" in note for note in report.details["notes"])
        new = cg.check(fit, x, Y[::-1] + 1e-9, n_boot=39, alpha=0.1, rng=0)
        assert not any("was fitted on" in note for note in new.details["notes"])

    def test_a_fit_that_has_not_converged(self):
        x = pd.DataFrame({"x": X})
        fit = self.sm.Poisson(RNG.poisson(2, N), x).fit(disp=0, warn_convergence=False)
        fit.mle_retvals["converged"] = False
        with pytest.warns(FitWarning, match="has not converged"):
            cg.check(fit, x, RNG.poisson(2, N), n_boot=39, alpha=0.1, rng=0)

    def test_survival_without_events(self):
        lifelines = pytest.importorskip("lifelines")
        frame = pd.DataFrame({"x": X, "t": RNG.weibull(1.5, N) + 0.01, "e": 1})
        fit = lifelines.WeibullAFTFitter().fit(frame, "t", "e")
        options = {"n_boot": 39, "alpha": 0.1, "rng": 0}
        times = frame["t"] * 1.1
        with pytest.warns(CensoringWarning, match="event= was not passed"):
            report = cg.check(fit, frame[["x"]], times, **options)
        assert any("without event=" in note for note in report.details["notes"])
        report = cg.check(fit, frame[["x"]], times, event=frame["e"], **options)
        assert not any("event=" in note for note in report.details["notes"])


class TestTables:
    def test_a_comparison_says_the_same_twice(self):
        """The table had the other sign than the sentence."""
        better = cg.compare((X + 0.5, ONES), (X, ONES), X, Y, names=("a", "b"), rng=0)
        text = str(better)
        for score in better.measures:
            amount, way, span = score.lead(-1.0)
            assert f"{amount} {way}" in better.verdict
            assert f"b is {amount} {way} (95% interval {span})" in text

    def test_a_predicted_width_can_be_computed(self):
        low, high = X - 1.0, X + np.exp(X / 3)
        report = cg.check(cg.from_intervals(low, high, 0.9), X, Y, n_boot=39, alpha=0.1)
        assert np.allclose(report.frame()["predicted_width"], high - low)
        quantiles = np.column_stack([low, X, high])
        law = cg.from_quantiles(quantiles, [0.1, 0.5, 0.9])
        report = cg.check(law, X, Y, n_boot=39, alpha=0.1)
        assert np.allclose(report.frame()["predicted_width"], high - low)
