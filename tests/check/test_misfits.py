"""Misfits of a discrete y, by which size and power are told: against their families, and
slow sums.
"""

import sys

import numpy as np
import pytest
from scipy.stats import poisson

import condgof as cg
from condgof.check import Bench, mean_residuals
from condgof.check.kinds import first_to_next, moved_probability, shifted_law
from condgof.methods import Options, make_design, prepare
from condgof.sample import Seed
from condgof.stein import Units

LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
N = 30


def test_tilted_laws_of_counts_are_those_of_their_family():
    """A shifted Poisson law is a Poisson law."""
    at = np.arange(80.0)
    mean = np.array([1.0, 3.0, 12.0])
    p = poisson.pmf(at, mean[:, None])
    np.testing.assert_allclose(
        shifted_law(p, at, 0.3),
        poisson.pmf(at, (mean + 0.3 * np.sqrt(mean))[:, None]),
        atol=2e-4,
    )


def test_what_probabilities_do_to_residuals_are_sums_over_cells():
    x = np.linspace(0, 1, 6)
    rng = np.random.default_rng(0)
    ratios = (
        cg.from_ratio(lambda y, x: (1 + x) / (y + 1))(x)
        .residuals(np.arange(6) % 3, "full")
        .outcomes
    )
    p = rng.dirichlet(np.ones(4), 6)
    classes = cg.probabilities(p).residuals(np.zeros(6, dtype=int), "full").outcomes
    plain = cg.probabilities(p).residuals(np.zeros(6, dtype=int), "plain").outcomes
    for law in (ratios, classes, plain):
        q = law.probabilities
        for moved in (0.1 * first_to_next(q), rng.dirichlet(np.ones(q.shape[1]), 6) - q):
            slow = sum(
                moved[:, [i]] * np.asarray(law.residuals(np.full(6, i)))
                for i in range(q.shape[1])
            )
            np.testing.assert_allclose(mean_residuals(law, moved), slow, atol=1e-12)


@pytest.mark.parametrize(
    ("law", "inside", "room", "words"),
    [
        (
            cg.from_intervals(np.zeros(N), np.ones(N), 0.9),
            1,
            0.9,
            "a coverage of the 90% interval that is off by 0.1",
        ),
        (
            cg.from_intervals(np.zeros((N, 2)), np.ones((N, 2)), [0.2, 0.4]),
            2,
            0.6,
            "a coverage of the 40% interval that is off by 0.1",
        ),
        (
            cg.from_quantiles(np.zeros((N, 1)), [0.9]),
            1,
            0.9,
            "a probability of 0.1 on the wrong side of the 0.9 quantile",
        ),
        (
            cg.from_quantiles(np.zeros((N, 5)), LEVELS),
            3,
            0.5,
            "a probability of 0.1 on the wrong side of the 0.5 quantile",
        ),
    ],
)
def test_a_probability_on_the_wrong_side(law, inside, room, words, monkeypatch):
    """The first `inside` cells are in the interval, or below the quantile.

    Each side keeps its form.
    """
    moves = []

    def recorded(shares, gains):
        moves.append(moved_probability(shares, gains))
        return moves[-1]

    module = sys.modules[moved_probability.__module__]
    monkeypatch.setattr(module, "moved_probability", recorded)
    rng = Seed.of(0)
    options = Options(n_boot=19, engine=1).checked()
    x, y = np.random.default_rng(0).standard_normal((2, N))
    _, rows = prepare(law, x, y, Units("ranks", "auto"), options, rng)
    size = Bench.from_rows(law, rows, make_design(rows), options.row_dependence, rng).size
    ((move,),) = moves
    assert move.sum() == pytest.approx(0.0)
    assert size.like.format("0.1").startswith(words)
    assert law.shares[move < 0].sum() == pytest.approx(room)
    moved = law.shares + 0.1 * move
    assert (moved >= 0).all()
    for part in (slice(None, inside), slice(inside, None)):
        assert abs(moved[part].sum() - law.shares[part].sum()) == pytest.approx(0.1)
        np.testing.assert_allclose(
            moved[part] / moved[part].sum(), law.shares[part] / law.shares[part].sum()
        )
