"""Fits that shrink: `composite` draws samples that refits agree with."""

import numpy as np
import pytest

import condgof as cg
from condgof.check._shrinkage import shrinkage_of
from condgof.laws import moments_of
from condgof.models import Model, Normal

PENALTY = 20.0


def ridge(x, y):
    centre = x.mean(axis=0)
    inner = (x - centre).T @ (x - centre) + PENALTY * np.eye(x.shape[1])
    slopes = np.linalg.solve(inner, (x - centre).T @ (y - y.mean()))
    residuals = y - y.mean() - (x - centre) @ slopes
    std = np.linalg.norm(residuals) / np.sqrt(len(y) - x.shape[1] - 1)
    return Model(
        lambda new: Normal(
            mean=y.mean() + (new - centre) @ slopes, std=np.full(len(new), std)
        )
    )


def lines(seed, n=60, columns=5, slope=2.0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, columns))
    return x, slope * x.sum(axis=1) + rng.standard_normal(n)


def measured(fit, x, y):
    law = fit(x, y)(x)
    mean, std = law.mean_std()
    rng = np.random.default_rng(0)
    draws = [mean + std * rng.standard_normal(mean.shape) for _ in range(4)]
    return shrinkage_of(
        law, draws, lambda response, _: moments_of(fit(x, response[:, 0])(x), "mean_std")
    )


def test_samples_are_drawn_from_the_fit_without_penalty():
    """For a linear fit the mean that refits reproduce is the projection of y."""
    x, y = lines(0)
    found = measured(ridge, x, y)
    design = np.column_stack([np.ones(len(x)), x])
    projected = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    moved = found.moved
    np.testing.assert_allclose((moved.mean + moved.offset)[:, 0], projected, atol=0.25)
    # The noise is that of the residuals of least squares, and not of those of the ridge.
    residual = np.linalg.norm(y - projected) / np.sqrt(len(y) - 6)
    std = ridge(x, y)(x).mean_std()[1][0, 0]
    assert std > 1.3 * residual
    assert moved.factor * std == pytest.approx(residual, rel=0.15)
    assert found.is_undone
    assert 0.1 < found.share < 0.5


def test_least_squares_is_left_as_it_is():
    x, y = lines(1)
    found = measured(cg.fits.ols(), x, y)
    assert found.moved is None
    assert found.share == pytest.approx(0.0, abs=1e-12)
    assert found.notes() == ()


def test_a_true_family_keeps_its_level():
    rejected = 0
    for seed in range(8):
        x, y = lines(seed)
        result = cg.composite(
            ridge, x, y, statistic="adaptive", n_boot=39, rng=seed, engine=1, progress=False
        )
        rejected += result.pvalue <= 0.05
    assert rejected <= 2  # of the fit as it is, 8
    assert any("does not reproduce itself" in note for note in result.details["notes"])
    assert result.details["shrinkage"] > 0.1


def test_a_misfit_is_found():
    x, y = lines(0, n=120)
    y = y + 2.0 * (x[:, 0] ** 2 - 1.0)
    report = cg.composite(ridge, x, y, n_boot=39, rng=0, engine=1, progress=False)
    assert report.rejected


def test_a_discrete_or_bounded_y_is_not_moved():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(60)
    y = rng.poisson(np.exp(0.3 * x))
    result = cg.composite(
        cg.fits.glm("poisson"), x, y, statistic="adaptive", n_boot=9, rng=0, engine=1
    )
    assert "shrinkage" not in result.details


def test_a_refit_that_fails_leaves_all_as_it_is():
    calls = []

    def fit(x, y):
        calls.append(len(calls))
        if len(calls) == 3:
            raise ValueError("no convergence")
        return ridge(x, y)

    x, y = lines(0)
    result = cg.composite(
        fit, x, y, statistic="adaptive", n_boot=9, rng=0, engine=1, progress=False
    )
    assert "shrinkage" not in result.details
    assert result.details["failures"] == 0
