"""Weights of rows: against loops over pairs, and the laws that they obey."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import condgof as cg
import oracle
from condgof.errors import CondgofError, InputError, InputTypeError, ShapeError
from condgof.kernels import Gaussian

N = 60
RNG = np.random.default_rng(7)
X = RNG.uniform(-2, 2, (N, 2))
Y = X[:, 0] + (1 + (X[:, 1] > 1)) * RNG.standard_normal(N)
WEIGHTS = np.exp(X[:, 1])
MODEL = cg.models.Normal(mean=lambda x: x[:, 0], std=1.0)


def kcsd_exact(x=X, y=Y, **how):
    return cg.kcsd(MODEL, x, y, n_boot=99, rng=1, **how)


def kcsd_by_factors(x=X, y=Y, **how):
    return cg.kcsd(MODEL, x, y, n_boot=99, rng=1, solver="lowrank", **how)


def kcsd_multinomial(x=X, y=Y, **how):
    return cg.kcsd(MODEL, x, y, n_boot=99, rng=1, null="multinomial", **how)


def fscd(x=X, y=Y, **how):
    locations = np.array([[0.0, 0.0], [1.0, 1.5]])
    return cg.fscd(MODEL, x, y, locations=locations, n_boot=99, rng=1, **how)


def adaptive(x=X, y=Y, **how):
    return cg.adaptive(MODEL, x, y, n_boot=99, rng=1, **how)


def adaptive_by_signs(x=X, y=Y, **how):
    return cg.adaptive(MODEL, x, y, n_boot=99, rng=1, null="wild", **how)


def adaptive_by_limit(x=X, y=Y, **how):
    return cg.adaptive(MODEL, x, y, n_boot=99, rng=1, solver="lowrank", **how)


def calibration(x=X, y=Y, **how):
    return cg.calibration(MODEL, x, y, n_boot=99, rng=1, **how)


TESTS = (
    kcsd_exact,
    kcsd_by_factors,
    kcsd_multinomial,
    fscd,
    adaptive,
    adaptive_by_signs,
    adaptive_by_limit,
    calibration,
)


@pytest.mark.parametrize(("solver", "rel"), [("exact", 1e-10), ("lowrank", 1e-3)])
def test_pairs_of_kcsd_are_weighted(solver, rel):
    kernel = Gaussian(0.8)
    result = cg.kcsd(
        MODEL,
        X,
        Y,
        kernel_x=kernel,
        kernel_y=kernel,
        weights=WEIGHTS,
        solver=solver,
        n_boot=9,
        rng=1,
    )
    scores = -(Y - X[:, 0])[:, None]
    h = oracle.stein_h(Y[:, None], scores, oracle.gaussian, 0.8)
    w = WEIGHTS / WEIGHTS.mean()
    matrix = np.outer(w, w) * h * oracle.gram(X, X, oracle.gaussian, 0.8)
    expected = N * oracle.u_statistic(matrix)
    assert result.statistic == pytest.approx(expected, rel=rel)
    assert result.details["effective_rows"] == pytest.approx(w.sum() ** 2 / (w @ w))


@pytest.mark.parametrize("test", TESTS)
def test_equal_weights_are_no_weights(test):
    unweighted = test()
    weighted = test(weights=np.full(N, 2.5))
    assert weighted.statistic == unweighted.statistic
    assert weighted.pvalue == unweighted.pvalue
    assert "effective_rows" not in weighted.details


@pytest.mark.parametrize("test", TESTS)
def test_zero_weights_are_rows_left_out(test):
    kept = X[:, 0] > -1
    zeros = test(weights=WEIGHTS * kept)
    left_out = test(X[kept], Y[kept], weights=WEIGHTS[kept])
    assert zeros.n == kept.sum()
    assert zeros.statistic == left_out.statistic
    assert zeros.pvalue == left_out.pvalue


@pytest.mark.parametrize("test", TESTS)
def test_weights_change_the_answer(test):
    assert test(weights=WEIGHTS).statistic != test().statistic


@settings(max_examples=20, deadline=None)
@given(
    scale=st.floats(1e-200, 1e200),
    weights=st.lists(st.floats(0.01, 100), min_size=20, max_size=20),
)
def test_nothing_depends_on_the_scale(scale, weights):
    w = np.array(weights)
    one = kcsd_exact(X[:20], Y[:20], weights=w)
    other = kcsd_exact(X[:20], Y[:20], weights=scale * w)
    assert other.statistic == pytest.approx(one.statistic, rel=1e-9, abs=1e-12)


def test_a_single_row_of_weight_dominates():
    w = np.full(N, 1e-9)
    w[:2] = 1.0
    result = kcsd_exact(weights=w)
    assert result.details["effective_rows"] == pytest.approx(2.0, rel=1e-6)


def test_models_of_arrays_and_missing_values():
    x = X.copy()
    x[3, 0] = np.nan
    w = WEIGHTS.copy()
    w[:3] = 0.0
    predictions = (X[:, 0], np.ones(N))
    result = cg.kcsd(predictions, x, Y, weights=w, missing="drop", n_boot=99, rng=1)
    kept = slice(4, None)
    expected = kcsd_exact(X[kept], Y[kept], weights=WEIGHTS[kept])
    assert result.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert "3 of 60 rows have weight 0 and were left out" in result.details["notes"]


def test_weights_are_matched_by_index():
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(100, 100 + N))
    series = pd.Series(WEIGHTS, index=frame.index)
    model = (X[:, 0], np.ones(N))
    y = pd.Series(Y, index=frame.index)
    results = [
        cg.adaptive(model, frame, y, weights=weights, n_boot=99, rng=1).statistic
        for weights in (WEIGHTS, series, series.sample(frac=1, random_state=1))
    ]
    assert results[0] == results[1] == results[2]
    with pytest.raises(InputError, match="another index than x"):
        cg.adaptive(model, frame, y, weights=series.set_axis(range(N)), rng=1)


def test_a_column_of_x_by_its_name():
    frame = pd.DataFrame({"a": X[:, 0], "w": WEIGHTS})
    model = (X[:, 0], np.ones(N))
    named = cg.adaptive(model, frame, Y, weights="w", n_boot=99, rng=1)
    given_values = cg.adaptive(model, frame, Y, weights=WEIGHTS, n_boot=99, rng=1)
    assert named.statistic == given_values.statistic


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.where(WEIGHTS > 3, -1.0, 1.0), InputError, "negative, NaN or infinite values"),
        (np.where(WEIGHTS > 3, np.nan, 1.0), InputError, "negative, NaN or infinite"),
        (np.where(WEIGHTS > 3, np.inf, 1.0), InputError, "negative, NaN or infinite"),
        (np.zeros(N), InputError, "weights is 0 in all 60 rows"),
        (WEIGHTS[:-1], ShapeError, r"shape \(60,\), one number for each row, got \(59,\)"),
        (np.ones((N, 2)), ShapeError, r"got \(60, 2\)"),
        (["heavy"] * N, InputTypeError, "must be real numbers"),
        ("w", InputTypeError, "weights='w' names a column, and x is not a frame"),
        (np.r_[1, np.zeros(N - 1)], ShapeError, "at least 3 rows, got 1 after 59"),
    ],
)
def test_what_is_no_weight_is_refused(weights, error, message):
    with pytest.raises(error, match=message):
        kcsd_exact(weights=weights)


def test_other_tests_take_no_weights():
    for test in (cg.ksd, cg.fssd):
        with pytest.raises(CondgofError, match="no option 'weights'"):
            test(MODEL, Y, weights=WEIGHTS)


N_IN_FILE = 6_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, N_IN_FILE)
    y = x + rng.standard_normal(N_IN_FILE)
    w = np.where(x < -1, 0.0, np.exp(x))
    return pa.table({"x": x, "y": y, "mu": x, "sd": np.ones(N_IN_FILE), "w": w})


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "rows.parquet"
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize("test", [cg.kcsd, cg.adaptive, cg.fscd])
def test_a_column_of_the_file(test, table, path):
    how = {"n_boot": 99, "rng": 1, "solver": "lowrank"}
    if test is cg.fscd:
        how["locations"] = [[0.0], [1.0]]
    model = cg.columns(mean="mu", std="sd")
    source = cg.scan(path, x="x", y="y")
    result = test(model, source, weights="w", **how)
    w = table["w"].to_numpy()
    kept = w > 0
    assert result.n == kept.sum()
    expected = w.sum() ** 2 / (w @ w)
    assert result.details["effective_rows"] == pytest.approx(expected)
    assert test(model, source, weights=w, **how).statistic == result.statistic
    x, y = (table[name].to_numpy()[kept] for name in ("x", "y"))
    in_memory = test((x, np.ones(len(x))), x, y, weights=w[kept], **how)
    # Both draw their own landmarks, and have draws of their own.
    assert result.pvalue == pytest.approx(in_memory.pvalue, abs=0.12)


def test_equal_weights_of_a_file(path):
    model = cg.columns(mean="mu", std="sd")
    source = cg.scan(path, x="x", y="y")
    plain = cg.kcsd(model, source, n_boot=99, rng=1)
    equal = cg.kcsd(model, source, weights=np.full(N_IN_FILE, 0.2), n_boot=99, rng=1)
    assert equal.statistic == plain.statistic
    assert equal.pvalue == plain.pvalue
