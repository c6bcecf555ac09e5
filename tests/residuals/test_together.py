"""Whether draws of different rows move together: what is seen, and what is not."""

import numpy as np
import pytest

from condgof.residuals._together import draws_together, location_and_spread
from condgof.sample import Column

N = 150
COLUMNS = (Column("a"), Column("b"))


def sample(seed, draws=99):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((N, 2))
    return x, rng.standard_normal((N, draws)), rng


def independent(x, noise, rng):
    return x[:, :1] + noise


def skewed(x, noise, rng):
    return np.exp(2.0 * noise)


def binary(x, noise, rng):
    return (noise > 1.0).astype(float)


def constant(x, noise, rng):
    return np.ones_like(noise)


def intercept(x, noise, rng):
    return noise + 0.2 * rng.standard_normal(noise.shape[1])


def slope(x, noise, rng):
    return noise + 0.2 * x[:, :1] * rng.standard_normal(noise.shape[1])


def smooth(x, noise, rng):
    phase = rng.uniform(0, 2 * np.pi, noise.shape[1])
    return noise + 0.5 * np.sin(2.0 * x[:, :1] + phase)


def scale(x, noise, rng):
    return noise * np.exp(0.1 * rng.standard_normal(noise.shape[1]))


@pytest.mark.parametrize("draw", [independent, skewed, binary, constant])
def test_rows_that_were_drawn_independently(draw):
    found = [draws_together(draw(*sample(s)), sample(s)[0], COLUMNS) for s in range(20)]
    assert sum(one.is_certain for one in found) <= 3


@pytest.mark.parametrize("draw", [intercept, slope, smooth, scale])
def test_rows_that_share_an_error(draw):
    found = [draws_together(draw(*sample(s)), sample(s)[0], COLUMNS) for s in range(10)]
    assert all(one.is_certain for one in found)
    assert not any(one.is_one_noise for one in found)


def test_categories_and_several_columns_of_y():
    _, noise, rng = sample(1)
    codes = rng.integers(0, 3, N).astype(float)
    shared = noise + 0.3 * rng.standard_normal((3, noise.shape[1]))[codes.astype(int)]
    levels = (Column("group", levels=("p", "q", "r")),)
    both = np.stack([noise, shared], axis=2)
    assert draws_together(both, codes[:, None], levels).is_certain
    twice = np.stack([noise, rng.permuted(noise, axis=1)], axis=2)
    assert not draws_together(twice, codes[:, None], levels).is_certain


def test_one_noise_vector_is_told():
    x, _, rng = sample(2)
    draws = x[:, :1] + rng.standard_normal(99) + 0.1 * rng.standard_normal((N, 99))
    assert draws_together(draws, x, COLUMNS).is_one_noise


def test_few_rows_or_draws_tell_nothing():
    assert draws_together(np.ones((1, 9)), np.ones((1, 2)), COLUMNS).pvalue == 1.0
    assert draws_together(np.ones((9, 2)), np.ones((9, 2)), COLUMNS).pvalue == 1.0


def test_functions_of_draws_have_mean_0_and_mean_square_1():
    both = location_and_spread(np.random.default_rng(0).gamma(0.3, size=(7, 50)))
    np.testing.assert_allclose(both.mean(axis=2), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.square(both).mean(axis=2), 1.0)


def test_the_mean_square_correlation_has_its_mean_and_variance():
    """Over permutations within rows, against plain loops."""
    rng = np.random.default_rng(3)
    values = location_and_spread(rng.standard_normal((6, 12)))[0]
    means = []
    for _ in range(4000):
        v = rng.permuted(values, axis=1)
        rho = v @ v.T / v.shape[1]
        means.append((np.square(rho).sum() - np.square(np.diag(rho)).sum()) / 30.0)
    assert np.mean(means) == pytest.approx(1.0 / 11.0, rel=0.02)
    assert np.std(means) == pytest.approx(np.sqrt(4.0 / 30.0) / 11.0, rel=0.15)
