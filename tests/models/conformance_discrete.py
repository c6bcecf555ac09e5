"""The suite that every model of a discrete y passes, beside `conformance.check_model`.

    check_discrete(cg.as_model(fitted), x)           # y is drawn from the model itself
    check_discrete(cg.as_model(fitted), x, y)        # or given, for a model without a sampler

The heart of it: residuals have mean 0 given x, by direct summation over the support.
"""

from __future__ import annotations

import numpy as np

import condgof as cg
from condgof.models import Probabilities
from condgof.models._discrete import FULL, PLAIN
from models.conformance import _compare, _global_state, _remember, some

#: Largest mean of residuals, which are of size 1.
EXACT = 1e-9


def check_discrete(model, x, y=None, *, needs=(), most=None, normalised=True, draws=4000, snapshot=None):
    """Put a model through every check that it has the abilities for.

    Parameters
    ----------
    model : ConditionalModel
        What is checked; `x` has its rows if it is bound to rows.
    x : array or frame
        At least 10 rows.
    y : ndarray of shape (n,), optional
        Observations; drawn from the model if left out.
    needs : iterable of str
        Abilities that the model must have.
    most : int, optional
        The largest count to sum over; by default far in the tail.
    normalised : bool
        Whether probabilities sum to 1.
    draws : int
        Number of draws for the comparisons of sampler and probabilities.
    snapshot : callable, optional
        () → something that must be the same before and after.
    """
    outside = (_global_state(), snapshot() if snapshot else None)
    model = model.probe(None if y is None else np.asarray(y), x) if y is not None else model
    for ability in needs:
        assert model.can(ability), f"the model has no {ability}"
    if y is None:
        y = model.sample(x, np.random.default_rng(0))[:, 0]
        model = model.probe(y, x)
        own = model.given(x)
        if isinstance(own, Probabilities) and not own.classes.numeric:
            y = own.classes.labels[y.astype(int)]
    kept = _remember(x, y)
    assert model.discrete
    assert not model.can("score")
    own = model.given(x)
    support = _support(own, x, y, most)
    check_mean_zero(own, x, y, support, normalised=normalised)
    check_rows(model, x, y)
    if own.can("sample"):
        check_sampler(own, x, y, support, draws=draws)
    if own.can("cdf"):
        check_cdf(own, x, y, support)
    for test in (cg.kcsd, cg.adaptive, cg.calibration):
        first, second = (test(model, x, y, n_boot=20, rng=0, engine=1) for _ in range(2))
        assert first.pvalue == second.pvalue
    _compare(kept, _remember(x, y))
    assert outside[0] == _global_state(), "something global changed"
    assert snapshot is None or outside[1] == snapshot(), "the caller's object changed"


def _support(model, x, y, most):
    """All values that y may have, as a user would pass them."""
    if isinstance(model, Probabilities):
        return model.classes.labels
    low, high = (np.ravel(end) for end in model.support(x, len(y), 1))
    largest = min(high.max() - 1, most or 40 + 8 * np.max(y))
    return np.arange(max(low.min() + 1, -largest), largest + 1)


def at_all(model, x, support, function):
    """Stack function(constant y) over all values of the support: (values, n, ...)."""
    n = len(x)
    return np.stack([np.asarray(function(np.full(n, value))) for value in support])


def possible(model, x, support):
    """p(v|x) of all values, (values, n); what cannot be has probability 0."""
    with np.errstate(divide="ignore"):
        return np.exp(at_all(model, x, support, lambda y: model.log_prob(y, x)))


def check_mean_zero(model, x, y, support, *, normalised=True):
    """Σ_y p(y|x) r(y, x) = 0, in every row and cell; also of residuals that are made row by row."""
    if not model.can("log_prob"):
        return
    p = possible(model, x, support)
    if normalised:
        np.testing.assert_allclose(p.sum(axis=0), 1.0, atol=1e-6)
    beyond = np.abs(p.sum(axis=0) - 1).max() if normalised else 0.0  # what was not summed over
    p = p / p.sum(axis=0)
    for by in (PLAIN, FULL):
        width = model.cells(by).width
        total = np.zeros((len(x), width))
        for value, share in zip(support, p, strict=True):
            rows = np.flatnonzero(share > 1e-13)  # what is left out is less than EXACT in all
            if len(rows):
                part, x_part, _ = some(model, x, np.zeros(len(x)), rows)
                r = part.residuals(np.full(len(rows), value), x_part, by).values
                total[rows] += share[rows, None] * np.asarray(r)
        assert np.abs(total).max() < max(EXACT, 2 * beyond)
        seen = model.residuals(y, x, by)
        assert np.asarray(seen.values).shape == (len(x), width)
        assert seen.u.shape == (len(x), 1)
        if seen.law is not None:
            np.testing.assert_allclose(seen.law.of(seen.law.observed), seen.values, atol=1e-9)


def check_rows(model, x, y):
    """The rows of some are those rows of all."""
    rows = np.random.default_rng(1).permutation(len(y))[: len(y) // 2]
    part, x_part, y_part = some(model, x, np.asarray(y), rows)
    assert part.rows is None if model.rows is None else part.rows == len(rows)
    for by in (PLAIN, FULL):
        few = np.asarray(part.given(x_part).residuals(y_part, x_part, by).values)
        whole = np.asarray(model.given(x).residuals(y, x, by).values)
        np.testing.assert_allclose(few, whole[rows], atol=1e-6)
    np.testing.assert_array_equal(
        np.asarray(model.given(x).residuals(y, x, FULL).values),
        np.asarray(model.given(x).residuals(np.asarray(y)[:, None], x, FULL).values),
    )


def check_sampler(model, x, y, support, *, draws=4000):
    """Draws against probabilities (a chi-square-like bound) and moments."""
    n = len(y)
    rows = np.repeat(np.arange(n), -(-draws // n))
    part, x_part, _ = some(model, x, np.zeros(n), rows)
    drawn = part.sample(x_part, np.random.default_rng(3), len(rows))
    assert drawn.shape == (len(rows), 1)
    again = part.sample(x_part, np.random.default_rng(3), len(rows))
    np.testing.assert_array_equal(drawn, again)
    values = model.classes.values if isinstance(model, Probabilities) else support
    expected = possible(model, x, support).sum(axis=1) * (len(rows) // n)
    found = np.array([(drawn == value).sum() for value in values])
    often = expected > 20
    z = (found[often] - expected[often]) / np.sqrt(expected[often])
    assert np.abs(z).max() < 5.0, "draws do not have the model's probabilities"
    if model.can("mean_std"):
        mean, std = part.mean_std(x_part, len(rows))
        z = (drawn - mean) / np.maximum(std, 1e-9)
        np.testing.assert_allclose(z.mean(), 0.0, atol=5.0 / np.sqrt(len(rows)))


def check_cdf(model, x, y, support):
    """The CDF is the sum of probabilities, on a grid too."""
    values = model.classes.values if isinstance(model, Probabilities) else support
    p = possible(model, x, support)
    order = np.argsort(values)
    sums = np.cumsum(p[order], axis=0)
    found = at_all(model, x, np.sort(values), lambda v: model.cdf(v, x))
    np.testing.assert_allclose(found, sums, atol=1e-6)
    np.testing.assert_allclose(model.cdf_grid(np.sort(values), x, len(y)), sums.T, atol=1e-6)
    np.testing.assert_allclose(model.cdf(np.full(len(y), values.min() - 1), x), 0.0, atol=1e-12)
