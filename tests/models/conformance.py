"""One suite that every model passes, whichever library it comes from.

    from models.conformance import check_model

    check_model(cg.as_model(fitted), x)              # y is drawn from the model itself
    check_model(cg.as_model(fitted), x, y)           # a model without a sampler: observations it scores

A check runs where the model has what it needs (`can`), so the same call serves an array of scores and a
full distribution; `needs` makes abilities compulsory. Everything is seeded: nothing here is flaky.
"""

from __future__ import annotations

import copy
import sys

import numpy as np
from scipy import stats

import condgof as cg
from condgof.errors import UnsupportedModelError
from condgof.sample import take_rows

#: The smallest p-value that a Kolmogorov–Smirnov test of seeded draws may have.
KS_LEAST = 1e-4


def check_model(
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
    same=0.0,
    tests=True,
    snapshot=None,
):
    """Put a model through every check that it has the abilities for.

    Parameters
    ----------
    model : ConditionalModel
        What is checked; `x` has its rows if it is bound to rows.
    x : array, frame or None
        Covariates as a user would pass them, at least 3 rows. None: unconditional, `y` is needed.
    y : ndarray of shape (n,) or (n, d_y), optional
        Observations; drawn from the model if left out.
    needs : iterable of str
        Abilities that the model must have, such as ("log_prob", "cdf", "sample").
    rtol, atol : float
        For scores against differences of log_prob, relative to each row and to the median score.
    step : float
        Step of those differences, relative to the spread of y; raise it for single precision.
    draws : int
        Number of draws for the comparisons of sampler, cdf and moments.
    normalised : bool
        Whether exp(log_prob) must integrate to 1 (checked for d_y = 1), within `mass`.
    same : float
        Relative difference allowed between two batches of the same rows (0 in double precision means
        1e-9 here; single precision needs about 1e-4).
    tests : bool
        Whether to run kcsd and adaptive on it.
    snapshot : callable, optional
        () → something comparable that must be the same before and after, such as the bytes of the
        user's object.
    """
    for ability in needs:
        assert offers(model, ability, 1), f"the model has no {ability}"
    kept, outside = _remember(x, y), (_global_state(), snapshot() if snapshot else None)
    if y is None:
        y = model.sample(x, np.random.default_rng(0))
    y = np.asarray(y)
    check_shapes(model, x, y)
    check_support(model, x, y)
    check_score(model, x, y, rtol=rtol, atol=atol, step=step)
    check_rows_do_not_mix(model, x, y, same=same)
    check_twice(model, x, y)
    check_sampler(model, x, y, draws=draws)
    if normalised:
        check_normalised(model, x, y, mass=mass)
    if tests and len(y) >= 10:
        check_tests(model, x, y)
    _compare(kept, _remember(x, kept[1] if kept[1] is None else y))
    assert outside[0] == _global_state(), "something global changed"
    assert snapshot is None or outside[1] == snapshot(), "the caller's object changed"


def offers(model, ability, d_y):
    """Whether a model can do something for so many columns of y."""
    if ability == "normal_scores":
        return model.can("normal_scores") or (model.can("cdf") and d_y == 1)
    if ability == "location_scale":
        return model.can("location_scale") or model.can("mean_std")
    return model.can(ability) and (ability != "cdf" or d_y == 1)


def check_shapes(model, x, y):
    """Shapes for one row, two and all of them, and y as (n,) or (n, 1)."""
    d_y = 1 if y.ndim == 1 else y.shape[1]
    for n in sorted({1, 2, len(y)}):
        part, x_part, y_part = some(model, x, y, np.arange(n))
        shape = np.shape(part.score(y_part, x_part))
        assert shape in _allowed(n, d_y), f"score has shape {shape}"
        for ability in ("log_prob", "cdf", "sf"):
            if offers(model, "cdf" if ability == "sf" else ability, d_y):
                assert np.shape(getattr(part, ability)(y_part, x_part)) == (n,), ability
        if offers(model, "normal_scores", d_y):
            assert part.normal_scores(y_part, x_part).shape == (n, d_y)
        if offers(model, "marginals", d_y):
            assert [np.shape(a) for a in part.marginals(y_part, x_part)] == [(n, d_y)] * 3
        if offers(model, "sample", d_y):
            assert part.sample(x_part, np.random.default_rng(0), n).shape == (n, d_y)
        for ability in ("mean_std", "location_scale"):
            if offers(model, ability, d_y):
                location, scale = _or_nothing(getattr(part, ability), x_part, n) or (None, None)
                if location is not None:
                    assert location.shape == (n, d_y)
                    assert scale.shape in ((n, d_y), (n, d_y, d_y))
                    assert (scale > 0).all() if scale.ndim == 2 else np.isfinite(scale).all()
        low, high = part.support(x_part, n, d_y)
        assert (np.broadcast_to(low, (n, d_y)) < np.broadcast_to(high, (n, d_y))).all()
    if d_y == 1:  # (n,) against (n, 1): the classic way to an n × n matrix
        for ability in ("score", "log_prob", "cdf", "normal_scores"):
            if offers(model, ability, 1):
                flat, column = (getattr(model, ability)(y.reshape(s), x) for s in (-1, (-1, 1)))
                np.testing.assert_array_equal(np.ravel(flat), np.ravel(column), err_msg=ability)


def check_support(model, x, y):
    """Observations (or the model's own draws) lie inside the support."""
    rows = y.reshape(len(y), -1)
    low, high = model.support(x, *rows.shape)
    outside = ~((rows > low) & (rows < high)).all(axis=1)
    assert not outside.any(), f"{outside.sum()} rows are outside the support"


def check_score(model, x, y, *, rtol=1e-5, atol=1e-6, step=1e-3):
    """The score against differences of the model's own log-density, extrapolated once."""
    if not offers(model, "log_prob", 1):
        return
    rows = y.reshape(len(y), -1).astype(np.float64)
    score = np.asarray(model.score(y, x), dtype=np.float64).reshape(rows.shape)
    low, high = model.support(x, *rows.shape)
    room = np.minimum(rows - low, high - rows)
    spread = np.subtract(*np.quantile(rows, [0.75, 0.25], axis=0)) + 1e-3 * np.abs(rows).max(axis=0)
    steps = step * np.minimum(room, spread)
    for c in range(rows.shape[1]):
        slopes = [_slope(model, x, y, rows, c, h) for h in (steps[:, c], steps[:, c] / 2)]
        slope = (4.0 * slopes[1] - slopes[0]) / 3.0
        size = np.abs(slope) + np.median(np.abs(slope))
        bad = np.abs(score[:, c] - slope) > rtol * size + atol
        assert not bad.any(), (
            f"score {score[bad, c][:3]} against {slope[bad][:3]} at y {rows[bad, c][:3]}"
        )


def check_rows_do_not_mix(model, x, y, *, same=0.0):
    """The rows of some are those rows of all: `take`, batches, and nothing that looks at other rows."""
    rows = np.random.default_rng(1).permutation(len(y))[: max(2, len(y) // 2)]
    part, x_part, y_part = some(model, x, y, rows)
    assert part.rows is None if model.rows is None else part.rows == len(rows)
    d_y = 1 if y.ndim == 1 else y.shape[1]
    for ability in ("score", "log_prob", "cdf", "normal_scores"):
        if offers(model, ability, d_y):
            whole = np.asarray(getattr(model, ability)(y, x))
            np.testing.assert_allclose(
                np.asarray(getattr(part, ability)(y_part, x_part)).ravel(),
                whole[rows].ravel(),
                rtol=same or 1e-9,
                atol=(same or 1e-9) * np.median(np.abs(whole)),
                err_msg=ability,
            )
    for ends in zip(part.support(x_part, len(rows), d_y), model.support(x, len(y), d_y), strict=True):
        few, all_rows = (
            np.broadcast_to(a, (k, d_y)) for a, k in zip(ends, (len(rows), len(y)), strict=True)
        )
        np.testing.assert_array_equal(few, all_rows[rows])


def check_twice(model, x, y):
    """The same question has the same answer, to the bit; the same rng the same draws."""
    d_y = 1 if y.ndim == 1 else y.shape[1]
    for ability in ("score", "log_prob", "cdf", "normal_scores"):
        if offers(model, ability, d_y):
            first, second = (np.array(getattr(model, ability)(y, x)) for _ in range(2))
            np.testing.assert_array_equal(first, second, err_msg=ability)
    if offers(model, "sample", d_y):
        first, second = (model.sample(x, np.random.default_rng(5), len(y)) for _ in range(2))
        np.testing.assert_array_equal(first, second)


def check_sampler(model, x, y, *, draws=2000):
    """Sampler against cdf, normal scores, mean and standard deviation."""
    d_y = 1 if y.ndim == 1 else y.shape[1]
    if not offers(model, "sample", d_y):
        return
    rows = np.random.default_rng(2).integers(len(y), size=draws)
    part, x_part, _ = some(model, x, y, rows)
    drawn = part.sample(x_part, np.random.default_rng(3), draws)
    check_support(part, x_part, drawn)
    if offers(model, "cdf", d_y):
        lower, upper = part.cdf(drawn, x_part), part.sf(drawn, x_part)
        _check_ks(lower, "uniform", "the cdf of draws is not uniform")
        np.testing.assert_allclose(lower + upper, 1.0, atol=1e-6)
    if offers(model, "normal_scores", d_y):
        u = part.normal_scores(drawn, x_part)
        for c in range(d_y):
            _check_ks(u[:, c], "norm", "the normal scores of draws are not normal")
        if d_y > 1:
            apart = np.corrcoef(u, rowvar=False) - np.eye(d_y)
            assert np.abs(apart).max() < 5.0 / np.sqrt(draws), "normal scores are correlated"
    moments = _or_nothing(part.mean_std, x_part, draws) if offers(model, "mean_std", d_y) else None
    if moments is not None:
        z = (drawn - moments[0]) / moments[1]
        np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=5.0 / np.sqrt(draws))
        # Squares of a heavy tail settle slowly.
        np.testing.assert_allclose(z.std(axis=0), 1.0, atol=0.25)


def check_normalised(model, x, y, *, mass=1e-3, points=6001):
    """For d_y = 1, exp(log_prob) integrates to 1 at the first and the last row of x."""
    if not offers(model, "log_prob", 1) or (y.ndim == 2 and y.shape[1] != 1):
        return
    for row in (0, len(y) - 1):
        one, x_one, y_one = some(model, x, y, np.full(200, row))
        if offers(model, "sample", 1):
            y_one = one.sample(x_one, np.random.default_rng(4), 200)
        low, high = (float(np.ravel(end)[0]) for end in one.support(x_one, 200, 1))
        grid, weight = _grid(low, high, np.ravel(y_one), np.ravel(y), points)
        many, x_many, _ = some(model, x, y, np.full(len(grid), row))
        density = np.exp(many.log_prob(grid.reshape((-1,) + (1,) * (y.ndim - 1)), x_many))
        total = float((density * weight).sum())
        assert abs(total - 1.0) < mass, f"the density of row {row} integrates to {total}"


def check_tests(model, x, y):
    """The tests run on it, and give the same p-value twice."""
    if x is None:
        first, second = (cg.ksd(model, y, n_boot=20, rng=0, engine=1) for _ in range(2))
        assert first.pvalue == second.pvalue
        return
    for test in (cg.kcsd, cg.adaptive):
        first, second = (test(model, x, y, n_boot=20, rng=0, engine=1) for _ in range(2))
        assert first.pvalue == second.pvalue
        assert first.statistic == second.statistic


def some(model, x, y, rows):
    """Return model, x and y of some rows."""
    part = model.take(rows) if model.rows is not None else model
    return part, None if x is None else take_rows(x, rows), y[rows]


def _check_ks(values, law, message):
    pvalue = stats.kstest(values, law).pvalue
    assert pvalue > KS_LEAST, f"{message}: KS p-value {pvalue:.1e}"


def _allowed(n, d_y):
    return ((n, d_y), (n,)) if d_y == 1 else ((n, d_y),)


def _or_nothing(method, *args):
    """A t distribution with df ≤ 2 has no variance, and says so."""
    try:
        return method(*args)
    except UnsupportedModelError:
        return None


def _slope(model, x, y, rows, c, steps):
    up, down = rows.copy(), rows.copy()
    up[:, c] += steps
    down[:, c] -= steps
    apart = up[:, c] - down[:, c]
    upper, lower = (np.asarray(model.log_prob(a.reshape(y.shape), x), float) for a in (up, down))
    return (upper - lower) / apart


def _grid(low, high, near, all_y, points):
    """Points that cover the support, dense near its finite ends and where y is, and their weights."""
    quartiles = np.quantile(near, [0.25, 0.5, 0.75])
    scale = (quartiles[2] - quartiles[0]) or np.subtract(*np.quantile(all_y, [0.75, 0.25])) or 1.0
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
        grid, weight = quartiles[1] + scale * np.sinh(t), scale * np.cosh(t)
    inside = (grid > low) & (grid < high)
    return grid[inside], weight[inside] * (t[1] - t[0])


def _remember(x, y):
    return copy.deepcopy(x), copy.deepcopy(y)


def _compare(before, after):
    for name, a, b in zip("xy", before, after, strict=True):
        if a is not None:
            same = a.equals(b) if hasattr(a, "equals") else np.array_equal(np.asarray(a), np.asarray(b))
            assert same, f"{name} was changed"


def _global_state():
    name, key, *position = np.random.get_state()
    state = [name, key.tobytes(), position]
    if "torch" in sys.modules:
        import torch

        state += [torch.get_rng_state().numpy().tobytes(), str(torch.get_default_dtype())]
        state += [torch.is_grad_enabled()]
    return state
