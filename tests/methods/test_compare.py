"""compare and rank: values against the dense formula, laws, degenerate cases, refuted models."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

import condgof as cg
import oracle
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    UnsupportedModelError,
)

Normal = cg.models.Normal


def by_scores(p, q, x, y, **options):
    """Compare two arrays of scores."""
    return cg.compare(cg.from_scores(p), cg.from_scores(q), x, y, **options)


def sample(n=40, d_x=2, d_y=1, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d_x)), rng.normal(size=(n, d_y)) @ np.triu(np.full((d_y, d_y), 0.7))
    return x, y, 0.4 - y, -1.5 * y


def slow_compare(x, y, scores, sigma_x, sigma_y, kernel=oracle.gaussian):
    """Everything of a comparison from dense matrices, in the words of the docstring."""
    root = np.linalg.cholesky(np.cov(y.T, ddof=1).reshape(y.shape[1], -1))
    u = np.linalg.solve(root, (y - y.mean(axis=0)).T).T
    x = x / x.std(axis=0, ddof=1)
    k = oracle.gram(x, x, oracle.gaussian, sigma_x)
    p, q = (k * oracle.stein_h(u, s @ root, kernel, sigma_y) for s in scores)
    return oracle.difference(p, q)


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
@pytest.mark.parametrize("d_y", [1, 2])
@pytest.mark.parametrize("kernel_y", [cg.Gaussian(0.8), cg.IMQ(1.3), cg.Matern52(1.1)])
def test_values_of_the_dense_formula(solver, d_y, kernel_y):
    """With every row a landmark the low-rank solver gives the very same difference, too."""
    x, y, p, q = sample(d_y=d_y)
    options = {} if solver == "exact" else {"precision": 1e-13}
    result = by_scores(
        p, q, x, y, kernel_x=cg.Gaussian(1.5), kernel_y=kernel_y, solver=solver, rng=0, **options
    )
    kernel = oracle.KERNELS[type(kernel_y).__name__]
    value, error, z, both = slow_compare(x, y, (p, q), 1.5, kernel_y.sigma, kernel)
    tolerance = 1e-9 if solver == "exact" else 1e-6
    assert result.solver == solver
    assert result.difference == pytest.approx(value, rel=tolerance)
    assert result.details["standard_error"] == pytest.approx(error, rel=tolerance)
    assert result.statistic == pytest.approx(z, rel=10 * tolerance)
    if solver == "exact":
        assert result.discrepancies == pytest.approx(both, rel=1e-9)
        assert result.pvalue == pytest.approx(2 * norm.sf(abs(z)), rel=1e-7)


def test_lowrank_discrepancies_are_those_of_functions_that_the_models_share():
    """Derivatives are seen through the span of l(S, ·): G L⁻¹ Gᵀ in place of their own product."""
    x, y, p, q = sample(d_y=2)
    result = by_scores(
        p, q, x, y, kernel_x=cg.Gaussian(1.5), kernel_y=cg.Gaussian(0.8), rng=0,
        solver="lowrank", precision=1e-13,
    )  # fmt: skip
    n, root = len(y), np.linalg.cholesky(np.cov(y.T, ddof=1))
    u = np.linalg.solve(root, (y - y.mean(axis=0)).T).T
    k = oracle.gram(x / x.std(axis=0, ddof=1), x / x.std(axis=0, ddof=1), oracle.gaussian, 1.5)
    pairs = [[oracle.gaussian(u[i], u[j], 0.8) for j in range(n)] for i in range(n)]
    values = np.array([[pair[0] for pair in row] for row in pairs])
    slopes = np.array([[pair[1] for pair in row] for row in pairs])
    for scores, found in ((p @ root, result.discrepancies[0]), (q @ root, result.discrepancies[1])):
        h = (scores @ scores.T) * values
        for c in range(2):
            cross = slopes[:, :, c] * scores[:, c]
            h += cross + cross.T + slopes[:, :, c] @ np.linalg.solve(values, slopes[:, :, c].T)
        assert found == pytest.approx(oracle.u_statistic(k * h), rel=1e-6)


def test_the_interval_ends_where_the_test_changes_its_mind():
    x, y, p, q = sample(60)
    result = by_scores(p, q, x, y, rng=0)
    cube, cross = result.details["skewness"]
    a, b = (2 * cube + 3 * cross) / 6, (cube + 3 * cross) / 6
    for end, z in zip(result.interval, (norm.isf(0.025), norm.ppf(0.025)), strict=True):
        t = (result.difference - end) / result.details["standard_error"]
        assert t + a * t**2 + a**2 * t**3 / 3 + b == pytest.approx(z, rel=1e-6)


def test_lowrank_agrees_with_exact():
    case = cg.study.problem("hgm")
    x, y = case.draw(1500, np.random.default_rng(0))
    exact, low = (cg.compare(case.p, case.r, x, y, solver=s, rng=1) for s in ("exact", "lowrank"))
    assert low.difference == pytest.approx(exact.difference, rel=2e-3)
    assert low.statistic == pytest.approx(exact.statistic, rel=2e-3)
    assert low.details["precision"] < 2e-3
    assert low.details["landmarks"][0] < 400


def test_what_was_reached_is_said():
    """Thirty columns have more directions than 400 functions of x."""
    x, y, p, q = sample(900, d_x=30)
    result = by_scores(p, q, x, y, solver="lowrank", kernel_x=cg.Gaussian(4.0), rng=0)
    assert result.details["landmarks"][0] <= 400
    assert result.details["precision"] > 5e-3
    assert "functions of x, the same for all of them" in result.details["notes"][-1]
    exact = by_scores(p, q, x, y, kernel_x=cg.Gaussian(4.0), rng=0)
    assert result.difference == pytest.approx(exact.difference, abs=exact.details["standard_error"])


def test_auto_is_exact_for_few_rows_and_says_so():
    x, y, p, q = sample()
    assert by_scores(p, q, x, y).solver == "exact"
    assert by_scores(p, q, x, y, precision=0.01).solver == "lowrank"


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_model_against_itself(solver, alternative):
    x, y, p, _ = sample()
    result = by_scores(p, p.copy(), x, y, solver=solver, alternative=alternative, rng=0)
    assert result.pvalue == 1
    assert (result.statistic, result.difference, result.interval) == (0, 0, (0, 0))
    assert result.worse is None


def test_the_same_model_in_other_arithmetic_is_the_same():
    x, y, _, _ = sample(200)
    same = Normal(mean=lambda x: x @ [1.0, 0.5], std=1 / 3.0)
    scores = (x @ [1.0, 0.5] - y[:, 0]) * 9.0
    assert cg.compare(same, cg.from_scores(scores), x, y, rng=0).pvalue == 1


def test_a_difference_far_below_the_scores_is_still_seen():
    """Ten digits below: the variance must not come from differences of large sums."""
    x, y, p, _ = sample(200)
    near, far = (by_scores(p, p + e * y, x, y, rng=0) for e in (1e-9, 1e-3))
    assert near.statistic == pytest.approx(far.statistic, rel=0.02)


def test_models_that_differ_in_a_few_of_many_rows_are_not_the_same():
    """None of those rows need be among the 1,024 from which the low-rank solver takes the size of M."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(6000, 1)), rng.normal(size=6000)
    other = -y
    other[[5, 600, 4444]] += 3.0
    result = by_scores(-y, other, x, y, rng=0)
    assert result.solver == "lowrank"
    assert 0 < result.pvalue < 1
    assert result.details["standard_error"] > 0


@st.composite
def comparisons(draw):
    n, d_y = draw(st.integers(5, 40)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x, y = rng.normal(size=(n, draw(st.integers(1, 3)))), rng.normal(size=(n, d_y))
    if draw(st.booleans()):
        x, y = np.round(x, 1), np.round(y, 1)
        x[0] += 1.0
        y[0] += 1.0
    heavy = draw(st.sampled_from([1.0, 30.0]))
    return x, y, rng.normal(size=(n, d_y)) * heavy, rng.normal(size=(n, d_y)) - y


def same(a, b, tolerance=1e-7):
    size = max(abs(a.discrepancies[0]), abs(a.discrepancies[1]), a.details["standard_error"])
    assert b.difference == pytest.approx(a.difference, rel=tolerance, abs=tolerance * size)
    assert b.pvalue == pytest.approx(a.pvalue, rel=1e-4, abs=1e-6)


@given(comparisons())
def test_swapping_the_models_changes_signs_only(case):
    x, y, p, q = case
    one, other = by_scores(p, q, x, y, rng=0), by_scores(q, p, x, y, rng=0)
    assert other.statistic == pytest.approx(-one.statistic, rel=1e-9, abs=1e-9)
    assert other.pvalue == pytest.approx(one.pvalue, rel=1e-8)
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]), rel=1e-7, abs=1e-12)
    greater = by_scores(p, q, x, y, alternative="greater", rng=0).pvalue
    assert by_scores(q, p, x, y, alternative="less", rng=0).pvalue == pytest.approx(greater, rel=1e-8)
    assert by_scores(p, q, x, y, alternative="less", rng=0).pvalue == pytest.approx(1 - greater)
    assert one.pvalue == pytest.approx(2 * min(greater, 1 - greater), rel=1e-8)


@given(comparisons(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(case, random):
    order = list(range(len(case[0])))
    random.shuffle(order)
    same(
        by_scores(case[2], case[3], case[0], case[1], rng=0),
        by_scores(case[2][order], case[3][order], case[0][order], case[1][order], rng=0),
    )


@given(comparisons(), st.integers(0, 2**32))
def test_any_affine_units_of_y_and_units_of_x_give_the_same(case, seed):
    """y → By + c takes scores to B⁻ᵀs; x → ax + b in each column. Nothing changes."""
    x, y, p, q = case
    rng = np.random.default_rng(seed)
    d = y.shape[1]
    b = np.linalg.qr(rng.normal(size=(d, d)))[0] * rng.uniform(0.2, 5.0, d)
    back = np.linalg.inv(b)
    a = rng.uniform(0.1, 10.0, x.shape[1])
    same(
        by_scores(p, q, x, y, rng=0),
        by_scores(p @ back, q @ back, a * x - 3.0, y @ b.T + 7.0, rng=0),
        1e-6,
    )


@given(comparisons(), st.sampled_from([2**16, 2**29]), st.integers(1, 4))
def test_any_tiles_and_threads_give_the_dense_formula(case, memory, threads):
    x, y, p, q = case
    kernels = {"kernel_x": cg.Gaussian(1.0), "kernel_y": cg.Gaussian(1.0)}
    result = by_scores(p, q, x, y, **kernels, rng=0, memory=memory, engine=threads)
    value, error, z, both = slow_compare(x, y, (p, q), 1.0, 1.0)
    size = max(error, *np.abs(both))
    assert result.difference == pytest.approx(value, rel=1e-9, abs=1e-10 * size)
    assert result.details["standard_error"] == pytest.approx(error, rel=1e-9)
    assert result.statistic == pytest.approx(z, rel=1e-7, abs=1e-8)
    assert result.discrepancies == pytest.approx(both, rel=1e-9, abs=1e-10 * size)


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
def test_any_number_of_threads_gives_the_very_same(solver):
    x, y, p, q = sample(300)
    results = [by_scores(p, q, x, y, rng=3, engine=k, solver=solver) for k in (1, 3)]
    assert results[0].statistic == pytest.approx(results[1].statistic, rel=1e-12)
    assert results[0].pvalue == results[1].pvalue


def test_level_of_equally_wrong_models():
    """The small version of `make calibrate ONLY=compare`: tails of 1e-4."""
    trials, rejected = 200, {"two-sided": 0, "less": 0}
    for trial in range(trials):
        rng = np.random.default_rng([trial, 77])
        x, y = rng.normal(size=(60, 1)), rng.normal(size=60)
        result = by_scores(0.3 - y, -0.3 - y, x, y, rng=0, engine=1)
        rejected["two-sided"] += result.reject()
        rejected["less"] += norm.cdf(result.statistic) <= 0.05
    low, high = binom.ppf(5e-5, trials, 0.05), binom.isf(5e-5, trials, 0.05)
    assert all(low <= count <= high for count in rejected.values()), rejected


def test_a_degenerate_difference_does_not_reject():
    rejected = 0
    for trial in range(100):
        rng = np.random.default_rng([trial, 78])
        x, y = rng.normal(size=(100, 1)), rng.normal(size=100)
        rejected += by_scores(-y, -y * (1 + 0.3 * rng.normal(size=100)), x, y, rng=0, engine=1).reject()
    assert rejected <= binom.isf(1e-4, 100, 0.05)


def test_the_truth_is_preferred():
    for name, n in (("hgm", 1000), ("qgm-1d", 300)):
        case = cg.study.problem(name)
        x, y = case.draw(n, np.random.default_rng(5))
        assert cg.compare(case.p, case.r, x, y, alternative="greater", rng=0).pvalue < 0.01
        assert cg.compare(case.p, case.r, x, y, alternative="less", rng=0).pvalue > 0.99


# Bounded supports and refuted models.


def positive(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 1)), np.exp(0.5 * rng.standard_normal(n))


def test_bounded_models_are_compared_on_one_line():
    x, y = positive()
    p, q = cg.models.LogNormal(0.2, 0.5), cg.models.LogNormal(-0.1, 0.6)
    result = cg.compare(p, q, x, y, rng=0)
    plain = cg.compare(Normal(mean=0.2, std=0.5), Normal(mean=-0.1, std=0.6), x, np.log(y), rng=0)
    assert result.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert result.details["reparametrized"] == "log(y - low)"


def test_supports_that_differ_are_compared_where_both_live():
    x, y = positive()
    p, q = Normal(mean=1.0, std=0.6), cg.models.LogNormal(0.0, 0.5)
    result = cg.compare(p, q, x, y, rng=0)
    own = cg.models.with_support(cg.from_scores((1.0 - y) / 0.6**2), low=0.0)  # the scores of p
    declared = cg.compare(own, q, x, y, rng=0)
    assert result.statistic == pytest.approx(declared.statistic, rel=1e-12)
    assert any("supports differ" in note for note in result.details["notes"])
    assert not any("supports differ" in note for note in declared.details["notes"])


@pytest.mark.parametrize("streamed", [False, True])
def test_a_model_outside_its_support_is_refuted(streamed, tmp_path):
    x, y = positive(6000 if streamed else 200)
    y[77] = -0.5
    fine, refuted = Normal(mean=1.0, std=1.0), cg.models.Exponential(1.0)
    data = (x, y)
    if streamed:
        pd = pytest.importorskip("pandas")
        pd.DataFrame({"x": x[:, 0], "y": y}).to_csv(tmp_path / "a.csv", index=False)
        data = (cg.scan(tmp_path / "a.csv", x="x", y="y"), None)
    for alternative in ("two-sided", "greater"):
        result = cg.compare(refuted, fine, *data, alternative=alternative, rng=0)
        assert 0 < result.pvalue < 1e-300
        assert result.worse == "p"
        assert "row 77" in str(result)
        assert result.discrepancies[0] == np.inf
        assert np.isfinite(result.discrepancies[1])
    assert cg.compare(refuted, fine, *data, alternative="less", rng=0).pvalue == 1
    assert cg.compare(fine, refuted, *data, alternative="less", rng=0).pvalue < 1e-300
    json.dumps(result.to_dict(), allow_nan=False)
    both = cg.compare(refuted, cg.models.Gamma(2.0, 1.0), *data, rng=0)
    assert both.pvalue == 1
    assert both.worse is None
    found = cg.rank({"no": refuted, "b": fine, "c": Normal(mean=1.5, std=2.0)}, *data, rng=0)
    assert found.names[-1] == "no"
    assert "no" not in found.best()
    assert found.discrepancies[-1] == np.inf
    json.dumps(found.to_dict(), allow_nan=False)


# Where the rows are.


def table(tmp_path, n=6000):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(9)
    a = rng.normal(size=n)
    frame = pd.DataFrame({"a": a, "y": a + rng.normal(size=n), "m": a + 0.2, "k": 0.8 * a, "s": 1.0})
    return frame


def test_sources_bound_and_functional_models_give_the_same(tmp_path):
    frame = table(tmp_path)
    frame.to_parquet(tmp_path / "one.parquet")
    frame[:2500].to_csv(tmp_path / "a.csv", index=False)
    frame[2500:].to_csv(tmp_path / "b.csv", index=False)
    p, q = cg.columns(mean="m", std="s"), cg.columns(mean="k", std="s")
    one = cg.scan(tmp_path / "one.parquet", x="a", y="y")
    two = cg.scan([tmp_path / "a.csv", tmp_path / "b.csv"], x="a", y="y")
    first = cg.compare(p, q, one, rng=0)
    assert first.solver == "lowrank"
    bound = (frame["m"].to_numpy(), np.ones(len(frame)))
    functional = Normal(mean=lambda x: 0.8 * x[:, 0], std=1.0)
    for other in (
        cg.compare(p, q, two, rng=0),
        cg.compare(bound, functional, one, rng=0, engine=1),
        cg.compare(p, functional, two, rng=0, engine=2),
    ):
        assert other.statistic == pytest.approx(first.statistic, rel=1e-8)
        assert other.pvalue == pytest.approx(first.pvalue, rel=1e-6)
    memory = cg.compare(bound, functional, frame[["a"]].to_numpy(), frame["y"].to_numpy(), rng=0)
    assert memory.statistic == pytest.approx(first.statistic, rel=1e-8)


def test_a_small_source_is_compared_exactly(tmp_path):
    frame = table(tmp_path, 300)
    frame.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="a", y="y")
    p, q = cg.columns(mean="m", std="s"), cg.columns(mean="k", std="s")
    result = cg.compare(p, q, source, rng=0)
    memory = cg.compare((frame.m, frame.s), (frame.k, frame.s), frame[["a"]], frame[["y"]], rng=0)
    assert (result.solver, result.statistic) == ("exact", pytest.approx(memory.statistic, rel=1e-12))


def test_dask_arrays(tmp_path):
    da = pytest.importorskip("dask.array")
    frame = table(tmp_path)
    x, y, m, k, s = (frame[c].to_numpy() for c in ("a", "y", "m", "k", "s"))
    frame.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="a", y="y")
    lazy = [da.from_array(v, chunks=1700) for v in (x, y, m, s, k - y)]
    result = cg.compare((lazy[2], lazy[3]), cg.from_scores(lazy[4]), lazy[0], lazy[1], rng=0)
    plain = cg.compare((m, s), cg.from_scores(k - y), source, rng=0)
    assert result.statistic == pytest.approx(plain.statistic, rel=1e-8)


# What comes back, and what is refused.


def test_a_result_reads_pickles_and_goes_to_json():
    x, y, p, q = sample(200)
    result = by_scores(p, q, x, y, names=("old", "new"), rng=4)
    assert isinstance(result, cg.Comparison | cg.GofResult)
    text = str(result)
    assert "comparison of old and new, n = 200" in text
    assert "D of new" in text
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["method"] == "compare"
    assert plain["names"] == ["old", "new"]
    assert plain["interval"] == list(result.interval)
    assert result.confidence_interval(0.95) == pytest.approx(result.interval)
    assert result.confidence_interval(0.5)[0] > result.interval[0]
    assert by_scores(p, q, x, y, rng=result.seed).pvalue == result.pvalue
    with pytest.raises(AttributeError):
        result.pvalue = 0.5


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"alternative": "worse"}, InputError, "alternative must be one of"),
        ({"names": ("a", "a")}, InputError, "different names"),
        ({"names": "ab"}, InputTypeError, "pair of strings"),
        ({"names": ("a", "b", "c")}, InputError, "2 names"),
        ({"solver": "fast"}, InputError, "solver must be one of"),
        ({"scale_x": "max"}, InputError, "scale_x must be"),
        ({"precision": 0}, InputError, "precision must be a number between 0 and 1"),
    ],
)
def test_wrong_options(options, error, words):
    x, y, p, q = sample()
    with pytest.raises(error, match=words):
        by_scores(p, q, x, y, **options)


def test_an_error_says_which_model_it_is_about():
    x, y, p, q = sample()
    bad = q.copy()
    bad[3] = np.nan
    with pytest.raises(NonFiniteError, match=r"Model 'new': .* 1 of 40 rows"):
        by_scores(p, bad, x, y, names=("old", "new"))
    with pytest.raises(InputTypeError, match="Model 'q': Cannot make a model of str"):
        cg.compare(cg.from_scores(p), "model", x, y)
    with pytest.raises(ShapeError, match=r"Model 'p': .*bound to 3 rows"):
        by_scores(p[:3], q, x, y)


def test_discrete_against_continuous_is_refused():
    x, y = np.arange(20.0), np.arange(20) % 3
    counts, normal = cg.models.Poisson(mean=1.0), cg.models.Normal(mean=1.0, std=1.0)
    with pytest.raises(UnsupportedModelError, match=r"'q' \(Poisson\) is of a discrete y and model 'p'"):
        cg.compare(normal, counts, x, y)
    with pytest.raises(UnsupportedModelError, match=r"'a' \(The model of class probabilities\)"):
        cg.rank({"a": cg.probabilities(np.full((20, 3), 1 / 3)), "b": normal}, x, y)


def test_a_notebook_shows_what_came_out():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 200)
    y = x + rng.standard_normal(200)
    right, wrong = (cg.models.Normal(mean=lambda x, d=d: x + d, std=1.0) for d in (0.0, 1.0))
    shown = cg.compare(right, wrong, x, y, rng=0)._repr_html_()
    assert "compare: q fits worse than p at the 5% level" in shown


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: cg.from_draws(x[:, None] + np.arange(9.0)), "no score .draws have no density"),
        (lambda x: cg.from_pit(np.full(len(x), 0.5)), "no score"),
        (lambda x: cg.from_quantiles(x[:, None] + [-1.0, 1.0], [0.2, 0.8]), "cells of its own"),
        (lambda x: cg.from_intervals(x - 1, x + 1, 0.9), "cells of its own.* check or adaptive"),
    ],
)
def test_predictions_without_common_ground_are_refused(make, message):
    x = np.linspace(-1, 1, 30)
    y = x + np.random.default_rng(0).normal(size=30)
    with pytest.raises(UnsupportedModelError, match=rf"Model 'p'.*{message}"):
        cg.compare(make(x), make(x), x, y)
