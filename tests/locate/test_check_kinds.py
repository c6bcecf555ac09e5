"""`check` of draws, PITs, bins, quantiles and intervals; and of dates."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm, t

import condgof as cg
from condgof.errors import InputError
from condgof.kernels import Gaussian
from condgof.locate._bench import SPLIT
from condgof.locate._classes import ClassRows, _apart, _fewer
from condgof.locate._how import Estimate, of_ranks, same, weighted_estimates
from condgof.locate._ranked import RankedRows
from condgof.locate._scatter import Scatter
from condgof.locate._sides import Side
from condgof.sample import Seed, Use

FAST = {"n_boot": 100, "engine": 1}
#: In these units the record tells how near each row is.
LINEAR = {**FAST, "scale_x": "std"}
N = 600
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
EDGES = np.linspace(-12.0, 16.0, 60)


def sample(seed=0, n=N):
    """A line whose spread grows with x, from 0.5 to 2."""
    rng = np.random.default_rng([seed, 11])
    x = rng.uniform(0, 3, n)
    return x, x + (0.5 + 0.5 * x) * rng.standard_normal(n)


def spread(x):
    return 0.5 + 0.5 * x


def draws(x, y, std, rng):
    return cg.from_draws(x[:, None] + std[:, None] * rng.standard_normal((len(x), 99)))


def pit(x, y, std, rng):
    return cg.from_pit(norm.cdf((y - x) / std))


def bins(x, y, std, rng):
    p = np.diff(norm.cdf((EDGES - x[:, None]) / std[:, None]), axis=1)
    return cg.from_bins(EDGES, p / p.sum(axis=1, keepdims=True))


def quantiles(x, y, std, rng):
    return cg.from_quantiles(x[:, None] + std[:, None] * norm.ppf(LEVELS), LEVELS)


def intervals(x, y, std, rng):
    return cg.from_intervals(x - 1.6449 * std, x + 1.6449 * std, 0.9)


def nested(x, y, std, rng):
    half = std[:, None] * norm.ppf([0.75, 0.975])
    return cg.from_intervals(x[:, None] - half, x[:, None] + half, [0.5, 0.95])


KINDS = {f.__name__: f for f in (draws, pit, bins, quantiles, intervals, nested)}
CONTINUOUS = ("draws", "pit", "bins")


def pair_of(x, rho, rng, m=None):
    """Two columns that go together, or m draws of them."""
    shape = (len(x),) if m is None else (len(x), m)
    mean, rho = (
        np.reshape(np.broadcast_to(v, x.shape), (len(x), *[1] * (len(shape) - 1))) for v in (x, rho)
    )
    a, b = rng.standard_normal((2, *shape))
    return np.stack([mean + a, 2 * mean + rho * a + np.sqrt(1 - rho**2) * b], axis=-1)


def weights(found, place, x):
    """The rows that tested a place, and how near they are: from what the record says."""
    order = Seed(found.result.seed).stream(Use.CHECK, SPLIT).permutation(len(x))
    rows = np.sort(order[len(x) // 2 :])
    (half,) = place.half_width.values()
    w = 0.5 ** np.square((x[rows] - place.x[0]) / half)
    return rows, w / w.sum()


def frequency(happened, p, share):
    """A weighted share with its 95% interval, in plain NumPy."""
    effective = 1.0 / np.square(share).sum()
    off = happened - p
    mean = share @ off
    seen = np.sqrt(effective / (effective - 1) * np.square(share * (off - mean)).sum())
    error = max(seen, np.sqrt(np.square(share).sum() * p * (1 - p)))
    reach = t.ppf(0.975, effective - 1) * error
    return np.clip([p + mean, p + mean - reach, p + mean + reach], 0, 1)


def test_true_models_are_not_rejected():
    x, y = sample()
    for name, make in KINDS.items():
        found = cg.check(make(x, y, spread(x), np.random.default_rng(1)), x, y, rng=0, **FAST)
        assert not found.rejects, name
        assert found.effect.interval.low == 0.0
        assert "would have been found with probability 0.8" in found.words
        assert "class" not in str(found)
        assert "class" not in " ".join(f.words for p in found.locations for f in p.findings)
        json.dumps(found.to_dict(), allow_nan=False)
        assert "probable class" not in found.to_html()


@pytest.mark.parametrize("name", [*KINDS, "vector"])
def test_true_models_name_places_no_more_often_than_they_may(name):
    trials, named, found = 20, 0, 0
    for trial in range(trials):
        rng = np.random.default_rng([trial, 5])
        x, y = sample(trial, 100)
        if name == "vector":
            y, model = pair_of(x, 0.5, rng), cg.from_draws(pair_of(x, 0.5, rng, 19))
        else:
            model = KINDS[name](x, y, spread(x), rng)
        check = cg.check(model, x, y, rng=trial, n_boot=39, n_locations=3, engine=1)
        named += any(place.named for place in check.locations)
        found += min((place.pvalue for place in check.locations), default=1.0) <= 0.05
    most = binom.isf(1e-4, trials, 0.05)
    assert named <= most
    assert found <= most


# Draws, PITs and bins: a continuous y, by normal scores


@pytest.mark.parametrize("name", CONTINUOUS)
def test_a_wrong_spread_is_told_by_normal_scores(name):
    x, y = sample()
    law = KINDS[name](x, y, np.full(N, 1.25), np.random.default_rng(2))
    found = cg.check(law, x, y, rng=0, **LINEAR)
    place = found.locations[0]
    assert found.rejects
    assert place.named
    assert place.where.startswith("x below")
    rows, share = weights(found, place, x)
    z = law.normal_scores(y)[rows, 0]
    mean = share @ z
    grow = 1.0 / (1.0 - np.square(share).sum())
    width = next(f for f in place.findings if f.kind == "width")
    assert width.interval.estimate == pytest.approx(np.sqrt(grow * (share @ np.square(z - mean))))
    by = "; by ranks among the draws" * (name == "draws")
    got = width.interval
    size = f"{got.estimate:.2f} times as much as it says ({got.low:.2f} to {got.high:.2f}"
    assert width.words == f"the model is too wide: the data spread {size}{by})"
    shift = next(f for f in place.findings if f.kind == "shift")
    assert shift.interval.estimate == pytest.approx(mean)
    assert "on its normal-score scale" in shift.words
    assert found.effect.words.startswith("as large as a constant shift of 0.")
    assert found.effect.words.endswith("; on its normal-score scale)")
    assert found.detectable.words.startswith("On the model's normal-score scale a constant shift of 0.")
    kind = {"draws": "samples", "pit": "residuals", "bins": "density"}[name]
    assert place.panel.kind == kind
    found.to_html()


def test_the_effect_of_normal_scores_is_that_of_the_double_sum():
    x, y = sample(n=120)
    law = pit(x, y, np.full(120, 1.25), None)
    found = cg.check(law, x, y, rng=1, n_locations=0, **LINEAR)
    u, z = x / x.std(ddof=1), law.normal_scores(y)
    bandwidth = max(s["bandwidth_x"] for s in found.result.details["scales"])
    k, gap = Gaussian(bandwidth)(u[:, None], u[:, None]), z - z.T
    h = np.exp(-0.5 * gap**2) * (z * z.T + 1.0 - 2.0 * gap**2)
    off = ~np.eye(120, dtype=bool)
    d = (k * h)[off].mean()
    assert found.effect.discrepancy.estimate == pytest.approx(d, rel=1e-9)
    assert found.effect.interval.estimate == pytest.approx(np.sqrt(d * np.sqrt(3) / k[off].mean()))


def test_bins_have_a_density_beside_the_rows():
    x, y = sample()
    panel = cg.check(bins(x, y, np.full(N, 1.25), None), x, y, rng=0, **FAST).locations[0].panel
    assert 0.9 < np.trapezoid(panel.density[:, 0], panel.grid[:, 0]) <= 1.05


def test_ranks_among_draws_tell_no_shape_where_the_spread_is_off():
    """A normal y of another spread than its normal draws has no other tails, whatever their ranks."""
    rng = np.random.default_rng(0)
    y = 1.6 * rng.standard_normal(4000)
    z = cg.from_draws(rng.standard_normal((4000, 30))).normal_scores(y)
    found = weighted_estimates(z, np.ones(4000), ("y",), Scatter(), shape=True)
    assert next(one for one in found if one.kind == "tails").size > 4  # which is not true of y
    assert [one.kind for one in of_ranks(found)] == ["shift", "width"]
    fits = [Estimate(kind, ("y",), 0.1, 0.1, same, 50.0) for kind in ("shift", "width", "skew", "tails")]
    assert [one.kind for one in of_ranks(fits)] == ["shift", "width", "skew", "tails"]


def test_skewed_draws_are_told_apart_from_normal_ones():
    rng = np.random.default_rng(3)
    x, e = rng.uniform(0, 3, 800), rng.gamma(2.0, 1.0, 800)
    y = x + (e - 2.0) / np.sqrt(2.0)
    found = cg.check(cg.from_draws(x[:, None] + rng.standard_normal((800, 200))), x, y, rng=0, **FAST)
    assert found.rejects
    clear = {f.kind for place in found.locations for f in place.findings if f.named}
    assert clear <= {"shift", "width", "skew", "tails"}
    assert clear


def test_a_cdf_beyond_0_and_1_is_refused():
    class Broken(cg.Law):
        rows = N

        def take(self, rows):
            return self

        def cdf(self, y):
            return np.linspace(0.0, 1.2, N)

    x, y = sample()
    for call in (cg.check, cg.adaptive):
        with pytest.raises(InputError, match=r"cdf is 1\.\d+ in row 5\d\d .*lie between 0 and 1"):
            call(Broken(), x, y, rng=0, **FAST)


# Quantiles and intervals


def conformal(x, y):
    """Intervals of one width that cover 90% on average."""
    half = np.quantile(np.abs(y - x), 0.9)
    return cg.from_intervals(x - half, x + half, 0.9), np.abs(y - x) <= half


def test_where_intervals_of_one_width_cover_too_little():
    x, y = sample(n=1000)
    model, covered = conformal(x, y)
    found = cg.check(model, x, y, rng=0, **LINEAR)
    assert found.rejects
    for place in found.locations:
        rows, share = weights(found, place, x)
        estimate, low, high = frequency(covered[rows], 0.9, share)
        (finding,) = place.findings
        assert (finding.kind, finding.label) == ("coverage", "90%")
        assert finding.expected == pytest.approx(0.9)
        got = finding.interval
        np.testing.assert_allclose([got.estimate, got.low, got.high], [estimate, low, high], rtol=1e-9)
        said = f"the 90% interval covers {estimate:.2f} of the rows ({low:.2f} to {high:.2f})"
        assert finding.words == said + ": no clear sign" * (not finding.named)
    below = next(p for p in found.locations if p.named and p.findings[0].interval.high < 0.9)
    assert re.fullmatch(
        r"At x above 2[.\d]*: the 90% interval covers 0\.[78]\d of the rows \(0\.\d\d to 0\.8\d\) "
        r"\(p . .*\)\.",
        below.words,
    )
    assert re.match(
        r"as large as a coverage of the 90% interval that is off by 0\.\d+ at every x \(0\.",
        found.effect.words,
    )
    assert found.effect.unit == "in the coverage of the 90% interval"
    assert re.fullmatch(
        r"A 90% interval that covers 0\.\d+ less than it says at every x would have been found with "
        r"probability 0\.8\.",
        found.detectable.words,
    )
    assert str(found).startswith("Check of a conditional model, n = 1,000")
    panel = below.panel
    assert (panel.kind, panel.columns) == ("classes", ("cell of y",))
    assert panel.labels == ("inside 90%", "outside 90%")
    np.testing.assert_allclose(panel.predicted, [0.9, 0.1])
    np.testing.assert_allclose(panel.observed[0], below.findings[0].interval.estimate)
    assert set(np.unique(panel.values)) <= {0.0, 1.0}
    page = found.to_html()
    assert "coverage of the 90% interval" in page
    assert "class right" not in page


def test_quantiles_that_are_exceeded_too_often():
    x, y = sample(n=1000)
    predicted = x[:, None] + 1.25 * norm.ppf(LEVELS)
    found = cg.check(cg.from_quantiles(predicted, LEVELS), x, pd.Series(y, name="rent"), rng=0, **LINEAR)
    assert found.rejects
    for place in found.locations:
        rows, share = weights(found, place, x)
        assert len(place.findings) == 5
        for finding in place.findings:
            k = [f"{level:g}" for level in LEVELS].index(finding.label)
            p = 1 - LEVELS[k]
            expected = frequency(y[rows] > predicted[rows, k], p, share)
            got = finding.interval
            np.testing.assert_allclose([got.estimate, got.low, got.high], expected, rtol=1e-9)
            assert (finding.kind, finding.columns, finding.expected) == (
                "quantile",
                ("rent",),
                pytest.approx(p),
            )
            seen, low, high, says = (f"{v:.2f}" for v in (*expected, p))
            said = (
                f"the {finding.label} quantile is exceeded by {seen} of the rows ({low} to {high}), and "
                f"the model says {says}"
            )
            assert finding.words == said + ": no clear sign" * (not finding.named)
    assert any(f.named for f in found.locations[0].findings)
    assert re.match(
        r"as large as a probability of 0\.\d+ on the wrong side of the 0\.5 quantile at every x \(0\.",
        found.effect.words,
    )
    assert "A 0.5 quantile that is exceeded by 0." in found.detectable.words
    assert found.landscape.overall.labels[0] == "up to q0.1"
    assert found.landscape.residuals is None
    assert "share above the 0.9 quantile" in found.to_html()
    found.plot_how(0, column="rent")


def test_of_many_levels_six_that_do_not_repeat_each_other():
    levels = np.arange(1, 100) / 100
    x, y = sample(n=1000)
    found = cg.check(
        cg.from_quantiles(x[:, None] + 1.25 * norm.ppf(levels), levels), x, y, rng=0, **FAST
    )
    for place in found.locations:
        told = sorted(float(f.label) for f in place.findings)
        assert 0 < len(told) <= 6
        for a, b in itertools.pairwise(told):  # correlation of the events of two quantiles
            assert np.sqrt(a * (1 - b) / (b * (1 - a))) < 0.85
    bars = found.landscape.overall
    assert len(bars.labels) == 12
    assert bars.labels[:2] == ("up to q0.01", "q0.01 to q0.11")
    np.testing.assert_allclose([bars.observed.sum(), bars.predicted.sum()], 1.0)
    z = (y - x) / 1.25
    assert bars.observed[1] == pytest.approx(((z > norm.ppf(0.01)) & (z <= norm.ppf(0.11))).mean())
    assert bars.predicted[1] == pytest.approx(0.1)


def test_fewer_bars_of_many_intervals():
    share = np.arange(1, 20) / 20
    half = norm.ppf(0.5 + share / 2)
    y = np.random.default_rng(0).standard_normal(500)
    law = cg.from_intervals(np.tile(-half, (500, 1)), np.tile(half, (500, 1)), share)
    codes = law.codes(y)
    bars = _fewer(law, np.bincount(codes, minlength=20) / 500, law.shares)
    assert bars.labels[0] == "inside 5%"
    assert bars.labels[-1] == "outside 95%"
    assert bars.labels[1].startswith("between 5% and ")
    assert len(bars.labels) == 12
    assert bars.observed[-1] == pytest.approx((np.abs(y) > half[-1]).mean())
    estimates, looked_at = ClassRows(
        law.class_names, np.tile(law.shares, (500, 1)), codes, np.arange(500), "y", True, law
    ).estimates(np.arange(500), np.ones(500), Scatter())
    assert looked_at == 19
    assert len(estimates) <= 6
    assert {one.kind for one in estimates} == {"coverage"}
    assert _apart(law, [Estimate("coverage", ("y",), 0.1, 0.1, same, 9.0)] * 3) == [0, 1, 2]


@pytest.mark.parametrize(
    ("law", "kind", "level", "room"),
    [
        (cg.from_intervals(np.zeros(3), np.ones(3), 0.9), "coverage", 0.9, 0.9),
        (cg.from_intervals(np.zeros((3, 2)), np.ones((3, 2)), [0.2, 0.4]), "coverage", 0.4, 0.6),
        (cg.from_quantiles(np.zeros((3, 1)), [0.9]), "quantile", 0.9, 0.9),
        (cg.from_quantiles(np.zeros((3, 5)), LEVELS), "quantile", 0.5, 0.5),
    ],
)
def test_a_probability_on_the_wrong_side(law, kind, level, room):
    side = Side.of(law)
    assert (side.kind, side.level, side.room) == (kind, level, pytest.approx(room))
    assert side.move.sum() == pytest.approx(0.0)
    moved = law.shares + 0.1 * side.move
    assert (moved >= 0).all()
    inside = side.inside
    gain = 0.1 if side.rare else -0.1
    assert moved[inside].sum() == pytest.approx(law.shares[inside].sum() + gain)
    np.testing.assert_allclose(  # cells keep their proportions
        moved[inside] / moved[inside].sum(), law.shares[inside] / law.shares[inside].sum()
    )
    word = {
        True: {"coverage": "more", "quantile": "more"},
        False: {"coverage": "less", "quantile": "fewer"},
    }
    assert word[side.rare][kind] in side.found("0.1")
    if len(law.shares) == 2:
        assert np.square(side.move).sum() == pytest.approx(2.0)


def test_the_effect_of_an_interval_is_that_of_the_double_sum():
    x, y = sample(n=150)
    model, covered = conformal(x, y)
    found = cg.check(model, x, y, rng=1, n_locations=0, **LINEAR)
    u = (x / x.std(ddof=1))[:, None]
    k = Gaussian(0.5 * max(s["bandwidth_x"] for s in found.result.details["scales"]))(u, u)
    r, off = covered - 0.9, ~np.eye(150, dtype=bool)
    d = 2.0 * (k * np.outer(r, r))[off].mean()
    assert found.effect.discrepancy.estimate == pytest.approx(d, rel=1e-9)
    size = np.sqrt((k * np.outer(r, r))[off].mean() / k[off].mean())
    assert found.effect.interval.estimate == pytest.approx(size, rel=1e-9)


@pytest.mark.parametrize("move", [0.1, -0.12])
def test_a_constant_misfit_has_its_size(move):
    """Quantiles and an interval that are off by the same at every x."""
    rng = np.random.default_rng(4)
    x, n = rng.standard_normal(2000), 2000
    u = rng.random(n)
    options = {"rng": 0, "n_locations": 0, "n_boot": 20, "engine": 1}
    covers = cg.from_intervals(np.zeros(n), np.full(n, 0.8 + move), 0.8)
    found = cg.check(covers, x, u, **options).effect
    assert found.interval.estimate == pytest.approx(abs(move), abs=0.02)
    assert found.interval.low < abs(move) < found.interval.high
    # A share 0.5 + move above the middle, in proportion on either side.
    at = np.where(u < 0.5 - move, u * 0.5 / (0.5 - move), 1 - (1 - u) * 0.5 / (0.5 + move))
    found = cg.check(cg.from_quantiles(np.tile(LEVELS, (n, 1)), LEVELS), x, at, **options).effect
    assert found.interval.estimate == pytest.approx(abs(move), abs=0.03)


def test_what_could_have_been_seen_is_seen():
    """30 samples with what is found with probability 0.8: exact bounds for 0.65 to 0.95."""
    rng, n, found = np.random.default_rng(0), 200, 0
    x = rng.standard_normal(n)
    law = cg.from_intervals(np.zeros(n), np.full(n, 0.9), 0.9)
    size = cg.check(law, x, rng.random(n), rng=0, n_locations=0, **FAST).detectable.probability
    assert 0.02 < size < 0.2
    for trial in range(30):
        u = np.random.default_rng([trial, 6]).random(n)
        y = np.where(u < 0.9 - size, 0.5, 0.95)
        found += cg.adaptive(law, x, y, rng=trial, n_boot=99, engine=1).reject()
    assert binom.ppf(1e-4, 30, 0.65) <= found <= binom.isf(1e-4, 30, 0.95)


def test_few_rows_could_not_have_found_anything():
    x, y = sample(n=5)
    found = cg.check(conformal(x, y)[0], x, y, rng=0, **FAST)
    assert found.detectable.words.startswith("With so few rows")
    json.dumps(found.to_dict(), allow_nan=False)


# Draws of several columns


@pytest.fixture(scope="module")
def vector():
    rng = np.random.default_rng(8)
    x = rng.uniform(0, 3, 500)
    y = pair_of(x, 0.0, rng)
    y[:, 1] += 1.5 * (x > 2)
    law = cg.from_draws(pair_of(x, 0.0, rng, 60))
    frame = pd.DataFrame(y, columns=["rent", "food"])
    return x, y, law, cg.check(law, x, frame, rng=0, **LINEAR)


def test_a_shift_of_one_of_several_columns(vector):
    x, y, law, found = vector
    place = found.locations[0]
    assert found.rejects
    assert place.named
    assert place.x[0] > 1.7
    rows, share = weights(found, place, x)
    z = law.scores_by_column(y)
    shift = next(f for f in place.findings if f.kind == "shift" and f.columns == ("food",))
    assert shift.named
    assert shift.interval.estimate == pytest.approx(share @ z[rows, 1])
    got = shift.interval
    assert shift.words == (
        f"food: the model is too low: y lies {got.estimate:.2f} model standard deviations above it "
        f"({got.low:.2f} to {got.high:.2f}; on its normal-score scale)"
    )
    assert not any(f.named for f in place.findings if f.columns == ("rent",))
    assert place.panel.kind == "samples"
    assert place.panel.columns == ("rent", "food")
    assert place.panel.samples.shape[1] == 2
    assert found.landscape.overall is None
    np.testing.assert_array_equal(found.landscape.residuals, z)
    assert found.landscape.residual_kind.startswith("normal scores")
    json.dumps(found.to_dict(), allow_nan=False)
    assert "0 is a perfect fit of each column" in found.to_html()
    assert "class" not in str(found)


def test_the_effect_of_several_columns_is_that_of_the_worst(vector):
    x, y, law, found = vector
    u, z = (x / x.std(ddof=1))[:, None], law.scores_by_column(y)[:, 1:]
    k = Gaussian(max(s["bandwidth_x"] for s in found.result.details["scales"]))(u, u)
    gap, off = z - z.T, ~np.eye(len(x), dtype=bool)
    h = np.exp(-0.5 * gap**2) * (z * z.T + 1.0 - 2.0 * gap**2)
    size = np.sqrt((k * h)[off].mean() * np.sqrt(3) / k[off].mean())
    assert found.effect.interval.estimate == pytest.approx(size, rel=1e-6)
    assert found.effect.words.startswith(
        f"in single columns at most as large as a constant shift of food by {size:.2f} model standard "
    )
    assert found.effect.words.endswith("; how columns go together is not in that number")
    assert found.detectable.shift is None
    assert found.detectable.words == (
        "What size of misfit would have been found is not known for draws of several columns."
    )
    assert "normal scores of each column" in found.details["kernel_effect"]


def test_columns_that_go_together_in_another_way():
    rng = np.random.default_rng(9)
    x = rng.uniform(0, 3, 500)
    y, drawn = pair_of(x, 0.8 * (x > 1.5), rng), pair_of(x, 0.2, rng, 60)
    found = cg.check(cg.from_draws(drawn), x, y, rng=0, **LINEAR)
    place = found.locations[0]
    assert place.named
    finding = next(f for f in place.findings if f.kind == "correlation")
    assert finding.named
    rows, share = weights(found, place, x)
    every = np.concatenate([y[rows, None], drawn[rows]], axis=1)
    ranks = (every[:, :, None] > every[:, None]).sum(axis=2) + 0.5
    scores = norm.ppf(ranks / 61)
    own = scores[:, 0] - share @ scores[:, 0]
    products, of_draws = (
        (own * share[:, None]).T @ own,
        np.einsum("i,ika,ikb->ab", share, scores, scores),
    )
    rho, says = (m[0, 1] / np.sqrt(m[0, 0] * m[1, 1]) for m in (products, of_draws))
    assert finding.interval.estimate == pytest.approx(rho)
    assert finding.expected == pytest.approx(says)
    got = finding.interval
    assert finding.words == (
        "y1 and y2 go together in another way than the draws: the normal scores of their ranks have "
        f"correlation {got.estimate:.2f} ({got.low:.2f} to {got.high:.2f}), and those of the draws "
        f"{says:.2f}"
    )


def test_a_true_model_of_two_columns_names_nothing():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 3, 300)
    found = cg.check(cg.from_draws(pair_of(x, 0.6, rng, 50)), x, pair_of(x, 0.6, rng), rng=0, **FAST)
    assert not found.rejects
    assert not any(place.named for place in found.locations)
    assert found.words.endswith("is not known for draws of several columns.")


def test_draws_of_folds_with_different_numbers_of_draws():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 3, 200)

    def fit(x, y):
        m = 20 + len(x) % 3
        return cg.models.Model(lambda x: cg.from_draws(pair_of(x, 0.0, np.random.default_rng(1), m)))

    split = [(np.arange(101, 200), np.arange(101)), (np.arange(101), np.arange(101, 200))]
    law = cg.crossfit(fit, x, pair_of(x, 0.0, rng), folds=split)
    found = cg.check(law, x, pair_of(x, 0.0, rng), rng=0, **FAST)
    kinds = {f.kind for place in found.locations for f in place.findings}
    assert kinds <= {"shift", "width", "skew", "tails"}


def test_ranked_rows_have_no_bars():
    view = RankedRows(np.zeros((3, 2)), None, np.arange(3), ("a", "b"))
    assert view.bars(np.arange(3), np.ones(3)) is None


# All kinds: many rows, groups, dependent rows, missing values, files


@pytest.mark.parametrize("name", [*KINDS, "vector"])
def test_some_of_the_rows_are_those_of_their_own_predictions(name, monkeypatch):
    x, y = sample(n=300)
    rng = np.random.default_rng(1)
    if name == "vector":
        y = pair_of(x, 0.0, rng)
        law = cg.from_draws(pair_of(x, 0.0, rng, 30))
    else:
        law = KINDS[name](x, y, spread(x), rng)
    monkeypatch.setattr("condgof.locate._bench.MOST_ROWS", 200)
    found = cg.check(law, x, y, rng=0, **FAST)
    assert not found.rejects
    assert any("200 of the 300 rows" in note for note in found.details["notes"])
    if found.landscape.residuals is not None:
        z = law.scores_by_column(y) if name == "vector" else law.normal_scores(y)
        rows = np.searchsorted(np.sort(x), found.landscape.points[:, 0])
        np.testing.assert_allclose(found.landscape.residuals, z[np.argsort(x)][rows])


def test_groups_dependence_and_missing_values():
    x, y = sample(n=1500)
    grouped = cg.check_groups(conformal(x, y)[0], x, y, by=np.where(x > 1, "high", "low"), rng=0, **FAST)
    assert "the 90% interval covers 1.00 of the rows" in grouped["low"].words
    assert str(grouped).startswith("Check of a conditional model by group")
    x, y = sample(n=500)
    model, _ = conformal(x, y)
    by = np.where(x > 1, "high", "low")
    for options in ({"groups": np.arange(500) // 5}, {"dependence": 5}):
        assert cg.check(model, x, y, rng=0, **FAST, **options).rejects
    holes = np.where(np.arange(500) % 50 == 0, np.nan, x)
    found = cg.check(model, holes, y, rng=0, missing="drop", **FAST)
    assert found.result.n == 490
    kept = ~np.isnan(holes)
    alone = cg.check(model.take(np.flatnonzero(kept)), x[kept], y[kept], rng=0, **FAST)
    assert [p.words for p in found.locations] == [p.words for p in alone.locations]
    groups = np.arange(500) // 2
    grouped = cg.check_groups(model, holes, y, by=by, groups=groups, missing="drop", rng=0, **FAST)
    assert sum(check.result.n for check in grouped.checks.values()) == 490
    level = cg.check_groups(model, holes, y, by=by, missing="level", rng=0, **FAST)
    assert sum(check.result.n for check in level.checks.values()) == 500
    at = cg.witness(cg.normal(x, 1.0), holes, y, at=[1.0], missing="drop", rng=0)
    assert at == pytest.approx(cg.witness((x[kept], np.ones(490)), x[kept], y[kept], at=[1.0], rng=0))


def test_columns_of_a_table(tmp_path):
    x, y = sample(n=3000)
    half = np.quantile(np.abs(y - x), 0.9)
    table = pd.DataFrame({"x": x, "y": y, "low": x - half, "high": x + half})
    table.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="x", y="y")
    model = cg.columns(interval=["low", "high"], coverage=0.9)
    streamed = cg.check(model, source, solver="lowrank", rng=0, **FAST)
    whole = cg.check(conformal(x, y)[0], x, y, solver="lowrank", rng=0, **FAST)
    assert "the 90% interval covers" in streamed.locations[0].words
    assert [p.where for p in streamed.locations] == [p.where for p in whole.locations]


# Dates


def test_dates_read_as_dates():
    rng = np.random.default_rng(0)
    days = rng.integers(0, 700, N)
    date = np.datetime64("2021-01-01") + days.astype("m8[D]")
    frame = pd.DataFrame({"day": date, "size": rng.standard_normal(N)})
    y = np.where(days > 500, 2.0, 1.0) * rng.standard_normal(N)
    model = (np.zeros(N), np.ones(N))
    for x in (frame[["day"]], frame):
        found = cg.check(model, x, y, rng=0, **LINEAR)
        late = found.locations[0]
        assert late.named
        assert re.match(r"day (above|between) 2022-0\d-\d\d", late.where)
        assert re.match(r"2022-\d\d-\d\d", late.label["day"])
        assert found.landscape.dates == ("day",)
        page = found.to_html()
        assert re.search(r'class="tick"[^>]*>2021-\d\d-\d\d<', page)
        assert "19,1" not in page.split("<h2")[3]  # no day is a number in the map
        axes = found.plot_where()
        axes.figure.canvas.draw()
        assert re.match(r"202\d-\d\d-\d\d", axes.get_xticklabels()[1].get_text())
    frame["month"] = date.astype("M8[M]").astype("M8[D]")
    grouped = cg.check_groups(model, frame, y, by="month", min_rows=27, n_locations=0, rng=0, n_boot=20)
    assert sorted([*grouped, *grouped.left_out])[:2] == ["2021-01-01", "2021-02-01"]


def test_hours_are_told_where_a_day_is_long():
    rng = np.random.default_rng(1)
    minutes = rng.integers(0, 2880, N)
    time = np.datetime64("2021-01-01T00:00") + minutes.astype("m8[m]")
    y = rng.standard_normal(N) + 1.5 * (minutes > 2160)
    found = cg.check((np.zeros(N), np.ones(N)), pd.DataFrame({"time": time}), y, rng=0, **LINEAR)
    assert re.match(r"time above 2021-01-02 \d\d:\d\d", found.locations[0].where)
