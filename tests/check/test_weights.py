"""Weights of rows in check, compare and rank: slow formulas, and the laws they obey."""

import functools
import json

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import condgof as cg
from condgof.check._decomposition import (
    decompose_probability,
    decompose_quantile,
    mean_absolute_difference,
)
from condgof.check._weighted import counting_weights, weighted_quantiles, weighted_sd
from condgof.errors import InputError, InputTypeError, UnsupportedModelError

N = 150
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (N, 2))
NOISE = RNG.standard_normal(N) * (1 + (X[:, 1] > 0.5))
WEIGHTS = np.exp(X[:, 1])
PART = np.where(X[:, 0] > 0, "east", "west")
SMALL_INTEGERS = st.lists(st.integers(1, 4), min_size=12, max_size=12)


def normal():
    return (X[:, 0], np.ones(N)), X[:, 0] + NOISE


def counts():
    mean = np.exp(1 + X[:, 0])
    return cg.models.Poisson(mean=mean), scipy.stats.poisson.ppf(
        scipy.stats.norm.cdf(NOISE), mean
    )


def classes():
    p = scipy.special.expit(X[:, 0])
    return cg.probabilities(p), (scipy.stats.norm.cdf(NOISE) < p).astype(int)


def quantiles():
    values = X[:, [0]] + scipy.stats.norm.ppf([0.1, 0.5, 0.9])
    return cg.from_quantiles(values, [0.1, 0.5, 0.9]), X[:, 0] + NOISE


def scores():
    return cg.from_scores(-NOISE), X[:, 0] + NOISE


def several():
    mean = np.stack([X[:, 0], X[:, 1]], axis=1)
    y = mean + np.stack([NOISE, NOISE[::-1]], axis=1)
    return cg.models.Normal(mean=mean, std=np.ones((N, 2))), y


KINDS = (normal, counts, classes, quantiles, scores, several)


def checked(model, y, **how):
    return cg.check(model, X, y, n_boot=99, rng=1, **how)


@functools.cache
def plain_check(kind):
    """Return the check of a kind of y without weights."""
    model, y = kind()
    return checked(model, y, by=PART)


def as_text(report):
    return json.dumps(report.to_dict(), sort_keys=True, default=str)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_weights_are_no_weights(kind):
    model, y = kind()
    weighted = checked(model, y, by=PART, weights=np.full(N, 0.3))
    assert as_text(weighted) == as_text(plain_check(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_in_the_numbers(kind):
    model, y = kind()
    report = checked(model, y, by=PART, weights=WEIGHTS)
    plain = plain_check(kind)
    effective = WEIGHTS.sum() ** 2 / np.square(WEIGHTS).sum()
    assert report.result.details["effective_rows"] == pytest.approx(effective)
    assert f"as much as {effective:,.0f} equally weighted ones" in str(report)
    estimates = [one.estimate for one in report.overall]
    assert estimates != [one.estimate for one in plain.overall]
    assert len(report.groups) == 2


def test_zero_weights_are_rows_left_out():
    model, y = normal()
    kept = X[:, 0] > -0.5
    zeros = checked(model, y, by=PART, weights=WEIGHTS * kept)
    part = (X[kept, 0], np.ones(kept.sum()))
    left_out = cg.check(
        part,
        X[kept],
        y[kept],
        by=PART[kept],
        weights=WEIGHTS[kept],
        n_boot=99,
        rng=1,
    )
    assert zeros.result.pvalue == left_out.result.pvalue
    assert [one.estimate for one in zeros.overall if one.kind != "wild"] == [
        one.estimate for one in left_out.overall if one.kind != "wild"
    ]
    assert [one.name for one in zeros.effects] == [one.name for one in left_out.effects]
    assert zeros.avoidable_loss == left_out.avoidable_loss
    rows = set(np.flatnonzero(kept).tolist())
    assert all(set(one.rows.tolist()) <= rows for one in zeros.groups)


def test_overall_numbers_are_weighted():
    """Median, middle half and coverage, from weights and residuals by hand."""
    model, y = normal()
    report = checked(model, y, weights=WEIGHTS)
    z = report.frame()["z"].to_numpy()
    w = report.frame()["weight"].to_numpy()
    np.testing.assert_allclose(w, WEIGHTS / WEIGHTS.mean())
    order = np.argsort(z)
    shares = np.cumsum(w[order]) / w.sum()
    low, median, high = (z[order][np.searchsorted(shares, p)] for p in (0.25, 0.5, 0.75))
    by_quantity = {one.quantity: one for one in report.overall}
    assert by_quantity["median"].estimate == pytest.approx(median)
    width = (high - low) / 1.3489795003921634
    assert by_quantity["middle half"].estimate == pytest.approx(width)
    inside = np.abs(z) <= scipy.stats.norm.ppf(0.95)
    coverage = next(one for one in report.overall if one.label == "90%")
    assert coverage.estimate == pytest.approx((w * inside).sum() / w.sum())
    scored = next(one for one in report.scores.scores if one.key == "log")
    log_scores = scipy.stats.norm.logpdf(y, X[:, 0])
    assert scored.mean == pytest.approx(np.average(log_scores, weights=WEIGHTS))


def test_avoidable_loss_is_the_weighted_mean_of_gains():
    model, y = normal()
    report = checked(model, y, weights=WEIGHTS)
    held_out = report.analysis.held_out
    own = WEIGHTS[held_out.rows]
    expected = np.average(held_out.gains, weights=own)
    assert report.avoidable_loss.estimate == pytest.approx(expected)
    error = np.sqrt((own**2 * (held_out.gains - expected) ** 2).sum()) / own.sum()
    low, high = report.avoidable_loss.interval
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.02)


def test_weights_decide_where_a_misfit_counts():
    """Too wide a spread in rows of low weight is hardly a loss, and the other way round."""
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, 400)
    y = np.where(x > 0.7, 2.0, 1.0) * rng.standard_normal(400)
    model = (np.zeros(400), np.ones(400))
    losses = {}
    for name, there in (("low", 0.05), ("equal", 1.0), ("high", 20.0)):
        weights = np.where(x > 0.7, there, 1.0)
        how = {"tolerance": "1 nats", "n_boot": 99, "rng": 1}
        report = cg.check(model, x, y, weights=weights, **how)
        losses[name] = report.avoidable_loss.estimate
    assert losses["low"] < 0.35 * losses["equal"]
    assert losses["high"] > 1.5 * losses["equal"]


@settings(max_examples=50, deadline=None)
@given(frequencies=SMALL_INTEGERS, seed=st.integers(0, 1000))
def test_frequencies_have_the_estimates_of_repeated_rows(frequencies, seed):
    rng = np.random.default_rng(seed)
    w = np.array(frequencies, dtype=float)
    if w.min() == w.max():
        return
    z = rng.standard_normal(12)
    p = rng.uniform(0.05, 0.95, 12).round(1)
    y = (rng.random(12) < p).astype(float)
    repeated = np.repeat(z, frequencies)
    median = weighted_quantiles(z, w, np.array([0.5]))[0]
    assert median == pytest.approx(np.median(repeated))
    n = counting_weights(w).sum()
    sd = weighted_sd(z, w)
    assert sd == pytest.approx(repeated.std() * np.sqrt(n / (n - 1)))
    one = decompose_probability(p, y, weights=w)
    many = decompose_probability(np.repeat(p, frequencies), np.repeat(y, frequencies))
    assert one.to_dict() == pytest.approx(many.to_dict())
    one = decompose_quantile(p, z, 0.3, weights=w)
    many = decompose_quantile(np.repeat(p, frequencies), repeated, 0.3)
    assert one.to_dict() == pytest.approx(many.to_dict())
    difference = np.abs(np.subtract.outer(repeated, repeated)).mean()
    assert mean_absolute_difference(z, w) == pytest.approx(difference)


def test_what_check_cannot_weight_is_refused():
    angles = np.angle(np.exp(1j * (X[:, 0] + NOISE)))
    model = cg.models.VonMises(mean=X[:, 0], concentration=np.ones(N))
    with pytest.raises(UnsupportedModelError, match="no weights where y is angles"):
        checked(model, angles, weights=WEIGHTS)
    model, y = normal()
    with pytest.raises(InputError, match="negative, NaN or infinite"):
        checked(model, y, weights=-WEIGHTS)


def test_groups_and_weights():
    """Rows of a group share an error; equal weights change no digit, others the verdict."""
    codes = np.arange(N) // 5
    errors = NOISE + np.random.default_rng(1).standard_normal(codes.max() + 1)[codes]
    model = (X[:, 0], np.full(N, 1.5))
    y = X[:, 0] + errors
    plain = checked(model, y, groups=codes)
    equal = checked(model, y, groups=codes, weights=np.full(N, 2.0))
    assert as_text(equal) == as_text(plain)
    weighted = checked(model, y, groups=codes, weights=WEIGHTS)
    assert weighted.result.pvalue > 1 / 100
    bias = weighted.overall[0]
    assert bias.interval[1] - bias.interval[0] > 0


class TestComparison:
    """Means and errors of weighted score differences."""

    first = (X[:, 0], np.ones(N))
    second = (X[:, 0], np.full(N, 1.4))
    y = X[:, 0] + NOISE

    def test_difference_and_error(self):
        found = cg.compare(self.first, self.second, X, self.y, weights=WEIGHTS)
        plain = cg.compare(self.first, self.second, X, self.y)
        d = scipy.stats.norm.logpdf(self.y, X[:, 0], 1.0)
        d -= scipy.stats.norm.logpdf(self.y, X[:, 0], 1.4)
        expected = np.average(d, weights=WEIGHTS)
        assert found.difference == pytest.approx(expected)
        assert found.difference != pytest.approx(plain.difference)
        terms = WEIGHTS / WEIGHTS.mean() * (d - expected)
        error = terms.std(ddof=1) / np.sqrt(N)
        ranked = cg.rank({"p": self.first, "q": self.second}, X, self.y, weights=WEIGHTS)
        assert ranked.pairs[0].standard_error == pytest.approx(error)
        assert found.slices == ()
        assert "slices are not looked for with weights" in found.details["notes"]

    def test_equal_weights_are_no_weights(self):
        plain = cg.compare(self.first, self.second, X, self.y, rng=1)
        equal = cg.compare(
            self.first, self.second, X, self.y, weights=np.full(N, 7.0), rng=1
        )
        assert equal.to_dict() == plain.to_dict()

    def test_rank(self):
        models = {"one": self.first, "wide": self.second}
        found = cg.rank(models, X, self.y, weights=WEIGHTS, n_boot=99, rng=1)
        pair = cg.compare(self.first, self.second, X, self.y, weights=WEIGHTS)
        assert found.pairs[0].difference == pytest.approx(abs(pair.difference))

    def test_stein_discrepancies_take_none(self):
        models = [cg.from_scores(-NOISE), cg.from_scores(-NOISE / 2)]
        with pytest.raises(InputTypeError, match="takes no weights"):
            cg.compare(*models, X, self.y, weights=WEIGHTS)
