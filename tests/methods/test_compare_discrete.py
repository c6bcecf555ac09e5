"""compare, rank and compare_map of a discrete y: values from the definition, laws, what is refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binom

import condgof as cg
import oracle
from condgof.errors import InputError, SupportError, UnsupportedModelError

Poisson, NegativeBinomial, Binomial = cg.models.Poisson, cg.models.NegativeBinomial, cg.models.Binomial


def softmax(logits):
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def drawn(p, rng):
    return (rng.random(len(p))[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)


def labels(n=40, count=3, seed=0, sharp=1 / 0.7):
    """x, labels, the truth and an over-confident model."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    logits = x @ rng.normal(size=(2, count))
    p = softmax(logits)
    return x, drawn(p, rng), p, softmax(sharp * logits)


def counts(n=40, seed=0, mean=4.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 1))
    return x, rng.poisson(mean * np.exp(0.5 * x[:, 0]))


def rate(x, mean=4.0, slope=0.5):
    return mean * np.exp(slope * x[:, 0])


# The definition: loops over pairs of rows, and sums over pairs of values of y.


def slow_difference(x, y, both, kernel, sigma_x):
    """Difference, standard error, statistic and discrepancies from dense matrices."""
    k = oracle.gram(x / x.std(axis=0, ddof=1), x / x.std(axis=0, ddof=1), oracle.gaussian, sigma_x)
    p, q = (k * oracle.centred_h(kernel, one, y) for one in both)
    return oracle.difference(p, q)


def holds(found, expected, tolerance):
    value, error, z, both = expected
    assert found.difference == pytest.approx(value, rel=tolerance)
    assert found.details["standard_error"] == pytest.approx(error, rel=tolerance)
    assert found.statistic == pytest.approx(z, rel=10 * tolerance)
    assert found.discrepancies == pytest.approx(both, rel=10 * tolerance)


SOLVERS = {
    "exact": ({"solver": "exact"}, 1e-9),
    "lowrank": ({"solver": "lowrank", "precision": 1e-13}, 1e-5),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("ordered", [False, True])
def test_labels_have_the_values_of_the_definition(solver, ordered):
    x, y, p, q = labels(30, 4)
    options, tolerance = SOLVERS[solver]
    models = [cg.probabilities(one, ordered=ordered) for one in (p, q)]
    found = cg.compare(*models, x, y, kernel_x=cg.Gaussian(1.5), rng=0, **options)
    steps = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    kernel = -0.5 * steps if ordered else np.eye(4)
    holds(found, slow_difference(x, y, (p, q), kernel, 1.5), tolerance)
    assert repr(found.kernel_y) == ("Ordinal()" if ordered else "Categorical(0)")
    assert found.solver == solver
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("solver", SOLVERS)
def test_counts_have_the_values_of_the_definition(solver):
    """Observed counts, one cell each, and one for all that lies below or above them."""
    x, y = counts(30)
    options, tolerance = SOLVERS[solver]
    p, q = Poisson(rate), NegativeBinomial(rate, 0.5)
    found = cg.compare(p, q, x, y, kernel_x=cg.Gaussian(1.5), rng=0, **options)
    low, high, mean = y.min(), y.max(), rate(x)[:, None]
    inside = np.arange(low, high + 1)
    laws = stats.poisson(mean), stats.nbinom(2.0, 2.0 / (2.0 + mean))
    both = [np.hstack([law.cdf(low - 1), law.pmf(inside), law.sf(high)]) for law in laws]
    at = (np.arange(low - 1, high + 2) - y.mean()) / y.std(ddof=1)
    kernel = np.exp(-0.5 * np.subtract.outer(at, at) ** 2)
    holds(found, slow_difference(x, y - (low - 1), both, kernel, 1.5), tolerance)
    assert repr(found.kernel_y) == "Gaussian(1)"
    assert "mean and standard deviation of y" in found.details["standardized_by"]


def test_a_kernel_on_y_of_ones_own():
    x, y, p, q = labels(30)
    models = [cg.probabilities(one, ordered=True) for one in (p, q)]
    found = cg.compare(*models, x, y, kernel_x=cg.Gaussian(1.0), kernel_y=cg.IMQ(2.0))
    steps = np.subtract.outer(np.arange(3), np.arange(3))
    holds(found, slow_difference(x, y, (p, q), (1 + steps**2 / 4.0) ** -0.5, 1.0), 1e-8)
    with pytest.raises(InputError, match="without an order"):
        cg.compare(cg.probabilities(p), cg.probabilities(q), x, y, kernel_y=cg.Gaussian(1.0))


@pytest.mark.parametrize("kind", ["labels", "counts"])
def test_lowrank_agrees_with_exact(kind):
    if kind == "labels":
        x, y, p, q = labels(1500)
        p, q = cg.probabilities(p), cg.probabilities(q)
    else:
        x, y = counts(1500)
        p, q = Poisson(rate), NegativeBinomial(rate, 0.25)
    exact, low = (cg.compare(p, q, x, y, solver=s, rng=1) for s in ("exact", "lowrank"))
    assert low.details["precision"] < 2e-3
    assert low.difference == pytest.approx(exact.difference, rel=2e-3)
    assert low.statistic == pytest.approx(exact.statistic, rel=2e-3)


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
def test_a_model_against_itself(solver):
    x, y, p, _ = labels(100)
    found = cg.compare(cg.probabilities(p), cg.probabilities(p.copy()), x, y, solver=solver, rng=0)
    assert (found.pvalue, found.statistic, found.difference) == (1, 0, 0)
    x, y = counts(100)
    other = stats.poisson(rate(x))
    assert cg.compare(Poisson(rate), other, x, y, solver=solver, rng=0).pvalue == 1


@given(st.integers(0, 2**32), st.integers(5, 40), st.integers(2, 5))
def test_laws(seed, n, count):
    """Swapped models change signs only; the order of the classes, and what they are called, nothing."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, 2)), rng.integers(count, size=n)
    p, q = (softmax(rng.normal(size=(n, count))) for _ in range(2))
    one = cg.compare(cg.probabilities(p), cg.probabilities(q), x, y, rng=0)
    other = cg.compare(cg.probabilities(q), cg.probabilities(p), x, y, rng=0)
    assert other.statistic == pytest.approx(-one.statistic, rel=1e-8, abs=1e-9)
    assert other.pvalue == pytest.approx(one.pvalue, rel=1e-7)
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]), rel=1e-7, abs=1e-12)
    names = np.array([f"class {c}" for c in range(count)])
    orders = rng.permutation(count), rng.permutation(count)
    moved = [cg.probabilities(v[:, o], names[o]) for v, o in zip((p, q), orders, strict=True)]
    same = cg.compare(*moved, x, names[y], rng=0)
    assert same.difference == pytest.approx(one.difference, rel=1e-9, abs=1e-13)
    assert same.pvalue == pytest.approx(one.pvalue, rel=1e-7)


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
def test_any_number_of_threads_gives_the_very_same(solver):
    x, y, p, q = labels(300)
    models = cg.probabilities(p), cg.probabilities(q)
    found = [cg.compare(*models, x, y, rng=3, engine=k, solver=solver) for k in (1, 2)]
    assert found[0].statistic == pytest.approx(found[1].statistic, rel=1e-12)
    assert found[0].pvalue == found[1].pvalue


def test_many_rows_of_many_classes_are_never_one_large_array():
    """Residuals are made for some rows at a time, and give the same."""
    from condgof.stein import _common

    x, y, p, q = labels(6000, 20)
    models = cg.probabilities(p), cg.probabilities(q)
    plain = cg.compare(*models, x, y, rng=0)
    held, _common.HELD = _common.HELD, 1000
    try:
        lazy = cg.compare(*models, x, y, rng=0)
    finally:
        _common.HELD = held
    assert lazy.solver == plain.solver == "lowrank"
    assert lazy.statistic == pytest.approx(plain.statistic, rel=1e-12)


# Level and power, in small.


def test_level_of_equally_wrong_models():
    """The small version of `make calibrate ONLY=compare`: tails of 1e-4."""
    trials, rejected = 200, {"classes": 0, "counts": 0}
    for trial in range(trials):
        rng = np.random.default_rng([trial, 79])
        x = rng.normal(size=(60, 1))
        y = (rng.random(60) < 0.5).astype(int)
        p, q = (cg.probabilities(np.full(60, 0.5 + d)) for d in (0.15, -0.15))
        rejected["classes"] += cg.compare(p, q, x, y, rng=0, engine=1).reject()
        # Trials that succeed or fail with probability 1/2: too high is as wrong as too low.
        y = rng.binomial(8, 0.5, 60)
        p, q = Binomial(8, 0.57), Binomial(8, 0.43)
        rejected["counts"] += cg.compare(p, q, x, y, rng=0, engine=1).reject()
    low, high = binom.ppf(5e-5, trials, 0.05), binom.isf(5e-5, trials, 0.05)
    assert all(low <= count <= high for count in rejected.values()), rejected


def test_the_truth_is_preferred():
    x, y, p, q = labels(3000, sharp=2.0, seed=1)
    found = cg.compare(cg.probabilities(q), cg.probabilities(p), x, y, alternative="greater", rng=0)
    assert (found.pvalue < 0.01, found.worse) == (True, "p")
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (300, 1))
    y = rng.poisson(rng.gamma(4.0, rate(x) / 4.0))  # variance μ + μ²/4
    found = cg.compare(Poisson(rate), NegativeBinomial(rate, 0.25), x, y, rng=0)
    assert (found.reject(0.01), found.worse) == (True, "p")


# What the models may be.


def test_counts_of_a_wide_range_go_into_few_cells():
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (400, 1))
    mean = lambda x: 500.0 * np.exp(x[:, 0])  # noqa: E731
    y = rng.poisson(mean(x))
    found = cg.compare(NegativeBinomial(mean, 0.02), Poisson(mean), x, y, rng=0)
    assert found.worse == "p"
    cells = int(found.details["standardized_by"].split()[-2])
    assert 30 < cells <= 66
    moved = cg.compare(Poisson(mean), NegativeBinomial(mean, 0.02), x, y, rng=0)
    assert moved.statistic == pytest.approx(-found.statistic)


def test_cells_of_counts_hold_all_probability(monkeypatch):
    from condgof.sample import Sample
    from condgof.stein import _common

    monkeypatch.setattr(_common, "HELD", 0)  # probabilities as they are, before residuals are made
    x, y = counts(50)
    seen = _common.common_cells([Poisson(rate)(x), Binomial(30, 0.2)(x)], Sample.of(x, y))
    for one in seen.scores:
        np.testing.assert_allclose(one.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    (wide,) = _common.common_cells([Poisson(rate)(x)], Sample.of(x, 20 * y)).scores
    np.testing.assert_allclose(wide.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert (np.bincount(wide.observed)[1:] > 0).all()


def test_binomial_scipy_and_numbered_classes_against_poisson():
    x, y = counts(200, mean=2.0)
    mean = rate(x, 2.0)
    a, b = Poisson(mean), Binomial(np.full(200, 40.0), mean / 40.0)
    one = cg.compare(a, b, x, y, rng=0)
    assert cg.compare(a, stats.binom(40, mean / 40.0), x, y, rng=0).statistic == one.statistic
    p = stats.binom.pmf(np.arange(41), 40, mean[:, None] / 40.0)
    classes = cg.compare(a, cg.probabilities(p), x, y, rng=0)
    assert classes.statistic == pytest.approx(one.statistic, rel=1e-9)


def test_classifiers():
    linear = pytest.importorskip("sklearn.linear_model")
    x, y, _, _ = labels(900, seed=4)
    names = np.array(["low", "mid", "top"])
    fit = linear.LogisticRegression().fit(x[:300], names[y[:300]])
    flat = linear.LogisticRegression(C=1e-6).fit(x[:300], names[y[:300]])
    found = cg.compare(fit, flat, x[300:], names[y[300:]], names=("fit", "flat"), rng=0)
    assert found.worse == "flat"
    bound = [cg.probabilities(m.predict_proba(x[300:]), m.classes_) for m in (fit, flat)]
    same = cg.compare(*bound, x[300:], names[y[300:]], rng=0)
    assert same.statistic == pytest.approx(found.statistic, rel=1e-12)


def test_torch_heads():
    torch = pytest.importorskip("torch")
    x, y, p, q = labels(80)
    heads = [torch.distributions.Categorical(probs=torch.as_tensor(v)) for v in (p, q)]
    found = cg.compare(*heads, x, y, rng=0)
    plain = cg.compare(cg.probabilities(p), cg.probabilities(q), x, y, rng=0)
    assert found.statistic == pytest.approx(plain.statistic, rel=1e-9)


def test_statsmodels_counts():
    sm = pytest.importorskip("statsmodels.api")
    x, y = counts(300)
    fit = sm.GLM(y, sm.add_constant(x), family=sm.families.Poisson()).fit()
    mean = np.asarray(fit.predict(sm.add_constant(x)))
    design = sm.add_constant(x)
    found = cg.compare(fit, NegativeBinomial(mean, np.full(300, 0.5)), design, y, rng=0)
    plain = cg.compare(Poisson(mean), stats.nbinom(2, 2 / (2 + mean)), design, y, rng=0)
    assert found.statistic == pytest.approx(plain.statistic, rel=1e-9)


# rank and compare_map.


def test_rank():
    x, y, p, _ = labels(600, seed=2)
    models = {f"{t}": cg.probabilities(softmax(t * np.log(p))) for t in (0.3, 1.0, 4.0)}
    found = cg.rank(models, x, y, rng=0)
    assert found.names[0] == "1.0"
    assert found.best() == ("1.0",)
    for pair in found.pairs:
        one = cg.compare(models[pair.worse], models[pair.better], x, y, rng=0)
        assert pair.difference == pytest.approx(one.difference, rel=1e-9)
        assert pair.adjusted >= pair.pvalue == pytest.approx(one.pvalue, rel=1e-6)
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("solver", ["exact", "lowrank"])
def test_compare_map(solver):
    """The difference of the two witnesses, from the definition, and where each model is worse."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 400)
    y = (rng.random(400) < 0.5).astype(int)
    left, right = np.where(x < 0, 0.8, 0.5), np.where(x > 0, 0.8, 0.5)
    found = cg.compare_map(
        cg.probabilities(left), cg.probabilities(right), x, y, at=[-1.0, 1.0],
        kernel_x=cg.Gaussian(0.5), solver=solver, rng=0,
    )  # fmt: skip
    assert found.ratio[0] > 2
    assert found.ratio[1] < -2
    unit = x.std(ddof=1)
    for v, value, ratio, noise in zip((-1.0, 1.0), found.values, found.ratio, found.noise, strict=True):
        k = np.exp(-0.5 * ((x - v) / unit / 0.5) ** 2)
        r = [np.column_stack([p - y, y - p]) for p in (left, right)]
        m = np.outer(k, k) * (r[0] @ r[0].T - r[1] @ r[1].T)
        assert value == pytest.approx(m.mean(), rel=1e-9)
        np.fill_diagonal(m, 0.0)
        rows = m.sum(axis=1) / 399
        assert noise == pytest.approx(2 * rows.std(ddof=1) / 20, rel=1e-9)
        assert ratio == pytest.approx(rows.mean() / noise, rel=1e-9)


# What is refuted, and what is refused.


def test_a_model_that_gives_an_observation_no_probability_is_refuted():
    x, y, p, q = labels(100)
    none = np.array(q)
    none[77, y[77]] = 0.0
    none[77] /= none[77].sum()
    fine, bad = cg.probabilities(p), cg.probabilities(none)
    found = cg.compare(bad, fine, x, y, rng=0)
    assert 0 < found.pvalue < 1e-300
    assert (found.worse, found.discrepancies[0]) == ("p", np.inf)
    assert "p is refuted" in found.details["notes"][0]
    assert "row 77" in str(found)
    assert cg.compare(bad, fine, x, y, alternative="less", rng=0).pvalue == 1
    assert cg.compare(bad, bad, x, y, rng=0).pvalue == 1
    ranking = cg.rank({"bad": bad, "fine": fine, "other": cg.probabilities(q)}, x, y, rng=0)
    assert ranking.names[-1] == "bad"
    with pytest.raises(SupportError, match="row 77"):
        cg.compare_map(bad, fine, x, y)
    x, y = counts(100)
    found = cg.compare(Poisson(rate), Binomial(int(y.max()) - 1, 0.3), x, y, rng=0)
    assert (found.worse, found.discrepancies[1]) == ("q", np.inf)


def test_what_cannot_be_compared_says_so(tmp_path):
    x, y, p, q = labels(60)
    a, b = cg.probabilities(p), cg.probabilities(q, ["x", "y", "z"])
    with pytest.raises(InputError, match="0, 1, 2 of model 'p' and 'x', 'y', 'z' of model 'q'"):
        cg.compare(a, b, x, y)
    with pytest.raises(InputError, match="does not have 2 of model 'old'"):
        cg.compare(a, cg.probabilities(p[:, 0]), x, y, names=("old", "new"))
    with pytest.raises(InputError, match=r"Model 'p'.*not among the classes"):
        cg.compare(a, a, x, y + 1)
    orders = [cg.probabilities(p, c, ordered=True) for c in ([0, 1, 2], [0, 2, 1])]
    with pytest.raises(InputError, match="different orders"):
        cg.compare(*orders, x, y)
    with pytest.raises(UnsupportedModelError, match=r"'p' .*discrete.*'q' \(Normal\) of a continuous"):
        cg.compare(a, cg.models.Normal(0.0, 1.0), x, y)
    ratio = cg.from_ratio(lambda y, x: 2.0 / (y + 1))
    with pytest.raises(UnsupportedModelError, match=r"Model 'q'.*ratios"):
        cg.compare(Poisson(2.0), ratio, x, y)
    words = np.array(["x", "y", "z"])[y]
    with pytest.raises(InputError, match=r"'p' is of the classes x, y, z and model 'q' \(Poisson\)"):
        cg.compare(b, Poisson(2.0), x, words)


def test_a_source_is_refused(tmp_path):
    pd = pytest.importorskip("pandas")
    x, y = counts(100)
    pd.DataFrame({"x": x[:, 0], "y": y}).to_csv(tmp_path / "t.csv", index=False)
    source = cg.scan(tmp_path / "t.csv", x="x", y="y")
    for call in (cg.compare, cg.compare_map):
        with pytest.raises(UnsupportedModelError, match="in memory only"):
            call(Poisson(2.0), Poisson(3.0), source)
