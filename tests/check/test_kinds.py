"""`check` of every kind of model: true models, wrong ones, and values computed by hand."""

import itertools
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm, poisson, zipf

import condgof as cg
from condgof.check import Bench, Finding, Signal, direction_of, led
from condgof.check.kinds import MomentRows, RatioRows, bands_of, column_pairs
from condgof.errors import InputError
from levels import assert_not_too_small
from own_laws import OfX, model_of

FAST = {"n_boot": 39, "engine": 1}
N = 500
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
EDGES = np.linspace(-12.0, 16.0, 60)
LETTERS = np.array(["a", "b", "c"])


def softmax(logits):
    values = np.exp(logits - logits.max(axis=1, keepdims=True))
    return values / values.sum(axis=1, keepdims=True)


def draw(p, rng):
    return np.minimum(
        (rng.random((len(p), 1)) >= np.cumsum(p, axis=1)).sum(axis=1), p.shape[1] - 1
    )


def pair_of(x, rho, rng, m=None):
    """Two columns with the correlation rho, (n, 2); or m draws of them, (n, m, 2)."""
    shape = (len(x),) if m is None else (len(x), m)
    by_row = (len(x),) if m is None else (len(x), 1)
    mean = np.reshape(x, by_row)
    rho = np.reshape(np.broadcast_to(rho, x.shape), by_row)
    a, b = rng.standard_normal((2, *shape))
    return np.stack([mean + a, 2 * mean + rho * a + np.sqrt(1 - rho**2) * b], axis=-1)


class OnlyMoments(OfX):
    """A law with a score, mean and standard deviation, and no CDF."""

    def score(self, y):
        return self.x.reshape(-1, 1) - np.asarray(y).reshape(-1, 1)

    def mean_std(self):
        return self.x.reshape(-1, 1), np.ones((len(self.x), 1))


# Models of a continuous y = x + sd·noise: sd is spread(x), or what the model takes it to be


def spread(x):
    return 0.5 + 0.5 * x


def bins(x, y, sd, rng):
    p = np.diff(norm.cdf((EDGES - x[:, None]) / sd[:, None]), axis=1)
    return cg.from_bins(EDGES, p / p.sum(axis=1, keepdims=True))


def density(x, y, sd, rng):
    table = dict(zip(x, sd, strict=True))

    def log_prob(y, x):
        own = np.vectorize(table.get)(np.ravel(x))
        return -0.5 * ((np.ravel(y) - np.ravel(x)) / own) ** 2

    return cg.from_log_prob(log_prob)


def nested(x, y, sd, rng):
    half = sd[:, None] * norm.ppf([0.75, 0.975])
    return cg.from_intervals(x[:, None] - half, x[:, None] + half, [0.5, 0.95])


CONTINUOUS = {
    "pair": lambda x, y, sd, rng: (x, sd),
    "normal": lambda x, y, sd, rng: cg.models.Normal(mean=x, std=sd),
    "density": density,
    "scores": lambda x, y, sd, rng: cg.from_scores(((x - y) / sd**2)[:, None]),
    "draws": lambda x, y, sd, rng: cg.from_draws(
        x[:, None] + sd[:, None] * rng.standard_normal((len(x), 99))
    ),
    "pit": lambda x, y, sd, rng: cg.from_pit(norm.cdf((y - x) / sd)),
    "bins": bins,
    "quantiles": lambda x, y, sd, rng: cg.from_quantiles(
        x[:, None] + sd[:, None] * norm.ppf(LEVELS), LEVELS
    ),
    "intervals": lambda x, y, sd, rng: cg.from_intervals(
        x - 1.6449 * sd, x + 1.6449 * sd, 0.9
    ),
    "nested": nested,
}


def sample(seed=0, n=N):
    rng = np.random.default_rng([seed, 11])
    x = rng.uniform(0, 3, n)
    return x, x + spread(x) * rng.standard_normal(n)


# Samples of all kinds: functions of (rng, n) that return x, y and a true model


def slice_findings(found):
    """Return the findings of all slices of a check."""
    findings = []
    for one in found.slices:
        findings += one.findings
    return findings


def of_continuous(name):
    def make(rng, n):
        x = rng.uniform(0, 3, n)
        y = x + spread(x) * rng.standard_normal(n)
        return x, y, CONTINUOUS[name](x, y, spread(x), rng)

    return make


def of_moments(rng, n):
    x = rng.uniform(0, 3, n)
    return x, x + rng.standard_normal(n), model_of(OnlyMoments)


def of_gamma(rng, n):
    x = rng.uniform(1, 3, n)
    return x, rng.gamma(3.0, x), cg.models.Gamma(shape=3.0, scale=lambda x: x)


def of_columns(rng, n):
    x = rng.uniform(0, 3, n)
    cov = np.tile(np.array([[1.0, 0.6], [0.6, 1.0]]), (n, 1, 1))
    return (
        x,
        pair_of(x, 0.6, rng),
        cg.models.Normal(mean=np.column_stack([x, 2 * x]), cov=cov),
    )


def of_vector_draws(rng, n):
    x = rng.uniform(0, 3, n)
    return x, pair_of(x, 0.6, rng), cg.from_draws(pair_of(x, 0.6, rng, 39))


def of_folds(rng, n):
    """Draws of several columns by two fits, each with its own number of draws."""
    x = rng.uniform(0, 3, n)
    y = pair_of(x, 0.6, rng)

    def fit(x, y):
        m = 20 + len(x) % 3
        seed = int(rng.integers(10**6))
        return cg.models.Model(
            lambda x: cg.from_draws(pair_of(x, 0.6, np.random.default_rng(seed), m))
        )

    return x, y, cg.crossfit(fit, x, y, folds=2, groups=np.arange(n) < n // 2 + 1, rng=0)


def of_classes(rng, n, k=3, ordered=False):
    x = rng.standard_normal((n, 2))
    p = softmax(2.0 * x @ np.random.default_rng(3).standard_normal((2, k)))
    return x, draw(p, rng), cg.probabilities(p, ordered=ordered)


def of_labels(rng, n):
    x, y, law = of_classes(rng, n)
    return x, LETTERS[y], cg.probabilities(law.values, LETTERS)


def of_counts(rng, n):
    x = rng.standard_normal((n, 2))
    return (
        x,
        rng.poisson(3.0 * np.exp(0.4 * x[:, 0])),
        cg.models.Poisson(mean=lambda x: 3 * np.exp(0.4 * x[:, 0])),
    )


def of_ratios(rng, n):
    x, y, _ = of_counts(rng, n)
    return x, y, cg.from_ratio(lambda y, x: 3.0 * np.exp(0.4 * x[:, 0]) / (y + 1))


def of_large_ratios(rng, n):
    x = rng.uniform(1, 2, n)
    return x, rng.poisson(1e6 * x), cg.from_ratio(lambda y, x: 1e6 * x / (y + 1))


def of_heavy_counts(rng, n):
    n = min(n, 200)  # SciPy's are slow
    return rng.standard_normal(n), zipf(2.1).rvs(n, random_state=rng), zipf(2.1)


TRUE = {
    **{name: of_continuous(name) for name in CONTINUOUS},
    "moments": of_moments,
    "gamma": of_gamma,
    "columns": of_columns,
    "vector draws": of_vector_draws,
    "folds": of_folds,
    "classes": of_labels,
    "two classes": lambda rng, n: of_classes(rng, n, 2),
    "ordered": lambda rng, n: of_classes(rng, n, 4, ordered=True),
    "counts": of_counts,
    "ratios": of_ratios,
    "large ratios": of_large_ratios,
    "heavy counts": of_heavy_counts,
}


@pytest.mark.parametrize("name", TRUE)
def test_nothing_false_is_said_of_true_models(name):
    """Numbers of all rows are as the model says: hardly any is off, and none by far."""
    x, y, model = TRUE[name](np.random.default_rng(3), 300)
    groups = np.arange(len(y)) % 3
    found = cg.check(model, x, y, by=groups, rng=0, alpha=0.005, n_boot=199, engine=1)
    assert not found.rejected
    assert found.slices == ()
    off = [f for f in found.overall if f.telling]
    assert len(off) <= 2, [f.words for f in off]
    for finding in found.overall:
        low, high = finding.interval
        half = max(high - finding.estimate, finding.estimate - low)
        assert abs(finding.estimate - finding.expected) <= 2.0 * half, finding.words
    assert all(one.pvalue > 0.01 for one in found.groups)
    assert found.effect.interval.low == 0.0
    json.dumps(found.to_dict(), allow_nan=False)
    assert "nan" not in str(found)
    if "class" not in name and name != "ordered":
        assert "class" not in str(found)
    found.frame()


# Heavy counts are left out because they are slow, and a pair is the normal law.
@pytest.mark.parametrize("name", sorted(set(TRUE) - {"heavy counts", "pair"}))
def test_true_models_name_slices_no_more_often_than_they_may(name):
    """4 samples, of which p-values count whole; `make calibrate` has 1,000."""
    trials = 4
    named = 0
    gains = []
    for trial in range(trials):
        x, y, model = TRUE[name](np.random.default_rng([trial, 5]), 100)
        found = cg.check(model, x, y, rng=trial, n_boot=39, engine=1)
        named += bool(found.effects)
        gains.append(found.result.details["families"]["staged gains"])
        assert bool(found.effects) >= bool(found.slices)
    assert named <= binom.isf(1e-4, trials, 0.05)
    assert_not_too_small(gains)


# A spread that is wrong, by every kind of model of a continuous y


@pytest.mark.parametrize("name", CONTINUOUS)
def test_a_wrong_spread_is_told(name):
    x, y = sample(n=1000)
    law = CONTINUOUS[name](x, y, np.full(1000, 1.25), np.random.default_rng(2))
    found = cg.check(law, x, y, rng=0, **FAST)
    assert found.rejected
    said = {one.direction: one for one in found.slices}
    if name == "quantiles":
        assert {f.kind for f in slice_findings(found)} == {"quantile"}
        first = found.slices[0]
        assert re.fullmatch(r"x < [012][.\d]*", first.words)
        assert re.fullmatch(
            r"(10|25)% quantile too low|(75|90)% quantile too high", first.direction
        )
        return
    assert {"too wide", "too narrow"} <= set(said)
    narrow = said["too narrow"]
    wide = said["too wide"]
    assert re.fullmatch(r"x ≥ [12][.\d]*", narrow.words)
    assert re.fullmatch(r"x < [012][.\d]*", wide.words)
    assert wide.kind == ("coverage" if name in ("intervals", "nested") else "spread")
    assert found.effect.interval.low > 0
    if name in ("density", "bins", "nested"):  # tests/report has pages of the others
        assert len(found.to_html()) > 10_000
    if name == "scores":
        assert {f.kind for f in narrow.findings} == {"shift", "spread"}
        assert any("random signs of rows" in note for note in found.notes)
        assert "as its scores suggest" in found.effect.words


def test_scores_of_a_gaussian_say_what_residuals_say():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(4000)
    y = 5.0 + 3.0 * rng.standard_normal(4000)
    found = cg.check(cg.from_scores(-((y - 4.0) / 2.0**2)[:, None]), x, y, rng=0, **FAST)
    shift, wider = found.overall
    # In units of the data: a shift of 1 where they spread by 3.
    assert shift.estimate == pytest.approx((y - 4.0).mean() / y.std(), rel=1e-9)
    assert shift.interval[0] < 1 / 3 < shift.interval[1]
    square = ((y - 4.0) / 4.0 * (y - y.mean())).mean()
    assert wider.estimate == pytest.approx(np.sqrt(square), rel=1e-9)
    assert wider.estimate == pytest.approx(1.5, rel=0.05)
    assert shift.words.startswith("the mean Stein score is −0.3")
    assert shift.words.endswith("; the model predicts 0")


def test_a_bounded_model():
    rng = np.random.default_rng(2)
    x = rng.uniform(1, 3, N)
    found = cg.check(
        cg.models.Gamma(shape=3.0, scale=lambda x: x), x, rng.gamma(2.0, x), rng=0, **FAST
    )
    assert found.overall[0].words.startswith("the median residual is −")
    assert found.overall[0].telling
    assert (found.frame()["pit"].between(0, 1)).all()


def test_draws_tell_no_more_than_ranks_do():
    """A few draws resolve no outer interval, and no row is an outlier beyond all draws."""
    rng = np.random.default_rng(0)
    x, y = sample()
    y[7] = 1e6
    kinds = {}
    for m in (3, 30, 300, 2000):
        found = cg.check(
            cg.from_draws(x[:, None] + rng.standard_normal((N, m))), x, y, rng=0, **FAST
        )
        kinds[m] = [f.label or f.kind for f in found.overall]
        assert f"; by ranks among {m:,} draws)" in found.overall[1].words
        for finding in slice_findings(found):
            assert finding.kind != "spread" or f"{m:,} draws" in finding.words
    assert kinds == {
        3: ["median", "middle half", "50%"],
        30: ["median", "middle half", "50%", "90%", "skew"],
        300: ["median", "middle half", "50%", "90%", "skew"],
        2000: ["median", "middle half", "50%", "90%", "skew", "99.9%"],
    }
    assert "tails" in {f.kind for f in slice_findings(found)}


def test_skewed_draws():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 3, 800)
    e = rng.gamma(2.0, 1.0, 800)
    y = x + (e - 2.0) / np.sqrt(2.0)
    found = cg.check(
        cg.from_draws(x[:, None] + rng.standard_normal((800, 200))),
        x,
        y,
        rng=0,
        n_boot=99,
        engine=1,
    )
    assert found.rejected
    skew = next(f for f in found.overall if f.kind == "skew")
    assert skew.telling
    z = found.frame()["z"]
    assert skew.estimate == pytest.approx((z > 1.6448536).mean() - (z < -1.6448536).mean())


def test_a_law_with_moments_alone():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, N)
    y = x + np.where(x > 2, 2.0, 1.0) * rng.standard_normal(N)
    found = cg.check(model_of(OnlyMoments), x, y, rng=0, **FAST)
    assert isinstance(found.checked, MomentRows)
    first = found.slices[0]
    assert first.direction == "too narrow"
    z = (y - x)[first.rows]
    low, high = np.quantile(z, [0.25, 0.75])
    assert [f.quantity for f in first.findings] == ["middle half", "sd", "mean"]
    assert [f.estimate for f in first.findings] == pytest.approx(
        [(high - low) / (2 * norm.ppf(0.75)), z.std(ddof=1), z.mean()]
    )
    assert {f.kind for f in first.findings} == {"shift", "spread"}
    assert {f.kind for f in found.overall} == {"shift", "spread"}
    assert "pit" not in found.frame()


def test_a_shift_that_fills_the_tails_is_called_a_shift():
    """Rows too far out on one side only are a shift, even if the search found a spread."""
    findings = (
        Finding("shift", "y", 1.3, (0.7, 1.9), 0.0),
        Finding("spread", "y", 0.86, (0.4, 2.0), 1.0),
        Finding("coverage", "y", 0.55, (0.22, 0.85), 0.9, label="90%"),
    )
    signal = Signal("spread", "y")
    assert led(findings, signal, 4.0)[0].kind == "shift"
    assert led(findings[1:], signal, 4.0)[0].kind == "coverage"


def test_a_cdf_beyond_0_and_1_is_refused():
    class Broken(cg.Law):
        rows = N

        def take(self, rows):
            return self

        def cdf(self, y):
            return np.linspace(0.0, 1.2, N)

    x, y = sample()
    with pytest.raises(
        InputError, match=r"cdf must lie between 0 and 1, .* in row 4\d\d .*first is 1\.\d+"
    ):
        cg.check(Broken(), x, y, rng=0, **FAST)


# Several columns of y


def test_one_of_several_columns_is_off():
    rng = np.random.default_rng(8)
    x = rng.uniform(0, 3, N)
    y = pd.DataFrame(pair_of(x, 0.0, rng), columns=["rent", "food"])
    y["food"] += 1.5 * (x > 2)
    mean = np.column_stack([x, 2 * x])
    for model in ((mean, np.ones((N, 2))), cg.from_draws(pair_of(x, 0.0, rng, 60))):
        found = cg.check(model, x, y, rng=0, **FAST)
        first = found.slices[0]
        lead = first.findings[0]
        assert (lead.kind, lead.column, first.direction) == ("shift", "food", "too low")
        assert re.fullmatch(r"x ≥ (1\.9|2)[.\d]*", first.words)
        assert lead.words.startswith("the median residual of food is +1.")
        z = found.frame().loc[first.rows, "z_food"]
        assert lead.estimate == pytest.approx(z.median())
        beside = first.findings[1]
        assert (beside.quantity, beside.column) == ("mean", "food")
        assert beside.estimate == pytest.approx(z.mean())
        assert {f.column for f in first.findings} == {"rent", "food", "rent and food"}
        assert not any(f.telling for f in first.findings if f.column == "rent")


@pytest.mark.parametrize("kind", ["normal", "draws"])
def test_columns_that_go_together_in_another_way(kind):
    rng = np.random.default_rng(9)
    x = rng.uniform(0, 3, N)
    y = pair_of(x, 0.8 * (x > 1.5), rng)
    model = (np.column_stack([x, 2 * x]), np.ones((N, 2)))
    if kind == "draws":
        model = cg.from_draws(pair_of(x, 0.3, rng, 60))
    found = cg.check(model, x, y, rng=0, **FAST)
    first = next(one for one in found.slices if one.direction == "correlation too low")
    assert re.fullmatch(r"x ≥ 1\.[456][.\d]*", first.words)
    lead = first.findings[0]
    z = found.frame().loc[first.rows, ["z_y1", "z_y2"]]
    assert lead.estimate == pytest.approx(z.corr().iloc[0, 1])
    assert lead.expected == pytest.approx(0.3 if kind == "draws" else 0.0, abs=0.03)
    assert lead.words.startswith("residuals of y1 and y2 have correlation 0.")
    assert "correlation too low" in found.words or found.effects


def test_what_draws_say_of_two_columns_is_a_mean_over_the_draws():
    """Normal scores of ranks, random within a rank: their product as the draws have it."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, 4000)
    law = cg.from_draws(pair_of(x, 0.7, rng, 20))
    found = cg.check(law, x, pair_of(x, 0.7, rng), rng=0, n_boot=19, engine=1)
    (finding,) = (f for f in found.overall if f.kind == "correlation")
    z = found.frame()[["z_y1", "z_y2"]].to_numpy()
    assert finding.expected == pytest.approx((z[:, 0] * z[:, 1]).mean(), abs=0.05)
    assert finding.interval[0] < finding.expected < finding.interval[1]
    assert found.checked.expected_products().shape == (4000, 1)


def test_columns_whose_dependence_the_law_does_not_tell_are_not_compared():
    x, y, law = of_columns(np.random.default_rng(0), 300)
    found = cg.check(law, x, y, standardize="marginals", rng=0, **FAST)
    assert not found.rejected
    assert not any(f.kind == "correlation" for f in found.overall)
    x, y, law = of_folds(np.random.default_rng(0), 300)
    found = cg.check(law, x, y, rng=0, **FAST)
    assert not any(f.kind == "correlation" for f in found.overall)


def test_of_many_columns_of_y_a_few_pairs():
    first, second = column_pairs(8)
    assert list(zip(first, second, strict=True)) == list(
        itertools.combinations(range(5), 2)
    )


# Quantiles and intervals


def test_where_intervals_of_one_width_cover_too_little():
    x, y = sample(n=1000)
    half = np.quantile(np.abs(y - x), 0.9)
    found = cg.check(
        cg.from_intervals(x - half, x + half, 0.9), x, y, rng=0, n_boot=99, engine=1
    )
    covered = np.abs(y - x) <= half
    assert found.rejected
    (whole,) = found.overall
    assert (whole.estimate, whole.expected, whole.label) == (
        pytest.approx(covered.mean()),
        0.9,
        "90%",
    )
    for one in found.slices:
        (finding,) = one.findings
        assert (finding.kind, finding.label, finding.expected) == (
            "coverage",
            "90%",
            pytest.approx(0.9),
        )
        assert finding.estimate == pytest.approx(covered[one.rows].mean())
        assert finding.words.startswith("the 90% interval holds ")
    wide, narrow = found.slices
    assert re.fullmatch(r"x < (0\.9|1)\d*", wide.words)
    assert wide.direction == "too wide"
    assert re.fullmatch(r"x ≥ 2\.[345]\d*", narrow.words)
    assert narrow.direction == "too narrow"
    assert found.words.startswith(
        "The 90% intervals are wrong along x: the coverage of the 90% intervals falls from"
    )
    assert found.effect.unit == "in the coverage of the 90% interval"
    assert found.frame()["covered_90"].tolist() == covered.tolist()


def test_quantiles_that_are_exceeded_too_often():
    x, y = sample(n=1000)
    predicted = x[:, None] + 1.25 * norm.ppf(LEVELS)
    law = cg.from_quantiles(predicted, LEVELS)
    found = cg.check(law, x, pd.Series(y, name="rent"), rng=0, **FAST)
    assert found.rejected
    for one in found.slices:
        assert len(one.findings) == 5
        for finding in one.findings:
            k = [f"{level:g}" for level in LEVELS].index(finding.label)
            share = (y <= predicted[:, k])[one.rows].mean()
            assert (finding.kind, finding.column) == ("quantile", "rent")
            assert (finding.estimate, finding.expected) == (
                pytest.approx(share),
                pytest.approx(LEVELS[k]),
            )
            high = finding.estimate > finding.expected
            assert one.direction.endswith(
                "quantile too high" if high else "quantile too low"
            ) or (finding is not one.findings[0])


def test_of_many_levels_six():
    levels = np.arange(1, 100) / 100
    x, y = sample(n=1000)
    law = cg.from_quantiles(x[:, None] + 1.25 * norm.ppf(levels), levels)
    found = cg.check(law, x, y, rng=0, **FAST)
    for one in found.slices:
        assert len(one.findings) == 6
    assert [f.label for f in found.overall] == [
        "0.01",
        "0.2",
        "0.4",
        "0.59",
        "0.79",
        "0.99",
    ]


# Classes


def test_an_over_confident_softmax():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, 2))
    logits = x @ np.random.default_rng(3).standard_normal((2, 3))
    y = LETTERS[draw(softmax(logits), rng)]
    p = softmax(logits / 0.3)
    frame = pd.DataFrame(x, columns=["weight", "age"])
    found = cg.check(
        cg.probabilities(p, LETTERS), frame, pd.Series(y, name="animal"), rng=1, **FAST
    )
    first = found.overall[0]
    assert direction_of(first) == "overconfident"
    right = y == LETTERS[p.argmax(axis=1)]
    assert (first.estimate, first.expected) == (
        pytest.approx(right.mean()),
        pytest.approx(p.max(axis=1).mean()),
    )
    assert [f.label for f in found.overall] == ["", "a", "b", "c"]
    for finding, k in zip(found.overall[1:], range(3), strict=True):
        assert finding.estimate == pytest.approx((y == LETTERS[k]).mean())
        assert finding.expected == pytest.approx(p[:, k].mean())
    assert list(found.frame()) == ["weight", "age", "animal", "predicted", "confidence"]


def test_two_classes_are_told_by_one():
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, N)
    p = 1 / (1 + np.exp(-x))
    y = np.where(rng.random(N) < np.where(x > 1, 0.3, p), "yes", "no")
    found = cg.check(cg.probabilities(p, ["no", "yes"]), x, y, rng=0, **FAST)
    first = found.slices[0]
    assert re.fullmatch(r"x ≥ (0\.9|1)[.\d]*", first.words)
    assert [f.label for f in first.findings if f.kind == "class"] == ["yes"]
    own = next(f for f in first.findings if f.kind == "class")
    assert own.words.startswith("29% of rows are yes")
    assert own.estimate == pytest.approx((y == "yes")[first.rows].mean())
    assert first.direction in ("P(yes) too high", "overconfident")


def test_ordered_classes_and_many_classes():
    rng = np.random.default_rng(2)
    x = rng.standard_normal(N)
    cuts = np.array([-1.0, 0.0, 1.0])

    def predicted(move):
        below = 1 / (1 + np.exp(-(cuts - x[:, None] - move)))
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    found = cg.check(
        cg.probabilities(predicted(0.0), ordered=True),
        x,
        draw(predicted(1.5), rng),
        rng=0,
        **FAST,
    )
    third = next(one for one in found.overall if one.label == "3")
    assert direction_of(third) == "P(3) too low"
    p = rng.dirichlet(np.ones(60), 300)
    many = cg.check(
        cg.probabilities(p), rng.standard_normal((300, 2)), draw(p, rng), rng=0, **FAST
    )
    assert [f.kind for f in many.overall] == ["confidence"] + ["class"] * 12
    assert not many.rejected


def test_a_sharp_classifier_that_is_wrong_in_one_level():
    """Intervals take account of sharp probabilities: the leading one excludes what is
    expected.
    """
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.standard_normal(N), "c": rng.choice(list("xyz"), N)})
    logit = 5.0 * frame["a"].to_numpy()
    p = 1 / (1 + np.exp(-logit))
    y = (rng.random(N) < 1 / (1 + np.exp(-logit - 3.0 * (frame["c"] == "x")))).astype(int)
    found = cg.check(cg.probabilities(p), frame, y, rng=0, n_boot=199, engine=1)
    first = found.slices[0]
    assert "c = x" in first.words
    assert first.findings[0].telling


def test_a_fitted_classifier_and_few_rows():
    from sklearn.linear_model import LogisticRegression

    x, y, _ = of_labels(np.random.default_rng(0), 5000)
    fitted = LogisticRegression(C=np.inf).fit(x, y)
    x, y, _ = of_labels(np.random.default_rng(5), 400)
    found = cg.check(fitted, x, y, rng=0, **FAST)
    assert not found.rejected
    assert found.checked.class_names == ("a", "b", "c")
    few = cg.check(fitted, x[:20], y[:20], rng=0, **FAST)
    assert few.slices == ()
    assert few.effects == ()
    assert "20 rows are too few to search for effects (that takes 30)" in few.notes


def test_a_model_that_is_certain_and_right_names_nothing():
    x = np.random.default_rng(0).standard_normal((300, 2))
    p = softmax(400.0 * np.column_stack([x[:, 0], -x[:, 0]]))
    y = (x[:, 0] < 0).astype(int)
    for options in ({}, {"groups": np.arange(300) // 10}, {"dependence": 5}):
        found = cg.check(
            cg.probabilities(p), x, y, by=np.arange(300) % 5, rng=0, **FAST, **options
        )
        assert not found.rejected
        assert found.overall[0].estimate == 1.0
        assert min(one.pvalue for one in found.groups) > 0.05


# Counts


def mean_of(x):
    return 3.0 * np.exp(0.4 * x[:, 0])


MODELS = {
    "functional": lambda x: cg.models.Poisson(mean=mean_of),
    "bound": lambda x: cg.models.Poisson(mean=mean_of(x)),
    "ratios": lambda x: cg.from_ratio(lambda y, x: mean_of(x) / (y + 1)),
    "scipy": lambda x: poisson(mean_of(x)),
}


@pytest.fixture(scope="module")
def dispersed():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, 2))
    return x, rng.poisson(rng.gamma(mean_of(x) / 1.5, 1.5))


@pytest.mark.parametrize("kind", MODELS)
def test_over_dispersed_counts(kind, dispersed):
    """However the model is given, ratios alone or a CDF: the same numbers."""
    x, y = dispersed
    mean = mean_of(x)
    found = cg.check(MODELS[kind](x), x, y, rng=0, **FAST)
    assert found.rejected
    shift, wider, zeros, tail, wild = found.overall
    frame = found.frame()
    usual = ~np.isin(np.arange(len(y)), wild.numbers["rows"])
    residual = ((y - mean) / np.sqrt(mean))[usual]
    np.testing.assert_allclose(frame["residual"][usual], residual, atol=1e-6)
    assert (shift.kind, shift.estimate) == (
        "shift",
        pytest.approx(frame["residual"].mean()),
    )
    low, high = frame["z"].quantile([0.25, 0.75])
    middle_half = (high - low) / (2 * norm.ppf(0.75))
    assert (wider.kind, wider.estimate) == ("spread", pytest.approx(middle_half))
    assert wider.interval[0] > 1.0
    assert (zeros.estimate, zeros.expected) == (
        pytest.approx((y == 0).mean()),
        pytest.approx(np.exp(-mean).mean(), rel=1e-6),
    )
    large = poisson.sf(y - 1, mean) < 0.01
    assert (tail.kind, tail.label, tail.estimate) == (
        "tails",
        "largest",
        pytest.approx(large.mean()),
    )
    assert "in the upper 1% tail" in tail.words
    np.testing.assert_allclose(frame["predicted"], mean, rtol=1e-6)
    assert re.search("too few zeros|too narrow|overdispersed", found.words)
    assert len(found.to_html()) > 10_000


def test_zeros_of_ratios_are_told_apart():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 800)
    y = rng.poisson(4.0, 800) * ~((x > 0.7) & (rng.random(800) < 0.3))
    found = cg.check(cg.from_ratio(lambda y, x: 4.0 / (y + 1) + 0 * x), x, y, rng=0, **FAST)
    first = found.slices[0]
    assert (first.kind, first.direction) == ("zeros", "too few zeros")
    assert re.fullmatch(r"x ≥ 0\.(6[4-9]|7)\d*", first.words)
    assert first.findings[0].expected == pytest.approx(np.exp(-4.0))


def test_functional_and_bound_counts_are_the_same(dispersed):
    x, y = (part[:150] for part in dispersed)
    reports = [
        cg.check(MODELS[kind](x), x, y, rng=0, **FAST).to_dict()
        for kind in ("functional", "bound")
    ]
    assert json.dumps(reports[0]) == json.dumps(reports[1])


@pytest.mark.parametrize(
    "model",
    [
        cg.models.NegativeBinomial(mean=mean_of, dispersion=0.5),
        cg.models.Binomial(trials=20, p=lambda x: 1 / (1 + np.exp(-x[:, 0]))),
    ],
)
def test_counts_of_other_families(model):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, 2))
    y = model(x).sample(np.random.default_rng(1))[:, 0]
    found = cg.check(model, x, y, rng=0, **FAST)
    assert not found.rejected
    assert found.effect.interval.low == 0.0
    moved = cg.check(model, x, np.minimum(y + 3.0 * (x[:, 0] > 0.8), 20.0), rng=0, **FAST)
    first = moved.slices[0]
    assert first.direction == "too low"
    assert "x1 ≥ 0." in first.words


def test_rare_counts_are_not_said_to_be_too_wide():
    """No count but 0 was observed, as was to be expected."""
    x = np.random.default_rng(0).standard_normal(N)
    mean = np.full(N, 1e-4) * np.exp(0.3 * x)
    found = cg.check(
        cg.models.Poisson(mean=mean), x, np.zeros(N), by=np.arange(N) % 4, rng=0, **FAST
    )
    assert not found.rejected
    # All counts are 0, so that no spread can be estimated; groups have that of normal
    # scores, which are random within a count.
    assert [f.kind for f in found.overall] == ["shift", "zeros", "tails"]
    findings = list(found.overall)
    for group in found.groups:
        assert [f.kind for f in group.findings] == ["mean", "spread", "zeros"]
        findings += group.findings
    for finding in findings:
        assert finding.interval[0] <= finding.expected <= finding.interval[1], finding
    assert all(one.pvalue == 1.0 for one in found.groups)


def test_counts_that_are_never_0_say_nothing_of_zeros():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(N)
    found = cg.check(cg.models.Poisson(mean=200.0), x, rng.poisson(200.0, N), rng=0, **FAST)
    assert [f.kind for f in found.overall] == ["shift", "spread", "tails"]


def test_a_distribution_without_a_variance():
    """No mean, no standard deviation: how many of its counts are very large."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(300)
    y = zipf(2.1).rvs(300, random_state=1)
    y[x > 0] = rng.poisson(3.0, int((x > 0).sum())) + 1
    found = cg.check(zipf(2.1), x, y, rng=0, slices=["x > 0", "x <= 0"], **FAST)
    assert found.rejected
    assert {one.kind for one in found.overall} <= {"spread", "tails", "wild"}
    tail = next(one for one in found.overall if one.kind == "tails")
    assert tail.label == "largest"
    assert tail.estimate == pytest.approx((zipf(2.1).sf(y - 1) < 0.01).mean())
    # Groups have tests of normal scores in place of a total.
    for group in found.groups:
        z = found.frame()["z"].loc[group.rows]
        wanted = {"shift": z.mean(), "spread": z.std()}
        assert {one.kind: one.estimate for one in group.findings} == pytest.approx(wanted)
    assert "standard deviations" not in found.words
    assert list(found.frame()) == ["x", "y", "z"]
    assert len(found.to_html()) > 10_000


def test_very_large_counts_of_ratios():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, 200)
    model = cg.from_ratio(lambda y, x: 1e6 * x / (y + 1))
    found = cg.check(model, x, rng.poisson(1.002e6 * x), rng=0, **FAST)
    assert found.rejected
    assert isinstance(found.checked, RatioRows)
    shift = found.overall[0]
    assert shift.estimate == pytest.approx(2.45, rel=0.1)  # 0.002·√(1.5e6)
    assert found.effect.interval.estimate == pytest.approx(2.45, rel=0.3)
    assert 0.1 < found.power.size < found.effect.interval.low
    assert len(found.to_html()) > 10_000


# Rows of x and y that are not the usual


def test_dates_read_as_dates():
    rng = np.random.default_rng(0)
    days = rng.integers(0, 700, N)
    day = np.datetime64("2021-01-01") + days.astype("m8[D]")
    frame = pd.DataFrame({"day": day, "size": rng.standard_normal(N)})
    y = np.where(days > 500, 2.0, 1.0) * rng.standard_normal(N)
    found = cg.check((np.zeros(N), np.ones(N)), frame, y, rng=0, **FAST)
    first = found.slices[0]
    assert re.fullmatch(r"day ≥ 2022-0\d-\d\d", first.words)
    assert (found.frame().query(first.query).index == first.rows).all()
    frame["month"] = day.astype("M8[M]").astype("M8[D]")
    grouped = cg.check((np.zeros(N), np.ones(N)), frame, y, by="month", rng=0, **FAST)
    assert len(grouped.groups) == 23 or len(grouped.groups) == 24
    assert {"month = 2021-01-01", "month = 2021-02-01"} <= {
        one.words for one in grouped.groups
    }


def test_hours_are_told_where_a_day_is_long():
    rng = np.random.default_rng(1)
    minutes = rng.integers(0, 2880, N)
    time = np.datetime64("2021-01-01T00:00") + minutes.astype("m8[m]")
    y = rng.standard_normal(N) + 1.5 * (minutes > 2160)
    found = cg.check(
        (np.zeros(N), np.ones(N)), pd.DataFrame({"time": time}), y, rng=0, **FAST
    )
    assert re.fullmatch(r"time ≥ 2021-01-02 1\d:\d\d", found.slices[0].words)


def test_x_of_two_values():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"treated": rng.integers(0, 2, N)})
    y = rng.standard_normal(N) + 0.8 * x["treated"]
    found = cg.check((np.zeros(N), np.ones(N)), x, y, rng=0, **FAST)
    first = found.slices[0]
    assert (first.words, first.query) == ("treated = 1", "treated == 1")
    searched = found.details["searched"]
    assert searched["slices"] == 3 * searched["kinds"]  # either value, and all rows


def test_predictions_are_columns_that_slices_can_name():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 4))
    mean = x.sum(axis=1)
    y = mean + np.where(mean > 2, 2.0, 1.0) * rng.standard_normal(2000)
    found = cg.check((mean, np.ones(2000)), x, y, rng=0, **FAST)
    assert re.fullmatch(r"predicted ≥ (1\.9|2)\d*", found.slices[0].words)
    assert found.slices[0].direction == "too narrow"
    rows = found.frame().query(found.slices[0].query)
    assert rows["predicted"].min() > 1.5
    np.testing.assert_array_equal(rows.index, found.slices[0].rows)


def test_columns_of_a_table(tmp_path):
    x, y = sample(n=5000)
    half = np.quantile(np.abs(y - x), 0.9)
    table = pd.DataFrame({"x": x, "y": y, "low": x - half, "high": x + half})
    table.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="x", y="y")
    model = cg.columns(interval=["low", "high"], coverage=0.9)
    streamed = cg.check(model, source, solver="lowrank", rng=0, **FAST)
    law = cg.from_intervals(x - half, x + half, 0.9)
    whole = cg.check(law, x, y, solver="lowrank", rng=0, **FAST)
    assert [one.direction for one in streamed.slices] == ["too wide", "too narrow"]
    assert "the 90% interval holds 76% of rows" in streamed.slices[1].message
    assert [one.words for one in streamed.slices] == [one.words for one in whole.slices]


@pytest.mark.parametrize(
    "name", ["draws", "quantiles", "vector draws", "classes", "ratios"]
)
def test_rows_that_are_left_out_take_their_predictions_with_them(name):
    x, y, model = TRUE[name](np.random.default_rng(1), 300)
    x = np.atleast_2d(x.T).T.copy()
    x[::9, 0] = np.nan
    kept = np.flatnonzero(np.arange(300) % 9)
    law = model if isinstance(model, cg.Law) else model(np.nan_to_num(x))
    found = cg.check(law, x, y, missing="drop", rng=0, **FAST)
    alone = cg.check(law.take(kept), x[kept], y[kept], rng=0, **FAST)
    np.testing.assert_array_equal(found.frame().index, kept)
    assert found.result.n == len(kept)
    for finding, other in zip(found.overall, alone.overall, strict=True):
        assert finding.estimate == pytest.approx(
            # The random number that a score is made with belongs to the number of a row.
            other.estimate,
            abs=0.1 if "draws" in name or finding.label == "middle half" else 1e-12,
        )


@pytest.mark.parametrize(
    "name", ["draws", "quantiles", "vector draws", "classes", "ratios"]
)
def test_some_of_the_rows_are_those_of_their_own_predictions(name, monkeypatch):
    monkeypatch.setattr(sys.modules[Bench.__module__], "MOST_ROWS", 200)
    monkeypatch.setattr(sys.modules[bands_of.__module__], "BAND_ROWS", 50)
    x, y, model = TRUE[name](np.random.default_rng(1), 300)
    found = cg.check(model, x, y, rng=0, **FAST)
    assert not found.rejected
    assert any("200 of the 300 rows" in note for note in found.notes)
