"""Malformed predictions: one clear error says what is wrong, and what to do."""

import numpy as np
import pandas as pd
import pytest

import condgof as cg
from condgof.errors import CondgofError
from condgof.laws import FAMILIES

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
Y = X + RNG.normal(size=N)
DRAWS = X[:, None] + RNG.normal(size=(N, 19))
LEVELS = [0.1, 0.5, 0.9]
Q = X[:, None] + np.array([-1.3, 0.0, 1.3])
LOW = X - 1.6
HIGH = X + 1.6
U = RNG.random(N)
P = np.full((N, 4), 0.25)
EDGES = [-9.0, -1.0, 0.0, 1.0, 9.0]


def changed(array, value, at=(3, 1)):
    new = np.array(array, dtype=float)
    new[at if new.ndim > 1 else at[0]] = value
    return new


MALFORMED = {
    "a bare vector": (lambda: Y, "An array alone does not say what it is"),
    "a bare matrix": (lambda: DRAWS, "condgof.from_draws"),
    "a bare list": (lambda: list(Y), "could be predictions, scores, draws"),
    "a bare series": (lambda: pd.Series(Y), "could be predictions, scores, draws"),
    "a tuple of three": (
        lambda: (Y, Y, Y),
        "stands for .mean, std., and this one has 3 parts",
    ),
    "a negative std": (lambda: (Y, -np.ones(N)), "std must be positive"),
    "a std of the wrong length": (
        lambda: (Y, np.ones(N - 1)),
        "different numbers of rows: mean 40, std 39",
    ),
    "NaN in a mean": (lambda: (changed(Y, np.nan), np.ones(N)), "mean has NaN"),
    "text for a mean": (lambda: (["a"] * N, np.ones(N)), "mean must be real numbers"),
    "an array and a function": (
        lambda: (Y, lambda x: 1 + x**2),
        "arrays or functions, not some of each",
    ),
    "wrong n": (lambda: (Y[:-1], np.ones(N - 1)), "bound to 39 rows and the sample has 40"),
    "NaN among draws": (
        lambda: cg.from_draws(changed(DRAWS, np.nan)),
        "draws have NaN .* first in row 3",
    ),
    "infinite draws": (lambda: cg.from_draws(changed(DRAWS, np.inf)), "in 1 of 40 rows"),
    "one draw a row, flat": (
        lambda: cg.from_draws(Y),
        r"shape \(n, m\).* One prediction .* is no draw",
    ),
    "no draws": (lambda: cg.from_draws(np.empty((N, 0))), r"got \(40, 0\)"),
    "draws of the wrong n": (lambda: cg.from_draws(DRAWS[:-2]), "bound to 38 rows"),
    "draws turned round": (lambda: cg.from_draws(DRAWS.T), "bound to 19 rows"),
    "draws of objects": (
        lambda: cg.from_draws(DRAWS.astype(object)),
        "must be real numbers",
    ),
    "draws of two columns": (
        lambda: cg.from_draws(np.stack([DRAWS, DRAWS], axis=2)),
        "d_y = 2 only",
    ),
    "complex draws": (lambda: cg.from_draws(DRAWS + 1j), "complex"),
    "levels that fall": (
        lambda: cg.from_quantiles(Q, LEVELS[::-1]),
        "levels must increase",
    ),
    "levels twice": (lambda: cg.from_quantiles(Q, [0.1, 0.5, 0.5]), "levels must increase"),
    "a level of 0": (lambda: cg.from_quantiles(Q, [0.0, 0.5, 0.9]), "between 0 and 1"),
    "a level in percent": (lambda: cg.from_quantiles(Q, [10, 50, 90]), "between 0 and 1"),
    "too many levels": (
        lambda: cg.from_quantiles(Q, [0.1, 0.2, 0.5, 0.9]),
        r"\(n, 4\).* levels, got \(40, 3\)",
    ),
    "NaN in a quantile": (
        lambda: cg.from_quantiles(changed(Q, np.nan), LEVELS),
        "first in row 3",
    ),
    "quantiles in the wrong order": (
        lambda: cg.from_quantiles(-Q, LEVELS),
        "order of the levels",
    ),
    "quantiles of text": (
        lambda: cg.from_quantiles(Q.astype(str), LEVELS),
        "must be real numbers",
    ),
    "low above high": (
        lambda: cg.from_intervals(HIGH, LOW, 0.9),
        "low is above high in 40 of 40",
    ),
    "one low above high": (
        lambda: cg.from_intervals(changed(LOW, 99), HIGH, 0.9),
        "first in row 3",
    ),
    "NaN in an interval": (
        lambda: cg.from_intervals(changed(LOW, np.nan), HIGH, 0.9),
        "low has NaN",
    ),
    "a coverage of 90": (lambda: cg.from_intervals(LOW, HIGH, 90), "between 0 and 1"),
    "a coverage of 1": (lambda: cg.from_intervals(LOW, HIGH, 1.0), "between 0 and 1"),
    "intervals that are not nested": (
        lambda: cg.from_intervals(np.c_[LOW, LOW + 1], np.c_[HIGH, HIGH - 1], [0.5, 0.9]),
        "does not hold the smaller one",
    ),
    "more coverages than intervals": (
        lambda: cg.from_intervals(LOW, HIGH, [0.5, 0.9]),
        r"\(n, 2\).* got \(40, 1\)",
    ),
    "ends of different lengths": (
        lambda: cg.from_intervals(LOW, HIGH[1:], 0.9),
        "must agree",
    ),
    "PITs above 1": (lambda: cg.from_pit(changed(U, 1.2)), "first in row 3"),
    "normal scores as PITs": (lambda: cg.from_pit(Y), "become PITs by scipy.special.ndtr"),
    "NaN as a PIT": (lambda: cg.from_pit(changed(U, np.nan)), "u has NaN"),
    "PITs of the wrong n": (lambda: cg.from_pit(U[1:]), "bound to 39 rows"),
    "PITs of two columns": (
        lambda: cg.from_pit(np.c_[U, U]),
        "PITs says this for d_y = 2 only, and here d_y = 1",
    ),
    "no function in a model": (lambda: cg.models.Model(3), "function x → law, got int"),
    "quantiles without levels": (
        lambda: cg.columns(quantiles=["a"]),
        "map columns to their levels",
    ),
    "bins that do not sum to 1": (lambda: cg.from_bins(EDGES, 2 * P), "the sum 2"),
    "negative bins": (
        lambda: cg.from_bins(EDGES, changed(P, -0.25)),
        "must not be negative",
    ),
    "edges that fall": (lambda: cg.from_bins(EDGES[::-1], P), "edges must increase"),
    "too few edges": (lambda: cg.from_bins(EDGES[1:], P), "one more than bins"),
    "infinite edges": (
        lambda: cg.from_bins([-np.inf, *EDGES[1:]], P),
        "edges has NaN or infinite",
    ),
    "probabilities that do not sum to 1": (
        lambda: cg.probabilities(P / 2),
        "sum to 1 in each row",
    ),
    "logits": (lambda: cg.probabilities(4 * P - 2), "not scores or logits"),
    "scores with NaN": (lambda: cg.from_scores(changed(Y, np.nan)), "scores .* has NaN"),
    "scores of three dimensions": (
        lambda: cg.from_scores(np.zeros((N, 1, 1))),
        "got .40, 1, 1.",
    ),
    "scores of two columns": (lambda: cg.from_scores(np.zeros((N, 2))), r"got \(40, 2\)"),
    "a class": (lambda: cg.models.Normal, "Normal is a class"),
    "a bare function": (lambda: np.sin, "A bare function is ambiguous"),
    "a function of three": (lambda: cg.from_score(lambda y, x, t: y), "needs 3 arguments"),
    "a model that returns an array": (
        lambda: cg.models.Model(lambda x: x),
        "returned ndarray",
    ),
}


@pytest.mark.parametrize("test", [cg.adaptive, cg.check])
@pytest.mark.parametrize("name", MALFORMED)
def test_one_clear_error(name, test):
    make, message = MALFORMED[name]
    with pytest.raises(CondgofError, match=message):
        test(make(), X, Y, rng=0, n_boot=19)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_an_unknown_parameter_is_answered_with_the_list(family):
    with pytest.raises(
        CondgofError, match=rf"{family.__name__} takes the parameters .*=.*'nonsense'"
    ):
        family(nonsense=1.0)


def test_quantiles_that_cross_are_sorted_and_noted():
    crossed = Q.copy()
    crossed[5] = crossed[5, ::-1]
    result = cg.adaptive(cg.from_quantiles(crossed, LEVELS), X, Y, rng=0, n_boot=99)
    plain = cg.adaptive(cg.from_quantiles(Q, LEVELS), X, Y, rng=0, n_boot=99)
    assert (
        "predicted quantiles cross in 1 of 40 rows; they were sorted there"
        in result.details["notes"]
    )
    assert result.pvalue == plain.pvalue
