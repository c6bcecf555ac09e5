"""The paper's problems are what the paper says."""

import numpy as np
import pytest

from condgof.errors import InputError
from condgof.study import PROBLEMS, load_engel, problem


@pytest.mark.parametrize("name", PROBLEMS)
def test_dimensions_and_hypotheses(name):
    case = problem(name)
    x, y = case.draw(50, np.random.default_rng(0))
    assert x.shape == (50, case.d_x)
    assert y.shape == (50, case.d_y)
    same = np.allclose(case.p(x).log_prob(y), case.r(x).log_prob(y))
    assert same == case.h0
    again = case.draw(50, np.random.default_rng(0))
    np.testing.assert_array_equal(again[1], y)


def moments(model, x):
    mean, std = model(np.asarray(x, dtype=float)).mean_std()
    return mean[:, 0].tolist(), (std[:, 0] ** 2).tolist()


def test_lgm():
    case = problem("lgm")
    assert case.h0
    assert moments(case.p, np.eye(5)) == ([1, 2, 3, 4, 5], [1] * 5)


@pytest.mark.parametrize(("name", "c"), [("hgm", 2 / 3), ("hgm-far", 1.5)])
def test_hgm(name, c):
    at = [[c, c, c], [c + 0.8, c, c], [-9.0, -9.0, -9.0]]
    mean, variance = moments(problem(name).p, at)
    assert mean == pytest.approx([3 * c, 3 * c + 0.8, -27])
    assert variance == pytest.approx([11, 1 + 10 * np.exp(-0.5), 1])
    assert moments(problem(name).r, at)[1] == [1, 1, 1]


def test_qgm():
    case = problem("qgm")
    assert moments(case.p, [[2.0], [-1.0]])[0] == [3, 0]
    assert moments(case.r, [[2.0], [-1.0]])[0] == pytest.approx([3.4, 0.1])
    x, _ = case.draw(5000, np.random.default_rng(0))
    assert -2 <= x.min() < -1.99
    assert 1.99 < x.max() <= 2


def test_the_four_illustrations():
    at = [[1.0], [2.0]]
    assert moments(problem("slope-1d").p, at)[0] == [0.5, 1.0]
    assert moments(problem("slope-1d").r, at)[0] == [1.0, 2.0]
    for name in ("qgm-1d", "qgm-1d-uniform"):
        assert moments(problem(name).p, at)[0] == pytest.approx([0.5, 3.0])
        assert moments(problem(name).r, at)[0] == pytest.approx([0.4, 2.6])
    assert moments(problem("hgm-1d").p, at)[1] == pytest.approx(
        [9, 1 + 8 * np.exp(-1 / 0.18)]
    )
    x, _ = problem("qgm-1d").draw(5000, np.random.default_rng(0))
    assert x.mean() == pytest.approx(2, abs=0.1)
    x, _ = problem("qgm-1d-uniform").draw(5000, np.random.default_rng(0))
    assert (x.min() >= 2, x.max() <= 3) == (True, True)


def test_unknown_names_list_the_known():
    with pytest.raises(InputError, match="lgm, hgm"):
        problem("hmg")


def test_engel():
    income, food = load_engel()
    assert income.shape == food.shape == (235,)
    assert (food < income).all()
    # The sums of the file as it came: a guard against its being changed, not a check of its
    # source.
    assert income.sum() == pytest.approx(230881.2, abs=0.1)
    assert food.sum() == pytest.approx(146675.3, abs=0.1)


@pytest.mark.parametrize("name", ["skewed", "heavy"])
def test_noise_is_what_its_density_says(name):
    """The density integrates to 1 with mean 0 and variance 1, and so does the noise."""
    truth = problem(name).r(np.zeros((200_000, 1)))
    at = np.linspace(-400, 400, 4_000_001)
    with np.errstate(under="ignore"):
        density = np.exp(problem(name).r(np.zeros((len(at), 1))).log_prob(at))
    for power, value in ((0, 1.0), (1, 0.0), (2, 1.0)):
        assert abs(np.trapezoid(density * at**power, at) - value) < 2e-2
    drawn = truth.sample(np.random.default_rng(0))
    cdf = np.cumsum(density) * (at[1] - at[0])
    for q in (0.05, 0.5, 0.95):
        assert abs(np.quantile(drawn, q) - np.interp(q, cdf, at)) < 0.02
