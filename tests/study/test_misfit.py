"""A model's own misfit: y drawn from the model and distorted by a known size."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

import condgof as cg
from condgof.errors import InputError, ShapeError, UnsupportedModelError
from condgof.study import misfit_of, run_study

X = np.random.default_rng(0).normal(2.0, 3.0, (200, 2))
MODEL = cg.models.Normal(mean=lambda x: x[:, 0], std=lambda x: 1.0 + np.abs(x[:, 1]))


def residuals(case, n=20000):
    model, x, y = case.trial(n, np.random.default_rng(1))
    mean, std = model(x).mean_std()
    return x, ((y - mean) / std)[:, 0]


def test_the_size_is_what_it_says():
    _, u = residuals(misfit_of(MODEL, X, "shift", 0.3))
    assert (u.mean(), u.std()) == pytest.approx((0.3, 1.0), abs=0.03)
    _, u = residuals(misfit_of(MODEL, X, "scale", 1.5))
    assert (u.mean(), u.std()) == pytest.approx((0.0, 1.5), abs=0.04)


@pytest.mark.parametrize(("misfit", "size"), [("shift", 0), ("scale", 1.0)])
def test_no_misfit_is_the_model_itself(misfit, size):
    case = misfit_of(MODEL, X, misfit, size)
    assert case.h0
    assert case.title == "no misfit"
    _, u = residuals(case)
    assert (u.mean(), u.std()) == pytest.approx((0.0, 1.0), abs=0.03)


def test_x_are_the_users_rows():
    x, _ = residuals(misfit_of(MODEL, X, "shift", 0.3), n=500)
    assert set(map(tuple, x)) <= set(map(tuple, X))


def test_predictions_will_do():
    """A model of arrays goes along with the rows of x."""
    mean, std = MODEL(X).mean_std()
    case = misfit_of((mean, std), X, "shift", 0.0)
    model, x, y = case.trial(300, np.random.default_rng(0))
    np.testing.assert_array_equal(model(x).mean_std()[0][:, 0], x[:, 0])
    assert cg.kcsd(model, x, y, rng=0).pvalue > 0.01


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames_stay_frames(kind):
    frame = kind({"a": X[:, 0], "b": X[:, 1]})
    model = cg.models.Normal(mean=lambda x: x["a"], std=1.0)
    _, x, y = misfit_of(model, frame, "shift", 1.0).trial(50, np.random.default_rng(0))
    assert list(x.columns) == ["a", "b"]
    assert cg.kcsd(model, x, y, rng=0).n == 50


def test_columns_need_not_be_numbers():
    frame = pd.DataFrame({"town": ["u", "v"] * 30, "a": np.arange(60.0)})
    model = cg.models.Normal(mean=lambda x: x["a"], std=1.0)
    _, x, y = misfit_of(model, frame, "shift", 9.0).trial(40, np.random.default_rng(0))
    assert (y[:, 0] - x["a"]).mean() == pytest.approx(9.0, abs=1.0)


def test_two_columns_of_y():
    model = cg.models.Normal(mean=lambda x: x, std=1.0)
    _, x, y = misfit_of(model, X, "shift", 2.0).trial(4000, np.random.default_rng(0))
    assert (y - x).mean(axis=0) == pytest.approx([2.0, 2.0], abs=0.1)


def test_power_grows_with_the_size_and_the_level_holds():
    cases = [misfit_of(MODEL, X, "shift", size) for size in (0.0, 0.2, 1.0)]
    study = run_study(cases, "kcsd", 150, trials=40, engine=1)
    level, some, high = (row.rate for row in study.table())
    assert level <= 0.2
    assert level <= some < high
    assert high > 0.9


def test_it_travels():
    case = misfit_of(cg.models.Normal(0.0, 1.0), X, "scale", 2.0)
    assert pickle.loads(pickle.dumps(case)).name == "scale=2"


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((MODEL, X, "shft", 1), InputError, "Did you mean 'shift'.*shift, scale"),
        ((MODEL, X, "shift", "1"), InputError, "must be a number"),
        ((MODEL, X, "shift", np.nan), InputError, "must be a number"),
        ((MODEL, X, "scale", 0), InputError, "must be above 0"),
        ((MODEL, X[:0], "shift", 1), ShapeError, "no rows"),
        (
            ((np.zeros(3), np.ones(3)), X, "shift", 1),
            ShapeError,
            "3 rows and the sample has 200",
        ),
        (
            (cg.from_score(lambda y, x: -y), X, "shift", 1),
            UnsupportedModelError,
            "no sample and no mean",
        ),
        (
            (cg.models.Poisson(mean=lambda x: np.exp(x[:, 0])), X, "shift", 1),
            UnsupportedModelError,
            "no continuous y",
        ),
    ],
)
def test_what_cannot_be_asked(arguments, error, words):
    with pytest.raises(error, match=words):
        misfit_of(*arguments)
