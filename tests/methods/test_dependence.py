"""`dependence=` and `groups=`: values, laws, errors, the warning, and the level."""

import functools
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import binom

import condgof as cg
import oracle
from condgof.errors import (
    DependenceWarning,
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
)
from condgof.methods import split_rows
from condgof.null import (
    Dependence,
    auto_length,
    check_dependence,
    group_weights,
    sign_weights,
    stretch_weights,
    warn_if_correlated,
)
from condgof.residuals import DependenceValues, Stretch
from condgof.sample import Seed
from condgof.study import run_study
from seeds import examples

LINE = cg.models.Normal(mean=lambda x: x, std=1.0)


def stretch(values, x=None):
    """Consecutive rows, of residuals (rows, k)."""
    return Stretch(DependenceValues(np.asarray(values)), x)


def ar_sample(n, seed, rho=0.5):
    rng = np.random.default_rng(seed)
    x, e = rng.standard_normal((2, n))
    for t in range(1, n):
        e[t] = rho * e[t - 1] + np.sqrt(1 - rho**2) * e[t]
    return x, x + e


def cluster_sample(n, count, seed, share=0.1):
    rng = np.random.default_rng(seed)
    x, e = rng.standard_normal((2, n))
    codes = np.arange(n) * count // n
    shared = rng.standard_normal(count)[codes]
    return x, x + np.sqrt(share) * shared + np.sqrt(1 - share) * e, codes


X, Y, CODES = cluster_sample(300, 15, 0)
SHUFFLED = np.random.default_rng(3).permutation(300)


# Values: the dense formula.


def dense_draws(matrix, weights):
    off = matrix - np.diag(np.diag(matrix))
    return np.array([w @ off @ w for w in weights.T]) / (len(matrix) - 1)


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
@pytest.mark.parametrize("declared", ["blocks", "groups"])
def test_kcsd_draws_are_the_dense_formula(declared, solver):
    n = 60
    m = 40
    x = X[:n]
    y = Y[:n]
    codes = SHUFFLED[:n] % 7
    if declared == "blocks":
        options = {"dependence": 5}
        weights = stretch_weights(n, m, Seed.of(2), 5)
    else:
        options = {"groups": codes}
        weights = group_weights(_numbered(codes), m, Seed.of(2))
    kernels = {"kernel_x": cg.Gaussian(1.0), "kernel_y": cg.Gaussian(1.5)}
    precise = {"precision": 1e-10} if solver == "lowrank" else {}
    result = cg.kcsd(
        LINE, x, y, n_boot=m, rng=2, solver=solver, **precise, **kernels, **options
    )
    h = oracle.stein_h(y[:, None], (x - y)[:, None], oracle.gaussian, 1.5)
    matrix = oracle.gram(x[:, None], x[:, None], oracle.gaussian, 1.0) * h
    wanted = dense_draws(matrix, weights.block(0, n))
    # Landmarks are functions of y at some rows; they span the derivatives that the Stein
    # kernel needs at other rows up to a small error.
    within = (1e-5 if solver == "exact" else 2e-3) * np.abs(wanted).max()
    assert result.statistic == pytest.approx(n * oracle.u_statistic(matrix), abs=within)
    np.testing.assert_allclose(result.null_distribution, wanted, atol=within)


def _numbered(values):
    """Number groups from 0 by first appearance."""
    numbers = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values])


def test_zheng_draws_are_the_dense_formula():
    n = 50
    m = 30
    x = X[:n]
    y = Y[:n]
    result = cg.zheng(LINE, x, y, null="wild", n_boot=m, rng=2, dependence=4)
    from scipy.special import ndtr

    D = (y[:, None] <= y) - ndtr(y - x[:, None])
    h = x.std(ddof=1) * n ** (-1 / 12)
    KG = np.exp(-0.5 * ((x[:, None] - x) / h) ** 2) * (D @ D.T / n)
    np.fill_diagonal(KG, 0.0)
    B = 2 * np.square(KG).sum() / (n * (n - 1))
    weights = stretch_weights(n, m, Seed.of(2), 4).block(0, n)
    wanted = np.array([w @ KG @ w for w in weights.T]) / ((n - 1) * np.sqrt(B))
    np.testing.assert_allclose(result.null_distribution, wanted, rtol=1e-9, atol=1e-10)


def test_fssd_and_ksd_use_the_same_signs():
    scores = X - Y
    h = oracle.stein_h(Y[:, None], scores[:, None], oracle.gaussian, 1.0)
    for declared in ({"dependence": 6}, {"groups": CODES}):
        ksd = cg.ksd(
            cg.from_scores(scores),
            Y,
            kernel_y=cg.Gaussian(1.0),
            n_boot=20,
            rng=1,
            **declared,
        )
        weights = Dependence(declared.get("dependence"), declared.get("groups")).weights(
            "wild", 300, 20, Seed.of(1)
        )
        np.testing.assert_allclose(
            ksd.null_distribution,
            dense_draws(h, weights.block(0, 300)),
            rtol=1e-8,
            atol=1e-9,
        )
        fssd = cg.fssd(
            cg.from_scores(scores),
            Y,
            locations=[[0.0], [1.0]],
            kernel_y=cg.Gaussian(1.0),
            n_boot=20,
            rng=1,
            **declared,
        )
        assert fssd.null == ksd.null
        assert (
            fssd.details.items()
            >= {k: v for k, v in ksd.details.items() if k != "notes"}.items()
        )


# Laws.

TESTS = {
    "kcsd": functools.partial(cg.kcsd, n_boot=99),
    "kcsd, lowrank": functools.partial(cg.kcsd, n_boot=99, solver="lowrank"),
    "fscd": functools.partial(cg.fscd, n_boot=99, locations="random"),
    "adaptive": functools.partial(cg.adaptive, n_boot=99),
    "adaptive, lowrank": functools.partial(cg.adaptive, n_boot=99, solver="lowrank"),
}


def same(one, other):
    assert one.pvalue == other.pvalue
    assert one.statistic == pytest.approx(other.statistic, rel=1e-8)
    np.testing.assert_allclose(
        one.null_distribution, other.null_distribution, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("test", TESTS)
def test_threads_do_not_matter(test):
    for declared in ({"dependence": 10}, {"groups": CODES}):
        same(
            TESTS[test](LINE, X, Y, rng=1, engine=1, **declared),
            TESTS[test](LINE, X, Y, rng=1, engine=3, **declared),
        )


@pytest.mark.parametrize("test", ["kcsd", "adaptive"])
def test_memory_does_not_matter(test):
    for declared in ({"dependence": 10}, {"groups": CODES}):
        one = TESTS[test](LINE, X, Y, rng=1, **declared)
        same(one, TESTS[test](LINE, X, Y, rng=1, memory=400_000, **declared))


@pytest.mark.parametrize("test", TESTS)
def test_groups_of_one_row_and_blocks_of_one_are_the_plain_test(test):
    x = X[SHUFFLED]
    y = Y[SHUFFLED]
    plain = TESTS[test](LINE, x, y, rng=1)
    same(plain, TESTS[test](LINE, x, y, rng=1, groups=np.arange(300)[::-1]))
    same(plain, TESTS[test](LINE, x, y, rng=1, dependence=1))


@pytest.mark.parametrize("test", TESTS)
def test_names_of_groups_do_not_matter(test):
    codes = SHUFFLED % 20
    one = TESTS[test](LINE, X, Y, rng=1, groups=codes)
    other = np.random.default_rng(0).permutation(20)[codes]
    words = [f"school {c}" for c in codes]
    for again in (
        other,
        other * 0.5,
        words,
        np.array(words),
        pd.Series(words, dtype="category"),
        pl.Series(words),
    ):
        same(one, TESTS[test](LINE, X, Y, rng=1, groups=again))


@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from(["kcsd", "adaptive"]))
@settings(max_examples=examples(6))
def test_any_relabelling(seed, count, test):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, count, 60)
    codes[:2] = (0, 1)
    x = X[:60]
    y = Y[:60]
    one = TESTS[test](LINE, x, y, rng=seed, groups=codes, engine=1)
    same(
        one,
        TESTS[test](LINE, x, y, rng=seed, groups=rng.permutation(count)[codes], engine=1),
    )


def test_a_column_of_a_frame():
    words = [f"school {c}" for c in CODES]
    frame = pd.DataFrame({"a": X, "school": words})
    model = cg.from_score(lambda y, x: np.asarray(x["a"] - y))
    given_array = cg.kcsd(model, frame, Y, rng=1, n_boot=50, groups=words)
    same(given_array, cg.kcsd(model, frame, Y, rng=1, n_boot=50, groups="school"))
    same(
        given_array,
        cg.kcsd(
            model, pl.DataFrame(frame.to_dict("list")), Y, rng=1, n_boot=50, groups="school"
        ),
    )
    assert given_array.details["groups"] == 15


# Large samples: parcels, streams.


@pytest.mark.parametrize("declared", ["blocks", "groups"])
def test_parcels_are_the_dense_formula(declared, monkeypatch):
    """Sums over parcels are those of the Stein matrix without the pairs within a parcel."""
    monkeypatch.setattr("condgof.null._choose.WEIGHTED_ROWS", 100)
    monkeypatch.setattr("condgof.null._signs.MOST_PARCELS", 12)
    n = 150
    m = 30
    x = X[:n]
    y = Y[:n]
    codes = (
        np.arange(n) // 13 if declared == "blocks" else _numbered(SHUFFLED[:n] % 30) % 12
    )
    options = {"dependence": 5} if declared == "blocks" else {"groups": SHUFFLED[:n] % 30}
    kernels = {"kernel_x": cg.Gaussian(1.0), "kernel_y": cg.Gaussian(1.5)}
    result = cg.kcsd(
        LINE, x, y, n_boot=m, rng=2, solver="lowrank", precision=1e-9, **kernels, **options
    )
    assert result.details["parcels"] == 12
    h = oracle.stein_h(y[:, None], (x - y)[:, None], oracle.gaussian, 1.5)
    matrix = oracle.gram(x[:, None], x[:, None], oracle.gaussian, 1.0) * h
    other = codes[:, None] != codes
    signs = sign_weights(12, m, Seed.of(2)).block(0, 12)[codes]
    draws = n * np.array([w @ (matrix * other) @ w for w in signs.T]) / other.sum()
    within = 2e-3 * np.abs(draws).max()
    assert result.statistic == pytest.approx(
        n * (matrix * other).sum() / other.sum(), abs=within
    )
    np.testing.assert_allclose(result.null_distribution, draws, atol=within)


@pytest.mark.parametrize("declared", [{"dependence": 4}, {"groups": "g"}])
def test_streams_give_what_arrays_give(declared, tmp_path):
    """In one file or five, and from arrays: parcels belong to the numbers of rows."""
    n = 6000
    x, y, codes = cluster_sample(n, 900, 5)
    table = pa.table({"x": x, "y": y, "mu": x, "sd": np.ones(n), "g": codes * 3})
    pq.write_table(table, tmp_path / "one.parquet")
    (tmp_path / "five").mkdir()
    for i in range(5):
        pq.write_table(table.slice(i * 1200, 1200), tmp_path / "five" / f"{i}.parquet")
    model = cg.columns(mean="mu", std="sd")
    one_file = cg.scan(tmp_path / "one.parquet", x="x", y="y")
    five_files = cg.scan(tmp_path / "five", x="x", y="y")
    how = {"n_boot": 60, "rng": 1, "solver": "lowrank", **declared}
    how_array = {**how, "groups": codes} if "groups" in declared else how
    for test in (cg.kcsd, cg.adaptive):
        one = test(model, one_file, **how)
        same(one, test(model, five_files, engine=1, **how))
        array = test((x, np.ones(n)), x, y, **how_array)
        assert (array.null, array.details.get("groups")) == (
            one.null,
            one.details.get("groups"),
        )
        assert array.details["parcels"] == one.details["parcels"]
        if test is cg.kcsd:  # the rows of an adaptive design are chosen by x in memory
            assert array.pvalue == one.pvalue
            assert array.statistic == pytest.approx(one.statistic, rel=1e-6)


# Splits.


def test_optimize_splits_time_and_groups():
    x, y = ar_sample(200, 1)
    result = cg.fscd(LINE, x, y, dependence=10, n_boot=50, rng=1, n_locations=1)
    assert result.n == 200 - 60 - 10
    assert result.details["n_train"] == 60
    result = cg.fscd(LINE, X, Y, groups=CODES, n_boot=50, rng=1, n_locations=1)
    assert (result.n, result.details["n_train"], result.details["groups"]) == (220, 80, 11)
    result = cg.fssd(
        cg.from_scores(X - Y), Y, groups=CODES, n_boot=50, rng=1, n_locations=1
    )
    assert (result.n, result.details["groups"]) == (220, 11)
    with pytest.raises(InputError, match="fewer than 2 are left"):
        cg.fscd(LINE, X, Y, groups=np.arange(300) > 100, n_boot=50, rng=1)


def test_a_large_group_is_left_out_whole_and_trained_on_in_part():
    codes = np.repeat([0, 1, 2], [4000, 5000, 6000])
    train, out = split_rows(
        Dependence(codes=codes), 15_000, 0.3, 2000, np.random.default_rng(0)
    )
    assert len(train) == 2000
    np.testing.assert_array_equal(out, np.arange(4000))
    assert np.isin(train, out).all()


# What results say, and what is refused.


def test_results_say_what_was_done():
    blocks = cg.kcsd(LINE, X, Y, dependence=10, rng=1, n_boot=50)
    assert blocks.details["block_length"] == 10
    assert blocks.null == "wild bootstrap by block"
    assert "in order, blocks of 10" in str(blocks)
    grouped = cg.adaptive(LINE, X, Y, groups=CODES, rng=1, n_boot=50)
    assert grouped.details["groups"] == 15
    assert grouped.null == "wild bootstrap by group"
    assert "in 15 groups" in str(grouped)
    json.dumps(grouped.to_dict())
    auto = cg.kcsd(LINE, X, Y, dependence="auto", rng=1, n_boot=50)
    assert any("'auto'" in note for note in auto.details["notes"])
    assert (
        auto.statistic
        == blocks.statistic
        == cg.kcsd(LINE, X, Y, groups=CODES, n_boot=9).statistic
    )


def test_few_groups_and_blocks_are_noted():
    notes = cg.kcsd(LINE, X, Y, groups=CODES % 5, n_boot=99, rng=1).details["notes"]
    assert any("5 groups only" in note for note in notes)
    assert any("16 patterns of signs" in note and "0.0625" in note for note in notes)
    assert "notes" not in cg.kcsd(LINE, X, Y, groups=CODES, n_boot=99, rng=1).details
    assert any(
        "approximate" in n
        for n in cg.kcsd(LINE, X, Y, dependence=50, n_boot=99).details["notes"]
    )


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"dependence": 5, "groups": CODES}, InputError, "both given"),
        ({"dependence": 0}, InputError, "at least 1"),
        ({"dependence": -3}, InputError, "at least 1"),
        ({"dependence": 2.5}, InputError, "block length"),
        ({"dependence": True}, InputError, "block length"),
        ({"dependence": "weekly"}, InputError, "'auto'"),
        ({"dependence": 300}, InputError, "whole sample"),
        ({"dependence": 5, "null": "multinomial"}, InputError, "null='auto' or 'wild'"),
        ({"groups": CODES, "null": "spectral"}, InputError, "null='auto' or 'wild'"),
        ({"groups": np.zeros(300)}, InputError, "one group only"),
        ({"groups": CODES[:-1]}, ShapeError, "one group for each row"),
        ({"groups": np.stack([CODES, CODES], axis=1)}, ShapeError, "coarsest"),
        ({"groups": "school"}, InputTypeError, "not a frame"),
        ({"groups": [*CODES[:-1], None]}, NonFiniteError, "row 299"),
        ({"groups": np.where(CODES == 3, np.nan, CODES)}, NonFiniteError, "20 of 300 rows"),
        ({"groups": pd.Series(CODES).where(CODES != 3)}, NonFiniteError, "row 60"),
        ({"groups": [[c] * (1 + c % 2) for c in CODES]}, ShapeError, "one label for each"),
    ],
)
def test_errors(options, error, match):
    with pytest.raises(error, match=match):
        cg.kcsd(LINE, X, Y, n_boot=20, **options)


def test_errors_of_names_and_of_zheng(tmp_path):
    frame = pd.DataFrame({"a": X, "b": Y})
    with pytest.raises(InputError, match="'a', 'b'"):
        cg.kcsd(cg.from_scores(np.zeros((300, 1))), frame, Y, groups="school")
    with pytest.raises(InputError, match="null='auto' or 'wild'"):
        cg.zheng(LINE, X, Y, groups=CODES)
    with pytest.raises(InputError, match="Pass a block length"):
        cg.zheng(LINE, X, Y, null="wild", dependence="auto")
    pq.write_table(pa.table({"x": X, "y": Y, "mu": X}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="no column 'school'"):
        cg.kcsd(
            cg.columns(score="mu"),
            cg.scan(tmp_path / "t.parquet", x="x", y="y"),
            groups="school",
        )


# The warning.


@pytest.mark.parametrize(
    "test", [cg.kcsd, cg.adaptive, functools.partial(cg.fscd, locations="random")]
)
def test_rows_in_time_are_warned_of(test):
    x, y = ar_sample(300, 2)
    with pytest.warns(DependenceWarning, match="pass dependence=") as caught:
        result = test(LINE, x, y, n_boot=20, rng=1)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert any("(dependence, groups)" in note for note in result.details["notes"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for declared in ({"dependence": 10}, {"groups": np.arange(300) // 30}):
            shown = str(test(LINE, x, y, n_boot=20, rng=1, **declared))
            assert "(dependence, groups)" not in shown
        order = np.random.default_rng(0).permutation(300)
        assert "correlated" not in str(test(LINE, x[order], y[order], n_boot=20, rng=1))


def test_a_stream_in_time_is_warned_of(tmp_path):
    x, y = ar_sample(9000, 2)
    pq.write_table(
        pa.table({"x": x, "y": y, "mu": x, "sd": np.ones(9000)}), tmp_path / "t.parquet"
    )
    source = cg.scan(tmp_path / "t.parquet", x="x", y="y")
    with pytest.warns(DependenceWarning):
        cg.kcsd(cg.columns(mean="mu", std="sd"), source, n_boot=20, rng=1)


def sorted_by_x(n, rng):
    """Scores of the right model, rows sorted by x, along which their spread grows."""
    x = np.sort(rng.uniform(0, 3, n))
    return -rng.standard_normal(n) * np.exp(x)


def shuffled_wrong(n, rng):
    """Scores of a wrong model, rows in random order."""
    return rng.standard_normal(n) + 2.0


def heavy(n, rng):
    """Scores with heavy tails."""
    return rng.standard_cauchy(n)


@pytest.mark.parametrize("kind", [sorted_by_x, shuffled_wrong, heavy])
def test_no_false_alarm(kind):
    """At most one false alarm in a thousand, by the binomial bound for 400 samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependenceWarning)
        alarms = 0
        for seed in range(400):
            scores = kind(150, np.random.default_rng([seed, 7]))
            alarms += warn_if_correlated([stretch(scores[:, None])]) != ()
    assert alarms <= binom.isf(1e-4, 400, 1e-3)


def test_sorted_rows_of_a_wrong_model_are_spoken_of():
    x = np.sort(X)
    with pytest.warns(
        DependenceWarning, match="sorted, by y or by a column in which the model is wrong"
    ):
        cg.kcsd((x + np.sin(3 * x), np.ones(300)), x, x + Y - X, n_boot=20, rng=1)


def test_a_few_rows_say_nothing():
    assert warn_if_correlated([stretch(np.arange(20.0)[:, None])]) == ()
    assert warn_if_correlated([stretch(np.zeros((100, 1)))]) == ()


# The block length that "auto" chooses.


def seasonal(n, seed, season, rho, lasting=False):
    """Errors that are AR(1) from season to season, or share a seasonal pattern for ever."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((-(-n // season), season))
    if lasting:
        z = np.sqrt(rho) * z[:1] + np.sqrt(1 - rho) * z
    for t in range(1, len(z) * (not lasting)):
        z[t] = rho * z[t - 1] + np.sqrt(1 - rho**2) * z[t]
    return z.ravel()[:n]


def volatile(n, seed, rho=0.9):
    """Errors of independent signs, whose sizes are AR(1) but for a change of scale."""
    a = np.subtract(*ar_sample(n, seed, rho))
    signs = np.random.default_rng([seed, 1]).choice([-1.0, 1.0], n)
    return ndtri((1 + ndtr(a)) / 2) * signs


@pytest.mark.parametrize(
    ("errors", "low", "high"),
    [
        (lambda n, seed: ar_sample(n, seed, 0.0)[1], 1, 1),
        (lambda n, seed: np.subtract(*ar_sample(n, seed, 0.5)), 8, 12),
        (lambda n, seed: np.subtract(*ar_sample(n, seed, 0.8)), 17, 28),
        (volatile, 40, 65),
        (lambda n, seed: seasonal(n, seed, 7, 0.5), 30, 50),
        (lambda n, seed: seasonal(n, seed, 12, 0.5), 50, 80),
        (lambda n, seed: seasonal(n, seed, 24, 0.5), 70, 100),
        (lambda n, seed: seasonal(n, seed, 7, 0.9), 100, 100),
        (lambda n, seed: seasonal(n, seed, 24, 0.5, lasting=True), 100, 100),
    ],
    ids=[
        "iid",
        "ar 0.5",
        "ar 0.8",
        "volatility",
        "7",
        "12",
        "24",
        "7, strong",
        "24, lasting",
    ],
)
def test_auto(errors, low, high):
    """n = 500; a fifth of the rows is the most. One outlier changes little."""
    lengths = []
    for seed in range(20):
        z = errors(500, seed)[:, None]
        lengths.append(auto_length([stretch(z)], 500))
        z[250] = 1e6
        assert 0.6 < auto_length([stretch(z)], 500) / lengths[-1] < 1.6
    assert low <= np.median(lengths) <= high
    assert lengths.count(1) <= 1 or high == 1


@pytest.mark.parametrize(
    "kind",
    [
        lambda rng, n: rng.standard_normal((n, 1)),
        lambda rng, n: rng.standard_normal((n, 4)),
        lambda rng, n: rng.standard_cauchy((n, 1)),
        lambda rng, n: rng.exponential(size=(n, 1)),
        lambda rng, n: (rng.random((n, 1)) < 0.1) * 1.0,
    ],
    ids=["normal", "4 columns", "Cauchy", "exponential", "two values"],
)
def test_auto_takes_independent_rows_for_what_they_are(kind):
    lengths = np.array(
        [
            auto_length([stretch(kind(np.random.default_rng(s), 200))], 200)
            for s in range(120)
        ]
    )
    # Neighbours are taken for dependent with probability 0.05, all lags with 0.01.
    assert (lengths > 1).sum() <= binom.isf(1e-3, 120, 0.06)
    assert (lengths > 5).sum() <= binom.isf(1e-3, 120, 0.01)


def test_auto_at_small_n_and_of_constants():
    for n in range(2, 40):
        assert auto_length([stretch(np.zeros((n, 2)))], n) == 1
        slope = stretch(np.arange(n)[:, None] * 1.0)
        assert 1 <= auto_length([slope], n) <= max(1, n // 5)
    constant = np.where(np.arange(400) % 7, 0.1, 0.1 + 1e-17)
    assert auto_length([stretch(constant[:, None])], 400) == 1


def test_auto_in_stretches():
    parts = [
        stretch(seasonal(m, seed, 7, 0.5)[:, None])
        for seed, m in enumerate((3, 250, 250, 250))
    ]
    assert 30 <= auto_length(parts, 10_000) <= 120
    z = np.random.default_rng(0).standard_normal((1030, 2))
    assert auto_length([stretch(z[:2]), stretch(z[2:6]), stretch(z[6:])], 1030) == 1


@pytest.mark.parametrize("test", [cg.kcsd, cg.adaptive])
def test_auto_says_where_rows_are_too_few(test):
    x = X[:200]
    z = seasonal(200, 1, 24, 0.9)
    result = test(LINE, x, x + z, dependence="auto", n_boot=99, rng=1)
    assert result.details["block_length"] == 40
    assert any("fewer than 10 such blocks" in note for note in result.details["notes"])
    assert not result.reject()


def test_asked_is_checked_before_the_sample():
    assert check_dependence(None, None, "multinomial") is None
    assert check_dependence(np.int64(7), None, "wild") == 7


# Level, small: `make calibrate ONLY=dependence` has the claims.


@pytest.mark.parametrize("sample", ["ar", "clusters"])
def test_level_small(sample):
    """KCSD on 60 samples: inside the bounds with the option, far above without."""
    trials = 60
    declared = 0
    plain = 0
    for trial in range(trials):
        if sample == "ar":
            x, y = ar_sample(300, [trial, 1])
            options = {"dependence": 10}
        else:
            x, y, codes = cluster_sample(300, 15, [trial, 2])
            options = {"groups": codes}
        how = {"n_boot": 100, "rng": trial, "engine": 1}
        declared += cg.kcsd(LINE, x, y, **how, **options).reject()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DependenceWarning)
            plain += cg.kcsd(LINE, x, y, **how).reject()
    assert binom.ppf(1e-4, trials, 0.05) <= declared <= binom.isf(1e-4, trials, 0.05)
    assert plain > binom.isf(1e-4, trials, 0.05)


def test_a_wrong_model_is_found():
    x, y = ar_sample(500, 3)
    assert cg.kcsd(LINE, x, y + 0.5 * x**2, dependence=10, rng=1).reject(0.01)
    x, y, codes = cluster_sample(500, 20, 3)
    assert cg.adaptive(LINE, x, y + 0.5 * x**2, groups=codes, rng=1).reject(0.01)


def test_studies_pass_the_options_through():
    methods = {"kcsd, blocks": functools.partial(cg.kcsd, dependence=10, n_boot=50)}
    study = run_study("lgm", methods, n=60, trials=3, engine=1)
    assert not study.failures()


# Few groups have few patterns of random signs, which bound the p-value from below.


@pytest.mark.parametrize("sizes", [(75, 75), (148, 1, 1), (140, 5, 5)])
def test_a_p_value_is_not_below_what_the_patterns_allow(sizes):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    least = 2.0 ** (1 - len(sizes))
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.uniform(0, 4, 150)
        y = x + rng.standard_normal(150)
        p = cg.adaptive(LINE, x, y, groups=groups, n_boot=199, rng=seed).pvalue
        assert p > least - 5 * np.sqrt(least / 199)
