"""One suite that every law passes, whatever it is made of.

    from laws.conformance import check_law

    check_law(cg.as_model(fitted), x)              # y is drawn from the law itself
    check_law(cg.as_model(fitted), x, y)           # a law without a sampler: observations

The model is called once, law = model(x), and a check runs where the law has what it needs
(`can`), so that the same call serves an array of scores, class probabilities and a full
distribution; `needs` makes abilities compulsory. Everything is seeded: nothing here is
flaky.
"""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest
from scipy import stats

import condgof as cg
from condgof.errors import CondgofError, ShapeError, UnsupportedModelError
from condgof.laws import FULL, PLAIN, Probabilities
from condgof.sample import take_rows

#: The smallest p-value that a Kolmogorov–Smirnov test of seeded draws may have.
KS_LEAST = 1e-4
#: Largest mean of residuals, which are of size 1.
EXACT = 1e-9
LEVELS = np.array([0.03, 0.5, 0.9])
#: Abilities that are asked with y, and without.
OF_Y = ("score", "log_prob", "cdf", "sf", "normal_scores", "marginals")
OF_ROWS = ("mean_std", "location_scale")


def check_law(
    model,
    x,
    y=None,
    *,
    needs=(),
    rtol=1e-5,
    atol=1e-6,
    step=1e-3,
    draws=2000,
    normalised=True,
    mass=1e-3,
    steps=False,
    same=0.0,
    most=None,
    tests=True,
    pickles=None,
    snapshot=None,
):
    """Put a model through every check that its law has the abilities for.

    Parameters
    ----------
    model : Law or Model
        What is checked; `x` has its rows if it is bound to rows.
    x : array, frame or None
        Covariates as a user would pass them, at least 3 rows. None: unconditional, `y` is
        needed.
    y : ndarray of shape (n,) or (n, d_y), optional
        Observations; drawn from the law if left out.
    needs : iterable of str
        Abilities that the law must have, such as ("log_prob", "cdf", "sample").
    rtol, atol : float
        For scores against differences of log_prob, relative to each row and to the median
        score.
    step : float
        Step of those differences, relative to the spread of y; raise it for single
        precision.
    draws : int
        Number of draws for the comparisons of sampler, cdf and moments.
    normalised : bool
        Whether exp(log_prob) must integrate (for d_y = 1, within `mass`), or sum up, to 1.
    steps : bool
        Whether the cdf takes steps, so that it is not uniform at draws.
    same : float
        Relative difference allowed between two batches of the same rows (0 in double
        precision means 1e-9 here; single precision needs about 1e-4).
    most : int, optional
        The largest count to sum over; by default far in the tail.
    tests : bool
        Whether to run tests on it.
    pickles : bool, optional
        Whether the model must pickle; by default it is looked at if it does.
    snapshot : callable, optional
        () → something comparable that must be the same before and after, such as the bytes
        of the user's object.
    """
    data_before = _remember(x, y)
    globals_before = _global_state()
    snapshot_before = snapshot() if snapshot else None
    law = model(x) if x is not None else model(n=len(y))
    if y is None:
        y = law.sample(np.random.default_rng(0))
        if isinstance(law, Probabilities) and not law.classes.numeric:
            y = law.classes.labels[y.astype(int)]
        y = y[:, 0] if law.discrete and y.shape[1] == 1 else y
    y = np.asarray(y)
    for ability in needs:
        assert offers(law, ability, _width(y)), f"the law has no {ability}"
    check_law_is_a_model(law, x)
    check_shapes(law, y)
    check_rows(model, law, x, y, same=same)
    check_twice(law, y)
    check_quantiles(law, y)
    if law.discrete:
        assert not law.can("score")
        support = _values(law, y, most)
        check_residuals(law, y, support, normalised=normalised)
        check_probabilities(law, y, support, draws=draws)
    else:
        check_support(law, y)
        check_score(law, y, rtol=rtol, atol=atol, step=step)
        check_sampler(law, y, draws=draws, steps=steps)
        if normalised:
            check_normalised(law, y, mass=mass)
    if tests and len(y) >= 10:
        check_tests(model, law, x, y)
    check_pickle(model, law, x, y, pickles)
    drawn_here = data_before[1] is None
    _compare(data_before, _remember(x, None if drawn_here else y))
    assert globals_before == _global_state(), "something global changed"
    assert snapshot is None or snapshot_before == snapshot(), "the caller's object changed"


def offers(law, ability, d_y):
    """Whether a law has an ability for d_y columns of y."""
    if ability == "normal_scores":
        return law.can("normal_scores") or (
            law.can("cdf") and d_y == 1 and not law.discrete
        )
    if ability == "location_scale":
        return law.can("location_scale") or law.can("mean_std")
    if ability in ("cdf", "sf"):
        return law.can("cdf") and d_y == 1
    return law.can(ability)


def check_law_is_a_model(law, x):
    """A law called with as many rows is the law; with any other number it refuses."""
    assert law(n=law.n) is law
    assert law() is law
    if x is not None:
        assert law(x) is law
    with pytest.raises(ShapeError, match="rows"):
        law(n=law.n + 1)


def check_shapes(law, y):
    """Shapes for one row, two and all of them, and y as (n,) or (n, 1).

    A y of another number of rows is refused.
    """
    d_y = _width(y)
    for n in sorted({1, 2, len(y)}):
        part = law.take(np.arange(n))
        assert part.rows == part.n == n
        for ability in OF_Y:
            if offers(law, ability, d_y):
                answer = getattr(part, ability)(y[:n])
                arrays = answer if isinstance(answer, tuple) else (answer,)
                shapes = [np.shape(array) for array in arrays]
                columns = ability in ("score", "normal_scores", "marginals")
                allowed = [(n, d_y)] if columns else [(n,)]
                if ability == "score" and d_y == 1:
                    allowed.append((n,))
                assert all(shape in allowed for shape in shapes), (
                    f"{ability} has shapes {shapes}"
                )
        if law.can("sample"):
            assert part.sample(np.random.default_rng(0)).shape == (n, d_y)
        for ability in OF_ROWS:
            if not offers(law, ability, d_y):
                continue
            moments = _or_nothing(getattr(part, ability))
            if moments is not None:
                location, scale = moments
                assert location.shape == (n, d_y)
                assert scale.shape in ((n, d_y), (n, d_y, d_y))
                if scale.ndim == 2 and not law.discrete:
                    assert (scale > 0).all()
                else:
                    assert np.isfinite(scale).all()
        low, high = part.support
        assert (np.broadcast_to(low, (n, d_y)) < np.broadcast_to(high, (n, d_y))).all()
    for ability in OF_Y:
        if offers(law, ability, d_y):
            if d_y == 1:  # (n,) against (n, 1): the classic way to an n × n matrix
                flat, column = (getattr(law, ability)(y.reshape(s)) for s in (-1, (-1, 1)))
                np.testing.assert_array_equal(
                    np.ravel(flat), np.ravel(column), err_msg=ability
                )
            for other in (y[:-1], np.concatenate([y, y[:1]])):
                # A ValueError is what a user's function raises.
                with pytest.raises((CondgofError, ValueError)):
                    getattr(law, ability)(other)


def check_support(law, y):
    """Observations (or the law's own draws) lie inside the support."""
    rows = y.reshape(len(y), -1)
    low, high = law.support
    outside = ~((rows > low) & (rows < high)).all(axis=1)
    assert not outside.any(), f"{outside.sum()} rows are outside the support"


def check_score(law, y, *, rtol=1e-5, atol=1e-6, step=1e-3):
    """The score against differences of the law's own log-density, extrapolated once."""
    if not (law.can("log_prob") and law.can("score")):
        return
    rows = y.reshape(len(y), -1).astype(np.float64)
    score = np.asarray(law.score(y), dtype=np.float64).reshape(rows.shape)
    low, high = law.support
    room = np.minimum(rows - low, high - rows)
    spread = np.subtract(*np.quantile(rows, [0.75, 0.25], axis=0)) + 1e-3 * np.abs(
        rows
    ).max(axis=0)
    steps = step * np.minimum(room, spread)
    for c in range(rows.shape[1]):
        slopes = [_slope(law, y, rows, c, h) for h in (steps[:, c], steps[:, c] / 2)]
        slope = (4.0 * slopes[1] - slopes[0]) / 3.0
        size = np.abs(slope) + np.median(np.abs(slope))
        bad = np.abs(score[:, c] - slope) > rtol * size + atol
        assert not bad.any(), (
            f"score {score[bad, c][:3]} against {slope[bad][:3]} at y {rows[bad, c][:3]}"
        )


def check_rows(model, law, x, y, *, same=0.0):
    """The law of some rows, by `take` and by x of those rows, is that of all at them."""
    rows = np.random.default_rng(1).permutation(len(y))[: max(2, len(y) // 2)]
    few = x if x is None else take_rows(x, rows)
    taken = model if model.rows is None else model.take(rows)
    parts = [law.take(rows), taken(few, len(rows))]
    at = _some_values(law, y)
    whole = answers(law, y, at)
    for part in parts:
        assert part.rows == len(rows)
        assert part.discrete == law.discrete
        for name, values in answers(part, y[rows], at).items():
            for few_rows, all_rows in zip(values, whole[name], strict=True):
                np.testing.assert_allclose(
                    few_rows.ravel(),
                    all_rows[rows].ravel(),
                    rtol=same or 1e-9,
                    atol=(same or 1e-9) * np.median(np.abs(all_rows))
                    + (1e-6 if law.discrete else 0.0),
                    err_msg=name,
                )


def answers(law, y, at=None):
    """All that a law answers but draws, by name: tuples of arrays, a row an observation."""
    n = len(y)
    d_y = _width(y)
    y = y.copy()
    by_name = {}
    for ability in (*OF_Y, *OF_ROWS):
        if offers(law, ability, d_y):
            method = getattr(law, ability)
            value = _or_nothing(method, y) if ability in OF_Y else _or_nothing(method)
            by_name[ability] = value if isinstance(value, tuple) else (value,)
    if offers(law, "cdf", d_y):
        by_name["cdf_grid"] = (law.cdf_grid(_some_values(law, y) if at is None else at),)
        by_name["quantile"] = (law.quantile(LEVELS),)
    by_name["support"] = tuple(np.broadcast_to(end, (n, d_y)) for end in law.support)
    if law.can("residuals"):
        for by in (PLAIN, FULL):
            residuals = law.residuals(y, by)
            by_name[f"residuals {by}"] = (residuals.u, residuals.values)
        by_name["numbers"] = (law.numbers(y),)
    return {
        name: tuple(np.asarray(v) for v in values if v is not None)
        for name, values in by_name.items()
    }


def check_twice(law, y):
    """The same question has the same answer, to the bit, and answers are not shared."""
    first = answers(law, y)
    kept = copy.deepcopy(first)
    for values in first.values():
        for value in values:
            if value.flags.writeable:
                value[...] = 0
    for name, values in answers(law, y).items():
        for value, before in zip(values, kept[name], strict=True):
            np.testing.assert_array_equal(value, before, err_msg=name)
    if law.can("sample"):
        one, two = (law.sample(np.random.default_rng(5)) for _ in range(2))
        np.testing.assert_array_equal(one, two)


def check_quantiles(law, y):
    """A quantile is where the cdf reaches its level, and not before."""
    if not offers(law, "cdf", _width(y)):
        return
    quantiles = law.quantile(LEVELS)
    assert quantiles.shape == (len(y), len(LEVELS))
    assert (np.diff(quantiles, axis=1) >= 0).all()
    for level, values in zip(LEVELS, quantiles.T, strict=True):
        reached = law.cdf(values)
        before = law.cdf(values - 1e-6 * (1e-3 + np.abs(values)))
        assert (reached >= level - 1e-6).all(), f"quantile({level}) is too small"
        assert (before <= level + 1e-6).all(), f"quantile({level}) is too large"
    with pytest.raises(CondgofError, match="between 0 and 1"):
        law.quantile([0.5, 1.0])


def check_sampler(law, y, *, draws=2000, steps=False):
    """Sampler against cdf, normal scores, mean and standard deviation."""
    d_y = _width(y)
    if not law.can("sample"):
        return
    rows = np.random.default_rng(2).integers(len(y), size=draws)
    part = law.take(rows)
    drawn = part.sample(np.random.default_rng(3))
    check_support(part, drawn)
    if offers(law, "cdf", d_y):
        lower = part.cdf(drawn)
        upper = part.sf(drawn)
        if not steps:
            _check_ks(lower, "uniform", "the cdf of draws is not uniform")
        np.testing.assert_allclose(lower + upper, 1.0, atol=1e-6)
    # Where the cdf takes steps, all draws of a row are placed by one random number.
    if offers(law, "normal_scores", d_y) and not steps:
        u = part.normal_scores(drawn)
        for c in range(d_y):
            _check_ks(u[:, c], "norm", "the normal scores of draws are not normal")
        if d_y > 1:
            apart = np.corrcoef(u, rowvar=False) - np.eye(d_y)
            assert np.abs(apart).max() < 5.0 / np.sqrt(draws), (
                "normal scores are correlated"
            )
    moments = _or_nothing(part.mean_std) if law.can("mean_std") else None
    if moments is not None:
        z = (drawn - moments[0]) / moments[1]
        np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=5.0 / np.sqrt(draws))
        # Squares of a heavy tail settle slowly.
        np.testing.assert_allclose(z.std(axis=0), 1.0, atol=0.25)


def check_normalised(law, y, *, mass=1e-3, points=6001):
    """For d_y = 1, exp(log_prob) integrates to 1 at the first and the last row."""
    if not law.can("log_prob") or _width(y) != 1:
        return
    for row in (0, len(y) - 1):
        one = law.take(np.full(200, row))
        near = y[np.full(200, row)]
        if law.can("sample"):
            near = one.sample(np.random.default_rng(4))
        low, high = (float(np.ravel(end)[0]) for end in one.support)
        grid, weight = _grid(low, high, np.ravel(near), np.ravel(y), points)
        at = grid.reshape((-1,) + (1,) * (y.ndim - 1))
        density = np.exp(law.take(np.full(len(grid), row)).log_prob(at))
        total = float((density * weight).sum())
        assert abs(total - 1.0) < mass, f"the density of row {row} integrates to {total}"


def check_residuals(law, y, support, *, normalised=True):
    """Σ_y p(y|x) r(y, x) = 0 in every row and cell, over all y and over all outcomes."""
    for by in (PLAIN, FULL):
        residuals = law.residuals(y, by)
        values = np.asarray(residuals.values)
        assert values.shape == (law.n, law.cells(by).width)
        assert residuals.u.shape == (law.n, _width(y))
        if y.ndim == 1:
            np.testing.assert_array_equal(
                values, np.asarray(law.residuals(y[:, None], by).values)
            )
        if residuals.outcomes is not None:
            check_outcomes(residuals.outcomes, values)
    if support is None:
        return
    p = possible(law, support)
    if normalised:
        np.testing.assert_allclose(p.sum(axis=0), 1.0, atol=1e-6)
    # What was not summed over.
    beyond = np.abs(p.sum(axis=0) - 1).max() if normalised else 0.0
    p = p / p.sum(axis=0)
    # All pairs of a value and a row at once; what is left out is less than EXACT in all.
    value, row = np.nonzero(p > 1e-13)
    for by in (PLAIN, FULL):
        total = np.zeros((law.n, law.cells(by).width))
        residuals = np.asarray(law.take(row).residuals(support[value], by).values)
        np.add.at(total, row, p[value, row][:, None] * residuals)
        assert np.abs(total).max() < max(EXACT, 2 * beyond), "residuals do not have mean 0"


def check_outcomes(outcomes, values):
    """Residuals of the observed outcomes are `values`, and their mean over all is 0."""
    observed = outcomes.residuals(outcomes.observed)
    np.testing.assert_allclose(observed, values, atol=1e-9)
    p = np.asarray(outcomes.probabilities, dtype=np.float64)
    p = p / p.sum(axis=1, keepdims=True)
    total = np.zeros_like(values)
    for code in range(p.shape[1]):
        codes = np.full(len(p), code)
        total += p[:, [code]] * np.asarray(outcomes.residuals(codes))
    assert np.abs(total).max() < EXACT, "residuals of all outcomes do not have mean 0"


def check_probabilities(law, y, support, *, draws=2000):
    """Draws of a discrete y and its CDF against its probabilities."""
    if support is None:
        return
    values = law.classes.values if isinstance(law, Probabilities) else support
    p = possible(law, support)
    if law.can("sample"):
        times = -(-draws // law.n)
        part = law.take(np.repeat(np.arange(law.n), times))
        drawn = part.sample(np.random.default_rng(3))
        expected = p.sum(axis=1) * times
        counts = np.array([(drawn == value).sum() for value in values])
        often = expected > 20
        z = (counts[often] - expected[often]) / np.sqrt(expected[often])
        assert np.abs(z).max() < 5.0, "draws do not have the law's probabilities"
        if law.can("mean_std"):
            mean, std = part.mean_std()
            z = (drawn - mean) / np.maximum(std, 1e-9)
            np.testing.assert_allclose(z.mean(), 0.0, atol=5.0 / np.sqrt(len(drawn)))
    if law.can("cdf"):
        order = np.argsort(values)
        sums = np.cumsum(p[order], axis=0)
        cdf = np.stack([law.cdf(np.full(law.n, value)) for value in values[order]])
        np.testing.assert_allclose(cdf, sums, atol=1e-6)
        np.testing.assert_allclose(law.cdf_grid(values[order]), sums.T, atol=1e-6)
        np.testing.assert_allclose(
            law.sf(values[order][[0] * law.n]), 1.0 - sums[0], atol=1e-6
        )
        np.testing.assert_allclose(
            law.cdf(np.full(law.n, values.min() - 1)), 0.0, atol=1e-12
        )


def possible(law, support):
    """p(v|x) of all values, (values, n); what cannot be has probability 0."""
    with np.errstate(divide="ignore"):
        return np.exp(np.stack([law.log_prob(np.full(law.n, value)) for value in support]))


def check_tests(model, law, x, y):
    """The tests run on it, and give the same p-value for the model as for its law."""
    if x is None:
        first, second = (cg.ksd(model, y, n_boot=20, rng=0, engine=1) for _ in range(2))
        assert first.pvalue == second.pvalue
        return
    verbs = [cg.adaptive]
    if law.can("score") or law.can("normal_scores") or law.discrete:
        verbs.append(cg.kcsd)
    if law.discrete and law.can("log_prob"):
        verbs.append(cg.calibration)
    for test in verbs:
        first, second = (test(m, x, y, n_boot=20, rng=0, engine=1) for m in (model, law))
        assert first.pvalue == second.pvalue
        assert first.statistic == second.statistic


def check_pickle(model, law, x, y, wanted):
    """A model that pickles is the same afterwards, and so is its law."""
    for thing in (model, law):
        try:
            again = pickle.loads(pickle.dumps(thing))
        # A lambda, or a library's object, does not pickle.
        except (pickle.PicklingError, AttributeError, TypeError):
            assert not wanted, f"{thing.name} does not pickle"
            continue
        for name, values in answers(again(x, len(y)), y).items():
            for value, before in zip(values, answers(law, y)[name], strict=True):
                np.testing.assert_array_equal(value, before, err_msg=name)


def _width(y):
    return 1 if y.ndim == 1 else y.shape[1]


def _values(law, y, most):
    """All values that a discrete y may have, as a user passes them; None without a pmf."""
    if isinstance(law, Probabilities):
        return law.classes.labels
    if not law.can("log_prob"):
        return None
    low, high = (np.ravel(end) for end in law.support)
    largest = min(high.max() - 1, most or 40 + 8 * np.max(y))
    return np.arange(max(low.min() + 1, -largest), largest + 1)


def _some_values(law, y):
    """A few values of y, as numbers."""
    if isinstance(law, Probabilities):
        return law.classes.values[:3]
    return np.unique(y)[:: max(1, len(y) // 5)].astype(np.float64)


def _check_ks(values, law, message):
    pvalue = stats.kstest(values, law).pvalue
    assert pvalue > KS_LEAST, f"{message}: KS p-value {pvalue:.1e}"


def _or_nothing(method, *args):
    """A t distribution with df ≤ 2 has no variance, and says so."""
    try:
        return method(*args)
    except UnsupportedModelError:
        return None


def _slope(law, y, rows, c, steps):
    up = rows.copy()
    down = rows.copy()
    up[:, c] += steps
    down[:, c] -= steps
    apart = up[:, c] - down[:, c]
    upper, lower = (np.asarray(law.log_prob(a.reshape(y.shape)), float) for a in (up, down))
    return (upper - lower) / apart


def _grid(low, high, near, all_y, points):
    """Points that cover the support, dense near its ends and y, and their weights."""
    quartiles = np.quantile(near, [0.25, 0.5, 0.75])
    scale = (
        (quartiles[2] - quartiles[0])
        or np.subtract(*np.quantile(all_y, [0.75, 0.25]))
        or 1.0
    )
    if np.isfinite(low) and np.isfinite(high):
        t = np.linspace(-36.0, 36.0, points)
        grid = low + (high - low) / (1.0 + np.exp(-t))
        weight = (high - low) / (2.0 + np.exp(-t) + np.exp(t))
    elif np.isfinite(low) or np.isfinite(high):
        t = np.linspace(-60.0, 14.0, points)
        grid = low + scale * np.exp(t) if np.isfinite(low) else high - scale * np.exp(t)
        weight = scale * np.exp(t)
    else:
        t = np.linspace(-14.0, 14.0, points)
        grid = quartiles[1] + scale * np.sinh(t)
        weight = scale * np.cosh(t)
    inside = (grid > low) & (grid < high)
    return grid[inside], weight[inside] * (t[1] - t[0])


def _remember(x, y):
    return copy.deepcopy(x), copy.deepcopy(y)


def _compare(before, after):
    for name, a, b in zip("xy", before, after, strict=True):
        if a is not None:
            same = (
                a.equals(b)
                if hasattr(a, "equals")
                else np.array_equal(np.asarray(a), np.asarray(b))
            )
            assert same, f"{name} was changed"


def _global_state():
    name, key, *position = np.random.get_state()
    state = [name, key.tobytes(), position]
    if "torch" in sys.modules:
        import torch

        state += [torch.get_rng_state().numpy().tobytes(), str(torch.get_default_dtype())]
        state += [torch.is_grad_enabled()]
    return state
