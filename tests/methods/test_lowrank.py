"""The low-rank solver against the exact one, with the same draws."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

import condgof as cg
from condgof.errors import InputError
from condgof.residuals import overconfidence
from condgof.study import problem
from levels import assert_uniform

N = 2500


def large_problem(n):
    """d_x = 10, d_y = 3: the kernel on x takes as many landmarks as it may."""
    weights = np.random.default_rng(99).normal(size=(10, 3)) / 3
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 10))
    y = x @ weights + rng.normal(size=(n, 3))
    return cg.from_scores(x @ weights - y), x, y


def sample(name, n=N):
    if name == "large":
        return large_problem(n)
    case = problem(name)
    x, y = case.draw(n, np.random.default_rng(1))
    return case.p, x, y


@pytest.mark.parametrize(("name", "apart"), [("hgm", 0.005), ("large", 0.01)])
def test_kcsd_against_exact(name, apart):
    model, x, y = sample(name)
    exact = cg.kcsd(model, x, y, rng=3, solver="exact")
    low = cg.kcsd(model, x, y, rng=3, solver="lowrank")
    assert (exact.solver, low.solver) == ("exact", "lowrank")
    assert abs(low.pvalue - exact.pvalue) <= 0.01
    assert abs(low.statistic - exact.statistic) <= apart * exact.null_distribution.std()
    assert np.corrcoef(low.null_distribution, exact.null_distribution)[0, 1] > 0.9999
    assert low.details["precision"] < 5e-3
    assert low.null == "wild bootstrap"


def test_what_was_reached_is_said():
    model, x, y = sample("hgm", 3000)
    exact = cg.kcsd(model, x, y, rng=3, solver="exact", n_boot=100)
    rough, fine = (
        cg.kcsd(model, x, y, rng=3, precision=p, n_boot=100) for p in (0.3, 1e-4)
    )
    assert fine.solver == rough.solver == "lowrank"
    assert fine.details["precision"] < 1e-3 < rough.details["precision"]
    assert rough.details["landmarks"][0] < fine.details["landmarks"][0]
    assert abs(fine.statistic - exact.statistic) < 1e-4 * exact.statistic
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(3000, 30))
    noise = rng.normal(size=3000)
    result = cg.kcsd(
        cg.from_scores(-noise),
        wide,
        noise,
        rng=3,
        precision=1e-4,
        kernel_x=cg.Gaussian(3.0),
        n_boot=100,
    )
    assert result.details["precision"] > 0.01
    assert "(asked: 0.0001): the level holds, power may be lost" in str(result)


@pytest.mark.parametrize("form", ["fscd-random", "fscd-optimize", "ksd"])
def test_the_other_tests_against_exact(form):
    model, x, y = sample("hgm", 1500)
    run = {
        "fscd-random": lambda **k: cg.fscd(model, x, y, locations="random", **k),
        "fscd-optimize": lambda **k: cg.fscd(model, x, y, **k),
        "ksd": lambda **k: cg.ksd(cg.from_scores(model(x).score(y)), y, **k),
    }[form]
    exact = run(rng=3, solver="exact")
    low = run(rng=3, solver="lowrank")
    assert abs(low.pvalue - exact.pvalue) <= 0.01
    assert abs(low.statistic - exact.statistic) <= 0.02 * exact.null_distribution.std()


def test_maps_against_exact():
    model, x, y = sample("hgm", 3000)
    at = np.random.default_rng(1).normal(size=(60, 3))
    for function, where in (
        (cg.witness, at),
        (cg.power_criterion, at),
        (cg.power_criterion, at.reshape(20, 3, 3)),
    ):
        exact = function(model, x, y, at=where, solver="exact", rng=0)
        low = function(model, x, y, at=where, solver="lowrank", rng=0)
        np.testing.assert_allclose(low, exact, atol=1e-3 * np.abs(exact).max())
    with pytest.raises(InputError, match="solver"):
        cg.witness(model, x, y, at=at, solver="magic")


def test_auto_goes_by_n_and_draws():
    model, x, y = sample("qgm", 6000)
    assert cg.kcsd(model, x, y, rng=0, n_boot=100).solver == "exact"
    assert cg.kcsd(model, x, y, rng=0, n_boot=1000).solver == "lowrank"
    assert cg.kcsd(model, x[:500], y[:500], rng=0, precision=0.01).solver == "lowrank"


def test_the_same_on_any_threads():
    model, x, y = sample("hgm", 9000)
    for null in ("wild", "multinomial", "spectral"):
        one = cg.kcsd(model, x, y, rng=0, solver="lowrank", null=null, engine=1, n_boot=300)
        many = cg.kcsd(
            model, x, y, rng=0, solver="lowrank", null=null, engine=3, n_boot=300
        )
        assert one.pvalue == many.pvalue
        assert one.statistic == many.statistic


def test_the_spectral_null_is_the_limit_of_the_signs():
    model, x, y = sample("lgm")
    signs = cg.kcsd(model, x, y, rng=0, solver="lowrank", n_boot=600)
    limit = cg.kcsd(model, x, y, rng=0, solver="lowrank", null="spectral", n_boot=600)
    assert limit.null == "spectral"
    assert ks_2samp(signs.null_distribution, limit.null_distribution).pvalue > 1e-3


def test_large_samples_give_signs_to_blocks():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120_000)
    y = x + rng.normal(size=120_000)
    result = cg.kcsd(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=0)
    assert (result.solver, result.null) == ("lowrank", "wild bootstrap")
    assert 1024 < result.details["blocks"] <= 2048
    assert not result.reject(0.001)
    wrong = cg.kcsd(cg.models.Normal(mean=lambda x: 1.05 * x, std=1.0), x, y, rng=0)
    assert wrong.reject(0.001)


@pytest.mark.parametrize("precision", [0.6, 0.1])
def test_the_level_holds_at_any_precision(precision):
    """Fixed seeds, exact bounds; `make calibrate` has a thousand trials."""
    case = problem("true-hetero")
    pvalues = []
    for trial in range(20):
        x, y = case.draw(150, np.random.default_rng([trial, 150]))
        result = cg.kcsd(case.p, x, y, rng=trial, precision=precision, n_boot=199, engine=1)
        pvalues.append(result.pvalue)
    assert_uniform(pvalues, n_boot=199)


@pytest.mark.parametrize("precision", [0, 1, -0.1, 2, "x", True, np.nan])
@pytest.mark.parametrize("test", ["kcsd", "fscd", "ksd"])
def test_bad_options(test, precision):
    rows = (np.arange(10.0),) if test == "ksd" else (np.arange(10.0), np.arange(10.0))
    with pytest.raises(InputError, match="precision must be a number between 0 and 1"):
        getattr(cg, test)(cg.from_scores(np.ones(10)), *rows, precision=precision)


def slow_overconfidence(x, y, scores):
    """−Σ_c (s_c·f_c + ∂f_c/∂y_c), f of row i differentiated numerically by its own y."""

    def functions(y):
        basis = np.column_stack([np.ones(len(y)), x])
        r = y - basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
        return np.tanh(r / np.sqrt((r**2).sum(axis=0) / (len(y) - basis.shape[1])))

    total = -(scores * functions(y)).sum(axis=1)
    for i in range(len(y)):
        for c in range(y.shape[1]):
            up = y.copy()
            down = y.copy()
            up[i, c] += 1e-5
            down[i, c] -= 1e-5
            total[i] -= (functions(up) - functions(down))[i, c] / 2e-5
    return total


@pytest.mark.parametrize("d_y", [1, 2])
def test_what_tells_that_a_model_is_overconfident_has_exact_derivatives(d_y):
    rng = np.random.default_rng(0)
    x, y, scores = (rng.normal(size=(14, d)) for d in (2, d_y, d_y))
    np.testing.assert_allclose(
        overconfidence(x, y, scores), slow_overconfidence(x, y, scores), atol=1e-8
    )


def test_a_true_model_is_not_overconfident_on_average():
    rng = np.random.default_rng(1)
    means = []
    for _ in range(4000):
        x = rng.normal(size=(9, 1))
        z = rng.normal(size=(9, 1))
        means.append(overconfidence(x, 2 * x + z, -z).mean())
    assert abs(np.mean(means)) < 4 * np.std(means) / np.sqrt(len(means))


@pytest.mark.parametrize(
    "y", [np.zeros(9), np.full(9, 1e307), np.arange(9) * 1e-300, 1e307 * np.eye(9)[0]]
)
def test_odd_values_of_y_are_no_reason_to_fail(y):
    x = np.column_stack([np.arange(9.0), np.ones(9)])  # with a constant column
    assert np.isfinite(overconfidence(x, y[:, None], -np.sign(y[:, None]))).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_model_known_by_scores_that_is_three_times_overconfident_is_rejected(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=30)
    y = 2 * x + 3 * rng.normal(size=30)
    result = cg.adaptive(cg.from_scores(2 * x - y), x, y, rng=seed, n_boot=499)
    assert result.details["families"]["surprises"] <= 0.01
    assert result.reject()
