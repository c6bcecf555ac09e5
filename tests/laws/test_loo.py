"""Posteriors on the rows that they were fitted to: leave-one-out predictions."""

import arviz_base as azb
import numpy as np
import pytest
from scipy.stats import norm, t

import condgof as cg
from condgof.errors import InputError
from condgof.laws import Draws, LooDraws
from condgof.laws._loo import Smoother, unspiked
from levels import assert_not_too_small

DRAWS = 2000


def posterior(n=60, seed=0, known=False, bend=0.0, draws=DRAWS, observed=True):
    """Return x, y and a posterior of y = a + b·x + σε with a flat prior, as ArviZ data."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    y = 1.0 + x + bend * (x**2 - 1.0) + rng.standard_normal(n)
    design = np.column_stack([np.ones(n), x])
    inverse = np.linalg.inv(design.T @ design)
    mean = inverse @ design.T @ y
    rest = y - design @ mean
    sigma = np.ones(draws)
    if not known:
        sigma = np.sqrt(rest @ rest / rng.chisquare(n - 2, draws))
    noise = rng.standard_normal((draws, 2)) @ np.linalg.cholesky(inverse).T
    mu = (mean + sigma[:, None] * noise) @ design.T
    logs = -0.5 * ((y - mu) / sigma[:, None]) ** 2 - np.log(sigma)[:, None]
    predicted = mu + sigma[:, None] * rng.standard_normal((draws, n))
    groups = {
        "posterior_predictive": {"y": predicted[None]},
        "log_likelihood": {"y": logs[None]},
    }
    if observed:
        groups["observed_data"] = {"y": y}
    return x, y, azb.from_dict(groups)


def exact_scores(x, y, known):
    """Studentised (deleted) residuals of least squares, as normal scores."""
    design = np.column_stack([np.ones(len(x)), x])
    hat = design @ np.linalg.solve(design.T @ design, design.T)
    e = y - hat @ y
    r = e / np.sqrt(1 - np.diag(hat))
    if known:
        return r
    df = len(x) - 3
    return norm.ppf(t.cdf(r / np.sqrt((e @ e - r**2) / df), df))


@pytest.mark.parametrize("known", [True, False])
def test_scores_are_those_of_leaving_rows_out(known):
    x, y, idata = posterior(known=known)
    law = cg.from_draws(idata)
    assert isinstance(law, LooDraws)
    z = law.normal_scores(y)[:, 0]
    exact = exact_scores(x, y, known)
    assert np.corrcoef(z, exact)[0, 1] > 0.995
    assert abs(z.std() - exact.std()) < 0.03


@pytest.mark.parametrize("known", [True, False])
def test_the_smoother_is_the_hat_matrix(known):
    x, _, idata = posterior(known=known, draws=6000)
    smoother = cg.from_draws(idata).smoother
    assert len(smoother.shares) == 2
    assert smoother.shares.min() > 0.8
    design = np.column_stack([np.ones(60), x])
    hat = design @ np.linalg.solve(design.T @ design, design.T)
    own = smoother.directions @ np.diag(smoother.shares) @ smoother.directions.T
    assert np.linalg.norm(own - hat) < 0.4 * np.linalg.norm(hat)
    assert smoother.scale_share == 0.0 if known else smoother.scale_share > 0.7


def test_replicates_have_the_covariance_of_leave_one_out_scores():
    x, _y, idata = posterior(n=30, known=True, draws=6000)
    law = cg.from_draws(idata)
    z = np.array([law.replicate_scores(np.random.default_rng(k)) for k in range(4000)])
    design = np.column_stack([np.ones(30), x])
    hat = design @ np.linalg.solve(design.T @ design, design.T)
    scale = 1 / np.sqrt(1 - np.diag(hat))
    exact = (np.eye(30) - hat) * np.outer(scale, scale)
    assert np.abs(np.cov(z.T) - exact).mean() < 0.03
    # In the directions that are fitted there is next to no variance: 1 if rows were
    # independent.
    fitted = np.linalg.qr(design)[0]
    assert ((z / scale) @ fitted).var(axis=0).max() < 0.3


def test_spikes_are_taken_back():
    s = np.array([0.4, 1.0])
    np.testing.assert_allclose(unspiked((1 + s) * (1 + 0.05 / s), 0.05), s)
    noise = np.random.default_rng(0).standard_normal((100, 2000))
    smoother = Smoother.from_draws(noise, effective=np.full(100, 2000.0), has_scale=True)
    assert len(smoother.shares) == 0
    assert smoother.scale_share < 0.2


def test_the_level_and_that_a_wrong_model_is_found():
    """benchmarks/loo_level.py has more samples, and counts."""
    pvalues = []
    for seed in range(8):
        x, y, idata = posterior(40, seed=seed, draws=800)
        pvalues.append(cg.adaptive(idata, x, y, rng=0, n_boot=59).pvalue)
    assert_not_too_small(pvalues)
    x, y, idata = posterior(120, bend=0.8)
    report = cg.check(idata, x, y, rng=0, n_boot=199)
    assert report.rejected
    assert any("PSIS-LOO" in note for note in report.notes)


def test_other_rows_are_held_out():
    """y that is not what the posterior was fitted to is compared with plain draws."""
    _, y, idata = posterior()
    law = cg.from_draws(idata)
    assert law.facing(y) is law
    assert type(law.facing(y + 1.0)) is Draws
    assert type(cg.from_draws(idata, loo=False)) is Draws
    _, y, unknown = posterior(observed=False)
    assert cg.from_draws(unknown).facing(y + 1.0).smoother is not None


def test_rows_of_bad_weights_are_named():
    x, y, _ = posterior()
    y[7] += 25.0
    rng = np.random.default_rng(1)
    mu = x + 1 + 2.0 * rng.standard_normal((DRAWS, 60))
    logs = -0.5 * (y - mu) ** 2
    idata = azb.from_dict(
        {
            "posterior_predictive": {"y": (mu + rng.standard_normal(mu.shape))[None]},
            "log_likelihood": {"y": logs[None]},
            "observed_data": {"y": y},
        }
    )
    (note,) = [one for one in cg.from_draws(idata).notes if "Pareto k" in one]
    assert "of 60 rows (" in note
    assert "7" in note


def test_few_draws_are_noted_and_rows_can_be_taken():
    _x, _y, idata = posterior(draws=120)
    law = cg.from_draws(idata)
    assert any("120 draws of 60 rows are few" in note for note in law.notes)
    some = law.take(np.array([3, 5]))
    z = law.replicate_scores(np.random.default_rng(0))
    np.testing.assert_array_equal(
        some.replicate_scores(np.random.default_rng(0)), z[[3, 5]]
    )


def test_refusals():
    _, _, idata = posterior()
    _, _, few = posterior(draws=50)
    with pytest.raises(InputError, match="take 100 draws or more, got 50"):
        cg.from_draws(few)
    with pytest.raises(InputError, match="loo=True takes ArviZ data"):
        cg.from_draws(np.zeros((5, 9)), loo=True)
    broken = idata.copy(deep=True)
    broken["log_likelihood"]["y"].values[0, 0, 0] = np.nan
    with pytest.raises(InputError, match="log_likelihood has NaN"):
        cg.from_draws(broken)
